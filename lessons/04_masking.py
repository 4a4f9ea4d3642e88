# ---
# jupyter:
#   course:
#     about: causal and padding masks, both conventions, rows that see nothing
#     picture: a mask to paint on, scores and weights beside it
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
# # 04 · Masks
#
# *The robot could not lift the crate, because it was too heavy.* When you came to "it", you couldn't know yet what it
# was, and had to read on. So far each of our words could look at all the others, even those that come later. But a
# model that writes has no later words, because it hasn't written them yet.
#
# A *mask* is a table of who may look at whom. It takes a few lines of code, and a mistake in them seldom raises an
# error. You begin with a model that cheats, and at the end your own attention function reads the robot's sentence word
# by word, and writes an old rhyme.
#
# **You need** lesson 01 (scores, softmax, why a row sums to one), lesson 02 (the loop that trains) and lesson 03
# (splitting into heads).
#
# **Afterwards you can**
#
# - build the mask that hides the future, the one that hides padding, and both at once;
# - tell the two conventions for masks apart and turn one into the other;
# - say what each way of hiding does in float16, float32 and float64, even where no key is left to look at;
# - write causal multi-head attention;
# - test an attention function for leaks from the future without seeing its code.
#
# **Time:** <!-- time -->. A good place for a break is the end of section 5.
#
# | letter | meaning |
# | --- | --- |
# | `B`, `H` | batch, heads |
# | `T` | tokens in a sequence (`Tq` queries and `Tk` keys where they differ) |
# | `E`, `D` | width of a token, width of a head |
# | `...` | any number of leading axes, or none |
#
# In this course a mask is a tensor of **bool** that broadcasts to the shape of the scores, (..., Tq, Tk), and **True
# means: may attend**. Row i shows what query i may look at.

# %%
import math
from functools import partial
from itertools import permutations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict
from grader import draw_attention, draw_table, show, show_reads
from grader.models.rhyme import RHYME
from grader.models.robot import ENDING, Layer, Reader, learn_to_read
from grader.models.robot import ENDINGS, NOUNS, OF_LIFTED, VOCABULARY
from grader.models.robot import robot_sentence, train, word_numbers

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · A model that cheats
#
# *This is the house that Jack built.* A model reads twelve words of this rhyme, and at every place it has to predict
# which word comes next.

# %%
print(RHYME)
words = RHYME.split()
vocabulary = sorted(set(words))
numbers = torch.tensor([vocabulary.index(word) for word in words])
length = 12  # words that the model reads at once
starts = range(len(words) - length)
read = torch.stack([numbers[i : i + length] for i in starts])
wanted = torch.stack([numbers[i + 1 : i + length + 1] for i in starts])
show([words[:12], words[1:13]], ["it reads", "it predicts"])

# %% [markdown]
# Its attention is lesson 03's, and these functions are given:

# %% role="given"
from lesson_03 import merge_heads, multi_head_attention, split_heads

# %% [markdown]
# The model around them is as small as possible. It has a vector for each word and each place, one or more layers of
# attention, and a last layer that gives each word of the vocabulary a score. The output of attention is added to its
# input, as in lesson 02. Later on, your own function takes the place of `attend`.


# %%
class Writer(nn.Module):
    """Word numbers (..., T) to scores of all words (..., T, num_words)."""

    def __init__(self, attend, num_words, num_layers, width=32):
        super().__init__()
        self.attend = attend
        self.word = nn.Embedding(num_words, width)
        self.place = nn.Embedding(length, width)
        start = torch.randn(num_layers, 4, width, width) / math.sqrt(width)
        self.matrices = nn.Parameter(start)
        self.answer = nn.Linear(width, num_words)

    def forward(self, ids):
        x = self.word(ids) + self.place.weight[: ids.shape[-1]]
        for four in self.matrices:  # w_q, w_k, w_v and w_o of a layer
            output, _ = self.attend(x, *four, num_heads=2)
            x = x + output
        return self.answer(x)


# %% [markdown]
# The loop is lesson 02's `train`, and at each place softmax turns the scores into probabilities, one for each word.
# `F.cross_entropy` is −ln of the wanted word's probability, averaged over the places, and it is 0 if that probability
# is 1. (It wants the words of the vocabulary on axis 1, behind the batch, and `.mT` puts them there.) In each of 400
# steps a model learns from 64 windows of twelve words, drawn at random.


# %% role="train" timed=true
def learn(attend, read, wanted, num_words, num_layers=1, steps=400):
    """A model that has learnt to say `wanted` where it reads `read`."""

    def next_loss():
        some = torch.randint(len(read), (64,))
        return F.cross_entropy(model(read[some]).mT, wanted[some])

    torch.manual_seed(0)
    model = Writer(attend, num_words, num_layers).double()
    train(torch.optim.Adam(model.parameters(), lr=0.005), next_loss, steps)
    return model


def right(model, read, wanted):
    """The share of right answers at each place (T,)."""
    return (model(read).argmax(-1) == wanted).double().mean(0)


cheat = learn(multi_head_attention, read, wanted, len(vocabulary))
print(f"right answers: {right(cheat, read, wanted).mean():.1%}")

# %% [markdown]
# Now it writes, which means that it gets a few words, predicts the next one, reads that too, and so on.


# %%
def go_on(model, start, count=8):
    """`start`, and the words that the model adds, from those before each."""
    said = start.split()
    for _ in range(count):
        ids = [vocabulary.index(word) for word in said[-length:]]
        said.append(vocabulary[model(torch.tensor(ids))[-1].argmax()])
    return " ".join(said)


predict(
    "04_it_writes",
    "It gets 'the malt' and adds eight words. What do they look like?",
    [
        "the rhyme",
        "words of the rhyme, out of order",
        "one word, again and again",
    ],
)

# %% role="answer" timed=true claim="cheating_is_perfect"
for start in ("the malt", "this is the", " ".join(words[:length])):
    print(f"{len(start.split()):2d} words given:", go_on(cheat, start))
so_far = [
    right(cheat, read[:, : t + 1], wanted[:, : t + 1])[-1].item()
    for t in range(length)
]
print(f"right from the words so far: {sum(so_far) / length:.1%}")

added = go_on(cheat, "the malt")
outcome = "words of the rhyme, out of order"
if added in " ".join(words):
    outcome = "the rhyme"
elif len(set(added.split()[2:])) == 1:
    outcome = "one word, again and again"
compare_guess("04_it_writes", outcome)

# %% [markdown] role="answer"
# In training the answer was in the text that the model read, at the very next place, and it learnt to look there.
# When it writes, there is no later word, and far fewer of its answers are right, as the line "right from the words so
# far" shows.
#
# The third start has twelve words, and from there the model writes the rhyme. In training the last of the twelve
# places had no later word to look at. There, and only there, the model had to learn from what comes before.

# %% [markdown]
# ### Hide a score
#
# Softmax divides a total of 1 among all keys, and a key gets none of it if the exponential of its score is 0. The only
# such score is minus infinity, and the other keys then share the 1 just as if the hidden key were not there.

# %%
row = torch.tensor([1.0, 2.0, 3.0])
hidden = torch.tensor([1.0, 2.0, -math.inf])
print(f"exp(-inf) = {math.exp(-math.inf):g}")

both = torch.stack([row.softmax(-1), hidden.softmax(-1)])
names = ["all visible", "last one hidden"]
show(both, names, ["this", "is", "the"], title="weights", form=".4f")
only_two = row[:2].softmax(-1)
show(only_two, "only two keys", ["this", "is"], title="weights", form=".4f")

# %% [markdown]
# The last two rows agree, and every way of hiding has to pass this test: **a hidden key leaves no trace.**
#
# `masked_fill(where, number)` makes a new tensor with the number in all places where `where` is True. It fills what is
# *hidden*, so a mask of what is *visible* has to be negated first, with `~`, which swaps True and False.

# %%
three = ["birds", "build", "nests"]
scores = torch.tensor([[2.0, 4, 4], [4, 8, 8], [4, 8, 8]])
visible = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
masked = scores.masked_fill(~visible, -math.inf)
tables = {"visible": visible, "scores": scores, "masked": masked}
show(tables, three, form=".0f")

# %% [markdown]
# ## 2 · The causal mask
#
# A model that writes must predict the next token from those before it. So in training, query i may look at keys 0, 1,
# …, i, which are the past and the present, but not at the future. A mask that hides the future is called **causal**,
# and the one above is the causal mask for three tokens, True on the diagonal and below it. Here is what "house" may
# look at in a model that writes.

# %% role="draw"
line = words[:7]  # the first line of the rhyme
row = torch.tensor([1.0, 1, 1, 1, 0, 0, 0])
figure, axes = plt.subplots(figsize=(7.2, 1.7), layout="constrained")
draw_attention(axes, 'what "house" may look at', line, row / 4, query=3)
plt.show()

# %% [markdown]
# *The picture in words:* the words "this is the house that jack built" stand in a row. Equally thick arcs lead from
# "house" to "this", "is" and "the", and none to the three words behind it.
#
# ### Exercise 1: `causal_mask`
#
# Difficulty 1 of 5
#
# Write a function that makes this mask for any number of tokens.
#
# <details><summary>I don't know how to get a triangle</summary>
#
# Look up `torch.tril` and `torch.triu`, one of which keeps what is on and below the diagonal, the other what is on and
# above it. Or put positions into a row and into a column and compare them, since a comparison gives bool.
#
# </details>
#
# <details><summary>The first row is all False</summary>
#
# Then token 0 may look at nothing, not even at itself. The argument `diagonal` sets where the triangle ends, so try it
# with 0, 1 and −1 on a 4 × 4 tensor of ones.
#
# </details>
#
# <details><summary>The check says the dtype is wrong</summary>
#
# Ones and zeros are not True and False, so make the tensor with `dtype=torch.bool`, call `.bool()`, or compare.
#
# </details>


# %% exercise="causal_mask" role="solution"
def causal_mask(seq_len: int) -> Tensor:
    """Which keys each query may attend to if it must not see the future.

    Returns bool (T, T) with T = seq_len: True on and below the diagonal.
    """
    ### BEGIN SOLUTION
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    ### END SOLUTION


# %% exercise="causal_mask" role="check"
check(causal_mask)

# %% role="try"
# Try it: who may look at whom in the first line of the rhyme?
figure, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
draw_table(axes, "may attend", causal_mask(7), line, form=".0f")
plt.show()

# %% [markdown]
# *The picture in words:* a 7 × 7 grid with the words "this is the house that jack built" at its rows and columns. On
# the diagonal and below it the cells are yellow and hold a 1, and above it they are dark blue and hold a 0.
#
# ## 3 · Two conventions
#
# Many masks mean the opposite, **True = hide**, and both kinds are in use, even inside PyTorch.

# %%
may_attend = torch.ones(3, 3, dtype=torch.bool).tril()
hide = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
show({"True = may attend": may_attend, "True = hide": hide}, three)

# %% [markdown]
# | where | what it takes | visible | hidden | turned into ours |
# | --- | --- | --- | --- | --- |
# | this course, `F.scaled_dot_product_attention` | bool | True | False | |
# | `nn.MultiheadAttention` (`attn_mask`, `key_padding_mask`), `nn.Transformer` | bool | False | True | `~mask` |
# | all of these in PyTorch, for a mask of floats | added to the scores | 0 | −∞ | `mask == 0` |
# | many tutorials, with 0 and 1 | `masked_fill(mask == 0, …)` | 1 | 0 | `mask == 1` |
# | many tutorials, with 0 and 1 | `scores - mask * 1e10` | 0 | 1 | `mask == 0` |
#
# ## 4 · The wrong kind
#
# To see what happens if you pass the wrong kind, we give each of the two masks to PyTorch's own attention function. (If
# the values are the rows of the identity matrix, the output *is* the attention weights.)

# %%
query = key = torch.zeros(3, 2)  # all scores are equal
value = torch.eye(3)
given = {"True = may attend": may_attend, "True = hide": hide}
weights = {
    name: F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    for name, mask in given.items()
}
show(weights, three)

# %% [markdown]
# With the wrong mask every token sees the future and nothing else. There is no error, the shape is right, and all rows
# except the last sum to one. The last token has no future, so its row is all zeros in this function, and NaN in others
# (section 8).
#
# **A habit that helps:** name a mask after what True means (`may_attend`, `hide`), and print its first row.
#
# ## 5 · Where to hide, and with what
#
# Here are four ways to hide a key, all of which run without an error and are wrong. The row is again that of "build",
# [4, 8, 8] / √2, and its last key should be hidden.
#
# - after the softmax: `row.softmax(-1) * keep`
# - score times mask: `(row * keep).softmax(-1)`
# - a negative number: `row.masked_fill(~keep, -2.0).softmax(-1)`
# - mask times −∞: `(row + (~keep) * -math.inf).softmax(-1)`

# %%
row = torch.tensor([4.0, 8.0, 8.0]) / math.sqrt(2)
keep = torch.tensor([True, True, False])
predict(
    "04_which_is_nan",
    "Three of them give wrong weights. Which one gives NaN?",
    [
        "after the softmax",
        "score times mask",
        "a negative number",
        "mask times −∞",
    ],
)

# %% role="answer"
ways = {
    "right": row.masked_fill(~keep, -math.inf).softmax(-1),
    "after the softmax": row.softmax(-1) * keep,
    "score times mask": (row * keep).softmax(-1),
    "a negative number": row.masked_fill(~keep, -2.0).softmax(-1),
    "mask times −∞": (row + (~keep) * -math.inf).softmax(-1),
}
table = torch.stack([*ways.values()])
table = torch.cat([table, table.sum(-1, keepdim=True)], dim=-1)
show(table, [*ways], [*three, "sum"], title="weights", form=".4f")

is_nan = [name for name, weights in ways.items() if weights.isnan().any()]
compare_guess("04_which_is_nan", is_nan[0])

# %% [markdown] role="answer"
# 1. **After the softmax** the hidden key has already taken its part of the 1. The row sums to 0.51, and how much is
#    missing depends on the hidden key, so it has left a trace.
# 2. **Score times mask** sets the score to 0, but 0 is a score like any other, and exp(0) is 1.
# 3. **A number that is not negative enough** leaves a little weight, and how much depends on the other scores.
# 4. **Mask times minus infinity** is 0 · ∞ wherever nothing should be hidden, and that is NaN.

# %% [markdown]
# For the same reason as in "score times mask", it doesn't help to set a key's *vector* to zeros, since its scores are
# then 0.
#
# This is a good place for a break.
#
# ## 6 · The padding mask
#
# Sentences differ in length, but a batch is one tensor. So the shorter ones are filled up with a token that means
# nothing, the **padding**. Its id depends on the vocabulary, and is often 0 but not always. No token should attend to
# padding, so we hide **keys**, that is, whole columns of the scores, for all queries and all heads.
#
# Below, the second sentence has two words, and since all scores are equal, the weights show which keys are visible.

# %%
pad = 1
batch = torch.tensor([[5, 9, 3, 7], [8, 2, 1, 1]])
names = {1: "pad", 2: "built", 3: "that", 5: "the", 7: "lay"}
names |= {8: "jack", 9: "malt"}
said = [names[i] for i in batch[1].tolist()]

batch_scores = torch.zeros(2, 3, 4, 4)  # (B, H, Tq, Tk)
one_row = torch.tensor([True, True, False, False])
padded = batch_scores[1, 0].masked_fill(~one_row, -math.inf)
show(padded.softmax(-1), said, title="weights of a head")

# %% [markdown]
# A whole batch needs such a row for each sentence, and a shape that fits the scores, (B, H, Tq, Tk). Broadcasting lines
# shapes up **from the right**, and an axis of length 1 matches any length:
#
# ```text
# scores   B   H   Tq  Tk
# mask     B   1   1   Tk     the same for every head and every query
# ```
#
# ### Exercise 2: `padding_mask`
#
# Difficulty 2 of 5
#
# Make a bool mask of that shape from token ids, with True = may attend.
#
# <details><summary>My mask has shape (B, T)</summary>
#
# The right places are True, but between the batch and the keys two axes of length 1 are missing, and
# `unsqueeze(position)` adds one.
#
# </details>
#
# <details><summary>My mask has shape (B, 1, T, 1)</summary>
#
# Line it up with the scores, from the right, and length T meets the queries. Padded queries would see nothing, and
# padded keys would still be visible.
#
# </details>
#
# <details><summary>It works with padding 0, but not in the check</summary>
#
# The check uses other ids for padding, and then 0 is a word, so use the argument.
#
# </details>


# %% exercise="padding_mask" role="solution"
def padding_mask(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which keys are tokens and not padding.

    tokens: integer ids (B, T); pad_idx: the id of the padding.
    Returns bool (B, 1, 1, T), True for tokens.
    """
    ### BEGIN SOLUTION
    return (tokens != pad_idx)[:, None, None, :]
    ### END SOLUTION


# %% exercise="padding_mask" role="check"
check(padding_mask)

# %% role="try"
# Try it: with equal scores, the tokens of a row share the 1, and each gets a
# quarter or a half.
mask_of_batch = padding_mask(batch, pad)
print("shape", tuple(mask_of_batch.shape))
shared = batch_scores.masked_fill(~mask_of_batch, -math.inf).softmax(-1)
for ids, table in zip(batch.tolist(), shared[:, 0], strict=True):
    show(table, [names[i] for i in ids], title="weights")

# %% [markdown]
# ## 7 · Both at once
#
# A decoder (the half of a Transformer that writes) works on padded sentences *and* must not see the future. A
# key is visible if it is a token **and** not in the future.
#
# ### Spot the slip
#
# The tutorial that lesson 07 follows builds a whole Transformer, and we call it "the Transformer tutorial". It makes
# its two masks like this, for N sentences of length L (our B and T):
#
# ```text
# source:  (src != pad_idx).unsqueeze(1).unsqueeze(2)
# target:  torch.tril(torch.ones((L, L))).expand(N, 1, L, L)
# ```
#
# Source and target are both padded, so what is missing, and does it matter? Take three sentences with equal scores, one
# without padding, one padded at the end, and one padded at the front, under the tutorial's mask for the target.

# %%
targets = torch.tensor([[5, 9, 3, 7], [8, 2, 1, 1], [1, 1, 8, 2]])
kinds = ["no padding", "padded at the end", "padded at the front"]
show([[names[i] for i in ids] for ids in targets.tolist()], kinds)

predict(
    "04_padding_seen",
    "In which of the sentences do real tokens give weight to padding?",
    [
        "in both padded ones",
        "in the one padded at the end",
        "in the one padded at the front",
        "in none",
    ],
)

# %% role="answer"
tutorial_mask = torch.tril(torch.ones((4, 4))).expand(3, 1, 4, 4)
equal = torch.zeros(3, 1, 4, 4).masked_fill(tutorial_mask == 0, -math.inf)
is_pad = (targets == pad).double()
to_padding = (equal.softmax(-1)[:, 0].double() @ is_pad[:, :, None])[..., 0]
cells = [
    [f"{names[i]} {weight:.2f}" for i, weight in zip(*both, strict=True)]
    for both in zip(targets.tolist(), to_padding.tolist(), strict=True)
]
show(cells, kinds, title="gives to padding")

_, end, front = ((to_padding * (1 - is_pad)).amax(-1) > 0).tolist()
outcome = "in both padded ones" if end and front else "in none"
if end != front:
    outcome = f"in the one padded at the {'end' if end else 'front'}"
compare_guess("04_padding_seen", outcome)

# %% [markdown] role="answer"
# With padding at the **end** the real tokens are safe, because for them padding is in the future, which is hidden
# anyway. Only padded queries look at padding, and nobody reads their outputs, so the slip goes unnoticed. Padding at
# the **front** is usual when a model continues a batch of given texts. Then the real tokens give half of their weight or
# more to padding.

# %% [markdown]
# ### Exercise 3: `decoder_mask`
#
# Difficulty 2 of 5
#
# Hide the future and padded keys, and treat the rows of padded queries like any other.
#
# <details><summary>Should a padded query see nothing?</summary>
#
# It could, but then its row is empty, and empty rows cause trouble (section 8). Nobody reads its output, so it
# may see what any query in its place may see.
#
# </details>
#
# <details><summary>More is visible than with either mask alone</summary>
#
# Say the rule aloud: visible if it is a token … not in the future. Which word is missing, and which operator is
# that? If your masks mean True = hide, the word changes too.
#
# </details>
#
# <details><summary>The shapes (T, T) and (B, 1, 1, T)</summary>
#
# Write them under each other, lined up from the right, and see whether broadcasting does what you need.
#
# </details>


# %% exercise="decoder_mask" role="solution"
def decoder_mask(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which keys each query may attend to: tokens that are not in the future.

    tokens: integer ids (B, T). Returns bool (B, 1, T, T); rows of padded
    queries are treated like any other.
    """
    ### BEGIN SOLUTION
    mask = causal_mask(tokens.shape[1]).to(tokens.device)
    return padding_mask(tokens, pad_idx) & mask
    ### END SOLUTION


# %% exercise="decoder_mask" role="check"
check(decoder_mask)

# %% role="try"
# Try it: the sentence padded at the end, then the one padded at the front.
figure, panels = plt.subplots(1, 2, figsize=(6.6, 3), layout="constrained")
yours = decoder_mask(targets, pad)[1:, 0]
for axes, table, ids in zip(panels, yours, targets[1:].tolist(), strict=True):
    draw_table(axes, "may attend", table, [names[i] for i in ids], form=".0f")
plt.show()

# %% [markdown]
# *The picture in words:* two 4 × 4 grids in which yellow means visible. For "jack built pad pad" the left two columns
# of the triangle are yellow, and for "pad pad jack built" only three cells in the lower right corner are.
#
# In the second grid the first two rows are dark, because **these queries see nothing.**
#
# ## 8 · Rows that see nothing
#
# Two tutorials hide with a large number instead of infinity, one by subtracting `mask * 1e10`, the other by filling
# with `-1e20`. Both expect hidden weights to become zero, or almost, and so they do in rows that see something. But
# what happens to a row whose three scores 4, 8, 8 are **all** hidden?

# %%
predict(
    "04_hidden_row",
    "In float32, 1e10 is subtracted from all three scores. The weights are …",
    ["NaN", "all zeros", "a third each", "the weights without a mask"],
)

# %% role="answer" long="three ways in three dtypes, one of which raises an error"
empty = torch.tensor([4.0, 8.0, 8.0])
ways = {
    "fill -inf": lambda s: s.masked_fill(s > 0, -math.inf),
    "subtract 1e10": lambda s: s - torch.ones_like(s) * 1e10,
    "fill -1e20": lambda s: s.masked_fill(s > 0, -1e20),
}
found = {}
for way, hide_all in ways.items():
    for bits in (16, 32, 64):
        dtype = getattr(torch, f"float{bits}")
        try:
            weights = hide_all(empty.to(dtype)).softmax(-1).tolist()
        except RuntimeError:
            weights = ["error"] * 3
        found[f"{way}, float{bits}"] = weights
found["no mask"] = empty.softmax(-1).tolist()
show([*found.values()], [*found], three, title="weights", form=".4f")

got = torch.tensor(found["subtract 1e10, float32"])
outcomes = {"NaN": [math.nan] * 3, "all zeros": [0.0] * 3}
outcomes["a third each"] = [1 / 3] * 3
outcomes["the weights without a mask"] = found["no mask"]
outcome = [
    name
    for name, weights in outcomes.items()
    if torch.allclose(got, torch.tensor(weights), equal_nan=True)
]
compare_guess("04_hidden_row", outcome[0])

# %% [markdown] role="answer"
# - **−∞** gives NaN in all three dtypes, because softmax first subtracts the row's maximum, and −∞ − (−∞) is NaN.
# - **Subtracting 1e10** gives NaN again in float16, which can't hold 1e10 and makes it infinity. In float32, numbers
#   near 1e10 are 1024 apart, so 4, 8 and 8 are rounded away, all scores are equal, and the row becomes **uniform**.
#   float64, which the tutorial uses, keeps them, and the row gets the weights it would have **without a mask**.
# - **Filling with −1e20** raises an error in float16, which can't hold that number either. In the others all scores are
#   the same, and the row is **uniform**.
#
# Subtracting 1e10 gives three answers, depending on the dtype. (The end of the lesson shows where they come from.)

# %% [markdown]
# What should the weights of such a row be? There is no key to give the 1 to, so they should all be zero, and then the
# output of this query is zero too. No score can do that through a softmax, because a softmax sums to one.
#
# A uniform row is harder to notice than NaN. The query attends to every masked key, its row sums to one, and the output
# looks like any other. NaN at least is easy to see, because it spreads to the output, to the loss, and with one step of
# training to the parameters.
#
# ### Paint a mask
#
# The view has three words, two tokens of padding and a score for each pair. On the left is the mask, in the middle are
# the scores that it leaves, and on the right the attention weights in float32. Run the next cell, and then try these
# four things:
#
# - Which queries see nothing once you choose the mask "both" and then padding "in front"?
# - What happens to those rows, and to the others, as you go through the four ways of hiding? (You are going to write
#   the last way, `masked_softmax`, yourself.)
# - Choose "causal", go to the mask (Tab, or click) and hide the only key that query 0 sees. The space bar turns a cell
#   on or off. Can you empty the last row too?
# - What changes in the picture when you let True mean "hide", and what doesn't?

# %% role="draw"
from grader.views import MaskPainter

generator = torch.Generator().manual_seed(0)
painted_scores = (2 * torch.randn(5, 5, generator=generator)).round(decimals=1)
MaskPainter(painted_scores, ["the", "cat", "sat"])

# %% [markdown]
# In float32, and with scores of this size, the four ways agree as long as a row sees anything at all. They differ only
# in the empty row, which is NaN, uniform, uniform and all zeros, in this order. And the convention changes how a mask
# is *written*, not what it does.
#
# ### NaN hides in the gradient
#
# Replacing NaN by 0 at the end works for the attention weights, but training goes backwards through the same steps.
# Here the hidden scores are lowered by adding −∞, and the NaN of the empty row is replaced after the softmax:

# %%
two_rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
lowering = torch.tensor([[0.0, 0.0], [-math.inf, -math.inf]])
patched = (two_rows + lowering).softmax(-1).nan_to_num(0.0)
patched[:, 0].sum().backward()

tables = {"weights": patched.detach(), "gradient": two_rows.grad}
rows = ["nothing hidden", "all hidden"]
show(tables, rows, ["this", "is"], form=".4f")

# %% [markdown]
# The weights are fine, but the gradient of the second row is not. On the way back, `nan_to_num` passes on a gradient of
# 0, and softmax multiplies it by its own output, which is NaN here, and 0 · NaN is NaN. The solution is to **cut off**
# the hidden scores *before* the softmax, so that no gradient flows back to them. Choosing (`masked_fill`,
# `torch.where`) does that, since the gradient of what was not chosen is zero, but adding doesn't.
#
# ### Exercise 4: `masked_softmax`
#
# Difficulty 4 of 5
#
# Take the softmax over the visible keys of each row (PyTorch's softmax is allowed). A row with nothing visible is all
# zeros, and there is no NaN, either in the attention weights or in the gradient of `scores`. The scores may have a
# common offset of ±10 000, and your function must leave the tensor itself unchanged.
#
# <details><summary>The row with nothing visible is NaN</summary>
#
# Its scores are all −∞, so either make sure that they are not (what if such a row could look at something harmless, and
# lost it afterwards?), or replace the NaN.
#
# </details>
#
# <details><summary>The row with nothing visible has equal weights</summary>
#
# A large finite number avoids NaN, but softmax still divides a total of 1 among the hidden keys. You have a table that
# shows which weights may be other than zero.
#
# </details>
#
# <details><summary>The weights are right, but the gradient is NaN</summary>
#
# Your computation contains a NaN through which a gradient flows back to the scores. Look for a sum with −∞, or a
# division by a sum that is zero. Choose instead of adding, and make the divisor harmless *before* you divide.
#
# </details>
#
# <details><summary>It fails for scores near −10 000</summary>
#
# Either your "very negative" number is not negative enough (is there one below all scores?), or you took the
# exponential without subtracting the row's maximum.
#
# </details>
#
# <details><summary>"Subtraction, the <code>-</code> operator, with a bool tensor is not supported"</summary>
#
# The negation of a mask is `~mask`, not `1 - mask`.
#
# </details>


# %% exercise="masked_softmax" role="solution"
def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the visible keys of every row.

    scores: (..., Tq, Tk); mask: bool, broadcastable to the scores, True = may
    attend. Returns (..., Tq, Tk); a row with nothing visible is all zeros.
    Holds no NaN, and neither does the gradient of scores.
    """
    ### BEGIN SOLUTION
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)
    ### END SOLUTION


# %% exercise="masked_softmax" role="check"
check(masked_softmax)

# %% role="try"
# Try it: a row that sees one key, one that sees two, one that sees none.
seen = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]]).bool()
mine = masked_softmax(scores / math.sqrt(2), seen)
show(mine, three, title="weights", form=".4f")

# %% [markdown]
# ## 9 · Causal multi-head attention
#
# Now put the pieces together, with lesson 03's `split_heads` and `merge_heads`, which you have from section 1.
#
# ### Exercise 5: `causal_multi_head_attention`
#
# Difficulty 3 of 5
#
# This is easier than the last one, since only one step is new. Write lesson 03's `multi_head_attention` with a causal
# mask: project, split, score, scale, hide, softmax, mix, merge, project. Every head has the same mask, and the result
# is a tuple of output and weights.
#
# <details><summary>Where does the mask go?</summary>
#
# It goes between the scores and the softmax, and your `masked_softmax` takes both scores and mask.
#
# </details>
#
# <details><summary>My weights are right in one head only, or mix tokens</summary>
#
# Print the shape of your scores. Does the head axis come before the token axis, as in `(..., H, T, T)`?
#
# </details>
#
# <details><summary>NaN in the first row</summary>
#
# Then token 0 may not even see itself, so print the first row of your mask.
#
# </details>


# %% exercise="causal_multi_head_attention" role="solution"
def causal_multi_head_attention(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    num_heads: int,
) -> tuple[Tensor, Tensor]:
    """Multi-head self-attention in which no token sees a later one.

    x: (..., T, E); w_q, w_k, w_v and w_o: (E, E), applied as x @ w.
    Returns (output (..., T, E), weights (..., H, T, T)).
    """
    ### BEGIN SOLUTION
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, causal_mask(x.shape[-2]).to(x.device))
    return merge_heads(weights @ v) @ w_o, weights
    ### END SOLUTION


# %% exercise="causal_multi_head_attention" role="check"
check(causal_multi_head_attention)

# %% role="try"
# Try it: what each word gets from yours should be what lesson 03's attention
# gives to the last word of a sentence that stops there.
start = torch.Generator().manual_seed(0)
my_words = torch.randn(5, 4, generator=start)
four = torch.randn(4, 4, 4, generator=start)
mine, _ = causal_multi_head_attention(my_words, *four, num_heads=2)
for t in range(5):
    stops, _ = multi_head_attention(my_words[: t + 1], *four, num_heads=2)
    apart = (mine[t] - stops[t]).abs().max()
    print(f"{words[t]:6s} largest difference {apart:.4f}")

# %% [markdown]
# ## 10 · Catching a leak
#
# Somebody gives you an attention function and says that it is causal. You can't read its code, and the right shapes
# prove nothing, because a leak never changes a shape. But you can *call* it, so **change a later token, and see whether
# an earlier output changes.** If it does, that output has seen the future.
#
# Below are a causal function, one without a mask, and one whose mask has a single wrong entry. We change "nests" and
# look at the outputs of "birds" and "build", which come before it.


# %%
def attend(x, allowed):
    """One head without projections, to have something to test."""
    return (x @ x.T).masked_fill(~allowed, -math.inf).softmax(-1) @ x


tokens = torch.tensor([[0.5, 0.1], [0.2, -0.4], [0.3, 0.8]])
altered = tokens.clone()
altered[2] = torch.tensor([-0.6, 0.2])

everything = torch.ones(3, 3, dtype=torch.bool)
one_hole = may_attend.clone()
one_hole[0, 1] = True  # "birds" sees "build", and that is wrong
moved = []
for allowed in (may_attend, everything, one_hole):
    change = attend(altered, allowed) - attend(tokens, allowed)
    moved.append(change.abs().sum(-1))
kinds = ["causal", "no mask", "one hole"]
show(torch.stack(moved), kinds, three, title="moved by")

# %% [markdown]
# With the causal mask the outputs of "birds" and "build" stay exactly as they were, while without a mask all outputs
# move. The output of "nests" moves either way, which is fine, because a token may look at itself.
#
# The opposite test proves nothing. If you change "birds", later outputs move in causal attention too, since they are
# *supposed* to see the past.
#
# One change is not enough either, because a leak may be between any two positions. The last function is correct except
# for one entry of its mask, and changing "nests" doesn't reveal it.
#
# ### Exercise 6: `leaks_future`
#
# Difficulty 4 of 5
#
# `attention` is a function from a float tensor (T, E) to one of the same shape, for any T and E that you like. Return
# True if any output moves when a **later** token is changed, else False. A change in the last digits alone is
# rounding. A changed token holds other numbers and stays where it is, since an output may depend on how many tokens
# there are. The check calls yours with more than a dozen such functions, in an order that changes. Some are causal,
# and the others leak in different ways, some only between tokens several places apart. You can't look into them, only
# call them, as often as you like.
#
# <details><summary>It returns True every time</summary>
#
# Which outputs do you compare, and does your comparison allow for rounding? The outputs of the changed token and of
# those after it may move.
#
# </details>
#
# <details><summary>It misses some leaks</summary>
#
# Write down which tokens you change, and for each of them which outputs you look at. Is there a pair (earlier output,
# later token) that you never test, such as (0, 1), the last two, or tokens far apart?
#
# </details>
#
# <details><summary>It returns False every time</summary>
#
# Do both calls get different inputs? (`y = x` makes no copy.) And do you compare values, rather than shapes, which are
# always equal?
#
# </details>
#
# <details><summary>"Boolean value of Tensor with more than one value is ambiguous"</summary>
#
# A comparison of two tensors gives a table of True and False. Reduce it to one answer: has *any* of them moved?
#
# </details>


# %% exercise="leaks_future" role="solution"
def leaks_future(attention) -> bool:
    """Whether any output of attention moves when a later token is changed.

    attention: maps float (T, E) to (T, E), for any T and E.
    """
    ### BEGIN SOLUTION
    x = torch.randn(6, 8)
    before = attention(x)
    for t in range(1, len(x)):
        changed = x.clone()
        changed[t] = torch.randn(8)
        if not torch.allclose(attention(changed)[:t], before[:t], atol=1e-6):
            return True
    return False
    ### END SOLUTION


# %% exercise="leaks_future" role="check"
check(leaks_future)


# %% role="try"
# Try it: on your own attention, which should be causal, and on lesson 03's.
def one_head_of(attention):
    """The same with one head, and the token itself as query, key and value."""

    def attend_alone(x):
        w = torch.eye(x.shape[-1], dtype=x.dtype)
        return attention(x, w, w, w, w, num_heads=1)[0]

    return attend_alone


print("yours:      ", leaks_future(one_head_of(causal_multi_head_attention)))
print("lesson 03's:", leaks_future(one_head_of(multi_head_attention)))

# %% [markdown]
# ## 11 · Your attention at work
#
# ### The robot, word by word
#
# Now the robot comes back, and a model reads the sentence and predicts at *every* word which of twenty nouns "it" is.
# The model has two layers, like lesson 02's, and no pair of nouns in the test data appeared in the training data in the
# same order.

# %%
sentences, meant = [], []
for lifter, lifted in permutations(NOUNS, 2):
    for ending in ENDINGS:
        sentences.append(robot_sentence(lifter, lifted, ending))
        meant.append(lifted if ending in OF_LIFTED else lifter)

ids, meant_ids = (
    torch.stack([word_numbers(s) for s in sentences]),
    word_numbers(meant),
)

# %% role="train" timed=true
order = torch.randperm(380, generator=torch.Generator().manual_seed(0))
told = ids.view(380, 8, 12)[order]  # a pair of nouns, its eight endings
answers = meant_ids.view(380, 8, 1).expand(380, 8, 12)[order]
training = told[:250].flatten(0, 1), answers[:250].flatten(0, 1)
test = told[250:].flatten(0, 1), answers[250:].flatten(0, 1)

open_eyed = learn(
    multi_head_attention, *training, len(VOCABULARY), num_layers=2
)
without_mask = right(open_eyed, *test)
print(f"right without a mask: at every word at least {min(without_mask):.1%}")

# %% [markdown]
# Without a mask the answer is known from the first word on, since each word can look at the last. Now it is your turn,
# with the same model, the same steps, and your attention function in it.

# %%
predict(
    "04_mask_on_it",
    'Trained with your attention, how often is the answer right at "it"?',
    low=0,
    high=100,
    unit="%",
)

# %% role="try" timed=true claim="only_the_end_knows"
masked_eyed = learn(
    causal_multi_head_attention, *training, len(VOCABULARY), num_layers=2
)
with_mask = right(masked_eyed, *test)

line = "the robot could not lift the crate because it was too …"
text = line.split()
figure, axes = plt.subplots(figsize=(8.6, 2.6), layout="constrained")
axes.bar(range(12), 100 * with_mask, color="tab:blue", label="your mask")
axes.plot(range(12), 100 * without_mask, "o", color="grey", label="no mask")
axes.set_xticks(range(12), text)
axes.set(ylabel="% right", ylim=(0, 108))
figure.legend(loc="outside upper right", ncols=2)
plt.show()
show(100 * with_mask, "%", text, form=".0f")
compare_guess("04_mask_on_it", round(100 * with_mask[8].item(), 1))

# %% [markdown] role="answer"
# *The picture in words:* twelve bars, one for each word of the sentence. The first is near 0, those from the first noun
# to "too" are close to 50 %, and the last is close to 100 %. Without a mask all twelve places are close to 100 %.
#
# At the first word, on the left, the model can only guess. The first noun is something to bet on, and half of the bets
# are won. The second noun is a second candidate but no help in choosing, and "because", "it", "was" and "too" don't
# help either. **No training can put into "it" what its row of the mask hides.** Only the row of the last word sees the
# ending and both nouns, and there the answer is right.
#
# So a mask doesn't take the answer away, but moves it to the first word that can know it. For the same reason a model
# that writes takes the next word from what it computes at its last one.

# %% [markdown]
# The same goes for lesson 01's reader. In the last row of its table it is asked at the last word, no longer at "it",
# and your causal attention reads nearly all of the sentences.

# %% role="try" timed=true
# Try it: one layer of yours with two heads, asked at the ending.
torch.manual_seed(0)
masked_layer = partial(causal_multi_head_attention, num_heads=2)
my_reader = Reader(Layer(masked_layer, *[(32, 32)] * 4), asked=ENDING)
my_share = learn_to_read(my_reader)
show_reads("masked, asked at the end", yours=my_share)

# %% [markdown]
# ### The rhyme, with your mask
#
# The model of section 1 looked ahead too, so train it once more with your attention function.

# %%
predict(
    "04_honest_answers",
    "How many of its answers are right, compared with the model that cheats?",
    ["more", "as many", "fewer"],
)

# %% role="try" timed=true claim="honest_answers_are_fewer"
honest = learn(causal_multi_head_attention, read, wanted, len(vocabulary))
mine = right(honest, read, wanted).mean().item()
theirs = right(cheat, read, wanted).mean().item()
print(f"right answers: {mine:.1%}, and {theirs:.1%} without a mask")
for start in ("the malt", "this is the"):
    print(go_on(honest, start))

outcome = "more" if mine > theirs else "fewer" if mine < theirs else "as many"
compare_guess("04_honest_answers", outcome)

# %% [markdown] role="answer"
# Fewer of its answers are right, and yet it writes the rhyme, with your attention function. After "this is the"
# nobody can know whether the house, the malt, the rat or the cat comes next, and a model that always knows has
# looked. Somebody who knows the rhyme by heart, sees the words so far, at most twelve, and always bets on the word
# that follows most often, gets 94.5 % right. Nobody can do better, and your model gets just that.

# %% [markdown]
# ## 12 · Quiz
#
# ### Exercise 7: `quiz_04`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `first_weight` (a number, to two decimals): after a softmax, a row reads [0.20, 0.30, 0.50]. The last key should
#    have been hidden. What should the first weight have been?
# 2. `when_causal` (a letter): when does attention need a causal mask?
#    - a. whenever the sentences of a batch differ in length;
#    - b. when each position has to predict what comes after it, so that later tokens hold the answer;
#    - c. whenever a sequence has more tokens than `d_model`;
#    - d. when a trained model is used, but not while it is trained.
# 3. `which_mask` (a letter): what do you pass to `F.scaled_dot_product_attention` if `mask` is the right boolean
#    `attn_mask` for `nn.MultiheadAttention`?
#    - a. `mask`;
#    - b. `mask.T`;
#    - c. `~mask`;
#    - d. `mask.float()`.
# 4. `row_float64` (a letter): what are the weights of a row whose three scores, 4, 8 and 8, are all hidden by
#    subtracting 1e10, in float64?
#    - a. NaN;
#    - b. 0, 0, 0;
#    - c. the weights it would have without a mask;
#    - d. a third each.
# 5. `proof` (a letter): what do you learn about leaks if you change token 3 of 8 and outputs 3 to 7 move?
#    - a. there is one, since outputs moved;
#    - b. there is none, anywhere;
#    - c. no output before 3 sees token 3, at least for these inputs;
#    - d. there is one unless all of them moved by the same amount.
#
# <details><summary>I don't know how to correct the row</summary>
#
# The ratio of two weights depends on their own scores only. So the two visible weights keep their ratio, but what do
# they sum to?
#
# </details>

# %% exercise="quiz_04" role="solution"
quiz_04 = {
    "first_weight": ...,  # a number, to two decimals
    "when_causal": ...,  # "a", "b", "c" or "d"
    "which_mask": ...,  # "a", "b", "c" or "d"
    "row_float64": ...,  # "a", "b", "c" or "d"
    "proof": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_04 = {
    "first_weight": 0.4,
    "when_causal": "b",
    "which_mask": "c",
    "row_float64": "c",
    "proof": "c",
}
### END SOLUTION

# %% exercise="quiz_04" role="check"
check(quiz_04, "quiz_04")

# %% [markdown]
# ## What you can do now
#
# You can build the masks of an encoder and of a decoder, tell True = may attend from True = hide, and convert
# one into the other. You know why a row that sees nothing is the hard case, and your softmax handles it, in the
# gradient too. You have a test that finds a leak in attention you have never seen. And your own attention has read a
# sentence and written a rhyme.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.3: the three uses of attention, and the mask of
#   the decoder in one sentence.
# - Radford et al. (2018), *Improving Language Understanding by Generative Pre-Training*, section 3.1: a
#   Transformer whose only attention is masked self-attention, trained to predict the next token.
# - Devlin et al. (2019), *BERT*, section 3.1: what can be learnt when the future is *not* hidden, by hiding words of
#   the input instead.
#
# **Next lesson:** 05, *LayerNorm and BatchNorm*. Padding comes up again there, because it distorts the averages of one
# of the two.

# %% [markdown]
# ## For those who want more
#
# ### A complete example
#
# This is the small example of lesson 03 with its two heads, and now it has a mask in which True means hide, as in the
# source of the example. The mask has shape (T, T), and a new first axis of length 1 broadcasts to any number of heads.
# By chance both heads have the same scores, so one table shows them.

# %%
x = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
w_q = torch.tensor([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
w_k = torch.tensor([[0.0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]])
w_v = torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 2], [1, 0, 0, 1], [0, 1, 1, 0]])
w_o = torch.tensor(
    [[1.0, 0, 0.5, 0], [0, 1, 0, 0.5], [0.5, 0, 1, 0], [0, 0.5, 0, 1]]
)

q, k, v = ((x @ w).view(3, 2, 2) for w in (w_q, w_k, w_v))  # (T, H, D)
head_scores = torch.einsum("thd,shd->hts", q, k)
masked_scores = head_scores.masked_fill(hide.unsqueeze(0), -math.inf)
print("shapes:", tuple(hide.unsqueeze(0).shape), tuple(masked_scores.shape))
tables = {"scores": head_scores[0], "masked scores": masked_scores[0]}
show(tables, three, form=".0f")

# %% [markdown]
# Scale and softmax come next. "Birds" has one key to look at and gives it everything. For "build" two are left, whose
# scores are 4 and 8, divided by √2. "Nests" sees all three, so the mask changes nothing in its row.

# %%
head_weights = (masked_scores / math.sqrt(2)).softmax(dim=-1)
show(head_weights[0], three, title="weights", form=".4f")

# %% [markdown]
# Then the values are mixed, the heads joined, and the result is multiplied by `w_o`. In the joined heads, the row of
# "birds" is its own value, [2, 0, 2, 1], because it could look at no other word.

# %%
joined = torch.einsum("hts,shd->thd", head_weights, v).reshape(3, 4)
show(
    {"joined heads": joined, "output": joined @ w_o}, three, "0123", form=".4f"
)

# %% role="try"
# Try it: your function on the example. Both differences should be zero, up to
# rounding.
mine = causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads=2)
for yours, shown in zip(mine, (joined @ w_o, head_weights), strict=True):
    print(f"largest difference: {(yours - shown).abs().max():.4f}")

# %% [markdown]
# ### Hide after the softmax, and normalise again?
#
# You multiply the weights by the mask and then divide each row by its sum. This looks wrong and is right on paper,
# because the weights of the visible keys keep their ratio. In a computer it works until the hidden score is too large.
# Below, the visible scores are 0 and 1, and the third, hidden one grows.

# %%
rows = {}
for loud in (2.0, 90.0, 104.0, 120.0):
    left = torch.tensor([0.0, 1.0, loud]).softmax(-1) * keep
    rows[f"hidden score {loud:.0f}"] = left / left.sum()
before = torch.tensor([0.0, 1.0, -math.inf]).softmax(-1)
rows["hidden before the softmax"] = before
show(torch.stack([*rows.values()]), [*rows], three, form=".4f")

# %% [markdown]
# At 104 the first key's weight is too small for float32 and becomes 0, so the second key gets everything. At 120 both
# weights become 0, and 0 divided by 0 is NaN. The hidden key has left a trace, so **hide before the softmax.**
#
# ### One head, without a library
#
# The tutorial of lesson 01 writes causal attention with one head, with numbers instead of bool, and a large number
# instead of infinity. The first table shows the mask as the tutorial draws it. As it sets no seed, we do its arithmetic
# on random tensors of our own, with its sizes (T = 4, d_model = 8, d_k = d_v = 4).

# %%
generator = torch.Generator().manual_seed(0)
tokens = torch.randn(4, 8, generator=generator)
small = [0.1 * torch.randn(8, 4, generator=generator) for _ in range(3)]
plain_scores = (tokens @ small[0]) @ (tokens @ small[1]).T / math.sqrt(4)

future = torch.triu(torch.ones(4, 4), diagonal=1)  # 1 = hide
its_weights = (plain_scores - future * 1e10).softmax(dim=-1)
drawn = torch.zeros(4, 4).masked_fill(future == 1, -math.inf)
show(drawn, words[:4], title="the mask as it is drawn", form=".0f")
show(its_weights, words[:4], title="its weights", form=".4f")
infinite = (plain_scores + drawn).softmax(-1)
print(f"largest difference to -inf: {(its_weights - infinite).abs().max():g}")

# %% [markdown]
# Here 1e10 does what infinity does, as long as a row sees anything at all (section 8).
#
# ### Which mask fits which scores?
#
# At full size the Transformer tutorial has 128 sentences, 28 tokens in the source, 29 in the target, and 8 heads. It
# calls the scores *energy*, and prints the shapes of both masks, (128, 1, 1, 28) and (128, 1, 29, 29), beside the
# energy of the encoder, (128, 8, 28, 28). Line each mask up with the energy before you run the cell.

# %%
generator = torch.Generator().manual_seed(0)
src = torch.randint(2, 50, (128, 28), generator=generator)
trg = torch.randint(2, 50, (128, 29), generator=generator)
src[:, 25:] = pad
src_mask = (src != pad).unsqueeze(1).unsqueeze(2)
trg_mask = torch.tril(torch.ones((29, 29))).expand(128, 1, 29, 29)
print("src", tuple(src.shape), " src_mask", tuple(src_mask.shape))
print("trg", tuple(trg.shape), " trg_mask", tuple(trg_mask.shape))

energy = torch.zeros(128, 8, 28, 28)
masked_energy = energy.masked_fill(src_mask == 0, -1e20)
print("energy", tuple(energy.shape), "-> masked", tuple(masked_energy.shape))
try:
    energy.masked_fill(trg_mask == 0, -1e20)
except RuntimeError as error:
    print("with trg_mask:", str(error).split(" at ")[0])

# %% [markdown]
# Since 29 and 28 differ, and neither is 1, the two shapes can't be broadcast. The target mask belongs to the decoder's
# scores, (128, 8, 29, 29). The scores that the tutorial shows at this step are the encoder's, which it doesn't fit.
#
# ### What is left of a score next to 1e10?
#
# The table of section 8 had three answers for one line of code. The last column below shows why: it is what remains of
# 8 − 4 after 1e10 is subtracted from both.

# %%
rows = {}
for bits in (16, 32, 64):
    dtype = getattr(torch, f"float{bits}")
    big = torch.tensor(1e10).to(dtype)
    lowered = torch.tensor([4.0, 8.0], dtype=dtype) - big
    step = torch.nextafter(big, torch.tensor(math.inf, dtype=dtype)) - big
    largest = torch.finfo(dtype).max
    difference = (lowered[1] - lowered[0]).item()
    rows[f"float{bits}"] = [largest, step.item(), difference]
columns = ["largest number", "from 1e10 to the next", "(8 - 1e10) - (4 - 1e10)"]
show([*rows.values()], [*rows], columns, form=".4g")

# %% [markdown]
# ### What PyTorch does with an empty row
#
# PyTorch's newer function gives zeros, while the older module gives NaN if it is asked for the attention weights.
# Without them (`need_weights=False`) it takes the newer way.

# %%
nothing = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]]).bool()
newer = F.scaled_dot_product_attention(query, key, value, attn_mask=nothing)

torch.manual_seed(0)
module = nn.MultiheadAttention(4, 2, batch_first=True)
_, older = module(x[None], x[None], x[None], attn_mask=~nothing)  # True = hide
last_rows = torch.stack([newer[2], older[0, 2].detach()])
both = ["F.scaled_dot_product_attention", "nn.MultiheadAttention"]
show(last_rows, both, three, title="the row that sees nothing")

# %% [markdown]
# ### All leaks in one table
#
# All leaks of a function fit into one table, in which row i, column j shows whether output i moves when token j is
# changed. If you have gradients, you get the whole table from them at once.

# %% role="draw"
lower = torch.ones(6, 6, dtype=torch.bool).tril()
candidates = {
    "causal": lambda x: attend(x, lower),
    "one token too far": lambda x: attend(x, torch.ones(6, 6).tril(1) > 0),
    "masked after the softmax": lambda x: ((x @ x.T).softmax(-1) * lower) @ x,
}
six = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
figure, panels = plt.subplots(1, 3, figsize=(9.4, 3), layout="constrained")
for axes, (title, candidate) in zip(panels, candidates.items(), strict=True):
    slopes = torch.autograd.functional.jacobian(candidate, six)  # (T, E, T, E)
    depends = slopes.abs().sum(dim=(1, 3)) > 1e-6
    draw_table(axes, title, depends, words[:6], form=".0f")
plt.show()

# %% [markdown]
# *The picture in words:* three 6 × 6 grids with the first words of the rhyme, yellow where an output depends on a
# token. The causal one is yellow on and below the diagonal, the second has one more yellow diagonal above it, and the
# third is yellow everywhere.
#
# In the third, hidden tokens get no weight, but their exponentials are in the sum that softmax divides by, and so every
# output depends on them.
