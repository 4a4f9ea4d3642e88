"""Lesson 06 prints the shapes of its source document, and what its prose says about order and distance."""

from __future__ import annotations

import math
import re

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# Steps 1, 4 and 5 of the page with a whole Transformer: (N, src_len), (N, trg_len), (N, L, E), positions (N, L).
SHAPES = [
    "src (128, 28)  trg (128, 29)",
    "word_embedding(src) (128, 28, 512)  numbers in the table 5120000",
    "positions (128, 28)  first row starts [0, 1, 2, 3]",
    "position_embedding(positions) (128, 28, 512)",
    "out (128, 28, 512)",
]
CLAIMS = [
    "row 0: [1, 2, 4, 1, 3, 0, 0] ... [1, 2, 3, 4, 5, 0, 0] ...",
    "tokens of sentence 1 in the order [0, 4, 2, 3, 1] minus those of sentence 2: [0, 0, 0, 0, 0]\n"
    "largest difference of their outputs: 0.000",
    "without expand: largest difference 0.0",
    "row 0, distance of the two 'the': 0 without positions, 32 with them",
    *(f"row {p} turned back is row {p - 3}: largest difference 0.000" for p in (10, 77, 199)),
]


@pytest.fixture(scope="module")
def text():
    return printed_text("06_embeddings_and_positions")


@pytest.mark.parametrize("line", [*SHAPES, *CLAIMS], ids=lambda line: line.splitlines()[0])
def test_shape_or_claim_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_a_word_has_one_output_whatever_its_place_without_positions(text):
    block = r"\n((?: +.*\n){5})"
    found = re.search(f"the dog bites the man{block}the man bites the dog{block}", text)
    first, second = found.groups()
    assert sorted(first.splitlines()) == sorted(second.splitlines())
    assert first != second
    assert len(set(first.splitlines())) == 4  # "the" twice


def test_only_a_causal_mask_tells_shuffled_tokens_apart(text):
    found = dict(re.findall(r"(without a mask|causal mask) +largest difference (\d\.\d)", text))
    assert found["without a mask"] == "0.0"
    assert float(found["causal mask"]) > 0.1


def test_with_positions_it_has_two(text):
    bites, bitten = (re.search(rf"'dog' {verb}: +(tensor.*)", text)[1] for verb in ("bites", "is bitten"))
    assert bites != bitten


def test_position_three_is_the_formula(text):
    found = re.findall(r"columns (\d) and \d: sin\(([\d.]+)\) = ([-\d.]+), cos\([\d.]+\) = +([-\d.]+)", text)
    assert len(found) == 4
    for column, angle, sine, cosine in found:
        right = 3 / 10000 ** (int(column) / 8)
        assert (float(angle), float(sine), float(cosine)) == tuple(
            round(number, 3) for number in (right, math.sin(right), math.cos(right))
        )


def test_products_of_sinusoids_depend_on_the_distance_only(text):
    rows = re.findall(r"^ +(0|1|2|5|20|40) +" + r" +".join([r"(-?\d+\.\d\d)"] * 6) + "$", text, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [0, 1, 2, 5, 20, 40]
    for distance, *numbers in rows:
        right = sum(math.cos(int(distance) * 10000 ** (-2 * i / 64)) for i in range(32))
        assert numbers[:3] == [f"{right:.2f}"] * 3
        assert len(set(numbers[3:])) == 3


def test_products_of_turned_pairs_depend_on_the_offset_only(text):
    found = re.findall(r"query at +\d+, key at +\d+: offset +(-?\d), product +([-\d.]+)", text)
    for offset, product in found:
        turn = 0.5 * int(offset)
        a, b = math.cos(turn) - 3 * math.sin(turn), math.sin(turn) + 3 * math.cos(turn)  # the key (1, 3), turned
        assert float(product) == pytest.approx(2 * a + b, abs=1e-3)
    assert [offset for offset, _ in found] == ["-1", "-1", "-1", "-2", "1"]


def test_offsets_are_key_minus_query(text):
    assert printed_tensors(text)["offsets, key - query"] == [[[k - q for k in range(5)] for q in range(5)]]


def test_the_biased_head_looks_at_the_token_before(text):
    [weights] = printed_tensors(text)["weights"]
    assert all(0.89 < weights[i][i - 1] < 0.93 for i in range(1, 5))
