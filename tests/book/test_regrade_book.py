"""What results would change in a gradebook, what a teacher gives by hand, and the way back: asked of one in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nbgrader import api
from sqlalchemy.exc import OperationalError

from grader.book import regrade_book
from grader.book.rebuild import OwnCell
from grader.book.regrade_book import RegradeBook
from grader.errors import GradebookUnavailable
from tests.book.in_memory import (
    DUE,
    LESSON,
    OTHER,
    comments,
    config,
    entry,
    gradebook_in_memory,
    grades,
    result,
    row,
)

HOUR = timedelta(hours=1)
ESSAY = {"essay": OwnCell(None, unanswered=False)}


def opened(monkeypatch, book, lesson=LESSON, **settings) -> RegradeBook:
    monkeypatch.setattr("grader.book.gradebook.api.Gradebook", lambda _url, _course: book)
    return RegradeBook("sqlite://", "attention", lesson, config(**settings))


@pytest.fixture
def lesson(monkeypatch, book):
    """ann has 5 points of 7, bo nothing yet; a day late costs 10 %."""
    made = opened(monkeypatch, book, percent_a_day=10)
    made.store([entry("ann", result(0.5, 1.0)), entry("bo", result(0.0, 0.0), own=ESSAY)])
    return made


def everything(book, *people):
    return {who: (grades(book, who), comments(book, who), row(book, who).late_submission_penalty) for who in people}


# --- what would change ------------------------------------------------------------------------------------------------


def test_a_trial_says_what_would_change_and_changes_nothing(book, lesson):
    before = everything(book, "ann", "bo")
    diff = lesson.trial([entry("bo", result(1.0, 0.0), own=ESSAY)], {})
    assert {who: (diff.before[who].score, diff.after[who].score) for who in ("ann", "bo")} == {
        "ann": (5.0, 5.0),
        "bo": (0.0, 4.0),
    }
    assert {*diff.rows_before} == {*diff.rows_after} == {"bo"}
    assert diff.rows_before["bo"]["grade"]["a-check"] == [0.0, None, False]
    assert diff.rows_after["bo"]["grade"]["a-check"] == [4.0, None, False]
    assert diff.rows_before["bo"]["comment"]["a"] == ["0 of 10 points.", None]
    assert diff.rows_after["bo"]["comment"]["a"] == ["10 of 10 points.", None]
    assert diff.rows_before["bo"]["grade"]["essay"] == [None, None, True]
    book.db.commit()
    assert everything(book, "ann", "bo") == before


def test_lateness_that_changed_since_is_on_both_sides_of_a_trial(book, lesson):
    diff = lesson.trial([entry("ann", result(1.0, 1.0), None)], {"ann": DUE + HOUR})
    assert (diff.before["ann"].score, diff.before["ann"].penalty) == (4.5, 0.5)
    assert (diff.after["ann"].score, diff.after["ann"].penalty) == (6.3, 0.7)
    assert row(book, "ann").late_submission_penalty is None


def test_the_rows_of_those_who_handed_in(lesson):
    assert {*lesson.rows(["bo", "zoe"])} == {"bo"}
    assert lesson.points() == {"a": 4.0, "b": 3.0, "tests": 2.0, "essay": 5.0, "task": 1.0}


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_points_by_hand_count_and_the_sentence_is_in_the_first_cells_comment(book, lesson):
    with lesson.override("bo", {"tests": 1.5, "essay": 2.0, "b": 3.0, "task": 1.0}, "Read by hand.") as diff:
        assert (diff.before["bo"].score, diff.after["bo"].score) == (0.0, 7.5)
        assert diff.rows_after["bo"]["grade"]["essay"] == [None, 2.0, False]
    found = grades(book, "bo")
    assert (found["a-check"], found["b-check"]) == ((0.0, None, False), (0.0, 3.0, False))
    assert {name: found[name] for name in ("essay", "tests", "task")} == {
        "essay": (None, 2.0, False),
        "tests": (None, 1.5, False),
        "task": (None, 1.0, False),
    }
    said = {comment.name: comment.manual_comment for comment in row(book, "bo").comments}
    assert said == {"a": None, "b": None, "essay": "Read by hand.", "task": None}
    with lesson.override("bo", {"essay": 3.0}, "Read again."):
        pass
    assert [c.manual_comment for c in row(book, "bo").comments if c.name == "essay"] == ["Read by hand.\n\nRead again."]


def test_a_mark_by_hand_for_late_work_costs_what_that_rule_says(book, lesson):
    lesson.refresh_lateness({"bo": DUE + HOUR})
    with lesson.override("bo", {"a": 4.0}, "Seen.") as diff:
        pass
    assert (diff.after["bo"].score, row(book, "bo").late_submission_penalty) == (3.6, 0.4)


def test_lateness_that_changed_since_is_on_both_sides_of_a_mark_by_hand(book, lesson):
    row(book, "ann").assignment.timestamp = DUE + HOUR
    book.db.commit()
    with lesson.override("ann", {"essay": 1.0}, "Seen.") as diff:
        pass
    assert (diff.before["ann"].penalty, diff.after["ann"].penalty) == (0.5, 0.6)


def test_who_handed_in_nothing_has_no_points_elsewhere(book, lesson):
    with lesson.override("cy", {"a": 4.0}, "Seen in class.") as diff:
        pass
    assert ("cy" in diff.before, diff.after["cy"].score) == (False, 4.0)
    assert diff.rows_before == {}
    rest = dict.fromkeys(("b-check", "tests", "essay", "task"), (0.0, None, False))
    assert grades(book, "cy") == {"a-check": (0.0, 4.0, False), **rest}


def test_an_override_that_breaks_off_changes_nothing(book, lesson):
    before = everything(book, "bo")
    with pytest.raises(KeyboardInterrupt), lesson.override("bo", {"a": 4.0}, "Seen."):
        raise KeyboardInterrupt
    assert everything(book, "bo") == before


# --- the way back -----------------------------------------------------------------------------------------------------


def changed(lesson):
    """What a regrade notes of one change: the rows before and after."""
    better = [entry("bo", result(1.0, 1.0), None, own=ESSAY)]
    diff = lesson.trial(better, {})
    lesson.store(better)
    return diff.rows_before, diff.rows_after


def test_what_a_regrade_changed_is_taken_back_whole(book, lesson):
    lesson.refresh_lateness({"bo": DUE + HOUR})
    before = everything(book, "ann", "bo")
    was, became = changed(lesson)
    assert row(book, "bo").late_submission_penalty == 0.7
    assert lesson.restore(was, became) == {}
    assert everything(book, "ann", "bo") == before


def test_what_is_newer_stays_and_is_told(book, lesson):
    was, became = changed(lesson)
    submitted = row(book, "bo")
    for grade in submitted.grades:
        if grade.name == "b-check":
            grade.manual_score = 2.0
    for comment in submitted.comments:
        if comment.name == "essay":
            comment.manual_comment = "Well written."
    book.db.commit()
    assert lesson.restore(was, became) == {"bo": ["b", "essay"]}
    assert grades(book, "bo")["a-check"] == (0.0, None, False)
    assert grades(book, "bo")["b-check"] == (0.0, 2.0, False)  # the judge's is taken back, the teacher's stays
    assert [c.manual_comment for c in row(book, "bo").comments if c.name == "essay"] == ["Well written."]


def test_what_was_changed_for_several_is_taken_back_for_all(book, lesson):
    none = {name: OwnCell(0.0, unanswered=True) for name in ("essay", "task")}  # so that every comment changes
    better = [entry(who, result(0.25, 0.75), None, own=none) for who in ("ann", "bo")]
    before, diff = everything(book, "ann", "bo"), lesson.trial(better, {})
    lesson.store(better)
    assert lesson.restore(diff.rows_before, diff.rows_after) == {}
    assert everything(book, "ann", "bo") == before


def test_a_cell_that_was_not_there_before_or_after_is_left(book, lesson):
    was, became = changed(lesson)
    del was["bo"]["grade"]["a-check"], became["bo"]["grade"]["b-check"], was["bo"]["comment"]
    assert lesson.restore(was, became) == {}
    assert (grades(book, "bo")["a-check"][0], grades(book, "bo")["b-check"][0]) == (4.0, 3.0)
    assert comments(book, "bo")["a"] == "10 of 10 points."


def test_when_somebody_handed_in_can_be_set_back_with_what_it_costs(book, lesson):
    assert lesson.times(["ann", "zoe"]) == {"ann": DUE}
    lesson.set_times({"ann": DUE + HOUR, "zoe": DUE})
    assert (lesson.times(["ann"]), row(book, "ann").late_submission_penalty) == ({"ann": DUE + HOUR}, 0.5)
    lesson.set_times({"ann": None, "bo": DUE + HOUR})
    assert (lesson.times(["ann"]), row(book, "ann").late_submission_penalty) == ({"ann": None}, None)
    assert lesson.times(["bo"]) == {"bo": DUE + HOUR}


def test_a_hand_in_that_is_taken_back_takes_its_marks_with_it_in_this_lesson_only(monkeypatch):
    with gradebook_in_memory(LESSON, OTHER) as book:
        first, second = (opened(monkeypatch, book, name) for name in (LESSON, OTHER))
        for lesson in (first, second):
            lesson.store([entry("ann", result())])
        first.withdraw("ann")
        assert (first.marks(), second.marks()["ann"].score) == ({}, 7.0)
        kinds = (api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.Comment)
        assert [book.db.query(kind).count() for kind in kinds] == [1, 1, 5, 4]


def test_a_hand_in_of_several_notebooks_is_taken_back_whole(monkeypatch):
    with gradebook_in_memory(LESSON) as book:
        book.add_notebook("another", LESSON)
        book.add_grade_cell("more", "another", LESSON, max_score=1, cell_type="code")
        lesson = opened(monkeypatch, book)
        lesson.store([entry("ann", result())])
        lesson.withdraw("ann")
        kinds = (api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.Comment)
        assert [book.db.query(kind).count() for kind in kinds] == [0, 0, 0, 0]


@pytest.mark.parametrize("name", ["trial", "override", "restore", "set_times", "withdraw"])
def test_a_gradebook_that_is_locked_is_told_and_has_nothing_half_done(monkeypatch, book, lesson, name):
    before, (was, became) = everything(book, "ann"), changed(lesson)
    middle = everything(book, "bo")

    def fail(*_anything):
        raise OperationalError("", {}, RuntimeError("database is locked"))

    monkeypatch.setattr(book.db, "commit", fail)
    monkeypatch.setattr(regrade_book.LessonGradebook, "_marks", fail)

    def override(who):
        with lesson.override(who, {"a": 1.0}, "Seen."):
            pass

    calls = {
        "trial": lambda: lesson.trial([entry("ann", result(0.0, 0.0))], {}),
        "override": lambda: override("ann"),
        "restore": lambda: lesson.restore(was, became),
        "set_times": lambda: lesson.set_times({"ann": DUE + HOUR}),
        "withdraw": lambda: lesson.withdraw("ann"),
    }
    with pytest.raises(GradebookUnavailable, match="database is locked"):
        calls[name]()
    monkeypatch.undo()
    assert everything(book, "ann") == before
    assert everything(book, "bo") == middle
