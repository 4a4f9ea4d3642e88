"""The packages to hand out, each a zip. The student's has the notebooks and a wheel without any model solution; the
teacher's has a wheel with the instructor's notebooks in it."""

from __future__ import annotations

import calendar
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.repository import Repository
from grader.authoring.verify import verify
from grader.errors import CourseError
from grader.learner.starter_code import starter_code

FOLDER = "attention-course"
STUDENT, TEACHER = "student", "teacher"
# What a wheel is built from, besides the package.
PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE")
# What both packages hold as it is.
SHARED_FILES = ("LICENSE", "requirements.lock")
TEACHERS_DOCS = ("course.md", "grading.md")
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every entry, so that two releases of the same course are the same zip
# Two wheels of the same version must not have the same name.
TEACHERS_BUILD = "--config-settings=--build-option=--build-number=1teacher"


def release(repository: Repository, out: Path, kind: str = STUDENT) -> Path:
    """Write the zip into `out`. The notebooks have to be what a build would make."""
    verify(repository, ())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(repository, Path(scratch), kind)
        version = wheel.name.split("-")[1]
        path = out / f"{FOLDER}-{version}-{kind}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in _contents(repository, wheel, kind):
                entry = zipfile.ZipInfo(f"{FOLDER}/{name}", EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return path


def _contents(repository: Repository, wheel: Path, kind: str) -> Iterator[tuple[str, bytes]]:
    root = repository.root
    for template in sorted((root / "release" / kind).iterdir()):
        text = template.read_text(encoding="utf-8")
        yield template.name, text.replace("{wheel}", wheel.name).replace("{index}", _torch_cpu_index(root)).encode()
    for name in SHARED_FILES:
        yield name, (root / name).read_bytes()
    yield wheel.name, wheel.read_bytes()
    if kind == STUDENT:
        for notebook in sorted(repository.notebooks.glob("*.ipynb")):
            yield f"notebooks/{notebook.name}", notebook.read_bytes()
    else:
        for name in TEACHERS_DOCS:
            yield name, (root / "docs" / name).read_bytes()


def _torch_cpu_index(root: Path) -> str:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["attention-course"]["torch-cpu-index"]


def _wheel(repository: Repository, scratch: Path, kind: str) -> Path:
    """The wheel of a copy of the package, with the exercises' original cells (student) or the solutions (teacher)."""
    source = scratch / "source"
    shutil.copytree(repository.root / "grader", source / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    for name in PROJECT_FILES:
        shutil.copy(repository.root / name, source)
    if kind == STUDENT:
        packed = json.dumps(starter_code(), indent=1)
        (source / "grader" / "learner" / "starter_code.json").write_text(packed, encoding="utf-8")
    else:
        shutil.copytree(repository.solutions, source / "grader" / "solutions")
        shutil.copy(repository.root / "CHANGELOG.md", source / "grader" / "solutions")  # for `grader course update`
    # Without isolation: the setuptools of the lock, which is installed, and nothing downloaded.
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(scratch), str(source)]
    command += [TEACHERS_BUILD] if kind == TEACHER else []
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(calendar.timegm((*EPOCH, 0, 0, 0)))}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise CourseError(f"release: the wheel could not be built\n{done.stdout}{done.stderr}")
    return next(scratch.glob("*.whl"))
