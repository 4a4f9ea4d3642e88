"""README.md's table of lessons, made from the lessons' headings and headers and from the specifications."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from grader.authoring.lesson import Lesson
from grader.authoring.repository import Repository
from grader.errors import CourseError

BEGIN = "<!-- lessons: `grader build` makes this table -->"
END = "<!-- end of lessons -->"
PLACE = re.compile(rf"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)


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


def _row(lesson: Lesson, exercises: int) -> str:
    image = (
        f'<img src="docs/pictures/{lesson.number}.png" alt="{lesson.picture}" width="260">' if lesson.picture else ""
    )
    return f"| `{lesson.name}` | {lesson.about} | {exercises} | {image} |\n"
