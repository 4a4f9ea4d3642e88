"""Lesson 07, the whole Transformer (Vaswani et al. 2017)."""

from grader.exercises.lesson_07_block import TRANSFORMER_BLOCK
from grader.exercises.lesson_07_decoder import DECODER, DECODER_BLOCK
from grader.exercises.lesson_07_encoder import ENCODER
from grader.exercises.lesson_07_feed_forward import FEED_FORWARD
from grader.exercises.lesson_07_quiz import QUIZ
from grader.exercises.lesson_07_transformer import TRANSFORMER

EXERCISES = (FEED_FORWARD, TRANSFORMER_BLOCK, ENCODER, DECODER_BLOCK, DECODER, TRANSFORMER, QUIZ)
