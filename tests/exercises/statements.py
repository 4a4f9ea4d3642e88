"""What reports say of why an answer is wrong, and a predicate of its own for each sentence: it is true, or not said.

`tests/exercises/test_submissions.py` asks it about every report on every sample, most of which have other mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from grader.authoring.samples import Sample
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.draw import Draw
from grader.subject import Request
from grader.subject.local import LocalSubject
from grader.subject.values import tensors_in

Predicate = Callable[[re.Match[str], Report, Sample], bool]


def _differ(match: re.Match[str], _report: Report, _sample: Sample) -> bool:
    """Whether the two numbers, or words, of a sentence are different."""
    return match[1] != match[2]


def _is_not(number: float) -> Predicate:
    return lambda match, _report, _sample: float(match[1].rstrip(".").replace(",", "")) != number


def _rounds(_match: re.Match[str], _report: Report, sample: Sample) -> bool:
    """Whether float64 results are right to the digits of float32 and no further, in a call of our own."""
    exercise = exercises()[sample.exercise]
    case = next(case for case in exercise.cases(Draw("statements")) if case.name == "float64")
    subject = LocalSubject({"__name__": "__main__"})
    subject.ask(Request("run", source=sample.source))
    assert exercise.reference is not None
    right = tensors_in(exercise.reference(*case.args.values()))
    got = tensors_in(subject.ask(Request("call", sample.exercise, tuple(case.args.values()))).value)
    off = [float((g.double() - r).abs().max() / r.abs().max()) for g, r in zip(got, right, strict=True)]
    return 1e-10 < max(off) < 1e-3


def _only_the_message(_match: re.Match[str], report: Report, _sample: Sample) -> bool:
    """Whether a wrong input got through, or another exception was raised: more than the text of a message is wrong."""
    return not any("The message should name" in part.message for part in report.parts if part.judged)


def _values_pass(_match: re.Match[str], report: Report, sample: Sample) -> bool:
    """Whether the first part that compares values passes."""
    first = next(part.name for part in exercises()[sample.exercise].parts if part.compares_values)
    return any(part.name == first and part.passed for part in report.parts)


def _draws(_match: re.Match[str], _report: Report, sample: Sample) -> bool:
    return re.search(r"dropout|rand|multinomial|bernoulli|normal_|nn\.Linear", sample.source) is not None


STATEMENTS: dict[str, Predicate] = {
    r"must be rounding float64 to float32": _rounds,
    r"should sum to one, but one of them sums to (\S+)": _is_not(1),
    r"is (\S+) times the expected one": _is_not(1),
    r"first wrong entry is (\S+) at index .*, but (\S+) is expected": _differ,
    r" is (\S+), expected (\S+) \(": _differ,
    r"off by the same amount, (\S+)": _is_not(0),
    r"off by (\S+)% at most": _is_not(0),
    r"Print what that line compares": _only_the_message,
    r"The numbers are right, but not the form": _values_pass,
    r"because your code draws random numbers": _draws,
}


def said(report: Report) -> Iterator[str]:
    """Every text of a report."""
    yield report.symptom
    yield from report.hints
    for part in report.parts:
        yield part.message
        yield from part.hints


def untrue(report: Report, sample: Sample) -> list[str]:
    """The sentences of a report that aren't true."""
    return [
        text
        for text in said(report)
        for pattern, is_true in STATEMENTS.items()
        if (match := re.search(pattern, text)) is not None and not is_true(match, report, sample)
    ]
