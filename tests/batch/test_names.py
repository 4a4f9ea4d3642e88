"""What students name, in every command: no terminal and no log gets what it would obey, no file a formula or a row of
its own. The commands run as a shell starts them, and the bytes that they print are looked at."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from grader.printable import printable
from tests.batch.conftest import LESSON, RIGHT, ROOT, Room, answered, command
from tests.batch.test_watch import Watched, running

# A title for the window, the whole screen cleared in two ways, an overwritten line, letters from right to left.
HOSTILE = "\x1b]0;owned\x07\x9b2J\r\u202e\u200f"
FORGED = f"{HOSTILE}\nforged: all is well"
SHOWN = r"\x1b]0;owned\x07\x9b2J\r\u202e\u200f"
FORMULA = "=cmd|'/c calc'!A1"
RAISES = f"class Odd(Exception): pass\nOdd.__name__ = {FORGED!r}\ndef first_steps(x):\n    raise Odd({FORGED!r})"
PRINTS = f"def first_steps(x):\n    print({FORGED!r})\n    return {{{HOSTILE!r}: x}}"
# Runs each command of a list in this process, with a file of its own for what it prints; prints their exit codes.
EACH = """
import json, os, sys
from grader.cli.main import main
codes = []
for number, words in enumerate(json.load(open(sys.argv[1]))):
    file = os.open(f"{sys.argv[1]}.{number}", os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1), os.dup2(file, 2)
    try:
        main(words)
    except SystemExit as end:
        codes.append(end.code)
    sys.stdout.flush(), sys.stderr.flush()
json.dump(codes, open(f"{sys.argv[1]}.codes", "w"))
"""


def obeyed(text: str) -> set[str]:
    """What of a text a terminal obeys, or shows as something else."""
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") and sign not in "\n\t"}


def is_obeyed(data: bytes) -> bool:
    """Whether a terminal would do more than show what was printed, or a line of it is a student's."""
    lines = data.decode().split("\n")
    return bool(obeyed("".join(lines))) or any(line.startswith("forged") for line in lines)


@pytest.fixture
def hostile(room: Room) -> Room:
    """A course in whose files, folders, cells, errors and people there is all that."""
    layout = room.root / "gradebook.db"
    with Gradebook(f"sqlite:///{layout}", "attention") as book:
        for who in ("ann", "bo", "cy", "di", "eve"):
            book.add_student(who, first_name=FORMULA, last_name=FORGED, email=f"@{HOSTILE}")
        for who in (f"={FORGED}", "@x", "+x", "=1+1"):
            book.add_student(who, first_name="+1+1", last_name="-1+1", email="\r=1")
    for who, source in {"ann": RIGHT, "bo": RAISES, "cy": PRINTS, "di": f"{RIGHT}  # {HOSTILE}"}.items():
        room.submit(who, answered(source)).with_name(f"{FORGED}.txt").write_text("x")
    room.submit("eve", None).with_name(f"{FORGED}.ipynb").write_bytes(answered(RIGHT))
    for folder in (FORGED, f"{FORMULA.replace('/', '')}{HOSTILE}"):
        room.submit(folder, answered(RIGHT))
    return room


def zipped(path: Path) -> Path:
    """As Moodle gives it: of one whom nobody knows, and of ann with odd things in her work."""
    with zipfile.ZipFile(path, "w") as archive:
        ann = "ann_7_assignsubmission_file_/"
        for name in (f"{FORGED}_9_assignsubmission_file_/a.ipynb", f"{ann}{FORGED}/bo.ipynb", f"{ann}{FORGED}.ipynb"):
            archive.writestr(name, answered(RIGHT))
        link = zipfile.ZipInfo(f"{ann}{FORGED}")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return path


def said_by(room: Room, commands: list[list[str]]) -> list[tuple[int, bytes]]:
    """The exit code of each command, and what it printed."""
    asked = room.root.parent / "commands.json"
    asked.write_text(json.dumps(commands))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADER_PROGRESS": str(room.root.parent / "progress.json")}
    done = subprocess.run([sys.executable, "-c", EACH, str(asked)], env=environment, capture_output=True, check=False)
    codes = json.loads(Path(f"{asked}.codes").read_text())
    assert done.returncode == 0, done.stderr
    return [(code, Path(f"{asked}.{number}").read_bytes()) for number, code in enumerate(codes)]


def test_no_command_prints_what_a_terminal_obeys(hostile, tmp_path):
    course, far = str(hostile.root), ["--scheduler", hostile.scheduler]
    people, canvas = tmp_path / "people.csv", tmp_path / "canvas.csv"
    people.write_text(f"id,first_name,last_name\nann,{FORMULA},\u200fLee\nbo,Bo,@Bo\n")
    canvas.write_text(f'Student,ID,00 Start here (7)\n"{HOSTILE}",9,\nAnn,ann,\n')
    refused = tmp_path / "refused.csv"
    refused.write_bytes(f'id,first_name\n"{FORGED}",x\nann,"{FORGED}"\n"{FORMULA}",x\n'.encode())
    loose = tmp_path / f"{FORGED}.ipynb"
    loose.write_bytes(answered(PRINTS))
    learners = tmp_path / "learner.json"
    told = {"format": 1, "exercise": "first_steps", "cells": [PRINTS], "mark": 0.5, "points": 1.0, "mistake": FORGED}
    learners.write_text(json.dumps({**told, "parts": [], "versions": {HOSTILE: FORGED}}))
    commands = {
        "roster": (["roster", course, str(people)], 0, ""),
        "roster of a hostile list": (["roster", course, str(refused)], 2, r"\x1b]0;owned"),
        "collect": (["collect", course, "00", str(zipped(tmp_path / "all.zip"))], 1, SHOWN),
        "collect, taken back": (["collect", course, "00", "--undo"], 2, ""),
        "extend": (["extend", course, "00", HOSTILE, "--days", "1"], 2, ""),
        "collect, said whose": (
            ["collect", course, "00", str(tmp_path / "all.zip"), "--is", f"{HOSTILE}=ann"],
            2,
            SHOWN,
        ),
        "autograde": (["autograde", course, "00", *far, "--add-students"], 1, SHOWN),
        "autograde as JSON": (["autograde", course, "00", *far, "--json"], 1, r"\u202e"),
        "feedback": (["feedback", course, "00", "--zip", "moodle"], 1, ""),
        "feedback of nobody": (["feedback", course, "00", FORGED], 2, SHOWN),
        "insights": (["insights", course, "00", "--names"], 0, ""),
        "regrade": (["regrade", course, "00", *far, "--page"], 0, ""),
        "a learner's file": (["regrade", course, "00", *far, "--with", str(learners)], 0, SHOWN),
        "no learner's file": (["regrade", course, "00", *far, "--with", str(loose)], 2, SHOWN),
        "override": (["override", course, "bo", "first_steps", "0.5", "--why", "read by hand"], 0, ""),
        "override of nobody": (["override", course, FORGED, "first_steps", "1", "--why", "x"], 2, "0;owned"),
        "audit": (["regrade", course, "00", "--log"], 0, ""),
        "undo": (["regrade", course, "00", "--undo"], 0, ""),
        "grade": (["grade", str(loose)], 0, r"\u200f"),
        "grade a folder": (["grade", str(hostile.folder("eve")), "--lesson", "00"], 0, SHOWN),
        "grade what isn't there": (["grade", f"{loose}x"], 2, SHOWN),
        "grade two": (["grade", str(loose), str(loose)], 2, SHOWN),
        "doctor": (["doctor", "--judge"], 0, ""),
        "check": (["course", "check", course], 0, ""),
        "expire": (["course", "expire", course, "--before", "2030-01-01"], 0, ""),
        "forget, not said yes": (["course", "forget", course, FORGED], 2, SHOWN),
        "forget": (["course", "forget", course, "di", "--yes"], 0, ""),
        "forget a folder": (["course", "forget", course, FORGED, "--yes"], 1, SHOWN),
        "forget nobody": (["course", "forget", course, f"x{FORGED}"], 2, "0;owned"),
        "export": (["export", course, "--to", "csv"], 0, ""),
        "export as JSON": (["export", course, "--to", "json"], 0, ""),
        "export for Canvas": (["export", course, "--to", "canvas", "--from", str(canvas)], 0, SHOWN),
        "export for Moodle": (["export", course, "--to", "moodle"], 0, ""),
        "no command": ([FORGED], 2, SHOWN),
    }
    outcomes = said_by(hostile, [words for words, _code, _shown in commands.values()])
    wrong = []
    for (name, (_words, expected, shown)), (code, printed) in zip(commands.items(), outcomes, strict=True):
        fault = "" if code == expected and shown in printed.decode() else f"ends with {code}"
        wrong += [(name, fault or "obeyed", printed)] if fault or is_obeyed(printed) else []
    assert wrong == [], "\n".join(map(str, wrong))
    tables_hold_no_formulas(hostile.root)
    marks = (hostile.root / "marks-json.json").read_text()
    assert obeyed(marks) == set()
    assert any(person["last_name"] == FORGED for person in json.loads(marks)["students"] if "last_name" in person)


def tables_hold_no_formulas(course: Path) -> None:
    """Every file of values in a course: as many cells in each row, and none that a spreadsheet would run."""
    tables = sorted(course.glob("*.csv"))
    assert {path.stem for path in tables} >= {"roster", "marks-csv", "marks-canvas", "marks-moodle"}
    for path in tables:
        text = path.read_bytes().decode()
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len({len(row) for row in rows}) == 1, path
        assert obeyed(text) <= {"\u202e", "\u200f"}, path
        assert len(text.splitlines()) == len(rows), path
        cells = [cell for row in rows for cell in row if cell[:1] in "=+-@" and cell]
        assert cells == [], path


def test_nbgraders_commands_print_and_log_nothing_of_the_kind(hostile):
    log = hostile.root / "nbgrader.log"
    told = f"--NbGrader.logfile={log}"
    command(hostile.root, "nbgrader", "autograde", LESSON, told, "--JudgingExporter.add_students=True", check=False)
    printed = command(hostile.root, "nbgrader", "export", told).stdout
    assert SHOWN in (written := log.read_bytes().decode())
    assert obeyed(written + printed) == set()
    assert not any(line.startswith("forged") for line in written.splitlines())
    rows = list(csv.reader(io.StringIO((hostile.root / "grades.csv").read_text())))
    assert {len(row) for row in rows} == {12}
    assert [cell for row in rows for cell in row if cell[:1] and cell[0] in "=+-@"] == []


def test_the_watch_writes_it_neither_to_its_log_nor_to_its_page(room):
    watched = Watched(room)
    watched.hand_in("ann", RAISES)
    watched.hand_in("bo", PRINTS)
    for name in (HOSTILE, f"{HOSTILE}+{LESSON}+2026-11-20 10:00:00 UTC", f"ann+{HOSTILE}+2026-11-20 10:00:00 UTC"):
        (watched.inbound / name).mkdir()
    extra = watched.hand_in("cy", RIGHT)
    next(watched.inbound.glob("cy+*")).joinpath(HOSTILE).symlink_to("/etc/passwd")
    with running(watched.watch()) as rounds:
        rounds()
    assert extra.exists()
    assert SHOWN in room.said.getvalue()
    assert not is_obeyed(room.said.getvalue().encode())
    assert obeyed(watched.page) == set()
    assert printable("cy") in watched.page
