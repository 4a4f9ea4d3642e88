"""Splitting into heads and merging again, with the memory behind it (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from grader.views.base import KernelView, module, style
from grader.views.picture import extent, heatmap, names, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each step's tensor, by the lesson's name, and its axes, by the syllabus's letters.
STEPS = (
    ("x", "TE"),
    ("cut", "THD"),
    ("swapped", "HTD"),
    ("worked", "HTD"),
    ("back", "THD"),
    ("copied", "THD"),
    ("joined", "TE"),
)
MOST = {"seq_len": 6, "num_heads": 5, "head_dim": 5}
MOST_COLUMNS = 10  # a number's last digit is its column

Stage = dict[str, Any]


class HeadSplitter(KernelView):
    """Splits a numbered tensor into heads and merges it again, step by step, and shows two wrong short cuts.

    x (T, E) with T = seq_len and E = num_heads * head_dim holds 10 * token + column. At each step: the tensor, its
    shape and strides, what its memory holds and in which order the tensor reads it. `step` counts from 1 to 7.

    >>> HeadSplitter(seq_len=3, num_heads=2, head_dim=2)
    Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous.
    >>> splitter = HeadSplitter(seq_len=3, num_heads=2, head_dim=2)
    >>> splitter.step = 3
    >>> splitter.summary.partition("swapped: ")[2]
    'shape (2, 3, 2), strides (2, 4, 1), not contiguous; x.view(2, 3, 2) has 8 of 12 numbers in the wrong place.'
    """

    _esm = module("head_splitter.js")
    _css = style("head_splitter.css")

    step = traitlets.Int(1, min=1, max=len(STEPS)).tag(sync=True, echo_update=False)
    sizes: traitlets.List[int] = traitlets.List(traitlets.Int(), minlen=3, maxlen=3).tag(sync=True)
    most: traitlets.List[int] = traitlets.List([*MOST.values(), MOST_COLUMNS]).tag(sync=True)
    stages: traitlets.List[Stage] = traitlets.List().tag(sync=True)

    def __init__(self, seq_len: int = 3, num_heads: int = 2, head_dim: int = 2) -> None:
        _check_sizes([seq_len, num_heads, head_dim], ValueError)
        # Setting the sizes computes everything else.
        super().__init__(sizes=[seq_len, num_heads, head_dim])

    @traitlets.validate("sizes")
    def _allowed(self, proposal: traitlets.Bunch) -> list[int]:
        _check_sizes(proposal["value"], traitlets.TraitError)
        return list(proposal["value"])

    @traitlets.observe("sizes")
    def _on_sizes(self, _change: traitlets.Bunch) -> None:
        with self.hold_sync():
            self.stages = stages(*self.sizes)
            self.summary = self._in_words()

    @traitlets.observe("step")
    def _on_step(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()

    def picture(self) -> Figure:
        """x, its heads, and below them what the short cut without the transpose makes of it."""
        seq_len, num_heads, head_dim = self.sizes
        x = numbered(seq_len, num_heads * head_dim)
        rows, columns = [f"token {token}" for token in range(seq_len)], names(num_heads * head_dim)
        right, wrong = x.view(seq_len, num_heads, head_dim).transpose(0, 1), x.view(num_heads, seq_len, head_dim)
        ends, shape = (0.0, float(x.max())), f"x.view({num_heads}, {seq_len}, {head_dim})"
        widths = [num_heads * head_dim + 1, *[head_dim + 1] * num_heads]
        figure = sheet(extent(sum(widths)) + 1, 2 * (extent(seq_len) + 0.6))
        places = figure.subplots(2, 1 + num_heads, width_ratios=widths, squeeze=False)
        for line, heads, name in zip(places, (right, wrong), ("cut, then swapped", f"wrong: {shape}"), strict=True):
            heatmap(line[0], x, f"x, {name}", rows, columns, ends=ends)
            for head, (axes, matrix) in enumerate(zip(line[1:], heads, strict=True)):
                heatmap(axes, matrix, f"head {head}", ends=ends)
        return figure

    def _in_words(self) -> str:
        seq_len, num_heads, head_dim = self.sizes
        stage = self.stages[self.step - 1]
        text = (
            f"Head splitter, {_many(seq_len, 'token')}, {_many(num_heads, 'head')} of {_many(head_dim, 'column')}, "
            f"step {self.step} of {len(STEPS)}, {stage['name']}: shape {tuple(stage['shape'])}, "
            f"strides {tuple(stage['strides'])}, {'' if stage['contiguous'] else 'not '}contiguous"
        )
        wrong = stage["wrong"]
        if wrong is None:
            return f"{text}."
        misplaced = sum(got != right for got, right in zip(wrong["reads"], stage["reads"], strict=True))
        return f"{text}; {wrong['code']} has {misplaced} of {len(stage['reads'])} numbers in the wrong place."


def numbered(seq_len: int, columns: int) -> Tensor:
    """A tensor (seq_len, columns) of 10 * token + column.

    >>> numbered(2, 3).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    return 10 * torch.arange(seq_len).unsqueeze(1) + torch.arange(columns)


def stages(seq_len: int, num_heads: int, head_dim: int) -> list[Stage]:
    """The tensor of every step, from x to x again, as torch makes it."""
    columns = num_heads * head_dim
    x = numbered(seq_len, columns)
    cut = x.view(seq_len, num_heads, head_dim)
    swapped = cut.transpose(0, 1)
    worked = swapped.contiguous()
    back = worked.transpose(0, 1)
    copied = back.contiguous()
    tensors = (x, cut, swapped, worked, back, copied, copied.view(seq_len, columns))
    in_heads, joined = f"view({num_heads}, {seq_len}, {head_dim})", f"view({seq_len}, {columns})"
    codes = ["", f"x.view({seq_len}, {num_heads}, {head_dim})", "cut.transpose(0, 1)", "swapped.contiguous()"]
    codes += ["worked.transpose(0, 1)", "back.contiguous()", f"copied.{joined}"]
    # The short cuts leave out the transpose: the right shape, the wrong order.
    wrong = {
        "swapped": _described(x.view(num_heads, seq_len, head_dim)) | {"code": f"x.{in_heads}"},
        "joined": _described(worked.view(seq_len, columns)) | {"code": f"worked.{joined}"},
    }
    refused = {"back": {"code": f"back.{joined}", "error": _refusal(back, seq_len, columns)}}
    copies = [False, *(new.data_ptr() != old.data_ptr() for old, new in pairwise(tensors))]
    return [
        _described(tensor)
        | {"name": name, "code": code, "axes": axes, "copied": copy}
        | {"wrong": wrong.get(name), "refused": refused.get(name)}
        for tensor, code, copy, (name, axes) in zip(tensors, codes, copies, STEPS, strict=True)
    ]


def _described(tensor: Tensor) -> Stage:
    memory = tensor.as_strided((tensor.numel(),), (1,), 0)
    return {
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "contiguous": tensor.is_contiguous(),
        "reads": tensor.flatten().tolist(),
        "memory": memory.tolist(),
    }


def _refusal(tensor: Tensor, *shape: int) -> str:
    """torch's error for this view; empty if it works."""
    try:
        tensor.view(*shape)
    except RuntimeError as error:
        return f"RuntimeError: {str(error).split(' (')[0]}"
    return ""


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _check_sizes(sizes: list[int], kind: type[Exception]) -> None:
    for (name, most), size in zip(MOST.items(), sizes, strict=True):
        if not 1 <= size <= most:
            raise kind(f"{name}: got {size}, expected 1 to {most}")
    if sizes[1] * sizes[2] > MOST_COLUMNS:
        raise kind(f"num_heads * head_dim: got {sizes[1]} * {sizes[2]}, expected at most {MOST_COLUMNS} columns")
