"""Lesson 09 answers its source document's two questions, and its predictions are what it measures."""

from __future__ import annotations

import re

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# What the source asks (the matrix for seq_len = 1000, memory for d_model = 512 and d_k = 64), and what prose points at.
LINES = [
    "1000 tokens: (1000, 1000), 1,000,000 numbers, 4,000,000 bytes",
    "  input               2.048 MB",  # 1000 · 512 · 4
    "  projections         0.393 MB",  # 3 · 512 · 64 · 4
    "  query, key, value   0.768 MB",  # 3 · 1000 · 64 · 4
    "  scores and weights  8.000 MB",  # 2 · 1000 · 1000 · 4
    "  output              0.256 MB",
    "  100,000   80,000.00      307.59",
    "the matrices outweigh all the rest from 486 tokens on",
    "softmax over the last axis (2, 3, 4), alone and in the batch: up to 0.00 apart",
    "softmax over the axis 0    (2, 3, 4), alone and in the batch: up to 2.31 apart",
    "two sums, divided at the end: 40.0377",
    "[2.0, 5.0]        5  0.1353  1.2034  44.3835   36.8806",
    "[4.0, 0.0]        5  1.0000  1.5781  63.1817   40.0377",
    "token 4: cache (5, 4), largest difference from the output without a cache 0.0000",
    "rows written in 1000 steps: cat 500,500, preallocated 1,000",  # 1 + 2 + … + 1000
    " 0.038 GB  GPT-2 small, 12 layers, 12 heads",  # 2 · 12 · 12 · 64 · 1024 · 2
    " 2.147 GB  Llama 2 7B, 32 layers, 32 heads",
    " 1.342 GB  Llama 2 70B, 80 layers, 64 heads, 8 of them with keys",
    "scores of 8 tokens: causal 36 window of 3 21",
    "4 ...........xxxxxxxxx",  # the token itself and 4 · (3 - 1) before it
    "multi-head    64 key heads: 10.737 GB",  # 2 · 80 · 64 · 128 · 4096 · 2
    "grouped-query  8 key heads:  1.342 GB",
    "multi-query    1 key heads:  0.168 GB",
]


@pytest.fixture(scope="module")
def text() -> str:
    return printed_text("09_efficient_attention")


@pytest.mark.parametrize("line", LINES)
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_measured_memory_is_the_predicted(text):
    found = re.findall(r"(\d+) tokens: measured +([\d,]+) bytes, two matrices +([\d,]+) bytes", text)
    assert [int(tokens) for tokens, _, _ in found] == [256, 512, 1024]
    for tokens, measured, predicted in found:
        assert measured == predicted == f"{2 * int(tokens) ** 2 * 4:,}"


def test_two_ways_print_the_same_tensors(text):
    tensors = printed_tensors(text)
    assert tensors["fused"] == tensors["at once"]
    assert tensors["rows 2 and 3 of all"] == tensors["made by themselves"]


def test_fused_kernel_runs_where_values_are_as_wide_as_keys(text):
    wide, narrow = (re.search(rf"^{width} +(.+)$", text, re.M)[1] for width in ("as wide as the keys", "half as wide"))
    assert [kernel for kernel in ("flash_attention_for_cpu", "attention_math", "_softmax") if kernel in wide] == [
        "flash_attention_for_cpu"
    ]
    assert [kernel for kernel in ("flash_attention_for_cpu", "attention_math") if kernel in narrow] == [
        "attention_math"
    ]


def test_training_keeps_the_matrix_unless_it_is_fused(text):
    found = dict(re.findall(r"(naive|fused one|chunked) keeps ?([\d ,]+) bytes", text))
    naive, fused, chunked = (int(found[name].replace(",", "")) for name in ("naive", "fused one", "chunked"))
    inputs, table = 3 * 1024 * 64 * 4, 1024 * 1024 * 4
    assert naive == chunked == inputs + table
    assert inputs < fused < table / 2
