# %% prelude
def pairs(key, value, size):
    """Blocks of keys, each with its values."""
    return list(zip(key.split(size, -2), value.split(size, -2)))


def scaled(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def online(query, pairs, width, scores=scaled):
    """The right walk over pairs of keys and values."""
    m = query.new_full((*query.shape[:-1], 1), -math.inf)
    l, o = torch.zeros_like(m), query.new_zeros(*query.shape[:-1], width)
    for k, v in pairs:
        s = scores(query, k)
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / l


# %% right: a loop over blocks with running maximum, sum and output
def online_attention(query, key, value, block_size):
    maximum = query.new_full((*query.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(maximum)
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for start in range(0, key.shape[-2], block_size):
        k = key[..., start : start + block_size, :]
        v = value[..., start : start + block_size, :]
        scores = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        counts = torch.exp(scores - new)
        factor = torch.exp(maximum - new)
        total = total * factor + counts.sum(-1, keepdim=True)
        output = output * factor + counts @ v
        maximum = new
    return output / total


# %% right: the output divided at every step
def online_attention(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    q = query * query.size(-1) ** -0.5
    out = l = m = None
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2), strict=True):
        s = torch.einsum("...qd,...kd->...qk", q, k)
        top = s.max(dim=-1).values
        if m is None:
            m, p = top, torch.exp(s - top.unsqueeze(-1))
            l = p.sum(-1)
            out = torch.einsum("...qk,...kv->...qv", p, v) / l.unsqueeze(-1)
            continue
        m_new = torch.max(m, top)
        p = torch.exp(s - m_new.unsqueeze(-1))
        l_new = l * torch.exp(m - m_new) + p.sum(-1)
        out = (out * (l * torch.exp(m - m_new)).unsqueeze(-1) + p @ v) / l_new.unsqueeze(-1)
        m, l = m_new, l_new
    return out


# %% right: a softmax for each block, merged by their logsumexp
def online_attention(query, key, value, block_size):
    lse, out = None, None
    for at in range(0, key.shape[-2], block_size):
        s = query @ key[..., at : at + block_size, :].transpose(-2, -1) / math.sqrt(key.shape[-1])
        here = torch.logsumexp(s, -1, keepdim=True)
        mixed = s.softmax(-1) @ value[..., at : at + block_size, :]
        if lse is None:
            lse, out = here, mixed
        else:
            both = torch.logaddexp(lse, here)
            out = out * (lse - both).exp() + mixed * (here - both).exp()
            lse = both
    return out


# %% right: blocks collected and merged at the end
def online_attention(query, key, value, block_size):
    tops, sums, outs = [], [], []
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        tops.append(s.amax(-1, keepdim=True))
        e = (s - tops[-1]).exp()
        sums.append(e.sum(-1, keepdim=True))
        outs.append(e @ v)
    top = torch.stack(tops).amax(0)
    factors = [(t - top).exp() for t in tops]
    total = sum(s * f for s, f in zip(sums, factors))
    return sum(o * f for o, f in zip(outs, factors)) / total


# %% right: the scores of all blocks kept, and exponentials at the end
def online_attention(query, key, value, block_size):
    kept, tops = [], []
    for k in key.split(block_size, -2):
        kept.append(query @ k.mT / math.sqrt(query.shape[-1]))
        tops.append(kept[-1].amax(-1, keepdim=True))
    top = torch.stack(tops).amax(0)
    counts = [torch.exp(s - top) for s in kept]
    total = sum(c.sum(-1, keepdim=True) for c in counts)
    return sum(c @ v for c, v in zip(counts, value.split(block_size, -2))) / total


# %% right: a class keeps the state, the maximum starts very low
class _State:
    def __init__(self, query, width):
        self.m = torch.full(query.shape[:-1], torch.finfo(query.dtype).min, dtype=query.dtype)
        self.l = torch.zeros_like(self.m)
        self.o = torch.zeros(*query.shape[:-1], width, dtype=query.dtype)

    def see(self, scores, v):
        m = torch.maximum(self.m, scores.amax(-1))
        p = torch.exp(scores - m[..., None])
        f = torch.exp(self.m - m)
        self.l = self.l * f + p.sum(-1)
        self.o = self.o * f[..., None] + p @ v
        self.m = m


def online_attention(query, key, value, block_size):
    state = _State(query, value.shape[-1])
    i = 0
    while i < key.shape[-2]:
        block = query @ key[..., i : i + block_size, :].mT * query.shape[-1] ** -0.5
        state.see(block, value[..., i : i + block_size, :])
        i += block_size
    return state.o / state.l[..., None]


# %% right: a column of ones keeps the sum, recursion over the blocks
def online_attention(query, key, value, block_size):
    ones = torch.cat([value, torch.ones_like(value[..., :1])], -1)

    def walk(m, acc, k, v):
        if k.shape[-2] == 0:
            return acc
        s = query @ k[..., :block_size, :].mT / math.sqrt(query.shape[-1])
        top = s.amax(-1, keepdim=True) if m is None else torch.maximum(m, s.amax(-1, keepdim=True))
        new = torch.exp(s - top) @ v[..., :block_size, :]
        acc = new if m is None else acc * torch.exp(m - top) + new
        return walk(top, acc, k[..., block_size:, :], v[..., block_size:, :])

    acc = walk(None, None, key, ones)
    return acc[..., :-1] / acc[..., -1:]


# %% right: tiles of queries and keys, written in place into tensors of its own
def online_attention(query, key, value, block_size):
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    for i in range(0, query.shape[-2], 8):
        q = query[..., i : i + 8, :]
        m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
        l, o = torch.zeros_like(m), torch.zeros((), dtype=q.dtype)
        for j in range(0, key.shape[-2], block_size):
            s = torch.matmul(q, key[..., j : j + block_size, :].swapaxes(-1, -2)).div(q.shape[-1] ** 0.5)
            m_new = torch.maximum(m, s.max(-1, keepdim=True)[0])
            p, f = torch.exp(s - m_new), torch.exp(m - m_new)
            l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ value[..., j : j + block_size, :], m_new
        out[..., i : i + 8, :] = o / l
    return out


# %% right: keys padded to whole blocks and hidden
def online_attention(query, key, value, block_size):
    length = key.shape[-2]
    k = F.pad(key, (0, 0, 0, -length % block_size))
    v = F.pad(value, (0, 0, 0, -length % block_size))
    m = query.new_full((*query.shape[:-1], 1), -math.inf)
    l = o = torch.zeros_like(m)
    for start in range(0, k.shape[-2], block_size):
        s = query @ k[..., start : start + block_size, :].mT / math.sqrt(query.shape[-1])
        s = s.masked_fill(torch.arange(start, start + block_size) >= length, -math.inf)
        top = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = (s - top).exp(), (m - top).exp()
        l, o, m = f * l + p.sum(-1, keepdim=True), f * o + p @ v[..., start : start + block_size, :], top
    return o / l


# %% wrong nan-from-the-first-block: the factor the wrong way round
def online_attention(query, key, value, block_size):
    maximum = query.new_full((*query.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(maximum)
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for k, v in pairs(key, value, block_size):
        scores = scaled(query, k)
        new = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        counts, factor = torch.exp(scores - new), torch.exp(new - maximum)
        total = total * factor + counts.sum(-1, keepdim=True)
        output = output * factor + counts @ v
        maximum = new
    return output / total


# %% wrong nan-from-the-first-block: a quotient of exponentials
def online_attention(query, key, value, block_size):
    maximum = query.new_full((*query.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(maximum)
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for k, v in pairs(key, value, block_size):
        scores = scaled(query, k)
        new = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        counts, factor = torch.exp(scores - new), new.exp() / maximum.exp()
        total = total * factor + counts.sum(-1, keepdim=True)
        output = output * factor + counts @ v
        maximum = new
    return output / total


# %% wrong no-rescaling: the old sums stay as they are
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l, o = 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        m = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m)
        l = l + p.sum(-1, keepdim=True)
        o = o + p @ v
    return o / l


# %% wrong no-rescaling: only the sum is rescaled
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o + p @ value[..., i : i + block_size, :]
        m = new
    return o / l


# %% wrong no-rescaling: only the output is rescaled
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l += p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
        m = new
    return o / l


# %% wrong no-rescaling: every block has a maximum of its own
def online_attention(query, key, value, block_size):
    top_part, bottom_part = 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = torch.einsum("...qd,...kd->...qk", query, k) / query.shape[-1] ** 0.5
        e = torch.exp(s - s.amax(-1, keepdim=True))
        top_part, bottom_part = top_part + e @ v, bottom_part + e.sum(-1, keepdim=True)
    return top_part / bottom_part


# %% wrong no-rescaling: the factor is computed after the maximum is overwritten
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -1e30)
    l, o = torch.zeros_like(m), 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        m = torch.maximum(m, s.amax(-1, keepdim=True))
        factor = torch.exp(m - torch.maximum(m, s.amax(-1, keepdim=True)))
        p = torch.exp(s - m)
        l, o = l * factor + p.sum(-1, keepdim=True), o * factor + p @ v
    return o / l


# %% wrong last-block-lost: floor division
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(key.shape[-2] // block_size):
        at = slice(i * block_size, (i + 1) * block_size)
        s = query @ key[..., at, :].mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ value[..., at, :], new
    return o / l


# %% wrong last-block-lost: the range ends too early
def online_attention(query, key, value, block_size):
    starts = range(0, key.shape[-2] - block_size, block_size)
    cut = [(key[..., i : i + block_size, :], value[..., i : i + block_size, :]) for i in starts]
    return online(query, cut, value.shape[-1])


# %% wrong last-block-lost: blocks that are too short are skipped
def online_attention(query, key, value, block_size):
    whole = [(k, v) for k, v in pairs(key, value, block_size) if k.shape[-2] == block_size]
    return online(query, whole, value.shape[-1])


# %% wrong last-block-lost: nothing comes back where there is no whole block
def online_attention(query, key, value, block_size):
    lse, out = None, None
    for at in range(0, key.shape[-2] - block_size + 1, block_size):
        s = query @ key[..., at : at + block_size, :].mT / math.sqrt(query.shape[-1])
        here, mixed = s.logsumexp(-1, keepdim=True), s.softmax(-1) @ value[..., at : at + block_size, :]
        both = here if lse is None else torch.logaddexp(lse, here)
        out = mixed if lse is None else out * (lse - both).exp() + mixed * (here - both).exp()
        lse = both
    return out


# %% wrong last-block-lost: the number 0 where there is no whole block
def online_attention(query, key, value, block_size):
    lse, out = torch.tensor(-math.inf), 0.0
    for block in range(key.shape[-2] // block_size):
        at = slice(block * block_size, (block + 1) * block_size)
        s = query @ key[..., at, :].mT / math.sqrt(query.shape[-1])
        both = torch.logaddexp(lse.to(s.dtype), s.logsumexp(-1, keepdim=True))
        out = out * (lse - both).exp() + (s - both).exp() @ value[..., at, :]
        lse = both
    return out


# %% wrong blocks-normalised-apart: added up
def online_attention(query, key, value, block_size):
    out = 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        out = out + torch.softmax(query @ k.mT / math.sqrt(query.shape[-1]), -1) @ v
    return out


# %% wrong blocks-normalised-apart: averaged
def online_attention(query, key, value, block_size):
    outs = []
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT * query.shape[-1] ** -0.5
        outs.append(F.softmax(s, dim=-1) @ value[..., i : i + block_size, :])
    return torch.stack(outs).mean(0)


# %% wrong never-divided: the sum is forgotten
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    o = 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        o = o * torch.exp(m - new) + torch.exp(s - new) @ v
        m = new
    return o


# %% wrong never-divided: the sum is kept and not used
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l, o = torch.zeros_like(m), torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ value[..., i : i + block_size, :], new
    return o


# %% wrong no-scaling: forgotten
def online_attention(query, key, value, block_size):
    return online(query, pairs(key, value, block_size), value.shape[-1], lambda q, k: q @ k.mT)


# %% wrong no-scaling: merged by logsumexp
def online_attention(query, key, value, block_size):
    lse, out = None, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT
        here = torch.logsumexp(s, -1, keepdim=True)
        both = here if lse is None else torch.logaddexp(lse, here)
        out = (s - both).exp() @ v + (0 if lse is None else out * (lse - both).exp())
        lse = both
    return out


# %% wrong overflow: no maximum at all
def online_attention(query, key, value, block_size):
    l, o = 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        p = torch.exp(query @ k.mT / math.sqrt(query.shape[-1]))
        l, o = l + p.sum(-1, keepdim=True), o + p @ v
    return o / l


# %% wrong overflow: the maximum is taken off and put back
def online_attention(query, key, value, block_size):
    l, o = 0, 0
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        m = s.amax(-1, keepdim=True)
        p = torch.exp(s - m) * torch.exp(m)
        l, o = l + p.sum(-1, keepdim=True), o + p @ value[..., i : i + block_size, :]
    return o / l


# %% wrong underflow: the maximum starts at zero
def online_attention(query, key, value, block_size):
    m = torch.zeros(*query.shape[:-1], 1, dtype=query.dtype)
    l, o = torch.zeros_like(m), 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / l


# %% wrong underflow: negative maxima are cut off
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), 0.0)
    l, o = torch.zeros_like(m), 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True).relu())
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / (l + 1e-20)


# %% wrong queries-cut-instead: chunks of queries
def online_attention(query, key, value, block_size):
    size = min(block_size, 4)
    return torch.cat(
        [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(size, -2)], -2
    )


# %% wrong queries-cut-instead: one query at a time
def online_attention(query, key, value, block_size):
    rows = []
    for t in range(query.shape[-2]):
        s = query[..., t : t + 1, :] @ key.mT / math.sqrt(query.shape[-1])
        rows.append(s.softmax(-1) @ value)
    return torch.cat(rows, -2)


# %% wrong full-matrix-made: no blocks at all
def online_attention(query, key, value, block_size):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


# %% wrong full-matrix-made: the scores before the loop
def online_attention(query, key, value, block_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l = o = torch.zeros_like(m)
    for s, v in zip(scores.split(block_size, -1), value.split(block_size, -2)):
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / l


# %% wrong full-matrix-made: blocks of scores are collected
def online_attention(query, key, value, block_size):
    blocks = [query @ k.mT / math.sqrt(query.shape[-1]) for k in key.split(block_size, -2)]
    return torch.softmax(torch.cat(blocks, -1), -1) @ value


# %% wrong full-matrix-made: all blocks on an axis of their own
def online_attention(query, key, value, block_size):
    pad = -key.shape[-2] % block_size
    k = F.pad(key, (0, 0, 0, pad)).unflatten(-2, (-1, block_size))
    v = F.pad(value, (0, 0, 0, pad)).unflatten(-2, (-1, block_size))
    seen = (torch.arange(key.shape[-2] + pad) < key.shape[-2]).view(-1, 1, block_size)
    s = query.unsqueeze(-3) @ k.mT / math.sqrt(query.shape[-1])
    s = s.masked_fill(~seen, -torch.inf)
    lse = s.logsumexp(-1, keepdim=True)
    total = lse.logsumexp(-3, keepdim=True)
    return ((s - total).exp() @ v).sum(-3)


# %% wrong queries-cut-instead: chunks of as many queries as a block has keys
def online_attention(query, key, value, block_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(block_size, -2)]
    return torch.cat(found, -2)


# %% wrong number-of-blocks: torch.chunk
def online_attention(query, key, value, block_size):
    lse, out = torch.full((*query.shape[:-1], 1), -math.inf, dtype=query.dtype), 0.0
    for k, v in zip(key.chunk(block_size, -2), value.chunk(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        both = torch.logaddexp(lse, s.logsumexp(-1, keepdim=True))
        out = out * (lse - both).exp() + (s - both).exp() @ v
        lse = both
    return out


# %% wrong number-of-blocks: a size computed from it
def online_attention(query, key, value, block_size):
    size = math.ceil(key.shape[-2] / block_size)
    return online(query, pairs(key, value, size), value.shape[-1])


# %% wrong global-max-underflow: one number for all scores
def online_attention(query, key, value, block_size):
    m, l, o = -math.inf, 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = max(m, s.max().item())
        p, factor = torch.exp(s - new), math.exp(m - new)
        l, o, m = l * factor + p.sum(-1, keepdim=True), o * factor + p @ v, new
    return o / l


# %% wrong global-max-underflow: one number for each table
def online_attention(query, key, value, block_size):
    m, l, o = torch.tensor(-math.inf), 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m.to(s.dtype), s.amax((-2, -1), keepdim=True))
        p, factor = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * factor + p.sum(-1, keepdim=True), o * factor + p @ v, new
    return o / l


# %% wrong excluded-function: the fused attention
def online_attention(query, key, value, block_size):
    return F.scaled_dot_product_attention(query, key, value)


# %% wrong excluded-function: on each block
def online_attention(query, key, value, block_size):
    out = 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        out = out + torch.nn.functional.scaled_dot_product_attention(query, k, v)
    return out


# %% wrong -: zero keys in the last block take their share
def online_attention(query, key, value, block_size):
    pad = -key.shape[-2] % block_size
    key, value = F.pad(key, (0, 0, 0, pad)), F.pad(value, (0, 0, 0, pad))
    return online(query, pairs(key, value, block_size), value.shape[-1])


# %% wrong factor-inverted: the wrong way round
def online_attention(query, key, value, block_size):
    m, l, o = None, 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = s.amax(-1, keepdim=True) if m is None else torch.maximum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), 1.0 if m is None else torch.exp(new - m)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / l


# %% wrong -: the first block is counted twice
def online_attention(query, key, value, block_size):
    found = pairs(key, value, block_size)
    return online(query, [found[0], *found], value.shape[-1])


# %% wrong -: blocks of three keys, whatever their size should be
def online_attention(query, key, value, block_size):
    return online(query, pairs(key, value, 3), value.shape[-1])


# %% wrong -: the running maximum comes back
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    for k in key.split(block_size, -2):
        m = torch.maximum(m, (query @ k.mT / math.sqrt(query.shape[-1])).amax(-1, keepdim=True))
    return m


# %% wrong nan-from-the-first-block: minus infinity minus minus infinity
def online_attention(query, key, value, block_size):
    m = query.new_full((*query.shape[:-1], 1), -torch.inf)
    l = o = torch.zeros_like(m)
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        s = query @ k.mT / math.sqrt(query.shape[-1])
        new = torch.minimum(m, s.amax(-1, keepdim=True))
        p, f = torch.exp(s - new), torch.exp(m - new)
        l, o, m = l * f + p.sum(-1, keepdim=True), o * f + p @ v, new
    return o / l


# %% wrong changes-argument: the query is scaled in place
def online_attention(query, key, value, block_size):
    query.div_(math.sqrt(query.shape[-1]))
    return online(query, pairs(key, value, block_size), value.shape[-1], lambda q, k: q @ k.mT)


# %% wrong dtype-changed: the sums have the default dtype
def online_attention(query, key, value, block_size):
    return online(query, pairs(key, value, block_size), value.shape[-1]).float()


# %% wrong returns-nothing: no return
def online_attention(query, key, value, block_size):
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        torch.softmax(query @ k.mT / math.sqrt(query.shape[-1]), -1) @ v


# %% wrong divided-too-early: in the update
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = (o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]) / l
        m = new
    return o


# %% wrong divided-too-early: at the end of a round
def online_attention(query, key, value, block_size):
    blocks = list(zip(key.split(block_size, -2), value.split(block_size, -2)))
    top = query.new_full((*query.shape[:-1], 1), -math.inf)
    total, mixed = torch.zeros_like(top), torch.zeros_like(top)
    for k, v in blocks:
        scores = query @ k.mT / query.shape[-1] ** 0.5
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        counts, factor = (scores - new).exp(), (top - new).exp()
        total = total * factor + counts.sum(-1, keepdim=True)
        mixed = mixed * factor + counts @ v
        top = new
        mixed = mixed / total
    return mixed


# %% wrong maximum-not-kept: a name that nobody reads
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
    return o / l


# %% wrong maximum-not-kept: the last line forgotten
def online_attention(query, key, value, block_size):
    blocks = list(zip(key.split(block_size, -2), value.split(block_size, -2)))
    top = query.new_full((*query.shape[:-1], 1), -math.inf)
    total, mixed = torch.zeros_like(top), torch.zeros_like(top)
    for k, v in blocks:
        scores = query @ k.mT / query.shape[-1] ** 0.5
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        counts, factor = (scores - new).exp(), (top - new).exp()
        total = total * factor + counts.sum(-1, keepdim=True)
        mixed = mixed * factor + counts @ v
    return mixed / total


# %% wrong values-not-cut: the first values
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., : p.shape[-1], :]
        m = new
    return o / l


# %% wrong values-not-cut: by the first block
def online_attention(query, key, value, block_size):
    found = pairs(key, value, block_size)
    first = found[0][1]
    return online(query, [(k, first[..., : k.shape[-2], :]) for k, _ in found], value.shape[-1])


# %% wrong query-length-instead: in range
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, query.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
        m = new
    return o / l


# %% wrong query-length-instead: too few blocks
def online_attention(query, key, value, block_size):
    found = pairs(key, value, block_size)[: math.ceil(query.shape[-2] / block_size)]
    return online(query, found, value.shape[-1])


# %% wrong scaled-by-another-size: no root
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1]
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
        m = new
    return o / l


# %% wrong scaled-by-another-size: the number of keys
def online_attention(query, key, value, block_size):
    by_keys = lambda q, k: q @ k.mT / key.shape[-2] ** 0.5
    return online(query, pairs(key, value, block_size), value.shape[-1], by_keys)


# %% wrong scale-multiplied: a product
def online_attention(query, key, value, block_size):
    times = lambda q, k: q @ k.mT * q.shape[-1] ** 0.5
    return online(query, pairs(key, value, block_size), value.shape[-1], times)


# %% wrong scale-multiplied: the query first
def online_attention(query, key, value, block_size):
    longer = query * query.shape[-1] ** 0.5
    return online(longer, pairs(key, value, block_size), value.shape[-1], lambda q, k: q @ k.mT)


# %% wrong softmax-forgotten: all at once
def online_attention(query, key, value, block_size):
    return query @ key.mT / query.shape[-1] ** 0.5 @ value


# %% wrong softmax-forgotten: in the walk
def online_attention(query, key, value, block_size):
    return sum(scaled(query, k) @ v for k, v in pairs(key, value, block_size))


# %% wrong block-maximum: amax
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = s.amax(-1, keepdim=True)
        p = torch.exp(s - new)
        l = l * torch.exp(m - new) + p.sum(-1, keepdim=True)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
        m = new
    return o / l


# %% wrong block-maximum: by its name
def online_attention(query, key, value, block_size):
    blocks = list(zip(key.split(block_size, -2), value.split(block_size, -2)))
    top = query.new_full((*query.shape[:-1], 1), -math.inf)
    total, mixed = torch.zeros_like(top), torch.zeros_like(top)
    for k, v in blocks:
        scores = query @ k.mT / query.shape[-1] ** 0.5
        new = scores.amax(-1, keepdim=True)
        counts, factor = (scores - new).exp(), (top - new).exp()
        total = total * factor + counts.sum(-1, keepdim=True)
        mixed = mixed * factor + counts @ v
        top = new
    return mixed / total


# %% wrong blocks-normalised-apart: rescaled all the same
def online_attention(query, key, value, block_size):
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
    o = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(0, key.shape[-2], block_size):
        s = query @ key[..., i : i + block_size, :].mT / query.shape[-1] ** 0.5
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.softmax(s, -1)
        o = o * torch.exp(m - new) + p @ value[..., i : i + block_size, :]
        m = new
    return o


# %% wrong factor-inverted: the first block before the loop
def online_attention(query, key, value, block_size):
    scale = query.shape[-1] ** -0.5
    scores = query @ key[..., :block_size, :].mT * scale
    top = scores.amax(-1, keepdim=True)
    counts = torch.exp(scores - top)
    total, mixed = counts.sum(-1, keepdim=True), counts @ value[..., :block_size, :]
    for start in range(block_size, key.shape[-2], block_size):
        scores = query @ key[..., start : start + block_size, :].mT * scale
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        counts, factor = torch.exp(scores - new), torch.exp(new - top)
        total = factor * total + counts.sum(-1, keepdim=True)
        mixed = factor * mixed + counts @ value[..., start : start + block_size, :]
        top = new
    return mixed / total


# %% wrong factor-inverted: divided by the right one
def online_attention(query, key, value, block_size):
    top = total = mixed = None
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        scores = query @ k.mT / query.shape[-1] ** 0.5
        largest = scores.amax(-1, keepdim=True)
        new = largest if top is None else torch.maximum(top, largest)
        counts = torch.exp(scores - new)
        if top is None:
            total, mixed = counts.sum(-1, keepdim=True), counts @ v
        else:
            factor = torch.exp(top - new)
            total, mixed = total / factor + counts.sum(-1, keepdim=True), mixed / factor + counts @ v
        top = new
    return mixed / total


# %% wrong two-passes: two passes, first the maximum and the sum, then the mixture
def online_attention(query, key, value, block_size):
    q = query / math.sqrt(query.shape[-1])
    m = torch.full_like(q[..., :1], -torch.inf)
    for k in torch.split(key, block_size, dim=-2):
        m = torch.maximum(m, (q @ k.mT).amax(-1, keepdim=True))
    total = 0
    mixed = 0
    for k, v in zip(torch.split(key, block_size, dim=-2), torch.split(value, block_size, dim=-2)):
        e = torch.exp(q @ k.mT - m)
        total = total + e.sum(-1, keepdim=True)
        mixed = mixed + e @ v
    return mixed / total


# %% wrong two-passes: the logarithm of the sum first, then the weights
def online_attention(query, key, value, block_size):
    scale = math.sqrt(query.shape[-1])
    total = torch.full_like(query[..., :1], -torch.inf)
    for k in key.split(block_size, -2):
        total = torch.logaddexp(total, torch.logsumexp(query @ k.mT / scale, -1, keepdim=True))
    blocks = zip(key.split(block_size, -2), value.split(block_size, -2))
    return sum(torch.exp(query @ k.mT / scale - total) @ v for k, v in blocks)


# %% wrong two-passes: by sums of products
def online_attention(query, key, value, block_size):
    def scores(k):
        return (query[..., :, None, :] * k[..., None, :, :]).sum(-1) / math.sqrt(query.shape[-1])

    blocks = list(zip(key.split(block_size, -2), value.split(block_size, -2)))
    top = torch.cat([scores(k).amax(-1, keepdim=True) for k, _ in blocks], -1).amax(-1, keepdim=True)
    total, mixed = 0, 0
    for k, v in blocks:
        counts = (scores(k) - top).exp()
        total, mixed = total + counts.sum(-1, keepdim=True), mixed + counts @ v
    return mixed / total


# %% wrong first-maximum-kept: set once
def online_attention(query, key, value, block_size):
    top, total, mixed = None, 0, 0
    for k, v in zip(key.split(block_size, -2), value.split(block_size, -2)):
        scores = query @ k.mT / math.sqrt(query.shape[-1])
        if top is None:
            top = scores.amax(-1, keepdim=True)
        counts = torch.exp(scores - top)
        total, mixed = total + counts.sum(-1, keepdim=True), mixed + counts @ v
    return mixed / total


# %% wrong first-maximum-kept: computed before the loop
def online_attention(query, key, value, block_size):
    scale = query.shape[-1] ** -0.5
    top = (query @ key[..., :block_size, :].mT * scale).amax(-1, keepdim=True)
    total, mixed = torch.zeros_like(top), torch.zeros_like(top)
    for start in range(0, key.shape[-2], block_size):
        counts = (query @ key[..., start : start + block_size, :].mT * scale - top).exp()
        total = total + counts.sum(-1, keepdim=True)
        mixed = mixed + counts @ value[..., start : start + block_size, :]
    return mixed / total
