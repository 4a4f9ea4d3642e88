"""A stand-in for a device other than the CPU: it calls itself `meta`, but its tensors hold numbers.

As on a GPU, an operator that gets tensors of both devices raises. Exempt, as there, are tensors without axes and the
indices of an indexing. A tensor made without `device=` is on the CPU. Outside `two_devices` what is left over of such a
tensor is as good as one on the CPU.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from grader.subject.raised import is_foreign

ELSEWHERE = torch.device("meta")
MAY_MIX = {"index", "index_put", "index_put_", "_index_put_impl_", "_to_copy", "copy_"}


class DevicesMixed(RuntimeError):
    """An operator got tensors of both devices. Its message is the line, with its number, that made the one on the CPU;
    empty where it was made before the call."""


class ResultLeft(RuntimeError):
    """A result isn't where the arguments are. Its message is the line that made it, as with `DevicesMixed`."""


class Moved(Tensor):
    """A tensor that is elsewhere; its numbers are in `numbers`."""

    numbers: Tensor

    @staticmethod
    def __new__(cls: Any, inner: Tensor) -> Moved:
        moved: Moved = Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=ELSEWHERE
        )
        moved.numbers = inner
        return moved

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return carry_out(func, args, kwargs or {})

    def tolist(self) -> Any:
        return self.numbers.tolist()


Moved.__torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


def carry_out(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run an operator where its tensors are, or where its `device=` says."""
    given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    moved = any(isinstance(tensor, Moved) for tensor in given)
    stray = [tensor for tensor in given if not isinstance(tensor, Moved) and tensor.ndim]
    name = func.overloadpacket.__name__
    if moved and stray and name not in MAY_MIX and _inside:
        raise DevicesMixed(_made_by(stray[0]))
    device = kwargs.get("device")
    to_there = moved if device is None else torch.device(device) == ELSEWHERE
    if name == "copy_":  # into its first argument, wherever that is
        to_there = isinstance(args[0], Moved)
    here = dict(kwargs) | ({"device": torch.device("cpu")} if device is not None else {})
    bare_args, bare_kwargs = tree_map_only(Moved, lambda tensor: tensor.numbers, (args, here))
    value = func(*bare_args, **bare_kwargs)
    if not to_there or not _inside:
        return _noted(value, stray)
    wrapped = tree_map(lambda leaf: Moved(leaf) if type(leaf) in (Tensor, nn.Parameter) else leaf, value)
    return return_and_correct_aliasing(func, args, dict(kwargs), wrapped) if moved else wrapped


_inside = False  # whether there is another device now


def _noted(value: Any, stray: list[Tensor]) -> Any:
    """A value on the CPU, whose tensors know from now on which line made them, or what they were made of."""
    for leaf in tree_leaves(value) if _inside else ():
        if type(leaf) is Tensor and not hasattr(leaf, "made_by"):
            leaf.made_by = _made_by(stray[0]) if stray else _line()  # type: ignore[attr-defined]
    return value


def _made_by(tensor: Tensor) -> str:
    return str(getattr(tensor, "made_by", ""))


def _line() -> str:
    """The student's line that runs, with its number, as `MADE` reads it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{frame.f_lineno} {linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()}"


class Devices(TorchDispatchMode):
    """Sees operators without tensors too, such as `torch.arange(5, device=x.device)`."""

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return carry_out(func, args, kwargs or {})


class FromNumbers(TorchFunctionMode):
    """`torch.tensor([1, 2], device=x.device)` would lose its numbers on the way: it is made here and then moved."""

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and torch.device(kwargs.get("device") or "cpu") == ELSEWHERE:
            del kwargs["device"]
            return func(*args, **kwargs).to(ELSEWHERE)
        return func(*args, **kwargs)


@contextmanager
def two_devices() -> Iterator[None]:
    """Inside, `ELSEWHERE` is a device that holds numbers."""
    global _inside
    _inside = True
    try:
        with Devices(), FromNumbers():
            yield
    finally:
        _inside = False


def there(value: Any) -> Any:
    """Move what is given to a student's function: tensors, and callables so that they take and give moved ones. The
    gradient of a parameter is the one that it has here: what is changed in it is changed here."""
    if isinstance(value, nn.Parameter) and value.grad is not None:
        moved = value.detach().to(ELSEWHERE).requires_grad_()
        moved.grad = Moved(value.grad)
        return moved
    if isinstance(value, dict):  # the same one: what is put into it is seen here
        value.update({key: there(item) for key, item in value.items()})
        return value
    if isinstance(value, Tensor):
        return value.to(ELSEWHERE)
    if isinstance(value, tuple | list):
        return type(value)(there(item) for item in value)
    if isinstance(value, nn.Module):
        value.register_forward_pre_hook(lambda _module, args: back(args))
        value.register_forward_hook(lambda _module, _args, result: there(result))
        return value
    if callable(value):
        return lambda *args: there(value(*(back(arg) for arg in args)))
    return value


def back(value: Any) -> Any:
    """Move a result to the CPU."""
    return tree_map_only(Tensor, lambda tensor: tensor.to("cpu"), value)


class Elsewhere(nn.Module):
    """A function or module that is called with its arguments, parameters and buffers on the other device.

    The originals stay on the CPU, where the executor reads them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self.function, nn.Module):
            return iter(())
        return self.function.named_parameters(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        moved_args, moved_kwargs = there(args), {key: there(value) for key, value in kwargs.items()}
        value = self._on_the_other_device(moved_args, moved_kwargs)
        strays = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.device != ELSEWHERE]
        if strays and any(isinstance(leaf, Tensor) for leaf in tree_leaves((args, kwargs))):
            raise ResultLeft(_made_by(strays[0]))
        return back(value)

    def _on_the_other_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not isinstance(self.function, nn.Module):
            return self.function(*args, **kwargs)
        buffers = dict(self.function.named_buffers())
        state = {name: there(tensor) for name, tensor in (*self.function.named_parameters(), *buffers.items())}
        value = torch.func.functional_call(self.function, state, args, kwargs)
        with torch.no_grad():
            for name, buffer in buffers.items():
                buffer.copy_(back(state[name]))
        return value
