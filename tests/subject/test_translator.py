"""The stand-in for a trained model that `greedy_decode` is checked with."""

from __future__ import annotations

import pytest
import torch

from grader.spec.draw import Draw
from grader.subject import Given, Request
from grader.subject.translator import Translator

TABLE = Draw("table").normal((61, 7))
SRC, TRG = torch.tensor([[4, 5, 6], [6, 5, 4], [4, 4, 4]]), torch.tensor([[1, 3, 5, 2], [1, 3, 5, 6], [1, 2, 2, 2]])


def translator(training: bool = False, watched: str = "mode") -> Translator:
    return Translator({"table": TABLE, "training": training, "watched": watched})


def test_it_depends_on_all_of_the_source_and_on_nothing_later_in_the_target():
    model = translator()
    logits = model(SRC, TRG)
    assert logits.shape == (3, 4, 7)
    assert torch.equal(model(SRC[1:2], TRG[1:2, :2]), logits[1:2, :2])
    for place in range(3):
        other = SRC.clone()
        other[:, place] += 1
        assert not torch.equal(model(other, TRG), logits)


def test_train_mode_says_something_else():
    assert not torch.equal(translator(training=True)(SRC, TRG), translator()(SRC, TRG))


@pytest.mark.parametrize(
    ("watched", "source", "changed"),
    [
        ("mode", "def f(model): model.eval()", ()),
        ("mode", "def f(model): model.train()", (0,)),
        ("mode", "def f(model):\n    model.train()\n    model.eval()", ()),
        ("gradient", "def f(model): model(torch.tensor([[3]]), torch.tensor([[1]]))", (0,)),
        ("gradient", "def f(model):\n    with torch.no_grad(): model(torch.tensor([[3]]), torch.tensor([[1]]))", ()),
        ("gradient", "def f(model): model.train()", ()),
    ],
)
def test_what_is_watched_is_told_as_a_change(subject_of, watched, source, changed):
    subject = subject_of(f"import torch\n{source}")
    given = Given("translator", {"table": TABLE, "training": False, "watched": watched})
    outcome = subject.ask(Request("call", "f", (given,)))
    assert outcome.ok, outcome
    assert outcome.changed == changed
