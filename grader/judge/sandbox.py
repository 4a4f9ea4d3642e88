"""The place where students' code runs: a zygote whose children confine themselves, in bubblewrap where that starts.

A child is always confined in the same way, which needs no privilege (`grader.subject.confine`). Bubblewrap around the
zygote is a second wall: no network, processes and shared memory of its own, hardly any files. It is a command in front
of the same one, and the child knows nothing of it.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import grader
from grader.errors import SandboxUnavailable
from grader.judge import inside
from grader.judge.limits import Limits
from grader.judge.result import CONFINED, IN_BUBBLEWRAP, UNSAFE
from grader.subject import landlock, seccomp
from grader.subject.confine import NULL, URANDOM, Confinement
from grader.subject.errors import ZygoteGone
from grader.subject.held_folder import held_folder
from grader.subject.zygote import ONE_THREAD, Zygote

PACKAGE = Path(grader.__file__).parent
START = Path(inside.__file__).with_name("start.py")
# What a notebook imports without asking: loaded once in the zygote, it costs a child nothing.
MODULES = ("matplotlib.pyplot", "grader.subject.shell")
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
ISOLATION = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1"),
    *("--die-with-parent", "--cap-drop", "ALL"),
)
NOT_INSTALLED = "bubblewrap is not installed"
SCRATCH, SCRATCH_FILES = "attention-course-", 4096
START_SECONDS = 120.0


class Sandbox(Zygote):
    """A zygote for one submission at a time. With `unsafe`, only memory, time and the size of files are limited.

    `confinement` is `CONFINED`, `IN_BUBBLEWRAP` or `UNSAFE`; `no_bubblewrap` says why bubblewrap isn't used, "" where
    it is. `meanwhile` is called while the zygote imports what it needs, which takes it seconds. Raises
    `SandboxUnavailable`.
    """

    def __init__(
        self, limits: Limits | None = None, unsafe: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> None:
        self.limits, self._meanwhile = limits or Limits(), meanwhile
        self.no_bubblewrap = ""
        self._stack = contextlib.ExitStack()
        try:
            self.folder = self._stack.enter_context(held_folder(SCRATCH))
        except FileNotFoundError as error:
            raise SandboxUnavailable(
                f"there is no folder for temporary files ({error}), so name one in TMPDIR"
            ) from None
        try:
            self._confinement = confinement(self.limits, "" if unsafe else self.folder)
            self.confinement = UNSAFE if unsafe else self._started_in_bubblewrap()
            if self.confinement != IN_BUBBLEWRAP:
                self._start_behind([])
        except BaseException as error:
            self._stack.close()
            if isinstance(error, ZygoteGone):
                raise SandboxUnavailable(f"the sandbox's process doesn't start: {error}") from None
            raise

    def _started_in_bubblewrap(self) -> str:
        """Start the zygote in bubblewrap, if one of the ways works. Returns `IN_BUBBLEWRAP`, or `CONFINED` if none
        does."""
        for command in bubblewraps():
            try:
                self._start_behind([*command, *_view(self.folder, self.limits.scratch_bytes), "--"])
            except ZygoteGone as error:
                self.no_bubblewrap = str(error)
            else:
                self.no_bubblewrap = ""
                return IN_BUBBLEWRAP
        self.no_bubblewrap = self.no_bubblewrap or NOT_INSTALLED
        return CONFINED

    def _start_behind(self, command: list[str]) -> None:
        """Start the zygote with `command` in front of its own, and confine a first child as a trial. Raises
        `ZygoteGone` with what the command said."""
        self._behind = command
        with tempfile.TemporaryFile(dir=self.folder) as self._log:
            try:
                super().__init__()
                self._control.settimeout(None)
                from grader.subject.forked import ForkedSubject  # with torch, which `meanwhile` may have imported

                ForkedSubject(self).close()
            except OSError as error:
                raise ZygoteGone(str(error)) from None
            except ZygoteGone as error:
                self._process.kill()
                super().close()
                self._log.seek(0)
                said = self._log.read()[-600:].decode(errors="replace").strip()
                raise ZygoteGone(said or str(error)) from None

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        self._control.settimeout(START_SECONDS)
        orders = {"confinement": asdict(self._confinement), "packages": packages_folders()}
        self._control.send(json.dumps(orders).encode())
        process = subprocess.Popen(
            [*self._behind, *_python(), str(descriptor)],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment(self.folder),
            cwd=self.folder,
            start_new_session=True,  # Ctrl-C is for the judge, and its end is the zygote's
        )
        if self._meanwhile is not None:
            self._meanwhile()
        return process

    def close(self) -> None:
        super().close()
        self._stack.close()


def confinement(limits: Limits, scratch: str) -> Confinement:
    """The part of the limits that the kernel and the zygote enforce on a child; `scratch` is the folder it may write
    in, "" for none."""
    return Confinement(
        memory=limits.memory,
        threads=limits.threads,
        file_bytes=limits.file_bytes,
        scratch_bytes=limits.scratch_bytes,
        scratch_files=SCRATCH_FILES,
        cpu_seconds=int(limits.submission_seconds) + 10,
        scratch=scratch,
        readable=readable(),
        hidden=hidden(),
        abi=landlock_abi() if scratch else 0,
        modules=MODULES,
    )


def landlock_abi() -> int:
    """The version of Landlock's interface here; `SandboxUnavailable` where children can't confine themselves."""
    if sys.platform != "linux" or not seccomp.supported():
        machine = f"{platform.system()} on {platform.machine()}"
        raise SandboxUnavailable(f"it can only do so on Linux with x86_64 or aarch64, and this is {machine}")
    try:
        return landlock.abi()
    except OSError as error:
        raise SandboxUnavailable(landlock.why_missing(error)) from None


def bubblewraps() -> Iterator[list[str]]:
    """Bubblewrap's command in several ways, the best to start with first. Root may do without a user namespace; where
    its privileges for that were taken, as in a container, it may need one like everybody else."""
    bwrap = shutil.which("bwrap")
    if bwrap is not None:
        if os.geteuid() == 0:
            yield [bwrap, *ISOLATION]
        yield [bwrap, "--unshare-user", *ISOLATION]


def _view(scratch: str, size: int) -> list[str]:
    """Bubblewrap's options for what can be seen of the file system: all of it read-only but the scratch folder, a tmpfs
    of `size` bytes."""
    view = ["--proc", "/proc"]
    for folder in ("/lib", "/lib64"):
        if os.path.islink(folder):
            view += ["--symlink", os.readlink(folder), folder]
    for device in (NULL, URANDOM):
        view += ["--dev-bind", device, device]
    roots = [*readable(), os.path.realpath(sys.executable)]
    for path in roots:
        view += ["--ro-bind-try", path, path]
    covered = [folder for folder in hidden() if any(Path(folder).is_relative_to(root) for root in roots)]
    for folder in covered:
        view += ["--tmpfs", folder]
    for path in (str(PACKAGE / "subject"), str(START.parent)):
        view += ["--ro-bind", path, path]
    view += ["--size", str(size), "--tmpfs", scratch, "--chdir", scratch]
    return [*view, *(word for folder in (*covered, "/") for word in ("--remount-ro", folder))]


def environment(home: str) -> dict[str, str]:
    """The variables of a child's environment, all of them. They tell nothing, and are the same for every submission."""
    return {
        **ONE_THREAD,
        "MALLOC_ARENA_MAX": "2",  # else each thread takes 64 MiB of the address space that it may have
        "HOME": home,
        "TMPDIR": home,
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "",
    }


def readable() -> list[str]:
    """The paths that a child may read, but for what is `hidden`: Python's library, packages, shared objects."""
    python = [sysconfig.get_path("stdlib"), f"{sys.base_prefix}/lib"]
    found = [*LIBRARIES, *python, *packages_folders()]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if os.path.exists(path)))


def hidden() -> list[str]:
    """The folders of the course's own package, wherever it may be installed: it holds the references."""
    found = [str(PACKAGE), *(f"{folder}/grader" for folder in packages_folders())]
    for root in readable():
        found += glob.glob(f"{glob.escape(root)}/python3*/*-packages/grader")
    return list(dict.fromkeys(os.path.realpath(path) for path in found if os.path.exists(path)))


def packages_folders() -> list[str]:
    """The folders of installed packages, as real paths."""
    paths = sysconfig.get_paths()
    found = [paths["purelib"], paths["platlib"]]
    if sys.prefix == sys.base_prefix:
        found += [*site.getsitepackages(), site.getusersitepackages()]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if os.path.isdir(path)))


def _python() -> list[str]:
    """The zygote's command: no user's or site's start-up files, and nothing of a submission on the path."""
    # Not -I: it would ignore PYTHONMALLOC too. The environment is ours from end to end.
    return [os.path.realpath(sys.executable), "-s", "-S", "-P", "-B", str(START)]
