"""The folder of a course: how it is made, where what is neither nbgrader's nor a student's lies in it, and for whom."""

from __future__ import annotations

from pathlib import Path

from grader.course.sharing import is_shared

SECRET = "judge_secret"
HALF_MADE = (
    "{0} has an unfinished course, since nbgrader_config.py is missing. Take out any files of your own, remove the "
    "folder, and make the course again: grader course create {0}"
)
# Where a course keeps what is neither nbgrader's nor a student's; below it the results, what a preview graded, the
# audit log, students' other hand-ins, under which names a platform handed out the work, who got more time, what isn't
# settled, when platforms say that work came, what was there before the last collecting and the last reading of a
# list of people, and who worked together.
FOLDER = ".grader"
RESULTS, PREVIEW = "results", "preview"
REGRADES = "regrades"
EARLIER = "earlier"
CAME_FROM = "came-from"
EXTENSIONS = "extensions"
TO_SETTLE, TIMES, COLLECTED = "to-settle", "hand-in-times", "collected"
READINGS = "reading"
GROUPS = "groups"


def is_half_made(folder: Path) -> bool:
    """Whether the making of a course there was cut off."""
    return (folder / SECRET).is_file() and not (folder / "nbgrader_config.py").exists()


def folder_of(course: Path, name: str = "") -> Path:
    """The folder in which a course keeps what is neither nbgrader's nor a student's, or the one of this `name` in it.
    It is made if it isn't there, for the course's owner alone, or for the group that shares the course."""
    folder = course / FOLDER
    if not folder.is_dir():
        _make(folder, course)
        (folder / ".gitignore").write_text("*\n")
    if name and not (folder / name).is_dir():
        _make(folder / name, course)
    return folder / name


def _make(folder: Path, course: Path) -> None:
    folder.mkdir(mode=0o700)
    if is_shared(course):
        folder.chmod(0o2770)


def mode_in(course: Path) -> int:
    """The mode that a new file gets in a course: its group may read and write it where the course is shared."""
    return 0o660 if is_shared(course) else 0o600
