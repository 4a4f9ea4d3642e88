"""A course directory with one lesson, two students and an exchange, as on a machine that they share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.course import create
from tests.judge import notebooks as nb

BIN = Path(sys.executable).parent


@dataclass
class Classroom:
    """`run` is the teacher's shell in the course directory, `student` a student's in theirs."""

    root: Path
    environment: dict[str, str]

    @property
    def course(self) -> Path:
        return self.root / "course"

    def run(self, *command: str, cwd: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=cwd or self.course,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=240,
            check=False,
        )
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, said
        return said

    def student(self, name: str, *command: str, check: bool = True) -> str:
        home = self.root / name
        home.mkdir(exist_ok=True)
        return self.run(*command, cwd=home, check=check)

    def submit_directly(self, name: str, data: bytes) -> Path:
        """Put a submission where collect would have put it."""
        folder = self.course / "submitted" / name / nb.LESSON
        folder.mkdir(parents=True)
        (folder / f"{nb.LESSON}.ipynb").write_bytes(data)
        return folder

    def marks(self) -> dict[str, dict[str, float]]:
        """By student and exercise, as the gradebook has them."""
        from nbgrader.api import Gradebook

        found: dict[str, dict[str, float]] = {}
        with Gradebook(f"sqlite:///{self.course}/gradebook.db") as gradebook:
            for one in gradebook.assignment_submissions(nb.LESSON):
                grades = {g.name.removesuffix("-check"): g.score for n in one.notebooks for g in n.grades}
                assert not any(g.auto_score is None for n in one.notebooks for g in n.grades)
                found[one.student.id] = grades
        return found


def classroom_at(root: Path) -> Classroom:
    solutions = root / "solutions"
    solutions.mkdir()
    (solutions / f"{nb.LESSON}.ipynb").write_bytes(as_solution(nb.instructor()))
    exchange = root / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    create(root / "course", solutions, "attention", str(exchange))
    student_config = (
        f"c = get_config()\nc.CourseDirectory.course_id = 'attention'\nc.Exchange.root = {str(exchange)!r}\n"
    )
    for name in ("ann", "bo"):
        (root / name).mkdir()
        (root / name / "nbgrader_config.py").write_text(student_config)
    environment = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(root),
        "JUPYTER_DATA_DIR": str(root / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(root / "jupyter_config"),
        "IPYTHONDIR": str(root / "ipython"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return Classroom(root, environment)


def as_solution(notebook: bytes) -> bytes:
    """With the kernel that the build writes."""
    data = json.loads(notebook)
    data["metadata"] = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    return json.dumps(data).encode()


@pytest.fixture
def classroom(tmp_path: Path) -> Classroom:
    return classroom_at(tmp_path)
