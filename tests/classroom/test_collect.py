"""What learning platforms give: whose each file is, which one counts, what is odd."""

from __future__ import annotations

import json
import shutil
import zipfile
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.classroom import collect as collecting
from grader.classroom import earlier as earlier_ones
from grader.classroom.class_directory import ClassDirectory
from grader.classroom.collect import collect
from grader.classroom.create import create
from grader.classroom.roster import Person, update
from grader.cli.main import main
from grader.errors import CourseError
from tests.classroom.conftest import LESSON, SOLVED, solved

PEOPLE = (
    Person("ann", "Ann", "Lee", "ann@example.org", canvas_id="501", moodle="1007"),
    Person("bo", "Bo", "O'Neil", canvas_id="502"),
    Person("cy", "Cy", "Ng"),
    Person("di1", "Di", "Roe"),
    Person("di2", "Di", "Roe"),
)
MOODLE = "Ann Lee_12345_assignsubmission_file_"
NOON, ONE = (2026, 11, 22, 12, 0, 0), (2026, 11, 22, 13, 0, 0)


def created(folder):
    solutions = folder / "solutions"
    solutions.mkdir()
    (solutions / SOLVED.name).write_bytes(SOLVED.read_bytes())
    create(folder / "course", solutions, "attention")
    return ClassDirectory(folder / "course", LESSON)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Made once: a gradebook takes seconds."""
    course = created(tmp_path_factory.mktemp("made"))
    update(course.root, course.layout.db_url, "attention", PEOPLE)
    return course.root


@pytest.fixture
def course(made, tmp_path):
    shutil.copytree(made, tmp_path / "course")
    return ClassDirectory(tmp_path / "course", LESSON)


def book(answer: str) -> bytes:
    return json.dumps(solved(answer)).encode()


def zipped(folder, files, name="moodle.zip"):
    """files: path -> bytes, or (bytes, time)."""
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            data, time = data if isinstance(data, tuple) else (data, NOON)
            archive.writestr(zipfile.ZipInfo(path, time), data)
    return folder / name


def utc(local) -> str:
    return datetime(*local).astimezone(UTC).strftime(earlier_ones.FORMAT)


def handed_in(course, student) -> bytes:
    return (course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb").read_bytes()


def earlier(course, student) -> list[bytes]:
    folder = course.root / ".grader" / "earlier" / LESSON / student
    return [path.read_bytes() for path in sorted(folder.glob(f"*/{LESSON}.ipynb"))]


def test_moodles_zip(course, tmp_path):
    files = {
        f"{MOODLE}/{LESSON}.ipynb": book("a"),
        f"Bo O'Neil_12346_assignsubmission_file_{LESSON}.ipynb": book("b"),
        f"{MOODLE}/notes.txt": b"see above",
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.missing, outcome.passed_over) == (["ann", "bo"], ["cy", "di1", "di2"], 1)
    assert not outcome.odd
    assert not outcome.unknown
    assert handed_in(course, "ann") == book("a")
    assert handed_in(course, "bo") == book("b")
    assert (course.root / "submitted" / "ann" / LESSON / "timestamp.txt").read_text() == utc(NOON)


def test_canvas_names(course, tmp_path):
    files = {f"leeann_501_9001_{LESSON}-1.ipynb": book("a"), f"oneilbo_LATE_502_9002_{LESSON}.ipynb": book("b")}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.late) == (["ann", "bo"], ["bo"])


def test_gradescopes_list(course, tmp_path):
    listed = """
submission_77:
  :submitters:
  - :name: Somebody
    :sid: 'ann'
    :email: x@example.org
  :created_at: 2026-11-22 10:00:00.000000000 Z
"""
    files = {
        "assignment/submission_metadata.yml": listed.encode(),
        f"assignment/submission_77/{LESSON}.ipynb": book("a"),
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert outcome.taken == ["ann"]
    assert (course.root / "submitted" / "ann" / LESSON / "timestamp.txt").read_text() == "2026-11-22 10:00:00 UTC"


@pytest.mark.parametrize(
    "path",
    [
        f"bo+{LESSON}+2026-11-22 10:00:00 UTC+xyz/{LESSON}.ipynb",  # nbgrader's exchange
        f"{LESSON}-bo/{LESSON}.ipynb",  # GitHub Classroom
        f"bo/{LESSON}.ipynb",
        f"bo_{LESSON}.ipynb",
        "bo.ipynb",
        "Bo O'Neil - lesson zero.ipynb",
    ],
)
def test_a_folder_of_files(course, tmp_path, path):
    place = tmp_path / "given" / path
    place.parent.mkdir(parents=True)
    place.write_bytes(book("b"))
    outcome = collect(course, [tmp_path / "given"])
    assert (outcome.taken, outcome.unknown) == (["bo"], {})


def test_whom_nobody_knows_is_listed_and_not_made_up(course, tmp_path):
    files = {
        f"Eve Doe_1_assignsubmission_file_/{LESSON}.ipynb": book("e"),
        f"Di Roe_2_assignsubmission_file_/{LESSON}.ipynb": book("d"),
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert outcome.unknown == {
        f"moodle.zip: Eve Doe_1_assignsubmission_file_/{LESSON}.ipynb": "'Eve Doe' is not in the roster",
        f"moodle.zip: Di Roe_2_assignsubmission_file_/{LESSON}.ipynb": (
            "it may be di1 or di2: the roster has that name more than once"
        ),
    }
    assert not (course.root / "submitted").exists()


def test_nothing_is_overwritten_and_the_last_counts(course, tmp_path):
    path = f"{MOODLE}/{LESSON}.ipynb"
    collect(course, [zipped(tmp_path, {path: book("one")})])
    again = collect(course, [zipped(tmp_path, {path: book("one")})])
    assert (again.taken, again.unchanged, again.twice) == ([], ["ann"], {})
    newer = collect(course, [zipped(tmp_path, {path: (book("two"), ONE)})])
    assert (newer.taken, list(newer.twice)) == (["ann"], ["ann"])
    assert (handed_in(course, "ann"), earlier(course, "ann")) == (book("two"), [book("one")])
    older = collect(course, [zipped(tmp_path, {path: book("one")})])
    assert (older.taken, older.earlier, older.twice) == ([], ["ann"], {"ann": "the one that was there"})
    assert (handed_in(course, "ann"), earlier(course, "ann")) == (book("two"), [book("one")])


@pytest.mark.parametrize(
    ("counts", "kept", "late"),
    [("last", "two", ["ann"]), ("last-in-time", "one", []), ("first", "one", []), ("best", "two", ["ann"])],
)
def test_which_one_counts_is_a_setting(course, tmp_path, counts, kept, late):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"c.CourseCollect.counts = {counts!r}\n")
    course = ClassDirectory(course.root, LESSON)
    due = datetime(2026, 11, 22, 12, 30).astimezone(UTC).replace(tzinfo=None)
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=due)
    first, second = f"{MOODLE}/{LESSON}.ipynb", f"{MOODLE}/{LESSON} (1).ipynb"
    outcome = collect(
        course, [zipped(tmp_path, {first: book("one"), second: (book("two"), ONE)})], earlier_ones.counts(course)
    )
    assert (handed_in(course, "ann"), outcome.late) == (book(kept), late)
    assert list(outcome.twice) == ["ann"]


@pytest.mark.parametrize(
    ("counts", "days", "kept", "late"),
    [
        ("last-in-time", 5, "two", []),
        ("last-in-time", 0, "one", []),
        ("last", 5, "two", []),
        ("last", 1, "two", ["ann"]),
    ],
)
def test_an_extension_moves_the_time_until_which_a_hand_in_counts(course, tmp_path, counts, days, kept, late):
    due = datetime(2026, 11, 10, 12, 0).astimezone(UTC).replace(tzinfo=None)
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=due)
        gradebook.update_or_create_student("ann")
        gradebook.add_submission(LESSON, "ann")
        gradebook.grant_extension(LESSON, "ann", days=days)
    first, second = f"{MOODLE}/{LESSON}.ipynb", f"{MOODLE}/{LESSON} (1).ipynb"
    files = {
        first: (book("one"), (2026, 11, 9, 12, 0, 0)),
        second: (book("two"), (2026, 11, 12, 12, 0, 0)),
    }
    outcome = collect(course, [zipped(tmp_path, files)], counts)
    assert (handed_in(course, "ann"), outcome.late) == (book(kept), late)


def test_a_wrong_setting_is_told(course):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.CourseCollect.counts = 'newest'\n")
    with pytest.raises(
        CourseError, match=r"c\.CourseCollect\.counts: got 'newest', expected one of last, last-in-time"
    ):
        earlier_ones.counts(ClassDirectory(course.root, LESSON))


def test_another_lessons_notebook_beside_this_ones(course, tmp_path):
    other = SOLVED.with_name("01_self_attention.ipynb").read_bytes()
    files = {f"ann/{LESSON} (1).ipynb": book("a"), f"ann/{LESSON}.ipynb": (other, ONE)}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert handed_in(course, "ann") == book("a")
    said = f"none of this lesson's exercises is in it; moodle.zip: ann/{LESSON} (1).ipynb is taken"
    assert outcome.odd == {f"moodle.zip: ann/{LESSON}.ipynb": said}


def test_an_untouched_notebook_takes_no_answers_place(course, tmp_path):
    untouched = (SOLVED.parents[1] / "notebooks" / SOLVED.name).read_bytes()
    path = f"{MOODLE}/{LESSON}.ipynb"
    collect(course, [zipped(tmp_path, {path: book("a")})])
    outcome = collect(course, [zipped(tmp_path, {path: (untouched, ONE)})])
    assert (handed_in(course, "ann"), outcome.taken) == (book("a"), [])
    assert outcome.odd == {f"moodle.zip: {path}": "nothing is answered in it; the one that was there is taken"}
    assert earlier(course, "ann") == [untouched]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../../ann/00_start_here.ipynb", "leads out of the zip file"),
        ("/ann/00_start_here.ipynb", "leads out of the zip file"),
        ("C:\\ann\\00_start_here.ipynb", "leads out of the zip file"),
    ],
)
def test_a_path_that_climbs_out(course, tmp_path, path, said):
    outcome = collect(course, [zipped(tmp_path, {path: book("a"), f"bo/{LESSON}.ipynb": book("b")})])
    assert outcome.taken == ["bo"]
    assert list(outcome.odd.values()) == [f"its path {said}"]


def test_a_link_in_a_zip_and_in_a_folder(course, tmp_path):
    link = zipfile.ZipInfo(f"ann/{LESSON}.ipynb", NOON)
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    (tmp_path / "given" / "bo").mkdir(parents=True)
    (tmp_path / "given" / "bo" / f"{LESSON}.ipynb").symlink_to("/etc/passwd")
    outcome = collect(course, [tmp_path / "x.zip", tmp_path / "given"])
    assert not outcome.taken
    assert list(outcome.odd.values()) == ["it is a link, which is not followed"] * 2


def test_a_zip_bomb(course, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_BYTES", 1 << 20)
    outcome = collect(course, [zipped(tmp_path, {f"ann/{LESSON}.ipynb": b"0" * (2 << 20)})])
    assert not outcome.taken
    assert "GiB unpacked" in next(iter(outcome.odd.values()))


def test_a_header_that_claims_less_than_there_is(course, tmp_path):
    path = zipped(tmp_path, {f"ann/{LESSON}.ipynb": b"0" * 100_000})
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    outcome = collect(course, [path])
    assert not outcome.taken
    assert next(iter(outcome.odd.values())).startswith("it can't be unpacked: ")


def test_a_broken_zip_stops_nobody(course, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04" + b"x" * 100)
    outcome = collect(course, [tmp_path / "broken.zip", zipped(tmp_path, {f"bo/{LESSON}.ipynb": book("b")})])
    assert outcome.taken == ["bo"]
    assert "if it is a zip, it is broken" in outcome.odd[str(tmp_path / "broken.zip")]


def test_the_command_prints_who_and_what_and_ends_with_1(course, tmp_path):
    files = {f"{MOODLE}/{LESSON}.ipynb": book("a"), f"Eve_1_assignsubmission_file_/{LESSON}.ipynb": book("e")}
    path = zipped(tmp_path, files)
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path)])
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"{LESSON}: 1 taken",
        "not handed in:               4",
        *("    bo", "    cy", "    di1", "    di2"),
        "nobody's:                    1",
        f"    moodle.zip: Eve_1_assignsubmission_file_/{LESSON}.ipynb: 'Eve' is not in the roster",
    ]
    document = json.loads(CliRunner().invoke(main, ["collect", str(course.root), "0", str(path), "--json"]).output)
    assert document["unchanged"] == ["ann"]


def test_without_a_roster_it_says_what_comes_first(tmp_path):
    created(tmp_path)
    done = CliRunner().invoke(main, ["collect", str(tmp_path / "course"), "0", str(SOLVED)])
    assert done.exit_code == 2
    assert "grader roster COURSE FILE.csv" in done.output


def test_a_course_that_is_half_written_is_told_and_nothing_is_lost(course, tmp_path):
    path = zipped(tmp_path, {f"{MOODLE}/{LESSON}.ipynb": book("a")})

    def said() -> str:
        done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path)])
        assert done.exit_code == 2, done.output
        return done.output

    source = course.root / "source" / LESSON / f"{LESSON}.ipynb"
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    assert said() == f"{source} is not a whole notebook. Put the instructor's notebook there again.\n"
    source.write_bytes(whole)
    settings = (course.root / "nbgrader_config.py").read_text()
    (course.root / "nbgrader_config.py").unlink()
    assert "a course that was not made to its end: nbgrader_config.py is missing" in said()
    with pytest.raises(CourseError, match="was not made to its end"):
        create(course.root, SOLVED.parent)
    (course.root / "nbgrader_config.py").write_text(settings)
    assert collect(ClassDirectory(course.root, LESSON), [path]).taken == ["ann"]


def test_where_the_best_counts_a_new_one_waits_for_its_mark(course, tmp_path):
    path = f"{MOODLE}/{LESSON}.ipynb"
    collect(course, [zipped(tmp_path, {path: book("one")})], "best")
    newer = collect(course, [zipped(tmp_path, {path: (book("two"), ONE)})], "best")
    assert (newer.taken, newer.twice) == (["ann"], {"ann": "the one with the best mark, when they are graded"})
    assert (handed_in(course, "ann"), earlier(course, "ann")) == (book("one"), [book("two")])
    again = collect(course, [zipped(tmp_path, {path: (book("two"), ONE)})], "best")
    assert (again.taken, again.unchanged) == ([], ["ann"])
