"""Confines a forked child before it runs a student's code: which files it may open, what it may use, which system calls
it may make. It needs no privilege, no step can be undone, and it is the same on every machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.subject import landlock, seccomp

PR_SET_PDEATHSIG = 1
CLOSE_RANGE = 436  # the same number everywhere
CAPABILITY_VERSION_3 = 0x20080522
NULL, URANDOM = "/dev/null", "/dev/urandom"


@dataclass(frozen=True)
class Confinement:
    """The limits of a child."""

    memory: int  # bytes of address space beyond the zygote's
    threads: int  # more than that end it, as with scratch
    file_bytes: int  # of the largest file
    scratch_bytes: int
    scratch_files: int
    cpu_seconds: int
    scratch: str = ""  # the one folder that it may write in; "" for limits alone, without confinement
    readable: Sequence[str] = ()  # real paths, as are those in `hidden`
    hidden: Sequence[str] = ()  # of what is readable
    abi: int = 1  # Landlock's version
    modules: Sequence[str] = ()  # imported before the first fork


class Confiner:
    """Confines children by the same limits; made once in a zygote, so that a child has little left to do. Raises
    `OSError` where the kernel can't."""

    def __init__(self, limits: Confinement) -> None:
        self.limits = limits
        self._room = _address_space() + limits.memory
        self._ruleset = _ruleset(limits) if limits.scratch else None
        seccomp.program(0)  # most of it is the same for every child, and made here

    def confine(self, kept: int, less_memory: int) -> None:
        """Confine this process, the child, for good. It keeps the standard descriptors and `kept`, and gets
        `less_memory` bytes less than the limits allow."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
        libc = ctypes.CDLL(None, use_errno=True)
        if self._ruleset is None:
            self._limit_resources(less_memory)
            return
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for first, last in _gaps(kept, self._ruleset.descriptor):
            libc.syscall(CLOSE_RANGE, first, last, 0)
        os.chdir(self.limits.scratch)
        self._limit_resources(less_memory)
        libc.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())
        self._ruleset.take_on()
        seccomp.install(seccomp.program(os.getpid()))

    def _limit_resources(self, less_memory: int) -> None:
        limits = self.limits
        for kind, value in {
            resource.RLIMIT_AS: self._room - less_memory,
            resource.RLIMIT_FSIZE: limits.file_bytes,
            resource.RLIMIT_CPU: limits.cpu_seconds,
            resource.RLIMIT_NOFILE: 64,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_MEMLOCK: 0,
            resource.RLIMIT_MSGQUEUE: 0,
        }.items():
            hardest = resource.getrlimit(kind)[1]
            most = value if hardest == resource.RLIM_INFINITY else min(value, hardest)
            resource.setrlimit(kind, (most, most))


def _ruleset(limits: Confinement) -> landlock.Ruleset:
    ruleset = landlock.Ruleset(limits.abi)
    for root in limits.readable:
        for path in landlock.without(root, limits.hidden):
            ruleset.allow(path, landlock.READ)
    ruleset.allow(URANDOM, landlock.READ)
    ruleset.allow(NULL, landlock.READ | landlock.WRITE_FILE | landlock.TRUNCATE)
    ruleset.allow(limits.scratch, landlock.CHANGE)
    return ruleset


def _gaps(*kept: int) -> Iterator[tuple[int, int]]:
    """The ranges of descriptors, first and last, from 3 on, between those that are kept."""
    first = 3
    for descriptor in (*sorted(kept), 2**31):
        if first < descriptor:
            yield first, descriptor - 1
        first = descriptor + 1


def _address_space() -> int:
    """This process's own size in bytes, as Linux counts it."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    return 2**40
