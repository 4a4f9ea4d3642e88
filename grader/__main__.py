"""`python -m grader` is the command `grader`."""

from grader.cli.main import main

if __name__ == "__main__":
    main()
