"""Fingerprints: a renamed copy is found, independent right answers are not."""

from __future__ import annotations

import re
from itertools import cycle, islice
from pathlib import Path
from time import process_time

import pytest

from grader.authoring.samples import submissions
from grader.handed_in.hand_in import handed_out
from grader.insights.similarity import (
    MODEL,
    WORD_FOR_WORD,
    ModelSolution,
    fingerprints,
    own_code,
    similar_pairs,
    tokens,
)
from grader.judge.outline import Outline
from grader.judge.reader import NotebookCell
from tools.notebooks import instructor

OUTLINE = Outline.of(instructor())
NAMES = ("stable_softmax", "scaled_dot_product_attention", "self_attention", "validate_attention")
ANSWERS = {name: [s for s in submissions() if s.exercise == name and not s.mistake] for name in NAMES}


def cells(number: int) -> list[NotebookCell]:
    """A submission: of every exercise another of the sample answers."""
    chosen = [next(islice(cycle(ANSWERS[name]), number + i, None)) for i, name in enumerate(NAMES)]
    return [NotebookCell("code", one.source) for one in chosen]


def renamed(cell: NotebookCell) -> NotebookCell:
    """A copy with its own names and comments, laid out anew."""
    source = cell.source
    for name in sorted(set(re.findall(r"(?<![\w.])([a-z_]{2,}) =", source))):
        source = re.sub(rf"(?<![\w.]){name}\b(?!=)", f"my_{name}", source)
    return NotebookCell("code", "# all my own work\n\n" + source.replace(" = ", "  =  "))


def test_names_comments_and_texts_do_not_matter():
    ours = tokens('def f(query):\n    """One."""\n    return query.softmax(-1)  # rows\n')
    theirs = tokens("def g(q):\n    'Two.'\n\n    return  q.softmax(-1)\n")
    assert ours == theirs
    assert ours != tokens("def g(q):\n    'Two.'\n    return q.softmax(-2)\n")


def test_source_that_does_not_parse_is_compared_as_far_as_it_goes():
    assert tokens("def f(:\n  '''")[:2] == ["def", "name"]
    assert fingerprints("(((((") == frozenset()
    assert len(fingerprints("a + b + c + d + e + f + g")) == 1


def test_half_of_a_surrogate_pair_in_a_name_ends_nothing():
    assert fingerprints("a." + "b.c\ud800.d." * 20 + "e") != fingerprints("a." + "b.c.d." * 20 + "e")


def test_every_copied_stretch_leaves_a_fingerprint():
    copied = "weights = weights / weights.sum(dim=-1, keepdim=True) * scale + offset[0, 1, 2] - 3\n"
    before, after = "x = 1\ny = [2, 3]\n", "if not done:\n    raise ValueError(x)\n"
    assert fingerprints(before + copied) & fingerprints(copied + after)


def test_renamed_copy_is_found_among_independent_answers():
    prints = {f"student{i}": own_code(cells(i), OUTLINE) for i in range(6)}
    assert similar_pairs(prints) == []
    prints["copy"] = own_code([renamed(cell) for cell in cells(2)], OUTLINE)
    [pair] = similar_pairs(prints)
    assert {pair.left, pair.right} == {"copy", "student2"}
    assert pair.share > 0.9


LESSONS = sorted((Path(__file__).parents[2] / "solutions").glob("*.ipynb"))
RIGHT = [one for one in submissions() if not one.mistake]


def model_of(path: Path) -> tuple[ModelSolution, list[NotebookCell], list[str]]:
    """The model solution of one of the course's lessons, its cells, and the exercises in it."""
    lesson = handed_out(Outline.of(path.read_bytes()))
    answers = [cell for cell in lesson.outline.cells if cell.role == "solution"]
    return ModelSolution(lesson.outline, lesson.stubs), answers, [cell.exercise for cell in answers]


@pytest.mark.parametrize("path", LESSONS[1:], ids=lambda path: path.stem)
def test_the_model_solution_and_near_copies_of_it_are_found(path):
    model, answers, names = model_of(path)
    copy = model.pair("ann", answers, names)
    assert (copy.right, copy.share) == (WORD_FOR_WORD, 1)
    near = model.pair("bo", [renamed(cell) for cell in answers], names)
    assert near.right == MODEL
    assert near.share > 0.9
    some = 3 * len(answers) // 4
    assert model.pair("cy", answers[:some], names[:some]).right == WORD_FOR_WORD
    own = min(range(len(answers)), key=lambda i: len(answers[i].source))
    other = NotebookCell("code", "# one exercise is their own")
    assert model.pair("di", [*answers[:own], other, *answers[own + 1 :]], names).right == MODEL


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("number", range(4))
def test_independent_right_answers_are_not_near_the_model_solution(path, number):
    model, _answers, names = model_of(path)
    mine = [
        NotebookCell("code", same[number % len(same)].source)
        for name in names
        if (same := [one for one in RIGHT if one.exercise == name])
    ]
    assert mine
    assert model.pair("ann", mine, names) is None


def test_one_line_that_everybody_writes_says_nothing():
    model, answers, names = model_of(LESSONS[0])
    assert model.pair("ann", answers, names) is None


def test_what_the_course_wrote_is_nobodys_own():
    course = [NotebookCell("code", cell.source) for cell in OUTLINE.cells]
    assert own_code(course, OUTLINE) == frozenset()


def test_what_many_have_in_common_is_no_likeness():
    every = own_code(cells(0), OUTLINE)
    assert similar_pairs({f"student{i}": every for i in range(3)})
    assert similar_pairs({f"student{i}": every for i in range(40)}) == []


@pytest.mark.parametrize("source", ["@" * 4_000_000, "x=1\n" * 1_000_000, "x = 1\n" * 8000])
def test_cells_that_nobody_writes_by_hand_are_passed_over(source):
    """Their tokens took ten seconds for a million characters. A copy beside them is found all the same."""
    began = process_time()
    mine = own_code([*cells(1), *[NotebookCell("code", source)] * 30], OUTLINE)
    assert process_time() - began < 20
    assert similar_pairs({"ann": mine, "bo": own_code([renamed(cell) for cell in cells(1)], OUTLINE)})
