"""Moodle (mod/assign, `download_submissions`): zips of an assignment, its grading worksheet, grades, feedback files.

A hand-in is called "[GROUP-]Full Name_NUMBER_assignsubmission_file_". The number is the participant's in this
assignment; a name has no underscore, since Moodle writes a blank for one. Where students hand in as groups, every
member has the group's files under their own name; where names are hidden, the name is "Participant".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from grader.platforms.moodle_languages import in_english
from grader.platforms.platform import Author, ClassMarks, MarksFile, Platform, Row, Source, number, splits

NAME = re.compile(
    r"(?P<folder>(?P<name>[^_]+)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?)(?P<file>.*)", re.DOTALL
)
# Moodle's words for whoever is hidden; a class of people of one name that nobody has is known without them.
HIDDEN = ("participant", "participante", "partecipante", "teilnehmer/in", "teilnehmer", "deelnemer", "deltagare")
IDENTIFIER = re.compile(r"\D*\b(\d+)")  # "Participant 601"
# What Moodle can tell people by, the best first, and the heading of each.
KEYS = {"moodle": "ID number", "email": "Email address", "id": "Username"}


class Moodle(Platform):
    """Moodle."""

    key, title, rank = "moodle", "Moodle", 20
    headings: ClassVar[Mapping[str, str]] = {
        "first name": "first_name",
        "last name": "last_name",
        "surname": "last_name",
        "email address": "email",
        "id number": "moodle",
    }
    ids = ("username", "id number", "email address")
    list_has = "`Username`, `ID number` or `Email address`"
    pattern, has_times = NAME, True
    takes_marks, takes_feedback = True, "page"
    names_in_words = (
        "`Full Name_12345_assignsubmission_file_/…`, before it the group and a hyphen; `Participant_12345_…`"
    )
    students_write = "the name, where they may edit it; everything below that folder; not the number"
    times_in_words = "the zip's; newer versions of Moodle write the time of the download there"
    marks_in_words = "CSV with `ID number`, `Email address` or `Username`, whichever most people have"
    feedback_in_words = "a page for each hand-in, under the same name (*Upload multiple feedback files in a zip*)"

    def authors(self, source: Source) -> dict[str, Author]:
        """By its name: who, and with whom, where all of a source was handed in by groups."""
        found = {top: match for top in source.tops if (match := NAME.fullmatch(top))}
        groups = _groups([match["name"] for match in found.values()], source)
        numbers: defaultdict[str, set[str]] = defaultdict(set)
        for match in found.values():
            numbers[groups[match["name"]][1]].add(match["number"])
        authors = {}
        for top, match in found.items():
            group, name = groups[match["name"]]
            label, key = self.key_of(top)
            hidden = _is_hidden(name) or (len(numbers[name]) > 1 and len(numbers) == 1 and not source.knows(name))
            names = () if hidden else (name,)
            authors[top] = Author(self.key, top, label, key, names=names, group=group, hidden=hidden)
        return authors

    def key_of(self, given: str) -> tuple[str, str]:
        """The person's name and the number, and the number."""
        match = NAME.fullmatch(given)
        return (f"{match['name']}_{match['number']}", match["number"]) if match else ("", "")

    def worksheet(self, rows: Sequence[Row]) -> dict[str, Author]:
        """Who is who in its grading worksheet, which has "Participant 601", the full name, and what else the site
        shows. Its first column is known by what is in it, since its heading is another in each language."""
        if len(rows) < 2 or not rows[0]:
            return {}
        people = [row for row in rows[1:] if any(map(str.strip, row))]
        identifiers = [IDENTIFIER.fullmatch(row[0].strip()) for row in people]
        words = {row[0].strip()[: match.start(1)] for row, match in zip(people, identifiers, strict=True) if match}
        if len(words) != 1 or not all(identifiers) or not words.pop().strip():
            return {}
        heads = in_english(rows[0])
        return {
            match[1]: self._of_row(dict(zip(heads, map(str.strip, row), strict=False)), row, match[1])
            for match, row in zip(identifiers, people, strict=True)
            if match
        }

    def _of_row(self, told: Mapping[str, str], row: Row, number: str) -> Author:
        address = told.get("email address") or next((cell.strip() for cell in row if "@" in cell), "")
        numbers = (("moodle", told.get("id number", "")), ("email", address))
        names = tuple(filter(None, [told.get("full name") or row[1].strip()])) if len(row) > 1 else ()
        user = tuple(filter(None, [told.get("username", "")]))
        group, name = told.get("group", ""), names[0] if names else "Participant"
        before = f"{group}-{name}".lstrip("-").replace("_", " ")
        return Author(
            self.key,
            given=f"{before}_{number}_assignsubmission_file_",
            numbers=tuple(pair for pair in numbers if pair[1]),
            ids=user,
            names=names,
            group=group,
        )

    def marks(self, marks: ClassMarks, exported: Sequence[Row], where: str) -> MarksFile:
        """For its import of grades: the key that most people on the roster have, and a column a lesson. A blank changes
        nothing there. It has no feedback, which Moodle takes without a grade as a grade of nothing."""
        keys = {key: {who for who, person in marks.people.items() if _key(person, key)} for key in KEYS}
        key = max(keys, key=lambda name: len(keys[name]))  # of equal ones the first, which is the surest
        rows: list[Sequence[object]] = [[KEYS[key], *marks.possible]]
        for who, person in marks.people.items():
            if who in keys[key]:
                rows.append([_key(person, key), *map(number, marks.points[who].values())])
        return MarksFile(rows, KEYS[key], tuple(sorted(marks.people.keys() - keys[key])))

    def feedback_name(self, given: str, lesson: str) -> str:
        """Moodle reads a folder's name at its underscores: the second part is the number of the participant.

        >>> PLATFORM.feedback_name("Ann Lee_12_assignsubmission_file_", "01")
        'Ann Lee_12_assignsubmission_file_/01.html'
        """
        match = NAME.fullmatch(given)
        return f"{match['folder']}/{lesson}.html" if match else ""


def _key(person: Mapping[str, str], key: str) -> str:
    """What a person is called by in Moodle, of the kind `key`; "" if that isn't known. An id that is a number or an
    address is no user name."""
    others = [person[column] for column in ("moodle", "email", "canvas_id", "sis_user_id")]
    return "" if key == "id" and person["id"] in others else person[key]


def _is_hidden(name: str) -> bool:
    return name.casefold() in HIDDEN


def _groups(names: Iterable[str], source: Source) -> dict[str, tuple[str, str]]:
    """By its name in a zip the group and the person's name. Moodle puts a group before every name of an assignment or
    before none, so a hyphen in one name alone is that name's own."""
    ways = {name: [] if source.knows(name) else splits(name) for name in names}
    if not ways or not all(ways.values()):
        return {name: ("", name) for name in ways}
    people = {rest for both in ways.values() for _group, rest in both if source.knows(rest) or _is_hidden(rest)}
    if not people:
        return {name: ("", name) for name in ways}
    with_rest = Counter(group for both in ways.values() for group, rest in both if rest in people)
    found = {}
    for name, both in ways.items():
        # Of a group that others are in too, a member may call themselves "x-Ann Lee": that isn't Ann Lee.
        likely = [(with_rest[group], rest in people, -len(group), group, rest) for group, rest in both]
        known = [way for way in likely if way[1]]
        best = max(known or likely)
        shorter = [way for way in likely if best[3].startswith(f"{way[3]}-") and way[0] >= 1]
        _count, _is_known, _length, group, rest = max(shorter) if shorter and best[0] == 1 else best
        found[name] = (group, rest)
    return found


PLATFORM = Moodle()
