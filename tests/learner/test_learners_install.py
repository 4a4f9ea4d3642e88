"""All that a learner uses works without the packages of the extras."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from grader import __version__

ROOT = Path(__file__).parents[2]
# By the name that is imported, where it is another than the package's.
IMPORTED_AS = {"psycopg": "psycopg", "pyyaml": "yaml", "pytest-xdist": "xdist"}
# Of the extras, but torch or IPython bring them in any case, or (hypothesis) ask whether they are there.
BROUGHT = {"attention-course", "hypothesis", "jinja2", "markupsafe", "pygments", "setuptools"}

SCRIPT = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Blocked())

import grader
for room in ("cli", "exercises", "learner", "models", "report", "spec", "subject", "views"):
    package = importlib.import_module(f"grader.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)

from click.testing import CliRunner
from grader.cli.main import main

def first_steps(x):
    return 2 * x + 1

grader.check(first_steps)
for command in (["--version"], ["doctor"], ["progress"], ["autograde", ".", "01"], ["build"]):
    done = CliRunner().invoke(main, command)
    print("".join(f"{' '.join(command)} -> {done.exit_code} {line}\\n" for line in done.output.splitlines()))
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
"""


def blocked() -> set[str]:
    """What the extras add, by the name that is imported."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {Requirement(line).name for lines in extras.values() for line in lines} - BROUGHT
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def test_the_learners_part_works_and_the_others_say_what_to_install(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    (tmp_path / "source" / "01_self_attention").mkdir(parents=True)
    assert {"dask", "jupyterlab", "nbgrader", "nh3", "yaml"} <= blocked()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADER_PROGRESS": "off", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(sorted(blocked()))],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in (
        "first_steps: passed, 1 of 1 points",
        f"--version -> 0 grader {__version__}",
        "doctor -> 0 Everything is ready.",
        "progress -> 0 00_start_here",
    ):
        assert f"\n{line}" in f"\n{done.stdout}"
    for command, extra in (("autograde . 01", "teacher"), ("build", "dev")):
        (said,) = (line for line in done.stdout.splitlines() if line.startswith(f"{command} -> "))
        assert said.startswith(f"{command} -> 2 ")
        assert "is not installed" in said
        assert f"[{extra}]'" in said
