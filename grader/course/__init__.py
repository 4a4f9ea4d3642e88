"""The folder of a course: where things lie in it, who is in it, when work is due, how files of others are read. Nothing
is graded here, and no mark kept.
"""
