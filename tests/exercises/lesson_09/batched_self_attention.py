# %% right: matmul with mT
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    return scores.softmax(-1) @ value


# %% right: einsum throughout
def batched_self_attention(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Tensor:
    q = torch.einsum("bte,ed->btd", x, w_query)
    k = torch.einsum("bte,ed->btd", x, w_key)
    v = torch.einsum("bte,ed->btd", x, w_value)
    weights = torch.softmax(torch.einsum("btd,bsd->bts", q, k) / q.size(-1) ** 0.5, dim=2)
    return torch.einsum("bts,bsd->btd", weights, v)


# %% right: bmm with expanded weights
def batched_self_attention(x, w_query, w_key, w_value):
    B = x.shape[0]
    q, k, v = (torch.bmm(x, w.expand(B, -1, -1)) for w in (w_query, w_key, w_value))
    scores = torch.bmm(q, k.transpose(1, 2)).mul(1 / math.sqrt(q.shape[2]))
    return torch.bmm(F.softmax(scores, dim=-1), v)


# %% right: PyTorch's own
def batched_self_attention(x, w_query, w_key, w_value):
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


# %% right: vmap over the batch
def _one(x, w_query, w_key, w_value):
    return torch.softmax((x @ w_query) @ (x @ w_key).T / w_key.shape[1] ** 0.5, -1) @ (x @ w_value)


def batched_self_attention(x, w_query, w_key, w_value):
    return torch.vmap(_one, in_dims=(0, None, None, None))(x, w_query, w_key, w_value)


# %% right: broadcasting, softmax by hand
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = F.linear(x, w_query.T), F.linear(x, w_key.T), F.linear(x, w_value.T)
    s = (q.unsqueeze(2) * k.unsqueeze(1)).sum(-1) * q.shape[-1] ** -0.5
    e = (s - s.amax(-1, keepdim=True)).exp()
    return ((e / e.sum(-1, keepdim=True)).unsqueeze(-1) * v.unsqueeze(1)).sum(2)


# %% right: a loop over the queries, all sequences at once
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = torch.matmul(x, w_query), torch.matmul(x, w_key), torch.matmul(x, w_value)
    rows = []
    for t in range(x.shape[1]):
        s = (q[:, t : t + 1] * k).sum(-1) / math.sqrt(k.shape[-1])
        rows.append((s.softmax(-1).unsqueeze(-1) * v).sum(1))
    return torch.stack(rows, dim=1)


# %% right: one flat table with other sequences hidden
def batched_self_attention(x, w_query, w_key, w_value):
    B, T, E = x.shape
    flat = x.reshape(B * T, E)
    owner = torch.arange(B).repeat_interleave(T)
    s = (flat @ w_query) @ (flat @ w_key).T / math.sqrt(w_query.shape[1])
    s = s.masked_fill(owner[:, None] != owner, -torch.inf)
    return (s.softmax(-1) @ (flat @ w_value)).view(B, T, -1)


# %% wrong batch-mixed: softmax over axis 0
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=0) @ v


# %% wrong batch-mixed: softmax without an axis
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return nn.Softmax(dim=0)(torch.einsum("btd,bsd->bts", q, k) / q.shape[-1] ** 0.5) @ v


# %% wrong batch-mixed: all tokens as one long sequence
def batched_self_attention(x, w_query, w_key, w_value):
    B, T, E = x.shape
    flat = x.view(-1, E)
    q, k, v = flat @ w_query, flat @ w_key, flat @ w_value
    out = torch.softmax(q @ k.T / math.sqrt(k.shape[1]), dim=1) @ v
    return out.view(B, T, -1)


# %% wrong batch-mixed: attends across the batch, as with batch_first=False
def batched_self_attention(x, w_query, w_key, w_value):
    x = x.permute(1, 0, 2)
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return F.scaled_dot_product_attention(q, k, v).permute(1, 0, 2)


# %% wrong batch-mixed: the letter of the batch is summed over
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scores = torch.einsum("btd,bsd->ts", q, k) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v


# %% wrong batch-mixed: another letter for the keys' batch
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scores = torch.einsum("btd,nsd->bts", q, k) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v


# %% wrong batch-mixed: keys of the first sequence for all
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x[0] @ w_key, x @ w_value
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ v


# %% wrong batch-mixed: weights of the first sequence for all
def batched_self_attention(x, w_query, w_key, w_value):
    q, k = x[0] @ w_query, x[0] @ w_key
    return torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), -1) @ (x @ w_value)


# %% wrong no-scaling: forgotten
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.transpose(-2, -1), -1) @ v


# %% wrong no-scaling: scaled and thrown away
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scores = torch.bmm(q, k.mT)
    scores / math.sqrt(q.shape[-1])
    return torch.bmm(scores.softmax(2), v)


# %% wrong no-scaling: the built-in told not to
def batched_self_attention(x, w_query, w_key, w_value):
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, scale=1)


# %% wrong scaled-by-another-size: d_model
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / math.sqrt(x.shape[-1]), -1) @ v


# %% wrong scaled-by-another-size: seq_len
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / math.sqrt(k.shape[1]), -1) @ v


# %% wrong softmax-over-queries: axis 1, as without a batch
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=1) @ v


# %% wrong softmax-over-queries: einsum, axis -2
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    a = (torch.einsum("btd,bsd->bts", q, k) * q.shape[-1] ** -0.5).softmax(-2)
    return torch.einsum("bts,bsv->btv", a, v)


# %% wrong reshaped-instead-of-transposed: view
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    B, T, D = k.shape
    return torch.softmax(q @ k.view(B, D, T) / math.sqrt(D), -1) @ v


# %% wrong reshaped-instead-of-transposed: reshape and bmm
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    turned = k.reshape(len(k), -1, k.shape[1])
    return torch.bmm(F.softmax(torch.bmm(q, turned) / k.shape[2] ** 0.5, 2), v)


# %% wrong loop-over-sequences: a list and stack
def batched_self_attention(x, w_query, w_key, w_value):
    outputs = []
    for one in x:
        q, k, v = one @ w_query, one @ w_key, one @ w_value
        outputs.append(torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), -1) @ v)
    return torch.stack(outputs)


# %% wrong loop-over-sequences: map
def batched_self_attention(x, w_query, w_key, w_value):
    def one(s):
        return F.scaled_dot_product_attention(*(s[None] @ w for w in (w_query, w_key, w_value)))

    return torch.cat(list(map(one, x.unbind())))


# %% wrong loop-over-sequences: only the scores in a loop
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scores = torch.empty(x.shape[0], x.shape[1], x.shape[1], dtype=x.dtype)
    for b in range(x.shape[0]):
        scores[b] = q[b] @ k[b].T
    return (scores / math.sqrt(k.shape[-1])).softmax(-1) @ v


# %% wrong -: returns the weights too
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights @ v, weights


# %% wrong -: a causal mask that nobody asked for
def batched_self_attention(x, w_query, w_key, w_value):
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, is_causal=True)


# %% wrong scores-transposed: queries and keys swapped
def batched_self_attention(x, w_query, w_key, w_value):
    return F.scaled_dot_product_attention(x @ w_key, x @ w_query, x @ w_value)


# %% wrong scaled-after-softmax: at the end
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT, -1) / math.sqrt(q.shape[-1]) @ v


# %% wrong batch-mixed: `.T` turns every axis round
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.permute(2, 1, 0) / math.sqrt(q.shape[-1]), -1) @ v


# %% wrong returns-nothing: no return
def batched_self_attention(x, w_query, w_key, w_value):
    F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


# %% wrong gradient-cut: through NumPy
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = ((x @ w).detach().numpy() for w in (w_query, w_key, w_value))
    s = np.matmul(q, k.transpose(0, 2, 1)) / math.sqrt(k.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return torch.from_numpy(np.matmul(e / e.sum(-1, keepdims=True), v))


# %% wrong changes-argument: x is divided in place
def batched_self_attention(x, w_query, w_key, w_value):
    out = F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)
    w_query /= 2
    return out


# %% wrong dtype-changed: everything in float32
def batched_self_attention(x, w_query, w_key, w_value):
    x, w_query, w_key, w_value = (t.float() for t in (x, w_query, w_key, w_value))
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


# %% wrong not-finite: exponentials of large scores
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    e = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdim=True) @ v


# %% wrong scale-multiplied: a product
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT * q.shape[-1] ** 0.5, -1) @ v


# %% wrong scale-multiplied: divided by a power of -0.5
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / q.shape[-1] ** -0.5, -1) @ v


# %% wrong scaled-after-softmax: the weights
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT, -1) / q.shape[-1] ** 0.5 @ v


# %% wrong scaled-after-softmax: the output
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT
    weights = torch.softmax(scores, dim=-1)
    return (weights @ value) / query.shape[-1] ** 0.5


# %% wrong softmax-forgotten: scaled only
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return q @ k.mT / q.shape[-1] ** 0.5 @ v


# %% wrong softmax-forgotten: the scores as they are
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT
    weights = scores
    return weights @ value


# %% wrong scores-transposed: key first
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(k @ q.mT / q.shape[-1] ** 0.5, -1) @ v


# %% wrong scores-transposed: einsum
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = torch.einsum("bqd,bkd->bkq", query, key)
    weights = torch.softmax(scores / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value


# %% wrong attention-transposed: mT
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1).mT @ v


# %% wrong attention-transposed: einsum
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.mT
    weights = torch.softmax(scores / query.shape[-1] ** 0.5, dim=-1)
    return torch.einsum("bqk,bqd->bkd", weights, value)


# %% wrong same-projection: the key's
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_key, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


# %% wrong same-projection: the query's
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_query, x @ w_value
    scores = query @ key.mT
    weights = torch.softmax(scores / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value


# %% wrong value-from-another-matrix: the key's
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_key
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


# %% wrong value-from-another-matrix: x itself
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ x


# %% wrong weights-transposed: T
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query.T, x @ w_key.T, x @ w_value.T
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


# %% wrong weights-transposed: F.linear
def batched_self_attention(x, w_query, w_key, w_value):
    query, key, value = F.linear(x, w_query), F.linear(x, w_key), F.linear(x, w_value)
    scores = query @ key.mT
    weights = torch.softmax(scores / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value


# %% wrong two-axes-only: mm
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = torch.mm(x, w_query), torch.mm(x, w_key), torch.mm(x, w_value)
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


# %% wrong two-axes-only: bmm with a matrix
def batched_self_attention(x, w_query, w_key, w_value):
    q, k, v = torch.bmm(x, w_query), torch.bmm(x, w_key), torch.bmm(x, w_value)
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v
