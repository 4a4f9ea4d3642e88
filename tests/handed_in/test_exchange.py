"""What lies in the exchange's inbound folder, where anybody may put anything: a student's own is collected, all else is
refused with a reason and ends nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import collect as nbgraders

from grader.handed_in.exchange import CollectRegularFiles
from tests.classroom import LESSON

NOTEBOOK, DATE = f"{LESSON}.ipynb", "2026-11-20 10:00:00 UTC"
ME = pwd.getpwuid(os.geteuid()).pw_name


class NoGradebook:
    def find_assignment(self, _name: str) -> Any:
        raise MissingEntry


class Inbound:
    """The exchange of a course; `collect` is the command, and gives what it said."""

    def __init__(self, root: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.course, self.folder, self._caplog = root / "course", root / "exchange" / "attention" / "inbound", caplog
        self.course.mkdir()
        self.folder.mkdir(parents=True)

    def put(self, student: str, rest: str = f"{LESSON}+{DATE}+x", notebook: str = "own") -> Path:
        entry = self.folder / f"{student}+{rest}"
        entry.mkdir()
        (entry / NOTEBOOK).write_text(notebook)
        return entry

    def collect(self, **traits: Any) -> str:
        layout = CourseDirectory(root=str(self.course), course_id="attention", assignment_id=LESSON)
        collector = CollectRegularFiles(coursedir=layout, root=str(self.folder.parents[1]), **traits)
        self._caplog.clear()
        self._caplog.set_level(logging.INFO)
        collector.log = logging.getLogger("exchange")
        collector.start()
        return self._caplog.text

    def collected(self) -> dict[str, str]:
        return {path.parents[1].name: path.read_text() for path in self.course.rglob(NOTEBOOK)}


@pytest.fixture
def inbound(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Inbound:
    """Students' names are those of their accounts: whoever runs the tests, who here isn't the one who collects."""
    monkeypatch.setattr(nbgraders, "Gradebook", lambda *_words: contextlib.nullcontext(NoGradebook()))
    monkeypatch.setattr(os, "geteuid", lambda: 2**31)
    return Inbound(tmp_path, caplog)


def test_own_submission_is_collected_and_nobody_hands_in_for_somebody_else(inbound):
    inbound.put(ME)
    inbound.put("ann", notebook="forged")
    said = inbound.collect()
    assert inbound.collected() == {ME: "own"}
    assert f"Not collected: ann+{LESSON}+{DATE}+x: it belongs to {ME}, not to ann" in said
    assert inbound.collect(check_owner=False).count("Not collected") == 0
    assert inbound.collected() == {ME: "own", "ann": "forged"}  # where everybody has the same account


def test_later_entry_of_somebody_else_does_not_stand_in_place_of_ones_own(inbound, monkeypatch):
    inbound.put(ME)
    later = inbound.put(ME, f"{LESSON}+2030-01-01 00:00:00 UTC+x", "forged")
    lstat = Path.lstat

    def of_another(path: Path) -> os.stat_result:
        about = lstat(path)
        return os.stat_result([*about[:4], 2**31 - 1, *about[5:]]) if path == later else about

    monkeypatch.setattr(Path, "lstat", of_another)
    assert "it belongs to user 2147483647" in inbound.collect()
    assert inbound.collected() == {ME: "own"}


def test_who_collects_may_hand_in_for_a_student(inbound, monkeypatch):
    monkeypatch.setattr(os, "geteuid", os.getuid)
    inbound.put("ann")
    assert "Not collected" not in inbound.collect()
    assert inbound.collected() == {"ann": "own"}


def test_file_that_belongs_to_another_user_is_left_out(inbound, monkeypatch):
    """A hard link to a neighbour's notebook, on a system that lets one make it."""
    entry = inbound.put(ME)
    (entry / "notes.txt").write_text("mine")
    fstat, theirs = os.fstat, (entry / NOTEBOOK).stat().st_ino

    def of_another(descriptor: int) -> os.stat_result:
        about = fstat(descriptor)
        return os.stat_result([*about[:4], 2**31 - 1, *about[5:]]) if about.st_ino == theirs else about

    monkeypatch.setattr(os, "fstat", of_another)
    said = inbound.collect()
    assert f"{NOTEBOOK}: The file can't be read: it belongs to user 2147483647" in said
    assert sorted(path.name for path in inbound.course.rglob("*.*")) == ["notes.txt", "timestamp.txt"]


def a_link(inbound: Inbound) -> None:
    (inbound.folder / f"{ME}+{LESSON}+{DATE}+a").symlink_to(inbound.course)


def a_dangling_link(inbound: Inbound) -> None:
    (inbound.folder / f"{ME}+{LESSON}+{DATE}+a").symlink_to("nothing")


def a_file(inbound: Inbound) -> None:
    (inbound.folder / f"{ME}+{LESSON}+{DATE}+a").write_text("no folder")


def a_time_that_is_a_folder(inbound: Inbound) -> None:
    (inbound.put("zoe") / "timestamp.txt").mkdir()


def a_student_in_whose_place_is_a_file(inbound: Inbound) -> None:
    (inbound.course / "submitted").mkdir()
    (inbound.course / "submitted" / "zoe").write_text("in the way")
    inbound.put("zoe")


def dated(date: str) -> Any:
    return lambda inbound: inbound.put("zoe", f"{LESSON}+{date}+x")


def named(name: str) -> Any:
    return lambda inbound: inbound.put(name)


SPOILT = {
    "a link": (a_link, "it is a link, and links aren't followed"),
    "a dangling link": (a_dangling_link, "it is a link, and links aren't followed"),
    "a file": (a_file, "it isn't a folder"),
    "an empty date": (dated(""), "there is no date in its name"),
    "no date": (dated("tomorrow"), "there is no date in its name"),
    "a huge date": (dated("9" * 40), "there is no date in its name"),
    "a huge zone": (dated(f"2030-01-01 10:00:00 {10**20}"), "there is no date in its name"),
    "no student": (named(""), "this can't be a student's name"),
    "a line too many": (named("a\nb"), "this can't be a student's name"),
    "a terminal's sequence": (named("a\x1b[2J"), "this can't be a student's name"),
    "no text": (named("a\udcff"), "this can't be a student's name"),
    "a long name": (named("a" * 200), "this can't be a student's name"),
    "a time that is a folder": (a_time_that_is_a_folder, ""),
    "a file in the way": (a_student_in_whose_place_is_a_file, "Not a directory"),
}


@pytest.mark.parametrize(("spoil", "why"), SPOILT.values(), ids=list(SPOILT))
def test_spoilt_entry_ends_nothing_and_is_listed(inbound, spoil, why):
    inbound.put(ME)
    spoil(inbound)
    said = inbound.collect(check_owner=False)
    assert inbound.collected()[ME] == "own"
    assert ("Not collected" in said) == bool(why)
    assert why in said


def test_submission_that_cannot_be_copied_whole_leaves_nothing_half(inbound, monkeypatch):
    entry = inbound.put(ME)
    (entry / "notes.txt").write_text("mine")
    inbound.put("ann")
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "notes.txt":
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in inbound.collect(check_owner=False)
    assert inbound.collected() == {"ann": "own"}
    monkeypatch.setattr(Path, "write_bytes", write)
    inbound.collect(check_owner=False)
    assert inbound.collected() == {"ann": "own", ME: "own"}
