"""The marks of a course: the log of results, the gradebook, `autograded/`, the audit log, what is exported. No mark is
made up here: they come from the judge and from teachers.
"""
