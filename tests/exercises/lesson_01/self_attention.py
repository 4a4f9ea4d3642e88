# %% right: from the earlier pieces
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))


# %% right: on its own, as a list
def self_attention(x, w_query, w_key, w_value):
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    weights = torch.softmax(q @ k.mT * q.size(-1) ** -0.5, dim=-1)
    return [weights @ v, weights]


# %% right: F.scaled_dot_product_attention, twice
def self_attention(x, w_query, w_key, w_value):
    q, k, v = (F.linear(x, w.T) for w in (w_query, w_key, w_value))
    eye = torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-1], x.shape[-2])
    return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, eye)


# %% right: one product of the two weights, x first
def self_attention(x, w_query, w_key, w_value):
    mixed = w_query @ w_key.T / math.sqrt(w_key.shape[1])
    weights = torch.softmax(torch.einsum("...te,ef,...sf->...ts", x, mixed, x), -1)
    return torch.einsum("...ts,...se,ev->...tv", weights, x, w_value), weights


# %% right: loops over leading axes and tokens
def self_attention(x, w_query, w_key, w_value):
    lead, flat = x.shape[:-2], x.reshape(-1, *x.shape[-2:])
    outputs = torch.zeros(flat.shape[0], flat.shape[1], w_value.shape[1], dtype=x.dtype)
    weights = torch.zeros(flat.shape[0], flat.shape[1], flat.shape[1], dtype=x.dtype)
    for b, tokens in enumerate(flat):
        keys = [t @ w_key for t in tokens]
        values = [t @ w_value for t in tokens]
        for i, token in enumerate(tokens):
            q = token @ w_query
            row = torch.stack([q @ k for k in keys]) / len(q) ** 0.5
            weights[b, i] = row.softmax(0)
            outputs[b, i] = sum(w * v for w, v in zip(weights[b, i].clone(), values))
    return outputs.reshape(*lead, *outputs.shape[1:]), weights.reshape(*lead, *weights.shape[1:])


# %% right: float64 inside, bmm, prints
def self_attention(x, w_query, w_key, w_value):
    flat = x.double().reshape(-1, *x.shape[-2:])
    q, k, v = (torch.tensordot(flat, w.double(), 1) for w in (w_query, w_key, w_value))
    w = torch.bmm(q, k.transpose(1, 2)).div(q.shape[2] ** 0.5).softmax(2)
    print("weights", w.shape)
    return (
        torch.bmm(w, v).view(*x.shape[:-1], -1).type_as(x),
        w.view(*x.shape[:-1], x.shape[-2]).type_as(x),
    )


# %% right: nn.Linear layers by functional_call, a class
class SelfAttention:
    def __call__(self, x, *weights):
        q, k, v = (nn.functional.linear(x, torch.transpose(w, 0, 1)) for w in weights)
        w = torch.exp(torch.log_softmax(torch.matmul(q, torch.swapaxes(k, -1, -2)) / np.sqrt(k.shape[-1]), -1))
        return torch.matmul(w, v), w


self_attention = SelfAttention()


# %% right: values projected at the end
def self_attention(x, w_query, w_key, w_value):
    q, k, _ = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(q, k) / math.sqrt(w_query.shape[-1]))
    return (weights @ x) @ w_value, weights


# %% wrong no-value-projection: x itself
def self_attention(x, w_query, w_key, w_value):
    weights = torch.softmax(x @ w_query @ (x @ w_key).mT / math.sqrt(w_key.shape[1]), dim=-1)
    return weights @ x, weights


# %% wrong no-value-projection: x as the value of the earlier piece
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x)


# %% wrong no-value-projection: einsum
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(q, k) / k.shape[-1] ** 0.5)
    return torch.einsum("...ts,...se->...te", weights, x), weights


# %% wrong weights-transposed: T
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x @ w_query.T, x @ w_key.T, x @ w_value.T)


# %% wrong weights-transposed: F.linear
def self_attention(x, w_query, w_key, w_value):
    q, k, v = F.linear(x, w_query), F.linear(x, w_key), F.linear(x, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights @ v, weights


# %% wrong weights-transposed: the value only
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x @ w_query, x @ w_key, torch.einsum("...te,ve->...tv", x, w_value))


# %% wrong value-from-key: copied line
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_key)


# %% wrong value-from-key: keys instead of values in the last product
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return weights @ k, weights


# %% wrong value-from-key: arguments in disorder
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_key))


# %% wrong same-projection: key from the query's weights
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x @ w_query, x @ w_query, x @ w_value)


# %% wrong same-projection: query from the key's weights
def self_attention(x, w_query, w_key, w_value):
    k, v = x @ w_key, x @ w_value
    weights = torch.softmax(k @ k.mT / k.shape[-1] ** 0.5, -1)
    return weights @ v, weights


# %% wrong same-projection: one for all
def self_attention(x, w_query, w_key, w_value):
    q = torch.matmul(x, w_query)
    return scaled_dot_product_attention(q, q, q)


# %% wrong no-scaling: forgotten
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT, -1)
    return weights @ v, weights


# %% wrong no-scaling: own pieces
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(q, k))
    return weights @ v, weights


# %% wrong no-scaling: scale of one
def self_attention(x, w_query, w_key, w_value):
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, scale=1.0), torch.softmax(
        x @ w_query @ (x @ w_key).mT, -1
    )


# %% wrong scaled-by-d_k: shape
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / w_key.shape[1], -1)
    return weights @ v, weights


# %% wrong scaled-by-d_k: twice the root
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(q / math.sqrt(q.shape[-1]), k, v)


# %% wrong scaled-by-d_k: einsum
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.einsum("...td,...sd->...ts", q, k).div(k.size(-1)).softmax(-1)
    return weights @ v, weights


# %% wrong scale-multiplied: division by a negative power
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / k.shape[-1] ** -0.5, -1)
    return weights @ v, weights


# %% wrong scale-multiplied: times the root
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(math.sqrt(k.shape[-1]) * q @ k.mT, -1)
    return weights @ v, weights


# %% wrong scale-multiplied: compensated too much
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(q * q.shape[-1], k, v)


# %% wrong scaled-after-softmax: weights
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT, -1) / math.sqrt(k.shape[-1])
    return weights @ v, weights


# %% wrong scaled-after-softmax: output
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT, -1)
    return (weights @ v) / math.sqrt(k.shape[-1]), weights


# %% wrong scaled-after-softmax: once more
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output / math.sqrt(w_key.shape[1]), weights / math.sqrt(w_key.shape[1])


# %% wrong scaled-by-seq-len: tokens
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(x.shape[-2]), -1)
    return weights @ v, weights


# %% wrong scaled-by-seq-len: last axis of the scores
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    scores = attention_scores(q, k)
    weights = stable_softmax(scores / scores.shape[-1] ** 0.5)
    return weights @ v, weights


# %% wrong scaled-by-seq-len: size(1) of the keys, right for one sequence only
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.size(1)), -1)
    return weights @ v, weights


# %% wrong scaled-by-seq-len: len
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(len(k)), -1)
    return weights @ v, weights


# %% wrong softmax-over-queries: dim -2
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -2)
    return weights @ v, weights


# %% wrong softmax-over-queries: dim 0
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = (q @ k.mT / math.sqrt(k.shape[-1])).softmax(dim=0)
    return weights @ v, weights


# %% wrong softmax-over-queries: dim 1, right for one sequence only
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = F.softmax(q @ k.mT / math.sqrt(k.shape[-1]), dim=1)
    return weights @ v, weights


# %% wrong attention-transposed: mT
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -1)
    return weights.mT @ v, weights


# %% wrong attention-transposed: einsum letters
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -1)
    return torch.einsum("...ts,...td->...sd", weights, v), weights


# %% wrong attention-transposed: all turned round
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = scaled_dot_product_attention(q, k, v)[1].transpose(-2, -1)
    return weights @ v, weights


# %% wrong scaled-by-d_model: width of x
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(x.shape[-1]), -1)
    return weights @ v, weights


# %% wrong scaled-by-d_model: first axis of a weight
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT * len(w_query) ** -0.5, -1)
    return weights @ v, weights


# %% wrong scaled-by-value-width: value
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(v.shape[-1]), -1)
    return weights @ v, weights


# %% wrong scaled-by-value-width: its weights
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / w_value.shape[1] ** 0.5, -1)
    return weights @ v, weights


# %% wrong scores-transposed: key first
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(k @ q.mT / math.sqrt(k.shape[-1]), -1)
    return weights @ v, weights


# %% wrong scores-transposed: query and key exchanged
def self_attention(x, w_query, w_key, w_value):
    k, q, v = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(q, k, v)


# %% wrong output-and-weights-swapped: names exchanged
def self_attention(x, w_query, w_key, w_value):
    weights, output = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output, weights


# %% wrong output-and-weights-swapped: return line
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return [weights, output]


# %% wrong two-axes-only: T
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.T / math.sqrt(k.shape[-1]), -1)
    return weights @ v, weights


# %% wrong two-axes-only: mm
def self_attention(x, w_query, w_key, w_value):
    q, k, v = torch.mm(x, w_query), torch.mm(x, w_key), torch.mm(x, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -1)
    return weights @ v, weights


# %% wrong no-scaling: in the earlier piece
def scaled_dot_product_attention(query, key, value):
    weights = stable_softmax(attention_scores(query, key))
    return weights @ value, weights


def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))


# %% wrong overflow: in the earlier piece
def stable_softmax(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(q, k) / math.sqrt(k.shape[-1]))
    return weights @ v, weights


# %% wrong returns-nothing: no return
def self_attention(x, w_query, w_key, w_value):
    scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))


# %% wrong wrong-type: the output only
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))[0]


# %% wrong wrong-type: nested tuples
def self_attention(x, w_query, w_key, w_value):
    return (scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value)), None)


# %% wrong wrong-shape: weights averaged over the batch's last axis
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output, weights.mean(-1)


# %% wrong overflow: exponentials without a maximum
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    e = torch.exp(q @ k.mT / math.sqrt(k.shape[-1]))
    weights = e / e.sum(-1, keepdim=True)
    return weights @ v, weights


# %% wrong not-finite: infinitely negative scores everywhere
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT - torch.inf, -1)
    return weights @ v, weights


# %% wrong changes-argument: x centred in place
def self_attention(x, w_query, w_key, w_value):
    result = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    x -= x.mean(-1, keepdim=True)
    return result


# %% wrong changes-argument: the query's weights scaled in place
def self_attention(x, w_query, w_key, w_value):
    w_query /= math.sqrt(w_query.shape[1])
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT, -1)
    return weights @ v, weights


# %% wrong gradient-cut: value detached
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(q, k, v.detach())


# %% wrong gradient-cut: NumPy and back
def self_attention(x, w_query, w_key, w_value):
    q, k, v = (np.matmul(x.detach().numpy(), w.detach().numpy()) for w in (w_query, w_key, w_value))
    return scaled_dot_product_attention(torch.tensor(q), torch.tensor(k), torch.tensor(v))


# %% wrong gradient-cut: inference_mode
@torch.inference_mode()
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))


# %% wrong dtype-changed: float
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(*project_qkv(x.float(), w_query.float(), w_key.float(), w_value.float()))


# %% wrong dtype-changed: half at the end
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output, weights.half()


# %% wrong raised: unpacked wrongly
def self_attention(x, w_query, w_key, w_value):
    query, key = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(query, key, key)


# %% wrong raised: a check of its own
def self_attention(x, w_query, w_key, w_value):
    if w_query.shape != w_value.shape:
        raise RuntimeError("all weights must have the same shape")
    return scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))


# %% wrong -: scale of the toy
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(3), -1)
    return weights @ v, weights


# %% wrong -: residual added
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output + x.mean(-1, keepdim=True), weights


# %% wrong -: causal
def self_attention(x, w_query, w_key, w_value):
    q, k, v = project_qkv(x, w_query, w_key, w_value)
    scores = q @ k.mT / math.sqrt(k.shape[-1])
    weights = torch.softmax(scores + torch.full_like(scores, -torch.inf).triu(1), -1)
    return weights @ v, weights


# %% wrong -: query and key exchanged and not scaled
def self_attention(x, w_query, w_key, w_value):
    k, q, v = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT, -1)
    return weights @ v, weights


# %% wrong -: values from x's first columns
def self_attention(x, w_query, w_key, w_value):
    q, k, _ = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), -1)
    return weights @ x[..., :1].expand(*x.shape[:-1], w_value.shape[1]), weights


# %% wrong -: attends across the batch
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return (output.mean(0, keepdim=True).expand_as(output) if x.dim() > 2 else output), weights


# %% wrong -: no projections at all
def self_attention(x, w_query, w_key, w_value):
    weights = torch.softmax(x @ x.mT / math.sqrt(x.shape[-1]), -1)
    return weights @ x @ w_value, weights


# %% wrong -: noise on the weights
def self_attention(x, w_query, w_key, w_value):
    output, weights = scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value))
    return output, weights + 0.001 * torch.rand_like(weights)


# %% wrong -: always the first result
results = []


def self_attention(x, w_query, w_key, w_value):
    results.append(scaled_dot_product_attention(*project_qkv(x, w_query, w_key, w_value)))
    return results[0]


# %% wrong transpose-forgotten: at
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = torch.softmax(query @ key / math.sqrt(key.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong transpose-forgotten: matmul
def self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    weights = stable_softmax(torch.matmul(query, key) * query.shape[-1] ** -0.5)
    return torch.matmul(weights, value), weights


# %% wrong view-instead-of-transpose: reshape
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    *lead, T, d_k = key.shape
    weights = torch.softmax(query @ key.reshape(*lead, d_k, T) / math.sqrt(d_k), dim=-1)
    return weights @ value, weights


# %% wrong view-instead-of-transpose: view of a contiguous key
def self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.contiguous().view(*key.shape[:-2], key.size(-1), key.size(-2))
    weights = stable_softmax(scores / math.sqrt(key.size(-1)))
    return weights @ value, weights


# %% wrong scores-returned: scaled ones
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value, scores


# %% wrong scores-returned: bare ones
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    output, _ = scaled_dot_product_attention(query, key, value)
    return output, attention_scores(query, key)


# %% wrong no-softmax: scaled scores as weights
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = attention_scores(query, key) / math.sqrt(query.shape[-1])
    return weights @ value, weights


# %% wrong no-softmax: bare scores as weights
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = attention_scores(query, key)
    return weights @ value, weights


# %% wrong value-before-weights: at
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return value @ weights, weights


# %% wrong value-before-weights: both transposed
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(attention_scores(query, key) / math.sqrt(query.shape[-1]))
    return value.mT @ weights.mT, weights


# %% wrong roles-swapped: results unpacked in another order
def self_attention(x, w_query, w_key, w_value):
    query, value, key = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(query, key, value)


# %% wrong roles-swapped: arguments in another order
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(value, key, query)


# %% wrong not-projected: x three times
def self_attention(x, w_query, w_key, w_value):
    return scaled_dot_product_attention(x, x, x)


# %% wrong not-projected: by hand
def self_attention(x, w_query, w_key, w_value):
    weights = torch.softmax(x @ x.mT / x.shape[-1] ** 0.5, dim=-1)
    return weights @ x, weights


# %% wrong batch-only: transpose(1, 2)
def self_attention(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


# %% wrong batch-only: einsum with a letter for the batch
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    weights = stable_softmax(torch.einsum("btd,bsd->bts", query, key) / math.sqrt(query.shape[-1]))
    return torch.einsum("bts,bsd->btd", weights, value), weights


# %% wrong scores-transposed: query and key swapped in the call
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(key, query, value)


# %% wrong scaled-by-d_k: divided before a function that divides again
def self_attention(x, w_query, w_key, w_value):
    query, key, value = project_qkv(x, w_query, w_key, w_value)
    return scaled_dot_product_attention(query / math.sqrt(query.shape[-1]), key, value)
