"""Checks a subject against a specification and returns the report. Knows nothing of notebooks."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from grader.report import PartReport, Report
from grader.spec.diagnose import diagnose
from grader.spec.draw import Draw
from grader.spec.exclusions import reason
from grader.spec.exercise import Exercise, Finding
from grader.spec.parts import changed_settings
from grader.spec.session import Session
from grader.subject import Request, Subject
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
        "misbuilt",
    ]
)


def evaluate(
    exercise: Exercise,
    subject: Subject,
    *,
    seed: str | bytes = "practice",
    larger: bool = False,
    seconds: float | None = None,
    earlier: Mapping[str, Exercise] | None = None,
) -> Report:
    """Check `exercise` in `subject`, within `seconds` (else the exercise's limit, else `SECONDS`).

    `seed` and `larger` decide which inputs are drawn. `earlier` has the exercises that this one may build on, by name.
    A fault of ours becomes `Report.broken`, never a finding about the student's code.
    """
    session = None
    try:
        warm_up()
        draw = Draw(seed.encode() + exercise.name.encode() if isinstance(seed, str) else seed, larger)
        session = Session(exercise, subject, draw, seconds or exercise.seconds or SECONDS)
        parts = _judge_parts(session)
        if all(part.passed for part in parts):
            return _report(session, parts)
        return _explain(session, parts, earlier or {})
    except Exception:  # a fault of ours: what a student's code raises is inside an outcome
        output, broken = session.output if session else "", traceback.format_exc(limit=-4)
        return Report(exercise.name, exercise.points, (), output=output, broken=broken)


def _judge_parts(session: Session) -> tuple[PartReport, ...]:
    results = []
    for part in session.exercise.parts:
        finding = part.judge(session)
        results.append(_result(part.name, part.weight, finding))
    for exclusion in session.exercise.excluded:
        call = session.excluded_call if session.excluded_call and exclusion.matches(session.excluded_call) else None
        finding = None if call is None else Finding("excluded-function", reason(call, exclusion))
        results.append(_result(f"does without {exclusion.title}", 0, finding))
    changed = changed_settings(session.settings)
    if changed is not None:
        results.append(_result("leaves torch's own settings as they were", 0.5, changed))
    return tuple(results)


def _result(name: str, weight: float, finding: Finding | None) -> PartReport:
    if finding is None:
        return PartReport(name, True, weight)
    return PartReport(name, False, weight, finding.message, finding.kind, finding.got, finding.expected, finding.hints)


def _report(session: Session, results: tuple[PartReport, ...], **explanation: object) -> Report:
    exercise = session.exercise
    return Report(
        exercise.name,
        exercise.points,
        results,
        forfeited=session.excluded_call is not None,
        output=session.output,
        **explanation,  # type: ignore[arg-type]
    )


def _explain(session: Session, results: tuple[PartReport, ...], earlier: Mapping[str, Exercise]) -> Report:
    """The report of a failure: the excluded call, the likely mistake, or the earlier exercise that causes it."""
    if session.excluded_call is not None:
        return _report(session, results, diagnosis="excluded-function")
    first = next(result for result in results if not result.passed)
    if session.stopped is not None or first.kind in ("missing", "not-written"):
        diagnosis = first.kind if first.kind in GENERAL_FINDINGS else None
        return _report(session, results, diagnosis=diagnosis, hints=first.hints)
    mistake = diagnose(session)
    first_fix, fix_report = _failing_exercise(session, earlier)
    if mistake is not None:
        return _report(
            session,
            results,
            diagnosis=mistake.id,
            symptom=mistake.symptom,
            hints=mistake.hints,
            first_fix=first_fix,
        )
    if fix_report is not None and fix_report.diagnosis is not None:
        return _report(
            session,
            results,
            diagnosis=fix_report.diagnosis,
            symptom=fix_report.symptom,
            hints=fix_report.hints,
            first_fix=first_fix,
        )
    kind = next((r.kind for r in results if r.kind in GENERAL_FINDINGS), None)
    return _report(session, results, diagnosis=kind, hints=first.hints, first_fix=first_fix)


def _failing_exercise(session: Session, earlier: Mapping[str, Exercise]) -> tuple[str, Report | None]:
    """The first exercise that the student's code calls and that fails its own check, with its report. If that failure
    comes from an exercise that it calls, then that one."""
    uses = set(session.description.get("uses", ()))
    for name in session.exercise.builds_on:
        if name not in earlier or name not in uses:
            continue
        if session.ask(Request("describe", name)).status == "missing":
            return name, None
        report = evaluate(earlier[name], session.subject, earlier=earlier)
        if not report.passed and not report.broken:
            return report.first_fix or name, report
    return "", None
