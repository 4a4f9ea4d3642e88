"""A notebook in another language: its text changes, all that a learner has done in it stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader import languages
from grader.cli.main import main
from grader.learner import switch
from tests.classroom import LESSON, ROOT

FILE = f"{LESSON}.ipynb"
NOTEBOOK = ROOT / "notebooks" / FILE


def in_korean(notebook):
    """A notebook with every text in Korean, or what stands for it here."""
    cells = [
        {**cell, "source": [f"한국어: {cell['source'][0]}"]} if cell["cell_type"] == "markdown" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """The texts of lesson 00 in both languages, and a learner's copy of its notebook."""
    english = json.loads(NOTEBOOK.read_text("utf-8"))
    cells = tmp_path / "words" / "cells" / f"{LESSON}.json"
    cells.parent.mkdir(parents=True)
    cells.write_text(json.dumps(switch.cells_by_language({"en": english, "ko": in_korean(english)})))
    (tmp_path / "words" / "languages.json").write_text(json.dumps({"ko": "한국어"}))
    monkeypatch.setattr(languages, "WORDS", tmp_path / "words")
    monkeypatch.setattr(languages, "_in_this_process", "")
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(NOTEBOOK.read_text("utf-8"))
    return tmp_path / FILE


def grader(*words: object):
    return CliRunner().invoke(main, ["language", *map(str, words)])


def sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def test_a_learners_work_stays_and_switching_back_undoes_it(course):
    notebook = json.loads(course.read_text())
    notebook["metadata"]["course"] = {"exercises": {"first_steps": 2}}
    texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    texts[1]["source"] = ["My note."]
    answer = next(cell for cell in notebook["cells"] if cell["id"] == "first_steps-solution")
    answer["source"] = ["def first_steps(x):\n", "    return 2 * x + 1"]
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": ["Mine, too."]})
    course.write_text(before := json.dumps(notebook, ensure_ascii=False, indent=1) + "\n")
    done = grader("KO", FILE)
    assert done.exit_code == 0, done.output
    assert "Texts that you have changed stay as they are: 1." in done.output
    first, second, *_rest, last = sources(course, "markdown")
    assert first.startswith("한국어: ")
    assert (second, last) == ("My note.", "Mine, too.")
    assert sources(course, "code") == ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert json.loads(course.read_text())["metadata"]["course"] == {"exercises": {"first_steps": 2}, "language": "ko"}
    assert languages.chosen() == "ko"
    assert grader("en", FILE).exit_code == 0
    assert course.read_text() == before


@pytest.mark.parametrize("steps", [1, 2])
def test_a_link_still_leads_to_the_notebook_which_has_changed(course, steps):
    """Else the learner would have two notebooks, and go on in either."""
    last = course
    for step in range(steps):
        link = course.with_name(f"link{step}.ipynb")
        link.symlink_to(last.name)
        last = link
    switch.switch(last, "ko")
    assert last.is_symlink()
    assert "한국어" in course.read_text("utf-8")


def test_what_is_no_notebook_of_the_course_stays_as_it_is(course):
    for text in ("[]", "{", '{"cells": [{}], "metadata": {}}', '{"cells": [], "metadata": {}}'):
        course.write_text(text)
        done = grader("ko", FILE)
        assert done.exit_code == 1, done.output
        assert FILE in done.output
        assert course.read_text() == text
    assert languages.chosen() == "en"


def test_an_unknown_language_is_a_mistake_in_the_command(course):
    done = grader("fr", FILE)
    assert done.exit_code == 2
    assert 'There is no language \'fr\'. These can be chosen: "en" (English), "ko" (한국어).' in done.output
    assert course.read_text() == NOTEBOOK.read_text()


def test_without_a_code_the_command_tells_which_it_is(course):
    assert grader().output.startswith("The course's messages are in English.")
    assert grader("ko").exit_code == 0
    assert grader().output.startswith("The course's messages are in 한국어.")
    assert os.listdir(course.parent).count("progress.language") == 1
