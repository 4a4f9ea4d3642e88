"""A course directory made of the course's own `solutions/`, two students and an exchange, as on a machine that they
share.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.source.create import create
from tests.nbgrader_commands import nbgrader, remember_schema

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
LESSON, EXERCISE = "00_start_here", "first_steps"
SOLVED = ROOT / "solutions" / f"{LESSON}.ipynb"
STUDENTS = ("ann", "bo")


@dataclass
class Classroom:
    """`run` is the teacher's shell in the course directory; `steps` are nbgrader's commands in any folder."""

    root: Path
    environment: dict[str, str]

    @property
    def course(self) -> Path:
        return self.root / "course"

    def steps(self, *steps: tuple[str, ...]) -> str:
        """nbgrader's commands, each with the folder that it is given in first, in one process."""
        code, said = nbgrader([[str(self.root / folder), *more] for folder, *more in steps], self.environment)
        assert code == 0, said
        return said

    def run(self, *command: str, check: bool = True, **environment: str) -> str:
        """A command as a shell starts it; what it said."""
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=self.course,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=400,
            check=False,
        )
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, said
        return said

    def submit_directly(self, name: str, data: bytes) -> Path:
        """Put a submission where collect would have put it."""
        folder = self.course / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        (folder / f"{LESSON}.ipynb").write_bytes(data)
        return folder

    def marks(self) -> dict[str, float]:
        """By student, as the gradebook has them; every cell has one."""
        from nbgrader.api import Gradebook

        found: dict[str, float] = {}
        with Gradebook(f"sqlite:///{self.course}/gradebook.db") as gradebook:
            for one in gradebook.assignment_submissions(LESSON):
                assert not any(grade.auto_score is None for notebook in one.notebooks for grade in notebook.grades)
                found[one.student.id] = one.score
        return found

    def page(self, student: str) -> str:
        """A student's feedback."""
        return (self.course / "feedback" / student / LESSON / f"{LESSON}.html").read_text()


def answered(notebook: dict[str, Any], source: str) -> dict[str, Any]:
    """A student at work: the exercise's cell replaced."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("course", {}).get("role") == "solution":
            cell["source"] = source
    return notebook


def solved(source: str | None = None) -> dict[str, Any]:
    """The course's own notebook with the model solution, or with another answer."""
    notebook = json.loads(SOLVED.read_text())
    return notebook if source is None else answered(notebook, source)


def as_solution(notebook: bytes) -> bytes:
    """With the kernel that the build writes."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return json.dumps({**json.loads(notebook), "metadata": {"kernelspec": kernel}}).encode()


@pytest.fixture(scope="session", autouse=True)
def _schema() -> None:
    remember_schema()


def classroom_at(root: Path) -> Classroom:
    solutions, exchange = root / "solutions", root / "exchange"
    solutions.mkdir()
    shutil.copy(SOLVED, solutions)
    exchange.mkdir()
    exchange.chmod(0o777)
    create(root / "course", solutions, "attention", str(exchange))
    config = f"c = get_config()\nc.CourseDirectory.course_id = 'attention'\nc.Exchange.root = {str(exchange)!r}\n"
    for name in STUDENTS:
        (root / name).mkdir()
        (root / name / "nbgrader_config.py").write_text(config)
    environment = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(root),
        "JUPYTER_DATA_DIR": str(root / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(root / "jupyter_config"),
        "IPYTHONDIR": str(root / "ipython"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    return Classroom(root, environment)


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A course whose assignment is released and fetched."""
    made = classroom_at(tmp_path_factory.mktemp("classroom"))
    made.steps(
        ("course", "generate_assignment", LESSON),
        ("course", "release_assignment", LESSON),
        *((name, "fetch_assignment", LESSON) for name in STUDENTS),
    )
    return made
