# %% prelude
import math

import torch
import torch.nn.functional as F
from torch import Tensor


# %% right: index and slice
def embed_with_positions(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    seq_len = tokens.shape[1]
    if seq_len > len(position_table):
        raise ValueError(f"{seq_len} tokens, but only {len(position_table)} positions")
    return token_table[tokens] + position_table[:seq_len]


# %% right: built-ins and expanded positions, as in the source
def embed_with_positions(tokens, token_table, position_table):
    N, L = tokens.shape
    max_length = position_table.size(0)
    if L > max_length:
        raise ValueError("sequence length %d exceeds max_length %d" % (L, max_length))
    positions = torch.arange(0, L).expand(N, L)
    return F.embedding(tokens, token_table) + F.embedding(positions, position_table)


# %% right: one-hots, an error class of its own
class TooLong(ValueError):
    pass


def embed_with_positions(tokens, token_table, position_table):
    T, P = tokens.size(-1), position_table.shape[0]
    if P < T:
        raise TooLong(f"{P} < {T}")
    words = F.one_hot(tokens, len(token_table)).to(token_table) @ token_table
    places = torch.eye(P, dtype=position_table.dtype)[:T] @ position_table
    return words + places[None]


# %% right: sentence by sentence
def embed_with_positions(tokens, token_table, position_table):
    print(tokens)
    if tokens.shape[1] > position_table.shape[0]:
        raise ValueError(f"too long: {tokens.shape[1]} (at most {position_table.shape[0]})")
    rows = []
    for sentence in tokens:
        rows.append(torch.stack([token_table[i] + position_table[t] for t, i in enumerate(sentence.tolist())]))
    return torch.stack(rows)


# %% right: with an earlier exercise
def embed_tokens(tokens, table):
    return table[tokens]


def embed_with_positions(tokens, token_table, position_table):
    positions = torch.arange(tokens.shape[1])
    try:
        place = position_table[positions]
    except IndexError:
        raise ValueError(f"no room for {len(positions)} tokens in {len(position_table)} positions") from None
    return place + embed_tokens(tokens, token_table)


# %% right: positions by counting up along the sentence
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[-1] > position_table.shape[-2]:
        raise ValueError(f"T={tokens.shape[-1]}, P={position_table.shape[-2]}")
    positions = torch.ones_like(tokens).cumsum(1) - 1
    return token_table.index_select(0, tokens.flatten()).view(*tokens.shape, -1) + position_table[positions]


# %% wrong positions-forgotten: only the tokens
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    return token_table[tokens]


# %% wrong positions-forgotten: computed and dropped
def embed_with_positions(tokens, token_table, position_table):
    x = F.embedding(tokens, token_table)
    places = position_table[: tokens.shape[1]]
    x.add(places)
    return x


# %% wrong positions-by-token-id: both looked up by id
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    return token_table[tokens] + position_table[tokens]


# %% wrong positions-by-token-id: built-ins
def embed_with_positions(tokens, token_table, position_table):
    return F.embedding(tokens, token_table) + F.embedding(tokens, position_table)


# %% wrong positions-by-token-id: the tables added first, by id
def embed_with_positions(tokens, token_table, position_table):
    n = min(len(token_table), len(position_table))
    return (token_table[:n] + position_table[:n])[tokens]


# %% wrong positions-along-batch: arange over the batch
def embed_with_positions(tokens, token_table, position_table):
    positions = torch.arange(tokens.shape[0]).unsqueeze(1)
    return token_table[tokens] + position_table[positions]


# %% wrong positions-along-batch: expanded the wrong way
def embed_with_positions(tokens, token_table, position_table):
    B, T = tokens.shape
    positions = torch.arange(B)[:, None].expand(B, T)
    return F.embedding(tokens, token_table) + F.embedding(positions, position_table)


# %% wrong positions-along-batch: an axis added on the wrong side
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + position_table[: tokens.shape[1]].unsqueeze(1)


# %% wrong positions-along-batch: a loop over sentences
def embed_with_positions(tokens, token_table, position_table):
    return torch.stack([token_table[row] + position_table[n] for n, row in enumerate(tokens)])


# %% wrong positions-along-batch: as many rows as sentences
def embed_with_positions(tokens, token_table, position_table):
    words = token_table[tokens]
    if words.size(0) > len(position_table):
        raise ValueError(f"{words.size(0)} {len(position_table)}")
    return words + position_table[: words.size(0)]


# %% wrong positions-along-batch: arange over the wrong length
def embed_with_positions(tokens, token_table, position_table):
    return F.embedding(tokens, token_table) + position_table[torch.arange(len(tokens))]


# %% wrong concatenated: side by side
def embed_with_positions(tokens, token_table, position_table):
    B, T = tokens.shape
    if T > len(position_table):
        raise ValueError(f"{T} {len(position_table)}")
    return torch.cat([token_table[tokens], position_table[:T].expand(B, -1, -1)], dim=-1)


# %% wrong concatenated: position in front
def embed_with_positions(tokens, token_table, position_table):
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    return torch.concat((position_table[positions], token_table[tokens]), 2)


# %% wrong concatenated: along the sentence
def embed_with_positions(tokens, token_table, position_table):
    words = token_table[tokens]
    return torch.cat([words, position_table[: words.shape[1]].expand_as(words)], dim=1)


# %% wrong starts-at-one: arange from 1
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + position_table[torch.arange(1, tokens.shape[1] + 1)]


# %% wrong starts-at-one: positions + 1
def embed_with_positions(tokens, token_table, position_table):
    places = torch.arange(tokens.shape[1]) + 1
    return F.embedding(tokens, token_table) + F.embedding(places, position_table).unsqueeze(0)


# %% wrong whole-position-table: not cut
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    return token_table[tokens] + position_table


# %% wrong whole-position-table: with a batch axis
def embed_with_positions(tokens, token_table, position_table):
    return position_table.unsqueeze(0) + F.embedding(tokens, token_table)


# %% wrong multiplied-by-root: as in the paper
def embed_with_positions(tokens, token_table, position_table):
    T = tokens.shape[1]
    if T > len(position_table):
        raise ValueError(f"{T} {len(position_table)}")
    return token_table[tokens] * math.sqrt(token_table.shape[1]) + position_table[:T]


# %% wrong multiplied-by-root: the scale first
def embed_with_positions(tokens, token_table, position_table):
    scaled = token_table * token_table.shape[-1] ** 0.5
    return scaled[tokens] + position_table[: tokens.shape[1]]


# %% wrong gradient-cut: the position table detached
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    return token_table[tokens] + position_table[: tokens.shape[1]].detach()


# %% wrong changes-argument: added in place
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    token_table += 0.5
    return token_table[tokens] - 0.5 + position_table[: tokens.shape[1]]


# %% wrong returns-nothing: no return
def embed_with_positions(tokens, token_table, position_table):
    x = token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong wrong-type: both apart
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens], position_table[: tokens.shape[1]]


# %% wrong -: no error
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong -: positions clamped where the table ends
def embed_with_positions(tokens, token_table, position_table):
    positions = torch.arange(tokens.shape[1]).clamp(max=len(position_table) - 1)
    return token_table[tokens] + position_table[positions]


# %% wrong -: an error that names no length
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > len(position_table):
        raise ValueError("too many tokens")
    return token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong -: IndexError in place of ValueError
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + position_table[torch.arange(tokens.shape[1])]


# %% wrong -: the batch compared with the table
def embed_with_positions(tokens, token_table, position_table):
    if len(tokens) > len(position_table):
        raise ValueError(f"{len(tokens)} {len(position_table)}")
    return token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong full-length-refused: refuses a full table
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] >= len(position_table):
        raise ValueError(f"{tokens.shape[1]} {len(position_table)}")
    return token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong multiplied: one line
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] * position_table[: tokens.shape[1]]


# %% wrong -: the last positions
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + position_table[-tokens.shape[1] :]


# %% wrong -: averaged
def embed_with_positions(tokens, token_table, position_table):
    return (token_table[tokens] + position_table[: tokens.shape[1]]) / 2


# %% wrong -: the position as a number
def embed_with_positions(tokens, token_table, position_table):
    return token_table[tokens] + torch.arange(tokens.shape[1]).unsqueeze(-1)


# %% wrong same-position-for-all: the first
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > position_table.shape[0]:
        raise ValueError(f"{tokens.shape[1]} > {position_table.shape[0]}")
    return token_table[tokens] + position_table[0]


# %% wrong same-position-for-all: the last
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] > position_table.shape[0]:
        raise ValueError(f"{tokens.shape[1]} > {position_table.shape[0]}")
    return token_table[tokens] + position_table[tokens.shape[1] - 1]


# %% wrong tokens-forgotten: expanded
def embed_with_positions(tokens, token_table, position_table):
    T = tokens.shape[1]
    if T > position_table.shape[0]:
        raise ValueError(f"{T} > {position_table.shape[0]}")
    return position_table[:T].expand(tokens.shape[0], -1, -1)


# %% wrong tokens-forgotten: repeated
def embed_with_positions(tokens, token_table, position_table):
    length, longest = tokens.shape[1], len(position_table)
    if length > longest:
        raise ValueError(f"{length} tokens, {longest} positions")
    positions = torch.arange(length)
    return position_table[positions].repeat(len(tokens), 1, 1)


# %% wrong tables-swapped: both
def embed_with_positions(tokens, token_table, position_table):
    T = tokens.shape[1]
    if T > position_table.shape[0]:
        raise ValueError(f"{T} > {position_table.shape[0]}")
    return position_table[tokens] + token_table[:T]


# %% wrong tables-swapped: by their indices
def embed_with_positions(tokens, token_table, position_table):
    length, longest = tokens.shape[1], len(position_table)
    if length > longest:
        raise ValueError(f"{length} tokens, {longest} positions")
    positions = torch.arange(length)
    return token_table[positions] + position_table[tokens]


# %% wrong full-length-refused: greater or equal
def embed_with_positions(tokens, token_table, position_table):
    if tokens.shape[1] >= position_table.shape[0]:
        raise ValueError(f"{tokens.shape[1]} > {position_table.shape[0]}")
    return token_table[tokens] + position_table[: tokens.shape[1]]


# %% wrong full-length-refused: not less
def embed_with_positions(tokens, token_table, position_table):
    length, longest = tokens.shape[1], len(position_table)
    if not length < longest:
        raise ValueError(f"{length} tokens, {longest} positions")
    positions = torch.arange(length)
    return token_table[tokens] + position_table[positions]


# %% wrong stacked: in front
def embed_with_positions(tokens, token_table, position_table):
    T = tokens.shape[1]
    if T > position_table.shape[0]:
        raise ValueError(f"{T} > {position_table.shape[0]}")
    return torch.stack([token_table[tokens], position_table[:T].expand(tokens.shape[0], -1, -1)])


# %% wrong stacked: behind
def embed_with_positions(tokens, token_table, position_table):
    length, longest = tokens.shape[1], len(position_table)
    if length > longest:
        raise ValueError(f"{length} tokens, {longest} positions")
    positions = torch.arange(length)
    return torch.stack((token_table[tokens], position_table[positions].expand(len(tokens), -1, -1)), dim=-1)


# %% wrong multiplied: row times row
def embed_with_positions(tokens, token_table, position_table):
    length, most = tokens.shape[1], len(position_table)
    if length > most:
        raise ValueError(f"{length} tokens, {most} positions")
    return token_table[tokens] * position_table[:length]


# %% wrong multiplied: einsum
def embed_with_positions(tokens, token_table, position_table):
    length, most = tokens.shape[1], len(position_table)
    if length > most:
        raise ValueError(f"{length} tokens, {most} positions")
    return torch.einsum("bte,te->bte", token_table[tokens], position_table[:length])


# %% wrong -: the last rows of the table
def embed_with_positions(tokens, token_table, position_table):
    T, L = tokens.shape[1], len(position_table)
    if T > L:
        raise ValueError(f"got {T} tokens, have {L} positions")
    return token_table[tokens] + position_table[-T:]
