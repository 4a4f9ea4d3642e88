"""The specification of an exercise, and how it is checked against a student's code."""
