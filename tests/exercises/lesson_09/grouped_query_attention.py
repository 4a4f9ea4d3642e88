# %% prelude
def divided(query, key):
    heads, kv_heads = query.shape[-3], key.shape[-3]
    if heads % kv_heads != 0:
        raise ValueError(f"query has {heads} heads, key has {kv_heads}: they don't divide")
    return heads // kv_heads


def attend(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value


# %% right: repeat_interleave
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    return attend(query, key.repeat_interleave(group, -3), value.repeat_interleave(group, -3))


# %% right: expand and reshape
def grouped_query_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    group = divided(query, key)

    def shared(x):
        *lead, heads, length, width = x.shape
        return x.unsqueeze(-3).expand(*lead, heads, group, length, width).reshape(*lead, -1, length, width)

    return attend(query, shared(key), shared(value))


# %% right: an axis for the groups, and broadcasting
def grouped_query_attention(query, key, value):
    if query.shape[-3] % key.shape[-3]:
        raise ValueError(f"{query.shape[-3]} query heads can't share {key.shape[-3]} key heads")
    groups = query.unflatten(-3, (key.shape[-3], -1))
    return attend(groups, key.unsqueeze(-3), value.unsqueeze(-3)).flatten(-4, -3)


# %% right: einsum
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    q = query.reshape(*query.shape[:-3], key.shape[-3], group, *query.shape[-2:])
    scores = torch.einsum("...hgqd,...hkd->...hgqk", q, key) * query.shape[-1] ** -0.5
    mixed = torch.einsum("...hgqk,...hkv->...hgqv", F.softmax(scores, dim=-1), value)
    return mixed.reshape(*query.shape[:-1], value.shape[-1])


# %% right: a loop over the query heads
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    heads = []
    for h in range(query.shape[-3]):
        heads.append(attend(query[..., h, :, :], key[..., h // group, :, :], value[..., h // group, :, :]))
    return torch.stack(heads, -3)


# %% right: a loop over the key heads
def grouped_query_attention(query, key, value):
    if (rest := query.size(-3) % key.size(-3)) > 0:
        raise ValueError(f"{query.size(-3)} heads over {key.size(-3)} leave {rest}")
    groups = zip(query.chunk(key.size(-3), -3), key.split(1, -3), value.split(1, -3), strict=True)
    return torch.cat([attend(*group) for group in groups], dim=-3)


# %% right: picked by an index, leading axes made one
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    lead = query.shape[:-3]
    q, k, v = (t.reshape(-1, *t.shape[-3:]) for t in (query, key, value))
    which = torch.arange(q.shape[1]) // group
    scores = (q.unsqueeze(3) * k[:, which].unsqueeze(2)).sum(-1) / math.sqrt(q.shape[-1])
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    weights = e / e.sum(-1, keepdim=True)
    return (weights.unsqueeze(-1) * v[:, which].unsqueeze(2)).sum(-2).reshape(*lead, *query.shape[-3:-1], -1)


# %% right: written into an empty tensor
def grouped_query_attention(query, key, value):
    group, out = divided(query, key), query.new_empty(*query.shape[:-1], value.shape[-1])
    for j in range(key.shape[-3]):
        heads = slice(j * group, (j + 1) * group)
        out[..., heads, :, :] = attend(query[..., heads, :, :], key[..., [j], :, :], value[..., [j], :, :])
    return out


# %% right: the queries of a group one after the other
def grouped_query_attention(query, key, value):
    group, length = divided(query, key), query.shape[-2]
    longer = query.unflatten(-3, (key.shape[-3], group)).flatten(-3, -2)
    return attend(longer, key, value).unflatten(-2, (group, length)).flatten(-4, -3)


# %% wrong scaled-by-another-size: all heads' width
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    scores = query @ key.mT / math.sqrt(query.shape[-3] * query.shape[-1])
    return scores.softmax(-1) @ value


# %% wrong groups-interleaved: repeat
def grouped_query_attention(query, key, value):
    times = [1] * (key.dim() - 3) + [divided(query, key), 1, 1]
    return attend(query, key.repeat(times), value.repeat(times))


# %% wrong groups-interleaved: the remainder
def grouped_query_attention(query, key, value):
    divided(query, key)
    which = [h % key.shape[-3] for h in range(query.shape[-3])]
    return attend(query, key[..., which, :, :], value[..., which, :, :])


# %% wrong groups-interleaved: unflattened the other way round
def grouped_query_attention(query, key, value):
    groups = query.unflatten(-3, (divided(query, key), key.shape[-3]))
    return attend(groups, key.unsqueeze(-4), value.unsqueeze(-4)).flatten(-4, -3)


# %% wrong groups-interleaved: repeat, with a batch in mind
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    return attend(query, key.repeat(1, group, 1, 1), value.repeat(1, group, 1, 1))


# %% wrong groups-interleaved: the keys alone
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    keys = torch.cat([key] * group, dim=-3)
    return attend(query, keys, value.repeat_interleave(group, -3))


# %% wrong groups-interleaved: the values alone
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    values = torch.cat([value] * group, dim=-3)
    return attend(query, key.repeat_interleave(group, -3), values)


# %% wrong groups-left-apart: not flattened
def grouped_query_attention(query, key, value):
    groups = query.unflatten(-3, (key.shape[-3], divided(query, key)))
    return attend(groups, key.unsqueeze(-3), value.unsqueeze(-3))


# %% wrong groups-left-apart: stacked, not concatenated
def grouped_query_attention(query, key, value):
    groups = zip(query.split(divided(query, key), -3), key.split(1, -3), value.split(1, -3), strict=True)
    return torch.stack([attend(*group) for group in groups], dim=-4)


# %% wrong first-group-only: head 0 for all
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query, key[..., :1, :, :], value[..., :1, :, :])


# %% wrong first-group-only: a return in the loop
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    for q, k, v in zip(query.split(group, -3), key.split(1, -3), value.split(1, -3)):
        return attend(q, k, v)


# %% wrong first-group-only: zeros after the first group
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    out = query.new_zeros(*query.shape[:-1], value.shape[-1])
    out[..., :group, :, :] = attend(query[..., :group, :, :], key[..., :1, :, :], value[..., :1, :, :])
    return out


# %% wrong keys-averaged: mean over the heads
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query, key.mean(-3, keepdim=True), value.mean(-3, keepdim=True))


# %% wrong keys-averaged: added up
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query, key.sum(dim=-3).unsqueeze(-3), value.sum(dim=-3).unsqueeze(-3))


# %% wrong keys-averaged: only the keys
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    return attend(query, key.mean(-3, keepdim=True), value.repeat_interleave(group, -3))


# %% wrong queries-averaged: one output for each group
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query.unflatten(-3, (key.shape[-3], -1)).mean(-3), key, value)


# %% wrong queries-averaged: repeated
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    mean = torch.stack([q.sum(-3) / group for q in query.split(group, -3)], -3)
    return attend(mean, key, value).repeat_interleave(group, -3)


# %% wrong heads-reordered: flattened in the wrong order
def grouped_query_attention(query, key, value):
    groups = query.unflatten(-3, (key.shape[-3], divided(query, key)))
    output = attend(groups, key.unsqueeze(-3), value.unsqueeze(-3))
    return output.transpose(-4, -3).flatten(-4, -3)


# %% wrong heads-reordered: the j-th head of every group, then the next
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    return torch.cat([attend(query[..., j::group, :, :], key, value) for j in range(group)], -3)


# %% wrong group-count-for-group-size: repeated by the wrong number
def grouped_query_attention(query, key, value):
    divided(query, key)
    kv_heads = key.shape[-3]
    return attend(query, key.repeat_interleave(kv_heads, -3), value.repeat_interleave(kv_heads, -3))


# %% wrong group-count-for-group-size: divided by the wrong number
def grouped_query_attention(query, key, value):
    divided(query, key)
    kv_heads = key.shape[-3]
    which = [h // kv_heads for h in range(query.shape[-3])]
    return attend(query, key[..., which, :, :], value[..., which, :, :])


# %% wrong group-count-for-group-size: the axes of the groups exchanged
def grouped_query_attention(query, key, value):
    group, kv_heads = divided(query, key), key.shape[-3]
    heads = [min(h // kv_heads, kv_heads - 1) for h in range(group * kv_heads)]
    return torch.stack(
        [attend(query[..., h, :, :], key[..., j, :, :], value[..., j, :, :]) for h, j in enumerate(heads)], -3
    )


# %% wrong heads-not-shared: ordinary attention
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query, key, value)


# %% wrong heads-not-shared: einsum, head by head
def grouped_query_attention(query, key, value):
    divided(query, key)
    scores = torch.einsum("...hqd,...hkd->...hqk", query, key) / math.sqrt(query.shape[-1])
    return torch.einsum("...hqk,...hkv->...hqv", scores.softmax(-1), value)


# %% wrong heads-not-shared: only the keys are repeated
def grouped_query_attention(query, key, value):
    return attend(query, key.repeat_interleave(divided(query, key), -3), value)


# %% wrong no-scaling: forgotten
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    return (query @ key.mT).softmax(-1) @ value


# %% wrong no-scaling: forgotten in a loop
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    heads = query.unbind(-3)
    keys, values = key.unbind(-3), value.unbind(-3)
    return torch.stack(
        [torch.softmax(q @ keys[h // group].mT, -1) @ values[h // group] for h, q in enumerate(heads)], -3
    )


# %% wrong scaled-by-another-size: by head_dim itself
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    return attend(
        query / math.sqrt(query.shape[-1]), key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    )


# %% wrong scaled-by-another-size: by the number of heads
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT / query.shape[-3] ** 0.5
    return scores.softmax(-1) @ value.repeat_interleave(group, -3)


# %% wrong scale-multiplied: times the root
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT * math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value.repeat_interleave(group, -3)


# %% wrong scale-multiplied: a negative power in the denominator
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT / key.shape[-1] ** -0.5
    return scores.softmax(-1) @ value.repeat_interleave(group, -3)


# %% wrong softmax-forgotten: no softmax
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT / math.sqrt(query.shape[-1])
    return scores @ value.repeat_interleave(group, -3)


# %% wrong softmax-forgotten: made and dropped
def grouped_query_attention(query, key, value):
    groups = query.unflatten(-3, (key.shape[-3], divided(query, key)))
    scores = groups @ key.unsqueeze(-3).mT / math.sqrt(query.shape[-1])
    F.softmax(scores, dim=-1)
    return (scores @ value.unsqueeze(-3)).flatten(-4, -3)


# %% wrong softmax-over-queries: the last axis but one
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT / math.sqrt(query.shape[-1])
    return scores.softmax(-2) @ value.repeat_interleave(group, -3)


# %% wrong softmax-over-queries: axis 1
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    scores = query @ key.repeat_interleave(group, -3).mT / math.sqrt(query.shape[-1])
    return torch.softmax(scores, 1) @ value.repeat_interleave(group, -3)


# %% wrong overflow: exp without the maximum
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    e = torch.exp(query @ key.repeat_interleave(group, -3).mT / math.sqrt(query.shape[-1]))
    return e / e.sum(-1, keepdim=True) @ value.repeat_interleave(group, -3)


# %% wrong overflow: a power of e
def grouped_query_attention(query, key, value):
    groups = query.unflatten(-3, (key.shape[-3], divided(query, key)))
    e = math.e ** (groups @ key.unsqueeze(-3).mT / math.sqrt(query.shape[-1]))
    return (e @ value.unsqueeze(-3) / e.sum(-1, keepdim=True)).flatten(-4, -3)


# %% wrong no-batch-axis: heads on axis 0
def grouped_query_attention(query, key, value):
    if query.shape[0] % key.shape[0]:
        raise ValueError(f"{query.shape[0]} heads, {key.shape[0]} key heads")
    group = query.shape[0] // key.shape[0]
    return attend(query, key.repeat_interleave(group, 0), value.repeat_interleave(group, 0))


# %% wrong no-batch-axis: bmm
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    return torch.bmm(torch.softmax(torch.bmm(query, key.mT) / math.sqrt(query.shape[-1]), -1), value)


# %% wrong batch-only: heads on axis 1
def grouped_query_attention(query, key, value):
    group = query.shape[1] // key.shape[1]
    if query.shape[1] % key.shape[1]:
        raise ValueError(f"{query.shape[1]} heads, {key.shape[1]} key heads")
    return attend(query, key.repeat_interleave(group, 1), value.repeat_interleave(group, 1))


# %% wrong batch-only: four letters
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])
    return torch.einsum("bhqk,bhkv->bhqv", scores.softmax(-1), value)


# %% wrong -: no ValueError
def grouped_query_attention(query, key, value):
    group = -(-query.shape[-3] // key.shape[-3])
    key, value = (t.repeat_interleave(group, -3)[..., : query.shape[-3], :, :] for t in (key, value))
    return attend(query, key, value)


# %% wrong -: one number in the message
def grouped_query_attention(query, key, value):
    if query.shape[-3] % key.shape[-3]:
        raise ValueError(f"{query.shape[-3]} heads can't be shared out")
    group = query.shape[-3] // key.shape[-3]
    return attend(query, key.repeat_interleave(group, -3), value.repeat_interleave(group, -3))


# %% wrong excluded-function: torch's own
def grouped_query_attention(query, key, value):
    divided(query, key)
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


# %% wrong excluded-function: the fused one after repeating
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    return torch._C._nn.scaled_dot_product_attention(query, key, value)


# %% wrong -: the last head of keys for all
def grouped_query_attention(query, key, value):
    divided(query, key)
    return attend(query, key[..., -1:, :, :], value[..., -1:, :, :])


# %% wrong -: the groups in reverse
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    key, value = key.flip(-3), value.flip(-3)
    return attend(query, key.repeat_interleave(group, -3), value.repeat_interleave(group, -3))


# %% wrong -: values of the next head
def grouped_query_attention(query, key, value):
    group = divided(query, key)
    value = value.roll(1, -3)
    return attend(query, key.repeat_interleave(group, -3), value.repeat_interleave(group, -3))


# %% right: an axis for the groups in einsum
def grouped_query_attention(query, key, value):
    Hq, Hkv = query.shape[-3], key.shape[-3]
    if Hq % Hkv != 0:
        raise ValueError(f"{Hq} heads cannot share {Hkv}")
    q = query.unflatten(-3, (Hkv, Hq // Hkv))
    w = torch.einsum("...kgtd,...ksd->...kgts", q, key).div(q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("...kgts,...ksd->...kgtd", w, value).flatten(-4, -3)


# %% wrong scaled-by-another-size: by the width of the values
def grouped_query_attention(query, key, value):
    heads, shared = query.shape[-3], key.shape[-3]
    if heads % shared:
        raise ValueError(f"{shared} heads of keys don't divide {heads} heads of queries")
    key, value = (x.repeat_interleave(heads // shared, -3) for x in (key, value))
    return (query @ key.mT / math.sqrt(value.shape[-1])).softmax(-1) @ value
