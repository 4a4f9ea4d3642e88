"""Lesson 10's hunt through the judge: the boxes aren't there, and what a learner does with them must not cost marks."""

from __future__ import annotations

import re

import pytest

from grader.authoring.model_solutions import cells
from grader.exercises.registry import exercises
from grader.judge.inside import grader_stub
from grader.judge.outline import Outline
from grader.models.attentions import DIGESTS
from tools import notebooks as nb

LESSON = "10_reading_attention"
[SOLUTION] = [body for head, body in cells(LESSON) if 'exercise="bug_hunt" role="solution"' in head]
ANSWERS = re.findall(r"bug_hunt = (\{.*?\n\})", SOLUTION, re.DOTALL)[1]
# Written into the cell of the answers, although the lesson asks for nothing but the dict.
PROBES = {
    "every box": "for name, box in boxes.items():\n    print(name, box)\n    sums(box)\n    influence(box)\n    company(box)",
    "the others": "for box in boxes.values():\n    matters(box)\n    compared(box)\n    entropies(box)\n    matters(box, 1)",
    "one box": "output, weights = ask(boxes['alder'])\nassert output.shape == (2, 5, 12)\nprint(weights[0, 0].sum(-1))",
}


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline.of(nb.instructor(LESSON))


def hunted(judge, outline, cells_of_notebook):
    result = judge(cells_of_notebook, outline=outline, known=exercises())
    return result, result["bug_hunt"].mark


def test_the_whole_lesson_gets_full_marks(judge, outline):
    result, mark = hunted(judge, outline, nb.solved(LESSON))
    assert (result.mark, mark) == (20, 8)


@pytest.mark.parametrize("probe", PROBES)
def test_probes_in_the_cell_of_the_answers_cost_nothing(judge, outline, probe):
    source = f"{PROBES[probe]}\nbug_hunt = {ANSWERS}"
    assert hunted(judge, outline, nb.solved(LESSON, bug_hunt=source))[1] == 8


def test_probes_in_a_cell_of_ones_own_cost_nothing(judge, outline):
    made = nb.solved(LESSON)
    own = nb.code("for box in boxes.values():\n    print(ask(box)[1].sum())\nboxes['none of them'](1)")
    made.insert(nb.place_of(made, "bug_hunt", "solution"), own)
    assert hunted(judge, outline, made)[1] == 8


def test_partial_credit(judge, outline):
    source = "bug_hunt = {}\nbug_hunt['alder'] = 'key-used-as-value'\nbug_hunt['birch'] = 'no-scaling'"
    assert hunted(judge, outline, nb.solved(LESSON, bug_hunt=source))[1] == 1


def test_the_stub_knows_the_boxes_by_name_only():
    assert tuple(DIGESTS) == grader_stub.BOXES
    assert list(grader_stub.broken_attentions()) == list(DIGESTS)
