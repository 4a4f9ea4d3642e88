"""Lesson 09, attention that scales: a batch, a piece or a token at a time."""

from grader.exercises.lesson_09.batched import BATCHED_SELF_ATTENTION
from grader.exercises.lesson_09.bytes import ATTENTION_MATRIX_BYTES, KV_CACHE_BYTES
from grader.exercises.lesson_09.cache import ATTEND_WITH_CACHE
from grader.exercises.lesson_09.chunked import CHUNKED_ATTENTION
from grader.exercises.lesson_09.online import ONLINE_ATTENTION
from grader.exercises.lesson_09.quiz import QUIZ

EXERCISES = (
    BATCHED_SELF_ATTENTION,
    ATTENTION_MATRIX_BYTES,
    CHUNKED_ATTENTION,
    ONLINE_ATTENTION,
    ATTEND_WITH_CACHE,
    KV_CACHE_BYTES,
    QUIZ,
)
