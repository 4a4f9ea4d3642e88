# ---
# jupyter:
#   course:
#     about: LayerNorm, BatchNorm, RMSNorm; pre-norm and post-norm
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
# *This is the cat that killed the rat that ate the malt.* A network of twenty-four layers reads four words of
# lesson 04's rhyme and has to say the next one. Whether it ever can depends on a detail that few would even
# mention: how large the random weights are that it starts from. Add one line to each layer, and the detail stops
# mattering. Whatever it starts from, it knows the rhyme by heart a second or two later. That line *normalises*: it
# brings numbers back to a common size on their way from layer to layer. It leaves one choice open: the mean **of
# what**? LayerNorm and BatchNorm answer differently, and this lesson is about what follows from it.
#
# **You need** Python, PyTorch tensors with axes and broadcasting, and for one exercise `nn.Module`. Attention
# itself isn't needed here; lesson 04's padding and its hidden future come back in section 9.
#
# **Afterwards you can**
#
# - write LayerNorm, BatchNorm and RMSNorm from their formulas, with ε in its place;
# - say for each of them which numbers share a mean, and therefore what can influence what;
# - put a norm into a residual block in two ways, and say what each does to the training of a deep stack;
# - explain what BatchNorm does in train mode, in eval mode and with a batch of one, and why Transformers don't
#   use it.
#
# **Time:** <!-- time -->. The plan: why → RMSNorm → two ways to average →
# LayerNorm → BatchNorm → pre-norm and post-norm → deep stacks → BatchNorm's memory → padding → a quiz.
#
# | letter | meaning |
# | --- | --- |
# | `B` | batch: samples (or sequences) handled together |
# | `T` | tokens in a sequence |
# | `E` | `d_model`, the width of a token's vector: its features |
# | d, N | in formulas, how many numbers share a mean: the features of a token (E), the samples of a batch (B) |
# | `...` | any number of leading axes, none included |
# | μ, σ² | mean and variance; σ, the root of the variance, is the *standard deviation* |
# | γ, β | `gamma`, `beta`: a learnt factor and a learnt offset for each feature |
# | ε | `eps`: a small number that keeps a divisor away from zero |

# %%
from collections.abc import Callable

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import check, compare_guess, predict

# Models as small as these compute fastest in one thread, above all on a busy machine.
torch.set_num_threads(1)

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1 · Why normalise?
#
# Here is the network. Each layer computes something from the vector that it is given, and adds it to that vector.
# It is trained six times: from small, medium and large starting weights, once as it is and once with a norm in each
# layer. (It is a LayerNorm, which section 4 explains.) A `size` of 1 is the start that He et al. (2015) worked out
# for layers with a ReLU. Then two of the networks go on alone: they say a word, and read that one next.

# %%
rhyme = (
    "this is the house that jack built . "
    "this is the malt that lay in the house that jack built . "
    "this is the rat that ate the malt that lay in the house that jack built . "
    "this is the cat that killed the rat that ate the malt "
    "that lay in the house that jack built ."
)
words = rhyme.split()
vocabulary = sorted(set(words))
ids = torch.tensor([vocabulary.index(word) for word in words])
read, wanted = ids.unfold(0, 5, 1).split([4, 1], dim=1)  # four words, and the one after them


class Layer(nn.Module):
    """x + ReLU(linear(norm(x))), with starting weights `size` times as large as He et al. have them."""

    def __init__(self, norm, width, size):
        super().__init__()
        self.norm, self.linear = norm(width), nn.Linear(width, width)
        nn.init.normal_(self.linear.weight, std=size * (2 / width) ** 0.5)

    def forward(self, x):
        return x + self.linear(self.norm(x)).relu()


def deep(norm, depth=24, size=1.0, width=32):
    """Layers between an embedding of four words and a score for each of fifteen."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)  # so that every computer gets the same words
    try:
        words_in, scores_out = nn.Embedding(15, 8), nn.Linear(width, 15)
        layers = [Layer(norm, width, size) for _ in range(depth)]
        return nn.Sequential(words_in, nn.Flatten(), *layers, norm(width), scores_out)
    finally:
        torch.set_default_dtype(torch.float32)


def learn(network, steps=150):
    """Train a network on the rhyme; returns the last loss."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(steps):
        loss = F.cross_entropy(network(read), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


def go_on(network, others=read[:0]):
    """Nine words after "this is the cat". `others`: windows that are in the same batch."""
    said = ["this", "is", "the", "cat"]
    for _ in range(9):
        window = torch.tensor([[vocabulary.index(word) for word in said[-4:]]])
        said.append(vocabulary[network(torch.cat([window, others]))[0].argmax()])
    return " ".join(said)


# %% role="train" claim="a_norm_frees_the_start"
norms, sizes = {"without a norm": nn.Identity, "with a norm": nn.LayerNorm}, (0.5, 1, 2)
networks = {(name, size): deep(norm, size=size) for name, norm in norms.items() for size in sizes}
last_loss = {start: learn(network) for start, network in networks.items()}
for name in norms:
    print(
        f"{name:14s} loss", *(f"{last_loss[name, size]:.1g} (size {size})" for size in sizes), sep="   "
    )
for name in norms:
    print(f"{name:14s} size 1:", go_on(networks[name, 1]))

# %% [markdown]
# Without a norm the network learns the rhyme from small weights. From the others its last loss is far above that of a
# guess, ln 15 = 2.7. With a norm it learns the rhyme from all of them. (A network without a norm isn't lost: somebody
# has to find the start that suits its depth. Try `depth=12` and `depth=48`, in both rows. With the norm nobody has to
# look for anything.)
#
# What goes wrong? Below are twenty untrained layers without the sum, each a random matrix and a ReLU. The only
# difference between the lines is the size of the weights. The cell prints the root mean square of the numbers after
# some layers: how large a typical one is.

# %%
print("weights   layer 1   layer 5   layer 20   layer 20, normalised")
for gain in (0.7, 1.0, 1.4, 2.0):
    source = torch.Generator().manual_seed(0)
    plain = normalised = torch.randn(64, 100, generator=source)
    sizes = []
    for _ in range(20):
        weight = torch.randn(100, 100, generator=source) * gain / 10
        plain = (plain @ weight).relu()
        normalised = (F.layer_norm(normalised, (100,)) @ weight).relu()
        sizes.append(plain.square().mean().sqrt())
    print(
        f"{gain:7.1f} {sizes[0]:9.2f} {sizes[4]:9.2g} {sizes[19]:10.1e} "
        f"{normalised.square().mean().sqrt():14.2f}"
    )

# %% [markdown]
# With weights of 1.4 the size stays within a factor of three. At half that, almost nothing remains after twenty
# layers; with 2.0 it has grown to hundreds: a factor per layer becomes its twentieth power. (Gradients suffer in
# the same way on their way back.) With a norm before each layer the last column depends on the last layer only.
#
# ## 2 · RMSNorm
#
# The shortest way to give all tokens the same size: divide each by its own *root mean square*. For a token x with
# d features (Zhang and Sennrich 2019):
#
# $$y_i = \gamma_i \cdot \frac{x_i}{\sqrt{\frac{1}{d}\sum_j x_j^2 + \varepsilon}}$$
#
# A size of 1 may be wrong for some feature, so each gets a factor γ, which is learnt. ε keeps a token of zeros
# from a division by zero. Many language models use this norm, LLaMA among them. Read its name from right to left
# and you have the program:

# %%
row = torch.tensor([1.0, 2.0, 3.0])
mean_square = row.square().mean()
print("squares", row.square(), " their mean", mean_square, " its root", mean_square.sqrt())
print("RMSNorm               ", row / (mean_square + 1e-6).sqrt())
print("RMSNorm of 10 times it", F.rms_norm(10 * row, (3,)))
print("RMSNorm of a flat row ", F.rms_norm(torch.tensor([3.0, 3.0, 3.0]), (3,)))

# %% [markdown]
# ### Exercise 1: `rms_norm`
#
# Difficulty 1 of 5
#
# For any leading axes: for (E,), for (T, E), for (B, T, E). As in lesson 01's softmax, `keepdim=True` keeps a
# reduced axis with length 1. Nothing is excluded here. Note the default: ε is 10⁻⁶.
#
# <details><summary>"The size of tensor a must match the size of tensor b"</summary>
#
# Print the shapes of `x` and of your mean. The mean of a (7, 5) table over its last axis has shape (7,), and
# broadcasting lines shapes up from the **right**. What shape should the mean have?
#
# </details>
#
# <details><summary>I took <code>var</code> or <code>std</code></summary>
#
# Both subtract the mean before they square. What is under the root here?
#
# </details>
#
# <details><summary>Wider tokens become smaller</summary>
#
# A sum of squares grows with the number of features. Which letter of "RMS" deals with that?
#
# </details>


# %% exercise="rms_norm" role="solution"
def rms_norm(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide every token by its root mean square: gamma * x / sqrt(mean of the squares + eps).

    x: (..., E); gamma: (E,). Returns the same shape as x.
    """
    ### BEGIN SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gamma * x / torch.sqrt(mean_square + eps)
    ### END SOLUTION


# %% exercise="rms_norm" role="check"
check(rms_norm)

# %% role="try"
# Try it: the first row of the table, and a row of zeros.
print(rms_norm(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), torch.ones(3)))

# %% [markdown]
# ## 3 · Two ways to average
#
# The other two norms subtract a mean first. Which mean? Here are two samples (rows) with three features (columns)
# each: the first row is uneven, the second is flat; the first column is flat, the others are not.

# %%
numbers = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
print("numbers", numbers, sep="\n")
print("one mean for each row   ", numbers.mean(dim=-1))
print("one mean for each column", numbers.mean(dim=0))

# %% [markdown]
# | norm | the mean and the variance run over | so there is one of each for |
# | --- | --- | --- |
# | **LayerNorm** | the features, `dim=-1` | every token |
# | **BatchNorm** | the batch, `dim=0` | every feature |
#
# The axis that you name is the one that **disappears**: `mean(dim=0)` of a (2, 3) table leaves 3 numbers, one
# for each column.
#
# Here is a larger table. Run the cell. The long frame holds the numbers that share a mean and a
# variance; both are printed at its end. The right table is the normalised one: every number minus its mean,
# divided by the root of its variance.
#
# - Press Tab until the left table has a blue frame and move with the arrow keys, or use the pointer. Then choose
#   BatchNorm. Which numbers share a mean now?
# - Back to LayerNorm. Type 20 over a number, press Enter. The dots mark the outputs that moved. Where are they?
#   Choose BatchNorm again: where are they now, and in which samples?
# - Choose "one large value". What happens to its neighbours in the row? And with BatchNorm, in the column?
# - Choose "constant row". What is left of row 1, with either norm?
# - Choose "common offset 1000" and RMSNorm. What happens to the differences between the numbers of a row? Then
#   choose LayerNorm.

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
# So the axis decides what can influence what: in LayerNorm a token depends on itself alone, in BatchNorm every
# sample affects the others. RMSNorm scales a token and leaves its direction alone; LayerNorm also removes what
# all features have in common.
#
# ## 4 · LayerNorm
#
# For a token x with d features (Ba, Kiros and Hinton 2016):
#
# $$\mu = \frac{1}{d}\sum_i x_i \qquad \sigma^2 = \frac{1}{d}\sum_i (x_i - \mu)^2 \qquad
# y_i = \gamma_i \cdot \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_i$$
#
# The first row, step by step. Each line is one symbol of the formula.

# %%
centred = row - row.mean()
variance = centred.square().mean()
print("mean           ", row.mean())
print("centred        ", centred)
print("squares        ", centred.square())
print("variance       ", variance)
print("divided by root", centred / (variance + 1e-5).sqrt())

# %% [markdown]
# Now PyTorch's module on both rows. A new `nn.LayerNorm` has γ = 1 and β = 0, which change nothing yet; its
# `weight` is γ, its `bias` is β. The second row has variance 0: all that is left of it is β.

# %%
layer_norm_module = nn.LayerNorm(3)
print("LayerNorm output", layer_norm_module(numbers).detach(), sep="\n")
print("LayerNorm weight", layer_norm_module.weight.data, sep="\n")
print("LayerNorm bias", layer_norm_module.bias.data, sep="\n")
print("means of the rows", numbers.mean(dim=-1), sep="\n")
print("standard deviations of the rows", numbers.std(dim=-1, unbiased=False), sep="\n")

# %% [markdown]
# ### Spot the slip
#
# A tutorial on norms has the formula as above, $\sqrt{\sigma^2 + \varepsilon}$, and next to it "the same by
# hand" in one line, the first of the next cell. The output agrees with the module's to the last digit printed.
# Compare the line with the formula.

# %%
spread = torch.std(numbers, -1, unbiased=False)
by_hand = (numbers - torch.mean(numbers, -1).view(-1, 1)) / (spread + 1e-7).view(-1, 1)
print("the tutorial's line, rows", by_hand, sep="\n")

# %%
predict(
    "05_which_slip",
    "Where does the line differ from the formula?",
    ["it divides by d − 1", "ε is outside the root", "it takes the mean over the batch", "nowhere"],
)

# %% [markdown]
# To find out, make ε large. And look at a token whose numbers are all tiny, where even the usual ε counts. One of
# the two columns below is the formula, the other one the tutorial's line with another ε.

# %% role="answer"
for eps in (1e-5, 0.1, 1.0):
    print(f"eps {eps:<5g} inside  {centred / (variance + eps).sqrt()}")
    print(f"          outside {centred / (variance.sqrt() + eps)}")

faint = 0.001 * row
sigma = faint.std(unbiased=False)
print("a faint row, eps 1e-5:")
print("  inside ", (faint - faint.mean()) / (sigma**2 + 1e-5).sqrt())
print("  outside", (faint - faint.mean()) / (sigma + 1e-5))

# The tutorial's line, with ε = 1.
with_eps_1 = (row - torch.mean(row)) / (torch.std(row, unbiased=False) + 1.0)
is_outside = torch.allclose(with_eps_1, centred / (variance.sqrt() + 1.0))
compare_guess("05_which_slip", "ε is outside the root" if is_outside else "nowhere")

# %% [markdown]
# The line adds ε to the standard deviation, **outside** the root; the formula adds it to the variance,
# **inside**. With an ε of 0.00001 you can't see it, and a test with such a small ε can't either. The faint row
# is four times as large if ε is in the wrong place. The checks of this lesson use ε = 0.1, and tokens as faint
# as this one.
#
# ### Divide by d, or by d − 1?
#
# `torch.std` and `torch.var` divide by d − 1 unless you say otherwise. That is the *unbiased* estimate of the
# variance of a population from a sample. A norm estimates nothing: it describes exactly the numbers it was
# given, and divides by d. The name for that is *biased*, and the options are `correction=0` or
# `unbiased=False`. How large is the difference?

# %%
print("[1, 2, 3] normalised with d:    ", centred / row.std(correction=0))
print("[1, 2, 3] normalised with d - 1:", centred / row.std())
for width in (3, 4, 16, 512):
    print(f"width {width:3d}: with d - 1 numbers have {((width - 1) / width) ** 0.5:.4f} of their size")

# %% [markdown]
# Easy to see at width 3, almost invisible at 512: a slip that shows only in small cases.
#
# ### Gamma and beta
#
# Mean 0 may be as wrong for a feature as size 1. So beside the factor γ each gets an offset β, learnt too. Both
# belong to features, not to tokens: they are the same for every token.

# %%
gain, offset = torch.tensor([1.0, 2.0, 10.0]), torch.tensor([0.0, 0.0, 5.0])
standard = centred / (variance + 1e-5).sqrt()
print("normalised       ", standard)
print("times gamma      ", standard * gain)
print("times gamma, plus", standard * gain + offset)

# %% [markdown]
# ### A shortcut that costs all digits
#
# Textbooks also give the variance as "mean of the squares minus square of the mean". On paper it is the same.
# In float32, which has about seven digits, it may subtract two numbers in the millions to find one below 1.

# %%
for common in (0, 1000, 3000, 5000):
    high = row + common
    shortcut = high.square().mean() - high.mean().square()
    careful = (high - high.mean()).square().mean()
    print(f"row + {common:4d}: shortcut {shortcut:.4f}, mean of the centred squares {careful:.4f}")

# %% [markdown]
# Adding a number to all entries doesn't change a variance, yet the shortcut gives 0 in one line and three times
# too much in another. (It can even be negative, and then the root is NaN.) Subtract the mean first.
#
# ### Exercise 2: `layer_norm`
#
# Difficulty 2 of 5
#
# Write LayerNorm for any leading axes. A row with a common offset of 1000 should still be right. PyTorch's
# normalisation kernels (`layer_norm`, `rms_norm`, `batch_norm`, `group_norm`, `instance_norm`) are excluded, by
# whatever name; `mean`, `var`, `std` are fine.
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
# A little: by what factor? Compare it with the printed factors for d − 1 above.
#
# </details>
#
# <details><summary>Changing one token changes the others' results</summary>
#
# Then some mean runs over tokens. Which axis holds the features, counted from the end?
#
# </details>


# %% exercise="layer_norm" role="solution"
def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise every token over its features: gamma * (x - mean) / sqrt(variance + eps) + beta.

    x: (..., E); gamma and beta: (E,). Returns the same shape as x. The variance is the biased one.
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
print(layer_norm(numbers, torch.ones(3), torch.zeros(3)))

# %% [markdown]
# ## 5 · BatchNorm
#
# The same formula, the other axis (Ioffe and Szegedy 2015). For feature c of a batch of N samples:
#
# $$\mu_c = \frac{1}{N}\sum_n x_{n,c} \qquad \sigma_c^2 = \frac{1}{N}\sum_n (x_{n,c} - \mu_c)^2 \qquad
# y_{n,c} = \gamma_c \cdot \frac{x_{n,c} - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}} + \beta_c$$
#
# Now by columns. The first column is [1, 1], so it becomes zeros. The others hold two different numbers each, and
# two numbers always become 1 and −1 (almost exactly: ε is small). Why?

# %%
batch_norm_module = nn.BatchNorm1d(3)
print("BatchNorm output", batch_norm_module(numbers).detach(), sep="\n")
print("BatchNorm weight", batch_norm_module.weight.data, sep="\n")
print("BatchNorm bias", batch_norm_module.bias.data, sep="\n")
print("means of the columns", numbers.mean(dim=0), sep="\n")
print("standard deviations of the columns", numbers.std(dim=0, unbiased=False), sep="\n")

spread = torch.std(numbers, 0, unbiased=False)
by_hand = (numbers - torch.mean(numbers, 0).view(1, -1)) / (spread + 1e-7).view(1, -1)
print("the tutorial's line, columns", by_hand, sep="\n")

# %% [markdown]
# (The tutorial has its ε outside the root here, too.)
#
# Numbers that share a mean can influence each other. Take a table with two uneven rows, change one number, the
# 3, and look at what moves (marked 1): in LayerNorm its own row, in BatchNorm its own column, the **other
# sample** included.

# %%
before = torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 5.0]])
after = before.clone()
after[0, 2] = 9.0
for name, norm in (("LayerNorm", nn.LayerNorm(3)), ("BatchNorm", nn.BatchNorm1d(3))):
    moved = norm(after) - norm(before)
    print(f"{name}: what moves", (moved.abs() > 1e-4).int(), sep="\n")

# %% [markdown]
# ### Exercise 3: `batch_norm`
#
# Difficulty 2 of 5
#
# A batch (B, E), normalised with its own statistics. The same kernels are excluded.
#
# <details><summary>Every row of my result has mean 0, the columns don't</summary>
#
# That is LayerNorm. Which axis should disappear when you take the mean: that of the samples or that of the
# features?
#
# </details>
#
# <details><summary>It raises, or it works only for some sizes</summary>
#
# The mean of a (7, 5) batch over its first axis has shape (5,). Does that line up with (7, 5) from the right?
# If yours has shape (7,), look at the axis.
#
# </details>


# %% exercise="batch_norm" role="solution"
def batch_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise every feature over the batch: gamma * (x - mean) / sqrt(variance + eps) + beta.

    x: (B, E); gamma and beta: (E,). Returns (B, E). The variance is the biased one.
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
print(batch_norm(numbers, torch.ones(3), torch.zeros(3)))

# %% [markdown]
# ## 6 · Where to put the norm
#
# A Transformer layer consists of *sub-layers*: attention, and a small network for each token. Each sub-layer
# has a **residual connection** around it: its output is *added* to its input. The norm can be in two places.
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
# In post-norm everything passes through the norm, the residual too. In pre-norm only the branch does: on the
# straight line from x to y there is nothing but a sum.
#
# The formula of Vaswani et al. (2017) is post-norm. The code of *The Annotated Transformer* (Rush et al. 2018), from
# which many have learnt it, is pre-norm "for code simplicity". A third way, `x + norm(sublayer(x))`, is neither; Swin
# Transformer V2 and OLMo 2 use it on purpose.
# Here it is on one token, with a sub-layer that reverses the entries of a vector and adds one:

# %%
token = torch.tensor([1.0, 2.0, 6.0])


def turn(x):
    """A sub-layer, for the example."""
    return x.flip(-1) + 1


def standardise(x):
    """A norm, for the example."""
    return F.layer_norm(x, (3,))


print("token             ", token)
print("its sub-layer     ", turn(token))
print("its norm          ", standardise(token))
print("neither of the two ", token + standardise(turn(token)))

# %% [markdown]
# The other two are yours to write. Work them out for this token on paper, or at least answer: which of the two
# results has mean 0 and variance 1, whatever the token and the sub-layer are?
#
# In the next two exercises `sublayer` and `norm` are **functions** that your function gets and calls, as
# `turn` and `standardise` are here.
#
# ### Exercise 4: `pre_norm_residual`
#
# Difficulty 2 of 5
#
# One residual block, built from the second diagram. The check gives it a network of two layers and a
# LayerNorm with γ and β of its own.
#
# <details><summary>My result is right only where the norm changes nothing</summary>
#
# What do you add at the end: the x that came in, or its normalised version? If a line says `x = ...`, the
# first one is gone.
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
    x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: Callable[[Tensor], Tensor]
) -> Tensor:
    """A residual block with the norm in front of its sub-layer.

    x: (..., E); sublayer and norm: functions from (..., E) to (..., E). Returns (..., E).
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
# The same, built from the first diagram.
#
# <details><summary>The mean of my result is not 0</summary>
#
# In post-norm nothing comes after the norm. What does your norm get: the sum, or something before it?
#
# </details>


# %% exercise="post_norm_residual" role="solution"
def post_norm_residual(
    x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: Callable[[Tensor], Tensor]
) -> Tensor:
    """A residual block with the norm after the addition, as in Vaswani et al. (2017).

    x: (..., E); sublayer and norm: functions from (..., E) to (..., E). Returns (..., E).
    """
    ### BEGIN SOLUTION
    return norm(x + sublayer(x))
    ### END SOLUTION


# %% exercise="post_norm_residual" role="check"
check(post_norm_residual)

# %% role="try"
# Try it: the token from above. Three places for the norm, three results; which one has mean 0?
print("post-norm", post_norm_residual(token, turn, standardise))
print("pre-norm ", pre_norm_residual(token, turn, standardise))
print("neither  ", token + standardise(turn(token)))

# %% [markdown]
# ## 7 · Deep stacks: what reaches the first layer?
#
# Why did most of the field move the norm? Because of the gradient. On its way back through a **post-norm**
# stack it passes every layer and its norm, and each pair multiplies it by about the same factor: after forty-eight
# layers, by its forty-eighth power. In a **pre-norm** stack there is the straight line: the derivative of a sum
# passes the gradient on unchanged, whatever the branches do.
#
# Take stacks of small random networks, before any training. How long is the gradient for the weights of each
# layer? There are three kinds of branches:
#
# - **ReLU**: the gradient on the way back grows as the numbers did on the way forward;
# - **ReLU and a bias**: the bias adds to the numbers but not to the gradient;
# - **strong tanh**: large weights into a tanh, which limits the numbers more than the gradient.


# %% role="train" claim="post_norm_multiplies"
def gradient_norms(depth, pre, activation, gain, bias, seed=0, width=32):
    """The length of the gradient for the first weight matrix of every layer, for an untrained stack."""
    source = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}
    h, target = torch.randn(128, width, **source), torch.randn(128, width, **source)
    watched = []
    for _ in range(depth):
        into, out = ((gain / width) ** 0.5 * torch.randn(width, width, **source) for _ in range(2))
        watched.append(into.requires_grad_())
        normal = F.layer_norm(h, (width,)) if pre else h
        h = h + activation(normal @ into) @ out + bias * torch.randn(width, **source)
        h = h if pre else F.layer_norm(h, (width,))
    h = F.layer_norm(h, (width,)) if pre else h  # a pre-norm stack ends with one norm for all
    (h - target).square().mean().backward()
    return [weight.grad.norm().item() for weight in watched]


branches = {
    "ReLU": (torch.relu, 2**0.5, 0),
    "ReLU and a bias": (torch.relu, 2**0.5, 1),
    "strong tanh": (torch.tanh, 4, 0),
}
layers = 48
lengths = {
    (name, pre): gradient_norms(layers, pre, *kind)
    for name, kind in branches.items()
    for pre in (False, True)
}
print(f"{layers} layers           first layer   middle    last")
for (name, pre), found in lengths.items():
    first, middle, last = found[0], found[layers // 2], found[-1]
    print(f"{'pre ' if pre else 'post'} {name:16s} {first:10.1e} {middle:8.1e} {last:7.1e}")

# %% role="draw"
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axes, pre, title in zip(panels, (False, True), ("post-norm", "pre-norm"), strict=True):
    for name, shade, line in (
        ("strong tanh", 0.05, "-"),
        ("ReLU", 0.55, "--"),
        ("ReLU and a bias", 0.85, "-."),
    ):
        axes.semilogy(range(layers), lengths[name, pre], line, color=plt.cm.cividis(shade), label=name)
    axes.set(title=f"{title}, {layers} layers", xlabel="layer, 0 is the input's")
panels[0].set_ylabel("length of the gradient")
panels[1].legend()
plt.show()

# %% [markdown]
# *The picture in words:* two panels with the layer on the horizontal and the gradient's length, on a
# logarithmic scale, on the vertical axis. In the post-norm panel the three curves start together on the right,
# at about 0.1, and spread to the left in almost straight lines: the one for strong tanh climbs to several
# hundred at layer 0, the one for ReLU and a bias falls to about a hundred-thousandth, ReLU alone stays between
# 0.05 and 0.4. In the pre-norm panel all three stay between about 0.01 and 0.5, rising towards layer 0.
#
# A straight line on a logarithmic scale is a constant factor per layer. In post-norm the branches decide
# whether the gradient grows, vanishes or survives; in pre-norm they hardly matter.
#
# ### And the last layer?
#
# In a pre-norm stack the sum on the straight line grows with every layer (and so the stack ends with one more
# norm). Each new layer is a smaller part of it, and the gradient of the last one shrinks as the stack gets deeper.
# In a post-norm stack it doesn't. Here is the mean over eight stacks:

# %% role="train" claim="last_gradient_shrinks"
for depth in (6, 12, 24, 48):
    runs = {
        pre: [gradient_norms(depth, pre, *branches["ReLU"], seed)[-1] for seed in range(8)]
        for pre in (False, True)
    }
    post_norm, pre_norm = (sum(runs[pre]) / 8 for pre in (False, True))
    print(
        f"{depth:2d} layers: gradient of the last one  post-norm {post_norm:.3f}  pre-norm {pre_norm:.3f}"
    )

growing = torch.Generator().manual_seed(0)
h, spreads = torch.randn(128, 32, generator=growing), []
for _ in range(48):
    h = h + torch.relu(F.layer_norm(h, (32,)) @ torch.randn(32, 32, generator=growing) / 4)
    spreads.append(h.std().item())
print("pre-norm, spread of h after layer 1, 12, 48:", [round(spreads[i - 1], 1) for i in (1, 12, 48)])

# %% [markdown]
# In pre-norm, four times as many layers halve the last gradient. Xiong et al. (2020) derive this, and count it as
# pre-norm's advantage: in post-norm the gradients near the output are large however deep the stack, and a full
# step at the start throws these layers off. A **warm-up**, small steps at first which grow, might prevent that
# (lesson 08 has one).
#
# ### Does it train?
#
# Six of PyTorch's own layers (attention and a small network, with `norm_first` for pre-norm) learn to reverse a
# sequence of eight symbols. The step size is large on purpose. A guess costs ln 10 = 2.30. Each
# run takes some seconds.


# %%
def learn_to_reverse(pre, warm_up, depth=6, steps=150, rate=0.01, width=32):
    """Train a stack on reversing eight symbols; returns the loss of every step. warm_up: steps until
    the full rate."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True, norm_first=pre)
    last = nn.LayerNorm(width) if pre else None
    stack = nn.TransformerEncoder(layer, depth, norm=last, enable_nested_tensor=False)
    for parameter in stack.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)  # otherwise all layers start as copies of one
    symbol, place, answer = nn.Embedding(10, width), nn.Embedding(8, width), nn.Linear(width, 10)
    optimiser = torch.optim.Adam(nn.ModuleList([symbol, place, stack, answer]).parameters())
    losses = []
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * min(1, (step + 1) / warm_up)
        ids = torch.randint(10, (32, 8))
        logits = answer(stack(symbol(ids) + place.weight))
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


# %%
predict(
    "05_who_learns",
    "Three runs: post-norm, post-norm with a warm-up, pre-norm without one. Which of them learn?",
    [
        "all three",
        "the post-norm runs only",
        "all but post-norm without a warm-up",
        "pre-norm only",
        "others",
    ],
)


# %% role="answer" timed=true claim="post_norm_needs_a_warm_up"
attempts = {}
for name, pre, warm_up in (
    ("post-norm", False, 1),
    ("post-norm, warm-up", False, 60),
    ("pre-norm", True, 1),
):
    attempts[name] = losses = learn_to_reverse(pre, warm_up)
    print(f"{name:18s} loss: first {losses[0]:.1f}, mean of the last ten {sum(losses[-10:]) / 10:.3f}")

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for (name, losses), shade, line in zip(
    attempts.items(), (0.05, 0.55, 0.85), ("-", "--", "-."), strict=True
):
    axes.plot(losses, line, color=plt.cm.cividis(shade), label=name)
axes.set(xlabel="step", ylabel="loss", ylim=(0, 3.2))
axes.legend()
plt.show()

learns = tuple(sum(losses[-10:]) / 10 < 1 for losses in attempts.values())
outcomes = {
    (True, True, True): "all three",
    (True, True, False): "the post-norm runs only",
    (False, True, True): "all but post-norm without a warm-up",
    (False, False, True): "pre-norm only",
}
compare_guess("05_who_learns", outcomes.get(learns, "others"))

# %% [markdown]
# The same layers and the same step size. Without a warm-up the post-norm stack never gets better than a guess;
# with one it learns. The pre-norm stack learns without any. (Run `learn_to_reverse(False, 1, rate=0.003)`: with
# smaller steps six post-norm layers learn without a warm-up, too, and so do three layers at the full rate. With
# `depth=12` they don't, and at the full rate a warm-up no longer helps twelve of them. Twelve pre-norm layers learn
# as six do.)
#
# ## 8 · BatchNorm remembers
#
# Back to BatchNorm. In training a batch is a random sample, and its mean is a fair guess of the mean of all data.
# But what if the finished model gets a single sample? Its own mean is the sample itself:

# %%
single = torch.tensor([[4.0, -1.0, 2.0]])
print("minus its own mean:", single - single.mean(dim=0))
try:
    nn.BatchNorm1d(3)(single)
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# Nothing is left of it. PyTorch refuses a batch of one in train mode. And even with more samples, a prediction
# would depend on which other samples happen to be in the batch.
#
# BatchNorm's solution is to **remember**. In *train mode* it normalises with the batch's statistics and also
# keeps *running* averages of them; in *eval mode* it normalises with the running ones. `module.train()` and
# `module.eval()` switch, and `self.training` says which mode it is. The running averages move a little with
# each batch:
#
# > running ← (1 − momentum) · running + momentum · batch's
#
# They start at mean 0 and variance 1. In PyTorch, `momentum` is the share of the **new** value, 0.1 unless
# you say otherwise. (Other libraries give the share of the old one, and would write 0.9.)
#
# ### Spot the slip
#
# The tutorial says that LayerNorm and BatchNorm both use the biased variance, divided by N. Here is one batch of
# a single feature, and what PyTorch remembers of it. Which variance v went into `running_var`, which was 1
# before? Solve 0.9 · 1 + 0.1 · v = `running_var` for v.

# %%
predict(
    "05_which_variance",
    "Which variance of the batch does PyTorch remember?",
    ["the one divided by N", "the one divided by N − 1", "neither"],
)

# %% role="answer"
batch = torch.tensor([[1.0], [2.0], [3.0], [6.0], [8.0]])
memory = nn.BatchNorm1d(1)
output = memory(batch)
print(
    "mean", batch.mean(), " variance with N", batch.var(correction=0), " variance with N - 1", batch.var()
)
print("running_mean", memory.running_mean, " running_var", memory.running_var)
print("output's variance with N", output.var(correction=0).detach().round(decimals=3))

remembered = (memory.running_var - 0.9) / 0.1
told = {True: "the one divided by N", False: "the one divided by N − 1"}
compare_guess("05_which_variance", told[torch.allclose(remembered, batch.var(correction=0))])

# %% [markdown]
# `running_var` is 1.75, so v is 8.5: the **unbiased** variance, divided by N − 1. The output, on the other
# hand, has variance 1 with N: it was divided by the root of 6.8. The tutorial is right about what BatchNorm
# *normalises* with, and wrong about what it *remembers*. This makes sense: the running variance does estimate
# that of a population, all the data there is. For large batches it hardly matters; for a batch of two it is a
# factor of two.
#
# ### Over several batches
#
# Batches of eight samples from a population with mean 5 and standard deviation 3. Watch the running values move
# there from 0 and 1.

# %%
population = torch.Generator().manual_seed(0)
memory = nn.BatchNorm1d(1)
for number in range(1, 33):
    memory(5 + 3 * torch.randn(8, 1, generator=population))
    if number in (1, 2, 4, 8, 16, 32):
        mean, spread = memory.running_mean.item(), memory.running_var.sqrt().item()
        print(
            f"after batch {number:2d}: running mean {mean:5.2f}, root of running variance {spread:5.2f}"
        )

# %% [markdown]
# Now the same two samples in both modes, and then one of them alone. In train mode the outputs are 1 and −1,
# whatever the samples are. In eval mode the statistics are fixed, so a sample's result doesn't depend on the
# rest of the batch, and a batch of one is fine.

# %%
pair = torch.tensor([[5.0], [8.0]])
print("train mode:      ", memory.train()(pair).detach().flatten())
print("eval mode:       ", memory.eval()(pair).detach().flatten())
print("eval mode, alone:", memory.eval()(pair[1:]).detach().flatten())
print("running mean after these three calls:", memory.running_mean)

# %% [markdown]
# Only the first of the three calls moved the running mean: eval mode reads, it doesn't write. A model that is
# evaluated in train mode by mistake gives results that depend on the batch, and also changes its memory.
#
# The picture shows what momentum does. A small one averages over many batches, but needs a long time to forget
# where it started.

# %% role="draw"
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for momentum, shade in ((0.5, 0.85), (0.1, 0.55), (0.02, 0.05)):
    walk, running, path = torch.Generator().manual_seed(0), 0.0, []
    for _ in range(80):
        fresh = (5 + 3 * torch.randn(8, generator=walk)).mean().item()
        running = (1 - momentum) * running + momentum * fresh
        path.append(running)
    axes.plot(range(1, 81), path, color=plt.cm.cividis(shade), label=f"momentum {momentum:g}")
axes.axhline(5, color="grey", linestyle=":", label="mean of the population")
axes.set(xlabel="batch", ylabel="running mean", ylim=(0, 7.5))
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# *The picture in words:* three curves start near 0 and rise towards a dotted line at 5. With momentum 0.5 the
# curve is there after a few batches and then jumps between about 4 and 6. With 0.1 it takes about thirty
# batches and varies slightly. With 0.02 it is smooth, and after eighty batches only at about 4.
#
# ### What a module owns
#
# γ and β are learnt by gradient descent: they are **parameters**. Running statistics aren't learnt, they are
# measured. Still they must be saved with the model and move with it to another device. Such tensors are
# called **buffers**, and a module gets one by `register_buffer`:


# %%
class Counter(nn.Module):
    """Counts the numbers that it has seen. Not very useful, but it remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += x.numel()
        return x * self.scale


counter = Counter()
counter(torch.ones(4, 2))
print("parameters", [name for name, _ in counter.named_parameters()])
print("buffers   ", dict(counter.named_buffers()))
print("saved     ", list(counter.state_dict()))

# %% [markdown]
# One more thing. The batch's mean is a function of the batch, and PyTorch records it for the gradient. Stored
# in a buffer, it would keep the records of all earlier batches in memory. Detach what you store, or store it
# under `with torch.no_grad():`.
#
# ### Exercise 6: `BatchNorm`
#
# Difficulty 4 of 5
#
# A module that does what `nn.BatchNorm1d` does, for (B, E) with B ≥ 2, in train and in eval mode. Its
# parameters are called `weight` (γ, ones at first) and `bias` (β, zeros), its buffers `running_mean` (zeros)
# and `running_var` (ones). PyTorch's BatchNorm modules are excluded; the function `F.batch_norm` is allowed,
# though you learn more without it.
#
# <details><summary>The check says that there is no parameter or buffer <code>running_mean</code></summary>
#
# A tensor that is only assigned to an attribute is not owned by the module. Look at how `Counter` makes `seen`.
#
# </details>
#
# <details><summary>"a leaf Variable that requires grad is being used in an in-place operation"</summary>
#
# Something that is updated by hand is registered as a parameter. Should gradient descent change it?
#
# </details>
#
# <details><summary>Outputs are right in train mode, the running values are not</summary>
#
# Take a batch of two, momentum 0.1, and do one update on paper. Too close to the batch's values? Look at which
# of the two gets which share. Is only the variance wrong, its new part by a factor of two? Read "Spot the slip"
# again.
#
# </details>
#
# <details><summary>Eval mode gives the same as train mode</summary>
#
# Does your code ask `self.training` anywhere? It decides two things: what you normalise with, and whether you
# remember.
#
# </details>


# %% exercise="BatchNorm" role="solution"
class BatchNorm(nn.Module):
    """BatchNorm with running statistics, as nn.BatchNorm1d. x: (B, E); returns (B, E)."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        if self.training:
            mean, variance = x.mean(dim=0), x.var(dim=0, correction=0)
            with torch.no_grad():
                self.running_mean += self.momentum * (mean - self.running_mean)
                self.running_var += self.momentum * (x.var(dim=0) - self.running_var)
        else:
            mean, variance = self.running_mean, self.running_var
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
        ### END SOLUTION


# %% exercise="BatchNorm" role="check"
check(BatchNorm)

# %% role="try"
# Try it: yours beside PyTorch's after three batches.
mine, theirs = BatchNorm(2), nn.BatchNorm1d(2)
for shift in (0.0, 1.0, 2.0):
    samples = torch.tensor([[1.0, 5.0], [2.0, 7.0], [4.0, 0.0]]) + shift
    print((mine(samples) - theirs(samples)).abs().max().detach().round(decimals=4))
print(mine.running_mean, theirs.running_mean, mine.running_var, theirs.running_var, sep="\n")

# %% [markdown]
# ## 9 · Why Transformers don't use BatchNorm
#
# The short sentences of a batch are filled up with padding (lesson 04), and a BatchNorm takes its mean over
# batch **and** time, padding included. Below, the same short sentence is padded with 0, 3 and 12 tokens of
# zeros. What happens to its first token?

# %%
sentences = torch.Generator().manual_seed(1)
long, short = 2 + torch.randn(6, 3, generator=sentences), 2 + torch.randn(3, 3, generator=sentences)
for padding in (0, 3, 12):
    tokens = torch.cat([short, torch.zeros(padding, 3), long])
    by_batch = F.batch_norm(tokens, None, None, training=True)
    by_layer = F.layer_norm(tokens, (3,))
    first = [", ".join(f"{number:5.2f}" for number in table[0]) for table in (by_batch, by_layer)]
    print(f"{padding:2d} padding tokens   BatchNorm {first[0]}   LayerNorm {first[1]}")

# %% [markdown]
# Nothing about the sentence changed, yet BatchNorm gives it three different results. LayerNorm looks at one
# token at a time: other sentences, length and padding do not affect it. There are more reasons:
#
# - **The future leaks.** A mean over time lets a token see later ones, which defeats causal masking.
# - **Batches are small on each device** where models are large, down to one, and small batches have noisy
#   statistics. (All devices together may see a huge batch, but to share statistics they have to wait for each
#   other.)
# - **Text varies.** Shen et al. (2020) measured it: the batch statistics of language data fluctuate much more
#   from batch to batch than those of images, and training suffers.
#
# The leak in one line: change the last token, and see whether the first one moves.

# %%
later = torch.cat([short, long])
altered = later.clone()
altered[-1] += 10
for name, norm in (
    ("BatchNorm", lambda x: F.batch_norm(x, None, None, training=True)),
    ("LayerNorm", lambda x: F.layer_norm(x, (3,))),
):
    print(f"{name}: the first token moves by {(norm(altered) - norm(later))[0].abs().max():.4f}")

# %% [markdown]
# In computer vision, where BatchNorm comes from, most of this does no harm: images have the same size, and there
# is no future to hide. Small batches hurt there too; where only a few images fit (object detection), GroupNorm
# (Wu and He 2018) took its place.
#
# <details><summary>A trap for those who try BatchNorm on text</summary>
#
# `nn.BatchNorm1d` wants (B, E, T), features in the middle. Given (B, T, E) it raises, unless T happens to equal E;
# then it normalises the wrong axis without a word.
#
# </details>
#
# ### The rhyme, in company
#
# The rhyme of section 1 once more. A network with BatchNorm learns it too; six layers are enough here. Then
# somebody forgets `eval()`, and puts "this is the cat" into one batch with 32 copies of "this is the house".

# %%
predict(
    "05_in_company",
    "What does it say after 'this is the cat', in train mode?",
    ["the rhyme", "something else", "nothing: it raises an error"],
)

# %% role="answer" claim="company_decides"
with_batch_norm = deep(nn.BatchNorm1d, depth=6)
learn(with_batch_norm)
company = read[:1].expand(32, 4)

print("BatchNorm, eval mode, alone:      ", go_on(with_batch_norm.eval()))
evaluated = go_on(with_batch_norm, company)
print("BatchNorm, eval mode, in company: ", evaluated)
together = go_on(with_batch_norm.train(), company)
print("BatchNorm, train mode, in company:", together)
print("LayerNorm, train mode, in company:", go_on(networks["with a norm", 1].train(), company))

compare_guess("05_in_company", "the rhyme" if together in rhyme else "something else")

# %% [markdown]
# In train mode the company decides what it says. For LayerNorm company and mode make no difference: that is what
# a model that writes needs.

# %% role="try"
# Try it: the same network with your BatchNorm. It should know the rhyme.
mine = deep(BatchNorm, depth=6)
learn(mine)
print(go_on(mine.eval()))

# %% [markdown]
# ## 10 · Quiz
#
# ### Exercise 7: `quiz_05`
#
# Difficulty 2 of 5
#
# Answer in the cell below, then run the check. A wrong answer gets a hint, and you may try again.
#
# 1. `layer_means` (a whole number): `x` has shape (2, 5, 8): batch, tokens, features. How many means does
#    LayerNorm take?
# 2. `batch_statistics` (a shape): `x` is a batch (16, 10). What is the shape of `running_mean` in a BatchNorm
#    that fits it?
# 3. `by_hand` (a number, to two decimals): LayerNorm of the token [0, 0, 3, 5], with γ = 1, β = 0 and ε so
#    small that it doesn't matter. What does the 5 become?
# 4. `large_eps` (a number, to two decimals): LayerNorm of the token [−2, 2] with γ = 1, β = 0 and ε = 5. What
#    does the 2 become?
# 5. `running_mean` (a number, to two decimals): a new `nn.BatchNorm1d` with momentum 0.1 gets one batch in
#    train mode whose mean is 4, then another one whose mean is 6. Where is its running mean now?
# 6. `running_var` (a number, to two decimals): a new `nn.BatchNorm1d(1)` with momentum 0.1 gets the batch
#    [[0], [2]] in train mode. What is its `running_var` afterwards?
# 7. `batch_of_two` (a letter): a BatchNorm in train mode with γ = 1, β = 0 gets two samples. What comes out?
#    - a. always 1 and −1 for each feature, or two zeros, apart from ε;
#    - b. numbers that tell how far apart the two samples were;
#    - c. the same as in eval mode;
#    - d. an error, because two samples are too few.
# 8. `padding` (a letter): a sentence is padded with more zeros than before. Which norm, in train mode, gives
#    its real tokens the same results as before?
#    - a. BatchNorm over batch and time;
#    - b. LayerNorm;
#    - c. both;
#    - d. neither.
# 9. `pre_norm_gradient` (a letter): why does the gradient reach the first layers of a deep pre-norm stack?
#    - a. the norms keep it at length one;
#    - b. residual sums pass it on unchanged, on a path with no norm on it;
#    - c. pre-norm stacks have fewer layers;
#    - d. the last norm makes it larger.
# 10. `slip` (a letter): what is wrong with "BatchNorm uses the biased variance"?
#     - a. it normalises with the unbiased one;
#     - b. it uses the biased one in eval mode only;
#     - c. nothing;
#     - d. it normalises with the biased one but keeps a running average of the unbiased one.
#
# <details><summary>I don't know where to start with a number</summary>
#
# Write down mean and variance first. Pencil and paper are enough, and a calculator for one root. A cell of your
# own is allowed.
#
# </details>

# %% exercise="quiz_05" role="solution"
quiz_05 = {
    "layer_means": ...,  # a whole number
    "batch_statistics": ...,  # a shape, for example (2, 3)
    "by_hand": ...,  # a number, to two decimals
    "large_eps": ...,  # a number, to two decimals
    "running_mean": ...,  # a number, to two decimals
    "running_var": ...,  # a number, to two decimals
    "batch_of_two": ...,  # "a", "b", "c" or "d"
    "padding": ...,  # "a", "b", "c" or "d"
    "pre_norm_gradient": ...,  # "a", "b", "c" or "d"
    "slip": ...,  # "a", "b", "c" or "d"
}
### BEGIN SOLUTION
quiz_05 = {
    "layer_means": 10,
    "batch_statistics": (10,),
    "by_hand": 1.41,
    "large_eps": 0.67,
    "running_mean": 0.96,
    "running_var": 1.1,
    "batch_of_two": "a",
    "padding": "b",
    "pre_norm_gradient": "b",
    "slip": "d",
}
### END SOLUTION

# %% exercise="quiz_05" role="check"
check(quiz_05, "quiz_05")

# %% [markdown]
# ## What you can do now
#
# You have written three norms and can say which numbers share a mean in each. You have found a misplaced ε and a
# wrong claim about a variance by making the effect large enough to see. You have moved a norm from one side of a
# sum to the other, and seen what that does to training. And you have built a module with a memory of its own, and
# seen what happens when it forgets to use it.
#
# **To read next**
#
# - Ba, Kiros and Hinton (2016), *Layer Normalization*, section 3: the formula, and how it differs from
#   BatchNorm.
# - Ioffe and Szegedy (2015), *Batch Normalization: Accelerating Deep Network Training by Reducing Internal
#   Covariate Shift*, section 3: the algorithm, and in 3.1 the unbiased variance for inference.
# - Santurkar, Tsipras, Ilyas and Madry (2018), *How Does Batch Normalization Help Optimization?*, sections 2 and
#   3: why the title of the paper before may not be the reason.
# - Shen et al. (2020), *PowerNorm: Rethinking Batch Normalization in Transformers*, section 3: batch statistics
#   of text, measured; and Wu and He (2018), *Group Normalization*, for small batches of images.
# - Zhang and Sennrich (2019), *Root Mean Square Layer Normalization*, section 4: RMSNorm.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*, section 3: the gradients of
#   pre- and post-norm, and why one of them needs a warm-up.
#
# **Next lesson:** 06, *Tokens and positions*. Attention doesn't know which token comes first, until it is
# told.
