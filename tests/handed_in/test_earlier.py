"""Which of several hand-ins counts where the best does, and what becomes of the others: asked of a folder, not of a
command."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.course.class_directory import Submission
from grader.course.files import UntrustedFolder
from grader.handed_in import earlier
from grader.handed_in.earlier import archive_hand_in, attempts, keep_only, kept_hand_ins, kept_times, put, put_best
from grader.judge.limits import Limits
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult

LESSON = "01_self_attention"
NOON, DAY = datetime(2026, 11, 20, 12), timedelta(days=1)


@pytest.fixture
def course(tmp_path):
    """What of a course these functions ask."""
    layout = SimpleNamespace(submitted_directory="submitted", autograded_directory="autograded")
    return SimpleNamespace(
        root=tmp_path,
        lesson=LESSON,
        layout=layout,
        limits=Limits,
        folder=lambda step, student: tmp_path / step / student / LESSON,
    )


def submission(course, who: str = "ann") -> Submission:
    return Submission(who, UntrustedFolder(course.root / "submitted", Path(who) / LESSON), LESSON)


def in_place(course) -> tuple[bytes, str]:
    folder = course.folder("submitted", "ann")
    return (folder / f"{LESSON}.ipynb").read_bytes(), (folder / "timestamp.txt").read_text()


def result(mark: float) -> SubmissionResult:
    return SubmissionResult((ExerciseResult("a", 10, mark / 10),))


class Book:
    """Gives what the judge gives, less a point for each day after the first."""

    def earns(self, _student, result, when):
        return result.mark - (max((when - NOON).days, 0) if when else 0)


def handed_in(course, *times_and_marks):
    """All these hand-ins, the last in place; what is put_best's to choose from."""
    for number, (when, _mark) in enumerate(times_and_marks[:-1]):
        archive_hand_in(course, "ann", when, b"work %d" % number)
    put(course, "ann", times_and_marks[-1][0], b"work %d" % (len(times_and_marks) - 1))
    by_data = {b"work %d" % number: mark for number, (_when, mark) in enumerate(times_and_marks)}
    return [(one, result(by_data[one.read(100)])) for one in attempts(course, submission(course))]


def test_of_equal_notebooks_that_are_kept_one_is_tried(course):
    for days in (3, 2, 1):
        archive_hand_in(course, "ann", NOON - days * DAY, b"the same" if days > 1 else b"another")
    put(course, "ann", NOON, b"new")
    found = attempts(course, submission(course))
    assert [one.read(100) for one in found] == [b"new", b"the same", b"another"]
    assert found[1].time == NOON - 3 * DAY


def test_the_one_that_earns_most_is_put_in_place_and_the_one_that_was_there_is_kept(course):
    graded = handed_in(course, (NOON - DAY, 7), (NOON - 2 * DAY, 3), (NOON, 5))
    (course.folder("autograded", "ann")).mkdir(parents=True)
    assert put_best(course, Book(), graded) == "3, 7, 5 points; the hand-in of 2026-11-19 12:00:00 UTC counts"
    assert in_place(course) == (b"work 0", "2026-11-19 12:00:00 UTC")
    assert kept_times(course, "ann") == ["2026-11-18 12.00.00", "2026-11-19 12.00.00", "2026-11-20 12.00.00"]
    assert not course.folder("autograded", "ann").exists()


def test_one_that_is_in_place_already_stays_as_it_is(course):
    graded = handed_in(course, (NOON - DAY, 3), (NOON, 5))
    (course.folder("autograded", "ann")).mkdir(parents=True)
    assert put_best(course, Book(), graded) == "3, 5 points; the hand-in of 2026-11-20 12:00:00 UTC counts"
    assert in_place(course) == (b"work 1", "2026-11-20 12:00:00 UTC")
    assert kept_times(course, "ann") == ["2026-11-19 12.00.00"]
    assert course.folder("autograded", "ann").exists()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_equal_ones_the_last_counts_by_its_time(course, order):
    times = [NOON - 3 * DAY, NOON - 2 * DAY, NOON - DAY]
    graded = handed_in(course, *((times[place], 5) for place in order))
    assert put_best(course, Book(), graded).endswith("the hand-in of 2026-11-19 12:00:00 UTC counts")
    assert in_place(course)[1] == "2026-11-19 12:00:00 UTC"


def test_the_one_that_was_there_is_kept_whatever_the_order(course):
    graded = handed_in(course, (NOON - DAY, 7), (NOON, 5))
    put_best(course, Book(), graded[::-1])
    assert in_place(course)[0] == b"work 0"
    assert kept_hand_ins(course, "ann") == [(NOON - DAY, b"work 0"), (NOON, b"work 1")]
    assert kept_hand_ins(course, "zoe") == []


def test_the_late_penalty_is_counted(course):
    graded = handed_in(course, (NOON, 5), (NOON + 2 * DAY, 6.5))
    assert put_best(course, Book(), graded) == "5, 4.5 points; the hand-in of 2026-11-20 12:00:00 UTC counts"


def test_one_without_a_time_comes_before_all_others(course):
    graded = handed_in(course, (NOON, 5), (NOON + DAY, 5))
    (course.folder("submitted", "ann") / "timestamp.txt").unlink()
    mine = attempts(course, submission(course))[0]
    assert (mine.time, mine.in_place) == (None, True)
    said = put_best(course, Book(), [(mine, result(5)), graded[1]])
    assert said == "5, 5 points; the hand-in of 2026-11-20 12:00:00 UTC counts"
    assert kept_times(course, "ann")[0] == "1980-01-01 00.00.00"


def test_one_without_a_time_may_be_the_best(course):
    graded = handed_in(course, (NOON, 5), (NOON + DAY, 9))
    (course.folder("submitted", "ann") / "timestamp.txt").unlink()
    mine = attempts(course, submission(course))[0]
    said = put_best(course, Book(), [(mine, result(9)), graded[1]])
    assert said == "9, 5 points; the hand-in of 1980-01-01 00:00:00 UTC counts"
    assert not (course.folder("submitted", "ann") / "timestamp.txt").exists()


def test_one_in_place_that_can_t_be_read_is_not_kept(course):
    graded = handed_in(course, (NOON - DAY, 5), (NOON, 0))
    (course.folder("submitted", "ann") / f"{LESSON}.ipynb").unlink()
    put_best(course, Book(), graded)
    assert in_place(course)[0] == b"work 0"
    assert kept_times(course, "ann") == ["2026-11-19 12.00.00"]


def test_of_equal_notebooks_only_the_first_is_a_hand_in_and_what_is_no_time_is_none(course):
    put(course, "ann", NOON, b"same")
    assert archive_hand_in(course, "ann", NOON - DAY, b"same")
    assert archive_hand_in(course, "ann", NOON - DAY, b"other")
    assert archive_hand_in(course, "ann", NOON, b"third")
    (course.root / ".grader" / "earlier" / LESSON / "ann" / "notes").mkdir()
    found = attempts(course, submission(course))
    assert [(one.time, one.in_place, one.read(9)) for one in found] == [
        (NOON, True, b"same"),
        (NOON - DAY, False, b"other"),
        (NOON, False, b"third"),
    ]


def test_a_notebook_is_kept_once_a_time_and_two_of_one_time_both(course):
    assert [archive_hand_in(course, "ann", NOON, data) for data in (b"a", b"a", b"b", b"b", b"a")] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert kept_times(course, "ann") == ["2026-11-20 12.00.00", "2026-11-20 12.00.00 2"]
    assert kept_times(course, "bo") == []


def test_a_folder_that_a_killed_command_left_empty_is_filled(course):
    folder = course.root / ".grader" / "earlier" / LESSON / "ann" / "2026-11-20 12.00.00"
    folder.mkdir(parents=True)
    assert archive_hand_in(course, "ann", NOON, b"work")
    assert kept_hand_ins(course, "ann") == [(NOON, b"work")]


def test_what_is_kept_can_be_taken_back(course):
    for days in range(3):
        archive_hand_in(course, "ann", NOON + days * DAY, b"%d" % days)
    keep_only(course, "ann", kept_times(course, "ann")[1:2])
    assert kept_times(course, "ann") == ["2026-11-21 12.00.00"]
    keep_only(course, "ann", [])
    assert not (course.root / ".grader" / "earlier" / LESSON / "ann").exists()
    keep_only(course, "bo", [])


def test_a_link_in_place_of_a_folder_is_not_followed(course, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    folder = course.folder("submitted", "ann")
    folder.parent.mkdir(parents=True)
    folder.symlink_to(other)
    put(course, "ann", NOON, b"mine")
    assert in_place(course) == (b"mine", "2026-11-20 12:00:00 UTC")
    assert not [*other.iterdir()]
    assert earlier.UNKNOWN_TIME < NOON
