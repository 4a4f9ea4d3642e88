"""Folders of processes that were killed are removed by the next, and nobody else's: a judge's and Dask's."""

from __future__ import annotations

import os
import tempfile
import time

import pytest

from grader.batch.cluster import DASK
from grader.judge.sandbox import SCRATCH
from grader.subject.held_folder import NEW, held_folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder):
    os.utime(folder, (time.time() - 2 * NEW,) * 2)
    return folder


@pytest.mark.parametrize("prefix", [SCRATCH, DASK])
def test_what_a_killed_process_left_is_removed(place, prefix):
    """Its lock ended with it, as a lock does that was never taken."""
    left = place / f"{prefix}killed"
    (left / "deep" / "er").mkdir(parents=True)
    (left / "deep" / "er" / "x").write_text("x")
    aged(left)
    with held_folder(prefix) as folder:
        assert not left.exists()
    assert not os.path.exists(folder)


def test_what_somebody_uses_or_has_just_made_or_put_there_stays(place, tmp_path_factory):
    new = place / f"{SCRATCH}new"
    new.mkdir()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine").write_text("x")
    (place / f"{SCRATCH}link").symlink_to(elsewhere)
    (place / f"{SCRATCH}file").write_text("x")
    with held_folder(SCRATCH) as used:
        aged(used)
        with held_folder(SCRATCH):
            assert os.path.isdir(used)
    assert not os.path.exists(used)
    assert new.is_dir()
    assert (elsewhere / "mine").exists()
