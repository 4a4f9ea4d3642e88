"""What a call changes in torch itself is put back and told; a cell may change it."""

from __future__ import annotations

import pytest
import torch

from grader.subject import Request

CHANGES = {
    "gradients": "torch.set_grad_enabled(False)",
    "dtype": "torch.set_default_dtype(torch.float64)",
    "threads": "torch.set_num_threads(torch.get_num_threads() + 1)",
    "device": "torch.set_default_device('meta')",
}


@pytest.mark.parametrize("key", CHANGES)
def test_a_call_that_changes_a_setting_is_told_and_it_is_put_back(subject_of, key):
    subject = subject_of(f"import torch\n\ndef f(x):\n    {CHANGES[key]}\n    return x\n\ndef g(x):\n    return x\n")
    x = torch.ones(2)
    assert subject.ask(Request("call", "f", (x,))).settings == (key,)
    assert subject.ask(Request("call", "g", (x,))).settings == ()


def test_it_is_put_back_after_an_exception_too(subject_of):
    subject = subject_of(
        "import torch\n\ndef f(x):\n    torch.set_default_dtype(torch.float64)\n    raise ValueError('no')\n"
    )
    before = torch.get_default_dtype()
    outcome = subject.ask(Request("call", "f", (torch.ones(2),)))
    assert (outcome.status, outcome.settings) == ("raised", ("dtype",))
    assert torch.get_default_dtype() == before


def test_what_is_drawn_at_random_or_seeded_or_set_for_a_block_is_no_change(subject_of):
    drawn = "torch.manual_seed(0)\n        return x + torch.randn(2)"
    subject = subject_of(f"import torch\n\ndef f(x):\n    with torch.no_grad():\n        {drawn}\n")
    assert subject.ask(Request("call", "f", (torch.ones(2),))).settings == ()
