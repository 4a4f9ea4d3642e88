"""A class in which some have the lesson in English and some in Korean: one gradebook, the same marks, comments, results
and insights; only their pages of feedback are in their own language."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from distributed import Client

from grader import languages
from grader.cli.main import main
from grader.course.class_directory import ClassDirectory
from grader.feedback.fresh import write_feedback
from grader.learner.switch import cells_by_language, switched, texts
from tests.batch.conftest import HALF, LESSON, RIGHT, ROOT, SQUARED, Room, command
from tests.classroom import SOLVED
from tests.classroom import answered as solution_in

ENGLISH = json.loads((ROOT / "notebooks" / f"{LESSON}.ipynb").read_text("utf-8"))
ANSWERS = {
    "right": RIGHT,
    "squared": SQUARED,
    "half": HALF,
    "broken": "def first_steps(x):\n    return x +",
    "empty": "",
}
WORDS = {"Feedback: {title}": "피드백: {title}", "Everything passed.": "모두 통과했습니다."}
FILE = f"{LESSON}.ipynb"


@pytest.fixture
def words(room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Korean in a folder, for this process and the worker: the texts of lesson 00 and a few words."""
    korean = {**ENGLISH, "cells": [{**cell, "source": ["한국어: ", *cell["source"]]} for cell in ENGLISH["cells"]]}
    made = {
        "languages.json": {"ko": "한국어"},
        "ko/words.json": WORDS,
        f"cells/{LESSON}.json": cells_by_language({"en": ENGLISH, "ko": korean}),
    }
    for name, content in made.items():
        path = tmp_path / "words" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    before = languages.WORDS
    monkeypatch.setattr(languages, "WORDS", tmp_path / "words")
    with Client(room.scheduler) as client:
        client.run(setattr, languages, "WORDS", tmp_path / "words")
        yield tmp_path / "words"
        client.run(setattr, languages, "WORDS", before)


def handed_in(source: str, language: str = "en") -> bytes:
    """The notebook that students get, in a language, with an answer in it."""
    notebook = solution_in(copy.deepcopy(ENGLISH), source)
    assert switched(notebook, language, texts())[0] > 5
    return json.dumps(notebook, ensure_ascii=False).encode()


def test_both_have_one_gradebook_and_feedback_in_their_own_language(room: Room, words: Path) -> None:
    for name, source in ANSWERS.items():
        for language in ("en", "ko"):
            room.submit(f"{language}-{name}", handed_in(source, language))
    room.grade()
    marks = room.marks()
    assert len(set(marks.values())) > 2
    results = {who: room.autograded(who)["metadata"]["course_result"] for who in marks}
    for name in ANSWERS:
        assert marks[f"en-{name}"] == marks[f"ko-{name}"]
        assert results[f"en-{name}"] == results[f"ko-{name}"]
    comments = {(who.partition("-")[2], said) for who, _cell, said, _by_hand in room.book()["comments"]}
    assert len(comments) == len(ANSWERS)
    write_feedback(ClassDirectory(room.root, LESSON))
    for who in marks:
        page = (room.folder(who, "feedback") / f"{LESSON}.html").read_text("utf-8")
        assert (f'<html lang="{who[:2]}">' in page, "피드백: 00" in page) == (True, who.startswith("ko"))
    assert "모두 통과했습니다." in (room.folder("ko-right", "feedback") / f"{LESSON}.html").read_text("utf-8")


def test_insights_into_a_class_are_the_same_in_either_language(room: Room, words: Path) -> None:
    said = []
    for language in ("en", "ko"):
        for name, source in ANSWERS.items():
            room.submit(name, handed_in(source, language))
        room.grade()
        said.append(CliRunner().invoke(main, ["insights", str(room.root), "00"]).output)
    assert "first_steps" in said[0]
    assert said[0] == said[1]


def test_the_release_has_both_languages_and_what_is_written_in_either_counts(room: Room, words: Path) -> None:
    config = room.root / "nbgrader_config.py"
    config.write_text(
        config.read_text() + 'c.CourseRelease.languages = ["en", "KO"]\n'
        f"from grader import languages\nlanguages.WORDS = __import__('pathlib').Path({str(words)!r})\n"
    )
    shutil.copy(SOLVED, room.root / "source" / LESSON / FILE)
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    release = room.root / "release" / LESSON
    english, korean = (json.loads((release / name).read_text("utf-8")) for name in (FILE, f"ko/{FILE}"))
    assert korean["metadata"]["course"]["language"] == "ko"
    assert "language" not in english["metadata"]["course"]
    assert [cell["id"] for cell in english["cells"]] == [cell["id"] for cell in korean["cells"]]
    for one, other in zip(english["cells"], korean["cells"], strict=True):
        assert (one == other) == (one["cell_type"] == "code")
    room.submit("ann", json.dumps(english).encode())
    (room.folder("ann") / "ko").mkdir()
    (room.folder("ann") / "ko" / FILE).write_bytes(handed_in(RIGHT, "ko"))
    room.grade()
    assert room.marks() == {"ann": 1.0}
    assert room.autograded("ann")["metadata"]["course"]["language"] == "ko"


@pytest.mark.parametrize("value", ['"ko"', "[]", '["fr"]', '["en", "en"]'])
def test_languages_that_there_are_not_are_refused(room: Room, words: Path, value: str) -> None:
    with (room.root / "nbgrader_config.py").open("a") as config:
        config.write(f"c.CourseRelease.languages = {value}\n")
    done = CliRunner().invoke(main, ["course", "check", str(room.root)])
    assert done.exit_code != 0
    assert re.search(r"c\.CourseRelease\.languages: got .*, expected a list of one or more of 'en', 'ko'", done.output)
