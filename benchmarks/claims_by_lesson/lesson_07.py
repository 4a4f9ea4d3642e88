"""What lesson 07 concludes from its experiments."""

from __future__ import annotations

import torch

from benchmarks.claims_by_lesson.claim import DEPTH, RATE, STEPS, Claim, times

CLAIMS = {
    "relu_is_needed": Claim(
        "loss with ReLU and without",
        lambda names: (names["trained_loss"](torch.nn.ReLU()), names["trained_loss"](torch.nn.Identity())),
        lambda relu, identity: relu < 0.1 and 0.68 < identity < 0.71,
        times("range(300", STEPS)
        | times("lr=0.05", RATE)
        | {"twice as wide": {"nn.Linear(2, 16)": "nn.Linear(2, 32)", "nn.Linear(16, 1)": "nn.Linear(32, 1)"}},
        any_rate="without ReLU no rate can, as the network is a straight line",
    ),
    "a_dozen_by_heart": Claim(
        "right sentences of 12",
        lambda names: (names["my_right"],),
        lambda right: right == 12,
        times("steps=150", STEPS) | times("rate=0.003", RATE) | times("layers=2", DEPTH),
        any_rate="one model",
    ),
    "no_places_no_who": Claim(
        "right sentences of 12 without positions in the source",
        lambda names: (names["my_count"],),
        lambda count: count == 6,
        times("steps=150", STEPS) | times("rate=0.003", RATE) | times("layers=2", DEPTH),
        any_rate="without places both orders are the same sentence",
    ),
    "two_left_out": Claim(
        "right sentences of the two that were left out",
        lambda names: (names["my_new"],),
        lambda new: new == 2,
        times("steps=150", STEPS)
        | times("rate=0.003", RATE)
        | {"two others": {'the dog bites the man")': 'the man sees the woman")', "the woman sees": "the woman bites"}},
        any_rate="one model",
    ),
}
