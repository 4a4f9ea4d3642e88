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

from scripts.train_dates import SIZES, run_lesson
from tests.lessons.printed import labelled, printed_text

STORED = Path(__file__).parents[2] / "grader" / "models"

LINES = [
    "days: 73049  of them 29 February: 49",
    "answers on both sides: 0",
    "is given       <bos>      2      0      2      4      -      0      2",
    "should say         2      0      2      4      -      0      2  <eos>",
    "probability of the right token 0.071: loss 2.64",
    "mean over the 7 real ones: 2.44   over all 10: 1.71",
    "[5e-05, 0.0015, 0.003, 0.0015, 1e-05]",
    "step   4000: 0.000699",
    "right before training: 0.0",
    "held-out dates exactly right: at least 99 %: True",
    "at least 99 % right: True\nthe same as with teacher forcing: True",
    "the loss fell below 1.5: True",
    "eval  mode: twice the same: True, at least 99 % right: True",
    "train mode: twice the same: False, at least 99 % right: False",
    "no shift         reports less than the right code: True, writes more dates: False",
    "padding counted  reports less than the right code: True, writes more dates: False",
    "mask forgotten   reports less than the right code: True, writes more dates: False",
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


def test_table_of_bugs_says_what_the_prose_says(text):
    rows = {
        name: [float(number) for number in numbers]
        for name, *numbers in re.findall(
            r"^(right|no shift|padding counted|mask forgotten) +([\d.]+) +([\d.]+) +(\d+)% +(\d+)%", text, re.MULTILINE
        )
    }
    assert len(rows) == 4
    reports, honest, forced, writes = ({name: row[i] for name, row in rows.items()} for i in range(4))
    assert max(reports, key=reports.__getitem__) == "right"
    assert writes["right"] > 0
    assert not any(writes[name] for name in rows if name != "right")
    assert reports["no shift"] < 0.1 < 2.64 < honest["no shift"]
    assert honest["mask forgotten"] < 0.1
    assert forced["mask forgotten"] > 99
    assert 2 * reports["padding counted"] < honest["padding counted"]
    assert 1.5 * reports["padding counted"] < reports["right"]


def test_no_held_out_answer_is_trained_on_and_lengths_differ(lesson):
    answers = {answer for _, answer in lesson["held_out"]}
    assert len(lesson["held_out"]) == 1000
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
    lesson["go_on"](training, until=6, monitor=monitor)
    assert capsys.readouterr().out == "Interrupted at step 3 of 6. Run the cell again to go on.\n"
    assert training.done == len(training.losses) == 3
    assert repr(monitor).startswith("Training monitor, step 3 of 6: loss ")
    assert any(not torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())

    kept = training.losses[:]
    lesson["go_on"](training, until=6, monitor=monitor)
    assert training.done == 6
    assert training.losses[:3] == kept
    assert model.training
    assert repr(monitor).startswith("Training monitor, step 6 of 6: loss ")


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
