"""A platform is one file: one that nobody knew is known to every command, and the table in the docs is made of all."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import grader.platforms
from grader.authoring.readme import made_pages
from grader.cli.main import main
from grader.course.class_directory import ClassDirectory
from grader.feedback.zips import name_in
from grader.platforms import registry
from tests.classroom import LESSON
from tests.handed_in.test_collect import book, created, handed_in

# Names of hand-ins as Blackboard has them, headings as nobody has.
CHALKBOARD = '''
"""Chalkboard."""

import re
from datetime import datetime

from grader.platforms.platform import Author, MarksFile, Platform

NAME = re.compile(r"gradebook_(?P<name>[a-z0-9]+)_attempt_(?P<when>[-0-9]+)_.+")


class Chalkboard(Platform):
    key, title = "chalkboard", "Chalkboard"
    headings = {"learner name": "first_name", "learner code": "lms_user_id"}
    ids, is_headed = ("learner code",), frozenset({"learner code"})
    list_has = "`Learner Code`"
    pattern, takes_marks, takes_feedback = NAME, True, "page"

    def authors(self, source):
        found = {top: match for top in source.tops if (match := NAME.fullmatch(top))}
        return {
            top: Author(self.key, top, *self.key_of(top), numbers=(("lms_user_id", match["name"]),),
                        time=datetime.strptime(match["when"], "%Y-%m-%d-%H-%M-%S"))
            for top, match in found.items()
        }

    def key_of(self, given):
        match = NAME.fullmatch(given)
        return (match["name"], match["name"]) if match else ("", "")

    def marks(self, marks, exported, where):
        rows = [[who, sum(filter(None, points.values()))] for who, points in marks.points.items()]
        return MarksFile([["Learner Code", "Sum"], *rows], "Learner Code")

    def feedback_name(self, given, lesson):
        return f"{given}/{lesson}.html" if NAME.fullmatch(given) else ""


PLATFORM = Chalkboard()
'''


@pytest.fixture
def chalkboard(tmp_path, monkeypatch):
    """A file more in the folder of platforms."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "chalkboard.py").write_text(CHALKBOARD)
    monkeypatch.setattr(grader.platforms, "__path__", [*grader.platforms.__path__, str(tmp_path / "more")])
    registry.platforms.cache_clear()
    yield
    registry.platforms.cache_clear()


def run(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("chalkboard")
def test_a_new_platform_is_one_file(tmp_path):
    course = created(tmp_path)
    people = tmp_path / "people.csv"
    people.write_text("Learner Code,Learner Name\nal1,Ann\nbo2,Bo\n")
    assert run("roster", course.root, people).startswith("2 added")
    given = tmp_path / "given.zip"
    with zipfile.ZipFile(given, "w") as archive:
        archive.writestr("gradebook_al1_attempt_2026-11-20-10-00-00_w.ipynb", book("a"))
    assert "1 taken" in run("collect", course.root, "00", given)
    assert handed_in(course, "al1") == book("a")
    time = course.root / "submitted" / "al1" / LESSON / "timestamp.txt"
    assert time.read_text() == "2026-11-20 10:00:00 UTC"
    output = tmp_path / "marks.csv"
    assert "Chalkboard identifies people" in run("export", course.root, "--to", "chalkboard", "--output", output)
    assert output.read_text() == "Learner Code,Sum\nal1,0\nbo2,0\n"
    course = ClassDirectory(course.root, LESSON)
    name = name_in(registry.by_key("chalkboard"), course, "al1")
    assert name == f"gradebook_al1_attempt_2026-11-20-10-00-00_w.ipynb/{LESSON}.html"
    assert "chalkboard" in run("feedback", "--help")


def test_what_no_platform_has_is_no_choice():
    done = CliRunner().invoke(main, ["export", ".", "--to", "chalkboard"])
    assert done.exit_code == 2
    assert "'chalkboard' is not one of 'moodle', 'canvas', 'csv', 'json'" in done.output


def test_each_platform_says_what_of_it_a_student_can_write():
    for platform in registry.platforms():
        said = [platform.names_in_words, platform.students_write, platform.times_in_words]
        assert all(said), platform.key
        assert Path(grader.platforms.__path__[0], f"{type(platform).__module__.rpartition('.')[2]}.py").exists()


def test_the_table_in_the_docs_is_made_of_these_files():
    texts = made_pages(Path(__file__).parents[2])["docs/platforms.md"]
    assert texts[0] == texts[1], "grader build --keep-outputs makes it"
    assert all(platform.title in texts[1] for platform in registry.platforms())
