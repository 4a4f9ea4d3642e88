"""The plain data that crosses between a specification and a student's code.

Tensors, numbers, strings, None, tuples, lists and dicts; nothing with behaviour. Anything else that a student returns
becomes an `Opaque` with its type's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader.subject.translator import Speaker, Trainee, Translator
from grader.subject.writer import Graded, Writer

# Taken at import, in case a notebook replaces torch's functions.
_equal, _isnan, _where, _cat, _stack = torch.equal, torch.isnan, torch.where, torch.cat, torch.stack
# The plain value of a subclass's instance, whatever its methods return.
_BARE: dict[type, Callable[[Any], Any]] = {int: int.__index__, float: float.__float__, str: str.__str__}
MAX_DEPTH = 12
MAX_ITEMS = 100_000
# Beyond it a whole number may not fit into a float.
MAX_INT = 10**299


@dataclass(frozen=True)
class Opaque:
    """Stands for an object that can't cross: only the name of its type does."""

    type_name: str


_PLAIN = frozenset({type(None), bool, int, float, str, Opaque})


@dataclass(frozen=True)
class Given:
    """A callable that the subject builds for a student's function from a name and plain data, such as
    `Given("linear", {"weight": w})`. Its kinds are in `GIVEN`. `Given("built", {"handle": "model"})` is what was built
    under that handle, `Given("optimizer", {"handle": "model"})` its optimizer."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Callback:
    """A callable that the judge answers. The student's process has only its `number`."""

    number: int


def _linear(data: Mapping[str, Any]) -> Callable[..., Any]:
    weight, bias = data["weight"], data.get("bias")
    return lambda x: nn.functional.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))


def _feed_forward(data: Mapping[str, Any]) -> Callable[..., Any]:
    """Two linear layers with tanh between them, as a function of x (..., E). `data` holds their weights."""
    first, second = ({name: data[f"{name}{i}"] for name in ("weight", "bias")} for i in (1, 2))
    return lambda x: _linear(second)(torch.tanh(_linear(first)(x)))


def _layer_norm(data: Mapping[str, Any]) -> Callable[..., Any]:
    weight, bias, eps = data["weight"], data["bias"], data.get("eps", 1e-5)
    return lambda x: nn.functional.layer_norm(x, weight.shape, weight.to(x.dtype), bias.to(x.dtype), eps)


def _same(_data: Mapping[str, Any]) -> Callable[..., Any]:
    """A function that gives back the very tensor that it gets, as `nn.Identity` does, and dropout in eval mode."""
    return lambda x: x


def _generator(data: Mapping[str, Any]) -> torch.Generator:
    """A generator from which as many numbers as `drawn` says were drawn; without that it is fresh."""
    generator = torch.Generator().manual_seed(data["seed"])
    torch.rand(data.get("drawn", 0), generator=generator)
    return generator


# Stateless, for float32 and float64.
GIVEN: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "linear": _linear,
    "feed_forward": _feed_forward,
    "layer_norm": _layer_norm,
    "same": _same,
    "translator": Translator,  # the only modules: they have a mode
    "trainee": Trainee,
    "speaker": Speaker,
    "writer": Writer,
    "graded": Graded,
    "generator": _generator,
}


def plain(value: object, depth: int = 0) -> Any:
    """`value` as plain data: detached copies of tensors, tuples and lists of plain data, `Opaque` for the rest. `depth`
    is how deep it lies in what is sent."""
    kind = type(value)
    if kind is int and not -MAX_INT < value < MAX_INT:  # type: ignore[operator]
        return Opaque("int with hundreds of digits")
    if kind in _PLAIN:
        return value
    if kind is Tensor or kind is nn.Parameter:
        return _plain_tensor(value)  # type: ignore[arg-type]
    if isinstance(value, np.generic):
        return plain(value.item(), depth + 1)
    for base, bare in _BARE.items():
        if isinstance(value, base):
            return plain(bare(value), depth + 1)
    if depth >= MAX_DEPTH:
        return Opaque("deeply nested data")
    if isinstance(value, tuple | list) and len(value) <= MAX_ITEMS:
        items = [plain(item, depth + 1) for item in list(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict) and len(value) <= MAX_ITEMS:
        return {k: plain(v, depth + 1) for k, v in dict(value).items() if type(k) in (str, int, bool)}
    return Opaque(type(value).__name__)


def _plain_tensor(tensor: Tensor) -> Tensor | Opaque:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type == "meta":
        return Opaque(f"{tensor.layout} tensor on {tensor.device.type}")
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _equal_with_nan(left: Tensor, right: Tensor) -> bool:
    nan = _isnan(left)
    return _equal(nan, _isnan(right)) and _equal(_where(nan, 0, left), _where(nan, 0, right))


def tensors_by_place(args: Sequence[Any]) -> dict[str, Tensor]:
    """The tensors among arguments by place: "2" for the third one, "3.0" for the first of a tuple in fourth place.

    >>> list(tensors_by_place([torch.zeros(1), 5, (torch.zeros(2), None)]))
    ['0', '2.0']
    """
    tensors: dict[str, Tensor] = {}
    for i, arg in enumerate(args):
        if isinstance(arg, tuple | list):
            tensors |= {f"{i}.{place}": tensor for place, tensor in tensors_by_place(arg).items()}
        elif isinstance(arg, Tensor):
            tensors[str(i)] = arg
    return tensors


def strided(tensor: Tensor) -> Tensor:
    """A copy that isn't contiguous: it lies in memory as a tensor whose first two axes were exchanged, or as a part of
    something wider, or as every second number. A tensor of one number has no other way to lie.

    >>> [strided(torch.zeros(shape)).stride() for shape in ((2, 3, 4), (2, 3), (3,))]
    [(4, 8, 1), (6, 1), (2,)]
    """
    if tensor.dim() > 2 and min(tensor.shape[:2]) > 1:
        return tensor.transpose(0, 1).clone(memory_format=torch.contiguous_format).transpose(0, 1)
    if tensor.dim() > 1 and tensor.numel() > tensor.shape[-1]:
        return _cat([tensor, tensor], -1)[..., : tensor.shape[-1]]
    return _stack([tensor, tensor], -1)[..., 0]


def place_in_words(place: str, names: Sequence[str]) -> str:
    """A place as a learner writes it, given the arguments' names; a parameter's name stays.

    >>> place_in_words("1", ["x", "cache"]), place_in_words("1.0", ["x", "cache"]), place_in_words("weight", ["x"])
    ('cache', 'cache[0]', 'weight')
    """
    first, *rest = place.split(".")
    return "".join([names[int(first)], *(f"[{index}]" for index in rest)]) if first.isdigit() else place


def tensors_in(value: object) -> list[Tensor]:
    """The tensors of a nested tuple, list or dict, in order; none of anything else."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in tensors_in(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in tensors_in(item)]
    return []


def same(left: object, right: object) -> bool:
    """Whether two pieces of plain data are exactly equal (NaN equals NaN)."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if left.shape != right.shape or left.dtype != right.dtype:
            return False
        return _equal(left, right) or _equal_with_nan(left, right)
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return left == right
