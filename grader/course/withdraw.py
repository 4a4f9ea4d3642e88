"""Who has left a course: they are in no list of who is missing and in no file of marks, and everything of theirs stays.

`roster.csv` keeps them, with the day on which they left in its column `withdrawn`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.course.roster import FILE, Person, Roster, did_you_mean, full_names, save
from grader.errors import CourseError


def withdraw(course: Path, student: str) -> Person:
    """Note that somebody has left; returns their entry. `CourseError` if they aren't on the roster, or have left
    already."""
    person = _person(course, student)
    if person.withdrawn:
        raise CourseError(
            f"{student} has left the course already, on {person.withdrawn}. To take that back: grader course withdraw "
            f"{course} {student} --undo"
        )
    return _enter(course, replace(person, withdrawn=f"{datetime.now(UTC):%Y-%m-%d}"))


def take_back(course: Path, student: str) -> Person:
    """Put somebody who has left back into the lists; returns their entry. `CourseError` if they haven't left."""
    person = _person(course, student)
    if not person.withdrawn:
        raise CourseError(f"{student} hasn't left the course, so there is nothing to undo.")
    return _enter(course, replace(person, withdrawn=""))


def _person(course: Path, student: str) -> Person:
    people = Roster.of(course).people
    if student not in people:
        raise CourseError(f"{course / FILE} has no id {student!r}.{did_you_mean(student, full_names(people))}")
    return people[student]


def _enter(course: Path, person: Person) -> Person:
    save(course, (Roster.of(course).people | {person.id: person}).values())
    return person
