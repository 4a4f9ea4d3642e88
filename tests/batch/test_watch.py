"""`grader watch`: what arrives in the exchange is graded and its feedback released, whatever happens meanwhile."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash

from grader.batch.worker import Task
from grader.course.class_directory import course_layout
from grader.course.lock import locked
from grader.errors import CommandFailed, CourseError
from grader.handed_in.exchange import WARNED
from grader.watch import lanes as module
from grader.watch.exchange import LOOK_UP
from grader.watch.lanes import NOT_BEGUN, SLOW, Lanes, Quick
from grader.watch.page import CONNECTIONS, Page, served
from grader.watch.service import Watch, WatchOptions
from tests.batch.conftest import HALF, LESSON, RIGHT, ROOT, SQUARED, Room, answered

LOOPS = "def first_steps(x):\n    while True:\n        pass"
START = datetime(2026, 11, 20, 10, tzinfo=UTC)


class Watched:
    """A course with an exchange. `step` is a round of the watch on the shared worker."""

    def __init__(self, room: Room, settings: str = "") -> None:
        self.room, self.root, self.exchange = room, room.root, room.root.parent / "exchange"
        self.count = 0
        self.inbound = self.exchange / "attention" / "inbound"
        self.pages = self.exchange / "attention" / "feedback"
        self.inbound.mkdir(parents=True)
        self.exchange.chmod(0o1777)
        with (self.root / "nbgrader_config.py").open("a") as file:
            file.write(f"c.Exchange.root = {str(self.exchange)!r}\nc.JudgingExporter.add_students = True\n{settings}\n")

    def hand_in(self, student: str, source: str, whole: bool = True, lesson: str = LESSON) -> Path:
        """As `nbgrader submit` leaves it, a minute after the one before; where its feedback will lie."""
        self.count += 1
        when = (START + timedelta(minutes=self.count)).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        folder = self.inbound / f"{student}+{lesson}+{when}+{secrets.token_hex(4)}"
        folder.mkdir()
        (folder / f"{LESSON}.ipynb").write_bytes(answered(source))
        (folder / "timestamp.txt").write_text(when)
        secret = secrets.token_hex(16)
        if whole:
            (folder / "submission_secret.txt").write_text(secret)
            folder.chmod(0o777)
        return self.pages / f"{notebook_hash(secret=secret, notebook_id=LESSON)}.html"

    def watch(self) -> Watch:
        return Watch(self.root, WatchOptions(scheduler=self.room.scheduler), self.room.said)

    @property
    def watch_layout(self) -> Any:
        return course_layout(self.root)

    @property
    def page(self) -> str:
        return (self.root / "watch.html").read_text()

    def ready(self) -> list[str]:
        return [path.name for path in self.pages.glob("*.html")]


@contextmanager
def running(watch: Watch) -> Iterator[Callable[[], None]]:
    """Rounds until there is nothing left to do."""
    with Lanes(None, watch.options.scheduler) as lanes:

        def rounds(most: int = 20) -> None:
            for turn in watch.turns.values():
                turn.due = 0.0
            while most and watch._step(lanes):
                most -= 1
            watch._shown = 0.0
            watch._show(lanes, at_once=True)

        rounds.lanes = lanes  # type: ignore[attr-defined]
        yield rounds
        for log in watch.logs.values():
            log.close()
        watch.logs.clear()


@pytest.fixture
def watched(room: Room) -> Watched:
    return Watched(room)


def test_what_arrives_is_graded_and_released_and_once_only(watched):
    first = watched.hand_in("ann", RIGHT)
    squared = watched.hand_in("bo", SQUARED)
    watched.hand_in("cy", RIGHT, whole=False)
    half = next(watched.inbound.glob("cy+*"))
    os.utime(half, (time.time() + 600,) * 2)  # as long as the test takes, `submit` is at work
    watched.hand_in("dee", RIGHT, lesson="99_other")
    watch = watched.watch()
    with running(watch) as rounds:
        rounds()
        assert sorted(watched.ready()) == sorted([first.name, squared.name])
        assert "1 of 1" in watched.page
        assert "square-of-sum" not in watched.page
        assert "squared" in watched.page or "mistake" in watched.page
        assert "dee+99_other" in watched.page  # and is said to be of no lesson
        before = first.stat().st_mtime_ns
        again = watched.hand_in("ann", HALF)
        os.utime(half, (0, 0))  # it lacks the last step of `submit`, and has for long
        rounds()
        assert again.exists()
        assert first.stat().st_mtime_ns == before
        assert (watched.root / "feedback" / "cy" / LESSON / f"{LESSON}.html").exists()
        assert watch.turns == {}
    marks = watched.room.marks()
    assert marks["ann"] < marks["cy"] == 1


def test_the_same_work_handed_in_again_has_feedback_too(watched):
    pages = [watched.hand_in("ann", SQUARED)]
    with running(watched.watch()) as rounds:
        rounds()
        pages.append(watched.hand_in("ann", SQUARED))
        rounds()
    assert [page.exists() for page in pages] == [True, True]


def test_hand_ins_over_the_limit_are_kept_and_not_graded(room):
    watched = Watched(room, "c.CourseWatch.attempts = 1")
    first = watched.hand_in("ann", SQUARED)
    second = watched.hand_in("ann", RIGHT)
    with running(watched.watch()) as rounds:
        rounds()
    assert room.marks()["ann"] < 1
    assert "squaring" in first.read_text()
    assert "limit is 1 per lesson" in second.read_text()
    assert "1 hand-in is over the limit of 1" in watched.page
    assert len(list(watched.inbound.iterdir())) == 2


def test_one_who_never_ends_holds_up_nobody(room):
    watched = Watched(
        room, "c.JudgingExporter.limits = {'check_seconds': 4, 'cell_seconds': 4, 'submission_seconds': 8}"
    )
    endless, right = watched.hand_in("ann", LOOPS), watched.hand_in("bo", RIGHT)
    watch = watched.watch()
    with running(watch) as rounds:
        rounds()
        assert right.exists()
        assert not endless.exists()
        assert "It takes a long time." in watched.page
        until = time.monotonic() + 120
        while not endless.exists() and time.monotonic() < until:
            time.sleep(0.2)
            rounds()
        assert rounds.lanes.slow == []
    assert room.marks() == {"ann": 0, "bo": 1}


class Busy:
    """Judges all of whose workers are busy with something else; `begun` are the students whose work they were given."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def submit(self, tasks, _workers):
        self.begun += [task.student for task in tasks]
        return type("Future", (), {"done": staticmethod(lambda: False)})()

    def require_connection(self) -> None:
        pass


def test_a_round_leaves_no_more_behind_than_the_workers_have_at_hand(monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.05)
    monkeypatch.setattr(module, "wait", lambda *_futures, **_how: time.sleep(0.1))
    lanes, judges = Lanes(2, None), Busy()
    lanes._client = SimpleNamespace(ncores=lambda: {"one": 1, "two": 1})
    lanes._judges[LESSON] = "", judges
    tasks = [Task(f"s{i:02}", b"") for i in range(24)]
    came = [pair for batch in Quick(lanes, LESSON).grade(tasks, 24) for pair in batch]
    said = {task.student: why for task, why in came}
    assert judges.begun == ["s00", "s01", "s02", "s03"]
    assert [who for who, why in said.items() if why == SLOW] == judges.begun
    assert [why for why in said.values() if why != SLOW] == [NOT_BEGUN] * 20


def test_percentile_is_not_below_the_median(watched):
    watch, now = watched.watch(), datetime.now(UTC)
    watch.notes.released = {("01", name): ("", now, seconds) for name, seconds in (("ann", 1.0), ("bo", 41.0))}
    assert dict(watch.notes.state({}, (), ()).figures) == {
        "hand-ins graded": "0",
        "seconds from hand-in to feedback, median": "21",
        "95th percentile": "41",
    }


def test_page_where_there_is_no_room(watched, monkeypatch):
    watch = watched.watch()
    watch.notes.page.show(watch.notes.state({}, (), ()))
    watch.notes.fault = "No room is left."

    def refuse(*_words, **_more):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("grader.watch.page.write_atomically", refuse)
    watch.notes.page.show(watch.notes.state({}, (), ()))
    assert watched.page.endswith("No room is left.</p></html>")


def test_page_is_served_to_whoever_knows_its_address():
    page = Page(Path("nowhere"), 0o600)
    page.html = b"<p>ann: 1 of 1</p>"
    with served(page, 0) as address:
        assert address.startswith("http://127.0.0.1:")
        assert urllib.request.urlopen(address).read() == page.html
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address[:-4])


def cpu_and_said(watched: Watched, watch: Watch) -> tuple[float, str]:
    began, before = time.process_time(), len(watched.room.said.getvalue())
    with running(watch) as rounds:
        rounds()
    return time.process_time() - began, watched.room.said.getvalue()[before:]


def test_folders_of_nobody_hold_up_nobody_and_are_told_in_one_line(room):
    """Any user of the machine may make them. Each was a turn of its own, in rounds with everybody else's work."""
    watched = Watched(room, "c.JudgingExporter.add_students = False")
    with Gradebook(watched.watch_layout.db_url, "attention") as book:
        for name in ("ann", "bo"):
            book.update_or_create_student(name)
    for number in range(3000):
        (watched.inbound / f"n{number}+{LESSON}+2026-11-20 10:00:00 UTC+{number}").mkdir(mode=0o777)
    page = watched.hand_in("ann", RIGHT)
    watch = watched.watch()
    seconds, said = cpu_and_said(watched, watch)
    assert page.exists()
    assert watch.turns == {}
    assert seconds < 20
    assert said.count("\n") < 10
    assert "3000 folders in the exchange aren" in watched.page
    (watched.inbound / f"n+{LESSON}+2026-11-20 10:00:00 UTC+more").mkdir()
    assert "folders" not in cpu_and_said(watched, watch)[1]


def test_who_comes_to_the_roster_later_is_taken_then(room):
    watched = Watched(room, "c.JudgingExporter.add_students = False")
    with Gradebook(watched.watch_layout.db_url, "attention") as book:
        book.update_or_create_student("bo")
        watch, page = watched.watch(), watched.hand_in("ann", RIGHT)
        assert watch.inbound.new() == []
        book.update_or_create_student("ann")
    assert watch.inbound.new() == []
    watch.inbound._looked_up -= LOOK_UP
    cpu_and_said(watched, watch)
    assert page.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_folders_in_a_students_name_that_are_not_theirs(watched):
    """They are not read, not parsed and not warned of one by one, in a round of that student's own work either."""
    for number in range(2000):
        folder = watched.inbound / f"ann+{LESSON}+2030-01-01 {number % 24:02}:00:00 UTC+{number}"
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    page, watch = watched.hand_in("ann", RIGHT), watched.watch()
    seconds, said = cpu_and_said(watched, watch)
    assert page.exists()
    assert seconds < 20
    assert len(watch.inbound.nobodys) == 2000
    assert said.count("\n") < WARNED + 20
    assert "Not collected: 1950 more" in said


def test_a_hand_in_of_another_lesson_is_held_for_the_teacher(watched):
    """It would earn 0, and the page with it would be released within seconds."""
    other = "01_self_attention"
    (watched.root / "source" / other).mkdir()
    shutil.copy(ROOT / "solutions" / f"{other}.ipynb", watched.root / "source" / other)
    feedback = watched.hand_in("ann", RIGHT)
    wrong = next(watched.inbound.glob("ann+*")) / f"{LESSON}.ipynb"
    wrong.write_bytes((ROOT / "solutions" / f"{other}.ipynb").read_bytes())
    fine = watched.hand_in("bo", RIGHT)
    watch = watched.watch()
    with running(watch) as rounds:
        rounds()
        assert watched.ready() == [fine.name]
        assert f"the notebook has the exercises of {other} and none of {LESSON}" in watched.page
        assert not feedback.exists()
        assert "ann" not in watched.room.marks()
        again = watched.hand_in("ann", RIGHT)
        rounds()
        assert again.exists()
        assert "has the exercises of" not in watched.page
    assert watched.room.marks()["ann"] == 1


def test_folders_of_no_lesson_are_one_line_a_student(watched):
    for number in range(200):
        (watched.inbound / f"ann+other{number}+2026-11-20 10:00:00 UTC+x").mkdir(mode=0o777)
        (watched.inbound / f"ann+other{number}+2026-11-20 10:00:00 UTC+x" / "submission_secret.txt").touch()
        (watched.inbound / f"ann+other{number}+2026-11-20 10:00:00 UTC+x").chmod(0o777)
    assert cpu_and_said(watched, watched.watch())[1].count("belongs to no lesson of this course") == 1


def test_a_gradebook_that_is_locked_ends_no_watch(watched, monkeypatch):
    watch = watched.watch()
    monkeypatch.setattr(watch.inbound, "_roster", lambda: 1 / 0)
    watch.inbound._looked_up -= LOOK_UP
    assert watch.inbound.new() == []


def test_idle_connections_take_neither_descriptors_nor_the_page():
    """1,000 of them ended the watch: each had a thread and a descriptor for as long as it liked."""
    page = Page(Path("nowhere"), 0o600)
    page.html = b"<p>ann: 1 of 1</p>"
    before = len(os.listdir("/proc/self/fd"))
    with served(page, 0) as address, ExitStack() as opened:
        host, port = urllib.parse.urlsplit(address).netloc.split(":")
        for number in range(300):
            idle = opened.enter_context(socket.create_connection((host, int(port)), timeout=20))
            idle.sendall(b"" if number % 2 else b"GET /slow HTTP/1.1\r\nX: ")
            if number % 100 == 99:
                assert urllib.request.urlopen(address, timeout=20).read() == page.html
        assert len(os.listdir("/proc/self/fd")) - before < 300 + CONNECTIONS + 10  # ours are 300
        assert threading.active_count() < CONNECTIONS + 20


def test_whoever_says_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("grader.watch.page.SILENT", 0.2)
    page = Page(Path("nowhere"), 0o600)
    with served(page, 0) as address:
        host, port = urllib.parse.urlsplit(address).netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as idle:
            assert idle.recv(100) == b""


def test_a_fault_of_the_page_ends_no_watch(watched, monkeypatch, capsys):
    page, watch = watched.hand_in("ann", RIGHT), watched.watch()

    def broken(*_words, **_more):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "page.html")

    monkeypatch.setattr("grader.watch.page.as_html", broken)
    cpu_and_said(watched, watch)
    assert page.exists()
    monkeypatch.setattr(watch.notes, "state", broken)
    cpu_and_said(watched, watch)
    assert "The page can't be made" in watched.room.said.getvalue()
    assert capsys.readouterr().err == ""


def test_course_that_another_command_holds_is_waited_for(watched):
    page, watch = watched.hand_in("ann", RIGHT), watched.watch()
    with running(watch) as rounds:
        with locked(watched.root):
            rounds(1)
            assert f"is being graded by process {os.getpid()}" in watched.page
        rounds()
    assert page.exists()


def test_second_watch_says_who_holds_the_course(watched):
    second, said = watched.watch(), f"watched by process {os.getpid()}"
    with locked(watched.root, "watch-lock", "watched"), pytest.raises(CommandFailed, match=said):
        second.run()


def test_settings_that_a_watch_cannot_work_with(room):
    config = room.root / "nbgrader_config.py"
    config.write_text(config.read_text() + "c.Exchange.root = '/nowhere'\n")
    with pytest.raises(CourseError, match="The exchange /nowhere isn't there"):
        Watch(room.root, WatchOptions(), io.StringIO())
    watched = Watched(room, "c.CourseWatch.attempts = -1")
    with pytest.raises(CourseError, match=r"attempts: got -1"):
        watched.watch()
    config.write_text(config.read_text() + "c.CourseWatch.attempts = 0\nc.JudgingExporter.add_students = False\n")
    with pytest.raises(CourseError, match="no students yet"):
        watched.watch()


def test_unit_is_one_that_systemd_takes(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd isn't here")
    unit = tmp_path / "grader-watch.service"
    text = (ROOT / "deploy" / "grader-watch.service").read_text()
    assert "/opt/course/bin/grader watch" in text
    unit.write_text(text.replace("/opt/course/bin/grader", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
