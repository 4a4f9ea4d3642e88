# ---
# jupyter:
#   course:
#     about: split, attend in every head, merge; equal to `nn.MultiheadAttention`; what two heads learn
#     picture: heads split and merged, number by number
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
# # 03 · Many heads
#
# *She sat down on the bank of the river.* To read "bank", you look at "river", since this bank holds no money. To read
# "sat", you look at "she" to find out who sat, and at "bank" to find out where. The attention of lessons 01 and 02
# gives every word one row of weights, and so one mixture of the others. *Multi-head attention* does this several times
# side by side, each time with fewer columns, and joins the results.
#
# What is new is the bookkeeping, since axes are cut, swapped and joined, and most mistakes still give the right shape.
# At the end you train your own heads, see what each of them is for, and try them on the robot and the crate.
#
# **You need** lessons 01 and 02: queries, keys, values, scores, softmax, and `nn.Linear`, which stores its matrix
# transposed.
#
# **Afterwards you can**
#
# - cut a tensor into heads and join them again, and say why `view` alone won't do;
# - read and write an `einsum`;
# - write multi-head attention as a function and as a module;
# - get PyTorch's output from your module with PyTorch's parameters;
# - find out what a trained head is for.
#
# **Time:** <!-- time -->. A good place for a break is the end of section 5. The letters for shapes are those of
# lesson 01 and three more:
#
# | letter | meaning | in the small example |
# | --- | --- | --- |
# | `H` | `num_heads` | 2 |
# | `D` | `head_dim`, the width of one head; `d_model = num_heads * head_dim` | 2 |
# | `S` | number of tokens looked at, where it differs from `T`, the number of tokens that look | 3 |

# %%
import copy
import math
from functools import partial

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict
from grader import draw_attention, draw_table, show, show_reads
from grader.models.robot import IT, LIFTED, LIFTER, Layer, Reader, train
from grader.models.robot import learn_to_read, robot_sentence, word_numbers

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Why more than one?
#
# "Sat" needs the *who* from "she" and the *where* from "bank". Let two columns of the values stand for *who* and two
# for *where*. One row of weights must then serve all four columns. It can give half to each word, but then half of what
# arrives comes from the wrong one. Two rows of weights, one for each half of the columns, fetch both exactly.

# %%
four = ["she", "sat", "bank", "river"]
kinds = ["who", "who", "where", "where"]
hand_over = torch.tensor(
    [[5.0, 6, 1, 1], [0, 0, 0, 0], [2, 2, 8, 9], [0, 0, 0, 0]]
)
show(hand_over, four, kinds, title="value", form=".0f")

half = torch.tensor([0.5, 0, 0.5, 0])
who, where = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]])
two_rows = torch.cat([who @ hand_over[:, :2], where @ hand_over[:, 2:]])
fetched = torch.stack([half @ hand_over, two_rows])
rows = ["with one row", "with two rows"]
show(fetched, rows, kinds, title="sat fetches", form=".1f")

# %% role="draw"
figure, axes = plt.subplots(1, 3, figsize=(7.4, 1.7), layout="constrained")
titles = ("one head: both, half and half", "head 0: who", "head 1: where")
for panel, title, row in zip(axes, titles, (half, who, where), strict=True):
    draw_attention(panel, title, four, row, query=1)
plt.show()

# %% [markdown]
# *The picture in words:* the words she, sat, bank, river appear three times, with arcs from "sat". With one head, a
# thinner arc leads to "she" and another to "bank". With two heads, a thick arc leads to "she" in head 0 and to "bank"
# in head 1.
#
# Each **head** owns a slice of the columns of query, key and value, and computes its own table of attention weights
# from it. Head 0 has the first `head_dim` columns, head 1 the next, and so on.
#
# <details><summary>More on what heads gain and cost</summary>
#
# In a long text one softmax must divide a total of 1 among very many words, while each of several heads can pick a word
# of its own. And heads don't wait for each other, so a machine can compute them at the same time. Two heads need as
# many multiplications as one, since there are twice as many dot products, each half as long. But a table of weights has
# to be kept for each head (lesson 09).
#
# </details>
#
# ## 2 · Cut into heads
#
# The small example is lesson 01's "birds build nests". Each projection is now a 4 × 4 matrix, whose first two columns
# belong to head 0 and whose last two belong to head 1.

# %%
three = ["birds", "build", "nests"]
x = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
w_q = torch.tensor([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
w_k = torch.tensor([[0.0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]])
w_v = torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 2], [1, 0, 0, 1], [0, 1, 1, 0]])
w_o = torch.eye(4) + 0.5 * torch.eye(4).roll(2, dims=1)

queries, keys, values = x @ w_q, x @ w_k, x @ w_v
halves = ["head 0", "head 0", "head 1", "head 1"]
tables = {"queries": queries, "keys": keys, "values": values}
show(tables, three, halves, form=".0f")

# %% [markdown]
# The plainest way to write two heads is to run lesson 01's attention on each head's columns and to put the results side
# by side.


# %%
def one_head(query, key, value):
    """Lesson 01's attention for one sequence: (T, D) each, returns (T, D)."""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value


outputs = []
for h in range(2):
    own = slice(2 * h, 2 * h + 2)  # the head's columns
    outputs.append(one_head(queries[:, own], keys[:, own], values[:, own]))
listed = torch.cat(outputs, dim=-1)
show(listed, three, halves, title="one after the other", form=".4f")

# %% [markdown]
# This is already multi-head attention, and it is right. Everything up to section 5 does the same job without the loop,
# so that 12 heads in a batch of 64 sequences take one call in place of 768.
#
# ### All heads in one tensor
#
# `view(3, 2, 2)` cuts the last axis, with its 4 columns, into 2 heads of 2. Compare the first two lines below, which
# are what head 0 and head 1 see of "birds", with the first row of `queries`.

# %%
query_heads = queries.view(3, 2, 2)
key_heads = keys.view(3, 2, 2)
value_heads = values.view(3, 2, 2)
rows = [f"{word}, head {h}" for word in three for h in range(2)]
tables = {
    "query heads": query_heads.flatten(0, 1),
    "key heads": key_heads.flatten(0, 1),
    "value heads": value_heads.flatten(0, 1),
}
show(tables, rows, form=".0f")

# %% [markdown]
# These are arranged (T, H, D), by token, head and column. But `@` works on the *last two* axes, and inside one head we
# want a table with a row for each token. So the head axis should come first, as in (H, T, D).
#
# ### What `view` does and what `transpose` does
#
# To see where entries go, we number them, with the word as the tens digit and the column as the units digit.
#
# In memory a tensor is one long line of entries. **`view` never touches that line**, and only redefines where it is cut
# into rows. **`transpose` swaps two axes**, so the entry at [i, j] is found at [j, i] afterwards.

# %%
numbered = 10 * torch.arange(3).unsqueeze(1) + torch.arange(4)
show(numbered, three, halves, title="numbered")
print("in memory:", numbered.flatten().tolist())

cut = numbered.view(3, 2, 2)
swapped = cut.transpose(0, 1)
print("after view:      (T, H, D) =", tuple(cut.shape))
print("after transpose: (H, T, D) =", tuple(swapped.shape))
show({"head 0": swapped[0], "head 1": swapped[1]}, three)

short_cut = numbered.view(2, 3, 2)
tables = {f"short cut, head {h}": short_cut[h] for h in range(2)}
show(tables, three)

# %% [markdown]
# After the swap each head holds its two columns of every word, and each row is one word. The last two tables come from
# a tempting short cut. We want (H, T, D), which is (2, 3, 2), so why not ask `view` for it directly? Head 0 then has
# two rows of "birds" and never sees "nests". You get no error, since the shape is right, and the rows of the softmax
# will still sum to one.
#
# In the interactive view below you can follow the entries yourself. Steps 1 to 3 cut the numbered tensor into heads,
# and steps 4 to 7, the way back, belong to the next section. Choose a number (click it, or use the arrow keys), press
# Next and see where it goes. Step 3 has a cross wherever the short cut is wrong. Then change the sizes at the top. For
# which of them is the short cut right?

# %% role="draw"
from grader.views import HeadSplitter

HeadSplitter(seq_len=3, num_heads=2, head_dim=2)

# %% [markdown]
# It is right only with one head or with one token, where there is nothing to swap.
#
# You also need a way to write code for **any** leading axes. A star collects them, as in
# `*leading, seq_len, width = x.shape`, and passes them on, as in `x.reshape(*leading, seq_len * width)`.
#
# ### Exercise 1: `split_heads`
#
# Difficulty 2 of 5
#
# Go from (..., T, E) to (..., H, T, D), for any number of leading axes. If the heads don't divide the columns evenly,
# raise `ValueError` with a message that names both numbers.
#
# <details><summary>It works on the small example, but not on a batch</summary>
#
# `transpose(0, 1)` counts axes from the front, and a batch axis shifts them along. If you count from the end, which
# axis belongs to the tokens before the swap, and which to the heads?
#
# </details>
#
# <details><summary>The check reports that each head holds pieces of several tokens</summary>
#
# Try your function on `numbered` and read the tens. `view` may only cut the last axis; the other axes must appear in it
# unchanged, in the same order, since swapping is `transpose`'s job.
#
# </details>
#
# <details><summary>"shape '[...]' is invalid for input of size ..."</summary>
#
# The product of the sizes that you give `view` must be the number of entries. How wide is one head? For its width, `//`
# gives a whole number, but `/` gives a float.
#
# </details>


# %% exercise="split_heads" role="solution"
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the last axis into heads, and bring the heads in front of the tokens.

    x: (..., T, E). Returns (..., H, T, D) with H = num_heads and D = E / H;
    head h holds columns h*D to (h+1)*D - 1. Raises ValueError, naming both
    numbers, if num_heads does not divide E.
    """
    ### BEGIN SOLUTION
    *leading, seq_len, d_model = x.shape
    if d_model % num_heads != 0:
        raise ValueError(f"{num_heads} heads do not divide d_model={d_model}")
    heads = x.reshape(*leading, seq_len, num_heads, d_model // num_heads)
    return heads.transpose(-3, -2)
    ### END SOLUTION


# %% exercise="split_heads" role="check"
check(split_heads)

# %% role="try"
# Try it: every head should hold one row for each word, in order.
mine = split_heads(numbered, 2)
show({f"head {h}": table for h, table in enumerate(mine)}, three)

# %% [markdown]
# ## 3 · Join the heads again
#
# After each head has done its work there is a tensor (H, T, D), and every word should get its row of E entries back.
# The way back is the same in reverse, so we swap two axes and then join two. We join with `view` again, and here many
# people meet this error for the first time:

# %%
worked = swapped.contiguous()  # in memory as heads compute it: head 0 first
back = worked.transpose(0, 1)
print("(T, H, D) again:", tuple(back.shape))
try:
    back.view(3, 4)
except RuntimeError as error:
    print("RuntimeError:", str(error).split(" (")[0])

# %% [markdown]
# `transpose` moves no entries either, and only changes the **strides**, the steps in memory from one entry to the next
# along each axis. `view` can join two axes only if their entries can be read in one go, with the same step all the way.
# `contiguous()` copies the entries into the order of the axes.

# %%
copied = back.contiguous()
names = ["worked", "back", "copied"]
facts = [
    (tuple(tensor.shape), tensor.stride(), tensor.is_contiguous())
    for tensor in (worked, back, copied)
]
show(facts, names, ["shape", "strides", "contiguous"])
print("in memory, worked and back:", worked.flatten().tolist())
print("in memory, copied:         ", copied.flatten().tolist())
mistake = worked.reshape(3, 4)  # no transpose
show({"joined": copied.view(3, 4), "reshape alone": mistake}, three, halves)

# %% [markdown]
# The strides (2, 6, 1) of `back` mean that the next token is 2 entries further in memory, the next head 6 and the next
# column 1, so the columns of a token aren't side by side. After the copy they are, and `view` can join them. `reshape`
# works like `view` where it can, and copies where it can't. Go back to the interactive view in section 2 and walk
# through its steps 4 to 7. At which of them does the order in memory change?
#
# You can "fix" the error by dropping the transpose, or by one `reshape` in place of `transpose` and `view`, but both
# only hide it. The last table shows this short cut on the way back, and its row of "birds" holds entries of "birds" and
# "build".
#
# ### Exercise 2: `merge_heads`
#
# Difficulty 2 of 5
#
# Write the inverse of `split_heads`, from (..., H, T, D) to (..., T, H·D).
#
# <details><summary>"view size is not compatible with input tensor's size and stride"</summary>
#
# Don't drop the transpose, because you need it. What does `view` require of the entries in memory, and which two ways
# out does the text name?
#
# </details>
#
# <details><summary>The shape is right, but the entries are wrong</summary>
#
# Only neighbouring axes can be joined, and the first of the two should be the axis of the heads. Which two axes are
# neighbours when you join?
#
# </details>


# %% exercise="merge_heads" role="solution"
def merge_heads(x: Tensor) -> Tensor:
    """Put a token's heads side by side: the inverse of split_heads.

    x: (..., H, T, D). Returns (..., T, H * D).
    """
    ### BEGIN SOLUTION
    *leading, num_heads, seq_len, head_dim = x.shape
    return x.transpose(-3, -2).reshape(*leading, seq_len, num_heads * head_dim)
    ### END SOLUTION


# %% exercise="merge_heads" role="check"
check(merge_heads)

# %% role="try"
# Try it: there and back again, for three ways of cutting twelve columns.
my_tokens = torch.arange(60).view(5, 12)
for my_heads in (2, 3, 4):
    mine = merge_heads(split_heads(my_tokens, my_heads))
    print(my_heads, "heads:", (mine != my_tokens).sum().item(), "of 60 moved")

# %% [markdown]
# ## 4 · Scores, head by head
#
# For one head everything is as in lesson 01, and the scores are the product of its queries and its transposed keys.
#
# ### einsum: name the axes
#
# `torch.einsum` does it for all heads at once, in a notation that gives each axis of an input a letter. The letters
# after the arrow are the axes of the result:
#
# ```text
# "thd, shd -> hts"
#   t: token of the query    s: token of the key
#   h: head                  d: column within the head
# ```
#
# There are four rules. Along an axis whose letter is in both inputs, the two are multiplied entry by entry. An axis
# whose letter is missing after the arrow is summed over. The order after the arrow is the order of the result's axes.
# And three dots, as in `"...td"`, stand for any leading axes. Below we compute all heads in loops, and then with
# `einsum`.

# %%
looped = torch.zeros(2, 3, 3)
for h in range(2):
    for t in range(3):
        for s in range(3):
            for d in range(2):  # no axis of the result: it is summed over
                looped[h, t, s] += query_heads[t, h, d] * key_heads[s, h, d]

scores = torch.einsum("thd,shd->hts", query_heads, key_heads)
tables = {f"scores, head {h}": scores[h] for h in range(2)}
show(tables, three, form=".0f")
print(f"largest difference from the loops: {(looped - scores).abs().max():g}")

# %% [markdown]
# With wrong letters something else is summed, often without any error. Say in words what each of the four choices
# below computes.

# %%
predict(
    "03_which_letters",
    "Which of these has every score of every head, but in a different order?",
    ["thd,shd->ts", "thd,sgd->hts", "thd,thd->ht", "thd,shd->hst"],
)

# %% role="answer"
every_score = scores.flatten().sort().values
outcome = ""
for letters in ("thd,shd->ts", "thd,sgd->hts", "thd,thd->ht", "thd,shd->hst"):
    made = torch.einsum(letters, query_heads, key_heads)
    print(f"{letters:12s} -> {tuple(made.shape)}")
    if torch.equal(made.flatten().sort().values, every_score):
        outcome = letters
compare_guess("03_which_letters", outcome)

# %% [markdown] role="answer"
# The first sums over the heads, while the second pairs head h of the query with *every* head of the key, and sums. The
# third pairs query t with key t only. The fourth is correct but transposed, so its rows are keys. (Here each table is
# symmetric, so you don't see it.) The shape doesn't give away the second and the fourth, since the scores have the
# shape (2, 3, 3), too.

# %% [markdown]
# ### Exercise 3: `multi_head_scores`
#
# Difficulty 2 of 5
#
# Compute the scores (H, T, S), unscaled, from queries (T, H, D) and keys (S, H, D), with `einsum` or with `permute` and
# `@`. In the check, T, S, H and D all differ.
#
# <details><summary>I get an error in @ about the sizes of the first axis</summary>
#
# `@` works on the last two axes and matches the leading axes of the two tensors one by one. Which axis must come first,
# so that head 0 meets head 0?
#
# </details>
#
# <details><summary>The shape is (T, S), or the scores are too large</summary>
#
# The heads were added up somewhere, so go through your letters. Which ones are missing after the arrow, and does the
# head have the same letter in both inputs?
#
# </details>
#
# <details><summary>It only works on the small example</summary>
#
# In that example T and S are equal, so one letter for both axes goes unnoticed. Give the keys' tokens a letter of their
# own.
#
# </details>


# %% exercise="multi_head_scores" role="solution"
def multi_head_scores(query: Tensor, key: Tensor) -> Tensor:
    """Every query against every key, each head by itself; not scaled.

    query: (T, H, D); key: (S, H, D). Returns (H, T, S).
    """
    ### BEGIN SOLUTION
    return torch.einsum("thd,shd->hts", query, key)
    ### END SOLUTION


# %% exercise="multi_head_scores" role="check"
check(multi_head_scores)

# %% role="try"
# Try it: how far are yours from the example's?
mine = multi_head_scores(query_heads, key_heads)
print("largest difference:", (mine - scores).abs().max().item())

# %% [markdown]
# ## 5 · The whole thing
#
# Here is the whole of multi-head attention (Vaswani et al. 2017, figure 2), with the shapes of this lesson. The two
# columns in the middle are the heads, each of which attends on its own.
#
# ```text
#   x                        (T, E)      a row for each word
#   linear Q, K, V           (T, E)      queries, keys, values
#   split                    (H, T, D)   the same, cut into heads
#
#   head 0         head 1
#   softmax(Q Kᵀ / √D) V     (H, T, D)   what each head has mixed
#
#   merge                    (T, E)      the heads side by side
#   linear O                 (T, E)      output, a row for each word
# ```
#
# To finish the small example, we scale the scores and take the softmax over the keys. Each head then has a table of
# attention weights, and mixes its own values with it. Side by side, the mixtures are what the loop over single heads
# gave in section 2. So far the heads know nothing of each other. The **output projection**, a last matrix, lets every
# column of the output use all heads. The line with the products works out the output's first entry.

# %%
weights = (scores / math.sqrt(2)).softmax(dim=-1)  # head_dim is 2
tables = {f"weights, head {h}": weights[h] for h in range(2)}
show(tables, three, form=".4f")

mixed_heads = torch.einsum("hts,shd->thd", weights, value_heads)
concatenated = mixed_heads.reshape(3, 4)
output = concatenated @ w_o
show(concatenated, three, halves, title="concatenated", form=".4f")
print(f"largest difference: {(concatenated - listed).abs().max():.4f}")
show(output, three, "0123", title="output", form=".4f")
terms = [
    f"{number:.4f} · {weight:g}"
    for number, weight in zip(concatenated[0], w_o[:, 0], strict=True)
]
print(" + ".join(terms), f"= {concatenated[0] @ w_o[:, 0]:.4f}")

# %% [markdown]
# Here is all of it in one picture. The two heads of the example have equal scores, which is an accident of its round
# numbers, so one entry of `w_q` is changed here.

# %% role="draw" long="from scores to output in one drawing"
figure = plt.figure(figsize=(7.4, 6.4), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=(2, 1))
changed = w_q.clone()
changed[0, 0] = 0.0
other_queries = (x @ changed).view(3, 2, 2)
other_scores = torch.einsum("thd,shd->hts", other_queries, key_heads)
other_weights = (other_scores / math.sqrt(2)).softmax(dim=-1)
other_mixed = torch.einsum("hts,shd->htd", other_weights, value_heads)
for h, line in enumerate(upper.subplots(2, 3)):
    for panel, title, table, columns, form in (
        (line[0], "scores", other_scores[h], three, ".0f"),
        (line[1], "weights", other_weights[h], three, ".2f"),
        (line[2], "mixture", other_mixed[h], halves[2 * h : 2 * h + 2], ".2f"),
    ):
        draw_table(panel, f"head {h}: {title}", table, three, columns, form)
left, right = lower.subplots(1, 2)
joined = torch.cat(list(other_mixed), dim=-1)
draw_table(left, "side by side", joined, three, halves)
draw_table(right, "output, after w_o", joined @ w_o, three, list("0123"))
plt.show()

# %% [markdown]
# *The picture in words:* each head has a row of grids for its scores, weights and mixture, with the words beside them.
# The heads differ in the rows of "birds" and "nests". Below are the two mixtures side by side, 3 × 4, and the output,
# 3 × 4.
#
# ### Exercise 4: `multi_head_attention`
#
# Difficulty 3 of 5
#
# Project, split, attend in every head, merge, and project once more. `x` may have any leading axes; all four matrices
# are (E, E) and are applied as `x @ w`. Use your `split_heads` and `merge_heads`; if one of them is still wrong, the
# check names it.
#
# <details><summary>Is it the number of heads, head_dim or d_model under the root?</summary>
#
# Print the shape of your query after the split. Under the root goes the length of the axis that the dot product sums
# over.
#
# </details>
#
# <details><summary>The attention weights are right, but the output is wrong</summary>
#
# Three steps lie between them, namely attention weights times values, the merge and the last projection. Compare the
# last two with "concatenated" and "output" in the small example.
#
# </details>
#
# <details><summary>The check reports that <code>num_heads</code> is never used</summary>
#
# Everything runs with one head, too, so use `num_heads` before the scores are computed.
#
# </details>


# %% exercise="multi_head_attention" role="solution"
def multi_head_attention(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    num_heads: int,
) -> tuple[Tensor, Tensor]:
    """Multi-head self-attention (Vaswani et al. 2017, section 3.2.2).

    x: (..., T, E); w_q, w_k, w_v and w_o: (E, E), applied as x @ w.
    Returns (output (..., T, E), weights (..., H, T, T)).
    """
    ### BEGIN SOLUTION
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.softmax(dim=-1)
    return merge_heads(weights @ v) @ w_o, weights
    ### END SOLUTION


# %% exercise="multi_head_attention" role="check"
check(multi_head_attention)

# %% role="try"
# Try it: the small example. Both differences should be zero, up to rounding.
mine = multi_head_attention(x, w_q, w_k, w_v, w_o, 2)
for name, ours, shown in zip(
    ("output", "weights"), mine, (output, weights), strict=True
):
    print(f"{name}, largest difference: {(ours - shown).abs().max():.4f}")

# %% [markdown]
# This is a good place for a break.
#
# ## 6 · A matrix for each head
#
# Vaswani et al. (2017) write heads in another way, not by cutting but with **a small matrix for each head**. Stack
# these matrices, and you have the big one. The width of a head can then be chosen freely, and `d_model` needn't be
# `num_heads * head_dim`.
#
# ### Exercise 5: `per_head_projection`
#
# Difficulty 2 of 5
#
# This is a single product, and easier than the last exercise. Compute all heads' projections at once, from `x` (...,
# T, E) and `u` (H, D, E) to (..., H, T, D). Each head's matrix is stored as `nn.Linear` stores its own, with the
# output axis first. In the check, D and E differ.
#
# <details><summary>The same with one big matrix</summary>
#
# `u.reshape(H * D, E)` puts the matrices one below the other. Then `x @ u.reshape(H * D, E).T` has the columns of
# head 0 first, then those of head 1, and so on.
#
# </details>
#
# <details><summary>I get a size mismatch</summary>
#
# Each matrix in `u` is stored with its output axis first, as in `nn.Linear`, so with `@` the last two axes of `u` have
# to be swapped. With `einsum`, E needs the same letter in both inputs.
#
# </details>
#
# <details><summary>It works without a batch, but not with one</summary>
#
# In `@`, the B of `x` (B, T, E) would meet the H of `u` (H, D, E). Where will the heads be in the result? An axis of
# length 1 in that place makes room for them. In `einsum`, there is another way to say "any leading axes".
#
# </details>
#
# <details><summary>The shape is (..., T, H, D)</summary>
#
# The heads come after the tokens, but you can change that by the order of the letters after the arrow, or by one more
# swap.
#
# </details>


# %% exercise="per_head_projection" role="solution"
def per_head_projection(x: Tensor, u: Tensor) -> Tensor:
    """Project every token with each head's own matrix.

    x: (..., T, E); u: (H, D, E), stored as nn.Linear stores its weight.
    Returns (..., H, T, D).
    """
    ### BEGIN SOLUTION
    return torch.einsum("...te,hde->...htd", x, u)
    ### END SOLUTION


# %% exercise="per_head_projection" role="check"
check(per_head_projection)

# %% role="try"
# Try it: both heads in one call, then each on its own.
torch.manual_seed(2)
u = torch.randn(2, 3, 4)  # two heads, each from width 4 to width 3
mine = per_head_projection(x, u)
for h in range(2):
    gap = (mine[h] - x @ u[h].T).abs().max()
    print(f"head {h}: {tuple(mine[h].shape)}, largest difference {gap:.4f}")

# %% [markdown]
# ## 7 · A module
#
# In a model the four matrices are parameters, so attention becomes an `nn.Module`, a class that keeps its layers as
# attributes and computes in `forward`. In the small one below, `super().__init__()` comes first. Each layer that is
# then assigned to an attribute is registered under its name, so that an optimiser and `load_state_dict` find its
# parameters.


# %%
class TwoSteps(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 2)
        self.second = nn.Linear(2, width)

    def forward(self, x):
        return self.second(self.first(x))


module = TwoSteps(4)
for name, parameter in module.named_parameters():
    print(f"{name:14s} {tuple(parameter.shape)}")
print("called like a function:", tuple(module(x).shape))

# %% [markdown]
# **Two sequences.** In self-attention, query, key and value are the same tensor. In *cross-attention* the query comes
# from one sequence, say the translation so far, and key and value come from another, the sentence to be translated. So
# `forward` takes three arguments, and the attention weights are (B, H, Tq, Tk), with Tq the number of queries and Tk
# the number of keys.
#
# **A mask.** Sometimes a token must not be looked at, because it is padding or in the future. The mask is a tensor of
# True and False that fits the scores, and here **True means "may attend"**. Where it is False the score becomes minus
# infinity *before* the softmax, and exp(−∞) is zero. (Lesson 04 is all about masks.)

# %%
row_of_scores = torch.tensor([2.0, 4.0, 4.0])
may_look = torch.tensor([True, False, True])
masked = row_of_scores.masked_fill(~may_look, -math.inf)  # where ~may_look
table = torch.stack([row_of_scores.softmax(-1), masked, masked.softmax(-1)])
rows = ["weights without a mask", "scores with it", "weights with it"]
show(table, rows, three)

# %% [markdown]
# The hidden key gets no weight, and the others get all of it. A mask needn't have the full shape, because broadcasting
# applies a mask (Tq, Tk) to every sequence and head. A mask (B, 1, 1, Tk) applies to every head and query, and hides
# the keys that are padding in each sequence.
#
# ### Exercise 6: `MultiHeadAttention`
#
# Difficulty 4 of 5
#
# Write a module with four layers `nn.Linear(d_model, d_model)`, named `q_proj`, `k_proj`, `v_proj` and `out_proj`. The
# check loads its own parameters into them by these names, including the biases. You may use your `split_heads` and
# `merge_heads`, but not `nn.MultiheadAttention` or `F.multi_head_attention_forward`. Later lessons use your module and
# read its `num_heads`, so keep that too.
#
# <details><summary>"The module has no parameter or buffer <code>q_proj.weight</code>"</summary>
#
# Parameters are found by the names of attributes, as in `TwoSteps`. Layers in a local variable or a Python list aren't
# found. Keep the line `super().__init__()` first; it prepares a place for them.
#
# </details>
#
# <details><summary>Everything is right unless there is a mask</summary>
#
# `masked_fill` fills where *its* argument is True, and your mask is True where the scores should stay. It also returns
# a new tensor, so if you don't keep the result, the scores stay as they were.
#
# </details>
#
# <details><summary>It fails when query and key differ in length</summary>
#
# Don't take all the sizes from `query`. It is best not to write any lengths at all, since `split_heads` reads them from
# its argument.
#
# </details>
#
# <details><summary>My output doesn't change when I change <code>value</code></summary>
#
# Follow each argument through your code. Each of the three arguments and each of the three projections should be used
# once.
#
# </details>


# %% exercise="MultiHeadAttention" role="solution"
class MultiHeadAttention(nn.Module):
    """Multi-head attention with parameters of its own.

    q_proj, k_proj, v_proj and out_proj are nn.Linear(d_model, d_model).
    forward takes query (B, Tq, E), key and value (B, Tk, E) and mask, bool,
    broadcastable to (B, H, Tq, Tk), True = may attend, or None.
    It returns (output (B, Tq, E), weights (B, H, Tq, Tk)).
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        ### BEGIN SOLUTION
        q = split_heads(self.q_proj(query), self.num_heads)
        k = split_heads(self.k_proj(key), self.num_heads)
        v = split_heads(self.v_proj(value), self.num_heads)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.out_proj(merge_heads(weights @ v)), weights
        ### END SOLUTION


# %% exercise="MultiHeadAttention" role="check"
check(MultiHeadAttention)

# %% role="try"
# Try it: two sequences of 3 tokens look at two of 6. In the second of those,
# the last two tokens are hidden.
mine = MultiHeadAttention(8, 4)
my_mask = torch.ones(2, 1, 1, 6, dtype=torch.bool)
my_mask[1, :, :, 4:] = False
my_query, my_memory = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
my_output, my_weights = mine(my_query, my_memory, my_memory, my_mask)
print("output", tuple(my_output.shape), " weights", tuple(my_weights.shape))
print("weight of the hidden keys:", my_weights[1, :, :, 4:].sum().item())

# %% [markdown]
# ## 8 · The same as PyTorch's
#
# PyTorch has all this built in as `nn.MultiheadAttention`, and with the same parameters your module must give the same
# output. PyTorch's module differs in three ways:
#
# - it keeps the three input projections in one tall matrix, `in_proj_weight` (3E, E), query first;
# - in its mask **True means hidden**, which is the opposite of yours;
# - it averages the attention weights over the heads unless you pass `average_attn_weights=False`.
#
# Below, its parameters are copied into your module. Both modules then get the same two sequences and the same mask,
# each in its own convention. (`batch_first=True` makes it take (B, T, E).)

# %%
torch.manual_seed(3)
theirs = nn.MultiheadAttention(16, 8, batch_first=True).requires_grad_(False)
for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
    bias.normal_()  # both start at zero, which would hide a forgotten bias
print("in_proj_weight", tuple(theirs.in_proj_weight.shape))

# %% role="try"
# Try it: your module with PyTorch's parameters. The differences are zero, up
# to rounding.
mine = MultiHeadAttention(16, 8).requires_grad_(False)
thirds = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
my_layers = mine.q_proj, mine.k_proj, mine.v_proj
for layer, w, b in zip(my_layers, *thirds, strict=True):
    layer.weight.copy_(w)
    layer.bias.copy_(b)
mine.out_proj.load_state_dict(theirs.out_proj.state_dict())

query, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
may_look = torch.ones(5, 7, dtype=torch.bool).tril(2)
options = {"attn_mask": ~may_look, "average_attn_weights": False}
my_pair = mine(query, memory, memory, may_look)
their_pair = theirs(query, memory, memory, **options)
for name, a, b in zip(("output", "weights"), my_pair, their_pair, strict=True):
    print(f"{name}, largest difference: {(a - b).abs().max():.4f}")

# %% [markdown]
# ## 9 · What two heads learn
#
# Does training find out that a word may want two things from two places? Our small test has eight random letters, and
# two questions about each. Which letter comes **before** it (for the first letter, that is the last), and which letter
# is the **first** of all?
#
# The model is your module and nothing else. A token has 16 components, eight for which letter it is and eight for
# where it stands. The output is 16 scores, eight for each answer, one per letter. Softmax turns each set of eight
# into weights, and `F.cross_entropy` is the mean of −ln of the weight on the right letter. `train` is lesson 02's,
# which comes with the course.


# %%
def draw_letters(count):
    """Tokens (count, 8, 16), and the two letters to answer (count, 8, 2)."""
    letters = torch.randint(8, (count, 8))
    where = torch.eye(8).expand(count, 8, 8)
    tokens = torch.cat([F.one_hot(letters, 8), where], dim=-1)
    before, first = letters.roll(1, dims=1), letters[:, :1].expand(-1, 8)
    return tokens, torch.stack([before, first], dim=-1)


# %%
def learn_to_fetch(attention_class, num_heads, seed, steps=600, rate=0.01):
    """Train a module of that class to answer both questions."""
    torch.manual_seed(seed)
    model = attention_class(16, num_heads)

    def next_loss():
        tokens, answers = draw_letters(64)
        output, _ = model(tokens, tokens, tokens)
        return F.cross_entropy(output.view(-1, 8), answers.flatten())

    train(torch.optim.Adam(model.parameters(), rate), next_loss, steps)
    return model.requires_grad_(False)


torch.manual_seed(99)
test_tokens, test_answers = draw_letters(500)


def share_right(model):
    """The accuracy in percent, for the letter before and the first letter."""
    output, _ = model(test_tokens, test_tokens, test_tokens)
    said = output.unflatten(-1, (2, 8)).argmax(-1)
    return 100 * (said == test_answers).float().mean((0, 1))


# %% [markdown]
# A head is **switched off** by making its output zero. It fills eight columns of what goes into `out_proj`, so we set
# to zero the eight columns of the matrix that multiply them.


# %%
def without(model, h):
    """A copy of a model with two heads of 8, head h switched off."""
    less = copy.deepcopy(model)
    less.out_proj.weight[:, 8 * h : 8 * h + 8] = 0.0
    return less


predict(
    "03_one_head_off",
    "If head 0 of two trained heads is off, what happens to the answers?",
    [
        "no answer is lost, since head 1 can give both",
        "one is lost, the other stays right",
        "both are lost, since the heads only work together",
    ],
)

# %% role="try" long="trained, switched off, drawn" timed=true claim="each_head_takes_a_question"
my_model = learn_to_fetch(MultiHeadAttention, num_heads=2, seed=0)
my_models = [my_model, without(my_model, 0), without(my_model, 1)]
right = torch.stack([share_right(model) for model in my_models])
names = ["both heads", "head 0 off", "head 1 off"]
show(right, names, ["before", "first"], title="% right", form=".1f")

letters = ["abcdefgh"[i] for i in test_tokens[0, :, :8].argmax(-1)]
my_tables = my_model(*[test_tokens[:1]] * 3)[1][0]
figure, axes = plt.subplots(1, 2, figsize=(7.4, 4.0), layout="constrained")
for h, panel in enumerate(axes):
    draw_table(panel, f"head {h}, trained", my_tables[h], letters)
plt.show()

outcome = (
    "no answer is lost, since head 1 can give both",
    "one is lost, the other stays right",
    "both are lost, since the heads only work together",
)
lost = (right[1] < 50).sum().item()  # of the answers without head 0
compare_guess("03_one_head_off", outcome[lost])

# %% [markdown] role="answer"
# *The picture in words:* two 8 × 8 grids with the eight letters beside them. In one head the first column is yellow,
# since every letter looks at the first. In the other, the diagonal just left of the main one and the right end of the
# first row are yellow, since every letter looks at the one before it. All other cells are dark.
#
# Nobody told the heads to share the work, and yet one looks at the first letter and the other at the one before. When
# one is switched off, its question is lost, and the answers to the other stay right. (Now and then a start turns out
# differently, and both heads serve both questions.) The heads of real models are also studied by such **ablation**
# (lesson 10).

# %% [markdown]
# Would one head have been enough? It is twice as wide, but it has only one row of weights for each letter. With half
# the weight on one letter and half on the other, it would know which two they are, but not which is which.

# %%
predict(
    "03_single_head",
    "How many answers does a single head get right, on average?",
    low=0,
    high=100,
    unit="%",
)

# %% role="try" timed=true claim="one_head_makes_mistakes"
# Try it: this takes a few seconds, or half a minute on a busy machine.
my_shares, names = [], []
for num_heads in (1, 2):
    for seed in range(3):
        my_model = learn_to_fetch(MultiHeadAttention, num_heads, seed)
        my_shares.append(share_right(my_model))
        names.append(f"{num_heads} head{'s' * (num_heads > 1)}, start {seed}")
right = torch.stack(my_shares)
show(right, names, ["before", "first"], title="% right", form=".1f")
compare_guess("03_single_head", round(right[:3].mean().item(), 1))

# %% [markdown] role="answer"
# From 300 steps on, two heads get every answer right, whatever the start, while one head makes mistakes. It finds ways
# around its single row, but slowly. With four times the steps (`steps=2400`), or with three times the rate, nearly all
# its answers are right, and still not all of them.

# %% [markdown]
# ## 10 · The robot and the crate, once more
#
# *The robot could not lift the crate because it was too heavy*, or *too weak*. In lesson 01 a single layer did no
# better than tossing a coin, since in any row the weights of the robot and the crate have the same ratio, whatever the
# ending. In lesson 02 it took two layers. Here lesson 01's reader has a single layer again, with your
# `multi_head_attention` in it.
#
# How many of the new sentences will two heads get right, on average over five starts? (Training ten readers takes about
# half a minute, or more on a busy machine.)


# %%
def read(attend, num_heads, seed, steps=600, rate=0.01):
    """A trained reader with one layer, and how much it reads rightly, in
    percent."""
    torch.manual_seed(seed)
    four = [(32, 32)] * 4  # w_q, w_k, w_v and w_o
    reader = Reader(Layer(partial(attend, num_heads=num_heads), *four))
    return reader, learn_to_read(reader, rate, steps)


predict(
    "03_robot",
    "How many of the new sentences do two heads get right?",
    low=0,
    high=100,
    unit="%",
)

# %% role="try" long="ten readers, and what the last one looks at" timed=true claim="two_heads_read_the_robot"
my_shares = torch.zeros(2, 5)
for num_heads in (1, 2):
    for seed in range(5):
        my_reader, share = read(multi_head_attention, num_heads, seed)
        my_shares[num_heads - 1, seed] = share
starts = [f"start {seed}" for seed in range(5)]
names = ["one head", "two heads"]
show(my_shares, names, starts, title="% right", form=".1f")

figure, axes = plt.subplots(4, 1, figsize=(7.4, 6.4), layout="constrained")
panels = iter(axes)
for ending in ("heavy", "weak"):
    said = robot_sentence("robot", "crate", ending)
    my_reader(word_numbers(said))
    for h, row in enumerate(my_reader.layers[0].weights[:, IT].detach()):
        ratio = row[LIFTER] / row[LIFTED]
        title = f"head {h}, too {ending}: robot over crate {ratio:.4g}"
        draw_attention(next(panels), title, said, row, IT)
plt.show()
compare_guess("03_robot", round(my_shares[1].mean().item(), 1))

# %% [markdown] role="answer"
# *The picture in words:* the sentence appears four times, with arcs from "it". In one head the thick arc leads to
# "crate" with both endings. In the other it leads to "heavy" in the first sentence, and to "robot" in the one with
# "weak".
#
# One head does no better than tossing a coin, and from most starts two heads find about nine answers of ten or more, in
# a single layer. How can that be? Lesson 01's rule still holds, as you can see in the titles. In each head, robot over
# crate is the same for both endings. But the ratio of a noun's weight to that of the *ending* changes. One head looks
# at the crate in both sentences. The other looks at the robot, unless an ending like "heavy" takes that weight away.
# `w_o` adds up what they bring. After "heavy" mostly the crate arrives, and after "weak" the robot arrives with nearly
# all of a head's weight and outvotes it. A single head can't do this, because where the ending takes its weight away,
# it has no other noun to bring.
#
# From some starts the heads or the nouns change places. Now and then a start takes longer, and needs twice the steps
# (`steps=1200`). Try more starts, or half the steps (`steps=300`), and see how many readers with two heads still
# succeed.

# %% [markdown]
# In lesson 01's table, from two starts of three, the second head does what the second layer did.

# %% role="try" timed=true
show_reads("two heads", yours=my_shares[1].max().item())

# %% [markdown]
# ## 11 · Quiz
#
# ### Exercise 7: `quiz_03`
#
# Difficulty 2 of 5
#
# 1. `weights_shape` (a shape): `MultiHeadAttention(12, 3)` is called with query (2, 5, 12), key (2, 7, 12) and
#    value (2, 7, 12). What is the shape of the attention weights?
# 2. `after_split` (a whole number): `x` has 3 tokens of 6 components, and entry [t, e] is 10·t + e. What is the entry
#    of `split_heads(x, 3)` in head 1, token 2, first column?
# 3. `more_heads` (a letter): what changes if you use 8 heads instead of 4 and leave `d_model` as it is?
#    - a. each head is as wide as before, and there are twice as many parameters;
#    - b. each head is half as wide, and there are as many parameters as before;
#    - c. each head is half as wide, and there are half as many parameters;
#    - d. the tables of attention weights are half as large.
# 4. `contiguous` (a letter): why does `heads.transpose(1, 2).view(B, T, E)` raise an error after attention?
#    - a. `view` only works on tensors with three axes;
#    - b. `transpose` has lost the gradient;
#    - c. the entries are in a different order in memory from the axes, and `view` copies nothing;
#    - d. B·T·E is not the number of entries.
# 5. `two_heads` (a letter): in one layer, with "it was too heavy" and "it was too weak", what can two heads do that one
#    can't?
#    - a. change the ratio of the weights on "robot" and "crate" within a row;
#    - b. look at the ending before they look at the nouns;
#    - c. bring the robot in one head and the crate in the other, and let the ending silence one of them;
#    - d. put a weight of more than 1 on a noun.

# %% exercise="quiz_03" role="solution"
quiz_03 = {
    "weights_shape": ...,  # a shape, for example (2, 3, 4)
    "after_split": ...,  # a whole number
    "more_heads": ...,  # "a", "b", "c" or "d"
    "contiguous": ...,  # "a", "b", "c" or "d"
    "two_heads": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_03 = {
    "weights_shape": (2, 3, 5, 7),
    "after_split": 22,
    "more_heads": "b",
    "contiguous": "c",
    "two_heads": "c",
}
### END SOLUTION

# %% exercise="quiz_03" role="check"
check(quiz_03, "quiz_03")

# %% [markdown]
# ## What you can do now
#
# You have written multi-head attention as a function and as a module, equal to PyTorch's. You can follow an entry
# through view, transpose and contiguous, you can read `einsum`, and you know the mistakes that the shape doesn't
# reveal. You have seen what your heads are for, and a second way to read the robot and the crate, with two heads in
# place of two layers.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.2; the pictures on its last pages show heads of a
#   trained model.
# - Voita et al. (2019), *Analyzing Multi-Head Self-Attention*, sections 5 and 6, on what heads do in a translator.
# - Michel, Levy and Neubig (2019), *Are Sixteen Heads Really Better than One?*, section 3, in which the heads are
#   switched off one at a time.
# - Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*, section 3, with code in einsum.
#
# **Next lesson:** 04, *Masks*. There the future and the padding are hidden, and a row may be left with nothing to look
# at.

# %% [markdown]
# ## For those who want more
#
# ### One head by hand
#
# The scores of head 1 are its queries times its transposed keys, as in lesson 01.

# %%
query_1, key_1 = query_heads[:, 1], key_heads[:, 1]
show(query_1, three, title="queries of head 1", form=".0f")
show(key_1.T, "01", three, title="keys of head 1, transposed", form=".0f")
show(query_1 @ key_1.T, three, title="scores of head 1", form=".0f")

# %% [markdown]
# ### Two equal heads
#
# What is odd about the two tables of scores, if heads are meant to look at different things? Below they are drawn once
# more, and then with one entry of `w_q` changed.

# %%
changed = w_q.clone()
changed[0, 0] = 0.0
other_queries = (x @ changed).view(3, 2, 2)
other_scores = torch.einsum("thd,shd->hts", other_queries, key_heads)
gaps = [(t[0] - t[1]).abs().max() for t in (scores, other_scores)]
print(f"largest difference of the heads: {gaps[0]:g}, then {gaps[1]:g}")

# %% role="draw"
figure, axes = plt.subplots(2, 2, figsize=(5.6, 4.6), layout="constrained")
for line, title, tables in (
    (axes[0], "scores", scores),
    (axes[1], "one entry changed", other_scores),
):
    for h, panel in enumerate(line):
        draw_table(panel, f"{title}, head {h}", tables[h], three, form=".0f")
plt.show()

# %% [markdown]
# *The picture in words:* four 3 × 3 grids of scores with the words beside them. In the upper two, head 0 and head 1 are
# equal. In the lower two, head 0 has different scores in the rows of "birds" and "nests".
#
# Both heads have the same table, and it is symmetric. That is an accident of these round numbers, and it disappears
# when one entry changes, since a head sees only its own columns.
#
# ### The root of what?
#
# Lesson 02's batched tutorial goes on to heads, and divides their scores by `embedding_dim ** 0.5`, the square root of
# d_model. Before you guess, remember *why* we scale (lesson 02). The typical size of a dot product grows with the
# square root of the vectors' width.

# %%
predict(
    "03_wrong_root",
    "What does the tutorial's root do to the weights of eight heads?",
    [
        "they become too sharp",
        "they become too flat",
        "they stay as they should, since all heads together are d_model wide",
    ],
)

# %% role="answer"
torch.manual_seed(1)
many_queries, many_keys = (torch.randn(200, 8, n, 64) for n in (1, 10))
raw = many_queries @ many_keys.transpose(-2, -1)
lines = []
for width in (64, 8 * 64):  # eight heads of 64
    scaled = raw / math.sqrt(width)
    row = scaled.softmax(dim=-1)
    entropy = torch.special.entr(row).sum(-1).mean()
    lines.append([scaled.std(), row.amax(-1).mean(), entropy])
names = ["head_dim = 64", "d_model = 512"]
columns = ["std of scores", "largest weight", "entropy"]
show(torch.tensor(lines), names, columns, title="by the root of")
print(f"entropy of ten equal weights: {math.log(10):.2f}")
kind = "flat" if lines[1][2] > lines[0][2] else "sharp"
compare_guess("03_wrong_root", f"they become too {kind}")

# %% [markdown] role="answer"
# Inside a head the vectors are only `head_dim` wide, so √head_dim is what brings the standard deviation back to one.
# √d_model is too large, and the weights become too flat, closer to the plain average. Rows still sum to one, no error
# is raised, and with one head the two roots are the same. The slip is easily copied, and you will meet it in another
# tutorial, in lesson 07.

# %% [markdown]
# ### A batch, step by step
#
# Lesson 02's batched tutorial writes out the steps `view`, `transpose`, attend, `transpose`, `contiguous`, `view`. Here
# three tokens of eight components go through four heads.

# %%
torch.manual_seed(0)
wide = torch.tensor([[[1.0, 0] * 4, [0.0, 2] * 4, [1.0, 1] * 4]])
three_layers = [nn.Linear(8, 8, bias=False) for _ in range(3)]
projected = [layer(wide).detach() for layer in three_layers]
q, k, v = (one.view(1, 3, 4, 2).transpose(1, 2) for one in projected)
wide_scores = q @ k.transpose(-2, -1)
mixed = (wide_scores / math.sqrt(2)).softmax(-1) @ v
swapped_back = mixed.transpose(1, 2)
joined = swapped_back.contiguous().view(1, 3, 8)

names = ["Q, K, V", "heads", "scores", "mixed", "swapped back", "joined"]
letters = ["B, T, E", "B, H, T, D", "B, H, T, T"]
letters += ["B, H, T, D", "B, T, H, D", "B, T, E"]
tensors = (projected[0], q, wide_scores, mixed, swapped_back, joined)
shapes = [tuple(tensor.shape) for tensor in tensors]
show(list(zip(letters, shapes, strict=True)), names, ["axes", "shape"])

# %% [markdown]
# ### Eight heads, from the first projection to the last
#
# With a matrix for each head, queries and keys may be 32 wide and values 64, whatever `d_model` is. The chapter from
# lesson 01 ends with eight random matrices of each kind (`torch.rand`), one per head, and computes no scores with them.
# Here is the rest, with an output projection from 8 · 64 = 512 columns back to 16.

# %%
eight = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
torch.manual_seed(123)
embedded = nn.Embedding(10, 16)(torch.tensor([0, 7, 1, 2, 5, 6, 4, 3]))
embedded = embedded.detach()

torch.manual_seed(123)
one_u_query = torch.rand(32, 16)  # never used, but drawn before the others
u_query = torch.rand(8, 32, 16)
u_key = torch.rand(8, 32, 16)
u_value = torch.rand(8, 64, 16)
u_out = torch.rand(16, 8 * 64) / (8 * 64)  # ours; keeps the output small

# %%
head_outputs, head_weights = [], []
for h in range(8):
    q_h, k_h, v_h = (embedded @ u[h].T for u in (u_query, u_key, u_value))
    w_h = (q_h @ k_h.T / math.sqrt(32)).softmax(dim=-1)
    head_weights.append(w_h)
    head_outputs.append(w_h @ v_h)

side_by_side = torch.cat(head_outputs, dim=-1)
print("embedded sentence          ", tuple(embedded.shape))
print("one head: query, key, value", *(tuple(t.shape) for t in (q_h, k_h, v_h)))
print("one head: weights, output  ", tuple(w_h.shape), tuple((w_h @ v_h).shape))
print("eight heads side by side   ", tuple(side_by_side.shape))
print("projected back             ", tuple((side_by_side @ u_out.T).shape))
show(embedded.sum(-1), "sum of its components", eight)

# %% role="draw"
figure, grid = plt.subplots(
    2, 4, figsize=(7.4, 4.4), layout="constrained", sharex=True, sharey=True
)
for h, panel in enumerate(grid.flat):
    panel.imshow(head_weights[h], cmap="cividis", vmin=0, vmax=1)
    panel.set(title=f"head {h}", xticks=range(8), yticks=range(8))
    panel.set_xticklabels(eight, rotation=90)
    panel.set_yticklabels(eight)
plt.show()

# %% [markdown]
# *The picture in words:* eight 8 × 8 grids with the words beside them, dark blue except for a few yellow cells. Most
# rows have one bright cell, in the same few columns in all heads: "to", "translate" and "sentence".
#
# The eight heads agree on most words. Heads are *able* to look at different things, but only training makes them do so,
# as it did in section 9.
#
# <details><summary>Why these agree, and why their weights are so sharp</summary>
#
# `torch.rand` draws numbers between 0 and 1, so all entries of all matrices are positive, and every head computes
# roughly the same thing, a sum of all features (the printed line). A score is roughly the product of two such sums.
# So "can" and "sentence", whose sums are positive, look at "sentence", which has the largest. The words with negative
# sums look at "to" and "translate", which have the most negative ones, and "this", whose sum is close to zero, can't
# decide. The weights are sharp for the reason given in lesson 02. The 32 products in a score mostly have the same
# sign and add up.
#
# </details>
