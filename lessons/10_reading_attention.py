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
# In lesson 08 a model learnt to write dates. Give it "6 August 1939". When it has to write the 6 of 1939-08-06, one
# of its heads gives nearly all of its weight to the 6 of the input. Is that why it writes a 6? There is a way to find
# out: switch this head off, and let the model write again.
#
# Attention is one of the few parts of a network that can be read directly. Every number in its matrix says how much one
# token takes from another. Here you learn to read such matrices, first made by hand, then those of that model, and to
# test what you have read. At the end there is a hunt: eight attentions with one mistake in each. You can call them, but
# you can't see their code.
#
# **You need** lessons 01 to 04 (above all weights, heads and the causal mask), and lesson 08 for what its model does.
# Lesson 07's classes are given.
#
# **Afterwards you can**
#
# - name the patterns that heads often show, and write code that names them;
# - follow attention through several layers, along the residual stream;
# - ablate a head, and say from the loss what the model needs it for;
# - find out what is wrong with an attention from the outside, by calling it with the right inputs.
#
# **Time:** <!-- time -->. The plan: patterns → broken weights → a name for a pattern → a trained model's heads →
# through the layers → what weights don't explain → the hunt → a quiz.
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

from grader import broken_attentions, check, compare_guess, predict, trained_dates

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %%
predict(
    "10_switched_off",
    "That one head is switched off. What does the model write for 6 August 1939?",
    ["the right date", "another day, the rest right", "no date at all"],
)

# %% [markdown]
# Section 6 has the answer.
#
# ## 1 · Patterns
#
# The heads of trained models show the same few patterns again and again. In the simplest, every token attends **to
# itself**. In others it attends **to all tokens alike** (the head takes the plain average), to the **first token**, or
# to its **neighbours**.

# %%
seq_len = 5
to_itself = torch.eye(seq_len)
to_all_alike = torch.ones(seq_len, seq_len) / seq_len
print("to itself", to_itself, sep="\n")
print("to all alike", to_all_alike, sep="\n")

# %% [markdown]
# ### Exercise 1: `first_token_pattern`
#
# Difficulty 1 of 5
#
# The matrix in which all tokens attend to token 0. Many trained models have such heads. A row must sum to one, so a
# head must put its weight somewhere, even if no token is of use to it. Every position can see the first token, so that
# is a good place. It is called an *attention sink*.
#
# <details><summary>I fill the first row, and the check says that it should be the column</summary>
#
# Row i holds the weights that token i gives, column j those that token j gets. Which of the two is full if token 0
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
# A tutorial makes the neighbour pattern as below. A third goes to the token before, a third to the token itself, a
# third to the token after.

# %%
in_tutorial = torch.zeros(seq_len, seq_len)
for i in range(seq_len):
    for j in range(max(0, i - 1), min(seq_len, i + 2)):
        in_tutorial[i, j] = 1 / 3

predict("10_edge_row", "What does the first row of this matrix sum to?", low=0, high=1)

# %% role="answer"
print("neighbours, as in the tutorial", in_tutorial, sep="\n")
print("sums of its rows", in_tutorial.sum(dim=-1), sep="\n")
compare_guess("10_edge_row", round(in_tutorial[0].sum().item(), 2))

# %% [markdown]
# No token comes before the first. It has two neighbours, itself included, and each gets a third. The last row sums to
# two thirds as well. But rows of attention weights must sum to one. So every row is divided by the number of neighbours
# that exist: halves at the ends, thirds in between.
#
# ### Exercise 2: `local_pattern`
#
# Difficulty 2 of 5
#
# The same for any radius. Every token shares its attention equally among all tokens at most `radius` places away,
# itself included.
#
# <details><summary>The check says that the edges aren't right</summary>
#
# By what do you divide the first row, and by what the middle one? What does a row of ones and zeros sum to?
#
# </details>
#
# <details><summary>Can I get the band without loops?</summary>
#
# Take the positions 0 to T − 1 once as a column and once as a row. What is their difference? (Lesson 05 has
# broadcasting.)
#
# </details>
#
# <details><summary>The last tokens turn up in the first row</summary>
#
# In Python, index −1 is the last entry. Where does your slice start for token 0?
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
my_patterns = {"itself": torch.eye(8), "all alike": torch.ones(8, 8) / 8}
my_patterns |= {"first token": first_token_pattern(8), "neighbours": local_pattern(8, 1)}
my_figure, my_panels = plt.subplots(1, 4, figsize=(9, 2.4), layout="constrained")
for my_axes, (my_name, my_matrix) in zip(my_panels, my_patterns.items(), strict=True):
    my_axes.imshow(my_matrix, cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xlabel="key", ylabel="query")
plt.show()

# %% [markdown]
# *The picture in words:* four 8 × 8 grids, yellow where the weight is 1. Itself: a yellow diagonal. All alike: one
# dark blue. First token: the left column is yellow. Neighbours: a grey band along the diagonal, a little brighter at
# both ends, where only two share.
#
# ## 2 · Are these weights at all?
#
# Before you read a matrix, make sure that it holds weights. Lesson 02's `validate_attention` knows three rules:
# finite numbers, within [0, 1], rows that sum to one. (You found there that finiteness must be tested first: in the
# tutorial, the tests for NaN and infinity can't be reached.)

# %% role="given"
from lesson_02 import validate_attention

# %% [markdown]
# Here are matrices from eight pieces of code. All start from the same scores. The first is right, and each of the
# others does one thing differently.

# %%
torch.manual_seed(10)
scores = 2 * torch.randn(4, 4)
past = torch.ones(4, 4, dtype=torch.bool).tril()
suspects = {
    "right": scores.masked_fill(~past, -math.inf).softmax(dim=-1),
    "mask = 0 · infinity": (scores + (~past).float() * -math.inf).softmax(dim=-1),
    "divided by their sum": scores / scores.sum(dim=-1, keepdim=True),
    "softmax down the columns": scores.masked_fill(~past, -math.inf).softmax(dim=-2),
    "masked after the softmax": scores.softmax(dim=-1) * past,
    "dropout switched on": nn.Dropout(0.5).train()(scores.masked_fill(~past, -math.inf).softmax(dim=-1)),
    "mask forgotten": scores.softmax(dim=-1),
    "not scaled": (4 * scores).masked_fill(~past, -math.inf).softmax(dim=-1),
}

predict("10_accepted", "How many of the seven others does `validate_attention` accept?", low=0, high=7)

# %% role="answer"
accepted = []
for name, weights in suspects.items():
    try:
        validate_attention(weights)
        accepted.append(name)
        print(f"{name:25} accepted")
    except ValueError as problem:
        print(f"{name:25} {problem}")
compare_guess("10_accepted", len(accepted) - 1)

# %% [markdown]
# Five are refused. Each message says which rule is broken. One of the five, dropout, is normal in training. There,
# attention weights are often dropped at random and the others enlarged, so a row sums to one only on average. In eval
# mode it is a mistake.
#
# Two are accepted. A matrix that shows the future and one that is far too sharp are valid weights. They are only not
# the right ones. Such mistakes need more tests: section 7.
#
# ## 3 · A name for a pattern
#
# A model has dozens of heads, too many to look at one by one. What could code measure? Some numbers that tell patterns
# apart:
#
# - the mean **entropy** of the rows (lesson 02): 0 if each row has all its weight on one key, ln T if all rows are
#   uniform;
# - the mean weight on the **diagonal**, and that in **column 0**;
# - the mean weight **near** the diagonal.

# %% role="given"
from lesson_02 import attention_entropy


# %%
def four_numbers(weights):
    """Mean entropy; mean weight on the token itself, on the first token, at most one place away."""
    near = torch.ones_like(weights).triu(-1).tril(1)
    shares = weights.diagonal().mean(), weights[:, 0].mean(), (weights * near).sum(dim=-1).mean()
    return [round(float(number), 2) for number in (attention_entropy(weights).mean(), *shares)]


patterns = {
    "itself": torch.eye(8),
    "all alike": torch.ones(8, 8) / 8,
    "random": torch.randn(8, 8).softmax(dim=-1),
}
patterns["the one before"] = torch.eye(8)[[0, 0, 1, 2, 3, 4, 5, 6]]
print(f"{'':15} entropy  itself  first   near")
for name, weights in patterns.items():
    print(f"{name:15}", "  ".join(f"{number:6.2f}" for number in four_numbers(weights)))

# %% [markdown]
# No single number will do. "The one before" has all its weight near the diagonal, as the neighbour pattern has. And
# there is a trap: it is tempting to look only at which weight of a row is the *largest* (`argmax`). In [0.2, 0.3,
# 0.25, 0.25] one weight is the largest too, and it means nothing.
#
# Another way is to build the pattern that a matrix might follow, and to measure the distance, entry by entry. Trained
# heads are never exactly a pattern, so some distance must be allowed. Here five hundredths of every row are random:

# %%
noisy = 0.95 * torch.eye(8) + 0.05 * torch.randn(8, 8).softmax(dim=-1)
print("largest distance from the diagonal pattern:", round((noisy - torch.eye(8)).abs().max().item(), 2))
print(
    "largest distance from the uniform pattern: ",
    round((noisy - torch.ones(8, 8) / 8).abs().max().item(), 2),
)

# %% [markdown]
# ### Exercise 3: `classify_pattern`
#
# Difficulty 3 of 5
#
# One of five words for a matrix (T, T) with T ≥ 6, of which up to 5 % may be random:
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
# how you measure. `local_pattern` and `first_token_pattern` are yours to use.
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
# Inside the band they look alike. What is outside it?
#
# </details>
#
# <details><summary>A band of radius 3, or a token that attends only backwards, comes out as "local"</summary>
#
# It isn't enough that the weight is near the diagonal. Is it also spread as the pattern spreads it?
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

    Returns "diagonal", "uniform", "first", "local" (radius 1 or 2) or "other"; up to 5 % of random
    weights may be mixed in.
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
# Now to a real one: the Transformer that learnt to write dates in lesson 08. It has two layers of encoder and
# decoder, and four heads everywhere. Its code is lesson 07's, and given; yours takes its place if your notebooks of
# lessons 03 and 07 lie beside this one and pass.

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
# `trained_dates()` looks for the two files `dates.safetensors` and `dates.json` beside this notebook. If you put your
# own model from lesson 08 there, you will look into that one. (Lesson 08 writes the two files into a temporary folder:
# write them to `"."` instead.) Otherwise it takes the course's, trained by the same cells. The next cell prints which
# it is. With your own model some numbers below will differ from those in the text.

# %%
trained = trained_dates()
model = Transformer(**trained.sizes)
model.load_state_dict(trained.weights)
model.eval()
print("this is", trained.whose)
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))

# %% [markdown]
# It reads characters and writes characters. With teacher forcing one call asks for all of them, as in lesson 08. A
# date is right if every guess is.


# %%
def ids_of(pairs):
    """Sources (B, Ts), what the decoder is given (B, Tt), what it should say (B, Tt); padding is 0, bos
    1, eos 2."""
    source = {token: i for i, token in enumerate(trained.source)}
    target = {token: i for i, token in enumerate(trained.target)}
    rows = [[source[c] for c in text] for text, _ in pairs]
    answers = [[target[c] for c in answer] for _, answer in pairs]
    columns = rows, [[1, *answer] for answer in answers], [[*answer, 2] for answer in answers]
    return [
        nn.utils.rnn.pad_sequence([torch.tensor(row) for row in each], batch_first=True)
        for each in columns
    ]


@torch.no_grad()
def measured(pairs):
    """The model's loss per character, padding left out, and the share of pairs in which every character
    is right."""
    src, given, wanted = ids_of(pairs)
    logits = model(src, given)
    loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)
    right = ((logits.argmax(dim=-1) == wanted) | (wanted == 0)).all(dim=1)
    return loss.item(), right.float().mean().item()


loss, share = measured(trained.pairs)
print(f"{len(trained.pairs)} dates: loss {loss:.3f} nats, {share:.0%} right")

# %% [markdown]
# The weights are computed inside the model and thrown away. A hook keeps them, as in lesson 08. There are three kinds
# of attention. In the encoder's, the written date attends to itself. In the decoder's own, the answer attends to the
# part written so far. In the cross-attention, the answer attends to the written date.


# %%
def attentions_of(model):
    """All attention modules, in the order of the layers, by kind."""
    return {
        "encoder": [layer.attention for layer in model.encoder.layers],
        "decoder": [layer.attention for layer in model.decoder.layers],
        "cross": [layer.block.attention for layer in model.decoder.layers],
    }


@torch.no_grad()
def look_inside(model, pairs):
    """The weights of every head: by kind, (B, L, H, Tq, Tk)."""
    kinds = attentions_of(model)
    kept = {kind: [] for kind in kinds}

    def keep(kind):
        return lambda module, inputs, output: kept[kind].append(output[1])

    hooks = [
        module.register_forward_hook(keep(kind)) for kind, modules in kinds.items() for module in modules
    ]
    model(*ids_of(pairs)[:2])
    for hook in hooks:
        hook.remove()
    return {kind: torch.stack(weights, dim=1) for kind, weights in kept.items()}


text, answer = date = "6 August 1939", "1939-08-06"
inside = {kind: weights[0] for kind, weights in look_inside(model, [date]).items()}
print(text, "->", answer)
for kind, weights in inside.items():
    print(f"{kind:8} (L, H, Tq, Tk) = {tuple(weights.shape)}")

# %% [markdown]
# Twenty-four matrices. Look at them yourself. At the top choose the kind of attention. The small matrices are the
# heads, a line for each layer, both counted from 0; with the arrow keys you go from one to the next. The large one is
# the head that is chosen: move in it to read how much each query gives to each key. Below each head is the pattern that
# it is most like, and how much of its weight it shares with it. From 0.9 on, you may say that the head has this
# pattern.

# %% role="draw"
from grader.views import HeadExplorer

so_far = ["<bos>", *answer]  # what the decoder is given
tokens = {"encoder": (text, text), "decoder": (so_far, so_far), "cross": (so_far, text)}  # queries, keys
HeadExplorer({kind: (inside[kind], *names) for kind, names in tokens.items()})

# %% [markdown]
# Take your time with it. Some questions:
#
# 1. *Cross, layer 1:* go down the rows of head 0. Does each character of the answer attend to what it is read from?
#    Note that row i belongs to the character that the decoder was *given*; here it writes the next one. Which rows
#    are less clear, and why may that be? (The month is read from several letters.)
# 2. *Decoder:* why is the upper right half of every matrix dark? Why does the first row always have the same weight?
# 3. *Encoder:* which heads are easy to describe in words? Be honest.
#
# Few of them are. In large models some heads show the patterns of section 1 clearly, and papers print those. In this
# small model hardly any head does, and still all dates are right. An unclear matrix is no sign of a mistake.
#
# What does your classifier say? Here it names the eight heads of the encoder, and beside them those of the same model
# before its training.

# %% role="try"
# Try it: trained and untrained.
torch.manual_seed(0)
my_untrained = look_inside(Transformer(**trained.sizes).eval(), [date])["encoder"][0]
for my_layer in range(len(my_untrained)):
    print(
        f"layer {my_layer}, trained:  ",
        [classify_pattern(my_head) for my_head in inside["encoder"][my_layer]],
    )
    print(
        f"layer {my_layer}, untrained:", [classify_pattern(my_head) for my_head in my_untrained[my_layer]]
    )

# %% [markdown]
# After training all of them are "other". What such a head does has no name in our list. There is nothing wrong with
# that. Before training the weights are close to uniform. Your tolerance decides whether that is close enough for the
# name.
#
# ## 5 · Through the layers
#
# Layer 1 doesn't attend to *characters*. (Layers count from 0.) After layer 0 every position holds a weighted sum: of
# what it attended to, and of itself. A token that attends to position 3 in layer 1 attends to such a sum.
#
# Three tokens, two layers, in which each token attends to one other:

# %%
layer_0 = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # 0 -> 0, 1 -> 0, 2 -> 1
layer_1 = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])  # 0 -> 0, 1 -> 1, 2 -> 1

predict(
    "10_arrives",
    "After both layers: which token's content has arrived at token 2?",
    ["token 0", "token 1", "token 2"],
)

# %% role="answer"
row = (layer_1 @ layer_0)[2]
print("layer 1, row of token 2:", layer_1[2].tolist())
print("layer 1 · layer 0, row of token 2:", row.tolist())
compare_guess("10_arrives", f"token {row.argmax()}")

# %% [markdown]
# In layer 1, token 2 attends to token 1. But in layer 0 token 1 got all its content from token 0. What arrives is token
# 0, and the matrix of layer 1 has a zero there. A weighted sum of weighted sums is a **product of the matrices**. Layer
# 0 is the rightmost factor: it works on the tokens first.
#
# One thing is missing. Every attention has a residual around it, x + attention(x). So each position has a vector that
# runs through all layers, and each sub-layer only adds to it. It is called the **residual stream**. (In our post-norm
# model each sum is normalised too.) Part of what token 1 holds in layer 1 is still token 1. So each matrix A is
# replaced by half of itself and half of the identity:
#
# $$R = \tfrac{1}{2}(A + I), \qquad \text{rollout} = R_{L-1} \cdots R_1\, R_0$$
#
# This is **attention rollout** (Abnar and Zuidema 2020). If rows of A sum to one, so do those of R. If they might not,
# normalise them.

# %%
halves = [(layer + torch.eye(3)) / 2 for layer in (layer_0, layer_1)]
print("with residuals, row of token 2:", (halves[1] @ halves[0])[2].tolist())

# %% [markdown]
# A quarter of token 2 comes from token 0, half from token 1, a quarter is its own.
#
# ### Exercise 4: `attention_rollout`
#
# Difficulty 3 of 5
#
# From one matrix for each layer, (L, T, T), layer 0 first, to one matrix (T, T), for any number of layers.
#
# <details><summary>The check says that the order is wrong</summary>
#
# Which factor of a product works on the tokens first? On which side of what you have does each new layer belong?
#
# </details>
#
# <details><summary>"expected m1 and m2 to have the same dtype"</summary>
#
# Your identity has torch's default dtype, the layers may have another. `torch.eye` can be told which one to take.
#
# </details>


# %% exercise="attention_rollout" role="solution"
def attention_rollout(layers: Tensor) -> Tensor:
    """Attention through several layers, residuals included (Abnar and Zuidema 2020).

    layers: weights (L, T, T), layer 0 first. Returns (T, T): the product R_{L-1} · … · R_0
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
my_matrices = {"layer 0": my_layers[0], "layer 1": my_layers[1], "rollout": attention_rollout(my_layers)}
for my_axes, (my_name, my_matrix) in zip(my_panels, my_matrices.items(), strict=True):
    my_axes.imshow(my_matrix, cmap="cividis", vmin=0, vmax=1)
    my_axes.set(title=my_name, xlabel="key", ylabel="query")
    my_axes.set_xticks(range(len(text)), text.replace(" ", "␣"), fontsize=8)
    my_axes.set_yticks(range(len(text)), text.replace(" ", "␣"), fontsize=8)
plt.show()

# %% [markdown]
# *The picture in words:* three 13 × 13 grids, the characters of "6 August 1939" along both sides. In both layers the
# characters of the year attend to one another, and some letters of the month to its A. In the rollout the diagonal is
# the brightest, and the rest is flatter than in either layer.
#
# By the residuals alone a quarter of each position is still itself, so the diagonal stays bright. Off it the rollout
# is flatter: a weighted sum of weighted sums evens out.
#
# Rollout is only an estimate. The heads were averaged. The residual counts as exactly one half. Values, norms and
# feed-forward layers are left out.
#
# ## 6 · What the weights do not explain
#
# A bright cell is tempting. "It wrote a 6 *because* it attended to the 6." But a weight says one thing only: in this
# head, in this layer, this share of the weighted sum comes from that position's value vector.
#
# ### The head that reads the 6
#
# In the cross-attention, take the row in which the last character is about to be written, and the column of the 6.
# One weight for each of the eight heads:

# %%
last_row, the_6 = len(answer) - 1, text.index("6")  # this row was given the character before the last
on_the_6 = inside["cross"][:, :, last_row, the_6]
for layer, weights in enumerate(on_the_6):
    print(f"cross, layer {layer}:", "  ".join(f"{weight:.2f}" for weight in weights))
reader = ("cross", *divmod(on_the_6.argmax().item(), on_the_6.shape[1]))
print("the head with the largest (kind, layer, head):", reader)

# %% [markdown]
# To **ablate** a part of a model is to take away what it adds, and to see what the model does without it. A head adds
# to the residual stream through its own columns of `out_proj`. With zeros there it adds nothing.


# %%
def without(heads, measure):
    """What `measure()` returns while these heads, (kind, layer, head) each, are ablated."""
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    try:
        for kind, layer, head in heads:
            attention = attentions_of(model)[kind][layer]
            by_head = attention.out_proj.weight.detach()
            by_head = by_head.unflatten(1, (attention.num_heads, -1))  # (E, H, D)
            by_head[:, head] = 0.0
        return measure()
    finally:
        model.load_state_dict(kept)


@torch.no_grad()
def writes():
    """What the model writes for the date, and the probability of the right last character."""
    src, given, wanted = ids_of([date])
    probabilities = model(src, given).softmax(dim=-1)[0]
    guesses = "".join(trained.target[guess] for guess in probabilities.argmax(dim=-1)[:-1])
    return guesses, probabilities[last_row, wanted[0, last_row]].item()


# %% role="answer"
for title, heads in (("all heads", []), ("without that head", [reader])):
    written, probability = without(heads, writes)
    print(f"{title:18} {written}   probability of the last character {probability:.3f}")
wrong = "another day, the rest right" if written[:8] == answer[:8] else "no date at all"
compare_guess("10_switched_off", "the right date" if written == answer else wrong)

# %% [markdown]
# The head attended to the 6, and yet the model writes a 6 without it, almost as surely as before. The printed weights
# show why that can be: other heads attend to the 6 as well.
#
# ### Different weights, the same output
#
# Even within one head other weights can give the same output. Below, tokens 0 and 2 have the same value vector. The two
# matrices look very different:

# %%
values = torch.tensor([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
one = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5]])
another = torch.tensor([[0.0, 0.1, 0.9], [1.0, 0.0, 0.0]])
print(f"largest difference of the weights: {(one - another).abs().max():.1f}")
print(f"largest difference of the outputs: {(one @ values - another @ values).abs().max():.1f}")

# %% [markdown]
# That isn't a special case. With T keys a row has T weights, and the output has D numbers. If the keys outnumber D + 1
# and no weight is zero, other weights with the very same output always exist: there are fewer equations than unknowns.
#
# ### Head by head
#
# Which of the 24 heads does the model need? Ablate them one at a time, on all 200 dates.

# %%
every_head = [
    (kind, layer, head)
    for kind, modules in attentions_of(model).items()
    for layer, module in enumerate(modules)
    for head in range(module.num_heads)
]

predict(
    "10_nine_of_ten",
    "In how many of the 24 trials are at least nine of ten dates still right?",
    low=0,
    high=24,
)

# %% role="answer" claim="one_head_is_not_missed"
ablated = {key: without([key], lambda: measured(trained.pairs)) for key in every_head}
print(f"the fewest dates right: {min(share for _, share in ablated.values()):.0%}")
compare_guess("10_nine_of_ten", sum(share >= 0.9 for _, share in ablated.values()))

# %% [markdown]
# So is no head of any use? The share of right dates can't tell. A character counts as right whether the model is sure
# of it or not. The **loss** shows the difference. The table says how many times as large it is when the head is
# ablated, in whole numbers. 1 means hardly any change.

# %%
whole = measured(trained.pairs)[0]
times = {key: loss / whole for key, (loss, _) in ablated.items()}
kinds = {
    kind: [
        [times[kind, layer, head] for head in range(module.num_heads)]
        for layer, module in enumerate(modules)
    ]
    for kind, modules in attentions_of(model).items()
}
print(" " * 12, "head", *(f"{head:5}" for head in range(4)))
for kind, layers in kinds.items():
    for layer, factors in enumerate(layers):
        print(f"{kind:8} layer {layer}  ", *(f"{factor:5.0f}" for factor in factors))

# %% role="draw"
figure, panels = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
for axes, (kind, layers) in zip(panels, kinds.items(), strict=True):
    image = axes.imshow(torch.tensor(layers).log2(), cmap="cividis", vmin=0, vmax=5)
    for layer, factors in enumerate(layers):
        for head, factor in enumerate(factors):
            colour = "white" if factor < 6 else "black"
            axes.text(head, layer, f"{factor:.0f}×", ha="center", va="center", color=colour)
    axes.set(title=kind, xlabel="head", xticks=range(len(layers[0])), yticks=range(len(layers)))
panels[0].set_ylabel("layer")
bar = figure.colorbar(image, ax=list(panels), ticks=range(6), label="loss, times as large")
bar.set_ticklabels([f"{2**power}×" for power in range(6)])
plt.show()

# %% [markdown]
# *The picture in words:* three grids of two layers by four heads. Encoder: head 0 of layer 0 and head 2 of layer 1
# are yellow, with 23 and 14 times the loss, head 1 of layer 0 has 8; the others are dark. Decoder: all dark, 1.
# Cross: head 0 of layer 0 has 9, all others between 1 and 3.
#
# Now the heads differ. Some can be ablated at no cost. One makes the loss more than twenty times as large.
#
# ### Is a sharp head an important one?
#
# A head that gives nearly all of its weight to one key looks important. Measure sharpness by the mean largest weight
# of a row. There are two traps. A batch is padded, and rows of padding mean nothing. And in a causal matrix the first
# rows are sharp whatever the head has learnt: they see so few keys.

# %%
uniform, future = torch.ones(11, 11) / 11, torch.ones(11, 11, dtype=torch.bool).triu(1)
causal = torch.zeros(11, 11).masked_fill(future, -math.inf).softmax(dim=-1)
print(f"uniform over 11 tokens, mean largest weight: {uniform.amax(dim=-1).mean():.2f}")
print(f"uniform over the past, mean largest weight:  {causal.amax(dim=-1).mean():.2f}")

# %% [markdown]
# So leave the decoder's own attention out. In the other two kinds every row sees the whole date: 16 heads, 200 dates
# each.

# %%
src, given, _ = ids_of(trained.pairs)
weights_of = look_inside(model, trained.pairs)
sharpness = {}
for kind, queries in (("encoder", src), ("cross", given)):
    largest = weights_of[kind].amax(dim=-1).movedim(0, 2)  # (L, H, B, Tq)
    mine = [key for key in every_head if key[0] == kind]
    sharpness |= {key: largest[key[1], key[2]][queries != 0].mean().item() for key in mine}
by_sharpness = sorted(sharpness, key=sharpness.get, reverse=True)

predict(
    "10_most_needed",
    "Sort the 16 heads by sharpness. Where is the one whose ablation makes the loss largest?",
    ["among the five sharpest", "among the six in the middle", "among the five least sharp"],
)

# %% role="answer" claim="sharp_is_not_needed"
most_needed = max(sharpness, key=times.get)
for title, key in (("sharpest", by_sharpness[0]), ("most needed", most_needed)):
    print(f"{title:11} {key[0]}, layer {key[1]}, head {key[2]}: ", end="")
    print(f"sharpness {sharpness[key]:.2f}, loss {times[key]:.0f} times as large")
costly = sorted(sharpness, key=times.get, reverse=True)[:8]
print(
    "of the 8 sharpest,",
    len(set(costly) & set(by_sharpness[:8])),
    "are among the 8 most needed; chance gives 4",
)
place = by_sharpness.index(most_needed)
places = "five sharpest" if place < 5 else "five least sharp" if place > 10 else "six in the middle"
compare_guess("10_most_needed", f"among the {places}")

# %% role="draw"
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for kind, marker, colour in (("encoder", "o", "#00204c"), ("cross", "D", "#d9b92b")):
    mine = [key for key in sharpness if key[0] == kind]
    axes.scatter(
        [sharpness[key] for key in mine],
        [times[key] for key in mine],
        marker=marker,
        color=colour,
        label=kind,
    )
axes.set(
    xlabel="sharpness: mean largest weight of a row",
    ylabel="loss, times as large",
    yscale="log",
    yticks=[1, 2, 4, 8, 16],
)
axes.yaxis.set_major_formatter("{x:.0f}×")
axes.minorticks_off()
axes.legend(title="attention")
axes.set_title("Each head ablated, one at a time")
plt.show()

# %% [markdown]
# *The picture in words:* 16 points. From left to right the heads get sharper, from 0.3 to above 0.6; the higher a
# point, the more the ablation costs. If sharp meant important, the points would rise to the right. They don't. The
# highest point, an encoder head, is in the middle. The three sharpest heads, all of the cross-attention, lie at 2 to 3.
#
# Sharpness alone doesn't tell which heads the model needs.
#
# ### Together
#
# Ablate several heads at once. First add up what they cost one at a time:

# %%
for kind in kinds:
    alone = sum(loss - whole for (name, _, _), (loss, _) in ablated.items() if name == kind)
    print(f"{kind:8} the loss grows by, eight heads one at a time, in total: {alone:.3f} nats")

predict(
    "10_together",
    "Ablate all eight heads of the encoder at the same time. By how much does the loss grow?",
    ["by less than this total", "by about this total", "by at least five times this total"],
)

# %% role="answer" claim="together_is_more"
grown = {
    kind: without([key for key in every_head if key[0] == kind], lambda: measured(trained.pairs))
    for kind in kinds
}
for kind, (loss, share) in grown.items():
    print(
        f"{kind:8} all eight at the same time: {loss - whole:.3f} nats more, "
        f"the loss {loss / whole:.0f} times as large, {share:.0%} of the dates right"
    )
ratio = (grown["encoder"][0] - whole) / sum(
    ablated[key][0] - whole for key in every_head if key[0] == "encoder"
)
how_much = "at least five times" if ratio >= 5 else "about" if ratio > 0.8 else "less than"
compare_guess("10_together", f"by {how_much} this total")

# %% [markdown]
# Together the encoder's heads cost more than ten times as much. If one is missing, others can do its work. Without the
# cross-attention nothing of the date gets through, and no answer is right. The decoder's own attention is a matter of
# yardstick once more. Without it nearly all dates still come out right, but the loss is eleven times as large, and what
# it costs is nine times what its heads cost one at a time.
#
# An ablation has limits too. It says what *this* model needs. Trained without the head, it might have found another
# way. And the next layers were never trained with zeros there. Some authors put the head's mean output there instead.
#
# ### The position is not the character
#
# A head of the cross-attention attends to *position* 0 of the encoder's output. The residual stream there no longer
# holds the character alone. Suppose that each layer of the encoder gave half to the residual and spread the rest over
# all positions:

# %%
seq_len = len(text)
spread = torch.ones(seq_len, seq_len) / seq_len
half = (spread + torch.eye(seq_len)) / 2
own = (half @ half)[0, 0]
print(f"of its own character: {own:.2f}   of all others together: {1 - own:.2f}")

# %% [markdown]
# **So what are weights good for?** For getting ideas and for finding mistakes. A matrix can show at a glance that
# padding gets weight or that the future is visible. It can suggest that a head copies years. To *know* it, change
# something and see what happens: ablate the head, swap the character, exchange the weights. That is what the next
# section is about.
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
# What you need is a kit of **probes**: small experiments, each of which answers one question. Two sequences of five
# tokens and four weight matrices are the input. Each probe is shown on the right attention. Some are also shown on
# `forgets_the_mask`. You know its mistake.

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
    """Call an attention with the weight matrices above, or with others in their place."""
    return attention(x, *(matrices | other).values(), num_heads)


def difference(a, b):
    """The largest difference between two tensors, as text."""
    return f"{(a - b).abs().max():.2f}" if a.shape == b.shape else f"shape {tuple(a.shape)}"


# %% [markdown]
# **Probe 1, `sums`: what sums to one?** Rows of weights should. If they don't, look at the axis of the softmax, or at
# what came after it.


# %%
def sums(attention):
    weights = ask(attention)[1]
    rows, columns = weights[0, 0].sum(dim=-1), weights[0, 0].sum(dim=-2)
    print("weights", tuple(weights.shape))
    print("rows   ", *(f"{number:.2f}" for number in rows))
    print("columns", *(f"{number:.2f}" for number in columns))


sums(right)

# %% [markdown]
# **Probe 2, `influence`: which output depends on which token?** Change one token, and see which outputs change.
# Repeat for each token. Below, row i is output i, and a number in column j says that it changes with token j. Lesson
# 04's `leaks_future` tests the upper right half of this matrix.


# %%
def influence(attention):
    before = ask(attention, x[:1])[0][0]
    moved = torch.zeros(5, 5, dtype=torch.bool)
    for j in range(5):
        changed = x[:1].clone()
        changed[0, j] += 1.0 + torch.arange(12) / 12
        moved[:, j] = (ask(attention, changed)[0][0] - before).abs().amax(dim=-1) > 1e-5
    for i in range(5):
        print(
            f"output {i} changes with token", " ".join(str(j) if moved[i, j] else "-" for j in range(5))
        )


print("right")
influence(right)
print("forgets the mask")
influence(forgets_the_mask)

# %% [markdown]
# The right one is a triangle. A triangle with one more diagonal, a full square, an inverted triangle, a matrix that
# looks torn: each has its own cause. *Torn* means that numbers of one token ended up in another token's place.
#
# **Probe 3, yours: does a sequence depend on the rest of its batch?** It should give the same output alone and together
# with another one. Many models are only tested with a batch of one. Write the probe: `ask` is all you need. Then test
# it, because a probe that can't find anything is worthless: `mixes_sequences` adds a little of each sequence to the
# other.
#
# <details><summary>How do I start?</summary>
#
# `ask(attention)` gives the output (2, 5, 12) and the weights for both sequences, `ask(attention, x[:1])` for the
# first alone. Which part of the one should equal which part of the other?
#
# </details>


# %%
def mixes_sequences(x, *others):
    return right(x + 0.2 * x.flip(0) if len(x) > 1 else x, *others)


# %% role="try"
# Your probe. It should give 0 for `right`, and clearly more for `mixes_sequences`.
def my_probe(attention):
    """The largest difference between what the first sequence gives alone and in the batch of two."""
    return "not written yet"


for my_attention in (right, mixes_sequences):
    print(my_attention.__name__, my_probe(my_attention))

# %%
predict(
    "10_company",
    "What does this probe find on `forgets_the_mask`?",
    ["nothing: both outputs are the same", "a difference: the batch matters"],
)


# %% [markdown]
# **Probe 4, `matters`: which weight matrices matter, and for what?** Replace one at a time. `w_q` and `w_k` should
# change weights and output; `w_v` and `w_o` the output only.
#
# It has a second use: a **single token** can attend only to itself. Its weight is 1, whatever the scores are, and the
# output is that token's value, projected. What *then* changes the output is what the value is made of.


# %%
def matters(attention, seq_len=5):
    tokens = x[:1, :seq_len]
    before = ask(attention, tokens)
    for name, matrix in matrices.items():
        output, weights = map(difference, ask(attention, tokens, **{name: matrix.flip(0)}), before)
        print(f"another {name} changes  the output by {output}  the weights by {weights}")


matters(right)
print("with a single token")
matters(right, seq_len=1)

# %% [markdown]
# **Probe 5, `compared`: what is right, and when?** Compare weights and output with those of the right attention, with
# three heads and with one. If the weights are right and the output is not, the mistake lies after the softmax. If all
# is right with one head, the mistake has to do with heads: with one head √head_dim is √d_model, and there is nothing to
# split or merge.


# %%
def compared(attention):
    for num_heads in (3, 1):
        output, weights = map(difference, ask(attention, x[:1], num_heads), ask(right, x[:1], num_heads))
        print(f"num_heads {num_heads}: the output is off by {output}  the weights by {weights}")


compared(forgets_the_mask)

# %% [markdown]
# **Probe 6, `entropies`: too sharp or too flat?** The entropy of the last row, in which every token is visible, for
# each head, beside the right one. ("none" means that the row doesn't sum to one.)


# %%
def entropies(attention):
    for name, one in (("right", right), ("this", attention)):
        rows = ask(one, x[:1])[1][0, :, -1]
        sound = (rows.sum(dim=-1) - 1).abs() < 1e-4
        shown = [
            f"{entropy:.2f}" if ok else "none"
            for entropy, ok in zip(attention_entropy(rows), sound, strict=True)
        ]
        print(f"{name:6}", *shown)


entropies(forgets_the_mask)

# %% [markdown]
# In its last row `forgets_the_mask` is right: there, every token *may* be seen. A probe that finds nothing tells you
# something too.
#
# And probe 3? Compare yours with the course's version, `company`.


# %% role="answer"
# The course's version, for comparison.
def company(attention):
    differ = difference(ask(attention, x[:1])[0][0], ask(attention)[0][0])
    print("alone and in a batch, the outputs differ by", differ)
    return differ


for attention in (right, mixes_sequences, forgets_the_mask):
    print(attention.__name__, end=": ")
    differ = company(attention)
compare_guess(
    "10_company",
    "nothing: both outputs are the same" if differ == "0.00" else "a difference: the batch matters",
)

# %% [markdown]
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
# Run all probes on a box, then read them together. For some boxes one probe is enough. Others need two or three. You
# may write more probes of your own. A good test of a suspicion: write the mistake yourself, like `forgets_the_mask`
# above, and compare.
#
# Each box earns one point. In the cell with the dict write nothing but the dict: the grader has no boxes.
#
# <details><summary>I don't know where to start</summary>
#
# Take one box and write down, probe by probe, what differs from the right attention. Then go down the list of ids,
# and cross out each mistake that would *not* have shown this.
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
# Then it is wrong only in cases that you haven't tried. Another number of heads? More than one sequence?
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
# Look back at how you found them. No shape showed a mistake, and few matrices did. You found them with one question:
# *if it were right, what would I see?* Your kit works on other people's attention too, and on yours.
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
# 4. `rolled` (a number, to two decimals): four tokens, two layers, and in both every token attends to token 0. How
#    much of token 3 comes from token 0, by rollout?
# 5. `columns` (a letter): all columns of a causal attention's weights sum to one, its rows don't. What is it?
#    - a. the mask was forgotten;
#    - b. the scores were not scaled;
#    - c. the softmax went over the queries;
#    - d. the mask came after the softmax.
# 6. `right_weights` (a letter): the weights are right to the last digit, with any number of heads. The output is
#    wrong, and with three heads earlier outputs change with later tokens. What do you suspect?
#    - a. heads split by a view alone;
#    - b. heads merged without a transpose;
#    - c. scores divided by √d_model;
#    - d. a mask that shows one token too many.
# 7. `explains` (a letter): in layer 1, counted from 0, a head gives nine tenths of its weight to the position of the
#    first character. What do you know?
#    - a. without this character the answer would be a different one;
#    - b. it fetches this character and nearly nothing else;
#    - c. the head is an important one;
#    - d. in this head, nine tenths of the weighted sum come from the value vector of that position.
# 8. `sink` (a letter): a head of a trained model puts nearly all weight on the first token, everywhere. If it is
#    ablated, the loss stays as it was. Which explanation fits best?
#    - a. each row has to sum to one, so it puts its weight where the value adds little;
#    - b. the first token is the most important one;
#    - c. a causal mask leaves it no choice;
#    - d. it has not been trained.
# 9. `alone` (a letter): an attention is right for a batch of one and wrong for a batch of two. Where do you look
#    first?
#    - a. at the causal mask;
#    - b. at the number of heads;
#    - c. for a sum or a softmax that runs over the batch;
#    - d. at the scaling.
#
# <details><summary>I don't know how to start with the rollout</summary>
#
# Make R for one layer. How many entries of its last row are not zero, and what are they? Then follow token 3 through
# layer 1.
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
# You read attention weights, by eye and by code, and follow them through layers. You know what they can't tell, and
# how to find out instead: ablate something and look at the loss. And you have named mistakes in attentions whose code
# you never saw.
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
# - Jain and Wallace (2019), *Attention is not Explanation*, and Wiegreffe and Pinter (2019), *Attention is not not
#   Explanation*: a dispute worth following, experiment by experiment.
# - Kobayashi, Kuribayashi, Yokoi and Inui (2020), *Attention is Not Only a Weight*: how long the vectors are that the
#   weights multiply.
# - Xiao, Tian, Chen, Han and Lewis (2024), *Efficient Streaming Language Models with Attention Sinks*, section 3: why
#   so much weight goes to the first token.
#
# ## Two parts of the paper that are left
#
# The paper trained its model with **label smoothing**. The target is not all 1 on the right token: a tenth of it is
# spread over the vocabulary. So the model stays a little less sure, and its loss never gets to zero. But what it writes
# gets better. (In PyTorch: `F.cross_entropy(..., label_smoothing=0.1)`.)
#
# And the paper decoded with **beam search**. Greedy decoding takes the likeliest next token. It can't change it later.
# A beam of 4 keeps four beginnings. It extends each by every token, and keeps the four likeliest of all these. At the
# end it takes the likeliest complete text. A long text has a small probability, so its score is corrected for length.
#
# **Next:** in lesson 11 you build a decoder alone, the kind of model that people chat with today, and make it write
# tales. There, no head spares the others: one of four remembers the names, you find it with the tools of this lesson,
# and without it the model forgets who is who.
