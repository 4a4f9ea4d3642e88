# ---
# jupyter:
#   course:
#     about: tokens as vectors; learnt, sinusoidal, relative and rotary positions
#     picture: sinusoidal encodings and their dot products by distance
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
# # 06 · Tokens and positions
#
# "The dog bites the man" and "the man bites the dog" consist of the same words but mean different things. Attention
# compares tokens with each other, but does it see who bites? This lesson is about the very first layer of a
# Transformer, where words become vectors and get a position.
#
# **You need** lesson 02 (`nn.Linear`, trainable attention), broadcasting, and sine and cosine. Lesson 03's heads and
# lesson 04's masks come up, too.
#
# **Afterwards you can**
#
# - turn token ids into vectors, and say why a look-up equals a matrix product;
# - show that attention without positions doesn't see the order;
# - bring in positions by adding vectors (learnt, sinusoidal), biasing the scores, and rotating queries and keys
#   (rotary);
# - say which of these depend only on the relative position of two tokens, and why that is useful.
#
# **Time:** <!-- time -->. The plan: ids → vectors → does attention see order? →
# learnt positions → sines and cosines → distance → a bias for each offset → rotation → all four trained on one
# task → a quiz.
#
# | letter | meaning |
# | --- | --- |
# | `B`, `T` | sentences in a batch, tokens in a sentence (`Tq`, `Tk` where queries and keys differ in number) |
# | `V` | size of the vocabulary: how many different tokens there are |
# | `P` | rows of a position table: the longest sentence it serves |
# | `E` | `d_model`, the width of a token's vector |
# | `H`, `D` | heads, and the width of one |
# | `m` | how far a relative position table reaches to either side |

# %%
import itertools
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict, show, show_reads

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## 1 · From words to vectors
#
# A model can't multiply words, so every word (or piece of a word) in a *vocabulary* gets a number, its **id**, and a
# sentence becomes a row of whole numbers. Shorter sentences in a batch are filled up with a padding id, as in
# lesson 04.

# %%
vocabulary = ["<pad>", "the", "dog", "man", "bites", "sees"]
ids = {word: i for i, word in enumerate(vocabulary)}

sentences = ["the dog bites the man", "the man bites the dog"]
tokens = [[ids[word] for word in sentence.split()] for sentence in sentences]
tokens = torch.tensor(tokens)
print("tokens", tokens, sep="\n")

# %% [markdown]
# As in lesson 01, ids are labels and not amounts, so "man" (3) isn't one and a half times "dog" (2). Each id therefore
# stands for a **vector**, whose components training can change. It is a row of the embedding table (V, E), and row 2
# belongs to "dog".

# %%
torch.manual_seed(0)
table = torch.randn(6, 4).round(decimals=1)
rows = [f"{i}  {word}" for word, i in ids.items()]
show(table, rows, title="table", form=".1f")

# %% [markdown]
# Mathematically, picking a row is a matrix product. A *one-hot* row is 0 everywhere except for a 1 at the id, so in its
# product with the table all rows but one are multiplied by 0.

# %%
one_hot = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
show(
    {"one-hot times table": one_hot @ table, "row 2": table[2]},
    "dog",
    form=".1f",
)

# %% [markdown]
# So the table is a layer with weights, and its gradient is that of a matrix product. Only the rows whose ids occur in
# the batch get a gradient other than 0. But no program multiplies by all those zeros, and PyTorch's `nn.Embedding`
# looks the rows up instead.
#
# Now we take the sizes of a real model, with 128 sentences in a batch, 28 tokens per source and 29 per target sentence,
# vectors 512 wide, and 10 000 words. Row 0 is a real pair, "the dog bites the man" and "der Hund beißt den Mann", which
# lesson 07 sends through a whole Transformer. The other rows are random.

# %%
torch.manual_seed(0)
src, trg = torch.randint(10000, (128, 28)), torch.randint(10000, (128, 29))
german = ["<pad>", "der", "Hund", "beißt", "den", "Mann"]
src[0], trg[0] = 0, 0  # padding
src[0, :5] = tokens[0]
trg[0, :5] = torch.arange(1, 6)  # der Hund beißt den Mann
print("src", tuple(src.shape), " trg", tuple(trg.shape))
print("row 0:", src[0, :7].tolist(), "...", trg[0, :7].tolist(), "...")

# %%
word_embedding = nn.Embedding(10000, 512)
print("word_embedding(src)", tuple(word_embedding(src).shape))
print("numbers in the table", word_embedding.weight.numel())

one_hot_numbers = src.numel() * 10000
print("numbers in the one-hot of src", one_hot_numbers, end=" ")
print(f"= {one_hot_numbers * 4 / 1e6:.0f} MB in float32")

# %% [markdown]
# An embedding replaces each id by a row, so the shape (B, T) becomes (B, T, E).
#
# ### Exercise 1: `embed_tokens`
#
# Difficulty 1 of 5
#
# Look up the row of every id. `nn.Embedding` and `F.embedding` are excluded, but indexing and the one-hot product are
# allowed.
#
# <details><summary>"mat1 and mat2 shapes cannot be multiplied"</summary>
#
# How wide is a one-hot row, and how many rows does the table have? If the width comes from the ids in the batch, it is
# too small whenever the last word of the vocabulary doesn't occur.
#
# </details>
#
# <details><summary>"expected m1 and m2 to have the same dtype"</summary>
#
# One-hot rows hold whole numbers and the table doesn't, so convert them to its dtype, whichever that is.
#
# </details>
#
# <details><summary>The shape is (V, B, T)</summary>
#
# Then your index picks columns, not rows. Is there a comma in your square brackets, and what comes before it?
#
# </details>


# %% exercise="embed_tokens" role="solution"
def embed_tokens(tokens: Tensor, table: Tensor) -> Tensor:
    """Replace every id by its row of the table.

    tokens: (B, T), ids from 0 to V - 1; table: (V, E). Returns (B, T, E).
    """
    ### BEGIN SOLUTION
    return table[tokens]
    ### END SOLUTION


# %% exercise="embed_tokens" role="check"
check(embed_tokens)

# %% role="try"
# Try it: five rows for each of the two sentences. Which of them are equal?
print(embed_tokens(tokens, table))

# %% [markdown]
# ## 2 · Does attention see order?
#
# Our two sentences differ only in where "dog" and "man" appear. Lesson 02's attention with trainable matrices is given
# here.

# %% role="given"
from lesson_02 import trainable_self_attention

# %%
torch.manual_seed(7)
u_query, u_key, u_value = torch.randn(3, 4, 4).unbind()


def attend(x):
    """The same attention for all of this lesson: only positions differ."""
    return trainable_self_attention(x, u_query, u_key, u_value)[0]


embedded = F.embedding(tokens, table)
predict(
    "06_dog",
    'Does "dog" get the same output in both sentences?',
    ["yes", "no, its position differs", "no, the words before it differ"],
)

# %% role="answer"
for sentence, output in zip(sentences, attend(embedded), strict=True):
    show(output, sentence.split(), title="output")

biting, bitten = attend(embedded)[0, 1], attend(embedded)[1, 4]
same = torch.allclose(biting, bitten, atol=1e-5)
compare_guess("06_dog", "yes" if same else "no, its position differs")

# %% [markdown] role="answer"
# In the two tables, "dog" gets the same output whether it bites or is bitten. Both occurrences of "the" have the same
# output, too, so no later layer can find out which of them becomes "der" in German and which "den". Attention is a *sum
# of values, weighted by attention weights*, and both depend on what the tokens are, never on where they are.

# %% [markdown]
# In general, permuting the tokens permutes the outputs in the same way and changes nothing else. This is called
# **permutation equivariance**. Our second sentence is the first with tokens 1 and 4 exchanged.

# %%
order = [0, 4, 2, 3, 1]
first, second = attend(embedded)
print("tokens of sentence 1 in the order", order)
print("minus those of sentence 2:", (tokens[0][order] - tokens[1]).tolist())
apart = (first[order] - second).abs().max()
print(f"largest difference of their outputs: {apart:.3f}")

# %% [markdown]
# Could the other parts of a Transformer see the order? They can't, because norms and feed-forward layers (lesson 07)
# look at one token at a time. We run a whole encoder layer from PyTorch with three heads, first without a mask and then
# with a causal one. Each run gets ten tokens twice, in order and shuffled.

# %%
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(12, 3, dropout=0.0, batch_first=True)
ten, shuffled = torch.randn(1, 10, 12), torch.randperm(10)
causal = nn.Transformer.generate_square_subsequent_mask(10)

predict(
    "06_shuffled",
    "In which of the two runs are the outputs the same apart from their order?",
    ["in both", "only without the mask", "only with the mask", "in neither"],
)

# %% role="answer"
apart = {}
for name, mask in (("without a mask", None), ("with a causal mask", causal)):
    with torch.no_grad():
        in_order = layer(ten, mask)[:, shuffled]
        apart[name] = (layer(ten[:, shuffled], mask) - in_order).abs().max()
    print(f"{name:19} largest difference {apart[name]:.1f}")

told = {(True, True): "in both", (False, False): "in neither"}
told[True, False], told[False, True] = (
    "only without the mask",
    "only with the mask",
)
compare_guess(
    "06_shuffled", told[tuple((d < 1e-4).item() for d in apart.values())]
)

# %% [markdown] role="answer"
# Without a mask the outputs are the same once they are back in order. The causal mask is an exception, since it doesn't
# treat all positions alike. The first token sees only itself, and the second sees two. A decoder can use that, but an
# encoder has no such mask.

# %% [markdown]
# So the order must be *put in*, as the rest of the lesson shows.
#
# ## 3 · A learnt vector for each position
#
# The simplest idea is to give positions a table of their own, in which row 0 belongs to the first token and row 1 to
# the second. The token's vector and the position's vector are **added**.

# %%
torch.manual_seed(5)
position_table = torch.randn(8, 4).round(decimals=1)  # for up to 8 tokens
the = {
    f"the as token {p}": (table[1] + position_table[p]).tolist() for p in (0, 3)
}
show(list(the.values()), list(the), title="vector", form=".1f")

placed = embedded + F.embedding(torch.arange(5), position_table)
first, second = attend(placed)
dogs = torch.stack([first[1], second[4]])
show(dogs, ["dog bites", "dog is bitten"], title="output")

# %% [markdown]
# Now "dog" at position 1 and "dog" at position 4 are two different vectors, and attention can tell them apart. (Can a
# model get the two parts back out of their sum? The one that section 8 trains can.)
#
# The reader of lessons 01 to 05 had such a table all along, with a vector for each of its twelve places. Here is what it
# could read of the robot's sentences, with each piece of attention that you have written so far.

# %%
show_reads()

# %% [markdown]
# Next we do the same with the sizes from above, in the notation of a tutorial on the Transformer, which lesson 07 takes
# apart (N and L are our B and T).

# %%
torch.manual_seed(0)
position_embedding = nn.Embedding(100, 512)  # sentences of up to 100 tokens
N, L = src.shape
positions = torch.arange(0, L).expand(N, L)
pos_embed = position_embedding(positions)
out = word_embedding(src) + pos_embed

print("positions", tuple(positions.shape), end="  ")
print("first row starts", positions[0, :4].tolist())
print("position_embedding(positions)", tuple(pos_embed.shape))
print("out", tuple(out.shape))

# %%
for name, row in (("without", word_embedding(src)[0]), ("with", out[0])):
    apart = (row[0] - row[3]).norm()
    print(f"distance of the two 'the' {name} positions: {apart:.0f}")

# %% [markdown]
# All sentences have the same positions, so the tutorial's `expand` isn't needed. One table of vectors (T, E) is enough,
# and broadcasting adds it to each sentence.
#
# ### Exercise 2: `embed_with_positions`
#
# Difficulty 2 of 5
#
# Add the position vectors to the token vectors. If a sentence has more tokens than the position table has rows, raise
# `ValueError` with a message that names both lengths.
#
# (Vaswani et al. 2017, section 3.4, also multiply the token vectors by √d_model, but many programs don't, and neither
# do we.)
#
# <details><summary>"The size of tensor a must match the size of tensor b"</summary>
#
# Write one shape below the other, aligned on the right, and look at the axis that the message names. How many rows of
# the position table do you need for this batch?
#
# </details>
#
# <details><summary>The check finds that positions are looked up by the id</summary>
#
# Which row should the first token get, if its id is 4? The index into the position table comes from counting, not from
# `tokens`.
#
# </details>
#
# <details><summary>A sentence that is too long gives another error, or none</summary>
#
# In Python, a slice that goes beyond the end of a table raises no error, but comes out shorter. So compare the two
# lengths yourself before you add.
#
# </details>


# %% exercise="embed_with_positions" role="solution"
def embed_with_positions(
    tokens: Tensor, token_table: Tensor, position_table: Tensor
) -> Tensor:
    """Add to every token's vector the vector of its position.

    tokens: (B, T); token_table: (V, E); position_table: (P, E).
    Returns (B, T, E). Raises ValueError, naming both lengths, if T exceeds P.
    """
    ### BEGIN SOLUTION
    seq_len, positions = tokens.shape[1], len(position_table)
    if seq_len > positions:
        raise ValueError(f"{seq_len} tokens, but {positions} positions only")
    return embed_tokens(tokens, token_table) + position_table[:seq_len]
    ### END SOLUTION


# %% exercise="embed_with_positions" role="check"
check(embed_with_positions)

# %% role="try"
# Try it: is the result the same as above? And what happens when nine tokens
# meet eight positions?
print(
    torch.allclose(embed_with_positions(tokens, table, position_table), placed)
)
try:
    embed_with_positions(
        torch.ones(1, 9, dtype=torch.long), table, position_table
    )
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# ## 4 · Sines and cosines
#
# A learnt table has an end, and its rows are independent, so a model has to learn from examples that positions 6 and 7
# are neighbours. The alternative in Vaswani et al. (2017) is **computed**, not learnt.
#
# Think of a clock, whose second hand tells close moments apart but repeats every minute. The hour hand hardly moves,
# but it tells three o'clock from nine, and together the hands show the exact time. A position is written in the same
# way, with E/2 hands that turn at different speeds. Two numbers, a sine and a cosine, give a hand's direction.
#
# $$\text{angle}_i = \frac{\text{position}}{10000^{\,2i/E}}$$
#
# $$\text{column } 2i = \sin(\text{angle}_i)$$
#
# $$\text{column } 2i{+}1 = \cos(\text{angle}_i)$$
#
# The letter i counts the hands, from 0 to E/2 − 1. For E = 8 there are four, whose speeds (also called frequencies) are
# round numbers.

# %%
E = 8
hands = range(E // 2)
divisors = [10000 ** (2 * i / E) for i in hands]
turns = [f"{2 * math.pi * divisor:.1f}" for divisor in divisors]
rows = [[f"{by:g}", turn] for by, turn in zip(divisors, turns, strict=True)]
show(
    rows,
    [f"hand {i}" for i in hands],
    ["divided by", "positions in a full turn"],
)

rows = [[3 / by, math.sin(3 / by), math.cos(3 / by)] for by in divisors]
pairs = [f"columns {2 * i} and {2 * i + 1}" for i in hands]
show(rows, pairs, ["angle", "sine", "cosine"], title="position 3", form=".3f")

# %% role="draw"
moments = torch.linspace(0, 40, 401)
figure, axes = plt.subplots(figsize=(8.4, 2.8), layout="constrained")
shades = plt.get_cmap("cividis")
for hand, style in zip(range(3), ("-", "--", ":"), strict=True):
    wave = torch.sin(moments / 10000 ** (2 * hand / 8))
    line = {"color": shades(0.1 + 0.3 * hand), "label": f"column {2 * hand}"}
    axes.plot(moments, wave, style, linewidth=2, **line)
axes.set(xlabel="position", ylabel="value", ylim=(-1.1, 1.1))
figure.legend(loc="outside upper center", ncols=3)
plt.show()

# %% [markdown]
# *The picture in words:* three waves run over the positions 0 to 40. Column 0 goes up and down every six positions,
# while column 2 needs 63 for a full wave and completes less than two thirds of one. Column 4 rises slowly, almost in a
# straight line.
#
# Now we draw 32 hands for sixty positions. Where do neighbouring rows differ, and where do they look the same?

# %% role="draw"
places, hand = torch.arange(60).unsqueeze(1), torch.arange(32)
picture_angles = places / 10000 ** (hand / 32)
figure, panels = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained")
colours = {"cmap": "cividis", "vmin": -1, "vmax": 1, "aspect": "auto"}
halves = {"sines": picture_angles.sin(), "cosines": picture_angles.cos()}
for axes, (name, half) in zip(panels, halves.items(), strict=True):
    drawn = axes.imshow(half, **colours)
    axes.set(title=name, xlabel="hand", ylabel="position")
figure.colorbar(drawn, ax=panels)
plt.show()

# %% [markdown]
# *The picture in words:* two panels have sixty rows and 32 columns each, one with the sines of all hands and one with
# their cosines. On the left of each, in the fast hands, the colours change from row to row. Towards the right the
# stripes get longer, and the last ten columns hardly change from top to bottom. There the sines stay grey, near 0, and
# the cosines yellow, near 1.
#
# Neighbours differ in the fast hands, and positions far apart in the slow ones. Every entry is between −1 and 1, and
# the table can go on for ever, so position 5000 has a row, too.
#
# ### Exercise 3: `sinusoidal_encoding`
#
# Difficulty 3 of 5
#
# Make the whole table for positions 0 to `seq_len` − 1, with sines in the even columns and cosines in the odd ones.
# They come in pairs, so an odd `d_model` raises `ValueError`. Whatever you compute with, the table you return has
# torch's default dtype, so that it can be added to the words' vectors.
#
# <details><summary>Row 0 is right, the others aren't</summary>
#
# In row 0 every angle is 0, whatever the speeds are, so work out row 1 as the section's first cell does for position 3.
# Which columns share an angle, and does `torch.arange(0, d_model, 2)` give you i or 2i?
#
# </details>
#
# <details><summary>How do I put sines and cosines into alternate columns?</summary>
#
# A slice may have a step, even on the left of an assignment, so `[:, 0::2]` means columns 0, 2, 4, …
#
# </details>
#
# <details><summary>How do I get all angles at once?</summary>
#
# Make the positions a column (T, 1) with `unsqueeze`. With the speeds as a row (E/2,), broadcasting makes the table
# (T, E/2).
#
# </details>


# %% exercise="sinusoidal_encoding" role="solution"
def sinusoidal_encoding(seq_len: int, d_model: int) -> Tensor:
    """Sine in even, cosine in odd columns, each pair with its own frequency
    (Vaswani et al. 2017, section 3.5).

    Returns (T, E) with T = seq_len and E = d_model, of torch's default dtype;
    positions count from 0. Raises ValueError for an odd d_model.
    """
    ### BEGIN SOLUTION
    if d_model % 2 != 0:
        raise ValueError(
            f"d_model={d_model} is odd: sine and cosine are a pair"
        )
    doubled = torch.arange(0, d_model, 2)  # 2i
    angles = torch.arange(seq_len).unsqueeze(1) / 10000 ** (doubled / d_model)
    encoding = torch.empty(seq_len, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding
    ### END SOLUTION


# %% exercise="sinusoidal_encoding" role="check"
check(sinusoidal_encoding)

# %% role="try"
# Try it: is the last row the one that was computed by hand?
print(sinusoidal_encoding(4, 8))

# %% [markdown]
# ## 5 · Only the distance counts
#
# Why sines *and* cosines? In the dot product of two positions' rows, hand i contributes
#
# $$\sin a \, \sin b + \cos a \, \cos b = \cos(a - b)$$
#
# and a − b is the distance between the two positions, times the hand's speed. So the dot product of two rows depends
# **only on their distance**, and positions 2 and 5 are related in the same way as 102 and 105. Below, each row is
# computed from the angles of its hands. A learnt table, here still random, has no such property.

# %%
# d_model = 64: 32 hands
speeds = 10000 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
angles = torch.outer(torch.arange(200, dtype=torch.float64), speeds)
# The order of the columns makes no difference to a dot product.
hands = torch.cat([angles.sin(), angles.cos()], dim=1)
torch.manual_seed(0)
learnt = torch.randn(200, 64, dtype=torch.float64)

predict(
    "06_far",
    "A row times itself is 32. What does the product do up to distance 40?",
    [
        "it falls all the way",
        "it falls, then rises and falls again",
        "it falls close to 0 and stays there",
    ],
)

# %% role="answer"
places, distances = torch.tensor([2, 50, 150]), (0, 1, 2, 5, 20, 25, 40)
tables = {}
for name, rows in (("sinusoidal", hands), ("random table", learnt)):
    products = [(rows[places] * rows[places + d]).sum(-1) for d in distances]
    tables[name] = torch.stack(products)
starts = ["from 2", "from 50", "from 150"]
show(tables, [f"distance {d}" for d in distances], starts)

from_2 = (hands[2:43] @ hands[2]).tolist()
outcome = "it falls, then rises and falls again"
if all(further < nearer for nearer, further in itertools.pairwise(from_2)):
    outcome = "it falls all the way"
if all(abs(product) < 4 for product in from_2[20:]):
    outcome = "it falls close to 0 and stays there"
compare_guess("06_far", outcome)

# %% [markdown] role="answer"
# In the sinusoidal table the three columns are equal. The product of a position with itself is 32, since each of the 32
# hands gives sin² + cos² = 1, and for two different positions it is smaller. But it doesn't fall all the way, and is
# larger at 25 than at 20, because the fast hands have come round again. The random table shows no such pattern.

# %% [markdown]
# In the view below, rows are positions and columns the components of an encoding. Move through it with the arrow keys.
# One plot shows the column that you are in. The other shows the selected position's product with every position, by
# offset, on top of the curves of the other positions. Try this:
#
# - With *sinusoidal* chosen, move down from position to position. All 32 curves of products lie on one line. Go right,
#   and the waves get slower.
# - Do the same with *random table*, where every position has a curve of its own.
# - Move the base down to 10. Which columns change, and what happens at large distances?
# - *rotary* belongs to section 7, so come back for it then.

# %% role="draw"
from grader.views import PositionExplorer

PositionExplorer()

# %% [markdown]
# So a query that holds a position can find the token three positions before it, if its projection turns the hands back
# by three positions. A single matrix can do this for all positions, since a shift by k turns every hand by a fixed
# angle.
#
# ## 6 · A bias for each offset
#
# If only the relative position of two tokens counts, why give each of them a position at all? A **relative position
# bias** leaves the tokens as they are and adds a learnt value to each *score*, depending on how far before or after the
# query the key is. (That is the last exercise of lesson 01's tutorial, "implement relative position encoding".) The
# **offset** is key − query, so it is −1 for the token before and +1 for the one after.

# %%
query_len, key_len, m = 5, 5, 2
offsets = torch.arange(key_len) - torch.arange(query_len).unsqueeze(1)
queries, keys = ([f"{name} {i}" for i in range(5)] for name in ("query", "key"))
show(offsets, queries, keys, title="key - query")

# %% [markdown]
# All entries on a diagonal are equal. Sentences may be long, so everything farther away than a limit m counts as m
# away. That leaves 2m + 1 offsets, from −m to m, and every head learns a bias for each. The result is a table
# (H, 2m + 1), with column 0 for −m, column m for the token itself and column 2m for +m.
#
# Here is one head with m = 2, whose table prefers the token before.

# %%
one_head = torch.tensor([0.0, 4.0, 1.0, 0.0, -1.0])
columns = [f"offset {offset}" for offset in range(-m, m + 1)]
show([list(range(5)), one_head.tolist()], ["column", "bias"], columns)
print("query 3, key 2: offset -1, bias", one_head[1].item())
print("query 0, key 4: offset  4, counts as 2, bias", one_head[4].item())

# %% [markdown]
# ### Exercise 4: `relative_position_bias`
#
# Difficulty 3 of 5
#
# Return the bias of every head for every pair. Entry [h, q, k] is in row h of the table, column clip(k − q, −m, m) + m,
# and m follows from the table's width. Queries and keys may differ in number, and the positions of both count from 0.
#
# <details><summary>"index 5 is out of bounds"</summary>
#
# Do all your columns for 5 queries and 7 keys lie between 0 and 2m? Which comes first in your code, clipping or looking
# up?
#
# </details>
#
# <details><summary>The bias of the token before comes from the far end of the table</summary>
#
# A negative index counts from the end in Python, and raises no error. What has to be added to the offset so that −m
# becomes column 0?
#
# </details>
#
# <details><summary>The shape is (Tq, Tk, H)</summary>
#
# Then you picked rows of a transposed table. Which axis of `table` belongs to the heads, and which one do you want to
# index?
#
# </details>


# %% exercise="relative_position_bias" role="solution"
def relative_position_bias(
    table: Tensor, query_len: int, key_len: int
) -> Tensor:
    """Bias on the scores by offset, clipped to m on either side (after Shaw
    et al. 2018, section 3.2).

    table: (H, 2 * m + 1), one row for each head. Positions of queries and keys
    both count from 0. Returns (H, Tq, Tk): for query q and key k, column
    clip(k - q, -m, m) + m of the table.
    """
    ### BEGIN SOLUTION
    m = table.shape[1] // 2
    offsets = torch.arange(key_len) - torch.arange(query_len).unsqueeze(1)
    return table[:, offsets.clamp(-m, m) + m]
    ### END SOLUTION


# %% exercise="relative_position_bias" role="check"
check(relative_position_bias)

# %% role="try"
# Try it: each diagonal should hold one value. For query 3 and key 2 it is 4.
show(relative_position_bias(one_head.unsqueeze(0), 5, 5)[0], queries, keys)

# %% [markdown]
# The bias goes where a mask goes, onto the scores and before the softmax. `F.scaled_dot_product_attention` has one
# argument for both, where a bool mask hides and a float mask is added. Here are five equal tokens, so all scores are
# equal and the bias alone decides. It is written out by hand, and each diagonal holds a single value.

# %%
equal = torch.ones(1, 5, 4)
bias = torch.tensor(
    [
        [1.0, 0.0, -1.0, -1.0, -1.0],
        [4.0, 1.0, 0.0, -1.0, -1.0],
        [0.0, 4.0, 1.0, 0.0, -1.0],
        [0.0, 0.0, 4.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 4.0, 1.0],
    ]
)
values = torch.eye(5).unsqueeze(0)
weights = F.scaled_dot_product_attention(equal, equal, values, attn_mask=bias)
show(weights[0], queries, keys, title="weights")

# %% [markdown]
# (With the identity as values, the output *is* the attention weights.) From row 1 on, nine tenths of the weight goes to
# the token before. This head needed five parameters for that, and they serve sentences of any length.
#
# ## 7 · Rotating queries and keys
#
# The last idea combines the two before it. Sinusoidal positions are hands that turn, and what counts in the end is the
# angle *between* two hands. **Rotary positions** (RoPE) therefore add nothing at all. They take the components of a
# query or a key in pairs, (a, b), and turn each pair like a hand, by an angle that grows with the token's position:
#
# $$(a,\; b) \;\to\; (a \cos\theta - b \sin\theta,\;\; a \sin\theta + b \cos\theta)$$
#
# The angle θ is the position times the speed ω of the pair. Pair i consists of columns 2i and 2i + 1, D is the width of
# a head, and with a base of 10000 the speeds are those of section 4.
#
# $$\theta = \text{position} \cdot \omega_i \qquad \omega_i = \text{base}^{-2i/D}$$
#
# So a query at position p is turned by pω and a key at position q by qω. Their dot product depends on the angle between
# them, which has changed by (p − q)ω. The positions have cancelled, and only the offset is left. Here is an
# example.


# %%
def turn(pair, angle):
    """One pair, turned by an angle."""
    a, b = pair
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([a * c - b * s, a * s + b * c])


query_pair, key_pair, speed = (2.0, 1.0), (1.0, 3.0), 0.5
for p in (0, 1, 2):
    a, b = turn(key_pair, speed * p)
    print(f"key at {p}: ({a:5.2f}, {b:.2f}), length {torch.hypot(a, b):.2f}")
for p, q in ((1, 0), (5, 4), (101, 100), (5, 3), (4, 5)):
    product = turn(query_pair, speed * p) @ turn(key_pair, speed * q)
    print(f"query at {p:3}, key at {q:3}: offset {q - p:2}, ", end="")
    print(f"product {product:6.3f}")

# %% role="draw"
figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.7), layout="constrained")
circle = torch.linspace(0, 2 * math.pi, 200)
kinds = (("fast", 0.5), ("slow", 0.05))
for axes, (name, speed_shown) in zip(panels, kinds, strict=True):
    axes.plot(circle.cos(), circle.sin(), color="0.7", linewidth=1)
    for p in range(6):
        x, y = turn((1.0, 0.0), speed_shown * p).tolist()
        axes.plot([0, x], [0, y], color=shades(0.9 * p / 5), linewidth=2)
        if speed_shown > 0.1 or p in (0, 5):
            axes.text(1.14 * x, 1.14 * y, str(p), ha="center", va="center")
    limits = {"xlim": (-1.3, 1.3), "ylim": (-1.3, 1.3)}
    title = f"a {name} pair: ω = {speed_shown}"
    axes.set(title=title, aspect="equal", **limits)
plt.show()

# %% [markdown]
# *The picture in words:* each of two circles has six hands, one for every position from 0 to 5, from dark to yellow.
# The first points to the right, in the direction (1, 0). The hands of the fast pair cover two fifths of the circle, and
# those of the slow pair are close together.
#
# Before you write the function, you need to know three things:
#
# - Queries and keys are turned in every head, after the split. **Values are not**, because they carry content, and the
#   attention weights already depend on the positions.
# - `positions` is an argument. Usually it is 0, 1, 2, and so on, but a model that writes one token at a time computes
#   only the newest, at position 17, say.
# - There are two conventions for which columns make a pair. Here and in Su et al. (2021) they are neighbours, while
#   many published programs pair column i with column i + D/2. Both work, but a model's parameters only fit one of them.
#
# ### Exercise 5: `apply_rope`
#
# Difficulty 4 of 5
#
# Turn every pair of every token by its own angle, which depends on the position and on the pair. The result has the
# shape of `x`.
#
# <details><summary>How do I take the columns in pairs?</summary>
#
# `x[..., 0::2]` holds every a and `x[..., 1::2]` every b, and the dots stand for any leading axes.
#
# </details>
#
# <details><summary>How do I put the pairs back together?</summary>
#
# Stack the new a and the new b on a new *last* axis, (..., T, D/2, 2), and join the last two axes, so that they
# alternate. With `cat` they would end up in two halves.
#
# </details>
#
# <details><summary>The first column of each pair is right, the second isn't</summary>
#
# Did you overwrite `a` before you computed the new `b`? Both formulas need the old values.
#
# </details>
#
# <details><summary>It works for one sequence, not with heads</summary>
#
# The angles (T, D/2), aligned on the right under (B, H, T, D/2), fit as they are, so don't name the leading axes.
#
# </details>


# %% exercise="apply_rope" role="solution"
def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn every pair of columns by an angle that grows with the position (Su
    et al. 2021, section 3.2).

    x: (..., T, D); positions: (T,). The pair (a, b) of columns 2i and 2i + 1
    becomes (a cos t - b sin t, a sin t + b cos t) with
    t = position * base ** (-2i / D). Returns the shape of x.
    """
    ### BEGIN SOLUTION
    head_dim = x.shape[-1]
    doubled = torch.arange(0, head_dim, 2, dtype=x.dtype, device=x.device)
    speeds = base ** (-doubled / head_dim)
    angles = positions.unsqueeze(-1) * speeds  # (T, D / 2)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(
        -2
    )
    ### END SOLUTION


# %% exercise="apply_rope" role="check"
check(apply_rope)

# %% role="try"
# Try it: scores at two positions in a text. Only offsets count, so they
# should be equal.
torch.manual_seed(0)
my_query, my_key = torch.randn(4, 16), torch.randn(6, 16)
my_tables = {}
for start in (0, 100):
    q_places, k_places = start + torch.arange(4), start + torch.arange(6)
    my_turned = apply_rope(my_query, q_places), apply_rope(my_key, k_places)
    my_tables[f"from position {start}"] = my_turned[0] @ my_turned[1].T
show(my_tables)

# %% [markdown]
# Go back to the view of section 5 and choose *rotary*. There one key and one query are turned to every position, and
# you see their dot products. The curves of all positions are on one line again, but now its left and right halves
# differ. So a query can score the tokens before it differently from those after it.
#
# ## 8 · Four ways, one task
#
# Which of the four should you take? We let them compete on the smallest task that needs positions. A sentence consists
# of sixteen random digits, and at every position the model has to name the digit **three positions back**. The digits
# themselves don't help, so the model must know where they are. One head is enough, and it gets each of your four
# functions in turn, or none.


# %% role="try" long="the model, in one piece"
class MyReader(nn.Module):
    """One head that reads digits (B, T) and gives logits (B, T, 10)."""

    def __init__(self, way, width=64):
        super().__init__()
        self.way, self.digits = way, nn.Embedding(10, width)
        self.places = nn.Embedding(64, width)  # the learnt positions
        self.table = nn.Parameter(torch.zeros(1, 17))  # the bias, m = 8
        self.query, self.key, self.value = (
            nn.Linear(width, width) for _ in "qkv"
        )
        self.out = nn.Linear(width, 10)

    def forward(self, digits):
        x, bias = self.embedded(digits), None
        query, key, value = self.query(x), self.key(x), self.value(x)
        length = digits.shape[1]
        if self.way == "rotary":
            places = torch.arange(length)
            query, key = apply_rope(query, places), apply_rope(key, places)
        if self.way == "bias":
            bias = relative_position_bias(self.table, length, length)
        mixed = F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias
        )
        return self.out(mixed)

    def embedded(self, digits):
        if self.way == "learnt":
            tables = self.digits.weight, self.places.weight
            return embed_with_positions(digits, *tables)
        x = self.digits(digits)
        if self.way == "sinusoidal":
            x = x + sinusoidal_encoding(*x.shape[1:])
        return x


# %% [markdown]
# Every model learns only from sentences of 16 digits, and afterwards it gets sentences of 64, four times as long. (The
# learnt table has 64 rows so that it can be tried at all.)


# %% role="try" long="the training, in one piece"
def my_training(way, steps=600, back=3):
    torch.manual_seed(0)
    reader = MyReader(way)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.005)
    for _ in range(steps):
        digits = torch.randint(10, (32, 16))
        logits, right = reader(digits)[:, back:], digits[:, :-back]
        loss = F.cross_entropy(logits.flatten(0, 1), right.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    asked = torch.randint(10, (500, 64))
    with torch.no_grad():
        named = {n: reader(asked[:, :n]).argmax(-1)[:, back:] for n in (16, 64)}
    right = {n: (named[n] == asked[:, : n - back]) for n in named}
    return {n: right[n].float().mean(dim=0) for n in right}


# %%
predict(
    "06_longer",
    "How many of the four still name over three quarters of the 64 digits?",
    ["all four", "three of them", "two of them", "one or none"],
)

# %% role="try" timed=true claim="distance_reaches_further" long="it trains, sums up and draws"
# This trains all of them in a few seconds. How many digits are right?
my_right = {}
for my_way in ("none", "learnt", "sinusoidal", "bias", "rotary"):
    my_right[my_way] = my_training(my_way)
my_means = [[f"{r[n].mean():.0%}" for n in (16, 64)] for r in my_right.values()]
show(my_means, list(my_right), ["16 digits", "64 digits"], title="accuracy")

# The same by position, in sentences of 64 digits.
figure, axes = plt.subplots(figsize=(8.4, 3.4), layout="constrained")
my_shades = plt.get_cmap("cividis")
my_styles = {"learnt": "-", "sinusoidal": "--", "bias": "-.", "rotary": ":"}
for my_number, (my_way, my_style) in enumerate(my_styles.items()):
    my_line = {"color": my_shades(0.3 * my_number), "label": my_way}
    my_curve = my_right[my_way][64]
    axes.plot(
        range(64 - len(my_curve), 64), my_curve, my_style, lw=2, **my_line
    )
axes.axvline(15.5, color="0.7")
axes.set(xlabel="position in the sentence", ylabel="accuracy", ylim=(0, 1.05))
axes.text(15, 0.04, "trained up to here ", ha="right")
figure.legend(loc="outside upper center", ncols=4)
plt.show()

my_good = [way for way in my_styles if my_right[way][64].mean() > 0.75]
print("over three quarters of the 64 digits:", ", ".join(my_good) or "none")
my_outcomes = ["one or none", "one or none", "two of them", "three of them"]
compare_guess("06_longer", [*my_outcomes, "all four"][len(my_good)])

# %% [markdown] role="answer"
# *The picture in words:* four curves run over the positions 3 to 63. Up to position 14 the learnt and the sinusoidal
# curves are at 1. After position 15 the learnt one is at one tenth, which is what guessing gives. The sinusoidal one
# falls nearly as low, but comes up again now and then, almost to 1 around position 60. The rotary one stays at 1 from
# end to end. The curve of the bias is level, too, but a little lower, at nearly nine tenths.
#
# On sentences as long as those in training, all four are nearly perfect. Without positions a quarter of the digits are
# right, because a model that only sees *which* digits there are can do no better than name the most common one. In the
# long sentences, they differ:
#
# - The **learnt** rows from 16 on are as random as they were at the start, since no sentence ever changed them.
# - The **sinusoidal** rows from 16 on follow the same rule as the others. But the model has only learnt how to find
#   "three back" *among the first sixteen*. Later this works only where the fast hands happen to point in the same
#   directions again.
# - The **bias** and the **rotary** positions depend only on offsets, and "three back" is the same offset at position 60
#   as at position 6. The bias loses a tenth because it gives every digit farther away a little weight, and now there
#   are four times as many of them. In still longer sentences it loses more, for the same reason.
# - How much is lost depends on the training. With four times the rate (`lr=0.02`) the bias loses only 1 in 100, but the
#   rotary positions lose more than that, and with a quarter of the rate the bias loses a third. So we also gave each of
#   the four five rates, from 0.0005 to 0.05, and three starts. At their best rates, the learnt positions get 31 % of
#   the long sentences' digits right on average, the sinusoidal ones 38 %, the bias 96 %, and the rotary ones all but a
#   few in ten thousand.
#
# Change `steps`, `back` or the rate, and see which of these results remain. With `width=16` the rotary positions have
# only eight hands, most of them slow, and they fail in long sentences too. (A click on the three dots of a cell opens
# its code.)
#
# | | learnt | sinusoidal | relative bias | rotary |
# | --- | --- | --- | --- | --- |
# | where | added to the tokens | added to the tokens | added to the scores | queries and keys are turned |
# | how often | once, at the start | once, at the start | in every layer | in every layer |
# | parameters | P · E | none | H · (2m + 1) | none |
# | besides the words, a score depends on | both positions | both positions | the offset | the offset |
# | longer sentences than in training | not beyond P tokens, and untrained up to P | they run but get worse | they lose a little more with each token | they hold here |
#
# With sinusoidal positions the products of the *encodings* depend on the distance, but a score is made of projections
# of word plus position, so both positions affect it. Only the last two guarantee that it depends on the offset alone.
#
# With P = 100 and E = 512 the learnt table has 51 200 parameters, while the bias of eight heads with m = 16 has 264.
# (The count H · (2m + 1) holds if all layers share one table, as in T5. There, distances from 8 on, or 16 in the
# decoder, also share parameters. The farther away they are, the more of them share one, so a few parameters reach far.)

# %% [markdown]
# An encoder needs positions, as you have seen. A decoder can do without them, because its causal mask lets the first
# token see one token and the tenth see ten. From that a deeper model can learn where each token is (Haviv et al. 2022).
#
# **Long texts, as of 2026.** Most large models use rotary positions. They held in our task, but a model that looks
# farther back than it ever did in training meets angles of the slow hands that are new to it. So many large models have
# been taught to read longer texts. One way is a larger base. Llama 3 takes 500 000 in place of 10 000 (Grattafiori et
# al. 2024, section 3.2). With heads 128 wide, its slowest hands would otherwise come round twice in a text of 128 000
# tokens, and now they need two and a half million tokens for a full turn. In YaRN (Peng et al. 2023) the fast hands keep
# their speeds, and the slow ones are slowed down by as much as the text is longer, so that they meet no new directions.
# Then a little training follows. ALiBi (Press et al. 2022) is a bias as in section 6, but it isn't learnt, and falls in
# a straight line with the distance, at a different slope in each head. And some models leave the positions out of some
# of their layers (*NoPE*) and turn queries and keys in the others (Yang et al. 2025).
#
# ## 9 · Quiz
#
# ### Exercise 6: `quiz_06`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `different` (a whole number): attention without positions or a mask gets the seven tokens "the dog sees the man
#    sees dog". How many different outputs are there?
# 2. `own_product` (a number, to two decimals): what is the dot product of row 7 of a sinusoidal encoding with itself,
#    for d_model = 96?
# 3. `bias_column` (a whole number): a relative position table reaches m = 3 to either side. Which of its columns is
#    used for query 6 and key 4?
# 4. `columns_used` (a whole number): with the same table, how many different columns does query 1 use in a sentence of
#    ten tokens?
# 5. `turned` (a number, to two decimals): a pair (3, 1) is at position 2 and turns at the speed 0.5. What is its first
#    component afterwards?
# 6. `same_score` (a letter): with rotary positions, a query at 7 and a key at 4 have a certain score. The same two
#    vectors have the same score at positions
#    - a. 4 and 7;
#    - b. 107 and 104;
#    - c. 14 and 8;
#    - d. none of these.
#
# <details><summary>I don't know how to find the product of a row with itself</summary>
#
# It is the sum of the squares of its entries. Two neighbouring columns contribute sin² of an angle plus cos² of the
# same angle.
#
# </details>
#
# <details><summary>My turned pair isn't right</summary>
#
# The angle is position times speed, in radians. If you draw the hand, does it turn left or right, and does the first
# component grow or fall?
#
# </details>

# %% exercise="quiz_06" role="solution"
quiz_06 = {
    "different": ...,  # a whole number
    "own_product": ...,  # a number, to two decimals
    "bias_column": ...,  # a whole number
    "columns_used": ...,  # a whole number
    "turned": ...,  # a number, to two decimals
    "same_score": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_06 = {
    "different": 4,
    "own_product": 48.0,
    "bias_column": 1,
    "columns_used": 5,
    "turned": 0.78,
    "same_score": "b",
}
### END SOLUTION

# %% exercise="quiz_06" role="check"
check(quiz_06, "quiz_06")

# %% [markdown]
# ## What you can do now
#
# You can turn ids into vectors and give them a position. You know that attention alone doesn't see order, and you can
# prove it by a permutation, which is also a good test of any model you build. You know four ways to add positions and
# what a score depends on in each. You have seen what that means for sentences longer than those in training.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.5, introduce sines and cosines and give their reasons,
#   in half a page.
# - Shaw et al. (2018), *Self-Attention with Relative Position Representations*, section 3, add relative positions as
#   vectors to keys and values. The bias of this lesson is the simpler form of Raffel et al. (2020), *Exploring the
#   Limits of Transfer Learning with a Unified Text-to-Text Transformer* (T5), section 2.1.
# - Su et al. (2021), *RoFormer: Enhanced Transformer with Rotary Position Embedding*, section 3, show the rotation and
#   derive it.
# - Peng, Quesnelle, Fan and Shippole (2023), *YaRN: Efficient Context Window Extension of Large Language Models*,
#   section 3, go through the ways to make rotary positions reach further.
# - Haviv, Ram, Press, Izsak and Levy (2022), *Transformer Language Models without Positional Encodings Still Learn
#   Positional Information*, find that a causal mask is enough.
#
# **Next lesson:** 07, *The whole Transformer*. What you wrote here is its first layer.
