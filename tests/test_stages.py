"""The runner of `make test` fails when a stage does, runs the rest all the same, and says so."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests import stages

ROOT = Path(__file__).parents[1]
FAILS = [sys.executable, "-c", "raise SystemExit(3)"]
WORKS = [sys.executable, "-c", "print('fine')"]


@pytest.fixture
def two_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "STAGES", {"first": [FAILS, WORKS], "second": [WORKS]})


def test_a_failing_stage_fails_the_whole_and_the_rest_still_runs(two_stages, capsys: pytest.CaptureFixture[str]):
    assert stages.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("fine") == 2
    assert lines[-1].startswith("=== stages failed: first; tests: none in ")


def test_stages_can_be_run_by_name(two_stages, capsys: pytest.CaptureFixture[str]):
    assert stages.main(["second"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("=== all 1 stages passed")


def test_stages_beside_each_other_are_shown_one_after_the_other(two_stages, monkeypatch, capsys):
    monkeypatch.setattr(stages, "BESIDE", ("first", "second"))
    assert stages.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in ("=== first ===", "fine", "=== second ===")] == [
        "=== first ===", "fine", "=== second ===", "fine",
    ]  # fmt: skip


def test_what_others_need_comes_first(two_stages, monkeypatch, capsys):
    monkeypatch.setattr(stages, "FIRST", ("second",))
    assert stages.main([]) == 1
    shown = capsys.readouterr().out
    assert shown.index("=== second ===") < shown.index("=== first ===")


def test_an_unknown_stage_is_a_usage_error(two_stages, capsys: pytest.CaptureFixture[str]):
    assert stages.main(["third"]) == 2
    assert "no stage 'third'; there are: first, second" in capsys.readouterr().err


def test_a_failing_test_shows_in_the_counts_and_by_name(tmp_path: Path):
    (tmp_path / "test_it.py").write_text("def test_a(): assert 0\ndef test_b(): pass\n")
    (tmp_path / "pytest.ini").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")]
    command.append(str(tmp_path))
    outcome = stages.run_stage([command])
    assert outcome.failed
    assert outcome.counts == Counter(failed=1, passed=1)
    *_, fault, last = stages.report({"unit": outcome}, 1.0).splitlines()
    assert fault.startswith("unit: FAILED ")
    assert fault.endswith("test_it.py::test_a - assert 0")
    assert last == "=== stages failed: unit; tests: 1 failed, 1 passed in 1.0s ==="


def test_many_failures_are_cut_short():
    outcome = stages.Outcome(failed=True, faults=[f"FAILED test_{i}" for i in range(stages.SHOWN + 2)])
    lines = stages.report({"unit": outcome}, 1.0).splitlines()
    assert lines[-3:-1] == [f"unit: FAILED test_{stages.SHOWN - 1}", "unit: and 2 more"]


@pytest.mark.timeout(60)
def test_a_run_that_is_terminated_leaves_no_program_behind(tmp_path: Path):
    mark = tmp_path / "ended"
    inside = "import pathlib, sys, time\ntry:\n    print('runs', flush=True)\n    time.sleep(50)\n"
    inside += f"finally:\n    pathlib.Path({str(mark)!r}).touch()"
    code = f"""import signal, sys
from tests import stages
signal.signal(signal.SIGTERM, stages.end_with_children)
stages.run_stage([[sys.executable, "-c", {inside!r}]], lambda line: print(line, flush=True))"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert any(line == "runs\n" for line in run.stdout)
        run.terminate()
        assert run.wait() == 143
    while not mark.exists():
        time.sleep(0.05)


def test_continuous_integration_runs_what_developers_run():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert {"make test", "make test-more"} <= set(lines)
    assert "- run: .ci/run\n" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_outputs_are_compared_as_anybody_would(monkeypatch):
    command, *more = stages.STAGES["outputs"]
    assert command[:4] == ["pytest", "--nbval", "solutions", "notebooks"]
    assert {part for part in command[4:] if part.startswith("-")} <= {"-n", "--dist"}
    assert not more
    monkeypatch.setattr(stages.os, "environ", {"PATH": "/bin"})
    assert list(stages.variables(plain=True)) == ["PATH"]
    assert stages.PLAIN == ("outputs",)
    workflow = (ROOT / "deploy" / "course-ci.yml").read_text()
    assert ".venv/bin/python -m pytest -q --nbval\n" in workflow
    assert "env:" not in workflow


def test_the_command_line_answers_from_anywhere(tmp_path: Path):
    grader = Path(sys.executable).parent / "grader"
    done = subprocess.run([grader, "build", "--check"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "isn't in the course's repository" in done.stderr
    assert subprocess.run([grader, "build", "--jobs", "0"], cwd=ROOT, capture_output=True).returncode == 2


def test_no_folder_of_ours_is_left_out(pytestconfig: pytest.Config):
    """pytest passes over folders named build unless told, which ours are."""
    patterns = pytestconfig.getini("norecursedirs")
    folders = [path.parent for root in ("grader", "tests") for path in (ROOT / root).rglob("*.py")]
    assert not [folder for folder in folders if any(folder.match(pattern) for pattern in patterns)]
