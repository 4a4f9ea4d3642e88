"""`classify_pattern`: a name for a table of weights. Tables without a pattern are far from every pattern, so that
answers by thresholds and answers by distances are both right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from grader.exercises.lesson_10.first_token_pattern import first_token
from grader.exercises.lesson_10.local_pattern import local
from grader.sentences import say
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.parts import changed_in_place
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)

PATTERN_NAMES = ("diagonal", "uniform", "first", "local", "other")
NOISE = 0.05


def _uniform(seq_len: int) -> Tensor:
    return torch.full((seq_len, seq_len), 1 / seq_len, dtype=torch.float64)


def _shifted(seq_len: int, by: int) -> Tensor:
    """Weights (T, T) with which every token attends to the one `by` places to its right, or to the last or first token
    where that is off the end."""
    keys = (torch.arange(seq_len) + by).clamp(0, seq_len - 1)
    return torch.eye(seq_len, dtype=torch.float64)[keys]


def _band(seq_len: int, before: int, after: int, self_too: bool = True) -> Tensor:
    positions = torch.arange(seq_len)
    distance = positions - positions[:, None]
    near = (distance >= -before) & (distance <= after) & ((distance != 0) | self_too)
    return near / near.sum(-1, keepdim=True).clamp(min=1).double()


def _causal(seq_len: int) -> Tensor:
    return _band(seq_len, seq_len, 0)


def _last(seq_len: int) -> Tensor:
    return first_token(seq_len).flip(-1)


def _weak(pattern: Tensor) -> Tensor:
    """A table (T, T): one third of `pattern` (T, T) and two thirds of the uniform table. The largest weight of each row
    stays where it was."""
    return pattern / 3 + 2 / 3 * _uniform(len(pattern))


# In groups: a case's name, and its weights for a length.
Patterns = dict[str, Callable[[int], Tensor]]
LOCAL: Patterns = {"local, radius 1": partial(local, radius=1), "local, radius 2": partial(local, radius=2)}

PLAIN: Patterns = {
    "diagonal": partial(torch.eye, dtype=torch.float64),
    "uniform": _uniform,
    "first": first_token,
    "local, radius 1": LOCAL["local, radius 1"],
}

# All of these are "other".
FOCUSED: Patterns = {
    "the last token": _last,
    "the second token": lambda n: first_token(n).roll(1, -1),
    "the diagonal from right to left": lambda n: torch.eye(n, dtype=torch.float64).flip(-1),
    "the token before": partial(_shifted, by=-1),
    "the token after": partial(_shifted, by=1),
    "half on itself, half on the first token": lambda n: (torch.eye(n) + first_token(n)) / 2,
}

SPREAD: Patterns = {
    "a band of radius 3": partial(local, radius=3),
    "all tokens so far, equally": _causal,
    "itself and the two before": partial(_band, before=2, after=0),
    "both neighbours, not itself": partial(_band, before=1, after=1, self_too=False),
    "uniform for half of the tokens, diagonal for the others": lambda n: torch.cat(
        [_uniform(n)[: n // 2], torch.eye(n, dtype=torch.float64)[n // 2 :]]
    ),
}

WEAK_DIAGONAL, WEAK_FIRST = "a third on itself, the rest everywhere", "a third on the first token, the rest everywhere"

WEAK: Patterns = {
    WEAK_DIAGONAL: lambda n: _weak(torch.eye(n, dtype=torch.float64)),
    WEAK_FIRST: lambda n: _weak(first_token(n)),
}

RANDOM = ("random weights", "other random weights")


def _noisy(name: str) -> str:
    return say("{pattern}, 5 % of random weights mixed in", pattern=say(name))


def _double(name: str) -> str:
    return say("{pattern}, in float64", pattern=say(name))


_WORDS = {"diagonal": "diagonal", "uniform": "uniform", "first": "first", **dict.fromkeys(LOCAL, "local")}

# The right answers; "other" for all cases that aren't here.
ANSWERS = {form(name): word for name, word in _WORDS.items() for form in (str, _noisy, _double)}


def answer(name: str) -> str:
    """The right answer for the case `name`: "other", or the name of a pattern."""
    return ANSWERS.get(name, "other")


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check in an order drawn from the seed, with sizes that give nothing away."""
    weights_of: dict[str, Tensor] = {}

    def length(least: int = 6) -> int:
        return least + draw.integer(0, 9 if draw.larger else 6)

    def random(seq_len: int, sharpness: float = 1.0) -> Tensor:
        return draw.normal((seq_len, seq_len), sharpness).double().softmax(-1)

    for name, pattern in {**PLAIN, **LOCAL}.items():
        weights_of[name] = pattern(length())
        size = length(7)
        weights_of[_noisy(name)] = (1 - NOISE) * pattern(size) + NOISE * random(size)
    for name, pattern in {**FOCUSED, **SPREAD, **WEAK}.items():
        weights_of[name] = pattern(length(12))
    for name in RANDOM:
        weights_of[name] = random(length(8), 3.0)
    weights_of = {name: weights.float() for name, weights in weights_of.items()}
    weights_of |= {_double(name): PLAIN[name](length()) for name in ("diagonal", "uniform", "local, radius 1")}
    order = torch.randperm(len(weights_of), generator=draw.generator).tolist()
    shuffled = [list(weights_of.items())[i] for i in order]
    return [Case(name, {"weights": weights}, {"T": len(weights)}) for name, weights in shuffled]


# --- the parts --------------------------------------------------------------------------------------------------------


def verdict(session: Session, name: str) -> object:
    """The name that the student's function returns for a case; None if it returns no string."""
    outcome = session.call(session.cases[name])
    return outcome.value if outcome.ok and isinstance(outcome.value, str) else None


def _wrong(session: Session, name: str) -> Finding | None:
    outcome = session.call(session.cases[name])
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return finding
    function = session.exercise.name
    if outcome.value is None:
        message = say("`{name}` returned None. Does every path through it end in a `return`?", name=function)
        return Finding("returns-nothing", message)
    if outcome.value not in PATTERN_NAMES:
        got, known = compare.in_words(outcome.value), ", ".join(map(repr, PATTERN_NAMES))
        message = say("`{name}` returned {what}, expected one of {names}.", name=function, what=got, names=known)
        spelt = ("Compare your word with these five, letter by letter. They're in lower case and have no spaces.",)
        return Finding("wrong-type", message, hints=spelt if isinstance(outcome.value, str) else ())
    if outcome.value == answer(name):
        return None
    size = session.cases[name].sizes["T"]
    message = say(
        "`{name}` returned {got} for «{case}» (seq_len {size}), expected {expected}.",
        name=function,
        got=repr(outcome.value),
        case=say(session.cases[name].name),
        size=size,
        expected=repr(answer(name)),
    )
    return Finding("wrong-verdict", message)


def _names(title: str, weight: float, *names: str) -> Part:
    def judge(session: Session) -> Finding | None:
        for name in (*names, *PLAIN):  # right by chance without the plain ones
            finding = _wrong(session, name)
            if finding is not None and name not in names:
                return not_judged("values-first")
            if finding is not None:
                return finding
        return None

    return Part(title, weight, judge)


def _unchanged(weight: float) -> Part:
    def judge(session: Session) -> Finding | None:
        if any(session.call(case).changed for case in session.cases.values()):
            return changed_in_place(session, "weights")
        if any(_wrong(session, name) is not None for name in PLAIN):
            return not_judged("values-first")
        return None

    return Part("leaves its argument as it was", weight, judge, compares_values=False)


# --- recognised by what it says ---------------------------------------------------------------------------------------


def _argmax_only(session: Session) -> bool:
    """Whether only the place of each row's largest weight decides, whatever its size."""
    if verdict(session, "diagonal") != "diagonal" or _nearly_anything(session):
        return False
    weak = [verdict(session, WEAK_DIAGONAL) == "diagonal"]
    if verdict(session, "first") == "first":
        weak.append(verdict(session, WEAK_FIRST) == "first")
    return all(weak)


def _nearly_anything(session: Session) -> bool:
    """Whether even uniform weights are called diagonal."""
    return verdict(session, "diagonal") == verdict(session, "uniform") == "diagonal"


def _uniform_called_local(session: Session) -> bool:
    return verdict(session, "local, radius 1") == "local" and verdict(session, "uniform") == "local"


def _exact(session: Session) -> bool:
    """Whether the plain patterns are named, but all of them are called "other" with a little noise."""
    right = all(verdict(session, name) == answer(name) for name in PLAIN)
    return right and all(verdict(session, _noisy(name)) == "other" for name in PLAIN)


def _one_radius(session: Session) -> bool:
    verdicts = [verdict(session, name) for name in LOCAL]
    return sorted(map(str, verdicts)) == ["local", "other"]


def _never_other(session: Session) -> bool:
    """Whether every table is given the name of one of the four patterns, and those that have a pattern the right
    one."""
    right = all(verdict(session, name) == answer(name) for name in (*PLAIN, *LOCAL, *map(_noisy, PLAIN)))
    other_cases = [*FOCUSED, *SPREAD, *WEAK, *RANDOM]
    return right and all(verdict(session, name) in PATTERN_NAMES[:4] for name in other_cases)


def _any_width(session: Session) -> bool:
    """Whether bands of every radius are called local."""
    return all(verdict(session, name) == "local" for name in (*LOCAL, "a band of radius 3"))


def _last_called_first(session: Session) -> bool:
    return verdict(session, "the last token") == "first" != verdict(session, "first")


def _first_not_found(session: Session) -> bool:
    """Whether, of the plain patterns, only that of the first token is called "other"."""
    wrong = [name for name in (*PLAIN, *LOCAL) if verdict(session, name) != answer(name)]
    return wrong == ["first"] and verdict(session, "first") == "other"


def _local_not_found(session: Session) -> bool:
    """Whether, of the plain patterns, just the local ones are called "other"."""
    wrong = {name for name in (*PLAIN, *LOCAL) if verdict(session, name) != answer(name)}
    return wrong == set(LOCAL) and all(verdict(session, name) == "other" for name in LOCAL)


def _band_alone(session: Session) -> bool:
    """Whether the patterns are named, but bands of another form are called local."""
    right = all(verdict(session, name) == answer(name) for name in (*PLAIN, *LOCAL))
    others = ("the token before", "the token after", "itself and the two before", "both neighbours, not itself")
    return right and all(verdict(session, name) == "local" for name in others)


def _spread_called_uniform(session: Session) -> bool:
    """Whether the patterns are named, but weights that are spread in another way are called uniform."""
    right = all(verdict(session, name) == answer(name) for name in (*PLAIN, *LOCAL))
    return right and any(verdict(session, name) == "uniform" for name in (*SPREAD, *WEAK))


def _local_called_uniform(session: Session) -> bool:
    right = all(verdict(session, name) == name for name in ("diagonal", "uniform"))
    return right and "uniform" in [verdict(session, name) for name in LOCAL]


EXERCISE = spec.exercise(
    points=3,
    signature=("weights",),
    cases=_cases,
    parts=(
        _names("names the four patterns", 2, *PLAIN, *LOCAL),
        _names("names them with 5 % of random weights mixed in", 2, *map(_noisy, {**PLAIN, **LOCAL})),
        _names('returns "other" where the weight goes elsewhere', 1.5, *FOCUSED, *RANDOM),
        _names('returns "other" where the weight is distributed differently', 1.5, *SPREAD, *WEAK),
        _names("takes float64 too", 0.5, *map(_double, ("diagonal", "uniform", "local, radius 1"))),
        _unchanged(0.5),
    ),
    mistakes={
        "argmax-only": When(_argmax_only),
        "tolerance-too-wide": When(_nearly_anything),
        "uniform-called-local": When(_uniform_called_local),
        "exact-equality": When(_exact),
        "one-radius-only": When(_one_radius),
        "never-other": When(_never_other),
        "any-radius": When(_any_width),
        "last-called-first": When(_last_called_first),
        "first-row-instead": When(_first_not_found),
        "edges-forgotten": When(_local_not_found),
        "band-alone": When(_band_alone),
        "spread-called-uniform": When(_spread_called_uniform),
        "local-called-uniform": When(_local_called_uniform),
    },
)
