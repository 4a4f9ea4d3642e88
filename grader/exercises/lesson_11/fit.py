"""`fit`: the loop that trains a language model, with clipped gradients (Pascanu et al. 2013, algorithm 1).

The model is a small one that the subject builds, and its optimiser is gradient descent with momentum
(`grader.subject.translator`). What the student's function returns, the parameters, the mode and the order of events are
compared with a simulation of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_08.shared import close, plain_number
from grader.exercises.lesson_08.training import Judge, Observed, Training, has_no_gradients, same_parameters
from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Given
from grader.subject.translator import BACKWARD, FORWARD, STEP_WITHOUT_GRADIENTS, Speaker

spec = Spec(__name__)

USUAL, CLIPPED, DEFAULT = "a model in train mode", "gradients longer than max_norm", "without max_norm"
FROM_EVAL, LEFTOVER, ONE = "a model in eval mode", "a model with gradients from before", "one step, one piece"
FREE = 1000.0  # a max_norm that no gradient reaches
# Where no mistake is known.
WRONG_RETURN = (
    "The parameters are right after every step, so your loop trains as it should. Only what it returns is wrong.",
    "Print the loss of a step and what your code puts into the list for that step. Is it the same number?",
)
WRONG_LOSS = (
    "A loss depends on the batch, the mode that the model runs in, and what its logits are compared with.",
    "Print the inputs and the labels of each step, and `model.training`, just above the line that calls the model.",
)
WRONG_STEP = (
    "The first loss is right, so the fault comes after it.",
    "Which lines change `.grad` or the parameters, in which order, and how often does each of them run?",
)


GRAPH_HELD = "After the call the graph of a loss is still held, so the memory of every step would stay in use."
TEXT_CHANGED = "`{name}` changed `ids` or `starts` in place. Make a new tensor instead."


@dataclass(frozen=True)
class Run:
    """A model that is built once and trained by one or two calls."""

    name: str
    data: Mapping[str, Any]  # the model's
    ids: Tensor  # the text, (N,)
    calls: tuple[Tensor, ...]  # of each its `starts`, (steps, B): where the pieces begin
    block_size: int  # tokens in a piece
    max_norm: float | None = FREE  # None: the argument isn't given

    @property
    def given(self) -> list[dict[str, Any]]:
        """The arguments of each call, by name."""
        here = {"handle": self.name}
        known = {"model": Given("built", here), "optimizer": Given("optimizer", here), "ids": self.ids}
        last = {"block_size": self.block_size} | ({} if self.max_norm is None else {"max_norm": self.max_norm})
        return [{**known, "starts": starts, **last} for starts in self.calls]


def runs(draw: Draw) -> tuple[Run, ...]:
    """The six runs of a check, on models and texts of their own; the first has two calls."""
    usual, clipped, default, from_eval, leftover, one = (
        _run(draw, name) for name in (USUAL, CLIPPED, DEFAULT, FROM_EVAL, LEFTOVER, ONE)
    )
    names = ("source", "target", "output")
    # Of the same shapes as the run after it, so that who remembers a run by its shapes gives the wrong results there.
    from_eval = replace(
        from_eval,
        data={**from_eval.data, **{name: leftover.data[name].roll(1, 0) for name in names}},
        ids=leftover.ids.roll(3),
        calls=(leftover.calls[0].flip(0),),
        block_size=leftover.block_size,
    )
    left = {f"{name}.grad": draw.normal(leftover.data[name].shape, 0.1) for name in names}
    return (
        usual,
        replace(clipped, max_norm=0.1, calls=clipped.calls[:1], data={**clipped.data, "rate": 2.0}),
        replace(default, max_norm=None, calls=default.calls[:1], data=_steep(default.data)),
        replace(from_eval, data={**_scaled(from_eval.data, 0.2), "training": False}),
        replace(leftover, calls=leftover.calls[:1], data={**_scaled(leftover.data, 0.2), **left}),
        replace(one, calls=(one.calls[0][:1, :1],)),
    )


def _run(draw: Draw, name: str) -> Run:
    sizes = draw.sizes("V", "E", "B", "T")
    words, width, batch, block = sizes["V"] + 6, sizes["E"] + 4, sizes["B"] + 1, sizes["T"] + 2
    shapes = {"source": (words, width), "target": (words, width), "output": (words, width)}
    data: dict[str, Any] = {place: draw.normal(shape) for place, shape in shapes.items()}
    data |= {"training": True, "momentum": 0.5, "rate": 0.3}
    ids = draw.integers((11 * block,), 0, words)
    calls = tuple(draw.integers((steps, batch), 0, len(ids) - block) for steps in (4, 3))
    return Run(name, data, ids, calls, block)


def _scaled(data: Mapping[str, Any], by: float) -> dict[str, Any]:
    """The data with smaller parameters: their gradients are so short that a fixed max_norm doesn't show."""
    return {place: by * value if isinstance(value, Tensor) else value for place, value in data.items()}


def _steep(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with a model that is so sure of nonsense that its gradients are longer than 1."""
    return {**data, "output": 6 * data["output"]}


# --- what is right, and what is wrong on purpose ----------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """One way to train, right unless a field is changed."""

    # Whose pieces a step takes: "each" (its own), "first", "last" or "backwards" (from the last row to the first).
    row: Literal["each", "first", "last", "backwards"] = "each"
    labels: int = 1  # how many places after the inputs they begin
    # When gradients are cleared before a step: "always", "later" (not before the very first), "calls" (only before the
    # first of a call) or "never".
    from_nothing: Literal["always", "later", "calls", "never"] = "always"
    clips: bool = True  # whether gradients are clipped
    max_norm: float | None = None  # to which norm; None for what the call says
    loss_after: bool = False  # each loss is that of the parameters after its step
    steps: int | None = None  # how many; None for all
    mode: bool | None = True  # whether the model is in train mode; None for the mode it came in
    # What becomes of them before the loss: "twice" for a softmax too many, "reshaped" for (B, V, T) by `view`.
    logits: Literal["", "twice", "reshaped"] = ""


def simulated(run: Run, way: Way) -> tuple[Observed, ...]:
    """What each call of a run gives if it trains this way: the losses and the parameters, in float64. The other fields
    keep their defaults."""
    model = Speaker({k: v.double() if isinstance(v, Tensor) else v for k, v in run.data.items()})
    model.train(model.training if way.mode is None else way.mode)
    parameters = dict(model.named_parameters())
    kept = {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in parameters.items()}
    moved = {name: torch.zeros_like(p) for name, p in parameters.items()}
    given = 1.0 if run.max_norm is None else run.max_norm
    most = (given if way.max_norm is None else way.max_norm) if way.clips else FREE**2
    seen: list[Observed] = []
    for starts in run.calls:
        losses = []
        for step in range(len(starts))[: way.steps]:
            place = {"each": step, "first": 0, "last": -1, "backwards": -1 - step}[way.row]
            loss = _loss(model, run, starts[place], way)
            fresh = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))
            first = not seen and step == 0
            adds_up = {"always": False, "later": first, "calls": step > 0, "never": True}[way.from_nothing]
            kept = {name: kept[name] + fresh[name] for name in fresh} if adds_up else fresh
            norm = float(torch.cat([g.flatten() for g in kept.values()]).norm())
            kept = {name: g * min(1.0, most / norm) for name, g in kept.items()}
            with torch.no_grad():
                for name, parameter in parameters.items():
                    moved[name] = run.data["momentum"] * moved[name] + kept[name]
                    parameter.sub_(run.data["rate"] * moved[name])
            losses.append((_loss(model, run, starts[place], way) if way.loss_after else loss).item())
        seen.append(Observed(losses, {name: p.detach().clone() for name, p in parameters.items()}))
    return tuple(seen)


def _loss(model: Speaker, run: Run, starts: Tensor, way: Way) -> Tensor:
    places = starts[:, None] + torch.arange(run.block_size)
    logits, labels = model(run.ids[places]), run.ids[places + way.labels]
    if way.logits == "reshaped":
        return F.cross_entropy(logits.reshape(logits.shape[0], logits.shape[2], logits.shape[1]), labels)
    logits = logits.softmax(-1) if way.logits == "twice" else logits
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def _losses(value: object) -> list[float] | None:
    """The losses as they were returned, tensors too; None if what came back is not a list, a tuple or a vector of
    numbers."""
    items = value.tolist() if isinstance(value, Tensor) and value.dim() == 1 else value
    if not isinstance(items, list | tuple):
        return None
    numbers = [float(i) if isinstance(i, Tensor) and i.numel() == 1 else plain_number(i) for i in items]
    return None if None in numbers else [number for number in numbers if number is not None]


def _same_losses(got: Observed, expected: Observed) -> bool:
    losses = _losses(got.returned)
    right = expected.returned
    return losses is not None and len(losses) == len(right) and all(map(close, losses, right))


def _hints(got: object, right: list[float]) -> tuple[str, ...]:
    losses = _losses(got)
    return WRONG_STEP if losses and close(losses[0], right[0]) else WRONG_LOSS


TRAINING = Training(spec.name, "speaker", runs, USUAL, simulated, Way(), _same_losses, _hints)
trained, changes, observed = TRAINING.trained, TRAINING.changes, TRAINING.observed


# --- judging ----------------------------------------------------------------------------------------------------------


def _returns(name: str, call: int = 0) -> Judge:
    """A judge: whether call number `call`, from 0, of the run `name` returns the loss before each of its steps, as a
    list of plain numbers."""

    def judge(session: Session) -> Finding | None:
        run, seen, finding = observed(session)[name]
        if len(seen) <= call:
            return finding
        got, right = seen[call].returned, TRAINING.expected(session, run)[call].returned
        if got is None:
            return compare.returned_none(session.exercise)
        found = _not_floats(got)
        if found:
            said = say(
                "`{name}` returned {what}, expected a list of plain numbers (floats).", name=spec.name, what=found
            )
            return Finding("wrong-type", said)
        if len(got) != len(right):
            said = say(
                "Losses returned: {count}. Steps: {steps} ({run}).", count=len(got), steps=len(right), run=say(name)
            )
            return Finding("wrong-length", together(said, say("`starts` has a row for each step.")))
        wrong = next((step for step, both in enumerate(zip(got, right, strict=True)) if not close(*both)), None)
        if wrong is None:
            return None
        words = compare.apart(float(got[wrong]), right[wrong])
        message = say(
            "The loss of step {step}, counted from 0, is {got}, expected {expected} ({run}; steps: {steps}).",
            step=wrong,
            got=words[0],
            expected=words[1],
            run=say(name),
            steps=len(right),
        )
        trains = same_parameters(seen[call], TRAINING.expected(session, run)[call])
        return Finding("wrong-values", message, hints=WRONG_RETURN if trains else WRONG_STEP if wrong else WRONG_LOSS)

    return judge


def _trains(name: str, call: int = 0) -> Judge:
    """A judge: whether a call of the run `name` leaves the right parameters, and returns the right losses, unless the
    usual run's are wrong already: the same fault isn't told twice."""

    def judge(session: Session) -> Finding | None:
        finding = changes(name, call)(session)
        return finding or (None if _returns(USUAL)(session) else _returns(name, call)(session))

    return judge


def _not_floats(value: object) -> str:
    """What a value that should be a list of floats is instead, in words; "" if it is one."""
    if not isinstance(value, list | tuple):
        return compare.in_words(value)
    if any(isinstance(item, Tensor) for item in value):
        return say("a list with tensors in it")
    return "" if all(plain_number(item) is not None for item in value) else compare.in_words(value)


def _once(later: Judge) -> Judge:
    """The judge `later`, whose findings stay unsaid while the usual run's parameters aren't right: the same fault isn't
    told twice."""

    def judge(session: Session) -> Finding | None:
        finding = later(session)
        return not_judged("values-first") if finding is not None and changes(USUAL)(session) is not None else finding

    return judge


def _after_values(judge: Judge) -> Judge:
    """The judge, asked only once the usual run's parameters are right: a function that does nothing would pass."""

    def later(session: Session) -> Finding | None:
        finding = observed(session)[USUAL][2] or judge(session)
        return not_judged("values-first") if changes(USUAL)(session) is not None else finding

    return later


# --- recognised -------------------------------------------------------------------------------------------------------


def _happens(*events: int, changes: bool = False) -> Callable[[Session], bool]:
    """A recogniser that says whether only these events came in the first call, each at least once, and whether the
    parameters changed just if `changes`."""

    def recognise(session: Session) -> bool:
        seen = TRAINING.first(session)
        return seen is not None and set(seen.events) == set(events) and TRAINING.has_changed(session) is changes

    return recognise


def _order(session: Session) -> bool:
    """Whether the first step of the first call was taken before its backward pass had made gradients."""
    seen = TRAINING.first(session)
    events = seen.events if seen else ()
    return events[:2] in ((FORWARD, STEP_WITHOUT_GRADIENTS), (STEP_WITHOUT_GRADIENTS, FORWARD)) and BACKWARD in events


def _cleared_too_late(session: Session) -> bool:
    """Whether gradients are cleared after the backward pass, so that a step finds none."""
    seen = TRAINING.first(session)
    return seen is not None and seen.events[:3] == (FORWARD, BACKWARD, STEP_WITHOUT_GRADIENTS)


def _summed(session: Session) -> bool:
    """Whether the first loss is the right one times the number of labels in the batch. Such steps are so long that what
    follows can't be simulated."""
    run, seen, _ = observed(session)[USUAL]
    got = _losses(seen[0].returned) if seen else None
    labels = run.calls[0].shape[1] * run.block_size
    return bool(got) and close((got or [0.0])[0], labels * TRAINING.expected(session, run)[0].returned[0])


def _one_number(session: Session) -> bool:
    """Whether a single number comes back in place of a list."""
    seen = TRAINING.first(session)
    value = seen.returned if seen else None
    return (plain_number(value) is not None) or (isinstance(value, Tensor) and value.numel() == 1)


EXERCISE = spec.exercise(
    points=4,
    signature=("model", "optimizer", "ids", "starts", "block_size", "max_norm=1.0"),
    cases=TRAINING.cases,
    parts=(
        Part("returns the loss before each step", 2, _returns(USUAL)),
        Part("changes the parameters step by step", 3, changes(USUAL)),
        Part("goes on where it stopped when it is called again", 1, _once(_trains(USUAL, 1))),
        Part("starts the first step afresh", 1, _once(_trains(LEFTOVER))),
        Part("clips the gradients before the step", 1.5, _once(changes(CLIPPED))),
        Part("clips to a norm of 1 if none is given", 0.5, _once(changes(DEFAULT))),
        Part("trains in train mode", 1, _once(changes(FROM_EVAL))),
        Part("takes one step with one piece", 0.5, _once(_returns(ONE))),
        Part("leaves the model in the mode it was in", 1, _after_values(TRAINING.keeps_mode), compares_values=False),
        Part("holds no graph after the call", 0.5, _after_values(TRAINING.lets_go(GRAPH_HELD)), compares_values=False),
        Part(
            "leaves `ids` and `starts` as they were",
            0.5,
            _after_values(TRAINING.leaves_arguments(TEXT_CHANGED)),
            compares_values=False,
        ),
    ),
    mistakes={
        "gradients-off": When(has_no_gradients),
        "backward-forgotten": When(
            lambda session: _happens(FORWARD, STEP_WITHOUT_GRADIENTS)(session) or _happens(FORWARD)(session)
        ),
        "step-forgotten": When(_happens(FORWARD, BACKWARD)),
        "gradients-cleared-too-late": When(_cleared_too_late),
        "step-before-backward": When(_order),
        "optimizer-not-used": When(_happens(FORWARD, BACKWARD, changes=True)),
        "one-step-only": When(trained(Way(steps=1), returned=False)),
        "same-batch-every-step": When(trained(Way(row="first"), Way(row="last"), returned=False)),
        "rows-backwards": When(trained(Way(row="backwards"), returned=False)),
        "labels-not-shifted": When(trained(Way(labels=0), returned=False)),
        "softmax-applied-twice": When(trained(Way(logits="twice"), returned=False)),
        "reshaped-instead-of-transposed": When(trained(Way(logits="reshaped"), returned=False)),
        "summed": When(_summed),
        "clipped-after-the-step": When(trained(Way(clips=False), returned=False)),
        "max-norm-ignored": When(trained(Way(max_norm=1.0), returned=False)),
        "gradients-from-before": When(trained(Way(from_nothing="later"), returned=False)),
        "gradients-add-up": When(trained(Way(from_nothing="never"), Way(from_nothing="calls"), returned=False)),
        "loss-after-the-step": When(trained(Way(loss_after=True))),
        "mode-not-switched": When(trained(Way(mode=None), returned=False)),
        "trains-in-eval-mode": When(trained(Way(mode=False), returned=False)),
        "one-number-returned": When(_one_number),
        "keeps-the-graph": When(TRAINING.holds_graph),
        "left-in-train-mode": When(TRAINING.mode_left(True)),
        "left-in-eval-mode": When(TRAINING.mode_left(False)),
    },
    builds_on=("language_batch",),
    seconds=30,  # an optimiser of torch's own imports torch's compiler, which takes seconds
)
