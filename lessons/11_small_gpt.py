# ---
# jupyter:
#   course:
#     about: a decoder-only language model, trained on tales until it writes; what it knows, and how that is found out
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
# *Once there was a heron called Odile, who was afraid of soup. One day Percy the owl came from the mill. "What a golden
# trumpet!" said …* You know who says it, because you remember who came. A table that counts which word follows which
# can write sentences like these, but by the next one it has forgotten Percy.
#
# You build a language model from parts that you know, and train it on such tales until it writes some of its own. Then
# you look inside, and ask of everything that it seems to know how it knows it. Not every guess will come out right, and
# some of ours didn't either.
#
# **You need** lessons 03 (attention), 04 (the causal mask), 05 (pre-norm), 06 (rotary positions), 07 (the feed-forward
# layers), 08 (training) and 09 (the key-value cache).
#
# **Afterwards you can**
#
# - say what a language model predicts, and how far simpler rules get you;
# - write a decoder-only model, the loop that trains it, and the loop that writes with it;
# - find out what a head is for, and test it by switching the head off;
# - ask a model whether it knows something, in a way in which the answer can be no.
#
# **Time:** <!-- time -->. The lesson is made for two sittings, with a break at the end of section 6, when your model
# writes and leaves you with a riddle. (After the break, run all cells again.)
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
from collections import Counter, defaultdict, namedtuple

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import Stopped, check, compare_guess, predict, show, sweep

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Tales as numbers
#
# A small grammar made these tales from about forty patterns with gaps for names, things and places. Most of what a tale
# names comes back later in it. The last 80 tales are **held out**, so no model learns from them.

# %%
from grader.models.gpt import course_tales, joined, words_of

train_text, test_text, strange_text = course_tales()
for tale in train_text.splitlines()[:3]:
    print(textwrap.fill(tale, 78), end="\n\n")

# %% [markdown]
# A token here is a word or a punctuation mark, so a name is a single token, and the end of a line is one too.

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
print(f"{V} different tokens; {len(train_ids)} to learn from", end="")
print(f", {len(test_ids)} held out")
BEGINNING = decode(train_ids[:4])  # how every generated text begins
print(f"“{BEGINNING}” as ids:", train_ids[:4].tolist())

# %% [markdown]
# A language model answers one question: *what comes next?* A piece of 96 tokens holds 96 such questions, and the
# answers are in the text, one place further on, so nobody has to label anything.
#
# ### Exercise 1: `language_batch`
#
# Difficulty 1 of 5
#
# `ids` is the whole text as ids, on one axis. Cut one piece of it for each entry of `starts`, so that `inputs[b]` holds
# the `block_size` ids from place `starts[b]` on, and `labels[b]` the ids one place further on.
#
# With ids 10, 11, 12, …, `starts` 0 and 5 and a `block_size` of 3, `inputs` is [[10, 11, 12], [15, 16, 17]] and
# `labels` is [[11, 12, 13], [16, 17, 18]].
#
# <details><summary>I would write a loop over <code>starts</code></summary>
#
# A loop is fine, and `torch.stack` makes one tensor of the pieces. Or do without a loop, and index `ids` with a table
# of places, (B, block_size).
#
# </details>
#
# <details><summary>My pieces begin at the wrong places</summary>
#
# A 5 in `starts` means the token at place 5, and not the fifth piece, so two pieces may overlap.
#
# </details>


# %% exercise="language_batch" role="solution"
def language_batch(
    ids: Tensor, starts: Tensor, block_size: int
) -> tuple[Tensor, Tensor]:
    """Pieces of a text, and for each of their tokens the one that comes next.

    ids: the text, one axis; starts: (B,), where each piece begins.
    Returns (inputs, labels), each (B, block_size).
    """
    ### BEGIN SOLUTION
    places = starts[:, None] + torch.arange(block_size, device=starts.device)
    return ids[places], ids[places + 1]
    ### END SOLUTION


# %% exercise="language_batch" role="check"
check(language_batch)

# %% [markdown]
# ## 2 · What there is to beat
#
# Is a loss of 1 nat good? Lesson 08 had log V, the loss of a model to which all V tokens are equally probable; here
# that is 5.80. A **unigram** model knows only how often each token occurs. A **bigram** model predicts a token from the
# one before it, "there" after "once", and is a table of counts with V rows and V columns.
#
# ### Exercise 2: `bigram_loss`
#
# Difficulty 2 of 5
#
# Count in `train_ids` how often token j comes right after token i, and add one to each of the vocab_size · vocab_size
# counts (add-one smoothing), so that no pair is impossible. A row of counts divided by its sum gives the probabilities
# of what follows token i. Return the mean of −log p, in nats, over all tokens of `test_ids` except the first, as a
# float.
#
# In an example with two tokens, `train_ids` 0, 0, 1 has the pairs (0, 0) and (0, 1). The counts are [[2, 2], [1, 1]],
# so every probability is 1/2, and every loss is log 2 = 0.693.
#
# <details><summary>My loss is infinite</summary>
#
# Without the added one, a pair of the test text that never occurs in the training text has probability 0. To how many
# of the counts do you add one?
#
# </details>
#
# <details><summary><code>counts[first, second] += 1</code> counts too little</summary>
#
# With tensors as an index, a pair that occurs three times is counted only once. A loop over the pairs counts correctly,
# and so do `index_put_` with `accumulate=True` and `torch.bincount`.
#
# </details>


# %% exercise="bigram_loss" role="solution"
def bigram_loss(train_ids: Tensor, test_ids: Tensor, vocab_size: int) -> float:
    """The loss in nats of a table of pairs, with one added to each count.

    train_ids, test_ids: one axis each. Returns the mean of
    -log p(token | the one before) over test_ids but its first.
    """
    ### BEGIN SOLUTION
    pairs = train_ids[:-1] * vocab_size + train_ids[1:]
    counts = torch.bincount(pairs, minlength=vocab_size**2) + 1
    counts = counts.view(vocab_size, vocab_size)
    probabilities = counts / counts.sum(dim=1, keepdim=True)
    return -probabilities[test_ids[:-1], test_ids[1:]].log().mean().item()
    ### END SOLUTION


# %% exercise="bigram_loss" role="check"
check(bigram_loss)

# %% role="try"
# Try it: the loss on the held-out tales.
my_bigram = bigram_loss(train_ids, test_ids, V)
print(f"bigram: {my_bigram:.2f} nats, perplexity {math.exp(my_bigram):.1f}")

# %% [markdown]
# Whoever hesitates between 13 equally probable words has a loss of log 13, about 2.6. So e to the power of the loss,
# called **perplexity**, is the number of equally probable words among which a model hesitates on average.
#
# Why stop at one word, when a table can also count what comes after the last two, or the last five? But the longer a
# sequence, the fewer examples of it there are, so a good table mixes in what it knows of shorter ones.


# %% long="a table is counted and asked"
def counted(ids, back):
    """What came after every piece of 0 to `back` tokens, and how often."""
    after = defaultdict(Counter)
    tokens = ids.tolist()
    for i, token in enumerate(tokens):
        for length in range(min(i, back) + 1):
            after[tuple(tokens[i - length : i])][token] += 1
    return after


def table_probability(after, before, token):
    """The probability of a token after a list of tokens. The more different
    tokens came after a beginning, the more a shorter one counts (Witten and
    Bell 1991)."""
    probability = 1 / V
    for length in range(len(before) + 1):
        counts = after.get(tuple(before[len(before) - length :]))
        if counts is None:
            break
        total, different = counts.total(), len(counts)
        mixed_in = counts[token] + different * probability
        probability = mixed_in / (total + different)
    return probability


after = counted(train_ids, 5)

# %% [markdown]
# All models are judged on the same pieces of 128 tokens, each of which begins with a held-out tale. One kind of word is
# judged separately too, **names that were named before** in that piece, which a model can know if it remembers.

# %%
line_ends = (test_ids == id_of["\n"]).nonzero().flatten()
begins = torch.cat([torch.zeros(1, dtype=torch.long), line_ends + 1])
begins = begins[begins + 129 <= len(test_ids)]
test_rows = test_ids[begins[:, None] + torch.arange(129)]
test_inputs, test_labels = test_rows[:, :-1], test_rows[:, 1:]

# A name has a capital letter after a word without one: "said Odile".
text_words = words_of(train_text + test_text + strange_text)
pairs = itertools.pairwise(text_words)
names = {b for a, b in pairs if a[0].islower() and b[0].isupper()}
is_name = torch.tensor([word in names for word in WORDS])
occurs = (test_inputs[:, None] == test_labels[:, :, None]).tril()  # (B, T, T)
again = is_name[test_labels] & occurs.any(dim=-1)
name_labels = test_labels.where(is_name[test_labels], -1)
print(f"{len(names)} names; {again.sum()} of {again.numel()} places", end="")
print(" ask for one that was named before")


# %% claim="tables_know_no_names" long="the losses of six tables"
def table_losses(after, back):
    """The loss of a table at every place of the held-out pieces (B, T)."""
    losses = torch.zeros(test_labels.shape)
    for b, row in enumerate(test_rows.tolist()):
        for t in range(1, 129):
            before = row[max(0, t - back) : t]
            chance = table_probability(after, before, row[t])
            losses[b, t - 1] = -math.log(chance)
    return losses


ladder = {}
for back in range(6):
    losses = table_losses(after, back)
    ladder[back] = losses.mean().item(), losses[again].mean().item()
rows = [f"{back} words back" for back in ladder]
show(list(ladder.values()), rows, ["all words", "names"], title="nats")
best_table, best_names = (
    min(row) for row in zip(*ladder.values(), strict=True)
)
print(f"any of {len(names)} names at random: {math.log(len(names)):.2f} nats")

# %% [markdown]
# Tables get better up to three words back and then worse, because there are too few examples of longer sequences. No
# table learns which name is due, and on names they are all worse than a draw from all the names, because they often
# don't even expect a name. The name that is due was last read four to forty words back, nearly always further than a
# table reads.

# %% [markdown]
# A rule can reach further than a table. Each tale has two animals who mostly speak and act in turn. So here is a rule
# that copies, in four lines. Of this tale's two names it takes the one that was *not* named last.


# %%
END = id_of["\n"]


def copied(before):
    """A guess at the name to come, from the tokens (a list) before it."""
    tale = before[-before[::-1].index(END) :] if END in before[:-1] else before
    named = [i for i in reversed(tale) if is_name[i]]
    others = [i for i in named if i != named[0]]
    return (others or named or [END])[0]


predict(
    "11_rule",
    "Told that a name is due, how often does this rule take the right one?",
    low=0,
    high=100,
    unit="%",
)

# %% role="answer"
asked = again.nonzero().tolist()
guesses = [copied(test_inputs[b, : t + 1].tolist()) for b, t in asked]
by_rule = (torch.tensor(guesses) == test_labels[again]).float().mean().item()
print(f"the rule names the right one at {by_rule:.1%} of these places")
compare_guess("11_rule", round(100 * by_rule))

# %% [markdown] role="answer"
# A rule of four lines does what no table can, and this is the figure to beat. It knows only that a name is due and
# which names it may copy, so a model that gets as many names right needn't understand any more than that.

# %% [markdown]
# And yet a table can write, and here the one that looks three words back goes on from our beginning.

# %%
draw = torch.Generator().manual_seed(3)
tokens = encode(BEGINNING)[0].tolist()
while len(tokens) < 90:
    chances = [table_probability(after, tokens[-3:], i) for i in range(V)]
    drawn = torch.multinomial(torch.tensor(chances), 1, generator=draw)
    tokens.append(drawn.item())
print(textwrap.fill(decode(torch.tensor(tokens)), 78))

# %% [markdown]
# Any four words in a row sound right. But sentences turn into others halfway, and who visits whom?
#
# ## 3 · The block
#
# A Transformer without an encoder is called **decoder-only**. It has no source and no cross-attention, so its block
# consists of self-attention over the text so far and the feed-forward layers. This block differs from lesson 07's
# encoder block in three ways. The norm comes before each sub-layer (lesson 05), positions enter as rotations of queries
# and keys (lesson 06), and the mask hides later tokens (lesson 04).
#
# Your own code of lessons 03, 06 and 07 runs here if those notebooks are in the same folder and pass their checks.
# `RotaryAttention`, the last cell, is given because you have written its parts too, which are lesson 03's heads, lesson
# 06's rotation, and the cache and the mask of lesson 09's `attend_with_cache`.
# Read it with one question in mind. If 5 tokens are in the cache and 3 come, at which positions are the three?

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads
from lesson_06 import apply_rope
from lesson_07 import FeedForward

# %%
from grader import use_yours

use_yours(split_heads, merge_heads, MultiHeadAttention, apply_rope, FeedForward)


# %% role="given"
class RotaryAttention(MultiHeadAttention):
    """Self-attention of lesson 03 with the rotary positions of lesson 06.

    x (B, T, E) gives (B, T, E). is_causal hides every later token. cache is
    None or a dict, empty at the start of a text: each layer keeps its keys and
    values in it, and x holds the tokens that come after them.
    """

    def forward(
        self, x: Tensor, is_causal: bool = False, cache: dict | None = None
    ) -> Tensor:
        query, key, value = (
            split_heads(project(x), self.num_heads)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        before = cache.get(id(self)) if cache else None  # this layer's, so far
        seen = before[0].shape[-2] if before else 0
        positions = torch.arange(seen, seen + x.shape[1], device=x.device)
        query, key = apply_rope(query, positions), apply_rope(key, positions)
        if before:
            key = torch.cat([before[0], key], dim=-2)
            value = torch.cat([before[1], value], dim=-2)
        if cache is not None:
            cache[id(self)] = (key, value)
        mask = torch.ones(
            x.shape[1], seen + x.shape[1], dtype=torch.bool, device=x.device
        )
        mask = mask.tril(seen) if is_causal else mask
        attended = F.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(merge_heads(attended))


# %% [markdown]
# ### Exercise 3: `GPTBlock`
#
# Difficulty 2 of 5
#
# The parts are lesson 07's, so you get `__init__`, and write `forward`. Each sub-layer is pre-norm, x +
# dropout(sublayer(norm(x))), and its sum isn't normalised. The attention takes one input, `is_causal=True` and the
# `cache`. That is for exercise 11, at the end, and here you only pass it on with `cache=cache`.
#
# <details><summary>Only "in train mode" fails</summary>
#
# In train mode the check drops everything (`dropout` is nearly 1). What is left of the block when the outputs of both
# sub-layers are gone?
#
# </details>


# %% exercise="GPTBlock" role="solution"
class GPTBlock(nn.Module):
    """Attention, then feed-forward layers: a norm before, an addition after.

    Has norm1 and norm2 (nn.LayerNorm), attention (RotaryAttention),
    feed_forward (FeedForward) and dropout (nn.Dropout). forward takes
    x (B, T, E) and a cache for the attention, or None; it returns (B, T, E).
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        ### BEGIN SOLUTION
        attended = self.attention(self.norm1(x), is_causal=True, cache=cache)
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.norm2(x)))
        ### END SOLUTION


# %% exercise="GPTBlock" role="check"
check(GPTBlock)

# %% [markdown]
# ## 4 · The model
#
# First comes an embedding, then come the blocks, and at the end a linear layer, the **head**, gives V logits for each
# position. (It shares only its name with the heads of attention.) The embedding has a vector for each token, and so has
# the head, because a token's logit is the dot product of what comes in with its row of the head's matrix. Both can use
# the same V vectors, and then the weight is **shared**, or *tied*.
#
# ### Exercise 4: `GPT`
#
# Difficulty 2 of 5
#
# Token ids (B, T) become logits (B, T, V) on their way through `token_embedding`, each of the `blocks`, the last `norm`
# and the `head`. A pre-norm block ends in an addition, so the last norm is needed.
#
# You get all parts but the `blocks`, an `nn.ModuleList` of `num_layers` blocks. The head's weight **is** the
# embedding's, one parameter with two names, and it is the head's that both use. With `tied=False`, which section 8
# needs, each keeps its own. Then compute `logits` in `forward`, where each block also gets the `cache`, which may be
# None.
#
# <details><summary>Why the head's weight, and not the embedding's?</summary>
#
# The entries of a new `nn.Embedding` are larger, so the first logits would be far too large.
#
# </details>
#
# <details><summary>The weights are not shared though I copied them</summary>
#
# Two parameters with equal entries differ after the first training step, so assign the parameter itself, not its
# entries.
#
# </details>


# %% exercise="GPT" role="solution" long="a class with all its sizes"
class GPT(nn.Module):
    """A decoder-only language model.

    Has token_embedding (nn.Embedding), blocks (nn.ModuleList of GPTBlock),
    norm (nn.LayerNorm), head (nn.Linear without a bias, its weight the
    embedding's unless tied is False) and max_length. forward takes tokens
    (B, T), ids, and returns logits (B, T, V); with a cache (a dict, empty at
    first) it returns (logits, cache). ValueError beyond max_length.
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
        tied: bool = True,
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        sizes = (d_model, num_heads, d_ff, dropout)  # a block's
        ### BEGIN SOLUTION
        self.blocks = nn.ModuleList(GPTBlock(*sizes) for _ in range(num_layers))
        ### END SOLUTION
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        ### BEGIN SOLUTION
        if tied:
            self.token_embedding.weight = self.head.weight
        ### END SOLUTION

    def forward(
        self, tokens: Tensor, cache: dict | None = None
    ) -> Tensor | tuple[Tensor, dict]:
        length, most = tokens.shape[1], self.max_length
        if length > most:
            raise ValueError(f"{length} tokens, but max_length is {most}")
        ### BEGIN SOLUTION
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        ### END SOLUTION
        return logits if cache is None else (logits, cache)


# %% exercise="GPT" role="check"
check(GPT)

# %% [markdown]
# ## 5 · Training
#
# Large models are trained with **clipping**, which lesson 08 didn't need. Now and then a batch gives a gradient many
# times as long as usual, and one such step can spoil what a thousand have learnt. So all gradients are seen as one long
# vector, and where its norm is above `max_norm`, `nn.utils.clip_grad_norm_` multiplies them by max_norm / norm. Our
# small model gets nearly the same losses without it.
#
# ### Exercise 5: `fit`
#
# Difficulty 3 of 5
#
# Write the whole loop, with a row of `starts` (steps, B) for each step. A step cuts its batch with `language_batch` and
# computes the mean loss over all its labels. Then come the gradients, and what was in `.grad` before must not count,
# not even in the first step. `nn.utils.clip_grad_norm_(model.parameters(), max_norm)` clips them, and the optimiser
# takes its step. Collect in `losses` the loss *before* each step, as a plain number.
#
# Take the optimiser as it is, with its learning rate and its memory of earlier steps, because `fit` will be called
# piece by piece and has to go on where it was.
#
# <details><summary>In which order?</summary>
#
# The optimiser's step reads `.grad`, so what has to be finished by then, and what must not happen in between?
#
# </details>
#
# <details><summary><code>cross_entropy</code> complains about shapes</summary>
#
# It takes (N, V) and (N,), but your logits are (B, T, V) and your labels (B, T), so which axes can be joined?
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

    ids: (N,), the text; starts: (steps, B). The model is in train mode
    meanwhile and keeps its mode otherwise. Returns the loss before each step.
    """
    was_training, losses = model.training, []
    model.train()
    ### BEGIN SOLUTION
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        losses.append(loss.item())
    ### END SOLUTION
    model.train(was_training)
    return losses


# %% exercise="fit" role="check"
check(fit)

# %% [markdown]
# `judge_of` asks a model what the tables were asked. `Training` calls your `fit` for one row of `starts` at a time,
# because the learning rate changes with each step, and rises for 50 steps before it falls.


# %% long="what judges a model, and one class that keeps a training and takes its steps"
SIZES = {"d_model": 64, "num_layers": 2, "num_heads": 2, "d_ff": 128}


Scores = namedtuple("Scores", "loss right asked_loss asked_right")
COLUMNS = ["nats", "right", "nats, names", "right, names"]


def judge_of(inputs, labels, asked):
    """What judges a model on these pieces (B, T): loss and share guessed right
    of all labels, and of those asked for, where `asked` (B, T) is True."""

    @torch.no_grad()
    def judge(model):
        was_training = model.training
        logits = model.eval()(inputs)
        model.train(was_training)
        losses = F.cross_entropy(logits.mT, labels, reduction="none")
        right = (logits.argmax(dim=-1) == labels).float()
        four = losses, right, losses[asked], right[asked]
        return Scores(*(part.mean().item() for part in four))

    return judge


judged = judge_of(test_inputs, test_labels, again)


class Training:
    """A model that learns by `fit`, a row of `starts` (steps, B) at a time. It
    can be stopped and go on. `judge` gives its scores."""

    def __init__(
        self, model, fit, ids, starts, block_size=96, peak=0.008, judge=judged
    ):
        self.model, self.fit, self.judge = model, fit, judge
        self.ids, self.starts, self.block_size = ids, starts, block_size
        self.steps, self.peak = len(starts), peak
        # Adam, which also makes all weights a little smaller in each step
        self.optimizer = torch.optim.AdamW(
            model.parameters(), betas=(0.9, 0.98), weight_decay=0.01
        )
        self.losses, self.judged = [], {0: judge(model)}

    @property
    def done(self):
        return len(self.losses)

    def one_step(self):
        rise = (self.done + 1) / 50
        fall = (self.steps - self.done) / max(1, self.steps - 49)
        self.optimizer.param_groups[0]["lr"] = self.peak * min(rise, fall)
        row = self.starts[self.done : self.done + 1]
        given = self.ids, row, self.block_size
        losses = self.fit(self.model, self.optimizer, *given)
        if len(losses) != 1:
            raise ValueError(f"one step, but `fit` gave {len(losses)} losses")
        self.losses += losses


def go_on(run, until=None, monitor=None, every=50):
    """Up to step `until`, or to the last, or until the kernel is interrupted:
    the model, judged every so many steps."""
    until = run.steps if until is None else min(until, run.steps)
    try:
        while True:
            ended = run.done >= until
            if (run.done % every == 0 or ended) and run.done not in run.judged:
                run.judged[run.done] = run.judge(run.model)
            if monitor is not None:
                right = {step: row.right for step, row in run.judged.items()}
                monitor.show(run.losses, right)
            if ended:
                return run.model
            run.one_step()
    except KeyboardInterrupt:
        at = f"Stopped at step {run.done} of {run.steps}."
        raise Stopped(f"{at} Run this cell again to go on.") from None


def drawn_starts(ids, steps=1200, seed=0):
    """Where eight pieces begin in each step."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(len(ids) - 96, (steps, 8), generator=draw)


def shown(run, steps, columns):
    """A table of some of the four scores (a slice) at these steps."""
    steps = [step for step in steps if step in run.judged]
    rows = [run.judged[step][columns] for step in steps]
    show(rows, [f"step {step}" for step in steps], COLUMNS[columns])


# %% role="try"
# A fresh model: nearly equal probabilities, so a loss a little above log V.
_ = torch.manual_seed(0)
my_run = Training(GPT(V, **SIZES), fit, train_ids, drawn_starts(train_ids))
my_parameters = my_run.model.parameters()
print("parameters:", sum(my_weight.numel() for my_weight in my_parameters))
print(f"loss of the untrained model: {my_run.judged[0].loss:.2f} nats")

# %% [markdown]
# Now it learns for half a minute or more. The monitor shows the loss, and the accuracy on all held-out words.

# %%
from grader.views import TrainingMonitor

monitor = TrainingMonitor(1200, score="held-out words right")
monitor

# %% role="try" timed=true claim="names_come_late_and_suddenly"
# Your model learns.
my_gpt = go_on(my_run, monitor=monitor)
shown(my_run, (0, 50, 100, 200, 400, 800, my_run.done), slice(2))
print(f"best table: {best_table:.2f} nats")

# %% [markdown]
# Within the first 150 steps it beats every table. The names that were named before were judged too, every 50 steps.


# %% role="draw" long="three functions that only draw"
# Three functions that only draw.
def draw_ladder(run, bigram):
    """The curves of a training; the losses of the tables as level lines."""
    _, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    span = min(50, run.done)
    smooth = torch.tensor(run.losses).unfold(0, span, span).mean(dim=1)
    middles = [span * (i + 0.5) for i in range(len(smooth))]
    dark, light = {"color": "#00204c"}, {"color": "#a59c74", "lw": 1}
    axes.plot(middles, smooth, ":", label="training", **dark)
    for name, style, label in (
        ("loss", "-", "held out"),
        ("asked_loss", "--", "held out, names named before"),
    ):
        curve = [getattr(row, name) for row in run.judged.values()]
        axes.plot(list(run.judged), curve, style, label=label, **dark)
    levels = {
        "uniform": math.log(V),
        "unigram": ladder[0][0],
        "bigram": bigram,
        "best table": best_table,
        "best table, names": best_names,
    }
    for label, loss in levels.items():
        names = label.endswith("names")
        axes.axhline(loss, linestyle="--" if names else "-", **light)
        side = "bottom" if names else "top"
        axes.text(1.02 * run.done, loss, label, va=side)
    axes.set(xlim=(0, 1.3 * run.done), ylim=(0, 7))
    axes.set(xlabel="step", ylabel="nats", xticks=range(0, run.done + 1, 200))
    axes.legend(ncols=3)
    plt.show()


def draw_arcs(ids, labels, weights):
    """An arc from before each name to every word with a tenth of the weight."""
    _, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    turn = torch.linspace(0, math.pi, 40)
    for t, j in (weights >= 0.1).nonzero().tolist():
        if labels[t] >= 0 and j < t:
            reach = (t - j) / 2
            x, y = j + reach + reach * turn.cos(), reach * turn.sin()
            axes.plot(x, y, color="#00204c", alpha=weights[t, j].item())
    shown = [WORDS[i].replace("\n", "↵") for i in ids]
    axes.set_xticks(range(len(ids)), shown, rotation=90, fontsize=9)
    for tick, i in zip(axes.get_xticklabels(), ids, strict=True):
        tick.set_fontweight("bold" if is_name[i] else "normal")
    axes.set(yticks=[], ylim=(0, None))
    axes.set(title="where the head looks before a name")
    plt.show()


def draw_curves(scores):
    """The scores of a name by how far back it stands, for each word."""
    _, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for style, (word, curve) in zip(
        ("-", "--", ":"), scores.items(), strict=True
    ):
        far = range(1, len(curve) + 1)
        axes.plot(far, curve, style, color="#00204c", label=f"“{word}”")
    axes.set(xlabel="how many tokens back the name stands", ylabel="score")
    axes.legend()
    plt.show()


# %% role="try" timed=true claim="a_rule_beats_the_model"
# Try it: the names, at last with a hint that a name is due; then the curves.
shown(my_run, (*range(0, my_run.done, 200), my_run.done), slice(2, 4))
with torch.no_grad():
    my_logits = my_gpt(test_inputs)[again].masked_fill(~is_name, -math.inf)
my_told = (my_logits.argmax(dim=-1) == test_labels[again]).float().mean().item()
my_right = my_run.judged[my_run.done].asked_right
print(
    f"names right: model {my_right:.1%}, from names alone {my_told:.1%}", end=""
)
print(f", the rule {by_rule:.1%}")
draw_ladder(my_run, my_bigram)

# %% [markdown]
# *The picture in words:* five level lines stand between 5.8 for uniform and 1.3 for the best table. The training loss
# and the loss on held-out tales fall together, steeply at first, and drop below all five lines within 150 steps. The
# loss on names stays a little below the best table's for several hundred steps, then drops to less than half.
#
# The names come late, and then suddenly, within one or two hundred steps. The curve of all words hardly shows it,
# because only one place in fourteen asks for such a name.
#
# But the rule of four lines still knows more of them, even if the model may choose among the names alone, which tells
# it that a name is due. So the model beats every table at writing, and is beaten at the one thing that seemed to need
# memory.

# %% [markdown]
# ## 6 · Writing
#
# To write, softmax turns the model's V logits into V probabilities, and one token has to be chosen. If it is always the
# likeliest, as in lesson 08, every tale is the same. If you draw from the probabilities as they are, there are too many
# mistakes, because a hundred wrong words with 0.1 % each add up to one draw in ten. So the distribution is changed
# first, in up to three ways.
#
# **Temperature** is a number by which the logits are divided before softmax. A temperature below 1 makes the likely
# tokens likelier, and one above 1 makes all probabilities more alike. **Top-k** keeps the k likeliest and drops the
# rest. But ten are too many where the model is sure, and too few where it isn't. **Top-p** keeps the fewest words that
# together reach the probability p, for example 0.9.
#
# The next cell shows what the course's model wrote while it was trained. It is as large as yours, and you can go on
# with it if an exercise above isn't finished. Compare its last text with what the table wrote, and then try the view.
#
# 1. Set the temperature to 0, start again and draw 40, twice. What is the same?
# 2. Set temperature 1 and top-p 0.9, and draw one by one. Where is only one word left, and where are there many?
# 3. Type a beginning of your own, with two names, and see whom the model lets speak.
#
# To see your own model, put `my_gpt, WORDS` in place of `course, course.words`.

# %%
from grader.models.gpt import trained_gpt
from grader.views import Sampler

course = trained_gpt()
print(f"the course's model: {course.loss:.2f} nats", end="")
print(f", {course.right:.0%} of the names right")
for step, wrote in course.samples.items():
    print(f"\n--- after {step} steps\n{textwrap.fill(wrote, 78)}")

Sampler(course, course.words, "Once there was a", max_length=256)

# %% [markdown]
# ### Exercise 6: `next_token_probabilities`
#
# Difficulty 3 of 5
#
# Turn logits (..., V) into probabilities (..., V) in three steps, the last two of which may be left out. Each step ends
# with rows that sum to one:
#
# 1. Divide the logits by the **temperature**, then take the softmax. (Temperature 0 is handled by the lines that you
#    get, which put all the probability on the largest logit.)
# 2. **Top-k** keeps only the `top_k` most probable tokens, or all of them if `top_k` is larger than V.
# 3. **Top-p** keeps the most probable of these tokens, only as many as it takes for their probabilities together to
#    reach `top_p`, and at least one.
#
# Tokens that don't stay get probability 0, and the probabilities of the others are divided by their sum, which
# `F.normalize(p, p=1, dim=-1)` does for each row. The result is in the vocabulary's order, and if only one of two equal
# logits can stay, either may.
#
# With probabilities 0.5, 0.3, 0.15, 0.05 and `top_p=0.7`, the first alone reaches 0.5 and the first two 0.8, so two
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
# `sort` returns the order as well, `scatter` puts probabilities back where they came from, and so does `gather` with
# the `argsort` of the order.
#
# </details>


# %% exercise="next_token_probabilities" role="solution"
def next_token_probabilities(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """What the next token is drawn from: temperature, then top-k, then top-p.

    logits: (..., V). Returns probabilities (..., V) in the vocabulary's order;
    rows sum to one. temperature 0 puts all on the largest. top_p in (0, 1]:
    the fewest tokens that reach it, at least one.
    """
    if temperature == 0:  # 0 for the largest, minus infinity for all others
        largest = F.one_hot(logits.argmax(dim=-1), logits.shape[-1])
        logits, temperature = largest.to(logits.dtype).log(), 1.0
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    ### BEGIN SOLUTION
    if top_k is not None:
        p = torch.cat([p[..., :top_k], 0 * p[..., top_k:]], dim=-1)
        p = F.normalize(p, p=1, dim=-1)
    if top_p is not None:
        before = p.cumsum(-1) - p  # the probability of all more probable ones
        p = F.normalize(p * (before < top_p), p=1, dim=-1)
    return torch.zeros_like(p).scatter(-1, order, p)
    ### END SOLUTION


# %% exercise="next_token_probabilities" role="check"
check(next_token_probabilities)

# %% [markdown]
# ### Exercise 7: `generate`
#
# Difficulty 2 of 5
#
# This exercise is easier, because it is a loop around the last one. Write `new_tokens` tokens after the `prompt` (B,
# T), one after the other. In each round, take the model's logits at the last position, and call
# `next_token_probabilities` with what is in `sampling` (`temperature`, `top_k`, `top_p`). Draw one token for each row
# with `torch.multinomial(probabilities, 1, generator=generator)`, and append it to `tokens`.
#
# The model takes `model.max_length` tokens at most, so if the text is longer, give it the last `max_length` tokens.
#
# <details><summary>What are the two stars before <code>sampling</code>?</summary>
#
# They gather the named arguments that `generate` doesn't list itself, so `generate(…, temperature=0.8)` makes
# `sampling` the dict {"temperature": 0.8}. The same two stars in a call spread it out again, as in
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
    """Write new_tokens tokens after the prompt, each drawn by the model.

    prompt: (B, T). model(tokens) gives logits (B, T, V) for at most
    model.max_length tokens. sampling goes to next_token_probabilities.
    Returns (B, T + new_tokens), the prompt included.
    """
    was_training, tokens = model.training, prompt
    model.eval()
    with torch.no_grad():
        ### BEGIN SOLUTION
        for _ in range(new_tokens):
            logits = model(tokens[:, -model.max_length :])[:, -1]
            probabilities = next_token_probabilities(logits, **sampling)
            drawn = torch.multinomial(probabilities, 1, generator=generator)
            tokens = torch.cat([tokens, drawn], dim=1)
        ### END SOLUTION
    model.train(was_training)
    return tokens


# %% exercise="generate" role="check"
check(generate)

# %% role="try" timed=true
# Try it: your own model writes.
my_prompt, my_seed = encode(BEGINNING), torch.Generator().manual_seed(1)
my_ids = generate(my_gpt, my_prompt, 90, my_seed, temperature=0.7)
print(textwrap.fill(decode(my_ids[0]), 78))

# %% [markdown]
# For each new token, `generate` sends the whole text through the model, although only the last token is new. With
# lesson 09's cache only the new token goes through. You can write that loop in exercise 11, in "For those who want
# more".
#
# What your model writes isn't a copy, since the names, things and habits are put together in new ways. It has learnt
# from the text alone how a quotation opens and closes, and that somebody who is spoken to answers.
#
# In your model's tales, whoever is asked mostly answers. Between step 400 and step 800 something was switched on that
# makes it do so, but what is it, and does the model really know who is who? (This is the place for a break.)

# %% [markdown]
# ## 7 · What was switched on?
#
# Only attention carries anything from one token to another, and the model has four heads, two in each layer. To see
# what they look at, compute their weights once more.


# %%
@torch.no_grad()
def attention_weights(model, tokens):
    """The weights (L, H, T, T) of every head that reads tokens (1, T)."""
    x, tables = model.token_embedding(tokens), []
    places = torch.arange(tokens.shape[1])
    later = places > places[:, None]
    for block in model.blocks:
        read, heads = block.norm1(x), block.attention.num_heads
        q, k = block.attention.q_proj(read), block.attention.k_proj(read)
        q, k = (apply_rope(split_heads(p, heads), places) for p in (q, k))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        tables.append(scores.masked_fill(later, -math.inf).softmax(dim=-1)[0])
        x = block(x)
    return torch.stack(tables)


# %% [markdown]
# ### Exercise 8: `head_that_remembers`
#
# Difficulty 3 of 5
#
# You get the weights of all heads for one text, (L, H, T, T), its tokens `ids` (T,) and its labels (T,): `labels[t]`
# comes after `ids[t]`. Only the places just before a name count here, and at all others the label is −1.
#
# At the places t whose label occurs among `ids[0]` … `ids[t]`, add up the weight that a head's row t puts on these
# occurrences. The head with the largest sum on average is the answer, as two whole numbers, `(layer, head)`.
#
# For example, let the ids be 5, 7, 5, 8 and the labels −1, 5, −1, 7. Place 1 asks for a 5, which has been read at place
# 0, and place 3 for a 7, which has been read at place 1. So in each head, the entries [1, 0] and [3, 1] count.
#
# <details><summary>Which entries are these in a whole text?</summary>
#
# In the table `ids == labels[:, None]`, (T, T), what does a True in row t and column j mean? And which half of the
# table is about tokens that have been read?
#
# </details>
#
# <details><summary>How do I get from a place in the flat list to a layer and a head?</summary>
#
# With H heads per layer, place 7 of the flat list is layer 7 // H, head 7 % H, and `divmod` gives both.
#
# </details>


# %% exercise="head_that_remembers" role="solution"
def head_that_remembers(
    weights: Tensor, labels: Tensor, ids: Tensor
) -> tuple[int, int]:
    """The head that looks most at where the next token stood: (layer, head).

    weights: (L, H, T, T); ids: (T,), what is read; labels: (T,), what comes
    next, -1 where a place doesn't count.
    """
    ### BEGIN SOLUTION
    places = (ids == labels[:, None]).tril()  # (T, T)
    looking = (weights * places).sum(-1)[..., places.any(-1)].mean(-1)  # (L, H)
    return divmod(looking.argmax().item(), weights.shape[1])
    ### END SOLUTION


# %% exercise="head_that_remembers" role="check"
check(head_that_remembers)

# %% role="try" timed=true
# Try it: which head is it in each held-out tale? Then see it at work in one.
my_tales, my_count = list(zip(test_inputs, name_labels, strict=True)), Counter()
for my_ids, my_labels in my_tales:
    my_weights = attention_weights(my_gpt, my_ids[None])
    my_count[head_that_remembers(my_weights, my_labels, my_ids)] += 1
for (my_layer, my_head), my_times in my_count.most_common():
    print(f"layer {my_layer}, head {my_head}: in {my_times} of {len(my_tales)}")
(my_layer, my_head), _ = my_count.most_common(1)[0]

my_ids, my_labels = test_inputs[1, :56], name_labels[1, :56]
my_weights = attention_weights(my_gpt, my_ids[None])[my_layer, my_head]
draw_arcs(my_ids, my_labels, my_weights)

# %% [markdown]
# As a rule it is the same head in every tale. An arc leads from each place where a name comes next back to each word
# that gets at least a tenth of this head's weight. The darker the arc, the larger the weight.
#
# *The picture in words:* the first words of a tale stand in a row, the names in bold. Every dark arc leads back to the
# name that comes next. Pale ones, where somebody is named for the first time, lead to several words.
#
# But lesson 10 has warned you that a head may look somewhere and still not matter, so switch it off. What a head adds
# comes through its columns of `out_proj`. With zeros there it is silent, and everything else stays as it is. Write it
# yourself, if you like. It takes about three lines and earns no points.


# %% role="try"
# Your version. As it stands here, it leaves the head on.
def my_without(model, layer, head):
    """A copy of the model in which one head adds nothing."""
    return copy.deepcopy(model)


# A silent head adds nothing, so it makes no difference if its values double.
my_muted = my_without(my_gpt, 0, 1)
my_with = my_muted(test_inputs[:1])
my_muted.blocks[0].attention.v_proj.weight.data[32:] *= 2
my_gap = (my_muted(test_inputs[:1]) - my_with).abs().max()
print("silent" if my_gap < 1e-4 else "not silent yet")


# %%
def without_head(model, layer, head):
    """A copy of the model with one head switched off."""
    changed = copy.deepcopy(model)
    attention = changed.blocks[layer].attention
    width = attention.out_proj.weight.shape[1] // attention.num_heads
    columns = slice(head * width, (head + 1) * width)
    attention.out_proj.weight.data[:, columns] = 0
    return changed


predict(
    "11_off",
    "Without this one head, what percentage of these names is right?",
    low=0,
    high=100,
    unit="%",
)

# %% role="try" timed=true claim="one_head_copies_names"
# Try it: each of the heads switched off in turn.
my_off = {}
my_sizes = range(SIZES["num_layers"]), range(SIZES["num_heads"])
for my_place in itertools.product(*my_sizes):
    my_off[my_place] = judged(without_head(my_gpt, *my_place))
my_rows = [f"without layer {i}, head {j}" for i, j in my_off]
my_scores = [my_run.judged[my_run.done], *my_off.values()]
show(my_scores, ["all heads", *my_rows], COLUMNS)
my_right = my_off[my_layer, my_head].asked_right
compare_guess("11_off", round(100 * my_right))

# %% [markdown] role="answer"
# In seven of our eight runs more names were lost without this head than without any other, at least nearly half of them
# and often nearly all. If you switch off a head of layer 1, the loss rises too, because the sentences get worse, but
# most names stay. You have found the head that copies names, by a measurement and an intervention.
#
# <details><summary>Is it always one head?</summary>
#
# With these sizes it was, in seven of our eight runs. Without it 1 or 2 % of the names were right in four of them, and
# 28 to 40 % in three, where the other head of layer 0 does a part of the work. In the eighth both heads of layer 0
# copied, and without either of them more than half of the names were still right. (The same start can go either way,
# because tiny differences of rounding grow.) With four heads per layer, two of them often share it. To see that, set
# `num_heads` to 4 in `SIZES` and run the cells from there on.
#
# </details>

# %% [markdown]
# How does this head know where to look? It is in the first layer, so all that it sees of a place is the token that
# stands there, and through the rotation of lesson 06 how far away it is. A score is then a function of two tokens and a
# distance, which you can work out as a whole. The query is "said" or another word after which names come, the key is
# the mean key of all names, and the distance goes from 1 to 48.


# %% role="try" timed=true claim="names_by_distance" long="a score, as a function of the distance"
my_block = my_gpt.blocks[my_layer]
with torch.no_grad():
    my_read = my_block.norm1(my_gpt.token_embedding.weight)[None]  # (1, V, E)
    my_queries = my_block.attention.q_proj(my_read)
    my_keys = my_block.attention.k_proj(my_read)
my_queries, my_keys = (
    split_heads(my_all, SIZES["num_heads"])[0, my_head]
    for my_all in (my_queries, my_keys)
)
my_far, my_name = torch.arange(1, 49), my_keys[is_name].mean(dim=0)
my_by_word = {}
for my_word in ("said", "and", "."):
    my_asking = my_queries[id_of[my_word]].expand(48, -1)
    my_turned = apply_rope(my_asking, my_far) @ my_name
    my_by_word[my_word] = my_turned / math.sqrt(len(my_name))
    my_best = my_far[my_by_word[my_word].argmax()].item()
    print(f"“{my_word}” looks for a name {my_best} tokens back")
draw_curves(my_by_word)

# %% [markdown]
# *The picture in words:* three curves of scores, for distances from 1 to 48, each with a hill at another distance. In
# our run it is highest at about 16 tokens back for "said", at about 13 for "and", and at a few for ".".
#
# So the head doesn't ask who was spoken to. Each word asks for a name at the distance at which names come back after it
# in these tales, and lesson 06's rotation is how it asks. That works well, because people in our tales speak in turn,
# and for the same reason the copying rule works still better.
#
# ### Does it know who is who?
#
# A reader of "Odile the heron" and "Percy the owl" knows how "Since then Odile the …" goes on, and the tales have such
# sentences. So we ask the model. Each question has two animals with names and kinds drawn anew, in sentences that it
# knows from its tales.

# %% long="questions with their answers"
KINDS = words_of("fox hare heron badger otter crow goat mouse owl toad")
STORY = "By the tower lived {} the {}, who was afraid of soup. {} had a long "
STORY += "bell, and showed it to nobody. One day {} the {} came from the hill."
draw = torch.Generator().manual_seed(5)
questions = []  # ids of a story, the right kind, the other animal's
for kind, other in itertools.permutations(KINDS, 2):
    one, two = torch.randperm(len(names), generator=draw)[:2].tolist()
    a, b = sorted(names)[one], sorted(names)[two]
    story = STORY.format(a, kind, a, b, other)
    for name, right, wrong in ((a, kind, other), (b, other, kind)):
        asked = encode(f"{story} Since then {name} the")
        questions.append((asked, id_of[right], id_of[wrong]))
print(textwrap.fill(decode(questions[0][0][0]), 78), "…")

predict(
    "11_who",
    "Of the story's two kinds, how often is the right one the likelier?",
    low=0,
    high=100,
    unit="%",
)

# %% role="try" timed=true claim="nobody_is_who"
my_first = my_of_two = 0
for my_ids, my_kind, my_other in questions:
    with torch.no_grad():
        my_logits = my_gpt(my_ids)[0, -1]
    my_first += my_logits.argmax().item() == my_kind
    my_of_two += (my_logits[my_kind] > my_logits[my_other]).item()
my_of_two = 100 * my_of_two / len(questions)
print(f"right: {my_first / len(questions):.0%} of all words", end="")
print(f", {my_of_two:.0f} % of the two kinds")
compare_guess("11_who", round(my_of_two))

# %% [markdown] role="answer"
# A coin would do as well. The model knows that a kind of animal is due, but not whose. To find "heron", it would have
# to look for what stood beside "Odile". A head of the first layer can't, because a place shows it one token and not its
# neighbours, and the second layer hasn't learnt to. So what looked like memory is a rule about distances. The loss
# didn't show this, and its tales didn't either, but the right question did.

# %% role="try" timed=true
# Try it: what does it write without that head?
my_silent = without_head(my_gpt, my_layer, my_head)
my_prompt, my_seed = encode(BEGINNING), torch.Generator().manual_seed(1)
my_ids = generate(my_silent, my_prompt, 90, my_seed, temperature=0.7)
print(textwrap.fill(decode(my_ids[0]), 78))

# %% [markdown]
# Without its head it writes much as the table did, and its people change their names from sentence to sentence.
#
# ## 8 · Words of letters
#
# One layer would have been enough for all this. (Train one with `"num_layers": 1`, and it gets about as many of the
# names right.) So here is a text in which no distance helps. Each row holds a word of 8 to 24 letters, drawn at random,
# which is written again and again until the row is full. Once the word begins again, every letter is certain for
# whoever has read it the first time, but how far back to look is different in every row.
#
# Your `GPT` learns this text twice, once with one layer and once with two. Its embedding and its head don't share their
# weights here.

# %%
from grader.models.letters import LETTERS, repeated_words

draw = torch.Generator().manual_seed(0)
rows, _ = repeated_words(600 * 32, draw)  # 32 in each of 600 steps
row_starts = torch.arange(0, rows.numel(), rows.shape[1]).view(600, 32)
letter_rows, lengths = repeated_words(300, torch.Generator().manual_seed(99))
letter_inputs, letter_labels = letter_rows[:, :-1], letter_rows[:, 1:]
comes_again = torch.arange(64) >= lengths[:, None]  # and has begun to
judged_letters = judge_of(letter_inputs, letter_labels, comes_again)
for row in letter_rows[:3].tolist():
    print("".join(LETTERS[i] for i in row))

predict(
    "11_layers",
    "Which one gets most of the letters right that come again?",
    ["both", "only the one with two layers", "neither"],
)

# %% role="try" timed=true claim="two_layers_copy_words" long="two trainings and what they reach"
my_pair = {}
for my_layers in (1, 2):
    _ = torch.manual_seed(0)
    my_model = GPT(len(LETTERS), 64, my_layers, 2, 128, tied=False)
    my_pair[my_layers] = Training(
        my_model, fit, rows.flatten(), row_starts, 64, 0.004, judged_letters
    )
    _ = go_on(my_pair[my_layers])
my_judged = [my_training.judged for my_training in my_pair.values()]
my_steps = [s for s in (50, 100, 200, 400, 600) if s in my_judged[0]]
my_shares = [[100 * one[s].asked_right for s in my_steps] for one in my_judged]
my_titles = ["one layer", "two layers"]
show(my_shares, my_titles, my_steps, title="right, %; step", form=".0f")
my_one, my_both = (my_share[-1] > 50 for my_share in my_shares)
my_verdict = "both" if my_one else "neither"
if my_both and not my_one:
    my_verdict = "only the one with two layers"
compare_guess("11_layers", my_verdict)

# %% [markdown] role="answer"
# One layer gets stuck at about one letter in six, and neither more steps nor another learning rate helps it. Two layers
# get practically all of them right, and most of the rise takes only a hundred steps.

# %%
predict(
    "11_second",
    "How much of the second time must it read until it is mostly right?",
    low=0,
    high=8,
    unit="letters",
)

# %% role="try" timed=true
my_two = my_pair[2].model
with torch.no_grad():
    my_hits = my_two(letter_inputs).argmax(dim=-1) == letter_labels
my_read = torch.arange(64) - lengths[:, None] + 1  # of the word's second time
my_shares = [my_hits[my_read == n].float().mean().item() for n in range(6)]
show([my_shares], ["right"], range(6), title="letters read again")
my_first = [n for n in range(6) if my_shares[n] > 0.5]
compare_guess("11_second", my_first[0] if my_first else 8)

# %% [markdown] role="answer"
# With none of them read, the word might as well go on, and the guess is a draw. A single letter is enough, unless it
# stands in the word more than once. So the model finds the place where the last letter stood before, and takes what
# followed there.

# %% [markdown]
# A head of the first layer can find the earlier "q" when it stands on a "q", but "q" is not what comes next. What comes
# next stands one place further, and that place shows it only its own letter. Who tells a place what stood before it? To
# find out, measure how much each head looks at what followed last time.
#
# ### Exercise 9: `induction_scores`
#
# Difficulty 4 of 5
#
# You get the weights of all heads for one text, (L, H, T, T), and its tokens `ids` (T,). For a place t, take each
# *earlier* place s that holds the same token. What followed it stands at place s + 1. Add up the weights of row t on
# all these places s + 1, and then take the mean over those places t whose token occurred before. The result has a score
# for each head, (L, H), and where no token comes again, all scores are 0.
#
# For example, let the ids be 5, 7, 5, 7, 7. Place 2 holds a 5, as place 0 does, so the entry [2, 1] counts. Place 3
# holds a 7, as place 1 does, so [3, 2] counts. Place 4 holds a 7, as places 1 and 3 do, so [4, 2] and [4, 4] both
# count. A score is the sum of these four entries, divided by three.
#
# <details><summary>Which entries are these in a whole text?</summary>
#
# `ids == ids[:, None]` is a table (T, T) in which row t marks every place with the same token. Which part of it is
# about earlier places? And where does each mark belong if it is to stand on the place that followed?
#
# </details>
#
# <details><summary>Where no token comes again, I get NaN</summary>
#
# A mean over no places divides by zero. What is the sum over no places?
#
# </details>


# %% exercise="induction_scores" role="solution"
def induction_scores(weights: Tensor, ids: Tensor) -> Tensor:
    """How much each head looks at what followed the same token before.

    weights: (L, H, T, T) of one text; ids: (T,). Returns (L, H): the weight of
    row t on the places one behind each earlier occurrence of ids[t], on average
    over the places t that have one; 0 where there are none.
    """
    ### BEGIN SOLUTION
    same = (ids == ids[:, None]).tril(-1)  # (T, T): s is earlier than t
    followed = same.roll(1, dims=1)  # the last column is empty
    looking = (weights * followed).sum(-1)[..., same.any(-1)]
    return looking.sum(-1) / max(1, looking.shape[-1])
    ### END SOLUTION


# %% exercise="induction_scores" role="check"
check(induction_scores)


# %% role="try" timed=true claim="a_pair_of_heads" long="what each head looks at"
# Try it: for each head, its weight on the letter before and on what followed.
def my_looks(model):
    my_before, my_followed = [], []
    for my_ids in letter_inputs[:40]:
        my_weights = attention_weights(model, my_ids[None])
        my_before.append(my_weights.diagonal(-1, -2, -1).mean(dim=-1))
        my_followed.append(induction_scores(my_weights, my_ids))
    return [
        torch.stack(my_all).mean(dim=0) for my_all in (my_before, my_followed)
    ]


my_before, my_followed = my_looks(my_two)
my_heads = list(itertools.product(range(2), range(2)))
show(
    torch.stack([my_before.flatten(), my_followed.flatten()], dim=1),
    [f"layer {i}, head {j}" for i, j in my_heads],
    ["on the letter before", "on what followed"],
)

# %% [markdown]
# In layer 0 one head looks at the letter before, whatever it is, and in layer 1 both look at what followed last time.
# Now switch them off, one by one, and watch what happens to the *other* layer. (Here (1, 0) is head 0 of layer 1.)

# %%
predict(
    "11_trace",
    "Without the head that looks one back, where does layer 1 look?",
    ["at what followed, as before", "hardly at that any more"],
)

# %% role="try" timed=true claim="who_reads_whose_trace" long="each head off in turn"
my_rows, my_titles = [], []
for my_place in [None, *my_heads]:
    my_changed = without_head(my_two, *my_place) if my_place else my_two
    my_right = judged_letters(my_changed).asked_right
    my_b, my_f = my_looks(my_changed)
    my_rows.append([my_right, *my_b[0].tolist(), *my_f[1].tolist()])
    my_titles.append(f"without {my_place}" if my_place else "all heads")
my_columns = ["right", "(0, 0) before", "(0, 1) before"]
my_columns += ["(1, 0) followed", "(1, 1) followed"]
show(my_rows, my_titles, my_columns)
my_leaver = my_before[0].argmax().item()
my_lost = my_rows[1 + my_leaver][3:]
my_verdict = "at what followed, as before"
if sum(my_lost) < my_followed[1].sum() / 2:
    my_verdict = "hardly at that any more"
compare_guess("11_trace", my_verdict)

# %% [markdown] role="answer"
# Without it the heads of layer 1 are blind, although nobody has touched them, and the letters are lost. So the two
# layers work as a pair. A head of layer 0 leaves a **trace** in every place of what stood before it. A head of layer 1
# that stands on a "q" then asks for the places with the trace of a "q", and copies the letter that it finds there.

# %% [markdown]
# Lesson 02 began with this. Its "it" could be understood only after a first layer had left in it a trace of how the
# sentence ends, and a second layer read that trace. Your GPT has found such a pair on its own, in a text where it pays.
#
# Elhage et al. (2021) call the two a *previous-token head* and an **induction head**, and explain why it takes two
# layers. Olsson et al. (2022) found such heads in models of many sizes, where they appear suddenly and early, and
# argue that much of what large models learn from their prompt rests on them. Ours differs in that it learns nothing
# else, from random words, and that its positions are rotations.
#
# <details><summary>Is it always such a pair, and why are the weights not shared here?</summary>
#
# With these sizes it was, in all five of our starts. With half the steps 91 to 97 % were right, and both heads of layer
# 0 still shared the work. With four heads per layer 99 %, and without the head that looks one back 35 and 53 %, because
# others share in its work. With `d_model` 32 the model got 90 and 94 %, and both heads of layer 0 looked back a little.
# With shared weights two starts reached 91 and 51 % after twice the steps. Perhaps that is because a trace that means
# "a q stood here" then also asks for a q as output.
#
# </details>

# %% [markdown]
# ## 9 · A small GPT of 2026
#
# Two parts differ in most models of today. The norm is RMSNorm (lesson 05), which doesn't subtract the mean and has no
# bias. And the feed-forward layers are **SwiGLU** (Shazeer 2020), in which one half of the inner components decides how
# much of the other half passes. That takes three matrices in place of two, so they are made two thirds as wide, and the
# number of parameters stays nearly the same.


# %% long="the two changed parts"
class SwiGLU(nn.Module):
    """down(silu(gate(x)) · up(x)); silu is a smooth curve much like ReLU."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        inner = round(2 * d_ff / 3)
        self.gate, self.up = (
            nn.Linear(d_model, inner, bias=False) for _ in range(2)
        )
        self.down = nn.Linear(inner, d_model, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def of_2026(model, d_model, d_ff, **_):
    """A `GPT` with two lines of each block changed, and its last norm."""
    for block in model.blocks:
        block.norm1, block.norm2 = nn.RMSNorm(d_model), nn.RMSNorm(d_model)
        block.feed_forward = SwiGLU(d_model, d_ff)
    model.norm = nn.RMSNorm(d_model)
    return model


# %% role="try" timed=true claim="two_lines_of_2026"
# Try it: your model with two lines of each block changed, from the same seed,
# with the same pieces of text.
_ = torch.manual_seed(0)
my_modern = of_2026(GPT(V, **SIZES), **SIZES)
my_parameters = sum(my_weight.numel() for my_weight in my_modern.parameters())
my_again = Training(my_modern, fit, train_ids, drawn_starts(train_ids))
_ = go_on(my_again, every=1200)
my_loss, my_other = (run.judged[run.done].loss for run in (my_again, my_run))
print(
    f"{my_parameters} parameters, {my_loss:.2f} nats on held-out tales", end=""
)
print(f", and with LayerNorm and ReLU {my_other:.2f}")

# %% [markdown]
# One run of each is no comparison yet, because a change of the model may change which learning rate suits it. So both
# were trained at five rates from three starts each, with your 1200 steps, and so were other widths. (It took eighteen
# minutes, so the losses are stored.)

# %% long="a table and the picture of a part of it"
tried = sweep("tales")
title = "largest held-out loss of three starts"
show(tried.worst(), tried.ways, tried.labels(), title=title)

widths = (8, 16, 32, 64)
of_widths = [tried.at_best(f"width {width}") for width in widths]
means = [sum(losses) / 3 for losses in of_widths]
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(widths, means, color="#00204c")
for width, losses in zip(widths, of_widths, strict=True):
    axes.plot([width] * 3, losses, "o", color="#00204c")
new = tried.at_best("width 64, RMSNorm and SwiGLU")
style = {"color": "#a08a00", "label": "RMSNorm and SwiGLU"}
axes.plot([64] * 3, new, "^", **style)
axes.set(xscale="log", yscale="log", xlabel="width", ylabel="nats")
axes.set(ylim=(0.5, 1.25), title="held-out loss, at the best of five rates")
axes.set_xticks(widths, widths)
axes.set_yticks(marks := (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2), marks)
axes.minorticks_off()
axes.legend()
plt.show()

# %% [markdown]
# *The picture in words:* both axes are logarithmic. The loss falls from 1.11 nats at width 8 to 0.87 at width 16, is
# nearly the same at width 32, and then falls steeply to 0.59 at width 64. Three triangles, for the model with the two
# new parts, are a little above the dots of width 64.
#
# At its best rate your model ends lower from every start than the one with the two new parts, 0.58 to 0.61 against 0.63
# to 0.69 nats. What serves large models needn't serve a small one. Why SwiGLU helps the large ones even Shazeer doesn't
# explain.
#
# And the curve isn't straight. From 16 to 32 the loss hardly falls, and at 64 it is a third lower, because only there
# the names are found in time. With enough steps and text such curves are nearly straight (Kaplan et al. 2020), which
# foretells the loss of a larger model.
#
# ### What the large ones have beyond it
#
# The largest models of today are thousands of times as large as the smallest GPT-2 of 2019, which has nearly your code.
# The table has what keeps them affordable.
#
# | what | in one sentence | source |
# | --- | --- | --- |
# | mixture of experts | Many pairs of feed-forward layers stand side by side, and a router picks a few of them for each token, so that DeepSeek-V2 uses only 21 of its 236 billion parameters for a token. | DeepSeek-AI (2024) |
# | multi-head latent attention (MLA) | In place of the keys and values of all heads the cache keeps a short vector per token from which they are computed, and one rotated key for all heads, so that a layer of DeepSeek-V2 stores 576 components per token in place of 32 768. | DeepSeek-AI (2024) |
# | long contexts | Llama 3 takes 500 000 in place of 10 000 as the base of the rotation, so that the slowest pair of columns turns only a small part of a circle in 100 000 tokens. | Grattafiori et al. (2024) |
# | quantised weights | GPTQ rounds each weight to three or four bits after the training, column by column, and changes the columns that are left so that they make up for the error. | Frantar et al. (2023) |
# | speculative decoding | A small model writes a few tokens ahead, and the large one checks them all in one pass and accepts or refuses them in such a way that the text is distributed as if it had written alone. | Leviathan et al. (2023) |
# | low-rank adaptation (LoRA) | To adapt a model, its matrices stay as they are, and what is trained is a product of two narrow matrices that is added to some of them. | Hu et al. (2022) |
#
# A model that was trained on texts alone continues texts, and doesn't answer. For a **chat** it is trained further,
# with the same loss, on conversations, in which special tokens separate the speakers. Then it is trained towards those
# answers that people prefer (Ouyang et al. 2022). They still come from `generate`.

# %% [markdown]
# ## 10 · Quiz
#
# ### Exercise 10: `quiz_11`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `needed_head` (a letter): before a name, a head puts 0.8 of its weight on where that name stood. What shows that the
#    model knows the name by this head?
#    - a. that 0.8 is more than half;
#    - b. that no other head puts as much there;
#    - c. that names go wrong when this head is switched off, and stay right when another is;
#    - d. that the loss rises when this head is switched off.
# 2. `kept` (a whole number): with probabilities 0.4, 0.25, 0.2, 0.1, 0.05 and `top_p=0.8`, how many tokens stay?
# 3. `fed` (a whole number): a model writes 5 new tokens after a prompt of 10, and keeps lesson 09's cache. How many
#    tokens does the model read in all?
# 4. `same_length` (a letter): in section 8, let every word have 16 letters, in all rows, and train both models anew.
#    Which gets most of the letters right that come again?
#    - a. both;
#    - b. only the one with two layers;
#    - c. only the one with one layer;
#    - d. neither.
#
# <details><summary>How is <code>fed</code> counted?</summary>
#
# The last new token is drawn and returned, but does the model have to read it?
#
# </details>

# %% exercise="quiz_11" role="solution"
quiz_11 = {
    "needed_head": ...,  # "a", "b", "c" or "d"
    "kept": ...,  # a whole number
    "fed": ...,  # a whole number
    "same_length": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_11 = {
    "needed_head": "c",
    "kept": 3,
    "fed": 14,
    "same_length": "a",
}
### END SOLUTION

# %% exercise="quiz_11" role="check"
check(quiz_11, "quiz_11")

# %% [markdown]
# ## What you can do now
#
# You have written a language model, the loop that trains it and the loop that writes with it. You know how it names
# somebody again, and that it doesn't know who anybody is, because you asked, measured and switched off. You have seen
# two layers do together what neither can do alone.
#
# ## For those who want more
#
# The first two parts, writing with a cache and words that the model has never seen, have an exercise each that counts
# like the others, so you need them for full marks. Then come too few tales, names of two words, the whole model from an
# empty cell, a text of your own, and the published weights of GPT-2 in your classes.
#
# ### Writing with a cache
#
# In lesson 09 a model wrote with your cache. Your `GPT` can do so, too, because each `RotaryAttention` keeps its keys
# and values in the dict that it is given.
#
# ### Exercise 11: `generate_with_cache`
#
# Difficulty 2 of 5
#
# This exercise is easier than exercise 9, because its loop is much like that of `generate`. Return the same tokens as
# `generate` from a generator with the same seed. `model(tokens, cache)` returns the logits and the cache as a pair, and
# the cache is a dict, `{}` where a text begins. Give the model the whole prompt once, and then only the newest token
# each time. The very last one doesn't go through the model, because nobody asks what follows it. Prompt and new tokens
# together are at most `model.max_length` here.
#
# <details><summary>My text repeats itself, or differs from <code>generate</code>'s after the first new token</summary>
#
# Print the shape of what you give the model in each step. It should be (B, T) first, and then (B, 1) every time.
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

    prompt: (B, T). model(tokens, cache) gives (logits, cache); an empty dict
    begins a text. Returns (B, T + new_tokens), the prompt included; at most
    model.max_length tokens.
    """
    was_training, tokens = model.training, prompt
    model.eval()
    with torch.no_grad():
        ### BEGIN SOLUTION
        new, cache = prompt, {}
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            probabilities = next_token_probabilities(logits[:, -1], **sampling)
            new = torch.multinomial(probabilities, 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
        ### END SOLUTION
    model.train(was_training)
    return tokens


# %% exercise="generate_with_cache" role="check"
check(generate_with_cache)

# %% role="try" timed=true
# Try it: the same tokens, from the same draws. How long does each loop take?
my_texts = []
for my_loop in (generate, generate_with_cache):
    my_seed, my_start = torch.Generator().manual_seed(1), time.perf_counter()
    my_texts.append(my_loop(my_gpt, my_prompt, 90, my_seed, temperature=0.7))
    print(f"{my_loop.__name__:20}{time.perf_counter() - my_start:5.2f} s")
print("the same tokens:", torch.equal(*my_texts))

# %% [markdown]
# ### Words that it has never seen
#
# Does your model of the tales copy any name, or only the sixty or so that it knows? The third part of the text is about
# twelve animals whose names it has never seen.

# %%
predict(
    "11_strangers",
    "How many of the names that it has never seen does it copy?",
    ["about as many as of the others", "about half as many", "hardly any"],
)

# %% role="try" timed=true
my_ids = encode(strange_text)[0]
my_rows = my_ids[: len(my_ids) // 129 * 129].view(-1, 129)
my_inputs, my_labels = my_rows[:, :-1], my_rows[:, 1:]
my_seen = (my_inputs[:, None] == my_labels[:, :, None]).tril().any(dim=-1)
my_asked = is_name[my_labels] & my_seen
my_share = judge_of(my_inputs, my_labels, my_asked)(my_gpt).asked_right
print(f"of {my_asked.sum()} such names {my_share:.1%} are right")
my_verdict = "about half as many" if my_share > 0.1 else "hardly any"
if my_share > 0.45:
    my_verdict = "about as many as of the others"
compare_guess("11_strangers", my_verdict)

# %% [markdown] role="answer"
# The head may look back at "Agnes", but the model can't predict it. A token that never occurs in training is never the
# right answer, so every step makes its logit smaller. Embedding and head share its vector, and the token was never an
# input, so that is all that the vector has learnt. What the head copies must mean something to the layer that reads it.

# %% [markdown]
# Large models have no such words. With characters as tokens, texts are long, and with words, the vocabulary has no end,
# so these models use **byte-pair encoding** (BPE), which is in between. It begins with the characters of all words,
# finds the pair of neighbours that occurs most often, makes it one token wherever it occurs, and repeats that. Each
# such pair is a **merge**. Here are the first twenty that our tales teach. Can you see why each of them comes when it
# does?

# %%
from grader.models.merges import learn_merges

often = Counter(word for word in words_of(train_text) if word.isalpha())
merges = learn_merges(often, 20)
print(textwrap.fill("  ".join(f"{a}+{b}" for a, b in merges), 78))

# %% [markdown]
# The merges are learnt once. After that any word can be encoded, with the same merges in the same order, also one that
# never occurred.
#
# ### Exercise 12: `byte_pair_encode`
#
# Difficulty 3 of 5
#
# `symbols` are the characters of a word, and `merges` are pairs of strings in the order in which they were learnt. As
# long as two neighbours are among the merges, take the pair that was learnt *earliest*, and join it wherever it occurs
# in the word, from left to right. A symbol that has just been joined is no part of a second pair. Return the tokens as
# a list of strings, and leave both arguments as they are.
#
# With the merges ("b", "c"), ("a", "b"), ("a", "bc"), the symbols a, b, c become a, bc in the first round and abc in
# the second. With ("a", "a") alone, the symbols a, a, a become aa, a. After a join, a merge that stands earlier in the
# list may have become possible, since a list needn't have been learnt from this word.
#
# <details><summary>How do I join a pair wherever it occurs?</summary>
#
# Build a new list with an index that goes one place further, or two where a pair has been joined.
#
# </details>
#
# <details><summary>How do I find the earliest of several pairs?</summary>
#
# `merges.index(pair)` is its place in the list, and `min` takes a function as `key`.
#
# </details>


# %% exercise="byte_pair_encode" role="solution"
def byte_pair_encode(
    symbols: list[str], merges: list[tuple[str, str]]
) -> list[str]:
    """A word in the tokens that its merges make.

    symbols: its characters; merges: pairs, the earliest learnt first. Returns
    a list of strings that, joined, are the same word.
    """
    ### BEGIN SOLUTION
    word = list(symbols)
    while known := [p for p in itertools.pairwise(word) if p in merges]:
        first = min(known, key=merges.index)
        for i in range(
            len(word) - 1
        ):  # past the end of a shorter word: no pair
            if tuple(word[i : i + 2]) == first:
                word[i : i + 2] = ["".join(first)]
    return word
    ### END SOLUTION


# %% exercise="byte_pair_encode" role="check"
check(byte_pair_encode)

# %% role="try"
# Try it: words of the tales, and two that the merges have never seen.
my_more = learn_merges(often, 200)
for my_word in ("the", "called", "lantern", "weather", "Agnes"):
    my_tokens = (byte_pair_encode(list(my_word), m) for m in (merges, my_more))
    my_few, my_many = (" · ".join(tokens) for tokens in my_tokens)
    print(f"{my_word:8} 20 merges: {my_few:26} 200: {my_many}")

# %% [markdown]
# The most common words are one token each, and rarer ones are put together from pieces. "Agnes" is made of pieces that
# the model knows, so a model with such tokens can copy it piece by piece. But to do so it has to find, in the middle of
# the name, which piece followed last time, and you know by now what that takes. GPT-2 begins with the 256 bytes instead
# of characters, so it can write any text in any language. With 50 000 merges and one token for the end of a text, its
# vocabulary has 50 257 tokens.

# %% [markdown]
# ### Too few tales
#
# Your curves for training and for held-out tales fell together. A model of this size couldn't learn 800 tales by heart
# in the steps it had. To see what happens if there are only 30, you train two models on them, one of them with dropout
# (lesson 07).

# %%
few_tales = encode("".join(train_text.splitlines(keepends=True)[:30]))[0]

# %% role="try"
my_few = {}
for my_dropout in (0.0, 0.2):
    _ = torch.manual_seed(0)
    my_model = GPT(V, **SIZES, dropout=my_dropout)
    my_starts = drawn_starts(few_tales, steps=600)
    my_few[my_dropout] = Training(my_model, fit, few_tales, my_starts)

# %%
predict(
    "11_few",
    "In 600 steps on 30 tales, what happens to the loss on held-out tales?",
    ["it falls to the end", "it falls, then stays", "it falls, then rises"],
)

# %% role="try" timed=true claim="few_tales_overfit"
for my_dropout, my_short in my_few.items():
    my_learnt = go_on(my_short, every=100)
    my_held = {n: round(row.loss, 2) for n, row in my_short.judged.items()}
    my_end = sum(my_short.losses[-50:]) / 50
    print(f"dropout {my_dropout}: training loss at the end {my_end:.2f}")
    print(f"  held out {my_held}")
my_held = [row.loss for row in my_few[0.0].judged.values()]
my_rises = my_held[-1] > min(my_held) + 0.1
my_verdict = "it falls, then rises" if my_rises else "it falls, then stays"
compare_guess("11_few", my_verdict)

# %% [markdown] role="answer"
# On the 30 tales the loss goes on falling while on others it rises, because the model learns these tales by heart
# instead of learning how tales go in general. This is **overfitting**, and only the two losses together show it.
# Dropout makes the model learn the tales by heart a little more slowly, but can't prevent it, because there is too
# little else to learn from. Stopping where the held-out loss is lowest helps more. More tales help most of all, since
# with 800 of them your model reached a loss that it never comes near with 30.

# %% [markdown]
# ### Names of two words
#
# In the tales a name is one token, and its distance is enough. Give every animal a surname that is drawn anew for each
# tale, as in "Maud Finch", and a model that has written "Maud" has to find where "Maud" stood to know what followed. Do
# two layers do better than one there? It is less clear than with letters. When we tried it, a model with shared weights
# got 72 % of the surnames of people already named with one layer, and 73 % with two. With `tied=False` and 32 pieces in
# each step two layers got 92 % after 1000 steps, but no head of layer 0 looked at the word before. How it does it we
# don't know, so whoever finds out is ahead of us.
#
# ### From an empty cell
#
# Now write a decoder-only language model from memory, with its attention and its block, and call it `FromMemory`. It
# takes the arguments of `GPT` by name and gives logits (B, T, V) for ids (B, T), and it needs no cache. Look things up
# only when you are stuck, and at the end load the course's weights into it. They fit if your attributes have the names
# that the exercises use, and the logits agree with the course's if everything inside is right. There is no mark for
# this, and no better test of whether you have understood the model.

# %%
for name, tensor in course.weights.items():
    if "blocks" not in name or "blocks.0" in name:
        print(f"{name:40} {tuple(tensor.shape)}")


# %%
def compare_with_course(kind):
    """Load the course's weights into a model of this class, compare logits."""
    course_ids = torch.arange(12)[None]
    model = kind(**course.sizes)
    own = {n: tuple(tensor.shape) for n, tensor in model.state_dict().items()}
    wanted = {n: tuple(tensor.shape) for n, tensor in course.weights.items()}
    for name in sorted(own.keys() | wanted.keys()):
        if own.get(name) != wanted.get(name):
            print(f"{name}: yours {own.get(name, 'is missing')}", end="")
            print(f", the course's {wanted.get(name, 'has none')}")
            return
    model.load_state_dict(course.weights)
    with torch.no_grad():
        gap = (model.eval()(course_ids) - course(course_ids)).abs().max()
    told = "below" if gap < 1e-3 else "not below"
    print(f"largest difference of the logits {told} 0.001")


# %% role="try"
# Your cell: put the whole model in place of this line. Until then your classes
# from above stand in.
FromMemory = GPT

# %% role="try"
compare_with_course(FromMemory)

# %% [markdown]
# <details><summary>Where do I begin?</summary>
#
# Begin with the `__init__` methods, since the names above show which modules they need, and the shapes show what goes
# in and out of each.
#
# </details>
#
# <details><summary>All names fit, but the logits differ</summary>
#
# Take the parts in turn. Is the order of norm, sub-layer and addition right, in both sub-layers? Is the mask there, and
# are queries *and* keys rotated after the heads were split, but not the values? What are the scores divided by, and is
# there a norm before the head?
#
# </details>
#
# <details><summary>The rotation: which columns belong together?</summary>
#
# As in lesson 06, columns 2i and 2i + 1 are a pair, its angle is position · 10000^(−2i/D), and D is the width of one
# head.
#
# </details>
#
# ### A text of your own
#
# Put a text file with one paragraph per line beside this notebook, put these two lines in place of the one with
# `course_tales()` in section 1, and run all cells. What is a name in your text, and does a head look back at it?
#
# ```python
# from grader.models.gpt import own_tales
# train_text, test_text, strange_text = own_tales("my_text.txt")
# ```

# %% [markdown]
# ### How large GPT-2 is
#
# GPT-2 small (2019) has 12 layers, 12 heads, vectors of 768 components (3072 inside the feed-forward layers), a
# vocabulary of 50 257 and a learnt vector for each of 1024 positions. Most of its parameters are in the blocks and in
# the embedding.

# %%
predict(
    "11_gpt2",
    "How many million parameters does GPT-2 small have?",
    low=1,
    high=1000,
    unit="million",
)

# %% role="try"
# Try it: your class with its sizes, on "meta", where tensors hold no numbers.
with torch.device("meta"):
    my_gpt2 = GPT(50257, 768, 12, 12, 3072, max_length=1024)
my_own = sum(my_weight.numel() for my_weight in my_gpt2.parameters())
my_table = 1024 * 768
print(f"{my_own:,} in your class, {my_table:,} for the positions")
print(f"in all: {my_own + my_table:,}; the embedding: {50257 * 768:,}")
compare_guess("11_gpt2", round((my_own + my_table) / 1e6))

# %% [markdown] role="answer"
# It is your class with other sizes, and apart from the learnt positions only details differ. Many later models have
# rotary positions, as yours has, RMSNorm (lesson 05) and grouped queries (lesson 09).

# %% [markdown]
# ### GPT-2 in your classes
#
# GPT-2's weights are published in a file of half a gigabyte, in safetensors, the format of lesson 08. If you have that
# file, your classes can run with its weights. This table lists what differs from your model.
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
# The other differences are in names and layouts, where `t()` transposes a matrix and leaves a vector as it is, and
# `chunk` cuts the common matrix into three.

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
# The ids below stand for "Once upon a time". You see words if the same model's file `vocab.json` is in this notebook's
# folder too. Your logits are compared with those of PyTorch's own layers, which have the same weights and also write
# the text if your `GPT` isn't finished yet. A difference as small as rounding means that your classes do what GPT-2
# needs.

# %% role="try" timed=true
# GPT-2's numbers in your classes, and 20 times the likeliest next token.
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

# %% [markdown]
# ### To read
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
# - Hoffmann et al. (2022), *Training Compute-Optimal Large Language Models*: how large a model should be for the text
#   and the time that one has.
# - Ouyang et al. (2022), *Training language models to follow instructions with human feedback*, section 3: from a
#   language model to a chat.
#
# ## The end of the course
#
# In lesson 01 there was a sentence about a robot and a crate, and a plain average. Since then you have written
# attention by hand and trained it, and given it many heads and masks. You have added norms, residuals and positions,
# and made an encoder, a decoder and a whole Transformer of them. You have trained it, found the bugs that the loss
# hides, made it need less memory, and looked inside. And today it wrote, and you found out what it knows and what it
# only seemed to know.
#
# Where to go from here? Load a model whose weights are public into classes that you have written yourself, as the part
# on GPT-2 above does. If the numbers come out the same, you have understood it; if not, you know how to find out why.
