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
# Lesson 07 built a Transformer. Its numbers were random, and so was what it said. Now it learns something: to read a
# date as people write it, "3 March 2024" or "Mar 3rd, 2024", and to write it as ISO 8601 has it, 2024-03-03. That is
# a translation, a small one, and a single core learns it in less than half a minute. You watch the loss fall, and
# the cross-attention turn from noise into a map from answer to question.
#
# **You need** lesson 07 (the whole model), lesson 04 (why the target needs a mask) and a little of
# PyTorch's `optim`: an optimiser changes the parameters so that the loss gets smaller.
#
# **Afterwards you can**
#
# - say what the decoder is given, what it should say, and why the two are one token apart;
# - write a loss that leaves padding out, a learning rate with a warm-up, and greedy decoding for a batch;
# - write one step of training, repeat it in a loop, stop it and go on, save the weights and load them;
# - name three bugs whose loss looks better than the model is, and find them.
#
# **Time:** <!-- time -->. The plan: the dates → the shift → the loss → the learning
# rate → the model → training → writing → where it looks → dropout → three bugs → saving → a quiz.
#
# | letter | meaning | here |
# | --- | --- | --- |
# | `B` | batch: dates handled together | 64 |
# | `Ts` | characters of the written date, the source, with padding | up to 18 |
# | `T` | tokens of the ISO date, the target (lesson 07's `Tt`), with bos, eos and padding | up to 12 |
# | `V` | `vocab_size` of the target: ten digits, "-", padding, bos, eos | 14 |

# %%
import datetime
import json
import math
import random
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import Stopped, check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · The dates
#
# Nobody has to collect this data: a few lines write it. Six forms, of which the last gives no day. ISO 8601 then
# stops after the month, so that not all answers are equally long.

# %%
MONTHS = ["January", "February", "March", "April", "May", "June"]
MONTHS += ["July", "August", "September", "October", "November", "December"]


def ordinal(day):
    """3 as "3rd"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{'th' if day in (11, 12, 13) else ending}"


def written(date, form):
    """A date as people write it, in one of six forms."""
    day, month, year = date.day, MONTHS[date.month - 1], date.year
    words = (f"{day} {month} {year}", f"{month} {day}, {year}", f"{day} {month[:3]} {year}")
    return (
        *words,
        f"{month[:3]} {ordinal(day)}, {year}",
        f"{day}.{date.month}.{year}",
        f"{month} {year}",
    )[form]


# %%
for form in range(6):
    leap_day = datetime.date(2024, 2, 29)
    print(f"{written(leap_day, form):20} -> {leap_day.isoformat()[: 10 if form < 5 else 7]}")

# %% [markdown]
# All days of two centuries, each in a form drawn at random. 1000 are **held out**: the model never learns from them.
# They will tell whether it has understood the dates or learnt them by heart. For that, no answer may be on both sides:
# a date with the same answer as a held-out one is left out of the training.
#
# The held-out dates are two sets. We **watch** 200 while the model learns, and choose by them: how many steps, which
# rate. A date by which we have chosen is no longer a fair test. So the others are the **test**, kept for the end.
#
# Leap years come for free: `datetime` knows that 2000 was one and 1900 wasn't.

# %%
first_day, last_day = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
days = [first_day + datetime.timedelta(days=later) for later in range((last_day - first_day).days + 1)]

shuffled = random.Random(224)
shuffled.shuffle(days)
forms = [shuffled.randrange(6) for _ in days]
in_iso = [day.isoformat()[: 10 if form < 5 else 7] for day, form in zip(days, forms, strict=True)]
day_pairs = [(written(*both), answer) for *both, answer in zip(days, forms, in_iso, strict=True)]

held_out = day_pairs[:1000]
unseen = {answer for _, answer in held_out}
train_pairs = [pair for pair in day_pairs[1000:] if pair[1] not in unseen]
print("days:", len(days), " of them 29 February:", sum(day.month == 2 and day.day == 29 for day in days))
watch_pairs = held_out[:200]
watched = {answer for _, answer in watch_pairs}
test_pairs = [pair for pair in held_out[200:] if pair[1] not in watched]
print("to learn from:", len(train_pairs), " to watch:", len(watch_pairs), " to test:", len(test_pairs))
print("answers on both sides:", len(unseen & {answer for _, answer in train_pairs}))
print("leap days that are held out:", [text for text, answer in held_out if answer.endswith("-02-29")])

# %% [markdown]
# ### From characters to numbers
#
# A token is one character here. The vocabulary of the source has every character that occurs, that of the target has
# digits and the dash. First come the tokens that nobody writes: **padding**, **bos** (begin of sequence) and **eos**
# (end of sequence).

# %%
PAD, BOS, EOS = 0, 1, 2
SOURCE = ["<pad>", *sorted(set(" ,.0123456789stndrdth" + "".join(MONTHS)))]
TARGET = ["<pad>", "<bos>", "<eos>", *"-0123456789"]
print(len(SOURCE), "source tokens:", " ".join(SOURCE))
print(len(TARGET), "target tokens:", " ".join(TARGET))

# %%
source_ids = {token: i for i, token in enumerate(SOURCE)}
target_ids = {token: i for i, token in enumerate(TARGET)}


def padded(rows):
    """Lists of ids as one tensor, the short ones filled up with padding."""
    width = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def encode(texts):
    """Written dates as ids (B, Ts)."""
    return padded([[source_ids[character] for character in text] for text in texts])


print(encode(["3 Mar 2024", "29 Feb 2024", "March 2024"]))

# %% [markdown]
# Three sources of different lengths, and padding at the end of two of them. Lesson 04's mask hides it.
#
# ## 2 · One token apart
#
# While it learns, the decoder isn't left to itself. It is given the right answer, and asked at every position: *what
# comes next?* This is called **teacher forcing**: even where the model would have said something wrong, it goes on
# from the right beginning. All positions are asked at once, since the causal mask hides what comes after each.
#
# So there are two sequences. What it is given starts with bos, what it should say ends with eos:

# %%
answer = ["<bos>", *"2024-02", "<eos>"]
print("position     ", *(f"{position:6}" for position in range(len(answer) - 1)))
print("is given     ", *(f"{token:>6}" for token in answer[:8]))
print("should say   ", *(f"{token:>6}" for token in answer[1:9]))

# %% [markdown]
# Read column by column. At position 0 it has seen bos, and should say 2. At position 7 it has seen all of the date,
# and should say that it is over.
#
# If both lines were the same, it would only have to copy what it is given. Section 10 shows how well that goes.
#
# ### Exercise 1: `shift_target`
#
# Difficulty 1 of 5
#
# From a batch of targets, bos and eos included, make the two tensors. Both have one column less than the target.
# Padding is a token like any other here.
#
# <details><summary>I don't know which end to cut off</summary>
#
# Which token of the answer is never given, since nothing comes after it? Which one is never to be said?
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

    trg: ids (B, T), bos and eos included. Returns (decoder_input, labels), each (B, T-1).
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
# At every position the model gives 14 scores, one for each token, the **logits**. Softmax makes probabilities
# of them. The loss of one position is minus the logarithm of the probability that the *right* token got: 0 if it
# was sure and right, large if it was sure and wrong. This is **cross-entropy**.

# %%
for probability in (1.0, 0.9, 0.5, 0.001):
    print(f"probability of the right token {probability:.3f}: loss {math.log(1 / probability):.2f}")

# %%
predict("08_blind", "A model gives all 14 tokens the same probability. What is its loss?", low=0, high=7)

# %% role="answer"
compare_guess("08_blind", math.log(14))

# %% [markdown]
# Remember the number, 2.64: a training that starts far above it, or doesn't get below it, has a fault.
#
# The loss of a batch is the mean over all positions. Over all *real* positions: where the label is padding, there is
# nothing to say. Here are two answers, one of which ends early. The model is unsure about the tokens and very sure
# about the padding, which is easy to learn.

# %%
labels = torch.tensor([[5, 3, 5, 7, 2], [6, 2, 0, 0, 0]])  # 2 is eos, 0 is padding
logits = torch.zeros(2, 5, 14)
logits[0, :, 5], logits[1, 2:, 0] = 1.0, 9.0

each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
print("loss of each position", each, sep="\n")
print(f"mean over the 7 real ones: {each[labels != PAD].mean():.2f}   over all 10: {each.mean():.2f}")

# %% [markdown]
# Counting the padding makes the loss smaller and the model no better. The longer the padding, the better the loss
# looks.
#
# There are several ways to take the mean. They agree where nothing is padded, and differ where something is. Ours:
# add up the losses of all real labels of the batch, divide by how many there are. A label counts the same in a short
# answer as in a long one.
#
# ### Exercise 2: `sequence_loss`
#
# Difficulty 3 of 5
#
# The mean cross-entropy over the labels that are not padding; 0 if all of them are. The result is a tensor with no
# axes, so that it can be differentiated, the 0 too. `F.cross_entropy` is allowed.
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
# Leaving the padding out of the sum is one half. What do you divide by?
#
# </details>
#
# <details><summary>The loss is NaN if everything is padding</summary>
#
# Zero losses, divided by zero labels. Keep the divisor from being 0, or treat this case by itself.
#
# </details>
#
# <details><summary>The loss doesn't get near 0, however sure the model is</summary>
#
# `F.cross_entropy` takes logits and applies the softmax itself. Twice is once too often.
#
# </details>


# %% exercise="sequence_loss" role="solution"
def sequence_loss(logits: Tensor, labels: Tensor, pad_idx: int) -> Tensor:
    """Mean cross-entropy over the labels that are not padding; 0 if all are.

    logits: (B, T, V); labels: ids (B, T); pad_idx: the id of the padding. Returns a 0-d tensor.
    """
    ### BEGIN SOLUTION
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / (labels != pad_idx).sum().clamp(min=1)
    ### END SOLUTION


# %% exercise="sequence_loss" role="check"
check(sequence_loss)

# %% role="try"
# Try it: the example from above, as it is and with twenty more columns of padding. Both should be 2.44.
my_labels, my_logits = F.pad(labels, (0, 20)), F.pad(logits, (0, 0, 0, 20))
print(f"{sequence_loss(logits, labels, PAD):.2f} and {sequence_loss(my_logits, my_labels, PAD):.2f}")

# %% [markdown]
# ## 4 · How fast should it learn?
#
# The **learning rate** says how far one step changes the parameters. Lesson 05 measured why it should start small: in
# a deep post-norm stack the gradients near the output are large from the first step on, and full steps throw these
# layers off. This model is post-norm too. Towards the end, large steps jump over the goal and back. So the rate rises
# first, during the **warm-up**, and falls afterwards. The paper (section 5.3) has one formula for both:
#
# $$\text{rate} = d_{\text{model}}^{-0.5} \cdot \min\left(\text{step}^{-0.5},\ \text{step} \cdot
# \text{warmup}^{-1.5}\right)$$
#
# People call it *Noam*, after one of the authors. The second term is a straight line upwards, the first one falls.
# Both are equal at the last step of the warm-up.
#
# ### Exercise 3: `noam_rate`
#
# Difficulty 1 of 5
#
# This is easier than the loss: one line. Write the formula as a function of numbers, with steps counted from 1. It
# returns a plain number (a float).
#
# <details><summary>"unsupported operand" or "must be Tensor, not int"</summary>
#
# No tensor is needed. Python's own `**` and `min` work on numbers, and `x**-0.5` is 1 divided by the root of x.
#
# </details>


# %% exercise="noam_rate" role="solution"
def noam_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """The learning rate of Vaswani et al. (2017), equation 3.

    step: counted from 1. It rises in a straight line for warmup_steps steps, then falls with the root
    of the step.
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

figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
for my_warmup, my_line in ((1000, ":"), (4000, "-"), (8000, "--")):
    my_rates = [noam_rate(my_step, 512, my_warmup) for my_step in range(1, 20001)]
    axes.plot(my_rates, my_line, color="#00204c", label=f"warm-up {my_warmup}")
axes.set(xlabel="step", ylabel="learning rate", title="d_model = 512")
axes.legend()
plt.show()

# %% [markdown]
# *The picture in words:* three curves from step 1 to 20,000. Each rises in a straight line to the end of its warm-up,
# has a sharp peak there, and falls in a curve that gets ever flatter. The shorter the warm-up, the higher the peak. To
# the right all three are the same curve.
#
# The base model of Vaswani et al. (2017) was trained for 100 000 steps. This lesson's run has 240, too few for 1/√step
# to get near 0. Ours rises in a straight line for 40 steps to 0.004, and then goes down in a straight line to nothing.

# %%
STEPS, WARM_UP, PEAK = 240, 40, 0.004


def line_rate(step, steps=STEPS):
    """Up to the peak for the warm-up, then down to zero after the last step."""
    return PEAK * min(step / WARM_UP, (steps + 1 - step) / (steps + 1 - WARM_UP))


print([round(line_rate(step), 5) for step in (1, 20, 40, 140, 240)])

# %% [markdown]
# ## 5 · The model
#
# Lesson 07's Transformer, with what it takes from lessons 03 and 04. These cells are given.

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
# **You train your own**, if your notebooks of lessons 03 and 07 lie beside this one and what you wrote passes its
# checks; otherwise the course's. With yours, some numbers may differ a little from those in the text. (To train the
# course's anyway, leave the next cell out.)

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
# A small one will do: vectors of 64 numbers, two layers, four heads of 16. No dropout for now; section 9 comes back
# to it.


# %%
def new_model(seed, num_layers=2, dropout=0.0, kind=Transformer):
    """A fresh model for the dates."""
    _ = torch.manual_seed(seed)
    sizes = {"d_model": 64, "num_layers": num_layers, "num_heads": 4, "d_ff": 128}
    return kind(len(SOURCE), len(TARGET), PAD, PAD, **sizes, dropout=dropout, max_length=40)


# %%
print("parameters:", sum(parameter.numel() for parameter in new_model(seed=0).parameters()))

# %% [markdown]
# ## 6 · Training
#
# Three tensors hold all that is to be learnt: the sources, what the decoder is given, and what it should say.


# %%
def tensors_of(some_pairs):
    """Sources (B, Ts), what the decoder is given (B, T-1), and what it should say (B, T-1)."""
    targets = [[target_ids[character] for character in answer] for _, answer in some_pairs]
    given = padded([[BOS, *target] for target in targets])
    return encode([text for text, _ in some_pairs]), given, padded([[*target, EOS] for target in targets])


# %%
train_data, watch_data, test_data = (
    tensors_of(pairs) for pairs in (train_pairs, watch_pairs, test_pairs)
)
print([tuple(ids.shape) for ids in train_data])

# %% [markdown]
# Training is one step, repeated: guess, compare, adjust. PyTorch adjusts in two calls. `loss.backward()` computes the
# gradient of the loss for every parameter and puts it into that parameter's `.grad`. `optimizer.step()` then moves
# every parameter a little against its `.grad`. Here is one parameter, whose best value is 5.

# %%
predict(
    "08_add_up",
    "The gradient at 3 is -4. `backward` is called three times in a row. What is in `.grad` then?",
    low=-16,
    high=4,
)

# %% role="answer"
parameter = torch.tensor([3.0], requires_grad=True)
for _ in range(3):
    ((parameter - 5) ** 2).sum().backward()
    print(f"in .grad: {parameter.grad.item():.0f}")
compare_guess("08_add_up", parameter.grad)

# %% [markdown]
# `backward` **adds** to what is there. So something has to empty `.grad` between two steps: `optimizer.zero_grad()`.
#
# ### Exercise 4: `train_step`
#
# Difficulty 3 of 5
#
# One step on one batch, for any model and optimiser: shift the target, let the model guess with teacher forcing, take
# your `sequence_loss`, compute the gradients of this batch alone, let the optimiser take one step. Two things to mind:
#
# - **The mode.** `model.train()` switches a model, and everything inside it, to train mode, in which dropout works;
#   `model.eval()` switches it to eval mode; `model.training` tells the mode. Train in train mode, and leave the model
#   in the mode in which it came.
# - **What you return** is the loss before the step, as a plain number: `loss.item()`. The tensor would hold on to
#   everything that was computed for it.
#
# The check calls it twice on small models and looks at their parameters. Nothing is trained for long.
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
    model: nn.Module, optimizer: torch.optim.Optimizer, src: Tensor, trg: Tensor, pad_idx: int
) -> float:
    """One step of training on one batch, with teacher forcing; returns the loss before the step.

    model: model(src, trg) gives logits (B, T, V); it is run in train mode and left in the mode in which
    it came. src: ids (B, Ts); trg: ids (B, T), bos and eos included; pad_idx: the id of the padding in
    both.
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
# ### Your loop
#
# The loop around it is yours too. Write it in the place of the comment: the loss should end well below 2.64. The
# optimiser is Adam, which gives every parameter a step size of its own.
#
# Why 0.3? `noam_rate` falls with the roots of `d_model` and of the warm-up. Both are small here, so it peaks at 0.016:
# times 0.3 that is 0.005, which suits this model. Such a factor is common, and found by trying.
#
# <details><summary>What goes into the loop?</summary>
#
# For each step: set the rate; take the next 64 rows of `my_sources` and `my_targets`; call `train_step` and append
# what it returns. An optimiser's rate is in `my_optimizer.param_groups[0]["lr"]`.
#
# </details>

# %% role="try"
# Try it: 60 steps of your own. Step n, from 1, gets 0.3 * noam_rate(n, 64, 60), and the rows 64 * n to
# 64 * n + 63.
my_sources, my_targets = train_data[0], torch.cat([train_data[1][:, :1], train_data[2]], dim=1)
my_model, my_losses = new_model(seed=1), []
my_optimizer = torch.optim.Adam(my_model.parameters(), betas=(0.9, 0.98))

# Your loop goes here.

print(len(my_losses), "losses, every tenth:", *(f"{my_loss:.1f}" for my_loss in my_losses[9::10]))

# %% [markdown]
# The long training below has a step of its own, `learn`: an example can't rely on your cells. It cuts the batch to its
# longest source, so that no time is spent on columns of nothing but padding.


# %%
def mean_loss(logits, wanted):
    """Cross-entropy over the real positions."""
    real = wanted != PAD
    return F.cross_entropy(logits[real], wanted[real])


def learn(model, optimizer, batch, loss_of=mean_loss):
    """One step on one batch; returns the loss before it."""
    src, given, wanted = batch
    longest = (src != PAD).sum(dim=1).max()
    loss = loss_of(model(src[:, :longest], given), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% [markdown]
# **How many dates come out exactly right?** To know, one would have to let the model write them, token by token.
# There is a shorter way. A date is written without a fault if and only if every guess is right *given the right
# beginning*: the first token is right, so the second starts from the right beginning, and so on. That takes one call,
# with teacher forcing. It holds as long as no position sees what comes after it. Keep that condition in mind.


# %%
@torch.no_grad()
def share_right(model, data):
    """In which share of the rows is every guess right?"""
    src, given, wanted = data
    was_training = model.training
    guesses = model.eval()(src, given).argmax(dim=-1)
    model.train(was_training)
    return ((guesses == wanted) | (wanted == PAD)).all(dim=1).float().mean().item()


# %% [markdown]
# Now and then, the model does write one date, so that we can watch it get better. It gets bos, says the likeliest
# token, gets that as well, says the next one, and so on until it says eos. Always taking the likeliest token is called
# **greedy** decoding.


# %%
@torch.no_grad()
def write(model, text, most=12):
    """One date, token by token. Returns the tokens it wrote."""
    was_training = model.training
    model.eval()
    src, said = encode([text]), [BOS]
    while len(said) < most and said[-1] != EOS:
        logits = model(src, torch.tensor([said]))
        said.append(logits[0, -1].argmax().item())
    model.train(was_training)
    return [TARGET[token] for token in said]


# %% [markdown]
# **You can stop the training.** `Training` keeps everything: the model, the optimiser, how far it has come, the losses
# so far. Interrupt the kernel (■ in the toolbar) while it runs: it stops, and all that was learnt stays. Run the same
# cell again, and it goes on from there. To begin anew, run the cell that *makes* the training.


# %%
WATCHED = watch_pairs[4]


class Training:
    """A model that learns, and what is known about it so far."""

    def __init__(self, model, data=train_data, steps=STEPS, loss_of=mean_loss, rate=line_rate, seed=0):
        self.model, self.data, self.steps, self.loss_of, self.rate = model, data, steps, loss_of, rate
        self.optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
        # All batches are drawn before the first step: a training that was stopped goes on with the next.
        generator = torch.Generator().manual_seed(seed)
        self.batches = torch.randint(len(data[0]), (steps, 64), generator=generator)
        self.losses, self.shares, self.written = [], {}, {}
        self.judge()

    @property
    def done(self):
        return len(self.losses)

    def one_step(self):
        self.optimizer.param_groups[0]["lr"] = self.rate(self.done + 1, self.steps)
        drawn = self.batches[self.done]
        loss = learn(self.model, self.optimizer, [ids[drawn] for ids in self.data], self.loss_of)
        self.losses.append(loss)

    def judge(self):
        self.shares[self.done] = share_right(self.model, watch_data)
        self.written[self.done] = "".join(
            token for token in write(self.model, WATCHED[0]) if len(token) == 1
        )


# %%
def go_on(run, until, monitor=None, every=10):
    """Up to step `until`, or until the kernel is interrupted."""
    if run.done >= until:
        print(f"Step {until} is done already. To begin anew, run the cell that makes this training.")
    run.model.train()
    try:
        while run.done < until:
            run.one_step()
            if run.done % every == 0:
                run.judge()
            if monitor is not None:
                monitor.show(run.losses, run.shares, run.written)
    except KeyboardInterrupt:
        raise Stopped(
            f"Stopped at step {run.done} of {run.steps}. Run this cell again to go on."
        ) from None
    finally:
        if monitor is not None:
            monitor.show(run.losses, run.shares, run.written, now=True)


# %% [markdown]
# One more thing before it starts: a look at the **cross-attention**. At which characters of the source does the
# decoder look while it computes one token? The weights are computed inside the last layer of the decoder and thrown
# away. A *hook* gets hold of them: a function that PyTorch calls whenever that module has been run.


# %%
@torch.no_grad()
def look(model, some_pairs):
    """For each pair the weights of the last cross-attention (H, T-1, Ts), and the token guessed at each
    position."""
    kept = []
    module = model.decoder.layers[-1].block.attention
    hook = module.register_forward_hook(lambda module, inputs, output: kept.append(output[1]))
    was_training = model.training
    found = []
    for pair in some_pairs:
        src, given, _ = tensors_of([pair])
        guesses = model.eval()(src, given).argmax(dim=-1)[0]
        found.append((kept.pop()[0], [TARGET[guess] for guess in guesses]))
    hook.remove()
    model.train(was_training)
    return found


# %% [markdown]
# Now the model and its monitor. The monitor stays empty until the cells below it run, and then follows them: how far
# the training is, one date as the model writes it, the loss, and the share of the watched dates that are exactly right.

# %%
from grader.views import TrainingMonitor

first_run = Training(new_model(seed=0))
monitor = TrainingMonitor(STEPS, "watched dates right", WATCHED)
album_pairs = [watch_pairs[i] for i in (4, 22, 16, 7, 21)]
album = {"before": look(first_run.model, album_pairs)}
monitor

# %%
predict(
    "08_forty",
    "After 40 steps the loss will have fallen from 3 to below 1. How many dates are right then?",
    ["nearly all", "about two thirds", "about one third", "hardly any"],
)

# %% role="train" timed=true claim="loss_falls_first"
go_on(first_run, until=40, monitor=monitor)
album["during"] = look(first_run.model, album_pairs)
print(f"loss after 40 steps: {first_run.losses[39]:.2f}")

# %% role="answer"
in_words = {0.1: "hardly any", 0.5: "about one third", 0.8: "about two thirds", 1.1: "nearly all"}
right = first_run.shares[40]
compare_guess("08_forty", next(words for most, words in in_words.items() if right < most))

# %% [markdown]
# The warm-up is over. The loss is a long way below 2.64 and many digits are right, but hardly any date is: all its
# tokens must be right, eleven for most dates. Now the rest, five times as many steps. Watch the date in the monitor.

# %% role="train" timed=true claim="dates_are_learnt"
go_on(first_run, until=STEPS, monitor=monitor)
translator = first_run.model
album["after"] = look(translator, album_pairs)
share = share_right(translator, test_data)
leap_days = [pair for pair in held_out if pair[1].endswith("-02-29")]
print(f"all test dates:   {share:.1%} of {len(test_data[0]):,d} right")
if leap_days:
    leap_share = share_right(translator, tensors_of(leap_days))
    print(f"only 29 February: {leap_share:.1%} of {len(leap_days)}")

# %% [markdown]
# At least 99 of 100 come out right: dates that it has never seen, and by which nothing was chosen. (Half the rate,
# `PEAK = 0.002`, is a little too slow for 240 steps: it ends at 98.9 %.) Here is how it got there:

# %% role="train" timed=true
monitor

# %% [markdown]
# *The picture in words:* at the top one date, as the model wrote it at several steps: at first nothing like a date,
# then with the right form, then right. Below it two curves. One is the loss, on a scale on which each line is a tenth
# of the one above it. It starts near 3 and falls, jagged, to about a thousandth of that. The other is the share of
# right dates: for about 40 steps next to nothing, then a steep rise, and from step 150 on it is near 100 %.
#
# Both curves show the same training, and they tell different stories. First the loss falls, but hardly any date is
# right. Later the loss still falls, but nearly all dates are right already. **Look at the thing you want, not only at
# the loss.**
#
# ### Was the warm-up needed?
#
# Two short runs of a model with one layer will tell us. Both train at 0.02, five times our peak, for 100 steps. One
# gets there over 60 steps of warm-up, the other has that rate from its first step on. Both start from the same weights.

# %%
predict(
    "08_warm_up",
    "After 100 steps at the full rate of 0.02, which run has the lower loss?",
    ["the one with a warm-up", "the one without", "about the same"],
)


# %% role="train"
def constant(warm_up, rate=0.02):
    """A rate that rises for the warm-up and then stays."""
    return lambda step, _steps: rate * min(1, step / warm_up)


short_runs = {
    "with warm-up": Training(new_model(0, 1), steps=160, rate=constant(60)),
    "without": Training(new_model(0, 1), steps=100, rate=constant(1)),
}

# %% role="train" timed=true claim="warm_up_allows_a_high_rate"
for run in short_runs.values():
    if run.done < run.steps:
        go_on(run, until=run.steps)
ends = {name: sum(run.losses[-10:]) / 10 for name, run in short_runs.items()}
print({name: round(end, 2) for name, end in ends.items()})

# %% role="answer"
ratio = ends["with warm-up"] / ends["without"]
in_words = {0.8: "the one with a warm-up", 1.25: "about the same", math.inf: "the one without"}
compare_guess("08_warm_up", next(words for most, words in in_words.items() if ratio < most))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for (name, run), line in zip(short_runs.items(), ("-", ":"), strict=True):
    left.plot(
        [run.rate(step + 1, run.steps) for step in range(run.steps)], line, color="#00204c", label=name
    )
    right.plot(run.losses, line, color="#00204c", label=name)
left.set(title="Learning rate", xlabel="step")
right.set(title="Loss", xlabel="step", ylim=(0, 3.5))
right.legend()
plt.show()

# %% [markdown]
# *The picture in words:* on the left the two rates. One rises for 60 steps to 0.02 and stays there, the other is level
# at 0.02. On the right the losses: with the warm-up the loss falls to about 0.2 and stays there at the full rate,
# without it the loss stops falling near 1.
#
# The rate of 0.02 isn't too high as such: the first run lives with it for 100 steps. It is too high for a model that
# has learnt nothing yet. A warm-up gives room for larger steps, and for deeper models, as in lesson 05. It is no law.
# At 0.01 (`rate=0.01` in `constant`) this model learns as well without one, and is ahead at first. And with two layers
# (`new_model(0)`) even a warm-up won't always keep it at 0.02.
#
# ## 7 · Let it write
#
# Now `write` on dates that the model has never seen:

# %% role="train"
for text, right_answer in test_pairs[:3]:
    wrote = "".join(write(translator, text)[1:-1])
    print(f"{text:20} -> {wrote:10}  right: {wrote == right_answer}")
print("all tokens of one:", write(translator, "May 2024"))

# %% [markdown]
# `logits[0, -1]` is where it happens. The logits have a row for every position. The rows before the last one are about
# tokens that are written already; the last row says what comes next.
#
# ### Exercise 5: `greedy_decode`
#
# Difficulty 4 of 5
#
# The same for a whole batch at once. Three things are new:
#
# - **Sequences end at different steps.** One that has said eos says only eos from then on. The result has at
#   most `max_length` columns, bos among them; it may end earlier, once all sequences have ended.
# - **The model is somebody else's.** Decode in eval mode, and leave it in the mode in which it came, as in exercise 4.
# - **Nobody needs gradients**, so none should be recorded.
#
# The check uses stand-ins for a model. What they write makes no sense, but it is the same every time. All they promise
# is that `model(src, trg)` gives logits (B, T, V).
#
# <details><summary>All rows get the same token again and again</summary>
#
# At which position do you read the logits? And is the new token part of what you pass in the next round? Print the
# shape of what you pass.
#
# </details>
#
# <details><summary>How do I keep a row at eos?</summary>
#
# Keep a tensor of bool, one entry a row: has it ended? Where it is True, replace the new token by eos, with
# `torch.where` or `masked_fill`. Then update it.
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
# Exercise 4 has the mode. `with torch.no_grad():` keeps gradients from being recorded.
#
# </details>


# %% exercise="greedy_decode" role="solution"
def greedy_decode(model: nn.Module, src: Tensor, bos_idx: int, eos_idx: int, max_length: int) -> Tensor:
    """Write a target for every source, always taking the likeliest next token.

    model: model(src, trg) gives logits (B, T, V); it is run in eval mode and left in the mode in which
    it came. src: ids (B, Ts). Returns ids (B, at most max_length), bos first and counted; after eos
    comes only eos.
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
for my_date, my_row in zip(
    my_dates, greedy_decode(translator, encode(my_dates), BOS, EOS, 12), strict=True
):
    print(my_date, "->", "".join(TARGET[my_token] for my_token in my_row if my_token > EOS))

# %% [markdown]
# It knows nothing of calendars: no training date told it that 2023 had no 29 February, and it writes what it reads.
# A form that it has never seen is another matter: "24th Dec 1968" mixes two of ours, and may come out as nonsense.
# And a year that it has never seen? The training ends with 2099.

# %%
predict(
    "08_year",
    "100 dates between 2100 and 2199, in the forms that it knows. How many does it write exactly right?",
    ["nearly all", "about half", "hardly any"],
)

# %% role="answer" claim="no_new_century"
far_days = [datetime.date(2100, 1, 1) + datetime.timedelta(days=365 * n + n % 28) for n in range(100)]
far_pairs = [(written(day, n % 5), day.isoformat()) for n, day in enumerate(far_days)]
far_share = share_right(translator, tensors_of(far_pairs))
compare_guess(
    "08_year", "nearly all" if far_share > 0.8 else "about half" if far_share > 0.2 else "hardly any"
)

# %% role="train" timed=true
for text in ("3 March 2150", "3 March 2050", "31.12.2100"):
    print(f"{text:14} -> {''.join(write(translator, text)[1:-1])}")

# %% [markdown]
# In all that it has read, a year begins with 19 or 20, and so do the years that it writes. It has learnt the dates of
# two centuries, not what a year is. Our test can't tell, since all its dates are from the same two centuries.
#
# ### Exercise 6: `exact_match`
#
# Difficulty 2 of 5
#
# Decoding was the hardest; this is easier. Return the share of rows that are right as a whole: equal **up to and
# including their first eos**. What comes after it doesn't matter, nobody reads it. A row without eos runs to its last
# column. The two tensors may differ in width.
#
# <details><summary>Where does a row end?</summary>
#
# For one row as a list: `row.index(eos_idx)` is the place of the first eos, if there is one. For a tensor: `(row ==
# eos_idx).cumsum(-1)` is 0 before the first eos.
#
# </details>
#
# <details><summary>The widths differ, and the comparison fails</summary>
#
# Cut both rows at their eos first; then compare, lengths included. Two rows of different lengths aren't equal.
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

    predicted: ids (B, T1); target: ids (B, T2). A row without eos runs to its last column.
    """

    ### BEGIN SOLUTION
    def up_to_eos(row: list[int]) -> list[int]:
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    rows = zip(predicted.tolist(), target.tolist(), strict=True)
    return sum(up_to_eos(mine) == up_to_eos(right) for mine, right in rows) / len(predicted)
    ### END SOLUTION


# %% exercise="exact_match" role="check"
check(exact_match)

# %% role="try"
# Try it: your two functions on 300 test dates. They should agree with the share that needed one call
# only.
my_part = tuple(my_ids[:300] for my_ids in test_data)
my_target = torch.cat([my_part[1][:, :1], my_part[2]], dim=1)
my_written = greedy_decode(translator, my_part[0], BOS, EOS, max_length=12)
print("at least 99 % right:", exact_match(my_written, my_target, EOS) >= 0.99)
difference = exact_match(my_written, my_target, EOS) - share_right(translator, my_part)
print("the same as with teacher forcing:", abs(difference) < 1e-6)

# %% [markdown]
# ## 8 · Where it looks
#
# You have recorded three moments now: the cross-attention before, during and after the training. Pick a date and a
# moment, and step through the characters that are to be written with the arrow keys.

# %% role="train" timed=true
from grader.views import AlignmentView

AlignmentView(album_pairs, album)

# %% [markdown]
# Three things to look for:
#
# 1. *Before:* every row is nearly the same. What a token looks at doesn't depend on which one it is.
# 2. *After, all heads:* rows that write the year look at the year, wherever it is in the source. That the year comes
#    first in the answer and last in the source does no harm. Attention has no order of its own.
# 3. *After, one head at a time:* the heads share the work. For the month, look at what it is read from: two
#    digits are made from a few letters that tell the months apart.

# %% role="draw"
figure, panels = plt.subplots(1, len(album), figsize=(10, 4.2), layout="constrained", squeeze=False)
for axes, (moment, found) in zip(panels[0], album.items(), strict=True):
    (text, right_answer), (weights, guesses) = album_pairs[0], found[0]
    axes.imshow(weights.mean(dim=0), cmap="cividis", vmin=0, vmax=1)
    guessed = "".join(guess if len(guess) == 1 else "·" for guess in guesses[:-1])
    axes.set(title=f"{moment}: {guessed}", xticks=range(len(text)), yticks=range(len(right_answer) + 1))
    axes.set_xticklabels(list(text), fontsize=8)
    axes.set_yticklabels([*right_answer, "eos"], fontsize=8)
plt.show()

# %% [markdown]
# *The picture in words:* three grids for one date, a row for each character of the answer, a column for each
# character of the source; the mean of the four heads. Above each is what the model guessed then, with a dot for
# a special token. Before the training all cells are about the same dark blue. During it lighter spots appear.
# Afterwards the first four rows have theirs in the columns of the year, each in that of its own digit; the rows of the
# month look at letters of "July", the rows of the day at the day.
#
# It is tempting to say: so that is *why* it wrote a 2. Be careful. The weights say where a layer took its information
# from. How it used it is decided elsewhere too, and the encoder has mixed the characters before. Lesson 10 goes
# into that.
#
# ## 9 · Dropout, train and eval
#
# A model that sees the same few examples again and again may learn them by heart. Dropout, which lesson 07 put into
# the model, makes that harder. To be exact: in train mode each number becomes zero with a probability p, at random,
# and the others are divided by 1 − p so that the average stays.

# %%
_ = torch.manual_seed(8)
half_dropped, many = nn.Dropout(0.5), torch.ones(10000)
print("train mode, values:", half_dropped.train()(many).unique().tolist())
print(f"train mode, mean:   {half_dropped(many).mean():.1f}")
print("eval mode, values: ", half_dropped.eval()(many).unique().tolist())

# %% [markdown]
# Dropout has no parameters, so the weights that we have trained fit into a model with dropout. The same weights, the
# same 200 dates, twice in each mode:

# %% role="train" timed=true
forgetful = new_model(seed=0, dropout=0.1)
forgetful.load_state_dict(translator.state_dict())
for mode in ("eval", "train"):
    forgetful.train(mode == "train")
    with torch.no_grad():
        once, again = (forgetful(*watch_data[:2]) for _ in range(2))
    right = ((once.argmax(-1) == watch_data[2]) | (watch_data[2] == PAD)).all(dim=1).float().mean().item()
    apart = (once - again).abs().max().item()
    print(
        f"{mode:5} mode: {100 * right:.0f} % right; the logits of two calls are up to {apart:.1f} apart"
    )

# %% [markdown]
# In train mode the logits differ on every call, and more dates are wrong. Forgetting `model.eval()` before a model is
# used is one of the most common slips, and nothing warns you. The other one is to forget `model.train()` afterwards.
# That is why your `greedy_decode` had to put the mode back.
#
# Why did we train without dropout? There are 71 000 dates, and 240 batches of 64 show the model about a fifth of
# them, most only once. A model that hardly sees anything twice has little to learn by heart. With little data it is
# another matter.
#
# ## 10 · Three bugs that make the loss look good
#
# All three run without an error, and all three turn up in real code. Each gets a small model with one layer and
# 120 steps, and so does the right code, for comparison.
#
# 1. **No shift.** The labels are what the decoder is given.
# 2. **Padding counted.** All answers are padded to 40 columns, as if one of that length might come, and every column
#    counts.
# 3. **Mask forgotten.** The decoder's own attention hides padding, but not the future.

# %%
predict(
    "08_bugs",
    "How many of the three bugs end with a loss below that of the right code?",
    ["none", "one", "two", "all three"],
)


# %%
class SeesTheFuture(Transformer):
    """Lesson 07's model with one line wrong."""

    def forward(self, src, trg):
        src_mask = padding_mask(src, self.src_pad_idx)
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, padding_mask(trg, self.trg_pad_idx))


def loss_with_padding(logits, wanted):
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def wide(data):
    """Answers padded to 40 columns."""
    src, *answers = data
    return (src, *(F.pad(tensor, (0, 40 - tensor.shape[1]), value=PAD) for tensor in answers))


# %% role="train"
BUG_STEPS = 120
sources, given, wanted = train_data
few_steps = {
    "steps": BUG_STEPS,
    "rate": lambda step, steps: 0.005 * min(step / 30, (steps + 1 - step) / (steps - 29)),
}
runs = {
    "right": Training(new_model(2, 1), **few_steps),
    "no shift": Training(new_model(2, 1), (sources, given, given), **few_steps),
    "padding counted": Training(
        new_model(2, 1), wide(train_data), loss_of=loss_with_padding, **few_steps
    ),
    "mask forgotten": Training(new_model(2, 1, kind=SeesTheFuture), **few_steps),
}

# %% [markdown]
# This takes about as long as the first training. Stopped, it goes on where it was when you run the cell again.

# %% role="train"
for name in runs:
    if runs[name].done < BUG_STEPS:
        go_on(runs[name], until=BUG_STEPS, every=BUG_STEPS)
    print(f"{name}: {runs[name].done} steps")


# %% [markdown]
# For each: the loss that it **reports** (the mean of its last ten); the **honest** loss, with the right labels and
# without padding; the share of right dates with teacher forcing; the share that it really **writes**; and one date as
# it writes it.


# %% role="answer" timed=true claim="bugs_look_good"
def really_right(model, some_pairs):
    right = sum("".join(write(model, text)) == f"<bos>{answer}<eos>" for text, answer in some_pairs)
    return right / len(some_pairs)


reports, writes = {}, {}
print(f"{'':16} reports  honest  forced  writes   {WATCHED[0]}")
for name, run in runs.items():
    reports[name] = sum(run.losses[-10:]) / max(1, len(run.losses[-10:]))
    writes[name] = really_right(run.model, watch_pairs[:50])
    with torch.no_grad():
        honest = mean_loss(run.model(*watch_data[:2]), watch_data[2]).item()
    told = share_right(run.model, watch_data)
    print(
        f"{name:16} {reports[name]:7.3f} {honest:7.3f} {told:7.0%} {writes[name]:7.0%}   "
        f"{''.join(write(run.model, WATCHED[0]))}"
    )
lower = sum(loss < reports["right"] for loss in reports.values())
compare_guess("08_bugs", ["none", "one", "two", "all three"][lower])

# %% [markdown]
# The right code's two losses nearly agree. So do its two shares; the one written is of 50 dates only. Look at the
# others:
#
# **No shift** reports next to nothing after a few steps. It has learnt to repeat what it is given, and that is what
# it does: given bos it says bos, for a while at least. With the right labels its loss is far above 2.64. *What
# gives it away:* a loss that is too good, too soon. Let it write.
#
# **Mask forgotten** looks perfect even with the right labels, and in the share with teacher forcing. Here is the
# condition from section 6: that share is that of the written dates only if no position sees what comes after it. This
# one reads each answer off its neighbour to the right. When it writes, there is no neighbour. *What gives it away:*
# forced and written differ. Or lesson 04's test: change a later token, and see whether an earlier output moves.
#
# **Padding counted** is the mild one: it learns to write dates, only much later. Nearly three quarters of its columns
# are padding, which is soon always right. So it reports less than a third of its honest loss, and the real tokens are
# a small part of each gradient. *What gives it away:* more padding changes the loss, though the model is the same.
# Divide by the number of real labels.
#
# **Low loss, wrong task.** In none of the three does the curve alone say what is wrong.
#
# ## 11 · Keep what was learnt
#
# What a model has learnt is a dictionary of tensors, its `state_dict`. The format **safetensors** stores just that:
# names, shapes, numbers. (`torch.save` stores Python objects with *pickle*. Loading such a file with
# `weights_only=False`, the default before PyTorch 2.6, can run any code that somebody has put into it. Never do
# that with a stranger's file.) What is not in it: the sizes that the model was made with, and the vocabulary.
# Without those the numbers are worthless, so they go beside it.

# %% role="train"
import tempfile

from safetensors.torch import load_file, save_file

with tempfile.TemporaryDirectory() as folder:
    save_file(translator.state_dict(), Path(folder, "dates.safetensors"))
    Path(folder, "dates.json").write_text(json.dumps({"source": SOURCE, "target": TARGET}))
    print({path.name: path.stat().st_size for path in sorted(Path(folder).iterdir())}, "bytes")

    loaded = new_model(seed=7)
    loaded.load_state_dict(load_file(Path(folder, "dates.safetensors")))
    with torch.no_grad():
        print(
            "the same logits:",
            torch.equal(loaded.eval()(*watch_data[:2]), translator.eval()(*watch_data[:2])),
        )

# %% [markdown]
# The state of the optimiser isn't in it either. To *go on* training after a restart you would have to keep that as
# well (`optimizer.state_dict()`).
#
# The files are gone with their temporary folder. Lesson 10 looks into a trained model's heads. To show it yours, keep
# the files beside the notebooks: write `Path("dates.safetensors")` and `Path("dates.json")` where they are saved.
#
# ## 12 · Quiz
#
# ### Exercise 7: `quiz_08`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `labels_shape` (a shape): targets are (32, 15), bos and eos included. What shape do the labels have?
# 2. `blind_loss` (a number, to two decimals): a model gives all 50 tokens of a vocabulary the same logit. What is its
#    cross-entropy?
# 3. `diluted` (a number, to two decimals): a batch has 6 real labels, each with a loss of 2.0, and 18 positions of
#    padding with a loss of 0. Somebody averages over all of them. What do they report?
# 4. `peak_step` (a whole number): at which step is `noam_rate(step, 256, 800)` highest?
# 5. `calls` (a whole number): how many times does `greedy_decode` call the model at most, with `max_length` 20?
# 6. `matches` (a number, to two decimals): eos is 2. Predicted: [[5, 2, 7], [5, 6, 2], [5, 6, 7], [8, 2, 2]]. Target:
#    [[5, 2, 2], [5, 6, 7], [5, 6, 7], [8, 9, 2]]. What is the share of exact matches?
# 7. `too_good` (a letter): after 30 steps the loss is 0.0001, and the model writes bos again and again. What is
#    wrong?
#    - a. the learning rate is too low;
#    - b. padding is counted;
#    - c. the labels are not shifted;
#    - d. the source is masked.
# 8. `forced` (a letter): with teacher forcing 100 % of the held-out dates are right, decoding freely, none
#    are. What do you look for first?
#    - a. a decoder that sees later tokens;
#    - b. too few training steps;
#    - c. held-out dates that are in the training data as well;
#    - d. a loss that counts padding.
# 9. `no_eval` (a letter): somebody forgets `model.eval()` before decoding with a model that has dropout 0.1. Then
#    - a. an error is raised;
#    - b. it writes something else now and then, and is more often wrong;
#    - c. it writes the same, only slower;
#    - d. its weights change.
#
# <details><summary>I don't know how to get the loss of a model without any idea</summary>
#
# What probability does each token have? The loss is minus the logarithm of it (the natural one, `math.log`).
#
# </details>

# %% exercise="quiz_08" role="solution"
quiz_08 = {
    "labels_shape": ...,  # a shape, for example (2, 3)
    "blind_loss": ...,  # a number, to two decimals
    "diluted": ...,  # a number, to two decimals
    "peak_step": ...,  # a whole number
    "calls": ...,  # a whole number
    "matches": ...,  # a number, to two decimals
    "too_good": ...,  # "a", "b", "c" or "d"
    "forced": ...,  # "a", "b", "c" or "d"
    "no_eval": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_08 = {
    "labels_shape": (32, 14),
    "blind_loss": 3.91,
    "diluted": 0.5,
    "peak_step": 800,
    "calls": 19,
    "matches": 0.5,
    "too_good": "c",
    "forced": "a",
    "no_eval": "b",
}
### END SOLUTION

# %% exercise="quiz_08" role="check"
check(quiz_08, "quiz_08")

# %% [markdown]
# ## What you can do now
#
# You have trained a Transformer from nothing to 99 %, and you know what each part of the training is for: the shift,
# the loss without padding, the warm-up, the two modes. You can let a model write, in batches, and count honestly what
# comes out right. And when a loss looks too good, you know three places to look.
#
# **To read next**
#
# - Vaswani et al. (2017), *Attention Is All You Need*, sections 5.3 and 5.4: the learning rate, dropout, and label
#   smoothing, which makes a model less sure of itself.
# - Srivastava et al. (2014), *Dropout: A Simple Way to Prevent Neural Networks from Overfitting*, section 2: where the
#   idea comes from.
# - Kingma and Ba (2015), *Adam: A Method for Stochastic Optimization*, section 2: the optimiser that was used here.
# - Bengio et al. (2015), *Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks*, section 2: what
#   teacher forcing doesn't prepare a model for.
#
# **Next lesson:** 09, *Attention that scales*. `greedy_decode` computes everything again for each token. There is a
# way not to.
