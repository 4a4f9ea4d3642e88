"""Somebody leaves a course: lists and files of marks are without them, and everything of theirs is as it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.course.class_directory import course_layout
from grader.course.roster import Person, Roster, update
from grader.nbgrader_settings import programs_on_path
from tests.gradebooks import add_submission

LESSON = "01_self_attention"
PEOPLE = (Person("42016", "Mary Ann", "Smith"), Person("42017", "Bo", "Ng"), Person("ann-lee", "Ann", "Lee"))
Grader = Callable[..., str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with three people, of whom one has a mark."""
    from nbgrader.api import Gradebook

    course = tmp_path_factory.mktemp("made") / "course"
    (course / "source").mkdir(parents=True)
    lines = ("c = get_config()", "c.CourseDirectory.course_id = 'attention'")
    (course / "nbgrader_config.py").write_text("\n".join(lines))
    programs_on_path()
    layout = course_layout(course)
    update(course, layout.db_url, layout.course_id, PEOPLE)
    with Gradebook(layout.db_url, layout.course_id) as book:
        book.add_assignment(LESSON)
        book.add_notebook(LESSON, LESSON)
        book.add_grade_cell("softmax", LESSON, LESSON, max_score=3, cell_type="code")
        (grade,) = add_submission(book, LESSON, "42016").notebooks[0].grades
        grade.auto_score, grade.needs_manual_grade = 2.0, False
        book.db.commit()
    return course


@pytest.fixture
def course(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "course"))


@pytest.fixture
def grader(course: Path) -> Grader:
    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, [*words])
        assert done.exit_code == code, done.output
        return done.output

    return run


def exported(course: Path, grader: Grader) -> dict[str, float | None]:
    grader("export", str(course), "--to", "json")
    students = json.loads((course / "marks-json.json").read_text())["students"]
    return {student["id"]: student["marks"][LESSON]["points"] for student in students}


def test_whoever_leaves_is_in_no_file_of_marks_and_comes_back_with_theirs(course: Path, grader: Grader) -> None:
    assert exported(course, grader) == {"42016": 2.0, "42017": None, "ann-lee": None}
    said = grader("course", "withdraw", str(course), "42016")
    assert "42016 (Mary Ann Smith) has left the course" in said
    assert exported(course, grader) == {"42017": None, "ann-lee": None}
    assert Roster.of(course).withdrawn == {"42016"}

    undo = said.splitlines()[-1].partition("grader ")[2].split()  # as it is printed
    assert "42016 (Mary Ann Smith) is in the course again" in grader(*undo)
    assert exported(course, grader) == {"42016": 2.0, "42017": None, "ann-lee": None}


def test_a_list_that_lacks_them_says_nothing_of_them(course: Path, grader: Grader, tmp_path: Path) -> None:
    short = tmp_path / "people.csv"
    short.write_text("id,first_name,last_name\nann-lee,Ann,Lee\n")
    assert "kept: 42016 (Mary Ann Smith), 42017 (Bo Ng)" in grader("roster", str(course), str(short))
    grader("course", "withdraw", str(course), "42016")
    assert "kept: 42017 (Bo Ng)\n" in grader("roster", str(course), str(short))


def test_an_excuse_of_somebody_who_has_left_is_no_fault(course: Path, grader: Grader) -> None:
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.CourseMarks.excused = {'42016': ['01']}\n")
    grader("course", "withdraw", str(course), "42016")
    assert exported(course, grader) == {"42017": None, "ann-lee": None}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("4201",), "has no id '4201'. Did you mean 42017 (Bo Ng)?"),
        (("42017", "--undo"), "42017 hasn't left the course, so there is nothing to undo."),
    ],
)
def test_what_cant_be_is_said(course: Path, grader: Grader, words: tuple[str, ...], why: str) -> None:
    assert why in grader("course", "withdraw", str(course), *words, code=2)


def test_nobody_leaves_twice(course: Path, grader: Grader) -> None:
    grader("course", "withdraw", str(course), "42017")
    assert "42017 has left the course already" in grader("course", "withdraw", str(course), "42017", code=2)
