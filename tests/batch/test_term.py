"""What happens between the first run and the last mark: due dates, extensions, marks by hand, feedback, the roster."""

from __future__ import annotations

import csv
import json

from grader.batch import printout
from grader.course.to_settle import note_unsettled
from grader.insights.collect import lesson_insights
from tests.batch.conftest import HALF, LESSON, RIGHT, SQUARED, answered, command

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
        assert "ann: 0, by the judge 1 (late: -1)" in printout.as_text(outcome)
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
    assert made_anew() == {"dee"}
    assert "because it was handed in late" in page(room, "dee").read_text()


def test_students_outside_the_roster_are_listed_and_left(room):
    command(room.root, "nbgrader", "db", "student", "add", "ann")
    command(room.root, "nbgrader", "db", "student", "add", "zoe")
    for student in ("ann", "typo"):
        room.submit(student, answered(RIGHT))
    command(room.root, "nbgrader", "autograde", LESSON)
    assert room.marks() == {"ann": 1}
    outcome = room.grade(add_students=False)
    assert room.marks() == {"ann": 1}
    assert "They are not in the roster" in outcome.problems["typo"]
    assert outcome.missing == ("zoe",)
    assert "1 handed in nothing: zoe" in printout.as_text(outcome)
    assert printout.as_json(outcome)["not_handed_in"] == ("zoe",)
    note_unsettled(room.root, LESSON, {"Zoe Roe_505": ["zoe", "zoe2"]})
    outcome = room.grade(add_students=False)
    assert (outcome.missing, outcome.to_settle) == ((), ("zoe",))
    assert "1 to be settled (grader collect says how): zoe" in printout.as_text(outcome)
    outcome = room.grade(add_students=True)
    assert room.marks() == {"ann": 1, "typo": 1}
    assert not outcome.problems


def test_without_a_roster_all_who_handed_in_are_taken_and_it_is_said(room):
    room.submit("ann", answered(RIGHT))
    room.grade(add_students=False)
    assert room.marks() == {"ann": 1}
    assert "has no roster: all 1 who handed in are taken" in room.said.getvalue()
