# ---
# jupyter:
#   course:
#     about: a date translator trained to 99 % on unseen dates; what a low loss can hide
#     picture: which characters the decoder looks at while it writes a date
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
# # 08 · Training it
#
# At the end of lesson 07 your Transformer learnt a dozen sentences. Now it learns to read a date as people write it,
# such as "3 March 2024" or "Mar 3rd, 2024", and to write it in the form of ISO 8601, 2024-03-03. This is a small
# translation task, and learning it takes about ten seconds on a single core (or a minute on a busy machine). You watch
# the loss fall and the cross-attention turn from noise into a map from answer to question.
#
# **You need** lesson 07 (the whole model), lesson 04 (why the target needs a mask) and a little of PyTorch's `optim`,
# where an optimiser changes the parameters so that the loss gets smaller.
#
# **Afterwards you can**
#
# - say what the decoder is given, what it should write, and why the two are one token apart;
# - write a loss that leaves padding out, a learning rate with a warm-up, and greedy decoding for a batch;
# - write one step of training, with which you train a model, stop it and resume, save its weights and load them;
# - find three bugs that the curve of a loss doesn't show.
#
# **Time:** <!-- time -->. The plan: the dates → the shift → the loss → the learning
# rate → the model → training → writing → where it looks → dropout and label smoothing → three bugs → saving → a quiz.
# That is enough for two sittings, with a break after part 6.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `B` | batch: dates handled together | 64 |
# | `Ts` | characters of the written date, the source, with padding | up to 18 |
# | `T` | tokens of the ISO date, the target (lesson 07's `Tt`), with bos, eos and padding | up to 12 |
# | `V` | `vocab_size` of the target: ten digits, "-", padding, bos, eos | 14 |

# %%
import datetime
import functools
import math
import random
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import Stopped, check, compare_guess, predict, show

# Models as small as these compute fastest in one thread.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · The dates
#
# Nobody has to collect this data. A few lines of code write it, in six forms. The last form gives no day, and ISO
# 8601 then stops after the month, so the answers aren't all equally long.

# %%
MONTHS = ["January", "February", "March", "April", "May", "June", "July"]
MONTHS += ["August", "September", "October", "November", "December"]


def ordinal(day):
    """3 as "3rd"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{'th' if day in (11, 12, 13) else ending}"


def written(date, form):
    """A date as people write it, in one of six forms."""
    day, month, year = date.day, MONTHS[date.month - 1], date.year
    forms = [f"{day} {month} {year}", f"{month} {day}, {year}"]
    forms += [
        f"{day} {month[:3]} {year}",
        f"{month[:3]} {ordinal(day)}, {year}",
    ]
    return [*forms, f"{day}.{date.month}.{year}", f"{month} {year}"][form]


# %%
def in_iso(date, form):
    """The same date as it should be written."""
    return date.isoformat()[: 10 if form < 5 else 7]


for form in range(6):
    leap_day = datetime.date(2024, 2, 29)
    print(f"{written(leap_day, form):20} -> {in_iso(leap_day, form)}")

# %% [markdown]
# We take all days of two centuries, each in a form drawn at random. Of these, 1000 are **held out**, so the model never
# learns from them, and they will show whether it has understood the dates or learnt them by heart. For this to be a
# fair test, no answer may be on both sides, so a date with the same answer as a held-out one is left out of the
# training.
#
# Of the held-out dates, we **watch** 200 while the model learns, and use them to choose the number of steps and the
# learning rate. Once a date has influenced a choice, it is no longer a fair test, so the others are kept for the end,
# as the **test** set.
#
# Leap years come for free, since `datetime` knows that 2000 was one and 1900 wasn't.

# %%
first_day, one_day = datetime.date(1900, 1, 1), datetime.timedelta(days=1)
days = [first_day + later * one_day for later in range(73049)]  # to 31 Dec 2099

shuffled = random.Random(224)
shuffled.shuffle(days)
forms = [shuffled.randrange(6) for _ in days]
day_pairs = [
    (written(*both), in_iso(*both)) for both in zip(days, forms, strict=True)
]
held_out = day_pairs[:1000]
unseen = {answer for _, answer in held_out}
train_pairs = [pair for pair in day_pairs[1000:] if pair[1] not in unseen]
watch_pairs = held_out[:200]
watched = {answer for _, answer in watch_pairs}
test_pairs = [pair for pair in held_out[200:] if pair[1] not in watched]

# %%
print(f"from {min(days)} to {max(days)}: {len(days)} days, ", end="")
print(sum(day.month == 2 and day.day == 29 for day in days), "leap days")
print("to learn from:", len(train_pairs), end="  ")
print("to watch:", len(watch_pairs), " to test:", len(test_pairs))
learnt = {answer for _, answer in train_pairs}
print("answers on both sides:", len(unseen & learnt))
leap_days = [pair for pair in held_out if pair[1].endswith("-02-29")]
print("leap days that are held out:", [text for text, _ in leap_days])

# %% [markdown]
# ### From characters to numbers
#
# A token is one character here, so the source's vocabulary has every character that occurs, and the target's has the
# digits and the dash. Both begin with **padding**, and the target's also has **bos** (begin of sequence) and **eos**
# (end of sequence), three tokens that people never write.

# %%
PAD, BOS, EOS = 0, 1, 2
characters = {*" ,.0123456789stndrdth", *"".join(MONTHS)}
SOURCE = ["<pad>", *sorted(characters)]
TARGET = ["<pad>", "<bos>", "<eos>", *"-0123456789"]
print(len(SOURCE), "source tokens:", " ".join(SOURCE))
print(len(TARGET), "target tokens:", " ".join(TARGET))

# %%
source_ids = {token: i for i, token in enumerate(SOURCE)}
target_ids = {token: i for i, token in enumerate(TARGET)}


def padded(rows):
    """Lists of ids as one tensor, the short ones filled up with padding."""
    width = max(len(row) for row in rows)
    filled_up = [row + [PAD] * (width - len(row)) for row in rows]
    return torch.tensor(filled_up)


def encode(texts):
    """Written dates as ids (B, Ts)."""
    return padded([[source_ids[token] for token in text] for text in texts])


print(encode(["3 Mar 2024", "29 Feb 2024", "March 2024"]))

# %% [markdown]
# The sources have different lengths, so two of them end with padding, which lesson 04's mask hides.
#
# ## 2 · One token apart
#
# While the decoder learns, it is given the right answer and asked at every position what comes next. This is called
# **teacher forcing**, because the model goes on from the right beginning even where it would have written something
# wrong. All positions can be asked at once, because the causal mask hides what comes after each.
#
# So there are two sequences, one that the decoder is given, which starts with bos, and one that it should write, which
# ends with eos.

# %%
answer = ["<bos>", *"2024-02", "<eos>"]
lines = ["is given", "should write"]
show([answer[:8], answer[1:]], lines, "01234567", title="position")

# %% [markdown]
# Read the table column by column. At position 0 the decoder has seen bos and should write 2, and at position 7 it has
# seen all of the date and should write eos.
#
# If both lines were the same, the decoder would only have to copy what it is given, and section 10 shows how well that
# goes.
#
# ### Exercise 1: `shift_target`
#
# Difficulty 1 of 5
#
# From a batch of targets, bos and eos included, make a tensor for each of these two sequences, with one column fewer
# than the target. Treat padding as a token like any other here.
#
# <details><summary>I don't know which end to cut off</summary>
#
# Which token of the answer is never given to the decoder, since no token comes after it, and which one should the
# decoder never write?
#
# </details>
#
# <details><summary>The shape is wrong</summary>
#
# The first axis is the batch, and all of it stays: `trg[:, ...]`.
#
# </details>


# %% exercise="shift_target" role="solution"
def shift_target(trg: Tensor) -> tuple[Tensor, Tensor]:
    """What the decoder is given, and what it should say at each position.

    trg: ids (B, T), bos and eos included.
    Returns (decoder_input, labels), each (B, T-1).
    """
    ### BEGIN SOLUTION
    return trg[:, :-1], trg[:, 1:]
    ### END SOLUTION


# %% exercise="shift_target" role="check"
check(shift_target)

# %% role="try"
# Try it: the two lines of the table above, as ids.
my_trg = padded([[target_ids[token] for token in answer]])
for my_row in shift_target(my_trg):
    print(my_row)

# %% [markdown]
# ## 3 · How wrong is it?
#
# At every position the model gives 14 scores, one for each token, the **logits**, and softmax turns them into
# probabilities. The loss of one position is called **cross-entropy**, and it is minus the logarithm of the probability
# that the *right* token got. It is 0 if the model was sure and right, and large if it was sure and wrong.

# %%
for probability in (1.0, 0.9, 0.5, 0.001):
    print(f"probability of the right token {probability:.3f}: ", end="")
    print(f"loss {math.log(1 / probability):.2f}")

# %% [markdown]
# A model that gives all 14 tokens the same probability, 1/14, has a loss of ln 14 = 2.64. Remember this number, because
# if training starts far above it, or doesn't get below it, something is wrong.
#
# The loss of a batch is the mean over all positions whose label isn't padding. Below are two answers, one of which ends
# early. The model is unsure about the tokens and very sure about the padding, which is easy to learn.

# %%
labels = torch.tensor([[5, 3, 5, 7, 2], [6, 2, 0, 0, 0]])  # 2: eos, 0: padding
logits = torch.zeros(2, 5, 14)
logits[0, :, 5], logits[1, 2:, 0] = 1.0, 9.0

each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
show(each, ["long answer", "short answer"], title="loss", form=".4f")
print(f"mean over the 7 real ones: {each[labels != PAD].mean():.2f}", end="   ")
print(f"over all 10: {each.mean():.2f}")

# %% [markdown]
# Counting the padding makes the loss smaller and the model no better, and the more padding there is, the better the
# loss looks.
#
# There are several ways to take the mean, and they differ as soon as something is padded. We add up the losses of all
# real labels of the batch and divide by their number. So a label counts the same in a short answer as in a long one.
#
# ### Exercise 2: `sequence_loss`
#
# Difficulty 3 of 5
#
# Compute the mean cross-entropy (you may use `F.cross_entropy`) over the labels that are not padding, and return 0 if
# every label is padding. The result is a tensor with no axes. It comes from the logits even when it is 0, so that
# `backward` works there too and gives a gradient of zero.
#
# <details><summary>"Expected target size [...], got [...]"</summary>
#
# `F.cross_entropy` wants the vocabulary on axis 1, after the batch: (B, V, T), or, with all positions in one long
# row, (B·T, V) and (B·T,). Swap axes or flatten; don't `view` one shape into the other.
#
# </details>
#
# <details><summary>The loss is right without padding, and too small with it</summary>
#
# Leaving the padding out of the sum is only half the job, so what do you divide by?
#
# </details>
#
# <details><summary>The loss is NaN if everything is padding</summary>
#
# Here a sum of 0 is divided by 0 labels, so keep the divisor from being 0, or treat this case separately.
#
# </details>
#
# <details><summary>The loss doesn't get near 0, however sure the model is</summary>
#
# `F.cross_entropy` takes logits and applies the softmax itself, so don't apply another one before it.
#
# </details>


# %% exercise="sequence_loss" role="solution"
def sequence_loss(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Mean cross-entropy over the labels that are not padding; 0 if all are,
    with a gradient of zero.

    logits: (B, T, V); labels: ids (B, T); pad_idx: the id of the padding.
    Returns a 0-d tensor.
    """
    ### BEGIN SOLUTION
    rows, wanted = logits.flatten(0, 1), labels.flatten()
    total = F.cross_entropy(rows, wanted, ignore_index=pad_idx, reduction="sum")
    return total / (labels != pad_idx).sum().clamp(min=1)
    ### END SOLUTION


# %% exercise="sequence_loss" role="check"
check(sequence_loss)

# %% role="try"
# Try it: the example from above, then with twenty more columns of padding.
# Both should be 2.44.
my_labels, my_logits = F.pad(labels, (0, 20)), F.pad(logits, (0, 0, 0, 20))
print(f"{sequence_loss(logits, labels, PAD):.2f}", end=" and ")
print(f"{sequence_loss(my_logits, my_labels, PAD):.2f}")

# %% [markdown]
# ## 4 · How fast should it learn?
#
# The **learning rate** sets how far one step changes the parameters. In lesson 05 large first steps spoilt a stack of
# forty-eight post-norm blocks before it had learnt anything. Towards the end, large steps keep jumping over the goal
# and back. So the rate first rises, during the **warm-up**, and falls afterwards. The paper (section 5.3) has one
# formula for both:
#
# $$\text{rate} = d_{\text{model}}^{-0.5} \cdot \min\left(\text{step}^{-0.5},\ \text{step} \cdot
# \text{warmup}^{-1.5}\right)$$
#
# People call it *Noam*, after one of the authors. The second term rises in a straight line, while the first one falls,
# and the two are equal at the last step of the warm-up.
#
# ### Exercise 3: `noam_rate`
#
# Difficulty 1 of 5
#
# This is easier than the loss, since it takes only one line. Write the formula as a function of plain numbers that
# returns a float, with steps counted from 1.
#
# <details><summary>"unsupported operand" or "must be Tensor, not int"</summary>
#
# No tensor is needed, because Python's own `**` and `min` work on numbers, and `x**-0.5` is 1 divided by the square
# root of x.
#
# </details>


# %% exercise="noam_rate" role="solution"
def noam_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """The learning rate of Vaswani et al. (2017), equation 3.

    step: counted from 1. It rises in a straight line for warmup_steps steps,
    then falls with the root of the step.
    """
    ### BEGIN SOLUTION
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    ### END SOLUTION


# %% exercise="noam_rate" role="check"
check(noam_rate)

# %% role="try"
# Try it: the paper's own numbers, then the picture. Where is the rate highest?
for my_step in (1, 1000, 4000, 16000, 100000):
    print(f"step {my_step:6}: {noam_rate(my_step, 512, 4000):.2e}")

figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
for my_warmup, my_line in ((1000, ":"), (4000, "-"), (8000, "--")):
    my_rates = [noam_rate(step, 512, my_warmup) for step in range(1, 20001)]
    axes.plot(my_rates, my_line, color="#00204c", label=f"warm-up {my_warmup}")
axes.set(xlabel="step", ylabel="learning rate", title="d_model = 512")
axes.legend()
plt.show()

# %% [markdown]
# *The picture in words:* three curves run from step 1 to 20 000. Each rises in a straight line to the end of its
# warm-up, has a sharp peak there, and falls in a curve that gets ever flatter. The shorter the warm-up, the higher the
# peak, and to the right all three are the same curve.
#
# The base model of Vaswani et al. (2017) was trained for 100 000 steps, with a warm-up of 4000, and ours gets 240
# steps. So we take a warm-up of 40, and a fifth of the formula's rate, because with so short a warm-up its peak would
# be 0.02. Many programs have such a factor, and section 6 shows what too high a rate can do.


# %%
def all_rates(formula, steps=240, warm_up=40, factor=0.2):
    """A rate for each step: `factor` times the formula's."""
    return [factor * formula(n, 64, warm_up) for n in range(1, steps + 1)]


# %% role="try"
# The rates with which you will train.
my_rates = all_rates(noam_rate)
for my_step, my_rate in enumerate(my_rates, 1):
    if my_step in (1, 20, 40, 160, 240):
        print(f"step {my_step:3}: {my_rate:.5f}")

# %% [markdown]
# ## 5 · The model
#
# The model is lesson 07's Transformer, with the parts that it takes from lessons 03 and 04. All of their code is given
# in the next cells.

# %% role="given"
from lesson_04 import causal_mask, decoder_mask, padding_mask

# %% role="given"
from lesson_03 import MultiHeadAttention, merge_heads, split_heads

# %% role="given"
from lesson_07 import FeedForward, TransformerBlock

# %% role="given"
from lesson_07 import Encoder

# %% role="given"
from lesson_07 import Decoder, DecoderBlock

# %% role="given"
from lesson_07 import Transformer

# %% [markdown]
# **You train your own** if your notebooks of lessons 03 and 07 are in the same folder as this one and what you wrote
# passes its checks. Otherwise you train the course's model. With yours, some figures may differ a little from those in
# the text. (To train the course's model anyway, skip the next cell.)

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
# A small model will do, with vectors of 64 components, two layers, four heads of 16, and no dropout until section 9.


# %%
def new_model(seed, num_layers=2, dropout=0.0, kind=Transformer):
    """A fresh model for the dates."""
    _ = torch.manual_seed(seed)
    sizes = {"d_model": 64, "num_heads": 4, "d_ff": 128, "max_length": 40}
    sizes |= {"num_layers": num_layers, "dropout": dropout}
    return kind(len(SOURCE), len(TARGET), PAD, PAD, **sizes)


# %%
numbers = sum(parameter.numel() for parameter in new_model(0).parameters())
print("parameters:", numbers)

# %% [markdown]
# ## 6 · Training
#
# Two tensors hold the sources and the targets.


# %%
def tensors_of(some_pairs):
    """Sources (B, Ts) and targets (B, T), bos and eos included."""
    targets = [[target_ids[c] for c in answer] for _, answer in some_pairs]
    targets = padded([[BOS, *target, EOS] for target in targets])
    return encode([text for text, _ in some_pairs]), targets


# %%
train_data = tensors_of(train_pairs)
watch_data, test_data = tensors_of(watch_pairs), tensors_of(test_pairs)
print([tuple(ids.shape) for ids in train_data])

# %% [markdown]
# Training repeats one step of guessing, comparing and adjusting, and in PyTorch the adjusting takes two calls.
# `loss.backward()` computes the gradient of the loss for every parameter and puts it into that parameter's `.grad`.
# Then `optimizer.step()` moves every parameter a little against its `.grad`. As an example, take one parameter x with
# the loss (x − 5)², which is smallest at 5.

# %%
predict(
    "08_add_up",
    "The gradient at 3 is -4. `backward` is called three times in a row. "
    "What is in `.grad` then?",
    low=-16,
    high=4,
)

# %% role="answer"
parameter = torch.tensor([3.0], requires_grad=True)
for _ in range(3):
    ((parameter - 5) ** 2).sum().backward()
    print(f"in .grad: {parameter.grad.item():.0f}")
compare_guess("08_add_up", parameter.grad)

# %% [markdown] role="answer"
# `backward` **adds** to what is there, so between two steps `optimizer.zero_grad()` has to empty `.grad`.

# %% [markdown]
# ### Exercise 4: `train_step`
#
# Difficulty 3 of 5
#
# Write one step on one batch, for any model and optimiser. Shift the target, let the model guess with teacher forcing,
# take your `sequence_loss`, compute the gradients of this batch alone, and let the optimiser take one step. Keep two
# things in mind.
#
# - **The mode.** `model.train()` switches a model, and everything inside it, to train mode, in which dropout works, and
#   `model.eval()` to eval mode; `model.training` shows which mode is on. Train in train mode, and leave the model in
#   the mode you found it in.
# - **What you return** is the loss before the step, as the plain number `loss.item()`. The tensor would hold on to
#   everything that was computed for it.
#
# The check calls your function twice on small models and looks at their parameters.
#
# <details><summary>No parameter has changed</summary>
#
# Print a parameter's `.grad` just before the optimiser takes its step. It must be filled by then, and not yet emptied.
#
# </details>
#
# <details><summary>The first call is right, the second isn't</summary>
#
# What is left over from the first call when the second begins?
#
# </details>
#
# <details><summary>How do I put the mode back?</summary>
#
# Read `model.training` before you switch. `model.train(True)` and `model.train(False)` take the mode as an argument.
#
# </details>


# %% exercise="train_step" role="solution"
def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    src: Tensor,
    trg: Tensor,
    pad_idx: int,
) -> float:
    """One step on one batch, with teacher forcing; returns the loss before it.

    model: model(src, trg) gives logits (B, T, V); it is run in train mode and
    left in the mode in which it came. src: ids (B, Ts); trg: ids (B, T), bos
    and eos included; pad_idx: the id of the padding in both.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src, decoder_input), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return loss.item()
    ### END SOLUTION


# %% exercise="train_step" role="check"
check(train_step)

# %% [markdown]
# ### The loop
#
# All that is left is to repeat your step, with a rate and 64 dates for each. `step` will be your `train_step`, and the
# rates are those of your `noam_rate`. The length of `losses` is the number of steps done, so a training run that was
# stopped resumes there. After each step the loop calls `watch`, if there is such a function. The optimiser is Adam,
# which gives every parameter a step size of its own.


# %%
def learn(model, adam, losses, rates, step, data=None, watch=None):
    """Take the steps for which `losses` has no loss yet."""
    sources, targets = data or train_data
    for n in range(len(losses), len(rates)):
        adam.param_groups[0]["lr"] = rates[n]
        # After the last date comes the first again.
        rows = torch.arange(64 * n, 64 * n + 64) % len(sources)
        losses.append(step(model, adam, sources[rows], targets[rows], PAD))
        if watch:
            watch()


# %%
def short_training(model, rates, step, data=None):
    """The losses of a training that nobody watches."""
    losses, adam = [], torch.optim.Adam(model.parameters())
    learn(model, adam, losses, rates, step, data)
    return losses


# %% [markdown]
# **How many dates come out exactly right?** To find out, we would have to let the model write them, token by token.
# There is a shorter way, because a date is written without a mistake if and only if every guess is right *given the
# right beginning*. If the first token is right, the second is guessed from the right beginning too, and so on. Testing
# this takes one call, with teacher forcing. The shortcut works as long as no position sees what comes after it, and you
# will meet that condition again.
#
# Now and then, the model does write a whole date, so that we can watch it get better. In **greedy** decoding, as this
# is called, it is given bos and picks the likeliest token. Then it is given that as well and picks the next one, and so
# on until it picks eos. (`no_grad` stops PyTorch from recording what `backward` would need.)


# %%
@torch.no_grad()
def share_right(model, data):
    """In which share of the rows is every guess right?"""
    src, trg = data
    guesses, wanted = model(src, trg[:, :-1]).argmax(dim=-1), trg[:, 1:]
    row_right = ((guesses == wanted) | (wanted == PAD)).all(dim=1)
    return row_right.double().mean().item()


@torch.no_grad()
def write(model, text, most=12):
    """One date, token by token. Returns the tokens it wrote."""
    src, said = encode([text]), [BOS]
    while len(said) < most and said[-1] != EOS:
        logits = model(src, torch.tensor([said]))
        said.append(logits[0, -1].argmax().item())
    return [TARGET[token] for token in said]


# %% [markdown]
# Before the training starts, we want to see which characters of the source the decoder looks at while it computes one
# token. The weights of the **cross-attention** show this, but they are computed inside its last layer and thrown away.
# We keep them with a *hook*, a function that PyTorch calls each time the module it belongs to has run.


# %%
@torch.no_grad()
def look(model, pair):
    """Weights of the last cross-attention (H, T-1, Ts), the guessed tokens."""
    kept = []
    attention = model.decoder.layers[-1].block.attention
    hook = attention.register_forward_hook(lambda *call: kept.append(call[2]))
    src, trg = tensors_of([pair])
    guesses = model(src, trg[:, :-1]).argmax(dim=-1)[0]
    hook.remove()
    weights = kept[0][1]
    return weights[0], [TARGET[guess] for guess in guesses]


# %% [markdown]
# The monitor stays empty until the cells below it run, and then follows them. It shows how far the training has got,
# one date as the model writes it, the loss, and the accuracy on the watched dates.
#
# **You can stop the training.** Interrupt the kernel (■ in the toolbar) while it runs, and run the same cell again to
# resume. To start from scratch, run the cell with the monitor again.

# %%
from grader.views import TrainingMonitor

model, losses, shares, texts = new_model(seed=0), [], {}, {}
adam = torch.optim.Adam(model.parameters())
WATCHED = watch_pairs[4]
monitor = TrainingMonitor(240, "watched dates right", WATCHED)
album_pairs = [watch_pairs[i] for i in (4, 22, 16, 7, 21)]
album = {"before": [look(model, pair) for pair in album_pairs]}
monitor


# %%
def watch():
    """Show how far it is; every tenth step, judge it."""
    done = len(losses)
    if done % 10 == 0:
        shares[done] = share_right(model, watch_data)
        texts[done] = "".join(write(model, WATCHED[0])[1:-1])
    monitor.show(losses, shares, texts, now=done % 10 == 0)


def go_on(step, rates):
    """Train with these rates, or until the kernel is interrupted."""
    try:
        learn(model, adam, losses, rates, step, watch=watch)
    except KeyboardInterrupt:
        raise Stopped(f"Stopped at step {len(losses)}.") from None
    return model


# %%
predict(
    "08_forty",
    "After 40 steps the loss will have fallen from 3 to below 1. "
    "How many dates are right then?",
    ["nearly all", "about two thirds", "about one third", "hardly any"],
)

# %% role="try" timed=true claim="loss_falls_first"
# Your first 40 steps.
my_learner = go_on(train_step, my_rates[:40])
album["during"] = [look(my_learner, pair) for pair in album_pairs]
my_first = losses[:40]
print(f"loss after {len(my_first)} steps: {my_first[-1]:.2f}")
my_part = next((shares[n] for n in (40, 30, 20, 10) if n in shares), 0)
my_outcomes = ["hardly any", "about one third", "about two thirds"]
my_outcome = [*my_outcomes, "nearly all"][round(3 * my_part)]
compare_guess("08_forty", my_outcome)

# %% [markdown] role="answer"
# The warm-up is over, and the loss is a long way below 2.64. Many digits are right, but hardly any date is, because all
# the tokens of a date must be right, and most dates have eleven.

# %% [markdown]
# The rest takes five times as many steps, and you can watch the date in the monitor.

# %% role="try" timed=true claim="dates_are_learnt"
# Your model learns the rest.
my_translator = go_on(train_step, my_rates)
album["after"] = [look(my_translator, pair) for pair in album_pairs]
my_share = share_right(my_translator, test_data)
print(f"all test dates:   {my_share:.1%} of {len(test_data[0]):,d} right")
if leap_days:
    my_leap_share = share_right(my_translator, tensors_of(leap_days))
    print(f"only 29 February: {my_leap_share:.1%} of {len(leap_days)}")

# %% [markdown]
# At least 99 in 100 test dates come out right, although the model has never seen them and they influenced no choice. At
# twice the rate one of our five starts is a hair below that. The monitor shows how it got there.

# %% role="train" timed=true
monitor

# %% [markdown]
# *The picture in words:* at the top is one date, as the model wrote it at several steps, at first unlike any date, then
# in the right form, then right. The first of the two curves below it is the loss, on a scale where each line is a tenth
# of the one above it. It starts near 3 and falls, with many jags, to less than a hundredth of that. The second is the
# fraction of the dates that are right. For about 40 steps it stays close to 0, then it rises steeply, and from step 150
# on it is near 100 %.
#
# Both curves show the same training. First the loss falls while hardly any date is right, and later it still falls when
# nearly all dates are right already. **Look at the thing you want, not only at the loss.**
#
# ### Was the warm-up needed?
#
# Two short runs of a model with one layer will show it. Both start from the same parameters, and both train for 100
# steps at 0.02, five times our peak. One gets there over 60 steps of warm-up, while the other has the full rate from
# its first step on.


# %%
def up_and_level(warm_up, rate=0.02, steps=100):
    """Rates that rise for the warm-up and then stay for so many steps."""
    return [rate * min(1, n / warm_up) for n in range(1, warm_up + steps + 1)]


# %%
predict(
    "08_warm_up",
    "After 100 steps at the full rate of 0.02, which run has the lower loss?",
    ["the one with a warm-up", "the one without"],
)

# %% role="try" timed=true claim="warm_up_allows_a_high_rate" long="it trains and draws"
# Two short runs with your train_step.
figure, panels = plt.subplots(2, 1, figsize=(4.6, 4.4), layout="constrained")
panels[0].set(title="learning rate")
panels[1].set(title="loss", xlabel="step", ylim=(0, 3.5))
my_ends = {}
for my_warm_up, my_name, my_line in (
    (60, "with a warm-up", "-"),
    (1, "without", ":"),
):
    my_level = up_and_level(my_warm_up)
    my_losses = short_training(new_model(0, num_layers=1), my_level, train_step)
    my_ends[f"the one {my_name}"] = sum(my_losses[-10:]) / 10
    panels[0].plot(my_level, my_line, color="#00204c", label=my_name)
    panels[1].plot(my_losses, my_line, color="#00204c")
panels[0].legend()
plt.show()
for my_name, my_end in my_ends.items():
    print(f"{my_name}: loss {my_end:.2f}")
compare_guess("08_warm_up", min(my_ends, key=my_ends.get))

# %% [markdown] role="answer"
# *The picture in words:* above are the two rates, one of which rises for 60 steps to 0.02 and stays there, while the
# other is level at 0.02. Below are the two losses. With the warm-up the loss falls to about 0.2 and stays there at the
# full rate, and without it the loss stops falling near 1.
#
# The rate of 0.02 isn't too high as such, since the first run copes with it for 100 steps. It is too high for a model
# that has learnt nothing yet. So a warm-up can make larger steps possible. It isn't a law. At 0.01 (`rate=0.01`)
# this model learns just as well without one, and is ahead at first. With two layers (`num_layers=2`) the model won't
# always cope with 0.02, even after a warm-up.

# %% [markdown]
# If a cell of the training raised an error, an exercise isn't finished. To go on all the same with the course's model,
# run these lines in a cell of your own:
#
# ```python
# from grader import trained_dates
# my_translator = new_model(seed=0)
# my_translator.load_state_dict(trained_dates().weights)
# ```
#
# This is a good place for a break.
#
# ## 7 · Let it write
#
# We give `write` three dates that the model has never seen.

# %% role="try"
# What does your model write?
print("source               answer       it writes")
for my_text, my_answer in test_pairs[:3]:
    my_wrote = "".join(write(my_translator, my_text)[1:-1])
    print(f"{my_text:20} {my_answer:12} {my_wrote}")
print("all tokens of one:", write(my_translator, "May 2024"))

# %% [markdown]
# In `write`, the next token is read from `logits[0, -1]`, since only the last row is about that token. The logits have
# a row for every position, but the rows before the last one are about tokens that have been written already.
#
# ### Exercise 5: `greedy_decode`
#
# Difficulty 4 of 5
#
# Do the same for a whole batch at once. Three things are new compared with `write`:
#
# - **Sequences end at different steps.** Once a sequence has produced eos it repeats eos, until there are `max_length`
#   columns, bos among them. Your function may stop earlier, once every sequence has ended.
# - **The model is somebody else's**, so decode in eval mode, and leave it in the mode you found it in, as you did in
#   exercise 4.
# - **Nobody needs gradients**, so none should be recorded.
#
# The check uses stand-ins for a model. What they write makes no sense, but `model(src, trg)` gives logits (B, T, V),
# the same every time.
#
# <details><summary>All rows get the same token again and again</summary>
#
# At which position do you read the logits? And if you print the shape of what you pass to the model in the next round,
# is the new token part of it?
#
# </details>
#
# <details><summary>How do I keep a row at eos?</summary>
#
# Keep a bool tensor with one entry per row, which is True once that row has ended. Where it is True, replace the new
# token with eos, using `torch.where` or `masked_fill`, and then update the tensor.
#
# </details>
#
# <details><summary>"Sizes of tensors must match except in dimension 1"</summary>
#
# `torch.cat` along axis 1 wants two tensors with the same number of axes. `argmax(dim=-1)` on (B, V) gives (B,), and
# a column is (B, 1).
#
# </details>
#
# <details><summary>How do I leave no trace in the model?</summary>
#
# Exercise 4 shows how to put the mode back, and `with torch.no_grad():` keeps gradients from being recorded.
#
# </details>


# %% exercise="greedy_decode" role="solution"
def greedy_decode(
    model: nn.Module, src: Tensor, bos_idx: int, eos_idx: int, max_length: int
) -> Tensor:
    """Write a target for every source, always with the likeliest next token.

    model: model(src, trg) gives logits (B, T, V); it is run in eval mode and
    left in the mode in which it came. src: ids (B, Ts). Returns ids (B, at most
    max_length), bos first and counted; after eos comes only eos.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx, device=src.device)
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            likeliest = model(src, tokens)[:, -1].argmax(dim=-1)
            likeliest = likeliest.masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, likeliest.unsqueeze(1)], dim=1)
            ended = ended | (likeliest == eos_idx)
    model.train(was_training)
    return tokens
    ### END SOLUTION


# %% exercise="greedy_decode" role="check"
check(greedy_decode)

# %% role="try" timed=true
# Try it: your own dates. What does it make of a day that doesn't exist?
my_dates = ["1 January 1970", "24th Dec 1968", "29 February 2023"]
my_rows = greedy_decode(my_translator, encode(my_dates), BOS, EOS, 12)
for my_date, my_row in zip(my_dates, my_rows, strict=True):
    my_text = "".join(TARGET[token] for token in my_row if token > EOS)
    print(my_date, "->", my_text)

# %% [markdown]
# The model doesn't know calendars, and in training it never learnt that 2023 had no 29 February, so it writes what it
# reads. A form that it has never seen is another matter, and "24th Dec 1968", which mixes two of ours, may come out
# wrong. What about a year that it has never seen? The training data ends with 2099.

# %%
predict(
    "08_year",
    "100 dates between 2100 and 2199, in the forms that it knows. "
    "How many does it write exactly right?",
    ["nearly all", "about half", "hardly any"],
)

# %% role="try" timed=true claim="no_new_century"
# Your model meets a century that it has never seen.
first = datetime.date(2100, 1, 1)
far_days = [first + (365 * n + n % 28) * one_day for n in range(100)]
far_pairs = [(written(d, n % 5), f"{d}") for n, d in enumerate(far_days)]
my_far_share = share_right(my_translator, tensors_of(far_pairs))
for my_text in ("3 March 2150", "3 March 2050", "31.12.2100"):
    print(f"{my_text:14} -> {''.join(write(my_translator, my_text)[1:-1])}")
my_outcomes = ["hardly any", "about half", "nearly all"]
compare_guess("08_year", my_outcomes[round(2 * my_far_share)])

# %% [markdown] role="answer"
# In all that it has read, a year begins with 19 or 20, and so do the years that it writes. It has learnt the dates of
# two centuries, not what a year is. Our test can't show that, because all its dates are from the same two centuries.

# %% [markdown]
# ### Exercise 6: `exact_match`
#
# Difficulty 2 of 5
#
# This is easier than decoding. Return the fraction of rows that are right as a whole, which means equal **up to and
# including their first eos**, since nobody reads what comes after it. A row without eos runs to its last column, and
# the two tensors may differ in width.
#
# <details><summary>Where does a row end?</summary>
#
# For one row as a list, `row.index(eos_idx)` is the position of the first eos if there is one. For a tensor,
# `(row == eos_idx).cumsum(-1)` is 0 before the first eos.
#
# </details>
#
# <details><summary>The widths differ, and the comparison fails</summary>
#
# Cut both rows off after their first eos, and then compare them, lengths included, since two rows of different lengths
# aren't equal.
#
# </details>
#
# <details><summary>The check says that it wants a plain number</summary>
#
# `.item()` takes the number out of a tensor.
#
# </details>


# %% exercise="exact_match" role="solution"
def exact_match(predicted: Tensor, target: Tensor, eos_idx: int) -> float:
    """The share of rows that are equal up to and including their first eos.

    predicted: ids (B, T1); target: ids (B, T2). A row without eos runs to its
    last column.
    """

    ### BEGIN SOLUTION
    def up_to_eos(row: list[int]) -> list[int]:
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    rows = zip(predicted.tolist(), target.tolist(), strict=True)
    equal = [up_to_eos(mine) == up_to_eos(right) for mine, right in rows]
    return sum(equal) / len(equal)
    ### END SOLUTION


# %% exercise="exact_match" role="check"
check(exact_match)

# %% role="try" timed=true
# Try it: your two functions on all test dates. They should agree with the
# share that needed one call only.
my_src, my_trg = test_data
my_written = greedy_decode(my_translator, my_src, BOS, EOS, max_length=12)
print(f"written right: {exact_match(my_written, my_trg, EOS):.2%}")
print(f"right in one call: {share_right(my_translator, test_data):.2%}")

# %% [markdown]
# ## 8 · Where it looks
#
# We have recorded the cross-attention at three moments, before, during and after the training. Pick a date and a
# moment, and step through the answer's characters with the arrow keys.

# %% role="try" timed=true
# Your model before, during and after its training.
from grader.views import AlignmentView

AlignmentView(album_pairs, album)

# %% [markdown]
# Look for three things:
#
# 1. *Before:* every row is nearly the same, so what a token looks at doesn't depend on which token it is.
# 2. *After, all heads:* the rows for the digits of the year look at the year, wherever it is in the source. The year
#    comes first in the answer and last in the source, but that does no harm, since attention has no order of its own.
# 3. *After, one head at a time:* the heads share the work. For the month, see which letters it is read from, since a
#    few that differ from month to month are enough.
#
# It is tempting to conclude that the model wrote a 5 *because* of what it looked at. Be careful, because the weights
# only show where a layer took its information from. How it is used is decided elsewhere, and the encoder has already
# mixed the characters, as you will see in lesson 10.
#
# ## 9 · Dropout and label smoothing
#
# A model that sees the same few examples again and again may learn them by heart. Dropout, which lesson 07 put into the
# model, makes that harder. In train mode each component becomes zero with a probability p, at random, and the others
# are divided by 1 − p so that the average stays.

# %%
_ = torch.manual_seed(8)
half_dropped, many = nn.Dropout(0.5), torch.ones(10000)
for mode in ("train", "eval"):
    some = half_dropped.train(mode == "train")(many)
    print(f"{mode:5} mode: mean {some.mean():.1f}", end="   values ")
    print(*(f"{value:.0f}" for value in some.unique()))

# %% [markdown]
# Dropout has no parameters, so the weights that we have trained fit into a model with dropout. We run the same 200
# dates twice in each mode.

# %% role="try" timed=true
# Your weights, in a model with dropout.
my_forgetful = new_model(seed=0, dropout=0.1)
my_forgetful.load_state_dict(my_translator.state_dict())
for my_mode in ("eval", "train"):
    my_forgetful.train(my_mode == "train")
    once, again = (share_right(my_forgetful, watch_data) for _ in range(2))
    print(f"{my_mode:5} mode: {once:.1%} right, then {again:.1%} ", end="")
    with torch.no_grad():
        my_first, my_second = (my_forgetful(*watch_data) for _ in range(2))
    my_apart = (my_first - my_second).abs().max()
    print(f"(logits up to {my_apart:.1f} apart)")

# %% [markdown]
# In train mode the logits differ on every call, and more dates are wrong. Forgetting `model.eval()` before a model is
# used is one of the most common slips, and there is no warning. Another is to forget `model.train()` afterwards, and
# that is why your functions had to put the mode back. (Ours needn't, because our model has no dropout.)
#
# Why did we train without dropout? There are 71 000 dates, and 240 batches of 64 show the model about a fifth of them,
# each once. A model that sees no example twice can hardly learn any by heart, but with little data it is another
# matter.
#
# With **label smoothing**, which the paper used as well (section 5.4), nine tenths of each target go to the right
# token, and one tenth is divided among all 14 tokens. Now a model that is completely sure pays for it. Here is a step
# like yours, in which the loss can be another one.


# %%
def mean_loss(logits, wanted, label_smoothing=0.0):
    """Cross-entropy over the real positions; with label smoothing, that much
    of each target is shared by all tokens."""
    real = wanted != PAD
    smooth = {"label_smoothing": label_smoothing}
    return F.cross_entropy(logits[real], wanted[real], **smooth)


def step_with(loss_of, labels_from=1):
    """A `train_step` with this loss, whose labels begin at that column."""

    def step(model, optimizer, src, trg, pad_idx):
        given = trg[:, :-1]
        wanted = trg[:, labels_from:][:, : given.shape[1]]
        loss = loss_of(model(src, given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


# %%
@torch.no_grad()
def sureness(model, data):
    """The probability of the token that it guesses, on average."""
    src, trg = data
    likeliest = model(src, trg[:, :-1]).softmax(dim=-1).amax(dim=-1)
    return likeliest[trg[:, 1:] != PAD].mean().item()


# %%
predict(
    "08_smoothing",
    "Trained with label smoothing, the model's loss doesn't get below 0.55. "
    "How many test dates are right?",
    ["nearly all", "about half", "hardly any"],
)

# %% role="try" timed=true claim="a_smoothed_loss_stays_high"
# The same training with label smoothing, beside yours.
my_smooth = new_model(seed=0)
my_step = step_with(functools.partial(mean_loss, label_smoothing=0.1))
my_losses = short_training(my_smooth, my_rates, my_step)
my_end = sum(my_losses[-10:]) / 10
print(f"the loss that it was trained with, at the end: {my_end:.2f}")
my_judged = {}
for my_name, my_one in (("without", my_translator), ("with", my_smooth)):
    my_judged[my_name] = [f(my_one, test_data) for f in (share_right, sureness)]
    my_right, my_sure = my_judged[my_name]
    print(f"{my_name} smoothing: {my_right:.1%} right", end=", ")
    print(f"sureness {my_sure:.3f}")
my_outcomes = ["hardly any", "about half", "nearly all"]
compare_guess("08_smoothing", my_outcomes[round(2 * my_judged["with"][0])])

# %% [markdown] role="answer"
# Nearly all of its dates are right. The targets give the right token 0.9 + 0.1/14 = 0.907, and the model has learnt
# just that. A model that predicts exactly this has a loss of 0.55, the smallest possible. So compare two losses only
# if both are computed in the same way. What is smoothing good for, then? It also makes a model less sure where it is
# wrong, and the paper's translations got better with it.

# %% [markdown]
# ## 10 · Three bugs, and what the loss shows of them
#
# All three run without an error, and all three turn up in real code. Each gets a small model with one layer and 120
# steps, and so does the right code.
#
# 1. With **no shift**, the labels are exactly what the decoder is given.
# 2. With **padding counted**, all answers are padded to 40 columns, as if one of that length might come, and the loss
#    counts every column.
# 3. With the **mask forgotten**, the decoder's own attention hides padding, but not the future.


# %%
class SeesTheFuture(Transformer):
    """Lesson 07's model with one line wrong."""

    def forward(self, src, trg):
        src_mask = padding_mask(src, self.src_pad_idx)
        trg_mask = padding_mask(trg, self.trg_pad_idx)
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


def loss_with_padding(logits, wanted):
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


# %% role="try"
# Each has its step, its kind of model and its data. Only the first is right.
my_wide = F.pad(train_data[1], (0, 41 - train_data[1].shape[1]), value=PAD)
my_padding = step_with(loss_with_padding), Transformer
my_bugs = {
    "right": (train_step, Transformer, None),
    "no shift": (step_with(mean_loss, labels_from=0), Transformer, None),
    "padding counted": (*my_padding, (train_data[0], my_wide)),
    "mask forgotten": (train_step, SeesTheFuture, None),
}


def my_run_with(bug, steps=120):
    """A model with one layer, trained with this bug, and its losses."""
    step, kind, data = my_bugs[bug]
    model = new_model(2, num_layers=1, kind=kind)
    rates = all_rates(noam_rate, steps)
    return model, short_training(model, rates, step, data)


# %% role="try"
# Four short trainings.
my_runs = {bug: my_run_with(bug) for bug in my_bugs}
for bug, (_, my_losses) in my_runs.items():
    print(f"{bug}: {len(my_losses)} steps")

# %% [markdown]
# For each we print the loss that it **reports** (the mean of its last ten), and the **honest** loss, with the right
# labels and without padding. Then come two accuracies, one with teacher forcing (**forced**) and one free-running
# (**writes**).


# %%
def four_numbers(its_model, its_losses):
    """Reported loss, honest loss, share that is right, share written right."""
    src, trg = watch_data
    with torch.no_grad():
        logits = its_model(src, trg[:, :-1])
    honest = mean_loss(logits, trg[:, 1:]).item()
    fifty = watch_pairs[:50]
    wrote = ["".join(write(its_model, text)) for text, _ in fifty]
    right = [f"<bos>{answer}<eos>" for _, answer in fifty]
    writes = sum(map(str.__eq__, wrote, right)) / 50
    reports = sum(its_losses[-10:]) / 10
    return [reports, honest, share_right(its_model, watch_data), writes]


# %%
predict(
    "08_bugs",
    "How many of the three bugs end with a loss below that of the right code?",
    ["none", "one", "two", "all three"],
)

# %% role="try" timed=true claim="bugs_look_good"
# What does each report, and what is true?
my_table = [four_numbers(*my_run) for my_run in my_runs.values()]
my_lines = []
for (my_model, _), my_row in zip(my_runs.values(), my_table, strict=True):
    my_lines.append([*my_row, "".join(write(my_model, WATCHED[0]))])
my_columns = ["reports", "honest", "forced", "writes", f"{WATCHED[0]} is"]
show(my_lines, list(my_runs), my_columns, form=".3f")
my_lower = sum(my_row[0] < my_table[0][0] for my_row in my_table)
compare_guess("08_bugs", ["none", "one", "two", "all three"][my_lower])

# %% [markdown] role="answer"
# The right code's two losses nearly agree, and so do its two accuracies, the second of which is measured on only 50
# dates.
#
# **No shift** reports a tiny loss after a few steps. It has learnt to repeat what it is given, and it does just that:
# given bos it writes bos, for a while at least. With the right labels its loss is far above 2.64. *What gives it away*
# is a loss that is too good, too soon, and the first date that you let it write.
#
# **Mask forgotten** looks perfect even with the right labels, and with teacher forcing. Here is the condition from
# section 6: the two accuracies agree only if no position sees what comes after it. This model reads each token off its
# neighbour to the right, and when it writes, there is no such neighbour. *What gives it away* is that the forced and
# the free-running accuracy differ. Lesson 04's test, in which you change a later token and see whether an earlier
# output changes, finds it too.
#
# **Padding counted** is the mild one. Nearly three quarters of its columns are padding, which it soon gets right every
# time. So it reports less than a third of its honest loss, and the real tokens are a small part of each gradient. *What
# gives it away* is that more padding changes the loss, though the model is the same. The remedy is to divide by the
# number of real labels.
#
# In all three cases the curve alone doesn't show what is wrong.

# %% [markdown]
# Is the model trained with "padding counted" lost for good, or only slow? To find out, we give it twice the steps.

# %% role="try" timed=true claim="padding_learns_later"
# The same bug, with twice the steps.
my_slow, _ = my_run_with("padding counted", steps=240)
my_slow_share = share_right(my_slow, watch_data)
print(f"padding counted, 240 steps: {my_slow_share:.0%} of the dates right")

# %% [markdown]
# It is only slow, and somebody who trains for long enough never notices this bug. With half the rate, 240 steps aren't
# enough. How much is right by then depends on the start, which you can try in the cell that defines `my_run_with`.
#
# ## 11 · Keep what was learnt
#
# What a model has learnt is a dictionary of tensors, its `state_dict`. The format **safetensors** stores only names,
# shapes and entries. (`torch.save` stores Python objects with *pickle*, and loading such a file with
# `weights_only=False`, the default before PyTorch 2.6, can run any code that somebody has put into it. Never do that
# with a stranger's file.)

# %% role="try"
# Your model, stored and loaded again. (The folder is gone afterwards.)
import tempfile

from safetensors.torch import load_file, save_file

my_loaded = new_model(seed=7)
with tempfile.TemporaryDirectory() as my_folder:
    my_path = Path(my_folder, "dates.safetensors")
    save_file(my_translator.state_dict(), my_path)
    my_loaded.load_state_dict(load_file(my_path))
    print("bytes:", my_path.stat().st_size)
print("as many right:", share_right(my_loaded, test_data) == my_share)

# %% [markdown]
# The state of the optimiser isn't stored, so to resume training after a restart you would have to keep that as well
# (`optimizer.state_dict()`).
#
# Lesson 10 looks into the heads of a trained model. To let it use yours, call `save_file` with the path
# `"dates.safetensors"`, beside the notebooks. Without the vocabularies nobody knows what an id means, so write
# `json.dumps({"source": SOURCE, "target": TARGET})` to a file `dates.json` there.
#
# ## 12 · Quiz
#
# ### Exercise 7: `quiz_08`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `diluted` (a number, to two decimals): a batch has 6 real labels, each with a loss of 2.0, and 18 positions of
#    padding with a loss of 0. If somebody averages over all of them, what loss do they report?
# 2. `half_peak` (a whole number): `noam_rate(step, 256, 800)` rises to its peak and then falls. At which step after the
#    peak is it half as high as there?
# 3. `calls` (a whole number): how many times does `greedy_decode` call the model at most, with `max_length` 20?
# 4. `matches` (a number, to two decimals): eos is 2, the predicted rows are [[5, 2, 7], [5, 6, 2], [5, 6, 7], [8, 2,
#    2]], and the target is [[5, 2, 2], [5, 6, 7], [5, 6, 7], [8, 9, 2]]. What fraction of the rows are exact matches?
# 5. `whole_dates` (a number, to two decimals): at every position a model gets the next token right with probability
#    0.99, whatever came before. What fraction of its dates, of eleven tokens each, has no mistake?
# 6. `by_heart` (a letter): a model's loss in training is 0.001. Of the training dates it writes all right, and of the
#    held-out ones 60 %, with teacher forcing as well as free-running. What do you look for first?
#    - a. a decoder that sees later tokens;
#    - b. too few dates to learn from;
#    - c. a loss that counts padding;
#    - d. labels that are not shifted.

# %% exercise="quiz_08" role="solution"
quiz_08 = {
    "diluted": ...,  # a number, to two decimals
    "half_peak": ...,  # a whole number
    "calls": ...,  # a whole number
    "matches": ...,  # a number, to two decimals
    "whole_dates": ...,  # a number, to two decimals
    "by_heart": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_08 = {
    "diluted": 0.5,
    "half_peak": 3200,
    "calls": 19,
    "matches": 0.5,
    "whole_dates": 0.9,
    "by_heart": "b",
}
### END SOLUTION

# %% exercise="quiz_08" role="check"
check(quiz_08, "quiz_08")

# %% [markdown]
# ## What you can do now
#
# You have trained a Transformer from nothing to 99 %, and you know what each part of the training is for: the shift,
# the loss without padding, the warm-up, the two modes. You can let a model write, in batches, and count honestly what
# comes out right. And when a loss looks too good, you know three places to look. In lesson 11 you write the whole loop
# yourself, for a model that writes tales.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, sections 5.3 and 5.4: the learning rate, dropout, and label
#   smoothing.
# - Srivastava et al. (2014), *Dropout: A Simple Way to Prevent Neural Networks from Overfitting*, section 2: where the
#   idea comes from.
# - Kingma and Ba (2015), *Adam: A Method for Stochastic Optimization*, section 2: the optimiser that was used here.
# - Bengio et al. (2015), *Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks*, section 2: what
#   teacher forcing doesn't prepare a model for.
#
# **Next lesson:** 09, *Attention that scales*. `greedy_decode` computes everything again for each token, and that
# lesson shows how to avoid it.
