"""`check`: how it finds the exercise, how its report is shown, when it raises."""

from __future__ import annotations

import functools

import pytest

from grader import check
from grader.learner.check import CheckFailed


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
    ],
)
def test_says_what_it_could_not_find(args, message):
    report = check(*args)
    assert not report.passed
    assert message in report.results[0].message


def test_raises_after_its_report_only_where_nbgrader_runs_it(monkeypatch, capsys):
    wrong = lambda query, key: key @ query.mT
    assert not check(wrong, "attention_scores").passed
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(CheckFailed, match="scores-transposed"):
        check(wrong, "attention_scores")
    assert "It looks like scores-transposed" in capsys.readouterr().out
    assert check(attention_scores).passed


def test_a_time_limit_of_ones_own():
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
