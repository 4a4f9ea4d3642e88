"""A collecting is taken back: files, times and marks are as they were."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from grader.course.class_directory import course_layout
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from grader.course.roster import Person, update
from grader.insights.collect import lesson_insights
from tests.batch.conftest import LESSON, RIGHT, SQUARED, answered, command

PEOPLE = (Person("ann", "Ann", "Lee"), Person("bo", "Bo", "Ng"), Person("cy", "Cy", "Roe"))
BY_HAND = "update grade set manual_score = 0.75, needs_manual_grade = 0"


def given(room, name: str, **answers: str):
    """A zip as Moodle writes it, of the day after; by student the answer."""
    names = {person.id: person.full_name for person in PEOPLE}
    with zipfile.ZipFile(room.root / name, "w") as archive:
        for who, answer in answers.items():
            path = f"{names[who]}_{500 + [*names].index(who)}_assignsubmission_file_/{LESSON}.ipynb"
            archive.writestr(zipfile.ZipInfo(path, (2026, 11, 21, 12, 0, 0)), answered(answer))
    return name


@pytest.fixture
def begun(room):
    """ann has handed in, has a mark and one by hand; bo and cy are on the roster."""
    layout = course_layout(room.root)
    update(room.root, layout.db_url, layout.course_id, PEOPLE)
    room.submit("ann", answered(RIGHT))
    room.grade()
    room.sql(BY_HAND)
    room.grade()
    command(room.root, "grader", "feedback", ".", "00")
    return room


def files(room) -> dict[str, bytes]:
    """All that is handed in or made of it, but for the log, which keeps what was graded."""
    steps = ("submitted", "autograded", ".grader/earlier", ".grader/came-from", ".grader/to-settle")
    found = [path for step in steps for path in (room.root / step).rglob("*") if path.is_file()]
    return {str(path.relative_to(room.root)): path.read_bytes() for path in sorted(found)}


def undo(room, *more: str, code: int = 0) -> str:
    done = command(room.root, "grader", "collect", ".", "00", "--undo", *more, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_files_times_and_marks_are_as_before_the_collecting(begun):
    before, book = files(begun), begun.book()
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", ann=SQUARED, bo=SQUARED))
    assert files(begun) != before
    begun.grade()
    begun.sql("update grade set manual_score = 0.1")  # to the wrong work
    command(begun.root, "grader", "feedback", ".", "00")
    assert begun.book()["grades"] != book["grades"]

    said = undo(begun)
    assert "1 now without a hand-in: bo" in said
    assert "1 back to their earlier hand-in: ann" in said
    assert "  ann (Ann Lee): 0.1 → 0.75\n" in said
    assert "  bo (Bo Ng): 0.1 → no mark\n" in said
    assert files(begun) == before
    assert begun.book() == book
    assert not (begun.root / "feedback" / "bo" / LESSON).exists()
    outcome = begun.grade()
    assert (outcome.graded, outcome.missing) == (0, ("bo", "cy"))
    assert begun.book() == book
    assert lesson_insights(begun.root, LESSON).summary.graded == 1
    assert "there is no collection of" in undo(begun, code=2)


def test_what_was_not_graded_since_keeps_its_marks(begun):
    before = files(begun)
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", ann=SQUARED))
    begun.sql("update grade set manual_score = 0.5")
    told = json.loads(undo(begun, "--json"))
    assert (told["earlier"], told["nothing"], told["marks"]) == (["ann"], [], {})
    assert files(begun) == before
    assert [row[5] for row in begun.book()["grades"]] == [0.5]


def test_only_the_last_collecting_that_changed_anything_is_taken_back(begun):
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", bo=RIGHT))
    between = files(begun)
    command(begun.root, "grader", "collect", ".", "00", given(begun, "y.zip", bo=RIGHT, cy=RIGHT))
    command(begun.root, "grader", "collect", ".", "00", "y.zip")  # nothing is new in it
    assert "1 now without a hand-in: cy" in undo(begun)
    assert {**between, **files(begun)} == files(begun)
    assert sorted(path.name for path in (begun.root / "submitted").iterdir()) == ["ann", "bo"]


def test_whoever_has_something_else_in_place_since_is_left(begun):
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", ann=SQUARED, bo=SQUARED))
    begun.submit("bo", answered(RIGHT))
    said = undo(begun, code=1)
    assert "bo (Bo Ng): left as it is, since something else has replaced what was collected" in said
    assert begun.folder("bo").joinpath(f"{LESSON}.ipynb").read_bytes() == answered(RIGHT)
    assert begun.folder("ann").joinpath(f"{LESSON}.ipynb").read_bytes() == answered(RIGHT)


def test_a_collecting_makes_no_log_of_results(begun):
    """Whoever asks what was graded finds nothing of a lesson that is only collected."""
    log = lines_file(begun.root, RESULTS, LESSON)
    log.unlink()
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", bo=RIGHT))
    assert not log.exists()


def test_files_and_undo_are_not_said_together(begun):
    name = given(begun, "x.zip", ann=RIGHT)
    done = command(begun.root, "grader", "collect", ".", "00", name, "--undo", check=False)
    assert done.returncode == 2
    assert "With --undo, don't name any" in done.stderr
    assert command(begun.root, "grader", "collect", ".", "00", check=False).returncode == 2


def test_a_forgotten_student_is_in_no_copy(begun):
    command(begun.root, "grader", "collect", ".", "00", given(begun, "x.zip", ann=SQUARED))
    (begun.root / "x.zip").unlink()
    assert (begun.root / ".grader" / "collected" / LESSON / "ann" / "notebook").is_file()
    assert (
        "found no trace of this student"
        in command(begun.root, "grader", "course", "forget", ".", "ann", "--yes").stdout
    )
    assert not (begun.root / ".grader" / "collected" / LESSON / "ann").exists()


def test_to_be_settled_is_said_in_every_list_and_export(begun):
    """Two of one name, one hand-in: of neither can be said that they handed in nothing, and neither has 0."""
    layout = course_layout(begun.root)
    update(begun.root, layout.db_url, layout.course_id, (Person("di1", "Di", "Roe"), Person("di2", "Di", "Roe")))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"Di Roe_505_assignsubmission_file_/{LESSON}.ipynb", answered(RIGHT))
    (begun.root / "di.zip").write_bytes(data.getvalue())
    command(begun.root, "grader", "collect", ".", "00", "di.zip", check=False)
    told = json.loads(
        command(begun.root, "grader", "autograde", ".", "00", "--json", "--workers", "1", check=False).stdout
    )
    assert (told["not_handed_in"], told["to_settle"]) == (["bo", "cy"], ["di1", "di2"])
    command(begun.root, "grader", "export", ".", "--to", "json")
    people = json.loads((begun.root / "marks-json.json").read_text())["students"]
    states = {one["id"]: (one["marks"][LESSON]["state"], one["total_percent"]) for one in people}
    assert states["di1"] == states["di2"] == ("not settled yet whose hand-in it is", None)
    command(begun.root, "nbgrader", "export")
    rows = [line.split(",") for line in (begun.root / "grades.csv").read_text().splitlines()]
    scores = {row[3]: row[9] for row in rows}
    assert (scores["di1"], scores["di2"], scores["bo"]) == ("", "", "0.0")

    settled = command(begun.root, "grader", "collect", ".", "00", "di.zip", "--is", "Di Roe_505=di2")
    assert "not handed in:               3\n    bo (Bo Ng)\n    cy (Cy Roe)\n    di1 (Di Roe)" in settled.stdout
    undo(begun)
    again = command(begun.root, "grader", "autograde", ".", "00", "--workers", "1", check=False).stdout
    assert "2 still to be settled (grader collect shows how): di1 (Di Roe), di2 (Di Roe)" in again
