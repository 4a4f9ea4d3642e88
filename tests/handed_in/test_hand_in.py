"""Which notebook of a submission counts: the one that holds the lesson's exercises, whatever its name. What was odd is
told. Asked of a folder, not of a command."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.course.class_directory import Submission
from grader.course.files import UntrustedFolder
from grader.errors import CourseError
from grader.handed_in import hand_in as module
from grader.handed_in.hand_in import (
    HandIn,
    ReadNotebook,
    hand_in,
    handed_out,
    lesson_held,
    of_another_lesson,
    with_modules,
)
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from tests.book.test_rebuild import CELLS
from tools import notebooks as nb

LESSON, OTHER = "00_start_here", "01_self_attention"
OWN = f"{LESSON}.ipynb"
RIGHT = "def first_steps(x):\n    return 2 * x + 1"
SQUARED = "def first_steps(x):\n    return x ** 2 + 1"
EMPTY = nb.dump([])
OTHERS = nb.submission(OTHER)
LIMITS = Limits()
UNTOUCHED = (Path(__file__).parents[2] / "notebooks" / OWN).read_bytes()


def answered(source: str) -> bytes:
    """A submission with this answer."""
    return nb.submission(LESSON, first_steps=source)


def bare(data: bytes) -> bytes:
    """Without ids and metadata, as some programs save a notebook."""
    cells = json.loads(data)["cells"]
    return nb.dump([{**{k: v for k, v in cell.items() if k != "id"}, "metadata": {}} for cell in cells])


ALONE = f"There is no {OWN} among the files handed in. w-1.ipynb has this lesson's exercises"
# By student: the files, the one that counts, and what is said.
HANDED_IN = {
    "empty_beside_full": (
        {OWN: EMPTY, "w (1).ipynb": answered(RIGHT)},
        "w (1).ipynb",
        f"{OWN} has none of this lesson's exercises. w (1).ipynb has",
    ),
    "resubmission": (
        {"w-1.ipynb": answered(RIGHT)},
        "w-1.ipynb",
        f"There is no {OWN} among the files handed in. w-1.ipynb has this lesson's exercises",
    ),
    "two": ({OWN: UNTOUCHED, "w-1.ipynb": answered(SQUARED)}, "w-1.ipynb", f"lesson: {OWN} (0 answered), w-1"),
    "as_full": ({OWN: answered(RIGHT), "x.ipynb": answered(SQUARED)}, OWN, f"(1 answered). {OWN} counts."),
    "same_twice": ({OWN: answered(RIGHT), "copy.ipynb": answered(RIGHT)}, OWN, ""),
    "accent": ({"leçon.IPYNB": answered(RIGHT)}, "leçon.IPYNB", "leçon.IPYNB has this lesson's exercises"),
    "translated": ({"00_los.ipynb": bare(answered(RIGHT))}, "00_los.ipynb", "00_los.ipynb has this lesson's"),
    "in_a_folder": ({f"work/{OWN}": answered(RIGHT)}, f"work/{OWN}", f"work/{OWN} has"),
    "other_lesson": ({OWN: OTHERS}, OWN, f"{OWN} has none of this lesson's exercises. Handed in: {OWN}."),
    "untouched": ({OWN: UNTOUCHED, "a.txt": b""}, OWN, f"without an answer to any exercise. Handed in: {OWN}, a.txt."),
    "both": ({OWN: answered(RIGHT), f"{OTHER}.ipynb": OTHERS}, OWN, ""),
    "none": ({"essay.pdf": b"%PDF"}, "", f"There is no {OWN} among the files handed in. Handed in: essay.pdf."),
    "nothing": ({}, "", "Handed in: no file."),
    "ours": ({"essay.pdf": b"%PDF", "timestamp.txt": b"2026"}, "", "Handed in: essay.pdf."),
    "torn": ({OWN: b"{"}, OWN, f"{OWN} has none of this lesson's exercises. Handed in: {OWN}."),
    "checkpoint": ({OWN: UNTOUCHED, ".ipynb_checkpoints/x.ipynb": answered(RIGHT)}, OWN, "without an answer"),
    "broken_beside": ({OWN: b'{"cells": [', "again.ipynb": answered(RIGHT)}, "again.ipynb", "again.ipynb has this"),
    "browser": ({OWN: EMPTY, "w.ipynb.txt": answered(RIGHT), "w.json": b"{}"}, "w.ipynb.txt", "w.ipynb.txt has this"),
    "no_notebook": ({OWN: UNTOUCHED, "w.json": answered(RIGHT)}, OWN, "without an answer"),
    "long_name": ({"w" * 200: b""}, "", f"Handed in: {'w' * 120}."),
    "time": ({OWN: answered(RIGHT), "timestamp.txt": b"2026", ".user_info": b"{}"}, OWN, ""),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ann").mkdir()
    return tmp_path / "ann"


def chosen(folder: Path, files: dict[str, bytes], lesson=None, limits: Limits = LIMITS) -> HandIn:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    submission = Submission("ann", UntrustedFolder(folder.parent, Path(folder.name)), LESSON)
    return hand_in(submission, lesson or handed_out(Outline.of(nb.instructor(LESSON))), limits)


@pytest.mark.parametrize("student", HANDED_IN)
def test_the_notebook_that_was_meant_counts_and_what_was_odd_is_told(folder, student):
    files, counts, said = HANDED_IN[student]
    found = chosen(folder, files)
    told = " ".join(filter(None, (found.unreadable, *found.remarks)))
    assert found.data == files.get(counts, b"")
    assert said in told if said else told == ""
    assert found.of_lesson == (student not in ("other_lesson", "torn"))


def test_the_most_answers_count_and_of_equal_ones_the_first(folder):
    lesson = handed_out(Outline.of(nb.instructor(OTHER)))
    whole = nb.solved(OTHER)
    places = [n for n, cell in enumerate(whole) if cell["metadata"].get("course", {}).get("role") == "solution"]
    one, two = ([cell for n, cell in enumerate(whole) if n not in places[k:]] for k in (1, 2))
    files = {"b.ipynb": nb.dump(two), "a.ipynb": nb.dump(one), "c.ipynb": nb.dump([*two, *one])}
    found = chosen(folder, files, lesson)
    assert found.data == files["b.ipynb"]
    [said] = found.remarks
    assert "a.ipynb (1 answered), b.ipynb (2 answered), c.ipynb (2 answered). b.ipynb counts." in said


def test_an_answer_is_known_by_its_name_where_its_cell_is_another_one(folder):
    lesson = handed_out(Outline.of(nb.instructor(LESSON)))
    cell, example = nb.code(f"{RIGHT}\n\ndef helper(): pass"), nb.code(RIGHT, "example", "", "unknown")
    assert lesson.answers(ReadNotebook.of(nb.dump([cell]), LIMITS)) == {"first_steps": True}
    assert lesson.answers(ReadNotebook.of(nb.dump([example]), LIMITS)) == {}
    other = {"cell_type": "code", "metadata": {}, "source": "mine = 3", "outputs": [], "execution_count": None}
    assert lesson.answers(ReadNotebook.of(nb.dump([other]), LIMITS)) == {}
    text = {"cell_type": "markdown", "metadata": {}, "source": RIGHT}
    assert lesson.answers(ReadNotebook.of(nb.dump([text]), LIMITS)) == {}
    text = {"cell_type": "markdown", "metadata": {}, "source": RIGHT}
    assert chosen(folder, {OWN: nb.dump([text])}).of_lesson is False
    both = nb.code("def stable_softmax(x): pass\n\ndef attention_scores(query, key): pass")
    others = handed_out(Outline.of(nb.instructor(OTHER)))
    held = others.answers(ReadNotebook.of(nb.dump([both]), LIMITS))
    assert held == {"stable_softmax": True, "attention_scores": True}


def test_a_lesson_may_cut_a_solution_out_of_a_cell_that_nobody_grades():
    plain = nb.code("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", id="plain")
    assert handed_out(Outline.of(nb.dump([*CELLS, plain]))).stubs == handed_out(Outline.of(nb.dump(CELLS))).stubs


def test_a_teacher_s_own_question_counts_as_an_answer_and_an_untouched_one_does_not(folder):
    lesson = handed_out(Outline.of(nb.dump(CELLS)))
    read = lambda cells: lesson.answers(ReadNotebook.of(nb.dump(cells), Limits()))
    assert read([{**CELLS[3], "source": "So."}, CELLS[0]]) == {"essay": True, "a": True}
    untouched = {**CELLS[3], "source": "YOUR ANSWER HERE  "}
    assert read([untouched, {**CELLS[0], "source": " "}, CELLS[1], CELLS[4]]) == {"essay": False, "a": False}
    assert read([{**CELLS[3], "source": "So."}, untouched]) == {"essay": True}
    assert read([{**CELLS[5], "source": "def a(): return 1"}]) == {}  # an example's cell isn't an answer's


def test_a_lesson_without_exercises_takes_what_has_its_name(folder):
    lesson = handed_out(Outline.of(nb.dump(CELLS[4:])))
    assert chosen(folder, {OWN: b"anything", "x.ipynb": answered(RIGHT)}, lesson) == HandIn(b"anything")
    (folder / OWN).unlink()
    assert chosen(folder, {}, lesson).unreadable


def test_only_so_many_are_looked_at_and_long_lists_are_cut(folder):
    files = {f"{number:02}.ipynb": EMPTY for number in range(module.MOST)}
    found = chosen(folder, {**files, "z.ipynb": answered(RIGHT)})
    assert found.unreadable.endswith(f"05.ipynb, 06.ipynb, 07.ipynb and {module.MOST + 1 - module.LISTED} more.")
    few = {f"{number}.txt": b"" for number in range(module.LISTED)}
    assert chosen(folder.parent / "bo", few).unreadable.endswith("6.txt, 7.txt.")
    (folder / "19.ipynb").unlink()
    assert chosen(folder, {}).data == answered(RIGHT)


def test_one_that_is_too_large_is_told(folder):
    found = chosen(folder, {OWN: answered(RIGHT)}, limits=Limits(notebook_bytes=10))
    assert (found.data, found.remarks) == (b"", ())
    assert found.unreadable.startswith("The file has ")
    assert "Handed in" not in found.unreadable


# --- a student's own modules ------------------------------------------------------------------------------------------


def written(found: HandIn) -> list[str]:
    """The texts of the cells that were put in front of a notebook."""
    cells = json.loads(found.data)["cells"]
    return [cell["source"] for cell in cells[: len(cells) - len(json.loads(IMPORTING)["cells"])]]


IMPORTING = nb.dump([nb.code("import helper as h, other\n%run third.py"), *nb.solved(LESSON)])


def test_a_module_beside_the_notebook_that_imports_it_is_written_first(folder):
    files = {
        OWN: IMPORTING,
        "helper.py": b"\xef\xbb\xbffrom deeper import x",
        "deeper.py": b"x = 1",
        "third.py": b"y = 2",
        "left.py": b"z = 3",
        "sub/other.py": b"o = 4",
        "torn.py": b"\xff",
    }
    found = chosen(folder, files)
    assert written(found) == [
        "%%writefile helper.py\nfrom deeper import x",
        "%%writefile third.py\ny = 2",
        "%%writefile deeper.py\nx = 1",
    ]
    assert json.loads(found.data)["cells"][3:] == json.loads(IMPORTING)["cells"]
    assert found.remarks == ()
    (folder / "third.py").write_bytes(b"y" * module.MODULE_BYTES)
    assert len(written(chosen(folder, {}))) == 3
    (folder / "third.py").write_bytes(b"y" * (module.MODULE_BYTES + 1))
    assert [text[:21] for text in written(chosen(folder, {}))] == ["%%writefile helper.py", "%%writefile deeper.py"]
    (folder / "helper.py").unlink()
    (folder / "helper.py").symlink_to(folder / "left.py")
    assert written(chosen(folder, {})) == []


def test_a_module_that_nothing_imports_changes_no_notebook(folder):
    assert chosen(folder, {OWN: answered(RIGHT), "left.py": b"x = 1"}).data == answered(RIGHT)


def test_only_python_files_that_code_imports_are_modules(folder):
    importing = nb.dump([nb.code("import other"), {**nb.code("import helper"), "cell_type": "raw"}, *nb.solved(LESSON)])
    files = {OWN: importing, "helper.py": b"x = 1", "other.txt": b"y = 2", "other.json": b"{}"}
    assert chosen(folder, files).data == importing


def test_a_notebook_of_a_folder_has_the_modules_of_that_folder(folder):
    found = chosen(folder, {f"work/{OWN}": IMPORTING, "work/helper.py": b"x = 1", "other.py": b"y = 2"})
    assert written(found) == ["%%writefile helper.py\nx = 1"]


def test_a_notebook_stays_within_its_limits(folder):
    whole = chosen(folder, {OWN: IMPORTING, "helper.py": b"x = 1"}).data
    cells = len(json.loads(whole)["cells"])
    for limits in (Limits(notebook_bytes=len(whole)), Limits(cells=cells)):
        assert chosen(folder, {}, limits=limits).data == whole != IMPORTING
    for limits in (Limits(notebook_bytes=len(whole) - 1), Limits(cells=cells - 1)):
        assert chosen(folder, {}, limits=limits).data == IMPORTING


def test_modules_may_import_each_other(folder):
    found = chosen(folder, {OWN: IMPORTING, "helper.py": b"import deeper", "deeper.py": b"import helper, deeper"})
    assert [text.split()[1] for text in written(found)] == ["helper.py", "deeper.py"]


def test_a_file_that_is_no_notebook_gets_no_modules():
    of_2014 = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "import helper"}]}]}
    for data in (b"{", json.dumps(of_2014).encode()):
        assert with_modules(data, {"helper": lambda: b"x = 1"}, LIMITS) == data


def test_only_so_many_modules_are_given(folder):
    count = module.MOST_MODULES + 2
    names = [f"m{number}" for number in range(count)]
    importing = nb.dump([nb.code(f"import {', '.join(names)}"), *nb.solved(LESSON)])
    found = chosen(folder, {OWN: importing, **{f"{name}.py": b"x = 1" for name in names}})
    assert len(written(found)) == module.MOST_MODULES


def test_modules_of_modules_are_counted_with_them(folder):
    count = module.MOST_MODULES - 1
    firsts, seconds = ([f"{letter}{number:02}" for number in range(count)] for letter in "mn")
    importing = nb.dump([nb.code(f"import {', '.join(firsts)}"), *nb.solved(LESSON)])
    files = {f"{name}.py": b"x = 1" for name in (*firsts, *seconds)}
    found = chosen(folder, {OWN: importing, **files, "m00.py": f"import {', '.join(seconds)}".encode()})
    assert [text.split()[1] for text in written(found)][count:] == ["n00.py"]


def test_a_module_that_can_t_be_read_changes_no_notebook(folder):
    importing = json.dumps(json.loads(IMPORTING), indent=4).encode()
    assert chosen(folder, {OWN: importing, "helper.py": b"\xff"}).data == importing


@pytest.mark.parametrize("magic", ["%%writefile helper.py", "%%file helper.py", "%%writefile -a helper.py"])
def test_what_the_notebook_writes_itself_is_left_to_it(folder, magic):
    importing = nb.dump([nb.code(f"{magic}\nx = 2"), nb.code("import helper"), *nb.solved(LESSON)])
    assert chosen(folder, {OWN: importing, "helper.py": b"x = 1"}).data == importing


# --- another lesson's -------------------------------------------------------------------------------------------------


def class_of(*lessons: str) -> SimpleNamespace:
    """What of a course is asked; the first is the lesson that is collected."""

    def outline(name: str = lessons[0]) -> Outline:
        if name == "broken":
            raise CourseError("broken")
        return Outline.of(nb.instructor(name))

    return SimpleNamespace(lesson=lessons[0], lessons=lambda: lessons, limits=Limits, outline=outline)


def test_another_lesson_s_notebook_is_named_and_not_to_be_run():
    course, found = class_of(LESSON, "broken", OTHER), HandIn(OTHERS, remarks=("odd",), of_lesson=False)
    told = of_another_lesson(course, found)
    assert told.unreadable == f"Not run: the notebook has the exercises of {OTHER} and none of {LESSON}."
    assert (told.data, told.remarks, told.of_lesson) == (OTHERS, ("odd",), False)
    for left in (HandIn(OTHERS), HandIn(EMPTY, of_lesson=False), HandIn(answered(RIGHT), of_lesson=False)):
        assert of_another_lesson(course, left) is left


def test_which_lesson_works_are_of():
    course = class_of(LESSON, OTHER, "02_trainable_attention")
    later = nb.submission("02_trainable_attention")
    few = nb.dump([*nb.solved(OTHER)[:1], *json.loads(later)["cells"]])
    assert lesson_held(course, [OTHERS, b"torn"]) == OTHER
    assert lesson_held(course, [OTHERS, answered(RIGHT)]) == LESSON
    assert lesson_held(course, [few]) == "02_trainable_attention"
    assert lesson_held(course, [EMPTY]) == lesson_held(course, []) == lesson_held(course, [b"torn"]) == ""
