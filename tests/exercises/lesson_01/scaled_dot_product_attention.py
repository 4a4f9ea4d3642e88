# %% right: from the earlier pieces
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return weights @ value, weights


# %% right: torch's softmax and einsum, as a list
def scaled_dot_product_attention(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * key.size(-1) ** -0.5
    weights = scores.softmax(dim=-1)
    return [torch.einsum("...qk,...kv->...qv", weights, value), weights]


# %% right: loops over all leading axes and queries
def scaled_dot_product_attention(query, key, value):
    if query.dim() > 2:
        pairs = [scaled_dot_product_attention(q, k, v) for q, k, v in zip(query, key, value)]
        return torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])
    outputs, rows = [], []
    for q in query:
        scores = torch.stack([torch.dot(q, k) for k in key]) / math.sqrt(len(q))
        row = torch.softmax(scores, 0)
        outputs.append(sum(w * v for w, v in zip(row, value)))
        rows.append(row)
    return torch.stack(outputs), torch.stack(rows)


# %% right: bmm and baddbmm on flattened leading axes
def scaled_dot_product_attention(query, key, value):
    lead = query.shape[:-2]
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    zero = torch.zeros(len(q), q.shape[1], k.shape[1], dtype=q.dtype)
    w = F.softmax(torch.baddbmm(zero, q, k.mT, alpha=1 / np.sqrt(q.shape[-1])), dim=2)
    return torch.bmm(w, v).view(*lead, *query.shape[-2:-1], value.shape[-1]), w.view(*lead, q.shape[1], k.shape[1])


# %% right: root of a float32 tensor as divisor, keys scaled first
def scaled_dot_product_attention(query, key, value):
    d_k = torch.tensor(query.shape[-1])
    scores = torch.matmul(query, (key / torch.sqrt(d_k)).mT)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


# %% right: both scaled by the fourth root, broadcasting, prints
def scaled_dot_product_attention(query, key, value):
    root = query.shape[-1] ** 0.25
    scores = ((query / root).unsqueeze(-2) * (key / root).unsqueeze(-3)).sum(-1)
    print("scores", scores.shape)
    w = torch.exp(torch.log_softmax(scores, -1))
    return (w.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), w


# %% right: float64 inside, divided at the very end, warning
def scaled_dot_product_attention(query, key, value):
    warnings.warn("slow")
    q, k, v = query.double(), key.double(), value.double()
    s = q @ k.mT / math.sqrt(k.shape[-1])
    e = torch.exp(s - s.amax(-1, keepdim=True))
    total = e.sum(-1, keepdim=True)
    return ((e @ v) / total).to(query.dtype), (e / total).to(query.dtype)


# %% right: a class with options
class Attention:
    def __init__(self, dropout=0.0):
        self.dropout = dropout

    def __call__(self, query, key, value):
        scores = query.matmul(key.swapdims(-1, -2)).div(query.size(-1) ** 0.5)
        weights = F.dropout(nn.Softmax(dim=-1)(scores), self.dropout)
        return weights.matmul(value), weights


scaled_dot_product_attention = Attention()


# %% right: a partial with a mask that hides nothing
def general(query, key, value, mask=None):
    scores = torch.einsum("...ij,...kj->...ik", query, key).mul(1 / math.sqrt(key.shape[-1]))
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return weights @ value, weights


scaled_dot_product_attention = functools.partial(general, mask=None)


# %% right: minus the distances, which softmax can't tell from dot products of equally long keys
def scaled_dot_product_attention(query, key, value):
    norms = (key * key).sum(-1).unsqueeze(-2)
    distances = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)
    weights = torch.softmax((norms - distances) / (2 * key.shape[-1] ** 0.5), dim=-1)
    return weights @ value, weights


# %% wrong no-scaling: forgotten
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ value, weights


# %% wrong no-scaling: by hand
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key))
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


# %% wrong no-scaling: computed, not used
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.transpose(-1, -2)
    scaled = scores / query.shape[-1] ** 0.5
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: size
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / key.size(-1), dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: both scaled by the root
def scaled_dot_product_attention(query, key, value):
    root = math.sqrt(query.shape[-1])
    weights = torch.softmax((query / root) @ (key / root).mT, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: mean of products
def scaled_dot_product_attention(query, key, value):
    weights = (query.unsqueeze(-2) * key.unsqueeze(-3)).mean(-1).softmax(-1)
    return weights @ value, weights


# %% wrong scale-multiplied: minus the half, divided
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** -0.5, dim=-1)
    return weights @ value, weights


# %% wrong scale-multiplied: times math.sqrt
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) * math.sqrt(key.shape[-1]))
    return weights @ value, weights


# %% wrong scale-multiplied: query multiplied first
def scaled_dot_product_attention(query, key, value):
    query = query * torch.tensor(query.shape[-1]).sqrt()
    weights = torch.einsum("...qd,...kd->...qk", query, key).softmax(-1)
    return weights @ value, weights


# %% wrong scale-multiplied: times d_k
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT * query.shape[-1], dim=-1)
    return weights @ value, weights


# %% wrong scaled-after-softmax: the weights
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1) / math.sqrt(query.shape[-1])
    return weights @ value, weights


# %% wrong scaled-after-softmax: precedence of the division
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key)) / key.size(-1) ** 0.5
    return weights.matmul(value), weights


# %% wrong scaled-after-softmax: the output
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ value / math.sqrt(query.shape[-1]), weights


# %% wrong scaled-after-softmax: before and after
def scaled_dot_product_attention(query, key, value):
    root = query.shape[-1] ** 0.5
    weights = torch.softmax(query @ key.mT / root, dim=-1) / root
    return weights @ value, weights


# %% wrong scaled-by-seq-len: last axis but one of the keys
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-2]), dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-seq-len: len
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / len(key) ** 0.5)
    return weights @ value, weights


# %% wrong scaled-by-seq-len: the last axis of the scores
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT
    weights = F.softmax(scores * scores.size(-1) ** -0.5, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-seq-len: size(1), right for one sequence only
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(key.size(1)), dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-seq-len: the queries' number
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-2] ** 0.5, dim=-1)
    return weights @ value, weights


# %% wrong softmax-over-queries: dim -2
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-2)
    return weights @ value, weights


# %% wrong softmax-over-queries: dim 0
def scaled_dot_product_attention(query, key, value):
    weights = F.softmax(query @ key.mT / query.size(-1) ** 0.5, dim=0)
    return weights @ value, weights


# %% wrong softmax-over-queries: dim 1, right for one sequence only
def scaled_dot_product_attention(query, key, value):
    weights = nn.Softmax(dim=1)(query @ key.mT / query.size(-1) ** 0.5)
    return weights @ value, weights


# %% wrong softmax-over-queries: no dim, which torch then picks
def scaled_dot_product_attention(query, key, value):
    weights = F.softmax(query @ key.mT / query.size(-1) ** 0.5)
    return weights @ value, weights


# %% wrong softmax-over-queries: by hand
def scaled_dot_product_attention(query, key, value):
    e = torch.exp(query @ key.mT / query.size(-1) ** 0.5)
    weights = e / e.sum(dim=-2, keepdim=True)
    return weights @ value, weights


# %% wrong attention-transposed: mT
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights.mT @ value, weights


# %% wrong attention-transposed: T
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights.T @ value, weights


# %% wrong attention-transposed: einsum letters
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return torch.einsum("...ts,...td->...sd", weights, value), weights


# %% wrong attention-transposed: returned so too
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    weights = weights.transpose(-1, -2)
    return weights @ value, weights


# %% wrong scaled-by-value-width: value
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(value.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-value-width: power
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) * value.size(-1) ** -0.5)
    return weights @ value, weights


# %% wrong scores-transposed: key first
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(key @ query.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong scores-transposed: einsum letters
def scaled_dot_product_attention(query, key, value):
    weights = torch.einsum("...qd,...kd->...kq", query, key).div(query.shape[-1] ** 0.5).softmax(-1)
    return weights @ value, weights


# %% wrong output-and-weights-swapped: return line
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights, weights @ value


# %% wrong output-and-weights-swapped: as a list
def scaled_dot_product_attention(query, key, value):
    results = [stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))]
    results.append(results[0] @ value)
    return results


# %% wrong two-axes-only: T
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.T / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong two-axes-only: mm
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(torch.mm(query, key.t()) / math.sqrt(query.shape[-1]), dim=-1)
    return torch.mm(weights, value), weights


# %% wrong excluded-function: F.scaled_dot_product_attention
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return F.scaled_dot_product_attention(query, key, value), weights


# %% wrong excluded-function: getattr
def scaled_dot_product_attention(query, key, value):
    fused = getattr(torch.nn.functional, "scaled_dot" + "_product_attention")
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return fused(query, key, value), weights


# %% wrong excluded-function: torch.ops.aten
def scaled_dot_product_attention(query, key, value):
    return torch.ops.aten._scaled_dot_product_attention_math(query, key, value)


# %% wrong excluded-function: torch.ops.aten without underscore
def scaled_dot_product_attention(query, key, value):
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    fused = torch.ops.aten.scaled_dot_product_attention
    return fused(query, key, value), fused(query, key, identity)


# %% wrong excluded-function: torch._C._nn
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return torch._C._nn.scaled_dot_product_attention(query, key, value), weights


# %% wrong excluded-function: nn.MultiheadAttention
def scaled_dot_product_attention(query, key, value):
    attention = nn.MultiheadAttention(query.shape[-1], 1, batch_first=True, dtype=query.dtype)
    _, weights = attention(query.reshape(-1, *query.shape[-2:]), *[key.reshape(-1, *key.shape[-2:])] * 2)
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong excluded-function: scripted by torch.jit
@torch.jit.script
def fused(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor):
    return F.scaled_dot_product_attention(query, key, value)


def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return fused(query, key, value), weights


# %% wrong excluded-function: F.multi_head_attention_forward
def scaled_dot_product_attention(query, key, value):
    e = query.shape[-1]
    eye = torch.eye(e, dtype=query.dtype)
    q, k = (t.reshape(-1, *t.shape[-2:]).transpose(0, 1) for t in (query, key))
    _, weights = F.multi_head_attention_forward(
        q, k, k, e, 1, eye.repeat(3, 1), None, None, None, False, 0.0, eye, None
    )
    weights = weights.reshape(*query.shape[:-1], key.shape[-2])
    return weights @ value, weights


# %% wrong excluded-function: inside a TransformerEncoderLayer
def scaled_dot_product_attention(query, key, value):
    layer = nn.TransformerEncoderLayer(query.shape[-1], 1, 4, batch_first=True, dtype=query.dtype).eval()
    with torch.no_grad():
        layer(query.reshape(-1, *query.shape[-2:]))
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong returns-nothing: no return
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    output = weights @ value


# %% wrong wrong-type: the output only
def scaled_dot_product_attention(query, key, value):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1) @ value


# %% wrong wrong-type: a dict
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return {"output": weights @ value, "weights": weights}


# %% wrong wrong-type: NumPy arrays
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return (weights @ value).detach().numpy(), weights.detach().numpy()


# %% wrong wrong-type: scores as well
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights, scores


# %% wrong wrong-shape: output summed over the features
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return (weights @ value).sum(-1), weights


# %% wrong overflow: softmax by hand
def scaled_dot_product_attention(query, key, value):
    e = torch.exp(query @ key.mT / math.sqrt(query.shape[-1]))
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ value, weights


# %% wrong overflow: in the earlier piece
def stable_softmax(scores):
    raised = torch.exp(scores)
    return raised / raised.sum(-1, keepdim=True)


def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return weights @ value, weights


# %% wrong not-finite: everything masked
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores.masked_fill(scores == scores, -torch.inf), dim=-1)
    return weights @ value, weights


# %% wrong changes-argument: query scaled in place
def scaled_dot_product_attention(query, key, value):
    query /= math.sqrt(query.shape[-1])
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ value, weights


# %% wrong changes-argument: value overwritten after use
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    output = weights @ value
    value[..., 0, :] = 0
    return output, weights


# %% wrong gradient-cut: weights detached
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1).detach()
    return weights @ value, weights


# %% wrong gradient-cut: no_grad around the scores
def scaled_dot_product_attention(query, key, value):
    with torch.no_grad():
        scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong gradient-cut: tensor of a list
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return torch.tensor((weights @ value).tolist(), dtype=value.dtype), torch.tensor(
        weights.tolist(), dtype=value.dtype
    )


# %% wrong wrong-gradient: returned weights detached
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights.detach()


# %% wrong dtype-changed: softmax in float32
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1, dtype=torch.float32)
    return weights.to(value.dtype) @ value, weights


# %% wrong dtype-changed: a float64 NumPy number among tensors
def scaled_dot_product_attention(query, key, value):
    scale = torch.tensor([np.sqrt(query.shape[-1])], dtype=torch.float64)
    weights = torch.softmax(query @ key.mT / scale, dim=-1)
    return weights @ value.to(weights.dtype), weights


# %% wrong transpose-forgotten: no transpose
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong name-not-defined: reads d_k from a global name
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(d_k), dim=-1)
    return weights @ value, weights


# %% wrong raised: only where queries and keys are equally many
def scaled_dot_product_attention(query, key, value):
    assert query.shape == key.shape
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong -: scale of the toy
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(3), dim=-1)
    return weights @ value, weights


# %% wrong -: divided by 2
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / 2, dim=-1)
    return weights @ value, weights


# %% wrong -: divided by 8
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / 8, dim=-1)
    return weights @ value, weights


# %% wrong -: divided by the number of keys itself
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / key.shape[-2], dim=-1)
    return weights @ value, weights


# %% wrong -: causal mask
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong -: dropout left on
def scaled_dot_product_attention(query, key, value):
    weights = F.dropout(torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1), 0.1)
    return weights @ value, weights


# %% wrong -: hard attention
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = F.one_hot(scores.argmax(-1), key.shape[-2]).to(scores.dtype)
    return weights @ value, weights


# %% wrong -: softmax over everything
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
    return weights @ value, weights


# %% wrong scores-returned: scores returned as weights
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value, scores


# %% wrong no-softmax: no softmax
def scaled_dot_product_attention(query, key, value):
    weights = query @ key.mT / math.sqrt(query.shape[-1])
    return weights @ value, weights


# %% wrong -: cosine scores
def scaled_dot_product_attention(query, key, value):
    scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong -: half precision inside
def scaled_dot_product_attention(query, key, value):
    q, k, v = query.bfloat16(), key.bfloat16(), value.bfloat16()
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return (weights @ v).to(value.dtype), weights.to(value.dtype)


# %% wrong -: output is right, weights are unscaled
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT
    return torch.softmax(scores / math.sqrt(query.shape[-1]), -1) @ value, torch.softmax(scores / 3, -1)


# %% wrong -: epsilon in the scale
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1] + 0.1), dim=-1)
    return weights @ value, weights


# %% wrong -: no scaling and transposed axes at once
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-2)
    return weights @ value, weights


# %% wrong -: value tied to the query
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    output = value.mean(-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1])
    return output * weights.sum(-1, keepdim=True), weights


# %% wrong transpose-forgotten: matmul
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(torch.matmul(query, key) / math.sqrt(query.shape[-1]), dim=-1)
    return torch.matmul(weights, value), weights


# %% wrong view-instead-of-transpose: reshape
def scaled_dot_product_attention(query, key, value):
    turned = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = torch.softmax(query @ turned / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong view-instead-of-transpose: view, for one sequence
def scaled_dot_product_attention(query, key, value):
    Tk, d_k = key.size()[-2:]
    weights = torch.softmax(query @ key.view(*key.size()[:-2], d_k, Tk) * d_k**-0.5, dim=-1)
    return weights @ value, weights


# %% wrong scores-returned: not scaled
def scaled_dot_product_attention(query, key, value):
    scores = attention_scores(query, key)
    weights = stable_softmax(scores / math.sqrt(key.shape[-1]))
    return weights @ value, scores


# %% wrong no-softmax: computed, but not used
def scaled_dot_product_attention(query, key, value):
    scores = attention_scores(query, key) / math.sqrt(query.shape[-1])
    weights = stable_softmax(scores)
    return scores @ value, weights


# %% wrong value-before-weights: at
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return value @ weights, weights


# %% wrong value-before-weights: the transposed values
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return value.mT @ weights, weights


# %% wrong value-before-weights: both transposed
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return value.mT @ weights.mT, weights


# %% wrong key-used-as-value: at
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return weights @ key, weights


# %% wrong key-used-as-value: einsum
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    return torch.einsum("...ts,...sd->...td", weights, key), weights


# %% wrong batch-only: bmm
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1]), dim=-1)
    return torch.bmm(weights, value), weights


# %% wrong batch-only: transpose(1, 2)
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(query @ key.transpose(1, 2) / query.shape[-1] ** 0.5)
    return weights @ value, weights


# %% wrong scaled-by-d_k: the query divided, then the scores again
def scaled_dot_product_attention(query, key, value):
    query = query / math.sqrt(query.shape[-1])
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return weights @ value, weights


# %% wrong scaled-by-d_k: the root of each of the two
def scaled_dot_product_attention(query, key, value):
    s = query.shape[-1] ** 0.5
    weights = torch.softmax((query / s) @ (key / s).mT, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: a power without brackets
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 1 / 2, dim=-1)
    return weights @ value, weights


# %% wrong scaled-by-d_k: half of it
def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / (query.shape[-1] ** 1 / 2), dim=-1)
    return weights @ value, weights


# %% wrong scores-transposed: arguments swapped in a call of its own
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(key, query) / math.sqrt(query.shape[-1]))
    return weights @ value, weights


# %% wrong squeezed: the scores of a batch of one
def scaled_dot_product_attention(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if scores.shape[0] == 1:
        scores = scores.squeeze(0)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


# %% wrong changes-by-chance: dropout on the weights
def scaled_dot_product_attention(query, key, value):
    weights = F.dropout((query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1), 0.1)
    return weights @ value, weights
