"""`grader build`: reads all lessons, runs those that have changed, several at once, and writes both notebooks and
README.md's table of lessons.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from nbformat import NotebookNode

from grader.atomic import write_atomically
from grader.authoring import answers, states
from grader.authoring.cache import Cache, Executed, surroundings
from grader.authoring.execute import execute
from grader.authoring.lesson import Lesson, Problem, read_folder
from grader.authoring.notebook import (
    dumps,
    instructors_notebook,
    loads,
    with_install_cell,
    without_install_cell,
)
from grader.authoring.predictions import given_away
from grader.authoring.prose import describe_pictures
from grader.authoring.readme import made_pages, readme
from grader.authoring.repository import Repository
from grader.authoring.rules import problems
from grader.authoring.student import students_notebook
from grader.authoring.translation import built
from grader.authoring.unfinished import missing_samples, todo
from grader.authoring.written_in import refuse, set_aside
from grader.errors import LessonError


class Sources(NamedTuple):
    """All lessons; the lessons meant, which are ready to be built; the sample submissions that these still lack."""

    course: list[Lesson]
    lessons: list[Lesson]
    missing: list[Problem]


def read_lessons(repository: Repository, wanted: Iterable[str]) -> Sources:
    """Read the lessons meant by names, numbers or files; all if none is given. `LessonError` with the problems of
    these, `CourseError` for a lesson that isn't there."""
    names, course = repository.choose(wanted), read_folder(repository.lessons)
    lessons = [course[name] for name in names]
    missing = [problem for name in names for problem in missing_samples(repository, name)]
    found = [problem for lesson in lessons for problem in problems(lesson, repository.exercises)]
    found += [problem for name in names for problem in todo(repository, name)]
    if found:
        raise LessonError(found + missing)
    return Sources(list(course.values()), lessons, missing)


def build(
    repository: Repository,
    wanted: Sequence[str],
    *,
    jobs: int,
    use_cache: bool,
    tell: Callable[[str], object],
    keep_outputs: bool = False,
    only_states: bool = False,
    set_aside_written: bool = False,
) -> None:
    """Build the lessons meant, `jobs` at a time; a line for each goes to `tell`. One that fails doesn't keep the others
    from being built: `LessonError` has the problems of all at the end. With `keep_outputs` none is run, and the
    notebooks keep the outputs that they have; with `only_states` only what the views show is written. `CommandFailed`
    where somebody has written in a student's notebook, which is kept beside its place with `set_aside_written`."""
    course, lessons, missing = read_lessons(repository, wanted)
    names = [] if only_states else [lesson.name for lesson in lessons]
    if set_aside_written:
        for kept in set_aside(repository, names):
            tell(kept)
    refuse(repository, names)
    cache = Cache(repository.cache, surroundings(repository.root)) if use_cache else None
    failed = asyncio.run(_build_all(repository, lessons, cache, jobs, tell, keep_outputs, only_states))
    for problem in missing:
        tell(str(problem))
    if not only_states:
        _write_languages(repository, course, lessons)
    _write_readme(repository, course, tell)
    for extra in left_over(repository):
        tell(f"{extra}: no lesson has this name; delete the file unless you put it there")
    if failed:
        raise LessonError(failed)


async def _build_all(
    repository: Repository,
    lessons: list[Lesson],
    cache: Cache | None,
    jobs: int,
    tell: Callable[[str], object],
    keep_outputs: bool,
    only_states: bool,
) -> list[Problem]:
    """Build lessons, `jobs` at a time, and return the problems of those that failed. Each runs in a kernel, which is a
    process of its own; here we only wait for it."""
    turns = asyncio.Semaphore(jobs)

    async def one(lesson: Lesson) -> list[Problem]:
        async with turns:
            start = time.monotonic()
            try:
                verdict = await _build(repository, lesson, cache, keep_outputs, only_states)
            except LessonError as error:
                tell(f"{lesson.name:32} failed    {time.monotonic() - start:6.1f} s")
                return [*error.problems]
            tell(f"{lesson.name:32} {verdict:9} {time.monotonic() - start:6.1f} s")
            return []

    return [problem for found in await asyncio.gather(*map(one, lessons)) for problem in found]


async def _executed(repository: Repository, lesson: Lesson, cache: Cache | None) -> Executed:
    notebook = instructors_notebook(lesson, repository.exercises)
    shown = await execute(notebook, lesson)
    found = given_away(lesson, notebook)
    if found:
        raise LessonError(found)
    executed = Executed(dumps(notebook), states.dumps(shown))
    if cache:
        cache.put(lesson.name, lesson.whole, executed)
    return executed


async def _build(
    repository: Repository, lesson: Lesson, cache: Cache | None, keep_outputs: bool, only_states: bool
) -> str:
    answers.write(repository.answers / f"{lesson.number}.json", lesson)  # what compare_guess looks up when it is run
    if keep_outputs:
        text, verdict = dumps(_with_kept_outputs(repository, lesson)), "not run"
    else:
        executed = cache.get(lesson.name, lesson.whole) if cache else None
        verdict = "built" if executed is None else "unchanged"
        executed = executed or await _executed(repository, lesson, cache)
        states.write(repository.states / f"{lesson.name}.json", executed.states)
        if only_states:
            return verdict
        text = executed.notebook
    notebook = loads(text)
    answers.put(lesson, notebook)
    describe_pictures(notebook)
    notebook = with_install_cell(notebook, repository.wheel)
    files = ((repository.solutions, dumps(notebook)), (repository.notebooks, dumps(students_notebook(notebook))))
    for folder, content in files:
        path = folder / f"{lesson.name}.ipynb"
        if not path.exists() or path.read_bytes() != content.encode():
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
    return verdict


def _with_kept_outputs(repository: Repository, lesson: Lesson) -> NotebookNode:
    """The lesson's notebook with the outputs that solutions/ holds; `LessonError` if its code is not what was run."""
    notebook = instructors_notebook(lesson, repository.exercises)
    ran = [cell for cell in _stored_cells(repository, lesson) if cell.cell_type == "code"]
    mine = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    same = sum(
        takewhile(bool, (cell.source == executed.source for (_, cell), executed in zip(mine, ran, strict=False)))
    )
    if same < max(len(mine), len(ran)):
        index = mine[min(same, len(mine) - 1)][0] if mine else 0
        message = "from here on the code differs from the code that was last run; build without --keep-outputs"
        raise LessonError([lesson.problem(lesson.in_notebook[index], message)])
    for (_, cell), executed in zip(mine, ran, strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    return notebook


def _stored_cells(repository: Repository, lesson: Lesson) -> list[NotebookNode]:
    """The cells of the lesson's notebook in solutions/, none where there isn't one; `LessonError` if it isn't one."""
    path = repository.solutions / f"{lesson.name}.ipynb"
    if not path.exists():
        return []
    try:
        return list(without_install_cell(loads(path.read_text("utf-8"))).cells)
    except Exception as error:  # nbformat raises whatever its parsers raise; all of it means the same here
        shown = path.relative_to(repository.root).as_posix()
        message = "this can't be read as a notebook (is it left from a merge conflict?); build without --keep-outputs"
        raise LessonError([Problem(shown, 1, "", message)]) from error


def _write_languages(repository: Repository, course: list[Lesson], lessons: list[Lesson]) -> None:
    """Write the lessons' notebooks in other languages, and with all lessons the words of the package."""
    for path, text in built.made(repository, course, lessons).items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)


def _write_readme(repository: Repository, course: Iterable[Lesson], tell: Callable[[str], object]) -> None:
    texts = readme(repository, course)
    if texts and texts[0] != texts[1]:
        write_atomically(repository.root / "README.md", texts[1])
        tell("README.md: the table of lessons has changed")
    for name, (before, after) in made_pages(repository.root).items():
        if before != after:
            write_atomically(repository.root / name, after)
            tell(f"{name}: its table has changed")


def left_over(repository: Repository) -> list[str]:
    """The files in the built folders that no lesson makes, as paths in the repository."""
    names = repository.names()
    made = [*repository.solutions.glob("*.ipynb"), *repository.notebooks.glob("*.ipynb")]
    made += repository.states.glob("*.json")
    numbers = {name[:2] for name in names}
    extra = [path for path in made if path.stem not in names]
    extra += [path for path in repository.answers.glob("*.json") if path.stem not in numbers]
    extra += built.left_over(repository, names)
    return sorted(path.relative_to(repository.root).as_posix() for path in extra)
