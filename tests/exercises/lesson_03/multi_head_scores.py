# %% right: einsum
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key)


# %% right: permute and matmul
def multi_head_scores(query, key):
    return query.permute(1, 0, 2) @ key.permute(1, 2, 0)


# %% right: bmm
def multi_head_scores(query, key):
    return torch.bmm(query.transpose(0, 1), key.transpose(0, 1).transpose(1, 2))


# %% right: a loop over heads
def multi_head_scores(query, key):
    T, H, _ = query.shape
    scores = torch.zeros(H, T, key.shape[0], dtype=query.dtype)
    for h in range(H):
        scores[h] = query[:, h, :] @ key[:, h, :].T
    return scores


# %% right: three loops and a dot product
def multi_head_scores(query, key):
    return torch.stack(
        [torch.stack([torch.stack([torch.dot(q[h], k[h]) for k in key]) for q in query]) for h in range(query.shape[1])]
    )


# %% right: broadcast, sum, permute
def multi_head_scores(query, key):
    return (query[:, None] * key[None]).sum(-1).permute(2, 0, 1)


# %% wrong scores-transposed: letters behind the arrow swapped
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hst", query, key)


# %% wrong scores-transposed: key first
def multi_head_scores(query, key):
    return key.transpose(0, 1) @ query.transpose(0, 1).transpose(-1, -2)


# %% wrong scores-transposed: key first in einsum
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", key, query)


# %% wrong heads-mixed: no letter for the head behind the arrow
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->ts", query, key)


# %% wrong heads-mixed: two letters for the head, one summed over
def multi_head_scores(query, key):
    return torch.einsum("thd,sgd->hts", query, key)


# %% wrong heads-mixed: the key's letter kept
def multi_head_scores(query, key):
    return torch.einsum("tgd,shd->hts", query, key)


# %% wrong heads-mixed: flattened heads, one table for all
def multi_head_scores(query, key):
    one = query.flatten(1) @ key.flatten(1).T
    return one.expand(query.shape[1], -1, -1)


# %% wrong heads-mixed: loop that adds up
def multi_head_scores(query, key):
    total = torch.zeros(query.shape[0], key.shape[0])
    for h in range(query.shape[1]):
        total = total + query[:, h] @ key[:, h].T
    return total.unsqueeze(0)


# %% wrong diagonal-only: one token letter
def multi_head_scores(query, key):
    return torch.einsum("thd,thd->ht", query, key)


# %% wrong diagonal-only: elementwise product, expanded over the keys
def multi_head_scores(query, key):
    return (query * key).sum(-1).T.unsqueeze(-1).expand(-1, -1, key.shape[0])


# %% wrong diagonal-only: key t in the inner loop
def multi_head_scores(query, key):
    T, H, _ = query.shape
    S = key.shape[0]
    scores = torch.zeros(H, T, S)
    for h in range(H):
        for t in range(T):
            for s in range(S):
                scores[h, t, s] = query[t, h] @ key[t, h]
    return scores


# %% wrong diagonal-only: only the diagonal is filled
def multi_head_scores(query, key):
    scores = torch.zeros(query.shape[1], query.shape[0], key.shape[0])
    for h in range(query.shape[1]):
        for t in range(query.shape[0]):
            scores[h, t, t] = query[t, h] @ key[t, h]
    return scores


# %% wrong tokens-as-batch: matmul on the axes as they lie
def multi_head_scores(query, key):
    return query @ key.transpose(-2, -1)


# %% wrong tokens-as-batch: einsum over heads of one token
def multi_head_scores(query, key):
    return torch.einsum("thd,tgd->thg", query, key)


# %% wrong transpose-forgotten: heads in front, keys as they lie
def multi_head_scores(query, key):
    return query.transpose(0, 1) @ key.transpose(0, 1)


# %% wrong transpose-forgotten: bmm
def multi_head_scores(query, key):
    return torch.bmm(query.permute(1, 0, 2), key.permute(1, 0, 2))


# %% wrong scaled-too-early: by the root of head_dim
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key) / query.shape[-1] ** 0.5


# %% wrong scaled-too-early: by the root of d_model
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key) / math.sqrt(query.shape[1] * query.shape[2])


# %% wrong axes-in-another-order: axes (T, S, H)
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->tsh", query, key)


# %% wrong axes-in-another-order: axes (T, H, S)
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->ths", query, key)


# %% wrong wrong-shape: the keys are summed over
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->ht", query, key)


# %% wrong -: the keys' heads in reverse order
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key.flip(1))


# %% wrong view-instead-of-transpose: view in place of permute
def multi_head_scores(query, key):
    T, H, D = query.shape
    return query.reshape(H, T, D) @ key.reshape(H, -1, D).transpose(1, 2)


# %% wrong softmax-too-early: softmax already
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key).softmax(-1)


# %% wrong -: Euclidean distance
def multi_head_scores(query, key):
    return torch.cdist(query.transpose(0, 1), key.transpose(0, 1))


# %% wrong -: head 0 for every head
def multi_head_scores(query, key):
    one = query[:, 0] @ key[:, 0].T
    return torch.stack([one] * query.shape[1])


# %% wrong gradient-cut: numbers by item
def multi_head_scores(query, key):
    scores = torch.zeros(query.shape[1], query.shape[0], key.shape[0], dtype=query.dtype)
    for h in range(query.shape[1]):
        for t in range(query.shape[0]):
            for s in range(key.shape[0]):
                scores[h, t, s] = (query[t, h] @ key[s, h]).item()
    return scores


# %% wrong dtype-changed: a result of the default dtype
def multi_head_scores(query, key):
    scores = torch.zeros(query.shape[1], query.shape[0], key.shape[0])
    for h in range(query.shape[1]):
        scores[h] = query[:, h] @ key[:, h].T
    return scores


# %% wrong returns-nothing: no return
def multi_head_scores(query, key):
    scores = torch.einsum("thd,shd->hts", query, key)


# %% wrong wrong-type: a list of tables
def multi_head_scores(query, key):
    return [query[:, h] @ key[:, h].T for h in range(query.shape[1])]


# %% wrong changes-argument: scaled in place and back again, but not quite
def multi_head_scores(query, key):
    scores = torch.einsum("thd,shd->hts", query, key)
    query.detach().mul_(1.5)
    return scores


# %% wrong softmax-too-early: of the scaled scores
def multi_head_scores(query, key):
    scores = torch.einsum("thd,shd->hts", query, key)
    return (scores / math.sqrt(query.shape[-1])).softmax(-1)


# %% wrong view-instead-of-transpose: key reshaped to (H, D, S)
def multi_head_scores(query, key):
    S, H, D = key.shape
    return query.transpose(0, 1) @ key.reshape(H, D, S)


# %% wrong view-instead-of-transpose: both viewed as (H, T, D)
def multi_head_scores(query, key):
    T, H, D = query.shape
    return query.view(H, T, D) @ key.view(H, len(key), D).mT


# %% wrong scaled-too-early: a power without brackets
def multi_head_scores(query, key):
    return torch.einsum("thd,shd->hts", query, key) / query.shape[-1] ** 1 / 2


# %% right: vmap over the heads
def multi_head_scores(query, key):
    return torch.vmap(lambda q, k: q @ k.T, in_dims=1)(query, key)
