"""What each platform says of names, lists and marks, asked of it alone: whose a hand-in is, and what goes back."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest

from grader.errors import CourseError
from grader.platforms import registry
from grader.platforms.gradescope import LISTING, MAX_LISTING
from grader.platforms.platform import (
    Author,
    ClassMarks,
    Found,
    Source,
    is_notebook,
    number,
    splits,
    without_ending,
)
from grader.platforms.registry import authors, by_key, known_headings, of_list, platforms, worksheet

NOON = datetime(2026, 11, 22, 12)


def source(*tops: str, known: tuple[str, ...] = (), lists: dict | None = None, is_folder: bool = False) -> Source:
    """A source with these hand-ins, folders where a stroke ends the name; `known` are on the roster."""
    found = {top.rstrip("/"): top.endswith("/") for top in tops}
    return Source("given", is_folder, found, known.__contains__, lists or {}, {})


def said(platform: str, *tops: str, **about) -> dict[str, Author]:
    return dict(by_key(platform).authors(source(*tops, **about)))


# --- Moodle -----------------------------------------------------------------------------------------------------------

FILE = "assignsubmission_file_"


def moodle(*names: str, known: tuple[str, ...] = ("Ann Lee", "Bo O'Neil")) -> list[tuple[str, tuple[str, ...]]]:
    """Of each name in a zip the group and the person's name."""
    tops = [f"{name}_{n}_{FILE}/" for n, name in enumerate(names, 12)]
    return [(author.group, author.names) for author in said("moodle", *tops, known=known).values()]


def test_a_name_in_moodle_s_zip():
    top = f"Ann Lee_12_{FILE}"
    [found] = said("moodle", f"{top}/", "readme.txt", f"Ann_Lee_12_{FILE}/").values()
    assert found == Author("moodle", top, "Ann Lee_12", "12", names=("Ann Lee",))
    assert by_key("moodle").key_of(f"{top}w.ipynb") == ("Ann Lee_12", "12")
    assert by_key("moodle").key_of("w.ipynb") == ("", "")
    assert by_key("moodle").feedback_name(f"{top}w.ipynb", "01") == f"{top}/01.html"
    assert (
        by_key("moodle").feedback_name(f"Ann Lee_12_assignsubmission_onlinetext{top}", "01").startswith("Ann Lee_12_")
    )
    assert by_key("moodle").feedback_name("w.ipynb", "01") == ""


def test_groups_are_before_every_name_or_before_none():
    assert moodle("G-Ann Lee", "G-Bo O'Neil") == [("G", ("Ann Lee",)), ("G", ("Bo O'Neil",))]
    assert moodle("Ann Lee", "G-Bo O'Neil") == [("", ("Ann Lee",)), ("", ("G-Bo O'Neil",))]
    assert moodle("G-1-Ann Lee", "G-2-Bo O'Neil") == [("G-1", ("Ann Lee",)), ("G-2", ("Bo O'Neil",))]
    assert moodle("G-Eve", "G-Cy") == [("", ("G-Eve",)), ("", ("G-Cy",))]  # nobody is known
    assert moodle("G-Ann Lee", "G-Eve") == [("G", ("Ann Lee",)), ("G", ("Eve",))]
    assert moodle("G-Ann Lee", "Mary-Jane", known=("Ann Lee", "Mary-Jane")) == [
        ("", ("G-Ann Lee",)),
        ("", ("Mary-Jane",)),
    ]
    assert moodle() == []


def test_of_two_ways_to_read_a_name_that_are_as_likely_the_shorter_group_counts():
    assert moodle("G-1-Ann Lee", known=("Ann Lee", "1-Ann Lee")) == [("G", ("1-Ann Lee",))]
    assert moodle("G-1-Ann Lee", "G-1-Bo", known=("Ann Lee", "1-Ann Lee", "Bo")) == [
        ("G-1", ("Ann Lee",)),
        ("G-1", ("Bo",)),
    ]


def test_whoever_calls_themselves_by_a_hyphen_and_anothers_name_is_not_them():
    assert moodle("G-Bo O'Neil", "G-Eve", "G-x-Ann Lee") == [
        ("G", ("Bo O'Neil",)),
        ("G", ("Eve",)),
        ("G", ("x-Ann Lee",)),
    ]
    assert moodle("G-Bo O'Neil", "G-x-Ann Lee") == [("G", ("Bo O'Neil",)), ("G", ("x-Ann Lee",))]
    names = ("G-Bo O'Neil", "G-h-Eve", "G-h-x-Ann Lee")
    assert [group for group, _names in moodle(*names, known=("Ann Lee", "Bo O'Neil", "Eve"))] == ["G", "G", "G"]
    assert moodle("G-Bo O'Neil", "H-Ann Lee") == [("G", ("Bo O'Neil",)), ("H", ("Ann Lee",))]
    assert moodle("G-h-Bo O'Neil", "G-h-Ann Lee", "G-h-Eve") == [
        ("G-h", ("Bo O'Neil",)),
        ("G-h", ("Ann Lee",)),
        ("G-h", ("Eve",)),
    ]


def test_a_group_may_be_called_as_another_one_and_a_word():
    """Of more people "G" is the group, but these two are known only without the word behind it."""
    names = ("G-Ann Lee", "G-Bo", "G-Cy", "G-2-Di", "G-2-Eve")
    groups = [group for group, _names in moodle(*names, known=("Ann Lee", "Bo", "Cy", "Di", "Eve"))]
    assert groups == ["G", "G", "G", "G-2", "G-2"]


def test_whom_moodle_hides_has_no_name():
    found = said("moodle", f"Participant_1_{FILE}/", f"TEILNEHMER/IN_2_{FILE}/", f"Ann Lee_3_{FILE}/")
    assert [(one.hidden, one.names) for one in found.values()] == [(True, ()), (True, ()), (False, ("Ann Lee",))]
    # A word that we don't know, of which there are several, and nobody else.
    several = said("moodle", f"Osallistuja_1_{FILE}/", f"Osallistuja_2_{FILE}/")
    assert [one.hidden for one in several.values()] == [True, True]
    assert [one.names for one in said("moodle", f"Osallistuja_1_{FILE}/").values()] == [("Osallistuja",)]
    two = said("moodle", f"Ann Lee_1_{FILE}/", f"Ann Lee_2_{FILE}/", known=("Ann Lee",))
    assert [one.hidden for one in two.values()] == [False, False]
    others = said("moodle", f"Di Roe_1_{FILE}/", f"Di Roe_2_{FILE}/", f"Eve_3_{FILE}/")
    assert [one.hidden for one in others.values()] == [False, False, False]
    grouped = said("moodle", f"G-Participant_1_{FILE}/", f"G-Participant_2_{FILE}/")
    assert [(one.group, one.hidden) for one in grouped.values()] == [("G", True), ("G", True)]


WORKSHEET = [
    ["Identifier", "Full name", "ID number", "Email address", "Username", "Group", "Grade"],
    ["Participant 601", "Ann Lee", "1007", " ann@x.org", "ann", "G_1", ""],
    ["", " ", "", "", "", "", ""],
    ["Participant 602", "Bo O'Neil", "", "", "", "", ""],
]


def test_who_is_who_in_moodle_s_worksheet():
    key, found = worksheet(WORKSHEET)
    assert (key, [*found]) == ("moodle", ["601", "602"])
    assert found["601"] == Author(
        "moodle",
        f"G 1-Ann Lee_601_{FILE}",
        numbers=(("moodle", "1007"), ("email", "ann@x.org")),
        ids=("ann",),
        names=("Ann Lee",),
        group="G_1",
    )
    assert found["602"] == Author("moodle", f"Bo O'Neil_602_{FILE}", names=("Bo O'Neil",))
    short = worksheet([["Tunniste"], ["Osallistuja 7"]])[1]["7"]
    assert (short.given, short.names) == (f"Participant_7_{FILE}", ())
    named = worksheet([["Tunniste", "Nimi", "Osoite"], ["Osallistuja 7", "Ann Lee", "a@x.org"]])[1]["7"]
    assert (named.names, named.numbers) == (("Ann Lee",), (("email", "a@x.org"),))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [["Identifier"]],
        [[], ["Participant 1"]],
        [["Identifier"], ["Participant 1"], ["Teilnehmer 2"]],
        [["Identifier"], ["Participant 1"], ["ann"]],
        [["Number"], ["1"], ["2"]],
        [["Identifier"], [" "]],
    ],
)
def test_any_other_list_is_no_worksheet(rows):
    assert worksheet(rows) == ("", {})


def person(who: str, **told: str) -> dict[str, str]:
    empty = dict.fromkeys(("moodle", "email", "canvas_id", "sis_user_id", "sis_login_id"), "")
    return {"id": who, **empty, **told}


def class_of(*people: dict[str, str], **points: float | None) -> ClassMarks:
    """A class with these points in lesson 01, by id, and none in 02."""
    own = {one["id"]: {"01_self_attention": points.get(one["id"]), "02": None} for one in people}
    return ClassMarks({one["id"]: one for one in people}, own, {"01_self_attention": 10.0, "02": 2.5})


def test_moodle_gets_the_key_that_most_people_have():
    ann, bo = person("ann", moodle="1007", email="a@x"), person("bo", email="b@x")
    made = by_key("moodle").marks(class_of(ann, bo, ann=7.5), (), "")
    assert made.rows == [["Email address", "01_self_attention", "02"], ["a@x", "7.5", ""], ["b@x", "", ""]]
    assert (made.key, made.left_out) == ("Email address", ())
    made = by_key("moodle").marks(class_of(ann, person("1009", canvas_id="1009"), ann=0.0), (), "")
    assert made.rows == [["ID number", "01_self_attention", "02"], ["1007", "0", ""]]
    assert (made.key, made.left_out) == ("ID number", ("1009",))
    assert by_key("moodle").marks(class_of(person("bo"), person("cy")), (), "").key == "Username"
    same = by_key("moodle").marks(class_of(person("1007", moodle="1007"), person("1008", moodle="1008")), (), "")
    assert [row[0] for row in same.rows] == ["ID number", "1007", "1008"]


# --- Canvas -----------------------------------------------------------------------------------------------------------


def test_a_name_in_canvas_s_zip():
    top = "leeann_LATE_501_9001_w_1.ipynb"
    found = said("canvas", top, "leeann_501_9001_w/", "w.ipynb", "oneilbo_502_9002_w.ipynb")
    assert [*found] == [top, "oneilbo_502_9002_w.ipynb"]
    assert found[top] == Author(
        "canvas", top, "leeann_501", "501", (("canvas_id", "501"),), names=("leeann",), late=True
    )
    assert not found["oneilbo_502_9002_w.ipynb"].late
    assert by_key("canvas").key_of("w.ipynb") == ("", "")
    assert by_key("canvas").feedback_name("w.ipynb", "01") == ""


@pytest.mark.parametrize(
    ("row", "nobody", "test"),
    [
        ({}, True, False),
        ({"name": "Points Possible"}, True, False),
        ({"name": "Student, Test", "canvas_id": "9"}, True, True),
        ({"name": "Test Student", "canvas_id": "9"}, True, True),
        ({"name": "Lee, Ann"}, False, False),
        ({"canvas_id": "501"}, False, False),
    ],
)
def test_rows_of_canvas_s_list_that_are_nobody_s(row, nobody, test):
    assert (by_key("canvas").is_nobody(row), by_key("canvas").is_test(row)) == (nobody, test)


HEADS = ["Student", "ID", "SIS Login ID", " 01 Self-attention (77)", "Essay (5)", "02 (8)", "Final"]


def canvas(*rows: list[str], marks: ClassMarks | None = None, heads: list[str] = HEADS):
    people = class_of(person("ann", canvas_id="501"), person("bo", sis_login_id="bo7"), person("cy"), ann=7.5, cy=1.0)
    return by_key("canvas").marks(marks or people, [heads, *rows], "canvas.csv")


def test_canvas_gets_its_rows_and_columns_back_with_our_marks():
    made = canvas(
        ["    Points Possible", "", "", "9", "9", "9", ""],
        ["Lee, Ann", "501", "ann", "", "4", "", ""],
        ["O'Neil, Bo", "502", " bo7 "],  # cut short
        ["Ng, Cy", "cy", ""],
        ["Doe, Eve", "504", "eve", "", "", "", ""],
        ["Student, Test", "9", "", "", "", "", ""],
    )
    assert made.rows == [
        ["Student", "ID", "SIS Login ID", "01 Self-attention (77)", "02 (8)"],
        ["Points Possible", "", "", "10", "2.5"],
        ["Lee, Ann", "501", "ann", "7.5", ""],
        ["O'Neil, Bo", "502", "bo7", "", ""],
        ["Ng, Cy", "cy", "", "1", ""],
    ]
    assert (made.key, made.left_out) == ("", ("Doe, Eve",))


def test_canvas_s_third_number_is_known_too():
    heads = ["Student", "ID", "SIS User ID", "01 (7)"]
    people = class_of(person("ann", sis_user_id="s1"), person("s2"), ann=1.0, s2=2.0)
    made = canvas(["Lee, Ann", "501", "s1", ""], ["Two", "502", "s2", ""], marks=people, heads=heads)
    assert [row[3] for row in made.rows[2:]] == ["1", "2"]


def test_a_number_that_canvas_has_for_one_is_nobody_elses_id():
    people = class_of(person("501"), person("ann", canvas_id="501"), **{"501": 1.0, "ann": 2.0})
    assert canvas(["Lee, Ann", "501", ""], marks=people).rows[2][3] == "2"


@pytest.mark.parametrize(
    ("heads", "column"),
    [
        ("01_self_attention (1)", True),
        ("Self-Attention (1)", True),
        ("1 Self (1)", True),
        ("01 (1)", True),
        ("01 Self-attention", False),
        ("011 x (1)", False),
        ("03 x (1)", False),
        (" (1)", False),
    ],
)
def test_whose_column_of_canvas_s_a_lesson_s_is(heads, column):
    if column:
        assert canvas(["Lee", "501", ""], heads=["Student", "ID", heads]).rows[0][2:] == [heads]
    else:
        with pytest.raises(CourseError, match="no column belongs to a lesson"):
            canvas(["Lee", "501", ""], heads=["Student", "ID", heads])


@pytest.mark.parametrize(
    ("heads", "told"),
    [
        (["a", "ID"], "expected the columns Student and ID, got a, ID"),
        (["Student", "b"], "expected the columns Student and ID, got Student, b"),
        (["Student", "ID", "01 (1)", "01 again (2)"], "two columns belong to 01_self_attention: '01"),
        (["Student", "ID", "01 (1)"], "none of the people in it are on the roster"),
    ],
)
def test_a_file_that_is_not_canvas_s_is_refused(heads, told):
    with pytest.raises(CourseError, match=told):
        canvas(["Doe, Eve", "504"], heads=heads)
    with pytest.raises(CourseError, match="got nothing"):
        by_key("canvas").marks(class_of(person("ann")), (), "canvas.csv")


# --- Gradescope and PrairieLearn --------------------------------------------------------------------------------------


def listing(text: str, size: int = 0) -> Found:
    return Found("given", PurePosixPath(LISTING), NOON, size, text.encode)


def test_whose_a_folder_of_gradescope_s_is():
    listed = listing(
        "submission_7:\n  :created_at: 2026-11-22 10:00:00 +01:00\n  :submitters:\n  - oops\n"
        "  - {':name': Ann, ':sid': 17, ':email': a@x}\n  - {':name': Bo, ':sid': b, ':email': b@x}\n"
        "submission_8:\n  :submitters:\n  - {':name': [Ann], ':sid': ''}\n  :created_at: today\n"
        "submission_9: nothing\n"
    )
    given = source(
        "submission_7/", "submission_8/", "submission_9/", "submission_x/", "submission_6", lists={LISTING: [listed]}
    )
    found = by_key("gradescope").authors(given)
    assert found["submission_7"] == Author(
        "gradescope",
        "submission_7",
        "submission_7",
        "submission_7",
        (("email", "a@x"),),
        ("17",),
        names=("Ann",),
        time=datetime(2026, 11, 22, 9),
    )
    assert found["submission_8"] == Author("gradescope", "submission_8", "submission_8", "submission_8")
    assert found["submission_9"] == Author("gradescope", "submission_9", "submission_9")
    assert ({*found}, given.odd) == ({"submission_7", "submission_8", "submission_9"}, {})


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ([], None),
        ([listing("a: 1"), listing("a: 1")], "occurs more than once"),
        ([listing("a: 1", MAX_LISTING + 1)], f"it has {MAX_LISTING + 1} bytes; at most {MAX_LISTING} are read"),
        ([listing("a: [")], "it can't be read as Gradescope's list: ParserError"),
        ([listing("a: 1", MAX_LISTING)], None),
    ],
)
def test_a_list_of_gradescope_s_that_says_nothing(lists, told):
    given = source("submission_7/", lists={LISTING: lists} if lists else {})
    assert by_key("gradescope").authors(given) == {"submission_7": Author("gradescope", "submission_7", "submission_7")}
    assert [told in odd for odd in given.odd.values()] == ([True] if told else [])


ABOUT = {
    "mark": 3.0,
    "points": 4.0,
    "seconds": 1.5,
    "notes": ["One.", "Two."],
    "problem": "",
    "exercises": [
        {"name": "a", "mark": 2.0, "points": 2.0, "text": "good"},
        {"name": "b", "mark": 1.0, "points": 2.0, "text": "half"},
    ],
}


def test_results_that_gradescope_reads():
    made = by_key("gradescope").result(ABOUT, "after_due_date")
    assert (made["score"], made["execution_time"], made["output"]) == (3.0, 1.5, "One.\nTwo.")
    assert (made["visibility"], made["stdout_visibility"]) == ("after_due_date", "hidden")
    assert [(t["name"], t["score"], t["max_score"], t["status"], t["output"]) for t in made["tests"]] == [
        ("a", 2.0, 2.0, "passed", "good"),
        ("b", 1.0, 2.0, "failed", "half"),
    ]


def test_results_that_prairielearn_reads():
    made = by_key("prairielearn").result(ABOUT, "")
    assert (made["gradable"], made["score"], made["message"]) == (True, 0.75, "3 of 4 points")
    assert made["tests"][1] == {"name": "b", "points": 1.0, "max_points": 2.0, "output": "half"}
    assert made["output"] == "One.\nTwo."
    third = by_key("prairielearn").result({**ABOUT, "mark": 1.0, "points": 3.0}, "")
    assert third["score"] == 0.333333
    assert by_key("prairielearn").result({**ABOUT, "points": 0.0}, "")["score"] == 0.0
    torn = by_key("prairielearn").result({**ABOUT, "problem": "Torn.", "notes": ["Torn.", "Odd."]}, "")
    assert torn == {"gradable": False, "format_errors": ["Torn.", "Odd."]}


# --- the exchange, GitHub, folders ------------------------------------------------------------------------------------


def test_folders_of_the_exchange_count_on_this_machine_only():
    name, odd = "ann+01+2026-11-22 12:00:00 UTC+abc", "bo+01+never UTC"
    found = said("nbgrader", f"{name}/", f"{odd}/", f"{name}x", "plain/", is_folder=True)
    assert found == {
        name: Author("nbgrader", name, name, ids=("ann",), time=NOON),
        odd: Author("nbgrader", odd, odd),
    }
    assert said("nbgrader", f"{name}/") == {}


def test_repositories_are_known_by_the_assignment_that_most_begin_with():
    found = said("github", "01-a-ann/", "01-a-bo/", "01-a-x-cy/", "02-ann/", known=("ann", "bo", "cy"))
    assert {top: author.words[1:] for top, author in found.items()} == {
        "01-a-ann": ("ann",),
        "01-a-bo": ("bo",),
        "01-a-x-cy": ("x-cy",),
    }
    assert [author.words[0] for author in found.values()] == [*found]
    assert said("github", "01-ann/", "02-ann/", known=("ann", "02-ann"))["01-ann"].words == ("01-ann", "ann")
    assert said("github", "plain/", "eve-x/") == {}
    assert [*said("github", "a-ann/", "a-b-ann/", "a-b-bo/", "a-bo/", known=("ann", "bo"))] == [
        "a-ann",
        "a-b-ann",
        "a-b-bo",
        "a-bo",
    ]
    assert said("github", "01-ann-main.zip/") == {}
    zips = said("github", "01-ann-main.zip", "01-bo-master (2).zip", "w.zip")
    assert {top: author.words for top, author in zips.items()} == {
        "01-ann-main.zip": ("01-ann", "ann"),
        "01-bo-master (2).zip": ("01-bo", "bo"),
    }


def test_a_plain_name_is_an_id_or_how_a_file_begins():
    found = said("folder", "ann lee/", "bo_w-1.ipynb", "cy.zip", "d 1.ipynb")
    assert {top: author.words for top, author in found.items()} == {
        "ann lee": ("ann lee",),
        "bo_w-1.ipynb": ("bo_w-1", "bo_w", "bo"),
        "cy.zip": ("cy",),
        "d 1.ipynb": ("d 1", "d"),
    }


# --- all --------------------------------------------------------------------------------------------------------------


def test_of_several_platforms_that_know_a_name_the_first_counts():
    top = f"leeann_501_9_{FILE}"
    found = authors(source(f"{top}/", "submission_1/", "leeann_501_9001_w.ipynb", "ann/"))
    assert {name: author.platform for name, author in found.items()} == {
        top: "folder",
        "submission_1": "gradescope",
        "leeann_501_9001_w.ipynb": "canvas",
        "ann": "folder",
    }
    ranks = [platform.rank for platform in platforms()]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("heads", "whose"),
    [
        (("student", "id", "section"), "canvas"),
        (("student", "id"), "canvas"),
        (("id", "first_name"), "nbgrader"),
        (("username", "first name"), "moodle"),
        (("anything",), "moodle"),
    ],
)
def test_whose_a_list_of_people_is(heads, whose):
    assert of_list(heads).key == whose


def test_where_a_file_lies_and_what_a_platform_lacks():
    found = Found("given.zip", PurePosixPath("ann/w.zip"), NOON, 1, bytes, inside=PurePosixPath("sub/w.ipynb"))
    assert (str(found.whole_path), found.name) == ("ann/w.zip/sub/w.ipynb", "given.zip: ann/w.zip/sub/w.ipynb")
    plain = by_key("folder")
    assert (plain.is_nobody({}), plain.is_test({}), plain.feedback_name("x", "01")) == (False, False, "")
    assert (plain.key_of("x"), plain.worksheet([["x"]]), by_key("prairielearn").authors(source("ann/"))) == (
        ("", ""),
        {},
        {},
    )
    assert [is_notebook(name) for name in ("w.ipynb", "w.IPYNB (1).txt", "w.json", "ipynb")] == [
        True,
        True,
        False,
        False,
    ]
    assert [without_ending(name) for name in ("w.ipynb.json", "w.zip", "w")] == ["w", "w", "w"]


def test_what_is_known_of_headings_and_numbers(monkeypatch):
    assert (known_headings()["surname"], known_headings()["sis login id"]) == ("last_name", "sis_login_id")
    first, second = (type("P", (), {"headings": {"x": name}}) for name in "ab")
    monkeypatch.setattr(registry, "platforms", lambda: (first, second))
    assert known_headings() == {"x": "a"}
    fakes = [SimpleNamespace(key=key, worksheet=told.get) for key, told in (("a", {1: "A"}), ("b", {1: "B", 2: "C"}))]
    monkeypatch.setattr(registry, "platforms", lambda: fakes)
    assert [registry.worksheet(rows) for rows in (1, 2, 3)] == [("a", "A"), ("b", "C"), ("", {})]
    assert [number(points) for points in (None, 0.0, 7.5, 10.0, 3.333)] == ["", "0", "7.5", "10", "3.33"]
    assert (splits("-ann"), splits("ann")) == ([], [])
