"""The zygote inside bubblewrap: no network, no files but the interpreter's, an unprivileged user, a filter.

Started by root, there is no user namespace: the zygote keeps the few capabilities that it needs to hand each child over
to a user of its own. Started by anybody else, it lives in a user namespace, where it is its own root.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes.util
import json
import os
import pwd
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import grader
from grader.judge import inside, seccomp
from grader.judge.limits import MIB, Limits
from grader.subject.confine import Confinement
from grader.subject.zygote import ONE_THREAD, Zygote, ZygoteGone

INSTALL = "apt-get install bubblewrap libseccomp2"
COURSE, SCRATCH = "/course", "/scratch"
# What a notebook imports without asking: loaded once in the zygote, it costs a child nothing.
PACKAGES = ("matplotlib.pyplot", "IPython.core.inputtransformer2")
FIRST_UID, UIDS = 61184, 4096
# The zygote's: to mount each child's scratch folder, to become its user, to end it.
CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")
START_SECONDS = 120.0


class SandboxUnavailable(RuntimeError):
    """There is no sandbox on this machine. The message says what to do."""


def find_bubblewrap() -> str:
    """The path of bwrap; `SandboxUnavailable` where it or libseccomp is missing."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable(_refusal("bubblewrap is not installed"))
    if ctypes.util.find_library("seccomp") is None:
        raise SandboxUnavailable(_refusal("libseccomp is not installed"))
    return bwrap


def _refusal(why: str) -> str:
    return (
        f"Grading runs students' code and needs a sandbox, but {why}. On Debian and Ubuntu: {INSTALL}. "
        "docs/grading.md says what to do where that is not possible."
    )


class Sandbox(Zygote):
    """A zygote in bubblewrap. `sandboxed` tells it from `OpenZygote`. One submission at a time."""

    sandboxed = True

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._resources = contextlib.ExitStack()
        self.pid = 0
        self._address_space = 0
        with self._resources_on_error():
            super().__init__()
        self._address_space = _address_space(self.pid)
        # Where memory runs out, the kernel shall take a submission, not the judge.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("1000")

    @contextlib.contextmanager
    def _resources_on_error(self) -> Any:
        try:
            yield
        except BaseException:
            self._resources.close()
            raise

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        uid = self._resources.enter_context(_reserved_uid()) if os.geteuid() == 0 else None
        reader, writer = os.pipe()
        log = self._resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        command = [find_bubblewrap(), *_isolation(uid), *_view(), "--info-fd", str(writer), "--", *_python(descriptor)]
        try:
            process = subprocess.Popen(
                [*command, confinement(self.limits, SCRATCH, uid, seccomp.program()).to_json()],
                pass_fds=[descriptor, writer],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
            )
        finally:
            os.close(writer)
        with os.fdopen(reader) as info:
            told = info.read()
        if told:
            self.pid = int(json.loads(told)["child-pid"])
        self._process, self._log = process, log
        self._control.settimeout(START_SECONDS)
        return process

    def _answer(self) -> bytes:
        try:
            answer = super()._answer()
        except ZygoteGone:
            if self._address_space:
                raise
            self._process.wait()
            self._log.seek(0)
            said = self._log.read()[-600:].decode(errors="replace").strip()
            raise SandboxUnavailable(_refusal(f"bubblewrap could not start one here ({said})")) from None
        self._control.settimeout(None)
        return answer

    def address_space(self) -> int:
        return self._address_space

    def close(self) -> None:
        super().close()
        self._resources.close()


class OpenZygote(Zygote):
    """No sandbox at all: limits on memory and time only. For machines without bubblewrap, and only on request."""

    sandboxed = False

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._folder = tempfile.TemporaryDirectory()
        package = Path(self._folder.name, "grader")
        package.mkdir()
        for name, target in _stubs().items():
            Path(package.parent, name).symlink_to(target)
        super().__init__()

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        limits = confinement(self.limits, "", None, b"").to_json()
        return subprocess.Popen(
            [*_python(descriptor, self._folder.name), limits],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            env=environment(self._folder.name),
            cwd=self._folder.name,
        )

    def address_space(self) -> int:
        with contextlib.suppress(OSError):
            return _address_space(self._process.pid)
        return 2**40

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def confinement(limits: Limits, scratch: str, uid: int | None, seccomp_filter: bytes) -> Confinement:
    """The part of the limits that the kernel enforces on a child."""
    return Confinement(
        memory=limits.memory,
        processes=limits.processes if scratch else 0,
        file_bytes=limits.file_bytes,
        scratch_bytes=limits.scratch_bytes,
        cpu_seconds=int(limits.submission_seconds) + 10,
        scratch=scratch,
        uid=uid,
        seccomp=base64.b64encode(seccomp_filter).decode(),
        packages=PACKAGES,
    )


def _address_space(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[0]
    return int(pages) * os.sysconf("SC_PAGESIZE")


@contextlib.contextmanager
def _reserved_uid() -> Any:
    """A user id that nobody has, held for this zygote alone: the limit on processes counts by user."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        for step in range(UIDS):
            uid = FIRST_UID + (os.getpid() + step) % UIDS
            if uid in taken:
                continue
            with contextlib.suppress(OSError):
                lock.bind(f"\0attention-course-uid-{uid}")
                yield uid
                return
        raise SandboxUnavailable(_refusal("no user id is free"))


def _isolation(uid: int | None) -> list[str]:
    shared = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    if uid is None:
        shared = ["--unshare-user", *shared]
    kept = [word for capability in CAPABILITIES for word in ("--cap-add", capability)]
    return [*shared, "--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL", *kept]


def _view() -> list[str]:
    """What of the file system can be seen, all of it read-only, and the environment."""
    view: list[str] = []
    for folder in ("/lib", "/lib64"):
        if os.path.islink(folder):
            view += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            view += ["--ro-bind", folder, folder]
    prefix = _interpreter_folder()
    inside_scratch = Path(prefix).is_relative_to("/tmp") or any(f.startswith("/tmp/") for f in packages_folders())
    if not inside_scratch:
        view += ["--symlink", SCRATCH, "/tmp"]
    view += ["--dir", "/proc", "--dir", "/dev", "--size", str(16 * MIB), "--tmpfs", SCRATCH]
    for device in ("/dev/null", "/dev/urandom"):
        view += ["--dev-bind", device, device]
    for path in ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", prefix, *packages_folders()):
        # Folders that bubblewrap makes on its own way are closed to everyone but root.
        view += [word for parent in reversed(Path(path).parents[:-1]) for word in ("--dir", str(parent))]
        view += ["--ro-bind-try", path, path]
    for folder in packages_folders():
        # The course's own references, where it is installed and not only linked.
        if Path(folder, "grader").is_dir():
            view += ["--tmpfs", f"{folder}/grader", "--remount-ro", f"{folder}/grader"]
    view += ["--dir", f"{COURSE}/grader"]
    for name, target in _stubs().items():
        view += ["--ro-bind", str(target), f"{COURSE}/{name}"]
    for name, value in environment(SCRATCH).items():
        view += ["--setenv", name, value]
    return [*view, "--remount-ro", "/", "--chdir", SCRATCH]


def _stubs() -> dict[str, Path]:
    """What `grader` is in there: stubs, and the executor that carries out requests."""
    stub = Path(inside.__file__).with_name("grader_stub.py")
    return {
        "grader/__init__.py": stub,
        "grader/subject": Path(grader.__file__).with_name("subject"),
        "grader/views.py": stub,
    }


def environment(home: str) -> dict[str, str]:
    """The whole environment in there. It tells nothing, and is the same for every submission."""
    return {
        **ONE_THREAD,
        "HOME": home,
        "TMPDIR": home,
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _interpreter_folder() -> str:
    """Where Python itself lies: its prefix, or no more than the program where that is all of /usr."""
    executable = os.path.realpath(sys.executable)
    return executable if sys.base_prefix in ("/usr", "/usr/local") else os.path.realpath(sys.base_prefix)


def packages_folders() -> list[str]:
    """Where installed packages lie."""
    paths = sysconfig.get_paths()
    found = [paths["purelib"], paths["platlib"]]
    if sys.prefix == sys.base_prefix:
        found += [*site.getsitepackages(), site.getusersitepackages()]
    return list(dict.fromkeys(path for path in found if os.path.isdir(path)))


def _python(descriptor: int, course: str = COURSE) -> list[str]:
    """The zygote's command: no user's or site's start-up files, and nothing of a submission on the path."""
    start = (
        f"import sys; sys.path[:0] = {[course]!r}; sys.path += {packages_folders()!r}; "
        "from grader.subject.zygote_process import main; main()"
    )
    # Not -I: it would ignore PYTHONMALLOC too. The environment is ours from end to end.
    return [os.path.realpath(sys.executable), "-s", "-S", "-P", "-B", "-c", start, str(descriptor)]
