"""The drawing of the model lights up where a step is, and says it in words."""

from __future__ import annotations

import base64

import pytest

from grader.views.shape_steps import STEPS
from grader.views.step_map import BOXES, StepMap, show_step


def test_every_step_has_a_place_and_a_picture_of_its_own():
    pictures = {StepMap(step)._repr_mimebundle_()[0]["image/png"] for step in range(1, 20)}
    assert {step for box in BOXES for step in box.steps} == set(range(1, 20))
    assert len(pictures) == len(STEPS) == 19
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)


def test_it_is_the_same_every_time_and_has_words_for_who_cannot_see_it():
    data, metadata = StepMap(17)._repr_mimebundle_()
    words = "Step 17 of 19, The target asks the source: cross weights (128, 8, 29, 28), target (128, 29, 512)."
    assert data["text/plain"] == metadata["image/png"]["alt"] == words
    assert StepMap(17)._repr_mimebundle_()[0] == data


def test_boxes_do_not_overlap():
    boxes = [box for box in BOXES if not box.frame]
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            beside = one.left + one.width <= other.left or other.left + other.width <= one.left
            above = one.bottom + one.height <= other.bottom or other.bottom + other.height <= one.bottom
            assert beside or above, (one.text, other.text)


@pytest.mark.parametrize("step", [0, 20, "3"])
def test_another_step_is_an_error(step):
    with pytest.raises(ValueError, match="expected a whole number from 1 to 19"):
        show_step(step)
