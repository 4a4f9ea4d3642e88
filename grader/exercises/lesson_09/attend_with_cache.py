"""`attend_with_cache`: causal attention that goes on where it stopped, with the keys and values kept so far."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_09.shared import no_scaling, one_of
from grader.sentences import say, together
from grader.spec import compare
from grader.spec.cases import BATCH_OF_ONE
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject.values import place_in_words, tensors_in
from grader.tolerance import FLOAT32, FLOAT64, Tolerance

spec = Spec(__name__)

# --- parts: the result is an output and a cache, which is a pair of tensors itself ------------------------------------

PROMPT, ONE, SEVERAL, MANY = "a prompt", "one token after a cache", "several tokens after a cache", "a long text"

FAR_BELOW = "scores of -200 and below"  # what is hidden has to be lower still
OUTPUTS = {"output": "B H T D", "the key of the cache": "B H S D", "the value of the cache": "B H S D"}
SHOWN = dict(zip(OUTPUTS, ("`output`", say("The key of the cache"), say("The value of the cache")), strict=True))


def _came_back(session: Session, case: Case) -> list[Tensor] | Finding:
    """The output (B, H, Tq, d_v) and the cache's keys and values (B, H, Tk, ...), or the finding that says why they are
    missing."""
    outcome = session.call(case)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return _with_arguments(finding, session, case)
    value, name = outcome.value, session.exercise.name
    if value is None:
        return compare.returned_none(session.exercise)
    expected = say("Expected (output, (key, value)): the output and the cache, which is itself a tuple of two tensors.")
    if not _is_pair(value) or not isinstance(value[0], Tensor):
        returned = say("`{name}` returned {what}.", name=name, what=compare.in_words(value))
        return Finding("wrong-type", together(returned, expected))
    if not _is_pair(value[1]) or not all(isinstance(tensor, Tensor) for tensor in value[1]):
        held = "None" if value[1] is None else compare.in_words(value[1])
        returned = say("`{name}` returned an output and {what}.", name=name, what=held)
        return Finding("wrong-type", together(returned, expected))
    return [value[0], *value[1]]


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _with_arguments(finding: Finding, session: Session, case: Case) -> Finding:
    if finding.kind != "raised":
        return finding
    return Finding("raised", together(finding.message, _arguments(session, case)))


def _arguments(session: Session, case: Case) -> str:
    cache = case.args["cache"]
    held = say("The cache was None.")
    if cache is not None:
        held = say("The cache was two tensors {shape}.", shape=tuple(cache[0].shape))
    return together(compare.arguments_in_words(case, session.exercise), held)


def inspect(session: Session, name: str, which: slice, tolerance: Tolerance | None) -> Finding | None:
    """The first finding for those of the three tensors, output, keys and values, that `which` selects; None if they are
    right. Without a tolerance only their shapes are compared."""
    case = session.cases[name]
    came_back = _came_back(session, case)
    if isinstance(came_back, Finding):
        return came_back
    right = session.expected(case)
    for value, expected, output in list(zip(came_back, right, OUTPUTS, strict=True))[which]:
        if value.shape != expected.shape:
            said = say(
                "{what} has shape {got}, expected {expected}.",
                what=SHOWN[output],
                got=tuple(value.shape),
                expected=tuple(expected.shape),
            )
            return Finding("wrong-shape", together(said, _arguments(session, case)))
        finding = None if tolerance is None else compare.tensor_close(value, expected, SHOWN[output], case, tolerance)
        if finding is not None:
            return finding
    return None


OUTPUT, KEPT, ALL = slice(0, 1), slice(1, 3), slice(0, 3)


def part(title: str, weight: float, which: slice, *names: str, tolerance: Tolerance | None = FLOAT32) -> Part:
    """A part that compares those of the three tensors that `which` selects, on the named cases; with a tolerance of
    None only their shapes."""

    def judge(session: Session) -> Finding | None:
        return next((f for name in names if (f := inspect(session, name, which, tolerance))), None)

    return Part(title, weight, judge, compares_values=tolerance is not None)


def finite(session: Session) -> Finding | None:
    """Why the output isn't finite for entries up to 50, None if it is. Not judged before a prompt's output is right."""
    finding = inspect(session, "entries up to 50", OUTPUT, None)
    if finding is not None:
        return finding
    if inspect(session, PROMPT, OUTPUT, FLOAT32) is not None:
        return not_judged("values-first")
    output = tensors_in(session.call(session.cases["entries up to 50"]).value)[0]
    return compare.not_finite(output, None, "`output`", "entries up to 50")


def float64(session: Session) -> Finding | None:
    """Why a tensor doesn't have the input's dtype, or float64 values not float64's precision; None if all is right."""
    for name in (PROMPT, ONE, "float64"):
        came_back = _came_back(session, session.cases[name])
        if isinstance(came_back, Finding):
            return came_back
        finding = compare.dtypes(came_back, session.exercise, session.dtype(session.cases[name]))
        if finding is not None:
            return finding
    return inspect(session, "float64", ALL, FLOAT64)


def unchanged(session: Session) -> Finding | None:
    """Which argument the call changed in place, in a finding; None if it changed none. Not judged before the values are
    right."""
    case = session.cases[SEVERAL]
    changed = session.call(case).changed
    if changed:
        name, argument = session.exercise.name, list(case.args)[changed[0]]
        said = say(
            "`{name}` changed its argument `{argument}` in place. The caller may still need it, so make new tensors "
            "instead.",
            name=name,
            argument=argument,
        )
        return Finding("changes-argument", said)
    wrong = inspect(session, SEVERAL, ALL, FLOAT32)
    return None if wrong is None else not_judged("values-first")


def gradients(session: Session) -> Finding | None:
    """Why the gradients of query, key, value and the cache's tensors are wrong, None if they are right. Not judged
    before the values are right."""
    case = session.cases[SEVERAL]
    if inspect(session, SEVERAL, ALL, FLOAT32) is not None:
        return not_judged("values-first")
    outcome = session.call(case, gradients=True)
    if not outcome.ok:
        session.expected_gradients(case)  # raises if torch can't differentiate the reference: not the student's fault
        error = compare.run_error(outcome, session.exercise)
        runs = say("`{name}` runs only where no gradients are wanted.", name=session.exercise.name)
        return Finding("gradient-cut", together(error.message if error else "", runs))
    for at, right in session.expected_gradients(case).items():
        gradient = (outcome.gradients or {}).get(at)
        name = place_in_words(at, list(case.args))
        if gradient is None:
            return Finding("gradient-cut", together(say("No gradient reaches `{name}`.", name=name), _CUT))
        if not bool(FLOAT32.close(gradient, right).all()):
            said = say("The gradient of `{name}` is wrong, though the values are right.", name=name)
            return Finding("wrong-gradient", together(said, _CUT))
    return None


_CUT = say("`.detach()`, `.item()`, `.numpy()`, `torch.tensor(...)` of a tensor and `torch.no_grad()` cut gradients.")
Cache = tuple[Tensor, Tensor] | None
Three = tuple[Tensor, Tensor, Tensor]


def reference(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Three:
    """The right `attend_with_cache`, by PyTorch's attention to all keys, with a mask that hides later ones: query, key
    and value (B, H, T, ...) and the pair of past keys and values, or None, give the output and all keys and values."""
    keys, values = (
        (key, value) if cache is None else (torch.cat(pair, 2) for pair in zip(cache, (key, value), strict=True))
    )
    new, held = query.shape[2], keys.shape[2]
    may_attend = torch.ones(new, held, dtype=torch.bool).tril(held - new)
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=may_attend), keys, values


def _case(draw: Draw, name: str, new: int, past: int, heads: int, make: Callable[..., Tensor], **more: Any) -> Case:
    sizes = draw.sizes("D", B=more.pop("batch", 5 - heads), H=heads, T=new, S=new + past)
    shape = (sizes["B"], sizes["H"])
    dtype = more.pop("dtype", torch.float32)
    fresh = {arg: make((*shape, new, sizes["D"])).to(dtype) for arg in ("query", "key", "value")}
    kept = tuple(make((*shape, past, sizes["D"])).to(dtype) for _ in range(2)) if past else None
    return Case(name, {**fresh, "cache": kept}, sizes, **more)


def _cases(draw: Draw) -> list[Case]:
    def fifty(shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    heads = one_of(draw, 2, 3)
    past, new = one_of(draw, 7, 8), one_of(draw, 5, 6)
    low = _case(draw, FAR_BELOW, new, 0, heads, draw.normal, dtype=torch.float64, comparable=False)
    return [
        _case(draw, PROMPT, new, 0, heads, draw.normal),
        _case(draw, ONE, 1, past, heads, draw.normal),
        _case(draw, SEVERAL, new, past, 5 - heads, draw.normal),
        _case(draw, MANY, 40, 100, heads, draw.normal),
        _case(draw, "float64", 3, past, heads, draw.normal, dtype=torch.float64),
        _case(draw, "entries up to 50", 3, past, heads, fifty, comparable=False),
        _case(draw, BATCH_OF_ONE, 1, past, heads, draw.normal, batch=1, comparable=False),
        replace(low, args={**low.args, "query": low.args["query"] + 12, "key": low.args["key"] - 12}),
        _case(draw, "as many new tokens as old ones", new, new, heads, draw.normal, diagnostic=True),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Visible = Callable[[int, int], Tensor]


def _past_and_present(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool).tril(held - new)


def variant(
    visible: Callable[[bool], Visible] = lambda first: _past_and_present,
    joined: Callable[[Tensor, Tensor], Tensor] = lambda past, new: torch.cat((past, new), 2),
    kept: Callable[[Cache, Three, Three], Any] = lambda cache, new, all_: all_[1:],
    seen: Callable[[Cache, Three, Three], Three] = lambda cache, new, all_: all_,
    scale: float | None = None,
) -> Callable[..., Any]:
    """A cached attention, right unless a part is changed.

    `visible`: gets whether this is the first call and gives a function that makes the mask, (new, all), from both
    numbers.
    `joined`: makes all keys, or values, from the past and the new ones, (B, H, T, ...) each.
    `kept`, `seen`: what the cache is, and what is attended to, made from the old cache, the new tensors and all of
    them.
    `scale`: what scores are multiplied by, None for 1 / sqrt(D).
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        new = (query, key, value)
        all_ = new if cache is None else (query, joined(cache[0], key), joined(cache[1], value))
        _, keys, values = seen(cache, new, all_)
        mask = visible(cache is None)(query.shape[2], keys.shape[2])
        mask = mask.to(query.dtype) if mask.is_floating_point() else mask
        output = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scale)
        return output, kept(cache, new, all_)

    return wrong


def _everything(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool)


def _top_left(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool).tril()


def _all_later(first: bool) -> Visible:
    """The function that makes the mask: the right one in the `first` call; after it nothing is hidden."""
    return _past_and_present if first else _everything


def _new(cache: Cache, new: Three, all_: Three) -> Three:
    return new


def _old(cache: Cache, new: Three, all_: Three) -> Three:
    """The query with the keys and values that are in the cache already; in the first call, what is new."""
    return new if cache is None else (new[0], *cache)


def _kept(which: Callable[[Cache, Three, Three], Three]) -> Callable[[Cache, Three, Three], Any]:
    return lambda cache, new, all_: which(cache, new, all_)[1:]


NOT_EXTENDED = (
    variant(kept=_kept(_new)),
    variant(seen=_new, kept=_kept(_new)),
    variant(kept=_kept(_old)),
    variant(kept=lambda cache, new, all_: cache),
    variant(_all_later, seen=_old, kept=_kept(_old)),
    variant(seen=_new, kept=_kept(_old)),
)


def _doubled(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """Like `reference`, but in the first call the new keys and values are also taken for a cache, so that they come
    twice."""
    return variant()(query, key, value, (key, value) if cache is None else cache)


def _keys_for_values(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    return variant()(query, key, value, None if cache is None else (cache[0], cache[0]))


def _weighed(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """A cached attention whose weights are made by `weigh` from the scores (B, H, Tq, Tk) and the right mask (Tq,
    Tk)."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        keys, values = variant()(query, key, value, cache)[1]
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return weigh(scores, _past_and_present(*scores.shape[-2:])) @ values, (keys, values)

    return wrong


def _hidden_by_hand(visible: Visible) -> Callable[..., Any]:
    """A cached attention that puts minus infinity where the mask of `visible` hides: a row that sees nothing gives NaN,
    where torch's own attention gives 0."""
    return _weighed(lambda scores, _: scores.masked_fill(~visible(*scores.shape[-2:]), -math.inf).softmax(-1))


def _divided(by: Callable[[Tensor, Tensor], float]) -> Callable[..., Any]:
    """A cached attention whose scores are divided by the number that `by` makes from query and all keys."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        keys = variant()(query, key, value, cache)[1][0]
        return variant(scale=1 / by(query, keys))(query, key, value, cache)

    return wrong


OTHER_SIZES: tuple[Callable[[Tensor, Tensor], float], ...] = (
    lambda query, keys: math.sqrt(query.shape[2]),
    lambda query, keys: math.sqrt(keys.shape[2]),
    lambda query, keys: math.sqrt(query.shape[1] * query.shape[3]),
    lambda query, keys: float(query.shape[3]),
)


def _short_only(session: Session) -> bool:
    """Whether all is right but for a long text."""
    return all(inspect(session, name, ALL, FLOAT32) is None for name in (PROMPT, ONE, SEVERAL)) and (
        inspect(session, MANY, OUTPUT, FLOAT32) is not None
    )


def _none_taken_apart(session: Session) -> bool:
    raised = session.call(session.cases[PROMPT]).raised
    return raised is not None and "TypeError" in raised.types and "NoneType" in raised.message


EXCEPT = re.compile(r"Sizes of tensors must match except in dimension (\d)")


def _joined_elsewhere(session: Session) -> bool:
    """Whether `torch.cat` raised along another axis than the tokens', or `torch.stack` raised."""
    outcomes = (session.call(session.cases[name]) for name in (ONE, SEVERAL))
    messages = [o.raised.message for o in outcomes if o.raised is not None]
    matches = [EXCEPT.search(message) for message in messages]
    return any(match is not None and match[1] != "2" for match in matches) or any(
        "stack expects each tensor to be equal size" in message for message in messages
    )


def _square_mask(session: Session) -> bool:
    """Whether a prompt comes out right, but with a cache a mask of new by new tokens doesn't fit the scores of new by
    all."""
    case = session.cases[SEVERAL]
    raised, new, past = session.call(case).raised, case.args["query"].shape[2], case.args["cache"][0].shape[2]
    unfit = raised is not None and all(f"({size})" in raised.message for size in (new, past + new))
    return unfit and session.call(session.cases[ONE]).ok and inspect(session, PROMPT, OUTPUT, FLOAT32) is None


EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs=OUTPUTS,
    cases=_cases,
    parts=(
        part("returns an output and a cache of the right shapes", 1, ALL, PROMPT, ONE, tolerance=None),
        part("attends causally in a prompt", 3, OUTPUT, PROMPT, FAR_BELOW),
        part("attends to all that came before, one token at a time", 3, OUTPUT, ONE, BATCH_OF_ONE),
        part("attends causally with several tokens after a cache", 3, OUTPUT, SEVERAL, MANY),
        part("keeps old and new keys and values, in order", 3, KEPT, PROMPT, ONE, SEVERAL, BATCH_OF_ONE),
        Part("stays finite with large entries", 0.5, finite, compares_values=False),
        Part("keeps the dtype, float32 and float64", 0.5, float64),
        Part("leaves its arguments as they were", 0.5, unchanged, compares_values=False),
        Part("lets gradients flow", 1, gradients),
    ),
    mistakes={
        "mask-of-a-fixed-size": When(_short_only),
        "not-causal-behind-cache": variant(_all_later),
        "prompt-not-causal": (
            variant(lambda first: _everything),
            variant(lambda first: _everything if first else _past_and_present),
        ),
        "mask-aligned-to-top-left": When(_square_mask, variant(lambda first: _top_left)),
        "cache-not-used": variant(seen=_new),
        "new-tokens-not-seen": variant(_all_later, seen=_old),
        "cache-not-extended": NOT_EXTENDED,
        "prompt-kept-twice": _doubled,
        "keys-kept-as-values": _keys_for_values,
        "none-not-handled": When(_none_taken_apart),
        "mask-inverted": (
            variant(lambda first: lambda new, held: ~_past_and_present(new, held)),
            variant(lambda first: lambda new, held: _everything(new, held).triu(held - new)),
            _weighed(lambda scores, seen: scores.masked_fill(seen, -math.inf).softmax(-1)),
            _hidden_by_hand(lambda new, held: _everything(new, held).triu(held - new)),
        ),
        "float-mask-added": variant(lambda first: lambda new, held: _past_and_present(new, held).float()),
        "one-future-token-visible": variant(
            lambda first: lambda new, held: _everything(new, held).tril(held - new + 1)
        ),
        "diagonal-hidden": (
            variant(lambda first: lambda new, held: _everything(new, held).tril(held - new - 1)),
            _hidden_by_hand(lambda new, held: _everything(new, held).tril(held - new - 1)),
        ),
        "mask-shifted-backwards": (
            variant(lambda first: lambda new, held: _everything(new, held).tril(new - held)),
            _hidden_by_hand(lambda new, held: _everything(new, held).tril(new - held)),
        ),
        "mask-after-softmax": _weighed(lambda scores, seen: scores.softmax(-1) * seen),
        "zero-instead-of-minus-infinity": _weighed(lambda scores, seen: (scores * seen).softmax(-1)),
        "wrong-axis": When(_joined_elsewhere),
        "new-before-old": (
            variant(joined=lambda past, new: torch.cat((new, past), 2)),
            variant(lambda first: _everything, joined=lambda past, new: torch.cat((new, past), 2)),
        ),
        "key-and-value-swapped": variant(kept=lambda cache, new, all_: (all_[2], all_[1])),
        **by_id(no_scaling(variant(scale=1.0))),
        "scaled-by-another-size": tuple(map(_divided, OTHER_SIZES)),
    },
)
