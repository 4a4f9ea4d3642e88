"""Progress: recorded by every check, never lost by concurrent or interrupted writers."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import re
import runpy
import stat
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import grader.__main__
import grader.cli.main
from grader import check, reset, solution
from grader.cli.main import main
from grader.exercises.own import KEPT, for_students
from grader.learner import progress
from grader.learner.progress import Record
from grader.learner.starter_code import SolutionCell, stub

ROOT = Path(__file__).parents[2]


def first_steps(x):
    return 2 * x + 1


def wrong(x):
    return 2 * x


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "some" / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    return path


def test_every_check_is_kept(kept, capsys):
    check(wrong, "first_steps")
    check(first_steps)
    check(wrong, "first_steps")
    record = progress.load()["first_steps"]
    assert (record.tries, record.best, record.state) == (3, 1.0, "passed")
    assert 0 < record.last < 1
    assert record.passed_at <= record.checked_at


def test_nothing_is_kept_of_what_is_not_written_yet_or_unknown(kept, capsys):
    def first_steps(x):
        raise NotImplementedError

    check(first_steps)
    check(wrong, "no_such_exercise")
    check(wrong, "first_steps", practice=True)
    assert not kept.exists()


def test_nothing_is_kept_where_nbgrader_runs_the_cells(kept, monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    check(first_steps)
    assert not kept.exists()


def test_practice_raises_nothing_where_nbgrader_runs_the_cells(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert not check(wrong, "first_steps", practice=True).passed


def test_it_can_be_turned_off(kept, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_PROGRESS", "off")
    check(first_steps)
    assert progress.load() == {}
    assert not kept.exists()


def test_a_check_works_where_nothing_can_be_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert check(first_steps).passed
    assert f"Your progress is not kept in {tmp_path}/file/progress.json: " in capsys.readouterr().out


def test_a_drive_that_is_not_mounted_is_told_once_and_nothing_is_made_in_its_place(tmp_path, monkeypatch, capsys):
    path = tmp_path / "drive" / "MyDrive" / "attention-course" / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    said = f"Your progress is not kept: {path.parent.parent} is not there. Mount the drive, or name another file"
    check(first_steps)
    assert said in capsys.readouterr().out
    check(first_steps)
    assert said not in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    path.parent.parent.mkdir(parents=True)
    check(first_steps)
    assert progress.load()["first_steps"].passed_at


def count_up(name: str, times: int) -> None:
    for _ in range(times):
        progress.update(name, lambda old: {"tries": old.tries + 1})


def count_up_in(path: Path, name: str, times: int) -> None:
    os.environ["GRADER_PROGRESS"] = str(path)
    count_up(name, times)


@pytest.fixture
def counting(kept):
    """Starts a process that counts up. It is forked from one which has imported the course."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["grader.learner.progress"])

    def start(name: str, times: int) -> multiprocessing.Process:
        process = forks.Process(target=count_up_in, args=(kept, name, times))
        process.start()
        return process

    return start


def test_two_notebooks_at_once_lose_nothing(counting):
    workers = [counting(name, 50) for name in ("first_steps", "first_steps", "quiz_01")]
    for worker in workers:
        worker.join(200)
    assert {name: record.tries for name, record in progress.load().items()} == {"first_steps": 100, "quiz_01": 50}


def test_a_killed_writer_leaves_a_whole_file_and_no_lock(kept, counting):
    count_up("first_steps", 1)
    for _ in range(3):
        writer = counting("quiz_01", 10**9)
        before = progress.load().get("quiz_01", Record()).tries
        end = time.monotonic() + 120
        try:
            while progress.load().get("quiz_01", Record()).tries < before + 5:
                assert time.monotonic() < end
                time.sleep(0.01)
        finally:
            writer.kill()
            writer.join()
        assert json.loads(kept.read_text())["exercises"]["first_steps"]["tries"] == 1
    count_up("first_steps", 1)
    assert progress.load()["first_steps"].tries == 2


def test_the_old_state_stays_when_writing_breaks_off(kept, monkeypatch):
    count_up("first_steps", 1)

    def full(_handle: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    count_up("first_steps", 1)
    assert progress.load()["first_steps"].tries == 1
    assert [p.name for p in kept.parent.iterdir() if p.suffix != ".lock"] == ["progress.json"]


@pytest.mark.parametrize("content", ["{", "[]", '{"exercises": {"first_steps": 3}}', '{"exercises": []}', "{}"])
def test_a_damaged_file_is_put_aside_not_overwritten(kept, content):
    kept.parent.mkdir()
    kept.write_text(content)
    assert progress.load() == {}
    count_up("first_steps", 1)
    assert progress.load()["first_steps"].tries == 1
    assert [p.read_text() for p in kept.parent.glob("*.damaged-*")] == [content]


@pytest.mark.parametrize(
    "entry",
    [{"tries": "x"}, {"tries": None}, {"best": None}, {"best": 7}, {"best": float("nan")}, {"last": -1},
     {"tries": 10**400, "best": []}, {"passed_at": 3}, {"solution_at": {}}, [], None, "passed"],
    ids=lambda entry: str(entry)[:30],
)  # fmt: skip
def test_an_odd_record_costs_itself_only(kept, entry, capsys):
    kept.parent.mkdir()
    content = json.dumps({"version": 1, "exercises": {"quiz_01": {"tries": 4}, "first_steps": entry, "\ud800": entry}})
    kept.write_text(content)
    assert progress.load() == {"quiz_01": Record(tries=4)}
    assert CliRunner().invoke(main, ["progress"]).exit_code == 0
    check(first_steps)
    assert {name: one.tries for name, one in progress.load().items()} == {"quiz_01": 4, "first_steps": 1}
    assert [p.read_text() for p in kept.parent.glob("*.damaged-*")] == [content]


def test_a_file_without_end_to_its_brackets_is_put_aside(kept):
    kept.parent.mkdir()
    kept.write_text("[" * 100_000)
    count_up("first_steps", 1)
    assert progress.load()["first_steps"].tries == 1


def test_nobody_else_can_hold_the_lock_and_whoever_holds_it_stops_no_check(kept, monkeypatch, capsys):
    check(first_steps)
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    monkeypatch.setattr(progress, "LOCK_SECONDS", 0.1)
    with kept.with_suffix(".lock").open("a") as lock:  # some versions of filelock leave it, others remove it
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert check(first_steps).passed
    assert progress.load()["first_steps"].tries == 1


def test_a_file_of_a_later_version_is_read_as_far_as_it_is_understood(kept):
    kept.parent.mkdir()
    kept.write_text('{"version": 2, "exercises": {"first_steps": {"tries": 2, "mood": "good"}}}')
    assert progress.load()["first_steps"] == Record(tries=2)


def test_the_command_prints_lessons_exercises_and_points(capsys):
    check(first_steps)
    done = CliRunner().invoke(main, ["progress"])
    assert done.exit_code == 0
    lines = [line.split() for line in done.output.splitlines()]
    assert lines[0] == ["lesson", "exercise", "state", "points", "tries"]
    assert ["00_start_here", "first_steps", "passed", "1", "of", "1", "1"] in lines
    assert ["01_self_attention", "project_qkv", "not", "tried", "0", "of", "2", "0"] in lines
    assert done.output.splitlines()[-1].startswith("1 of ")


@pytest.mark.parametrize("module", [grader.__main__, grader.cli.main])
def test_python_runs_the_command_too(module, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["grader", "--version"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(module.__file__, run_name="__main__")
    assert capsys.readouterr().out.startswith("grader ")


def test_a_solution_opens_after_three_tries_and_is_kept(capsys):
    for left in (3, 2, 1):
        assert solution("first_steps") is None
        assert f"Tries left until then: {left}." in capsys.readouterr().out
        check(wrong, "first_steps")
    shown = repr(solution("first_steps"))
    assert "return 2 * x + 1" in shown
    assert "SOLUTION" not in shown
    seen = progress.load()["first_steps"]
    assert seen.solution_at
    assert "solution seen" in CliRunner().invoke(main, ["progress"]).output
    solution("first_steps")
    assert progress.load()["first_steps"].solution_at == seen.solution_at


def test_a_passed_exercise_shows_its_solution_at_once(capsys):
    check(first_steps)
    assert "return 2 * x + 1" in repr(solution("first_steps"))


def test_where_no_solutions_are_installed_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_SOLUTIONS", str(tmp_path))
    check(first_steps)
    assert solution("first_steps") is None
    assert "not installed here" in capsys.readouterr().out
    assert not progress.load()["first_steps"].solution_at


@pytest.mark.parametrize("call", [solution, reset])
def test_an_unknown_name_is_told(call, capsys):
    call("first_step")
    assert "There is no exercise 'first_step'. Did you mean `first_steps`?" in capsys.readouterr().out


def test_reset_prints_the_original_outside_of_a_notebook(capsys):
    reset("first_steps")
    assert capsys.readouterr().out.rstrip().endswith("raise NotImplementedError()")


def solution_cells(folder: str) -> dict[str, tuple[str, str]]:
    cells = {}
    for path in sorted((ROOT / folder).glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            course = cell["metadata"].get("course", {})
            if course.get("role") == "solution":
                cells[course["exercise"]] = (course["kind"], "".join(cell["source"]))
    return cells


def test_starter_code_is_the_cells_that_students_get():
    starters = {name: stub(SolutionCell(*cell)) for name, cell in solution_cells("solutions").items()}
    assert starters == {name: source for name, (_, source) in solution_cells("notebooks").items()}
    assert {"first_steps", "quiz_01"} <= set(starters)


def in_notebook(path: Path, points: object, exercises: object, monkeypatch) -> None:
    """As JupyterLab tells a kernel which notebook it is for."""
    graded = {"course": {"role": "check", "exercise": "first_steps"}, "nbgrader": {"grade": True, "points": points}}
    cells = [{"cell_type": "markdown", "metadata": {}}, {"cell_type": "code", "metadata": graded}, "no cell"]
    path.write_text(json.dumps({"metadata": {"course": {"exercises": exercises}}, "cells": cells}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))


def test_points_are_those_of_the_notebook_and_its_course(tmp_path, monkeypatch, capsys):
    in_notebook(tmp_path / "00.ipynb", 4, {"first_steps": 4, "split_heads": 3.5, "centred": 2}, monkeypatch)
    report = check(first_steps)
    assert (report.mark, report.points) == (4, 4)
    assert "4 of 4 points" in capsys.readouterr().out
    assert progress.rows() == [
        ["00_start_here", "first_steps", "passed", "4", "4", "1"],
        ["03_multi_head_attention", "split_heads", "not-tried", "0", "3.5", "0"],
        ["own", "centred", "not-tried", "0", "2", "0"],
    ]


OWN = (
    "from grader.spec.exercise import Exercise\nEXERCISE = Exercise(name='centred', lesson='own', points=2, parts=())\n"
)


@pytest.mark.parametrize("text", [OWN, for_students(f"{KEPT}\n")])
def test_of_a_teachers_own_exercise_there_is_a_row_and_neither_cell_nor_solution(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "centred.py").write_text(text)
    progress.update("centred", lambda _old: {"tries": 3, "best": 0.5})
    assert progress.rows()[-1] == ["own", "centred", "started", "50%", "", "3"]
    assert CliRunner().invoke(main, ["progress"]).output.splitlines()[-3].split() == progress.in_words(
        progress.rows()[-1]
    )
    reset("centred")
    solution("centred")
    assert capsys.readouterr().out == (
        "The original cell of centred isn't available here. Copy it from a fresh copy of the notebook.\n"
        "centred is your teacher's own exercise, so only they can show its model solution.\n"
    )


@pytest.mark.parametrize("points", ["4", None, True, [1]])
def test_a_notebook_that_says_nothing_useful_changes_no_points(points, tmp_path, monkeypatch, capsys):
    in_notebook(tmp_path / "00.ipynb", points, [points], monkeypatch)
    assert check(first_steps).points == 1
    assert len(progress.rows()) > 70
    (tmp_path / "00.ipynb").write_text("{")
    assert check(first_steps).points == 1
    (tmp_path / "00.ipynb").unlink()
    assert check(first_steps).points == 1


def test_the_command_s_help_begins_with_what_a_learner_needs():
    said = CliRunner().invoke(main, ["--help"]).output
    learners, teachers = said.partition("For teachers:")[::2]
    assert "doctor" in learners
    assert "progress" in learners
    assert "autograde" not in learners
    assert set(main.commands) == set(re.findall(r"(?m)^  (\w+)  ", teachers + learners.partition("For learners")[2]))


@pytest.mark.parametrize("name", ["reset", "solution", "check"])
def test_what_is_called_in_a_notebook_is_told_where(name):
    result = CliRunner().invoke(main, [name, "first_steps"])
    assert result.exit_code == 2
    assert f"`{name}` is called in a notebook: `from grader import {name}`" in result.output
