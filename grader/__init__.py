"""Checks that name the mistake a student made: `from grader import check`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.languages import language
    from grader.learner.check import check
    from grader.learner.interrupted import Stopped
    from grader.learner.memory import peak_bytes
    from grader.learner.predict import compare_guess, predict
    from grader.learner.reads import show_reads
    from grader.learner.starter_code import reset, solution
    from grader.learner.tables import draw_attention, draw_table, show
    from grader.learner.yours import use_yours
    from grader.models.attentions import broken_attentions
    from grader.models.dates import trained_dates
    from grader.models.sweeps import sweep
    from grader.report import Report

__version__ = "0.2.0"

__all__ = [
    "Report",
    "Stopped",
    "broken_attentions",
    "check",
    "compare_guess",
    "draw_attention",
    "draw_table",
    "language",
    "peak_bytes",
    "predict",
    "reset",
    "show",
    "show_reads",
    "solution",
    "sweep",
    "trained_dates",
    "use_yours",
]

_PLACES = {
    "check": "learner.check",
    "compare_guess": "learner.predict",
    "draw_attention": "learner.tables",
    "draw_table": "learner.tables",
    "language": "languages",
    "peak_bytes": "learner.memory",
    "predict": "learner.predict",
    "reset": "learner.starter_code",
    "show": "learner.tables",
    "show_reads": "learner.reads",
    "solution": "learner.starter_code",
    "Report": "report",
    "Stopped": "learner.interrupted",
    "broken_attentions": "models.attentions",
    "sweep": "models.sweeps",
    "trained_dates": "models.dates",
    "use_yours": "learner.yours",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `grader --help` should not wait for torch. AttributeError for
    any other."""
    if name not in _PLACES:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    return getattr(importlib.import_module(f"grader.{_PLACES[name]}"), name)
