"""`train_step`: one step of training, with teacher forcing (Vaswani et al. 2017, sections 3.1 and 5.3).

The model is a small one that the subject builds, and its optimiser is gradient descent with momentum
(`grader.subject.translator`). Each run calls the student's function, usually twice on the same model. What it returns,
the parameters, the mode and the order of events are compared with a simulation of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from grader.exercises.lesson_08.shared import LESSON, close, no_plain_number, plain_number
from grader.sentences import say
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject import Given, Outcome, Request
from grader.subject.translator import BACKWARD, FORWARD, STEP, STEP_WITHOUT_GRADIENTS, Trainee
from grader.tolerance import Tolerance

mistake = Words(__file__)

Judge = Callable[[Session], Finding | None]

NAME = "train_step"
BOS, EOS = 1, 2
USUAL, FROM_EVAL, OTHER = "a model in train mode", "a model in eval mode", "another pad_idx"
LEFTOVER = "a model with gradients from before"
CLOSE = Tolerance(relative=1e-4, absolute=1e-6)
# Where no mistake is known.
WRONG_LOSS = (
    "The loss depends on what the model is given, on the mode it runs in, and on what its logits are compared with.",
    "Print these three in the first call, and look at what you do to the loss before you return it.",
)
WRONG_STEP = (
    "The loss is right, so the fault comes after it.",
    "Which lines change `.grad` or the parameters? In which order do they run, and how often does each?",
)


@dataclass(frozen=True)
class Run:
    """A model that is built once and trained with one or two batches. `data`: the model's, as `Trainee` takes it;
    `batches`: pairs of source (B, Ts) and target (B, T) ids."""

    name: str
    data: Mapping[str, Any]
    batches: tuple[tuple[Tensor, Tensor], ...]

    @property
    def pad_idx(self) -> int:
        """The id of the padding in source and target."""
        return int(self.data["pad_idx"])


@dataclass(frozen=True)
class Observed:
    """What one call gave."""

    returned: Any
    parameters: Mapping[str, Tensor]  # by name, after it
    training: bool = True  # the mode after it
    graph_held: bool = False
    arguments_changed: bool = False  # whether ids were changed in place
    events: tuple[int, ...] = ()  # the model's so far, from the constants in `grader.subject.translator`


def runs(draw: Draw) -> tuple[Run, ...]:
    """The four runs of a check, on models and batches of their own."""
    return (
        _run(draw, USUAL, training=True, momentum=0.0, pad_idx=0),
        _run(draw, FROM_EVAL, training=False, momentum=0.0, pad_idx=0),
        _run(draw, OTHER, training=True, momentum=0.5, pad_idx=3),
        _with_leftover(draw, _run(draw, LEFTOVER, training=True, momentum=0.0, pad_idx=0)),
    )


def _run(draw: Draw, name: str, training: bool, momentum: float, pad_idx: int) -> Run:
    sizes = draw.sizes("Vs", "Vt", "E", "B", "Ts", "T")
    target, width = sizes["Vt"] + 8, sizes["E"] + 4
    source = target + sizes["Vs"]
    shapes = {"source": (source, width), "target": (target, width), "output": (target, width)}
    data: dict[str, Any] = {place: draw.normal(shape) for place, shape in shapes.items()}
    data |= {"training": training, "momentum": momentum, "pad_idx": pad_idx, "rate": 0.5}
    batches = []
    # Of one size in one run, so that nothing of the first step can stand in for the second; elsewhere of two.
    for batch in (sizes["B"] + 1, sizes["B"] + 1 + (name != USUAL)):
        src = draw.integers((batch, sizes["Ts"] + 3), 4, source)
        trg = draw.integers((batch, sizes["T"] + 4), 4, target)
        trg[:, 0] = BOS
        for row in range(batch):
            src[row, src.shape[1] - row % 3 :] = pad_idx
            last = trg.shape[1] - 1 - row % 4
            trg[row, last], trg[row, last + 1 :] = EOS, pad_idx
        src[0, 1] = source - 1  # an id that the target doesn't have
        if pad_idx != 0:  # an ordinary token there
            src[0, 0] = trg[0, 2] = 0
        batches.append((src, trg))
    return Run(name, data, tuple(batches))


def _with_leftover(draw: Draw, run: Run) -> Run:
    """The run with its first batch only, on a model whose parameters have gradients from before."""
    leftover = {f"{name}.grad": draw.normal(run.data[name].shape, 0.1) for name in ("source", "target", "output")}
    return replace(run, data={**run.data, **leftover}, batches=run.batches[:1])


def _cases(draw: Draw) -> list[Case]:
    """A case for each run: what its first call gets. Their outputs aren't compared: `observed` makes all calls."""
    return [Case(run.name, _arguments(run, 0), comparable=False) for run in runs(draw)]


def _arguments(run: Run, call: int) -> dict[str, Any]:
    here, (src, trg) = {"handle": run.name}, run.batches[call]
    model, optimizer = Given("built", here), Given("optimizer", here)
    return {"model": model, "optimizer": optimizer, "src": src, "trg": trg, "pad_idx": run.pad_idx}


# --- the student's ----------------------------------------------------------------------------------------------------


def observed(session: Session) -> dict[str, tuple[Run, tuple[Observed, ...], Finding | None]]:
    """By a run's name: the run, what the student's function did call by call, and the finding that stopped it, None if
    nothing did."""
    return session.once("runs", lambda: _observe_all(session))


def _observe_all(session: Session) -> dict[str, tuple[Run, tuple[Observed, ...], Finding | None]]:
    found: dict[str, tuple[Run, tuple[Observed, ...], Finding | None]] = {}
    watched = True  # until a graph is found to be held: to find out takes long
    for run in runs(session.draw):
        seen, finding = _observe(session, run, watched)
        found[run.name] = run, seen, finding
        watched = watched and not any(call.graph_held for call in seen)
    return found


def _observe(session: Session, run: Run, watched: bool) -> tuple[tuple[Observed, ...], Finding | None]:
    data = {**run.data, "watched": watched}
    session.ask(Request("build", handle=run.name, args=(Given("trainee", data),)))
    seen: list[Observed] = []
    for call in range(len(run.batches)):
        outcome = session.ask(Request("call", NAME, tuple(_arguments(run, call).values())))
        state = session.ask(Request("state", f"@{run.name}")) if outcome.ok else outcome
        finding = compare.run_error(state, session.exercise)
        if finding is not None:
            return tuple(seen), finding
        seen.append(_facts(outcome, state))
    return tuple(seen), None


def _facts(outcome: Outcome, state: Outcome) -> Observed:
    events = state.value["buffers"].get("events")
    return Observed(
        outcome.value,
        {name: tensor for name, tensor in state.value["parameters"].items() if isinstance(tensor, Tensor)},
        state.value["training"],
        0 in outcome.changed,
        any(place > 1 for place in outcome.changed),
        tuple(events.tolist()) if isinstance(events, Tensor) else (),
    )


# --- what is right, and what is wrong on purpose ----------------------------------------------------------------------

Cut = Literal["all", "input", "labels"]
CUTS: Mapping[str, slice] = {"all": slice(None), "input": slice(None, -1), "labels": slice(1, None)}


@dataclass(frozen=True)
class Way:
    """One way to train, right unless a field is changed."""

    given: Cut = "input"  # which columns of the target the model reads
    wanted: Cut = "labels"  # which it should say
    padding: Literal["pad_idx", "zero"] | None = "pad_idx"  # which labels the loss leaves out; "zero": those with id 0
    from_nothing: Literal["always", "later", "never"] = "always"  # when gradients are cleared; "later": not at first
    loss_after: bool = False  # the loss is that of the parameters after the step
    mode_after: bool = True  # and then whether in train mode
    summed: bool = False  # the loss is a sum in place of a mean
    mode: bool | None = True  # whether the model is in train mode; None for the mode it came in
    copied: bool = False  # the model reads each label, since it is given all of the target
    twice: bool = False  # the logits go through a softmax before the loss, which has one of its own


def simulated(run: Run, way: Way) -> tuple[Observed, ...]:
    """What each call of a run gives if it trains this way: the loss and the parameters, in float64. The other fields
    keep their defaults."""
    data = {k: v.double() if isinstance(v, Tensor) else v for k, v in run.data.items()}
    model = Trainee(data)
    model.train(model.training if way.mode is None else way.mode)
    parameters = dict(model.named_parameters())
    kept = {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in parameters.items()}
    moved = {name: torch.zeros_like(p) for name, p in parameters.items()}
    seen: list[Observed] = []
    for src, trg in run.batches:
        loss = _loss(model, src, trg, run, way)
        fresh = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))
        adds_up = way.from_nothing == "never" or (way.from_nothing == "later" and not seen)
        total = {name: kept[name] + fresh[name] for name in fresh} if adds_up else fresh
        with torch.no_grad():
            for name, parameter in parameters.items():
                moved[name] = run.data["momentum"] * moved[name] + total[name]
                parameter.sub_(run.data["rate"] * moved[name])
        kept = total
        if way.loss_after:
            model.train(way.mode_after)
            loss = _loss(model, src, trg, run, way)
            model.train(way.mode is not False)
        seen.append(Observed(loss.item(), {name: p.detach().clone() for name, p in parameters.items()}))
    return tuple(seen)


def _loss(model: Trainee, src: Tensor, trg: Tensor, run: Run, way: Way) -> Tensor:
    """The loss of a batch, ids (B, Ts) and (B, T), in nats: the mean of minus the log of each label's probability, or
    their sum if the way says so."""
    labels = trg[:, CUTS[way.wanted]]
    logits = model(src, trg[:, CUTS[way.given]])
    logs = (logits.softmax(-1) if way.twice else logits).log_softmax(-1)
    logs = logs[:, 1:] if way.copied else logs
    each = -logs.gather(-1, labels[..., None])[..., 0]
    counted = torch.ones_like(each)
    if way.padding is not None:
        counted = (labels != (run.pad_idx if way.padding == "pad_idx" else 0)).double()
    total = (each * counted).sum()
    return total if way.summed else total / counted.sum()


# --- judging ----------------------------------------------------------------------------------------------------------


def number(value: object) -> float | None:
    """The loss as it was returned, from a tensor of one number too; None for anything else."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    return plain_number(value)


def _same_parameters(got: Observed, expected: Observed) -> bool:
    return all(
        name in got.parameters
        and got.parameters[name].shape == right.shape
        and CLOSE.all_close(got.parameters[name].double(), right)
        for name, right in expected.parameters.items()
    )


def _right(session: Session, run: Run) -> tuple[Observed, ...]:
    return session.once(("right", run.name), lambda: simulated(run, Way()))


def _returns(name: str, call: int) -> Judge:
    """A judge: whether call number `call`, from 0, of the run `name` returns the loss before its step, as a plain
    number."""

    def judge(session: Session) -> Finding | None:
        run, seen, finding = observed(session)[name]
        if len(seen) <= call:
            return finding
        got, right = seen[call].returned, _right(session, run)[call].returned
        if got is None:
            return compare.returned_none(session.exercise)
        if plain_number(got) is None:
            return no_plain_number(got, NAME)
        if not close(plain_number(got), right):
            words = compare.apart(float(got), right)
            message = say(
                "`{name}` returned {got}, expected {expected}, the loss ({run}).",
                name=NAME,
                got=words[0],
                expected=words[1],
                run=say(name),
            )
            return Finding("wrong-values", message, hints=WRONG_LOSS)
        return None

    return judge


# By the number of the call.
UNMOVED = (
    "After the first call no parameter has changed ({run}).",
    "After the second call no parameter has changed ({run}).",
)
MOVED_ELSEWHERE = (
    "After the first call the parameters are not the expected ones ({run}).",
    "After the second call the parameters are not the expected ones ({run}).",
)
# By the mode after a call.
CHANGED_MODE = {
    False: "The model was in train mode before the call and is in eval mode after it.",
    True: "The model was in eval mode before the call and is in train mode after it.",
}


def _changes(name: str, call: int) -> Judge:
    """A judge: whether the parameters are right after call number `call`, from 0, of the run `name`."""

    def judge(session: Session) -> Finding | None:
        run, seen, finding = observed(session)[name]
        if len(seen) <= call:
            return finding
        if _same_parameters(seen[call], _right(session, run)[call]):
            return None
        before = seen[call - 1].parameters if call else run.data
        if all(torch.equal(tensor, before[place]) for place, tensor in seen[call].parameters.items()):
            return Finding("wrong-parameters", say(UNMOVED[call], run=say(name)))
        message = say(MOVED_ELSEWHERE[call], run=say(name))
        loss_is_right = close(number(seen[call].returned), _right(session, run)[call].returned)
        return Finding("wrong-parameters", message, hints=WRONG_STEP if loss_is_right else WRONG_LOSS)

    return judge


def _second_step(session: Session) -> Finding | None:
    """Whether the second call's parameters are right, and its loss, where the first call's is."""
    finding = _changes(USUAL, 1)(session)
    return finding or (_returns(USUAL, 1)(session) if _returns(USUAL, 0)(session) is None else None)


def _learns(name: str) -> Judge:
    """A judge: whether the parameters are right after both calls of the run `name`."""
    return lambda session: next((found for call in (0, 1) if (found := _changes(name, call)(session))), None)


def _once(earlier: Judge, later: Judge) -> Judge:
    """The judge `later`, whose findings stay unsaid while `earlier` doesn't pass: the same fault isn't told twice."""

    def judge(session: Session) -> Finding | None:
        finding = later(session)
        return not_judged("values-first") if finding is not None and earlier(session) is not None else finding

    return judge


def _after_values(judge: Judge) -> Judge:
    """The judge, asked only once the model learns as it should: a function that does nothing would pass."""

    def later(session: Session) -> Finding | None:
        _, _, finding = observed(session)[USUAL]
        if finding is not None:
            return finding
        return judge(session) if _learns(USUAL)(session) is None else not_judged("values-first")

    return later


def _keeps_mode(session: Session) -> Finding | None:
    for run, seen, finding in observed(session).values():
        if finding is not None:
            return finding
        for call in seen:
            if call.training is not bool(run.data["training"]):
                return Finding("changes-mode", say(CHANGED_MODE[call.training]))
    return None


def _lets_go(session: Session) -> Finding | None:
    if any(call.graph_held for _, seen, _ in observed(session).values() for call in seen):
        message = "After the call the graph of the loss is still held, so no step would free its memory."
        return Finding("graph-held", message)
    return None


def _leaves_ids(session: Session) -> Finding | None:
    if any(call.arguments_changed for _, seen, _ in observed(session).values() for call in seen):
        said = say("`{name}` changed `src` or `trg` in place. Make a new tensor instead.", name=NAME)
        return Finding("changes-argument", said)
    return None


# --- recognised -------------------------------------------------------------------------------------------------------


def trained(*ways: Way) -> Callable[[Session], bool]:
    """A recogniser that says whether losses and parameters of all runs are right or those of one way, and at least one
    is only the way's."""

    def recognise(session: Session) -> bool:
        found = list(observed(session).values())
        return all(seen for _, seen, _ in found) and any(_explains(session, way) for way in ways)

    return recognise


def _explains(session: Session, way: Way) -> bool:
    differs = False
    for run, seen, _ in observed(session).values():
        for got, wrong, right in zip(seen, simulated(run, way), _right(session, run), strict=False):
            fits = _same_parameters(got, wrong) and close(number(got.returned), wrong.returned)
            good = _same_parameters(got, right) and close(number(got.returned), right.returned)
            if not fits and not good:
                return False
            differs = differs or not good
    return differs


def _happened(*accepted: tuple[int, ...]) -> Callable[[Session], bool]:
    """A recogniser that says whether the events of the first call were one of these sequences, and no parameter has
    changed."""

    def recognise(session: Session) -> bool:
        run, seen, _ = observed(session)[USUAL]
        return bool(seen) and seen[0].events in accepted and not _has_changed(run, seen[0])

    return recognise


def _has_changed(run: Run, seen: Observed) -> bool:
    return any(not torch.equal(tensor, run.data[place]) for place, tensor in seen.parameters.items())


def _by_hand(session: Session) -> bool:
    """Whether the parameters change, though the optimiser took no step."""
    run, seen, _ = observed(session)[USUAL]
    steps = (STEP, STEP_WITHOUT_GRADIENTS)
    return bool(seen) and _has_changed(run, seen[0]) and not any(event in steps for event in seen[0].events)


def _several_steps(session: Session) -> bool:
    """Whether the first call took more than one step."""
    _, seen, _ = observed(session)[USUAL]
    return bool(seen) and seen[0].events.count(STEP) > 1


def _multiplied(session: Session) -> bool:
    """Whether the steps are right, but each returned loss is the right one times the number of sequences, of labels, or
    of real labels."""
    counts: dict[str, list[bool]] = {"sequences": [], "labels": [], "real labels": []}
    for run, seen, _ in observed(session).values():
        for (_, trg), got, right in zip(run.batches, seen, _right(session, run), strict=False):
            if not _same_parameters(got, right):
                return False
            labels = trg[:, 1:]
            times = (len(trg), labels.numel(), int((labels != run.pad_idx).sum()))
            for found, factor in zip(counts.values(), times, strict=True):
                found.append(close(number(got.returned), right.returned * factor))
    return any(found and all(found) for found in counts.values())


def _order(session: Session) -> bool:
    """Whether the first call took a step before its backward pass had made gradients."""
    _, seen, _ = observed(session)[USUAL]
    events = seen[0].events if seen else ()
    return STEP_WITHOUT_GRADIENTS in events and BACKWARD in events[events.index(STEP_WITHOUT_GRADIENTS) :]


def _mode_left(training: bool) -> Callable[[Session], bool]:
    """A recogniser that says whether models that came in the other mode are left in this one, and all others as they
    came."""

    def recognise(session: Session) -> bool:
        found = observed(session).values()
        left = [run for run, seen, _ in found if any(call.training is not bool(run.data["training"]) for call in seen)]
        return bool(left) and all(bool(run.data["training"]) is not training for run in left)

    return recognise


def _holds_graph(session: Session) -> bool:
    """Whether a graph is held after the call: a tensor was returned, or it is kept in another way."""
    seen = observed(session)[USUAL][1]
    return bool(seen) and seen[0].graph_held


def _no_gradients(session: Session) -> bool:
    words = ("does not require grad", "'float' object has no attribute 'backward'")
    return any(word in raised.message for raised in session.raised for word in words)


def _exchanged(session: Session) -> bool:
    """Whether the model was given ids that only the other language has, so that source and target changed places."""
    return any("out of bounds" in raised.message or "out of range" in raised.message for raised in session.raised[:1])


def _graph_freed(session: Session) -> bool:
    return any("backward through the graph a second time" in raised.message for raised in session.raised)


UNSHIFTED = (
    *(Way(given=cut, wanted=cut) for cut in ("all", "input", "labels")),
    Way(given="all", copied=True),
)

EXERCISE = Exercise(
    name=NAME,
    lesson=LESSON,
    points=4,
    signature=("model", "optimizer", "src", "trg", "pad_idx"),
    cases=_cases,
    parts=(
        Part("returns the loss before the step", 2, _returns(USUAL, 0)),
        Part("changes the parameters by one step", 3, _changes(USUAL, 0)),
        Part("starts the second step afresh", 1, _once(_changes(USUAL, 0), _second_step)),
        Part("starts the first step afresh too", 1, _once(_learns(USUAL), _learns(LEFTOVER))),
        Part("trains in train mode", 2, _once(_learns(USUAL), _learns(FROM_EVAL))),
        Part("leaves out padding, whatever its id", 1, _once(_learns(USUAL), _learns(OTHER))),
        Part("leaves the model in the mode it was in", 1.5, _after_values(_keeps_mode), compares_values=False),
        Part("holds no graph after the call", 0.5, _after_values(_lets_go), compares_values=False),
        Part("leaves `src` and `trg` as they were", 0.5, _after_values(_leaves_ids), compares_values=False),
    ),
    mistakes=(
        mistake("gradients-off", recognise=_no_gradients),
        mistake("source-and-target-exchanged", recognise=_exchanged),
        mistake("backward-twice", recognise=_graph_freed),
        mistake("step-before-backward", recognise=_order),
        mistake("gradients-cleared-too-late", recognise=_happened((FORWARD, BACKWARD, STEP_WITHOUT_GRADIENTS))),
        mistake("step-forgotten", recognise=_happened((FORWARD, BACKWARD))),
        mistake("optimizer-not-used", recognise=_by_hand),
        mistake("several-steps", recognise=_several_steps),
        mistake("backward-forgotten", recognise=_happened((FORWARD, STEP_WITHOUT_GRADIENTS), (FORWARD,))),
        mistake("target-not-shifted", recognise=trained(*UNSHIFTED)),
        mistake("shifted-backwards", recognise=trained(Way(given="labels", wanted="input"))),
        mistake("gradients-from-before", recognise=trained(Way(from_nothing="later"))),
        mistake("gradients-add-up", recognise=trained(Way(from_nothing="never"))),
        mistake("loss-after-the-step", recognise=trained(Way(loss_after=True), Way(loss_after=True, mode_after=False))),
        mistake("loss-multiplied", recognise=_multiplied),
        mistake("pad-idx-ignored", recognise=trained(Way(padding="zero"))),
        mistake("padding-counted", recognise=trained(Way(padding=None))),
        mistake("summed", recognise=trained(Way(summed=True))),
        mistake("softmax-applied-twice", recognise=trained(Way(twice=True))),
        mistake("mode-not-switched", recognise=trained(Way(mode=None))),
        mistake("trains-in-eval-mode", recognise=trained(Way(mode=False))),
        mistake("left-in-train-mode", recognise=_mode_left(True)),
        mistake("left-in-eval-mode", recognise=_mode_left(False)),
        mistake("keeps-the-graph", recognise=_holds_graph),
    ),
    builds_on=("shift_target", "sequence_loss"),
    seconds=30,  # an optimiser of torch's own imports torch's compiler, which takes seconds
)
