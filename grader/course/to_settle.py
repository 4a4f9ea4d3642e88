"""Whose hand-ins wait to be settled: work of which it isn't known which of several people it is.

`.grader/to-settle/LESSON.jsonl` has a line for each such work, by the name that the platform gave it:

    {"format": 1, "label": "Ann Lee_505", "students": {"20260006": "Ann Lee", "20260007": "Ann Lee"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from grader.atomic import write_atomically
from grader.course.folder import FOLDER, TO_SETTLE, folder_of, mode_in

FORMAT = 1


def works_to_settle(course: Path, lesson: str) -> dict[str, dict[str, str]]:
    """By label those whose it may be, with their names. A line of another form is passed over."""
    path = course / FOLDER / TO_SETTLE / f"{lesson}.jsonl"
    found = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            data = json.loads(line)
            if data["format"] == FORMAT:
                found[str(data["label"])] = {str(who): str(name) for who, name in data["students"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return found


def unsettled(course: Path, lesson: str) -> set[str]:
    """Whose something may be: until that is settled, nobody can say that they handed in nothing."""
    return {who for people in works_to_settle(course, lesson).values() for who in people}


def save_to_settle(course: Path, lesson: str, works: Mapping[str, Mapping[str, str]]) -> None:
    """Write the file anew; without works there is none."""
    path = folder_of(course, TO_SETTLE) / f"{lesson}.jsonl"
    lines = [{"format": FORMAT, "label": label, "students": dict(people)} for label, people in sorted(works.items())]
    if lines:
        write_atomically(path, "".join(f"{json.dumps(line)}\n" for line in lines), mode_in(course))
    else:
        path.unlink(missing_ok=True)
