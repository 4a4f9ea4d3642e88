"""A group's work is checked on the same inputs for each of its members."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from grader.batch.worker import JudgePlugin, Task
from grader.course.groups import drawn_for, groups_of, save_groups

GROUPS = {"ann": "Group 1", "bo": "Group 1", "cy": "Group 2"}


def test_groups_are_read_back_and_say_for_whom_inputs_are_drawn(tmp_path):
    (tmp_path / ".grader").mkdir()
    save_groups(tmp_path, "01", GROUPS)
    assert groups_of(tmp_path, "01") == GROUPS
    drawn = drawn_for(tmp_path, "01")
    assert drawn("ann") == drawn("bo") != drawn("cy")
    assert drawn("di") == "di"
    assert drawn("ann") not in {*GROUPS, *GROUPS.values()}, "nobody's id"
    save_groups(tmp_path, "01", {})
    assert groups_of(tmp_path, "01") == {}


def test_a_worker_draws_for_the_group(monkeypatch):
    asked: list[Any] = []
    plugin = JudgePlugin.__new__(JudgePlugin)
    limits = SimpleNamespace(quick=None)
    plugin._alone = nullcontext()
    plugin.settings = SimpleNamespace(limits=limits, outline=None)
    plugin.judge = SimpleNamespace(grade=lambda data, outline, whom, *more: asked.append(whom))
    for task in (Task("ann", b"", drawn_for="group: Group 1"), Task("di", b"")):
        plugin.grade(task)
    assert asked == ["group: Group 1", "di"]
