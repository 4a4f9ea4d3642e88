"""The gradebook in PostgreSQL: Debian's package, started for this test by an unprivileged user, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.batch.conftest import LESSON, RIGHT, SQUARED, answered, command
from tests.programs import postgresql

SERVER = "-c listen_addresses='' -c fsync=off -c unix_socket_directories="


@pytest.fixture
def server():
    """A server; the folder of its socket. Fails, and doesn't skip, where PostgreSQL is missing."""
    programs = postgresql()
    assert programs is not None, "PostgreSQL is not installed: python tests/programs.py"
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    become = []
    if os.geteuid() == 0:  # the server refuses root; the package has made a user
        shutil.chown(folder, "postgres")
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def run(*words):
        done = subprocess.run([*become, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    run(programs / "initdb", "--no-sync", "--auth=trust", "--username=teacher", "--encoding=UTF8", data)
    run(programs / "pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", f"{SERVER}{folder}", "start")
    yield folder
    run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


def test_same_gradebook_in_postgresql(room, server):
    for name, answer in (("ann", RIGHT), ("bo", SQUARED)):
        room.submit(name, answered(answer))
    room.submit("cy", b"not a notebook \x00")
    room.grade()
    in_sqlite = room.book()
    room.url = f"postgresql+psycopg://teacher@/postgres?host={server}"
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.CourseDirectory.db_url = {room.url!r}\n")
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    outcome = room.grade()
    assert outcome.graded == 0  # the log has the results: only the gradebook is new
    for name, rows in in_sqlite.items():
        for mine, theirs in zip(room.book()[name], rows, strict=True):
            # SQLite has dates as text and truth as a number.
            assert [str(value)[:19] for value in mine[:2]] == [str(value)[:19] for value in theirs[:2]]
            assert mine[2:] == theirs[2:]
    room.submit("bo", answered(RIGHT))
    assert room.grade().graded == 1
    assert room.marks() == {"ann": 1, "bo": 1, "cy": 0}
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    assert (room.folder("bo", "feedback") / f"{LESSON}.html").is_file()
