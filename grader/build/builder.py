"""`grader build`: reads all lessons, runs those that have changed, several at once, and writes both notebooks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from grader.build.cache import Cache, surroundings, write_atomically
from grader.build.course import Course
from grader.build.execute import execute
from grader.build.lesson import Lesson, LessonError, Problem, read_folder
from grader.build.notebook import dumps, instructors_notebook, loads
from grader.build.rules import problems
from grader.build.student import students_notebook


def read_lessons(course: Course, wanted: Iterable[str]) -> list[Lesson]:
    """The lessons meant, all without problems; raises `LessonError` with the problems of all of them."""
    names, all_of_them = course.choose(wanted), read_folder(course.lessons)
    lessons = [all_of_them[name] for name in names]
    found = [problem for lesson in lessons for problem in problems(lesson, course.exercises)]
    if found:
        raise LessonError(found)
    return lessons


def build(course: Course, wanted: Sequence[str], *, jobs: int, use_cache: bool, tell: Callable[[str], object]) -> None:
    """Build the lessons meant; a line for each goes to `tell`. One that fails doesn't keep the others from being
    built.
    """
    lessons = read_lessons(course, wanted)
    cache = Cache(course.cache, surroundings(course.root)) if use_cache else None
    failed = asyncio.run(_build_all(course, lessons, cache, jobs, tell))
    for extra in left_over(course):
        tell(f"{extra}: no lesson has this name; delete the file if it is not yours")
    if failed:
        raise LessonError(failed)


async def _build_all(
    course: Course, lessons: list[Lesson], cache: Cache | None, jobs: int, tell: Callable[[str], object]
) -> list[Problem]:
    """Each lesson runs in a kernel, which is a process of its own; here we only wait for it."""
    turns = asyncio.Semaphore(jobs)

    async def one(lesson: Lesson) -> list[Problem]:
        async with turns:
            start = time.monotonic()
            try:
                verdict = await _build(course, lesson, cache)
            except LessonError as error:
                tell(f"{lesson.name:32} failed    {time.monotonic() - start:6.1f} s")
                return error.problems
            tell(f"{lesson.name:32} {verdict:9} {time.monotonic() - start:6.1f} s")
            return []

    return [problem for found in await asyncio.gather(*map(one, lessons)) for problem in found]


async def _build(course: Course, lesson: Lesson, cache: Cache | None) -> str:
    text = cache.get(lesson.name, lesson.whole) if cache else None
    verdict = "unchanged" if text is not None else "built"
    if text is None:
        notebook = instructors_notebook(lesson, course.exercises)
        await execute(notebook, lesson)
        text = dumps(notebook)
        if cache:
            cache.put(lesson.name, lesson.whole, text)
    student = dumps(students_notebook(loads(text)))
    for folder, content in ((course.solutions, text), (course.notebooks, student)):
        path = folder / f"{lesson.name}.ipynb"
        if not path.exists() or path.read_bytes() != content.encode():
            write_atomically(path, content)
    return verdict


def left_over(course: Course) -> list[str]:
    """Notebooks in the built folders that no lesson makes."""
    names = course.names()
    built = [*course.solutions.glob("*.ipynb"), *course.notebooks.glob("*.ipynb")]
    return sorted(path.relative_to(course.root).as_posix() for path in built if path.stem not in names)
