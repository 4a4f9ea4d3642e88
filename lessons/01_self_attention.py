# ---
# jupyter:
#   course:
#     about: queries, keys, values, scores and weights by hand; a softmax that does not overflow
#     picture: an attention step by step
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · Self-attention by hand
#
# *The robot could not lift the crate, because it was too heavy.* What was too heavy? The crate. *The robot
# could not lift the crate, because it was too weak.* Now it is the robot. To read the word "it", you looked
# back at the other words and took what you needed from one of them.
#
# *Self-attention* does this with lists of numbers: every word looks at all words and takes from them what it
# needs. In this lesson you work it out with numbers small enough for paper, then write it so that it works
# for any sizes.
#
# **You need** Python, and a little PyTorch: tensors, shapes, the matrix product `@`.
#
# **Afterwards you can**
#
# - compute queries, keys, values, scores, attention weights and outputs by hand;
# - write scaled dot-product attention that works for one sequence or for a whole batch;
# - write a softmax that does not overflow;
# - tell whether a printed table of attention weights can be right.
#
# **Time:** <!-- time -->. The plan: mix vectors → project → score
# → softmax → scale and put together → read a tutorial critically → test attention weights → a quiz.
#
# ## Four rules for your functions
#
# Cells, checks and hints work as in lesson 00. The examples are complete; what you write goes where
# `raise NotImplementedError()` stands.
#
# Four rules hold for the functions you write, here and in the lessons that follow:
#
# - they accept float32 and float64, and return the type they were given;
# - they don't change their arguments;
# - where a shape begins with `...`, they work for any number of leading axes;
# - gradients can flow through them, so no detour through NumPy or Python numbers.

# %% [markdown]
# ## Letters for shapes
#
# | letter | meaning | in the small example |
# | --- | --- | --- |
# | `B` | batch: sequences handled together | none at first |
# | `T` | tokens in a sequence (`Tq`, `Tk` where queries and keys differ in number) | 3 |
# | `E` | `d_model`, the width of a token's vector | 4 |
# | `d_k` | width of a query and of a key (`D` for short) | 3 |
# | `d_v` | width of a value | 3 |
# | `...` | any number of leading axes, none included | |
#
# So `(..., T, E)` stands for `(3, 4)`, for `(8, 3, 4)` and for `(2, 8, 3, 4)`.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from grader import check, compare_guess, predict

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · The whole idea: a weighted average
#
# A model reads words as *tokens*, and each token is a *vector*: a list of numbers. At first the vector of
# "it" says nothing about robots or crates. The simplest way to let it know its neighbours is to give it their
# plain average. Take two numbers a word, "how much robot" and "how much crate":

# %%
robot = torch.tensor([1.0, 0.0])
crate = torch.tensor([0.0, 1.0])

print("plain average, for it:", (robot + crate) / 2)

# %% [markdown]
# Half robot, half crate, whatever the sentence says: the plain average fails. It counts every word the same,
# so it can't tell the two sentences apart. "It" needs a **weighted** average: mostly crate in one sentence,
# mostly robot in the other. And nobody can choose the weights beforehand. They must come from the words
# themselves.
#
# So let each word say two things about itself in numbers. The noun says what it can be **found by**: how well
# does "weak" go with it, and how well "heavy"? And "it" says what it **looks for**. By itself it can't know that:
# "it" is the same word in both sentences. Suppose for now that the end of its sentence has reached it. Multiply
# entry by entry and add up: what fits gets the large weight.

# %%
# How well it goes with "weak", and with "heavy".
found_by = {"robot": torch.tensor([0.9, 0.1]), "crate": torch.tensor([0.1, 0.9])}
looks_for = {"it was too heavy": torch.tensor([0.0, 1.0]), "it was too weak": torch.tensor([1.0, 0.0])}

for ending, wanted in looks_for.items():
    for_robot, for_crate = found_by["robot"] @ wanted, found_by["crate"] @ wanted
    mixture = for_robot * robot + for_crate * crate
    print(f"{ending:17s} robot {for_robot:.1f}, crate {for_crate:.1f} -> ", mixture)

# %% role="draw"
figure, panels = plt.subplots(1, 2, figsize=(8.4, 2.4), layout="constrained")
for panel, (ending, wanted) in zip(panels, looks_for.items(), strict=True):
    for place, (word, key) in enumerate(found_by.items()):
        fit = (key @ wanted).item()
        arc = {"arrowstyle": "-", "connectionstyle": "arc3,rad=0.4", "color": "tab:blue", "alpha": 0.6}
        panel.annotate("", (place, 0.12), (2, 0.12), arrowprops=arc | {"lw": 10 * fit})
        panel.text(place, 0, f"{word}\n{fit:.1f}", ha="center", va="top")
    panel.text(2, 0, ending.replace("it ", "it\n"), ha="center", va="top")
    panel.set(xlim=(-0.4, 2.6), ylim=(-0.35, 0.85))
    panel.axis("off")
plt.show()

# %% [markdown]
# *The picture in words:* two sentences. Arcs lead from "it" to "robot" and to "crate"; the thicker the arc, the
# larger the weight. In "it was too heavy" the thick arc leads to "crate", in "it was too weak" to "robot".
#
# This is attention. What a token looks for is its **query**, what it can be found by is its **key**, and what
# it hands over once it is found is its **value** (here: robot or crate). A query that fits a key well gives a
# large weight, and the values are what is mixed (Vaswani et al. 2017).
#
# In a real model all three are computed from the token's vector, and **every** token has a query. (In the first
# layer the vector of "it" is the same in both sentences, so one layer alone can't tell them apart. It takes a second
# one, whose "it" has already collected the end of its sentence.) So each token has its own row of weights, and
# with T tokens the rows stack into a T × T table. One row of it, and three values to mix:

# %%
vectors = torch.tensor([[1.0, 2.0, 3.0], [2.0, 8.0, 0.0], [2.0, 6.0, 3.0]])
mixing = torch.tensor([0.5, 0.3, 0.2])

print("one by one  ", 0.5 * vectors[0] + 0.3 * vectors[1] + 0.2 * vectors[2])
print("as a product", mixing @ vectors)

# %% [markdown]
# The weights are not negative and sum to one. If they belong to token 0, then "token 0 attends 50 % to
# itself, 30 % to token 1 and 20 % to token 2".
#
# ## 2 · Queries, keys and values
#
# Three tokens, four numbers each. Three weight matrices turn every token into its query, its key and its
# value. A trained model has learnt these matrices; here they are chosen so that you can compute along.

# %%
x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])

w_query = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
w_key = torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
w_value = torch.tensor([[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])

print("x      ", tuple(x.shape))
print("w_query", tuple(w_query.shape), " w_key", tuple(w_key.shape), " w_value", tuple(w_value.shape))

# %% [markdown]
# One number first. The first entry of token 1's query pairs **row 1 of `x`** with **column 0 of `w_query`**
# (we count from zero): multiply entry by entry, then add.

# %%
for number, weight in zip(x[1], w_query[:, 0], strict=True):
    print(f"{number:g} · {weight:g} = {number * weight:g}")
print("sum: ", (x[1] * w_query[:, 0]).sum())

# %% [markdown]
# The matrix product does this for every row and every column at once. Find the number you just computed: row
# 1, column 0 of `queries`. Then compute one entry of `keys` and one of `values` on paper before you go on.

# %%
queries = x @ w_query
keys = x @ w_key
values = x @ w_value
print("queries", queries, sep="\n")
print("keys", keys, sep="\n")
print("values", values, sep="\n")

# %% [markdown]
# The product works on the last two axes. Leading axes are carried along, so the same `@` serves a whole
# batch. Below, two sequences are stacked, and the first comes out just as it did alone.

# %%
batch = torch.stack([x, 2 * x])
print(tuple(batch.shape), "@", tuple(w_query.shape), "->", tuple((batch @ w_query).shape))
print("first sequence unchanged:", torch.equal((batch @ w_query)[0], queries))

# %% [markdown]
# ### Exercise 1: `project_qkv`
#
# Difficulty 1 of 5
#
# Return the three projections as a tuple, in the order query, key, value. The check uses sizes that all
# differ, among them `d_v` ≠ `d_k`, and leading axes.
#
# <details><summary>I get "mat1 and mat2 shapes cannot be multiplied"</summary>
#
# Write the two shapes side by side. In `a @ b` the last axis of `a` must equal the first axis of a
# two-dimensional `b`. Which axis of `x` has length E, and which axis of a weight matrix? `nn.Linear` stores
# its weight matrix transposed; here no transpose is needed.
#
# </details>
#
# <details><summary>It works on one sequence, but not on a batch</summary>
#
# `torch.mm` and `.T` are for two axes only. Use an operation that takes leading axes along; the cell with
# `batch` above shows one.
#
# </details>
#
# <details><summary>Two of my results are the same</summary>
#
# Look for a line that was copied and only half changed. Each of the three weight matrices should appear
# exactly once.
#
# </details>


# %% exercise="project_qkv" role="solution"
def project_qkv(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Project tokens to queries, keys and values, each as x @ w.

    x: (..., T, E); w_query and w_key: (E, d_k); w_value: (E, d_v).
    Returns (query (..., T, d_k), key (..., T, d_k), value (..., T, d_v)).
    """
    ### BEGIN SOLUTION
    return x @ w_query, x @ w_key, x @ w_value
    ### END SOLUTION


# %% exercise="project_qkv" role="check"
check(project_qkv)

# %% role="try"
# Try it: does yours agree with the example?
for mine, shown in zip(project_qkv(x, w_query, w_key, w_value), (queries, keys, values), strict=True):
    print(torch.equal(mine, shown))

# %% [markdown]
# ## 3 · Scores: how well does a query fit a key?
#
# The **dot product** of two vectors (multiply entry by entry, add up) is large when both are large in the
# same places. That makes it a measure of fit. First token 1's query against token 1's key, then every query
# against every key. Row i of the table belongs to **query** i, column j to **key** j: row i tells how well
# each token fits what token i looks for.

# %%
for q, k in zip(queries[1], keys[1], strict=True):
    print(f"{q:g} · {k:g} = {q * k:g}")
print("score of token 1 for token 1: ", queries[1] @ keys[1])

scores = torch.zeros(3, 3)
for i in range(3):
    for j in range(3):
        scores[i, j] = queries[i] @ keys[j]
print("scores", scores, sep="\n")

# %% [markdown]
# Is the score of token 0 for token 2 the same as that of token 2 for token 0? In this table it is,
# everywhere: the table is symmetric. That is an accident of these numbers. Change a single entry of token 0
# and compute the two again:

# %%
altered = x.clone()
altered[0, 1] = 1.0
altered_queries, altered_keys = altered @ w_query, altered @ w_key
print("symmetric before:", torch.equal(scores, scores.T))
print("score of token 0 for token 2:", altered_queries[0] @ altered_keys[2])
print("score of token 2 for token 0:", altered_queries[2] @ altered_keys[0])

# %% [markdown]
# "What I look for in you" and "what you look for in me" are two different things; queries and keys are kept
# apart so that attention can express this difference. The small example hides it, and it also hides mix-ups
# of sizes because T, d_k and d_v are all 3. Good for paper, bad for testing: the checks draw other sizes.
#
# ### All scores at once
#
# In a matrix product, rows meet columns. The keys are rows, so they have to be *transposed* first: rows
# become columns. PyTorch has two ways to write that, and they differ as soon as there is a batch. `.mT`
# transposes each matrix of the batch; `.T` reverses **all** axes, the batch too.

# %%
some_keys = torch.randn(2, 5, 3)  # two sequences of five keys
print("shape             ", tuple(some_keys.shape))
print(".mT               ", tuple(some_keys.mT.shape))
print(".transpose(-2, -1)", tuple(some_keys.transpose(-2, -1).shape))
print("all axes reversed ", tuple(some_keys.permute(2, 1, 0).shape), " as .T does")

# %% [markdown]
# ### Exercise 2: `attention_scores`
#
# Difficulty 2 of 5
#
# All dot products at once, no scaling yet. The number of queries and the number of keys may differ.
#
# <details><summary>I get a size mismatch in the matrix product</summary>
#
# `@` pairs rows of the left with *columns* of the right. The keys are rows. What has to happen to them first?
# Write the shape of each factor beside it.
#
# </details>
#
# <details><summary>It works on the 3 × 3 example, but not in the check</summary>
#
# Which axes should change places, and which ones should stay where they are? The cell above shows one way
# that leaves the batch alone and one that is safe without a batch only.
#
# </details>
#
# <details><summary>The shape is (..., Tk, Tq)</summary>
#
# Each row should belong to a query. Which of the two factors gives the product its rows?
#
# </details>


# %% exercise="attention_scores" role="solution"
def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Dot product of every query with every key, not scaled.

    query: (..., Tq, D); key: (..., Tk, D). Returns (..., Tq, Tk): row i holds query i against each key.
    """
    ### BEGIN SOLUTION
    return query @ key.transpose(-2, -1)
    ### END SOLUTION


# %% exercise="attention_scores" role="check"
check(attention_scores)

# %% role="try"
# Try it: your scores of the small example, and whether they equal the loop's.
my_scores = attention_scores(queries, keys)
print(my_scores)
print("as the loop says:", torch.equal(my_scores, scores))

# %% [markdown]
# ## 4 · Softmax: from scores to attention weights
#
# Scores can be any number. Attention weights must not be negative, and each row must sum to one. **Softmax**
# does it in two steps: take *e* to the power of each score (always positive), then divide by the row's sum.
#
# The ratio of two weights depends only on the **difference** of their scores: exp(4) / exp(2) = exp(4 − 2).
# Keep this in mind: with it you can check a printed softmax.

# %%
row = torch.tensor([2.0, 4.0, 4.0])
exponentials = row.exp()
print("exponentials", exponentials)
print("their sum   ", exponentials.sum())
print("softmax     ", exponentials / exponentials.sum())

ratio = exponentials[1] / exponentials[0]
print(f"second weight over first: {ratio:.4f}, exp(4 - 2) = {math.exp(4 - 2):.4f}")

# %% [markdown]
# ### Spot the slip
#
# A tutorial on attention, from here on "the tutorial", explains with these two lines how softmax reacts to
# large scores:
#
# ```text
# [100, 1, 1] -> softmax -> [0.99999, 0.00001, 0.00001]
#  [10, 1, 1] -> softmax -> [0.99, 0.005, 0.005]
# ```
#
# Take the ratio of first to second weight in each line and compare it with the exponential of the difference.

# %%
predict(
    "01_softmax_lines",
    "What is wrong with the printed weights?",
    [
        "nothing: the ratios fit",
        "the first weight should be larger",
        "the first weight should be smaller",
    ],
)

# %% role="answer"
print(f"[10, 1, 1]:  printed ratio {0.99 / 0.005:.0f}, true ratio exp(9) = {math.exp(9):.0f}")
print(f"[100, 1, 1]: printed ratio {0.99999 / 0.00001:.0f}, true ratio exp(99) = {math.exp(99):.1e}")

both = torch.tensor([[10.0, 1.0, 1.0], [100.0, 1.0, 1.0]], dtype=torch.float64)
ten, hundred = both.softmax(-1).tolist()
print("[10, 1, 1]  ->", ", ".join(f"{weight:.5f}" for weight in ten))
print("[100, 1, 1] ->", ", ".join(f"{weight:.1g}" for weight in hundred))

tiny = torch.tensor(hundred[1], dtype=torch.float32)  # torch's usual dtype
print(f"1e-43 in float32: {tiny:.2e}; its smallest normal number: {torch.finfo(torch.float32).tiny:.2e}")
print("above zero:", bool(tiny > 0), " and 1 plus it is still 1:", bool(1 + tiny == 1))

larger = ten[0] > 0.99 and hundred[0] > 0.99999
compare_guess(
    "01_softmax_lines", "the first weight should be larger" if larger else "nothing: the ratios fit"
)

# %% [markdown]
# Both lines are far too mild. At a difference of 9 the largest weight is almost one; at 99 the others are so
# small that float32 can barely write them down: they lie below its smallest *normal* number, among the
# *subnormal* ones, which have few digits left.
#
# ### Large scores overflow
#
# exp grows fast. Already at 89 it leaves the range of float32, and infinity divided by infinity is NaN, "not
# a number". But only differences matter: subtract the same number from every score of a row and the weights
# stay the same. So subtract the row's **maximum**. The largest exponent is then 0, and nothing can overflow.

# %%
large = torch.tensor([1000.0, 999.0, 998.0])
print("exp(88), exp(89):", [f"{number:.2g}" for number in torch.tensor([88.0, 89.0]).exp().tolist()])
print("naive:          ", large.exp() / large.exp().sum())

shifted = large - large.max()
print("shifted scores: ", shifted)
print("stable:         ", shifted.exp() / shifted.exp().sum())

# %% [markdown]
# A table needs this **row by row**. One maximum for the whole table is not enough: where one row's scores are
# far below another's, all its exponentials become zero, and so does their sum.

# %%
table = torch.tensor([[1000.0, 999.0], [3.0, 2.0]])
one_for_all = (table - table.max()).exp()
print(one_for_all)
print("sums of the rows:", one_for_all.sum(-1))

# %% [markdown]
# To work row by row, reduce over the last axis, `dim=-1`, and keep that axis with length 1, so that the result
# still lines up with the rows. Here each row is divided by its largest entry. Without `keepdim=True` the two
# numbers lie side by side, and each *column* gets its own divisor. (`amax` returns the largest entries alone;
# `max` with a `dim` returns where they are as well.)

# %%
kept, dropped = table.amax(dim=-1, keepdim=True), table.amax(dim=-1)
print("axis kept   ", tuple(kept.shape), table / kept, sep="\n")
print("axis dropped", tuple(dropped.shape), table / dropped, sep="\n")

# %% [markdown]
# ### Exercise 3: `stable_softmax`
#
# Difficulty 2 of 5
#
# Softmax over the last axis, each row by itself, finite for scores up to ±10 000. Write it from its parts:
# torch's own softmax, log-softmax and softmin, by whatever name, are excluded here, and calling one scores 0.
#
# <details><summary>I get a size mismatch, or the rows sum to something odd</summary>
#
# Print the shape of everything you subtract or divide by. Does it line up with the rows, or with the columns?
# The cell above shows both.
#
# </details>
#
# <details><summary>There is NaN for large scores</summary>
#
# NaN here is either infinity over infinity or zero over zero. Print the exponentials of the row in question.
# All infinite: what was not subtracted? All zero: whose maximum was subtracted?
#
# </details>
#
# <details><summary>The columns sum to one, the rows don't</summary>
#
# A row holds one query against all keys, and its entries differ along the *last* axis. Which axis do you
# reduce?
#
# </details>


# %% exercise="stable_softmax" role="solution"
def stable_softmax(scores: Tensor) -> Tensor:
    """Softmax over the last axis, written without torch's softmax family.

    scores: (..., Tq, Tk). Returns the same shape; every row sums to one. Finite for scores up to ±1e4.
    """
    ### BEGIN SOLUTION
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    exponentials = shifted.exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% exercise="stable_softmax" role="check"
check(stable_softmax)

# %% role="try"
# Try it: the rows from above, an ordinary one and a large one.
print(stable_softmax(torch.tensor([[2.0, 4.0, 4.0], [1000.0, 999.0, 998.0]])))

# %% [markdown]
# ## 5 · Scaled dot-product attention
#
# All the pieces in one line (Vaswani et al. 2017, section 3.2.1, equation 1):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# You know everything in it except the division by √d_k, the square root of the width of a key. In the small
# example that is √3:

# %%
d_k = keys.shape[-1]
print("root of d_k", torch.tensor(d_k).sqrt(), sep="\n")
print("scaled scores", scores / math.sqrt(d_k), sep="\n")

# %% [markdown]
# What does dividing do to the attention weights? It is easy to get backwards. Take row 1 of the scores, [4, 16,
# 12], and divide by more and more.

# %%
predict(
    "01_larger_divisor",
    "The scores are divided by a larger number. What happens to the largest weight of the row?",
    ["it grows", "it stays as it is", "it shrinks"],
)

# %% role="answer"
for divisor in (1.0, math.sqrt(3), 3.0, 10.0, 100.0):
    print(f"divided by {divisor:6.2f}:", (scores[1] / divisor).softmax(-1))

by_3, by_100 = ((scores[1] / divisor).softmax(-1).max() for divisor in (3.0, 100.0))
compare_guess("01_larger_divisor", "it shrinks" if by_100 < by_3 else "it grows")

# %% [markdown]
# (`.softmax(-1)` is torch's own softmax over the last axis. The examples use it from here on.)
#
# ### Why divide?
#
# A dot product of two vectors of width d_k adds up d_k products. The wider the vectors, the more the sums
# spread: for random entries as √d_k, which lesson 02 works out. So wide keys give large scores, and you saw
# above what softmax does with those: nearly all the weight on one key. Dividing by √d_k removes the dependence
# on the width. The next cell measures it on ten random keys.

# %% claim="scaling_undoes_the_width"
generator = torch.Generator().manual_seed(0)
print(" d_k   spread of scores   largest weight: unscaled   scaled")
for width in (4, 64, 1024):
    random_queries = torch.randn(1000, width, generator=generator)
    random_keys = torch.randn(10, width, generator=generator)
    random_scores = random_queries @ random_keys.T
    unscaled = random_scores.softmax(-1).amax(-1).mean()
    scaled = (random_scores / math.sqrt(width)).softmax(-1).amax(-1).mean()
    print(f"{width:4d} {random_scores.std():18.1f} {unscaled:26.2f} {scaled:8.2f}")

# %% [markdown]
# Without scaling the average largest weight climbs towards 1; with scaling it stays about the same. A row
# with one weight close to 1 also hardly learns any more, since the gradient of softmax is nearly zero there;
# lesson 02 shows that too.
#
# ### The attention weights of the small example
#
# Scale, then softmax over each row. Printed twice: in scientific notation, and rounded to four decimals. Read
# row 1: to which token does token 1 attend? How much does it take from token 0? Then look at the picture of
# the same table. Its colour scale always runs from 0 to 1, so that pictures can be compared.

# %%
weights = (scores / math.sqrt(d_k)).softmax(dim=-1)

torch.set_printoptions(sci_mode=True)
print("weights", weights, sep="\n")
torch.set_printoptions(sci_mode=False)
print("weights, rounded", weights, sep="\n")
print("sums of the rows", weights.sum(dim=-1).round(decimals=4), sep="\n")


# %% role="draw"
def draw_weights(axes, weights, labels, title):
    """One table of attention weights on the fixed colour scale from 0 to 1, each cell with its number."""
    picture = axes.imshow(weights, cmap="cividis", vmin=0, vmax=1)
    ticks = range(len(labels))
    axes.set(title=title, xlabel="key: looked at", ylabel="query: who looks", xticks=ticks, yticks=ticks)
    axes.set_xticklabels(labels)
    axes.set_yticklabels(labels)
    for i, j in [(i, j) for i in ticks for j in ticks]:
        ink = "black" if weights[i, j] > 0.5 else "white"
        axes.text(j, i, f"{weights[i, j]:.2f}", ha="center", va="center", color=ink)
    return picture


figure, axes = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
figure.colorbar(draw_weights(axes, weights, ["token 0", "token 1", "token 2"], "Small example"), ax=axes)
plt.show()

# %% [markdown]
# *The picture in words:* a 3 × 3 grid, dark blue for 0, yellow for 1. Row 0 is dark in its first cell and has
# two equal grey ones. Row 1 has one bright yellow cell in the middle, the others are dark. Row 2 is a duller
# yellow in the middle, bluish grey on the right, dark on the left. So the middle column, token 1, leads in rows
# 1 and 2 and shares the lead in row 0.
#
# Last step: mix the values. Row 0 of the weights says how much of each token's value goes into token 0's
# output. Its first entry by hand:

# %%
for weight, value in zip(weights[0], values[:, 0], strict=True):
    print(f"{weight:.4f} · {value:g} = {weight * value:.4f}")
print(f"sum: {weights[0] @ values[:, 0]:.4f}")

weighted_values = weights @ values
print("weighted values", weighted_values, sep="\n")

# %% [markdown]
# Row 1 is close to token 1's own value, [2, 8, 0], because that is where its weight went. The output has one
# row for each **query**, and the width of a **value**.
#
# ### The whole way, step by step
#
# Below is the small example once more, to walk through. Run the cell, then go from step to step with its
# buttons. Point at a number, or press Tab until the last table has a frame and use the arrow keys: you see how
# the number was computed. Find the two numbers that you computed by hand above. In steps 5 to 7 a slider
# changes the scale: what happens to row 1 of the attention weights at a tenth of √d_k, and what at ten times
# √d_k?

# %% role="draw"
from grader.views import AttentionExplorer

AttentionExplorer(x, w_query, w_key, w_value)

# %% [markdown]
# ### Exercise 4: `scaled_dot_product_attention`
#
# Difficulty 2 of 5
#
# The whole formula. Use your own `attention_scores` and `stable_softmax`, or not, as you like. PyTorch's own
# `F.scaled_dot_product_attention` (in `torch.nn.functional`) and `nn.MultiheadAttention` are excluded.
#
# <details><summary>Right on the small example, wrong in the check</summary>
#
# In the small example the number of tokens, d_k and d_v are all 3, so any of them gives √3. Which size does
# the formula mean, and which axis of which tensor has it?
#
# </details>
#
# <details><summary>My rows don't sum to one</summary>
#
# Look at the order. Softmax is what makes a row sum to one; whatever is divided or multiplied after it spoils
# that.
#
# </details>
#
# <details><summary>My weights are much too peaked, or much too flat</summary>
#
# Print the largest score before and after scaling. It should become smaller (by √d_k, not by d_k). Dividing
# by `d_k ** -0.5` does the opposite of what it seems to.
#
# </details>
#
# <details><summary>The weights are right, the output is not</summary>
#
# Each output row is made from one *row* of weights. In the product, the axis that is summed away must be the
# keys'.
#
# </details>


# %% exercise="scaled_dot_product_attention" role="solution"
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """softmax(query @ key^T / sqrt(d_k)) @ value (Vaswani et al. 2017, equation 1).

    query: (..., Tq, d_k); key: (..., Tk, d_k); value: (..., Tk, d_v).
    Returns (output (..., Tq, d_v), weights (..., Tq, Tk)).
    """
    ### BEGIN SOLUTION
    scores = attention_scores(query, key) / math.sqrt(query.shape[-1])
    weights = stable_softmax(scores)
    return weights @ value, weights
    ### END SOLUTION


# %% exercise="scaled_dot_product_attention" role="check"
check(scaled_dot_product_attention)

# %% role="try"
# Try it: both differences should be zero, up to rounding.
my_output, my_weights = scaled_dot_product_attention(queries, keys, values)
print((my_output - weighted_values).abs().max().round(decimals=4))
print((my_weights - weights).abs().max().round(decimals=4))

# %% [markdown]
# ### Exercise 5: `self_attention`
#
# Difficulty 1 of 5
#
# Easier than the last one, since you have all its parts. *Self*-attention: queries, keys and values all come
# from the same tokens. Join what you have. If an earlier piece of yours is still wrong, the check names it.
#
# <details><summary>The last axis of my output has length E</summary>
#
# What you mixed were the tokens themselves. Which of the three projections has not been used?
#
# </details>
#
# <details><summary>I get "too many values to unpack", or a tuple where a tensor should be</summary>
#
# `project_qkv` returns three tensors, `scaled_dot_product_attention` two. Count the names on the left of each
# `=`.
#
# </details>


# %% exercise="self_attention" role="solution"
def self_attention(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> tuple[Tensor, Tensor]:
    """Self-attention with one head: project x, then attend.

    x: (..., T, E); w_query and w_key: (E, d_k); w_value: (E, d_v).
    Returns (output (..., T, d_v), weights (..., T, T)).
    """
    ### BEGIN SOLUTION
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(query, key, value)
    ### END SOLUTION


# %% exercise="self_attention" role="check"
check(self_attention)

# %% role="try"
# Try it: from the tokens to the weighted values in one call.
my_output, my_weights = self_attention(x, w_query, w_key, w_value)
print(my_output)

# %% [markdown]
# ## 6 · Reading a tutorial critically: "The cat sat"
#
# The tutorial with the two softmax lines also works through the whole formula, with three words and four
# numbers a word. It leaves the projections open ("..."), prints scores, and then, after "scale, then
# softmax", attention weights. Here are its three tables:

# %%
x_cat = torch.tensor(
    [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]], dtype=torch.float64
)
words = ["The", "cat", "sat"]
tutorial_scores = torch.tensor([[2.0, 1.5, 0.8], [1.5, 3.0, 2.1], [0.8, 2.1, 2.5]])
tutorial_weights = torch.tensor([[0.50, 0.30, 0.20], [0.20, 0.60, 0.20], [0.15, 0.35, 0.50]])
print("The cat sat", x_cat, sep="\n")
print("the tutorial's scores", tutorial_scores, sep="\n")
print("the tutorial's weights", tutorial_weights, sep="\n")
print("sums of the rows", tutorial_weights.sum(dim=-1).round(decimals=4), sep="\n")

# %% [markdown]
# ### Spot the slip
#
# Every row sums to one, the diagonal leads: it looks fine. Do these weights come from these scores? Look at
# the row of "cat" for a minute. You know enough: scaling divides all scores by one positive number, and the
# ratio of two weights is the exponential of the difference of their scaled scores.

# %%
predict(
    "01_cat_scales",
    "Multiply the scores by which number, and softmax gives these weights?",
    ["0.5, which is 1 divided by the root of 4", "some other number", "no number at all"],
)

# %% [markdown]
# The **logarithm of the ratio of two weights, divided by the difference of their scores,** is the number that the
# scores were multiplied by. It must be the same for every pair.

# %% role="answer"
factors = []
for i, a, b in ((0, 0, 1), (0, 1, 2), (1, 1, 0), (1, 2, 0), (2, 2, 1), (2, 1, 0)):
    gap = tutorial_scores[i, a] - tutorial_scores[i, b]
    log_ratio = (tutorial_weights[i, a] / tutorial_weights[i, b]).log()
    factor = log_ratio / gap
    pair = f"{words[a]} over {words[b]}"
    factors.append(factor.item())
    print(
        f"row {words[i]}, {pair}: score gap {gap:.1f}, log of ratio {log_ratio:.2f}, factor {factor:.2f}"
    )

same = max(factors) - min(factors) < 0.01
compare_guess("01_cat_scales", "some other number" if same else "no number at all")

# %% [markdown]
# Six pairs, six factors. In the row of "cat", "The" scores 1.5 and "sat" 2.1, yet both get the weight 0.20:
# that would take a factor of zero. **No scaling of these scores gives these weights.**
#
# There is a second slip, one step earlier. Look at the rows of the input: from word to word each number grows
# by 0.4. So "sat" is twice "cat" minus "The". Projections keep such a relation, whatever the matrices are,
# and so do dot products: the last row of the scores must be twice the middle one minus the first. It isn't.
#
# <details><summary>The same in the language of matrices</summary>
#
# The *rank* of a table says how many of its rows are independent, that is, can't be made from the others by
# multiplying and adding. Scores are X · (w_query · w_keyᵀ) · Xᵀ, and a product never has a higher rank than
# its factors.
#
# </details>

# %%
print("in the input: ", torch.allclose(2 * x_cat[1] - x_cat[0], x_cat[2]))
print("scores: 2 · cat - The =", 2 * tutorial_scores[1] - tutorial_scores[0])
print("printed for sat       =", tutorial_scores[2])
print("rank of the input            ", torch.linalg.matrix_rank(x_cat, atol=1e-6).item())
print("rank of the tutorial's scores", torch.linalg.matrix_rank(tutorial_scores, atol=1e-6).item())

# %% [markdown]
# So the tutorial's tables are illustrations: none follows from the one before it, and no choice of matrices
# changes that. Such tables can show *what* a row of attention weights means. Don't use them to check your
# code.
#
# Here are real ones, from random matrices with a fixed seed, d_k = 3 and d_v = 2:

# %%
generator = torch.Generator().manual_seed(5)
u_query, u_key, u_value = (torch.randn(4, n, generator=generator, dtype=torch.float64) for n in (3, 3, 2))

cat_scores = (x_cat @ u_query) @ (x_cat @ u_key).T
cat_weights = (cat_scores / math.sqrt(3)).softmax(dim=-1)
print("real scores", cat_scores, sep="\n")
print("real weights", cat_weights, sep="\n")
print("output", cat_weights @ (x_cat @ u_value), sep="\n")
print("rank of the scores", torch.linalg.matrix_rank(cat_scores, atol=1e-6).item())
print("2 · cat - The = sat:", torch.allclose(2 * cat_scores[1] - cat_scores[0], cat_scores[2]))

# %% [markdown]
# ### The complete example
#
# The tutorial ends with a run at other sizes: T = 4 tokens, d_model = 8, d_k = d_v = 4, and weight matrices
# of small random numbers (times 0.1). It sets no seed, so its numbers can't be repeated; ours can.

# %% claim="small_matrices_average"
generator = torch.Generator().manual_seed(0)
tokens = torch.randn(4, 8, generator=generator)
v_query, v_key, v_value = (0.1 * torch.randn(8, 4, generator=generator) for _ in range(3))

raw = (tokens @ v_query) @ (tokens @ v_key).T
untrained = (raw / math.sqrt(4)).softmax(dim=-1)
mixed = untrained @ (tokens @ v_value)
print("input shape:", tuple(tokens.shape))
print("output shape:", tuple(mixed.shape))
print("attention weights shape:", tuple(untrained.shape))
print("attention weights", untrained, sep="\n")

# %% [markdown]
# The tutorial writes all of it as one function in NumPy. It is the same line for line, and so are its numbers:


# %%
def in_numpy(x, w_q, w_k, w_v):
    """Self-attention as the tutorial has it: x (T, d_model) to (T, d_v)."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True) @ v


from_numpy = in_numpy(tokens.numpy(), v_query.numpy(), v_key.numpy(), v_value.numpy())
print(f"largest difference: {np.abs(from_numpy - mixed.numpy()).max():.4f}")

# %% role="draw"
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
draw_weights(left, weights, ["token 0", "token 1", "token 2"], "Small example")
picture = draw_weights(right, untrained, ["0", "1", "2", "3"], "Random small weights")
figure.colorbar(picture, ax=[left, right])
plt.show()

# %% [markdown]
# *The picture in words:* on the left the grid of the small example, with cells from almost black to yellow. On
# the right a 4 × 4 grid in which every cell has almost the same dull blue, a quarter of the way up the scale.
#
# Small random matrices give scores near zero, and so nearly the same weight for every token. (With 0.2 in place
# of 0.1 the weights begin to differ.) A new model starts about here, with the plain average that failed in section 1: half robot, half crate. Training is what
# turns it into attention. Lesson 02 begins there.

# %% role="try"
# Try it: your function on the complete example; the differences should be zero, up to rounding.
my_output, my_weights = self_attention(tokens, v_query, v_key, v_value)
print((my_output - mixed).abs().max().round(decimals=4))
print((my_weights - untrained).abs().max().round(decimals=4))

# %% [markdown]
# ## 7 · Are these attention weights?
#
# When a model misbehaves, its attention weights are the first thing to test. Three rules hold for all of
# them:
#
# 1. every entry is **finite**, no NaN and no infinity;
# 2. every entry lies **within** [0, 1];
# 3. every row **sums** to one.
#
# The tutorial has a function for it. Here it is in PyTorch, with the tests in the tutorial's order.


# %%
def tutorial_verdict(weights):
    """The tutorial's tests, in its order. Returns what its message says."""
    row_sums = weights.sum(dim=-1)
    if not torch.allclose(row_sums, torch.ones_like(row_sums)):
        return "a row does not sum to one"
    if not (weights >= 0).all():
        return "a weight is negative"
    if not (weights <= 1).all():
        return "a weight is greater than one"
    if torch.isnan(weights).any():
        return "NaN found"
    if torch.isinf(weights).any():
        return "infinity found"
    return "fine"


# %% [markdown]
# ### Spot the slip
#
# Two of its five messages can never appear. Which ones? Think of a row with one NaN in it: what is its sum?

# %%
predict(
    "01_never_shown",
    "Which two messages can never appear?",
    [
        "a weight is negative, a weight is greater than one",
        "NaN found, infinity found",
        "a weight is greater than one, infinity found",
    ],
)

# %% role="answer"
broken = {
    "sound": [0.5, 0.3, 0.2],
    "NaN": [0.5, math.nan, 0.5],
    "infinity": [0.5, math.inf, 0.5],
    "both infinities": [math.inf, -math.inf, 1.0],
    "negative": [0.8, 0.6, -0.4],
    "just above 1": [1.000005, 0.0, 0.0],
}
never_shown = ["a row does not sum to one", "a weight is negative", "a weight is greater than one"]
never_shown += ["NaN found", "infinity found"]
for name, numbers in broken.items():
    tested = torch.tensor([numbers])
    verdict = tutorial_verdict(tested)
    print(f"{name:16s} sum {tested.sum():5.1f}   {verdict}")
    if verdict in never_shown:
        never_shown.remove(verdict)

compare_guess("01_never_shown", ", ".join(never_shown))

# %% [markdown]
# A NaN makes the sum NaN, an infinity makes it infinite or NaN, and neither equals one. So the row sum always
# fails first, and the last two tests are never reached. The tutorial's function does refuse such weights, but
# it sends you looking for the wrong fault. Test finiteness first.
#
# The last row is a sound one with a rounding error, and the tutorial refuses it. Floating-point numbers are
# seldom exactly one, so a test needs a **tolerance**, for the range as well as for the sum. And one more trap:
# `<`, `>` and `==` with a NaN are always False, so whether it passes depends on how you ask.

# %%
nan_row = torch.tensor([0.5, math.nan, 0.5])
print("any entry below 0?      ", (nan_row < 0).any().item())
print("any entry above 1?      ", (nan_row > 1).any().item())
print("all entries at least 0? ", (nan_row >= 0).all().item())

total = 0.7 + 0.2 + 0.1
print("0.7 + 0.2 + 0.1 =", total)
print("exactly one:      ", total == 1.0)
print("one to within 1e-4:", abs(total - 1.0) <= 1e-4)

# %% [markdown]
# ### Exercise 6: `validate_attention`
#
# Difficulty 3 of 5
#
# Return `None` for sound weights. Otherwise raise `ValueError` for the **first** rule broken, in this order;
# its message must hold the word in bold:
#
# 1. all entries are **finite**;
# 2. all entries are **within** [0, 1];
# 3. each row's **sum** is one.
#
# Allow a tolerance of 1e-4 in rules 2 and 3: an entry of −0.00002 passes, and so does a row that sums to
# 1.00005.
#
# <details><summary>"Boolean value of Tensor with more than one value is ambiguous"</summary>
#
# A comparison gives a tensor of True and False. To use it in an `if`, say whether *any* or *all* of them must
# hold.
#
# </details>
#
# <details><summary>My function refuses sound weights</summary>
#
# Do you compare with exactly zero or exactly one? Rounding needs room on both sides, in the rule for the
# range as well as in the rule for the sum. Also look at which axis you sum over.
#
# </details>
#
# <details><summary>NaN passes, or gets the wrong message</summary>
#
# `<`, `>` and `==` with NaN are all False. Use a test that NaN cannot pass, and use it first.
#
# </details>


# %% exercise="validate_attention" role="solution"
def validate_attention(weights: Tensor) -> None:
    """Raise ValueError for the first rule that attention weights (..., Tq, Tk) break, in this order.

    "finite": no NaN, no infinity; "within": entries in [0, 1]; "sum": rows sum to one. The message
    holds that word. Tolerance 1e-4 for "within" and "sum". Returns None if all is well.
    """
    ### BEGIN SOLUTION
    if not torch.isfinite(weights).all():
        raise ValueError("attention weights must be finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("attention weights must lie within [0, 1]")
    if ((weights.sum(dim=-1) - 1).abs() > 1e-4).any():
        raise ValueError("each row of attention weights must sum to one")
    ### END SOLUTION


# %% exercise="validate_attention" role="check"
check(validate_attention)

# %% role="try"
# Try it: the rows from above. The first and the last should be accepted.
for label, entries in broken.items():
    try:
        validate_attention(torch.tensor([entries]))
        print(f"{label:16s} accepted")
    except ValueError as problem:
        print(f"{label:16s} {problem}")

# %% [markdown]
# These rules are necessary, not sufficient. Softmax over the wrong axis breaks rule 3, but a forgotten √d_k
# breaks no rule at all: the attention weights are finite, within [0, 1], and sum to one, and they are wrong.
# That is why the checks in this course compare values too.
#
# ## 8 · Quiz
#
# ### Exercise 7: `quiz_01`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again. Scrolling
# up and computing in a cell of your own are allowed.
#
# 1. `scores_shape` (a shape): `query` is (5, 16) and `key` is (7, 16). What shape has `query @ key.T`?
# 2. `output_shape` (a shape): `x` has shape (2, 6, 10), `w_query` and `w_key` have (10, 4), `w_value` has
#    (10, 3). What is the shape of the output of `self_attention`?
# 3. `read_weight` (a number, to two decimals): in the small example, what weight does token 2's value get in
#    token 1's output?
# 4. `multiplications` (a whole number): T = 10 tokens, d_k = 8. How many multiplications of two numbers does
#    the table of scores of self-attention take, projections not counted?
# 5. `softmax_by_hand` (a number, to two decimals): somebody prints the softmax of [3, 1, 1] as [0.90, 0.05,
#    0.05]. What should the first weight be?
# 6. `larger_divisor` (a letter): you divide the scores by a larger number than before. The weights in a row,
#    if they were not all equal,
#    - a. stay as they are, since softmax normalises;
#    - b. move closer to each other;
#    - c. concentrate on the largest score;
#    - d. no longer sum to one.
# 7. `why_scale` (a letter): why are scores divided by √d_k?
#    - a. to make each row of weights sum to one;
#    - b. to save memory;
#    - c. because otherwise a longer sequence would have larger scores;
#    - d. because dot products spread more the wider the keys are, which would push softmax to its extremes.
# 8. `properties` (a letter): which three properties do all attention weights have?
#    - a. finite; within [0, 1]; every row sums to one;
#    - b. finite; within [0, 1]; every column sums to one;
#    - c. symmetric; not negative; every row sums to one;
#    - d. within [0, 1]; largest on the diagonal; every row sums to one.
# 9. `cat_slip` (a letter): what shows that the tutorial's weights for "The cat sat" don't come from its
#    scores?
#    - a. the weights are not symmetric, though the scores are;
#    - b. a row of weights does not sum to one;
#    - c. in one row, two different scores have got the same weight;
#    - d. the largest score of a row does not get the largest weight.
#
# <details><summary>I don't know where to start with a shape</summary>
#
# Write the shape of every factor under its name and follow the axes through each product: which axis is
# summed away, which ones are left?
#
# </details>
#
# <details><summary>I don't know how to count multiplications</summary>
#
# How many scores does the table hold? And how many lines did the notebook print when it computed one of them
# by hand?
#
# </details>

# %% exercise="quiz_01" role="solution"
quiz_01 = {
    "scores_shape": ...,  # a shape, for example (2, 3)
    "output_shape": ...,  # a shape, for example (2, 3, 4)
    "read_weight": ...,  # a number, to two decimals
    "multiplications": ...,  # a whole number
    "softmax_by_hand": ...,  # a number, to two decimals
    "larger_divisor": ...,  # "a", "b", "c" or "d"
    "why_scale": ...,  # "a", "b", "c" or "d"
    "properties": ...,  # "a", "b", "c" or "d"
    "cat_slip": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_01 = {
    "scores_shape": (5, 7),
    "output_shape": (2, 6, 3),
    "read_weight": 0.09,
    "multiplications": 800,
    "softmax_by_hand": 0.79,
    "larger_divisor": "b",
    "why_scale": "d",
    "properties": "a",
    "cat_slip": "c",
}
### END SOLUTION

# %% exercise="quiz_01" role="check"
check(quiz_01, "quiz_01")

# %% [markdown]
# ## What you can do now
#
# You have written scaled dot-product self-attention, every step of it, for one sequence or a batch. You can
# follow one number from the tokens to the output, write a softmax that doesn't overflow, and tell from the
# ratio of two weights whether a printed table can be right.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2: the formula, and in a footnote the
#   argument about the variance of dot products.
# - Bahdanau, Cho and Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and Translate*,
#   section 3: attention before Transformers, with scores from a small network instead of a dot product.
# - Luong, Pham and Manning (2015), *Effective Approaches to Attention-based Neural Machine Translation*,
#   section 3: several ways to score, the dot product among them.
# - Jain and Wallace (2019), *Attention is not Explanation*, and Wiegreffe and Pinter (2019), *Attention is
#   not not Explanation*: what a picture of weights does and doesn't tell you.
#
# **Next lesson:** 02, *From dot products to trainable attention*. There the matrices become parameters that
# are learnt, and you see what happens to the gradient when scores are not scaled.
