"""The hunt of lesson 10: partial credit, and for a wrong name the probe that rules it out."""

from __future__ import annotations

import inspect
import itertools
import math

import pytest
import torch

from grader.exercises.lesson_10.bug_hunt import EXERCISE, PROBES, QUESTIONS, READINGS, ruled_out
from grader.exercises.registry import exercises
from grader.models import attentions
from grader.models.attentions import CANDIDATES, DIGESTS, RIGHT, Variant, broken_attentions
from grader.spec.answers import answer_digest
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject

TRUE = {
    "alder": "key-used-as-value",
    "birch": "mask-after-softmax",
    "cedar": "merge-without-transpose",
    "elder": "scaled-by-d_model",
    "hazel": "one-future-token-visible",
    "larch": "batch-mixed",
    "maple": "view-without-transpose",
    "rowan": "softmax-over-queries",
}


def graded(given: object):
    report = evaluate(EXERCISE, LocalSubject({"bug_hunt": given}))
    assert not report.broken, report.traceback
    return report


def message(box: str, answer: object) -> str:
    report = graded({**TRUE, box: answer})
    assert report.score == pytest.approx(7 / 8)
    return next(result.message for result in report.parts if not result.passed)


def test_all_named_is_eight_points():
    assert exercises()["bug_hunt"] is EXERCISE
    assert graded(TRUE).passed
    assert graded(TRUE).mark == 8


@pytest.mark.parametrize("count", [0, 3, 7])
def test_every_box_is_worth_one_point(count):
    named = dict(list(TRUE.items())[:count])
    assert graded({**dict.fromkeys(TRUE, ...), **named}).mark == pytest.approx(count)
    assert graded(named).mark == pytest.approx(count)


@pytest.mark.parametrize("spelling", ["Key-Used-As-Value", " key-used-as-value ", "(key-used-as-value)."])
def test_spelling_is_not_the_point(spelling):
    assert graded({**TRUE, "alder": spelling}).passed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "expected one of the ids"),
        (["no-scaling"], "expected one of the ids"),
        ("", "isn't one of the ids"),
        ("something is wrong", "isn't one of the ids in the list"),
        (..., "not answered yet"),
        (None, "not answered yet"),
    ],
)
def test_what_is_no_id_is_told_so(answer, words):
    assert words in message("alder", answer)


@pytest.mark.parametrize("other", [None, [], list(TRUE.values()), "no-scaling", 8, {}])
def test_what_is_no_dict_of_names_earns_nothing(other):
    assert graded(other).score == 0


@pytest.mark.parametrize(("box", "true"), TRUE.items())
def test_a_wrong_name_gets_a_probe_and_not_the_answer(box, true):
    for named in CANDIDATES.keys() - {true}:
        said = message(box, named)
        assert said.startswith(f'"{box}" is not right yet. Try the probe `')
        assert f"`{named}`" in said
        assert true not in said


def test_any_two_mistakes_are_told_apart_by_a_probe():
    for named, true in itertools.permutations(CANDIDATES, 2):
        assert ruled_out(named, true)
    assert READINGS.keys() == CANDIDATES.keys()


# --- the boxes --------------------------------------------------------------------------------------------------------


def test_boxes_do_not_tell_what_they_are():
    boxes = broken_attentions()
    assert list(boxes) == list(TRUE)
    source = inspect.getsource(attentions)
    for name, box in boxes.items():
        told = f"{box!r} {dir(box)} {getattr(box, '__dict__', '')} {box.name} {inspect.getsource(type(box))}"
        assert not any(mistake in told for mistake in CANDIDATES)
        assert TRUE[name] not in source.partition("DIGESTS")[2]
        with pytest.raises(TypeError):
            inspect.getsource(box)
    assert {name: answer_digest(name, true) for name, true in TRUE.items()} == DIGESTS


B, T, E, H = 2, 5, 12, 3


@pytest.fixture(scope="module")
def inputs():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(B, T, E, generator=generator, dtype=torch.float64)
    scale = 1.3 / math.sqrt(E)
    matrices = [scale * torch.randn(E, E, generator=generator, dtype=torch.float64) for _ in range(4)]
    return x, matrices


def test_the_right_recipe_is_pytorchs(inputs):
    x, (w_q, w_k, w_v, w_o) = inputs
    query, key, value = ((x @ w).unflatten(-1, (H, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    heads = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    output, weights = RIGHT(x, w_q, w_k, w_v, w_o, H)
    torch.testing.assert_close(output, heads.transpose(1, 2).flatten(-2) @ w_o)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T, dtype=torch.float64))


@pytest.mark.parametrize(("box", "true"), TRUE.items())
def test_a_box_makes_its_mistake(inputs, box, true):
    x, matrices = inputs
    for mine, expected in zip(
        broken_attentions()[box](x, *matrices, H), CANDIDATES[true](x, *matrices, H), strict=True
    ):
        torch.testing.assert_close(mine, expected)
    right = RIGHT(x, *matrices, H)
    assert not torch.allclose(right[0], CANDIDATES[true](x, *matrices, H)[0], atol=1e-3)


@pytest.mark.parametrize("mistake", CANDIDATES)
def test_probes_show_what_the_hints_say(inputs, mistake):
    x, matrices = inputs
    found = observed(CANDIDATES[mistake], x, matrices)
    assert dict(zip(PROBES, found, strict=True)) == READINGS[mistake]


def observed(attend: Variant, x: torch.Tensor, matrices: list[torch.Tensor]) -> tuple[str, ...]:
    """The readings of all probes, as the lesson's kit would show them."""
    return (
        sums(attend(x, *matrices, H)[1]),
        influence(attend, x, matrices),
        "same" if torch.allclose(attend(x, *matrices, H)[0][0], attend(x[:1], *matrices, H)[0][0]) else "other",
        {"qkvo": "all", "qko": "not w_v", "qvo": "not w_k", "qkv": "not w_o"}[matters(attend, x[:1], matrices)],
        compared(attend, x[:1], matrices),
        entropies(attend, x[:1], matrices),
        {"vo": "value and output", "ko": "key and output", "o": "output", "v": "value", "": "nothing"}[
            matters(attend, x[:1, :1], matrices)
        ],
    )


def sums(weights: torch.Tensor) -> str:
    if weights.shape[1] != H:
        return "one table"
    rows, columns = weights[0, 0].sum(-1), weights[0, 0].sum(-2)
    ones = torch.ones(T, dtype=weights.dtype)
    if torch.allclose(columns, ones):
        return "columns"
    if rows[0] == 0 and torch.allclose(rows[1:], ones[1:]):
        return "first row empty"
    if rows[-1] == 0 and torch.allclose(rows[:-1], ones[1:]):
        return "last row empty"
    if torch.allclose(rows, ones):
        return "rows"
    assert (rows[:-1] < 1).all()
    assert rows[-1] == pytest.approx(1)
    return "less"


def influence(attend: Variant, x: torch.Tensor, matrices: list[torch.Tensor]) -> str:
    before = attend(x[:1], *matrices, H)[0][0]
    moved = torch.zeros(T, T, dtype=torch.bool)
    for j in range(T):
        changed = x[:1].clone()
        changed[0, j] += 1.0 + torch.arange(E) / E
        moved[:, j] = (attend(changed, *matrices, H)[0][0] - before).abs().amax(-1) > 1e-8
    everything = torch.ones(T, T, dtype=torch.bool)
    known = {"past": everything.tril(), "all": everything, "one ahead": everything.tril(1)}
    found = next((name for name, table in known.items() if torch.equal(moved, table)), None)
    if found is not None:
        return found
    if not moved[0].any():
        assert not (moved & ~everything.tril()).any()
        return "itself hidden"
    if not (moved & everything.tril(-1)).any():
        return "later"
    later = moved & everything.triu(1)  # torn: a gap before a later token that does move an output
    assert any(
        (later[i, j] and not moved[i, j - 1]) or later[i].sum() not in (0, T - 1 - i)
        for i in range(T)
        for j in range(1, T)
    )
    return "torn"


def matters(attend: Variant, x: torch.Tensor, matrices: list[torch.Tensor]) -> str:
    """Which matrices the output depends on."""
    before, found = attend(x, *matrices, H)[0], ""
    for place, letter in enumerate("qkvo"):
        others = [matrix.flip(0) if i == place else matrix for i, matrix in enumerate(matrices)]
        found += letter if not torch.allclose(attend(x, *others, H)[0], before) else ""
    return found


def compared(attend: Variant, x: torch.Tensor, matrices: list[torch.Tensor]) -> str:
    many, one = (
        [
            a.shape == b.shape and torch.allclose(a, b)
            for a, b in zip(attend(x, *matrices, heads), RIGHT(x, *matrices, heads), strict=True)
        ]
        for heads in (H, 1)
    )
    if many[1] and one[1]:
        return "weights right"
    return "right with one head" if all(one) else "wrong"


def entropies(attend: Variant, x: torch.Tensor, matrices: list[torch.Tensor]) -> str:
    rows, right = (one(x, *matrices, H)[1][0, :, -1] for one in (attend, RIGHT))
    if not torch.allclose(rows.sum(-1), torch.ones(len(rows), dtype=rows.dtype)):
        return "none"
    mine, wanted = (torch.special.entr(each).sum(-1) for each in (rows, right))
    if len(mine) != len(wanted):
        return "another"
    if torch.allclose(mine, wanted):
        return "right"
    if (mine < wanted).all() and mistake_scales(attend):
        return "lower"
    return "higher" if (mine > wanted).all() and mistake_scales(attend) else "another"


def mistake_scales(attend: Variant) -> bool:
    """Only another divisor moves all entropies one way on any input; others do so by chance."""
    return attend.divisor is not RIGHT.divisor


def test_every_question_has_a_hint_for_every_wrong_id():
    assert [question.key for question in QUESTIONS] == list(TRUE)
    for question in QUESTIONS:
        assert set(question.wrong) == CANDIDATES.keys() - {TRUE[question.key]}
