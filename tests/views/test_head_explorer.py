"""The head explorer's Python side: the pattern of a table, the selected head, the summary, what is sent."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets

from grader.views import HeadExplorer
from grader.views.head_explorer import patterns

T = 7


def heads(*tables: torch.Tensor) -> torch.Tensor:
    """One layer with these tables as its heads."""
    return torch.stack(tables)[None]


@pytest.fixture
def explorer() -> HeadExplorer:
    torch.manual_seed(0)
    own, cross = torch.randn(2, 3, T, T).softmax(-1), torch.randn(1, 2, T, 4).softmax(-1)
    return HeadExplorer({"own": (own, "ab cdef", "ab cdef"), "cross": (cross, "ab cdef", "wxyz")})


@pytest.mark.parametrize("name", patterns(T, T, True, False))
def test_a_pattern_is_most_like_itself(name):
    table = patterns(T, T, True, False)[name]
    torch.testing.assert_close(table.sum(-1)[1:-1], torch.ones(T - 2, dtype=torch.float64))
    measures = HeadExplorer({"own": (heads(table), "abcdefg", "abcdefg")}).measures["own/0/0"]
    assert (measures["pattern"], round(measures["share"], 3)) == (name, round(float(table.sum(-1).mean()), 3))


def test_within_the_past_all_alike_means_all_so_far():
    past = torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]
    measures = HeadExplorer({"own": (heads(past), "abcdefg", "abcdefg")}).measures["own/0/0"]
    assert measures["pattern"] == "uniform"
    assert measures["share"] == pytest.approx(1)


def test_where_queries_and_keys_are_other_tokens_places_mean_nothing():
    eye = torch.eye(T)
    measures = HeadExplorer({"cross": (heads(eye), "abcdefg", "tuvwxyz")}).measures["cross/0/0"]
    assert measures["pattern"] in ("uniform", "the first")
    assert measures["share"] == pytest.approx(1 / T)


def test_entropy_is_the_rows_mean_in_nats():
    half = torch.cat([torch.eye(4)[:2], torch.full((2, 4), 0.25)])
    measures = HeadExplorer({"own": (heads(half), "abcd", "abcd")}).measures["own/0/0"]
    assert measures["entropy"] == pytest.approx(math.log(4) / 2)


def test_every_table_is_sent_once(explorer):
    sent = explorer.fixed_layout
    names = [name for name, *_ in sent]
    assert names == [f"own/{layer}/{head}" for layer in range(2) for head in range(3)] + ["cross/0/0", "cross/0/1"]
    assert list(explorer.measures) == names
    names = []
    explorer.observe(lambda change: names.append(change["name"]), names=list(explorer.keys))
    explorer.head = 2
    assert set(names) == {"head", "summary"}


def test_a_space_gets_a_sign_of_its_own(explorer):
    assert explorer.kinds[0]["queries"] == ["a", "b", "␣", "c", "d", "e", "f"]


def test_its_repr_is_one_line_and_follows_what_is_chosen(explorer):
    assert repr(explorer).startswith("Head explorer, own, layer 0 of 2, head 0 of 3, 7 by 7: most like ")
    explorer.layer, explorer.head = 1, 2
    assert repr(explorer).startswith("Head explorer, own, layer 1 of 2, head 2 of 3, 7 by 7: most like ")
    (data, _metadata), _view = explorer.outputs()
    assert data["text/plain"] == explorer.summary
    assert "\n" not in explorer.summary


def test_a_kind_with_fewer_heads_shows_its_last_one(explorer):
    explorer.layer, explorer.head = 1, 2
    explorer.kind = "cross"
    assert (explorer.layer, explorer.head) == (0, 1)
    assert repr(explorer).startswith("Head explorer, cross, layer 0 of 1, head 1 of 2, 7 by 4")
    explorer.head = 99
    assert explorer.head == 1


def test_wrong_arguments_are_told_by_name(explorer):
    with pytest.raises(ValueError, match="kinds: got none"):
        HeadExplorer({})
    with pytest.raises(ValueError, match=r"kinds\['own'\]: got weights \(1, 1, 7, 7\), expected \(L, H, 7, 6\)"):
        HeadExplorer({"own": (heads(torch.eye(T)), "abcdefg", "abcdef")})
    with pytest.raises(ValueError, match=r"got weights \(7, 7\)"):
        HeadExplorer({"own": (torch.eye(T), "abcdefg", "abcdefg")})
    with pytest.raises(traitlets.TraitError, match="kind: got 'other', expected one of own, cross"):
        explorer.kind = "other"
