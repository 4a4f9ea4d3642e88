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
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from grader.cli.main import main
from grader.course.roster import save
from tests.term.forged import sized
from tests.term.given import IDS, LESSON, NAMESAKES, PEOPLE, PLATFORMS, SECOND, STRANGER, as_given, label
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
LESSONS = st.sampled_from([LESSON, LESSON, LESSON, SECOND])
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
        self.shown = {lesson: {name: dict[str, HandIn]() for name in PLATFORMS} for lesson in (LESSON, SECOND)}
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
        rules = (IDS, which, free, NAMESAKES, ["canvas"] if numbered else [])
        self.terms = {LESSON: Term(*rules), SECOND: Term(*rules, due=DUE + 2 * DAY)}
        for term, other in ((LESSON, SECOND), (SECOND, LESSON)):
            self.terms[term].others.append(self.terms[other])
        self.home = home
        self.configure(f"c.CourseCollect.counts = {which!r}\nc.CourseLateness.free_days = {free}")
        if not numbered:
            save(self.course, [replace(person, canvas_id="") for person in PEOPLE])

    def teardown(self) -> None:
        if hasattr(self, "terms") and sys.exc_info()[0] is None:
            self.look_at_the_places()
            self.look_at_the_table()

    def which(self, lesson: str, can: Callable[[str], object]) -> str:
        """This lesson, if something can be done in it, else the other one, if it can."""
        return next((name for name in (lesson, LESSON, SECOND) if can(name)), "")

    # --- what people do -----------------------------------------------------------------------------------------------

    @rule(lesson=LESSONS, platform=SOMEWHERE, works=WORKS)
    def hand_in(self, lesson: str, platform: str, works: list[Work]) -> None:
        """Some people hand something in: maybe in a zip, and with the checksum of what they handed in before. Who has
        another one's name does so after that one, who else comes in their place: whoever hands in alone under a name of
        the list is taken for them."""
        platform = platform or self.home
        for who, share, minutes, wrapped, forged in works:
            if who in NAMESAKES and NAMESAKES[who] not in (
                (platform in ("moodle", "canvas") and self.shown[lesson][platform]) or ()
            ):
                who = NAMESAKES[who]
            self.now += timedelta(minutes=minutes)
            self.count += 1
            crc = zlib.crc32(self.written[who].data) if forged and who in self.written else None
            data = sized(notebook(LESSON, "first_steps", share, f"{who} {self.count}"), crc)
            made = HandIn(who, self.now, share, data, wrapped)
            self.shown[lesson][platform][who] = self.written[who] = self.every[data] = made

    # --- what the teacher does ----------------------------------------------------------------------------------------

    @rule(lesson=LESSONS, platform=SOMEWHERE, works=WORKS, told=st.booleans(), kill=COLLECT_KILLS)
    def hand_in_and_collect(self, lesson: str, platform: str, works: list[Work], told: bool, kill: Kill) -> None:
        """What a platform shows is taken in at once: most terms have only a few such days."""
        self.hand_in(lesson, platform, works)
        if any(self.shown[lesson].values()):
            self.collect(lesson, platform, told, kill)

    @precondition(lambda self: self.which(LESSON, self.shows))
    @rule(lesson=LESSONS, platform=SOMEWHERE, told=st.booleans(), kill=COLLECT_KILLS)
    def collect(self, lesson: str, platform: str, told: bool, kill: Kill) -> None:
        """Take in what a platform shows; where two have one name, maybe with a word of the teacher's."""
        lesson = self.which(lesson, self.shows)
        term, all_shown = self.terms[lesson], self.shown[lesson]
        platform = next(name for name in (platform or self.home, *PLATFORMS) if all_shown[name])
        shown = all_shown[platform]
        source = as_given(self.root / f"{platform}-{self.count}", platform, shown, lesson)
        doubtful = term.doubtful(platform, shown.values()) if told else ()
        says = [word for who in doubtful for word in ("--is", f"{label(platform, who)}={who}")]
        killed = self.run("collect", lesson, str(source), *says, kill=kill)
        term.collect(platform, shown.values(), told)
        if killed:
            term.collected = None
        self.look_at_the_places()

    @precondition(lambda self: self.which(LESSON, self.holds))
    @rule(lesson=LESSONS, kill=kills(course=20, autograded=10))
    def autograde(self, lesson: str, kill: Kill) -> None:
        lesson = self.which(lesson, self.holds)
        self.run("autograde", lesson, kill=kill)
        self.terms[lesson].autograde()
        self.look_at_the_marks()

    @precondition(lambda self: self.which(LESSON, self.shows))
    @rule(lesson=LESSONS, who=st.sampled_from(IDS), days=st.integers(0, 3), kill=kills(course=6))
    def extend(self, lesson: str, who: str, days: int, kill: Kill) -> None:
        self.run("extend", lesson, who, "--days", str(days), kill=kill)
        self.terms[lesson].extended[who] = days * DAY
        self.look_at_the_marks()

    @precondition(lambda self: self.which(LESSON, self.may_mark))
    @rule(lesson=LESSONS, data=st.data(), points=st.sampled_from([0.0, 0.3, 1.0]), kill=kills(course=6))
    def override(self, lesson: str, data: Any, points: float, kill: Kill) -> None:
        lesson = self.which(lesson, self.may_mark)
        term = self.terms[lesson]
        who = data.draw(st.sampled_from([*filter(term.may_be_marked, IDS)]))
        says = ("--why", "So.", "--lesson", lesson)
        killed = self.run("override", who, "first_steps", f"{points:g}", *says, kill=kill)
        term.override(who, points)
        self.forget_steps(term, killed)

    # Which of several an earlier check has graded isn't modelled.
    @precondition(lambda self: self.terms[LESSON].rule != BEST)
    @rule(generous=st.sampled_from([0.0, 0.25, 0.5]))
    def mend_the_check(self, generous: float) -> None:
        for term in self.terms.values():
            term.generous = generous
        self.configure(f"c.JudgingExporter.limits = {{'check_seconds': {10 + 10 * generous}}}")

    @precondition(lambda self: self.which(LESSON, self.has_graded))
    @rule(lesson=LESSONS, kill=kills(course=20))
    def regrade(self, lesson: str, kill: Kill) -> None:
        lesson = self.which(lesson, self.has_graded)
        self.run("regrade", lesson, "--preview")
        killed = self.run("regrade", lesson, "--accept", kill=kill)
        self.terms[lesson].accept()
        self.forget_steps(self.terms[lesson], killed)
        self.look_at_the_marks()

    @precondition(lambda self: self.which(LESSON, lambda lesson: self.terms[lesson].steps))
    @rule(lesson=LESSONS)
    def undo(self, lesson: str) -> None:
        lesson = self.which(lesson, lambda lesson: self.terms[lesson].steps)
        self.run("regrade", lesson, "--undo")
        self.terms[lesson].undo()
        self.look_at_the_marks()

    @precondition(lambda self: self.which(LESSON, lambda lesson: self.terms[lesson].collected))
    @rule(lesson=LESSONS)
    def uncollect(self, lesson: str) -> None:
        lesson = self.which(lesson, lambda lesson: self.terms[lesson].collected)
        self.run("collect", lesson, "--undo")
        self.terms[lesson].uncollect()
        self.look_at_the_marks()

    def shows(self, lesson: str) -> bool:
        """Whether a platform shows anything of a lesson."""
        return any(self.shown[lesson].values())

    def may_mark(self, lesson: str) -> bool:
        """Whether anybody may be given a mark by hand, once something was handed in."""
        return self.shows(lesson) and any(map(self.terms[lesson].may_be_marked, IDS))

    def holds(self, lesson: str) -> bool:
        """Whether anything is in place."""
        return any(record.place for record in self.terms[lesson].people.values())

    def has_graded(self, lesson: str) -> bool:
        """Whether anything that is in place is graded."""
        return any(record.place and record.place == record.graded for record in self.terms[lesson].people.values())

    def forget_steps(self, term: Term, killed: bool) -> None:
        """What a command that was killed and run again can take back isn't said anywhere."""
        if killed:
            term.steps.clear()

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

    def place(self, lesson: str, who: str) -> bytes:
        path = self.course / "submitted" / who / lesson / f"{lesson}.ipynb"
        return path.read_bytes() if path.is_file() else b""

    def earlier(self, lesson: str, who: str) -> list[bytes]:
        folder = self.course / ".grader" / "earlier" / lesson / who
        return [path.read_bytes() for path in folder.glob("*/*.ipynb")]

    def look_at_the_files(self) -> None:
        """What is in place was written by whom it is said of, and has its time: nothing is a stranger's."""
        for lesson, who in product(self.terms, IDS):
            if data := self.place(lesson, who):
                mine = self.every[data]
                assert mine.author == who
                path = self.course / "submitted" / who / lesson / "timestamp.txt"
                said = path.read_text().strip() if path.is_file() else ""
                assert said == f"{mine.time:%Y-%m-%d %H:%M:%S} UTC", (who, said, mine)

    def look_at_the_places(self) -> None:
        """What counts, and all that was collected, is the model's."""
        for lesson, who in product(self.terms, IDS):
            record, place = self.terms[lesson].people[who], self.place(lesson, who)
            assert place == (record.place.data if record.place else b""), (lesson, who)
            assert {place, *self.earlier(lesson, who)} - {b""} == {hand_in.data for hand_in in record.kept}, who

    def look_at_the_marks(self) -> None:
        """So are marks and lateness, as an export has them."""
        self.look_at_the_places()
        exported = json.loads(self.exported("json"))
        for student, (lesson, term) in product(exported["students"], self.terms.items()):
            who, mark = student["id"], student["marks"][lesson]
            assert (mark["state"].replace("not due yet", "not handed in"), mark["points"]) == (
                term.state(who),
                term.mark(who),
            ), (lesson, who)
            if mark["points"] is not None:
                days = term.days_late(who, term.people[who].time)
                assert (f"{days} day" in mark["late"] and "begun" in mark["late"]) == (days > 0), mark
        assert {student["id"] for student in exported["students"]} == {*IDS}

    def look_at_the_table(self) -> None:
        """A table of the marks has those of the model."""
        _possible, *rows = csv.DictReader(self.exported("csv").splitlines())
        for lesson, term in self.terms.items():
            marks = {row["id"]: float(row[lesson]) if row[lesson] else None for row in rows}
            assert marks == {who: term.mark(who) for who in IDS}, (lesson, marks)

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
