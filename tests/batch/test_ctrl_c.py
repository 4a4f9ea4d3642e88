"""Ctrl+C as a terminal sends it, SIGINT to all processes of a command: a sentence or two, exit code 130, nothing
half."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from grader.cli.main import main
from grader.course.folder import PREVIEW, RESULTS
from grader.course.json_lines import lines_file
from grader.interrupt import GO_ON
from tests.batch.conftest import BIN, LESSON, RIGHT, ROOT, Room, answered
from tests.batch.test_watch import Watched

SLOWLY = "import time\n" + RIGHT.replace("return", "time.sleep(0.05)\n    return")
PATIENCE = 240  # seconds


def interrupted(
    words: list[str], when: Callable[[subprocess.Popen[str]], bool], cwd: Path = ROOT, again: int = 0
) -> str:
    """What a command said that got Ctrl+C once `when` was true, and so many times more. Nothing of it runs on."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [str(BIN / "grader"), *words],
        cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE
    while not when(process):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.01)
    for _ in range(1 + again):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3 * again)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "Aborted" not in output
    assert len(output.splitlines()) <= 8, output
    until = time.monotonic() + 20
    while running(process.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert running(process.pid) == []
    return output


def hear_interrupts() -> None:
    """As in a terminal: where tests run in the background, a shell has SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def running(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    return [line for line in states(f"--sid={session}") if not line.startswith("Z")]


def states(*which: str) -> list[str]:
    done = subprocess.run(["ps", "-o", "stat=,args=", *which], capture_output=True, text=True)
    return done.stdout.splitlines()


def children(process: subprocess.Popen[str]) -> bool:
    return bool(states(f"--ppid={process.pid}"))


def lines_in(path: Path, most: int) -> Callable[[object], bool]:
    return lambda _process: path.is_file() and path.read_bytes().count(b"\n") >= most


@pytest.fixture
def a_class(room: Room) -> Room:
    for i in range(12):
        room.submit(f"s{i:02}", answered(SLOWLY))
    return room


def test_every_command_says_what_is_stored_and_how_to_go_on():
    def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            for word, below in command.commands.items():
                yield from leaves(below, f"{name} {word}")
        else:
            yield name, command

    silent = [name for name, one in leaves(main, "grader") if not getattr(one.callback, GO_ON, "")]
    assert silent == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("again", [0, 2], ids=["once", "impatiently"])
def test_autograde(a_class, again):
    """What it says is graded is in the gradebook, and the next run does the rest."""
    words = ["autograde", ".", "00", "--workers", "2", "--add-students"]
    said = interrupted(words, lines_in(lines_file(a_class.root, RESULTS, LESSON), 3), a_class.root, again)
    match = re.search(rf"Stopped. {LESSON}: (\d+) graded now and stored; (\d+) left. Run the command again", said)
    assert match, said
    graded, left = map(int, match.groups())
    assert graded + left == 12
    assert len(a_class.marks()) == graded
    after = a_class.grade()
    assert (after.graded, after.problems) == (left, {})
    assert a_class.marks() == {f"s{i:02}": 1 for i in range(12)}

    stopped = interrupted([*words, "--force"], children, a_class.root, again)
    assert "12 left, 12 of them with the mark that they had. Run the command again without --force" in stopped
    assert a_class.marks() == {f"s{i:02}": 1 for i in range(12)}


@pytest.mark.timeout(600)
def test_regrade(a_class):
    a_class.grade()
    before = a_class.book()
    with (a_class.root / "nbgrader_config.py").open("a") as file:
        file.write("\nc.JudgingExporter.limits = {'check_seconds': 7}\n")
    preview = lines_file(a_class.root, PREVIEW, LESSON)
    said = interrupted(["regrade", ".", "00", "--workers", "2"], lines_in(preview, 3), a_class.root)
    assert "What the preview has graded is kept" in said
    assert a_class.book() == before
    assert preview.read_bytes().count(b"\n") < 12 + 2


@pytest.mark.timeout(600)
def test_collect_feedback_and_export(room):
    """Cut off in the middle, each is finished by the same command."""
    names = [f"s{i:03}" for i in range(150)]
    (room.root / "people.csv").write_text("id,first_name,last_name\n" + "".join(f"{one},Ann,{one}\n" for one in names))
    with zipfile.ZipFile(room.root / "01.zip", "w") as archive:
        for number, one in enumerate(names):
            archive.writestr(f"Ann {one}_{number}_assignsubmission_file_/{LESSON}.ipynb", answered(RIGHT))
    grader(room, "roster", ".", "people.csv")
    submitted = room.root / "submitted"
    said = interrupted(["collect", ".", "00", "01.zip"], lambda _process: submitted.is_dir(), room.root)
    kept = "Each hand-in taken in so far is complete, and earlier ones are kept."
    assert f"{kept} Run the command again to take in the rest." in said
    taken = [path.name for path in submitted.iterdir()]
    assert len(taken) < len(names)
    assert "not handed in" not in grader(room, "collect", ".", "00", "01.zip")
    assert {path.read_bytes() for path in submitted.glob("*/*/*.ipynb")} == {answered(RIGHT)}

    for one in names[40:]:
        (submitted / one / LESSON).rename(room.root / f"aside-{one}")
    room.grade()
    pages = room.root / "feedback"
    said = interrupted(["feedback", "."], lambda _process: any(pages.glob("*/*/*.html")), room.root)
    assert "The pages made so far are complete" in said
    assert len([*pages.glob("*/*/*.html")]) < 40
    grader(room, "feedback", ".")
    assert len([*pages.glob("*/*/*.html")]) == 40

    os.mkfifo(room.root / "canvas.csv")  # it waits for what never comes
    words = ["export", ".", "--to", "canvas", "--from", "canvas.csv"]
    start = time.monotonic()
    said = interrupted(words, lambda _process: time.monotonic() > start + 4, room.root)
    assert said == "\nStopped. No mark has changed, and an earlier file stays as it was. Run the command again.\n"[1:]


def grader(room: Room, *words: str) -> str:
    done = subprocess.run([str(BIN / "grader"), *words], cwd=room.root, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_at_a_question(room):
    """It is another answer than none, which ends with 2."""
    (room.root / "people.csv").write_text("id,first_name,last_name\nann,Ann,Lee\n")
    grader(room, "roster", ".", "people.csv")
    process = subprocess.Popen(
        [str(BIN / "grader"), "course", "forget", ".", "ann"],
        cwd=room.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    while "[y/N]" not in said and process.poll() is None:
        said += process.stdout.read(1)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest.split("\n", 1)[1]) == (130, "Stopped. Nothing was removed.\n")
    assert "ann" in (room.root / "roster.csv").read_text()


@pytest.mark.timeout(600)
def test_watch(room):
    """As it starts its workers, and while it grades."""
    watched = Watched(room)
    watched.hand_in("ann", SLOWLY)
    words = ["watch", str(room.root), "--workers", "2"]
    for moment in (children, lines_in(lines_file(room.root, RESULTS, LESSON), 1)):
        said = interrupted(words, moment)
        assert "Ended. Start the watch again, and it does what is left." in said
    room.grade()
    assert room.marks() == {"ann": 1}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["build", "00", "--no-cache"], "The finished lessons are written and the others are as they were"),
        (["mutants", "first_steps", "--jobs", "2"], "Nothing is stored"),
    ],
    ids=["build", "mutants"],
)
def test_what_authors_run(words, sentence):
    before = {path: path.read_bytes() for folder in ("solutions", "notebooks") for path in (ROOT / folder).glob("00*")}
    assert sentence in interrupted(words, children)
    assert {path: path.read_bytes() for path in before} == before
