"""Checks that name the mistake a student made: `from grader import check`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.checking import check
    from grader.originals import reset, solution
    from grader.report import Report
    from grader.specimens.attentions import broken_attentions
    from grader.specimens.dates import trained_dates

__all__ = ["Report", "broken_attentions", "check", "reset", "solution", "trained_dates"]

_PLACES = {
    "check": "checking",
    "reset": "originals",
    "solution": "originals",
    "Report": "report",
    "broken_attentions": "specimens.attentions",
    "trained_dates": "specimens.dates",
}


def __getattr__(name: str) -> Any:
    """Imported when first asked for: `grader --help` should not wait for torch."""
    if name not in _PLACES:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    return getattr(importlib.import_module(f"grader.{_PLACES[name]}"), name)
