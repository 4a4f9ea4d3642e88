"""Lesson 06 prints the shapes of its source document, and what its prose says about order and distance."""

from __future__ import annotations

import math
import re

import pytest

from tests.lessons.printed import named_rows, named_tables, printed_text

# Steps 1, 4 and 5 of the page with a whole Transformer: (N, src_len), (N, trg_len), (N, L, E), positions (N, L).
SHAPES = [
    "src (128, 28)  trg (128, 29)",
    "word_embedding(src) (128, 28, 512)\nnumbers in the table 5120000",
    "positions (128, 28)  first row starts [0, 1, 2, 3]",
    "position_embedding(positions) (128, 28, 512)",
    "out (128, 28, 512)",
]
CLAIMS = [
    "row 0: [1, 2, 4, 1, 3, 0, 0] ... [1, 2, 3, 4, 5, 0, 0] ...",
    "tokens of sentence 1 in the order [0, 4, 2, 3, 1]\nminus those of sentence 2: [0, 0, 0, 0, 0]\n"
    "largest difference of their outputs: 0.000",
    "distance of the two 'the' without positions: 0\ndistance of the two 'the' with positions: 32",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("06_embeddings_and_positions")


@pytest.mark.parametrize("line", [*SHAPES, *CLAIMS], ids=lambda line: line.splitlines()[0])
def test_shape_or_claim_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_a_word_has_one_output_whatever_its_place_without_positions(text):
    first, second = named_rows(text, "output", rows=5)[:2]
    assert sorted(first) == sorted(second)
    assert first != second
    assert len({tuple(row) for row in first}) == 4  # "the" twice


def test_only_a_causal_mask_tells_shuffled_tokens_apart(text):
    found = dict(re.findall(r"(without a mask|with a causal mask) +largest difference (\d\.\d)", text))
    assert found["without a mask"] == "0.0"
    assert float(found["with a causal mask"]) > 0.1


def test_with_positions_it_has_two(text):
    ((_, *bites), (_, *bitten)) = named_rows(text, "output", rows=2)[-1]
    assert len(bites) == 4
    assert bites != bitten


def test_position_three_is_the_formula(text):
    [table] = named_rows(text, "position 3", rows=4)
    assert len(table) == 4
    for pair, (name, angle, sine, cosine) in enumerate(table):
        assert name == f"columns {2 * pair} and {2 * pair + 1}"
        right = 3 / 10000 ** (2 * pair / 8)
        assert (float(angle), float(sine), float(cosine)) == tuple(
            round(number, 3) for number in (right, math.sin(right), math.cos(right))
        )


def test_products_of_sinusoids_depend_on_the_distance_only(text):
    sinusoidal, random = (named_rows(text, name, rows=7)[0] for name in ("sinusoidal", "random table"))
    assert [row[0] for row in sinusoidal] == [f"distance {distance}" for distance in (0, 1, 2, 5, 20, 25, 40)]
    for (name, *numbers), (_, *others) in zip(sinusoidal, random, strict=True):
        distance = int(name.removeprefix("distance "))
        right = sum(math.cos(distance * 10000 ** (-2 * i / 64)) for i in range(32))
        assert numbers == [f"{right:.2f}"] * 3
        assert len(set(others)) == 3


def test_products_of_turned_pairs_depend_on_the_offset_only(text):
    found = re.findall(r"query at +\d+, key at +\d+: offset +(-?\d), product +([-\d.]+)", text)
    for offset, product in found:
        turn = 0.5 * int(offset)
        a, b = math.cos(turn) - 3 * math.sin(turn), math.sin(turn) + 3 * math.cos(turn)  # the key (1, 3), turned
        assert float(product) == pytest.approx(2 * a + b, abs=1e-3)
    assert [offset for offset, _ in found] == ["-1", "-1", "-1", "-2", "1"]


def test_offsets_are_key_minus_query(text):
    assert named_tables(text, "key - query", rows=5) == [[[str(k - q) for k in range(5)] for q in range(5)]]


def test_the_biased_head_looks_at_the_token_before(text):
    [weights] = named_tables(text, "weights", rows=5)
    assert all(0.89 < float(weights[i][i - 1]) < 0.93 for i in range(1, 5))
