"""Lesson 07's references are PyTorch's own Transformer, and its reports name the step and the piece that fails."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from grader.authoring.model_solutions import model_solution
from grader.authoring.samples import submissions
from grader.exercises import lesson_07
from grader.exercises.lesson_07 import shared
from grader.exercises.lesson_07.Transformer import transformer
from grader.exercises.lesson_07.TransformerBlock import transformer_block
from grader.exercises.lesson_07.variants import Block, DecoderBlock, Model, Stack
from grader.exercises.registry import exercises
from grader.report.text import as_text
from grader.spec.draw import Draw
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Setup
from grader.subject.local import LocalSubject

KNOWN = {name: exercises()[name] for name in lesson_07.NAMES}
RIGHT = {
    "TransformerBlock": Block(),
    "Encoder": Stack(Block()),
    "DecoderBlock": DecoderBlock(),
    "Decoder": Stack(DecoderBlock()),
    "Transformer": Model(),
}


def solved(name: str) -> dict:
    namespace: dict = {}
    exec(model_solution(KNOWN[name]), namespace)
    return namespace


@pytest.mark.parametrize("name", RIGHT)
def test_the_variants_are_right_where_nothing_is_made_wrong(name):
    for case in KNOWN[name].cases(Draw("variants")):
        reference = KNOWN[name].reference(case.setup, *case.args.values())
        torch.testing.assert_close(RIGHT[name](case.setup, *case.args.values()), reference, atol=1e-4, rtol=1e-4)


def test_the_blocks_reference_is_pytorchs_encoder_layer_where_all_three_are_the_same():
    case = next(c for c in KNOWN["TransformerBlock"].cases(Draw("same")) if c.name == "two sequences")
    width, heads, inner = case.setup.init
    layer = nn.TransformerEncoderLayer(width, heads, inner, 0.0, batch_first=True)
    layer.load_state_dict(shared.encoder_names(case.setup.state))
    x = case.args["value"]
    mask = torch.ones(x.shape[1], x.shape[1]).tril().bool()
    found = transformer_block(case.setup, x, x, x, mask)
    torch.testing.assert_close(found, layer(x, src_mask=~mask), atol=1e-5, rtol=1e-5)


def test_the_whole_reference_is_nn_transformer_without_its_last_norms():
    case = next(c for c in KNOWN["Transformer"].cases(Draw("whole")) if c.name == "padding in the source")
    _, _, src_pad, _, width, layers, heads, inner = case.setup.init
    src, trg = case.args.values()
    state = case.setup.state
    with warnings.catch_warnings(action="ignore"):  # about a fast path that an odd number of heads rules out
        model = nn.Transformer(width, heads, layers, layers, inner, 0.0, batch_first=True)
    model.encoder.norm = model.decoder.norm = None
    for i in range(layers):
        model.encoder.layers[i].load_state_dict(shared.encoder_names(shared.below(state, f"encoder.layers.{i}.")))
        model.decoder.layers[i].load_state_dict(shared.decoder_names(shared.below(state, f"decoder.layers.{i}.")))
    sides = ((src, "encoder"), (trg, "decoder"))
    embedded = [
        state[f"{side}.token_embedding.weight"][tokens] + state[f"{side}.position_embedding.weight"][: tokens.shape[1]]
        for tokens, side in sides
    ]
    causal = nn.Transformer.generate_square_subsequent_mask(trg.shape[1])
    padding = src == src_pad
    hidden = model(*embedded, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    logits = hidden @ state["decoder.fc_out.weight"].T + state["decoder.fc_out.bias"]
    torch.testing.assert_close(transformer(case.setup, src, trg), logits, atol=1e-4, rtol=1e-4)


def test_dropping_everything_leaves_the_norms():
    case = next(c for c in KNOWN["TransformerBlock"].cases(Draw("dropped")) if c.setup.training)
    state, query = case.setup.state, case.args["query"]
    x = query
    for name in ("norm1", "norm2"):
        x = torch.nn.functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])
    torch.testing.assert_close(transformer_block(case.setup, *case.args.values()), x)


@pytest.mark.parametrize(
    ("name", "title", "first"),
    [
        ("TransformerBlock", "FeedForward is to blame", "FeedForward"),
        ("Encoder", "TransformerBlock is to blame", "TransformerBlock"),
        ("DecoderBlock", "TransformerBlock is to blame", "TransformerBlock"),
        ("Decoder", "DecoderBlock is to blame", "DecoderBlock"),
        ("Transformer", "Decoder is to blame", "Decoder"),
        ("Transformer", "FeedForward is to blame", "FeedForward"),  # three calls further in
    ],
)
def test_the_first_piece_that_fails_is_named(name, title, first):
    [one] = [one for one in submissions() if one.exercise == name and one.title == title]
    namespace: dict = {}
    exec(one.source, namespace)
    report = evaluate(KNOWN[name], LocalSubject(namespace), exercises=exercises())
    assert report.first_fix == first
    assert f"calls `{first}`, which does not pass its own check yet. First fix `{first}`." in as_text(report)


STEPS = [
    ("TransformerBlock", "value added", {6, 7, 8, 9, 10, 11, 12, 13, 14}),
    ("TransformerBlock", "after the feed-forward layers", {9, 13, 14}),
    ("TransformerBlock", "not passed on", {9}),
    ("Encoder", "the tokens alone", {4, 5, 9, 15}),
    ("Encoder", "every layer starts from the embedding", {15}),
    ("Encoder", "IndexError for long sentences", {5}),
    ("DecoderBlock", "attention alone", {16, 17}),
    ("DecoderBlock", "the value is the query", {17}),
    ("DecoderBlock", "the page's order", {16}),
    ("Decoder", "every layer starts from the embedding", {18}),
    ("Decoder", "the tokens alone", {4, 5, 18}),
    ("Transformer", "the page's mask", {3}),
    ("Transformer", "in the cross-attention", {3}),
    ("Transformer", "memory of zeros", {3, 19}),
]


@pytest.mark.parametrize(("name", "title", "steps"), STEPS, ids=lambda value: str(value)[:30])
def test_parts_that_fail_name_their_steps(name, title, steps):
    [one] = [one for one in submissions() if one.exercise == name and one.title == title]
    namespace: dict = {}
    exec(one.source, namespace)
    report = evaluate(KNOWN[name], LocalSubject(namespace), exercises=exercises())
    found: set[int] = set()
    for result in report.parts:
        if not result.passed and result.name.startswith("step"):
            found |= in_words(result.name.split(":")[0])
    assert found == steps


def in_words(text: str) -> set[int]:
    """The steps of a part's name: "steps 4, 5 and 15", "steps 6 to 14"."""
    numbers = [int(word.strip(",")) for word in text.split() if word.strip(",").isdigit()]
    return set(range(numbers[0], numbers[-1] + 1)) if " to " in text else set(numbers)


def test_every_step_from_3_on_is_named_by_a_part():
    named = set().union(
        *(
            in_words(part.name.split(":")[0])
            for exercise in KNOWN.values()
            for part in exercise.parts
            if part.name.startswith("step")
        )
    )
    assert named >= set(range(3, 20))


@pytest.mark.parametrize("name", KNOWN)
def test_setups_hold_every_parameter_of_the_model(name):
    if KNOWN[name].kind != "module":
        return
    for case in KNOWN[name].cases(Draw("names")):
        assert isinstance(case.setup, Setup)
        own = {n: tuple(p.shape) for n, p in solved(name)[name](*case.setup.init).named_parameters()}
        assert own == {n: tuple(t.shape) for n, t in case.setup.state.items()}
