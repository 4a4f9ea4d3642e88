# %% right: entr
def attention_entropy(weights):
    return torch.special.entr(weights).sum(dim=-1)


# %% right: xlogy, whose gradient is NaN at 0
def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(-1)


# %% right: where, with a safe logarithm
def attention_entropy(weights):
    positive = weights > 0
    logs = torch.where(positive, weights, torch.ones_like(weights)).log()
    return -(weights * logs).sum(-1)


# %% right: where around the product; the gradient is NaN at 0
def attention_entropy(weights):
    terms = torch.where(weights > 0, -weights * torch.log(weights), torch.zeros_like(weights))
    return terms.sum(axis=-1)


# %% right: clamped
def attention_entropy(weights):
    return -(weights * weights.clamp(min=1e-12).log()).sum(dim=-1)


# %% right: a tiny epsilon
def attention_entropy(weights):
    return -torch.sum(weights * torch.log(weights + 1e-9), dim=-1)


# %% right: an epsilon of 1e-7
def attention_entropy(weights):
    return -torch.sum(weights * torch.log(weights + 1e-7), dim=-1)


# %% right: the smallest number of the dtype
def attention_entropy(weights):
    tiny = torch.finfo(weights.dtype).tiny
    return -torch.einsum("...i,...i->...", weights, torch.log(weights.clamp_min(tiny)))


# %% right: nansum; the gradient is NaN at 0
def attention_entropy(weights):
    return torch.nansum(-weights * weights.log(), dim=-1)


# %% right: nan_to_num; the gradient is NaN at 0
def attention_entropy(weights):
    return -(weights * weights.log()).nan_to_num(0.0).sum(-1)


# %% right: a distribution of torch's
def attention_entropy(weights):
    return torch.distributions.Categorical(probs=weights).entropy()


# %% right: by divergence from the uniform; the gradient is NaN at 0
def attention_entropy(weights):
    keys = weights.shape[-1]
    uniform = torch.full_like(weights, 1 / keys)
    return math.log(keys) - F.kl_div(uniform.log(), weights, reduction="none").sum(-1)


# %% right: loops over rows, only what is positive
def attention_entropy(weights):
    flat = weights.reshape(-1, weights.shape[-1])
    entropies = []
    for row in flat:
        seen = row[row > 0]
        entropies.append(-(seen * seen.log()).sum())
    return torch.stack(entropies).reshape(weights.shape[:-1])


# %% right: in bits, then to nats
def attention_entropy(weights):
    copy = weights.clone()
    copy[copy == 0] = 1.0
    bits = -(weights * torch.log2(copy)).sum(-1)
    return bits * math.log(2)


# %% right: -inf replaced before the product; the gradient is NaN at 0
def attention_entropy(weights):
    logs = weights.double().log()
    logs = logs.masked_fill(logs == float("-inf"), 0.0)
    return (-(weights.double() * logs).sum(-1)).to(weights.dtype)


# %% wrong log-of-zero: the formula as it stands
def attention_entropy(weights):
    return -(weights * weights.log()).sum(-1)


# %% wrong log-of-zero: einsum
def attention_entropy(weights):
    return -torch.einsum("...k,...k->...", weights, torch.log(weights))


# %% wrong log-of-zero: a loop over keys
def attention_entropy(weights):
    total = 0
    for k in range(weights.shape[-1]):
        w = weights[..., k]
        total = total - w * torch.log(w)
    return total


# %% wrong log-of-zero: through base 2 and back
def attention_entropy(weights):
    return -(weights * torch.log2(weights)).sum(-1) * math.log(2)


# %% wrong log-of-zero: the logarithm of one over the weight
def attention_entropy(weights):
    return (weights * (1 / weights).log()).sum(-1)


# %% wrong bits-instead-of-nats: log2 and an epsilon
def attention_entropy(weights):
    return -(weights * torch.log2(weights + 1e-12)).sum(-1)


# %% wrong bits-instead-of-nats: log2 as it stands
def attention_entropy(weights):
    return -(weights * weights.log2()).sum(-1)


# %% wrong bits-instead-of-nats: divided by ln 2
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1) / math.log(2)


# %% wrong sign-flipped: the minus forgotten
def attention_entropy(weights):
    return torch.xlogy(weights, weights).sum(-1)


# %% wrong sign-flipped: and NaN
def attention_entropy(weights):
    return (weights * weights.log()).sum(-1)


# %% wrong sign-flipped: twice minus
def attention_entropy(weights):
    return -(-weights * weights.clamp(min=1e-12).log()).sum(dim=-1)


# %% wrong averaged-not-summed: mean
def attention_entropy(weights):
    return torch.special.entr(weights).mean(-1)


# %% wrong averaged-not-summed: divided by the number of keys
def attention_entropy(weights):
    return -(weights * (weights + 1e-12).log()).sum(-1) / weights.shape[-1]


# %% wrong averaged-not-summed: and NaN
def attention_entropy(weights):
    return torch.mean(-weights * torch.log(weights), dim=-1)


# %% wrong summed-over-queries: the last axis but one
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-2)


# %% wrong summed-over-queries: axis 0
def attention_entropy(weights):
    return -(weights * weights.clamp(min=1e-12).log()).sum(0)


# %% wrong summed-over-queries: axis 1, right without a batch
def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(dim=1)


# %% wrong one-number-for-all: no axis
def attention_entropy(weights):
    return -(weights * weights.clamp(min=1e-12).log()).sum()


# %% wrong one-number-for-all: the mean of all queries
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1).mean()


# %% wrong one-number-for-all: a number for every matrix
def attention_entropy(weights):
    return -(weights * weights.log()).sum((-2, -1))


# %% wrong two-axes-only: einsum with letters for two axes
def attention_entropy(weights):
    return -torch.einsum("qk,qk->q", weights, weights.clamp(min=1e-12).log())


# %% wrong two-axes-only: a loop over rows that takes the first axis for the queries
def attention_entropy(weights):
    entropies = []
    for row in weights:
        seen = row[row > 0]
        entropies.append(-(seen * seen.log()).sum())
    return torch.stack(entropies)


# %% wrong returns-nothing: no return
def attention_entropy(weights):
    entropy = torch.special.entr(weights).sum(-1)


# %% wrong wrong-type: a NumPy array
def attention_entropy(weights):
    w = weights.detach().numpy()
    return -(w * np.log(np.maximum(w, 1e-12))).sum(-1)


# %% wrong wrong-type: a Python list
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1).tolist()


# %% wrong axis-kept: the axis kept
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1, keepdim=True)


# %% wrong not-summed: not summed at all
def attention_entropy(weights):
    return torch.special.entr(weights)


# %% wrong changes-argument: zeros replaced in place
def attention_entropy(weights):
    entropy = torch.special.entr(weights).sum(-1)
    weights[weights == 0] = 1e-12
    return entropy


# %% wrong changes-argument: an epsilon added in place
def attention_entropy(weights):
    weights += 1e-9
    return -(weights * weights.log()).sum(-1)


# %% wrong gradient-cut: detached
def attention_entropy(weights):
    return torch.special.entr(weights.detach()).sum(-1)


# %% right: normalised once more, which changes the gradient by a number a row; the gradient is NaN at 0
def attention_entropy(weights):
    share = weights / weights.sum(-1, keepdim=True)
    return torch.special.entr(share).sum(-1)


# %% wrong -: the weights in front of the logarithm detached
def attention_entropy(weights):
    return -(weights.detach() * weights.clamp(min=1e-12).log()).sum(-1)


# %% wrong dtype-changed: float32 whatever comes
def attention_entropy(weights):
    return torch.special.entr(weights.float()).sum(-1)


# %% wrong number-function-on-tensor: a Python logarithm
def attention_entropy(weights):
    return -sum(w * math.log(w) for w in weights)


# %% wrong bits-instead-of-nats: base 10
def attention_entropy(weights):
    return -(weights * weights.clamp(min=1e-12).log10()).sum(-1)


# %% wrong -: normalised to [0, 1]
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1) / math.log(weights.shape[-1])


# %% wrong softmax-again: softmax once more
def attention_entropy(weights):
    return torch.special.entr(torch.softmax(weights, -1)).sum(-1)


# %% wrong epsilon-too-large: an epsilon at a size that matters
def attention_entropy(weights):
    return -(weights * (weights + 1e-3).log()).sum(-1)


# %% wrong exponentiated: the exponential of it
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1).exp()


# %% wrong -: the weights forgotten
def attention_entropy(weights):
    return -weights.clamp(min=1e-12).log().sum(-1)


# %% wrong -: one less the largest
def attention_entropy(weights):
    return 1 - weights.amax(-1)


# %% wrong -: small weights left out
def attention_entropy(weights):
    return torch.where(weights > 0.05, torch.special.entr(weights), torch.zeros_like(weights)).sum(-1)


# %% wrong -: NaN turned to 0 for a whole row
def attention_entropy(weights):
    return (-(weights * weights.log()).sum(-1)).nan_to_num(0.0)


# %% wrong -: terms of the binary entropy
def attention_entropy(weights):
    return (torch.special.entr(weights) + torch.special.entr(1 - weights)).sum(-1)


# %% wrong not-summed: with care for zeros
def attention_entropy(weights):
    return -weights * weights.clamp(min=1e-30).log()


# %% wrong axis-kept: keepdim=True
def attention_entropy(weights):
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return -(weights * safe.log()).sum(dim=-1, keepdim=True)


# %% wrong weights-forgotten: with care for zeros
def attention_entropy(weights):
    return -weights.clamp(min=1e-30).log().sum(dim=-1)


# %% wrong weights-forgotten: bare
def attention_entropy(weights):
    return -torch.log(weights).sum(-1)


# %% wrong softmax-again: by name
def attention_entropy(weights):
    w = weights.softmax(-1)
    return -(w * w.log()).sum(-1)


# %% wrong exponentiated: at the end
def attention_entropy(weights):
    return torch.exp(-(weights * weights.clamp(min=1e-30).log()).sum(-1))


# %% wrong epsilon-too-large: 1e-4
def attention_entropy(weights):
    return -(weights * torch.log(weights + 1e-4)).sum(-1)


# %% wrong batch-only: axis 2, right for a batch only
def attention_entropy(weights):
    return torch.special.entr(weights).sum(2)


# %% wrong batch-only: einsum with a letter for the batch
def attention_entropy(weights):
    return -torch.einsum("bqk,bqk->bq", weights, weights.clamp(min=1e-30).log())


# %% wrong one-number-for-all: positive weights picked first
def attention_entropy(weights):
    w = weights[weights > 0]
    return -(w * w.log()).sum(-1)


# %% wrong two-axes-only: rows in a Python loop
def attention_entropy(weights):
    entropies = []
    for row in weights:
        w = row[row > 0]
        entropies.append(-(w * w.log()).sum())
    return torch.stack(entropies)


# %% wrong -: a share of the largest entropy
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1) / math.log(weights.shape[-1])


# %% wrong batch-only: one matrix after the other
def attention_entropy(weights):
    safe = weights.clamp(min=1e-30)
    return -torch.stack([torch.einsum("qk,qk->q", w, s.log()) for w, s in zip(weights, safe)])
