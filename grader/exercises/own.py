"""A teacher's own exercises: files `exercises/NAME.py` of a course directory, and which of them a notebook needs.

The registry loads them. Nothing here imports torch, so commands that only look at the files don't wait for it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from grader.errors import CourseError, NotReleased

FOLDER = "exercises"
PACKAGE = Path(__file__).parent
# By name the text of each file. It goes along wherever the exercise is checked, to workers too.
OwnFiles = tuple[tuple[str, str], ...]
TODO = re.compile(r"\bTODO\b[^\"]*")  # to the end of the line or of the string
KEPT = "RELEASED = False"  # a line of a file whose specification students don't get
NOT_RELEASED = "This exercise is checked after you have handed it in. Until then only your teacher has its check."
_KEPT_TEXT = f'"""{NOT_RELEASED}"""\n'


def _is_name(name: str) -> bool:
    return name.isidentifier() and len(name) <= 100


def file_of(name: str) -> str:
    """The path of an exercise's file within its course directory, `exercises/NAME.py`."""
    return f"{FOLDER}/{name}.py"


def is_taken(name: str) -> bool:
    """Whether a lesson of this package has an exercise of this name, so that a teacher's own can't have it."""
    return _is_name(name) and any(PACKAGE.glob(f"lesson_*/{name}.py"))


def refuse_taken(name: str, text: str) -> None:
    """Raises `CourseError`, with the line of the name in `text`, if a lesson of this package has an exercise of this
    name."""
    if is_taken(name):
        line = next((i for i, line in enumerate(text.splitlines(), 1) if re.search(r"\bname\s*=", line)), 1)
        raise CourseError(f"{file_of(name)}:{line}: the course has its own {name}. Give yours another name.")


def text_in(root: Path, name: str) -> str | None:
    """The text of an exercise's file below `root`, a course directory or the folder of a student's notebook; None if
    there is no such file. `CourseError` if it can't be read."""
    path = root / file_of(name)
    try:
        return path.read_text("utf-8") if _is_name(name) and path.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{file_of(name)}:1: it can't be read: {error}") from None


def own_files(notebook: bytes, root: Path, shown: str) -> OwnFiles:
    """The files of a course's own exercises that an instructor's notebook (its JSON) checks. `root` is the course
    directory, `shown` how messages call the notebook. `CourseError` for an exercise that is neither there nor in this
    package, or in both."""
    found = {}
    for number, cell in enumerate(json.loads(notebook)["cells"], 1):
        about = cell["metadata"].get("course", {})
        name = str(about.get("exercise", ""))
        if about.get("role") != "check" or not name or name in found:
            continue
        text = text_in(root, name)
        if text is None:
            if is_taken(name):
                continue
            raise CourseError(
                f"{shown}: cell {number}, `{_first_line(cell)}`: there is no exercise {name} and no {file_of(name)} "
                f"in the course directory. To write one: grader course exercise {root} {name}"
            )
        refuse_taken(name, text)
        found[name] = text
    return tuple(found.items())


def _first_line(cell: dict[str, object]) -> str:
    source = cell["source"]
    text = "".join(source) if isinstance(source, list) else str(source)
    return text.strip().partition("\n")[0][:60]


def for_students(text: str) -> str:
    """What students get of a file with this text: the text itself or, where the teacher keeps it (`RELEASED = False`),
    a line that says so."""
    kept = any(line.partition("#")[0].strip() == KEPT for line in text.splitlines())
    return _KEPT_TEXT if kept else text


def beside_notebook(name: str, folder: Path) -> str | None:
    """The text of an exercise's file, for a notebook in `folder`: beside it, where students have it, or in the course
    directory around `source/LESSON/`; None if it is in neither. `NotReleased` where the teacher keeps it."""
    text = text_in(folder, name)
    course = folder.parent.parent
    if text is None and (course / "nbgrader_config.py").is_file():
        text = text_in(course, name)
    if text == _KEPT_TEXT:
        raise NotReleased(NOT_RELEASED)
    return text


def unfinished(text: str) -> Iterator[tuple[int, str]]:
    """The places of a text that are still to be filled in: the number of the line, and what stands there from TODO
    on."""
    for number, line in enumerate(text.splitlines(), 1):
        if place := TODO.search(line):
            yield number, place[0].strip()


def imports_of(own: OwnFiles) -> list[ast.Module]:
    """The files as syntax trees, to see what they import; an empty list if one of them doesn't parse."""
    try:
        return [ast.parse(text) for _name, text in own]
    except SyntaxError:  # whoever loads it says so with its line
        return []
