"""Turns a report made on secret inputs into what a student may read.

Whether a part passed, its kind of failure and the named mistake come from the secret inputs. Every word that could
carry anything of an input (shapes, exceptions' messages, printed text) comes from the practice inputs, which a student
has anyway.
"""

from __future__ import annotations

from html import escape

import nh3

from grader.judge.clean_text import clean
from grader.judge.result import ExerciseResult, PartResult, SubmissionResult
from grader.report import PartReport, Report

GENERAL = "Passes on the practice inputs, but not on others: it must work for all sizes and values."
BY_KIND = {
    "time-limit": "It did not finish in time and was stopped. Look for a loop whose end is never reached.",
    "died": "The process that ran it ended in the middle of the call (out of memory, or by itself).",
    "not-run": "Not run: an earlier call did not come to an end.",
    "missing": "It was not defined when it was checked.",
    "not-written": "It is not written yet.",
    "excluded-function": "It uses what this exercise asks you to do without, so it earns nothing.",
    "values-first": "Not judged yet: the values come first.",
}
BROKEN = "The check itself failed, not your code. Your teacher can see this and will look at it."
MESSAGE_BYTES = 1500
TAGS = {"section", "h3", "p", "ul", "li", "code", "pre", "strong"}


def judged(report: Report, practice: Report | None, printed: str, output_bytes: int) -> ExerciseResult:
    """The result of one exercise; `practice` is the report on the practice inputs, where there is one."""
    told = {part.name: part for part in practice.results} if practice is not None else {}
    return ExerciseResult(
        name=report.exercise,
        points=report.points,
        score=_valid(report.score),
        parts=tuple(_part(part, told.get(part.name)) for part in report.results),
        diagnosis=report.diagnosis,
        symptom=report.symptom,
        hints=report.hints if report.symptom else practice.hints if practice is not None else (),
        first_fix=report.first_fix,
        output=clean(printed, output_bytes),
        broken=bool(report.broken),
    )


def _valid(score: float) -> float:
    """A score is a number from 0 to 1, whatever made it."""
    return float(score) if isinstance(score, float | int) and 0.0 <= score <= 1.0 else 0.0


def _part(part: PartReport, practice: PartReport | None) -> PartResult:
    if part.passed:
        return PartResult(part.name, True, part.weight)
    told = practice is not None and not practice.passed
    message = practice.message if practice is not None and told else BY_KIND.get(part.kind, GENERAL)
    return PartResult(part.name, False, part.weight, part.kind, clean(message, MESSAGE_BYTES))


def as_text(result: ExerciseResult) -> str:
    """One exercise as plain text."""
    lines = [f"{result.name}: {result.mark:g} of {result.points:g} points"]
    if result.broken:
        lines.append(BROKEN)
    told: set[str] = set()
    for part in result.parts:
        lines.append(f"  {'ok  ' if part.passed else 'FAIL'}  {part.name}")
        if not part.passed and part.message not in told:
            told.add(part.message)
            lines += ["        " + line for line in part.message.splitlines()]
    if result.first_fix:
        lines.append(f"First mend {result.first_fix}: it does not pass its own check yet, and {result.name} calls it.")
    if result.symptom:
        lines.append(f"It looks like {result.diagnosis}: {result.symptom}")
    lines += [f"Hint: {hint}" for hint in result.hints]
    if result.output:
        lines += ["Your code printed:", *("    " + line for line in result.output.splitlines())]
    return "\n".join(lines)


def as_html(result: ExerciseResult) -> str:
    """One exercise as HTML that holds nothing active, whatever the student's code said."""
    parts = [f"<section><h3>{escape(result.name)}: {result.mark:g} of {result.points:g} points</h3>"]
    if result.broken:
        parts.append(f"<p><strong>{escape(BROKEN)}</strong></p>")
    rows, told = [], {""}
    for part in result.parts:
        word = "passed" if part.passed else "failed"
        message = f"<p>{_inline(part.message)}</p>" if part.message not in told else ""
        told.add(part.message)
        rows.append(f"<li><strong>{word}</strong> {_inline(part.name)}{message}</li>")
    parts.append(f"<ul>{''.join(rows)}</ul>")
    if result.first_fix:
        parts.append(f"<p>First mend <code>{escape(result.first_fix)}</code>: it does not pass its own check yet.</p>")
    if result.symptom:
        parts.append(f"<p>It looks like <code>{escape(result.diagnosis or '')}</code>: {_inline(result.symptom)}</p>")
    # Not folded, as in the notebook: the work is handed in, and nbconvert's style sheet hides that something unfolds.
    parts += [f"<p><strong>Hint.</strong> {_inline(hint)}</p>" for hint in result.hints]
    if result.output:
        parts.append(f"<p>What your code printed:</p><pre>{escape(result.output)}</pre>")
    parts.append("</section>")
    return nh3.clean("".join(parts), tags=TAGS, attributes={})


def preface(result: SubmissionResult) -> list[str]:
    """Sentences about the submission as a whole."""
    said = []
    if result.unreadable:
        said.append(result.unreadable)
    if not result.sandboxed:
        said.append("Graded without a sandbox.")
    return [*said, *(clean(sentence, 300) for sentence in result.notes)]


def _inline(text: str) -> str:
    """Escapes text and turns its `code` into code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
