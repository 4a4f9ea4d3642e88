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

from grader.exercises.lesson_09.shared import LESSON, no_scaling, one_of
from grader.spec import compare
from grader.spec.cases import BATCH_OF_ONE
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part
from grader.spec.session import Session
from grader.subject.values import place_in_words, tensors_in
from grader.tolerance import FLOAT32, FLOAT64, Tolerance

# --- parts: the result is an output and a cache, which is a pair of tensors itself ------------------------------------

PROMPT, ONE, SEVERAL, MANY = "a prompt", "one token after a cache", "several tokens after a cache", "a long text"

FAR_BELOW = "scores of -200 and below"  # what is hidden has to be lower still
OUTPUTS = (
    Output("output", "B H T D"),
    Output("the key of the cache", "B H S D"),
    Output("the value of the cache", "B H S D"),
)


def _came_back(session: Session, case: Case) -> list[Tensor] | Finding:
    """The output and the cache's two tensors, or the finding that says why they are missing."""
    outcome = session.call(case)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return _with_arguments(finding, session, case)
    value, name = outcome.value, session.exercise.name
    if value is None:
        return Finding("returns-nothing", f"`{name}` returned None. Does it end with a `return` line?")
    expected = "expected (output, (key, value)): the output and the cache, which is a tuple of two tensors itself."
    if not _is_pair(value) or not isinstance(value[0], Tensor):
        return Finding("wrong-type", f"`{name}` returned {compare.in_words(value)}, {expected}")
    if not _is_pair(value[1]) or not all(isinstance(tensor, Tensor) for tensor in value[1]):
        held = "None" if value[1] is None else compare.in_words(value[1])
        return Finding("wrong-type", f"The cache that `{name}` returned is {held}, {expected}")
    return [value[0], *value[1]]


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _with_arguments(finding: Finding, session: Session, case: Case) -> Finding:
    if finding.kind != "raised":
        return finding
    return Finding("raised", f"{finding.message.rstrip('.')}. {_arguments(session, case)}")


def _arguments(session: Session, case: Case) -> str:
    cache = case.args["cache"]
    held = "None" if cache is None else f"two tensors {tuple(cache[0].shape)}"
    return f"{compare.arguments_in_words(case, session.exercise).rstrip('.')}, cache {held}."


def inspect(session: Session, name: str, which: slice, tolerance: Tolerance | None) -> Finding | None:
    """The first finding for some of the three tensors."""
    case = session.cases[name]
    came_back = _came_back(session, case)
    if isinstance(came_back, Finding):
        return came_back
    right = session.expected(case)
    for value, expected, output in list(zip(came_back, right, OUTPUTS, strict=True))[which]:
        one_output = Exercise(session.exercise.name, LESSON, 0, (), outputs=(output,))
        shown = f"`{output.name}`" if output is OUTPUTS[0] else output.name.capitalize()
        if value.shape != expected.shape:
            shape, expected_words = tuple(value.shape), tuple(expected.shape)
            return Finding(
                "wrong-shape", f"{shown} has shape {shape}, expected {expected_words}. {_arguments(session, case)}"
            )
        finding = None if tolerance is None else compare.values_close([value], [expected], one_output, case, tolerance)
        if finding is not None:
            message = finding.message.replace(f"The result of `{session.exercise.name}`", shown)
            return Finding(finding.kind, message, finding.got, finding.expected)
    return None


OUTPUT, KEPT, ALL = slice(0, 1), slice(1, 3), slice(0, 3)


def part(title: str, weight: float, which: slice, *names: str, tolerance: Tolerance | None = FLOAT32) -> Part:
    def judge(session: Session) -> Finding | None:
        return next((f for name in names if (f := inspect(session, name, which, tolerance))), None)

    return Part(title, weight, judge, compares_values=tolerance is not None)


def finite(session: Session) -> Finding | None:
    finding = inspect(session, "entries up to 50", OUTPUT, None)
    if finding is not None:
        return finding
    if inspect(session, PROMPT, OUTPUT, FLOAT32) is not None:
        return Finding("values-first", "Not judged yet: the values come first.")
    output = tensors_in(session.call(session.cases["entries up to 50"]).value)[0]
    return compare.not_finite(output, None, "`output`", "entries up to 50")


def float64(session: Session) -> Finding | None:
    for name in (PROMPT, ONE, "float64"):
        came_back = _came_back(session, session.cases[name])
        if isinstance(came_back, Finding):
            return came_back
        finding = compare.dtypes(came_back, session.exercise, session.dtype(session.cases[name]))
        if finding is not None:
            return finding
    return inspect(session, "float64", ALL, FLOAT64)


def unchanged(session: Session) -> Finding | None:
    case = session.cases[SEVERAL]
    changed = session.call(case).changed
    if changed:
        return Finding(
            "changes-argument",
            f"`{session.exercise.name}` changed its argument `{list(case.args)[changed[0]]}` in place. What was handed "
            "over may still be needed: make new tensors instead.",
        )
    wrong = inspect(session, SEVERAL, ALL, FLOAT32)
    return None if wrong is None else Finding("values-first", "Not judged yet: the values come first.")


def gradients(session: Session) -> Finding | None:
    """Gradients of query, key, value and the tensors in the cache."""
    case = session.cases[SEVERAL]
    if inspect(session, SEVERAL, ALL, FLOAT32) is not None:
        return Finding("values-first", "Not judged yet: the values come first.")
    outcome = session.call(case, gradients=True)
    if not outcome.ok:
        session.expected_gradients(case)  # raises if torch can't differentiate the reference: not the student's fault
        error = compare.run_error(outcome, session.exercise)
        return Finding("gradient-cut", f"{error.message if error else ''} It runs only where no gradients are wanted.")
    for at, right in session.expected_gradients(case).items():
        gradient = (outcome.gradients or {}).get(at)
        name = place_in_words(at, list(case.args))
        if gradient is None:
            return Finding("gradient-cut", f"No gradient reaches `{name}`. {_CUT}")
        if not bool(FLOAT32.close(gradient, right).all()):
            return Finding("wrong-gradient", f"The gradient of `{name}` is wrong, though the values are right. {_CUT}")
    return None


_CUT = "`.detach()`, `.item()`, `.numpy()`, `torch.tensor(...)` of a tensor and `torch.no_grad()` cut gradients."
Cache = tuple[Tensor, Tensor] | None
Three = tuple[Tensor, Tensor, Tensor]


def reference(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Three:
    """PyTorch's own attention to all keys, with a mask that hides later ones."""
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
    """A cached attention with the given parts changed. `visible` gets whether this is the first call; `kept` makes the
    cache, and `seen` what is attended to, from the cache, the new tensors and all of them."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        new = (query, key, value)
        all_ = new if cache is None else (query, joined(cache[0], key), joined(cache[1], value))
        _, keys, values = seen(cache, new, all_)
        mask = visible(cache is None)(query.shape[2], keys.shape[2])
        output = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scale)
        return output, kept(cache, new, all_)

    return wrong


def _everything(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool)


def _top_left(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool).tril()


def _all_later(first: bool) -> Visible:
    """After a cache, nothing is hidden."""
    return _past_and_present if first else _everything


def _new(cache: Cache, new: Three, all_: Three) -> Three:
    return new


def _old(cache: Cache, new: Three, all_: Three) -> Three:
    """What is in the cache; in the first call, what is new."""
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
    """Without a cache, the new part is taken for one."""
    return variant()(query, key, value, (key, value) if cache is None else cache)


def _keys_for_values(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    return variant()(query, key, value, None if cache is None else (cache[0], cache[0]))


def _weighed(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """With weights made from all scores and the mask."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        keys, values = variant()(query, key, value, cache)[1]
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        return weigh(scores, _past_and_present(*scores.shape[-2:])) @ values, (keys, values)

    return wrong


def _hidden_by_hand(visible: Visible) -> Callable[..., Any]:
    """With minus infinity where nothing is to be seen: NaN in a row that sees nothing, where torch's own gives 0."""
    return _weighed(lambda scores, _: scores.masked_fill(~visible(*scores.shape[-2:]), -math.inf).softmax(-1))


def _divided(by: Callable[[Tensor, Tensor], float]) -> Callable[..., Any]:
    """With scores divided by a number made from query and keys."""

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
    """`torch.cat` raised, along another axis than the tokens'."""
    outcomes = (session.call(session.cases[name]) for name in (ONE, SEVERAL))
    messages = [o.raised.message for o in outcomes if o.raised is not None]
    matches = [EXCEPT.search(message) for message in messages]
    return any(match is not None and match[1] != "2" for match in matches) or any(
        "stack expects each tensor to be equal size" in message for message in messages
    )


def _square_mask(session: Session) -> bool:
    """Right for a prompt; with a cache, a mask of new by new tokens doesn't fit the matrix of new by all."""
    case = session.cases[SEVERAL]
    raised, new, past = session.call(case).raised, case.args["query"].shape[2], case.args["cache"][0].shape[2]
    unfit = raised is not None and all(f"({size})" in raised.message for size in (new, past + new))
    return unfit and session.call(session.cases[ONE]).ok and inspect(session, PROMPT, OUTPUT, FLOAT32) is None


EXERCISE = Exercise(
    name="attend_with_cache",
    lesson=LESSON,
    points=4,
    signature=("query", "key", "value", "cache"),
    outputs=OUTPUTS,
    cases=_cases,
    reference=reference,
    parts=(
        part("returns an output and a cache of the right shapes", 1, ALL, PROMPT, ONE, tolerance=None),
        part("attends causally in a prompt", 3, OUTPUT, PROMPT, FAR_BELOW),
        part("attends to all that came before, one token at a time", 3, OUTPUT, ONE, BATCH_OF_ONE),
        part("attends causally with several tokens after a cache", 3, OUTPUT, SEVERAL, MANY),
        part("keeps old and new keys and values, in order", 3, KEPT, PROMPT, ONE, SEVERAL, BATCH_OF_ONE),
        Part("stays finite at large entries", 0.5, finite, compares_values=False),
        Part("keeps the dtype, float32 and float64", 0.5, float64),
        Part("leaves its arguments as they were", 0.5, unchanged, compares_values=False),
        Part("lets gradients flow", 1, gradients),
    ),
    mistakes=(
        Mistake(
            "mask-of-a-fixed-size",
            "short texts are right and long ones aren't: something has a fixed size, perhaps the mask.",
            (
                "Call it with 40 new tokens after a cache of 100. Which line fails, or gives a shape too small?",
                "Which numbers of tokens does your code know from its arguments, and which are written down in it?",
            ),
            recognise=_short_only,
        ),
        Mistake(
            "not-causal-behind-cache",
            "a prompt is causal, but of several tokens that come after a cache the earlier see the later ones.",
            (
                "When do you hide anything? Does it depend on whether there is a cache?",
                "Write down, for 3 new tokens after 2 old ones, which of the 5 keys each of them may see.",
            ),
            (variant(_all_later),),
        ),
        Mistake(
            "prompt-not-causal",
            "several tokens come at once, and the earlier of them see the later ones.",
            (
                "A token alone has nothing after it. What about the first of five that come together?",
                "Write down, for 3 new tokens after 2 old ones, which of the 5 keys each of them may see.",
            ),
            (
                variant(lambda first: _everything),
                variant(lambda first: _everything if first else _past_and_present),
            ),
        ),
        Mistake(
            "mask-aligned-to-top-left",
            "the mask counts the new tokens from 0, as if nothing came before them.",
            (
                "Print your mask for one new token after four old ones. How many keys should its only row show?",
                "The first new token is not token 0. What is its position, and by how many columns is the triangle "
                "shifted?",
            ),
            (variant(lambda first: _top_left),),
            recognise=_square_mask,
        ),
        Mistake(
            "cache-not-used",
            "the cache grows, but the new tokens attend only to each other, not to what is in it.",
            (
                "Change the cache that you hand over. Does the output change?",
                "Which keys and values does your attention get: the new ones or all?",
            ),
            (variant(seen=_new),),
        ),
        Mistake(
            "new-tokens-not-seen",
            "after a cache the new tokens attend only to the cache, not to each other and themselves.",
            (
                "Change the new key and value. Does the output change?",
                "In which order do you attend and append? A token may attend to itself.",
            ),
            (variant(_all_later, seen=_old),),
        ),
        Mistake(
            "cache-not-extended",
            "the cache doesn't grow: old or new keys and values are missing from it.",
            (
                "Call it three times, one token each, and print the shape of the cache after each call.",
                "What you attend to and what you hand back are the same two tensors, for all tokens so far.",
            ),
            NOT_EXTENDED,
        ),
        Mistake(
            "prompt-kept-twice",
            "without a cache the new keys and values are put in twice.",
            (
                "Call it with `cache = None` and three tokens, and print the shape of the cache.",
                "Which line makes a cache where there was none, and which line appends to it?",
            ),
            (_doubled,),
        ),
        Mistake(
            "keys-kept-as-values",
            "the old values are lost: old keys are in their place.",
            (
                "Change the value in the cache alone. Does the output change?",
                "The cache has two parts. Which of them do you join with the new values?",
            ),
            (_keys_for_values,),
        ),
        Mistake(
            "none-not-handled",
            "without a cache it raises: `None` has no keys and values.",
            (
                "What is `cache` at the very first call?",
                "Ask first whether there is a cache, before you take it apart.",
            ),
            recognise=_none_taken_apart,
        ),
        Mistake(
            "mask-inverted",
            "the mask is inverted: what should be seen is hidden, and what should be hidden is seen.",
            (
                "Print your mask for a prompt of three tokens. How many keys does its first row show?",
                "True means: may attend. Which tokens may the first one see?",
            ),
            (
                variant(lambda first: lambda new, held: ~_past_and_present(new, held)),
                variant(lambda first: lambda new, held: _everything(new, held).triu(held - new)),
                _weighed(lambda scores, seen: scores.masked_fill(seen, -math.inf).softmax(-1)),
                _hidden_by_hand(lambda new, held: _everything(new, held).triu(held - new)),
            ),
        ),
        Mistake(
            "one-future-token-visible",
            "every token sees one token of its future.",
            (
                "Print your mask for a prompt of three tokens. How many keys does its first row show?",
                "Row 0 of the mask belongs to the first new token. What is the last column that it may see?",
            ),
            (variant(lambda first: lambda new, held: _everything(new, held).tril(held - new + 1)),),
        ),
        Mistake(
            "diagonal-hidden",
            "a token doesn't see itself.",
            (
                "Print your mask for a prompt of three tokens. How many keys does its first row show?",
                "Row 0 of the mask belongs to the first new token. What is the last column that it may see?",
            ),
            (
                variant(lambda first: lambda new, held: _everything(new, held).tril(held - new - 1)),
                _hidden_by_hand(lambda new, held: _everything(new, held).tril(held - new - 1)),
            ),
        ),
        Mistake(
            "mask-shifted-backwards",
            "the triangle of the mask is moved to the left; after a cache it has to move to the right.",
            (
                "Print your mask for one new token after four old ones. How many keys should its only row show?",
                "A positive diagonal of `tril` shows more columns, a negative one fewer. Which one do you need?",
            ),
            (
                variant(lambda first: lambda new, held: _everything(new, held).tril(new - held)),
                _hidden_by_hand(lambda new, held: _everything(new, held).tril(new - held)),
            ),
        ),
        Mistake(
            "mask-after-softmax",
            "hidden weights are set to zero after the softmax, so the others don't sum to one.",
            (
                "Sum your weights over the last axis. What should every entry be?",
                "Which comes first, the mask or the softmax?",
            ),
            (_weighed(lambda scores, seen: scores.softmax(-1) * seen),),
        ),
        Mistake(
            "zero-instead-of-minus-infinity",
            "hidden scores are set to 0, and exp(0) is 1: they still get a weight.",
            (
                "Look at the weights of the first token of a prompt. How many should be other than zero?",
                "Which score gives the weight 0 (lesson 04)?",
            ),
            (_weighed(lambda scores, seen: (scores * seen).softmax(-1)),),
        ),
        Mistake(
            "wrong-axis",
            "old and new are joined along an axis that isn't the tokens'.",
            (
                "The shapes are (B, H, T, D). Which of the four grows by one when one more token comes?",
                "Count that axis: from the front it is the third, and the first is number 0.",
            ),
            recognise=_joined_elsewhere,
        ),
        Mistake(
            "new-before-old",
            "the new keys and values are put in front of the old ones.",
            (
                "Call it twice, one token each, and print the keys of the cache. Which one comes first?",
                "Tokens stand in the order in which they came. Look at the order in your `torch.cat`.",
            ),
            (
                variant(joined=lambda past, new: torch.cat((new, past), 2)),
                variant(lambda first: _everything, joined=lambda past, new: torch.cat((new, past), 2)),
            ),
        ),
        Mistake(
            "key-and-value-swapped",
            "the cache holds the values where the keys should be.",
            (
                "Call it once, and compare the first tensor of the cache with the key that you gave.",
                "The cache is (key, value), in this order. Look at your `return` line, and at where you unpack it.",
            ),
            (variant(kept=lambda cache, new, all_: (all_[2], all_[1])),),
        ),
        no_scaling(variant(scale=1.0)),
        Mistake(
            "scaled-by-another-size",
            "the scores are divided by another number than the square root of head_dim.",
            (
                "Print the number that you divide by, and the shape of the queries. Which axis is it from?",
                "The shapes are (B, H, T, D). Which of the four does a dot product add up over?",
            ),
            tuple(map(_divided, OTHER_SIZES)),
        ),
    ),
)
