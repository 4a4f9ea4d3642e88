"""Every check notices a right answer that is spoilt in a systematic way.

`make mutants` tries all ways on all exercises, some two thousand. Here each exercise is tried with the ways that depend
on how a check calls it, and not on what it compares.
"""

from __future__ import annotations

import pytest
import torch

from grader.authoring.model_solutions import model_solution
from grader.authoring.mutant_runs import equivalent
from grader.authoring.spoilt import spoilt, ways
from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject

TRIED = (
    "wrong where an input isn't contiguous",
    "remembers results by shape",
    "wrong on a second call that is the same",
    "overwrites what it gave before",
    "changes in place, a call later, ",
)
KNOWN = exercises()
NAMES = [name for name, exercise in KNOWN.items() if exercise.kind != "answers"]


@pytest.mark.parametrize("name", NAMES)
def test_a_spoilt_answer_is_noticed(name):
    namespace = {"__name__": "__main__"}
    exec(model_solution(KNOWN[name]), namespace)
    for way, code in ways(KNOWN[name]):
        if way.startswith(TRIED) and way not in equivalent().get(name, {}):
            answer = eval(code, {**namespace, "spoilt": spoilt})
            report = evaluate(KNOWN[name], LocalSubject({**namespace, name: answer}), explained=False)
            assert not report.broken, report.traceback
            assert not report.passed, way


def test_a_way_that_makes_no_difference_is_not_tried():
    masks = dict(ways(KNOWN["causal_mask"]))
    assert "squeezes T" in masks
    assert not any("contiguous" in way or "gradient" in way for way in masks)


def test_what_a_module_remembers_is_each_instances_own():
    namespace = {}
    exec(model_solution(KNOWN["FeedForward"]), namespace)
    remembering = spoilt(namespace["FeedForward"], "remembers the first result")
    x, one, other = torch.randn(2, 3, 4), remembering(4, 8), remembering(4, 8)
    assert one(x) is one(x + 1)
    assert one(x) is not other(x)
