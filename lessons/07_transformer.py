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
# "the dog bites the man" is "der Hund beißt den Mann" in German. The first "the" becomes "der" and the second "den",
# since German marks who bites and who is bitten. No word list can translate this, but you have almost all the parts of
# a model that can. In *Attention Is All You Need*, an **encoder** reads a sentence and a **decoder** writes it in
# another language, word by word. We take the model apart into nineteen steps, and our pair goes through all of them. At
# the end your own model learns a dozen such sentences within seconds and then writes them.
#
# **You need** lessons 03 (many heads, `nn.Module`), 04 (masks, where True means "may attend"), 05 (LayerNorm, residual
# connections) and 06 (a position is a vector that is added).
#
# **Afterwards you can**
#
# - name the nineteen steps, and what goes into each and comes out of it;
# - write encoder, decoder and the model that joins them, as modules whose parameters PyTorch finds;
# - say where dropout acts, and what is wrong with four lines of a tutorial;
# - show on a dozen sentences what the model needs positions for.
#
# **Time:** <!-- time -->.
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

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict, show
from grader.views.step_map import show_steps

torch.set_num_threads(1)  # small models compute fastest in one thread
_ = torch.manual_seed(0)


def shapes(*expected: int, **tensors: Tensor) -> None:
    """Print the shapes of tensors. ValueError if one isn't as expected."""
    for label, tensor in tensors.items():
        if tensor.shape != expected:
            raise ValueError(f"{label}: {tensor.shape}, expected {expected}")
        print(f"{label:18s}", expected)


# %% [markdown]
# ## 1 · The one part you haven't met
#
# Attention mixes tokens, and then each token goes through the **feed-forward layers** by itself. These are a linear
# layer to a wider vector (from 512 to 2048 components in the paper), a ReLU (negative components become zero), and a
# linear layer back to the original width.
#
# They hold two thirds of an encoder layer's parameters, and much of what a model has learnt (Geva et al. 2021).
#
# What is the ReLU for? Suppose a token holds two facts, each −1 or 1. We train the two layers to predict whether the
# facts agree, once with ReLU between them and once without. For comparison, a network that always guesses has a loss of
# ln 2 = 0.69 nats.

# %%
predict(
    "07_without_relu",
    "How large is the loss without ReLU, after training?",
    low=0,
    high=2,
    unit="nats",
)


# %% role="answer" claim="relu_is_needed"
def trained_loss(between: nn.Module) -> float:
    """The loss of two trained linear layers with `between` between them."""
    facts = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    agree = torch.tensor([1.0, 0.0, 0.0, 1.0])
    small = nn.Sequential(nn.Linear(2, 16), between, nn.Linear(16, 1))
    optimizer = torch.optim.Adam(small.parameters(), lr=0.05)
    for _step in range(300):
        loss = F.binary_cross_entropy_with_logits(small(facts)[:, 0], agree)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


loss_without = trained_loss(nn.Identity())
print(f"with ReLU  loss {trained_loss(nn.ReLU()):.2f}")
print(f"without    loss {loss_without:.2f}")
compare_guess("07_without_relu", round(loss_without, 2))

# %% [markdown] role="answer"
# Without ReLU, two layers can do no more than one, because `other @ (one @ x)` is `(other @ one) @ x`. No weighted sum
# of two facts shows whether they agree, so the network without ReLU goes on guessing.

# %% [markdown]
# ### Exercise 1: `FeedForward`
#
# Difficulty 1 of 5
#
# Write a module with two linear layers, `linear1` (from `d_model` to `d_ff`) and `linear2` (back), with ReLU between
# them. In all exercises of this lesson, `nn.MultiheadAttention` and all of `nn.Transformer*` are excluded.
#
# <details><summary>"The module has no parameter or buffer <code>linear1.weight</code>"</summary>
#
# The check loads its own parameters into your module by attribute name. Is the layer called `self.linear1`, and does
# `super().__init__()` come first?
#
# </details>
#
# <details><summary>My result is never negative</summary>
#
# ReLU only belongs between the layers. What leaves the second layer is added to the token's vector, and should be
# allowed to be negative.
#
# </details>


# %% exercise="FeedForward" role="solution"
class FeedForward(nn.Module):
    """The same two layers for every token by itself: wider, ReLU, back again
    (Vaswani et al. 2017, section 3.3).

    Has linear1, nn.Linear(d_model, d_ff), and linear2, nn.Linear(d_ff,
    d_model). forward: (..., E) to (..., E).
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
# The arrow keys (or the slider) take you through the nineteen steps, with the shapes that go in and out. One column
# belongs to the encoder and the other to the decoder, so look where they meet.

# %% role="draw"
from grader.views import ShapeTracer

ShapeTracer()

# %% [markdown]
# Attention and masks are given, but if your notebook of lesson 03 is in the same folder as this one and your
# `MultiHeadAttention` passes its check there, it is used instead.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads
from lesson_04 import causal_mask, decoder_mask, padding_mask

# %%
from grader import use_yours

use_yours(MultiHeadAttention)

# %% [markdown]
# ## 3 · From ids to vectors
#
# ### Step 1 · Token ids
#
# The model is given the source sentences, and of the target sentences what has been written so far. Padding has the id
# 1 in the source's vocabulary and 2 in the target's, and target sentences begin with `<bos>` and end with `<eos>`. Row
# 0 is our pair, and the other rows are random.

# %%
_ = torch.manual_seed(0)  # the same numbers below, whatever ran above
src_words = ["<unk>", "<pad>", "the", "dog", "bites", "man"]
trg_words = ["<bos>", "<eos>", "<pad>", "der", "Hund", "beißt", "den", "Mann"]
src_pad, trg_pad = 1, 2

src = torch.randint(6, 10000, (128, 28))
trg = torch.randint(8, 10000, (128, 29))
src[0, :5] = torch.tensor([2, 3, 4, 2, 5])  # the dog bites the man
trg[0, :7] = torch.tensor([0, 3, 4, 5, 6, 7, 1])
src_lengths = torch.randint(10, 29, (128, 1))
trg_lengths = torch.randint(10, 30, (128, 1))
src_lengths[0], trg_lengths[0] = 5, 7
src = src.where(torch.arange(28) < src_lengths, src_pad)
trg = trg.where(torch.arange(29) < trg_lengths, trg_pad)
shapes(128, 28, src=src)
shapes(128, 29, trg=trg)

# %% [markdown]
# ### Step 2 · Do the heads fit?
#
# The 512 components of a token's vector are divided among 8 heads, so 8 must divide 512.
#
# ### Step 3 · Two masks
#
# The source mask hides padding from all heads and all queries alike. The target mask hides the future, too, so it has a
# row for each query.
#
# **Spot the slip.** The Transformer tutorial whose nineteen steps we follow makes its target mask with
# `torch.tril(torch.ones((L, L))).expand(N, 1, L, L)`. What is missing?

# %%
d_model, num_heads = 512, 8
head_dim = d_model // num_heads
assert head_dim * num_heads == d_model
print("head_dim =", head_dim)
vectors = torch.zeros(128, 28, 512)
shapes(128, 28, 8, 64, cut=vectors.reshape(128, 28, 8, 64))

src_mask = padding_mask(src, src_pad)
trg_mask = decoder_mask(trg, trg_pad)
shapes(128, 1, 1, 28, src_mask=src_mask)
shapes(128, 1, 29, 29, trg_mask=trg_mask)
print("the pair's source:", src_mask[0, 0, 0, :8].int().tolist(), "...")

tutorial_mask = torch.tril(torch.ones((29, 29))).expand(128, 1, 29, 29) == 1
pairs, to_padding = tutorial_mask[0].sum(), (tutorial_mask & ~trg_mask)[0].sum()
print(f"The tutorial's lets {pairs} pairs through,")
print(f"and in {to_padding} of them the key is padding.")

# %% [markdown]
# The tutorial's mask doesn't hide padding, which does no harm here, because all padding is at the end and only queries
# that are padding themselves look at it. But padding before the words would do harm (lesson 04), and a mask that hides
# padding as well as the future costs just one more `&`.
#
# ### Step 4 · Ids become vectors
#
# Each id selects its row of a table (lesson 06). From here on we watch how similar the vectors of the two occurrences
# of "the" are. Their cosine is 1 if they point in the same direction, and 0 if they are at right angles.


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
# A second table has a row for every position, 0 to `max_length` − 1, and the two vectors are added. A longer sentence
# has positions without a row, so the modules below refuse it.
#
# **Dropout** is applied to the sum. In training it sets some of the entries to zero at random and scales up the others,
# so that the model can't rely on any single one. In eval mode it does nothing. It acts here and in every block with the
# same probability, so the encoder and the decoder pass this probability on to the blocks that they make, as in
# `TransformerBlock(..., dropout)`.

# %%
position_table = nn.Embedding(100, 512)
position_ids = torch.arange(0, 28).expand(128, 28)
position_vectors = position_table(position_ids).detach()
drop_tenth = nn.Dropout(0.1)

x = drop_tenth(embedded + position_vectors)
shapes(128, 28, positions=position_ids)
shapes(128, 28, 512, position_vectors=position_vectors, x=x)
print(f"set to zero by dropout: {(x == 0).float().mean():.2f}")
print(alike(x))

# %% [markdown]
# ## 4 · Attention
#
# Steps 6 to 12 are lesson 03's `MultiHeadAttention`, at full size.
#
# **Spot the slips.** After the scores, which it calls `energy`, the tutorial has two lines. Both run, and in each of
# them there is something that you have learnt to do in another way. What is it?
#
# ```python
# energy = energy.masked_fill(mask == 0, float("-1e20"))
# attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)
# ```

# %%
predict(
    "07_root",
    "With random queries and keys, what weights does the second line give?",
    [
        "more even than lesson 03's",
        "as even as lesson 03's",
        "less even than lesson 03's",
    ],
)

# %% role="answer"
drawn = torch.randn(2, 8, 28, 8, 64)
drawn_scores = torch.einsum("bqhd,bkhd->bhqk", drawn[0], drawn[1])
entropies = {}
for root_of, width in (("E", 512), ("head_dim", 64)):
    weights = (drawn_scores / math.sqrt(width)).softmax(dim=-1)
    entropies[root_of] = torch.special.entr(weights).sum(-1).mean().item()
    divisor = f"sqrt({root_of}) = {math.sqrt(width):4.1f}"
    print(f"divided by {divisor}: entropy {entropies[root_of]:.2f}")
print(f"all 28 keys alike: entropy {math.log(28):.2f}")
wider = entropies["E"] - entropies["head_dim"]
outcomes = ["as even as", "more even than", "less even than"]
outcome = outcomes[(wider > 0.1) - (wider < -0.1)]
compare_guess("07_root", f"{outcome} lesson 03's")

# %% [markdown] role="answer"
# The second line divides by √512, the root of the whole width, and so did an early version of Karpathy's `gpt.py`. But
# the dot products are sums over the 64 columns of a *head* (lesson 03). With √512 the weights are so nearly uniform
# that attention takes almost a plain average. The slip in the first line is −10²⁰, which float16 can't represent. It
# can represent −∞ (lesson 04).

# %% [markdown]
# Here are the seven steps on the map and in words, and then in one cell.

# %% role="draw"
show_steps(6, 12)

# %% [markdown]
# ### Step 6 · Queries, keys, values
#
# Three linear layers turn each token into three vectors.
#
# ### Step 7 · Cut into heads
#
# The last axis of 512 columns becomes 8 heads of 64 columns each.
#
# ### Step 8 · Scores
#
# In each head, every query meets every key. The sum runs over `d`, the letter that is missing after the arrow.
#
# ### Step 9 · Hide what must not be seen
#
# The mask (128, 1, 1, 28) broadcasts over heads and queries, and hidden scores become −∞.
#
# ### Step 10 · Scale, softmax
#
# The scores are divided by √head_dim, and softmax turns each row into weights.
#
# ### Step 11 · Mix the values
#
# Each query takes its weighted sum of the values, so the letter `k` is gone after the arrow.
#
# ### Step 12 · Join the heads, project
#
# Here the head axis comes after the token axis, so the heads can be joined without a transpose, and a last linear layer
# lets every column use all heads. Is the result the same as the module's? (Remember that its arguments are **query,
# key, value** and mask, in this order.)

# %% long="seven steps, with the shape after each"
lesson_03_module = MultiHeadAttention(512, 8).requires_grad_(False)
query_rows = lesson_03_module.q_proj(x)  # step 6
key_rows = lesson_03_module.k_proj(x)
value_rows = lesson_03_module.v_proj(x)
shapes(128, 28, 512, query_rows=query_rows, key_rows=key_rows)
shapes(128, 28, 512, value_rows=value_rows)
# step 7
query_heads, key_heads, value_heads = (
    rows.reshape(128, 28, 8, 64) for rows in (query_rows, key_rows, value_rows)
)
shapes(128, 28, 8, 64, query_heads=query_heads, key_heads=key_heads)
shapes(128, 28, 8, 64, value_heads=value_heads)
scores = torch.einsum("bqhd,bkhd->bhqk", query_heads, key_heads)  # step 8
masked = scores.masked_fill(~src_mask, -math.inf)  # step 9
attention_weights = (masked / math.sqrt(head_dim)).softmax(dim=-1)  # step 10
shapes(128, 8, 28, 28, scores=scores, masked=masked)
shapes(128, 8, 28, 28, attention_weights=attention_weights)
mixed = torch.einsum("bhqk,bkhd->bqhd", attention_weights, value_heads)  # 11
shapes(128, 28, 8, 64, mixed=mixed)
joined = mixed.reshape(128, 28, 512)  # step 12
attended = lesson_03_module.out_proj(joined)
shapes(128, 28, 512, joined=joined, attended=attended)

module_output, _ = lesson_03_module(x, x, x, src_mask)
apart = (module_output - attended).abs().max()
print(f"largest difference from the module: {apart:.4f}")
to_padding = attention_weights[0, :, :, 5:].sum()
print(f"the pair's weight on padding: {to_padding:.1f}")
print(alike(attended))

# %% [markdown]
# Before any training, attention gathers nearly the same content for both occurrences of "the".
#
# ## 5 · The block
#
# ### Step 13 · Add, normalise
#
# So that the token's own vector isn't lost, attention's output is *added* to it, and the sum is normalised. This is
# LayerNorm(x + attention(x)), which lesson 05 called post-norm. In training, dropout acts here, too, but on what?
#
# **Spot the slip.** The tutorial's line is `x = dropout(norm(attention + query))`. It gives the right shape, and in
# eval mode the same vectors as the paper. What does it do to a token in training? The cell compares it with what
# Vaswani et al. (2017, section 5.4) describe.

# %%
first_norm = nn.LayerNorm(512).requires_grad_(False)
drop = nn.Dropout(0.1)
of_each = {
    "tutorial": drop(first_norm(attended + x)),
    "paper": first_norm(x + drop(attended)),
}
for whose, made in of_each.items():
    zeros = 100 * (made == 0).float().mean()
    deviation = f"standard deviation {made.std(dim=-1).mean():.2f}"
    print(f"{whose:9s}: zeros {zeros:4.1f} %, {deviation}")

drop_tenth.eval()  # from here on
x_attended = first_norm(x + drop_tenth(attended))
shapes(128, 28, 512, x_attended=x_attended)
print(alike(x_attended))

# %% [markdown]
# The tutorial sets a tenth of each token's whole vector to zero, in every layer. The paper applies dropout "to the
# output of each sub-layer, before it is added to the sub-layer input and normalized". So it drops a tenth of what
# attention *adds*, and the vector itself always gets through. We use the paper's order, in eval mode from here on.
#
# ### Step 14 · Two layers for every token by itself
#
# The feed-forward layers follow, and after them dropout, addition and norm again.

# %%
wider = nn.Linear(512, 2048).requires_grad_(False)
back_again = nn.Linear(2048, 512).requires_grad_(False)
second_norm = nn.LayerNorm(512).requires_grad_(False)
inner = wider(x_attended).relu()
worked_on = back_again(inner)
block_output = second_norm(x_attended + drop_tenth(worked_on))
shapes(128, 28, 2048, inner=inner)
shapes(128, 28, 512, worked_on=worked_on, block_output=block_output)
print(alike(block_output))

# %% [markdown]
# The addition has kept the two vectors of "the" apart.
#
# ### Exercise 2: `TransformerBlock`
#
# Difficulty 3 of 5
#
# Put steps 6 to 14 into one module. `norm1`, `norm2` and `dropout` are given, and you add the attributes `attention` and
# `feed_forward`. Dropout, addition and norm come after the attention, and once more after the feed-forward layers.
#
# `forward(value, key, query, mask=None)` takes three tensors because the decoder will call it with two sequences. Take
# care with the order, which is the tutorial's and **not** the one in `MultiHeadAttention`.
#
# <details><summary>"The size of tensor a (…) must match the size of tensor b (…)"</summary>
#
# The check uses more keys than queries, and the attention's output has a row for each query. So which of the three
# arguments can it be added to?
#
# </details>
#
# <details><summary>An error in a matrix product inside the attention</summary>
#
# Look at the order of the arguments in your `forward`, and where you call `self.attention`. If you pass them by
# keyword, as in `query=query`, the order no longer matters. And remember that `self.attention` returns two things.
#
# </details>
#
# <details><summary>Only "in train mode" fails</summary>
#
# In this mode the check drops everything, since `dropout` is nearly 1. When the outputs of both sub-layers are gone,
# something should be left, but what? And how often does `forward` have to call `self.dropout`?
#
# </details>
#
# <details><summary>Everything agrees except for a few digits</summary>
#
# A new LayerNorm multiplies by 1 and adds 0, so you don't notice a wrong one, but the check loads other parameters.
# Does each sub-layer use its own norm?
#
# </details>


# %% exercise="TransformerBlock" role="solution" long="three of its lines are given"
class TransformerBlock(nn.Module):
    """Attention, then the feed-forward layers, each followed by dropout,
    addition and LayerNorm (post-norm).

    Has attention (MultiHeadAttention), norm1 and norm2 (nn.LayerNorm),
    feed_forward (FeedForward) and dropout (nn.Dropout). forward takes value
    and key (B, Tk, E), query (B, Tq, E) and mask, bool, broadcastable to
    (B, H, Tq, Tk), True = may attend, or None. It returns (B, Tq, E).
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        ### END SOLUTION
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        value: Tensor,
        key: Tensor,
        query: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        ### BEGIN SOLUTION
        attended, _ = self.attention(query, key, value, mask)
        x = self.norm1(query + self.dropout(attended))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% exercise="TransformerBlock" role="check"
check(TransformerBlock)

# %% role="try"
# Try it: your block with the parameters of steps 6 to 14, first without
# dropout and then with it.
my_block = TransformerBlock(512, 8, 2048, dropout=0.1).eval()
my_layers = (my_block.feed_forward.linear1, my_block.feed_forward.linear2)
my_parts = (my_block.attention, my_block.norm1, my_block.norm2, *my_layers)
of_the_steps = (lesson_03_module, first_norm, second_norm, wider, back_again)
for my_part, of_a_step in zip(my_parts, of_the_steps, strict=True):
    my_part.load_state_dict(of_a_step.state_dict())
with torch.no_grad():
    my_output = my_block(x, x, x, src_mask)
    my_dropped = my_block.train()(x, x, x, src_mask)
shapes(128, 28, 512, my_output=my_output)
my_apart = (my_output - block_output).abs().max()
print(f"largest difference from steps 6 to 14: {my_apart:.4f}")
print(f"in train mode: {(my_dropped - block_output).abs().max():.1f}")

# %% [markdown]
# ## 6 · The encoder
#
# ### Step 15 · Block after block
#
# The encoder consists of steps 4 and 5 and then `num_layers` blocks. Each block gets the output of the one before it as
# value, key and query. In lesson 02 one layer wasn't enough for the word "it". In the first layer it took in the end of
# the sentence, and in the second it used that to look for its noun.

# %% role="try"
# Try it: two of your blocks. Are the two vectors of "the" still apart?
my_layers = nn.ModuleList(
    TransformerBlock(512, 8, 2048, dropout=0.1) for _ in range(2)
).eval()
my_enc_out = x
with torch.no_grad():
    for my_layer in my_layers:
        my_enc_out = my_layer(my_enc_out, my_enc_out, my_enc_out, src_mask)
        shapes(128, 28, 512, my_enc_out=my_enc_out)
        print(alike(my_enc_out))

# %% [markdown]
# ### A list that PyTorch can see into
#
# Why do we use `nn.ModuleList` rather than a Python list? A module finds parameters only in those of its attributes
# that are themselves parameters or modules. Below, one linear layer has 20 parameters.


# %%
def how_many(some_module: nn.Module) -> int:
    """The number of a module's parameters."""
    return sum(parameter.numel() for parameter in some_module.parameters())


predict(
    "07_listed_thrice",
    "How many parameters does `nn.ModuleList([layer] * 3)` have?",
    ["0", "20", "60"],
)


# %% role="answer"
class Three(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers


layer = nn.Linear(4, 4)
thrice = [nn.Linear(4, 4) for _ in range(3)]
print("one layer:             ", how_many(layer))
print("three in a Python list:", how_many(Three(thrice)))
print("three in a ModuleList: ", how_many(Three(nn.ModuleList(thrice))))
listed = Three(nn.ModuleList([layer] * 3))
compare_guess("07_listed_thrice", str(how_many(listed)))

# %% [markdown] role="answer"
# `[layer] * 3` is one layer, listed three times, so its parameters are counted once. And layers in a Python list would
# run but never be trained, because the optimiser doesn't get their parameters.

# %% [markdown]
# ### Exercise 3: `Encoder`
#
# Difficulty 2 of 5
#
# This exercise is easier, since much of it is given. You only write `layers`, an `nn.ModuleList` of your
# `TransformerBlock` (every block gets `dropout`), and steps 4, 5 and 15 in `forward`. (The paper multiplies the
# embedding by √E, which this model doesn't do.)
#
# <details><summary>"The module has no parameter or buffer <code>layers.0...</code>"</summary>
#
# Print `[name for name, _ in Encoder(10, 6, 2, 3, 5).named_parameters()]`, and see whether the layers are there,
# numbered 0 and 1.
#
# </details>
#
# <details><summary>One layer is right, two are not</summary>
#
# Which variable goes into the second layer, if you follow it through the loop, and how far is your `return` indented?
#
# </details>
#
# <details><summary>I get "index out of range in self"</summary>
#
# A table is asked for a row that it doesn't have. Which of the two tables is it, and do you look up tokens in it or
# positions?
#
# </details>


# %% exercise="Encoder" role="solution" long="most of it is given"
class Encoder(nn.Module):
    """Embedding plus position, dropout, then num_layers blocks, one after the
    other.

    Has token_embedding and position_embedding (nn.Embedding), layers
    (nn.ModuleList of TransformerBlock) and dropout. forward takes tokens,
    integer ids (B, T), and mask, bool, broadcastable to (B, H, T, T), or None;
    it returns (B, T, E). Raises ValueError, naming both numbers, if T exceeds
    max_length.
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
        self.dropout = nn.Dropout(dropout)
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, dropout)
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        length = tokens.shape[1]
        if length > self.max_length:
            raise ValueError(f"{length} tokens, at most {self.max_length}")
        ### BEGIN SOLUTION
        positions = torch.arange(length, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x
        ### END SOLUTION


# %% exercise="Encoder" role="check"
check(Encoder)

# %% [markdown]
# This is a good place for a break. When you come back, click this line and choose *Run → Run All Above Selected Cell*.
#
# ## 7 · The decoder
#
# Why do we need a second stack? The source is known as a whole, so its words may look both ways, and it is read once,
# however many words are written. A target word, by contrast, may only look back.

# %% role="draw"
show_steps(16, 18)

# %% [markdown]
# ### Step 16 · The target looks at itself
#
# The target's tokens become vectors as in steps 4 and 5, with tables of their own. Then the target attends to itself,
# under its mask, and the output is added and normalised as in step 13. The result will be the *query* of the next step.

# %%
_ = torch.manual_seed(0)  # the same numbers below, whatever ran above
target_table, target_positions = (
    nn.Embedding(10000, 512),
    nn.Embedding(100, 512),
)
target = (target_table(trg) + target_positions(torch.arange(29))).detach()
self_attention = MultiHeadAttention(512, 8).requires_grad_(False)
norm_of_target = nn.LayerNorm(512).requires_grad_(False)

seen, seen_weights = self_attention(target, target, target, trg_mask)
target_query = norm_of_target(target + drop_tenth(seen))
shapes(128, 29, 512, target=target, target_query=target_query)
shapes(128, 8, 29, 29, seen_weights=seen_weights)

# %% [markdown]
# ### Step 17 · The target asks the source
#
# Here the two languages meet. The query comes from the target and has 29 rows, while key and value come from the
# encoder's output. This output is called **memory** and has 28 rows, and the mask is the source's. This
# *cross-attention* asks which words of the source matter for each word of the target. Addition, norm and the
# feed-forward layers follow, so all of step 17 is a `TransformerBlock` whose value and key are the memory.

# %%
source_memory = block_output  # of an encoder with one layer
cross_attention = MultiHeadAttention(512, 8).requires_grad_(False)
norm_of_answer = nn.LayerNorm(512).requires_grad_(False)
answer, cross_weights = cross_attention(
    target_query, source_memory, source_memory, src_mask
)
z = norm_of_answer(target_query + drop_tenth(answer))
target_output = second_norm(z + drop_tenth(back_again(wider(z).relu())))
shapes(128, 8, 29, 28, cross_weights=cross_weights)
shapes(128, 29, 512, answer=answer, target_output=target_output)
of_den = cross_weights[0, :, 4, :5].mean(0)
words = ["the", "dog", "bites", "the", "man"]
show(of_den, "den", words, title="mean of 8 heads")

# %% [markdown]
# Before any training, "den" has no reason to prefer any of the words.
#
# ### Exercise 4: `DecoderBlock`
#
# Difficulty 2 of 5
#
# The constructor is given, and you write `forward`, which carries out steps 16 and 17.
#
# <details><summary>"The size of tensor a (…) must match the size of tensor b (…)"</summary>
#
# The target's mask has as many columns as the target has tokens, and the source's mask as many as the source. Which
# attention layer got which mask?
#
# </details>
#
# <details><summary>My result has as many rows as the source</summary>
#
# The result has a row for each query, so which of the two sequences asks in step 17? And in which order does your block
# take its three tensors?
#
# </details>
#
# <details><summary>My result stays the same when I change <code>memory</code></summary>
#
# Then neither attention layer looks at the source, so check the key and the value of the second.
#
# </details>


# %% exercise="DecoderBlock" role="solution" long="its constructor is given"
class DecoderBlock(nn.Module):
    """Masked self-attention over the target, then a TransformerBlock whose
    query looks at the encoder's output.

    Has attention (MultiHeadAttention), norm (nn.LayerNorm), block
    (TransformerBlock) and dropout (nn.Dropout). forward takes x (B, Tq, E),
    memory (B, Tk, E), src_mask, broadcastable to (B, H, Tq, Tk), and trg_mask,
    broadcastable to (B, H, Tq, Tq), bool, True = may attend, or None. It
    returns (B, Tq, E).
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None,
        trg_mask: Tensor | None,
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
# The decoder has `num_layers` such blocks, one after the other, and each gets the *same* memory, the encoder's final
# output. A last linear layer, `fc_out`, gives each position a score for every word of the target's vocabulary. Such
# scores, before any softmax, are called **logits**.

# %%
to_words = nn.Linear(512, 10000).requires_grad_(False)
logits = to_words(target_output)
shapes(128, 29, 10000, logits=logits)

# %% [markdown]
# ### Exercise 5: `Decoder`
#
# Difficulty 1 of 5
#
# This is easier still, since everything that it shares with your `Encoder` is given, and you only write step 18. The
# decoder ends without a softmax, because the loss takes logits.
#
# <details><summary>My results are all between 0 and 1, or all negative</summary>
#
# Those are probabilities or their logarithms, and logits are what goes *into* a softmax.
#
# </details>
#
# <details><summary>What does a layer take?</summary>
#
# Each is a `DecoderBlock`, which takes `x`, the memory and both masks, so look at the order of its arguments.
#
# </details>


# %% exercise="Decoder" role="solution" long="all but three lines are given"
class Decoder(nn.Module):
    """Like the encoder, with DecoderBlocks, and a last layer that gives every
    position a score for every word.

    Has token_embedding, position_embedding, layers (nn.ModuleList of
    DecoderBlock), dropout and fc_out, nn.Linear(d_model, vocab_size). forward
    takes tokens, integer ids (B, T), memory (B, Tk, E), src_mask and trg_mask
    as in DecoderBlock; it returns logits (B, T, V). Raises ValueError, naming
    both numbers, if T exceeds max_length.
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
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout)
            for _ in range(num_layers)
        )
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        src_mask: Tensor | None,
        trg_mask: Tensor | None,
    ) -> Tensor:
        length = tokens.shape[1]
        if length > self.max_length:
            raise ValueError(f"{length} tokens, at most {self.max_length}")
        positions = torch.arange(length, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        x = self.dropout(x)
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)
        ### END SOLUTION


# %% exercise="Decoder" role="check"
check(Decoder)

# %% [markdown]
# ## 8 · The whole
#
# ### Step 19 · Everything connected
#
# The model makes both masks, the encoder reads the source, and the decoder looks at target and memory.

# %%
whole_src_mask, whole_trg_mask = padding_mask(src, 1), decoder_mask(trg, 2)
shapes(128, 1, 1, 28, whole_src_mask=whole_src_mask)
shapes(128, 1, 29, 29, whole_trg_mask=whole_trg_mask)
shapes(128, 28, 512, enc_src=source_memory)
shapes(128, 29, 10000, out=logits)
del logits  # 148 MB, which nothing below needs

# %% [markdown]
# Row i of the logits scores the words that could follow the target's tokens 0 to i. Training is fast because all rows
# are computed at once, while the target's mask keeps each row from seeing its answer.
#
# ### Exercise 6: `Transformer`
#
# Difficulty 3 of 5
#
# You write steps 3 and 19, that is `encoder`, `decoder`, and `forward(src, trg)`, which returns logits. The two padding
# ids belong to two different vocabularies.
#
# <details><summary>"<code>decoder.fc_out.weight</code> has shape (…), expected (…)"</summary>
#
# The two vocabularies differ in size, so which half of the model gets which? Check also the order in which you pass on
# `num_layers`, `num_heads` and the others.
#
# </details>
#
# <details><summary>My result is right without padding and wrong with it</summary>
#
# The source's padding must be hidden in two places, where the source looks at itself and where the target looks at the
# source. The target's padding must be hidden where the target looks at itself. Which padding id belongs to which
# sequence?
#
# </details>
#
# <details><summary>The check finds that the target sees its future</summary>
#
# Print the target mask for a short sentence, `decoder_mask(trg[:1, :5], 2).int()`, in which row i should have no 1 to
# the right of column i. Does the decoder get this mask, in the right place?
#
# </details>


# %% exercise="Transformer" role="solution" long="ten arguments, a line for each"
class Transformer(nn.Module):
    """Encoder and decoder, with the masks made from the tokens (Vaswani et al.
    2017).

    Has encoder (Encoder) and decoder (Decoder). forward takes src, integer ids
    (B, Ts), and trg, integer ids (B, Tt); it returns logits
    (B, Tt, trg_vocab_size). Hidden from everyone: padding; from the target: its
    future.
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
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        sizes = (d_model, num_layers, num_heads, d_ff, dropout, max_length)
        ### BEGIN SOLUTION
        self.encoder = Encoder(src_vocab_size, *sizes)
        self.decoder = Decoder(trg_vocab_size, *sizes)
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
# Try it: the paper's sizes, with two layers. If the last word of the target
# changes, which rows of the logits may move?
my_model = Transformer(10000, 10000, 1, 2, num_layers=2).eval()
my_changed = trg.clone()
my_changed[0, -1] = 9
with torch.no_grad():
    my_logits = my_model(src, trg)
    my_others = my_model(src[:1], my_changed[:1])
shapes(128, 29, 10000, my_logits=my_logits)
my_moved = (my_others[0] - my_logits[0]).abs().amax(-1) > 0.001
print("rows that moved:", my_moved.nonzero().flatten().tolist())
del my_logits

# %% [markdown]
# ## 9 · A dozen sentences by heart
#
# In twelve sentences, a dog, a man and a woman bite and see one another. "the man" is "der Mann" where he acts and "den
# Mann" where something is done to him.

# %%
acts = {"dog": "der Hund", "man": "der Mann", "woman": "die Frau"}
suffers = {"dog": "den Hund", "man": "den Mann", "woman": "die Frau"}
verbs = {"bites": "beißt", "sees": "sieht"}
lefts, rights = [], []
for verb in verbs:
    for a, b in itertools.permutations(acts, 2):
        lefts.append(f"the {a} {verb} the {b}")
        rights.append(f"{acts[a]} {verbs[verb]} {suffers[b]}")
english = [*src_words, "woman", "sees"]
german = [*trg_words, "die", "Frau", "sieht"]
sources = torch.tensor([[english.index(w) for w in s.split()] for s in lefts])
targets = [[german.index(w) for w in s.split()] for s in rights]
targets = torch.tensor([[0, *row, 1] for row in targets])  # <bos> ... <eos>
print(lefts[0], "|", rights[0], targets[0].tolist())

# %% [markdown]
# The model reads the target up to a word and scores the next one, at all positions at once. So its input is the target
# without the last token, and the labels are the target without the first. To write, it starts with `<bos>` and appends
# the likeliest word six times.


# %% role="try"
def my_learner(positions=True, left_out=(), steps=150, rate=0.003, layers=2):
    torch.manual_seed(0)
    kept = [i for i in range(12) if i not in left_out]
    read, written = sources[kept], targets[kept]
    model = Transformer(8, 11, 1, 2, 32, layers, 2, 64, dropout=0.0)
    if not positions:  # the source's are zero, and stay so
        model.encoder.position_embedding.requires_grad_(False).weight.zero_()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        logits = model(read, written[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), written[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


# %% role="try" timed=true claim="a_dozen_by_heart"
# Try it: your model learns, and writes what it has learnt.
@torch.no_grad()
def my_translations(model):
    so_far = torch.zeros(12, 1, dtype=torch.long)  # <bos>
    for _ in range(6):
        next_words = model(sources, so_far)[:, -1:].argmax(-1)
        so_far = torch.cat([so_far, next_words], dim=1)
    return [" ".join(german[i] for i in row[1:6]) for row in so_far.tolist()]


my_writer = my_learner()
my_written = my_translations(my_writer)
show([[text] for text in my_written[:6]], lefts[:6], ["your model writes"])
my_right = sum(a == b for a, b in zip(my_written, rights, strict=True))
print(f"{my_right} of 12 are right")

# %% [markdown]
# Now we come back to the two occurrences of "the", which share one word vector and differ only in their positions. So
# we take the source's positions away and train once more.

# %%
predict(
    "07_no_places",
    "How many of the 12 can it write without them, at most?",
    ["all 12", "6", "none"],
)

# %% role="try" timed=true claim="no_places_no_who"
# Try it: the same training without positions in the encoder.
my_blind = my_learner(positions=False)
my_blindly = my_translations(my_blind)
my_lines = [[my_blindly[0]], [my_blindly[2]]]
show(my_lines, [lefts[0], lefts[2]], ["without positions"])
for my_name, my_one in (("with positions", my_writer), ("without", my_blind)):
    with torch.no_grad():
        my_memory = my_one.encoder(sources, None)
    print(f"{my_name:15}", alike(my_memory))
my_count = sum(a == b for a, b in zip(my_blindly, rights, strict=True))
my_outcome = {12: "all 12", 0: "none"}.get(my_count, str(my_count))
compare_guess("07_no_places", my_outcome)

# %% [markdown] role="answer"
# It speaks perfect German but doesn't know who bites. "the dog bites the man" and "the man bites the dog" give the
# encoder the same set of vectors (lesson 06). So the decoder gets the same memory and writes the same sentence twice.
# Only one of each such pair can be right, which makes six of the twelve, and no training will change that. With
# positions the two vectors of "the" differ, so the decoder can tell where to write "der" and where "den".

# %% [markdown]
# Has your model learnt a rule, or does it only know these twelve sentences? We leave two of them out of a training,
# "the dog bites the man" and "the woman sees the dog", and then let it write all twelve.

# %%
predict(
    "07_rule",
    "How many of the two sentences that it has never seen come out right?",
    ["both", "one of them", "neither"],
)

# %% role="try" timed=true claim="two_left_out"
# Try it: two sentences left out.
my_out = [lefts.index("the dog bites the man")]
my_out += [lefts.index("the woman sees the dog")]
my_careful = my_translations(my_learner(left_out=my_out))
show(
    [[my_careful[i], rights[i]] for i in my_out],
    [lefts[i] for i in my_out],
    ["it writes", "right is"],
)
my_new = sum(my_careful[i] == rights[i] for i in my_out)
my_outcome = f"{my_new} of {len(my_out)}"
if len(my_out) == 2:
    my_outcome = ["neither", "one of them", "both"][my_new]
compare_guess("07_rule", my_outcome)

# %% [markdown] role="answer"
# It writes both, and it has learnt more than sentences. From the other ten it knows that "the man" is "den Mann" at the
# end, whoever bites, and "der Mann" at the beginning. A rule that holds for all of them was easier to find than ten
# separate answers. How many can you leave out before this fails? Put more places into `my_out`.

# %% [markdown]
# ## Quiz
#
# ### Exercise 7: `quiz_07`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `logits_shape` (a shape): what is the shape of the logits when `Transformer(5000, 7000, ...)` gets src (32, 15) and
#    trg (32, 12)?
# 2. `parameters` (a whole number): how many parameters does `TransformerBlock(12, 3, 20)` have, with biases and norms?
# 3. `attentions` (a whole number): how many `MultiHeadAttention` modules are there in a `Transformer` with
#    `num_layers=6`?
# 4. `rows_moved` (a whole number): a target has 12 tokens, and token 3 (counted from 0) changes to another word. How
#    many rows of its logits may change?

# %% exercise="quiz_07" role="solution"
quiz_07 = {
    "logits_shape": ...,  # a shape, for example (2, 3, 4)
    "parameters": ...,  # a whole number
    "attentions": ...,  # a whole number
    "rows_moved": ...,  # a whole number
}
### BEGIN SOLUTION
quiz_07 = {
    "logits_shape": (32, 12, 7000),
    "parameters": 1184,
    "attentions": 18,
    "rows_moved": 9,
}
### END SOLUTION

# %% exercise="quiz_07" role="check"
check(quiz_07, "quiz_07")

# %% [markdown]
# ## What you can do now
#
# You have written a whole Transformer, and it has learnt to write. You have met slips that no shape reveals, such as
# the wrong square root, padding left visible, dropout after the norm, and one layer listed three times.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3 and figure 1, show the same nineteen steps on three
#   pages.
# - Rush (2018), *The Annotated Transformer*, goes through the paper once more, line by line in code.
# - Geva et al. (2021), *Transformer Feed-Forward Layers Are Key-Value Memories*.
#
# **Next lesson:** 08, *Training it*. A model of this kind learns to translate dates, and you watch its cross-attention
# turn from noise into an alignment.
#
# ## For those who want more
#
# Later lessons don't need these four things: your model on the map, your blocks against PyTorch's own, the weights a
# model starts from, and what the full size costs.

# %% [markdown]
# ### Your model on the map
#
# The tracer runs your model and marks each step "as expected", "differs", "not seen" (what happens inside a function
# can't be watched), or "raises an error".

# %% role="try"
# Try it: break something on purpose, for example the order of the arguments in
# DecoderBlock, and look again.
from grader.views import ShapeTracer

ShapeTracer(Transformer(10000, 10000, 1, 2, num_layers=2))

# %% [markdown]
# ### The same as PyTorch's
#
# PyTorch calls our block `nn.TransformerEncoderLayer` and the decoder's block `nn.TransformerDecoderLayer`. If our
# steps are right, they give PyTorch's results when they use PyTorch's parameters. We begin with the encoder's layer,
# whose attention keeps query, key and value projections in one tall matrix (see the end of lesson 03).


# %%
def attention_state(theirs: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The parameters of PyTorch's attention under our names."""
    last = theirs.out_proj.state_dict()
    state = {f"out_proj.{kind}": parameter for kind, parameter in last.items()}
    for kind in ("weight", "bias"):
        thirds = getattr(theirs, f"in_proj_{kind}").detach().chunk(3)
        for letter, third in zip("qkv", thirds, strict=True):
            state[f"{letter}_proj.{kind}"] = third
    return state


def randomised(theirs: nn.Module) -> nn.Module:
    """Random parameters: a new norm's ones and zeros would hide mistakes."""
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    return theirs.requires_grad_(False)


# %%
e = randomised(nn.TransformerEncoderLayer(48, 4, 96, 0.0, batch_first=True))
sample = torch.randn(3, 7, 48)
sample_mask = torch.arange(7) < torch.tensor([[7], [5], [3]])[:, None, None]

ours = MultiHeadAttention(48, 4).requires_grad_(False)
_ = ours.load_state_dict(attention_state(e.self_attn))
z = e.norm1(sample + ours(sample, sample, sample, sample_mask)[0])
z = e.norm2(z + e.linear2(e.linear1(z).relu()))
e_output = e(sample, src_key_padding_mask=~sample_mask[:, 0, 0])
print(f"encoder layer: largest difference {(z - e_output).abs().max():.4f}")

# %% [markdown]
# The decoder's layer has two attention modules and three norms. In ours, these are `attention` and `norm`, and the
# block's `attention`, `norm1` and `norm2`.

# %%
d = randomised(nn.TransformerDecoderLayer(48, 4, 96, 0.0, batch_first=True))
sample_target, no_future = torch.randn(3, 6, 48), causal_mask(6)

_ = ours.load_state_dict(attention_state(d.self_attn))
z = ours(sample_target, sample_target, sample_target, no_future)[0]
z = d.norm1(sample_target + z)
_ = ours.load_state_dict(attention_state(d.multihead_attn))
z = d.norm2(z + ours(z, sample, sample, sample_mask)[0])
z = d.norm3(z + d.linear2(d.linear1(z).relu()))
hidden = {"memory_key_padding_mask": ~sample_mask[:, 0, 0]}
d_output = d(sample_target, sample, tgt_mask=~no_future, **hidden)
print(f"decoder layer: largest difference {(z - d_output).abs().max():.4f}")

# %% [markdown]
# Now we load PyTorch's parameters into your `TransformerBlock` and `DecoderBlock`.


# %% role="try"
def my_loaded(my_block, theirs, attention, *norms):
    my_block.attention.load_state_dict(attention_state(attention))
    my_layers = my_block.feed_forward.linear1, my_block.feed_forward.linear2
    my_parts = (my_block.norm1, my_block.norm2, *my_layers)
    their_parts = (*norms, theirs.linear1, theirs.linear2)
    for my_part, part in zip(my_parts, their_parts, strict=True):
        my_part.load_state_dict(part.state_dict())
    return my_block.requires_grad_(False)


# %% role="try"
# Try it: both differences should be 0.
my_block = TransformerBlock(48, 4, 96)
my_block = my_loaded(my_block, e, e.self_attn, e.norm1, e.norm2)
my_output = my_block(sample, sample, sample, sample_mask)
my_apart = (my_output - e_output).abs().max()
print(f"your encoder layer: largest difference {my_apart:.4f}")

my_decoder_block = DecoderBlock(48, 4, 96).requires_grad_(False)
my_loaded(my_decoder_block.block, d, d.multihead_attn, d.norm2, d.norm3)
my_decoder_block.attention.load_state_dict(attention_state(d.self_attn))
my_decoder_block.norm.load_state_dict(d.norm1.state_dict())
my_output = my_decoder_block(sample_target, sample, sample_mask, no_future)
my_apart = (my_output - d_output).abs().max()
print(f"your decoder layer: largest difference {my_apart:.4f}")

# %% [markdown]
# Dropout is 0 in all of these layers. With dropout, PyTorch's would differ from ours, since they also drop attention
# weights and outputs of the ReLU. Another difference is that `nn.Transformer` adds a norm after each stack.


# %%
def contained(module: nn.Module, kind: type) -> int:
    """How many modules of a kind a module contains."""
    return sum(isinstance(inner, kind) for inner in module.modules())


for name, module in (("encoder", e), ("decoder", d)):
    drops = contained(module, nn.Dropout)
    drops += contained(module, nn.MultiheadAttention)
    ours_drop = contained(module, nn.LayerNorm)
    print(f"{name} layer: dropout in {drops} places, ours in {ours_drop}")
print("parameters of the two last norms:", 2 * how_many(nn.LayerNorm(512)))

# %% [markdown]
# ### The weights it starts from
#
# Before training, all weights are random, but how large should they be? If each layer makes its vectors a little
# smaller, the last layer gets next to nothing. With the weights that `nn.Linear` draws, every layer divides the
# standard deviation by √3. **Xavier's rule** (Glorot and Bengio 2010, *Understanding the Difficulty of Training Deep
# Feedforward Neural Networks*) chooses weights that leave it as it is, if a layer has as many outputs as inputs. Norms
# repair much of a bad start, but these plain layers have none.

# %%
_ = torch.manual_seed(0)
for rule in ("PyTorch's default", "Xavier's"):
    outputs = torch.randn(1000, 512)
    for _layer in range(6):
        weight = nn.Linear(512, 512).weight.detach()
        if rule == "Xavier's":
            weight = nn.init.xavier_uniform_(weight)
        outputs = outputs @ weight.T
    print(f"{rule:18s} deviation after six layers: {outputs.std():.2f}")

tied = nn.Embedding(10000, 512).weight.detach()
tokens_seen = torch.randn(100, 512)
deviation = (tokens_seen @ tied.T).std()
print(f"table with deviation 1, logits: {deviation:.0f}")
print(f"table with 1/√E,        logits: {deviation / 512**0.5:.0f}")
print(f"parameters saved by tying:      {tied.numel():,d}")

# %% [markdown]
# The paper **ties** the last layer to the embedding, so both use one table. As a last layer, a table with standard
# deviation 1 gives logits so far apart that softmax mostly picks one word. The paper multiplies its rows by **√E** when
# it serves as the embedding, but doesn't mention how it is initialised. In the authors' code (tensor2tensor) the
# entries start with standard deviation 1/√E. Together, these make a word's vector about as large as its position's. Our
# model doesn't tie them, so its table starts with standard deviation 1 and needs no √E.
#
# ### The full size
#
# A parameter in float32 takes 4 bytes, and the `meta` device makes tensors that have a shape but no memory, so even the
# parameters of large models can be counted. The encoder and the decoder of the paper have 6 layers each.


# %%
def in_mb(number_of_floats):
    return f"{4 * number_of_floats / 1e6:6.1f} MB"


with torch.device("meta"):
    of_encoder = how_many(nn.TransformerEncoderLayer(512, 8, 2048))
    of_decoder = how_many(nn.TransformerDecoderLayer(512, 8, 2048))
tables = 2 * (10000 + 100) * 512  # words and positions, in either language
last = 512 * 10000 + 10000
for depth in (2, 6):
    total = tables + last + depth * (of_encoder + of_decoder)
    print(f"{depth} layers: {total:10,d} parameters, {in_mb(total)}")
print(f"one encoder layer {of_encoder:,d}, one decoder layer {of_decoder:,d}")

# %% [markdown]
# How much memory does one pass over 128 sentences take, without gradients? A layer's tensors are freed once the next
# layer is done, so what counts is the parameters and the largest tensors.

# %%
passing = {
    "token vectors (B, T, E)": 128 * 29 * 512,
    "weights (B, H, T, T)": 128 * 8 * 29 * 29,
    "inner (B, T, d_ff)": 128 * 29 * 2048,
    "logits (B, T, V)": 128 * 29 * 10000,
}
for what, floats in passing.items():
    print(f"{what:24s} {in_mb(floats)}")
together = total + passing["logits (B, T, V)"]
print(f"{'6 layers and the logits':24s} {in_mb(together)}")

# %% [markdown]
# The largest single tensor doesn't come from attention. It holds the logits, which are 10 000 scores for each of 128 ·
# 29 positions. At this length attention's own table is small, but it grows with the square of the length (lesson 09).
