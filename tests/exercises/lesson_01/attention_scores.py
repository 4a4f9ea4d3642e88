# %% prelude
import math

import torch
import torch.nn.functional as F

# %% right: matmul with the last two axes swapped
def attention_scores(query, key):
    return query @ key.transpose(-2, -1)

# %% right: einsum
def attention_scores(query, key):
    return torch.einsum("...td,...sd->...ts", query, key)

# %% right: broadcast and sum
def attention_scores(query, key):
    return (query[..., :, None, :] * key[..., None, :, :]).sum(-1)

# %% wrong scores-transposed: key first
def attention_scores(query, key):
    return key @ query.transpose(-2, -1)

# %% wrong scores-transposed: transposed afterwards
def attention_scores(query, key):
    return torch.einsum("...td,...sd->...st", query, key)

# %% wrong -: off by one everywhere
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) + 1
