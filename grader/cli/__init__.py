"""The command line, `grader`. Commands are thin; exit codes live on the errors (see `grader.errors`)."""
