"""Whose a hand-in is: decided here and nowhere else, from what platforms say (`Author`) and the roster.

A teacher's word counts first, then a platform's list of one assignment, then its own number of a person, then what it
said before in this lesson, an exact id, a name. Two people of one name, two of a platform's keys with one name, and one
key with two people are to be settled by a teacher. What is in a student's work decides nothing.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import PurePosixPath

from grader.course.class_directory import ClassDirectory
from grader.course.folder import CAME_FROM, FOLDER
from grader.course.roster import Roster, did_you_mean, full_names, plain
from grader.course.to_settle import save_to_settle, works_to_settle
from grader.errors import CourseError
from grader.handed_in.came_from import names_of
from grader.platforms.platform import Author, Odd, splits
from grader.platforms.registry import by_key, platforms
from grader.printable import printable

# How surely it is known who is meant.
BY_NAME, BY_ID, BY_KEY, SAID = range(4)


@dataclass(frozen=True)
class Owner:
    """Whose a hand-in is."""

    may_be: tuple[str, ...] = ()  # ids: one if it is known, several if it isn't, none if it is nobody's
    sure: int = BY_NAME
    word: str = ""  # by which the person is known
    why: str = ""  # why it isn't known, in words; "" if it is

    @property
    def who(self) -> str:
        """The id of whoever handed it in; "" if that isn't known."""
        return self.may_be[0] if self.may_be and not self.why else ""


class Whose:
    """Decides whose hand-ins of one lesson are. `told` has ids by label, as `--is` gives them; `listed` has by platform
    who is who in its list of this assignment. `CourseError` if an id in `told` isn't on the roster."""

    def __init__(
        self,
        course: ClassDirectory,
        roster: Roster,
        told: Mapping[str, str],
        listed: Mapping[str, Mapping[str, Author]],
    ) -> None:
        self._course, self._roster, self._told, self._listed = course, roster, told, listed
        self._used: set[str] = set()
        self._works = works_to_settle(course.root, course.lesson)
        self._known: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # by platform and key the ids
        for who, name in _names_in(course, course.lesson):
            for platform in platforms() if who in roster.people else ():
                if key := platform.key_of(name)[1]:
                    self._known[platform.key, key].add(who)
        for called, student in told.items():
            if student not in roster.people:
                meant = did_you_mean(student, full_names(roster.people))
                raise CourseError(
                    f"--is {shlex.quote(f'{called}={student}')}: roster.csv has no id {student!r}.{meant}"
                )

    def decide(self, authors: Iterable[Author]) -> dict[Author, Owner]:
        """The owners of all hand-ins that are collected together: each can make another one doubtful."""
        meant = {author: self._meant(author) for author in authors}
        of_person: defaultdict[tuple[str, str], dict[str, tuple[int, str]]] = defaultdict(dict)
        of_key: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for (platform, key), people in self._known.items():
            for who in people:
                of_person[platform, who][key] = SAID, key
        for author, owner in meant.items():
            key = author.key or owner.word
            for who in owner.may_be if len(owner.may_be) == 1 else ():
                known = of_person[author.platform, who].get(key, (BY_NAME, ""))
                of_person[author.platform, who][key] = max(owner.sure, known[0]), author.label
                of_key[author.platform, key].add(who)
        return {author: self._settled(author, owner, of_person, of_key) for author, owner in meant.items()}

    def listed(self, platform: str, key: str) -> str:
        """The id of whoever a platform's list of this assignment has under a key; "" if that isn't known."""
        row = self._listed[platform][key]
        owner = self._found(row, row)
        return owner.may_be[0] if len(owner.may_be) == 1 else ""

    def _meant(self, author: Author) -> Owner:
        """Who is meant by a hand-in, whatever else was handed in."""
        for called in (author.label, author.given):
            if called in self._told:
                self._used.add(called)
                return Owner((self._told[called],), SAID, called)
        row = self._listed.get(author.platform, {}).get(author.key)
        if row is not None:
            owner = self._found(row, author)
            return replace(owner, sure=SAID) if len(owner.may_be) == 1 else owner
        return self._found(author, author)

    def _found(self, told: Author, author: Author) -> Owner:
        """Who is meant by what is `told` of a hand-in's author."""
        roster = self._roster
        numbers = {who for column, value in told.numbers for who in roster.by_number(column, value)}
        ids = {who for key in told.ids for who in roster.by_id(key)}
        if numbers or ids:
            word = author.key or next(iter(told.ids), author.label)
            people = tuple(sorted(numbers & ids or numbers | ids))
            return Owner(people, BY_KEY if numbers else BY_ID, word)
        known = self._known.get((author.platform, author.key), set()) if author.key else set()
        named = {who for name in told.names for who in roster.by_name(name) or roster.by_id(name)}
        if known:
            both = known if known & named or not named else known | named
            return Owner(tuple(sorted(both)), SAID if len(both) == 1 else BY_KEY, author.key)
        for word in told.words:
            if by_id := roster.by_id(word):
                return Owner(tuple(by_id), BY_ID, word)
            if by_name := roster.by_name(word):
                return Owner(tuple(by_name), BY_NAME, plain(word))
        people = tuple(sorted(who for who in named if not self._contradicts(told, who)))
        return Owner(people, BY_NAME, plain(" ".join(told.names)))

    def _contradicts(self, told: Author, who: str) -> bool:
        """Whether the roster has another number for a person than the platform tells: then a name isn't theirs."""
        person = self._roster.people[who]
        return any(getattr(person, column) not in ("", value) for column, value in told.numbers)

    def _settled(
        self,
        author: Author,
        owner: Owner,
        of_person: Mapping[tuple[str, str], Mapping[str, tuple[int, str]]],
        of_key: Mapping[tuple[str, str], set[str]],
    ) -> Owner:
        """What is decided of a hand-in, seen beside the others. `of_person` has by platform and id the keys that seem
        to be one person's, with how surely, and the label; `of_key` the ids that seem to have one key."""
        key, may_be = author.key or owner.word, owner.may_be
        why, blocks = "", may_be
        if not may_be:
            why = self._why_nobody(author)
        elif len(may_be) > 1:
            why = f"it may belong to {' or '.join(may_be)}, since {_why_several(owner)}"
        elif owner.sure == BY_NAME and len(of_key[author.platform, key]) > 1:
            may_be = blocks = tuple(sorted(of_key[author.platform, key]))
            why = f"it may belong to {' or '.join(may_be)}, since the number {key} has more than one name"
        elif owner.sure == BY_NAME:
            others = {other: sure for other, sure in of_person[author.platform, may_be[0]].items() if other != key}
            if others:
                _sure, label = max(others.values())
                why = f"it may belong to {may_be[0]}, but {label} has that name too"
                blocks = () if max(others.values())[0] > BY_NAME else may_be
        if why and may_be:
            why = f"{why}. {self._ways_out(author, may_be)}"
        if why and blocks:
            self._works[author.label] = {who: self._roster.people[who].full_name for who in blocks}
        else:
            self._works.pop(author.label, None)
        return replace(owner, may_be=may_be, why=why)

    def _why_nobody(self, author: Author) -> str:
        if author.hidden:
            title = by_key(author.platform).title
            return (
                f"{title} hides who {author.label!r} is. Give its list of the assignment (in Moodle the grading "
                f"worksheet) with --worksheet FILE, or say whose it is, with --is {shlex.quote(f'{author.label}=ID')}"
            )
        told = self._listed.get(author.platform, {}).get(author.key, author)
        if told.numbers and any(map(self._roster.find, told.names)):
            column, value = told.numbers[0]
            return f"{told.names[0]!r} is on the roster, but not with the {column} {value!r}"
        said = [*(value for _column, value in told.numbers), *told.ids, *told.words[:2]][:2]
        called = " or ".join(repr(word) for word in (*said, *told.names) if word)
        return f"{called or 'the name of its folder'} is not on the roster"

    def _ways_out(self, author: Author, may_be: Sequence[str]) -> str:
        """What a teacher can do: who was settled in another lesson comes first."""
        before = {who: list(self._elsewhere(author, who)) for who in may_be}
        options = [
            f"--is {shlex.quote(f'{author.label}={who}')}" + (f" ({', '.join(before[who])})" if before[who] else "")
            for who in sorted(may_be, key=lambda who: not before[who])
        ]
        return f"Say whose it is, with {' or '.join(options)}"

    def _elsewhere(self, author: Author, who: str) -> Iterator[str]:
        """Where a teacher has settled that work by this name is the student's, in words, in other lessons: there a
        platform's number may be another one."""
        name = author.label.removesuffix(f"_{author.key}")
        for path in sorted((self._course.root / FOLDER / CAME_FROM).glob(f"*/{escape(who)}")) if author.key else ():
            lesson = path.parent.name
            for given in names_of(self._course.root, lesson, who) if lesson != self._course.lesson else ():
                label, key = by_key(author.platform).key_of(given)
                if key and plain(label.removesuffix(f"_{key}")) == plain(name):
                    yield f"{label!r} in {lesson}"

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
        """Note the work that is still to be settled; returns the ids of all who may have handed it in."""
        save_to_settle(self._course.root, self._course.lesson, self._works)
        return {who for people in self._works.values() for who in people}


def _why_several(owner: Owner) -> str:
    if owner.sure == BY_NAME:
        return "the roster has that name more than once"
    return "its number there, or what else the platform says of it, is another one's than its name"


def _names_in(course: ClassDirectory, lesson: str) -> Iterator[tuple[str, str]]:
    """The ids of students, and the names under which their work of a lesson came."""
    for path in sorted((course.root / FOLDER / CAME_FROM / lesson).glob("*")):
        for name in names_of(course.root, lesson, path.name):
            yield path.name, name


def claim(path: PurePosixPath, student: str, roster: Roster) -> str:
    """What in a path below the platform's name looks as if it said whose the work is, if not the student's, or when it
    came; "" if nothing does."""
    for part in path.parts[1:]:
        names = [part, PurePosixPath(part).stem, *(rest for _assignment, rest in splits(part))]
        matches = [
            match for platform in platforms() if platform.pattern and (match := platform.pattern.fullmatch(part))
        ]
        names += [match["name"] for match in matches if "name" in match.re.groupindex]
        others = any(set(roster.find(name)) - {student} for name in names)
        dated = any("time" in match.re.groupindex for match in matches)
        if others or dated or part in {platform.listing for platform in platforms() if platform.listing}:
            return part
    return ""


def by_student(claims: Mapping[str, list[str]]) -> Odd:
    """A sentence for each student in whose work something looks like a claim; `claims` has these parts of paths by
    student."""
    said = "doesn't count, since it is inside this student's own work"
    return {
        student: f"{found[0]!r}{f' (and {len(found) - 1} more)' if found[1:] else ''} in the path of a file {said}"
        for student, found in claims.items()
    }
