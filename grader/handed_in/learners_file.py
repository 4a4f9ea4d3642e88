"""A file that a learner saved who thinks that a right answer was refused: read as text, judged in the sandbox only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.files import read_regular
from grader.errors import CourseError, SandboxUnavailable, Unreadable
from grader.judge.fingerprint import GradingSettings
from grader.judge.judge import Judge
from grader.judge.outline import Outline
from grader.learner.appeal import FORMAT, LearnersFile
from grader.plain import made
from grader.printable import printable
from grader.report import ExerciseResult

MOST_BYTES = 2**20
WHOSE = "a learner's file"  # in place of a student's name


@dataclass(frozen=True)
class Judged:
    """A learner's file, with what their own check said, and what the judge says of the same code as things are now."""

    file: LearnersFile
    result: ExerciseResult


def read_file(path: Path) -> LearnersFile:
    """What a learner's file holds; `CourseError` says what is wrong with it."""
    if not path.exists():
        raise CourseError(f"There is no file {printable(str(path))}.")
    try:
        data = json.loads(read_regular(path, MOST_BYTES))
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"format: expected {FORMAT}")
        file: LearnersFile = made(LearnersFile, data, "the file")
    except (Unreadable, OSError) as error:
        raise CourseError(f"{printable(str(path))} can't be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CourseError(f"{printable(str(path))} isn't a file that a report saved ({error})."[:300]) from None
    return file


def judge(path: Path, settings: GradingSettings, lesson: str) -> Judged:
    """Judge the file's code as one exercise of the lesson, among the course's own solutions of the others.
    `CourseError` if it is no such file or no such exercise, or nothing can be judged on this machine."""
    file = read_file(path)
    if file.exercise not in settings.outline.exercises:
        raise CourseError(
            f"{printable(str(path))} is about {file.exercise!r:.80}, which isn't an exercise of {lesson}."
        )
    try:
        with Judge(settings.secret, settings.limits, settings.unsafe) as judges:
            result = judges.grade(as_notebook(settings.outline, file), settings.outline, WHOSE)
    except SandboxUnavailable as error:
        raise CourseError(str(error)) from None
    return Judged(file, result[file.exercise])


def as_notebook(outline: Outline, file: LearnersFile) -> bytes:
    """The bytes of the instructor's notebook with the file's cells in place of one solution."""
    notebook = outline.notebook()
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        course = cell["metadata"].get("course", {})
        if course.get("role") == "solution" and course.get("exercise") == file.exercise:
            for i, source in enumerate(file.cells[:-1]):
                cells.append({**cell, "id": f"learner-{i}", "metadata": {}, "source": source})
            cells.append({**cell, "source": file.cells[-1] if file.cells else ""})
        else:
            cells.append(cell)
    return json.dumps({**notebook, "cells": cells}).encode()
