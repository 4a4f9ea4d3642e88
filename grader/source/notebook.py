"""A notebook of a course's `source/`, as a teacher may have edited it: read as JSON, written as JupyterLab does."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat

from grader.atomic import write_atomically
from grader.course.folder import folder_of
from grader.errors import BrokenNotebook

Cell = dict[str, Any]
KEPT = "source"  # the folder in .grader/ with what a command has changed, as it was


def load(path: Path) -> dict[str, Any]:
    """The notebook in a file, with the source of each cell as one string; `BrokenNotebook` if it can't be read or is
    none."""
    try:
        return parsed(path, path.read_bytes())
    except OSError as error:
        raise BrokenNotebook(path, f"can't be read: {error.strerror}") from None


def parsed(path: Path, data: bytes) -> dict[str, Any]:
    """The notebook that a file's bytes are, with the source of each cell as one string; `BrokenNotebook`, with the
    file's `path`, if they are none."""
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BrokenNotebook(path, "isn't a notebook, since it isn't UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise BrokenNotebook(path, f"isn't a notebook: {error.msg}", error.lineno) from None
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise BrokenNotebook(path, "isn't a notebook of format 4; open it in JupyterLab and save it")
    try:
        with warnings.catch_warnings(action="ignore"):  # of cell ids, which `grader course check` looks at
            nbformat.validate(nbformat.from_dict(notebook))
    except nbformat.ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise BrokenNotebook(path, f"isn't a valid notebook: {error.message[:200]} ({where})") from None
    for cell in notebook["cells"]:
        cell["source"] = text_of(cell)
    return notebook


def dumped(notebook: dict[str, Any]) -> bytes:
    """A notebook's bytes, as nbformat writes them."""
    return (str(nbformat.writes(nbformat.from_dict(notebook))).rstrip("\n") + "\n").encode()


def replace(course: Path, path: Path, notebook: dict[str, Any]) -> Path:
    """Write a notebook of the course anew; returns the path at which the old one is kept."""
    kept = folder_of(course, KEPT) / f"{path.stem}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.ipynb"
    old = path.read_bytes()
    write_atomically(kept, old, path.stat().st_mode & 0o777)
    write_atomically(path, dumped(notebook), path.stat().st_mode & 0o777)
    return kept


def text_of(cell: Cell) -> str:
    """A cell's source, which a file may have as a list of lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def course_of(cell: Cell) -> dict[str, Any]:
    """The part of a cell's metadata that this course's tools go by; empty where there is none."""
    found = cell["metadata"].get("course")
    return found if isinstance(found, dict) else {}


def nbgrader_of(cell: Cell) -> dict[str, Any]:
    """The part of a cell's metadata that nbgrader goes by; empty where nbgrader doesn't know the cell."""
    found = cell["metadata"].get("nbgrader")
    flags = ("grade", "solution", "locked", "task")
    return found if isinstance(found, dict) and any(found.get(flag) for flag in flags) else {}


def role_of(cell: Cell) -> str:
    """A cell's role in the course; "" for a teacher's own cell."""
    return str(course_of(cell).get("role", ""))


def exercise_of(cell: Cell) -> str:
    """The name of the exercise that a cell is the solution or the check of; "" if it is of none."""
    return str(course_of(cell).get("exercise", ""))


def is_code(cell: Cell) -> bool:
    """Whether it is a code cell."""
    return bool(cell["cell_type"] == "code")


def checked_exercises(notebook: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The names of the exercises with a check cell that counts, and the points that each is worth."""
    for cell in notebook["cells"]:
        own = nbgrader_of(cell)
        if role_of(cell) == "check" and own.get("grade") and isinstance(own.get("points"), int | float):
            yield exercise_of(cell), float(own["points"])
