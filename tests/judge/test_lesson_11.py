"""Lesson 11 in the sandbox: its models, generators and caches cross to the student's process and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.exercises.registry import exercises
from grader.judge.outline import Outline
from tests.judge.conftest import LIMITS
from tools import notebooks as nb

LESSON = "11_small_gpt"


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline.of(nb.instructor(LESSON))


def graded(judge, outline, **answers):
    limits = replace(LIMITS, check_seconds=20, submission_seconds=120)  # the machine may be busy with other tests
    return judge(nb.solved(LESSON, **answers), outline=outline, known=exercises(), limits=limits)


def test_solved_lesson_gets_full_marks(judge, outline):
    result = graded(judge, outline)
    assert result.mark == result.points, result
