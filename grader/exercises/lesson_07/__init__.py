"""Lesson 07, the whole Transformer (Vaswani et al. 2017)."""

from grader.exercises.lesson_07.block import TRANSFORMER_BLOCK
from grader.exercises.lesson_07.decoder import DECODER, DECODER_BLOCK
from grader.exercises.lesson_07.encoder import ENCODER
from grader.exercises.lesson_07.feed_forward import FEED_FORWARD
from grader.exercises.lesson_07.quiz import QUIZ
from grader.exercises.lesson_07.transformer import TRANSFORMER

EXERCISES = (FEED_FORWARD, TRANSFORMER_BLOCK, ENCODER, DECODER_BLOCK, DECODER, TRANSFORMER, QUIZ)
