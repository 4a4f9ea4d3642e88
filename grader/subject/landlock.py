"""What a student's code may open, as a ruleset that the kernel enforces (Landlock, from Linux 5.13 on).

Rules only add: what isn't named can't be read, written, made or removed. That something exists, of what size it is and
where a link leads can still be seen. What a kernel adds to its first version (ABI 1) is used where it is there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Collection, Iterator

# Numbers that are the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_NO_NEW_PRIVS = 38
ASK_FOR_ABI, PATH_BENEATH = 1, 1
WRITE_FILE, READ_FILE, READ_FOLDER, REMOVE_FOLDER, REMOVE_FILE = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
MAKE_FOLDER, MAKE_FILE, REFER, TRUNCATE = 1 << 7, 1 << 8, 1 << 13, 1 << 14
OF_FILES = 1 << 0 | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
READ = READ_FILE | READ_FOLDER
# No links, pipes, sockets and devices.
CHANGE = READ | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_FOLDER | MAKE_FILE | REFER | TRUNCATE
# How many rights on files there are, by ABI; TCP since 4, signals and abstract sockets since 6.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
ALL_RIGHTS, TCP, SCOPES = 16, 0b11, 0b11

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version of Landlock that this kernel has. Raises `OSError` where it has none."""
    return _checked(_libc.syscall(CREATE_RULESET, None, 0, ASK_FOR_ABI), "Landlock")


def why_missing(error: OSError) -> str:
    """The reason, in words, why the kernel offers no Landlock."""
    if error.errno == errno.EOPNOTSUPP:
        return "this kernel has Landlock switched off; its boot parameter `lsm=` also has to name landlock"
    if error.errno == errno.ENOSYS:
        return f"this kernel, {os.uname().release}, has no Landlock, which needs Linux 5.13 or newer"
    return f"Landlock can't be used here ({os.strerror(error.errno or 0)}): something forbids its system calls"


class Ruleset:
    """A ruleset, made once for an ABI of Landlock and taken on by each child. Raises `OSError`."""

    def __init__(self, version: int) -> None:
        self._rights = (1 << RIGHTS.get(version, ALL_RIGHTS)) - 1
        words = (self._rights, TCP, SCOPES)[: 1 if version < 4 else 2 if version < 6 else 3]
        attributes = struct.pack(f"{len(words)}Q", *words)
        created = _libc.syscall(CREATE_RULESET, attributes, len(attributes), 0)
        self.descriptor = _checked(created, "landlock_create_ruleset")

    def allow(self, path: str, rights: int) -> None:
        """Allow `rights`, Landlock's bits, for a file or for everything in a folder. A path that isn't there is passed
        over."""
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_FILES
        rule = struct.pack("<Qi", rights & self._rights, descriptor)
        _checked(_libc.syscall(ADD_RULE, self.descriptor, PATH_BENEATH, rule, 0), f"landlock_add_rule for {path}")
        os.close(descriptor)

    def take_on(self) -> None:
        """Hold this process to the ruleset for good; no program that it starts gains a privilege either."""
        _checked(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        _checked(_libc.syscall(RESTRICT_SELF, self.descriptor, 0), "landlock_restrict_self")
        os.close(self.descriptor)


def without(path: str, hidden: Collection[str]) -> Iterator[str]:
    """The paths to allow so that everything in `path` can be read but the `hidden` folders. There are no links among
    them: rules don't follow links, so a link needs none."""
    if path in hidden:
        return
    if not any(folder.startswith(f"{path}/") for folder in hidden):
        yield path
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield from without(entry.path, hidden)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
