"""The wire format between the judge and a student's process: typed, framed, size-limited; never pickle.

A frame is two lengths, a JSON tree and the raw bytes of its tensors. Strings, booleans, finite numbers, None and dicts
with string keys are plain JSON; everything else is a list whose first item names its type.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import torch
from torch import Tensor

from grader.subject.errors import TooLarge, WireError, say
from grader.subject.values import MAX_DEPTH, Callback, Given, Opaque

HEADER = struct.Struct(">QQ")
MAX_FRAME = 64 * 2**20
# Bytes of JSON. Parsed, it takes up to `TREE_FACTOR` times its size: three characters may make a dict.
MAX_TREE = 4 * 2**20
TREE_FACTOR = 32
# Digits of a whole number. Those that are accepted fit into a float, so code that calculates with them can't overflow.
MAX_DIGITS = 300
MAX_AXES = 12
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    )
}


_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Types that are plain JSON.
_BARE = frozenset({bool, int, str, type(None)})
# Tensors start at multiples of it, so that they can be read without a copy.
ALIGNED = 16


def encode(value: object) -> bytes:
    """One frame holding `value` (plain data of `grader.subject.values`)."""
    blobs: list[bytes] = []
    head = _to_json(_pack(value, blobs)).encode()
    body = b"".join(blobs)
    if len(head) + len(body) > MAX_FRAME or len(head) > MAX_TREE:
        sizes = {"text": len(head), "tensors": len(body), "most_text": MAX_TREE, "most": MAX_FRAME}
        raise TooLarge(
            say("{text} bytes of text, {tensors} of tensors; the limits are {most_text} and {most}", **sizes)
        )
    return HEADER.pack(len(head), len(body)) + head + body


def decode(frame: bytes | bytearray) -> Any:
    """The value in one frame; WireError unless `frame` is exactly one frame."""
    if len(frame) < HEADER.size:
        raise WireError("a frame shorter than its header")
    head_size, body_size = HEADER.unpack_from(frame)
    if HEADER.size + head_size + body_size != len(frame):
        raise WireError("a frame's lengths don't add up")
    try:
        tree = _from_json(frame[HEADER.size : HEADER.size + head_size].decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame's tree isn't JSON: {type(error).__name__}") from None
    reader = _Reader(bytearray(memoryview(frame)[HEADER.size + head_size :]))
    value = reader.unpack(tree, 0)
    if reader.offset != body_size:
        raise WireError("a frame holds bytes that no tensor claims")
    return value


def frame_size(header: bytes | bytearray, limit: int = MAX_FRAME) -> int:
    """The length of the frame that starts with `header`; WireError if it is too large."""
    head_size, body_size = HEADER.unpack_from(header)
    if head_size + body_size > limit or head_size > MAX_TREE:
        raise WireError(f"a frame of {head_size + body_size} bytes, the limit is {limit}")
    return int(HEADER.size + head_size + body_size)


def memory_of(header: bytes | bytearray) -> int:
    """How many bytes the value of the frame that starts with `header` may take."""
    head_size, body_size = HEADER.unpack_from(header)
    return int(TREE_FACTOR * head_size + body_size)


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False).encode
_from_json = json.JSONDecoder(parse_int=_whole_number).decode


def _pack(value: object, blobs: list[bytes]) -> Any:
    kind = type(value)
    if kind in _BARE:
        return value
    if kind is tuple or kind is list:
        return ["l" if kind is list else "t", *[_pack(item, blobs) for item in value]]  # type: ignore[attr-defined]
    if isinstance(value, Tensor):
        if value.dtype not in _NAMES:
            raise WireError(f"a tensor of {value.dtype} can't cross the wire")
        blobs.append(_bytes_of(value.detach()))
        return ["T", _NAMES[value.dtype], *value.shape]
    if isinstance(value, float):
        return value if math.isfinite(value) else ["f", str(value)]
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {key: _pack(item, blobs) for key, item in value.items()}
        return ["d", *([_key(k), _pack(v, blobs)] for k, v in value.items())]
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return ["l" if isinstance(value, list) else "t", *(_pack(item, blobs) for item in value)]
    if isinstance(value, Opaque):
        return ["o", value.type_name]
    if isinstance(value, Given):
        return ["g", value.kind, _pack(dict(value.data), blobs)]
    if isinstance(value, Callback):
        return ["c", value.number]
    raise WireError(f"{type(value).__name__} can't cross the wire")


def _bytes_of(tensor: Tensor) -> bytes:
    """A tensor's elements in order, as bytes, padded. It also takes bfloat16, which NumPy doesn't have."""
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.contiguous().view(torch.int16)
    data = tensor.numpy().tobytes()
    return data + bytes(-len(data) % ALIGNED)


def _key(key: object) -> str | int | bool:
    if not isinstance(key, str | int):
        raise WireError(f"a dict's key of type {type(key).__name__} can't cross the wire")
    return key


class _Reader:
    """Turns a tree into a value. Tensors share the body's memory and come in the tree's order."""

    def __init__(self, body: bytearray) -> None:
        self.body = body
        self.offset = 0

    def unpack(self, node: Any, depth: int) -> Any:
        kind = type(node)
        if kind in _BARE or kind is float:
            return node
        if depth > MAX_DEPTH + 4:
            raise WireError("a frame's tree is malformed")
        if kind is dict:
            return {key: self.unpack(item, depth + 1) for key, item in node.items()}
        if not node or type(node[0]) is not str:
            raise WireError("a frame's tree is malformed")
        return self._tagged(node[0], node[1:], depth)

    def _tagged(self, kind: str, rest: list[Any], depth: int) -> Any:
        if kind == "T":
            return self._tensor(rest)
        if kind in ("l", "t"):
            items = [item if type(item) in _BARE else self.unpack(item, depth + 1) for item in rest]
            return items if kind == "l" else tuple(items)
        if kind == "d":
            return self._dict(rest, depth)
        if kind == "f" and len(rest) == 1:
            return self._float(rest[0])
        if kind == "o" and len(rest) == 1 and isinstance(rest[0], str):
            return Opaque(rest[0][:200])
        if kind == "c" and len(rest) == 1 and isinstance(rest[0], int):
            return Callback(rest[0])
        if kind == "g" and len(rest) == 2 and isinstance(rest[0], str) and isinstance(rest[1], dict):
            return Given(rest[0], self.unpack(rest[1], depth + 1))
        raise WireError("a frame's tree is malformed")

    def _dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str | int):
                raise WireError("a dict in a frame is malformed")
            result[pair[0]] = self.unpack(pair[1], depth + 1)
        return result

    @staticmethod
    def _float(node: object) -> float:
        if node in ("nan", "inf", "-inf"):
            return float(node)
        raise WireError("a float in a frame is malformed")

    def _tensor(self, rest: list[Any]) -> Tensor:
        dtype = DTYPES.get(rest[0]) if rest and isinstance(rest[0], str) else None
        if dtype is None or len(rest) > MAX_AXES + 1:
            raise WireError("a tensor in a frame is malformed")
        shape, count, axes = rest[1:], 1, 1
        for n in shape:
            if type(n) is not int or not 0 <= n <= MAX_FRAME:
                raise WireError("a tensor's shape in a frame is malformed")
            count, axes = count * n, axes * (n or 1)
        if axes > MAX_FRAME:  # also for an empty tensor: torch multiplies the sizes of its axes
            raise WireError("a tensor's shape in a frame is malformed")
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        start, size = self.offset, count * dtype.itemsize
        self.offset += size + -size % ALIGNED
        if self.offset > len(self.body):
            raise WireError("a tensor in a frame is larger than the frame")
        # A bool of 2 is undefined behaviour in torch: read bytes, then compare.
        if dtype is torch.bool:
            return torch.frombuffer(self.body, dtype=torch.uint8, count=count, offset=start).reshape(shape) != 0
        return torch.frombuffer(self.body, dtype=dtype, count=count, offset=start).reshape(shape)
