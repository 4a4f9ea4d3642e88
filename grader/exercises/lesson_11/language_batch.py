"""`language_batch`: pieces of a text, and the tokens that come next (Bengio et al. 2003, section 1.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_11.shared import whole_numbers
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec

spec = Spec(__name__)

Pair = tuple[Tensor, Tensor]


def reference(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    """The right `language_batch`, token by token: ids (N,) and starts (B,) give inputs and labels, (B, block_size)
    each."""
    text = ids.tolist()
    inputs = [[text[start + t] for t in range(block_size)] for start in starts.tolist()]
    labels = [[text[start + t + 1] for t in range(block_size)] for start in starts.tolist()]
    return torch.tensor(inputs), torch.tensor(labels)


BATCH, END, ONE_PIECE, ONE_TOKEN = "a batch", "the end of the text", "one piece", "pieces of one token"


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check. In their texts no token comes twice, so that every entry shows where it comes from."""
    sizes = draw.sizes("B", "T")
    batch, width = max(sizes["B"], 3), max(sizes["T"], 5) + (sizes["T"] == max(sizes["B"], 3))

    def case(name: str, starts: list[int], width: int, text: Tensor) -> Case:
        args = {"ids": text, "starts": torch.tensor(starts), "block_size": width}
        return Case(name, args, {"B": len(starts), "T": width}, comparable=name != ONE_TOKEN)

    def text(length: int) -> Tensor:
        return torch.randperm(length + 40, generator=draw.generator)[:length] + 3

    # Places that are no multiples of the width, out of order, two of them overlapping; block number `start` exists too.
    pieces = [7, 4, 12, *(2 + 3 * place for place in range(5, batch + 2))][:batch]
    long, short = text((max(pieces) + 2) * width), text(5 * width + 7)
    last = len(short) - width - 1
    return [
        case(BATCH, pieces, width, long),
        case(END, [last, 1, last - 2], width, short),
        case(ONE_PIECE, [draw.integer(2, 5)], width + 1, text(7 * width)),
        case(ONE_TOKEN, [last, 3], 1, short),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _places(starts: Tensor, block_size: int) -> Tensor:
    return starts[:, None] + torch.arange(block_size)


def _apart(inputs: int, labels: int) -> Callable[..., Pair]:
    """Wrong batches whose inputs and labels begin this many tokens after the start."""
    return lambda ids, starts, size: (ids[_places(starts + inputs, size)], ids[_places(starts + labels, size)])


def _rows(first: Callable[[Tensor], int], along: bool = True) -> Callable[..., Pair]:
    """Wrong batches, the text from `first(starts)` on folded into rows, or read column by column unless `along`."""

    def variant(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
        begin, count = first(starts), len(starts) * block_size
        shape = (len(starts), block_size) if along else (block_size, len(starts))
        pieces = (ids[begin + by : begin + by + count].reshape(shape) for by in (0, 1))
        inputs, labels = (piece if along else piece.mT for piece in pieces)
        return inputs, labels

    return variant


def _blocks(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    """Wrong batches that take `starts` for the numbers of blocks in place of places in the text."""
    return _apart(0, 1)(ids, starts * block_size, block_size)


def _next_block(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    return ids[_places(starts, block_size)], ids[_places(starts + block_size, block_size)]


def _rolled(shift: int) -> Callable[..., Pair]:
    """Wrong batches whose labels are the inputs, rolled by `shift` places along each row."""

    def variant(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
        inputs = ids[_places(starts, block_size)]
        return inputs, inputs.roll(shift, 1)

    return variant


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"inputs": "B T", "labels": "B T"},
    cases=_cases,
    parts=(
        parts.shape(BATCH),
        parts.values("pieces from every start, and the tokens that come next", 3, BATCH),
        parts.values("takes pieces up to the end of the text", 1, END),
        parts.values("takes one piece, and pieces of one token", 1, ONE_PIECE, ONE_TOKEN),
        whole_numbers(BATCH),
        parts.unchanged(BATCH, 0.5),
    ),
    mistakes={
        "labels-not-shifted": (_apart(0, 0), _apart(1, 1)),
        "shifted-backwards": (_apart(1, 0), _apart(0, -1), _rolled(1)),
        "shifted-twice": (_apart(0, 2), _apart(-1, 1)),
        "runs-in-rows": (
            _rows(lambda _starts: 0),
            _rows(lambda starts: int(starts[0])),
            _rows(lambda starts: int(starts.min())),
            _rows(lambda _starts: 0, along=False),
        ),
        "starts-count-blocks": _blocks,
        "labels-are-the-next-block": _next_block,
        "labels-go-round": _rolled(-1),
    },
)
