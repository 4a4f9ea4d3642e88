"""A collecting that is cut off at any write is made whole by the next, costs what it should, and can be taken back."""

from __future__ import annotations

import json
import shutil
import zipfile
from datetime import datetime
from time import process_time

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.cli.main import main
from grader.course.class_directory import ClassDirectory
from grader.course.json_lines import lines_file
from grader.course.lock import locked
from grader.course.roster import Person, save
from grader.handed_in import before, came_from, collect, earlier, hand_in, reading
from grader.judge.outline import Outline
from grader.judge.reader import read
from tests.classroom import LESSON, SOLVED, solved
from tests.handed_in.test_collect import NOON, ONE, book, created, handed_in, utc, zipped

PEOPLE = (Person("ann", "Ann", "Lee"), Person("bo", "Bo", "Ng"))
MOODLE = "Ann Lee_5_assignsubmission_file_"
FIRST, SECOND = book("first"), book("second")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return created(tmp_path_factory.mktemp("order")).root


@pytest.fixture
def course(made, tmp_path):
    shutil.copytree(made, tmp_path / "course")
    save(tmp_path / "course", PEOPLE)
    return ClassDirectory(tmp_path / "course", LESSON)


class Killed(BaseException):
    """As kill -9 ends a process: nothing is put right."""


def kill_at(monkeypatch, number: int) -> list[str]:
    """Let the process end at its write of this number, from 0, in whatever module of collecting that is. Returns the
    names of what was written."""
    written: list[str] = []
    whole = earlier.write_atomically

    def write(path, *data, **how):
        if len(written) == number:
            raise Killed
        written.append(path.name)
        whole(path, *data, **how)

    for module in (earlier, before, came_from):
        monkeypatch.setattr(module, "write_atomically", write)
    monkeypatch.setattr("grader.course.json_lines.write_atomically", write)
    return written


def facts(course) -> dict[str, object]:
    """What counts of a collecting: what is in place, its time, and what else is kept."""
    kept = course.root / ".grader" / "earlier" / LESSON
    return {
        "in place": handed_in(course, "ann"),
        "time": (course.root / "submitted" / "ann" / LESSON / "timestamp.txt").read_text(),
        "earlier": {path.parent.name: path.read_bytes() for path in kept.glob("ann/*/*.ipynb")},
    }


@pytest.mark.parametrize("rule", ["last", "first"])
def test_whatever_write_a_collecting_is_cut_off_at_the_next_one_makes_it_whole(made, tmp_path, rule):
    times = (NOON, ONE) if rule == "last" else (ONE, NOON)
    old = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (FIRST, times[0])}, "old.zip")
    new = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (SECOND, times[1])}, "new.zip")
    expected, number = None, -1
    while True:
        folder = tmp_path / f"cut {number}"
        shutil.copytree(made, folder)
        save(folder, PEOPLE)
        course = ClassDirectory(folder, LESSON)
        collect.collect(course, [old], rule)
        before_it = facts(course)
        with pytest.MonkeyPatch.context() as monkeypatch:
            if number >= 0:
                written = kill_at(monkeypatch, number)
                try:
                    collect.collect(course, [new], rule)
                except Killed:
                    pass
                else:
                    assert len(written) == number > 5
                    break
        outcome = collect.collect(course, [new], rule)
        expected = expected or facts(course)
        assert facts(course) == expected, (number, outcome)
        done = CliRunner().invoke(main, ["collect", str(folder), "0", "--undo"])
        assert done.exit_code == 0, done.output
        assert facts(course) == before_it, number
        number += 1
    assert expected == {"in place": SECOND, "time": utc(times[1]), "earlier": {_named(times[0]): FIRST}}


def _named(local) -> str:
    return utc(local).replace(":", ".").removesuffix(" UTC")


@pytest.mark.parametrize("stated", [None, utc(NOON)])
def test_a_time_that_an_earlier_version_lost_is_put_right(course, tmp_path, stated):
    """It wrote the notebook first, and was cut off before the time."""
    collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/w.ipynb": (FIRST, NOON)})])
    new = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (SECOND, ONE)}, "new.zip")
    collect.collect(course, [new])
    shutil.rmtree(course.root / ".grader" / "hand-in-times")
    time = course.root / "submitted" / "ann" / LESSON / "timestamp.txt"
    time.unlink()
    if stated:
        time.write_text(stated)
    assert collect.collect(course, [new]).unchanged == ["ann"]
    assert time.read_text() == utc(ONE)


def test_a_time_that_a_teacher_wrote_stays(course, tmp_path):
    path = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (FIRST, ONE)})
    collect.collect(course, [path])
    time = course.root / "submitted" / "ann" / LESSON / "timestamp.txt"
    time.write_text("2026-11-20 08:00:00 UTC")
    assert collect.collect(course, [path]).unchanged == ["ann"]
    assert time.read_text() == "2026-11-20 08:00:00 UTC"


def undone(course) -> str:
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", "--undo"])
    return done.output.splitlines()[-1]


def test_an_undo_is_kept_until_something_has_changed(course, tmp_path):
    path = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (SECOND, ONE)})
    for _again in range(2):
        outcome = collect.collect(course, [path])
    assert outcome.unchanged == ["ann"]
    assert undone(course) == "1 now without a hand-in: ann (Ann Lee)"


def test_what_was_only_kept_is_taken_back_alone(course, tmp_path):
    """Random terms found that the undo took the collecting before it back too, and all that was kept since then."""
    collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/w.ipynb": (SECOND, ONE)})])
    before = facts(course)
    outcome = collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/w.ipynb": (FIRST, NOON)}, "older.zip")])
    assert (outcome.taken, outcome.earlier) == ([], ["ann"])
    assert undone(course) == "1 back to their earlier hand-in: ann (Ann Lee)"
    assert facts(course) == before


def test_of_equal_times_the_one_collected_last_counts(course, tmp_path):
    collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/w.ipynb": FIRST})])
    outcome = collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/w.ipynb": SECOND}, "right.zip")])
    assert (outcome.taken, handed_in(course, "ann")) == (["ann"], SECOND)


@pytest.mark.parametrize(("minutes", "late"), [(5, []), (15, ["ann"])])
def test_canvas_late_within_the_grace_is_not_called_late(course, tmp_path, minutes, late):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.CourseLateness.grace_minutes = 10\n")
    course = ClassDirectory(course.root, LESSON)
    due = datetime.strptime(utc(NOON), "%Y-%m-%d %H:%M:%S UTC")
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=due)
    time = (*NOON[:4], minutes, 0)
    files = {"leeann_LATE_501_9001_w.ipynb": (FIRST, time)}
    assert collect.collect(course, [zipped(tmp_path, files)]).late == late


def test_a_collecting_waits_for_no_other_and_says_who_has_the_course(course, tmp_path):
    path = zipped(tmp_path, {f"{MOODLE}/w.ipynb": FIRST})
    with locked(course.root):
        done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path)])
    assert done.exit_code == 1
    assert "is being graded by process" in done.output
    assert not (course.root / "submitted").exists()


# --- a course of version 0.2 ------------------------------------------------------------------------------------------


def test_a_course_as_an_earlier_version_left_it_goes_on(course, tmp_path):
    """Its times have CRC-32 as keys, its list of to be settled lies beside the copies, a name came with its file."""
    path = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (FIRST, NOON)})
    collect.collect(course, [path])
    folder = course.root / ".grader"
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
    line = {
        "format": 1,
        "key": f"{info.CRC:08x}-{info.file_size}",
        "time": "2026-11-22T12:00:00",
        "students": {"ann": 1},
    }
    lines_file(course.root, "hand-in-times", LESSON).write_text(json.dumps(line) + "\n")
    (folder / "came-from" / LESSON / "ann").write_text(MOODLE)
    (folder / "to-settle").mkdir(exist_ok=True)
    lines_file(course.root, "to-settle", LESSON).write_text(
        '{"format": 1, "label": "Bo Ng_9", "students": {"bo": "Bo Ng"}}\n'
    )
    shutil.copy(lines_file(course.root, "to-settle", LESSON), folder / "collected" / LESSON / "to-settle.jsonl")
    again = collect.collect(course, [path])
    assert (again.unchanged, again.to_settle) == (["ann"], ["bo"])
    newer = zipped(tmp_path, {f"{MOODLE}/w.ipynb": (SECOND, ONE)}, "newer.zip")
    assert collect.collect(course, [newer]).taken == ["ann"]
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", "--undo"])
    assert (done.exit_code, handed_in(course, "ann")) == (0, FIRST)


# --- what it costs ----------------------------------------------------------------------------------------------------


def test_a_notebook_that_mentions_every_exercise_is_looked_through_once(course):
    """80 names, in cells of ten million characters that define none of them."""
    names = [name for path in SOLVED.parent.glob("*.ipynb") for name in _exercises(path)]
    line = " ".join(names) + "\n"
    notebook = solved("1")
    notebook["cells"] = [
        {"cell_type": "code", "id": "x", "metadata": {}, "source": line * (5_000_000 // len(line)), "outputs": []}
    ] * 2
    data = json.dumps(notebook).encode()
    for path in SOLVED.parent.glob("*.ipynb"):
        (course.root / "source" / path.stem).mkdir(exist_ok=True)
        shutil.copy(path, course.root / "source" / path.stem)
    hand_in.lesson_held(course, [b"{}", SOLVED.read_bytes()])  # the lessons' own outlines are made once
    began = process_time()
    read(data, 10**9, 2000)
    reading_it = process_time() - began
    began = process_time()
    assert hand_in.lesson_held(course, [data]) == ""
    assert process_time() - began < 3 * reading_it + 3


def _exercises(path) -> list[str]:
    return [*Outline.of(path.read_bytes()).exercises]


def test_what_fails_to_unpack_takes_room_and_is_tried_once(course, tmp_path, monkeypatch):
    """Each bad notebook says that it has as many bytes as one may have."""
    monkeypatch.setattr(reading, "MOST_ROOM", 2)
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.JudgingExporter.limits = {'notebook_bytes': 1_000_000}\n")
    course = ClassDirectory(course.root, LESSON)
    path = zipped(tmp_path, {f"{MOODLE}/{number}.ipynb": b"0" * 999_999 for number in range(30)})
    data = bytearray(path.read_bytes())
    place = 0
    while (place := data.find(b"PK\x01\x02", place)) >= 0:  # a checksum that isn't theirs
        data[place + 16 : place + 20] = b"\1\2\3\4"
        place += 4
    path.write_bytes(data)
    opened = []
    whole = zipfile.ZipFile.open
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, *what: opened.append(1) or whole(self, *what))
    outcome = collect.collect(course, [path])
    assert (len(opened), len(outcome.odd)) == (2, 30)


def test_where_the_best_counts_one_upload_is_one_attempt(course, tmp_path):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.CourseCollect.counts = 'best'\n")
    course = ClassDirectory(course.root, LESSON)
    files = {f"{MOODLE}/{number}.ipynb": book(str(number)) for number in range(20)}
    collect.collect(course, [zipped(tmp_path, files)], "best")
    assert len(earlier.attempts(course, course.submission("ann"))) == 1
    collect.collect(course, [zipped(tmp_path, {f"{MOODLE}/new.ipynb": (book("new"), ONE)}, "new.zip")], "best")
    assert len(earlier.attempts(course, course.submission("ann"))) == 2
