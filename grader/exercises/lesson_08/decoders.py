"""Greedy decoders: a right one, and many that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_08.match import spoken

Ids = Callable[..., Tensor]


def reference(model: Any, src: Tensor, bos_idx: int, eos_idx: int, max_length: int) -> Tensor:
    """All sequences talk on to max_length; then each is cut behind its first eos, and filled up with eos."""
    was_training = model.training
    said = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        model.eval()
        for _ in range(max_length - 1):
            said = torch.cat([said, model(src, said)[:, -1:].argmax(-1)], dim=1)
    model.train(was_training)
    rows = [spoken(row, eos_idx) for row in said.tolist()]
    return torch.tensor([row + [eos_idx] * (max_length - len(row)) for row in rows])


def filled(value: Tensor, width: int, eos: int) -> Tensor:
    """To the full width: with eos where all rows have ended, with -1 where one was broken off."""
    missing = max(0, width - value.shape[1])
    filler = eos if bool((value == eos).any(dim=1).all()) else -1
    return torch.cat([value.long(), torch.full((len(value), missing), filler)], dim=1)


def _given(grows: str, src: Tensor, said: Tensor) -> tuple[Tensor, Tensor]:
    """What the model reads, and what it has written, as it is told."""
    bos, grown, joined = said[:, :1], torch.cat([src, said[:, 1:]], dim=1), torch.cat([src, said], dim=1)
    return {
        "target": (src, said),
        "source": (grown, bos),
        "returned source": (grown, bos),
        "both": (grown, said),
        "neither": (src, said[:, -1:]),
        "source with bos": (joined, bos),
        "source for target": (src, joined),
        "source twice": (grown, grown),
        "source with bos twice": (joined, joined),
    }[grows]


SOURCE_GROWS = (
    "source",
    "both",
    "returned source",
    "source with bos",
    "source for target",
    "source twice",
    "source with bos twice",
)


def decoding(
    position: int = -1,
    eos_kept: bool = True,
    grows: str = "target",
    training: bool = False,
    ends: str = "all",
    extra: int = 0,
    with_bos: bool = True,
) -> Ids:
    """Greedy decoding, right but for what is named. `grows`: what the new token is appended to, "target" or another of
    `_given` ("returned source": the source is what comes back, too). `ends`: when "all" or "any" sequence has ended,
    when all say eos "together", or "never"."""

    def decode(model: Any, src: Tensor, bos_idx: int, eos_idx: int, max_length: int) -> Tensor:
        model.train(training and model.training)
        said = torch.full((len(src), 1), bos_idx)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while said.shape[1] < max_length + extra:
            token = model(*_given(grows, src, said))[:, position].argmax(-1)
            token = torch.where(ended, eos_idx, token) if eos_kept else token
            said = torch.cat([said, token[:, None]], dim=1)
            ended |= token == eos_idx
            done = {"all": ended.all(), "any": ended.any(), "together": (token == eos_idx).all(), "never": False}
            if done[ends]:
                break
        if grows == "returned source":
            return filled(torch.cat([src, said[:, 1:]], dim=1), max_length, eos_idx)
        return filled(said if with_bos else said[:, 1:], max_length, eos_idx)

    return decode


def every_end(**wrong: Any) -> tuple[Ids, ...]:
    """A wrong decoder with each way of treating sequences that have ended, in eval mode or in the model's own."""
    talks = ({"eos_kept": False, "ends": ends} for ends in ("never", "all", "together"))
    return tuple(decoding(training=mode, **end, **wrong) for end in ({}, *talks) for mode in (False, True))  # type: ignore[arg-type]
