"""A class on several machines, each with a network, an address, a user and a /tmp of its own, with TLS between them.
One of them is cut off in the middle of the run, and it is as if one machine had graded all.

It needs root (or sudo without a password), iproute2 and openssl: see tools/machines.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.book.results_log import latest
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from tests.batch.conftest import HALF, LESSON, RIGHT, SQUARED, Room, answered, command
from tools.machines import Cluster, wait_until

CLASS = 40
# Each call takes a moment, so that the cable is pulled while there is work to do. No hand-in is like another.
SLOWLY = """{}
answer_{} = first_steps
def first_steps(x):
    import time
    time.sleep(0.02)
    return answer_{}(x)"""
HANG = 300  # seconds, of which Dask's own patience with a silent connection takes 30


def results(course: Path) -> list[dict[str, Any]]:
    """The results in the log, in the order in which they came in."""
    path = lines_file(course, RESULTS, LESSON)
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "result" in line]


def logged(course: Path) -> dict[str, Any]:
    """What the log says of everybody, but for when it was graded and how long that took."""
    found = latest(course, LESSON)
    return {who: replace(one, graded="", result=replace(one.result, seconds=0.0)) for who, one in found.items()}


@pytest.fixture(scope="module")
def one_machine(template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Room]:
    """A course in which 40 people have handed in, and the same course graded on one machine."""
    folder = tmp_path_factory.mktemp("one")
    room = Room(Path(shutil.copytree(template, folder / "course")), "")
    for i in range(CLASS):
        answer = (RIGHT, SQUARED, HALF)[i % 3]
        room.submit(f"s{i:02}", answered(SLOWLY.format(answer, i, i)) if i else b"not a notebook")
    shutil.copytree(room.root, folder / "fresh")
    command(room.root, "grader", "autograde", ".", "00", "--add-students", check=False)
    assert len(room.marks()) == CLASS
    return folder / "fresh", room


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(workers=2) as running:
        yield running


def start(cluster: Cluster, fresh: Path) -> tuple[Room, subprocess.Popen[str]]:
    """A run on the cluster that has just begun: its course, and the command."""
    room = Room(cluster.teacher.home / "course", "")
    shutil.copytree(fresh, room.root, dirs_exist_ok=True)
    run = again(cluster, room)
    wait_until(lambda: len(results(room.root)) > 4 or run.poll() is not None, HANG, "the first results")
    assert run.poll() is None, run.communicate()
    return room, run


def again(cluster: Cluster, room: Room) -> subprocess.Popen[str]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return cluster.autograde(room.root, "00", "--add-students", **options)


def assert_same(room: Room, other: Room) -> None:
    """Marks, log, gradebook and notebooks are those of the other run, and nobody was graded twice."""
    assert room.marks() == other.marks()
    assert Counter(line["student"] for line in results(room.root)).most_common(1)[0][1] == 1
    assert logged(room.root) == logged(other.root)
    assert room.book() == other.book()
    for student in room.marks():
        assert room.autograded(student) == other.autograded(student), student


def test_a_worker_whose_network_goes_away_costs_time_and_nothing_else(cluster, one_machine):
    fresh, alone = one_machine
    room, run = start(cluster, fresh)
    there, gone = cluster.workers
    stranger = there.start(f"openssl s_client -connect {cluster.scheduler.address}:8786", stderr=subprocess.PIPE)
    assert "certificate required" in stranger.communicate(timeout=HANG)[1]
    assert len(results(room.root)) < CLASS - 4
    gone.cut()
    printed, said = run.communicate(timeout=HANG)
    assert run.returncode == 1, said  # as on one machine: s00's notebook can't be read
    assert f"{CLASS} of {CLASS} graded" in said
    assert f"1 worker at {gone.address} went away during the run. What it had at hand went to others." in said
    assert there.address not in said + printed
    assert_same(room, alone)
    # No judge stays behind there, and no secret in its memory.
    wait_until(lambda: not gone.processes(), HANG, "the worker's end")


def test_a_scheduler_whose_network_goes_away_ends_the_run_and_the_next_one_carries_on(cluster, one_machine):
    fresh, alone = one_machine
    room, run = start(cluster, fresh)
    cluster.scheduler.cut()
    printed, said = run.communicate(timeout=HANG)
    assert run.returncode == 1, said
    assert "The connection to the scheduler was lost. What was graded before is kept." in said + printed
    kept = {line["student"] for line in results(room.root)}
    assert 4 < len(kept) < CLASS
    assert {who: mark for who, mark in alone.marks().items() if who in kept} == room.marks()
    wait_until(lambda: not any(worker.processes() for worker in cluster.workers), HANG, "the workers' end")
    cluster.scheduler.join()
    cluster.start_workers()
    last = again(cluster, room)
    _printed, said = last.communicate(timeout=HANG)
    assert f"{CLASS - len(kept)} of {CLASS - len(kept)} graded" in said
    assert_same(room, alone)
