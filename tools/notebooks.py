"""Instructor's and students' notebooks of a lesson, made from its text without running it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from grader.authoring.model_solutions import lesson_of
from grader.authoring.notebook import instructors_notebook
from grader.exercises.registry import exercises

LESSON = "01_self_attention"


@cache
def instructor(lesson: str = LESSON) -> bytes:
    """The instructor's notebook: every code cell of the lesson as the build makes it, with the metadata that it gives
    it."""
    read = lesson_of(lesson)
    built = [cell.source for cell in instructors_notebook(read, exercises()).cells if cell.cell_type == "code"]
    found = [(n, cell) for n, cell in enumerate(read.cells) if cell.is_code]
    return dump(
        [
            code(source, cell.role or "example", cell.exercise, f"cell-{n}")
            for (n, cell), source in zip(found, built, strict=True)
        ]
    )


def code(source: str, role: str = "", exercise: str = "", id: str = "") -> dict[str, Any]:
    """One code cell, with the metadata that a build gives to a cell of this role and exercise ("" for none)."""
    metadata: dict[str, Any] = {}
    if role:
        metadata["course"] = {"role": role, "exercise": exercise}
    if role in ("solution", "check"):
        id = f"{exercise}-{role}"
        metadata["nbgrader"] = {
            "schema_version": 3,
            "grade_id": exercise if role == "solution" else f"{exercise}-check",
            "grade": role == "check",
            "solution": role == "solution",
            "locked": role == "check",
            "task": False,
        }
        if role == "check":
            metadata["nbgrader"]["points"] = exercises()[exercise].points
    return {
        "cell_type": "code",
        "id": id,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def dump(cells: list[dict[str, Any]]) -> bytes:
    """A notebook of these cells, as bytes."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def solved(lesson: str = LESSON, **answers: str) -> list[dict[str, Any]]:
    """The cells of a notebook with every exercise solved as the course does, except for `answers`: sources by
    exercise."""
    cells = json.loads(instructor(lesson))["cells"]
    for cell in cells:
        course = cell["metadata"].get("course", {})
        if course.get("role") == "solution" and course["exercise"] in answers:
            cell["source"] = answers[course["exercise"]]
    return cells


def submission(lesson: str = LESSON, **answers: str) -> bytes:
    """A whole notebook as bytes, with the model solutions except for `answers`: sources by exercise."""
    return dump(solved(lesson, **answers))


def place_of(cells: list[dict[str, Any]], exercise: str, role: str) -> int:
    """The index of the cell of an exercise that has this role."""
    wanted = {"role": role, "exercise": exercise}
    return next(i for i, cell in enumerate(cells) if cell["metadata"].get("course") == wanted)
