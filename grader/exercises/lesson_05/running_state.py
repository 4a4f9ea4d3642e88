"""BatchNorm over several batches: what the student's module gives, what `nn.BatchNorm1d` gives, and wrong variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.lesson_05.mistakes import Combine, Divide, inside, scaled_and_shifted
from grader.exercises.lesson_05.shared import EPS, batch_sizes
from grader.sentences import say
from grader.spec import compare
from grader.spec.diagnose import CLOSE_TO_VARIANT, RIGHT
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Setup
from grader.spec.session import Session
from grader.subject import Outcome, Request
from grader.tolerance import FLOAT32, Tolerance

MODES = {True: say("train mode"), False: say("eval mode")}
STATS = ("running_mean", "running_var")


@dataclass(frozen=True)
class ModeBatch:
    """One batch, x (B, E), in train mode (`training`) or eval mode."""

    training: bool
    x: Tensor


@dataclass(frozen=True)
class Run:
    """A module that is built once, by `setup`, and called with the batches of `steps` in order."""

    setup: Setup
    steps: tuple[ModeBatch, ...]

    @property
    def eps(self) -> float:
        """The module's eps, 1e-5 unless the setup gives one."""
        return float(self.setup.init[1]) if len(self.setup.init) > 1 else 1e-5

    @property
    def momentum(self) -> float:
        """The share of a new batch in the running statistics, 0.1 unless the setup gives one."""
        return float(self.setup.init[2]) if len(self.setup.init) > 2 else 0.1


@dataclass(frozen=True)
class Observed:
    """What one step gave: its output, (B, E), and the running mean and variance after it, (E,)."""

    output: Tensor
    mean: Tensor
    var: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The output, the running mean and the running variance."""
        return self.output, self.mean, self.var


def drawn_state(draw: Draw, width: int) -> dict[str, Tensor]:
    """Parameters and running statistics by name, each (width,). No value is the initial one: a weight of one hides a
    missing weight."""
    return {
        "weight": draw.normal((width,)),
        "bias": draw.normal((width,)),
        "running_mean": draw.normal((width,), 2),
        "running_var": draw.uniform((width,), 0.5, 4),
    }


def runs(draw: Draw) -> tuple[Run, Run]:
    """Two runs: a module with its defaults, and one with its own eps and momentum that gets batches of two."""
    sizes = batch_sizes(draw)
    width = sizes["E"]

    def steps(rows: int, modes: str) -> tuple[ModeBatch, ...]:
        return tuple(ModeBatch(mode == "t", draw.normal((rows, width), 1.5) + draw.normal((width,))) for mode in modes)

    usual = Run(Setup((width,), drawn_state(draw, width), True), steps(sizes["B"], "tteet"))
    own = Run(Setup((width, EPS, 0.3), drawn_state(draw, width), True), steps(2, "ttete"))
    return usual, own


# --- the student's ----------------------------------------------------------------------------------------------------


def observed(session: Session) -> tuple[tuple[Run, tuple[Observed, ...], Finding | None], ...]:
    """Every run with what the student's module gave, step by step, up to the first failure, and with the failure's
    finding, or None."""
    return session.once("runs", lambda: tuple((run, *_observe(session, run)) for run in runs(session.draw)))


def _observe(session: Session, run: Run) -> tuple[tuple[Observed, ...], Finding | None]:
    handle = "several batches"
    outcome = session.build(run.setup, handle)
    seen: list[Observed] = []
    if not outcome.ok:
        return (), compare.run_error(outcome, session.exercise)
    for step in run.steps:
        outcome = session.ask(Request("mode", f"@{handle}", (step.training, "float32")))
        outcome = session.ask(Request("call", f"@{handle}", (step.x,))) if outcome.ok else outcome
        state = session.ask(Request("state", f"@{handle}")) if outcome.ok else outcome
        finding = compare.run_error(state, session.exercise) or _mismatch(outcome, state, step, session)
        if finding is not None:
            return tuple(seen), finding
        tensors = {**state.value["parameters"], **state.value["buffers"]}
        seen.append(Observed(outcome.value, *(tensors[name] for name in STATS)))
    return tuple(seen), None


def _mismatch(outcome: Outcome, state: Outcome, step: ModeBatch, session: Session) -> Finding | None:
    """Why a step's output or statistics can't be compared, such as a wrong shape; None if they can."""
    finding = compare.structure(outcome.value, session.exercise)
    if finding is not None:
        return finding
    tensors = {**state.value["parameters"], **state.value["buffers"]}
    for name, tensor, shape in (
        (say("the result"), outcome.value, step.x.shape),
        *((n, tensors.get(n), step.x.shape[1:]) for n in STATS),
    ):
        if not isinstance(tensor, Tensor) or tensor.shape != shape:
            said = say(
                "After a batch in {mode}, {what} is {got}, expected {shape}.",
                mode=MODES[step.training],
                what=name,
                got=compare.in_words(tensor),
                shape=tuple(shape),
            )
            return Finding("wrong-shape", said)
    return None


def pytorch_steps(run: Run) -> tuple[Observed, ...]:
    """What `nn.BatchNorm1d` gives at every step of a run, in float64."""
    module = nn.BatchNorm1d(run.setup.init[0], run.eps, run.momentum).to(torch.float64)
    module.load_state_dict({**run.setup.state, "num_batches_tracked": torch.tensor(0)})
    seen = []
    with torch.no_grad():
        for step in run.steps:
            output = module.train(step.training)(step.x.to(torch.float64))
            seen.append(Observed(output, module.running_mean.clone(), module.running_var.clone()))  # type: ignore[union-attr]
    return tuple(seen)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


Update = Callable[[Tensor, Tensor, float], Tensor]  # of the old statistic, the batch's and the momentum


def weighted(old: Tensor, now: Tensor, momentum: float) -> Tensor:
    """The right update of a running statistic: `momentum` is the share of the batch's, `now`."""
    return (1 - momentum) * old + momentum * now


@dataclass(frozen=True)
class BatchNormVariant:
    """A BatchNorm with the given parts changed."""

    update: Update = weighted  # how the running statistics come from the old ones and the batch's
    updated: tuple[str, ...] = ("mean", "var")  # which of them move
    biased: bool = False  # the variance by which they move is divided by n
    modes_swapped: bool = False
    eval_uses_batch: bool = False
    moves_in_eval: str = ""  # they move in eval mode too, "before" or "after" the normalisation
    train_uses_running: str = ""  # train mode normalises with them, as they are "before" or "after" the update
    correction: int = 0  # this and what follows: as in `NormVariant`
    axis: int = 0
    divide: Divide = inside
    combine: Combine = scaled_and_shifted

    def walk(self, run: Run) -> Iterator[Observed]:
        """What the variant gives at every step of a run, in float64, one by one: the first step already rules out most
        variants."""
        state = {name: tensor.to(torch.float64) for name, tensor in run.setup.state.items()}
        for step in run.steps:
            yield self._step(run, state, step)

    def _step(self, run: Run, state: dict[str, Tensor], step: ModeBatch) -> Observed:
        x = step.x.to(torch.float64)
        old = (state["running_mean"], state["running_var"])
        new = old
        training = step.training != self.modes_swapped
        if training or self.moves_in_eval:
            new = self._moved(run, old, x)
            state["running_mean"], state["running_var"] = new
        mean, var = x.mean(self.axis, keepdim=True), x.var(self.axis, correction=self.correction, keepdim=True)
        if training and self.train_uses_running:
            mean, var = new if self.train_uses_running == "after" else old
        if not training and not self.eval_uses_batch:
            mean, var = new if self.moves_in_eval == "before" else old
        result = self.combine(x, mean, self.divide(var, run.eps), state["weight"], state["bias"])
        return Observed(result, *new)

    def _moved(self, run: Run, old: tuple[Tensor, Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
        news = (x.mean(0), x.var(0, correction=0 if self.biased else 1))

        def moved(name: str, before: Tensor, now: Tensor) -> Tensor:
            return (self.update if name in self.updated else weighted)(before, now, run.momentum)

        return moved("mean", old[0], news[0]), moved("var", old[1], news[1])


def named(session: Session, wrong: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The name of the first mistake with a variant that gives what the student's module gave wherever that is wrong,
    alone or combined with another mistake's variant; empty if there is none. `wrong` holds what the variants of each
    mistake change."""
    return session.once("named mistake", lambda: _named(session, wrong))


def _named(session: Session, wrong: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    if any(finding is not None for _, _, finding in observed(session)):
        return ""
    if first_wrong(session, ("output", "mean", "var"), None) is None:
        return ""
    changes = [(name, change) for name, several in wrong.items() for change in several]
    for name, change in changes:
        if _fits(session, BatchNormVariant(**change)):
            return name
    for (name, change), (other, other_change) in combinations(changes, 2):
        if name != other and _fits(session, BatchNormVariant(**{**other_change, **change})):
            return name
    return ""


def _fits(session: Session, variant: BatchNormVariant) -> bool:
    wrong = False
    for run, seen, _ in observed(session):
        for got, right, wrong_step in zip(seen, expected_steps(session, run), variant.walk(run), strict=True):
            for a, b, c in zip(got.tensors(), right.tensors(), wrong_step.tensors(), strict=True):
                if _close(a, b, RIGHT):
                    continue
                if not _close(a, c, CLOSE_TO_VARIANT):
                    return False
                wrong = True
    return wrong


def expected_steps(session: Session, run: Run) -> tuple[Observed, ...]:
    """The steps of `pytorch_steps`, computed once for a run."""
    return session.once(id(run), lambda: pytorch_steps(run))


def _close(left: Tensor, right: Tensor, tolerance: Tolerance) -> bool:
    return bool((tolerance.close(left, right) | (torch.isnan(left) & torch.isnan(right))).all())


def first_wrong(
    session: Session, which: Sequence[str], training: bool | None, upto: int | None = None
) -> Finding | None:
    """The first step after which an output or a statistic is wrong, or else what made a run fail; None if there is
    neither. `which`: "output", "mean", "var"; `training` picks the mode (None: both), `upto` the first steps."""
    for run, seen, finding in observed(session):
        for number, (step, got_step, expected_step) in enumerate(
            zip(run.steps, seen, expected_steps(session, run), strict=False), 1
        ):
            if training not in (None, step.training) or (upto is not None and number > upto):
                continue
            for name in which:
                got, expected = getattr(got_step, name), getattr(expected_step, name)
                if not _close(got, expected, FLOAT32):
                    return _wrong_values(run, number, step, name, got, expected)
        if finding is not None:
            return finding
    return None


def _wrong_values(run: Run, number: int, step: ModeBatch, name: str, got: Tensor, expected: Tensor) -> Finding:
    said = say(
        "After batch {number} ({rows} rows, {mode}), {what} is not that of `nn.BatchNorm1d` (momentum "
        "{momentum}, eps {eps}).",
        number=number,
        rows=step.x.shape[0],
        mode=MODES[step.training],
        what=say("the result") if name == "output" else f"`running_{name}`",
        momentum=f"{run.momentum:g}",
        eps=f"{run.eps:g}",
    )
    return Finding(
        "wrong-values",
        said,
        got=got[:8, :8] if got.dim() > 1 else got[:8],
        expected=(expected[:8, :8] if expected.dim() > 1 else expected[:8]).to(got.dtype),
    )
