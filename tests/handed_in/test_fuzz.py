"""Whatever lies in a collected folder, in the log of results or in the file of a learner's progress: it is read or
passed over, never followed to somebody else's file, and no error of ours comes of it. FUZZ_ROUNDS is how often (60).
"""

from __future__ import annotations

import json
import os
import random
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.book.autograded import Autograded
from grader.book.results_log import LoggedResult, ResultsLog, latest
from grader.course.class_directory import Submission, submitted_folder
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from grader.course.lateness import timestamp
from grader.handed_in.links import remove_links
from grader.judge.result import SubmissionResult
from grader.learner import progress
from grader.printable import printable
from grader.report import ExerciseResult, PartResult
from tests.classroom import LESSON
from tests.course.test_files import Layout, Log
from tests.judge.test_fuzz import mutated

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "60"))
NOTEBOOK, PRIVATE = f"{LESSON}.ipynb", b"a neighbour's own words"
NAMES = (
    NOTEBOOK,
    "timestamp.txt",
    "submission_secret.txt",
    "data",
    "data.txt",
    "..x",
    ".ipynb_checkpoints",
    "feedback",
)
TIMES = (
    "",
    "tomorrow",
    "2026-11-20 10:00:00 UTC",
    "2026-11-20 10:00:00 /dev/zero",
    f"1 1 {10**30}",
    "9" * 90,
    "\x00",
    "None",
    "1e999",
)


def name(random_: random.Random) -> str:
    """A name that a folder or a file can have."""
    if random_.random() < 0.6:
        return random_.choice(NAMES)
    made = random_.randbytes(random_.choice((1, 3, 30, 255))).replace(b"/", b"").replace(b"\0", b"")
    return os.fsdecode(made if made not in (b"", b".", b"..") else b"x")


def fill(folder: Path, outside: Path, random_: random.Random, depth: int = 0) -> None:
    """Put anything into a folder that a student could put there."""
    for _ in range(random_.randrange(6)):
        place = folder / name(random_)
        if os.path.lexists(place):
            continue
        kind = random_.randrange(8)
        if kind < 3:
            text = random_.choice(TIMES).encode() if random_.random() < 0.5 else random_.randbytes(200)
            place.write_bytes(text)
        elif kind < 5 and depth < 4:
            place.mkdir()
            fill(place, outside, random_, depth + 1)
        elif kind == 5:
            os.mkfifo(place)
        elif kind == 6 and len(os.fsencode(place)) < 100:
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(os.fsencode(place))
        else:
            place.symlink_to(random_.choice((outside, outside / "secret", "nothing", "..", place)))


def autograded(root: Path) -> Autograded:
    """Writes into `root`, without a course to ask."""
    layout = SimpleNamespace(
        autograded_directory="autograded", source_directory="source", ignore=[], max_dir_size=100, groupshared=False
    )
    config = SimpleNamespace(Autograde={})
    course = SimpleNamespace(
        layout=layout, config=config, folder=lambda step, student=".": root / step / student / LESSON
    )
    return Autograded(course)


def test_whatever_is_in_a_collected_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(PRIVATE)
    (outside / NOTEBOOK).write_bytes(PRIVATE)
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    (tmp_path / "source" / LESSON / "data.txt").write_text("the course's")
    layout = Layout(tmp_path, "{nbgrader_step}/{student_id}/{assignment_id}")
    layout.submitted_directory = "submitted"
    left_out = 0
    for seed in range(ROUNDS):
        random_ = random.Random(seed)
        student = f"s{seed}"
        here = tmp_path / "submitted" / student / LESSON
        here.mkdir(parents=True)
        fill(here, outside, random_)
        submission = Submission(student, submitted_folder(layout, student, LESSON), LESSON)
        data, why = submission.read(1000)
        assert bool(why) != (here / NOTEBOOK).is_file() or (here / NOTEBOOK).is_symlink(), seed
        assert PRIVATE not in data
        timestamp(submission.folder)
        written = autograded(tmp_path)
        left_out += len(written.write(submission, b"rebuilt"))
        assert written.path(submission).read_bytes() == b"rebuilt"
        said = submission.folder.copy_to(tmp_path / "copy" / student, 10**6)
        assert all(printable(line).isprintable() for line in said)
        for copy in (written.path(submission).parent, tmp_path / "copy" / student):
            files = [path for path in copy.rglob("*") if path.is_file()]
            assert not any(path.is_symlink() or PRIVATE in path.read_bytes() for path in files), seed
        assignments = {str(here): [str(here / NOTEBOOK)]}
        remove_links(layout, assignments, Log())
        assert assignments
        assert not any(path.exists() for path in here.rglob("*") if path.is_symlink() or path.is_fifo()), seed
        assert (outside / "secret").read_bytes() == PRIVATE
    assert left_out > ROUNDS / 10


RESULT = SubmissionResult(
    (
        ExerciseResult(
            "first_steps", 1, 0.5, (PartResult("values", False, 1.0, "wrong", "No."),), "squared", "It.", ("a",)
        ),
    ),
    ("a note",),
)


def test_whatever_is_in_the_log_of_results(tmp_path):
    line = LoggedResult.now("key", "ann", LESSON, "digest", RESULT).to_plain()
    stored = {"format": line["format"], "stored": {"ann": "key"}}
    path = lines_file(tmp_path, RESULTS, LESSON)
    with ResultsLog(tmp_path, LESSON):
        pass
    read = 0
    for seed in range(3 * ROUNDS):
        random_ = random.Random(seed)
        whole = json.dumps(mutated(random_.choice((line, stored)), random_)).encode()
        data = bytearray(whole + b"\n")
        for _ in range(random_.randrange(3) * (seed % 2)):
            data[random_.randrange(len(data) - 1)] = random_.randrange(256)
        path.write_bytes(bytes(data) + json.dumps(line).encode())
        assert latest(tmp_path, LESSON)["ann"].result == RESULT
        with ResultsLog(tmp_path, LESSON) as log:
            assert log.records["key"].result == RESULT
            read += len(log.records) + len(log.unreadable_lines) - 1
            log.mark_stored({"ann": "key"})
        with ResultsLog(tmp_path, LESSON) as log:
            assert log.stored["ann"] == "key"
    assert read


@pytest.mark.parametrize("spoil", ["a value", "a byte"])
def test_whatever_is_in_the_file_of_progress(tmp_path, monkeypatch, spoil):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    record = {"tries": 3, "best": 0.5, "last": 0.25, "passed_at": "", "checked_at": "2026", "solution_at": ""}
    whole = {"version": 1, "exercises": {"first_steps": record, "quiz_01": record}}
    kept = 0
    for seed in range(2 * ROUNDS):
        random_ = random.Random(seed)
        text = json.dumps(mutated(whole, random_) if spoil == "a value" else whole).encode()
        if spoil == "a byte":
            text = bytearray(text)
            for _ in range(random_.randrange(1, 4)):
                text[random_.randrange(len(text))] = random_.randrange(256)
        path.write_bytes(bytes(text))
        progress.rows()
        before = progress.load().get("first_steps", progress.Record()).tries
        progress.update("first_steps", lambda old: {"tries": old.tries + 1})
        assert progress.load()["first_steps"].tries == before + 1, seed
        kept += before == 3
    assert kept
