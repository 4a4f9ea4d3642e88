"""Hints where no mistake has a name: what is right and what is wrong."""

from __future__ import annotations

import re

import pytest

from tests.spec.test_states import report_of

SCORES = "def attention_scores(query, key):\n    {}"
LONG = "def attention_scores(query, key):\n    s = query @ key.mT\n    {}\n    return s"
SDPA = (
    "def scaled_dot_product_attention(query, key, value):\n    w = query @ key.mT / query.shape[-1] ** 0.5\n"
    "    w = torch.exp(w) / torch.exp(w).sum(-1, keepdim=True)\n    {}"
)
SPLIT = "def split_heads(x, num_heads):\n    y = x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)\n    {}"
# The exercise, the cell, a pattern of the first hint.
HINTS = {
    "a factor": ("attention_scores", SCORES.format("return 1.7 * query @ key.mT"), "is 1.7 times the expected one"),
    "a factor that is a size": (
        "attention_scores",
        SCORES.format("return query @ key.mT / key.shape[-2] ** 0.5"),
        r"times the expected one\. Here Tk \(key_len\) is \d+, and its square root is [\d.]+",
    ),
    "a number added": ("attention_scores", SCORES.format("return query @ key.mT + 0.5"), "off by the same amount, 0.5"),
    "a factor for each row": (
        "attention_scores",
        SCORES.format("s = query @ key.mT\n    return s / s.norm(dim=-1, keepdim=True)"),
        "Each row of the result is right except for a factor, which differs from row to row",
    ),
    "in another order": (
        "attention_scores",
        SCORES.format("return (query @ key.mT).flip(-1)"),
        "in the wrong order within each row",
    ),
    "above the diagonal": (
        "pairwise_dot_products",
        "def pairwise_dot_products(x):\n    return (x @ x.mT).tril()",
        "The result is wrong only above the diagonal of the last two axes",
    ),
    "only the last column": (
        "attention_scores",
        LONG.format("s = torch.cat([s[..., :-1], 0 * s[..., -1:]], -1)"),
        r"is wrong only at the last index along Tk \(key_len\)",
    ),
    "only some heads": (
        "split_heads",
        SPLIT.format("return torch.cat([y[..., :1, :, :], 0 * y[..., 1:, :, :]], -3)"),
        r"is wrong only at .*H \(num_heads\)",
    ),
    "weights right, output wrong": (
        "scaled_dot_product_attention",
        SDPA.format("return w @ value + 1, w"),
        "^`weights` is right, but `output` isn't. Every entry of `output` is off by the same amount, 1",
    ),
    "weights wrong first": (
        "scaled_dot_product_attention",
        SDPA.format("w = w.sqrt()\n    return w @ value, w"),
        "^`weights` is already wrong, so start there. The rows of `weights` should sum to one, but one of them sums to",
    ),
    "zeros where something was masked": (
        "scaled_dot_product_attention",
        "def scaled_dot_product_attention(query, key, value):\n    w = query @ key.mT / query.shape[-1] ** 0.5\n"
        "    w = torch.exp(w).tril()\n    w = w / w.sum(-1, keepdim=True)\n    return w @ value, w",
        "`weights` is 0 above the diagonal of the last two axes, where other values belong",
    ),
    "a column of zeros": (
        "attention_scores",
        SCORES.format("s = query @ key.mT + 0.5\n    return torch.cat([s[..., :-1], 0 * s[..., -1:]], -1)"),
        r"The result is 0 at the last index along Tk \(key_len\), where other values belong",
    ),
    "an argument without influence": (
        "attention_scores",
        SCORES.format(
            "return (query @ query.mT).mean(-1, keepdim=True).expand(*query.shape[:-1], key.shape[-2]).clone()"
        ),
        "If you change the last column of `key`, the result stays as it was, but it should change",
    ),
    "axes in another order": (
        "split_heads",
        "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).movedim(-1, -3).exp()",
        r"The sizes are right, but their order is \(D, T, H\)",
    ),
    "an axis too few": (
        "attention_scores",
        SCORES.format("return (query @ key.mT).sum(-1)"),
        "The result has too few axes: 1, expected 2",
    ),
    "sizes that don't fit": (
        "attention_scores",
        SCORES.format("return torch.cat([query, query], -1) @ key.mT"),
        r"Sizes here: Tq \(query_len\) = \d+, D \(head_dim\) = \d+, Tk \(key_len\) = \d+\. Which axes meet",
    ),
    "right for one sequence": (
        "attention_scores",
        SCORES.format("return query @ key.mT * (1 if query.dim() == 2 else 2)"),
        "2 times the expected one",
    ),
}


@pytest.mark.parametrize(("name", "source", "pattern"), HINTS.values(), ids=list(HINTS))
def test_first_hint_says_what_is_wrong(name, source, pattern):
    report = report_of(name, source)
    assert not report.symptom, report.symptom
    assert re.search(pattern, report.hints[0]), report.hints


def test_a_later_hint_says_which_inputs_are_right():
    source = SCORES.format("return query @ key.mT * (1 if query.dim() == 2 else 2)")
    assert report_of("attention_scores", source).hints[1].startswith("Your code is right on some inputs (“one")


SCALED = SDPA.replace("query.shape[-1] ** 0.5", "{}").replace("    {}", "    return w @ value, w")


@pytest.mark.parametrize(
    ("by", "said"), [("4", "4"), ("8.0", "8"), ("3 ** 0.5", "1.732"), ("(value.shape[-1] + 1)", "")], ids=str
)
def test_a_number_that_is_written_down_is_asked_about(by, said):
    report = report_of("scaled_dot_product_attention", SCALED.format(by))
    asked = [hint for hint in report.hints if "contains the number" in hint]
    assert bool(asked) == bool(said), report.hints
    assert not said or f"the number {said}." in asked[0]


def test_the_place_of_what_is_wrong_is_told_for_two_axes_and_by_what_is_right():
    source = "def sinusoidal_encoding(seq_len, d_model):\n    return torch.zeros(seq_len, d_model)"
    assert "wrong only at" not in str(report_of("sinusoidal_encoding", source).hints)
    cut = LONG.format("s = torch.cat([s[..., :-1] + s[..., :-1].cos() + 2, s[..., -1:]], -1)")
    assert "right only at the last index along Tk" in report_of("attention_scores", cut).hints[0]
    block = LONG.format("s = s.clone()\n    s[..., 2:, 3:] += s[..., 2:, 3:].cos() + 2")
    hint = report_of("attention_scores", block).hints[0]
    assert re.search(r"at index 2 and beyond along Tq \(query_len\) and index 3 and beyond along Tk", hint), hint


NOT_ABOUT_SHAPES = (
    "query / {}",
    "math.exp({})",
    "torch.softmax(query)",
    "query.float().backward_",
    "query.dubble()",
    "(lambda a, b: a)(query)",
    "1 if query else 2",
    "torch.zeros(3)[query]",
    "query @ key.mT.long()",
)


@pytest.mark.parametrize("expression", NOT_ABOUT_SHAPES)
def test_no_hint_on_shapes_where_the_error_is_about_something_else(expression):
    for above in range(14):  # the number of the line must not be taken for a size
        report = report_of("attention_scores", SCORES.format("# a line\n    " * above + f"return {expression}"))
        assert not any("axes meet" in hint or "Print the shapes" in hint for hint in report.hints), report.hints


def test_a_number_that_is_nan_before_and_after_has_not_changed():
    report = report_of("attention_scores", SCORES.format("return query @ key.mT * float('nan')"))
    assert not any("changes in places" in hint for hint in report.hints), report.hints


def test_a_shape_is_told_in_letters_that_the_exercise_has():
    report = report_of("attention_scores", SCORES.format("return torch.zeros(3, 3)"))
    assert "num_heads" not in str(report.hints)
    report = report_of("causal_mask", "def causal_mask(seq_len):\n    return torch.ones(6, 6).tril().bool()")
    assert report.hints[0] == "Where T (seq_len) belongs, there is 6."


ODD = (
    "torch.zeros(0, 3)",
    "torch.tensor(3.0)",
    "s.to(torch.complex64)",
    "s > 0",
    "s.to(torch.int8)",
    "s.half()",
    "s.bfloat16()",
    "s * float('nan')",
    "s / 0",
    "s.unsqueeze(0).unsqueeze(-1)",
    "s.to_sparse()",
    "s.expand(2, *s.shape)",
    "torch.zeros_like(s)",
    "s[:0]",
    "s.to('meta')",
    "[s]",
    "(s, s)",
    "s.numpy()",
    "nn.Parameter(s)",
    "float('inf')",
    "10 ** 400",
    "'s'",
    "...",
    "object()",
)


@pytest.mark.parametrize("value", ODD)
def test_whatever_comes_back_the_check_is_sound_and_helps(value):
    report = report_of("attention_scores", SCORES.format(f"s = query @ key.mT + 1\n    return {value}"))
    assert not report.broken, report.traceback
    assert report.hints or report.symptom
    report = report_of(
        "scaled_dot_product_attention",
        SDPA.format(f"s = w + 1\n    return w @ value, {value}"),
    )
    assert not report.broken, report.traceback
    assert report.hints or report.symptom


def test_some_zeros_are_not_told_as_all():
    """There is one in every column but one, and most entries are other numbers."""
    source = SCORES.format("return (query @ key.mT).round()")
    assert " is 0 at" not in str(report_of("attention_scores", source).hints)
