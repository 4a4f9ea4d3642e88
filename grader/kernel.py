"""The kernel that runs this code, where one does: its IPython, its notebook, whether somebody is at it, and where what
a learner does in it is kept. Outside of a kernel there is none of this.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from grader.plain import dict_in

MAX_BYTES = 100 * 2**20  # of a learner's notebook
OFF = "off"


def shell() -> Any:
    """The IPython that runs this code, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def is_attended() -> bool:
    """Whether whoever runs this cell could be asked something, and no program runs it (nbval, nbgrader, the build);
    true outside of a kernel. A front end for people passes on what `input()` asks and says so with each cell
    (`allow_stdin`), and a program that runs notebooks doesn't."""
    kernel: Any = getattr(shell(), "kernel", None)
    request = kernel.get_parent() if hasattr(kernel, "get_parent") else {}
    return bool(request.get("content", {}).get("allow_stdin", True))


def notebook_path() -> Path | None:
    """The path of this notebook; None where nobody knows it (JupyterLab and VS Code say it)."""
    named = os.environ.get("JPY_SESSION_NAME") or getattr(shell(), "user_ns", {}).get("__vsc_ipynb_file__") or ""
    path = Path(str(named))
    return path if path.suffix == ".ipynb" else None


def notebook() -> dict[str, Any]:
    """This notebook as it was last saved; empty where nobody knows which it is, or it can't be read."""
    path = notebook_path()
    try:
        if path is None or path.stat().st_size > MAX_BYTES:
            return {}
        return dict_in(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def progress_file() -> Path | None:
    """The path of the learner's progress: `~/.attention-course/progress.json`, or what GRADER_PROGRESS names. None if
    nothing is to be kept (GRADER_PROGRESS=off) or a program runs the notebook."""
    named = os.environ.get("GRADER_PROGRESS", "")
    if named == OFF or not is_attended():
        return None
    return Path(named).expanduser() if named else Path.home() / ".attention-course" / "progress.json"
