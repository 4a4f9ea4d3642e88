# %% prelude
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# %% right: index
def embed_tokens(tokens: Tensor, table: Tensor) -> Tensor:
    return table[tokens]


# %% right: one-hot times table
def embed_tokens(tokens, table):
    return F.one_hot(tokens, num_classes=table.shape[0]).to(table.dtype) @ table


# %% right: index_select on flattened ids
def embed_tokens(tokens, table):
    print("tokens", tokens.shape)
    return torch.index_select(table, 0, tokens.reshape(-1)).view(*tokens.shape, -1)


# %% right: loops and stack
def embed_tokens(tokens, table):
    return torch.stack([torch.stack([table[int(i)] for i in row]) for row in tokens])


# %% right: rows of an identity, einsum
def embed_tokens(tokens, table):
    eye = torch.eye(len(table), dtype=table.dtype, device=table.device)
    return torch.einsum("btv,ve->bte", eye[tokens], table)


# %% right: gather
def embed_tokens(tokens, table):
    B, T = tokens.shape
    wide = table.unsqueeze(0).expand(B, -1, -1)
    return wide.gather(1, tokens.unsqueeze(-1).expand(B, T, table.size(1)))


# %% right: a tensor filled row by row
def embed_tokens(tokens, table):
    out = torch.empty(*tokens.shape, table.shape[1], dtype=table.dtype)
    for b, row in enumerate(tokens.tolist()):
        for t, i in enumerate(row):
            out[b, t] = table[i]
    return out


# %% right: bags of one token each
def embed_tokens(tokens, table):
    return F.embedding_bag(tokens.reshape(-1, 1), table, mode="sum").reshape(*tokens.shape, -1)


# %% right: comparing ids by broadcasting
class Embed:
    def __call__(self, tokens, table):
        hot = tokens[..., None] == torch.arange(table.shape[0])
        return hot.type_as(table).matmul(table)


embed_tokens = Embed()


# %% wrong excluded-function: F.embedding
def embed_tokens(tokens, table):
    return F.embedding(tokens, table)


# %% wrong excluded-function: nn.Embedding
def embed_tokens(tokens, table):
    return nn.Embedding.from_pretrained(table, freeze=False)(tokens)


# %% wrong excluded-function: torch.embedding
def embed_tokens(tokens, table):
    return torch.embedding(table, tokens)


# %% wrong excluded-function: the operator
def embed_tokens(tokens, table):
    return torch.ops.aten.embedding.default(table, tokens)


# %% wrong excluded-function: by another name
look_up = getattr(F, "embed" + "ding")


def embed_tokens(tokens, table):
    return look_up(tokens, table)


# %% wrong excluded-function: a subclass
class Table(nn.Embedding):
    pass


def embed_tokens(tokens, table):
    layer = Table(*table.shape)
    layer.weight = nn.Parameter(table)
    return layer(tokens)


# %% wrong one-hot-of-wrong-size: number of classes not given
def embed_tokens(tokens, table):
    return F.one_hot(tokens).to(table.dtype) @ table


# %% wrong one-hot-of-wrong-size: as wide as the vectors
def embed_tokens(tokens, table):
    return F.one_hot(tokens, table.shape[-1]).to(table.dtype) @ table


# %% wrong one-hot-of-wrong-size: the largest id of the batch
def embed_tokens(tokens, table):
    n = int(tokens.max()) + 1
    return torch.einsum("btv,ve->bte", torch.eye(n, dtype=table.dtype)[tokens], table)


# %% wrong one-hot-of-wrong-size: one class too few
def embed_tokens(tokens, table):
    return F.one_hot(tokens, len(table) - 1).to(table.dtype) @ table


# %% wrong one-hot-of-wrong-size: as many classes as tokens
def embed_tokens(tokens, table):
    return F.one_hot(tokens, tokens.size(0)).to(table.dtype) @ table


# %% wrong one-hot-of-wrong-size: scattered into too narrow rows
def embed_tokens(tokens, table):
    hot = torch.zeros(*tokens.shape, tokens.max().item() + 1, dtype=table.dtype)
    return hot.scatter(-1, tokens.unsqueeze(-1), 1.0) @ table


# %% wrong indexes-features: a colon too many
def embed_tokens(tokens, table):
    return table[:, tokens]


# %% wrong indexes-features: the table turned round
def embed_tokens(tokens, table):
    return table.T[tokens]


# %% wrong indexes-features: index_select on axis 1
def embed_tokens(tokens, table):
    return table.index_select(1, tokens.flatten()).reshape(*tokens.shape, -1)


# %% wrong indexes-features: gather along the features
def embed_tokens(tokens, table):
    return torch.gather(table, 1, tokens)


# %% wrong indexes-features: columns stacked in loops
def embed_tokens(tokens, table):
    return torch.stack([torch.stack([table[:, i] for i in row]) for row in tokens.tolist()])


# %% wrong ids-shifted: ids thought to start at 1
def embed_tokens(tokens, table):
    return table[tokens - 1]


# %% wrong ids-shifted: as a one-hot
def embed_tokens(tokens, table):
    return F.one_hot((tokens - 1) % len(table), len(table)).to(table) @ table


# %% wrong multiplied-by-root: as in the paper
def embed_tokens(tokens, table):
    return table[tokens] * math.sqrt(table.shape[1])


# %% wrong multiplied-by-root: a power of the width
def embed_tokens(tokens, table):
    d_model = table.size(-1)
    return table[tokens].mul(d_model**0.5)


# %% wrong gradient-cut: detached
def embed_tokens(tokens, table):
    return table.detach()[tokens]


# %% wrong gradient-cut: through lists
def embed_tokens(tokens, table):
    rows = table.tolist()
    return torch.tensor([[rows[i] for i in sentence] for sentence in tokens.tolist()], dtype=table.dtype)


# %% wrong dtype-changed: one-hot in float32
def embed_tokens(tokens, table):
    return F.one_hot(tokens, len(table)).float() @ table.float()


# %% wrong changes-argument: the table is normalised on the way
def embed_tokens(tokens, table):
    rows = table[tokens]
    table.mul_(0.5)
    return rows


# %% wrong ids-of-another-dtype: long times float
def embed_tokens(tokens, table):
    return F.one_hot(tokens, len(table)) @ table


# %% wrong returns-nothing: no return
def embed_tokens(tokens, table):
    table[tokens]


# %% wrong wrong-type: a list of vectors
def embed_tokens(tokens, table):
    return [table[row] for row in tokens]


# %% wrong wrong-shape: one-hot rows
def embed_tokens(tokens, table):
    return F.one_hot(tokens, len(table)).to(table)


# %% wrong -: padding_idx 0 as zeros
def embed_tokens(tokens, table):
    return table[tokens] * (tokens != 0).unsqueeze(-1)


# %% wrong first-sentence-only: for all
def embed_tokens(tokens, table):
    return table[tokens[0]].expand(len(tokens), -1, -1)


# %% wrong -: unit length
def embed_tokens(tokens, table):
    return F.normalize(table[tokens], dim=-1)


# %% wrong -: ids counted from the end
def embed_tokens(tokens, table):
    return table[-1 - tokens]


# %% wrong ids-multiplied: a product of matrices
def embed_tokens(tokens, table):
    return tokens @ table


# %% wrong ids-multiplied: with one row
def embed_tokens(tokens, table):
    return tokens.unsqueeze(-1) * table[0]


# %% wrong positions-instead-of-ids: a slice
def embed_tokens(tokens, table):
    return table[: tokens.shape[1]].expand(tokens.shape[0], -1, -1)


# %% wrong positions-instead-of-ids: arange
def embed_tokens(tokens, table):
    rows = table[torch.arange(tokens.shape[1])].repeat(tokens.shape[0], 1, 1)
    return rows


# %% wrong first-sentence-only: the first one
def embed_tokens(tokens, table):
    return table[tokens[0]]


# %% wrong first-sentence-only: in a loop
def embed_tokens(tokens, table):
    rows = torch.stack([table[id] for id in tokens[0]])
    return rows


# %% wrong batch-flattened: flattened in a loop
def embed_tokens(tokens, table):
    return torch.stack([table[t] for t in tokens.flatten()])


# %% wrong batch-flattened: joined
def embed_tokens(tokens, table):
    rows = torch.cat([table[row] for row in tokens])
    return rows


# %% wrong axes-swapped: transposed
def embed_tokens(tokens, table):
    return table[tokens].transpose(1, 2)


# %% wrong axes-swapped: a loop over places
def embed_tokens(tokens, table):
    rows = torch.stack([table[column] for column in tokens.T])
    return rows


# %% wrong one-number-a-token: gather
def embed_tokens(tokens, table):
    return torch.gather(table, 0, tokens)


# %% wrong one-number-a-token: the first column
def embed_tokens(tokens, table):
    rows = torch.stack([torch.stack([table[id, 0] for id in row]) for row in tokens])
    return rows


# %% wrong ids-of-another-dtype: one-hot without a cast
def embed_tokens(tokens, table):
    return F.one_hot(tokens, table.shape[0]) @ table


# %% wrong ids-of-another-dtype: a float index
def embed_tokens(tokens, table):
    return table[tokens.float()]


# %% right: index_select
def embed_tokens(tokens, table):
    return table.index_select(0, tokens.reshape(-1)).view(*tokens.shape, -1)
