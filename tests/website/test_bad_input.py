"""What refers to something that isn't there fails the build with its file and line."""

from __future__ import annotations

import pytest

from grader.errors import CourseError, LessonError
from tests.website.conftest import ROOT
from website.course import Course
from website.guides import guide
from website.references import check_references, place_of

LESSON = (ROOT / "lessons" / "00_start_here.py").read_text("utf-8")
PLACE = "# **Time:** <!-- time -->."
GLOSSARY = '[cell]\nlesson = "00"\nwords = "cells"\nmeaning = "A piece."\n'


@pytest.fixture
def course(tmp_path):
    def make(lesson=LESSON, glossary=GLOSSARY, settings=""):
        files = {"lessons/00_start_here.py": lesson, "website/glossary.toml": glossary}
        for name, text in (files | {"website/settings.toml": settings}).items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
        return Course(tmp_path)

    return make


def after_the_time(line):
    """The lesson with one more line of prose, and the number of that line."""
    text = LESSON.replace(PLACE, f"{PLACE}\n#\n# {line}", 1)
    return text, text[: text.index(line)].count("\n") + 1


def test_what_is_right_passes(course):
    check_references(
        course(after_the_time("A [cell](#term-cell) of lesson 00, `lesson 77`, `f[0](x)`, https://example.org.")[0])
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("As lesson 77 says.", "there is no lesson 77"),
        ("As lessons 00 and 78 say.", "there is no lesson 78"),
        ("A [gate](#term-gate) opens.", "there is no term 'gate' in website/glossary.toml"),
        ("See [there](../docs/nowhere.md).", "the link to '../docs/nowhere.md' leads to no page"),
    ],
)
def test_a_lesson_that_refers_to_nothing_is_named_with_its_line(course, line, message):
    text, number = after_the_time(line)
    with pytest.raises(LessonError) as error:
        check_references(course(text))
    assert str(error.value).startswith(f"lessons/00_start_here.py:{number}: {message}")


def test_a_view_that_is_not_there(course):
    text = LESSON.replace("from grader.views import ProgressTable", "from grader.views import ProgressTabel")
    number = text[: text.index("ProgressTabel")].count("\n") + 1
    with pytest.raises(LessonError, match=rf"lessons/00_start_here.py:{number}: there is no view ProgressTabel"):
        check_references(course(text))


@pytest.mark.parametrize(
    ("glossary", "message"),
    [
        (GLOSSARY.replace('"00"', '"44"'), "1: cell: there is no lesson '44'"),
        (GLOSSARY.replace('"00"', "0"), "1: cell: its lesson is text in quotes, not 0"),
        (GLOSSARY.replace('lesson = "00"', ""), "1: cell: it has no lesson"),
        (
            GLOSSARY.replace("meaning", "about"),
            "1: cell: it has the key 'about'; a term has only lesson, words, meaning",
        ),
        (GLOSSARY.replace('meaning = "A piece."', ""), "1: cell: it has no meaning"),
        ("\n" + GLOSSARY.replace('"cells"', '"gates"'), "2: cell: lesson 00 doesn't have the words"),
        ('cell = "A piece."\n', r"1: cell: a term is a table, \[cell\]"),
        (GLOSSARY.replace('"00"', ""), "2: it can't be read as TOML: Invalid value"),
        (GLOSSARY + GLOSSARY, "5: it can't be read as TOML: Cannot declare .*cell.* twice"),
        (GLOSSARY + GLOSSARY.replace("[cell]", "[Cell]"), "1: cell: it is there twice"),
    ],
)
def test_a_term_that_is_wrong(course, glossary, message):
    with pytest.raises(LessonError, match=f"^website/glossary.toml:{message}"):
        check_references(course(glossary=glossary))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('repository = "https://', "1: it can't be read as TOML"),
        (
            '\ncolab = "https://example.org/{page}"',
            "2: colab: what is in braces can only be {repository} or {name} or {lesson}",
        ),
        (
            'issues = "https://example.org/{lesson}"',
            "1: issues: what is in braces can only be {repository} or {name} or {page}",
        ),
        ('site = "https://example.org/{page}"', "1: site: there can be no braces"),
        ("binder = true", "1: binder: an address is text in quotes, not True"),
        ('bindre = ""', "1: there is no setting 'bindre', only repository, site, files, issues, colab, binder"),
    ],
)
def test_a_setting_that_is_wrong(course, settings, message):
    with pytest.raises(LessonError, match=f"^website/settings.toml:{message}"):
        _ = course(settings=settings).settings
    assert course(settings='colab = "https://example.org/{lesson}"').settings["colab"].endswith("{lesson}")


def test_the_other_addresses_follow_from_the_repositorys(course):
    ours = (ROOT / "website" / "settings.toml").read_text("utf-8")
    assert not any(course(settings=ours).settings.values())  # a fresh copy knows none
    known = course(settings=ours.replace('repository = ""', 'repository = "https://github.com/me/it"')).settings
    assert known["files"] == "https://github.com/me/it/blob/main"
    assert known["issues"] == "https://github.com/me/it/issues/new?title={page}"
    assert known["colab"].format(lesson="x").endswith("/github/me/it/blob/main/notebooks/x.ipynb")


def test_a_document_with_a_link_that_leads_to_no_file(tmp_path):
    for name in ("docs", "website"):
        (tmp_path / name).mkdir()
    (tmp_path / "website" / "settings.toml").touch()
    (tmp_path / "docs" / "a.md").write_text("Text.\n\nSee [b](b.md).\n", "utf-8")
    with pytest.raises(CourseError, match=r"docs/a.md:3: there is no file for this link: b.md"):
        guide(Course(tmp_path), "docs/a.md")


def test_a_term_is_found_where_it_is_set_off():
    assert place_of("mask", ["A mask.", "This is a *mask*."]) == (1, 11, 15)
    assert place_of("mask", ["`mask`, masks."]) == (0, 8, 12)
    assert place_of("mask", ["# mask", "unmasked"]) is None
