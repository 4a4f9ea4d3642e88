"""The system calls that code in the sandbox doesn't get, by name. Their numbers are libseccomp's: the filter names only
what it allows."""

from __future__ import annotations

import ctypes
import ctypes.util

DENIED = {
    "network": ("socket connect bind listen accept accept4 getsockopt setsockopt sendmmsg recvmmsg sendmsg recvmsg"),
    "processes and programs": (
        "execve execveat uselib fork vfork setsid setpgid ptrace process_vm_readv process_vm_writev "
        "process_madvise process_mrelease kcmp pidfd_open pidfd_getfd pidfd_send_signal tkill rt_sigqueueinfo "
        "rt_tgsigqueueinfo migrate_pages move_pages setpriority ioprio_set sched_setaffinity sched_setattr "
        "sched_setparam sched_setscheduler get_robust_list"
    ),
    "changes that Landlock lets through, and looks": (
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat truncate "
        "link linkat symlink symlinkat mknod mknodat setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr "
        "listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr flock inotify_init inotify_init1 "
        "inotify_add_watch fanotify_init fanotify_mark sync syncfs name_to_handle_at open_by_handle_at"
    ),
    "namespaces and file systems": (
        "unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree "
        "mount_setattr quotactl quotactl_fd swapon swapoff"
    ),
    "memory that outlives a process": (
        "shmget shmat shmctl semget semctl semop semtimedop msgget msgctl msgsnd msgrcv mq_open mq_unlink "
        "memfd_create memfd_secret remap_file_pages"
    ),
    "kernel interfaces": (
        "bpf perf_event_open io_uring_setup io_uring_enter io_uring_register userfaultfd keyctl add_key "
        "request_key init_module finit_module delete_module create_module kexec_load kexec_file_load reboot iopl "
        "ioperm modify_ldt personality acct syslog vhangup lookup_dcookie nfsservctl io_setup io_submit "
        "landlock_create_ruleset landlock_restrict_self seccomp settimeofday clock_settime clock_adjtime adjtimex "
        "sethostname setdomainname setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid "
        "setfsgid"
    ),
    "of no use to honest code": (
        "_sysctl afs_syscall cachestat capset epoll_ctl_old epoll_wait_old get_kernel_syms get_thread_area "
        "getpmsg inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents ioprio_get landlock_add_rule "
        "mlock mlock2 mlockall mq_getsetattr mq_notify mq_timedreceive mq_timedsend munlock munlockall pkey_alloc "
        "pkey_free pkey_mprotect putpmsg query_module readahead security set_mempolicy_home_node set_thread_area "
        "shmdt splice sync_file_range sysfs tee tuxcall ustat vmsplice vserver"
    ),
}
_LIBRARY = ctypes.CDLL(ctypes.util.find_library("seccomp"))


def number(name: str, architecture: int | None = None) -> int:
    """The number of a call on this machine, or on another one by its token; negative if it has none there, or if the
    library is older than the call."""
    if architecture is None:
        return int(_LIBRARY.seccomp_syscall_resolve_name(name.encode()))
    return int(_LIBRARY.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(architecture), name.encode()))


def every_name(last: int, architecture: int) -> set[str]:
    """The calls up to a number that the library knows of a machine, by its token."""
    resolve = _LIBRARY.seccomp_syscall_resolve_num_arch
    resolve.restype = ctypes.c_char_p
    return {name.decode() for i in range(last + 1) if (name := resolve(ctypes.c_uint32(architecture), i))}


# Those that this machine has.
NUMBERS = {name: number(name) for names in DENIED.values() for name in names.split() if number(name) >= 0}
