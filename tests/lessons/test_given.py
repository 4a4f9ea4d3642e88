"""Given cells are built from earlier solutions, and test readers notice a changed figure."""

from __future__ import annotations

import re
from pathlib import Path

from grader.authoring.model_solutions import LESSONS
from tests.lessons.printed import printed_tensors

GIVEN = re.compile(r'(?m)^# %% role="given"\n((?:(?!# %%).*\n?)*)')


def test_no_lesson_has_a_copy_of_an_earlier_solution():
    """A given cell names what it takes over; the build reads it where it is solved."""
    found = [(path.name, cell) for path in LESSONS.glob("*.py") for cell in GIVEN.findall(path.read_text())]
    assert len(found) > 10
    assert [one for one in found if not re.fullmatch(r"(from lesson_\d\d import .*\n)+\n*", one[1])] == []


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "scores\ntensor([[ 2.,  4.],\n        [ 4., 16.]])\nroot of d_k\ntensor(1.7321, dtype=torch.float64)\n"
    assert printed_tensors(shown) == {"scores": [[[2, 4], [4, 16]]], "root of d_k": [1.7321]}
    assert printed_tensors(shown.replace("16.", "12."))["scores"] != [[[2, 4], [4, 16]]]
    assert "scores" not in printed_tensors(shown.replace("scores", "keys"))


def test_lessons_are_found():
    assert Path(LESSONS, "04_masking.py").exists()
