"""What an exercise is: its specification, and how a specification is checked against a student's code."""
