"""Whether somebody is at the notebook, or a program runs it: nbval, nbgrader, the build."""

from __future__ import annotations

from typing import Any

from grader.learner.earlier_run import shell


def is_attended() -> bool:
    """Whether whoever runs this cell could be asked something; true outside of a kernel. A front end for people passes
    on what `input()` asks and says so with each cell (`allow_stdin`), and a program that runs notebooks doesn't."""
    kernel: Any = getattr(shell(), "kernel", None)
    request = kernel.get_parent() if hasattr(kernel, "get_parent") else {}
    return bool(request.get("content", {}).get("allow_stdin", True))
