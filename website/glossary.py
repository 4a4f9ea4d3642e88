"""The page of terms, symbols and shape letters."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.lesson import letters_table
from website.course import Course


def write_glossary(course: Course, folder: Path) -> None:
    """Write `glossary.md` into the folder of Sphinx's sources."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "glossary.md").write_text(glossary(course), encoding="utf-8")


def glossary(course: Course) -> str:
    """The page of terms, symbols and letters as MyST markdown."""
    entries = "\n\n".join(_entry(course, term) for term in sorted(course.terms, key=str.lower))
    return (
        "# Glossary\n\nHere are all letters and terms of the lessons, with one name for one thing.\n\n"
        "## Letters\n\nShapes are written in these letters everywhere: in lessons, docstrings and reports. "
        "(B, H, T, D) is a tensor with four axes.\n\n" + "\n".join(letters_table()) + "\n\n"
        f"## Terms\n\n:::{{glossary}}\n{entries}\n:::\n"
    )


def _entry(course: Course, term: str) -> str:
    entry = course.terms[term]
    lesson = course.by_number[entry["lesson"]]
    meaning = " ".join(entry["meaning"].split())
    return f"{term}\n  {meaning} [Lesson {lesson.number}](lessons/{lesson.name}.ipynb)."
