"""Puts a result into another form before it is looked at: the same numbers, arranged in another way.

A form is a sequence of steps, each a name and whole numbers, as in `(("pick", 1, 0), ("at", 0, "drop", -1))`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

Step = tuple[Any, ...]
Form = tuple[Step, ...]


def reformed(value: Any, form: Form) -> Any:
    """`value` after each step of `form` that fits it: a student's function may return anything."""
    for name, *places in form:
        with suppress(Exception):
            value = STEPS[name](value, *places)
    return value


def _at(value: Any, index: int, name: str, *places: int) -> Any:
    """`value`, a sequence, as a tuple in which the item at `index` has gone through the step `name`."""
    items = list(value)
    items[index] = STEPS[name](items[index], *places)
    return tuple(items)


def _numbers(value: Any) -> Any:
    """Python's numbers in place of tensors, in tuples and lists too; a row of numbers becomes a list."""
    if isinstance(value, tuple | list):
        return type(value)(_numbers(item) for item in value)
    if isinstance(value, Tensor):
        return value.item() if value.numel() == 1 else value.tolist()
    return value


def _permuted(tensor: Tensor, *order: int) -> Tensor:
    """The tensor with its last axes in another order; `order` holds negative numbers of axes, -1 for the last."""
    first = tensor.dim() - len(order)
    return tensor.permute(*range(first), *(tensor.dim() + axis for axis in order))


def _in_tensor(change: Callable[..., Tensor]) -> Callable[..., Any]:
    """A step that changes a tensor, or the first item of a tuple: a model may give its cache beside the logits."""

    def step(value: Any, *places: int) -> Any:
        return change(value, *places) if isinstance(value, Tensor) else (change(value[0], *places), *value[1:])

    return step


STEPS: dict[str, Callable[..., Any]] = {
    "at": _at,
    "pick": lambda value, *order: tuple(list(value)[index] for index in order),  # items of a sequence
    "only": lambda value, index: list(value)[index],
    "values": lambda value: list(value.values()),  # of a dict
    "numbers": _numbers,
    "tensor": lambda value: torch.as_tensor(value),
    "unbind": lambda value, axis: tuple(value.unbind(axis)),
    "stack": lambda value, axis: torch.stack(list(value), axis),
    "cat": lambda value, axis: torch.cat(list(value), axis),
    "drop": _in_tensor(Tensor.squeeze),  # an axis of length 1
    "add": _in_tensor(Tensor.unsqueeze),
    "permute": _in_tensor(_permuted),
}
