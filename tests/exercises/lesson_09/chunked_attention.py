# %% right: a loop over slices, joined by cat
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for start in range(0, query.shape[-2], chunk_size):
        chunk = query[..., start : start + chunk_size, :]
        weights = torch.softmax(chunk @ key.mT / math.sqrt(key.shape[-1]), dim=-1)
        outputs.append(weights @ value)
    return torch.cat(outputs, dim=-2)


# %% right: split in a comprehension
def chunked_attention(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    turned = key.transpose(-2, -1) / query.size(-1) ** 0.5
    return torch.cat([F.softmax(q @ turned, -1) @ value for q in query.split(chunk_size, dim=-2)], dim=-2)


# %% right: written into a tensor of its own
def chunked_attention(query, key, value, chunk_size):
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    at = 0
    while at < query.shape[-2]:
        end = min(at + chunk_size, query.shape[-2])
        s = torch.einsum("...qd,...kd->...qk", query[..., at:end, :], key) * query.shape[-1] ** -0.5
        out[..., at:end, :] = torch.einsum("...qk,...kv->...qv", s.softmax(-1), value)
        at = end
    return out


# %% right: softmax by hand, leading axes made one
def chunked_attention(query, key, value, chunk_size):
    lead = query.shape[:-2]
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    pieces = []
    for i in range(math.ceil(q.shape[1] / chunk_size)):
        s = torch.bmm(q[:, i * chunk_size : (i + 1) * chunk_size], k.transpose(1, 2)) / math.sqrt(k.shape[2])
        e = (s - s.amax(-1, keepdim=True)).exp()
        pieces.append(torch.bmm(e, v) / e.sum(-1, keepdim=True))
    return torch.cat(pieces, 1).reshape(*lead, query.shape[-2], value.shape[-1])


# %% right: recursion
def chunked_attention(query, key, value, chunk_size):
    if query.shape[-2] > chunk_size:
        first, rest = query.tensor_split([chunk_size], dim=-2)
        both = [chunked_attention(q, key, value, chunk_size) for q in (first, rest)]
        return torch.cat(both, -2)
    return ((query @ key.mT) / math.sqrt(query.shape[-1])).softmax(-1) @ value


# %% right: one query at a time, whatever the chunk
def chunked_attention(query, key, value, chunk_size):
    rows = []
    for row in query.unbind(-2):
        scores = (key @ row.unsqueeze(-1)).squeeze(-1) / math.sqrt(row.shape[-1])
        rows.append((value.mT @ scores.softmax(-1).unsqueeze(-1)).squeeze(-1))
    return torch.stack(rows, -2)


# %% right: padded to full chunks, the padding cut off at the end
def chunked_attention(query, key, value, chunk_size):
    length = query.shape[-2]
    padded = F.pad(query, (0, 0, 0, -length % chunk_size))
    found = []
    for q in padded.unflatten(-2, (-1, chunk_size)).unbind(-3):
        found.append(torch.softmax(q @ key.mT / math.sqrt(key.shape[-1]), -1) @ value)
    return torch.cat(found, -2)[..., :length, :]


# %% right: keys in blocks as well, with a running maximum
def chunked_attention(query, key, value, chunk_size):
    out = []
    for q in query.split(chunk_size, -2):
        m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
        total, mixed = torch.zeros_like(m), 0
        for k, v in zip(key.split(5, -2), value.split(5, -2)):
            s = q @ k.mT / q.shape[-1] ** 0.5
            top = torch.maximum(m, s.amax(-1, keepdim=True))
            e, f = (s - top).exp(), (m - top).exp()
            total, mixed, m = total * f + e.sum(-1, keepdim=True), mixed * f + e @ v, top
        out.append(mixed / total)
    return torch.cat(out, -2)


# %% right: elementwise products, in float64 inside
def chunked_attention(query, key, value, chunk_size):
    k, v = key.double().unsqueeze(-3), value.double().unsqueeze(-3)
    found = []
    for at in range(0, query.shape[-2], min(chunk_size, 4)):
        q = query[..., at : at + min(chunk_size, 4), :].double().unsqueeze(-2)
        w = ((q * k).sum(-1) / math.sqrt(query.shape[-1])).softmax(-1)
        found.append((w.unsqueeze(-1) * v).sum(-2))
    return torch.cat(found, -2).to(query.dtype)


# %% wrong last-chunk-lost: floor division, rows missing
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for i in range(max(query.shape[-2] // chunk_size, 1)):
        q = query[..., i * chunk_size : (i + 1) * chunk_size, :]
        outputs.append(torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value)
    return torch.cat(outputs, -2)


# %% wrong last-chunk-lost: floor division, rows of zeros
def chunked_attention(query, key, value, chunk_size):
    out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for i in range(query.shape[-2] // chunk_size):
        rows = slice(i * chunk_size, (i + 1) * chunk_size)
        out[..., rows, :] = torch.softmax(query[..., rows, :] @ key.mT / key.shape[-1] ** 0.5, -1) @ value
    return out


# %% wrong last-chunk-lost: the range ends too early
def chunked_attention(query, key, value, chunk_size):
    outputs = [query[..., :0, :1] * value[..., :1, :].mean(-2, keepdim=True)]
    for start in range(0, query.shape[-2] - chunk_size, chunk_size):
        q = query[..., start : start + chunk_size, :]
        outputs.append(torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value)
    return torch.cat(outputs, -2)


# %% wrong last-chunk-lost: the queries themselves stand in the rest
def chunked_attention(query, key, value, chunk_size):
    out = torch.full((*query.shape[:-1], value.shape[-1]), 7.0, dtype=query.dtype)
    whole = query.shape[-2] - query.shape[-2] % chunk_size
    for start in range(0, whole, chunk_size):
        q = query[..., start : start + chunk_size, :]
        out[..., start : start + chunk_size, :] = (q @ key.mT / math.sqrt(q.shape[-1])).softmax(-1) @ value
    return out


# %% wrong last-chunk-lost: unfold drops what is left over
def chunked_attention(query, key, value, chunk_size):
    if chunk_size > query.shape[-2]:
        chunk_size = query.shape[-2]
    whole = query.unfold(-2, chunk_size, chunk_size).mT.unbind(-3)
    return torch.cat([(q @ key.mT / math.sqrt(q.shape[-1])).softmax(-1) @ value for q in whole], -2)


# %% wrong keys-chunked-too: the same slice for all three
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for start in range(0, query.shape[-2], chunk_size):
        q, k, v = (t[..., start : start + chunk_size, :] for t in (query, key, value))
        outputs.append(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)
    return torch.cat(outputs, -2)


# %% wrong keys-chunked-too: zip over the pieces
def chunked_attention(query, key, value, chunk_size):
    pieces = zip(*(t.split(chunk_size, -2) for t in (query, key, value)))
    return torch.cat([(q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v for q, k, v in pieces], -2)


# %% wrong keys-chunked-too: as many pieces of keys as of queries
def chunked_attention(query, key, value, chunk_size):
    queries = query.split(chunk_size, -2)
    keys, values = key.chunk(len(queries), -2), value.chunk(len(queries), -2)
    outputs = []
    for q, k, v in zip(queries, keys, values):
        outputs.append(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)
    return torch.cat(outputs, -2)


# %% wrong keys-chunked-too: a softmax for every block of keys, added up
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for q in query.split(chunk_size, -2):
        out = 0
        for j in range(0, key.shape[-2], chunk_size):
            k, v = key[..., j : j + chunk_size, :], value[..., j : j + chunk_size, :]
            out = out + torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v
        outputs.append(out)
    return torch.cat(outputs, -2)


# %% wrong keys-chunked-too: the inner loop keeps its last block
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for q in query.split(chunk_size, -2):
        for k, v in zip(key.split(chunk_size, -2), value.split(chunk_size, -2)):
            out = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v
        outputs.append(out)
    return torch.cat(outputs, -2)


# %% wrong no-scaling: forgotten
def chunked_attention(query, key, value, chunk_size):
    return torch.cat([torch.softmax(q @ key.mT, -1) @ value for q in query.split(chunk_size, -2)], -2)


# %% wrong no-scaling: einsum
def chunked_attention(query, key, value, chunk_size):
    found = []
    for start in range(0, query.shape[-2], chunk_size):
        s = torch.einsum("...qd,...kd->...qk", query[..., start : start + chunk_size, :], key)
        found.append(torch.einsum("...qk,...kv->...qv", F.softmax(s, dim=-1), value))
    return torch.cat(found, -2)


# %% wrong softmax-over-queries: axis -2
def chunked_attention(query, key, value, chunk_size):
    found = []
    for q in query.split(chunk_size, -2):
        found.append(torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -2) @ value)
    return torch.cat(found, -2)


# %% wrong softmax-over-queries: keys on the left
def chunked_attention(query, key, value, chunk_size):
    found = []
    for q in query.split(chunk_size, -2):
        turned = torch.softmax(key @ q.mT / math.sqrt(q.shape[-1]), -1)
        found.append(turned.mT @ value)
    return torch.cat(found, -2)


# %% wrong overflow: exp without the maximum
def chunked_attention(query, key, value, chunk_size):
    found = []
    for q in query.split(chunk_size, -2):
        e = torch.exp(q @ key.mT / math.sqrt(q.shape[-1]))
        found.append((e / e.sum(-1, keepdim=True)) @ value)
    return torch.cat(found, -2)


# %% wrong overflow: divided last
def chunked_attention(query, key, value, chunk_size):
    def one(q):
        e = (q @ key.mT * q.shape[-1] ** -0.5).exp()
        return e @ value / e.sum(-1, keepdim=True)

    return torch.cat([one(q) for q in query.split(chunk_size, -2)], -2)


# %% wrong number-of-chunks: torch.chunk
def chunked_attention(query, key, value, chunk_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.chunk(chunk_size, -2)]
    return torch.cat(found, -2)


# %% wrong number-of-chunks: a size computed from it
def chunked_attention(query, key, value, chunk_size):
    size = math.ceil(query.shape[-2] / chunk_size)
    found = []
    for start in range(0, query.shape[-2], size):
        q = query[..., start : start + size, :]
        found.append(torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value)
    return torch.cat(found, -2)


# %% wrong full-matrix-made: not chunked at all
def chunked_attention(query, key, value, chunk_size):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


# %% wrong full-matrix-made: the scores before the loop
def chunked_attention(query, key, value, chunk_size):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    found = [s.softmax(-1) @ value for s in scores.split(chunk_size, -2)]
    return torch.cat(found, -2)


# %% wrong full-matrix-made: all weights collected
def chunked_attention(query, key, value, chunk_size):
    weights = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) for q in query.split(chunk_size, -2)]
    return torch.cat(weights, -2) @ value


# %% wrong full-matrix-made: an empty table, filled row by row
def chunked_attention(query, key, value, chunk_size):
    weights = torch.empty(*query.shape[:-1], key.shape[-2], dtype=query.dtype)
    for start in range(0, query.shape[-2], chunk_size):
        rows = slice(start, start + chunk_size)
        weights[..., rows, :] = torch.softmax(query[..., rows, :] @ key.mT / math.sqrt(query.shape[-1]), -1)
    return weights @ value


# %% wrong full-matrix-made: all chunks at once on an axis of their own
def chunked_attention(query, key, value, chunk_size):
    length = query.shape[-2]
    q = F.pad(query, (0, 0, 0, -length % chunk_size)).unflatten(-2, (-1, chunk_size))
    w = torch.softmax(q @ key.mT.unsqueeze(-3) / math.sqrt(query.shape[-1]), -1)
    return (w @ value.unsqueeze(-3)).flatten(-3, -2)[..., :length, :]


# %% wrong full-matrix-made: chunks for one sequence, all at once for a batch
def chunked_attention(query, key, value, chunk_size):
    size = chunk_size if query.dim() == 2 else query.shape[-2]
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(size, -2)]
    return torch.cat(found, -2)


# %% wrong full-matrix-made: only a mask of that size
def chunked_attention(query, key, value, chunk_size):
    mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    found = []
    for start in range(0, query.shape[-2], chunk_size):
        s = query[..., start : start + chunk_size, :] @ key.mT / math.sqrt(query.shape[-1])
        s = s.masked_fill(~mask[start : start + chunk_size], -torch.inf)
        found.append(s.softmax(-1) @ value)
    return torch.cat(found, -2)


# %% wrong excluded-function: the fused attention on each chunk
def chunked_attention(query, key, value, chunk_size):
    return torch.cat([F.scaled_dot_product_attention(q, key, value) for q in query.split(chunk_size, -2)], -2)


# %% wrong excluded-function: by getattr
def chunked_attention(query, key, value, chunk_size):
    attend = getattr(torch.nn.functional, "scaled_dot_" + "product_attention")
    return attend(query, key, value)


# %% wrong excluded-function: the operator
def chunked_attention(query, key, value, chunk_size):
    return torch.ops.aten.scaled_dot_product_attention(query, key, value)


# %% wrong scaled-by-another-size: the values' width
def chunked_attention(query, key, value, chunk_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(value.shape[-1]), -1) @ value for q in query.split(chunk_size, -2)]
    return torch.cat(found, -2)


# %% wrong joined-along-another-axis: the features
def chunked_attention(query, key, value, chunk_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(chunk_size, -2)]
    return torch.cat(found, -1)


# %% wrong -: chunks overlap by one row
def chunked_attention(query, key, value, chunk_size):
    found = []
    for start in range(0, query.shape[-2], chunk_size):
        q = query[..., start : start + chunk_size + 1, :]
        found.append(torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value)
    return torch.cat(found, -2)


# %% wrong batch-cut-instead: splits along the first axis
def chunked_attention(query, key, value, chunk_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(chunk_size)]
    return torch.cat(found)


# %% wrong -: the list of chunks comes back
def chunked_attention(query, key, value, chunk_size):
    return [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(chunk_size, -2)]


# %% wrong -: only the first chunk, the others are copies of it
def chunked_attention(query, key, value, chunk_size):
    length = query.shape[-2]
    first = torch.softmax(query[..., :chunk_size, :] @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
    return torch.cat([first] * math.ceil(length / chunk_size), -2)[..., :length, :]


# %% wrong changes-argument: the query is scaled in place
def chunked_attention(query, key, value, chunk_size):
    query /= math.sqrt(query.shape[-1])
    return torch.cat([torch.softmax(q @ key.mT, -1) @ value for q in query.split(chunk_size, -2)], -2)


# %% wrong gradient-cut: under no_grad
@torch.no_grad()
def chunked_attention(query, key, value, chunk_size):
    found = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(chunk_size, -2)]
    return torch.cat(found, -2)


# %% wrong dtype-changed: written into a tensor of the default dtype
def chunked_attention(query, key, value, chunk_size):
    out = torch.zeros(*query.shape[:-1], value.shape[-1])
    for start in range(0, query.shape[-2], chunk_size):
        rows = slice(start, start + chunk_size)
        out[..., rows, :] = (torch.softmax(query[..., rows, :] @ key.mT / math.sqrt(key.shape[-1]), -1) @ value).float()
    return out


# %% wrong returns-nothing: no return
def chunked_attention(query, key, value, chunk_size):
    torch.cat([torch.softmax(q @ key.mT, -1) @ value for q in query.split(chunk_size, -2)], -2)


# %% wrong name-not-defined: a name that isn't there
def chunked_attention(query, key, value, chunk_size):
    return torch.cat([attend(q, key, value) for q in query.split(chunk_size, -2)], -2)


# %% wrong scaled-by-another-size: chunk_size
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / chunk_size**0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong scaled-by-another-size: no root
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1], -1) @ value)
    return torch.cat(out, -2)


# %% wrong scaled-by-another-size: the rows of a chunk
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-2] ** 0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong scale-multiplied: a product
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT * q.shape[-1] ** 0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong scale-multiplied: divided by a power of -0.5
def chunked_attention(query, key, value, chunk_size):
    pieces = []
    for start in range(0, query.shape[-2], chunk_size):
        part = query[..., start : start + chunk_size, :]
        scores = part @ key.mT / part.shape[-1] ** -0.5
        pieces.append(scores.softmax(-1) @ value)
    return torch.cat(pieces, dim=-2)


# %% wrong softmax-forgotten: in parentheses
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append((q @ key.mT / q.shape[-1] ** 0.5) @ value)
    return torch.cat(out, -2)


# %% wrong softmax-forgotten: in a loop
def chunked_attention(query, key, value, chunk_size):
    pieces = []
    for start in range(0, query.shape[-2], chunk_size):
        part = query[..., start : start + chunk_size, :]
        scores = part @ key.mT / part.shape[-1] ** 0.5
        pieces.append(scores @ value)
    return torch.cat(pieces, dim=-2)


# %% wrong first-chunk-only: return inside the loop
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, -1) @ value)
        return torch.cat(out, -2)


# %% wrong first-chunk-only: slices that end at chunk_size
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i:chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong chunks-overlap: range without a step
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(query.shape[-2] // chunk_size + 1):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong chunks-overlap: a step of 1
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2]):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, -1) @ value)
    return torch.cat(out, -2)


# %% wrong joined-along-another-axis: the first axis
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, -1) @ value)
    return torch.cat(out)


# %% wrong joined-along-another-axis: the last axis
def chunked_attention(query, key, value, chunk_size):
    pieces = []
    for start in range(0, query.shape[-2], chunk_size):
        part = query[..., start : start + chunk_size, :]
        scores = part @ key.mT / part.shape[-1] ** 0.5
        pieces.append(scores.softmax(-1) @ value)
    return torch.cat(pieces, dim=-1)


# %% wrong softmax-over-queries: axis 1
def chunked_attention(query, key, value, chunk_size):
    out = []
    for i in range(0, query.shape[-2], chunk_size):
        q = query[..., i : i + chunk_size, :]
        out.append(torch.softmax(q @ key.mT / q.shape[-1] ** 0.5, 1) @ value)
    return torch.cat(out, -2)


# %% wrong -: the loop over the queries ends with the keys
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for start in range(0, key.shape[-2], chunk_size):
        q = query[..., start : start + chunk_size, :]
        outputs.append(torch.softmax(q @ key.mT / math.sqrt(query.shape[-1]), -1) @ value)
    return torch.cat(outputs, -2)


# %% wrong batch-cut-instead: a slice without an ellipsis
def chunked_attention(query, key, value, chunk_size):
    outputs = []
    for start in range(0, query.shape[-2], chunk_size):
        scores = query[start : start + chunk_size] @ key.mT / math.sqrt(query.shape[-1])
        outputs.append(scores.softmax(-1) @ value)
    return torch.cat(outputs, -2)


# %% wrong batch-cut-instead: split and cat along the first axis
def chunked_attention(query, key, value, chunk_size):
    scale = query.shape[-1] ** -0.5
    return torch.cat([(q @ key.mT * scale).softmax(-1) @ value for q in query.split(chunk_size)])
