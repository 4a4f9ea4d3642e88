"""How long from hand-in to feedback with `grader watch`, when a class hands in within minutes, and whether all arrives.

    python benchmarks/watch.py [--students 300] [--times 3] [--minutes 5] [--lessons 01] [--loops 3] [--kill]

Every student hands in so many times, at random moments, as `nbgrader submit` leaves it in the exchange: right answers
to one of the lessons, each with a text of its own; all lessons are dealt out in turn, or those whose names begin as
`--lessons` says. The last hand-in of `--loops`
students never ends. What counts is when the
feedback for a hand-in, or for a later one of the same student, lies where `nbgrader fetch_feedback` looks for it. With
`--kill` the watch is killed (SIGKILL, all of its processes) at a third and at two thirds of the time, and started again
at once. At the end it looks whether every student's last hand-in is in `submitted/`, in the gradebook and, with its
feedback, in the exchange.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from nbgrader.utils import notebook_hash  # noqa: E402

from benchmarks.batch import ENVIRONMENT, LOOPS, run  # noqa: E402
from benchmarks.judge import BIN  # noqa: E402
from grader.book.gradebook import marks_in  # noqa: E402
from grader.course.class_directory import course_layout  # noqa: E402
from grader.source.create import create  # noqa: E402
from tools import notebooks as nb  # noqa: E402

PATIENCE = 600.0  # seconds after the last hand-in
LESSONS = tuple(path.stem for path in sorted((ROOT / "solutions").glob("*.ipynb")))


@dataclass
class HandIn:
    """One of a student's hand-ins."""

    student: str
    lesson: str
    at: float  # when, in seconds since the epoch
    page: Path  # where its feedback comes to lie
    loops: bool = False  # it never ends


class Course:
    """A course with every lesson released, and a watch on it."""

    def __init__(self, folder: Path, students: list[str], lessons: Sequence[str]) -> None:
        solutions, self.exchange = folder / "solutions", folder / "exchange"
        solutions.mkdir()
        self.exchange.mkdir()
        self.exchange.chmod(0o1777)
        for lesson in lessons:
            shutil.copy(ROOT / "solutions" / f"{lesson}.ipynb", solutions)
        self.root = folder / "course"
        create(self.root, solutions, "attention", str(self.exchange))
        for lesson in lessons:
            run(self.root, "nbgrader", "generate_assignment", lesson)
            run(self.root, "nbgrader", "release_assignment", lesson)
        (folder / "people.csv").write_text("\n".join(["id", *students]) + "\n")
        run(self.root, "grader", "roster", ".", "../people.csv")
        self.lessons = lessons
        self.log = folder / "watch.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start a watch on the course."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BIN / "grader", "watch", str(self.root)],
                env=ENVIRONMENT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the watch as the kernel does when memory is out: no process has time for a last word."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        """End the watch as systemd does; its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(60)

    def hand_in(self, student: str, lesson: str, data: bytes, loops: bool) -> HandIn:
        """Put a notebook into the exchange as `nbgrader submit` leaves it."""
        now, secret = datetime.now(UTC), secrets.token_hex(64)
        when = now.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        folder = self.exchange / "attention" / "inbound" / f"{student}+{lesson}+{when}+{secrets.token_hex(6)}"
        folder.mkdir()
        (folder / f"{lesson}.ipynb").write_bytes(data)
        (folder / "timestamp.txt").write_text(when)
        (folder / "submission_secret.txt").write_text(secret)
        folder.chmod(0o777)
        name = f"{notebook_hash(secret=secret, notebook_id=lesson)}.html"
        return HandIn(student, lesson, now.timestamp(), self.exchange / "attention" / "feedback" / name, loops)


@cache
def solved(lesson: str) -> list[dict[str, Any]]:
    """The cells of a lesson with all answers, as a class has them: with outputs, and with the names of cells."""
    cells: list[dict[str, Any]] = json.loads((ROOT / "solutions" / f"{lesson}.ipynb").read_text("utf-8"))["cells"]
    return cells


def submission(lesson: str, number: int) -> bytes:
    """The solved notebook of a lesson as bytes, with a text of its own for each `number`."""
    return nb.dump([*solved(lesson), nb.code(f"# hand-in {number}", id=f"note-{number}")])


def play(course: Course, students: list[str], options: argparse.Namespace) -> list[HandIn]:
    """Have everybody hand in at random moments, with the watch killed as the options say; all hand-ins in order."""
    draw, seconds = random.Random(20), 60 * options.minutes
    plan = sorted((draw.uniform(0, seconds), student) for student in students for _ in range(options.times))
    left = dict.fromkeys(students, options.times)
    lessons = {student: course.lessons[i % len(course.lessons)] for i, student in enumerate(students)}
    endless = [student for student in students if lessons[student] == nb.LESSON][: options.loops]
    kills = [seconds / 3, 2 * seconds / 3] if options.kill else []
    done: list[HandIn] = []
    start = time.monotonic()
    for number, (moment, student) in enumerate(plan):
        while (ahead := moment - (time.monotonic() - start)) > 0 or kills:
            if kills and time.monotonic() - start >= kills[0]:
                kills.pop(0)
                course.kill()
                course.start()
            if ahead <= 0:
                break
            time.sleep(min(ahead, 0.2))
        left[student] -= 1
        lesson, loops = lessons[student], not left[student] and student in endless
        data = nb.submission(attention_scores=LOOPS) if loops else submission(lesson, number)
        done.append(course.hand_in(student, lesson, data, loops))
    return done


def wait_for(done: list[HandIn]) -> None:
    """Wait until everybody's last hand-in has its feedback, or `PATIENCE` seconds are over."""
    last = {one.student: one for one in done}
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not all(one.page.exists() for one in last.values()):
        time.sleep(1)


def seconds_of(done: list[HandIn]) -> tuple[list[float], list[float], int]:
    """The seconds from hand-in to feedback of it or of a later one: of all but endless loops, then of these; and how
    many have no page of their own, because the student handed in again before their turn."""
    honest, loops, passed_over = [], [], 0
    for number, one in enumerate(done):
        later = [other for other in done[number:] if other.student == one.student and other.page.exists()]
        if not later:
            continue
        passed_over += later[0] is not one
        times = loops if later[0].loops else honest
        times.append(min(other.page.stat().st_mtime for other in later) - one.at)
    return honest, loops, passed_over


def lost(course: Course, done: list[HandIn]) -> list[str]:
    """What a student would miss, in sentences; empty if nothing is."""
    layout = course_layout(course.root)
    marks = {lesson: marks_in(layout, lesson, layout.config) for lesson in course.lessons}
    found = []
    for student, one in {one.student: one for one in done}.items():
        folder = course.root / "submitted" / student / one.lesson
        mark = marks[one.lesson].get(student)
        when = (folder / "timestamp.txt").read_text() if folder.is_dir() else "never"
        if not when.startswith(datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")):
            found.append(f"{student}: collected is the hand-in of {when}")
        if mark is None or (mark.score == mark.points) == one.loops:
            found.append(f"{student}: the mark for {one.lesson} is {mark}")
        if not one.page.exists():
            found.append(f"{student}: no feedback")
    return found


def _shown(times: list[float]) -> str:
    if not times:
        return "none"
    high = sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]
    return f"median {statistics.median(times):.1f} s, 95th percentile {high:.1f} s, at most {max(times):.1f} s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--lessons", default="", help="What the names of lessons begin with.")
    parser.add_argument("--loops", type=int, default=3)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--keep", type=Path, help="A new folder, which stays: to look at what happened.")
    options = parser.parse_args()
    lessons = [lesson for lesson in LESSONS if lesson.startswith(options.lessons)]
    students = [f"student{i:04}" for i in range(options.students)]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        course = Course(folder, students, lessons)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        course.start()
        time.sleep(20)  # a service runs before the class comes
        done = play(course, students, options)
        wait_for(done)
        code = course.end()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        honest, loops, passed_over = seconds_of(done)
        missing = lost(course, done)
    print(
        f"{len(done)} hand-ins of {len(lessons)} lessons by {len(students)} students in {options.minutes:g} minutes, ",
        end="",
    )
    print(f"load {os.getloadavg()[0]:.1f} at the end; the watch ended with {code}" + ", killed twice" * options.kill)
    worked = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"the processors worked {worked:.0f} s for the watch, {worked / len(done):.2f} s for a hand-in")
    print(f"from hand-in to feedback: {_shown(honest)}")
    print(f"endless loops: {_shown(loops)}")
    print(f"{passed_over} had no page of their own: their student handed in again before")
    print("\n".join(missing) or "nothing was lost")
    if missing:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
