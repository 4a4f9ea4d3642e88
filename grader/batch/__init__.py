"""Grades a whole class: submissions go to workers, results to a log, from there to nbgrader's gradebook."""
