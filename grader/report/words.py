"""The words that a report and feedback share, looked up by ids. Without torch: the teacher's commands import it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from grader.languages import shown
from grader.printable import columns_of, padded
from grader.report.data import ExerciseResult, P, PartResult, Report, State, Stop
from grader.sentences import Several, ended, say, together

STATES = {State.PASSED: "passed", State.FAILED: "failed", State.NOT_JUDGED: "not judged yet"}
FINAL_STATES = {**STATES, State.NOT_JUDGED: "not judged"}  # in a mark, after which nothing is to come
MARKS = {State.PASSED: "ok", State.FAILED: "FAIL"}  # at the beginning of a line


class Waiting(NamedTuple):
    """Why a part isn't judged, in the words of a message, inside of a line, and of a mark that is final."""

    sentence: str
    reason: str
    past: str


# Findings that judge nothing, by kind: something else has to come first. Such a part is neither passed nor failed.
WAITING = {
    "waited": Waiting(
        "Not judged yet: time ran out before your code had used much processor time. Either the machine is busy, or "
        "your code waits, as it would in `time.sleep`. Run the check again.",
        "time ran out, since the machine is busy or your code waits; run the check again",
        "Time ran out before your code had used much processor time.",
    ),
    "not-run": Waiting(
        "Not judged yet: an earlier call did not finish.",
        "an earlier call did not finish",
        "An earlier call did not finish.",
    ),
    "written-first": Waiting(
        "Not judged yet: the code has to be written first.",
        "the code has to be written first",
        "The code had to be written first.",
    ),
    "runs-first": Waiting(
        "Not judged yet: the code has to run first.", "the code has to run first", "The code had to run first."
    ),
    "runs-longer-first": Waiting(
        "Not judged yet: the code has to run with few and with many tokens first.",
        "the code has to run with few and with many tokens first",
        "The code had to run with few and with many tokens first.",
    ),
    "gradients-first": Waiting(
        "Not judged yet: gradients have to flow first.", "gradients have to flow first", "Gradients had to flow first."
    ),
    "shape-first": Waiting(
        "Not judged yet: the shape of the result has to be right first.",
        "the shape of the result has to be right first",
        "The shape of the result had to be right first.",
    ),
    "values-first": Waiting(
        "Not judged yet: the values have to be right first.",
        "the values have to be right first",
        "The values had to be right first.",
    ),
    "tells-apart-first": Waiting(
        "Not judged yet: your code has to tell the plain cases apart first.",
        "your code has to tell the plain cases apart first",
        "Your code had to tell the plain cases apart first.",
    ),
    "statistics-first": Waiting(
        "Not judged yet: the statistics have to be right first.",
        "the statistics have to be right first",
        "The statistics had to be right first.",
    ),
    "not-answered": Waiting("Not judged yet: there is no answer.", "there is no answer", "There was no answer."),
    "not-judged": Waiting(
        "Not judged yet: something else has to be right first.",
        "something else has to be right first",
        "Something else had to be right first.",
    ),
}


class FirstFix(StrEnum):
    """Why an earlier exercise comes first."""

    MISSING = "missing"
    UNWRITTEN = "unwritten"
    FAILING = "failing"


_FIRST_FIX = {
    FirstFix.MISSING: (
        "`{name}` calls `{first}`, which is not defined.",
        "Run its cell, then check again.",
    ),
    FirstFix.UNWRITTEN: ("`{name}` calls `{first}`, which is not written yet.", "Write it first."),
    FirstFix.FAILING: ("`{name}` calls `{first}`, which does not pass its own check yet.", "First fix `{first}`."),
}
# What a log of course 0.2 has in place of the id.
_AS_OF_0_2 = {
    "is not defined": FirstFix.MISSING,
    "is not written yet": FirstFix.UNWRITTEN,
    "does not pass its own check yet": FirstFix.FAILING,
}


def grouped(parts: Sequence[P]) -> list[list[P]]:
    """The parts in groups: each by itself, but neighbours that wait for the same thing together."""
    groups: list[list[P]] = []
    for part in parts:
        waits = not part.passed and not part.judged
        if waits and groups and not groups[-1][0].judged and groups[-1][0].kind == part.kind:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def names_in(parts: Sequence[PartResult]) -> str:
    """The names of parts in a row, in the language that is spoken."""
    return "; ".join(shown(part.name) for part in parts)


def begins(state: State) -> str:
    """How a line of text on a part that was judged begins: with its state, in the language that is spoken, in a column
    that is as wide as the widest state."""
    words = {state: shown(word) for state, word in MARKS.items()}
    return f"  {padded(words[state], max(map(columns_of, words.values())))}  "


def waiting(part: PartResult) -> Waiting:
    """The words on what a part that is not judged yet waits for."""
    return WAITING.get(part.kind, WAITING["not-judged"])


def looks_like(mistake: str | None, symptom: str) -> str:
    """The sentence that names a mistake by its id: as it is on a terminal, in backquotes for a page."""
    return say("It looks like {mistake}: {symptom}", mistake=mistake, symptom=say(symptom))


def first_fix(exercise: str, first: str, why: str) -> str:
    """The sentences that say that the earlier exercise `first` comes before `exercise`; `why` is one of `FirstFix`."""
    reason, step = _FIRST_FIX[_AS_OF_0_2.get(why) or FirstFix(why)]
    return together(
        say(reason, name=exercise, first=first), say(step, **({"first": first} if "{first}" in step else {}))
    )


def first_fix_of(report: Report) -> str:
    """Which earlier exercise comes first, and why; empty if none does or if the first failure says it already."""
    said = first_fix(report.name, report.first_fix, report.first_fix_why) if report.first_fix else ""
    return "" if any(part.message == said for part in report.parts) else said


def reasons(result: ExerciseResult, in_code: bool = False, stops: bool = True) -> Iterator[str]:
    """A sentence each on what else has to be mended first, at which line an earlier cell stopped (if `stops`), what a
    second check gave, and which mistake it looks like; none where there is nothing of the kind. `in_code`: a mistake's
    id stands in backquotes, for a page."""
    if result.first_fix:
        yield first_fix(result.name, result.first_fix, result.first_fix_why)
    if result.stop and stops:
        yield _stopped(result.stop)
    if result.carried:
        yield _carried(result)
    if result.symptom:
        yield looks_like(f"`{result.diagnosis}`" if in_code else result.diagnosis, result.symptom)


def _stopped(stop: Stop) -> str:
    """Why a name is missing that an earlier cell would have defined, as sentences."""
    missing = "A name is missing here because an earlier cell stopped at its {where}."
    return together(say(missing, where=line_of(stop)), say("The error was this: {error}", error=ended(stop.why)))


def line_of(stop: Stop) -> str:
    """The line at which a cell stopped, inside of a sentence."""
    if stop.line:
        return say("line {number}, `{line}`", number=stop.line_number, line=stop.line)
    return say("line {number}", number=stop.line_number)


def _carried(result: ExerciseResult) -> str:
    """What a second check gave, as a sentence; for a result with a `carried` share."""
    names = Several(f"`{name}`" for name in result.carried_with)
    points = f"{round(result.points * result.carried, 2):g}"
    return say("Another check with the course's own {names} adds {points} to the points.", names=names, points=points)


def named_with_points(part: PartResult, earned: float, possible: float) -> str:
    """A part's name, with the points that it earned of those it could where it is worth anything by itself."""
    if not possible:
        return say(part.name)
    return say("{part} ({mark} of {points})", part=say(part.name), mark=f"{earned:g}", points=f"{possible:g}")
