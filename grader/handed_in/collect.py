"""Takes in what a learning platform gives: zip files and folders, whose names say who handed in what.
docs/grading.md has the table of the names."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from grader.atomic import write_atomically
from grader.course.class_directory import ClassDirectory
from grader.course.files import UntrustedFolder
from grader.course.folder import CAME_FROM, folder_of, mode_in
from grader.course.lateness import due_dates_in, last_in_time, seconds_late, timestamp
from grader.course.roster import Roster, did_you_mean
from grader.course.to_settle import note_unsettled, unsettled
from grader.errors import CourseError, Unreadable
from grader.handed_in.archive import given, utc
from grader.handed_in.earlier import BEST, archive_hand_in, put
from grader.handed_in.exchange import CollectRegularFiles, foreign_owner
from grader.handed_in.hand_in import answers_in, handed_out, lesson_held
from grader.handed_in.whose import EXCHANGE, METADATA, MOODLE, Author, Whose, by_student, is_somebodys, label
from grader.printable import printable

# Of one student's notebooks so many are read, and so many times the bytes that one may have.
MOST_NOTEBOOKS, MOST_ROOM = 100, 2
LISTED = 1000  # of a kind, on a terminal
_AFTER_GRADING = "the one with the best mark, when they are graded"


@dataclass(frozen=True)
class Found:
    """A notebook in what was given. `path` names it, `came_from` is the name that the platform gave to the work it lies
    in; `time` is when it was handed in (UTC, as far as known), `late` says whether the platform says so."""

    path: str
    came_from: str
    time: datetime
    late: bool
    size: int
    read: Callable[[], bytes] = field(compare=False)


@dataclass
class Collected:
    """What became of it all. Each list has students' ids, but for `unknown` and `odd`: names of files, with the reason.
    `twice` has those of whom more than one is there, with the one that counts; `to_settle` those who may have handed in
    something of which it isn't known whose it is: they aren't `missing`."""

    lesson: str
    taken: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    twice: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    to_settle: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)
    passed_over: int = 0


def collect(
    course: ClassDirectory,
    sources: Sequence[Path],
    counts: str = "last",
    *,
    anyway: bool = False,
    settled: Mapping[str, str] | None = None,
) -> Collected:
    """Put the notebooks of `sources` in place under `submitted/`. An earlier one is kept under `.grader/earlier/`.

    `counts`: of several of one student, the "last" counts, the "last-in-time" (by the due date with the student's own
    extension, if there is one), the "first", or the "best", which is put in place when they are graded.

    `CourseError`, and nothing is taken, where more students' work is of other lessons than of this one; `anyway` takes
    it all the same. `settled` says whose a hand-in is, where the roster can't tell: by its `label`, a student's id.
    """
    roster = Roster.of(course.root)
    if not len(roster):
        raise CourseError(
            f"{course.root} has no roster yet, so nobody can be told apart: grader roster COURSE FILE.csv"
        )
    outcome, due_of = Collected(course.lesson), due_dates_in(course.layout, course.lesson)
    theirs: defaultdict[str, list[Found]] = defaultdict(list)
    said = _Settled(course, roster, settled or {})
    for source in sources:
        for student, one in _notebooks(course, source, roster, said, outcome):
            theirs[student].append(one)
    said.require_used(outcome)
    if not anyway:
        _refuse_another_lesson(course, sources, theirs)
    for student, found in sorted(theirs.items()):
        due = due_of(student)
        if due != due_of(""):  # a platform knows nothing of an extension that the gradebook has
            found = [replace(one, late=False) for one in found]
        _take(course, student, found, due, counts, outcome)
    note_unsettled(course.root, course.lesson, said.may_be)
    handed_in = {submission.student for submission in course.submissions()[0]}
    to_settle = unsettled(course.root, course.lesson)
    outcome.to_settle = sorted(to_settle - handed_in)
    outcome.missing = sorted(set(roster.people) - handed_in - to_settle)
    return outcome


# --- which lesson it is -----------------------------------------------------------------------------------------------


def _refuse_another_lesson(course: ClassDirectory, sources: Sequence[Path], theirs: Mapping[str, list[Found]]) -> None:
    """A slip in the lesson's name would hand out a class of zeros."""
    lessons = Counter(filter(None, (_lesson_held(course, student, found) for student, found in theirs.items())))
    own = lessons.pop(course.lesson, 0)
    if sum(lessons.values()) <= own:
        return
    (likely, _count), *_others = lessons.most_common()
    told = ", ".join(f"{count} of {lesson}" for lesson, count in lessons.most_common())
    typed = [os.path.relpath(course.root), likely, *map(str, sources)]
    raise CourseError(
        f"{', '.join(source.name for source in sources)}: nothing was taken. By the exercises in the notebooks, what "
        f"students handed in is {told}, and {own} of {course.lesson}. You probably meant:\n"
        f"  grader collect {shlex.join(typed)}\n"
        f"If it is to be {course.lesson} all the same, add --anyway."
    )


def _lesson_held(course: ClassDirectory, student: str, found: list[Found]) -> str:
    """The lesson of which one student's notebooks hold the most exercises, this one if they hold any of it; empty if
    they hold no lesson's."""
    room = MOST_ROOM * course.limits().notebook_bytes
    return lesson_held(course, [one.data for one in _read(found, room, student, Collected(course.lesson))])


# --- who wrote which file ---------------------------------------------------------------------------------------------


class _Settled:
    """Whose a hand-in is where several people have its name: what the teacher says, and what was said before."""

    def __init__(self, course: ClassDirectory, roster: Roster, told: Mapping[str, str]) -> None:
        self._course, self._roster, self._told, self._used = course, roster, told, set[str]()
        self.may_be: dict[str, Sequence[str]] = {}  # by label whose it may be; nobody's if that is known
        for called, student in told.items():
            if student not in roster.people:
                meant = did_you_mean(student, {one: person.full_name for one, person in roster.people.items()})
                raise CourseError(
                    f"--is {shlex.quote(f'{called}={student}')}: {student!r} is no id in roster.csv.{meant}"
                )

    def ids(self, top: str, author: Author) -> list[str]:
        """The ids of those who may have handed in what the platform called `top`."""
        may_be = self._ids(label(top), top, author)
        self.may_be[label(top)] = may_be[1:] and may_be
        return may_be

    def _ids(self, called: str, top: str, author: Author) -> list[str]:
        if called in self._told:
            self._used.add(called)
            return [self._told[called]]
        may_be = author.ids(self._roster)
        if len(may_be) > 1 and MOODLE.fullmatch(top):  # its number is one person's, in this assignment
            before = [who for who in may_be if label(came_from(self._course, who)) == called]
            may_be = before if len(before) == 1 else may_be
        return may_be

    def why_not(self, top: str, author: Author, may_be: Sequence[str]) -> str:
        """Why it isn't known whose it is, and what to do about it."""
        if not may_be:
            return author.why_not(self._roster)
        options = " or ".join(f"--is {shlex.quote(f'{label(top)}={who}')}" for who in may_be)
        return f"{author.why_not(self._roster)}. Say which, with {options}"

    def require_used(self, outcome: Collected) -> None:
        """Whoever misspells a name in `--is` is told, before anything is taken."""
        if unused := sorted(set(self._told) - self._used):
            listed = "".join(f"\n  {printable(f'{path}: {why}')}" for path, why in sorted(outcome.unknown.items()))
            raise CourseError(
                f"--is {shlex.quote(f'{unused[0]}={self._told[unused[0]]}')}: nothing that was given is called "
                f"{unused[0]!r}, and nothing was taken. Of these it isn't known whose they are:{listed or ' none.'}"
            )


def _notebooks(
    course: ClassDirectory, source: Path, roster: Roster, settled: _Settled, outcome: Collected
) -> Iterator[tuple[str, Found]]:
    """The notebooks of one source, each with the id of who wrote it."""
    most = course.limits().notebook_bytes
    all_of_it = given(source, most, lambda name: is_somebodys(name, roster), outcome.odd)
    whose = Whose(all_of_it, roster, outcome.odd)
    claims: defaultdict[str, list[str]] = defaultdict(list)
    for entry in all_of_it.entries:
        path = all_of_it.below(entry.path)
        is_list, is_notebook = path.name == METADATA, path.suffix.lower() == ".ipynb"
        outcome.passed_over += not is_list and not is_notebook
        if not is_notebook and not (is_list and path.parts[1:]):
            continue
        author = whose.author(path)
        who = settled.ids(path.parts[0], author)
        shown = f"{source.name}: {entry.path}"
        if len(who) != 1:
            if is_notebook:
                outcome.unknown[shown] = settled.why_not(path.parts[0], author, who)
            continue
        if claim := whose.claim(path, who[0]):
            claims[who[0]].append(claim)
        if EXCHANGE.fullmatch(path.parts[0]) and (refused := _not_theirs(course, source, entry.path, path, who[0])):
            outcome.odd[shown] = refused
        elif is_notebook:
            yield who[0], Found(shown, path.parts[0], author.time or entry.time, author.late, entry.size, entry.read)
    outcome.odd.update(by_student(claims))


def _not_theirs(course: ClassDirectory, source: Path, path: PurePosixPath, below: PurePosixPath, who: str) -> str:
    """Why a folder of nbgrader's exchange isn't taken; empty if it is. Anybody may make one with anybody's name."""
    if not source.is_dir() or not CollectRegularFiles(coursedir=course.layout, config=course.config).check_owner:
        return ""
    place = source.joinpath(*path.parts[: len(path.parts) - len(below.parts) + 1])
    return foreign_owner(place.lstat().st_uid, who)


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
    lesson, limits = handed_out(course.outline()), course.limits()
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
    here = list(_read(found, MOST_ROOM * course.limits().notebook_bytes, student, outcome))
    if not here:
        return
    _note_origin(course, student, max(found, key=lambda one: one.time).came_from)
    target = course.folder(course.layout.submitted_directory, student)
    folder, notebook = UntrustedFolder(target), f"{course.lesson}.ipynb"
    there: list[_Candidate] = []
    with contextlib.suppress(Unreadable, FileNotFoundError):
        data = folder.read(notebook, course.limits().notebook_bytes)
        there = [_Candidate(timestamp(folder) or utc((target / notebook).stat().st_mtime), "", data)]
    candidates = sorted(_of_lesson([*here, *there], course, outcome), key=lambda one: one.time)
    chosen = _counting(candidates, due, counts)
    if len({one.data for one in candidates}) > 1:
        outcome.twice[student] = _AFTER_GRADING if counts == BEST else chosen.path or "the one that was there"
    new = [
        archive_hand_in(course, student, other.time, other.data)
        for other in (*here, *there)
        if other.data != chosen.data
    ]
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


def _read(found: list[Found], room: int, student: str, outcome: Collected) -> Iterator[_Candidate]:
    """The notebooks of one student, as far as there is room: whoever hands in more makes nobody wait."""
    if len(found) > MOST_NOTEBOOKS:
        outcome.odd[f"{student}'s work"] = f"it has {len(found)} notebooks; the first {MOST_NOTEBOOKS} were looked at"
    for one in found[:MOST_NOTEBOOKS]:
        if one.size > room:
            outcome.odd[one.path] = "it wasn't looked at: there is too much in this student's notebooks before it"
            continue
        try:
            data = one.read()
        except (Unreadable, OSError) as error:
            outcome.odd[one.path] = str(error)
        else:
            room -= len(data)
            yield _Candidate(one.time, one.path, data, one.late)


def _note_origin(course: ClassDirectory, student: str, inside: str) -> None:
    """Keep the name that the platform gave to the last work of somebody: feedback goes back under it."""
    folder_of(course.root, CAME_FROM)
    path = folder_of(course.root, f"{CAME_FROM}/{course.lesson}") / student
    write_atomically(path, inside.encode("utf-8", "surrogateescape"), mode_in(course.root), durable=False)


def came_from(course: ClassDirectory, student: str) -> str:
    """The name that a platform gave to the last work of somebody; empty if nothing came from one."""
    path = folder_of(course.root) / CAME_FROM / course.lesson / student
    return path.read_text("utf-8", "surrogateescape") if path.is_file() else ""


def _counting(candidates: list[_Candidate], due: datetime | None, counts: str) -> _Candidate:
    """The one that counts, of candidates in the order of their times. Which has the best mark is known when all are
    graded: until then the one that is there stays."""
    if counts == BEST:
        return next((one for one in candidates if not one.path), candidates[-1])
    if counts == "first":
        return candidates[0]
    return last_in_time(candidates, due, lambda one: one.time) if counts == "last-in-time" else candidates[-1]


def as_text(outcome: Collected) -> str:
    """For a terminal: how many of each kind, and who or which."""
    lines = [f"{outcome.lesson}: {len(outcome.taken)} taken"]
    kinds: list[tuple[str, Iterable[str]]] = [
        ("as before", outcome.unchanged),
        ("late", outcome.late),
        ("more than one; this counts", [f"{who}: {path}" for who, path in sorted(outcome.twice.items())]),
        ("to be settled, see below", outcome.to_settle),
        ("nobody's", [f"{path}: {why}" for path, why in sorted(outcome.unknown.items())]),
        ("odd", [f"{path}: {why}" for path, why in sorted(outcome.odd.items())]),
        ("not handed in", outcome.missing),
    ]
    for title, listed in kinds:
        entries = list(listed)
        if entries:
            lines.append(f"{title + ':':28} {len(entries)}")
            lines += [f"    {printable(entry)}" for entry in entries[:LISTED]]
            lines += [f"    and {len(entries) - LISTED} more (--json has all)"] if entries[LISTED:] else []
    if outcome.passed_over:
        lines.append(f"{'no notebooks, left alone:':28} {outcome.passed_over}")
    return "\n".join(lines)
