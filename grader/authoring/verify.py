"""`grader build --check`: runs nothing, and tells what a rebuild would change, cell by cell.

The lesson's notebook is compared with solutions/ without its outputs, and what solutions/ gives for students with
notebooks/. The outputs themselves are nbval's to compare. The stored states must be those of the views that solutions/
shows. Exercises without enough sample submissions are told too.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.authoring import answers, states
from grader.authoring.builder import left_over, read_lessons
from grader.authoring.lesson import Lesson
from grader.authoring.notebook import (
    dumps,
    instructors_notebook,
    loads,
    with_install_cell,
    without_install_cell,
    without_outputs,
)
from grader.authoring.readme import readme
from grader.authoring.repository import Repository
from grader.authoring.student import students_notebook
from grader.authoring.translation import built
from grader.authoring.translation.translate import gate
from grader.authoring.written_in import refuse
from grader.errors import CommandFailed

DIFF_LINES = 24
NAMED = 3  # files that a command names which needs the built notebooks


def verify(repository: Repository, wanted: Sequence[str]) -> None:
    """Compare the lessons meant (all if none is given) with what is built. `CommandFailed`, with what differs, if a
    rebuild would change anything, and in a few lines if somebody has written in a student's notebook."""
    course, lessons, missing = read_lessons(repository, wanted)
    refuse(repository, [lesson.name for lesson in lessons])
    found = [line for lesson in lessons for line in _lesson(repository, lesson)]
    unfinished = [str(problem) for problem in missing]
    found += _languages(repository, course, lessons)
    if not wanted:
        found += _readme(repository, course)
        found += [f"{path}: no lesson has this name" for path in left_over(repository)]
        unfinished += gate(repository)
    if found:
        found.append("The files differ from what a build would make; run `grader build`.")
    if found or unfinished:
        raise CommandFailed("\n".join([*unfinished, *found]))


def require_built(repository: Repository, wanted: Sequence[str]) -> None:
    """As `verify`, for a command that only needs to know: `CommandFailed` names the files and shows no differences."""
    course, lessons, _missing = read_lessons(repository, wanted)
    refuse(repository, [lesson.name for lesson in lessons])
    found = [line for lesson in lessons for line in _lesson(repository, lesson)]
    found += _languages(repository, course, lessons)
    if not wanted:
        found += _readme(repository, course)
        found += [f"{path}: no lesson has this name" for path in left_over(repository)]
        if faulty := gate(repository):
            raise CommandFailed("\n".join(faulty))
    files = list(dict.fromkeys(re.split(r"[\s:]", line)[0] for line in found))
    if files:
        shown, more = ", ".join(files[:NAMED]), len(files) - NAMED
        those = f"{shown} and {more} more aren't" if more > 0 else f"{shown} {'isn' if len(files) == 1 else 'aren'}'t"
        raise CommandFailed(
            f"{those} what a build would make.\nRun `grader build`. `grader build --check` shows what differs."
        )


def _readme(repository: Repository, course: Iterable[Lesson]) -> list[str]:
    texts = readme(repository, course)
    if texts is None or texts[0] == texts[1]:
        return []
    return [f"README.md: the table of lessons would change\n{_unified(*(text.splitlines() for text in texts))}"]


def _languages(repository: Repository, course: list[Lesson], lessons: list[Lesson]) -> Iterator[str]:
    """A line for each file in another language that a build would change."""
    for path, text in built.made(repository, course, lessons).items():
        if not path.exists():
            yield f"{_shown(repository, path)}: it has not been built"
        elif (before := path.read_text("utf-8")) != text:
            yield f"{_shown(repository, path)}: it would change\n{_unified(before.splitlines(), text.splitlines())}"


def _lesson(repository: Repository, lesson: Lesson) -> Iterator[str]:
    solution, student = (folder / f"{lesson.name}.ipynb" for folder in (repository.solutions, repository.notebooks))
    missing = [path for path in (solution, student) if not path.exists()]
    if missing:
        yield from (f"{_shown(repository, path)}: {lesson.path} has not been built" for path in missing)
        return
    stored = _load(solution)
    if stored is None:
        yield f"{_shown(repository, solution)}: this isn't a notebook that a build wrote"
        return
    expected = with_install_cell(instructors_notebook(lesson, repository.exercises), repository.wheel)
    differences = [*_differences(without_outputs(stored), expected), *_not_run(without_install_cell(stored))]
    yield from (f"{_shown(repository, solution)} {line}" for line in differences)
    file = repository.states / f"{lesson.name}.json"
    yield from (f"{_shown(repository, file)} {line}" for line in states.differences(stored, states.load(file)))
    texts = repository.answers / f"{lesson.number}.json"
    yield from (f"{_shown(repository, texts)} {line}" for line in answers.file_differences(lesson, texts))
    ran = without_install_cell(stored)
    yield from (f"{_shown(repository, solution)} {line}" for line in answers.differences(lesson, ran))
    found = _load(student)
    if found is None:
        yield f"{_shown(repository, student)}: this isn't a notebook that a build wrote"
    else:
        made = students_notebook(stored)
        yield from (f"{_shown(repository, student)} {line}" for line in _differences(found, made))


def _shown(repository: Repository, path: Path) -> str:
    return path.relative_to(repository.root).as_posix()


def _load(path: Path) -> NotebookNode | None:
    """A notebook whose bytes are what a build would write for its content, or None."""
    try:
        text = path.read_bytes().decode()
        notebook = loads(text)
        nbformat.validate(notebook)
        return notebook if dumps(notebook) == text else None
    except Exception:  # nbformat raises whatever its parsers raise; all of it means the same here
        return None


def _not_run(solution: NotebookNode) -> Iterator[str]:
    """A sentence for each sign that an instructor's notebook wasn't run from top to bottom, or that a check lacks its
    report, or a drawing its picture (unless the cell defines how something is drawn further down)."""
    counts = iter(range(1, len(solution.cells) + 1))
    for cell in solution.cells:
        if cell.cell_type != "code":
            continue
        if cell.execution_count != next(counts):
            yield (
                f"cell {cell.id}: its execution count is {cell.execution_count}, so the notebook wasn't run from top "
                "to bottom"
            )
        elif not cell.outputs and _shows(cell):
            yield f"cell {cell.id}: it has no output"


def _shows(cell: NotebookNode) -> bool:
    role = cell.metadata.get("course", {}).get("role")
    defines = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return role in ("check", "answer") or (
        role == "draw" and not all(isinstance(node, defines) for node in ast.parse(cell.source).body)
    )


def _differences(found: NotebookNode, expected: NotebookNode) -> Iterator[str]:
    """The lines that would change in `found`, cell by cell by its id, to make it `expected`."""
    before, after = ([str(cell.get("id")) for cell in notebook.cells] for notebook in (found, expected))
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind != "equal" and i2 - i1 != j2 - j1:
            yield from (f"cell {id_}: it would be removed\n{_diff(cell, None)}" for id_, cell in _range(found, i1, i2))
            yield from (f"cell {id_}: it would be added\n{_diff(None, cell)}" for id_, cell in _range(expected, j1, j2))
            continue
        for (id_, old), (_, new) in zip(_range(found, i1, i2), _range(expected, j1, j2), strict=True):
            if old != new:
                yield f"cell {id_}: it would change\n{_diff(old, new)}"
    rest = [{**notebook, "cells": []} for notebook in (found, expected)]
    if rest[0] != rest[1]:
        yield f"metadata: it would change\n{_unified(*(_as_lines(part) for part in rest))}"


def _range(notebook: NotebookNode, start: int, stop: int) -> list[tuple[str, NotebookNode]]:
    return [(str(cell.get("id")), cell) for cell in notebook.cells[start:stop]]


def _diff(old: NotebookNode | None, new: NotebookNode | None) -> str:
    return _unified(*(_cell_lines(cell) if cell else [] for cell in (old, new)))


def _cell_lines(cell: NotebookNode) -> list[str]:
    """A cell as lines to be compared by eye: its source as it is, the rest as JSON."""
    return [*_as_lines({key: value for key, value in cell.items() if key != "source"}), *cell.source.splitlines()]


def _as_lines(content: object) -> list[str]:
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _unified(old: list[str], new: list[str]) -> str:
    lines = [line[:200] for line in difflib.unified_diff(old, new, "now", "after a build", n=1, lineterm="")]
    extra = len(lines) - DIFF_LINES
    more = [f"... {extra} more line{'s' * (extra > 1)}"] if extra > 0 else []
    return "\n".join(f"    {line}" for line in [*lines[:DIFF_LINES], *more])
