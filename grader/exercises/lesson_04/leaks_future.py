"""`leaks_future`: a detector is run on attentions that it can only call. The judge answers its calls."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Callback
from grader.subject.values import same

spec = Spec(__name__)

# --- the attentions that a detector is tried on -----------------------------------------------------------------------

# Maps from (T, E) to (T, E). Their outputs are bounded sums over the tokens they see. So a change in a visible token
# shows, and a sound attention's earlier outputs stay the same to the bit whatever becomes of a later token, even NaN
# (but for `TIMES_ZERO`, which is there for that).
Attention = Callable[[Tensor, "Weights"], Tensor]
Visible = Callable[[int], Tensor]


@dataclass(frozen=True)
class Weights:
    """Random projections for tokens of width E, (E, E), float64."""

    query: Tensor  # makes a likeness, with `key`
    key: Tensor
    value: Tensor  # makes a token's value
    other: Tensor  # makes what a second token adds in `pair`
    bias: Tensor  # (E,), so that tokens of zeros work too

    @classmethod
    @functools.lru_cache(maxsize=4)
    def draw(cls, seed: int, width: int) -> Weights:
        """The weights for tokens of this width, the same whenever the seed is."""
        generator = torch.Generator().manual_seed(seed + width)

        def matrix() -> Tensor:
            return torch.randn(width, width, generator=generator, dtype=torch.float64) / math.sqrt(width)

        identity = torch.eye(width, dtype=torch.float64)
        bias = torch.rand(width, generator=generator, dtype=torch.float64) + 0.5
        return cls(matrix(), matrix(), identity + 0.2 * matrix(), 2 * identity + 0.2 * matrix(), bias)

    def values(self, x: Tensor) -> Tensor:
        """(…, T, E) → (…, T, E): each token's value."""
        return x @ self.value + self.bias

    def likeness(self, x: Tensor) -> Tensor:
        """(…, T, E) → (…, T, T): how much each key counts for each query, from 1/e to e, so that every visible token
        matters."""
        scores = (x @ self.query + self.bias) @ (x @ self.key + self.bias).mT / math.sqrt(x.shape[-1])
        return torch.exp(torch.tanh(scores))


def mix(counts: Tensor, values: Tensor, visible: Tensor, total: Tensor | None = None) -> Tensor:
    """For each query the mean of the visible values, (T, E), weighted by `counts`, (T, T). `visible` is a bool mask,
    (T, T); `total`, (T, 1), is what the weights are divided by, if not their own sum."""
    counted = torch.where(visible, counts, 0.0)
    total = counted.sum(-1, keepdim=True).clamp(min=1e-9) if total is None else total
    weighted = (counted / total).unsqueeze(-1) * values
    return torch.where(visible.unsqueeze(-1), weighted, 0.0).sum(-2)


def seeing(visible: Visible) -> Attention:
    """Attention in which output t sees the tokens of row t of `visible`, a mask (T, T) made of the number of tokens."""
    return lambda x, w: mix(w.likeness(x), w.values(x), visible(len(x)))


def offsets(length: int) -> Tensor:
    """The place of each key, counted from each query: (length, length), negative for earlier keys."""
    positions = torch.arange(length)
    return positions - positions.unsqueeze(-1)


def past(length: int) -> Tensor:
    """A bool mask (length, length): each query sees the tokens so far, the present one included."""
    return offsets(length) <= 0


def pair(query: Callable[[int], int], key: Callable[[int], int]) -> Attention:
    """Attention in which each output sees its own token only, but output `query(T)` sees token `key(T)` too, if T
    tokens have both."""

    def attend(x: Tensor, w: Weights) -> Tensor:
        i, j = query(len(x)), key(len(x))
        alone = w.values(x)
        if not (0 <= i < len(x) and 0 <= j < len(x)):
            return alone
        sees_more = torch.zeros(len(x), 1, dtype=torch.float64)
        sees_more[i] = 1.0
        return torch.where(sees_more > 0, alone + x[j] @ w.other, alone)

    return attend


def _hidden_too_late(x: Tensor, w: Weights) -> Tensor:
    """Attention with a softmax over all keys, then the mask: later tokens take their share."""
    counts = w.likeness(x)
    return mix(counts, w.values(x), past(len(x)), total=counts.sum(-1, keepdim=True))


def _soft(x: Tensor, w: Weights) -> Tensor:
    """Attention whose future scores are lowered by 2 only, not hidden."""
    everything = torch.ones(len(x), len(x), dtype=torch.bool)
    return mix(torch.where(past(len(x)), 1.0, math.exp(-2)) * w.likeness(x), w.values(x), everything)


def _centred(x: Tensor, w: Weights) -> Tensor:
    return seeing(past)(x - x.mean(0), w)


def _times_zero(x: Tensor, w: Weights) -> Tensor:
    """Causal attention as it is usually written: hidden tokens have the weight 0, and 0 times NaN is NaN."""
    scores = w.likeness(x).log().masked_fill(~past(len(x)), -math.inf)
    return scores.softmax(-1) @ w.values(x)


def _by_length(x: Tensor, w: Weights) -> Tensor:
    """Causal attention that is the sharper, the more tokens there are."""
    return mix(w.likeness(x) ** math.log(len(x) + 1), w.values(x), past(len(x)))


def _cancelling(x: Tensor, w: Weights) -> Tensor:
    """A layer in which output 0 gains what output 1 loses, and both depend on the last token, if there are three."""
    alone = w.values(x)
    if len(x) < 3:
        return alone
    shares = torch.zeros(len(x), 1, dtype=torch.float64)
    shares[0], shares[1] = 1.0, -1.0
    return alone + shares * (x[-1] @ w.other)


PLAIN, UNMASKED = "causal attention", "attention without a mask"
ALONE, LATER_ONLY = "a layer in which every token sees only itself", "attention that sees nothing but later tokens"
BACKWARDS = "attention with the mask the wrong way round"
ROUNDED = "causal attention that rounds its last digits differently when any token changes"
TIMES_ZERO = "causal attention that multiplies the values of later tokens by 0"
BY_LENGTH = "causal attention whose scores grow with the number of tokens"
FAR, FAR_OFF = "attention that leaks only from tokens four or more places ahead", 4

# Few, because a detector makes all its calls on each, and every call is answered from outside its process.
SOUND: dict[str, Attention] = {
    PLAIN: seeing(past),
    ALONE: lambda x, w: w.values(x),
    "attention that sees only what came before a token": seeing(lambda n: offsets(n) < 0),
    "attention in which output 2 alone looks back, at token 0": pair(lambda n: 2, lambda n: 0),
    ROUNDED: seeing(past),  # and `Calls` rounds
    TIMES_ZERO: _times_zero,
    BY_LENGTH: _by_length,
}

# Those that only a change to a token, and no rounding, can tell apart from the others.
EXACT = {name: attention for name, attention in SOUND.items() if name not in (ROUNDED, TIMES_ZERO, BY_LENGTH)}

PLACES: dict[str, Attention] = {
    "attention in which output 0 sees token 1, and no other output leaks": pair(lambda n: 0, lambda n: 1),
    "attention in which output 1 sees token 2, and no other output leaks": pair(lambda n: 1, lambda n: 2),
    "attention in which the first output sees the last token, and no other leaks": pair(lambda n: 0, lambda n: n - 1),
    "attention in which the last output but one sees the last token": pair(lambda n: n - 2, lambda n: n - 1),
    "attention that leaks in the middle only": pair(lambda n: (n - 1) // 2, lambda n: (n - 1) // 2 + 1),
    FAR: seeing(lambda n: (offsets(n) == 0) | (offsets(n) >= FAR_OFF)),
}

KINDS: dict[str, Attention] = {
    BACKWARDS: seeing(lambda n: offsets(n) >= 0),
    LATER_ONLY: seeing(lambda n: offsets(n) > 0),
    "attention that sees one token too far": seeing(lambda n: offsets(n) <= 1),
    "attention that sees the second token ahead, but not the next": seeing(lambda n: past(n) | (offsets(n) == 2)),
    "attention that is masked after the softmax": _hidden_too_late,
    "attention whose hidden scores are only a little lower": _soft,
    "attention that first subtracts the mean over all tokens from its input": _centred,
    "a layer in which the last token adds to output 0 what it takes from output 1": _cancelling,
}

BROKEN: dict[str, Attention] = {UNMASKED: seeing(lambda n: torch.ones(n, n, dtype=torch.bool)), **PLACES, **KINDS}

# For diagnosis only: the verdicts on these show what a detector looks at.
CONSTANT = "a layer whose output is always the same"
LONGER, LONGER_LATER = "outputs longer than the input", "outputs longer from the second call on"


def one_row_more(x: Tensor, w: Weights) -> Tensor:
    """The tokens' values and one row too many, (T + 1, E)."""
    return torch.cat([w.values(x), x[:1]])


PROBES: dict[str, Attention] = {
    CONSTANT: lambda x, w: torch.ones_like(x) * w.bias,
    LONGER: one_row_more,
    LONGER_LATER: one_row_more,
}

ATTENTIONS = {**SOUND, **BROKEN, **PROBES}

# --- answers to the detector's calls ----------------------------------------------------------------------------------

# What one answer may need: the detector chooses the sizes, the judge has the memory and takes the time. Elements of the
# largest tensor, entries of a token, matrices (leading axes are walked over in Python).
ROOM = 2**22
WIDEST = 512
MATRICES = 64


NUMBERS_KEPT = 1_000_000  # of a detector's inputs


class Calls:
    """Answers a detector's calls of the attention `name`, with weights from `seed`. `misuse`: the first wrong call in
    words, or empty. `count`: how many calls there were; `moved`: whether the inputs of any pair of calls differed, or
    a derivative was asked for. `seen`: the first inputs, since all of them could fill the memory."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.count = 0
        self.moved = False
        self.misuse = ""
        self.seen: list[Tensor] = []
        self._room = NUMBERS_KEPT
        self._first_of_pair: Tensor | None = None

    def answer(self, args: tuple[Any, ...]) -> Any:
        """The output for one tensor (…, T, E); for ("gradient", x, cotangent) the gradient of x, for ("tangent", x,
        direction) the output's derivative. TypeError, noted as misuse, for what no attention takes."""
        derivative = DERIVATIVES.get(args[0]) if len(args) == 3 and isinstance(args[0], str) else None
        wrong = _misuse(args[1:2] if derivative else args)
        if wrong:
            self.misuse = self.misuse or wrong
            raise TypeError(wrong)
        if derivative:
            self.moved = True
            return self._each(args[1], derivative, args[2])
        self._note(args[0])
        return self._each(args[0])

    def _note(self, x: Tensor) -> None:
        self.count += 1
        self._room -= x.numel()
        if self._room >= 0:
            self.seen.append(x)
        if self._first_of_pair is None:
            self._first_of_pair = x
            return
        self.moved = self.moved or not same(self._first_of_pair, x)
        self._first_of_pair = None

    def _each(self, x: Tensor, derivative: Derivative | None = None, vector: Tensor | None = None) -> Tensor:
        """The outputs for x or a `derivative` there, with its `vector`. Leading axes work too, though the exercise
        promises none."""
        if x.numel() == 0:
            return x
        matrices = x.to(torch.float64).reshape(-1, *x.shape[-2:])
        attend = partial(self._attend, w=Weights.draw(self.seed, x.shape[-1]))
        if derivative is None or vector is None:
            outputs = torch.stack([attend(matrix) for matrix in matrices])
        else:
            vectors = vector.to(torch.float64).reshape(-1, *vector.shape[-2:])
            outputs = torch.stack([derivative(attend, *both) for both in zip(matrices, vectors, strict=True)])
        outputs = outputs.reshape(*x.shape[:-2], *outputs.shape[-2:]).to(x.dtype)
        return _rounded(outputs, x) if self.name == ROUNDED and derivative is None else outputs

    def _attend(self, x: Tensor, w: Weights) -> Tensor:
        attention = ATTENTIONS[self.name]
        if self.name == LONGER_LATER and self.count == 1:
            attention = ATTENTIONS[ALONE]
        return attention(x, w)


def _rounded(outputs: Tensor, x: Tensor) -> Tensor:
    """The outputs, off in the last digit: by how much depends on all tokens, as when an attention of torch's adds up in
    another order."""
    total = float(x.to(torch.float64).nan_to_num(0.0, 0.0, 0.0).sum())
    return outputs + outputs * (torch.finfo(outputs.dtype).eps * math.sin(1000 * total))


def _gradient(attend: Callable[[Tensor], Tensor], x: Tensor, cotangent: Tensor) -> Tensor:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        gradient = torch.autograd.grad((attend(x) * cotangent).sum(), x, allow_unused=True)[0]
    return torch.zeros_like(x) if gradient is None else gradient


def _tangent(attend: Callable[[Tensor], Tensor], x: Tensor, direction: Tensor) -> Tensor:
    tangent: Tensor = torch.autograd.functional.jvp(attend, x, direction)[1]
    return tangent


# How each derivative that may be asked for is computed, from an attention, x (T, E) and a vector.
Derivative = Callable[[Callable[[Tensor], Tensor], Tensor, Tensor], Tensor]
DERIVATIVES: dict[str, Derivative] = {"gradient": _gradient, "tangent": _tangent}


def _misuse(args: tuple[Any, ...]) -> str:
    expected = say("`attention` takes one float tensor of shape (T, E).")
    if len(args) != 1:
        return together(say("Your detector called `attention` with {count} arguments.", count=len(args)), expected)
    x = args[0]
    if not isinstance(x, Tensor):
        return together(say("Your detector called `attention` with {what}.", what=compare.in_words(x)), expected)
    shape, dtype = tuple(x.shape), str(x.dtype).removeprefix("torch.")
    if not x.is_floating_point() or x.dim() < 2:
        called = "Your detector called `attention` with a tensor of shape {shape} and dtype {dtype}."
        return together(say(called, shape=shape, dtype=dtype), expected)
    if x.numel() * x.shape[-2] > ROOM or x.shape[-1] > WIDEST or x.shape[:-2].numel() > MATRICES:
        return say(
            "Your detector called `attention` with a tensor of shape {shape}, which is larger than it needs to be. A "
            "few tokens with a few features each will do.",
            shape=shape,
        )
    return ""


def _cases(draw: Draw) -> list[Case]:
    """A case for every attention, in an order drawn from the seed, since counting calls or reading a number must not
    tell which attention comes. Diagnostic ones are last."""
    seed = draw.integer(0, 2**40)
    names = [*SOUND, *BROKEN]
    order = torch.randperm(len(names), generator=draw.generator).tolist()
    mixed = [names[i] for i in order] + list(PROBES)
    return [
        Case(name, {"attention": Callback(number)}, {"seed": seed}, diagnostic=name in PROBES)
        for number, name in enumerate(mixed)
    ]


def _calls(session: Session) -> dict[int, Calls]:
    """The `Calls` of each attention, by the number of its callback; from now on they answer the detector."""
    calls = {case.args["attention"].number: Calls(case.name, case.sizes["seed"]) for case in session.cases.values()}
    session.subject.answer_with(lambda callback, args: calls[callback.number].answer(args))
    return calls


def _ask(session: Session, name: str) -> Calls:
    """Runs the detector on all attentions up to this one, in the seed's order, and returns this one's calls."""
    calls = session.once("calls", lambda: _calls(session))
    for case in session.cases.values():
        session.call(case)
        if case.name == name:
            break
    return calls[session.cases[name].args["attention"].number]


def verdict(session: Session, name: str) -> bool | None:
    """What the detector returns for an attention, as a bool or a bool tensor without axes; None if it is neither True
    nor False."""
    _ask(session, name)
    value = session.call(session.cases[name]).value
    if isinstance(value, Tensor) and value.dim() == 0 and value.dtype == torch.bool:
        return bool(value)
    return value if isinstance(value, bool) else None


NOTHING_LATER = "Its outputs never depend on later tokens."
WHY_SOUND = {
    ROUNDED: "Its outputs move only in their last digits, which is rounding and not a leak.",
    TIMES_ZERO: "Its earlier outputs stay the same whatever numbers stand in a later token.",
    BY_LENGTH: "Its earlier outputs stay the same whatever stands in a later token, if their number stays, too.",
}


def _wrong(session: Session, name: str) -> Finding | None:
    answer, leaks = verdict(session, name), name in BROKEN
    if answer is leaks:
        return None
    outcome, misuse = session.call(session.cases[name]), _ask(session, name).misuse
    if misuse:
        return Finding("wrong-call", misuse)
    finding = compare.run_error(session.stopped or outcome, session.exercise)
    if finding is not None:
        return finding
    if outcome.value is None:
        return Finding("returns-nothing", "`leaks_future` returned None. Does every path through it end in a `return`?")
    if answer is None:
        said = say("`leaks_future` returned {what}, expected True or False.", what=compare.in_words(outcome.value))
        return Finding("wrong-type", said)
    if leaks:
        return Finding("wrong-verdict", say("Your detector found no leak in {what}.", what=say(name)))
    claim = say("Your detector returned True for {what}.", what=say(name))
    return Finding("wrong-verdict", together(claim, say(WHY_SOUND.get(name, NOTHING_LATER))))


def _judges(title: str, weight: float, *names: str) -> Part:
    def judge(session: Session) -> Finding | None:
        for name in (PLAIN, UNMASKED, *names):  # a detector that can't tell these two apart is right by chance
            finding = _wrong(session, name)
            if finding is not None and finding.kind == "wrong-verdict" and names and name in (PLAIN, UNMASKED):
                return not_judged("tells-apart-first")
            if finding is not None:
                return finding
        return None

    return Part(title, weight, judge)


# --- recognised by their verdicts -------------------------------------------------------------------------------------


def _all(session: Session, names: dict[str, Any], answer: bool | None) -> bool:
    return all(verdict(session, name) is answer for name in names)


def _inverted(session: Session) -> bool:
    return _all(session, SOUND, True) and verdict(session, UNMASKED) is False


def _changes_nothing(session: Session) -> bool:
    """Whether the two calls of each pair get the same input, a last one that of the call before it, and no leak is
    found."""
    calls = _ask(session, UNMASKED)
    alone = len(calls.seen) % 2 == 1 and not same(calls.seen[-1], calls.seen[-2:][0])
    return calls.count > 1 and not calls.moved and not alone and _all(session, {**SOUND, **BROKEN}, False)


def _never_calls(session: Session) -> bool:
    return verdict(session, UNMASKED) is not None and not _ask(session, UNMASKED).count


def _changes_pile_up(session: Session) -> bool:
    """Whether each call changes one token more than the call before, and a sound attention is reported."""
    seen = _ask(session, PLAIN).seen
    if not seen or verdict(session, PLAIN) is not True or any(x.shape != seen[0].shape for x in seen):
        return False
    first, *others = seen
    changed = [set((x != first).any(-1).nonzero().flatten().tolist()) for x in others]
    changed = [rows for rows in changed if rows]
    growing = all(before < after for before, after in itertools.pairwise(changed))
    return len(changed) > 1 and growing and max(changed[0]) < max(changed[-1])


def _changes_too_little(session: Session) -> bool:
    """Whether no leak is found, and no entry of an input differs from the first input by more than a thousandth."""
    if not _all(session, {**SOUND, **BROKEN}, False):
        return False
    seen = _ask(session, UNMASKED).seen
    others = [x for x in seen if x.shape == seen[0].shape and not torch.equal(x, seen[0])]
    return bool(others) and all(bool(((x - seen[0]).abs() < 1e-3).all()) for x in others)


def _compares_shapes(session: Session) -> bool:
    first = verdict(session, PLAIN)
    if first is None or not _all(session, {**SOUND, **BROKEN}, first):
        return False
    return any(verdict(session, name) is (not first) for name in (LONGER, LONGER_LATER))


def _perturbs_the_past(session: Session) -> bool:
    """Whether the detector reports what looks back, and not what sees later tokens only. Where nothing looks back, its
    verdict depends on whether it counts the changed token's own output."""
    looks_back = verdict(session, PLAIN) is True and verdict(session, UNMASKED) is True
    own = verdict(session, ALONE)
    return looks_back and verdict(session, LATER_ONLY) is False and _all(session, {**PLACES, BACKWARDS: None}, own)


def _counts_later_outputs(session: Session) -> bool:
    return verdict(session, ALONE) is True and _all(session, BROKEN, True) and verdict(session, CONSTANT) is False


def _exactly(session: Session) -> bool:
    """Whether every verdict is right but one: rounding is taken for a leak."""
    return verdict(session, ROUNDED) is True and _all(session, EXACT, False) and _all(session, BROKEN, True)


def _refuses_only(session: Session, name: str) -> bool:
    """Whether every verdict is right but that on this sound attention."""
    others = {sound: attention for sound, attention in SOUND.items() if sound != name}
    return verdict(session, name) is True and _all(session, others, False) and _all(session, BROKEN, True)


def _takes_tokens_away(session: Session) -> bool:
    """Whether inputs of different lengths are compared, so that a dependence on the length is taken for a leak."""
    return _refuses_only(session, BY_LENGTH) and len({x.shape[-2] for x in _ask(session, BY_LENGTH).seen}) > 1


def _poisons(session: Session) -> bool:
    """Whether NaN or infinity is put into a later token, so that a product with 0 is taken for a leak."""
    return _refuses_only(session, TIMES_ZERO) and any(not x.isfinite().all() for x in _ask(session, TIMES_ZERO).seen)


def _too_few_tokens(session: Session) -> bool:
    """Whether only the leak from far off is missed, and no input is long enough to show it."""
    others = {name: attention for name, attention in BROKEN.items() if name != FAR}
    if verdict(session, FAR) is not False or not _all(session, EXACT, False) or not _all(session, others, True):
        return False
    return all(x.shape[-2] <= FAR_OFF for x in _ask(session, FAR).seen)


def _one_position(session: Session) -> bool:
    if verdict(session, UNMASKED) is not True or not _all(session, EXACT, False):
        return False
    return any(verdict(session, name) is False for name in PLACES)


EXERCISE = spec.exercise(
    points=4,
    signature=("attention",),
    seconds=30,  # every call of `attention` is a question to the judge
    cases=_cases,
    parts=(
        _judges("tells causal attention from attention without a mask", 3),
        _judges("finds a leak between any two positions", 4, *PLACES),
        _judges("finds leaks of every kind", 2, *KINDS),
        _judges("clears all attention that keeps to the past", 2, *SOUND),
    ),
    mistakes={
        "verdict-inverted": When(_inverted),
        "changes-nothing": When(_changes_nothing),
        "never-calls": When(_never_calls),
        "changes-too-little": When(_changes_too_little),
        "changes-pile-up": When(_changes_pile_up),
        "compares-shapes": When(_compares_shapes),
        "perturbs-the-past": When(_perturbs_the_past),
        "later-outputs-counted": When(_counts_later_outputs),
        "exact-comparison": When(_exactly),
        "takes-tokens-away": When(_takes_tokens_away),
        "not-a-number-put-in": When(_poisons),
        "too-few-tokens": When(_too_few_tokens),
        "checks-one-position-only": When(_one_position),
    },
)
