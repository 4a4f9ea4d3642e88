"""A sandbox for a whole test run and a small course of two exercises that don't depend on each other.

These tests fail, and are not skipped, where there is no bubblewrap: a judge without a sandbox is no judge.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.judge.grading import grade
from grader.judge.limits import MIB, Limits
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import Sandbox
from tests.spec.toy import AFFINE, PRODUCT, SQUARED, TOYS
from tools import notebooks as nb

LIMITS = Limits(check_seconds=2, cell_seconds=2, submission_seconds=20, memory=512 * MIB, processes=8)
IMPORTS = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\nfrom grader import check"
RIGHT = "def product(left, right):\n    return left @ right"
AFFINE_RIGHT = (
    "class Affine(nn.Module):\n    def __init__(self, d_in, d_out):\n        super().__init__()\n"
    "        self.linear = nn.Linear(d_in, d_out)\n    def forward(self, x):\n        return self.linear(x)"
)


def cells(product: str = RIGHT, affine: str = AFFINE_RIGHT) -> list[dict[str, Any]]:
    """A notebook's cells: `product`, then `Affine`, which has nothing to do with it."""
    return [
        nb.code(IMPORTS, "example", id="imports"),
        nb.code(product, "solution", "product"),
        nb.code("check(product)", "check", "product"),
        nb.code(affine, "solution", "Affine"),
        nb.code("check(Affine)", "check", "Affine"),
    ]


@pytest.fixture(scope="session", autouse=True)
def _points() -> Iterator[None]:
    """The toys' points, for the cells of `nb.code`."""
    known = nb.exercises()
    names = {e.name: e for e in (PRODUCT, AFFINE, SQUARED)}
    known.update(names)
    yield
    for name in names:
        known.pop(name)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS) as place:
        yield place


@pytest.fixture
def judge(sandbox: Sandbox) -> Callable[..., SubmissionResult]:
    """Grades a list of cells, or the bytes of a file."""

    def run(submitted: list[dict[str, Any]] | bytes, student: str = "ann", **more: Any) -> SubmissionResult:
        data = submitted if isinstance(submitted, bytes) else nb.dump(submitted)
        outline = more.pop("outline", None) or Outline.of(nb.dump(cells()))
        options = {"secret": b"a secret", "limits": LIMITS, "known": TOYS, "place": sandbox, **more}
        return grade(data, outline, student=student, **options)

    return run


def processes_in(sandbox: Sandbox) -> int:
    """How many processes live in the sandbox, the zygote among them. A fork first: it comes behind every kill."""
    end, number = sandbox.fork()
    end.close()
    sandbox.kill(number)
    end, number = sandbox.fork()
    mine = os.readlink(f"/proc/{sandbox.pid}/ns/pid")
    found = 0
    for path in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            found += os.readlink(path) == mine
        except OSError:
            continue
    end.close()
    sandbox.kill(number)
    return found - 1
