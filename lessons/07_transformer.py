# ---
# jupyter:
#   course:
#     about: the whole encoder-decoder in nineteen steps, equal to PyTorch's layers
#     picture: the nineteen steps with the shapes that go in and out
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
# # 07 · The whole Transformer
#
# You have all the parts: attention with several heads, masks, LayerNorm, embeddings with positions. This lesson
# puts them together into the model that the paper *Attention Is All You Need* describes, a translator: an
# **encoder** reads a sentence in one language, a **decoder** writes it in another, word by word.
#
# It takes nineteen steps. Each is small, and each ends with a check of its shapes. If your model fails later,
# you will be able to say at which step.
#
# **You need** lesson 03 (many heads, `nn.Module`), lesson 04 (masks; True means: may attend), lesson 05
# (LayerNorm, residual connections) and from lesson 06 that a position is a vector that is added.
#
# **Afterwards you can**
#
# - name the nineteen steps, and say for each what goes in and what comes out;
# - write encoder, decoder and the model that joins them, as modules whose parameters PyTorch finds;
# - say where dropout acts in this model, and what is wrong with four lines of a tutorial that builds it;
# - load the parameters of PyTorch's own encoder and decoder layers into yours and get the same numbers;
# - say how many parameters such a model has, and how much memory a pass takes.
#
# **Time:** <!-- time -->. The plan: tokens and masks (steps 1 to
# 3) → embedding (4, 5) → attention (6 to 12) → the block (13, 14) → encoder (15) → decoder (16 to 18) → the
# whole (19) → PyTorch's own → the full size → a quiz.
#
# | letter | meaning | in the large example |
# | --- | --- | --- |
# | `B` | batch: sentences handled together | 128 |
# | `Ts`, `Tt` | tokens of a source sentence, of a target sentence (`Tq`, `Tk`: of queries, of keys) | 28, 29 |
# | `E` | `d_model`, the width of a token's vector | 512 |
# | `H`, `D` | `num_heads`, `head_dim`; `d_model = num_heads * head_dim` | 8, 64 |
# | `V` | words in a vocabulary | 10 000 |

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from grader import check

torch.set_printoptions(precision=4, sci_mode=False)
torch.manual_seed(0)


def shape_line(label: str, tensor: Tensor, *expected: int) -> str:
    """A tensor's shape, and whether it is the expected one."""
    got = tuple(tensor.shape)
    return f"{label:22s} {got!s:20s} {'as expected' if got == expected else f'EXPECTED {expected}'}"


# %% [markdown]
# ## The map
#
# Here is the whole way in one picture. The arrow keys (or the slider) walk through the nineteen steps; the box
# in which a step takes place lights up, and beside it you see the shapes that go in and out. At the end of the
# lesson you give the tracer *your* model, and it shows where your shapes differ from these.
#
# Walk through it once. At which steps does the length 28 change to 29? Where do the two columns meet?

# %% role="draw"
from grader.views import ShapeTracer

ShapeTracer()

# %% [markdown]
# ## Step 1 · Token ids
#
# Two tensors of whole numbers go in: the source sentences, and the target sentences as far as they are
# written. Each number is the index of a word in a vocabulary. Short sentences are filled up with padding
# (lesson 04). Each language has a padding id of its own; here they are 1 and 2.

# %%
src_pad, trg_pad = 1, 2
src_lengths, trg_lengths = torch.randint(10, 29, (128, 1)), torch.randint(10, 30, (128, 1))
src = torch.randint(3, 10000, (128, 28))  # words have ids from 3 on
trg = torch.randint(3, 10000, (128, 29))
src = src.where(torch.arange(28) < src_lengths, src_pad)
trg = trg.where(torch.arange(29) < trg_lengths, trg_pad)

print(shape_line("src", src, 128, 28))
print(shape_line("trg", trg, 128, 29))
print("source sentence 0:", src[0, :4].tolist(), "...", src[0, -4:].tolist())

# %% [markdown]
# ## Step 2 · Do the heads fit?
#
# The vector of a token, 512 numbers, is shared among 8 heads, so 8 must divide 512. Checking it before anything is
# computed saves you from an error message in the middle of the model.

# %%
d_model, num_heads = 512, 8
head_dim = d_model // num_heads
assert head_dim * num_heads == d_model
print("head_dim =", head_dim)

# %% [markdown]
# ## Step 3 · Two masks
#
# The source mask hides padding: (B, 1, 1, Ts), the same for every head and every query. The target mask has a
# row for each query, since each may look a little further than the one before: (B, 1, Tt, Tt).
#
# Three functions are given, from lesson 04. They are locked; nothing is graded here.

# %% role="given"
from lesson_04 import causal_mask, decoder_mask, padding_mask

# %%
src_mask = padding_mask(src, src_pad)
trg_mask = decoder_mask(trg, trg_pad)
print(shape_line("src_mask", src_mask, 128, 1, 1, 28))
print(shape_line("trg_mask", trg_mask, 128, 1, 29, 29))

# %% [markdown]
# ### Spot the slip
#
# The Transformer tutorial, whose nineteen steps we follow, makes its target mask like this:
#
# ```text
# torch.tril(torch.ones((L, L))).expand(N, 1, L, L)
# ```
#
# Lesson 04 showed it on three short sentences. What is missing, and how many of our 128 sentences does it
# concern? Think first; the next cell counts the pairs of query and key that this mask lets through and should
# hide.

# %%
page_mask = torch.ones(29, 29).tril().expand(128, 1, 29, 29) == 1
wrongly_seen = page_mask & ~trg_mask
print("sentences with padding:", int((trg == trg_pad).any(dim=1).sum()), "of 128")
print("pairs let through:", int(page_mask.sum()), "of which to padding:", int(wrongly_seen.sum()))
share = wrongly_seen.sum() / page_mask.sum()
print(f"that is {100 * share:.0f} %")

# %% [markdown]
# It hides the future only. Here all padding is at the end, so only padding looks at padding; before the words it
# would do harm, as you saw. A mask that covers both costs one `&`.

# %% role="draw"
sentence = int((trg != trg_pad).sum(dim=1).argmin())
panels = [(page_mask[sentence, 0], "the page's mask"), (trg_mask[sentence, 0], "future and padding hidden")]
figure, row_of_axes = plt.subplots(1, 2, figsize=(7.4, 3.7), layout="constrained")
for axes, (table, title) in zip(row_of_axes, panels, strict=True):
    axes.imshow(table, cmap="cividis", vmin=0, vmax=1)
    axes.set(title=title, xlabel="key", ylabel="query")
plt.show()

# %% [markdown]
# *The picture in words:* two 29 × 29 grids, yellow where a query may look. On the left a full triangle: the
# diagonal and everything below it. On the right the same triangle cut off by a vertical edge: the columns of
# the padding are dark.
#
# ## Step 4 · Ids become vectors
#
# Attention computes with vectors, so each id looks up its row in a table with a row for every word
# (lesson 06). `nn.Embedding` is that table.

# %%
word_table = nn.Embedding(10000, 512)
embedded = word_table(src)
print(shape_line("embedded", embedded, 128, 28, 512))

# %% [markdown]
# ## Step 5 · Positions
#
# Attention doesn't see order (lesson 06), so a position is added. A second table has a row for every *position*,
# 0 to `max_length` − 1. Positions are the same in every sentence, so (28, 512) is enough: broadcasting adds it
# to all 128.
#
# **Dropout** is applied to the sum: in training it sets a share of the numbers to zero at random and scales up the
# others, so that the model can't rely on a single one. In eval mode it does nothing.

# %%
place_table = nn.Embedding(100, 512)
place_vectors = place_table(torch.arange(28))
drop_tenth = nn.Dropout(0.1)

x = drop_tenth(embedded + place_vectors).detach()
print(shape_line("place_vectors", place_vectors, 28, 512))
print(shape_line("x", x, 128, 28, 512))
print(f"set to zero by dropout: {(x == 0).float().mean():.2f}")

# %% [markdown]
# A sentence of 101 tokens would look for row 100 of a table that ends with row 99, and PyTorch would say
# "index out of range in self". Your modules will say something more helpful: a `ValueError` that names both
# numbers.
#
# ## Step 6 · Queries, keys, values
#
# Steps 6 to 12 are lesson 03's attention, seen in slow motion at full size. First three linear layers.

# %%
to_query, to_key, to_value, to_output = (nn.Linear(512, 512) for _ in range(4))
with torch.no_grad():
    query_rows, key_rows, value_rows = to_query(x), to_key(x), to_value(x)
print(shape_line("query_rows", query_rows, 128, 28, 512))
print(shape_line("key_rows", key_rows, 128, 28, 512))
print(shape_line("value_rows", value_rows, 128, 28, 512))

# %% [markdown]
# ## Step 7 · Cut into heads
#
# The last axis, 512 numbers, becomes 8 heads of 64. The axes are token, head, column here; the einsum of the
# next step works with the heads after the tokens.

# %%
all_rows = (query_rows, key_rows, value_rows)
query_heads, key_heads, value_heads = (projected.view(128, 28, 8, 64) for projected in all_rows)
print(shape_line("query_heads", query_heads, 128, 28, 8, 64))
print(shape_line("key_heads", key_heads, 128, 28, 8, 64))
print(shape_line("value_heads", value_heads, 128, 28, 8, 64))

# %% [markdown]
# ## Step 8 · Scores
#
# Every query meets every key, in each head by itself. Read the letters: `d` is absent after the arrow, so it
# is summed over; `q` and `k` are two letters, so each pair gets a score.

# %%
scores = torch.einsum("bqhd,bkhd->bhqk", query_heads, key_heads)
print(shape_line("scores", scores, 128, 8, 28, 28))

# %% [markdown]
# ## Step 9 · Hide what must not be seen
#
# The mask (128, 1, 1, 28) broadcasts over heads and queries. Hidden scores become −∞.

# %%
masked = scores.masked_fill(~src_mask, -math.inf)
print(shape_line("masked", masked, 128, 8, 28, 28))
print("hidden:", int(torch.isinf(masked).sum()), "of", masked.numel(), "scores")

# %% [markdown]
# ### Spot the slip
#
# The tutorial fills with a large number instead, `energy.masked_fill(mask == 0, -1e20)`. In float32 that also gives
# an exact zero, as long as the row sees anything (lesson 04). Many models compute in float16, whose
# largest number is 65 504. What happens there?

# %%
for fill in (-1e20, -math.inf):
    row = torch.tensor([2.0, 1.0, 3.0, 0.0], dtype=torch.float16)
    try:
        row = row.masked_fill(torch.tensor([False, False, True, True]), fill)
        print(f"{fill}: weights", [round(weight, 2) for weight in row.softmax(-1).tolist()])
    except RuntimeError as error:
        print(f"{fill}: RuntimeError:", str(error).splitlines()[0])

# %% [markdown]
# PyTorch refuses: −10²⁰ is no float16. Minus infinity is one.
#
# ## Step 10 · Scale, softmax
#
# Divide by a root, then share 1 among the keys of each row.
#
# ### Spot the slip
#
# The tutorial divides by `sqrt(E)`. You have met this slip in lesson 03: the dot products are over the 64 numbers
# of a *head*. What does the wrong root do to the weights? Entropy (lesson 02) measures how evenly a row looks
# around. The cell draws queries and keys with a spread of 1, as lesson 02 did.

# %%
drawn_scores = torch.einsum("bqhd,bkhd->bhqk", torch.randn(8, 28, 8, 64), torch.randn(8, 28, 8, 64))
for root_of, width in (("E", 512), ("head_dim", 64)):
    rows = (drawn_scores / math.sqrt(width)).softmax(dim=-1)
    entropy = -(rows * rows.log()).sum(-1).mean()
    largest = rows.amax(-1).mean()
    print(f"divided by sqrt({root_of}) = {math.sqrt(width):4.1f}: entropy {entropy:.2f}, largest weight {largest:.2f}")
print(f"all 28 keys alike: entropy {math.log(28):.2f}")

# %% [markdown]
# With √E the rows are nearly those of a plain average. So we divide by √head_dim.

# %%
attention_weights = (masked / math.sqrt(head_dim)).softmax(dim=-1)
print(shape_line("attention_weights", attention_weights, 128, 8, 28, 28))
print(f"rows sum to one: {torch.allclose(attention_weights.sum(-1), torch.ones(128, 8, 28))}")
print(f"weight of padding: {(attention_weights * ~src_mask).sum().item():.1f}")

# %% [markdown]
# ## Step 11 · Mix the values
#
# Each query takes its mixture of the values, in each head. The letter `k` is gone: summed over.

# %%
mixed = torch.einsum("bhqk,bkhd->bqhd", attention_weights, value_heads)
print(shape_line("mixed", mixed, 128, 28, 8, 64))

# %% [markdown]
# ## Step 12 · Join the heads, project
#
# The heads come after the tokens here, so they can be joined without a transpose. Then the last of the four linear
# layers lets every column use all heads.

# %%
joined = mixed.reshape(128, 28, 512)
with torch.no_grad():
    attended = to_output(joined)
print(shape_line("joined", joined, 128, 28, 512))
print(shape_line("attended", attended, 128, 28, 512))

# %% [markdown]
# That was attention once more. From here on it is one module, the one you wrote in lesson 03. Its solution is
# given below; remember the order of its arguments: **query, key, value**, mask. It returns the output and the
# weights.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %%
in_one = MultiHeadAttention(512, 8)
in_one.q_proj, in_one.k_proj, in_one.v_proj, in_one.out_proj = to_query, to_key, to_value, to_output
with torch.no_grad():
    in_one_output, in_one_weights = in_one(x, x, x, src_mask)
print("the module's output is that of steps 6 to 12:", torch.allclose(in_one_output, attended, atol=1e-5))

# %% [markdown]
# ## Step 13 · Add, normalise
#
# Attention's output alone would forget the token itself. So it is *added* to what went in (lesson 05), and the
# sum is normalised, token by token: LayerNorm(x + attention(x)). This order, first add and then normalise, is
# called post-norm. In training, dropout acts too. Where?
#
# ### Spot the slip
#
# The tutorial writes
#
# ```text
# x = dropout(norm(attention + query))
# ```
#
# Vaswani et al. (2017, section 5.4) apply dropout "to the output of each sub-layer, before it is added to the sub-layer
# input and normalized". Both lines run, both have the right shape, and in eval mode they are the same. Before
# you run the cell: which numbers does each of them set to zero?

# %%
first_norm = nn.LayerNorm(512)
with torch.no_grad():
    page = drop_tenth(first_norm(attended + x))
    paper = first_norm(x + drop_tenth(attended))

for whose, result in (("the page", page), ("the paper", paper)):
    share_of_zeros, spread = (result == 0).float().mean(), result.std(dim=-1).mean()
    print(f"{whose:9s}: zeros {100 * share_of_zeros:4.1f} %, spread of a token's numbers {spread:.3f}")

# %% [markdown]
# The tutorial sets a tenth of everything the token knows to zero, its own word included, in every layer. The paper
# drops a tenth of what attention *found*; the token itself always gets through, and what leaves the norm is
# normalised: its spread is 1. We use the paper's order, here and in steps 14 and 16.

# %%
with torch.no_grad():
    x_attended = first_norm(x + drop_tenth(attended))
print(shape_line("x_attended", x_attended, 128, 28, 512))

# %% [markdown]
# ## Step 14 · Two layers for every token by itself
#
# Attention mixes tokens. Then each token is worked on alone, by the same small network for all: one linear
# layer from 512 to 2048 numbers, ReLU (negative numbers become zero), one layer back to 512. Around it again
# dropout, addition, norm.
#
# Why the ReLU? Two linear layers in a row are no more than one. A small case, with numbers you can check:

# %%
one_matrix, other_matrix = torch.tensor([[1.0, -1.0], [2.0, 1.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
one_token = torch.tensor([1.0, 3.0])
print("two layers, nothing between:", other_matrix @ (one_matrix @ one_token))
print("one layer, the product:     ", (other_matrix @ one_matrix) @ one_token)
print("with ReLU between:          ", other_matrix @ (one_matrix @ one_token).relu())

# %%
wider, back_again = nn.Linear(512, 2048), nn.Linear(2048, 512)
second_norm = nn.LayerNorm(512)
with torch.no_grad():
    inner = wider(x_attended).relu()
    worked_on = back_again(inner)
    block_output = second_norm(x_attended + drop_tenth(worked_on))
print(shape_line("inner", inner, 128, 28, 2048))
print(shape_line("worked_on", worked_on, 128, 28, 512))
print(shape_line("block_output", block_output, 128, 28, 512))

# %% [markdown]
# ### Exercise 1: `FeedForward`
#
# Difficulty 1 of 5
#
# A module with two linear layers, named `linear1` (from `d_model` to `d_ff`) and `linear2` (back), and ReLU
# between them. The norm and the addition don't belong to it. As in all exercises of this lesson,
# `nn.MultiheadAttention` and all of `nn.Transformer*` are excluded.
#
# <details><summary>"The module has no parameter or buffer `linear1.weight`"</summary>
#
# The check loads numbers of its own by the names of your attributes. Is the layer called `self.linear1`, and
# does `super().__init__()` come first?
#
# </details>
#
# <details><summary>My result has no negative numbers</summary>
#
# ReLU belongs between the layers. What leaves the second one is added to the token's vector, and it must be
# able to be negative as well.
#
# </details>


# %% exercise="FeedForward" role="solution"
class FeedForward(nn.Module):
    """The same two layers for every token by itself: wider, ReLU, back again (Vaswani et al. 2017, section 3.3).

    Has linear1, nn.Linear(d_model, d_ff), and linear2, nn.Linear(d_ff, d_model). forward: (..., E) to (..., E).
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        return self.linear2(self.linear1(x).relu())
        ### END SOLUTION


# %% exercise="FeedForward" role="check"
check(FeedForward)

# %% role="try"
# Try it: step 14's shapes with your module.
my_feed_forward = FeedForward(512, 2048)
with torch.no_grad():
    print(shape_line("my feed-forward", my_feed_forward(x_attended), 128, 28, 512))

# %% [markdown]
# ### Exercise 2: `TransformerBlock`
#
# Difficulty 3 of 5
#
# Steps 6 to 14 in one module: attention, then the feed-forward layers, and around each of the two dropout,
# addition and norm. The attributes are `attention`, `norm1`, `norm2`, `feed_forward` and `dropout`.
#
# `forward(value, key, query, mask=None)` takes three tensors because the decoder will call it with two
# different sequences. Take care: this order, which is the tutorial's, is **not** that of `MultiHeadAttention`.
# The result has the shape of `query`.
#
# <details><summary>"The size of tensor a (…) must match the size of tensor b (…)"</summary>
#
# The check takes more keys than queries. The attention's output has a row for each query: to which of the
# three arguments can it be added?
#
# </details>
#
# <details><summary>An error in a matrix product inside the attention</summary>
#
# Look at the order of arguments: in your `forward`, and in the call of `self.attention`. Writing the names,
# `query=query`, makes you independent of orders. And the attention returns two things.
#
# </details>
#
# <details><summary>Only "in train mode" fails</summary>
#
# There the check drops everything (`dropout` is nearly 1). What should be left when the outputs of both
# sub-layers are gone? Not nothing. Count also how often `forward` calls `self.dropout`.
#
# </details>
#
# <details><summary>Everything agrees except for a few digits</summary>
#
# A new LayerNorm multiplies by 1 and adds 0, so a wrong norm hides. The check loads other numbers. Does each
# sub-layer use its own norm?
#
# </details>


# %% exercise="TransformerBlock" role="solution"
class TransformerBlock(nn.Module):
    """Attention, then the feed-forward layers, each followed by dropout, addition and LayerNorm (post-norm).

    Has attention (MultiHeadAttention), norm1 and norm2 (nn.LayerNorm), feed_forward (FeedForward) and dropout
    (nn.Dropout). forward takes value and key (B, Tk, E), query (B, Tq, E) and mask, bool, broadcastable to
    (B, H, Tq, Tk), True = may attend, or None. It returns (B, Tq, E).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, value: Tensor, key: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
        ### BEGIN SOLUTION
        attended, _ = self.attention(query, key, value, mask)
        x = self.norm1(query + self.dropout(attended))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% exercise="TransformerBlock" role="check"
check(TransformerBlock)

# %% role="try"
# Try it: step 14's shape, and dropout in train mode only.
my_block = TransformerBlock(512, 8, 2048, dropout=0.1)
with torch.no_grad():
    print(shape_line("my block", my_block(x, x, x, src_mask), 128, 28, 512))
    print("train mode, called twice, alike:", torch.equal(my_block(x, x, x, src_mask), my_block(x, x, x, src_mask)))
    my_block.eval()
    print("eval mode, called twice, alike: ", torch.equal(my_block(x, x, x, src_mask), my_block(x, x, x, src_mask)))

# %% [markdown]
# ## Step 15 · The encoder: block after block
#
# The encoder is steps 4 and 5, and then `num_layers` blocks. All have the same structure; each has parameters
# of its own. What one gives, the next takes: as value, key and query alike.
#
# The blocks are yours to write, so here PyTorch's own take their place. Whatever is inside: (B, Ts, E) goes in and
# (B, Ts, E) comes out, as often as you like.

# %%
stand_ins = nn.ModuleList(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(2)).eval()
memory = x
with torch.no_grad():
    for depth, stand_in in enumerate(stand_ins):
        memory = stand_in(memory, src_key_padding_mask=src == src_pad)
        print(shape_line(f"after layer {depth}", memory, 128, 28, 512))

# %% [markdown]
# ### A list that PyTorch can see into
#
# Why `nn.ModuleList`, and not a Python list? A module finds its parameters through its attributes. It looks
# into attributes that are modules, and nowhere else. And why build a new block for each layer?


# %%
class Three(nn.Module):
    def __init__(self, three_layers):
        super().__init__()
        self.three_layers = three_layers


def how_many(some_module):
    return sum(one_parameter.numel() for one_parameter in some_module.parameters())


one_linear = nn.Linear(4, 4)
print("one layer:                    ", how_many(one_linear))
print("three in a Python list:       ", how_many(Three([nn.Linear(4, 4) for _ in range(3)])))
print("three in a ModuleList:        ", how_many(Three(nn.ModuleList(nn.Linear(4, 4) for _ in range(3)))))
print("one, three times, in such one:", how_many(Three(nn.ModuleList([one_linear] * 3))))

# %% [markdown]
# In a Python list the layers would work, and never be trained: the optimiser never sees them. And `[layer] * 3` is
# one layer, listed three times.
#
# ### Exercise 3: `Encoder`
#
# Difficulty 3 of 5
#
# Steps 4, 5 and 15. The attributes are `token_embedding`, `position_embedding` (both `nn.Embedding`, the second
# with `max_length` rows), `layers` (an `nn.ModuleList` of your `TransformerBlock`) and `dropout`.
# `forward(tokens, mask)` returns (B, T, E). More tokens than `max_length` raise `ValueError` with both numbers in
# its message. (The paper multiplies the embedding by √E; this model doesn't.)
#
# <details><summary>"The module has no parameter or buffer `layers.0...`"</summary>
#
# Print `[name for name, _ in Encoder(10, 6, 2, 3, 5).named_parameters()]`. Are the layers there, with the
# numbers 0 and 1?
#
# </details>
#
# <details><summary>One layer is right, two are not</summary>
#
# Which variable goes into the second layer? Follow it through the loop. And how far is your `return` indented?
#
# </details>
#
# <details><summary>I get "index out of range in self"</summary>
#
# A table is asked for a row that it doesn't have. Which of the two tables, and what are you looking up in it,
# the tokens or their places?
#
# </details>


# %% exercise="Encoder" role="solution"
class Encoder(nn.Module):
    """Embedding plus position, dropout, then num_layers blocks, one after the other.

    Has token_embedding and position_embedding (nn.Embedding), layers (nn.ModuleList of TransformerBlock) and dropout.
    forward takes tokens, integer ids (B, T), and mask, bool, broadcastable to (B, H, T, T), or None; it returns
    (B, T, E). Raises ValueError, naming both numbers, if T exceeds max_length.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        max_length: int = 100,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        ### BEGIN SOLUTION
        seq_len = tokens.shape[1]
        if seq_len > self.max_length:
            raise ValueError(f"seq_len={seq_len} exceeds max_length={self.max_length}")
        positions = torch.arange(seq_len, device=tokens.device)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x
        ### END SOLUTION


# %% exercise="Encoder" role="check"
check(Encoder)

# %% role="try"
# Try it: step 15's shape with two layers, and a sentence that is too long.
my_encoder = Encoder(10000, 512, 2, 8, 2048).eval()
with torch.no_grad():
    print(shape_line("my encoder", my_encoder(src, src_mask), 128, 28, 512))
try:
    my_encoder(torch.zeros(1, 101, dtype=torch.long), torch.ones(1, 1, 1, 101, dtype=torch.bool))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# ## Step 16 · The decoder block begins: the target looks at itself
#
# The decoder works on the target. Its tokens become vectors as in steps 4 and 5, with tables of its own. A
# block then begins like the encoder's: attention over the target itself, under the target's mask, added and
# normalised. The result is called *query*, because it will query the memory.

# %%
target = (nn.Embedding(10000, 512)(trg) + nn.Embedding(100, 512)(torch.arange(29))).detach()
self_attention, norm_of_target = MultiHeadAttention(512, 8), nn.LayerNorm(512)
with torch.no_grad():
    found, found_weights = self_attention(target, target, target, trg_mask)
    target_query = norm_of_target(target + drop_tenth(found))
print(shape_line("target", target, 128, 29, 512))
print(shape_line("found_weights", found_weights, 128, 8, 29, 29))
print(shape_line("target_query", target_query, 128, 29, 512))

# %% [markdown]
# ## Step 17 · It goes on: the target asks the source
#
# Now comes the only place where the two languages meet. The query comes from the target, 29 rows; key and
# value come from the encoder's output, called **memory**, 28 rows. Each word of the target asks: which words of
# the source concern me? This is *cross-attention*. The mask is that of the source: its padding is hidden, and none
# of it is in the future, because the whole source is known.

# %%
cross_attention = MultiHeadAttention(512, 8)
with torch.no_grad():
    answer, cross_weights = cross_attention(target_query, memory, memory, src_mask)
print(shape_line("answer", answer, 128, 29, 512))
print(shape_line("cross_weights", cross_weights, 128, 8, 29, 28))

# %% [markdown]
# Addition, norm and feed-forward layers follow. All of step 17 is something you already have: a
# `TransformerBlock` whose value and key are the memory.

# %% role="draw"
shortest = int((src != src_pad).sum(dim=1).argmin())
tables = (found_weights[shortest].mean(0), cross_weights[shortest].mean(0))
titles = ("target looks at target (step 16)", "target looks at source (step 17)")
figure, row_of_axes = plt.subplots(1, 2, figsize=(8.6, 4), layout="constrained")
for axes, table, title in zip(row_of_axes, tables, titles, strict=True):
    picture = axes.imshow(table, cmap="cividis", vmin=0, vmax=0.25)
    axes.set(title=title, xlabel="key: looked at", ylabel="query: who looks")
figure.colorbar(picture, ax=list(row_of_axes), label="weight, mean of 8 heads")
plt.show()

# %% [markdown]
# *The picture in words:* two grids of weights, 29 rows each, of an untrained model. On the left a triangle that
# is brightest at its top, where a row has few keys to share its 1 among, and that is cut off on the right, where
# the padding begins. On the right all rows look alike: a grey band over the ten words of the source, about 0.1
# for each, and dark columns for its padding. After training (lesson 08) the right one shows which word is
# translated by which.
#
# ### Exercise 4: `DecoderBlock`
#
# Difficulty 3 of 5
#
# Steps 16 and 17. The attributes are `attention`, `norm`, `block` (your `TransformerBlock`) and `dropout`.
# `forward(x, memory, src_mask, trg_mask)` returns the shape of `x`.
#
# <details><summary>"The size of tensor a (…) must match the size of tensor b (…)"</summary>
#
# The last number is a length. The target's mask is as wide as the target is long, the source's mask as the
# source. Which attention got which?
#
# </details>
#
# <details><summary>My result has as many rows as the source</summary>
#
# The result has a row for each query. Who asks in step 17? And in which order does your block take its three?
#
# </details>
#
# <details><summary>Nothing changes when I change `memory`</summary>
#
# Then the source is never looked at. What are the key and the value of the second attention?
#
# </details>


# %% exercise="DecoderBlock" role="solution"
class DecoderBlock(nn.Module):
    """Masked self-attention over the target, then a TransformerBlock whose query looks at the encoder's output.

    Has attention (MultiHeadAttention), norm (nn.LayerNorm), block (TransformerBlock) and dropout (nn.Dropout). forward
    takes x (B, Tq, E), memory (B, Tk, E), src_mask, broadcastable to (B, H, Tq, Tk), and trg_mask, broadcastable to
    (B, H, Tq, Tq), bool, True = may attend, or None. It returns (B, Tq, E).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, memory: Tensor, src_mask: Tensor | None, trg_mask: Tensor | None) -> Tensor:
        ### BEGIN SOLUTION
        attended, _ = self.attention(x, x, x, trg_mask)
        query = self.norm(x + self.dropout(attended))
        return self.block(memory, memory, query, src_mask)
        ### END SOLUTION


# %% exercise="DecoderBlock" role="check"
check(DecoderBlock)

# %% role="try"
# Try it: step 17's shape.
my_decoder_block = DecoderBlock(512, 8, 2048).eval()
with torch.no_grad():
    print(shape_line("my decoder block", my_decoder_block(target, memory, src_mask, trg_mask), 128, 29, 512))

# %% [markdown]
# ## Step 18 · The decoder: blocks, then a score for every word
#
# `num_layers` such blocks follow one another. Each gets the *same* memory: the encoder's final output, not that
# of the encoder's layer beside it.
#
# A last linear layer, `fc_out`, turns the 512 numbers of each position into 10 000: a score for every word of
# the target's vocabulary. Such scores before any softmax are called **logits**. Here again PyTorch's layers take the
# place of yours.

# %%
decoder_stand_ins = nn.ModuleList(nn.TransformerDecoderLayer(512, 8, 2048, batch_first=True) for _ in range(2)).eval()
to_words = nn.Linear(512, 10000)
hidden = ~torch.ones(29, 29, dtype=torch.bool).tril()  # PyTorch's masks: True means hidden
hidden_words, hidden_memory = trg == trg_pad, src == src_pad
y = target
with torch.no_grad():
    for depth, stand_in in enumerate(decoder_stand_ins):
        y = stand_in(y, memory, hidden, None, hidden_words, hidden_memory)
        print(shape_line(f"after layer {depth}", y, 128, 29, 512))
    logits = to_words(y)
print(shape_line("logits", logits, 128, 29, 10000))

# %% [markdown]
# ### Exercise 5: `Decoder`
#
# Difficulty 2 of 5
#
# Steps 4, 5 and 18, with the attributes of `Encoder` and one more, `fc_out`. `layers` holds your
# `DecoderBlock`s. `forward(tokens, memory, src_mask, trg_mask)` returns logits (B, T, V): no softmax, the loss of
# lesson 08 wants them raw. Too many tokens raise `ValueError` as before.
#
# <details><summary>My results are all between 0 and 1, or all negative</summary>
#
# Those are probabilities, or their logarithms. Logits are what goes *into* a softmax.
#
# </details>
#
# <details><summary>Must I write the embedding a second time?</summary>
#
# You may copy it, put it into a function that both use, or let both classes inherit it. The check only asks for
# the names of the parameters.
#
# </details>


# %% exercise="Decoder" role="solution"
class Decoder(nn.Module):
    """As the encoder, with DecoderBlocks, and a last layer that gives every position a score for every word.

    Has token_embedding, position_embedding, layers (nn.ModuleList of DecoderBlock), dropout and fc_out, nn.Linear(
    d_model, vocab_size). forward takes tokens, integer ids (B, T), memory (B, Tk, E), src_mask and trg_mask as
    DecoderBlock; it returns logits (B, T, V). Raises ValueError, naming both numbers, if T exceeds max_length.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        max_length: int = 100,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)
        ### END SOLUTION

    def forward(self, tokens: Tensor, memory: Tensor, src_mask: Tensor | None, trg_mask: Tensor | None) -> Tensor:
        ### BEGIN SOLUTION
        seq_len = tokens.shape[1]
        if seq_len > self.max_length:
            raise ValueError(f"seq_len={seq_len} exceeds max_length={self.max_length}")
        positions = torch.arange(seq_len, device=tokens.device)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)
        ### END SOLUTION


# %% exercise="Decoder" role="check"
check(Decoder)

# %% role="try"
# Try it: step 18's shape with two layers.
my_decoder = Decoder(10000, 512, 2, 8, 2048).eval()
with torch.no_grad():
    print(shape_line("my decoder", my_decoder(trg, memory, src_mask, trg_mask), 128, 29, 10000))

# %% [markdown]
# ## Step 19 · The whole
#
# What is left is to connect: make both masks, let the encoder read the source, let the decoder look at target
# and memory.
#
# ```text
#  src (B, Ts) ──► masks ──► encoder ──► memory (B, Ts, E)
#                                            │
#  trg (B, Tt) ──► masks ──► decoder ◄───────┘
#                               │
#                               ▼
#                        logits (B, Tt, V)
# ```
#
# Row i of the logits scores the words that could follow the target's tokens 0 to i. All rows are computed at
# once; the target's mask keeps each from seeing the answer. Lesson 08 trains on that.
#
# ### Exercise 6: `Transformer`
#
# Difficulty 3 of 5
#
# Steps 3 and 19. The attributes are `encoder` and `decoder`; `forward(src, trg)` returns logits. The two padding
# ids are for two different vocabularies. `padding_mask` and `decoder_mask` are there for you.
#
# <details><summary>"`decoder.fc_out.weight` has shape (…), expected (…)"</summary>
#
# The two vocabularies differ in size. Which half of the model gets which? Check also the order in which you
# pass on `num_layers`, `num_heads` and the others.
#
# </details>
#
# <details><summary>Right without padding, wrong with it</summary>
#
# The source's padding must be hidden in two places: where the source looks at itself, and where the target
# looks at the source. The target's padding in one. Which padding id belongs to which?
#
# </details>
#
# <details><summary>The check says that the target leaks its future</summary>
#
# Print the target's mask of a short sentence: `decoder_mask(trg[:1, :5], 2).int()`. Row i should have no 1 to
# the right of column i. Does the decoder get this mask, in the right place?
#
# </details>


# %% exercise="Transformer" role="solution"
class Transformer(nn.Module):
    """Encoder and decoder, with the masks made from the tokens (Vaswani et al. 2017).

    Has encoder (Encoder) and decoder (Decoder). forward takes src, integer ids (B, Ts), and trg, integer ids (B, Tt);
    it returns logits (B, Tt, trg_vocab_size). Hidden from everyone: padding; from the target: its future.
    """

    def __init__(
        self,
        src_vocab_size: int,
        trg_vocab_size: int,
        src_pad_idx: int,
        trg_pad_idx: int,
        d_model: int = 512,
        num_layers: int = 6,
        num_heads: int = 8,
        d_ff: int = 2048,
        dropout: float = 0.1,
        max_length: int = 100,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        ### END SOLUTION

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        src_mask = padding_mask(src, self.src_pad_idx)
        trg_mask = decoder_mask(trg, self.trg_pad_idx)
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)
        ### END SOLUTION


# %% exercise="Transformer" role="check"
check(Transformer)

# %% role="try"
# Try it: the last row may depend on the last token of the target; no other row may.
my_model = Transformer(50, 60, src_pad_idx=1, trg_pad_idx=2, d_model=24, num_layers=2, num_heads=3, d_ff=40).eval()
my_src, my_trg = torch.randint(3, 50, (1, 6)), torch.randint(3, 60, (1, 5))
my_changed = my_trg.clone()
my_changed[0, -1] = 3 + (my_trg[0, -1] - 2) % 57
with torch.no_grad():
    my_difference = (my_model(my_src, my_trg) - my_model(my_src, my_changed)).abs().amax(dim=-1)
print("rows that moved:", (my_difference[0] > 1e-5).tolist())

# %% [markdown]
# ## Your model in the tracer
#
# The tracer runs your model on two sentences, watches every part, and marks each of the nineteen steps: as
# expected, departs, or not seen (where your code gives it nothing to watch, for example inside a function).
# If your model raises an error, it shows the step at which it happened.

# %% role="try"
# Try it: break something on purpose, for example the order of the arguments in DecoderBlock, and look again.
ShapeTracer(Transformer(10000, 10000, src_pad_idx=1, trg_pad_idx=2, num_layers=2))

# %% [markdown]
# ## The same as PyTorch's
#
# PyTorch has the block as `nn.TransformerEncoderLayer` and the decoder's block as `nn.TransformerDecoderLayer`.
# If the steps above are right, their parameters in our steps must give their numbers. First the encoder's, by
# hand: four lines. (Its attention keeps query, key and value projections in one tall matrix; see the end of
# lesson 03. Its dropout is set to 0: in training PyTorch's layers also drop attention weights and the activations of
# the feed-forward layers, and `nn.Transformer` adds a final norm to encoder and decoder.)


# %%
def attention_state(pytorch_attention: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The parameters of PyTorch's attention under our names."""
    found_state = {}
    for kind, stacked in (("weight", pytorch_attention.in_proj_weight), ("bias", pytorch_attention.in_proj_bias)):
        q_part, k_part, v_part = stacked.detach().chunk(3)
        found_state |= {f"q_proj.{kind}": q_part, f"k_proj.{kind}": k_part, f"v_proj.{kind}": v_part}
    return found_state | {f"out_proj.{key}": part for key, part in pytorch_attention.out_proj.state_dict().items()}


# %%
their_layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
# In a new layer the norms' weights are ones and all biases zeros, which would hide mistakes.
their_drawn = [nn.init.normal_(their_own, std=0.3) for their_own in their_layer.parameters()]
sample, sample_mask = torch.randn(3, 7, 48), (torch.arange(7) < torch.tensor([[7], [5], [3]]))[:, None, None]

our_attention = MultiHeadAttention(48, 4)
copied = our_attention.load_state_dict(attention_state(their_layer.self_attn))
with torch.no_grad():
    z = their_layer.norm1(sample + our_attention(sample, sample, sample, sample_mask)[0])
    z = their_layer.norm2(z + their_layer.linear2(their_layer.linear1(z).relu()))
    theirs = their_layer(sample, src_key_padding_mask=~sample_mask[:, 0, 0])
print("encoder layer agrees:", torch.allclose(z, theirs, atol=1e-5))

# %% [markdown]
# The decoder's layer has two attentions and three norms; ours has them as `attention`, `norm`, and the block's
# `attention`, `norm1`, `norm2`.

# %%
their_decoder_layer = nn.TransformerDecoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
their_drawn = [nn.init.normal_(their_own, std=0.3) for their_own in their_decoder_layer.parameters()]
sample_target, no_future = torch.randn(3, 6, 48), causal_mask(6)

our_cross_attention = MultiHeadAttention(48, 4)
copied = our_attention.load_state_dict(attention_state(their_decoder_layer.self_attn))
copied = our_cross_attention.load_state_dict(attention_state(their_decoder_layer.multihead_attn))
with torch.no_grad():
    d = their_decoder_layer
    z = d.norm1(sample_target + our_attention(sample_target, sample_target, sample_target, no_future)[0])
    z = d.norm2(z + our_cross_attention(z, sample, sample, sample_mask)[0])
    z = d.norm3(z + d.linear2(d.linear1(z).relu()))
    theirs = d(sample_target, sample, tgt_mask=~no_future, memory_key_padding_mask=~sample_mask[:, 0, 0])
print("decoder layer agrees:", torch.allclose(z, theirs, atol=1e-5))

# %% [markdown]
# Now yours: your `TransformerBlock` and `DecoderBlock` with PyTorch's parameters.


# %% role="try"
# Try it: both lines should say True.
def load_block(my_module, their_module, their_attention, their_norms):
    my_module.attention.load_state_dict(attention_state(their_attention))
    my_module.norm1.load_state_dict(their_norms[0].state_dict())
    my_module.norm2.load_state_dict(their_norms[1].state_dict())
    my_module.feed_forward.linear1.load_state_dict(their_module.linear1.state_dict())
    my_module.feed_forward.linear2.load_state_dict(their_module.linear2.state_dict())


my_block, my_decoder_block = TransformerBlock(48, 4, 96).eval(), DecoderBlock(48, 4, 96).eval()
load_block(my_block, their_layer, their_layer.self_attn, (their_layer.norm1, their_layer.norm2))
load_block(my_decoder_block.block, d, d.multihead_attn, (d.norm2, d.norm3))
my_decoder_block.attention.load_state_dict(attention_state(d.self_attn))
my_decoder_block.norm.load_state_dict(d.norm1.state_dict())
with torch.no_grad():
    my_memory = my_block(sample, sample, sample, sample_mask)
    their_memory = their_layer(sample, src_key_padding_mask=~sample_mask[:, 0, 0])
    mine = my_decoder_block(sample_target, sample, sample_mask, no_future)
print("encoder layer:", torch.allclose(my_memory, their_memory, atol=1e-5))
print("decoder layer:", torch.allclose(mine, theirs, atol=1e-5))

# %% [markdown]
# ## The full size
#
# How large is all this? A parameter in float32 takes 4 bytes. The `meta` device makes tensors that have a shape
# and no memory, so even large models can be counted for nothing. The paper has 6 layers.


# %%
def in_mb(number_of_floats):
    return f"{4 * number_of_floats / 1e6:6.1f} MB"


with torch.device("meta"):
    encoder_layer, decoder_layer = nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048)
tables = 2 * (10000 + 100) * 512  # words and places, in either language
last = 512 * 10000 + 10000
for depth in (2, 6):
    total = tables + last + depth * (how_many(encoder_layer) + how_many(decoder_layer))
    print(f"{depth} layers: {total:10,d} parameters, {in_mb(total)}")
print(f"one encoder layer {how_many(encoder_layer):,d}, one decoder layer {how_many(decoder_layer):,d}")

# %% [markdown]
# And one pass over 128 sentences, without gradients? The tensors that a layer makes are freed when the next is
# done, so what counts is the parameters and the largest tensors.

# %%
passing = {
    "token vectors (B, T, E)": 128 * 29 * 512,
    "weights (B, H, T, T)": 128 * 8 * 29 * 29,
    "inner (B, T, d_ff)": 128 * 29 * 2048,
    "logits (B, T, V)": 128 * 29 * 10000,
}
for what, floats in passing.items():
    print(f"{what:24s} {in_mb(floats)}")
print(f"{'6 layers and the logits':24s} {in_mb(total + passing['logits (B, T, V)'])}")

# %% [markdown]
# The largest single tensor is not attention's: it is the logits, 10 000 numbers for each of 128 · 29
# positions. At sentences of this length attention's own table is small. It grows with the square of the
# length, though: lesson 09 is about that.
#
# Your own model at the full size, with two layers: how many seconds does it take here?

# %% role="try" timed=true
# Try it: the paper's size except for the number of layers. Set num_layers to 6 if you can wait.
import time

my_model = Transformer(10000, 10000, src_pad_idx=1, trg_pad_idx=2, num_layers=2).eval()
my_start = time.perf_counter()
with torch.no_grad():
    my_logits = my_model(src, trg)
print(shape_line("my logits", my_logits, 128, 29, 10000))
print(f"{how_many(my_model):,d} parameters, {time.perf_counter() - my_start:.1f} s")

# %% [markdown]
# ## Quiz
#
# ### Exercise 7: `quiz_07`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `cross_weights` (a shape): what is the shape of the weights of cross-attention in the large example: 128
#    sentences, 28 source tokens, 29 target tokens, 8 heads?
# 2. `logits_shape` (a shape): `Transformer(5000, 7000, ...)` gets src (32, 15) and trg (32, 12). What is the shape
#    of the logits?
# 3. `parameters` (a whole number): how many parameters does `TransformerBlock(12, 3, 20)` have, with
#    biases and norms?
# 4. `attentions` (a whole number): how many attentions (`MultiHeadAttention` modules) are there in a
#    `Transformer` with `num_layers=6`?
# 5. `visible` (a whole number): a target has 5 tokens, of which the last two are padding. How many of the 25
#    entries of `decoder_mask` are True?
# 6. `dropout_line` (a letter): which line is the paper's sub-layer?
#    - a. `dropout(norm(x + sublayer(x)))`
#    - b. `norm(dropout(x + sublayer(x)))`
#    - c. `norm(x + dropout(sublayer(x)))`
#    - d. `x + dropout(norm(sublayer(x)))`
# 7. `who_asks` (a letter): in step 17,
#    - a. the query is the memory, key and value come from the target;
#    - b. query, key and value come from the target;
#    - c. query and key come from the target, the value is the memory;
#    - d. the query comes from the target, key and value are the memory.
# 8. `one_block` (a letter): somebody writes `self.layers = nn.ModuleList([block] * 6)`. Then
#    - a. the model raises an error when it is made;
#    - b. the model runs, and all six layers always have the same parameters;
#    - c. the layers are not found among the parameters;
#    - d. nothing is wrong: the six start alike and move apart in training.

# %% exercise="quiz_07" role="solution"
quiz_07 = {
    "cross_weights": ...,  # a shape, for example (2, 3, 4)
    "logits_shape": ...,  # a shape, for example (2, 3, 4)
    "parameters": ...,  # a whole number
    "attentions": ...,  # a whole number
    "visible": ...,  # a whole number
    "dropout_line": ...,  # "a", "b", "c" or "d"
    "who_asks": ...,  # "a", "b", "c" or "d"
    "one_block": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_07 = {
    "cross_weights": (128, 8, 29, 28),
    "logits_shape": (32, 12, 7000),
    "parameters": 1184,
    "attentions": 18,
    "visible": 12,
    "dropout_line": "c",
    "who_asks": "d",
    "one_block": "b",
}
### END SOLUTION

# %% exercise="quiz_07" role="check"
check(quiz_07, "quiz_07")

# %% [markdown]
# ## What you can do now
#
# You have written a whole Transformer, and its parts give PyTorch's numbers. You can walk from token ids to
# logits in nineteen steps and say what shape each gives. You know the slips that no shape reveals: the
# wrong root, padding left visible, dropout after the norm, a residual from the wrong place, one layer under
# six names.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3 and figure 1: the same nineteen steps on three
#   pages; section 5.4 for dropout.
# - Rush (2018), *The Annotated Transformer*: the paper once more, line by line in code.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*, section 3: why many models
#   today normalise first, and what that changes in training.
# - Raffel et al. (2020), *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer*,
#   section 3.2: encoder and decoder, or a decoder alone?
#
# **Next lesson:** 08, *Training it*. A model of this kind learns to translate dates, and you watch its
# cross-attention turn from noise into an alignment.
