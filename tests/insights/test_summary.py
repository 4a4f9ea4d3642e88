"""A class's results, counted, and shown as text and as a page."""

from __future__ import annotations

import re

import pytest

from grader.insights.page import LessonInsights, as_html, as_text, table
from grader.insights.similarity import Pair
from grader.insights.summary import summarise
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult, PartResult


def result(first: float, second: float, diagnosis: str | None = None) -> SubmissionResult:
    """A submission: an exercise of 2 points in one part, and one of 3 points, 1 for the shape and 2 for the values."""
    return SubmissionResult(
        (
            ExerciseResult("easy", 2, first, (PartResult("values", first == 1, 1.0),), diagnosis, "Swapped."),
            ExerciseResult(
                "hard",
                3,
                second,
                (PartResult("shape", second > 0, 0.2), PartResult("values", second == 1, 0.4)),
            ),
        )
    )


CLASS = [result(1, 1), result(1, 1 / 3), result(0, 0, "scores-transposed"), result(0, 1, "scores-transposed")]
LESSON = LessonInsights("01_self_attention", summarise(CLASS), (Pair("<b>ann</b>", "bob", 0.97),))


def test_summary_counts_points_and_parts():
    summary = summarise(CLASS)
    assert (summary.graded, summary.full, summary.points) == (4, 1, 5)
    assert summary.mean == pytest.approx((5 + 3 + 0 + 3) / 4)
    easy, hard = summary.exercises
    assert (easy.mean, easy.full, easy.none, easy.success) == (1, 0.5, 0.5, 0.5)
    assert hard.mean == pytest.approx(7 / 4)
    assert [(part.name, part.points, part.passed) for part in hard.parts] == [("shape", 1, 0.75), ("values", 2, 0.5)]


def test_summary_counts_mistakes_by_name():
    [row] = summarise(CLASS).mistakes
    assert (row.exercise, row.mistake, row.symptom, row.count) == ("easy", "scores-transposed", "Swapped.", 2)


def test_a_mistake_that_comes_from_an_earlier_exercise_is_counted_there():
    later = ExerciseResult("hard", 3, 0.0, diagnosis="scores-transposed", first_fix="easy")
    [row] = summarise([SubmissionResult((result(0, 0, "scores-transposed").exercises[0], later))]).mistakes
    assert (row.exercise, row.count) == ("easy", 1)


def test_a_submission_without_parts_counts_against_each_part():
    nothing = SubmissionResult(
        (ExerciseResult("easy", 2, 0.0), ExerciseResult("hard", 3, 0.0)), unreadable="The file is empty."
    )
    summary = summarise([result(1, 1), nothing])
    assert summary.unreadable == 1
    assert [part.passed for row in summary.exercises for part in row.parts] == [0.5, 0.5, 0.5]


def test_no_submissions_are_no_error():
    summary = summarise([])
    assert summary.graded == 0
    assert summary.exercises == ()
    assert "0 graded" in table(summary)


def test_text_shows_the_class_at_a_glance():
    text = as_text(LESSON)
    assert text.startswith("4 graded, 1 with full marks, on average 2.75 of 5 points\n")
    assert re.search(r"^hard +3 +1\.75 +50 % +25 % +58 %$", text, re.MULTILINE)
    assert re.search(r"^  shape +1 +75 %$", text, re.MULTILINE)
    assert re.search(r"^ +2  scores-transposed +easy$", text, re.MULTILINE)
    assert "reason to look, not a verdict" in text


def test_names_are_left_out_unless_asked_for():
    assert LESSON.without_names().pairs == (Pair("submission 1", "submission 2", 0.97),)
    page = as_html("Insights", [LESSON.without_names()], names=False)
    assert "bob" not in page
    assert "--names" in page


def test_page_is_self_contained_and_escapes_what_students_wrote():
    page = as_html("Insights", [LESSON], names=True)
    assert "&lt;b&gt;ann&lt;/b&gt;" in page
    assert "<b>ann" not in page
    assert not re.search(r"<script|<link|<img|src=|https?://|@import|url\(", page)
