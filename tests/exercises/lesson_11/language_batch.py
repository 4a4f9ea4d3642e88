# %% prelude
import torch


# %% right: a table of places
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places + 1]


# %% right: slices, stacked
def language_batch(ids, starts, block_size):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in starts])
    return inputs, labels


# %% right: one piece longer by one, cut in two
def language_batch(ids, starts, block_size):
    pieces = torch.stack([ids[int(s) : int(s) + block_size + 1] for s in starts])
    return pieces[:, :-1], pieces[:, 1:]


# %% right: windows
def language_batch(ids, starts, block_size):
    windows = ids.unfold(0, block_size + 1, 1)[starts]
    return [windows[:, :-1].clone(), windows[:, 1:].clone()]


# %% right: plain lists
def language_batch(ids, starts, block_size):
    text = ids.tolist()
    x = [text[s : s + block_size] for s in starts.tolist()]
    y = [[text[s + t + 1] for t in range(block_size)] for s in starts.tolist()]
    return torch.tensor(x), torch.tensor(y)


# %% right: filled in place
def language_batch(ids, starts, block_size):
    x = torch.empty(len(starts), block_size, dtype=ids.dtype)
    y = torch.empty_like(x)
    for row, s in enumerate(starts):
        x[row] = ids[s : s + block_size]
        y[row] = ids[s + 1 : s + block_size + 1]
    return x, y


# %% right: take
def language_batch(ids, starts, block_size):
    at = torch.arange(block_size).repeat(starts.numel(), 1) + starts.unsqueeze(1)
    return ids.take(at), torch.gather(ids, 0, (at + 1).flatten()).view_as(at)


# %% wrong labels-not-shifted: the inputs twice
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places].clone()


# %% wrong labels-not-shifted: both one further
def language_batch(ids, starts, block_size):
    pieces = torch.stack([ids[s + 1 : s + 1 + block_size] for s in starts])
    return pieces, pieces


# %% wrong shifted-backwards: exchanged
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places + 1], ids[places]


# %% wrong shifted-backwards: one before
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places - 1]


# %% wrong shifted-backwards: rolled
def language_batch(ids, starts, block_size):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    return x, x.roll(1, dims=1)


# %% wrong shifted-twice: two further
def language_batch(ids, starts, block_size):
    places = (starts[:, None] + torch.arange(block_size)).clamp(max=len(ids) - 3)
    return ids[places], ids[places + 2]


# %% wrong shifted-twice: slices
def language_batch(ids, starts, block_size):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + 2 : s + 2 + block_size] for s in starts])
    return x, y


# %% wrong runs-in-rows: from the beginning of the text
def language_batch(ids, starts, block_size):
    n = len(starts) * block_size
    return ids[:n].view(len(starts), block_size), ids[1 : n + 1].view(len(starts), block_size)


# %% wrong runs-in-rows: from the first start
def language_batch(ids, starts, block_size):
    run = ids[starts[0] : starts[0] + len(starts) * block_size + 1]
    return run[:-1].reshape(-1, block_size), run[1:].reshape(-1, block_size)


# %% wrong runs-in-rows: column by column
def language_batch(ids, starts, block_size):
    n = len(starts) * block_size
    return ids[:n].view(block_size, -1).T, ids[1 : n + 1].view(block_size, -1).T


# %% wrong starts-count-blocks: multiplied
def language_batch(ids, starts, block_size):
    places = starts[:, None] * block_size + torch.arange(block_size)
    return ids[places], ids[places + 1]


# %% wrong starts-count-blocks: rows of the text
def language_batch(ids, starts, block_size):
    rows = (len(ids) - 1) // block_size
    x = ids[: rows * block_size].view(rows, block_size)
    y = ids[1 : rows * block_size + 1].view(rows, block_size)
    return x[starts], y[starts]


# %% wrong labels-are-the-next-block: places
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places + block_size]


# %% wrong labels-are-the-next-block: slices
def language_batch(ids, starts, block_size):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + block_size : s + 2 * block_size] for s in starts])
    return x, y


# %% wrong labels-go-round: rolled
def language_batch(ids, starts, block_size):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    return x, torch.roll(x, -1, 1)


# %% wrong labels-go-round: put together
def language_batch(ids, starts, block_size):
    x = ids[starts.unsqueeze(1) + torch.arange(block_size)]
    return x, torch.cat([x[:, 1:], x[:, :1]], dim=1)


# %% wrong -: reversed
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places].flip(1), ids[places + 1].flip(1)


# %% wrong -: starts sorted
def language_batch(ids, starts, block_size):
    places = starts.sort().values[:, None] + torch.arange(block_size)
    return ids[places], ids[places + 1]


# %% wrong -: floats
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places].float(), ids[places + 1].float()


# %% wrong -: the last place left out
def language_batch(ids, starts, block_size):
    starts = starts.clamp(max=len(ids) - block_size - 2)
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places + 1]


# %% wrong wrong-shape: one label for each piece
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[starts + block_size]


# %% wrong wrong-type: inputs only
def language_batch(ids, starts, block_size):
    return ids[starts[:, None] + torch.arange(block_size)]


# %% wrong returns-nothing: no return
def language_batch(ids, starts, block_size):
    x = torch.stack([ids[s : s + block_size] for s in starts])


# %% wrong changes-argument: starts moved in place
def language_batch(ids, starts, block_size):
    places = starts[:, None] + torch.arange(block_size)
    pair = ids[places], ids[places + 1]
    starts += block_size
    return pair


# %% right: unfold
def language_batch(ids, starts, block_size):
    w = ids.unfold(0, block_size + 1, 1)[starts]
    return w[:, :-1], w[:, 1:]
