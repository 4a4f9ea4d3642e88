"""Hand-ins of which it isn't known whose they are: kept when they are collected, so that every later list says so."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from grader.atomic import write_atomically
from grader.course.folder import FOLDER, TO_SETTLE, folder_of, mode_in


def note_unsettled(course: Path, lesson: str, may_be: Mapping[str, Collection[str]]) -> None:
    """Keep whose the hand-ins of these labels may be, for the lists of later commands; of nobody: it is settled."""
    known = _unsettled(course, lesson)
    now = {called: ids for called, ids in (known | {one: sorted(who) for one, who in may_be.items()}).items() if ids}
    if now != known:
        folder_of(course, TO_SETTLE)
        write_atomically(_unsettled_file(course, lesson), json.dumps(now), mode_in(course))


def unsettled(course: Path, lesson: str) -> set[str]:
    """The ids of all who may have handed in something of which it isn't known whose it is."""
    return {student for ids in _unsettled(course, lesson).values() for student in ids}


def forget_unsettled(course: Path, student: str) -> Iterator[Path]:
    """Take out what may have been a student's, and with it the name on it; the files that are another one since."""
    for path in sorted((course / FOLDER / TO_SETTLE).glob("*.json")):
        names = [called for called, ids in _unsettled(course, path.stem).items() if student in ids]
        note_unsettled(course, path.stem, dict.fromkeys(names, ()))
        if names:
            yield path


def _unsettled_file(course: Path, lesson: str) -> Path:
    return course / FOLDER / TO_SETTLE / f"{lesson}.json"


def _unsettled(course: Path, lesson: str) -> dict[str, list[str]]:
    """By label the ids of those who may have handed it in."""
    path = _unsettled_file(course, lesson)
    return dict(json.loads(path.read_text())) if path.is_file() else {}
