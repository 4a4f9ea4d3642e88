"""A course of one small lesson in a temporary folder, with exercises of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.authoring import Repository, build
from grader.spec.exercise import Exercise

TOY = (Path(__file__).parent / "01_toy.txt").read_text("utf-8")
EXERCISES = {
    "double": Exercise(name="double", lesson="01_toy", points=2, parts=()),
    "quiz": Exercise(name="quiz", lesson="01_toy", points=1.5, parts=(), kind="answers"),
}

MakeCourse = Callable[..., Repository]


@pytest.fixture
def make_course(tmp_path: Path) -> MakeCourse:
    """Makes a course of the lessons given by name, not yet built."""

    def make(**lessons: str) -> Repository:
        (tmp_path / "lessons").mkdir()
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'toy'\n")
        (tmp_path / "requirements.lock").write_text("torch==2\n")
        for name, text in (lessons or {"01_toy": TOY}).items():
            (tmp_path / "lessons" / f"{name}.py").write_text(text, "utf-8")
        return Repository(tmp_path, EXERCISES if not lessons or "01_toy" in lessons else {})

    return make


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy course, built: not to be changed."""
    root = tmp_path_factory.mktemp("toy") / "course"
    (root / "lessons").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'toy'\n")
    (root / "requirements.lock").write_text("torch==2\n")
    (root / "lessons" / "01_toy.py").write_text(TOY, "utf-8")
    build(Repository(root, EXERCISES), (), jobs=1, use_cache=True, tell=lambda _line: None)
    return root


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Repository:
    """The toy course, built: a copy to be changed."""
    root = tmp_path / "course"
    shutil.copytree(built_once, root)
    return Repository(root, EXERCISES)
