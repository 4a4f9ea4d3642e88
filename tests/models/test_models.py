"""The trained model of lesson 10: the course's, or a learner's own if its files are next to the notebook."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import grader
from grader.authoring.model_solutions import cells
from grader.models.dates import NAMES, STORED, trained_dates


@pytest.fixture(scope="module")
def lesson():
    """The namespace of lesson 10's given cells."""
    names: dict[str, object] = {}
    exec("import math\nimport torch\nfrom torch import Tensor, nn", names)
    for head, body in cells("10_reading_attention"):
        if 'role="given"' in head:
            exec(body, names)
    return names


def share_right(lesson, trained) -> float:
    model = lesson["Transformer"](**trained.sizes)
    model.load_state_dict(trained.weights)
    model.eval()
    source, target = ({token: i for i, token in enumerate(each)} for each in (trained.source, trained.target))
    right = 0
    with torch.no_grad():
        for text, answer in trained.pairs:
            given = torch.tensor([[1, *(target[c] for c in answer)]])
            wanted = torch.tensor([*(target[c] for c in answer), 2])
            logits = model(torch.tensor([[source[c] for c in text]]), given)
            right += int(torch.equal(logits[0].argmax(-1), wanted))
    return right / len(trained.pairs)


def test_the_courses_model_writes_dates_that_it_has_not_seen(lesson, tmp_path):
    trained = grader.trained_dates(tmp_path)
    assert trained.whose == "the course's model"
    assert len(trained.pairs) == 200
    assert share_right(lesson, trained) >= 0.99


@pytest.mark.parametrize("about", ["model", "no model"])
def test_a_learners_own_model_is_taken_and_named(lesson, tmp_path, about):
    """A learner's files, with or without the sizes: lesson 08 may store either."""
    for name in NAMES:
        shutil.copy(STORED / name, tmp_path)
    stored = json.loads((STORED / NAMES[1]).read_text())
    if about == "no model":
        (tmp_path / NAMES[1]).write_text(json.dumps({side: stored[side] for side in ("source", "target")}))
    trained = trained_dates(tmp_path)
    assert trained.whose == "your own model"
    assert trained.sizes == stored["model"]
    lesson["Transformer"](**trained.sizes).load_state_dict(trained.weights)


@pytest.mark.parametrize("missing", NAMES)
def test_one_file_alone_is_not_a_model(tmp_path, missing):
    for name in NAMES:
        shutil.copy(STORED / name, tmp_path)
    (tmp_path / missing).unlink()
    assert trained_dates(tmp_path).whose == "the course's model"


def spoil_json(folder):
    (folder / NAMES[1]).write_text("{")


def spoil_weights(folder):
    (folder / NAMES[0]).write_bytes(b"no safetensors")


def other_weights(folder):
    save_file({"weight": torch.ones(2, 2)}, folder / NAMES[0])


def other_vocabulary(folder):
    about = json.loads((folder / NAMES[1]).read_text())
    (folder / NAMES[1]).write_text(json.dumps(about | {"source": about["source"][:-1]}))


@pytest.mark.parametrize("spoil", [spoil_json, spoil_weights, other_weights, other_vocabulary])
def test_files_that_are_no_model_are_told_and_passed_over(tmp_path, spoil):
    for name in NAMES:
        shutil.copy(STORED / name, tmp_path)
    spoil(tmp_path)
    trained = trained_dates(tmp_path)
    assert trained.whose.startswith("the course's model, since yours could not be read (")
    assert "\n" not in trained.whose
    assert trained.weights.keys() == load_file(STORED / NAMES[0]).keys()
