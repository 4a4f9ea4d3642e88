"""Lesson 00, start here: one exercise so small that only the way of working is new."""

LESSON = "00_start_here"
NAMES = ("first_steps",)
