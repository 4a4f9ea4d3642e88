"""What a course was made from: `DIR/.grader/base/` has each lesson as the release had it, and `version` which that was.
`grader course update` compares with it."""

from __future__ import annotations

from pathlib import Path

from grader import __version__
from grader.atomic import write_atomically
from grader.course.folder import FOLDER, folder_of, mode_in

NAME, VERSION = "base", "version"


def version_of(course: Path) -> str:
    """The version of the release that a course was last made from; "" where that isn't known."""
    try:
        return (course / FOLDER / NAME / VERSION).read_text("utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def path_in(course: Path, lesson: str) -> Path:
    """The path of a lesson's notebook as its release had it; the file need not be there."""
    return course / FOLDER / NAME / f"{lesson}.ipynb"


def note_release(course: Path, lessons: dict[str, bytes]) -> None:
    """Note from what lessons are made now: their notebooks, as bytes by name, and the version of the installed
    release."""
    folder = folder_of(course, NAME)
    for name, notebook in lessons.items():
        write_atomically(path_in(course, name), notebook, mode_in(course), durable=False)
    write_atomically(folder / VERSION, f"{__version__}\n", mode_in(course))
