"""Who handed a lesson in together: such a group's work is one work, with one mark.

`.grader/groups/LESSON.jsonl` has a line for each group:

    {"format": 1, "group": "Group 1", "students": {"ann": 1, "bo": 1}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from grader.course.folder import GROUPS
from grader.course.json_lines import lines_file, read_lines, write_lines


def groups_of(course: Path, lesson: str) -> dict[str, str]:
    """By the id of each student who handed in with others, the group's name; a line of another form is passed over."""
    groups = {}
    for _number, line in read_lines(lines_file(course, GROUPS, lesson)):
        with suppress(KeyError, AttributeError):
            groups.update(dict.fromkeys(map(str, line["students"]), str(line["group"])))
    return groups


def save_groups(course: Path, lesson: str, groups: Mapping[str, str]) -> None:
    """Write the lesson's file anew: the group's name by student."""
    names = sorted(set(groups.values()))
    lines = [{"group": name, "students": {who: 1 for who in sorted(groups) if groups[who] == name}} for name in names]
    write_lines(course, GROUPS, lesson, lines)


def drawn_for(course: Path, lesson: str) -> Callable[[str], str]:
    """A function that gives for whom the inputs of a student's checks are drawn: for the student, or for their whole
    group, since a group's work has one mark."""
    groups = groups_of(course, lesson)
    return lambda student: f"group: {groups[student]}" if student in groups else student
