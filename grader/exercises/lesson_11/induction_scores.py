"""`induction_scores`: how much each head looks at what followed last time (Olsson et al. 2022, induction heads)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grader.spec import compare, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import FLOAT32

spec = Spec(__name__)


def reference(weights: Tensor, ids: Tensor) -> Tensor:
    """The right scores (L, H), place by place: weights (L, H, T, T) and ids (T,) of one text."""
    read = ids.tolist()
    behind = {t: [s + 1 for s in range(t) if read[s] == token] for t, token in enumerate(read)}
    looks = [weights[:, :, t, places].sum(-1) for t, places in behind.items() if places]
    return torch.stack(looks).mean(0) if looks else weights.new_zeros(weights.shape[:2])


# --- wrong on purpose -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Looks:
    """How a head is scored, right unless a field is changed."""

    by: int = 1  # how far behind an earlier occurrence s the place lies that counts: at s + by
    own: bool = False  # whether place t counts as an occurrence of its own token
    later: bool = False  # whether later occurrences count, too
    only: Literal["", "first", "latest"] = ""  # the one occurrence that counts; "" for all
    of_next: bool = False  # whether occurrences of the token to come are looked for, not of the one at t
    rows: Literal["come again", "all"] = "come again"  # over which places t the mean is taken
    shared: bool = False  # whether a place's weight is the mean over its occurrences, not their sum
    largest: bool = False  # whether a place's weight is the largest of them
    pairs: bool = False  # whether the sum is divided by the number of pairs of a place and an occurrence, not of places
    summed: bool = False  # whether places are summed, not averaged
    turned: bool = False  # whether rows and columns change places

    def __call__(self, weights: Tensor, ids: Tensor) -> Tensor:
        length = len(ids)
        places = self._occurrences(ids)
        behind = torch.zeros(length, length + 2, dtype=torch.bool)
        behind[:, 1 + self.by : 1 + self.by + length] = places
        behind = behind[:, 1 : 1 + length]
        weights = weights.mT if self.turned else weights
        looking = (weights * behind).sum(-1)
        if self.largest:
            looking = (weights * behind).amax(-1)
        if self.shared:
            looking = looking / behind.sum(-1).clamp(min=1)
        counted = torch.ones(length, dtype=torch.bool) if self.rows == "all" else places.any(1)
        if not counted.any():
            return weights.new_zeros(weights.shape[:2])
        total = looking[..., counted].sum(-1)
        return total if self.summed else total / (places.sum() if self.pairs else counted.sum())

    def _occurrences(self, ids: Tensor) -> Tensor:
        """A boolean matrix (T, T) from ids (T,): which places s count for which places t."""
        wanted = torch.cat([ids[1:], ids.new_tensor([-1])]) if self.of_next else ids
        same = ids == wanted[:, None]
        if not self.later:
            same = same.tril(0 if self.own or self.of_next else -1)
        elif not self.own:
            same = same & ~torch.eye(len(ids), dtype=torch.bool)
        if self.only == "first":
            return same & (same.cumsum(1) == 1)
        return same & (same.flip(1).cumsum(1).flip(1) == 1) if self.only == "latest" else same


# --- the cases --------------------------------------------------------------------------------------------------------

CAUSAL, AHEAD, DOUBLE, ONE_HEAD, ONCE, NEW, TOKEN = (
    "one text",
    "weights that look ahead",
    "float64",
    "one layer, one head",
    "one token that comes again, once",
    "no token comes again",
    "one token",
)


def _cases(draw: Draw) -> list[Case]:
    def case(name: str, layers: int, heads: int, length: int, words: int = 7) -> Case:
        scores = draw.normal((layers, heads, length, length))
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = (scores if name == AHEAD else scores.masked_fill(hidden, -torch.inf)).softmax(-1)
        if name in (NEW, ONCE):
            ids = torch.randperm(40, generator=draw.generator)[:length]
            if name == ONCE:
                ids[-2] = ids[1]
        else:
            ids = draw.integers((length,), 3, words)
        if length > 3 and name not in (NEW, ONCE):
            ids[-3], ids[-2] = ids[-1], ids[-1]  # twice in a row: the place behind an occurrence is the place itself
        args = {"weights": weights.double() if name == DOUBLE else weights, "ids": ids}
        sizes = {"L": layers, "H": heads, "T": length}
        return Case(name, args, sizes, comparable=name not in (ONE_HEAD, ONCE, NEW, TOKEN))

    length = 17 + draw.integer(0, 9)
    return [
        case(CAUSAL, 3, 5, length),
        case(AHEAD, 2, 4, length + 3),
        case(DOUBLE, 5, 3, length + 1),
        case(ONE_HEAD, 1, 1, length),
        case(NEW, 2, 3, 8),
        case(TOKEN, 4, 2, 1),
        case(ONCE, 3, 2, 9),
    ]


# --- the exercise -----------------------------------------------------------------------------------------------------


def _divided_by_nothing(session: Session) -> bool:
    """Whether NaN comes back where no token comes again, and the rest is right."""
    if parts.inspect_call(session, session.cases[CAUSAL], FLOAT32) is not None:
        return False
    tensors = compare.leaves(session.call(session.cases[NEW]).value, 1)
    return bool(tensors and tensors[0].isnan().any())


def _ways(**fields: object) -> Callable[[Tensor, Tensor], Tensor]:
    return Looks(**fields)  # type: ignore[arg-type]


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"scores": "L H"},
    cases=_cases,
    parts=(
        parts.shape(CAUSAL),
        parts.values("finds what followed last time, in one text", 3, CAUSAL),
        parts.values("takes weights that look ahead", 1, CAUSAL, AHEAD),
        parts.values("takes one layer with one head", 0.5, ONE_HEAD),
        parts.values("gives 0 where no token comes again", 1, CAUSAL, NEW, TOKEN, ONCE),
        parts.float64(DOUBLE, CAUSAL, weight=0.5),
        parts.unchanged(CAUSAL, weight=0.5),
        parts.gradients(CAUSAL, weight=0.5),
    ),
    mistakes={
        "rows-and-columns-swapped": _ways(turned=True),
        "on-the-token-itself": (_ways(by=0), _ways(by=0, own=True)),
        "own-place-counted": (_ways(own=True), _ways(own=True, rows="all")),
        "new-tokens-counted": _ways(rows="all"),
        "latest-occurrence-only": (_ways(only="latest"), _ways(only="first")),
        "one-place-too-early": _ways(by=-1),
        "looks-for-the-next-token": (_ways(of_next=True, by=0), _ways(of_next=True)),
        "later-occurrences-counted": (_ways(later=True), _ways(later=True, own=True)),
        "averaged-over-occurrences": _ways(shared=True),
        "averaged-over-pairs": _ways(pairs=True),
        "largest-only": _ways(largest=True),
        "summed-over-places": _ways(summed=True),
        "no-place-divided": When(_divided_by_nothing),
    },
)
