# %% prelude
import math

import torch
import torch.nn.functional as F


# A right one in small pieces: most cells below change one of them.
def surest(logits):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def ranked(logits, temperature):
    return (logits / temperature).softmax(-1).sort(-1, descending=True)


def first_k(p, top_k):
    p = p * (torch.arange(p.shape[-1]) < top_k)
    return p / p.sum(-1, keepdim=True)


def first_p(p, top_p):
    before = p.cumsum(-1) - p
    p = p * (before < top_p)
    return p / p.sum(-1, keepdim=True)


def in_place(p, order):
    return torch.zeros_like(p).scatter(-1, order, p)


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return surest(logits)
    p, order = ranked(logits, temperature)
    if top_k is not None:
        p = first_k(p, top_k)
    if top_p is not None:
        p = first_p(p, top_p)
    return in_place(p, order)


# %% right: sorted, scattered back
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% right: logits of -inf
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% right: row by row
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    shape, rows = logits.shape, []
    for row in logits.reshape(-1, logits.shape[-1]):
        if temperature == 0:
            p = torch.zeros_like(row)
            p[row.argmax()] = 1
            rows.append(p)
            continue
        p = torch.softmax(row / temperature, 0)
        order = p.argsort(descending=True).tolist()
        if top_k is not None:
            order = order[:top_k]
        keep = torch.zeros_like(p)
        keep[order] = 1
        p = p * keep / (p * keep).sum()
        if top_p is not None:
            total, chosen = 0.0, []
            for i in order:
                chosen.append(i)
                total += p[i].item()
                if total >= top_p:
                    break
            keep = torch.zeros_like(p)
            keep[chosen] = 1
            p = p * keep / (p * keep).sum()
        rows.append(p)
    return torch.stack(rows).reshape(shape)


# %% right: the order sorted, gathered
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return p.gather(-1, order.argsort(-1))


# %% right: by rank
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    V = logits.shape[-1]
    if temperature == 0:
        return (torch.arange(V) == logits.argmax(-1, keepdim=True)).to(logits.dtype)
    p = torch.exp(torch.log_softmax(logits / temperature, -1))
    larger = p.unsqueeze(-2) > p.unsqueeze(-1)  # (..., token, other)
    rank = larger.sum(-1)
    if top_k is not None:
        p = torch.where(rank < top_k, p, torch.zeros_like(p))
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        above = (larger * p.unsqueeze(-2)).sum(-1)
        p = torch.where(above < top_p, p, torch.zeros_like(p))
        p = p / p.sum(-1, keepdim=True)
    return p


# %% wrong nothing-without-top-k-and-top-p: a return in each branch
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        p = p * (p.cumsum(-1) - p < top_p)
        p = p / p.sum(-1, keepdim=True)
        return torch.zeros_like(p).scatter(-1, order, p)
    if top_k is not None:
        return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong nothing-without-top-k-and-top-p: the return stands too far to the right
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return (logits == logits.max(-1, keepdim=True).values).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    rank = torch.arange(p.shape[-1])
    if top_k is not None or top_p is not None:
        p = p * (rank < (top_k or p.shape[-1]))
        p = p / p.sum(-1, keepdim=True)
        p = p * (p.cumsum(-1) - p < (top_p or 2.0))
        p = p / p.sum(-1, keepdim=True)
        return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong gradient-cut: detached by top-k
def first_k(p, top_k):
    p = p.detach() * (torch.arange(p.shape[-1]) < top_k)
    return p / p.sum(-1, keepdim=True)


def first_p(p, top_p):
    p = p * (p.cumsum(-1) - p < top_p)
    return p / p.sum(-1, keepdim=True)


# %% wrong gradient-cut: a new tensor for top-k
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p = (logits / temperature).softmax(-1)
    if top_k is not None:
        best = p.topk(min(top_k, p.shape[-1]), dim=-1).indices
        with torch.no_grad():
            p = torch.zeros_like(p).scatter(-1, best, p.gather(-1, best))
            p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        ordered, order = p.sort(-1, descending=True)
        ordered = ordered * (ordered.cumsum(-1) - ordered < top_p)
        ordered = ordered / ordered.sum(-1, keepdim=True)
        p = torch.zeros_like(p).scatter(-1, order, ordered)
    return p


# %% wrong temperature-multiplied: times
def ranked(logits, temperature):
    return (logits * temperature).softmax(-1).sort(-1, descending=True)


# %% wrong temperature-multiplied: no case for zero
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = (logits * temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong temperature-forgotten: not used
def ranked(logits, temperature):
    return (logits).softmax(-1).sort(-1, descending=True)


# %% wrong temperature-forgotten: result lost
def ranked(logits, temperature):
    logits / temperature
    return logits.softmax(-1).sort(-1, descending=True)


# %% wrong temperature-on-probabilities: divided after the softmax
def ranked(logits, temperature):
    return (logits.softmax(-1) / temperature).sort(-1, descending=True)


# %% wrong temperature-on-probabilities: and another softmax
def ranked(logits, temperature):
    return (logits.softmax(-1) / temperature).softmax(-1).sort(-1, descending=True)


# %% wrong divides-by-zero: no case for zero
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong divides-by-zero: logits filtered
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% wrong divides-by-zero: Python's division
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = (logits * (1 / temperature)).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong divides-by-nearly-zero: at least 1e-300
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    p, order = (logits / max(temperature, 1e-300)).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong divides-by-nearly-zero: the smallest number of float64 in place of zero
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        temperature = torch.finfo(torch.float64).tiny
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong top-k-above-vocabulary: topk
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% wrong top-k-above-vocabulary: the k-th column
def first_k(p, top_k):
    p = p * (p >= p[..., top_k - 1 : top_k].clone() if top_k <= p.shape[-1] else p[..., top_k])
    return p / p.sum(-1, keepdim=True)


# %% wrong not-renormalised: neither
def first_k(p, top_k):
    return p * (torch.arange(p.shape[-1]) < top_k)


def first_p(p, top_p):
    before = p.cumsum(-1) - p
    return p * (before < top_p)


# %% wrong not-renormalised: after top-k
def first_k(p, top_k):
    return p * (torch.arange(p.shape[-1]) < top_k)


def first_p(p, top_p):
    p = p / p.sum(-1, keepdim=True)
    before = p.cumsum(-1) - p
    p = p * (before < top_p)
    return p / p.sum(-1, keepdim=True)


# %% wrong not-renormalised: after top-p
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    return p * (before < top_p)


# %% wrong top-p-one-too-few: the sum that includes it
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    p = p * (p.cumsum(-1) <= top_p)
    return p / p.sum(-1, keepdim=True)


# %% wrong top-p-one-too-few: at least one
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    keep = p.cumsum(-1) <= top_p
    keep[..., 0] = True
    p = p * keep
    return p / p.sum(-1, keepdim=True)


# %% wrong top-p-one-too-few: not moved by one
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% wrong top-p-one-too-many: one more
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    stay = (before < top_p).sum(-1, keepdim=True) + 1
    p = p * (torch.arange(p.shape[-1]) < stay)
    return p / p.sum(-1, keepdim=True)


# %% wrong top-p-one-too-many: moved twice
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., :2] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% wrong top-p-as-threshold: each probability
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    p = p * (p >= top_p)
    return p / p.sum(-1, keepdim=True)


# %% wrong top-p-as-threshold: the largest stays
def first_p(p, top_p):
    before = p.cumsum(-1) - p
    keep = p > top_p
    keep[..., :1] = True
    p = p * keep
    return p / p.sum(-1, keepdim=True)


# %% wrong top-p-before-top-k: the other order
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_p is not None:
        p = p * (p.cumsum(-1) - p < top_p)
        p = p / p.sum(-1, keepdim=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong top-p-before-top-k: divided at the end
def first_k(p, top_k):
    return p * (torch.arange(p.shape[-1]) < top_k)


def first_p(p, top_p):
    before = p.cumsum(-1) - p
    return p * (before < top_p)


def in_place(p, order):
    p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong sorted-order-returned: always
def in_place(p, order):
    return p


# %% wrong sorted-order-returned: after top-p
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return p if top_p is not None else torch.zeros_like(p).scatter(-1, order, p)


# %% wrong sorted-order-returned: if anything was taken out
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    if top_k is not None or top_p is not None:
        return p
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong order-applied-twice: gather
def in_place(p, order):
    return p.gather(-1, order)


# %% wrong order-applied-twice: take_along_dim
def in_place(p, order):
    return torch.take_along_dim(p, order, dim=-1)


# %% wrong filtered-to-zero-logit: both
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, 0.0)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), 0.0)
    return logits.softmax(-1)


# %% wrong filtered-to-zero-logit: multiplied by the mask
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits * (logits >= kth)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.softmax(-1)


# %% wrong filtered-to-zero-logit: top-p
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), 0.0)
    return logits.softmax(-1)


# %% wrong smallest-kept: sort from the smallest
def ranked(logits, temperature):
    return (logits / temperature).softmax(-1).sort(-1)


# %% wrong smallest-kept: largest=False
def ranked(logits, temperature):
    p = (logits / temperature).softmax(-1)
    order = p.argsort(-1)
    p = p.gather(-1, order)
    return p, order


# %% wrong top-k-off-by-one: one more
def first_k(p, top_k):
    p = p * (torch.arange(p.shape[-1]) <= top_k)
    return p / p.sum(-1, keepdim=True)


# %% wrong top-k-off-by-one: the k-th goes
def first_k(p, top_k):
    p = p * (torch.arange(p.shape[-1]) < top_k - 1)
    return p / p.sum(-1, keepdim=True)


# %% wrong log-probabilities: log
def surest(logits):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype).log()


def in_place(p, order):
    return torch.zeros_like(p).scatter(-1, order, p).log()


# %% wrong log-probabilities: log_softmax
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0).log()
    logits = logits / temperature
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.size(-1)), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -math.inf)
    if top_p is not None:
        values, order = torch.sort(logits, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        remove = sums > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, order, remove), -math.inf)
    return logits.log_softmax(-1)


# %% wrong -: softmax over the rows
def ranked(logits, temperature):
    return (logits / temperature).softmax(0).sort(-1, descending=True)


# %% wrong -: the mean is taken off the logits and squared
def ranked(logits, temperature):
    return ((logits / temperature) ** 2).softmax(-1).sort(-1, descending=True)


# %% wrong -: top-k ignored
def first_k(p, top_k):
    p = p * 1
    return p / p.sum(-1, keepdim=True)


# %% wrong -: gradients cut
def in_place(p, order):
    p = p.detach()
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong -: top-p of a fixed size
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < 0.65)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong changes-argument: in place
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    logits /= temperature
    p, order = logits.softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% wrong returns-nothing: no return
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        p = F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * (before < top_p)
        p = p / p.sum(-1, keepdim=True)
    p = torch.zeros_like(p).scatter(-1, order, p)


# %% wrong sorted-order-returned: sorted at the very end
def base(
    logits,
    temperature=1.0,
    top_k=None,
    top_p=None,
    mult=False,
    renorm=True,
    less=False,
    order=False,
    zero=False,
    onlyk=True,
):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p = (logits * temperature if mult else logits / temperature).softmax(-1)
    s, o = p.sort(-1, descending=True)
    if top_k is not None:
        s = s * (torch.arange(s.shape[-1]) < top_k)
        s = s / s.sum(-1, keepdim=True) if renorm else s
    if top_p is not None:
        c = s.cumsum(-1)
        keep = (c < top_p) if less else (c - s < top_p)
        keep[..., 0] = True
        s = s * keep
        s = s / s.sum(-1, keepdim=True) if renorm else s
    return s if order else torch.zeros_like(s).scatter(-1, o, s)


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    return base(logits, temperature, top_k, top_p).sort(-1, descending=True).values


# %% wrong filtered-to-zero-logit: times the mask
def base(
    logits,
    temperature=1.0,
    top_k=None,
    top_p=None,
    mult=False,
    renorm=True,
    less=False,
    order=False,
    zero=False,
    onlyk=True,
):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p = (logits * temperature if mult else logits / temperature).softmax(-1)
    s, o = p.sort(-1, descending=True)
    if top_k is not None:
        s = s * (torch.arange(s.shape[-1]) < top_k)
        s = s / s.sum(-1, keepdim=True) if renorm else s
    if top_p is not None:
        c = s.cumsum(-1)
        keep = (c < top_p) if less else (c - s < top_p)
        keep[..., 0] = True
        s = s * keep
        s = s / s.sum(-1, keepdim=True) if renorm else s
    return s if order else torch.zeros_like(s).scatter(-1, o, s)


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return base(logits, 0)
    keep = base(logits, temperature, top_k, top_p) > 0
    return (logits / temperature * keep).softmax(-1)


# %% right: row by row with a loop to top_p
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    flat = logits.reshape(-1, logits.shape[-1])
    rows = []
    for row in flat:
        if temperature == 0:
            rows.append(torch.zeros_like(row).scatter(0, row.argmax(), 1.0))
            continue
        p = (row / temperature).softmax(0)
        order = p.argsort(descending=True).tolist()
        keep = order[:top_k] if top_k is not None else order
        if top_p is not None:
            q = p[keep] / p[keep].sum()
            c = 0.0
            kept = []
            for j, t in enumerate(keep):
                kept.append(t)
                c += q[j].item()
                if c >= top_p:
                    break
            keep = kept
        mask = torch.zeros_like(p).scatter(0, torch.tensor(keep), 1.0)
        rows.append(p * mask / (p * mask).sum())
    return torch.stack(rows).view(logits.shape)
