"""A course that several teachers grade: nbgrader's `groupshared`. What one of them makes the others of the group can
read and replace, and nobody else can.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.errors import CourseError

FOLDER, FILE = 0o2770, 0o660


def is_shared(root: Path) -> bool:
    """Whether a folder's mode gives it to its group, as `chmod 2770` does."""
    return root.stat().st_mode & 0o2020 == 0o2020


def group_number(name: str) -> int:
    """The number of a group of this machine; `CourseError` if there is no such group, or whoever runs this isn't in
    it."""
    try:
        group = grp.getgrnam(name)
    except KeyError:
        raise CourseError(
            f"--group {name}: this machine has no such group. Ask an administrator to make it (`groupadd {name}`) and "
            f"to add the teachers (`usermod -aG {name} USER`)."
        ) from None
    if os.geteuid() != 0 and group.gr_gid not in (os.getegid(), *os.getgroups()):
        user = user_name(os.geteuid())
        raise CourseError(
            f"--group {name}: {user} isn't in this group, or wasn't when they logged in. Ask an administrator to add "
            f"them (`usermod -aG {name} {user}`), and then log in again."
        )
    return group.gr_gid


@contextmanager
def shared_with(root: Path, group: int) -> Iterator[None]:
    """Give a course directory to a group (its number), and what is made in it while the block runs too."""
    os.chown(root, -1, group)
    root.chmod(FOLDER)  # with the bit by which the group of what is made in it is the same
    before = os.umask(0o007)
    try:
        yield
    finally:
        os.umask(before)


def share(layout: Any, secret_file: str) -> None:
    """Open a shared course to its group, as far as it belongs to whoever runs this; `CourseError` says who else has to
    do what. `layout` is nbgrader's own `CourseDirectory`; a course that isn't shared stays as it is."""
    if not layout.groupshared:
        return
    root = Path(layout.root)
    group = root.stat().st_gid
    closed: dict[str, list[Path]] = {}
    for path, wanted in _parts(root, secret_file):
        about = path.lstat()
        mode = (about.st_mode | wanted) & ~0o007 if path.name == secret_file else about.st_mode | wanted
        if mode == about.st_mode and about.st_gid == group:
            continue
        try:
            os.chown(path, -1, group)
            path.chmod(stat.S_IMODE(mode))
        except PermissionError:
            closed.setdefault(user_name(about.st_uid), []).append(path)
    if closed:
        name, paths = next(iter(closed.items()))
        more = f" (and {len(paths) - 1} more)" if paths[1:] else ""
        raise CourseError(
            f"{paths[0]}{more} belongs to {name} and is closed to the course's group. {name} can open it with any run "
            f"of `grader autograde`, or with: chgrp -R {_group(group)} {root}; chmod -R g+rwX {root}"
        )


def _parts(root: Path, secret_file: str) -> Iterator[tuple[Path, int]]:
    """The paths of what has to be open to the group, and the bits of the mode that it needs: every folder, so that
    files in it can be replaced, and the files that are written in place."""
    for folder, _names, files in os.walk(root):
        yield Path(folder), FOLDER
        for name in files:
            path = Path(folder, name)
            if path == root / secret_file:
                yield path, 0o040
            elif (path.parent == root and path.suffix in (".db", ".csv", ".html")) or ".grader" in path.parts:
                yield path, FILE


def user_name(number: int) -> str:
    """The name of this machine's user with that number; "user NUMBER" if there is none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
