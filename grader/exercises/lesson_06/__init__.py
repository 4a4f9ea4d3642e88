"""Lesson 06, tokens and positions: looked up, added, turned."""

from __future__ import annotations

from grader.exercises.lesson_06.embedding import EMBED_TOKENS, EMBED_WITH_POSITIONS
from grader.exercises.lesson_06.quiz import QUIZ
from grader.exercises.lesson_06.relative import RELATIVE_POSITION_BIAS
from grader.exercises.lesson_06.rope import APPLY_ROPE
from grader.exercises.lesson_06.sinusoids import SINUSOIDAL_ENCODING

EXERCISES = (
    EMBED_TOKENS,
    EMBED_WITH_POSITIONS,
    SINUSOIDAL_ENCODING,
    RELATIVE_POSITION_BIAS,
    APPLY_ROPE,
    QUIZ,
)
