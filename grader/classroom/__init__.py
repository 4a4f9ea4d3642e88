"""The thin part that ties the judge to nbgrader. Everything else in `grader` works without nbgrader."""
