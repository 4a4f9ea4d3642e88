"""A course of one small lesson in a temporary folder, with exercises of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.authoring import Repository, build
from grader.authoring.samples import FOLDER
from grader.spec.exercise import Exercise

TOY = (Path(__file__).parent / "01_toy.txt").read_text("utf-8")
EXERCISES = {
    "double": Exercise(name="double", lesson="01_toy", points=2, parts=()),
    "quiz": Exercise(name="quiz", lesson="01_toy", points=1.5, parts=(), kind="answers"),
}

SAMPLES = """\
# %% right: a product
def double(x):
    return 2 * x


# %% right: a sum
def double(x):
    return x + x


# %% right: a shift
def double(x):
    return x << 1


# %% wrong -: a square
def double(x):
    return x**2
"""

MakeCourse = Callable[..., Repository]


def write_course(root: Path, lessons: dict[str, str]) -> None:
    """A repository of these lessons, by name, with the toy exercise's sample submissions."""
    (root / "lessons").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'toy'\n")
    (root / "requirements.lock").write_text("torch==2\n")
    for name, text in lessons.items():
        (root / "lessons" / f"{name}.py").write_text(text, "utf-8")
    samples = root / FOLDER / "lesson_01"
    samples.mkdir(parents=True)
    (samples / "double.py").write_text(SAMPLES)


@pytest.fixture
def make_course(tmp_path: Path) -> MakeCourse:
    """Makes a course of the lessons given by name, not yet built."""

    def make(**lessons: str) -> Repository:
        write_course(tmp_path, lessons or {"01_toy": TOY})
        return Repository(tmp_path, EXERCISES if not lessons or "01_toy" in lessons else {})

    return make


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy course, built: not to be changed."""
    root = tmp_path_factory.mktemp("toy") / "course"
    write_course(root, {"01_toy": TOY})
    build(Repository(root, EXERCISES), (), jobs=1, use_cache=True, tell=lambda _line: None)
    return root


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Repository:
    """The toy course, built: a copy to be changed."""
    root = tmp_path / "course"
    shutil.copytree(built_once, root)
    return Repository(root, EXERCISES)
