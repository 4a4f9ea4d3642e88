"""The stand-ins of lesson 11: with a cache the writer says what it says without, and notes what it was fed."""

from __future__ import annotations

import pytest
import torch

from grader.subject import Given, Request
from grader.subject.writer import Graded, Writer

TOKENS = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, 6, 0]])


def writer(**data):
    table = torch.randn(61, 8, generator=torch.Generator().manual_seed(1))
    return Writer({"table": table, "training": False, "max_length": 5, **data})


def test_cache_gives_the_same_logits_piece_by_piece_and_fed_tells_the_calls():
    model = writer()
    whole = model(TOKENS)
    pieces, cache = [], {}
    for start, end in ((0, 3), (3, 4), (4, 5)):
        logits, cache = model(TOKENS[:, start:end], cache)
        pieces.append(logits)
    assert torch.equal(torch.cat(pieces, dim=1), whole)
    assert model.fed.tolist() == [[5, 0, 0], [3, 0, 1], [1, 3, 1], [1, 4, 1]]


def test_none_is_no_cache():
    model = writer()
    assert torch.equal(model(TOKENS, None), model(TOKENS))
    assert model.fed.tolist() == [[5, 0, 0], [5, 0, 0]]


def test_an_earlier_token_changes_the_last_logits_and_a_later_one_no_earlier():
    model, other = writer(), TOKENS.clone()
    other[:, 2] += 1
    before, after = model(TOKENS), model(other)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.equal(before[:, -1], after[:, -1])


def test_train_mode_and_gradients_show():
    model = writer()
    evaluated = model(TOKENS)
    assert bool(model.recorded)
    assert not torch.equal(model.train()(TOKENS), evaluated)
    quiet = writer()
    with torch.no_grad():
        quiet(TOKENS)
    assert not bool(quiet.recorded)


def test_more_tokens_than_max_length_are_refused():
    with pytest.raises(ValueError, match="5 tokens, but max_length is 4"):
        writer(max_length=4)(TOKENS)


def test_graded_shows_the_gradients_as_they_are_now():
    graded = Graded({"values": [torch.ones(2), torch.ones(3)], "gradients": [torch.full((2,), 4.0), None]})
    [first, _] = graded.parameters()
    first.grad.mul_(0.5)
    shown = {name: gradient.tolist() for name, gradient in graded.named_buffers()}
    assert shown == {"of.0": [2.0, 2.0], "first.of.0": [2.0, 2.0]}
    first.grad = first.grad * 2
    shown = {name: gradient.tolist() for name, gradient in graded.named_buffers()}
    assert shown == {"of.0": [4.0, 4.0], "first.of.0": [2.0, 2.0]}


def test_a_dict_that_a_call_fills_is_told_as_a_change(subject_of):
    subject = subject_of("def fill(x, cache): cache['x'] = x\ndef leave(x, cache): pass")
    cache: dict[str, int] = {}
    changed = [subject.ask(Request("call", name, (1, cache))).changed for name in ("fill", "leave")]
    assert (changed, cache) == ([(1,), ()], {})


def test_a_generator_may_have_been_drawn_from(subject_of):
    subject = subject_of("import torch\ndef f(generator): return torch.rand(9, generator=generator)")
    fresh, used = (
        subject.ask(Request("call", "f", (Given("generator", {"seed": 5, "drawn": drawn}),))).value for drawn in (0, 7)
    )
    assert torch.equal(used[:2], fresh[7:])
