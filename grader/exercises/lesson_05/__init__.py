"""Lesson 05, LayerNorm and BatchNorm: functions, a module that remembers, RMSNorm, and where a block has its norm."""

from grader.exercises.lesson_05.batchnorm import BATCH_NORM_MODULE
from grader.exercises.lesson_05.norms import BATCH_NORM, LAYER_NORM
from grader.exercises.lesson_05.quiz import QUIZ
from grader.exercises.lesson_05.residual import POST_NORM, PRE_NORM
from grader.exercises.lesson_05.rms import RMS_NORM

EXERCISES = (LAYER_NORM, BATCH_NORM, BATCH_NORM_MODULE, RMS_NORM, PRE_NORM, POST_NORM, QUIZ)
