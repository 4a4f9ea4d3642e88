"""Marks out: what platforms import, read by their documented rules."""

from __future__ import annotations

import csv
import io
import json
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.book import export as files
from grader.book.marks import (
    EXCUSED,
    LATER,
    MARKED,
    MISSING,
    OPEN,
    UNGRADED,
    UNSETTLED,
    Mark,
    Marks,
    is_graded,
    marks_of,
    pseudonymous,
    score_of,
    total,
    waits,
)
from grader.cli.main import main
from grader.course.class_directory import course_layout
from grader.course.forget import steps_to_forget
from grader.course.roster import Person, update
from grader.course.settings import CourseSettings
from grader.course.to_settle import save_to_settle, unsettled
from grader.course.withdraw import withdraw
from grader.errors import CourseError
from grader.platforms.canvas import COLUMNS
from grader.platforms.registry import by_key
from tests.gradebooks import add_submission

ONE, TWO = "01_self_attention", "02_trainable_attention"
PEOPLE = (
    Person("ann", "Ann", "Lee", "ann@example.org", moodle="1007", canvas_id="501", sis_login_id="ann"),
    Person("bo", "Bo", "=1+1", "bo@example.org", moodle="1008", canvas_id="502"),
    Person("cy", "Cy", "Ng", "cy@example.org", moodle="1009", canvas_id="503"),
    Person("di", "Di", "O, Neil", "di@example.org", moodle="1010", canvas_id="504"),
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,01 Self-attention (77),02 Trainable attention (78),Final Score\n"
    "    Points Possible,,,,,10,5,(read only)\n"
    '"Lee, Ann",501,,ann,A,,,\n"1+1, Bo",502,,,A,4,,\n"Who, Ever",599,,,A,,,\n'
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """ann has marks, a late penalty among them; bo has to be marked by hand; cy is excused from 02; di did nothing."""
    course = tmp_path_factory.mktemp("made") / "course"
    course.mkdir()
    lines = [
        "c = get_config()",
        "c.CourseDirectory.course_id = 'attention'",
        "c.CourseMarks.excused = {'cy': ['02']}",
    ]
    (course / "nbgrader_config.py").write_text("\n".join(lines))
    layout = course_layout(course)
    update(course, layout.db_url, "attention", PEOPLE)
    with Gradebook(layout.db_url, "attention") as book:
        for lesson, points in ((ONE, 10), (TWO, 5)):
            book.add_assignment(lesson)
            book.add_notebook(lesson, lesson)
            book.add_grade_cell("cell", lesson, lesson, max_score=points, cell_type="code")
        for who, lesson, score in (("ann", ONE, 7.5), ("ann", TWO, 5.0), ("bo", ONE, None), ("cy", ONE, 10.0)):
            submitted = add_submission(book, lesson, who).notebooks[0]
            (grade,) = submitted.grades
            grade.auto_score, grade.needs_manual_grade = score, score is None
            submitted.late_submission_penalty = 1.5 if (who, lesson) == ("ann", ONE) else None
        book.db.commit()
    (course / "autograded" / "bo" / ONE).mkdir(parents=True)
    return course


@pytest.fixture
def course(made, tmp_path):
    shutil.copytree(made, tmp_path / "course")
    return tmp_path / "course"


def found(course):
    layout = course_layout(course)
    return marks_of(course, layout, layout.config)


def imported(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_mark_is_the_gradebooks_less_the_penalty_and_blanks_are_told_apart(course):
    marks = found(course)
    assert marks.possible == {ONE: 10.0, TWO: 5.0}
    assert marks.marks["ann"] == {ONE: Mark(MARKED, 6.0), TWO: Mark(MARKED, 5.0)}
    assert marks.marks["bo"] == {ONE: Mark(OPEN), TWO: Mark(MISSING)}
    assert marks.marks["cy"] == {ONE: Mark(MARKED, 10.0), TWO: Mark(EXCUSED)}
    assert marks.totals == {"ann": 80.0, "bo": None, "cy": 100.0, "di": 0.0}


def test_whoever_is_only_in_the_gradebook_has_the_name_that_stands_there(course):
    with Gradebook(course_layout(course).db_url, "attention") as book:
        book.update_or_create_student("yan", first_name="Yan", email="yan@example.org")
    assert found(course).people["yan"] == Person("yan", "Yan", "", "yan@example.org")


def test_a_mark_by_hand_is_a_mark_and_whoever_has_left_has_none(course):
    """bo's has to be marked by hand, and then is; zoe is in the gradebook only; di has left."""
    layout = course_layout(course)
    with Gradebook(layout.db_url, "attention") as book:
        book.update_or_create_student("zoe", last_name="Ash")
        [grade] = book.find_submission(ONE, "bo").notebooks[0].grades
        grade.manual_score, grade.needs_manual_grade = 4.256, False
        [other] = add_submission(book, TWO, "bo").notebooks[0].grades
        other.manual_score, other.needs_manual_grade = 2.5, False
        book.db.commit()
    shutil.rmtree(course / "autograded")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.CourseMarks.excused = {{'cy': ['{TWO}'], 'zoe': ['{ONE}'], 'di': ['{TWO}']}}\n")
    withdraw(course, "di")
    marks = found(course)
    assert marks.marks["bo"] == {ONE: Mark(MARKED, 4.26), TWO: Mark(MARKED, 2.5)}
    assert marks.marks["zoe"] == {ONE: Mark(EXCUSED), TWO: Mark(MISSING)}
    assert marks.marks["cy"][TWO] == Mark(EXCUSED)
    assert [*marks.people] == ["ann", "bo", "cy", "zoe"]
    assert marks.people["zoe"] == Person("zoe", "", "Ash", "")
    names = pseudonymous(marks, b"secret")
    assert [len(name) for name in names.people] == [16] * 4
    assert sorted(names.totals.values()) == sorted(marks.totals.values())
    assert [*names.people] == sorted(names.people)
    assert names.possible == marks.possible


@pytest.mark.parametrize(
    ("scores", "flagged", "waiting"),
    [
        ([(1.0, None), (None, 2.0)], False, False),
        ([(1.0, None), (None, None)], False, True),
        ([(None, None)], False, True),
        ([(1.0, None)], True, True),
        ([], False, False),
    ],
)
def test_one_cell_without_a_mark_is_enough_to_wait(scores, flagged, waiting):
    grades = [SimpleNamespace(auto_score=auto, manual_score=manual) for auto, manual in scores]
    submission = SimpleNamespace(needs_manual_grade=flagged, notebooks=[SimpleNamespace(grades=grades)])
    assert waits(submission) is waiting


def test_one_cell_with_a_mark_is_enough_to_be_graded(tmp_path):
    layout = SimpleNamespace(
        autograded_directory="autograded", format_path=lambda *parts: str(tmp_path.joinpath(*parts))
    )

    def graded(*scores):
        grades = [SimpleNamespace(auto_score=auto, manual_score=manual) for auto, manual in scores]
        notebooks, assignment = [SimpleNamespace(grades=grades)], SimpleNamespace(name=ONE)
        return is_graded(SimpleNamespace(notebooks=notebooks, student_id="ann", assignment=assignment), layout)

    assert [graded((1.0, None), (None, None)), graded((None, 2.0), (None, None)), graded((None, None))] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("score", "penalty", "left"), [(0.5, None, 0.5), (1, 3.0, 0.0), (5.0, 0.5, 4.5)])
def test_a_score_is_less_its_penalty_and_never_below_none(score, penalty, left):
    assert score_of(SimpleNamespace(score=score, late_submission_penalty=penalty)) == left


def test_a_late_mark_says_what_it_cost(course):
    due(course, ONE, datetime(2026, 11, 10, 12, tzinfo=UTC))
    with Gradebook(course_layout(course).db_url, "attention") as book:
        for who in ("ann", "cy"):
            book.find_submission(ONE, who).timestamp = datetime(2026, 11, 10, 13)
        book.db.commit()
    marks = found(course).marks
    assert "1 hour late" in marks["ann"][ONE].late
    assert "1.5" in marks["ann"][ONE].late
    assert "late" in marks["cy"][ONE].late
    assert "off" not in marks["cy"][ONE].late


def due(course, lesson, when):
    layout = course_layout(course)
    with Gradebook(layout.db_url, "attention") as book:
        book.update_or_create_assignment(lesson, duedate=when.strftime("%Y-%m-%d %H:%M:%S UTC"))


def hand_in(course, who, lesson):
    folder = course / "submitted" / who / lesson
    folder.mkdir(parents=True)
    (folder / f"{lesson}.ipynb").write_text("{}")


def test_the_total_is_of_what_is_due_and_graded_and_the_rest_is_said(course):
    """02 is due next week, 03 is collected but not graded; ann has full marks in what counts of hers."""
    now = datetime.now(UTC)
    due(course, ONE, now - timedelta(days=1))
    due(course, TWO, now + timedelta(days=7))
    due(course, "03_multi_head_attention", now - timedelta(days=1))
    hand_in(course, "ann", "03_multi_head_attention")
    marks = found(course)
    assert marks.totals == {"ann": 60.0, "bo": None, "cy": 50.0, "di": 0.0}
    states = {who: [mark.state for mark in own.values()] for who, own in marks.marks.items()}
    assert states == {
        "ann": [MARKED, MARKED, UNGRADED],
        "bo": [OPEN, LATER, MISSING],
        "cy": [MARKED, EXCUSED, MISSING],
        "di": [MISSING, LATER, MISSING],
    }
    _points, ann, _bo, _cy, di = imported(files.as_table(marks))
    assert ann["notes"] == f"{TWO}: not due yet, not in the total; 03_multi_head_attention: handed in, not graded yet"
    assert (ann[TWO], ann["total_percent"]) == ("5", "60")
    assert f"{TWO}: not due yet;" in di["notes"]


def test_an_extension_is_no_hand_in_and_makes_a_lesson_due_later(course):
    due(course, ONE, datetime.now(UTC) - timedelta(days=1))
    layout = course_layout(course)
    with Gradebook(layout.db_url, "attention") as book:
        add_submission(book, ONE, "di")
        book.grant_extension(ONE, "di", days=3)
    assert found(course).marks["di"][ONE] == Mark(LATER, due=False, late="due date moved by 3 days")
    due(course, ONE, datetime.now(UTC) - timedelta(days=9))
    assert found(course).marks["di"][ONE] == Mark(MISSING, late="due date moved by 3 days")


def test_without_a_due_date_a_lesson_counts_once_somebody_is_graded(course):
    layout = course_layout(course)
    with Gradebook(layout.db_url, "attention") as book:
        book.add_assignment("03_multi_head_attention")
    marks = found(course)
    assert marks.marks["di"]["03_multi_head_attention"].state == LATER
    assert marks.totals["ann"] == 80.0


def test_whose_a_hand_in_is_has_to_be_settled_and_is_not_said_to_be_missing(course):
    save_to_settle(course, ONE, {"Di O_505": {"di": "Di O", "eva": "Di O"}})
    marks = found(course)
    assert marks.marks["di"] == {ONE: Mark(UNSETTLED), TWO: Mark(MISSING)}
    assert marks.totals["di"] == 0.0
    assert "not settled yet whose hand-in it is" in files.as_table(marks)
    (step,) = (one for one in steps_to_forget(course, "eva") if not one.made_again)
    assert step.before == f"lines about eva in .grader/to-settle/{ONE}.jsonl"
    step.do()
    assert unsettled(course, ONE) == {"di"}
    save_to_settle(course, ONE, {})
    assert found(course).marks["di"][ONE] == Mark(MISSING)


def test_csv_says_why_a_mark_is_blank_and_holds_no_formula(course):
    points, ann, bo, cy, _di = imported(files.as_table(found(course)))
    assert (points["id"], points[ONE], points[TWO]) == ("Points Possible", "10", "5")
    assert (ann[ONE], ann["total_percent"], ann["notes"]) == ("6", "80", "")
    assert (bo[ONE], bo["last_name"]) == ("", "'=1+1")
    assert bo["notes"] == f"{ONE}: waiting to be marked by hand; {TWO}: not handed in"
    assert cy["notes"] == f"{TWO}: excused"


def test_moodle_finds_everybody_by_one_key_and_a_blank_changes_nothing(course):
    """Moodle's import maps people by one column; an empty grade is no grade. Feedback without a grade erases one."""
    text, made = files.for_platform(by_key("moodle"), found(course))
    key, left_out = made.key, list(made.left_out)
    rows = imported(text)
    assert (list(rows[0]), key, left_out) == (["ID number", ONE, TWO], "ID number", [])
    assert {row["ID number"]: (row[ONE], row[TWO]) for row in rows} == {
        "1007": ("6", "5"),
        "1008": ("", ""),
        "1009": ("10", ""),
        "1010": ("", ""),
    }


@pytest.mark.parametrize(
    ("people", "heading", "keys", "left_out"),
    [
        (  # one list of Moodle's with ID numbers, one of Canvas's: the column that was taken is what its heading says
            [*(Person(number, moodle=number) for number in ("1007", "1008")), Person("cy", canvas_id="5")],
            "ID number",
            ["1007", "1008"],
            ["cy"],
        ),
        ([Person("ann"), Person("bo"), Person("1009", moodle="1009")], "Username", ["ann", "bo"], ["1009"]),
        ([Person("1", email="a@x", moodle="1"), Person("2", email="b@x")], "Email address", ["a@x", "b@x"], []),
    ],
)
def test_the_heading_is_of_the_key_that_was_taken(people, heading, keys, left_out):
    marks = Marks({ONE: 10.0}, {who.id: who for who in people}, {who.id: {ONE: Mark(MISSING)} for who in people})
    text, made = files.for_platform(by_key("moodle"), marks)
    key, others = made.key, list(made.left_out)
    rows = imported(text)
    assert (key, [row[heading] for row in rows], others) == (heading, keys, left_out)


def test_canvas_gets_its_own_columns_back(course, tmp_path):
    """Canvas's import wants its five columns, then assignments with their number; the second row has the points."""
    (tmp_path / "canvas.csv").write_text(f'{CANVAS}"Student, Test",999,,x,A,,\n')  # Canvas's own
    text, made = files.for_platform(by_key("canvas"), found(course), tmp_path / "canvas.csv")
    left_out = list(made.left_out)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows == [
        [*COLUMNS, "01 Self-attention (77)", "02 Trainable attention (78)"],
        ["Points Possible", "", "", "", "", "10", "5"],
        ["Lee, Ann", "501", "", "ann", "A", "6", "5"],
        ["1+1, Bo", "502", "", "", "A", "", ""],
    ]
    assert left_out == ["Who, Ever"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "expected the columns Student and ID, got a, b"),
        ("Student,ID,Essay (5)\nLee,501,\n", "no column belongs to a lesson"),
        ("Student,ID,01 A (5),01_self_attention (6)\nLee,501,,\n", "two columns belong to 01_self_attention"),
        ("Student,ID,01 A (5)\nWho,599,\n", "none of the people in it are on the roster"),
    ],
)
def test_a_file_that_is_not_canvas_own_is_refused(course, tmp_path, text, said):
    (tmp_path / "canvas.csv").write_text(text)
    with pytest.raises(CourseError, match=said):
        files.for_platform(by_key("canvas"), found(course), tmp_path / "canvas.csv")


def test_rules_of_a_total():
    possible = {"01": 10.0, "02": 10.0, "03": 10.0}
    own = {"01": Mark(MARKED, 10.0), "02": Mark(MARKED, 5.0), "03": Mark(MISSING)}
    assert total(own, possible, CourseSettings()) == 50.0
    assert total(own, possible, CourseSettings(best_of=2)) == 75.0
    assert total({"01": Mark(MARKED, 10 / 3)}, possible, CourseSettings()) == 33.33
    assert total({"01": Mark(MARKED, 5.0)}, {"01": 0.0}, CourseSettings()) == 0.0
    worst_first = {"01": Mark(MISSING), "02": Mark(MARKED, 5.0), "03": Mark(MARKED, 10.0)}
    assert total(worst_first, possible, CourseSettings(best_of=2)) == 75.0
    assert total(worst_first, possible, CourseSettings(best_of=1)) == 100.0
    assert total(own, possible, CourseSettings(weights={"01": 3.0, "03": 0.0})) == 87.5
    assert total({**own, "03": Mark(OPEN)}, possible, CourseSettings()) is None
    assert total({**own, "03": Mark(OPEN)}, possible, CourseSettings(weights={"03": 0.0})) == 75.0
    assert total({name: Mark(EXCUSED) for name in own}, possible, CourseSettings()) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.CourseMarks.weights = {'17': 2}", "weights: got '17', expected one of the lessons"),
        (
            "c.CourseMarks.weights = {'01': 'much'}",
            r"weights: got {'01': 'much'}, expected a dict of lessons and numbers",
        ),
        ("c.CourseMarks.best_of = -1", "best_of: got -1, expected a whole number"),
        ("c.CourseMarks.excused = {'zoe': ['01']}", "has a student 'zoe'"),
        ("c.CourseMarks.excused = {'anna': ['01']}", r"has a student 'anna'. Did you mean ann \(Ann Lee\)\?"),
        ("c.CourseMarks.bestof = 1", "its settings are weights, best_of, excused. Did you mean best_of"),
    ],
)
def test_a_rule_that_does_not_fit_is_told(course, line, said):
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(CourseError, match=said):
        found(course)


def test_the_command_writes_each_kind(course, tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS)
    for kind, more in (("csv", []), ("moodle", []), ("json", []), ("canvas", ["--from", str(tmp_path / "canvas.csv")])):
        done = CliRunner().invoke(main, ["export", str(course), "--to", kind, *more])
        assert done.exit_code == 0, done.output
        assert (
            "4 people, 2 lessons: 1 excused, 3 marked, 3 not handed in, 1 waiting to be marked by hand" in done.output
        )
    assert "Not on the roster, so left out: Who, Ever" in done.output
    document = json.loads((course / "marks-json.json").read_text())
    assert document["students"][1]["marks"][ONE] == {"state": OPEN, "points": None, "due": True, "late": ""}
    assert (course / "marks-csv.csv").stat().st_mode & 0o777 == 0o600
    (course / "judge_secret").write_text("s" * 64)
    done = CliRunner().invoke(main, ["export", str(course), "--to", "json", "--pseudonyms"])
    assert done.exit_code == 0, done.output
    text = (course / "marks-json.json").read_text()
    assert not any(name in text for name in ("ann", "Lee", "example.org", "1007"))
    assert sorted(one["total_percent"] or 0 for one in json.loads(text)["students"]) == [0, 0, 80, 100]
    (course / "judge_secret").write_text("t" * 64)
    CliRunner().invoke(main, ["export", str(course), "--to", "json", "--pseudonyms"])
    assert (course / "marks-json.json").read_text() != text
    refused = CliRunner().invoke(main, ["export", str(course), "--to", "moodle", "--pseudonyms"])
    assert "moodle has to know whose marks they are" in refused.output
    refused = CliRunner().invoke(main, ["export", str(course), "--to", "canvas"])
    assert refused.exit_code == 2
    assert "name that file with --from FILE" in refused.output


def test_nbgraders_own_table_has_the_same_marks(course):
    layout = course_layout(course)
    with Gradebook(layout.db_url, layout.course_id) as book:
        files.ExportMarks(to=str(course / "grades.csv")).export(book)
    rows = {(row["student_id"], row["assignment"]): row for row in imported((course / "grades.csv").read_text())}
    assert len(rows) == 8
    assert (rows["ann", ONE]["raw_score"], rows["ann", ONE]["score"]) == ("7.5", "6.0")
    assert [rows[who, ONE]["needs_manual_grade"] for who in ("ann", "bo", "di")] == ["no", "yes", ""]
    assert rows["bo", TWO]["last_name"] == "'=1+1"
    assert (rows["ann", ONE]["late_submission_penalty"], rows["ann", TWO]["late_submission_penalty"]) == ("1.5", "0.0")
    columns = ("raw_score", "late_submission_penalty", "score", "max_score")
    assert [rows["di", ONE][column] for column in columns] == ["0.0", "0.0", "0.0", "10.0"]


def test_nbgraders_own_table_has_its_own_name_where_none_is_given(monkeypatch, course):
    monkeypatch.chdir(course)
    with Gradebook(course_layout(course).db_url, "attention") as book:
        files.ExportMarks().export(book)
    assert len(imported((course / "grades.csv").read_text())) == 8


def test_json_leaves_out_what_nobody_knows_of_somebody_and_ends_as_a_text_does():
    text = files.as_json(Marks({ONE: 10.0}, {"ann": Person("ann", "Ann")}, {"ann": {}}, {"ann": None}))
    assert json.loads(text)["students"] == [{"id": "ann", "first_name": "Ann", "marks": {}, "total_percent": None}]
    assert text.endswith("}\n")


def test_nbgraders_own_table_of_some_without_those_who_have_left(course):
    withdraw(course, "bo")
    save_to_settle(course, ONE, {"Di O_505": {"di": "Di O"}})
    layout = course_layout(course)
    to = str(course / "some.csv")
    for chosen, who in (({}, ["ann", "cy", "di"]), ({"student": ["bo"]}, ["bo"])):
        with Gradebook(layout.db_url, layout.course_id) as book:
            files.ExportMarks(to=to, assignment=[ONE], config=layout.config, **chosen).export(book)
        rows = imported((course / "some.csv").read_text())
        assert [(row["student_id"], row["assignment"]) for row in rows] == [(one, ONE) for one in who]
        if "di" in who:
            assert [rows[2][column] for column in ("raw_score", "late_submission_penalty", "score")] == [""] * 3
