"""What a teacher does with the notebooks in a course's `source/`: check, leave out, add, bring up to date."""
