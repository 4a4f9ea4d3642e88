"""Lesson 07 prints the shapes of its source's nineteen steps, and the truth about its slips."""

from __future__ import annotations

import re

import pytest

from grader.authoring.lesson import read_lesson
from grader.authoring.model_solutions import LESSONS, cells
from grader.authoring.samples import submissions
from grader.judge.needed import needed
from grader.subject.cells import compile_cell
from grader.subject.names import names_of, statements
from tests.lessons.printed import printed_text

MODULES = ("FeedForward", "TransformerBlock", "Encoder", "DecoderBlock", "Decoder", "Transformer")

# What the document gives for each of its steps at its own sizes, under the lesson's names; "my ..." is a learner's own.
STEPS = {
    1: {"src": (128, 28), "trg": (128, 29)},
    2: {"cut": (128, 28, 8, 64)},
    3: {"src_mask": (128, 1, 1, 28), "trg_mask": (128, 1, 29, 29)},
    4: {"embedded": (128, 28, 512)},
    5: {"positions": (128, 28), "position_vectors": (128, 28, 512), "x": (128, 28, 512)},
    6: {"query_rows": (128, 28, 512), "key_rows": (128, 28, 512), "value_rows": (128, 28, 512)},
    7: {"query_heads": (128, 28, 8, 64), "key_heads": (128, 28, 8, 64), "value_heads": (128, 28, 8, 64)},
    8: {"scores": (128, 8, 28, 28)},
    9: {"masked": (128, 8, 28, 28)},
    10: {"attention_weights": (128, 8, 28, 28)},
    11: {"mixed": (128, 28, 8, 64)},
    12: {"joined": (128, 28, 512), "attended": (128, 28, 512)},
    13: {"x_attended": (128, 28, 512)},
    14: {"inner": (128, 28, 2048), "block_output": (128, 28, 512)},
    15: {"my_enc_out": (128, 28, 512)},
    16: {"target": (128, 29, 512), "target_query": (128, 29, 512)},
    17: {"cross_weights": (128, 8, 29, 28), "target_output": (128, 29, 512)},
    18: {"logits": (128, 29, 10000)},
    19: {
        "whole_src_mask": (128, 1, 1, 28),
        "whole_trg_mask": (128, 1, 29, 29),
        "enc_src": (128, 28, 512),
        "out": (128, 29, 10000),
        "my_logits": (128, 29, 10000),
    },
}
LINES = [
    "head_dim = 64",  # step 2
    "with ReLU  loss 0.00\nwithout    loss 0.69",
    "the pair's source: [1, 1, 1, 1, 1, 0, 0, 0] ...",
    "The tutorial's lets 435 pairs through,\nand in 253 of them the key is padding.",
    "the two 'the': 1.00",  # step 4
    "the pair's weight on padding: 0.0",
    "largest difference from the module: 0.0000",
    "largest difference from steps 6 to 14: 0.0000",
    "rows that moved: [28]",
    "encoder layer: largest difference 0.0000",
    "decoder layer: largest difference 0.0000",
    "your encoder layer: largest difference 0.0000\nyour decoder layer: largest difference 0.0000",
    "encoder layer: dropout in 4 places, ours in 2\ndecoder layer: dropout in 6 places, ours in 3",
    "PyTorch's default  deviation after six layers: 0.04\nXavier's           deviation after six layers: 1.00",
    "table with deviation 1, logits: 23\ntable with 1/√E,        logits: 1",
]


# What a worked example may cost a judge: these make a few numbers, or none.
CHEAP = ("import itertools", "d_model, num_heads = 512, 8", "class Three", "def ", "from grader import use_yours")


@pytest.fixture(scope="module")
def text():
    return printed_text("07_transformer")


@pytest.mark.parametrize("step", STEPS)
def test_every_step_prints_its_sources_shapes(text, step):
    shapes = dict(re.findall(r"^(\w+) +(\([\d, ]+\))$", text, re.MULTILINE))
    for name, shape in STEPS[step].items():
        assert shapes[name] == str(shape)


def test_the_map_is_shown_twice_beside_the_tracer():
    source = (LESSONS / "07_transformer.py").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^show_steps\((\d+), (\d+)\)$", source) == [("6", "12"), ("16", "18")]


def test_untrained_attention_makes_the_two_articles_alike_and_the_residual_keeps_them_apart(text):
    alike = [float(number) for number in re.findall(r"the two 'the': (\d\.\d\d)", text)]
    embedded, placed, attended, added, block = alike[:5]
    assert embedded == 1
    assert attended > 0.8
    assert max(placed, added, block) < 0.6


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[0][:40])
def test_truth_about_slip_or_equality_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_wrong_root_gives_flatter_weights(text):
    entropies = {name: float(e) for name, e in re.findall(r"sqrt\((\w+)\) = .*?entropy ([\d.]+)", text)}
    (alike,) = re.findall(r"all 28 keys alike: entropy ([\d.]+)", text)
    assert entropies["head_dim"] < entropies["E"] < float(alike)


def test_a_model_learns_the_dozen_and_without_positions_half_of_it(text):
    assert "12 of 12 are right" in text
    written = [re.findall(rf"the {pair} +(\w.*)", text) for pair in ("dog bites the man", "man bites the dog")]
    (dog, dog_blindly, *_), (man, man_blindly) = written
    assert (dog, man) == ("der Hund beißt den Mann", "der Mann beißt den Hund")
    assert dog_blindly == man_blindly
    assert re.search(r"without +the two 'the': 1\.00", text)


def test_two_sentences_that_it_never_saw_come_out_right(text):
    written = dict(re.findall(r"^the (dog bites the man|woman sees the dog) +(\S.*?)  +\S.*$", text, re.MULTILINE)[-2:])
    assert written == {
        "dog bites the man": "der Hund beißt den Mann",
        "woman sees the dog": "die Frau sieht den Hund",
    }


def test_dropout_behind_the_norm_makes_zeros_and_the_papers_does_not(text):
    found = {
        name: (float(z), float(s))
        for name, z, s in re.findall(r"(tutorial|paper) *: zeros +([\d.]+) %.* ([\d.]+)", text)
    }
    assert found["tutorial"][0] == pytest.approx(10, abs=0.5)
    assert found["paper"] == (0.0, pytest.approx(1, abs=5e-3))


def test_parameters_are_those_of_the_sizes(text):
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert f"one encoder layer {encoder:,d}, one decoder layer {decoder:,d}" in text
    whole = 2 * (10000 + 100) * 512 + 512 * 10000 + 10000
    for layers in (2, 6):
        total = whole + layers * (encoder + decoder)
        assert f"{layers} layers: {total:10,d} parameters, {4 * total / 1e6:6.1f} MB" in text
    assert f"logits (B, T, V)         {4 * 128 * 29 * 10000 / 1e6:6.1f} MB" in text


def test_no_large_example_runs_when_a_model_is_graded():
    """The examples are of the full size: their names must not be those that a student's modules use."""
    code = cells("07_transformer")
    examples = {i: (body, bool(head)) for i, (head, body) in enumerate(code) if not re.search("exercise|given", head)}
    own = ["\n".join(body for head, body in code if 'role="solution"' in head)]
    own += [one.source for one in submissions() if not one.mistake and one.exercise in MODULES]
    for source in own:
        wanted = needed(set(names_of(compile_cell(source, "<cell>")).uses), examples)
        assert [first_line(code[i][1]) for i in wanted if not first_line(code[i][1]).startswith(CHEAP)] == []


def test_no_cell_needs_what_an_answer_or_a_picture_makes():
    """A reader skips them: an answer before a guess is made, a view that isn't wanted."""
    skipped: set[str] = set()
    for cell in read_lesson("07_transformer", (LESSONS / "07_transformer.py").read_text(encoding="utf-8")).cells:
        binds = {name for statement in statements(cell.source) for name in statement.binds} if cell.is_code else set()
        if cell.role in ("answer", "draw"):
            skipped |= binds
        elif cell.is_code:
            uses = {name for statement in statements(cell.source) for name in statement.uses}
            skipped -= binds
            assert not uses & skipped, cell.source


def first_line(body: str) -> str:
    return next(line for line in body.splitlines() if line and not line.startswith("#"))


def test_the_nineteen_steps_have_their_headings_in_order():
    source = (LESSONS / "07_transformer.py").read_text(encoding="utf-8")
    assert [int(n) for n in re.findall(r"^# ### Step (\d+) ·", source, re.MULTILINE)] == list(range(1, 20))
