# ---
# jupyter:
#   course:
#     about: a decoder-only language model, trained on this course's text until it writes; how characters are drawn
#     picture: the probabilities of the next character, with sliders for temperature, top-k and top-p
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
# Lesson 08's model learnt from dates that had one right answer each. The model of this lesson gets only a text, and one
# question: *which character comes next?* A model that can answer it can write. You build it from parts that you know.
# You train it for half a minute, and watch noise turn into letters, letters into words, and words into something that
# sounds like this course.
#
# **You need** lesson 03 (attention), lesson 04 (the causal mask), lesson 05 (pre-norm), lesson 06 (rotary positions),
# lesson 07 (the feed-forward layers), lesson 08 (how a model is trained) and lesson 09 (the key-value cache).
#
# **Afterwards you can**
#
# - say what a language model predicts, and how well a table of counts does it;
# - write a decoder-only model with a last norm and a shared weight, and write it again from memory;
# - train it with clipped gradients;
# - draw its next token with temperature, top-k and top-p, and let it write, with a cache and without.
#
# **Time:** <!-- time -->. The plan: the text → what there is to beat → the block → the model → training → the
# distribution → writing → the cache → from an empty cell → the large ones → a quiz. That is enough for two sittings,
# with a break after part 5.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `B` | batch: pieces of text handled together | 8 |
# | `T` | characters in a piece, `block_size` | 128 |
# | `V` | `vocab_size`: the characters that occur | 75 |
# | `E`, `H` | `d_model`, `num_heads` | 64, 4 |

# %%
import copy
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import Stopped, check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · A text as numbers
#
# The text was made from the prose of lessons 00 to 10, without code, formulas and quizzes. Its paragraphs are in random
# order. About fifty pages are little for a language model, but you know how they should sound.

# %%
from grader.models.gpt import course_text

text = course_text()
print(len(text), "characters,", len(text.split()), "words")
print(text[:600])

# %% [markdown]
# A token is one character, as in lesson 08. Upper and lower case differ, and the end of a line is a character too.

# %%
CHARACTERS = sorted(set(text))
V = len(CHARACTERS)
id_of = {character: i for i, character in enumerate(CHARACTERS)}


def encode(some_text):
    """A text as ids (1, T)."""
    return torch.tensor([[id_of[character] for character in some_text]])


def decode(ids):
    """Ids (T,) as a text."""
    return "".join(CHARACTERS[i] for i in ids.tolist())


print(V, "characters:", repr("".join(CHARACTERS)))
print("attention as ids:", encode("attention")[0].tolist())

# %% [markdown]
# The last tenth is **held out**: the model never learns from it. It only shows how good the model is.

# %%
ids = encode(text)[0]
cut = len(ids) * 9 // 10
train_ids, test_ids = ids[:cut], ids[cut:]
print("to learn from:", len(train_ids), " held out:", len(test_ids))

# %% [markdown]
# What does the model predict? Take any piece of the text. After its first character, which is the second? After the
# first two, which is the third? So a piece of 128 characters holds 128 questions, and the answers are in the text, one
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
# Is a loss of 1.6 good? You need a loss to compare it with. Lesson 08 had one: log V. That is the loss of a model that
# gives all V characters the same probability. A **unigram** model knows a little more: how often each character occurs
# in the training text.

# %%
shares = torch.bincount(train_ids, minlength=V) + 1  # one is added to each, so that none is impossible
shares = shares / shares.sum()
uniform = math.log(V)
unigram = -shares[test_ids].log().mean().item()
for i in shares.argsort(descending=True)[:5].tolist():
    print(repr(CHARACTERS[i]), f"{shares[i]:.3f}")
print(f"uniform: {uniform:.2f} nats   unigram: {unigram:.2f} nats")

# %% [markdown]
# A **bigram** model predicts a character from the one before it. After "q" comes "u", after a full stop a space or the
# end of the line. The model is a table of counts with V rows and V columns.

# %%
predict(
    "11_bigram", "What is the loss of a bigram model on the held-out text?", low=0, high=4.32, unit="nats"
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
# That is the number to beat. Counting works for a few characters of context. A table for ten would have 75 to the power
# of ten rows, nearly all of them empty. To use more context, a model has to find out what different beginnings have in
# common.

# %% [markdown]
# ## 3 · The block
#
# A Transformer without an encoder is called **decoder-only**. It has no source and no cross-attention. A block has one
# attention, over the text so far, and the feed-forward layers. Three things differ from lesson 07's encoder block. You
# know them all: the norm comes before each sub-layer (lesson 05), positions enter as rotations of queries and keys
# (lesson 06), and the mask hides later tokens (lesson 04).
#
# You get these cells: lesson 03's attention, lesson 06's rotary positions and lesson 07's feed-forward layers.

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %% role="given"
from lesson_06 import apply_rope

# %% role="given"
from lesson_07 import FeedForward


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
# `forward(x)` returns the shape of x. It has a second argument, `cache=None`, for section 8. Just pass it on to the
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
# embedding has a vector for each character. The head has one too: a logit is its dot product with what comes in. Both
# can use the same V vectors. Then the weight is **shared**, or *tied*.
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
# A small model is enough here. This function measures how good it is on the held-out text, 128 characters at a time.


# %%
@torch.no_grad()
def judged(model, length=128):
    """On the held-out text: the mean loss, and the share of characters that the model guesses right."""
    rows = test_ids[: (len(test_ids) - 1) // length * length + 1]
    wanted = rows[1:].view(-1, length)
    was_training = model.training
    logits = model.eval()(rows[:-1].view(-1, length))
    model.train(was_training)
    loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten()).item()
    return loss, (logits.argmax(dim=-1) == wanted).float().mean().item()


# %%
SIZES = {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 128, "max_length": 128}
predict(
    "11_untrained", "Your model has learnt nothing yet. What is its loss?", low=0, high=10, unit="nats"
)

# %% role="try"
# Try it: a fresh model, and what came out.
_ = torch.manual_seed(0)
my_gpt = GPT(V, **SIZES)
print("parameters:", sum(my_parameter.numel() for my_parameter in my_gpt.parameters()))
compare_guess("11_untrained", round(judged(my_gpt)[0], 1))

# %% [markdown]
# A model that knows nothing has the loss log V, 4.32 nats. Your model is close to it. A much larger loss would point to
# a fault: with too large logits at the start, a model is sure of nonsense.
#
# ## 5 · Training
#
# A step is the same as in lesson 08: guess, compare, adjust. One thing is new. Now and then a batch gives a gradient
# that is much longer than usual. One such step can spoil what a hundred steps have learnt. So the gradient's length is
# limited before the step. This is called **clipping**.
#
# ### Exercise 5: `clip_gradients`
#
# Difficulty 3 of 5
#
# Easier than the model, and short. All gradients together are one long vector. Its length is the root of the sum of all their squares: of every entry of
# every parameter. If that norm is larger than `max_norm`, multiply every gradient by max_norm / norm, in place:
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


# %%
def train_step(model, optimizer, inputs, labels, clip, max_norm=1.0):
    """One step on one batch; returns the loss before it and the norm of the gradients before they were
    clipped."""
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    norm = clip(model.parameters(), max_norm)
    optimizer.step()
    return loss.item(), norm


# %% [markdown]
# Now the training. `Training` takes your functions, so it is your model that learns, from your batches, with your
# clipping. Every 100 steps it is judged on the held-out text: the loss, and how many characters it guesses right.


# %%
class Training:
    """A model that learns: `batch_of` cuts its batches, `clip` limits its gradients. It can be stopped
    and go on."""

    def __init__(
        self, model, batch_of, clip, steps=1000, seed=0, batch_size=8, block_size=128, peak=0.006
    ):
        self.model, self.batch_of, self.clip, self.steps, self.peak = model, batch_of, clip, steps, peak
        self.block_size = block_size
        self.optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        # All batches are drawn before the first step: a training that was stopped goes on with the next.
        generator = torch.Generator().manual_seed(seed)
        self.starts = torch.randint(len(train_ids) - block_size, (steps, batch_size), generator=generator)
        self.losses, self.norms, self.held_out, self.shares = [], [], {}, {}
        self.judge()

    @property
    def done(self):
        return len(self.losses)

    def judge(self):
        self.held_out[self.done], self.shares[self.done] = judged(self.model)

    def one_step(self):
        starts = self.starts[self.done]
        rise, fall = (self.done + 1) / 50, (self.steps - self.done) / (self.steps - 49)
        self.optimizer.param_groups[0]["lr"] = self.peak * min(rise, fall)
        loss, norm = train_step(
            self.model, self.optimizer, *self.batch_of(train_ids, starts, self.block_size), self.clip
        )
        self.losses.append(loss)
        self.norms.append(norm)


# %%
def go_on(run, until, monitor=None, every=100):
    """Up to step `until`, or until the kernel is interrupted."""
    run.model.train()
    try:
        while run.done < until:
            run.one_step()
            if run.done % every == 0:
                run.judge()
            if monitor is not None:
                monitor.show(run.losses, run.shares)
    except KeyboardInterrupt:
        raise Stopped(
            f"Stopped at step {run.done} of {run.steps}. Run this cell again to go on."
        ) from None
    finally:
        if monitor is not None:
            monitor.show(run.losses, run.shares, now=True)


# %%
from grader.views import TrainingMonitor

monitor = TrainingMonitor(1000, score="held-out characters guessed right")
monitor

# %% role="try"
# Your model before it has learnt anything. It is kept at three steps, so that all three can write later.
my_run = Training(my_gpt, language_batch, clip_gradients)
my_album = {0: copy.deepcopy(my_gpt)}

# %% role="try"
# Your model learns.
go_on(my_run, until=100, monitor=monitor)
my_album[100] = copy.deepcopy(my_gpt)
print(
    "after 100 steps better than a bigram model:",
    my_run.held_out[100] < bigram_loss(train_ids, test_ids, V),
)

# %% role="try"
go_on(my_run, until=1000, monitor=monitor)
my_album[1000] = my_gpt
my_gain = bigram_loss(train_ids, test_ids, V) - my_run.held_out[1000]
print("nats below the bigram model, more than half a nat:", my_gain > 0.5)

# %% role="try" timed=true
# In numbers, on your machine: the loss on the held-out text, its perplexity, and how long the gradients
# were.
for my_step in (0, 100, 200, 500, 1000):
    print(
        f"step {my_step:4}: {my_run.held_out[my_step]:.2f} nats, {my_run.shares[my_step]:.0%} "
        "guessed right"
    )
my_norms = torch.tensor(my_run.norms)
print(f"perplexity: bigram {math.exp(my_bigram):.1f}, yours {math.exp(my_run.held_out[1000]):.1f}")
print(f"norm of the gradients: median {my_norms.median():.2f}, largest {my_norms.max():.2f}")
print(f"clipped in {(my_norms > 1).float().mean():.0%} of the steps")
monitor

# %% [markdown]
# Half a nat is a lot. The number e to the power of the loss is the **perplexity**. The model is as unsure as if it
# chose among that many equally likely characters. The bigram model chooses among 11 or 12, yours among 4 or 5.
#
# If a cell above raised an error, an exercise isn't finished. You can still go on: the course has its own model. It has
# the same parts, but four layers and `d_model` 96. It was trained for 2400 steps, with dropout. From here on, only
# names with `my_…` are yours. This is what the course's model wrote during its training, always after "Attention ":

# %%
from grader.models.gpt import trained_gpt

course = trained_gpt()
print(f"the course's model: {course.loss:.2f} nats on the same held-out text")
for step, wrote in course.samples.items():
    print(f"\n--- after {step} steps\n{wrote}")

# %% [markdown]
# Before the training it writes noise. After 100 steps words have about the right length, and common letters follow each
# other. After 1000 steps most words are real ones. After 2400 some phrases are right as well, but the text still means
# nothing. How is each character chosen? That is the next question. (Half of the lesson is done: a good place for a
# break.)
#
# ## 6 · From logits to a distribution
#
# The model's last layer gives V logits, softmax makes V probabilities of them, and one character has to be chosen. If
# you always take the likeliest, as lesson 08 did for dates, the text soon repeats itself. If you draw from the
# probabilities as they are, there are too many mistakes: fifty wrong characters with 0.2 % each add up to one draw in
# ten. So the distribution is changed before the draw. There are three ways, often used together.
#
# **Temperature.** The logits are divided by a number before softmax. Below 1 the likely characters become likelier;
# above 1 all probabilities become more alike.

# %%
logits = course(encode("The weights of the att"))[0, -1]
likeliest = logits.argsort(descending=True)[:6]
print("character  ", *(f"{CHARACTERS[i]!r:>6}" for i in likeliest))
for temperature in (0.5, 1.0):
    probabilities = (logits / temperature).softmax(dim=-1)
    print(f"temperature {temperature}", *(f"{p:6.2f}" for p in probabilities[likeliest].tolist()))

# %%
predict(
    "11_hot",
    "“Attention i”, temperature 2: how many characters, the likeliest first, reach nine tenths "
    "of the probability?",
    low=1,
    high=75,
    unit="characters",
)

# %% role="answer"
logits = course(encode("Attention i"))[0, -1]
for temperature in (0.5, 1.0, 2.0):
    reached = (logits / temperature).softmax(dim=-1).sort(descending=True).values.cumsum(dim=0)
    needed = (reached < 0.9).sum().item() + 1
    print(f"temperature {temperature}: characters needed {needed}")
compare_guess("11_hot", needed)

# %% role="draw"
import matplotlib.pyplot as plt

figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", sharey=True)
order = logits.argsort(descending=True)[:20]
names = [{" ": "␣", "\n": "↵"}.get(CHARACTERS[i], CHARACTERS[i]) for i in order]
for axes, temperature in zip(panels, (0.5, 1.0, 2.0), strict=True):
    axes.bar(range(20), (logits / temperature).softmax(dim=-1)[order], color="#00204c")
    axes.set_xticks(range(20), names)
    axes.set(title=f"temperature {temperature}", ylim=(0, 1))
panels[0].set_ylabel("probability after “Attention i”")
plt.show()

# %% [markdown]
# *The picture in words:* three times the same 20 characters, the likeliest first, with a bar for the probability of
# each. At temperature 0.5 the first bar has nearly everything. At 1 it has about seven tenths, the second two tenths.
# At 2 the first has about four tenths, the second two tenths, and a long row of low bars has the rest.
#
# **Top-k** keeps the k likeliest and drops the rest. But ten are too many where the model is sure, and too few where it
# isn't. **Top-p** counts probability instead of characters: it keeps the fewest characters that together reach p, for
# example 0.9. This view shows all three. Run the cell, then try:
#
# 1. Draw some characters with the settings as they are. When is a wrong one drawn, and how does the text go on after
#    it?
# 2. Set the temperature to 0, start again and draw 40. Draw 40 more. What happens?
# 3. Set temperature 1 and top-p 0.9, and draw one by one. In the middle of a word often only one or two characters
#    stay. How many stay at its beginning?
# 4. Type a beginning of your own.

# %%
from grader.views import Sampler

Sampler(course, course.characters, "Attention ", max_length=course.sizes["max_length"])

# %% [markdown]
# ### Exercise 6: `next_token_probabilities`
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
# ## 7 · Writing
#
# One character is drawn and appended, and the longer text goes through the model again. That is all. A model that
# writes a page has answered the same question a few thousand times.
#
# ### Exercise 7: `generate`
#
# Difficulty 3 of 5
#
# Easier than the last one: it is a loop around it. Write `new_tokens` tokens after the `prompt` (B, T), one after the
# other. In each round, take the model's logits at the last position. Call `next_token_probabilities` with what is in `sampling` (`temperature`, `top_k`, `top_p`). Draw
# one token for each row, and append it. `torch.multinomial(probabilities, 1, generator=generator)` draws; a generator
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
    my_text = generate(
        my_moment, encode("The model "), 200, torch.Generator().manual_seed(1), temperature=0.7
    )
    my_words = decode(my_text[0])
    my_copies = sum(my_words[i : i + 20] in text for i in range(len(my_words) - 19)) / (
        len(my_words) - 19
    )
    print(f"--- after {my_step} steps; pieces of 20 characters that occur in the text: {my_copies:.0%}")
    print(my_words, end="\n\n")

# %% role="try" timed=true
# Try it: your own model in the view of section 6.
Sampler(my_gpt, CHARACTERS, "The model ")

# %% [markdown]
# Your model learnt for half a minute from 130 000 characters. What it writes is not copied: hardly any piece of 20
# characters occurs in the text. Look at what it has learnt from the text alone. Words end, sentences begin with a
# capital letter, brackets close, at least sometimes. It has not learnt what any of it means.
#
# ## 8 · With a cache
#
# For each new character, `generate` sends the whole text through the model, although only the last character is new.
# Lesson 09's cache keeps the keys and values of every layer. Then only the new character goes through the model. Its
# query meets all the keys in the cache.

# %%
predict(
    "11_cache",
    "400 new characters: how many times as fast is it with a cache?",
    low=0,
    high=400,
    unit="times",
)

# %% [markdown]
# ### Exercise 8: `generate_with_cache`
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
# Try it: the same characters, and the time that they take. The model is untrained: that makes no
# difference here.
my_large = GPT(V, 64, 2, 4, 128, max_length=512)
my_texts, my_seconds = [], []
for my_function in (generate, generate_with_cache):
    my_start = time.perf_counter()
    my_texts.append(my_function(my_large, encode("The model "), 400, torch.Generator().manual_seed(1)))
    my_seconds.append(time.perf_counter() - my_start)
    print(f"{my_function.__name__:20} {400 / my_seconds[-1]:6.0f} characters a second")
print("positions through the layers:", sum(range(10, 410)), "without a cache,", 10 + 399, "with it")
print("characters that differ:", (my_texts[0] != my_texts[1]).sum().item())
compare_guess("11_cache", round(my_seconds[0] / my_seconds[1], 1))

# %% [markdown]
# Without a cache 10, 11, 12, … up to 409 positions go through the layers. With it, only 409 do in all. So why isn't it
# 200 times as fast? Here a hundred positions take only about twice as long as one. With a model this small, Python and
# the calls to PyTorch take most of the time. The longer the text and the larger the model, the more the cache gains.
#
# Can the two texts differ? The arithmetic is the same, but in another order. So the last digits of the logits differ.
# If a random number lies just at the border between two characters, another one may be drawn. Then the rest differs
# too.

# %% [markdown]
# ## 9 · From an empty cell
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
    tokens = encode("The weights of the attention are what")
    with torch.no_grad():
        difference = (model.eval()(tokens) - course(tokens)).abs().max().item()
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
# ## 10 · The large ones
#
# How does your model differ from those that people talk to? Less in its code than in its size.
#
# **Tokens.** With characters as tokens, texts are long: a page has about 3000. Its attention weights are 3000 by 3000.
# With words as tokens, the vocabulary has no end. **Byte-pair encoding** (BPE) is in between: begin with characters,
# find the pair of neighbours that occurs most often, make it one token, and repeat. On our text:

# %%
tokens = list(text)
print(len(tokens), "tokens at first")
for _ in range(8):
    pairs = Counter(pair for pair in itertools.pairwise(tokens) if "\n" not in pair)
    (left, right), count = pairs.most_common(1)[0]
    merged, i = [], 0
    while i < len(tokens):
        together = tokens[i : i + 2] == [left, right]
        merged.append(left + right if together else tokens[i])
        i += 1 + together
    tokens = merged
    print(f"{left!r} + {right!r} occurs {count} times, {len(tokens)} tokens are left")

# %% [markdown]
# GPT-2 begins with the 256 bytes instead of characters, so it can write every text of every language. It makes 50 000
# merges. With one token for the end of a text, that is a vocabulary of 50 257. A frequent word is one token then,
# together with the space before it.
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
# ## 11 · Quiz
#
# ### Exercise 9: `quiz_11`
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
# You have written a language model, trained it on a text, and beaten a bigram model. You know what its loss is worth:
# you know the loss of a model that knows nothing, and of one that counts pairs. You can change its distribution before
# you draw. You can let it write fast. And when somebody speaks of layers, heads, context, temperature or tokens of one
# of the large models, you know which line of your code they mean.
#
# **To read next**
#
# - Radford et al. (2019), *Language Models are Unsupervised Multitask Learners*, section 2: GPT-2, its tokens and its
#   sizes.
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
# In lesson 01 there were three tokens with four numbers each, and a dot product. Since then you have written
#
# 1. self-attention by hand, with a softmax that doesn't overflow, and a test of attention weights;
# 2. learnt projections, and scores divided by √d_k;
# 3. many heads, as a function and as a module that gives PyTorch's numbers;
# 4. masks for the future and for padding, and a test that finds leaks;
# 5. LayerNorm, BatchNorm and residuals, which let a stack grow deep;
# 6. embeddings of tokens, and positions in four ways;
# 7. encoder, decoder, and a whole Transformer of them;
# 8. a training that works (and you found three bugs that the loss hides);
# 9. attention that needs less memory, and attention with a cache;
# 10. tools for looking inside a trained model;
# 11. today, a model that writes.
#
# Where to go from here? Take a model whose weights are public and load them into classes that you have written
# yourself. If the numbers come out the same, you have understood it; if not, you know how to find out why.
