"""The folder that a student's process writes in, and how much of anything it uses: looked at by its zygote, because no
limit of the kernel's counts these without privileges."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from grader.subject.confine import Confinement


def overdrawn(pid: int, limits: Confinement) -> bool:
    """Whether the child `pid` has more threads, files or bytes in files than its limits allow."""
    try:
        threads = os.stat(f"/proc/{pid}/task").st_nlink - 2
        if threads > limits.threads:
            return True
        files, used = _used(limits.scratch, limits.scratch_files)
        if os.stat(limits.scratch).st_mtime:  # something was made in it: see `empty`
            descriptors = os.listdir(f"/proc/{pid}/fd")
            if not descriptors:  # its first thread has ended, and what the others have open can't be seen
                return threads > 1
            used += _removed(pid, descriptors) + _mapped(pid, limits)
        return files > limits.scratch_files or used > limits.scratch_bytes
    except FileNotFoundError:  # the child has ended
        return False
    except OSError:  # folders closed to all, or nested beyond the longest path: nobody makes such by accident
        return True


def _used(folder: str, most: int) -> tuple[int, int]:
    """How many files and folders are in a folder, counted up to one more than `most`, and their size on disk in
    bytes."""
    files = used = 0
    waiting = [folder]
    while waiting and files <= most:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
            for entry in itertools.islice(entries, most + 1):
                files += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    used += _bytes_of(entry.path)
    return files, used


def _bytes_of(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except FileNotFoundError:  # removed meanwhile
        return 0


def _removed(pid: int, descriptors: Sequence[str]) -> int:
    """Bytes in files that a process holds open, by these descriptors, and has removed already."""
    used = 0
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # closed meanwhile
            found = os.stat(f"/proc/{pid}/fd/{descriptor}")
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                used += found.st_blocks * 512
    return used


def _mapped(pid: int, limits: Confinement) -> int:
    """Bytes in files that a process has mapped, closed and removed. The size of such a file can't be seen: each counts
    as much as a file may have."""
    ours, removed = os.fsencode(limits.scratch).replace(b"\n", b"\\012") + b"/", set()
    for line in Path(f"/proc/{pid}/maps").read_bytes().split(b"\n"):
        if line.endswith(b" (deleted)"):
            _addresses, _mode, _offset, device, inode, name = line.split(maxsplit=5)
            if name.startswith(ours):
                removed.add((device, inode))
    return len(removed) * limits.file_bytes


def empty(folder: str) -> None:
    """Remove everything in a folder, however deep: what lies in a folder is moved up before that is removed, so no path
    gets too long. Nothing of it may still be in use. The folder's time is the epoch until something is made in it."""
    name, moved = secrets.token_hex(16), 0  # nobody can have taken it
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                moved += 1
                os.rename(inner.path, f"{folder}/{name}-{moved}")
            os.rmdir(entry.path)
    os.utime(folder, (0, 0))
