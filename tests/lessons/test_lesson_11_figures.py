"""Lesson 11: what its executed cells print, its training when it is stopped, and the baselines."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import textwrap
from typing import Any

import pytest
import torch

from grader import Stopped
from grader.models.gpt import trained_gpt
from scripts.tales import NAMES
from scripts.train_dates import run_lesson
from scripts.train_gpt import LESSON
from tests.lessons.printed import printed_text

LINES = [
    "331 different tokens; 91060 to learn from, 9194 held out",
    "73 names; 739 of 10240 places ask for one that was named before",
    "3 words back       1.30   5.17",
    "any of 73 names at random: 4.29 nats",
    "parameters: 88256",
    "the course's model: 0.54 nats, 75% of the names right",
    "largest difference of the logits below 0.001",
    "123,653,376 in your class, 786,432 for the positions",
    "in all: 124,439,808; the embedding: 38,597,376",  # as Hugging Face counts `gpt2`
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
    starts = lesson["drawn_starts"](lesson["train_ids"], steps)
    return lesson["Training"](model, lesson["fit"], lesson["train_ids"], starts)


@pytest.mark.parametrize("line", LINES)
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_what_the_course_wrote_is_shown_as_it_is_stored(text):
    for step, wrote in trained_gpt().samples.items():
        assert f"--- after {step} steps\n{textwrap.fill(wrote, 78)}" in text


def test_a_tables_probabilities_sum_to_one(lesson):
    before = lesson["encode"]("Once there was a heron called")[0].tolist()
    probabilities = [lesson["table_probability"](lesson["after"], before[-3:], token) for token in range(lesson["V"])]
    assert sum(probabilities) == pytest.approx(1)
    assert min(probabilities) > 0


def test_a_name_named_before_is_asked_for_after_it_was_read(lesson):
    for tale, t in lesson["again"].nonzero()[:50].tolist():
        label = lesson["test_labels"][tale, t]
        assert lesson["WORDS"][label] in NAMES
        assert label in lesson["test_inputs"][tale, : t + 1]


def test_the_heads_weights_are_those_that_the_model_uses(lesson):
    """What the heads mix with them, joined and projected, is what the attention of the model gives."""
    torch.manual_seed(0)
    model = lesson["GPT"](lesson["V"], **lesson["SIZES"]).eval()
    tokens, seen = lesson["encode"]("Once there was a heron called Odile."), []
    model.blocks[0].attention.register_forward_hook(lambda _module, given, gave: seen.append((given[0], gave)))
    weights = lesson["attention_weights"](model, tokens)
    (x, gave), attention = seen[0], model.blocks[0].attention
    values = lesson["split_heads"](attention.v_proj(x), attention.num_heads)
    torch.testing.assert_close(attention.out_proj(lesson["merge_heads"](weights[0] @ values)), gave)
    assert weights.shape == (2, 2, tokens.shape[1], tokens.shape[1])


def test_a_head_that_is_off_adds_nothing(lesson):
    torch.manual_seed(0)
    model = lesson["GPT"](lesson["V"], **lesson["SIZES"]).eval()
    tokens = lesson["encode"]("Once there was a heron")
    silent = lesson["without_head"](lesson["without_head"](model, 1, 0), 1, 1)
    attended: list[torch.Tensor] = []
    silent.blocks[1].attention.register_forward_hook(lambda _module, _given, gave: attended.append(gave))
    assert not torch.allclose(silent(tokens), model(tokens))
    bias = silent.blocks[1].attention.out_proj.bias
    torch.testing.assert_close(attended[0], bias.expand_as(attended[0]))


def test_a_stopped_training_goes_on_where_it_was(lesson):
    straight, stopped = training(lesson), training(lesson)
    lesson["go_on"](straight, until=4)
    lesson["go_on"](stopped, until=2)
    lesson["go_on"](stopped, until=2)  # nothing is left to do
    lesson["go_on"](stopped, until=4)
    assert stopped.losses == straight.losses
    assert len(stopped.losses) == 4


def test_a_training_stopped_in_any_step_or_while_it_is_judged_misses_nothing(lesson, monkeypatch):
    straight = training(lesson)
    lesson["go_on"](straight, until=4, every=2)
    for at in range(6):  # four steps, judged after two of them
        run, calls = training(lesson), itertools.count()

        def stopped_once(function, *given, calls=calls, at=at):
            if next(calls) == at:
                raise KeyboardInterrupt
            return function(*given)

        run.fit = functools.partial(stopped_once, lesson["fit"])
        with monkeypatch.context() as patch:
            patch.setattr(run, "judge", functools.partial(stopped_once, run.judge))
            with pytest.raises(Stopped, match="Run this cell again to go on"):
                lesson["go_on"](run, until=4, every=2)
            lesson["go_on"](run, until=4, every=2)
        assert run.losses == straight.losses
        assert run.judged == straight.judged


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
        "last_norm.bias: yours (64,), the course's has none",
        "blocks.0.feed_forward.linear1.bias: yours (7,), the course's (128,)",
        "largest difference of the logits not below 0.001",
        "largest difference of the logits below 0.001",
    ]
