"""The command from submissions to gradebook: the same as nbgrader's own, again and again, on request anew."""

from __future__ import annotations

import json
import shutil

import pytest

from grader.batch import cluster as clusters
from grader.book import results_log as results
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from grader.course.lock import locked
from grader.errors import CommandFailed, CourseError
from grader.handed_in import hand_in
from tests.batch.conftest import HALF, LESSON, RIGHT, SQUARED, answered, command

DUE = f"update assignment set duedate = '2026-11-20 09:00:00' where name = '{LESSON}'"
LATE = "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
BY_HAND = """update grade set manual_score = 0.75, extra_credit = 0.5, needs_manual_grade = false"""


def test_same_gradebook_and_notebooks_as_nbgrader_autograde(room, tmp_path):
    room.submit("ann", answered(RIGHT))
    room.submit("bo", answered(SQUARED), "2026-11-20 08:00:00 UTC")
    room.submit("cy", answered(HALF))
    (room.folder("cy") / "notes.txt").write_text("my notes")
    room.submit("dee", b'{"cells": [')
    room.sql(DUE)
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write(LATE)
    theirs = type(room)(tmp_path / "theirs", room.scheduler)
    shutil.copytree(room.root, theirs.root)
    command(theirs.root, "nbgrader", "autograde", LESSON)
    outcome = room.grade()
    assert room.marks() == {"ann": 1, "bo": 0.07, "cy": outcome.records["cy"].result.mark, "dee": 0}
    assert room.book() == theirs.book()
    penalties = {row[0]: row[2] for row in room.book()["grades"]}
    assert penalties["ann"] == 1
    assert penalties["bo"] is None
    for student in ("ann", "bo", "cy", "dee"):
        mine, other = room.folder(student, "autograded"), theirs.folder(student, "autograded")
        assert sorted(path.name for path in mine.iterdir()) == sorted(path.name for path in other.iterdir())
        assert room.autograded(student) == theirs.autograded(student), student
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    page = (room.folder("bo", "feedback") / f"{LESSON}.html").read_text()
    assert "squared" in page
    assert "squaring" in page


def test_what_is_graded_is_left_alone_until_it_changes(room):
    for name in ("ann", "bo", "cy"):
        room.submit(name, answered(SQUARED))
    assert room.grade().graded == 3
    room.sql(BY_HAND)
    room.sql("update comment set manual_comment = 'well tried'")
    before = room.book()
    assert room.grade().graded == 0
    assert room.book() == before
    room.submit("bo", answered(RIGHT))
    outcome = room.grade()
    assert outcome.graded == 1
    assert outcome.records["bo"].result.mark == 1
    rows = {row[0]: row[4:] for row in room.book()["grades"]}
    assert [bool(row) if i == 3 else row for i, row in enumerate(rows["ann"])] == [0.07, 0.75, 0.5, False]
    # A mark by hand stays, but it was given to another submission: a teacher is asked to look.
    assert [bool(row) if i == 3 else row for i, row in enumerate(rows["bo"])] == [1, 0.75, 0.5, True]
    assert {row[3] for row in room.book()["comments"]} == {"well tried"}
    assert room.grade(force=True).graded == 3
    assert [row[4:7] for row in room.book()["grades"]] == [(0.07, 0.75, 0.5), (1, 0.75, 0.5), (0.07, 0.75, 0.5)]
    assert len(lines_file(room.root, RESULTS, LESSON).read_text().splitlines()) > 7


def test_a_hand_in_is_read_once_a_run(room, monkeypatch):
    read = []

    def counted(submission, *rest):
        read.append(submission.student)
        return hand_in.hand_in(submission, *rest)

    monkeypatch.setattr("grader.batch.run.hand_in", counted)
    for student in ("ann", "bo"):
        room.submit(student, answered(RIGHT))
    assert room.grade().graded == 2
    assert sorted(read) == ["ann", "bo"]


def test_secret_limits_and_instructors_notebook_decide_what_counts_as_graded(room):
    room.submit("ann", answered(RIGHT))
    room.grade()
    secret = room.root / "judge_secret"
    terms = results.latest(room.root, LESSON)["ann"].key
    secret.chmod(0o600)
    secret.write_text("b" * 64)
    assert room.grade().graded == 1
    assert results.latest(room.root, LESSON)["ann"].key != terms
    assert "b" * 64 not in lines_file(room.root, RESULTS, LESSON).read_text()


def test_what_was_taken_away_is_stored_again_without_grading(room):
    for name in ("ann", "bo"):
        room.submit(name, answered(RIGHT))
    room.grade()
    before, notebook = room.book(), room.autograded("ann")
    shutil.rmtree(room.root / "autograded")
    room.sql("update grade set auto_score = null")
    assert room.grade().graded == 0
    assert room.book() == before
    assert room.autograded("ann") == notebook


# tests/book/test_logs.py has more of them.
ODD = {
    "no result": lambda line: line.pop("result"),
    "no exercise": lambda line: line["result"].update(exercises=[]),
}


def test_odd_lines_of_the_log_are_passed_over_and_told(room):
    room.submit("ann", answered(SQUARED))
    room.grade()
    path = lines_file(room.root, RESULTS, LESSON)
    (good,) = [line for line in path.read_text().splitlines() if "result" in json.loads(line)]
    for name, spoil in ODD.items():
        line = json.loads(good)
        spoil(line)
        path.write_text(json.dumps(line) + "\n" + "[" * 100_000 + "\n")
        room.said.truncate(0)
        outcome = room.grade()
        assert (outcome.graded, room.marks()) == (1, {"ann": 0.07}), name
        assert name == "no exercise" or f"Skipped in the log of results: {LESSON}.jsonl:1" in room.said.getvalue()
        assert sorted(results.latest(room.root, LESSON)) == ["ann"]


def test_two_runs_at_once(room):
    room.submit("ann", answered(RIGHT))
    with locked(room.root), pytest.raises(CommandFailed, match=r"is being graded by process \d+ on \S+, since 20"):
        room.grade()
    assert room.grade().graded == 1


def test_command_line(room):
    room.submit("ann", answered(RIGHT))
    room.submit("bo", answered(SQUARED))
    words = ("grader", "autograde", str(room.root), "00", "--workers", "2")
    done = command(room.root, *words, "--json")
    told = json.loads(done.stdout)
    assert told["marks"] == {"ann": 1, "bo": 0.07}
    assert told["summary"]["full"] == 1
    assert told["summary"]["mistakes"][0]["mistake"] == "squared"
    assert "2 of 2 graded" in done.stderr
    room.submit("cy", b"")
    words = (*words[:-2], "--scheduler", room.scheduler, "--add-students")
    done = command(room.root, *words, check=False)
    assert done.returncode == 1
    assert "1 graded now, 2 graded before" in done.stdout
    assert "cy: The file is empty." in done.stdout
    done = command(room.root, "grader", "autograde", str(room.root), "77", check=False)
    assert done.returncode == 2
    assert "'77' isn't one of the lessons" in done.stderr
    assert "Traceback" not in done.stderr


def test_usage_errors(room, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.5)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CourseError, match="grader course create"):
        type(room)(tmp_path / "empty", room.scheduler).grade()
    room.submit("ann", answered(RIGHT))
    with pytest.raises(CourseError, match=r"no Dask scheduler at 127\.0\.0\.1:9"):
        type(room)(room.root, "127.0.0.1:9").grade()
    room.sql("update base_cell set name = 'another-check' where name = 'first_steps-check'")
    with pytest.raises(CourseError, match="generate_assignment"):
        room.grade()
