"""A sentence that isn't true is found: the predicates of `tests/exercises/statements.py` can fail."""

from __future__ import annotations

import pytest

from grader.authoring.samples import Sample
from grader.report import PartReport, Report
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
