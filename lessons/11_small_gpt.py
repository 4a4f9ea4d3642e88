# ---
# jupyter:
#   course:
#     about: a decoder-only language model, trained on tales until it writes; the head by which it remembers names
#     picture: the probabilities of the next word, with sliders for temperature, top-k and top-p
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
# # 11 · A small GPT that writes
#
# *Once there was a heron called Odile, who was afraid of soup. One day Percy the owl came from the mill. "What a
# golden trumpet!" said …* You know who says it, because you remember who came. A table that counts which word follows
# which can write sentences like these, and in the next one it has forgotten Percy.
#
# In this lesson you build a language model from parts that you know, and train it on such tales. It beats every table
# of counts. Then you find out why: one of its four heads looks back at the names. You switch that head off, and the
# model goes on speaking fluently, but no longer knows who is who.
#
# **You need** lesson 03 (attention), lesson 04 (the causal mask), lesson 05 (pre-norm), lesson 06 (rotary positions),
# lesson 07 (the feed-forward layers), lesson 08 (how a model is trained) and lesson 09 (the key-value cache).
#
# **Afterwards you can**
#
# - say what a language model predicts, and how far counting gets;
# - write a decoder-only model, and the loop that trains it;
# - find out what a head is for, and test it by switching the head off;
# - draw the next token with temperature, top-k and top-p, with a cache and without.
#
# **Time:** <!-- time -->. The plan: the tales → what there is to beat → the block → the model → training → what it
# remembers → too few tales → the distribution → writing → the cache → from an empty cell → the large ones → a quiz. It
# fits into two sittings, with a break after part 6.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `B` | batch: pieces of text handled together | 8 |
# | `T` | tokens in a piece, `block_size` | 96 |
# | `V` | `vocab_size`: different tokens | 331 |
# | `L`, `H` | `num_layers`, `num_heads` | 2, 2 |
# | `E` | `d_model` | 64 |

# %%
import copy
import itertools
import math
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterable

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import Stopped, check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Tales as numbers
#
# A small grammar made these tales: about twenty kinds of sentences with gaps for names, things and places. Whatever is
# named once comes back later in its tale. The last 80 tales are **held out**: no model learns from them. A third part
# is about animals whose names occur in no other tale. It waits until section 6.

# %%
from grader.models.gpt import course_tales, joined, words_of

train_text, test_text, strange_text = course_tales()
# To use a text of your own, one tale or paragraph a line, run this line in place of the one above:
# from grader.models.gpt import own_tales; train_text, test_text, strange_text = own_tales("my_text.txt")
for tale in train_text.splitlines()[:3]:
    print(textwrap.fill(tale, 88), end="\n\n")

# %% [markdown]
# In lesson 08 a token was one character. Here it is a word or a mark, and the end of a line is a token too. A
# character carries little; with words, a name is one token, and you can see at a glance whether it is the right one.

# %%
WORDS = sorted(set(words_of(train_text + test_text + strange_text)))
V = len(WORDS)
id_of = {word: i for i, word in enumerate(WORDS)}


def encode(text):
    """A text as ids (1, T)."""
    return torch.tensor([[id_of[word] for word in words_of(text)]])


def decode(ids):
    """Ids (T,) as a text."""
    return joined([WORDS[i] for i in ids.tolist()])


train_ids, test_ids = encode(train_text)[0], encode(test_text)[0]
print(V, "different tokens, to learn from:", len(train_ids), " held out:", len(test_ids))
BEGINNING = decode(train_ids[:4])  # every text that is written below begins so
print(f"“{BEGINNING}” as ids:", train_ids[:4].tolist())

# %% [markdown]
# A language model answers one question: *what comes next?* After the first token of a piece, which is the second?
# After the first two, which is the third? A piece of 96 tokens holds 96 questions, and the answers are in the text, one
# place further on. Nobody has to label anything. That is why such models can be trained on any text.
#
# ### Exercise 1: `language_batch`
#
# Difficulty 2 of 5
#
# `ids` is the whole text as numbers, on one axis. Cut one piece of it for each entry of `starts`: `inputs[b]` holds the
# `block_size` ids from place `starts[b]` on, and `labels[b]` the ids one place further on. So `labels[b, t]` is what
# comes after `inputs[b, t]`.
#
# With ids 10, 11, 12, …, `starts` 0 and 5 and a `block_size` of 3, `inputs` is [[10, 11, 12], [15, 16, 17]] and
# `labels` is [[11, 12, 13], [16, 17, 18]].
#
# <details><summary>I would write a loop over <code>starts</code></summary>
#
# A loop is fine, and `torch.stack` makes one tensor of the pieces. Without a loop: index `ids` with a table of places,
# (B, block_size).
#
# </details>
#
# <details><summary>My pieces begin at the wrong places</summary>
#
# `starts` holds places in the text. It does not count pieces. Two pieces may overlap.
#
# </details>


# %% exercise="language_batch" role="solution"
def language_batch(ids: Tensor, starts: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """Pieces of a text, and for each of their tokens the one that comes next.

    ids: the text, one axis; starts: (B,), where each piece begins. Returns (inputs, labels), each
    (B, block_size).
    """
    ### BEGIN SOLUTION
    places = starts.unsqueeze(-1) + torch.arange(block_size, device=starts.device)  # (B, block_size)
    return ids[places], ids[places + 1]
    ### END SOLUTION


# %% exercise="language_batch" role="check"
check(language_batch)

# %% [markdown]
# ## 2 · What there is to beat
#
# Is a loss of 1 nat good? You need a loss to compare it with. Lesson 08 had one: log V, the loss of a model that gives
# all V tokens the same probability. A **unigram** model knows a little more: how often each token occurs. A **bigram**
# model predicts a token from the one before it: after "once" comes "there". It is a table of counts with V rows and V
# columns.

# %%
shares = torch.bincount(train_ids, minlength=V) + 1  # one is added to each: none is impossible
shares = shares / shares.sum()
uniform = math.log(V)
unigram = -shares[test_ids].log().mean().item()
print(f"uniform: {uniform:.2f} nats   unigram: {unigram:.2f} nats")

# %%
predict(
    "11_bigram",
    "What is the loss of a bigram model on the held-out tales?",
    low=0,
    high=5.84,
    unit="nats",
)

# %% [markdown]
# ### Exercise 2: `bigram_loss`
#
# Difficulty 3 of 5
#
# Count in `train_ids` how often token j comes right after token i, and add one to each of the vocab_size · vocab_size
# counts (add-one smoothing), so that no pair is impossible. A row of counts divided by its sum gives the probabilities
# of what follows token i. Return the mean of −log p, in nats, over all tokens of `test_ids` except the first, as a
# float.
#
# An example with two tokens: `train_ids` 0, 0, 1 has the pairs (0, 0) and (0, 1). The counts are [[2, 2], [1, 1]], so
# every probability is 1/2, and every loss is log 2 = 0.693.
#
# <details><summary>My loss is infinite</summary>
#
# A pair of the test text that never occurs in the training text has probability 0 if nothing is added. To how many of
# the counts do you add one?
#
# </details>
#
# <details><summary><code>counts[first, second] += 1</code> counts too little</summary>
#
# With tensors as an index, a pair that occurs three times is counted only once. A loop over the pairs counts correctly;
# so do `index_put_` with `accumulate=True` and `torch.bincount`.
#
# </details>


# %% exercise="bigram_loss" role="solution"
def bigram_loss(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The loss in nats of a bigram model: counts of the pairs in train_ids, with one added to each.

    train_ids, test_ids: one axis each. Returns the mean of -log p(token | the one before) over test_ids
    but its first.
    """
    ### BEGIN SOLUTION
    pairs = train_ids[:-1] * vocab_size + train_ids[1:]
    counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size) + 1
    probabilities = counts / counts.sum(dim=1, keepdim=True)
    return -probabilities[test_ids[:-1], test_ids[1:]].log().mean().item()
    ### END SOLUTION


# %% exercise="bigram_loss" role="check"
check(bigram_loss)

# %% role="try"
# Try it: the guess, and what came out.
my_bigram = bigram_loss(train_ids, test_ids, V)
compare_guess("11_bigram", round(my_bigram, 2))

# %% [markdown]
# What does such a number mean? Someone who hesitates between 13 equally probable words has a loss of log 13, about 2.6.
# So e to the power of the loss, the **perplexity**, says among how many words a model hesitates on average.
#
# Why stop at one word? A table can count what comes after the last two words, or the last five. Most beginnings of five
# words were never seen, so a good table falls back on shorter ones. This one mixes them, by a rule of Witten and Bell:
# the more different words came after a beginning, the less it is trusted.


# %%
def counted(ids, back):
    """What came after every piece of 0 to `back` tokens, and how often."""
    after = defaultdict(Counter)
    tokens = ids.tolist()
    for i, token in enumerate(tokens):
        for length in range(min(i, back) + 1):
            after[tuple(tokens[i - length : i])][token] += 1
    return after


def table_probability(after, before, token):
    """The probability of a token after a list of tokens, the shorter beginnings mixed in."""
    probability = 1 / V
    for length in range(len(before) + 1):
        found = after.get(tuple(before[len(before) - length :]))
        if found is None:
            break
        total, different = found.total(), len(found)
        probability = (found[token] + different * probability) / (total + different)
    return probability


after = counted(train_ids, 5)

# %% [markdown]
# From here on, all models are judged on the same questions: the first 128 tokens from the beginning of each held-out
# tale. And we ask for one kind of word separately: **names that were named before** in that piece. Whoever remembers
# can know them.

# %%
line_ends = (test_ids == id_of["\n"]).nonzero().flatten()
begins = torch.cat([torch.zeros(1, dtype=torch.long), line_ends + 1])
begins = begins[begins + 129 <= len(test_ids)]
test_rows = test_ids[begins.unsqueeze(1) + torch.arange(129)]
test_inputs, test_labels = test_rows[:, :-1], test_rows[:, 1:]

# A name has a capital letter right after a word without one: "said Odile".
text_words = words_of(train_text + test_text + strange_text)
pairs = itertools.pairwise(text_words)
names = {word for before, word in pairs if before[0].islower() and word[0].isupper()}
is_name = torch.tensor([word in names for word in WORDS])
occurs = (test_inputs.unsqueeze(1) == test_labels.unsqueeze(2)).tril()  # (tales, T, T)
again = is_name[test_labels] & occurs.any(dim=-1)
print(f"{len(names)} names; {again.sum()} of {again.numel()} places ask for one that was named before")


def table_losses(after, back):
    """The loss of a table at every place of the held-out pieces: (tales, T)."""
    losses = [
        [-math.log(table_probability(after, row[max(0, t - back) : t], row[t])) for t in range(1, 129)]
        for row in test_rows.tolist()
    ]
    return torch.tensor(losses)


# %%
predict(
    "11_again",
    "Tables of 1 to 5 words back: the best one's loss on names that were named before?",
    low=0,
    high=8,
    unit="nats",
)


# %% role="answer" claim="tables_know_no_names"
ladder = {}
for back in range(6):
    losses = table_losses(after, back)
    ladder[back] = losses.mean().item(), losses[again].mean().item()
    print(f"{back} words back: {ladder[back][0]:.2f} nats, names {ladder[back][1]:.2f}")
best_table, best_names = (min(losses) for losses in zip(*ladder.values(), strict=True))
print(f"to choose among {len(names)} names at random: {math.log(len(names)):.2f}")
compare_guess("11_again", round(best_names, 1))

# %% [markdown]
# Counting improves, and then it is over: for five words back there are too few examples. About names no table learns
# anything. They are worse than a draw from all the names, because they often don't even expect a name. The name stands
# five, twenty, forty words back, and a table with forty words of context would need more tales than there are atoms in
# the world.
#
# And yet a table can write. This is what the one with three words back makes of the beginning:

# %%
draw = torch.Generator().manual_seed(3)
tokens = encode(BEGINNING)[0].tolist()
while len(tokens) < 90:
    before = tokens[-3:]
    chances = torch.tensor([table_probability(after, before, token) for token in range(V)])
    tokens.append(torch.multinomial(chances, 1, generator=draw).item())
print(textwrap.fill(decode(torch.tensor(tokens)), 88))

# %% [markdown]
# Sentence by sentence it is fluent. Read the names: who visits whom, and who has the thing?
#
# ## 3 · The block
#
# A Transformer without an encoder is called **decoder-only**. It has no source and no cross-attention. A block has one
# attention, over the text so far, and the feed-forward layers. Three things differ from lesson 07's encoder block. You
# know them all: the norm comes before each sub-layer (lesson 05), positions enter as rotations of queries and keys
# (lesson 06), and the mask hides later tokens (lesson 04).
#
# You get these cells: lesson 03's attention, lesson 06's rotary positions and lesson 07's feed-forward layers. Below
# them yours take their place, if your notebooks of these lessons lie beside this one and pass.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %% role="given"
from lesson_06 import apply_rope

# %% role="given"
from lesson_07 import FeedForward

# %%
from grader import use_yours

use_yours(split_heads, merge_heads, MultiHeadAttention, apply_rope, FeedForward)


# %% role="given"
class RotaryAttention(MultiHeadAttention):
    """Self-attention of lesson 03 with the rotary positions of lesson 06: x (B, T, E) gives (B, T, E).

    is_causal hides every later token. cache is None or a dict, empty at the start of a text: each layer
    keeps its keys and values in it, and x holds the tokens that come after them.
    """

    def forward(self, x: Tensor, is_causal: bool = False, cache: dict | None = None) -> Tensor:
        query, key, value = (
            split_heads(project(x), self.num_heads) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        before = cache.get(id(self)) if cache else None  # this layer's keys and values so far
        seen = before[0].shape[-2] if before else 0
        positions = torch.arange(seen, seen + x.shape[1], device=x.device)
        query, key = apply_rope(query, positions), apply_rope(key, positions)
        if before:
            key, value = torch.cat([before[0], key], dim=-2), torch.cat([before[1], value], dim=-2)
        if cache is not None:
            cache[id(self)] = (key, value)
        mask = torch.ones(x.shape[1], seen + x.shape[1], dtype=torch.bool, device=x.device)
        attended = F.scaled_dot_product_attention(
            query, key, value, mask.tril(seen) if is_causal else mask
        )
        return self.out_proj(merge_heads(attended))


# %% [markdown]
# ### Exercise 3: `GPTBlock`
#
# Difficulty 3 of 5
#
# Lesson 07's block with three changes. It is pre-norm (lesson 05): x + dropout(sublayer(norm(x))), and nothing is
# normalised after the addition. Its attention is `RotaryAttention(d_model, num_heads)` from the cell above. And it is
# causal: call the attention with `is_causal=True`. The attributes are `norm1`, `attention`, `norm2`, `feed_forward` and
# `dropout`.
#
# `forward(x)` returns the shape of x. It has a second argument, `cache=None`, for section 10. Just pass it on to the
# attention, `cache=cache`.
#
# <details><summary>"forward() got an unexpected keyword argument"</summary>
#
# Which class did you make `self.attention` from? `MultiHeadAttention` knows neither `is_causal` nor `cache`.
#
# </details>
#
# <details><summary>Only "in train mode" fails</summary>
#
# There the check drops everything (`dropout` is nearly 1). What is left of the block when the outputs of both
# sub-layers are gone?
#
# </details>


# %% exercise="GPTBlock" role="solution"
class GPTBlock(nn.Module):
    """Attention, then the feed-forward layers; each gets a norm before it, dropout and addition after
    it (pre-norm).

    Has norm1 and norm2 (nn.LayerNorm), attention (RotaryAttention), feed_forward (FeedForward) and
    dropout (nn.Dropout). forward takes x (B, T, E) and a cache for the attention, or None; it returns
    (B, T, E).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        ### BEGIN SOLUTION
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))
        ### END SOLUTION


# %% exercise="GPTBlock" role="check"
check(GPTBlock)

# %% [markdown]
# ## 4 · The model
#
# First comes an embedding, then the blocks. At the end is a linear layer, the **head**: V logits for each position. The
# embedding has a vector for each token. The head has one too: a logit is its dot product with what comes in. Both can
# use the same V vectors. Then the weight is **shared**, or *tied*.
#
# ### Exercise 4: `GPT`
#
# Difficulty 4 of 5
#
# Token ids (B, T) in, logits (B, T, V) out: `token_embedding`, then each of the `blocks` (an `nn.ModuleList` of
# `num_layers` blocks), then the last `norm`, then `head`. There is no table of positions: the attention rotates its
# queries and keys. The last norm is needed because a pre-norm block ends in an addition: nothing has normalised the sum
# yet.
#
# `head` is an `nn.Linear` without a bias, and its weight **is** the embedding's: one parameter with two names. Use the
# head's for both, `self.token_embedding.weight = self.head.weight`. With the larger numbers of a new `nn.Embedding` the
# first logits would be far too large.
#
# Keep `max_length` as an attribute. More than `max_length` tokens in a call raise a `ValueError` that names both
# numbers.
#
# `forward(tokens)` returns the logits. With a cache, `forward(tokens, cache)`, pass the cache to each of the blocks and
# return `(logits, cache)`. The cache is a dict; an empty one, `{}`, begins a text. An empty dict is a cache too: only
# None means that there is none.
#
# <details><summary>With a cache I get a tensor where a pair is expected</summary>
#
# `if cache:` is False for an empty dict. Which comparison asks for None and nothing else?
#
# </details>
#
# <details><summary>The weights are not shared though I copied them</summary>
#
# Two parameters with equal numbers differ after the first training step. Assign the parameter itself, not its numbers.
#
# </details>


# %% exercise="GPT" role="solution"
class GPT(nn.Module):
    """A decoder-only language model: embedding, pre-norm blocks, a last norm, and a head that shares
    the embedding.

    Has token_embedding (nn.Embedding), blocks (nn.ModuleList of GPTBlock), norm (nn.LayerNorm), head
    (nn.Linear without a bias, its weight the embedding's) and max_length. forward takes tokens (B, T),
    ids, and returns logits (B, T, V); with a cache (a dict, empty at first) it returns (logits, cache).
    ValueError beyond max_length.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        max_length: int = 256,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.token_embedding.weight = self.head.weight
        ### END SOLUTION

    def forward(self, tokens: Tensor, cache: dict | None = None) -> Tensor | tuple[Tensor, dict]:
        ### BEGIN SOLUTION
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)
        ### END SOLUTION


# %% exercise="GPT" role="check"
check(GPT)

# %% [markdown]
# A small model is enough. `judged` asks it the same questions as the tables.


# %%
@torch.no_grad()
def judged(model):
    """On the held-out pieces: the loss; for names named before, the loss and the share guessed right."""
    was_training = model.training
    logits = model.eval()(test_inputs)
    model.train(was_training)
    losses = F.cross_entropy(logits.transpose(1, 2), test_labels, reduction="none")
    right = logits.argmax(dim=-1) == test_labels
    return losses.mean().item(), losses[again].mean().item(), right[again].float().mean().item()


# %%
SIZES = {"d_model": 64, "num_layers": 2, "num_heads": 2, "d_ff": 128, "max_length": 256}
predict(
    "11_untrained",
    "Your model has learnt nothing yet. What is its loss?",
    low=0,
    high=10,
    unit="nats",
)

# %% role="try"
# Try it: a fresh model, and what came out.
_ = torch.manual_seed(0)
my_gpt = GPT(V, **SIZES)
print("parameters:", sum(my_parameter.numel() for my_parameter in my_gpt.parameters()))
compare_guess("11_untrained", round(judged(my_gpt)[0], 1))

# %% [markdown]
# ## 5 · Training
#
# A step is the same as in lesson 08: guess, compare, adjust. Large models do one more thing. Now and then a batch gives
# a gradient that is many times as long as usual, and one such step can spoil what a thousand have learnt. So the
# gradient's length is limited before the step. This is called **clipping**. A model as small as ours doesn't need it: we
# tried it without, and got the same losses. But you will meet it in every training loop that matters, so yours has it.
#
# ### Exercise 5: `clip_gradients`
#
# Difficulty 3 of 5
#
# Easier than the model, and short. All gradients together are one long vector. Its length is the root of the sum of
# all their squares: of every entry of every parameter. If that norm is larger than `max_norm`, multiply every gradient by max_norm / norm, in place:
# `.grad` stays the tensor that it is, with other numbers. The long vector then keeps its direction and gets the length
# `max_norm`. Otherwise leave the gradients as they are. In both cases,
# return the norm *before* clipping, as a float.
#
# `parameters` is what `model.parameters()` gives: a loop can walk over it only **once**. A parameter that took no part
# in the loss has `.grad` None. Don't use torch's own clipping (`clip_grad_norm_` and its relatives).
#
# <details><summary>Nothing is clipped with <code>model.parameters()</code>, with a list it works</summary>
#
# A second `for` over a generator finds it empty. Make a list first.
#
# </details>
#
# <details><summary>"'NoneType' object has no attribute …"</summary>
#
# One of the parameters has no gradient. It adds nothing to the norm.
#
# </details>


# %% exercise="clip_gradients" role="solution"
def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> float:
    """Rescale the gradients of all parameters together, in place, where their norm is larger than
    max_norm.

    parameters: what a loop can walk over only once; `.grad` may be None. Returns the norm before
    clipping.
    """
    ### BEGIN SOLUTION
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in gradients))
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
    ### END SOLUTION


# %% exercise="clip_gradients" role="check"
check(clip_gradients)

# %% [markdown]
# ### Exercise 6: `fit`
#
# Difficulty 4 of 5
#
# The whole loop, and it is yours. `starts` (steps, B) has a row for each step. Every step cuts its batch with
# `language_batch`, and computes the mean loss over all its labels. Then come the gradients, from nothing: what was in
# `.grad` before the first step must not count either. They are clipped to `max_norm` by `clip_gradients`, and the
# optimiser takes its step.
#
# Return a list with the loss *before* each step, as plain numbers. The model is in train mode while it learns, and
# afterwards in the mode that it came in. Take the optimiser as it is, with its learning rate and its memory of earlier
# steps: `fit` will be called piece by piece, and has to go on where it was.
#
# <details><summary>In which order?</summary>
#
# The optimiser's step reads `.grad`. What has to be finished by then, and what must not happen between?
#
# </details>
#
# <details><summary><code>cross_entropy</code> complains about shapes</summary>
#
# It takes (N, V) and (N,). Your logits are (B, T, V), your labels (B, T). Which axes can be joined?
#
# </details>


# %% exercise="fit" role="solution"
def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    starts: Tensor,
    block_size: int,
    max_norm: float = 1.0,
) -> list[float]:
    """Train a language model, a step for each row of starts.

    ids: (N,), the text; starts: (steps, B). The model is in train mode meanwhile and keeps its mode
    otherwise. Returns the loss before each step.
    """
    ### BEGIN SOLUTION
    was_training, losses = model.training, []
    model.train()
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        clip_gradients(model.parameters(), max_norm)
        optimizer.step()
        losses.append(loss.item())
    model.train(was_training)
    return losses
    ### END SOLUTION


# %% exercise="fit" role="check"
check(fit)

# %% [markdown]
# Around it goes what is only bookkeeping. `Training` draws all pieces beforehand and calls your `fit` for one row at a
# time, because the learning rate changes with each step: it rises for 50 steps and then falls. So a training that was
# stopped goes on with the next row. The optimiser is AdamW: Adam, which also makes all weights a little smaller in each
# step.


# %%
class Training:
    """A model that learns by `fit`, one step at a time. It can be stopped and go on."""

    def __init__(self, model, fit, ids=train_ids, steps=1200, seed=0, peak=0.008, block_size=96):
        self.model, self.fit, self.ids, self.steps = model, fit, ids, steps
        self.peak, self.block_size = peak, block_size
        self.optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        generator = torch.Generator().manual_seed(seed)
        self.starts = torch.randint(len(ids) - block_size, (steps, 8), generator=generator)
        self.losses, self.judged = [], {0: judged(model)}

    @property
    def done(self):
        return len(self.losses)

    def one_step(self):
        rise, fall = (self.done + 1) / 50, (self.steps - self.done) / (self.steps - 49)
        self.optimizer.param_groups[0]["lr"] = self.peak * min(rise, fall)
        row = self.starts[self.done : self.done + 1]
        self.losses += self.fit(self.model, self.optimizer, self.ids, row, self.block_size)


# %%
def go_on(run, until, monitor=None, every=50):
    """Up to step `until`, or until the kernel is interrupted."""
    try:
        while run.done < until:
            run.one_step()
            if run.done % every == 0 or run.done == until:
                run.judged[run.done] = judged(run.model)
            if monitor is not None:
                monitor.show(run.losses, {step: right for step, (*_, right) in run.judged.items()})
    except KeyboardInterrupt:
        raise Stopped(
            f"Stopped at step {run.done} of {run.steps}. Run this cell again to go on."
        ) from None


# %% [markdown]
# The training takes less than half a minute; on a busy machine a few times that. You will see two curves: the loss, and
# how many of the names that were named before are guessed right.

# %%
predict(
    "11_names",
    "1200 steps. At which step does your model first guess a third of these names right?",
    low=0,
    high=1200,
    unit="steps",
)

# %%
from grader.views import TrainingMonitor

monitor = TrainingMonitor(1200, score="names guessed right")
monitor

# %% role="try"
# Your model before it has learnt anything. It is kept at three steps, so that all three can write later.
my_run = Training(my_gpt, fit)
my_album = {0: copy.deepcopy(my_gpt)}

# %% role="try" timed=true
# Your model learns.
go_on(my_run, until=100, monitor=monitor)
my_album[100] = copy.deepcopy(my_gpt)
print(f"after 100 steps: {my_run.judged[100][0]:.2f} nats, the best table: {best_table:.2f}")

# %% role="try" timed=true
go_on(my_run, until=1200, monitor=monitor)
my_album[1200] = my_gpt
for my_step in (100, 200, 400, 600, 800, 1000, 1200):
    my_loss, my_names, my_right = my_run.judged[my_step]
    print(f"step {my_step:4}: {my_loss:.2f} nats, names {my_names:.2f} nats, {my_right:.0%} right")

# %% role="try" timed=true
# All curves in one picture, and the guess.
my_steps = list(my_run.judged)
my_smooth = torch.tensor(my_run.losses).unfold(0, 50, 50).mean(dim=1)
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(range(25, my_run.done, 50), my_smooth, ":", color="#00204c", label="training loss")
for my_place, my_style, my_label in ((0, "-", "held out"), (1, "--", "held out, names named before")):
    my_curve = [my_run.judged[my_step][my_place] for my_step in my_steps]
    axes.plot(my_steps, my_curve, my_style, color="#00204c", label=my_label)
my_ladder = {"uniform": uniform, "unigram": unigram, "bigram": my_bigram, "best table": best_table}
for my_label, my_loss in {**my_ladder, "best table, names": best_names}.items():
    my_style, my_side = ("--", "bottom") if "names" in my_label else ("-", "top")
    axes.axhline(my_loss, linestyle=my_style, color="#a59c74", lw=1)
    axes.text(1.02 * my_run.done, my_loss, my_label, va=my_side)
axes.set(xlabel="step", ylabel="nats", xlim=(0, 1.3 * my_run.done), ylim=(0, 7))
axes.legend(ncols=2)
plt.show()
my_first = (my_step for my_step in my_steps if my_run.judged[my_step][2] > 1 / 3)
compare_guess("11_names", next(my_first, my_run.done))

# %% [markdown]
# *The picture in words:* the ladder of section 2 as five level lines, from 5.8 for uniform down to 1.3 for the best
# table. The training loss and the loss on held-out tales fall together, steeply at first, and are below the whole ladder
# within the first hundred steps. The loss on names stays as high as a table's for some hundred steps.
# Then it drops, within one or two hundred steps, to less than half.
#
# The curve of all tokens hardly shows it: only one place in fourteen asks for such a name. Something was switched on
# inside your model, quite suddenly. What?
#
# ## 6 · What it remembers
#
# If the model knows a name because it looks back, it must fail when it can't. So give it only the last few words before
# each place, instead of all.

# %%
predict(
    "11_context",
    "Of the names named before, how many percent does it guess from the last 8 words alone?",
    low=0,
    high=100,
    unit="%",
)


# %%
@torch.no_grad()
def with_context(model, length):
    """The loss, and the share of names right, where the model reads only the last `length` tokens."""
    places = torch.arange(64, 128)  # before all of them there are 64 tokens
    pieces = test_rows.unfold(1, length, 1)[:, places - length + 1]  # (tales, 64, length)
    logits = model(pieces.flatten(0, 1))[:, -1].unflatten(0, (len(test_rows), 64))
    labels, asked = test_labels[:, places], again[:, places]
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
    return loss.item(), (logits.argmax(dim=-1) == labels)[asked].float().mean().item()


# %% role="try" timed=true claim="names_need_context"
# Try it on your model.
my_contexts = {
    my_length: with_context(my_run.model.eval(), my_length) for my_length in (4, 8, 16, 32, 64)
}
for my_length, (my_loss, my_right) in my_contexts.items():
    print(f"{my_length:2} words: {my_loss:.2f} nats, names {my_right:.0%} right")
compare_guess("11_context", round(100 * my_contexts[8][1]))

# %% [markdown]
# It does reach back. The more words it may read, the more names it knows, up to about thirty: that is as far back as
# names usually stand in these tales. Only attention carries anything from one token to another,
# and the model has four heads, two in each layer. To see what they look at, compute their weights once more: the same
# queries and keys, lesson 06's rotation, lesson 04's mask.


# %%
@torch.no_grad()
def attention_weights(model, tokens):
    """The weights (L, H, T, T) of every head while the model reads tokens (1, T)."""
    tables = []

    def keep(attention, inputs, _output):
        x, places = inputs[0], torch.arange(inputs[0].shape[1])
        query, key = (
            apply_rope(split_heads(project(x), attention.num_heads), places)
            for project in (attention.q_proj, attention.k_proj)
        )
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        tables.append(scores.masked_fill(later, -math.inf).softmax(dim=-1)[0])

    hooks = [block.attention.register_forward_hook(keep) for block in model.blocks]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack(tables)


# %% [markdown]
# ### Exercise 7: `head_that_remembers`
#
# Difficulty 3 of 5
#
# Easier than the loop. You get the weights of all heads for one text, (L, H, T, T), its tokens `ids` (T,) and its
# labels (T,): `labels[t]` comes after `ids[t]`. Where a place doesn't count, the label is −1. Here that is everywhere
# but before a name: words like "the" come again too, and would hide what we are looking for.
#
# Take the places t whose label occurs among `ids[0]` … `ids[t]`. There, add up what a head's row t puts on these
# occurrences. The head with the largest sum on average is the answer, as two whole numbers, `(layer, head)`.
#
# An example: the ids are 5, 7, 5, 8, the labels −1, 5, −1, 7. Place 1 asks for a 5, which has been read at place 0.
# Place 3 asks for a 7, read at place 1. So the entries [1, 0] and [3, 1] of each head count.
#
# <details><summary>Which entries are that for a whole text?</summary>
#
# `ids == labels[:, None]` is a table of (T, T). What does it say in row t and column j? Which half of it is about
# tokens that have been read?
#
# </details>
#
# <details><summary>From a flat place to a layer and a head</summary>
#
# With H heads a layer, place 7 of the flat list is layer 7 // H, head 7 % H. `divmod` gives both.
#
# </details>


# %% exercise="head_that_remembers" role="solution"
def head_that_remembers(weights: Tensor, labels: Tensor, ids: Tensor) -> tuple[int, int]:
    """The head that looks most at earlier occurrences of the token to come: (layer, head).

    weights: (L, H, T, T); ids: (T,), what is read; labels: (T,), what comes next, -1 where a place
    doesn't count.
    """
    ### BEGIN SOLUTION
    places = (ids == labels[:, None]).tril()  # (T, T)
    looking = (weights * places).sum(dim=-1)[..., places.any(dim=1)].mean(dim=-1)  # (L, H)
    layer, head = divmod(looking.argmax().item(), weights.shape[1])
    return layer, head
    ### END SOLUTION


# %% exercise="head_that_remembers" role="check"
check(head_that_remembers)

# %% role="try" timed=true
# Try it: which head is it in each of the held-out tales?
name_labels = test_labels.where(is_name[test_labels], -1)
my_found = Counter()
for my_inputs, my_labels in zip(test_inputs, name_labels, strict=True):
    my_weights = attention_weights(my_gpt, my_inputs[None])
    my_found[head_that_remembers(my_weights, my_labels, my_inputs)] += 1
for (my_layer, my_head), my_times in my_found.most_common():
    print(f"layer {my_layer}, head {my_head}: in {my_times} of {len(test_inputs)} tales")
(my_layer, my_head), _ = my_found.most_common(1)[0]

# %% [markdown]
# In practically every tale it is the same one. Look at it at work: an arc leads from each place where a name comes next
# to each word that gets at least a tenth of the weight. The darker, the more.

# %% role="try" timed=true
# Your head in one tale.
my_inputs, my_labels = test_inputs[1, :70], name_labels[1, :70]
my_weights = attention_weights(my_gpt, my_inputs[None])[my_layer, my_head]
figure, axes = plt.subplots(figsize=(11, 4), layout="constrained")
for my_from, my_to in (my_weights >= 0.1).nonzero().tolist():
    if my_labels[my_from] >= 0 and my_to < my_from:
        my_turn = torch.linspace(0, math.pi, 40)
        my_middle, my_reach = (my_from + my_to) / 2, (my_from - my_to) / 2
        my_alpha = my_weights[my_from, my_to].item()
        axes.plot(
            my_middle + my_reach * my_turn.cos(),
            my_reach * my_turn.sin(),
            color="#00204c",
            alpha=my_alpha,
        )
my_labels_shown = [WORDS[i].replace("\n", "↵") for i in my_inputs]
axes.set_xticks(range(70), my_labels_shown, rotation=90, fontsize=8)
for my_tick, my_id in zip(axes.get_xticklabels(), my_inputs, strict=True):
    my_tick.set_fontweight("bold" if is_name[my_id] else "normal")
axes.set(
    yticks=[], ylim=(0, None), title=f"layer {my_layer}, head {my_head}: where it looks before a name"
)
plt.show()

# %% [markdown]
# *The picture in words:* seventy words of a tale in a row, the names in bold. Nearly all arcs end at a name, the dark
# ones at the name that comes next.
#
# Lesson 10 has warned you: that a head looks somewhere doesn't prove that it matters. So switch it off. What a head
# adds comes through its columns of `out_proj`; with zeros there it is silent, and everything else stays as it is.

# %%
predict(
    "11_off",
    "Without this one head: how many percent of the names named before are still right?",
    low=0,
    high=100,
    unit="%",
)


# %%
def without_head(model, layer, head):
    """A copy of the model with one head switched off."""
    changed = copy.deepcopy(model)
    attention = changed.blocks[layer].attention
    width = attention.out_proj.weight.shape[1] // attention.num_heads
    attention.out_proj.weight.data[:, head * width : (head + 1) * width] = 0
    return changed


# %% role="try" timed=true claim="one_head_remembers"
# Try it: each of the four heads switched off in turn.
my_loss, _, my_right = my_run.judged[my_run.done]
print(f"all heads             : {my_loss:.2f} nats, names {my_right:.0%} right")
my_off = {
    my_place: judged(without_head(my_gpt, *my_place))
    for my_place in itertools.product(range(2), range(2))
}
for my_place, (my_loss, _, my_right) in my_off.items():
    print(
        f"without layer {my_place[0]}, head {my_place[1]}: {my_loss:.2f} nats, names {my_right:.0%} right"
    )
compare_guess("11_off", round(100 * my_off[my_layer, my_head][2]))

# %% [markdown]
# One of four heads, and the names are gone. The others matter too: without any of them the loss rises, because the
# sentences get worse. But the names stay. You have found the place where this model remembers, by a prediction, a
# measurement and an intervention. (With four heads a layer, or at twice the rate, it isn't always so clean: often two
# of them share the work. Put `num_heads` 4 into `SIZES` and see.)
#
# Does it remember *names*, or only those sixty that it knows? The third part of the text is about twelve animals whose
# names it has never seen.

# %%
predict(
    "11_strangers",
    "Names that occur in no tale that it learnt from: how many of them does it copy?",
    ["about as many as of the others", "about half as many", "hardly any"],
)

# %% role="try" timed=true
my_strange = encode(strange_text)[0]
my_rows = my_strange[: len(my_strange) // 129 * 129].view(-1, 129)
my_asked = is_name[my_rows[:, 1:]] & (my_rows[:, None, :-1] == my_rows[:, 1:, None]).tril().any(dim=-1)
with torch.no_grad():
    my_copied = (my_gpt(my_rows[:, :-1]).argmax(dim=-1) == my_rows[:, 1:])[my_asked].float().mean().item()
print(f"of {my_asked.sum()} such names {my_copied:.1%} are right")
my_verdicts = {0.1: "hardly any", 0.45: "about half as many", 1: "about as many as of the others"}
compare_guess(
    "11_strangers", next(my_verdicts[my_most] for my_most in my_verdicts if my_copied <= my_most)
)

# %% [markdown]
# The head may look back at "Agnes", but the model can't say it. A token that never occurs in training is never the right
# answer, so every step makes its logit smaller, and its vector is still the random one of the beginning. What the head
# copies must mean something to the layer that reads it. Large models have no such words: section 12 shows why.
#
# **What is it called?** Elhage et al. (2021) and Olsson et al. (2022) found *induction heads* in models of all sizes:
# after "… Odile Percy … Odile" they look back at what came after the earlier "Odile", and copy it. These, too, appear
# suddenly during training, and take two layers: one head tells each token what stood before it, a head in a later layer
# searches by that. Wang et al. (2023) found *name mover heads* in GPT-2: where a name is due, they look back at the
# names and copy one. Yours is of that second kind, only simpler. It stands in the first layer and compares no
# beginnings: a place before a name asks for names at a certain distance. That is why it sometimes takes the other animal
# of the tale. (Half of the lesson is done: a good place for a break.)
#
# ## 7 · Too few tales
#
# Your curves for training and for held-out tales fell together. With 800 tales a model of this size can't learn them by
# heart. What if there are only 30?

# %%
predict(
    "11_few",
    "600 steps on 30 tales. How does the loss on held-out tales go?",
    ["it falls to the end", "it falls, then stays", "it falls, then rises"],
)

# %%
few_tales = encode("".join(train_text.splitlines(keepends=True)[:30]))[0]

# %% role="try"
_ = torch.manual_seed(0)
my_few = {
    my_dropout: Training(GPT(V, **SIZES, dropout=my_dropout), fit, ids=few_tales, steps=600)
    for my_dropout in (0.0, 0.2)
}

# %% role="try" timed=true claim="few_tales_overfit"
for my_dropout in my_few:
    go_on(my_few[my_dropout], until=600, every=100)
    my_curve = {
        my_step: round(my_losses[0], 2) for my_step, my_losses in my_few[my_dropout].judged.items()
    }
    my_end = sum(my_few[my_dropout].losses[-50:]) / 50
    print(f"dropout {my_dropout}: training loss at the end {my_end:.2f}, held out {my_curve}")
my_held = [my_losses[0] for my_losses in my_few[0.0].judged.values()]
my_verdict = "it falls, then rises" if my_held[-1] > min(my_held) + 0.1 else "it falls, then stays"
compare_guess("11_few", my_verdict)

# %% [markdown]
# On the 30 tales the loss goes on falling, on others it rises: the model learns these tales by heart, in place of how
# tales go. This is **overfitting**, and only the two curves together show it. Dropout (lesson 08) slows the learning by
# heart a little and can't prevent it: there is too little else to learn from. Stopping where the held-out loss is lowest
# helps more. Most of all, more tales help: from 800 of them your model came to a loss that 30 don't get near at any step.
#
# If a cell above raised an error, an exercise isn't finished. You can still go on: the course has its own model, of the
# same size, trained for 3000 steps with dropout. From here on, only names with `my_…` are yours.

# %%
from grader.models.gpt import trained_gpt

course = trained_gpt()
print(f"the course's model: {course.loss:.2f} nats, {course.right:.0%} of the names right")
for step, wrote in course.samples.items():
    print(f"\n--- after {step} steps\n{textwrap.fill(wrote, 88)}")

# %% [markdown]
# Compare the last one with what the table wrote. How is each word chosen? That is the next question.
#
# ## 8 · From logits to a distribution
#
# The model's last layer gives V logits, softmax makes V probabilities of them, and one token has to be chosen. If you
# always take the likeliest, as lesson 08 did for dates, every tale is the same. If you draw from the probabilities as
# they are, there are too many mistakes: a hundred wrong words with 0.1 % each add up to one draw in ten. So the
# distribution is changed before the draw. There are three ways, often used together.
#
# **Temperature.** The logits are divided by a number before softmax. Below 1 the likely tokens become likelier; above 1
# all probabilities become more alike.

# %%
beginning = words_of("Once there was a heron called Odile, who")
course_ids = torch.tensor([[course.words.index(word) for word in beginning]])
logits = course(course_ids)[0, -1]
likeliest = logits.argsort(descending=True)[:6]
print("word           ", *(f"{course.words[i]:>8}" for i in likeliest))
for temperature in (0.5, 1.0):
    probabilities = (logits / temperature).softmax(dim=-1)
    print(f"temperature {temperature}", *(f"{p:8.2f}" for p in probabilities[likeliest].tolist()))

# %%
predict(
    "11_hot",
    "Temperature 2: how many words, the likeliest first, reach nine tenths of the probability?",
    low=1,
    high=331,
    unit="words",
)

# %% role="answer"
for temperature in (0.5, 1.0, 2.0):
    reached = (logits / temperature).softmax(dim=-1).sort(descending=True).values.cumsum(dim=0)
    needed = (reached < 0.9).sum().item() + 1
    print(f"temperature {temperature}: words needed {needed}")
compare_guess("11_hot", needed)

# %% [markdown]
# **Top-k** keeps the k likeliest and drops the rest. But ten are too many where the model is sure, and too few where it
# isn't. **Top-p** counts probability instead of words: it keeps the fewest words that together reach p, for example
# 0.9. This view shows all three. Run the cell, then try:
#
# 1. Draw 40 words with the settings as they are. Does the tale keep its names?
# 2. Set the temperature to 0, start again and draw 40. Once more. What happens?
# 3. Set temperature 1 and top-p 0.9, and draw one by one. Where does only one word stay, where many?
# 4. Type a beginning of your own, with two names. Whom does the model let speak?

# %%
from grader.views import Sampler

Sampler(course, course.words, "Once there was a", max_length=course.sizes["max_length"])

# %% [markdown]
# ### Exercise 8: `next_token_probabilities`
#
# Difficulty 4 of 5
#
# Turn logits (..., V) into probabilities (..., V), in three steps. Top-k and top-p may be left out. Each step ends with
# rows that sum to one:
#
# 1. **Temperature.** Divide the logits by `temperature`, then softmax. You can't divide by temperature 0: there, all
#    the probability is on the largest logit.
# 2. **Top-k.** Only the `top_k` most probable tokens stay. If `top_k` is larger than V, all stay.
# 3. **Top-p.** Of these, the fewest tokens whose probabilities together reach `top_p` stay: the most probable ones, and
#    at least one.
#
# Tokens that don't stay get probability 0, the others are divided by their sum. The result is in the vocabulary's
# order. If only one of two equal logits can stay, either may.
#
# With probabilities 0.5, 0.3, 0.15, 0.05 and `top_p=0.7`, the first alone reaches 0.5, the first two 0.8. So two
# stay, with 0.625 and 0.375.
#
# <details><summary>One token too few stays under top-p</summary>
#
# The token that brings the sum up to `top_p` stays as well. For each token, what is the sum of those *before* it?
#
# </details>
#
# <details><summary>After sorting, I don't know which token is which</summary>
#
# `sort` returns the order as well. `scatter` puts numbers back where they came from; so does sorting the order itself.
#
# </details>


# %% exercise="next_token_probabilities" role="solution"
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """The distribution that the next token is drawn from: temperature, then top-k, then top-p.

    logits: (..., V). Returns probabilities (..., V) in the vocabulary's order; rows sum to one.
    temperature 0 puts all on the largest. top_p in (0, 1]: the fewest tokens that reach it, at least
    one.
    """
    ### BEGIN SOLUTION
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
    ordered, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    if top_k is not None:
        ordered = ordered * (torch.arange(logits.shape[-1], device=logits.device) < top_k)
        ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = ordered.cumsum(dim=-1) - ordered  # the probability of all more probable tokens
        ordered = ordered * (before < top_p)
        ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(ordered).scatter(-1, order, ordered)
    ### END SOLUTION


# %% exercise="next_token_probabilities" role="check"
check(next_token_probabilities)

# %% [markdown]
# ## 9 · Writing
#
# One token is drawn and appended, and the longer text goes through the model again. That is all. A model that writes a
# page has answered the same question some hundred times.
#
# ### Exercise 9: `generate`
#
# Difficulty 3 of 5
#
# Easier than the last one: it is a loop around it. Write `new_tokens` tokens after the `prompt` (B, T), one after the
# other. In each round, take the model's logits at the last position. Call
# `next_token_probabilities` with what is in `sampling` (`temperature`, `top_k`, `top_p`). Draw one token for each row, and append it. `torch.multinomial(probabilities, 1, generator=generator)` draws; a generator
# that starts with the same seed draws the same tokens.
#
# The model takes `model.max_length` tokens at most. If the text is longer, give it the last `max_length` tokens. Return
# the whole text, (B, T + new_tokens).
#
# As in lesson 08: eval mode, no gradients. Then put the model back into the mode it was in.
#
# <details><summary>What are the two stars before <code>sampling</code>?</summary>
#
# They gather the named arguments that are not in the list of `generate`: `generate(…, temperature=0.8)` makes
# `sampling` the dict {"temperature": 0.8}. The same two stars in a call spread it out again:
# `next_token_probabilities(logits, **sampling)`.
#
# </details>
#
# <details><summary>"… tokens, but max_length is …"</summary>
#
# The text grows, but the model's limit stays the same. Which part of the text matters most for the next token?
#
# </details>


# %% exercise="generate" role="solution"
def generate(
    model: nn.Module,
    prompt: Tensor,
    new_tokens: int,
    generator: torch.Generator,
    **sampling: float | None,
) -> Tensor:
    """Write new_tokens tokens after the prompt, each drawn from the model's distribution.

    prompt: (B, T). model(tokens) gives logits (B, T, V) for at most model.max_length tokens. sampling
    goes to next_token_probabilities. Returns (B, T + new_tokens), the prompt included.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(tokens[:, -model.max_length :])[:, -1]
            probabilities = next_token_probabilities(logits, **sampling)
            drawn = torch.multinomial(probabilities, 1, generator=generator)
            tokens = torch.cat([tokens, drawn], dim=1)
    model.train(was_training)
    return tokens
    ### END SOLUTION


# %% exercise="generate" role="check"
check(generate)

# %% role="try" timed=true
# Try it: your model at three steps, with the same beginning and the same random numbers.
for my_step, my_moment in my_album.items():
    my_ids = generate(my_moment, encode(BEGINNING), 90, torch.Generator().manual_seed(1), temperature=0.7)
    print(f"--- after {my_step} steps\n{textwrap.fill(decode(my_ids[0]), 88)}\n")

# %% role="try" timed=true
# Try it: with the head that remembers switched off. Who is who?
my_silent = without_head(my_gpt, my_layer, my_head)
my_ids = generate(my_silent, encode(BEGINNING), 90, torch.Generator().manual_seed(1), temperature=0.7)
print(textwrap.fill(decode(my_ids[0]), 88))

# %% role="try" timed=true
# Try it: your own model in the view of section 8.
Sampler(my_gpt, WORDS, BEGINNING, max_length=SIZES["max_length"])

# %% [markdown]
# What your model writes is no copy: the names, things and habits are put together anew. It has learnt from the text
# alone how a quotation closes, who answers, and how a tale ends. It has not learnt what an owl is.
#
# ## 10 · With a cache
#
# For each new token, `generate` sends the whole text through the model, although only the last token is new. Lesson
# 09's cache keeps the keys and values of every layer. Then only the new token goes through the model. Its query meets
# all the keys in the cache.

# %%
predict(
    "11_cache",
    "400 new tokens: how many times as fast is it with a cache?",
    low=0,
    high=400,
    unit="times",
)

# %% [markdown]
# ### Exercise 10: `generate_with_cache`
#
# Difficulty 4 of 5
#
# Return the same tokens as `generate` with a generator of the same seed, but with less work. `model(tokens, cache)`
# returns `(logits, cache)`; the cache is a dict, `{}` where a text begins. Give the model the whole prompt once, and
# then only the newest token each time: everything before it is in the cache. The very last one doesn't go through the
# model: nobody asks what follows it. Prompt and new tokens together are at most `model.max_length` here, so nothing has
# to be cut.
#
# Again: eval mode, no gradients. Then put the model back into the mode it was in.
#
# <details><summary>My text repeats itself, or differs from <code>generate</code>'s after the first new token</summary>
#
# Print the shape of what you give the model in each step. It should be (B, T), then (B, 1), (B, 1), …
#
# </details>


# %% exercise="generate_with_cache" role="solution"
def generate_with_cache(
    model: nn.Module,
    prompt: Tensor,
    new_tokens: int,
    generator: torch.Generator,
    **sampling: float | None,
) -> Tensor:
    """What generate writes, with one new token at a time through the model.

    prompt: (B, T). model(tokens, cache) gives (logits, cache); an empty dict begins a text. Returns
    (B, T + new_tokens), the prompt included; at most model.max_length tokens.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            probabilities = next_token_probabilities(logits[:, -1], **sampling)
            new = torch.multinomial(probabilities, 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
    model.train(was_training)
    return tokens
    ### END SOLUTION


# %% exercise="generate_with_cache" role="check"
check(generate_with_cache)

# %% role="try" timed=true
# Try it: the same tokens, and the time that they take. An untrained model makes no difference here.
my_large = GPT(V, 64, 2, 2, 128, max_length=512)
my_texts, my_seconds = [], []
for my_function in (generate, generate_with_cache):
    my_start = time.perf_counter()
    my_prompt, my_generator = encode(BEGINNING), torch.Generator().manual_seed(1)
    my_texts.append(my_function(my_large, my_prompt, 400, my_generator))
    my_seconds.append(time.perf_counter() - my_start)
    print(f"{my_function.__name__:20} {400 / my_seconds[-1]:6.0f} tokens a second")
print("positions through the layers:", sum(range(4, 404)), "without a cache,", 4 + 399, "with it")
print("tokens that differ:", (my_texts[0] != my_texts[1]).sum().item())
compare_guess("11_cache", round(my_seconds[0] / my_seconds[1], 1))

# %% [markdown]
# Without a cache 4, 5, 6, … up to 403 positions go through the layers. With it, only 403 do in all. So why isn't it
# 200 times as fast? Here a hundred positions take only about twice as long as one. With a model this small, Python and
# the calls to PyTorch take most of the time. The longer the text and the larger the model, the more the cache gains.
#
# Can the two texts differ? The arithmetic is the same, but in another order. So the last digits of the logits differ.
# If a random number lies just at the border between two tokens, another one may be drawn. Then the rest differs too.

# %% [markdown]
# ## 11 · From an empty cell
#
# Now write a decoder-only language model from memory: attention, block, model. Call it `FromMemory`. It takes the
# arguments of `GPT` by name and gives logits (B, T, V) for ids (B, T); it needs no cache. Look things up only when you
# are stuck.
#
# Then load the course's weights into it. They fit if your attributes have the names that the exercises use, and the
# logits agree with the course's if everything inside is right. There is no mark for this, and no better test of whether
# you have understood the model. Take as long as you like: the minutes above don't include the writing.

# %%
course_names = [name for name in course.weights if "blocks" not in name or "blocks.0" in name]
print("\n".join(f"{name:40} {tuple(course.weights[name].shape)}" for name in course_names))


# %%
def compare_with_course(kind):
    """Load the course's weights into a model of this class, and compare its logits with the course's."""
    model = kind(**course.sizes)
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in course.weights.items()}
    for name in sorted(own.keys() | wanted.keys()):
        if own.get(name) != wanted.get(name):
            print(
                f"{name}: yours {own.get(name, 'is missing')}, the course's "
                f"{wanted.get(name, 'has none')}"
            )
            return
    model.load_state_dict(course.weights)
    with torch.no_grad():
        difference = (model.eval()(course_ids) - course(course_ids)).abs().max().item()
    print(f"largest difference of the logits {'below' if difference < 1e-3 else 'not below'} 0.001")


# %% role="try"
# Your cell: put the whole model in place of this line. Until then your classes from above stand in.
FromMemory = GPT

# %% role="try"
compare_with_course(FromMemory)

# %% [markdown]
# <details><summary>Where do I begin?</summary>
#
# With the names above. They show which modules there are, and the shapes show what goes in and out. Write the
# `__init__` methods first.
#
# </details>
#
# <details><summary>All names fit, and the logits differ</summary>
#
# Take the parts in turn. Is the order of norm, sub-layer and addition right, in both sub-layers? Is the mask there? Are
# queries *and* keys rotated, after the heads were split, and the values not? By which number are the scores divided? Is
# there a norm before the head?
#
# </details>
#
# <details><summary>The rotation: which columns belong together?</summary>
#
# As in lesson 06: 2i and 2i + 1 are a pair, its angle is position · 10000^(−2i/D), and D is the width of one head.
#
# </details>
#
# ## 12 · The large ones
#
# How does your model differ from those that people talk to? Less in its code than in its size, and in its tokens.
#
# **Tokens.** With characters as tokens, texts are long. With words as tokens, the vocabulary has no end, and a word that
# wasn't in the training text can't be said, as you have seen. **Byte-pair encoding** (BPE) is in between: begin with the
# characters of all words, find the pair of neighbours that occurs most often, make it one token, and repeat. Here are
# twenty rounds on our tales:


# %%
def merge(pieces, pair):
    """The pieces of a word, with each such pair of neighbours joined."""
    joined_pieces = []
    for piece in pieces:
        if joined_pieces and (joined_pieces[-1], piece) == pair:
            joined_pieces[-1] += piece
        else:
            joined_pieces.append(piece)
    return joined_pieces


pieces_of = {word: list(word) for word in WORDS if word.isalpha()}
often = Counter(words_of(train_text))
merges = []
for _ in range(20):
    pairs = Counter()
    for word, pieces in pieces_of.items():
        for pair in itertools.pairwise(pieces):
            pairs[pair] += often[word]
    merges.append(pairs.most_common(1)[0][0])
    pieces_of = {word: merge(pieces, merges[-1]) for word, pieces in pieces_of.items()}
print(", ".join(f"{left}+{right}" for left, right in merges))
for word in ("the", "called", "lantern", "Agnes"):
    print(f"{word:8} {' · '.join(pieces_of.get(word, []))}")

# %% [markdown]
# The commonest words are one token, rarer ones are put together from pieces, and "Agnes", which never occurred, is made
# of pieces that did: a model with such tokens can copy it, piece by piece. GPT-2 begins with the 256 bytes instead of
# characters, so it can write any text in any language. It makes 50 000 merges. With one token for the end of a text,
# that is a vocabulary of 50 257.
#
# **Size.** GPT-2 small (2019) has 12 layers, 12 heads, vectors of 768 numbers and 3072 in the feed-forward layers.
# Count its parameters:

# %%
predict("11_gpt2", "How many million parameters does GPT-2 small have?", low=1, high=1000, unit="million")

# %% role="answer"
width, layers, hidden, vocabulary, positions = 768, 12, 3072, 50257, 1024
attention = 4 * (width * width + width)
feed_forward = (width * hidden + hidden) + (hidden * width + width)
norms = 2 * 2 * width
gpt2 = (vocabulary + positions) * width + layers * (attention + feed_forward + norms) + 2 * width
print(
    f"a block: {attention + feed_forward + norms:,}   the embedding: {vocabulary * width:,}   "
    f"in all: {gpt2:,}"
)
compare_guess("11_gpt2", round(gpt2 / 1e6))

# %% role="try"
# Try it: the same from your class. The meta device makes tensors without numbers, so this takes no
# memory.
with torch.device("meta"):
    my_gpt2 = GPT(50257, 768, 12, 12, 3072, max_length=1024)
my_count = sum(my_parameter.numel() for my_parameter in my_gpt2.parameters())
print(
    f"{my_count:,} parameters; GPT-2 has {gpt2 - my_count:,} more, a learnt vector for each of "
    "1024 positions"
)

# %% [markdown]
# It is your class with other sizes. Only details differ. GPT-2 learns a vector for each position. In place of ReLU it
# has GELU, which is smoother. Many later models have rotary positions, as your model has, RMSNorm (lesson 05) and
# grouped queries (lesson 09).
#
# **Chat.** A model that was trained on texts alone continues texts. It does not answer. Ask it something, and it may go
# on with three more questions, as in a list. So it is trained further, with the same loss, on conversations: what the
# user says, what the assistant says, with special tokens between them. Then people compare pairs of answers. The model
# is trained towards those that they prefer. The answers in a chat still come from `generate`: a prompt that ends with
# the token for "now the assistant speaks", and next tokens until the one that ends the turn.
#
# ## 13 · Quiz
#
# ### Exercise 11: `quiz_11`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `pairs_in_block` (a whole number): `block_size` is 64 and the batch has 16 pieces. How many predictions of a next
#    token does one batch train?
# 2. `uniform_loss` (a number, to two decimals): a vocabulary of 50 characters, and a model that knows nothing: all are
#    equally probable. What is its loss in nats?
# 3. `kept` (a whole number): probabilities 0.4, 0.25, 0.2, 0.1, 0.05, and `top_p=0.8`. How many tokens stay?
# 4. `after_top_k` (a number, to two decimals): the same probabilities, `top_k=2`. What is the probability of the first
#    token now?
# 5. `clipped` (a number, to two decimals): two parameters, gradients [3, 0] and [0, 4], `max_norm` 1. What does the 4
#    become?
# 6. `fed` (a whole number): a prompt of 10 tokens, 5 new ones. How many tokens go through the model in all with
#    `generate_with_cache`?
# 7. `high_temperature` (a letter): the temperature goes up and up. The distribution comes near to
#    - a. all on the most probable token;
#    - b. the distribution of the logits at temperature 1;
#    - c. the same probability for every token;
#    - d. all on the least probable token.
# 8. `why_last_norm` (a letter): why does the model normalise once more after its last block?
#    - a. a pre-norm block ends in an addition, so its output isn't normalised;
#    - b. the head's weight is shared, so its input must be a probability;
#    - c. without it the future would leak;
#    - d. so that every block has the same number of norms.
#
# <details><summary>How is <code>fed</code> counted?</summary>
#
# The last new token is drawn and returned. Does the model have to read it?
#
# </details>

# %% exercise="quiz_11" role="solution"
quiz_11 = {
    "pairs_in_block": ...,  # a whole number
    "uniform_loss": ...,  # a number, to two decimals
    "kept": ...,  # a whole number
    "after_top_k": ...,  # a number, to two decimals
    "clipped": ...,  # a number, to two decimals
    "fed": ...,  # a whole number
    "high_temperature": ...,  # "a", "b", "c" or "d"
    "why_last_norm": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_11 = {
    "pairs_in_block": 1024,
    "uniform_loss": 3.91,
    "kept": 3,
    "after_top_k": 0.62,
    "clipped": 0.8,
    "fed": 14,
    "high_temperature": "c",
    "why_last_norm": "a",
}
### END SOLUTION

# %% exercise="quiz_11" role="check"
check(quiz_11, "quiz_11")

# %% [markdown]
# ## What you can do now
#
# You have written a language model and the loop that trains it, and it beats every table of counts. You know why: you
# have found the head that looks back, and shown by switching it off that it is the one. You can change the model's
# distribution before you draw, and let it write fast. And when somebody speaks of layers, heads, context, temperature or
# tokens of one of the large models, you know which line of your code they mean.
#
# **To read next**
#
# - Radford et al. (2019), *Language Models are Unsupervised Multitask Learners*, section 2: GPT-2, its tokens and its
#   sizes.
# - Elhage et al. (2021), *A Mathematical Framework for Transformer Circuits*, and Olsson et al. (2022), *In-context
#   Learning and Induction Heads*: heads that copy, and the step of the training at which they appear.
# - Wang, Variengien, Conmy, Shlegeris and Steinhardt (2023), *Interpretability in the Wild: a Circuit for Indirect
#   Object Identification in GPT-2 Small*, section 3: heads that move names.
# - Holtzman et al. (2020), *The Curious Case of Neural Text Degeneration*, sections 3 and 4: why the likeliest text
#   is a dull one, and top-p.
# - Press and Wolf (2017), *Using the Output Embedding to Improve Language Models*: why the weight is shared.
# - Sennrich, Haddow and Birch (2016), *Neural Machine Translation of Rare Words with Subword Units*, section 3:
#   byte-pair encoding.
# - Ouyang et al. (2022), *Training language models to follow instructions with human feedback*, section 3: from a
#   language model to a chat.
#
# ## The end of the course
#
# In lesson 01 there was a sentence about a robot and a crate, and a plain average. Since then you have written
#
# 1. self-attention by hand, with a softmax that doesn't overflow;
# 2. attention that is trained, and a test of attention weights;
# 3. many heads, as a function and as a module that gives PyTorch's numbers;
# 4. masks for the future and for padding, and a test that finds leaks;
# 5. LayerNorm, BatchNorm and residuals, which let a stack grow deep;
# 6. embeddings of tokens, and positions in four ways;
# 7. encoder, decoder, and a whole Transformer of them;
# 8. a training that works (and you found three bugs that the loss hides);
# 9. attention that needs less memory, and attention with a cache;
# 10. tools for looking inside a trained model;
# 11. today, a model that writes, and that remembers who is who.
#
# Where to go from here? Take a model whose weights are public and load them into classes that you have written
# yourself. If the numbers come out the same, you have understood it; if not, you know how to find out why.

# %% [markdown]
# ## For those who want more
#
# ### GPT-2 in your classes
#
# Here are published weights to begin with. GPT-2's come in a file of half a gigabyte, in safetensors, the format of
# lesson 08. If you have that file, your classes can run with its weights. This table lists what differs from your model.
#
# | | yours | GPT-2 |
# | --- | --- | --- |
# | positions | queries and keys are rotated | a learnt vector for each of 1024 places, `wpe`, added to the token's |
# | between the feed-forward layers | ReLU | GELU, a smooth curve much like it, computed with tanh |
# | a linear layer's matrix | (out, in), as `nn.Linear` has it | (in, out), called Conv1D: it has to be transposed |
# | queries, keys and values | three matrices | one for all three, `c_attn` |
# | biases | in all linear layers but the head | in the same ones |
# | norms | before each sub-layer, one at the end | the same: `ln_1`, `ln_2`, `ln_f` |
# | the head | shares the embedding's weight | the same: the file has only the embedding, `wte` |
#
# The first two differences need code. Lesson 03's attention has no rotation, and with a causal mask it fits into your
# block.


# %%
class CausalAttention(MultiHeadAttention):
    """Lesson 03's attention, with the arguments that a GPTBlock gives."""

    def forward(self, x, is_causal=False, cache=None):
        length = x.shape[1]
        past = torch.ones(length, length, dtype=torch.bool).tril()
        return super().forward(x, x, x, past)[0]


class SmoothFeedForward(FeedForward):
    """Lesson 07's feed-forward layers with GELU between them."""

    def forward(self, x):
        return self.linear2(F.gelu(self.linear1(x), approximate="tanh"))


# %% [markdown]
# A hook that returns something replaces a module's output, so the positions get in without a change to your `GPT`.


# %%
def like_gpt2(model, sizes, positions):
    """Change a GPT into GPT-2's kind. positions: (max_length, E)."""
    width, heads = sizes["d_model"], sizes["num_heads"]
    for block in model.blocks:
        block.attention = CausalAttention(width, heads)
        block.feed_forward = SmoothFeedForward(width, sizes["d_ff"])

    def with_positions(module, inputs, x):
        return x + positions[: x.shape[1]]

    model.token_embedding.register_forward_hook(with_positions)
    return model.eval()


# %% [markdown]
# The other differences are names and layouts. `t()` transposes a matrix and leaves a vector as it is, and `chunk` cuts
# the common matrix into three.

# %%
PARTS = {"ln_1": "norm1", "attn.c_proj": "attention.out_proj"}
PARTS |= {"ln_2": "norm2", "mlp.c_fc": "feed_forward.linear1"}
PARTS |= {"mlp.c_proj": "feed_forward.linear2"}


def of_block(theirs, i, kind):
    """The weights, or the biases, of block i by the names in yours."""
    parts = {}
    for name, yours in PARTS.items():
        parts[yours] = theirs[f"h.{i}.{name}.{kind}"].t()
    joint = theirs[f"h.{i}.attn.c_attn.{kind}"].t()
    for name, part in zip("qkv", joint.chunk(3), strict=True):
        parts[f"attention.{name}_proj"] = part
    return {f"blocks.{i}.{name}.{kind}": t for name, t in parts.items()}


# %%
def by_your_names(theirs, num_layers):
    """GPT-2's tensors by the names of your classes."""
    embedding = theirs["wte.weight"]
    yours = {"token_embedding.weight": embedding, "head.weight": embedding}
    for kind in ("weight", "bias"):
        yours[f"norm.{kind}"] = theirs[f"ln_f.{kind}"]
        for i in range(num_layers):
            yours |= of_block(theirs, i, kind)
    return yours


# %%
def in_classes(kind, published):
    """A model of this class with GPT-2's numbers."""
    sizes, theirs = published.sizes, published.weights
    model = like_gpt2(kind(**sizes), sizes, theirs["wpe.weight"])
    named = by_your_names(theirs, sizes["num_layers"])
    model.load_state_dict(named, assign=True)
    return model


# %%
from grader.models.gpt2 import published_gpt2

published = published_gpt2("gpt2.safetensors")

# %% [markdown]
# The ids below stand for "Once upon a time". You see words if the file `vocab.json` of the same model lies beside this
# notebook too. Your logits are compared with those of PyTorch's own layers with the same weights, which also write the
# text if your `GPT` isn't written yet. A difference as small as rounding means that your classes do what GPT-2 needs.

# %% role="try" timed=true
# GPT-2's numbers in your classes, and the 20 likeliest tokens in a row.
my_gpt2, my_ids = published, torch.tensor([[7454, 2402, 257, 640]])
if published:
    try:
        my_gpt2 = in_classes(GPT, published)
        my_off = (my_gpt2(my_ids) - published(my_ids)).abs().max()
        print(f"largest difference of the logits: {my_off:.5f}")
    except Exception as my_error:
        print("PyTorch's layers speak, yours don't yet:", repr(my_error)[:80])
        my_gpt2 = published
    for _ in range(20):
        my_next = my_gpt2(my_ids)[:, -1:].argmax(dim=-1)
        my_ids = torch.cat([my_ids, my_next], dim=1)
    print(published.text(my_ids[0].tolist()))
