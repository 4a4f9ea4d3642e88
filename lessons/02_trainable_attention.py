# ---
# jupyter:
#   course:
#     about: learnt projections, why scores are scaled, two layers that find out what "it" is
#     picture: softmax with and without scaling as d_k grows
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
# # 02 · Attention that learns
#
# At the end of lesson 01 training found three matrices for your attention, and still the reader tossed a coin between
# the robot and the crate. Now you write attention with matrices stored as models store them, see how training works,
# and find out what happens to a model that doesn't divide its scores by a square root. Then two layers of yours read
# the robot's sentences.
#
# **You need** lesson 01: dot product, softmax, and what queries, keys and values are for. You also need gradients, the
# slopes along which training moves parameters.
#
# **Afterwards you can**
#
# - write trainable self-attention with weight matrices stored as `nn.Linear` stores them;
# - measure with one number how widely a word spreads its attention;
# - explain, with figures, why unscaled scores make a model hard to train;
# - train attention, and say what two layers can learn and one can't;
# - test whether a table can be attention weights.
#
# **Time:** <!-- time -->. A good place for a break is the end of section 4. The letters for shapes are those of
# lesson 01.

# %%
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict
from grader import draw_attention, show, show_reads
from grader.models.robot import ENDING, IT, LIFTED, LIFTER, VOCABULARY
from grader.models.robot import Layer, Reader, learn_to_read
from grader.models.robot import robot_sentence, robot_sentences, word_numbers

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Three matrices that can be trained
#
# The chapter from lesson 01 goes on with its eight words. Each word gets a query, a key and a value from three matrices
# of **parameters**, numbers that training may change. At first they are random, here from `torch.rand`, and they are
# stored with the *output* axis first, (d_out, d_in). So for a single vector the matrix is the left factor.

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
torch.manual_seed(123)
embed = nn.Embedding(10, 16)
embedded_sentence = embed(torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])).detach()
torch.manual_seed(123)
U_query, U_key, U_value = (torch.rand(16, 16) for _ in range(3))

x_2 = embedded_sentence[1]  # "you", the second word
query_2, key_2, value_2 = U_query @ x_2, U_key @ x_2, U_value @ x_2
print("U_query", tuple(U_query.shape), "times x_2", tuple(x_2.shape))

# %% [markdown]
# To do this for all words at once, the chapter puts them into columns, multiplies, and transposes the result, so that
# each word has a row again. Row 1 of the keys must then be the key that we have just computed on its own. The scores of
# "you" are scaled and go through the softmax, and then the values are mixed.

# %%
keys = (U_key @ embedded_sentence.T).T
values = (U_value @ embedded_sentence.T).T
print("row 1 of the keys is the key of you:", torch.allclose(keys[1], key_2))

scores_2 = query_2 @ keys.T
attention_weights_2 = F.softmax(scores_2 / math.sqrt(16), dim=0)
context_vector_2 = attention_weights_2 @ values

# %% role="draw"
figure, axes = plt.subplots(figsize=(7.2, 1.7), layout="constrained")
title = 'what "you" takes, through random matrices'
draw_attention(axes, title, words, attention_weights_2, query=1)
plt.show()

# %% [markdown]
# *The picture in words:* the eight words stand in a row. A thick arc leads from "you" to "to", and a thinner one to
# "translate". All other weights are 0.00, including that of "you" itself.
#
# "You" now takes 86 % from "to", 14 % from "translate", and almost nothing from itself. That isn't *useful* yet, but a
# word no longer has to look mostly at itself.
#
# ## 2 · The form in which `nn.Linear` stores it
#
# Transposing a product swaps its factors, (A · B)ᵀ = Bᵀ · Aᵀ, so the chapter's `U.matmul(x.T).T` equals `x @ U.T`.
# `nn.Linear` works the same way, storing its weight matrix as (d_out, d_in) and computing with the transpose.

# %%
layer = nn.Linear(16, 32, bias=False)
print("nn.Linear(16, 32) stores", tuple(layer.weight.shape))

x = embedded_sentence
print("x @ U.T, the same result:    ", torch.allclose(x @ U_key.T, keys))
print("F.linear, the same result:   ", torch.allclose(F.linear(x, U_key), keys))
print("x @ U runs too, but is wrong:", torch.allclose(x @ U_key, keys))

# %% [markdown]
# The last line is a trap. Because U is 16 × 16 here, a forgotten transpose raises no error but gives a wrong result, so
# test with sizes that differ.
#
# ### Exercise 1: `trainable_self_attention`
#
# Difficulty 2 of 5
#
# Write self-attention with matrices stored as in `nn.Linear`: `u_query` and `u_key` are (d_k, E), and `u_value` is
# (d_v, E). Divide the scores by √d_k. In the check, E, d_k and d_v all differ. This is the function that you will
# train.
#
# <details><summary>It works on the sentence, but not in the check</summary>
#
# For the sentence, E, d_k and d_v are all 16, so the code runs without the transpose, and √16 is the root of any of
# them. Look at your three products and at the number that you divide by. Which size do you mean in each of them, and
# which axis of which tensor has it?
#
# </details>
#
# <details><summary>My attention weights are a little too flat, or too sharp</summary>
#
# The scale depends on the vectors that meet in the dot product. Are those the tokens themselves?
#
# </details>
#
# <details><summary>The check reports that no gradient reaches <code>u_query</code></summary>
#
# Copying a matrix into a new `nn.Linear` makes a new parameter. The gradient then stops there and never reaches the
# argument, so use the matrix itself.
#
# </details>


# %% exercise="trainable_self_attention" role="solution"
def trainable_self_attention(
    x: Tensor,
    u_query: Tensor,
    u_key: Tensor,
    u_value: Tensor,
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product self-attention, its matrices stored (d_out, d_in).

    x: (..., T, E); u_query and u_key: (d_k, E); u_value: (d_v, E).
    Returns (output (..., T, d_v), weights (..., T, T)).
    """
    ### BEGIN SOLUTION
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
    ### END SOLUTION


# %% exercise="trainable_self_attention" role="check"
check(trainable_self_attention)

# %% role="try"
# Try it: both differences are zero, up to rounding.
mine = trainable_self_attention(embedded_sentence, U_query, U_key, U_value)
print((mine[1][1] - attention_weights_2).abs().max().round(decimals=4))
print((mine[0][1] - context_vector_2).abs().max().round(decimals=4))

# %% [markdown]
# ## 3 · One number for a row: entropy
#
# You will soon compare thousands of rows of attention weights. The **entropy** of a row measures in one number how
# widely its weights are spread (Shannon 1948):
#
# $$H(w) = -\sum_j w_j \ln w_j$$
#
# With the natural logarithm its unit is the *nat*. Here are three rows of four weights, and then their entropies.

# %%
rows = {
    "uniform": [0.25, 0.25, 0.25, 0.25],
    "two of four": [0.5, 0.0, 0.5, 0.0],
    "mostly one": [0.01, 0.01, 0.97, 0.01],
}

# %% role="draw"
four = ["robot", "lift", "crate", "it"]
figure, axes = plt.subplots(1, 3, figsize=(9.0, 1.7), layout="constrained")
for panel, (name, row) in zip(axes, rows.items(), strict=True):
    draw_attention(panel, name, four, torch.tensor(row), query=3)
plt.show()

# %% [markdown]
# *The picture in words:* the words robot, lift, crate, it appear three times. From "it", equal arcs lead to all words,
# then to "robot" and "crate" alone, and at last one thick arc to "crate".

# %%
for name, row in rows.items():
    terms = [-w * math.log(w) for w in row if w > 0]
    added_up = " + ".join(f"{t:.4f}" for t in terms)
    h = sum(terms)
    print(f"{name:12s} {added_up:37s} = {h:.4f}   exp: {math.exp(h):.2f}")

zero = torch.tensor(0.0)
print("ln 0 =", zero.log().item(), end="  ")
print("and 0 times that =", (zero * zero.log()).item())

# %% [markdown]
# Read the last column as "this row attends to about this many tokens". Equal weights on n tokens have entropy ln n, the
# largest possible, while a row that puts everything on one token has entropy 0.
#
# We need the `if w > 0` because softmax rounds small weights to exactly 0, and masks (lesson 04) make zeros on purpose.
# The term of such a weight counts as 0, since w · ln w goes to 0 as w does. Without this rule you get the NaN in the
# last line.
#
# ### Exercise 2: `attention_entropy`
#
# Difficulty 3 of 5
#
# Compute the entropy of every row, in nats, for any leading axes. A one-hot row must give 0, and a weight of 0 must
# never give NaN. (The gradient at such a weight isn't checked, because the slope of -w · ln w is infinite there.)
#
# <details><summary>Some of my entropies are NaN</summary>
#
# Print the row, and you'll find a zero in it. Put something harmless in its place *before* you take the logarithm. (A 0
# put in afterwards makes the value right, but leaves its gradient NaN.) To choose between two tensors, entry by entry,
# use `torch.where`.
#
# </details>
#
# <details><summary>My entropies are larger than expected by a factor of about 1.44</summary>
#
# That factor is 1 / ln 2. So which base does your logarithm have?
#
# </details>
#
# <details><summary>The values are right, but I get "changed its argument in place"</summary>
#
# `weights[weights == 0] = ...` writes into what the caller gave you, so work on a new tensor.
#
# </details>


# %% exercise="attention_entropy" role="solution"
def attention_entropy(weights: Tensor) -> Tensor:
    """Entropy of every row, in nats: -sum of w ln w over the keys.

    weights: (..., Tq, Tk), rows that sum to one.
    Returns (..., Tq); 0 for a one-hot row, never NaN.
    """
    ### BEGIN SOLUTION
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return -(weights * safe.log()).sum(dim=-1)
    ### END SOLUTION


# %% exercise="attention_entropy" role="check"
check(attention_entropy)

# %% role="try" claim="rand_is_sharp"
# Try it: how widely does each word look around, with two kinds of matrices?
generator = torch.Generator().manual_seed(0)
fair = torch.randn(3, 16, 16, generator=generator) / math.sqrt(16)
starts = {"torch.rand": (U_query, U_key, U_value), "both signs": fair}
mine = trainable_self_attention
tables = [mine(embedded_sentence, *u)[1] for u in starts.values()]
entropies = torch.stack([attention_entropy(table) for table in tables])
print("at most ln 8, with eight equal weights")
show(entropies, list(starts), words, title="entropy")

# %% [markdown]
# ## 4 · Why divide by √d_k?
#
# ### Step 1: dot products spread as vectors get wider
#
# Take a query and a key whose components are independent random numbers with mean 0 and variance 1. (*Variance* is the
# mean of the squared distance from the mean; its square root is the typical distance.) The product of two such
# components has mean 0 and variance 1 as well. The dot product adds up d_k of them, and variances of independent
# numbers add, too. The dot product therefore has **variance d_k**, and its typical size is √d_k. The cell below
# measures this on 5000 random pairs.

# %% claim="variance_is_the_width"
generator = torch.Generator().manual_seed(0)
print(" d_k   variance of q·k   typical size   divided by sqrt(d_k)")
for width in (1, 4, 16, 64, 256, 1024):
    q, k = torch.randn(2, 5000, width, generator=generator)
    dots = (q * k).sum(-1)
    scaled = (dots / math.sqrt(width)).std()
    print(f"{width:4d} {dots.var():17.0f} {dots.std():14.1f} {scaled:22.2f}")

# %% [markdown]
# ### Step 2: large scores saturate softmax
#
# With scores of size 8 (d_k = 64) the best key is often several points ahead of the next. It then takes almost all the
# weight, and the row is **saturated**. Below, 2000 random queries attend to 10 random keys, so the entropy can be at
# most ln 10 = 2.30. The last column belongs to step 3.


# %% claim="unscaled_rows_saturate"
def random_rows(width, scale):
    """The attention weights of 2000 random queries on 10 random keys."""
    start = torch.Generator().manual_seed(width)
    q, k = (torch.randn(n, width, generator=start) for n in (2000, 10))
    return (q @ k.T * scale).softmax(-1)


entropies = {"unscaled": {}, "scaled": {}}
print(" d_k             largest weight   entropy   slope")
for width in (4, 64, 1024):
    for name, scale in (("unscaled", 1.0), ("scaled", width**-0.5)):
        w = random_rows(width, scale)
        entropies[name][width] = h = torch.special.entr(w).sum(-1).mean()
        slope, most = (w * (1 - w)).sum(-1).mean(), w.amax(-1).mean()
        print(f"{width:4d}  {name:8s} {most:16.2f} {h:9.2f} {slope:7.2f}")

# %% [markdown]
# ### Step 3: a saturated softmax has no slope
#
# Training depends on how the weights would change if a score were a little larger. The slope of a weight with respect
# to its own score is w · (1 − w). With two keys it is 0.25 if their scores are equal, 0.1 if one leads by 2, 5e-05 if
# it leads by 10 and 2e-09 if it leads by 20. The last column above adds these slopes up over a row. Almost nothing is
# left of a gradient that passes through a saturated row, so the query and key matrices don't learn. Vaswani et al.
# (2017) give this as their reason. They suspect that without the scale, softmax is pushed "into regions where it has
# extremely small gradients". (By *vanishing gradients* people usually mean something else, namely gradients that shrink
# from layer to layer in a deep network.)
#
# Below you can watch it happen. Both sides have the same random queries and keys, and on the right their scores are
# divided by √d_k. The slider sets how many components of each vector are used. When you move it to 64, what happens to
# the entropy and the slope of the rows on the left, and of those on the right?

# %% role="draw"
from grader.views import ScalingExplorer

generator = torch.Generator().manual_seed(0)
random_queries = torch.randn(500, 512, generator=generator)
random_keys = torch.randn(10, 512, generator=generator)
ScalingExplorer(random_queries, random_keys)

# %% [markdown]
# ### Step 4: does it matter when you train?
#
# Training takes the same few lines in every lesson, so we explain them once, here. `next_loss()` computes the loss,
# that is, how wrong the model is. `backward` finds the slope of the loss along every parameter, and the optimiser moves
# each of them a little downhill. Slopes add up from call to call, so `zero_grad` clears them first.


# %%
def train(optimizer, next_loss, steps):
    """Take `steps` steps downhill. Returns the loss before each of them."""
    losses = []
    for _ in range(steps):
        loss = next_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# In our small task, each of eight random tokens should fetch the one before it, and the first should fetch the last.
# Only the query and key matrices may change. Both runs, with and without the scale, start from the same matrices. But
# the same step size (`rate`) doesn't mean the same step, because without the scale each score is 8 times as large, and
# so is its gradient. So both runs get five step sizes, with four seeds for each.


# %%
def fetch(scale, rate, seed, size=1.0, steps=600, width=64):
    """Learn to fetch the token before, from matrices of some size. Returns
    how many of the 8 tokens are found."""
    start = torch.Generator().manual_seed(seed)
    tokens = torch.randn(8, width, generator=start, dtype=torch.float64)
    u = torch.randn(2, width, width, generator=start, dtype=torch.float64)
    u = (size * u / math.sqrt(width)).requires_grad_()

    def rows():
        return (tokens @ u[0].T @ u[1] @ tokens.T * scale).softmax(-1)

    def error():
        return (rows() @ tokens - tokens.roll(1, 0)).square().mean()

    train(torch.optim.SGD([u], lr=rate), error, steps)
    return (rows().argmax(-1) == torch.arange(8).roll(1)).sum().item()


# %%
predict(
    "02_step_sizes",
    "With the best step size, does the unscaled run find all eight tokens?",
    [
        "yes, as the scaled run does",
        "no, but it finds more than with the others",
        "no, the step size makes no difference",
    ],
)

# %% role="answer" timed=true claim="no_step_size_is_enough"
found_at = {1.0: [], 64**-0.5: []}  # by scale, a number for each step size
print("tokens found, of 8 (mean of 4 seeds)\n  rate   unscaled   scaled")
for rate in (0.003, 0.01, 0.03, 0.1, 0.3):
    for scale, found in found_at.items():
        found.append(sum(fetch(scale, rate, seed) for seed in range(4)) / 4)
    row = [found[-1] for found in found_at.values()]
    print(f"{rate:6.3f} {row[0]:10.2f} {row[1]:8.2f}")

unscaled = next(iter(found_at.values()))
best, worst = max(unscaled), min(unscaled)
outcome = "no, the step size makes no difference"
if best > worst + 1:
    outcome = "no, but it finds more than with the others"
if best == 8:
    outcome = "yes, as the scaled run does"
compare_guess("02_step_sizes", outcome)

# %% [markdown] role="answer"
# From this start none of these step sizes is good enough. Some suit the unscaled run better than others, but with none
# of them does it find all eight. The scaled run finds all eight with every step size from 0.01 to 0.3, a thirtyfold
# range, so nobody has to search for one that works. The width makes the difference. To see that, put 16 in place of 64
# in `fetch` and in the cell behind this answer, which a click on its three dots opens.

# %% [markdown]
# Without the scale, the same matrices give scores 8 times as large, at the start and at every later step. Which of
# the two does the harm? We leave the scale out again, but divide both matrices by √8 at the start, so that
# the first scores are as small as the scaled ones.

# %%
predict(
    "02_smaller_start",
    "With how many of the five step sizes does it now find all eight tokens?",
    low=0,
    high=5,
)

# %% role="answer" timed=true claim="a_smaller_start_will_do"
from_small = []
for rate in (0.003, 0.01, 0.03, 0.1, 0.3):
    found = [fetch(1.0, rate, seed, size=8**-0.5) for seed in range(4)]
    from_small.append(sum(found) / 4)
    print(f"rate {rate:.3f}, from a smaller start: {from_small[-1]:.2f}")
compare_guess("02_smaller_start", from_small.count(8))

# %% [markdown] role="answer"
# It finds all eight with nearly every step size, without any scale. So large scores **at the start** do the harm,
# since a row that begins saturated has no slope along which training could change it. You could always choose a start
# that suits the width, and some models do. The root spares you choosing.

# %% [markdown]
# The argument of step 1 assumes mean 0 and variance 1. But `torch.rand` in section 1 draws numbers from 0 to 1, so the
# products in a score add up and don't cancel. Its rows were sharp *although* the scores were scaled, as you saw from
# their entropy. The scale can't make up for such values, so layers start from small random numbers of both
# signs. This is a good place for a break.
#
# ## 5 · The robot and the crate
#
# Now train your own attention in the reader of lesson 01, on 800 sentences about a robot and a crate, a nurse and a
# piano, and so on. Each has two of twenty nouns and one of eight endings. Four endings describe what is lifted, and
# four describe who lifts. One in five of the pairs of a noun and an ending is kept for the 500 sentences of the test,
# so the two words of such a pair never meet in training.

# %%
train_ids, train_nouns, test_ids, test_nouns = robot_sentences()
print("training", tuple(train_ids.shape), " test", tuple(test_ids.shape))
for ids, noun in zip(train_ids[:3], train_nouns[:3], strict=True):
    said = " ".join(VOCABULARY[number] for number in ids)
    print(f"{said}: it is the {VOCABULARY[noun]}")

# %% [markdown]
# Now you can follow all that the reader does. It looks up a vector for each word and adds another for its place in
# the sentence. In each layer the words look around with `attend`, your function, and what "it" takes is added to its
# vector. No other word changes, so whatever leads to the answer has to pass through the vector of "it", where you can
# see it. At the end the dot product of this vector with each word of the vocabulary is that word's score.
#
# Softmax turns the scores into probabilities, and the loss (`F.cross_entropy`) is −ln of the probability of the right
# noun. It is 0 if the reader is sure of it, and ln 2 = 0.69 if it can't choose between two nouns. The optimiser is
# Adam, which gives every parameter a step size of its own. With this loss and `train`, `learn_to_read` takes 600
# steps, each on 64 sentences drawn at random.


# %%
def one_layer(attend):
    """A layer with three matrices, stored as in exercise 1."""
    return Layer(attend, (16, 32), (16, 32), (32, 32))


def looks(reader, ending):
    """A sentence's words, and the row of "it" in each layer (L, 12)."""
    said = robot_sentence("robot", "crate", ending)
    reader(word_numbers(said))
    return said, torch.stack([one.weights[IT] for one in reader.layers])


# %% [markdown]
# In lesson 01 one layer tossed a coin, since "it" asked the same question in both sentences. With a second layer, "it"
# can look around again, and by then its vector contains what it took before. Four words might be worth a look, which
# are the lifter, the lifted, "it" itself and the ending.

# %% role="draw"
figure, axes = plt.subplots(figsize=(9.6, 1.7), layout="constrained")
said, row = robot_sentence("robot", "crate", "heavy"), torch.zeros(12)
row[[LIFTER, LIFTED, IT, ENDING]] = 0.25
title = "the lifter, the lifted, it and the ending"
draw_attention(axes, title, said, row, IT)
plt.show()

# %% [markdown]
# *The picture in words:* the sentence with "heavy". Equal arcs lead from "it" to "robot", "crate" and "heavy".

# %%
predict(
    "02_first_look",
    "In the first of two layers, where does most of the weight go?",
    ["to the lifter", "to the lifted", "to the ending", "to itself"],
)

# %% role="try" timed=true claim="two_layers_find_it" long="it trains, draws and sums up"
torch.manual_seed(8)
attend = trainable_self_attention
two = Reader(one_layer(attend), one_layer(attend))
share = learn_to_read(two, rate=0.01)
print(f"new sentences right: {share:.1f} %")

size = {"figsize": (9.6, 6.4), "layout": "constrained"}
figure, axes = plt.subplots(4, 1, **size)
panels = iter(axes)
for ending in ("heavy", "weak"):
    said, rows = looks(two, ending)
    for number, row in enumerate(rows.detach(), start=1):
        title = f"layer {number}, too {ending}"
        draw_attention(next(panels), title, said, row, IT)
plt.show()

two(test_ids)
first_look = two.layers[0].weights[:, IT].mean(0)  # over all new sentences
places = {"to the lifter": LIFTER, "to the lifted": LIFTED, "to itself": IT}
places["to the ending"] = ENDING
outcome = max(places, key=lambda place: first_look[places[place]].item())
compare_guess("02_first_look", outcome)

# %% [markdown] role="answer"
# *The picture in words:* the sentence appears four times, with arcs from "it". In the first layer a thick arc leads to
# the ending, "heavy" or "weak". In the second layer it leads to "crate" in the sentence with "heavy", and to "robot" in
# the one with "weak".
#
# In the first layer "it" reads the ending, and what it takes from there is added to its vector. So in the second it
# *asks* a different question. After "heavy" it looks for what is lifted, and after "weak" for whoever does the lifting.
# The reader is also right about nouns and endings that it never saw together. Nobody told it what "heavy" means, but
# with the function that you wrote it found out from 800 sentences what to look for.
#
# <details><summary>What other starts find</summary>
#
# The picture shows one way, not the only one, and the start was chosen to make it clear. From others, such as
# `torch.manual_seed(4)` or `(7)`, "it" first looks at only one kind of ending, since not finding that kind is an answer
# too. The answers are right all the same. How much attention weights explain is disputed (Jain and Wallace 2019).
#
# </details>

# %% [markdown]
# Is it fair to compare this with the one layer of lesson 01? In the table each row has the best of five rates, as
# section 4 taught us, and three starts. With one layer none of the fifteen trainings reads much more than half.

# %% role="try" timed=true
show_reads("two layers", yours=share)

# %% [markdown]
# ## 6 · Can these be attention weights?
#
# Attention weights can be tested without knowing the scores that they come from. There are three rules. Every entry
# is **finite**, so neither NaN nor infinity; every entry lies **within** [0, 1]; and every row **sums** to one.
#
# ### Exercise 3: `validate_attention`
#
# Difficulty 2 of 5
#
# This is easier than the last exercise. Return `None` for sound weights. Otherwise raise `ValueError` for the **first**
# of these rules that is broken, and put its bold word into the message:
#
# 1. all entries are **finite**;
# 2. all entries are **within** [0, 1];
# 3. each row's **sum** is one.
#
# Allow a tolerance of 1e-4 in rules 2 and 3, so that an entry of −0.00002 and a row that sums to 1.00005 both pass.
#
# <details><summary>"Boolean value of Tensor with more than one value is ambiguous"</summary>
#
# A comparison gives a tensor of True and False. To use it in an `if`, decide whether *any* or *all* of its entries must
# be True.
#
# </details>
#
# <details><summary>My function rejects sound weights</summary>
#
# Do you compare with exactly zero or exactly one? Rounding needs room on both sides, in the rule for the range as well
# as in the rule for the sum. Also check which axis you sum over.
#
# </details>
#
# <details><summary>NaN passes, or gets the wrong message</summary>
#
# For a NaN, `<`, `>` and `==` always give False. Use a test that NaN can't pass, and use it first.
#
# </details>


# %% exercise="validate_attention" role="solution"
def validate_attention(weights: Tensor) -> None:
    """Raise ValueError for the first rule that weights (..., Tq, Tk) break.

    In this order, the message holding the word: "finite", no NaN and no
    infinity; "within", entries in [0, 1]; "sum", rows sum to one. Tolerance
    1e-4 for "within" and "sum". Returns None if all is well.
    """
    ### BEGIN SOLUTION
    if not torch.isfinite(weights).all():
        raise ValueError("attention weights must be finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("attention weights must lie within [0, 1]")
    if ((weights.sum(dim=-1) - 1).abs() > 1e-4).any():
        raise ValueError("each row of attention weights must sum to one")
    ### END SOLUTION


# %% exercise="validate_attention" role="check"
check(validate_attention)

# %% role="try"
# Try it: a sound row, and one that was masked after the softmax.
for row in ([0.5, 0.3, 0.2], [0.5, 0.3, 0.0]):
    try:
        print(row, validate_attention(torch.tensor([row])))
    except ValueError as problem:
        print(row, problem)

# %% [markdown]
# These rules are necessary but not sufficient. Softmax over the wrong axis breaks rule 3, but a forgotten √d_k breaks
# no rule at all, and the weights are still wrong. That is why the checks in this course compare values too.
#
# ## 7 · Quiz
#
# ### Exercise 4: `quiz_02`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `divisor` (a number, to two decimals): `x` has the shape (8, 16), `u_query` and `u_key` have (32, 16), and
#    `u_value` has (64, 16). What does `trainable_self_attention` divide the scores by?
# 2. `why_scale` (a letter): why are the scores divided by √d_k?
#    - a. to make each row of weights sum to one;
#    - b. to save memory;
#    - c. because otherwise a longer sequence would have larger scores;
#    - d. because dot products spread out more when keys are wider, which would push softmax to its extremes.
# 3. `entropy` (a number, to two decimals): a query attends to 8 keys with equal weights. What is the entropy in nats?
# 4. `second_layer` (a letter): with two layers the model finds out what "it" stands for. What does the first of them do
#    for "it"?
#    - a. it chooses between the robot and the crate;
#    - b. it brings the ending into the vector of "it", so that the query of the second layer depends on it;
#    - c. it makes the robot and the crate more alike;
#    - d. it hides the words that don't matter.
# 5. `properties` (a letter): which three properties do all attention weights have?
#    - a. finite; within [0, 1]; every row sums to one;
#    - b. finite; within [0, 1]; every column sums to one;
#    - c. symmetric; not negative; every row sums to one;
#    - d. within [0, 1]; largest on the diagonal; every row sums to one.

# %% exercise="quiz_02" role="solution"
quiz_02 = {
    "divisor": ...,  # a number, to two decimals
    "why_scale": ...,  # "a", "b", "c" or "d"
    "entropy": ...,  # a number, to two decimals
    "second_layer": ...,  # "a", "b", "c" or "d"
    "properties": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_02 = {
    "divisor": 5.66,
    "why_scale": "d",
    "entropy": 2.08,
    "second_layer": "b",
    "properties": "a",
}
### END SOLUTION

# %% exercise="quiz_02" role="check"
check(quiz_02, "quiz_02")

# %% [markdown]
# ## What you can do now
#
# You can write attention with matrices stored as in `nn.Linear`, and measure how widely a row spreads its weights. You
# have seen the chain that the square root breaks, from wide vectors and large scores to a saturated softmax without a
# gradient. And you have trained attention until it found out what "it" stands for, which took two layers.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1: why the scores are scaled. Footnote 4 has the
#   argument of our section 4.
# - Glorot and Bengio (2010), *Understanding the difficulty of training deep feedforward neural networks*, section 4.2,
#   show how large starting weights should be, and why.
# - Jain and Wallace (2019), *Attention is not Explanation*, and Wiegreffe and Pinter (2019), *Attention is not not
#   Explanation*, argue about what a picture of weights does and doesn't explain.
# - Shannon (1948), *A Mathematical Theory of Communication*, section 6, derives entropy from three properties that it
#   should have.
#
# **Next lesson:** 03, *Many heads*. One row of weights can look for one kind of thing, but several heads, side by side,
# can look for several.

# %% [markdown]
# ## For those who want more
#
# Here are printed examples from tutorials, taken apart. Later lessons don't need them.
#
# ### The chapter's figures
#
# These are the figures that the chapter prints on the way to the context vector of "you".

# %%
torch.set_printoptions(sci_mode=True)
print("you", x_2, sep="\n")
torch.set_printoptions(sci_mode=False)
print("x_2", tuple(x_2.shape), " U_query", tuple(U_query.shape), end="  ")
print("query_2", tuple(query_2.shape))
print("keys  ", tuple(keys.shape), torch.allclose(key_2, keys[1]))
print("values", tuple(values.shape), torch.allclose(value_2, values[1]))
print(f"omega_23, you for help: {query_2.dot(keys[2]):.3f}")
show(scores_2, "you", words, title="omega_2", form=".3f")
show(attention_weights_2, "you", words, title="weights", form=".3e")
print("trainable context vector of you", context_vector_2, sep="\n")

queries = embedded_sentence @ U_query.T
print(f"you asks help: {queries[1] @ keys[2]:.2f}")
print(f"help asks you: {queries[2] @ keys[1]:.2f}")

# %% [markdown]
# The last two lines show that the scores are no longer symmetric. There are two slips in the chapter's code. It
# checks both keys and values in one cell, without `print`. A notebook shows only the last value of a cell, so the
# first could have been `False` and nobody would have noticed. It also transposes a single vector, in `keys[2].T`. A
# vector has only one axis, so there is nothing to transpose, and PyTorch warns that this will become an error.
#
# ### A batch, and results that nobody can reproduce
#
# A second tutorial, here called "the batched tutorial", has a batch axis in front (B = 1, T = 3, E = 4) and three
# layers `nn.Linear(4, 4, bias=False)`. Its first query is printed as [0.1149, 0.3946, -0.5309, 0.0528]. When you run
# its cells you get a different one, because new layers start at random and the tutorial sets no seed. A result that
# nobody can reproduce can't be checked, but you can work backwards. The first token is [1, 0, 1, 0], so its query is
# column 0 of the weight matrix plus column 2. The query of the second, [0, 2, 0, 2], is twice column 1 plus twice
# column 3. So it is enough to put the first query into column 0, half of the second into column 1, and zeros elsewhere.

# %%
printed = [  # the first two queries, keys and values
    [0.11486, 0.39456, -0.53086, 0.05276],
    [-1.39972, -0.44821, 0.20621, 0.21420],
    [-0.77997, -0.39416, 0.22687, -0.40636],
    [1.37066, -0.58766, 0.06717, 0.48354],
    [0.38920, 0.76413, -0.58278, 0.31508],
    [0.85777, -0.68321, 0.62444, -1.31321],
]
W_q, W_k, W_v = (nn.Linear(4, 4, bias=False) for _ in range(3))
for layer, i in ((W_q, 0), (W_k, 2), (W_v, 4)):
    first, second = torch.tensor(printed[i]), torch.tensor(printed[i + 1])
    columns = [first, second / 2, torch.zeros(4), torch.zeros(4)]
    layer.requires_grad_(False).weight.copy_(torch.stack(columns, dim=1))

# %%
x = torch.tensor([[[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]])
Q, K, V = W_q(x), W_k(x), W_v(x)
print("input x", tuple(x.shape))
three = ["token 0", "token 1", "token 2"]
show({"Q": Q[0], "K": K[0], "V": V[0]}, three, form=".4f")

attn_scores = torch.matmul(Q, K.transpose(-2, -1)) / Q.size(-1) ** 0.5
attn_weights = F.softmax(attn_scores, dim=-1)
output = torch.matmul(attn_weights, V)
tables = {"scaled scores": attn_scores[0], "weights": attn_weights[0]}
show(tables, three, form=".4f")
show(output[0], three, title="output", form=".4f")

# %% [markdown]
# The third query matches the tutorial's too, although we never put it in. The third token is the first plus half the
# second, and a projection preserves such relations. All the rest follows, to the last printed digit. (The tutorial
# prints four decimals but computed with more, so we added a fifth one, chosen so that all figures agree.)

# %% role="try"
# Try it: one call of yours for the tutorial. The difference is zero.
mine = trainable_self_attention(x, W_q.weight, W_k.weight, W_v.weight)
print((mine[0] - output).abs().max().round(decimals=4))

# %% [markdown]
# ### Weights without their scores
#
# The tutorial of lesson 01 explains how softmax reacts to large scores. It says that [10, 1, 1] becomes [0.99, 0.005,
# 0.005], and [100, 1, 1] becomes [0.99999, 0.00001, 0.00001]. For "The cat sat" it then prints the scores below and the
# weights that "scale, then softmax" is said to give. Scaling multiplies all scores by the same positive number, and you
# know what the ratio of two weights depends on.

# %%
cat = ["The", "cat", "sat"]
tutorial_scores = torch.tensor(
    [[2.0, 1.5, 0.8], [1.5, 3.0, 2.1], [0.8, 2.1, 2.5]],
)
percent = torch.tensor([[50.0, 30, 20], [20, 60, 20], [15, 35, 50]])
tutorial_weights = percent / 100
show(tutorial_scores, cat, title="the tutorial's scores", form=".1f")
show(tutorial_weights, cat, title="the tutorial's weights")

predict(
    "02_cat_scales",
    "Which number, times the scores, gives these weights after the softmax?",
    ["1 / 2, since d_k may be 4", "some other number", "no number at all"],
)

# %% role="answer"
factors = []
pairs = ((0, 0, 1), (0, 1, 2), (1, 1, 0), (1, 2, 0), (2, 2, 1), (2, 1, 0))
for i, a, b in pairs:
    gap = tutorial_scores[i, a] - tutorial_scores[i, b]
    log_ratio = (tutorial_weights[i, a] / tutorial_weights[i, b]).log()
    factors.append((log_ratio / gap).item())
    print(f"row {cat[i]}, {cat[a]} over {cat[b]}: score gap {gap:.1f}", end="")
    print(f", log of ratio {log_ratio:.2f}, factor {factors[-1]:.2f}")

same = max(factors) - min(factors) < 0.01
outcome = "some other number" if same else "no number at all"
compare_guess("02_cat_scales", outcome)

# %% [markdown] role="answer"
# The log of the ratio of two weights, divided by the difference of their scores, is the factor by which the scores were
# multiplied. But these six pairs give six different numbers. In the row of "cat", "The" scores 1.5 and "sat" 2.1, yet
# both get the weight 0.20. **No scaling of these scores gives these weights.**

# %% [markdown]
# There is a second slip, one step earlier. In the input each component grows by 0.4 from word to word, so "sat" is
# twice "cat" minus "The". Projections preserve such a relation, whatever the matrices are, and so do dot products. Look
# for it in the printed scores, and in real ones from random matrices. The last two lines show what softmax really makes
# of [10, 1, 1] and [100, 1, 1].
#
# <details><summary>The same in the language of matrices</summary>
#
# The *rank* of a table is the number of its independent rows, that is, of rows that can't be made from one another by
# multiplying and adding. Scores are X · (w_query · w_keyᵀ) · Xᵀ, and a product never has a higher rank than its
# factors. Tables like the tutorial's can show what a row of attention weights means, but don't use them to check your
# code.
#
# </details>

# %%
x_cat = torch.arange(1, 13, dtype=torch.float64).view(3, 4) / 10
show(x_cat, cat, "0123", title="The cat sat", form=".1f")
print("rank of the input", torch.linalg.matrix_rank(x_cat, atol=1e-6).item())

start = torch.Generator().manual_seed(5)
u = torch.randn(2, 4, 3, generator=start, dtype=torch.float64)
real_scores = (x_cat @ u[0]) @ (x_cat @ u[1]).T
for name, table in (("printed", tutorial_scores), ("real", real_scores)):
    print(name, "rank", torch.linalg.matrix_rank(table, atol=1e-6).item())
    print("  2 · cat - The", [f"{s:.2f}" for s in 2 * table[1] - table[0]])
    print("  sat          ", [f"{s:.2f}" for s in table[2]])

both = torch.tensor([[10.0, 1, 1], [100, 1, 1]], dtype=torch.float64)
ten, hundred = both.softmax(-1).tolist()
print("[10, 1, 1]  ->", ", ".join(f"{weight:.5f}" for weight in ten))
print("[100, 1, 1] ->", ", ".join(f"{weight:.1g}" for weight in hundred))

# %% [markdown]
# So the scores don't follow from the input, nor the weights from the scores.
#
# ### Tests that can't fail
#
# The chapter rewrites its two loops as matrix products, and tests both in the last two lines of the cell below. A test
# is worth something only if a wrong answer makes it fail.

# %%
attention_weights = F.softmax(embedded_sentence @ embedded_sentence.T, dim=1)
omega = torch.stack([embedded_sentence @ word for word in embedded_sentence])
omega_mat = embedded_sentence.matmul(embedded_sentence.T)
all_contexts = torch.matmul(attention_weights, embedded_sentence)
print("shape of all context vectors:", tuple(all_contexts.shape))
print(torch.allclose(omega_mat, omega))
print(torch.allclose(all_contexts, all_contexts))

predict(
    "02_which_test",
    "Which of the two tests can fail?",
    ["the first only", "the second only", "both", "neither"],
)

# %% role="answer"
wrong_omega = (embedded_sentence.T @ embedded_sentence)[:8, :8]
wrong_contexts = embedded_sentence.mean(dim=0).expand(8, 16)
loop = torch.stack([row @ embedded_sentence for row in attention_weights])
print("wrong against itself:  ", torch.allclose(wrong_contexts, wrong_contexts))
print("wrong against the loop:", torch.allclose(wrong_contexts, loop))
print("right against the loop:", torch.allclose(all_contexts, loop, atol=1e-6))

first = not torch.allclose(wrong_omega, omega)
second = not torch.allclose(wrong_contexts, wrong_contexts)
told = {(True, True): "both", (False, False): "neither"}
told[True, False], told[False, True] = "the first only", "the second only"
compare_guess("02_which_test", told[first, second])

# %% [markdown] role="answer"
# The cell tried two wrong answers. One is a table of features in place of words, and the first test rejects it. The
# other is the plain average, and the second test accepts it, since it compares a tensor with itself. Compare with
# something computed **another way**, as the checks in this course do.

# %% [markdown]
# ### Tests in the wrong order
#
# The tutorial also tests attention weights by the rules of section 6, in the order below.


# %%
def tutorial_verdict(weights):
    """The tutorial's tests, in its order. Returns its message, or "fine"."""
    row_sums = weights.sum(dim=-1)
    if not torch.allclose(row_sums, torch.ones_like(row_sums)):
        return "a row does not sum to one"
    if not (weights >= 0).all():
        return "a weight is negative"
    if not (weights <= 1).all():
        return "a weight is greater than one"
    if torch.isnan(weights).any():
        return "NaN found"
    if torch.isinf(weights).any():
        return "infinity found"
    return "fine"


# %%
predict(
    "02_never_shown",
    "Which two of its five messages can never appear?",
    [
        "a weight is negative, a weight is greater than one",
        "NaN found, infinity found",
        "a weight is greater than one, infinity found",
    ],
)

# %% role="answer"
rows = {
    "sound": [0.5, 0.3, 0.2],
    "NaN": [0.5, math.nan, 0.5],
    "infinity": [0.5, math.inf, 0.5],
    "both infinities": [math.inf, -math.inf, 1.0],
    "negative": [0.8, 0.6, -0.4],
    "just above 1": [1.000005, 0.0, 0.0],
}
verdicts = {n: tutorial_verdict(torch.tensor([w])) for n, w in rows.items()}
for name, verdict in verdicts.items():
    print(f"{name:16s} sum {sum(rows[name]):5.1f}   {verdict}")

messages = ["a weight is negative", "a weight is greater than one"]
messages += ["NaN found", "infinity found"]
never = [one for one in messages if one not in verdicts.values()]
compare_guess("02_never_shown", ", ".join(never))

# %% [markdown] role="answer"
# The last row is sound except for a rounding error, but it is rejected. A test needs a **tolerance**, for the range as
# well as for the sum. A NaN makes the sum NaN, an infinity makes it infinite or NaN, and neither equals one. So the row
# sum always fails first, and the function sends you looking for the wrong fault. And for a NaN, `<`, `>` and `==`
# always give False, so whether a NaN passes depends on how you ask.
