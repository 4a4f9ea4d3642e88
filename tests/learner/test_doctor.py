"""`grader doctor`: what is so, and what to do if it should not be."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.learner import doctor as module
from grader.learner.doctor import Diagnosis, Finding, doctor


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    return path


def titled(title: str) -> list[Finding]:
    return [finding for finding in doctor().findings if finding.title == title]


def test_this_environment_is_ready():
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "Everything is ready.")


def test_a_missing_package_fails_and_says_what_to_do(monkeypatch):
    def version(name: str) -> str:
        if name == "nbgrader":
            raise metadata.PackageNotFoundError
        return metadata.distribution(name).version

    monkeypatch.setattr(module.metadata, "version", version)
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "1 thing to mend" in done.output
    assert "mend  Packages: missing: nbgrader" in done.output
    assert "Install the course again" in done.output


def test_another_version_is_only_noted(monkeypatch):
    right = metadata.version
    monkeypatch.setattr(module.metadata, "version", lambda name: "1.0" if name == "matplotlib" else right(name))
    (packages,) = titled("Packages")
    assert packages.word == "note"
    assert "matplotlib 1.0 (expected" in packages.detail


def test_an_old_python_is_told(monkeypatch):
    monkeypatch.setattr(module, "OLDEST", (sys.version_info[0] + 1, 0))
    assert "or newer" in titled("Python")[0].advice


def test_a_missing_extension_is_told(monkeypatch):
    monkeypatch.setattr(module, "EXTENSIONS", {"no-such-extension": "nothing"})
    assert [(f.word, f.detail) for f in titled("JupyterLab")] == [("mend", "no-such-extension is missing, nothing")]


def test_a_check_that_does_not_work_is_told(monkeypatch):
    monkeypatch.setattr("grader.exercises.registry.exercises", dict)
    (finding,) = titled("check")
    assert (finding.word, finding.detail) == ("mend", "KeyError: 'first_steps'")


@pytest.mark.parametrize(
    ("content", "word", "detail"),
    [(None, "ok", "will be kept in"), ("{}", "ok", "is kept in"), ("{", "note", "is damaged")],
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
    html = Diagnosis([Finding("Python", "3.11 <tag>"), Finding("Kernel", "another", "Do `this`.")])._repr_html_()
    assert "1 thing to mend" in html
    assert "3.11 &lt;tag&gt;" in html
    assert "<code>this</code>" in html
