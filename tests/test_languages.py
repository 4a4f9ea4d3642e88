"""Which language a learner is shown, and what changes with it: reports, messages, guesses, views. Not what is kept."""

from __future__ import annotations

import ast
import html
import inspect
import json
import os
import re
from dataclasses import asdict

import pytest
from click.testing import CliRunner

from grader import kernel, languages
from grader.cli.main import main
from grader.exercises.registry import exercises
from grader.languages import language, shown, speaking
from grader.learner import doctor, progress, starter_code
from grader.learner import predict as predicting
from grader.learner.predict import compare_guess, predict
from grader.report.html import as_html
from grader.report.text import as_text
from grader.sentences import Said, Several, Together, say
from grader.views.base import with_words
from grader.views.prediction import Prediction
from grader.views.progress_table import ProgressTable
from tests.exercises import scores
from tests.pseudo import english_in, in_catalogues, pseudo_language

KOREAN = {
    "{name}: not passed yet": "{name}: 아직 통과하지 못함",
    "From now on the course's messages are in {language}.": "이제부터 {language}로 알려 드립니다.",
    "Which row is larger?": "어느 행이 더 큰가요?",
    "row 0": "0번 행",
    "row 1": "1번 행",
    "Predict: {question}": "예상: {question}",
    "Result: {outcome}": "결과: {outcome}",
    "As you guessed.": "예상한 대로입니다.",
}
# What a sentence is given that is the same in every language, by the names that templates have for it.
SAME = {
    *("argument", "arguments", "axes", "axis", "error", "expected", "found", "got", "kind", "line", "message"),
    *("function", "mistake", "mode", "name", "names", "path", "plain", "rule", "sampling", "sizes", "text", "type"),
    "wrong",
}
ONE_IN = 1 if os.environ.get("SAMPLES") == "all" else 40  # of the wrong samples; `make test-samples` asks all
WRONG = [one for one in scores.judged() if one.mistake and one.mistake != "time-limit"]


@pytest.fixture(autouse=True)
def words(tmp_path, monkeypatch):
    """Words of Korean in a folder, nothing chosen yet, and a file for what is kept."""
    folder = tmp_path / "words" / "ko"
    folder.mkdir(parents=True)
    (folder.parent / "languages.json").write_text(json.dumps({"ko": "한국어"}))
    (folder / "words.json").write_text(json.dumps(KOREAN))
    (folder / "answers.json").write_text(json.dumps({"01_own_weight": "모든 단어가 …"}))
    monkeypatch.setattr(languages, "WORDS", folder.parent)
    monkeypatch.setattr(languages, "_in_this_process", "")
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("GRADER_LANG", raising=False)
    languages._tell.cache_clear()
    return folder.parent


def notebook_in(tmp_path, monkeypatch, code):
    path = tmp_path / "01.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {"course": {"language": code}}}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))


def test_the_variable_comes_first_then_the_choice_then_the_notebook(tmp_path, monkeypatch, capsys):
    assert languages.chosen() == "en"
    notebook_in(tmp_path, monkeypatch, "ko")
    assert languages.chosen() == "ko"
    language("en")
    assert languages.chosen() == "en"
    assert (tmp_path / "progress.language").read_text() == "en\n"
    monkeypatch.setenv("GRADER_LANG", "KO")
    assert languages.chosen() == "ko"
    capsys.readouterr()
    language("en")
    assert "GRADER_LANG is set to `ko` here, which comes first" in capsys.readouterr().out


def test_what_was_chosen_is_kept_for_other_kernels_and_said_in_that_language(monkeypatch, capsys):
    language("ko")
    assert capsys.readouterr().out.startswith("이제부터 한국어로 알려 드립니다.")
    monkeypatch.setattr(languages, "_in_this_process", "")
    assert languages.chosen() == "ko"
    monkeypatch.setattr(kernel, "is_attended", lambda: False)  # a program runs the notebook: nobody chose anything
    assert languages.chosen() == "en"


def test_where_nothing_is_kept_a_choice_holds_for_the_kernel(monkeypatch, capsys):
    monkeypatch.setenv("GRADER_PROGRESS", "off")
    language("ko")
    assert languages.chosen() == "ko"
    assert "This isn't kept, since no progress is." in capsys.readouterr().out


@pytest.mark.parametrize("code", ["fr", "", " ", "한국어", "../ko"])
def test_an_unknown_language_is_told_with_those_that_there_are(monkeypatch, capsys, code):
    language(code or "fr")
    assert re.search(r"There is no language .* \"en\" \(English\), \"ko\" \(한국어\)", capsys.readouterr().out)
    monkeypatch.setenv("GRADER_LANG", code)
    assert languages.chosen() == "en"
    assert languages.chosen() == "en"
    said = capsys.readouterr().out
    assert said.count("There is no language") == bool(code.strip())  # once
    assert not code.strip() or said.startswith("GRADER_LANG: got")


def test_in_english_nothing_is_read_and_in_korean_each_file_once(monkeypatch, words):
    read = []
    monkeypatch.setattr(languages, "_read", lambda path: read.append(path.name) or {})
    assert shown(say("{name}: not passed yet", name="x")) == "x: not passed yet"
    assert read == []
    monkeypatch.undo()
    languages._read.cache_clear()
    monkeypatch.setattr(languages, "WORDS", words)
    with speaking("ko"):
        assert [shown("row 0"), shown("row 1")] == ["0번 행", "1번 행"]
    assert languages._read.cache_info().misses == 1


def test_a_guess_is_asked_and_compared_in_korean_and_kept_in_english(capsys, monkeypatch):
    monkeypatch.setenv("GRADER_LANG", "ko")
    monkeypatch.setattr(predicting, "_asked", {})
    asked = predict("01_own_weight", "Which row is larger?", ["row 0", "row 1"], guess="b")
    assert asked.guess == "row 1"
    assert "어느 행이 더 큰가요?" in repr(asked)
    assert "b. 1번 행" in repr(asked)
    assert predicting.progress.guesses() == {"01_own_weight": "row 1"}
    compared = predicting._compared("01_own_weight", "row 1")
    assert "결과: 1번 행\n예상한 대로입니다." in repr(compared)
    assert '<table lang="ko" style="word-break:keep-all' in compared._repr_html_()
    assert predicting._explanation("01_own_weight") == "모든 단어가 …"
    compare_guess("01_own_weight", "row 1")


def test_a_view_has_the_words_that_it_uses(monkeypatch):
    assert not Prediction("Which row is larger?", ["row 0", "row 1"])._esm.startswith("const WORDS")
    with speaking("ko"):
        source = Prediction("Which row is larger?", ["row 0", "row 1"])._esm
        assert with_words('say("row 1")').splitlines()[0] == 'const WORDS = {"": "ko", "row 1": "1번 행"};'
    used = json.loads(source.splitlines()[0].removeprefix("const WORDS = ").removesuffix(";"))
    assert used == {"": "ko"} | {name: KOREAN[name] for name in ("Which row is larger?", "row 0", "row 1")}


def values_of(text: str, name: str = ""):
    """The values in a sentence that aren't sentences themselves, each with its name."""
    if isinstance(text, Together):
        yield from (found for one in text.sentences for found in values_of(one))
    elif isinstance(text, Said):
        yield from (found for key, value in text.values.items() for found in values_of(value, key))
    elif isinstance(text, Several):
        yield from (found for one in text.names for found in values_of(one, name))
    elif name:
        yield name, text


def left_in_english(report) -> list[str]:
    """The English words of a report in the pseudo-language, as text and as HTML."""
    said = [text for part in report.parts for text in (part.name, part.message, *part.hints)]
    said += [report.symptom, *report.hints, report.remark]
    same = [value for text in said for name, value in values_of(text) if name in SAME]
    with pseudo_language():
        text, page = as_text(report), as_html(report, b"{}")
    text = text.partition("⟦Your code printed:⟧")[0]
    page = re.sub(r"<(style|code|pre|td|a)\b.*?</\1>", " ", page, flags=re.DOTALL)
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', page))
    page = html.unescape(re.sub(r"<[^>]*>", " ", page + labels))
    known = (*same, report.name, report.diagnosis or "", "True False nan inf")
    return [*english_in(text, *known), *english_in(page, *known)]


@pytest.mark.parametrize("sample", WRONG[7::ONE_IN], ids=str)
def test_a_report_has_no_word_that_cannot_be_said_in_another_language(sample):
    assert left_in_english(scores.report_on(sample)) == []


def words_left(shown_to: object, *same: str) -> list[str]:
    """The English words of what is displayed, as text and as HTML."""
    page = shown_to._repr_html_() if hasattr(shown_to, "_repr_html_") else ""
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', page))
    page = re.sub(r"<(style|code)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return english_in(html.unescape(f"{shown_to!r}\n{re.sub('<[^>]*>', ' ', page)} {labels}"), *same)


def test_a_diagnosis_of_the_machine_can_be_said_in_another_language(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "exchange", lambda: tmp_path / "nowhere", raising=False)
    (tmp_path / "progress.json").write_text("[]")
    names = "Python PyTorch JupyterLab Linux Darwin Windows anywidget nbgrader"
    with pseudo_language():
        assert words_left(doctor.doctor(), names) == []


def test_every_finding_of_the_doctor_is_in_the_catalogues():
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(doctor))) if isinstance(node, ast.Call)]
    given = [
        value.value
        for call in calls
        if getattr(call.func, "id", "") in ("Observation", "say", "shown")
        for value in call.args
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]
    assert len(given) > 40
    assert set(given) - in_catalogues() == {"Python", "PyTorch", "JupyterLab"}


def test_a_prediction_and_its_answer_can_be_said_in_another_language(monkeypatch, capsys):
    monkeypatch.setattr(predicting, "_asked", {})
    ours = "How much? one two percent"  # what a lesson gives: its catalogue has it
    with pseudo_language():
        for name, given in {
            "a": {"choices": ["one", "two"], "guess": "c"},
            "b": {"low": 0, "high": 9, "unit": "percent", "guess": 10},
            "c": {"low": 0, "guess": -1},
            "d": {"high": 9, "guess": "x"},
            "e": {"guess": "x"},
            "f": {"low": 0, "high": 9, "unit": "percent", "guess": 5},
        }.items():
            asked = predict(name, "How much?", **given)
            assert words_left(asked, ours) == []
            for outcome in ("one", 5, 5.1, 9):
                asked.seen = False
                assert words_left(predicting._compared(name, outcome), ours) == []
        assert english_in(capsys.readouterr().out, ours) == []


def test_progress_can_be_said_in_another_language():
    kept = {
        "first_steps": progress.Record(tries=2, best=1.0, passed_at="2026-11-20"),
        "stable_softmax": progress.Record(tries=1, solution_at="2026-11-20"),
        "teachers_own": progress.Record(tries=1, best=0.5),
    }
    path = kernel.progress_file()
    document = {"exercises": {name: asdict(record) for name, record in kept.items()}}
    path.write_text(json.dumps(document | {"guesses": {"a": 1}, "sure": {"a": 90}, "outcomes": {"a": True}}))
    with pseudo_language():
        shown_to = CliRunner().invoke(main, ["progress"]).output
        lessons = {exercise.lesson for exercise in exercises().values()}  # those of other tests among them
        assert english_in(shown_to, *exercises(), *lessons, "teachers_own own") == []
        table = ProgressTable(progress.rows, progress.predictions)
        assert english_in(repr(table), *lessons) == []
        assert english_in(table.get_state("summary")["summary"]) == []


@pytest.mark.parametrize("name", ["solution", "reset"])
def test_what_is_said_of_solutions_can_be_said_in_another_language(capsys, name):
    with pseudo_language():
        for exercise in ("first_steps", "first_step", "nothing like it"):
            getattr(starter_code, name)(exercise)
        said = capsys.readouterr().out
    assert said
    assert (
        english_in(
            "\n".join(line for line in said.splitlines() if "⟦" in line), "first_steps 'nothing like it' first step"
        )
        == []
    )


def test_a_word_that_cannot_be_said_is_found():
    report = scores.report_on(next(one for one in WRONG if one.exercise == "stable_softmax"))
    object.__setattr__(report.parts[0], "message", say("It is {what}.", what="always wrong"))
    assert "always" in left_in_english(report) or report.parts[0].passed
