"""What learning platforms give: whose each file is, which one counts, what is odd."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import stat
import struct
import zipfile
from datetime import UTC, datetime
from time import process_time

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.cli.main import main
from grader.course.class_directory import ClassDirectory
from grader.course.roster import Person, update
from grader.course.to_settle import unsettled
from grader.errors import CourseError
from grader.handed_in import archive as archive_module
from grader.handed_in import earlier as earlier_ones
from grader.handed_in import hand_in
from grader.handed_in.collect import collect
from grader.handed_in.collected import Collected, as_text
from grader.handed_in.exchange import CollectRegularFiles
from grader.judge.reader import read
from grader.source.create import create
from tests.classroom import LESSON, SOLVED, solved
from tests.gradebooks import add_submission

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
    assert (outcome.taken, outcome.missing) == (["ann", "bo"], ["cy", "di1", "di2"])
    assert (outcome.passed_over, outcome.no_notebook) == ({"ann": ["notes.txt"]}, {})
    assert not outcome.odd
    assert not outcome.unknown
    assert handed_in(course, "ann") == book("a")
    assert handed_in(course, "bo") == book("b")
    assert (course.root / "submitted" / "ann" / LESSON / "timestamp.txt").read_text() == utc(NOON)


@pytest.mark.parametrize("late", ["LATE", "late"], ids=["today", "an older Canvas, which wrote names in lower case"])
def test_canvas_names(course, tmp_path, late):
    files = {f"leeann_501_9001_{LESSON}-1.ipynb": book("a"), f"oneilbo_{late}_502_9002_{LESSON}.ipynb": book("b")}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.late) == (["ann", "bo"], ["bo"])


def test_which_lesson_a_notebook_is_of_takes_one_reading(monkeypatch, course):
    """Not one for each lesson: a large notebook that holds no lesson's exercises would cost twelve times as much."""
    reads = []
    monkeypatch.setattr(hand_in, "read", lambda *what: reads.append(what) or read(*what))
    for other in ("01_self_attention", "02_trainable_attention"):
        folder = course.root / "source" / other
        folder.mkdir(exist_ok=True)
        shutil.copy(SOLVED.with_name(f"{other}.ipynb"), folder)
    works = [SOLVED.with_name(f"{name}.ipynb").read_bytes() for name in ("02_trainable_attention", "11_small_gpt")]
    assert hand_in.lesson_held(course, works) == "02_trainable_attention"
    assert len(reads) == len(works)


def test_another_lesson_s_notebook_is_named_and_not_run(course):
    other = "02_trainable_attention"
    (course.root / "source" / other).mkdir(exist_ok=True)
    shutil.copy(SOLVED.with_name(f"{other}.ipynb"), course.root / "source" / other)
    lesson, limits, folder = hand_in.handed_out(course.outline()), course.limits(), course.root / "submitted" / "ann"
    (folder / LESSON).mkdir(parents=True)
    (folder / LESSON / f"{LESSON}.ipynb").write_bytes(SOLVED.with_name(f"{other}.ipynb").read_bytes())
    chosen = hand_in.hand_in(course.submission("ann"), lesson, limits)
    assert (chosen.unreadable, chosen.of_lesson) == ("", False)
    told = hand_in.of_another_lesson(course, chosen)
    assert told.unreadable == f"Not run: the notebook has the exercises of {other} and none of {LESSON}."
    assert told.remarks == (f"{LESSON}.ipynb has none of this lesson's exercises. Handed in: {LESSON}.ipynb.",)
    (folder / LESSON / f"{LESSON}.ipynb").write_bytes(SOLVED.read_bytes())
    right = hand_in.hand_in(course.submission("ann"), lesson, limits)
    assert hand_in.of_another_lesson(course, right) is right


@pytest.mark.parametrize(("days", "late"), [(0, ["bo"]), (40, [])])
def test_canvas_late_is_not_said_of_whoever_has_an_extension(course, tmp_path, days, late):
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=datetime(2026, 11, 10, 12, 0))
        gradebook.update_or_create_student("bo")
        add_submission(gradebook, LESSON, "bo")
        gradebook.grant_extension(LESSON, "bo", days=days)
    files = {f"oneilbo_LATE_502_9002_{LESSON}.ipynb": (book("b"), (2026, 11, 9 + days // 10, 12, 0, 0))}
    assert collect(course, [zipped(tmp_path, files)]).late == late


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


# --- whatever is handed in is named -----------------------------------------------------------------------------------


def inner(files) -> bytes:
    """A zip that a student made."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


BO, CY = "Bo O'Neil_12346_assignsubmission_file_", "Cy Ng_12347_assignsubmission_file_"


def test_a_folder_without_a_notebook_is_listed_by_student_and_file(course, tmp_path):
    files = {
        f"{MOODLE}/{LESSON}.ipynb": book("a"),
        f"{BO}/Self attention.docx": b"PK",
        f"{BO}/sub/work.py": b"x",
        f"{BO}/.DS_Store": b"x",
        "oneilbo_502_9002_notes.py": b"y",
        "Eve Doe_1_assignsubmission_file_/essay.docx": b"x",
        "Di Roe_2_assignsubmission_file_/essay.docx": b"x",
        "readme.txt": b"x",
    }
    path = zipped(tmp_path, files)
    outcome = collect(course, [path])
    assert outcome.no_notebook == {"bo": ["Self attention.docx", "sub/work.py", "oneilbo_502_9002_notes.py"]}
    assert (outcome.taken, outcome.missing, outcome.to_settle) == (["ann"], ["cy"], ["di1", "di2"])
    assert outcome.passed_over == {"readme.txt": []}
    assert outcome.unknown["moodle.zip: Eve Doe_1_assignsubmission_file_"] == (
        "'Eve Doe' is not on the roster (no notebook in it: essay.docx)"
    )
    assert "--is 'Di Roe_2=di1'" in outcome.unknown["moodle.zip: Di Roe_2_assignsubmission_file_"]
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path)])
    assert done.exit_code == 1
    assert "no notebook in it:           1\n    bo (Bo O'Neil): Self attention.docx, sub/work.py" in done.output
    assert "with other files, left alone: 1 (--all names them)\n" in done.output
    assert "    readme.txt\n" in CliRunner().invoke(main, ["collect", str(course.root), "0", str(path), "--all"]).output


@pytest.mark.parametrize(
    "place",
    [
        f"{BO}/work.zip",
        f"{BO}/sub/work.ZIP",
        "Bo O'Neil_12346_assignsubmission_file_work.zip",
        "oneilbo_502_9_w.zip",
        "bo.zip",
    ],
)
def test_a_zip_in_a_students_work_is_opened_and_has_the_platforms_time(course, tmp_path, place):
    work = inner({f"my work/{LESSON}.ipynb": book("b"), "my work/notes.txt": b"x", "__MACOSX/._x.ipynb": b"x"})
    files = {place: (work, ONE), f"{MOODLE}/{LESSON}.ipynb": book("a")}
    in_place = tmp_path / "given" / place
    in_place.parent.mkdir(parents=True)
    in_place.write_bytes(work)
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.odd, outcome.unknown) == (["ann", "bo"], {}, {})
    assert handed_in(course, "bo") == book("b")
    assert (course.root / "submitted" / "bo" / LESSON / "timestamp.txt").read_text() == utc(ONE)
    shutil.rmtree(course.root / "submitted")
    assert collect(course, [tmp_path / "given"]).taken == ["bo"]


def test_a_zip_in_a_students_work_is_bounded_as_the_outer_one(course, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_ZIPS", 4)
    monkeypatch.setattr(archive_module, "MAX_FILES", 50)
    link = zipfile.ZipInfo("x.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    linked = io.BytesIO()
    with zipfile.ZipFile(linked, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    files = {
        f"{BO}/1.zip": inner({f"../../ann/{LESSON}.ipynb": book("evil"), f"ann/{LESSON}.ipynb": book("b")}),
        f"{BO}/2.zip": linked.getvalue(),
        f"{BO}/3.zip": inner({"deeper.zip": inner({f"{LESSON}.ipynb": book("deep")})}),
        f"{BO}/4.zip": b"PK\x03\x04 torn",
        f"{BO}/5.zip": inner({f"{LESSON}.ipynb": book("fifth")}),
        f"{CY}/many.zip": inner({f"{number}.txt": b"" for number in range(60)}),
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, handed_in(course, "bo")) == (["bo"], book("b"))
    assert outcome.odd == {
        f"moodle.zip: {BO}/1.zip/../../ann/{LESSON}.ipynb": "its path leads out of the zip file",
        f"moodle.zip: {BO}/2.zip/x.ipynb": "it is a link, and links aren't followed",
        f"moodle.zip: {BO}/4.zip": "the zip file is not opened: it is broken: it has no end",
        f"moodle.zip: {BO}/5.zip": "the zip file is not opened: only 4 of one student's zip files are opened",
        f"moodle.zip: {CY}/many.zip": "only 50 of its files were looked at",
        "bo": "'ann' in the path of a file doesn't count, since it is inside this student's own work",
    }
    assert "3.zip/deeper.zip" in outcome.passed_over["bo"]
    assert len(outcome.no_notebook["cy"]) == 21


def test_a_bomb_in_a_students_zip_costs_its_owner(course, tmp_path):
    """A file that unpacks to more than a notebook may be, and a list of contents of a million files."""
    flat = inner({"x.ipynb": b"0" * (101 << 20)})
    one = inner({"x": b""})
    directory = one[one.index(b"PK\1\2") : one.index(b"PK\5\6")]
    names = directory * (9 * (1 << 20) // len(directory))
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, len(names), len(one) - len(directory) - 22, 0)
    crowd = one[: one.index(b"PK\1\2")] + names + end
    files = {f"{BO}/flat.zip": flat, f"{CY}/crowd.zip": crowd, f"{MOODLE}/{LESSON}.ipynb": book("a")}
    began = process_time()
    outcome = collect(course, [zipped(tmp_path, files)])
    assert process_time() - began < 30
    assert outcome.taken == ["ann"]
    assert "at most 104857600 are read" in outcome.odd[f"moodle.zip: {BO}/flat.zip/x.ipynb"]
    assert outcome.odd[f"moodle.zip: {CY}/crowd.zip"] == "the zip file is not opened: there are too many files in it"
    assert outcome.no_notebook == {"cy": ["crowd.zip"]}


def test_who_handed_in_nothing_comes_last_and_folds():
    outcome = Collected(LESSON, missing=[f"s{number:02}" for number in range(15)], odd={"x": "y"})
    lines = as_text(outcome).splitlines()
    assert lines[-12:] == [
        "not handed in:               15",
        *(f"    s{number:02}" for number in range(10)),
        "    and 5 more (--all names them)",
    ]
    assert as_text(outcome, everybody=True).splitlines()[-1] == "    s14"


@pytest.mark.parametrize(("days", "told"), [(1, False), (-1, True)])
def test_a_whole_class_that_is_late_at_once_is_told(course, tmp_path, days, told):
    """Newer versions of Moodle write the time of the download into the zip."""
    due = datetime(2026, 11, 22 + days, 12, 0).astimezone(UTC).replace(tzinfo=None)
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=due)
    files = {
        f"{who}.ipynb": (book(who), (2026, 11, 22, 12, 0, 2 * second))
        for second, who in enumerate(("ann", "bo", "cy", "di1", "di2"))
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert len(outcome.taken) == 5
    assert list(outcome.odd) == ["moodle.zip"] * told
    assert all("Are they the times of the download?" in said for said in outcome.odd.values())


# --- a copy by hand ---------------------------------------------------------------------------------------------------


def test_what_is_copied_by_hand_keeps_the_platforms_time(course, tmp_path):
    """As a teacher does who unpacks the zip because two people have one name: the copies are of today."""
    due = datetime(2026, 11, 23, 12, 0).astimezone(UTC).replace(tzinfo=None)
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=due)
    files = {f"Di Roe_{number}_assignsubmission_file_/{LESSON}.ipynb": book(f"{number}") for number in (505, 506)}
    collect(course, [zipped(tmp_path, {**files, f"{MOODLE}/{LESSON}.ipynb": book("a")})])
    assert state(course).keys() == {"ann"}
    copies = {f"di1/{LESSON}.ipynb": book("505"), f"di2/{LESSON}.ipynb": book("506"), "ann/w.ipynb": book("a")}
    outcome = collect(course, [in_folder(tmp_path / "copies", copies)])
    assert (outcome.taken, outcome.unchanged, outcome.late) == (["di1", "di2"], ["ann"], [])
    assert sorted(outcome.copied) == ["ann", "di1", "di2"]
    assert {time for _data, time in state(course).values()} == {"2026-11-22"}
    assert "copied; time from the zip:   3\n    ann\n    di1\n    di2" in as_text(outcome)


def test_nobody_gets_the_time_of_anothers_hand_in(course, tmp_path):
    collect(course, [zipped(tmp_path, {f"{MOODLE}/{LESSON}.ipynb": book("same")})])
    place = in_folder(tmp_path / "copies", {f"bo/{LESSON}.ipynb": book("same")})
    os.utime(place / "bo" / f"{LESSON}.ipynb", (1_900_000_000, 1_900_000_000))
    outcome = collect(course, [place])
    assert (outcome.taken, outcome.copied) == (["bo"], [])
    assert state(course)["bo"][1] == "2030-03-17"


# --- what a student can write says nothing about whose work it is, or when it came ------------------------------------


PAIR = (Person("ann", "Ann", "Lee", "ann@example.org", canvas_id="501"), Person("mallory", "Mal", "Lory", "m@x.org"))
TIME = "2026-11-22 10:00:00.000000000 Z"


@pytest.fixture(scope="module")
def made_for_two(tmp_path_factory):
    course = created(tmp_path_factory.mktemp("two"))
    update(course.root, course.layout.db_url, "attention", PAIR)
    return course.root


@pytest.fixture
def two(made_for_two, tmp_path):
    """A course of ann, who is honest, and mallory."""
    shutil.copytree(made_for_two, tmp_path / "course")
    return ClassDirectory(tmp_path / "course", LESSON)


def listed(**folders) -> bytes:
    """Gradescope's list: by folder who handed it in, and when."""
    entry = "{}:\n  :submitters:\n  - :name: {}\n    :sid: '{}'\n    :email: {}\n  :created_at: {}\n"
    return "".join(entry.format(folder, *told) for folder, told in folders.items()).encode()


def state(course) -> dict[str, tuple[bytes, str]]:
    """By student: the notebook that is in place, and its time."""
    found = {}
    for folder in (course.root / "submitted").glob(f"*/{LESSON}"):
        time = (folder / "timestamp.txt").read_text()[:10]
        found[folder.parent.name] = ((folder / f"{LESSON}.ipynb").read_bytes(), time)
    return found


def in_folder(place, files):
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    return place


GOOD, BAD = book("good"), book("bad")
OURS = listed(submission_1=("A", "ann", "a@x", TIME), submission_2=("M", "mallory", "m@x", TIME))
FORGED = listed(submission_1=("M", "mallory", "", "2026-09-01"), submission_2=("A", "ann", "", "2026-09-01"))


@pytest.mark.parametrize("place", ["submission_2", "submission_2/submission_1", "submission_2/sub/assignment_9_export"])
@pytest.mark.parametrize("around", ["", "assignment_9_export/", "a/b/"])
def test_a_students_own_list_is_not_gradescopes(two, tmp_path, place, around):
    files = {
        f"{around}submission_metadata.yml": OURS,
        f"{around}submission_1/{LESSON}.ipynb": GOOD,
        f"{around}submission_2/{LESSON}.ipynb": BAD,
        f"{around}{place}/submission_metadata.yml": FORGED,
    }
    for source in (zipped(tmp_path, files), in_folder(tmp_path / "given", files)):
        outcome = collect(two, [source])
        assert state(two) == {"ann": (GOOD, "2026-11-22"), "mallory": (BAD, "2026-11-22")}
        assert list(outcome.odd) == ["mallory"]
        assert "'submission_metadata.yml' in the path of a file doesn't count" in outcome.odd["mallory"]


def test_without_gradescopes_own_list_a_students_makes_nobodys_folder_somebodys(two, tmp_path):
    files = {
        f"submission_1/{LESSON}.ipynb": GOOD,
        f"submission_2/{LESSON}.ipynb": BAD,
        "submission_2/submission_metadata.yml": FORGED,
    }
    outcome = collect(two, [zipped(tmp_path, files)])
    assert (state(two), len(outcome.unknown)) == ({}, 2)


def test_two_lists_beside_the_folders_say_nothing(two, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for path, data in (
            ("submission_metadata.yml", OURS),
            (f"submission_1/{LESSON}.ipynb", GOOD),
            ("./submission_metadata.yml", FORGED),
        ):
            archive.writestr(zipfile.ZipInfo(path, NOON), data)
    outcome = collect(two, [tmp_path / "x.zip"])
    assert state(two) == {}
    assert outcome.odd == {
        "x.zip: submission_metadata.yml": "this file occurs more than once, so no folder's owner is known"
    }


def test_whoever_calls_themselves_by_anothers_name_is_not_them(two, tmp_path):
    """Gradescope and Canvas let people change their own name, not their address and number."""
    files = {
        "submission_metadata.yml": listed(submission_2=("Ann Lee", "", "m@elsewhere.org", TIME)),
        f"submission_2/{LESSON}.ipynb": BAD,
    }
    outcome = collect(two, [zipped(tmp_path, files)])
    assert list(outcome.unknown.values()) == ["'Ann Lee' is on the roster, but not with the email 'm@elsewhere.org'"]
    outcome = collect(two, [zipped(tmp_path, {f"leeann_666_9001_{LESSON}.ipynb": BAD}, "canvas.zip")])
    assert list(outcome.unknown.values()) == ["'leeann' is on the roster, but not with the canvas_id '666'"]
    assert state(two) == {}


@pytest.mark.parametrize(
    "inside",
    [
        "ann/w.ipynb",
        "01-ann/w.ipynb",
        "deep/er/ann/w.ipynb",
        "ann.ipynb",
        f"ann+{LESSON}+2030-01-01 00:00:00 UTC+x/w.ipynb",
        "Ann Lee_12_assignsubmission_file_/w.ipynb",
        "Ann Lee_12_assignsubmission_file_w.ipynb",
        "leeann_501_9001_w.ipynb",
    ],
)
@pytest.mark.parametrize("outside", ["01-mallory", "mallory", "01-stranger", "01-x-ann"])
def test_the_outermost_name_counts(two, tmp_path, inside, outside):
    """mallory's work stays mallory's, a stranger's is nobody's, and one who calls themselves x-ann isn't ann."""
    files = {f"01-ann/{LESSON}.ipynb": GOOD, f"{outside}/{inside}": BAD}
    for source in (zipped(tmp_path, files), in_folder(tmp_path / "given", files)):
        outcome = collect(two, [source])
        assert state(two)["ann"][0] == GOOD
        known = outside.endswith("mallory")
        assert state(two).get("mallory", ("",))[0] == (BAD if known else "")
        assert len(outcome.unknown) == (not known)
        assert list(outcome.odd) == (["mallory"] if known else [])


def test_a_date_inside_ones_own_work_is_no_time_of_a_hand_in(two, tmp_path):
    inside = f"01-mallory/mallory+{LESSON}+2020-01-01 00:00:00 UTC/w.ipynb"
    outcome = collect(two, [zipped(tmp_path, {inside: (BAD, NOON), f"01-ann/{LESSON}.ipynb": GOOD})])
    assert state(two)["mallory"] == (BAD, "2026-11-22")
    assert list(outcome.odd) == ["mallory"]


def test_a_clone_is_its_own_folders(two, tmp_path):
    """Whatever is in it, and however the clones are named to the command: each by itself, or the folder of all."""
    place = in_folder(tmp_path / "given", {"01-ann/w.ipynb": GOOD, "01-x/ann/w.ipynb": BAD, "01-x/mallory.ipynb": BAD})
    for clone in place.iterdir():
        (clone / ".git").mkdir()
    outcome = collect(two, sorted(place.iterdir()))
    assert ({who: data for who, (data, _) in state(two).items()}, len(outcome.unknown)) == ({"ann": GOOD}, 2)
    shutil.rmtree(place / "01-ann")
    outcome = collect(two, [place])
    assert (outcome.taken, len(outcome.unknown)) == ([], 2)


def test_a_folder_of_the_exchange_is_its_owners(two, tmp_path):
    if os.geteuid():
        pytest.skip("only root can make another user's folder")
    inbound = in_folder(tmp_path / "inbound", {f"ann+{LESSON}+2030-01-01 00:00:00 UTC+x/{LESSON}.ipynb": BAD})
    os.chown(next(inbound.iterdir()), 65534, 65534)
    outcome = collect(two, [inbound])
    assert state(two) == {}
    assert "not to ann (see check_owner in docs/grading.md)" in next(iter(outcome.odd.values()))
    with (two.root / "nbgrader_config.py").open("a") as file:
        file.write("c.ExchangeCollect.check_owner = False\n")
    assert collect(ClassDirectory(two.root, LESSON), [inbound]).taken == ["ann"]


@pytest.mark.parametrize(
    "bomb",
    [
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(12))
        + "submission_1:\n  :submitters:\n  - :sid: *m\n    :name: *l\n",
        "a: &a {x: 1}\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)}\n  <<: [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(12)),
        "[" * 100_000,
        "a" * (5 << 20),
    ],
)
def test_a_list_that_unfolds(two, tmp_path, bomb):
    """In a student's own work, where nobody reads it, and in the one place where it is read."""
    files = {f"01-mallory/{LESSON}.ipynb": BAD, "01-mallory/submission_metadata.yml": bomb.encode()}
    began = process_time()
    assert collect(two, [zipped(tmp_path, files)]).taken == ["mallory"]
    files = {f"submission_1/{LESSON}.ipynb": BAD, "submission_metadata.yml": bomb.encode()}
    assert len(collect(two, [zipped(tmp_path, files)]).unknown) == 1
    assert process_time() - began < 60


def test_a_virtual_environment_handed_in_costs_its_owner(two, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_FILES", 500)
    environment = {f"mallory/venv/lib/package/{number}.py": b"" for number in range(501)}
    files = {**environment, f"mallory/work/{LESSON}.ipynb": BAD, f"zoe/{LESSON}.ipynb": GOOD, "ann/w.ipynb": GOOD}
    outcome = collect(two, [in_folder(tmp_path / "given", files)])
    assert (outcome.taken, len(outcome.unknown)) == (["ann", "mallory"], 1)
    assert outcome.odd == {"given: mallory": "only 500 of its files were looked at, those near its top"}
    shutil.rmtree(two.root / "submitted")
    assert collect(two, [zipped(tmp_path, files)]).taken == ["ann", "mallory"]


def test_whom_nobody_knows_is_listed_and_not_made_up(course, tmp_path):
    files = {
        f"Eve Doe_1_assignsubmission_file_/{LESSON}.ipynb": book("e"),
        f"Di Roe_2_assignsubmission_file_/{LESSON}.ipynb": book("d"),
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert outcome.unknown == {
        f"moodle.zip: Eve Doe_1_assignsubmission_file_/{LESSON}.ipynb": "'Eve Doe' is not on the roster",
        f"moodle.zip: Di Roe_2_assignsubmission_file_/{LESSON}.ipynb": (
            "it may belong to di1 or di2, since the roster has that name more than once. "
            "Say whose it is, with --is 'Di Roe_2=di1' or --is 'Di Roe_2=di2'"
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
    assert (older.taken, older.earlier, older.twice) == ([], ["ann"], {"ann": "the one collected earlier"})
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
        course, [zipped(tmp_path, {first: book("one"), second: (book("two"), ONE)})], course.configured.counts
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
        add_submission(gradebook, LESSON, "ann")
        gradebook.grant_extension(LESSON, "ann", days=days)
    first, second = f"{MOODLE}/{LESSON}.ipynb", f"{MOODLE}/{LESSON} (1).ipynb"
    files = {
        first: (book("one"), (2026, 11, 9, 12, 0, 0)),
        second: (book("two"), (2026, 11, 12, 12, 0, 0)),
    }
    outcome = collect(course, [zipped(tmp_path, files)], counts)
    assert (handed_in(course, "ann"), outcome.late) == (book(kept), late)


def test_what_comes_through_the_exchange_has_the_same_due_date(course, tmp_path):
    with Gradebook(course.layout.db_url, "attention") as gradebook:
        gradebook.add_assignment(LESSON, duedate=datetime(2026, 11, 10, 12, 0))
        gradebook.update_or_create_student("ann")
        add_submission(gradebook, LESSON, "ann")
        gradebook.grant_extension(LESSON, "ann", days=5)
    inbound = tmp_path / "exchange" / "attention" / "inbound"
    for student in ("ann", "bo"):
        for day, answer in ((9, "one"), (12, "two")):
            entry = inbound / f"{student}+{LESSON}+2026-11-{day:02} 12:00:00 UTC+x"
            entry.mkdir(parents=True)
            (entry / f"{LESSON}.ipynb").write_bytes(book(answer))
    layout = course.layout
    layout.student_id, layout.assignment_id = "*", LESSON
    collector = CollectRegularFiles(coursedir=layout, root=str(tmp_path / "exchange"), config=course.config)
    collector.before_duedate = True
    collector.start()
    assert (handed_in(course, "ann"), handed_in(course, "bo")) == (book("two"), book("one"))


def test_a_wrong_setting_is_told(course):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.CourseCollect.counts = 'newest'\n")
    with pytest.raises(
        CourseError, match=r"c\.CourseCollect\.counts: got 'newest', expected one of 'last', 'last-in-time'"
    ):
        ClassDirectory(course.root, LESSON)


def test_another_lessons_notebook_beside_this_ones(course, tmp_path):
    other = SOLVED.with_name("01_self_attention.ipynb").read_bytes()
    files = {f"ann/{LESSON} (1).ipynb": book("a"), f"ann/{LESSON}.ipynb": (other, ONE)}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert handed_in(course, "ann") == book("a")
    said = f"it has none of this lesson's exercises; moodle.zip: ann/{LESSON} (1).ipynb is taken"
    assert outcome.odd == {f"moodle.zip: ann/{LESSON}.ipynb": said}


def test_two_of_one_name_are_settled_by_the_line_that_the_message_gives(course, tmp_path):
    files = {f"Di Roe_{number}_assignsubmission_file_/{LESSON}.ipynb": book(f"{number}") for number in (505, 506)}
    path = zipped(tmp_path, files)
    command = ["collect", str(course.root), "0", str(path)]
    first = CliRunner().invoke(main, command)
    assert first.exit_code == 1
    assert "--is 'Di Roe_505=di1' or --is 'Di Roe_505=di2'" in first.output
    told = json.loads(CliRunner().invoke(main, [*command, "--json"]).output)
    assert (told["to_settle"], told["missing"]) == (["di1", "di2"], ["ann", "bo", "cy"])
    ann = zipped(tmp_path, {f"Ann Lee_1_assignsubmission_file_/{LESSON}.ipynb": book("ann")}, "ann.zip")
    assert collect(course, [ann]).to_settle == ["di1", "di2"]
    assert unsettled(course.root, LESSON) == {"di1", "di2"}

    settled = CliRunner().invoke(main, [*command, "--is", "Di Roe_505=di2", "--is", "Di Roe_506=di1"])
    assert settled.output.startswith(f"{LESSON}: 2 taken"), settled.output
    assert (handed_in(course, "di2"), handed_in(course, "di1")) == (book("505"), book("506"))
    assert (course.root / "submitted" / "di2" / LESSON / "timestamp.txt").read_text() == utc(NOON)
    assert unsettled(course.root, LESSON) == set()

    again = {name: (book("new"), ONE) if "505" in name else data for name, data in files.items()}
    outcome = collect(course, [zipped(tmp_path, again, "again.zip")])
    assert (outcome.taken, outcome.unchanged, outcome.unknown) == (["di2"], ["di1"], {})
    assert handed_in(course, "di2") == book("new")
    other = {f"Di Roe_707_assignsubmission_file_/{LESSON}.ipynb": book("c")}
    assert len(collect(course, [zipped(tmp_path, other, "other.zip")]).unknown) == 1


def test_who_was_settled_in_another_lesson_is_proposed_first(two_lessons, tmp_path):
    """In each assignment Moodle has other numbers, so nobody can know; a teacher who did it once remembers."""
    first = {f"Di Roe_505_assignsubmission_file_/{LESSON}.ipynb": book("x")}
    collect(two_lessons, [zipped(tmp_path, first)], settled={"Di Roe_505": "di2"})
    other = SOLVED.with_name("01_self_attention.ipynb").read_bytes()
    next_lesson = ClassDirectory(two_lessons.root, "1")
    path = zipped(tmp_path, {"Di Roe_707_assignsubmission_file_/w.ipynb": other}, "next.zip")
    outcome = collect(next_lesson, [path])
    assert list(outcome.unknown.values()) == [
        "it may belong to di1 or di2, since the roster has that name more than once. Say whose it is, with "
        f"--is 'Di Roe_707=di2' ('Di Roe_505' in {LESSON}) or --is 'Di Roe_707=di1'"
    ]
    assert (outcome.to_settle, outcome.taken) == (["di1", "di2"], [])
    assert collect(next_lesson, [path], settled={"Di Roe_707": "di2"}).taken == ["di2"]


@pytest.mark.parametrize(
    ("settled", "said"),
    [
        ("Di Roe_505=di3", "roster.csv has no id 'di3'. Did you mean di2 (Di Roe)?"),
        ("Di Roe_55=di2", "no file is called 'Di Roe_55', so nothing was taken"),
        ("Di Roe_505", "expected NAME=ID"),
    ],
)
def test_a_wrong_settling_takes_nothing(course, tmp_path, settled, said):
    files = {f"Di Roe_505_assignsubmission_file_/{LESSON}.ipynb": book("d"), "ann.ipynb": book("a")}
    path = zipped(tmp_path, files)
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path), "--is", settled])
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not (course.root / "submitted").is_dir() or not any((course.root / "submitted").iterdir())


@pytest.fixture
def two_lessons(course):
    """The course with lesson 01 beside lesson 00."""
    other = SOLVED.with_name("01_self_attention.ipynb")
    (course.root / "source" / other.stem).mkdir()
    shutil.copy(other, course.root / "source" / other.stem)
    return course


def everything_in(root) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_zip_of_another_lesson_is_refused_with_the_command_that_was_meant(two_lessons, tmp_path):
    other = SOLVED.with_name("01_self_attention.ipynb").read_bytes()
    files = {
        f"{MOODLE}/01_self_attention.ipynb": other,
        f"Bo O'Neil_12346_assignsubmission_file_/{LESSON}.ipynb": other,  # what it is called says nothing
        f"Cy Ng_12347_assignsubmission_file_/{LESSON}.ipynb": book("c"),
    }
    path, before = zipped(tmp_path, files, "my moodle.zip"), everything_in(two_lessons.root)
    done = CliRunner().invoke(main, ["collect", str(two_lessons.root), "0", str(path)])
    assert done.exit_code == 2, done.output
    assert f"mostly to other lessons: 2 to 01_self_attention, and 1 to {LESSON}. You" in done.output
    assert f"01_self_attention '{path}'\n" in done.output
    assert {path: data for path, data in everything_in(two_lessons.root).items() if "/lock" not in path} == before
    meant = next(line for line in done.output.splitlines() if line.startswith("  grader collect "))
    again = CliRunner().invoke(main, shlex.split(meant)[1:])
    assert again.output.startswith("01_self_attention: 3 taken"), again.output
    anyway = CliRunner().invoke(main, ["collect", str(two_lessons.root), "0", str(path), "--anyway"])
    assert anyway.output.startswith(f"{LESSON}: 3 taken"), anyway.output


def test_one_of_another_lesson_among_this_lessons_stops_nobody(two_lessons, tmp_path):
    other = SOLVED.with_name("01_self_attention.ipynb").read_bytes()
    broken = two_lessons.root / "source" / "02_broken"
    broken.mkdir()
    (broken / "02_broken.ipynb").write_bytes(b"{")
    files = {"ann.ipynb": other, "bo.ipynb": book("b"), "cy.ipynb": b"no notebook at all"}
    outcome = collect(two_lessons, [zipped(tmp_path, files)])
    assert outcome.taken == ["ann", "bo", "cy"]
    assert outcome.odd == {"moodle.zip: ann.ipynb": f"it has exercises of 01_self_attention, and none of {LESSON}"}


def test_an_untouched_notebook_takes_no_answers_place(course, tmp_path):
    untouched = (SOLVED.parents[1] / "notebooks" / SOLVED.name).read_bytes()
    path = f"{MOODLE}/{LESSON}.ipynb"
    collect(course, [zipped(tmp_path, {path: book("a")})])
    outcome = collect(course, [zipped(tmp_path, {path: (untouched, ONE)})])
    assert (handed_in(course, "ann"), outcome.taken) == (book("a"), [])
    assert outcome.odd == {f"moodle.zip: {path}": "it has no answers; the one collected earlier is taken"}
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
    assert list(outcome.odd.values()) == ["it is a link, and links aren't followed"] * 2


def test_a_zip_bomb_costs_its_owner(course, tmp_path, monkeypatch):
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("c.JudgingExporter.limits = {'notebook_bytes': 1_000_000}\n")
    bomb = {f"ann/{number}.ipynb": b"0" * 999_999 for number in range(120)} | {"ann/big.ipynb": b"0" * 9_999_999}
    outcome = collect(
        ClassDirectory(course.root, LESSON), [zipped(tmp_path, {**bomb, f"bo/{LESSON}.ipynb": book("b")})]
    )
    assert (outcome.taken, handed_in(course, "bo")) == (["ann", "bo"], book("b"))
    assert outcome.odd["ann's work"] == "it has 121 notebooks; the first 100 were looked at"
    assert sum("the notebooks before it are too large" in said for said in outcome.odd.values()) == 98


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
    assert "if it is meant to be a zip, it is broken" in outcome.odd[str(tmp_path / "broken.zip")]


def test_the_command_prints_who_and_what_and_ends_with_1(course, tmp_path):
    files = {f"{MOODLE}/{LESSON}.ipynb": book("a"), f"Eve_1_assignsubmission_file_/{LESSON}.ipynb": book("e")}
    path = zipped(tmp_path, files)
    done = CliRunner().invoke(main, ["collect", str(course.root), "0", str(path)])
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"{LESSON}: 1 taken",
        "owner not known:             1",
        f"    moodle.zip: Eve_1_assignsubmission_file_/{LESSON}.ipynb: 'Eve' is not on the roster",
        "not handed in:               4",
        *("    bo (Bo O'Neil)", "    cy (Cy Ng)", "    di1 (Di Roe)", "    di2 (Di Roe)"),
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
    assert said() == f"{source} is not a complete notebook. Put the instructor's notebook back.\n"
    source.write_bytes(whole)
    settings = (course.root / "nbgrader_config.py").read_text()
    (course.root / "nbgrader_config.py").unlink()
    assert "an unfinished course, since nbgrader_config.py is missing" in said()
    with pytest.raises(CourseError, match="has an unfinished course"):
        create(course.root, SOLVED.parent)
    (course.root / "nbgrader_config.py").write_text(settings)
    assert collect(ClassDirectory(course.root, LESSON), [path]).taken == ["ann"]


def test_where_the_best_counts_a_new_one_waits_for_its_mark(course, tmp_path):
    path = f"{MOODLE}/{LESSON}.ipynb"
    collect(course, [zipped(tmp_path, {path: book("one")})], "best")
    newer = collect(course, [zipped(tmp_path, {path: (book("two"), ONE)})], "best")
    assert (newer.taken, newer.twice) == (["ann"], {"ann": "the one with the best mark, once they are graded"})
    assert (handed_in(course, "ann"), earlier(course, "ann")) == (book("one"), [book("two")])
    again = collect(course, [zipped(tmp_path, {path: (book("two"), ONE)})], "best")
    assert (again.taken, again.unchanged) == ([], ["ann"])


def test_what_a_student_named_is_shown_as_an_escape():
    name = "\x1b]0;mine\x07\r.ipynb"
    outcome = Collected(LESSON, unknown={name: "no one's"}, odd={name: "odd"}, twice={"ann": name})
    printed = as_text(outcome)
    assert printed.count(r"\x1b]0;mine\x07\r.ipynb") == 3
    assert printed.replace("\n", "").isprintable()


def test_nothing_is_taken_while_the_gradebook_cannot_be_opened(course, tmp_path):
    """Else what the gradebook has on somebody would be unknown to `--undo`, which would then take their marks away."""
    (course.root / "gradebook.db").write_bytes(b"this is no database" * 1000)
    source = zipped(tmp_path, {f"{MOODLE}{LESSON}.ipynb": book("x")})
    done = CliRunner().invoke(main, ["collect", str(course.root), LESSON, str(source)])
    assert done.exit_code == 1
    assert "The gradebook can't be used (file is not a database)." in done.output
    assert not any(path.is_file() for path in (course.root / "submitted").rglob("*"))
