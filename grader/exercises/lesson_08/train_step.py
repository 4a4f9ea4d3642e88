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

from grader.exercises.lesson_08.shared import close, no_plain_number, plain_number
from grader.exercises.lesson_08.training import Judge, Observed, Training, has_no_gradients, same_parameters
from grader.sentences import say
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Given
from grader.subject.translator import BACKWARD, FORWARD, STEP, STEP_WITHOUT_GRADIENTS, Trainee

spec = Spec(__name__)

BOS, EOS = 1, 2
USUAL, FROM_EVAL, OTHER = "a model in train mode", "a model in eval mode", "another pad_idx"
LEFTOVER = "a model with gradients from before"
# Where no mistake is known.
WRONG_LOSS = (
    "The loss depends on what the model is given, on the mode it runs in, and on what its logits are compared with.",
    "Print these three in the first call, and look at what you do to the loss before you return it.",
)
WRONG_STEP = (
    "The loss is right, so the fault comes after it.",
    "Which lines change `.grad` or the parameters? In which order do they run, and how often does each?",
)


GRAPH_HELD = "After the call the graph of the loss is still held, so no step would free its memory."
IDS_CHANGED = "`{name}` changed `src` or `trg` in place. Make a new tensor instead."


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

    @property
    def given(self) -> list[dict[str, Any]]:
        """The arguments of each call, by name."""
        here = {"handle": self.name}
        known = {"model": Given("built", here), "optimizer": Given("optimizer", here)}
        return [{**known, "src": src, "trg": trg, "pad_idx": self.pad_idx} for src, trg in self.batches]


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


def number(value: object) -> float | None:
    """The loss as it was returned, from a tensor of one number too; None for anything else."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    return plain_number(value)


def _same_loss(got: Observed, expected: Observed) -> bool:
    return close(number(got.returned), expected.returned)


def _hints(got: object, right: float) -> tuple[str, ...]:
    return WRONG_STEP if close(number(got), right) else WRONG_LOSS


TRAINING = Training(spec.name, "trainee", runs, USUAL, simulated, Way(), _same_loss, _hints)
trained, changes, observed = TRAINING.trained, TRAINING.changes, TRAINING.observed


# --- judging ----------------------------------------------------------------------------------------------------------


def _returns(name: str, call: int) -> Judge:
    """A judge: whether call number `call`, from 0, of the run `name` returns the loss before its step, as a plain
    number."""

    def judge(session: Session) -> Finding | None:
        run, seen, finding = observed(session)[name]
        if len(seen) <= call:
            return finding
        got, right = seen[call].returned, TRAINING.expected(session, run)[call].returned
        if got is None:
            return compare.returned_none(session.exercise)
        if plain_number(got) is None:
            return no_plain_number(got, spec.name)
        if not close(plain_number(got), right):
            words = compare.apart(float(got), right)
            message = say(
                "`{name}` returned {got}, expected {expected}, the loss ({run}).",
                name=spec.name,
                got=words[0],
                expected=words[1],
                run=say(name),
            )
            return Finding("wrong-values", message, hints=WRONG_LOSS)
        return None

    return judge


def _second_step(session: Session) -> Finding | None:
    """Whether the second call's parameters are right, and its loss, where the first call's is."""
    finding = changes(USUAL, 1)(session)
    return finding or (_returns(USUAL, 1)(session) if _returns(USUAL, 0)(session) is None else None)


def _learns(name: str) -> Judge:
    """A judge: whether the parameters are right after both calls of the run `name`."""
    return lambda session: next((found for call in (0, 1) if (found := changes(name, call)(session))), None)


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


# --- recognised -------------------------------------------------------------------------------------------------------


def _happened(*accepted: tuple[int, ...]) -> Callable[[Session], bool]:
    """A recogniser that says whether the events of the first call were one of these sequences, and no parameter has
    changed."""

    def recognise(session: Session) -> bool:
        seen = TRAINING.first(session)
        return seen is not None and seen.events in accepted and not TRAINING.has_changed(session)

    return recognise


def _by_hand(session: Session) -> bool:
    """Whether the parameters change, though the optimiser took no step."""
    seen = TRAINING.first(session)
    took_a_step = seen is not None and {STEP, STEP_WITHOUT_GRADIENTS} & {*seen.events}
    return seen is not None and TRAINING.has_changed(session) and not took_a_step


def _several_steps(session: Session) -> bool:
    """Whether the first call took more than one step."""
    seen = TRAINING.first(session)
    return seen is not None and seen.events.count(STEP) > 1


def _multiplied(session: Session) -> bool:
    """Whether the steps are right, but each returned loss is the right one times the number of sequences, of labels, or
    of real labels."""
    counts: dict[str, list[bool]] = {"sequences": [], "labels": [], "real labels": []}
    for run, seen, _ in observed(session).values():
        for (_, trg), got, right in zip(run.batches, seen, TRAINING.expected(session, run), strict=False):
            if not same_parameters(got, right):
                return False
            labels = trg[:, 1:]
            times = (len(trg), labels.numel(), int((labels != run.pad_idx).sum()))
            for found, factor in zip(counts.values(), times, strict=True):
                found.append(close(number(got.returned), right.returned * factor))
    return any(found and all(found) for found in counts.values())


def _order(session: Session) -> bool:
    """Whether the first call took a step before its backward pass had made gradients."""
    seen = TRAINING.first(session)
    events = seen.events if seen else ()
    return STEP_WITHOUT_GRADIENTS in events and BACKWARD in events[events.index(STEP_WITHOUT_GRADIENTS) :]


def _exchanged(session: Session) -> bool:
    """Whether the model was given ids that only the other language has, so that source and target changed places."""
    return any("out of bounds" in raised.message or "out of range" in raised.message for raised in session.raised[:1])


def _graph_freed(session: Session) -> bool:
    return any("backward through the graph a second time" in raised.message for raised in session.raised)


UNSHIFTED = (
    *(Way(given=cut, wanted=cut) for cut in ("all", "input", "labels")),
    Way(given="all", copied=True),
)

EXERCISE = spec.exercise(
    points=4,
    signature=("model", "optimizer", "src", "trg", "pad_idx"),
    cases=TRAINING.cases,
    parts=(
        Part("returns the loss before the step", 2, _returns(USUAL, 0)),
        Part("changes the parameters by one step", 3, changes(USUAL, 0)),
        Part("starts the second step afresh", 1, _once(changes(USUAL, 0), _second_step)),
        Part("starts the first step afresh too", 1, _once(_learns(USUAL), _learns(LEFTOVER))),
        Part("trains in train mode", 2, _once(_learns(USUAL), _learns(FROM_EVAL))),
        Part("leaves out padding, whatever its id", 1, _once(_learns(USUAL), _learns(OTHER))),
        Part("leaves the model in the mode it was in", 1.5, _after_values(TRAINING.keeps_mode), compares_values=False),
        Part("holds no graph after the call", 0.5, _after_values(TRAINING.lets_go(GRAPH_HELD)), compares_values=False),
        Part(
            "leaves `src` and `trg` as they were",
            0.5,
            _after_values(TRAINING.leaves_arguments(IDS_CHANGED)),
            compares_values=False,
        ),
    ),
    mistakes={
        "gradients-off": When(has_no_gradients),
        "source-and-target-exchanged": When(_exchanged),
        "backward-twice": When(_graph_freed),
        "step-before-backward": When(_order),
        "gradients-cleared-too-late": When(_happened((FORWARD, BACKWARD, STEP_WITHOUT_GRADIENTS))),
        "step-forgotten": When(_happened((FORWARD, BACKWARD))),
        "optimizer-not-used": When(_by_hand),
        "several-steps": When(_several_steps),
        "backward-forgotten": When(_happened((FORWARD, STEP_WITHOUT_GRADIENTS), (FORWARD,))),
        "target-not-shifted": When(trained(*UNSHIFTED)),
        "shifted-backwards": When(trained(Way(given="labels", wanted="input"))),
        "gradients-from-before": When(trained(Way(from_nothing="later"))),
        "gradients-add-up": When(trained(Way(from_nothing="never"))),
        "loss-after-the-step": When(trained(Way(loss_after=True), Way(loss_after=True, mode_after=False))),
        "loss-multiplied": When(_multiplied),
        "pad-idx-ignored": When(trained(Way(padding="zero"))),
        "padding-counted": When(trained(Way(padding=None))),
        "summed": When(trained(Way(summed=True))),
        "softmax-applied-twice": When(trained(Way(twice=True))),
        "mode-not-switched": When(trained(Way(mode=None))),
        "trains-in-eval-mode": When(trained(Way(mode=False))),
        "left-in-train-mode": When(TRAINING.mode_left(True)),
        "left-in-eval-mode": When(TRAINING.mode_left(False)),
        "keeps-the-graph": When(TRAINING.holds_graph),
    },
    builds_on=("shift_target", "sequence_loss"),
    seconds=30,  # an optimiser of torch's own imports torch's compiler, which takes seconds
)
