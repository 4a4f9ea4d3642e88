"""Learning platforms, a file each: how their lists of people are headed, how they name hand-ins, where times come from,
which files they take back, and what of all this a student can write.

Whose a hand-in is and when it came is decided elsewhere (`grader.handed_in.whose`), from what is said here.
"""
