"""How a wrong tensor differs from the right one: which part of it, by which factor, along which axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.sentences import Several, say, together
from grader.spec import compare
from grader.spec.exercise import Case, letter_in_words
from grader.tolerance import FLOAT32

CLOSE = 0.05  # a relative error that can come from a detail, such as another variance


def first(name: str) -> str:
    """An output at the beginning of a sentence, by its `name`, "" for the only one."""
    return f"`{name}`" if name else say("The result")


def inside(name: str) -> str:
    """The same inside of a sentence."""
    return f"`{name}`" if name else say("the result")


def how_it_differs(got: Tensor, expected: Tensor, axes: list[str], case: Case, name: str) -> str:
    """How a wrong tensor differs from the right one, in a sentence; empty if nothing stands out.

    `axes` are the letters of its axes, `name` is that of an output, "" for the only one.
    """
    if got.shape != expected.shape:
        return _shape(got, expected, axes, case, name)
    if not got.numel():
        return ""
    got, expected = (tensor.real if tensor.is_complex() else tensor for tensor in (got, expected))
    got, expected = got.to(torch.float64), expected.to(torch.float64)
    bad = ~torch.isfinite(got) & torch.isfinite(expected)
    if bool(bad.any()):
        place = _where(bad, axes) or (say("anywhere") if bool(bad.all()) else say("in some places"))
        return say("{what} isn't finite {where}.", what=first(name), where=place)
    for argument, arg in case.args.items():
        if isinstance(arg, Tensor) and arg.shape == got.shape and FLOAT32.all_close(got, arg):
            return say("{what} is the argument `{argument}`, unchanged.", what=first(name), argument=argument)
    if got.numel() > 1 and bool((got == got.flatten()[0]).all()):
        return say("{what} has the same value everywhere.", what=first(name))
    factor = _factor(got, expected)
    if factor is not None:
        size = _as_size(factor, case)
        whole = math.isclose(factor, round(factor)) or math.isclose(1 / factor, round(1 / factor)) if factor else False
        if got.numel() > 1 or size or whole:  # any number is some multiple of any other
            times = compare.apart(factor, 1.0)[0]
            multiple = say("Every entry of {what} is {times} times the expected one.", what=inside(name), times=times)
            return together(multiple, size)
        return ""
    if not got.is_floating_point() or set(expected.flatten().tolist()) <= {0.0, 1.0}:
        return _moved(got, expected, name) or _part(got, expected, axes, name) or _kept(got, expected, axes, name)
    return (
        _moved(got, expected, name)
        or _part(got, expected, axes, name)
        or _zeros(got, expected, axes, name)
        or _by_rows(got, expected, name)
        or _nearly(got, expected, name)
        or _kept(got, expected, axes, name)
        or _ranks(got, expected, name)
    )


def _ranks(got: Tensor, expected: Tensor, name: str) -> str:
    """A sentence where the numbers of each row (of at least 4) are in the right order of size; "" otherwise."""
    if not got.dim() or got.shape[-1] < 4:
        return ""
    orders = (tensor.sort(dim=-1, stable=True).indices for tensor in (got, expected))
    if not torch.equal(*orders):
        return ""
    return say(
        "In each row of {what} the entries are in the right order by size, but their values are wrong.",
        what=inside(name),
    )


def _shape(got: Tensor, expected: Tensor, axes: list[str], case: Case, name: str) -> str:
    if sorted(got.shape) == sorted(expected.shape):
        by_size = dict(zip(expected.shape, axes, strict=True))
        order = ", ".join(by_size[size] for size in got.shape)
        said = say("The sizes are right, but their order is ({order}).", order=order)
        entries_right = got.dim() > 1 and _transposed(got, expected)
        return together(said, say("The entries themselves are right.") if entries_right else "")
    if got.squeeze().shape == expected.squeeze().shape:
        return say("The sizes are right, except that there is one axis of length 1 too many or too few.")
    if got.dim() != expected.dim():
        few = got.dim() < expected.dim()
        template = _TOO_FEW if few else _TOO_MANY
        return say(template, what=first(name), count=got.dim(), wanted=expected.dim())
    off = [i for i, (a, b) in enumerate(zip(got.shape, expected.shape, strict=True)) if a != b]
    is_size = {n: letter for letter, n in sizes_of(case).items()}
    there = (letter_in_words(is_size.get(got.shape[i], str(got.shape[i]))) for i in off)
    pairs = dict.fromkeys(zip((letter_in_words(axes[i]) for i in off), there, strict=True))
    return together(*(say("Where {axis} belongs, there is {found}.", axis=axis, found=found) for axis, found in pairs))


_TOO_FEW = "{what} has too few axes: {count}, expected {wanted}."
_TOO_MANY = "{what} has too many axes: {count}, expected {wanted}."


def _transposed(got: Tensor, expected: Tensor) -> bool:
    pairs = ((i, j) for i in range(got.dim()) for j in range(i))
    turned = (got.transpose(*pair) for pair in pairs)
    return any(tensor.shape == expected.shape and FLOAT32.all_close(tensor, expected) for tensor in turned)


def _factor(got: Tensor, expected: Tensor) -> float | None:
    """The factor between two tensors, if all entries have the same; None if they don't."""
    largest = expected.abs().argmax()
    if float(expected.flatten()[largest]) == 0:
        return None
    factor = float(got.flatten()[largest] / expected.flatten()[largest])
    return factor if math.isfinite(factor) and FLOAT32.all_close(got, factor * expected) else None


def _as_size(factor: float, case: Case) -> str:
    """The size of the call that a factor may come from, as a sentence; "" if there is none."""
    size = abs(factor) if abs(factor) > 1 else 1 / abs(factor) if factor else 0
    for letter, n in sizes_of(case).items():
        axis = letter_in_words(letter)
        if math.isclose(size, n, rel_tol=1e-3):
            return say("Here {axis} is {size}.", axis=axis, size=n)
        if math.isclose(size * size, n, rel_tol=1e-3):
            root = f"{size:.4g}"
            return say("Here {axis} is {size}, and its square root is {root}.", axis=axis, size=n, root=root)
    return ""


def sizes_of(case: Case) -> dict[str, int]:
    """The sizes of the axes of a case's arguments, by letter."""
    shapes = [arg.shape if isinstance(arg, Tensor) else (arg,) for arg in case.args.values()]
    met = {n for shape in shapes for n in shape if type(n) is int}
    return {letter: n for letter, n in case.sizes.items() if n in met and n > 1}


def _by_rows(got: Tensor, expected: Tensor, name: str) -> str:
    """A sentence where rows (or columns) are right but for a factor or a number added, or should sum to one; ""
    otherwise."""
    if got.dim() < 2 or got.shape[-1] < 2:
        return ""
    sums, right_sums, what = got.sum(-1), expected.sum(-1), inside(name)
    if FLOAT32.all_close(right_sums, torch.ones_like(right_sums)) and bool((expected >= 0).all()):
        if not FLOAT32.all_close(sums, right_sums):
            worst = compare.apart(float(_worst(sums)), 1.0)[0]
            return say("The rows of {what} should sum to one, but one of them sums to {sum}.", what=what, sum=worst)
        if bool((got >= 0).all()):
            return say("The rows of {what} do sum to one, so look at the earlier steps.", what=what)
    if FLOAT32.all_close(got - got.mean(), expected - expected.mean()):
        amount = f"{float((got - expected).mean()):.3g}"
        return say("Every entry of {what} is off by the same amount, {amount}.", what=what, amount=amount)
    for dim, (added, multiplied) in _LINES.items():
        if FLOAT32.all_close(got - got.mean(dim, keepdim=True), expected - expected.mean(dim, keepdim=True)):
            return say(added, what=what)
        scale = (got * expected).sum(dim, keepdim=True) / (expected * expected).sum(dim, keepdim=True)
        if bool(torch.isfinite(scale).all()) and FLOAT32.all_close(got, scale * expected):
            return say(multiplied, what=what)
    return ""


# By axis: every line along it with a number added, with a factor.
_LINES = {
    -1: (
        "Each row of {what} is right except that the same number is added to every entry.",
        "Each row of {what} is right except for a factor, which differs from row to row.",
    ),
    -2: (
        "Each column of {what} is right except that the same number is added to every entry.",
        "Each column of {what} is right except for a factor, which differs from column to column.",
    ),
}


def _worst(sums: Tensor) -> Tensor:
    return sums.flatten()[(sums - 1).abs().argmax()]


def _moved(got: Tensor, expected: Tensor, name: str) -> str:
    """A sentence where the entries are the right ones in wrong places; "" otherwise."""
    if got.numel() < 3 or not FLOAT32.all_close(got.flatten().sort().values, expected.flatten().sort().values):
        return ""
    if got.dim() > 1 and _transposed(got, expected):
        return say("{what} would be right if two of its axes changed places.", what=first(name))
    what = inside(name)
    if FLOAT32.all_close(got.sort(-1).values, expected.sort(-1).values):
        return say(
            "The entries of {what} are right and in the right rows, but in the wrong order within each row.", what=what
        )
    return say("The entries of {what} are right, but in the wrong places. Which step moves them?", what=what)


def _part(got: Tensor, expected: Tensor, axes: list[str], name: str) -> str:
    """A sentence on the part of a tensor that is wrong; "" if it is wrong all over. `axes` are the letters of its
    axes."""
    place = _where(~FLOAT32.close(got, expected), axes, or_nearly_all=False)
    return say("{what} is wrong only {where}.", what=first(name), where=place) if place else ""


def _kept(got: Tensor, expected: Tensor, axes: list[str], name: str) -> str:
    """A sentence on the part of a tensor that is right, where most of it isn't; "" if none is."""
    fine = FLOAT32.close(got, expected)
    place = _where(fine, axes) if bool(fine.any()) else ""
    return say("{what} is right only {where}.", what=first(name), where=place) if place else ""


def _zeros(got: Tensor, expected: Tensor, axes: list[str], name: str) -> str:
    """A sentence on the part of a tensor that holds zeros, where the rest is wrong too: something may be masked that
    shouldn't be. "" if there is none."""
    zero = (got == 0) & ~FLOAT32.close(got, expected)
    place = _where(zero, axes, whole=True) if int(zero.sum()) > 1 else ""
    return say("{what} is 0 {where}, where other values belong.", what=first(name), where=place) if place else ""


def _nearly(got: Tensor, expected: Tensor, name: str) -> str:
    """A sentence where every entry is off by little; "" otherwise."""
    scale = float(expected.abs().max())
    error = float((got - expected).abs().max()) / scale if scale else math.inf
    if error >= CLOSE:
        return ""
    off = compare.in_digits(100 * error, 2)
    return say(
        "{what} is nearly right everywhere, off by {percent}% at most. Only a detail differs.",
        what=first(name),
        percent=off,
    )


def _where(wrong: Tensor, axes: list[str], or_nearly_all: bool = True, whole: bool = False) -> str:
    """The place of what is wrong, as the end of a sentence: on one side of the diagonal, or at some indices of one
    axis; "" if all over. `wrong` is bool, True where it is wrong. If not `or_nearly_all`, "" for every index but one,
    too: what is so nearly everywhere isn't so "only" there. If `whole`, "" where not all that is there is so."""
    if len(axes) > 1 and axes[-1][0] == axes[-2][0] == "T" and min(wrong.shape[-2:]) > 1:  # tokens against tokens
        rows, columns = (torch.arange(size) for size in wrong.shape[-2:])
        rows = rows.unsqueeze(-1)
        for there, words in (
            (columns > rows, "above the diagonal of the last two axes"),
            (columns < rows, "below the diagonal of the last two axes"),
            (columns == rows, "on the diagonal of the last two axes"),
        ):
            if not bool((wrong & ~there).any()):
                return "" if whole and not bool(wrong[..., there].all()) else say(words)
    places = []
    for axis, (letter, size) in enumerate(zip(axes, wrong.shape, strict=True)):
        hit = wrong.movedim(axis, 0).reshape(size, -1).any(-1).nonzero().flatten().tolist()
        if len(hit) < size:
            places.append((hit, size, letter_in_words(letter)))
    if not places or not (or_nearly_all or all(_but_one(hit, size) is None for hit, size, _axis in places[:2])):
        return ""
    there_are = wrong.numel()
    for hit, size, _axis in places[:2]:
        there_are = there_are // size * len(hit)
    if whole and int(wrong.sum()) < there_are:
        return ""
    found = (say("{indices} along {axis}", indices=_indices(hit, size), axis=axis) for hit, size, axis in places[:2])
    return say("at {places}", places=Several(found))


def _but_one(hit: list[int], size: int) -> int | None:
    """The only index along an axis of `size` that isn't hit; None if there is no such, and for the first one, after
    which all are "index 1 and beyond"."""
    rest = sorted(set(range(size)) - set(hit))
    return rest[0] if len(rest) == 1 < len(hit) and rest != [0] else None


def _indices(hit: list[int], size: int) -> str:
    but = _but_one(hit, size)
    if but is not None:
        return say("every index but the last") if but == size - 1 else say("every index but {index}", index=but)
    if hit == list(range(hit[0], size)) and len(hit) > 1:
        return say("index {index} and beyond", index=hit[0])
    if len(hit) == 1:
        return say("the last index") if hit[0] == size - 1 else say("index {index}", index=hit[0])
    shown = ", ".join(map(str, hit[:5]))
    return say("indices {indices}, …", indices=shown) if len(hit) > 5 else say("indices {indices}", indices=shown)
