"""Lesson 10, reading and debugging attention: patterns, rollout, and a hunt for eight mistakes."""

from __future__ import annotations

from grader.exercises.lesson_10.classify import CLASSIFY_PATTERN
from grader.exercises.lesson_10.hunt import BUG_HUNT
from grader.exercises.lesson_10.patterns import FIRST_TOKEN_PATTERN, LOCAL_PATTERN
from grader.exercises.lesson_10.quiz import QUIZ
from grader.exercises.lesson_10.rollout import ATTENTION_ROLLOUT

EXERCISES = (
    FIRST_TOKEN_PATTERN,
    LOCAL_PATTERN,
    CLASSIFY_PATTERN,
    ATTENTION_ROLLOUT,
    BUG_HUNT,
    QUIZ,
)
