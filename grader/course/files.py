"""Reads and copies files that students put there: regular files only, never through a link, never without end."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath

from grader.errors import CourseError, FileTooLarge, NotFollowed, Unreadable

MAX_FILES, MAX_ENTRIES, MAX_DEPTH = 200, 10_000, 20
MAX_PATH = 1000  # bytes; below a folder of ours there must be room for it in the 4,096 that Linux takes
HERE = PurePath()
# What `nbgrader submit` adds: when it was handed in, and what makes the name of the feedback's file.
TIMESTAMP, SECRET_FILE = "timestamp.txt", "submission_secret.txt"
SECRET_BYTES = 10_000
# What a link leads to that stands in place of another link, so that whoever grades it finds a link.
NOWHERE = "nowhere, since a link is not followed"


def read_regular(path: str | Path, max_bytes: int) -> bytes:
    """The bytes of a regular file in a folder that students can't write to; `Unreadable` for anything else there, and
    for more than `max_bytes`."""
    return UntrustedFolder(Path(path).parent).read(Path(path).name, max_bytes)


@dataclass(frozen=True)
class _Entry:
    """Something in a folder. `parent` is the open folder, by its descriptor, in which it has the name `path.name`;
    `path` is below the folder that was asked for; `refused` is why nobody looks into it, "" if somebody may."""

    path: PurePath
    parent: int
    mode: int
    refused: str = ""

    @property
    def is_regular(self) -> bool:
        return stat.S_ISREG(self.mode) or stat.S_ISDIR(self.mode)


@dataclass(frozen=True)
class UntrustedFolder:
    """A folder that students can write to: `path` below `root`, which is trusted.

    Every folder below `root` is opened in the one above it, without following a link, so that no link on the way leads
    to a neighbour's files, even if it is put there while we read. `owner` is the user to whom the folder and all in it
    have to belong, by number; None for whoever it may be.
    """

    root: Path
    path: PurePath = HERE
    owner: int | None = None

    def read(self, name: str, max_bytes: int) -> bytes:
        """The bytes of a regular file in it; `Unreadable` for anything else, for no file, and for more than
        `max_bytes`."""
        try:
            with self._open() as folder:
                return _read(name, folder, max_bytes, self.owner)
        except FileNotFoundError:
            raise Unreadable(f"There is no {name} among the files handed in.") from None

    def contents(
        self, max_bytes: int, skip: Callable[[str], bool] = lambda _name: False
    ) -> Iterator[tuple[PurePath, bytes | Unreadable]]:
        """The files in it and in its folders, notebooks first, by their paths: their bytes, `max_bytes` in all, or why
        they can't be read. What `skip` is true of, by its name, is passed over. Nothing if the folder isn't there."""
        count = size = 0
        for entry in self._walk(skip):
            if entry.refused:
                yield entry.path, Unreadable(entry.refused)
            if entry.refused or stat.S_ISDIR(entry.mode):
                continue
            try:
                data = _read(entry.path.name, entry.parent, max_bytes - size, self.owner)
            except FileNotFoundError:  # removed meanwhile
                continue
            except Unreadable as error:
                yield entry.path, error
                continue
            count, size = count + 1, size + len(data)
            if count > MAX_FILES:
                yield entry.path, Unreadable("There are too many files.")
                return
            yield entry.path, data

    def names(self) -> list[PurePath]:
        """The paths of all that is in it and in its folders and is no folder, links included; none if it isn't
        there."""
        return [entry.path for entry in self._walk() if not stat.S_ISDIR(entry.mode)]

    def copy_to(self, target: Path, max_bytes: int, skip: Callable[[str], bool] = lambda _name: False) -> list[str]:
        """Copy the regular files, `max_bytes` in all, to a new folder; returns in words what was left out. A notebook
        that is a link becomes a link to nowhere. What `skip` is true of, by its name, is passed over."""
        left_out: list[str] = []
        target.mkdir(parents=True, exist_ok=True)
        for path, data in self.contents(max_bytes, skip):
            if isinstance(data, bytes):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(data)
                continue
            left_out.append(f"{path}: {data}")
            if _is_notebook(path) and isinstance(data, NotFollowed):
                (target / path).symlink_to(NOWHERE)
        return left_out

    def remove_irregular(self) -> None:
        """Remove everything in it that is neither a regular file nor a folder.

        A notebook is kept, as a link to nowhere: it is graded, and its feedback says why it earns nothing.
        """
        for entry in self._walk():
            if entry.is_regular:
                continue
            os.unlink(entry.path.name, dir_fd=entry.parent)
            if _is_notebook(entry.path):
                os.symlink(NOWHERE, entry.path.name, dir_fd=entry.parent)

    def remove(self, name: str) -> None:
        """Remove what has this name in it, whatever it is, if it is there."""
        with contextlib.suppress(Unreadable, FileNotFoundError), self._open() as folder:
            try:
                os.unlink(name, dir_fd=folder)
            except IsADirectoryError:
                shutil.rmtree(name, dir_fd=folder)

    def remove_link(self) -> bool:
        """Remove the first link on the way from the root to this folder; returns whether there was one."""
        folder = self.root
        for name in self.path.parts:
            folder /= name
            if folder.is_symlink():
                folder.unlink()
                return True
        return False

    def make_without(self, notebooks: list[str]) -> None:
        """Make the folder where `remove_link` has removed it, with a link to nowhere in place of each of these
        notebooks."""
        folder = self.root / self.path
        folder.mkdir(parents=True)
        for name in notebooks:
            (folder / name).symlink_to(NOWHERE)

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        """A descriptor of the folder that is open as long as the block runs. `Unreadable` if a link is on the way, or
        it belongs to somebody else than `owner`."""
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in self.path.parts:
                below = _open_folder(name, folder)
                os.close(folder)
                folder = below
            _require_owner(os.fstat(folder), self.owner)
            yield folder
        finally:
            os.close(folder)

    def _walk(self, skip: Callable[[str], bool] = lambda _name: False) -> Iterator[_Entry]:
        """What is in the folder and in its folders, up to a limit; nothing if it isn't there or is reached through a
        link."""
        with contextlib.suppress(Unreadable, FileNotFoundError), self._open() as folder:
            yield from islice(_entries(folder, PurePath(), skip), MAX_ENTRIES)


def _is_notebook(path: PurePath) -> bool:
    return len(path.parts) == 1 and path.suffix == ".ipynb"


def _open_folder(name: str, parent: int) -> int:
    if name == os.pardir:
        raise Unreadable("The file can't be read because its path has '..' in it.")
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refusal(error, name, parent) from None


def _refusal(error: OSError, name: str, parent: int) -> Unreadable:
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return NotFollowed()
    return Unreadable(f"The file can't be read: {error.strerror}.")


def _require_owner(about: os.stat_result, owner: int | None) -> None:
    if owner is not None and about.st_uid != owner:
        raise Unreadable(
            f"The file can't be read: it belongs to user {about.st_uid}, not to user {owner} like the rest."
        )


def _read(name: str, parent: int, max_bytes: int, owner: int | None) -> bytes:
    try:
        # Without O_NONBLOCK a pipe in place of a file would stop us for good.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refusal(error, name, parent) from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            what = "it is a folder" if stat.S_ISDIR(about.st_mode) else "it isn't a regular file"
            raise Unreadable(f"The file can't be read: {what}.")
        _require_owner(about, owner)
        if about.st_size > max_bytes:
            raise FileTooLarge(about.st_size, max_bytes)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise _refusal(error, name, parent) from None
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:  # it has grown meanwhile
        raise FileTooLarge(len(data), max_bytes)
    return data


def read_secret(course: Path, name: str) -> bytes:
    """The secret of a course, from the file of this name in its folder. `CourseError` if it can't be read, or is too
    short."""
    if not os.path.lexists(course / name):
        raise CourseError(
            f"{course} has no {name}, which the checks' inputs are drawn from. Put it back from a backup."
        )
    try:
        secret = read_regular(course / name, 4096).strip()
    except Unreadable as error:
        raise CourseError(f"{name}: {error}") from None
    if len(secret) < 32:
        raise CourseError(f"{name} is too short to be a secret; it needs at least 32 bytes.")
    return secret


def _entries(folder: int, path: PurePath, skip: Callable[[str], bool]) -> Iterator[_Entry]:
    with os.scandir(folder) as listed:
        names = sorted(
            (entry.name for entry in islice(listed, MAX_ENTRIES)), key=lambda name: (".ipynb" not in name, name)
        )
    for name in names:
        entry = None if skip(name) else _entry(folder, path / name)
        if entry is None:
            continue
        yield entry
        if entry.refused or not stat.S_ISDIR(entry.mode):
            continue
        try:
            below = _open_folder(name, folder)
        except FileNotFoundError:  # removed meanwhile
            continue
        except Unreadable as error:
            yield replace(entry, refused=str(error))
            continue
        try:
            yield from _entries(below, entry.path, skip)
        finally:
            os.close(below)


def _entry(folder: int, path: PurePath) -> _Entry | None:
    """What has the name `path.name` in an open folder; None if it has been removed meanwhile."""
    try:
        mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        return _Entry(path, folder, stat.S_IFREG, f"The file can't be read: {error.strerror}.")
    if len(os.fsencode(path)) > MAX_PATH:
        return _Entry(
            path, folder, mode, f"Its name is too long. With its folders it may have at most {MAX_PATH} bytes."
        )
    if len(path.parts) > MAX_DEPTH:
        return _Entry(path, folder, mode, f"It lies too deep; at most {MAX_DEPTH - 1} levels of folders are opened.")
    return _Entry(path, folder, mode)
