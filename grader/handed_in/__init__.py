"""What students hand in, from platforms and nbgrader's exchange: whose it is, which notebook and which of several
hand-ins counts. Nothing is graded here.
"""
