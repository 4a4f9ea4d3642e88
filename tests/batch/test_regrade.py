"""The regrade loop: a preview changes nothing, an acceptance exactly what was shown, and all of it can be undone."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.batch import cluster as clusters
from grader.batch import printout, worker
from grader.batch.regrade import accept, preview
from grader.batch.regrade_printout import as_html, as_text
from grader.batch.run import Options
from grader.batch.store import Store
from grader.book import audit
from grader.book.override import override
from grader.book.results_log import latest
from grader.book.undo import undo
from grader.cli.main import main
from grader.course.forget import forget, mentions
from grader.errors import CourseError
from tests.batch.conftest import HALF, LESSON, RIGHT, ROOT, SQUARED, answered, command

STUDENTS = {"ann": RIGHT, "bo": SQUARED, "cy": HALF}


@pytest.fixture
def graded(room, monkeypatch):
    """A class that is graded, after which the check is another one: it gives bo full marks and ann less than before."""
    for student, answer in STUDENTS.items():
        room.submit(student, answered(answer))
    room.grade()
    room.options = Options(scheduler=room.scheduler)
    change(room, monkeypatch, {"ann": 0.5, "bo": 1.0})
    return room


def change(room, monkeypatch, scores):
    """Another limit, and a check that gives these students other scores."""

    def judge(plugin, tasks):  # runs on the worker
        done = worker.judge(plugin, tasks)
        return [
            scored(one, scores[task.student]) if task.student in scores else one
            for task, one in zip(tasks, done, strict=True)
        ]

    def scored(one, score):
        (exercise,) = one.record.result.exercises
        parts = tuple(replace(part, passed=score == 1, judged=True) for part in exercise.parts)
        exercise = replace(exercise, score=score, parts=parts, diagnosis=None, symptom="", hints=())
        return replace(one, record=replace(one.record, result=replace(one.record.result, exercises=(exercise,))))

    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write("\nc.JudgingExporter.limits = {'check_seconds': 7}\n")
    monkeypatch.setattr(clusters, "judge", judge)


def files(room):
    """Every file of `autograded/`, and when it was written."""
    found = (room.root / "autograded").rglob("*.ipynb")
    return {path.parts[-3]: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def stale(room):
    """Whose feedback would be made anew: whose row in the gradebook or notebook isn't the one that it was made from."""
    folder = room.root / ".grader" / "feedback"
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    before = json.loads((folder / f"{LESSON}.json").read_text())
    yield
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    after = json.loads((folder / f"{LESSON}.json").read_text())
    yield {student for student in after if after[student] != before[student]}


def test_accepted_is_what_was_shown_and_undone_is_what_was_before(graded):
    before, notebooks, feedback = graded.book(), files(graded), stale(graded)
    next(feedback)
    outcome = graded.grade()
    assert (outcome.graded, outcome.earlier, outcome.changed) == (0, ("ann", "bo", "cy"), ("the limits",))
    assert "3 were graded before this changed: the limits. Their marks stay." in printout.as_text(outcome)

    with pytest.raises(CourseError, match="A regrade can only be accepted after a preview"):
        accept(graded.root, "00")
    shown = preview(graded.root, "00", graded.options)
    assert {one.student: (one.before, one.after, one.also_down) for one in shown.students} == {
        "ann": (1, 1, 0.5),
        "bo": (0.07, 1, 1),
    }
    assert (shown.same, shown.changed, shown.problems, shown.waiting) == (1, ("the limits",), {}, ())
    (why,) = [one.exercises[0] for one in shown.students if one.student == "bo"]
    assert {(part.before, part.after) for part in why.parts} >= {("failed", "passed")}
    assert why.why == ("named mistake: squared → none",)
    assert (graded.book(), files(graded)) == (before, notebooks)

    done = accept(graded.root, "00")
    assert done.accepted == 1
    assert graded.marks() == {"ann": 1, "bo": 1, "cy": 0.79}
    assert {who for who, found in files(graded).items() if found != notebooks[who]} == {"bo"}
    assert next(feedback) == {"bo"}
    (entry,) = audit.entries(graded.root, LESSON)
    assert (entry.action, entry.changed, entry.also_down) == ("accept", ("the limits",), False)
    assert [*entry.students] == ["bo"]
    assert entry.students["bo"].cells == {"first_steps": (0.07, 1)}
    again = graded.grade()
    assert (again.graded, again.earlier, graded.marks()["ann"]) == (0, (), 1)

    assert [one.student for one in preview(graded.root, "00", graded.options).students] == ["ann"]
    assert accept(graded.root, "00", also_down=True).accepted == 2
    assert graded.marks() == {"ann": 0.5, "bo": 1, "cy": 0.79}
    assert undo(graded.root, "00").marks == {"ann": (0.5, 1)}
    assert undo(graded.root, "00").marks == {"bo": (1, 0.07)}
    assert graded.book() == before
    assert {who: found[0] for who, found in files(graded).items()} == {who: one[0] for who, one in notebooks.items()}
    assert graded.grade().earlier == ("bo",)
    shutil.rmtree(graded.root / "autograded")
    assert graded.grade().earlier == ("bo",)
    assert graded.book() == before
    assert latest(graded.root, LESSON)["bo"].result["first_steps"].diagnosis == "squared"
    with pytest.raises(CourseError, match="nothing to undo"):
        undo(graded.root, "00")
    assert accept(graded.root, "00").accepted == 5


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stored", [[], ["bo"]], ids=["with a notebook written", "with a mark stored"])
def test_an_acceptance_that_was_killed_is_finished_and_undone(room, monkeypatch, stored):
    for student, answer in {"bo": SQUARED, "cy": HALF}.items():
        room.submit(student, answered(answer))
    room.grade()
    before, options = room.book(), Options(scheduler=room.scheduler)
    change(room, monkeypatch, {"bo": 1.0, "cy": 1.0})
    assert [one.after for one in preview(room.root, "00", options).students] == [1, 1]

    def die(self, items):
        store_all(self, items[:1])
        raise KeyboardInterrupt

    store_all = Store.add_new
    with monkeypatch.context() as patched:
        patched.setattr(Store, "add_new", die)
        patched.setattr("grader.batch.store.BATCH", 1 if stored else 2)
        with pytest.raises(KeyboardInterrupt):
            accept(room.root, "00")
    assert room.marks() == {"bo": 1 if stored else 0.07, "cy": 0.79}
    assert room.grade().graded == 0
    assert room.marks()["cy"] == 0.79

    left = {"bo", "cy"} - set(stored)
    assert {one.student for one in preview(room.root, "00", options).students} == left
    assert accept(room.root, "00").accepted == 2
    assert room.marks() == {"bo": 1, "cy": 1}
    assert {*undo(room.root, "00").marks} == left
    undo(room.root, "00")
    assert room.book() == before


def test_marks_by_hand_stay_and_what_is_given_in_between_is_told(graded):
    graded.sql(f"update grade set manual_score = 0.25, needs_manual_grade = 0 {of('bo')}")
    shown = preview(graded.root, "00", graded.options)
    assert {one.student: one.moves for one in shown.students} == {"ann": False, "bo": False}
    assert "the mark given by hand stays" in as_text(shown)
    accept(graded.root, "00", also_down=True)
    row = next(row[4:] for row in graded.book()["grades"] if row[0] == "bo")
    assert [bool(one) if i == 3 else one for i, one in enumerate(row)] == [0.07, 0.25, None, False]
    graded.sql(f"update grade set manual_score = 0.75, needs_manual_grade = 0 {of('ann')}")
    undone = undo(graded.root, "00")
    assert undone.marks == {"ann": (0.75, 0.75)}
    assert next(row[4:6] for row in graded.book()["grades"] if row[0] == "ann") == (1, 0.75)


def of(student):
    return f"""where notebook_id in (select n.id from submitted_notebook n join submitted_assignment s
        on n.assignment_id = s.id where s.student_id = '{student}')"""


def test_work_that_changed_since_is_left_to_autograde_and_by_undo(graded):
    preview(graded.root, "00", graded.options)
    accept(graded.root, "00")
    graded.submit("bo", answered(HALF))
    assert preview(graded.root, "00", graded.options).waiting == ("bo",)
    assert graded.grade().graded == 1
    assert undo(graded.root, "00").stays == {"bo": "This work is left as it is, since it has been graded again."}


def test_override_is_in_the_mark_the_comment_and_the_log(graded):
    before = graded.book()
    given = override(graded.root, "bo", "first_steps", 0.5, "The drawing was right.")
    assert (given.lesson, given.mark_before, given.mark_after) == (LESSON, 0.07, 0.5)
    (comment,) = [row[3] for row in graded.book()["comments"] if row[0] == "bo"]
    assert comment == "0.5 of 1 points, given by hand: The drawing was right."
    (entry,) = audit.entries(graded.root, LESSON)
    assert (entry.action, entry.students["bo"].why) == ("override", "The drawing was right.")
    for words, said in (
        (("nobody", "first_steps", 1, "x"), r"has no student 'nobody'\.$"),
        (("boo", "first_steps", 1, "x"), r"has no student 'boo'\. Did you mean bo\?"),
        (("bo", "first_step", 1, "x"), "Did you mean first_steps"),
        (("bo", "first_steps", 2, "x"), "got 2 points, expected 0 to 1"),
        (("bo", "first_steps", float("nan"), "x"), "got nan points"),
        (("bo", "first_steps", 1, " "), "expected a reason"),
    ):
        with pytest.raises(CourseError, match=said):
            override(graded.root, *words)
    for typed, said in (
        ("-1", "got -1 points, expected 0 to 1"),
        ("1,5", "Write 1.5, with a point."),
        ("much", "got 'much', expected a number such as 1.5."),
    ):
        done = CliRunner().invoke(main, ["override", str(graded.root), "bo", "first_steps", typed, "--why", "x"])
        assert done.exit_code == 2, done.output
        assert said in " ".join(done.output.split())
    undo(graded.root, "00")
    assert graded.book() == before


def test_nothing_of_a_person_stays_in_the_logs(graded, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    preview(graded.root, "00", graded.options)
    accept(graded.root, "00")
    override(graded.root, "cy", "first_steps", 1, "Seen in class.")
    forget(graded.root, "bo")
    assert not list(mentions([graded.root], {"bo"}))
    assert [[*entry.students] for entry in audit.entries(graded.root, LESSON)] == [[], ["cy"]]
    assert undo(graded.root, "00").marks == {"cy": (1, 0.79)}


@pytest.fixture
def corrected(tmp_path):
    """The environment of a package whose check of the first lesson takes squares instead."""
    shutil.copytree(ROOT / "grader", tmp_path / "package" / "grader")
    path = tmp_path / "package" / "grader" / "exercises" / "lesson_00" / "first_steps.py"
    assert "    return x + x + 1\n" in path.read_text()
    path.write_text(path.read_text().replace("    return x + x + 1\n", "    return x * x + 1\n"))
    return {**os.environ, "PYTHONPATH": str(tmp_path / "package")}


def test_learners_file_and_the_class_before_and_after_a_correction(room, corrected, tmp_path):
    for student in ("ann", "bo"):
        room.submit(student, answered(STUDENTS[student]))
    room.grade()
    file = tmp_path / "first_steps.json"
    cells = ["def square(x):\n    return x * x", "def first_steps(x):\n    return square(x) + 1"]
    told = {"format": 1, "exercise": "first_steps", "cells": cells, "mark": 0.07, "points": 1, "versions": {}}
    file.write_text(json.dumps(told))
    words = ("regrade", str(room.root), "00", "--with", str(file))
    refused = CliRunner().invoke(main, words)
    assert "first_steps: 0.07 of 1 points" in refused.stdout
    assert "none of 2 marks would change" in refused.stdout

    done = command(room.root, "grader", *words, "--page", "--json", environment=corrected)
    shown = json.loads(done.stdout)
    assert shown["changed"] == ["the specification of first_steps"]
    assert shown["file"]["result"]["score"] == 1
    assert {one["student"]: (one["before"], one["also_down"]) for one in shown["students"]} == {
        "ann": (1, 0.07),
        "bo": (0.07, 1),
    }
    page = (room.root / f"regrade-{LESSON}.html").read_text()
    assert "bo" in page
    assert "<script" not in page
    assert "src=" not in page
    for name, content, said in (
        ("none", None, "There is no file"),
        ("text", "[" * 100_000, "isn't a file that a report saved"),
        ("numbers", json.dumps({**told, "cells": [3]}), "cells\\[0\\]: got 3, expected str"),
        ("other", json.dumps({**told, "exercise": "attention"}), "isn't an exercise of"),
    ):
        path = Path(tmp_path / name)
        if content is not None:
            path.write_text(content)
        with pytest.raises(CourseError, match=said):
            preview(room.root, "00", Options(scheduler=room.scheduler), path)


def test_names_are_no_markup_in_the_page(graded):
    shown = preview(graded.root, "00", graded.options)
    assert "&lt;b&gt;" in as_html(type(shown)(LESSON, problems={"<b>": "x"}))


def test_points_that_the_gradebook_does_not_have_yet_are_told_before_anything_is_accepted(room):
    """As it goes where a teacher changes points and forgets generate_assignment."""
    for student, answer in {"ann": RIGHT, "bo": SQUARED}.items():
        room.submit(student, answered(answer))
    room.grade()
    source = room.root / "source" / LESSON / f"{LESSON}.ipynb"
    source.write_text(source.read_text().replace('"points": 1', '"points": 4').replace('"points":1', '"points":4'))
    assert room.grade().problems == {}
    options = Options(scheduler=room.scheduler)
    before = preview(room.root, "00", options)
    assert before.not_released == ("first_steps-check has 4 points in source/ and 1 point in release/",)
    for text in (as_text(before), as_html(before)):
        assert f"no mark uses them. First: nbgrader generate_assignment {LESSON} --force" in text
        assert "first_steps-check has 4 points in source/ and 1 point in release/" in text
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    after = preview(room.root, "00", options)
    assert after.not_released == ()
    assert "generate_assignment" not in as_text(after)
