# ---
# jupyter:
#   course:
#     about: patterns, rollout, the heads of a trained model; eight broken attention functions to find
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
# Suppose that the model of lesson 08, which learnt to write dates, reads "6 August 1939". When it has to write the 6 of
# 1939-08-06, one of its heads gives nearly all of its weight to the 6 of the input. Is that why it writes a 6? To find
# out, you switch this head off and let the model write again.
#
# Attention is one of the few parts of a network that can be read directly. Here you learn to read its matrices, first
# ones made by hand and then those of that model, and to test what you have read. At the end you hunt for eight
# mistakes, in attention functions whose code you can't see.
#
# **You need** lessons 01 to 04 (above all weights, heads and the causal mask), and lesson 08 for what its model does;
# lesson 07's classes are given.
#
# **Afterwards you can**
#
# - name the patterns that heads often show, and write code that names them;
# - follow attention through several layers, along the residual stream;
# - read what a model knows half way through, ablate a head, and say from the loss what the model needs it for;
# - find out what is wrong with an attention function from the outside, by calling it with the right inputs.
#
# **Time:** <!-- time -->. The plan: patterns → broken weights → a name for a pattern → a trained model's heads →
# through the layers → what weights don't explain → the hunt → a quiz. That is enough for two sittings, with a break
# after part 5.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `T` | tokens in a sequence (`Tq`, `Tk` where queries and keys differ in number) | 3 to 13 |
# | `L` | `num_layers`; layers are counted from 0 | 2 |
# | `H` | `num_heads`; heads are counted from 0 | 4 in the trained model, 3 in the hunt |
# | `E`, `D` | `d_model` and `head_dim`, the width of one head | 64 and 16; 12 and 4 |

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader import broken_attentions, check, compare_guess, draw_table
from grader import predict, show, trained_dates

# Models as small as these compute fastest in one thread.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Patterns
#
# The heads of trained models show the same few patterns again and again. Every token may attend **to itself**, **to all
# tokens alike** (the head takes the plain average), to the **first token**, or to its **neighbours**.

# %%
seq_len = 5
tokens = [f"token {i}" for i in range(seq_len)]
alike = torch.ones(seq_len, seq_len) / seq_len
show({"to itself": torch.eye(seq_len), "to all alike": alike}, tokens)

# %% [markdown]
# ### Exercise 1: `first_token_pattern`
#
# Difficulty 1 of 5
#
# Make the matrix in which all tokens attend to token 0. Many trained models have such heads, because a row must sum to
# one. So a head must put its weight somewhere, even if no token is of use to it. Every position can see the first
# token, which makes it a good place for such weight. A token that is used in this way is called an *attention sink*.
#
# <details><summary>I fill the first row, and the check says that it should be the column</summary>
#
# Row i holds the weights that token i gives, and column j those that token j gets. Which of the two is full if token 0
# gets everything?
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
# A tutorial makes the neighbour pattern as below, with a third for the token before, a third for the token itself, and
# a third for the token after.

# %%
in_tutorial = torch.zeros(seq_len, seq_len)
for i in range(seq_len):
    for j in range(max(0, i - 1), min(seq_len, i + 2)):
        in_tutorial[i, j] = 1 / 3

predict(
    "10_edge_row",
    "What does the first row of this matrix sum to?",
    low=0,
    high=1,
)

# %% role="answer"
sums_of_rows = in_tutorial.sum(dim=-1, keepdim=True)
table = torch.cat([in_tutorial, sums_of_rows], dim=-1)
show(table, tokens, [*tokens, "sum"], title="tutorial", form=".4f")
compare_guess("10_edge_row", round(sums_of_rows[0].item(), 2))

# %% [markdown] role="answer"
# No token comes before the first one, which has only two neighbours, itself included, and each gets a third. The last
# row sums to two thirds as well. But rows of attention weights must sum to one, so every row is divided by the number
# of neighbours that exist. This gives halves at the ends and thirds in between.

# %% [markdown]
# ### Exercise 2: `local_pattern`
#
# Difficulty 2 of 5
#
# Do the same for any radius, so that every token divides its attention equally among all tokens at most `radius` places
# away, itself included.
#
# <details><summary>The check says that the edges aren't right</summary>
#
# What do you divide the first row by, and the middle one? What does a row of ones and zeros sum to?
#
# </details>
#
# <details><summary>Can I get the band without loops?</summary>
#
# Take the positions 0 to T − 1 once as a column and once as a row. What do you get when you subtract one from the
# other, with broadcasting (lesson 05)?
#
# </details>
#
# <details><summary>The last tokens turn up in the first row</summary>
#
# In Python, index −1 is the last entry, so where does your slice start for token 0?
#
# </details>


# %% exercise="local_pattern" role="solution"
def local_pattern(seq_len: int, radius: int) -> Tensor:
    """Weights with which every token attends uniformly to its neighbours within
    radius, itself included.

    Returns (T, T) with T = seq_len, of torch's default dtype; every row sums to
    one.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(seq_len)
    near = (positions[:, None] - positions).abs() <= radius
    near = near.to(torch.get_default_dtype())
    return near / near.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% exercise="local_pattern" role="check"
check(local_pattern)

# %% role="try"
# Try it: all four patterns.
my_patterns = {"itself": torch.eye(8), "all alike": torch.ones(8, 8) / 8}
my_patterns |= {
    "first token": first_token_pattern(8),
    "neighbours": local_pattern(8, 1),
}
figure, my_panels = plt.subplots(2, 2, figsize=(4.6, 5), layout="constrained")
for my_axes, my_name in zip(my_panels.flat, my_patterns, strict=True):
    my_axes.imshow(my_patterns[my_name], cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xlabel="key", ylabel="query")
plt.show()

# %% [markdown]
# *The picture in words:* there are four 8 × 8 grids, yellow where the weight is 1. "Itself" is a yellow diagonal, "all
# alike" is dark blue all over, and in "first token" the left column is yellow. "Neighbours" is a grey band along the
# diagonal, a little brighter at both ends, where only two tokens share the weight.
#
# ## 2 · Are these weights at all?
#
# Before you read a matrix, make sure that it holds weights. Lesson 02's `validate_attention` tests whether all entries
# are finite, whether they lie within [0, 1], and whether each row sums to one.

# %% role="given"
from lesson_02 import validate_attention

# %% [markdown]
# Here are matrices from eight pieces of code, which all start from the same scores. The first is right, and each of the
# others does one thing differently.

# %%
torch.manual_seed(10)
scores = 2 * torch.randn(4, 4)
future = torch.ones(4, 4, dtype=torch.bool).triu(1)
masked = scores.masked_fill(future, -math.inf)
suspects = {
    "right": masked.softmax(dim=-1),
    "mask = 0 · infinity": (scores + future * -math.inf).softmax(dim=-1),
    "divided by their sum": scores / scores.sum(dim=-1, keepdim=True),
    "softmax down the columns": masked.softmax(dim=-2),
    "masked after the softmax": scores.softmax(dim=-1) * ~future,
    "dropout switched on": nn.Dropout(0.5)(masked.softmax(dim=-1)),
    "mask forgotten": scores.softmax(dim=-1),
    "not scaled": (4 * masked).softmax(dim=-1),
}

# %% [markdown]
# Which of the seven will it accept?

# %%
for name, weights in suspects.items():
    try:
        validate_attention(weights)
        print(f"{name:25} accepted")
    except ValueError as problem:
        print(f"{name:25} {problem}")

# %% [markdown]
# Five are refused, and the message names the first rule that each one breaks. One of them, dropout, is a mistake only
# in eval mode. In training, attention weights are often dropped at random and the others enlarged, so that a row sums
# to one only on average.
#
# Two are accepted, because a matrix that shows the future and one that is far too sharp still hold valid weights. They
# aren't the right ones, though, and in section 7 you find such mistakes.

# %% [markdown]
# ## 3 · A name for a pattern
#
# A model has too many heads to look at one by one, so we let code do it, with a few quantities that separate the
# patterns:
#
# - the mean **entropy** of the rows (lesson 02), which is 0 if each row has all its weight on one key, and ln T if all
#   rows are uniform;
# - the mean weight on the **diagonal**, and that in **column 0**;
# - the mean weight **near** the diagonal, at most one place away.

# %% role="given"
from lesson_02 import attention_entropy


# %%
def four_numbers(weights):
    """Mean entropy; mean weight on itself, on the first token, near itself."""
    entropy = attention_entropy(weights).mean()
    itself, first = weights.diagonal().mean(), weights[:, 0].mean()
    near = weights.triu(-1).tril(1).sum(dim=-1).mean()
    return torch.stack([entropy, itself, first, near])


patterns = {
    "itself": torch.eye(8),
    "all alike": torch.ones(8, 8) / 8,
    "random": torch.randn(8, 8).softmax(dim=-1),
    "the one before": torch.eye(8)[[0, 0, 1, 2, 3, 4, 5, 6]],
}
table = torch.stack([four_numbers(weights) for weights in patterns.values()])
show(table, list(patterns), ["entropy", "itself", "first", "near"])

# %% [markdown]
# None of them is enough alone, since "the one before" has all its weight near the diagonal, just as the neighbour
# pattern does. It is also tempting to look only at where the *largest* weight of a row is (`argmax`). But in [0.2, 0.3,
# 0.25, 0.25] one weight is the largest too, and that means very little.
#
# Another way is to build the pattern that a matrix might follow, and to measure the distance, entry by entry. Trained
# heads never match a pattern exactly, so we must allow some distance. In `noisy` below, five hundredths of every row
# are random.

# %%
noisy = 0.95 * torch.eye(8) + 0.05 * torch.randn(8, 8).softmax(dim=-1)
for name in ("itself", "all alike"):
    distance = (noisy - patterns[name]).abs().max()
    print(f"largest distance from the pattern {name!r}: {distance:.2f}")

# %% [markdown]
# ### Exercise 3: `classify_pattern`
#
# Difficulty 3 of 5
#
# Return one of five words for a matrix (T, T) with T ≥ 6, up to 5 % of which may be random:
#
# | word | every token attends |
# | --- | --- |
# | `"diagonal"` | to itself |
# | `"uniform"` | to all tokens alike |
# | `"first"` | to token 0 |
# | `"local"` | to all within radius 1 alike, or to all within radius 2 alike, itself included |
# | `"other"` | in any other way |
#
# The check's matrices are either close to one of the four patterns or far from all of them, so it doesn't matter much
# how you measure. You may use `local_pattern` and `first_token_pattern`.
#
# <details><summary>Everything with noise is "other"</summary>
#
# How large is the distance above? And how large is the tolerance that you allow, or that your function has by
# default?
#
# </details>
#
# <details><summary>Uniform weights come out as "local"</summary>
#
# Inside the band they look alike, but what is outside it?
#
# </details>
#
# <details><summary>A band of radius 3, or a token that attends only backwards, comes out as "local"</summary>
#
# It isn't enough that the weight is near the diagonal. Is it also divided among the tokens as in the pattern?
#
# </details>
#
# <details><summary>"Float did not match Double"</summary>
#
# The weights may come in float32 or in float64, and your pattern has torch's default dtype. Which method of a tensor
# changes its dtype?
#
# </details>


# %% exercise="classify_pattern" role="solution"
def classify_pattern(weights: Tensor) -> str:
    """Name the pattern of attention weights (T, T), T >= 6.

    Returns "diagonal", "uniform", "first", "local" (radius 1 or 2) or "other";
    up to 5 % of random weights may be mixed in.
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
# Try it: the matrices from above. Which of them should be "other"?
for my_name, my_matrix in (patterns | {"noisy": noisy}).items():
    print(f"{my_name:15} {classify_pattern(my_matrix)}")

# %% [markdown]
# ## 4 · The heads of a trained model
#
# Now we take a real model, the Transformer that learnt to write dates in lesson 08. It has two layers in the encoder
# and two in the decoder, and four heads everywhere. Its code is lesson 07's, which is given. Your own code takes its
# place if your notebooks of lessons 03 and 07 are in the same folder as this one and pass their checks.

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

# %%
from grader import use_yours

use_yours(
    MultiHeadAttention,
    FeedForward,
    TransformerBlock,
    Encoder,
    DecoderBlock,
    Decoder,
    Transformer,
)

# %% [markdown]
# If your model from lesson 08 (`dates.safetensors` and `dates.json`) is in the same folder as this notebook, you will
# look into that one, and otherwise into the course's, which learnt from the same dates. With yours some figures differ
# from those in the text.

# %%
trained = trained_dates()
model = Transformer(**trained.sizes)
model.load_state_dict(trained.weights)
model.eval()
print("this is", trained.whose)
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))

# %% [markdown]
# The model reads and writes characters, and with teacher forcing one call asks for all of them, as in lesson 08. From
# here on our main measure is the **loss**, the mean of −ln p over all characters, where p is the probability of the
# right one. A model that knows nothing has a loss of ln 14 = 2.64 nats.


# %%
def ids_of(some_pairs):
    """Sources (B, Ts), what is given and what is to be said, both (B, Tt).

    Padding is 0, bos 1, eos 2."""
    source = {token: i for i, token in enumerate(trained.source)}
    target = {token: i for i, token in enumerate(trained.target)}
    rows = [[source[c] for c in text] for text, _ in some_pairs]
    answers = [[target[c] for c in answer] for _, answer in some_pairs]
    given, wanted = [[1, *a] for a in answers], [[*a, 2] for a in answers]
    return [
        nn.utils.rnn.pad_sequence([torch.tensor(row) for row in each], True)
        for each in (rows, given, wanted)
    ]


# %%
pairs = trained.pairs
src, given, wanted = ids_of(pairs)


def loss_of(logits, wanted):
    """Mean loss per character, in nats; padding doesn't count."""
    real = wanted != 0
    return F.cross_entropy(logits[real], wanted[real]).item()


@torch.no_grad()
def loss_of_all():
    """The model's loss on all the dates."""
    return loss_of(model(src, given), wanted)


print(f"{len(pairs)} dates: loss {loss_of_all():.3f} nats")

# %% [markdown]
# As in lesson 08, a hook keeps the weights, here of three kinds of attention. In the encoder's, the characters of the
# written date attend to one another. In the decoder's own, the answer attends to the part written so far, and in the
# cross-attention to the written date.


# %%
def attentions_of(model):
    """All attention modules, in the order of the layers, by kind."""
    return {
        "encoder": [layer.attention for layer in model.encoder.layers],
        "decoder": [layer.attention for layer in model.decoder.layers],
        "cross": [layer.block.attention for layer in model.decoder.layers],
    }


# %%
@torch.no_grad()
def outputs_of(modules, run):
    """What each of these modules gives out while `run()` runs."""
    kept = []

    def keep(module, inputs, output):
        kept.append(output)

    hooks = [module.register_forward_hook(keep) for module in modules]
    run()
    for hook in hooks:
        hook.remove()
    return kept


# %%
def look_inside(model, some_pairs):
    """The weights of every head: by kind, (B, L, H, Tq, Tk)."""
    src, given, _ = ids_of(some_pairs)
    inside = {}
    for kind, modules in attentions_of(model).items():
        outputs = outputs_of(modules, lambda: model(src, given))
        inside[kind] = torch.stack([weights for _, weights in outputs], dim=1)
    return inside


text, answer = date = "6 August 1939", "1939-08-06"
inside = {kind: every[0] for kind, every in look_inside(model, [date]).items()}
print(text, "->", answer)
for kind, weights in inside.items():
    print(f"{kind:8} (L, H, Tq, Tk) = {tuple(weights.shape)}")

# %% [markdown]
# To look at all twenty-four matrices, choose the kind of attention at the top. With the arrow keys, choose a head among
# the small matrices, which are laid out with a row for each layer. Move over the large one to read how much weight each
# query gives to each key. Below each head you see the pattern that it most resembles, and how much of the weight the
# two have in common. From 0.9 on, you may call it the head's pattern.

# %% role="draw"
from grader.views import HeadExplorer

so_far = ["<bos>", *answer]  # what the decoder is given
sides = {"encoder": (text, text), "decoder": (so_far, so_far)}
sides["cross"] = (so_far, text)  # queries, keys
HeadExplorer({kind: (inside[kind], *side) for kind, side in sides.items()})

# %% [markdown]
# Take your time with these questions about what you see.
#
# 1. Under *cross*, go down the rows of head 1 in layer 1. Does each character of the answer attend to what it is read
#    from? Row i belongs to the character that the decoder was *given*, and in that row it writes the next one. Which
#    rows are less clear, and might that be because the month is read from several letters?
# 2. Under *decoder*, why is the upper right half of every matrix dark? Why is the first row of each matrix always the
#    same?
# 3. Under *encoder*, which heads are easy to describe in words, if you are honest?
#
# Few of the encoder's heads are easy to describe. In large models some heads show the patterns of section 1 clearly,
# and those are the ones that papers print. Here hardly any head does, and still nearly all dates are right, so an
# unclear matrix isn't a sign of a mistake.
#
# Let your classifier name the eight heads of the encoder, and those of the same model before its training.

# %% role="try"
# Try it: trained and untrained.
torch.manual_seed(0)
my_untrained = look_inside(Transformer(**trained.sizes).eval(), [date])
my_models = {
    "trained": inside["encoder"],
    "untrained": my_untrained["encoder"][0],
}
for my_name, my_layers in my_models.items():
    for my_layer, my_heads in enumerate(my_layers):
        my_words = [classify_pattern(my_head) for my_head in my_heads]
        print(f"{my_name:9} layer {my_layer}:", *my_words)

# %% [markdown]
# After training all of them are "other", because our list has no name for what such a head does, and that is fine.
# Before training every row is nearly even. With a wide tolerance your function calls some of these heads uniform, and
# with a narrow one it calls them "other" too. Both can pass the check.
#
# ## 5 · Through the layers
#
# Layer 1 (layers are counted from 0) doesn't attend to *characters*. After layer 0 every position holds a weighted sum
# of what it attended to and of itself. A token that attends to position 3 in layer 1 attends to such a sum.
#
# Here are three tokens and two layers, in which each token attends to one other.

# %%
layer_0 = torch.eye(3)[[0, 0, 1]]  # 0 attends to 0, 1 to 0, 2 to 1
layer_1 = torch.eye(3)[[0, 1, 1]]  # 0 attends to 0, 1 to 1, 2 to 1
three = ["token 0", "token 1", "token 2"]
show({"layer 0": layer_0, "layer 1": layer_1}, three, form=".0f")

# %%
predict(
    "10_arrives",
    "After both layers: which token's content has arrived at token 2?",
    ["token 0", "token 1", "token 2"],
)

# %% role="answer"
both = layer_1 @ layer_0
show(both, three, title="layer 1 · layer 0", form=".0f")
compare_guess("10_arrives", f"token {both[2].argmax()}")

# %% [markdown] role="answer"
# In layer 1, token 2 attends to token 1, but in layer 0 token 1 got all its content from token 0. What arrives is token
# 0, and the matrix of layer 1 has a zero there. A weighted sum of weighted sums is a **product of the matrices**. Layer
# 0 is the rightmost factor, because it works on the tokens first.

# %% [markdown]
# The residual, x + attention(x), is still missing from the product. Each position has a vector that runs through all
# layers, called the **residual stream**, and each sub-layer only adds to it. (In our post-norm model each sum is
# normalised too.) We count both parts of the sum as equal, and replace each matrix A by half of itself and half of the
# identity:
#
# $$R = \tfrac{1}{2}(A + I), \qquad \text{rollout} = R_{L-1} \cdots R_1\, R_0$$
#
# This product is called **attention rollout** (Abnar and Zuidema 2020). If the rows of A sum to one, so do those of R.
# If they might not, normalise the rows of R.

# %%
halves = [(layer + torch.eye(3)) / 2 for layer in (layer_0, layer_1)]
show(halves[1] @ halves[0], three, title="with residuals")

# %% role="draw"
figure, axes = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
arrow = {"arrowstyle": "-|>", "shrinkA": 8, "shrinkB": 8, "lw": 1.5}
for layer, weights in enumerate((layer_0, layer_1)):
    for i, j in weights.nonzero().tolist():
        bend = "arc3,rad=0.35" if i == j else "arc3"
        look = {"color": "#00204c", "connectionstyle": bend}
        axes.annotate("", (i, layer + 1), (j, layer), arrowprops=arrow | look)
        look = {"color": "#8a7d2f", "linestyle": "--"}
        axes.annotate("", (i, layer + 1), (i, layer), arrowprops=arrow | look)
for i in range(3):
    axes.plot([i] * 3, range(3), "o", color="#00204c", markersize=9)
axes.set(xlim=(-0.5, 2.5), xticks=range(3), xticklabels=three, ylim=(-0.3, 2.3))
axes.set(yticks=range(3), yticklabels=["in", "after layer 0", "after layer 1"])
axes.set_title("attention: solid; residual: dashed", fontsize=10)
plt.show()

# %% [markdown]
# *The picture in words:* there are three columns of dots, one for each token, from the input at the bottom to layer 1
# at the top. In every column a dashed arrow, the residual, leads up from dot to dot, and solid arrows are attention. In
# layer 0 these lead from token 0 to 0 and to 1, and from 1 to 2. In layer 1 they lead from 0 to 0, and from 1 to 1 and
# to 2.
#
# Each dot gets half of its content through each of the two arrows that lead to it. Four paths end at token 2 at the
# top, one from token 0, two from token 1, and one that is its own residual.
#
# ### Exercise 4: `attention_rollout`
#
# Difficulty 3 of 5
#
# Turn one matrix per layer, (L, T, T), layer 0 first, into one matrix (T, T), for any number of layers.
#
# <details><summary>The check says that the order is wrong</summary>
#
# Which factor of a product works on the tokens first? Each new layer is multiplied by the product so far, but does it
# stand to the left or to the right of it?
#
# </details>
#
# <details><summary>"expected m1 and m2 to have the same dtype"</summary>
#
# Your identity has torch's default dtype, but the layers may have another, and `torch.eye` takes a dtype as an
# argument.
#
# </details>


# %% exercise="attention_rollout" role="solution"
def attention_rollout(layers: Tensor) -> Tensor:
    """Attention through several layers, residuals included.

    layers: weights (L, T, T), layer 0 first. Returns (T, T): the product
    R_{L-1} · … · R_0 with R = (A + I) / 2, rows normalised.
    """
    ### BEGIN SOLUTION
    identity = torch.eye(
        layers.shape[-1], dtype=layers.dtype, device=layers.device
    )
    rolled = identity
    for weights in layers:
        mixed = (weights + identity) / 2
        rolled = mixed / mixed.sum(dim=-1, keepdim=True) @ rolled
    return rolled
    ### END SOLUTION


# %% exercise="attention_rollout" role="check"
check(attention_rollout)

# %% role="try"
# Try it: the encoder's layers, the heads averaged. Where does the content of
# each position come from?
my_layers = inside["encoder"].mean(dim=1)
my_tables = {"layer 1": my_layers[1], "rollout": attention_rollout(my_layers)}
figure, my_panels = plt.subplots(2, 1, figsize=(4.6, 9), layout="constrained")
for my_axes, my_name in zip(my_panels, my_tables, strict=True):
    my_axes.imshow(my_tables[my_name], cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xlabel="key", ylabel="query")
    my_axes.set_xticks(range(len(text)), text.replace(" ", "␣"))
    my_axes.set_yticks(range(len(text)), text.replace(" ", "␣"))
plt.show()

# %% [markdown]
# *The picture in words:* two 13 × 13 grids have the characters of "6 August 1939" along both sides. In layer 1 the
# digits of the year attend to one another. In the rollout the diagonal is the brightest, and the rest is flatter.
#
# Through the residuals alone a quarter of what is at each position is still its own, so the diagonal stays bright. Off
# the diagonal the rollout is flatter, since taking weighted sums of weighted sums evens the weights out.
#
# Rollout is only an estimate, in which the heads are averaged, the residual counts as exactly one half, and values,
# norms and feed-forward layers are left out.
#
# Most of the reading by eye is done, so this is a good place for a break.
#
# ## 6 · What the weights do not explain
#
# A bright cell tempts you to say, "It wrote a 6 *because* it attended to the 6." But all that a weight shows is that in
# this head, in this layer, this part of the weighted sum comes from that position's value vector.
#
# ### The head that reads the 6
#
# In the cross-attention, take the row in which the last character is about to be written, and the column of the 6. Each
# of the eight heads has one weight there.

# %%
last_row, the_6 = len(answer) - 1, text.index(answer[-1])
on_the_6 = inside["cross"][:, :, last_row, the_6]
all_heads = [f"head {head}" for head in range(4)]
show(on_the_6, ["cross, layer 0", "cross, layer 1"], all_heads)
reader = ("cross", *divmod(on_the_6.argmax().item(), 4))
print("the head with the largest (kind, layer, head):", reader)

# %% [markdown]
# To **ablate** a part of a model is to take away what it adds, and to see how the model copes without it. A head adds
# to the residual stream through its own columns of `out_proj`, so with zeros there it adds nothing.


# %%
def without(heads, measure):
    """What `measure()` returns while these heads are ablated."""
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    try:
        for kind, layer, head in heads:
            attention = attentions_of(model)[kind][layer]
            to_stream = attention.out_proj.weight.detach()  # (E, H·D)
            to_stream.unflatten(1, (attention.num_heads, -1))[:, head] = 0.0
        return measure()
    finally:
        model.load_state_dict(kept)


# %%
@torch.no_grad()
def writes():
    """What the model writes for the date; the loss of the last character."""
    src, given, wanted = ids_of([date])
    logits = model(src, given)[0]
    guesses = [trained.target[guess] for guess in logits.argmax(dim=-1)[:-1]]
    return "".join(guesses), loss_of(logits[last_row], wanted[0, last_row])


# %%
predict(
    "10_switched_off",
    "That one head is ablated. What does the model write for 6 August 1939?",
    ["the right date", "another day, the rest right", "no date at all"],
)

# %% role="answer" claim="others_read_it_too"
for title, heads in (("all heads", []), ("without that head", [reader])):
    written, its_loss = without(heads, writes)
    print(f"{title:18} {written}   loss of the 6: {its_loss:.3f} nats")
outcome = "no date at all"
if written[:8] == answer[:8]:
    outcome = "another day, the rest right"
if written == answer:
    outcome = "the right date"
compare_guess("10_switched_off", outcome)

# %% [markdown] role="answer"
# The head attended to the 6, and yet the model writes a 6 without it, as surely as before. The table of weights shows a
# possible reason, because other heads attend to the 6 as well. (Not every date is so lucky. With "August 6, 1939" in
# `date`, the course's model gets another character wrong without the head chosen there, though not the 6.)

# %% [markdown]
# ### Which layer decides
#
# If heads in both layers read the 6, where is it decided? `fc_out` turns the vector at the end of the residual stream
# into logits. We can apply `fc_out` earlier, after each sub-layer, to see what the model would write if it had to stop
# there. This way of looking is called the **logit lens** (nostalgebraist 2020).


# %%
@torch.no_grad()
def half_way(src, given):
    """The logits (B, Tt, V) that `fc_out` makes after each sub-layer."""
    places = {"none": model.decoder.dropout}  # only embedded
    for layer, block in enumerate(model.decoder.layers):
        places[f"own {layer}"] = block.norm
        places[f"cross {layer}"] = block.block.norm1
        places[f"feed {layer}"] = block.block.norm2
    streams = outputs_of(places.values(), lambda: model(src, given))
    logits = [model.decoder.fc_out(stream) for stream in streams]
    return dict(zip(places, logits, strict=True))


# %%
one_src, one_given, one_wanted = ids_of([date])
stages = half_way(one_src, one_given)
by_stage = {s: loss_of(x, wanted) for s, x in half_way(src, given).items()}

predict(
    "10_decided",
    "Where does the right 6 first get more than half of the probability?",
    ["before any cross-attention", "in layer 0", "only in layer 1"],
)

# %% role="answer" claim="layer_0_reads_it"
guesses = [logits[0].softmax(dim=-1) for logits in stages.values()]
chances = torch.stack([p[range(11), one_wanted[0]] for p in guesses], dim=1)
figure, axes = plt.subplots(figsize=(4, 5), layout="constrained")
draw_table(axes, "right one, after", chances, [*answer, "eos"], list(stages))
plt.show()
rows = []
for p, its_loss in zip(guesses, by_stage.values(), strict=True):
    would = "".join(trained.target[i] for i in p.argmax(dim=-1)[:-1])
    rows.append([would.replace("<eos>", "."), its_loss])
columns = ["it would write", "loss of all dates"]
show(rows, list(stages), columns, title="after", form=".3f")
sure = (chances[last_row] > 0.5).tolist()
outcomes = 2 * ["before any cross-attention"] + 2 * ["in layer 0"]
outcomes += [*3 * ["only in layer 1"], "nowhere"]
compare_guess("10_decided", outcomes[[*sure, True].index(True)])

# %% [markdown] role="answer"
# *The picture in words:* a table has a row for each character of 1939-08-06 and a column for each sub-layer (own
# attention, cross-attention and feed-forward of both layers). On the left most probabilities are small, and on the
# right all are 1. The 8 has a probability of 0.07 after the cross-attention of layer 0, and of 0.96 after that of
# layer 1.
#
# Before any cross-attention the stream can't know the date, only what comes at which place, such as dashes after four
# digits and after two more. (In the second table, a full stop stands for eos.) Layer 0 reads the year and the day, but
# takes August for April, which begins with an A as well. Layer 1 puts it right, and its feed-forward makes it certain.
# Over all dates, each cross-attention removes most of the loss that is left by then, while the second layer's own
# attention hardly changes it. The lens shows what `fc_out` can read, not all that is there.

# %% [markdown]
# ### Different weights, the same output
#
# Even within one head other weights can give the same output. Below, tokens 0 and 2 have the same value vector, and the
# two matrices look very different.

# %%
values = torch.tensor([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
weights = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5]])
others = torch.tensor([[0.0, 0.1, 0.9], [1.0, 0.0, 0.0]])
outputs = weights @ values, others @ values
apart = (weights - others).abs().max(), (outputs[0] - outputs[1]).abs().max()
print(f"largest difference of the weights: {apart[0]:.1f}")
print(f"largest difference of the outputs: {apart[1]:.1f}")

# %% [markdown]
# Such weights aren't a special case, as counting shows. With T keys a row has T weights, and the output has D
# components. If T is larger than D + 1 and no weight is zero, other weights with the very same output always exist.
# There are then T unknowns and only D + 1 equations, one for each component and one for the sum of the row.
#
# ### Head by head
#
# To find out which of the 24 heads the model needs, we ablate them one at a time, and see how much the loss of all 200
# dates grows. (The accuracy would hardly fall, since it doesn't show how sure the model is.)

# %%
every_head = [
    (kind, layer, head)
    for kind, modules in attentions_of(model).items()
    for layer, module in enumerate(modules)
    for head in range(module.num_heads)
]

predict(
    "10_kind",
    "In which kind of attention is the head whose ablation costs most?",
    ["the encoder's", "the decoder's own", "the cross-attention"],
)

# %% role="answer" claim="an_encoder_head_is_missed_most"
whole = loss_of_all()
cost = {head: without([head], loss_of_all) - whole for head in every_head}
table = 1000 * torch.tensor(list(cost.values())).view(6, 4)
layers = [f"{kind}, layer {layer}" for kind in inside for layer in range(2)]
figure, axes = plt.subplots(figsize=(4, 3.6), layout="constrained")
title = "the loss grows by, in thousandths of a nat"
draw_table(axes, title, table, layers, all_heads, form=".0f")
plt.show()
print(f"loss of the whole model: {whole:.3f} nats")
kind, layer, head = max(cost, key=cost.get)
print(f"most: {kind}, layer {layer}, head {head}")
names = {"encoder": "the encoder's", "decoder": "the decoder's own"}
compare_guess("10_kind", names.get(kind, "the cross-attention"))

# %% [markdown] role="answer"
# *The picture in words:* a table has six rows, one for each layer of the encoder, the decoder and the cross-attention,
# and a column for each of four heads. One entry stands out, 43 at head 0 of the encoder's layer 0. The next largest is
# 8, and most are below 4.
#
# Most heads cost little, and where several do the same, none is missed. The cross-attention has such heads, as you saw
# with the 6. But if one head of the encoder is ablated, the loss becomes almost twenty times as large. In four other
# models that we trained, the most needed head was one of the encoder's as well, though in one of them only just.

# %% [markdown]
# ### Is a sharp head an important one?
#
# A head that gives nearly all of its weight to one key looks important. We measure sharpness by the mean largest weight
# of a row, but two things could mislead us. Rows of padding have no meaning, and in a causal matrix the first rows are
# sharp whatever the head has learnt, because they see so few keys.

# %%
uniform, past = torch.ones(11, 11) / 11, torch.ones(11, 11).tril()
causal = past / past.sum(dim=-1, keepdim=True)
for name, weights in (("11 tokens", uniform), ("the past", causal)):
    sharp = weights.amax(dim=-1).mean()
    print(f"uniform over {name}, mean largest weight: {sharp:.2f}")

# %% [markdown]
# So we leave out the decoder's own attention, because only in the other two kinds does every row see the whole date.

# %%
weights_of, sharpness = look_inside(model, pairs), {}
for kind, queries in (("encoder", src), ("cross", given)):
    largest = weights_of[kind].amax(dim=-1)  # (B, L, H, Tq)
    largest = largest.movedim(0, 2)[:, :, queries != 0]
    for layer, of_layer in enumerate(largest.mean(dim=-1)):
        for head, sharp in enumerate(of_layer):
            sharpness[kind, layer, head] = sharp.item()
by_sharpness = sorted(sharpness, key=sharpness.get, reverse=True)


# %%
predict(
    "10_most_needed",
    "Sort the 16 heads by sharpness. "
    "Where is the one whose ablation makes the loss largest?",
    [
        "among the five sharpest",
        "among the six in the middle",
        "among the five least sharp",
    ],
)

# %% role="answer" claim="sharp_is_not_needed"
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
colours = {"encoder": "#00204c", "cross": "#d9b92b"}
costs = [cost[head] for head in sharpness]
colour_of_each = [colours[kind] for kind, _, _ in sharpness]
axes.scatter(list(sharpness.values()), costs, color=colour_of_each)
axes.set(xlabel="sharpness: mean largest weight of a row")
axes.set(ylabel="the loss grows by, nats")
axes.set_title("encoder: dark; cross-attention: yellow", fontsize=10)
plt.show()
most_needed = max(sharpness, key=cost.get)
place = by_sharpness.index(most_needed)
places = ["five sharpest", "six in the middle", "five least sharp"]
compare_guess(
    "10_most_needed", f"among the {places[(place > 4) + (place > 10)]}"
)

# %% [markdown] role="answer"
# *The picture in words:* there are 16 points, one for each head. From left to right the heads get sharper, from 0.3 to
# above 0.6, and the higher a point is, the more the ablation costs. Nearly all lie below 0.01, sharp or not, and the
# highest by far, an encoder head, is in the middle.
#
# Sharper heads tend to cost a little more, but the one that the model needs most isn't among the sharpest. It costs ten
# times as much as the sharpest of all. In four other models that we trained it wasn't among the five sharpest either, and
# cost 1.5 to 21 times as much as the sharpest.

# %% [markdown]
# ### Together
#
# Before we ablate several heads at once, we add up what they cost one at a time.

# %%
alone = {}
for kind in inside:
    alone[kind] = sum(cost[head] for head in every_head if head[0] == kind)
show(alone.values(), "nats in all", list(alone), form=".3f")

predict(
    "10_together",
    "Ablate all eight heads of the encoder at the same time. "
    "By how much does the loss grow?",
    [
        "by less than this total",
        "by about this total",
        "by at least three times this total",
    ],
)

# %% role="answer" claim="together_is_more"
together = {}
for kind in inside:
    heads = [head for head in every_head if head[0] == kind]
    together[kind] = without(heads, loss_of_all) - whole
rows = [list(alone.values()), list(together.values())]
show(rows, ["one at a time", "all at once"], list(alone), form=".3f")
ratio = together["encoder"] / alone["encoder"]
how_much = "about" if ratio > 0.8 else "less than"
how_much = "at least three times" if ratio >= 3 else how_much
compare_guess("10_together", f"by {how_much} this total")

# %% [markdown] role="answer"
# Together they cost several times as much, since if one is missing, others can do its work. In the decoder's own
# attention, too, no single head is missed, but without all eight the loss is 0.06 nats, more than twenty times as
# large. Without the cross-attention the date doesn't get through, and the loss grows to almost 2 nats, where a model
# that knows nothing has 2.64.

# %% [markdown]
# An ablation has limits too. It only shows what *this* model needs. If the model had been trained without the
# head, it might have found another way. Besides, the next layers were never trained with zeros there, so some authors
# put the head's mean output in its place.
#
# ### The position is not the character
#
# A head of the cross-attention attends to *position* 0 of the encoder's output, which no longer holds the character
# alone. Suppose that each layer of the encoder gave half to the residual and divided the rest among all positions.

# %%
seq_len = len(text)
half = (torch.ones(seq_len, seq_len) / seq_len + torch.eye(seq_len)) / 2
own = (half @ half)[0, 0]
print(f"of its own character: {own:.2f}   of all others: {1 - own:.2f}")

# %% [markdown]
# **So what are weights good for?** They give ideas, and they help to find mistakes. A matrix can show at a glance that
# padding gets weight or that the future is visible, and it can suggest that a head copies years. To *know* that, you
# change something and see what happens, as in the next section.
#
# ## 7 · The hunt
#
# Here are eight attention functions, each of which claims to be lesson 04's `causal_multi_head_attention`, takes the
# same arguments and returns two tensors of the same kind. Each has exactly one mistake, and no two have the same one.
# You can't read their code, but you can call them as often as you like, with any input you can think of.

# %% role="given"
from lesson_04 import causal_multi_head_attention, masked_softmax

# %%
boxes = broken_attentions()
print(*boxes)
print(boxes["alder"])

# %% [markdown]
# What you need is a kit of **probes**, small experiments, each of which answers one question. Their input is two
# sequences of five tokens and four weight matrices. Each probe is shown on the right attention function, and some also
# on `forgets_the_mask`, whose mistake you know.

# %%
torch.manual_seed(11)
x, size = torch.randn(2, 5, 12), 1.3 / math.sqrt(12)
names = ("w_q", "w_k", "w_v", "w_o")
matrices = {name: size * torch.randn(12, 12) for name in names}
right = causal_multi_head_attention


def forgets_the_mask(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return merge_heads(weights @ value) @ w_o, weights


# %%
def ask(attention, x=x, num_heads=3, **other):
    """Call an attention function with the matrices above, or with others."""
    return attention(x, *(matrices | other).values(), num_heads)


def difference(a, b):
    """The largest difference between two tensors, as text."""
    if a.shape != b.shape:
        return f"shape {tuple(a.shape)}"
    return f"{(a - b).abs().max():.2f}"


# %% [markdown]
# **Probe 1, `sums`, shows which rows or columns sum to one.** Each row of weights should, and if it doesn't, look at
# the axis of the softmax, or at what came after it.


# %%
def sums(attention):
    weights = ask(attention)[1]
    rows, columns = weights[0, 0].sum(dim=-1), weights[0, 0].sum(dim=-2)
    print("weights", tuple(weights.shape))
    print("rows   ", *(f"{number:.2f}" for number in rows))
    print("columns", *(f"{number:.2f}" for number in columns))


sums(right)

# %% [markdown]
# **Probe 2, `influence`, shows which output depends on which of the tokens.** Change one token, see which outputs
# change, and repeat this for each token. Below, row i is output i, and a j in its line means that it changes with token
# j. Lesson 04's `leaks_future` tests the upper right half of this matrix.


# %%
def influence(attention):
    before = ask(attention, x[:1])[0][0]
    moved = torch.zeros(5, 5, dtype=torch.bool)
    for j in range(5):
        changed = x[:1].clone()
        changed[0, j] += 1.0 + torch.arange(12) / 12
        apart = (ask(attention, changed)[0][0] - before).abs().amax(dim=-1)
        moved[:, j] = apart > 1e-5
    for i in range(5):
        changes = (str(j) if moved[i, j] else "-" for j in range(5))
        print(f"output {i} changes with token", *changes)


# %%
print("right")
influence(right)
print("forgets the mask")
influence(forgets_the_mask)

# %% [markdown]
# The right matrix is a triangle. A triangle with one more diagonal, a full square, an inverted triangle, and a matrix
# that looks torn each have their own cause. *Torn* means that components of one token ended up in another token's
# place.
#
# **Probe 3, yours, shows whether a sequence depends on the rest of its batch.** A sequence should give the same output
# alone and together with another one, but many models are only tested with a batch of one. Write this probe, for which
# `ask` is all you need. A probe that can't find anything is worthless, so test yours on `mixes_sequences`, which adds a
# little of each sequence to the other.
#
# <details><summary>How do I start?</summary>
#
# `ask(attention)` gives the output (2, 5, 12) and the weights for both sequences, and `ask(attention, x[:1])` those for
# the first alone. Which part of one should equal which part of the other?
#
# </details>


# %%
def mixes_sequences(x, *others):
    return right(x + 0.2 * x.flip(0) if len(x) > 1 else x, *others)


# %% role="try"
# Your probe. It should give 0 for `right`, and more for `mixes_sequences`.
def my_probe(attention):
    """How far the first sequence's output differs, alone and in the batch."""
    return "not written yet"


for my_attention in (right, mixes_sequences):
    print(my_attention.__name__, my_probe(my_attention))

# %%
predict(
    "10_company",
    "What does this probe find on `forgets_the_mask`?",
    ["nothing: both outputs are the same", "a difference: the batch matters"],
)


# %% role="answer"
def company(attention):
    """The course's version of probe 3."""
    alone, in_batch = ask(attention, x[:1])[0][0], ask(attention)[0][0]
    differ = difference(alone, in_batch)
    print("alone and in a batch, the outputs differ by", differ)
    return differ


for attention in (right, mixes_sequences, forgets_the_mask):
    print(attention.__name__, end=": ")
    differ = company(attention)
outcome = "a difference: the batch matters"
if differ == "0.00":
    outcome = "nothing: both outputs are the same"
compare_guess("10_company", outcome)

# %% [markdown] role="answer"
# `forgets_the_mask` shows the future, but only that of the same sequence, so the rest of the batch has no influence.
# (`company` is the course's version of the probe; compare yours with it.)

# %% [markdown]
# **Probe 4, `matters`, shows which weight matrices matter, and for what.** It replaces them one at a time. Another
# `w_q` or `w_k` should change weights and output, but another `w_v` or `w_o` only the output.
#
# The probe has a second use, with a **single token**, which can attend only to itself. Its weight is 1, whatever the
# scores are, and the output is that token's value, projected. So a matrix that changes the output of a single token is
# one that makes its value, or projects it.


# %%
def matters(attention, seq_len=5):
    tokens = x[:1, :seq_len]
    before = ask(attention, tokens)
    for name, matrix in matrices.items():
        after = ask(attention, tokens, **{name: matrix.flip(0)})
        output, weights = map(difference, after, before)
        print(f"another {name} changes  the output by {output}", end="  ")
        print(f"the weights by {weights}")


matters(right)
print("with a single token")
matters(right, seq_len=1)

# %% [markdown]
# **Probe 5, `compared`, shows whether weights and output are right, with three heads and with one.** It compares them
# with those of the right attention function. If the weights are right and the output is not, the mistake lies after the
# softmax. If all is right with one head, the mistake has to do with heads, because with one head √head_dim is √d_model,
# and no heads have to be split or merged.


# %%
def compared(attention):
    for num_heads in (3, 1):
        this, true = (ask(a, x[:1], num_heads) for a in (attention, right))
        output, weights = map(difference, this, true)
        print(f"num_heads {num_heads}: the output is off by {output}", end="  ")
        print(f"the weights by {weights}")


compared(forgets_the_mask)

# %% [markdown]
# **Probe 6, `entropies`, shows whether the weights are too sharp or too flat.** For each head, it prints the right
# entropy of the last row, in which every token is visible, and below it the entropy that was found. ("none" means that
# the row doesn't sum to one.)


# %%
def entropies(attention):
    for name, asked in (("right", right), ("this", attention)):
        rows = ask(asked, x[:1])[1][0, :, -1]
        entropy = attention_entropy(rows)
        entropy[(rows.sum(dim=-1) - 1).abs() > 1e-4] = math.nan
        shown = (f"{number:.2f}" for number in entropy)
        print(f"{name:6}", *("none" if s == "nan" else s for s in shown))


entropies(forgets_the_mask)

# %% [markdown]
# In its last row `forgets_the_mask` is right, because there every token *may* be seen. A probe that finds nothing
# teaches you something, too.
#
# ### Exercise 5: `bug_hunt`
#
# Difficulty 4 of 5
#
# Name the mistake of each box, with an id from this table. Eight of the ids occur, each of them once.
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
# | `diagonal-hidden` | no token sees itself |
# | `key-used-as-value` | the weighted sum is taken of the keys, not of the values |
# | `no-value-projection` | the weighted sum is taken of x itself |
# | `query-used-as-key` | the queries are compared with themselves |
# | `view-without-transpose` | split into heads by a view alone |
# | `merge-without-transpose` | merged by a reshape alone |
# | `one-head-only` | `num_heads` is ignored |
# | `no-output-projection` | w_o isn't applied |
# | `batch-mixed` | the output of a sequence depends on others in the batch |
#
# Run all probes on a box, then read them together, and write more of your own. A good test of a suspicion is to write
# the mistake yourself, like `forgets_the_mask` above, and compare.
#
# Each box earns one point. In the cell with the dict write nothing but the dict, since the grader has no boxes.
#
# <details><summary>I don't know where to start</summary>
#
# Take one box and write down, probe by probe, what differs from the right attention function. Then go down the list of
# ids, and cross out each mistake that would *not* have shown this.
#
# </details>
#
# <details><summary>Several ids are left</summary>
#
# Find a probe on which they would differ, before you guess. If you have guessed wrong, the check names such a probe.
#
# </details>
#
# <details><summary>Everything looks right</summary>
#
# Then it is wrong only in cases that you haven't tried. What about another number of heads, or more than one sequence?
#
# </details>

# %% role="try"
# Try it: the whole kit on one box. Then change the name.
my_box = boxes["alder"]
for my_question in (sums, influence, company, matters, compared, entropies):
    print(f"--- {my_question.__name__}")
    my_question(my_box)
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
# Look back at how you found them, when no shape and few matrices showed a mistake. You asked what you would see *if it
# were right*. Your kit works on other people's attention functions too, and on your own.
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
# 2. `entropy` (a number, to two decimals): what is the entropy, in nats, of a row in the middle of `local_pattern(9,
#    2)`?
# 3. `rolled` (a number, to two decimals): in both of two layers, each of four tokens attends to token 0. How much of
#    token 3 comes from token 0, by rollout?
# 4. `right_weights` (a letter): the weights are right to the last digit, with any number of heads. The output is
#    wrong, and with three heads earlier outputs change with later tokens. What do you suspect?
#    - a. heads split by a view alone;
#    - b. heads merged without a transpose;
#    - c. scores divided by √d_model;
#    - d. a mask that shows one token too many.
# 5. `explains` (a letter): what do you know if, in layer 1 (counted from 0), a head gives nine tenths of its weight to
#    the position of the first character?
#    - a. without this character the answer would be a different one;
#    - b. it fetches this character and nearly nothing else;
#    - c. the head is an important one;
#    - d. in this head, nine tenths of the weighted sum come from the value vector of that position.
#
# <details><summary>I don't know how to start with the rollout</summary>
#
# If you make R for one layer, how many entries of its last row are not zero, and what are they? Then follow token 3
# through layer 1.
#
# </details>

# %% exercise="quiz_10" role="solution"
quiz_10 = {
    "edge_weight": ...,  # a number, to two decimals
    "entropy": ...,  # a number, to two decimals
    "rolled": ...,  # a number, to two decimals
    "right_weights": ...,  # "a", "b", "c" or "d"
    "explains": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_10 = {
    "edge_weight": 0.33,
    "entropy": 1.61,
    "rolled": 0.75,
    "right_weights": "b",
    "explains": "d",
}
### END SOLUTION

# %% exercise="quiz_10" role="check"
check(quiz_10, "quiz_10")

# %% [markdown]
# ## What you can do now
#
# You read attention weights, by eye and by code, and follow them through layers. You know what they can't show, and how
# to find out instead, by reading the stream half way through, or by ablating something and looking at the loss. And you
# have named mistakes in attention functions whose code you never saw.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, the last pages: heads of a trained translator, drawn by its
#   authors.
# - Clark, Khandelwal, Levy and Manning (2019), *What Does BERT Look At?*, section 3: patterns of 144 heads, the
#   neighbours and the sinks among them.
# - Michel, Levy and Neubig (2019), *Are Sixteen Heads Really Better than One?*, section 3: heads of large models,
#   ablated one at a time and together.
# - Abnar and Zuidema (2020), *Quantifying Attention Flow in Transformers*, section 3: rollout, and a second way that
#   takes more care.
# - nostalgebraist (2020), *interpreting GPT: the logit lens*: where the lens of section 6 was first used.
# - Jain and Wallace (2019), *Attention is not Explanation*, and Wiegreffe and Pinter (2019), *Attention is not not
#   Explanation*: a dispute worth following, experiment by experiment.
# - Kobayashi, Kuribayashi, Yokoi and Inui (2020), *Attention is Not Only a Weight*: how long the vectors are that the
#   weights multiply.
# - Xiao, Tian, Chen, Han and Lewis (2024), *Efficient Streaming Language Models with Attention Sinks*, section 3: why
#   so much weight goes to the first token.
#
# ## A part of the paper that is left
#
# The paper decoded with **beam search**, because greedy decoding takes the likeliest next token and can't change it
# later. A beam of 4 keeps four beginnings, extends each by every token, and keeps the four likeliest of all these. At
# the end it takes the likeliest complete text, with a correction for length, because a long text has a small
# probability.
#
# **Next:** in lesson 11 you build a decoder alone, the kind of model that people chat with today, and make it write
# tales. Then you investigate what it has learnt, with the tools of this lesson.
