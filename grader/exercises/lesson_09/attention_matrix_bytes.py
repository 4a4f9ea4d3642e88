"""`attention_matrix_bytes`: the memory that the matrix of attention weights takes."""

from __future__ import annotations

from grader.exercises.lesson_09.shared import (
    LESSON,
    another_unit,
    byte_cases,
    bytes_fixed,
    bytes_of,
    counts,
    is_whole,
    matches_any,
)
from grader.spec.exercise import Exercise, Mistake


def reference(batch: int, num_heads: int, seq_len: int, bytes_per_element: int) -> int:
    return bytes_of(bytes_per_element, batch, num_heads, seq_len, seq_len)


MATRIX_ARGS = ("batch", "num_heads", "seq_len", "bytes_per_element")

# Both come out above 2^31: a product in int32 runs over.
GPT_2 = {"batch": 64, "num_heads": 12, "seq_len": 1024, "bytes_per_element": 4}

EXERCISE = Exercise(
    name="attention_matrix_bytes",
    lesson=LESSON,
    points=1,
    signature=MATRIX_ARGS,
    cases=lambda draw: byte_cases(draw, MATRIX_ARGS, GPT_2),
    reference=reference,
    parts=(
        counts("counts the bytes of a small matrix", 2, "small sizes", "other sizes"),
        counts("counts them for one token and for a real model", 1, "one token", "a real model"),
        is_whole(0.5, "small sizes", "a real model"),
    ),
    mistakes=(
        Mistake(
            "heads-forgotten",
            "every head has a matrix of its own, but the number of heads changes nothing.",
            (
                "What is the shape of the weights in lesson 03? How many axes does it have?",
                "Is each of the four arguments used?",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * seq_len**2 * bytes_per_element
            ),
        ),
        Mistake(
            "linear-in-seq-len",
            "twice as many tokens give twice as many bytes; a matrix has a row *and* a column for each of them.",
            (
                "How many scores do 3 tokens have? And 6?",
                "Which axis of the matrix is still missing in your product?",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len * bytes_per_element,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * seq_len * 2 * bytes_per_element
                ),
            ),
        ),
        Mistake(
            "batch-forgotten",
            "every sequence of the batch has its own matrices, but the batch changes nothing.",
            ("Two sequences instead of one: how many matrices are there?", "Is each of the four arguments used?"),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: num_heads * seq_len**2 * bytes_per_element
            ),
        ),
        Mistake(
            "elements-instead-of-bytes",
            "that is how many numbers the matrices hold, or their bits; bytes are asked for.",
            (
                "In which unit is your number: entries, bytes or bits?",
                "A number in float32 takes four bytes. Which argument says so?",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len**2,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    8 * batch * num_heads * seq_len**2 * bytes_per_element
                ),
            ),
        ),
        Mistake(
            "one-table-only",
            "that is a single matrix: neither the heads nor the sequences of the batch count.",
            (
                "What is the shape of the weights in lesson 03? How many axes does it have?",
                "Is each of the four arguments used?",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: seq_len**2 * bytes_per_element,
                lambda batch, num_heads, seq_len, bytes_per_element: seq_len**2,
            ),
        ),
        Mistake(
            "squared-too-much",
            "more is squared than the number of tokens.",
            (
                "Twice as many heads: how many times as many matrices are there?",
                "What does the `2` of your power belong to? Powers come before products, parentheses before both.",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * (num_heads * seq_len) ** 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    (batch * num_heads * seq_len) ** 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len**3 * bytes_per_element,
            ),
        ),
        Mistake(
            "xor-instead-of-power",
            "`^` is not a power in Python: it compares the bits of two numbers.",
            ("Print `3 ^ 2`. What did you expect?", "Look up how Python writes a power."),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * seq_len ^ 2 * bytes_per_element
                ),
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * (seq_len ^ 2) * bytes_per_element
                ),
            ),
        ),
        Mistake(
            "counted-twice",
            "that is twice as much: there is one matrix of weights for each head.",
            (
                "Which two things do you count? The question is about the weights alone.",
                "Keys and values are two tensors; the weights are one.",
            ),
            recognise=matches_any(
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    2 * batch * num_heads * seq_len**2 * bytes_per_element
                )
            ),
        ),
        another_unit(reference),
        bytes_fixed(reference),
    ),
)
