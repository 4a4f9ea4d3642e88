"""Confines a forked child before it runs a student's code: a private scratch folder, resource limits, another user, no
capabilities, few system calls. No step can be undone.
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
    """The limits of a child. `memory`: bytes of address space beyond the zygote's; `uid` None keeps the zygote's user.

    `scratch` is the mount point of each child's small tmpfs; "" without a sandbox. `seccomp` is a compiled filter,
    base64. `packages` are imported before the first fork."""

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
    """Take every step. The order matters: mounting needs capabilities, and the filter blocks the other steps."""
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
    """Mount a tmpfs in the child's own mount namespace: it vanishes with the child."""
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
    if not limits.processes:  # the limit counts all processes of a user, and without a sandbox the user is the teacher
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
