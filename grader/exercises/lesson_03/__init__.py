"""Lesson 03, many heads (Vaswani et al. 2017, section 3.2.2)."""

from grader.exercises.lesson_03.attention import MULTI_HEAD_ATTENTION
from grader.exercises.lesson_03.heads import MERGE_HEADS, SPLIT_HEADS
from grader.exercises.lesson_03.module import MULTI_HEAD_ATTENTION_MODULE
from grader.exercises.lesson_03.quiz import QUIZ
from grader.exercises.lesson_03.scores import MULTI_HEAD_SCORES, PER_HEAD_PROJECTION

EXERCISES = (
    SPLIT_HEADS,
    MERGE_HEADS,
    MULTI_HEAD_SCORES,
    MULTI_HEAD_ATTENTION,
    PER_HEAD_PROJECTION,
    MULTI_HEAD_ATTENTION_MODULE,
    QUIZ,
)
