"""Whose a hand-in is and when it came, as platforms say it and people try to change it."""

from __future__ import annotations

import binascii
import json
import os
import shutil
from datetime import UTC, datetime

import pytest

from grader.course.class_directory import ClassDirectory
from grader.course.groups import groups_of
from grader.course.roster import Person, save
from grader.course.to_settle import unsettled
from grader.errors import CourseError
from grader.handed_in.collect import collect
from tests.classroom import LESSON
from tests.handed_in.test_collect import NOON, book, created, handed_in, in_folder, inner, state, zipped

PEOPLE = (
    Person("ann", "Ann", "Lee", "ann@example.org", moodle="1007"),
    Person("mallory", "Mal", "Lory", "m@x.org", moodle="1008"),
    Person("501", "Five", "Hundred", "five@x.org"),
    Person("bo", "Bo", "Ng", canvas_id="501"),
    Person("ann.lee", "Other", "Lee", "a.lee@x.org"),
    Person("annlee2", "Kim", "Lee"),
)
GOOD, BAD, LATE = book("good"), book("bad"), (2026, 12, 24, 12, 0, 0)
FILE = "assignsubmission_file_"


def moodle(name: str, number: int, inside: str = f"{LESSON}.ipynb") -> str:
    return f"{name}_{number}_{FILE}/{inside}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return created(tmp_path_factory.mktemp("whose")).root


@pytest.fixture
def course(made, tmp_path):
    shutil.copytree(made, tmp_path / "course")
    save(tmp_path / "course", PEOPLE)
    return ClassDirectory(tmp_path / "course", LESSON)


def people(course, *listed: Person) -> ClassDirectory:
    save(course.root, listed)
    return course


def stamp(course, student) -> str:
    return (course.root / "submitted" / student / LESSON / "timestamp.txt").read_text()


def utc(local) -> str:
    return datetime(*local).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# --- when it came -----------------------------------------------------------------------------------------------------


def with_crc(data: bytes, wanted: int) -> bytes:
    """The bytes with 32 blanks and tabs at the end that give them this CRC-32: anybody can, it is linear."""
    base = [data + b" " * 64]
    crc = lambda bits: binascii.crc32(data + bytes(9 if bits >> i & 1 else 32 for i in range(64)))
    zero = crc(0)
    rows = [(crc(1 << i) ^ zero, 1 << i) for i in range(64)]
    basis: dict[int, tuple[int, int]] = {}
    for value, bits in rows:
        while value:
            top = value.bit_length()
            if top not in basis:
                basis[top] = value, bits
                break
            value, bits = value ^ basis[top][0], bits ^ basis[top][1]
    need, chosen = zero ^ wanted, 0
    while need:
        value, bits = basis[need.bit_length()]
        need, chosen = need ^ value, chosen ^ bits
    base.append(data + bytes(9 if chosen >> i & 1 else 32 for i in range(64)))
    assert binascii.crc32(base[1]) == wanted
    return base[1]


@pytest.mark.parametrize("how", ["in a zip of hers", "copied by hand", "copied by hand, in a zip of hers"])
def test_a_forged_checksum_gets_no_earlier_time(course, tmp_path, how):
    """mallory hands in an empty notebook in time, and later a finished one with the same CRC-32 and size."""
    finished = book("finished")
    empty = book("x").ljust(len(finished) + 64)
    collect(course, [zipped(tmp_path, {moodle("Mal Lory", 6): (empty, NOON)})])
    forged = with_crc(finished, binascii.crc32(empty))
    assert len(forged) == len(empty)
    work = forged if how == "copied by hand" else inner({"w.ipynb": forged})
    name = "w.ipynb" if how == "copied by hand" else "work.zip"
    if how == "in a zip of hers":
        source = zipped(tmp_path, {moodle("Mal Lory", 6, name): (work, LATE)}, "later.zip")
    else:
        source = in_folder(tmp_path / "copies", {f"mallory/{name}": work})
        time = datetime(*LATE).timestamp()
        os.utime(source / "mallory" / name, (time, time))
    collect(course, [source])
    assert (handed_in(course, "mallory"), stamp(course, "mallory")) == (forged, utc(LATE))


def test_a_platforms_time_counts_for_a_copy_whatever_time_that_has(course, tmp_path):
    collect(course, [zipped(tmp_path, {moodle("Ann Lee", 5): (GOOD, NOON)})])
    shutil.rmtree(course.root / "submitted")
    place = in_folder(tmp_path / "copies", {"ann/w.ipynb": GOOD})
    os.utime(place / "ann" / "w.ipynb", (0, 0))
    assert collect(course, [place]).copied == ["ann"]
    assert stamp(course, "ann") == utc(NOON)


@pytest.mark.parametrize(
    "name", ["mallory+01+20200101T000000 UTC+Moe", "ann+01+20300101T000000 UTC+x", "ann+x+20200101T000000 UTC"]
)
@pytest.mark.parametrize("is_moodles", [True, False])
def test_a_name_like_a_folder_of_the_exchange_decides_nothing_in_a_zip(course, tmp_path, name, is_moodles):
    files = {moodle("Ann Lee", 5): GOOD, (moodle(name, 6) if is_moodles else f"{name}/w.ipynb"): (BAD, LATE)}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (list(state(course)), len(outcome.unknown)) == (["ann"], 1)
    assert handed_in(course, "ann") == GOOD


# --- whose it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["first", "last"])
def test_two_of_moodles_numbers_with_one_name_are_to_be_settled(course, tmp_path, rule):
    files = {moodle("Ann Lee", 5): GOOD, moodle("Ann Lee", 6): (BAD, LATE)}
    path = zipped(tmp_path, files)
    outcome = collect(course, [path], rule)
    assert (outcome.taken, outcome.to_settle, unsettled(course.root, LESSON)) == ([], ["ann"], {"ann"})
    assert [said.split(". Say")[0] for said in outcome.unknown.values()] == [
        "it may belong to ann, but Ann Lee_6 has that name too",
        "it may belong to ann, but Ann Lee_5 has that name too",
    ]
    outcome = collect(course, [path], rule, settled={"Ann Lee_5": "ann"})
    assert (outcome.taken, outcome.to_settle, len(outcome.unknown)) == (["ann"], [], 1)
    assert unsettled(course.root, LESSON) == set()
    again = collect(course, [path], rule)
    assert (again.unchanged, len(again.unknown), handed_in(course, "ann")) == (["ann"], 1, GOOD)


def test_another_number_later_is_another_person(course, tmp_path):
    collect(course, [zipped(tmp_path, {moodle("Ann Lee", 5): GOOD})])
    outcome = collect(course, [zipped(tmp_path, {moodle("Ann Lee", 6): (BAD, LATE)}, "later.zip")])
    assert (outcome.taken, outcome.missing.count("ann"), handed_in(course, "ann")) == ([], 0, GOOD)
    assert "--is 'Ann Lee_6=ann'" in next(iter(outcome.unknown.values()))


def test_a_number_stays_its_persons_whatever_they_call_themselves_later(course, tmp_path):
    collect(course, [zipped(tmp_path, {moodle("Mal Lory", 6): GOOD})])
    renamed = collect(course, [zipped(tmp_path, {moodle("Moe", 6): (BAD, LATE)}, "renamed.zip")])
    assert (renamed.taken, handed_in(course, "mallory")) == (["mallory"], BAD)
    as_ann = collect(course, [zipped(tmp_path, {moodle("Ann Lee", 6): (book("x"), LATE)}, "as ann.zip")])
    assert (as_ann.taken, as_ann.to_settle) == ([], ["ann"])


def test_two_of_canvas_numbers_with_one_name_are_to_be_settled(course, tmp_path):
    files = {f"leeann_601_9001_{LESSON}.ipynb": GOOD, f"leeann_777_9002_{LESSON}.ipynb": BAD}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.to_settle, len(outcome.unknown)) == ([], ["ann"], 2)
    settled = collect(course, [zipped(tmp_path, files)], settled={"leeann_601": "ann"})
    assert (settled.taken, handed_in(course, "ann")) == (["ann"], GOOD)


def test_several_files_of_one_number_are_one_persons(course, tmp_path):
    files = {f"leeann_601_9001_{LESSON}.ipynb": GOOD, f"leeann_LATE_601_9002_{LESSON}-1.ipynb": (BAD, LATE)}
    assert collect(course, [zipped(tmp_path, files)]).taken == ["ann"]


def test_a_platforms_number_is_nobody_elses_id(course, tmp_path):
    """501 is bo's number in Canvas, and somebody else's id."""
    assert collect(course, [zipped(tmp_path, {"ngbo_501_9001_w.ipynb": GOOD})]).taken == ["bo"]
    outcome = collect(course, [zipped(tmp_path, {"ngbo_1007_9001_w.ipynb": BAD})])
    assert (outcome.taken, len(outcome.unknown)) == ([], 1), "1007 is ann's number in Moodle"
    assert collect(course, [in_folder(tmp_path / "given", {"501/w.ipynb": BAD})]).taken == ["501"]


@pytest.mark.parametrize("names", [("ann.lee", "annlee"), ("ann-lee", "ann.lee", "annlee"), ("X", "x")])
def test_an_exact_id_wins_over_one_that_is_nearly_the_same(course, tmp_path, names):
    people(course, *(Person(name) for name in names))
    given = in_folder(tmp_path / "given", {f"{name}/w.ipynb": book(name) for name in names})
    outcome = collect(course, [given])
    assert (sorted(outcome.taken), outcome.unknown) == (sorted(names), {})
    assert all(handed_in(course, name) == book(name) for name in names)
    nearly = collect(course, [in_folder(tmp_path / "other", {f"{names[0].upper()}_/w.ipynb": BAD})])
    assert nearly.taken == [] or len(names) == 1 or names[0].upper() == "X"


def test_one_canvas_number_is_another_ones_student_number(course, tmp_path):
    people(course, Person("ann", "Ann", "Lee", canvas_id="77"), Person("bo", "Bo", "Ng", moodle="77"))
    assert collect(course, [in_folder(tmp_path / "given", {"77.ipynb": GOOD})]).taken == ["bo"]
    assert collect(course, [zipped(tmp_path, {"xx_77_9_w.ipynb": BAD})]).taken == ["ann"]


def test_two_names_that_are_nearly_one_are_to_be_settled(course, tmp_path):
    given = in_folder(tmp_path / "given", {"Kim Lee/w.ipynb": GOOD, "Lee Kim/w.ipynb": BAD})
    outcome = collect(course, [given])
    assert (outcome.taken, outcome.to_settle) == ([], ["annlee2"])


def test_a_list_that_says_two_things_of_one_person_is_to_be_settled(course, tmp_path):
    """Gradescope: mallory's address, and ann's student number, which everybody may write into their own profile."""
    listed = (
        "submission_1:\n  :submitters:\n  - :name: Mal Lory\n    :sid: 'ann'\n    :email: m@x.org\n"
        "  :created_at: 2026-11-22 10:00:00 Z\n"
    )
    files = {"submission_metadata.yml": listed.encode(), f"submission_1/{LESSON}.ipynb": BAD}
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.to_settle) == ([], ["ann", "mallory"])
    assert collect(course, [zipped(tmp_path, files)], settled={"submission_1": "mallory"}).taken == ["mallory"]


# --- a zip that a student made ----------------------------------------------------------------------------------------

CLAIMS = {
    "ann/w.ipynb": (BAD, (2020, 1, 1, 0, 0, 0)),
    moodle("Ann Lee", 5): (BAD, (2020, 1, 1, 0, 0, 0)),
    f"ann+{LESSON}+20200101T000000 UTC/w.ipynb": BAD,
    "ann.ipynb": BAD,
    "w.ipynb": (BAD, (2020, 1, 1, 0, 0, 0)),
}


@pytest.mark.parametrize("name", ["mallory", "Mal Lory", "mallory (1)", "mallory_w", "01-mallory-main"])
@pytest.mark.parametrize("inside", CLAIMS)
def test_a_zip_called_after_a_student_is_theirs_whatever_is_in_it(course, tmp_path, name, inside):
    path = zipped(tmp_path, {inside: CLAIMS[inside], "notes.txt": b"x"}, f"{name}.zip")
    time = datetime(*LATE).timestamp()
    os.utime(path, (time, time))
    outcome = collect(course, [path])
    assert (outcome.taken, handed_in(course, "mallory"), stamp(course, "mallory")) == (["mallory"], BAD, utc(LATE))


def test_a_folder_called_after_a_student_is_theirs(course, tmp_path):
    given = in_folder(tmp_path / "mallory", {"ann/w.ipynb": BAD, "ann.ipynb": BAD})
    assert collect(course, [given]).taken == ["mallory"]


def test_names_in_a_zip_of_no_platform_are_told(course, tmp_path):
    outcome = collect(course, [zipped(tmp_path, {"ann/w.ipynb": GOOD, "bo.ipynb": BAD}, "all.zip")])
    assert (outcome.taken, outcome.by_zip) == (["ann", "bo"], ["ann", "bo"])
    assert collect(course, [zipped(tmp_path, {moodle("Ann Lee", 5): GOOD})]).by_zip == []


# --- groups and hidden names ------------------------------------------------------------------------------------------

HEADS = "Identifier,Full name,ID number,Email address,Status,Group,Grade\n"


def worksheet(folder, *rows: str, heads: str = HEADS):
    path = folder / "Grades.csv"
    path.write_text(heads + "".join(f"{row}\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("group", ["Group 1", "Gruppe 1", "G-1", "Team Anne-Lee", "1-2-3"])
def test_every_member_has_the_groups_work(course, tmp_path, group):
    files = {
        moodle(f"{group}-Ann Lee", 601): GOOD,
        moodle(f"{group}-Mal Lory", 602): GOOD,
        moodle("Default group-Bo Ng", 603): BAD,
    }
    outcome = collect(course, [zipped(tmp_path, files)])
    assert (outcome.taken, outcome.unknown) == (["ann", "bo", "mallory"], {})
    assert groups_of(course.root, LESSON) == {"ann": group, "mallory": group}
    assert (course.root / ".grader" / "came-from" / LESSON / "ann").read_text() == f"{group}-Ann Lee_601_{FILE}"


def test_a_hyphenated_name_is_nobodys_group(course, tmp_path):
    people(course, Person("al", "Anne-Lena", "Kim"), Person("bo", "Bo", "Ng"), Person("kim", "Lena", "Kim"))
    outcome = collect(course, [zipped(tmp_path, {moodle("Anne-Lena Kim", 1): GOOD, moodle("Bo Ng", 2): BAD})])
    assert (outcome.taken, groups_of(course.root, LESSON)) == (["al", "bo"], {})
    groups = {moodle("G1-Anne-Lena Kim", 1): book("x"), moodle("G1-Bo Ng", 2): book("x")}
    outcome = collect(course, [zipped(tmp_path, groups, "groups.zip")])
    assert set(outcome.taken + outcome.earlier) == {"al", "bo"}


@pytest.mark.parametrize("name", ["x-Ann Lee", "Group 1-Ann Lee", "Group 2-x-Ann Lee", "Ann Lee-Ann Lee"])
@pytest.mark.parametrize("is_group", [False, True])
def test_a_hyphen_in_ones_own_name_makes_nobody_another(course, tmp_path, name, is_group):
    before = "Group 2-" if is_group else ""
    files = {
        moodle(f"{'Group 1-' if is_group else ''}Ann Lee", 5): GOOD,
        moodle(f"{before}Bo Ng", 7): book("bo"),
        moodle(f"{before}{name}", 6): BAD,
    }
    for source in (files, {path: data for path, data in files.items() if "_5_" not in path}):
        outcome = collect(course, [zipped(tmp_path, source)])
        assert len(outcome.unknown) in (1, 2), outcome
        assert handed_in(course, "ann") == GOOD if "ann" in outcome.taken else "ann" not in state(course)
        shutil.rmtree(course.root / "submitted", ignore_errors=True)
        shutil.rmtree(course.root / ".grader", ignore_errors=True)


def test_a_worksheet_gives_the_work_to_members_who_are_not_in_the_zip(course, tmp_path):
    rows = (
        "Participant 601,Ann Lee,1007,ann@example.org,,Group 1,",
        "Participant 602,Mal Lory,1008,m@x.org,,Group 1,",
        "Participant 603,Bo Ng,,,,Group 2,",
    )
    path = zipped(tmp_path, {moodle("Group 1-Ann Lee", 601): GOOD, moodle("Group 2-Bo Ng", 603): BAD})
    outcome = collect(course, [path], worksheets=[worksheet(tmp_path, *rows)])
    assert (outcome.taken, handed_in(course, "mallory")) == (["ann", "bo", "mallory"], GOOD)
    assert groups_of(course.root, LESSON) == {"ann": "Group 1", "mallory": "Group 1"}
    assert (course.root / ".grader" / "came-from" / LESSON / "mallory").read_text() == f"Group 1-Mal Lory_602_{FILE}"


@pytest.mark.parametrize("word", ["Participant", "Teilnehmer/in", "참여자"])
@pytest.mark.parametrize("heads", [HEADS, "ID;Vollständiger Name;ID-Nummer;E-Mail-Adresse;Status;Gruppe;Bewertung\n"])
def test_hidden_names_are_known_by_the_worksheet(course, tmp_path, word, heads):
    word_in_zip = word.replace("/", "")
    path = zipped(tmp_path, {moodle(word_in_zip, 601): GOOD, moodle(word_in_zip, 602): BAD})
    outcome = collect(course, [path])
    assert (outcome.taken, outcome.missing) == ([], sorted(person.id for person in PEOPLE))
    assert all("--worksheet FILE" in said for said in outcome.unknown.values()), outcome.unknown
    rows = [f"{word} 601,Ann Lee,1007,,,,", f"{word} 602,Mal Lory,,m@x.org,,,"]
    sign = ";" if ";" in heads else ","
    listed = worksheet(tmp_path, *(row.replace(",", sign) for row in rows), heads=heads)
    outcome = collect(course, [path], worksheets=[listed])
    assert (outcome.taken, outcome.unknown) == (["ann", "mallory"], {})
    assert collect(course, [path]).unchanged == ["ann", "mallory"], "the numbers are known from then on"


def test_a_worksheet_settles_two_of_one_name(course, tmp_path):
    people(course, Person("a1", "Ann", "Lee", "a1@x.org"), Person("a2", "Ann", "Lee", "a2@x.org"))
    path = zipped(tmp_path, {moodle("Ann Lee", 5): GOOD, moodle("Ann Lee", 6): BAD, moodle("Ann Lee", 7): book("x")})
    rows = ("Participant 5,Ann Lee,,a2@x.org,,,", "Participant 6,Ann Lee,,a1@x.org,,,", "Participant 7,Ann Lee,,m@x,,,")
    outcome = collect(course, [path], worksheets=[worksheet(tmp_path, *rows)])
    assert (outcome.taken, len(outcome.unknown)) == (["a1", "a2"], 1)
    assert (handed_in(course, "a1"), handed_in(course, "a2")) == (BAD, GOOD)


def test_a_file_that_is_no_worksheet_is_refused_and_nothing_is_taken(course, tmp_path):
    path = zipped(tmp_path, {moodle("Ann Lee", 5): GOOD})
    with pytest.raises(CourseError, match="grading worksheet"):
        collect(course, [path], worksheets=[worksheet(tmp_path, "ann,Ann Lee,,,,,")])
    assert not (course.root / "submitted").exists()


@pytest.mark.parametrize("ending", [".ipynb.json", ".ipynb.txt", ".IPYNB", ".ipynb (1).txt"])
def test_a_notebook_that_a_browser_called_something_else(course, tmp_path, ending):
    assert collect(course, [zipped(tmp_path, {moodle("Ann Lee", 5, f"01{ending}"): GOOD})]).taken == ["ann"]
    assert collect(course, [in_folder(tmp_path / "given", {f"bo{ending}": GOOD})]).taken == ["bo"]
    assert json.loads(handed_in(course, "bo"))
