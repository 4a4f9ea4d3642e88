"""A result in words, for the student's feedback: the output of each check cell, a comment in the gradebook, notes on
the submission as a whole."""

from __future__ import annotations

from html import escape

import nh3

from grader.judge.clean_text import clean
from grader.judge.result import UNSAFE, ExerciseResult, SubmissionResult
from grader.markup import inline

BROKEN = "The check itself failed, not your code. Your teacher can see this and will look at it."
WITHOUT_SANDBOX = "Graded without a sandbox."
TAGS = {"section", "h3", "p", "ul", "li", "code", "pre", "strong"}
COMMENT_BYTES = 4000


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
        message = f"<p>{inline(part.message)}</p>" if part.message not in told else ""
        told.add(part.message)
        rows.append(f"<li><strong>{word}</strong> {inline(part.name)}{message}</li>")
    parts.append(f"<ul>{''.join(rows)}</ul>")
    if result.first_fix:
        parts.append(f"<p>First mend <code>{escape(result.first_fix)}</code>: it does not pass its own check yet.</p>")
    if result.symptom:
        parts.append(f"<p>It looks like <code>{escape(result.diagnosis or '')}</code>: {inline(result.symptom)}</p>")
    # Not folded, as in the notebook: the work is handed in, and nbconvert's style sheet hides that something unfolds.
    parts += [f"<p><strong>Hint.</strong> {inline(hint)}</p>" for hint in result.hints]
    if result.output:
        parts.append(f"<p>What your code printed:</p><pre>{escape(result.output)}</pre>")
    parts.append("</section>")
    return nh3.clean("".join(parts), tags=TAGS, attributes={})


def preface(result: SubmissionResult) -> list[str]:
    """Sentences about the submission as a whole."""
    said = []
    if result.unreadable:
        said.append(result.unreadable)
    if result.confinement == UNSAFE:
        said.append(WITHOUT_SANDBOX)
    return [*said, *(clean(sentence, 300) for sentence in result.notes)]


def footer(result: SubmissionResult) -> str:
    """How the submission's code was held, as the last line of the feedback."""
    return WITHOUT_SANDBOX if result.confinement == UNSAFE else f"The code ran {result.confinement}."


def comment_on(exercise: ExerciseResult, result: SubmissionResult) -> str:
    """What a student reads beside the exercise, short: the check's own output has the rest."""
    said = preface(result) if result.unreadable or result.confinement == UNSAFE else []
    if exercise.broken:
        said.append(BROKEN)
    if exercise.first_fix:
        said.append(f"First mend {exercise.first_fix}.")
    if exercise.symptom:
        said.append(f"It looks like {exercise.diagnosis}: {exercise.symptom}")
    else:
        failed = next((part for part in exercise.parts if not part.passed), None)
        said += [f"{failed.name}: {failed.message}"] if failed else []
    return clean(" ".join(said), COMMENT_BYTES) or f"{exercise.mark:g} of {exercise.points:g} points."
