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
    " 0.038 GB  GPT-2 small, 12 layers, 12 heads",  # 2 · 12 · 12 · 64 · 1024 · 2
    " 2.147 GB  Llama 2 7B, 32 layers, 32 heads",
    " 1.342 GB  Llama 2 70B, 80 layers, 64 heads, 8 of them with keys",
    "scores of 8 tokens: causal 36 window of 3 21",
    "4 ...........xxxxxxxxx",  # the token itself and 4 · (3 - 1) before it
]


@pytest.fixture(scope="module")
def text() -> str:
    return printed_text("09_efficient_attention")


@pytest.mark.parametrize("line", LINES)
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_the_cache_of_a_model_is_as_large_as_predicted_and_changes_nothing(text):
    held, predicted = re.search(r"^cache: ([\d,]+) bytes, predicted ([\d,]+)$", text, re.M).groups()
    assert held == predicted == f"{2 * 2 * 2 * 32 * 103 * 4:,}"  # keys and values of two layers with two heads
    assert "tokens read: 103, without a cache 5,350" in text
    assert "largest difference from one pass over all: 0.000" in text


def test_what_a_window_and_a_single_key_head_cost_a_trained_model(text):
    seen = {
        name: (float(loss), held)
        for name, loss, held in re.findall(
            r"^(everything|the last \d+|two key heads|their mean|trained on) +(\d\.\d\d) +([\d,]+)$", text, re.M
        )
    }
    whole = 2 * 2 * 2 * 128 * 32 * 4
    assert {name: held for name, (_, held) in seen.items() if "last" in name} == {
        f"the last {window}": f"{whole * window // 128:,}" for window in (64, 32, 16, 8)
    }
    full, _ = seen["everything"]
    assert seen["the last 64"][0] <= full + 0.005
    assert seen["the last 16"][0] == pytest.approx(full + 0.17, abs=0.01)
    assert seen["two key heads"] == seen["everything"]
    assert seen["their mean"][1] == seen["trained on"][1] == f"{whole // 2:,}"
    assert seen["their mean"][0] > 1.3
    assert seen["trained on"][0] == pytest.approx(full + 0.06, abs=0.02)


def test_measured_memory_is_the_predicted(text):
    found = re.findall(r"(\d+) tokens: measured +([\d,]+) bytes, two matrices +([\d,]+) bytes", text)
    assert [int(tokens) for tokens, _, _ in found] == [256, 512, 1024]
    for tokens, measured, predicted in found:
        assert measured == predicted == f"{2 * int(tokens) ** 2 * 4:,}"


def test_two_ways_print_the_same_tensors(text):
    tensors = printed_tensors(text)
    assert tensors["fused"] == tensors["at once"]


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
