"""What a check found: plain data (`data`), written as text (`text`) and drawn in a notebook (`html`)."""

from grader.report.data import PartReport
from grader.report.report import CheckFailed, Report

__all__ = ["CheckFailed", "PartReport", "Report"]
