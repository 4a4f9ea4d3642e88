"""What is in a zip file or folder that a learning platform gave: names, times, sizes, bytes. Nothing is unpacked to
disk and no link is followed."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath, PurePosixPath

from grader.course.files import UntrustedFolder, read_regular
from grader.errors import Unreadable

# In one student's folder; what lies near its top comes first. A virtual environment has more.
MAX_FILES = 50_000
MAX_ZIPS = 10  # that are opened, of one student
MAX_LIST = 8 << 20  # bytes of the list of contents in such a zip: of some 80,000 files
MAX_NAME = 255  # characters of a file's or folder's name, as on any disk
NOT_IN_ONE = PurePosixPath()
LINK = "it is a link, and links aren't followed"


@dataclass(frozen=True)
class ArchiveFile:
    """A file. `path` is where it lies in the zip or folder; `time` is UTC. One within a zip that a student handed in
    has that zip's `path` and time, since whatever that zip says the student wrote, and lies `inside` it. `key` is what
    the platform's zip says of its bytes (`grader.handed_in.times.key_of`); empty for a file that no zip has."""

    path: PurePosixPath
    time: datetime
    size: int
    read: Callable[[], bytes] = field(compare=False)
    inside: PurePosixPath = NOT_IN_ONE
    key: str = ""

    @property
    def whole_path(self) -> PurePosixPath:
        """Where it lies, in a student's zip too."""
        return self.path / self.inside


Odd = dict[str, str]  # the name of a file, and what is odd about it
IsAuthors = Callable[[str], bool]  # whether a folder of this name belongs to somebody


@dataclass(frozen=True)
class Archive:
    """The files of one source, whose `name` is its file's. `depth` is how many folders lie around all of it: the next
    name in a path is the one that the platform gave to a student's work."""

    name: str
    entries: tuple[ArchiveFile, ...]
    depth: int = 0

    def below(self, path: PurePosixPath) -> PurePosixPath:
        """The rest of a path from where the students' names stand."""
        return PurePosixPath(*path.parts[self.depth :])


def given(source: Path, most: int, is_authors: IsAuthors, odd: Odd) -> Archive:
    """What is in `source`, a zip, a folder or a notebook, and in the zips that students handed in there. Of a file at
    most `most` bytes are read. What can't be read is noted in `odd`; `is_authors` tells the folders of students by
    their names."""
    outer = _outer(source, most, is_authors, odd)
    return replace(outer, entries=tuple(_with_inner(outer, most, odd)))


def _outer(source: Path, most: int, is_authors: IsAuthors, odd: Odd) -> Archive:
    if source.is_dir():
        return _in_folder(source, most, is_authors, odd)
    if zipfile.is_zipfile(source):
        return _in_zip(source, most, is_authors, odd)
    if source.suffix.lower() == ".ipynb":
        path, about = PurePosixPath(source.name), source.stat()
        return Archive(
            source.name, (ArchiveFile(path, utc(about.st_mtime), about.st_size, lambda: read_regular(source, most)),)
        )
    odd[str(source)] = "it isn't a zip file, a folder or a notebook; if it is meant to be a zip, it is broken"
    return Archive(source.name, ())


def is_hidden(name: str) -> bool:
    """Whether a name is that of a folder that tools make for themselves: a repository's, a virtual environment's,
    JupyterLab's, macOS's."""
    return name.startswith(".") or name == "__MACOSX"


def _goes_around(tops: Iterable[tuple[str, bool]], is_authors: IsAuthors) -> str:
    """The one folder in which all the rest lies, or "" if there is none or it is somebody's; `tops` are names, and
    whether each is a folder."""
    shown = {(name, folder) for name, folder in tops if not is_hidden(name)}
    folders = {name for name, folder in shown if folder}
    notebooks = [name for name, folder in shown if not folder and name.lower().endswith(".ipynb")]
    alone = next(iter(folders)) if len(folders) == 1 and not notebooks else ""
    return "" if is_authors(alone) else alone


# --- a zip file -------------------------------------------------------------------------------------------------------


def _in_zip(source: Path, most: int, is_authors: IsAuthors, odd: Odd) -> Archive:
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        odd[str(source)] = f"the zip file is broken: {error}"
        return Archive(source.name, ())
    entries = []
    for path, info in _contents(archive, f"{source.name}: ", odd):
        read = lambda info=info: _unpacked(archive, info, most)  # noqa: E731
        entries.append(ArchiveFile(path, _zip_time(info), info.file_size, read, key=f"{info.CRC:08x}-{info.file_size}"))
    depth = 0
    while entries:
        tops = {
            (entry.path.parts[depth], len(entry.path.parts) > depth + 1)
            for entry in entries
            if entry.path.parts[depth:]
        }
        if not _goes_around(tops, is_authors):
            break
        depth += 1
    # A loose file beside the folder around it all is none of the students'.
    return Archive(source.name, tuple(entry for entry in entries if len(entry.path.parts) > depth), depth)


def _contents(archive: zipfile.ZipFile, shown: str, odd: Odd) -> Iterator[tuple[PurePosixPath, zipfile.ZipInfo]]:
    """The files of a zip that may be read, without those in folders that tools make for themselves. Others are noted in
    `odd`, by `shown` and their path."""
    for info in archive.infolist():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        refused = _refused(info, path)
        if refused:
            odd[f"{shown}{path}"] = refused
        elif not info.is_dir() and not any(map(is_hidden, path.parts[:-1])):
            yield path, info


def _refused(info: zipfile.ZipInfo, path: PurePosixPath) -> str:
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        return "its path leads out of the zip file"
    if max(map(len, path.parts)) > MAX_NAME:
        return f"its name is too long: at most {MAX_NAME} characters"
    if stat.S_ISLNK(info.external_attr >> 16):
        return LINK
    return "it is locked with a password" if info.flag_bits & 1 else ""


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of an entry, at most `most`, however many its header claims; `Unreadable` if there are more or they
    can't be unpacked."""
    if info.file_size > most:
        raise Unreadable(f"it has {info.file_size} bytes; at most {most} are read")
    try:
        with archive.open(info) as file:
            data = file.read(most + 1)
    except Exception as error:  # zlib, bz2 and lzma raise errors of their own
        raise Unreadable(f"it can't be unpacked: {error}") from None
    if len(data) > most:
        raise Unreadable(f"unpacked, it has more than {most} bytes")
    return data


def _zip_time(info: zipfile.ZipInfo) -> datetime:
    """The time of an entry in UTC, as nbgrader has times: a zip has local time without a zone. 1980 if it is no
    time."""
    try:
        return datetime(*info.date_time).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return datetime(1980, 1, 1)


# --- a zip in a student's work ----------------------------------------------------------------------------------------


def _with_inner(outer: Archive, most: int, odd: Odd) -> Iterator[ArchiveFile]:
    """The files, those of a student's zips in place of these: a folder that was zipped and handed in is the commonest
    accident. One level deep, a limited number of one student's, and each only if it isn't larger than `most` bytes."""
    opened: Counter[str] = Counter()
    last = _LastZip()
    for entry in outer.entries:
        if entry.path.suffix.lower() != ".zip":
            yield entry
            continue
        top, shown = outer.below(entry.path).parts[0], f"{outer.name}: {entry.path}"
        opened[top] += 1
        try:
            if opened[top] > MAX_ZIPS:
                raise Unreadable(f"only {MAX_ZIPS} of one student's zip files are opened")
            inner = tuple(_inner(entry, last, most, shown, odd))
        except Unreadable as error:
            odd[shown] = f"the zip file is not opened: {error}"
            inner = ()
        yield from inner or (entry,)


class _LastZip:
    """Keeps open the zip that was opened last: to read all of its files it is unpacked once."""

    def __init__(self) -> None:
        self._opened: tuple[ArchiveFile, zipfile.ZipFile] | None = None

    def of(self, entry: ArchiveFile) -> zipfile.ZipFile:
        if self._opened is None or self._opened[0] is not entry:
            self._opened = entry, _opened(entry.read())
        return self._opened[1]


def _inner(entry: ArchiveFile, last: _LastZip, most: int, shown: str, odd: Odd) -> Iterator[ArchiveFile]:
    refused: Odd = {}
    for count, (path, info) in enumerate(_contents(last.of(entry), f"{shown}/", refused)):
        if count == MAX_FILES:
            odd[shown] = f"only {MAX_FILES} of its files were looked at"
            break
        read = lambda info=info: _unpacked(last.of(entry), info, most)  # noqa: E731
        yield ArchiveFile(entry.path, entry.time, info.file_size, read, inside=path)
    if refused:
        first, why = next(iter(refused.items()))
        odd[first] = why + (f" (one of {len(refused)} files refused in this zip)" if refused.keys() - {first} else "")


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open a zip that a student made; `Unreadable` if it is broken, or has too many files. Python reads its whole list
    of contents at once, so how long that is, is looked at first."""
    at = data.rfind(b"PK\5\6", -(22 + 65_535))
    if at < 0 or len(data) < at + 22:
        raise Unreadable("it is broken: it has no end")
    if int.from_bytes(data[at + 12 : at + 16], "little") > MAX_LIST or data[max(at - 20, 0) : at].startswith(b"PK\6\7"):
        raise Unreadable("there are too many files in it")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception as error:  # of whatever form the bytes are
        raise Unreadable(f"it is broken: {error}") from None


# --- a folder ---------------------------------------------------------------------------------------------------------


def _in_folder(source: Path, most: int, is_authors: IsAuthors, odd: Odd) -> Archive:
    """The files of a folder. A clone of a repository is one student's, whatever is in it: its own name is the
    platform's."""
    source = source.absolute()
    if (source / ".git").exists():
        source, tops = source.parent, [source.name]
        return Archive(tops[0], tuple(_files(source, tops, most, odd)))
    around: list[str] = []
    while True:
        folder = source.joinpath(*around)
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in _listed(folder)]
        alone = _goes_around(listed, is_authors)
        if not alone or (folder / alone / ".git").exists():
            break
        around.append(alone)
    tops = ["/".join([*around, name]) for name, folder in sorted(listed) if not (folder and is_hidden(name))]
    return Archive(source.name, tuple(_files(source, tops, most, odd)), len(around))


def _listed(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _files(source: Path, tops: Iterable[str], most: int, odd: Odd) -> Iterator[ArchiveFile]:
    """The files in each of the folders `tops`, those near its top first and at most a limited number; what isn't read
    is noted in `odd`."""
    for top in tops:
        waiting, count = deque([top]), 0
        while waiting:
            path = waiting.popleft()
            try:
                about = os.lstat(source / path)
            except OSError:  # removed meanwhile
                continue
            if stat.S_ISDIR(about.st_mode):
                below = sorted(entry.name for entry in _listed(source / path) if not is_hidden(entry.name))
                waiting.extend(f"{path}/{name}" for name in below[: MAX_FILES + 1 - len(waiting)])
                continue
            count += 1
            if count > MAX_FILES:
                odd[f"{source.name}: {top}"] = f"only {MAX_FILES} of its files were looked at, those near its top"
                break
            if stat.S_ISLNK(about.st_mode):
                if path == top or path.lower().endswith(".ipynb"):
                    odd[f"{source.name}: {path}"] = LINK
            else:
                inside = PurePosixPath(path)
                folder = UntrustedFolder(source, PurePath(inside.parent))
                read = lambda folder=folder, name=inside.name: folder.read(name, most)  # noqa: E731
                yield ArchiveFile(inside, utc(about.st_mtime), about.st_size, read)


def utc(seconds: float) -> datetime:
    """A file's time, in seconds since 1970, as nbgrader has times: UTC, without a zone."""
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None)
