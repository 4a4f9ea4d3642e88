"""`grader doctor`: what is so, and what to do if it should not be."""

from __future__ import annotations

import re
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.learner import doctor as module
from grader.learner import packages
from grader.learner.doctor import Diagnosis, Observation, doctor


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    return path


def titled(title: str) -> list[Observation]:
    return [finding for finding in doctor().findings if finding.title == title]


def test_this_environment_is_ready():
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "Everything is ready.")


def pretend(monkeypatch, package: str, installed: str | None) -> None:
    """Another version of a package, or none."""
    right = metadata.version

    def version(name: str) -> str:
        if name != package:
            return right(name)
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(packages.metadata, "version", version)


def test_a_missing_package_fails_and_says_what_to_do(monkeypatch):
    pretend(monkeypatch, "safetensors", None)
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "1 thing to fix" in done.output
    assert "fix   Packages: safetensors is missing" in done.output
    assert "Install the course again" in done.output


def test_a_version_outside_the_declared_range_fails(monkeypatch):
    pretend(monkeypatch, "matplotlib", "1.0")
    (finding,) = titled("Packages")
    assert finding.word == "fix"
    assert re.fullmatch(r"matplotlib 1\.0 is not >=[\d.]+", finding.detail)


@pytest.mark.parametrize("version", ["2030.1", "2030.1rc1", "2030.1+cpu"])
def test_any_version_inside_the_range_is_fine(monkeypatch, version):
    pretend(monkeypatch, "torch", version)
    assert [finding.word for finding in titled("Packages")] == ["ok"]


def test_extras_are_not_asked_for():
    assert not {"dask", "nh3", "pytest"} & {one.name for one in packages.requirements()}


def test_an_old_python_is_told(monkeypatch):
    monkeypatch.setattr(module, "OLDEST", (sys.version_info[0] + 1, 0))
    assert "or newer" in titled("Python")[0].advice


def test_without_jupyterlab_nothing_has_to_be_fixed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    (finding,) = titled("JupyterLab")
    assert (finding.word, finding.detail) == ("note", "is not installed")


def test_a_missing_extension_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab", sys)  # also where it isn't installed
    monkeypatch.setattr(module, "EXTENSIONS", {"no-such-extension": "nothing"})
    assert [(f.word, f.detail) for f in titled("JupyterLab")] == [("fix", "no-such-extension is missing, nothing")]


def test_a_check_that_does_not_work_is_told(monkeypatch):
    monkeypatch.setattr("grader.exercises.registry.exercises", dict)
    (finding,) = titled("check")
    assert (finding.word, finding.detail) == ("fix", "KeyError: 'first_steps'")


@pytest.mark.parametrize(
    ("content", "word", "detail"),
    [(None, "ok", "will be kept in"), ('{"exercises": {}}', "ok", "is kept in"), ("{", "note", "is damaged")],
)
def test_it_tells_where_progress_is_kept(kept, content, word, detail):
    if content is not None:
        kept.write_text(content)
    (finding,) = titled("Progress")
    assert finding.word == word
    assert detail in finding.detail


def test_progress_that_is_turned_off_is_noted(monkeypatch):
    monkeypatch.setenv("GRADER_PROGRESS", "off")
    assert titled("Progress")[0].word == "note"


def test_it_draws_itself():
    html = Diagnosis(
        [Observation("Python", "3.11 <tag>"), Observation("Kernel", "another", "Do `this`.")]
    )._repr_html_()
    assert "1 thing to fix" in html
    assert "3.11 &lt;tag&gt;" in html
    assert "<code>this</code>" in html
