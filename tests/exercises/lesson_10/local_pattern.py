# %% prelude
import numpy as np
import torch
import torch.nn.functional as F


# %% right: distances, divided by the rows' sums
def local_pattern(seq_len, radius):
    positions = torch.arange(seq_len)
    near = ((positions[:, None] - positions[None, :]).abs() <= radius).float()
    return near / near.sum(dim=-1, keepdim=True)


# %% right: a loop over rows and slices
def local_pattern(seq_len: int, radius: int) -> torch.Tensor:
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        low, high = max(0, i - radius), min(seq_len, i + radius + 1)
        weights[i, low:high] = 1 / (high - low)
    return weights


# %% right: the seed's two loops, each row normalised after them
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(max(0, i - radius), min(seq_len, i + radius + 1)):
            weights[i, j] = 1.0
    for i in range(seq_len):
        weights[i] /= weights[i].sum()
    return weights


# %% right: a mask and a softmax
def local_pattern(seq_len, radius):
    band = torch.ones(seq_len, seq_len).triu(-radius).tril(radius).bool()
    return torch.zeros(seq_len, seq_len).masked_fill(~band, -torch.inf).softmax(dim=-1)


# %% right: lists, double precision inside
def local_pattern(seq_len, radius):
    rows = []
    for i in range(seq_len):
        row = [1.0 if abs(i - j) <= radius else 0.0 for j in range(seq_len)]
        rows.append([w / sum(row) for w in row])
    return torch.tensor(rows)


# %% right: L1 norm, NumPy on the way
def local_pattern(seq_len, radius):
    i = np.arange(seq_len)
    band = torch.from_numpy((np.abs(i - i[:, None]) <= radius).astype("float32"))
    return F.normalize(band, p=1, dim=-1)


# %% right: diagonals added up, counted in closed form
def local_pattern(seq_len, radius):
    band = sum(torch.diag(torch.ones(seq_len - abs(k)), k) for k in range(-radius, radius + 1) if abs(k) < seq_len)
    i = torch.arange(seq_len)
    count = torch.minimum(i, torch.tensor(radius)) + torch.minimum(seq_len - 1 - i, torch.tensor(radius)) + 1
    return band / count.unsqueeze(1)


# %% wrong edges-not-normalised: the same share everywhere
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(max(0, i - radius), min(seq_len, i + radius + 1)):
            weights[i, j] = 1 / (2 * radius + 1)
    return weights


# %% wrong edges-not-normalised: a band, divided by its width
def local_pattern(seq_len, radius):
    return torch.ones(seq_len, seq_len).triu(-radius).tril(radius) / (2 * radius + 1)


# %% wrong edges-not-normalised: a third, as it stands in the document
def local_pattern(seq_len, radius):
    return torch.ones(seq_len, seq_len).triu(-radius).tril(radius) / 3


# %% wrong not-normalised: ones
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    return ((i - i[:, None]).abs() <= radius).float()


# %% wrong wraps-around: remainders
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for k in range(-radius, radius + 1):
            weights[i, (i + k) % seq_len] = 1 / (2 * radius + 1)
    return weights


# %% wrong wraps-around: negative indices on one end, the other end cut, rows normalised
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for k in range(-radius, radius + 1):
            weights[i, (i + k) % seq_len] = 1
    return weights / weights.sum(-1, keepdim=True)


# %% wrong wraps-around: rolled
def local_pattern(seq_len, radius):
    return sum(torch.eye(seq_len).roll(k, dims=1) for k in range(-radius, radius + 1)) / (2 * radius + 1)


# %% wrong self-left-out: distance above zero
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    distance = (i - i[:, None]).abs()
    near = ((distance > 0) & (distance <= radius)).float()
    return near / near.sum(-1, keepdim=True).clamp(min=1)


# %% wrong self-left-out: not normalised at the edges either
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(max(0, i - radius), min(seq_len, i + radius + 1)):
            if i != j:
                weights[i, j] = 1 / (2 * radius)
    return weights


# %% wrong self-left-out: a band without its diagonal
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius).tril(radius) - torch.eye(seq_len)
    return near / near.sum(-1, keepdim=True)


# %% wrong columns-normalised: sum(0)
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius).tril(radius)
    return near / near.sum(0)


# %% wrong columns-normalised: keepdim forgotten, so that it broadcasts along the rows
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    near = ((i - i[:, None]).abs() <= radius).float()
    return near / near.sum(dim=-1)


# %% wrong one-side-only: looking back
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius).tril()
    return near / near.sum(-1, keepdim=True)


# %% wrong one-side-only: no absolute value
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    distance = i - i[:, None]
    near = ((distance >= 0) & (distance <= radius)).float()
    return near / near.sum(-1, keepdim=True)


# %% wrong one-neighbour-short: range ends before its end
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        weights[i, max(0, i - radius) : i + radius] = 1
        weights[i] /= max(weights[i].sum(), 1)
    return weights


# %% wrong one-neighbour-short: less than the radius
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    near = ((i - i[:, None]).abs() < radius).float()
    return near / near.sum(-1, keepdim=True).clamp(min=1)


# %% wrong nearer-counts-more: a triangle
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    near = (radius + 1 - (i - i[:, None]).abs()).clamp(min=0).float()
    return near / near.sum(-1, keepdim=True)


# %% wrong nearer-counts-more: softmax of the distance within the band
def local_pattern(seq_len, radius):
    i = torch.arange(seq_len)
    distance = (i - i[:, None]).abs()
    return (-distance.float()).masked_fill(distance > radius, -torch.inf).softmax(-1)


# %% wrong dtype-changed: NumPy's double precision
def local_pattern(seq_len, radius):
    i = np.arange(seq_len)
    near = (np.abs(i - i[:, None]) <= radius).astype(float)
    return torch.from_numpy(near / near.sum(-1, keepdims=True))


# %% wrong wrong-type: a NumPy array
def local_pattern(seq_len, radius):
    i = np.arange(seq_len)
    near = (np.abs(i - i[:, None]) <= radius).astype("float32")
    return near / near.sum(-1, keepdims=True)


# %% wrong returns-nothing: no return
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius).tril(radius)
    near / near.sum(-1, keepdim=True)


# %% wrong wrong-shape: a band in columns of its own
def local_pattern(seq_len, radius):
    return torch.full((seq_len, 2 * radius + 1), 1 / (2 * radius + 1))


# %% wrong raised: seq_len taken for a tensor
def local_pattern(seq_len, radius):
    return torch.eye(len(seq_len))


# %% wrong radius-ignored: neighbours left and right
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in (i - 1, i, i + 1):
            if 0 <= j < seq_len:
                weights[i, j] = 1
        weights[i] /= weights[i].sum()
    return weights


# %% wrong radius-ignored: always a band of three
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-1).tril(1)
    return near / near.sum(-1, keepdim=True)


# %% wrong -: uniform
def local_pattern(seq_len, radius):
    return torch.full((seq_len, seq_len), 1 / seq_len)


# %% wrong -: the diagonal gets what is missing at the edges
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius).tril(radius) / (2 * radius + 1)
    return near + torch.diag(1 - near.sum(-1))


# %% wrong one-neighbour-too-many: one radius too many
def local_pattern(seq_len, radius):
    near = torch.ones(seq_len, seq_len).triu(-radius - 1).tril(radius + 1)
    return near / near.sum(-1, keepdim=True)


# %% wrong not-normalised: a loop
def local_pattern(seq_len, radius):
    w = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(max(0, i - radius), min(i + radius + 1, seq_len)):
            w[i, j] = 1
    return w


# %% wrong not-normalised: True and False
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    return (p[:, None] - p).abs() <= radius


# %% wrong divided-by-another-number: the radius
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    return ((p[:, None] - p).abs() <= radius).float() / radius


# %% wrong divided-by-another-number: the sum of all
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = (places - places[:, None]).abs() <= radius
    return near / near.sum()


# %% wrong softmax-of-band: of ones and zeros
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    return ((p[:, None] - p).abs() <= radius).float().softmax(-1)


# %% wrong softmax-of-band: by a function
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = (places - places[:, None]).abs() <= radius
    return torch.softmax(near * 1.0, dim=1)


# %% wrong slice-from-the-end: then normalised
def local_pattern(seq_len, radius):
    w = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        w[i, i - radius : i + radius + 1] = 1
    return w / w.sum(-1, keepdim=True)


# %% wrong slice-from-the-end: the full share
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for row in range(seq_len):
        weights[row][row - radius : row + radius + 1] = 1 / (2 * radius + 1)
    return weights


# %% wrong edges-not-cut: both ends
def local_pattern(seq_len, radius):
    w = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(i - radius, i + radius + 1):
            w[i, j] = 1
    return w / w.sum(-1, keepdim=True)


# %% wrong edges-not-cut: the right end
def local_pattern(seq_len, radius):
    weights = torch.zeros(seq_len, seq_len)
    for row in range(seq_len):
        for column in range(max(0, row - radius), row + radius + 1):
            weights[row][column] = 1
    return weights / weights.sum(1, keepdim=True)


# %% wrong band-inverted: clamped
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    w = ((p[:, None] - p).abs() > radius).float()
    return w / w.sum(-1, keepdim=True).clamp(min=1)


# %% wrong band-inverted: greater than
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = (places - places[:, None]).abs() > radius
    return near / near.sum(-1, keepdim=True)


# %% wrong only-the-farthest: in one line
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    w = ((p[:, None] - p).abs() == radius).float()
    return w / w.sum(-1, keepdim=True)


# %% wrong only-the-farthest: equal
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = (places - places[:, None]).abs() == radius
    return near / near.sum(-1, keepdim=True)


# %% wrong band-open: tril
def local_pattern(seq_len, radius):
    w = torch.ones(seq_len, seq_len).tril(radius)
    return w / w.sum(-1, keepdim=True)


# %% wrong band-open: a sign forgotten
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = places - places[:, None] >= -radius
    return near / near.sum(-1, keepdim=True)


# %% wrong one-neighbour-too-many: radius + 1
def local_pattern(seq_len, radius):
    p = torch.arange(seq_len)
    w = ((p[:, None] - p).abs() <= radius + 1).float()
    return w / w.sum(-1, keepdim=True)


# %% wrong one-neighbour-too-many: radius + 2
def local_pattern(seq_len, radius):
    places = torch.arange(seq_len)
    near = (places - places[:, None]).abs() < radius + 2
    return near / near.sum(-1, keepdim=True)


# %% wrong wraps-around: negative indices
def local_pattern(seq_len, radius):
    w = torch.zeros(seq_len, seq_len)
    for i in range(seq_len):
        for j in range(i - radius, i + radius + 1):
            w[i, j % seq_len if j >= seq_len else j] = 1
    return w / w.sum(-1, keepdim=True)


# %% wrong -: a bell over the distance
def local_pattern(seq_len, radius):
    d = (torch.arange(seq_len)[:, None] - torch.arange(seq_len)).float()
    return (-((d / max(radius, 1e-9)) ** 2)).softmax(-1)


# %% wrong -: fails for a radius of twice the length
def local_pattern(seq_len, radius):
    if radius > 2 * seq_len:
        radius = 1
    positions = torch.arange(seq_len)
    near = ((positions[:, None] - positions).abs() <= radius).float()
    return near / near.sum(-1, keepdim=True)


# %% wrong -: a radius as long as the sequence is taken for one below it, less one
def local_pattern(seq_len, radius):
    if radius == seq_len:
        radius = seq_len - 2
    positions = torch.arange(seq_len)
    near = ((positions[:, None] - positions).abs() <= radius).float()
    return near / near.sum(-1, keepdim=True)


# %% wrong -: the radius stays two below the length
def local_pattern(seq_len, radius):
    radius = min(radius, max(seq_len - 2, 0))
    positions = torch.arange(seq_len)
    near = ((positions[:, None] - positions).abs() <= radius).float()
    return near / near.sum(-1, keepdim=True)
