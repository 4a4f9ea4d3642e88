"""The system calls that a student's code may make, as a filter that the kernel enforces (seccomp, BPF).

A list of what is allowed: what honest code was seen to use (tests/system_calls.py records it), and what other versions
of Python, torch and the C library use in its place. So there is no way to the network, to other processes, to new
namespaces and file systems, to other programs, to kernel interfaces with a history of holes, and to what Landlock
doesn't cover: modes, owners, times, links. Any other call fails with EPERM and the code goes on. A call that is newer
than `LAST_KNOWN` doesn't exist.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

# The architecture as the filter sees it, and which number of a call is its own.
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# Each call with its number on x86_64 and on aarch64; "-" where there is no such call.
ALLOWED = {
    "memory": (
        "brk 12 214, mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, msync 26 227, "
        "mincore 27 232, membarrier 324 283, mbind 237 235, get_mempolicy 239 236, set_mempolicy 238 237, "
        "map_shadow_stack 453 453"
    ),
    "files that Landlock watches": (
        "read 0 63, write 1 64, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, preadv 295 69, "
        "pwritev 296 70, preadv2 327 286, pwritev2 328 287, close 3 57, lseek 8 62, stat 4 -, fstat 5 80, lstat 6 -, "
        "newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44, access 21 -, faccessat 269 48, "
        "faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, getcwd 79 17, "
        "chdir 80 49, fchdir 81 50, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, fsync 74 82, "
        "fdatasync 75 83, ftruncate 77 46, fadvise64 221 223, sendfile 40 71, "
        "copy_file_range 326 285, rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, "
        "rmdir 84 -, creat 85 -, unlink 87 -, unlinkat 263 35, umask 95 166, close_range 436 436"
    ),
    "time": (
        "clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169, "
        "time 201 -, times 100 153, alarm 37 -, getitimer 36 102, setitimer 38 103, timer_create 222 107, "
        "timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, "
        "timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87"
    ),
    "signals to oneself": (
        "rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, "
        "rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, pause 34 -, restart_syscall 219 128, "
        "signalfd 282 -, signalfd4 289 74"
    ),
    "waiting": (
        "poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, "
        "epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, "
        "eventfd2 290 19, wait4 61 260, waitid 247 95"
    ),
    "threads": (
        "futex 202 98, futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455, futex_requeue 456 456, "
        "set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, exit 60 93, exit_group 231 94, gettid 186 178, "
        "getcpu 309 168, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121, "
        "sched_getscheduler 145 120, sched_getattr 315 275, sched_get_priority_max 146 125, "
        "sched_get_priority_min 147 126, sched_rr_get_interval 148 127, arch_prctl 158 -"
    ),
    "who and what one is": (
        "getpid 39 172, getppid 110 173, getpgrp 111 -, getpgid 121 155, getsid 124 156, getuid 102 174, "
        "getgid 104 176, geteuid 107 175, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, "
        "getrlimit 97 163, setrlimit 160 164, getrusage 98 165, getpriority 140 141, capget 125 90, sysinfo 99 179, "
        "uname 63 160, getrandom 318 278"
    ),
    "the pipe to the judge": (
        "recvfrom 45 207, sendto 44 206, shutdown 48 210, getpeername 52 205, getsockname 51 204"
    ),
}
# What they do is told in memory, where a filter can't look; C libraries fall back to the older call.
ABSENT = "clone3 435 435, openat2 437 437"
# It takes room on the disk without making a file longer, so that no limit on files is asked. The C library's
# posix_fallocate writes in its place.
UNSUPPORTED = "fallocate 285 47"
LAST_KNOWN = 456  # futex_requeue, of Linux 6.7
# Allowed with some arguments only: see `program`.
CONDITIONAL = (
    "clone 56 220, kill 62 129, tgkill 234 131, prlimit64 302 261, prctl 157 167, ioctl 16 29, fcntl 72 25, open 2 -,"
    " openat 257 56, socketpair 53 199"
)
# A thread with a table of files of its own would hold open what nobody sees.
CLONE_THREAD_AND_FILES, SOCK_STREAM, PR_SET_PDEATHSIG = 0x10400, 1, 1
NO_NAME = 0o20000000  # of O_TMPFILE, without O_DIRECTORY
# Who gets a signal when a file is ready, and which; leases, watches of a folder, larger pipes.
FCNTL_DENIED = (8, 10, 15, 1024, 1026, 1031)
# How much there is to read, whether to block, whether to pass on to another program: all that isn't about a device.
IOCTL_ALLOWED = (0x541B, 0x5421, 0x5450, 0x5451)

LOAD, AND, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
DENY = ERROR | errno.EPERM

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def supported() -> bool:
    """Whether the numbers of this machine's system calls are known."""
    return platform.machine() in ARCHITECTURES


@functools.cache
def numbers(calls: str) -> dict[str, int]:
    """The numbers of system calls on this machine, by name, without those that it lacks ("-"). `calls` has an entry for
    each, separated by commas: the name, and its number on each architecture."""
    _architecture, column = ARCHITECTURES[platform.machine()]
    found = {words[0]: words[1 + column] for words in map(str.split, calls.split(","))}
    return {name: int(number) for name, number in found.items() if number != "-"}


def program(pid: int) -> bytes:
    """The filter for the process `pid`, as the bytes that the kernel takes: signals to itself only, threads but no
    processes."""
    own = _argument(0) + _if(pid, ALLOW)
    conditions = {
        "clone": _argument(0)
        + instruction(AND, CLONE_THREAD_AND_FILES)
        + _if(CLONE_THREAD_AND_FILES, ALLOW)
        + _return(DENY),
        "kill": own + _return(DENY),
        "tgkill": own + _return(DENY),
        "prlimit64": own + _if(0, ALLOW) + _return(DENY),
        "prctl": _argument(0) + _if(PR_SET_PDEATHSIG, DENY) + _return(ALLOW),
        "ioctl": _argument(1)
        + b"".join(_if(command, ALLOW) for command in IOCTL_ALLOWED)
        + _return(ERROR | errno.ENOTTY),
        "fcntl": _argument(1) + b"".join(_if(command, DENY) for command in FCNTL_DENIED) + _return(ALLOW),
        "open": _opening(_argument(1)),
        "openat": _opening(_argument(2)),
        # asyncio makes one. A pair of datagram sockets could be told to send to any other socket.
        "socketpair": _argument(1) + instruction(AND, 0xF) + _if(SOCK_STREAM, ALLOW) + _return(DENY),
    }
    code = instruction(LOAD, ARCHITECTURE) + instruction(EQUAL, ARCHITECTURES[platform.machine()][0], 1) + _return(KILL)
    code += instruction(LOAD, NUMBER) + instruction(GREATER, LAST_KNOWN, 0, 1) + _return(ERROR | errno.ENOSYS)
    for name, number in numbers(CONDITIONAL).items():
        code += instruction(EQUAL, number, 0, len(conditions[name]) // 8) + conditions[name]
    return code + _for_every_process() + _return(DENY)


@functools.cache
def _for_every_process() -> bytes:
    code = b"".join(_if(number, ERROR | errno.ENOSYS) for number in numbers(ABSENT).values())
    code += b"".join(_if(number, ERROR | errno.EOPNOTSUPP) for number in numbers(UNSUPPORTED).values())
    for calls in ALLOWED.values():
        code += b"".join(_if(number, ALLOW) for number in numbers(calls).values())
    return code


def _opening(flags: bytes) -> bytes:
    """The part of a filter that looks at how a file is opened; `flags` are the instructions that load the flags.
    Emptying a file that isn't opened to be written is refused, as Landlock before ABI 3 doesn't see it. So is a file
    that never has a name, which wouldn't be counted; what asks for one makes do with one that it removes."""
    written = instruction(AND, os.O_ACCMODE) + _if(os.O_WRONLY, ALLOW) + _if(os.O_RDWR, ALLOW)
    unnamed = instruction(ANY_BIT, NO_NAME, 0, 1) + _return(ERROR | errno.EOPNOTSUPP)
    return flags + unnamed + instruction(ANY_BIT, os.O_TRUNC, 1) + _return(ALLOW) + written + _return(DENY)


def instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One instruction as bytes; `if_so` and `if_not` say how many of the following ones are left out in each case."""
    return struct.pack("HBBI", code, if_so, if_not, value)


def _argument(position: int) -> bytes:
    return instruction(LOAD, ARGUMENTS + 8 * position)


def _return(verdict: int) -> bytes:
    return instruction(RETURN, verdict)


def _if(value: int, verdict: int) -> bytes:
    return instruction(EQUAL, value, 0, 1) + _return(verdict)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(code: bytes) -> None:
    """Put this process under a filter, for good. Needs no_new_privs. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    kept = ctypes.create_string_buffer(code, len(code))
    compiled = _Program(len(code) // 8, ctypes.cast(kept, ctypes.c_void_p))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(compiled), 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
