"""The map of the model lights up where steps are, and says it in words."""

from __future__ import annotations

import base64
import re

import pytest

from grader.views.shape_steps import STEPS
from grader.views.step_map import BOXES, HEIGHT, PATHS, WIDTH, StepMap, show_steps, svg


def test_every_step_has_a_place_and_a_picture_of_its_own():
    pictures = {StepMap(step, step)._repr_mimebundle_()[0]["image/png"] for step in range(1, 20)}
    assert {step for box in BOXES for step in box.steps} == set(range(1, 20))
    assert len(pictures) == len(STEPS) == 19
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)


def test_it_is_the_same_every_time_and_has_words_for_who_cannot_see_it():
    data, metadata = StepMap(16, 17)._repr_mimebundle_()
    words = "Step 17 of 19, The target asks the source: cross weights (128, 8, 29, 28), target (128, 29, 512)."
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert data["text/plain"].startswith("Step 16 of 19")
    assert data["text/plain"].endswith(words)
    assert StepMap(16, 17)._repr_mimebundle_()[0] == data


def test_boxes_do_not_overlap_and_are_on_the_map():
    boxes = [box for box in BOXES if not box.frame]
    for i, one in enumerate(boxes):
        assert one.left >= 0
        assert one.left + one.width <= WIDTH
        assert one.top + one.height <= HEIGHT
        for other in boxes[i + 1 :]:
            beside = one.left + one.width <= other.left or other.left + other.width <= one.left
            above = one.top + one.height <= other.top or other.top + other.height <= one.top
            assert beside or above, (one.text, other.text)


def test_masks_end_at_what_they_mask_and_residual_paths_where_something_is_added():
    def box_at(x, y):
        (found,) = [
            box.text
            for box in BOXES
            if not box.frame and box.left <= x <= box.left + box.width and box.top <= y <= box.top + box.height
        ]
        return found

    ends = {kind: [box_at(*path.points[-1]) for path in PATHS if path.kind == kind] for kind in ("mask", "residual")}
    assert ends["mask"] == ["mask", "cross-attention", "masked self-attention"]
    assert ends["residual"] == ["add, normalise"] * 5


def test_the_drawing_for_the_browser_has_the_same_boxes():
    assert re.findall(r'data-steps="([\d ]+)"', svg()).count("16") == 2
    assert svg().count("<rect") == len(BOXES)


@pytest.mark.parametrize("steps", [(0, 1), (3, 20), (5, 4)])
def test_other_steps_are_an_error(steps):
    with pytest.raises(ValueError, match="expected two whole numbers from 1 to 19, in order"):
        show_steps(*steps)
