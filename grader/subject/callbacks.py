"""A callable that the judge answers, as a student's code sees it. The judge also gives its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.subject.values import plain

Ask = Callable[[tuple[Any, ...]], Any]


class _Answered(torch.autograd.Function):
    """The answer to one tensor as a node of autograd's graph. Its backward asks the judge ("gradient", x,
    cotangent)."""

    @staticmethod
    def forward(ctx: Any, ask: Ask, x: Tensor) -> Any:
        ctx.ask = ask
        ctx.save_for_backward(x)
        return ask((plain(x),))

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return None, ctx.ask(("gradient", plain(x), plain(cotangent)))


def answered(ask: Ask) -> Callable[..., Any]:
    """A function that hands its arguments to `ask` as plain data and returns the answer; for one tensor that requires
    gradients, differentiably."""

    def call(*args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].requires_grad and torch.is_grad_enabled():
            return _Answered.apply(ask, args[0])
        return ask(tuple(plain(arg) for arg in args))

    return call
