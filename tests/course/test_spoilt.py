"""What spreadsheets do to a list of people, one thing after another: the list is read as it was, or refused with line
and cell; it is never entered as other people."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from grader.cli.main import main
from grader.course.roster import FILE, Person, Roster, list_in, save, update
from grader.course.spoilt import require_unspoilt, spoilt
from grader.errors import CourseError

HEADINGS = ["First name", "Last name", "Username", "ID number", "Email address"]
# Names of many languages, numbers and logins of every kind that a spreadsheet takes for something else.
PEOPLE = [
    ["Zoë", "Müller-Đặng", "zoe", "00731", "zoe@uni.example"],
    ["Łukasz", "Żółć", "12E4", "0012", "lz@uni.example"],
    ["محمد", "الأحمد", "MAR1", "00734", "mo@uni.example"],
    ["길동", "홍", "3-1", "2026123456789012345", "hong@uni.example"],
    ["Ann Marie", "O’Brien", "true", "202612345678", "ann@uni.example"],
    ["Seán", "Lee, jr", "1.3", "731000", "sean@uni.example"],
]
Rows = list[list[str]]
Cell = Callable[[str], str]


def as_file(rows: Rows, sign: str = ",", end: str = "\r\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=sign, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


def excel_number(cell: str) -> str:
    """As Excel shows a cell that is all digits, or a number with an exponent."""
    if re.fullmatch(r"\d+", cell):
        return cell.lstrip("0") if len(cell.lstrip("0")) <= 11 else f"{float(cell):.5E}"
    return f"{float(cell):.2E}" if re.fullmatch(r"\d+E\d+", cell) else cell


def column_widened(cell: str) -> str:
    """As Excel shows a number in a column whose format somebody has changed to whole numbers."""
    return f"{int(cell[:15]):d}" + "0" * (len(cell) - 15) if cell.isdigit() and len(cell) > 15 else cell.lstrip("0")


def without_letters(encoding: str) -> Cell:
    return lambda cell: cell.encode(encoding, "replace").decode(encoding)


def best_fit(cell: str) -> str:
    """Windows puts a letter that looks alike in place of some."""
    return cell.replace("Ł", "L").replace("ł", "l").replace("Đ", "D")


def read_as(encoding: str) -> Cell:
    return lambda cell: cell.encode().decode(encoding, "replace")


def dates(shown: dict[str, str]) -> Cell:
    return lambda cell: shown.get(cell, cell)


@dataclass(frozen=True)
class Spoiling:
    """Something that happens to cells of some columns."""

    name: str
    cell: Cell
    columns: tuple[int, ...] = (2, 3)


SPOILINGS = [
    Spoiling("zeros are lost", lambda cell: cell.lstrip("0") if cell.isdigit() else cell),
    Spoiling("Excel shows numbers", excel_number),
    Spoiling("and keeps 15 digits", column_widened),
    Spoiling("LibreOffice shows numbers", lambda cell: f"{int(float(cell))}" if cell == "12E4" else cell.lstrip("0")),
    Spoiling("numbers have a fraction", lambda cell: f"{int(cell)}.0" if cell.isdigit() else cell),
    Spoiling("and a comma", lambda cell: f"{int(cell)},00" if cell.isdigit() else cell),
    Spoiling("thousands are parted", lambda cell: f"{int(cell):,}" if cell.isdigit() else cell),
    Spoiling("by points", lambda cell: f"{int(cell):,}".replace(",", ".") if cell.isdigit() else cell),
    Spoiling("by blanks", lambda cell: f"{int(cell):,}".replace(",", "\u202f") if cell.isdigit() else cell),
    Spoiling("English dates", dates({"MAR1": "1-Mar", "3-1": "3-Jan", "1.3": "1.3"})),
    Spoiling("German dates", dates({"MAR1": "01. Mrz", "3-1": "03. Jan", "1.3": "01. Mrz"})),
    Spoiling("French dates", dates({"MAR1": "01-mars", "3-1": "03-janv"})),
    Spoiling("Spanish dates", dates({"MAR1": "01-mar", "3-1": "03-ene"})),
    Spoiling("Korean dates", dates({"MAR1": "03월 01일", "3-1": "03월 01일"})),
    Spoiling("Japanese dates", dates({"MAR1": "3月1日", "3-1": "3月1日"})),
    Spoiling("whole dates", dates({"MAR1": "2001-03-01", "3-1": "03/01/2026", "1.3": "01.03.2026"})),
    Spoiling("dates with a time", dates({"3-1": "2026-03-01 00:00:00"})),
    Spoiling("truths are translated", dates({"true": "WAHR"})),
    Spoiling("and in French", dates({"true": "VRAI"})),
    Spoiling("the column is too narrow", lambda cell: "########" if cell.isdigit() and len(cell) > 11 else cell),
    Spoiling("an error of a formula", lambda cell: "#NAME?" if cell == "3-1" else cell),
    *(
        Spoiling(f"letters that {encoding} lacks", without_letters(encoding), (0, 1))
        for encoding in ("cp1252", "cp949", "cp1250", "cp932", "latin-1", "ascii")
    ),
    Spoiling("letters that look alike", best_fit, (0, 1)),
    *(
        Spoiling(f"UTF-8 read as {encoding}", read_as(encoding), (0, 1))
        for encoding in ("cp1252", "latin-1", "mac_roman", "cp850", "cp949", "cp932", "gb18030")
    ),
]
# What leaves the people as they are: they have to be read.
HARMLESS: dict[str, Callable[[Rows], Rows]] = {
    "columns without a heading behind": lambda rows: [[*row, "", "", ""] for row in rows],
    "rows without anything behind": lambda rows: [*rows, [""] * 5, [""] * 5],
    "blanks around": lambda rows: [[f" {cell}\u00a0" for cell in row] for row in rows],
    "another order": lambda rows: [rows[0], *reversed(rows[1:])],
    "more columns": lambda rows: [[*row, extra] for row, extra in zip(rows, ["Group", *"ABCDEF"], strict=True)],
}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder whose roster has these people."""
    save(tmp_path, list_in(written(tmp_path, as_file([HEADINGS, *PEOPLE]))).people)
    return tmp_path


def written(folder: Path, text: str, encoding: str = "utf-8", mark: bytes = b"") -> Path:
    path = folder / "list.csv"
    path.write_bytes(mark + text.encode(encoding))
    return path


def entered(course: Path, path: Path) -> list[str]:
    """What is said of a list that is refused; empty if it is the same people as on the roster."""
    try:
        listed = list_in(path)
        old = Roster.of(course).people
        require_unspoilt(listed, old)
    except CourseError as error:
        return str(error.message).splitlines()
    assert {person.id: person for person in listed.people} == old
    return []


@pytest.mark.parametrize("spoiling", SPOILINGS, ids=lambda spoiling: spoiling.name)
@pytest.mark.parametrize("known", [True, False], ids=["by address", "without an address"])
def test_what_a_spreadsheet_has_changed_is_refused_with_line_and_cell(course, spoiling, known):
    """Each cell that has changed, and no other."""
    rows = [[spoiling.cell(cell) if i in spoiling.columns else cell for i, cell in enumerate(row)] for row in PEOPLE]
    changed = [
        (line, new) for line, (row, was) in enumerate(zip(rows, PEOPLE, strict=True), 2)
        for new, old in zip(row, was, strict=True) if new != old
    ]  # fmt: skip
    assert changed
    columns = len(HEADINGS) if known else len(HEADINGS) - 1
    listed = list_in(written(course, as_file([row[:columns] for row in [HEADINGS, *rows]])))
    said = list(spoilt(listed, Roster.of(course).people))
    cells = [(f"line {line}, column ", repr(cell)) for line, cell in changed]
    assert [told for told in said if not any(line in told and cell in told for line, cell in cells)] == []
    assert [cell for line, cell in cells if not any(line in told and cell in told for told in said)] == []


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
@pytest.mark.parametrize(("sign", "end"), list(itertools.product(",;\t|", ("\r\n", "\n", "\r"))))
def test_what_changes_nobody_is_read(course, change, sign, end):
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        text = as_file(change([HEADINGS, *PEOPLE]), sign, end, quoting)
        for first in ("", f"sep={sign}\r\n"):
            for encoding, mark in (("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("utf-16", b""), ("utf-16-le", b"")):
                assert entered(course, written(course, first + text, encoding, mark)) == []


# Of each code page: names that are written in it.
PAGES = {
    "cp1252": ["Zoë Müller", "Seán O’Brien", "José Núñez", "Þórður Ægisson", "François Œuvrard", "Åsa Öberg"],
    "cp949": ["홍 길동", "김 민준", "이 서연", "박 지훈", "최 뷁", "Ann Lee"],
    "cp1250": ["Łukasz Żółć", "Zoë Müller", "Nagy Ödön"],
    "cp1251": ["Иванов Иван", "Ann Lee"],
    "cp932": ["山田 太郎", "佐藤 花子"],
    "gb18030": ["王 伟", "李 娜", "张 敏"],
    "mac_roman": ["Zoë Müller", "José Núñez"],
}


ASKED = ["asked"]


def names_in(path: Path) -> list[str]:
    """The full names in a list, or `ASKED`."""
    try:
        return [person.full_name for person in list_in(path).people]
    except CourseError as error:
        return ASKED if "--encoding cp1252" in error.message else [error.message]


@pytest.mark.parametrize("encoding", PAGES)
def test_a_code_page_is_told_or_asked_for_and_never_taken_for_another(tmp_path, encoding):
    """All names together, and each alone. A name of one or two letters may look like one of another code page; the
    command says in which it was read."""
    alone = [[name] for name in PAGES[encoding]] if encoding in ("cp1252", "cp949") else []
    for names in (*alone, PAGES[encoding]):
        rows = [["id", "first_name", "last_name"], *([f"u{i}", *name.split()] for i, name in enumerate(names))]
        path = written(tmp_path, as_file(rows), encoding)
        assert names_in(path) in ([names, ASKED] if len(names) == 1 else [names] if alone else [ASKED, names])
        assert [person.full_name for person in list_in(path, encoding=encoding).people] == names


def test_a_name_whose_letters_another_code_page_has_replaced_is_refused(tmp_path):
    """Nobody can tell code page 1250 from 1252 by the bytes alone; beside the roster it shows."""
    save(tmp_path, [Person("petr", "Petr", "Dvořák")])
    listed = list_in(written(tmp_path, "id,first_name,last_name\npetr,Petr,Dvořák\n", "cp1250"))
    assert listed.guessed == "cp1252"
    assert list(spoilt(listed, Roster.of(tmp_path).people)) == [
        "line 2, column 'last_name': 'Dvoøák' was 'Dvořák': letters were replaced"
    ]


def test_a_code_page_that_is_none_or_does_not_fit_is_told(tmp_path):
    path = written(tmp_path, "id,first_name\nann,Zoë\n", "cp1252")
    for encoding, said in (("cp12", "--encoding cp12: Python knows no"), ("utf-8", "list.csv:2: this isn't text in")):
        with pytest.raises(CourseError, match=said):
            list_in(path, encoding=encoding)


def test_a_list_whose_cells_have_moved_is_refused(tmp_path):
    path = written(tmp_path, "id,first_name,last_name\nann,Lee, jr,Ann\nbo,Bo,Ng\n")
    assert list(spoilt(list_in(path), {})) == [
        "line 2: has a cell without a heading, of 4: are its cells in their columns?"
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Person("ann", moodle="731"), Person("ann", moodle="00731")),  # the zeros are back
        (Person("ann", "Müller"), Person("ann", "Muller")),  # found all the same
        (Person("ann", moodle="731"), Person("ann", moodle="732")),
        (Person("ann", canvas_id="00501"), Person("bo", moodle="501")),  # another platform's number
        (Person("ann", "Lee"), Person("ann", "May")),
        (Person("2026-ws"), Person("2026-ss")),
        (Person("12e4"), Person("12e5")),
    ],
)
def test_an_honest_change_is_taken(tmp_path, old, new):
    rows = [list(vars(new)), list(vars(new).values())]
    assert list(spoilt(list_in(written(tmp_path, as_file(rows))), {old.id: old})) == []


def run(classroom, *words: str) -> str:
    done = CliRunner().invoke(main, ["roster", str(classroom.course), *words])
    return f"{done.output}[{done.exit_code}]"


def state(classroom) -> tuple[bytes, list[tuple[str, ...]]]:
    """`roster.csv`, and nbgrader's table."""
    with Gradebook(f"sqlite:///{classroom.course}/gradebook.db") as book:
        table = [(one.id, one.first_name, one.last_name, one.email) for one in book.students]
    path = classroom.course / FILE
    return path.read_bytes() if path.is_file() else b"", sorted(table)


def test_anyway_takes_a_spoilt_list_and_undo_takes_it_back(classroom, tmp_path):
    rows = [HEADINGS, *PEOPLE[:3]]
    assert "3 added, 0 changed" in run(classroom, str(written(tmp_path, as_file(rows))))
    whole = state(classroom)
    broken = written(
        tmp_path, as_file([HEADINGS, ["Zo?", "M?ller", "zoe", "731", "new@uni.example"], ["A", "B", "cy"]])
    )
    said = run(classroom, str(broken))
    assert "line 2, column 'First name': 'Zo?' has a sign in place of letters" in said
    assert "line 2, column 'ID number': '731' is '00731' on the roster" in said
    assert said.endswith("[2]")
    assert state(classroom) == whole
    assert "1 added, 1 changed; 4 on the roster." in run(classroom, str(broken), "--anyway")
    assert state(classroom) != whole
    unchanged = run(classroom, str(broken), "--anyway")
    assert "0 added, 0 changed" in unchanged
    assert run(classroom, "--undo") == (
        "The last reading of a list has been undone.\nNo longer on the roster: cy\nAs they were before: zoe\n[0]"
    )
    assert state(classroom) == whole
    assert "there is no reading of a list to undo" in run(classroom, "--undo")
    assert run(classroom).endswith("[2]")


def test_undo_leaves_who_has_handed_in_or_was_changed_since(classroom, tmp_path):
    course = classroom.course
    people = [Person("dan", "Dan", "Roe"), Person("eve", "Eve", "Poe"), Person("fay", "Fay", "Low")]
    update(course, f"sqlite:///{course}/gradebook.db", "attention", people)
    classroom.submit_directly("dan", b"{}")
    save(course, [*(one for one in Roster.of(course).people.values() if one.id != "eve"), Person("eve", "Eva", "Poe")])
    said = run(classroom, "--undo")
    assert "No longer on the roster: fay\n" in said
    assert "dan: left on the roster, since something of theirs was handed in\n" in said
    assert "eve: left as they are, since their entry has changed since then\n[1]" in said
    assert {"dan", "eve"} <= Roster.of(course).people.keys()


def test_the_students_of_canvas_own_are_named(classroom, tmp_path):
    text = 'Student,ID,SIS Login ID\n"Student, Test",9,x\n"Lee, Gil",10,gil\n'
    assert "Left out: Student, Test, the name of the student that Canvas" in run(
        classroom, str(written(tmp_path, text))
    )
