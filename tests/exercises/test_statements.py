"""A sentence that isn't true is found: the predicates of `tests/exercises/statements.py` can fail. What reports say of
slips that nobody listed is true, too."""

from __future__ import annotations

import re

import pytest

from grader.authoring.mutants import derive
from grader.authoring.mutations import CUT
from grader.authoring.samples import Sample
from grader.exercises.registry import exercises
from grader.report import PartReport, Report
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject
from tests.exercises.statements import untrue

ZEROS = "import torch\ndef attention_scores(query, key):\n    return 0 * (query @ key.mT)\n"
FALSE = [
    "`attention_scores` must be rounding float64 to float32 on the way.",
    "The rows of `weights` should sum to one, but one of them sums to 1.",
    "Every entry of the result is 1 times the expected one.",
    "In “a batch”, the first wrong entry is 0.25 at index [0, 1], but 0.25 is expected.",
    "The result is 2.5, expected 2.5 (one sequence).",
    "The result is nearly right everywhere, off by 0% at most. Only a detail differs.",
    "The numbers are right, but not the form in which they come back.",
    "the same arguments give another result in each call, because your code draws random numbers.",
]


@pytest.mark.parametrize("sentence", FALSE)
def test_a_false_sentence_is_found(sentence):
    sample = Sample("attention_scores", "zeros", "-", ZEROS)
    report = Report.of("attention_scores", 2, (PartReport("scores one sequence", False, 3, "wrong-values", sentence),))
    assert untrue(report, sample) == [sentence]


MUTANTS = 8  # of each exercise: small changes to its model solution, some of them named, most of them not
NAMES = [name for name, exercise in exercises().items() if exercise.kind != "answers"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_mutants_is_true(name):
    made = [mutant for mutant in derive(exercises()[name]) if not re.search(rf"\b(?:{CUT}|spoilt)\b", mutant.source)]
    for mutant in made[:: max(len(made) // MUTANTS, 1)]:
        namespace = {"__name__": "__main__"}
        try:
            exec(mutant.source, namespace)
        except Exception:  # the cell itself raises
            continue
        report = evaluate(exercises()[name], LocalSubject(namespace), seconds=2.0, exercises=exercises())
        assert not report.broken, (mutant.change, report.broken)
        assert untrue(report, Sample(name, mutant.change, "-", mutant.source)) == [], mutant.change
