"""A callable that the judge answers, as a student's code sees it. The judge also gives its first derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.subject.values import plain

Ask = Callable[[tuple[Any, ...]], Any]
ONCE = (
    "A function that the check hands over can be differentiated once, but this asks for a derivative of its "
    "derivative. First derivatives are enough here."
)

NO_NUMBERS = (
    "A function that the check hands over has no answer inside this transformation of torch's. `torch.func` has some "
    "that work: `grad`, `vjp`, `jvp`, `jacrev`, `jacfwd` and `vmap`."
)


def _numbers(*tensors: Tensor) -> tuple[Any, ...]:
    """Tensors as plain data. RuntimeError where they stand for numbers that aren't there yet, as in a `jacobian` with
    `vectorize=True`."""
    try:
        return tuple(plain(tensor) for tensor in tensors)
    except RuntimeError as error:
        raise RuntimeError(NO_NUMBERS) from error


class _Answered(torch.autograd.Function):
    """The answer to one tensor, for autograd and `torch.func`. Its derivatives ask the judge too, ("gradient", x,
    cotangent) or ("tangent", x, direction)."""

    @staticmethod
    def forward(ask: Ask, x: Tensor) -> Any:
        return ask(_numbers(x))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Ask, Tensor], output: Any) -> None:
        ctx.ask, x = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return None, _Derivative.apply(ctx.ask, "gradient", x, cotangent)

    @staticmethod
    def jvp(ctx: Any, _ask: None, direction: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return _Derivative.apply(ctx.ask, "tangent", x, direction)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _one_by_one(_Answered, info, in_dims, inputs)


class _Derivative(torch.autograd.Function):
    """A derivative that the judge gives; `word` says which. It has none of its own."""

    @staticmethod
    def forward(ask: Ask, word: str, x: Tensor, vector: Tensor) -> Any:
        return ask((word, *_numbers(x, vector)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_cotangents: Tensor) -> Any:
        raise RuntimeError(ONCE)

    @staticmethod
    def jvp(ctx: Any, *_directions: Any) -> Any:
        raise RuntimeError(ONCE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _one_by_one(_Derivative, info, in_dims, inputs)


def _one_by_one(
    function: type[torch.autograd.Function], info: Any, in_dims: tuple[int | None, ...], inputs: tuple[Any, ...]
) -> tuple[Tensor, int]:
    """The rule of `vmap`: the answers to each of a batch, stacked on the first axis, since the judge takes one."""
    each = [
        [value] * info.batch_size if axis is None else value.unbind(axis)
        for value, axis in zip(inputs, in_dims, strict=True)
    ]
    return torch.stack([function.apply(*one) for one in zip(*each, strict=True)]), 0


def answered(ask: Ask) -> Callable[..., Any]:
    """A function that hands its arguments to `ask` as plain data and returns the answer; for one tensor of floats,
    differentiably."""

    def call(*args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].is_floating_point():
            return _Answered.apply(ask, args[0])
        return ask(tuple(plain(arg) for arg in args))

    return call
