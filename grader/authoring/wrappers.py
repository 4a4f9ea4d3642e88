"""What happens around the calls of a spoilt answer: a wrapper takes the right call and its arguments, and gives what is
returned in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.subject.values import tensors_in

Wrapper = Callable[..., Any]


def is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


# --- what is done to values -------------------------------------------------------------------------------------------


def everywhere(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """`change` applied to every tensor of a value."""
    if isinstance(value, Tensor):
        return change(value)
    return type(value)(everywhere(change, item) for item in value) if isinstance(value, tuple | list) else value


def wrong(value: Any) -> Any:
    """Something else of the same kind and shape; a ValueError in place of None."""
    if isinstance(value, tuple | list):
        return type(value)(wrong(item) for item in value)
    if isinstance(value, Tensor | float) and not (isinstance(value, Tensor) and not value.is_floating_point()):
        return value * 1.5 + 0.5
    if isinstance(value, Tensor):
        return ~value if value.dtype == torch.bool else value + 1
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return "other" if value != "other" else "local"
    raise ValueError("finite within sum")


def nothing(tensor: Tensor) -> Tensor:
    return torch.ones_like(tensor) if tensor.dtype == torch.bool else torch.zeros_like(tensor)


def _change(tensor: Tensor) -> None:
    with torch.no_grad():
        tensor.logical_not_() if tensor.dtype == torch.bool else tensor.add_(1)


def through(dtype: torch.dtype, only: torch.dtype | None = None) -> Callable[[Tensor], Tensor]:
    """Rounds floating-point tensors (only those of the dtype `only`, if given) to another dtype and back."""

    def rounded(tensor: Tensor) -> Tensor:
        rounds = tensor.is_floating_point() and only in (None, tensor.dtype)
        return tensor.to(dtype).to(tensor.dtype) if rounds else tensor

    return rounded


def shape(value: Any) -> Any:
    """What two values have in common that a result may be remembered by: shape and dtype, or the value."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(shape, value))
    return value if isinstance(value, int | float | str | None) else type(value)


def content(value: Any) -> Any:
    return shape(value), tuple(str(tensor.tolist()) for tensor in tensors_in([value]))


def _with(args: Sequence[Any], place: int, value: Any) -> list[Any]:
    return [*args[:place], value, *args[place + 1 :]]


# --- the wrappers -----------------------------------------------------------------------------------------------------


def wrong_where(found: Callable[[Sequence[Any]], bool]) -> Callable[[], Wrapper]:
    """Wrong results where `found` says so of the arguments."""

    def wrapper(call: Wrapper, *args: Any) -> Any:
        result = call(*args)
        return wrong(result) if found(args) else result

    return lambda: wrapper


def is_strided(args: Sequence[Any]) -> bool:
    return any(not tensor.is_contiguous() for tensor in tensors_in(list(args)))


def raises_where_strided() -> Wrapper:
    def wrapper(call: Wrapper, *args: Any) -> Any:
        everywhere(lambda tensor: tensor.view(-1), args)
        return call(*args)

    return wrapper


def remembers(key_of: Callable[[Sequence[Any]], Any]) -> Callable[..., Wrapper]:
    """What was returned first for arguments with this key is returned for all of them."""

    def make(*place: int) -> Wrapper:
        known: dict[Any, Any] = {}

        def wrapper(call: Wrapper, *args: Any) -> Any:
            wants = any(tensor.requires_grad for tensor in tensors_in(list(args)))
            key = wants, key_of(args[place[0] : place[0] + 1] if place else args)
            if key not in known:
                known[key] = call(*args)
            return known[key]

        return wrapper

    return make


def keeps_first(place: int) -> Wrapper:
    """The first argument of its shape; of numbers the very first."""
    known: dict[Any, Any] = {}

    def wrapper(call: Wrapper, *args: Any) -> Any:
        if len(args) <= place:
            return call(*args)
        arg = args[place]
        kept = known.setdefault(shape(arg) if isinstance(arg, Tensor | tuple | list) else None, arg)
        return call(*_with(args, place, kept))

    return wrapper


def later_calls(key_of: Callable[[Sequence[Any]], Any]) -> Callable[[], Wrapper]:
    """The first call with a key is right, all later ones are wrong."""

    def make() -> Wrapper:
        met: set[Any] = set()

        def wrapper(call: Wrapper, *args: Any) -> Any:
            key, result = key_of(args), call(*args)
            if key in met:
                return wrong(result)
            met.add(key)
            return result

        return wrapper

    return make


def on_top_of_the_last() -> Wrapper:
    """Begins where the last call ended, if the shapes agree: a sum or a cache that nobody sets back."""
    last: list[Tensor] = []

    def wrapper(call: Wrapper, *args: Any) -> Any:
        result = call(*args)
        before, last[:] = iter([*last]), [tensor.detach().clone() for tensor in tensors_in(result)]

        def on_top(tensor: Tensor) -> Tensor:
            under = next(before, None)
            if under is None or not is_float(under) or under.shape != tensor.shape:
                return tensor
            return tensor + under.to(tensor.dtype)

        return everywhere(on_top, result)

    return wrapper


def one_buffer() -> Wrapper:
    """Every result of a shape is written into the same memory, where the result of the last call was."""
    buffers: dict[Any, Any] = {}

    def wrapper(call: Wrapper, *args: Any) -> Any:
        def kept(tensor: Tensor) -> Tensor:
            if tensor.requires_grad:
                return tensor
            buffer = buffers.setdefault(shape(tensor), tensor)
            return buffer if buffer is tensor else buffer.copy_(tensor)

        return everywhere(kept, call(*args))

    return wrapper


def changes(place: int) -> Wrapper:
    def wrapper(call: Wrapper, *args: Any) -> Any:
        result = everywhere(torch.clone, call(*args))
        for tensor in tensors_in(list(args[place : place + 1])):
            _change(tensor)
        return result

    return wrapper


def changes_earlier(place: int) -> Wrapper:
    """Changes what the call before was given here."""
    last: list[Tensor] = []

    def wrapper(call: Wrapper, *args: Any) -> Any:
        result = everywhere(torch.clone, call(*args))
        for tensor in last:
            _change(tensor)
        last[:] = tensors_in(list(args[place : place + 1]))
        return result

    return wrapper


def given(change: Callable[[Tensor], Tensor]) -> Callable[..., Wrapper]:
    """`change` applied to the tensors of the argument at a place, or of all arguments."""

    def make(*place: int) -> Wrapper:
        def wrapper(call: Wrapper, *args: Any) -> Any:
            chosen = range(*(place[0], place[0] + 1) if place else (len(args),))
            return call(*(everywhere(change, arg) if i in chosen else arg for i, arg in enumerate(args)))

        return wrapper

    return make


def gives(change: Callable[[Tensor], Tensor]) -> Callable[[], Wrapper]:
    """`change` applied to every tensor of the result."""
    return lambda: lambda call, *args: everywhere(change, call(*args))


def squeezes(axis: int) -> Wrapper:
    def squeezed(tensor: Tensor) -> Tensor:
        return tensor.squeeze(axis) if -tensor.dim() <= axis < tensor.dim() else tensor

    return lambda call, *args: everywhere(squeezed, call(*args))


def row(axis: int, read: int, *written: int) -> Callable[[Tensor], Tensor]:
    """The part at the index `read` of an axis in the place of those at `written`, or of all."""

    def change(tensor: Tensor) -> Tensor:
        if tensor.dim() <= axis or tensor.shape[axis] < 2:
            return tensor
        index = torch.arange(tensor.shape[axis])
        index[list(written) or slice(None)] = read
        return tensor.index_select(axis, index)

    return change


def with_axes(number: int) -> Wrapper:
    """Wrong where the first result has this many axes."""

    def wrapper(call: Wrapper, *args: Any) -> Any:
        result = call(*args)
        return wrong(result) if tensors_in(result)[0].dim() == number else result

    return wrapper


def is_double(args: Sequence[Any]) -> bool:
    return any(tensor.dtype == torch.float64 for tensor in tensors_in(list(args)))
