"""A person leaves no trace in a course, and nobody else loses anything."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.cli.main import main
from grader.course.forget import mentions
from grader.course.roster import Person, Roster, read_list, save
from tests.classroom import LESSON, STUDENTS, answered, solved

ROSTER = "id,first_name,last_name,email\nann,Ann,Lee,ann.lee@example.org\nbo,Bo,Ng,bo@example.org\n"


@pytest.fixture
def after_a_term(classroom):
    """Handed in, collected, graded, fed back, exported, shown."""
    for name in STUDENTS:
        notebook = classroom.root / name / LESSON / f"{LESSON}.ipynb"
        notebook.write_text(json.dumps(answered(json.loads(notebook.read_text()), f"# {name}")))
        classroom.steps((name, "submit", LESSON))
        inbound = classroom.root / "exchange" / "attention" / "inbound"
        for entry in inbound.iterdir():  # the same user is everybody here
            student, rest = entry.name.split("+", 1)
            entry.rename(inbound / f"{student if student in STUDENTS else name}+{rest}")
    classroom.steps(("course", "collect", LESSON))
    (classroom.root / "list.csv").write_text(ROSTER)
    (classroom.root / "ann.ipynb").write_text(json.dumps(solved()))
    course = str(classroom.course)
    for command in (
        ["roster", course, "../list.csv"],
        ["collect", course, "0", "../ann.ipynb", "--counts", "first"],  # kept as an earlier one
        ["autograde", course, "0"],
        ["insights", course, "--names"],
        ["export", course, "--to", "csv"],
    ):
        classroom.run("grader", *command)
    classroom.steps(("course", "generate_feedback", LESSON), ("course", "release_feedback", LESSON))
    return classroom


def invoke(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_nothing_is_left_of_a_person(after_a_term, monkeypatch):
    course, exchange = after_a_term.course, after_a_term.root / "exchange"
    monkeypatch.setenv("HOME", after_a_term.environment["HOME"])
    names = {"ann", "ann.lee@example.org", "Ann Lee"}
    before = {path.relative_to(after_a_term.root).parts[0] for path in mentions([course, exchange], names)}
    assert before == {"course", "exchange"}
    released = list((exchange / "attention" / "feedback").iterdir())
    assert len(released) == 2

    everything = {path: path.read_bytes() for path in after_a_term.root.rglob("*") if path.is_file()}
    for answer in ("n\n", "\n", None):  # None: nobody is there to be asked
        asked = CliRunner().invoke(main, ["course", "forget", str(course), "ann"], input=answer)
        assert asked.exit_code == 2, asked.output
        assert asked.output.startswith("The following data about ann (Ann Lee) will be removed for good:\n")
        assert f"  submitted/ann/{LESSON}\n" in asked.output
        assert "  lines about ann in gradebook.db\n" in asked.output
        assert ", which you can make again: marks-csv.csv, insights.html" in asked.output
        assert asked.output.endswith("Nothing was removed. To remove this data without being asked, add --yes.\n")
    assert {path: path.read_bytes() for path in after_a_term.root.rglob("*") if path.is_file()} == everything

    done = CliRunner().invoke(main, ["course", "forget", str(course), "ann"], input="y\n")
    assert done.exit_code == 0, done.output
    assert "lines about ann removed from gradebook.db\n" in done.output
    assert "lines about ann removed from roster.csv\n" in done.output
    assert "removed: gradebook.db" not in done.output
    assert f"removed: submitted/ann/{LESSON}\n" in done.output
    assert done.output.endswith("A search of the course directory and the exchange found no trace of this student.\n")
    assert not list(mentions([course, exchange], names))
    assert len(list((exchange / "attention" / "feedback").iterdir())) == 1
    assert [path.name.partition("+")[0] for path in (exchange / "attention" / "inbound").iterdir()] == ["bo"]
    assert b"ann.lee" not in (course / "gradebook.db").read_bytes()
    assert not list((course / ".grader" / "earlier").glob("*/ann"))

    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        assert [one.id for one in book.students] == ["bo"]
        assert book.find_submission(LESSON, "bo").score == 0
    assert (course / "submitted" / "bo" / LESSON / f"{LESSON}.ipynb").is_file()
    assert (course / "feedback" / "bo" / LESSON / f"{LESSON}.html").is_file()
    again = after_a_term.run("grader", "autograde", str(course), "0")
    assert "0 graded now, 1 graded before" in again

    unknown = invoke("course", "forget", course, "ann", "--yes")
    assert unknown.exit_code == 2
    assert "there is no 'ann' in the files, the gradebook" in unknown.output
    assert "or the roster. Did you mean bo" in invoke("course", "forget", course, "boo").output

    (course / "notes.txt").write_text("bo asked for more time")
    assert "Did you mean bo (Bo Ng)?" in invoke("course", "forget", course, "boo", "--yes").output
    mentioned = invoke("course", "forget", course, "bo", "--yes")
    (course / "notes.txt").unlink()
    assert mentioned.exit_code == 1
    assert f"still mentioned in: {course}/notes.txt" in mentioned.output
    assert (exchange / "attention" / "inbound").is_dir()


def test_who_has_handed_in_nothing_since_a_day_expires(after_a_term, monkeypatch):
    course = after_a_term.course
    monkeypatch.setenv("HOME", after_a_term.environment["HOME"])
    long_ago = datetime.now() - timedelta(days=400)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        book.find_submission(LESSON, "ann").timestamp = long_ago
        book.db.commit()
    (course / "submitted" / "ann" / LESSON / "timestamp.txt").write_text(f"{long_ago:%Y-%m-%d %H:%M:%S} UTC")
    for folder in (after_a_term.root / "exchange" / "attention" / "inbound").glob("ann+*"):
        (folder / "timestamp.txt").write_text(f"{long_ago:%Y-%m-%d %H:%M:%S} UTC")
    with (course / "roster.csv").open("a") as file:
        file.write("old\nnew\n")  # of an earlier version, without the day on which they came
    roster = read_list(course / "roster.csv")
    assert {one.id: bool(one.added) for one in roster} == {"ann": True, "bo": True, "old": False, "new": False}
    save(course, [replace(one, added="2099-01-01") if one.id == "new" else one for one in roster])
    day = f"{datetime.now() - timedelta(days=300):%Y-%m-%d}"
    listed = invoke("course", "expire", course, "--before", day)
    assert listed.output == "2 would be removed (--yes removes them): ann, old (never handed anything in)\n"
    assert (course / "submitted" / "ann").is_dir()
    assert (
        invoke("course", "expire", course, "--before", day, "--yes").output
        == "2 removed: ann, old (never handed anything in)\n"
    )
    assert not (course / "submitted" / "ann").exists()
    assert (course / "submitted" / "bo").is_dir()
    assert [one.id for one in read_list(course / "roster.csv")] == ["bo", "new"]


def test_whose_work_is_not_graded_yet_has_handed_in(after_a_term, monkeypatch):
    """ann's is collected, bo's still in the exchange: the gradebook doesn't know it, and nobody is removed for that."""
    course, inbound = after_a_term.course, after_a_term.root / "exchange" / "attention" / "inbound"
    monkeypatch.setenv("HOME", after_a_term.environment["HOME"])
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for who in ("ann", "bo"):
            book.find_submission(LESSON, who).timestamp = datetime(2020, 1, 1)
        book.db.commit()
    for folder in (*inbound.iterdir(), *course.glob("submitted/*/*")):
        (folder / "timestamp.txt").write_text("2020-01-01 00:00:00 UTC")
    before = ["course", "expire", course, "--before"]
    assert invoke(*before, "2026-01-01").output == "2 would be removed (--yes removes them): ann, bo\n"
    new = {"2026-01-02": course / "submitted/ann/01_more", "2026-01-03": inbound / "bo+01_more+2026-01-03 00:00:00 UTC"}
    for day, folder in new.items():
        folder.mkdir()
        (folder / "timestamp.txt").write_text(f"{day} 00:00:00 UTC")
    assert invoke(*before, "2026-01-01").output == "0 would be removed (--yes removes them): nobody\n"
    assert invoke(*before, "2026-01-03").output == "1 would be removed (--yes removes them): ann\n"


@pytest.mark.parametrize(
    "other", ["ann+2@x.org", "ann+01_more", "ann.lee", "ann-2", "ann@x.org", "x+ann", "ann lee", "ann+2+3"]
)
def test_whose_id_holds_another_ones_keeps_everything(classroom, other):
    """In the course, the exchange, the gradebook and the notes on pages; and nothing of theirs is a mention."""
    course, inbound = classroom.course, classroom.root / "exchange" / "attention" / "inbound"
    people = [Person("ann", "A", "X"), Person(other, "Ann", "Y", f"{other}@uni.example"), Person("zoe", "Zoë", "Ann")]
    (course.parent / "people.csv").write_text(
        "Username,First name,Last name,Email address\n"
        + "".join(f"{person.id},{person.first_name},{person.last_name},{person.email}\n" for person in people)
    )
    read = invoke("roster", course, course.parent / "people.csv")
    assert read.exit_code == 0, read.output
    ours, theirs = [], []
    for who, mine in (("ann", ours), (other, theirs)):
        for end in ("+abc", ""):
            mine.append(inbound / f"{who}+{LESSON}+2026-11-20 10:00:00 UTC{end}" / f"{LESSON}.ipynb")
        mine += [course / step / who / LESSON / f"{LESSON}.ipynb" for step in ("submitted", "autograded", "feedback")]
        mine.append(course / ".grader" / "came-from" / LESSON / who)
    for path in (*ours, *theirs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (course / ".grader" / "feedback").mkdir(exist_ok=True)
    (course / ".grader" / "feedback" / f"{LESSON}.json").write_text(json.dumps({"ann": "1", other: "2"}))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for who in ("ann", other):
            book.update_or_create_student(who)
    done = invoke("course", "forget", course, "ann", "--yes")
    assert done.exit_code == 0, done.output
    assert Roster.of(course).people.keys() >= {other, "zoe"}
    assert [path for path in ours if path.exists()] == []
    assert [path for path in theirs if not path.exists()] == []
    assert json.loads((course / ".grader" / "feedback" / f"{LESSON}.json").read_text()) == {other: "2"}
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        assert book.find_student(other)
    for path in theirs:
        shutil.rmtree(path.parent) if path.parent.name != LESSON or path.suffix else path.unlink()


def test_a_name_inside_another_word_is_no_mention(tmp_path):
    (tmp_path / "a.txt").write_text("the annex, Hannah, joann")
    (tmp_path / "b.txt").write_text("dear Ann, thank you")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "c.txt").write_text("ann")
    assert [path.name for path in mentions([tmp_path], {"ann"})] == ["b.txt"]
    assert not list(mentions([tmp_path], set()))
