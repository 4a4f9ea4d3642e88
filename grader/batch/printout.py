"""What a run says at its end: a table for a reader, or one JSON document. The marks are the gradebook's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.batch.run import STOPPED, ClassOutcome
from grader.course.called import BY_ID, Called
from grader.insights.page import table
from grader.insights.summary import Summary, summarise
from grader.judge.result import UNSAFE, SubmissionMark
from grader.printable import joined, printable


def summary_of(outcome: ClassOutcome) -> Summary:
    """The results of a run's class, counted, with the points that the gradebook gives."""
    marks = _marks(outcome)
    return summarise([record.result for record in outcome.records.values()], [*marks.values()])


def _marks(outcome: ClassOutcome) -> dict[str, SubmissionMark]:
    """The marks by student, in the order of the records: the gradebook's, or the judge's where it could not be
    written."""
    return {who: outcome.marks.get(who) or record.result.by_judge() for who, record in outcome.records.items()}


def _judged(outcome: ClassOutcome) -> dict[str, float]:
    """By student, the judge's mark in points, where the gradebook has another one."""
    marks = _marks(outcome)
    judged = {who: record.result.mark_in(marks[who].cells) for who, record in outcome.records.items()}
    return {who: mark for who, mark in judged.items() if mark != marks[who].score}


def moved(outcome: ClassOutcome) -> list[tuple[str, tuple[float, float]]]:
    """The students whose mark is another one than before the run, each with the points before and after."""
    pairs = {
        who: (mark.score, outcome.marks[who].score) for who, mark in outcome.before.items() if who in outcome.marks
    }
    return sorted((who, (before, now)) for who, (before, now) in pairs.items() if before != now)


def as_text(outcome: ClassOutcome, called: Called = BY_ID) -> str:
    """What a run did, as text for a terminal, in which people are `called` so."""
    kept = len(outcome.records) - outcome.graded
    lines = [f"{outcome.lesson}: {outcome.graded} graded now, {kept} graded before, in {outcome.seconds:.1f} s"]
    if any(record.result.confinement == UNSAFE for record in outcome.records.values()):
        lines.append("Graded without a sandbox.")
    lines += [table(summary_of(outcome))] if outcome.records else ["Nobody has a mark yet."]
    marks = _marks(outcome)
    judged = {
        who: f"{marks[who].score:g}, but the judge gave {mark:g}{_late(marks[who])}"
        for who, mark in _judged(outcome).items()
    }
    lines += listed("with a mark in the gradebook that differs from the judge's", judged, called)
    lines += listed(
        "waiting to be marked by hand",
        {who: ", ".join(mark.by_hand) for who, mark in marks.items() if mark.by_hand},
        called,
    )
    lines += listed("handed work in more than once; the best hand-in counts", outcome.best, called)
    changes = {who: f"{a:g} → {b:g}" for who, (a, b) in moved(outcome)}
    lines += listed("whose mark has changed in this run", changes, called)
    if outcome.earlier:
        lines += [
            "",
            f"{len(outcome.earlier)} {'was' if len(outcome.earlier) == 1 else 'were'} graded before this changed: "
            f"{', '.join(outcome.changed)}. Their marks stay.",
            "To see what would change: grader regrade DIR LESSON --preview",
        ]
    if outcome.missing:
        lines += ["", f"{len(outcome.missing)} handed in nothing: {joined(map(called, outcome.missing))}"]
    if outcome.to_settle:
        names = joined(map(called, outcome.to_settle))
        lines += ["", f"{len(outcome.to_settle)} still to be settled (grader collect shows how): {names}"]
    left = _left(outcome)
    lines += listed("to look at", {who: why for who, why in outcome.problems.items() if who not in left}, called)
    ungraded = f"{len(left)} {'is' if len(left) == 1 else 'are'} not graded. {outcome.stopped}"
    return "\n".join([*lines, *(["", ungraded] if outcome.stopped else [])])


def _left(outcome: ClassOutcome) -> set[str]:
    """The students whose work a run that was stopped didn't come to; none if it wasn't stopped."""
    return {who for who, why in outcome.problems.items() if outcome.stopped and why == outcome.stopped}


def interrupted(outcome: ClassOutcome, force: bool) -> str:
    """What a run that Ctrl+C ended says in place of its table; "" for a run that ended otherwise. `force` is whether it
    was to grade all anew."""
    if outcome.stopped != STOPPED:
        return ""
    left = _left(outcome)
    kept = len(left & outcome.before.keys())
    said = f"Stopped. {outcome.lesson}: {outcome.graded} graded now and stored; {len(left)} left"
    said += f", {kept} of them with the mark that they had." if kept else "."
    return f"{said} Run the command again{' without --force' if force and kept else ''} to grade the rest."


def _late(mark: SubmissionMark) -> str:
    return f" (late: {-mark.penalty:g})" if mark.penalty else ""


def listed(what: str, students: Mapping[str, str], called: Called = BY_ID) -> list[str]:
    """Lines below a blank one: how many students there are of whom `what` is true, and of each, as they are `called`,
    what is said. Empty if there are no students."""
    if not students:
        return []
    rows = [f"  {printable(called(student))}: {printable(said)}" for student, said in sorted(students.items())]
    return ["", f"{len(students)} {what}:", *rows]


def as_json(outcome: ClassOutcome) -> dict[str, Any]:
    """What a run did as plain data, with every student's mark in points. `summary` is
    `grader.insights.summary.Summary`; `judge` has the judge's mark where the gradebook has another one."""
    marks = dict(sorted(_marks(outcome).items()))
    return {
        "lesson": outcome.lesson,
        "graded_now": outcome.graded,
        "seconds": outcome.seconds,
        "stopped": outcome.stopped,
        "summary": asdict(summary_of(outcome)),
        "marks": {student: mark.score for student, mark in marks.items()},
        "judge": dict(sorted(_judged(outcome).items())),
        "moved": dict(moved(outcome)),
        "graded_by_an_earlier_version": {"students": outcome.earlier, "changed": outcome.changed},
        "late_penalty": {student: mark.penalty for student, mark in marks.items() if mark.penalty},
        "needs_manual_grade": {student: mark.by_hand for student, mark in marks.items() if mark.by_hand},
        "best_of_several": dict(sorted(outcome.best.items())),
        "not_handed_in": outcome.missing,
        "to_settle": outcome.to_settle,
        "confinement": {student: record.result.confinement for student, record in sorted(outcome.records.items())},
        "problems": [{"student": student, "why": why} for student, why in sorted(outcome.problems.items())],
    }
