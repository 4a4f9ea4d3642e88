"""The claims of the lessons and their entries in benchmarks/claims_by_lesson/. `make claims` runs them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from benchmarks import claims, sweeps
from grader.authoring.lesson import read_folder
from grader.models.robot import Layer, Reader, robot_sentences, train
from grader.models.sweeps import Measured, sweep

FOUND = claims.claims_of(read_folder(claims.ROOT / "lessons"))
QUICK = "small_matrices_average"  # nothing is trained for it
TRAINS = ("torch.optim.", "learn_to_read(")


def test_every_claim_has_an_entry_and_every_entry_a_claim():
    assert set(FOUND) == set(claims.CLAIMS)


def test_a_claims_name_stands_in_one_cell():
    cells = [cell.claim for lesson in read_folder(claims.ROOT / "lessons").values() for cell in lesson.cells]
    assert sorted(filter(None, cells)) == sorted(FOUND)


@pytest.mark.parametrize("name", sorted(claims.CLAIMS))
def test_every_edit_finds_its_text(name):
    cells = claims.cells_for(*FOUND[name])
    assert cells[-1].claim == name
    for edit in claims.CLAIMS[name].edits.values():
        assert claims.edited(cells, edit) != claims.edited(cells, {})


def test_a_claim_runs_with_other_seeds_and_edits(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims.py", QUICK])
    assert claims.main() == 0
    lines = capsys.readouterr().out.splitlines()
    as_it_is = next(line for line in lines if "as it is" in line)
    figures = as_it_is.split()[5:]
    assert len(figures) == 2 * len(claims.SEEDS)
    assert len(set(figures)) > len(claims.SEEDS)
    assert lines[-1] == "1 claims, 0 lines fail"


def test_claims_of_a_lesson_share_their_runs(capsys, monkeypatch):
    asked = ["variance_is_the_width", "unscaled_rows_saturate", "rand_is_sharp"]  # nothing is trained for them
    runs = []
    run = claims.run
    monkeypatch.setattr(claims, "run", lambda sources, seed, *after: (runs.append(seed), run(sources, seed, *after)))
    monkeypatch.setattr("sys.argv", ["claims.py", *asked])
    assert claims.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if "as it is" in line] == asked
    edits = 1 + sum(len(claims.CLAIMS[name].edits) for name in asked)  # one of them runs on two threads, too
    assert len(runs) == len(claims.SEEDS) + edits * len(claims.OF_AN_EDIT)


@pytest.mark.parametrize("number", ["01", "08", "11"])
def test_claims_together_need_what_each_needs(number):
    places = [place for lesson, place in FOUND.values() if lesson.number == number]
    lesson = next(lesson for lesson, _ in FOUND.values() if lesson.number == number)
    each = {id(cell) for place in places for cell in claims.cells_for(lesson, place)}
    assert {id(cell) for cell in claims.cells_for(lesson, *places)} == each


def test_a_line_that_fails_is_told_and_gives_exit_code_1(capsys, monkeypatch):
    wrong = replace(claims.CLAIMS[QUICK], holds=lambda most, least: most < 0.28 and least > 0.23)
    monkeypatch.setitem(claims.CLAIMS, QUICK, wrong)
    monkeypatch.setattr("sys.argv", ["claims.py", QUICK])
    assert claims.main() == 1
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith(f"FAILS {QUICK} as it is") for line in shown)
    assert any(line.startswith(f"holds {QUICK} half as large") for line in shown)


def test_an_unknown_claim_is_told(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims.py", "nothing_of_this_name"])
    assert claims.main() == 2
    assert "no such claim: nothing_of_this_name" in capsys.readouterr().err


def test_an_edit_without_its_text_is_an_error():
    with pytest.raises(ValueError, match="no cell of this claim holds 'depth=1000'"):
        claims.edited(claims.cells_for(*FOUND[QUICK]), {"depth=1000": "depth=1"})


def is_fair(name: str) -> bool:
    """Whether a claim trains nothing, compares at several rates, says that it compares something else than ways of
    learning, or why no rate could overturn it."""
    trains = any(word in cell.source for cell in claims.cells_for(*FOUND[name]) for word in TRAINS)
    claim = claims.CLAIMS[name]
    return not trains or bool(claim.sweep or claim.compares or claim.any_rate)


@pytest.mark.parametrize("name", sorted(claims.CLAIMS))
def test_a_claim_that_compares_does_so_at_several_rates(name):
    assert is_fair(name)


def test_a_claim_without_its_comparison_is_noticed(monkeypatch):
    assert is_fair("pre_norm_goes_deep")
    monkeypatch.setitem(claims.CLAIMS, "pre_norm_goes_deep", replace(claims.CLAIMS["pre_norm_goes_deep"], sweep=""))
    assert not is_fair("pre_norm_goes_deep")


def test_every_comparison_belongs_to_a_claim_and_is_stored():
    assert {claim.sweep for claim in claims.CLAIMS.values() if claim.sweep} == set(sweeps.SWEEPS)


@pytest.mark.parametrize("name", sorted(sweeps.SWEEPS))
def test_a_comparison_gives_every_way_five_rates_and_three_starts(name):
    asked, stored = sweeps.SWEEPS[name], sweep(name)
    assert len(asked.ways) >= 2
    assert len(asked.rates) >= 5
    assert max(asked.rates) >= 30 * min(asked.rates)
    assert (stored.ways, stored.rates, stored.steps) == (tuple(asked.ways), asked.rates, asked.steps)
    assert [[len(starts) for starts in row] for row in stored.figures] == [[3] * len(asked.rates)] * len(asked.ways)


@pytest.mark.parametrize("name", sorted(sweeps.SWEEPS))
def test_what_is_stored_is_what_is_concluded(name):
    assert sweeps.SWEEPS[name].holds(sweep(name))


def test_a_comparison_turned_round_does_not_hold():
    stored = sweep("deep_towers")
    turned = Measured(stored.ways, stored.rates, stored.steps, stored.figures[::-1], stored.more_is_better)
    assert not sweeps.SWEEPS["deep_towers"].holds(turned)


def test_a_schedule_is_a_part_of_the_rate():
    names = sweeps.of_solutions("context_vectors")()
    ids, nouns, *_ = robot_sentences()
    batch = ids[:8].expand(1, 8, 12), nouns[:8].expand(1, 8)

    def last_loss(rate: float, schedule: Callable[[float], float]) -> float:
        torch.manual_seed(0)
        reader = Reader(Layer(names["context_vectors"]))
        task = replace(sweeps.ROBOT, schedule=schedule)
        return sweeps.train_together([reader], [rate], lambda: batch, task, 4)[1][0]

    assert last_loss(0.03, lambda done: 0.1) == pytest.approx(last_loss(0.003, lambda done: 1), abs=1e-6)
    # The loss is that before the last of the four steps, at which three quarters are done.
    assert last_loss(0.03, lambda done: float(done < 0.75)) == last_loss(0.03, lambda done: 1)
    assert last_loss(0.03, lambda done: float(done < 0.5)) != last_loss(0.03, lambda done: 1)


def test_training_side_by_side_is_training_one_after_another():
    names = sweeps.of_solutions("context_vectors")()
    rates = (0.003, 0.03)

    def model() -> Reader:
        torch.manual_seed(0)
        return Reader(Layer(names["context_vectors"]))

    def alone(reader: Reader, rate: float) -> float:
        adam = torch.optim.Adam(reader.parameters(), rate)
        return train(adam, lambda: F.cross_entropy(reader(ids[:8]), nouns[:8]), 4)[-1]

    ids, nouns, *_ = robot_sentences()
    batch = ids[:8].expand(2, 8, 12), nouns[:8].expand(2, 8)
    _, together = sweeps.train_together([model(), model()], rates, lambda: batch, sweeps.ROBOT, 4)
    for rate, last in zip(rates, together, strict=True):
        assert alone(model(), rate) == pytest.approx(last, abs=1e-5)
