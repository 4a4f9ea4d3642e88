"""What is in a zip file or folder that a learning platform gave: names, times, sizes, bytes. Nothing is unpacked to
disk and no link is followed."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import zipfile
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath, PurePosixPath

from grader.course.files import UntrustedFolder, read_regular
from grader.course.roster import Roster
from grader.errors import Unreadable
from grader.platforms.platform import Author, Found, Odd, Source, is_notebook, splits
from grader.platforms.registry import authors, platforms

# In one student's folder; what lies near its top comes first. A virtual environment has more.
MAX_FILES = 50_000
MAX_ZIPS = 10  # that are opened, of one student
MAX_LIST = 8 << 20  # bytes of the list of contents in such a zip: of some 80,000 files
MAX_NAME = 255  # characters of a file's or folder's name, as on any disk
LINK = "it is a link, and links aren't followed"


@dataclass(frozen=True)
class Archive:
    """The files of one source."""

    name: str  # of the source's file
    entries: tuple[Found, ...]
    depth: int = 0  # how many folders lie around all of it: the next name in a path is the one of a student's work
    is_zip: bool = False  # whether the names are those in a zip
    is_nobodys: bool = False  # a zip without a platform's names: whoever made it wrote what is in it

    def below(self, path: PurePosixPath) -> PurePosixPath:
        """The rest of a path from where the students' names stand."""
        return PurePosixPath(*path.parts[self.depth :])


def given(source: Path, most: int, roster: Roster, odd: Odd) -> Archive:
    """What is in `source`, a zip, a folder or a notebook, and in the zips that students handed in there, with the
    authors as the platform has them. Of a file at most `most` bytes are read. What can't be read is noted in `odd`."""
    outer = _outer(source, most, roster, odd)
    known = _authors(outer, roster, source.is_dir(), odd)
    named = {platform.key: platform for platform in platforms()}
    entries = []
    for entry in _with_inner(outer, most, odd):
        author = known[outer.below(entry.path).parts[0]]
        from_zip = outer.is_zip and named[author.platform].has_times
        time, is_platforms = author.time or entry.time, bool(author.time) or from_zip
        entries.append(replace(entry, author=author, time=time, is_platforms=is_platforms))
    is_nobodys = outer.is_zip and not any(named[author.platform].pattern for author in known.values())
    return replace(outer, entries=tuple(entries), is_nobodys=is_nobodys)


def _authors(outer: Archive, roster: Roster, is_folder: bool, odd: Odd) -> dict[str, Author]:
    tops: dict[str, bool] = {}
    lists: defaultdict[str, list[Found]] = defaultdict(list)
    for entry in outer.entries:
        top, *rest = outer.below(entry.path).parts
        tops[top] = tops.get(top, False) or bool(rest)
        if not rest:
            lists[top].append(entry)
    return authors(Source(outer.name, is_folder, tops, lambda word: bool(roster.find(word)), lists, odd))


def _outer(source: Path, most: int, roster: Roster, odd: Odd) -> Archive:
    if source.is_dir():
        return _in_folder(source, most, roster, odd)
    path, about = PurePosixPath(source.name), source.stat()
    read = lambda: read_regular(source, most)  # noqa: E731
    alone = Archive(source.name, (Found(source.name, path, utc(about.st_mtime), about.st_size, read),))
    if zipfile.is_zipfile(source):
        # One that is called after somebody came from them: what it says of names and times they wrote.
        author = _authors(alone, roster, False, {})[source.name]
        is_theirs = author.key or roster.find(*author.words)
        return alone if is_theirs else _in_zip(source, most, roster, odd)
    if is_notebook(source.name):
        return alone
    odd[str(source)] = "it isn't a zip file, a folder or a notebook; if it is meant to be a zip, it is broken"
    return Archive(source.name, ())


def _is_somebodys(name: str, roster: Roster) -> bool:
    """Whether a folder has a name that platforms give to one student's work."""
    patterns = [platform.pattern for platform in platforms() if platform.pattern]
    known = (name, *(rest for _assignment, rest in splits(name)))
    return any(pattern.fullmatch(name) for pattern in patterns) or any(map(roster.find, known))


def is_hidden(name: str) -> bool:
    """Whether a name is that of a folder that tools make for themselves: a repository's, a virtual environment's,
    JupyterLab's, macOS's."""
    return name.startswith(".") or name == "__MACOSX"


def _goes_around(tops: Iterable[tuple[str, bool]], roster: Roster) -> str:
    """The one folder in which all the rest lies, or "" if there is none or it is somebody's; `tops` are names, and
    whether each is a folder."""
    shown = {(name, folder) for name, folder in tops if not is_hidden(name)}
    folders = {name for name, folder in shown if folder}
    notebooks = [name for name, folder in shown if not folder and is_notebook(name)]
    alone = next(iter(folders)) if len(folders) == 1 and not notebooks else ""
    return "" if _is_somebodys(alone, roster) else alone


# --- a zip file -------------------------------------------------------------------------------------------------------


def _in_zip(source: Path, most: int, roster: Roster, odd: Odd) -> Archive:
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        odd[str(source)] = f"the zip file is broken: {error}"
        return Archive(source.name, ())
    entries = []
    for path, info in _contents(archive, f"{source.name}: ", odd):
        read = lambda info=info: _unpacked(archive, info, most)  # noqa: E731
        entries.append(Found(source.name, path, _zip_time(info), info.file_size, read))
    depth = 0
    while entries:
        tops = {
            (entry.path.parts[depth], len(entry.path.parts) > depth + 1)
            for entry in entries
            if entry.path.parts[depth:]
        }
        if not _goes_around(tops, roster):
            break
        depth += 1
    # A loose file beside the folder around it all is none of the students'.
    return Archive(source.name, tuple(entry for entry in entries if len(entry.path.parts) > depth), depth, True)


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


def _with_inner(outer: Archive, most: int, odd: Odd) -> Iterator[Found]:
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
        self._opened: tuple[Found, zipfile.ZipFile] | None = None

    def of(self, entry: Found) -> zipfile.ZipFile:
        if self._opened is None or self._opened[0] is not entry:
            self._opened = entry, _opened(entry.read())
        return self._opened[1]


def _inner(entry: Found, last: _LastZip, most: int, shown: str, odd: Odd) -> Iterator[Found]:
    refused: Odd = {}
    for count, (path, info) in enumerate(_contents(last.of(entry), f"{shown}/", refused)):
        if count == MAX_FILES:
            odd[shown] = f"only {MAX_FILES} of its files were looked at"
            break
        read = lambda info=info: _unpacked(last.of(entry), info, most)  # noqa: E731
        yield Found(entry.source, entry.path, entry.time, info.file_size, read, inside=path)
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


def _in_folder(source: Path, most: int, roster: Roster, odd: Odd) -> Archive:
    """The files of a folder. A clone of a repository is one student's, and so is a folder that is called after one,
    whatever is in it."""
    source = source.absolute()
    if (source / ".git").exists() or roster.find(source.name):
        return Archive(source.name, tuple(_files(source.parent, source.name, [source.name], most, odd)))
    around: list[str] = []
    while True:
        folder = source.joinpath(*around)
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in _listed(folder)]
        alone = _goes_around(listed, roster)
        if not alone or (folder / alone / ".git").exists():
            break
        around.append(alone)
    tops = ["/".join([*around, name]) for name, folder in sorted(listed) if not (folder and is_hidden(name))]
    return Archive(source.name, tuple(_files(source, source.name, tops, most, odd)), len(around))


def _listed(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _files(source: Path, called: str, tops: Iterable[str], most: int, odd: Odd) -> Iterator[Found]:
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
                odd[f"{called}: {top}"] = f"only {MAX_FILES} of its files were looked at, those near its top"
                break
            if stat.S_ISLNK(about.st_mode):
                if path == top or is_notebook(path):
                    odd[f"{called}: {path}"] = LINK
            else:
                inside = PurePosixPath(path)
                folder = UntrustedFolder(source, PurePath(inside.parent))
                read = lambda folder=folder, name=inside.name: folder.read(name, most)  # noqa: E731
                yield Found(called, inside, utc(about.st_mtime), about.st_size, read)


def utc(seconds: float) -> datetime:
    """A file's time, in seconds since 1970, as nbgrader has times: UTC, without a zone."""
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None)
