"""Given cells are built from earlier solutions, and test readers notice a changed figure."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from grader.authoring.model_solutions import LESSONS
from grader.models import robot
from tests.lessons.printed import printed_tensors

GIVEN = re.compile(r'(?m)^# %% role="given"\n((?:(?!# %%).*\n?)*)')
DEFINED = re.compile(r"(?m)^(?:def|class) (\w+)")


def test_no_lesson_has_a_copy_of_an_earlier_solution():
    """A given cell names what it takes over; the build reads it where it is solved. Other given code is new."""
    texts = {path.name: path.read_text() for path in LESSONS.glob("*.py")}
    found = [(lesson, cell) for lesson, text in texts.items() for cell in GIVEN.findall(text)]
    assert len(found) > 10
    written_out = [one for one in found if not re.fullmatch(r"(from lesson_\d\d import .*\n)+\n*", one[1])]
    defined = {lesson: set(DEFINED.findall(text)) for lesson, text in texts.items()}
    for lesson, cell in written_out:
        names = set(DEFINED.findall(cell))
        earlier = set().union(*(defined[other] for other in texts if other < lesson))
        assert names, cell
        assert not names & earlier, lesson


def test_lessons_train_with_the_loop_that_lesson_02_explains():
    """The package's `train`, which the others import, has the lines of lesson 02's."""
    loop = re.compile(r"(?m)^def train\(optimizer, next_loss, steps\):\n(?: .*\n)+")
    loops = {path.name: found for path in LESSONS.glob("*.py") if (found := loop.findall(path.read_text()))}
    assert [*loops] == ["02_trainable_attention.py"]
    [explained] = loops["02_trainable_attention.py"]
    assert len(explained.splitlines()) <= 12
    bodies = [ast.parse(source).body[0].body for source in (explained, inspect.getsource(robot.train))]
    explained_lines, package_lines = ([*map(ast.unparse, body)] for body in bodies)
    assert explained_lines[-3:] == package_lines[-3:]


def test_the_sentences_of_the_robot_are_made_in_one_place():
    texts = {path.name: path.read_text() for path in LESSONS.glob("*.py")}
    assert [name for name, text in texts.items() if '"crane"' in text and '"nurse"' in text] == []
    assert sum("from grader.models.robot import" in text for text in texts.values()) >= 5


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "scores\ntensor([[ 2.,  4.],\n        [ 4., 16.]])\nroot of d_k\ntensor(1.7321, dtype=torch.float64)\n"
    assert printed_tensors(shown) == {"scores": [[[2, 4], [4, 16]]], "root of d_k": [1.7321]}
    assert printed_tensors(shown.replace("16.", "12."))["scores"] != [[[2, 4], [4, 16]]]
    assert "scores" not in printed_tensors(shown.replace("scores", "keys"))


def test_lessons_are_found():
    assert Path(LESSONS, "04_masking.py").exists()
