"""Mutants are derived from a model solution, run through its check, and settled one way or the other."""

from __future__ import annotations

import random

import pytest

from grader.authoring import mutant_runs
from grader.authoring.mutant_runs import Result, equivalent, run, run_all
from grader.authoring.mutants import Mutant, derive, mutants_of
from grader.authoring.mutations import Scope
from grader.exercises.registry import exercises

SEED, SAMPLE = 20, 2  # of every exercise
SOLUTION = '''
def scale(x, size=2):
    """Text."""
    return x.sum(dim=-1, keepdim=True) / size
'''


def changes(solution: str, **scope: bool) -> set[str]:
    return {mutant.change for mutant in mutants_of("scale", solution, Scope({"size": 7}, **scope))}


@pytest.mark.parametrize(
    "change",
    [
        "x.sum(dim=-1, keepdim=True) * size",
        "size / x.sum(dim=-1, keepdim=True)",
        "x.mean(dim=-1, keepdim=True) / size",
        "x.sum(dim=0, keepdim=True) / size",
        "x.sum(dim=-1) / size",
        "x.sum(keepdim=True) / size",
        "x.sum(dim=-1, keepdim=False) / size",
        "x / size",
        "x.sum(dim=-1, keepdim=True) / x",
        "x.sum(dim=-1, keepdim=True) / 7",
        "cut_gradient(x.sum(dim=-1, keepdim=True)) / size",
        "(x.sum(dim=-1, keepdim=True) / size).float()",
    ],
)
def test_small_changes_are_derived(change):
    line = "return x.sum(dim=-1, keepdim=True) / size"
    assert f"{line} → return {change}" in changes(SOLUTION, differentiable=True)


def test_defaults_statements_and_settings_are_changed_too():
    found = changes(SOLUTION, differentiable=True)
    assert {
        "def scale(x, size=2): → def scale(x, size=3):",
        "def scale(x, size=2): → def scale(x, size):",
        "return x.sum(dim=-1, keepdim=True) / size → pass",
        "(nothing) → torch.set_grad_enabled(False)",
        "(nothing) → @torch.no_grad()",
    } <= found


def test_no_gradient_is_cut_where_there_is_none():
    assert not any(
        "cut_gradient" in change or "no_grad" in change for change in changes(SOLUTION, differentiable=False)
    )


def test_a_change_is_told_from_another_one_of_the_same_text():
    twice = "def f(x):\n    x = x + 1\n    y = 2\n    x = x + 1\n    return x * y\n"
    named = [mutant.change for mutant in mutants_of("f", twice, Scope({}, False))]
    assert len(named) == len(set(named))
    assert "x = x + 1 → x = x - 1 (2)" in named


def mutant(source: str) -> Mutant:
    return Mutant("first_steps", "a change", f"import torch\nimport os\n{source}")


def test_a_mutant_is_checked():
    assert run(mutant("def first_steps(x):\n    return 2 * x + 1")) == Result(
        mutant("def first_steps(x):\n    return 2 * x + 1"), "survived"
    )
    assert run(mutant("def first_steps(x):\n    return 2 * x")).verdict in ("named", "unnamed")
    assert run(mutant("def first_steps(x):\n    return x.no_such_thing")).verdict == "general"
    assert run(mutant("def first_steps(x=nothing):\n    return x")).verdict == "general"
    assert run(mutant("def first_steps(x):\n    return 2 * x + cut_gradient(1)")) is None
    assert run(mutant("def first_steps(x):\n    return 2 * cut_gradient(x) + 1")).verdict == "general"


def test_mutants_that_die_or_never_end_are_found_and_hold_up_nothing(monkeypatch):
    monkeypatch.setattr(mutant_runs, "PATIENCE", 5.0)
    endless = "import threading\nthreading.Event().wait(60)" + "\ndef first_steps(x):\n    return x"
    ends = [mutant("os._exit(3)"), mutant(endless), mutant("def first_steps(x):\n    return 2 * x + 1")]
    assert [result.verdict for result in run_all(ends, jobs=1)] == ["general", "general", "survived"]


@pytest.fixture
def listed(monkeypatch):
    def listed(**entries):
        monkeypatch.setattr(mutant_runs, "equivalent", lambda: entries)

    return listed


def test_the_list_of_equivalent_mutants_is_checked(listed):
    listed(split_heads={"gone": "why", "killed": "why", "passes": "why"})
    results = [
        Result(Mutant("split_heads", "killed", ""), "named"),
        Result(Mutant("split_heads", "passes", ""), "survived"),
    ]
    gone, killed = mutant_runs.stale(["split_heads"], results)
    assert "split_heads no longer has this mutant: gone" in gone
    assert "the check of split_heads does not pass this mutant (named): killed" in killed


def test_a_survivor_that_is_not_listed_is_told_and_the_table_counts(listed):
    listed(split_heads={"passes": "why"})
    results = [
        Result(Mutant("split_heads", change, ""), verdict, helped)
        for change, verdict, helped in (
            ("passes", "survived", True),
            ("passes too", "survived", True),
            ("a", "named", True),
            ("b", "unnamed", False),
        )
    ]
    assert mutant_runs.unsettled(results) == ["survived: split_heads: passes too"]
    assert mutant_runs.without_help(results) == ["neither named nor given a hint: split_heads: b"]
    *_, total = mutant_runs.table(results).splitlines()
    counts = dict(zip(mutant_runs.COLUMNS, total.split()[1:], strict=True))
    assert counts == {
        "mutants": "4", "killed": "2", "named": "1", "general": "0", "unnamed": "1",
        "no help": "1", "equivalent": "1", "survived": "1", "by chance": "0", "broken": "0",
    }  # fmt: skip


def test_a_listed_mutant_that_some_inputs_show_is_no_fault(listed):
    """A base of 10001 is within the tolerance of most inputs."""
    listed(sinusoidal_encoding={"10000 → 10001": "why"})
    results = [Result(Mutant("sinusoidal_encoding", "10000 → 10001", ""), "by chance")]
    assert mutant_runs.stale(["sinusoidal_encoding"], results) == mutant_runs.unsettled(results) == []
    total = dict(zip(mutant_runs.COLUMNS, mutant_runs.table(results).split()[-len(mutant_runs.COLUMNS) :], strict=True))
    assert (total["equivalent"], total["by chance"], total["killed"]) == ("1", "0", "0")


def test_what_only_some_inputs_show_is_told(monkeypatch):
    """A number that the practice inputs happen to have, in place of an argument."""
    source = "def first_steps(x):\n    return 2 * x + 1 if x.shape[0] < 99 else x"
    assert run(mutant(source)).verdict == "survived"
    monkeypatch.setattr(mutant_runs, "_passes", lambda _mutant, course: course == 1)
    result = run(mutant(source))
    assert result.verdict == "by chance"
    assert mutant_runs.unsettled([result]) == ["by chance: first_steps: a change"]


def test_every_listed_mutant_exists_and_has_a_reason():
    for name, entries in equivalent().items():
        assert entries.keys() <= {mutant.change for mutant in derive(exercises()[name])}, name
        assert all(len(reason) > 10 for reason in entries.values()), name


@pytest.mark.parametrize("name", [name for name, exercise in exercises().items() if exercise.kind != "answers"])
def test_a_sample_of_mutants_is_found_or_listed(name):
    found = derive(exercises()[name])
    sample = random.Random(f"{SEED} {name}").sample(found, SAMPLE)
    results = [result for mutant in sample if (result := run(mutant)) is not None]
    assert mutant_runs.unsettled(results) == []
