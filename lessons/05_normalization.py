# ---
# jupyter:
#   course:
#     about: LayerNorm, BatchNorm, RMSNorm; pre-norm and post-norm, forty-eight blocks of your own
#     picture: a table to edit and the column that BatchNorm averages over
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
# # 05 · LayerNorm and BatchNorm
#
# *This is the cat that killed the rat that ate the malt.* A network of forty-eight layers reads four words of lesson
# 04's rhyme and has to predict the next one. From most starts it doesn't learn this, whichever learning rate we try.
# Then we put a norm into each layer, and it learns from every start. A norm *normalises*, which means that it brings
# numbers back to a common size on their way from layer to layer. For that it needs a mean, but the mean **of what**?
# LayerNorm and BatchNorm answer this question differently. In section 10 you build forty-eight blocks of your own, and
# see what the place of the norm in a block decides.
#
# **You need** PyTorch tensors with axes and broadcasting, `nn.Module`, and the training loop of lesson 02.
#
# **Afterwards you can**
#
# - write LayerNorm, BatchNorm and RMSNorm, and say which numbers share a mean in each and so influence each other;
# - explain BatchNorm in train mode, in eval mode and with a batch of one, and why Transformers don't use it;
# - put a norm into a residual block in two ways, and say what each does to the training of a deep stack.
#
# **Time:** <!-- time -->. A good place for a break is the end of section 5.
#
# | letter | meaning |
# | --- | --- |
# | `B` | batch: samples (or sequences) handled together |
# | `T` | tokens in a sequence |
# | `E` | `d_model`, the width of a token's vector: its features |
# | d, N | in formulas, how many numbers share a mean: the features of a token (E), the samples of a batch (B) |
# | `...` | any number of leading axes, or none |
# | μ, σ² | mean and variance; σ, the square root of the variance, is the *standard deviation* |
# | γ, β | `gamma`, `beta`: a learnt factor and a learnt offset for each feature |
# | ε | `eps`: a small number that keeps a divisor away from zero |

# %%
import math
from collections.abc import Callable
from functools import partial

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict, show, show_reads, sweep
from grader.models.rhyme import RHYME
from grader.models.robot import Layer as ReaderLayer
from grader.models.robot import Reader, learn_to_read, train

torch.set_num_threads(1)  # small models compute fastest in one thread
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Why normalise?
#
# Of every five words in a row of the rhyme, the network reads four and has to predict the fifth.

# %% role="draw"
figure, axes = plt.subplots(figsize=(7.4, 1.9), layout="constrained")
axes.set(xlim=(0, 7.4), ylim=(0, 1.9))
axes.axis("off")
box = {"boxstyle": "round", "fc": "#eeeeee", "ec": "grey"}
for i, word in enumerate(("this", "is", "the", "cat")):
    axes.text(0.5, 1.65 - 0.45 * i, word, ha="center", va="center", bbox=box)
stages = {1.9: "a vector\nfor each", 3.5: "layer 1", 4.4: "…", 5.3: "layer 48"}
for left, stage in stages.items():
    axes.text(left, 0.95, stage, ha="center", va="center", bbox=box)
axes.text(6.9, 0.95, "that?", ha="center", va="center", bbox=box)
for start, end in ((0.9, 1.3), (2.5, 3.0), (4.0, 4.2), (4.6, 4.8), (5.9, 6.4)):
    arrow = {"arrowstyle": "->", "color": "grey"}
    axes.annotate("", (end, 0.95), (start, 0.95), arrowprops=arrow)
plt.show()

# %% [markdown]
# *The picture in words:* on the left the words this, is, the, cat. An arrow leads to a box with a vector for each of
# them, from there to layer 1, and so on to layer 48, and from that to the next word, "that".

# %%
words = RHYME.split()
vocabulary = sorted(set(words))
ids = torch.tensor([vocabulary.index(word) for word in words])
places = range(len(ids) - 4)
read = torch.stack([ids[i : i + 4] for i in places])  # (60, 4)
wanted = ids[4:]  # (60,): the word after each four
print(len(vocabulary), "words. A guess costs", f"{math.log(15):.1f}")

# %% [markdown]
# Each layer computes something from the vector that it is given, and adds it to that vector. It multiplies by a
# matrix and then applies a *ReLU*, which puts 0 in place of negative numbers and leaves the others as they are.
# `norm` may be a LayerNorm, which section 4 explains, or `nn.Identity`, which does nothing. With a `size` of 1, the
# weights start at the scale that He et al. (2015) derived for a ReLU, with which the numbers that leave a layer are
# as large as those that enter it.


# %%
class Layer(nn.Module):
    """x + ReLU(linear(norm(x))), its weights `size` times He's."""

    def __init__(self, norm, size=1.0, width=32):
        super().__init__()
        self.norm, self.linear = norm(width), nn.Linear(width, width)
        he = math.sqrt(2 / width)
        nn.init.normal_(self.linear.weight, std=size * he)

    def forward(self, x):
        return x + self.linear(self.norm(x)).relu()


# %%
def network(layers, last, width=32):
    """Layers between the vectors of four words and fifteen scores."""
    words_in = nn.Embedding(15, width // 4)
    scores_out = nn.Linear(width, 15)
    parts = [words_in, nn.Flatten(), *layers, last, scores_out]
    return nn.Sequential(*parts).double()  # for the same words everywhere


def deep(norm, depth=48, size=1.0, width=32):
    """A network of such layers, with a LayerNorm after the last of them."""
    torch.manual_seed(0)
    layers = [Layer(norm, size, width) for _ in range(depth)]
    return network(layers, nn.LayerNorm(width), width)


# %% [markdown]
# `learn` uses lesson 02's `train` on the rhyme, and `go_on` lets a network write a word, and read that word next.


# %%
def learn(model, steps=150, rate=0.003):
    """Train on the rhyme. Returns the losses."""
    adam = torch.optim.Adam(model.parameters(), rate)
    return train(adam, lambda: F.cross_entropy(model(read), wanted), steps)


# %%
def go_on(model, others=read[:0]):
    """Nine words after "this is the cat". `others` share the batch."""
    said = ["this", "is", "the", "cat"]
    for _ in range(9):
        window = torch.tensor([[vocabulary.index(w) for w in said[-4:]]])
        scores = model(torch.cat([window, others]))[0]
        said.append(vocabulary[scores.argmax()])
    return " ".join(said)


# %% [markdown]
# We train two networks, one as it is and one with a norm in each layer. (Both have a LayerNorm after the last layer,
# so the norms in the layers make the only difference.) Then each of them writes on after "this is the cat".

# %% role="train" timed=true claim="a_norm_frees_the_start"
norms = {"without": nn.Identity, "with norms": nn.LayerNorm}
networks = {name: deep(norm) for name, norm in norms.items()}
ends = [[learn(model)[-1], go_on(model)] for model in networks.values()]
show(ends, list(norms), ["loss at the end", "goes on"])

# %% [markdown]
# Is the comparison fair? Lesson 02 gave five learning rates to both sides, so we do that here, too, with twice the
# steps and three sizes of starting weights. Each entry is the largest loss of three starts. The ninety trainings take
# a few minutes, so the losses are stored with the course.

# %%
tried = sweep("norms_in_layers")
rates = tried.labels()
show(tried.worst(), tried.ways, rates, title="loss after 300 steps")

# %% [markdown]
# With norms all starts of all sizes learn the rhyme at all five rates. Without them no rate suits all three starts.
# (From small weights one start in three makes it at 0.001, with a loss of 0.14.) The smallest rates come closest, but
# slowly. So a network without norms isn't hopeless, but somebody has to find the start, the rate and the patience that
# suit its depth. (With twenty-four layers the network above learns it without them, too.)
#
# What goes wrong? What an untrained layer returns is as large as what it was given, and the two are added. Where they
# have nothing to do with each other, the mean square of a sum is the sum of the mean squares, so it **doubles in
# every layer**. (Here it grows even faster, since a ReLU returns no negative numbers.) After forty-eight doublings a
# typical number is 2²⁴ times as large, sixteen million times. With a norm every layer is given numbers of the same
# size, so what it adds has a common size, too, and the sum grows slowly.
#
# ## 2 · RMSNorm
#
# The shortest way to give all tokens the same size is to divide each by its own *root mean square*. For a token x
# with d features (Zhang and Sennrich 2019):
#
# $$y_i = \gamma_i \cdot \frac{x_i}{\sqrt{\frac{1}{d}\sum_j x_j^2 + \varepsilon}}$$
#
# A size of 1 may not suit every feature, so each feature gets a factor γ, which is learnt, and ε prevents a division by
# zero for a token of zeros. Many language models use this norm, LLaMA among them. Read its name from right to left and
# you have the order of the steps, here for "cat", a token with three features.

# %%
FEATURES = ["feature 1", "feature 2", "feature 3"]


def show_rows(title, rows):
    """A table of named rows, three features each."""
    table = torch.stack([*rows.values()])
    show(table, [*rows], FEATURES, title=title, form=".4f")


cat = torch.tensor([1.0, 2.0, 3.0])
mean_square = cat.square().mean()
rows = {"cat": cat, "squares": cat.square()}
rows["RMSNorm of cat"] = cat / (mean_square + 1e-6).sqrt()
rows["RMSNorm of 10 · cat"] = F.rms_norm(10 * cat, (3,))
show_rows("RMSNorm", rows)
print(f"mean of the squares {mean_square:.4f}, root {mean_square**0.5:.4f}")

# %% [markdown]
# ### Exercise 1: `rms_norm`
#
# Difficulty 1 of 5
#
# Your function should work for any leading axes, such as (E,), (T, E) and (B, T, E), and its ε is 10⁻⁶ by default. As
# in lesson 01's softmax, `keepdim=True` keeps a reduced axis with length 1. Compute the norm yourself, here and in
# exercises 2 and 3. PyTorch's normalisation kernels (`layer_norm`, `rms_norm`, `batch_norm`, `group_norm`,
# `instance_norm`) are excluded, by whatever name; `mean`, `var`, `std` are fine.
#
# <details><summary>"The size of tensor a must match the size of tensor b"</summary>
#
# Print the shapes of `x` and of your mean. The mean of a (7, 5) table over its last axis has shape (7,), and
# broadcasting lines shapes up from the **right**, so what shape should your mean have?
#
# </details>
#
# <details><summary>I took <code>var</code> or <code>std</code></summary>
#
# Both subtract the mean before they square, so compare that with what is under the root here.
#
# </details>
#
# <details><summary>Wider tokens become smaller</summary>
#
# A sum of squares grows with the number of features, so which letter of "RMS" deals with that?
#
# </details>


# %% exercise="rms_norm" role="solution"
def rms_norm(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide every token by its root mean square.

    gamma * x / sqrt(mean of the squares + eps).
    x: (..., E); gamma: (E,). Returns the same shape as x.
    """
    ### BEGIN SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gamma * x / torch.sqrt(mean_square + eps)
    ### END SOLUTION


# %% exercise="rms_norm" role="check"
check(rms_norm)

# %% role="try"
# Try it: "cat" as in the table, and a token of zeros.
mine = rms_norm(torch.stack([cat, 0 * cat]), torch.ones(3))
show_rows("your RMSNorm", {"cat": mine[0], "zeros": mine[1]})

# %% [markdown]
# ## 3 · Two ways to average
#
# The other two norms subtract a mean first, but which mean? Here are two samples (rows) with three features (columns)
# each. The row of "cat" is uneven, while the row of "malt" and the first column are flat.

# %%
NAMES = ["cat", "malt"]
numbers = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
show(numbers, NAMES, FEATURES, title="numbers", form=".4f")
show(numbers.mean(dim=-1), "mean of the row", NAMES)
show(numbers.mean(dim=0), "mean of the column", FEATURES)

# %% [markdown]
# | norm | the mean and the variance run over | so there is one of each for |
# | --- | --- | --- |
# | **LayerNorm** | the features, `dim=-1` | every token |
# | **BatchNorm** | the batch, `dim=0` | every feature |
#
# The axis that you name is the one that **disappears**, so `mean(dim=0)` of a (2, 3) table leaves 3 means, one per
# column.
#
# Here is a larger table, in which the long frame holds the entries that share a mean and a variance, and both are
# printed at its end. The right table holds every entry minus its mean, divided by the square root of its variance.
#
# - Choose BatchNorm and see which numbers share a mean now. (Move with the pointer, or press Tab until the left table
#   has a blue frame and use the arrow keys.)
# - Go back to LayerNorm, type 20 over a number and press Enter. The dots mark the outputs that moved, so in which
#   samples are they with LayerNorm, and in which with BatchNorm?
# - When you choose "one large value", what remains of the values beside it? And what remains of row 1 when you choose
#   "constant row"?
# - What happens to the differences between the numbers of a row when you choose "common offset 1000" and RMSNorm?

# %% role="draw"
from grader.views import NormExplorer

small_table = torch.tensor(
    [
        [2.0, 1.0, 4.0, 3.0, 5.0],
        [6.0, 9.0, 8.0, 5.0, 5.0],
        [0.0, 3.0, 1.0, 0.0, 1.0],
        [-2.0, 4.0, 0.0, 2.0, 1.0],
    ]
)
NormExplorer(small_table)

# %% [markdown]
# So the axis decides what can influence what. In LayerNorm the result for a token depends on that token alone, while in
# BatchNorm every sample affects the others. RMSNorm scales a token and (before γ) leaves its direction alone, while
# LayerNorm also removes what all features have in common.
#
# ## 4 · LayerNorm
#
# For a token x with d features (Ba, Kiros and Hinton 2016):
#
# $$\mu = \frac{1}{d}\sum_i x_i \qquad \sigma^2 = \frac{1}{d}\sum_i (x_i - \mu)^2 \qquad
# y_i = \gamma_i \cdot \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_i$$
#
# Here is "cat" step by step, a line for each symbol of the formula.

# %%
centred = cat - cat.mean()
variance = centred.square().mean()
standard = centred / (variance + 1e-5).sqrt()
print(f"mean {cat.mean():.4f}, variance {variance:.4f}")
rows = {"cat": cat, "centred": centred, "squares": centred.square()}
show_rows("LayerNorm", rows | {"divided by the root": standard})

# %% [markdown]
# Now we give both rows to PyTorch's module, whose `weight` is γ and whose `bias` is β. In a new module they are 1 and
# 0, which change nothing yet. Both are learnt, since neither a size of 1 nor a mean of 0 needs to suit every feature,
# and they are the same for every token. "Malt" has variance 0, so only β is left of it.

# %%
layer_norm_module = nn.LayerNorm(3)
rows = dict(zip(NAMES, layer_norm_module(numbers), strict=True))
rows |= {"weight": layer_norm_module.weight.data}
show_rows("nn.LayerNorm", rows | {"bias": layer_norm_module.bias.data})

spread = torch.std(numbers, -1, unbiased=False)
both = torch.stack([numbers.mean(dim=-1), spread], dim=1)
columns = ["mean", "standard deviation"]
show(both, NAMES, columns, title="of the row", form=".4f")

# %% [markdown]
# ### The same by hand?
#
# A tutorial on norms has the formula as above, and next to it "the same by hand" in one line, `by_hand`. Its result
# agrees with the module's to the last digit printed. Compare the line with the formula.

# %%
mean = torch.mean(numbers, -1)
by_hand = (numbers - mean.view(-1, 1)) / (spread + 1e-7).view(-1, 1)
show_rows("the tutorial's line, rows", dict(zip(NAMES, by_hand, strict=True)))

predict(
    "05_which_slip",
    "Does the line differ from the formula, and where?",
    [
        "yes, it divides by d − 1",
        "yes, its ε is outside the root",
        "yes, it takes the mean over the batch",
        "no, they are the same",
    ],
)

# %% role="answer"
rows = {}
for eps in (1e-5, 0.1, 1.0):
    rows[f"cat, ε = {eps:g}, formula"] = centred / (variance + eps).sqrt()
    rows[f"cat, ε = {eps:g}, line"] = centred / (variance.sqrt() + eps)
small = 0.001 * centred
sigma = small.std(correction=0)
rows["0.001 · cat, ε = 1e-05, formula"] = small / (sigma**2 + 1e-5).sqrt()
rows["0.001 · cat, ε = 1e-05, line"] = small / (sigma + 1e-5)
show_rows("normalised", rows)

line = (cat - torch.mean(cat)) / (torch.std(cat, unbiased=False) + 1)
inside = torch.allclose(line, centred / (variance + 1).sqrt())
outcome = "yes, its ε is outside the root"
outcome = "no, they are the same" if inside else outcome
compare_guess("05_which_slip", outcome)

# %% [markdown] role="answer"
# The line adds ε to the standard deviation, **outside** the root; the formula adds it to the variance, **inside**.
# (`unbiased=False` divides by d, and `-1` is the axis of the features, so those two are right.) With an ε of 0.00001
# you can't see it, so make ε large, or take a token whose numbers are all tiny. The last token is four times as large
# if ε is in the wrong place. The checks of this lesson use ε = 0.1, and tokens as small as this one.

# %% [markdown]
# ### Divide by d, or by d − 1?
#
# `torch.std` and `torch.var` divide by d − 1 unless you say otherwise, which gives the *unbiased* estimate of the
# variance of a population from a sample. A norm doesn't estimate anything but describes the numbers that it was given,
# so it divides by d (*biased*; the options are `correction=0` or `unbiased=False`). How large is the difference?

# %%
rows = {"cat, with d": centred / cat.std(correction=0)}
show_rows("normalised", rows | {"cat, with d − 1": centred / cat.std()})
widths = (3, 4, 16, 512)
shares = [((d - 1) / d) ** 0.5 for d in widths]
columns = [f"width {d}" for d in widths]
show(shares, "share of the size, with d − 1", columns, form=".4f")

# %% [markdown]
# The difference is easy to see at width 3 and almost invisible at 512. That may be why one of the most copied
# LayerNorms there is has both slips of this section. *The Annotated Transformer* (Rush 2018) computes
# `a * (x - mean) / (std + eps) + b`, with PyTorch's own `std`.
#
# ### Exercise 2: `layer_norm`
#
# Difficulty 2 of 5
#
# Write LayerNorm for any leading axes. A row with a common offset of 1000 should still be right, so subtract the mean
# before you square. (Some textbooks don't; "For those who want more" shows what comes of it.) The normalisation kernels
# are excluded, as in exercise 1, but your own `rms_norm` is not.
#
# <details><summary>Right on [1, 2, 3] but wrong in the check</summary>
#
# With γ = 1, β = 0 and a tiny ε, a missing part can't be seen. Go through the formula symbol by symbol and find
# each of them in your code.
#
# </details>
#
# <details><summary>All my numbers are a little too small</summary>
#
# Compare the factor by which they are too small with the printed factors for d − 1 above.
#
# </details>
#
# <details><summary>Changing one token changes the others' results</summary>
#
# Then one of your means runs over tokens, so which axis holds the features, counted from the end?
#
# </details>


# %% exercise="layer_norm" role="solution"
def layer_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5
) -> Tensor:
    """Normalise every token over its features.

    gamma * (x - mean) / sqrt(variance + eps) + beta, the variance biased.
    x: (..., E); gamma and beta: (E,). Returns the same shape as x.
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gamma * centred / torch.sqrt(variance + eps) + beta
    ### END SOLUTION


# %% exercise="layer_norm" role="check"
check(layer_norm)

# %% role="try"
# Try it: the table from above, as PyTorch's module gave it.
mine = layer_norm(numbers, torch.ones(3), torch.zeros(3))
show_rows("your LayerNorm", dict(zip(NAMES, mine, strict=True)))

# %% [markdown]
# ## 5 · BatchNorm
#
# BatchNorm has the same formula on the other axis (Ioffe and Szegedy 2015). For feature c of a batch of N samples:
#
# $$\mu_c = \frac{1}{N}\sum_n x_{n,c} \qquad \sigma_c^2 = \frac{1}{N}\sum_n (x_{n,c} - \mu_c)^2 \qquad
# y_{n,c} = \gamma_c \cdot \frac{x_{n,c} - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}} + \beta_c$$
#
# Now we normalise columns, and the first one, [1, 1], becomes zeros. In the second one, 2 and 1 become 1 and −1 (or
# almost, because of ε), and in the third one, 3 and 1 become the same. Is that a coincidence? In the tutorial's line ε
# is outside the root here, too.

# %%
batch_norm_module = nn.BatchNorm1d(3)
rows = dict(zip(NAMES, batch_norm_module(numbers), strict=True))
rows |= {"weight": batch_norm_module.weight.data}
show_rows("nn.BatchNorm1d", rows | {"bias": batch_norm_module.bias.data})

mean, spread = numbers.mean(dim=0), numbers.std(dim=0, unbiased=False)
rows = {"mean": mean, "standard deviation": spread}
show_rows("of the column", rows)

by_hand = (numbers - mean.view(1, -1)) / (spread + 1e-7).view(1, -1)
rows = dict(zip(NAMES, by_hand, strict=True))
show_rows("the tutorial's line, columns", rows)

# %% [markdown]
# ### Exercise 3: `batch_norm`
#
# Difficulty 1 of 5
#
# This is easier than exercise 2. Normalise a batch (B, E) with its own statistics, without the kernels excluded there.
#
# <details><summary>Every row of my result has mean 0, but the columns don't</summary>
#
# That is LayerNorm, so which axis should disappear when you take the mean, that of the samples or that of the features?
#
# </details>
#
# <details><summary>It raises an error, or it works only for some sizes</summary>
#
# The mean of a (7, 5) batch over its first axis has shape (5,), so does that line up with (7, 5) from the right? If
# your mean has shape (7,) instead, look at the axis.
#
# </details>


# %% exercise="batch_norm" role="solution"
def batch_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5
) -> Tensor:
    """Normalise every feature over the batch.

    gamma * (x - mean) / sqrt(variance + eps) + beta, the variance biased.
    x: (B, E); gamma and beta: (E,). Returns (B, E).
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=0)
    variance = centred.square().mean(dim=0)
    return gamma * centred / torch.sqrt(variance + eps) + beta
    ### END SOLUTION


# %% exercise="batch_norm" role="check"
check(batch_norm)

# %% role="try"
# Try it: the table from above, as PyTorch's module gave it.
mine = batch_norm(numbers, torch.ones(3), torch.zeros(3))
show_rows("your BatchNorm", dict(zip(NAMES, mine, strict=True)))

# %% [markdown]
# ## 6 · BatchNorm remembers
#
# In training a batch is a random sample, and its mean is a fair estimate of the mean of all the data. But what if the
# finished model gets a single sample? The mean of that batch is the sample itself, so only zeros would be left, and
# PyTorch refuses such a batch in train mode. Even with more samples, a prediction would depend on which others happen
# to be in the batch.
#
# BatchNorm therefore **remembers**. In *train mode* it normalises with the batch's statistics and also keeps *running*
# averages of them; in *eval mode* it normalises with the running ones. `module.train()` and `module.eval()` switch the
# mode. The running averages move a little with each batch:
#
# > running ← (1 − momentum) · running + momentum · batch's
#
# They start at mean 0 and variance 1, and in PyTorch `momentum` is the share of the **new** value, 0.1 unless you say
# otherwise.
#
# ### Which variance?
#
# The tutorial has both LayerNorm and BatchNorm use the biased variance, which divides by d or N. You have seen that
# both *normalise* with it, but which variance does BatchNorm *remember*? One batch of a single feature goes through a
# new module. `running_var` was 1, so it will be 0.9 plus a tenth of one of the variances below. Before you guess, think
# of what a running variance is for.

# %%
batch = torch.tensor([[1.0], [2.0], [3.0], [6.0], [8.0]])
by_n, by_n_less_1 = batch.var(correction=0), batch.var()
print(f"mean {batch.mean():.2f}, variance with N {by_n:.2f}", end="")
print(f", with N − 1 {by_n_less_1:.2f}")

predict(
    "05_which_variance",
    "Which variance of the batch does PyTorch remember?",
    ["the one divided by N", "the one divided by N − 1"],
)

# %% role="answer"
memory = nn.BatchNorm1d(1)
output = memory(batch)
mean, running_var = memory.running_mean.item(), memory.running_var.item()
print(f"running_mean {mean:.2f}, running_var {running_var:.2f}")
remembered = (running_var - 0.9) / 0.1
print(f"remembered: {remembered:.2f}")
print(f"the output's variance with N: {output.var(correction=0):.2f}")

biased = abs(remembered - by_n) < 0.01
outcome = "the one divided by N" if biased else "the one divided by N − 1"
compare_guess("05_which_variance", outcome)

# %% [markdown] role="answer"
# It remembers 8.5, the **unbiased** variance, which divides by N − 1. The output was divided by the square root of 6.8,
# so its variance with N is 1. The tutorial is right about what BatchNorm normalises with, and wrong about what it
# remembers. Unlike the batch's variance, the running variance estimates that of a population, which is all the data
# there is. For a batch of two the difference is a factor of two.

# %% [markdown]
# ### The two modes
#
# In eval mode a sample's result doesn't depend on the rest of the batch, so a batch of one is fine. In train mode the
# running values change with every batch, even if nobody is training. "For those who want more" begins with an exercise
# in which you write such a module, and shows both modes side by side.

# %% [markdown]
# ## 7 · Why Transformers don't use BatchNorm
#
# The short sentences of a batch are filled up with padding (lesson 04), and a BatchNorm takes its mean over batch
# **and** time, padding included. Below, a short sentence shares its batch with three tokens of a longer one. It is padded
# with 0, 3 and 12 tokens of zeros, and in the last row one of its *later* tokens changes. What happens to its first
# token?

# %%
start = torch.Generator().manual_seed(1)
short, long = 2 + torch.randn(2, 3, 3, generator=start)
later = short.clone()
later[-1] += 10
batches = {}
for n in (0, 3, 12):
    tokens = torch.cat([short, torch.zeros(n, 3), long])
    batches[f"{n} padding tokens"] = tokens
batches["0, a later token changed"] = torch.cat([later, long])
by_batch, by_layer = {}, {}
for name, tokens in batches.items():
    by_batch[name] = F.batch_norm(tokens, None, None, training=True)[0]
    by_layer[name] = F.layer_norm(tokens, (3,))[0]
show_rows("first token, BatchNorm", by_batch)
show_rows("first token, LayerNorm", by_layer)

# %% [markdown]
# LayerNorm looks at one token at a time, and gives the same result each time. With BatchNorm padding changes the first
# token, and so does **the future**, which defeats causal masking. Also, where models are large, each device holds a
# small batch, sometimes of a single sequence. And the statistics of text vary more from batch to batch than those of
# images (Shen et al. 2020 measured it).
#
# In computer vision, where BatchNorm comes from, there is no padding and no future to hide.
#
# <details><summary>A trap for those who try BatchNorm on text</summary>
#
# `nn.BatchNorm1d` wants (B, E, T), with the features in the middle. Given (B, T, E) it raises an error, unless T
# happens to equal E; then it normalises the wrong axis without a word.
#
# </details>
#
# ### The rhyme, in company
#
# A network with BatchNorm learns the rhyme too, and in eval mode it goes on after "this is the cat" without a mistake
# and gets nine words out of nine right. Now somebody forgets `eval()`, and puts "this is the cat" into one batch with
# 32 copies of "this is the house".

# %% claim="company_decides"
with_batch_norm = deep(nn.BatchNorm1d, depth=6)
learn(with_batch_norm)
company = read[:1].expand(32, 4)

says = {"eval mode, alone": go_on(with_batch_norm.eval())}
says["eval mode, in company"] = go_on(with_batch_norm, company)
says["train mode, in company"] = go_on(with_batch_norm.train(), company)
layer_norms = networks["with norms"]
says["LayerNorm, train mode"] = go_on(layer_norms.train(), company)
show([[text] for text in says.values()], list(says), ["goes on"])

# %% [markdown]
# In train mode the rest of the batch decides what the network writes. With LayerNorm neither the batch nor the mode
# matters, which is what a model that writes needs.

# %% [markdown]
# ## 8 · Where to put the norm
#
# A Transformer layer consists of two *sub-layers*, attention and a small network for each token. Each has a **residual
# connection** around it, so what it computes is *added* to what it was given. We call a sub-layer with its residual
# connection and its norm a block. The norm can go in several places, and in each of the next two exercises you work out
# its place from what the block has to do.
#
# Our example is the block `x + norm(sublayer(x))`, which Swin Transformer V2 and OLMo 2 use:
#
# ```text
#   x ──┬────────────────────────────┐
#       └─→ [sub-layer] ─→ [norm] ─→(+)─→ y
# ```
#
# We give it a large token, and a silent sub-layer, which only notes what it is given and returns zeros.


# %%
def standardise(x):
    """A norm, for the example."""
    return F.layer_norm(x, (3,))


def example(x, sublayer, norm):
    """One of three places for the norm."""
    return x + norm(sublayer(x))


def examine(block):
    """What a silent sub-layer gets, and what the block makes of it."""
    got = {"x": torch.tensor([1000.0, 2000.0, 6000.0])}

    def silent(x):
        got["given to the sub-layer"] = x
        return torch.zeros_like(x)

    got["from the block"] = block(got["x"], silent, standardise)
    show_rows(block.__name__, got)


examine(example)

# %% [markdown]
# With a silent sub-layer this block gives back the x that came in, so its residual path is untouched. But the sub-layer
# has to cope with x as it comes, however large it is.
#
# In the two exercises `sublayer` and `norm` are **functions** that your function gets and calls, as `silent` and
# `standardise` are here. Check your idea against the demands with pencil and paper before you write.
#
# ### Exercise 4: `pre_norm_residual`
#
# Difficulty 2 of 5
#
# The block adds once, calls `sublayer` and `norm` once each, and meets two demands:
#
# 1. **The residual path is untouched.** If the sub-layer returns zeros, the block returns the x that came in, to the
#    last digit and with any norm. A stack of such blocks is one straight line with additions only.
# 2. **The sub-layer is protected.** If x is a thousand times as large, the sub-layer gets the same numbers as before
#    (but for ε).
#
# <details><summary>The sub-layer is protected, but the first demand fails</summary>
#
# At the end, do you add the x that came in, or its normalised version? After a line `x = ...` the one that came in is
# gone.
#
# </details>
#
# <details><summary>The check says that I changed the argument</summary>
#
# `+=` writes into the tensor on its left, and that may be the caller's, or what the sub-layer returned.
#
# </details>


# %% exercise="pre_norm_residual" role="solution"
def pre_norm_residual(
    x: Tensor,
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
) -> Tensor:
    """A residual block: an untouched residual path, a protected sub-layer.

    x: (..., E); sublayer and norm: functions from (..., E) to (..., E).
    Returns (..., E).
    """
    ### BEGIN SOLUTION
    return x + sublayer(norm(x))
    ### END SOLUTION


# %% exercise="pre_norm_residual" role="check"
check(pre_norm_residual)

# %% [markdown]
# ### Exercise 5: `post_norm_residual`
#
# Difficulty 2 of 5
#
# This block, too, adds once and calls `sublayer` and `norm` once each, but it meets two other demands:
#
# 1. **What leaves the block is normal.** Whatever x and the sub-layer are, each token of the result has mean 0 and
#    variance 1, if the norm is a LayerNorm with γ = 1 and β = 0. So the next block gets tokens that all have the same
#    size.
# 2. **The sub-layer sees x itself**, with nothing done to it, and x also gets past it. If the sub-layer returns
#    zeros, the block returns the norm of x.
#
# <details><summary>The mean of my result is not 0</summary>
#
# Then something comes after the norm, so check whether your norm gets the sum or something before it.
#
# </details>


# %% exercise="post_norm_residual" role="solution"
def post_norm_residual(
    x: Tensor,
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
) -> Tensor:
    """A residual block: a normal result, x itself for the sub-layer.

    x: (..., E); sublayer and norm: functions from (..., E) to (..., E).
    Returns (..., E).
    """
    ### BEGIN SOLUTION
    return norm(x + sublayer(x))
    ### END SOLUTION


# %% exercise="post_norm_residual" role="check"
check(post_norm_residual)

# %% role="try"
# Try it: do your blocks meet their demands?
for block in (pre_norm_residual, post_norm_residual):
    examine(block)

# %% [markdown]
# <details><summary>Both blocks as the field draws them (for when yours are right)</summary>
#
# ```text
# post-norm (Vaswani et al. 2017)
#
#   x ──┬──────────────────┐
#       └─→ [sub-layer] ─→(+)─→ [norm] ─→ y
#
# pre-norm (most models since GPT-2)
#
#   x ──┬────────────────────────────┐
#       └─→ [norm] ─→ [sub-layer] ─→(+)─→ y
# ```
#
# </details>
#
# The formula of Vaswani et al. (2017) is post-norm; the code of *The Annotated Transformer* (Rush 2018), from which
# many have learnt it, is pre-norm "for code simplicity".
#
# ## 9 · Deep stacks: what reaches the first layer?
#
# Why did most of the field move the norm? The first reason is the gradient, which on its way back along a **post-norm**
# stack of forty-eight layers goes through every layer and its norm. Each such pair multiplies it by about the same
# factor. In a **pre-norm** stack there is the straight line of additions, with the norms and sub-layers beside it as
# branches. Whatever a branch adds, the sum passes the gradient on unchanged.
#
# We take stacks of small random networks before any training. For each layer we look at the gradient of its first
# weights as one vector, and measure its length. We compare three kinds of branches:
#
# - **ReLU**: the gradient on the way back grows as the numbers did on the way forward;
# - **ReLU and a bias**: the bias adds to the numbers but not to the gradient;
# - **strong tanh**: large weights lead into a tanh, which limits the numbers more than the gradient.


# %%
def gradient_norms(depth, pre, branch, seed=0, width=32):
    """The length of the gradient at each layer's first weights (depth,)."""
    activation, gain, bias = branch
    start = {"generator": torch.Generator().manual_seed(seed)}
    start["dtype"] = torch.float64
    h, target = torch.randn(2, 128, width, **start)
    weights = torch.randn(depth, 2, width, width, **start)
    weights = ((gain / width) ** 0.5 * weights).requires_grad_()
    biases = bias * torch.randn(depth, width, **start)
    for (into, out), b in zip(weights, biases, strict=True):
        normal = F.layer_norm(h, (width,)) if pre else h
        h = h + activation(normal @ into) @ out + b
        h = h if pre else F.layer_norm(h, (width,))
    (F.layer_norm(h, (width,)) - target).square().mean().backward()
    return weights.grad[:, 0].flatten(1).norm(dim=-1)


# %% role="train" claim="post_norm_multiplies"
branches = {
    "ReLU": (torch.relu, 2**0.5, 0),
    "ReLU and a bias": (torch.relu, 2**0.5, 1),
    "strong tanh": (torch.tanh, 4, 0),
}
layers = 48
lengths = {
    (name, pre): gradient_norms(layers, pre, branch)
    for pre in (False, True)
    for name, branch in branches.items()
}
rows = [f"{'pre' if pre else 'post'}-norm, {name}" for name, pre in lengths]
table = torch.stack([*lengths.values()])[:, [0, layers // 2, -1]]
columns = ["first layer", "middle", "last"]
show(table, rows, columns, title="gradient", form=".1e")

# %% role="draw"
size = {"figsize": (9, 3.6), "layout": "constrained"}
figure, panels = plt.subplots(1, 2, sharey=True, **size)
styles = {"strong tanh": (0.05, "-"), "ReLU": (0.55, "--")}
styles["ReLU and a bias"] = (0.85, "-.")
for axes, pre in zip(panels, (False, True), strict=True):
    for name, (shade, line) in styles.items():
        color = plt.cm.cividis(shade)
        axes.semilogy(lengths[name, pre], line, color=color, label=name)
    title = f"{'pre' if pre else 'post'}-norm, {layers} layers"
    axes.set(title=title, xlabel="layer, 0 is the input's")
panels[0].set_ylabel("length of the gradient")
panels[1].legend()
plt.show()

# %% [markdown]
# *The picture in words:* two panels with the layer on the horizontal axis and the gradient's length, on a logarithmic
# scale, on the vertical one. In the post-norm panel the three curves start together on the right, at about 0.1, and
# spread to the left in almost straight lines. The one for strong tanh climbs to about a thousand at layer 0, the one
# for ReLU and a bias falls below a hundred-thousandth, and ReLU alone stays between 0.03 and 0.4. In the pre-norm panel
# all three stay between about 0.01 and 0.6, rising towards layer 0.
#
# A straight line on a logarithmic scale is a constant factor per layer. In post-norm the branches decide whether the
# gradient grows, vanishes or survives, and in pre-norm they matter far less.
#
# ## 10 · Forty-eight blocks of your own
#
# Now we take the rhyme again, with your LayerNorm in your residual blocks. The sub-layer is a small network of two
# linear layers, as in a Transformer. Both towers end with one more norm, which has nothing left to do after an
# untrained post-norm block.


# %%
class Norm(nn.Module):
    """A norm of yours, with the gamma and beta that it learns."""

    def __init__(self, function, width=32):
        super().__init__()
        self.function = function
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.function(x, self.gamma, self.beta)


# %%
class Block(nn.Module):
    """A residual block of yours around a small network."""

    def __init__(self, residual, norm, width=32):
        super().__init__()
        self.residual, self.norm = residual, Norm(norm, width)
        first, second = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.kaiming_normal_(first.weight, nonlinearity="relu")
        nn.init.kaiming_normal_(second.weight, nonlinearity="linear")
        self.sublayer = nn.Sequential(first, nn.ReLU(), second)

    def forward(self, x):
        return self.residual(x, self.sublayer, self.norm)


# %%
def tower(residual, norm, depth, width=32):
    """A stack of this many blocks, with a norm at the end."""
    torch.manual_seed(0)
    blocks = [Block(residual, norm, width) for _ in range(depth)]
    return network(blocks, Norm(norm, width), width)


# %% role="try" timed=true claim="pre_norm_goes_deep"
# Try it: the same forty-eight blocks with the norm in two places.
ways = {"post-norm": post_norm_residual, "pre-norm": pre_norm_residual}
towers = {name: tower(way, layer_norm, 48) for name, way in ways.items()}
my_losses = {name: learn(towers[name], rate=0.006)[-1] for name in ways}
says = [[my_losses[name], go_on(towers[name])] for name in ways]
show(says, list(ways), ["loss at the end", "goes on"])

# %% [markdown]
# The tower with pre-norm knows the rhyme, and the other one writes the same word again and again. But both had the same
# learning rate, and in lesson 02 a rate that suited one side didn't suit the other. So we give both of them five rates,
# from 0.0003 to 0.03, with 300 steps and three starts each (stored with the course, as before).

# %%
predict(
    "05_who_learns",
    "At which of the five rates does post-norm learn the rhyme, too?",
    ["at none", "at the smallest only", "at the largest only", "at all"],
)

# %% role="answer"
both = sweep("deep_towers")
title = "largest loss of three starts"
show(both.worst(), both.ways, both.labels(), title=title)

learnt = [loss < 0.3 for loss in both.worst()[both.ways.index("post-norm")]]
outcome = "at all" if all(learnt) else "at none"
if learnt[0] != learnt[-1]:
    which = "smallest" if learnt[0] else "largest"
    outcome = f"at the {which} only"
compare_guess("05_who_learns", outcome)

# %% [markdown] role="answer"
# Post-norm learns the rhyme from every start at the smallest rate only. (At 0.001 two of the three starts make it,
# with a loss of 0.08, and one doesn't.) Pre-norm learns it at all five, a hundredfold range. So it isn't true that
# only pre-norm can be deep. Pre-norm **forgives** a rate that doesn't suit it, and a deep post-norm stack has to be
# **tuned**. (With twelve blocks post-norm learns the rhyme at 0.006, too; put 12 in place of 48 above.) Most of the
# field prefers not to search.

# %% [markdown]
# ### What goes wrong in a post-norm tower
#
# What goes wrong at the larger rates? Gradients can't be the whole story, since Adam takes steps of about the same
# size from short gradients and from long ones. So we look at what the towers compute, which is a row of scores for
# each of the sixty windows. How far apart are these rows (as a standard deviation), before training and after a few
# steps? Below the table is the loss of a reader who doesn't look at the window and only knows how often each word
# occurs.

# %% role="try" timed=true claim="the_windows_become_one"
# Try it: towers of forty-eight blocks in their first steps.
stages = (0, 1, 5, 20)
apart = torch.zeros(2, 4)
for i, residual in enumerate(ways.values()):
    for j, steps in enumerate(stages):
        model = tower(residual, layer_norm, 48)
        learn(model, steps, rate=0.006)
        apart[i, j] = model(read).detach().std(dim=0).mean()
columns = [f"step {steps}" for steps in stages]
show(apart, list(ways), columns, title="apart", form=".3f")
often = torch.bincount(wanted) / len(wanted)
print(f"who doesn't read: {torch.special.entr(often).sum():.2f}")

# %% [markdown]
# A post-norm block adds something to x and divides the sum by its size. So each block dilutes what came in, and after
# forty-eight blocks the windows differ less than in the other tower, from some starts much less. Then one step changes
# all blocks, and if it is a large one, the changes add up to more than the difference that is left (Liu et al. 2020).
# All windows get the same scores, and the tower learns only how often each word occurs. Small steps leave the
# difference. The residual path of a pre-norm tower has no division, so the information in the four words arrives at the
# end.

# %% [markdown]
# ### The robot's sentences, twenty-four layers deep
#
# Does a reader with attention need norms, too? Below is lesson 01's once more, now with twenty-four layers. Each has
# lesson 03's two heads, which these functions compute, and a residual block around them. (`take` is what the attention
# of a layer brings, before it is added.)

# %% role="given"
from lesson_03 import merge_heads, multi_head_attention, split_heads


# %%
class DeepLayer(ReaderLayer):
    """Lesson 01's layer with two heads, and a norm of yours."""

    def __init__(self, residual, norm):
        two_heads = partial(multi_head_attention, num_heads=2)
        super().__init__(two_heads, *[(32, 32)] * 4)
        self.residual, self.norm = residual, Norm(norm)

    def forward(self, x):
        return self.residual(x, self.take, self.norm)


def no_norm_residual(x, sublayer, norm):
    """What lesson 01's layer does."""
    return x + sublayer(x)


def deep_reader(residual, norm, depth=24):
    """A reader with this many layers, and a norm after the last."""
    layers = [DeepLayer(residual, norm) for _ in range(depth)]
    return Reader(*layers, Norm(norm))


# %% role="try" timed=true claim="norms_let_it_read"
# Try it: your pre-norm blocks around the attention. This takes about half a
# minute, or more on a busy machine.
torch.manual_seed(0)
my_reader = deep_reader(pre_norm_residual, layer_norm)
my_share = learn_to_read(my_reader, rate=0.001, steps=300)
show_reads(yours=my_share)

# %% [markdown]
# Without norms, twenty-four layers read two sentences in five at best, and from one of the three starts hardly any.
# With a norm in either place they read all of them, from every start. Pre-norm reads more than 85 % at all five rates,
# and post-norm at all but the largest, where one start of three stops at half. (The three last rows have 300 steps, and
# rates from 0.0003 to 0.03.) These sentences don't need so many layers, and with twelve a reader may do without norms.
# Try `no_norm_residual` with `depth=12` and a rate of 0.003.
#
# ## 11 · Quiz
#
# ### Exercise 6: `quiz_05`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `layer_means` (a whole number): how many means does LayerNorm take if `x` has shape (2, 5, 8), for batch, tokens
#    and features?
# 2. `large_eps` (a number, to two decimals): what does the 2 become in LayerNorm of the token [−2, 2] with γ = 1, β = 0
#    and ε = 5?
# 3. `running_var` (a number, to two decimals): a new `nn.BatchNorm1d(1)` with momentum 0.1 gets the batch [[0], [2]] in
#    train mode. What is its `running_var` afterwards?
# 4. `batch_of_two` (a letter): what comes out when a BatchNorm in train mode with γ = 1 and β = 0 gets two samples?
#    - a. always 1 and −1 for each feature, or two zeros, apart from ε;
#    - b. numbers that show how far apart the two samples were;
#    - c. the same as in eval mode;
#    - d. an error, because two samples are too few.
# 5. `pre_norm_gradient` (a letter): why does the gradient reach the first layers of a deep pre-norm stack?
#    - a. the norms keep it at length one;
#    - b. residual sums pass it on unchanged, on a path with no norm on it;
#    - c. pre-norm stacks have fewer layers;
#    - d. the last norm makes it larger.
#
# <details><summary>I don't know where to start when a question asks for a number</summary>
#
# Write down the mean and the variance first. Pencil and paper are enough, with a calculator for one square root, and a
# cell of your own is allowed.
#
# </details>

# %% exercise="quiz_05" role="solution"
quiz_05 = {
    "layer_means": ...,  # a whole number
    "large_eps": ...,  # a number, to two decimals
    "running_var": ...,  # a number, to two decimals
    "batch_of_two": ...,  # "a", "b", "c" or "d"
    "pre_norm_gradient": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_05 = {
    "layer_means": 10,
    "large_eps": 0.67,
    "running_var": 1.1,
    "batch_of_two": "a",
    "pre_norm_gradient": "b",
}
### END SOLUTION

# %% exercise="quiz_05" role="check"
check(quiz_05, "quiz_05")

# %% [markdown]
# ## What you can do now
#
# You have written three norms and can say which numbers share a mean in each. You have worked out two places for a norm
# from what the block has to do. Forty-eight blocks of your own learn the rhyme with the norm in either of them, but
# pre-norm forgives a rate that doesn't suit it, and post-norm has to be tuned.
#
# **To read next**
#
# - Ba, Kiros and Hinton (2016), *Layer Normalization*, section 3, and Zhang and Sennrich (2019), *Root Mean Square
#   Layer Normalization*, section 4.
# - Ioffe and Szegedy (2015), *Batch Normalization*, section 3: the algorithm, and the unbiased variance for
#   inference.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*, section 3: the gradients of both.
# - Liu et al. (2020), *Understanding the Difficulty of Training Transformers*, section 4, and Wang et al. (2022),
#   *DeepNet: Scaling Transformers to 1,000 Layers*: why deep post-norm fails, and what helps.
#
# **Next lesson:** 06, *Tokens and positions*. Attention doesn't know which token comes first, unless the tokens carry
# their positions.

# %% [markdown]
# ## For those who want more
#
# Later lessons don't need this. Exercise 7, a BatchNorm of your own, counts like the others, so you need it for full
# marks.
#
# ### A BatchNorm of your own
#
# Section 6 told what BatchNorm remembers. Here you write a module that does so.
#
# γ and β are learnt by gradient descent, so they are **parameters**. Running statistics are measured, but they must be
# saved with the model and move with it to another device. Such tensors are called **buffers**. A module gets one from a
# line in its constructor, such as `self.register_buffer("seen", torch.zeros(1))`, and from then on it is `self.seen`.
#
# The batch's mean is computed from the batch, and PyTorch records this computation, because it needs it for the
# gradient. A buffer that is updated with this mean would keep the records of all earlier batches in memory. So detach
# what you store, or store it under `torch.no_grad()`.
#
# ### Exercise 7: `BatchNorm`
#
# Difficulty 3 of 5
#
# Your module should do what `nn.BatchNorm1d` does for (B, E), in train mode with B ≥ 2 and in eval mode. Its parameters
# and its last two lines are given, and you add the memory. The buffers are called `running_mean` (zeros at first) and
# `running_var` (ones), and `forward` has to find the `mean` and the `variance` that the last lines use. `self.training`
# is True in train mode and False in eval mode. PyTorch's BatchNorm modules are excluded; the function `F.batch_norm` is
# allowed, though you learn more without it.
#
# <details><summary>The check says that there is no parameter or buffer <code>running_mean</code></summary>
#
# A tensor that is only assigned to an attribute is not owned by the module, so which line above makes a buffer?
#
# </details>
#
# <details><summary>"a leaf Variable that requires grad is being used in an in-place operation"</summary>
#
# Something that is updated by hand is registered as a parameter, but should gradient descent change it?
#
# </details>
#
# <details><summary>Outputs are right in train mode, but the running values are not</summary>
#
# Take a batch of two and momentum 0.1, and do one update on paper. If yours is too close to the batch's values, look at
# which factor goes with the old value and which with the new one. If only the variance is wrong, its new part by a
# factor of two, read "Which variance?" in section 6
# again.
#
# </details>
#
# <details><summary>Eval mode gives the same as train mode</summary>
#
# The mode decides what you normalise with, and whether the running values change. Does your code look at
# `self.training` anywhere?
#
# </details>


# %% exercise="BatchNorm" role="solution"
class BatchNorm(nn.Module):
    """BatchNorm with running statistics, as nn.BatchNorm1d.

    x: (B, E); returns (B, E).
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        ### BEGIN SOLUTION
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        if self.training:
            mean, variance = x.mean(dim=0), x.var(dim=0, correction=0)
            with torch.no_grad():
                self.running_mean += self.momentum * (mean - self.running_mean)
                change = x.var(dim=0) - self.running_var
                self.running_var += self.momentum * change
        else:
            mean, variance = self.running_mean, self.running_var
        ### END SOLUTION
        normal = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight * normal + self.bias


# %% exercise="BatchNorm" role="check"
check(BatchNorm)

# %% role="try"
# Try it: a network of six layers with your BatchNorm. It should know the
# rhyme.
mine = deep(BatchNorm, depth=6)
learn(mine)
print(go_on(mine.eval()))

# %% [markdown]
# ### BatchNorm in both modes
#
# A module has seen 32 batches of eight samples from a population with mean 5 and standard deviation 3, and remembers
# about these two. Then two samples go through it together in both modes, and one of them goes through alone.

# %%
population = torch.Generator().manual_seed(0)
memory = nn.BatchNorm1d(1)
for _ in range(32):
    memory(5 + 3 * torch.randn(8, 1, generator=population))
print("parameters", [name for name, _ in memory.named_parameters()])
print("buffers   ", [name for name, _ in memory.named_buffers()])

# %%
pair = torch.tensor([[5.0], [8.0]])
runs = [[*memory.train()(pair).flatten().tolist(), memory.running_mean.item()]]
runs += [[*memory.eval()(pair).flatten().tolist(), memory.running_mean.item()]]
runs += [["", memory(pair[1:]).item(), memory.running_mean.item()]]
rows = ["train mode", "eval mode", "eval mode, one sample"]
columns = ["of 5", "of 8", "running mean afterwards"]
show(runs, rows, columns, title="output", form=".4f")
try:
    memory.train()(pair[1:])
except ValueError as error:
    print("train mode, one sample: ValueError:", error)

# %% [markdown]
# In train mode the outputs are −1 and 1, whichever two different samples go in, and a single sample is an error. Eval
# mode only reads the memory, but a model that is evaluated in train mode by mistake also changes it. The last of the
# three buffers counts batches; the module of exercise 7 doesn't need it.
#
# ### Layers that don't add their input
#
# Layers that don't add their input can go either way. We take twenty untrained ones, each of which is a random matrix
# and a ReLU. How large is a typical number (the root mean square) after 1, 5 and 20 of them? The rows differ only in
# the size of the weights.

# %%
gains, sizes = (0.7, 1.0, 1.4, 2.0), []
for gain in gains:
    start = torch.Generator().manual_seed(0)
    plain = normalised = torch.randn(64, 100, generator=start)
    for layer in range(1, 21):
        weight = torch.randn(100, 100, generator=start) * gain / 10
        plain = (plain @ weight).relu()
        normalised = (F.layer_norm(normalised, (100,)) @ weight).relu()
        if layer in (1, 5, 20):
            sizes.append(plain.square().mean().sqrt())
    sizes.append(normalised.square().mean().sqrt())
rows = [f"weights {gain}" for gain in gains]
columns = ["layer 1", "layer 5", "layer 20", "layer 20, normalised"]
table = torch.tensor(sizes).view(4, 4)
show(table, rows, columns, title="typical size", form=".2g")

# %% [markdown]
# With weights of 1.4 the size stays within a factor of three. With half of that it is almost zero after twenty layers,
# and with 2.0 it has grown to hundreds, because over twenty layers the factor per layer is raised to the twentieth
# power. (Gradients grow and shrink in the same way on their way back.) With a norm before each layer, the factors don't
# multiply, and the last column depends only on the last layer.
#
# ### A shortcut that costs all digits
#
# Textbooks also give the variance as "mean of the squares minus square of the mean". On paper it is the same, but here
# the shortcut subtracts two numbers in the millions to find one below 1, and float32 has about seven digits.

# %%
offsets, variances = (0, 1000, 3000, 5000), []
for offset in offsets:
    high = cat + offset
    shortcut = high.square().mean() - high.mean().square()
    variances += [shortcut, (high - high.mean()).square().mean()]
rows = [f"cat + {offset}" for offset in offsets]
columns = ["by the shortcut", "centred first"]
table = torch.tensor(variances).view(4, 2)
show(table, rows, columns, title="variance", form=".4f")

# %% [markdown]
# Adding a number to all entries doesn't change a variance, yet the shortcut gives 0 in one row and three times the
# right value in another. So subtract the mean first, as exercise 2 asks.
#
# ### And the last layer?
#
# In a pre-norm stack the sum on the straight line grows with every layer (which is why the stack ends with one more
# norm). Each new layer is a smaller part of that sum, and the gradient of the last layer shrinks as the stack gets
# deeper, while in a post-norm stack it doesn't. The table shows the mean over eight stacks.

# %% role="train" claim="last_gradient_shrinks"
depths = (6, 12, 24, 48)
last = torch.zeros(2, len(depths))
for i, pre in enumerate((False, True)):
    for j, depth in enumerate(depths):
        for seed in range(8):
            gradients = gradient_norms(depth, pre, branches["ReLU"], seed)
            last[i, j] += gradients[-1] / 8
columns = [f"{depth} layers" for depth in depths]
rows = ["post-norm", "pre-norm"]
show(last, rows, columns, title="last gradient", form=".3f")

# %% [markdown]
# In pre-norm, four times as many layers roughly halve the last gradient. Xiong et al. (2020) derive this, and count it
# as pre-norm's advantage: in post-norm the gradients near the output are large however deep the stack, and a full step
# at the start throws these layers off. A **warm-up** is meant to prevent that (lesson 08 has one).

# %% [markdown]
# ### A heavier x
#
# If the blocks of a post-norm tower dilute what comes in too much (section 10), it should bear larger rates when x
# counts for more in the sum. Wang et al. (2022, *DeepNet*) trained a thousand layers in this way, from smaller starting
# weights. Try a heavier x at the rate at which post-norm failed, and also your RMSNorm in pre-norm blocks. How heavy x
# has to be depends on the rate. Twice x isn't enough here, and at twice the rate three times x isn't either, but five
# times x is.


# %% role="try" timed=true claim="a_heavier_path_goes_deep"
# Try it: a tower with x three times in the sum, and one with your RMSNorm. Do
# both know the rhyme?
def heavier(x, sublayer, norm):
    return post_norm_residual(3 * x, lambda _: sublayer(x), norm)


def rms(x, gamma, beta):
    return rms_norm(x, gamma)


last_towers = [tower(heavier, layer_norm, 48)]
last_towers += [tower(pre_norm_residual, rms, 48)]
final = [[learn(model, rate=0.006)[-1], go_on(model)] for model in last_towers]
show(final, ["a heavier x", "your RMSNorm"], ["loss at the end", "goes on"])
