"""The build: lessons/ (text) -> solutions/ (executed notebooks) -> notebooks/ (the students').

Needs the `dev` extra (jupytext, nbclient), so nothing outside this package imports it at the top of a module.
"""

from grader.build.builder import build
from grader.build.course import Course, find_root
from grader.build.outdated import check

__all__ = ["Course", "build", "check", "find_root"]
