"""Every command on a disk that can't be written, that is full, or that lacks a folder: a sentence with the path, and no
traceback."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner, Result

from grader.cli.main import ADVICE, main
from grader.course.roster import Person, save
from grader.errors import Interrupted
from tests.batch.conftest import LESSON, _schema, template  # noqa: F401
from tests.classroom import SOLVED
from tests.term.stand_in import notebook, stand_in

OUT = "{out}/made"  # a file that a command is to make in a folder that may not be there
# A command line of every command; {course}, {out} and {work} are folders, the last with what a command reads.
LINES = {
    "autograde": ("{course}", "00"),
    "build": ("00",),
    "collect": ("{course}", "00", "{work}/in"),
    "course add-question": ("{course}", "00"),
    "course check": ("{course}",),
    "course create": ("{out}/new", "--solutions", "{work}/solutions"),
    "course due": ("{course}", "00", "2026-11-22 22:00 UTC"),
    "course exercise": ("{course}", "my_own"),
    "course expire": ("{course}", "--before", "2030-01-01", "--yes"),
    "course forget": ("{course}", "ann", "--yes"),
    "course leave-out": ("{course}", "00", "first_steps"),
    "course update": ("{course}", "--solutions", "{work}/solutions", "--also", "00"),
    "course withdraw": ("{course}", "bo"),
    "digest": ("more_heads", "b"),
    "doctor": (),
    "export": ("{course}", "--to", "csv", "--output", OUT),
    "extend": ("{course}", "00", "ann", "--days", "2"),
    "feedback": ("{course}", "00", "--force", "--zip", "moodle"),
    "grade": ("{work}/in/ann.ipynb", "--lesson", "00", "--output", OUT),
    "insights": ("{course}", "--page", OUT),
    "language": ("en", "{work}/in/ann.ipynb"),
    "mutants": ("no_such_exercise",),
    "new exercise": ("00", "rotate_heads"),
    "new lesson": ("13", "more_attention"),
    "override": ("{course}", "ann", "first_steps", "1", "--why", "Right."),
    "progress": (),
    "regrade": ("{course}", "00", "--preview", "--page", OUT),
    "release": ("{out}",),
    "roster": ("{course}", "{work}/people.csv"),
    "translate": (),
    "watch": ("{course}",),
}
ALSO = {
    "collect --undo": ("collect", "{course}", "00", "--undo"),
    "regrade --undo": ("regrade", "{course}", "00", "--undo"),
    "regrade --accept": ("regrade", "{course}", "00", "--accept"),
    "export to the course": ("export", "{course}", "--to", "json"),
}
# They find it by where they lie.
TAKE_THE_REPOSITORY = ("build", "mutants", "new exercise", "new lesson", "release", "translate")
EVERY = [line for line in [*LINES, *ALSO] if line not in TAKE_THE_REPOSITORY]


def leaves(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of all commands."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*above, name))
        else:
            yield " ".join((*above, name))


def test_every_command_has_its_line_here():
    assert sorted(leaves(main)) == sorted(LINES)


@pytest.fixture(scope="module")
def graded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A folder with a course in which everything has happened once, and with what commands read."""
    work = tmp_path_factory.mktemp("disk")
    course = Path(shutil.copytree(template, work / "course"))
    for folder in ("in", "solutions", "out"):
        (work / folder).mkdir()
    shutil.copy(SOLVED, work / "solutions")
    (work / "people.csv").write_text("id,first_name,last_name\nann,Ann,Lee\nbo,Bo,Ng\n")
    save(course, [Person("ann", "Ann", "Lee"), Person("bo", "Bo", "Ng")])
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        for earns in (0.5, 0.75):
            (work / "in" / "ann.ipynb").write_bytes(notebook(LESSON, "first_steps", earns))
            assert told(work, "collect").exit_code == 0
            assert told(work, "autograde").exit_code == 0
        for name in ("override", "feedback", "export", "insights"):
            assert told(work, name).exit_code < 2, name  # 1: nobody knows a Moodle name of theirs
    (work / "in" / "ann.ipynb").write_bytes(notebook(LESSON, "first_steps", 1.0))
    return work


def told(work: Path, line: str) -> Result:
    words = ALSO.get(line) or (*line.split(), *LINES[line])
    filled = [word.format(course=work / "course", out=work / "out", work=work) for word in words]
    return CliRunner().invoke(main, filled)


def require_a_sentence(work: Path, line: str, done: Result) -> None:
    """No traceback; and what was refused is named."""
    crash = None if isinstance(done.exception, SystemExit) else done.exception
    assert crash is None, (line, crash)
    assert done.exit_code in (0, 1, 2, Interrupted.exit_code), done.output
    refused = done.exit_code and any(advice in done.output for advice in ADVICE.values())
    if refused:
        assert str(work) in done.output, done.output
        assert done.exit_code == 1, done.output


_closed: list[str] = []  # below these folders nothing may be written; an audit hook can't be taken out


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if not _closed or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.symlink"):
        return
    path = arguments[0]
    if event == "open" and not (isinstance(flags := arguments[2], int) and flags & (os.O_WRONLY | os.O_RDWR)):
        return
    if isinstance(path, str | bytes | os.PathLike):
        where = os.path.abspath(os.fsdecode(path))
        if any(where == folder or where.startswith(f"{folder}/") for folder in _closed):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), where)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nothing be written below a folder while the block runs; root may write whatever a mode says, so the modes
    can't do it."""
    if not hasattr(sys, "_closed_by_a_test"):
        sys._closed_by_a_test = True  # type: ignore[attr-defined]
        sys.addaudithook(_refuse)
    _closed.append(str(folder))
    try:
        yield
    finally:
        _closed.remove(str(folder))


@contextmanager
def full(most: int) -> Iterator[None]:
    """Let no file have more than so many bytes while the block runs, as where no more are left."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def work(graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it for one command. A watch that comes to start its workers is ended as by Ctrl+C."""
    stand_in(monkeypatch)
    monkeypatch.setattr("grader.watch.service.Lanes", Mock(side_effect=KeyboardInterrupt))
    return Path(shutil.copytree(graded, tmp_path / "work", symlinks=True))


@pytest.mark.parametrize("line", EVERY)
@pytest.mark.parametrize("closed", ["", "out"])
def test_a_disk_that_cannot_be_written(work, line, closed):
    with read_only(work / closed):
        done = told(work, line)
    require_a_sentence(work, line, done)


@pytest.mark.parametrize("line", EVERY)
@pytest.mark.parametrize("most", [300])
def test_a_disk_that_is_full(work, line, most):
    with full(most):
        done = told(work, line)
    require_a_sentence(work, line, done)


@pytest.mark.parametrize("line", EVERY)
@pytest.mark.parametrize("gone", ["course/.grader", "out"])
def test_a_folder_that_is_missing(work, line, gone):
    path = work / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    require_a_sentence(work, line, told(work, line))
