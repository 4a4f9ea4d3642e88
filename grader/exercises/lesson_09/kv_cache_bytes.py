"""`kv_cache_bytes`: the memory that the cached keys and values take."""

from __future__ import annotations

import math

from grader.exercises.lesson_09.shared import (
    Count,
    another_unit,
    byte_cases,
    bytes_fixed,
    bytes_of,
    counts,
    is_whole,
    matches_any,
)
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)


def reference(
    batch: int, num_layers: int, num_kv_heads: int, head_dim: int, seq_len: int, bytes_per_element: int
) -> int:
    """The right number of bytes: those of keys and values (batch, num_kv_heads, seq_len, head_dim) in every layer."""
    both = 2  # keys and values
    return bytes_of(bytes_per_element, num_layers, both, batch, num_kv_heads, seq_len, head_dim)


CACHE_ARGS = ("batch", "num_layers", "num_kv_heads", "head_dim", "seq_len", "bytes_per_element")

LLAMA_2 = {
    "batch": 3, "num_layers": 32, "num_kv_heads": 32, "head_dim": 128, "seq_len": 4096, "bytes_per_element": 2,
}  # fmt: skip


def _held(**of: int) -> float:
    return math.prod(of.values())


def _without(name: str, factor: int = 2) -> Count:
    return lambda **of: factor * math.prod(size for other, size in of.items() if other != name)


EXERCISE = spec.exercise(
    reference,
    points=2,
    cases=lambda draw: byte_cases(draw, CACHE_ARGS, LLAMA_2),
    parts=(
        counts("counts the bytes of a small cache", 2, "small sizes", "other sizes"),
        counts("counts them for one token and for a real model", 1, "one token", "a real model"),
        is_whole(0.5, "small sizes", "a real model"),
    ),
    mistakes={
        "key-or-value-forgotten": When(matches_any(_held)),
        "quadratic": When(
            matches_any(
                lambda **of: 2 * of["seq_len"] * math.prod(of.values()),
                lambda **of: of["seq_len"] * math.prod(of.values()),
                lambda **of: 2 * of["seq_len"] * math.prod(of.values()) // of["head_dim"],
                lambda **of: of["seq_len"] * math.prod(of.values()) // of["head_dim"],
            )
        ),
        "factor-forgotten": When(
            matches_any(
                *(
                    _without(name, factor)
                    for name in ("batch", "num_layers", "num_kv_heads", "head_dim", "seq_len")
                    for factor in (1, 2)
                )
            )
        ),
        "elements-instead-of-bytes": When(
            matches_any(_without("bytes_per_element"), _without("bytes_per_element", 1), lambda **of: 16 * _held(**of))
        ),
        "queries-kept": When(matches_any(lambda **of: 3 * _held(**of))),
        **by_id(another_unit(reference), bytes_fixed(reference)),
    },
)
