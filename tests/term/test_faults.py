"""Random terms find faults that earlier releases had, put in by hand, and each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase

from tests.term.faults import FAULTS
from tests.term.machine import RandomTerm, play

TERMS = 1000  # how soon one is met depends on the draws: in the first few hundred, as a rule


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen_in_a_thousand_terms(ready: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        play(ready, TERMS, phases=[Phase.generate])
    assert RandomTerm.number < TERMS
