"""Lessons 07, 08, 10 and 11 with a learner's notebooks beside them: given cells, the cell with `use_yours`, then the
models that the course has trained, whose logits have to be the same."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.authoring.model_solutions import lesson_of
from grader.authoring.samples import FOLDER, ROOT, Sample, submissions
from grader.exercises.registry import exercises
from grader.models.dates import trained_dates
from grader.models.gpt import trained_gpt
from tests.learner.test_yours import NAMES, OTHERWISE, write_notebook

LESSONS = ["07_transformer", "08_training", "10_reading_attention", "11_small_gpt"]
EARLIER = ["03_multi_head_attention", "06_embeddings_and_positions", "07_transformer"]
# It defines `Encoder` anew, below the learner's own, which then isn't written.
LEFT_OUT = {*OTHERWISE, "built on an encoder, position by position"}
IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn"


def answer(sample: Sample) -> str:
    """A sample without what its lesson's prelude has: that is in the notebook's other cells."""
    shared = ROOT / FOLDER / f"lesson_{exercises()[sample.exercise].lesson[:2]}" / "prelude.py"
    before = re.split(rf"(?m)^# %% {sample.exercise}$", shared.read_text())[0] if shared.exists() else ""
    return f"{IMPORTS}\n{sample.source.removeprefix(before)}"


def ways() -> list[dict[str, str]]:
    """The n-th right answer to every exercise, for each n: ways in which somebody solves all lessons."""
    rights = [
        [answer(one) for one in submissions() if one.exercise == name and not one.mistake and one.title not in LEFT_OUT]
        for name in NAMES
    ]
    return [
        {name: source or rights[i][0] for i, (name, source) in enumerate(zip(NAMES, row, strict=True))}
        for row in zip_longest(*rights)
    ]


@pytest.fixture(autouse=True)
def learners_folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(lesson: str) -> tuple[str, dict[str, Any]]:
    """What a lesson's cell with `use_yours` prints, and the names after it: given cells, and of 11 the model."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(IMPORTS, space)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in lesson_of(lesson).cells:
            is_model = cell.role == "solution" and cell.exercise in ("GPT", "GPTBlock")
            if cell.role == "given" or is_model or "use_yours(" in cell.source:
                exec(cell.source, space)
    assert printed.getvalue().count("\n") == 1
    return printed.getvalue().strip(), space


def uses(lesson: str) -> list[str]:
    cell = next(cell.source for cell in lesson_of(lesson).cells if "use_yours(" in cell.source)
    return re.findall(r"\w+", cell.split("use_yours(")[1])


def has_the_trained_models_logits(lesson: str, space: dict[str, Any]) -> None:
    if lesson == "11_small_gpt":
        course = trained_gpt()
        model, tokens = space["GPT"](**course.sizes), torch.arange(60).view(2, 30)
        model.load_state_dict(course.weights)
        torch.testing.assert_close(model.eval()(tokens), course(tokens), atol=1e-3, rtol=1e-3)
        logits, cache = model(tokens[:, :-1], {})
        last, _ = model(tokens[:, -1:], cache)
        torch.testing.assert_close(torch.cat([logits, last], 1), course(tokens), atol=1e-3, rtol=1e-3)
    elif lesson == "07_transformer":
        attention, x = space["MultiHeadAttention"](12, 3), torch.randn(2, 5, 12)
        output, weights = attention(x, x, x, torch.ones(2, 1, 1, 5, dtype=torch.bool))
        assert (output.shape, weights.shape) == ((2, 5, 12), (2, 3, 5, 5))
        assert attention.q_proj(x).shape == (2, 5, 12)
    else:
        trained = trained_dates()
        model = space["Transformer"](**trained.sizes)
        model.load_state_dict(trained.weights)
        rows = [[trained.source.index(character) for character in text] for text in ("6 August 1939", "29 March 2024")]
        dates = [[1, *(trained.target.index(character) for character in date)] for date in ("1939-08-06", "2024-03-29")]
        seen: list[Any] = []
        module = model.decoder.layers[-1].block.attention
        module.register_forward_hook(lambda _module, _inputs, output: seen.append(output[1].shape))
        logits = model.eval()(torch.tensor(rows), torch.tensor(dates))
        assert logits.argmax(-1)[:, :-1].tolist() == [row[1:] for row in dates]
        assert seen == [(2, 4, 11, 13)]
        logits.sum().backward()  # it can be trained
        without = [name for name, parameter in model.named_parameters() if parameter.grad is None]
        assert all(name.endswith("k_proj.bias") for name in without), without  # no softmax notices it


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("way", ways(), ids=map(str, range(len(ways()))))
def test_whoever_solved_them_in_another_way_goes_on_with_their_own(lesson, way):
    for name in EARLIER:
        write_notebook(lesson_of(name), way)
    line, space = opened(lesson)
    assert line.startswith("Your code runs here: ")
    assert "course" not in line
    assert all(space[name].__module__.startswith("your_lesson_") for name in uses(lesson))
    has_the_trained_models_logits(lesson, space)


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("mistake", range(3))
def test_with_wrong_answers_the_lesson_goes_on(lesson, mistake):
    wrong = {
        name: [answer(one) for one in submissions() if one.exercise == name and one.mistake][mistake * 7]
        for name in ("MultiHeadAttention", "apply_rope", "FeedForward", "Encoder", "Transformer")
    }
    for name in EARLIER:
        write_notebook(lesson_of(name), wrong)
    line, space = opened(lesson)
    for name in uses(lesson):
        assert space[name].__module__ == (
            "__main__" if name in wrong else f"your_lesson_{exercises()[name].lesson[:2]}"
        )
    assert re.search(r"The course's code runs here: .*MultiHeadAttention \(03_multi_head_attention.ipynb: ", line)
    has_the_trained_models_logits(lesson, space)


@pytest.mark.parametrize("lesson", LESSONS)
def test_with_notebooks_that_are_missing_or_broken_the_lesson_goes_on(lesson):
    Path("06_embeddings_and_positions.ipynb").write_text("{")
    write_notebook(lesson_of("07_transformer"), {"Decoder": "class Decoder(nn.Module:\n    pass"})
    line, space = opened(lesson)
    assert "MultiHeadAttention (you have no 03_multi_head_attention.ipynb beside this notebook)" in line
    if "Decoder" in uses(lesson):
        assert "Decoder (07_transformer.ipynb: its cell isn't valid Python, line 1: " in line
    if "apply_rope" in uses(lesson):
        assert "apply_rope (06_embeddings_and_positions.ipynb can't be read: it isn't a notebook)" in line
    has_the_trained_models_logits(lesson, space)
