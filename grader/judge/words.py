"""A result in words, for the student's feedback: the output of each check cell, a comment in the gradebook, notes on
the submission as a whole. It is in English unless another language is asked for, whoever runs this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import nh3

from grader.judge.clean_text import clean
from grader.judge.result import CONFINED, IN_BUBBLEWRAP, UNSAFE, SubmissionResult, TestResult
from grader.languages import ENGLISH, as_attribute, shown, speaking
from grader.markup import inline
from grader.printable import joined
from grader.report import ExerciseResult, PartResult, Stop
from grader.report.data import State, first_failure, unwritten
from grader.report.words import FINAL_STATES, begins, grouped, line_of, named_with_points, reasons, waiting
from grader.sentences import ended, say, together

BROKEN = "The check itself failed, not your code. Your teacher can see this and will look at it."
WITHOUT_SANDBOX = "Graded without a sandbox."
HELD_BY = {CONFINED: "The code ran confined.", IN_BUBBLEWRAP: "The code ran confined in bubblewrap."}
TESTS_FAILED_WITH_POINTS = "The tests did not pass: {mark} of {points} points"
TAGS = {"section", "h3", "p", "ul", "li", "code", "pre", "strong"}
COMMENT_BYTES = 4000


def as_text(result: ExerciseResult, language: str = ENGLISH) -> str:
    """One exercise's result as plain text, its parts and hints included."""
    with speaking(language):
        return "\n".join(_lines(result))


def _lines(result: ExerciseResult) -> Iterator[str]:
    yield shown(_with_points(result.name, result.mark, result.points))
    if result.broken:
        yield shown(BROKEN)
    said: set[str] = set()
    nothing = unwritten(result.parts)
    if nothing is not None:
        yield shown(nothing.message)
    for part, names in _judged(result) if nothing is None else ():
        if part.state is State.NOT_JUDGED:
            waits = say("not judged: {names}. {reason}", names=names, reason=say(waiting(part).past))
            yield " " * 8 + shown(waits)
        else:
            yield begins(part.state) + names
        if part.state is State.FAILED and part.message not in said:
            said.add(part.message)
            yield from (" " * 8 + line for line in shown(part.message).splitlines())
    yield from map(shown, reasons(result))
    yield from (shown(say("Hint: {hint}", hint=say(hint))) for hint in result.hints)
    if result.output:
        yield shown("Your code printed:")
        yield from ("    " + line for line in result.output.splitlines())


def _with_points(what: str, mark: float, points: float) -> str:
    return say("{what}: {mark} of {points} points", what=what, mark=f"{mark:g}", points=f"{points:g}")


def as_html(result: ExerciseResult, language: str = ENGLISH) -> str:
    """One exercise as HTML that holds nothing active, whatever the student's code said."""
    with speaking(language):
        head = escape(shown(_with_points(result.name, result.mark, result.points)))
        return f"<section{as_attribute()}><h3>{head}</h3>{findings(result, language)}</section>"


def findings(result: ExerciseResult, language: str = ENGLISH) -> str:
    """An exercise's findings as HTML that holds nothing active, without the line with its points."""
    with speaking(language):
        return nh3.clean("".join(_findings(result)), tags=TAGS, attributes={})


def _findings(result: ExerciseResult) -> Iterator[str]:
    if result.broken:
        yield f"<p><strong>{escape(shown(BROKEN))}</strong></p>"
    nothing = unwritten(result.parts)
    yield _rows(result) if nothing is None else f"<p>{inline(shown(nothing.message))}</p>"
    yield from (f"<p>{inline(shown(sentence))}</p>" for sentence in reasons(result, in_code=True))
    # Not folded, as in the notebook: the work is handed in, and paper doesn't unfold.
    yield from (f"<p><strong>{shown('Hint.')}</strong> {inline(shown(hint))}</p>" for hint in result.hints)
    if result.output:
        yield f"<p>{shown('What your code printed:')}</p><pre>{escape(result.output)}</pre>"


def cost(stop: Stop, exercises: Sequence[str]) -> str:
    """Which points an earlier cell's stop cost, as a sentence for a list."""
    stopped = say("A cell stopped at its {where}: {error}", where=line_of(stop), error=ended(stop.why))
    return together(stopped, say("This cost points in {exercises}.", exercises=joined(exercises)))


def test_as_html(test: TestResult, points: float, language: str = ENGLISH) -> str:  # noqa: PT028 (no test of pytest)
    """The result of a teacher's own test cell, worth `points`, as HTML that holds nothing active."""
    earned, possible = f"{test.mark(points):g}", f"{points:g}"
    template = "The tests passed: {mark} of {points} points" if test.passed else TESTS_FAILED_WITH_POINTS
    why = f"<pre>{escape(test.message)}</pre>" if test.message else ""
    with speaking(language):
        head = shown(say(template, mark=earned, points=possible))
    return nh3.clean(f"<section><h3>{head}</h3>{why}</section>", tags=TAGS, attributes={})


def said_of(test: TestResult) -> str:
    """A sentence on whether a teacher's own tests passed."""
    return say("The tests passed." if test.passed else "The tests did not pass.")


def _judged(result: ExerciseResult) -> Iterator[tuple[PartResult, str]]:
    """Each part, or the first of several that wait for the same thing, with their names. A name has the points that the
    part earned of those it could, "attends (0 of 1.41)", where it is worth anything by itself."""
    points = iter(result.part_points)
    for group in grouped(result.parts):
        named = []
        for part in group:
            earned, possible = next(points)
            named.append(shown(named_with_points(part, earned, possible)))
        yield group[0], "; ".join(named)


def _rows(result: ExerciseResult) -> str:
    rows, said = [], {""}
    for part, names in _judged(result):
        message = ""
        if part.state is State.NOT_JUDGED:
            message = f"<p>{inline(shown(waiting(part).past))}</p>"
        elif part.message not in said:
            message = f"<p>{inline(shown(part.message))}</p>"
            said.add(part.message)
        rows.append(f"<li><strong>{shown(FINAL_STATES[part.state])}</strong> {inline(names)}{message}</li>")
    return f"<ul>{''.join(rows)}</ul>"


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
    return HELD_BY.get(result.confinement, WITHOUT_SANDBOX)


def comment_on(exercise: ExerciseResult, result: SubmissionResult) -> str:
    """What a student reads beside the exercise, kept short: the check's own output has the rest."""
    said = preface(result) if result.unreadable or result.confinement == UNSAFE else []
    if exercise.broken:
        said.append(BROKEN)
    said += reasons(exercise)
    if not exercise.symptom:
        failed = first_failure(exercise.parts)
        said += [say("{part}: {message}", part=say(failed.name), message=failed.message)] if failed else []
    earned = say("{mark} of {points} points.", mark=f"{exercise.mark:g}", points=f"{exercise.points:g}")
    return clean(together(*said), COMMENT_BYTES) or earned
