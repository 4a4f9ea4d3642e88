"""What being late costs, by a course's own rule too."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from nbgrader.plugins import LateSubmissionPlugin
from traitlets.config import Config

from grader.course.lateness import late_penalty, seconds_late

DUE = datetime(2026, 11, 10, 12, 0)


class Rule(LateSubmissionPlugin):
    """Takes off what the test says, whatever that is."""

    costs: float = 0.0

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return self.costs


@pytest.mark.parametrize(
    ("handed_in", "late"), [(DUE, 0), (DUE - timedelta(days=1), 0), (DUE + timedelta(minutes=5), 300), (None, 0)]
)
def test_by_how_much(handed_in, late):
    assert seconds_late(handed_in, DUE) == late
    assert seconds_late(handed_in, None) == 0


@pytest.mark.parametrize(
    ("costs", "late", "penalty"),
    [(2.5, 60, 2.5), (1e9, 60, 10.0), (-5.0, 60, 0.0), (2.5, 0, None), (None, 60, None)],
)
def test_a_course_s_own_rule_takes_nothing_that_is_not_there_and_gives_nothing(monkeypatch, costs, late, penalty):
    monkeypatch.setattr(Rule, "costs", costs)
    config = Config({"AssignLatePenalties": {"plugin_class": Rule}})
    assert late_penalty("ann", 10.0, late, config) == penalty
