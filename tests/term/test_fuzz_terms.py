"""Random terms: the real commands beside the model of `tests/term/model.py`, step by step, with a judge that takes no
time. After each step whose work is in place, its time and all that was collected are as the model has them; so are the
marks, the lateness and what an export says, wherever a step works them out."""

from __future__ import annotations

import io
import json
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from grader.cli.main import main
from grader.course.class_directory import course_layout
from grader.course.roster import Person, update
from grader.judge import fingerprint
from tests.batch.conftest import LESSON, _schema, template  # noqa: F401
from tests.term.forged import sized
from tests.term.kill import Killed, killed_at
from tests.term.model import DAY, DUE, HandIn, Term
from tests.term.stand_in import notebook, stand_in

TERMS = int(os.environ.get("FUZZ_ROUNDS", 64)) // 4  # `make fuzz` asks for 20,000 rounds
PEOPLE = (
    Person("ann", "Ann", "Lee", moodle="00731", canvas_id="501"),
    Person("bo", "Bo", "Ng", moodle="00732", canvas_id="502"),
    Person("cy", "Cy", "Roe", moodle="731", canvas_id="503"),
)
NUMBERS = {"ann": 1001, "bo": 1002, "cy": 1003}  # Moodle's, of this assignment
STRANGER = "another Ann Lee"  # who is not on the roster
SETTINGS = """
c.CourseLateness.grace_minutes = 10
c.CourseLateness.percent_a_day = 10
c.CollectRegularFiles.check_owner = False
"""
IDS, PLATFORMS = tuple(person.id for person in PEOPLE), ("moodle", "canvas", "folder", "exchange")
KILLS = st.one_of(st.just(0), st.integers(1, 12))  # at which write a command is killed; 0 for none


@pytest.fixture(scope="module")
def ready(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:  # noqa: F811
    """A course with three people and a due date, and commands that lose no time."""
    course = Path(shutil.copytree(template, tmp_path_factory.mktemp("term") / "course"))
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(SETTINGS)
    layout = course_layout(course)
    update(course, layout.db_url, layout.course_id, PEOPLE)
    engine = sqlalchemy.create_engine(layout.db_url)
    with engine.begin() as db:
        db.execute(sqlalchemy.text(f"update assignment set duedate = '{DUE}'"))
    engine.dispose()
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        patch.setattr(fingerprint, "code_version", cache(fingerprint.code_version))
        patch.setattr(os, "fsync", lambda _file: None)
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield course


class RandomTerm(RuleBasedStateMachine):
    """A term that happens twice: in a course directory, and in the model."""

    course: Path  # a course to begin with, of the class
    number = 0

    def __init__(self) -> None:
        super().__init__()
        RandomTerm.number += 1
        self.root = self.course.with_name(f"term-{RandomTerm.number}")
        shutil.copytree(self.course, self.root / "course")
        self.now, self.count = DUE - 4 * DAY, 0
        self.shown: dict[str, dict[str, HandIn]] = {name: {} for name in PLATFORMS}
        self.written: dict[str, HandIn] = {}  # the last of each
        self.every: dict[bytes, HandIn] = {}

    @initialize(which=st.sampled_from(["last", "last-in-time", "first"]))
    def begin(self, which: str) -> None:
        self.term = Term(IDS, which)

    def teardown(self) -> None:
        self.look_at_the_marks()
        shutil.rmtree(self.root)

    # --- what people do -----------------------------------------------------------------------------------------------

    @rule(
        who=st.sampled_from([*IDS, "ann", STRANGER]),
        platform=st.sampled_from(["moodle", *PLATFORMS]),
        share=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        minutes=st.integers(5, 3000),
        wrapped=st.booleans(),
        forged=st.booleans(),
    )
    def hand_in(self, who: str, platform: str, share: float, minutes: int, wrapped: bool, forged: bool) -> None:
        """Somebody hands something in: maybe in a zip, and with the checksum of what they handed in before."""
        self.now += timedelta(minutes=minutes)
        self.count += 1
        crc = zlib.crc32(self.written[who].data) if forged and who in self.written else None
        data = sized(notebook(LESSON, "first_steps", share, f"{who} {self.count}"), crc)
        made = HandIn(who, self.now, share, data, wrapped)
        if who != STRANGER or platform == "moodle":
            self.shown[platform][who] = self.written[who] = self.every[data] = made

    # --- what the teacher does ----------------------------------------------------------------------------------------

    @precondition(lambda self: any(self.shown.values()))
    @rule(platform=st.sampled_from(PLATFORMS), kill=KILLS)
    def collect(self, platform: str, kill: int) -> None:
        given = self.shown[platform] or next(shown for shown in self.shown.values() if shown)
        platform = next(name for name, shown in self.shown.items() if shown is given)
        source = self.as_given(platform, given)
        killed = self.run("collect", "00", str(source), "--counts", self.term.rule, kill=kill)
        known = [hand_in for who, hand_in in given.items() if who != STRANGER]
        if STRANGER in given and not self.is_kept("ann", given.get("ann")):
            known = [
                hand_in for hand_in in known if hand_in.author != "ann"
            ]  # there were two of that name: to be settled
        self.term.collect(known)
        if killed:
            self.term.collected = None

    def is_kept(self, who: str, hand_in: HandIn | None) -> bool:
        return hand_in is not None and hand_in.data in {self.place(who), *self.earlier(who)}

    @rule(kill=KILLS)
    def autograde(self, kill: int) -> None:
        self.run("autograde", "00", kill=kill)
        self.term.autograde()
        self.look_at_the_marks()

    @rule(who=st.sampled_from(IDS), days=st.integers(0, 3), kill=KILLS)
    def extend(self, who: str, days: int, kill: int) -> None:
        self.run("extend", "00", who, "--days", str(days), kill=kill)
        self.term.extended[who] = days * DAY
        self.look_at_the_marks()

    @precondition(lambda self: any(map(self.term.may_be_marked, IDS)))
    @rule(data=st.data(), points=st.sampled_from([0.0, 0.3, 1.0]), kill=KILLS)
    def override(self, data: Any, points: float, kill: int) -> None:
        who = data.draw(st.sampled_from([*filter(self.term.may_be_marked, IDS)]))
        killed = self.run("override", who, "first_steps", f"{points:g}", "--why", "So.", kill=kill)
        self.term.override(who, points)
        self.forget_steps(killed)

    @rule(generous=st.sampled_from([0.0, 0.25, 0.5]))
    def mend_the_check(self, generous: float) -> None:
        self.term.generous = generous
        with (self.root / "course" / "nbgrader_config.py").open("a") as file:
            file.write(f"c.JudgingExporter.limits = {{'check_seconds': {10 + 10 * generous}}}\n")

    @precondition(lambda self: any(r.place and r.place == r.graded for r in self.term.people.values()))
    @rule(kill=KILLS)
    def regrade(self, kill: int) -> None:
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

    # --- what has to hold ---------------------------------------------------------------------------------------------

    def run(self, command: str, *words: str, kill: int = 0) -> bool:
        """Run a command, and again if it was killed; returns whether it was."""
        line = [command, str(self.root / "course"), *words]
        try:
            with killed_at(kill, self.root):
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
        path = self.root / "course" / "submitted" / who / LESSON / f"{LESSON}.ipynb"
        return path.read_bytes() if path.is_file() else b""

    def earlier(self, who: str) -> list[bytes]:
        folder = self.root / "course" / ".grader" / "earlier" / LESSON / who
        return [path.read_bytes() for path in folder.glob("*/*.ipynb")]

    def look_at_the_files(self) -> None:
        """What is in place was written by whom it is said of, and has its time: nothing is a stranger's."""
        for who in IDS:
            if data := self.place(who):
                mine = self.every[data]
                assert mine.author == who
                said = (self.root / "course" / "submitted" / who / LESSON / "timestamp.txt").read_text().strip()
                assert said == f"{mine.time:%Y-%m-%d %H:%M:%S} UTC", (who, said, mine)

    def look_at_the_marks(self) -> None:
        """Places, what was kept, marks and lateness are the model's."""
        if not hasattr(self, "term"):
            return
        for who, record in self.term.people.items():
            assert self.place(who) == (record.place.data if record.place else b""), who
            assert {self.place(who), *self.earlier(who)} - {b""} == record.kept, who
        done = CliRunner().invoke(main, ["export", str(self.root / "course"), "--to", "json"])
        assert done.exit_code == 0, done.output
        exported = json.loads((self.root / "course" / "marks-json.json").read_text())
        for student in exported["students"]:
            who, mark = student["id"], student["marks"][LESSON]
            assert (mark["state"].replace("not due yet", "not handed in"), mark["points"]) == (
                self.term.state(who),
                self.term.mark(who),
            ), who
            if mark["points"] is not None:
                days = self.term.days_late(who)
                assert (f"{days} day" in mark["late"] and "begun" in mark["late"]) == (days > 0), mark
        assert {student["id"] for student in exported["students"]} == {*IDS}

    # --- as platforms give it -----------------------------------------------------------------------------------------

    def as_given(self, platform: str, shown: dict[str, HandIn]) -> Path:
        """What is downloaded from a platform, under its names and with its times."""
        given = self.root / f"{platform}-{self.count}"
        if platform in ("moodle", "canvas"):
            with zipfile.ZipFile(given.with_suffix(".zip"), "w") as archive:
                for who, hand_in in shown.items():
                    name, data = self.file_of(hand_in)
                    path = self.path_in(platform, who, name)
                    archive.writestr(zipfile.ZipInfo(path, hand_in.time.timetuple()[:6]), data)
            return given.with_suffix(".zip")
        shutil.rmtree(given, ignore_errors=True)
        for who, hand_in in shown.items():
            stamp = f"{hand_in.time:%Y-%m-%d %H:%M:%S} UTC"
            folder = given / (who if platform == "folder" else f"{who}+{LESSON}+{stamp}+abc")
            folder.mkdir(parents=True)
            path = folder / f"{LESSON}.ipynb"
            path.write_bytes(hand_in.data)
            seconds = hand_in.time.replace(tzinfo=UTC).timestamp()
            os.utime(path, (seconds, seconds))
        return given

    def file_of(self, hand_in: HandIn) -> tuple[str, bytes]:
        """The file that a student uploads: a notebook, or a zip with an early date in it."""
        if not hand_in.wrapped:
            return "work.ipynb", hand_in.data
        inside = io.BytesIO()
        with zipfile.ZipFile(inside, "w") as archive:
            archive.writestr(zipfile.ZipInfo("work.ipynb", (2020, 1, 1, 0, 0, 0)), hand_in.data)
        return "work.zip", inside.getvalue()

    def path_in(self, platform: str, who: str, name: str) -> str:
        if platform == "canvas":
            person = next(person for person in PEOPLE if person.id == who)
            return f"{person.last_name}{person.first_name}_{person.canvas_id}_{9000 + self.count}_{name}".lower()
        called = {person.id: person.full_name for person in PEOPLE}.get(who, "Ann Lee")
        return f"{called}_{NUMBERS.get(who, 1999)}_assignsubmission_file_/{name}"


def test_random_terms(ready: Path) -> None:
    RandomTerm.course = ready
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        RandomTerm,
        settings=settings(
            max_examples=TERMS,
            stateful_step_count=10,
            deadline=None,
            database=None,
            derandomize="FUZZ_ROUNDS" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )
