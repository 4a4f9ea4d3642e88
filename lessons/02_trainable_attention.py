# ---
# jupyter:
#   course:
#     about: dot products, learnt projections, why scores are scaled
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
# # 02 · From dot products to trainable attention
#
# Lesson 01 ended with matrices of small random numbers, and every token got nearly the plain average. Only
# training can change that. Do we need matrices at all? Here you start with the words of a sentence alone. You
# build an attention without parameters, see what it can't do, and then give it matrices that can be trained. The
# second half asks why scores are divided by a square root, and what happens to a model that leaves it out.
#
# **You need** lesson 01: dot product, softmax, and what queries, keys and values are for. Also what a gradient
# is: the slope along which training moves a parameter.
#
# **Afterwards you can**
#
# - turn words into vectors and compare all of them with one product;
# - say what attention without parameters can't express;
# - write trainable self-attention with weight matrices stored as `nn.Linear` stores them;
# - measure with one number how widely a token spreads its attention;
# - explain, with the numbers at hand, why unscaled scores make a model hard to train.
#
# **Time:** <!-- time -->. The plan: words → dot products →
# mixtures → three matrices → `nn.Linear` → entropy → scaling, saturation, gradients → a quiz.
#
# | letter | meaning | in this lesson's sentence |
# | --- | --- | --- |
# | `B` | batch: sequences handled together | none at first |
# | `T` | tokens in a sequence | 8 |
# | `E` | `d_model`, the width of a token's vector | 16 |
# | `d_k` | width of a query and of a key | 16 at first |
# | `d_v` | width of a value | 16 at first |
# | `...` | any number of leading axes, none included | |

# %%
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · From words to vectors
#
# Eight words, and a number for each: its place in an alphabetical word list. The numbers are only labels. That
# "you" is 7 and "can" is 0 does not make "you" larger than "can".

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])
print("sentence", sentence, sep="\n")
print("sorted:", sorted(words))

# %% [markdown]
# An **embedding** is a table with a row of numbers for every word in the list. Looking a word up means taking
# its row. Training will change the rows; at first they are random. Below, the table has 10 rows of 16 numbers,
# and a seed makes the random numbers the same on every run. (`detach` leaves gradients out of the examples
# until we need them.) Sentence and table come from a book chapter on attention, from here on "the chapter".

# %%
torch.manual_seed(123)
embed = nn.Embedding(10, 16)
embedded_sentence = embed(sentence).detach()

print("shape of the embedded sentence:", tuple(embedded_sentence.shape))
torch.set_printoptions(sci_mode=True)
print("you", embedded_sentence[1], sep="\n")
torch.set_printoptions(sci_mode=False)
print("row 7 of the table:", torch.equal(embedded_sentence[1], embed.weight[7]))

# %% [markdown]
# ## 2 · Compare every word with every word
#
# The simplest attention needs no matrices. Let each word be its own query, its own key and its own value. A
# score is then the dot product of two words. Two loops fill the table; it is called *omega* here.

# %%
omega = torch.empty(8, 8)
for i, x_i in enumerate(embedded_sentence):
    for j, x_j in enumerate(embedded_sentence):
        omega[i, j] = torch.dot(x_i, x_j)

torch.set_printoptions(precision=1)
print("omega, to one decimal", omega, sep="\n")
torch.set_printoptions(precision=4)

# %% [markdown]
# Look at the diagonal: it holds the score of each word with itself. Then compare entry [1, 2] with entry
# [2, 1]. Keep both in mind, they come back soon.
#
# Two loops take 64 small steps for 8 tokens, and a million for a thousand tokens. One product of two matrices
# does the same work in a single call. A matrix product *is* a table of dot products: of the rows of the left
# factor with the columns of the right one.
#
# ### Exercise 1: `pairwise_dot_products`
#
# Difficulty 1 of 5
#
# The table of all dot products of the tokens of `x`, for any leading axes, without a Python loop over tokens.
# The check counts the operations that your code asks torch for, with 6 tokens and with 30. Then use it: which two
# *different* words of the sentence fit best?
#
# <details><summary>I get "mat1 and mat2 shapes cannot be multiplied"</summary>
#
# Write the shapes side by side: (8, 16) and (8, 16). Which axis of the second should meet the 16 of the first,
# and where is it now?
#
# </details>
#
# <details><summary>My table is 16 × 16</summary>
#
# The axis that disappears in the product is the one that is added up. You added up over tokens and compared
# features. Which factor has to be transposed?
#
# </details>
#
# <details><summary>It works for one sentence but not for a batch</summary>
#
# `.T` reverses *all* axes, so it is for two axes only. Lesson 01 shows two ways that leave the batch alone.
#
# </details>


# %% exercise="pairwise_dot_products" role="solution"
def pairwise_dot_products(x: Tensor) -> Tensor:
    """Dot product of every token with every token, not scaled.

    x: (..., T, E). Returns (..., T, T): entry [i, j] is token i against token j. No Python loop over
    tokens.
    """
    ### BEGIN SOLUTION
    return x @ x.transpose(-2, -1)
    ### END SOLUTION


# %% exercise="pairwise_dot_products" role="check"
check(pairwise_dot_products)

# %% role="try"
# Try it: your table of the sentence, and whether it equals the loop's.
my_omega = pairwise_dot_products(embedded_sentence)
print(tuple(my_omega.shape), "as the loops say:", torch.allclose(my_omega, omega))
best = my_omega.masked_fill(torch.eye(8).bool(), -math.inf).argmax().item()
print("best fit of two different words:", words[best // 8], "and", words[best % 8])

# %% [markdown]
# ## 3 · Mix: attention without parameters
#
# Softmax turns each row of scores into attention weights, and these mix the words. First with four tokens of
# three numbers, small enough for paper: token 0 against all, softmax, mixture.

# %%
four = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
small_scores = four @ four[0]
small_weights = F.softmax(small_scores, dim=0)
print("scores of token 0", small_scores, sep="\n")
print("weights of token 0", small_weights, sep="\n")
print("mixture for token 0", small_weights @ four, sep="\n")

# %% [markdown]
# Now the sentence. Row 1 belongs to "you" and says how much "you" takes from each of the eight words.

# %%
attention_weights = F.softmax(omega, dim=1)
print("shape of the attention weights:", tuple(attention_weights.shape))
print("sums of the rows", attention_weights.sum(dim=1).round(decimals=4), sep="\n")

# %% [markdown]
# The mixture itself is called the **context vector** of "you": each word's vector times its weight, added up. (The
# chapter prints five digits of such numbers. We print four: the fifth depends on the processor.)

# %%
x_2 = embedded_sentence[1]
context_vec_2 = torch.zeros(x_2.shape)
for j in range(8):
    context_vec_2 += attention_weights[1, j] * embedded_sentence[j]

torch.set_printoptions(precision=3, sci_mode=True)
print("context vector of you", context_vec_2, sep="\n")
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# (The chapter counts words from one: its `x_2` is the second word, `embedded_sentence[1]`.) How much of this
# mixture is "you" itself?

# %%
predict(
    "02_own_weight",
    "How much of its own vector does a word keep, on average?",
    low=0,
    high=100,
    unit="%",
)

# %% role="answer"
for word, weight in zip(words, attention_weights[1], strict=True):
    print(f"you takes {weight:.4f} from {word}")
changed = (context_vec_2 - x_2).abs().max()
print(f"largest difference of the context vector from you itself: {changed:.4f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
shown = left.imshow(omega, cmap="cividis")
left.set(title="dot products", xlabel="key", ylabel="query")
figure.colorbar(shown, ax=left, shrink=0.8)
shown = right.imshow(attention_weights, cmap="cividis", vmin=0, vmax=1)
right.set(title="weights", xlabel="key")
figure.colorbar(shown, ax=right, shrink=0.8)
for axes in (left, right):
    axes.set_xticks(range(8), words, rotation=45, ha="right")
    axes.set_yticks(range(8), words)
plt.show()

compare_guess("02_own_weight", round(100 * attention_weights.diagonal().mean().item(), 1))

# %% [markdown]
# *The picture in words:* two 8 × 8 grids. On the left the diagonal is bright, from about 10 to 25, and nearly
# everything else is much darker; "me" with "translate" and "you" with "help" stand out a little. On the right
# there is a yellow diagonal, every cell close to 1, and the rest is dark blue.
#
# So much work, and "you" has hardly changed. A vector of 16 numbers of size about 1 has a dot product of about 16
# with itself, while that of two unrelated vectors is anywhere around 0, four or so to either side (section 7 says
# why). After the exponential the diagonal takes nearly everything: every word attends to itself.
#
# ### Exercise 2: `context_vectors`
#
# Difficulty 2 of 5
#
# All context vectors at once: softmax of the dot products, **not scaled**, then the mixture. For any leading
# axes; torch's own softmax is allowed.
#
# <details><summary>Right for one sentence, wrong in the check for a batch</summary>
#
# The cell above says `dim=1`. For two axes that is the last one. Which axis is it for (B, T, T)? Count from
# the end.
#
# </details>
#
# <details><summary>The table looks right but the mixtures are wrong</summary>
#
# This table is symmetric, so you can't see in it whether rows and columns are mixed up. Sum your weights along
# the last axis: does each row give 1? And in the product, is the axis that disappears the one along which they
# sum to one?
#
# </details>
#
# <details><summary>I get NaN for large entries</summary>
#
# Did you write the softmax with `exp` yourself? Lesson 01 subtracts something from each row first.
#
# </details>


# %% exercise="context_vectors" role="solution"
def context_vectors(x: Tensor) -> Tensor:
    """Attention without parameters: softmax of the unscaled dot products, then the mixture of the tokens.

    x: (..., T, E). Returns (..., T, E): row i is what token i takes from all tokens.
    """
    ### BEGIN SOLUTION
    weights = torch.softmax(pairwise_dot_products(x), dim=-1)
    return weights @ x
    ### END SOLUTION


# %% exercise="context_vectors" role="check"
check(context_vectors)

# %% role="try"
# Try it: row 1 should be the loop's context vector of "you".
print(torch.allclose(context_vectors(embedded_sentence)[1], context_vec_2, atol=1e-6))

# %% [markdown]
# ### Spot the slip
#
# After the loops, the chapter writes both steps as matrix products and tests them, with the last two lines of the
# next cell. Two tests, and `True` both times.

# %%
omega_mat = embedded_sentence.matmul(embedded_sentence.T)
all_contexts = torch.matmul(attention_weights, embedded_sentence)
print("shape of all context vectors:", tuple(all_contexts.shape))

print(torch.allclose(omega_mat, omega))
print(torch.allclose(all_contexts, all_contexts))

# %%
predict(
    "02_which_test",
    "Which of the two tests can fail?",
    ["the first only", "the second only", "both", "neither"],
)

# %% [markdown]
# A test is worth something if a wrong answer makes it fail, so try one: a table of features in place of tokens,
# and a mixture with the attention weights transposed.

# %% role="answer"
wrong_omega = (embedded_sentence.T @ embedded_sentence)[:8, :8]
wrong_contexts = torch.matmul(attention_weights.T, embedded_sentence)
print("wrong against itself:  ", torch.allclose(wrong_contexts, wrong_contexts))
print("wrong against the loop:", torch.allclose(wrong_contexts[1], context_vec_2, atol=1e-6))
print("right against the loop:", torch.allclose(all_contexts[1], context_vec_2, atol=1e-6))

fails = (not torch.allclose(wrong_omega, omega), not torch.allclose(wrong_contexts, wrong_contexts))
told = {(True, True): "both", (False, False): "neither", (True, False): "the first only"}
compare_guess("02_which_test", told.get(fails, "the second only"))

# %% [markdown]
# The second compares a thing with itself. It can't fail, whatever is in there. (Only a NaN would make it
# `False`, since NaN equals nothing.) Compare with something that was computed **another way**: here, with the
# loop. The checks in this course do the same; what they compare yours with is PyTorch itself or a slow loop.
#
# ### What this attention can't do
#
# Three limits, all visible above:
#
# 1. Every word looks mostly at itself.
# 2. The table is symmetric: "me" can't get a high score for "you" unless "you" gets the same score for "me".
# 3. One vector has to do three jobs. Training can change the embeddings, and with them the scores. But what a
#    word looks for, what it is found by and what it hands over then change together; they can't be learnt
#    apart. "It" could never look for "crate" without "crate" looking for "it".
#
# ## 4 · Three matrices make it trainable
#
# The solution is lesson 01's: give each word a query, a key and a value of its own, made by three matrices.
# Now the matrices are **parameters**, numbers that training may change. Before training they are random.
#
# One word first. The matrices are stored with the *output* axis first, (d_out, d_in), so for a single vector
# the matrix is the left factor.

# %%
torch.manual_seed(123)
d = embedded_sentence.shape[1]
U_query = torch.rand(d, d)
U_key = torch.rand(d, d)
U_value = torch.rand(d, d)

query_2 = U_query.matmul(x_2)
key_2 = U_key.matmul(x_2)
value_2 = U_value.matmul(x_2)
print("x_2", tuple(x_2.shape), " U_query", tuple(U_query.shape), " query_2", tuple(query_2.shape))
print(f"query_2[0] is row 0 of U_query with x_2: {U_query[0] @ x_2:.3f} = {query_2[0]:.3f}")

# %% [markdown]
# For all words at once the chapter puts the words into columns, multiplies, and transposes the result, so that
# each word has a row again. Row 1 must then be the key that we just computed alone.

# %%
keys = U_key.matmul(embedded_sentence.T).T
values = U_value.matmul(embedded_sentence.T).T
print("keys  ", tuple(keys.shape), torch.allclose(key_2, keys[1]))
print("values", tuple(values.shape), torch.allclose(value_2, values[1]))

# %% [markdown]
# How well does the query of "you" fit the key of "help"? One dot product. And the same against all keys:

# %%
omega_23 = query_2.dot(keys[2])
omega_2 = query_2.matmul(keys.T)

torch.set_printoptions(precision=3)
print("omega_23", omega_23, sep="\n")
print("omega_2", omega_2, sep="\n")
torch.set_printoptions(precision=4)

# %% [markdown]
# Scale by √d_k, softmax, mix the values: scaled dot-product attention for one word.

# %%
attention_weights_2 = F.softmax(omega_2 / d**0.5, dim=0)
context_vector_2 = attention_weights_2.matmul(values)

torch.set_printoptions(precision=3, sci_mode=True)
print("attention weights of you", attention_weights_2, sep="\n")
torch.set_printoptions(precision=4, sci_mode=False)
print("trainable context vector of you", context_vector_2, sep="\n")

# %% [markdown]
# "You" now takes 86 % from "to", 14 % from "translate", and almost nothing from itself. That is not *useful*
# yet, since the matrices are random. But it is no longer forced. And the table of scores is no longer
# symmetric:

# %%
queries = U_query.matmul(embedded_sentence.T).T
print(f"you asks help: {queries[1] @ keys[2]:.2f}")
print(f"help asks you: {queries[2] @ keys[1]:.2f}")

# %% [markdown]
# ### Which factor comes first?
#
# The chapter writes `U.matmul(x.T).T`. Transposing a product swaps its factors, (A · B)ᵀ = Bᵀ · Aᵀ, so this
# equals `x @ U.T`: no need to put the words into columns first. `nn.Linear` works the same way. It stores its
# weight matrix as (d_out, d_in), and computes with the transpose.

# %%
layer = nn.Linear(16, 32, bias=False)
print("nn.Linear(16, 32) stores", tuple(layer.weight.shape))

print("x @ U.T, the same result:    ", torch.allclose(embedded_sentence @ U_key.T, keys))
print("F.linear, the same result:   ", torch.allclose(F.linear(embedded_sentence, U_key), keys))
print("x @ U runs too, but is wrong:", torch.allclose(embedded_sentence @ U_key, keys))

# %% [markdown]
# The last line is a trap. Because U is 16 × 16 here, the forgotten transpose raises no error; the numbers are
# just wrong. With `nn.Linear(16, 32)` it would raise. Test with sizes that differ.
#
# <details><summary>Two slips in the chapter's code</summary>
#
# It writes both comparisons of keys and values in one cell without `print`. A notebook shows only the last value
# of a cell, so the first could have been `False` and nobody would have seen it. And it writes `.T` for a single
# vector, `keys[2].T`. A vector has one axis and nothing to transpose. PyTorch warns that this will be an error.
#
# </details>
#
# ## 5 · The same in a batch, with `nn.Linear`
#
# In a model the three matrices are inside `nn.Linear` layers, and a batch axis comes first. A second tutorial,
# "the batched tutorial", does that with this input (B = 1, T = 3, E = 4) and three layers `nn.Linear(4, 4,
# bias=False)`, and prints what it got for Q:

# %%
x = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]]])
first_try, second_try = (nn.Linear(4, 4, bias=False)(x).detach() for _ in range(2))

print("input x", tuple(x.shape))
print("the tutorial's first query: [0.1149, 0.3946, -0.5309, 0.0528]")
print("two runs here agree:       ", torch.allclose(first_try, second_try))

# %% [markdown]
# ### Numbers that nobody can repeat
#
# Run the tutorial's cells again and you get other numbers: new layers are random, and it sets no seed. A result
# that nobody can repeat can't be checked.
#
# But you can work backwards. The first token is [1, 0, 1, 0]: its query is column 0 of the weight matrix plus
# column 2. The second is [0, 2, 0, 2]: twice column 1 plus twice column 3. So put the first query into column
# 0, half of the second into column 1, and zeros elsewhere. Many matrices would do; these are the simplest.


# %%
def layer_that_gives(first, second):
    """A layer 4 -> 4 that turns [1, 0, 1, 0] into `first` and [0, 2, 0, 2] into `second`."""
    made = nn.Linear(4, 4, bias=False).requires_grad_(False)
    zeros = torch.zeros(4)
    made.weight.copy_(torch.stack([torch.tensor(first), torch.tensor(second) / 2, zeros, zeros], dim=1))
    return made


W_q = layer_that_gives([0.11486, 0.39456, -0.53086, 0.05276], [-1.39972, -0.44821, 0.20621, 0.21420])
W_k = layer_that_gives([-0.77997, -0.39416, 0.22687, -0.40636], [1.37066, -0.58766, 0.06717, 0.48354])
W_v = layer_that_gives([0.38920, 0.76413, -0.58278, 0.31508], [0.85777, -0.68321, 0.62444, -1.31321])

Q, K, V = W_q(x), W_k(x), W_v(x)
print("Q", Q, "K", K, "V", V, sep="\n")

# %% [markdown]
# The tutorial's third query is [-0.5850, 0.1705, -0.4278, 0.1599], and we never put it in. The third token is
# the first plus half the second, and a projection keeps such relations, so its query follows. (The tutorial
# prints four decimals but computed with more. So do we: a fifth one is chosen such that all figures agree.)
#
# From here its scores, attention weights and output come out to the last printed digit:

# %%
attn_scores = torch.matmul(Q, K.transpose(-2, -1)) / Q.size(-1) ** 0.5
attn_weights = F.softmax(attn_scores, dim=-1)
output = torch.matmul(attn_weights, V)
print("scaled scores", attn_scores, sep="\n")
print("weights", attn_weights, sep="\n")
print("output", output, sep="\n")

# %% [markdown]
# ### Exercise 3: `trainable_self_attention`
#
# Difficulty 3 of 5
#
# Self-attention whose matrices are stored as in `nn.Linear`: `u_query` and `u_key` are (d_k, E), `u_value` is
# (d_v, E). Scale by √d_k. In the check E, d_k and d_v all differ. Then find the asymmetry: for which two words do
# the two directions differ most?
#
# <details><summary>Right on the sentence, wrong (or an error) in the check</summary>
#
# On the sentence E, d_k and d_v are all 16, so a missing transpose runs, and √16 is the root of any of them.
# For each of your three products and for the scale: which size do you mean, and which axis of which tensor
# has it?
#
# </details>
#
# <details><summary>My attention weights are a little too flat, or too sharp</summary>
#
# The scale belongs to the vectors that meet in the dot product. Are those the tokens themselves?
#
# </details>
#
# <details><summary>The check says that no gradient reaches <code>u_query</code></summary>
#
# Copying a matrix into a new `nn.Linear` makes a new parameter; the gradient then stops there and never
# reaches the argument. Use the matrix itself.
#
# </details>


# %% exercise="trainable_self_attention" role="solution"
def trainable_self_attention(
    x: Tensor, u_query: Tensor, u_key: Tensor, u_value: Tensor
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product self-attention with weight matrices stored (d_out, d_in), as in nn.Linear.

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
# Try it: chapter and tutorial in one call each. All differences should be zero, up to rounding.
my_output, my_weights = trainable_self_attention(embedded_sentence, U_query, U_key, U_value)
gap = (my_weights - my_weights.T).argmax().item()
looks, seen = words[gap // 8], words[gap % 8]
print("the two directions differ most:", looks, "looks at", seen, "and not the other way")
print((my_weights[1] - attention_weights_2).abs().max().round(decimals=4))
print((my_output[1] - context_vector_2).abs().max().round(decimals=4))
my_output, my_weights = trainable_self_attention(x, W_q.weight, W_k.weight, W_v.weight)
print((my_output - output).abs().max().round(decimals=4))

# %% [markdown]
# ## 6 · One number for a row: entropy
#
# You will soon compare hundreds of rows of attention weights, and need a number that says whether a row is
# spread out or concentrated. The usual one is the **entropy** (Shannon 1948):
#
# $$H(w) = -\sum_j w_j \ln w_j$$
#
# With the natural logarithm its unit is the *nat*. Three rows of four weights:

# %%
rows = {
    "all alike": [0.25, 0.25, 0.25, 0.25],
    "two of four": [0.5, 0.5, 0.0, 0.0],
    "mostly one": [0.97, 0.01, 0.01, 0.01],
}
for name, row in rows.items():
    terms = [-w * math.log(w) for w in row if w > 0]
    spread = sum(terms)
    added_up = " + ".join(f"{t:.4f}" for t in terms)
    print(f"{name:12s} {added_up:37s} = {spread:.4f}   exp: {math.exp(spread):.2f}")

# %% [markdown]
# Read the last column as "this row attends to about so many tokens". Equal weights on n tokens have the
# entropy ln n, the largest possible. A row that puts everything on one token has 0.
#
# Note the `if w > 0`. A weight can be exactly zero: softmax rounds small ones to 0, and masks (lesson 04) make
# zeros on purpose. Its term counts as 0, because w · ln w goes to 0 as w does. Without this rule you get:

# %%
zero = torch.tensor(0.0)
print("ln 0 =", zero.log().item(), " and 0 times that =", (zero * zero.log()).item())
for exponent in (1, 3, 6, 12):
    w = 10.0**-exponent
    print(f"w = {w:.0e}: -w ln w = {-w * math.log(w):.1e}")

# %% [markdown]
# ### Exercise 4: `attention_entropy`
#
# Difficulty 3 of 5
#
# The entropy of every row, in nats, for any leading axes. A one-hot row gives 0, and a weight of 0 never gives
# NaN. (The gradient at such a weight isn't judged: there the slope of -w · ln w is infinite.)
#
# <details><summary>Some of my entropies are NaN</summary>
#
# Print the row: it has a zero in it. Give the logarithm something harmless in that place *before* you take it. (A 0
# put in afterwards makes the value right, but its gradient NaN.) `torch.where` chooses between two tensors, entry by
# entry.
#
# </details>
#
# <details><summary>My numbers are larger than expected by a factor of about 1.44</summary>
#
# That is 1 / ln 2. What base is your logarithm?
#
# </details>
#
# <details><summary>Values right, "changed its argument in place"</summary>
#
# `weights[weights == 0] = ...` writes into what the caller gave you. Work on a new tensor.
#
# </details>


# %% exercise="attention_entropy" role="solution"
def attention_entropy(weights: Tensor) -> Tensor:
    """Entropy of every row of attention weights, in nats: -sum of w ln w over the keys (Shannon 1948).

    weights: (..., Tq, Tk), rows that sum to one. Returns (..., Tq); 0 for a one-hot row, never NaN.
    """
    ### BEGIN SOLUTION
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return -(weights * safe.log()).sum(dim=-1)
    ### END SOLUTION


# %% exercise="attention_entropy" role="check"
check(attention_entropy)

# %% role="try"
# Try it: how widely does each word of the sentence look, without parameters and with random matrices?
my_rows = trainable_self_attention(embedded_sentence, U_query, U_key, U_value)[1]
print(f"at most ln 8 = {math.log(8):.2f}")
for mine in zip(words, attention_entropy(attention_weights), attention_entropy(my_rows), strict=True):
    print("{:10s} {:.2f} {:.2f}".format(*mine))

# %% [markdown]
# ## 7 · Why divide by √d_k?
#
# ### Step 1: dot products spread as vectors get wider
#
# Lesson 01 said that scores spread as √d_k. Here is why. Take a query and a key whose entries are independent
# random numbers with mean 0 and variance 1. (*Variance* is the mean of the squared distance from the mean;
# its root is the typical distance.) A product of two such entries again has mean 0 and variance 1. The dot
# product adds up d_k of them, and variances of independent numbers add: it has **variance d_k**, so its
# typical size is √d_k. Measured on 5000 random pairs:

# %% claim="variance_is_the_width"
generator = torch.Generator().manual_seed(0)
print(" d_k   variance of q·k   typical size   typical size of q·k / sqrt(d_k)")
for width in (1, 4, 16, 64, 256, 1024):
    q, k = torch.randn(2, 5000, width, generator=generator)
    dots = (q * k).sum(-1)
    print(f"{width:4d} {dots.var():17.0f} {dots.std():14.1f} {(dots / math.sqrt(width)).std():17.2f}")

# %% [markdown]
# ### Step 2: large scores saturate softmax
#
# Softmax depends on differences. With scores of size 8 (d_k = 64) the best key is often several points ahead
# of the next, and takes almost everything: the row is **saturated**. Below, 2000 random queries attend to 10
# random keys. The entropy can be at most ln 10 = 2.30.


# %% claim="unscaled_rows_saturate"
def random_rows(width, scale):
    """The attention weights of 2000 random queries on 10 random keys."""
    generator = torch.Generator().manual_seed(width)
    q, k = torch.randn(2000, width, generator=generator), torch.randn(10, width, generator=generator)
    return (q @ k.T * scale).softmax(-1)


widths = (1, 4, 16, 64, 256, 1024)
rows_of = {
    "unscaled": [random_rows(n, 1.0) for n in widths],
    "scaled": [random_rows(n, n**-0.5) for n in widths],
}
entropies = {
    name: [torch.special.entr(w).sum(-1).mean() for w in all_rows] for name, all_rows in rows_of.items()
}

print(" d_k   largest weight: unscaled  scaled   entropy: unscaled  scaled")
for i, width in enumerate(widths):
    largest = [all_rows[i].amax(-1).mean() for all_rows in rows_of.values()]
    spread = [values_of[i] for values_of in entropies.values()]
    print(f"{width:4d} {largest[0]:25.2f} {largest[1]:7.2f} {spread[0]:19.2f} {spread[1]:7.2f}")

# %% [markdown]
# ### Step 3: a saturated softmax has no slope
#
# Training asks: if this score were a little larger, how would the weights change? For a weight and its own
# score the answer is w · (1 − w). It is 0.25 at w = 0.5 and shrinks towards 0 as w nears 0 or 1. Autograd says
# the same, for two keys of which one leads:

# %%
for lead in (0.0, 1.0, 2.0, 5.0, 10.0, 20.0):
    score = torch.tensor([lead, 0.0], dtype=torch.float64, requires_grad=True)
    weight = score.softmax(-1)[0]
    (gradient,) = torch.autograd.grad(weight, score)
    by_hand = weight * (1 - weight)
    print(f"lead {lead:4.0f}: weight {weight:.6f}, w (1 - w) {by_hand:.1e}, slope {gradient[0]:.1e}")

# %% [markdown]
# At a lead of 20 the slope is 2e-09. Almost nothing is left of a gradient that passes through here, so the
# query and key matrices don't learn. Vaswani et al. (2017) give this as their reason for the scale: softmax is
# pushed "into regions where it has extremely small gradients". (It is a saturated softmax. What is usually
# called *vanishing gradients* is something else: gradients that shrink from layer to layer in a deep network.)
#
# Watch it happen. Both sides below have the same random queries and keys; on the right their scores are
# divided by √d_k. The slider says how many entries of each vector count. At d_k = 1 the two sides agree. Move
# it to 64: what happens to the rows on the left, to their entropy and their slope? And on the right? Then
# choose a yellow cell on the left with the arrow keys, and compare its slopes on the two sides.

# %% role="draw"
from grader.views import ScalingExplorer

generator = torch.Generator().manual_seed(0)
random_queries = torch.randn(500, 512, generator=generator)
random_keys = torch.randn(10, 512, generator=generator)
ScalingExplorer(random_queries, random_keys)

# %% [markdown]
# On the left nearly every row ends as one yellow cell. On the right the numbers change with every width, but
# the rows stay as widely spread as they were. Here are the random rows of step 2 again, all widths in one
# picture; the slope of a row is w · (1 − w) added up over its weights, as in the view:

# %% role="draw"
slopes = {name: [(w * (1 - w)).sum(-1).mean() for w in all_rows] for name, all_rows in rows_of.items()}
styles = {"unscaled": ("#00224e", "o-"), "scaled": ("#a59c74", "s--")}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
for name, (colour, style) in styles.items():
    left.plot(widths, entropies[name], style, color=colour, label=name)
    right.plot(widths, slopes[name], style, color=colour, label=name)
left.axhline(math.log(10), color="grey", linewidth=0.8)
left.text(1, math.log(10) - 0.04, "ln 10, the most possible", va="top", color="dimgrey")
left.set(xscale="log", xlabel="d_k", title="entropy of a row, in nats", ylim=(0, 2.45))
right.set(xscale="log", xlabel="d_k", title="slope: sum of w (1 - w) over a row", ylim=(0, 1))
right.legend(loc="center right")
plt.show()

# %% [markdown]
# *The picture in words:* two line charts over d_k from 1 to 1024. In both, the two lines start together. The
# unscaled one falls steeply, almost to zero. The scaled one stays nearly level: at about 1.9 nats on the left,
# at about 0.8 on the right.
#
# ### Step 4: does it matter when you train?
#
# A small task: eight random tokens, and token t should fetch token t − 1. Only the query and key matrices may
# change. Both runs start from the same matrices and learn with the same step size (`rate`).


# %% role="train" claim="unscaled_stops_learning"
def train(scale, steps=200, rate=0.1, width=64, seed=7):
    """Learn to fetch the token before; returns the mean squared error at every step, and the last
    weights."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randn(8, width, generator=generator, dtype=torch.float64)
    u = torch.randn(2, width, width, generator=generator, dtype=torch.float64) / math.sqrt(width)
    errors = []
    for _ in range(steps):
        u.requires_grad_()
        w = ((tokens @ u[0].T) @ (tokens @ u[1].T).T * scale).softmax(-1)
        error = (w @ tokens - tokens.roll(1, 0)).square().mean()
        errors.append(error.item())
        u = (u - rate * torch.autograd.grad(error, u)[0]).detach()
    return errors, w.detach()


runs = {"unscaled": train(1.0), "scaled": train(64**-0.5)}
for name, (error, w) in runs.items():
    print(f"{name:9s} error: first {error[0]:.2f}, after 50 {error[50]:.2f}, after 200 {error[-1]:.2f}")
    found = (w.argmax(-1) == torch.arange(8).roll(1)).sum()
    print(f"{'':9s} {found} of 8 tokens found, slope {(w * (1 - w)).sum(-1).mean():.2f}")

# %% role="draw"
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for name, (error, _) in runs.items():
    axes.plot(error, styles[name][1][1:], color=styles[name][0], linewidth=2, label=name)
axes.set(xlabel="step", title="mean squared error while learning to fetch a token", ylim=(0, None))
axes.legend(loc="center right")
plt.show()

# %% [markdown]
# *The picture in words:* the scaled run drops from about 1.2 to nearly 0 within some twenty steps. The unscaled
# one starts higher, jumps down once and then stays flat at about 1.5 to the end.
#
# The unscaled run has stopped learning: most of its rows point at wrong tokens, with gradients too small to
# move them. The scaled run ends with little slope as well, but there it does no harm: it has found every token.
#
# Is the comparison fair? The same step size is not the same step. Without the scale each score is 8 times as
# large, and so is its gradient for the matrices; one step then moves the scores 64 times as far. Perhaps the
# unscaled run only jumped too far. So give both sides many step sizes, four seeds each, and more time. (The rows
# of the next table come one by one, over some seconds.)

# %%
predict(
    "02_step_sizes",
    "With the best of five step sizes, does the unscaled run find all eight tokens?",
    [
        "yes, as the scaled run does",
        "no, but more than with the others",
        "no, the step size makes no difference",
    ],
)

# %% role="answer" claim="no_step_size_is_enough"
found_at = {1.0: [], 64**-0.5: []}  # by scale, one number for each step size
print("tokens found of 8, mean of 4 seeds, after 600 steps")
print("  rate   unscaled   scaled")
for rate in (0.003, 0.01, 0.03, 0.1, 0.3):
    for scale, found in found_at.items():
        last = [train(scale, 600, rate, seed=seed)[1] for seed in range(4)]
        found.append(sum((w.argmax(-1) == torch.arange(8).roll(1)).sum().item() for w in last) / 4)
    print(f"{rate:6.3f} {found_at[1.0][-1]:10.2f} {found_at[64**-0.5][-1]:8.2f}")

best = found_at[1.0]
outcome = "yes, as the scaled run does" if max(best) == 8 else "no, the step size makes no difference"
if 8 > max(best) > min(best) + 1:
    outcome = "no, but more than with the others"
compare_guess("02_step_sizes", outcome)

# %% [markdown]
# So a part of it *was* the step size: with smaller steps the unscaled run finds more. But at no step size does
# it find all eight, while the scaled run does at every one from 0.01 to 0.3, a range of thirty. That is what the
# square root is for: training works, and without a search for the one step size that just works.
#
# ### What the argument does not say
#
# It starts from entries with mean 0 and variance 1. The sentence in part 4 breaks that: `torch.rand` draws from
# 0 to 1, so no entry of U is negative. The entries of a key then tend to share a sign, and the products in a
# score add up and don't cancel. Its attention weights were sharp *although* the scores were scaled. Here are the
# numbers, beside matrices with mean 0 and variance 1/16, which keep queries and keys at variance 1:

# %% claim="rand_is_sharp"
generator = torch.Generator().manual_seed(0)
fair_query, fair_key = torch.randn(2, 16, 16, generator=generator) / math.sqrt(16)
for name, u_q, u_k in (("torch.rand", U_query, U_key), ("mean 0", fair_query, fair_key)):
    scaled_scores = (embedded_sentence @ u_q.T) @ (embedded_sentence @ u_k.T).T / math.sqrt(16)
    entropy = torch.special.entr(scaled_scores.softmax(-1)).sum(-1).mean()
    spread = scaled_scores.std()
    print(f"{name:10s}  typical size of a scaled score {spread:.1f}, mean entropy {entropy:.2f} nats")

# %% [markdown]
# The scale and the starting values belong together: √d_k keeps scores in range only while queries and keys have
# mean 0 and variance about 1. This is one reason why layers start from small random numbers of both signs. Try
# it in the view of step 3: give it `3 * random_queries` and `3 * random_keys`, and the scaled side is saturated
# too.
#
# ## 8 · Quiz
#
# ### Exercise 5: `quiz_02`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `gram_shape` (a shape): `x` has shape (3, 8, 16). What is the shape of `pairwise_dot_products(x)`?
# 2. `symmetric` (a letter): which of these can attention without parameters *not* express, whatever the word
#    vectors are?
#    - a. token 2 attends most to itself;
#    - b. two tokens get the same score from token 0;
#    - c. token 2 has a high score for token 5, and token 5 a low one for token 2;
#    - d. all tokens attend to all others equally.
# 3. `self_test` (a letter): a colleague tests her function with `assert torch.allclose(result, result)`. When
#    does this fail?
#    - a. when the result has the wrong shape;
#    - b. only when the result holds a NaN;
#    - c. when rows and columns are mixed up;
#    - d. when the result is not close to the loop's.
# 4. `weight_shape` (a shape): what is the shape of `nn.Linear(16, 32).weight`?
# 5. `output_shape` (a shape): `x` has shape (8, 16), `u_query` and `u_key` (32, 16), `u_value` (64, 16). What
#    is the shape of the output of `trainable_self_attention`?
# 6. `divisor` (a number, to two decimals): by what does it divide the scores there?
# 7. `typical_size` (a number, to two decimals): entries of queries and keys are independent, mean 0, variance
#    1, and d_k = 100. How large is the standard deviation of a dot product, the root of its variance?
# 8. `entropy` (a number, to two decimals): a query attends to 8 keys with equal weights. What is the entropy,
#    in nats?
# 9. `stuck` (a letter): why did the unscaled run in step 4 stop improving?
#    - a. its rows of attention weights no longer summed to one;
#    - b. its attention weights were nearly one-hot, so hardly any gradient reached the query and key matrices;
#    - c. its scores became NaN;
#    - d. its attention weights were nearly uniform, so all tokens looked alike.

# %% exercise="quiz_02" role="solution"
quiz_02 = {
    "gram_shape": ...,  # a shape, for example (2, 3, 4)
    "symmetric": ...,  # "a", "b", "c" or "d"
    "self_test": ...,  # "a", "b", "c" or "d"
    "weight_shape": ...,  # a shape, for example (2, 3)
    "output_shape": ...,  # a shape, for example (2, 3)
    "divisor": ...,  # a number, to two decimals
    "typical_size": ...,  # a number, to two decimals
    "entropy": ...,  # a number, to two decimals
    "stuck": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_02 = {
    "gram_shape": (3, 8, 8),
    "symmetric": "c",
    "self_test": "b",
    "weight_shape": (32, 16),
    "output_shape": (8, 64),
    "divisor": 5.66,
    "typical_size": 10.0,
    "entropy": 2.08,
    "stuck": "b",
}
### END SOLUTION

# %% exercise="quiz_02" role="check"
check(quiz_02, "quiz_02")

# %% [markdown]
# ## What you can do now
#
# You can build attention from plain dot products, say what it lacks, and give it trainable matrices in the
# form in which `nn.Linear` stores them. You can measure how widely a row is spread. And you have seen the chain
# that the square root breaks: wide vectors, large scores, a saturated softmax, no gradient.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1: the scale, and in footnote 4 the argument
#   of step 1.
# - Glorot and Bengio (2010), *Understanding the difficulty of training deep feedforward neural networks*,
#   section 4.2: how large starting weights should be, and why.
# - Shannon (1948), *A Mathematical Theory of Communication*, section 6: entropy, and the three demands that
#   lead to it.
# - Zhai et al. (2023), *Stabilizing Transformer Training by Preventing Attention Entropy Collapse*, section 3:
#   the entropy that you wrote, watched while large models train.
#
# **Next lesson:** 03, *Many heads*. One row of weights can look for one kind of thing; several heads, side by
# side, look for several.
