"""The table of all platforms, as docs/platforms.md has it."""

from __future__ import annotations

from grader.platforms.registry import platforms

HEADS = ("from", "how hand-ins are named", "what a student can write", "when work came", "marks", "feedback")


def as_markdown() -> str:
    """A row a platform."""
    rows = [HEADS, ("---",) * len(HEADS)]
    rows += [
        (
            platform.title,
            platform.names_in_words,
            platform.students_write,
            platform.times_in_words,
            platform.marks_in_words,
            platform.feedback_in_words,
        )
        for platform in platforms()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
