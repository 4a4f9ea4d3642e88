"""Lesson 08: what its executed cells print, its training when it is interrupted, and the model that is shipped."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from grader.authoring.model_solutions import lesson_of, model_solution
from grader.exercises.registry import exercises
from scripts.train_dates import SIZES, run_lesson
from tests.lessons.printed import labelled, printed_text

ROOT = Path(__file__).parents[2]
STORED = ROOT / "grader" / "models"

LINES = [
    "days: 73049  of them 29 February: 49",
    "answers on both sides: 0",
    "is given       <bos>      2      0      2      4      -      0      2",
    "should say         2      0      2      4      -      0      2  <eos>",
    "probability of the right token 0.500: loss 0.69",
    "mean over the 7 real ones: 2.44   over all 10: 1.71",
    "to learn from: 71216  to watch: 200  to test: 797",
    "[0.0001, 0.002, 0.004, 0.00201, 2e-05]",
    "step      1: 1.75e-07",
    "step   4000: 6.99e-04",
    "in .grad: -4\nin .grad: -8\nin .grad: -12",
    "The course's run here: MultiHeadAttention, FeedForward, TransformerBlock, Encoder, DecoderBlock, Decoder, "
    "Transformer.",
    "at least 99 % right: True\nthe same as with teacher forcing: True",
    "train mode, mean:   1.0",
    "the same logits: True",
]


@pytest.fixture(scope="module")
def text() -> str:
    return printed_text("08_training")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's cells bind, nothing trained."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run_lesson(until="monitor", training=False)


def lesson_cells():
    return lesson_of("08_training").cells


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_losses_of_the_small_example_are_pytorchs(text):
    (shown,) = labelled(text)["loss of each position"]
    numbers = [float(number) for number in re.findall(r"[\d.]+", shown)]
    even, sure = torch.zeros(14), torch.zeros(14)
    even[5], sure[0] = 1.0, 9.0
    right, other, padding = -even.log_softmax(0)[5], -even.log_softmax(0)[3], -sure.log_softmax(0)[0]
    blind = torch.tensor(14.0).log()
    expected = torch.stack([right, other, right, other, other, blind, blind, padding, padding, padding])
    torch.testing.assert_close(torch.tensor(numbers), expected, atol=1e-4, rtol=0)


def test_dropout_in_train_mode_changes_the_logits_and_costs_dates(text):
    modes = dict(re.findall(r"^(eval|train) +mode: ([\d.]+ % right; .* [\d.]+) apart$", text, re.MULTILINE))
    (share, apart), (noisy, noise) = ([float(n) for n in re.findall(r"[\d.]+", modes[m])] for m in ("eval", "train"))
    assert share >= 99
    assert apart == 0
    assert noisy < share
    assert noise > 0.5


def test_table_of_bugs_says_what_the_prose_says(text):
    rows = {
        name: [float(number) for number in numbers]
        for name, *numbers in re.findall(
            r"^(right|no shift|padding counted|mask forgotten) +([\d.]+) +([\d.]+) +(\d+)% +(\d+)%", text, re.MULTILINE
        )
    }
    assert len(rows) == 4
    reports, honest, forced, writes = ({name: row[i] for name, row in rows.items()} for i in range(4))
    assert 0.5 < reports["right"] / honest["right"] < 2
    assert reports["no shift"] < reports["right"]
    assert reports["mask forgotten"] < reports["right"]
    assert writes["right"] >= 80
    assert not writes["no shift"]
    assert not writes["mask forgotten"]
    assert reports["no shift"] < 0.1 < 2.64 < honest["no shift"]
    assert honest["mask forgotten"] < 0.1
    assert forced["mask forgotten"] > 99
    assert 3 * reports["padding counted"] < honest["padding counted"]
    assert writes["padding counted"] < 50


def test_no_held_out_answer_is_trained_on_and_lengths_differ(lesson):
    answers = {answer for _, answer in lesson["held_out"]}
    assert len(lesson["held_out"]) == 1000
    assert set(lesson["watch_pairs"]) | set(lesson["test_pairs"]) <= set(lesson["held_out"])
    assert not {answer for _, answer in lesson["watch_pairs"]} & {answer for _, answer in lesson["test_pairs"]}
    assert not answers & {answer for _, answer in lesson["train_pairs"]}
    assert {len(answer) for answer in answers} == {7, 10}
    assert "2000-02-29" in answers | {answer for _, answer in lesson["train_pairs"]}
    assert "1900-02-29" not in answers | {answer for _, answer in lesson["train_pairs"]}


def test_an_interrupted_training_keeps_what_was_learnt_and_goes_on(lesson, capsys):
    calls = []

    def interrupted_at_the_fourth(logits, wanted):
        calls.append(len(calls))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return lesson["mean_loss"](logits, wanted)

    model, monitor = lesson["new_model"](0, num_layers=1), lesson["TrainingMonitor"](6)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    training = lesson["Training"](model, steps=6, loss_of=interrupted_at_the_fourth)
    with pytest.raises(KeyboardInterrupt) as stopped:  # so that neither this cell nor one that waits goes on
        lesson["go_on"](training, until=6, monitor=monitor)
    assert stopped.value._render_traceback_() == ["Stopped at step 3 of 6. Run this cell again to go on."]
    assert training.done == len(training.losses) == 3
    assert repr(monitor).startswith("Training monitor, step 3 of 6: loss ")
    assert any(not torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())

    kept = training.losses[:]
    lesson["go_on"](training, until=6, monitor=monitor)
    assert training.done == 6
    assert training.losses[:3] == kept
    assert model.training
    assert repr(monitor).startswith("Training monitor, step 6 of 6: loss ")


def test_a_training_that_is_interrupted_before_its_first_step_goes_on(lesson):
    def interrupted(_logits, _wanted):
        raise KeyboardInterrupt

    training = lesson["Training"](lesson["new_model"](0, num_layers=1), steps=2, loss_of=interrupted)
    with pytest.raises(lesson["Stopped"], match="Stopped at step 0 of 2"):
        lesson["go_on"](training, until=2)
    training.loss_of = lesson["mean_loss"]
    lesson["go_on"](training, until=2)
    assert training.done == 2


def test_a_training_that_is_done_says_so_and_changes_nothing(lesson, capsys):
    training = lesson["Training"](lesson["new_model"](0, num_layers=1), steps=1)
    lesson["go_on"](training, until=1)
    before = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
    lesson["go_on"](training, until=1)
    assert capsys.readouterr().out.startswith("Step 1 is done already.")
    assert all(torch.equal(tensor, before[name]) for name, tensor in training.model.state_dict().items())


def test_running_the_monitors_cell_again_begins_anew(lesson):
    """Also after the model was trained: it neither goes on with it nor takes its pictures for those of step 0."""
    cell = next(c for c in lesson_cells() if "first_run = Training" in c.source)
    names = dict(lesson)
    before = names["album"]["before"][0][0]
    names["first_run"].one_step()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(cell.source, names)
    assert names["first_run"].done == 0
    torch.testing.assert_close(names["album"]["before"][0][0], before)


def test_the_table_of_bugs_can_be_run_before_the_trainings_are_done(lesson):
    names = dict(lesson) | {"compare_guess": lambda *_: None, "predict": lambda *_: None}
    marks = ("class SeesTheFuture", "few_steps =", "def really_right")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in lesson_cells():
            if cell.is_code and any(mark in cell.source for mark in marks):
                exec(cell.source, names)
    assert len(printed.getvalue().splitlines()) == 5


def test_the_model_solution_in_a_loop_of_a_learners_trains(lesson):
    solutions: dict[str, Any] = {}
    exec(model_solution(exercises()["train_step"]), solutions)
    model = lesson["new_model"](1)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    sources, targets = lesson["train_data"][0], torch.cat([lesson["train_data"][1][:, :1], lesson["train_data"][2]], 1)
    losses = []
    for step in range(1, 41):
        optimizer.param_groups[0]["lr"] = 0.3 * 64**-0.5 * min(step**-0.5, step * 60**-1.5)
        rows = slice(64 * step, 64 * step + 64)
        losses.append(solutions["train_step"](model, optimizer, sources[rows], targets[rows], 0))
    assert losses[0] > 2.4
    assert losses[-1] < 1.5


def test_the_shipped_model_is_the_lessons_and_writes_99_percent_of_its_held_out_dates(lesson):
    about = json.loads((STORED / "dates.json").read_text(encoding="utf-8"))
    assert about["source"] == lesson["SOURCE"]
    assert about["target"] == lesson["TARGET"]
    assert SIZES.items() <= about["model"].items()
    model = lesson["Transformer"](**about["model"])
    model.load_state_dict(load_file(STORED / "dates.safetensors"))
    assert lesson["share_right"](model, lesson["test_data"]) >= 0.99
    held_out = set(lesson["held_out"])
    assert all(tuple(pair) in held_out for pair in about["held_out"])
    assert (STORED / "dates.safetensors").stat().st_size < 2_000_000
