"""A result in words, for the student's feedback: the output of each check cell, a comment in the gradebook, notes on
the submission as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import nh3

from grader.judge.clean_text import clean
from grader.judge.result import UNSAFE, ExerciseResult, PartResult, Stop, SubmissionResult, TestResult
from grader.markup import inline
from grader.printable import joined
from grader.report.words import (
    MARKS,
    NOT_JUDGED,
    first_failure,
    first_fix,
    grouped,
    had_to_come,
    looks_like,
    unwritten,
)

BROKEN = "The check itself failed, not your code. Your teacher can see this and will look at it."
WITHOUT_SANDBOX = "Graded without a sandbox."
TAGS = {"section", "h3", "p", "ul", "li", "code", "pre", "strong"}
COMMENT_BYTES = 4000


def as_text(result: ExerciseResult) -> str:
    """One exercise's result as plain text, its parts and hints included."""
    lines = [f"{result.name}: {result.mark:g} of {result.points:g} points"]
    if result.broken:
        lines.append(BROKEN)
    said: set[str] = set()
    nothing = unwritten(result.parts)
    if nothing is not None:
        lines.append(nothing.message)
    for part, names in _judged(result) if nothing is None else ():
        if part.state == NOT_JUDGED:
            lines.append(f"        not judged, {had_to_come(part)}: {names}")
        else:
            lines.append(f"  {MARKS[part.state]}  {names}")
        if part.state == "failed" and part.message not in said:
            said.add(part.message)
            lines += ["        " + line for line in part.message.splitlines()]
    lines += _reasons(result)
    lines += [f"Hint: {hint}" for hint in result.hints]
    if result.output:
        lines += ["Your code printed:", *("    " + line for line in result.output.splitlines())]
    return "\n".join(lines)


def _reasons(result: ExerciseResult) -> Iterator[str]:
    """A sentence each on what else has to be mended first, what a second check gave, and which mistake it looks like;
    none where there is nothing of the kind."""
    if result.first_fix:
        yield first_fix(result.name, result.first_fix, result.first_fix_why)
    if result.stop:
        yield stopped(result.stop)
    if result.carried:
        yield carried(result)
    if result.symptom:
        yield looks_like(result.diagnosis, result.symptom)


def as_html(result: ExerciseResult) -> str:
    """One exercise as HTML that holds nothing active, whatever the student's code said."""
    head = f"<h3>{escape(result.name)}: {result.mark:g} of {result.points:g} points</h3>"
    return f"<section>{head}{findings(result)}</section>"


def findings(result: ExerciseResult) -> str:
    """An exercise's findings as HTML that holds nothing active, without the line with its points."""
    parts = []
    if result.broken:
        parts.append(f"<p><strong>{escape(BROKEN)}</strong></p>")
    nothing = unwritten(result.parts)
    parts.append(_rows(result) if nothing is None else f"<p>{inline(nothing.message)}</p>")
    if result.first_fix:
        parts.append(f"<p>{inline(first_fix(result.name, result.first_fix, result.first_fix_why))}</p>")
    if result.stop:
        parts.append(f"<p>{inline(stopped(result.stop))}</p>")
    if result.carried:
        parts.append(f"<p>{inline(carried(result))}</p>")
    if result.symptom:
        parts.append(f"<p>{inline(looks_like(f'`{result.diagnosis}`', result.symptom))}</p>")
    # Not folded, as in the notebook: the work is handed in, and paper doesn't unfold.
    parts += [f"<p><strong>Hint.</strong> {inline(hint)}</p>" for hint in result.hints]
    if result.output:
        parts.append(f"<p>What your code printed:</p><pre>{escape(result.output)}</pre>")
    return nh3.clean("".join(parts), tags=TAGS, attributes={})


def stopped(stop: Stop) -> str:
    """Why a name is missing that an earlier cell would have defined, as sentences."""
    where = f"line {stop.line_number}, `{stop.line}`" if stop.line else f"line {stop.line_number}"
    why = stop.why.rstrip(".")
    return f"A name is missing here because an earlier cell stopped at its {where}. The error was this: {why}."


def cost(stop: Stop, exercises: Sequence[str]) -> str:
    """Which points an earlier cell's stop cost, as a sentence for a list."""
    where = f"line {stop.line_number}, `{stop.line}`" if stop.line else f"line {stop.line_number}"
    return f"A cell stopped at its {where}: {stop.why.rstrip('.')}. This cost points in {joined(exercises)}."


def carried(result: ExerciseResult) -> str:
    """What a second check gave, as a sentence; for a result with a `carried` share."""
    names = " and ".join(f"`{name}`" for name in result.carried_with)
    points = round(result.points * result.carried, 2)
    return f"Another check with the course's own {names} adds {points:g} point{'s' if points != 1 else ''}."


def test_as_html(test: TestResult, points: float) -> str:
    """The result of a teacher's own test cell, worth `points`, as HTML that holds nothing active."""
    head = f"<h3>{said_of(test)}: {test.mark(points):g} of {points:g} points</h3>"
    why = f"<pre>{escape(test.message)}</pre>" if test.message else ""
    return nh3.clean(f"<section>{head}{why}</section>", tags=TAGS, attributes={})


def said_of(test: TestResult) -> str:
    """A sentence, without its full stop, on whether a teacher's own tests passed."""
    return "The tests passed" if test.passed else "The tests did not pass"


def _judged(result: ExerciseResult) -> Iterator[tuple[PartResult, str]]:
    """Each part, or the first of several that wait for the same thing, with their names. A name has the points that the
    part earned of those it could, "attends (0 of 1.41)", where it is worth anything by itself."""
    points = iter(result.part_points)
    for group in grouped(result.parts):
        named = []
        for part in group:
            earned, possible = next(points)
            named.append(f"{part.name} ({earned:g} of {possible:g})" if possible else part.name)
        yield group[0], "; ".join(named)


def _rows(result: ExerciseResult) -> str:
    rows, said = [], {""}
    for part, names in _judged(result):
        message = ""
        if part.state == NOT_JUDGED:
            message = f"<p>{inline(_sentence(had_to_come(part)))}</p>"
        elif part.message not in said:
            message = f"<p>{inline(part.message)}</p>"
            said.add(part.message)
        state = "not judged" if part.state == NOT_JUDGED else part.state
        rows.append(f"<li><strong>{state}</strong> {inline(names)}{message}</li>")
    return f"<ul>{''.join(rows)}</ul>"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def preface(result: SubmissionResult) -> list[str]:
    """Sentences about the submission as a whole, such as why nothing was graded; none where there is nothing to say."""
    said = []
    if result.unreadable:
        said.append(result.unreadable)
    if result.confinement == UNSAFE:
        said.append(WITHOUT_SANDBOX)
    said += [cost(stop, exercises) for stop, exercises in result.stops.items()]
    return [*said, *(clean(sentence, 300) for sentence in result.notes)]


def footer(result: SubmissionResult) -> str:
    """How the submission's code was held, as the last line of the feedback."""
    return WITHOUT_SANDBOX if result.confinement == UNSAFE else f"The code ran {result.confinement}."


def comment_on(exercise: ExerciseResult, result: SubmissionResult) -> str:
    """What a student reads beside the exercise, kept short: the check's own output has the rest."""
    said = preface(result) if result.unreadable or result.confinement == UNSAFE else []
    if exercise.broken:
        said.append(BROKEN)
    said += _reasons(exercise)
    if not exercise.symptom:
        failed = first_failure(exercise.parts)
        said += [f"{failed.name}: {failed.message}"] if failed else []
    return clean(" ".join(said), COMMENT_BYTES) or f"{exercise.mark:g} of {exercise.points:g} points."
