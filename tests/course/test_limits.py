"""A setting that is no limit is refused before anything is graded, with what it got and what was expected."""

from __future__ import annotations

import re

import pytest
from traitlets.config import Config

from grader.course.class_directory import limits_of
from grader.errors import CourseError
from grader.judge.limits import Limits

NUMBER, WHOLE = "a number above 0", "a whole number above 0"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"check_seconds": "20"}, f"check_seconds: got '20', expected {NUMBER}"),
        ({"patience": None}, f"patience: got None, expected {NUMBER}"),
        ({"cell_seconds": [3]}, f"cell_seconds: got [3], expected {NUMBER}"),
        ({"cell_seconds": True}, f"cell_seconds: got True, expected {NUMBER}"),
        ({"submission_seconds": float("nan")}, f"submission_seconds: got nan, expected {NUMBER}"),
        ({"submission_seconds": float("inf")}, f"submission_seconds: got inf, expected {NUMBER}"),
        ({"check_seconds": 0}, f"check_seconds: got 0, expected {NUMBER}"),
        ({"memory": 1.5e9}, f"memory: got 1500000000.0, expected {WHOLE}"),
        ({"threads": -1}, f"threads: got -1, expected {WHOLE}"),
        ({"seconds": 3}, "got 'seconds', expected one of check_seconds, cell_seconds,"),
        ({3: 3}, "got 3, expected one of check_seconds, cell_seconds,"),
        ("check_seconds=20", "got 'check_seconds=20', expected a dict of limits"),
        ([("check_seconds", 20)], "got [('check_seconds', 20)], expected a dict of limits"),
    ],
)
def test_a_limit_that_is_none_is_told_with_its_file_and_key(limits, said):
    with pytest.raises(CourseError, match=re.escape(f"nbgrader_config.py: c.JudgingExporter.limits: {said}")):
        limits_of(Config({"JudgingExporter": {"limits": limits}}))


def test_limits_that_are_limits_are_taken():
    config = Config({"JudgingExporter": {"limits": {"check_seconds": 20, "memory": 2**30}}})
    assert limits_of(config) == Limits(check_seconds=20, memory=2**30)
    assert limits_of(Config()) == Limits()
