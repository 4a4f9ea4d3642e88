# %% prelude
import numpy as np
import torch
import torch.nn.functional as F


# %% right: lists
def exact_match(predicted, target, eos_idx):
    def cut(row):
        row = row.tolist()
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    hits = [cut(p) == cut(t) for p, t in zip(predicted, target)]
    return sum(hits) / len(hits)


# %% right: masks, padded to one width
def exact_match(predicted, target, eos_idx):
    width = max(predicted.shape[1], target.shape[1])

    def clean(tokens):
        behind = (tokens == eos_idx).cumsum(1) - (tokens == eos_idx).long() > 0
        return F.pad(tokens.masked_fill(behind, -1), (0, width - tokens.shape[1]), value=-1)

    return (clean(predicted) == clean(target)).all(dim=1).float().mean().item()


# %% right: token by token
def exact_match(predicted, target, eos_idx):
    hits = 0
    for mine, theirs in zip(predicted, target):
        ended = False
        right = True
        for t in range(max(len(mine), len(theirs))):
            a = int(mine[t]) if t < len(mine) else None
            b = int(theirs[t]) if t < len(theirs) else None
            if a != b:
                right = False
                break
            if a == eos_idx:
                break
        hits += right
    return hits / predicted.shape[0]


# %% right: lengths first
def exact_match(predicted, target, eos_idx):
    def length(tokens):
        is_eos = tokens == eos_idx
        return torch.where(is_eos.any(1), is_eos.int().argmax(1) + 1, tokens.shape[1])

    p, t = length(predicted), length(target)
    right = []
    for i in range(len(predicted)):
        right.append(p[i] == t[i] and torch.equal(predicted[i, : p[i]], target[i, : t[i]]))
    return np.mean([bool(r) for r in right])


# %% right: texts
def exact_match(predicted, target, eos_idx):
    def text(row):
        return (" ".join(map(str, row.tolist())) + " ").split(f" {eos_idx} ")[0], eos_idx in row.tolist()

    return float(np.mean([text(p) == text(t) for p, t in zip(predicted, target)]))


# %% wrong last-eos-instead: the largest place
def exact_match(predicted, target, eos_idx):
    def cut(row):
        places = (row == eos_idx).nonzero().flatten()
        return row[: int(places.max()) + 1].tolist() if len(places) else row.tolist()

    rows = [cut(p) == cut(t) for p, t in zip(predicted, target)]
    return sum(rows) / len(rows)


# %% wrong per-token: all of them
def exact_match(predicted, target, eos_idx):
    width = min(predicted.shape[1], target.shape[1])
    return (predicted[:, :width] == target[:, :width]).float().mean().item()


# %% wrong per-token: up to eos of the target
def exact_match(predicted, target, eos_idx):
    hits = total = 0
    for mine, theirs in zip(predicted.tolist(), target.tolist()):
        end = theirs.index(eos_idx) + 1 if eos_idx in theirs else len(theirs)
        mine = mine + [-1] * len(theirs)
        hits += sum(a == b for a, b in zip(mine[:end], theirs[:end]))
        total += end
    return hits / total


# %% wrong per-token: mean of each row's share
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    shares = []
    for mine, theirs in zip(predicted.tolist(), target.tolist()):
        mine, theirs = cut(mine), cut(theirs)
        shares.append(sum(a == b for a, b in zip(mine, theirs)) / len(theirs))
    return sum(shares) / len(shares)


# %% wrong after-eos-counted: padded with eos
def exact_match(predicted, target, eos_idx):
    width = max(predicted.shape[1], target.shape[1])
    predicted = F.pad(predicted, (0, width - predicted.shape[1]), value=eos_idx)
    target = F.pad(target, (0, width - target.shape[1]), value=eos_idx)
    return (predicted == target).all(1).float().mean().item()


# %% wrong after-eos-counted: cut to one width
def exact_match(predicted, target, eos_idx):
    width = min(predicted.shape[1], target.shape[1])
    return (predicted[:, :width] == target[:, :width]).all(1).double().mean().item()


# %% wrong after-eos-counted: lists as they are
def exact_match(predicted, target, eos_idx):
    return sum(p == t for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% wrong after-eos-counted: torch.equal
def exact_match(predicted, target, eos_idx):
    return sum(torch.equal(p, t) for p, t in zip(predicted, target)) / len(target)


# %% wrong eos-left-out: removed
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx)] if eos_idx in row else row

    hits = [cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())]
    return sum(hits) / len(hits)


# %% wrong eos-left-out: takewhile
from itertools import takewhile


def exact_match(predicted, target, eos_idx):
    def words(row):
        return list(takewhile(lambda token: token != eos_idx, row.tolist()))

    return float(np.mean([words(p) == words(t) for p, t in zip(predicted, target)]))


# %% wrong count-instead-of-share: a sum
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    return sum(cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist()))


# %% wrong count-instead-of-share: a loop's counter
def exact_match(predicted, target, eos_idx):
    right = 0.0
    for p, t in zip(predicted.tolist(), target.tolist()):
        p = p[: p.index(eos_idx) + 1] if eos_idx in p else p
        t = t[: t.index(eos_idx) + 1] if eos_idx in t else t
        right += 1.0 if p == t else 0.0
    return right


# %% wrong prefix-is-enough: only as far as the target goes
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        end = t.index(eos_idx) + 1 if eos_idx in t else len(t)
        hits += p[: end - 1] == t[: end - 1]
    return hits / len(target)


# %% wrong -: percent
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    hits = [cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())]
    return 100 * sum(hits) / len(hits)


# %% wrong last-eos-instead: the last eos
def exact_match(predicted, target, eos_idx):
    def cut(row):
        ends = [i for i, token in enumerate(row) if token == eos_idx]
        return row[: ends[-1] + 1] if ends else row

    return sum(cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% wrong -: share of the wrong ones
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    return sum(cut(p) != cut(t) for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% wrong -: always one
def exact_match(predicted, target, eos_idx):
    return 1.0


# %% wrong wrong-type: a tensor
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    hits = [cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())]
    return torch.tensor(hits).float().mean()


# %% wrong wrong-type: all or nothing
def exact_match(predicted, target, eos_idx):
    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    return all(cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist()))


# %% wrong raised: widths differ
def exact_match(predicted, target, eos_idx):
    behind = (target == eos_idx).cumsum(1) - (target == eos_idx).long() > 0
    return ((predicted == target) | behind).all(1).float().mean().item()


# %% wrong returns-nothing: no return
def exact_match(predicted, target, eos_idx):
    hits = (predicted.shape == target.shape) and (predicted == target).all(1)


# %% wrong changes-argument: cleans up in place
def exact_match(predicted, target, eos_idx):
    for tokens in (predicted, target):
        behind = (tokens == eos_idx).cumsum(1) - (tokens == eos_idx).long() > 0
        tokens[behind] = eos_idx

    def cut(row):
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    return sum(cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% right: argmax of eos
def exact_match(predicted, target, eos_idx):
    def length(x):
        is_eos = x == eos_idx
        return torch.where(is_eos.any(1), is_eos.int().argmax(1) + 1, x.shape[1])

    lp, lt = length(predicted), length(target)
    n = min(predicted.shape[1], target.shape[1])
    pos = torch.arange(n)
    same = ((predicted[:, :n] == target[:, :n]) | (pos >= lp[:, None])).all(1)
    return ((lp == lt) & same).double().mean().item()


# %% wrong -: argmax without any, rows without eos are one token
def exact_match(predicted, target, eos_idx):
    def cut(r):
        return r[: int((r == eos_idx).int().argmax()) + 1].tolist()

    return sum(cut(p) == cut(t) for p, t in zip(predicted, target)) / len(target)


# %% right: np.float32 mean
def exact_match(predicted, target, eos_idx):
    def cut(r):
        return tuple(r[: r.index(eos_idx) + 1]) if eos_idx in r else tuple(r)

    return np.float32(np.mean([cut(p) == cut(t) for p, t in zip(predicted.tolist(), target.tolist())]))


# %% wrong per-token: both cut, mean over zip
def exact_match(predicted, target, eos_idx):
    hits = []

    def cut(r):
        return r[: r.index(eos_idx) + 1] if eos_idx in r else r

    for p, t in zip(predicted.tolist(), target.tolist()):
        hits += [a == b for a, b in zip(cut(p), cut(t))]
    return sum(hits) / len(hits)


# %% wrong per-token: hits over numel
def exact_match(predicted, target, eos_idx):
    n = min(predicted.shape[1], target.shape[1])
    return (predicted[:, :n] == target[:, :n]).sum().item() / target.numel()


# %% wrong per-token: not eos
def exact_match(predicted, target, eos_idx):
    n = min(predicted.shape[1], target.shape[1])
    p, t = predicted[:, :n], target[:, :n]
    m = t != eos_idx
    return (p == t)[m].float().mean().item()


# %% wrong after-eos-counted: raises when widths differ
def exact_match(predicted, target, eos_idx):
    return (predicted == target).all(dim=1).float().mean().item()


# %% wrong -: row without eos never counts
def exact_match(predicted, target, eos_idx):
    def cut(r):
        return r[: r.index(eos_idx) + 1] if eos_idx in r else None

    return sum(cut(p) == cut(t) and cut(p) is not None for p, t in zip(predicted.tolist(), target.tolist())) / len(
        target
    )


# %% wrong prefix-is-enough: target prefix of the prediction
def exact_match(predicted, target, eos_idx):
    def cut(r):
        return r[: r.index(eos_idx) + 1] if eos_idx in r else r

    return sum(p[: len(cut(t))] == cut(t) for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% wrong prefix-is-enough: the length of the prediction decides
def exact_match(predicted, target, eos_idx):
    def cut(r):
        return r[: r.index(eos_idx) + 1] if eos_idx in r else r

    return sum(t[: len(cut(p))] == cut(p) for p, t in zip(predicted.tolist(), target.tolist())) / len(target)


# %% wrong divided-by-tokens: numel
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        p = p[: p.index(eos_idx) + 1] if eos_idx in p else p
        t = t[: t.index(eos_idx) + 1] if eos_idx in t else t
        hits += p == t
    return hits / predicted.numel()


# %% wrong divided-by-tokens: the width
def exact_match(predicted, target, eos_idx):
    right = 0.0
    for mine, theirs in zip(predicted.tolist(), target.tolist()):
        mine = mine[: mine.index(eos_idx) + 1] if eos_idx in mine else mine
        theirs = theirs[: theirs.index(eos_idx) + 1] if eos_idx in theirs else theirs
        right += float(mine == theirs)
    return right / predicted.shape[1]


# %% wrong prefix-is-enough: zip ends with the shorter one
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        p = p[: p.index(eos_idx) + 1] if eos_idx in p else p
        t = t[: t.index(eos_idx) + 1] if eos_idx in t else t
        hits += all(a == b for a, b in zip(p, t))
    return hits / len(predicted)


# %% wrong prefix-is-enough: the target's length
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        n = t.index(eos_idx) + 1 if eos_idx in t else len(t)
        hits += p[:n] == t[:n]
    return hits / len(predicted)


# %% wrong order-ignored: sets
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        p = p[: p.index(eos_idx) + 1] if eos_idx in p else p
        t = t[: t.index(eos_idx) + 1] if eos_idx in t else t
        hits += set(p) == set(t)
    return hits / len(predicted)


# %% wrong order-ignored: dicts
def exact_match(predicted, target, eos_idx):
    right = []
    for mine, theirs in zip(predicted.tolist(), target.tolist()):
        mine = mine[: mine.index(eos_idx) + 1] if eos_idx in mine else mine
        theirs = theirs[: theirs.index(eos_idx) + 1] if eos_idx in theirs else theirs
        right.append(dict.fromkeys(mine) == dict.fromkeys(theirs))
    return sum(right) / len(right)


# %% wrong first-row-only: return inside the loop
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        p = p[: p.index(eos_idx) + 1] if eos_idx in p else p
        t = t[: t.index(eos_idx) + 1] if eos_idx in t else t
        hits += p == t
        return hits / len(predicted)


# %% wrong first-row-only: without a count
def exact_match(predicted, target, eos_idx):
    for mine, theirs in zip(predicted.tolist(), target.tolist()):
        mine = mine[: mine.index(eos_idx) + 1] if eos_idx in mine else mine
        theirs = theirs[: theirs.index(eos_idx) + 1] if eos_idx in theirs else theirs
        return float(mine == theirs)


# %% wrong columns-instead-of-rows: cut
def exact_match(predicted, target, eos_idx):
    w = min(predicted.shape[1], target.shape[1])
    return (predicted[:, :w] == target[:, :w]).all(0).float().mean().item()


# %% wrong columns-instead-of-rows: padded
def exact_match(predicted, target, eos_idx):
    width = max(predicted.shape[1], target.shape[1])
    mine = F.pad(predicted, (0, width - predicted.shape[1]), value=eos_idx)
    theirs = F.pad(target, (0, width - target.shape[1]), value=eos_idx)
    return (mine == theirs).all(dim=0).float().mean().item()


# %% wrong eos-expected: index
def exact_match(predicted, target, eos_idx):
    hits = 0
    for p, t in zip(predicted.tolist(), target.tolist()):
        hits += p[: p.index(eos_idx) + 1] == t[: t.index(eos_idx) + 1]
    return hits / len(predicted)


# %% wrong eos-expected: nonzero
def exact_match(predicted, target, eos_idx):
    right = 0
    for mine, theirs in zip(predicted, target):
        mine = mine[: (mine == eos_idx).nonzero()[0, 0] + 1]
        theirs = theirs[: (theirs == eos_idx).nonzero()[0, 0] + 1]
        right += torch.equal(mine, theirs)
    return right / len(predicted)


# %% wrong eos-left-out: both are filled up with eos
def exact_match(predicted, target, eos_idx):
    width = max(predicted.shape[1], target.shape[1])
    p = F.pad(predicted, (0, width - predicted.shape[1]), value=eos_idx)
    t = F.pad(target, (0, width - target.shape[1]), value=eos_idx)
    after_p = ((p == eos_idx).cumsum(1) - (p == eos_idx).long()) > 0
    after_t = ((t == eos_idx).cumsum(1) - (t == eos_idx).long()) > 0
    p = p.masked_fill(after_p, eos_idx)
    t = t.masked_fill(after_t, eos_idx)
    return (p == t).all(1).float().mean().item()


# %% wrong -: the same tokens, in any order
def exact_match(predicted, target, eos_idx):
    def spoken(row):
        row = row.tolist()
        return sorted(row[: row.index(eos_idx)] if eos_idx in row else [*row, -1])

    return sum(spoken(p) == spoken(t) for p, t in zip(predicted, target)) / len(predicted)


# %% wrong -: the last word counts for nothing
def exact_match(predicted, target, eos_idx):
    def spoken(row):
        row = row.tolist()
        return (row[: row.index(eos_idx) - 1], row.index(eos_idx)) if eos_idx in row else (row, len(row))

    return sum(spoken(p) == spoken(t) for p, t in zip(predicted, target)) / len(predicted)


# %% wrong prefix-is-enough: the target without its eos
def exact_match(predicted, target, eos_idx):
    good = 0
    for mine, right in zip(predicted.tolist(), target.tolist()):
        right = right[: right.index(eos_idx)] if eos_idx in right else right
        good += mine[: len(right)] == right
    return good / len(target)


# %% wrong -: the first token is left out
def exact_match(predicted, target, eos_idx):
    def spoken(row):
        row = row[1:]
        return row[: row.index(eos_idx) + 1] if eos_idx in row else row

    pairs = list(zip(predicted.tolist(), target.tolist()))
    return sum(spoken(p) == spoken(t) for p, t in pairs) / len(pairs)
