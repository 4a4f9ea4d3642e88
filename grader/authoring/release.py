"""The packages to hand out, each a zip. The student's has the notebooks and a wheel without any model solution; the
teacher's has a wheel with the instructor's notebooks in it; Gradescope's and PrairieLearn's grade one lesson there."""

from __future__ import annotations

import calendar
import io
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.atomic import write_atomically
from grader.authoring.notebook import dumps, install_source, loads
from grader.authoring.repository import Repository
from grader.authoring.translation.built import translations
from grader.authoring.translation.translate import complete_notebooks, languages
from grader.authoring.translation.units import translated
from grader.authoring.verify import require_built
from grader.errors import CourseError
from grader.lesson_names import choose

FOLDER = "attention-course"
STUDENT, TEACHER = "student", "teacher"
# Where each platform wants what grades a lesson: the instructor's notebook and the secret.
PLATFORMS = {"gradescope": "", "prairielearn": "questions/LESSON/tests/"}
# What a wheel is built from, besides the package.
PROJECT_FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "website/settings.toml")
# Of docs/, in the teacher's package: how to grade, how to write exercises of one's own.
TEACHERS_PAGES = (
    "teaching.md",
    "course.md",
    "grading.md",
    "operations.md",
    "threat-model.md",
    "own-exercises.md",
    "checks.md",
)
# What both packages hold as it is.
SHARED_FILES = ("LICENSE", "requirements.lock", "make_environment.py")
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every entry, so that two releases of the same course are the same zip
# Two wheels of the same version must not have the same name.
TEACHERS_BUILD = "--config-settings=--build-option=--build-number=1teacher"


def release(repository: Repository, out: Path, kind: str = STUDENT, address: str = "") -> Path:
    """Write the zip of a package, of kind `STUDENT` or `TEACHER`, into the folder `out`; returns its path. `address`:
    where the student's wheel will lie, for notebooks that are opened without the course, if it isn't the repository's.
    `CommandFailed` if the notebooks aren't what a build would make."""
    require_built(repository, ())
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(repository, Path(scratch), kind)
        entries = {f"{FOLDER}/{name}": content for name, content in _contents(repository, wheel, kind, address)}
        return _zip(out / f"{FOLDER}-{_version(wheel)}-{kind}.zip", entries)


def platform_release(repository: Repository, out: Path, platform: str, wanted: str, visibility: str = "") -> Path:
    """Write the zip that grades one lesson (`wanted`: its name or number) on a platform, with a secret of its own, into
    the folder `out`; returns its path. `visibility` is Gradescope's word for who sees the results. `CourseError` for an
    unknown lesson, `CommandFailed` if its notebooks aren't what a build would make."""
    lessons = {notebook.stem: notebook for notebook in repository.solutions.glob("*.ipynb")}
    lesson = choose(wanted, sorted(lessons))
    if lesson is None:
        raise CourseError(f"release: {wanted!r} isn't one of the lessons ({', '.join(sorted(lessons))})")
    require_built(repository, (lesson,))
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(repository, Path(scratch), STUDENT)
        known = {"lesson": lesson, "visibility": visibility, "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, lesson))}
        folder = PLATFORMS[platform]
        installer = "" if platform == "gradescope" else "image/"
        entries = {
            **_templates(repository.root, platform, wheel, known),
            f"{installer}{wheel.name}": wheel.read_bytes(),
            f"{installer}requirements.lock": (repository.root / "requirements.lock").read_bytes(),
            f"{folder}solutions/{lesson}.ipynb": lessons[lesson].read_bytes(),
            f"{folder}judge_secret": f"{secrets.token_hex(32)}\n".encode(),
        }
        entries = {name.replace("LESSON", lesson): content for name, content in entries.items()}
        return _zip(out / f"{FOLDER}-{_version(wheel)}-{platform}-{lesson}.zip", entries)


def _zip(path: Path, entries: Mapping[str, bytes]) -> Path:
    """Write a zip of these contents by name; returns its path. A file that begins with `#!` can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o755 if content.startswith(b"#!") else 0o644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    write_atomically(path, packed.getvalue())
    return path


def _version(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def _contents(repository: Repository, wheel: Path, kind: str, address: str) -> Iterator[tuple[str, bytes]]:
    root = repository.root
    yield from _templates(root, kind, wheel, {}).items()
    for code, language in languages(root).items() if kind == STUDENT else ():
        if STUDENT in language.gate:
            readme = (root / "release" / STUDENT / "README.md").read_text("utf-8")
            readme = translated(readme, translations(root, code).get)
            yield f"README.{code}.md", _filled(readme, root, wheel, {}).encode()
    for name in SHARED_FILES:
        yield name, (root / name).read_bytes()
    yield wheel.name, wheel.read_bytes()
    if kind == STUDENT:
        for notebook in sorted(repository.notebooks.glob("*.ipynb")):
            yield f"notebooks/{notebook.name}", _installing(notebook.read_text("utf-8"), address).encode()
        for notebook in complete_notebooks(repository):
            name = f"notebooks/{notebook.parent.name}/{notebook.name}"
            yield name, _installing(notebook.read_text("utf-8"), address).encode()
    else:
        for name in TEACHERS_PAGES:
            yield name, (root / "docs" / name).read_bytes()


def _installing(text: str, address: str) -> str:
    """The notebook's text with a first cell that installs the course from this address; with "" it stays as it was."""
    notebook = loads(text)
    if address:
        notebook.cells[0].source = install_source(address)
    return dumps(notebook)


def _templates(root: Path, kind: str, wheel: Path, known: Mapping[str, str]) -> dict[str, bytes]:
    """The contents, by name, of the files of a package that are written by hand, with `known` and more filled in."""
    folder, found = root / "release" / kind, {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = _filled(path.read_text(encoding="utf-8"), root, wheel, known)
        found[path.relative_to(folder).as_posix()] = text.encode()
    return found


def _filled(text: str, root: Path, wheel: Path, known: Mapping[str, str]) -> str:
    for name, value in {"wheel": wheel.name, "index": _torch_cpu_index(root), **known}.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _torch_cpu_index(root: Path) -> str:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["attention-course"]["torch-cpu-index"]


def _wheel(repository: Repository, scratch: Path, kind: str) -> Path:
    """Build the wheel of a copy of the package, a teacher's with the solutions, in the folder `scratch`; returns its
    path. `CourseError` with pip's output if that fails."""
    source = scratch / "source"
    shutil.copytree(repository.root / "grader", source / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "website").mkdir()
    for name in PROJECT_FILES:
        shutil.copy(repository.root / name, source / name)
    shutil.copytree(repository.notebooks, source / "notebooks", ignore=shutil.ignore_patterns(".*"))
    if kind == TEACHER:
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
