"""Who is in the course: `roster.csv` in the course directory, made from the lists that learning platforms export.

nbgrader's table of students has the same people. The roster knows in addition by which names and numbers a platform
calls them: collecting and exporting go by these.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import Gradebook

from grader import languages
from grader.atomic import write_atomically
from grader.course.class_directory import can_be_a_student
from grader.course.folder import mode_in
from grader.course.last_reading import IN_THE_TABLE, note_reading
from grader.course.tables import CONTROL, FORMULA, as_csv, rows_and_page, without_mark
from grader.errors import CourseError
from grader.nbgrader_settings import programs_on_path
from grader.platforms.moodle_languages import in_english, in_words_of
from grader.platforms.platform import Platform
from grader.platforms.registry import known_headings, of_list, platforms
from grader.printable import printable

FILE = "roster.csv"
# What no file's name may hold: a student's id is the name of a folder.
NOT_IN_AN_ID = re.compile(r"[/\\\0]|^\.|^-")


@dataclass(frozen=True)
class Person:
    """One student. What a list didn't tell is ""."""

    id: str  # in nbgrader and in `submitted/`
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    name: str = ""  # the whole name as a platform writes it
    moodle: str = ""  # the ID number there
    canvas_id: str = ""  # as are the `sis_` fields, Canvas's
    sis_user_id: str = ""
    sis_login_id: str = ""
    section: str = ""
    language: str = ""  # of their feedback, by its code; "": the one in which they hand in
    added: str = ""  # the day, YYYY-MM-DD, on which a list first had them
    withdrawn: str = ""  # the day, YYYY-MM-DD, on which they left the course

    @property
    def full_name(self) -> str:
        """The whole name as a platform writes it, or else the first name and the last name."""
        return self.name or f"{self.first_name} {self.last_name}".strip()


def full_names(people: Mapping[str, Person]) -> dict[str, str]:
    """The full names of these people, by id."""
    return {who: person.full_name for who, person in people.items()}


def did_you_mean(wanted: str, names: Mapping[str, str]) -> str:
    """A question, with a space before it, whether the person is meant whose id or name is nearest to `wanted`; "" if
    none is near. `names` are by id."""
    by_name = {name.lower(): person for person, name in names.items()}
    near = difflib.get_close_matches(wanted, names, n=1)
    near += [by_name[name] for name in difflib.get_close_matches(wanted.lower(), by_name, n=1)]
    if not near:
        return ""
    return f" Did you mean {printable(near[0] + (f' ({names[near[0]]})' if names[near[0]] else ''))}?"


COLUMNS = tuple(field.name for field in fields(Person))
SHORT = {"first": "first_name", "last": "last_name"}  # as people write them in --column


@dataclass(frozen=True)
class PeopleList:
    """The people of a list that a platform exported, and where in the file each of them is."""

    path: Path
    people: tuple[Person, ...]
    lines: tuple[int, ...]  # of each person, counted from 1
    headings: Mapping[str, str]  # by field of `Person`, as the file has them
    misshapen: tuple[tuple[int, str], ...] = ()  # lines with more cells than headings, in words
    test_students: tuple[str, ...] = ()  # the names of those that Canvas makes itself, who are left out
    problems: tuple[str, ...] = ()  # why nothing may be read from it, in words
    guessed: str = ""  # its code page, where only its bytes tell that

    def require_whole(self) -> None:
        """Raise `CourseError` with all that is wrong with the list; nobody in it is wrong too."""
        if self.problems:
            listed = "\n".join(f"  {printable(problem)}" for problem in self.problems)
            raise CourseError(f"{self.path}: nothing was read from it:\n{listed}")
        if not self.people:
            raise CourseError(f"{self.path}: there is nobody in it.")


def read_list(path: Path, columns: Mapping[str, str] | None = None) -> list[Person]:
    """The people of a list, as `list_in` reads it. `CourseError` also for a line that can't be read, an id that is
    there twice, or a list of nobody."""
    listed = list_in(path, columns)
    listed.require_whole()
    return [*listed.people]


def list_in(path: Path, columns: Mapping[str, str] | None = None, encoding: str = "") -> PeopleList:
    """A list that a platform exports: nbgrader's, Moodle's or Canvas's, told by their headings. `CourseError` for a
    file that is no such list; what else is wrong is among its `problems`.

    `columns` says where a heading differs: what is read (a field of `Person`), and the heading that it has. `encoding`
    is the file's code page, "" to tell it by its bytes.
    """
    rows, guessed = rows_and_page(path, encoding)
    given = [head.strip().casefold() for head in rows[0]] if rows else []
    heads = in_english(given)
    platform = of_list(heads)
    wanted = {SHORT.get(kind, kind): in_words_of(head, given, heads) for kind, head in (columns or {}).items()}
    _require_headings(path, heads, platform, wanted, given)
    headings_of = {**known_headings(), **{name: name for name in COLUMNS}, **platform.headings}
    columns_at = {headings_of[head]: heads.index(head) for head in reversed(heads) if head in headings_of}
    key = next((heads.index(head) for head in platform.ids if head in heads), -1)
    columns_at |= {"id": key} | {kind: heads.index(heading) for kind, heading in wanted.items()}
    people, numbers, problems, misshapen, tests = [], [], [], [], []
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for number, row in enumerate(rows[1:], 2):
        if any(cell.strip() for at, cell in enumerate(row) if at >= len(given) or not given[at]):
            misshapen.append((number, f"has a cell without a heading, of {len(row)}: are its cells in their columns?"))
        row_fields = {kind: without_mark(row[at].strip()) if at < len(row) else "" for kind, at in columns_at.items()}
        if not any(map(str.strip, row)) or platform.is_nobody(row_fields):
            tests += [row_fields["name"]] if platform.is_test(row_fields) else []
            continue
        person = _person(row_fields)
        if problem := _problem(person):
            problems.append(f"line {number}: {problem}")
        people.append(person)
        numbers.append(number)
        lines[person.id].append(str(number))
    problems += _twice(lines)
    headings = {kind: rows[0][at].strip() for kind, at in columns_at.items() if at >= 0}
    lists = (tuple(misshapen), tuple(tests), tuple(problems))
    return PeopleList(path, tuple(people), tuple(numbers), headings, *lists, guessed)


def _require_headings(
    path: Path, heads: Sequence[str], platform: Platform, wanted: Mapping[str, str], given: Sequence[str]
) -> None:
    """Raise `CourseError` if a list lacks a heading that is needed. `heads` are its headings in English, `given` as the
    file has them; `wanted` has by field of `Person` the heading that somebody named."""
    unknown = [kind for kind in wanted if kind not in COLUMNS]
    if unknown:
        raise CourseError(
            f"--column {unknown[0]}=…: there is no column {unknown[0]!r}; the columns are {', '.join(COLUMNS)}."
        )
    missing = [heading for heading in wanted.values() if heading not in heads]
    if missing or ("id" not in wanted and not any(head in heads for head in platform.ids)):
        expected = f"a heading {missing[0]!r}" if missing else "a column that identifies people"
        lists = "; ".join(f"{each.title}: {each.list_has}" for each in platforms() if each.list_has)
        raise CourseError(
            f"{path}: expected {expected}, got the headings {', '.join(given) or '(none)'}. The lists that are known "
            f"have these headings ({lists}). For other headings: --column id=HEADING --column first_name=HEADING "
            "--column last_name=HEADING --column email=HEADING"
        )


def _person(details: dict[str, str]) -> Person:
    """The person of one row, whose values are by field; a name that Canvas writes "Last, First" is divided."""
    last, comma, first = details.get("name", "").partition(",")
    if comma:
        known = {kind: value for kind, value in details.items() if value or kind == "id"}
        details = {"first_name": first.strip(), "last_name": last.strip(), **known}
    return Person(**details)


def _problem(person: Person) -> str:
    if not person.id:
        return f"no id for {person.full_name or person.email or 'somebody'}"
    if not can_be_a_student(person.id) or NOT_IN_AN_ID.search(person.id):
        return (
            f"{person.id!r} can't be an id. It names a folder, so it can't have '/' or '\\', or start with '.' or '-'"
        )
    if person.id.startswith(FORMULA):
        return (
            f"{person.id!r} can't be an id, because a spreadsheet takes what begins with {person.id[0]!r} for a formula"
        )
    if person.language and not languages.known(person.language):
        return f"language is {person.language!r}, expected one of {', '.join(languages.languages())}, or nothing"
    for heading, text in vars(person).items():
        if any(unicodedata.category(sign) in CONTROL for sign in text):
            return f"{heading} is {text!r}: it has a control character, such as a line break. Remove it"
    return ""


def _twice(lines: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Of the ids that are in more than one line, in words; `lines` has line numbers by id."""
    for who, own in lines.items():
        if who and len(own) > 1:
            yield f"lines {' and '.join(own)}: {who!r} is listed twice, but each id may be listed only once"


class Roster:
    """The people of a course by id, from its `roster.csv`."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = {person.id: person for person in people}
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        self._nearly: defaultdict[str, set[str]] = defaultdict(set)
        for person in self.people.values():
            for name in _names_of(person):
                self._names[name].add(person.id)
            for key in _own_keys(person):
                self._keys[key.casefold()].add(person.id)
                self._nearly[plain(key)].add(person.id)
        for known in (self._names, self._keys, self._nearly):
            known.pop("", None)

    @classmethod
    def of(cls, course: Path) -> Roster:
        """The roster of a course; empty if it has none yet. `CourseError` if its file can't be read."""
        path = course / FILE
        return cls(read_list(path) if path.is_file() else ())

    def by_number(self, column: str, number: str) -> list[str]:
        """The ids of those who have this number, or address, in this column of the roster: exactly so, but for
        capitals."""
        wanted = number.casefold()
        return sorted(
            who for who, person in self.people.items() if wanted and getattr(person, column).casefold() == wanted
        )

    def by_id(self, key: str) -> list[str]:
        """The ids of those who have this id, or else this login, address or number of the university, but for capitals.
        Numbers that a platform gives for itself are none of these."""
        return [key] if key in self.people else sorted(self._keys.get(key.casefold(), ()))

    def by_name(self, name: str) -> list[str]:
        """The ids of those who are called this, or else whose id, login or address is nearly this."""
        return sorted(self._names.get(plain(name)) or self._nearly.get(plain(name)) or ())

    def find(self, *words: str) -> list[str]:
        """The ids of those to whom the first known word belongs, which is an id or a name. More than one if it can't be
        told whom; none if no word is known."""
        return next(filter(None, (self.by_id(word) or self.by_name(word) for word in words)), [])

    def __len__(self) -> int:
        return len(self.people)

    def language_of(self, student: str) -> str:
        """The language that the roster names for somebody; "" if none."""
        person = self.people.get(student)
        return languages.known(person.language) if person else ""

    @property
    def withdrawn(self) -> set[str]:
        """The ids of those who have left the course."""
        return {who for who, person in self.people.items() if person.withdrawn}


def _own_keys(person: Person) -> tuple[str, ...]:
    """What of somebody is the same on all platforms: ids and numbers of the university, logins, addresses."""
    return (person.id, person.moodle, person.sis_user_id, person.sis_login_id, person.email)


def _names_of(person: Person) -> set[str]:
    """The names by which somebody may be called, in the form of `plain`."""
    first, last = person.first_name, person.last_name
    return {plain(name) for name in (person.name, f"{first} {last}", f"{last} {first}")}


def plain(text: str) -> str:
    """A name or key without what platforms change in it: capitals, accents, spaces, signs.

    >>> plain("Müller, Jörg-Peter") == plain("mullerjorgpeter")
    True
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(c for c in letters if c.isalnum())
    return unicodedata.normalize("NFC", kept)


@dataclass(frozen=True)
class Change:
    """What a list changed in the roster; people are told by their ids."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    not_listed: tuple[str, ...]  # who is in the course and not in the list
    count: int  # how many are in the roster now
    # By the list's id the one that this person has on the roster already.
    known_as: Mapping[str, str] = field(default_factory=dict)
    twice: tuple[tuple[str, ...], ...] = ()  # the ids of each person who is on the roster more than once


def update(course: Path, db_url: str, course_id: str, people: Sequence[Person]) -> Change:
    """Enter people into `roster.csv` and into nbgrader's table of students. Nobody is removed, and what a list doesn't
    tell of somebody is kept. Whoever is there already, by a number, login or address, stays one person with one id.
    `CourseError`, and nothing is entered, if two of the list would be one person."""
    old = Roster.of(course).people
    new = dict(old)
    same, twice = same_people(old, people)
    known_as = {person.id: same[person.id] for person in people if same.get(person.id, person.id) != person.id}
    people = [replace(person, id=known_as.get(person.id, person.id)) for person in people]
    _require_one_each(people, known_as)
    for person in people:
        details = {name: value for name, value in vars(person).items() if value and name != "added"}
        new[person.id] = replace(old.get(person.id, replace(person, added=f"{datetime.now(UTC):%Y-%m-%d}")), **details)
    programs_on_path()
    with Gradebook(db_url, course_id) as book:
        if changed := [new[person.id] for person in people if new[person.id] != old.get(person.id)]:
            note_reading(course, book, {who: vars(person) for who, person in old.items()}, map(vars, changed))
        for person in people:
            entry = new[person.id]
            kept = {name: getattr(entry, name) for name in IN_THE_TABLE}
            book.update_or_create_student(entry.id, **{name: value for name, value in kept.items() if value})
    save(course, new.values())
    listed = {person.id for person in people}
    return Change(
        tuple(sorted(listed - set(old))),
        tuple(sorted(who for who in listed & set(old) if new[who] != old[who])),
        tuple(sorted(who for who, person in old.items() if who not in listed and not person.withdrawn)),
        len(new),
        known_as,
        twice,
    )


def _keys(person: Person) -> set[str]:
    """What tells that two entries are one person: numbers of the university, logins, addresses. Canvas's own number
    isn't one of these, since it may be somebody else's elsewhere."""
    return {key.casefold() for key in _own_keys(person) if key and key != person.canvas_id}


def same_people(
    old: Mapping[str, Person], people: Sequence[Person]
) -> tuple[dict[str, str], tuple[tuple[str, ...], ...]]:
    """By the id that a list gives, the one that the roster (`old`) has for this person; and the ids of each person whom
    it has several times."""
    by_key: defaultdict[str, set[str]] = defaultdict(set)
    for person in old.values():
        for key in _keys(person):
            by_key[key].add(person.id)
    same, twice = {}, set()
    for person in people:
        known = set().union(*(by_key[key] for key in _keys(person)), {person.id} & old.keys())
        if len(known) > 1:
            twice.add(tuple(sorted(known)))
        elif known:
            (same[person.id],) = known
    return same, tuple(sorted(twice))


def _require_one_each(people: Sequence[Person], known_as: Mapping[str, str]) -> None:
    counts = Counter(person.id for person in people)
    for who, count in ((who, count) for who, count in counts.items() if count > 1):
        ids = {given for given, known in known_as.items() if known == who}
        listed = " and ".join(sorted(ids if len(ids) == count else {*ids, who}))
        raise CourseError(
            f"Nothing was entered, because {listed} in the list have a number, login or address of {who} on the "
            "roster, and would become one person."
        )


def save(course: Path, people: Collection[Person]) -> None:
    """Write `roster.csv` with these people in it; without any, the file is removed."""
    if people:
        rows = [
            COLUMNS,
            *(astuple(person) for person in sorted(people, key=lambda person: person.id)),
        ]
        write_atomically(course / FILE, as_csv(rows), mode_in(course))
    else:
        (course / FILE).unlink(missing_ok=True)
