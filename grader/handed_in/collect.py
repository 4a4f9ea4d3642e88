"""Takes in what a learning platform gives: zip files and folders, whose names say who handed in what.
docs/platforms.md has the table of the names."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath

from grader.course.class_directory import ClassDirectory
from grader.course.files import UntrustedFolder
from grader.course.groups import groups_of, save_groups
from grader.course.lateness import in_time_until, is_late, timestamp
from grader.course.roster import Roster
from grader.course.settings import BEST
from grader.course.tables import rows_of
from grader.errors import CourseError, Unreadable
from grader.handed_in.archive import Archive, given, is_hidden, utc
from grader.handed_in.before import Before
from grader.handed_in.came_from import note_name
from grader.handed_in.collected import NAMED, Collected
from grader.handed_in.counting import called, counting, given_name, in_place, one_of_each_upload
from grader.handed_in.earlier import archive_hand_in, kept_hand_ins, put, put_time
from grader.handed_in.exchange import CollectRegularFiles, foreign_owner
from grader.handed_in.hand_in import (
    MODULE_BYTES,
    MOST_MODULES,
    answers_in,
    handed_out,
    lesson_held,
    with_modules,
)
from grader.handed_in.reading import Reading
from grader.handed_in.times import HandInTimes, times_of_a_download
from grader.handed_in.whose import Owner, Whose, by_student, claim
from grader.platforms.exchange import PLATFORM as EXCHANGE
from grader.platforms.platform import Author, Found, is_notebook
from grader.platforms.registry import platforms, worksheet

_AFTER_GRADING = "the one with the best mark, once they are graded"


def collect(
    course: ClassDirectory,
    sources: Sequence[Path],
    counts: str = "last",
    *,
    anyway: bool = False,
    settled: Mapping[str, str] | None = None,
    worksheets: Sequence[Path] = (),
) -> Collected:
    """Put the notebooks of `sources` in place under `submitted/`, and earlier ones under `.grader/earlier/`. Which of
    several `counts`: "last", "last-in-time" (by the student's own due date), "first", or "best", put in place when they
    are graded. `settled` has ids by label where the roster can't tell, `worksheets` are platforms' lists of this
    assignment. `CourseError`, and nothing is taken, without a roster, or where more students' work is of other lessons
    than of this one, unless `anyway`."""
    roster = Roster.of(course.root)
    if not len(roster):
        raise CourseError(
            f"{course.root} has no roster yet, so it isn't known who is who. First: grader roster COURSE FILE.csv"
        )
    outcome = Collected(course.lesson)
    most, listed = course.limits().notebook_bytes, _listed(worksheets)
    archives = [(source, given(source, most, roster, outcome.odd)) for source in sources]
    whose = Whose(course, roster, settled or {}, listed)
    owners = whose.decide(entry.author for _source, archive in archives for entry in archive.entries)
    sorting = _Sorting(course, roster, owners, outcome)
    for source, archive in archives:
        sorting.sort(source, archive)
    whose.require_used(outcome.unknown)
    groups = sorting.share_in_groups(listed, whose)
    collecting = _Collecting(course, sorting, Reading(most, outcome.odd), counts, outcome)
    if not anyway:
        collecting.refuse_another_lesson(sources)
    collecting.note_times()
    before = Before(course, sorting.theirs)
    save_groups(course.root, course.lesson, groups_of(course.root, course.lesson) | groups)
    may_be = whose.save()
    collecting.take(before)
    before.save()
    handed_in = {submission.student for submission in course.submissions()[0]}
    outcome.sort_others(sorting.others, {*sorting.theirs}, roster.people)
    outcome.to_settle = sorted(may_be - handed_in)
    outcome.missing = sorted(set(roster.people) - roster.withdrawn - handed_in - may_be - outcome.no_notebook.keys())
    return outcome


def _listed(worksheets: Sequence[Path]) -> dict[str, dict[str, Author]]:
    """By platform and its key who is who in its lists of this assignment; `CourseError` for a file that is none."""
    listed: defaultdict[str, dict[str, Author]] = defaultdict(dict)
    for path in worksheets:
        platform, people = worksheet(rows_of(path))
        if not people:
            raise CourseError(
                f"{path}: this isn't a list of one assignment that a platform made. In Moodle it is the grading "
                "worksheet (View all submissions, Download grading worksheet), whose first column has entries such as "
                "'Participant 601'."
            )
        listed[platform].update(people)
    return listed


# --- who wrote which file ---------------------------------------------------------------------------------------------


class _Sorting:
    """Sorts the files of the sources by their owners: `theirs` has notebooks by student, `waiting` those of work that
    may be several people's, by these and the work's label; `others` has the names of files that are no notebooks, by
    student or by a name that is nobody's. What is nobody's or odd is noted in the outcome."""

    def __init__(
        self, course: ClassDirectory, roster: Roster, owners: Mapping[Author, Owner], outcome: Collected
    ) -> None:
        self._course, self._roster, self._owners, self._outcome = course, roster, owners, outcome
        self.theirs: defaultdict[str, list[Found]] = defaultdict(list)
        self.waiting: defaultdict[tuple[str, tuple[str, ...]], list[Found]] = defaultdict(list)
        self.others: defaultdict[str, list[str]] = defaultdict(list)
        self._shown: dict[str, tuple[str, str]] = {}  # by the names of such files: whose it is, and how it is listed
        self._platforms = {platform.key: platform for platform in platforms()}
        self._listings = {platform.listing for platform in platforms() if platform.listing}
        # Not in a loop: nbgrader's class takes a while to make.
        self._checks_owners = CollectRegularFiles(coursedir=course.layout, config=course.config).check_owner

    def sort(self, source: Path, archive: Archive) -> None:
        """Sort the files of one source."""
        outcome = self._outcome
        claims: defaultdict[str, list[str]] = defaultdict(list)
        modules = self._modules(archive)
        strange: defaultdict[str, list[tuple[Author, str]]] = defaultdict(list)
        named: set[str] = set()
        for entry in archive.entries:
            path, whole = archive.below(entry.path), archive.below(entry.whole_path)
            is_list, is_work = whole.name in self._listings, is_notebook(whole.name)
            hidden = whole.name.startswith("._") or (is_hidden(whole.name) and not is_work)
            if hidden or (is_list and not whole.parts[1:]):
                continue
            owner, inside = self._owners[entry.author], "/".join(whole.parts[1:])
            if not owner.who:
                if is_work:
                    outcome.unknown[entry.name] = owner.why
                    named.add(path.parts[0])
                    if owner.may_be:
                        beside = modules[entry.author.label, whole.parent]
                        self.waiting[entry.author.label, owner.may_be].append(self._with_modules(entry, beside))
                elif not is_list:
                    strange[path.parts[0]].append((entry.author, inside))
                continue
            if (is_work or is_list) and (said := claim(whole, owner.who, self._roster)):
                claims[owner.who].append(said)
            if refused := self._not_theirs(source, entry, path, owner.who):
                outcome.odd[entry.name] = refused
            elif is_work:
                beside = modules[owner.who, whole.parent]
                self.theirs[owner.who].append(self._with_modules(entry, beside))
            elif not is_list:
                self.others[owner.who].append(inside or str(whole))
                self._shown[entry.name] = owner.who, inside or str(whole)
            if archive.is_nobodys and is_work and owner.who not in outcome.by_zip:
                outcome.by_zip.append(owner.who)
        outcome.odd.update(by_student(claims))
        self._name(archive.name, {top: files for top, files in strange.items() if top not in named})
        for top in strange.keys() & named:
            self.others[top] += [inside for _author, inside in strange[top] if inside]

    def _modules(self, archive: Archive) -> defaultdict[tuple[str, PurePosixPath], dict[str, Found]]:
        """The students' own modules in a source, by owner (or, if that isn't known, the work's label) and folder, and
        by their names. Of several of one name the latest counts."""
        modules: defaultdict[tuple[str, PurePosixPath], dict[str, Found]] = defaultdict(dict)
        for entry in sorted(archive.entries, key=lambda entry: entry.time):
            whole, platform = archive.below(entry.whole_path), self._platforms.get(entry.author.platform)
            name = PurePosixPath(platform.own_name(whole.name) if platform and not whole.parts[1:] else whole.name)
            if name.suffix == ".py" and entry.size <= MODULE_BYTES:
                modules[self._owners[entry.author].who or entry.author.label, whole.parent][name.stem] = entry
        return modules

    def _with_modules(self, notebook: Found, beside: Mapping[str, Found]) -> Found:
        """A notebook that, when it is read, has in it what it imports of the modules that lie beside it: these are then
        no longer among `others`."""
        if not beside:
            return notebook
        reads = {name: partial(self._module, entry) for name, entry in beside.items()}
        size = sum(sorted(entry.size for entry in beside.values())[-MOST_MODULES:])
        return replace(
            notebook,
            size=notebook.size + size,
            read=lambda: with_modules(notebook.read(), reads, self._course.limits()),
        )

    def _module(self, entry: Found) -> bytes:
        who, shown = self._shown.pop(entry.name, ("", ""))
        if who:
            self.others[who].remove(shown)
            if not self.others[who]:
                del self.others[who]
        with contextlib.suppress(Unreadable, OSError):
            return entry.read()
        return b""

    def _name(self, source: str, strange: Mapping[str, list[tuple[Author, str]]]) -> None:
        """Note work that is nobody's, or may be several people's, and has no notebook in it. `strange` has such files
        by the platform's name for the work."""
        for top, files in strange.items():
            author, _inside = files[0]
            names, owner = [inside for _author, inside in files if inside], self._owners[author]
            if not (names or owner.may_be or author.key):
                self.others[top] += names
            else:
                listed = f" (no notebook in it: {', '.join(names[:NAMED])})" if names else " (no notebook)"
                self._outcome.unknown[f"{source}: {top}"] = owner.why + listed

    def _not_theirs(self, source: Path, entry: Found, below: PurePosixPath, who: str) -> str:
        """Why a folder of nbgrader's exchange isn't taken as the work of `who`; "" if it is, or is no such folder.
        Anybody may make one with anybody's name."""
        if entry.author.platform != EXCHANGE.key or not self._checks_owners:
            return ""
        folder = source.joinpath(*entry.path.parts[: len(entry.path.parts) - len(below.parts) + 1])
        return foreign_owner(folder.lstat().st_uid, who)

    def share_in_groups(self, listed: Mapping[str, Mapping[str, Author]], whose: Whose) -> dict[str, str]:
        """Give each group's work to those of its members who have none in the sources, as far as a platform's list
        names them. Returns the groups by student, of those who worked together."""
        members: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        works: dict[tuple[str, str], list[Found]] = {}
        for who, found in self.theirs.items():
            for entry in found:
                if entry.author.group:
                    members[entry.author.platform, entry.author.group].add(who)
                    works.setdefault((entry.author.platform, entry.author.group), found)
        for platform, people in listed.items():
            for key, row in people.items():
                who = whose.listed(platform, key) if (platform, row.group) in works else ""
                if who and who not in self.theirs:
                    own = replace(row, platform=platform, key=key)
                    self.theirs[who] = [replace(entry, author=own) for entry in works[platform, row.group]]
                if who:
                    members[platform, row.group].add(who)
        return {who: group for (_platform, group), people in members.items() for who in people if len(people) > 1}


# --- which one counts -------------------------------------------------------------------------------------------------


class _Collecting:
    """Takes the sorted notebooks in, student by student."""

    def __init__(
        self, course: ClassDirectory, sorting: _Sorting, reading: Reading, counts: str, outcome: Collected
    ) -> None:
        self._course, self._sorting, self._reading, self._outcome = course, sorting, reading, outcome
        self._counts, self._times = counts, HandInTimes(course)
        self._until = in_time_until(course.layout, course.lesson)
        self._lesson, self._limits = handed_out(course.outline()), course.limits()

    def refuse_another_lesson(self, sources: Sequence[Path]) -> None:
        """Raise `CourseError` where more students' work is of other lessons than of this one: a slip in the lesson's
        name would hand out a class of zeros. Of fewer it is noted in the outcome."""
        course, held = self._course, {}
        for student, found in self._sorting.theirs.items():
            works = [notebook.data for notebook in self._reading.notebooks(student, found)]
            if lesson := lesson_held(course, works):
                held[student] = lesson
        lessons = Counter(held.values())
        own = lessons.pop(course.lesson, 0)
        if sum(lessons.values()) <= own:
            for student, lesson in held.items():
                if lesson != course.lesson:
                    name = self._sorting.theirs[student][0].name
                    self._outcome.odd[name] = f"it has exercises of {lesson}, and none of {course.lesson}"
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

    def note_times(self) -> None:
        """Keep the time of everything that was given, before anything is put in place: whatever then cuts a collecting
        off, the next one knows when each notebook came."""
        work = []
        for student, found in self._sorting.theirs.items():
            for there in self._in_place(student):
                self._times.note(there.data, there.time, False, [student])
            for notebook in self._reading.notebooks(student, found):
                self._times.note(notebook.data, notebook.time, notebook.is_platforms, [student])
                work.append((notebook.source, student, notebook.time))
        for (label, people), found in self._sorting.waiting.items():
            for notebook in self._reading.notebooks(label, found):
                if notebook.is_platforms:
                    self._times.note(notebook.data, notebook.time, True, people)
        self._times.save()
        self._outcome.odd.update(times_of_a_download(work, self._until))

    def take(self, before: Before) -> None:
        """Put the work of everybody in place."""
        for student, found in sorted(self._sorting.theirs.items()):
            if here := [self._dated(student, notebook) for notebook in self._reading.notebooks(student, found)]:
                before.note(student)
                self._take(student, here)

    def _dated(self, student: str, notebook: Found) -> Found:
        """A notebook with its platform's time, or, of a copy, the time that a platform once had for these bytes."""
        known = None if notebook.is_platforms else self._times.of(notebook.data, student)
        if known is None or known == notebook.time:
            return notebook
        if student not in self._outcome.copied:
            self._outcome.copied.append(student)
        return replace(notebook, time=known)

    def _take(self, student: str, here: list[Found]) -> None:
        course, outcome, counts = self._course, self._outcome, self._counts
        due, there = self._until(student), self._in_place(student)
        there_too = {notebook.data for notebook in there}  # the same work once more, which keeps its time
        own = self._of_lesson([*there, *(notebook for notebook in here if notebook.data not in there_too)])
        several = len({notebook.data for notebook in own}) > 1
        if counts == BEST:
            here = one_of_each_upload(here, own)
            own = [notebook for notebook in own if notebook in (*there, *here)]
        candidates = sorted(own, key=lambda notebook: notebook.time)  # of equal times the one that came later is last
        chosen = counting(candidates, due, counts)
        if given := given_name(here, chosen):
            note_name(course.root, course.lesson, student, given)
        if several:
            waits = counts == BEST and len({notebook.data for notebook in candidates}) > 1
            outcome.twice[student] = _AFTER_GRADING if waits else called(chosen)
        new = [
            archive_hand_in(course, student, other.time, other.data)
            for other in (*here, *there)
            if other.data != chosen.data
        ]
        if chosen.data in there_too:
            self._repair_time(student, there[0])
            if counts == BEST and any(new):
                outcome.taken.append(student)
            else:
                known = counts == BEST or any(notebook.data == chosen.data for notebook in here)
                (outcome.unchanged if known else outcome.earlier).append(student)
        else:
            put(course, student, chosen.time, chosen.data)
            outcome.taken.append(student)
        says_late = any(notebook.author.late for notebook in here if notebook.data == chosen.data)
        if self._is_late(student, chosen.time, says_late, due):
            outcome.late.append(student)

    def _in_place(self, student: str) -> list[Found]:
        """The notebook that is in place, if one is, with the time at which it came."""
        course = self._course
        target, notebook = course.folder(course.layout.submitted_directory, student), f"{course.lesson}.ipynb"
        folder = UntrustedFolder(target)
        with contextlib.suppress(Unreadable, FileNotFoundError):
            data = folder.read(notebook, self._limits.notebook_bytes)
            stated, known = timestamp(folder), self._times.of(data, student, only_platforms=False)
            time = stated or known or utc((target / notebook).stat().st_mtime)
            if known and known != time and self._is_anothers(student, time, data):
                time = known
            return [in_place(data, time)]
        return []

    def _is_anothers(self, student: str, time: datetime, data: bytes) -> bool:
        """Whether a time is that of another of the student's hand-ins: a collecting was cut off between the time and
        the notebook. Any other time a teacher has written, who knows better than the platform's file."""
        kept = any(other == time and there != data for other, there in kept_hand_ins(self._course, student))
        return kept or self._times.is_only_anothers(data, student, time)

    def _repair_time(self, student: str, there: Found) -> None:
        target = self._course.folder(self._course.layout.submitted_directory, student)
        if timestamp(UntrustedFolder(target)) != there.time:
            put_time(self._course, student, there.time)

    def _of_lesson(self, found: list[Found]) -> list[Found]:
        """Those of the notebooks that have answers to the lesson's exercises; if none has, those that hold any of
        them, or all. What is passed over is noted in the outcome."""
        answers = {id(notebook): answers_in(notebook.data, self._lesson, self._limits) for notebook in found}
        for enough, why in (
            (lambda answers: any(answers.values()), "it has no answers"),
            (bool, "it has none of this lesson's exercises"),
        ):
            own = [notebook for notebook in found if enough(answers[id(notebook)])]
            if own:
                for other in found:
                    if other not in own and not other.in_place:
                        said = why if answers[id(other)] else "it has none of this lesson's exercises"
                        self._outcome.odd[other.name] = f"{said}; {called(own[-1])} is taken"
                return own
        return found

    def _is_late(self, student: str, time: datetime, says_late: bool, due: datetime | None) -> bool:
        """Whether work is late. A platform that `says_late` knows nothing of an extension, nor of a grace period."""
        grace = self._course.configured.grace
        is_within = due is not None and timedelta() < time - (due - grace) <= grace
        return is_late(time, due) or (says_late and due == self._until("") and not is_within)
