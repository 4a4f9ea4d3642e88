"""Whose a file is that a learning platform gave: by the name that the platform gave it, by nothing below that name.

What a student can write decides nothing: names of files and folders inside their work, lists of hand-ins there, dates
in such names. docs/grading.md has the table of what is trusted for each platform.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import yaml
from nbgrader.utils import parse_utc

from grader.course.roster import Roster
from grader.errors import Unreadable
from grader.handed_in.archive import Archive, Odd

MOODLE = re.compile(r"(?P<folder>(?P<name>.+?)_\d+_assignsubmission_(?:file|onlinetext)_?).*", re.DOTALL)
CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>(?i:LATE)_)?(?P<user>\d+)_(?P<number>\d+)_.+", re.DOTALL)
EXCHANGE = re.compile(r"(?P<student>[^+]+)\+(?P<lesson>[^+]+)\+(?P<time>[^+]+ UTC)(?:\+.*)?")
GRADESCOPE, METADATA = re.compile(r"submission_\d+"), "submission_metadata.yml"
_TOLD = (":sid", ":email", ":name")
MAX_METADATA = 4 << 20  # bytes; a class of 300 without results has 30,000, and a megabyte takes ten seconds to read


@dataclass(frozen=True)
class Author:
    """By what the author of a file may be known, the best first; when the platform says that it was handed in (UTC),
    and whether it says that this was late.

    `name` is what they call themselves there. It stands for nobody of whom the roster knows a `sure` thing (a field of
    `Person`) that the platform tells too: that is another one's."""

    keys: tuple[str, ...] = ()
    time: datetime | None = None
    late: bool = False
    name: str = ""
    sure: str = ""

    def ids(self, roster: Roster) -> list[str]:
        """The ids of those who may be meant: one if it is known who."""
        named = roster.find(self.name)
        return roster.find(*self.keys) or [
            who for who in named if not (self.sure and getattr(roster.people[who], self.sure))
        ]

    def why_not(self, roster: Roster) -> str:
        """Why it isn't known whose a file is, in words."""
        if several := self.ids(roster):
            return f"it may belong to {' or '.join(several)}, since the roster has that name more than once"
        if roster.find(self.name):
            return f"{self.name!r} is on the roster, but not with the {self.sure} {self.keys[0]!r}"
        called = " or ".join(repr(key) for key in (*self.keys[:2], self.name) if key)
        return f"{called or 'the name of its folder'} is not on the roster"


def label(top: str) -> str:
    """The words by which a teacher says whose a hand-in is: the name that the platform gave; in Moodle the person's
    name and the number there."""
    match = MOODLE.fullmatch(top)
    return match["folder"].rpartition("_assignsubmission_")[0] if match else top


def is_somebodys(name: str, roster: Roster) -> bool:
    """Whether a folder has a name that platforms give to one student's work."""
    patterns = (MOODLE, EXCHANGE, GRADESCOPE)
    known = (name, *(rest for _assignment, rest in _splits(name)))
    return any(pattern.fullmatch(name) for pattern in patterns) or any(map(roster.find, known))


class Whose:
    """Tells who handed in what of one source. What can't be read of a platform's list is noted in `odd`."""

    def __init__(self, source: Archive, roster: Roster, odd: Odd) -> None:
        self._roster, self._odd, self._source = roster, odd, source
        paths = [source.below(entry.path) for entry in source.entries]
        folders = {path.parts[0] for path in paths if len(path.parts) > 1}
        self._assignment = _assignment(folders, roster)
        self._submitters = dict(self._listed())

    def author(self, path: PurePosixPath) -> Author:
        """The author of a file; `path` begins with the name that the platform gave to somebody's work. An `Author`
        without keys if nothing tells."""
        top, in_folder = path.parts[0], len(path.parts) > 1
        if in_folder and GRADESCOPE.fullmatch(top):
            return self._submitters.get(top, Author())
        if in_folder and (match := EXCHANGE.fullmatch(top)):
            try:
                return Author((match["student"],), parse_utc(match["time"]))
            except Exception:  # anybody may make such a folder, and dateutil raises what it likes
                return Author()
        if match := MOODLE.fullmatch(top):
            return Author((match["name"],))
        if in_folder:  # GitHub's "01_self_attention-ann", or anybody's "ann"
            return Author((top, *(rest for assignment, rest in _splits(top) if assignment == self._assignment)))
        if match := CANVAS.fullmatch(top):
            return Author((match["user"],), late=bool(match["late"]), name=match["name"], sure="canvas_id")
        stem = path.stem  # how the file's name begins
        return Author(tuple(stem[:i] for i in range(len(stem), 0, -1) if i == len(stem) or stem[i] in "_- "))

    def claim(self, path: PurePosixPath, student: str) -> str:
        """What in a path below the platform's name looks as if it said whose the work is, if not the student's, or when
        it came; "" if nothing does."""
        for part in path.parts[1:]:
            names = [part, PurePosixPath(part).stem, *(rest for a, rest in _splits(part) if a == self._assignment)]
            names += [match["name"] for match in (MOODLE.fullmatch(part), CANVAS.fullmatch(part)) if match]
            others = any(set(self._roster.find(name)) - {student} for name in names)
            if others or part == METADATA or EXCHANGE.fullmatch(part):
                return part
        return ""

    def _listed(self) -> Iterator[tuple[str, Author]]:
        """The folders of Gradescope's list, and who handed in what is in each; none if there is no list, or it can't be
        read."""
        source = self._source
        lists = [entry for entry in source.entries if source.below(entry.path) == PurePosixPath(METADATA)]
        if not lists:
            return
        where = f"{source.name}: {lists[0].path}"
        if len(lists) > 1:
            self._odd[where] = "this file occurs more than once, so no folder's owner is known"
            return
        try:
            if lists[0].size > MAX_METADATA:
                raise Unreadable(f"it has {lists[0].size} bytes; at most {MAX_METADATA} are read")
            document = yaml.load(lists[0].read(), Loader=_PlainLoader)
            for folder, about in dict(document).items():
                with contextlib.suppress(Exception):  # whoever's it is, is not known
                    yield str(folder), _submitter(about)
        except Unreadable as error:
            self._odd[where] = str(error)
        except Exception as error:  # a file of somebody else's, of whatever form
            self._odd[where] = f"it can't be read as Gradescope's list: {type(error).__name__}"


class _PlainLoader(yaml.SafeLoader):
    """Loads YAML in which no key stands for what another one holds: merged keys could unfold to any size."""

    def flatten_mapping(self, node: Any) -> None:
        """Leave YAML's merge keys (`<<`) as they are."""


def _submitter(about: Any) -> Author:
    people = [person for person in about[":submitters"] if isinstance(person, dict)]
    ids, addresses, names = ([str(person[key]) for person in people if _is_plain(person.get(key))] for key in _TOLD)
    time = about.get(":created_at")
    when = time.astimezone(UTC).replace(tzinfo=None) if isinstance(time, datetime) else None
    return Author((*ids, *addresses), when, name=(names or [""])[0], sure="email" if addresses else "")


def _is_plain(value: Any) -> bool:
    """Whether a value is a text or a number that says something. Nested aliases have a text of any length."""
    return bool(value) and isinstance(value, str | int)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """A name in two parts, once for each of its hyphens."""
    parts = name.split("-")
    return (("-".join(parts[:i]), "-".join(parts[i:])) for i in range(1, len(parts)) if parts[0])


def _assignment(folders: set[str], roster: Roster) -> str:
    """What stands before the hyphen and the students' names in GitHub Classroom's folders, where it is the same in all
    of them; "" if they have no such names. Without it, whoever calls themselves "x-ann" on GitHub would be taken for
    ann."""
    counts = Counter(
        assignment
        for name in folders
        if not roster.find(name)
        for assignment, rest in _splits(name)
        if roster.find(rest)
    )
    return max(counts, key=lambda name: (counts[name], -len(name)), default="")


def by_student(claims: Mapping[str, list[str]]) -> Odd:
    """A sentence for each student in whose work something looks like a claim; `claims` has these parts of paths by
    student."""
    said = "doesn't count, since it is inside this student's own work"
    return {
        student: f"{found[0]!r}{f' (and {len(found) - 1} more)' if found[1:] else ''} in the path of a file {said}"
        for student, found in claims.items()
    }
