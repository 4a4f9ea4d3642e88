"""The report that `check` returns: what was found, written as text and drawn in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.report.data import ReportData
from grader.report.html import as_html
from grader.report.text import as_text


@dataclass(frozen=True, repr=False)
class Report(ReportData):
    """The result of a check (see `ReportData`), which shows itself."""

    _display: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        state = "passed" if self.passed else "not passed"
        return f"<Report {self.exercise}: {state}, {self.mark:g} of {self.points:g} points>"

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        return {"text/plain": as_text(self), "text/html": as_html(self)}

    def _ipython_display_(self) -> None:
        """Draw it, but not twice: `check` has drawn it already when it is the last expression of a cell."""
        if self._display.pop("drawn", False):
            return
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)


class CheckFailed(AssertionError):
    """Raised after the report is shown where a cell must fail for its failure to count: nbgrader's own execution."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]
