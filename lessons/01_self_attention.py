# ---
# jupyter:
#   course:
#     about: a sentence that needs attention; dot products, softmax, queries, keys and values by hand
#     picture: attention, step by step
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
# # 01 · Self-attention by hand
#
# *The robot could not lift the crate, because it was too heavy.* Here "it" is the crate. *The robot could not lift the
# crate, because it was too weak.* Now "it" is the robot. To read the word "it", you looked back at the other words and
# took what you needed from one of them.
#
# *Self-attention* does this with lists of numbers, by letting every word look at all words and take from them what it
# needs. You build it step by step, with numbers small enough to follow on paper, and each step puts right what failed
# in the one before.
#
# A single layer like the one you build here won't find out what "it" stands for, however well you train it. At the end
# you put yours into a small model that reads hundreds of such sentences, and see why. In lesson 02 you find out what it
# takes.
#
# **You need** Python and a little PyTorch (tensors, shapes and the matrix product `@`).
#
# **Afterwards you can**
#
# - say why a word needs a weighted average of the other words, and where its weights come from;
# - compute queries, keys, values, scores, attention weights and outputs by hand;
# - write a softmax that doesn't overflow;
# - write scaled dot-product attention for one sequence or a whole batch.
#
# **Time:** <!-- time -->. A good place for a break is the end of section 4.
#
# ## Five rules for your functions
#
# From here on, what you write goes where `raise NotImplementedError()` stands. Your functions
#
# - accept float32 and float64, and return the type they were given;
# - don't change their arguments;
# - work for any number of leading axes where a shape begins with `...`;
# - let gradients (the slopes that training follows) flow through them, without a detour through NumPy or Python
#   numbers;
# - make every new tensor on the device of their inputs, as in `torch.zeros(3, device=x.device)`, so that they run on
#   a GPU too.
#
# You can pass every check without a GPU and without the last rule, but a right answer that would fail on a GPU gets a
# remark.
#
# Shapes are written with the letters below, and `(..., T, E)` stands for `(3, 4)`, for `(8, 3, 4)` and for
# `(2, 8, 3, 4)`.
#
# | letter | meaning |
# | --- | --- |
# | `B` | batch: sequences handled together |
# | `T` | tokens in a sequence (`Tq`, `Tk` where queries and keys differ in number) |
# | `E` | `d_model`, the width of a token's vector |
# | `d_k` | width of a query and of a key (`D` for short) |
# | `d_v` | width of a value |
# | `...` | any number of leading axes, or none |

# %%
import inspect
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict
from grader import draw_attention, draw_table, show, show_reads
from grader.models.robot import IT, LIFTED, LIFTER, Layer, Reader
from grader.models.robot import learn_to_read, robot_sentence, word_numbers

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · The plain average fails
#
# A model reads words as *tokens*, and each token is a *vector*, a list of numbers. Training finds these numbers, and
# nobody can read them. Ours are made up so that you can. Stop the sentence at "it" and keep the four words that matter.
# Each word's three components show whether it has to do with strength, whether it has to do with mass, and whether it
# is a thing. All we know about "it" is that it is a thing.
#
# The simplest way to tell "it" something about its neighbours is to give every word the plain average of all words.

# %% role="draw"
figure, axes = plt.subplots(figsize=(7.2, 1.7), layout="constrained")
told = ["robot", "lift", "crate", "it"]
title = 'the plain average: "it" takes a quarter from each'
draw_attention(axes, title, told, torch.full((4,), 0.25), query=3)
plt.show()

# %% [markdown]
# *The picture in words:* the words robot, lift, crate and it stand in a row. Equally thick arcs lead from "it" to
# each of the other three.
#
# Here are the four vectors, and what the average makes of them.

# %%
words = ["robot", "lift", "crate", "it"]
meaning = ["strength", "mass", "thing"]
four = torch.tensor([[1.0, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
show(four, words, meaning, title="word", form=".0f")

plain = four.mean(dim=0).expand(4, 3)
show(plain, words, meaning, title="average")

# %% [markdown]
# Now every word is the same word, and you can no longer tell the robot from the crate. The plain average fails
# because it counts every word equally, whichever word is looking.
#
# What "it" needs is a **weighted** average. Suppose somebody had chosen the weights 0.5 for "crate", 0.3 for "it"
# itself and 0.2 for "lift". None of them is negative, they sum to one, and the mixture is the product of a row and a
# table.

# %%
mixing = torch.tensor([0.5, 0.3, 0.2])
taken = four[[2, 3, 1]]  # crate, it, lift
print("one by one  ", 0.5 * taken[0] + 0.3 * taken[1] + 0.2 * taken[2])
print("as a product", mixing @ taken)

# %% [markdown]
# We say that "it" attends to "crate" with 50 % of its weight, and so it now has something to do with mass. But nobody
# can choose such weights beforehand, so they must come from the words themselves.
#
# ### A reader to try it in
#
# Made-up vectors prove little. So from here to lesson 05 a small model reads the robot's sentences, and every new
# piece of attention takes the place of the last one in it. The sentences are about a robot and a crate, a nurse and a
# piano, a dog and a safe, and the reader has to name the noun that "it" stands for. Here is all of it.

# %%
print(inspect.getsource(Layer))
print(inspect.getsource(Reader))

# %% [markdown]
# You needn't understand every line yet. The reader has a vector for each word and for each place in a sentence, at
# first of random numbers. In a *layer* every word takes something from the others, in the way that `attend` decides,
# and what "it" takes is added to its vector. At the end the word is named whose vector fits that of "it" best.
# Training changes all these numbers, step by step, so that the right noun fits better (lesson 02 explains how). Then
# the reader is tested with 500 new sentences. First each word takes the plain average of all words.


# %% role="train" timed=true
def plain_average(x):
    return x.mean(dim=-2, keepdim=True).expand_as(x)


torch.manual_seed(0)
averaging = Reader(Layer(plain_average))
just_now = learn_to_read(averaging, rate=0.001)
show_reads("plain average", yours=just_now)

# %% [markdown]
# The table has three trainings, each from another start, at the best of five learning rates (the size of a training
# step), and in the last column the one that has just run. Somebody who tosses a coin between the two nouns of a
# sentence gets half of the answers right, and the plain average does no better. "The robot could not lift the crate"
# and "the crate could not lift the robot" have the same average, so the reader finds out which two nouns are in a
# sentence, but not which of them lifts. (From some starts it does worse. Then it has learnt which nouns go with an
# ending, and the new sentences pair them in another way.) The table grows as your pieces get better.
#
# ## 2 · Compare every word with every word
#
# Which words matter to a word? A first idea is to take those that resemble it. The **dot product** of two vectors
# (multiply entry by entry, then add up) is large when both are large in the same places, so it measures how well they
# fit.

# %%
for name, a, b in zip(meaning, four[0], four[2], strict=True):
    print(f"{name:8s} {a:g} · {b:g} = {a * b:g}")
print(f"robot with crate: {four[0] @ four[2]:g}")


def all_pairs(x):
    """The dot product of every word with every word, one after another."""
    table = torch.empty(len(x), len(x))
    for i, x_i in enumerate(x):
        for j, x_j in enumerate(x):
            table[i, j] = torch.dot(x_i, x_j)
    return table


four_scores = all_pairs(four)

# %% [markdown]
# Such dot products are called *scores*. Row i of their table belongs to the word that looks, and column j to the word
# that it looks at. Which words does "it" fit, and which one does it not fit at all?

# %% role="draw"
figure, axes = plt.subplots(figsize=(3.4, 2.8), layout="constrained")
draw_table(axes, "scores", four_scores, words, form=".0f")
plt.show()

# %% [markdown]
# *The picture in words:* the words stand beside a 4 × 4 grid, whose diagonal is bright for robot, lift and crate, with
# a score of 2. The cells of "it" with "lift" are the darkest, with 0, and all others are 1.
#
# "It" fits the robot, the crate and itself, because all three are things, but it doesn't fit "lift".
#
# Real vectors are wider, and before training they are random. They are kept in an **embedding**, a table with a row of
# numbers for every word in a list. A word is given by its place in that list, which is only a label, so a 7 for "you"
# and a 0 for "can" don't make "you" larger. These eight words come from a book chapter on attention, which we call "the
# chapter" from here on.

# %%
eight = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])
print("sentence", sentence, sep="\n")

torch.manual_seed(123)
embed = nn.Embedding(10, 16)
embedded_sentence = embed(sentence).detach()  # detach: no gradients needed here
print("shape of the embedded sentence:", tuple(embedded_sentence.shape))

omega = all_pairs(embedded_sentence)  # the chapter's name for this table
show(omega, eight, title="omega", form=".1f")

# %% [markdown]
# Look at the diagonal, which holds the score of each word with itself. Then compare the score of "you" for "help" with
# that of "help" for "you". Both will matter soon.
#
# Two loops take a million small steps for a thousand words. One product of two matrices does the same work in a single
# call. Each entry of the product *is* the dot product of a row of the left factor with a column of the right one. The
# words are rows, so one factor has to be *transposed* first, which turns its rows into columns. `.mT` and
# `.transpose(-2, -1)` do this to each matrix of a batch and turn (2, 5, 3) into (2, 3, 5), whereas `.T` reverses
# **all** axes, including the batch.
#
# ### Exercise 1: `pairwise_dot_products`
#
# Difficulty 1 of 5
#
# Return the table of all dot products of the tokens of `x`, for any leading axes, without a Python loop over tokens.
# The check counts the operations that your code asks torch for, with 6 tokens and with 30. Then use your function to
# see which two *different* words of the sentence fit each other best.
#
# <details><summary>I get "mat1 and mat2 shapes cannot be multiplied"</summary>
#
# Write the shapes (8, 16) and (8, 16) side by side. The 16 of the first has to meet an axis of the same length. Which
# axis of the second is that, and where does it stand now?
#
# </details>
#
# <details><summary>My table is 16 × 16</summary>
#
# The product sums over the axis that disappears in it, so you summed over tokens and compared features. Which factor
# has to be transposed?
#
# </details>
#
# <details><summary>It works for one sentence but not for a batch</summary>
#
# `.T` reverses *all* axes, so it is for two axes only. The two other ways named above leave the batch alone.
#
# </details>


# %% exercise="pairwise_dot_products" role="solution"
def pairwise_dot_products(x: Tensor) -> Tensor:
    """Dot product of every token with every token, not scaled.

    x: (..., T, E). Returns (..., T, T): entry [i, j] is token i against
    token j. No Python loop over tokens.
    """
    ### BEGIN SOLUTION
    return x @ x.transpose(-2, -1)
    ### END SOLUTION


# %% exercise="pairwise_dot_products" role="check"
check(pairwise_dot_products)

# %% role="try"
# Try it: your table of the sentence, and whether it equals the loop's.
my_omega = pairwise_dot_products(embedded_sentence)
print(tuple(my_omega.shape), torch.allclose(my_omega, omega))
best = my_omega.masked_fill(torch.eye(8).bool(), -math.inf).argmax().item()
print("best fit of two different words:", eight[best // 8], eight[best % 8])

# %% [markdown]
# ## 3 · Softmax: from scores to attention weights
#
# Scores can be any numbers, but attention weights must not be negative, and each row must sum to one. **Softmax**
# raises *e* to the power of each score, which makes every entry positive, and then divides by the row's sum.
#
# The ratio of two weights depends only on the **difference** of their scores: exp(2) / exp(1) = exp(2 − 1). Keep this
# in mind, because it will settle what one layer can do.

# %%
row = four_scores[0]
exponentials = row.exp()
robot_weights = exponentials / exponentials.sum()
steps = torch.stack([row, exponentials, robot_weights])
names = ["scores of robot", "exponentials", "weights of robot"]
show(steps, names, words, form=".4f")
print(f"sum of the exponentials: {exponentials.sum():.4f}")

ratio = robot_weights[0] / robot_weights[1]
print(f"robot over lift: {ratio:.4f}, exp(2 - 1) = {math.exp(2 - 1):.4f}")

# %% [markdown]
# ### Large scores overflow
#
# The exponential grows so fast that at 89 it already leaves the range of float32, and infinity divided by infinity is
# NaN, "not a number". But only differences matter, so you may subtract the same number from every score of a row and
# the weights stay the same. If you subtract the row's **maximum**, the largest exponent is 0 and no exponential can
# overflow.

# %%
large = torch.tensor([1000.0, 999.0, 998.0])
ends = torch.tensor([88.0, 89.0]).exp().tolist()
print("exp(88), exp(89):", [f"{number:.2g}" for number in ends])
print("naive:          ", large.exp() / large.exp().sum())

shifted = large - large.max()
print("shifted scores: ", shifted)
print("stable:         ", shifted.exp() / shifted.exp().sum())

# %% [markdown]
# In a table, do this **row by row**, since one maximum for the whole table is not enough. Where one row's scores are
# far below another's, all its exponentials become zero, and so does their sum.
#
# To work row by row, reduce over the last axis, `dim=-1`, and keep that axis with length 1, so that the result still
# lines up with the rows. Below, each row is then divided by its largest entry. Without `keepdim=True` the two maxima
# lie side by side, and each *column* gets its own divisor. (`amax` returns the largest entries alone, while `max` with
# a `dim` also returns where they are.)

# %%
table = torch.tensor([[1000.0, 999.0], [3.0, 2.0]])
rows, columns = ["row 0", "row 1"], ["column 0", "column 1"]
one_for_all = (table - table.max()).exp()
with_sums = torch.cat([one_for_all, one_for_all.sum(-1, keepdim=True)], dim=-1)
title = "one maximum for all"
show(with_sums, rows, [*columns, "sum"], title=title, form=".4f")

kept, dropped = table.amax(dim=-1, keepdim=True), table.amax(dim=-1)
print("shapes of the maxima:", tuple(kept.shape), "and", tuple(dropped.shape))
divided = {"axis kept": table / kept, "axis dropped": table / dropped}
show(divided, rows, columns, form=".4f")

# %% [markdown]
# ### Exercise 2: `stable_softmax`
#
# Difficulty 2 of 5
#
# Return the softmax over the last axis, each row by itself, and keep it finite for scores up to ±10 000. Build it from
# its parts, since torch's own softmax, log-softmax and softmin are excluded here, by whatever name, and calling one
# earns 0 points.
#
# <details><summary>I get a size mismatch, or the rows sum to something odd</summary>
#
# Print the shape of everything you subtract or divide by, and compare it with the two in the cell above. Does it line
# up with the rows, or with the columns?
#
# </details>
#
# <details><summary>There is NaN for large scores</summary>
#
# NaN here is either infinity over infinity or zero over zero, so print the exponentials of the row in question. If all
# are infinite, what was not subtracted? If all are zero, whose maximum was subtracted?
#
# </details>
#
# <details><summary>The columns sum to one, the rows don't</summary>
#
# A row belongs to the word that looks, and its entries lie along the *last* axis. Which axis do you reduce?
#
# </details>


# %% exercise="stable_softmax" role="solution"
def stable_softmax(scores: Tensor) -> Tensor:
    """Softmax over the last axis, written without torch's softmax family.

    scores: (..., Tq, Tk). Returns the same shape; every row sums to one.
    Finite for scores up to ±1e4.
    """
    ### BEGIN SOLUTION
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    exponentials = shifted.exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% exercise="stable_softmax" role="check"
check(stable_softmax)

# %% role="try"
# Try it: the robot's row, and a large one.
print(stable_softmax(torch.tensor([2.0, 1.0, 1.0, 1.0])))
print(stable_softmax(torch.tensor([1000.0, 999.0, 998.0])))

# %% [markdown]
# ## 4 · Mix: attention without parameters
#
# Softmax turns each row of scores into attention weights. (From here on the examples use torch's own, `.softmax(-1)`.)
# Mixing the words with one row (each word's vector times its weight, added up) gives the **context vector** of that
# row's word.

# %%
four_weights = four_scores.softmax(-1)
show(four_weights, words, title="weights", form=".4f")
show(four_weights @ four, words, meaning, title="mixture", form=".4f")

# %% role="draw"
figure, axes = plt.subplots(1, 2, figsize=(9.0, 1.8), layout="constrained")
for panel, place in zip(axes, (0, 3), strict=True):
    title = f'what "{words[place]}" takes, and from whom'
    draw_attention(panel, title, words, four_weights[place], place)
plt.show()

# %% [markdown]
# *The picture in words:* the four words appear twice, with arcs from the word that looks, and the thicker the arc, the
# larger the weight. "Robot" takes most from itself and equally little from the three others. "It" takes the same from
# "robot", from "crate" and from itself, and only a little from "lift".
#
# This is much better than the plain average, because four different words go in and four different words come out. "It"
# has found the two words that it may stand for, but it is torn between them, 0.30 against 0.30.
#
# ### Now let the sentence end
#
# We stopped at "it", so now add the last word, once "heavy" and once "weak", and look at the row of "it" again.

# %%
endings = {"heavy": [0.0, 1.0, 0.0], "weak": [1.0, 0.0, 0.0]}
for ending, vector in endings.items():
    five = torch.cat([four, torch.tensor([vector])])
    it_weights = (five @ five[3]).softmax(-1)  # row 3: it
    names = [*words, ending]
    show(it_weights, "it", names, title="weights")
    show(it_weights @ five, "it", meaning, title="mixture")
    print(f"robot over crate: {it_weights[0] / it_weights[2]:.4f}\n")

# %% [markdown]
# The two meanings are opposite, and yet "it" attends exactly as much to the robot as to the crate. It can't be
# otherwise, because "it" is the same vector in both sentences, and so are "robot" and "crate". So their scores are the
# same, and the ratio of two weights depends only on the difference of their scores. The ending can take some weight
# away from both, but it can never move weight from one to the other.
#
# Do look at the mixtures, though. After "heavy" the new "it" has more mass than strength, and after "weak" it is the
# other way round, so a trace of the ending has reached it. If this "it" could look a *second* time, it would no longer
# be the same in both sentences. Lesson 02 comes back to this trace.
#
# ### The same with wider vectors
#
# The eight words of the chapter go through the same two steps, softmax and mixture. Part of every mixture comes from
# the word itself, and that part was 30 % for "it" and 48 % for "robot".

# %%
attention_weights = omega.softmax(-1)

predict(
    "01_own_weight",
    "How much of its own vector does one of these words keep, on average?",
    low=0,
    high=100,
    unit="%",
)

# %% role="answer"
print("shape of the attention weights:", tuple(attention_weights.shape))
sums = attention_weights.sum(dim=1).round(decimals=4)
print("sums of the rows", sums, sep="\n")

figure, axes = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
draw_table(axes, "weights of eight words", attention_weights, eight)
plt.show()

own = attention_weights.diagonal().mean().item()
compare_guess("01_own_weight", round(100 * own, 1))

# %% [markdown] role="answer"
# *The picture in words:* the words stand beside an 8 × 8 grid, which is yellow along its diagonal, where every cell is
# close to 1, and dark blue everywhere else.
#
# Every word keeps nearly all of its own vector, so after all this work "you" has hardly changed. A vector of 16
# components of size about 1 has a dot product of about 16 with itself. With an unrelated vector, its dot product is
# typically about four above or below 0, so after the exponential the diagonal takes nearly everything.

# %% [markdown]
# ### Exercise 3: `context_vectors`
#
# Difficulty 1 of 5
#
# This is easier than the last one, since you already have both parts. Compute all context vectors at once, for any
# leading axes. Take the softmax of the dot products, **not scaled**, and then the mixture; torch's own softmax is
# allowed.
#
# <details><summary>Right for one sentence, wrong in the check for a batch</summary>
#
# `dim=1` is the last axis of two. Which axis is it for (B, T, T), counted from the end?
#
# </details>
#
# <details><summary>The table looks right but the mixtures are wrong</summary>
#
# The scores are symmetric, so they don't show whether rows and columns are mixed up. If you sum your weights along the
# last axis, does each row give 1? And in the product, is the axis that disappears the one along which they sum to one?
#
# </details>
#
# <details><summary>I get NaN for large entries</summary>
#
# If you wrote the softmax with `exp` yourself, look at what section 3 subtracts from each row first.
#
# </details>


# %% exercise="context_vectors" role="solution"
def context_vectors(x: Tensor) -> Tensor:
    """Attention without parameters: softmax of the unscaled dot products,
    then the mixture of the tokens.

    x: (..., T, E). Returns (..., T, E): row i is what token i takes from all.
    """
    ### BEGIN SOLUTION
    weights = stable_softmax(pairwise_dot_products(x))
    return weights @ x
    ### END SOLUTION


# %% exercise="context_vectors" role="check"
check(context_vectors)

# %% role="try"
# Try it: the mixtures should be those of the four words above.
show(context_vectors(four), words, meaning, title="mixture")

# %% role="try" timed=true
# Try it: your function in the reader.
torch.manual_seed(0)
my_share = learn_to_read(Reader(Layer(context_vectors)), rate=0.001)
show_reads("dot products", yours=my_share)

# %% [markdown]
# With your dot products the reader knows the two nouns as well, and it still tosses a coin between them.
#
# ### What this attention can't do
#
# You have met the first of three limits:
#
# 1. With wide vectors every word looks mostly at itself. The dot product of a vector with itself grows with the width,
#    and that of two unrelated vectors only with the root of the width.
# 2. The table is symmetric, so "me" can't get a high score for "you" unless "you" gets the same score for "me".
# 3. One vector has to do three jobs. Training can change the embeddings, and with them the scores. But what a word
#    looks for, what it is found by and what it hands over then change together and can't be learnt separately.
#
# Queries, keys and values, in sections 5 and 6, deal with all three, because what a word looks for, what it is found by
# and what it hands over are then no longer the same. This is a good place for a break.
#
# ## 5 · Queries, keys and values
#
# When you look up a number in a phone book, three things have different jobs. You come with a name, compare it with
# the names in the book, and take away the number beside the one that fits. The name that you bring is the *query*,
# the names in the book are the *keys*, and the numbers are the *values*. A Python dictionary works in this way too.

# %%
book = {"strength": "robot", "mass": "crate"}  # a value for each key
for query in ("mass", "strength", "something heavy"):
    print(f"asked for {query}: {book.get(query, 'not found')}")

# %% [markdown]
# A dictionary finds what fits exactly or finds nothing. Attention compares the query with **every** key, and takes
# more from a value the better its key fits. Below, a query asks for a thing with mass, and we count how many of these
# two features each word has.

# %%
asked_for = {"mass", "thing"}
is_a = [
    {"strength", "thing"},
    {"strength", "mass"},
    {"mass", "thing"},
    {"thing"},
]
fits = torch.tensor([float(len(asked_for & features)) for features in is_a])
rows = [", ".join(sorted(features)) for features in is_a]
looked_up = [rows, fits.tolist(), fits.softmax(-1).tolist()]
show(looked_up, ["key", "fits", "weight of its value"], words)

# %% [markdown]
# So "it" can look *for* something other than what it *is*. Below, the four words are found by their own vectors, but
# "it" asks with a different one. After "heavy" it asks for a thing with mass, and after "weak" for a thing with
# strength.

# %% role="draw"
looks_for = {"heavy": [0.0, 2.0, 2.0], "weak": [2.0, 0.0, 2.0]}
figure, axes = plt.subplots(1, 2, figsize=(9.0, 1.8), layout="constrained")
for panel, (ending, wanted) in zip(axes, looks_for.items(), strict=True):
    row = (four @ torch.tensor(wanted)).softmax(-1)
    draw_attention(panel, f"... it was too {ending}", words, row, query=3)
plt.show()

# %% [markdown]
# *The picture in words:* in two sentences, arcs lead from "it" to the other words, and the thicker the arc, the larger
# the weight. In "it was too heavy" the thick arc leads to "crate", and in "it was too weak" to "robot".
#
# This is attention. What a token looks for is its **query**, what it can be found by is its **key**, and what it hands
# over once it is found is its **value** (Vaswani et al. 2017).
#
# Somebody who had read the whole sentence chose these two queries. In a model every token has a query, a key and a
# value, and all three are computed from the token's vector with three *weight matrices* that training finds. The "it"
# of a first layer can't ask like that, since its vector hasn't heard of the ending yet. The "it" of a second layer,
# with the trace that you saw, could.
#
# Here are three new words with four components each, and three matrices. The numbers mean nothing this time, but they
# are chosen so that you can follow each step on paper.

# %%
three = ["birds", "build", "nests"]
x = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
w_query = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
w_key = torch.tensor([[0.0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
w_value = torch.tensor([[0.0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])

queries, keys, values = x @ w_query, x @ w_key, x @ w_value
projected = {"queries": queries, "keys": keys, "values": values}
show(projected, three, "012", form=".0f")

for number, weight in zip(x[1], w_query[:, 0], strict=True):
    print(f"{number:g} · {weight:g} = {number * weight:g}")

# %% [markdown]
# The last lines work out one entry of the table, the first component of the query of "build". It pairs **row 1 of `x`**
# with **column 0 of `w_query`** (we count from zero). Multiply entry by entry and add, and you get the 2 in the table.
# Compute one entry of `keys` and one of `values` on paper before you go on. The product works on the last two axes and
# carries leading ones along, so (2, 3, 4) @ (4, 3) gives (2, 3, 3).
#
# ### Exercise 4: `project_qkv`
#
# Difficulty 1 of 5
#
# Return the three projections as a tuple, in the order query, key, value. The check uses leading axes, and sizes that
# all differ, so `d_v` is not `d_k`.
#
# <details><summary>I get "mat1 and mat2 shapes cannot be multiplied"</summary>
#
# Write the two shapes side by side. In `a @ b` the last axis of `a` must equal the first axis of a two-dimensional `b`.
# Which axis of `x` has length E, and which axis of a weight matrix? `nn.Linear` stores its weight matrix transposed,
# but here no transpose is needed.
#
# </details>
#
# <details><summary>It works on one sequence, but not on a batch</summary>
#
# `torch.mm` and `.T` are for two axes only, so use an operation that carries leading axes along.
#
# </details>
#
# <details><summary>Two of my results are the same</summary>
#
# Look for a line that was copied and only half changed. Each of the three weight matrices should appear
# exactly once.
#
# </details>


# %% exercise="project_qkv" role="solution"
def project_qkv(
    x: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    w_value: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project tokens to queries, keys and values, each as x @ w.

    x: (..., T, E); w_query and w_key: (E, d_k); w_value: (E, d_v).
    Returns (query (..., T, d_k), key (..., T, d_k), value (..., T, d_v)).
    """
    ### BEGIN SOLUTION
    return x @ w_query, x @ w_key, x @ w_value
    ### END SOLUTION


# %% exercise="project_qkv" role="check"
check(project_qkv)

# %% [markdown]
# ## 6 · Scores: how well does a query fit a key?
#
# Now every query meets every key. Row i of the table belongs to **query** i and column j to **key** j, so row i shows
# how well each token fits what token i looks for. The table is symmetric once more. To see whether it has to be, the
# last lines change a single entry of "birds" and compute two scores again.

# %%
for q, k in zip(queries[1], keys[1], strict=True):
    print(f"{q:g} · {k:g} = {q * k:g}")
print(f"score of build for build: {queries[1] @ keys[1]:g}")

scores = torch.stack([keys @ query for query in queries])
show(scores, three, title="scores", form=".0f")

altered = x.clone()
altered[0, 1] = 1.0
altered_queries, altered_keys = altered @ w_query, altered @ w_key
print("symmetric before:", torch.equal(scores, scores.T))
print(f"birds for nests: {altered_queries[0] @ altered_keys[2]:g}")
print(f"nests for birds: {altered_queries[2] @ altered_keys[0]:g}")

# %% [markdown]
# This time the symmetry was an accident of the numbers. "What I look for in you" and "what you look for in me" are
# two different things, and queries and keys can express the difference. In the small example T, d_k and d_v are all
# 3, so code that mixes them up still runs. That keeps the arithmetic short, but it is bad for testing, so the checks
# draw other sizes.
#
# ### Exercise 5: `attention_scores`
#
# Difficulty 1 of 5
#
# Compute all dot products of queries with keys at once, without scaling for now. The number of queries and the number
# of keys may differ.
#
# <details><summary>I get a size mismatch in the matrix product</summary>
#
# `@` pairs rows of the left with *columns* of the right, but the keys are rows. What has to happen to them first? Write
# the shape of each factor beside it.
#
# </details>
#
# <details><summary>It works on the 3 × 3 example, but not in the check</summary>
#
# Which axes should change places, and which ones should stay where they are? Section 2 names two ways that leave the
# batch alone and one that is only safe without a batch.
#
# </details>
#
# <details><summary>The shape is (..., Tk, Tq)</summary>
#
# Each row should belong to a query. Which of the two factors gives the product its rows?
#
# </details>


# %% exercise="attention_scores" role="solution"
def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Dot product of every query with every key, not scaled.

    query: (..., Tq, D); key: (..., Tk, D).
    Returns (..., Tq, Tk): row i holds query i against each key.
    """
    ### BEGIN SOLUTION
    return query @ key.transpose(-2, -1)
    ### END SOLUTION


# %% exercise="attention_scores" role="check"
check(attention_scores)

# %% [markdown]
# ## 7 · Scaled dot-product attention
#
# With wide vectors there is one more difficulty. The wider they are, the larger their dot products, and the more of
# its weight every row puts on a single word. So divide the scores by a number that grows with the width, the square
# root of d_k. With that you have all the pieces (Vaswani et al. 2017, section 3.2.1, equation 1):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# Lesson 02 measures why it is the square root and not d_k itself. But first, what does dividing do to the attention
# weights? As they are, the scores of "build", [4, 16, 12], give a single word a weight of 0.98. Now divide them by
# larger and larger numbers.

# %%
d_k = keys.shape[-1]
print("root of d_k", torch.tensor(d_k).sqrt(), sep="\n")
show(scores / math.sqrt(d_k), three, title="scaled", form=".4f")

predict(
    "01_larger_divisor",
    "Divide the scores by 100. How large is the largest of the three weights?",
    low=0,
    high=1,
)

# %% role="answer"
divided = {"1": 1.0, "√3": math.sqrt(3), "3": 3.0, "10": 10.0, "100": 100.0}
of_build = [(scores[1] / by).softmax(-1).tolist() for by in divided.values()]
show(of_build, list(divided), three, title="divided by", form=".4f")

by_100 = (scores[1] / 100).softmax(-1).max().item()
compare_guess("01_larger_divisor", round(by_100, 2))

# %% [markdown] role="answer"
# The clear lead of one word is gone. Divided by 100, the scores are [0.04, 0.16, 0.12]. They hardly differ, and softmax
# depends only on their differences, so all three weights are close to a third. A large divisor takes attention back to
# the plain average of section 1, and a small one gives everything to a single word. The order of the weights never
# changes.

# %% [markdown]
# The root doesn't cure the first limit of section 4. Eight random words of width 16 still keep most of themselves, on
# average, when the plain dot products are divided by the root, and at width 64 nearly all. What a word looks for and
# what it is found by are the same vector, and no other vector fits as well. Only a query of its own frees it. (The
# end of the lesson measures this.)
#
# ### From scores to outputs
#
# Scale the scores, take the softmax over each row, and mix the values. Read the row of "build" in the weights. Which
# word does it attend to, and how much does it take from "birds"? The last lines work out the first entry of the output.

# %%
weights = (scores / math.sqrt(d_k)).softmax(dim=-1)
show(weights, three, title="weights", form=".4e")
show(weights, three, title="weights, rounded", form=".4f")

weighted_values = weights @ values
show(weighted_values, three, "012", title="weighted values", form=".4f")

for weight, value in zip(weights[0], values[:, 0], strict=True):
    print(f"{weight:.4f} · {value:g} = {weight * value:.4f}")
print(f"sum: {weights[0] @ values[:, 0]:.4f}")

# %% [markdown]
# The output of "build" is close to its own value, [2, 8, 0], because that is where its weight went. The whole output
# has one row for each **query**, and it is as wide as a **value**.
#
# Below you can walk through the small example once more. Run the cell, then go from step to step with its buttons. To
# see how a number was computed, point at it, or press Tab until the last table has a frame and use the arrow keys. In
# steps 5 to 7 a slider changes the scale. What happens to the row of "build" at a tenth of √d_k, and at ten times √d_k?

# %% role="draw"
from grader.views import AttentionExplorer

AttentionExplorer(x, w_query, w_key, w_value, tokens=three)

# %% [markdown]
# ### Exercise 6: `scaled_dot_product_attention`
#
# Difficulty 2 of 5
#
# Write the whole formula, with your own `attention_scores` and `stable_softmax` if you like. PyTorch's own
# `F.scaled_dot_product_attention` (in `torch.nn.functional`) and `nn.MultiheadAttention` are excluded.
#
# <details><summary>Right on the small example, wrong in the check</summary>
#
# In the small example the number of tokens, d_k and d_v are all 3, so any of them gives √3. Which size does
# the formula mean, and which axis of which tensor has it?
#
# </details>
#
# <details><summary>My rows don't sum to one</summary>
#
# Look at the order, because softmax is what makes a row sum to one. Any division or multiplication after it spoils
# that.
#
# </details>
#
# <details><summary>My weights are much too peaked, or much too flat</summary>
#
# Print the largest score before and after scaling, which should make it smaller (by √d_k, not by d_k). Dividing by
# `d_k ** -0.5` does the opposite of what it seems to.
#
# </details>
#
# <details><summary>The weights are right, the output is not</summary>
#
# Each output row is made from one *row* of weights. In the product, the axis that is summed over must be that of the
# keys.
#
# </details>


# %% exercise="scaled_dot_product_attention" role="solution"
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
) -> tuple[Tensor, Tensor]:
    """softmax(query @ key^T / sqrt(d_k)) @ value (Vaswani et al. 2017, eq. 1).

    query: (..., Tq, d_k); key: (..., Tk, d_k); value: (..., Tk, d_v).
    Returns (output (..., Tq, d_v), weights (..., Tq, Tk)).
    """
    ### BEGIN SOLUTION
    scores = attention_scores(query, key) / math.sqrt(query.shape[-1])
    weights = stable_softmax(scores)
    return weights @ value, weights
    ### END SOLUTION


# %% exercise="scaled_dot_product_attention" role="check"
check(scaled_dot_product_attention)

# %% role="try"
# Try it: both differences should be zero, up to rounding.
mine = scaled_dot_product_attention(queries, keys, values)
for ours, shown in zip(mine, (weighted_values, weights), strict=True):
    print((ours - shown).abs().max().round(decimals=4))

# %% [markdown]
# ### Exercise 7: `self_attention`
#
# Difficulty 1 of 5
#
# This is easier than the last one, since you only need to put together what you have. In *self*-attention, queries,
# keys and values all come from the same tokens. If one of your earlier functions is still wrong, the check names it.
#
# <details><summary>The last axis of my output has length E</summary>
#
# You mixed the tokens themselves, so which of the three projections hasn't been used?
#
# </details>
#
# <details><summary>I get "too many values to unpack", or a tuple where a tensor should be</summary>
#
# `project_qkv` returns three tensors and `scaled_dot_product_attention` two, so count the names on the left of each
# `=`.
#
# </details>


# %% exercise="self_attention" role="solution"
def self_attention(
    x: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    w_value: Tensor,
) -> tuple[Tensor, Tensor]:
    """Self-attention with one head: project x, then attend.

    x: (..., T, E); w_query and w_key: (E, d_k); w_value: (E, d_v).
    Returns (output (..., T, d_v), weights (..., T, T)).
    """
    ### BEGIN SOLUTION
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(query, key, value)
    ### END SOLUTION


# %% exercise="self_attention" role="check"
check(self_attention)

# %% [markdown]
# ## 8 · Your attention, trained
#
# A new model starts with random matrices, so its weights are random, too, and what "it" takes at first is a mixture
# without meaning. Only training turns it into attention.
#
# So put your `self_attention` into the reader and let training find the three matrices. How often will it be right, and
# what does "it" look at in the end?

# %% role="try" timed=true claim="one_layer_is_a_coin"
# Try it: one layer of yours.
torch.manual_seed(0)
one = Reader(Layer(self_attention, (32, 16), (32, 16), (32, 32)))
my_share = learn_to_read(one, rate=0.003)
show_reads("one layer", yours=my_share)

rows = []
for ending in ("heavy", "weak"):
    one(word_numbers(robot_sentence("robot", "crate", ending)))
    row = one.layers[0].weights[IT].tolist()
    robot, crate = row[LIFTER], row[LIFTED]
    rows.append([robot, crate, robot / crate])
columns = ["on robot", "on crate", "robot over crate"]
show(rows, ["heavy", "weak"], columns, title='weight of "it"', form=".4f")

# %% [markdown]
# At most about half of the answers are right, as if a coin were tossed, and the second table shows why. The ratio of
# the two weights is the same in both sentences, to the last digit. "It" has the same vector in both, so it asks the
# same question, and the two nouns give the same answers. Training can choose other matrices, but in one layer no
# matrices let the ending decide between who lifts and who is lifted. Lesson 02 begins here.
#
# ## 9 · Quiz
#
# ### Exercise 8: `quiz_01`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again. You may scroll up and
# compute in a cell of your own.
#
# 1. `scores_shape` (a shape): if `query` is (5, 16) and `key` is (7, 16), what is the shape of `query @ key.T`?
# 2. `read_weight` (a number, to two decimals): in "birds build nests", what weight does the value of "nests" get in
#    the output of "build"?
# 3. `softmax_by_hand` (a number, to two decimals): somebody prints the softmax of [3, 1, 1] as [0.90, 0.05, 0.05]. What
#    should the first weight be?
# 4. `symmetric` (a letter): which of these can attention without parameters *not* express, whatever the word
#    vectors are?
#    - a. token 2 attends most to itself;
#    - b. two tokens get the same score from token 0;
#    - c. token 2 has a high score for token 5, and token 5 a low one for token 2;
#    - d. all tokens attend to all others equally.
# 5. `one_layer` (a letter): one layer of attention, with the best matrices there are, reads "it was too heavy" and "it
#    was too weak". From one sentence to the other, what can change in the row of "it"?
#    - a. nothing at all, since "it" has the same query in both;
#    - b. the weights on "robot" and "crate", but not the ratio of the two;
#    - c. the ratio of the weights on "robot" and "crate";
#    - d. the sum of the row.
#
# <details><summary>I don't know where to start when a question asks for a shape</summary>
#
# Write the shape of every factor under its name and follow the axes through each product. Which axis is summed over,
# and which ones are left?
#
# </details>

# %% exercise="quiz_01" role="solution"
quiz_01 = {
    "scores_shape": ...,  # a shape, for example (2, 3)
    "read_weight": ...,  # a number, to two decimals
    "softmax_by_hand": ...,  # a number, to two decimals
    "symmetric": ...,  # "a", "b", "c" or "d"
    "one_layer": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_01 = {
    "scores_shape": (5, 7),
    "read_weight": 0.09,
    "softmax_by_hand": 0.79,
    "symmetric": "c",
    "one_layer": "b",
}
### END SOLUTION

# %% exercise="quiz_01" role="check"
check(quiz_01, "quiz_01")

# %% [markdown]
# ## What you can do now
#
# You have written every step of self-attention, for one sequence or a batch, and you can say what each part is there
# for. Dot products are there because a plain average fails, three matrices because one vector can't do three jobs, and
# the square root because wide vectors score too high. The reader knows the two nouns of a sentence, and you know why
# it can't choose between them yet.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2: the formula.
# - Bahdanau, Cho and Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and Translate*,
#   section 3: attention before Transformers, with scores from a small network instead of a dot product.
#
# **Next lesson:** 02, *Attention that learns*. There you train your own attention layers on the robot and the crate.

# %% [markdown]
# ## For those who want more
#
# Later lessons don't need this.
#
# ### The chapter's loop
#
# The chapter computes the context vector of "you" among its eight words in a loop. (It prints five digits of such
# numbers, and we print four, since the fifth depends on the processor. It also counts words from one, so its `x_2` is
# the second word.)

# %%
attention_weights = F.softmax(omega, dim=1)
x_2 = embedded_sentence[1]
context_vec_2 = torch.zeros(x_2.shape)
for j in range(8):
    context_vec_2 += attention_weights[1, j] * embedded_sentence[j]

torch.set_printoptions(precision=3, sci_mode=True)
print("context vector of you", context_vec_2, sep="\n")
torch.set_printoptions(precision=4, sci_mode=False)

# %% role="try"
# Try it: row 1 of yours should be the loop's context vector of "you".
mine = context_vectors(embedded_sentence)[1]
print(torch.allclose(mine, context_vec_2, atol=1e-6))

# %% [markdown]
# ### How much a word keeps of itself
#
# Here are eight words with random vectors of two widths. How much of itself does each keep, on average, with the
# plain dot products, divided by the root, and with random queries and keys?

# %%
own = []
for width in (16, 64):
    start = torch.Generator().manual_seed(0)
    x_wide = torch.randn(8, width, generator=start)
    w_q, w_k = torch.randn(2, width, width, generator=start) / math.sqrt(width)
    plain = x_wide @ x_wide.T
    asked = (x_wide @ w_q) @ (x_wide @ w_k).T / math.sqrt(width)
    ways = [plain, plain / math.sqrt(width), asked]
    own.append([100 * t.softmax(-1).diagonal().mean().item() for t in ways])
columns = ["dot products", "divided by the root", "queries and keys"]
show(own, ["width 16", "width 64"], columns, title="% kept", form=".0f")

# %% [markdown]
# Divided by the root, a word still keeps most of itself, and the wider it is, the more. Random queries and keys,
# without any training, leave it about what every other word gets.
#
# ### What a new model does
#
# A tutorial on attention, which we call "the tutorial" from here on, runs the whole formula once with random
# matrices. It has four tokens, d_model = 8, d_k = d_v = 4, and small random entries (times 0.1) in the matrices.
# Since it sets no seed, its numbers can't be repeated, but ours can.

# %% claim="small_matrices_average"
start = torch.Generator().manual_seed(0)
tokens = torch.randn(4, 8, generator=start)
small = [0.1 * torch.randn(8, 4, generator=start) for _ in range(3)]

q, k, v = (tokens @ matrix for matrix in small)
untrained = (q @ k.T / math.sqrt(4)).softmax(dim=-1)
mixed = untrained @ v
print("input shape:", tuple(tokens.shape))
print("output shape:", tuple(mixed.shape))
print("attention weights shape:", tuple(untrained.shape))
show(untrained, words, title="weights", form=".4f")

# %% role="try"
# Try it: your function on the same tokens; zero, up to rounding.
my_output, my_weights = self_attention(tokens, *small)
print((my_output - mixed).abs().max().round(decimals=4))
print((my_weights - untrained).abs().max().round(decimals=4))

# %% [markdown]
# Every word takes about a quarter of each word. (With 0.2 in place of 0.1 the weights begin to differ.)
#
# The tutorial uses NumPy, and so does the function below, which follows it line for line.


# %%
def in_numpy(x, w_q, w_k, w_v):
    """Self-attention as the tutorial has it: x (T, d_model) to (T, d_v)."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    exps = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exps / np.sum(exps, axis=-1, keepdims=True) @ v


# %%
from_numpy = in_numpy(tokens.numpy(), *(matrix.numpy() for matrix in small))
print(f"largest difference: {np.abs(from_numpy - mixed.numpy()).max():.4f}")
