"""Checks a subject against a specification and returns the report. Knows nothing of notebooks."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from grader.report import PartReport, Report
from grader.report.data import UNWRITTEN, first_failure
from grader.report.words import WAITING, FirstFix
from grader.sentences import say, together
from grader.spec import again
from grader.spec.accidents import accidents, beside
from grader.spec.diagnose import diagnose
from grader.spec.draw import Draw
from grader.spec.exclusions import reason
from grader.spec.exercise import Exercise, Finding, Mistake, not_judged
from grader.spec.forms import right_but_for_form
from grader.spec.narrow import narrow
from grader.spec.parts import changed_settings
from grader.spec.raised import place
from grader.spec.remarks import on_another_device
from grader.spec.session import PLAIN, Session
from grader.spec.states import hide_consequences
from grader.subject import Request, Subject
from grader.subject.forms import Form
from grader.subject.settings import under_torchs_own
from grader.subject.watch import warm_up

SECONDS = 10.0
# Findings that become the diagnosis when no listed mistake fits.
GENERAL_FINDINGS = frozenset(
    [
        "returns-nothing",
        "wrong-type",
        "wrong-shape",
        "not-finite",
        "changes-argument",
        "changes-setting",
        "gradient-cut",
        "wrong-gradient",
        "dtype-changed",
        "time-limit",
        "raised",
        "helper-not-written",
        "misbuilt",
        *again.KINDS,
    ]
)


@under_torchs_own
def evaluate(
    exercise: Exercise,
    subject: Subject,
    *,
    seed: str | bytes = "practice",
    larger: bool = False,
    seconds: float | None = None,
    exercises: Mapping[str, Exercise] | None = None,
    remarks: bool = False,
    explained: bool = True,
    earlier: dict[str, Report] | None = None,
) -> Report:
    """Check `exercise` in `subject`, within `seconds` (else the exercise's limit, else `SECONDS`).

    `seed` and `larger` decide which inputs are drawn. `exercises` has those that this one may build on, by name. With
    `remarks` a right answer is run as if on a GPU too. If not `explained`, the report of a wrong answer has its parts
    alone. `earlier` has the reports of exercises that failing ones build on, by name, and gets new ones: give it to the
    next check if no cell has run since.
    A fault of ours becomes `Report.traceback`, never a finding about the student's code.
    """
    session = None

    def draw() -> Draw:
        return Draw(seed.encode() + exercise.name.encode() if isinstance(seed, str) else seed, larger)

    try:
        warm_up()
        session = Session(exercise, subject, draw(), seconds or exercise.seconds or SECONDS)
        session, parts = _judged(session)
        if all(part.passed for part in parts):
            return _report(session, parts, remark=on_another_device(session) if remarks else "")
        if not explained:
            return _report(session, parts)
        report = _explain(session, parts, exercises or {}, {} if earlier is None else earlier)
        left = session.seconds_left

        def begin(form: Form) -> Session:
            return Session(exercise, subject, draw(), left, PLAIN, form)

        return right_but_for_form(session, report, begin, _judge_parts) or report
    except Exception:  # a fault of ours: what a student's code raises is inside an outcome
        output, broken = session.output if session else "", traceback.format_exc(limit=-4)
        return Report.of(exercise.name, exercise.points, (), output=output, traceback=broken)


def _judged(session: Session) -> tuple[Session, tuple[PartReport, ...]]:
    """The parts, and the check to explain them from. A call meets conditions that a right answer doesn't notice. Where
    something is wrong, it is judged again without them, so that what is found is about the exercise alone."""
    parts = _judge_parts(session)
    is_over = session.stopped is not None or any(part.kind in UNWRITTEN for part in parts)
    if all(part.passed for part in parts):
        found = again.after_right_answers(session)
    elif is_over or (session.wrong_anyway and not session.right_here):
        return session, parts
    else:
        plain = session.under(PLAIN)
        plain_parts = _judge_parts(plain)
        if plain.stopped is not None:
            return session, parts
        if not all(part.passed for part in plain_parts):
            return plain, plain_parts
        found = again.noticed(session, lambda other: first_failure(_judge_parts(other)))
        if found is None:  # nothing that happens each time
            return session, parts
        session, parts = plain, plain_parts
    return session, (*parts, _result(*found)) if found is not None else parts


def _judge_parts(session: Session) -> tuple[PartReport, ...]:
    exercise = session.exercise
    findings = hide_consequences(session, [session.judge(part) for part in exercise.parts])
    results = [_result(p.name, p.weight, found) for p, found in zip(exercise.parts, findings, strict=True)]
    runs = session.ran and not any(found is not None and found.kind in UNWRITTEN for found in findings)
    for exclusion in exercise.excluded:
        call = session.excluded_call if session.excluded_call and exclusion.matches(session.excluded_call) else None
        finding = None if runs else not_judged("runs-first")
        if call is not None:
            where = place(session.excluded_at, exercise.name)
            finding = Finding("excluded-function", reason(call, exclusion, where))
        results.append(_result(say("does without {what}", what=say(exclusion.title)), 0, finding))
    changed = changed_settings(session.settings)
    if changed is not None:
        results.append(_result("leaves torch's own settings as they were", 0.5, changed))
    return tuple(results)


def _result(name: str, weight: float, finding: Finding | None) -> PartReport:
    if finding is None:
        return PartReport(name, True, weight)
    return PartReport(
        name,
        False,
        weight,
        finding.kind,
        finding.message,
        finding.kind not in WAITING,
        finding.got,
        finding.expected,
        finding.hints,
    )


def _report(session: Session, results: tuple[PartReport, ...], **explanation: object) -> Report:
    exercise = session.exercise
    return Report.of(
        exercise.name,
        exercise.points,
        results,
        forfeited=session.excluded_call is not None,
        output=session.output,
        **explanation,
    )


def _explain(
    session: Session, results: tuple[PartReport, ...], exercises: Mapping[str, Exercise], earlier: dict[str, Report]
) -> Report:
    """The report of a failure: the excluded call, the likely mistake, or the earlier exercise that causes it. Where no
    mistake is known, hints say what is right and what is wrong."""
    if session.excluded_call is not None:
        return _report(session, results, diagnosis="excluded-function")
    first = first_failure(results)
    assert first is not None
    if first.kind in UNWRITTEN or session.exercise.kind == "answers":
        return _report(session, results, diagnosis=_general(results), hints=first.hints)
    if first.kind in again.KINDS:
        return _report(session, results, diagnosis=_general(results), hints=first.hints)
    if session.stopped is not None:
        return _report(session, results, diagnosis=_general(results), hints=narrow(session, first))
    mistake = diagnose(session)
    also = next(beside(session, mistake), None) if mistake is not None else None
    fix, why, fix_report = _failing_exercise(session, exercises, earlier)
    # A helper's own failure explains more than an accident in the code that calls it.
    if mistake is None and fix_report is not None:
        mistake = Mistake(fix_report.diagnosis or "", fix_report.symptom, fix_report.hints)
    elif mistake is None and not fix:
        mistake = next(accidents(session, first.kind), None)
    if mistake is None:
        mistake = Mistake("", "", first.hints or (() if fix else narrow(session, first)))
    return _report(
        session,
        results,
        diagnosis=mistake.id or _general(results),
        symptom=together(mistake.symptom, _or_also(also)),
        hints=(*mistake.hints, *(also.hints if also is not None else ())),
        first_fix=fix,
        first_fix_why=why,
    )


def _or_also(also: Mistake | None) -> str:
    return "" if also is None else say("Or `{mistake}`: {symptom}", mistake=also.id, symptom=say(also.symptom))


def _general(results: tuple[PartReport, ...]) -> str | None:
    """The kind of the first general finding, which is the diagnosis where no mistake is known; None if there is
    none."""
    return next((r.kind for r in results if r.kind in GENERAL_FINDINGS), None)


def _failing_exercise(
    session: Session, exercises: Mapping[str, Exercise], earlier: dict[str, Report]
) -> tuple[str, str, Report | None]:
    """The name of the first exercise that the student's code calls and that fails its own check, why, and its report
    (None if it isn't defined). If that failure comes from an exercise that it calls, then that one's name and reason.
    "" twice and None if there is none."""
    uses = set(session.description.get("uses", ()))
    for name in session.exercise.builds_on:
        if name not in exercises or name not in uses:
            continue
        if session.ask(Request("describe", name)).status == "missing":
            return name, FirstFix.MISSING, None
        if name not in earlier:
            earlier[name] = evaluate(exercises[name], session.subject, exercises=exercises, earlier=earlier)
        report = earlier[name]
        if not report.passed and not report.broken:
            why = FirstFix.UNWRITTEN if report.unwritten is not None else FirstFix.FAILING
            return report.first_fix or name, report.first_fix_why or why, report
    return "", "", None
