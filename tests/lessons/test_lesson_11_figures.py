"""Lesson 11: what its executed cells print, its training when it is stopped, and the baselines."""

from __future__ import annotations

import contextlib
import io
import math
from collections import Counter
from typing import Any

import pytest
import torch

from grader.models.gpt import course_text, trained_gpt
from scripts.train_dates import run_lesson
from scripts.train_gpt import LESSON
from tests.lessons.printed import printed_text

LINES = [
    "148220 characters, 27612 words",
    "to learn from: 133398  held out: 14822",
    "uniform: 4.32 nats   unigram: 3.09 nats",
    "parameters: 71872",
    "after 100 steps better than a bigram model: True",
    "nats below the bigram model, more than half a nat: True",
    "the course's model: 1.28 nats on the same held-out text",
    "--- after 1000 steps",
    "largest difference of the logits below 0.001",
    "'e' + ' ' occurs 4650 times, 143570 tokens are left",
    "a block: 7,087,872   the embedding: 38,597,376   in all: 124,439,808",  # as Hugging Face counts `gpt2`
    "123,653,376 parameters; GPT-2 has 786,432 more, a learnt vector for each of 1024 positions",
]


@pytest.fixture(scope="module")
def text() -> str:
    return printed_text("11_small_gpt")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's cells bind, nothing trained."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run_lesson(until="compare_with_course", lesson=LESSON)


def training(lesson: dict[str, Any], steps: int = 4) -> Any:
    torch.manual_seed(0)
    model = lesson["GPT"](lesson["V"], 8, 1, 2, 16, max_length=128)
    return lesson["Training"](model, lesson["language_batch"], lesson["clip_gradients"], steps=steps)


@pytest.mark.parametrize("line", LINES)
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_what_the_course_wrote_is_shown_as_it_is_stored(text):
    for step, wrote in trained_gpt().samples.items():
        assert f"--- after {step} steps\n{wrote}" in text


def test_the_unigram_loss_is_that_of_counts_with_one_added(lesson):
    train, test = course_text()[: lesson["cut"]], course_text()[lesson["cut"] :]
    counts, size = Counter(train), len(set(course_text()))
    losses = [-math.log((counts[character] + 1) / (len(train) + size)) for character in test]
    assert lesson["unigram"] == pytest.approx(sum(losses) / len(losses), abs=1e-4)


def test_the_bigram_model_chooses_among_11_or_12(lesson):
    loss = lesson["bigram_loss"](lesson["train_ids"], lesson["test_ids"], lesson["V"])
    assert 11 < math.exp(loss) < 12


def test_a_stopped_training_goes_on_where_it_was(lesson):
    straight, stopped = training(lesson), training(lesson)
    lesson["go_on"](straight, until=4)
    lesson["go_on"](stopped, until=2)
    lesson["go_on"](stopped, until=2)  # nothing is left to do
    lesson["go_on"](stopped, until=4)
    assert stopped.losses == straight.losses
    assert len(stopped.norms) == 4


def test_the_learning_rate_rises_and_ends_above_zero(lesson):
    run = training(lesson, steps=100)
    rates = []
    for _ in range(100):
        run.one_step()
        rates.append(run.optimizer.param_groups[0]["lr"])
    assert rates[:50] == sorted(rates[:50])
    assert max(rates) == pytest.approx(run.peak)
    assert 0 < rates[-1] < 0.05 * run.peak


def test_judging_leaves_the_models_mode(lesson):
    model = training(lesson).model
    for mode in (True, False):
        lesson["judged"](model.train(mode))
        assert model.training is mode


def test_the_capstone_names_what_does_not_fit(lesson, capsys):
    class Renamed(lesson["GPT"]):
        def __init__(self, **sizes):
            super().__init__(**sizes)
            self.last_norm = self._modules.pop("norm")

    class Wider(lesson["GPT"]):
        def __init__(self, **sizes):
            super().__init__(**sizes | {"d_ff": 7})

    class Wrong(lesson["GPT"]):
        def forward(self, tokens):
            return super().forward(tokens) + 1

    said = []
    for kind in (Renamed, Wider, Wrong, lesson["GPT"]):
        lesson["compare_with_course"](kind)
        said.append(capsys.readouterr().out.strip())
    assert said == [
        "last_norm.bias: yours (96,), the course's has none",
        "blocks.0.feed_forward.linear1.bias: yours (7,), the course's (192,)",
        "largest difference of the logits not below 0.001",
        "largest difference of the logits below 0.001",
    ]
