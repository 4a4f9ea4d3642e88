"""The judge: grades a submission without ever running a line of it in its own process."""
