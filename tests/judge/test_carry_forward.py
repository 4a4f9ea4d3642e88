"""An exercise that fails only because an earlier one does, under each of a course's settings."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from grader.exercises.registry import exercises
from grader.judge.limits import MIB, Limits
from grader.judge.outline import Outline
from grader.judge.words import as_html, as_text
from tools import notebooks as nb

LIMITS = Limits(check_seconds=20, cell_seconds=20, submission_seconds=120, memory=512 * MIB)
SWAPPED = "def attention_scores(query, key):\n    return key @ query.transpose(-2, -1)"
CALLS = (
    "def scaled_dot_product_attention(query, key, value):\n"
    "    weights = stable_softmax(attention_scores(query, key) / query.shape[-1] ** 0.5)\n    return weights @ value, weights"
)
SUMS_ROWS = CALLS.replace("weights @ value, weights", "weights.sum(-1, keepdim=True) * value, weights")
SPIES = (
    CALLS.replace(
        "    weights =", "    import inspect\n    print('THE CODE', attention_scores.__code__.co_names)\n    weights ="
    )
    + "\n    # prints what it finds"
)


@pytest.fixture
def carried(judge):
    outline = Outline.of(nb.instructor())

    def run(setting: str, scores: str = SWAPPED, attend: str = CALLS, limits: Limits = LIMITS):
        data = nb.submission(attention_scores=scores, scaled_dot_product_attention=attend)
        more = {"outline": outline, "limits": limits, "known": exercises(), "carry_forward": setting}
        return judge(data, **more)["scaled_dot_product_attention"]

    return run


def test_course_decides_what_counts(carried):
    none, half, full = (carried(setting) for setting in ("none", "half", "full"))
    assert none.first_fix == "attention_scores"
    assert none.carried == 0 < none.score < 1 or none.score == 0
    assert full.score == 1
    assert half.score == pytest.approx((none.score + 1) / 2)
    assert full.carried_with == ("attention_scores",)
    for told in (as_text(full), as_html(full)):
        assert "attention_scores" in told
        assert f"adds {round(3 * full.carried, 2):g} to the points" in told
    assert none.parts == full.parts  # what failed is told as it was


def test_mistake_of_its_own_still_costs(carried):
    own, both = carried("full", attend=SUMS_ROWS, scores=SWAPPED), carried("none", attend=SUMS_ROWS, scores=SWAPPED)
    assert both.score <= own.score < 1


def test_what_is_printed_beside_the_courses_solution_is_not_shown(carried):
    seen, plain = carried("full", attend=SPIES), carried("none", attend=SPIES)
    assert seen.score == 1
    assert seen.output == plain.output


def test_a_second_run_has_what_time_the_first_one_left(carried):
    """By the clock, as the first: with a limit of its own it would get through its sleep once more."""
    limits = replace(LIMITS, submission_seconds=3.0, patience=3.0)
    began = time.monotonic()
    assert carried("full", scores=f"import time\ntime.sleep(5)\n{SWAPPED}", limits=limits).carried == 0
    assert time.monotonic() - began < limits.longest + 2
