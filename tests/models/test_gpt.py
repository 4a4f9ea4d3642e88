"""Lesson 11's text, and the course's own small GPT."""

from __future__ import annotations

import string

import pytest
import torch
import torch.nn.functional as F

from grader.authoring.model_solutions import cells
from grader.models.gpt import STORED, course_text, trained_gpt
from scripts.train_gpt import FEWEST, PROMPT, SIZES, TRAINED, WRITTEN, paragraphs

BIGRAM = 2.44  # nats, lesson 11's bigram model on the text held out


@pytest.fixture(scope="module")
def trained():
    return trained_gpt()


@pytest.fixture(scope="module")
def model(trained):
    """Lesson 11's model solution with the course's weights."""
    names: dict[str, object] = {}
    exec("import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn", names)
    for head, body in cells("11_small_gpt"):
        if 'role="given"' in head or ('exercise="GPT' in head and 'role="solution"' in head):
            exec(body, names)
    made = names["GPT"](**trained.sizes)
    made.load_state_dict(trained.weights)
    return made.eval()


def ids(trained, text: str) -> torch.Tensor:
    return torch.tensor([[trained.characters.index(character) for character in text]])


def test_the_text_is_plain_prose_of_the_course():
    text = course_text()
    lines = text.splitlines()
    assert 100_000 < len(text) < 300_000
    assert set(text) <= set(string.ascii_letters + string.digits + " .,;:!?'\"()_-\n")
    assert len(set(lines)) == len(lines)
    assert min(map(len, lines)) >= FEWEST
    assert text.count("attention weights") > 20


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (
            "# A title\n\nA **bold** claim about\n`weights`, as it should be.",
            ["A bold claim about weights, as it should be."],
        ),
        ("| a | table |\n\n```python\ncode()\n```", []),
        ("Too short.", []),
        (
            "A formula, $x^2$, spoils the sentence. The sentence that comes after it stays.",
            ["The sentence that comes after it stays."],
        ),
        (
            "- one item of a list, long enough;\n- another one, which ends as it should.",
            ["Another one, which ends as it should."],
        ),
        (
            "<details><summary>A question?</summary>\n\nWhat is folded away stays, too.\n\n</details>",
            ["What is folded away stays, too."],
        ),
        ("See [the paper](https://example.org) for its “own” words.", ['See the paper for its "own" words.']),
    ],
)
def test_only_running_text_is_taken(markdown, expected):
    assert list(paragraphs(markdown)) == expected


def test_the_stored_model_is_the_one_that_the_script_trains(trained):
    assert trained.sizes == {"vocab_size": len(trained.characters), **SIZES}
    assert trained.characters == sorted(set(course_text()))
    assert list(trained.samples) == [*WRITTEN, TRAINED["steps"]]
    assert all(text.startswith(PROMPT) and len(text) == SIZES["max_length"] for text in trained.samples.values())
    assert (STORED / "gpt.safetensors").stat().st_size < 2_000_000


def test_the_functional_model_is_the_lessons_model(trained, model):
    tokens = ids(trained, "The weights of the attention\nare what")
    with torch.no_grad():
        torch.testing.assert_close(trained(tokens), model(tokens), atol=1e-4, rtol=1e-4)


def test_the_loss_is_the_stored_one_and_far_below_bigrams(trained):
    held_out = ids(trained, course_text())[0, -(len(course_text()) // 10) :]
    rows = held_out[: 20 * 128 + 1]
    logits = trained(rows[:-1].view(-1, 128))
    loss = F.cross_entropy(logits.flatten(0, 1), rows[1:]).item()
    assert loss == pytest.approx(trained.loss, abs=0.1)
    assert trained.loss < BIGRAM - 1
