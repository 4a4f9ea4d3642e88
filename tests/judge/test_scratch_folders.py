"""Scratch folders of processes that were killed are removed by the next, and nobody else's."""

from __future__ import annotations

import os
import tempfile
import time

import pytest

from grader.judge import sandbox


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder):
    os.utime(folder, (time.time() - 2 * sandbox.NEW,) * 2)
    return folder


def test_what_a_killed_process_left_is_removed(place):
    """Its lock ended with it, as a lock does that was never taken."""
    left = place / f"{sandbox.SCRATCH}killed"
    (left / "deep" / "er").mkdir(parents=True)
    (left / "deep" / "er" / "x").write_text("x")
    aged(left)
    sandbox._remove_left_over()
    assert not left.exists()


def test_what_somebody_uses_or_has_just_made_or_put_there_stays(place, tmp_path_factory):
    folder, held = sandbox._new_folder()
    aged(folder)
    new = place / f"{sandbox.SCRATCH}new"
    new.mkdir()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine").write_text("x")
    (place / f"{sandbox.SCRATCH}link").symlink_to(elsewhere)
    (place / f"{sandbox.SCRATCH}file").write_text("x")
    sandbox._remove_left_over()
    assert os.path.isdir(folder)
    assert new.is_dir()
    assert (elsewhere / "mine").exists()
    os.close(held)
    sandbox._remove_left_over()
    assert not os.path.exists(folder)
