"""The first command of every way to install: an environment, or at once a sentence about a Python that is too old."""

from __future__ import annotations

import ast
import os
import re
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
