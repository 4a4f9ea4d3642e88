"""What a forked child gives up before it runs a student's code: a scratch folder of its own, limits, its user,
its capabilities, most system calls. Each step only takes away; after the last one nothing can be had back.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import signal
from dataclasses import asdict, dataclass, field

CLONE_NEWNS = 0x00020000
MS_NOSUID_NODEV = 2 | 4
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True)
class Confinement:
    """`memory` is the address space in bytes beyond what the zygote has; `uid` None keeps the zygote's own.

    `scratch` is where a small tmpfs is mounted for each child; "" where there is no sandbox to mount it in. `seccomp`
    is a compiled filter, base64. `packages` are imported before the first fork."""

    memory: int
    processes: int
    file_bytes: int
    scratch_bytes: int
    cpu_seconds: int
    scratch: str = ""
    uid: int | None = None
    seccomp: str = ""
    packages: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Confinement:
        data = json.loads(text)
        return cls(**{**data, "packages": tuple(data["packages"])})


_libc = ctypes.CDLL(None, use_errno=True)


def confine(limits: Confinement, address_space: int) -> None:
    """Give everything up. The order matters: a mount needs the capabilities that go next, the filter comes last."""
    _fresh_signals()
    if limits.scratch:
        _scratch(limits)
    _resources(limits, address_space)
    if limits.uid is not None:
        os.setgroups([])
        os.setresgid(limits.uid, limits.uid, limits.uid)
        os.setresuid(limits.uid, limits.uid, limits.uid)
    if limits.seccomp:
        _drop_capabilities()
        _filter(base64.b64decode(limits.seccomp))


def _fresh_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)


def _scratch(limits: Confinement) -> None:
    """A tmpfs in a mount namespace of the child's own: it vanishes with the child, whatever was left in it."""
    _check(_libc.unshare(CLONE_NEWNS), "unshare")
    options = f"size={limits.scratch_bytes},nr_inodes=4096,mode=1777".encode()
    _check(_libc.mount(b"tmpfs", limits.scratch.encode(), b"tmpfs", MS_NOSUID_NODEV, options), "mount")
    os.chdir(limits.scratch)


def _resources(limits: Confinement, address_space: int) -> None:
    room = address_space + limits.memory
    wanted = {
        resource.RLIMIT_AS: room,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if not limits.processes:  # counted by user, and the user is the teacher: their other processes count too
        del wanted[resource.RLIMIT_NPROC]
    for kind, value in wanted.items():
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _filter(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    compiled = _Program(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(compiled), 0, 0), "seccomp")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
