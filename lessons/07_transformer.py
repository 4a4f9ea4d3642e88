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
# "the dog bites the man" is "der Hund beißt den Mann" in German. The first "the" becomes "der", the second "den".
# German marks who bites, so no word list can translate this pair. You have almost all the parts of a model that can,
# the one of the paper *Attention Is All You Need*: an **encoder** reads a sentence in one language, a **decoder**
# writes it in another, word by word.
#
# It takes nineteen steps. Our pair goes through all of them, as row 0 of a large batch, and each step checks its
# shapes. At the end your own model learns a dozen such sentences, in a second, and writes them.
#
# **You need** lesson 03 (many heads, `nn.Module`), lesson 04 (masks; True means: may attend), lesson 05
# (LayerNorm, residual connections) and from lesson 06 that a position is a vector that is added.
#
# **Afterwards you can**
#
# - name the nineteen steps, and say for each what goes in and what comes out;
# - write encoder, decoder and the model that joins them, as modules whose parameters PyTorch finds;
# - say where dropout acts in this model, and what is wrong with four lines of a tutorial that builds it;
# - teach your model a few sentences, and show what it needs positions for.
#
# **Time:** <!-- time -->. The plan: the one new part → the map → tokens, masks and vectors (steps 1 to 5) → attention
# (6 to 12) → the block (13, 14) → the encoder (15) → the decoder (16 to 18) → the whole (19) → a dozen sentences by
# heart → a quiz. After part 6 is a good place for a break. When you come back, click below what you have done and
# choose *Run → Run All Above Selected Cell*.
#
# | letter | meaning | in the large example |
# | --- | --- | --- |
# | `B` | batch: sentences handled together | 128 |
# | `Ts`, `Tt` | tokens of a source sentence, of a target sentence (`Tq`, `Tk`: of queries, of keys) | 28, 29 |
# | `E` | `d_model`, the width of a token's vector | 512 |
# | `H`, `D` | `num_heads`, `head_dim`; `d_model = num_heads * head_dim` | 8, 64 |
# | `V` | words in a vocabulary | 10 000 |

# %%
import itertools
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict
from grader.views.step_map import show_steps

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=2, sci_mode=False, linewidth=110)
torch.manual_seed(0)


def shapes(*expected: int, **tensors: Tensor) -> None:
    """Print the shapes of tensors by name. Raises ValueError if one isn't the expected shape."""
    for label, tensor in tensors.items():
        if tuple(tensor.shape) != expected:
            raise ValueError(f"{label}: got {tuple(tensor.shape)}, expected {expected}")
        print(f"{label:18s}", expected)


# %% [markdown]
# ## 1 · The one part you haven't met
#
# Attention mixes tokens. Besides its linear layers, nothing in it works on *one* token. That is the job of the
# **feed-forward layers**, the same small network for every token by itself: a linear layer to a wider vector (from 512
# to 2048 in the paper), ReLU (negative entries become zero), and a layer back.
#
# What does the ReLU contribute? Let a token hold two facts, each −1 or 1. The question is whether they agree. We
# train the two layers on it twice, with ReLU between them and without. The loss is in nats, and guessing costs ln 2.

# %%
facts = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
agree = torch.tensor([1.0, 0.0, 0.0, 1.0])


def trained_loss(between: nn.Module) -> float:
    """The loss of two linear layers with `between` between them, after 300 steps of training."""
    small = nn.Sequential(nn.Linear(2, 16), between, nn.Linear(16, 1))
    small_optimizer = torch.optim.Adam(small.parameters(), lr=0.05)
    for _step in range(300):
        small_loss = F.binary_cross_entropy_with_logits(small(facts)[:, 0], agree)
        small_optimizer.zero_grad()
        small_loss.backward()
        small_optimizer.step()
    return small_loss.item()


predict(
    "07_without_relu",
    "How large is the loss without ReLU, after training?",
    low=0,
    high=2,
    unit="nats",
)

# %% role="answer" claim="relu_is_needed"
for described, between in (("with ReLU", nn.ReLU()), ("without", nn.Identity())):
    print(f"{described:10s} loss {trained_loss(between):.2f}")
compare_guess("07_without_relu", round(trained_loss(nn.Identity()), 2))

# %% [markdown]
# Without ReLU, two layers are no more than one, because `other @ (one @ x)` is `(other @ one) @ x`. No weighted sum of
# two facts says whether they agree, so that network goes on guessing. These layers hold much of what a model has learnt
# (Geva et al. 2021), and two thirds of an encoder layer's parameters: 2.1 of 3.2 million.
#
# ### Exercise 1: `FeedForward`
#
# Difficulty 1 of 5
#
# A module with two linear layers, named `linear1` (from `d_model` to `d_ff`) and `linear2` (back), and ReLU
# between them. Norm and addition come in step 14. As in all exercises of this lesson,
# `nn.MultiheadAttention` and all of `nn.Transformer*` are excluded.
#
# <details><summary>"The module has no parameter or buffer <code>linear1.weight</code>"</summary>
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
    """The same two layers for every token by itself: wider, ReLU, back again
    (Vaswani et al. 2017, section 3.3).

    Has linear1, nn.Linear(d_model, d_ff), and linear2, nn.Linear(d_ff, d_model). forward: (..., E) to
    (..., E).
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

# %% [markdown]
# ## 2 · The map
#
# Here is the whole way in one picture. The arrow keys (or the slider) walk through the nineteen steps. The box
# of each step lights up, and beside it you see the shapes that go in and out. Later you give the tracer *your* model.
#
# Walk through it once. At which steps does the length 28 change to 29? Where do the two columns meet?

# %% role="draw"
from grader.views import ShapeTracer

torch.manual_seed(0)  # the same random numbers below, whatever you have run above
ShapeTracer()

# %% [markdown]
# ## 3 · From ids to vectors
#
# ### Step 1 · Token ids
#
# Two tensors of whole numbers go in: the source sentences, and the target sentences as far as they are written. Short
# ones are filled up with padding (lesson 04). Each language has a padding id of its own, here 1 and 2. Row 0 is our
# pair, the other 127 rows are random. The target begins with `<bos>` and ends with `<eos>`.

# %%
src_words = ["<unk>", "<pad>", "the", "dog", "bites", "man"]
trg_words = ["<bos>", "<eos>", "<pad>", "der", "Hund", "beißt", "den", "Mann"]
src_pad, trg_pad = 1, 2
read = ["the", "dog", "bites", "the", "man"]
written = ["<bos>", "der", "Hund", "beißt", "den", "Mann", "<eos>"]

src, trg = torch.randint(6, 10000, (128, 28)), torch.randint(8, 10000, (128, 29))
src_lengths = torch.randint(10, 29, (128, 1))
trg_lengths = torch.randint(10, 30, (128, 1))
src_lengths[0], trg_lengths[0] = len(read), len(written)
src[0, :5] = torch.tensor([src_words.index(word) for word in read])
trg[0, :7] = torch.tensor([trg_words.index(word) for word in written])
src = src.where(torch.arange(28) < src_lengths, src_pad)
trg = trg.where(torch.arange(29) < trg_lengths, trg_pad)

shapes(128, 28, src=src)
shapes(128, 29, trg=trg)
print("the pair:", src[0, :8].tolist(), "...", trg[0, :10].tolist(), "...")

# %% [markdown]
# ### Step 2 · Do the heads fit?
#
# The 512 entries of a token's vector are divided among 8 heads, so 8 must divide 512.

# %%
d_model, num_heads = 512, 8
head_dim = d_model // num_heads
assert head_dim * num_heads == d_model
print("head_dim =", head_dim)
vectors = torch.zeros(128, 28, 512)
shapes(128, 28, 8, 64, cut=vectors.reshape(128, 28, 8, 64))

# %% [markdown]
# ### Step 3 · Two masks
#
# The source mask hides padding: (B, 1, 1, Ts), the same for every head and every query. The target mask has a row for
# each query, since each may look a little further than the one before: (B, 1, Tt, Tt). Three functions are given, from
# lesson 04.

# %% role="given"
from lesson_04 import causal_mask, decoder_mask, padding_mask

# %%
src_mask = padding_mask(src, src_pad)
trg_mask = decoder_mask(trg, trg_pad)
shapes(128, 1, 1, 28, src_mask=src_mask)
shapes(128, 1, 29, 29, trg_mask=trg_mask)
print("the pair's source:", src_mask[0, 0, 0, :8].int().tolist(), "...")

# %% [markdown]
# **Spot the slip.** The Transformer tutorial, whose nineteen steps we follow, makes its target mask like this:
#
# ```text
# torch.tril(torch.ones((L, L))).expand(N, 1, L, L)
# ```
#
# Our target has 7 tokens and 22 of padding. This mask lets 435 pairs of query and key through.

# %%
predict(
    "07_to_padding",
    "In how many of the 435 pairs is the key padding?",
    low=0,
    high=435,
    unit="pairs",
)

# %% role="answer"
tutorial_mask = torch.ones(29, 29).tril().expand(128, 1, 29, 29) == 1
wrongly_seen = tutorial_mask & ~trg_mask
pairs, padded = int(tutorial_mask.sum()), int(wrongly_seen.sum())
print(f"in the batch: {padded} of {pairs} pairs, {100 * padded / pairs:.0f} %")
compare_guess("07_to_padding", int(wrongly_seen[0].sum()))

# %% [markdown]
# It hides the future only. Here all padding is at the end, so only padding looks at it; before the words it would do
# harm (lesson 04). A mask that covers both costs one `&`.
#
# ### Step 4 · Ids become vectors
#
# Each id looks up its row in a table, `nn.Embedding` (lesson 06). From here on we follow one number: how alike are the
# vectors of the two "the"? Their cosine is 1 for the same direction and 0 for no relation.


# %%
def alike(rows: Tensor) -> str:
    """How alike the two "the" of the pair are, tokens 0 and 3 of row 0."""
    cosine = F.cosine_similarity(rows[0, 0], rows[0, 3], dim=-1)
    return f"the two 'the': {cosine:.2f}"


word_table = nn.Embedding(10000, 512)
embedded = word_table(src).detach()
shapes(128, 28, 512, embedded=embedded)
print(alike(embedded))

# %% [markdown]
# ### Step 5 · Positions
#
# Attention doesn't see order, so a position is added. A second table has a row for every *position*, 0 to `max_length`
# − 1. For a sentence of 101 tokens, row 100 would be looked up in a table that ends with row 99, and PyTorch says
# "index out of range in self". Your modules will raise a `ValueError` that names both numbers.
#
# **Dropout** is applied to the sum. In training it sets a part of the entries to zero at random and scales up the
# others, so that the model can't rely on any one. In eval mode it does nothing. It acts here and in every block, always
# with the same probability: whoever makes a block hands it on.

# %%
place_table = nn.Embedding(100, 512)
place_ids = torch.arange(0, 28).expand(128, 28)
place_vectors = place_table(place_ids).detach()
drop_tenth = nn.Dropout(0.1)

x = drop_tenth(embedded + place_vectors)
shapes(128, 28, positions=place_ids)
shapes(128, 28, 512, place_vectors=place_vectors, x=x)
print(f"set to zero by dropout: {(x == 0).float().mean():.2f};  {alike(x)}")

# %% [markdown]
# ## 4 · Attention
#
# Steps 6 to 12 are lesson 03's attention at full size. Watch the shapes.

# %% role="draw"
show_steps(6, 12)

# %% [markdown]
# ### Step 6 · Queries, keys, values
#
# Three linear layers.

# %%
to_query, to_key, to_value, to_output = (nn.Linear(512, 512) for _ in range(4))
with torch.no_grad():
    query_rows, key_rows, value_rows = to_query(x), to_key(x), to_value(x)
shapes(128, 28, 512, query_rows=query_rows, key_rows=key_rows, value_rows=value_rows)

# %% [markdown]
# ### Step 7 · Cut into heads
#
# The last axis becomes 8 heads of 64 columns.

# %%
query_heads, key_heads, value_heads = (
    rows.reshape(128, 28, 8, 64) for rows in (query_rows, key_rows, value_rows)
)
shapes(128, 28, 8, 64, query_heads=query_heads, key_heads=key_heads)
shapes(128, 28, 8, 64, value_heads=value_heads)

# %% [markdown]
# ### Step 8 · Scores
#
# Every query meets every key, in each head. `d` is absent after the arrow, so it is summed over.

# %%
scores = torch.einsum("bqhd,bkhd->bhqk", query_heads, key_heads)
shapes(128, 8, 28, 28, scores=scores)

# %% [markdown]
# ### Step 9 · Hide what must not be seen
#
# The mask (128, 1, 1, 28) broadcasts over heads and queries. Hidden scores become −∞.

# %%
masked = scores.masked_fill(~src_mask, -math.inf)
shapes(128, 8, 28, 28, masked=masked)
keys_hidden = int(torch.isinf(masked[0, 0, 0]).sum())
print("hidden from each query of the pair:", keys_hidden, "of 28 keys")

# %% [markdown]
# **Spot the slip.** The tutorial fills with a large number instead, `energy.masked_fill(mask == 0, -1e20)`. In float32
# that also gives an exact zero, as long as one key of the row is visible (lesson 04). Many models compute in float16,
# whose largest number is 65 504.

# %%
predict(
    "07_large_fill",
    "What does the line do there?",
    ["weights of exactly 0", "small weights", "NaN", "an error"],
)

# %% role="answer"
came_out = {}
for fill in (-1e20, -math.inf):
    half_row = torch.tensor([2.0, 1.0, 3.0, 0.0], dtype=torch.float16)
    try:
        half_row = half_row.masked_fill(torch.tensor([0, 0, 1, 1]).bool(), fill)
        came_out[fill] = "weights of exactly 0"
        print(f"{fill}: weights", [round(w, 2) for w in half_row.softmax(-1).tolist()])
    except RuntimeError as error:
        came_out[fill] = "an error"
        print(f"{fill}: RuntimeError:", str(error).splitlines()[0])
compare_guess("07_large_fill", came_out[-1e20])

# %% [markdown]
# float16 can't represent −10²⁰. It can represent −∞.
#
# ### Step 10 · Scale, softmax
#
# **Spot the slip.** The tutorial divides by `sqrt(E)`. You know this one from lesson 03: the dot products are over the
# 64 columns of a *head*. Here are both roots, on queries and keys with a standard deviation of 1.

# %%
drawn = torch.randn(2, 8, 28, 8, 64)
drawn_scores = torch.einsum("bqhd,bkhd->bhqk", drawn[0], drawn[1])
for root_of, width in (("E", 512), ("head_dim", 64)):
    shares = (drawn_scores / math.sqrt(width)).softmax(dim=-1)
    entropy, largest = -(shares * shares.log()).sum(-1).mean(), shares.amax(-1).mean()
    divisor = f"sqrt({root_of}) = {math.sqrt(width):4.1f}"
    print(f"divided by {divisor}: entropy {entropy:.2f}, largest weight {largest:.2f}")
print(f"all 28 keys alike: entropy {math.log(28):.2f}")

# %% [markdown]
# With √E the rows are nearly those of a plain average. So we divide by √head_dim.

# %%
attention_weights = (masked / math.sqrt(head_dim)).softmax(dim=-1)
shapes(128, 8, 28, 28, attention_weights=attention_weights)
print(f"the pair's weight on padding: {attention_weights[0, :, :, 5:].sum():.1f}")

# %% [markdown]
# ### Step 11 · Mix the values
#
# Each query takes its weighted sum of the values, in each head. The letter `k` is gone.

# %%
mixed = torch.einsum("bhqk,bkhd->bqhd", attention_weights, value_heads)
shapes(128, 28, 8, 64, mixed=mixed)

# %% [markdown]
# ### Step 12 · Join the heads, project
#
# The heads come after the tokens here, so they can be joined without a transpose. A last linear layer lets every column
# use all heads.

# %%
joined = mixed.reshape(128, 28, 512)
with torch.no_grad():
    attended = to_output(joined)
shapes(128, 28, 512, joined=joined, attended=attended)
print(alike(attended))

# %% [markdown]
# Untrained attention collects nearly the same for both "the". From here on attention is one module, lesson 03's.
# Remember the order of its arguments: **query, key, value**, mask. It returns the output and the weights.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %% [markdown]
# If your notebook of lesson 03 lies beside this one and your class passes its check, yours runs from here on.

# %%
from grader import use_yours

use_yours(MultiHeadAttention)

# %%
in_one = MultiHeadAttention(512, 8)
in_one.q_proj, in_one.k_proj, in_one.v_proj = to_query, to_key, to_value
in_one.out_proj = to_output
with torch.no_grad():
    in_one_output, in_one_weights = in_one(x, x, x, src_mask)
apart = (in_one_output - attended).abs().max()
print(f"largest difference from steps 6 to 12: {apart:.4f}")

# %% [markdown]
# ## 5 · The block
#
# ### Step 13 · Add, normalise
#
# In attention's output alone, the token's own vector would be lost. So the output is *added* to what went in, and the
# sum is normalised, token by token: LayerNorm(x + attention(x)), post-norm (lesson 05). In training, dropout acts too.
# Where?
#
# **Spot the slip.** The tutorial writes
#
# ```text
# x = dropout(norm(attention + query))
# ```
#
# Vaswani et al. (2017, section 5.4) apply dropout "to the output of each sub-layer, before it is added to the sub-layer
# input and normalized". Both lines run, both have the right shape, and in eval mode they are the same.

# %%
predict(
    "07_zeros",
    "In training, which share of the result does the tutorial's line set to 0?",
    low=0,
    high=100,
    unit="%",
)

# %% role="answer"
first_norm = nn.LayerNorm(512)
with torch.no_grad():
    of_each = {
        "tutorial": drop_tenth(first_norm(attended + x)),
        "paper": first_norm(x + drop_tenth(attended)),
    }

zeros = {whose: 100 * (made == 0).float().mean().item() for whose, made in of_each.items()}
for whose, made in of_each.items():
    spread = made.std(dim=-1).mean()
    print(f"{whose:9s}: zeros {zeros[whose]:4.1f} %, standard deviation {spread:.2f}")
compare_guess("07_zeros", round(zeros["tutorial"]))

# %% [markdown]
# The tutorial sets a tenth of each token's whole vector to zero, in every layer. The paper drops a tenth of what
# attention *adds* to it, and what went in always gets through. We use the paper's order. From here on the example runs
# in eval mode.

# %%
drop_tenth.eval()
with torch.no_grad():
    x_attended = first_norm(x + drop_tenth(attended))
shapes(128, 28, 512, x_attended=x_attended)
print(alike(x_attended))

# %% [markdown]
# ### Step 14 · Two layers for every token by itself
#
# Now the feed-forward layers, and after them again dropout, addition, norm.

# %%
wider, back_again = nn.Linear(512, 2048), nn.Linear(2048, 512)
second_norm = nn.LayerNorm(512)
with torch.no_grad():
    inner = wider(x_attended).relu()
    worked_on = back_again(inner)
    block_output = second_norm(x_attended + drop_tenth(worked_on))
shapes(128, 28, 2048, inner=inner)
shapes(128, 28, 512, worked_on=worked_on, block_output=block_output)
print(alike(block_output))

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
    """Attention, then the feed-forward layers, each followed by dropout, addition and LayerNorm
    (post-norm).

    Has attention (MultiHeadAttention), norm1 and norm2 (nn.LayerNorm), feed_forward (FeedForward) and
    dropout (nn.Dropout). forward takes value and key (B, Tk, E), query (B, Tq, E) and mask, bool,
    broadcastable to (B, H, Tq, Tk), True = may attend, or None. It returns (B, Tq, E).
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
# Try it: your block with the layers of steps 6 to 14. Then dropout, in train mode only.
my_block = TransformerBlock(512, 8, 2048, dropout=0.1).eval()
my_parts = (my_block.attention, my_block.norm1, my_block.norm2)
my_parts += (my_block.feed_forward.linear1, my_block.feed_forward.linear2)
for my_part, of_the_steps in zip(
    my_parts, (in_one, first_norm, second_norm, wider, back_again), strict=True
):
    my_part.load_state_dict(of_the_steps.state_dict())
with torch.no_grad():
    my_output = my_block(x, x, x, src_mask)
    shapes(128, 28, 512, my_output=my_output)
    print(f"largest difference from steps 6 to 14: {(my_output - block_output).abs().max():.4f}")
    print(
        f"eval mode, called twice: difference {(my_block(x, x, x, src_mask) - my_output).abs().max():.1f}"
    )
    my_block.train()
    print(f"train mode: {(my_block(x, x, x, src_mask) - my_output).abs().max():.1f}")

# %% [markdown]
# ## 6 · The encoder
#
# ### Step 15 · Block after block
#
# The encoder is steps 4 and 5, and then `num_layers` blocks. All have the same structure, and each has parameters of
# its own. What one gives, the next takes: as value, key and query alike. `block_output` of step 14 is what an encoder
# with one layer gives. Here is the tutorial's loop, with your blocks:

# %% role="try"
# Try it: two of your blocks at full size. Are the two "the" still apart?
my_layers = nn.ModuleList(TransformerBlock(512, 8, 2048) for _ in range(2)).eval()
my_enc_out = x
with torch.no_grad():
    for my_layer in my_layers:
        my_enc_out = my_layer(my_enc_out, my_enc_out, my_enc_out, src_mask)
        shapes(128, 28, 512, my_enc_out=my_enc_out)
        print(alike(my_enc_out))

# %% [markdown]
# ### A list that PyTorch can see into
#
# Why `nn.ModuleList`, and not a Python list? A module finds its parameters through its attributes. It looks
# into attributes that are modules, and nowhere else. Below, one linear layer has 20 parameters.

# %%
predict("07_listed_thrice", "How many parameters has `nn.ModuleList([layer] * 3)`?", ["0", "20", "60"])


# %% role="answer"
class Three(nn.Module):
    def __init__(self, three_layers):
        super().__init__()
        self.three_layers = three_layers


def how_many(some_module):
    return sum(one_parameter.numel() for one_parameter in some_module.parameters())


one_linear = nn.Linear(4, 4)
print("one layer:              ", how_many(one_linear))
print("three in a Python list: ", how_many(Three([nn.Linear(4, 4) for _ in range(3)])))
print("three in a ModuleList:  ", how_many(Three(nn.ModuleList(nn.Linear(4, 4) for _ in range(3)))))
compare_guess("07_listed_thrice", str(how_many(Three(nn.ModuleList([one_linear] * 3)))))

# %% [markdown]
# In a Python list the layers would work, and never be trained: the optimiser never sees them. And `[layer] * 3` is
# one layer, listed three times.
#
# ### Exercise 3: `Encoder`
#
# Difficulty 3 of 5
#
# Steps 4, 5 and 15. The attributes are `token_embedding`, `position_embedding` (both `nn.Embedding`, the second
# with `max_length` rows), `layers` (an `nn.ModuleList` of your `TransformerBlock`) and `dropout`. The blocks
# get the same `dropout`. `forward(tokens, mask)` returns (B, T, E). More tokens than `max_length` raise `ValueError`
# with both numbers in its message. (The paper multiplies the embedding by √E; this model doesn't.)
#
# <details><summary>"The module has no parameter or buffer <code>layers.0...</code>"</summary>
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

    Has token_embedding and position_embedding (nn.Embedding), layers
    (nn.ModuleList of TransformerBlock) and dropout. forward takes tokens, integer ids (B, T), and mask,
    bool, broadcastable to (B, H, T, T), or None; it returns (B, T, E). Raises ValueError, naming both
    numbers, if T exceeds max_length.
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
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
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
# Try it: from ids to the memory, and a sentence that is too long.
my_model = Encoder(10000, 512, 2, 8, 2048).eval()
with torch.no_grad():
    my_memory = my_model(src, src_mask)
shapes(128, 28, 512, my_memory=my_memory)
print(alike(my_memory))
try:
    my_model(torch.zeros(1, 101, dtype=torch.long), torch.ones(1, 1, 1, 101, dtype=torch.bool))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# Your encoder is done, and so is the larger half of the lesson: a good place for a break.
#
# ## 7 · The decoder
#
# Why a second stack? The source is known as a whole: its words may look both ways, and it is read once, however many
# words are written. A target word may only look back. (Lesson 11's model has one stack, in which every token only looks
# back.)

# %% role="draw"
show_steps(16, 18)

# %% [markdown]
# ### Step 16 · The target looks at itself
#
# The target's tokens become vectors as in steps 4 and 5, with tables of their own. A block then begins like the
# encoder's: attention over the target itself, under the target's mask, added and normalised. The result is called
# *query*, because it will query the memory.

# %%
_ = torch.manual_seed(0)  # your blocks have drawn numbers above, or not yet
target_words, target_places = nn.Embedding(10000, 512), nn.Embedding(100, 512)
target = (target_words(trg) + target_places(torch.arange(29))).detach()
self_attention, norm_of_target = MultiHeadAttention(512, 8), nn.LayerNorm(512)
with torch.no_grad():
    found, found_weights = self_attention(target, target, target, trg_mask)
    target_query = norm_of_target(target + drop_tenth(found))
shapes(128, 29, 512, target=target, target_query=target_query)
shapes(128, 8, 29, 29, found_weights=found_weights)

# %% [markdown]
# ### Step 17 · The target asks the source
#
# Now comes the only place where the two languages meet. The query comes from the target, 29 rows. Key and value come
# from the encoder's output, called **memory**, 28 rows. This is *cross-attention*: which words of the source matter for
# this word of the target? The mask is that of the source. For "den" it should be the second "the" and "man". What does an
# untrained model say?

# %%
source_memory = block_output  # of an encoder with one layer
cross_attention = MultiHeadAttention(512, 8)
with torch.no_grad():
    answer, cross_weights = cross_attention(target_query, source_memory, source_memory, src_mask)
print("weights of 'den', mean of 8 heads:", cross_weights[0, :, 4, :6].mean(0))

# %% [markdown]
# Five words to look at, and no reason yet to prefer one. Addition, norm and feed-forward layers follow. All of step
# 17 is something you already have: a `TransformerBlock` whose value and key are the memory.

# %%
norm_of_answer, norm_of_block = nn.LayerNorm(512), nn.LayerNorm(512)
with torch.no_grad():
    z = norm_of_answer(target_query + drop_tenth(answer))
    target_output = norm_of_block(z + drop_tenth(back_again(wider(z).relu())))
shapes(128, 8, 29, 28, cross_weights=cross_weights)
shapes(128, 29, 512, answer=answer, target_output=target_output)

# %% [markdown]
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
# <details><summary>Nothing changes when I change <code>memory</code></summary>
#
# Then the source is never looked at. What are the key and the value of the second attention?
#
# </details>


# %% exercise="DecoderBlock" role="solution"
class DecoderBlock(nn.Module):
    """Masked self-attention over the target, then a TransformerBlock whose query looks at the encoder's
    output.

    Has attention (MultiHeadAttention), norm (nn.LayerNorm), block (TransformerBlock) and dropout
    (nn.Dropout). forward takes x (B, Tq, E), memory (B, Tk, E), src_mask, broadcastable to
    (B, H, Tq, Tk), and trg_mask, broadcastable to (B, H, Tq, Tq), bool, True = may attend, or None. It
    returns (B, Tq, E).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None, trg_mask: Tensor | None
    ) -> Tensor:
        ### BEGIN SOLUTION
        attended, _ = self.attention(x, x, x, trg_mask)
        query = self.norm(x + self.dropout(attended))
        return self.block(memory, memory, query, src_mask)
        ### END SOLUTION


# %% exercise="DecoderBlock" role="check"
check(DecoderBlock)

# %% [markdown]
# ### Step 18 · Blocks, then a score for every word
#
# `num_layers` such blocks follow one another. Each gets the *same* memory: the encoder's final output, not that of the
# encoder layer with the same number. (The tutorial's loop hands it over twice, as value and as key.)
#
# A last linear layer, `fc_out`, turns the 512 columns of each position into 10 000 scores, one for every word of the
# target's vocabulary. Such scores before any softmax are called **logits**. Here they are for one layer:

# %%
to_words = nn.Linear(512, 10000)
with torch.no_grad():
    logits = to_words(target_output)
shapes(128, 29, 10000, logits=logits)

# %% [markdown]
# ### Exercise 5: `Decoder`
#
# Difficulty 2 of 5
#
# Easier than the last one, for its constructor is given: it is your `Encoder`'s, with `DecoderBlock`s and one more
# layer, `fc_out`. What is left is `forward(tokens, memory, src_mask, trg_mask)`: steps 4, 5 and 18. It returns logits
# (B, T, V), without a softmax, because the loss wants them raw. Too many tokens raise `ValueError` as before.
#
# <details><summary>My results are all between 0 and 1, or all negative</summary>
#
# Those are probabilities, or their logarithms. Logits are what goes *into* a softmax.
#
# </details>
#
# <details><summary>Which of my modules does nearly the same?</summary>
#
# The `forward` of your `Encoder`. What does a `DecoderBlock` want beside `x`, and what comes after the last one?
#
# </details>


# %% exercise="Decoder" role="solution"
class Decoder(nn.Module):
    """As the encoder, with DecoderBlocks, and a last layer that gives every position a score for every
    word.

    Has token_embedding, position_embedding, layers (nn.ModuleList of DecoderBlock), dropout and fc_out,
    nn.Linear(d_model, vocab_size). forward takes tokens, integer ids (B, T), memory (B, Tk, E),
    src_mask and trg_mask as DecoderBlock; it returns logits (B, T, V). Raises ValueError, naming both
    numbers, if T exceeds max_length.
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
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(
        self, tokens: Tensor, memory: Tensor, src_mask: Tensor | None, trg_mask: Tensor | None
    ) -> Tensor:
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
# Try it: from ids to logits with two layers, for 8 sentences.
my_model = Decoder(10000, 512, 2, 8, 2048).eval()
with torch.no_grad():
    my_logits = my_model(trg[:8], source_memory[:8], src_mask[:8], trg_mask[:8])
shapes(8, 29, 10000, my_logits=my_logits)

# %% [markdown]
# ## 8 · The whole
#
# ### Step 19 · Everything connected
#
# What is left is to connect the parts: make both masks, let the encoder read the source, let the decoder look at target
# and memory. In the numbers of the steps above, with one layer in each stack:

# %% role="draw"
show_steps(19, 19)

# %%
whole_src_mask, whole_trg_mask = padding_mask(src, 1), decoder_mask(trg, 2)
shapes(128, 1, 1, 28, whole_src_mask=whole_src_mask)
shapes(128, 1, 29, 29, whole_trg_mask=whole_trg_mask)
shapes(128, 28, 512, enc_src=source_memory)
shapes(128, 29, 10000, out=logits)
del logits  # 148 MB, which nothing below needs

# %% [markdown]
# Row i of the logits scores the words that could follow the target's tokens 0 to i. All rows are computed at once, and
# the target's mask keeps each from seeing the answer. That is what makes training fast.
#
# ### Exercise 6: `Transformer`
#
# Difficulty 4 of 5
#
# Steps 3 and 19. The attributes are `encoder` and `decoder`; `forward(src, trg)` returns logits. The two padding
# ids are for two different vocabularies. `padding_mask` and `decoder_mask` are there for you.
#
# <details><summary>"<code>decoder.fc_out.weight</code> has shape (…), expected (…)"</summary>
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

    Has encoder (Encoder) and decoder (Decoder). forward takes src, integer ids (B, Ts), and trg,
    integer ids (B, Tt); it returns logits (B, Tt, trg_vocab_size). Hidden from everyone: padding; from
    the target: its future.
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
my_model = Transformer(
    50, 60, src_pad_idx=1, trg_pad_idx=2, d_model=24, num_layers=2, num_heads=3, d_ff=40
).eval()
my_src, my_trg = torch.randint(3, 50, (1, 6)), torch.randint(3, 60, (1, 5))
my_changed = my_trg.clone()
my_changed[0, -1] = 3 + (my_trg[0, -1] - 2) % 57
with torch.no_grad():
    my_difference = (my_model(my_src, my_trg) - my_model(my_src, my_changed)).abs().amax(dim=-1)
print("how far each row moved:", my_difference[0])

# %% role="try"
# Try it: the paper's sizes, with two layers. Set num_layers to 6 if you can wait.
my_model = Transformer(10000, 10000, src_pad_idx=1, trg_pad_idx=2, num_layers=2).eval()
with torch.no_grad():
    my_logits = my_model(src, trg)
shapes(128, 29, 10000, my_logits=my_logits)

# %% [markdown]
# The tracer runs your model on two sentences and marks each of the nineteen steps: as expected, departs, not seen
# (what happens inside a function can't be watched), or raises an error.

# %% role="try"
# Try it: break something on purpose, for example the order of the arguments in
# DecoderBlock, and look again.
from grader.views import ShapeTracer

ShapeTracer(Transformer(10000, 10000, src_pad_idx=1, trg_pad_idx=2, num_layers=2))

# %% [markdown]
# ## 9 · A dozen sentences by heart
#
# Will it ever translate? Here are twelve sentences: a dog, a man and a woman bite and see one another. "the man" is
# "der Mann" where he acts and "den Mann" where something is done to him. "die Frau" stays as she is.

# %%
GERMAN = {"dog": ("der Hund", "den Hund"), "man": ("der Mann", "den Mann")}
GERMAN["woman"] = ("die Frau", "die Frau")
sentences = [
    (f"the {who} {does} the {whom}", f"{GERMAN[who][0]} {tut} {GERMAN[whom][1]}")
    for does, tut in (("bites", "beißt"), ("sees", "sieht"))
    for who, whom in itertools.permutations(GERMAN, 2)
]
english = ["<unk>", "<pad>", *sorted({word for left, _ in sentences for word in left.split()})]
words_of_german = sorted({word for _, right in sentences for word in right.split()})
german = ["<bos>", "<eos>", "<pad>", *words_of_german]
sources = torch.tensor([[english.index(word) for word in left.split()] for left, _ in sentences])
targets = torch.tensor([[german.index(word) for word in right.split()] for _, right in sentences])
targets = F.pad(F.pad(targets, (1, 0), value=0), (0, 1), value=1)  # <bos> ... <eos>
print(sentences[1], targets[1].tolist())

# %% [markdown]
# The model reads the target up to a word and scores the next one, at all places at once. So its input is the target
# without the last token, and the labels are the target without the first. (Lesson 08 makes a careful job of this.)
# Training takes about a second. Afterwards your model writes: it starts with `<bos>`, and the likeliest word is
# appended six times.


# %% role="try"
def my_learner(places=True, steps=150, rate=0.003, layers=2):
    torch.manual_seed(0)
    model = Transformer(len(english), len(german), 1, 2, 32, layers, 2, 64, dropout=0.0)
    if not places:  # the source's positions are zero, and stay so
        model.encoder.position_embedding.weight.requires_grad_(False).zero_()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        logits = model(sources, targets[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def my_translations(model):
    written = torch.zeros(len(sources), 1, dtype=torch.long)
    for _ in range(6):
        written = torch.cat([written, model(sources, written)[:, -1:].argmax(-1)], dim=1)
    return [" ".join(german[i] for i in row[1:6]) for row in written.tolist()]


# %% role="try" timed=true claim="a_dozen_by_heart"
# Try it: your model learns, and writes what it has learnt.
my_writer = my_learner()
my_written = my_translations(my_writer)
my_right = sum(mine == right for mine, (_, right) in zip(my_written, sentences, strict=True))
for (my_left, _), mine in zip(sentences[:6], my_written, strict=False):
    print(f"{my_left:24} {mine}")
print(f"{my_right} of 12 are right")

# %% [markdown]
# That is your encoder, your decoder, your masks. Now back to the two "the". In the words alone they are one and the same
# vector, and only the positions tell them apart. So take the positions of the source away and train once more. All
# words are there, and everything else is as before.

# %%
predict(
    "07_no_places",
    "Without positions in the source, how many of the 12 can the model write at most?",
    ["all 12", "6", "none"],
)

# %% role="try" timed=true claim="no_places_no_who"
# Try it: the same training without positions in the encoder.
my_blind = my_learner(places=False)
my_blindly = my_translations(my_blind)
my_count = sum(mine == right for mine, (_, right) in zip(my_blindly, sentences, strict=True))
for my_place in (0, 2):
    print(f"{sentences[my_place][0]:24} {my_blindly[my_place]}")
for my_name, my_one in (("with positions", my_writer), ("without", my_blind)):
    with torch.no_grad():
        my_memory = my_one.encoder(sources, None)
    print(f"{my_name:15}", alike(my_memory))
compare_guess("07_no_places", {12: "all 12", 0: "none"}.get(my_count, str(my_count)))

# %% [markdown]
# It speaks perfect German and doesn't know who bites. "the dog bites the man" and "the man bites the dog" give the
# encoder the same set of vectors (lesson 06), so the decoder gets the same memory and writes the same sentence twice.
# Of each such pair one can be right: six of the twelve, and no training will change that.
#
# With positions the two "the" differ, and "der" and "den" have something to go by. Does your model know only these
# twelve by heart, or has it understood something? Take two sentences out of the training and see what it writes for
# them. In lesson 08 it is thousands, and the question becomes serious.

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
# You have written a whole Transformer, and it has learnt to write. You can walk from token ids to logits in nineteen
# steps. You know the slips that no shape reveals: the wrong root, padding left visible, dropout after the norm, a
# residual from the wrong place, one layer under six names. And you have seen what a position is for.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3 and figure 1: the same nineteen steps on three
#   pages; section 5.4 for dropout.
# - Rush (2018), *The Annotated Transformer*: the paper once more, line by line in code.
# - Geva et al. (2021), *Transformer Feed-Forward Layers Are Key-Value Memories*.
# - Glorot and Bengio (2010), *Understanding the Difficulty of Training Deep Feedforward Neural Networks*.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*, section 3: why many models
#   today normalise first, and what that changes in training.
# - Raffel et al. (2020), *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer*,
#   section 3.2: encoder and decoder, or a decoder alone?
#
# **Next lesson:** 08, *Training it*. A model of this kind learns to translate dates, and you watch its
# cross-attention turn from noise into an alignment.
#
# ## For those who want more
#
# Three things that the lessons after this one don't need: your blocks against PyTorch's own, the numbers a model starts
# from, and what the full size costs.

# %% [markdown]
# ### The same as PyTorch's
#
# PyTorch has the block as `nn.TransformerEncoderLayer` and the decoder's block as `nn.TransformerDecoderLayer`. If our
# steps are right, PyTorch's parameters in them give PyTorch's numbers. First the encoder's layer, by hand. Its
# attention keeps query, key and value projections in one tall matrix (see the end of lesson 03).


# %%
def attention_state(pytorch_attention: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The parameters of PyTorch's attention under our names."""
    found_state = {}
    for kind, stacked in (
        ("weight", pytorch_attention.in_proj_weight),
        ("bias", pytorch_attention.in_proj_bias),
    ):
        q_part, k_part, v_part = stacked.detach().chunk(3)
        found_state |= {f"q_proj.{kind}": q_part, f"k_proj.{kind}": k_part, f"v_proj.{kind}": v_part}
    return found_state | {
        f"out_proj.{key}": part for key, part in pytorch_attention.out_proj.state_dict().items()
    }


# %%
their_layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
# In a new layer the norms' weights are ones, their biases and attention's zeros, which would hide
# mistakes.
their_drawn = [nn.init.normal_(their_own, std=0.3) for their_own in their_layer.parameters()]
sample = torch.randn(3, 7, 48)
sample_mask = (torch.arange(7) < torch.tensor([[7], [5], [3]]))[:, None, None]

our_attention = MultiHeadAttention(48, 4)
copied = our_attention.load_state_dict(attention_state(their_layer.self_attn))
with torch.no_grad():
    z = their_layer.norm1(sample + our_attention(sample, sample, sample, sample_mask)[0])
    z = their_layer.norm2(z + their_layer.linear2(their_layer.linear1(z).relu()))
    theirs = their_layer(sample, src_key_padding_mask=~sample_mask[:, 0, 0])
print(f"encoder layer: largest difference {(z - theirs).abs().max():.4f}")

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
print(f"decoder layer: largest difference {(z - theirs).abs().max():.4f}")

# %% [markdown]
# Now yours: your `TransformerBlock` and `DecoderBlock` with PyTorch's parameters.


# %% role="try"
# Try it: both differences should be 0.
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
print(f"your encoder layer: largest difference {(my_memory - their_memory).abs().max():.4f}")
print(f"your decoder layer: largest difference {(mine - theirs).abs().max():.4f}")

# %% [markdown]
# Their dropout is 0 here. In training they differ from ours: PyTorch's layers also drop attention weights and the
# activations of the feed-forward layers. And `nn.Transformer` adds a norm after each stack.

# %%
for kind, theirs_in_full in (("encoder", their_layer), ("decoder", their_decoder_layer)):
    sub_layers = sum(isinstance(module, nn.LayerNorm) for module in theirs_in_full.modules())
    attentions = sum(isinstance(module, nn.MultiheadAttention) for module in theirs_in_full.modules())
    dropouts = attentions + sum(isinstance(module, nn.Dropout) for module in theirs_in_full.modules())
    print(f"{kind} layer: dropout in {dropouts} places, ours in {sub_layers}")
with torch.device("meta"):
    print("parameters of the two last norms:", how_many(nn.LayerNorm(512)) + how_many(nn.LayerNorm(512)))

# %% [markdown]
# ### The numbers it starts from
#
# Before training, all weights are random. How large should they be? If each layer shrinks its numbers a little, the
# last one gets next to nothing. `nn.Linear` draws weights with which the spread falls to 1/√3 in every layer.
# **Xavier's rule** (Glorot and Bengio 2010) chooses them so that it stays. Norms repair much of a bad start; plain
# layers have none:

# %%
_ = torch.manual_seed(0)
for rule in ("PyTorch's default", "Xavier's"):
    numbers = torch.randn(1000, 512)
    for _layer in range(6):
        plain_layer = nn.Linear(512, 512, bias=False)
        if rule == "Xavier's":
            by_xavier = nn.init.xavier_uniform_(plain_layer.weight)
        numbers = plain_layer(numbers).detach()
    print(f"{rule:18s} spread after six layers: {numbers.std():.2f}")

tied = nn.Embedding(10000, 512).weight.detach()
tokens_seen = torch.randn(100, 512)
print(f"logits from a table with spread 1: spread {(tokens_seen @ tied.T).std():.0f}")
print(f"with spread 1/√E:                  spread {(tokens_seen @ tied.T / math.sqrt(512)).std():.0f}")
print(f"parameters saved by tying:         {tied.numel():,d}")

# %% [markdown]
# The paper **ties** the last layer to the embedding: both use one table. As a last layer, a table of spread 1 gives
# logits so far apart that softmax mostly picks one word. The paper says that where the table embeds, its rows are
# multiplied by **√E**. It doesn't say what the table starts with. In the authors' code (tensor2tensor) the entries
# start with standard deviation 1/√E, and the two together make a word as large as its position. Our model doesn't
# tie: its table starts with spread 1, and needs no √E.
#
# ### The full size
#
# A parameter in float32 takes 4 bytes. The `meta` device makes tensors that have a shape and no memory, so even large
# models can be counted. The paper's encoder and decoder have 6 layers each.


# %%
def in_mb(number_of_floats):
    return f"{4 * number_of_floats / 1e6:6.1f} MB"


with torch.device("meta"):
    encoder_layer = nn.TransformerEncoderLayer(512, 8, 2048)
    decoder_layer = nn.TransformerDecoderLayer(512, 8, 2048)
tables = 2 * (10000 + 100) * 512  # words and places, in either language
last = 512 * 10000 + 10000
for depth in (2, 6):
    total = tables + last + depth * (how_many(encoder_layer) + how_many(decoder_layer))
    print(f"{depth} layers: {total:10,d} parameters, {in_mb(total)}")
print(f"one encoder layer {how_many(encoder_layer):,d}, one decoder layer {how_many(decoder_layer):,d}")

# %% [markdown]
# And one pass over 128 sentences, without gradients? A layer's tensors are freed when the next is
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
# positions. At this length attention's own table is small. It grows with the square of the
# length, though (lesson 09).
