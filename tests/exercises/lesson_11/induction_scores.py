# %% prelude
import torch


# %% right: loops
def induction_scores(weights, ids):
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            counted += 1
            for s in earlier:
                total = total + weights[:, :, t, s + 1]
    return total / max(counted, 1)


# %% right: a mask, moved one column
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    counted = same.any(dim=1)
    looking = (weights * behind).sum(-1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% right: pairs of places
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    if len(t) == 0:
        return weights.new_zeros(weights.shape[:2])
    return weights[:, :, t, s + 1].sum(-1) / len(t.unique())


# %% right: einsum
def induction_scores(weights, ids):
    length = len(ids)
    chosen = weights.new_zeros(length, length)
    for t in range(length):
        for s in range(t):
            chosen[t, s + 1] += float(ids[s] == ids[t])
    rows = chosen.sum(1).gt(0).sum().clamp(min=1)
    return torch.einsum("lhts,ts->lh", weights, chosen) / rows


# %% wrong rows-and-columns-swapped: transposed
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    if len(t) == 0:
        return weights.new_zeros(weights.shape[:2])
    return weights.mT[:, :, t, s + 1].sum(-1) / len(t.unique())


# %% wrong rows-and-columns-swapped: the index of the loop
def induction_scores(weights, ids):
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            counted += 1
            for s in earlier:
                total = total + weights[:, :, s + 1, t]
    return total / max(counted, 1)


# %% wrong on-the-token-itself: s for s + 1
def induction_scores(weights, ids):
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            counted += 1
            for s in earlier:
                total = total + weights[:, :, t, s]
    return total / max(counted, 1)


# %% wrong on-the-token-itself: the mask as it is
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    counted = same.any(dim=1)
    looking = (weights * same).sum(-1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% wrong own-place-counted: up to t
def induction_scores(weights, ids):
    length = len(ids)
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(length):
        earlier = [s for s in range(t + 1) if ids[s] == ids[t]]
        counted += 1
        for s in earlier:
            if s + 1 < length:
                total = total + weights[:, :, t, s + 1]
    return total / counted


# %% wrong own-place-counted: tril with the diagonal
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril()
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    return (weights * behind).sum(-1).mean(-1)


# %% wrong new-tokens-counted: the mean over all places
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    return (weights * behind).sum(-1).mean(-1)


# %% wrong new-tokens-counted: divided by the length
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    return weights[:, :, t, s + 1].sum(-1) / len(ids)


# %% wrong latest-occurrence-only: the last of them
def induction_scores(weights, ids):
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            counted += 1
            total = total + weights[:, :, t, earlier[-1] + 1]
    return total / max(counted, 1)


# %% wrong latest-occurrence-only: a dict of where each was
def induction_scores(weights, ids):
    seen, looks = {}, []
    for t, token in enumerate(ids.tolist()):
        if token in seen:
            looks.append(weights[:, :, t, seen[token] + 1])
        seen[token] = t
    return torch.stack(looks).mean(0) if looks else weights.new_zeros(weights.shape[:2])


# %% wrong one-place-too-early: minus one
def induction_scores(weights, ids):
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(len(ids)):
        earlier = [s for s in range(t) if ids[s] == ids[t]]
        if earlier:
            counted += 1
            for s in earlier:
                if s > 0:
                    total = total + weights[:, :, t, s - 1]
    return total / max(counted, 1)


# %% wrong one-place-too-early: the mask moved to the left
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    before = torch.zeros_like(same)
    before[:, :-1] = same[:, 1:]
    counted = same.any(dim=1)
    looking = (weights * before).sum(-1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% wrong looks-for-the-next-token: where it was
def induction_scores(weights, ids):
    looks = []
    for t in range(len(ids) - 1):
        places = [s for s in range(t + 1) if ids[s] == ids[t + 1]]
        if places:
            looks.append(weights[:, :, t, places].sum(-1))
    return torch.stack(looks).mean(0) if looks else weights.new_zeros(weights.shape[:2])


# %% wrong looks-for-the-next-token: labels
def induction_scores(weights, ids):
    labels = torch.cat([ids[1:], torch.tensor([-1])])
    same = (ids == labels[:, None]).tril()
    counted = same.any(1)
    if not counted.any():
        return weights.new_zeros(weights.shape[:2])
    return (weights * same).sum(-1)[..., counted].mean(-1)


# %% wrong later-occurrences-counted: all other places
def induction_scores(weights, ids):
    length = len(ids)
    total, counted = torch.zeros_like(weights[:, :, 0, 0]), 0
    for t in range(length):
        others = [s for s in range(length) if ids[s] == ids[t] and s != t]
        if others:
            counted += 1
            for s in others:
                if s + 1 < length:
                    total = total + weights[:, :, t, s + 1]
    return total / max(counted, 1)


# %% wrong later-occurrences-counted: without tril
def induction_scores(weights, ids):
    same = (ids == ids[:, None]) & ~torch.eye(len(ids), dtype=torch.bool)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    counted = same.any(dim=1)
    looking = (weights * behind).sum(-1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% wrong averaged-over-occurrences: mean for sum
def induction_scores(weights, ids):
    looks = []
    for t in range(len(ids)):
        behind = [s + 1 for s in range(t) if ids[s] == ids[t]]
        if behind:
            looks.append(weights[:, :, t, behind].mean(-1))
    return torch.stack(looks).mean(0) if looks else weights.new_zeros(weights.shape[:2])


# %% wrong averaged-over-occurrences: divided by how many
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    counted = same.any(dim=1)
    looking = (weights * behind).sum(-1) / behind.sum(-1).clamp(min=1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% wrong summed-over-places: no mean
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    return (weights * behind).sum((-1, -2))


# %% wrong summed-over-places: pairs of places
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    return weights[:, :, t, s + 1].sum(-1)


# %% wrong no-place-divided: the mean of nothing
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    counted = same.any(dim=1)
    return (weights * behind).sum(-1)[..., counted].mean(-1)


# %% wrong no-place-divided: divided by a count of zero
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    return weights[:, :, t, s + 1].sum(-1) / len(t.unique())


# %% wrong averaged-over-pairs: the mean of all pairs
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    if len(t) == 0:
        return weights.new_zeros(weights.shape[:2])
    return weights[:, :, t, s + 1].mean(-1)


# %% wrong averaged-over-pairs: divided by how many ones the mask has
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    return (weights * behind).sum((-1, -2)) / behind.sum().clamp(min=1)


# %% wrong largest-only: amax for sum
def induction_scores(weights, ids):
    looks = []
    for t in range(len(ids)):
        behind = [s + 1 for s in range(t) if ids[s] == ids[t]]
        if behind:
            looks.append(weights[:, :, t, behind].amax(-1))
    return torch.stack(looks).mean(0) if looks else weights.new_zeros(weights.shape[:2])


# %% wrong largest-only: the largest in a row of the mask
def induction_scores(weights, ids):
    same = (ids == ids[:, None]).tril(-1)
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    looking = (weights * behind).max(-1).values
    counted = same.any(1)
    return looking[..., counted].sum(-1) / counted.sum().clamp(min=1)


# %% wrong -: one place for the whole text
def induction_scores(weights, ids):
    t, s = ids.unsqueeze(1).eq(ids.unsqueeze(0)).tril(-1).nonzero(as_tuple=True)
    if len(t) == 0:
        return weights.new_zeros(weights.shape[:2])
    return weights[:, :, t[-1], s[-1] + 1]
