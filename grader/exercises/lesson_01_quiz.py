"""The quiz of lesson 01."""

from grader.answers import quiz

QUIZ = quiz("quiz_01", "01_self_attention", 2, ())
