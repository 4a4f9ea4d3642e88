"""The system calls that a student's code does without, as a compiled filter that the kernel enforces.

A list of what is denied, not of what is allowed: torch and numpy use many calls, and which ones depends on the machine.
What is denied is every way to the network, to other processes, to new namespaces and file systems, to other programs,
and to kernel interfaces with a history of holes. A denied call fails with EPERM and the code goes on.
"""

from __future__ import annotations

import errno
import functools
import tempfile

DENIED: dict[str, tuple[str, ...]] = {
    "network": (
        *("socket", "connect", "bind", "listen", "accept", "accept4", "getsockopt", "setsockopt"),
        *("sendmmsg", "recvmmsg"),
    ),
    "other programs": ("execve", "execveat", "uselib"),
    "other processes": (
        *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"),
        *("pidfd_open", "pidfd_getfd", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "migrate_pages"),
        *("move_pages", "setpriority", "ioprio_set", "sched_setaffinity", "sched_setattr", "sched_setparam"),
        *("sched_setscheduler", "get_robust_list"),
    ),
    "namespaces and file systems": (
        *("unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount"),
        *("fspick", "move_mount", "open_tree", "mount_setattr", "mknod", "mknodat", "quotactl", "quotactl_fd"),
        *("open_by_handle_at", "name_to_handle_at", "fanotify_init", "swapon", "swapoff", "statmount", "listmount"),
    ),
    "memory that outlives a process": (
        *("shmget", "shmat", "shmctl", "semget", "semctl", "semop", "msgget", "msgctl", "msgsnd", "msgrcv"),
        *("mq_open", "mq_unlink", "memfd_create", "memfd_secret", "remap_file_pages"),
    ),
    "kernel interfaces": (
        *("bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "keyctl"),
        *("add_key", "request_key", "init_module", "finit_module", "delete_module", "create_module", "kexec_load"),
        *("kexec_file_load", "reboot", "iopl", "ioperm", "modify_ldt", "personality", "acct", "syslog", "vhangup"),
        *("lookup_dcookie", "nfsservctl", "io_setup", "io_submit", "landlock_create_ruleset", "seccomp"),
        *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
        *("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid"),
    ),
}
NEW_NAMESPACES = (0x00000080, 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)


@functools.cache
def program() -> bytes:
    """The filter as the kernel takes it (BPF for this machine)."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for calls in DENIED.values():
        for call in calls:
            if _exists(call):
                rules.add_rule(refuse, call)
    for flag in NEW_NAMESPACES:
        rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # Its flags lie in memory, where a filter can't look; the C library falls back to clone.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # One's own limits may be lowered; another process's may not be touched.
    rules.add_rule(refuse, "prlimit64", pyseccomp.Arg(0, pyseccomp.NE, 0))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _exists(call: str) -> bool:
    """Whether this machine's architecture has the call and the library knows it."""
    import pyseccomp

    try:
        return pyseccomp.resolve_syscall(pyseccomp.system_arch(), call) >= 0
    except (ValueError, OSError):
        return False
