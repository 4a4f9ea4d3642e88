"""One notation: the letters in the table at the top of a lesson are the course's, with the course's names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.spec.exercise import NOTATION

LESSONS = sorted((Path(__file__).parents[2] / "lessons").glob("*.py"))
KNOWN = {letter for letters in NOTATION for letter in letters.split(", ")}
TABLE = re.compile(r"^# \| letter \|.*\n((?:# \|.*\n)+)", re.MULTILINE)
NAME = re.compile(r"`([a-z_]+)`")


def rows(path: Path) -> list[list[str]]:
    """The cells of the lesson's table of letters, without its heading; none if it has no table."""
    found = TABLE.search(path.read_text("utf-8"))
    lines = found.group(1).splitlines()[1:] if found else []
    return [[cell.strip() for cell in line.removeprefix("# |").removesuffix("|").split("|")] for line in lines]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lessons_letters_are_the_courses(path):
    for first, meaning, *_ in rows(path):
        letters = [letter.strip(" `") for letter in first.split(",")]
        assert set(letters) <= KNOWN
        names = {NOTATION[letter].name for letter in letters if letter in NOTATION}
        names_of_others = {row.name for row in NOTATION.values()} - names
        assert not names_of_others & set(NAME.findall(meaning.partition(";")[0]))


def test_most_lessons_have_a_table():
    assert sum(bool(rows(path)) for path in LESSONS) >= 10
