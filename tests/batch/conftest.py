"""A course with lesson 00, graded on one Dask worker that all tests share."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from distributed import LocalCluster

from grader.batch import cluster as clusters
from grader.batch.run import ClassOutcome, Options, run
from grader.source.create import create
from tests.classroom import _schema, as_solution  # noqa: F401
from tests.nbgrader_commands import nbgrader
from tools import notebooks as nb

LESSON = "00_start_here"
BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
RIGHT = "def first_steps(x):\n    return 2 * x + 1"
SQUARED = "def first_steps(x):\n    print('squaring')\n    return x ** 2 + 1"
HALF = "def first_steps(x):\n    return x + x + 1 if x.dim() < 3 else x"
ROWS = {
    "grades": """
        select s.student_id, s.timestamp, n.late_submission_penalty, c.name,
               g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade
        from grade g join base_cell c on g.cell_id = c.id join submitted_notebook n on g.notebook_id = n.id
        join submitted_assignment s on n.assignment_id = s.id order by s.student_id, c.name""",
    "comments": """
        select s.student_id, c.name, m.auto_comment, m.manual_comment
        from comment m join base_cell c on m.cell_id = c.id join submitted_notebook n on m.notebook_id = n.id
        join submitted_assignment s on n.assignment_id = s.id order by s.student_id, c.name""",
}


def answered(source: str) -> bytes:
    """A submission with this answer."""
    return nb.submission(LESSON, first_steps=source)


@dataclass
class Room:
    """A course directory. `grade` is a run of the command on the shared worker."""

    root: Path
    scheduler: str
    url: str = ""
    said: io.StringIO = field(default_factory=io.StringIO)

    def folder(self, student: str, step: str = "submitted") -> Path:
        return self.root / step / student / LESSON

    def submit(self, student: str, data: bytes | None, handed_in: str = "2026-11-20 10:00:00 UTC") -> Path:
        """Put a submission where `nbgrader collect` would have put it; where its notebook is."""
        folder = self.folder(student)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "timestamp.txt").write_text(handed_in)
        path = folder / f"{LESSON}.ipynb"
        if data is not None:
            path.write_bytes(data)
        return path

    def grade(self, **options: Any) -> ClassOutcome:
        options = {"add_students": True, **options}
        return run(self.root, "00", Options(scheduler=self.scheduler, **options), self.said)

    def marks(self) -> dict[str, float]:
        return {row[0]: row[4] for row in self.book()["grades"]}

    def book(self) -> dict[str, list[tuple[Any, ...]]]:
        """What the gradebook says, without its random ids."""
        engine = sqlalchemy.create_engine(self.url or f"sqlite:///{self.root}/gradebook.db")
        with engine.connect() as db:
            found = {name: [tuple(row) for row in db.execute(sqlalchemy.text(query))] for name, query in ROWS.items()}
        engine.dispose()
        return found

    def sql(self, statement: str) -> None:
        """Change the gradebook by hand."""
        engine = sqlalchemy.create_engine(f"sqlite:///{self.root}/gradebook.db")
        with engine.begin() as db:
            db.execute(sqlalchemy.text(statement))
        engine.dispose()

    def autograded(self, student: str) -> dict[str, Any]:
        data = json.loads((self.folder(student, "autograded") / f"{LESSON}.ipynb").read_text())
        data["metadata"]["course_result"]["seconds"] = 0
        return data


def command(
    root: Path, *words: str, check: bool = True, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command line in a course directory; nbgrader's own are forked."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment = environment or {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    if words[0] == "nbgrader":
        code, said = nbgrader([[str(root), *words[1:]]], environment)
        done = subprocess.CompletedProcess(words, code, said, "")
    else:
        done = subprocess.run(
            [str(BIN / words[0]), *words[1:]],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose lesson is generated and that nobody has handed in to."""
    folder = tmp_path_factory.mktemp("batch")
    (folder / "solutions").mkdir()
    (folder / "solutions" / f"{LESSON}.ipynb").write_bytes(as_solution(nb.instructor(LESSON)))
    create(folder / "course", folder / "solutions", "attention")
    command(folder / "course", "nbgrader", "generate_assignment", LESSON)
    return folder / "course"


@pytest.fixture(scope="session")
def workers() -> Iterator[LocalCluster]:
    """One worker. Its judge is kept from run to run: starting one takes seconds."""
    forget = clusters.Judges.__exit__
    clusters.Judges.__exit__ = lambda *_error: None  # type: ignore[method-assign]
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        memory_limit=None,
        silence_logs=50,
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    ) as running:
        running.forget = forget
        yield running
    clusters.Judges.__exit__ = forget  # type: ignore[method-assign]


@pytest.fixture
def room(template: Path, workers: LocalCluster, tmp_path: Path) -> Room:
    """A course of its own for every test."""
    shutil.copytree(template, tmp_path / "course")
    return Room(tmp_path / "course", workers.scheduler_address)
