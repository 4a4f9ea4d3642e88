"""Whose a hand-in is where several people have its name: what a teacher says with `--is`, and what was said before."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from glob import escape

from grader.course.class_directory import ClassDirectory
from grader.course.folder import CAME_FROM, FOLDER
from grader.course.roster import Roster, did_you_mean, full_names, plain
from grader.course.to_settle import save_to_settle, works_to_settle
from grader.errors import CourseError
from grader.handed_in.whose import MOODLE, Author, label
from grader.printable import printable


class Settling:
    """What is known of whose work is whose, of one lesson; `settled` has ids by label, as `--is` gives them.
    `CourseError` if one of them isn't on the roster."""

    def __init__(self, course: ClassDirectory, roster: Roster, settled: Mapping[str, str]) -> None:
        self._course, self._roster, self._told, self._used = course, roster, settled, set[str]()
        self._works = works_to_settle(course.root, course.lesson)
        for called, student in settled.items():
            if student not in roster.people:
                meant = did_you_mean(student, full_names(roster.people))
                raise CourseError(
                    f"--is {shlex.quote(f'{called}={student}')}: roster.csv has no id {student!r}.{meant}"
                )

    def ids(self, top: str, author: Author) -> list[str]:
        """The ids of those who may have handed in what the platform called `top`: several if that isn't known, none if
        it is nobody's."""
        called = label(top)
        if called in self._told:
            self._used.add(called)
            may_be = [self._told[called]]
        else:
            may_be = author.ids(self._roster)
            if len(may_be) > 1 and MOODLE.fullmatch(top):  # its number is one person's, in this assignment
                before = [who for who in may_be if label(came_from(self._course, who)) == called]
                may_be = before if len(before) == 1 else may_be
        if len(may_be) > 1:
            self._works[called] = {who: self._roster.people[who].full_name for who in may_be}
        else:
            self._works.pop(called, None)
        return may_be

    def why_not(self, top: str, author: Author, may_be: Sequence[str]) -> str:
        """Why it isn't known whose the work called `top` is, and what to do about it: who was settled in another lesson
        comes first."""
        if not may_be:
            return author.why_not(self._roster)
        before = {who: list(self._elsewhere(top, who)) for who in may_be}
        options = [
            f"--is {shlex.quote(f'{label(top)}={who}')}" + (f" ({', '.join(before[who])})" if before[who] else "")
            for who in sorted(may_be, key=lambda who: not before[who])
        ]
        return f"{author.why_not(self._roster)}. Say whose it is, with {' or '.join(options)}"

    def _elsewhere(self, top: str, who: str) -> Iterator[str]:
        """Where a teacher has settled that work by this name is the student's, in words, in other lessons: there
        Moodle's number is another one."""
        match = MOODLE.fullmatch(top)
        for path in sorted((self._course.root / FOLDER / CAME_FROM).glob(f"*/{escape(who)}")) if match else ():
            lesson, there = path.parent.name, path.read_text("utf-8", "surrogateescape")
            known = MOODLE.fullmatch(there)
            if lesson != self._course.lesson and match and known and plain(known["name"]) == plain(match["name"]):
                yield f"{label(there)!r} in {lesson}"

    def require_used(self, unknown: Mapping[str, str]) -> None:
        """Raise `CourseError` for a name in `--is` that nothing given has, before anything is taken. `unknown` has the
        files of which it isn't known whose they are, with the reason."""
        if unused := sorted(set(self._told) - self._used):
            listed = "".join(f"\n  {printable(f'{path}: {why}')}" for path, why in sorted(unknown.items()))
            raise CourseError(
                f"--is {shlex.quote(f'{unused[0]}={self._told[unused[0]]}')}: no file is called {unused[0]!r}, so "
                f"nothing was taken. Files whose owners aren't known:{listed or ' none.'}"
            )

    def save(self) -> set[str]:
        """Keep what is still to be settled; returns the ids of those whose that may be."""
        save_to_settle(self._course.root, self._course.lesson, self._works)
        return {who for people in self._works.values() for who in people}


def came_from(course: ClassDirectory, student: str) -> str:
    """The name that a platform gave to a student's last work; "" if nothing came from one."""
    path = course.root / FOLDER / CAME_FROM / course.lesson / student
    return path.read_text("utf-8", "surrogateescape") if path.is_file() else ""
