"""What a check found: plain data (`data`), as text (`text`) and as HTML (`html`)."""

from grader.report.data import PartReport, Report

__all__ = ["PartReport", "Report"]
