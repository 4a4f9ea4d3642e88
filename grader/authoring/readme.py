"""The tables in documents that are made: README.md's of lessons, from the lessons' headings and headers and from the
specifications, and docs/platforms.md's of platforms, from their files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from grader.authoring.lesson import Lesson
from grader.authoring.repository import Repository
from grader.errors import CourseError
from grader.platforms.table import as_markdown

BEGIN = "<!-- lessons: `grader build` makes this table -->"
END = "<!-- end of lessons -->"
PLACE = re.compile(rf"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
PLATFORMS = re.compile(
    r"(?<=<!-- platforms: `grader build` makes this table -->\n).*?(?=<!-- end of platforms -->)", re.DOTALL
)


def readme(repository: Repository, lessons: Iterable[Lesson]) -> tuple[str, str] | None:
    """README.md as it is and as it should be; None where there is no such file. `CourseError` if it has no place for
    the table of lessons."""
    path = repository.root / "README.md"
    if not path.exists():
        return None
    text = path.read_text("utf-8")
    if not PLACE.search(text):
        raise CourseError(f"README.md: the table of lessons belongs between the lines {BEGIN} and {END}")
    exercises = Counter(exercise.lesson for exercise in repository.exercises.values())
    rows = "".join(_row(lesson, exercises[lesson.name]) for lesson in lessons)
    table = f"| lesson | about | exercises | in it |\n| --- | --- | --- | --- |\n{rows}"
    return text, PLACE.sub(lambda _match: table, text)


def platforms_page(root: Path) -> tuple[str, str] | None:
    """docs/platforms.md as it is and as it should be; None where there is no such file."""
    path = root / "docs" / "platforms.md"
    if not path.exists():
        return None
    text = path.read_text("utf-8")
    return text, PLATFORMS.sub(lambda _match: as_markdown(), text)


def _row(lesson: Lesson, exercises: int) -> str:
    image = (
        f'<img src="docs/pictures/{lesson.number}.png" alt="{lesson.picture}" width="260">' if lesson.picture else ""
    )
    return f"| `{lesson.name}` | {lesson.about} | {exercises} | {image} |\n"
