# ---
# jupyter:
#   course:
#     about: split, attend in every head, merge; equal to `nn.MultiheadAttention`
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
# *She sat down on the bank of the river.* To read "bank", look at "river": this bank holds no money. To read
# "sat", look at "she" for who, and at "bank" for where. One attention gives every token one row of weights,
# and so one mixture of the others. *Multi-head attention* runs several small attentions side by side and joins
# what they found. The mathematics is that of lesson 01. What is new is bookkeeping: axes are cut, swapped and
# joined, and most mistakes give the right shape. At the end a model with two heads learns something, and you see
# what each head is for.
#
# **You need** lessons 01 and 02: queries, keys, values, scores, softmax, and `nn.Linear`, which stores its
# weight matrix transposed.
#
# **Afterwards you can**
#
# - cut a tensor into heads and join it again, and say why `view` alone won't do;
# - read and write an `einsum`;
# - write multi-head attention as a function and as a module, with a mask and for two different sequences;
# - load the parameters of PyTorch's `nn.MultiheadAttention` into your own and get the same numbers;
# - find out what a trained head is for, by switching it off.
#
# **Time:** <!-- time -->. The plan: why several → split → merge →
# score → the whole → scale → matrices for each head → a module → PyTorch's own → two trained heads → a quiz.
#
# | letter | meaning | in the small example |
# | --- | --- | --- |
# | `B` | batch: sequences handled together | none at first |
# | `T` | tokens in a sequence (`Tq`, `Tk` or `T`, `S` where queries and keys differ in number) | 3 |
# | `E` | `d_model`, the width of a token's vector | 4 |
# | `H` | `num_heads` | 2 |
# | `D` | `head_dim`, the width of one head; `d_model = num_heads * head_dim` | 2 |
# | `...` | any number of leading axes, none included | |

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from grader import check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Why more than one?
#
# The token "sat" wants two things: the *subject* from token 1 and the *place* from token 3. Let the values hold
# the subject in their first two columns and the place in their last two. One row of weights must serve all
# four columns. It can go half and half, and then half of what arrives comes from the wrong token. Two rows of
# weights, one for each half of the columns, fetch both exactly.

# %%
told = torch.tensor(
    [[0.0, 0.0, 0.0, 0.0], [5.0, 6.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [2.0, 2.0, 8.0, 9.0]]
)

one_row = torch.tensor([0.0, 0.5, 0.0, 0.5])
print("one head: ", one_row @ told)

subject_row, place_row = torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 0.0, 1.0])
print("two heads:", torch.cat([subject_row @ told[:, :2], place_row @ told[:, 2:]]))

# %% [markdown]
# Each **head** owns a slice of the columns of query, key and value, and computes its own table of attention
# weights from its own slice. Head 0 has the first `head_dim` columns, head 1 the next, and so on. There are two
# more reasons. In a long text one softmax must share its 1 among very many tokens, while several can each pick
# one. And heads don't wait for each other, so a machine computes them at the same time.
#
# The number of multiplications stays the same: twice as many dot products, each half as long. Memory grows: there
# is one table of attention weights for each head (lesson 09 measures it).
#
# ## 2 · Cut into heads
#
# The small example is lesson 01's: three tokens of four numbers. Each projection is now a 4 × 4 matrix, whose
# first two columns belong to head 0 and last two to head 1.

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

# %% [markdown]
# ### A list of single heads
#
# The plainest way to write two heads: take each head's columns, run lesson 01's attention on them, and put the
# results side by side.


# %%
def one_head(query, key, value):
    """Lesson 01's scaled dot-product attention for one sequence: (T, D) each, returns (T, D)."""
    return (query @ key.T / math.sqrt(query.shape[-1])).softmax(-1) @ value


outputs = []
for head in range(2):
    columns = slice(2 * head, 2 * head + 2)
    outputs.append(one_head(queries[:, columns], keys[:, columns], values[:, columns]))
print("one head after the other", torch.cat(outputs, dim=-1), sep="\n")

# %% [markdown]
# This is multi-head attention, and it is right. Everything until section 5 is the same without the Python loop:
# 12 heads in a batch of 64 sequences then take one call in place of 768. The fast way must give the same numbers.
#
# ### All heads in one tensor
#
# `view(3, 2, 2)` cuts the last axis, 4 columns, into 2 heads of 2 columns. Read the first block below: it is
# token 0. Its first row is what head 0 sees of it, its second row what head 1 sees. Compare with the first row
# of `queries`.

# %%
query_heads = queries.view(3, 2, 2)
key_heads = keys.view(3, 2, 2)
value_heads = values.view(3, 2, 2)
print("query heads", query_heads, sep="\n")
print("key heads", key_heads, sep="\n")
print("value heads", value_heads, sep="\n")

# %% [markdown]
# These are arranged (T, H, D): token, head, column. Inside one head we want a table of tokens, as in lesson
# 01, and `@` works on the *last two* axes. So the head axis should come first: (H, T, D).
#
# ### What `view` does and what `transpose` does
#
# To see where numbers go, number them. Below, entry 12 is token 1, column 2: the tens tell the token, the
# ones the column.
#
# In memory a tensor is one long row of numbers. **`view` never touches that row**, it only redefines where
# rows end. **`transpose` swaps two axes**: the number at [i, j] is found at [j, i] afterwards.

# %%
numbered = 10 * torch.arange(3).unsqueeze(1) + torch.arange(4)
print("numbered", numbered, sep="\n")
print("in memory:", numbered.flatten().tolist())

cut = numbered.view(3, 2, 2)
swapped = cut.transpose(0, 1)
print("after view: (T, H, D) =", tuple(cut.shape), " after transpose: (H, T, D) =", tuple(swapped.shape))
print("head 0", swapped[0], sep="\n")
print("head 1", swapped[1], sep="\n")

# %% [markdown]
# Head 0 holds columns 0 and 1 of every token, head 1 holds columns 2 and 3, and each row is one token. Now the
# tempting short cut: (H, T, D) is (2, 3, 2), so why not ask `view` for it at once?

# %%
short_cut = numbered.view(2, 3, 2)
print("the shape is the same:", short_cut.shape == swapped.shape)
print("head 0", short_cut[0], sep="\n")
print("head 1", short_cut[1], sep="\n")

# %% [markdown]
# Follow the numbers yourself. Below, steps 1 to 3 take the numbered tensor into heads; the way back, steps 4
# to 7, belongs to the next section. Choose a number (click it, or use the arrow keys) and press Next: where
# does it go in the tensor, and where in memory? Step 3 shows the short cut beside the right way, with a cross
# at every number that is in the wrong place. Then change the sizes at the top. For which sizes is the short
# cut right?

# %% role="draw"
from grader.views import HeadSplitter

HeadSplitter(seq_len=3, num_heads=2, head_dim=2)

# %% [markdown]
# The short cut is right only with one head or with one token, where there is nothing to swap.
#
# With `view` alone, head 0 has token 0 twice and never sees token 2. Nothing complains: the shape is right, and
# the softmax will sum to one. Only the numbers reveal it.
#
# One more thing that you need: code for **any** leading axes. A star collects them, and passes them on:

# %%
*leading, tokens_here, width = torch.zeros(7, 2, 3, 4).shape
print("leading", leading, " tokens", tokens_here, " width", width)
print("cut in two:", tuple(torch.zeros(7, 2, 3, 4).reshape(*leading, tokens_here, 2, width // 2).shape))

# %% [markdown]
# ### Exercise 1: `split_heads`
#
# Difficulty 2 of 5
#
# From (..., T, E) to (..., H, T, D), for any number of leading axes. If the heads don't divide the columns
# evenly, raise `ValueError` with a message that names both numbers: whoever reads it will want to know which
# two don't fit.
#
# <details><summary>It works on the small example, but not on a batch</summary>
#
# `transpose(0, 1)` counts axes from the front, and a batch moves them along. Count from the end: which axis
# is the tokens', which the heads', before the swap?
#
# </details>
#
# <details><summary>The check says that each head holds pieces of several tokens</summary>
#
# Try your function on `numbered` and read the tens. `view` may only cut the last axis; the other axes must
# appear in it unchanged, in their order. Swapping is `transpose`'s business.
#
# </details>
#
# <details><summary>"shape '[...]' is invalid for input of size ..."</summary>
#
# The product of the sizes that you give `view` must be the number of entries. How wide is one head? `//`
# gives a whole number, `/` gives a float.
#
# </details>


# %% exercise="split_heads" role="solution"
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the last axis into heads and bring the heads in front of the tokens.

    x: (..., T, E). Returns (..., H, T, D) with H = num_heads and D = E / H; head h holds columns h*D to
    (h+1)*D - 1. Raises ValueError, naming both numbers, if num_heads does not divide E.
    """
    ### BEGIN SOLUTION
    *leading, seq_len, d_model = x.shape
    if d_model % num_heads != 0:
        raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")
    return x.reshape(*leading, seq_len, num_heads, d_model // num_heads).transpose(-3, -2)
    ### END SOLUTION


# %% exercise="split_heads" role="check"
check(split_heads)

# %% role="try"
# Try it: every head should hold one row for each token, in order.
print(split_heads(numbered, 2))

# %% [markdown]
# ## 3 · Join the heads again
#
# After each head has done its work there is a tensor (H, T, D), and every token should get its row of E
# numbers back, head 0's first, then head 1's. That is the same way in reverse: swap, then join two axes.
#
# Joining is `view` again, and here many people meet this error for the first time:

# %%
worked = swapped.contiguous()  # laid out in memory as heads compute it: head 0 first, then head 1
back = worked.transpose(0, 1)
print("(T, H, D) again:", tuple(back.shape))
try:
    back.view(3, 4)
except RuntimeError as error:
    print("RuntimeError:", str(error).split(" (")[0])

# %% [markdown]
# Why? `transpose` moves no numbers either: it only notes that the axes are now read in another order. The notes
# are called **strides**, the steps in memory from one entry to the next along each axis. `view` can join two
# axes only if they can be read in one go.

# %%
print("worked", tuple(worked.shape), "strides", worked.stride(), "contiguous:", worked.is_contiguous())
print("back  ", tuple(back.shape), "strides", back.stride(), "contiguous:", back.is_contiguous())
print("both share one row of numbers:", back.data_ptr() == worked.data_ptr())
print("in memory:", worked.flatten().tolist())

copied = back.contiguous()
print("copied:   ", copied.flatten().tolist())
print("joined", copied.view(3, 4), sep="\n")

# %% [markdown]
# `contiguous()` copies the numbers into the order of the axes, and then `view` can join. `reshape` does both:
# it is a `view` where that is possible and copies where it isn't.
#
# Go back to the view of section 2 and walk through its steps 4 to 7. Watch its two strips, what memory holds
# and what the tensor reads: at which steps does the upper one change? And what is written under the numbers
# where the tensor is not contiguous?
#
# Two ways to "fix" the error only hide it: to drop the transpose, or to replace `transpose` and `view` by one
# `reshape` to the final shape. Both give the right shape; read the tens.

# %%
print("reshape without transpose", worked.reshape(3, 4), sep="\n")

# %% [markdown]
# Token 0's row now holds numbers of tokens 0 and 1: the mistake of the last section, on the way back.
#
# ### Exercise 2: `merge_heads`
#
# Difficulty 2 of 5
#
# The inverse of `split_heads`: from (..., H, T, D) to (..., T, H·D).
#
# <details><summary>"view size is not compatible with input tensor's size and stride"</summary>
#
# Don't drop the transpose; it is needed. What does `view` ask of the numbers in memory, and what two ways out
# did the text name?
#
# </details>
#
# <details><summary>The shape is right, the numbers are not</summary>
#
# Only neighbouring axes can be joined, and the first of the two should be the heads'. Which two axes are
# neighbours when you join?
#
# </details>


# %% exercise="merge_heads" role="solution"
def merge_heads(x: Tensor) -> Tensor:
    """Put the heads of every token side by side: the inverse of split_heads.

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
    print(my_heads, "heads:", torch.equal(merge_heads(split_heads(my_tokens, my_heads)), my_tokens))

# %% [markdown]
# ## 4 · Scores, head by head
#
# Back to the small example. For one head everything is as in lesson 01: its queries, its keys transposed, their
# product. Head 1:

# %%
print("queries of head 1", query_heads[:, 1, :], sep="\n")
print("keys of head 1, transposed", key_heads[:, 1, :].T, sep="\n")
print("scores of head 1", query_heads[:, 1, :] @ key_heads[:, 1, :].T, sep="\n")

# %% [markdown]
# ### einsum: name the axes
#
# `torch.einsum` does it for all heads at once. Each input gets a letter for each axis, and the letters after
# the arrow say which axes the result has:
#
# ```text
# "thd, shd -> hts"
#   t: token of the query    s: token of the key
#   h: head                  d: column within the head
# ```
#
# There are four rules. A letter in both inputs: the two are multiplied elementwise along it. A letter that is
# missing after the arrow: sum over it. The order after the arrow is the order of the result's axes. And three
# dots, as in `"...td"`, stand for any leading axes. As loops:

# %%
looped = torch.zeros(2, 3, 3)
for h in range(2):
    for t in range(3):
        for s in range(3):
            for d in range(2):  # d is not an axis of the result: it is summed over
                looped[h, t, s] += query_heads[t, h, d] * key_heads[s, h, d]

scores = torch.einsum("thd,shd->hts", query_heads, key_heads)
print("scores", scores, sep="\n")
print("the loops agree:", torch.equal(looped, scores))

# %% [markdown]
# Wrong letters give other sums, often without any error. Say in words what each of these lines computes:
# `"thd,shd->ts"`, `"thd,sgd->hts"`, `"thd,thd->ht"`, `"thd,shd->hst"`.

# %%
predict(
    "03_which_letters",
    "Which of the four holds every score of every head, only in another order?",
    ["thd,shd->ts", "thd,sgd->hts", "thd,thd->ht", "thd,shd->hst"],
)

# %% role="answer"
for equation in ("thd,shd->ts", "thd,sgd->hts", "thd,thd->ht", "thd,shd->hst"):
    made = torch.einsum(equation, query_heads, key_heads)
    print(f"{equation:14s} -> {tuple(made.shape)}")
    if made.shape == (2, 3, 3) and torch.equal(made.mT, scores) and "g" not in equation:
        compare_guess("03_which_letters", equation)

# %% [markdown]
# The first sums over the heads. The second pairs head h of the query with *every* head of the key, and sums.
# The third lets query t meet key t only. The fourth is correct but transposed: its rows are keys. With three
# tokens and two heads you can hardly tell from the shape.
#
# ### Two equal heads
#
# Look at the two tables of scores again. What is odd about them, if heads are meant to look at different
# things?

# %%
print("head 0 equals head 1:", torch.equal(scores[0], scores[1]))
print("head 0 equals its transpose:", torch.equal(scores[0], scores[0].T))

changed = w_q.clone()
changed[0, 0] = 0.0  # one entry of one matrix
other_scores = torch.einsum("thd,shd->hts", (x @ changed).view(3, 2, 2), key_heads)
print("scores, one entry changed", other_scores, sep="\n")
print("heads equal:", torch.equal(other_scores[0], other_scores[1]))
print("head 0 symmetric:", torch.equal(other_scores[0], other_scores[0].T))

# %% [markdown]
# Both heads have the same table, and the table is symmetric. As in lesson 01, that is an accident of these round
# numbers: change one entry and it is gone. A head sees its own columns, so its table is its own; and query and
# key are different things, so a table has no reason to be symmetric.

# %% role="draw"
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3), layout="constrained")
for panel_axes, table, title in zip(
    (left, right), other_scores / math.sqrt(2), ("head 0", "head 1"), strict=True
):
    table = table.softmax(-1)
    picture = panel_axes.imshow(table, cmap="cividis", vmin=0, vmax=1)
    panel_axes.set(
        title=title, xlabel="key: looked at", ylabel="query: who looks", xticks=range(3), yticks=range(3)
    )
    for i, j in [(i, j) for i in range(3) for j in range(3)]:
        ink = "black" if table[i, j] > 0.5 else "white"
        panel_axes.text(j, i, f"{table[i, j]:.2f}", ha="center", va="center", color=ink)
figure.colorbar(picture, ax=[left, right])
plt.show()

# %% [markdown]
# *The picture in words:* the attention weights of the two changed heads, two 3 × 3 grids on the scale from 0
# (dark blue) to 1 (yellow). They differ in rows 0 and 2. In head 0, token 0 looks at tokens 0 and 2 and hardly
# at token 1; in head 1 it looks at tokens 1 and 2 and hardly at itself. Row 1 is the same in both.
#
# ### Exercise 3: `multi_head_scores`
#
# Difficulty 2 of 5
#
# From queries (T, H, D) and keys (S, H, D) to scores (H, T, S), not scaled. With `einsum` it is one line; with
# `permute` and `@` it is a good exercise. The check draws T, S, H and D all different.
#
# <details><summary>I get an error in @ about the sizes of the first axis</summary>
#
# `@` works on the last two axes and pairs the axes before them, one by one. Which axis must come first, so that
# head 0 meets head 0?
#
# </details>
#
# <details><summary>The shape is (T, S), or the numbers are too large</summary>
#
# Some heads were added up. Go through your letters: which ones are missing after the arrow, and does the head
# have the same letter in both inputs?
#
# </details>
#
# <details><summary>It works on the small example only</summary>
#
# There T and S are equal, so one letter for both axes goes unnoticed. Give the keys' tokens a letter of their
# own.
#
# </details>


# %% exercise="multi_head_scores" role="solution"
def multi_head_scores(query: Tensor, key: Tensor) -> Tensor:
    """Dot product of every query with every key, for each head by itself; not scaled.

    query: (T, H, D); key: (S, H, D). Returns (H, T, S).
    """
    ### BEGIN SOLUTION
    return torch.einsum("thd,shd->hts", query, key)
    ### END SOLUTION


# %% exercise="multi_head_scores" role="check"
check(multi_head_scores)

# %% role="try"
# Try it: do yours agree with the example?
print(torch.equal(multi_head_scores(query_heads, key_heads), scores))

# %% [markdown]
# ## 5 · The whole thing
#
# Here is the whole of multi-head attention as a drawing, after figure 2 of Vaswani et al. (2017), with the names
# of this lesson. Read it from the bottom to the top.

# %% role="draw"
figure, axes = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
axes.set(xlim=(0, 10), ylim=(0, 6.4))
axes.axis("off")
box = {"boxstyle": "round,pad=0.35", "facecolor": "#f4e9c8", "edgecolor": "#00224e"}
levels = (  # height, text beside it
    (1.35, "queries, keys, values = x @ w_q, x @ w_k, x @ w_v"),
    (2.35, "view, transpose: (T, E) to (H, T, D)"),
    (3.35, "softmax(scores / √head_dim) @ values, in each head"),
    (4.45, "transpose, reshape: (H, T, D) to (T, E)"),
    (5.45, "concatenated @ w_o"),
)
for column, name in ((0.7, "Q"), (2.2, "K"), (3.7, "V")):
    axes.text(column, 0.3, "x", ha="center", va="center", color="black")
    axes.text(column, 1.35, f"linear {name}", ha="center", va="center", color="black", bbox=box)
    axes.text(column, 2.35, "split", ha="center", va="center", color="black", bbox=box)
    for low, high in ((0.5, 1.0), (1.7, 2.0), (2.7, 3.0)):
        axes.annotate("", (column, high), (column, low), arrowprops={"arrowstyle": "->"})
for behind in (0.24, 0.12, 0.0):  # one sheet for each head
    text = "scaled dot-product attention" if behind == 0 else " " * 52
    axes.text(2.2 + behind, 3.35 + behind, text, ha="center", va="center", color="black", bbox=box)
axes.text(2.2, 4.45, "merge", ha="center", va="center", color="black", bbox=box)
axes.text(2.2, 5.45, "linear O", ha="center", va="center", color="black", bbox=box)
for low, high in ((3.95, 4.1), (4.8, 5.1), (5.8, 6.2)):
    axes.annotate("", (2.2, high), (2.2, low), arrowprops={"arrowstyle": "->"})
for height, text in levels:
    axes.text(5.2, height, text, va="center", family="monospace", fontsize=8.5, color="black")
plt.show()

# %% [markdown]
# *The picture in words:* from the bottom, x goes into three linear layers, Q, K and V. Each result is split into heads.
# All three meet in the box of scaled dot-product attention, of which there is a stack, one for each head. Above it
# the heads are merged, and the last linear layer, O, gives the output. The code of each step is beside it.
#
# The rest of the small example, step by step. Scale, softmax over the keys: each head has a table of attention
# weights.

# %%
weights = (scores / math.sqrt(2)).softmax(dim=-1)  # head_dim is 2
print("weights", weights, sep="\n")

# %% [markdown]
# Each head averages its own values. Below the result is arranged (T, H, D), so that a token's two heads are
# neighbours; to join them, write them in one row. Compare with the list of single heads in section 2.

# %%
mixed_heads = torch.einsum("hts,shd->thd", weights, value_heads)
print("output of the heads", mixed_heads, sep="\n")

concatenated = mixed_heads.reshape(3, 4)
print("concatenated", concatenated, sep="\n")

# %% [markdown]
# Up to here the heads know nothing of each other: columns 0 and 1 come from head 0 alone. The **output
# projection**, a last matrix, lets every column of the result use all heads. One entry by hand, then all of
# them.

# %%
for number, weight in zip(concatenated[0], w_o[:, 0], strict=True):
    print(f"{number:.4f} · {weight:g} = {number * weight:.4f}")
print(f"sum: {concatenated[0] @ w_o[:, 0]:.4f}")

print("output", concatenated @ w_o, sep="\n")

# %% [markdown]
# ### A batch, step by step
#
# In real code there is a batch axis first, and the steps are `view`, `transpose`, attend, `transpose`,
# `contiguous`, `view`. Here are the shapes for one sequence of three tokens, eight numbers wide, and four
# heads. The example is from the batched tutorial of lesson 02.

# %%
torch.manual_seed(0)
x_wide = torch.tensor([[[1.0, 0.0] * 4, [0.0, 2.0] * 4, [1.0, 1.0] * 4]])
to_query, to_key, to_value = (nn.Linear(8, 8, bias=False) for _ in range(3))
with torch.no_grad():
    projected = [layer(x_wide) for layer in (to_query, to_key, to_value)]
    cut_heads = [one.view(1, 3, 4, 2).transpose(1, 2) for one in projected]
    wide_scores = cut_heads[0] @ cut_heads[1].transpose(-2, -1)
    wide_output = (wide_scores / math.sqrt(2)).softmax(-1) @ cut_heads[2]
swapped_back = wide_output.transpose(1, 2)
joined = swapped_back.contiguous().view(1, 3, 8)

print("x             (B, T, E)   ", tuple(x_wide.shape))
print("Q, K, V       (B, T, E)   ", *(tuple(one.shape) for one in projected))
print("heads         (B, H, T, D)", tuple(cut_heads[0].shape))
print("scores        (B, H, T, T)", tuple(wide_scores.shape))
print("mixed         (B, H, T, D)", tuple(wide_output.shape))
print("swapped back  (B, T, H, D)", tuple(swapped_back.shape))
print("joined        (B, T, E)   ", tuple(joined.shape))

# %% [markdown]
# ### Spot the slip
#
# The tutorial scales its scores like this:
#
# ```text
# attn_scores /= embedding_dim ** 0.5
# ```
#
# What is wrong, and would a check of shapes notice? Remember *why* we scale (lesson 02): a dot product of D random
# numbers spreads as √D.

# %%
predict(
    "03_wrong_root",
    "What does this line do to the attention weights of eight heads?",
    ["they become too sharp", "they become too flat", "their rows no longer sum to one", "nothing"],
)

# %% role="answer"
torch.manual_seed(1)
num_heads, head_dim = 8, 64
many_queries = torch.randn(200, num_heads, 1, head_dim)
many_keys = torch.randn(200, num_heads, 10, head_dim)
raw = many_queries @ many_keys.transpose(-2, -1)
entropies = []

print("spread of the scores:", f"{raw.std():.1f}")
for name, width in (("head_dim", head_dim), ("d_model", num_heads * head_dim)):
    scaled = raw / math.sqrt(width)
    row = scaled.softmax(dim=-1)
    entropy = -(row * row.log()).sum(-1).mean()
    entropies.append(entropy)
    print(
        f"divided by the root of {name:8s} = {math.sqrt(width):4.1f}: spread {scaled.std():.2f}, "
        f"largest weight {row.amax(-1).mean():.2f}, entropy {entropy:.2f}"
    )
print(f"entropy of ten equal weights: {math.log(10):.2f}")

compare_guess(
    "03_wrong_root", "they become too flat" if entropies[1] > entropies[0] else "they become too sharp"
)

# %% [markdown]
# Inside a head the vectors are only `head_dim` wide, so √head_dim is what brings the spread back to one.
# Dividing by √d_model is too much: the attention weights are too flat, closer to the plain average (an entropy
# closer to that of equal weights). Rows still sum to one and nothing fails. The slip is easily copied: lesson
# 07 meets it in another tutorial. With one head the two roots are the same, so one head hides it.
#
# ### Exercise 4: `multi_head_attention`
#
# Difficulty 3 of 5
#
# Project, split, attend in every head, merge, project once more. `x` may have any leading axes; all four
# matrices are (E, E) and are applied as `x @ w`. Use your `split_heads` and `merge_heads`; if one of them is
# still wrong, the check names it. Return the output and each head's attention weights.
#
# <details><summary>Is it the number of heads, head_dim or d_model under the root?</summary>
#
# Print the shape of your query after the split. The root belongs to the axis that the dot product sums over.
#
# </details>
#
# <details><summary>The attention weights are right, the output is not</summary>
#
# Three steps lie between them: attention weights times values, merge, last projection. Compare after each of
# them with the small example: "output of the heads", "concatenated", "output".
#
# </details>
#
# <details><summary>The check says that <code>num_heads</code> is never used</summary>
#
# With one head everything runs as well. `num_heads` has to be used before the scores are computed.
#
# </details>


# %% exercise="multi_head_attention" role="solution"
def multi_head_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
) -> tuple[Tensor, Tensor]:
    """Multi-head self-attention (Vaswani et al. 2017, section 3.2.2).

    x: (..., T, E); w_q, w_k, w_v and w_o: (E, E), applied as x @ w.
    Returns (output (..., T, E), weights (..., H, T, T)).
    """
    ### BEGIN SOLUTION
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=-1)
    return merge_heads(weights @ value) @ w_o, weights
    ### END SOLUTION


# %% exercise="multi_head_attention" role="check"
check(multi_head_attention)

# %% role="try"
# Try it: the small example. Both differences should be zero, up to rounding.
my_output, my_weights = multi_head_attention(x, w_q, w_k, w_v, w_o, 2)
print((my_output - concatenated @ w_o).abs().max().round(decimals=4))
print((my_weights - weights).abs().max().round(decimals=4))

# %% [markdown]
# ## 6 · A matrix for each head
#
# There is a second way to write heads, and Vaswani et al. (2017) use it: no cutting, but **a small matrix for
# each head**. Stack the small matrices and you get the big one, so the two are the same thing. Here `u` is stored
# as `nn.Linear` stores its matrix, output first: (H, D, E).

# %%
torch.manual_seed(2)
u = torch.randn(2, 3, 4)  # two heads, each from width 4 to width 3
stacked = u.reshape(6, 4)  # (H * D, E): one matrix below the other
together = x @ stacked.T  # (T, H * D)
for h in range(2):
    alone = x @ u[h].T
    same = torch.allclose(alone, together[:, 3 * h : 3 * h + 3])
    print(f"head {h}:", tuple(alone.shape), "same columns:", same)

# %% [markdown]
# ### Eight heads, from the first projection to the last
#
# With a matrix for each head, the widths are free: queries and keys may be 32 wide and values 64, whatever
# `d_model` is. The chapter of lesson 01 begins just that for its eight words ("can you help me to translate
# this sentence"): it draws random matrices of these sizes, and there it ends. We finish it, with an output
# projection from 8 · 64 = 512 numbers back to 16.

# %%
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])
torch.manual_seed(123)
embedded = nn.Embedding(10, 16)(sentence).detach()

torch.manual_seed(123)
one_u_query = torch.rand(32, 16)  # never used, but drawn before the others
u_query = torch.rand(8, 32, 16)
u_key = torch.rand(8, 32, 16)
u_value = torch.rand(8, 64, 16)
u_out = torch.rand(16, 8 * 64) / (8 * 64)  # ours; divided so that the output stays small

head_outputs, head_weights = [], []
for h in range(8):
    q_h, k_h, v_h = embedded @ u_query[h].T, embedded @ u_key[h].T, embedded @ u_value[h].T
    w_h = (q_h @ k_h.T / math.sqrt(32)).softmax(dim=-1)
    head_weights.append(w_h)
    head_outputs.append(w_h @ v_h)

side_by_side = torch.cat(head_outputs, dim=-1)
print("embedded sentence          ", tuple(embedded.shape))
print("one head: query, key, value", tuple(q_h.shape), tuple(k_h.shape), tuple(v_h.shape))
print("one head: weights, output  ", tuple(w_h.shape), tuple(head_outputs[0].shape))
print("eight heads side by side   ", tuple(side_by_side.shape))
print("projected back             ", tuple((side_by_side @ u_out.T).shape))

# %% role="draw"
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
figure, grid = plt.subplots(2, 4, figsize=(9.5, 5.2), layout="constrained", sharex=True, sharey=True)
for h, panel_axes in enumerate(grid.flat):
    picture = panel_axes.imshow(head_weights[h], cmap="cividis", vmin=0, vmax=1)
    panel_axes.set(title=f"head {h}", xticks=range(8), yticks=range(8))
    panel_axes.set_xticklabels(words, rotation=90)
    panel_axes.set_yticklabels(words)
figure.supxlabel("key: looked at")
figure.supylabel("query: who looks")
figure.colorbar(picture, ax=grid)
plt.show()

# %%
favourites = torch.stack([table.argmax(dim=-1) for table in head_weights])  # (H, T)
for t, word in enumerate(words):
    print(f"{word:10s} looks most at:", " ".join(f"{words[i]:9s}" for i in favourites[:, t].tolist()))
print(f"mean largest weight: {torch.stack(head_weights).amax(-1).mean():.2f}")

# %% [markdown]
# *The picture in words:* eight 8 × 8 grids, dark blue except for a few yellow cells. Most rows have one bright
# cell, and the bright cells are in the same few columns in all heads: "to", "translate" and "sentence".
#
# Eight heads, and yet they agree on most words (the lines above have one column for each head). Heads are
# *able* to look at different things; nothing makes them do so before training. Section 9 trains heads, and there
# they differ. The sums of the words' numbers show why these don't:

# %%
for word, total in zip(words, embedded.sum(-1).tolist(), strict=True):
    print(f"{word:10s} {total:6.2f}")

# %% [markdown]
# <details><summary>Why they agree, and why the attention weights are so sharp</summary>
#
# `torch.rand` draws numbers between 0 and 1, so all entries of all matrices are positive, and every head computes
# roughly the same thing, a sum of all features. A score is about the product of two such sums. So "can" and
# "sentence", whose sums are positive, look at the largest sum, "sentence"; the words with negative sums look at
# the most negative ones, "to" and "translate"; and "this", close to zero, can't decide. The attention weights are
# sharp for the reason that lesson 02 gives: the 32 products in a score mostly have the same sign and add up, and
# √32 is made for numbers of both signs, which partly cancel.
#
# </details>
#
# ### Exercise 5: `per_head_projection`
#
# Difficulty 2 of 5
#
# One product, easier than the last exercise. All heads' projections at once: `x` (..., T, E) and `u` (H, D, E)
# to (..., H, T, D). The check takes sizes in which D and E differ.
#
# <details><summary>I get a size mismatch</summary>
#
# `u` is stored output first, as in `nn.Linear`. With `@`, its last two axes have to be swapped; with `einsum`,
# E needs the same letter in both inputs.
#
# </details>
#
# <details><summary>It works without a batch, but not with one</summary>
#
# `x` (B, T, E) and `u` (H, D, E): in `@`, B would meet H. Where will the heads be in the result? An axis of
# length 1 in that place makes room for them. `einsum` has another way to say "any leading axes".
#
# </details>
#
# <details><summary>The shape is (..., T, H, D)</summary>
#
# The heads come after the tokens. The order of the letters after the arrow, or one more swap, decides that.
#
# </details>


# %% exercise="per_head_projection" role="solution"
def per_head_projection(x: Tensor, u: Tensor) -> Tensor:
    """Project every token with each head's own matrix.

    x: (..., T, E); u: (H, D, E), stored as nn.Linear stores its weight. Returns (..., H, T, D).
    """
    ### BEGIN SOLUTION
    return torch.einsum("...te,hde->...htd", x, u)
    ### END SOLUTION


# %% exercise="per_head_projection" role="check"
check(per_head_projection)

# %% role="try"
# Try it: eight heads in one call, compared with the loop's last head.
my_queries = per_head_projection(embedded, u_query)
print(tuple(my_queries.shape), torch.allclose(my_queries[7], q_h, atol=1e-4))

# %% [markdown]
# ## 7 · A module
#
# In a model the four matrices are parameters, so attention becomes an `nn.Module`: a class that keeps its
# layers as attributes and computes in `forward`. A small one first. `__init__` begins with
# `super().__init__()`; after it, each layer that is put into an attribute is registered under that name, so
# that an optimiser and `load_state_dict` find its parameters.


# %%
class TwoSteps(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2), nn.Linear(2, width)

    def forward(self, x):
        return self.second(self.first(x))


module = TwoSteps(4)
print({name: tuple(parameter.shape) for name, parameter in module.named_parameters()})
print("called like a function:", tuple(module(x).shape))

# %% [markdown]
# Two more things are new.
#
# **Two sequences.** `forward` takes query, key and value as separate arguments. In self-attention all three
# are the same tensor. In *cross-attention* the query comes from one sequence, say the translation so far. Key
# and value come from another, the sentence to be translated. Their lengths may differ: the attention weights
# are (B, H, Tq, Tk).
#
# **A mask.** Sometimes a token must not be looked at: padding, or the future. The mask is a tensor of True
# and False that fits the scores, and here **True means: may attend**. Where it is False the score becomes
# minus infinity *before* the softmax, and exp(−∞) is zero. Lesson 04 is all about masks; this is what you
# need now:

# %%
row_of_scores = torch.tensor([2.0, 4.0, 4.0])
may_look = torch.tensor([True, False, True])
hidden = row_of_scores.masked_fill(~may_look, -math.inf)  # fills where its argument is True
print("scores ", hidden)
print("weights", hidden.softmax(dim=-1), f"sum {hidden.softmax(dim=-1).sum():.2f}")
print("without a mask", row_of_scores.softmax(dim=-1))

# %% [markdown]
# The hidden key has weight zero, and the others share the 1 among them. If you set weights to zero *after* the
# softmax, the row no longer sums to one.
#
# Masks come in several shapes, and broadcasting makes them fit: a length-1 axis in the mask counts for every
# index of the scores' axis.

# %%
wide = torch.zeros(2, 5, 3, 4)  # (B, H, Tq, Tk)
for size, meaning in (
    ((3, 4), "the same for every sequence and head"),
    ((2, 1, 1, 4), "keys of each sequence: padding"),
    ((2, 1, 3, 4), "a table for each sequence"),
    ((2, 5, 3, 4), "a table for each sequence and head"),
):
    mask = torch.ones(size, dtype=torch.bool)
    print(f"{size!s:13s} fits: {wide.masked_fill(~mask, 0).shape == wide.shape}   {meaning}")

# %% [markdown]
# ### Exercise 6: `MultiHeadAttention`
#
# Difficulty 4 of 5
#
# A module with four `nn.Linear(d_model, d_model)` named `q_proj`, `k_proj`, `v_proj` and `out_proj`. The check
# loads its own numbers into them by these names, biases too. `nn.MultiheadAttention` and
# `F.multi_head_attention_forward` are excluded; you may use your `split_heads` and `merge_heads`.
#
# <details><summary>"The module has no parameter or buffer <code>q_proj.weight</code>"</summary>
#
# Parameters are found by the names of attributes, as in `TwoSteps`. A local variable or a Python list of layers
# is not seen. Keep the line `super().__init__()` first; it prepares the place for them.
#
# </details>
#
# <details><summary>Everything is right until a mask comes</summary>
#
# `masked_fill` fills where *its* argument is True, and your mask is True where nothing is to be filled. And it
# returns a new tensor: if you don't keep the result, nothing happens.
#
# </details>
#
# <details><summary>It fails where query and key differ in length</summary>
#
# Don't take sizes from `query` for everything. It is best to write no lengths at all: `split_heads` reads them
# from its argument.
#
# </details>
#
# <details><summary>My output doesn't change when I change <code>value</code></summary>
#
# Follow each argument through your code. Three projections, three arguments, each used once.
#
# </details>


# %% exercise="MultiHeadAttention" role="solution"
class MultiHeadAttention(nn.Module):
    """Multi-head attention with parameters of its own, for self- and cross-attention.

    Has q_proj, k_proj, v_proj and out_proj, each nn.Linear(d_model, d_model). forward takes query
    (B, Tq, E), key and value (B, Tk, E) and mask, bool, broadcastable to (B, H, Tq, Tk), True = may
    attend, or None. It returns (output (B, Tq, E), weights (B, H, Tq, Tk)).
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
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
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
# Try it: two sequences of 5 tokens look at two of 7, the last two keys of the second hidden.
my_attention = MultiHeadAttention(12, 3)
my_mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
my_mask[1, :, :, 5:] = False
my_output, my_weights = my_attention(
    torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12), my_mask
)
print("output", tuple(my_output.shape), " weights", tuple(my_weights.shape))
print("weight of the hidden keys:", my_weights[1, :, :, 5:].sum().item())

# %% [markdown]
# ## 8 · The same as PyTorch's
#
# PyTorch has all this built in as `nn.MultiheadAttention`. If your understanding is right, its parameters in
# your formula must give its numbers. Three differences to know:
#
# - it keeps the three input projections in one tall matrix, `in_proj_weight` (3E, E), query first;
# - its mask has the opposite meaning: **True means hidden**;
# - it averages the attention weights over the heads unless you say `average_attn_weights=False`.
#
# (`batch_first=True` makes it take (B, T, E).) First by hand, with nothing but cells from above:

# %%
torch.manual_seed(3)
torch_attention = nn.MultiheadAttention(16, 8, batch_first=True)
for bias in (torch_attention.in_proj_bias, torch_attention.out_proj.bias):
    nn.init.normal_(bias)  # both start at zero, which would hide a forgotten bias
print("in_proj_weight", tuple(torch_attention.in_proj_weight.shape))
parameters = sum(parameter.numel() for parameter in torch_attention.parameters())
print("parameters", parameters, "= 4 · (16 · 16 + 16) =", 4 * (16 * 16 + 16))

tokens = torch.randn(1, 5, 16)
with torch.no_grad():
    torch_output, torch_weights = torch_attention(tokens, tokens, tokens, average_attn_weights=False)
    w_query, w_key, w_value = torch_attention.in_proj_weight.chunk(3)
    b_query, b_key, b_value = torch_attention.in_proj_bias.chunk(3)
    q = (tokens @ w_query.T + b_query).view(1, 5, 8, 2).transpose(1, 2)
    k = (tokens @ w_key.T + b_key).view(1, 5, 8, 2).transpose(1, 2)
    v = (tokens @ w_value.T + b_value).view(1, 5, 8, 2).transpose(1, 2)
    by_hand = (q @ k.transpose(-2, -1) / math.sqrt(2)).softmax(dim=-1)
    merged = (by_hand @ v).transpose(1, 2).reshape(1, 5, 16)
    output_by_hand = merged @ torch_attention.out_proj.weight.T + torch_attention.out_proj.bias

print("weights agree:", torch.allclose(by_hand, torch_weights, atol=1e-6))
print("output agrees:", torch.allclose(output_by_hand, torch_output, atol=1e-6))

# %% [markdown]
# Now yours. The next cell copies PyTorch's parameters into your module and compares both on two different
# sequences and with a mask, each in its own convention.

# %% role="try"
# Try it: your module with PyTorch's parameters. Both lines should say True.
my_attention = MultiHeadAttention(16, 8)
with torch.no_grad():
    for my_layer, my_w, my_b in zip(
        (my_attention.q_proj, my_attention.k_proj, my_attention.v_proj),
        torch_attention.in_proj_weight.chunk(3),
        torch_attention.in_proj_bias.chunk(3),
        strict=True,
    ):
        my_layer.weight.copy_(my_w)
        my_layer.bias.copy_(my_b)
    my_attention.out_proj.load_state_dict(torch_attention.out_proj.state_dict())

    my_query, my_memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    my_mask = torch.ones(5, 7, dtype=torch.bool).tril(2)
    mine = my_attention(my_query, my_memory, my_memory, my_mask)
    theirs = torch_attention(
        my_query, my_memory, my_memory, attn_mask=~my_mask, average_attn_weights=False
    )
print("output: ", torch.allclose(mine[0], theirs[0], atol=1e-5))
print("weights:", torch.allclose(mine[1], theirs[1], atol=1e-5))

# %% [markdown]
# ## 9 · What heads learn
#
# Section 1 said that a token may want two things from two places. Does training find that out? The smallest
# test: sequences of eight random symbols, and for every token two questions. Which symbol comes **before** it?
# (Before token 0 comes the last one.) And which symbol is the **first** of the sequence? A random guess is
# right once in eight times.
#
# The model is one layer of attention: an embedding for the symbol, one for its place, two heads, and a linear
# layer that answers both questions. It is trained in a few seconds. `off` switches one head off, by setting its
# output to zero.

# %%
predict(
    "03_one_head_off",
    "After training, head 0 is switched off. What happens to the two answers?",
    [
        "both get a little worse",
        "both are lost",
        "one is lost, the other stays right",
        "nothing: head 1 can do both",
    ],
)


# %% role="answer" timed=true claim="each_head_takes_a_question"
class Fetch(nn.Module):
    """Answers two questions about each of 8 tokens: ids (B, 8) to logits (B, 8, 2, 8), and weights
    (B, H, 8, 8)."""

    def __init__(self, num_heads, width=32):
        super().__init__()
        self.num_heads = num_heads
        self.symbol, self.place = nn.Embedding(8, width), nn.Embedding(8, width)
        self.to_qkv, self.answer = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 2 * 8)

    def forward(self, ids, off=None):
        x = self.symbol(ids) + self.place.weight
        q, k, v = (
            t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1)
        )
        attention = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        keep = torch.tensor([float(h != off) for h in range(self.num_heads)]).view(-1, 1, 1)
        merged = (attention @ v * keep).transpose(1, 2).flatten(-2)
        return self.answer(merged).unflatten(-1, (2, 8)), attention


def draw_batch(size):
    ids = torch.randint(8, (size, 8))
    return ids, torch.stack([ids.roll(1, dims=1), ids[:, :1].expand(-1, 8)], dim=-1)


def train_to_fetch(num_heads, seed=0, steps=300):
    torch.manual_seed(seed)
    model = Fetch(num_heads)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        ids, answers = draw_batch(64)
        loss = nn.functional.cross_entropy(model(ids)[0].flatten(0, 2), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


model = train_to_fetch(num_heads=2)
ids, answers = draw_batch(500)
right = {}
with torch.no_grad():
    for name, off in (("both heads", None), ("without head 0", 0), ("without head 1", 1)):
        right[off] = (model(ids, off)[0].argmax(-1) == answers).float().mean((0, 1)).tolist()
        before, first = right[off]
        print(f"{name:15s} the one before: {before:4.0%} right   the first: {first:4.0%} right")
    learnt = model(ids)[1].mean(0)

worst, other = sorted(right[0])
if other > 0.9:
    outcome = "one is lost, the other stays right" if worst < 0.5 else "nothing: head 1 can do both"
else:
    outcome = "both are lost" if other < 0.5 else "both get a little worse"
compare_guess("03_one_head_off", outcome)

# %% role="draw"
figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
for h, panel_axes in enumerate(panels):
    picture = panel_axes.imshow(learnt[h], cmap="cividis", vmin=0, vmax=1)
    panel_axes.set(title=f"head {h}, after training", xlabel="key: looked at", ylabel="query: who looks")
figure.colorbar(picture, ax=list(panels))
plt.show()

# %% [markdown]
# *The picture in words:* two 8 × 8 grids. In one head the first column is yellow: every token looks at token 0.
# In the other a diagonal just left of the main one is yellow, and the right end of row 0: every token looks at
# the one before it. All other cells are dark.
#
# Nobody told the heads to share the work. Yet one looks at the first token and the other at the one before.
# Switch one off, and its question is answered no better than by a guess, while the other answer stays right.
#
# Such an **ablation** is how heads of real models are studied (lesson 10). Would one head have been enough? It
# has twice the width, but only one row of weights for each token. Six more models, each a few seconds:

# %% role="train" timed=true claim="one_head_makes_mistakes"
accuracy = {}
for num_heads in (1, 2):
    for seed in range(3):
        model = train_to_fetch(num_heads, seed)
        with torch.no_grad():
            before, first = (model(ids)[0].argmax(-1) == answers).float().mean((0, 1)).tolist()
        accuracy[num_heads, seed] = before, first
        print(f"heads: {num_heads}, seed {seed}:  the one before {before:6.1%}   the first {first:6.1%}")

# %% [markdown]
# Two heads answer every question right, whatever the seed. One head has to look at two places with one row of weights,
# half and half, as in section 1. Because the values carry their places too, it still gets most answers right, or it
# answers one question perfectly and gives up the other. Four times the steps (`train_to_fetch(1, seed, 1200)`) bring
# it closer, and it still makes mistakes that two heads don't make.
#
# ## 10 · Quiz
#
# ### Exercise 7: `quiz_03`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `head_dim` (a whole number): a model has `d_model` 768 and 12 heads. How wide is one head?
# 2. `weights_shape` (a shape): `MultiHeadAttention(12, 3)` is called with query (2, 5, 12), key (2, 7, 12) and
#    value (2, 7, 12). What is the shape of the attention weights?
# 3. `scores_shape` (a shape): what is the shape of `torch.einsum("thd,shd->hts", q, k)` for `q` (5, 3, 4) and
#    `k` (7, 3, 4)?
# 4. `after_split` (a whole number): `x` has 3 tokens of 6 numbers; entry [t, e] is 10·t + e. What is entry [1,
#    2, 0] of `split_heads(x, 3)`: head 1, token 2, first column?
# 5. `after_view` (a whole number): the same `x`. What is entry [1, 2, 0] of `x.view(3, 3, 2)`?
# 6. `parameters` (a whole number): how many parameters does `MultiHeadAttention(20, 5)` have, with biases?
# 7. `more_heads` (a letter): you use 8 heads instead of 4 and leave `d_model` as it is. Then
#    - a. each head is as wide as before, and there are twice as many parameters;
#    - b. each head is half as wide, and there are as many parameters as before;
#    - c. each head is half as wide, and there are half as many parameters;
#    - d. the tables of attention weights are half as large.
# 8. `contiguous` (a letter): why does `heads.transpose(1, 2).view(B, T, E)` raise an error after attention?
#    - a. `view` works on tensors with three axes only;
#    - b. `transpose` has lost the gradient;
#    - c. the numbers are in another order in memory than the axes say, and `view` copies nothing;
#    - d. B·T·E is not the number of entries.
# 9. `wrong_root` (a letter): scores in 8 heads are divided by √d_model instead of √head_dim. The attention
#    weights
#    - a. are too sharp: nearly all the weight on one key;
#    - b. are too flat: closer to a plain average;
#    - c. no longer sum to one;
#    - d. are the same, since softmax normalises.
# 10. `which_mask` (a letter): token 2 of three tokens is padding. Which mask hides it as a key, for `forward` of
#     `MultiHeadAttention`?
#     - a. `[True, True, False]`, added to the scores;
#     - b. `[False, False, True]`, since True means hidden;
#     - c. `[True, True, False]`, since True means may attend;
#     - d. `[[True], [True], [False]]`, since rows belong to tokens.

# %% exercise="quiz_03" role="solution"
quiz_03 = {
    "head_dim": ...,  # a whole number
    "weights_shape": ...,  # a shape, for example (2, 3, 4)
    "scores_shape": ...,  # a shape, for example (2, 3, 4)
    "after_split": ...,  # a whole number
    "after_view": ...,  # a whole number
    "parameters": ...,  # a whole number
    "more_heads": ...,  # "a", "b", "c" or "d"
    "contiguous": ...,  # "a", "b", "c" or "d"
    "wrong_root": ...,  # "a", "b", "c" or "d"
    "which_mask": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_03 = {
    "head_dim": 64,
    "weights_shape": (2, 3, 5, 7),
    "scores_shape": (3, 5, 7),
    "after_split": 22,
    "after_view": 14,
    "parameters": 1680,
    "more_heads": "b",
    "contiguous": "c",
    "wrong_root": "b",
    "which_mask": "c",
}
### END SOLUTION

# %% exercise="quiz_03" role="check"
check(quiz_03, "quiz_03")

# %% [markdown]
# ## What you can do now
#
# You have written multi-head attention twice, as a function and as a module that gives PyTorch's numbers. You can
# follow a number through view, transpose and contiguous, you read `einsum`, and you know the mistakes that no
# shape reveals: a view without a transpose, the wrong root, an inverted mask. And you have seen what a head is
# for, by switching it off.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.2: multi-head attention, with a matrix for
#   each head; the pictures on its last pages show heads of a trained model.
# - Voita et al. (2019), *Analyzing Multi-Head Self-Attention*, sections 5 and 6: what single heads do in a
#   trained translator, and how many can be removed.
# - Michel, Levy and Neubig (2019), *Are Sixteen Heads Really Better than One?*, section 3: one head at a time
#   switched off.
# - Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*, section 3: many heads for the
#   queries, one for keys and values, with its code in einsum.
#
# **Next lesson:** 04, *Masks*. There the future and the padding are hidden, and you see what happens to a row
# that may look at nothing at all.
