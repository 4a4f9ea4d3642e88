"""Lists of students as nbgrader, Moodle and Canvas export them."""

from __future__ import annotations

import csv

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.cli.main import main
from grader.course.roster import FILE, Person, Roster, read_list, save
from grader.course.tables import as_csv, rows_of
from grader.errors import CourseError
from grader.platforms.moodle_languages import PACKS

NBGRADER = "id,first_name,last_name,email,lms_user_id\nann,Ann,Lee,ann@example.org,7\nbo,Bo,O'Neil,,\n"
MOODLE = '\ufeff"First name";"Last name";"ID number";"Email address"\r\nJosé;"Núñez; jr";1007;jose@example.org\r\n'
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Self-attention (99)\n"
    "    Points Possible,,,,,10\n"
    '"Lee, Ann",501,S1,ann,A,3\n"Student, Test",502,,x,A,\n'
)


def listed(folder, text, encoding="utf-8"):
    path = folder / "list.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_nbgraders_list(tmp_path):
    ann, bo = read_list(listed(tmp_path, NBGRADER))
    assert (ann.id, ann.first_name, ann.last_name, ann.email, ann.lms_user_id) == (
        *("ann", "Ann", "Lee", "ann@example.org"),
        "7",
    )
    assert (bo.id, bo.last_name, bo.email) == ("bo", "O'Neil", "")


@pytest.mark.parametrize("heads", ["Username,ID number", "ID number,Username"])
def test_in_moodle_a_user_name_is_the_id_and_no_id_number(tmp_path, heads):
    (both,) = read_list(listed(tmp_path, f"First name,{heads}\nAnn,{'ann,1007' if heads[0] == 'U' else '1007,ann'}\n"))
    (one,) = read_list(listed(tmp_path, "First name,Username\nAnn,ann\n"))
    assert [(who.id, who.moodle) for who in (both, one)] == [("ann", "1007"), ("ann", "")]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_moodles_list_with_a_byte_order_mark_semicolons_and_quoted_names(tmp_path, encoding):
    text = MOODLE if encoding == "utf-8" else MOODLE.lstrip("\ufeff")
    (jose,) = read_list(listed(tmp_path, text, encoding))
    assert (jose.id, jose.moodle, jose.full_name) == ("1007", "1007", "José Núñez; jr")


def test_canvas_list_without_its_rows_that_are_no_people(tmp_path):
    (ann,) = read_list(listed(tmp_path, CANVAS))
    assert (ann.id, ann.canvas_id, ann.sis_user_id, ann.first_name, ann.last_name) == ("ann", "501", "S1", "Ann", "Lee")


def test_canvas_row_of_posting_policies_is_no_person(tmp_path):
    """As Canvas writes it where an assignment is posted by hand: the first row, its first columns empty."""
    head, rest = CANVAS.split("\n", 1)
    for policy in ("Manual Posting", "Manual Posting (scores hidden from instructors)"):
        (ann,) = read_list(listed(tmp_path, f"{head}\n,,,,,{policy}\n{rest}"))
        assert ann.id == "ann"
    with pytest.raises(CourseError, match="line 3: no id for Ng, Cy"):
        read_list(listed(tmp_path, 'Student,ID\n"Lee, Ann",501\n"Ng, Cy",\n'))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Vorname,Nachname,ID-Nummer,E-Mail-Adresse\nJörg,Groß,1007,j@example.org\n", "Jörg", "Groß"),
        ("성,이름,id 번호,이메일 주소\n홍,길동,1007,j@example.org\n", "길동", "홍"),
    ],
)
def test_moodles_headings_in_german_and_korean(tmp_path, text, first, last):
    (one,) = read_list(listed(tmp_path, text))
    assert (one.id, one.moodle, one.email) == ("1007", "1007", "j@example.org")
    assert (one.first_name, one.last_name) == (first, last)
    heading = text.split(",")[3].split("\n")[0]
    (by_address,) = read_list(listed(tmp_path, text), {"id": heading})
    assert (by_address.id, by_address.first_name) == ("j@example.org", first)


@pytest.mark.parametrize("code", PACKS)
def test_moodles_headings_in_every_language_of_the_table(tmp_path, code):
    """As Moodle's gradebook exports them, and as its list of participants does, without a user name and a number."""
    first, last, user, number, address = (words.split("|")[0].capitalize() for words in PACKS[code])
    (one,) = read_list(listed(tmp_path, f"{first},{last},{number},{address}\nAnn,Lee,1007,ann@example.org\n"))
    assert (one.id, one.first_name, one.last_name, one.email) == ("1007", "Ann", "Lee", "ann@example.org")
    (one,) = read_list(listed(tmp_path, f"{first},{last},{user},{address}\nAnn,Lee,ann,ann@example.org\n"))
    assert (one.id, one.moodle, one.full_name) == ("ann", "", "Ann Lee")
    (one,) = read_list(listed(tmp_path, f"{first},{last},{address}\nAnn,Lee,ann@example.org\n"))
    assert (one.id, one.full_name) == ("ann@example.org", "Ann Lee")


def test_headings_in_another_language(tmp_path):
    path = listed(tmp_path, "Matrikel;Vorname;Nachname\n12;Jörg;Groß\n")
    (joerg,) = read_list(path, {"id": "Matrikel", "first_name": "vorname", "last_name": "Nachname"})
    assert (joerg.id, joerg.full_name) == ("12", "Jörg Groß")
    with pytest.raises(CourseError, match="got the headings matrikel, vorname, nachname") as refused:
        read_list(path)
    assert "--column id=HEADING" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,first_name\nann,A\nbo,B\nann,C\n", "lines 2 and 4: 'ann' is listed twice"),
        ("id,first_name\n../x,A\n", r"line 2: '../x' can't be an id"),
        ("id,first_name\n,Ann\n", "line 2: no id for Ann"),
        ("id,first_name\n", "there is nobody in it"),
        ("", r"got the headings \(none\)"),
        ('id,first_name\n"ann,A\n', "this isn't a CSV file"),
        (
            'id,first_name\nann,"A\rmallory,M"\n',
            r"line 2: first_name is 'A\\rmallory,M': it has a control character",
        ),
        ("id,first_name\nann,\x1b[2JA\n", "line 2: first_name is .*it has a control character"),
        *((f"id\n{sign}x\n", f"line 2: '[{sign}]x' can't be an id") for sign in "=+@-"),
    ],
)
def test_a_list_that_does_not_fit_is_refused_whole(tmp_path, text, said):
    with pytest.raises(CourseError, match=said):
        read_list(listed(tmp_path, text))


def test_a_name_that_begins_like_a_formula_is_escaped_in_the_file_and_read_as_it_was(tmp_path):
    people = [Person("ann", first_name="=HYPERLINK(1)", last_name="-", moodle="+49"), Person("bo", last_name="'t Hart")]
    save(tmp_path, people)
    assert "ann,'=HYPERLINK(1),'-," in (tmp_path / FILE).read_text()
    assert read_list(tmp_path / FILE) == people


def test_a_carriage_return_makes_no_row_of_its_own(tmp_path):
    assert rows_of(listed(tmp_path, as_csv([["ann", "A\rmallory,M"], ["bo", "B"]]))) == [
        ["ann", "A mallory,M"],
        ["bo", "B"],
    ]


def test_a_person_is_found_by_number_address_or_name(tmp_path):
    roster = Roster([*read_list(listed(tmp_path, MOODLE)), *read_list(listed(tmp_path, CANVAS))])
    for keys in (("1007",), ("jose@example.org",), ("JOSE NUNEZ JR",), ("nobody", "nunezjrjose")):
        assert roster.find(*keys) == ["1007"]
    assert roster.by_number("canvas_id", "501") == roster.find("leeann") == roster.find("Ann Lee") == ["ann"]
    assert roster.find("501") == [], "Canvas's own number is nobody's id"
    assert roster.find("someone") == roster.find("") == []


def test_two_of_one_name_are_both_told(tmp_path):
    text = "id,first_name,last_name\na1,Ann,Lee\na2,Ann,Lee\n"
    assert Roster(read_list(listed(tmp_path, text))).find("Ann Lee") == ["a1", "a2"]


def test_the_command_fills_the_roster_and_nbgraders_table_and_removes_nobody(classroom, tmp_path):
    course = str(classroom.course)
    first = CliRunner().invoke(main, ["roster", course, str(listed(tmp_path, NBGRADER))])
    back = f"To take this back: grader roster {course} --undo\n"
    assert first.output == f"2 added, 0 changed; 2 on the roster.\n{back}", first.output
    second = CliRunner().invoke(main, ["roster", course, str(listed(tmp_path, CANVAS))])
    kept = "Left out: Student, Test, the name of the student that Canvas makes for trying things out.\nNot in list.csv"
    assert second.output == f"0 added, 1 changed; 2 on the roster.\n{kept}, but kept: bo (Bo O'Neil)\n{back}"
    rows = list(csv.DictReader((classroom.course / FILE).open()))
    assert [row["id"] for row in rows] == ["ann", "bo"]
    assert (rows[0]["email"], rows[0]["canvas_id"]) == ("ann@example.org", "501")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        ann = book.find_student("ann")
        assert (ann.first_name, ann.email, ann.lms_user_id) == ("Ann", "ann@example.org", "7")


def test_a_list_read_without_names_is_told(classroom, tmp_path):
    path = listed(tmp_path, "Matrikel,Fornavn,Efternavn\nann,Ann,Lee\n")
    command = ["roster", str(classroom.course), str(path), "--column", "id=Matrikel"]
    assert "no names were read" in CliRunner().invoke(main, command).output
    named = CliRunner().invoke(main, [*command, "--column", "first_name=Fornavn", "--column", "last_name=Efternavn"])
    assert "no names" not in named.output


MOODLES = "First name,Last name,ID number,Email address\nAnn,Lee,1007,ann@example.org\nBo,Ng,1008,bo@example.org\n"
CANVASES = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Self-attention (99)\n    Points Possible,,,,,10\n"
    '"Lee, Ann",1008,1007,ann@example.org,A,\n"Ng, Bo",502,,BO@example.org,A,\n"Roe, Cy",503,1009,cy@example.org,A,\n'
)


@pytest.mark.parametrize("lists", [(MOODLES, CANVASES), (CANVASES, MOODLES)])
def test_one_person_on_two_platforms_is_one_person(classroom, tmp_path, lists):
    """By number, login or address, whichever list comes first; Canvas's own number says nothing elsewhere (it is 1008
    here, as bo's is in Moodle)."""
    course = classroom.course
    (course / FILE).unlink(missing_ok=True)
    for text in lists:
        done = CliRunner().invoke(main, ["roster", str(course), str(listed(tmp_path, text))])
        assert done.exit_code == 0, done.output
    assert "Already on the roster, as their number, login or address shows: " in done.output
    assert "3 on the roster" in done.output
    people = {one.last_name: one for one in read_list(course / FILE)}
    assert (people["Lee"].moodle, people["Lee"].canvas_id, people["Lee"].email) == ("1007", "1008", "ann@example.org")
    assert (people["Ng"].moodle, people["Ng"].canvas_id, people["Roe"].sis_user_id) == ("1008", "502", "1009")
    assert Roster(people.values()).find("Ann Lee") == [people["Lee"].id]


def test_whoever_stands_in_the_roster_twice_is_told(classroom, tmp_path):
    course = classroom.course
    save(course, [Person("1007", "Ann", "Lee", "ann@example.org", moodle="1007"), Person("ann", "Ann", "Lee")])
    text = "id,first_name,last_name,email\nann,Ann,Lee,ann@example.org\n"
    done = CliRunner().invoke(main, ["roster", str(course), str(listed(tmp_path, text))])
    forget = f"grader course forget {course} ID"
    assert f"1007 and ann are one person. Remove the id with no hand-in: {forget}" in done.output


def test_two_people_of_a_list_do_not_become_one(classroom, tmp_path):
    course = classroom.course
    save(course, [Person("1007", "Ann", "Lee", "ann@example.org", moodle="1007")])
    before = (course / FILE).read_bytes()
    text = "id,first_name,email\nann,Ann,ann@example.org\nann2,Anna,ANN@example.org\n"
    done = CliRunner().invoke(main, ["roster", str(course), str(listed(tmp_path, text))])
    assert done.exit_code == 2
    why = "ann and ann2 in the list have a number, login or address of 1007 on the roster"
    assert f"Nothing was entered, because {why}, and would become one person." in done.output
    assert (course / FILE).read_bytes() == before


def test_column_keeps_the_names_and_understands_first_and_last(tmp_path):
    path = listed(tmp_path, "Vorname;Nachname;Matrikel;Prénom\nJörg;Groß;12;Georges\n")
    (joerg,) = read_list(path, {"id": "Matrikel"})
    assert (joerg.id, joerg.full_name) == ("12", "Jörg Groß")
    (georges,) = read_list(path, {"id": "Matrikel", "first": "Prénom", "last": "nachname"})
    assert georges.full_name == "Georges Groß"


def test_the_other_teachers_of_a_shared_course_may_write_the_roster(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.course.folder.is_shared", lambda course: True)
    save(tmp_path, [Person("ann")])
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o660
