"""The first command of every way to install: an environment, or at once a sentence about a Python that is too old."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import make_environment

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "make_environment.py"
CPU_INDEX = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["attention-course"]["torch-cpu-index"]
READMES = ["README.md", "release/student/README.md", "release/teacher/README.md"]


def test_it_needs_the_python_that_the_package_needs():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert needed == f">={make_environment.dotted(make_environment.NEEDED)}"


def test_a_python_that_fits_makes_the_environment_itself_with_or_without_uv():
    wanted = [sys.executable, "-m", "venv", ".venv"]
    for version in [(3, 11, 0), (3, 12, 1), (3, 13, 0)]:
        assert make_environment.command(version, None) == make_environment.command(version, "/bin/uv") == wanted


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 10, 13)])
def test_with_an_older_one_uv_fetches_a_python(version):
    assert make_environment.command(version, "/bin/uv")[:5] == ["/bin/uv", "venv", "--seed", "--python", "3.12"]


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 10, 13)])
def test_without_uv_it_says_which_is_needed_which_this_is_and_where_to_get_one(version):
    said = re.escape(f"needs Python 3.11 or newer, and this is Python {make_environment.dotted(version)} (")
    with pytest.raises(SystemExit, match=f"{said}.*python.org/downloads.*install uv"):
        make_environment.command(version, None)


def test_an_old_python_can_read_it():
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 6))


def test_it_ends_at_once_and_writes_nothing(tmp_path):
    older = "import runpy, sys; sys.version_info = (3, 10, 13, 'final', 0); "
    older += "runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", older, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PATH": str(tmp_path)},  # where no uv is
    )
    assert done.returncode == 1
    assert "this is Python 3.10.13" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_where_uv_can_fetch_none_it_says_so_after_uv_has_said_why(monkeypatch):
    monkeypatch.setattr(make_environment.sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.setattr(make_environment.shutil, "which", lambda _name: "/bin/false")
    with pytest.raises(SystemExit, match=r"couldn't fetch one\. The course needs Python 3.11 or newer, and this is"):
        make_environment.main()


def test_make_is_told_of_the_smaller_torch_before_it_fetches_one():
    first = re.findall(r"(?s)```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"))[0].splitlines()
    assert first[0].startswith(f"export TORCH_INDEX={CPU_INDEX} ")
    assert first[1].startswith("make start ")
    asked = subprocess.run(
        ["make", "-n", "-B", "setup"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "TORCH_INDEX": "X"}
    )
    assert "--no-deps torch -c requirements.lock --index-url X" in asked.stdout, asked.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh clone, as far as make looks at it."""
    for name in ("Makefile", "make_environment.py", "pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
        os.utime(tmp_path / name, (1000, 1000))
    return tmp_path


def planned(checkout: Path, *words: str) -> str:
    """What make would do, without doing it."""
    return subprocess.run(["make", "-n", *words], cwd=checkout, capture_output=True, text=True, check=True).stdout


def installed(checkout: Path, stamp: str, when: int = 2000) -> None:
    (checkout / ".venv").mkdir(exist_ok=True)
    (checkout / ".venv" / stamp).touch()
    os.utime(checkout / ".venv" / stamp, (when, when))


def test_a_learner_gets_what_the_lessons_need_and_the_tests_all_of_it_later(checkout: Path):
    assert "-e '.[lab]' -c requirements.lock" in planned(checkout, "start")
    assert "[dev]" not in planned(checkout, "start")
    installed(checkout, ".installed-for-learners")
    assert "pip install" not in planned(checkout, "start")
    assert "-e '.[dev]' -c requirements.lock" in planned(checkout, "test")


def test_where_all_is_installed_a_learner_waits_for_nothing_until_the_versions_change(checkout: Path):
    installed(checkout, ".installed")
    assert "pip install" not in planned(checkout, "start") + planned(checkout, "test")
    os.utime(checkout / "requirements.lock", (3000, 3000))
    assert "-e '.[lab]'" in planned(checkout, "start")
    assert "-e '.[dev]'" in planned(checkout, "test")


def test_a_learner_sees_that_something_is_going_on(checkout: Path):
    assert not [line for line in planned(checkout, "start").splitlines() if "pip install" in line and "--quiet" in line]


def test_make_says_how_to_get_a_python_too(checkout: Path, tmp_path_factory: pytest.TempPathFactory):
    programs = tmp_path_factory.mktemp("programs")  # nothing of the machine's own, but what the recipe needs
    old = "import runpy, sys; sys.version_info = (3, 10, 13, 'final', 0); "
    old += "runpy.run_path(sys.argv[1], run_name='__main__')"
    (programs / "python3").write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 1\nexec {sys.executable} -c "{old}" "$@"\n')
    (programs / "python3").chmod(0o755)
    done = subprocess.run(
        [shutil.which("make") or "make", "start"],
        cwd=checkout, env={"PATH": str(programs), "HOME": str(checkout)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "this is Python 3.10.13" in done.stderr
    assert "https://www.python.org/downloads/" in done.stderr
    (programs / "python3").unlink()
    done = subprocess.run(
        [shutil.which("make") or "make", "start"],
        cwd=checkout, env={"PATH": str(programs), "HOME": str(checkout)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "no python3 was found. Get one from https://www.python.org/downloads/" in done.stderr
    assert sorted(path.name for path in checkout.iterdir()) == sorted(
        ["Makefile", "make_environment.py", "pyproject.toml", "requirements.lock"]
    )


@pytest.mark.parametrize(
    "name", ["environment.yml", "release/student/environment.yml", "release/teacher/environment.yml"]
)
def test_conda_is_told_of_the_smaller_torch_and_brings_a_python_that_fits(name):
    asked = yaml.safe_load((ROOT / name).read_text("utf-8").replace("{index}", CPU_INDEX).replace("{wheel}", "a.whl"))
    python, _pip, by_pip = asked["dependencies"]
    assert tuple(map(int, python.partition("=")[2].split("."))) >= make_environment.NEEDED
    assert by_pip["pip"][:2] == ["-c requirements.lock", f"--extra-index-url {CPU_INDEX}"]


@pytest.mark.parametrize("name", READMES)
def test_every_way_begins_with_it_and_the_smaller_torch_comes_before_the_course(name):
    blocks = re.findall(r"(?s)```(?:console|powershell)\n(.*?)```", (ROOT / name).read_text("utf-8"))
    ways = [block.splitlines() for block in blocks if "pip install" in block]
    assert ways
    for lines in ways:
        assert lines[0] in ("python3 make_environment.py", "py make_environment.py")
        asked = [line for line in lines if "jupyter lab" in line]
        assert all(re.search(r"lab --config=(release/student/)?jupyter/lab.py$", line) for line in asked)
    (with_torch,) = (
        [line for line in lines if "pip install" in line] for lines in ways if "--no-deps torch" in str(lines)
    )
    assert ["--no-deps torch" in line for line in with_torch] == [True, False]
