"""What a check found: plain data (`data`), as text (`text`) and as HTML (`html`)."""

from grader.report.data import ExerciseResult, PartReport, PartResult, Report, Stop

__all__ = ["ExerciseResult", "PartReport", "PartResult", "Report", "Stop"]
