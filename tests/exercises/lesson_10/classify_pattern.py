# %% prelude
import math

import numpy as np
import torch


def band(n, radius, dtype=torch.float32):
    near = torch.ones(n, n, dtype=dtype).triu(-radius).tril(radius)
    return near / near.sum(-1, keepdim=True)


# %% right: compared with templates, entry by entry
def classify_pattern(weights):
    n = len(weights)
    templates = {
        "diagonal": [torch.eye(n)],
        "uniform": [torch.full((n, n), 1 / n)],
        "first": [torch.eye(n)[:1].expand(n, n)],
        "local": [band(n, 1), band(n, 2)],
    }
    for name, candidates in templates.items():
        if any((weights - one).abs().max() < 0.1 for one in candidates):
            return name
    return "other"


# %% right: the nearest template, unless that is far away (distance by rows)
def classify_pattern(weights: torch.Tensor) -> str:
    n = weights.shape[-1]
    first = torch.zeros(n, n)
    first[:, 0] = 1
    named = [("diagonal", torch.eye(n)), ("uniform", torch.ones(n, n) / n), ("first", first)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    distance, name = min(((weights - t).abs().sum(-1).mean().item(), name) for name, t in named)
    return name if distance < 0.2 else "other"


# %% right: thresholds on single numbers
def classify_pattern(weights):
    n = len(weights)
    if weights.diagonal().min() > 0.9:
        return "diagonal"
    if weights[:, 0].min() > 0.9:
        return "first"
    if weights.max() < 1.5 / n + 0.05 and weights.min() > 0.5 / n:
        return "uniform"
    for radius in (1, 2):
        inside = torch.ones(n, n).triu(-radius).tril(radius).bool()
        wanted = 1 / inside.sum(-1, keepdim=True)
        near = torch.where(inside, (weights - wanted).abs(), torch.zeros(n, n, dtype=weights.dtype))
        if near.max() < 0.08 and weights.masked_fill(inside, 0).sum(-1).max() < 0.1:
            return "local"
    return "other"


# %% right: Frobenius norm, relative, loops
def classify_pattern(weights):
    w = weights.detach().double().numpy()
    n = len(w)
    patterns = {"diagonal": np.eye(n), "uniform": np.ones((n, n)) / n, "first": np.eye(n)[[0] * n]}
    for name, p in patterns.items():
        if np.linalg.norm(w - p) <= 0.12 * np.linalg.norm(p) + 0.05:
            return name
    for radius in (1, 2):
        p = np.zeros((n, n))
        for i in range(n):
            low, high = max(0, i - radius), min(n, i + radius + 1)
            p[i, low:high] = 1 / (high - low)
        if np.linalg.norm(w - p) <= 0.15 * np.linalg.norm(p):
            return "local"
    return "other"


# %% right: torch.allclose with a tolerance
def classify_pattern(weights):
    n = weights.shape[0]

    def like(template):
        return torch.allclose(weights, template.to(weights.dtype), rtol=0, atol=0.07)

    if like(torch.eye(n)):
        return "diagonal"
    elif like(torch.full((n, n), 1 / n)):
        return "uniform"
    elif like(torch.nn.functional.one_hot(torch.zeros(n, dtype=torch.long), n)):
        return "first"
    elif like(band(n, 1)) or like(band(n, 2)):
        return "local"
    return "other"


# %% right: how much of the pattern is there (sum of the smaller entries)
def classify_pattern(weights):
    n = len(weights)

    def overlap(template):
        return torch.minimum(weights, template.to(weights)).sum().item() / n

    shares = {"uniform": overlap(torch.full((n, n), 1 / n)), "diagonal": overlap(torch.eye(n))}
    shares["first"] = overlap(torch.eye(n)[0].repeat(n, 1))
    shares["local"] = max(overlap(band(n, r)) for r in (1, 2))
    best = max(shares, key=shares.get)
    return best if shares[best] > 0.93 else "other"


# %% wrong spread-called-uniform: no large weight
def classify_pattern(weights):
    n = len(weights)
    weights = weights.float()
    if weights.diagonal().min() > 0.9:
        return "diagonal"
    if weights[:, 0].min() > 0.9:
        return "first"
    if any((weights - band(n, r)).abs().max() < 0.1 for r in (1, 2)):
        return "local"
    return "uniform" if weights.max() < 0.3 else "other"


# %% wrong argmax-only: the largest first, the others by distance
def classify_pattern(weights):
    n = len(weights)
    most = weights.argmax(-1)
    if torch.equal(most, torch.arange(n)) and not torch.allclose(weights.float(), band(n, 1), atol=0.1):
        return "diagonal"
    if bool((weights - 1 / n).abs().max() < 0.1):
        return "uniform"
    if not most.any():
        return "first"
    return "local" if any((weights - band(n, r)).abs().max() < 0.1 for r in (1, 2)) else "other"


# %% wrong spread-called-uniform: a tolerance of 0.2
def classify_pattern(weights):
    n = len(weights)
    weights = weights.float()
    first = torch.zeros(n, n)
    first[:, 0] = 1
    known = [("diagonal", torch.eye(n)), ("first", first), ("local", band(n, 1)), ("local", band(n, 2))]
    for name, pattern in [*known, ("uniform", torch.full((n, n), 1 / n))]:
        if torch.allclose(weights, pattern, atol=0.2):
            return name
    return "other"


# %% wrong argmax-only: the largest weight of each row
def classify_pattern(weights):
    n = len(weights)
    most = weights.argmax(dim=-1)
    if (weights.max(-1).values < 1.5 / n).all():
        return "uniform"
    if (most == 0).all():
        return "first"
    if (most == torch.arange(n)).all():
        return "diagonal"
    if any((weights - band(n, r)).abs().max() < 0.1 for r in (1, 2)):
        return "local"
    return "other"


# %% wrong argmax-only: argmax for everything
def classify_pattern(weights):
    n = len(weights)
    most = weights.argmax(dim=-1)
    if (most == torch.arange(n)).all():
        return "diagonal"
    if (most == 0).all():
        return "first"
    if ((most - torch.arange(n)).abs() <= 2).all():
        return "local"
    return "other"


# %% wrong argmax-only: a share of the rows
def classify_pattern(weights):
    n = len(weights)
    templates = [("uniform", torch.full((n, n), 1 / n)), ("local", band(n, 1)), ("local", band(n, 2))]
    for name, one in templates:
        if torch.allclose(weights.float(), one, rtol=0, atol=0.07):
            return name
    most = weights.argmax(-1)
    if (most == 0).float().mean() > 0.9:
        return "first"
    if (most == torch.arange(n)).float().mean() > 0.9:
        return "diagonal"
    return "other"


# %% wrong uniform-called-local: neighbours are as large as the diagonal
def classify_pattern(weights):
    n = len(weights)
    if weights.diagonal().min() > 0.9:
        return "diagonal"
    if weights[:, 0].min() > 0.9:
        return "first"
    near = torch.ones(n, n).triu(-1).tril(1).bool()
    if weights[near].std() < 0.1 and weights[near].min() > 0.05:
        return "local"
    if (weights - 1 / n).abs().max() < 0.05:
        return "uniform"
    return "other"


# %% wrong uniform-called-local: bands of every radius, the widest is uniform
def classify_pattern(weights):
    n = len(weights)
    first = torch.eye(n)[:1].expand(n, n)
    if (weights - torch.eye(n)).abs().max() < 0.1:
        return "diagonal"
    if (weights - first).abs().max() < 0.1:
        return "first"
    for radius in range(1, n):
        if (weights - band(n, radius)).abs().max() < 0.07:
            return "local"
    if (weights - 1 / n).abs().max() < 0.07:
        return "uniform"
    return "other"


# %% wrong uniform-called-local: the rows look alike inside
def classify_pattern(weights):
    n = len(weights)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[:, 0].mean() > 0.9:
        return "first"
    i = torch.arange(1, n - 1)
    spread = (weights[i, i] - weights[i, i + 1]).abs().max() + (weights[i, i] - weights[i, i - 1]).abs().max()
    return "local" if spread < 0.1 else "other"


# %% wrong exact-equality: torch.equal
def classify_pattern(weights):
    n = len(weights)
    weights = weights.float()
    if torch.equal(weights, torch.eye(n)):
        return "diagonal"
    if torch.equal(weights, torch.eye(n)[0].repeat(n, 1)):
        return "first"
    if torch.allclose(weights, torch.full((n, n), 1 / n)):
        return "uniform"
    if torch.allclose(weights, band(n, 1)) or torch.allclose(weights, band(n, 2)):
        return "local"
    return "other"


# %% wrong exact-equality: a tolerance for rounding errors only
def classify_pattern(weights):
    n = len(weights)
    named = {"diagonal": torch.eye(n), "first": torch.eye(n)[:1].expand(n, n), "uniform": torch.ones(n, n) / n}
    named |= {"local": band(n, 1), "local ": band(n, 2)}
    for name, one in named.items():
        if (weights - one).abs().max() < 1e-4:
            return name.strip()
    return "other"


# %% wrong one-radius-only: radius 1
def classify_pattern(weights):
    n = len(weights)
    named = {"diagonal": torch.eye(n), "first": torch.eye(n)[:1].expand(n, n), "uniform": torch.ones(n, n) / n}
    for name, one in (named | {"local": band(n, 1)}).items():
        if (weights - one).abs().max() < 0.08:
            return name
    return "other"


# %% wrong one-radius-only: radius 2
def classify_pattern(weights):
    n = len(weights)
    named = {"diagonal": torch.eye(n), "first": torch.eye(n)[:1].expand(n, n), "uniform": torch.ones(n, n) / n}
    for name, one in (named | {"local": band(n, 2)}).items():
        if (weights - one).abs().max() < 0.08:
            return name
    return "other"


# %% wrong never-other: the nearest
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    return min(named, key=lambda pair: (weights - pair[1]).norm().item())[0]


# %% wrong never-other: what is left is local
def classify_pattern(weights):
    n = len(weights)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[:, 0].mean() > 0.9:
        return "first"
    if (weights - 1 / n).abs().max() < 0.08:
        return "uniform"
    return "local"


# %% wrong any-radius: all bands up to half of the sequence
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, r)) for r in range(1, n // 2)]
    for name, one in named:
        if (weights - one).abs().max() < 0.06:
            return name
    return "other"


# %% wrong any-radius: radius 3 as well
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2)), ("local", band(n, 3))]
    return next((name for name, one in named if (weights - one).abs().sum(-1).mean() < 0.15), "other")


# %% wrong last-called-first: column -1
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[-1:].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    return next((name for name, one in named if (weights - one).abs().max() < 0.1), "other")


# %% wrong last-called-first: a threshold on the last column
def classify_pattern(weights):
    if weights[:, -1].min() > 0.9:
        return "first"
    n = len(weights)
    named = [
        ("diagonal", torch.eye(n)),
        ("uniform", torch.ones(n, n) / n),
        ("local", band(n, 1)),
        ("local", band(n, 2)),
    ]
    return next((name for name, one in named if (weights - one).abs().max() < 0.1), "other")


# %% wrong wrong-type: a place in a list
def classify_pattern(weights):
    return 0


# %% wrong wrong-type: other words
def classify_pattern(weights):
    return "Diagonal" if weights.diagonal().mean() > 0.9 else "none"


# %% wrong returns-nothing: prints
def classify_pattern(weights):
    print("diagonal" if weights.diagonal().mean() > 0.9 else "other")


# %% wrong changes-argument: subtracts in place
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    found = next((name for name, one in named if (weights - one).abs().max() < 0.1), "other")
    weights *= 0
    return found


# %% wrong raised: wants float32
def classify_pattern(weights):
    n = len(weights)
    named = [("diagonal", torch.eye(n)), ("first", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    return next((name for name, one in named if torch.allclose(weights, one, rtol=0, atol=0.1)), "other")


# %% wrong -: always other
def classify_pattern(weights):
    return "other"


# %% wrong -: always uniform
def classify_pattern(weights):
    return "uniform"


# %% wrong -: first and diagonal confused
def classify_pattern(weights):
    n = len(weights)
    named = [("first", torch.eye(n)), ("diagonal", torch.eye(n)[:1].expand(n, n)), ("uniform", torch.ones(n, n) / n)]
    named += [("local", band(n, 1)), ("local", band(n, 2))]
    return next((name for name, one in named if (weights - one).abs().max() < 0.1), "other")


# %% wrong band-alone: whatever its form
def classify_pattern(weights):
    n = len(weights)
    for name, one in (
        ("diagonal", torch.eye(n)),
        ("first", torch.eye(n)[:1].expand(n, n)),
        ("uniform", torch.ones(n, n) / n),
    ):
        if (weights - one).abs().max() < 0.1:
            return name
    inside = torch.ones(n, n).triu(-2).tril(2).bool()
    return "local" if weights[inside].sum() / n > 0.9 else "other"


# %% wrong first-row-instead: the mean of row 0
def classify_pattern(weights):
    T = len(weights)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[0].mean() > 0.9:
        return "first"
    if (weights - 1 / T).abs().max() < 0.05:
        return "uniform"
    p = torch.arange(T)
    for r in (1, 2):
        band = ((p[:, None] - p).abs() <= r).to(weights.dtype)
        band = band / band.sum(-1, keepdim=True)
        if (weights - band).abs().max() < 0.1:
            return "local"
    return "other"


# %% wrong edges-forgotten: divided by its width
def classify_pattern(weights):
    T = len(weights)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[:, 0].mean() > 0.9:
        return "first"
    if (weights - 1 / T).abs().max() < 0.05:
        return "uniform"
    p = torch.arange(T)
    for r in (1, 2):
        band = ((p[:, None] - p).abs() <= r).to(weights.dtype) / (2 * r + 1)
        if (weights - band).abs().max() < 0.1:
            return "local"
    return "other"


# %% wrong band-alone: the weight of the band
def classify_pattern(weights):
    T = len(weights)
    p = torch.arange(T)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[:, 0].mean() > 0.9:
        return "first"
    if (weights - 1 / T).abs().max() < 0.05:
        return "uniform"
    near = (p[:, None] - p).abs() <= 2
    if (weights * near).sum(-1).mean() > 0.9:
        return "local"
    return "other"


# %% wrong local-called-uniform: a wide tolerance
def classify_pattern(weights):
    T = len(weights)
    p = torch.arange(T)
    if weights.diagonal().mean() > 0.9:
        return "diagonal"
    if weights[:, 0].mean() > 0.9:
        return "first"
    if (weights - 1 / T).abs().max() < 0.3:
        return "uniform"
    for r in (1, 2):
        band = ((p[:, None] - p).abs() <= r).to(weights.dtype)
        band = band / band.sum(-1, keepdim=True)
        if (weights - band).abs().max() < 0.1:
            return "local"
    return "other"


# %% wrong first-row-instead: a row compared with one-hot
def classify_pattern(weights):
    size, places = len(weights), torch.arange(len(weights))
    spread = (weights - 1 / size).abs().max()
    if (weights.diagonal() > 0.9).all():
        return "diagonal"
    if (weights[0] > 0.9).all():
        return "first"
    if spread < 0.05:
        return "uniform"
    for radius in (1, 2):
        near = ((places - places[:, None]).abs() <= radius).to(weights.dtype)
        if (weights - near / near.sum(-1, keepdim=True)).abs().max() < 0.1:
            return "local"
    return "other"


# %% wrong edges-forgotten: the middle of each row is expected everywhere
def classify_pattern(weights):
    size, places = len(weights), torch.arange(len(weights))
    if (weights.diagonal() > 0.9).all():
        return "diagonal"
    if (weights[:, 0] > 0.9).all():
        return "first"
    if (weights - 1 / size).abs().max() < 0.05:
        return "uniform"
    for share in (1 / 3, 1 / 5):
        near = (places - places[:, None]).abs() <= round((1 / share - 1) / 2)
        if (weights[near] - share).abs().max() < 0.07:
            return "local"
    return "other"


# %% wrong band-alone: a share of the weight
def classify_pattern(weights):
    size, places = len(weights), torch.arange(len(weights))
    distance = (places - places[:, None]).abs()
    if (weights.diagonal() > 0.9).all():
        return "diagonal"
    if (weights[:, 0] > 0.9).all():
        return "first"
    if (weights - 1 / size).abs().max() < 0.05:
        return "uniform"
    inside = weights.masked_fill(distance > 2, 0).sum(-1)
    return "local" if (inside > 0.9).all() else "other"


# %% wrong local-called-uniform: the spread of a row
def classify_pattern(weights):
    size, places = len(weights), torch.arange(len(weights))
    if (weights.diagonal() > 0.9).all():
        return "diagonal"
    if (weights[:, 0] > 0.9).all():
        return "first"
    if weights.std() < 0.2:
        return "uniform"
    near = ((places - places[:, None]).abs() <= 1).to(weights.dtype)
    return "local" if (weights - near / near.sum(-1, keepdim=True)).abs().max() < 0.1 else "other"


# %% wrong tolerance-too-wide: a mean over all entries
def classify_pattern(weights):
    n = len(weights)
    known = [("diagonal", band(n, 0)), ("uniform", band(n, n)), ("local", band(n, 1)), ("local", band(n, 2))]
    for name, pattern in known:
        if (weights - pattern).abs().mean() < 0.2:
            return name
    return "first" if weights[:, 0].mean() > 0.9 else "other"


# %% wrong tolerance-too-wide: differences with their signs
def classify_pattern(weights):
    n = len(weights)
    first = torch.zeros(n, n)
    first[:, 0] = 1
    known = {"diagonal": torch.eye(n), "first": first, "uniform": torch.ones(n, n) / n, "local": band(n, 1)}
    for name, pattern in known.items():
        if (weights - pattern).max() < 0.3 or (weights - pattern).mean() < 0.01:
            return name
    return "other"


# %% right: the nearest band
def classify_pattern(weights):
    T = len(weights)
    i = torch.arange(T)
    d = (i[:, None] - i).abs()
    bands = {"diagonal": d == 0, "uniform": d >= 0, "first": (i == 0).expand(T, T), "local": d <= 1, "local ": d <= 2}
    scores = {n: float((weights - b / b.sum(-1, keepdim=True)).abs().sum() / T) for n, b in bands.items()}
    name = min(scores, key=scores.get)
    return name.strip() if scores[name] < 0.2 else "other"
