"""Whatever is handed in and whatever breaks: all others are graded, nothing is lost, and the report says why."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from distributed import Client

from grader.batch import cluster as clusters
from grader.batch import printout, worker
from grader.batch.run import Options, run
from grader.batch.store import Store
from grader.batch.worker import JudgePlugin
from grader.book.rebuild import StoredNotebook
from grader.course.release import Release
from grader.errors import CommandFailed, OtherVersion
from grader.judge.fingerprint import GradingSettings
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from tests.batch.conftest import LESSON, RIGHT, ROOT, SQUARED, answered, command
from tools import notebooks as nb

NOTEBOOK = f"{LESSON}.ipynb"
PRIVATE = "a neighbour's notes"


def cells(source: str = RIGHT) -> list[dict]:
    return nb.solved(LESSON, first_steps=source)


def doubled() -> bytes:
    every = cells()
    check = nb.place_of(every, "first_steps", "check")
    return nb.dump([*every, dict(every[check]), dict(every[check])])


def from_colab() -> bytes:
    """As Colab saves it: ids and cells' metadata replaced by its own."""
    notebook = {"nbformat": 4, "nbformat_minor": 0, "metadata": {"colab": {"provenance": []}}, "cells": cells()}
    for i, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"id": f"kQ{i}xYz", "colab": {"base_uri": "https://localhost:8080/"}}
        cell["source"] = cell["source"].splitlines(keepends=True)
        del cell["id"]
    return json.dumps(notebook).encode()


def from_vs_code() -> bytes:
    """As VS Code saves it: metadata under `vscode`, line ends of Windows, a byte order mark."""
    notebook = {"nbformat": 4, "nbformat_minor": 2, "metadata": {"orig_nbformat": 4}, "cells": cells()}
    for cell in notebook["cells"]:
        cell["metadata"] = {"vscode": {"languageId": "python"}}
        cell["source"] = cell["source"].replace("\n", "\r\n")
        del cell["id"]
    return b"\xef\xbb\xbf" + json.dumps(notebook).encode()


READABLE = {"right": answered(RIGHT), "doubled": doubled(), "colab": from_colab(), "vscode": from_vs_code()}
UNREADABLE = {
    "truncated": (answered(RIGHT)[:-200], "n't valid JSON"),
    "empty": (b"", "The file is empty"),
    "latin": (answered(RIGHT).replace(b"first_steps", "sch\u00f6n".encode("latin-1")), "n't UTF-8"),
    "cells": (nb.dump([nb.code("1")] * 10_000), "has 10000 cells"),
    "list": (b"[]", "it has no cells"),
}


def test_whatever_is_handed_in(room):
    for name, data in READABLE.items():
        room.submit(name, data)
    for name, (data, _why) in UNREADABLE.items():
        room.submit(name, data)
    with room.submit("huge", b"{").open("r+b") as file:
        file.truncate(300 * 2**20)
    room.submit("link", None).symlink_to(room.root / "source" / LESSON / NOTEBOOK)
    os.mkfifo(room.submit("pipe", None))
    room.submit("folder", None).mkdir()
    room.submit("missing", None)
    room.folder("x" * 130).mkdir(parents=True)
    (room.folder("right") / "notes.txt").write_text(PRIVATE)
    (room.root / "submitted" / "same_folder").symlink_to("right")
    (room.root / "submitted" / "same_lesson").mkdir()
    room.folder("same_lesson").symlink_to(room.folder("right"))
    outcome = room.grade()
    reasons = {name: why for name, (_data, why) in UNREADABLE.items()} | {
        "huge": "has 314572800 bytes; at most",
        "link": "Links are not followed",
        "same_folder": "Links are not followed",
        "same_lesson": "Links are not followed",
        "pipe": "a regular file",
        "folder": "it is a folder",
        "missing": f"There is no {NOTEBOOK}",
    }
    assert room.marks() == dict.fromkeys(READABLE, 1) | dict.fromkeys(reasons, 0)
    assert set(outcome.problems) == {*reasons, ascii("x" * 130)}
    for name, why in reasons.items():
        assert why in outcome.problems[name], name
        assert why in room.autograded(name)["cells"][0]["source"][0].replace("&#95;", "_"), name
    for name in ("same_folder", "same_lesson"):
        assert [path.name for path in room.folder(name, "autograded").iterdir()] == [NOTEBOOK]
        assert "return 2 * x" not in json.dumps(room.autograded(name))
    before = room.book()
    again = room.grade()
    assert again.graded == 0
    assert again.problems == outcome.problems
    assert room.book() == before


def test_odd_names_end_nothing_and_reach_no_terminal(room):
    """Folders that can't be a student's, and files of a student's that could keep the notebook out of `autograded/`."""
    names = ("new\nline", "\x1b[2J", os.fsdecode(b"\xff"))
    for name in names:
        room.submit(name, answered(RIGHT))
    room.submit("ann", answered(RIGHT))
    (room.root / "source" / LESSON / "data.txt").write_text("the course's")
    folder = room.folder("ann")
    for name in (
        "\x1b[2J.txt",
        os.fsdecode(b"\xff.html"),
        "\u4f60" * 83 + ".txt",
        "submission_secret.txt/x",
        "data.txt/x",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("mine")
    (folder / "\x1b[31mlink").symlink_to(room.root)
    (folder / "timestamp.txt").unlink()
    (folder / "timestamp.txt").mkdir()
    deep = folder / ("d" * 255) / ("d" * 255) / ("d" * 255)
    deep.mkdir(parents=True)
    (deep / ("d" * 255)).write_text("mine")
    outcome = room.grade()
    assert set(outcome.problems) == set(map(ascii, names))
    assert room.marks() == {"ann": 1}
    assert room.autograded("ann")["cells"]
    made = {path.name: path for path in room.folder("ann", "autograded").iterdir()}
    assert made["data.txt"].read_text() == "the course's"
    assert {"\x1b[2J.txt", "\udcff.html", "\u4f60" * 83 + ".txt"} < set(made)
    assert "timestamp.txt" not in made
    said = room.said.getvalue()
    assert "ann: left out of autograded/: " in said
    assert " and 2 more" in said
    assert "\x1b" not in said + printout.as_text(outcome)
    assert room.grade().graded == 0
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    assert "\x1b" not in command(room.root, "nbgrader", "generate_feedback", LESSON, "--force").stdout


def test_killed_worker(room):
    for i in range(12):
        room.submit(f"s{i:02}", answered(RIGHT))
    with Client(room.scheduler) as client:
        room.grade()
        (pid,) = client.run(os.getpid).values()
        killer = threading.Timer(0.1, os.kill, (pid, signal.SIGKILL))
        killer.start()
        outcome = room.grade(force=True)
        killer.join()
        assert (pid,) != tuple(client.run(os.getpid).values())
    assert outcome.graded == 12
    assert not outcome.problems
    assert set(room.marks().values()) == {1}


OWN = """
import io, os, signal, sys
from pathlib import Path
from grader.batch import cluster, run
from grader.batch.store import Store

clusters, add_new, start = [], Store.add_new, cluster._local_cluster

def start_and_remember(workers):
    clusters.append(start(workers))
    return clusters[0]

def add_and_kill(store, items):
    add_new(store, items)
    if clusters:
        (nanny,) = clusters.pop().workers.values()
        os.kill(nanny.pid, signal.SIGKILL)

cluster._local_cluster, Store.add_new = start_and_remember, add_and_kill
said = io.StringIO()
outcome = run.run(Path(sys.argv[1]), "00", run.Options(workers=1), said)
print(outcome.graded, len(outcome.problems), outcome.stopped)
print(said.getvalue().splitlines()[-2])
"""


def test_killed_worker_of_the_commands_own(room):
    """Its sandbox is gone with it; the worker in its place starts another."""
    for i in range(20):
        room.submit(f"s{i:02}", answered(RIGHT))
    done = subprocess.run(
        [sys.executable, "-c", OWN, str(room.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    lost = "1 worker at 127.0.0.1 went away during the run. What it had at hand went to others."
    assert (done.stdout, done.stderr) == (f"20 0 \n{lost}\n", "")
    assert set(room.marks().values()) == {1}


def test_worker_that_does_not_come_up(room, monkeypatch):
    room.submit("ann", answered(RIGHT))
    monkeypatch.setitem(clusters.SETTINGS, "distributed.worker.preload", ["no_such_module_anywhere"])
    with pytest.raises(CommandFailed, match="The workers can't be started"):
        run(room.root, "00", Options(workers=1), room.said)
    assert not (room.root / "autograded" / "ann").exists()


def kill_zygote(dask_worker) -> int:
    """Runs on the worker."""
    (judge,) = (one for name, one in dask_worker.plugins.items() if name.startswith("attention-course-"))
    pid = judge.judge.sandbox.pid
    os.kill(pid, signal.SIGKILL)
    return pid


def test_killed_zygote(room):
    for name in ("ann", "bo"):
        room.submit(name, answered(RIGHT))
    room.grade()
    with Client(room.scheduler) as client:
        before = client.run(kill_zygote)
        outcome = room.grade(force=True)
        assert not outcome.problems
        assert client.run(kill_zygote) != before
    assert room.marks() == {"ann": 1, "bo": 1}


def test_lessons_of_a_course_hold_one_judge(monkeypatch):
    made: list[tuple[object, ...]] = []
    ended: list[tuple[object, ...]] = []

    class Judge:
        def __init__(self, *how):
            self.how = how
            made.append(how)

        def close(self):
            ended.append(self.how)

    def plugin(secret: bytes) -> worker.JudgePlugin:
        outline = SimpleNamespace(own=())
        settings = SimpleNamespace(secret=secret, limits=Limits(), unsafe=False, carry_forward="none", outline=outline)
        return worker.JudgePlugin(settings, None, "1")

    monkeypatch.setattr("grader.judge.judge.Judge", Judge)
    monkeypatch.setattr(worker, "version_for", lambda _outline: "1")
    first, second, others = plugin(b"ours"), plugin(b"ours"), plugin(b"theirs")
    for one in (first, second, others):
        one.setup(None)
    assert first.judge is second.judge
    assert [how[0] for how in made] == [b"ours", b"theirs"]
    first.teardown(None)
    first.teardown(None)
    assert ended == []
    second.teardown(None)
    others.teardown(None)
    assert [how[0] for how in ended] == [b"ours", b"theirs"]
    first.setup(None)
    assert len(made) == 3
    first.teardown(None)


def test_locked_database_is_waited_for(room):
    for name in ("ann", "bo"):
        room.submit(name, answered(RIGHT))
    holder = sqlite3.connect(room.root / "gradebook.db", isolation_level=None, check_same_thread=False)
    holder.execute("begin exclusive")
    release = threading.Timer(1.5, holder.execute, ("rollback",))
    release.start()
    outcome = room.grade()
    release.join()
    assert not outcome.problems
    assert room.marks() == {"ann": 1, "bo": 1}


def test_database_that_stays_locked_loses_nothing(room, monkeypatch):
    for name in ("ann", "bo"):
        room.submit(name, answered(SQUARED))
    monkeypatch.setattr(Store, "patience", 0.0)
    holder = sqlite3.connect(room.root / "gradebook.db", isolation_level=None)
    # Others may read, nobody may write.
    holder.execute("begin immediate")
    outcome = room.grade()
    assert outcome.graded == 2
    assert "The hand-in was graded but isn't in the gradebook yet (database is locked)" in outcome.problems["ann"]
    holder.execute("rollback")
    holder.close()
    assert room.marks() == {}
    outcome = room.grade()
    assert outcome.graded == 0
    assert not outcome.problems
    assert room.marks() == {"ann": 0.07, "bo": 0.07}


def test_folder_that_cannot_be_written_costs_one_student_the_notebook_only(room):
    for name in ("ann", "bo"):
        room.submit(name, answered(RIGHT))
    (room.root / "autograded").mkdir()
    (room.root / "autograded" / "ann").write_text("in the way")
    outcome = room.grade()
    assert "the notebook can't be written" in outcome.problems["ann"]
    assert room.marks() == {"ann": 1, "bo": 1}
    (room.root / "autograded" / "ann").unlink()
    outcome = room.grade()
    assert not outcome.problems
    assert outcome.graded == 0
    assert room.autograded("ann")["cells"]


def test_submission_that_workers_die_on_costs_itself_only(room, monkeypatch):
    for name in ("ann", "bad", "notes", "zoe"):
        room.submit(name, answered(RIGHT))

    def judge(plugin, tasks):  # runs on the worker
        from distributed import KilledWorker

        students = [task.student for task in tasks]
        if "bad" in students:
            raise KilledWorker("judge", SimpleNamespace(address="tcp://10.0.0.7:40001"), 2)
        if "notes" in students:
            raise ValueError("unheard of")
        return worker.judge(plugin, tasks)

    with monkeypatch.context() as patched:
        patched.setattr(clusters, "judge", judge)
        outcome = room.grade()
    assert outcome.problems == {
        "bad": "Every worker that tried to grade this hand-in died.",
        "notes": "The judge failed: ValueError: unheard of",
    }
    assert room.marks() == {"ann": 1, "zoe": 1}
    assert room.grade().graded == 2
    assert room.marks() == dict.fromkeys(("ann", "bad", "notes", "zoe"), 1)


def test_result_with_a_fault_of_ours_is_flagged_and_tried_again(room, monkeypatch):
    for name in ("ann", "bo"):
        room.submit(name, answered(RIGHT))

    def judge(plugin, tasks):  # runs on the worker
        done = worker.judge(plugin, tasks)
        return [broken(one) if task.student == "bo" else one for task, one in zip(tasks, done, strict=True)]

    def broken(one):
        (exercise,) = one.record.result.exercises
        result = replace(one.record.result, exercises=(replace(exercise, broken=True, score=0.0),))
        return replace(one, record=replace(one.record, result=result))

    with monkeypatch.context() as patched:
        patched.setattr(clusters, "judge", judge)
        outcome = room.grade()
    assert outcome.problems == {"bo": "The check itself failed: first_steps."}
    assert room.marks() == {"ann": 1, "bo": 0}
    outcome = room.grade()
    assert (outcome.graded, outcome.problems) == (1, {})
    assert room.marks() == {"ann": 1, "bo": 1}


def test_worker_with_another_version_is_refused():
    settings = GradingSettings(Outline.of(nb.instructor(LESSON)), b"x" * 64, Limits())
    with pytest.raises(OtherVersion, match="a different version"):
        JudgePlugin(settings, Release(), "older").setup(SimpleNamespace(address="tls://10.0.0.7:40001"))
    assert "xxxx" not in repr(settings)


def test_worker_that_cannot_confine_ends_the_run_with_the_cause(room):
    def set_folder(path):  # runs on the worker
        before, tempfile.tempdir = tempfile.tempdir, path
        return before

    room.submit("ann", answered(RIGHT))
    # Other terms, so another judge: the one that is kept has its sandbox already.
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write("\nc.JudgingExporter.limits = {'check_seconds': 9}\n")
    with Client(room.scheduler) as client:
        (before,) = client.run(set_folder, "/nowhere").values()
        try:
            with pytest.raises(CommandFailed, match="there is no folder for temporary files"):
                room.grade()
        finally:
            client.run(set_folder, before)
    assert room.grade().graded == 1


def test_secret_is_forgotten_by_the_workers_when_a_run_ends(room, workers, monkeypatch):
    room.submit("ann", answered(RIGHT))
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write("\nc.JudgingExporter.limits = {'check_seconds': 8}\n")
    monkeypatch.setattr(clusters.Judges, "__exit__", workers.forget)
    room.grade()
    assert room.marks() == {"ann": 1}
    assert not [name for name in workers.scheduler.worker_plugins if name.startswith("attention-course-")]


def test_a_run_that_was_killed_leaves_no_secret_behind_the_next_one(room, workers):
    """Here no run ends its judges, as one that is killed doesn't. The next has other settings."""
    room.submit("ann", answered(RIGHT))
    for seconds in (11, 12):
        with (room.root / "nbgrader_config.py").open("a") as file:
            file.write(f"\nc.JudgingExporter.limits = {{'check_seconds': {seconds}}}\n")
        room.grade(force=True)
        assert len([name for name in workers.scheduler.worker_plugins if name.startswith("attention-course-")]) == 1
    assert room.marks() == {"ann": 1}


def test_without_bubblewrap_every_result_says_so(room, tmp_path, monkeypatch):
    room.submit("ann", answered(RIGHT))
    bwrap = tmp_path / "bin" / "bwrap"
    bwrap.parent.mkdir()
    bwrap.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bwrap.parent}{os.pathsep}{os.environ['PATH']}")
    outcome = run(room.root, "00", Options(workers=1), room.said)
    assert printout.as_json(outcome)["confinement"] == {"ann": "confined"}
    assert "The code ran confined." in (room.root / "autograded" / "ann" / LESSON / NOTEBOOK).read_text()


def test_what_ran_out_of_time_beside_others_is_graded_again_alone(monkeypatch):
    """Its time may have gone to a neighbour that spins."""
    beside = []

    class Pass:
        crashed = ()

        def __init__(self, _judges):
            pass

        def run(self, tasks, in_a_list, most):
            for task in tasks:
                beside.append((task.student, most))
                slow = task.student == "slow" or (task.student == "hindered" and most > 1)
                record = task.logged(SubmissionResult((), timed_out=slow))
                yield [(task, worker.GradedSubmission(record, StoredNotebook(b"")))]

    monkeypatch.setattr(clusters, "_Dispatch", Pass)
    tasks = [worker.Task(name, b"") for name in ("ann", "hindered", "slow", "zoe")]

    def graded(workers):
        judges = object.__new__(clusters.Judges)
        judges._client, judges._name = SimpleNamespace(ncores=lambda: dict.fromkeys(range(workers), 1)), ""
        beside.clear()
        found = [pair for batch in judges.grade(tasks, 4) for pair in batch]
        return {task.student: graded.record.result.timed_out for task, graded in found}, len(found)

    assert graded(2) == ({"ann": False, "hindered": False, "slow": True, "zoe": False}, 4)
    assert beside[4:] == [("hindered", 1), ("slow", 1)]
    assert graded(1)[1] == 4
    assert len(beside) == 4  # a worker that is the only one has no neighbours
