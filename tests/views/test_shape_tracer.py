"""The shape tracer: the large example's shapes, and its verdicts on right and wrong models."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.views import ShapeTracer
from grader.views.shape_steps import LARGE, STEPS

SIZES = {"d_model": 24, "num_layers": 2, "num_heads": 3, "d_ff": 40}


@pytest.fixture
def solved() -> dict:
    namespace: dict = {}
    exec(model_solution(exercises()["Transformer"]), namespace)
    return namespace


def traced(solved: dict, **changes: int) -> ShapeTracer:
    return ShapeTracer(solved["Transformer"](50, 60, src_pad_idx=1, trg_pad_idx=2, **{**SIZES, **changes}))


def verdicts(tracer: ShapeTracer) -> dict[int, str]:
    return {number: step["verdict"] for number, step in enumerate(tracer.steps, 1)}


def test_there_are_nineteen_steps_with_the_large_examples_shapes():
    assert len(STEPS) == 19
    shapes = [{piece.name: piece.shape(LARGE) for piece in step.out} for step in STEPS]
    assert shapes[0] == {"src": (128, 28), "trg": (128, 29)}
    assert shapes[2] == {"src_mask": (128, 1, 1, 28), "trg_mask": (128, 1, 29, 29)}
    assert shapes[6]["query heads"] == (128, 28, 8, 64)
    assert shapes[7] == {"scores": (128, 8, 28, 28)}
    assert shapes[11]["attended"] == (128, 28, 512)
    assert shapes[16]["target"] == (128, 29, 512)
    assert shapes[18]["logits"] == (128, 29, 10000)
    assert repr(ShapeTracer()) == "Shape tracer, step 1 of 19, Token ids: src (128, 28), trg (128, 29)."


def test_the_summary_follows_the_step():
    tracer = ShapeTracer()
    tracer.step = 10
    assert repr(tracer) == "Shape tracer, step 10 of 19, Scale, softmax: weights (128, 8, 28, 28)."


def test_a_right_model_is_as_expected_wherever_it_can_be_watched(solved):
    tracer = traced(solved)
    by_step = verdicts(tracer)
    assert {number for number, verdict in by_step.items() if verdict == "not seen"} == {7, 8, 9, 11}
    assert set(by_step.values()) == {"as expected", "not seen"}
    assert tracer.verdict == "Your model: 15 steps seen, all as expected."
    weights = tracer.steps[9]["out"][0]
    assert (weights["shape"], weights["mine"]) == ("(2, 3, 28, 28)", "(2, 3, 28, 28)")


def test_a_short_table_of_positions_makes_the_sentences_shorter(solved):
    assert traced(solved, max_length=12).steps[0]["out"][1]["shape"] == "(2, 12)"


def test_an_error_is_told_at_the_step_where_it_happens(solved):
    right = solved["DecoderBlock"]

    class DecoderBlock(right):
        def forward(self, x, memory, src_mask, trg_mask):
            query = self.norm(x + self.attention(x, x, x, trg_mask)[0])
            return self.block(query, memory, memory, src_mask)

    solved["DecoderBlock"] = DecoderBlock
    tracer = traced(solved)
    assert tracer.step == 17
    assert "Your model raises an error at step 17, The target asks the source: RuntimeError" in tracer.verdict
    assert verdicts(tracer)[16] == "as expected"
    assert verdicts(tracer)[18] == "not reached"


def test_a_wrong_shape_that_raises_nothing_is_found(solved):
    right = solved["Encoder"]

    class Encoder(right):
        def forward(self, tokens, mask):
            return super().forward(tokens, mask)[:, :1]  # one vector for the sentence

    solved["Encoder"] = Encoder
    tracer = traced(solved)
    assert verdicts(tracer)[15] == "differs"
    assert tracer.step == 15
    assert tracer.steps[14]["out"][0]["mine"] == "(2, 1, 24)"


def test_masks_that_broadcast_are_as_expected_and_others_are_not(solved):
    right = solved["decoder_mask"]
    solved["decoder_mask"] = lambda tokens, pad: right(tokens, pad).expand(-1, 3, -1, -1)
    assert verdicts(traced(solved))[3] == "as expected"
    solved["decoder_mask"] = lambda tokens, pad: right(tokens, pad)[..., :1]
    assert verdicts(traced(solved))[3] == "as expected"  # a column for all keys: not right, but of a shape that fits
    solved["padding_mask"] = lambda tokens, pad: (tokens != pad)[:, None, None]
    solved["decoder_mask"] = lambda tokens, pad: torch.ones(2, 1, 7, 7, dtype=torch.bool)
    assert verdicts(traced(solved))[3] == "differs"


def test_the_model_and_the_random_numbers_are_left_as_they_were(solved):
    model = solved["Transformer"](50, 60, 1, 2, **SIZES)
    model.decoder.eval()
    modes, random = [part.training for part in model.modules()], torch.get_rng_state()
    ShapeTracer(model)
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_a_model_of_another_build_is_seen_as_far_as_names_go():
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10000, 7)

        def forward(self, src, trg):
            return self.table(trg)

    tracer = ShapeTracer(Other())
    assert verdicts(tracer)[1] == "as expected"
    assert verdicts(tracer)[19] == "differs"


@pytest.mark.parametrize("thing", [nn.Linear, 3, "model"])
def test_what_is_no_model_is_refused(thing):
    with pytest.raises(TypeError, match="expected a model instance"):
        ShapeTracer(thing)
