"""A guess is asked for, kept, and shown beside what came out, in whatever order the cells are run."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest
import torch
import traitlets

from grader import compare_guess, predict
from grader.learner import predict as module
from grader.learner import progress
from grader.learner.progress import Record

ROOT = Path(__file__).parents[2]
CHOICES = ["row 0", "row 1", "neither"]


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(module, "_asked", {})
    return tmp_path / "progress.json"


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new kernel knows: nothing but the file."""
    monkeypatch.setattr(module, "_asked", {})


def compared(name: str, outcome: object, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    compare_guess(name, outcome)
    return capsys.readouterr().out.splitlines()


def test_a_guess_is_kept_and_compared(capsys):
    predict("01_row", "Which row is larger?", CHOICES).guess = "row 1"
    assert progress.guesses() == {"01_row": "row 1"}
    assert compared("01_row", "row 1", capsys) == ["You guessed: row 1", "Result: row 1", "As you guessed."]
    assert compared("01_row", "row 0", capsys)[1:] == ["Result: row 0", "Not what you guessed. Can you say why?"]


def test_a_guess_stays_once_the_outcome_was_seen_in_this_session_and_the_next(monkeypatch, capsys):
    prediction = predict("01_row", "Which row is larger?", CHOICES)
    prediction.guess = "row 0"  # nothing was seen yet
    assert compared("01_row", "row 1", capsys)[-1] == "Not what you guessed. Can you say why?"
    prediction.guess = "row 1"
    assert prediction.guess == "row 0"
    restart(monkeypatch)
    again = predict("01_row", "Which row is larger?", CHOICES, guess="b")
    assert (again.guess, again.seen) == ("row 0", True)
    assert progress.outcomes() == {"01_row": False}


def test_who_looks_without_a_guess_has_none_afterwards(monkeypatch, capsys):
    prediction = predict("01_row", "Which row is larger?", CHOICES, guess="show")
    assert compared("01_row", "row 1", capsys)[0] == "Result: row 1"
    restart(monkeypatch)
    prediction = predict("01_row", "Which row is larger?", CHOICES)
    prediction.guess = "row 1"
    assert prediction.guess is None
    assert (progress.guesses(), progress.outcomes()) == ({}, {"01_row": None})
    assert progress.predictions() == ""


def test_the_text_comes_after_the_comparison(capsys):
    predict("01_row", "Which row is larger?", CHOICES).guess = "row 1"
    capsys.readouterr()
    compare_guess("01_row", "row 1", because="\nIts *sum* is.\n")
    assert capsys.readouterr().out.splitlines()[-2:] == ["As you guessed.", "Its *sum* is."]


def test_the_courses_own_text_is_found_by_the_name_of_the_prediction(capsys):
    predict("02_first_look", "Are the rows equal?", ["all", "none"]).guess = "all"
    compare_guess("02_first_look", "all")
    assert capsys.readouterr().out.splitlines()[-1] == module._explanation("02_first_look").splitlines()[-1] != ""
    assert module._explanation("02_rows_odd") == module._explanation("../02_first_look") == ""


def test_no_notebook_of_a_student_has_the_text_of_an_answer():
    for path in sorted(module.ANSWERS.glob("*.json")):
        (notebook,) = (ROOT / "notebooks").glob(f"{path.stem}_*.ipynb")
        shown = "\n".join(cell.source for cell in nbformat.read(notebook, nbformat.NO_CONVERT).cells)
        for name, text in json.loads(path.read_text()).items():
            assert f'compare_guess("{name}"' in re.sub(r"compare_guess\(\s+", "compare_guess(", shown)
            assert text[-60:] not in shown


def test_how_often_guesses_were_right_and_how_sure_one_was(capsys):
    for name, guess, sure, outcome in [("a", 0.5, 90, 0.56), ("b", 0.5, 70, 0.9), ("c", 0.2, None, 0.2)]:
        prediction = predict(f"01_{name}", "How much?", low=0, high=1)
        prediction.set_state({"guess": guess, "sure": sure})
        compare_guess(f"01_{name}", outcome)
    assert progress.outcomes() == {"01_a": True, "01_b": False, "01_c": True}
    assert progress.predictions() == (
        "Predictions: 2 of 3 guesses were right. Where you gave your confidence, "
        "you were 80 % sure on average and right 50 % of the time."
    )


def test_outside_of_a_notebook_who_has_not_guessed_sees_what_came_out(capsys):
    for _ in range(2):  # before the prediction has been run, and after
        assert compared("01_row", "row 0", capsys) == ["Result: row 0"]
        predict("01_row", "Which row is larger?", CHOICES)


def test_a_guess_survives_a_restart_and_a_second_run(monkeypatch, capsys):
    predict("01_row", "Which row is larger?", CHOICES).guess = "neither"
    restart(monkeypatch)
    assert compared("01_row", "row 0", capsys)[0] == "You guessed: neither"
    again = predict("01_row", "Which row is larger?", CHOICES)
    assert again.guess == "neither"
    assert repr(again).endswith("Your guess: neither.")


def test_a_kept_guess_that_is_no_choice_any_more_is_as_good_as_none():
    progress.record_guess("01_row", "row 7")
    assert predict("01_row", "Which row is larger?", CHOICES).guess is None


def test_where_nothing_can_be_kept_the_session_still_knows(monkeypatch, capsys):
    monkeypatch.setenv("GRADER_PROGRESS", "off")
    predict("01_row", "Which row is larger?", CHOICES).guess = "row 0"
    assert compared("01_row", "row 0", capsys)[-1] == "As you guessed."


def test_numbers_are_shown_with_their_unit_and_may_be_off_by_a_tenth_of_what_is_possible(capsys):
    predict("01_much", "How much?", low=0, high=2, unit="nats").guess = 0.5
    came_out = ["You guessed: 0.5 nats", "Result: 1.235 nats", "Not near enough. Can you say why?"]
    assert compared("01_much", torch.tensor(1.23456), capsys) == came_out
    assert compared("01_much", torch.tensor(0.5), capsys)[-1] == "As you guessed."
    assert compared("01_much", 0.65, capsys)[-1] == "Near enough."
    assert compared("01_much", 0.75, capsys)[-1] == "Not near enough. Can you say why?"
    assert compared("01_much", torch.ones(2), capsys)[1] == "Result: tensor([1., 1.])"


@pytest.mark.parametrize(("guess", "meant"), [("b", "row 1"), ("B", "row 1"), ("neither", "neither")])
def test_without_buttons_a_guess_is_written_into_the_call(guess, meant):
    shown = predict("01_row", "Which row is larger?", CHOICES, guess=guess)
    assert shown.guess == meant
    assert progress.guesses() == {"01_row": meant}


@pytest.mark.parametrize(
    ("guess", "options", "said"),
    [
        ("d", {"choices": CHOICES}, "guess='d': expected one of the letters a, b, c."),
        (3, {"low": 0, "high": 1}, "guess=3: expected a number from 0 to 1."),
        ("many", {"high": 1}, "guess='many': expected a number up to 1."),
        (float("nan"), {}, "guess=nan: expected a number."),
    ],
)
def test_an_impossible_guess_is_told_in_one_line(guess, options, said, capsys):
    shown = predict("01_row", "Which?", guess=guess, **options)
    assert capsys.readouterr().out == said + "\n"
    assert shown.guess is None
    assert progress.guesses() == {}


def test_an_impossible_guess_from_the_browser_is_refused():
    shown = predict("01_row", "Which?", CHOICES)
    with pytest.raises(traitlets.TraitError, match="guess: got 'row 9', expected one of the letters a, b, c"):
        shown.guess = "row 9"


def test_an_outcome_that_is_no_choice_ends_a_build_but_no_learners_cell(monkeypatch, capsys):
    predict("01_row", "Which?", CHOICES)
    assert compared("01_row", "row 7", capsys)[0] == "Result: row 7"
    monkeypatch.setenv("NBGRADER_EXECUTION", "build")
    with pytest.raises(ValueError, match=r"compare_guess\('01_row'\): got 'row 7', expected one of"):
        compare_guess("01_row", "row 7")


@pytest.mark.parametrize("choices", [["only one"], ["the same", "the same"]])
def test_choices_are_several_and_different(choices):
    with pytest.raises(
        ValueError, match=r"choices: got \[.*\], expected several different ones, or none to ask for a number"
    ):
        predict("01_row", "Which?", choices)


def test_guesses_and_checks_share_the_file(kept):
    progress.update("first_steps", lambda old: {"tries": old.tries + 1})
    progress.record_guess("01_row", "row 0")
    progress.update("first_steps", lambda old: {"tries": old.tries + 1})
    assert progress.load() == {"first_steps": Record(tries=2)}
    assert progress.guesses() == {"01_row": "row 0"}
    assert json.loads(kept.read_text())["version"] == 1  # as an older version reads it


@pytest.mark.parametrize("odd", ["[]", '"much"', '{"01_row": [1], "01_more": true}'])
def test_odd_guesses_in_the_file_are_as_good_as_none(kept, odd):
    kept.write_text(f'{{"exercises": {{}}, "guesses": {odd}}}')
    assert progress.guesses() == {}
    progress.record_guess("01_row", 2)
    assert progress.guesses() == {"01_row": 2}


def test_what_a_later_version_has_written_stays(kept):
    later = {"version": 2, "mood": "good", "exercises": {"first_steps": {"tries": 1, "seconds": 9}}}
    kept.write_text(json.dumps(later))
    progress.record_guess("01_row", 2)
    progress.update("first_steps", lambda old: {"tries": old.tries + 1})
    found = json.loads(kept.read_text())
    assert (found["version"], found["mood"]) == (2, "good")
    assert (found["exercises"]["first_steps"]["tries"], found["exercises"]["first_steps"]["seconds"]) == (2, 9)


def test_side_by_side_in_a_notebook():
    html = module.Comparison("`a` < b", "c", "As you guessed.")._repr_html_()
    assert "<tr><td><code>a</code> &lt; b</td><td>c</td></tr>" in html
    assert html.index("You guessed") < html.index("Result") < html.index("As you guessed.")


def test_the_guess_that_is_proposed_where_no_buttons_appear_is_possible():
    percent = {"low": 0, "high": 100, "unit": "%"}
    for choices, limits, example in (((), percent, "50"), ((), {}, "0.5"), (("yes", "no"), {}, '"a"')):
        name = f"01_{len(choices)}_{len(limits)}"
        assert f"predict(..., guess={example})" in repr(predict(name, "How much?", choices, **limits))
        assert module._example(name) == example
        assert predict(name, "How much?", choices, guess=ast.literal_eval(example), **limits).guess is not None


@pytest.mark.parametrize(("written", "meant"), [("50", 50), (" 12.5 ", 12.5), ("50%", 50), ("50 %", 50)])
def test_a_number_in_quotes_is_the_number(written, meant):
    assert predict("01_quoted", "How much?", low=0, high=100, unit="%", guess=written).guess == meant
