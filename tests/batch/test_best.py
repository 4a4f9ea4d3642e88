"""Of several hand-ins the one with the best mark counts: both commands grade them all, and agree."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from grader.batch import printout
from grader.course.class_directory import ClassDirectory
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from grader.handed_in.earlier import archive_hand_in
from grader.insights.collect import lesson_insights
from tests.batch.conftest import HALF, LESSON, RIGHT, SQUARED, answered, command

ZERO = "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
EARLY = datetime(2026, 11, 19, 10)


@pytest.fixture
def best(room):
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write("c.CourseCollect.counts = 'best'\n")
    course = ClassDirectory(room.root, "00")
    room.submit("ann", answered(SQUARED))  # the last, and worse
    archive_hand_in(course, "ann", EARLY, answered(RIGHT))
    archive_hand_in(course, "ann", datetime(2026, 11, 18), b'{"cells": [')
    room.submit("bo", answered(RIGHT))
    archive_hand_in(course, "bo", EARLY, answered(HALF))
    room.submit("cy", answered(SQUARED))
    return room


def in_place(room, student) -> tuple[bytes, str]:
    folder = room.folder(student)
    return (folder / f"{LESSON}.ipynb").read_bytes(), (folder / "timestamp.txt").read_text()


def test_the_best_of_several_counts_under_both_commands(best):
    outcome = best.grade()
    marks = {"ann": 1, "bo": 1, "cy": 0.07}
    assert best.marks() == marks == {who: mark.score for who, mark in outcome.marks.items()}
    assert in_place(best, "ann") == (answered(RIGHT), "2026-11-19 10:00:00 UTC")
    said = {
        "ann": "0, 1, 0.07 points; the hand-in of 2026-11-19 10:00:00 UTC counts",
        "bo": f"{outcome.best['bo'].split(', ')[0]}, 1 points; the hand-in of 2026-11-20 10:00:00 UTC counts",
    }
    assert outcome.best == said == printout.as_json(outcome)["best_of_several"]
    several = "2 handed work in more than once; the best hand-in counts:\n  ann: 0, 1, 0.07 points"
    assert several in printout.as_text(outcome)
    assert lesson_insights(best.root, LESSON).summary.full == 2
    log = lines_file(best.root, RESULTS, LESSON)
    size = log.stat().st_size
    again = best.grade()
    assert log.stat().st_size == size
    assert (again.graded, again.best, "Several" in best.said.getvalue()) == (0, said, True)
    assert best.said.getvalue().count("Several hand-ins") == 1
    # A better one, kept by `grader collect`, after the first run.
    archive_hand_in(ClassDirectory(best.root, "00"), "cy", EARLY, answered(RIGHT))
    command(best.root, "nbgrader", "autograde", LESSON)
    assert best.marks() == {"ann": 1, "bo": 1, "cy": 1}
    assert in_place(best, "cy")[1] == "2026-11-19 10:00:00 UTC"
    assert json.loads((best.folder("cy", "autograded") / f"{LESSON}.ipynb").read_text())
    assert {who: mark.score for who, mark in best.grade().marks.items()} == best.marks()


def test_a_late_penalty_decides_with(best):
    with (best.root / "nbgrader_config.py").open("a") as file:
        file.write(ZERO)
    best.sql(f"update assignment set duedate = '2026-11-20 09:00:00' where name = '{LESSON}'")
    best.grade()
    assert best.marks()["bo"] < 1  # the one in time
    best.sql("update submitted_assignment set extension = '1970-01-01 02:00:00'")
    best.grade()
    assert best.marks()["bo"] == 1
