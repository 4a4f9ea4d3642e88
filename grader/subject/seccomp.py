"""The system calls that a student's code does without, as a filter that the kernel enforces (seccomp, BPF).

A list of what is denied, not of what is allowed: torch and numpy use many calls, and which ones depends on the machine.
What is denied is every way to the network, to other processes, to new namespaces and file systems, to other programs,
to kernel interfaces with a history of holes, and to what Landlock doesn't cover: modes, owners, times, links. A denied
call fails with EPERM and the code goes on. A call that is newer than this list doesn't exist.
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
DENIED = {
    "network": "socket 41 198, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,"
    " getsockopt 55 209, setsockopt 54 208, sendmmsg 307 269, recvmmsg 299 243, sendmsg 46 211, recvmsg 47 212",
    "processes and programs": "execve 59 221, execveat 322 281, uselib 134 -, fork 57 -, vfork 58 -, setsid 112 157,"
    " setpgid 109 154, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,"
    " process_mrelease 448 448, kcmp 312 272, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,"
    " tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, migrate_pages 256 238, move_pages 279 239,"
    " setpriority 141 140, ioprio_set 251 30, sched_setaffinity 203 122, sched_setattr 314 274, sched_setparam 142 118,"
    " sched_setscheduler 144 119, get_robust_list 274 100",
    "changes that Landlock lets through, and looks": "chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452,"
    " chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -, utimensat 280 88,"
    " futimesat 261 -, truncate 76 45, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, mknod 133 -,"
    " mknodat 259 33, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, getxattr 191 8, lgetxattr 192 9,"
    " fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196 13, removexattr 197 14,"
    " lremovexattr 198 15, fremovexattr 199 16, flock 73 32, inotify_init 253 -, inotify_init1 294 26,"
    " inotify_add_watch 254 27, fanotify_init 300 262, fanotify_mark 301 263, sync 162 81, syncfs 306 267,"
    " name_to_handle_at 303 264, open_by_handle_at 304 265",
    "namespaces and file systems": "unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41,"
    " chroot 161 51, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, move_mount 429 429,"
    " open_tree 428 428, mount_setattr 442 442, quotactl 179 60, quotactl_fd 443 443, swapon 167 224, swapoff 168 225",
    "memory that outlives a process": "shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semctl 66 191,"
    " semop 65 193, semtimedop 220 192, msgget 68 186, msgctl 71 187, msgsnd 69 189, msgrcv 70 188, mq_open 240 180,"
    " mq_unlink 241 181, memfd_create 319 279, memfd_secret 447 447, remap_file_pages 216 234",
    "kernel interfaces": "bpf 321 280, perf_event_open 298 241, io_uring_setup 425 425, io_uring_enter 426 426,"
    " io_uring_register 427 427, userfaultfd 323 282, keyctl 250 219, add_key 248 217, request_key 249 218,"
    " init_module 175 105, finit_module 313 273, delete_module 176 106, create_module 174 -, kexec_load 246 104,"
    " kexec_file_load 320 294, reboot 169 142, iopl 172 -, ioperm 173 -, modify_ldt 154 -, personality 135 92,"
    " acct 163 89, syslog 103 116, vhangup 153 58, lookup_dcookie 212 18, nfsservctl 180 42, io_setup 206 0,"
    " io_submit 209 2, landlock_create_ruleset 444 444, landlock_restrict_self 446 446, seccomp 317 277,"
    " settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, sethostname 170 161,"
    " setdomainname 171 162, setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147,"
    " setresgid 119 149, setgroups 116 159, setfsuid 122 151, setfsgid 123 152",
}
# What they do is told in memory, where a filter can't look; C libraries fall back to the older call.
ABSENT = "clone3 435 435, openat2 437 437"
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
    """Whether the numbers of this machine's calls are known."""
    return platform.machine() in ARCHITECTURES


@functools.cache
def numbers(calls: str) -> dict[str, int]:
    """The calls of a list by name, with their numbers on this machine, without those that it lacks."""
    _architecture, column = ARCHITECTURES[platform.machine()]
    found = {words[0]: words[1 + column] for words in map(str.split, calls.split(","))}
    return {name: int(number) for name, number in found.items() if number != "-"}


def program(pid: int) -> bytes:
    """The filter for the process `pid`, as the kernel takes it: signals to itself only, threads but no processes."""
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
        "ioctl": _argument(1) + b"".join(_if(one, ALLOW) for one in IOCTL_ALLOWED) + _return(ERROR | errno.ENOTTY),
        "fcntl": _argument(1) + b"".join(_if(one, DENY) for one in FCNTL_DENIED) + _return(ALLOW),
        "open": _opening(_argument(1)),
        "openat": _opening(_argument(2)),
        # asyncio makes one. A pair of datagram sockets could be told to send to any other socket.
        "socketpair": _argument(1) + instruction(AND, 0xF) + _if(SOCK_STREAM, ALLOW) + _return(DENY),
    }
    code = instruction(LOAD, ARCHITECTURE) + instruction(EQUAL, ARCHITECTURES[platform.machine()][0], 1) + _return(KILL)
    code += instruction(LOAD, NUMBER) + instruction(GREATER, LAST_KNOWN, 0, 1) + _return(ERROR | errno.ENOSYS)
    for name, number in numbers(CONDITIONAL).items():
        code += instruction(EQUAL, number, 0, len(conditions[name]) // 8) + conditions[name]
    return code + _for_every_process() + _return(ALLOW)


@functools.cache
def _for_every_process() -> bytes:
    code = b"".join(_if(number, ERROR | errno.ENOSYS) for number in numbers(ABSENT).values())
    for calls in DENIED.values():
        code += b"".join(_if(number, DENY) for number in numbers(calls).values())
    return code


def _opening(flags: bytes) -> bytes:
    """Before its ABI 3 Landlock doesn't see that a file is emptied which isn't opened to be written. A file that never
    had a name wouldn't be counted; what asks for one makes do with one that it removes."""
    written = instruction(AND, os.O_ACCMODE) + _if(os.O_WRONLY, ALLOW) + _if(os.O_RDWR, ALLOW)
    unnamed = instruction(ANY_BIT, NO_NAME, 0, 1) + _return(ERROR | errno.EOPNOTSUPP)
    return flags + unnamed + instruction(ANY_BIT, os.O_TRUNC, 1) + _return(ALLOW) + written + _return(DENY)


def instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One instruction; the last two say how many of the following are left out."""
    return struct.pack("HBBI", code, if_so, if_not, value)


def _argument(place: int) -> bytes:
    return instruction(LOAD, ARGUMENTS + 8 * place)


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
