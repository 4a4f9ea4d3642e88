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

from grader.authoring.model_solutions import lesson_of
from scripts.train_dates import SIZES, run_lesson
from tests.lessons.printed import named_tables, printed_text

ROOT = Path(__file__).parents[2]
STORED = ROOT / "grader" / "models"

LINES = [
    "from 1900-01-01 to 2099-12-31: 73049 days, 49 leap days",
    "answers on both sides: 0",
    "probability of the right token 0.500: loss 0.69",
    "mean over the 7 real ones: 2.44   over all 10: 1.71",
    "to learn from: 71216  to watch: 200  to test: 797",
    "step  20: 0.00198\nstep  40: 0.00395\nstep 160: 0.00198\nstep 240: 0.00161",
    "step      1: 1.75e-07",
    "step   4000: 6.99e-04",
    "in .grad: -4\nin .grad: -8\nin .grad: -12",
    "The course's code runs here: MultiHeadAttention, FeedForward, TransformerBlock, Encoder, DecoderBlock, Decoder, "
    "Transformer.",
    "train mode: mean 1.0   values 0 2\neval  mode: mean 1.0   values 1",
]


@pytest.fixture(scope="module")
def text() -> str:
    return printed_text("08_training")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's cells bind, nothing trained."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run_lesson(until="four_numbers", training=False)


def lesson_cells():
    return lesson_of("08_training").cells


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_the_decoder_is_given_one_token_and_should_write_the_next(text):
    given, written = named_tables(text, "position", rows=2)[0]
    assert given == ["<bos>", *"2024-02"]
    assert written == [*"2024-02", "<eos>"]


def test_losses_of_the_small_example_are_pytorchs(text):
    (shown,) = named_tables(text, "loss", rows=2)
    numbers = [float(number) for row in shown for number in row]
    even, sure = torch.zeros(14), torch.zeros(14)
    even[5], sure[0] = 1.0, 9.0
    right, other, padding = -even.log_softmax(0)[5], -even.log_softmax(0)[3], -sure.log_softmax(0)[0]
    blind = torch.tensor(14.0).log()
    expected = torch.stack([right, other, right, other, other, blind, blind, padding, padding, padding])
    torch.testing.assert_close(torch.tensor(numbers), expected, atol=1e-4, rtol=0)


def test_dropout_in_train_mode_changes_the_logits_and_costs_dates(text):
    modes = dict(re.findall(r"^(eval|train) +mode: ([\d.]+% right, .* [\d.]+) apart", text, re.MULTILINE))
    (share, again, apart), (noisy, _, noise) = (
        [float(number) for number in re.findall(r"[\d.]+", modes[mode])] for mode in ("eval", "train")
    )
    assert share == again >= 99
    assert apart == 0
    assert noisy < share
    assert noise > 0.5


def test_what_is_written_is_what_one_call_says(text):
    written, called = re.search(
        r"^written right: ([\d.]+)%\nright in one call: ([\d.]+)%$", text, re.MULTILINE
    ).groups()
    assert written == called
    assert float(written) >= 99


def test_table_of_bugs_says_what_the_prose_says(text):
    rows = {
        name: [float(number) for number in numbers]
        for name, *numbers in re.findall(
            r"^(right|no shift|padding counted|mask forgotten)" + r" +([\d.]+)" * 4, text, re.MULTILINE
        )
    }
    assert len(rows) == 4
    reports, honest, forced, writes = ({name: row[i] for name, row in rows.items()} for i in range(4))
    assert 0.5 < reports["right"] / honest["right"] < 2
    assert reports["no shift"] < reports["right"]
    assert reports["mask forgotten"] < reports["right"]
    assert writes["right"] >= 0.8
    assert not writes["no shift"]
    assert not writes["mask forgotten"]
    assert reports["no shift"] < 0.1 < 2.64 < honest["no shift"]
    assert honest["mask forgotten"] < 0.1
    assert forced["mask forgotten"] > 0.99
    assert 3 * reports["padding counted"] < honest["padding counted"]
    assert writes["padding counted"] < 0.5
    (slow,) = re.findall(r"^padding counted, 240 steps: (\d+)% of the dates right$", text, re.MULTILINE)
    assert int(slow) > 80


def test_no_held_out_answer_is_trained_on_and_lengths_differ(lesson):
    answers = {answer for _, answer in lesson["held_out"]}
    assert len(lesson["held_out"]) == 1000
    assert set(lesson["watch_pairs"]) | set(lesson["test_pairs"]) <= set(lesson["held_out"])
    assert not {answer for _, answer in lesson["watch_pairs"]} & {answer for _, answer in lesson["test_pairs"]}
    assert not answers & {answer for _, answer in lesson["train_pairs"]}
    assert {len(answer) for answer in answers} == {7, 10}
    assert "2000-02-29" in answers | {answer for _, answer in lesson["train_pairs"]}
    assert "1900-02-29" not in answers | {answer for _, answer in lesson["train_pairs"]}


def interrupted_at(names, step):
    """The lesson's `train_step`, which raises what Ctrl+C raises when it is called for that step, once."""
    calls = []

    def train_step(*args):
        calls.append(len(calls))
        if len(calls) == step:
            raise KeyboardInterrupt
        return names["train_step"](*args)

    return train_step


@pytest.fixture
def started(lesson):
    """The names of the lesson with a training of its own, by the cells that make it."""
    names = dict(lesson)
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in lesson_cells():
            if any(mark in cell.source for mark in ("monitor = TrainingMonitor", "def go_on")):
                exec(cell.source, names)
    return names


@pytest.mark.parametrize("step", [1, 4])
def test_an_interrupted_training_keeps_what_was_learnt_and_resumes(started, step):
    names, rates = started, [0.001] * 10
    before = {name: tensor.clone() for name, tensor in names["model"].state_dict().items()}
    with pytest.raises(KeyboardInterrupt) as stopped:  # so that neither this cell nor one that waits goes on
        names["go_on"](interrupted_at(names, step), rates[:6])
    assert stopped.value._render_traceback_() == [f"Stopped at step {step - 1}."]
    kept = names["losses"][:]
    assert len(kept) == step - 1
    changed = any(not torch.equal(tensor, before[name]) for name, tensor in names["model"].state_dict().items())
    assert changed == bool(kept)

    assert names["go_on"](names["train_step"], rates[:6]) is names["model"]
    assert len(names["losses"]) == 6
    assert names["losses"][: len(kept)] == kept
    names["go_on"](names["train_step"], rates)
    assert repr(names["monitor"]).startswith("Training monitor, step 10 of 240: loss ")


def test_a_training_that_is_done_changes_nothing(started):
    started["go_on"](started["train_step"], [0.001])
    before = {name: tensor.clone() for name, tensor in started["model"].state_dict().items()}
    started["go_on"](started["train_step"], [0.001])
    assert len(started["losses"]) == 1
    assert all(torch.equal(tensor, before[name]) for name, tensor in started["model"].state_dict().items())


def test_running_the_monitors_cell_again_begins_anew(started):
    """Also after the model was trained: it neither goes on with it nor takes its pictures for those of step 0."""
    cell = next(c for c in lesson_cells() if "monitor = TrainingMonitor" in c.source)
    before = started["album"]["before"][0][0]
    started["go_on"](started["train_step"], [0.001])
    with contextlib.redirect_stdout(io.StringIO()):
        exec(cell.source, started)
    assert not started["losses"]
    torch.testing.assert_close(started["album"]["before"][0][0], before)


def test_a_step_with_the_right_loss_is_the_learners_own(lesson):
    """What the runs with bugs are compared with differs from them in nothing but the bug."""
    rates = [0.001] * 3
    mine, ours = (
        lesson["short_training"](lesson["new_model"](seed=1), rates, step)
        for step in (lesson["train_step"], lesson["step_with"](lesson["mean_loss"]))
    )
    assert mine == pytest.approx(ours, abs=1e-4)


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
