"""What the exercises of lesson 06 share: sizes and ids, parts for calls that must raise, and a part for dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.sentences import say, together
from grader.spec import compare, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject import Request
from grader.tolerance import FLOAT32

mistake = Words(__file__)


def ordered(draw: Draw, *names: str, **rest: int) -> dict[str, int]:
    """Distinct sizes by axis: those named in `names` grow from left to right, those in `rest` are fixed."""
    sizes = draw.sizes(*names, **rest)
    return sizes | dict(zip(names, sorted(sizes[name] for name in names), strict=True))


def token_ids(draw: Draw, batch: int, length: int, ids: int, last: bool) -> Tensor:
    """Token ids, (batch, length), all below `ids`: 0 is among them, one of them comes twice, and the last one, `ids -
    1`, is there only if `last`."""
    tokens = draw.integers((batch, length), 0, ids - 1)
    tokens[0, 0] = ids - 1 if last else 0
    if length > 1:
        tokens[-1, -1] = 0 if last else ids - 2
        tokens[-1, 0] = tokens[-1, -1]
    return tokens


@dataclass(frozen=True)
class Refused:
    """A call that must raise ValueError: its arguments, the call in words, the numbers that the message must name."""

    args: tuple[Any, ...]
    words: str
    numbers: tuple[int, ...] = ()


REFUSED = (
    "Where does your code compare the two numbers? Print both just before that, for the call that the report names.",
    "`raise ValueError(...)` takes the message; an f-string puts numbers into it.",
)


def refuses(
    title: str,
    weight: float,
    case: str,
    calls: Callable[[Session], Sequence[Refused]],
    hints: tuple[str, ...] = REFUSED,
) -> Part:
    """A part that passes if every one of the calls raises ValueError. It waits until the values on `case` are right,
    since garbage can raise too. `hints` go with its findings."""

    def judge(session: Session) -> Finding | None:
        for call in calls(session):
            outcome = session.ask(Request("call", session.exercise.name, call.args))
            finding = compare.refused(outcome, call.words, call.numbers, hints)
            if finding is not None:
                return finding
        return None

    return parts.after_values(Part(title, weight, judge, compares_values=False), case)


def default_dtype(case: str) -> Part:
    """A part that passes if a tensor made from sizes alone has torch's default dtype. It waits until the values on
    `case` are right, since any constant would pass."""

    def judge(session: Session) -> Finding | None:
        if parts.inspect_call(session, session.cases[case], FLOAT32) is not None:
            return not_judged("values-first")
        got, expected = session.call(session.cases[case]).value.dtype, torch.get_default_dtype()
        if got == expected:
            return None
        short = [str(dtype).removeprefix("torch.") for dtype in (got, expected)]
        tip = say("Comparisons give bool, and counts give whole numbers, but here decimals are asked for.")
        if got.is_floating_point:
            tip = say("Python's floats, and by default NumPy's, have double precision.")
        said = say(
            "The result of `{name}` has dtype {got}, expected {expected}, torch's default.",
            name=session.exercise.name,
            got=short[0],
            expected=short[1],
        )
        return Finding("dtype-changed", together(said, tip))

    return Part("has torch's default dtype", 0.5, judge)
