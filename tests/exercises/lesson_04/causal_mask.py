# %% prelude
import math

import numpy as np
import torch
from torch import nn


# %% right: lower triangle of True
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


# %% right: compare positions
def causal_mask(seq_len: int) -> torch.Tensor:
    positions = torch.arange(seq_len)
    return positions[None, :] <= positions[:, None]


# %% right: negated upper triangle
def causal_mask(seq_len):
    future = torch.triu(torch.ones(seq_len, seq_len), diagonal=1).bool()
    return ~future


# %% right: two loops
def causal_mask(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for query in range(seq_len):
        for key in range(query + 1):
            mask[query, key] = True
    return mask


# %% right: a nested list
def causal_mask(seq_len):
    return torch.tensor([[key <= query for key in range(seq_len)] for query in range(seq_len)])


# %% right: torch's additive mask turned into bool
def causal_mask(seq_len):
    print("seq_len", seq_len)
    return nn.Transformer.generate_square_subsequent_mask(seq_len) == 0


# %% right: through NumPy
def causal_mask(seq_len):
    return torch.from_numpy(np.tril(np.ones((seq_len, seq_len), dtype=bool)))


# %% right: running sum of the identity
def causal_mask(seq_len):
    return torch.eye(seq_len).cumsum(0).gt(0)


# %% right: a callable object
class Triangle:
    def __call__(self, seq_len):
        rows, columns = torch.tril_indices(seq_len, seq_len)
        mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
        mask[rows, columns] = True
        return mask


causal_mask = Triangle()


# %% wrong mask-inverted: True = hide
def causal_mask(seq_len):
    return torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), diagonal=1)


# %% wrong mask-inverted: negated lower triangle
def causal_mask(seq_len):
    return ~torch.ones(seq_len, seq_len).tril().bool()


# %% wrong mask-inverted: upper triangle with its diagonal
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len).triu().bool()


# %% wrong mask-inverted: compared the other way round
def causal_mask(seq_len):
    i = torch.arange(seq_len)
    return i[None, :] > i[:, None]


# %% wrong mask-inverted: numbers, hide is 1
def causal_mask(seq_len):
    return torch.triu(torch.ones(seq_len, seq_len), diagonal=1)


# %% wrong diagonal-hidden: tril one below
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len).tril(diagonal=-1).bool()


# %% wrong diagonal-hidden: negated triu with its diagonal
def causal_mask(seq_len):
    return ~torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool))


# %% wrong diagonal-hidden: strictly before
def causal_mask(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, :t] = True
    return mask


# %% wrong one-future-token-visible: tril one above
def causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len), 1) == 1


# %% wrong one-future-token-visible: negated triu from the second diagonal
def causal_mask(seq_len):
    return torch.triu(torch.ones(seq_len, seq_len), diagonal=2) == 0


# %% wrong one-future-token-visible: off by one in a slice
def causal_mask(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, : t + 2] = True
    return mask


# %% wrong not-bool: floats
def causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len))


# %% wrong not-bool: integers
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.int64).tril()


# %% wrong not-bool: bytes
def causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len, dtype=torch.uint8))


# %% wrong not-bool: to be added to scores
def causal_mask(seq_len):
    return torch.triu(torch.full((seq_len, seq_len), -math.inf), diagonal=1)


# %% wrong not-bool: torch's additive mask as it is
def causal_mask(seq_len):
    return nn.Transformer.generate_square_subsequent_mask(seq_len)


# %% wrong wrong-shape: with an axis for the batch
def causal_mask(seq_len):
    return torch.ones(1, seq_len, seq_len, dtype=torch.bool).tril()


# %% wrong wrong-shape: one row
def causal_mask(seq_len):
    return torch.arange(seq_len) < seq_len


# %% wrong wrong-type: a NumPy array
def causal_mask(seq_len):
    return np.tril(np.ones((seq_len, seq_len), dtype=bool))


# %% wrong wrong-type: nested lists
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len).tril().bool().tolist()


# %% wrong returns-nothing: no return
def causal_mask(seq_len):
    torch.ones(seq_len, seq_len).tril().bool()


# %% wrong not-finite: zero times infinity
def causal_mask(seq_len):
    return (1 - torch.ones(seq_len, seq_len).tril()) * -math.inf


# %% wrong raised: a size for a tensor
def causal_mask(seq_len):
    return torch.ones(seq_len.shape[0], seq_len.shape[0]).tril().bool()


# %% wrong everything-visible: everything visible
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool)


# %% wrong only-itself: only the token itself
def causal_mask(seq_len):
    return torch.eye(seq_len).bool()


# %% wrong -: a window of three
def causal_mask(seq_len):
    offsets = torch.arange(seq_len)[:, None] - torch.arange(seq_len)
    return (offsets >= 0) & (offsets < 3)


# %% wrong -: the example's size
def causal_mask(seq_len):
    return torch.tensor([[True, False, False], [True, True, False], [True, True, True]])


# %% wrong -: flipped left to right
def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len).tril().bool().flip(-1)


# %% wrong everything-visible: the triangle's result dropped
def causal_mask(seq_len):
    mask = torch.ones(seq_len, seq_len, dtype=torch.bool)
    torch.tril(mask)
    return mask


# %% wrong only-itself: compared for equality
def causal_mask(seq_len):
    positions = torch.arange(seq_len)
    return positions[None, :] == positions[:, None]


# %% wrong diagonal-hidden: a slice that ends too early
def causal_mask(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        mask[i, :i] = True
    return mask


# %% wrong mask-inverted: columns in place of rows
def causal_mask(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        mask[: i + 1, i] = True
    return mask


# %% wrong table-of-a-fixed-size: cut from a table
TABLE = torch.ones(64, 64).tril().bool()


def causal_mask(seq_len):
    return TABLE[:seq_len, :seq_len]


# %% wrong table-of-a-fixed-size: written into one
def causal_mask(seq_len):
    mask = torch.zeros(100, 100, dtype=torch.bool)
    for i in range(seq_len):
        mask[i, : i + 1] = True
    return mask[:seq_len, :seq_len]


# %% right: a column and a row compared
def causal_mask(seq_len):
    i = torch.arange(seq_len)
    return i.unsqueeze(0).le(i.unsqueeze(1))
