# ---
# jupyter:
#   course:
#     about: 'batches, chunks, online softmax, key-value cache: memory and time, measured'
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
# Every query meets every key. For 10 tokens that is a table of 100 scores, for 10 000 tokens one of 100 million.
# The table is what fills the memory first. And yet it is only a step on the way: nobody asks for the scores, only
# for the mixed values. In this lesson you compute the same output without ever holding the table. Then you write
# a text token by token without computing anything twice.
#
# **You need** lesson 01 (scores, softmax, why the maximum is subtracted) and lesson 04 (the causal mask). Heads
# appear as one more axis, nothing else of lesson 03 is needed.
#
# **Afterwards you can**
#
# - handle a whole batch in one go, and say what attention costs in bytes before you run it;
# - cut attention by queries, and by keys with an *online softmax*, and say what is in memory at any moment;
# - measure memory and time, and compare them with what the formulas say;
# - decode with a key-value cache, for a prompt of many tokens too, and say how large the cache gets.
#
# **Time:** <!-- time -->. The plan: a batch → the cost of the table → a
# few queries at a time → a few keys at a time → measured → one token at a time → a quiz.
#
# | letter | meaning |
# | --- | --- |
# | `B`, `H` | batch, heads |
# | `T` | tokens in a sequence (`Tq` queries and `Tk` keys where they differ) |
# | `E` | `d_model`, the width of a token's vector |
# | `D` | `d_k`, the width of queries and keys; `d_v`, the width of values |
# | `...` | any number of leading axes, none included |

# %%
import math
import time
import weakref

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader import check

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · A batch at once
#
# A batch of 2 sequences, each of 3 tokens with 4 numbers, is one tensor (2, 3, 4). You could walk over the sequences
# in a Python loop. You needn't: as in lesson 01, `@` works on the last two axes and carries the others along.

# %%
generator = torch.Generator().manual_seed(9)
sequences = torch.randn(2, 3, 4, generator=generator)  # (B, T, E)
w = torch.randn(4, 2, generator=generator)

in_one_go = sequences @ w
in_a_loop = torch.stack([sequence @ w for sequence in sequences])
print(tuple(sequences.shape), "@", tuple(w.shape), "->", tuple(in_one_go.shape))
print("the same as in a loop:", torch.allclose(in_one_go, in_a_loop))

# %% [markdown]
# For the scores, transpose the keys of each sequence by itself. The batch axis must stay first. `.mT` swaps the last
# two axes, as `transpose(-2, -1)` does. (Programs that use NumPy write `K.transpose(0, 2, 1)`.) `permute(2, 1, 0)`
# reverses *all* axes, as `.T` did for a matrix. And `reshape` gives a shape without moving a
# number.

# %%
numbered = torch.tensor([[[0, 1], [10, 11], [20, 21]], [[100, 101], [110, 111], [120, 121]]])  # (B, T, D)
print("mT            ", tuple(numbered.mT.shape), "first sequence", numbered.mT[0].tolist())
print("permute       ", tuple(numbered.permute(2, 1, 0).shape), "first block   ", numbered.permute(2, 1, 0)[0].tolist())
print("reshape(2,2,3)", tuple(numbered.reshape(2, 2, 3).shape), "first sequence", numbered.reshape(2, 2, 3)[0].tolist())

# %% [markdown]
# Read the hundreds: they tell the sequence. After `permute` the first block holds numbers of both sequences. After
# `reshape` the shape is right, but the first row starts with 0, 1, 10: parts of two tokens.
#
# Why bother to avoid the loop? Each call of a torch function costs a few microseconds before any number is computed.
# Here are 256 short sequences, one by one and all at once. (Times differ from run to run and from machine to machine.)


# %% role="draw" timed=true
def best_time(function, *args, repeats=5):
    """The shortest of several runs, in seconds: what else the machine does can only make a run longer."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


many = torch.randn(256, 8, 16)
loop_time = best_time(lambda: torch.stack([F.scaled_dot_product_attention(one, one, one) for one in many[:, None]]))
batch_time = best_time(lambda: F.scaled_dot_product_attention(many, many, many))
print(f"one by one {1e3 * loop_time:6.2f} ms")
print(f"all at once{1e3 * batch_time:6.2f} ms, {loop_time / batch_time:.0f} times faster")

# %% [markdown]
# One thing must hold for every batch: **a sequence doesn't notice its neighbours.** Its output is the same alone and
# in a batch. Softmax over the wrong axis breaks that, and no shape reveals it.

# %%
scores = sequences @ sequences.mT / math.sqrt(4)
for name, axis in (("last axis", -1), ("axis 0", 0)):
    together = scores.softmax(axis) @ sequences
    alone = scores[:1].softmax(axis) @ sequences[:1]
    print(f"softmax over the {name:9} {tuple(together.shape)}, same alone: {torch.allclose(together[:1], alone)}")

# %% [markdown]
# ### Exercise 1: `batched_self_attention`
#
# Difficulty 2 of 5
#
# Lesson 01's self-attention for a batch: (B, T, E) to (B, T, d_v). Return the output only. No Python loop over the
# sequences: the check counts how many operations torch is asked for with 6 sequences and with 30.
#
# <details><summary>"Expected size for first two dimensions of batch2 tensor to be ..."</summary>
#
# Two tensors with three axes meet in `@`, and their batch axes differ. Print both shapes. Which swap leaves the batch
# where it is?
#
# </details>
#
# <details><summary>The shape is right, the numbers are not</summary>
#
# Follow the batch axis through every line. Over which axis does your softmax run? With a batch in front, axis 1 is no
# longer the keys'.
#
# </details>
#
# <details><summary>The check says that I loop, but I don't see where</summary>
#
# `for one in x`, a comprehension, `map` and `torch.stack` of a list all walk over the batch. Delete the loop and leave
# its body as it is, with `x` for the single sequence. How much of it has to change?
#
# </details>


# %% exercise="batched_self_attention" role="solution"
def batched_self_attention(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Tensor:
    """Self-attention in every sequence of a batch, without a loop over the batch.

    x: (B, T, E); w_query and w_key: (E, d_k); w_value: (E, d_v). Returns (B, T, d_v).
    """
    ### BEGIN SOLUTION
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value
    ### END SOLUTION


# %% exercise="batched_self_attention" role="check"
check(batched_self_attention)

# %% role="try"
# Try it: the first sequence alone and in the batch. Both lines should agree.
my_weights = [torch.randn(4, 2, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2, 3)]
print(batched_self_attention(sequences, *my_weights)[0])
print(batched_self_attention(sequences[:1], *my_weights)[0])

# %% [markdown]
# ## 2 · What the table costs
#
# Memory is easy to predict: count the numbers, and multiply by the bytes of one, 4 in float32. Two questions. **How
# large is the attention matrix for 1000 tokens? And how much memory does attention take for `d_model` 512 and `d_k`
# 64?** The first has one answer. The second doesn't, since the length is left open: it is a function.


# %%
def attention_memory(seq_len, d_model=512, d_k=64, size=4):
    """Bytes of what one head of attention makes and needs, by name, for one sequence."""
    return {
        "input": seq_len * d_model * size,
        "projections": 3 * d_model * d_k * size,  # three matrices, whatever the length
        "query, key, value": 3 * seq_len * d_k * size,
        "scores and weights": 2 * seq_len**2 * size,
        "output": seq_len * d_k * size,
    }


matrix = torch.empty(1000, 1000)
print(f"1000 tokens: {tuple(matrix.shape)}, {matrix.numel():,} numbers, {matrix.nbytes:,} bytes")
for name, held in attention_memory(1000).items():
    print(f"  {name:18} {held / 1e6:6.3f} MB")

# %% [markdown]
# (1 MB is a million bytes here.) For 1000 tokens two tables, scores and weights, already outweigh everything else. All
# other rows of the list grow with the length or not at all. The tables grow with its **square**:

# %%
print("   tokens   tables MB     rest MB")
for seq_len in (100, 1000, 10_000, 100_000):
    held = attention_memory(seq_len)
    tables = held["scores and weights"]
    print(f"{seq_len:9,} {tables / 1e6:11,.2f} {(sum(held.values()) - tables) / 1e6:11,.2f}")

heavier = next(
    t for t in range(1, 1000) if 2 * attention_memory(t)["scores and weights"] > sum(attention_memory(t).values())
)
print("the tables outweigh all the rest from", heavier, "tokens on")

# %% [markdown]
# Ten times the tokens, a hundred times the tables: 80 GB for 100 000 tokens, for a single head. With `d_model` 512
# and `d_k` 64 there are eight heads (512 = 8 · 64), each with tables of its own.

# %% role="draw"
lengths = [2**n for n in range(6, 18)]
tables = [attention_memory(t)["scores and weights"] for t in lengths]
rest = [sum(attention_memory(t).values()) - table for t, table in zip(lengths, tables, strict=True)]
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.loglog(lengths, tables, "o-", color="#00224e", label="scores and weights")
axes.loglog(lengths, rest, "s--", color="#a59c74", label="everything else")
axes.axvline(heavier, color="grey", linewidth=0.8)
axes.set(title="One head, d_model = 512, d_k = 64, float32", xlabel="tokens", ylabel="bytes")
axes.legend()
plt.show()

# %% [markdown]
# *The picture in words:* both axes are logarithmic, so a power of the length is a straight line, and its slope is
# the exponent. The tables rise with slope 2. Everything else is flat at first (the projections) and then rises with
# slope 1. The lines cross at a thin vertical line, near 500 tokens.
#
# ### Exercise 2: `attention_matrix_bytes`
#
# Difficulty 1 of 5
#
# The bytes of the attention weights of a whole layer: one table for every head of every sequence. One table, not two.
#
# <details><summary>I get a float</summary>
#
# Bytes are counted in whole numbers. `/` gives a float, and so does `math.pow`; `*` and `**` of whole numbers don't.
#
# </details>
#
# <details><summary>I don't know which arguments to use</summary>
#
# All of them. Write down the shape of the weights in multi-head attention for a batch, axis by axis. How many numbers
# are that?
#
# </details>


# %% exercise="attention_matrix_bytes" role="solution"
def attention_matrix_bytes(batch: int, num_heads: int, seq_len: int, bytes_per_element: int) -> int:
    """The bytes of the attention weights (B, H, T, T) of one layer."""
    ### BEGIN SOLUTION
    return batch * num_heads * seq_len**2 * bytes_per_element
    ### END SOLUTION


# %% exercise="attention_matrix_bytes" role="check"
check(attention_matrix_bytes)

# %% role="try"
# Try it: eight heads, float32. How many tokens fit into 16 GB?
for my_length in (1000, 8000, 64_000):
    print(f"{my_length:7,} tokens: {attention_matrix_bytes(1, 8, my_length, 4) / 1e9:8.2f} GB")

# %% [markdown]
# ## 3 · A few queries at a time
#
# The first way out is short. A row of the table belongs to one query, and softmax works row by row. No row needs
# another one:

# %%
query = torch.randn(6, 4, generator=generator)
key = torch.randn(5, 4, generator=generator)
value = torch.randn(5, 3, generator=generator)

table = query @ key.mT / math.sqrt(4)  # (6, 5)
two_rows = query[2:4] @ key.mT / math.sqrt(4)  # (2, 5)
print("rows 2 and 3 of all", table.softmax(-1)[2:4] @ value, sep="\n")
print("made by themselves", two_rows.softmax(-1) @ value, sep="\n")

# %% [markdown]
# So take a chunk of queries, make *its* rows, mix, keep the output, throw the rows away, and take the next chunk.
# Only `chunk_size` rows of the table exist at any time. The keys stay whole: a softmax needs its complete row.
#
# How to walk in steps is worth a look, because the last step may be shorter. A slice may reach past the end; it stops
# there. A number of steps that is rounded *down* forgets what is left over.

# %%
seven = torch.arange(7)
print("starts", list(range(0, 7, 3)), "pieces", [seven[start : start + 3].tolist() for start in range(0, 7, 3)])
print("7 // 3 =", 7 // 3, "    pieces", [seven[i * 3 : (i + 1) * 3].tolist() for i in range(7 // 3)])
print("split(3)   pieces", [piece.tolist() for piece in seven.split(3)])
print("chunk(3)   pieces", [piece.tolist() for piece in seven.chunk(3)])
hundred = torch.arange(100)
print("of 100 tokens: split(3) makes", len(hundred.split(3)), "pieces, chunk(3) makes", len(hundred.chunk(3)))

# %% [markdown]
# `split(3)` makes pieces of 3. `chunk(3)` makes 3 pieces. With 7 tokens the two look alike, and with 100 they don't.
#
# And which axis is cut? Code for one sequence, such as `Q[i : i + chunk_size]`, cuts the first. With a batch in front
# that is the batch: the output may still be right, but every piece holds whole tables.
#
# ### Exercise 3: `chunked_attention`
#
# Difficulty 2 of 5
#
# The same output as ordinary attention, a chunk of queries at a time. The check watches what torch makes. On long
# sequences, where T is many times D, no tensor may have Tq · Tk entries or more, for each leading index; if
# one does, it tells you its shape. Torch's softmax is allowed, its fused attention is not.
#
# <details><summary>The last rows are missing, or zero</summary>
#
# Print `start` in your loop. Does a chunk start behind the last full one?
#
# </details>
#
# <details><summary>It works for one sequence, but not with a batch and heads</summary>
#
# Tokens are the last axis but one, whatever comes before. `query[..., start:end, :]` cuts there, and `dim=-2` means
# it in `split` and `cat`.
#
# </details>
#
# <details><summary>The check says that a tensor is too large</summary>
#
# Look at the shape in the message: which line makes it? It need not be the scores. A mask, an empty tensor to be
# filled and weights that are collected count as well.
#
# </details>


# %% exercise="chunked_attention" role="solution"
def chunked_attention(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    """Attention for chunk_size queries at a time: the whole table of scores never exists.

    query: (..., Tq, D); key: (..., Tk, D); value: (..., Tk, d_v). Returns (..., Tq, d_v).
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
# Try it: the difference to all at once, for chunks of several sizes.
for my_size in (1, 4, 6, 100):
    print(
        my_size,
        (chunked_attention(query, key, value, my_size) - table.softmax(-1) @ value).abs().max().round(decimals=4),
    )

# %% [markdown]
# ## 4 · A few keys at a time
#
# A chunk still has Tk columns: for a million keys one single row takes 4 MB. Can a row be cut as well? Softmax seems to
# forbid it. It divides by the sum over *all* keys, and before that it subtracts the maximum over all of them. Here is
# one row of six scores, and one number for each key to be mixed.

# %%
row = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0, 0.0])
mixed_in = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
print(f"all at once:                 {row.softmax(0) @ mixed_in:.4f}")

blocks = list(zip(row.split(2), mixed_in.split(2), strict=True))  # three blocks of two keys
apart = [float(s.softmax(0) @ v) for s, v in blocks]
print("a softmax for each block:   ", [round(one, 4) for one in apart], f"mean {sum(apart) / 3:.4f}")

# %% [markdown]
# A softmax for each block gives every block the same weight, whatever its scores are. But the division can wait. Keep
# two sums, the exponentials and the exponentials times the values, and divide at the very end:

# %%
total, mixed = 0.0, 0.0
for s, v in blocks:
    total += s.exp().sum().item()
    mixed += (s.exp() @ v).item()
print(f"two sums, divided at the end: {mixed / total:.4f}")
print("the same with scores 100 higher:", sum((s + 100).exp().sum().item() for s, _ in blocks))

# %% [markdown]
# Right, until the scores grow: exp(100) is too large for float32. Lesson 01's remedy is to subtract the row's maximum,
# and that isn't known before the last block. So subtract the largest score **so far**, the *running maximum*. When a
# larger one comes, everything summed before was counted with the old maximum. It can be put right without going back:
#
# $$e^{s - m_\text{new}} = e^{s - m_\text{old}} \cdot e^{m_\text{old} - m_\text{new}}$$
#
# The last factor is the same for every score that has been seen. So one multiplication corrects a whole sum.

# %%
maximum, total, mixed = -math.inf, 0.0, 0.0
print("block       maximum  factor     sum    mixed   output so far")
for s, v in blocks:
    new_maximum = max(maximum, s.max().item())
    factor = math.exp(maximum - new_maximum)  # exp(-inf) is 0: before the first block there is nothing to keep
    counts = (s - new_maximum).exp()
    total = total * factor + counts.sum().item()
    mixed = mixed * factor + (counts @ v).item()
    maximum = new_maximum
    print(f"{s.tolist()!s:12} {maximum:6.0f} {factor:7.4f} {total:7.4f} {mixed:8.4f} {mixed / total:9.4f}")

# %% [markdown]
# Follow the second block. The maximum rises from 3 to 5, so both sums shrink by exp(3 − 5) = 0.1353 before the new
# block is added. In the third block the maximum stays at 5, and the factor is 1. The last line is the output of all at
# once. This is the **online softmax**: the row is read once, from left to right, and three things are remembered.
#
# For many queries the three are columns: a maximum, a sum and a row of mixed values *for each query*. Step through it.

# %%
from grader.views import OnlineSoftmax

generator = torch.Generator().manual_seed(1528)
few_queries = torch.randn(3, 4, generator=generator) * 1.5
eight_keys = torch.randn(8, 4, generator=generator) * 1.5
eight_values = torch.randn(8, 2, generator=generator)
OnlineSoftmax(few_queries, eight_keys, eight_values, block_size=2)

# %% [markdown]
# *Things to try.* Step to the last block: "output so far" meets the final output. After the first block, where does a
# factor fall below 1, and what has just happened to the maximum? Now switch rescaling off and step again. Which query
# comes out right all the same, and why that one? Last, read the line that says what is in memory. Which of its numbers
# would grow if there were 8000 keys in place of 8?
#
# ### Exercise 4: `online_attention`
#
# Difficulty 4 of 5
#
# Walk over blocks of `block_size` keys with a running maximum and a running sum. As before, no tensor may reach
# Tq · Tk entries, and the fused attention is excluded. The check looks at two things more: that more keys mean more
# work in the loop, and that rows of scores around +1000 and −1000 come out right.
#
# <details><summary>NaN everywhere</summary>
#
# −∞ − (−∞) is NaN, and 0 · ∞ is too. What is your maximum before the first block, and what do you subtract from what?
# After the first block the maximum should be finite. The factor is exp(old − new), never exp(new − old).
#
# </details>
#
# <details><summary>The first blocks come out right, then the numbers drift away</summary>
#
# In the cell above two things are multiplied by the factor. Both, before the new block is added? And is the factor
# computed before the old maximum is overwritten?
#
# </details>
#
# <details><summary>Shapes don't fit: (..., Tq) and (..., Tq, d_v)</summary>
#
# Keep maximum and sum as columns, (..., Tq, 1). `amax(-1, keepdim=True)` and `sum(-1, keepdim=True)` do that, and
# columns stretch to any width. `torch.maximum` compares two tensors entry by entry.
#
# </details>
#
# <details><summary>It is right, but not in float64</summary>
#
# `torch.zeros(...)` without a dtype is float32. `query.new_zeros(...)` and `query.new_full(..., -math.inf)` take the
# dtype of the query.
#
# </details>


# %% exercise="online_attention" role="solution"
def online_attention(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    """Attention that reads block_size keys at a time, with a running maximum and a running sum for each query.

    query: (..., Tq, D); key: (..., Tk, D); value: (..., Tk, d_v). Returns (..., Tq, d_v).
    """
    ### BEGIN SOLUTION
    maximum = query.new_full((*query.shape[:-1], 1), -math.inf)
    total = query.new_zeros((*query.shape[:-1], 1))
    mixed = query.new_zeros((*query.shape[:-1], value.shape[-1]))
    for k, v in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
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
# Try it: a million keys for two queries, 4096 at a time, compared with all at once.
my_generator = torch.Generator().manual_seed(1)
my_query, my_key = torch.randn(2, 4, generator=my_generator), torch.randn(1_000_000, 4, generator=my_generator)
my_value = my_key[:, :1]
print(online_attention(my_query, my_key, my_value, 4096).flatten().round(decimals=2))
print((torch.softmax(my_query @ my_key.mT / 2, -1) @ my_value).flatten().round(decimals=2))

# %% [markdown]
# PyTorch's `F.scaled_dot_product_attention` works this way internally: tiles of queries, blocks of keys, an online
# softmax, all in one *fused* operation that never writes scores to memory. On a graphics card, in float16 or bfloat16,
# it is known as FlashAttention. It wants four axes, (B, H, T, D), and values as wide as the keys; otherwise it falls
# back on the plain formula. (The values here are half as wide, so zeros fill them up and are cut off afterwards.) Its
# numbers are the formula's, up to rounding.

# %%
wide_values = F.pad(eight_values, (0, eight_keys.shape[-1] - eight_values.shape[-1]))
as_four_axes = [tensor[None, None] for tensor in (few_queries, eight_keys, wide_values)]
fused = F.scaled_dot_product_attention(*as_four_axes)[0, 0, :, : eight_values.shape[-1]]
at_once = (few_queries @ eight_keys.mT / math.sqrt(4)).softmax(-1) @ eight_values
print("fused", fused, sep="\n")
print("at once", at_once, sep="\n")

# %% [markdown]
# ## 5 · Measured
#
# Predictions are cheap. Let's measure. Torch lets us look at every operation that it runs, and at every tensor that
# comes out. `PeakMemory` adds up the bytes of those that are alive, and remembers the most. (How it does so is not
# needed later.) What was there before, query, key and value, doesn't count, and neither does scratch space that a fused
# operation uses inside.


# %%
class PeakMemory(TorchDispatchMode):
    """Inside `with`: `now`, the bytes of the tensors that torch has made and that live; `peak`, the most so far."""

    _should_skip_dynamo = classmethod(lambda cls: False)  # nothing is compiled here: saves a slow import

    def __init__(self, *given):
        super().__init__()
        self.now = self.peak = 0
        self.known = {tensor.untyped_storage().data_ptr() for tensor in given}

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.untyped_storage().data_ptr() not in self.known:
                self.made(tensor.untyped_storage())
        return result

    def made(self, storage):
        self.known.add(storage.data_ptr())
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.freed, storage.data_ptr(), storage.nbytes())

    def freed(self, address, size):
        self.known.discard(address)
        self.now -= size


def peak_bytes(function, *args):
    """The most bytes of new tensors that are alive at once while `function(*args)` runs."""
    with PeakMemory(*args) as memory:
        function(*args)
    return memory.peak


# %% [markdown]
# A first measurement, of attention as you know it, called *naive* from now on. It should hold two tables at
# most: the scores, and what the next step makes of them.


# %%
def naive_attention(query, key, value):
    """All queries with all keys at once."""
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


for seq_len in (256, 512, 1024):
    long = torch.randn(3, seq_len, 64)  # query, key and value
    measured, predicted = peak_bytes(naive_attention, *long), 2 * seq_len**2 * 4
    print(f"{seq_len:5} tokens: measured {measured:9,} bytes, two tables {predicted:9,} bytes")

# %% [markdown]
# To the byte. Now time. Every score takes D multiplications and D additions, and so does the mixing, with d_v: about
# 4 · T² · D operations in all. How many your machine does in a second, the product of two large matrices tells. That
# gives a prediction that nothing can beat by much. Whole, cut or fused, attention computes the same T² scores:
# **cutting saves memory, not arithmetic.**


# %%
def measure(ways, lengths=(128, 256, 512, 1024, 2048), width=64):
    """For every way its (length, bytes, seconds), as lists."""
    found = {name: [] for name in ways}
    for seq_len in lengths:
        long = torch.randn(3, 1, 1, seq_len, width)  # query, key and value, each (B, H, T, D)
        for name, way in ways.items():
            found[name].append((seq_len, peak_bytes(way, *long), best_time(way, *long, repeats=3)))
    return found


def predictions(lengths, width=64, piece=64):
    """What the formulas say: bytes by way, and seconds, from the speed of one large product."""
    big = torch.randn(512, 512)
    speed = 2 * 512**3 / best_time(torch.mm, big, big, repeats=20)
    tensors = {
        "naive": lambda t: 2 * t * t,  # two tables
        "chunked": lambda t: 3 * piece * t + t * width,  # two pieces of the table and the last chunk's, the outputs
        "online": lambda t: 2 * piece * t + 4 * t * width,  # two pieces; the mixture: old, rescaled, added, new
        "fused": lambda t: t * width,  # the output
    }
    sizes = {name: [4 * of(t) for t in lengths] for name, of in tensors.items()}
    return sizes, [4 * t * t * width / speed for t in lengths]


def draw_measured(found):
    """Bytes and seconds against the length, measured (points) and predicted (lines)."""
    lengths = [t for t, _, _ in next(iter(found.values()))]
    sizes, seconds = predictions(lengths)
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    looks = zip(
        ("naive", "chunked", "online", "fused"), ("#00224e", "#575d6d", "#a59c74", "#c4a600"), "os^D", strict=True
    )
    for name, colour, marker in looks:
        if name in found:
            left.loglog(lengths, sizes[name], "-", color=colour, linewidth=0.9)
            left.loglog(lengths, [held for _, held, _ in found[name]], marker, color=colour, label=name)
            right.loglog(lengths, [spent for _, _, spent in found[name]], marker, color=colour, label=name)
    right.loglog(lengths, seconds, "-", color="grey", linewidth=0.9, label="4 · T² · D operations")
    left.set(title="Memory at the peak", xlabel="tokens", ylabel="bytes")
    right.set(title="Time", xlabel="tokens", ylabel="seconds")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    plt.show()


# %% role="draw" timed=true
draw_measured(measure({"naive": naive_attention, "fused": F.scaled_dot_product_attention}))

# %% [markdown]
# *The picture in words:* points are measured, lines predicted. On the left the naive points lie on a line of slope 2:
# every doubling of the length is four times the memory. The fused points lie on a line of slope 1, far below. On the
# right both rise with a slope near 2. For long sequences they lie above the grey line of the bare arithmetic, since
# exponentials, sums and the way to memory and back take time, too.
#
# Your two functions belong in this picture. The next cell puts them in, with pieces of 64.

# %% role="try" timed=true
# Try it: all four. Do your points lie on lines of slope 1? A little higher or lower is fine: one tensor more or less.
draw_measured(
    measure(
        {
            "naive": naive_attention,
            "chunked": lambda query, key, value: chunked_attention(query, key, value, 64),
            "online": lambda query, key, value: online_attention(query, key, value, 64),
            "fused": F.scaled_dot_product_attention,
        }
    )
)

# %% [markdown]
# Both of yours should need memory in proportion to the length. In time the chunked one stays near the naive one,
# and the online one may take twice as long. What they pay for many small operations they get back only in part,
# because small pieces fit into the processor's fast memory. The fused one has both advantages at once.
#
# **Training is another matter.** To compute gradients, torch keeps what the backward pass will need, and for a softmax
# that is its output. So besides query, key and value the whole table is kept, and if it is cut into chunks, all of them
# together. The fused attention keeps its output and one number for each row instead (maximum and sum in one), and
# computes its blocks again on the way back.


# %%
def kept_for_backward(function, *args):
    """Bytes of the tensors that torch keeps for the backward pass, each storage counted once."""
    kept = {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        function(*args)
    return sum(kept.values())


trained = torch.randn(3, 1, 1, 1024, 64, requires_grad=True).unbind()  # query, key and value, one head
print(f"one table          {1024 * 1024 * 4:9,} bytes")
print(f"naive keeps        {kept_for_backward(naive_attention, *trained):9,} bytes")
print(f"the fused one keeps{kept_for_backward(F.scaled_dot_product_attention, *trained):9,} bytes")

# %% role="try"
# Try it: what do your chunks keep? The remedy is to compute them once more (torch.utils.checkpoint).
print(f"chunked keeps {kept_for_backward(lambda *qkv: chunked_attention(*qkv, 64), *trained):,} bytes")

# %% [markdown]
# ## 6 · One token at a time
#
# A model that writes makes one token, appends it, and runs again to make the next: *decoding*. Its attention is
# causal, so a new token changes nothing for those before it. Their keys and values are what they were. Yet a plain
# loop, such as lesson 08's `greedy_decode`, computes them again for every token, and all the old outputs too.
#
# So keep keys and values: a **key-value cache**. For a new token make its query, key and value, append the last two
# to the cache, and let the query look at all of it. Old *queries* are never used again; nobody keeps them.

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
    keys, values = torch.cat((keys, newest @ u_key)), torch.cat((values, newest @ u_value))
    output = F.scaled_dot_product_attention(newest @ u_query, keys, values)[-1]
    same = torch.allclose(output, without_cache(text[: t + 1]), atol=1e-5)
    print(f"token {t}: cache {tuple(keys.shape)}, output as without a cache: {same}")

# %% [markdown]
# No mask is needed here: what is in the cache is past or present. That changes when **several tokens come at once**.
# The *prompt* does, the text that the model is given to start with, and so does any longer piece after it. Then the
# mask isn't square. Three new tokens after two cached ones have the positions 2, 3 and 4:

# %%
new_at, all_at = torch.tensor([2, 3, 4]), torch.arange(5)
may_attend = all_at <= new_at.unsqueeze(-1)
print("which of 5 keys may 3 new tokens see?", may_attend.int(), sep="\n")
print("torch.ones(3, 5).tril()", torch.ones(3, 5).tril().int(), sep="\n")

# %% [markdown]
# The first table ends in its bottom right corner, as it should: the newest token sees everything. The second starts
# in the top left corner, as if the new tokens were the first ones of all. PyTorch's `is_causal=True` means the
# second. With values that are the identity, the output shows the weights of a single new token after four cached ones:

# %%
one_query, five_keys = torch.ones(1, 4), torch.ones(5, 4)
print("is_causal=True", F.scaled_dot_product_attention(one_query, five_keys, torch.eye(5), is_causal=True), sep="\n")
print("no mask", F.scaled_dot_product_attention(one_query, five_keys, torch.eye(5)), sep="\n")

# %% [markdown]
# With `is_causal=True` the new token sees the oldest key and nothing else, not even itself. No error, the right shape,
# and a model that has forgotten all but its first word.
#
# ### Exercise 5: `attend_with_cache`
#
# Difficulty 3 of 5
#
# Causal attention that goes on where it stopped. `query`, `key` and `value` (B, H, Tnew, D) belong to the new tokens,
# one or many. `cache` is None at first, later the pair `(key, value)` of all tokens so far. Return the output for the
# new tokens and the new cache. Nothing is excluded.
#
# <details><summary>"Sizes of tensors must match except in dimension ..."</summary>
#
# Two tensors may be joined along the axis in which they differ. Old and new tokens differ in number: which axis of (B,
# H, T, D) counts tokens?
#
# </details>
#
# <details><summary>Right for a prompt and for single tokens, wrong for several tokens after a cache</summary>
#
# Print your mask for 3 new tokens after 2 cached ones and compare it with the two tables above. `tril` takes a second
# argument that shifts the diagonal.
#
# </details>
#
# <details><summary>What does the cache look like on the first call?</summary>
#
# There is nothing to join: the new keys and values *are* the cache. Return a pair all the same, not None.
#
# </details>


# %% exercise="attend_with_cache" role="solution"
def attend_with_cache(
    query: Tensor, key: Tensor, value: Tensor, cache: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Causal attention of new tokens to themselves and to all tokens before them.

    query, key, value: (B, H, Tnew, D), the new tokens'; cache: None, or (key, value) of the tokens so far, each
    (B, H, Told, D). Returns (output (B, H, Tnew, D), cache), the cache with the new tokens appended.
    """
    ### BEGIN SOLUTION
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    may_attend = torch.ones(new, held, dtype=torch.bool, device=query.device).tril(held - new)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~may_attend, -math.inf).softmax(dim=-1)
    return weights @ value, (key, value)
    ### END SOLUTION


# %% exercise="attend_with_cache" role="check"
check(attend_with_cache)

# %% role="try"
# Try it: a prompt of 3 tokens, then one, then two more; compared with all 6 at once.
my_tokens = torch.randn(3, 1, 2, 6, 4)  # query, key, value
my_cache, my_outputs = None, []
for my_piece in my_tokens.split([3, 1, 2], dim=-2):
    my_output, my_cache = attend_with_cache(*my_piece, my_cache)
    my_outputs.append(my_output)
my_whole = F.scaled_dot_product_attention(*my_tokens, is_causal=True)
print(torch.allclose(torch.cat(my_outputs, dim=2), my_whole, atol=1e-5), tuple(my_cache[0].shape))

# %% [markdown]
# How much does it save? Without a cache step t projects t tokens and makes a table of t · t scores. With a cache it
# projects one token and makes one row of t scores: in step t that is t times fewer multiplications. Counted, and then
# measured:


# %%
def multiplications(t, width=128):
    """In step t, without a cache and with one: three projections, scores, mixture."""
    return 3 * t * width**2 + 2 * t * t * width, 3 * width**2 + 2 * t * width


for t in (16, 128, 1024):
    plain, cached = multiplications(t)
    print(f"step {t:4}: {plain:12,} without, {cached:8,} with a cache, {plain // cached:4} times fewer")

# %% role="draw" timed=true
w_of_step = torch.randn(128, 3 * 128)
steps, times = (16, 32, 64, 128, 256, 512, 1024), {"without a cache": [], "with a cache": []}
for t in steps:
    so_far, past_keys, past_values = torch.randn(3, 1, 1, t, 128).unbind()

    def plain_step(so_far):
        return F.scaled_dot_product_attention(*(so_far @ w_of_step).split(128, -1), is_causal=True)[..., -1, :]

    def cached_step(so_far, past_keys, past_values):
        q, k, v = (so_far[..., -1:, :] @ w_of_step).split(128, -1)
        keys, values = torch.cat((past_keys[..., 1:, :], k), -2), torch.cat((past_values[..., 1:, :], v), -2)
        return F.scaled_dot_product_attention(q, keys, values)

    times["without a cache"].append(best_time(plain_step, so_far))
    times["with a cache"].append(best_time(cached_step, so_far, past_keys, past_values))

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for (name, spent), colour, marker, which in zip(times.items(), ("#00224e", "#a59c74"), "os", (0, 1), strict=True):
    counted = [multiplications(t)[which] for t in steps]
    axes.loglog(steps, spent, marker, color=colour, label=f"{name}, measured")
    axes.loglog(steps, [spent[-1] * c / counted[-1] for c in counted], "-", color=colour, label=f"{name}, counted")
axes.set(title="One step of decoding", xlabel="tokens so far", ylabel="seconds")
axes.legend()
plt.show()
total_plain, total_cached = (sum(times[name]) for name in times)
print(f"these seven steps: {1e3 * total_plain:.2f} ms without, {1e3 * total_cached:.2f} ms with a cache")

# %% [markdown]
# *The picture in words:* points are measured; lines are the counted multiplications, laid through the last point of
# each. Without a cache the points climb steeply, the longer the text the more. With a cache they climb little: there
# is so little arithmetic in such a step that calling torch takes most of its time.
#
# A cache has its price, too. It grows with every token, in every layer, and it must stay in memory as long as the text
# is being written.
#
# ### Exercise 6: `kv_cache_bytes`
#
# Difficulty 1 of 5
#
# The bytes of the cache of a whole model. `num_kv_heads` is the number of heads that have keys and values of their own.
# Often that is the number of all heads, but several query heads may *share* one head of keys and values. (That is
# called grouped-query attention, and multi-query attention if all share a single one.)
#
# <details><summary>My result is half of what is expected</summary>
#
# Look at what `attend_with_cache` returns. How many tensors is a cache?
#
# </details>
#
# <details><summary>Where do the queries come in?</summary>
#
# They don't. Which of the three vectors of an old token does a new token need?
#
# </details>


# %% exercise="kv_cache_bytes" role="solution"
def kv_cache_bytes(
    batch: int, num_layers: int, num_kv_heads: int, head_dim: int, seq_len: int, bytes_per_element: int
) -> int:
    """The bytes of the keys and values (B, H, T, D) that all layers keep for seq_len tokens."""
    ### BEGIN SOLUTION
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element
    ### END SOLUTION


# %% exercise="kv_cache_bytes" role="check"
check(kv_cache_bytes)

# %% role="try"
# Try it: three published models, each at its full length, 2 bytes a number.
for my_model, my_sizes in (
    ("GPT-2 small, 12 layers, 12 heads", (12, 12, 64, 1024)),
    ("Llama 2 7B, 32 layers, 32 heads", (32, 32, 128, 4096)),
    ("Llama 2 70B, 80 layers, 64 heads, 8 of them with keys", (80, 8, 128, 4096)),
):
    print(f"{kv_cache_bytes(1, *my_sizes, 2) / 1e9:6.3f} GB  {my_model}")

# %% [markdown]
# If your numbers are right, the model with ten times the parameters has the smaller cache. Sharing keys and values
# among eight query heads does that.
#
# ## 7 · Quiz
#
# ### Exercise 7: `quiz_09`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `table_entries` (a whole number): one sequence of 1000 tokens, 12 heads. How many numbers are the attention weights
#    of one layer?
# 2. `batched_shape` (a shape): `x` is (4, 10, 16), `w_query` and `w_key` are (16, 8), `w_value` is (16, 6). What
#    shape does `batched_self_attention` return?
# 3. `chunk_scores` (a shape): query (2, 8, 100, 64), key (2, 8, 300, 64), `chunk_size` 16. What is the shape of the
#    scores of the first chunk in `chunked_attention`?
# 4. `last_chunk` (a whole number): the same call. How many queries are in the last chunk?
# 5. `factor` (a number, to two decimals): the running maximum of a row is 3, the next block's largest score is 5. By
#    what are the sum and the mixture so far multiplied?
# 6. `running_sum` (a number, to two decimals): a row has the scores 1, 1, 3, 1, read in blocks of two. What is the
#    running sum after the second block?
# 7. `twice_as_long` (a letter): a sequence becomes twice as long, `chunk_size` stays. The scores that
#    `chunked_attention` holds at any moment
#    - a. take as much memory as before;
#    - b. take twice as much;
#    - c. take four times as much;
#    - d. take half as much, since there are more chunks.
# 8. `what_is_saved` (a letter): what does a key-value cache save?
#    - a. memory: less of it is taken than without;
#    - b. the scores of the new token with old keys;
#    - c. projecting old tokens and attending from them again;
#    - d. the mask, which hides what comes later.
# 9. `first_of_three` (a letter): three tokens come after two that are in the cache. Which keys may the first of the
#    three see?
#    - a. key 0 only;
#    - b. keys 0, 1 and 2;
#    - c. keys 0 to 4;
#    - d. key 2 only.
#
# <details><summary>I don't know where to start with the running sum</summary>
#
# Make the table of section 4 on paper: after each block the maximum, the factor, the sum. The first block has maximum
# 1, and both of its exponentials are exp(0).
#
# </details>

# %% exercise="quiz_09" role="solution"
quiz_09 = {
    "table_entries": ...,  # a whole number
    "batched_shape": ...,  # a shape, for example (2, 3, 4)
    "chunk_scores": ...,  # a shape, for example (2, 3, 4)
    "last_chunk": ...,  # a whole number
    "factor": ...,  # a number, to two decimals
    "running_sum": ...,  # a number, to two decimals
    "twice_as_long": ...,  # "a", "b", "c" or "d"
    "what_is_saved": ...,  # "a", "b", "c" or "d"
    "first_of_three": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_09 = {
    "table_entries": 12000000,
    "batched_shape": (4, 10, 6),
    "chunk_scores": (2, 8, 16, 300),
    "last_chunk": 4,
    "factor": 0.14,
    "running_sum": 1.41,
    "twice_as_long": "b",
    "what_is_saved": "c",
    "first_of_three": "b",
}
### END SOLUTION

# %% exercise="quiz_09" role="check"
check(quiz_09, "quiz_09")

# %% [markdown]
# ## What you can do now
#
# You can say in bytes what attention will cost, and you have computed it in three ways that give the same numbers:
# whole, by queries, by keys. You know what an online softmax remembers, and why a rising maximum means rescaling. You
# have seen your predictions and your measurements side by side. And your attention goes on from a cache, with the mask
# aligned where it should be.
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
#
# **Next lesson:** 10, *Reading and debugging attention*. You look into the heads of a trained model, and hunt eight
# bugs in attentions that you can only call.
