"""A course's `source/` is the teacher's: what doesn't fit is found, exercises are left out, a release comes in."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.course.class_directory import course_layout
from grader.errors import CommandFailed, CourseError
from grader.exercises.registry import exercises
from grader.handed_in.hand_in import hand_in, handed_out
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.source import check as checking
from grader.source import rules
from grader.source import update as updating
from grader.source.create import create
from grader.source.edit import add_question, leave_out
from grader.source.merge import merge
from grader.source.notebook import load
from tests.classroom import BIN, ROOT
from tests.nbgrader_commands import nbgrader

PAGE = (ROOT / "docs" / "course.md").read_text("utf-8")
START, HEADS = "00_start_here", "03_multi_head_attention"
SOLUTIONS = ROOT / "solutions"
Change = Callable[[list[dict[str, Any]]], object]


def course_in(folder: Path, *lessons: str) -> Path:
    (folder / "release").mkdir()
    for lesson in lessons:
        shutil.copy(SOLUTIONS / f"{lesson}.ipynb", folder / "release")
    create(folder / "course", folder / "release", "attention")
    return folder / "course"


def path_of(course: Path, lesson: str) -> Path:
    return course / "source" / lesson / f"{lesson}.ipynb"


def changed(path: Path, change: Change) -> None:
    notebook = load(path)
    change(notebook["cells"])
    path.write_text(json.dumps(notebook))


def said(*words: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


def markdown(source: str, name: str, **nbgrader: Any) -> dict[str, Any]:
    return {
        "cell_type": "markdown",
        "id": name,
        "metadata": {"nbgrader": nbgrader} if nbgrader else {},
        "source": source,
    }


def code(source: str, name: str, **nbgrader: Any) -> dict[str, Any]:
    return {**markdown(source, name, **nbgrader), "cell_type": "code", "outputs": [], "execution_count": None}


def own(name: str, **flags: Any) -> dict[str, Any]:
    off = dict.fromkeys(("grade", "solution", "locked", "task"), False)
    return {"schema_version": 3, "grade_id": name, **off, **flags}


def place_of(cells: list[dict[str, Any]], name: str) -> int:
    return next(place for place, cell in enumerate(cells) if cell["id"] == name)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return course_in(tmp_path_factory.mktemp("start"), START)


@pytest.fixture
def course(start: Path, tmp_path: Path) -> Path:
    """With lesson 00 alone."""
    shutil.copytree(start, tmp_path / "course")
    return tmp_path / "course"


def test_the_page_runs_as_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_SOLUTIONS", str(tmp_path / "release"))
    course = course_in(tmp_path, START, HEADS)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    commands = 0
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", PAGE):
        for command, printed in re.findall(r"(?m)^\$ (.+)\n((?:(?!\$).+\n)*)", block):
            commands += 1
            program, *words = command.replace("~/attention", str(course)).split()
            if program == "nbgrader":
                status, output = nbgrader([[str(course), *words]], environment)
                assert status == 0, output
            elif printed:
                assert printed in said(*words, code=1)
            else:
                said(*words)
    assert commands == 8
    notebook = load(path_of(course, HEADS))
    kept = [cell["metadata"]["course"]["role"] for cell in notebook["cells"] if cell["id"] == "split_heads-solution"]
    assert kept == ["given"]
    # It was generated before the exercises were left out.
    found = said("course", "check", course, code=1)
    assert "split_heads-check has no points in source/ and 2 points in release/" in found
    # The question of the page is to be filled in, and so is its marking scheme.
    generate = [str(course), "generate_assignment", HEADS, "--force"]
    for text, written in ("TODO what you ask", "Why do heads help?"), ("TODO what earns", "what earns"):
        assert f": is not filled in: {text}" in said("course", "check", course, code=1)
        status, output = nbgrader([generate], environment)
        assert (status, f"is not filled in: {text}" in output) == (1, True), output
        assert "Traceback" not in output
        path_of(course, HEADS).write_text(path_of(course, HEADS).read_text().replace(text, written))
    status, output = nbgrader([generate], environment)
    assert status == 0, output
    assert "Left out: split_heads, per_head_projection" in said("course", "check", course)
    released = load(course / "release" / HEADS / f"{HEADS}.ipynb")
    left = {name: one.points for name, one in exercises().items() if one.lesson in (START, HEADS)}
    del left["split_heads"], left["per_head_projection"]
    assert released["metadata"]["course"]["exercises"] == left
    text = "".join(cell["source"] for cell in released["cells"])
    assert "swap" in text
    assert "MARK SCHEME" not in text


def test_with_an_exercise_given_the_answers_of_a_lesson_earn_full_marks(tmp_path):
    course = course_in(tmp_path, HEADS)
    said("course", "leave-out", course, "03", "split_heads", "--give")
    layout = course_layout(course)
    with checking.judge_of(layout) as judge:
        assert checking.check(layout, exercises(), judge).problems == ()
        changed(
            path_of(course, HEADS), lambda cells: cells[place_of(cells, "merge_heads-solution")].update(source=WRONG)
        )
        found = checking.check(layout, exercises(), judge, only=HEADS).problems
    assert "(def merge_heads(x):): the answer here earns 0% of the points for merge_heads: " in str(found[0])


WRONG = "def merge_heads(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"


@pytest.mark.parametrize("lesson", [START, "02_trainable_attention", "07_transformer", "11_small_gpt"])
def test_whatever_is_left_out_leaves_a_lesson_that_fits(lesson):
    whole = load(SOLUTIONS / f"{lesson}.ipynb")
    known = exercises()
    refused = []
    for exercise in [name for name, one in known.items() if one.lesson == lesson]:
        for give in (False, True)[: 1 if known[exercise].kind == "answers" else 2]:
            notebook = deepcopy(whole)
            try:
                leave_out(lesson, notebook, exercise, give)
            except CommandFailed:
                assert not give
                assert notebook == whole
                refused.append(exercise)
                continue
            found = rules.CourseLesson(Path(f"{lesson}.ipynb"), notebook)
            rules.check_lesson(found, known, [exercise], SOLUTIONS)
            assert [str(problem) for problem in found.found if not problem.note] == []
            assert not any(f"check({exercise})" in cell["source"] for cell in notebook["cells"])
            defined = any(f" {exercise}(" in c["source"] for c in notebook["cells"] if c["cell_type"] == "code")
            assert defined or not give
    builds_on = {name for one in known.values() if one.lesson == lesson for name in one.builds_on}
    assert {*refused} <= builds_on | {"GPTBlock", "FeedForward"}
    assert bool(refused) == bool(builds_on)


def test_a_section_of_which_nothing_is_left_goes_with_its_heading():
    notebook = load(SOLUTIONS / f"{HEADS}.ipynb")
    leave_out(HEADS, notebook, "quiz_03")
    assert not any("Quiz" in cell["source"] or cell["source"].endswith("</a>") for cell in notebook["cells"])
    with pytest.raises(CourseError, match="has no exercise 'quiz_03'"):
        leave_out(HEADS, notebook, "quiz_03")


def test_a_quiz_is_not_given():
    with pytest.raises(CourseError, match="quiz_03 is a quiz"):
        leave_out(HEADS, load(SOLUTIONS / f"{HEADS}.ipynb"), "quiz_03", give=True)


TASK = markdown("Why? (2 points)", "why", **own("why", task=True, locked=True, points=3))
WITHOUT = {
    "an exercise that another cell needs": (
        lambda cells: cells.append(code("print(attention_scores)", "x")),
        "(print(attention_scores)): uses attention_scores, which no earlier cell defines, because its exercise is",
    ),
    "a cell before what it needs": (
        lambda cells: cells.extend([code("[late for x in 'ab']", "x"), code("late = 1", "y")]),
        "uses late, which no earlier cell defines",
    ),
    "a check without its exercise": (
        lambda cells: cells.pop(place_of(cells, "first_steps-solution")),
        "cell 10 (check(first_steps)): this check of first_steps has no exercise",
    ),
    "an exercise without its check": (
        lambda cells: cells.pop(place_of(cells, "first_steps-check")),
        "cell 10 (def first_steps(x: Tensor) -> Tensor:): the answer to first_steps has no check cell",
    ),
    "a check before its exercise": (
        lambda cells: cells.insert(1, cells.pop(place_of(cells, "first_steps-check"))),
        "cell 2 (check(first_steps)): the check of first_steps comes before its answer (cell 11)",
    ),
    "a check that nbgrader doesn't know": (
        lambda cells: cells[place_of(cells, "first_steps-check")]["metadata"].pop("nbgrader"),
        "has to be 'Autograder tests' with the id 'first_steps-check'",
    ),
    "an exercise nobody knows": (
        lambda cells: cells[place_of(cells, "first_steps-check")]["metadata"]["course"].update(exercise="nothing"),
        "no exercise has the name 'nothing'",
    ),
    "two cells of one id": (
        lambda cells: cells.append(code("1", "x", **own("first_steps", locked=True))),
        "(1): has the id first_steps, and so has cell 10",
    ),
    "two cells of one cell id": (lambda cells: cells.append(code("1", cells[0]["id"])), "and so has another cell"),
    "points that don't agree": (
        lambda cells: cells.append(TASK),
        "line 1 (Why? (2 points)): has 2 points in its text, but nbg",
    ),
    "points below 0": (
        lambda cells: cells.append(markdown("?", "x", **own("x", task=True, locked=True, points=-1))),
        "(?): ",
    ),
    "points that are no number": (
        lambda cells: cells.append(markdown("?", "x", **own("x", task=True, locked=True, points="two"))),
        "(?): ",
    ),
    "a Markdown test": (
        lambda cells: cells.append(markdown("?", "x", **own("x", grade=True, points=1))),
        "nbgrader can't read this cell's settings: Markdown grade cell 'x' is not marked as a solution cell",
    ),
    "a region left open": (
        lambda cells: cells.append(code("a = 1\n### BEGIN SOLUTION", "x", **own("x", solution=True))),
        "line 2 (a = 1): BEGIN SOLUTION is never closed",
    ),
    "hidden tests elsewhere": (
        lambda cells: cells.append(code("### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS", "x")),
        "BEGIN HIDDEN TESTS is in a cell that isn't autograder tests",
    ),
    "no Python": (lambda cells: cells.append(code("a = 1\nb = = 2", "x")), "line 2 (a = 1): isn't Python: "),
}


@pytest.mark.parametrize("kind", WITHOUT)
def test_check_finds(kind, course):
    change, expected = WITHOUT[kind]
    changed(path_of(course, START), deepcopy(change))
    found = checking.check(course_layout(course), exercises())
    lines = [str(problem) for problem in found.problems if not problem.note]
    assert any(expected in line and line.startswith(f"source/{START}/{START}.ipynb: cell ") for line in lines), lines


def test_a_course_that_fits_has_no_problem(course):
    own_cells = [code("%time 1\nawait display(1)", "x"), code("def f(): return g()", "y"), code("def g(): f()", "z")]
    changed(path_of(course, START), lambda cells: cells.extend(own_cells))
    found = checking.check(course_layout(course), exercises())
    assert found.problems == ()
    assert found.lessons == {START: {"first_steps-check": 1.0}}


def test_broken_notebooks_and_names_are_found(course):
    path = path_of(course, START)
    path.write_text('{"cells": [],\n "nbformat": 4,\n oops')
    for name, files in (("a+b", ["a+b"]), ("two", ["two", "draft"]), ("other", ["another"]), ("x[1]", ["x[1]"])):
        (course / "source" / name).mkdir()
        for file in files:
            (course / "source" / name / f"{file}.ipynb").write_text("{}")
    found = said("course", "check", course, code=1)
    assert f"source/{START}/{START}.ipynb:3: isn't a notebook" in found
    assert "source/a+b: nbgrader refuses a +" in found
    assert "source/two: expected one notebook here (two.ipynb), got draft.ipynb, two.ipynb" in found
    assert "source/other: expected one notebook here (other.ipynb), got another.ipynb" in found
    assert "source/x[1]: nbgrader can't find it" in found


def test_text_that_speaks_of_what_is_left_out_is_a_note(course):
    said("course", "leave-out", course, "00", "first_steps")
    changed(path_of(course, START), lambda cells: cells.append(markdown("After `first_steps` comes lesson 01.", "x")))
    found = said("course", "check", course)
    assert "note: " in found
    assert "(After `first_steps` comes lesson 01.): mentions first_steps, which is left out" in found


def test_a_question_has_a_place_and_an_id_of_its_own():
    notebook = load(SOLUTIONS / f"{START}.ipynb")
    place = add_question(notebook, 2.5, "why", after="first_steps")
    question, answer = notebook["cells"][place : place + 2]
    assert notebook["cells"][place - 1]["source"] == "check(first_steps)"
    assert question["metadata"]["nbgrader"]["points"] == 2.5
    assert "(2.5 points)" in question["source"]
    assert "nbgrader" not in answer["metadata"]
    with pytest.raises(CourseError, match="--id"):
        add_question(notebook, 1, "why")
    with pytest.raises(CourseError, match="a cell's id has 1 to 50 characters"):
        add_question(notebook, 1, "why not")
    for points, told in ((-1.0, "got -1 points, expected 0 or more"), (float("nan"), "got nan points")):
        with pytest.raises(CourseError, match=told):
            add_question(notebook, points, "how")


def test_points_of_a_question_are_told_as_they_are_typed(course):
    words = ["course", "add-question", course, "00", "--points"]
    assert "Write 1.5, with a point." in " ".join(said(*words, "1,5", code=2).split())
    assert "got -1 points, expected 0 or more" in said(*words, "-1", code=2)


def test_a_cell_of_two_kinds_is_found(course):
    """nbgrader counts its points twice: as tests and as a task."""
    two = {**TASK, "metadata": {"nbgrader": {**TASK["metadata"]["nbgrader"], "grade": True}}}
    changed(path_of(course, START), lambda cells: cells.append(two))
    assert "so nbgrader counts its points twice; choose one kind" in said("course", "check", course, code=1)


def test_a_lesson_without_answer_cells_is_no_odd_hand_in(course, tmp_path):
    from grader.course.class_directory import Submission
    from grader.course.files import UntrustedFolder

    instructor = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [TASK]}).encode()
    (tmp_path / "reading.ipynb").write_bytes(instructor)
    lesson = handed_out(Outline.of(instructor))
    chosen = hand_in(Submission("ann", UntrustedFolder(tmp_path), "reading"), lesson, Limits())
    assert (chosen.data, chosen.remarks) == (instructor, ())
    assert Outline.of(instructor).exercises == ()


def text(*cells: tuple[str, str]) -> list[dict[str, Any]]:
    return [markdown(source, name) for name, source in cells]


def sources(merged: Any) -> list[str]:
    return [cell["source"] for cell in merged.cells]


BASE = text(("a", "one two three four"), ("b", "B"), ("c", "C"), ("d", "D"))


def test_a_merge_takes_what_only_one_side_changed():
    mine = text(("a", "one two three four"), ("b", "B"), ("mine", "my own"), ("c", "C, mine"))
    new = text(("a2", "one two three five"), ("b", "B"), ("c", "C"), ("new", "E"), ("d", "D"))
    merged = merge(BASE, mine, new)
    assert sources(merged) == ["one two three five", "B", "my own", "C, mine", "E"]
    assert merged.conflicts == ()
    assert [cell["id"] for cell in merged.changed] == ["a2"]


def test_what_both_changed_stays_the_teachers_and_is_listed():
    mine = text(("a", "one two three mine"), ("b", "B, mine"), ("c", "C"), ("d", "D"))
    new = text(("a2", "one two three theirs"), ("c", "C"), ("d", "D"))
    merged = merge(BASE, mine, new)
    assert sources(merged) == ["one two three mine", "B, mine", "C", "D"]
    assert [(one.mine["source"], one.new and one.new["source"]) for one in merged.conflicts] == [
        ("one two three mine", "one two three theirs"),
        ("B, mine", None),
    ]
    # The next release finds the cell again.
    later = merge(new, [*merged.cells], text(("a3", "one two three last"), ("c", "C"), ("d", "D")))
    assert later.conflicts[0].mine["source"] == "one two three mine"


def test_moved_cells_keep_the_order_of_whoever_moved_them():
    swapped = [BASE[1], BASE[0], *BASE[2:]]
    new = text(("e", "E"))
    assert sources(merge(BASE, BASE, swapped)) == sources(merge(BASE, swapped, BASE))
    assert sources(merge(BASE, swapped, [*BASE, *new])) == ["B", "one two three four", "C", "D", "E"]


def test_points_and_text_of_one_cell_come_from_different_sides():
    base = [code("check(f)", "f-check", **own("f-check", grade=True, points=2))]
    mine, new = deepcopy(base), deepcopy(base)
    mine[0]["metadata"]["nbgrader"]["points"] = 5
    mine[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "run"}]
    new[0]["source"] = 'check(f, "f")'
    merged = merge(base, mine, new)
    (cell,) = merged.cells
    assert (cell["source"], cell["metadata"]["nbgrader"]["points"]) == ('check(f, "f")', 5)
    assert cell["outputs"] == []
    assert merged.conflicts == ()


def test_an_editor_that_lost_the_ids_changes_nothing():
    mine = [{**cell, "id": f"lost-{i}"} for i, cell in enumerate(BASE)]
    assert sources(merge(BASE, mine, text(("a2", "one two three five"), ("b", "B"), ("d", "D")))) == [
        "one two three five",
        "B",
        "D",
    ]


@pytest.fixture
def updated(tmp_path: Path) -> tuple[Path, Path]:
    """A course with an old changelog, and a release with something new in every lesson."""
    course = course_in(tmp_path, START, HEADS)
    (course / ".grader" / "base" / "version").write_text("0.1.0\n")
    release = tmp_path / "new"
    shutil.copytree(tmp_path / "release", release)
    shutil.copy(SOLUTIONS / "04_masking.ipynb", release)
    (release / "CHANGELOG.md").write_text(
        "# Changes\n\n## [9.0.0]\n\n- no\n\n## [0.2.0] - x\n\n- yes\n\n## [0.1.0]\n\n- old\n"
    )
    changed(
        release / f"{HEADS}.ipynb", lambda cells: cells[3].update(id="new", source=cells[3]["source"] + "\n\nFresh.")
    )
    changed(release / f"{START}.ipynb", lambda cells: cells.append(markdown("Also fresh.", "also")))
    return course, release


def test_update_takes_over_what_nobody_has(updated):
    course, release = updated
    changed(
        path_of(course, HEADS),
        lambda cells: [cell for cell in cells if cell["cell_type"] == "markdown"][2].update(source="Mine."),
    )
    said("course", "leave-out", course, "03", "per_head_projection")
    (course / "release" / START).mkdir(parents=True)
    before = path_of(course, START).read_bytes()
    shutil.copytree(course / "source" / HEADS, course / "source" / "12_own")
    os.rename(course / "source" / "12_own" / f"{HEADS}.ipynb", path_of(course, "12_own"))
    tree = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    preview = said("course", "update", course, "--solutions", release, "--preview")
    assert f"{HEADS}: would be taken" in preview
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == tree
    found = said("course", "update", course, "--solutions", release)
    assert "- yes" in found
    assert "- old" not in found
    assert "- no" not in found
    assert f"{START}: held back because it has been handed out (release/ has it)" in found
    assert f"{HEADS}: taken over" in found
    assert "04_masking: new, added" in found
    assert "12_own: yours, not in the release" in found
    assert path_of(course, START).read_bytes() == before
    now = [cell["source"] for cell in load(path_of(course, HEADS))["cells"]]
    assert any(source.endswith("Fresh.") for source in now)
    assert "Mine." in now
    assert "check(per_head_projection)" not in now
    again = said("course", "update", course, "--solutions", release)
    assert [line for line in again.splitlines() if "nothing new" in line] == [
        f"nothing new: {', '.join(sorted({HEADS, '04_masking'}))}"
    ]
    assert f"{START}: held back" in again
    also = said("course", "update", course, "--solutions", release, "--also", "0")
    assert f"{START}: taken over" in also
    assert b"Also fresh." in path_of(course, START).read_bytes()


def one_of_each(cells: list[dict[str, Any]]) -> list[str]:
    """The ids of a cell of each kind: of text, a statement, and each role of code."""
    kinds: dict[tuple[str, ...], str] = {}
    for cell in cells:
        role = cell["metadata"].get("course", {}).get("role", "")
        kinds.setdefault((cell["cell_type"], role, "### Exercise" in cell["source"]), cell["id"])  # type: ignore[arg-type]
    return list(kinds.values())


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """A course and a release that have both changed a cell of each kind, its text at the same place, and the points of
    an exercise; their ids."""
    course = course_in(tmp_path, HEADS)
    release = tmp_path / "new"
    shutil.copytree(tmp_path / "release", release)
    ids = one_of_each(load(path_of(course, HEADS))["cells"])
    assert len(ids) >= 9
    for path, sign in ((path_of(course, HEADS), "mine"), (release / f"{HEADS}.ipynb", "theirs")):
        changed(
            path,
            lambda cells, sign=sign: [c.update(source=f"# {sign}\n{c['source']}") for c in cells if c["id"] in ids],
        )
    return course, release, ids


def test_what_both_changed_is_offered_until_it_is_settled(both):
    course, release, ids = both
    before = path_of(course, HEADS).read_bytes()
    update = ("course", "update", course, "--solutions", release)
    again = f"grader course update {course} --solutions {release}"
    for _ in range(2):
        found = said(*update)
        assert f"{HEADS}: nothing new except what you and the release both changed" in found
        for name in ids:
            assert f"both changed cell {name}, and yours stays: # mine\n    the release has: # theirs\n" in found
            assert f"to keep yours and not be asked again: {again} --mine {HEADS}/{name}\n" in found
        assert path_of(course, HEADS).read_bytes() == before
    first, second, *others = ids
    preview = said(*update, "--preview", "--theirs", f"03/{first}", "--mine", f"3/{second}")
    assert f"{HEADS}: would be taken" in preview
    assert path_of(course, HEADS).read_bytes() == before
    found = said(*update, "--theirs", f"03/{first}", "--mine", f"3/{second}")
    assert found.count("both changed cell") == len(others)
    cells = {cell["id"]: cell["source"].splitlines()[0] for cell in load(path_of(course, HEADS))["cells"]}
    assert (cells[first], cells[second], cells[others[0]]) == ("# theirs", "# mine", "# mine")
    found = said(*update)
    assert found.count("both changed cell") == len(others)
    assert f"cell {first}" not in found
    assert f"cell {second}" not in found
    said(*update, "--theirs", "03")
    assert f"nothing new: {HEADS}\n" in said(*update)
    cells = {cell["id"]: cell["source"].splitlines()[0] for cell in load(path_of(course, HEADS))["cells"]}
    assert {cells[name] for name in others} == {"# theirs"}
    assert cells[second] == "# mine"


def test_both_changed_points_and_the_release_has_lost_a_cell(tmp_path):
    course = course_in(tmp_path, HEADS)
    release = tmp_path / "new"
    shutil.copytree(tmp_path / "release", release)
    cells = load(path_of(course, HEADS))["cells"]
    check = next(cell["id"] for cell in cells if cell["source"].startswith("check("))
    gone = cells[3]["id"]
    for path, points in ((path_of(course, HEADS), 7), (release / f"{HEADS}.ipynb", 9)):
        changed(
            path,
            lambda cells, points=points: cells[place_of(cells, check)]["metadata"]["nbgrader"].update(points=points),
        )
    changed(path_of(course, HEADS), lambda cells: cells[3].update(source="Mine."))
    changed(release / f"{HEADS}.ipynb", lambda cells: cells.pop(3))
    update = ("course", "update", course, "--solutions", release)
    for _ in range(2):
        found = said(*update)
        assert f"both changed the settings of cell {check}, and yours stay: check(" in found
        assert "points 7, the release has 9" in found
        assert f"both changed cell {gone}, and yours stays: Mine.\n    the release no longer has it" in found
    order = [cell["id"] for cell in load(path_of(course, HEADS))["cells"]]
    said(*update, "--theirs", f"03/{check}", "--theirs", f"03/{gone}")
    after = load(path_of(course, HEADS))["cells"]
    assert after[place_of(after, check)]["metadata"]["nbgrader"]["points"] == 9
    assert [cell["id"] for cell in after] == [name for name in order if name != gone]
    assert f"nothing new: {HEADS}\n" in said(*update)


def test_a_lesson_that_students_have_is_settled_without_being_written(both):
    course, release, ids = both
    (course / "release" / HEADS).mkdir(parents=True)
    before = path_of(course, HEADS).read_bytes()
    update = ("course", "update", course, "--solutions", release)
    assert said(*update).count("both changed cell") == len(ids)
    assert f"add --also {HEADS}" in said(*update, "--theirs", "03", code=2)
    said(*update, "--mine", f"03/{ids[0]}")
    assert said(*update).count("both changed cell") == len(ids) - 1
    assert path_of(course, HEADS).read_bytes() == before


PRINTED = re.compile(r"(?m)(?:: |^ +)(grader [^\n]*)$")


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("preview", [False, True])
def test_every_command_that_an_update_prints_works(both, held, preview):
    """Also where the update itself has given a cell the release's id, as it does where the release's text changed."""
    course, release, ids = both
    changed(release / f"{HEADS}.ipynb", lambda cells: [c.update(id=f"{c['id']}-new") for c in cells if c["id"] in ids])
    changed(release / f"{HEADS}.ipynb", lambda cells: cells.append(markdown("Fresh.", "fresh")))
    if held:
        (course / "release" / HEADS).mkdir(parents=True)
    update = ("course", "update", course, "--solutions", release)
    commands = PRINTED.findall(said(*update, *(["--preview"] if preview else [])))
    assert len(commands) >= 2 * len(ids)
    kept = shutil.copytree(course, course.with_name("kept"))
    for command in {*commands[:3], *commands[-3:]}:
        said(*shlex.split(command)[1:])
        shutil.rmtree(course)
        shutil.copytree(kept, course)


def test_a_fresh_course_has_no_problem(tmp_path):
    """As `grader course create` makes it, with all lessons."""
    said("course", "create", tmp_path / "course", "--solutions", SOLUTIONS)
    found = said("course", "check", tmp_path / "course")
    assert found.startswith("12 lessons: "), found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mine", "17"), "the course has no such lesson. The lessons are: 03_multi_head_attention."),
        (("--mine", "03/nowhere"), "you and the release didn't both change this cell. Changed by both: 03_multi"),
    ],
)
def test_what_can_not_be_settled_is_told(both, words, message):
    course, release, _ids = both
    assert message in said("course", "update", course, "--solutions", release, *words, code=2)


def test_update_without_the_old_release_keeps_every_difference(updated):
    course, release = updated
    shutil.rmtree(course / ".grader" / "base")
    changed(path_of(course, HEADS), lambda cells: cells[5].update(source="Mine."))
    planned = {step.lesson: step for step in updating.steps(course_layout(course), release)}
    assert planned[HEADS].state == "as it was"


def test_update_stops_at_a_notebook_that_is_broken(updated):
    course, release = updated
    path_of(course, START).write_text("{")
    assert f"{START}.ipynb:1: isn't a notebook" in said("course", "update", course, "--solutions", release, code=2)
    assert not path_of(course, "04_masking").exists()
