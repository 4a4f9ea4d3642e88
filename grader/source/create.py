"""Makes a course directory: nbgrader's layout, filled from `solutions/`, with the judge plugged in."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from grader.course.folder import HALF_MADE, SECRET, is_half_made
from grader.course.sharing import group_number, shared_with
from grader.errors import CourseError
from grader.source import base

CONFIG = '''"""nbgrader's settings for this course. `configure` plugs in the judge; your own settings go below it."""

from pathlib import Path

from grader.nbgrader_plugins.settings import configure

c = get_config()
configure(c, root=str(Path(__file__).resolve().parent), course_id={course_id!r})
{exchange}
# What a submission may use (see docs/grading.md), for example:
# c.JudgingExporter.limits = {{"check_seconds": 20, "submission_seconds": 240}}
'''


def create(folder: Path, solutions: Path, course_id: str = "", exchange: str = "", group: str = "") -> list[str]:
    """Make the course directory `folder` of the notebooks in `solutions`; returns the names of its assignments.
    `course_id` is the folder's name if not given, `exchange` the folder of nbgrader's exchange. The teachers of `group`
    share it; without one it is its owner's alone. `CourseError` if the folder isn't empty, or one of these isn't right.
    """
    notebooks = sorted(solutions.glob("*.ipynb"))
    if not notebooks:
        raise CourseError(f"{solutions} has no notebooks. Make them with `grader build`.")
    course_id = course_id or folder.resolve().name
    if not re.fullmatch(r"[\w.-]+", course_id):
        raise CourseError(
            f"{course_id!r} can't be a course's id, which may only have letters, digits, '_', '.' and '-'. "
            "Give another one with --id."
        )
    if is_half_made(folder):
        raise CourseError(HALF_MADE.format(folder))
    if folder.exists() and any(folder.iterdir()):
        raise CourseError(f"{folder} is not empty. A course directory is made in an empty folder or a new one.")
    number = group_number(group) if group else None
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # submissions, marks and solutions are nobody else's business
    if number is None:
        _fill(folder, notebooks, course_id, exchange)
    else:
        with shared_with(folder, number):
            _fill(folder, notebooks, course_id, exchange)
        (folder / SECRET).chmod(0o640)
    return [notebook.stem for notebook in notebooks]


def _fill(folder: Path, notebooks: Iterable[Path], course_id: str, exchange: str) -> None:
    _write_secret(folder / SECRET)
    for notebook in notebooks:
        lesson_folder = folder / "source" / notebook.stem
        lesson_folder.mkdir(parents=True)
        (lesson_folder / notebook.name).write_bytes(notebook.read_bytes())
    base.note_release(folder, {notebook.stem: notebook.read_bytes() for notebook in notebooks})
    line = f"c.Exchange.root = {exchange!r}\n" if exchange else ""
    (folder / ".gitignore").write_text("\n".join(_private()) + "\n")
    # Last: a folder without it is no course yet.
    (folder / "nbgrader_config.py").write_text(CONFIG.format(course_id=course_id, exchange=line))


def _write_secret(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def _private() -> Iterable[str]:
    return (SECRET, "gradebook.db", "submitted/", "autograded/", "feedback/")
