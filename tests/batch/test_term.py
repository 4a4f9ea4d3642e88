"""What happens between the first run and the last mark: due dates, extensions, marks by hand, feedback, the roster."""

from __future__ import annotations

import csv
import json

from nbgrader.api import Gradebook

from grader.batch import printout
from grader.course.to_settle import save_to_settle
from grader.insights.collect import lesson_insights
from tests.batch.conftest import HALF, LESSON, RIGHT, SQUARED, answered, command
from tests.gradebooks import add_submission

ZERO = "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
HALF_OFF = """
from nbgrader.plugins import BasePlugin
class HalfOff(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score / 2
c.AssignLatePenalties.plugin_class = HalfOff
"""


def due(room, when: str) -> None:
    room.sql(f"update assignment set duedate = '{when}' where name = '{LESSON}'")


def scores(outcome) -> dict[str, float]:
    return {student: mark.score for student, mark in outcome.marks.items()}


def add_settings(room, text: str) -> None:
    with (room.root / "nbgrader_config.py").open("a") as file:
        file.write(text)


def test_lateness_follows_whatever_changes_after_grading(room):
    room.submit("ann", answered(RIGHT), "2026-11-20 10:00:00 UTC")
    add_settings(room, ZERO)
    assert scores(room.grade()) == {"ann": 1}
    due(room, "2026-11-20 09:00:00")
    for nbgraders in (False, True):  # a due date that came later
        outcome = room.grade()
        assert (outcome.graded, scores(outcome)) == (0, {"ann": 0}), nbgraders
        told = printout.as_json(outcome)
        assert (told["marks"], told["judge"], told["late_penalty"]) == ({"ann": 0}, {"ann": 1}, {"ann": 1})
        assert "ann: 0, but the judge gave 1 (late: -1)" in printout.as_text(outcome)
        due(room, "2026-11-20 11:00:00")
        if nbgraders:
            command(room.root, "nbgrader", "autograde", LESSON)
            assert {row[2] for row in room.book()["grades"]} == {None}
        assert scores(room.grade()) == {"ann": 1}
        due(room, "2026-11-20 09:00:00")
    room.sql("update submitted_assignment set extension = '1970-01-01 02:00:00'")
    assert scores(room.grade()) == {"ann": 1}
    room.submit("ann", None, "2026-11-20 12:00:00 UTC")
    assert scores(room.grade()) == {"ann": 0}
    add_settings(room, HALF_OFF)
    assert scores(room.grade()) == {"ann": 0.5}
    room.sql("update grade set manual_score = 0.8, needs_manual_grade = 0")
    assert scores(room.grade()) == {"ann": 0.4}


def test_marks_are_the_gradebooks_wherever_they_are_shown(room):
    for student, answer in {"ann": RIGHT, "bo": SQUARED, "cy": HALF}.items():
        room.submit(student, answered(answer))
    room.grade()
    room.sql("""update grade set manual_score = 0.75, needs_manual_grade = 0 where notebook_id in
        (select n.id from submitted_notebook n join submitted_assignment s on n.assignment_id = s.id
         where s.student_id = 'bo')""")
    outcome = room.grade()
    assert scores(outcome)["bo"] == 0.75
    told = printout.as_json(outcome)
    assert told["judge"] == {"bo": 0.07}
    mean = sum(told["marks"].values()) / 3
    assert told["summary"]["mean"] == mean == told["summary"]["exercises"][0]["mean"]
    assert lesson_insights(room.root, LESSON).summary.mean == mean
    command(room.root, "nbgrader", "export")
    rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader((room.root / "grades.csv").open())}
    assert rows == told["marks"]


def test_points_changed_in_a_course_are_the_same_everywhere(room):
    source = room.root / "source" / LESSON / f"{LESSON}.ipynb"
    notebook = json.loads(source.read_text())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["metadata"]["nbgrader"]["points"] = 10
    room.submit("ann", answered(RIGHT))
    room.submit("bo", answered(SQUARED))
    assert scores(room.grade()) == {"ann": 1, "bo": 0.07}
    source.write_text(json.dumps(notebook))
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    outcome = room.grade()
    assert scores(outcome) == {"ann": 10, "bo": 0.71}
    summary = lesson_insights(room.root, LESSON).summary
    assert (summary.points, summary.exercises[0].points, summary.full) == (10, 10, 1)
    assert printout.as_json(outcome)["judge"] == {}
    command(room.root, "nbgrader", "generate_feedback", LESSON)
    assert ">10 of 10 points<" in page(room, "ann").read_text()


def page(room, student):
    return room.folder(student, "feedback") / f"{LESSON}.html"


def test_feedback_is_made_anew_for_whoever_it_changed_and_only_for_them(room):
    students = ("ann", "bo", "cy", "dee")
    for student in students:
        room.submit(student, answered(SQUARED))
    room.grade()

    def made_anew() -> set[str]:
        before = {
            student: page(room, student).stat().st_mtime_ns for student in students if page(room, student).exists()
        }
        command(room.root, "nbgrader", "generate_feedback", LESSON)
        return {student for student in students if page(room, student).stat().st_mtime_ns != before.get(student)}

    def of(student: str) -> str:
        return f"""where notebook_id in (select n.id from submitted_notebook n join submitted_assignment s
            on n.assignment_id = s.id where s.student_id = '{student}')"""

    assert made_anew() == set(students)
    assert made_anew() == set()
    room.sql(f"update grade set manual_score = 0.5, needs_manual_grade = 0 {of('ann')}")
    room.sql(f"update comment set manual_comment = 'well tried' {of('bo')}")
    room.submit("cy", answered(RIGHT))  # with the same time
    room.grade()
    assert made_anew() == {"ann", "bo", "cy"}
    assert "well tried" in page(room, "bo").read_text()
    assert ">0.5 of 1 points<" in page(room, "ann").read_text()
    assert ">1 of 1 points<" in page(room, "cy").read_text()
    due(room, "2026-11-20 09:00:00")
    add_settings(room, ZERO)
    room.sql("update submitted_assignment set extension = '1970-01-02 00:00:00' where student_id <> 'dee'")
    assert made_anew() == set(students)
    assert "because your notebook was handed in late" in page(room, "dee").read_text()
    assert "Due date moved by 1 day." in page(room, "ann").read_text()
    assert made_anew() == set()


def test_students_outside_the_roster_are_listed_and_left(room):
    command(room.root, "nbgrader", "db", "student", "add", "ann")
    command(room.root, "nbgrader", "db", "student", "add", "zoe")
    for student in ("ann", "typo"):
        room.submit(student, answered(RIGHT))
    command(room.root, "nbgrader", "autograde", LESSON)
    assert room.marks() == {"ann": 1}
    outcome = room.grade(add_students=False)
    assert room.marks() == {"ann": 1}
    assert "This student is not on the roster" in outcome.problems["typo"]
    assert outcome.missing == ("zoe",)
    assert "1 handed in nothing: zoe" in printout.as_text(outcome)
    assert printout.as_json(outcome)["not_handed_in"] == ("zoe",)
    save_to_settle(room.root, LESSON, {"Zoe Roe_505": {"zoe": "Zoe Roe", "zoe2": "Zoe Roe"}})
    outcome = room.grade(add_students=False)
    assert (outcome.missing, outcome.to_settle) == ((), ("zoe",))
    assert "1 still to be settled (grader collect shows how): zoe" in printout.as_text(outcome)
    outcome = room.grade(add_students=True)
    assert room.marks() == {"ann": 1, "typo": 1}
    assert not outcome.problems


def test_without_a_roster_all_who_handed_in_are_taken_and_it_is_said(room):
    room.submit("ann", answered(RIGHT))
    room.grade(add_students=False)
    assert room.marks() == {"ann": 1}
    assert "There is no roster, so everybody who handed something in is graded (1 in all)." in room.said.getvalue()


LATE_DAYS = """
c.CourseLateness.free_days = 2
c.CourseLateness.grace_minutes = 10
c.CourseLateness.percent_a_day = 10
"""
SECOND = "01_second"


def exported(room) -> dict[str, dict[str, str]]:
    command(room.root, "grader", "export", ".", "--to", "csv")
    return {row["id"]: row for row in csv.DictReader((room.root / "marks-csv.csv").open())}


def test_late_days_are_in_the_mark_the_feedback_and_the_export(room):
    add_settings(room, LATE_DAYS)
    due(room, "2026-11-20 09:00:00")
    late = {"ann": "2026-11-20 09:05:00 UTC", "bo": "2026-11-21 05:00:00 UTC", "cy": "2026-11-23 05:00:00 UTC"}
    for student, time in late.items():
        room.submit(student, answered(RIGHT), time)
    assert scores(room.grade()) == {"ann": 1, "bo": 1, "cy": 0.9}
    said = {
        "ann": "5 minutes late, within the grace period of 10 minutes",
        "bo": "20 hours late, 1 day begun: 1 free day",
        "cy": "2 days 20 hours late, 3 days begun: 2 free days, 1 at 10 %",
    }
    command(room.root, "grader", "feedback", ".", "00")
    rows = exported(room)
    for student, words in said.items():
        assert f"<p>{words}.</p>" in page(room, student).read_text()
        assert rows[student]["notes"] == f"{LESSON}: {words}{', 0.1 points off' * (student == 'cy')}"


def extend(room, *words, code: int = 0) -> str:
    done = command(room.root, "grader", "extend", ".", "00", *words, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_an_extension_after_somebody_has_handed_in_changes_the_mark_at_once(room):
    add_settings(room, LATE_DAYS.replace("= 2", "= 0"))
    due(room, "2026-11-20 09:00:00")
    room.submit("ann", answered(RIGHT), "2026-11-23 05:00:00 UTC")
    assert scores(room.grade()) == {"ann": 0.7}
    said = extend(room, "ann", "--days", "2", "--why", "She was ill.")
    assert "ann may hand work in until " in said
    assert "2026-11-22 09:00 UTC" in said
    assert said.splitlines()[0].endswith(", 2 days more.")
    assert f"{LESSON}: 0.7 → 0.9 points" in said
    command(room.root, "grader", "feedback", ".", "00")
    assert "<p>Due date moved by 2 days: She was ill.; 20 hours late" in page(room, "ann").read_text()
    assert "due date moved by 2 days: She was ill." in exported(room)["ann"]["notes"]
    assert f"{LESSON}: 0.9 → 1 points" in extend(room, "ann", "--until", "2026-11-23")
    assert f"{LESSON}: 1 → 0.7 points" in extend(room, "ann", "--days", "0")


def test_an_extension_before_somebody_hands_in_counts_when_they_do(room):
    add_settings(room, LATE_DAYS.replace("= 2", "= 0"))
    command(room.root, "nbgrader", "db", "student", "add", "ann")
    due(room, "2026-11-20 09:00:00")
    assert "They have nothing in the gradebook yet" in extend(room, "ann", "--until", "2026-11-24 10:00 CET")
    assert exported(room)["ann"]["notes"] == f"{LESSON}: not handed in, due date moved by 4 days"
    room.submit("ann", answered(RIGHT), "2026-11-24 08:00:00 UTC")
    assert scores(room.grade()) == {"ann": 1}
    command(room.root, "nbgrader", "autograde", LESSON, "--force")
    assert exported(room)["ann"][LESSON] == "1"
    command(room.root, "grader", "course", "forget", ".", "ann", "--yes")
    assert not (room.root / ".grader" / "extensions" / f"{LESSON}.jsonl").read_text()


def test_what_is_wrong_with_an_extension_is_told(room):
    command(room.root, "nbgrader", "db", "student", "add", "ann", "--first-name", "Ann", "--last-name", "Lee")
    assert "no due date for 00_start_here" in extend(room, "ann", "--days", "1", code=2)
    due(room, "2026-11-20 09:00:00")
    assert "Did you mean ann (Ann Lee)?" in extend(room, "anne", "--days", "1", code=2)
    assert "--days 2 or --until" in extend(room, "ann", code=2)
    assert "expected a day, or a day and a time" in extend(room, "ann", "--until", "soon", code=2)
    assert "is due later than that already, on 2026-11-20 09:00 UTC" in extend(
        room, "ann", "--until", "2026-11-19", code=2
    )


def test_an_extension_in_one_lesson_gives_back_the_free_days_of_another(room):
    """The second lesson's hand-in came later: its free day was used up in the first."""
    add_settings(room, LATE_DAYS.replace("= 2", "= 1"))
    due(room, "2026-11-20 09:00:00")
    room.submit("ann", answered(RIGHT), "2026-11-21 05:00:00 UTC")
    assert scores(room.grade()) == {"ann": 1}
    with Gradebook(f"sqlite:///{room.root}/gradebook.db") as book:
        book.add_assignment(SECOND, duedate="2026-11-22 09:00:00")
        book.add_notebook(SECOND, SECOND)
        book.add_grade_cell("cell", SECOND, SECOND, max_score=10, cell_type="code")
        submitted = add_submission(book, SECOND, "ann", timestamp="2026-11-22 10:00:00")
        grade = submitted.notebooks[0].grades[0]
        grade.auto_score, grade.needs_manual_grade = 10, False
        book.db.commit()
    room.grade()
    assert exported(room)["ann"][SECOND] == "9"
    assert f"{SECOND}: 9 → 10 points" in extend(room, "ann", "--days", "1")
    assert exported(room)["ann"][SECOND] == "10"
