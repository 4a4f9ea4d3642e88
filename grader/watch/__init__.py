"""`grader watch`: marks and feedback as submissions arrive."""
