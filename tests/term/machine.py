"""Random terms: the real commands beside the model of `tests/term/model.py`, step by step, with a judge that takes no
time. After each step whose work is in place, its time and all that was collected are as the model has them; so are the
marks, the lateness and what an export says, wherever a step works them out."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import zlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from grader.cli.main import main
from grader.course.roster import save
from tests.batch.conftest import LESSON
from tests.term.forged import sized
from tests.term.given import IDS, NAMESAKES, PEOPLE, PLATFORMS, STRANGER, as_given, label
from tests.term.kill import Killed, killed_at
from tests.term.model import BEST, DAY, DUE, HandIn, Term
from tests.term.stand_in import notebook


def kills(**most: int) -> st.SearchStrategy[Kill]:
    """At which write, below which of the course's folders, a command is killed: it makes about so many there."""
    ways = [st.tuples(st.just(folder), st.integers(1, count)) for folder, count in most.items()]
    return st.one_of(st.none(), *ways)


Kill = tuple[str, int] | None
WORK = st.tuples(
    st.sampled_from([*IDS, STRANGER]),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.integers(5, 3000),
    st.booleans(),
    st.booleans(),
)
Work = tuple[str, float, int, bool, bool]
WORKS, SOMEWHERE = st.lists(WORK, min_size=1, max_size=4), st.sampled_from(["", "", *PLATFORMS])
COLLECT_KILLS = kills(course=60, submitted=20)


class RandomTerm(RuleBasedStateMachine):
    """A term that happens twice: in a course directory, and in the model."""

    begun: Path  # a course to begin with, of the class
    number = 0  # of terms so far

    def __init__(self) -> None:
        super().__init__()
        RandomTerm.number += 1
        self.root = self.begun.with_name("term")  # the same for all: what is kept for a path serves them all
        self.course = self.root / "course"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.begun, self.course)
        self.now, self.count = DUE - 4 * DAY, 0
        self.shown: dict[str, dict[str, HandIn]] = {name: {} for name in PLATFORMS}
        self.written: dict[str, HandIn] = {}  # the last of each
        self.every: dict[bytes, HandIn] = {}

    @initialize(
        which=st.sampled_from(["last", "last-in-time", "first", BEST]),
        free=st.sampled_from([0, 0, 2]),
        numbered=st.booleans(),
        home=st.sampled_from(PLATFORMS),
    )
    def begin(self, which: str, free: int, numbered: bool, home: str) -> None:
        """A course's rules; whether its roster has Canvas's numbers; where its people mostly hand in."""
        self.term = Term(IDS, which, free, NAMESAKES, ["canvas"] if numbered else [])
        self.home = home
        self.configure(f"c.CourseCollect.counts = {which!r}\nc.CourseLateness.free_days = {free}")
        if not numbered:
            save(self.course, [replace(person, canvas_id="") for person in PEOPLE])

    def teardown(self) -> None:
        if hasattr(self, "term") and sys.exc_info()[0] is None:
            self.look_at_the_places()
            self.look_at_the_table()

    # --- what people do -----------------------------------------------------------------------------------------------

    @rule(platform=SOMEWHERE, works=WORKS)
    def hand_in(self, platform: str, works: list[Work]) -> None:
        """Some people hand something in: maybe in a zip, and with the checksum of what they handed in before. Who has
        another one's name does so after that one: whoever hands in alone under a name of the list is taken for them."""
        platform = platform or self.home
        for who, share, minutes, wrapped, forged in works:
            if who in NAMESAKES and NAMESAKES[who] not in (
                (platform in ("moodle", "canvas") and self.shown[platform]) or ()
            ):
                continue
            self.now += timedelta(minutes=minutes)
            self.count += 1
            crc = zlib.crc32(self.written[who].data) if forged and who in self.written else None
            data = sized(notebook(LESSON, "first_steps", share, f"{who} {self.count}"), crc)
            made = HandIn(who, self.now, share, data, wrapped)
            self.shown[platform][who] = self.written[who] = self.every[data] = made

    # --- what the teacher does ----------------------------------------------------------------------------------------

    @rule(platform=SOMEWHERE, works=WORKS, told=st.booleans(), kill=COLLECT_KILLS)
    def hand_in_and_collect(self, platform: str, works: list[Work], told: bool, kill: Kill) -> None:
        """What a platform shows is taken in at once: most terms have only a few such days."""
        self.hand_in(platform, works)
        if any(self.shown.values()):
            self.collect(platform, told, kill)

    @precondition(lambda self: any(self.shown.values()))
    @rule(platform=SOMEWHERE, told=st.booleans(), kill=COLLECT_KILLS)
    def collect(self, platform: str, told: bool, kill: Kill) -> None:
        """Take in what a platform shows; where two have one name, maybe with a word of the teacher's."""
        platform = next(name for name in (platform or self.home, *PLATFORMS) if self.shown[name])
        shown = self.shown[platform]
        source = as_given(self.root / f"{platform}-{self.count}", platform, shown, LESSON)
        doubtful = self.term.doubtful(platform, shown.values()) if told else ()
        says = [word for who in doubtful for word in ("--is", f"{label(platform, who)}={who}")]
        killed = self.run("collect", "00", str(source), *says, kill=kill)
        self.term.collect(platform, shown.values(), told)
        if killed:
            self.term.collected = None
        self.look_at_the_places()

    @precondition(lambda self: any(record.place for record in self.term.people.values()))
    @rule(kill=kills(course=20, autograded=10))
    def autograde(self, kill: Kill) -> None:
        self.run("autograde", "00", kill=kill)
        self.term.autograde()
        self.look_at_the_marks()

    @precondition(lambda self: any(self.shown.values()))
    @rule(who=st.sampled_from(IDS), days=st.integers(0, 3), kill=kills(course=6))
    def extend(self, who: str, days: int, kill: Kill) -> None:
        self.run("extend", "00", who, "--days", str(days), kill=kill)
        self.term.extended[who] = days * DAY
        self.look_at_the_marks()

    @precondition(lambda self: any(self.shown.values()) and any(map(self.term.may_be_marked, IDS)))
    @rule(data=st.data(), points=st.sampled_from([0.0, 0.3, 1.0]), kill=kills(course=6))
    def override(self, data: Any, points: float, kill: Kill) -> None:
        who = data.draw(st.sampled_from([*filter(self.term.may_be_marked, IDS)]))
        killed = self.run("override", who, "first_steps", f"{points:g}", "--why", "So.", kill=kill)
        self.term.override(who, points)
        self.forget_steps(killed)

    @precondition(lambda self: self.term.rule != BEST)  # which of several an earlier check has graded isn't modelled
    @rule(generous=st.sampled_from([0.0, 0.25, 0.5]))
    def mend_the_check(self, generous: float) -> None:
        self.term.generous = generous
        self.configure(f"c.JudgingExporter.limits = {{'check_seconds': {10 + 10 * generous}}}")

    @precondition(lambda self: any(r.place and r.place == r.graded for r in self.term.people.values()))
    @rule(kill=kills(course=20))
    def regrade(self, kill: Kill) -> None:
        self.run("regrade", "00", "--preview")
        killed = self.run("regrade", "00", "--accept", kill=kill)
        self.term.accept()
        self.forget_steps(killed)
        self.look_at_the_marks()

    @precondition(lambda self: self.term.steps)
    @rule()
    def undo(self) -> None:
        self.run("regrade", "00", "--undo")
        self.term.undo()
        self.look_at_the_marks()

    @precondition(lambda self: self.term.collected)
    @rule()
    def uncollect(self) -> None:
        self.run("collect", "00", "--undo")
        self.term.uncollect()
        self.look_at_the_marks()

    def forget_steps(self, killed: bool) -> None:
        """What a command that was killed and run again can take back isn't said anywhere."""
        if killed:
            self.term.steps.clear()

    def configure(self, line: str) -> None:
        """Set something for the course."""
        with (self.course / "nbgrader_config.py").open("a") as file:
            file.write(f"{line}\n")

    # --- what has to hold ---------------------------------------------------------------------------------------------

    def run(self, command: str, *words: str, kill: Kill = None) -> bool:
        """Run a command, and again if it was killed; returns whether it was."""
        line = [command, str(self.course), *words]
        try:
            folder, write = kill or ("course", 0)
            with killed_at(write, self.course if folder == "course" else self.course / folder):
                done = CliRunner().invoke(main, line)
            killed = False
        except Killed:
            killed = True
            done = CliRunner().invoke(main, line)
        assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
        assert done.exit_code < 2, done.output
        self.look_at_the_files()
        return killed

    def place(self, who: str) -> bytes:
        path = self.course / "submitted" / who / LESSON / f"{LESSON}.ipynb"
        return path.read_bytes() if path.is_file() else b""

    def earlier(self, who: str) -> list[bytes]:
        folder = self.course / ".grader" / "earlier" / LESSON / who
        return [path.read_bytes() for path in folder.glob("*/*.ipynb")]

    def look_at_the_files(self) -> None:
        """What is in place was written by whom it is said of, and has its time: nothing is a stranger's."""
        for who in IDS:
            if data := self.place(who):
                mine = self.every[data]
                assert mine.author == who
                said = (self.course / "submitted" / who / LESSON / "timestamp.txt").read_text().strip()
                assert said == f"{mine.time:%Y-%m-%d %H:%M:%S} UTC", (who, said, mine)

    def look_at_the_places(self) -> None:
        """What counts, and all that was collected, is the model's."""
        for who, record in self.term.people.items():
            assert self.place(who) == (record.place.data if record.place else b""), who
            assert {self.place(who), *self.earlier(who)} - {b""} == {hand_in.data for hand_in in record.kept}, who

    def look_at_the_marks(self) -> None:
        """So are marks and lateness, as an export has them."""
        self.look_at_the_places()
        exported = json.loads(self.exported("json"))
        for student in exported["students"]:
            who, mark = student["id"], student["marks"][LESSON]
            assert (mark["state"].replace("not due yet", "not handed in"), mark["points"]) == (
                self.term.state(who),
                self.term.mark(who),
            ), who
            if mark["points"] is not None:
                days = self.term.days_late(who, self.term.people[who].time)
                assert (f"{days} day" in mark["late"] and "begun" in mark["late"]) == (days > 0), mark
        assert {student["id"] for student in exported["students"]} == {*IDS}

    def look_at_the_table(self) -> None:
        """A table of the marks has those of the model."""
        _possible, *rows = csv.DictReader(self.exported("csv").splitlines())
        marks = {row["id"]: float(row[LESSON]) if row[LESSON] else None for row in rows}
        assert marks == {who: self.term.mark(who) for who in IDS}, marks

    def exported(self, kind: str) -> str:
        done = CliRunner().invoke(main, ["export", str(self.course), "--to", kind])
        assert done.exit_code == 0, done.output
        return (self.course / f"marks-{kind}.{kind}").read_text()


def play(begun: Path, terms: int, **options: Any) -> None:
    """Play so many random terms; `AssertionError` where a course isn't as the model has it."""
    RandomTerm.begun, RandomTerm.number = begun, 0
    how = {"derandomize": "FUZZ_ROUNDS" not in os.environ, "stateful_step_count": 10, **options}
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        RandomTerm,
        settings=settings(
            max_examples=terms, deadline=None, database=None, suppress_health_check=list(HealthCheck), **how
        ),
    )
