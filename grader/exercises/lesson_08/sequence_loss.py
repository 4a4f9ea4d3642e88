"""`sequence_loss`: the mean cross-entropy of the labels that are not padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.sentences import say
from grader.spec import compare, diagnose, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import COARSE, FLOAT32

spec = Spec(__name__)


def reference(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """The right `sequence_loss`, by PyTorch, label by label: logits (B, T, V) and labels (B, T) give the mean loss of
    the labels that aren't padding, a scalar in nats; 0 if all are padding."""
    rows, columns = (labels != pad_idx).nonzero(as_tuple=True)
    if len(rows) == 0:
        return (logits * 0).sum()
    losses = [F.cross_entropy(logits[r, c], labels[r, c]) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
    return torch.stack(losses).mean()


# --- cases ------------------------------------------------------------------------------------------------------------


def _labels(draw: Draw, lengths: list[int], width: int, vocab: int, pad: int) -> Tensor:
    """Labels, (len(lengths), width), all below `vocab`: each row has as many real ones as `lengths` says, then padding.
    Id 0 is among the real ones where it isn't the padding's."""
    labels = draw.integers((len(lengths), width), 0, vocab - 1)
    labels += (labels >= pad).long()  # any id but the padding's
    for row, length in enumerate(lengths):
        if length > 1 and pad != 0:
            labels[row, row % length] = 0
        labels[row, length:] = pad
    return labels


RULED_OUT = "labels that the model rules out"
LOSSES = (25.0, 60.0)  # less than float32 loses: softmax gives 1e-11 and 1e-26 for the label


def _ruled_out(case: Case) -> Case:
    """The case with logits so far below the others at each label that the losses are about 25 and 60, in turn."""
    logits, labels = case.args["logits"], case.args["labels"]
    below = torch.tensor(LOSSES).repeat(labels.numel())[: labels.numel()].reshape(labels.shape)
    return replace(case, args={**case.args, "logits": logits - below[..., None] * F.one_hot(labels, logits.shape[-1])})


def _cases(draw: Draw) -> list[Case]:
    batch, width = draw.integer(4, 6), draw.integer(6, 8)
    vocab = draw.integer(9, 13)
    pad = draw.integer(2, vocab - 1)
    ragged = [width - (3 * row) % (width - 1) for row in range(batch)]

    def case(
        name: str,
        lengths: list[int],
        pad: int = pad,
        dtype: torch.dtype = torch.float32,
        scale: float = 0,
        offset: float = 0,
        comparable: bool = True,
    ) -> Case:
        shape = (len(lengths), width, vocab)
        logits = draw.uniform(shape, -scale, scale) if scale else 2 * draw.normal(shape)
        logits = (logits + offset * (1 - 2 * (torch.arange(width) % 2))[:, None]).to(dtype)
        args = {"logits": logits, "labels": _labels(draw, lengths, width, vocab, pad), "pad_idx": pad}
        return Case(name, args, {"B": len(lengths), "T": width, "V": vocab}, comparable=comparable)

    return [
        case("nothing padded", [width] * batch),
        case("a batch", ragged),
        case("padding with id 0", ragged[::-1], pad=0),
        case("a sequence of padding only", [2, 0, width - 1]),
        case("one label that is not padding", [0, 1, 0]),
        case("all padding", [0] * batch),
        case("float64", ragged, dtype=torch.float64),
        _ruled_out(case(RULED_OUT, [width] * batch)),
        case("entries up to 200", ragged, scale=200, comparable=False),
        case("offsets of 1000", ragged, offset=1000, comparable=False),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _each(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of every label, padding too, in nats: logits (B, T, V) and labels (B, T) give (B, T)."""
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")


def _counted(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return _each(logits, labels).mean()


def _counted_below(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """A wrong loss: padding is left out of the sum, but counted in the divisor."""
    return (_each(logits, labels) * (labels != pad_idx)).mean()


def _counted_above(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """A wrong loss: padding is in the sum, while the divisor counts only the real labels."""
    return _each(logits, labels).sum() / (labels != pad_idx).sum().clamp(min=1)


def _counted_flat(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """A wrong loss: padding's logits are set to 0, so that each padding costs log(V)."""
    return _counted(logits * (labels != pad_idx)[..., None], labels, pad_idx)


def _if_any(variant: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same loss as `variant`, but NaN if all labels are padding."""
    return lambda logits, labels, pad: variant(logits, labels, pad) / (labels != pad).any()


def _per_sequence(empty: bool) -> Callable[..., Tensor]:
    def variant(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
        """A wrong loss: the mean of the means of the sequences. If `empty`, one without labels counts with 0."""
        real = labels != pad_idx
        means = (_each(logits, labels) * real).sum(1) / real.sum(1).clamp(min=1)
        return means.mean() if empty else means[real.any(1)].sum() / real.any(1).sum().clamp(min=1)

    return variant


def _per_sequence_nan(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    real = labels != pad_idx
    return ((_each(logits, labels) * real).sum(1) / real.sum(1)).mean()


def _by_batch(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return (_each(logits, labels) * (labels != pad_idx)).sum(1).mean()


def _twice(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    real = labels != pad_idx
    return (_each(logits.softmax(-1), labels) * real).sum() / real.sum().clamp(min=1)


def _twice_nan(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return F.cross_entropy(logits.softmax(-1).flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


def _nan(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


def _zero_is_padding(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)


def _zero_is_padding_safe(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return _zero_is_padding(logits, labels, pad_idx).nan_to_num(0.0)


def _no_log(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    real = labels != pad_idx
    return F.nll_loss(logits.softmax(-1)[real], labels[real])


def _mean(losses: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """The mean of losses (B, T) over the labels (B, T) that aren't padding, a scalar; 0 if there are none."""
    real = labels != pad_idx
    return (losses * real).sum() / real.sum().clamp(min=1)


def _picked(scores: Tensor, labels: Tensor) -> Tensor:
    """The score of each label: scores (B, T, V) and labels (B, T) give (B, T)."""
    return scores.gather(-1, labels[..., None])[..., 0]


def _guarded(wrong: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], ...]:
    """Two wrong losses, the mean over real labels of what `wrong` makes, (B, T), from logits and labels. If all labels
    are padding they are 0 and NaN."""

    def safe(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
        return _mean(wrong(logits, labels), labels, pad_idx)

    return safe, _if_any(safe)


def _reshaped(logits: Tensor, labels: Tensor) -> Tensor:
    """Wrong losses, (B, T): logits (B, T, V) are reshaped to (B, V, T) in place of being transposed."""
    batch, length, vocab = logits.shape
    return F.cross_entropy(logits.reshape(batch, vocab, length), labels, reduction="none")


def _transposed_rows(logits: Tensor, labels: Tensor) -> Tensor:
    """Wrong losses, (B, T): logits are laid out by position and labels by sequence."""
    losses = F.cross_entropy(logits.transpose(0, 1).flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view(labels.shape)


def _transposed_labels(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """A wrong loss: labels are laid out by position and logits by sequence."""
    other = labels.T.flatten()
    return _mean(F.cross_entropy(logits.flatten(0, 1), other, reduction="none"), other, pad_idx)


def _shifted_again(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return _mean(_each(logits[:, :-1], labels[:, 1:]), labels[:, 1:], pad_idx)


def _padding_alone(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """A wrong loss: the mean over the padding."""
    pads = labels == pad_idx
    return (_each(logits, labels) * pads).sum() / pads.sum().clamp(min=1)


def _cut_from_logits(session: Session) -> bool:
    """Whether the 0 of nothing but padding can't be differentiated, and other losses can."""
    nothing, batch = (session.call(session.cases[name], gradients=True) for name in ("all padding", "a batch"))
    return nothing.ok and nothing.gradients is None and batch.ok and batch.gradients is not None


def _gradient_of_nothing(session: Session) -> Finding | None:
    """Why the gradient of the logits isn't zero where all labels are padding; None if it is, or can't be had at all."""
    gradients = session.call(session.cases["all padding"], gradients=True).gradients
    got = gradients.get("0") if gradients is not None else None
    if got is None or not bool((got != 0).any()):
        return None
    number = compare.in_digits(float(got[got != 0][0]))
    message = say(
        "If all labels are padding, the gradient of the logits should be zero, but your code gives {number}.",
        number=number,
    )
    return Finding("wrong-gradient", message)


def _softmax_first(session: Session) -> bool:
    """Whether all is right except for labels of very small probability, whose loss comes out too small or infinite, as
    from the logarithm of a softmax."""
    others = [case for case in diagnose.comparable(session) if case.name != RULED_OUT]
    if not all(diagnose.right(session, case) for case in others):
        return False
    if parts.inspect_call(session, session.cases["offsets of 1000"], COARSE) is not None:
        return False  # not a softmax: its exponentials overflow
    ruled_out, large = (session.call(session.cases[name]) for name in (RULED_OUT, "entries up to 200"))
    values = [outcome.value for outcome in (ruled_out, large) if outcome.ok and isinstance(outcome.value, Tensor)]
    if len(values) < 2 or any(value.numel() != 1 for value in values):
        return False
    too_small = bool(values[0] < session.expected(session.cases[RULED_OUT])[0] - 0.01)
    return too_small or any(bool(torch.isinf(value).any()) for value in values)


def _classes_elsewhere(session: Session) -> bool:
    """Whether `F.cross_entropy` raised, because axis 1 of the logits isn't the vocabulary's or too many axes were
    flattened."""
    raised = [session.call(case).raised for case in session.real_cases()]
    words = ("Expected target size", "Expected input batch_size", "1D target must have size", "only batches of spatial")
    return any(error is not None and any(word in error.message for word in words) for error in raised)


# --- the exercise -----------------------------------------------------------------------------------------------------


def _no_padding_no_loss(weight: float) -> Part:
    """A part that passes if the loss of nothing but padding is 0, and a 0 that can be differentiated. It waits until
    usual losses are right: a function that always returns 0 earns nothing."""

    def judge(session: Session) -> Finding | None:
        if parts.inspect_call(session, session.cases["a batch"], FLOAT32) is not None:
            return not_judged("values-first")
        finding = parts.inspect_call(session, session.cases["all padding"], FLOAT32)
        if finding is None and _cut_from_logits(session):
            message = "If all labels are padding, the result is 0, but `.backward()` fails because it has no gradient."
            return Finding("zero-cut-from-logits", message)
        return finding or _gradient_of_nothing(session)

    return Part("is 0 if all labels are padding", weight, judge)


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"loss": ""},
    cases=_cases,
    parts=(
        parts.shape("nothing padded"),
        parts.values("is the mean cross-entropy where nothing is padded", 2, "nothing padded"),
        parts.values("counts no padding, whatever its id", 3, "a batch", "padding with id 0"),
        parts.values(
            "takes a sequence that is padding only", 1, "a sequence of padding only", "one label that is not padding"
        ),
        _no_padding_no_loss(1),
        parts.values("is right for labels that the model rules out", 0.5, RULED_OUT),
        parts.finite("stays finite with large entries", 0.5, "entries up to 200", after="a batch"),
        parts.offsets("ignores a common offset of a row", 0.5, "offsets of 1000"),
        parts.float64(single="a batch", weight=0.5),
        parts.unchanged("a batch", 0.5),
        parts.gradients("a batch"),
    ),
    mistakes={
        "nan-when-all-padding": _nan,
        "softmax-before-the-logarithm": When(_softmax_first),
        "padding-counted": (_counted, _counted_below, _counted_above, _counted_flat, _if_any(_counted_above)),
        "reshaped-instead-of-transposed": _guarded(_reshaped),
        "vocabulary-on-another-axis": When(_classes_elsewhere),
        "rows-mixed-up": (*_guarded(_transposed_rows), _transposed_labels),
        "shifted-again": (_shifted_again, _if_any(_shifted_again)),
        "only-padding-counted": (_padding_alone, lambda *a: _padding_alone(*a) / (a[1] == a[2]).any()),
        "sign-flipped": _guarded(lambda logits, labels: -_each(logits, labels)),
        "bits-instead-of-nats": _guarded(lambda logits, labels: _each(logits, labels) / math.log(2)),
        "softmax-over-positions": tuple(
            variant
            for axis in (0, 1)
            for variant in _guarded(lambda s, labels, axis=axis: -_picked(s.log_softmax(axis), labels))
        ),
        "softmax-forgotten": _guarded(lambda logits, labels: -_picked(logits, labels)),
        "divided-by-batch": _by_batch,
        "mean-per-sequence": (
            _per_sequence(True),
            _per_sequence(False),
            _if_any(_per_sequence(False)),
            _per_sequence_nan,
        ),
        "softmax-applied-twice": (
            _twice,
            _twice_nan,
            *(lambda *a, of=of: of(a[0].softmax(-1), *a[1:]) for of in (_counted, _counted_below)),
        ),
        "summed": (
            lambda logits, labels, pad: (_each(logits, labels) * (labels != pad)).sum(),
            lambda logits, labels, pad: _each(logits, labels).sum(),
            lambda logits, labels, pad: (_each(logits, labels) * (labels != pad)).sum(0).mean(),
        ),
        "pad-idx-ignored": (_zero_is_padding, _zero_is_padding_safe),
        "log-forgotten": _no_log,
        "zero-cut-from-logits": When(_cut_from_logits),
    },
)
