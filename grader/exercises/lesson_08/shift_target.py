"""`shift_target`: what the decoder is given, and what it should say (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.spec import compare, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import FLOAT32

spec = Spec(__name__)

PAD, BOS, EOS = 0, 1, 2


def reference(trg: Tensor) -> tuple[Tensor, Tensor]:
    """The right `shift_target`, column by column: ids (B, T) give the decoder's input and the labels, (B, T - 1)
    each."""
    last = trg.shape[1] - 1
    return (
        torch.stack([trg[:, column] for column in range(last)], dim=1),
        torch.stack([trg[:, column + 1] for column in range(last)], dim=1),
    )


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check. No token comes twice in a row, so that a column shows where it comes from."""
    sizes = draw.sizes("B", "T")
    batch, width = sizes["B"], max(sizes["T"], 5) + 1 + (sizes["T"] == sizes["B"] - 1)

    def rows(count: int, width: int) -> Tensor:
        order = [torch.randperm(90, generator=draw.generator)[:width] + 3 for _ in range(count)]
        return torch.stack(order)

    def case(name: str, trg: Tensor) -> Case:
        axes = {"B": trg.shape[0], "T": trg.shape[1], "T-1": trg.shape[1] - 1}
        return Case(name, {"trg": trg}, axes)

    padded = rows(batch + 1, width + 2)
    padded[:, 0] = BOS
    for row in range(batch + 1):
        length = width - row % 4
        padded[row, length] = EOS
        padded[row, length + 1 :] = PAD
    return [
        case("a batch", rows(batch, width)),
        replace(case("a batch with padding", padded), comparable=False),
        case("one sequence", rows(1, width + 1)),
        replace(case("two tokens", rows(batch, 2)), comparable=False),
    ]


# --- recognised by where the columns come from ------------------------------------------------------------------------


def start_of(piece: Tensor, whole: Tensor) -> int | None:
    """The column of `whole` (B, T), from 0 to 2, at which `piece` (B, N) starts; None if it doesn't. The last two
    columns of `piece` may hold something else, a filler."""
    if piece.dim() != 2 or len(piece) != len(whole):
        return None
    width = whole.shape[1]
    for start in range(3):
        known = min(piece.shape[1], width - start)
        if piece.shape[1] - known <= 2 and known >= width - 3 and torch.equal(piece[:, :known], whole[:, start:width]):
            return start
        if known >= width - 3 and torch.equal(piece[:, :known], whole[:, start : start + known]):
            return start
    return None


def _starts(session: Session) -> list[tuple[int, int]]:
    """The columns at which decoder input and labels start, for each case that shows it; empty if one shows another
    piece."""
    starts = []
    for case in session.real_cases():
        outcome = session.call(case)
        pieces = compare.leaves(outcome.value, 2) if outcome.ok else None
        if not case.comparable or pieces is None:
            continue
        first, second = (start_of(piece, case.args["trg"]) for piece in pieces)
        if first is None or second is None:
            return []
        starts.append((first, second))
    return starts


def _apart(by: int) -> Callable[[Session], bool]:
    """A recogniser that says whether the labels start `by` columns after the decoder input."""
    return lambda session: bool(_starts(session)) and all(b - a == by for a, b in _starts(session))


def _by_value(session: Session) -> bool:
    """Whether bos and eos are removed wherever they stand, so that a row which holds neither stays as it is."""
    whole, padded = session.cases["a batch"], session.cases["a batch with padding"]
    pieces = [compare.leaves(outcome.value, 2) for c in (whole, padded) if (outcome := session.call(c)).ok]
    if len(pieces) < 2 or pieces[0] is None or pieces[1] is None:
        return False
    all_left = all(torch.equal(piece.flatten(), whole.args["trg"].flatten()) for piece in pieces[0])
    trg = padded.args["trg"]
    removed = (trg[trg != EOS], trg[trg != BOS])
    return all_left and all(torch.equal(a.flatten(), b) for a, b in zip(pieces[1], removed, strict=True))


def _too_wide_or_narrow(session: Session) -> bool:
    """Whether the shift is right, but the number of columns isn't."""
    return _apart(1)(session) and parts.inspect_call(session, session.cases["a batch"], None) is not None


def _along_batch(trg: Tensor) -> tuple[Tensor, Tensor]:
    return trg[:-1], trg[1:]


def _kept_dtype(weight: float) -> Part:
    """A part that passes if the ids come back as whole numbers: an embedding and a cross-entropy take nothing else."""

    def judge(session: Session) -> Finding | None:
        case = session.cases["a batch"]
        finding = parts.inspect_call(session, case, FLOAT32)
        if finding is not None:
            return not_judged("values-first")
        return compare.dtypes(list(session.call(case).value), session.exercise, torch.int64)

    return Part("keeps the integer dtype", weight, judge, compares_values=False)


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"decoder_input": "B T-1", "labels": "B T-1"},
    cases=_cases,
    parts=(
        parts.shape("a batch"),
        parts.values("labels are the next tokens of the decoder input", 3, "a batch"),
        parts.values("treats padding like any other token", 1, "a batch with padding"),
        parts.values("takes one sequence, and two tokens", 1, "one sequence", "two tokens"),
        _kept_dtype(0.5),
        parts.unchanged("a batch", 0.5),
    ),
    mistakes={
        "removed-by-value": When(_by_value),
        "not-shifted": When(_apart(0)),
        "shifted-backwards": When(_apart(-1), lambda trg: (trg[:, :-1], trg.roll(1, 1)[:, :-1])),
        "shifted-twice": When(_apart(2)),
        "wrong-number-of-columns": When(_too_wide_or_narrow, lambda trg: (trg, trg.roll(-1, 1))),
        "shifted-along-batch": _along_batch,
    },
)
