"""pyproject.toml, requirements.lock, environment.yml, README.md, CI and CHANGELOG.md agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import grader

ROOT = Path(__file__).parents[1]
INSTALLERS = ["environment.yml", "release/student/environment.yml", "release/teacher/environment.yml"]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


PROJECT = tomllib.loads(text("pyproject.toml"))
DECLARED = {
    "": PROJECT["project"]["dependencies"],
    **PROJECT["project"]["optional-dependencies"],
}


def locked() -> list[Requirement]:
    return [Requirement(line) for line in text("requirements.lock").splitlines() if not line.startswith("#")]


def unfit(declared: list[str], lock: list[Requirement]) -> list[str]:
    """What is declared and not locked, or locked in a version outside its range."""
    versions = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in lock}
    found = []
    for requirement in map(Requirement, declared):
        version = versions.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version):
            found.append(f"{requirement.name}: {version}")
    return found


@pytest.mark.parametrize("extra", DECLARED)
def test_the_lock_fits_what_is_declared(extra):
    assert unfit([line for line in DECLARED[extra] if not line.startswith("attention-course")], locked()) == []


def test_a_lock_that_does_not_fit_is_found():
    lock = [Requirement("torch==2.0.0"), Requirement("numpy==2.0.0")]
    assert unfit(["torch>=2.5", "numpy>=1.26", "click>=8.1"], lock) == ["torch: 2.0.0", "click: None"]


def test_the_lock_has_exact_versions_and_no_address():
    for requirement in locked():
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", str(requirement.specifier)), requirement
        assert requirement.url is None
    assert "://" not in text("requirements.lock")
    assert "--" not in text("requirements.lock")


def test_every_range_has_a_lower_end_to_test_and_no_upper_end():
    for lines in DECLARED.values():
        for line in lines:
            operators = [one.operator for one in Requirement(line).specifier]
            assert operators == ([] if line.startswith("attention-course") else [">="]), line


@pytest.mark.parametrize("name", INSTALLERS)
def test_conda_installs_with_the_lock_and_repeats_no_version(name):
    dependencies = yaml.safe_load(text(name))["dependencies"]
    (of_pip,) = (entry["pip"] for entry in dependencies if isinstance(entry, dict))
    (python,) = (entry for entry in dependencies if str(entry).startswith("python="))
    lock, small_torch, course = of_pip
    assert lock == "-c requirements.lock"
    index = PROJECT["tool"]["attention-course"]["torch-cpu-index"]
    assert small_torch in (f"--extra-index-url {index}", "--extra-index-url {index}")
    assert not re.search(r"==|>=", course)
    assert PROJECT["project"]["requires-python"] == f">={python.removeprefix('python=')}"


@pytest.mark.parametrize("name", ["README.md", ".github/workflows/ci.yml", "deploy/course-ci.yml"])
def test_the_address_of_the_cpu_build_is_the_declared_one(name):
    addresses = re.findall(r"https://download\.pytorch\.org[^\s`]*", text(name))
    assert addresses
    assert {address.rstrip(".") for address in addresses} == {PROJECT["tool"]["attention-course"]["torch-cpu-index"]}


def test_the_version_has_an_entry_in_the_changelog():
    entries = re.findall(r"(?m)^## \[([^\]]+)\] - (?:unreleased|\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"))
    assert entries[0] == grader.__version__
    assert len(entries) == len(set(entries))
