"""The build: lessons/ (text) -> solutions/ (executed notebooks) -> notebooks/ (the students').

Needs the `dev` extra (jupytext, nbclient), so nothing outside this package imports it at the top of a module.
"""

from grader.authoring.builder import build
from grader.authoring.repository import Repository, find_root
from grader.authoring.verify import verify

__all__ = ["Repository", "build", "find_root", "verify"]
