"""The teacher's package: its wheel has the instructor's notebooks, and makes a course from them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from grader import __version__
from grader.authoring.release import SHARED_FILES, TEACHERS_PAGES
from tests.release.test_release import ROOT, bases, released

SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """In a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("teacher") / "my room"
    package = released(folder, "--teacher")
    assert package.name == f"attention-course-{__version__}-teacher.zip"
    with zipfile.ZipFile(package) as archive:
        archive.extractall(folder)
    return folder / "attention-course"


@pytest.fixture(scope="module")
def programs(unpacked) -> Path:
    """The programs of an environment with the wheel, which sees the packages that are installed here."""
    folder = unpacked / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars=bases(folder)))
    # A folder that is named so is searched last, and what its own .pth files say is not read.
    (packages / "of_this_environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (wheel,) = unpacked.glob("*.whl")
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-input", "--no-index", "--no-deps", "--ignore-installed", str(wheel)]
    subprocess.run([*pip, *install], check=True)
    return programs


def test_it_holds_the_wheel_and_what_installs_it(unpacked):
    names = {path.name for path in unpacked.iterdir() if path.name != ".venv"}
    (wheel,) = unpacked.glob("*.whl")
    assert names == {"README.md", "environment.yml", *SHARED_FILES, *TEACHERS_PAGES, wheel.name}
    assert "teacher" in wheel.name  # the student's wheel has the same version
    assert f"pip install './{wheel.name}[teacher]' -c requirements.lock" in (unpacked / "README.md").read_text()
    assert f"- ./{wheel.name}[teacher]" in (unpacked / "environment.yml").read_text()


def test_the_wheel_holds_the_instructors_notebooks(unpacked):
    (wheel,) = unpacked.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("grader/solutions/CHANGELOG.md") == (ROOT / "CHANGELOG.md").read_bytes()
        for notebook in SOLUTIONS:
            assert archive.read(f"grader/solutions/{notebook.name}") == notebook.read_bytes()


def test_a_course_is_made_from_the_installed_wheel(programs, unpacked):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GRADER_SOLUTIONS")}
    done = subprocess.run(
        [str(programs / "grader"), "course", "create", "attention"],
        cwd=unpacked,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"attention: {len(SOLUTIONS)} lessons.")
    for notebook in SOLUTIONS:
        made = unpacked / "attention" / "source" / notebook.stem / notebook.name
        assert made.read_bytes() == notebook.read_bytes()


def test_solutions_and_original_cells_come_from_the_wheel(programs, unpacked):
    script = "from grader.learner.starter_code import *; print(solutions_folder()); print(original('first_steps'))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(programs / "python"), "-c", script],
        cwd=unpacked,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    folder, *source = done.stdout.splitlines()
    assert Path(folder).is_relative_to(unpacked / ".venv")
    assert source[-1].strip() == "raise NotImplementedError()"


def test_an_exercise_of_ones_own_needs_nothing_of_an_authors(programs, unpacked):
    script = (
        "import sys; sys.modules['jupytext'] = None; from grader.cli.main import main; "
        "main(['course', 'exercise', 'attention', 'row_sums', *sys.argv[1:]])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = []
    for option in (["--into", "00"], ["--test"]):
        command = [str(programs / "python"), "-c", script, *option]
        done = subprocess.run(command, cwd=unpacked, env=environment, capture_output=True, text=True, check=False)
        said.append((done.returncode, done.stdout + done.stderr))
    assert said[0][0] == 0, said
    assert said[0][1].startswith("exercises/row_sums.py\nexercises/answers/row_sums.py\n")
    assert said[1][0] == 1
    assert "exercises/row_sums.py:23: TODO the points" in said[1][1]
