"""The command killed at ten moments, the watch at six, the scheduler killed, the disk full: the next run makes up for
it."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.batch.store import Store
from grader.errors import CommandFailed
from tests.batch.conftest import RIGHT, SQUARED, Room, answered
from tests.batch.test_watch import Watched, running

ROOT = Path(__file__).parents[2]
BY_HAND = "update grade set manual_score = 0.75, extra_credit = 0.5, needs_manual_grade = false"


def dying(*words: str) -> list[int]:
    """The numbers that tests/batch/dying.py prints: events of the runs that were let finish."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.batch.dying", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [int(line) for line in done.stdout.split()]


def test_command_killed_at_ten_moments(room, tmp_path):
    for name in ("ann", "bo"):
        room.submit(name, answered(SQUARED))
    room.grade()
    room.sql(BY_HAND)
    room.submit("bo", answered(RIGHT))
    for name in ("cy", "dee"):
        room.submit(name, answered(RIGHT))
    room.submit("eve", b"")
    copies = [Room(tmp_path / f"copy{i}", room.scheduler) for i in range(10)]
    for copy in copies:
        shutil.copytree(room.root, copy.root)
    (events,) = dying(room.scheduler, str(room.root))
    moments = sorted(random.Random(20).sample(range(events), len(copies)))
    dying(room.scheduler, *(f"{copy.root}:{moment}" for copy, moment in zip(copies, moments, strict=True)))
    undisturbed = room.book()
    assert {row[0]: row[5] for row in undisturbed["grades"]} == {
        "ann": 0.75, "bo": 0.75, "cy": None, "dee": None, "eve": None,
    }  # fmt: skip
    for copy, at in zip(copies, moments, strict=True):
        assert copy.book() == undisturbed, at
        for student in ("ann", "bo", "cy", "dee", "eve"):
            assert copy.autograded(student) == room.autograded(student), at


SCHEDULER = """
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=None, dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    input()
"""


@pytest.fixture
def doomed(tmp_path):
    """A scheduler with a worker, in a process of their own; its address and process."""
    (tmp_path / "scheduler.py").write_text(SCHEDULER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "scheduler.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
        process.kill()


def test_killed_scheduler(room, doomed, monkeypatch):
    for i in range(30):
        room.submit(f"s{i:02}", answered(RIGHT))
    shared = room.scheduler
    room.scheduler, process = doomed
    add_new = Store.add_new

    def killing(self, items):
        add_new(self, items)
        process.kill()

    monkeypatch.setattr(Store, "add_new", killing)
    outcome = room.grade()
    assert "connection to the scheduler was lost" in outcome.stopped
    assert 0 < outcome.graded < 30
    assert len(outcome.problems) == 30 - outcome.graded
    assert len(room.marks()) == outcome.graded
    monkeypatch.setattr(Store, "add_new", add_new)
    room.scheduler = shared
    again = room.grade()
    assert again.graded == 30 - outcome.graded
    assert not again.problems
    assert list(room.marks().values()) == [1] * 30


@pytest.mark.timeout(900)
def test_watch_killed_at_six_moments(room):
    """What comes in meanwhile has its mark and its feedback at the end, and is graded once."""
    watched, draw = Watched(room), random.Random(20)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    grader = [str(Path(sys.executable).with_name("grader")), "watch", str(room.root), "--scheduler", room.scheduler]
    pages = []
    for i in range(6):
        pages += [watched.hand_in("ann", SQUARED), watched.hand_in(f"s{i}", RIGHT)]
        with subprocess.Popen(grader, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "Watching" in process.stderr.readline()
            time.sleep(draw.uniform(0, 2.5))
            process.kill()
    with running(watched.watch()) as rounds:
        rounds()
    assert [page.exists() for page in pages[1::2]] == [True] * 6
    assert pages[-2].exists()
    marks = room.marks()
    assert {student: mark for student, mark in marks.items() if student != "ann"} == {f"s{i}": 1 for i in range(6)}
    assert 0 < marks["ann"] < 1


@pytest.mark.parametrize("place", ["collect", "log", "autograded", "gradebook", "feedback", "release"])
def test_watch_on_a_full_disk(room, monkeypatch, place):
    """Whatever can't be written: a sentence, and once there is room it goes on."""
    watched = Watched(room)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    def refuse(*_words, **_more):
        raise CommandFailed("database or disk is full") if place == "gradebook" else full

    name = {
        "collect": "grader.course.files.UntrustedFolder.copy_to",
        "log": "grader.book.results_log.os.write",
        "autograded": "grader.book.autograded.write_atomically",
        "gradebook": "grader.book.gradebook.LessonGradebook.store",
        "feedback": "grader.feedback.fresh.write_atomically",
        "release": "shutil.copy",
    }[place]
    page, watch = watched.hand_in("ann", RIGHT), watched.watch()
    with running(watch) as rounds:
        with monkeypatch.context() as patch:
            patch.setattr(name, refuse)
            rounds(1)
        assert not page.exists()
        assert "No space left on device" in watched.page or "disk is full" in watched.page
        rounds()
        assert page.exists()
        assert "disk is full" not in watched.page
    assert watched.room.marks() == {"ann": 1}
    assert "Traceback" not in watched.room.said.getvalue()


FULL_DISK = """
set -u
cp -r "$1" /mnt/course
dd if=/dev/zero of=/mnt/fill bs=4096 2> /dev/null
truncate --size=-16384 /mnt/fill
"$2" autograde /mnt/course 00 --scheduler "$3"
echo "ended with $?"
rm /mnt/fill
"$2" autograde /mnt/course 00 --scheduler "$3"
echo "ended with $?"
cp -r /mnt/course "$4"
"""


def test_full_disk(room, tmp_path):
    """A file system of 4 MiB in a mount namespace of its own; no root is needed for it."""
    for i in range(8):
        room.submit(f"s{i}", answered(RIGHT))
    isolation = ["bwrap", "--dev-bind", "/", "/", "--size", str(4 * 2**20), "--tmpfs", "/mnt", "--", "bash", "-c"]
    after = tmp_path / "after"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    grader = str(Path(sys.executable).with_name("grader"))
    done = subprocess.run(
        [*isolation, FULL_DISK, "bash", str(room.root), grader, room.scheduler, str(after)],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert "No space left on device. What was graded before is kept" in done.stderr, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert [line for line in done.stdout.splitlines() if "ended with" in line] == ["ended with 1", "ended with 0"]
    left = Room(after, room.scheduler)
    assert left.marks() == {f"s{i}": 1 for i in range(8)}
    room.grade()
    assert left.book() == room.book()
