# %% prelude
import torch
from torch import nn


# %% right: TODO one way
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


# %% right: TODO another way, as another student would write it
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


# %% right: TODO a third way
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
class GPT(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError
