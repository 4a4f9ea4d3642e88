"""The sampler's Python side: what it reads, computes, says and sends."""

from __future__ import annotations

import pytest
import torch
import traitlets

from grader.views import Sampler
from grader.views.sampler import drawn_from

PROBABILITIES = torch.tensor([0.15, 0.5, 0.05, 0.3])


def stub(tokens: torch.Tensor) -> torch.Tensor:
    """Logits (1, T, 4) of at most 5 words: the same probabilities, and what was read can be told from them."""
    assert tokens.shape[1] <= 5
    return PROBABILITIES.log().expand(1, tokens.shape[1], 4) + tokens[..., None]


@pytest.fixture
def view() -> Sampler:
    return Sampler(stub, ["an", "owl", ".", "\n"], "an owl", max_length=5)


def sent(view: Sampler) -> torch.Tensor:
    return torch.frombuffer(bytearray(view.logits), dtype=torch.float32)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((1.0, 4, 1.0), [0.15, 0.5, 0.05, 0.3]),
        ((0.0, 4, 1.0), [0, 1, 0, 0]),
        ((0.5, 4, 1.0), [0.0616, 0.6849, 0.0068, 0.2466]),
        ((1.0, 2, 1.0), [0, 0.625, 0, 0.375]),
        ((1.0, 4, 0.7), [0, 0.625, 0, 0.375]),
        ((1.0, 4, 0.1), [0, 1, 0, 0]),
        ((1.0, 2, 0.6), [0, 1, 0, 0]),  # after top-k the first has 0.625
    ],
)
def test_what_is_drawn_from_is_cut_in_order(settings, expected):
    torch.testing.assert_close(
        drawn_from(PROBABILITIES.log(), *settings), torch.tensor(expected, dtype=torch.float32), atol=1e-4, rtol=0
    )


def test_a_text_is_read_and_its_logits_are_sent_with_it(view):
    assert view.read == "an owl"
    torch.testing.assert_close(sent(view), PROBABILITIES.log() + 1)
    view.text = "an owl."
    assert view.read == "an owl."
    torch.testing.assert_close(sent(view), PROBABILITIES.log() + 2)


def test_a_long_text_is_cut_in_front(view):
    view.text = "an owl " * 10
    assert view.read == "an owl " * 10
    torch.testing.assert_close(sent(view), PROBABILITIES.log() + 1)


def test_its_repr_is_one_sentence_and_follows_text_and_settings(view):
    after = 'Sampler after "an owl", temperature 1, top-k all, top-p all: '
    assert repr(view) == f'{after}4 words stay, "owl" 50 %, "↵" 30 %, "an" 15 %.'
    view.top_k, view.temperature = 2, 0.5
    assert 'temperature 0.5, top-k 2, top-p all: 2 words stay, "owl" 74 %, "↵" 26 %.' in repr(view)
    view.top_k, view.top_p, view.text = 4, 0.5, "owl\n"
    assert 'after "owl↵"' in repr(view)
    assert repr(view).endswith('top-p 0.5: 1 word stays, "owl" 100 %.')


@pytest.mark.parametrize(
    "wrong", [{"text": "an ox"}, {"text": ""}, {"temperature": -1.0}, {"top_k": 0}, {"top_p": 1.5}]
)
def test_other_settings_are_refused(view, wrong):
    with pytest.raises(traitlets.TraitError):
        view.set_trait(*next(iter(wrong.items())))


@pytest.mark.parametrize(("prompt", "named"), [("", "empty"), ("an?", r"'\?'")])
def test_a_prompt_that_cannot_be_read_is_named(prompt, named):
    with pytest.raises(traitlets.TraitError, match=f"(prompt|text): got .*{named}"):
        Sampler(stub, ["an", "owl"], prompt)
