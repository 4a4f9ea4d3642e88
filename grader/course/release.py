"""What nbgrader knows of a released notebook: its graded cells, and which exercise each belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHECK = "-check"  # how the grade_id of an exercise's check cell ends


def exercise_of(grade_id: str) -> str:
    """The name of the exercise that a check's cell belongs to; of a teacher's own cell its grade_id."""
    return grade_id.removesuffix(CHECK)


@dataclass(frozen=True)
class Release:
    """What the gradebook says of the released notebook: it has the last word on points and locked text. `cells` has by
    grade_id `checksum`, `locked`, `source`, and `points` where there are any."""

    kernelspec: Mapping[str, Any] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def points(self) -> dict[str, float]:
        """The points that each exercise is worth in this course, by name."""
        ends = len(CHECK)
        found = {name[:-ends]: cell.get("points") for name, cell in self.cells.items() if name.endswith(CHECK)}
        return {name: points for name, points in found.items() if points is not None}
