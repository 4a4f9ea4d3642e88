"""Under which names platforms gave a student's work: `.grader/came-from/LESSON/STUDENT`, a line each, the last first.

Feedback goes back under that name, and a platform's key in it is this student's from then on.
"""

from __future__ import annotations

from pathlib import Path

from grader.atomic import write_atomically
from grader.course.folder import CAME_FROM, FOLDER, folder_of, mode_in


def names_of(root: Path, lesson: str, student: str) -> list[str]:
    """The names under which a student's work of a lesson came, that of the last first; none if none came."""
    path = root / FOLDER / CAME_FROM / lesson / student
    return path.read_text("utf-8", "surrogateescape").split("\n") if path.is_file() else []


def note_name(root: Path, lesson: str, student: str, name: str) -> None:
    """Note the name under which a student's last work came."""
    name = name.replace("\n", " ")
    folder_of(root, CAME_FROM)
    path = folder_of(root, f"{CAME_FROM}/{lesson}") / student
    names = [name, *(known for known in names_of(root, lesson, student) if known not in ("", name))]
    write_atomically(path, "\n".join(names).encode("utf-8", "surrogateescape"), mode_in(root), durable=False)
