"""`attention_matrix_bytes`: the memory that the matrix of attention weights takes."""

from __future__ import annotations

from grader.exercises.lesson_09.shared import (
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


def reference(batch: int, num_heads: int, seq_len: int, bytes_per_element: int) -> int:
    """The right number of bytes: those of a tensor (batch, num_heads, seq_len, seq_len)."""
    return bytes_of(bytes_per_element, batch, num_heads, seq_len, seq_len)


MATRIX_ARGS = ("batch", "num_heads", "seq_len", "bytes_per_element")

# Both come out above 2^31: a product in int32 runs over.
GPT_2 = {"batch": 64, "num_heads": 12, "seq_len": 1024, "bytes_per_element": 4}

EXERCISE = spec.exercise(
    reference,
    points=1,
    cases=lambda draw: byte_cases(draw, MATRIX_ARGS, GPT_2),
    parts=(
        counts("counts the bytes of a small matrix", 2, "small sizes", "other sizes"),
        counts("counts them for one token and for a real model", 1, "one token", "a real model"),
        is_whole(0.5, "small sizes", "a real model"),
    ),
    mistakes={
        "heads-forgotten": When(
            matches_any(lambda batch, num_heads, seq_len, bytes_per_element: batch * seq_len**2 * bytes_per_element)
        ),
        "linear-in-seq-len": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len * bytes_per_element,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * seq_len * 2 * bytes_per_element
                ),
            )
        ),
        "batch-forgotten": When(
            matches_any(lambda batch, num_heads, seq_len, bytes_per_element: num_heads * seq_len**2 * bytes_per_element)
        ),
        "elements-instead-of-bytes": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len**2,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    8 * batch * num_heads * seq_len**2 * bytes_per_element
                ),
            )
        ),
        "one-table-only": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: seq_len**2 * bytes_per_element,
                lambda batch, num_heads, seq_len, bytes_per_element: seq_len**2,
            )
        ),
        "squared-too-much": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * (num_heads * seq_len) ** 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    (batch * num_heads * seq_len) ** 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len**3 * bytes_per_element,
            )
        ),
        "xor-instead-of-power": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * seq_len ^ 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * (seq_len ^ 2) * bytes_per_element
                ),
            )
        ),
        "counted-twice": When(
            matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    2 * batch * num_heads * seq_len**2 * bytes_per_element
                )
            )
        ),
        **by_id(another_unit(reference), bytes_fixed(reference)),
    },
)
