# %% prelude
import numpy as np
import torch
import torch.nn.functional as F


# %% right: a column of ones
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 0] = 1.0
    return weights


# %% right: one-hot
def first_token_pattern(seq_len: int) -> torch.Tensor:
    return F.one_hot(torch.zeros(seq_len, dtype=torch.long), seq_len).float()


# %% right: a row of the identity, repeated
def first_token_pattern(seq_len):
    return torch.eye(seq_len)[0].repeat(seq_len, 1)


# %% right: expanded, so that memory is shared
def first_token_pattern(seq_len):
    return torch.eye(seq_len)[:1].expand(seq_len, seq_len)


# %% right: lists
def first_token_pattern(seq_len):
    return torch.tensor([[1.0] + [0.0] * (seq_len - 1) for _ in range(seq_len)])


# %% right: softmax of minus infinity
def first_token_pattern(seq_len):
    scores = torch.full((seq_len, seq_len), -torch.inf)
    scores[:, 0] = 0
    return scores.softmax(-1)


# %% right: compared positions, two loops, NumPy
def first_token_pattern(seq_len):
    made = np.zeros((seq_len, seq_len), dtype=np.float32)
    for i in range(seq_len):
        for j in range(seq_len):
            made[i, j] = j == 0
    return torch.from_numpy(made)


# %% wrong first-row-instead: the first row
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[0] = 1.0
    return weights


# %% wrong first-row-instead: one-hot turned round
def first_token_pattern(seq_len):
    return torch.eye(seq_len)[:1].expand(seq_len, seq_len).T


# %% wrong first-row-instead: the first row, made to sum to one
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[0, :] = 1 / seq_len
    return weights


# %% wrong first-row-instead: indices the wrong way round
def first_token_pattern(seq_len):
    return torch.tensor([[float(i == 0) for j in range(seq_len)] for i in range(seq_len)])


# %% wrong last-token-instead: index -1
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, -1] = 1.0
    return weights


# %% wrong last-token-instead: flipped
def first_token_pattern(seq_len):
    return torch.eye(seq_len)[0].flip(0).repeat(seq_len, 1)


# %% wrong diagonal-instead: identity
def first_token_pattern(seq_len):
    return torch.eye(seq_len)


# %% wrong diagonal-instead: a loop
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        weights[i, i] = 1
    return weights


# %% wrong dtype-changed: whole numbers
def first_token_pattern(seq_len):
    return F.one_hot(torch.zeros(seq_len, dtype=torch.long), seq_len)


# %% wrong dtype-changed: bool
def first_token_pattern(seq_len):
    return torch.arange(seq_len).expand(seq_len, seq_len) == 0


# %% wrong dtype-changed: NumPy's double precision
def first_token_pattern(seq_len):
    made = np.zeros((seq_len, seq_len))
    made[:, 0] = 1
    return torch.from_numpy(made)


# %% wrong wrong-type: a NumPy array
def first_token_pattern(seq_len):
    made = np.zeros((seq_len, seq_len), dtype=np.float32)
    made[:, 0] = 1
    return made


# %% wrong wrong-shape: one row
def first_token_pattern(seq_len):
    return torch.eye(seq_len)[:1]


# %% wrong returns-nothing: no return
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 0] = 1.0


# %% wrong -: the example's size
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:4, 0] = 1.0
    return weights


# %% wrong -: uniform
def first_token_pattern(seq_len):
    return torch.full((seq_len, seq_len), 1 / seq_len)


# %% wrong second-token-instead: the second column
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 1 % seq_len] = 1.0
    return weights


# %% wrong second-token-instead: the remainder of 1
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 1 % seq_len] = 1.0
    return weights


# %% wrong one-row-only: one entry
def first_token_pattern(seq_len):
    w = torch.zeros(seq_len, seq_len)
    w[0, 0] = 1
    return w


# %% wrong one-row-only: a slice
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[0, :1] = 1.0
    return weights


# %% wrong first-row-empty: rows from 1
def first_token_pattern(seq_len):
    w = torch.zeros(seq_len, seq_len)
    w[1:, 0] = 1
    return w


# %% wrong first-row-empty: arange from 1
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[torch.arange(1, seq_len), 0] = 1.0
    return weights


# %% wrong shares-of-the-column: divided by the length
def first_token_pattern(seq_len):
    w = torch.zeros(seq_len, seq_len)
    w[:, 0] = 1 / seq_len
    return w


# %% wrong shares-of-the-column: columns normalised
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 0] = 1.0
    return weights / weights.sum(0, keepdim=True).clamp(min=1)


# %% wrong softmax-of-weights: softmax
def first_token_pattern(seq_len):
    w = torch.zeros(seq_len, seq_len)
    w[:, 0] = 1
    return w.softmax(-1)


# %% wrong softmax-of-weights: by a function
def first_token_pattern(seq_len):
    weights = torch.zeros(seq_len, seq_len)
    weights[:, 0] = 1.0
    return torch.softmax(weights, dim=1)


# %% wrong others-get-weight-too: an identity beneath
def first_token_pattern(seq_len):
    w = torch.eye(seq_len)
    w[:, 0] = 1
    return w


# %% wrong others-get-weight-too: the first row too
def first_token_pattern(seq_len):
    w = torch.zeros(seq_len, seq_len)
    w[:, 0] = 1
    w[0, :] = 1
    return w
