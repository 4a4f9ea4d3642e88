"""The page of terms, symbols and shape letters."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.lesson import letters_table
from grader.languages import shown
from grader.sentences import say
from website.course import Course
from website.pages import write
from website.references import term_of

LETTERS = say(
    "Shapes are written in these letters everywhere: in lessons, docstrings and reports. (B, H, T, D) is a tensor with "
    "four axes."
)


def write_glossary(course: Course, folder: Path) -> None:
    """Write `glossary.md` into the folder of Sphinx's sources."""
    write(course, folder / "glossary.md", glossary)


def glossary(course: Course) -> str:
    """The page of terms, symbols and letters as MyST markdown."""
    entries = "\n\n".join(_entry(course, term) for term in sorted(course.terms, key=_in_order))
    return (
        f"# {shown(say('Glossary'))}\n\n"
        f"{shown('Here are all letters and terms of the lessons, with one name for one thing.')}\n\n"
        f"## {shown(say('Letters'))}\n\n{shown(LETTERS)}\n\n" + course.prose("\n".join(letters_table())) + "\n\n"
        f"## {shown(say('Terms'))}\n\n:::{{glossary}}\n{entries}\n:::\n"
    )


def _in_order(term: str) -> str:
    return term_of(term).lower()


def _entry(course: Course, term: str) -> str:
    entry = course.terms[term]
    lesson = course.by_number[entry["lesson"]]
    meaning = shown(" ".join(entry["meaning"].split()))
    where = shown(say("Lesson {number}", number=lesson.number))
    return f"{term_of(term)}\n  {meaning} [{where}](lessons/{lesson.name}.ipynb)."
