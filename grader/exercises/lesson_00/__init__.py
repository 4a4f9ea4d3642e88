"""Lesson 00, start here: one exercise so small that only the way of working is new."""

NAMES = ("first_steps",)
