"""A given cell holds the solution of the earlier lesson it comes from, and test readers notice a changed figure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.lessons.printed import printed_tensors
from tests.model_solutions import LESSONS, cells

NAMES = sorted(path.stem for path in LESSONS.glob("[0-9][0-9]_*.py"))
GIVEN = [(lesson, i) for lesson in NAMES for i, (head, _) in enumerate(cells(lesson)) if 'role="given"' in head]


def definitions(source: str) -> dict[str, str]:
    """The functions and classes of a cell, by name."""
    tree = ast.parse(source).body
    return {node.name: ast.dump(node) for node in tree if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def solved_before(lesson: str) -> dict[str, str]:
    """What earlier lessons' solutions define."""
    earlier = [name for name in NAMES if name < lesson]
    bodies = [body for name in earlier for head, body in cells(name) if 'role="solution"' in head]
    return {name: text for body in bodies for name, text in definitions(body).items()}


@pytest.mark.parametrize(("lesson", "cell"), GIVEN)
def test_what_is_given_is_the_solution_of_the_earlier_lesson(lesson, cell):
    given, solved = definitions(cells(lesson)[cell][1]), solved_before(lesson)
    assert given.keys() & solved.keys()
    for name in given.keys() & solved.keys():
        assert given[name] == solved[name], f"lessons/{lesson}.py: {name} is not what the earlier lesson's solution is"


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "scores\ntensor([[ 2.,  4.],\n        [ 4., 16.]])\nroot of d_k\ntensor(1.7321, dtype=torch.float64)\n"
    assert printed_tensors(shown) == {"scores": [[[2, 4], [4, 16]]], "root of d_k": [1.7321]}
    assert printed_tensors(shown.replace("16.", "12."))["scores"] != [[[2, 4], [4, 16]]]
    assert "scores" not in printed_tensors(shown.replace("scores", "keys"))


def test_lessons_are_found():
    assert Path(LESSONS, "04_masking.py").exists()
    assert GIVEN
