"""`head_that_remembers`: the head that looks back at where its next token was (Olsson et al. 2022, induction heads)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grader.exercises.lesson_11.uneven_heads import even, uneven
from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Request

spec = Spec(__name__)

Head = tuple[int, int]


def reference(weights: Tensor, labels: Tensor, ids: Tensor) -> Head:
    """The right head, as (layer, head), place by place: weights (L, H, T, T), labels (T,), -1 where none counts, and
    ids (T,)."""
    read, coming = ids.tolist(), labels.tolist()
    seen = [(t, [j for j in range(t + 1) if read[j] == label]) for t, label in enumerate(coming)]
    totals: dict[Head, float] = {}
    for layer, heads in enumerate(weights.tolist()):
        for head, rows in enumerate(heads):
            shares = [sum(rows[t][j] for j in places) for t, places in seen if places]
            totals[layer, head] = sum(shares) / len(shares)
    return max(totals, key=lambda place: totals[place])


# --- wrong on purpose -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Looks:
    """How heads are compared, right unless a field is changed."""

    # Which occurrences count, "so far" (the place itself too), "before" it or "all".
    past: Literal["so far", "before", "all"] = "so far"
    known: Literal["so far", "before", "all"] = "so far"  # among which there has to be one for a place to count
    # Whose occurrences are looked for: of the "labels", of the "ids" (each place's own token) or of the "next" token
    # (also where there is no label).
    of: Literal["labels", "ids", "next"] = "labels"
    by: Callable[[Tensor, Tensor], Tensor] = torch.eq  # which ids count as an occurrence
    # Only the "first" or "last" occurrence counts, or the "largest" weight on one; "" for the sum.
    only: Literal["", "first", "last", "largest"] = ""
    looked_at: bool = False  # the average is over the places that others look back at
    turned: bool = False  # rows and columns change places
    most: bool = False  # a head's largest share counts in place of its average

    def places(self, labels: Tensor, ids: Tensor) -> Tensor:
        """A boolean matrix (T, T) from labels (T,) and ids (T,): which columns count in which rows."""
        wanted = {"labels": labels, "ids": ids.where(labels >= 0, -1), "next": torch.cat([ids[1:], -ids.new_ones(1)])}
        same = self.by(ids, wanted[self.of][:, None])
        counted = (same & _until(self.known, len(ids))).any(1)
        chosen = same & _until(self.past, len(ids)) & counted[:, None]
        if self.only in ("first", "last"):
            ranked = (chosen if self.only == "first" else chosen.flip(1)).cumsum(1) == 1
            chosen = chosen & (ranked if self.only == "first" else ranked.flip(1))
        return chosen

    def __call__(self, weights: Tensor, labels: Tensor, ids: Tensor) -> Head:
        weights = weights.mT if self.turned else weights
        places = self.places(labels, ids)
        on_places = weights * places * (places.any(0)[:, None] if self.looked_at else True)
        looking = on_places.amax(-1) if self.only == "largest" else on_places.sum(-1)
        totals = looking.amax(-1) if self.most else looking.sum(-1)
        layer, head = divmod(int(totals.argmax()), weights.shape[1])
        return layer, head


RIGHT = Looks()


def _until(which: str, length: int) -> Tensor:
    every = torch.ones(length, length, dtype=torch.bool)
    return {"so far": every.tril(), "before": every.tril(-1), "all": every}[which]


# --- the cases --------------------------------------------------------------------------------------------------------

PLAIN, DOUBLE, ONE_LAYER, ONE_HEAD = "one text", "float64", "one layer", "one head per layer"
LATER, NEW, EVERY, ITSELF, TURNED, OWN, FIRST, LAST, ONCE, LARGER, SMALLER = (
    "a head that looks at later occurrences",
    "a head that looks at what is new",
    "a head that looks back where there is no label",
    "a head that looks for the token itself",
    "a head whose columns look back",
    "a name twice in a row",
    "a head that looks at the first occurrence",
    "a head that looks at the last occurrence",
    "a head that looks back once",
    "a head that looks at words with larger ids",
    "a head that looks at words with smaller ids",
)
# What each head that is no answer does, by the case that it stands in.
DECOYS = {
    LATER: Looks(past="all"),
    NEW: Looks(past="all", known="all"),
    EVERY: Looks(of="next"),
    ITSELF: Looks(of="ids"),
    TURNED: RIGHT,
    OWN: Looks(past="before", known="before"),
    FIRST: Looks(only="first"),
    LAST: Looks(only="last"),
    ONCE: Looks(most=True),
    LARGER: Looks(by=torch.ge),
    SMALLER: Looks(by=torch.le),
}
LOOKED_AT = "a head that looks back where others look"
SOMETIMES, LITTLE = "heads that look back at some places only", "heads that look back a little everywhere"
FEWEST = 4  # places that a decoy has to itself


def _cases(draw: Draw) -> list[Case]:
    shapes = {PLAIN: (3, 5), DOUBLE: (5, 3), ONE_LAYER: (1, 5), ONE_HEAD: (4, 1)}
    made = [_case(draw, name, shape, 23 + draw.integer(0, 9)) for name, shape in shapes.items()]
    made += [_case(draw, name, (3, 5), 23 + draw.integer(0, 9), decoy) for name, decoy in DECOYS.items()]
    made += [_with_weights(draw, SOMETIMES, even), _with_weights(draw, LITTLE, uneven)]
    return [*made, _case(draw, LOOKED_AT, (3, 5), 23 + draw.integer(0, 9), Looks(looked_at=True))]


def _text(draw: Draw, length: int, words: int) -> tuple[Tensor, Tensor]:
    """The labels (T,) and the ids (T,) of a text of so many different words; three labels in five count."""
    ids = draw.integers((length,), 3, words)
    labels = torch.cat([ids[1:], draw.integers((1,), 3, words)])
    return labels.where(torch.rand(length, generator=draw.generator) < 0.6, -1), ids


def _with_weights(draw: Draw, name: str, weights_of: Callable[[Draw, Tensor, Tensor], Tensor | None]) -> Case:
    """A case with the weights that `weights_of` gives for the right places of a text."""
    while True:
        labels, ids = _text(draw, 23 + draw.integer(0, 9), 9)
        weights = weights_of(draw, RIGHT.places(labels, ids), labels)
        if weights is not None:
            sizes = {"L": weights.shape[0], "H": weights.shape[1], "T": len(ids)}
            return Case(name, {"weights": weights.float(), "labels": labels, "ids": ids}, sizes)


def _case(draw: Draw, name: str, shape: tuple[int, int], length: int, decoy: Looks | None = None) -> Case:
    """A case of `shape` (L, H) and `length` T, in which one head looks back, and another does what the wrong way
    `decoy` counts and the right one doesn't (None: no such head). Only the decoys of a model that looks ahead see what
    is later."""
    words = 16 if name == NEW else 9  # among many words more are new
    while True:
        layers, heads = shape
        ids = draw.integers((length,), 3, words)
        if name == OWN:
            ids = ids.where(torch.rand(length, generator=draw.generator) < 0.5, ids.roll(1))
        labels = torch.cat([ids[1:], draw.integers((1,), 3, words)])
        labels = labels.where(torch.rand(length, generator=draw.generator) < 0.6, -1)
        right = RIGHT.places(labels, ids)
        other = torch.zeros_like(right) if decoy is None else decoy.places(labels, ids)
        alone = right.mT & ~right if name == TURNED else other & ~right
        alone = alone & ~Looks(past="all").places(labels, ids) if name == NEW else alone
        alone = right & (right.any(1).cumsum(0) == 3)[:, None] if name == ONCE else alone
        alone = right & right.any(0)[:, None] if name == LOOKED_AT else alone
        shares = (0.7, 0.95)
        if name in (OWN, FIRST, LAST):  # these count less than the right way does
            right, alone, shares = right & ~other, other, (0.95, 0.45)
        causal = name in (PLAIN, DOUBLE, ONE_LAYER, ONE_HEAD, ITSELF, EVERY)
        scores = draw.normal((layers, heads, length, length), 0.5).double()
        scores = scores.masked_fill(~_until("so far", length), -torch.inf) if causal else scores
        weights = scores.softmax(-1)
        order = torch.randperm(layers * heads, generator=draw.generator).tolist()
        answer, wrong = (divmod(place, heads) for place in (order[0], order[-1]))
        weights[answer] = _looking(weights[answer], right, shares[0])
        if decoy is not None:
            weights[wrong] = _looking(weights[wrong], alone, shares[1])
        args = (weights if name == DOUBLE else weights.float(), labels, ids)
        way = Looks(turned=True) if name == TURNED else decoy
        ruled_out = decoy is None or (
            way is not None and way(*args) == wrong and (name == ONCE or int(alone.any(1).sum()) >= FEWEST)
        )
        usual = answer not in ((0, 0), (layers - 1, heads - 1), answer[::-1]) or 1 in shape
        if ruled_out and usual and reference(*args) == answer:
            named = dict(zip(("weights", "labels", "ids"), args, strict=True))
            return Case(name, named, {"L": layers, "H": heads, "T": length}, comparable=1 not in shape)


def _looking(rows: Tensor, places: Tensor, share: float) -> Tensor:
    """The rows (T, T) with `share` of each one's weight moved to those places (T, T, boolean), where it has any."""
    some = places.any(1, keepdim=True)
    there = places / places.sum(1, keepdim=True).clamp(min=1)
    return torch.where(some, (1 - share) * rows + share * there, rows)


# --- the parts --------------------------------------------------------------------------------------------------------


def _answer(session: Session, name: str) -> Head | None:
    """What the student's function says of the case `name`; None unless it is two whole numbers."""
    outcome = session.call(session.cases[name])
    value = outcome.value if outcome.ok else None
    if isinstance(value, tuple | list) and len(value) == 2 and all(type(number) is int for number in value):
        return value[0], value[1]
    return None


def _wrong(session: Session, name: str) -> Finding | None:
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.no_value(outcome, session.exercise)
    if finding is not None:
        return finding
    got = _answer(session, name)
    if got is None:
        whole = isinstance(outcome.value, tuple | list) and any(isinstance(item, Tensor) for item in outcome.value)
        tip = say("`.item()` takes the number out of a tensor.") if whole or isinstance(outcome.value, Tensor) else ""
        found = say("a pair with a tensor in it") if whole else compare.in_words(outcome.value)
        message = say(
            "`{name}` returned {what}, but should return two whole numbers, (layer, head).", name=spec.name, what=found
        )
        return Finding("wrong-type", together(message, tip))
    expected = session.evaluate(case, reference)
    if got == expected:
        return None
    sizes = f"L = {case.sizes['L']}, H = {case.sizes['H']}, T = {case.sizes['T']}"
    said = say(
        "`{name}` returned {got}, expected {expected} ({case}; {sizes}).",
        name=spec.name,
        got=got,
        expected=expected,
        case=say(name),
        sizes=sizes,
    )
    return Finding("wrong-values", said)


def _finds(title: str, weight: float, *names: str) -> Part:
    """A part that passes if the head is found in the named cases. It waits until the plain text's is: one of few heads
    is found by chance, too."""

    def judge(session: Session) -> Finding | None:
        first = None if PLAIN in names else _wrong(session, PLAIN)
        if first is not None:
            return first if first.kind == "raised" else not_judged("values-first")
        return next((found for name in names if (found := _wrong(session, name)) is not None), None)

    return Part(title, weight, judge)


def _unchanged(session: Session) -> Finding | None:
    if any(session.call(case).changed for case in session.cases.values()):
        said = say("`{name}` changed one of its arguments in place. Make a new tensor instead.", name=spec.name)
        return Finding("changes-argument", said)
    return not_judged("values-first") if _wrong(session, PLAIN) is not None else None


def _as(*ways: Callable[..., Head]) -> Callable[[Session], bool]:
    """A recogniser that says whether every answer is right or that of one way, and one at least is only the way's."""

    def recognise(session: Session) -> bool:
        cases = [case for case in session.real_cases() if case.comparable]
        got = [_answer(session, case.name) for case in cases]
        right = [session.evaluate(case, reference) for case in cases]
        if None in got or got == right:
            return False
        return any(_fits(got, right, [session.evaluate(case, way) for case in cases]) for way in ways)

    return recognise


def _everywhere(*ways: Looks) -> Callable[[Session], bool]:
    """A recogniser like that of `_as` for one of the ways, which also has to give the answers on texts of random
    weights: several ways to count give the same head where one head is far ahead."""

    def recognise(session: Session) -> bool:
        return any(_as(way)(session) and all(_on_random_weights(session, way)) for way in ways)

    return recognise


def _on_random_weights(session: Session, way: Looks) -> Iterator[bool]:
    """For each of a few texts on which the way differs from what is right: whether the answer is the way's."""
    draw = Draw("random weights")
    texts = ((draw.normal((3, 4, 24, 24), 2.0).softmax(-1), *_text(draw, 24, 6)) for _ in range(40))
    for args in [args for args in texts if way(*args) != RIGHT(*args)][:6]:
        answer = session.ask(Request("call", spec.name, args)).value
        yield isinstance(answer, tuple | list) and tuple(answer) == way(*args)


def _fits(got: list[Head | None], right: list[Head], wrong: list[Head]) -> bool:
    return all(g == w or (g == r and w == r) for g, r, w in zip(got, right, wrong, strict=True))


def _exchanged(session: Session) -> bool:
    """Whether all answers are (head, layer) in place of (layer, head)."""
    cases = [case for case in session.real_cases() if case.comparable]
    got = [_answer(session, case.name) for case in cases]
    return got == [session.evaluate(case, reference)[::-1] for case in cases]


def _one_number(session: Session) -> bool:
    """Whether the answer is the head's place in a table that is laid out flat, alone or twice in a pair."""
    case = session.cases[PLAIN]
    outcome = session.call(case)
    value = outcome.value if outcome.ok else None
    value = value.item() if isinstance(value, Tensor) and value.numel() == 1 else value
    pair = _answer(session, PLAIN)
    value = pair[0] if pair is not None and pair[0] == pair[1] else value
    layer, head = session.evaluate(case, reference)
    return type(value) is int and value == layer * case.sizes["H"] + head


def _divided_by_layers(session: Session) -> bool:
    """Whether all answers are the head's place in a flat table, divided by the number of layers with remainder."""
    cases = [case for case in session.real_cases() if case.comparable]
    places = [(case.sizes["L"], case.sizes["H"], *session.evaluate(case, reference)) for case in cases]
    wrong = [divmod(layer * heads + head, layers) for layers, heads, layer, head in places]
    return [_answer(session, case.name) for case in cases] == wrong


def _least(weights: Tensor, labels: Tensor, ids: Tensor) -> Head:
    return RIGHT(-weights, labels, ids)


EXERCISE = spec.exercise(
    points=3,
    signature=("weights", "labels", "ids"),
    cases=_cases,
    parts=(
        _finds("finds the head in one text", 3, PLAIN, ITSELF, TURNED, ONCE, LARGER, SMALLER),
        _finds("counts only what has been read so far", 1.5, LATER, NEW),
        _finds("counts only places with a label", 1, EVERY),
        _finds("counts every occurrence so far, the place itself too", 1, FIRST, LAST, OWN),
        _finds("takes the average over all places that count", 1, SOMETIMES, LITTLE, LOOKED_AT),
        _finds("takes one layer, one head, float64", 0.5, ONE_LAYER, ONE_HEAD, DOUBLE),
        Part("leaves its arguments as they were", 0.5, _unchanged, compares_values=False),
    ),
    mistakes={
        "flat-index": When(_one_number),
        "divided-by-layers": When(_divided_by_layers),
        "layer-and-head-exchanged": When(_exchanged),
        "rows-and-columns-swapped": When(_everywhere(Looks(turned=True))),
        "looks-for-itself": When(
            _everywhere(
                Looks(of="ids"),
                Looks(of="ids", past="before", known="before"),
                Looks(of="ids", past="all", known="all"),
            )
        ),
        "places-without-label-counted": When(_everywhere(Looks(of="next"), Looks(of="next", past="all", known="all"))),
        "new-words-counted": When(_everywhere(Looks(past="all", known="all"))),
        "later-places-counted": When(_everywhere(Looks(past="all"))),
        "own-place-left-out": When(_everywhere(Looks(past="before", known="before"), Looks(past="before"))),
        "one-occurrence-only": When(_everywhere(Looks(only="first"), Looks(only="last"), Looks(only="largest"))),
        "least-instead-of-most": When(_as(_least)),
    },
)
