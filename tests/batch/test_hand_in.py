"""Which notebook of a submission counts, as the commands have it; tests/handed_in/test_hand_in.py has every case."""

from __future__ import annotations

import json

from tests.batch.conftest import LESSON, RIGHT, SQUARED, answered, command
from tests.handed_in.test_hand_in import EMPTY, OTHERS, OWN, UNTOUCHED

BY_MODULE = "from helper import right\n\n\ndef first_steps(x):\n    return right(x)"
# By student: the files, the mark, and what is said.
HANDED_IN = {
    "resubmission": ({f"{LESSON}-1.ipynb": answered(RIGHT)}, 1, f"{LESSON}-1.ipynb has this lesson's exercises"),
    "two": ({OWN: UNTOUCHED, f"{LESSON}-1.ipynb": answered(SQUARED)}, 0.07, "(0 answered), "),
    "in_a_folder": ({f"work/{OWN}": answered(RIGHT), OWN: EMPTY}, 1, f"work/{OWN} has"),
    "other_lesson": ({OWN: OTHERS}, 0, f"{OWN} has none of this lesson's exercises. Handed in: {OWN}."),
    "module": ({OWN: answered(BY_MODULE), "helper.py": RIGHT.replace("first_steps", "right").encode()}, 1, ""),
    "none": ({"essay.pdf": b"%PDF"}, 0, f"There is no {OWN} among the files handed in. Handed in: essay.pdf."),
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
