"""`exact_match`: the share of rows that are right as a whole, up to and including their first eos."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_08.shared import matches_any, numbers, spoken, wrong
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.parts import changed_in_place
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)


def share_of_right_rows(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """The right `exact_match`, row by row, as lists: ids `predicted` and `target`, (B, T) of widths that may differ,
    give the share of rows that are equal up to and including their first eos, from 0 to 1."""
    pairs = list(zip(predicted.tolist(), target.tolist(), strict=True))
    return sum(spoken(got, eos_idx) == spoken(expected, eos_idx) for got, expected in pairs) / len(pairs)


def _unchanged(names: tuple[str, ...], weight: float = 0.5) -> Part:
    """A part that passes if no call changes its arguments. It waits until the values of the cases in `names` are right,
    since any constant would pass."""

    def judge(session: Session) -> Finding | None:
        for name, case in session.cases.items():
            if session.call(case).changed:
                return changed_in_place(session, list(case.args)[session.call(case).changed[0]], name)
        if any(wrong(session, name) for name in names):
            return not_judged("values-first")
        return None

    return Part("leaves its arguments as they were", weight, judge, compares_values=False)


# --- cases ------------------------------------------------------------------------------------------------------------


class _RowDrawer:
    """Draws rows that hold eos only where it is put."""

    def __init__(self, draw: Draw, eos: int) -> None:
        self.draw = draw
        self.eos = eos

    def words(self, count: int) -> list[int]:
        """This many ids other than eos, no two neighbours equal."""
        tokens = self.draw.integers((count,), 7, 40).tolist()
        return [token + 40 * (i % 2) for i, token in enumerate(tokens)]

    def case(self, name: str, pairs: Sequence[tuple[list[int], list[int]]], widths: tuple[int, int]) -> Case:
        """A case whose `pairs` are rows of the prediction and of the target, up to eos and in random order. Behind its
        eos each row is filled up to its width of the two with random ids, eos and padding among them."""

        def filled(row: list[int], width: int) -> list[int]:
            rest = self.words(width - len(row))
            return row + [0 if token % 5 == 0 else self.eos if token % 7 == 0 else token for token in rest]

        order = torch.randperm(len(pairs), generator=self.draw.generator).tolist()
        mine, theirs = ([filled(pairs[i][side], widths[side]) for i in order] for side in (0, 1))
        args = {"predicted": torch.tensor(mine), "target": torch.tensor(theirs), "eos_idx": self.eos}
        return Case(name, args)


def _cases(draw: Draw) -> list[Case]:
    eos = draw.integer(2, 6)
    make = _RowDrawer(draw, eos)
    a, b, c, d, e = (make.words(n) for n in (5, 4, 6, 3, 5))
    other = [*b[:2], b[2] + 1, *b[3:]]
    full, again, same_width = make.words(9), make.words(9), (9, 9)
    padded = [[*row, eos] + [eos] * (8 - len(row)) for row in (a, b, c, d)]
    turned = [a[1], a[0], *a[2:], eos]  # the same tokens in another order
    last = [*a[:4], a[4] + 1, eos]  # only the last word is another one
    first = [a[0] + 1, *a[1:], eos]  # only the first word is another one
    differing = [
        ([*other, eos] + [eos] * 4, padded[1]),
        *(([*row, eos, eos, eos], padded[0]) for row in (turned, last, first)),
    ]
    plain = [(row, row) for row in padded] + differing
    ending = [([*row, eos], [*row, eos]) for row in (a, b, c, d, e)]
    another = 1 if eos != 1 else 2
    with_another = [
        ([*mine[: mine.index(eos)], another], [*right[: right.index(eos)], another])
        for mine, right in differing + ending
    ]
    return [
        make.case("some rows differ before their eos", plain, same_width),
        make.case("words after eos", [*ending, ([*other, eos], [*b, eos]), ([*other, eos], [*b, eos])], same_width),
        make.case(
            "eos too early or too late",
            [*ending[:2], ([*c[:4], eos], [*c, eos]), ([*d, eos], [*d, d[0], eos]), ([*a, a[0], eos], [*a, eos])],
            same_width,
        ),
        make.case(
            "rows without eos",
            [
                (full, full),
                (again, again),
                (full, [*full[:8], eos]),
                ([*full[:8], eos], full),
                *ending[:2],
                (full, [*full[:8], full[8] + 1]),
            ],
            same_width,
        ),
        make.case("a wider target", [*ending[:3], ([*c[:6], 7], [*c, 7, eos]), ([*other, eos], [*b, eos])], (7, 10)),
        make.case("a wider prediction", [*ending[1:4], ([*c, 7, eos], [*c[:6], 7]), ([*full, 9], full[:7])], (10, 7)),
        _RowDrawer(draw, another).case("another eos", with_another, same_width),
        make.case("no row right", [([*other, eos], [*b, eos]), ([*c, eos], [*a, eos])], (8, 8)),
        make.case("every row right", ending, (8, 11)),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _cut(predicted: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    width = min(predicted.shape[1], target.shape[1])
    return predicted[:, :width], target[:, :width]


def _padded(fill: int | None) -> Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]:
    """A function that pads prediction and target, (B, T), to the width of the wider one, with `fill`, or with eos if it
    is None."""

    def pad(predicted: Tensor, target: Tensor, eos_idx: int) -> tuple[Tensor, Tensor]:
        width = max(predicted.shape[1], target.shape[1])
        with_what = eos_idx if fill is None else fill
        mine, theirs = (F.pad(tokens, (0, width - tokens.shape[1]), value=with_what) for tokens in (predicted, target))
        return mine, theirs

    return pad


FITS = [lambda p, t, _eos: _cut(p, t), _padded(None), _padded(0), _padded(-1)]


def _until_eos(target: Tensor, eos_idx: int, included: bool) -> Tensor:
    """A boolean tensor of the ids' shape, (B, T), that is True up to the first eos of each row, and on it only if
    `included`."""
    ended = (target == eos_idx).cumsum(-1)
    return (ended - (target == eos_idx).long() if included else ended) == 0


def _all_columns(fit: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> Callable[..., float]:
    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        mine, theirs = fit(predicted, target, eos_idx)
        return float((mine == theirs).all(-1).float().mean())

    return variant


def _unequal_widths(predicted: Tensor, target: Tensor, _eos_idx: int) -> float:
    pairs = zip(predicted.tolist(), target.tolist(), strict=True)
    return sum(mine == theirs for mine, theirs in pairs) / len(predicted)


def _tokens(fit: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]], until: str) -> Callable[..., float]:
    """A wrong `exact_match` that gives the share of equal tokens. `until` says of which: "all", or those up to the
    target's first eos, "eos included" or without it. `fit` brings both to one width."""

    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        mine, theirs = fit(predicted, target, eos_idx)
        counted = torch.ones_like(theirs, dtype=torch.bool)
        if until != "all":
            counted = _until_eos(theirs, eos_idx, until == "eos included")
            counted[:, target.shape[1] :] = False
        return float((mine == theirs)[counted].double().mean())

    return variant


def _token_rows(over: Callable[[int, int], int], each_row: bool) -> Callable[..., float]:
    """A wrong `exact_match` that gives the share of equal tokens up to eos. `over` makes a row's total from the
    lengths of prediction and target; the share is the mean of the rows' shares if `each_row`, else that of all rows
    together."""

    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        hits, totals = [], []
        for mine, theirs in zip(predicted.tolist(), target.tolist(), strict=True):
            a, b = spoken(mine, eos_idx), spoken(theirs, eos_idx)
            hits.append(sum(x == y for x, y in zip(a, b, strict=False)))
            totals.append(over(len(a), len(b)))
        if each_row:
            return sum(hit / total for hit, total in zip(hits, totals, strict=True)) / len(hits)
        return sum(hits) / sum(totals)

    return variant


def _tokens_of_prediction(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """A wrong `exact_match`: the share of equal tokens up to the prediction's first eos."""
    mine, theirs = _cut(predicted, target)
    return float((mine == theirs)[_until_eos(mine, eos_idx, True)].double().mean())


def _tokens_of_all(predicted: Tensor, target: Tensor, _eos_idx: int) -> float:
    mine, theirs = _cut(predicted, target)
    return float((mine == theirs).sum() / target.numel())


def _tokens_but_eos(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    mine, theirs = _cut(predicted, target)
    return float((mine == theirs)[theirs != eos_idx].double().mean())


def _without_eos(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """A wrong `exact_match` that compares rows without their eos, so that a row that doesn't end can count as right."""
    pairs = zip(predicted.tolist(), target.tolist(), strict=True)
    cut = [tuple([t for t in spoken(row, eos_idx) if t != eos_idx] for row in pair) for pair in pairs]
    return sum(mine == theirs for mine, theirs in cut) / len(cut)


def _to_last_eos(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """A wrong `exact_match` that compares rows up to their last eos."""

    def cut(row: list[int]) -> list[int]:
        return row[: len(row) - row[::-1].index(eos_idx)] if eos_idx in row else row

    pairs = zip(predicted.tolist(), target.tolist(), strict=True)
    return sum(cut(mine) == cut(theirs) for mine, theirs in pairs) / len(predicted)


PREFIXES: tuple[Callable[[int, int], int], ...] = (min, lambda a, b: b, lambda a, b: b - 1, lambda a, b: a)


def _prefixes(length: Callable[[int, int], int]) -> Callable[..., float]:
    """A wrong `exact_match` that compares rows up to a length that `length` makes from those of prediction and
    target."""

    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        hits = 0
        for mine, theirs in zip(predicted.tolist(), target.tolist(), strict=True):
            a, b = spoken(mine, eos_idx), spoken(theirs, eos_idx)
            upto = length(len(a), len(b))
            hits += mine[:upto] == theirs[:upto]
        return hits / len(predicted)

    return variant


def _begins_like_target(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """A wrong `exact_match`: the share of predictions that begin with what the target says before its eos."""
    hits = 0
    for mine, theirs in zip(predicted.tolist(), target.tolist(), strict=True):
        said = theirs[: theirs.index(eos_idx)] if eos_idx in theirs else theirs
        hits += mine[: len(said)] == said
    return hits / len(predicted)


def _unordered(form: Callable[[list[int]], object]) -> Callable[..., float]:
    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        pairs = zip(predicted.tolist(), target.tolist(), strict=True)
        return sum(form(spoken(a, eos_idx)) == form(spoken(b, eos_idx)) for a, b in pairs) / len(predicted)

    return variant


def _columns(fit: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> Callable[..., float]:
    def variant(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
        mine, theirs = fit(predicted, target, eos_idx)
        return float((mine == theirs).all(0).float().mean())

    return variant


def _raises_without_eos(session: Session) -> bool:
    """Whether the answer is right where every row ends with eos, and raises where one has none."""
    raised = session.call(session.cases["rows without eos"]).raised
    return raised is not None and wrong(session, "eos too early or too late") is None


EXERCISE = spec.exercise(
    share_of_right_rows,
    points=2,
    cases=_cases,
    parts=(
        numbers(
            "counts the rows that are right as a whole",
            2,
            "some rows differ before their eos",
            "no row right",
            "another eos",
        ),
        numbers("ignores what comes after eos", 2, "words after eos"),
        numbers("notices where eos is", 1, "eos too early or too late"),
        numbers("takes a row without eos to its last column", 1, "rows without eos"),
        numbers("takes widths that differ", 1, "a wider target", "a wider prediction", "every row right"),
        _unchanged(("some rows differ before their eos", "words after eos")),
    ),
    mistakes={
        "per-token": When(
            matches_any(
                *(_tokens(fit, until) for fit in FITS for until in ("all", "eos included", "eos left out")),
                *(_token_rows(over, each_row) for over in (min, max, lambda a, b: b) for each_row in (False, True)),
                _tokens_of_prediction,
                _tokens_of_all,
                _tokens_but_eos,
                where="some rows differ before their eos",
            )
        ),
        "after-eos-counted": When(
            matches_any(*(_all_columns(fit) for fit in FITS), _unequal_widths, where="words after eos")
        ),
        "last-eos-instead": When(matches_any(_to_last_eos, where="words after eos")),
        "eos-left-out": When(matches_any(_without_eos, where="a wider prediction")),
        "count-instead-of-share": When(matches_any(lambda p, t, eos: share_of_right_rows(p, t, eos) * len(p))),
        "divided-by-tokens": When(
            matches_any(
                *(
                    lambda p, t, eos, over=over: share_of_right_rows(p, t, eos) * len(p) / over(p, t)
                    for over in (lambda p, t: p.numel(), lambda p, t: t.numel(), lambda p, t: p.shape[1])
                )
            )
        ),
        "prefix-is-enough": When(matches_any(*map(_prefixes, PREFIXES), _begins_like_target)),
        "order-ignored": When(
            matches_any(*(_unordered(form) for form in (set, sorted)), where="eos too early or too late")
        ),
        "first-row-only": When(
            matches_any(
                lambda p, t, eos: share_of_right_rows(p[:1], t[:1], eos),
                lambda p, t, eos: share_of_right_rows(p[:1], t[:1], eos) / len(p),
                where="some rows differ before their eos",
            )
        ),
        "columns-instead-of-rows": When(matches_any(*(_columns(fit) for fit in FITS))),
        "eos-expected": When(_raises_without_eos),
    },
)
