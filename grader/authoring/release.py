"""The student's package: a zip with the notebooks, a wheel without any model solution, and what installs it."""

from __future__ import annotations

import calendar
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.repository import Repository
from grader.authoring.verify import verify
from grader.errors import CourseError
from grader.learner.starter_code import starter_code

FOLDER = "attention-course"
PACKAGES = ("grader", "grader.views")
PACKED = ("pyproject.toml", "README.md", "LICENSE")
# The only address that a student is sent to: README.md names it too.
TORCH_INDEX = re.compile(r"https://download\.pytorch\.org/\S*cpu")
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every entry, so that two releases of the same course are the same zip


def release(repository: Repository, out: Path) -> Path:
    """Write the zip into `out`. The notebooks have to be what a build would make."""
    verify(repository, ())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(repository.root, Path(scratch))
        path = out / f"{wheel.name.split('-py3')[0].replace('_', '-')}-student.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in _contents(repository, wheel):
                entry = zipfile.ZipInfo(f"{FOLDER}/{name}", EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return path


def _contents(repository: Repository, wheel: Path) -> Iterator[tuple[str, bytes]]:
    for name in ("README.md", "environment.yml"):
        yield (
            name,
            _filled(repository.root, (repository.root / "release" / name).read_text(encoding="utf-8"), wheel).encode(),
        )
    yield "LICENSE", (repository.root / "LICENSE").read_bytes()
    yield wheel.name, wheel.read_bytes()
    for notebook in sorted(repository.notebooks.glob("*.ipynb")):
        yield f"notebooks/{notebook.name}", notebook.read_bytes()


def _filled(root: Path, text: str, wheel: Path) -> str:
    """A template of `release/`, its {wheel}, {torch} and {index} filled in from where they are written."""
    pin = re.search(r'"torch==([^"]+)"', (root / "pyproject.toml").read_text(encoding="utf-8"))
    index = TORCH_INDEX.search((root / "README.md").read_text(encoding="utf-8"))
    if pin is None or index is None:
        raise CourseError("release: no pin of torch in pyproject.toml, or no address of its CPU build in README.md")
    return text.replace("{wheel}", wheel.name).replace("{torch}", pin[1]).replace("{index}", index[0])


def _wheel(root: Path, scratch: Path) -> Path:
    """The wheel of a copy that holds the exercises' original cells in place of the solutions."""
    source = scratch / "source"
    for package in PACKAGES:
        shutil.copytree(root / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKED:
        shutil.copy(root / name, source)
    packed = json.dumps(starter_code(), indent=1)
    (source / "grader" / "learner" / "starter_code.json").write_text(packed, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--disable-pip-version-check"]
    command += ["--wheel-dir", str(scratch), str(source)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(calendar.timegm((*EPOCH, 0, 0, 0)))}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise CourseError(f"release: the wheel could not be built\n{done.stdout}{done.stderr}")
    return next(scratch.glob("*.whl"))
