# %% right: cat, a triangle shifted by what came before
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    mask = torch.ones(new, held, dtype=torch.bool).tril(held - new)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value, (key, value)


# %% right: positions compared, lists for tuples
def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache):
    past = 0 if cache is None else cache[0].shape[-2]
    keys = key if cache is None else torch.concat([cache[0], key], -2)
    values = value if cache is None else torch.concat([cache[1], value], -2)
    mine = torch.arange(past, past + query.size(-2))
    theirs = torch.arange(keys.size(-2))
    s = torch.einsum("bhqd,bhkd->bhqk", query, keys) * query.size(-1) ** -0.5
    s = torch.where(theirs <= mine[:, None], s, torch.tensor(float("-inf"), dtype=s.dtype))
    return [torch.einsum("bhqk,bhkd->bhqd", torch.softmax(s, -1), values), [keys, values]]


# %% right: the fused attention with a mask
def attend_with_cache(query, key, value, cache):
    past = 0
    if cache:
        past = cache[0].shape[2]
        key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
    mask = torch.ones(query.shape[2], key.shape[2]).tril(diagonal=past).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% right: one token at a time
def attend_with_cache(query, key, value, cache):
    B, H, T, D = key.shape
    keys, values = cache if cache is not None else (key[:, :, :0], value[:, :, :0])
    outputs = []
    for t in range(T):
        keys = torch.cat([keys, key[:, :, t : t + 1]], dim=2)
        values = torch.cat([values, value[:, :, t : t + 1]], dim=2)
        outputs.append(F.scaled_dot_product_attention(query[:, :, t : t + 1], keys, values))
    return torch.cat(outputs, dim=2), (keys, values)


# %% right: is_causal for a prompt, the bias aligned to the bottom right after a cache
from torch.nn.attention.bias import causal_lower_right


def attend_with_cache(query, key, value, cache):
    if cache is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True), (key, value)
    old_key, old_value = cache
    key, value = torch.cat((old_key, key), 2), torch.cat((old_value, value), 2)
    bias = causal_lower_right(query.shape[2], key.shape[2])
    return F.scaled_dot_product_attention(query, key, value, bias), (key, value)


# %% right: the whole square for all positions, its last rows kept
def attend_with_cache(query, key, value, cache):
    if cache is None:
        cache = (key.new_zeros(*key.shape[:2], 0, key.shape[3]), value.new_zeros(*value.shape[:2], 0, value.shape[3]))
    keys, values = (torch.cat(pair, -2) for pair in zip(cache, (key, value)))
    T = keys.shape[-2]
    future = torch.triu(torch.full((T, T), -torch.inf, dtype=key.dtype), 1)[T - query.shape[-2] :]
    weights = torch.softmax(query @ keys.transpose(2, 3) / query.shape[3] ** 0.5 + future, dim=3)
    return weights @ values, (keys, values)


# %% right: axes moved for the joining and back, written into tensors of its own
def attend_with_cache(query, key, value, cache):
    def join(old, new):
        if old is None:
            return new
        both = new.new_empty(*new.shape[:2], old.shape[2] + new.shape[2], new.shape[3])
        both[:, :, : old.shape[2]] = old
        both[:, :, old.shape[2] :] = new
        return both

    old_k, old_v = cache or (None, None)
    k, v = join(old_k, key), join(old_v, value)
    q_at = torch.arange(k.shape[2] - query.shape[2], k.shape[2]).unsqueeze(1)
    s = query @ k.mT / math.sqrt(k.shape[-1])
    s = s.masked_fill(torch.arange(k.shape[2]) > q_at, float("-inf"))
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e @ v / e.sum(-1, keepdim=True), (k, v)


# %% wrong mask-of-a-fixed-size: cut from a table of 32 by 32
def attend_with_cache(query, key, value, cache):
    past = 0 if cache is None else cache[0].shape[2]
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    table = torch.ones(32, 32, dtype=torch.bool).tril()
    mask = table[past : past + query.shape[2], : key.shape[2]]
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value, (key, value)


# %% wrong mask-of-a-fixed-size: a table of 64, filled up with True
def attend_with_cache(query, key, value, cache):
    past = 0 if cache is None else cache[0].shape[2]
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool)
    part = torch.ones(64, 64, dtype=torch.bool).tril()[past : past + query.shape[2], : key.shape[2]]
    mask[: part.shape[0], : part.shape[1]] = part
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong prompt-not-causal: no mask at all
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    return F.scaled_dot_product_attention(query, key, value), (key, value)


# %% wrong prompt-not-causal: by hand, no mask
def attend_with_cache(query, key, value, cache):
    keys = [key] if cache is None else [cache[0], key]
    values = [value] if cache is None else [cache[1], value]
    k, v = torch.cat(keys, -2), torch.cat(values, -2)
    return torch.softmax(query @ k.mT / math.sqrt(k.shape[-1]), -1) @ v, (k, v)


# %% wrong prompt-not-causal: a mask only after a cache
def attend_with_cache(query, key, value, cache):
    if cache is None:
        return torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), -1) @ value, (key, value)
    k, v = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], k.shape[2], dtype=torch.bool).tril(cache[0].shape[2])
    return F.scaled_dot_product_attention(query, k, v, attn_mask=mask), (k, v)


# %% wrong not-causal-behind-cache: is_causal for the prompt only
def attend_with_cache(query, key, value, cache):
    causal = cache is None
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    return F.scaled_dot_product_attention(query, key, value, is_causal=causal), (key, value)


# %% wrong not-causal-behind-cache: a mask only without a cache
def attend_with_cache(query, key, value, cache):
    k = key if cache is None else torch.cat((cache[0], key), 2)
    v = value if cache is None else torch.cat((cache[1], value), 2)
    s = query @ k.mT / math.sqrt(k.shape[-1])
    if cache is None:
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -torch.inf)
    return s.softmax(-1) @ v, (k, v)


# %% wrong mask-aligned-to-top-left: is_causal
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    return F.scaled_dot_product_attention(query, key, value, is_causal=True), (key, value)


# %% wrong mask-aligned-to-top-left: tril without a shift
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    s = query @ key.mT / math.sqrt(query.shape[-1])
    mask = torch.tril(torch.ones(query.shape[2], key.shape[2]))
    return s.masked_fill(mask == 0, float("-inf")).softmax(-1) @ value, (key, value)


# %% wrong mask-aligned-to-top-left: positions from zero
def attend_with_cache(query, key, value, cache):
    k, v = (key, value) if cache is None else (torch.cat((o, n), -2) for o, n in zip(cache, (key, value)))
    later = torch.arange(k.shape[2]) > torch.arange(query.shape[2]).unsqueeze(-1)
    s = torch.einsum("bhqd,bhkd->bhqk", query, k) / query.shape[-1] ** 0.5
    return torch.softmax(s.masked_fill(later, -torch.inf), -1) @ v, (k, v)


# %% wrong mask-aligned-to-top-left: a square mask that doesn't fit after a cache
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
    new = query.shape[2]
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(torch.ones(new, new).tril() == 0, -torch.inf)
    return scores.softmax(-1) @ value, (key, value)


# %% wrong cache-not-extended: only the new part is kept
def attend_with_cache(query, key, value, cache):
    k, v = key, value
    if cache is not None:
        k, v = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, k, v, attn_mask=mask), (key, value)


# %% wrong cache-not-extended: the cache comes back as it came
def attend_with_cache(query, key, value, cache):
    if cache is None:
        cache = (key, value)
        k, v = cache
    else:
        k, v = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, k, v, attn_mask=mask), cache


# %% wrong cache-not-extended: never looked at
def attend_with_cache(query, key, value, cache):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True), (key, value)


# %% wrong cache-not-extended: None stays None
def attend_with_cache(query, key, value, cache):
    k, v = key, value
    if cache:
        k, v = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, k, v, attn_mask=mask), cache


# %% wrong cache-not-extended: after a cache the new part is forgotten
def attend_with_cache(query, key, value, cache):
    if cache is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True), (key, value)
    return F.scaled_dot_product_attention(query, *cache), cache


# %% wrong wrong-axis: along the heads
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 1), torch.cat((cache[1], value), 1)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong wrong-axis: along the features
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), -1), torch.cat((cache[1], value), -1)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong wrong-axis: the default axis
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key)), torch.vstack((cache[1], value))
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong wrong-axis: stacked
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.stack((cache[0], key), 2), torch.stack((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong new-before-old: the order of cat
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((key, cache[0]), 2), torch.cat((value, cache[1]), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong new-before-old: in a list
def attend_with_cache(query, key, value, cache):
    k, v = (key, value) if cache is None else (torch.concat([n, o], -2) for n, o in zip((key, value), cache))
    s = query @ k.mT / math.sqrt(k.shape[-1])
    q_at = torch.arange(query.shape[2]) + k.shape[2] - query.shape[2]
    s = s.masked_fill(torch.arange(k.shape[2]) > q_at[:, None], -torch.inf)
    return s.softmax(-1) @ v, (k, v)


# %% wrong key-and-value-swapped: in the tuple that comes back
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (value, key)


# %% wrong key-and-value-swapped: by a dict's order
def attend_with_cache(query, key, value, cache):
    held = {"v": value, "k": key}
    if cache is not None:
        held = {"v": torch.cat((cache[1], value), 2), "k": torch.cat((cache[0], key), 2)}
    mask = torch.ones(query.shape[2], held["k"].shape[2], dtype=torch.bool)
    mask = mask.tril(held["k"].shape[2] - query.shape[2])
    out = F.scaled_dot_product_attention(query, held["k"], held["v"], attn_mask=mask)
    return out, tuple(held.values())


# %% wrong no-scaling: forgotten
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    new, held = query.shape[2], key.shape[2]
    mask = torch.ones(new, held, dtype=torch.bool).tril(held - new)
    return (query @ key.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ value, (key, value)


# %% wrong no-scaling: told not to
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0), (key, value)


# %% wrong one-future-token-visible: one column too wide
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2] + 1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong -: the cache as one stacked tensor
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), torch.stack((key, value))


# %% wrong -: three results
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), key, value


# %% wrong -: only the output
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


# %% wrong -: the oldest key drops out of the cache
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0][:, :, 1:], key), 2), torch.cat((cache[1][:, :, 1:], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong returns-nothing: no return
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)


# %% wrong changes-argument: the cache is overwritten
def attend_with_cache(query, key, value, cache):
    query.mul_(1 / math.sqrt(query.shape[-1]))
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0), (key, value)


# %% wrong gradient-cut: under no_grad
@torch.no_grad()
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong dtype-changed: the cache is kept in float32
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key.float(), value.float())


# %% wrong gradient-cut: what comes out of the cache is detached
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0].detach(), key), dim=2)
        value = torch.cat((cache[1].detach(), value), dim=2)
    new, held = query.shape[2], key.shape[2]
    mask = torch.ones(new, held, dtype=torch.bool).tril(held - new)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value, (key, value)


# %% wrong mask-inverted: triu
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).triu(m - n).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong mask-inverted: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong one-future-token-visible: one diagonal too many
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n + 1).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong one-future-token-visible: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None] + 1
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong diagonal-hidden: one diagonal too few
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n - 1).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong diagonal-hidden: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) < places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong mask-shifted-backwards: the difference the wrong way round
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(n - m).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong mask-shifted-backwards: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(new - held, 2 * new - held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong mask-after-softmax: then zero
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    s = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1).masked_fill(~mask, 0)
    return s @ value, (key, value)


# %% wrong mask-after-softmax: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.softmax(-1).masked_fill(~seen, 0.0)
    return weights @ value, (key, value)


# %% wrong zero-instead-of-minus-infinity: masked_fill
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    s = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, 0).softmax(-1)
    return s @ value, (key, value)


# %% wrong zero-instead-of-minus-infinity: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, 0.0).softmax(-1)
    return weights @ value, (key, value)


# %% wrong scaled-by-another-size: the new tokens
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    s = (query @ key.mT / query.shape[-2] ** 0.5).masked_fill(~mask, -torch.inf)
    return s.softmax(-1) @ value, (key, value)


# %% wrong scaled-by-another-size: no root
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1]
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong keys-kept-as-values: the wrong index
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[0], value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong keys-kept-as-values: by hand
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[0], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong prompt-kept-twice: a first cache of its own
def attend_with_cache(query, key, value, cache):
    if cache is None:
        cache = (key, value)
    keys = torch.cat([cache[0], key], 2)
    values = torch.cat([cache[1], value], 2)
    n, m = query.shape[-2], keys.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask), (keys, values)


# %% wrong prompt-kept-twice: or
def attend_with_cache(query, key, value, cache):
    cache = cache or (key, value)
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong none-not-handled: unpacked
def attend_with_cache(query, key, value, cache):
    k, v = cache
    key = torch.cat([k, key], dim=2)
    value = torch.cat([v, value], dim=2)
    n, m = query.shape[-2], key.shape[-2]
    mask = torch.ones(n, m).tril(m - n).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong none-not-handled: len
def attend_with_cache(query, key, value, cache):
    if len(cache) > 0:
        key = torch.cat((cache[0], key), dim=2)
        value = torch.cat((cache[1], value), dim=2)
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong cache-not-used: kept apart
def attend_with_cache(query, key, value, cache):
    kept = (key, value)
    if cache is not None:
        kept = (torch.cat((cache[0], key), dim=2), torch.cat((cache[1], value), dim=2))
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, kept


# %% wrong new-tokens-not-seen: appended last
def attend_with_cache(query, key, value, cache):
    if cache is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True), (key, value)
    out = F.scaled_dot_product_attention(query, cache[0], cache[1])
    return out, (torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2))


# %% wrong new-tokens-not-seen: an early return
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        weights = (query @ cache[0].mT / query.shape[-1] ** 0.5).softmax(-1)
        longer = tuple(torch.cat(pair, dim=2) for pair in zip(cache, (key, value)))
        return weights @ cache[1], longer
    new, held = query.shape[2], key.shape[2]
    places = torch.arange(held - new, held)
    seen = torch.arange(held) <= places[:, None]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ value, (key, value)


# %% wrong cache-not-used: joined after the attention
def attend_with_cache(query, key, value, cache):
    output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    if cache is None:
        return output, (key, value)
    return output, tuple(torch.cat(pair, dim=2) for pair in zip(cache, (key, value)))


# %% right: where on positions
def attend_with_cache(query, key, value, cache):
    k, v = (key, value) if cache is None else (torch.cat((c, n), dim=-2) for c, n in zip(cache, (key, value)))
    n, t = query.size(-2), k.size(-2)
    hidden = torch.arange(t)[None] > torch.arange(t - n, t)[:, None]
    s = torch.where(hidden, float("-inf"), query @ k.mT / query.size(-1) ** 0.5)
    return s.softmax(-1) @ v, (k, v)


# %% wrong float-mask-added: torch.ones without bool
def attend_with_cache(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
    new, held = query.shape[2], key.shape[2]
    mask = torch.ones(new, held, dtype=query.dtype).tril(held - new)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


# %% wrong float-mask-added: a mask of numbers, added by hand
def attend_with_cache(query, key, value, cache):
    keys = key if cache is None else torch.cat([cache[0], key], -2)
    values = value if cache is None else torch.cat([cache[1], value], -2)
    visible = query.new_ones(query.shape[-2], keys.shape[-2]).tril(keys.shape[-2] - query.shape[-2])
    scores = query @ keys.mT / math.sqrt(query.shape[-1]) + visible
    return scores.softmax(-1) @ values, (keys, values)
