"""What a platform tells: of a list of people, of hand-ins, of the files in which marks and feedback go back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar

Row = Sequence[str]
# Browsers that know no notebooks save one as "w.ipynb.json" or "w.ipynb.txt".
NOTEBOOK = re.compile(r"\.ipynb(?: \(\d+\))?(?:\.(?:json|txt))?$", re.IGNORECASE)
Odd = dict[str, str]  # the name of a file, and what is odd about it


@dataclass(frozen=True)
class Author:
    """Who handed a piece of work in, as far as a platform says. Nothing in it is of the work itself."""

    platform: str = ""  # its key
    given: str = ""  # the name that the platform gave to the work: feedback goes back under it
    label: str = ""  # what a teacher calls the work when they say whose it is (`--is`)
    key: str = ""  # what the platform tells its people apart by: two keys are two people; "" where it has none
    numbers: tuple[tuple[str, str], ...] = ()  # columns of the roster, and what the platform has there for the person
    ids: tuple[str, ...] = ()  # ids, logins, addresses
    words: tuple[str, ...] = ()  # an id or a name, as far as known: the first that the roster knows counts
    names: tuple[str, ...] = ()  # what the person is called there, which they may have chosen
    group: str = ""  # with whom the work was made; "" if alone
    time: datetime | None = None  # when it was handed in (UTC), where the platform lists that
    late: bool = False  # whether the platform says so
    hidden: bool = False  # whether the platform hides who it is


HERE, NOBODY = PurePosixPath(), Author()


@dataclass(frozen=True)
class Found:
    """A file that somebody handed in. One within a zip that a student made has that zip's path and time, since whatever
    it says the student wrote, and lies `inside` it."""

    source: str  # the name of the zip or folder that a teacher gave
    path: PurePosixPath  # where it lies there
    time: datetime  # UTC
    size: int  # bytes, as its zip or folder says
    read: Callable[[], bytes] = field(compare=False)  # `Unreadable` or `OSError` if it can't be read
    inside: PurePosixPath = HERE  # where it lies in a student's own zip
    author: Author = NOBODY
    is_platforms: bool = False  # whether the time is the platform's; else it is that of a file, which may be a copy
    data: bytes = field(default=b"", repr=False)  # its bytes, once they are read
    in_place: bool = False  # whether it lies in the course already, and not in what was given

    @property
    def whole_path(self) -> PurePosixPath:
        """Where it lies, in a student's zip too."""
        return self.path / self.inside

    @property
    def name(self) -> str:
        """Its source and its whole path, as a list shows it."""
        return f"{self.source}: {self.whole_path}"


@dataclass(frozen=True)
class Source:
    """A zip or folder as its platform made it: in it each hand-in has one name, below which its files lie."""

    name: str
    is_folder: bool  # whether it lies unpacked on this machine
    tops: Mapping[str, bool]  # the names of hand-ins, and whether each is a folder
    knows: Callable[[str], bool]  # whether the roster has somebody of this id or name
    lists: Mapping[str, Sequence[Found]]  # files of the platform's own beside the hand-ins, by name
    odd: Odd  # gets what of these can't be read


@dataclass(frozen=True)
class MarksFile:
    """A file that a platform takes marks from."""

    rows: Sequence[Sequence[object]]
    key: str = ""  # the heading by which it knows people; "" if it has one only
    left_out: tuple[str, ...] = ()  # people who aren't in it: the platform's names or our ids


@dataclass(frozen=True)
class ClassMarks:
    """A class's marks as platforms take them, in points; a mark that isn't there (None) stays blank."""

    people: Mapping[str, Mapping[str, str]]  # what the roster has on each student: column and text, by id
    points: Mapping[str, Mapping[str, float | None]]  # by id and lesson
    possible: Mapping[str, float]  # by lesson


class Platform:
    """A platform; what it lacks is as it stands here. Each file of this folder has one, as `PLATFORM`."""

    key: ClassVar[str]
    title: ClassVar[str]
    rank: ClassVar[int] = 50  # of several that know a name or a list the first counts

    # --- lists of people ----------------------------------------------------------------------------------------------

    headings: ClassVar[Mapping[str, str]] = {}  # in small letters: the column of the roster that is read from each
    ids: ClassVar[tuple[str, ...]] = ()  # the headings of what may be the id, the best first
    is_headed: ClassVar[frozenset[str]] = frozenset()  # headings that together show that a list is this platform's
    list_has: ClassVar[str] = ""  # the headings that a list needs, as a teacher reads them

    def is_nobody(self, person: Mapping[str, str]) -> bool:
        """Whether a row of its list (text by column of the roster) is nobody's."""
        return False

    def is_test(self, person: Mapping[str, str]) -> bool:
        """Whether a row is of somebody whom the platform made for a teacher to try things with."""
        return False

    # --- hand-ins -----------------------------------------------------------------------------------------------------

    pattern: ClassVar[re.Pattern[str] | None] = None  # of its names of hand-ins; the group `name` is the person
    listing: ClassVar[str] = ""  # the file of its own in which it says whose the hand-ins are
    has_times: ClassVar[bool] = False  # whether the times in its zip are when work was handed in

    def authors(self, source: Source) -> Mapping[str, Author]:
        """The authors of those hand-ins of a source whose names are this platform's, by name."""
        return {}

    def key_of(self, given: str) -> tuple[str, str]:
        """The label and the key of the person in a name that the platform once gave to work, as `authors` gives them;
        twice "" where it has no such keys."""
        return "", ""

    def own_name(self, given: str) -> str:
        """The name that a student gave to a file, in the one that the platform made of it where it has no folders."""
        match = self.pattern.fullmatch(given) if self.pattern else None
        return (match.groupdict().get("file") if match else "") or given

    def worksheet(self, rows: Sequence[Row]) -> Mapping[str, Author]:
        """Who is who in a list of the platform's about one assignment, by `Author.key`; empty if it is no such list."""
        return {}

    # --- what goes back -----------------------------------------------------------------------------------------------

    takes_marks: ClassVar[bool] = False
    wants_export: ClassVar[bool] = False  # whether its file of marks is made from one that was exported there
    takes_feedback: ClassVar[str] = ""  # "page" or "notebook"

    def marks(self, marks: ClassMarks, exported: Sequence[Row], where: str) -> MarksFile:
        """A file for its import of marks. `exported` are the rows of the file `where` that it exported, if it wants
        one; `CourseError` if that is another file."""
        raise NotImplementedError

    def feedback_name(self, given: str, lesson: str) -> str:
        """The name of a student's feedback in the zip that it takes back, by the name that it gave to their work; "" if
        that is no name of this platform's."""
        return ""

    gives_result: ClassVar[bool] = False

    def result(self, about: Mapping[str, Any], visibility: str) -> dict[str, Any]:
        """What it reads of one submission: from `SingleResult.as_json`, and its own word for who sees it and when."""
        raise NotImplementedError

    # --- for the table in docs/platforms.md ---------------------------------------------------------------------------

    names_in_words: ClassVar[str] = ""  # how hand-ins are named
    students_write: ClassVar[str] = ""  # what of that a student can choose
    times_in_words: ClassVar[str] = ""
    marks_in_words: ClassVar[str] = "–"
    feedback_in_words: ClassVar[str] = "–"


def is_notebook(name: str) -> bool:
    """Whether a file has the name of a notebook.

    >>> [is_notebook(name) for name in ("w.ipynb", "w.IPYNB.txt", "w.json")]
    [True, True, False]
    """
    return NOTEBOOK.search(name) is not None


def without_ending(name: str) -> str:
    """The name of a file without its ending.

    >>> without_ending("ann.ipynb.json"), without_ending("ann.zip")
    ('ann', 'ann')
    """
    shorter = NOTEBOOK.sub("", name)
    return shorter if shorter != name else PurePosixPath(name).stem


def splits(name: str) -> list[tuple[str, str]]:
    """A name in two parts, once for each of its hyphens.

    >>> splits("01-ann-lee")
    [('01', 'ann-lee'), ('01-ann', 'lee')]
    """
    parts = name.split("-")
    return [("-".join(parts[:i]), "-".join(parts[i:])) for i in range(1, len(parts)) if parts[0]]


def number(points: float | None) -> str:
    """Points as platforms read them; "" for a mark that isn't there."""
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")
