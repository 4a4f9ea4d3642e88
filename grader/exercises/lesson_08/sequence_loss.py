"""`sequence_loss`: the mean cross-entropy of the labels that are not padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_08.shared import LESSON
from grader.spec import diagnose, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part, not_judged
from grader.spec.session import Session
from grader.tolerance import COARSE, FLOAT32


def reference(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """PyTorch's own, label by label."""
    rows, columns = (labels != pad_idx).nonzero(as_tuple=True)
    if len(rows) == 0:
        return (logits * 0).sum()
    losses = [F.cross_entropy(logits[r, c], labels[r, c]) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
    return torch.stack(losses).mean()


# --- cases ------------------------------------------------------------------------------------------------------------


def _labels(draw: Draw, lengths: list[int], width: int, vocab: int, pad: int) -> Tensor:
    """Real labels, id 0 among them, then padding; `lengths` says how many are real."""
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
    """Losses of about 25 and 60 at every other place: the label's logit is so far below the others."""
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
    """The loss of every label, padding too: (B, T)."""
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")


def _counted(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return _each(logits, labels).mean()


def _counted_below(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Padding is left out of the sum, but counted in the divisor."""
    return (_each(logits, labels) * (labels != pad_idx)).mean()


def _counted_above(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Padding is in the sum; the divisor counts the real labels only."""
    return _each(logits, labels).sum() / (labels != pad_idx).sum().clamp(min=1)


def _counted_flat(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Padding's logits are set to 0: each costs log(vocab)."""
    return _counted(logits * (labels != pad_idx)[..., None], labels, pad_idx)


def _if_any(variant: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The variant, but NaN if all labels are padding."""
    return lambda logits, labels, pad: variant(logits, labels, pad) / (labels != pad).any()


def _per_sequence(empty: bool) -> Callable[..., Tensor]:
    def variant(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
        """`empty`: a sequence without labels counts with a loss of 0."""
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
    """The mean over real labels, 0 if there are none."""
    real = labels != pad_idx
    return (losses * real).sum() / real.sum().clamp(min=1)


def _picked(scores: Tensor, labels: Tensor) -> Tensor:
    """The score of each label: (B, T)."""
    return scores.gather(-1, labels[..., None])[..., 0]


def _guarded(wrong: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], ...]:
    """With the losses that `wrong` makes from logits and labels: 0 or NaN if all labels are padding."""

    def safe(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
        return _mean(wrong(logits, labels), labels, pad_idx)

    return safe, _if_any(safe)


def _reshaped(logits: Tensor, labels: Tensor) -> Tensor:
    """(B, T, V) taken for (B, V, T)."""
    batch, length, vocab = logits.shape
    return F.cross_entropy(logits.reshape(batch, vocab, length), labels, reduction="none")


def _transposed_rows(logits: Tensor, labels: Tensor) -> Tensor:
    """Logits by position, labels by sequence."""
    losses = F.cross_entropy(logits.transpose(0, 1).flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view(labels.shape)


def _transposed_labels(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Logits by sequence, labels by position."""
    other = labels.T.flatten()
    return _mean(F.cross_entropy(logits.flatten(0, 1), other, reduction="none"), other, pad_idx)


def _shifted_again(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    return _mean(_each(logits[:, :-1], labels[:, 1:]), labels[:, 1:], pad_idx)


def _padding_alone(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """The mean over padding."""
    pads = labels == pad_idx
    return (_each(logits, labels) * pads).sum() / pads.sum().clamp(min=1)


def _cut_from_logits(session: Session) -> bool:
    """Whether the 0 of nothing but padding can't be differentiated, and other losses can."""
    nothing, batch = (session.call(session.cases[name], gradients=True) for name in ("all padding", "a batch"))
    return nothing.ok and nothing.gradients is None and batch.ok and batch.gradients is not None


def _softmax_first(session: Session) -> bool:
    """Whether all is right but for labels of very small probability: their loss is too small or infinite."""
    others = [case for case in diagnose.comparable(session) if case.name != RULED_OUT]
    if not all(diagnose.right(session, case) for case in others):
        return False
    if parts.inspect_call(session, session.cases["offsets of 1000"], COARSE) is not None:
        return False  # not a softmax: its exponentials overflow
    ruled_out, large = (session.call(session.cases[name]) for name in (RULED_OUT, "entries up to 200"))
    values = [one.value for one in (ruled_out, large) if one.ok and isinstance(one.value, Tensor)]
    if len(values) < 2 or any(value.numel() != 1 for value in values):
        return False
    too_small = bool(values[0] < session.expected(session.cases[RULED_OUT])[0] - 0.01)
    return too_small or any(bool(torch.isinf(value).any()) for value in values)


def _classes_elsewhere(session: Session) -> bool:
    """`F.cross_entropy` raised, since axis 1 is not the vocabulary's or the batch was flattened too far."""
    raised = [session.call(case).raised for case in session.real_cases()]
    words = ("Expected target size", "Expected input batch_size", "1D target must have size", "only batches of spatial")
    return any(error is not None and any(word in error.message for word in words) for error in raised)


# --- the exercise -----------------------------------------------------------------------------------------------------


def _no_padding_no_loss(weight: float) -> Part:
    """0 if all labels are padding, and a 0 that can be differentiated. Judged after the values: a function that always
    returns 0 earns nothing."""

    def judge(session: Session) -> Finding | None:
        if parts.inspect_call(session, session.cases["a batch"], FLOAT32) is not None:
            return not_judged("values-first")
        finding = parts.inspect_call(session, session.cases["all padding"], FLOAT32)
        if finding is None and _cut_from_logits(session):
            message = "If all labels are padding, the result is 0, but `.backward()` on it raises: it has no gradient."
            return Finding("zero-cut-from-logits", message)
        return finding

    return Part("is 0 if all labels are padding", weight, judge)


EXERCISE = Exercise(
    name="sequence_loss",
    lesson=LESSON,
    points=3,
    signature=("logits", "labels", "pad_idx"),
    outputs=(Output("loss", ""),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape("nothing padded"),
        parts.values("is the mean cross-entropy where nothing is padded", 2, "nothing padded"),
        parts.values("counts no padding, whatever its id", 3, "a batch", "padding with id 0"),
        parts.values(
            "takes a sequence that is padding only", 1, "a sequence of padding only", "one label that is not padding"
        ),
        _no_padding_no_loss(1),
        parts.values("is right for labels that the model rules out", 0.5, RULED_OUT),
        parts.finite("stays finite at large entries", 0.5, "entries up to 200", after="a batch"),
        parts.offsets("minds no common offset of a row", 0.5, "offsets of 1000"),
        parts.float64(single="a batch", weight=0.5),
        parts.unchanged("a batch", 0.5),
        parts.gradients("a batch"),
    ),
    mistakes=(
        Mistake(
            "nan-when-all-padding",
            "it is NaN if all labels are padding: a sum of nothing is divided by 0.",
            (
                "How many labels are counted there? What is 0 divided by 0?",
                "See to it that the divisor is never 0, or treat that case before you divide.",
            ),
            (_nan,),
        ),
        Mistake(
            "softmax-before-the-logarithm",
            "softmax first, and then a logarithm: a label of very small probability gets an infinite loss or, where a "
            "small number keeps the probability from 0, one that is too small.",
            (
                "Logits 60 and 0, and the label is the second. What should its loss be, and what is yours?",
                "e to the -60 is hard for a float to keep beside 1. Which of torch's functions goes from logits to "
                "logarithms in one step?",
            ),
            recognise=_softmax_first,
        ),
        Mistake(
            "padding-counted",
            "padding counts too, in the sum or in what it is divided by.",
            (
                "Append ten columns of padding to the labels. Does your loss change? Should it?",
                "Both halves of a mean have to leave padding out: what is added up, and how many there are.",
            ),
            (_counted, _counted_below, _counted_above, _counted_flat, _if_any(_counted_above)),
        ),
        Mistake(
            "reshaped-instead-of-transposed",
            "the logits got the shape (B, V, T) by `view` or `reshape`, which leaves the numbers in their order.",
            (
                "Try `reshape(3, 2)` and `.mT` on a numbered 2 × 3 matrix, and compare.",
                "Swapping two axes and cutting the row of numbers anew are different things (lesson 03, section 2).",
            ),
            _guarded(_reshaped),
        ),
        Mistake(
            "vocabulary-on-another-axis",
            "`F.cross_entropy` finds the wrong axis where it looks for the vocabulary.",
            (
                "Print the shapes of both arguments of your call, and look up which ones `F.cross_entropy` takes.",
                "It wants a row of V scores for each label. How many labels are there in all, and in how many axes?",
            ),
            recognise=_classes_elsewhere,
        ),
        Mistake(
            "rows-mixed-up",
            "logits and labels are put in different orders, so a label meets the scores of another place.",
            (
                "Number the labels of two sequences, and print them as you hand them over. Which scores come third?",
                "Both have to be flattened in the same way: sequence by sequence, or position by position.",
            ),
            (*_guarded(_transposed_rows), _transposed_labels),
        ),
        Mistake(
            "shifted-again",
            "the labels are shifted inside; they come shifted already (exercise 1).",
            (
                "How many labels does your loss use for a sequence of 5 without padding?",
                "Which position's scores belong to the first label, once `shift_target` has done its work?",
            ),
            (_shifted_again, _if_any(_shifted_again)),
        ),
        Mistake(
            "only-padding-counted",
            "it is the mean over the padding; the other labels should count.",
            (
                "What does your function give where nothing is padded?",
                "Print your mask for one row of labels. Where is it True?",
            ),
            (_padding_alone, lambda *a: _padding_alone(*a) / (a[1] == a[2]).any()),
        ),
        Mistake(
            "sign-flipped",
            "it is negative: a loss grows as the right label gets less likely.",
            (
                "What should the loss be near if every right label has a probability near 1? And near 0.001?",
                "The logarithm of a probability is negative. What comes before it in the formula?",
            ),
            _guarded(lambda logits, labels: -_each(logits, labels)),
        ),
        Mistake(
            "bits-instead-of-nats",
            "the logarithm is the one to base 2; here it is the natural one.",
            (
                "Divide your result by the expected one. Do you know the number?",
                "Which logarithm is `torch.log`, and which one do you take?",
            ),
            _guarded(lambda logits, labels: _each(logits, labels) / math.log(2)),
        ),
        Mistake(
            "softmax-over-positions",
            "the softmax runs over the positions (or over the batch); it should run over the vocabulary.",
            (
                "Sum your probabilities over the last axis. What should every entry be?",
                "Among what is one chosen at each position: among words or among places?",
            ),
            tuple(
                variant
                for axis in (0, 1)
                for variant in _guarded(lambda s, labels, axis=axis: -_picked(s.log_softmax(axis), labels))
            ),
        ),
        Mistake(
            "softmax-forgotten",
            "the logits are taken as they are: the softmax and its logarithm are missing.",
            (
                "Add 100 to all logits of a position. Should the loss change?",
                "Which of torch's losses takes logits, and which takes logarithms of probabilities?",
            ),
            _guarded(lambda logits, labels: -_picked(logits, labels)),
        ),
        Mistake(
            "divided-by-batch",
            "the sum is divided by the number of sequences; it should be divided by the number of labels.",
            (
                "Give it the same sequences twice as long. Should the loss double?",
                "How many terms has your sum where nothing is padded? By how many do you divide?",
            ),
            (_by_batch,),
        ),
        Mistake(
            "mean-per-sequence",
            "it averages sequence by sequence; every label that isn't padding should count the same.",
            (
                "One sequence has 2 labels, another 8. By how much do you divide?",
                "Take one mean over all real labels of the batch, not a mean of means.",
            ),
            (_per_sequence(True), _per_sequence(False), _if_any(_per_sequence(False)), _per_sequence_nan),
        ),
        Mistake(
            "softmax-applied-twice",
            "the logits go through a softmax before a cross-entropy that has one of its own.",
            (
                "Make the logit of the right label very large. Does your loss get near 0?",
                "Look up what `F.cross_entropy` expects: probabilities or logits?",
            ),
            (
                _twice,
                _twice_nan,
                *(lambda *a, of=of: of(a[0].softmax(-1), *a[1:]) for of in (_counted, _counted_below)),
            ),
        ),
        Mistake(
            "summed",
            "it is a sum: twice as many labels give twice the loss.",
            (
                "Give it the same batch twice, one below the other. Should the loss change?",
                "By what is a sum divided to make it a mean? Count what was added up.",
            ),
            (
                lambda logits, labels, pad: (_each(logits, labels) * (labels != pad)).sum(),
                lambda logits, labels, pad: _each(logits, labels).sum(),
                lambda logits, labels, pad: (_each(logits, labels) * (labels != pad)).sum(0).mean(),
            ),
        ),
        Mistake(
            "pad-idx-ignored",
            "it takes 0 for the padding, whatever `pad_idx` says.",
            (
                "Is each of the three arguments used?",
                "Try it with `pad_idx = 5`, and a label 0 that is an ordinary word.",
            ),
            (_zero_is_padding, _zero_is_padding_safe),
        ),
        Mistake(
            "log-forgotten",
            "it averages probabilities; cross-entropy averages their logarithms.",
            (
                "A label that is sure to be right has probability 1. Which loss should it have?",
                "Softmax gives probabilities. What is done to them before they are averaged?",
            ),
            (_no_log,),
        ),
        Mistake(
            "zero-cut-from-logits",
            "if all labels are padding, a new 0 is returned, which doesn't come from the logits: it has no gradient.",
            (
                "Call `.backward()` on your loss for labels that are all padding. What happens?",
                "A sum of nothing is a 0 that comes from the logits, too. Which line makes yours?",
            ),
            recognise=_cut_from_logits,
        ),
    ),
)
