"""Who handed a lesson in together: such a group's work is one work, with one mark.

`.grader/groups/LESSON.jsonl` has a line for each group:

    {"format": 1, "group": "Group 1", "students": {"ann": 1, "bo": 1}}
"""

from __future__ import annotations

from collections.abc import Mapping
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


def drawn_for(course: Path, lesson: str, student: str) -> str:
    """For whom the inputs of checks are drawn: the student, or their whole group, since equal work in a group has to
    earn the same."""
    group = groups_of(course, lesson).get(student)
    return student if group is None else f"group: {group}"
