"""Turns a report made on secret inputs into what a student may read.

Whether a part passed, its kind of failure and the named mistake come from the secret inputs. Every word that could
carry anything of an input (shapes, exceptions' messages, printed text) comes from the practice inputs, which a student
has anyway.
"""

from __future__ import annotations

from grader.judge.clean_text import clean
from grader.report import ExerciseResult, PartReport, PartResult, Report, Stop
from grader.report.words import WAITING
from grader.subject import Raised

GENERAL = "Your code passes on the practice inputs but not on others. It must work for all sizes and values."
BY_KIND = {
    "time-limit": "Your code did not finish in time and was stopped. Look for a loop that never ends.",
    "died": "The process that ran your code ended in the middle of the call (it used too much memory, "
    "opened too many files, or your code ended it).",
    "too-large": "Your code returned more than the check can look at.",
    "missing": "What the exercise asks for was not defined when it was checked.",
    "not-written": "Your answer is not written yet.",
    "excluded-function": "Your code uses something that this exercise asks you to do without, so it earns nothing.",
    "full-matrix": "Your code makes a tensor as large as the whole matrix of scores, which doesn't fit in memory for "
    "long sequences.",
    **{kind: waiting.sentence for kind, waiting in WAITING.items()},
}
MESSAGE_BYTES = 1500
STOP_BYTES = 200  # of each text of a stop


def judged(report: Report, practice: Report | None, printed: str, output_bytes: int) -> ExerciseResult:
    """The result of one exercise from its `report` on the secret inputs. `practice` is the report on the practice
    inputs, None where there is none; `printed` is what the student's code printed, of which at most `output_bytes`
    bytes are kept."""
    seen = {part.name: part for part in practice.parts} if practice is not None else {}
    return ExerciseResult(
        name=report.name,
        points=report.points,
        score=_valid(report.score),
        parts=tuple(_part(part, seen.get(part.name)) for part in report.parts),
        diagnosis=report.diagnosis,
        symptom=report.symptom,
        hints=report.hints if report.symptom else practice.hints if practice is not None else (),
        first_fix=report.first_fix,
        first_fix_why=report.first_fix_why,
        output=clean(printed, output_bytes),
        broken=report.broken,
    )


def stop_of(raised: Raised) -> Stop:
    """The error at which a cell stopped, as it is told: what a student's code raised, and no more of it than fits in a
    sentence."""
    line, error, message = (clean(text, STOP_BYTES) for text in (raised.line, raised.name, raised.message))
    return Stop(raised.line_number, line, error, message)


def _valid(score: float) -> float:
    """The score as a number from 0 to 1; 0 for anything else, whatever made it."""
    return float(score) if isinstance(score, float | int) and 0.0 <= score <= 1.0 else 0.0


def _part(part: PartReport, practice: PartReport | None) -> PartResult:
    if part.passed:
        return PartResult(part.name, True, part.weight)
    seen = practice is not None and practice.state == part.state
    message = practice.message if practice is not None and seen else BY_KIND.get(part.kind, GENERAL)
    return PartResult(part.name, False, part.weight, part.kind, clean(message, MESSAGE_BYTES), part.judged)
