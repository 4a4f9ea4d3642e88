"""What feedback shows of the gradebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbgrader import api


@dataclass(frozen=True)
class CellMark:
    """A mark of one cell."""

    score: float
    points: float  # the most there are
    extra: float  # points of extra credit among the score
    by_hand: bool  # a teacher gave it
    waits: bool  # a teacher is still to look at it


@dataclass(frozen=True)
class FeedbackMarks:
    """What feedback shows of the gradebook for one notebook."""

    marks: dict[str, CellMark]  # by grade_id
    comments: dict[str, tuple[str, str]]  # by grade_id the judge's and the teacher's
    penalty: float  # in points
    late: str = ""  # in words by how much it is late, and whether the due date was moved

    def take(self, row: Any) -> None:
        """Take in one row (a grade or a comment) of the gradebook."""
        if isinstance(row, api.Comment):
            self.comments[row.name] = (row.auto_comment or "", row.manual_comment or "")
            return
        by_hand, waits = row.manual_score is not None, bool(row.needs_manual_grade)
        self.marks[row.name] = CellMark(row.score or 0.0, row.max_score or 0.0, row.extra_credit or 0.0, by_hand, waits)

    @property
    def score(self) -> float:
        """The points earned, without the late penalty, as `nbgrader` has it too."""
        return round(sum(mark.score for mark in self.marks.values()), 2)

    @property
    def points(self) -> float:
        """The points that all cells together are worth."""
        return sum(mark.points for mark in self.marks.values())

    def __str__(self) -> str:
        """A text that is the same for the same marks, comments and penalty, from which a digest is made."""
        late = (self.late,) if self.late else ()
        return repr((sorted(self.marks.items()), sorted(self.comments.items()), self.penalty, *late))
