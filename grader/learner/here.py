"""What the notebook that is running says of its course: which exercises there are, and what they are worth. A teacher
may have left some out, or changed their points.

`nbgrader generate_assignment` writes the exercises of the whole course into each notebook's metadata. A notebook's own
check cells come first: they are what is graded.
"""

from __future__ import annotations

from typing import Any

from grader.kernel import notebook
from grader.plain import dict_in, list_in


def points() -> dict[str, float]:
    """The points of the exercises whose check cells are in this notebook, by name; empty where nbgrader doesn't know
    them."""
    found: dict[str, float] = {}
    for cell in list_in(notebook().get("cells")):
        metadata = dict_in(dict_in(cell).get("metadata"))
        course, graded = dict_in(metadata.get("course")), dict_in(metadata.get("nbgrader"))
        if course.get("role") == "check" and graded.get("grade") is True:
            found |= _numbers({course.get("exercise"): graded.get("points")})
    return found


def course() -> dict[str, float]:
    """All exercises of the course by name, with their points; empty where the notebook doesn't say."""
    metadata = dict_in(notebook().get("metadata"))
    return _numbers(dict_in(dict_in(metadata.get("course")).get("exercises")))


def _numbers(values: dict[Any, Any]) -> dict[str, float]:
    """The entries that are a name and a number of points."""
    return {name: value for name, value in values.items() if type(name) is str and type(value) in (int, float)}
