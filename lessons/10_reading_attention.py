# ---
# jupyter:
#   course:
#     about: patterns, rollout, the heads of a trained model; eight broken attentions to find
#     picture: all heads of the trained model, one of them large
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
# # 10 · Reading and debugging attention
#
# Attention is one of the few parts of a network that can be looked at: every number in its matrix says which token
# looks at which. In this lesson you learn to read such tables, first made by hand, then in the model that lesson 08
# trained. You will see what they tell, and how much less that is than it seems. And then comes a hunt: eight
# attentions with one mistake in each. You can call them, and nothing else.
#
# **You need** lessons 01 to 04 (above all weights, heads and the causal mask), and lesson 08 for what its model does.
# Lesson 07's classes are given.
#
# **Afterwards you can**
#
# - name the patterns that heads often show, and write code that names them;
# - follow attention through several layers, residuals included;
# - say what attention weights do not explain, and show it;
# - find out what is wrong with an attention from the outside, by asking it the right questions.
#
# **Time:** <!-- time -->. The plan: patterns → broken
# tables → a name for a table → a trained model's heads → through the layers → what weights don't explain → the hunt →
# a quiz.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `T` | tokens of a sequence; `Tq` and `Tk` where queries and keys differ | 3 to 13 |
# | `L` | layers | 2 |
# | `H` | `num_heads` | 4 in the trained model, 3 in the hunt |
# | `E`, `D` | `d_model` and the width of one head | 64 and 16; 12 and 4 |

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from grader import broken_attentions, check, trained_dates

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Patterns
#
# Whoever looks into the heads of trained models meets the same few tables again and again. The simplest: every token
# looks **at itself**. Or at **everybody alike**: the head takes the plain average. Or all look at the **first
# token**, whatever it is. Or each looks at its **neighbours**.

# %%
seq_len = 5
to_itself = torch.eye(seq_len)
to_everybody = torch.ones(seq_len, seq_len) / seq_len
print("to itself", to_itself, sep="\n")
print("to everybody", to_everybody, sep="\n")

# %% [markdown]
# ### Exercise 1: `first_token_pattern`
#
# Difficulty 1 of 5
#
# The table in which all look at token 0. Many trained models have such heads. A row must sum to one, so a head that
# finds nothing to look at has to put its weight somewhere; the first token, which every position can see, is a good
# place. People call it an *attention sink*.
#
# <details><summary>I fill the first row, and the check says that it should be the column</summary>
#
# Row i belongs to the token that looks, column j to the one that is looked at. In which of them does "token 0 is looked
# at" stand?
#
# </details>


# %% exercise="first_token_pattern" role="solution"
def first_token_pattern(seq_len: int) -> Tensor:
    """Weights with which every token attends to the first one only.

    Returns (T, T) with T = seq_len, of torch's default dtype.
    """
    ### BEGIN SOLUTION
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 0] = 1.0
    return weights
    ### END SOLUTION


# %% exercise="first_token_pattern" role="check"
check(first_token_pattern)

# %% [markdown]
# ### Spot the slip
#
# A page on attention makes the neighbour pattern like this. Every token gives a third to the one before it, a third
# to itself and a third to the one after it. What is wrong? Look at the ends.

# %%
on_the_page = torch.zeros(seq_len, seq_len)
for i in range(seq_len):
    for j in range(max(0, i - 1), min(seq_len, i + 2)):
        on_the_page[i, j] = 1 / 3
print("neighbours, as on the page", on_the_page, sep="\n")
print("sums of its rows", on_the_page.sum(dim=-1), sep="\n")

# %% [markdown]
# The first token has nobody before it. Two neighbours are left, itself included, and each got a third: the row sums to
# two thirds. So does the last one. Rows of attention weights sum to one, so each row has to be shared out among as
# many as there are: halves at the ends, thirds in between.
#
# ### Exercise 2: `local_pattern`
#
# Difficulty 2 of 5
#
# The same for any radius: every token shares its attention equally among all tokens that are at most `radius` places
# away, itself included.
#
# <details><summary>The check says that the edges aren't right</summary>
#
# Don't divide by 2·radius + 1. Put ones where the band is, and divide each row by its own sum, with `keepdim=True`.
#
# </details>
#
# <details><summary>How do I get the band without loops?</summary>
#
# `positions = torch.arange(seq_len)`, once as a column and once as a row: the difference of the two is a table of
# distances.
#
# </details>
#
# <details><summary>The last tokens turn up in the first row</summary>
#
# Index −1 is the last entry in Python. A slice needs `max(0, ...)` where it starts.
#
# </details>


# %% exercise="local_pattern" role="solution"
def local_pattern(seq_len: int, radius: int) -> Tensor:
    """Weights with which every token attends uniformly to its neighbours within radius, itself included.

    Returns (T, T) with T = seq_len, of torch's default dtype; every row sums to one.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(seq_len)
    near = ((positions[:, None] - positions).abs() <= radius).to(torch.get_default_dtype())
    return near / near.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% exercise="local_pattern" role="check"
check(local_pattern)

# %% role="try"
# Try it: all four patterns.
my_patterns = {"itself": torch.eye(8), "everybody": torch.ones(8, 8) / 8}
my_patterns |= {"first token": first_token_pattern(8), "neighbours": local_pattern(8, 1)}
my_figure, my_panels = plt.subplots(1, 4, figsize=(9, 2.4), layout="constrained")
for my_axes, (my_name, my_table) in zip(my_panels, my_patterns.items(), strict=True):
    my_axes.imshow(my_table, cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xlabel="key", ylabel="query")
plt.show()

# %% [markdown]
# ## 2 · Are these weights at all?
#
# Before you read a table, make sure that it is one. Lesson 01's `validate_attention` knows three rules: finite
# numbers, within [0, 1], rows that sum to one. (You found there that finiteness must be tested first: in the
# tutorial, the tests for NaN and infinity can't be reached.)

# %% role="given"
from lesson_01 import validate_attention

# %% [markdown]
# Here are some tables produced by common bugs. The scores are always the same; only what is done with
# them differs.

# %%
torch.manual_seed(10)
scores = 2 * torch.randn(4, 4)
past = torch.ones(4, 4, dtype=torch.bool).tril()
tables = {
    "right": scores.masked_fill(~past, -math.inf).softmax(dim=-1),
    "mask = 0 · infinity": (scores + (~past).float() * -math.inf).softmax(dim=-1),
    "divided by their sum": scores / scores.sum(dim=-1, keepdim=True),
    "softmax down the columns": scores.masked_fill(~past, -math.inf).softmax(dim=-2),
    "masked after the softmax": scores.softmax(dim=-1) * past,
    "dropout switched on": nn.Dropout(0.5).train()(scores.softmax(dim=-1)),
    "mask forgotten": scores.softmax(dim=-1),
    "not scaled": (4 * scores).masked_fill(~past, -math.inf).softmax(dim=-1),
}
for name, table in tables.items():
    try:
        validate_attention(table)
        print(f"{name:25} accepted")
    except ValueError as problem:
        print(f"{name:25} {problem}")

# %% [markdown]
# Five faults are caught, each with a word that tells where to look. The last two aren't. A table that shows the future
# and one that is far too sharp are perfectly good weights. They are only not the right ones. To find such faults, one
# has to ask more: section 7.
#
# ## 3 · A name for a table
#
# A model has dozens of heads, and nobody wants to look at all tables by eye. What could code look at? Some numbers that
# tell patterns apart:
#
# - the mean **entropy** of the rows (lesson 02): 0 if each row has one entry, ln T if it is uniform;
# - the mean weight on the **diagonal**, and that in **column 0**;
# - the mean weight **near** the diagonal.

# %% role="given"
from lesson_02 import attention_entropy


# %%
def four_numbers(table):
    """Mean entropy; mean weight on the token itself, on the first token, at most one place away."""
    near = torch.ones_like(table).triu(-1).tril(1)
    shares = table.diagonal().mean(), table[:, 0].mean(), (table * near).sum(dim=-1).mean()
    return [round(float(number), 2) for number in (attention_entropy(table).mean(), *shares)]


patterns = {"itself": torch.eye(8), "everybody": torch.ones(8, 8) / 8, "random": torch.randn(8, 8).softmax(dim=-1)}
patterns["the one before"] = torch.eye(8)[[0, 0, 1, 2, 3, 4, 5, 6]]
print(f"{'':15} entropy  itself  first   near")
for name, table in patterns.items():
    print(f"{name:15}", "  ".join(f"{number:6.2f}" for number in four_numbers(table)))

# %% [markdown]
# No single number will do. "The one before" has all its weight near the diagonal, as the neighbour pattern has. And
# there is a trap: it is tempting to look only at where the *largest* weight of each row stands (`argmax`). A row such
# as [0.2, 0.3, 0.25, 0.25] has its largest weight somewhere, and means nothing by it.
#
# Another way is to build the pattern that a table might be, and ask how far away it is. Trained heads are never exactly
# a pattern, so some distance must be allowed. Here five hundredths of every row are random:

# %%
noisy = 0.95 * torch.eye(8) + 0.05 * torch.randn(8, 8).softmax(dim=-1)
print("largest difference, entry by entry:", round((noisy - torch.eye(8)).abs().max().item(), 2))
print("the same for the uniform table:    ", round((noisy - torch.ones(8, 8) / 8).abs().max().item(), 2))

# %% [markdown]
# ### Exercise 3: `classify_pattern`
#
# Difficulty 4 of 5
#
# One of five words for a table (T, T) with T ≥ 6, of which up to 5 % may be random:
#
# | word | every token attends |
# | --- | --- |
# | `"diagonal"` | to itself |
# | `"uniform"` | to all tokens alike |
# | `"first"` | to token 0 |
# | `"local"` | to all within radius 1 alike, or to all within radius 2 alike, itself included |
# | `"other"` | in any other way |
#
# The check's tables are either close to one of the four patterns or far from all of them, so it doesn't matter much how
# you measure. `local_pattern` and `first_token_pattern` are yours to use.
#
# <details><summary>Everything with noise is "other"</summary>
#
# How large is the largest difference above? A tolerance below that is too tight, and `torch.allclose` has a very tight
# one unless you say `atol=...`.
#
# </details>
#
# <details><summary>Uniform tables come out as "local"</summary>
#
# Inside the band they look alike. What is outside of it?
#
# </details>
#
# <details><summary>A band of radius 3, or a token that looks only backwards, comes out as "local"</summary>
#
# It isn't enough that the weight is near the diagonal. It has to be spread as the pattern spreads it. Compare entry by
# entry.
#
# </details>
#
# <details><summary>"Float did not match Double"</summary>
#
# The table may come in float32 or in float64. `.to(weights.dtype)` makes your pattern follow.
#
# </details>


# %% exercise="classify_pattern" role="solution"
def classify_pattern(weights: Tensor) -> str:
    """Name the pattern of a table of attention weights (T, T), T >= 6.

    Returns "diagonal", "uniform", "first", "local" (radius 1 or 2) or "other"; up to 5 % of random weights may be mixed
    in.
    """
    ### BEGIN SOLUTION
    seq_len = weights.shape[-1]
    known = [
        ("diagonal", local_pattern(seq_len, 0)),
        ("uniform", local_pattern(seq_len, seq_len)),
        ("first", first_token_pattern(seq_len)),
        ("local", local_pattern(seq_len, 1)),
        ("local", local_pattern(seq_len, 2)),
    ]
    for name, pattern in known:
        if (weights - pattern.to(weights.device)).abs().max() < 0.1:
            return name
    return "other"
    ### END SOLUTION


# %% exercise="classify_pattern" role="check"
check(classify_pattern)

# %% role="try"
# Try it: the tables from above. Which of them should be "other"?
for my_name, my_table in (patterns | {"noisy": noisy}).items():
    print(f"{my_name:15} {classify_pattern(my_table)}")

# %% [markdown]
# ## 4 · The heads of a trained model
#
# Now to a real one: the Transformer that learnt to write dates in lesson 08, with two layers of encoder and decoder and
# four heads everywhere. Its code is lesson 07's, and given.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %% role="given"
from lesson_04 import causal_mask, decoder_mask, padding_mask

# %% role="given"
from lesson_07 import FeedForward, TransformerBlock

# %% role="given"
from lesson_07 import Decoder, DecoderBlock, Encoder

# %% role="given"
from lesson_07 import Transformer

# %% [markdown]
# `trained_dates()` looks for the two files `dates.safetensors` and `dates.json` beside this notebook. If you put
# your own model from lesson 08 there, you will look into that one. (Lesson 08 writes the two files into a temporary
# folder: write them to `"."` instead.) Otherwise it takes the course's, trained by the same cells. It says which. With
# your own model some numbers below will differ from those in the text.

# %%
trained = trained_dates()
model = Transformer(**trained.sizes)
model.load_state_dict(trained.weights)
model.eval()
print("this is", trained.whose)
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))

# %% [markdown]
# It reads characters and writes characters. With teacher forcing one call asks for all of them, as in lesson 08: a date
# is right if every guess is.


# %%
def ids_of(pairs):
    """Sources (B, Ts), what the decoder is given (B, Tt), what it should say (B, Tt); padding is 0, bos 1, eos 2."""
    source = {token: i for i, token in enumerate(trained.source)}
    target = {token: i for i, token in enumerate(trained.target)}
    rows = [[source[c] for c in text] for text, _ in pairs]
    answers = [[target[c] for c in answer] for _, answer in pairs]
    columns = rows, [[1, *answer] for answer in answers], [[*answer, 2] for answer in answers]
    return [nn.utils.rnn.pad_sequence([torch.tensor(row) for row in each], batch_first=True) for each in columns]


@torch.no_grad()
def share_right(model, pairs):
    """In which share of the pairs is every character right?"""
    src, given, wanted = ids_of(pairs)
    guesses = model(src, given).argmax(dim=-1)
    return ((guesses == wanted) | (wanted == 0)).all(dim=1).float().mean().item()


print("at least 99 % right:", share_right(model, trained.pairs) >= 0.99)

# %% [markdown]
# The weights are made inside and thrown away. A hook gets hold of them, as in lesson 08. There are three kinds of
# attention to listen to: the encoder's (the written date looks at itself), the decoder's own (the answer looks at
# what it has so far), and the cross-attention (the answer looks at the written date).


# %%
def attentions_of(model):
    """All attention modules, in the order of the layers, by kind."""
    return {
        "encoder": [layer.attention for layer in model.encoder.layers],
        "decoder": [layer.attention for layer in model.decoder.layers],
        "cross": [layer.block.attention for layer in model.decoder.layers],
    }


@torch.no_grad()
def look_inside(model, pair):
    """The weights of every head for one date: by kind, (L, H, Tq, Tk)."""
    kinds = attentions_of(model)
    kept = {kind: [] for kind in kinds}

    def keep(kind):
        return lambda module, inputs, output: kept[kind].append(output[1][0])

    hooks = [module.register_forward_hook(keep(kind)) for kind, modules in kinds.items() for module in modules]
    model(*ids_of([pair])[:2])
    for hook in hooks:
        hook.remove()
    return {kind: torch.stack(tables) for kind, tables in kept.items()}


date = "6 August 1939", "1939-08-06"
text, answer = date
inside = look_inside(model, date)
print(text, "->", answer, " written right:", share_right(model, [date]) == 1)
for kind, tables in inside.items():
    print(f"{kind:8} (L, H, Tq, Tk) = {tuple(tables.shape)}")

# %% [markdown]
# Twenty-four tables. Look at them yourself. At the top choose the kind of attention. The small tables are the heads,
# a line for each layer, both counted from 0; with the arrow keys you go from one to the next. The large one is the
# head that is chosen: move in it to read who looks at whom. Below each head is the pattern that it is most like,
# and how much of its weight it shares with it. A head that shares 0.9 or more has that pattern.

# %% role="draw"
from grader.views import HeadExplorer

so_far = ["<bos>", *answer]  # what the decoder is given
who_at_whom = {"encoder": (text, text), "decoder": (so_far, so_far), "cross": (so_far, text)}
HeadExplorer({kind: (inside[kind], *tokens) for kind, tokens in who_at_whom.items()})

# %% [markdown]
# Take your time with it. Some questions:
#
# 1. *Cross, layer 1:* go down the rows of head 0. For each character of the answer, does it look at what that one is
#    read from? Mind that row i holds what the decoder was *given*; it is about to say the next character. Which rows
#    are less clear, and why may that be? (The month is read from several letters.)
# 2. *Decoder:* why is the upper right half of every table dark? Why does the first row always have the same weight?
# 3. *Encoder:* which heads are easy to put in words? Be honest.
#
# Few of them are. In large models some heads show the patterns of section 1 rather cleanly, and papers print those. In
# this small one hardly any head does, and still all dates are right. An unclear table is not a sign of a fault.
#
# What does your classifier say? Here it names the eight heads of the encoder, and beside them those of the same model
# before its training.

# %% role="try"
# Try it: trained and untrained.
torch.manual_seed(0)
my_untrained = look_inside(Transformer(**trained.sizes).eval(), date)["encoder"]
for my_layer in range(len(inside["encoder"])):
    print("trained:  ", [classify_pattern(my_table) for my_table in inside["encoder"][my_layer]])
    print("untrained:", [classify_pattern(my_table) for my_table in my_untrained[my_layer]])

# %% [markdown]
# A classifier with tight limits says "other" almost everywhere, before and after training. Before it, the weights are
# nearly uniform, but not near enough for a name; after it, they are different, and what a head does has no name in our
# list of five. There is nothing wrong with that.
#
# ## 5 · Through the layers
#
# A table of the second layer doesn't say which *characters* are looked at. After the first layer every position holds
# a weighted sum: of what it looked at, and of itself. A token that looks at position 3 in layer 1 looks at such a sum.
# (Layers count from 0.)
#
# Three tokens, two layers, in which each token looks at one other:

# %%
layer_0 = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # 0 -> 0, 1 -> 0, 2 -> 1
layer_1 = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])  # 0 -> 0, 1 -> 1, 2 -> 1
print("layer 1, row of token 2:", layer_1[2].tolist())
print("layer 1 · layer 0, row of token 2:", (layer_1 @ layer_0)[2].tolist())

# %% [markdown]
# In layer 1, token 2 looks at token 1. But token 1 had fetched token 0 in layer 0. What arrives is token 0, and the
# table of layer 1 has a zero there. A weighted sum of weighted sums is a **product of the tables**, and layer 0 is the
# rightmost factor: it works on the tokens first.
#
# One thing is missing. Around every attention goes a residual, x + attention(x): half of what token 1 is in layer 1 is
# still token 1. So each table A is replaced by half of itself and half of the identity:
#
# $$R = \tfrac{1}{2}(A + I), \qquad \text{rollout} = R_{L-1} \cdots R_1\, R_0$$
#
# This is **attention rollout** (Abnar and Zuidema 2020). (If rows of A sum to one, so do those of R. Normalise them
# if they may not.)

# %%
halves = [(layer + torch.eye(3)) / 2 for layer in (layer_0, layer_1)]
print("with residuals, row of token 2:", (halves[1] @ halves[0])[2].tolist())

# %% [markdown]
# A quarter of token 2 comes from token 0, half from token 1, a quarter is its own.
#
# ### Exercise 4: `attention_rollout`
#
# Difficulty 2 of 5
#
# From one table for each layer, (L, T, T), first layer first, to one table (T, T).
#
# <details><summary>The check says that the order is wrong</summary>
#
# Go through the layers in their order, and put each new one on the *left* of what you have.
#
# </details>
#
# <details><summary>"expected m1 and m2 to have the same dtype"</summary>
#
# `torch.eye(T)` is float32. `torch.eye(T, dtype=layers.dtype)` follows the argument.
#
# </details>


# %% exercise="attention_rollout" role="solution"
def attention_rollout(layers: Tensor) -> Tensor:
    """Attention through several layers, residuals included (Abnar and Zuidema 2020).

    layers: weights (L, T, T), first layer first. Returns (T, T): the product R_{L-1} · … · R_0
    with R = (A + I) / 2, rows normalised.
    """
    ### BEGIN SOLUTION
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype, device=layers.device)
    rolled = identity
    for weights in layers:
        mixed = (weights + identity) / 2
        rolled = mixed / mixed.sum(dim=-1, keepdim=True) @ rolled
    return rolled
    ### END SOLUTION


# %% exercise="attention_rollout" role="check"
check(attention_rollout)

# %% role="try"
# Try it: the encoder's two layers, the heads averaged. Where does the content of each position come from?
my_layers = inside["encoder"].mean(dim=1)
my_figure, my_panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
my_tables = {"layer 0": my_layers[0], "layer 1": my_layers[1], "rollout": attention_rollout(my_layers)}
for my_axes, (my_name, my_table) in zip(my_panels, my_tables.items(), strict=True):
    my_axes.imshow(my_table, cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xticks=range(len(text)), yticks=range(len(text)))
    my_axes.set_xticklabels(list(text), fontsize=8)
    my_axes.set_yticklabels(list(text), fontsize=8)
plt.show()

# %% [markdown]
# Two blocks can be seen: the characters of the year look at each other, those of the month at its first letters. In
# the rollout a quarter of each position is still itself by the residuals alone, so the diagonal stays bright. Off it,
# the picture is flatter than that of either layer: mixing mixtures evens out.
#
# Rollout is a rule of thumb, not a measurement. It takes the heads' average, it takes the residual for exactly one
# half, and it knows nothing of values, norms and feed-forward layers.
#
# ## 6 · What the weights do not explain
#
# A bright cell is seductive. "It wrote a 6 *because* it looked at the 6." Weights say one thing: in this head, in this
# layer, this share of the mixture comes from that position's value vector. Between that and "because" there are several
# steps. Three demonstrations.
#
# ### Different weights, the same output
#
# Below, tokens 0 and 2 have the same value vector. Two tables that couldn't look more different:

# %%
values = torch.tensor([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
one_table = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5]])
another = torch.tensor([[0.0, 0.1, 0.9], [1.0, 0.0, 0.0]])
print("largest difference of the weights:", round((one_table - another).abs().max().item(), 2))
print("the outputs are the same:", torch.allclose(one_table @ values, another @ values))

# %% [markdown]
# That isn't a special case. With T keys a row has T weights, and what comes out has D numbers. If the keys outnumber
# D + 1 and no weight is zero, there are always other weights with the very same output: there are fewer equations
# than unknowns. And the output projection makes it easier still: a difference that `w_o` maps to zero is lost for
# good.
#
# ### Sharp is not important
#
# Is a head that looks sharply at one place an important one? Ask the model. There is an easy way to make a head look
# at everybody alike: set the part of `q_proj` that belongs to it to zero. Then its queries are zero, all scores are
# zero, and the softmax makes them uniform over what the mask shows.


# %%
some_dates = trained.pairs[:80]
every_head = {
    (kind, layer, head): module
    for kind, modules in attentions_of(model).items()
    for layer, module in enumerate(modules)
    for head in range(module.num_heads)
}


@torch.no_grad()
def share_with_uniform(heads):
    """The share of right dates while these heads look at everybody alike."""
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for key in heads:
        layer = every_head[key].q_proj
        head_dim = layer.out_features // every_head[key].num_heads
        rows = slice(key[2] * head_dim, (key[2] + 1) * head_dim)
        layer.weight[rows], layer.bias[rows] = 0.0, 0.0
    share = share_right(model, some_dates)
    model.load_state_dict(kept)
    return share


# %%
alone = {key: share_with_uniform([key]) for key in every_head}
print("heads:", len(alone))
print("spoilt one at a time, at least 4 of 5 dates still right:", sum(share >= 0.8 for share in alone.values()))

sharpness = {key: inside[key[0]][key[1], key[2]].max(dim=-1).values.mean().item() for key in alone}
sharpest = max(sharpness, key=sharpness.get)
print("sharpest head (kind, layer and head from 0):", sharpest, f"mean largest weight {sharpness[sharpest]:.1f}")
print("without it at least 95 % right:", alone[sharpest] >= 0.95)

# %%
whole = [key for key in every_head if key[:2] == ("decoder", 1)]
cross = [key for key in every_head if key[0] == "cross"]
print("the decoder's own attention in its last layer spoilt, at least 95 % right:", share_with_uniform(whole) >= 0.95)
print("both cross-attentions spoilt, fewer than one in ten right:", share_with_uniform(cross) < 0.1)

# %% [markdown]
# Every single head can be spoilt like this, and at least four dates of five still come out right, with many heads all
# of them. The head that looks most sharply of all isn't missed. Not even a whole layer of the decoder's own attention
# is. But without all the cross-attentions, hardly a date is left. Heads stand in for each other, and after each come
# other layers that put things right. What one head shows is neither the complete reason nor always a necessary one.

# %% role="draw"
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for kind, marker, colour in zip(inside, "osD", ("#00204c", "#7c7b78", "#d9b92b"), strict=True):
    mine = [key for key in alone if key[0] == kind]
    x, y = [sharpness[key] for key in mine], [100 * alone[key] for key in mine]
    axes.scatter(x, y, marker=marker, color=colour, label=kind, s=40)
axes.set(xlabel="mean largest weight of the head's rows", ylabel="dates right, %", ylim=(70, 101))
axes.set_title("Each head spoilt, one at a time")
axes.legend(title="attention")
plt.show()

# %% [markdown]
# *The picture in words:* 24 points. From left to right the heads get sharper, from about 0.3 to 0.8. If sharp meant
# important, the points would fall towards the right. They don't: nearly all lie at or close to the top, and the
# sharpest are among them.
#
# ### The place is not the character
#
# And one for the third step. A head of the cross-attention looks at *position* 0 of the encoder's output. What stands
# there is no longer the character 0. How much of it would still be there if each layer of the encoder gave exactly half
# to the residual and spread the rest over all positions?

# %%
seq_len = len(text)
spread = torch.ones(seq_len, seq_len) / seq_len
half = (spread + torch.eye(seq_len)) / 2
print(f"of its own character: {(half @ half)[0, 0]:.2f}   of all others together: {1 - (half @ half)[0, 0]:.2f}")

# %% [markdown]
# **So what are weights good for?** For ideas, and for faults. A table can show at a glance that padding is looked at or
# that the future is visible. It can suggest that a head copies years. To *know* it, change something and see what
# happens: spoil the head, swap the character, exchange the weights. That is what the next section is about.
#
# ## 7 · The hunt
#
# Eight attentions. Each claims to be lesson 04's `causal_multi_head_attention`, takes the same arguments and returns
# the same two tensors. Each has exactly one mistake, and no two have the same one. You can't read their code. You can
# call them as often as you like, with any input you can think of.

# %% role="given"
from lesson_04 import causal_multi_head_attention, masked_softmax

# %%
boxes = broken_attentions()
print(*boxes)
print(boxes["alder"])

# %% [markdown]
# What you need is a kit of **probes**: small experiments, each of which asks one question. Two sequences of five
# tokens and four matrices will serve as input. Beside the right attention stands one whose mistake is no secret, to
# show what a probe says when something is wrong: it forgets the mask.

# %%
torch.manual_seed(11)
x = torch.randn(2, 5, 12)
matrices = {name: 1.3 * torch.randn(12, 12) / math.sqrt(12) for name in ("w_q", "w_k", "w_v", "w_o")}
right = causal_multi_head_attention


def forgets_the_mask(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return merge_heads(weights @ value) @ w_o, weights


def ask(attention, x=x, num_heads=3, **other):
    """Call an attention with the matrices above, or with others in their place."""
    return attention(x, *(matrices | other).values(), num_heads)


# %% [markdown]
# **Probe 1, `sums`: what is shared out, and among whom?** Rows of weights sum to one. If something else does, the
# softmax went along another axis, or something was changed after it.


# %%
def sums(attention):
    weights = ask(attention)[1]
    rows, columns = weights[0, 0].sum(dim=-1), weights[0, 0].sum(dim=-2)
    print("weights", tuple(weights.shape))
    print("rows   ", *(f"{number:.2f}" for number in rows))
    print("columns", *(f"{number:.2f}" for number in columns))


sums(right)

# %% [markdown]
# **Probe 2, `influence`: whose change moves which output?** Change one token, and see which outputs move. Repeat for
# each token. In the table below, row i is output i, and a mark in column j says that it moves with token j. Lesson
# 04's `leaks_future` looked at the upper right half of this table.


# %%
def influence(attention):
    before = ask(attention, x[:1])[0][0]
    moved = torch.zeros(5, 5, dtype=torch.bool)
    for j in range(5):
        changed = x[:1].clone()
        changed[0, j] += 1.0 + torch.arange(12) / 12
        moved[:, j] = (ask(attention, changed)[0][0] - before).abs().amax(dim=-1) > 1e-5
    for i in range(5):
        print(f"output {i} moves with token", " ".join(str(j) if moved[i, j] else "-" for j in range(5)))


print("right")
influence(right)
print("forgets the mask")
influence(forgets_the_mask)

# %% [markdown]
# The right one is a triangle. A triangle with one more diagonal, a full square, a triangle the other way round, a table
# that looks torn: each tells a different story. *Torn* means that numbers of one token ended up in another token's
# place.
#
# **Probe 3, `company`: does a sequence mind who else is in the batch?** It should come out the same alone and in
# company. Many a model is only ever tested with a batch of one.


# %%
def company(attention):
    alone, together = ask(attention, x[:1])[0][0], ask(attention)[0][0]
    print("the same alone and in a batch:", torch.allclose(alone, together, atol=1e-5))


company(right)

# %% [markdown]
# **Probe 4, `matters`: is everything used, and where?** Exchange one matrix at a time. Query and key matrices should
# change weights and output; those for value and output should change the output only.
#
# It has a second life: with a **single token** there is nothing to choose from. Its weight is 1, whatever the scores
# are, and the output is that token's value, projected. Whatever *then* changes the output is what the value is made
# of.


# %%
def matters(attention, seq_len=5):
    tokens = x[:1, :seq_len]
    before = ask(attention, tokens)
    for name, matrix in matrices.items():
        after = ask(attention, tokens, **{name: matrix.flip(0)})
        output, weights = (not torch.allclose(a, b, atol=1e-5) for a, b in zip(after, before, strict=True))
        print(f"another {name} changes  output: {output!s:5}  weights: {weights}")


matters(right)
print("with a single token")
matters(right, seq_len=1)

# %% [markdown]
# **Probe 5, `compared`: what is right, and when?** Compare weights and output with those of the right attention, with
# three heads and with one. If the weights are right and the output is not, the mistake lies after the softmax. If all
# is well with one head, it has to do with heads: with one head √head_dim is √d_model, and there is nothing to split
# or merge.


# %%
def compared(attention):
    for num_heads in (3, 1):
        mine, wanted = (ask(one, x[:1], num_heads) for one in (attention, right))
        same = [a.shape == b.shape and torch.allclose(a, b, atol=1e-5) for a, b in zip(mine, wanted, strict=True)]
        print(f"num_heads {num_heads}: output right: {same[0]!s:5}  weights right: {same[1]}")


compared(forgets_the_mask)

# %% [markdown]
# **Probe 6, `entropies`: too sharp or too flat?** The entropy of the last row, in which everybody is visible, for each
# head, beside the right one. (No entropy means: not a row that sums to one.)


# %%
def entropies(attention):
    for name, one in (("right", right), ("this", attention)):
        rows = ask(one, x[:1])[1][0, :, -1]
        sound = (rows.sum(dim=-1) - 1).abs() < 1e-4
        shown = [f"{entropy:.2f}" if ok else "none" for entropy, ok in zip(attention_entropy(rows), sound, strict=True)]
        print(f"{name:6}", *shown)


entropies(forgets_the_mask)

# %% [markdown]
# In its last row the one without a mask is right: there, everybody *may* be seen. A probe that finds nothing is an
# answer too.
#
# ### Exercise 5: `bug_hunt`
#
# Difficulty 4 of 5
#
# Name the mistake of each box. These are the ids to choose from; eight of them occur, each once.
#
# | id | what is wrong |
# | --- | --- |
# | `no-scaling` | the scores aren't divided by anything |
# | `scaled-by-d_model` | the scores are divided by √d_model |
# | `softmax-over-queries` | the softmax goes down the columns |
# | `mask-ignored` | nothing is hidden |
# | `mask-inverted` | the past is hidden, the future visible |
# | `mask-after-softmax` | the weights are masked, not the scores |
# | `one-future-token-visible` | the mask is one diagonal too wide |
# | `diagonal-hidden` | nobody sees itself |
# | `key-used-as-value` | the keys are mixed, where the values should be |
# | `no-value-projection` | x is mixed as it is |
# | `query-used-as-key` | the queries are compared with themselves |
# | `view-without-transpose` | split into heads by a view alone |
# | `merge-without-transpose` | joined by a reshape alone |
# | `one-head-only` | `num_heads` is ignored |
# | `no-output-projection` | w_o isn't applied |
# | `batch-mixed` | the sequences of a batch get into each other |
#
# Run all probes on a box, then read them together. Some boxes give themselves away at once, others need two or three
# answers. You may write probes of your own. A good test of a suspicion: write the mistake yourself, as
# `forgets_the_mask` above, and compare.
#
# Each box earns one point. In the cell with the dict write nothing but the dict: the grader has no boxes.
#
# <details><summary>I don't know where to start</summary>
#
# Take one box and write down, probe by probe, what differs from the right attention. Then go down the list of ids, and
# ask of each: *would* it have shown that? Cross out all that would not.
#
# </details>
#
# <details><summary>Several ids are left</summary>
#
# Find a probe on which they would differ, before you guess. If you have guessed wrong, the check tells you such a
# probe.
#
# </details>
#
# <details><summary>Everything looks right</summary>
#
# Then it is wrong only in circumstances that you haven't tried. Another number of heads? More than one sequence?
#
# </details>

# %% role="try"
# Try it: the whole kit on one box. Then change the name.
my_box = boxes["alder"]
for my_probe in (sums, influence, company, matters, compared, entropies):
    print(f"--- {my_probe.__name__}")
    my_probe(my_box)
print("--- matters, with a single token")
matters(my_box, seq_len=1)

# %% exercise="bug_hunt" role="solution"
bug_hunt = {
    "alder": ...,  # an id from the list, for example "mask-ignored"
    "birch": ...,
    "cedar": ...,
    "elder": ...,
    "hazel": ...,
    "larch": ...,
    "maple": ...,
    "rowan": ...,
}
### BEGIN SOLUTION
bug_hunt = {
    "alder": "key-used-as-value",
    "birch": "mask-after-softmax",
    "cedar": "merge-without-transpose",
    "elder": "scaled-by-d_model",
    "hazel": "one-future-token-visible",
    "larch": "batch-mixed",
    "maple": "view-without-transpose",
    "rowan": "softmax-over-queries",
}
### END SOLUTION

# %% exercise="bug_hunt" role="check"
check(bug_hunt, "bug_hunt")

# %% [markdown]
# Look back at how you found them. No shape gave any of them away, and few tables did. What did was a question
# with two possible answers: *if it were right, then …* You now have a kit that works on other people's attention as
# well, and on yours.
#
# ## 8 · Quiz
#
# ### Exercise 6: `quiz_10`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `edge_weight` (a number, to two decimals): what is entry [0, 0] of `local_pattern(7, 2)`?
# 2. `edge_sum` (a number, to two decimals): the tutorial's neighbour pattern gives each neighbour a third. For 8
#    tokens, what does its first row sum to?
# 3. `entropy` (a number, to two decimals): what is the entropy, in nats, of a row in the middle of `local_pattern(9,
#    2)`?
# 4. `rolled` (a number, to two decimals): four tokens, two layers, and in both everybody looks at token 0. How much of
#    token 3 comes from token 0, by rollout?
# 5. `columns` (a letter): all columns of a causal attention's weights sum to one, its rows don't. What is it?
#    - a. the mask was forgotten;
#    - b. the scores were not scaled;
#    - c. the softmax went over the queries;
#    - d. the mask came after the softmax.
# 6. `right_weights` (a letter): the weights are right to the last digit, with any number of heads. The output is wrong,
#    and with three heads earlier outputs move with later tokens. What do you suspect?
#    - a. heads split by a view alone;
#    - b. heads merged without a transpose;
#    - c. scores divided by √d_model;
#    - d. a mask that shows one token too many.
# 7. `explains` (a letter): in layer 1, a head gives nine tenths of its weight to the position of the first character.
#    What do you know?
#    - a. without this character the answer would have been another one;
#    - b. it fetches this character and nearly nothing else;
#    - c. the head is an important one;
#    - d. in this head, nine tenths of the mixture are the value vector of that position.
# 8. `sink` (a letter): a head of a trained model puts nearly all weight on the first token, everywhere. With uniform
#    weights in their place the model writes the same. Which story fits best?
#    - a. each row has to sum to one, so it parks its weight where the value adds little;
#    - b. the first token is the most important one;
#    - c. a causal mask leaves it no choice;
#    - d. it has not been trained.
# 9. `alone` (a letter): an attention is right for a batch of one and wrong for a batch of two. Where do you look first?
#    - a. at the causal mask;
#    - b. at the number of heads;
#    - c. for a sum or a softmax that runs over the batch;
#    - d. at the scaling.
#
# <details><summary>I don't know how to start with the rollout</summary>
#
# Make R for one layer: half of the table, half of the identity. Its last row has two entries. Then follow token 3
# through the second layer.
#
# </details>

# %% exercise="quiz_10" role="solution"
quiz_10 = {
    "edge_weight": ...,  # a number, to two decimals
    "edge_sum": ...,  # a number, to two decimals
    "entropy": ...,  # a number, to two decimals
    "rolled": ...,  # a number, to two decimals
    "columns": ...,  # "a", "b", "c" or "d"
    "right_weights": ...,  # "a", "b", "c" or "d"
    "explains": ...,  # "a", "b", "c" or "d"
    "sink": ...,  # "a", "b", "c" or "d"
    "alone": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_10 = {
    "edge_weight": 0.33,
    "edge_sum": 0.67,
    "entropy": 1.61,
    "rolled": 0.75,
    "columns": "c",
    "right_weights": "b",
    "explains": "d",
    "sink": "a",
    "alone": "c",
}
### END SOLUTION

# %% exercise="quiz_10" role="check"
check(quiz_10, "quiz_10")

# %% [markdown]
# ## What you can do now
#
# You read tables of attention, by eye and by code, and follow them through layers. You know what a table can't tell,
# and how to find out instead: change something and watch. And you have named mistakes in attentions whose code you
# never saw.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, the last pages: heads of a trained translator, drawn by its
#   authors.
# - Clark, Khandelwal, Levy and Manning (2019), *What Does BERT Look At?*, section 3: patterns of 144 heads, the
#   neighbours and the sinks among them.
# - Abnar and Zuidema (2020), *Quantifying Attention Flow in Transformers*, section 3: rollout, and a second way that
#   takes more care.
# - Jain and Wallace (2019), *Attention is not Explanation*, and Wiegreffe and Pinter (2019), *Attention is not not
#   Explanation*: a dispute worth following, experiment by experiment.
# - Kobayashi, Kuribayashi, Yokoi and Inui (2020), *Attention is Not Only a Weight*: how long the vectors are that the
#   weights multiply.
# - Xiao, Tian, Chen, Han and Lewis (2024), *Efficient Streaming Language Models with Attention Sinks*, section 3: why
#   the first token is looked at so much.
#
# ## The end of the course
#
# In lesson 01 there were three tokens with four numbers each, and a dot product. Since then you have written
#
# 1. self-attention by hand, with a softmax that doesn't overflow, and rules by which weights are known;
# 2. learnt projections, and the reason for dividing by √d_k;
# 3. many heads, as a function and as a module that gives PyTorch's numbers;
# 4. masks for the future and for padding, and a detector of leaks;
# 5. LayerNorm, BatchNorm and residuals, which let a stack grow deep;
# 6. tokens and positions, in four ways;
# 7. encoder, decoder, and a whole Transformer of them;
# 8. a training that works, and an eye for three that don't;
# 9. attention that needs less memory, and goes on from a cache;
# 10. today, a way of looking inside.
#
# That is nearly all of the paper's architecture, and some of what came after it. The models that people talk to are
# made of the same parts. They are larger, most of them are decoders alone, and many rotate their queries and keys as
# in lesson 06; but you would recognise every line.
#
# Where to go from here? Take a model whose weights are public and load them into classes that you have written
# yourself. If the numbers come out the same, you have understood it; if not, you know how to find out why.
