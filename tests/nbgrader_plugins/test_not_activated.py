"""The commands are called by their full path, and the environment's programs are not on the PATH."""

from __future__ import annotations

import subprocess

import pytest

from tests.classroom import BIN, LESSON, ROOT, SOLVED


@pytest.fixture
def shell(tmp_path):
    """Runs a program of this environment in a folder with a space in its name."""
    folder = tmp_path / "my room"
    folder.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def run(program: str, *arguments: str, inside: str = ".") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BIN / program), *arguments],
            cwd=folder / inside,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    run.folder = folder  # type: ignore[attr-defined]
    return run


@pytest.mark.skipif(str(BIN) in ("/usr/bin", "/bin"), reason="the environment's programs are on every PATH")
def test_a_lesson_is_released_and_graded_without_an_activated_environment(shell):
    (shell.folder / "solutions").mkdir()
    (shell.folder / "solutions" / SOLVED.name).write_bytes(SOLVED.read_bytes())
    assert shell("grader", "course", "create", "attention", "--solutions", "solutions").returncode == 0
    # Each of these would make the gradebook, and nbgrader calls alembic by its name for that.
    done = shell("grader", "autograde", ".", LESSON, inside="attention")
    assert "The gradebook doesn't know" in done.stderr, done.stdout + done.stderr
    (shell.folder / "attention" / "gradebook.db").unlink()
    done = shell("nbgrader", "generate_assignment", LESSON, inside="attention")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (shell.folder / "attention" / "release" / LESSON / SOLVED.name).exists()
