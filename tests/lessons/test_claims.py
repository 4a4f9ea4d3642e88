"""The claims of the lessons and their entries in benchmarks/claims.py. `make claims` runs them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import claims
from grader.authoring.lesson import read_folder

FOUND = claims.claims_of(read_folder(claims.ROOT / "lessons"))
QUICK = "small_matrices_average"  # nothing is trained for it


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
    figures = as_it_is.split("(")[0].split()[4:]
    assert len(figures) == 2 * len(claims.SEEDS)
    assert len(set(figures)) > len(claims.SEEDS)
    assert lines[-1] == "1 claims, 0 lines fail"


def test_a_line_that_fails_is_told_and_gives_exit_code_1(capsys, monkeypatch):
    wrong = replace(claims.CLAIMS[QUICK], holds=lambda most, least: most < 0.28 and least > 0.23)
    monkeypatch.setitem(claims.CLAIMS, QUICK, wrong)
    monkeypatch.setattr("sys.argv", ["claims.py", QUICK])
    assert claims.main() == 1
    shown = capsys.readouterr().out
    assert "FAILS  as it is" in shown
    assert "holds  half as large" in shown


def test_an_unknown_claim_is_told(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims.py", "nothing_of_this_name"])
    assert claims.main() == 2
    assert "no such claim: nothing_of_this_name" in capsys.readouterr().err


def test_an_edit_without_its_text_is_an_error():
    with pytest.raises(ValueError, match="no cell of this claim holds 'depth=1000'"):
        claims.edited(claims.cells_for(*FOUND[QUICK]), {"depth=1000": "depth=1"})
