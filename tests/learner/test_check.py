"""`check`: how it finds the exercise, how its report is shown, when it raises."""

from __future__ import annotations

import functools
import json
import linecache
import math
import time
import warnings
from pathlib import Path

import pytest
import torch

from grader import check
from grader.errors import CheckFailed


def attention_scores(query, key):
    return query @ key.transpose(-2, -1)


def test_finds_the_exercise_by_the_functions_name(capsys):
    report = check(attention_scores)
    assert report.passed
    assert "attention_scores: passed, 2 of 2 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    "thing",
    [
        lambda query, key: query @ key.mT,
        functools.partial(lambda power, query, key: query @ key.mT**power, 1),
        type("Scores", (), {"__call__": lambda self, query, key: query @ key.mT})(),
    ],
    ids=["lambda", "partial", "instance"],
)
def test_takes_anything_under_the_exercises_name(thing):
    assert check(thing, "attention_scores").passed


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("attention_scores",), "Pass the thing itself"),
        ((3,), "was given a value of type int"),
        ((len,), "There is no exercise `len`"),
        ((attention_scores, "atention_scores"), "Did you mean `attention_scores`"),
        ((None,), "was given a value of type NoneType"),
        ((), "was given a value of type NoneType"),
        ((torch.ones(2),), "was given a value of type Tensor"),
        (([attention_scores],), "was given a value of type list"),
        ((attention_scores, attention_scores), "The second argument should be the exercise's name, a string"),
        ((attention_scores, 3), "The second argument should be the exercise's name, a string, but is `3`."),
        ((attention_scores, ""), "There is no exercise ``"),
        ((attention_scores, "x" * 100_000), "There is no exercise"),
    ],
)
def test_says_what_it_could_not_find(args, message):
    report = check(*args)
    assert not report.passed
    assert message in report.parts[0].message


@pytest.mark.parametrize("seconds", ["3", 0, -1, float("nan"), float("inf"), True, [1], 10**40])
def test_says_which_time_limit_it_takes(seconds):
    report = check(attention_scores, seconds=seconds)
    assert "`seconds` should be a number above 0" in report.parts[0].message


class Hostile:
    """Raises at whatever it is asked."""

    def __getattribute__(self, name):
        raise RuntimeError(name)


class Forever:
    """Is its own wrapper."""

    def __call__(self, query, key):
        return query @ key.mT

    @property
    def __wrapped__(self):
        return self


@pytest.mark.parametrize(
    "make", [Hostile, Forever, lambda: Hostile, lambda: math.sqrt, lambda: torch.matmul, lambda: 3, lambda: "scores"]
)
def test_whatever_is_passed_is_told_in_a_sentence(make):
    thing = make()
    report = check(thing, "attention_scores")
    assert not report.broken
    assert report.parts[0].message or report.passed
    assert not check(thing).broken


def first_steps(x):
    return 2 * x + 1


def test_the_example_is_the_function_that_was_called():
    report = check(first_steps(torch.ones(2)))
    assert "Pass the function itself, without calling it: `check(first_steps)`" in report.parts[0].message


def test_a_warning_names_the_learners_line_and_not_the_graders():
    def stable_softmax(scores):
        return torch.nn.functional.softmax(scores) * 0

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        report = check(stable_softmax, "stable_softmax", practice=True)
    assert "`return torch.nn.functional.softmax(scores) * 0`: Implicit dimension choice" in report.output
    assert "watch.py" not in report.output


def test_raises_after_its_report_only_where_nbgrader_runs_it(monkeypatch, capsys):
    wrong = lambda query, key: key @ query.mT
    assert not check(wrong, "attention_scores").passed
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(CheckFailed, match="scores-transposed"):
        check(wrong, "attention_scores")
    assert "It looks like scores-transposed" in capsys.readouterr().out
    assert check(attention_scores).passed


def test_a_time_limit_of_ones_own(monkeypatch):
    # So small, the clock's comes before the processor's on a busy machine.
    monkeypatch.setattr("grader.subject.local.LocalSubject.patience", 100.0)

    def forever(query, key):
        while True:
            pass

    report = check(forever, "attention_scores", seconds=0.3)
    assert report.diagnosis == "time-limit"


def test_works_in_a_thread(capsys):
    import threading

    reports = []
    thread = threading.Thread(target=lambda: reports.append(check(attention_scores)))
    thread.start()
    thread.join()
    assert reports[0].passed


def test_time_limit_works_in_a_thread():
    import threading

    def forever(query, key):
        while True:
            pass

    reports = []
    thread = threading.Thread(target=lambda: reports.append(check(forever, "attention_scores", seconds=0.3)))
    thread.start()
    thread.join()
    assert reports[0].diagnosis == "time-limit"


def in_cells(*sources):
    """The names after these cells, each with a file of its own that is on no disk, as in a notebook."""
    names = {"__name__": "__main__"}
    for i, source in enumerate(sources):
        place = f"/nowhere/ipykernel_1/{i}.py"
        linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
        exec(compile(source, place, "exec"), names)
    return names


def test_a_refused_answer_can_be_saved_for_a_teacher(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ann"))
    cells = (
        "import math as m\nK = 1",
        "def helper(x):\n    return 2 * x + m.floor(K) - 1",
        "unused = 3",
        "def first_steps(x):\n    # from /home/ann/notes\n    print('my secret')\n    return helper(x)",
    )
    report = check(in_cells(*cells)["first_steps"])
    report.save()
    assert "Saved as first_steps.json" in capsys.readouterr().out
    told = json.loads((tmp_path / "first_steps.json").read_text())
    expected = ["K = 1", "import math as m", cells[1], cells[3].replace("/home/ann", "~")]
    assert [cell.strip() for cell in told["cells"]] == expected
    assert (told["exercise"], told["mark"], told["mistake"]) == ("first_steps", 0.07, "one-forgotten")
    assert set(told["versions"]) == {"python", "torch", "course"}
    assert "ann" not in report.file.decode().replace("from ~/notes", "")
    named = in_cells("def mine(x):\n    return 2 * x")
    assert json.loads(check(named["mine"], "first_steps").file)["cells"][-1] == "first_steps = mine"
    assert json.loads(check({"softmax": 3}, "quiz_03").file)["cells"] == ["quiz_03 = {'softmax': 3}"]


@pytest.mark.parametrize("source", ["return 2 * x + 1", "raise NotImplementedError()"])
def test_nothing_is_saved_of_what_passed_or_is_not_written(source, capsys):
    report = check(in_cells(f"def first_steps(x):\n    {source}")["first_steps"])
    report.save()
    assert report.file == b""
    assert "There is nothing to save" in capsys.readouterr().out
    assert not check(in_cells("def first_steps(x):\n    return x")["first_steps"], practice=True).file


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: 2 * x + 1,
        functools.partial(lambda by, x: by * x + 1, 2),
        type("Steps", (), {"__call__": lambda self, x: 2 * x + 1})(),
        in_cells("def my_steps(x):\n    return 2 * x + 1")["my_steps"],
    ],
    ids=["lambda", "partial", "instance", "another name"],
)
def test_the_name_that_is_passed_is_the_exercises_whatever_it_stands_for(answer):
    first_steps = answer
    assert check(first_steps).passed
    steps = answer
    assert check(steps).parts[0].kind == "unknown-exercise"


def test_code_that_waits_is_not_judged_yet_and_asked_to_be_checked_again(monkeypatch):
    monkeypatch.setattr("grader.subject.local.LocalSubject.patience", 2.0)

    def first_steps(x):
        time.sleep(60)

    report = check(first_steps, seconds=0.2, practice=True)
    assert report.first_failure.state == "not-judged"
    assert not report.diagnosis
    assert not any("loop" in text for text in (str(report), *report.hints))
    assert "machine" in report.hints[0]
    assert "check again" in report.hints[0]


def test_nobody_answers_input():
    def first_steps(x):
        return x * int(input("how much? "))

    report = check(first_steps, practice=True)
    assert "nobody can answer `input()`" in report.first_failure.message
    assert not any("loop" in hint for hint in report.hints)


def test_a_check_computes_in_one_thread_and_leaves_the_learners_own():
    seen = []

    def first_steps(x):
        seen.append(torch.get_num_threads())
        return 2 * x + 1

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert check(first_steps, practice=True).passed
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def test_a_name_that_is_no_function_any_more_is_told_by_name():
    first_steps = 7
    report = check(first_steps)
    assert report.name == "first_steps"
    assert "`first_steps` is `7` here" in report.parts[0].message
