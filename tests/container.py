"""Runs tests/judge in containers: `python tests/container.py [podman|docker|filter]`, as root.

A container has this machine's own programs, libraries and packages, read-only, and its engine's default profile, in
which bubblewrap doesn't start; the tests run in one as root and in one as a user without a name. Then those of the
sandbox itself run in containers that let bubblewrap start. Where no container can be started, the tests run under a
filter that denies what Docker's default profile denies.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.subject import seccomp  # noqa: E402
from grader.subject.landlock import PR_SET_NO_NEW_PRIVS  # noqa: E402
from tests.judge.denied import NUMBERS  # noqa: E402

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
TESTS = [*PYTEST, "-k", "not bubblewrap", "tests/judge"]
WITH_BUBBLEWRAP = [*PYTEST, "-k", "bubblewrap", "tests/judge/test_sandbox.py", "tests/judge/test_escape.py"]
ENVIRONMENT = {"HOME": "/tmp", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
# Each with what shows the whole of /proc, without which bubblewrap can't mount another.
ENGINES = {"podman": "unmask=ALL", "docker": "systempaths=unconfined"}
PROFILE = ROOT / "deploy" / "seccomp-bubblewrap.json"
USERS = ("0:0", "1000:1000")
IMAGE = "attention-course-test"
DENIED_BY_DOCKER = (
    *("unshare", "setns", "mount", "umount2", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount"),
    *("open_tree", "mount_setattr", "quotactl", "quotactl_fd", "swapon", "swapoff", "open_by_handle_at"),
    *("fanotify_init", "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("userfaultfd", "keyctl", "add_key", "request_key", "init_module", "finit_module", "delete_module"),
    *("kexec_load", "kexec_file_load", "reboot", "acct", "settimeofday", "clock_settime", "sethostname"),
    *("setdomainname", "syslog", "lookup_dcookie", "nfsservctl", "migrate_pages", "move_pages"),
)


def main(wanted: list[str]) -> int:
    """0 if the tests pass in every container."""
    for engine in wanted or ENGINES:
        if engine in ENGINES and shutil.which(engine) and has_image(engine):
            inside = ["--security-opt", f"seccomp={PROFILE}", "--security-opt", ENGINES[engine]]
            commands = [in_container(engine, user) for user in USERS]
            commands += [in_container(engine, user, WITH_BUBBLEWRAP, inside) for user in USERS]
            return max(run(command) for command in commands)
    if ENGINES.keys() & set(wanted):
        return 1
    print("No container can be started here: the tests run under a filter instead.", flush=True)
    return run(TESTS, filtered=True)


def has_image(engine: str) -> bool:
    """Make the image, empty folders to mount the machine's own in, and start it once."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as image:
            for name in ("etc", "tmp", "proc", "sys", "dev", "run", "usr"):
                folder = tarfile.TarInfo(name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                image.addfile(folder)
            for path in (*map(Path, ("/bin", "/sbin", "/lib", "/lib64")), Path("/etc/ld.so.cache")):
                if path.is_symlink() or path.is_file():
                    image.add(path)
        file.seek(0)
        made = subprocess.run([engine, "import", "-", IMAGE], stdin=file, capture_output=True, text=True, check=False)
    started = subprocess.run(in_container(engine, USERS[0], ["true"]), capture_output=True, text=True, check=False)
    if made.returncode or started.returncode:
        print(f"{engine}: {made.stderr[-300:]}{started.stderr[-300:]}", flush=True)
    return not made.returncode and not started.returncode


def in_container(engine: str, user: str, command: list[str] = TESTS, options: Sequence[str] = ()) -> list[str]:
    """The command in a container of its own."""
    places = {Path("/usr"), ROOT, *(Path(place).resolve() for place in (sys.base_prefix, sys.prefix))}
    words = [engine, "run", "--rm", "--network", "none", "--user", user, "--workdir", str(ROOT), *options]
    words += [
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=4096:4096",
    ]  # else podman asks for more than it may get
    words += [word for path in sorted(places) for word in ("--volume", f"{path}:{path}:ro")]
    words += [word for name, value in ENVIRONMENT.items() for word in ("--env", f"{name}={value}")]
    unified = Path("/sys/fs/cgroup/unified")
    if not unified.is_dir():
        return [*words, IMAGE, *command]
    # Podman's crun refuses to start where there are both versions of control groups.
    words += ["--cgroups=disabled", IMAGE, *command]
    return ["unshare", "--mount", "sh", "-c", f"umount {unified}; exec {shlex.join(words)}"]


def run(command: list[str], filtered: bool = False) -> int:
    """The command's exit code."""
    print(f"$ {shlex.join(command)}", flush=True)
    before = functools.partial(forbid, DENIED_BY_DOCKER) if filtered else None
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, preexec_fn=before).returncode


def forbid(calls: Sequence[str]) -> None:
    """Put this process, and what it starts, under a filter that denies these system calls."""
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    code = seccomp.instruction(seccomp.LOAD, seccomp.NUMBER)
    for name in calls:
        code += seccomp.instruction(seccomp.EQUAL, NUMBERS[name], 0, 1) + seccomp.instruction(
            seccomp.RETURN, seccomp.DENY
        )
    seccomp.install(code + seccomp.instruction(seccomp.RETURN, seccomp.ALLOW))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
