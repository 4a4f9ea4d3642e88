"""A sandbox for a whole test run and a small course of two exercises that don't depend on each other.

Every test that uses it runs in bubblewrap and without; `tools/another_user.py` runs them as another user too. They
fail, and are not skipped, where there is no bubblewrap or no Landlock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader.judge import sandbox as sandbox_module
from grader.judge.grading import grade
from grader.judge.limits import MIB, Limits
from grader.judge.outline import Outline
from grader.judge.result import CONFINED, IN_BUBBLEWRAP, SubmissionResult
from grader.judge.sandbox import Sandbox
from grader.subject import Outcome, Request
from grader.subject.forked import ForkedSubject
from tests.spec.toy import AFFINE, PRODUCT, SQUARED, TOYS
from tools import notebooks as nb

# By the clock alone: what sleeps would take three times as long otherwise (`test_honest.py` tries both).
LIMITS = Limits(check_seconds=2, cell_seconds=2, submission_seconds=20, patience=1.0, memory=512 * MIB, threads=16)
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
def kept() -> Iterator[Callable[[str], Sandbox]]:
    """The sandbox with or without bubblewrap, started once: to start one takes seconds, and every file wants both."""
    with contextlib.ExitStack() as opened:
        yield cache(lambda confinement: opened.enter_context(started(confinement, sandbox_module.MODULES)))


@pytest.fixture(scope="session", params=[IN_BUBBLEWRAP, CONFINED])
def sandbox(request: pytest.FixtureRequest, kept: Callable[[str], Sandbox]) -> Sandbox:
    return kept(request.param)


@contextlib.contextmanager
def started(confinement: str, modules: Sequence[str] = ()) -> Iterator[Sandbox]:
    """A sandbox with or without bubblewrap around it. For one test there is no need to import more than torch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox_module, "MODULES", modules)
        if confinement == CONFINED:
            patch.setattr(sandbox_module, "bubblewraps", lambda: iter(()))
        place = Sandbox(LIMITS)
    with place:
        assert place.confinement == confinement, place.no_bubblewrap
        yield place


@pytest.fixture
def judge(sandbox: Sandbox) -> Callable[..., SubmissionResult]:
    """Grades a list of cells, or the bytes of a file."""

    def run(submitted: list[dict[str, Any]] | bytes, student: str = "ann", **more: Any) -> SubmissionResult:
        data = submitted if isinstance(submitted, bytes) else nb.dump(submitted)
        outline = more.pop("outline", None) or Outline.of(nb.dump(cells()))
        options = {"secret": b"a secret", "limits": LIMITS, "known": TOYS, "sandbox": sandbox, **more}
        return grade(data, outline, student=student, **options)

    return run


def run(place: Sandbox, source: str, seconds: float = 20.0) -> Outcome:
    """What comes of a cell in a child of its own."""
    with ForkedSubject(place) as subject:
        return subject.ask(Request("run", source=source, seconds=seconds))


def said(place: Sandbox, source: str) -> str:
    """What a cell prints."""
    outcome = run(place, source)
    assert outcome.ok, outcome
    return outcome.output.strip()


def processes_in(sandbox: Sandbox) -> int:
    """How many processes a sandbox has, the zygote among them. A fork first: it comes behind every kill."""
    end, number = sandbox.fork()
    found = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"HOME={sandbox.folder}\0" in (path / "environ").read_text()
            found += mine and not (path / "comm").read_text().startswith("bwrap")
        except OSError:
            continue
    end.close()
    sandbox.kill(number)
    return found - 1
