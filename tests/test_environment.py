"""environment.yml, README.md and pyproject.toml name the same versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def disagreements(environment: str, project: str) -> list[str]:
    """What environment.yml has otherwise than pyproject.toml."""
    wanted = tomllib.loads(project)["project"]
    dependencies = yaml.safe_load(environment)["dependencies"]
    (of_pip,) = (entry["pip"] for entry in dependencies if isinstance(entry, dict))
    pins, rest = {pin for pin in of_pip if "==" in pin}, [entry for entry in of_pip if "==" not in entry]
    found = [f"differs: {pin}" for pin in sorted(pins ^ set(wanted["dependencies"]))]
    if rest != ["-e .[dev]"]:
        found.append(f"beside the pins: {rest}")
    (python,) = (entry for entry in dependencies if str(entry).startswith("python="))
    if wanted["requires-python"] != f">={python.removeprefix('python=')}":
        found.append(python)
    return found


def _texts() -> tuple[str, str]:
    return (ROOT / "environment.yml").read_text("utf-8"), (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_pins_agree():
    assert disagreements(*_texts()) == []


def test_every_runtime_dependency_is_pinned():
    for dependency in tomllib.loads(_texts()[1])["project"]["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+(; .+)?", dependency), dependency


def test_a_pin_that_differs_is_found():
    environment, project = _texts()
    assert disagreements(environment.replace("torch==", "torch==1"), project) == [
        "differs: torch==12.13.0",
        "differs: torch==2.13.0",
    ]
    assert disagreements(environment.replace("      - torch==2.13.0\n", ""), project) == ["differs: torch==2.13.0"]
    assert disagreements(environment.replace("python=3.11", "python=3.10"), project) == ["python=3.10"]
    assert disagreements(environment.replace(".[dev]", "."), project) == ["beside the pins: ['-e .']"]


def test_the_readme_names_the_pinned_torch():
    pins = re.findall(r"torch==[0-9.]+[0-9]", (ROOT / "README.md").read_text("utf-8"))
    assert pins
    assert set(pins) <= set(tomllib.loads(_texts()[1])["project"]["dependencies"])
