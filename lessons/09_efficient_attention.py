# ---
# jupyter:
#   course:
#     about: 'what attention costs; key-value cache, sliding window, grouped queries, chunks, online softmax: measured'
#     picture: online softmax block by block
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
# # 09 · Attention that scales
#
# Every query meets every key, which makes a matrix of 100 scores for 10 tokens and one of 100 million for 10 000. And a
# model that writes would compute the whole matrix again for every new token. In this lesson you write a text token by
# token without computing anything twice. Then you compute the same output without ever having the whole matrix in
# memory.
#
# **You need** lesson 01 (scores, softmax, why the maximum is subtracted) and lesson 04 (the causal mask). Heads are one
# more axis here, and you need nothing else from lesson 03. In section 7 your functions run in a model, whose parts are
# those of lessons 05 to 07.
#
# **Afterwards you can**
#
# - handle a whole batch at once, and say what attention costs in bytes before you run it;
# - decode with a key-value cache, keep it small with a window and with shared key heads, and say what that costs a
#   model that was trained without them;
# - cut attention into pieces, by queries, or by keys with an *online softmax*, and say what is in memory at any moment;
# - measure memory and time, and compare both with what you have counted.
#
# **Time:** <!-- time -->. The plan: the cost of the matrix → a batch → one token at a time → a window → shared heads →
# several tokens after a cache → in a model → a few queries at a time → a few keys at a time → measured → a quiz. That
# is enough for two sittings, with a break after part 7.
#
# | letter | meaning |
# | --- | --- |
# | `B`, `H` | batch, heads (`Hq` of queries and `Hkv` of keys and values where they differ) |
# | `T` | tokens in a sequence (`Tq` queries and `Tk` keys where they differ; `Tnew` new ones after `Told` in a cache) |
# | `E` | `d_model`, the width of a token's vector |
# | `d_k` | width of a query and of a key (`D` for short, with or without heads) |
# | `d_v` | width of a value |
# | `...` | any number of leading axes, or none |

# %%
import math
import os
import textwrap
import time
import warnings

# torch's profiler, which this lesson measures with, stays quiet
os.environ["KINETO_LOG_LEVEL"] = "99"

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from grader import check, compare_guess, peak_bytes, predict, show

torch.set_num_threads(1)  # so that times can be compared
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · What the matrix costs
#
# Memory is easy to predict: count the entries and multiply by the size of one, which is 4 bytes in float32. That is
# enough to answer two questions. **How large is the attention matrix for 1000 tokens? And how much memory does
# attention take for `d_model` 512 and `d_k` 64?** The first has one answer, but the second leaves the length open, so
# its answer is a function.


# %%
def attention_memory(seq_len, d_model=512, d_k=64, size=4):
    """Bytes of what one head makes and needs for one sequence, by name."""
    numbers = {
        "input": seq_len * d_model,
        "projections": 3 * d_model * d_k,  # whatever the length
        "query, key, value": 3 * seq_len * d_k,
        "scores and weights": 2 * seq_len**2,
        "output": seq_len * d_k,
    }
    return {name: size * count for name, count in numbers.items()}


matrix = torch.empty(1000, 1000)
print(f"1000 tokens: {tuple(matrix.shape)}, {matrix.numel():,} numbers", end="")
print(f", {matrix.nbytes:,} bytes")
for name, held in attention_memory(1000).items():
    print(f"  {name:18} {held / 1e6:6.3f} MB")

# %% [markdown]
# For 1000 tokens the two matrices, scores and weights, already outweigh everything else (1 MB is a million bytes here).
#
# A prediction should be checked by measuring. `peak_bytes(function, x)` runs `function(x)`, adds up the bytes of all
# new tensors that exist at the same time, and returns the largest sum. Tensors that existed before, such as `x`, don't
# count.

# %%
x = torch.zeros(1000)  # 4000 bytes
print("x + 1          ", peak_bytes(lambda x: x + 1, x))
# While the product is made, the sum still exists.
print("(x + 1) * 2    ", peak_bytes(lambda x: (x + 1) * 2, x))
print("a view of x    ", peak_bytes(lambda x: x.view(10, 100), x))


# %% [markdown]
# Now measure attention as you know it, called *naive* from now on. If the list is right, the peak of naive attention is
# the size of two matrices.


# %%
def naive_attention(query, key, value):
    """All queries with all keys at once."""
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


for seq_len in (256, 512, 1024):
    long = torch.randn(3, seq_len, 64)  # query, key and value
    measured = peak_bytes(naive_attention, *long)
    predicted = attention_memory(seq_len)["scores and weights"]
    print(f"{seq_len:5} tokens: measured {measured:9,} bytes", end="")
    print(f", two matrices {predicted:9,} bytes")

# %% [markdown]
# The measured sizes agree with the predicted ones to the byte.


# %%
def matrices_and_rest(tokens):
    """Bytes of the two matrices, and of everything else."""
    held = attention_memory(tokens)
    matrices = held["scores and weights"]
    return matrices, sum(held.values()) - matrices


print("   tokens matrices MB     rest MB")
for seq_len in (100, 1000, 10_000, 100_000):
    matrices, rest = matrices_and_rest(seq_len)
    print(f"{seq_len:9,} {matrices / 1e6:11,.2f} {rest / 1e6:11,.2f}")

sizes = {t: matrices_and_rest(t) for t in range(1, 1001)}
heavier = next(t for t, (matrices, rest) in sizes.items() if matrices > rest)
print("the matrices outweigh all the rest from", heavier, "tokens on")

# %% [markdown]
# The matrices grow with the **square** of the length, while everything else grows with the length or not at all. So
# 100 000 tokens take 80 GB for a single head, and with `d_model` 512 and `d_k` 64 there are eight heads (512 = 8 · 64),
# each with its own matrices.
#
# ### Exercise 1: `attention_matrix_bytes`
#
# Difficulty 1 of 5
#
# Compute how many bytes the attention weights of a whole layer take, with one matrix (not two) for every head of every
# sequence.
#
# <details><summary>I get a float</summary>
#
# Bytes are counted in whole numbers, but `/` gives a float, and so does `math.pow`, while `*` and `**` of whole numbers
# don't.
#
# </details>
#
# <details><summary>I don't know which arguments to use</summary>
#
# You need all of them. Write down the shape of the weights in multi-head attention for a batch, axis by axis, and count
# the entries.
#
# </details>


# %% exercise="attention_matrix_bytes" role="solution"
def attention_matrix_bytes(
    batch: int, num_heads: int, seq_len: int, bytes_per_element: int
) -> int:
    """The bytes of the attention weights (B, H, T, T) of one layer."""
    ### BEGIN SOLUTION
    return batch * num_heads * seq_len**2 * bytes_per_element
    ### END SOLUTION


# %% exercise="attention_matrix_bytes" role="check"
check(attention_matrix_bytes)

# %% role="try"
# Try it: eight heads, float32. How many tokens fit into 16 GB?
for my_length in (1000, 8000, 64_000):
    my_bytes = attention_matrix_bytes(1, 8, my_length, 4)
    print(f"{my_length:7,} tokens: {my_bytes / 1e9:8.2f} GB")

# %% [markdown]
# ## 2 · A batch at once
#
# A batch of sequences needs no loop in Python, because `@` and `.mT` work on the last two axes and keep the others, as
# with the heads of lesson 03.
#
# One rule must hold for every batch: **the output of a sequence is the same whether it is alone or in a batch.**

# %%
predict(
    "09_wrong_axis",
    "The scores are (2, 3, 3). What shows that a softmax runs over the batch?",
    ["an error", "a wrong shape", "neither of them"],
)

# %% role="answer"
sequences = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(9))
scores = sequences @ sequences.mT / math.sqrt(4)
for name, axis in (("last axis", -1), ("axis 0", 0)):
    together = scores.softmax(axis) @ sequences
    alone = scores[:1].softmax(axis) @ sequences[:1]
    apart = (together[:1] - alone).abs().max()
    print(f"softmax over the {name:9} {tuple(together.shape)}", end=", ")
    print(f"alone and in the batch: up to {apart:.2f} apart")

right_shape = together.shape == sequences.shape
outcome = "neither of them" if right_shape else "a wrong shape"
compare_guess("09_wrong_axis", outcome)

# %% [markdown] role="answer"
# There is no error, and the shape is right. But every exponential was divided by a sum over the two sequences, so each
# of them depends on the other. Only the rule above shows it: alone and in the batch, the same sequence gets two
# different outputs.

# %% [markdown]
# ### Exercise 2: `batched_self_attention`
#
# Difficulty 2 of 5
#
# Write lesson 01's self-attention for a batch, from (B, T, E) to (B, T, d_v), and return only the output. Don't loop
# over the sequences in Python, since the check counts how many operations torch runs for 6 sequences and for 30.
#
# <details><summary>"Expected size for first two dimensions of batch2 tensor to be ..."</summary>
#
# You multiply two tensors with three axes, and their batch axes differ. Print both shapes, and find the swap that
# leaves the batch where it is.
#
# </details>
#
# <details><summary>The shape is right, but the numbers are not</summary>
#
# Follow the batch axis through every line, and ask over which axis your softmax runs. With a batch in front, the keys
# are no longer on axis 1.
#
# </details>
#
# <details><summary>The check says that I loop, but I don't see where</summary>
#
# `for one in x`, a comprehension, `map` and `torch.stack` of a list are all loops over the batch. Delete the loop and
# keep its body, with `x` in place of the single sequence. How much of it has to change?
#
# </details>


# %% exercise="batched_self_attention" role="solution"
def batched_self_attention(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> Tensor:
    """Self-attention in every sequence of a batch, without a loop over it.

    x: (B, T, E); w_query and w_key: (E, d_k); w_value: (E, d_v).
    Returns (B, T, d_v).
    """
    ### BEGIN SOLUTION
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value
    ### END SOLUTION


# %% exercise="batched_self_attention" role="check"
check(batched_self_attention)

# %% [markdown]
# ## 3 · One token at a time
#
# A model that writes makes one token, appends it, and runs again to make the next. This is called *decoding*. Its
# attention is causal, so a new token changes nothing for those before it, and their keys and values stay the same. Yet
# a plain loop, such as lesson 08's `greedy_decode`, computes them again for every token, along with all the old
# outputs.
#
# So keep them in a **key-value cache**. For a new token, make its query, key and value, append the key and the value to
# the cache, and let the query attend to all of it. Old *queries* are never used again, so they aren't kept.

# %%
generator = torch.Generator().manual_seed(6)
text = torch.randn(5, 8, generator=generator)  # five tokens, E = 8
u_query, u_key, u_value = torch.randn(3, 8, 4, generator=generator)


def without_cache(seen):
    """The output for the last token, everything computed again."""
    query, key, value = seen @ u_query, seen @ u_key, seen @ u_value
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)[-1]


keys, values = torch.empty(0, 4), torch.empty(0, 4)
for t in range(5):
    newest = text[t : t + 1]
    keys = torch.cat((keys, newest @ u_key))
    values = torch.cat((values, newest @ u_value))
    output = F.scaled_dot_product_attention(newest @ u_query, keys, values)[-1]
    apart = (output - without_cache(text[: t + 1])).abs().max()
    print(f"token {t}: cache {tuple(keys.shape)}, largest difference", end=" ")
    print(f"from the output without a cache {apart:.4f}")

# %% [markdown]
# How much does the cache save? Without a cache, step t projects t tokens and makes a matrix of t · t scores. With a
# cache it projects one token and makes one row of t scores.

# %%
predict(
    "09_times_fewer",
    "How many times fewer multiplications does token 1024 take with a cache?",
    ["2 times", "32 times", "1024 times"],
)


# %% role="answer"
def multiplications(t, width=128):
    """In step t, without a cache and with one: three projections, scores,
    weighted sum."""
    without = 3 * t * width**2 + 2 * t * t * width
    return without, 3 * width**2 + 2 * t * width


for t in (16, 128, 1024):
    plain, cached = multiplications(t)
    print(f"step {t:4}: {plain:12,} without, {cached:8,} with a cache", end="")
    print(f", {plain // cached:4} times fewer")
compare_guess("09_times_fewer", f"{plain // cached} times")

# %% [markdown] role="answer"
# With a cache, the work for t tokens shrinks to the work for one, so step t takes t times fewer multiplications. Does
# it take that much less time, too? (Times differ from run to run and from machine to machine.)


# %% role="draw" timed=true claim="a_cached_step_is_cheaper" long="it measures and draws"
def best_time(function, *args, repeats=20):
    """The shortest of several runs, in seconds: what else the machine does can
    only make a run longer."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


attend = F.scaled_dot_product_attention
w_of_step = torch.randn(128, 3 * 128)
steps = (16, 32, 64, 128, 256, 512, 1024)
times = {"without a cache": [], "with a cache": []}


def plain_step(so_far):
    q, k, v = (so_far @ w_of_step).split(128, -1)
    return attend(q, k, v, is_causal=True)[..., -1, :]


def cached_step(so_far, past_keys, past_values):
    q, k, v = (so_far[..., -1:, :] @ w_of_step).split(128, -1)
    keys = torch.cat((past_keys[..., 1:, :], k), -2)
    values = torch.cat((past_values[..., 1:, :], v), -2)
    return attend(q, keys, values)


for t in steps:
    so_far, *past = torch.randn(3, 1, 1, t, 128).unbind()
    times["without a cache"].append(best_time(plain_step, so_far))
    times["with a cache"].append(best_time(cached_step, so_far, *past))

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for which, (name, spent) in enumerate(times.items()):
    colour, marker = ("#00224e", "#a59c74")[which], "os"[which]
    axes.loglog(steps, spent, marker, color=colour, label=f"{name}, measured")
    counted = [multiplications(t)[which] for t in steps]
    line = [spent[-1] * c / counted[-1] for c in counted]
    axes.loglog(steps, line, "-", color=colour, label=f"{name}, counted")
title = "One step of decoding"
axes.set(title=title, xlabel="tokens so far", ylabel="seconds")
axes.legend()
plt.show()
total_plain, total_cached = (1e3 * sum(times[name]) for name in times)
print(f"these seven steps: {total_plain:.2f} ms without", end=", ")
print(f"{total_cached:.2f} ms with a cache")

# %% [markdown]
# *The picture in words:* the points are measured, and the lines show the counted multiplications, each drawn through
# the last of its points. Without a cache the points climb, more and more steeply as the text grows. With a cache they
# climb only a little, because such a step has so little arithmetic that most of its time goes into calling torch.
#
# A cache has a cost, too. It grows with every token, in every layer, and must stay in memory as long as the text
# is being written.
#
# ### Exercise 3: `kv_cache_bytes`
#
# Difficulty 2 of 5
#
# Compute how many bytes the cache of a whole model takes. `num_kv_heads` is the number of heads of keys and values, of
# which there are often as many as query heads, but fewer in section 5.
#
# <details><summary>My result is half of what is expected</summary>
#
# In the loop above, how many tensors make up the cache?
#
# </details>
#
# <details><summary>Do the queries count too?</summary>
#
# No. Which of the three vectors of an old token does a new token need?
#
# </details>


# %% exercise="kv_cache_bytes" role="solution"
def kv_cache_bytes(
    batch: int,
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    seq_len: int,
    bytes_per_element: int,
) -> int:
    """The bytes of the keys and values (B, H, T, D) that all layers keep for
    seq_len tokens."""
    ### BEGIN SOLUTION
    numbers = (
        batch * num_kv_heads * seq_len * head_dim
    )  # of the keys of a layer
    return 2 * num_layers * numbers * bytes_per_element
    ### END SOLUTION


# %% exercise="kv_cache_bytes" role="check"
check(kv_cache_bytes)

# %% [markdown]
# Compare two models whose heads are 128 wide. Llama 2 7B has 32 layers, each with keys and values for 32 heads. Llama 2
# 70B has ten times as many parameters, in 80 layers with 64 query heads each, but keys and values for only 8 heads.

# %%
predict(
    "09_larger_cache",
    "How large is the cache of Llama 2 70B, compared with that of Llama 2 7B?",
    ["less than half as large", "more than half as large", "larger"],
)

# %% role="try"
# Three published models, each at its full length, 2 bytes per number.
my_models = {
    "GPT-2 small, 12 layers, 12 heads": (1, 12, 12, 64, 1024, 2),
    "Llama 2 7B, 32 layers, 32 heads": (1, 32, 32, 128, 4096, 2),
    "Llama 2 70B, 80 layers, 64 heads, 8 of them with keys": (1, 80, 8, 128)
    + (4096, 2),
}
my_caches = [kv_cache_bytes(*my_sizes) for my_sizes in my_models.values()]
for my_model, my_bytes in zip(my_models, my_caches, strict=True):
    print(f"{my_bytes / 1e9:6.3f} GB  {my_model}")
my_share = my_caches[2] / my_caches[1]
my_outcome = "larger" if my_share > 1 else "more than half as large"
if my_share < 0.5:
    my_outcome = "less than half as large"
compare_guess("09_larger_cache", my_outcome)

# %% [markdown] role="answer"
# The larger model has the smaller cache, since eight query heads share each head of keys and values, and 80 · 8 heads
# in all are fewer than 32 · 32. That is one way to save memory, and section 5 is about it. The other is to drop old
# keys and values.

# %% [markdown]
# ## 4 · A window
#
# Must a token see everything before it, when often only what is near matters? With a **sliding window** of 3, a query
# sees three keys, its own and the two before it.

# %%
near = ["1.......", "11......", "111.....", ".111....", "..111..."]
near += ["...111..", "....111.", ".....111"]
window_of_3 = torch.tensor([[cell == "1" for cell in row] for row in near])
everything_before = torch.ones(8, 8, dtype=torch.bool).tril()
# what a token sees through those that it sees
two_layers = window_of_3.float() @ window_of_3.float() > 0

print("scores of 8 tokens: causal", everything_before.sum().item(), end=" ")
print("window of 3", window_of_3.sum().item())
tokens, width = 100_000, 4096
causal_scores = tokens * (tokens + 1) // 2
# the first rows are shorter
window_scores = tokens * width - width * (width - 1) // 2
print(f"of {tokens:,}: causal {causal_scores:,}", end=", ")
print(f"window of {width} {window_scores:,}")

# %% role="draw"
figure, panels = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
masks = {
    "causal": everything_before,
    "a window of 3": window_of_3,
    "a window of 3, two layers": two_layers,
}
ticks = {"xticks": range(8), "yticks": range(8)}
for axes, (title, mask) in zip(panels, masks.items(), strict=True):
    axes.imshow(mask, cmap="cividis", vmin=0, vmax=1)
    axes.set(title=title, xlabel="key", ylabel="query", **ticks)
plt.show()

# %% [markdown]
# *The picture in words:* three 8 × 8 grids are yellow where a query may attend. The causal mask is yellow on the
# diagonal and everywhere below it. The window is a band of three diagonals, the main one and the two below it. After
# two layers the band is five diagonals wide.
#
# The number of scores now grows with the length and no longer with its square. The cache stops growing too, because no
# query sees further back than the window, so older keys and values can be dropped. But a mask alone saves nothing if
# the hidden scores are computed all the same.
#
# Is the rest of the text lost? The third picture shows that it isn't, since in layer 1 a token sees tokens that saw
# others in layer 0.
#
# ### Exercise 4: `sliding_window_mask`
#
# Difficulty 2 of 5
#
# Make the mask of a window for `seq_len` tokens, in which a token sees itself and the `window` − 1 tokens before it.
# True means *may attend*, and the window may be longer than the sequence.
#
# <details><summary>How do I begin?</summary>
#
# Compare positions, as in lesson 04: how far is each key before each query, and which distances are allowed? Or find
# the triangle to remove from the causal mask, with the second argument of `tril` or `triu`, which shifts the diagonal.
#
# </details>
#
# <details><summary>The window is one token too long</summary>
#
# Print your mask for a window of 1, where each token should see only itself.
#
# </details>
#
# <details><summary>"Boolean value of Tensor with more than one value is ambiguous"</summary>
#
# Python's `and` and chains such as `0 <= a < 3` need a single True or False. Which operator of lesson 04 combines two
# masks entry by entry?
#
# </details>


# %% exercise="sliding_window_mask" role="solution"
def sliding_window_mask(seq_len: int, window: int) -> Tensor:
    """True where a token may attend: itself and the window - 1 before it.

    Returns bool (T, T), a row for each query.
    """
    ### BEGIN SOLUTION
    at = torch.arange(seq_len)
    back = at.unsqueeze(-1) - at
    return (back >= 0) & (back < window)
    ### END SOLUTION


# %% exercise="sliding_window_mask" role="check"
check(sliding_window_mask)

# %%
predict(
    "09_reach",
    "With a window of 3 and four layers, how far back does the last token see?",
    low=0,
    high=20,
    unit="tokens",
)

# %% role="try"
# What the last of 20 tokens sees through one layer, two, three and four.
my_window = sliding_window_mask(20, 3).float()
for my_layers in range(1, 5):
    my_seen = torch.linalg.matrix_power(my_window, my_layers)[-1] > 0
    print(my_layers, "".join("x" if is_seen else "." for is_seen in my_seen))
compare_guess("09_reach", my_seen.sum().item() - 1)

# %% [markdown] role="answer"
# Every layer adds window − 1 tokens. In Mistral 7B, with a window of 4096 and 32 layers, that makes 32 · 4095 = 131 040
# tokens.

# %% [markdown]
# ## 5 · Shared keys and values
#
# The cache holds keys and values for every head, but do 64 heads of queries need 64 heads of keys? In **grouped-query
# attention** neighbouring query heads share one head of keys and values (a *key head*, for short). At one end is
# *multi-head* attention, with a key head for each query head, and at the other is *multi-query* attention, with one for
# all.
#
# Here are 4 query heads and 2 key heads, so a group is 4 / 2 = 2 query heads. Query heads 0 and 1 read key head 0, and
# query heads 2 and 3 read key head 1. The cell below works this out for query heads 1 and 2.

# %%
one, other = [[1.0, 0.0]], [[0.0, 1.0]]
four_queries = torch.tensor([one, other, one, other])  # (Hq, Tq, D)
two_keys = torch.stack([2 * torch.eye(2), 4 * torch.eye(2)])  # (Hkv, Tk, D)
# (Hkv, Tk, d_v)
two_values = torch.tensor([[[10.0], [20.0]], [[30.0], [40.0]]])

for query_head, key_head in ((1, 0), (2, 1)):
    scores = four_queries[query_head] @ two_keys[key_head].mT / math.sqrt(2)
    weights = scores.softmax(-1)
    both = {"scores": scores, "weights": weights}
    row = f"query head {query_head}"
    show(both, row, [f"key {i} of head {key_head}" for i in (0, 1)])
    print(f"    output {(weights @ two_values[key_head]).item():.2f}")

# %% [markdown]
# The outputs show which head was read. Those between 10 and 20 come from key head 0, and those between 30 and 40
# from key head 1. One way to compute all heads at once is to repeat the key heads until there is one for each query
# head. Here `repeat_interleave(2)` makes 0, 0, 1, 1 out of the heads 0, 1, as it should be, while `repeat(2)` makes 0,
# 1, 0, 1, which raises no error and gives the right shape.
#
# To avoid repeating, give the queries one axis for the groups and one for the heads of a group, (..., Hkv, Hq / Hkv,
# Tq, D), and let a single key head broadcast over its group. (`unflatten` makes two axes out of one.)
#
# ### Exercise 5: `grouped_query_attention`
#
# Difficulty 3 of 5
#
# `query` is (..., Hq, Tq, D), `key` (..., Hkv, Tk, D), and `value` (..., Hkv, Tk, d_v). Query head h reads key head
# `h // (Hq / Hkv)`, there is no mask, and you may not use `F.scaled_dot_product_attention`. If Hkv doesn't divide Hq,
# raise a `ValueError` that names both numbers.
#
# <details><summary>"The size of tensor a must match the size of tensor b"</summary>
#
# Print the shapes of query and key, and find the axis that differs. Either the keys need one head for each query head,
# or the queries need an extra axis.
#
# </details>
#
# <details><summary>The shape is right, but the numbers are not</summary>
#
# In the example, the outputs of heads 0 and 1 lie between 10 and 20. If yours do for heads 0 and 2, your groups aren't
# made of neighbours.
#
# </details>
#
# <details><summary>It works with a batch, but not without one</summary>
#
# Heads are axis 1 only if there is exactly one axis before them. Which axis are they, counted from the end?
#
# </details>


# %% exercise="grouped_query_attention" role="solution"
def grouped_query_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> Tensor:
    """Attention in which Hq / Hkv neighbouring query heads share one head of
    keys and values.

    query: (..., Hq, Tq, D); key: (..., Hkv, Tk, D); value: (..., Hkv, Tk, d_v).
    Returns (..., Hq, Tq, d_v).
    """
    ### BEGIN SOLUTION
    heads, kv_heads = query.shape[-3], key.shape[-3]
    if heads % kv_heads != 0:
        raise ValueError(f"{heads} query heads can't share {kv_heads} of keys")
    groups = query.unflatten(-3, (kv_heads, heads // kv_heads))
    scores = groups @ key.unsqueeze(-3).mT / math.sqrt(query.shape[-1])
    return (scores.softmax(dim=-1) @ value.unsqueeze(-3)).flatten(-4, -3)
    ### END SOLUTION


# %% exercise="grouped_query_attention" role="check"
check(grouped_query_attention)

# %% role="try"
# Try it: the four heads of the example, and the same from PyTorch.
my_heads = (four_queries, two_keys, two_values)
torchs = F.scaled_dot_product_attention(*my_heads, enable_gqa=True)
print(grouped_query_attention(*my_heads).flatten())
print(torchs.flatten())

# %% [markdown]
# ## 6 · Several tokens after a cache
#
# One new token needs no mask, since it may see all keys in the cache. But when **several tokens come at once**, some
# keys must be hidden. This happens with a *prompt*, the text that the model is given to start with. After a cache the
# mask isn't square, which the next cell shows for three new tokens, at positions 2, 3 and 4, after two cached ones.

# %%
new_at, all_at = torch.tensor([2, 3, 4]), torch.arange(5)
may_attend = all_at <= new_at.unsqueeze(-1)
masks = {
    "may attend": may_attend.int(),
    "torch.ones(3, 5).tril()": torch.ones(3, 5).tril().int(),
}
show(
    masks, [f"token {at}" for at in (2, 3, 4)], [f"key {at}" for at in range(5)]
)

# %% [markdown]
# The diagonal of the first mask ends in the bottom right corner, as it should, because the newest token sees
# everything. In the second mask it starts in the top left corner, as if the new tokens were the first. PyTorch's flag
# `is_causal=True` stands for the second.

# %%
predict(
    "09_is_causal",
    "After four cached tokens, how many keys does a fifth see with the flag?",
    low=0,
    high=5,
)

# %% role="answer"
one_query, five_keys = torch.ones(1, 4), torch.ones(5, 4)
weights = {}
for name, flag in (("with the flag", True), ("without a mask", False)):
    # With values that are the identity, the output shows the weights.
    weights[name] = F.scaled_dot_product_attention(
        one_query, five_keys, torch.eye(5), is_causal=flag
    )
show(weights, "new token", [f"key {at}" for at in range(5)])
compare_guess("09_is_causal", (weights["with the flag"] > 0).sum().item())

# %% [markdown] role="answer"
# With `is_causal=True` the new token sees only the oldest key, not even its own. There is no error, and the shape is
# right, but of the whole text only the first token counts.

# %% [markdown]
# ### Exercise 6: `attend_with_cache`
#
# Difficulty 3 of 5
#
# Write causal attention that continues after a cache. Here `query`, `key` and `value` (B, H, Tnew, D) belong to the new
# tokens, one or many. `cache` is None at first, and later it is the pair `(key, value)` of all tokens so far. Return
# the output for the new tokens and the new cache, and this time you may use `F.scaled_dot_product_attention`.
#
# <details><summary>"Sizes of tensors must match except in dimension ..."</summary>
#
# Two tensors may be joined along the axis in which they differ. The numbers of old and new tokens differ, so which axis
# of (B, H, T, D) counts tokens?
#
# </details>
#
# <details><summary>It is right for a prompt and single tokens, but wrong for several tokens after a cache</summary>
#
# Print your mask for 3 new tokens after 2 cached ones and compare it with the two masks above. `tril` takes a second
# argument that shifts the diagonal.
#
# </details>
#
# <details><summary>What does the cache look like on the first call?</summary>
#
# There is nothing to join yet, so the new keys and values *are* the cache, and you still return a pair.
#
# </details>


# %% exercise="attend_with_cache" role="solution"
def attend_with_cache(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cache: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Causal attention of new tokens to themselves and to all before them.

    query, key, value: (B, H, Tnew, D), the new tokens'; cache: None, or
    (key, value) of the tokens so far, each (B, H, Told, D).
    Returns (output (B, H, Tnew, D), cache), the cache with the new tokens
    appended.
    """
    ### BEGIN SOLUTION
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    ones = torch.ones(new, held, dtype=torch.bool, device=query.device)
    may_attend = ones.tril(held - new)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~may_attend, -math.inf).softmax(dim=-1)
    return weights @ value, (key, value)
    ### END SOLUTION


# %% exercise="attend_with_cache" role="check"
check(attend_with_cache)

# %% role="try"
# Try it: a prompt of 3 tokens, then one, then two more; and all 6 at once.
my_tokens = torch.randn(3, 1, 2, 6, 4)  # query, key, value
my_cache, my_outputs = None, []
for my_piece in my_tokens.split([3, 1, 2], dim=-2):
    my_output, my_cache = attend_with_cache(*my_piece, my_cache)
    my_outputs.append(my_output)
my_whole = F.scaled_dot_product_attention(*my_tokens, is_causal=True)
my_difference = (torch.cat(my_outputs, dim=2) - my_whole).abs().max()
print(f"largest difference {my_difference:.4f}", end=", ")
print(f"cache {tuple(my_cache[0].shape)}")

# %% [markdown]
# ## 7 · In a model
#
# Do your functions hold in a model that writes? Lesson 11 trains a small GPT on tales, and the weights of the course's
# copy are stored. It has two layers with two heads each, 32 wide, its tokens are words, and it has lesson 06's rotary
# positions. The class below runs these weights with any attention function that takes a cache and gives one back.

# %% role="given"
from lesson_06 import apply_rope

# %% long="the model, in one piece"
from grader.models.gpt import course_tales, joined, trained_gpt, words_of

course = trained_gpt()


class Reader:
    """Lesson 11's model. It reads some tokens at a time, after those it has
    read, with `attend(query, key, value, cache)` as its attention."""

    def __init__(self, attend, weights=course.weights):
        self.attend, self.weights = attend, weights
        self.caches, self.done = [None, None], 0  # a cache for each layer

    def linear(self, x, name):
        bias = self.weights[f"{name}.bias"]
        return F.linear(x, self.weights[f"{name}.weight"], bias)

    def norm(self, x, name):
        factor, offset = (
            self.weights[f"{name}.{p}"] for p in ("weight", "bias")
        )
        return F.layer_norm(x, (64,), factor, offset)

    def __call__(self, tokens):  # (B, Tnew) to logits (B, Tnew, V)
        x = F.embedding(tokens, self.weights["token_embedding.weight"])
        places = self.done + torch.arange(tokens.shape[1])
        for layer in range(2):
            block = f"blocks.{layer}"
            read = self.norm(x, f"{block}.norm1")
            rows = [
                self.linear(read, f"{block}.attention.{p}_proj") for p in "qkv"
            ]
            q, k, v = (r.unflatten(-1, (-1, 32)).transpose(1, 2) for r in rows)
            q, k = apply_rope(q, places), apply_rope(k, places)
            mixed, cache = self.attend(q, k, v, self.caches[layer])
            self.caches[layer] = cache
            mixed = mixed.transpose(1, 2).flatten(2)
            x = x + self.linear(mixed, f"{block}.attention.out_proj")
            wide = self.norm(x, f"{block}.norm2")
            wide = self.linear(wide, f"{block}.feed_forward.linear1").relu()
            x = x + self.linear(wide, f"{block}.feed_forward.linear2")
        self.done += tokens.shape[1]
        return F.linear(self.norm(x, "norm"), self.weights["head.weight"])

    def held(self):
        """The bytes of the cache of one text."""
        parts = [part for cache in self.caches for part in cache]
        return sum(part.nbytes // len(part) for part in parts)


# %% role="try" long="it writes, and compares"
# Your cache writes a tale. How large does it get?
my_words = words_of("Once there was a")
my_tale = torch.tensor([[course.words.index(word) for word in my_words]])
my_model, my_new, my_read = Reader(attend_with_cache), my_tale, 0
my_draw = torch.Generator().manual_seed(1)
with torch.no_grad():
    for _ in range(100):
        my_read += my_new.shape[1]
        my_logits = my_model(my_new)[:, -1]
        my_new = (my_logits / 0.5).softmax(-1).multinomial(1, generator=my_draw)
        my_tale = torch.cat((my_tale, my_new), dim=1)
    my_apart = (course(my_tale[:, :-1])[:, -1] - my_logits).abs().max()
print(textwrap.fill(joined([course.words[i] for i in my_tale[0]]), 76))
print(f"tokens read: {my_read}, without a cache {sum(range(4, 104)):,}")
my_bytes = kv_cache_bytes(1, 2, 2, 32, my_read, 4)
print(f"cache: {my_model.held():,} bytes, predicted {my_bytes:,}")
print(f"largest difference from one pass over all: {my_apart:.3f}")

# %% [markdown]
# The model reads each token once and writes what it would have written without a cache.
#
# Now we make the cache smaller. The course's model never had a window, and each of its query heads had a key head of
# its own, so how much worse does it get? We measure the loss on tales that it has never seen, in nats per token. It
# reads forty pieces of 128 tokens side by side, one token at a time.

# %%
word_ids = {word: i for i, word in enumerate(course.words)}
_, unseen, _ = course_tales()
unseen = torch.tensor([word_ids[word] for word in words_of(unseen)])
unseen = unseen[: 40 * 129].view(40, 129)


@torch.no_grad()
def judged(attend, weights=course.weights):
    """The loss on unseen tales, and the bytes of the cache of one of them."""
    reader, losses = Reader(attend, weights), []
    for t in range(128):
        logits = reader(unseen[:, t : t + 1])[:, -1]
        losses.append(F.cross_entropy(logits, unseen[:, t + 1]).item())
    return [f"{sum(losses) / 128:.2f}", f"{reader.held():,}"]


# %% role="try"
# Try it: a window keeps only the end of the cache.
def my_window(window):
    def attend(query, key, value, cache):
        if cache is not None:
            old = max(0, cache[0].shape[2] + 1 - window)
            cache = tuple(part[:, :, old:] for part in cache)
        return attend_with_cache(query, key, value, cache)

    return attend


my_ways = {"everything": attend_with_cache}
my_ways |= {f"the last {w}": my_window(w) for w in (64, 32, 16, 8)}
my_rows = [judged(way) for way in my_ways.values()]
show(my_rows, list(my_ways), ["loss", "bytes"], title="a token sees")

# %% [markdown]
# With a window of 64 tokens the cache is half as large and the loss as low as before, so what the model needs stands
# nearer than that. With 16 it costs 0.17 nats, although two layers of 16 reach 30 tokens back. The first layer would
# have to pass on what later tokens will need, and nobody trained it to do so. Models such as Mistral 7B had their
# window in training.
#
# Half of the cache can also be saved with a single key head for both query heads of a layer. The model has two, so we
# put the mean of the two in place of both, as Ainslie et al. (2023) did with larger models.


# %%
def averaged(weights):
    """The weights with the mean of the two key heads in place of both."""
    one_head = dict(weights)
    for name, weight in weights.items():
        if "k_proj" in name or "v_proj" in name:
            one_head[name] = weight.unflatten(0, (2, 32)).mean(dim=0)
    return one_head


predict(
    "09_averaged",
    "What is the loss then? (Lesson 11's best table of counts has 1.30 nats.)",
    [
        "nearly as low as before",
        "higher, but below that table's",
        "above that table's",
    ],
)


# %% role="try" claim="key_heads_must_be_trained"
# Your grouped queries, one new token at a time.
def my_grouped(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    return grouped_query_attention(query, key, value), (key, value)


my_averaged = judged(my_grouped, averaged(course.weights))
my_rows = [judged(attend_with_cache), my_averaged]
show(my_rows, ["two key heads", "their mean"], ["loss", "bytes"])
my_outcomes = ["nearly as low as before", "higher, but below that table's"]
my_loss = float(my_averaged[0])
my_outcome = [*my_outcomes, "above that table's"][
    (my_loss > 0.7) + (my_loss > 1.3)
]
compare_guess("09_averaged", my_outcome)

# %% [markdown] role="answer"
# The mean of two key heads is neither of them. The queries were trained for keys that no longer exist, and the model
# becomes worse than a table of counts. Large models with grouped queries have either been trained with them from the
# start or, as in Ainslie et al. (2023), trained on for a twentieth of their steps after the heads were averaged.

# %% [markdown]
# The course's model had 3000 steps, so we train the averaged one for 150 more.


# %% role="train" timed=true long="the training, in one piece"
def trained_on(weights, steps=150, rate=0.002):
    """These weights after more training on the tales, with causal attention
    to a single key head."""
    text, _, _ = course_tales()
    text = torch.tensor([word_ids[word] for word in words_of(text)])
    draw = torch.Generator().manual_seed(0)
    weights = {n: w.clone().requires_grad_() for n, w in weights.items()}
    weights["head.weight"] = weights["token_embedding.weight"]  # one table
    optimizer = torch.optim.Adam(set(weights.values()), lr=rate)
    flags = {"is_causal": True, "enable_gqa": True}

    def attend(query, key, value, _):
        return F.scaled_dot_product_attention(query, key, value, **flags), None

    for _ in range(steps):
        starts = torch.randint(len(text) - 97, (8, 1), generator=draw)
        piece = text[starts + torch.arange(97)]
        logits = Reader(attend, weights)(piece[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return weights


one_head = trained_on(averaged(course.weights))

# %% role="try" timed=true claim="training_on_repairs_it"
# Your grouped queries with the weights that were trained on.
my_rows = [my_averaged, judged(my_grouped, one_head)]
show(my_rows, ["their mean", "trained on"], ["loss", "bytes"])

# %% [markdown]
# Now half of the cache costs only 0.06 nats, because the model could learn to live with what it gets.
#
# This is a good place for a break.
#
# ## 8 · A few queries at a time
#
# A long prompt still needs a matrix of T · T scores, but does it have to exist all at once? Each row belongs to one
# query, and softmax works row by row, so no row needs another one.
#
# So take a chunk of queries, make *its* rows, keep the output, throw the rows away, and take the next chunk. Only
# `chunk_size` rows of the matrix exist at any time, but the keys stay whole, because a softmax needs its complete row.
# With `chunk_size=32`, as in the tutorial, there are 32 rows, however long the text is.
#
# Look closely at how a sequence is cut into pieces, because the last piece may be shorter. A slice that reaches past
# the end stops there. But if the number of pieces is rounded *down*, the last tokens are lost.

# %%
seven, hundred = torch.arange(7), torch.arange(100)
starts = list(range(0, 7, 3))
print("starts", starts, "pieces", [seven[i : i + 3].tolist() for i in starts])
rounded_down = [seven[i * 3 : (i + 1) * 3].tolist() for i in range(7 // 3)]
print("7 // 3 =", 7 // 3, "    pieces", rounded_down)
print("split(3)   pieces", [piece.tolist() for piece in seven.split(3)])
print("chunk(3)   pieces", [piece.tolist() for piece in seven.chunk(3)])
print(
    "of 100 tokens: split(3) makes", len(hundred.split(3)), "pieces", end=", "
)
print("chunk(3) makes", len(hundred.chunk(3)))

# %% [markdown]
# `split(3)` makes pieces of 3 and `chunk(3)` makes 3 pieces, which look alike with 7 tokens but not with 100.
#
# And which axis is cut? Code for one sequence, such as `Q[i : i + chunk_size]`, cuts the first, which is the batch if
# there is one. The output may still be right, but every piece holds whole matrices.
#
# ### Exercise 7: `chunked_attention`
#
# Difficulty 3 of 5
#
# Compute the same output as ordinary attention, a chunk of queries at a time, with torch's softmax but without
# `F.scaled_dot_product_attention`. On long sequences, where T is many times D, no tensor may have Tq · Tk entries or
# more for each leading index. The check records the tensors that torch makes, and names the shape of one that is too
# large.
#
# <details><summary>The last rows are missing, or zero</summary>
#
# Print `start` in your loop. Does one more, shorter chunk follow the last full one?
#
# </details>
#
# <details><summary>It works for one sequence, but not with a batch and heads</summary>
#
# Tokens are the last axis but one, whatever comes before, so `query[..., start:end, :]` cuts there, and for `split` and
# `cat` the axis is `dim=-2`.
#
# </details>
#
# <details><summary>The check says that a tensor is too large</summary>
#
# Which line makes a tensor of the shape in the message? It isn't always the scores, since a mask, an empty tensor to
# fill and a collection of weights count as well.
#
# </details>


# %% exercise="chunked_attention" role="solution"
def chunked_attention(
    query: Tensor, key: Tensor, value: Tensor, chunk_size: int
) -> Tensor:
    """Attention for chunk_size queries at a time: the whole matrix of scores
    never exists.

    query: (..., Tq, D); key: (..., Tk, D); value: (..., Tk, d_v).
    Returns (..., Tq, d_v).
    """
    ### BEGIN SOLUTION
    outputs = []
    for chunk in query.split(chunk_size, dim=-2):
        scores = chunk @ key.mT / math.sqrt(query.shape[-1])
        outputs.append(scores.softmax(dim=-1) @ value)
    return torch.cat(outputs, dim=-2)
    ### END SOLUTION


# %% exercise="chunked_attention" role="check"
check(chunked_attention)

# %% role="try"
# Try it: the difference from all at once, for chunks of several sizes.
query, key, value = torch.randn(6, 4), torch.randn(5, 4), torch.randn(5, 3)
my_whole = naive_attention(query, key, value)
for my_size in (1, 4, 6, 32):
    my_chunked = chunked_attention(query, key, value, my_size)
    print(my_size, (my_chunked - my_whole).abs().max().round(decimals=4))

# %% [markdown]
# ## 9 · A few keys at a time
#
# A chunk still has Tk columns, so for a million keys a single row takes 4 MB. Can a row be cut as well? Softmax seems
# to forbid it, because it divides by the sum over *all* keys, and before that it subtracts the maximum over all of
# them. Here is one row of six scores, with one value for each key.

# %%
row = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0, 0.0])
mixed_in = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
print(f"all at once:                 {row.softmax(0) @ mixed_in:.4f}")

# three blocks of two keys
blocks = list(zip(row.split(2), mixed_in.split(2), strict=True))
apart = [float(s.softmax(0) @ v) for s, v in blocks]
rounded = [round(one, 4) for one in apart]
print("a softmax for each block:   ", rounded, f"mean {sum(apart) / 3:.4f}")

# %% [markdown]
# A softmax for each block gives every block the same weight, whatever its scores are. But the division can wait if you
# keep two sums, one of the exponentials and one of the exponentials times the values, and divide at the very end.

# %%
total, mixed = 0.0, 0.0
for s, v in blocks:
    total += s.exp().sum().item()
    mixed += (s.exp() @ v).item()
print(f"two sums, divided at the end: {mixed / total:.4f}")
higher = sum((s + 100).exp().sum().item() for s, _ in blocks)
print("the same with scores 100 higher:", higher)

# %% [markdown]
# The output is right until the scores grow, since exp(100) is too large for float32. Lesson 01's remedy is to subtract
# the row's maximum, but that isn't known until the last block. So subtract the largest score **so far**, the *running
# maximum*. When a larger one comes, everything summed so far was computed with the old maximum, but it can be corrected
# without going back:
#
# $$e^{s - m_\text{new}} = e^{s - m_\text{old}} \cdot e^{m_\text{old} - m_\text{new}}$$
#
# The last factor is the same for every score that has been seen, so one multiplication corrects a whole sum.

# %%
maximum, total, mixed = -math.inf, 0.0, 0.0
print("block       maximum  factor     sum    mixed   output so far")
for s, v in blocks:
    new_maximum = max(maximum, s.max().item())
    # exp(-inf) is 0: before the first block there is nothing to keep.
    factor = math.exp(maximum - new_maximum)
    counts = (s - new_maximum).exp()
    total = total * factor + counts.sum().item()
    mixed = mixed * factor + (counts @ v).item()
    maximum = new_maximum
    print(
        f"{s.tolist()!s:12} {maximum:6.0f} {factor:7.4f} {total:7.4f}", end=""
    )
    print(f" {mixed:8.4f} {mixed / total:9.4f}")

# %% [markdown]
# In the second block the maximum rises from 3 to 5, so both sums shrink by the factor exp(3 − 5) = 0.1353 before the
# new block is added. In the third block the maximum stays at 5, and the factor is 1. The last line ends with the same
# output that we got all at once. This is the **online softmax**, which reads the row once, from left to right, and
# keeps three numbers.
#
# For many queries the three numbers become columns, with a maximum, a sum and a weighted sum of values *for each
# query*. Step through the blocks below.

# %% role="draw"
from grader.views import OnlineSoftmax

generator = torch.Generator().manual_seed(1528)
few_queries = torch.randn(3, 4, generator=generator) * 1.5
eight_keys = torch.randn(8, 4, generator=generator) * 1.5
eight_values = torch.randn(8, 2, generator=generator)
OnlineSoftmax(few_queries, eight_keys, eight_values, block_size=2)

# %% [markdown]
# *Things to try.* Step to the last block, where "output so far" is the final output. After the first block, where does
# a factor fall below 1, and what has just happened to the maximum? With rescaling switched off, which query comes out
# right all the same, and why that one? At the end, read the line about what is in memory. Which of its numbers would
# grow if there were 8000 keys instead of 8?
#
# ### Exercise 8: `online_attention`
#
# Difficulty 4 of 5
#
# Loop over blocks of `block_size` keys with a running maximum and a running sum. As before, no tensor may reach Tq · Tk
# entries, and you may not use `F.scaled_dot_product_attention`. Read the keys **once**. A first pass for the maximum
# and a second one for the sums give the right numbers too, but they earn half of the points. The check also tests that
# more keys mean more work in the loop, and that rows of scores around +1000 and −1000 come out right.
#
# <details><summary>Everything is NaN</summary>
#
# Both −∞ − (−∞) and 0 · ∞ are NaN, so what is your maximum before the first block, and what do you subtract from what?
# After the first block the maximum should be finite, and the factor is exp(old − new), never exp(new − old).
#
# </details>
#
# <details><summary>The first blocks come out right, then the numbers drift away</summary>
#
# In the loop above, two sums are multiplied by the factor. Do you multiply both before the new block is added? And is
# the factor computed before the old maximum is overwritten?
#
# </details>
#
# <details><summary>The shapes don't match: (..., Tq) and (..., Tq, d_v)</summary>
#
# Keep maximum and sum as columns, (..., Tq, 1), which broadcast to any width. `amax(-1, keepdim=True)` and
# `sum(-1, keepdim=True)` make such columns, and `torch.maximum` compares two tensors entry by entry.
#
# </details>
#
# <details><summary>It is right, but not in float64</summary>
#
# `torch.zeros(...)` without a dtype is float32, while `query.new_zeros(...)` and `query.new_full(..., -math.inf)` take
# the dtype of the query.
#
# </details>


# %% exercise="online_attention" role="solution"
def online_attention(
    query: Tensor, key: Tensor, value: Tensor, block_size: int
) -> Tensor:
    """Attention that reads block_size keys at a time, with a running maximum
    and a running sum for each query.

    query: (..., Tq, D); key: (..., Tk, D); value: (..., Tk, d_v).
    Returns (..., Tq, d_v).
    """
    ### BEGIN SOLUTION
    maximum = query.new_full((*query.shape[:-1], 1), -math.inf)
    total = query.new_zeros((*query.shape[:-1], 1))
    mixed = query.new_zeros((*query.shape[:-1], value.shape[-1]))
    blocks = (whole.split(block_size, dim=-2) for whole in (key, value))
    for k, v in zip(*blocks, strict=True):
        scores = query @ k.mT / math.sqrt(query.shape[-1])
        new_maximum = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
        factor = torch.exp(maximum - new_maximum)
        counts = torch.exp(scores - new_maximum)
        total = total * factor + counts.sum(dim=-1, keepdim=True)
        mixed = mixed * factor + counts @ v
        maximum = new_maximum
    return mixed / total
    ### END SOLUTION


# %% exercise="online_attention" role="check"
check(online_attention)

# %% role="try"
# Try it: a million keys for two queries, 4096 at a time and all at once.
my_generator = torch.Generator().manual_seed(1)
my_query = torch.randn(2, 4, generator=my_generator)
my_key = torch.randn(1_000_000, 4, generator=my_generator)
my_value = my_key[:, :1]
my_blocks = online_attention(my_query, my_key, my_value, 4096)
my_whole = torch.softmax(my_query @ my_key.mT / 2, -1) @ my_value
print(my_blocks.flatten().round(decimals=2))
print(my_whole.flatten().round(decimals=2))

# %% [markdown]
# **Tiles.** Which part of the T × T matrix exists at one time? The pictures show four ways of computing it, each
# with half of its work done, and the fourth one cuts both queries and keys.


# %% role="draw" long="four pictures, and what is in them"
def in_memory(rows, columns, done_rows, done_columns, size=12):
    """0: not yet made, 1: made and thrown away, 2: in memory now."""
    state = torch.zeros(size, size)
    state[:done_rows], state[rows, :done_columns] = 1, 1
    state[rows, columns] = 2
    return state


all_of_it, third = slice(None), slice(6, 9)
ways = {
    "naive: everything": in_memory(all_of_it, all_of_it, 0, 0),
    "chunked: some rows": in_memory(third, all_of_it, 6, 0),
    "online: some columns": in_memory(all_of_it, third, 0, 6),
    "fused: a tile": in_memory(third, third, 6, 6),
}
figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.9), layout="constrained")
for axes, (name, state) in zip(panels, ways.items(), strict=True):
    axes.imshow(state, cmap="cividis", vmin=0, vmax=2)
    title = f"{name}\n{(state == 2).sum().item()} of 144 scores"
    axes.set_title(title, fontsize=9)
    axes.set(xlabel="key", ylabel="query", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# *The picture in words:* in four 12 × 12 grids, the scores in memory are yellow, those made and thrown away are grey,
# and those still to come are dark blue. The naive grid has all 144 in yellow, the chunked one a band of three whole
# rows, and the online one a band of three whole columns. The fused one has a tile of three rows and three columns, 9
# scores; the rows above it and the columns to its left are done.
#
# A chunk has whole rows, and a block has whole columns. If both are cut, the size of a *tile* doesn't depend on the
# length. PyTorch's `F.scaled_dot_product_attention` works this way internally, as one *fused* operation. The scores of
# a tile stay in the processor's fast memory and are never written to main memory. On a graphics card, in float16 or
# bfloat16, it is known as FlashAttention.
#
# ## 10 · Measured
#
# To predict the time, count the operations. Every score takes D multiplications and D additions, and the weighted sum
# takes d_v of each per score, which makes about 4 · T² · D operations in all. The product of two large matrices shows
# how many of them your machine does in a second, which gives you a rough lower limit for the time of attention. Whole,
# cut or fused, attention computes the same T² scores, so **cutting saves memory, not arithmetic.**


# %% role="draw" timed=true long="what is measured, what the formulas predict, and two pictures of it"
def measure(ways, lengths=(128, 256, 512, 1024, 2048), width=64):
    """For every way its (length, bytes, seconds), as lists."""
    found = {name: [] for name in ways}
    for seq_len in lengths:
        # query, key and value, each (B, H, T, D)
        long = torch.randn(3, 1, 1, seq_len, width)
        for name, way in ways.items():
            spent = best_time(way, *long)
            found[name].append((seq_len, peak_bytes(way, *long), spent))
    return found


def predictions(lengths, width=64, piece=64):
    """What the formulas say: bytes by way, and seconds for the arithmetic."""
    big = torch.randn(512, 512)
    speed = 2 * 512**3 / best_time(torch.mm, big, big)
    tensors = {
        "naive": lambda t: 2 * t * t,  # two matrices
        # two pieces of the matrix and the last chunk's, the outputs
        "chunked": lambda t: 3 * piece * t + t * width,
        # two pieces; the weighted sum: old, rescaled, added, new
        "online": lambda t: 2 * piece * t + 4 * t * width,
        "fused": lambda t: t * width,  # the output
    }
    sizes = {name: [4 * of(t) for t in lengths] for name, of in tensors.items()}
    return sizes, [4 * t * t * width / speed for t in lengths]


LOOKS = {"naive": ("#00224e", "o"), "chunked": ("#575d6d", "s")}
LOOKS |= {"online": ("#a59c74", "^"), "fused": ("#c4a600", "D")}


def draw_measured(found):
    """Bytes and seconds by length: points measured, lines predicted."""
    lengths = [t for t, _, _ in next(iter(found.values()))]
    sizes, seconds = predictions(lengths)
    _, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained"
    )
    for name, measured in found.items():
        colour, marker = LOOKS[name]
        _, held, spent = zip(*measured, strict=True)
        left.loglog(lengths, sizes[name], "-", color=colour, linewidth=0.9)
        left.loglog(lengths, held, marker, color=colour, label=name)
        right.loglog(lengths, spent, marker, color=colour, label=name)
    label = "4 · T² · D operations"
    right.loglog(lengths, seconds, "-", color="grey", lw=0.9, label=label)
    left.set(title="Memory at the peak", xlabel="tokens", ylabel="bytes")
    right.set(title="Time", xlabel="tokens", ylabel="seconds")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    plt.show()


fused = F.scaled_dot_product_attention
draw_measured(measure({"naive": naive_attention, "fused": fused}))

# %% [markdown]
# *The picture in words:* the points are measured and the lines predicted. On the left the naive points lie on a line of
# slope 2, so doubling the length takes four times the memory. The fused points lie on a line of slope 1, far below. On
# the right both sets of points rise with a slope near 2. For long sequences they lie above the grey line of the bare
# arithmetic, because exponentials, sums, and moving data to and from memory take time, too.
#
# The next cell adds your two functions to this picture, with pieces of 64.

# %% role="try" timed=true
# Try it: all four. Do your points lie on lines of slope 1? A little higher or
# lower is fine: one tensor more or less.
my_ways = {
    "naive": naive_attention,
    "chunked": lambda q, k, v: chunked_attention(q, k, v, 64),
    "online": lambda q, k, v: online_attention(q, k, v, 64),
    "fused": F.scaled_dot_product_attention,
}
draw_measured(measure(my_ways))

# %% [markdown]
# The memory that both need should grow in proportion to the length. Many small operations cost time, but small pieces
# fit into the processor's fast memory, and that saves some. How much of each depends on the machine, and on what else it
# does. On one, with one thread, 2048 tokens took 26 ms naively, 29 ms in chunks, 39 ms online and 24 ms fused, each the
# best of thirty runs. So on a processor the fused operation saves memory above all. On a graphics card it saves time as
# well, because there the scores' way to memory and back takes longer than their arithmetic (Dao et al. 2022).
#
# ## 11 · Quiz
#
# ### Exercise 9: `quiz_09`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `per_token` (a whole number): a model has 24 layers, 16 query heads and 4 key heads, each 64 wide, and 2 bytes per
#    number. By how many bytes does its cache grow with every token of a text?
# 2. `window_scores` (a whole number): how many entries of `sliding_window_mask(6, 3)` are True?
# 3. `key_head` (a whole number): there are 64 query heads and 8 heads of keys and values. Which key head does query
#    head 37 read?
# 4. `chunk_scores` (a shape): with query (2, 8, 100, 64), key (2, 8, 300, 64) and `chunk_size` 16, what is the shape of
#    the scores of the first chunk in `chunked_attention`?
# 5. `running_sum` (a number, to two decimals): a row has the scores 1, 1, 3, 1, read in blocks of two. What is the
#    running sum after the second block?
#
# <details><summary>I don't know where to start with the running sum</summary>
#
# Write out the table of section 9 on paper, with the maximum, the factor and the sum after each block. The first block
# has maximum 1, and both of its exponentials are exp(0).
#
# </details>

# %% exercise="quiz_09" role="solution"
quiz_09 = {
    "per_token": ...,  # a whole number
    "window_scores": ...,  # a whole number
    "key_head": ...,  # a whole number
    "chunk_scores": ...,  # a shape, for example (2, 3, 4)
    "running_sum": ...,  # a number, to two decimals
}
### BEGIN SOLUTION
quiz_09 = {
    "per_token": 24576,
    "window_scores": 15,
    "key_head": 4,
    "chunk_scores": (2, 8, 16, 300),
    "running_sum": 1.41,
}
### END SOLUTION

# %% exercise="quiz_09" role="check"
check(quiz_09, "quiz_09")

# %% [markdown]
# ## What you can do now
#
# You can say in bytes what attention and its cache will cost, and make both smaller, with a window, with shared heads,
# or in pieces. You know what an online softmax keeps, and why a rising maximum means rescaling. Your attention function
# continues after a cache, with its mask aligned to the bottom right, and it has written a tale in a model.
#
# **To read next**
#
# - Milakov and Gimelshein (2018), *Online normalizer calculation for softmax*, section 3: the running maximum and the
#   running sum, with a proof.
# - Rabe and Staats (2021), *Self-attention Does Not Need O(n²) Memory*, sections 2 and 3: the same for attention.
# - Dao, Fu, Ermon, Rudra and Ré (2022), *FlashAttention*, section 3: tiles of queries and keys, chosen for the memory
#   of a graphics card.
# - Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*, sections 2.4 and 3: what decoding token
#   by token costs, and one head of keys and values for all query heads.
# - Ainslie et al. (2023), *GQA*, section 2: a few such heads, between one and all.
# - Jiang et al. (2023), *Mistral 7B*, section 2: a sliding window, and a cache that drops what lies before it.
#
# **Next lesson:** 10, *Reading and debugging attention*. You look into the heads of a trained model, and hunt for eight
# bugs in attention functions that you can only call.
#
# ## For those who want more
#
# Later lessons don't need these three things: how a cache grows, how to find out which program has computed attention,
# and what training keeps in memory.
#
# ### How a cache grows
#
# `torch.cat` is convenient, but at every step it makes a new tensor and copies the whole cache
# into it. Real programs *preallocate*: they make the tensor once, for the longest text, and write each new row into the
# next free place. The part written so far is a view of the large tensor, not a copy.


# %% role="draw" timed=true
def grow_by_cat(new, steps=1000):
    cache = new[:0]
    for _ in range(steps):
        cache = torch.cat((cache, new))


def write_in_place(new, steps=1000):
    cache = new.new_empty(steps, new.shape[-1])
    for t in range(steps):
        cache[t] = new


new_row = torch.randn(1, 1024)
for name, way in (("cat", grow_by_cat), ("preallocated", write_in_place)):
    spent, held = best_time(way, new_row), peak_bytes(way, new_row)
    print(f"{name:12} {1e3 * spent:7.1f} ms, {held / 1e6:.1f} MB at the peak")

# %% [markdown]
# At its peak `cat` needs twice the memory, because the old cache and the new one exist at the same time. (Exercise 6
# allows it all the same, because it leaves its arguments unchanged, and short caches are cheap to copy.)
#
# ### Which kernel ran?
#
# A *kernel* is the program that does an operation's work. For attention PyTorch chooses among
# several, each made for certain shapes and types, and the fused one is only one of them. The profiler lists the
# operators that have actually run.


# %%
def operators(*tensors):
    """The operators inside F.scaled_dot_product_attention, by name."""
    with profile(activities=[ProfilerActivity.CPU]) as run:
        F.scaled_dot_product_attention(*tensors)
    return [event.key for event in run.key_averages()]


# (1, 1, 3, 4) and (1, 1, 8, 4), values (1, 1, 8, 2): half as wide as the keys
queries, keys = few_queries[None, None], eight_keys[None, None]
narrow_values = eight_values[None, None]

predict(
    "09_which_kernel",
    "The values are half as wide as the keys. What does PyTorch do?",
    [
        "it raises an error",
        "it runs the fused kernel",
        "it runs the plain formula",
    ],
)

# %% role="answer"
kinds = {"as wide as the keys": keys, "half as wide": narrow_values}
for name, values in kinds.items():
    ran = operators(queries, keys, values)
    telling = [one for one in ran if "product_" in one or "_softmax" in one]
    print(f"{name:20}", *telling)

is_fused = any("flash" in operator for operator in ran)
outcome = (
    "it runs the fused kernel" if is_fused else "it runs the plain formula"
)
compare_guess("09_which_kernel", outcome)

# %% [markdown] role="answer"
# The fused kernel is `flash_attention_for_cpu`, but with narrower values PyTorch runs `math` and a softmax. That is the
# plain formula, with its whole matrix, and PyTorch doesn't warn you. On a CPU the fused kernel needs four axes, (B, H,
# T, D), and values as wide as the keys.

# %% [markdown]
# To be sure that one kernel runs, allow no other. If PyTorch can't use it, it raises an error, and its warnings give
# the reasons.

# %%
with warnings.catch_warnings(record=True) as reasons:
    warnings.simplefilter("always")
    try:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            F.scaled_dot_product_attention(queries, keys, narrow_values)
    except RuntimeError as error:
        print("RuntimeError:", error)
for reason in reasons:
    print("-", str(reason.message).split(" (Triggered")[0])

with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    fused_output = F.scaled_dot_product_attention(queries, keys, keys)
print("fused", fused_output[0, 0], sep="\n")
print("at once", naive_attention(few_queries, eight_keys, eight_keys), sep="\n")

# %% [markdown]
# For any mask other than `is_causal`, the fused kernel takes a matrix, and computes the hidden scores as well.
# **FlexAttention** (`torch.nn.attention.flex_attention`) takes the mask as a small Python function of two positions,
# and compiles a fused kernel for it. This kernel skips tiles in which everything is hidden, so a sliding window saves
# time, not only memory.
#
# ### Training is another matter
#
# To compute gradients, torch keeps what the backward pass will need, and for a softmax
# that is its output. So besides query, key and value the whole matrix is kept, even if it is cut into chunks. Fused
# attention keeps its output and one number for each row instead (maximum and sum in one), and computes its tiles again
# in the backward pass.


# %%
def kept_for_backward(function, *args):
    """Bytes that torch keeps for the backward pass, each storage once."""
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        function(*args)
    return sum(kept.values())


# %%
# query, key and value, one head
trained = torch.randn(3, 1, 1, 1024, 64, requires_grad=True).unbind()
by_naive = kept_for_backward(naive_attention, *trained)
by_fused = kept_for_backward(F.scaled_dot_product_attention, *trained)
print(f"one matrix          {1024 * 1024 * 4:9,} bytes")
print(f"naive keeps         {by_naive:9,} bytes")
print(f"the fused one keeps {by_fused:9,} bytes")

# %% role="try"
# Try it: what do your chunks keep? The remedy is to compute them again
# (torch.utils.checkpoint).
my_kept = kept_for_backward(chunked_attention, *trained, 64)
print(f"chunked keeps {my_kept:,} bytes")
