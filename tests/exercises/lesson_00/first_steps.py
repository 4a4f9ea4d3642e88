# %% prelude
import torch


# %% right: product and sum
def first_steps(x):
    return 2 * x + 1


# %% right: torch's own functions
def first_steps(x):
    return torch.add(torch.mul(x, 2), 1)


# %% right: a copy changed in place
def first_steps(x):
    y = x.clone()
    y *= 2
    y += 1
    return y


# %% right: add of a scaled other
def first_steps(x):
    return torch.ones_like(x).add(x, alpha=2)


# %% wrong added-before-doubling: brackets
def first_steps(x):
    return 2 * (x + 1)


# %% wrong added-before-doubling: twice the sum
def first_steps(x):
    y = x + 1
    return y + y


# %% wrong one-forgotten: only doubled
def first_steps(x):
    return 2 * x


# %% wrong one-forgotten: result thrown away
def first_steps(x):
    y = x + x
    y + 1
    return y


# %% wrong not-doubled: only one added
def first_steps(x):
    return x + 1


# %% wrong not-doubled: halved and doubled
def first_steps(x):
    return x / 2 * 2 + 1


# %% wrong squared: power
def first_steps(x):
    return x**2 + 1


# %% wrong squared: times itself
def first_steps(x):
    return x * x + 1


# %% wrong -: subtracts one
def first_steps(x):
    return 2 * x - 1


# %% wrong not-doubled: two is added, and one
def first_steps(x):
    return x + 2 + 1


# %% wrong squared: only a power
def first_steps(x):
    return x**2


# %% wrong squeezed: at the end
def first_steps(x):
    return (2 * x + 1).squeeze()
