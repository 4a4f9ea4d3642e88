"""Takes in what a learning platform gives: zip files and folders, whose names say who handed in what.
docs/grading.md has the table of the names."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from grader.atomic import write_atomically
from grader.course.class_directory import ClassDirectory
from grader.course.files import UntrustedFolder
from grader.course.folder import CAME_FROM, folder_of, mode_in
from grader.course.lateness import in_time_until, is_late, last_in_time, timestamp
from grader.course.roster import Roster
from grader.errors import CourseError, Unreadable
from grader.handed_in.archive import given, is_hidden, utc
from grader.handed_in.before import Before
from grader.handed_in.collected import NAMED, Collected
from grader.handed_in.earlier import BEST, archive_hand_in, put
from grader.handed_in.exchange import CollectRegularFiles, foreign_owner
from grader.handed_in.hand_in import answers_in, handed_out, lesson_held
from grader.handed_in.settled import Settling
from grader.handed_in.times import ArchiveTimes, times_of_a_download
from grader.handed_in.whose import EXCHANGE, METADATA, Author, Whose, by_student, is_somebodys

# Of one student's notebooks so many are read, and so many times the bytes that one may have.
MOST_NOTEBOOKS, MOST_ROOM = 100, 2
_AFTER_GRADING = "the one with the best mark, once they are graded"


@dataclass(frozen=True)
class Found:
    """A notebook in what was given. `path` names it, `came_from` is the name that the platform gave to the work it lies
    in; `time` is when it was handed in (UTC, as far as known), `late` says whether the platform says so. A file's own
    time is the time of a copy: `times` may know the platform's."""

    path: str
    came_from: str
    time: datetime
    late: bool
    size: int
    read: Callable[[], bytes] = field(compare=False)
    times: ArchiveTimes | None = field(default=None, compare=False)


def collect(
    course: ClassDirectory,
    sources: Sequence[Path],
    counts: str = "last",
    *,
    anyway: bool = False,
    settled: Mapping[str, str] | None = None,
) -> Collected:
    """Put the notebooks of `sources` in place under `submitted/`, and earlier ones under `.grader/earlier/`. Which of
    several `counts`: "last", "last-in-time" (by the student's own due date), "first", or "best", put in place when they
    are graded. `settled` has ids by `label` where the roster can't tell. `CourseError`, and nothing is taken, without a
    roster, or where more students' work is of other lessons than of this one, unless `anyway`."""
    roster = Roster.of(course.root)
    if not len(roster):
        raise CourseError(
            f"{course.root} has no roster yet, so it isn't known who is who. First: grader roster COURSE FILE.csv"
        )
    outcome, until = Collected(course.lesson), in_time_until(course.layout, course.lesson)
    theirs: defaultdict[str, list[Found]] = defaultdict(list)
    settling = Settling(course, roster, settled or {})
    sorting = _Sorting(course, roster, settling, outcome)
    for source in sources:
        for student, notebook in sorting.notebooks(source):
            theirs[student].append(notebook)
    settling.require_used(outcome.unknown)
    if not anyway:
        _refuse_another_lesson(course, sources, theirs)
    work = [
        (notebook.path.partition(": ")[0], student, notebook.time)
        for student, found in theirs.items()
        for notebook in found
    ]
    outcome.odd.update(times_of_a_download(work, until))
    before = Before(course)
    for student, found in sorted(theirs.items()):
        due = until(student)
        if due != until(""):  # a platform knows nothing of an extension that the gradebook has
            found = [replace(notebook, late=False) for notebook in found]
        _take(course, student, found, due, counts, before, outcome)
    handed_in, may_be = {submission.student for submission in course.submissions()[0]}, settling.save()
    sorting.times.save()
    before.save()
    outcome.sort_others(sorting.others, {*theirs}, roster.people)
    outcome.to_settle = sorted(may_be - handed_in)
    outcome.missing = sorted(set(roster.people) - handed_in - may_be - outcome.no_notebook.keys())
    return outcome


# --- which lesson it is -----------------------------------------------------------------------------------------------


def _refuse_another_lesson(course: ClassDirectory, sources: Sequence[Path], theirs: Mapping[str, list[Found]]) -> None:
    """Raise `CourseError` where more students' work is of other lessons than of this one: a slip in the lesson's name
    would hand out a class of zeros."""
    lessons = Counter(filter(None, (_lesson_held(course, student, found) for student, found in theirs.items())))
    own = lessons.pop(course.lesson, 0)
    if sum(lessons.values()) <= own:
        return
    (likely, _count), *_others = lessons.most_common()
    counts = ", ".join(f"{count} to {lesson}" for lesson, count in lessons.most_common())
    typed = [os.path.relpath(course.root), likely, *map(str, sources)]
    raise CourseError(
        f"{', '.join(source.name for source in sources)}: nothing was taken. Judging by their exercises, the "
        f"students' notebooks belong mostly to other lessons: {counts}, and {own} to {course.lesson}. "
        "You probably meant:\n"
        f"  grader collect {shlex.join(typed)}\n"
        f"If you do mean {course.lesson}, add --anyway."
    )


def _lesson_held(course: ClassDirectory, student: str, found: list[Found]) -> str:
    """The lesson of which one student's notebooks hold the most exercises, the course's lesson if they hold any of it;
    "" if they hold no lesson's."""
    room = MOST_ROOM * course.limits().notebook_bytes
    return lesson_held(course, [notebook.data for notebook in _read(found, room, student, Collected(course.lesson))])


# --- who wrote which file ---------------------------------------------------------------------------------------------


class _Sorting:
    """Tells whose the files of the sources are. `others` gets the names of files that are no notebooks, by student, or
    by a name that is nobody's; `times` the times of a platform's archive."""

    def __init__(self, course: ClassDirectory, roster: Roster, settling: Settling, outcome: Collected) -> None:
        self._course, self._roster, self._settling, self._outcome = course, roster, settling, outcome
        self.times = ArchiveTimes(course)
        self.others: defaultdict[str, list[str]] = defaultdict(list)

    def notebooks(self, source: Path) -> Iterator[tuple[str, Found]]:
        """The notebooks of one source, each with the id of who wrote it. What is nobody's or odd is noted in the
        outcome."""
        outcome, most = self._outcome, self._course.limits().notebook_bytes
        all_of_it = given(source, most, lambda name: is_somebodys(name, self._roster), outcome.odd)
        whose = Whose(all_of_it, self._roster, outcome.odd)
        claims: defaultdict[str, list[str]] = defaultdict(list)
        strange: defaultdict[str, list[tuple[Author, list[str], str]]] = defaultdict(list)
        for entry in all_of_it.entries:
            path, whole = all_of_it.below(entry.path), all_of_it.below(entry.whole_path)
            is_list, is_notebook = whole.name == METADATA, whole.suffix.lower() == ".ipynb"
            hidden = whole.name.startswith("._") or (is_hidden(whole.name) and not is_notebook)
            if hidden or (is_list and not whole.parts[1:]):
                continue
            author = whose.author(path)
            who = self._settling.ids(path.parts[0], author)
            if is_notebook and entry.key and who:
                self.times.note(entry.key, entry.time, who)
            shown, inside = f"{source.name}: {entry.whole_path}", "/".join(whole.parts[1:])
            if len(who) != 1:
                if not is_list and not is_notebook:
                    strange[path.parts[0]].append((author, who, inside))
                if is_notebook:
                    outcome.unknown[shown] = self._settling.why_not(path.parts[0], author, who)
                continue
            if (is_notebook or is_list) and (claim := whose.claim(whole, who[0])):
                claims[who[0]].append(claim)
            if refused := self._not_theirs(source, entry.path, path, who[0]):
                outcome.odd[shown] = refused
            elif is_notebook:
                kept = None if entry.key or author.time else self.times
                time = author.time or entry.time
                yield who[0], Found(shown, path.parts[0], time, author.late, entry.size, entry.read, kept)
            elif not is_list:
                self.others[who[0]].append(inside or str(whole))
        outcome.odd.update(by_student(claims))
        self._name(source.name, strange, {path.partition(": ")[2] for path in outcome.unknown})

    def _name(
        self, source: str, strange: Mapping[str, list[tuple[Author, list[str], str]]], named: Collection[str]
    ) -> None:
        """Note work that is nobody's, or may be several people's, and has no notebook in it. `strange` has such files
        by the platform's name for the work; `named` are notebooks that have been noted."""
        for top, files in strange.items():
            author, who, _inside = files[0]
            names = [inside for _author, _who, inside in files if inside]
            if any(path == top or f"{top}/" in path for path in named) or not (names or who or author.sure):
                self.others[top] += names
            else:
                listed = f" (no notebook in it: {', '.join(names[:NAMED])})" if names else " (no notebook)"
                self._outcome.unknown[f"{source}: {top}"] = self._settling.why_not(top, author, who) + listed

    def _not_theirs(self, source: Path, path: PurePosixPath, below: PurePosixPath, who: str) -> str:
        """Why a folder of nbgrader's exchange isn't taken as the work of `who`; "" if it is, or is no such folder.
        Anybody may make one with anybody's name."""
        course = self._course
        if not EXCHANGE.fullmatch(below.parts[0]) or not source.is_dir():
            return ""
        if not CollectRegularFiles(coursedir=course.layout, config=course.config).check_owner:
            return ""
        folder = source.joinpath(*path.parts[: len(path.parts) - len(below.parts) + 1])
        return foreign_owner(folder.lstat().st_uid, who)


# --- which one counts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A notebook that may count; `path` is empty for the one that is there already."""

    time: datetime
    path: str
    data: bytes
    late: bool = False


def _of_lesson(found: list[_Candidate], course: ClassDirectory, outcome: Collected) -> list[_Candidate]:
    """The notebooks in which something is answered or, if there is none, those that hold this lesson's exercises; all
    if there is none of these either. What is passed over is noted in the outcome."""
    lesson, limits = handed_out(course.outline()), course.limits()
    answers = {id(notebook): answers_in(notebook.data, lesson, limits) for notebook in found}
    for enough, why in (
        (lambda answers: any(answers.values()), "it has no answers"),
        (bool, "it has none of this lesson's exercises"),
    ):
        own = [notebook for notebook in found if enough(answers[id(notebook)])]
        if own:
            for other in found:
                if other not in own and other.path:
                    said = why if answers[id(other)] else "it has none of this lesson's exercises"
                    outcome.odd[other.path] = f"{said}; {own[-1].path or 'the one collected earlier'} is taken"
            return own
    return found


def _take(
    course: ClassDirectory,
    student: str,
    found: list[Found],
    due: datetime | None,
    counts: str,
    before: Before,
    outcome: Collected,
) -> None:
    here = list(_read(found, MOST_ROOM * course.limits().notebook_bytes, student, outcome))
    if not here:
        return
    before.note(student)
    _note_origin(course, student, max(found, key=lambda notebook: notebook.time).came_from)
    target = course.folder(course.layout.submitted_directory, student)
    folder, notebook = UntrustedFolder(target), f"{course.lesson}.ipynb"
    there: list[_Candidate] = []
    with contextlib.suppress(Unreadable, FileNotFoundError):
        data = folder.read(notebook, course.limits().notebook_bytes)
        there = [_Candidate(timestamp(folder) or utc((target / notebook).stat().st_mtime), "", data)]
    candidates = sorted(_of_lesson([*here, *there], course, outcome), key=lambda notebook: notebook.time)
    chosen = _counting(candidates, due, counts)
    if len({notebook.data for notebook in candidates}) > 1:
        outcome.twice[student] = _AFTER_GRADING if counts == BEST else chosen.path or "the one collected earlier"
    new = [
        archive_hand_in(course, student, other.time, other.data)
        for other in (*here, *there)
        if other.data != chosen.data
    ]
    if there and there[0].data == chosen.data:
        if counts == BEST and any(new):
            outcome.taken.append(student)
        else:
            known = counts == BEST or any(notebook.data == chosen.data for notebook in here)
            (outcome.unchanged if known else outcome.earlier).append(student)
    else:
        put(course, student, chosen.time, chosen.data)
        outcome.taken.append(student)
    if chosen.late or is_late(chosen.time, due):
        outcome.late.append(student)


def _read(found: list[Found], room: int, student: str, outcome: Collected) -> Iterator[_Candidate]:
    """Read the notebooks of one student, as far as there is room in bytes: whoever hands in more makes nobody wait.
    What isn't read is noted in the outcome."""
    if len(found) > MOST_NOTEBOOKS:
        outcome.odd[f"{student}'s work"] = f"it has {len(found)} notebooks; the first {MOST_NOTEBOOKS} were looked at"
    for notebook in found[:MOST_NOTEBOOKS]:
        if notebook.size > room:
            outcome.odd[notebook.path] = "it wasn't looked at, because the notebooks before it are too large"
            continue
        try:
            data = notebook.read()
        except (Unreadable, OSError) as error:
            outcome.odd[notebook.path] = str(error)
        else:
            room -= len(data)
            kept = notebook.times and notebook.times.first(data, student)
            if kept and kept < notebook.time and student not in outcome.copied:
                outcome.copied.append(student)
            yield _Candidate(min(kept or notebook.time, notebook.time), notebook.path, data, notebook.late)


def _note_origin(course: ClassDirectory, student: str, inside: str) -> None:
    """Keep the name that the platform gave to a student's last work: feedback goes back under it."""
    folder_of(course.root, CAME_FROM)
    path = folder_of(course.root, f"{CAME_FROM}/{course.lesson}") / student
    write_atomically(path, inside.encode("utf-8", "surrogateescape"), mode_in(course.root), durable=False)


def _counting(candidates: list[_Candidate], due: datetime | None, counts: str) -> _Candidate:
    """The notebook that counts, of candidates in the order of their times. Which has the best mark is known when all
    are graded: until then the one that is there stays."""
    if counts == BEST:
        return next((notebook for notebook in candidates if not notebook.path), candidates[-1])
    if counts == "first":
        return candidates[0]
    return last_in_time(candidates, due, lambda notebook: notebook.time) if counts == "last-in-time" else candidates[-1]
