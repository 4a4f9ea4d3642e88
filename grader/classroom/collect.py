"""Takes in what a learning platform gives: zip files and folders, whose names say who handed in what.
docs/grading.md has the table of the names."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import yaml
from nbgrader.utils import parse_utc

from grader.atomic import write_atomically
from grader.classroom.autograded import timestamp
from grader.classroom.class_directory import ClassDirectory
from grader.classroom.earlier import BEST, keep, put
from grader.classroom.files import UntrustedFolder, read_regular
from grader.classroom.hand_in import answers_in, lesson_of
from grader.classroom.lateness import due_dates, seconds_late
from grader.classroom.results_log import folder_of, mode_in
from grader.classroom.roster import Roster
from grader.errors import CourseError
from grader.judge.reader import Unreadable

MOODLE = re.compile(r"(?P<folder>(?P<name>.+?)_\d+_assignsubmission_(?:file|onlinetext)_?).*", re.DOTALL)
CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<number>\d+)_.+", re.DOTALL)
EXCHANGE = re.compile(r"(?P<student>[^+]+)\+(?P<lesson>[^+]+)\+(?P<time>[^+]+ UTC)(?:\+.*)?")
GRADESCOPE, METADATA = re.compile(r"submission_\d+"), "submission_metadata.yml"
MAX_ENTRIES = 50_000
# Of all files of one zip together, unpacked: a class of 300 hands in some 30 MB.
MAX_BYTES = 4 << 30
_AFTER_GRADING = "the one with the best mark, when they are graded"
CAME_FROM = "came-from"


@dataclass(frozen=True)
class Found:
    """A notebook in what was given. `path` names it, `inside` is its path in the zip or folder; `keys` by what its
    author may be known, the best first; `time` is when it was handed in (UTC, as far as known), `late` says whether the
    platform says so."""

    path: str
    inside: str
    keys: tuple[str, ...]
    time: datetime
    late: bool
    read: Callable[[], bytes] = field(compare=False)


@dataclass
class Collected:
    """What became of it all. Each list has students' ids, but for `unknown` and `odd`: names of files, with the reason.
    `twice` has those of whom more than one is there, with the one that counts."""

    lesson: str
    taken: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    twice: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)
    passed_over: int = 0


def collect(course: ClassDirectory, sources: Iterable[Path], counts: str = "last") -> Collected:
    """Put the notebooks of `sources` in place under `submitted/`. An earlier one is kept under `.grader/earlier/`.

    `counts`: of several of one student, the "last" counts, the "last-in-time" (by the due date with the student's own
    extension, if there is one), the "first", or the "best", which is put in place when they are graded.
    """
    roster = Roster.of(course.root)
    if not len(roster):
        raise CourseError(
            f"{course.root} has no roster yet, so nobody can be told apart: grader roster COURSE FILE.csv"
        )
    outcome, due_of = Collected(course.lesson), _due(course)
    by_student: defaultdict[str, list[Found]] = defaultdict(list)
    for source in sources:
        for one in _notebooks(source, outcome, course.limits().notebook_bytes):
            who = roster.find(*one.keys)
            if len(who) == 1:
                by_student[who[0]].append(one)
            else:
                called = " or ".join(repr(key) for key in one.keys[:2]) or "nobody's name"
                several = f"it may be {' or '.join(who)}: the roster has that name more than once"
                outcome.unknown[one.path] = several if who else f"{called} is not in the roster"
    for student, found in sorted(by_student.items()):
        _take(course, student, found, due_of(student), counts, outcome)
    handed_in = {submission.student for submission in course.submissions()[0]}
    outcome.missing = sorted(set(roster.people) - handed_in)
    return outcome


def _due(course: ClassDirectory) -> Callable[[str], datetime | None]:
    """When whose work is due."""
    from nbgrader.api import Gradebook, MissingEntry

    with Gradebook(course.layout.db_url, course.layout.course_id) as book:
        try:
            return due_dates(book.find_assignment(course.lesson))
        except MissingEntry:
            return lambda _student: None


# --- who wrote which file ---------------------------------------------------------------------------------------------


def _notebooks(source: Path, outcome: Collected, most: int) -> Iterator[Found]:
    entries = list(_in_folder(source, outcome, most) if source.is_dir() else _in_file(source, outcome, most))
    submitters = dict(_gradescope(entries, outcome))
    for path, time, read in entries:
        if path.suffix.lower() != ".ipynb" or ".ipynb_checkpoints" in path.parts or "__MACOSX" in path.parts:
            outcome.passed_over += path.name != METADATA
            continue
        keys, told = _author(path, submitters)
        late = bool((match := CANVAS.fullmatch(path.name)) and match["late"])
        yield Found(f"{source.name}: {path}", str(path), keys, told or time, late, read)


Entry = tuple[PurePosixPath, datetime, Callable[[], bytes]]


Author = tuple[tuple[str, ...], datetime | None]


def _author(path: PurePosixPath, submitters: dict[str, Author]) -> Author:
    """By what the author of a file may be known, and the time that its path has."""
    for part in path.parts:
        if part in submitters and GRADESCOPE.fullmatch(part):
            return submitters[part]
        if match := EXCHANGE.fullmatch(part):
            with contextlib.suppress(ValueError, OverflowError):
                return (match["student"],), parse_utc(match["time"])
        if match := MOODLE.fullmatch(part):
            return (match["name"],), None
    if match := CANVAS.fullmatch(path.name):
        return (match["user"], match["name"]), None
    # The innermost folder first: "01_self_attention-ann/" is GitHub's, "ann/" anybody's; then the file's own beginning.
    keys = [key for part in reversed(path.parts[:-1]) for key in (part, *_ends(part, "-"))]
    begins = [path.stem[:at] for at in range(len(path.stem), 0, -1) if at == len(path.stem) or path.stem[at] in "_- "]
    return (*keys, *begins), None


def _ends(text: str, sign: str) -> list[str]:
    parts = text.split(sign)
    return [sign.join(parts[at:]) for at in range(1, len(parts))]


def _gradescope(entries: list[Entry], outcome: Collected) -> Iterator[tuple[str, Author]]:
    """By the name of a folder those who handed it in, and when."""
    for path, _time, read in entries:
        if path.name != METADATA:
            continue
        try:
            told = yaml.safe_load(read())
            for folder, about in told.items():
                people = [one for one in about[":submitters"] if isinstance(one, dict)]
                keys = tuple(str(one[key]) for key in (":sid", ":email", ":name") for one in people if one.get(key))
                time = about.get(":created_at")
                yield str(folder), (keys, time.astimezone(UTC).replace(tzinfo=None) if time else None)
        except Exception as error:  # a file of somebody else's, of whatever form
            outcome.odd[str(path)] = f"it can't be read as Gradescope's list: {type(error).__name__}"


# --- what is in a zip or a folder -------------------------------------------------------------------------------------


def _in_file(source: Path, outcome: Collected, most: int) -> Iterator[Entry]:
    if not zipfile.is_zipfile(source):
        if source.suffix.lower() == ".ipynb":
            yield PurePosixPath(source.name), _time_of(source), lambda: read_regular(source, most)
        else:
            outcome.odd[str(source)] = (
                "it is neither a zip file nor a folder nor a notebook; if it is a zip, it is broken"
            )
        return
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError) as error:
        outcome.odd[str(source)] = f"the zip file is broken: {error}"
        return
    infos = archive.infolist()
    if len(infos) > MAX_ENTRIES or sum(info.file_size for info in infos) > MAX_BYTES:
        outcome.odd[str(source)] = f"it has more than {MAX_ENTRIES} files, or more than {MAX_BYTES >> 30} GiB unpacked"
        return
    for info in infos:
        path = PurePosixPath(info.filename.replace("\\", "/"))
        refused = _refused(info, path, most)
        if refused:
            outcome.odd[f"{source.name}: {path}"] = refused
        elif not info.is_dir():
            yield path, _zip_time(info), lambda info=info: _unpacked(archive, info, most)  # type: ignore[misc]


def _refused(info: zipfile.ZipInfo, path: PurePosixPath, most: int) -> str:
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        return "its path leads out of the zip file"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "it is a link, which is not followed"
    if info.flag_bits & 1:
        return "it is locked with a password"
    return f"it has {info.file_size} bytes; at most {most} are read" if info.file_size > most else ""


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of an entry, however many its header claims."""
    try:
        with archive.open(info) as file:
            data = file.read(most + 1)
    except Exception as error:  # zlib, bz2 and lzma raise errors of their own
        raise Unreadable(f"it can't be unpacked: {error}") from None
    if len(data) > most:
        raise Unreadable(f"it has more than {most} bytes unpacked")
    return data


def _zip_time(info: zipfile.ZipInfo) -> datetime:
    """A zip has local time without a zone."""
    try:
        return datetime(*info.date_time).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return datetime(1980, 1, 1)


def _in_folder(source: Path, outcome: Collected, most: int) -> Iterator[Entry]:
    count = 0
    for folder, _folders, files in os.walk(source):
        for name in sorted(files):
            path = Path(folder, name)
            count += 1
            if count > MAX_ENTRIES:
                outcome.odd[str(source)] = f"only its first {MAX_ENTRIES} files were looked at"
                return
            inside = PurePosixPath(path.relative_to(source).as_posix())
            if path.is_symlink():
                outcome.odd[f"{source.name}: {inside}"] = "it is a link, which is not followed"
            else:
                yield inside, _time_of(path), lambda path=path: read_regular(path, most)  # type: ignore[misc]


def _time_of(path: Path) -> datetime:
    with contextlib.suppress(OSError):
        return datetime.fromtimestamp(int(path.stat().st_mtime), UTC).replace(tzinfo=None)
    return datetime(1980, 1, 1)


# --- which one counts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A notebook that may count; `path` is empty for the one that is there already."""

    time: datetime
    path: str
    data: bytes
    late: bool = False


def _of_lesson(found: list[_Candidate], course: ClassDirectory, outcome: Collected) -> list[_Candidate]:
    """Those in which something is answered, if there is one; or else those that hold this lesson's exercises."""
    lesson, limits = lesson_of(course.instructor()), course.limits()
    answers = {id(one): answers_in(one.data, lesson, limits) for one in found}
    for enough, why in (
        (lambda told: any(told.values()), "nothing is answered in it"),
        (bool, "none of this lesson's exercises is in it"),
    ):
        own = [one for one in found if enough(answers[id(one)])]
        if own:
            for other in found:
                if other not in own and other.path:
                    said = why if answers[id(other)] else "none of this lesson's exercises is in it"
                    outcome.odd[other.path] = f"{said}; {own[-1].path or 'the one that was there'} is taken"
            return own
    return found


def _take(
    course: ClassDirectory, student: str, found: list[Found], due: datetime | None, counts: str, outcome: Collected
) -> None:
    here: list[_Candidate] = []
    for one in found:
        try:
            here.append(_Candidate(one.time, one.path, one.read(), one.late))
        except (Unreadable, OSError) as error:
            outcome.odd[one.path] = str(error)
    if not here:
        return
    _note_origin(course, student, max(found, key=lambda one: one.time).inside)
    target = course.folder(course.layout.submitted_directory, student)
    folder, notebook = UntrustedFolder(target), f"{course.lesson}.ipynb"
    there: list[_Candidate] = []
    with contextlib.suppress(Unreadable, FileNotFoundError):
        data = folder.read(notebook, course.limits().notebook_bytes)
        there = [_Candidate(timestamp(folder) or _time_of(target / notebook), "", data)]
    candidates = sorted(_of_lesson([*here, *there], course, outcome), key=lambda one: one.time)
    chosen = _counting(candidates, due, counts)
    if len({one.data for one in candidates}) > 1:
        outcome.twice[student] = _AFTER_GRADING if counts == BEST else chosen.path or "the one that was there"
    new = [keep(course, student, other.time, other.data) for other in (*here, *there) if other.data != chosen.data]
    if there and there[0].data == chosen.data:
        if counts == BEST and any(new):
            outcome.taken.append(student)
        else:
            known = counts == BEST or any(one.data == chosen.data for one in here)
            (outcome.unchanged if known else outcome.earlier).append(student)
    else:
        put(course, student, chosen.time, chosen.data)
        outcome.taken.append(student)
    if chosen.late or seconds_late(chosen.time, due) > 0:
        outcome.late.append(student)


def _note_origin(course: ClassDirectory, student: str, inside: str) -> None:
    """Keep the name that the platform gave to the last notebook of somebody: feedback goes back under it."""
    folder_of(course.root, CAME_FROM)
    path = folder_of(course.root, f"{CAME_FROM}/{course.lesson}") / student
    write_atomically(path, inside.encode("utf-8", "surrogateescape"), mode_in(course.root), durable=False)


def came_from(course: ClassDirectory, student: str) -> str:
    """The path that the last notebook of somebody had in what a platform gave; empty if nothing came from one."""
    path = folder_of(course.root) / CAME_FROM / course.lesson / student
    return path.read_text("utf-8", "surrogateescape") if path.is_file() else ""


def _counting(candidates: list[_Candidate], due: datetime | None, counts: str) -> _Candidate:
    """The one that counts, of candidates in the order of their times. Which has the best mark is known when all are
    graded: until then the one that is there stays."""
    if counts == BEST:
        return next((one for one in candidates if not one.path), candidates[-1])
    if counts == "first":
        return candidates[0]
    in_time = [one for one in candidates if due is None or one.time <= due]
    return (in_time or candidates)[-1] if counts == "last-in-time" else candidates[-1]


def as_text(outcome: Collected) -> str:
    """For a terminal: how many of each kind, and who or which."""
    lines = [f"{outcome.lesson}: {len(outcome.taken)} taken"]
    kinds: list[tuple[str, Iterable[str]]] = [
        ("as before", outcome.unchanged),
        ("late", outcome.late),
        ("more than one; this counts", [f"{who}: {path}" for who, path in sorted(outcome.twice.items())]),
        ("not handed in", outcome.missing),
        ("nobody's", [f"{path}: {why}" for path, why in sorted(outcome.unknown.items())]),
        ("odd", [f"{path}: {why}" for path, why in sorted(outcome.odd.items())]),
    ]
    for title, listed in kinds:
        entries = list(listed)
        if entries:
            lines.append(f"{title + ':':28} {len(entries)}")
            lines += [f"    {entry}" for entry in entries]
    if outcome.passed_over:
        lines.append(f"{'no notebooks, left alone:':28} {outcome.passed_over}")
    return "\n".join(lines)
