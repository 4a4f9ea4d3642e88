# %% right: the formula
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% right: F.linear, a list comes back
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.mT * key.size(-1) ** -0.5, dim=-1)
    return [weights @ value, weights]


# %% right: nn.Linear's own parameters replaced
def trainable_self_attention(x, u_query, u_key, u_value):
    def project(u):
        layer = nn.Linear(u.shape[1], u.shape[0], bias=False)
        return torch.func.functional_call(layer, {"weight": u}, (x,))

    query, key, value = project(u_query), project(u_key), project(u_value)
    weights = nn.Softmax(-1)(query @ key.mT / key.shape[-1] ** 0.5)
    return weights @ value, weights


# %% right: einsum, the two projections of the scores joined
def trainable_self_attention(x, u_query, u_key, u_value):
    joined = torch.einsum("ke,kf->ef", u_query, u_key)
    scores = torch.einsum("...ie,ef,...jf->...ij", x, joined, x)
    weights = (scores / len(u_query) ** 0.5).softmax(-1)
    return torch.einsum("...ij,...jf,vf->...iv", weights, x, u_value), weights


# %% right: as the document writes it, from the left, a sequence at a time
def trainable_self_attention(x, u_query, u_key, u_value):
    if x.dim() > 2:
        pairs = [trainable_self_attention(one, u_query, u_key, u_value) for one in x]
        return torch.stack([o for o, _ in pairs]), torch.stack([w for _, w in pairs])
    query, key, value = u_query.matmul(x.T).T, u_key.matmul(x.T).T, u_value.matmul(x.T).T
    weights = F.softmax(query @ key.T / u_key.shape[0] ** 0.5, dim=1)
    return weights.matmul(value), weights


# %% right: one query at a time
def trainable_self_attention(x, u_query, u_key, u_value):
    key, value = x @ u_key.mT, x @ u_value.mT
    outputs, rows = [], []
    for t in range(x.shape[-2]):
        query = x[..., t, :] @ u_query.mT
        omega = (key @ query.unsqueeze(-1)).squeeze(-1)
        row = torch.softmax(omega / math.sqrt(u_query.size(0)), dim=-1)
        rows.append(row)
        outputs.append((row.unsqueeze(-1) * value).sum(-2))
    return torch.stack(outputs, -2), torch.stack(rows, -2)


# %% right: PyTorch's attention twice
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    eye = torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-1], x.shape[-2])
    return F.scaled_dot_product_attention(query, key, value), F.scaled_dot_product_attention(query, key, eye)


# %% right: weights first, values projected last, float64 inside
def trainable_self_attention(x, u_query, u_key, u_value):
    dtype = x.dtype
    x, u_query, u_key, u_value = (t.double() for t in (x, u_query, u_key, u_value))
    scores = (x @ u_query.T) @ (x @ u_key.T).mT
    scores /= math.sqrt(u_key.shape[0])
    scores = scores - scores.amax(-1, keepdim=True)
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return ((weights @ x) @ u_value.T).to(dtype), weights.to(dtype)


# %% right: one product with all weights stacked
def trainable_self_attention(x, u_query, u_key, u_value):
    sizes = [u_query.shape[0], u_key.shape[0], u_value.shape[0]]
    query, key, value = (x @ torch.cat([u_query, u_key, u_value]).T).split(sizes, dim=-1)
    weights = torch.softmax(torch.matmul(query / math.sqrt(sizes[0]), key.transpose(-1, -2)), -1)
    return weights @ value, weights


# %% wrong weights-not-transposed: all three
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query, x @ u_key, x @ u_value
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return weights @ value, weights


# %% wrong weights-not-transposed: the value only
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return weights @ value, weights


# %% wrong weights-not-transposed: F.linear with a transpose too many
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query.T), F.linear(x, u_key.T), F.linear(x, u_value.T)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return weights @ value, weights


# %% wrong weights-not-transposed: query and key, by einsum
def trainable_self_attention(x, u_query, u_key, u_value):
    query = torch.einsum("...te,ed->...td", x, u_query)
    key = torch.einsum("...te,ed->...td", x, u_key)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return weights @ (x @ u_value.mT), weights


# %% wrong weights-not-transposed: the key only
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key, x @ u_value.T
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return weights @ value, weights


# %% wrong no-scaling: the bare scores
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT, -1)
    return weights @ value, weights


# %% wrong no-scaling: PyTorch's attention with a scale of one
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT, -1)
    return F.scaled_dot_product_attention(query, key, value, scale=1.0), weights


# %% wrong no-scaling: einsum, the scale computed and forgotten
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value)
    scale = math.sqrt(key.shape[-1])
    weights = torch.einsum("...id,...jd->...ij", query, key).softmax(-1)
    return torch.einsum("...ij,...jd->...id", weights, value), weights


# %% wrong scaled-by-d_model: the root of x's width
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    d = x.shape[-1]
    weights = torch.softmax(query @ key.mT / d**0.5, -1)
    return weights @ value, weights


# %% wrong scaled-by-d_model: the wrong axis of a weight
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(u_key.shape[1]), -1)
    return weights @ value, weights


# %% wrong scaled-by-d_model: multiplied by the inverse root
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query.matmul(key.transpose(-1, -2)) * x.size(-1) ** -0.5, dim=-1)
    return weights.matmul(value), weights


# %% wrong scaled-by-d_model: without the root
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.mT / u_query.shape[-1], dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: the root forgotten
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / key.shape[-1], -1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: divided by the weight's height
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / len(u_query), -1)
    return weights @ value, weights


# %% wrong scale-multiplied: the two minus signs
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** -0.5, -1)
    return weights @ value, weights


# %% wrong scale-multiplied: times the root
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT * math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong scaled-after-softmax: the weights divided
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT, -1) / math.sqrt(key.shape[-1])
    return weights @ value, weights


# %% wrong scaled-after-softmax: the output divided
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT, -1)
    return weights @ value / math.sqrt(key.shape[-1]), weights


# %% wrong scaled-by-seq-len: the length of x
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(x.shape[-2]), -1)
    return weights @ value, weights


# %% wrong scaled-by-seq-len: the width of the scores
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    scores = query @ key.mT
    weights = torch.softmax(scores / scores.shape[-1] ** 0.5, -1)
    return weights @ value, weights


# %% wrong softmax-over-queries: axis -2
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -2)
    return weights @ value, weights


# %% wrong softmax-over-queries: axis 0, as for a single query
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = F.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=0)
    return weights @ value, weights


# %% wrong softmax-over-queries: axis 1, right without a batch
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = F.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=1)
    return weights @ value, weights


# %% wrong attention-transposed: the weights turned round
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights.mT @ value, weights


# %% wrong attention-transposed: einsum's letters
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return torch.einsum("...ij,...id->...jd", weights, value), weights


# %% wrong value-from-key: a line copied
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_key.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong value-from-key: the wrong name in the last product
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value)
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ key, weights


# %% wrong same-projection: the query's weights for both
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_query.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong same-projection: the value's weights for the key
def trainable_self_attention(x, u_query, u_key, u_value):
    query = key = F.linear(x, u_key)
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ F.linear(x, u_value), weights


# %% wrong no-value-projection: the tokens themselves
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key = x @ u_query.T, x @ u_key.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ x, weights


# %% wrong no-value-projection: PyTorch's attention with x
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key = x @ u_query.T, x @ u_key.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return F.scaled_dot_product_attention(query, key, x), weights


# %% wrong tokens-in-columns: the last transpose forgotten
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = u_query @ x.mT, u_key @ x.mT, u_value @ x.mT
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return weights @ value, weights


# %% wrong tokens-in-columns: scaled by the weight's height
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (torch.matmul(u, x.transpose(-1, -2)) for u in (u_query, u_key, u_value))
    weights = torch.softmax(query @ key.transpose(-1, -2) / u_query.shape[0] ** 0.5, -1)
    return weights @ value, weights


# %% wrong returns-nothing: no return
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)


# %% wrong wrong-type: the output alone
def trainable_self_attention(x, u_query, u_key, u_value):
    return F.scaled_dot_product_attention(x @ u_query.T, x @ u_key.T, x @ u_value.T)


# %% wrong scaled-by-value-width: the height of its weight
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.mT * len(u_value) ** -0.5, dim=-1)
    return weights @ value, weights


# %% wrong output-and-weights-swapped: unpacked the wrong way
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.mT / len(u_key) ** 0.5, dim=-1)
    output = weights @ value
    return [weights, output]


# %% wrong value-before-weights: the output as a column for every token
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.mT / len(u_key) ** 0.5, dim=-1)
    return (weights @ value).mT, weights


# %% wrong output-and-weights-swapped: weights first
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights, weights @ value


# %% wrong gradient-cut: new parameters made of the weights
def trainable_self_attention(x, u_query, u_key, u_value):
    def project(u):
        layer = nn.Linear(u.shape[1], u.shape[0], bias=False, dtype=u.dtype)
        with torch.no_grad():
            layer.weight.copy_(u)
        return layer(x)

    query, key, value = project(u_query), project(u_key), project(u_value)
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong -: the weights returned detached
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights.detach()


# %% wrong raised: layers of float32
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x.float() @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong dtype-changed: float32 whatever comes
def trainable_self_attention(x, u_query, u_key, u_value):
    x, u_query, u_key, u_value = x.float(), u_query.float(), u_key.float(), u_value.float()
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong -: sizes taken apart
def trainable_self_attention(x, u_query, u_key, u_value):
    tokens, width = x.shape
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.T / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong changes-argument: x divided in place
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1)
    output = weights @ value
    u_query /= math.sqrt(key.shape[-1])
    return output, weights


# %% wrong two-axes-only: as the document writes it, from the left
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = u_query.mm(x.t()).t(), u_key.mm(x.t()).t(), u_value.mm(x.t()).t()
    weights = torch.softmax(query.mm(key.t()) / math.sqrt(key.shape[-1]), dim=-1)
    return weights.mm(value), weights


# %% wrong scaled-by-value-width: the last axis of the values
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(value.shape[-1]), -1)
    return weights @ value, weights


# %% wrong -: the scale of the worked example, written out
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / 4, -1)
    return weights @ value, weights


# %% wrong scores-transposed: key first
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(key @ query.mT / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong scores-transposed: einsum's letters
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    scores = torch.einsum("...id,...jd->...ji", query, key)
    weights = torch.softmax(scores / math.sqrt(key.shape[-1]), -1)
    return weights @ value, weights


# %% wrong roles-swapped: key and value mixed up
def trainable_self_attention(x, u_query, u_key, u_value):
    query, value, key = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return weights @ value, weights


# %% wrong roles-swapped: in a ring
def trainable_self_attention(x, u_query, u_key, u_value):
    value, query, key = (F.linear(x, u) for u in (u_query, u_key, u_value))
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, -1)
    return weights @ value, weights


# %% wrong -: the root taken twice
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(math.sqrt(key.shape[-1])), -1)
    return weights @ value, weights


# %% wrong scores-returned: scores returned in place of weights
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    return torch.softmax(scores, -1) @ value, scores


# %% wrong -: dropout left on
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = F.dropout(torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1), 0.1)
    return weights @ value, weights


# %% wrong -: weights rounded
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1).round(decimals=2)
    return weights @ value, weights


# %% wrong weights-reshaped: reshape
def trainable_self_attention(x, u_query, u_key, u_value):
    E = x.shape[-1]
    query, key, value = x @ u_query.reshape(E, -1), x @ u_key.reshape(E, -1), x @ u_value.reshape(E, -1)
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong weights-reshaped: view
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (x @ u.view(u.size(1), u.size(0)) for u in (u_query, u_key, u_value))
    weights = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(key.size(-1)), dim=-1)
    return weights @ value, weights


# %% wrong transpose-forgotten: at
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key / math.sqrt(key.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong transpose-forgotten: matmul
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value)
    weights = torch.softmax(torch.matmul(query, key) * key.shape[-1] ** -0.5, dim=-1)
    return torch.matmul(weights, value), weights


# %% wrong view-instead-of-transpose: reshape
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    *lead, T, d_k = key.shape
    weights = torch.softmax(query @ key.reshape(*lead, d_k, T) / math.sqrt(d_k), dim=-1)
    return weights @ value, weights


# %% wrong view-instead-of-transpose: view of a contiguous key
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value)
    turned = key.contiguous().view(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = F.softmax(query @ turned / key.shape[-1] ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong scores-returned: not scaled
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    omega = query @ key.mT
    return torch.softmax(omega / key.shape[-1] ** 0.5, dim=-1) @ value, omega


# %% wrong no-softmax: scaled scores
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = query @ key.mT / math.sqrt(key.shape[-1])
    return weights @ value, weights


# %% wrong no-softmax: bare scores
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    omega = query @ key.mT
    return omega @ value, omega


# %% wrong value-before-weights: at
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1)
    return value @ weights, weights


# %% wrong factors-swapped: at
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = u_query @ x, u_key @ x, u_value @ x
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong factors-swapped: matmul, as for one word
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = u_query.matmul(x), u_key.matmul(x), u_value.matmul(x)
    weights = F.softmax(query.matmul(key.transpose(-2, -1)) / key.size(-1) ** 0.5, dim=-1)
    return weights.matmul(value), weights


# %% wrong two-axes-only: the lesson's products
def trainable_self_attention(x, u_query, u_key, u_value):
    queries, keys, values = u_query.matmul(x.T).T, u_key.matmul(x.T).T, u_value.matmul(x.T).T
    weights = F.softmax(queries.matmul(keys.T) / keys.shape[1] ** 0.5, dim=1)
    return weights.matmul(values), weights


# %% wrong batch-only: transpose(1, 2)
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = F.softmax(query @ key.transpose(1, 2) / key.size(-1) ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong batch-only: bmm
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value)
    weights = F.softmax(torch.bmm(query, key.mT) / key.size(-1) ** 0.5, dim=-1)
    return torch.bmm(weights, value), weights


# %% wrong scaled-by-d_model: size(1) of x, which is the width of one sequence only
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / x.size(1) ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: a power without brackets
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 1 / 2, dim=-1)
    return weights @ value, weights


# %% wrong -: the d of another cell
d = 16


def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = x @ u_query.T, x @ u_key.T, x @ u_value.T
    weights = torch.softmax(query @ key.mT / d**0.5, dim=-1)
    return weights @ value, weights


# %% wrong weights-unused: new linear layers
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (
        torch.nn.Linear(u.shape[1], u.shape[0], bias=False, dtype=x.dtype)(x) for u in (u_query, u_key, u_value)
    )
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong weights-unused: matrices drawn anew
def trainable_self_attention(x, u_query, u_key, u_value):
    query, key, value = (x @ torch.randn_like(u).T for u in (u_query, u_key, u_value))
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1)
    return weights @ value, weights
