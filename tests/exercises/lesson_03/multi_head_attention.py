# %% prelude
def cut(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def join(x):
    return x.transpose(-3, -2).flatten(-2)


# %% right: split, attend, merge
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return join(weights @ v) @ w_o, weights


# %% right: a loop over heads on slices of the weights
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    D = x.shape[-1] // num_heads
    outputs, tables = [], []
    for h in range(num_heads):
        s = slice(h * D, (h + 1) * D)
        q, k, v = x @ w_q[:, s], x @ w_k[:, s], x @ w_v[:, s]
        table = F.softmax(q @ k.mT * D**-0.5, dim=-1)
        outputs.append(table @ v)
        tables.append(table)
    return torch.cat(outputs, dim=-1) @ w_o, torch.stack(tables, dim=-3)


# %% right: einsum, the output projected head by head and added up
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    E = x.shape[-1]
    D = E // num_heads
    q, k, v = (torch.einsum("...te,ehd->...thd", x, w.view(E, num_heads, D)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("...thd,...shd->...hts", q, k) / D**0.5
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    weights = e / e.sum(-1, keepdim=True)
    out = torch.einsum("...hts,...shd,hde->...te", weights, v, w_o.view(num_heads, D, E))
    return [out, weights]


# %% right: PyTorch's own, each sequence of the batch
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    E = x.shape[-1]
    batch = x.reshape(-1, x.shape[-2], E).transpose(0, 1)
    out, weights = F.multi_head_attention_forward(
        batch,
        batch,
        batch,
        E,
        num_heads,
        torch.cat([w_q.T, w_k.T, w_v.T]),
        None,
        None,
        None,
        False,
        0.0,
        w_o.T,
        None,
        training=False,
        need_weights=True,
        average_attn_weights=False,
    )
    return out.transpose(0, 1).reshape(x.shape), weights.reshape(*x.shape[:-2], *weights.shape[-3:])


# %% right: fused attention, its weights from the identity as value
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    eye = torch.eye(x.shape[-2], dtype=x.dtype).expand(*q.shape[:-2], -1, -1)
    out = F.scaled_dot_product_attention(q, k, v)
    return join(out) @ w_o, F.scaled_dot_product_attention(q, k, eye)


# %% right: in float64 and back, queries scaled before the product
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    dtype = x.dtype
    x, w_q, w_k, w_v, w_o = (t.double() for t in (x, w_q, w_k, w_v, w_o))
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    q = q / math.sqrt(x.shape[-1] // num_heads)
    weights = torch.softmax(torch.matmul(q, k.mT), -1)
    return (join(weights @ v) @ w_o).to(dtype), weights.to(dtype)


# %% right: bmm over batch and heads, one product for the three projections, in-place on its own tensors
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    T, E = x.shape[-2:]
    D = E // num_heads
    flat = x.reshape(-1, T, E)
    q, k, v = (flat @ torch.cat([w_q, w_k, w_v], dim=1)).split(E, dim=-1)
    q, k, v = (t.reshape(-1, T, num_heads, D).permute(0, 2, 1, 3).reshape(-1, T, D) for t in (q, k, v))
    scores = torch.bmm(q, k.transpose(1, 2))
    scores *= D**-0.5
    weights = scores.softmax(-1)
    out = torch.bmm(weights, v).view(-1, num_heads, T, D).transpose(1, 2).contiguous().view(-1, T, E) @ w_o
    return out.reshape(x.shape), weights.reshape(*x.shape[:-2], num_heads, T, T)


# %% right: helpers named as the exercises
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return cut(x, num_heads)


def merge_heads(x):
    return join(x)


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = split_heads(x @ w_q, num_heads), split_heads(x @ w_k, num_heads), split_heads(x @ w_v, num_heads)
    scores = torch.einsum("...td,...sd->...ts", q, k) / torch.tensor(float(q.shape[-1])).sqrt()
    weights = scores.softmax(dim=-1)
    return merge_heads(weights @ v) @ w_o, weights


# %% wrong scaled-by-d_model: the root of x's width
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(x.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-d_model: scaled before the split
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    query = (x @ w_q) * (w_q.shape[1] ** -0.5)
    q, k, v = cut(query, num_heads), cut(x @ w_k, num_heads), cut(x @ w_v, num_heads)
    weights = torch.softmax(torch.einsum("...td,...sd->...ts", q, k), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong no-output-projection: w_o never used
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v), weights


# %% wrong no-output-projection: concatenated and returned
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    D = x.shape[-1] // num_heads
    outputs, tables = [], []
    for h in range(num_heads):
        s = slice(h * D, (h + 1) * D)
        table = ((x @ w_q[:, s]) @ (x @ w_k[:, s]).mT / D**0.5).softmax(-1)
        outputs.append(table @ (x @ w_v[:, s]))
        tables.append(table)
    out = torch.cat(outputs, -1)
    out @ w_o
    return out, torch.stack(tables, -3)


# %% wrong view-without-transpose: split by view, merged rightly
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    *lead, T, E = x.shape
    q, k, v = ((x @ w).view(*lead, num_heads, T, E // num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(E // num_heads), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong view-without-transpose: split and merged by reshape
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    *lead, T, E = x.shape
    q, k, v = ((x @ w).reshape(*lead, num_heads, T, -1) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).reshape(*lead, T, E) @ w_o, weights


# %% wrong view-without-transpose: the helper is wrong
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.view(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong merge-without-transpose: reshape at the end
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).reshape(x.shape) @ w_o, weights


# %% wrong merge-without-transpose: view in place of the transpose
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    *lead, T, E = x.shape
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    out = (weights @ v).contiguous().view(*lead, T, num_heads, E // num_heads)
    return out.flatten(-2) @ w_o, weights


# %% wrong one-head-only: no split, one table
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights @ v @ w_o, weights


# %% wrong one-head-only: an axis for one head
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, 1) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong one-head-only: the same table for every head
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = torch.softmax(q @ k.mT / math.sqrt(x.shape[-1] // num_heads), -1)
    return weights @ v @ w_o, torch.stack([weights] * num_heads, -3)


# %% wrong no-scaling: nothing is divided
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong no-scaling: scaled attention of PyTorch with scale 1
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.einsum("...td,...sd->...ts", q, k).softmax(-1)
    return join(F.scaled_dot_product_attention(q, k, v, scale=1.0)) @ w_o, weights


# %% wrong heads-last: view (T, D, H) in split and merge
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (-1, num_heads)).movedim(-1, -3) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).movedim(-3, -1).flatten(-2) @ w_o, weights


# %% wrong heads-last: strided columns, concatenated
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (torch.stack([(x @ w)[..., h::num_heads] for h in range(num_heads)], -3) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return torch.cat((weights @ v).unbind(-3), -1) @ w_o, weights


# %% wrong heads-interleaved: movedim to the end
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).movedim(-3, -1).flatten(-2) @ w_o, weights


# %% wrong heads-interleaved: stacked on the last axis
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return torch.stack((weights @ v).unbind(-3), -1).reshape(x.shape) @ w_o, weights


# %% wrong scale-multiplied: two minus signs
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / q.shape[-1] ** -0.5, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scale-multiplied: times the root
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q * math.sqrt(q.shape[-1]) @ k.mT, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: no root
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / q.shape[-1], -1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: no root, by heads
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT * num_heads / x.shape[-1], -1)
    return join(weights @ v) @ w_o, weights


# %% wrong softmax-over-queries: dim -2
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -2)
    return join(weights @ v) @ w_o, weights


# %% wrong softmax-over-queries: dim 1, right only with no leading axes... where it is the queries
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=1)
    return join(weights @ v) @ w_o, weights


# %% wrong attention-transposed: weights.mT
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights.mT @ v) @ w_o, weights


# %% wrong attention-transposed: letters swapped
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(torch.einsum("...hts,...htd->...hsd", weights, v)) @ w_o, weights


# %% wrong weights-averaged: PyTorch's default
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    E = x.shape[-1]
    batch = x.reshape(-1, x.shape[-2], E).transpose(0, 1)
    out, weights = F.multi_head_attention_forward(
        batch, batch, batch, E, num_heads, torch.cat([w_q.T, w_k.T, w_v.T]), None, None, None, False, 0.0, w_o.T, None
    )
    return out.transpose(0, 1).reshape(x.shape), weights.reshape(*x.shape[:-2], *weights.shape[-2:])


# %% wrong weights-averaged: mean over the heads
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights.mean(-3, keepdim=True)


# %% wrong weights-transposed: as nn.Linear would
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(F.linear(x, w), num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return F.linear(join(weights @ v), w_o), weights


# %% wrong weights-transposed: the last one only
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o.T, weights


# %% wrong value-from-key: copied line
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x @ w_k, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong value-from-key: the product is taken with the keys
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(torch.einsum("...ts,...sd->...td", weights, k)) @ w_o, weights


# %% wrong same-projection: w_q for all
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q = k = v = cut(x @ w_q, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong same-projection: w_q for the keys
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_q, num_heads), cut(x @ w_v, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong no-value-projection: the tokens themselves are averaged
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong no-value-projection: slices of x in a loop
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    tables, outputs = [], []
    for q, k, piece in zip(*(t.chunk(num_heads, -1) for t in (x @ w_q, x @ w_k, x))):
        tables.append((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1))
        outputs.append(tables[-1] @ piece)
    return torch.cat(outputs, -1) @ w_o, torch.stack(tables, -3)


# %% wrong view-without-contiguous: view after the transpose
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).transpose(-3, -2).view(x.shape) @ w_o, weights


# %% wrong view-without-contiguous: on a batch of one too
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    mixed = torch.einsum("...hts,...hsd->...htd", weights, v).contiguous()
    return mixed.movedim(-3, -2).view(*x.shape[:-1], x.shape[-1]) @ w_o, weights


# %% wrong -: output projected before the heads are mixed
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = cut(x @ w_q, num_heads), cut(x @ w_k, num_heads), cut(x @ w_v @ w_o, num_heads)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v), weights


# %% wrong -: the root of 2 in every head
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(2), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong -: causal
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).triu(1)
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    return join(weights @ v) @ w_o, weights


# %% wrong -: residual added
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return x + join(weights @ v) @ w_o, weights


# %% wrong -: dropout on the weights
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = F.dropout(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1), 0.2)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-num_heads: scaled by the root of the number of heads
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(num_heads), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong -: the keys split by view, the rest rightly
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    k = (x @ w_k).view(*x.shape[:-2], num_heads, x.shape[-2], -1)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights


# %% wrong wrong-type: only the output
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o


# %% wrong output-and-weights-swapped: weights and output swapped
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights, join(weights @ v) @ w_o


# %% wrong gradient-cut: weights detached for the output
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1).detach()
    return join(weights @ v) @ w_o, weights


# %% wrong dtype-changed: weights in float32
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return join(weights @ v) @ w_o, weights.float()


# %% wrong changes-argument: w_q scaled in place
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    w_q.detach().mul_((x.shape[-1] // num_heads) ** -0.5)
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT, -1)
    return join(weights @ v) @ w_o, weights


# %% wrong shape-of-one-rank: works only on a batch
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    B, T, E = x.shape
    q, k, v = ((x @ w).view(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights @ v).transpose(1, 2).reshape(B, T, E) @ w_o, weights


# %% wrong -: overflows with large entries
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    e = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
    weights = e / e.sum(-1, keepdim=True)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-num_heads: as a power
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / num_heads**0.5, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-after-softmax: the weights
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT, dim=-1) / math.sqrt(q.shape[-1])
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-after-softmax: the output of the heads
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT, dim=-1)
    return join(weights @ v / math.sqrt(q.shape[-1])) @ w_o, weights


# %% wrong scores-transposed: key first
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(k @ q.mT / math.sqrt(q.shape[-1]), dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong scores-transposed: weight matrices exchanged
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_k, w_q, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong transpose-forgotten: at
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k / math.sqrt(q.shape[-1]), dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong transpose-forgotten: matmul
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = F.softmax(torch.matmul(q, k) * q.shape[-1] ** -0.5, dim=-1)
    return join(torch.matmul(weights, v)) @ w_o, weights


# %% wrong view-instead-of-transpose: reshape
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    *lead, T, D = k.shape
    weights = torch.softmax(q @ k.reshape(*lead, D, T) / math.sqrt(D), dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong view-instead-of-transpose: contiguous, then view
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    turned = k.contiguous().view(*k.shape[:-2], k.size(-1), k.size(-2))
    weights = F.softmax(q @ turned / q.size(-1) ** 0.5, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong scores-returned: scaled
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return join(scores.softmax(-1) @ v) @ w_o, scores


# %% wrong scores-returned: overwritten too late
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    mixed = torch.einsum("...ts,...sd->...td", F.softmax(weights, dim=-1), v)
    return join(mixed) @ w_o, weights


# %% wrong no-softmax: scores as weights
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = q @ k.mT / math.sqrt(q.shape[-1])
    return join(weights @ v) @ w_o, weights


# %% wrong no-softmax: einsum
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    return join(torch.einsum("...ts,...sd->...td", weights, v)) @ w_o, weights


# %% wrong value-before-weights: at
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return join(v @ weights) @ w_o, weights


# %% wrong value-before-weights: matmul
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = F.softmax(torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5, dim=-1)
    return join(torch.matmul(v, weights)) @ w_o, weights


# %% wrong output-and-weights-swapped: a list
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return [weights, join(weights @ v) @ w_o]


# %% wrong two-axes-only: transpose(0, 1)
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    length, width = x.size(0), x.size(-1)
    q, k, v = ((x @ w).view(length, num_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return (weights @ v).transpose(0, 1).reshape(length, width) @ w_o, weights


# %% wrong two-axes-only: einsum without dots
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)) for w in (w_q, w_k, w_v))
    weights = torch.softmax(torch.einsum("thd,shd->hts", q, k) / math.sqrt(q.shape[-1]), dim=-1)
    return torch.einsum("hts,shd->thd", weights, v).flatten(-2) @ w_o, weights


# %% wrong batch-only: transpose(1, 2)
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_o, weights


# %% wrong batch-only: einsum with a letter for the batch
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)) for w in (w_q, w_k, w_v))
    weights = torch.softmax(torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1]), dim=-1)
    return torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2) @ w_o, weights


# %% wrong scaled-by-head_dim: both divided by the root
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    root = math.sqrt(q.shape[-1])
    weights = torch.softmax((q / root) @ (k / root).mT, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong scaled-by-head_dim: a power without brackets
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (cut(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = torch.softmax(q @ k.mT / q.shape[-1] ** 1 / 2, dim=-1)
    return join(weights @ v) @ w_o, weights


# %% wrong split-before-projection: one split for all
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    heads = x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)
    query, key, value = heads @ w_q, heads @ w_k, heads @ w_v
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
    return (weights @ value).transpose(-3, -2).flatten(-2) @ w_o, weights


# %% wrong split-before-projection: pieces in a list
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads):
    outputs, tables = [], []
    for piece in x.chunk(num_heads, dim=-1):
        query, key, value = (torch.matmul(piece, w) for w in (w_q, w_k, w_v))
        weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
        outputs.append(weights @ value)
        tables.append(weights)
    return torch.cat(outputs, dim=-1) @ w_o, torch.stack(tables, dim=-3)
