"""Random terms: what a course holds is what the model of `tests/term/model.py` says, step by step."""

from __future__ import annotations

import os
from pathlib import Path

from tests.term.machine import play

TERMS = int(os.environ.get("FUZZ_ROUNDS", 800)) // 4  # `make fuzz` asks for 20,000 rounds


def test_random_terms(ready: Path) -> None:
    play(ready, TERMS)
