"""`clip_gradients`: one factor for all gradients where their norm is too large (Pascanu et al. 2013, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.exercises.lesson_08.shared import close, plain_number
from grader.exercises.lesson_11.shared import LESSON
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exclusions import GRADIENT_CLIPPING
from grader.spec.exercise import Exercise, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject import Given, Request
from grader.tolerance import FLOAT32

mistake = Words(__file__)

NAME = "clip_gradients"
Gradients = tuple[Tensor | None, ...]
Result = tuple[Gradients, float]  # the gradients afterwards, and what is returned


@dataclass(frozen=True)
class Run:
    """Parameters with gradients, in order, `values` and `gradients` being tensors of one shape, or None for a gradient.
    With `once` they are handed over as an iterator that can be walked over a single time, else as a list."""

    name: str
    values: tuple[Tensor, ...]
    gradients: Gradients
    max_norm: float
    once: bool = False


@dataclass(frozen=True)
class Seen:
    """What a call has left: what it returned, the gradients now, the tensors that were the gradients `first`, and
    whether the parameters were `kept` as they were."""

    returned: object
    gradients: Gradients
    first: Gradients
    kept: bool


def right(gradients: Gradients, max_norm: float) -> Result:
    """The right answer, in float64: the gradients after the call, and the norm of all their entries in one vector."""
    everything = torch.cat([g.double().flatten() for g in gradients if g is not None])
    norm = math.sqrt(math.fsum(entry * entry for entry in everything.tolist()))
    factor = max_norm / norm if norm > max_norm else 1.0
    return _scaled(gradients, factor), norm


def _scaled(gradients: Gradients, factor: float) -> Gradients:
    return tuple(None if g is None else g * factor for g in gradients)


# --- the runs ---------------------------------------------------------------------------------------------------------

LARGE, SMALL, EACH, NONE, ONCE, DOUBLE, ZERO = (
    "a norm above max_norm",
    "a norm below max_norm",
    "every gradient alone below max_norm",
    "parameters without a gradient",
    "parameters that can be walked over once",
    "float64",
    "gradients of zeros",
)
WITHOUT_ONCE = (LARGE, SMALL, EACH, NONE, DOUBLE)


def runs(draw: Draw) -> dict[str, Run]:
    """The runs by name. The gradients have one, two and three axes and norms of their own."""
    sizes = draw.sizes("A", "B", "C")

    def run(name: str, share: float, scale: float = 1.0, dtype: torch.dtype = torch.float32, **how: bool) -> Run:
        """A run of this name. `share`: max_norm as a share of the norm of all; `scale`: of the gradients' entries."""
        shapes = ((sizes["A"],), (sizes["B"], sizes["C"]), (2, sizes["C"], 3), (sizes["B"],))
        gradients = [draw.normal(shape, scale * (1 + i / 2)).to(dtype) for i, shape in enumerate(shapes)]
        values = tuple(draw.normal(shape).to(dtype) for shape in shapes)
        given = tuple(None if name == NONE and i in (0, 2) else g for i, g in enumerate(gradients))
        _, norm = right(given, math.inf)
        return Run(name, values, given, round(share * norm, 3), **how)

    made = (
        run(LARGE, 0.1 + 0.01 * draw.integer(0, 9)),
        run(SMALL, 2.0 + 0.1 * draw.integer(0, 9), scale=0.3),
        _each_below(run(EACH, 0.9, scale=2.0)),
        run(NONE, 0.35),
        run(ONCE, 0.25, once=True),
        run(DOUBLE, 0.4, dtype=torch.float64),
        replace(run(ZERO, 0.5, scale=0.0), max_norm=1.0),
    )
    return {each.name: each for each in made}


def _each_below(run: Run) -> Run:
    """The run with gradients of about one length, so that `max_norm`, 5, lies between the largest of them and the norm
    of all."""
    gradients = tuple(g * (3 + i / 4) / g.norm() for i, g in enumerate(run.gradients) if g is not None)
    return Run(run.name, run.values, gradients, 5.0)


# --- the student's ----------------------------------------------------------------------------------------------------


def observed(session: Session, name: str) -> Seen | Finding:
    """What the student's function did in the run `name`, or the finding that says why it came to no end."""
    return session.once(("seen", name), lambda: _observe(session, drawn(session)[name]))


def drawn(session: Session) -> dict[str, Run]:
    """The runs of this check, by name."""
    return session.once("runs", lambda: runs(session.draw))


def _observe(session: Session, run: Run) -> Seen | Finding:
    data = {"values": list(run.values), "gradients": list(run.gradients)}
    session.ask(Request("build", handle="graded", args=(Given("graded", data),)))
    given = Given("parameters", {"handle": "graded", "once": run.once})
    outcome = session.ask(Request("call", NAME, (given, run.max_norm)))
    state = session.ask(Request("state", "@graded")) if outcome.ok else outcome
    finding = compare.run_error(state, session.exercise)
    if finding is not None:
        return finding
    held: Mapping[str, Tensor] = state.value["buffers"]
    values = state.value["parameters"]
    names = [f"of.{i}" for i in range(len(run.values))]
    kept = all(torch.equal(values[name], value) for name, value in zip(names, run.values, strict=True))
    now, first = (tuple(held.get(prefix + name) for name in names) for prefix in ("", "first."))
    return Seen(outcome.value, now, first, kept)


# --- parts ------------------------------------------------------------------------------------------------------------


def _wrong_norm(session: Session, name: str) -> Finding | None:
    seen = observed(session, name)
    if isinstance(seen, Finding):
        return seen
    if seen.returned is None:
        return Finding("returns-nothing", f"`{NAME}` returned None. Does it end with a `return` line?")
    got, (_, norm) = plain_number(seen.returned), right(drawn(session)[name].gradients, math.inf)
    if got is None:
        tip = " `.item()` takes the number out of a tensor." if isinstance(seen.returned, Tensor) else ""
        returned = compare.in_words(seen.returned)
        return Finding("wrong-type", f"`{NAME}` returned {returned}, expected a plain number (float).{tip}")
    if not close(got, norm):
        words = compare.apart(float(got), norm)
        kind = "wrong-values" if math.isfinite(got) else "not-finite"
        return Finding(kind, f"`{NAME}` returned {words[0]}, expected {words[1]} ({name}).")
    return None


def _wrong_gradients(session: Session, name: str) -> Finding | None:
    seen, run = observed(session, name), drawn(session)[name]
    if isinstance(seen, Finding):
        return seen
    expected, norm = right(run.gradients, run.max_norm)
    for place, (got, wanted) in enumerate(zip(seen.gradients, expected, strict=True)):
        said = f"({name}: norm {norm:.4g}, max_norm = {run.max_norm:g})"
        if (got is None) != (wanted is None):
            what = "is None afterwards" if got is None else "was None before and isn't afterwards"
            return Finding("wrong-gradients", f"The gradient of parameter {place} {what} {said}.")
        if got is None or wanted is None:
            continue
        if got.shape != wanted.shape:
            shapes = f"{tuple(got.shape)}, expected {tuple(wanted.shape)}"
            return Finding("wrong-gradients", f"The gradient of parameter {place} has shape {shapes} {said}.")
        if not FLOAT32.all_close(got, wanted):
            message = f"The gradient of parameter {place} is wrong after the call {said}."
            return Finding("wrong-gradients", message, got=got.clone(), expected=wanted.to(got.dtype))
    return None


def _part(title: str, weight: float, *names: str, norm: bool = False, values: bool = True) -> Part:
    wrong = _wrong_norm if norm else _wrong_gradients
    return Part(title, weight, lambda s: next((f for name in names if (f := wrong(s, name))), None), values)


def _right_where(names: tuple[str, ...], part: Part) -> Part:
    """The part, which waits until the gradients are right in the named runs: one fault isn't told twice, and doing
    nothing passes nothing."""

    def judge(session: Session) -> Finding | None:
        finding = part.judge(session)
        if finding is not None and finding.kind not in ("wrong-gradients", "not-in-place", "changes-argument"):
            return finding
        return not_judged("values-first") if any(_wrong_gradients(session, name) for name in names) else finding

    return replace(part, judge=judge)


def _in_place(session: Session) -> Finding | None:
    """Why the tensors that held the gradients before the call don't hold the rescaled numbers, None if they do."""
    seen, run = observed(session, LARGE), drawn(session)[LARGE]
    if isinstance(seen, Finding):
        return seen
    if _same(seen.first, right(run.gradients, run.max_norm)[0]):
        return None
    message = "`.grad` is a different tensor after the call; the earlier one still holds the old gradients."
    return Finding("not-in-place", message)


def _replaced(session: Session) -> bool:
    finding = _in_place(session)
    return finding is not None and finding.kind == "not-in-place" and _wrong_gradients(session, LARGE) is None


def _leaves(session: Session) -> Finding | None:
    """Why the parameters themselves aren't as they were, None if they are."""
    seen = observed(session, LARGE)
    if isinstance(seen, Finding):
        return seen
    if not seen.kept:
        return Finding("changes-argument", "The parameters themselves were changed, but only `.grad` may change.")
    return None


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Variant = Callable[[Gradients, float], Result]


def _norms(gradients: Gradients) -> list[float]:
    return [float(g.double().norm()) for g in gradients if g is not None]


def _one_by_one(below: bool) -> Variant:
    """A wrong clipping of each gradient by its own norm, also where that is small if `below`."""

    def variant(gradients: Gradients, max_norm: float) -> Result:
        factors = [max_norm / n if below else min(1.0, max_norm / n) for n in _norms(gradients)]
        rest = iter(factors)
        return tuple(None if g is None else g * next(rest) for g in gradients), right(gradients, math.inf)[1]

    return variant


def _by(norm: Callable[[Gradients], float], factor: Callable[[float, float], float]) -> Variant:
    """A wrong clipping of all gradients by one factor, which `factor` makes from the norm and max_norm. `norm` makes
    the norm, which is also returned."""
    return lambda gradients, max_norm: (_scaled(gradients, factor(norm(gradients), max_norm)), norm(gradients))


def _two(gradients: Gradients) -> float:
    return right(gradients, math.inf)[1]


def _usual(norm: float, max_norm: float) -> float:
    return min(1.0, max_norm / norm)


def _clamped(gradients: Gradients, max_norm: float) -> Result:
    return tuple(None if g is None else g.clamp(-max_norm, max_norm) for g in gradients), _two(gradients)


def _clamped_to(share: float) -> Variant:
    def variant(gradients: Gradients, max_norm: float) -> Result:
        clamped = tuple(None if g is None else g.clamp(-max_norm * share, max_norm * share) for g in gradients)
        return clamped, _two(gradients)

    return variant


def _fits(*variants: Variant, among: tuple[str, ...] = WITHOUT_ONCE, norms: bool = False) -> Callable[[Session], bool]:
    """A recogniser that says whether in every run of `among` the gradients are right or those of one variant, and in
    one at least the variant's. `norms`: what is returned has to be the variant's too, in every run."""

    def recognise(session: Session) -> bool:
        return any(_is(session, variant, among, norms) for variant in variants)

    return recognise


def _is(session: Session, variant: Variant, among: tuple[str, ...], norms: bool) -> bool:
    wrong = False
    for name in among:
        seen, run = observed(session, name), drawn(session)[name]
        if isinstance(seen, Finding):
            return False
        gradients, norm = variant(run.gradients, run.max_norm)
        if norms and not close(plain_number(seen.returned), norm):
            return False
        is_right = _same(seen.gradients, right(run.gradients, run.max_norm)[0])
        if not is_right and not _same(seen.gradients, gradients):
            return False
        wrong = wrong or not is_right or (norms and not close(norm, _two(run.gradients)))
    return wrong


def _same(got: Gradients, wanted: Gradients) -> bool:
    def alike(one: Tensor | None, other: Tensor | None) -> bool:
        if one is None or other is None:
            return one is other
        return one.shape == other.shape and FLOAT32.all_close(one, other)

    return all(alike(g, w) for g, w in zip(got, wanted, strict=True))


def _of_the_weights(session: Session) -> bool:
    """Whether what is returned is the norm of the parameters themselves."""
    seen, run = observed(session, LARGE), drawn(session)[LARGE]
    return isinstance(seen, Seen) and close(plain_number(seen.returned), _two(run.values))


def _returns_after(session: Session) -> bool:
    """Whether the gradients are right, and the number that is returned is their norm after the clipping."""
    for name in (LARGE, DOUBLE):
        seen, run = observed(session, name), drawn(session)[name]
        if isinstance(seen, Finding) or _wrong_gradients(session, name) is not None:
            return False
        if not close(plain_number(seen.returned), run.max_norm):
            return False
    return True


def _exhausted(session: Session) -> bool:
    """Whether parameters that can be walked over once are left as they were, while a list is treated right."""
    if any(_wrong_gradients(session, name) is not None for name in (LARGE, SMALL)):
        return False
    seen = observed(session, ONCE)
    if isinstance(seen, Finding):
        return True
    return _same(seen.gradients, drawn(session)[ONCE].gradients)


def _none_met(session: Session) -> bool:
    """Whether a gradient that is None raises."""
    finding = observed(session, NONE)
    return isinstance(finding, Finding) and "NoneType" in finding.message


def _zero_met(session: Session) -> bool:
    """Whether gradients of zeros raise or come out wrong, NaN for example, while others are treated right."""
    others = all(_wrong_gradients(session, name) is None for name in (LARGE, SMALL))
    return others and _wrong_gradients(session, ZERO) is not None


def _nothing_happens(session: Session) -> bool:
    """Whether all gradients are as they were, though the norm is right."""
    for name in (LARGE, SMALL, NONE, DOUBLE):
        seen = observed(session, name)
        if isinstance(seen, Finding) or not _same(seen.gradients, drawn(session)[name].gradients):
            return False
    return _wrong_norm(session, LARGE) is None


def _kept(session: Session) -> bool:
    """Whether the parameters themselves are as they were, or the function raised."""
    seen = observed(session, LARGE)
    return isinstance(seen, Finding) or seen.kept


EXERCISE = Exercise(
    name=NAME,
    lesson=LESSON,
    points=3,
    signature=("parameters", "max_norm"),
    parts=(
        _part("returns the norm of all gradients together, as it was before", 2, LARGE, SMALL, norm=True),
        _part("rescales all gradients where their norm is above max_norm", 3, LARGE, EACH),
        _right_where((LARGE, EACH), _part("leaves the gradients alone below max_norm", 1, SMALL, ZERO)),
        _right_where((LARGE, EACH), Part("changes the gradients in place", 0.5, _in_place, compares_values=False)),
        _right_where((LARGE, EACH, SMALL), _part("passes over parameters without a gradient", 0.5, NONE)),
        _right_where((LARGE, EACH, SMALL), _part("walks over the parameters once", 1, ONCE)),
        _right_where((LARGE, EACH, SMALL), _part("keeps float64", 0.5, DOUBLE)),
        _right_where((LARGE,), Part("leaves the parameters as they were", 0.5, _leaves, compares_values=False)),
    ),
    mistakes=(
        mistake("clipped-one-by-one", recognise=_fits(_one_by_one(False), _one_by_one(True))),
        mistake("always-rescaled", recognise=_fits(_by(_two, lambda norm, max_norm: max_norm / norm))),
        mistake("weights-rescaled", recognise=lambda session: _nothing_happens(session) and not _kept(session)),
        mistake("grad-not-changed", recognise=_nothing_happens),
        mistake("replaced-gradients", recognise=_replaced),
        mistake("rescaled-where-small", recognise=_fits(_by(_two, lambda norm, max_norm: max(1.0, max_norm / norm)))),
        mistake("values-clamped", recognise=_fits(_clamped, _clamped_to(0.5))),
        mistake(
            "divided-by-the-norm",
            recognise=_fits(
                _by(_two, lambda norm, max_norm: 1 / norm if norm > max_norm else 1.0),
                _by(_two, lambda norm, max_norm: 1 / norm),
            ),
        ),
        mistake(
            "factor-upside-down",
            recognise=_fits(_by(_two, lambda norm, max_norm: norm / max_norm if norm > max_norm else 1.0)),
        ),
        mistake("norms-added", recognise=_fits(_by(lambda g: sum(_norms(g)), _usual), norms=True)),
        mistake("root-forgotten", recognise=_fits(_by(lambda g: _two(g) ** 2, _usual), norms=True)),
        mistake(
            "largest-norm",
            recognise=_fits(
                _by(lambda g: max(_norms(g)), _usual),
                _by(lambda g: max(float(t.abs().max()) for t in g if t is not None), _usual),
                norms=True,
            ),
        ),
        mistake(
            "sum-of-absolutes",
            recognise=_fits(_by(lambda g: sum(float(t.abs().sum()) for t in g if t is not None), _usual), norms=True),
        ),
        mistake("norm-of-the-weights", recognise=_of_the_weights),
        mistake("returns-norm-after", recognise=_returns_after),
        mistake("walked-over-twice", recognise=_exhausted),
        mistake("none-not-expected", recognise=_none_met),
        mistake("divided-by-zero", recognise=_zero_met),
    ),
    excluded=(GRADIENT_CLIPPING,),
)
