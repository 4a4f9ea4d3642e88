# %% prelude
import math

import torch
import torch.nn.functional as F


def split_heads(x, num_heads):
    *leading, length, width = x.shape
    return x.reshape(*leading, length, num_heads, width // num_heads).transpose(-3, -2)


def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2)


def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)


def cut(x, num_heads):
    return split_heads(x, num_heads)


def join(x):
    return merge_heads(x)


def masked(scores, dim=-1):
    future = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.softmax(scores.masked_fill(future, -math.inf), dim)


# %% right: with the pieces
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% right: einsum
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (torch.einsum("...te,ef->...tf", x, w).unflatten(-1, (num_heads, -1)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("...thd,...shd->...hts", q, k) * q.shape[-1] ** -0.5
    t = torch.arange(x.shape[-2])
    weights = scores.masked_fill(t[None, :] > t[:, None], -math.inf).softmax(-1)
    mixed = torch.einsum("...hts,...shd->...thd", weights, v).flatten(-2)
    return [mixed @ w_o, weights]


# %% right: fused
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    eye = torch.eye(x.shape[-2], dtype=x.dtype).expand(*k.shape[:-1], -1)
    output = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return merge_heads(output) @ w_o, F.scaled_dot_product_attention(q, k, eye, is_causal=True)


# %% right: head by head
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    size = x.shape[-1] // num_heads
    outputs, weights = [], []
    for h in range(num_heads):
        columns = slice(h * size, (h + 1) * size)
        q, k, v = x @ w_q[:, columns], x @ w_k[:, columns], x @ w_v[:, columns]
        scores = q @ k.transpose(-1, -2) / size**0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights.append(torch.softmax(scores.masked_fill(future, -1e9), -1))
        outputs.append(weights[-1] @ v)
    return torch.cat(outputs, -1) @ w_o, torch.stack(weights, -3)


# %% right: token by token
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    length = x.shape[-2]
    rows, mixed = [], []
    for t in range(length):
        row = torch.softmax(q[..., t : t + 1, :] @ k[..., : t + 1, :].mT / math.sqrt(q.shape[-1]), -1)
        mixed.append(row @ v[..., : t + 1, :])
        rows.append(F.pad(row, (0, length - t - 1)))
    return merge_heads(torch.cat(mixed, -2)) @ w_o, torch.cat(rows, -2)


# %% right: additive mask and one projection for all
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (x @ torch.cat([w_q, w_k, w_v], 1)).chunk(3, -1)
    q, k, v = split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads)
    bias = torch.full((x.shape[-2],) * 2, -torch.inf, dtype=x.dtype).triu(1)
    weights = torch.softmax(torch.matmul(q, k.mT) / q.size(-1) ** 0.5 + bias, -1)
    return merge_heads(weights @ v) @ w_o, weights


# %% wrong mask-ignored: no mask
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-ignored: a mask that is all True
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, torch.ones(scores.shape[-2:], dtype=torch.bool))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-after-softmax: product
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) * causal_mask(x.shape[-2])
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-after-softmax: tril
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.tril(F.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-inverted: negated once too often
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), ~causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-inverted: masked_fill with what may be seen
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(causal_mask(x.shape[-2]), -torch.inf).softmax(-1)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong mask-inverted: upper triangle with its diagonal
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]).T)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong diagonal-hidden: triu with its diagonal
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.triu(torch.ones(x.shape[-2], x.shape[-2])).bool()
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong diagonal-hidden: tril below it
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]).tril(-1))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong one-future-token-visible: triu from 2
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.triu(torch.ones(x.shape[-2], x.shape[-2]), diagonal=2).bool()
    weights = scores.masked_fill(future, -1e9).softmax(-1)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong one-future-token-visible: tril to 1
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    visible = torch.ones(x.shape[-2], x.shape[-2]).tril(1) > 0
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), visible)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong scaled-by-d_model: width of x
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(x.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong scaled-by-d_model: size of a weight
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(torch.matmul(query, key.mT) * len(w_q) ** -0.5, causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong no-scaling: bare scores
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT, causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong no-scaling: einsum
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = torch.einsum("...td,...sd->...ts", query, key)
    weights = scores.masked_fill(~causal_mask(x.shape[-2]), -1e30).softmax(-1)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong one-head-only: no split
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return weights @ value @ w_o, weights


# %% wrong one-head-only: one head's axis
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, 1) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong view-without-transpose: view
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    *leading, length, width = x.shape
    query, key, value = ((x @ w).view(*leading, num_heads, length, width // num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(length))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong view-without-transpose: there and back
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    *leading, length, width = x.shape
    query, key, value = ((x @ w).reshape(*leading, num_heads, length, -1) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(length))
    return (weights @ value).reshape(x.shape) @ w_o, weights


# %% wrong merge-without-transpose: reshape
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return (weights @ value).reshape(x.shape) @ w_o, weights


# %% wrong merge-without-transpose: contiguous and view
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    mixed = (weights @ value).contiguous().view(*x.shape[:-1], -1)
    return mixed @ w_o, weights


# %% wrong no-output-projection: merged heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value), weights


# %% wrong no-output-projection: concatenated
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return torch.cat((weights @ value).unbind(-3), -1), weights


# %% wrong heads-last: view (T, D, H) in split and merge
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (-1, num_heads)).movedim(-1, -3) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).movedim(-3, -1).flatten(-2) @ w_o, weights


# %% wrong heads-last: strided columns, concatenated
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (torch.stack([(x @ w)[..., h::num_heads] for h in range(num_heads)], -3) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return torch.cat((weights @ v).unbind(-3), -1) @ w_o, weights


# %% wrong heads-interleaved: movedim to the end
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).movedim(-3, -1).flatten(-2) @ w_o, weights


# %% wrong heads-interleaved: stacked on the last axis
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return torch.stack((weights @ v).unbind(-3), -1).reshape(x.shape) @ w_o, weights


# %% wrong scale-multiplied: two minus signs
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / q.shape[-1] ** -0.5, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scale-multiplied: times the root
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q * math.sqrt(q.shape[-1]) @ k.mT, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: no root
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / q.shape[-1], -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: no root, by heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT * num_heads / x.shape[-1], -1)
    return join(weights @ v) @ w_o, weights


# %% wrong softmax-over-queries: dim -2
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -2)
    return join(weights @ v) @ w_o, weights


# %% wrong softmax-over-queries: dim 1, right only with no leading axes... where it is the queries
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), dim=1)
    return join(weights @ v) @ w_o, weights


# %% wrong attention-transposed: weights.mT
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights.mT @ v) @ w_o, weights


# %% wrong attention-transposed: letters swapped
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(torch.einsum("...hts,...htd->...hsd", weights, v)) @ w_o, weights


# %% wrong weights-averaged: mean over the heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights.mean(-3, keepdim=True)


# %% wrong weights-transposed: as nn.Linear would
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(F.linear(x, w), num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return F.linear(join(weights @ v), w_o), weights


# %% wrong weights-transposed: the last one only
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o.T, weights


# %% wrong value-from-key: copied line
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x @ w_k, num_heads)
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong value-from-key: the product is taken with the keys
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads)
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(torch.einsum("...ts,...sd->...td", weights, k)) @ w_o, weights


# %% wrong same-projection: w_q for all
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q = k = v = cut(x @ w_q, num_heads)
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong same-projection: w_q for the keys
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_q, num_heads), cut(x @ w_v, num_heads)
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong no-value-projection: the tokens themselves are averaged
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x, num_heads)
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong view-without-contiguous: view after the transpose
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).transpose(-3, -2).view(x.shape) @ w_o, weights


# %% wrong view-without-contiguous: on a batch of one too
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    mixed = torch.einsum("...hts,...hsd->...htd", weights, v).contiguous()
    return mixed.movedim(-3, -2).view(*x.shape[:-1], x.shape[-1]) @ w_o, weights


# %% wrong output-and-weights-swapped: weights and output swapped
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights, join(weights @ v) @ w_o


# %% wrong gradient-cut: weights detached for the output
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1).detach()
    return join(weights @ v) @ w_o, weights


# %% wrong shape-of-one-rank: works only on a batch
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    B, T, E = x.shape
    q, k, v = ((x @ w).view(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).transpose(1, 2).reshape(B, T, E) @ w_o, weights


# %% wrong wrong-type: only the output
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o


# %% wrong changes-argument: in place
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    x.copy_(merge_heads(weights @ value) @ w_o)
    return x.clone(), weights


# %% wrong dtype-changed: float mask of its own
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    x, w_q, w_k, w_v, w_o = (t.float() for t in (x, w_q, w_k, w_v, w_o))
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong same-projection: values by the queries' weights
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_q))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong heads-last: split only
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    def parted(y):
        return y.unflatten(-1, (-1, num_heads)).movedim(-1, -3)

    query, key, value = (parted(x @ w) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong -: a window of two
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    mask = causal_mask(x.shape[-2]).triu(-1)
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong weights-transposed: F.linear at the end
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), causal_mask(x.shape[-2]))
    return F.linear(merge_heads(weights @ value), w_o), weights


# %% wrong -: only the first head is masked
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    mask = torch.ones(scores.shape[-3:], dtype=torch.bool)
    mask[0] = causal_mask(x.shape[-2])
    weights = masked_softmax(scores, mask)
    return merge_heads(weights @ value) @ w_o, weights


# %% wrong scaled-by-num_heads: scaled by the root of the number of heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(num_heads))
    return join(weights @ v) @ w_o, weights


# %% wrong weights-averaged: one table of the mean
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]))
    return join(weights @ v) @ w_o, weights.mean(dim=-3, keepdim=True)


# %% wrong no-value-projection: x cut into heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x, num_heads)
    weights = masked(torch.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5)
    return join(weights @ v) @ w_o, weights


# %% wrong zero-instead-of-minus-infinity: tril of the scores
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(torch.tril(q @ k.mT / math.sqrt(q.shape[-1])), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong zero-instead-of-minus-infinity: scores times mask
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = F.softmax(q @ k.mT / math.sqrt(q.shape[-1]) * causal_mask(x.shape[-2]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong mask-added: as numbers
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + causal_mask(x.shape[-2])
    weights = scores.softmax(-1)
    return join(weights @ v) @ w_o, weights


# %% wrong mask-added: torch.tril
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    triangle = torch.tril(torch.ones(x.shape[-2], x.shape[-2], dtype=x.dtype))
    weights = F.softmax(q @ k.mT * q.shape[-1] ** -0.5 + triangle, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong zero-times-infinity: the negated mask
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = (scores + ~causal_mask(x.shape[-2]) * -math.inf).softmax(-1)
    return join(weights @ v) @ w_o, weights


# %% wrong zero-times-infinity: triu of ones
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    future = torch.triu(torch.ones(x.shape[-2], x.shape[-2]), diagonal=1) * float("-inf")
    weights = F.softmax(q @ k.mT / math.sqrt(q.shape[-1]) + future, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong small-negative-fill: -2
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~causal_mask(x.shape[-2]), -2.0).softmax(-1)
    return join(weights @ v) @ w_o, weights


# %% wrong small-negative-fill: -8
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    visible = torch.ones(x.shape[-2], x.shape[-2]).tril() == 1
    weights = torch.where(visible, scores, torch.full_like(scores, -8.0)).softmax(-1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-num_heads: as a power
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT / num_heads**0.5, causal_mask(x.shape[-2]))
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-after-softmax: the weights
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT, causal_mask(x.shape[-2])) / math.sqrt(q.shape[-1])
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-after-softmax: the output of the heads
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT, causal_mask(x.shape[-2]))
    return join(weights @ v / math.sqrt(q.shape[-1])) @ w_o, weights


# %% wrong scores-transposed: key first
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(k @ q.mT / math.sqrt(q.shape[-1]))
    return join(weights @ v) @ w_o, weights


# %% wrong scores-transposed: weight matrices exchanged
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_k, w_q, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]))
    return join(weights @ v) @ w_o, weights


# %% wrong transpose-forgotten: at
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k / math.sqrt(q.shape[-1]))
    return join(weights @ v) @ w_o, weights


# %% wrong transpose-forgotten: matmul
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(torch.matmul(q, k) * q.shape[-1] ** -0.5, causal_mask(x.shape[-2]))
    return join(torch.matmul(weights, v)) @ w_o, weights


# %% wrong view-instead-of-transpose: reshape
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    *lead, T, D = k.shape
    weights = masked(q @ k.reshape(*lead, D, T) / math.sqrt(D))
    return join(weights @ v) @ w_o, weights


# %% wrong view-instead-of-transpose: contiguous, then view
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    turned = k.contiguous().view(*k.shape[:-2], k.size(-1), k.size(-2))
    weights = masked_softmax(q @ turned / q.size(-1) ** 0.5, causal_mask(x.size(-2)))
    return join(weights @ v) @ w_o, weights


# %% wrong scores-returned: masked ones
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~causal_mask(x.shape[-2]), -math.inf)
    return join(scores.softmax(-1) @ v) @ w_o, scores


# %% wrong scores-returned: the softmax inside the product
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    future = torch.ones(x.shape[-2], x.shape[-2]).triu(1) > 0
    weights = torch.where(future, -math.inf, q @ k.mT / q.shape[-1] ** 0.5)
    return join(F.softmax(weights, dim=-1) @ v) @ w_o, weights


# %% wrong no-softmax: masked scores as weights
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~causal_mask(x.shape[-2]), -math.inf)
    return join(weights @ v) @ w_o, weights


# %% wrong no-softmax: where
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    future = torch.ones(x.shape[-2], x.shape[-2]).triu(1) > 0
    weights = torch.where(future, -math.inf, q @ k.mT / q.shape[-1] ** 0.5)
    return join(weights @ v) @ w_o, weights


# %% wrong value-before-weights: at
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]))
    return join(v @ weights) @ w_o, weights


# %% wrong value-before-weights: matmul
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT / q.size(-1) ** 0.5, causal_mask(x.size(-2)))
    return join(torch.matmul(v, weights)) @ w_o, weights


# %% wrong output-and-weights-swapped: a list
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]))
    return [weights, join(weights @ v) @ w_o]


# %% wrong two-axes-only: transpose(0, 1)
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    length, width = x.size(0), x.size(-1)
    q, k, v = ((x @ w).view(length, num_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT / math.sqrt(q.shape[-1]), causal_mask(length))
    return (weights @ v).transpose(0, 1).reshape(length, width) @ w_o, weights


# %% wrong two-axes-only: einsum without dots
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)) for w in (w_q, w_k, w_v))
    weights = masked(torch.einsum("thd,shd->hts", q, k) / math.sqrt(q.shape[-1]))
    return torch.einsum("hts,shd->thd", weights, v).flatten(-2) @ w_o, weights


# %% wrong batch-only: transpose(1, 2)
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    weights = masked(q @ k.mT / math.sqrt(q.shape[-1]))
    return (weights @ v).transpose(1, 2).flatten(2) @ w_o, weights


# %% wrong batch-only: the mask of axis 1
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = masked_softmax(q @ k.mT / math.sqrt(q.shape[-1]), causal_mask(x.shape[1]))
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: both divided by the root
def causal_multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    root = q.shape[-1] ** 0.5
    weights = masked((q / root) @ (k / root).mT)
    return join(weights @ v) @ w_o, weights
