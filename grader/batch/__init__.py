"""Grades what was handed in: a class on workers, whose results go to a log and from there to nbgrader's gradebook, or
one notebook without a course (`single`). Which hand-in counts and how a mark is kept is not decided here.
"""
