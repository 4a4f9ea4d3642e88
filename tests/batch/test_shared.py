"""A second marker: two teachers of one group grade the same course, and neither locks the other out. The secret stays
within the group. It needs root, to become each of them."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batch.conftest import BIN, LESSON, RIGHT, SQUARED, answered
from tools.another_user import ENVIRONMENT, as_nobody

TEACHERS = "4242"
ANN, BO, STRANGER = "4001", "4002", "4003"


def run(user: str, root: Path, *words: str, group: str = TEACHERS) -> subprocess.CompletedProcess[str]:
    """A command in the course, as one of the teachers."""
    line = f"umask 022; cd {shlex.quote(str(root.parent))}; cd {shlex.quote(str(root))}; {shlex.join(words)}"
    command = as_nobody(["sh", "-c", line], user, group)
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    environment = {**ENVIRONMENT, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(root.parent / user)}
    return subprocess.run(
        [*prefix, "env", *(f"{name}={value}" for name, value in environment.items()), *command],
        capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip


def grade(user: str, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(user, root, "grader", "autograde", str(root), "00", "--add-students", *words)


@pytest.fixture
def shared(room) -> Iterator:
    """ann's course, which she has given to the teachers' group as docs/operations.md says."""
    place = Path(tempfile.mkdtemp(prefix="shared-"))  # pytest's own folders are closed to others
    place.chmod(0o755)
    for user in (ANN, BO, STRANGER):
        (place / user).mkdir()
        os.chown(place / user, int(user), int(user))
    room.submit("cy", answered(SQUARED))
    room.submit("dee", answered(RIGHT))
    shutil.copytree(room.root, place / "course")
    room.root = place / "course"
    for path in (room.root, *room.root.rglob("*")):
        os.chown(path, int(ANN), int(ANN))
    os.chown(room.root, int(ANN), int(TEACHERS))
    room.root.chmod(0o2770)
    yield room
    shutil.rmtree(place)


def test_neither_teacher_locks_the_other_out(shared):
    first = grade(ANN, shared.root)
    assert first.returncode == 0, first.stdout + first.stderr
    for path in (shared.root, *shared.root.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert not path.is_dir() or mode & 0o2070 == 0o2070, path
    secret = (shared.root / "judge_secret").stat()
    assert (stat.S_IMODE(secret.st_mode), secret.st_gid) == (0o640, int(TEACHERS))
    shared.submit("cy", answered(RIGHT))
    again = grade(BO, shared.root)
    assert again.returncode == 0, again.stdout + again.stderr
    assert shared.marks() == {"cy": 1, "dee": 1}
    for user, words in {BO: ("autograde", LESSON, "--force"), ANN: ("generate_feedback", LESSON)}.items():
        done = run(user, shared.root, "nbgrader", *words)
        assert done.returncode == 0, done.stdout + done.stderr
    last = grade(ANN, shared.root, "--force")
    assert last.returncode == 0, last.stdout + last.stderr
    assert shared.marks() == {"cy": 1, "dee": 1}


def test_what_is_closed_is_told_with_what_to_do(shared):
    assert grade(ANN, shared.root).returncode == 0
    stranger = run(STRANGER, shared.root.parent, "cat", str(shared.root / "judge_secret"), group=STRANGER)
    assert "Permission denied" in stranger.stderr
    done = run(STRANGER, shared.root.parent, "grader", "autograde", "course", "00", group="")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    (shared.root / "gradebook.db").chmod(0o644)
    done = grade(BO, shared.root)
    assert done.returncode == 2
    assert "gradebook.db belongs to user 4001 and is closed to the course's group" in done.stderr
    assert "chmod -R g+rwX" in done.stderr
    assert grade(ANN, shared.root).returncode == 0
    assert grade(BO, shared.root).returncode == 0
