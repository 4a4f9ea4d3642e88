"""What a mark is, where it is made: rules of the gradebook, each asked of one in memory."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from nbgrader import api
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from grader.book.gradebook import LOOKED_UP, LessonGradebook, cause, marks_in, record
from grader.book.rebuild import OwnCell
from grader.errors import CommandFailed, CourseError, GradebookUnavailable, UnknownLesson
from grader.judge.result import TestResult as ResultOfTest
from tests.book.in_memory import (
    DUE,
    LESSON,
    OTHER,
    comments,
    config,
    entry,
    gradebook_in_memory,
    grades,
    opened,
    result,
    row,
)

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TESTED = {"tests": OwnCell(1.5, False), "essay": OwnCell(None, False)}


@pytest.fixture
def lesson(monkeypatch, book):
    return opened(monkeypatch, book)


# --- record -----------------------------------------------------------------------------------------------------------


def test_an_exercise_earns_its_share_of_the_cells_own_points_to_two_decimals(book, lesson):
    lesson.store([entry("ann", result(0.33333, 1.0), own=TESTED)])
    assert grades(book, "ann") == {
        "a-check": (1.33, None, False),
        "b-check": (3.0, None, False),
        "tests": (1.5, None, False),
        "essay": (None, None, True),
        "task": (None, None, True),
    }


@pytest.mark.parametrize("broken", ["a", "b"])
def test_an_exercise_whose_check_broke_is_flagged_for_a_teacher_and_no_other(book, lesson, broken):
    lesson.store([entry("ann", result(0.0, 0.0, broken=broken))])
    found = grades(book, "ann")
    assert {name: found[f"{name}-check"] for name in "ab"} == {name: (0.0, None, name == broken) for name in "ab"}


def test_a_test_of_a_teacher_s_own_that_broke_is_flagged(book, lesson):
    tests = (ResultOfTest("tests", False, broken=True),)
    lesson.store([entry("ann", result(tests=tests), own={"tests": OwnCell(0.0, False)})])
    assert grades(book, "ann")["tests"] == (0.0, None, True)


def test_own_cells_of_a_file_that_can_t_be_read_earn_nothing_and_wait_for_nobody(book, lesson):
    lesson.store([entry("ann", result(0.0, 0.0, unreadable="It is cut off."))])
    assert grades(book, "ann") == dict.fromkeys(("a-check", "b-check", "tests", "essay", "task"), (0.0, None, False))


def test_a_mark_by_hand_is_kept_and_worth_a_look_where_the_work_is_another_one(book, lesson):
    lesson.store([entry("ann", result(0.0, 1.0))])
    by_hand(book, "ann", "a-check", 2.0)
    lesson.store([entry("ann", result(0.5, 0.5))])
    assert grades(book, "ann")["a-check"] == (2.0, 2.0, True)
    assert grades(book, "ann")["b-check"] == (1.5, None, False)


def by_hand(book, who: str, name: str, points: float, comment: str = "") -> None:
    """What Formgrader stores of a teacher's mark."""
    submitted = row(book, who)
    [grade] = [grade for grade in submitted.grades if grade.name == name]
    grade.manual_score, grade.needs_manual_grade = points, False
    for one in submitted.comments:
        if comment and one.name == name.removesuffix("-check"):
            one.manual_comment = comment
    book.db.commit()


def test_the_same_work_graded_again_leaves_marks_by_hand_their_flags_and_their_comments(book, lesson):
    lesson.store([entry("ann", result(0.0, 0.0), own=TESTED)])
    by_hand(book, "ann", "a-check", 2.0, "Right.")
    by_hand(book, "ann", "essay", 4.0)
    before = grades(book, "ann"), comments(book, "ann")
    lesson.store([entry("ann", result(1.0, 1.0), own={"essay": OwnCell(0.0, True)}, kept=())])
    after = grades(book, "ann")
    assert after["a-check"] == before[0]["a-check"] == (0.0, 2.0, False)
    assert after["essay"] == (None, 4.0, False)
    assert after["b-check"] == (3.0, None, False)
    assert comments(book, "ann")["a"] == before[1]["a"]
    assert comments(book, "ann")["essay"] == before[1]["essay"] is None
    assert row(book, "ann").comments[0].manual_comment == "Right."


def test_what_is_kept_stays_where_it_has_a_mark_and_only_there(book, lesson):
    lesson.store([entry("ann", result(1.0, 1.0), own=TESTED)])
    before = comments(book, "ann")
    lesson.store([entry("ann", result(0.0, 0.0), own={"essay": OwnCell(0.0, True)}, kept=("a", "essay"))])
    assert {name: found[0] for name, found in grades(book, "ann").items()} == {
        "a-check": 4.0,
        "b-check": 0.0,
        "tests": None,
        "essay": 0.0,  # it had no mark that could be kept
        "task": None,
    }
    assert comments(book, "ann")["a"] == before["a"]
    assert comments(book, "ann")["b"] != before["b"]


def test_a_comment_says_what_was_found_or_that_nothing_was_answered(book, lesson):
    lesson.store([entry("ann", result(0.5, 1.0), own={"essay": OwnCell(0.0, True)})])
    assert comments(book, "ann") == {
        "a": "5 of 10 points.",
        "b": "10 of 10 points.",
        "essay": "No response.",
        "task": None,
    }
    lesson.store([entry("ann", result(0.5, 1.0), own={"essay": OwnCell(None, False), "task": OwnCell(0.0, True)})])
    assert (comments(book, "ann")["essay"], comments(book, "ann")["task"]) == (None, "No response.")


@pytest.mark.parametrize(("late", "penalty"), [(-HOUR, None), (HOUR, 0.7), (DAY + HOUR, 1.4)])
def test_the_penalty_is_of_what_the_submission_earns_with_marks_by_hand_and_extra_credit(
    monkeypatch, book, late, penalty
):
    lesson = opened(monkeypatch, book, percent_a_day=10)
    lesson.store([entry("ann", result(0.0, 1.0), DUE)])
    by_hand(book, "ann", "a-check", 3.5)
    row(book, "ann").grades[1].extra_credit = 0.5
    lesson.store([entry("ann", result(0.0, 1.0), DUE + late)])
    assert (row(book, "ann").score, row(book, "ann").late_submission_penalty) == (7.0, penalty)


def test_the_penalty_is_of_the_score_as_it_becomes(book, lesson):
    lesson.store([entry("ann", result(0.0, 0.0), DUE + HOUR)])
    submitted = row(book, "ann")
    assert submitted.score == 0.0  # read already
    record(submitted, result(), {}, config(percent_a_day=10))
    assert submitted.late_submission_penalty == 0.7


def test_record_commits_nothing(book, lesson):
    lesson.store([entry("ann", result())])
    record(row(book, "ann"), result(0.0, 0.0), {}, config())
    book.db.rollback()
    assert grades(book, "ann")["a-check"][0] == 4.0


# --- storing ----------------------------------------------------------------------------------------------------------


def test_a_new_student_gets_all_rows_and_one_who_is_there_only_what_is_new(book, lesson):
    book.add_student("ann")
    lesson.store([entry("ann", result()), entry("bo", result(0.0, 0.0))])
    lesson.store([entry("ann", result(0.5, 0.5), None)])
    assert [who.id for who in book.students] == ["ann", "bo"]
    assert {who: len(grades(book, who)) for who in ("ann", "bo")} == {"ann": 5, "bo": 5}
    assert (grades(book, "ann")["a-check"][0], grades(book, "bo")["a-check"][0]) == (2.0, 0.0)
    assert row(book, "ann").assignment.timestamp == DUE  # a time that isn't known takes none away


def test_a_batch_is_stored_whole_or_not_at_all(monkeypatch, book, lesson):
    lesson.store([entry("ann", result())])
    monkeypatch.setattr("grader.book.gradebook._penalty", fails := [None, None])
    monkeypatch.setattr("grader.book.gradebook._penalty", lambda *_: fails.pop() or 1 / len(fails))
    with pytest.raises(ZeroDivisionError):
        lesson.store([entry("ann", result(0.0, 0.0)), entry("bo", result())])
    assert grades(book, "ann")["a-check"][0] == 4.0
    assert lesson.roster() == {"ann"}


@pytest.mark.parametrize(("code", "kind"), [(5, GradebookUnavailable), (13, CommandFailed)])
def test_a_database_that_is_locked_is_waited_for_and_a_full_disk_ends_the_command(
    monkeypatch, book, lesson, code, kind
):
    cause = RuntimeError("database is so")
    cause.sqlite_errorcode = code

    def fail():
        raise OperationalError("", {}, cause)

    monkeypatch.setattr(book.db, "commit", fail)
    with pytest.raises(CommandFailed, match="database is so") as failed:
        lesson.store([entry("ann", result())])
    assert type(failed.value) is kind
    assert lesson.roster() == set()


def test_a_lesson_with_two_notebooks_has_rows_for_both_and_marks_in_its_own(monkeypatch):
    with api.Gradebook("sqlite://", "attention") as book:
        book.add_assignment(LESSON)
        for name in ("00 before", LESSON, "99 after"):
            book.add_notebook(name, LESSON)
            book.add_grade_cell("a-check", name, LESSON, max_score=4, cell_type="code")
            book.add_solution_cell("a", name, LESSON)
        opened(monkeypatch, book).store([entry("ann", result())])
        made = book.find_submission(LESSON, "ann").notebooks
        assert {one.name: ([g.auto_score for g in one.grades], len(one.comments)) for one in made} == {
            "00 before": ([None], 1),
            LESSON: ([4.0], 1),
            "99 after": ([None], 1),
        }


def test_whose_marks_are_all_there(monkeypatch):
    with gradebook_in_memory(LESSON, OTHER) as book:
        first, second = (opened(monkeypatch, book, name) for name in (LESSON, OTHER))
        first.store([entry("ann", result())])
        second.store([entry("bo", result())])
        assert (first.complete(), second.complete()) == ({"ann"}, {"bo"})


def test_whoever_lacks_one_mark_is_not_complete(book, lesson):
    lesson.store([entry(who, result()) for who in ("ann", "bo")])
    [grade] = [grade for grade in row(book, "bo").grades if grade.name == "b-check"]
    grade.auto_score = None
    book.db.commit()
    assert lesson.complete() == {"ann"}


# --- who, what and when -----------------------------------------------------------------------------------------------


def test_who_is_not_on_the_roster(book, lesson):
    assert lesson.unknown({"ann"}, add=False) == set()  # nobody is there yet: there is no roster
    assert lesson.roster() == {"ann"}
    assert lesson.unknown({"ann", "bo"}, add=False) == {"bo"}
    assert lesson.unknown({"ann", "bo"}, add=True) == set()
    assert lesson.roster() == {"ann", "bo"}


def test_the_marks_are_those_of_the_gradebook_less_the_penalty(monkeypatch, book):
    lesson = opened(monkeypatch, book, percent_a_day=10)
    lesson.store([entry("ann", result(0.5, 1.0), DUE + HOUR, own=TESTED), entry("bo", result(0.0, 0.0))])
    by_hand(book, "ann", "essay", 3.264)
    mark = lesson.marks()["ann"]
    assert mark.cells == {
        "a": (2.0, 4.0),
        "b": (3.0, 3.0),
        "tests": (1.5, 2.0),
        "essay": (3.264, 5.0),
        "task": (0.0, 1.0),
    }
    assert (mark.points, mark.penalty, mark.score, mark.by_hand) == (15.0, 0.65, 9.11, ("task",))
    assert lesson.marks()["bo"].score == 0.0
    row(book, "bo").late_submission_penalty = 3.126
    book.db.commit()
    assert (lesson.marks()["bo"].score, lesson.marks()["bo"].penalty) == (0.0, 3.13)
    assert lesson.marks()["bo"].by_hand == ("essay", "task", "tests")


def test_what_a_hand_in_would_earn_is_the_judge_s_points_less_its_own_penalty(monkeypatch, book):
    lesson = opened(monkeypatch, book, percent_a_day=10)
    tests = (ResultOfTest("tests", True, 1.234),)
    assert lesson.earns("new", result(0.5, 1 / 3), DUE) == 3.0
    assert lesson.earns("new", result(0.5, 1 / 3, tests=tests), DUE) == 4.23
    assert lesson.earns("new", result(1.0, 1.0), DUE + HOUR) == 6.3
    assert lesson.earns("new", result(1.0, 1.0), None) == 7.0
    lesson.store([entry("ann", result(0.0, 0.0), DUE)])
    by_hand(book, "ann", "a-check", 4.0)
    book.find_submission(LESSON, "ann").extension = 2 * DAY
    book.db.commit()
    assert lesson.earns("ann", result(1.0, 0.0), DUE + DAY) == 4.0
    assert lesson.earns("ann", result(1.0, 0.0), DUE + 2 * DAY + HOUR) == 3.6
    assert not book.db.dirty
    assert lesson.roster() == {"ann"}


def test_free_days_that_another_lesson_used_up_count_for_what_a_hand_in_would_earn(monkeypatch):
    with gradebook_in_memory(OTHER, LESSON) as book:
        rule = {"free_days": 1, "percent_a_day": 10}
        due = DUE + 7 * DAY
        first, second = (opened(monkeypatch, book, name, **rule) for name in (OTHER, LESSON))
        assert second.earns("ann", result(), due + HOUR) == 7.0
        first.store([entry("ann", result(), DUE + HOUR)])
        assert second.earns("ann", result(), due + HOUR) == 6.3
        second.store([entry("ann", result(), due + HOUR)])
        assert row(book, "ann").late_submission_penalty == 0.7
        # The other lesson's was in time after all, so the day is free again; and the other way round.
        first.refresh_lateness({"ann": DUE})
        assert (row(book, "ann").late_submission_penalty, row(book, "ann", OTHER).late_submission_penalty) == (
            None,
            None,
        )
        first.refresh_lateness({"ann": DUE + HOUR, "bo": DUE})
        assert (row(book, "ann").late_submission_penalty, row(book, "ann", OTHER).late_submission_penalty) == (
            0.7,
            None,
        )


def test_a_time_that_is_known_only_now_changes_the_penalty_and_one_that_is_not_known_takes_none_away(monkeypatch, book):
    lesson = opened(monkeypatch, book, percent_a_day=10)
    lesson.store([entry("ann", result(), DUE), entry("bo", result(), DUE + HOUR)])
    lesson.refresh_lateness({"ann": DUE + HOUR, "bo": None})
    assert [row(book, who).late_submission_penalty for who in ("ann", "bo")] == [0.7, 0.7]


def test_everybody_s_penalty_is_worked_out_anew(monkeypatch, book):
    lesson, people = opened(monkeypatch, book, percent_a_day=10), ("ann", "bo", "cy")
    lesson.store([entry(who, result()) for who in people])
    lesson.refresh_lateness(dict.fromkeys(people, DUE + HOUR))
    assert [row(book, who).late_submission_penalty for who in people] == [0.7] * 3


def test_without_free_days_a_lesson_s_lateness_costs_no_other_one(monkeypatch):
    with gradebook_in_memory(OTHER, LESSON) as book:
        first = opened(monkeypatch, book, OTHER, percent_a_day=10)
        first.store([entry("ann", result(), DUE + HOUR)])
        second = opened(monkeypatch, book, LESSON, percent_a_day=20)
        second.store([entry("ann", result())])
        second.refresh_lateness({"ann": DUE})
        assert row(book, "ann", OTHER).late_submission_penalty == 0.7


def test_another_lesson_s_extension_is_none_of_this_one(monkeypatch):
    with gradebook_in_memory(OTHER, LESSON) as book:
        first, second = (opened(monkeypatch, book, name, percent_a_day=10) for name in (OTHER, LESSON))
        first.store([entry("ann", result())])
        book.find_submission(OTHER, "ann").extension = 2 * DAY
        book.db.commit()
        assert second.earns("ann", result(), DUE + 7 * DAY + HOUR) == 6.3


def test_what_feedback_shows_is_each_cell_s_mark_and_comments_and_how_late_it_came(monkeypatch, book):
    lesson = opened(monkeypatch, book, percent_a_day=10)
    lesson.store([entry("ann", result(0.5, 1.0), DUE + HOUR, own=TESTED)])
    by_hand(book, "ann", "a-check", 4.0, "Well seen.")
    shown = lesson.shown()["ann"][LESSON]
    mark = shown.marks["a-check"]
    assert (mark.score, mark.points, mark.extra, mark.by_hand, mark.waits) == (4.0, 4.0, 0.0, True, False)
    essay = shown.marks["essay"]
    assert (essay.score, essay.by_hand, essay.waits) == (0.0, False, True)
    assert shown.comments["a"] == ("5 of 10 points.", "Well seen.")
    assert (shown.score, shown.points, shown.penalty) == (8.5, 15.0, 0.65)
    assert shown.late == "1 hour late, 1 day begun: 1 at 10 %"
    before = str(shown)
    assert "1 hour late" in before
    by_hand(book, "ann", "essay", 1.25)
    lesson.store([entry("bo", result(), DUE)])
    assert (lesson.shown()["bo"][LESSON].penalty, lesson.shown()["bo"][LESSON].late) == (0.0, "")
    assert lesson.shown()["ann"][LESSON].score == 9.75
    assert str(lesson.shown()["ann"][LESSON]) != before


def test_what_a_database_says_is_one_line_of_it():
    assert cause(OperationalError("", {}, RuntimeError(" locked\nmore"))) == "locked"
    assert cause(SQLAlchemyError("no room\nmore")) == "no room"


# --- opening ----------------------------------------------------------------------------------------------------------


def test_what_a_lesson_s_gradebook_knows(book, lesson):
    assert lesson.has_own_cells
    assert lesson.release.cells["a-check"] == {"checksum": "x", "locked": True, "source": "a-check", "points": 4.0}
    assert lesson.release.cells["a"] == {"checksum": "y", "locked": False, "source": "stub", "points": None}
    lesson.require(["a", "b"])
    with pytest.raises(CourseError, match="doesn't know c, d: source/01 has changed"):
        lesson.require(["c", "a", "d"])


def test_what_is_looked_up_for_every_student_has_an_index(monkeypatch, book, lesson):
    """Also where somebody has given the table another one."""
    with book.engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_grade_notebook_id"))
        connection.execute(text("CREATE INDEX other ON grade (cell_id)"))
    opened(monkeypatch, book)
    there = inspect(book.engine)
    for table, column in LOOKED_UP:
        assert [column] in [index["column_names"] for index in there.get_indexes(table)], table


def test_a_lesson_of_checks_alone_has_no_own_cells(monkeypatch):
    with api.Gradebook("sqlite://", "attention") as book:
        book.add_assignment(LESSON)
        book.add_notebook(LESSON, LESSON)
        book.add_grade_cell("a-check", LESSON, LESSON, max_score=1, cell_type="code")
        notebook = book.find_notebook(LESSON, LESSON)
        notebook.kernelspec = json.dumps({"name": "python3"})
        lesson = opened(monkeypatch, book)
        assert (lesson.has_own_cells, lesson.release.kernelspec) == (False, {"name": "python3"})
        with pytest.raises(UnknownLesson, match="doesn't know 07 yet"):
            opened(monkeypatch, book, "07")


def test_where_nothing_is_known_there_are_no_marks(monkeypatch, book, tmp_path):
    def layout(url):
        return SimpleNamespace(db_url=url, course_id="attention")

    assert marks_in(layout(f"sqlite:///{tmp_path}/gradebook.db"), LESSON, config()) == {}
    assert not [*tmp_path.iterdir()]  # none was made
    opened(monkeypatch, book).store([entry("ann", result())])
    assert marks_in(layout("postgresql://"), "07", config()) == {}
    assert marks_in(layout("postgresql://"), LESSON, config())["ann"].score == 7.0


def test_marks_are_read_where_a_file_is(monkeypatch, book, lesson, tmp_path):
    lesson.store([entry("ann", result())])
    (tmp_path / "gradebook.db").touch()
    layout = SimpleNamespace(db_url=f"sqlite:///{tmp_path}/gradebook.db", course_id="attention")
    assert marks_in(layout, LESSON, config())["ann"].score == 7.0


def test_a_gradebook_is_closed_behind_its_block(monkeypatch, book, lesson):
    closed = []
    monkeypatch.setattr(book, "close", lambda: closed.append(1))
    with lesson:
        assert not closed
    assert closed == [1]


def test_a_gradebook_that_can_t_be_opened_is_told(tmp_path):
    with pytest.raises(CommandFailed, match="can't be opened: unable to open"):
        LessonGradebook(f"sqlite:///{tmp_path}/no/such/folder.db", "attention", LESSON, config())


def test_nothing_that_is_asked_to_store_a_mark_reads_a_whole_table(book, lesson):
    """Else a run would grow with the square of the class."""
    asked = {}

    def note(_connection, _cursor, statement, parameters, _context, many):
        if not statement.startswith("INSERT"):  # which looks nothing up
            asked[statement] = tuple(parameters[0] if many else parameters)

    event.listen(book.engine, "before_cursor_execute", note)
    for score in (0.0, 1.0):  # for somebody new, and again
        lesson.store([entry("ann", result(score)), entry("bob", result(score))])
    event.remove(book.engine, "before_cursor_execute", note)
    of_students = r"SCAN (student|submitted_assignment|submitted_notebook|grade|comment)(_\d+)?\b"
    with book.engine.connect() as connection:
        plans = {one: connection.exec_driver_sql(f"explain query plan {one}", asked[one]).all() for one in asked}
    assert len(plans) > 10
    assert [one for one, plan in plans.items() if any(re.match(of_students, step[3]) for step in plan)] == []
