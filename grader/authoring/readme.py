"""The tables in documents that are made: README.md's of lessons, from the lessons' headings and headers and from the
specifications; docs/platforms.md's of platforms, from their files; docs/course.md's of settings, from their class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.authoring.lesson import Lesson
from grader.authoring.repository import Repository
from grader.course.settings import table as settings_table
from grader.errors import CourseError
from grader.platforms.table import as_markdown

BEGIN = "<!-- lessons: `grader build` makes this table -->"
END = "<!-- end of lessons -->"
PLACE = re.compile(rf"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
# By document the table in it that is made, and how.
MADE: dict[str, tuple[str, Callable[[], str]]] = {
    "docs/platforms.md": ("platforms", as_markdown),
    "docs/course.md": ("settings", settings_table),
}


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


def made_pages(root: Path) -> dict[str, tuple[str, str]]:
    """By name the documents with a table that is made, each as it is and as it should be, of those that are there."""
    pages = {}
    for name, (subject, table) in MADE.items():
        path = root / name
        if path.exists():
            text, made = path.read_text("utf-8"), table()
            place = rf"(?<=<!-- {subject}: `grader build` makes this table -->\n).*?(?=<!-- end of {subject} -->)"
            pages[name] = text, _replaced(text, place, made)
    return pages


def _replaced(text: str, place: str, made: str) -> str:
    return re.sub(place, lambda _match: made, text, flags=re.DOTALL)


def _row(lesson: Lesson, exercises: int) -> str:
    image = (
        f'<img src="docs/pictures/{lesson.number}.png" alt="{lesson.picture}" width="260">' if lesson.picture else ""
    )
    return f"| `{lesson.name}` | {lesson.about} | {exercises} | {image} |\n"
