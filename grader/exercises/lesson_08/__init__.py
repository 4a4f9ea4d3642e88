"""Lesson 08, training a Transformer: what it is given, what it should say, how wrong it was, and how it writes."""

from grader.exercises.lesson_08.decode import GREEDY_DECODE
from grader.exercises.lesson_08.loss import SEQUENCE_LOSS
from grader.exercises.lesson_08.match import EXACT_MATCH
from grader.exercises.lesson_08.quiz import QUIZ
from grader.exercises.lesson_08.rate import NOAM_RATE
from grader.exercises.lesson_08.shift import SHIFT_TARGET

EXERCISES = (SHIFT_TARGET, SEQUENCE_LOSS, NOAM_RATE, GREEDY_DECODE, EXACT_MATCH, QUIZ)
