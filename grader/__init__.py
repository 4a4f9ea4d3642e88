"""Checks that name the mistake a student made: `from grader import check`."""

from grader.checking import check
from grader.originals import reset, solution
from grader.report import Report

__all__ = ["Report", "check", "reset", "solution"]
