"""Walks for the views whose numbers all lie in the page: what is chosen changes the sentence alone."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.views import AlignmentView, HeadExplorer, Prediction, ShapeTracer
from grader.views.base import KernelView
from grader.views.shape_steps import STEPS

State = dict[str, Any]
Walk = tuple[KernelView, Iterable[State]]

CHARACTERS = "abc de\u00e9\U0001f642"  # with a blank, and with characters of two and of four bytes


def alignment_walks(chance: random.Random) -> Iterator[Walk]:
    for _ in range(8):
        heads = chance.randint(1, 3)
        pairs = [tuple("".join(chance.choices(CHARACTERS, k=chance.randint(1, 7))) for _ in "ab") for _ in range(3)]
        moments = {
            moment: [
                (torch.randn(heads, len(answer) + 1, len(source)).softmax(-1), chance.choices("xyz", k=len(answer) + 1))
                for source, answer in pairs
            ]
            for moment in ("before", "after")[: chance.randint(1, 2)]
        }
        moves = [{chance.choice(["pair", "moment", "head", "row"]): chance.randint(-1, 5)} for _ in range(25)]
        yield AlignmentView(pairs, moments), moves


def head_walks(chance: random.Random) -> Iterator[Walk]:
    for _ in range(12):
        kinds = {}
        for kind in ("encoder", "decoder", "cross")[: chance.randint(1, 3)]:
            layers, heads, queries, keys = (chance.randint(1, 4) for _ in range(4))
            weights = (4 * torch.randn(layers, heads, queries, keys)).softmax(-1)
            kinds[kind] = (weights, [f"query {at}" for at in range(queries)], [f"key {at}" for at in range(keys)])
        yield HeadExplorer(kinds), [_head_move(chance) for _ in range(15)]


def _head_move(chance: random.Random) -> State:
    kind, layer, head = chance.choice(["encoder", "decoder", "cross", "memory"]), *chance.choices(range(-1, 5), k=2)
    return chance.choice([{"kind": kind}, {"layer": layer}, {"head": head}, {"layer": layer, "head": head}])


def tracer_walks(chance: random.Random) -> Iterator[Walk]:
    solved: dict[str, Any] = {}
    exec(model_solution(exercises()["Transformer"]), solved)
    right = solved["Transformer"](50, 60, 1, 2, d_model=24, num_layers=2, num_heads=3, d_ff=40)
    for model in (None, right, torch.nn.Linear(2, 2)):
        yield ShapeTracer(model), [{"step": chance.randint(0, len(STEPS) + 1)} for _ in range(40)]


def guesses(chance: random.Random) -> Iterator[Walk]:
    choices = ["row `0`", "row 1", "none"]
    yield Prediction("Which?", choices), [{"guess": chance.choice([*choices, "row 2", "", 1])} for _ in range(20)]
    ends = [(None, None), (0.0, None), (None, 5.5), (-3.0, 40_000.0)]
    for (low, high), unit in itertools.product(ends, ("", "%")):
        drawn = [chance.gauss(0, 1) * 10 ** chance.randint(-6, 7) for _ in range(15)]
        numbers = [*drawn, 0, 1, 5.5, 12345, 0.00001, "a", True]
        yield Prediction("How many?", low=low, high=high, unit=unit), [{"guess": number} for number in numbers]


CHOICES = {
    "alignment_view": alignment_walks,
    "head_explorer": head_walks,
    "shape_tracer": tracer_walks,
    "prediction": guesses,
}
