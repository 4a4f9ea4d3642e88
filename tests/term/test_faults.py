"""Random terms find faults that earlier releases had, put in by hand, and each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase

from tests.term.faults import FAULTS
from tests.term.machine import RandomTerm, play
from tests.term.test_fuzz_terms import TERMS


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen_in_fewer_terms_than_make_test_plays(
    ready: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        play(ready, TERMS, phases=[Phase.generate])
    assert RandomTerm.number < TERMS
