"""The quiz of lesson 11: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

from grader.exercises.lesson_11 import quiz_11
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_11
    right = {"first_key": 4, "second_key": "d"}  # TODO the right answers
    # TODO other spellings of right answers, words of the hints for wrong ones, and of what other kinds of answers get.
    spellings = [("first_key", 4.0), ("second_key", " D) ")]
    hints = [("first_key", 5, "this wrong answer"), ("second_key", "a", "each wrong letter")]
    kinds = [("first_key", "4", "expected a number"), ("second_key", 2, "expected one of")]
