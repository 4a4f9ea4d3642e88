"""`language_batch`: pieces of a text, and the tokens that come next (Bengio et al. 2003, section 1.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_11.shared import LESSON, whole_numbers
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

Pair = tuple[Tensor, Tensor]


def reference(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    """Piece by piece, token by token."""
    text = ids.tolist()
    inputs = [[text[start + t] for t in range(block_size)] for start in starts.tolist()]
    labels = [[text[start + t + 1] for t in range(block_size)] for start in starts.tolist()]
    return torch.tensor(inputs), torch.tensor(labels)


BATCH, END, ONE_PIECE, ONE_TOKEN = "a batch", "the end of the text", "one piece", "pieces of one token"


def _cases(draw: Draw) -> list[Case]:
    """A text in which no token comes twice, so that every entry shows where it comes from."""
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
    """Inputs and labels begin so many places after the start."""
    return lambda ids, starts, size: (ids[_places(starts + inputs, size)], ids[_places(starts + labels, size)])


def _rows(first: Callable[[Tensor], int], along: bool = True) -> Callable[..., Pair]:
    """The text folded into rows from one place on; without `along` it is read column by column."""

    def variant(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
        begin, count = first(starts), len(starts) * block_size
        shape = (len(starts), block_size) if along else (block_size, len(starts))
        pieces = (ids[begin + by : begin + by + count].reshape(shape) for by in (0, 1))
        inputs, labels = (piece if along else piece.mT for piece in pieces)
        return inputs, labels

    return variant


def _blocks(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    """`starts` read as numbers of blocks."""
    return _apart(0, 1)(ids, starts * block_size, block_size)


def _next_block(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
    return ids[_places(starts, block_size)], ids[_places(starts + block_size, block_size)]


def _rolled(shift: int) -> Callable[..., Pair]:
    """Labels made from the inputs alone."""

    def variant(ids: Tensor, starts: Tensor, block_size: int) -> Pair:
        inputs = ids[_places(starts, block_size)]
        return inputs, inputs.roll(shift, 1)

    return variant


EXERCISE = Exercise(
    name="language_batch",
    lesson=LESSON,
    points=2,
    signature=("ids", "starts", "block_size"),
    outputs=(Output("inputs", "B T"), Output("labels", "B T")),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(BATCH),
        parts.values("pieces from every start, and the tokens that come next", 3, BATCH),
        parts.values("takes pieces up to the end of the text", 1, END),
        parts.values("takes one piece, and pieces of one token", 1, ONE_PIECE, ONE_TOKEN),
        whole_numbers(BATCH),
        parts.unchanged(BATCH, 0.5),
    ),
    mistakes=(
        Mistake(
            "labels-not-shifted",
            "the label of a token is the token itself: the model only has to copy.",
            (
                "Print the first row of both, one below the other. What stands below the first token?",
                "At each place the model has read the tokens up to here. Which one should it predict?",
            ),
            (_apart(0, 0), _apart(1, 1)),
        ),
        Mistake(
            "shifted-backwards",
            "the labels come before the inputs: the model learns to say the token before.",
            (
                "Print the first row of both, one below the other, and read a column from top to bottom.",
                "Which of the two begins at `starts`, and which begins one place further?",
            ),
            (_apart(1, 0), _apart(0, -1), _rolled(1)),
        ),
        Mistake(
            "shifted-twice",
            "the labels are two places further: the token in between is never asked for.",
            (
                "Print the first row of both. Which token of the text is the first label?",
                "After the first token of a piece, which token comes next in the text?",
            ),
            (_apart(0, 2), _apart(-1, 1)),
        ),
        Mistake(
            "runs-in-rows",
            "the text is folded into rows that follow each other; each piece should begin at its own start.",
            (
                "Print the first column of `inputs`, and `ids[starts]`. Should they be equal?",
                "Change one entry of `starts` and call it again. Which rows may change?",
            ),
            (
                _rows(lambda _starts: 0),
                _rows(lambda starts: int(starts[0])),
                _rows(lambda starts: int(starts.min())),
                _rows(lambda _starts: 0, along=False),
            ),
        ),
        Mistake(
            "starts-count-blocks",
            "`starts` are read as numbers of blocks; they are places in the text.",
            (
                "Call it with `starts` 1 and 2. Which ids should the two pieces have in common?",
                "A piece that starts at 5 begins with `ids[5]`, whatever `block_size` is. What does yours begin with?",
            ),
            (_blocks,),
        ),
        Mistake(
            "labels-are-the-next-block",
            "the labels are the whole piece that follows; they are the same piece one place further.",
            (
                "Print the first row of both. How many tokens should they have in common?",
                "By how many places are your labels further than your inputs?",
            ),
            (_next_block,),
        ),
        Mistake(
            "labels-go-round",
            "the last label of each piece is its first token: the labels are made from the inputs, not from the text.",
            (
                "Print the last column of `labels`. Which places of the text does it come from?",
                "What follows the last token of a piece is not in the piece. Where is it?",
            ),
            (_rolled(-1),),
        ),
    ),
)
