"""The wire between judge and student's process: typed, framed, size-limited; never pickle.

A frame is two lengths, a JSON tree and the raw bytes of its tensors. Strings, booleans, integers and None stand for
themselves in the tree; everything else is a list whose first item names its type.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.subject.values import MAX_DEPTH, Callback, Given, Opaque

HEADER = struct.Struct(">QQ")
MAX_FRAME = 64 * 2**20
# Of JSON, which takes many times its size once it is read.
MAX_TREE = 4 * 2**20
MAX_AXES = 12
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    )
}


# What stands for itself in the tree.
_BARE = frozenset({bool, int, str, type(None)})


class WireError(ValueError):
    """A frame that is broken, too large, or holds what may not cross. Whoever reads it stops talking to the sender."""


def encode(value: object) -> bytes:
    """One frame holding `value` (plain data of `grader.subject.values`)."""
    blobs: list[bytes] = []
    head = json.dumps(_pack(value, blobs), allow_nan=False, separators=(",", ":")).encode()
    body = b"".join(blobs)
    if len(head) + len(body) > MAX_FRAME or len(head) > MAX_TREE:
        raise WireError(f"a frame of {len(head)} + {len(body)} bytes, the limits are {MAX_TREE} and {MAX_FRAME}")
    return HEADER.pack(len(head), len(body)) + head + body


def decode(frame: bytes) -> Any:
    """The value in one frame; WireError for anything that isn't exactly that."""
    if len(frame) < HEADER.size:
        raise WireError("a frame shorter than its header")
    head_size, body_size = HEADER.unpack_from(frame)
    if HEADER.size + head_size + body_size != len(frame):
        raise WireError("a frame's lengths don't add up")
    try:
        tree = json.loads(frame[HEADER.size : HEADER.size + head_size])
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame's tree is no JSON: {type(error).__name__}") from None
    reader = _Reader(memoryview(frame)[HEADER.size + head_size :])
    value = reader.unpack(tree, 0)
    if reader.offset != body_size:
        raise WireError("a frame holds bytes that no tensor claims")
    return value


def read_frame(read: Callable[[int], bytes], limit: int = MAX_FRAME) -> bytes | None:
    """The next frame from `read(n)` (which gives exactly n bytes, or fewer at the end); None at a clean end."""
    header = read(HEADER.size)
    if not header:
        return None
    if len(header) < HEADER.size:
        raise WireError("the sender stopped in the middle of a frame")
    head_size, body_size = HEADER.unpack(header)
    size = head_size + body_size
    if size > limit or head_size > MAX_TREE:
        raise WireError(f"a frame of {size} bytes, the limit is {limit}")
    body = read(size)
    if len(body) < size:
        raise WireError("the sender stopped in the middle of a frame")
    return header + body


def _pack(value: object, blobs: list[bytes]) -> Any:
    kind = type(value)
    if kind in _BARE:
        return value
    if kind is tuple or kind is list:
        items = value if all(type(item) in _BARE for item in value) else (_pack(item, blobs) for item in value)  # type: ignore[attr-defined]
        return ["l" if kind is list else "t", *items]  # type: ignore[misc]
    if isinstance(value, Tensor):
        blobs.append(_bytes_of(value.detach()))
        return ["T", str(value.dtype).removeprefix("torch."), list(value.shape)]
    if isinstance(value, float):
        return ["f", value if math.isfinite(value) else str(value)]
    if isinstance(value, dict):
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
    """A tensor's elements in order. NumPy knows all its dtypes but one."""
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.contiguous().view(torch.int16)
    return tensor.numpy().tobytes()


def _key(key: object) -> str | int | bool:
    if not isinstance(key, str | int):
        raise WireError(f"a dict's key of type {type(key).__name__} can't cross the wire")
    return key


class _Reader:
    """Takes a tree apart; tensors take their bytes from the body in the order in which they stand."""

    def __init__(self, body: memoryview) -> None:
        self.body = body
        self.offset = 0

    def unpack(self, node: Any, depth: int) -> Any:
        if node is None or isinstance(node, bool | int | str):
            return node
        if depth > MAX_DEPTH + 4 or not isinstance(node, list) or not node:
            raise WireError("a frame's tree is malformed")
        kind, rest = node[0], node[1:]
        if kind in ("l", "t") and all(
            type(item) in _BARE for item in rest
        ):  # most are: don't go through them one by one
            return rest if kind == "l" else tuple(rest)
        if kind == "l":
            return [self.unpack(item, depth + 1) for item in rest]
        if kind == "t":
            return tuple(self.unpack(item, depth + 1) for item in rest)
        if kind == "d":
            return self._dict(rest, depth)
        if kind == "T" and len(rest) == 2:
            return self._tensor(*rest)
        if kind == "f" and len(rest) == 1:
            return self._float(rest[0])
        if kind == "o" and len(rest) == 1 and isinstance(rest[0], str):
            return Opaque(rest[0][:200])
        if kind == "c" and len(rest) == 1 and isinstance(rest[0], int):
            return Callback(rest[0])
        if kind == "g" and len(rest) == 2 and isinstance(rest[0], str):
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
        if type(node) in (int, float) or node in ("nan", "inf", "-inf"):
            return float(node)  # type: ignore[arg-type]
        raise WireError("a float in a frame is malformed")

    def _tensor(self, dtype_name: object, shape: object) -> Tensor:
        dtype = DTYPES.get(dtype_name) if isinstance(dtype_name, str) else None
        if dtype is None or not isinstance(shape, list) or len(shape) > MAX_AXES:
            raise WireError("a tensor in a frame is malformed")
        if not all(type(n) is int and 0 <= n <= MAX_FRAME for n in shape):
            raise WireError("a tensor's shape in a frame is malformed")
        size = math.prod(shape) * dtype.itemsize
        if math.prod(n for n in shape if n) > MAX_FRAME:  # of an empty tensor too: torch multiplies them
            raise WireError("a tensor's shape in a frame is malformed")
        if self.offset + size > len(self.body):
            raise WireError("a tensor in a frame is larger than the frame")
        raw = self.body[self.offset : self.offset + size]
        self.offset += size
        if size == 0:
            return torch.empty(shape, dtype=dtype)
        # A bool of 2 is undefined behaviour in torch: read bytes, then compare.
        if dtype is torch.bool:
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8).reshape(shape) != 0
        return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)
