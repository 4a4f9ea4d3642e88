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
# *This is the house that Jack built.* A small model learns this old rhyme: for every word it has to say the next
# one. After a few seconds almost all of its answers are right. Can it write the rhyme by itself? So far every
# token could look at every other, and often it must not. A *mask* is a table that says who may look at whom. It
# takes a few lines of code, and a mistake in them seldom raises an error.
#
# **You need** lesson 01 (scores, softmax, why a row sums to one) and lesson 03 (splitting into heads).
#
# **Afterwards you can**
#
# - build the mask that hides the future, the one that hides padding, and both at once;
# - tell the two conventions for masks apart and turn one into the other;
# - say what each way of hiding does in float16, float32 and float64, also where nothing is left to look at;
# - write causal multi-head attention;
# - test an attention that you can't look into for leaks from the future.
#
# **Time:** <!-- time -->. The plan: a model that cheats → hide a score → the
# causal mask → two conventions → a complete example → where to hide → padding → both → rows that see nothing →
# catching a leak → the rhyme, with a mask → a quiz.
#
# | letter | meaning |
# | --- | --- |
# | `B`, `H` | batch, heads |
# | `T` | tokens in a sequence (`Tq` queries and `Tk` keys where they differ) |
# | `E`, `D` | width of a token, width of a head |
# | `...` | any number of leading axes, none included |
#
# In this course a mask is a tensor of **bool** that broadcasts to the shape of the scores, (..., Tq, Tk), and
# **True means: may attend**. Row i says what query i may look at.

# %%
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · A model that cheats
#
# The model is one head of attention over twelve words of the rhyme. It is trained to say, at every place, which
# word comes next. (`mask` waits until you have one.)

# %%
rhyme = (
    "this is the house that jack built . "
    "this is the malt that lay in the house that jack built . "
    "this is the rat that ate the malt that lay in the house that jack built . "
    "this is the cat that killed the rat that ate the malt "
    "that lay in the house that jack built ."
)
words = rhyme.split()
vocabulary = sorted(set(words))
length = 12  # words that the model reads at once
numbers = torch.tensor([vocabulary.index(word) for word in words])
windows = numbers.unfold(0, length + 1, 1)
read, wanted = windows[:, :-1], windows[:, 1:]  # twelve words, and the word after each


class Writer(nn.Module):
    """One head of attention: word numbers (..., T) to a score for each next word."""

    def __init__(self, width=32):
        super().__init__()
        self.word, self.place = nn.Embedding(15, width), nn.Embedding(length, width)
        self.to_qkv, self.answer = nn.Linear(width, 3 * width), nn.Linear(width, 15)

    def forward(self, ids, mask=None):
        x = self.word(ids) + self.place.weight[: ids.shape[-1]]
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return self.answer(scores.softmax(-1) @ v)


# %% role="train" timed=true
def learn(mask=None, steps=1000):
    """A model trained on the rhyme."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)  # so that every computer gets the same words
    model = Writer()
    torch.set_default_dtype(torch.float32)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(steps):
        loss = F.cross_entropy(model(read, mask).flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def share_right(model, mask=None):
    """The share of its answers that are right."""
    return (model(read, mask).argmax(-1) == wanted).double().mean().item()


cheat = learn()
print(f"right answers: {share_right(cheat):.1%}")

# %% [markdown]
# Now it writes. It gets a few words, says the next one, reads it too, and so on.

# %%
predict(
    "04_it_writes",
    "It gets 'the malt' and adds eight words. What do they look like?",
    ["the rhyme", "words of the rhyme, out of order", "one word, again and again"],
)


# %% role="answer" timed=true claim="cheating_is_perfect"
def go_on(model, start, count=8):
    """`start`, and the words that the model adds, each from those before it."""
    said = start.split()
    for _ in range(count):
        scores = model(torch.tensor([vocabulary.index(word) for word in said[-length:]]))
        said.append(vocabulary[scores[-1].argmax()])
    return " ".join(said)


for start in ("the malt", "this is the"):
    print(go_on(cheat, start))
only_past = share_right(cheat, torch.ones(length, length).tril() > 0)
print(f"right answers while the later words are hidden: {only_past:.1%}")

added = go_on(cheat, "the malt")
outcome = "words of the rhyme, out of order"
if added in rhyme:
    outcome = "the rhyme"
elif len(set(added.split()[2:])) == 1:
    outcome = "one word, again and again"
compare_guess("04_it_writes", outcome)

# %% [markdown]
# In training the answer stood in the text, at the very next place. The model learnt to use what comes later, and
# without it far fewer of its answers are right. When it writes, nothing comes later.
#
# ### Hide a score
#
# Softmax shares 1 among all keys. To leave a key out, give it a score whose exponential is 0. In mathematics
# there is exactly one: minus infinity, which lesson 03's module used already. The other keys then share the 1,
# just as if the hidden key were not there.

# %%
row = torch.tensor([1.0, 2.0, 3.0])
hidden = torch.tensor([1.0, 2.0, -math.inf])

print("exp(-inf):       ", math.exp(-math.inf))
print("all three visible", row.softmax(-1))
print("last one hidden  ", hidden.softmax(-1))
print("only two keys    ", row[:2].softmax(-1))

# %% [markdown]
# The last two lines agree. That is the test for every way of hiding: **a hidden key leaves no trace.**
#
# A mask says where. `masked_fill(where, number)` makes a new tensor with the number in all places where
# `where` is True. It fills what is *hidden*, so a mask of what is *visible* has to be negated first: `~`
# swaps True and False.

# %%
scores = torch.tensor([[2.0, 4.0, 4.0], [4.0, 8.0, 8.0], [4.0, 8.0, 8.0]])
visible = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])

print(scores.masked_fill(~visible, -math.inf))

# %% [markdown]
# ## 2 · The causal mask
#
# A model that writes must predict the next token from those before it. So in training query i may look at keys
# 0, 1, …, i: the past and the present, not the future. Such a mask is called **causal**. The mask above is causal,
# for three tokens: True on the diagonal and below.
#
# ### Exercise 1: `causal_mask`
#
# Difficulty 1 of 5
#
# The same for any number of tokens.
#
# <details><summary>I don't know how to get a triangle</summary>
#
# Look up `torch.tril` and `torch.triu`: one keeps what is on and below the diagonal, the other what is on and
# above it. Or put positions into a row and into a column and compare them: a comparison gives bool.
#
# </details>
#
# <details><summary>The first row is all False</summary>
#
# Then token 0 may look at nothing, not even at itself. The argument `diagonal` says where the triangle ends.
# Try it with 0, 1 and −1 on a 4 × 4 tensor of ones.
#
# </details>
#
# <details><summary>The check says the dtype is wrong</summary>
#
# Ones and zeros are not True and False. Make the tensor with `dtype=torch.bool`, call `.bool()`, or compare.
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
# Try it: the mask of the example, and a larger one.
print(torch.equal(causal_mask(3), visible))
print(causal_mask(6).int())

# %% [markdown]
# ## 3 · Two conventions
#
# Many masks mean the opposite: **True = hide**. Both kinds are in use, even inside PyTorch. Both have the same
# shape, and mixing them up raises no error. Here they are side by side.

# %%
may_attend = torch.ones(3, 3, dtype=torch.bool).tril()
hide = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
print("True = may attend", may_attend, sep="\n")
print("True = hide", hide, sep="\n")
print("one is the negation of the other:", torch.equal(may_attend, ~hide))

# %% role="draw"
figure, panels = plt.subplots(1, 2, figsize=(6.6, 3.2), layout="constrained")
for axes, table, title in zip(
    panels, (may_attend, hide), ("True = may attend", "True = hide"), strict=True
):
    axes.imshow(table, cmap="cividis", vmin=0, vmax=1)
    axes.set(title=title, xlabel="key", ylabel="query", xticks=range(3), yticks=range(3))
    for i, j in [(i, j) for i in range(3) for j in range(3)]:
        axes.text(
            j,
            i,
            str(table[i, j].item()),
            ha="center",
            va="center",
            color="black" if table[i, j] else "white",
        )
plt.show()

# %% [markdown]
# *The picture in words:* two 3 × 3 grids, yellow where the mask is True, dark blue where it is False. On the
# left the diagonal and the cells below it are yellow, on the right the three cells above the diagonal.
#
# | where | what it takes | visible | hidden |
# | --- | --- | --- | --- |
# | this course, `F.scaled_dot_product_attention` | bool | True | False |
# | `nn.MultiheadAttention` (`attn_mask`, `key_padding_mask`), `nn.Transformer` | bool | False | True |
# | both of them, for a mask of floats | added to the scores | 0 | −∞ |
# | many tutorials, with 0 and 1 | `masked_fill(mask == 0, …)` | 1 | 0 |
# | many tutorials, with 0 and 1 | `scores - mask * 1e10` | 0 | 1 |
#
# The way from each to ours:

# %%
added = nn.Transformer.generate_square_subsequent_mask(3)
ones_and_zeros = torch.tril(torch.ones(3, 3))
print("to be added to the scores", added, sep="\n")

print("from True = hide:      ", torch.equal(~hide, may_attend))
print("from 0 and -inf:       ", torch.equal(added == 0, may_attend))
print("from 1 and 0:          ", torch.equal(ones_and_zeros == 1, may_attend))
print(
    "and back to 0 and -inf:", torch.equal(torch.zeros(3, 3).masked_fill(~may_attend, -math.inf), added)
)

# %% [markdown]
# What happens if you pass the wrong kind? PyTorch's own attention, once with each mask. A trick makes it return
# the attention weights: if the values are the rows of the identity matrix, the output *is* the attention
# weights.

# %%
query = torch.tensor([[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]])
key = torch.tensor([[0.0, 2.0], [4.0, 0.0], [2.0, 2.0]])
for name, given_mask in (("True = may attend", may_attend), ("True = hide", hide)):
    weights = F.scaled_dot_product_attention(query, key, torch.eye(3), attn_mask=given_mask)
    print(name, weights, sep="\n")

# %% [markdown]
# With the wrong mask every token sees the future and nothing else. No error, right shape, and all rows except
# the last sum to one. The last token has no future: its row is all zeros here, elsewhere NaN. Section 8 is
# about such rows.
#
# **A habit that helps:** name a mask after what True means (`may_attend`, `hide`), and print its first row.
#
# ## 4 · A complete example
#
# The small example of lesson 03, two heads, now with a mask. In its source, True = hide. Up to the scores it is
# what you know; the mask comes in after them.

# %%
x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])

w_q = torch.tensor(
    [[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
)
w_k = torch.tensor(
    [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
)
w_v = torch.tensor(
    [[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]
)
w_o = torch.tensor(
    [[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.5], [0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 1.0]]
)

queries, keys, values = x @ w_q, x @ w_k, x @ w_v
print("queries", queries, sep="\n")
print("keys", keys, sep="\n")
print("values", values, sep="\n")

query_heads = queries.view(3, 2, 2)  # (T, H, D)
key_heads = keys.view(3, 2, 2)
value_heads = values.view(3, 2, 2)
print("query heads", query_heads, sep="\n")
print("key heads", key_heads, sep="\n")
print("value heads", value_heads, sep="\n")

# %% [markdown]
# Scores, one table for each head. (The two tables are equal by accident, as you saw in lesson 03.) The mask has
# shape (T, T); a new first axis of length 1 broadcasts to any number of heads.

# %%
head_scores = torch.einsum("thd,shd->hts", query_heads, key_heads)
masked_scores = head_scores.masked_fill(hide.unsqueeze(0), -math.inf)
print("scores", head_scores, sep="\n")
print("mask, True = hide", hide, sep="\n")
print("masked scores", masked_scores, sep="\n")

# %% [markdown]
# Scale, softmax. Work out row 1 of a head: its visible scores are 4 and 8, divided by √2, and the ratio of two
# weights is the exponential of the difference of their scores.

# %%
predict(
    "04_second_weight", "How large is the second weight of row 1, in percent?", low=0, high=100, unit="%"
)

# %% role="answer"
ratio = math.exp((8 - 4) / math.sqrt(2))
print(f"ratio {ratio:.4f}, so the weights are {1 / (1 + ratio):.4f} and {ratio / (1 + ratio):.4f}")

head_weights = (masked_scores / math.sqrt(2)).softmax(dim=-1)
print("weights", head_weights, sep="\n")
compare_guess("04_second_weight", round(100 * head_weights[0, 1, 1].item(), 1))

# %% [markdown]
# Row 0 has one key to look at and gives it everything. Row 2 sees all three, so the mask changes nothing there.
# Then mix, join the heads, project:

# %%
mixed_heads = torch.einsum("hts,shd->thd", head_weights, value_heads)
joined = mixed_heads.reshape(3, 4)
print("mixed values", mixed_heads, sep="\n")
print("joined heads", joined, sep="\n")
print("output", joined @ w_o, sep="\n")

# %% [markdown]
# Token 0's joined heads are token 0's own value, [2, 0, 2, 1]: there was nothing else it could mix.


# %% role="draw"
def draw_table(axes, table, title, **limits):
    """A table of numbers as a grid; hidden scores are left blank."""
    axes.imshow(table.masked_fill(table.isinf(), math.nan), cmap="cividis", **limits)
    ticks = range(len(table))
    axes.set(title=title, xlabel="key", ylabel="query", xticks=ticks, yticks=ticks)
    middle = (limits["vmin"] + limits["vmax"]) / 2
    for i, j in [(i, j) for i in ticks for j in ticks]:
        ink = "black" if table[i, j] > middle or table[i, j].isinf() else "white"
        axes.text(j, i, f"{table[i, j]:.3g}", ha="center", va="center", color=ink)


figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
draw_table(panels[0], head_scores[0], "Scores", vmin=0, vmax=8)
draw_table(panels[1], masked_scores[0], "Masked scores", vmin=0, vmax=8)
draw_table(panels[2], head_weights[0], "Weights", vmin=0, vmax=1)
plt.show()

# %% [markdown]
# *The picture in words:* three 3 × 3 grids of head 0. The scores range from 2, dark, to 8, yellow. In the
# second grid the three cells above the diagonal are blank and read −inf. In the third they are dark blue, 0;
# row 0 has a yellow 1 on the diagonal, row 1 reads 0.0558 and 0.944, row 2 reads 0.0287, 0.486, 0.486.
#
# ### One head, without a library
#
# The tutorial of lesson 01 writes causal attention with one head, numbers instead of bool, and a large number
# instead of infinity. Its sizes are T = 4, d_model = 8, d_k = d_v = 4. It sets no seed; this is its arithmetic
# on our numbers.

# %%
generator = torch.Generator().manual_seed(0)
tokens = torch.randn(4, 8, generator=generator)
v_query, v_key, v_value = (0.1 * torch.randn(8, 4, generator=generator) for _ in range(3))

plain_scores = (tokens @ v_query) @ (tokens @ v_key).T / math.sqrt(4)
future = torch.triu(torch.ones(4, 4), diagonal=1)  # 1 = hide
its_weights = (plain_scores - future * 1e10).softmax(dim=-1)
print(
    "the mask as the tutorial draws it", torch.zeros(4, 4).masked_fill(future == 1, -math.inf), sep="\n"
)
print("its weights", its_weights, sep="\n")
print(
    "as with -inf:",
    torch.equal(its_weights, plain_scores.masked_fill(future == 1, -math.inf).softmax(dim=-1)),
)

# %% [markdown]
# Here 1e10 does what infinity does. Section 8 looks for a case where it doesn't.
#
# ## 5 · Where to hide, and with what
#
# Here are four ways to hide that run without an error and are wrong. The row is [4, 8, 8] / √2, the last key
# should be hidden, and the right weights are 0.0558, 0.9442 and 0.
#
# - after the softmax: `row.softmax(-1) * keep`
# - score times mask: `(row * keep).softmax(-1)`
# - a negative number: `row.masked_fill(~keep, -2.0).softmax(-1)`
# - mask times −∞: `(row + (~keep) * -math.inf).softmax(-1)`

# %%
predict(
    "04_which_is_nan",
    "Which of them gives NaN?",
    ["after the softmax", "score times mask", "a negative number", "mask times −∞"],
)

# %% role="answer"
row, keep = torch.tensor([4.0, 8.0, 8.0]) / math.sqrt(2), torch.tensor([True, True, False])
print("right:            ", row.masked_fill(~keep, -math.inf).softmax(-1))
print("after the softmax:", row.softmax(-1) * keep, "sum", (row.softmax(-1) * keep).sum())
print("score times mask: ", (row * keep).softmax(-1))
print("fill with -2:     ", row.masked_fill(~keep, -2.0).softmax(-1))
print("mask times -inf:  ", (row + (~keep) * -math.inf).softmax(-1))

is_nan = (row + (~keep) * -math.inf).softmax(-1).isnan().all()
compare_guess("04_which_is_nan", "mask times −∞" if is_nan else "a negative number")

# %% [markdown]
# 1. **After the softmax** the hidden key has already taken its share. The row sums to 0.51, and how much is
#    missing depends on the hidden key: it has left a trace.
# 2. **Score times mask** sets the score to 0. But 0 is a score like any other, and exp(0) is 1.
# 3. **A number that is not negative enough** leaves a little weight. How much depends on the other scores.
# 4. **Mask times minus infinity** is 0 · ∞ wherever nothing should be hidden, and that is NaN.
#
# For the same reason as in 2, it doesn't help to set the *vector* of a padding token to zeros: its scores are
# then 0, and it still gets weight.
#
# One thing that looks wrong is right on paper: hide after the softmax **and normalise again**, that is, divide each
# row by its sum. In a computer it works until the hidden score is too large. Then hardly anything is left for the
# visible keys to share, and in the end nothing: 0 divided by 0.

# %%
left = row.softmax(-1) * keep
print("normalised again:          ", left / left.sum())
for loud in (90.0, 104.0, 120.0):
    left = torch.tensor([0.0, 1.0, loud]).softmax(-1) * keep
    print(f"the hidden score is {loud:5.0f}: ", left / left.sum())
print("hidden before the softmax: ", torch.tensor([0.0, 1.0, -math.inf]).softmax(-1))

# %% [markdown]
# ## 6 · The padding mask
#
# Sentences differ in length, but a batch is one tensor. So the shorter ones are filled up with a token that
# means nothing, the **padding**. The vocabulary decides which id it has: often 0, but not always. No token
# should attend to padding, so **keys** are hidden: columns of the scores, for all queries and all heads.

# %%
pad = 1
batch = torch.tensor([[5, 9, 3, 7], [8, 2, 1, 1]])  # the second sentence has two tokens
batch_scores = torch.zeros(2, 3, 4, 4)  # (B, H, Tq, Tk); equal scores, so weights show who is visible

one_row = torch.tensor([True, True, False, False])  # the second sentence's keys
print("its head 0, weights", batch_scores[1, 0].masked_fill(~one_row, -math.inf).softmax(-1), sep="\n")

# %% [markdown]
# For a whole batch, one such row for each sentence is needed, and it has to reach scores of shape
# (B, H, Tq, Tk). Broadcasting lines shapes up **from the right**, and an axis of length 1 counts for every
# index of the other:
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
# From token ids to a mask of that shape, bool, True = may attend.
#
# <details><summary>My mask has shape (B, T)</summary>
#
# The right places are True. Two axes of length 1 are missing, between the batch and the keys.
# `unsqueeze(position)` adds one.
#
# </details>
#
# <details><summary>My mask has shape (B, 1, T, 1)</summary>
#
# Line it up with the scores, from the right: length T now meets the queries. Padded queries would see nothing,
# and padded keys would still be visible.
#
# </details>
#
# <details><summary>It works with padding 0, but not in the check</summary>
#
# The check uses other ids for padding, and then 0 is a word. Use the argument.
#
# </details>


# %% exercise="padding_mask" role="solution"
def padding_mask(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which keys are tokens and not padding.

    tokens: integer ids (B, T); pad_idx: the id of the padding. Returns bool (B, 1, 1, T), True for
    tokens.
    """
    ### BEGIN SOLUTION
    return (tokens != pad_idx)[:, None, None, :]
    ### END SOLUTION


# %% exercise="padding_mask" role="check"
check(padding_mask)

# %% role="try"
# Try it: with equal scores, each row shares 1 among the tokens, a half or a quarter each.
mask_of_batch = padding_mask(batch, pad)
print(mask_of_batch)
print(batch_scores.masked_fill(~mask_of_batch, -math.inf).softmax(-1)[:, 0])

# %% [markdown]
# ## 7 · Both at once
#
# A decoder (the half of a Transformer that writes) works on padded sentences *and* must not see the future. A
# key is visible if it is a token **and** not in the future.
#
# ### Spot the slip
#
# A tutorial that builds a whole Transformer ("the Transformer tutorial", lesson 07's) makes its two masks like
# this, for N sentences of length L (our B and T):
#
# ```text
# source:  (src != pad_idx).unsqueeze(1).unsqueeze(2)
# target:  torch.tril(torch.ones((L, L))).expand(N, 1, L, L)
# ```
#
# The source is padded, and the target is padded too. What is missing? And does it matter? Take three sentences
# with equal scores: one without padding, one padded at the end, one padded at the front. How much weight do the
# real tokens of each give to padding under the tutorial's mask for the target?

# %%
predict(
    "04_padding_seen",
    "In which of the sentences do real tokens give weight to padding?",
    ["in both padded ones", "in the one padded at the end", "in the one padded at the front", "in none"],
)

# %% role="answer"
targets = torch.tensor([[5, 9, 3, 7], [8, 2, 1, 1], [1, 1, 8, 2]])
tutorial_mask = torch.tril(torch.ones((4, 4))).expand(3, 1, 4, 4)
target_weights = torch.zeros(3, 1, 4, 4).masked_fill(tutorial_mask == 0, -math.inf).softmax(-1)

wasted = []
for ids, table in zip(targets, target_weights[:, 0], strict=True):
    to_padding = table[:, ids == pad].sum(-1)
    wasted.append(to_padding[ids != pad].max().item() > 0)
    for position, given in enumerate(to_padding.tolist()):
        kind = "padding" if ids[position] == pad else "token"
        print(f"{ids.tolist()}  query {position} ({kind:7}) gives padding {given:.2f}")

told = {
    (True, True): "in both padded ones",
    (True, False): "in the one padded at the end",
    (False, False): "in none",
}
compare_guess("04_padding_seen", told.get((wasted[1], wasted[2]), "in the one padded at the front"))

# %% [markdown]
# With padding at the **end** the real tokens are safe: for them, padding is in the future, which is hidden
# anyway. Only padded queries look at padding, and their outputs are ignored. So the slip can go unnoticed for a
# long time. Padding at the **front** is usual when a model continues a batch of prompts. Then real tokens give
# half of their weight or more to nothing. A mask should be right wherever the padding is.
#
# ### Exercise 3: `decoder_mask`
#
# Difficulty 2 of 5
#
# Hide the future and padded keys. Leave the rows of padded queries as they are: they get no special treatment.
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
# Write them under each other, lined up from the right. Does broadcasting do what you need?
#
# </details>


# %% exercise="decoder_mask" role="solution"
def decoder_mask(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which keys each query may attend to: tokens that are not in the future.

    tokens: integer ids (B, T). Returns bool (B, 1, T, T); rows of padded queries are treated like any
    other.
    """
    ### BEGIN SOLUTION
    return padding_mask(tokens, pad_idx) & causal_mask(tokens.shape[1]).to(tokens.device)
    ### END SOLUTION


# %% exercise="decoder_mask" role="check"
check(decoder_mask)

# %% role="try"
# Try it: the sentence padded at the end, the one padded at the front.
print(decoder_mask(targets, pad)[1:, 0].int())

# %% role="draw"
real = targets[1:] != pad
triangle = torch.ones(4, 4).tril() > 0
figure, grid = plt.subplots(2, 3, figsize=(7.6, 5.2), layout="constrained")
for line, sentence, place in zip(grid, real, ("end", "front"), strict=True):
    tables = (triangle, sentence.expand(4, 4), triangle & sentence)
    for axes, table, title in zip(line, tables, ("not future", "no padding", "both"), strict=True):
        axes.imshow(table, cmap="cividis", vmin=0, vmax=1)
        axes.set(
            title=f"{title}, padded at the {place}",
            xlabel="key",
            ylabel="query",
            xticks=range(4),
            yticks=range(4),
        )
        axes.title.set_fontsize(9)
plt.show()

# %% [markdown]
# *The picture in words:* two rows of three 4 × 4 grids, yellow for visible. In both rows the first grid is the
# triangle on and below the diagonal. Padded at the end (above), the second grid has its two left columns
# yellow; the third grid is the left two columns of the triangle. Padded at the front (below), the right two
# columns are yellow, and in the third grid only three cells in the lower right corner.
#
# Look at the last grid: its first two rows are dark. **These queries see nothing.**
#
# ### Spot the slip
#
# At full size the tutorial has 128 sentences, 28 tokens in the source, 29 in the target, and 8 heads. It calls
# the scores *energy*, and prints the shapes of both masks, (128, 1, 1, 28) and (128, 1, 29, 29), beside the energy
# of the encoder, (128, 8, 28, 28).

# %%
predict(
    "04_which_fits",
    "Which of the two masks fits this energy?",
    ["both", "the source's only", "the target's only", "neither"],
)

# %% role="answer"
src = torch.randint(2, 50, (128, 28), generator=torch.Generator().manual_seed(0))
src[:, 25:] = pad
trg = torch.randint(2, 50, (128, 29), generator=torch.Generator().manual_seed(1))
src_mask = (src != pad).unsqueeze(1).unsqueeze(2)
trg_mask = torch.tril(torch.ones((29, 29))).expand(128, 1, 29, 29)
print("src", tuple(src.shape), " src_mask", tuple(src_mask.shape))
print("trg", tuple(trg.shape), " trg_mask", tuple(trg_mask.shape))

energy = torch.zeros(128, 8, 28, 28)
masked_energy = energy.masked_fill(src_mask == 0, -1e20)
print("energy", tuple(energy.shape), "-> masked", tuple(masked_energy.shape))
print("hidden keys of one query:", (masked_energy[0, 0, 0] < 0).sum().item())
try:
    energy.masked_fill(trg_mask == 0, -1e20)
    fitting = "both"
except RuntimeError as error:
    print("with trg_mask:", error)
    fitting = "the source's only"
compare_guess("04_which_fits", fitting)

# %% [markdown]
# 29 and 28 don't fit, and neither is 1, so nothing can be broadcast. The target mask belongs to the decoder's
# scores, (128, 8, 29, 29). The tutorial prints it here and never uses it.

# %% [markdown]
# ## 8 · Rows that see nothing
#
# All scores of such a row are hidden. What should its attention weights be? There is nothing to share, so all
# zeros, and the output for this query is zero. No number can do that through a softmax, because a softmax sums
# to one.
#
# ### Spot the slip
#
# Two tutorials hide with a large number instead of infinity: one subtracts `mask * 1e10`, the other fills with
# `-1e20`. Both expect hidden weights to become zero, or almost. They do, in rows that see something. What
# happens to a row whose three scores 4, 8, 8 are **all** hidden?

# %%
predict(
    "04_hidden_row",
    "In float32, 1e10 is subtracted from all three scores. What are the weights of the row?",
    ["NaN", "all zeros", "a third each", "the weights without a mask"],
)

# %% role="answer"
empty = torch.tensor([4.0, 8.0, 8.0])
all_hidden = torch.tensor([True, True, True])
ways = {
    "fill -inf": lambda s: s.masked_fill(all_hidden, -math.inf),
    "subtract 1e10": lambda s: s - all_hidden.to(s.dtype) * 1e10,
    "fill -1e20": lambda s: s.masked_fill(all_hidden, -1e20),
}
for way, apply in ways.items():
    for dtype in (torch.float16, torch.float32, torch.float64):
        try:
            found = ", ".join(f"{weight:.4f}" for weight in apply(empty.to(dtype)).softmax(-1).tolist())
        except RuntimeError as error:
            found = f"{type(error).__name__}: {str(error).split(' to type')[0]} …"
        print(f"{way:14} {str(dtype).removeprefix('torch.'):8} {found}")
print("without a mask         ", ", ".join(f"{weight:.4f}" for weight in empty.softmax(-1).tolist()))

hidden_row = ways["subtract 1e10"](empty).softmax(-1)
is_uniform = torch.allclose(hidden_row, torch.full((3,), 1 / 3))
compare_guess("04_hidden_row", "a third each" if is_uniform else "the weights without a mask")

# %% [markdown]
# - **−∞** gives NaN in all three. Softmax first subtracts the row's maximum, and −∞ − (−∞) is NaN.
# - **Subtract 1e10.** float16 can't hold 1e10, it becomes infinity: NaN again. In float32, numbers near 1e10 are
#   1024 apart, so 4, 8 and 8 are rounded away, all scores are equal, and the row becomes **uniform**. float64,
#   which the tutorial uses, keeps them: the row gets the weights it would have **without a mask**.
# - **Fill with −1e20.** float16 can't hold it either, and here PyTorch refuses. In the others the row is filled
#   with one number: **uniform**.
#
# The same line of code, three answers, depending on the dtype. The next cell shows why.

# %%
for dtype in (torch.float16, torch.float32, torch.float64):
    lowered = torch.tensor([4.0, 8.0], dtype=dtype) - torch.tensor(1e10).to(dtype)
    name = str(dtype).removeprefix("torch.")
    difference = lowered[1] - lowered[0]
    print(
        f"{name:8} largest number {torch.finfo(dtype).max:8.3g}   (8 - 1e10) - (4 - 1e10) = "
        f"{difference:g}"
    )

big = torch.tensor(1e10)
print(
    "from 1e10 to the next number in float32:",
    (torch.nextafter(big, torch.tensor(math.inf)) - big).item(),
)

# %% [markdown]
# A uniform row is harder to notice than NaN: the query attends to every masked key, its row sums to one, and the
# output looks like any other. NaN at least is easy to see. It spreads: NaN in one weight makes the output NaN,
# the loss NaN, and after one step of training the parameters too.
#
# What does PyTorch itself do? Its newer function gives zeros. The older module gives NaN if it is asked for the
# attention weights; without them (`need_weights=False`) it takes the newer way.

# %%
nothing = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])
zeros = F.scaled_dot_product_attention(query, key, torch.eye(3), attn_mask=nothing)
print("F.scaled_dot_product_attention", zeros, sep="\n")

torch.manual_seed(0)
older = nn.MultiheadAttention(4, 2, batch_first=True)
_, older_weights = older(x[None], x[None], x[None], attn_mask=~nothing)  # True = hide there
print("last row of nn.MultiheadAttention:", older_weights[0, 2].tolist())

# %% [markdown]
# ### Paint a mask
#
# All of this in one view: three words, two tokens of padding, a score for each pair. On the left is the mask, in
# the middle are the scores that it leaves, on the right the attention weights in float32. Run the cell, then
# try:
#
# - Choose the mask "both", then padding "in front". Which queries see nothing now?
# - Go through the four ways of hiding. What happens to those rows, and to the others? (The last way,
#   `masked_softmax`, is the one that you are going to write.)
# - Choose "causal", go to the mask (Tab, or click) and hide the only key that query 0 sees: Space switches a
#   cell. Can you empty the last row too? How do its weights change on the way?
# - Let True mean "hide". What changes in the picture, and what doesn't?

# %% role="draw"
from grader.views import MaskPainter

painted_scores = (2 * torch.randn(5, 5, generator=torch.Generator().manual_seed(0))).round(decimals=1)
MaskPainter(painted_scores, ["the", "cat", "sat"])

# %% [markdown]
# In float32, and with scores of this size, the four ways agree as long as a row sees anything at all. They
# differ only in the empty row: NaN, uniform, uniform, zeros. And the convention changes how a mask is *written*,
# not what it does.
#
# ### NaN hides in the gradient
#
# "Then I replace NaN by 0 at the end." For the attention weights that works. But training goes backwards through
# the same steps. Here the hidden scores are lowered by adding −∞, and the NaN of the empty row is replaced after
# the softmax:

# %%
two_rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
lowering = torch.tensor([[0.0, 0.0], [-math.inf, -math.inf]])  # nothing hidden; everything hidden

patched = (two_rows + lowering).softmax(-1).nan_to_num(0.0)
print("weights", patched.detach(), sep="\n")

patched[:, 0].sum().backward()
print("gradient", two_rows.grad, sep="\n")

# %% [markdown]
# The weights are fine, the gradient of the second row is not. On the way back, softmax multiplies the incoming
# gradient by its output, and 0 · NaN is NaN. (`nan_to_num` chooses too, but after the softmax: too late.) A
# solution: **cut off** the hidden scores *before* the softmax, so that nothing flows back to them. Choosing does
# that (`masked_fill`, `torch.where`): the gradient of what was not chosen is zero, whatever the softmax sends
# back. Adding doesn't.
#
# ### Exercise 4: `masked_softmax`
#
# Difficulty 4 of 5
#
# Softmax over the visible keys of each row. A row with nothing visible is all zeros. No NaN, neither in the
# attention weights nor in the gradient of `scores`. The scores may share an offset of ±10 000, and they must not
# be changed. Torch's softmax is allowed.
#
# <details><summary>The row with nothing visible is NaN</summary>
#
# Its scores are all −∞. Either make sure that they are not (what if such a row may look at something harmless,
# and loses it afterwards?), or replace the NaN.
#
# </details>
#
# <details><summary>The row with nothing visible has equal weights</summary>
#
# A large finite number avoids NaN, but softmax still shares 1. Which weights may be other than zero? You have a
# table that says so.
#
# </details>
#
# <details><summary>The weights are right, the gradient is NaN</summary>
#
# Your computation contains a NaN through which a gradient flows back to the scores. Look for a sum with −∞, or a
# division by a sum that is zero. Choose instead of adding; make the divisor harmless *before* you divide.
#
# </details>
#
# <details><summary>It fails for scores near −10 000</summary>
#
# Then your "very negative" number is not negative enough. Is there one below all scores? Or did you take the
# exponential without subtracting the row's maximum?
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
    """Softmax over the visible keys of every row; a row with nothing visible becomes all zeros.

    scores: (..., Tq, Tk); mask: bool, broadcastable to the scores, True = may attend. Returns
    (..., Tq, Tk). Holds no NaN, and neither does the gradient of scores.
    """
    ### BEGIN SOLUTION
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)
    ### END SOLUTION


# %% exercise="masked_softmax" role="check"
check(masked_softmax)

# %% role="try"
# Try it: a row that sees one key, one that sees two, one that sees none.
print(masked_softmax(scores / math.sqrt(2), nothing))

# %% [markdown]
# ## 9 · Causal multi-head attention
#
# Now put the pieces together. These two functions are given, from lesson 03:

# %% role="given"
from lesson_03 import merge_heads, split_heads

# %% [markdown]
# ### Exercise 5: `causal_multi_head_attention`
#
# Difficulty 3 of 5
#
# Easier than the last one: only one step is new. Lesson 03's `multi_head_attention` with a causal mask: project,
# split, score, scale, hide, softmax, mix, merge, project. Every head has the same mask. The result is a tuple,
# output and weights.
#
# <details><summary>Where does the mask go?</summary>
#
# Between the scores and the softmax. Your `masked_softmax` takes both.
#
# </details>
#
# <details><summary>My weights are right in one head only, or mix tokens</summary>
#
# Does the head axis come before the token axis when you compute scores? Print their shape: (..., H, T, T).
#
# </details>
#
# <details><summary>NaN in the first row</summary>
#
# Then token 0 may not even see itself. Print the first row of your mask.
#
# </details>


# %% exercise="causal_multi_head_attention" role="solution"
def causal_multi_head_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
) -> tuple[Tensor, Tensor]:
    """Multi-head self-attention in which no token sees a later one.

    x: (..., T, E); w_q, w_k, w_v and w_o: (E, E), applied as x @ w.
    Returns (output (..., T, E), weights (..., H, T, T)).
    """
    ### BEGIN SOLUTION
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, causal_mask(x.shape[-2]).to(x.device))
    return merge_heads(weights @ value) @ w_o, weights
    ### END SOLUTION


# %% exercise="causal_multi_head_attention" role="check"
check(causal_multi_head_attention)

# %% role="try"
# Try it: the complete example of section 4. Both differences should be zero, up to rounding.
my_output, my_weights = causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads=2)
print((my_output - joined @ w_o).abs().max().round(decimals=4))
print((my_weights - head_weights).abs().max().round(decimals=4))

# %% [markdown]
# ## 10 · Catching a leak
#
# Somebody gives you an attention and says that it is causal. You can't read its code, and its shapes are right:
# a leak never changes a shape. But you can *call* it. **Change a later token, and see whether an earlier output
# changes.** If it does, that output has seen the future.
#
# Here are two attentions, one causal, one not. Token 2 is changed; outputs 0 and 1 come before it.


# %%
def attend(x, allowed):
    """One head without projections, to have something to test."""
    return (x @ x.T).masked_fill(~allowed, -math.inf).softmax(-1) @ x


three = torch.tensor([[0.5, 0.1], [0.2, -0.4], [0.3, 0.8]])
altered = three.clone()
altered[2] = torch.tensor([-0.6, 0.2])

for name, allowed in (("causal", may_attend), ("no mask", torch.ones(3, 3, dtype=torch.bool))):
    moved = (attend(altered, allowed) - attend(three, allowed)).abs().sum(-1)
    print(f"{name:8} outputs moved by", moved)

# %% [markdown]
# With the causal mask outputs 0 and 1 stay exactly as they were. Output 2 moves, and it may: token 2 is its
# present. Without a mask all outputs move.
#
# The opposite test proves nothing. Change token 0, and later outputs move in a causal attention too: they are
# *supposed* to see the past.
#
# One change is not enough either. A leak may be between any two positions: this attention is correct except for
# one entry of its mask, and the change of token 2 above doesn't find it.

# %%
one_hole = may_attend.clone()
one_hole[0, 1] = True  # output 0 sees token 1
moved = (attend(altered, one_hole) - attend(three, one_hole)).abs().sum(-1)
print("one hole, token 2 changed: outputs moved by", moved)

# %% [markdown]
# ### Exercise 6: `leaks_future`
#
# Difficulty 4 of 5
#
# `attention` is a function from a float tensor (T, E) to one of the same shape, for any T and E that you like.
# Answer True if any output moves when a **later** token is changed, else False. A move in the last digits alone is
# rounding. The check gives you more than a dozen attentions, causal ones and ones that leak in different ways, some
# only between tokens several places apart, in an order of its own. You can't look into them, only call them, as often
# as you like.
#
# <details><summary>It says True of everything</summary>
#
# Which outputs do you compare? Those of the changed token and after it may move. And does your comparison allow
# for rounding?
#
# </details>
#
# <details><summary>It misses some leaks</summary>
#
# Write down which tokens you change, and for each of them which outputs you look at. Is there a pair (earlier
# output, later token) that you never test? Does any test cover the pair (0, 1)? The last two? Tokens far apart?
#
# </details>
#
# <details><summary>It says False of everything</summary>
#
# Do both calls get different inputs? `y = x` makes no copy. Do you compare values? Shapes are always equal.
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
    """Whether any output of an attention moves when a later token is changed.

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
# Try it: on your own attention, which should be causal, and on one without a mask.
def mine(x):
    w = torch.eye(x.shape[-1], dtype=x.dtype)
    return causal_multi_head_attention(x, w, w, w, w, num_heads=1)[0]


print(leaks_future(mine))
print(leaks_future(lambda x: attend(x, torch.ones(len(x), len(x), dtype=torch.bool))))

# %% [markdown]
# All leaks of an attention fit into one table: row i, column j says how far output i moves when token j is
# changed. Gradients give it at once, if you have them.


# %% role="draw"
def sensitivity(attention, x):
    """How strongly output i depends on token j."""
    jacobian = torch.autograd.functional.jacobian(attention, x)  # (T, E, T, E)
    return jacobian.abs().sum(dim=(1, 3))


generator = torch.Generator().manual_seed(1)
six = torch.randn(6, 4, generator=generator)
lower = torch.ones(6, 6, dtype=torch.bool).tril()


def hidden_too_late(x):
    """Hides after the softmax."""
    return ((x @ x.T).softmax(-1) * lower) @ x


candidates = {
    "causal": lambda x: attend(x, lower),
    "one token too far": lambda x: attend(x, torch.ones(6, 6).tril(1) > 0),
    "masked after softmax": hidden_too_late,
}
figure, panels = plt.subplots(1, 3, figsize=(9.4, 3.4), layout="constrained")
for axes, (title, candidate) in zip(panels, candidates.items(), strict=True):
    axes.imshow(sensitivity(candidate, six) > 1e-6, cmap="cividis", vmin=0, vmax=1)
    axes.set(
        title=title, xlabel="token that is changed", ylabel="output", xticks=range(6), yticks=range(6)
    )
plt.show()

# %% [markdown]
# *The picture in words:* three 6 × 6 grids, yellow where an output depends on a token. The causal one is yellow
# on and below the diagonal. The second has one more yellow diagonal above it. The third is yellow everywhere.
#
# In the third, hidden tokens get no weight, but they take their share of the softmax, and so every output
# depends on them.
#
# ### The rhyme again
#
# The model of section 1 leaked too. Train it once more, with your causal mask.

# %%
predict(
    "04_honest_answers",
    "How many of its answers are right in training, compared with the model that cheats?",
    ["more", "as many", "fewer"],
)

# %% role="try" timed=true claim="honest_answers_are_fewer"
# Try it: the model of section 1 with your mask. Then it writes.
hide = causal_mask(length)
honest = learn(hide)
mine, theirs = share_right(honest, hide), share_right(cheat)
print(f"right answers: {mine:.1%}, and {theirs:.1%} without a mask")
for start in ("the malt", "this is the"):
    print(go_on(honest, start))

compare_guess("04_honest_answers", "more" if mine > theirs else "fewer" if mine < theirs else "as many")

# %% [markdown]
# Fewer, and yet it writes the rhyme. After "this is the" nobody can know whether the house, the malt, the rat or
# the cat comes next. A model that always knows has looked.
#
# ## 11 · Quiz
#
# ### Exercise 7: `quiz_04`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `hidden_scores` (a whole number): how many of the scores of one head does a causal mask hide for T = 10?
# 2. `decoder_shape` (a shape): what is the shape of `decoder_mask`'s result for tokens of shape (128, 29)?
# 3. `first_weight` (a number, to two decimals): after a softmax, a row reads [0.20, 0.30, 0.50]. The last key should
#    have been hidden. What should the first weight have been?
# 4. `when_causal` (a letter): when does attention need a causal mask?
#    - a. whenever the sentences of a batch differ in length;
#    - b. when each position has to predict what comes after it, so that later tokens hold the answer;
#    - c. whenever a sequence has more tokens than `d_model`;
#    - d. when a trained model is used, but not while it is trained.
# 5. `which_mask` (a letter): your mask serves `nn.MultiheadAttention` well as its bool `attn_mask`. What do you pass
#    to `F.scaled_dot_product_attention`?
#    - a. `mask`;
#    - b. `mask.T`;
#    - c. `~mask`;
#    - d. `mask.float()`.
# 6. `row_float32` (a letter): all three scores of a row, 4, 8 and 8, are hidden by subtracting 1e10, in float32.
#    What are its weights?
#    - a. NaN;
#    - b. 0, 0, 0;
#    - c. the weights it would have without a mask;
#    - d. a third each.
# 7. `row_float64` (a letter): the same in float64, with the same four answers.
# 8. `which_padding` (a letter): a causal mask is used without a padding mask. When do *real* tokens give weight to
#    padding?
#    - a. always;
#    - b. when the padding comes before them;
#    - c. when the padding comes after them;
#    - d. never.
# 9. `proof` (a letter): you change token 3 of 8, and outputs 3 to 7 move. What does that tell about leaks?
#    - a. there is one: outputs moved;
#    - b. there is none, anywhere;
#    - c. no output before 3 sees token 3, at least for these inputs;
#    - d. there is one unless all of them moved by the same amount.
#
# <details><summary>I don't know how to count hidden scores</summary>
#
# Draw the mask for T = 3, then for T = 4. How many cells does each row hide?
#
# </details>
#
# <details><summary>I don't know how to correct the row</summary>
#
# The ratio of two weights depends on their own scores only. So the two visible weights keep their ratio. And what do
# they sum to?
#
# </details>

# %% exercise="quiz_04" role="solution"
quiz_04 = {
    "hidden_scores": ...,  # a whole number
    "decoder_shape": ...,  # a shape, for example (2, 3, 4)
    "first_weight": ...,  # a number, to two decimals
    "when_causal": ...,  # "a", "b", "c" or "d"
    "which_mask": ...,  # "a", "b", "c" or "d"
    "row_float32": ...,  # "a", "b", "c" or "d"
    "row_float64": ...,  # "a", "b", "c" or "d"
    "which_padding": ...,  # "a", "b", "c" or "d"
    "proof": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_04 = {
    "hidden_scores": 45,
    "decoder_shape": (128, 1, 29, 29),
    "first_weight": 0.4,
    "when_causal": "b",
    "which_mask": "c",
    "row_float32": "d",
    "row_float64": "c",
    "which_padding": "b",
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
# gradient too. And you have a test that finds a leak in an attention you have never seen. Use it on every
# attention you write.
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
# **Next lesson:** 05, *LayerNorm and BatchNorm*. Padding comes up again there: it distorts the averages of one
# of the two.
