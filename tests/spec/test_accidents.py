"""Accidents of notebooks have names, as learners made them."""

from __future__ import annotations

import pytest

from grader.report.text import as_text
from tests.spec.test_states import report_of

ATTENTION = "def scaled_dot_product_attention(query, key, value):\n{}\n    return weights @ value, weights"
WEIGHTS = "    weights = torch.exp(query @ key.mT / {})\n    weights = weights / weights.sum(-1, keepdim=True)"
MODULE = """class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        heads = query.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        return heads, heads @ heads.mT
"""
SPLIT = "def split_heads(x, num_heads):\n    {}\n"
SELF = "def self_attention(x, w_query, w_key, w_value):\n    {}\n"
WRITTEN = """
def project(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x @ w_value
def attend(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return weights @ value, weights
"""
# The exercise, its cells, the accident, a pattern of what is said.
ACCIDENTS = {
    "the lesson's size in place of an argument": (
        "bigram_loss",
        (
            "V = 71",
            "def bigram_loss(train_ids, test_ids, vocab_size):\n    counts = torch.ones(V, V)\n"
            "    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.ones(len(train_ids) - 1), accumulate=True)\n"
            "    table = counts / counts.sum(-1, keepdim=True)\n"
            "    return -table[test_ids[:-1], test_ids[1:]].log().mean().item()\n",
        ),
        "name-from-above",
        "`V` is not an argument",
    ),
    "the lesson's model in place of an argument": (
        "generate",
        (
            "my_gpt = nn.Linear(3, 3)",
            "def generate(model, prompt, new_tokens, generator, **sampling):\n    return my_gpt(prompt.float())\n",
        ),
        "name-from-above",
        "`my_gpt` is not an argument",
    ),
    "no super().__init__()": (
        "FeedForward",
        (
            "class FeedForward(nn.Module):\n    def __init__(self, d_model, d_ff):\n"
            "        self.linear1 = nn.Linear(d_model, d_ff)\n"
            "    def forward(self, x):\n        return self.linear1(x)\n",
        ),
        "super-init-forgotten",
        "before `nn.Module` is ready",
    ),
    "moved to a GPU": (
        "first_steps",
        ("def first_steps(x):\n    return (2 * x + 1).cuda()\n",),
        "moved-to-a-gpu",
        "`return (2 * x + 1).cuda()` moves something to a GPU",
    ),
    "math.sqrt of a tensor": (
        "layer_norm",
        ("import math", "def layer_norm(x, gamma, beta, eps=1e-5):\n    return x / math.sqrt(x.var(-1) + eps)\n"),
        "number-function-on-tensor",
        "gives a whole tensor to a function that takes a single number",
    ),
    "a caret for a power": (
        "rms_norm",
        ("def rms_norm(x, gamma, eps=1e-6):\n    return x / ((x^2).mean(-1, keepdim=True) + eps).sqrt()\n",),
        "caret-for-power",
        "doesn't mean a power",
    ),
    "a method that isn't called": (
        "stable_softmax",
        ("def stable_softmax(scores):\n    return torch.exp(scores - scores.max)\n",),
        "method-not-called",
        "uses a method in place of its result",
    ),
    "the vocabulary on the last axis": (
        "fit",
        (
            "def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):\n"
            "    pieces = torch.stack([ids[start : start + block_size + 1] for start in starts[0]])\n"
            "    return [F.cross_entropy(model(pieces[:, :-1]), pieces[:, 1:]).item()]\n",
        ),
        "classes-not-second",
        "wants them on the second",
    ),
    "parameters in another order": (
        "split_heads",
        ("def split_heads(num_heads, x):\n    return x.unflatten(-1, (num_heads, -1)).transpose(-2, -3)\n",),
        "parameters-in-another-order",
        "your `def` line has the parameters (num_heads, x)",
    ),
    "a parameter is missing": (
        "noam_rate",
        ("def noam_rate(step, d_model):\n    return d_model**-0.5 * step**-0.5\n",),
        "other-parameters",
        "your `def` line has the parameters (step, d_model); the exercise's has (step, d_model, warmup_steps).",
    ),
    "a default is missing": (
        "layer_norm",
        ("def layer_norm(x, gamma, beta, eps):\n    return x\n",),
        "other-parameters",
        "your `def` line has the parameters (x, gamma, beta, eps); the exercise's has (x, gamma, beta, eps=1e-5).",
    ),
    "a constructor with one parameter": (
        "FeedForward",
        ("class FeedForward(nn.Module):\n    def __init__(self, d_model):\n        super().__init__()\n",),
        "other-parameters",
        "your `__init__`, after `self`, has the parameters (d_model); the exercise's has (d_model, d_ff).",
    ),
    "another exception": (
        "split_heads",
        (
            "def split_heads(x, num_heads):\n    if x.shape[-1] % num_heads:\n"
            "        raise TypeError(f'{x.shape[-1]} {num_heads}')\n"
            "    return x.unflatten(-1, (num_heads, -1)).transpose(-2, -3)\n",
        ),
        "another-exception",
        "raises TypeError. A ValueError is expected",
    ),
    "a misspelt function of torch": (
        "attention_scores",
        ("def attention_scores(query, key):\n    return torch.matmull(query, key.mT)\n",),
        "not-in-torch",
        "has no `matmull`",
    ),
    "d_k of the lesson's example": (
        "scaled_dot_product_attention",
        ("d_k = 4", ATTENTION.format(WEIGHTS.format("math.sqrt(d_k)"))),
        "name-from-above",
        "`d_k` is not an argument. It comes from a cell above",
    ),
    "keys for key": (
        "attention_scores",
        ("keys = torch.ones(3, 4)", "def attention_scores(query, key):\n    return query @ keys.mT"),
        "name-from-above",
        "`keys` is not an argument",
    ),
    "d_k that no cell defines": (
        "scaled_dot_product_attention",
        (ATTENTION.format(WEIGHTS.format("math.sqrt(d_k)")),),
        "name-not-defined",
        "`d_k` is neither an argument nor defined in the function",
    ),
    "a misspelled argument": (
        "attention_scores",
        ("def attention_scores(query, key):\n    return qeury @ key.mT",),
        "name-not-defined",
        "Did you mean `query`?",
    ),
    "self. forgotten": ("MultiHeadAttention", (MODULE,), "self-forgotten", "`num_heads` is not defined inside"),
    "self. forgotten, with a name of the lesson's": (
        "MultiHeadAttention",
        ("num_heads = 1", MODULE),
        "self-forgotten",
        "`num_heads` comes from a cell above, not from the module",
    ),
    "a shape taken apart": (
        "split_heads",
        (SPLIT.format("B, T, E = x.shape\n    return x.view(B, T, num_heads, E // num_heads).transpose(1, 2)"),),
        "shape-of-one-rank",
        "`B, T, E = x.shape` only works for tensors with 3 axes.",
    ),
    "a size taken apart": (
        "attention_scores",
        ("def attention_scores(query, key):\n    T, D = query.size()\n    return query @ key.mT",),
        "shape-of-one-rank",
        "`T, D = query.size()` only works for tensors with 2 axes.",
    ),
    "assert in place of raise": (
        "split_heads",
        (
            SPLIT.format(
                "assert x.shape[-1] % num_heads == 0, f'{x.shape[-1]} {num_heads}'\n"
                "    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)"
            ),
        ),
        "assert-instead-of-raise",
        "which raises AssertionError. A ValueError is expected.",
    ),
    "the lesson's loop, copied": (
        "attention_scores",
        (
            "def attention_scores(query, key):\n    rows = []\n    for q in query:\n"
            "        rows.append(torch.stack([(q * k).sum(-1) for k in key]))\n    return torch.stack(rows)",
        ),
        "two-axes-only",
        "Or `loop-axis-from-the-front`: the result is right for one sequence but not for a batch",
    ),
    "key and query swapped in a call of one's own": (
        "self_attention",
        (WRITTEN, SELF.format("q, k, v = project(x, w_query, w_key, w_value)\n    return attend(k, q, v)")),
        "scores-transposed",
        "Or `arguments-swapped`: the result would be right if `w_query` and `w_key` were swapped.",
    ),
    "weights swapped in a call of one's own": (
        "self_attention",
        (
            WRITTEN.replace("w_key, w_value):", "w_value, w_key):"),
            SELF.format("q, k, v = project(x, w_query, w_key, w_value)\n    return attend(q, k, v)"),
        ),
        "roles-swapped",
        "not all of them are used in their own roles",
    ),
}


@pytest.mark.parametrize(("name", "cells", "accident", "said"), ACCIDENTS.values(), ids=list(ACCIDENTS))
def test_accident_is_named_and_has_hints(name, cells, accident, said):
    report = report_of(name, *cells)
    assert accident in (None, report.diagnosis), as_text(report)
    assert said in as_text(report)
    assert len(report.hints) >= 2


def test_a_constant_in_capitals_and_a_function_of_ones_own_are_no_accident():
    shift = "EPS = 1.5\ndef shift(x):\n    return x + EPS"
    for result in ("shift(query @ key.mT)", "query @ key.mT + EPS"):
        report = report_of("attention_scores", shift, f"def attention_scores(query, key):\n    return {result}")
        assert report.diagnosis is None


def test_the_place_is_named_by_function_and_cell_at_the_innermost_line():
    helper = "def scale(x):\n    y = x\n    return y @ y"
    report = report_of("attention_scores", helper, "def attention_scores(query, key):\n    return scale(query)")
    said = report.parts[0].message
    assert "`attention_scores` raised RuntimeError in `scale`, at line 3 of its cell: `return y @ y`" in said
    report = report_of("attention_scores", "def attention_scores(query, key):\n    return query @ key")
    assert "raised RuntimeError at line 2 of its cell: `return query @ key`" in report.parts[0].message


def test_pythons_own_value_error_is_not_taken_for_the_learners():
    report = report_of("split_heads", SPLIT.format("B, T, E = x.shape\n    return x"))
    assert (
        "Expected a ValueError that your code raises, got one of Python's own: not enough values"
        in report.parts[-1].message
    )


def test_torchs_advice_to_use_numpy_is_contradicted():
    source = "def attention_scores(query, key):\n    return torch.from_numpy(query.numpy() @ key.mT.numpy())"
    said = report_of("attention_scores", source).parts[-1].message
    assert said.endswith("Ignore torch's advice here, because NumPy cuts the gradient. Use torch operations instead.")
