"""What the notebook that is running says of its course: which exercises there are, and what they are worth. A teacher
may have left some out, or changed their points.

`nbgrader generate_assignment` writes the exercises of the whole course into each notebook's metadata. A notebook's own
check cells come first: they are what is graded.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from grader.plain import dict_in, list_in

MAX_BYTES = 100 * 2**20


def points() -> dict[str, float]:
    """The points of the exercises whose check cells are in this notebook, by name; empty where nbgrader doesn't know
    them."""
    found: dict[str, float] = {}
    for cell in list_in(_notebook().get("cells")):
        metadata = dict_in(dict_in(cell).get("metadata"))
        course, graded = dict_in(metadata.get("course")), dict_in(metadata.get("nbgrader"))
        if course.get("role") == "check" and graded.get("grade") is True:
            found |= _numbers({course.get("exercise"): graded.get("points")})
    return found


def course() -> dict[str, float]:
    """All exercises of the course by name, with their points; empty where the notebook doesn't say."""
    metadata = dict_in(_notebook().get("metadata"))
    return _numbers(dict_in(dict_in(metadata.get("course")).get("exercises")))


def _notebook() -> dict[str, Any]:
    """This notebook as it was last saved; empty where nobody knows which it is (JupyterLab and VS Code say it)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = os.environ.get("JPY_SESSION_NAME") or getattr(shell, "user_ns", {}).get("__vsc_ipynb_file__") or ""
    path = Path(str(named))
    try:
        if path.suffix != ".ipynb" or path.stat().st_size > MAX_BYTES:
            return {}
        return dict_in(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _numbers(values: dict[Any, Any]) -> dict[str, float]:
    """The entries that are a name and a number of points."""
    return {name: value for name, value in values.items() if type(name) is str and type(value) in (int, float)}
