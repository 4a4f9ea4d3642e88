"""Given cells are built from earlier solutions, and test readers notice a changed figure."""

from __future__ import annotations

import re
from pathlib import Path

from grader.authoring.model_solutions import LESSONS
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


def test_a_training_loop_has_the_lines_that_lesson_02_explains():
    loop = re.compile(r"(?m)^def train\(optimizer, next_loss, steps\):\n(?: .*\n)+")
    loops = {path.name: loop.findall(path.read_text()) for path in LESSONS.glob("*.py")}
    (explained,) = loops["02_trainable_attention.py"]
    assert len(explained.splitlines()) <= 12
    assert loops["04_masking.py"] == [explained]
    assert {text for texts in loops.values() for text in texts} == {explained}


def test_the_sentences_of_the_robot_are_made_as_in_lesson_02():
    words = re.compile(r"(?m)^NOUNS = \[(?:.*\n)+?vocabulary = .*$")
    texts = [(LESSONS / name).read_text() for name in ("02_trainable_attention.py", "03_multi_head_attention.py")]
    first, again = (words.findall(text) for text in texts)
    assert first == again
    assert len(first) == 1
    nouns, _, _ = first[0].partition("LIFTER")
    assert nouns in (LESSONS / "04_masking.py").read_text()


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "scores\ntensor([[ 2.,  4.],\n        [ 4., 16.]])\nroot of d_k\ntensor(1.7321, dtype=torch.float64)\n"
    assert printed_tensors(shown) == {"scores": [[[2, 4], [4, 16]]], "root of d_k": [1.7321]}
    assert printed_tensors(shown.replace("16.", "12."))["scores"] != [[[2, 4], [4, 16]]]
    assert "scores" not in printed_tensors(shown.replace("scores", "keys"))


def test_lessons_are_found():
    assert Path(LESSONS, "04_masking.py").exists()
