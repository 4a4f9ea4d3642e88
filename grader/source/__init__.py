"""A teacher's notebooks: a course is made of them, they are checked, edited, brought up to date, and cleared for
students. Nothing that a student handed in is read here.
"""
