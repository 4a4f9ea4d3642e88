"""Which notebook of a submission counts: the one that holds the lesson's exercises, whatever its name. What was odd is
told, to the teacher and in the feedback."""

from __future__ import annotations

import json

from tests.batch.conftest import LESSON, RIGHT, ROOT, SQUARED, answered, command
from tools import notebooks as nb

OWN = f"{LESSON}.ipynb"
EMPTY = nb.dump([])
OTHER = nb.submission("01_self_attention")
UNTOUCHED = (ROOT / "notebooks" / OWN).read_bytes()


def bare(data: bytes) -> bytes:
    """Without ids and metadata, as some programs save a notebook."""
    cells = json.loads(data)["cells"]
    return nb.dump([{**{k: v for k, v in cell.items() if k != "id"}, "metadata": {}} for cell in cells])


# By student: the files, the mark, and what is said.
HANDED_IN = {
    "empty_beside_full": ({OWN: EMPTY, f"{LESSON} (1).ipynb": answered(RIGHT)}, 1, "(1).ipynb has this lesson's"),
    "resubmission": ({f"{LESSON}-1.ipynb": answered(RIGHT)}, 1, f"{LESSON}-1.ipynb has this lesson's exercises"),
    "two": ({OWN: UNTOUCHED, f"{LESSON}-1.ipynb": answered(SQUARED)}, 0.07, "(0 answered), "),
    "as_full": ({OWN: answered(RIGHT), "x.ipynb": answered(SQUARED)}, 1, f"{OWN} counts"),
    "same_twice": ({OWN: answered(RIGHT), "copy.ipynb": answered(RIGHT)}, 1, ""),
    "accent": ({"leçon_zéro.IPYNB": answered(RIGHT)}, 1, "leçon_zéro.IPYNB has this lesson's exercises"),
    "translated": ({"00_los_geht_s.ipynb": bare(answered(RIGHT))}, 1, "00_los_geht_s.ipynb has this lesson's"),
    "in_a_folder": ({f"work/{OWN}": answered(RIGHT)}, 1, f"work/{OWN} has"),
    "other_lesson": ({OWN: OTHER}, 0, f"{OWN} has none of this lesson's exercises. Handed in: {OWN}."),
    "untouched": (
        {OWN: UNTOUCHED, "plan.txt": b""},
        0,
        f"without an answer to any exercise. Handed in: {OWN}, plan.txt.",
    ),
    "both": ({OWN: answered(RIGHT), "01_self_attention.ipynb": OTHER}, 1, ""),
    "none": ({"essay.pdf": b"%PDF"}, 0, f"There is no {OWN} among the files handed in. Handed in: essay.pdf."),
    "checkpoint": ({OWN: answered(RIGHT), ".ipynb_checkpoints/x.ipynb": answered(SQUARED)}, 1, ""),
    "broken_beside": ({OWN: b'{"cells": [', "again.ipynb": answered(RIGHT)}, 1, "again.ipynb has this"),
}


def hand_in_all(room) -> None:
    for student, (files, _mark, _said) in HANDED_IN.items():
        folder = room.submit(student, None).parent
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)


def test_notebook_that_was_meant_is_graded_and_what_was_odd_is_told(room):
    hand_in_all(room)
    outcome = room.grade()
    for student, (_files, mark, said) in HANDED_IN.items():
        assert outcome.marks[student].score == mark, student
        assert said in outcome.problems.get(student, ""), (student, outcome.problems.get(student))
        assert bool(said) == (student in outcome.problems), outcome.problems.get(student)
    assert room.marks() == {student: mark for student, (_files, mark, _said) in HANDED_IN.items()}
    assert "has this lesson" in json.dumps(room.autograded("resubmission"))
    again = room.grade()
    assert (again.graded, again.problems) == (0, outcome.problems)
    # A notebook that comes beside another one is seen, although the one that counts has not changed.
    (room.folder("in_a_folder") / OWN).write_bytes(answered(SQUARED))
    outcome = room.grade()
    assert outcome.graded == 1
    assert "There are several notebooks" in outcome.problems["in_a_folder"]


def test_nbgrader_autograde_chooses_the_same(room):
    hand_in_all(room)
    command(room.root, "nbgrader", "autograde", LESSON)
    assert room.marks() == {student: mark for student, (_files, mark, _said) in HANDED_IN.items()}
