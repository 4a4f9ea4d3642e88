# %% prelude
import torch


# %% right: slices
def shift_target(trg):
    return trg[:, :-1], trg[:, 1:]


# %% right: a list of copies
def shift_target(trg):
    return [trg[:, :-1].clone(), trg[:, 1:].contiguous()]


# %% right: narrow
def shift_target(trg):
    length = trg.size(1) - 1
    return trg.narrow(1, 0, length), trg.narrow(1, 1, length)


# %% right: row by row
def shift_target(trg):
    given, wanted = [], []
    for row in trg.tolist():
        given.append(row[:-1])
        wanted.append(row[1:])
    return torch.tensor(given), torch.tensor(wanted)


# %% right: windows of two
def shift_target(trg):
    pairs = trg.unfold(1, 2, 1)
    return pairs[..., 0], pairs[..., 1]


# %% right: split and roll
def shift_target(trg):
    ahead = torch.roll(trg, shifts=-1, dims=1)
    return torch.split(trg, [trg.shape[1] - 1, 1], dim=1)[0], ahead[:, :-1]


# %% right: index_select
def shift_target(trg):
    columns = torch.arange(trg.shape[-1] - 1)
    return trg.index_select(1, columns), trg.index_select(1, columns + 1)


# %% wrong not-shifted: the input twice
def shift_target(trg):
    return trg[:, :-1], trg[:, :-1]


# %% wrong not-shifted: the labels twice
def shift_target(trg):
    return trg[:, 1:], trg[:, 1:]


# %% wrong not-shifted: everything
def shift_target(trg):
    return trg, trg.clone()


# %% wrong not-shifted: one longer
def shift_target(trg):
    return trg[:, :-1], trg


# %% wrong shifted-backwards: swapped
def shift_target(trg):
    return trg[:, 1:], trg[:, :-1]


# %% wrong shifted-backwards: names confused
def shift_target(trg):
    labels = trg[:, :-1]
    decoder_input = trg[:, 1:]
    return decoder_input, labels


# %% wrong shifted-backwards: loop
def shift_target(trg):
    steps = range(1, trg.shape[1])
    return torch.stack([trg[:, t] for t in steps], 1), torch.stack([trg[:, t - 1] for t in steps], 1)


# %% wrong shifted-twice: both shorter
def shift_target(trg):
    return trg[:, :-2], trg[:, 2:]


# %% wrong shifted-twice: labels shorter
def shift_target(trg):
    return trg[:, :-1], trg[:, 2:]


# %% wrong shifted-twice: filled up
def shift_target(trg):
    labels = torch.cat([trg[:, 2:], torch.zeros_like(trg[:, :1])], dim=1)
    return trg[:, :-1], labels


# %% wrong shifted-twice: shifted, then rolled
def shift_target(trg):
    labels = trg[:, 1:]
    return trg[:, :-1], labels.roll(-1, dims=1)


# %% wrong shifted-along-batch: slices
def shift_target(trg):
    return trg[:-1], trg[1:]


# %% wrong shifted-along-batch: negative axis forgotten
def shift_target(trg):
    n = len(trg) - 1
    return trg.narrow(0, 0, n), trg.narrow(0, 1, n)


# %% wrong wrong-number-of-columns: both ends cut off the labels
def shift_target(trg):
    return trg[:, :-1], trg[:, 1:-1]


# %% wrong -: sorted
def shift_target(trg):
    return trg[:, :-1], trg[:, 1:].sort(dim=1).values


# %% wrong -: floats
def shift_target(trg):
    return trg[:, :-1].float(), trg[:, 1:].float()


# %% wrong -: reversed
def shift_target(trg):
    return trg[:, :-1], trg.flip(1)[:, 1:]


# %% wrong wrong-number-of-columns: labels as wide as the target
def shift_target(trg):
    return trg[:, :-1], torch.roll(trg, -1, dims=1)


# %% wrong returns-nothing: no return
def shift_target(trg):
    decoder_input, labels = trg[:, :-1], trg[:, 1:]


# %% wrong wrong-type: one tensor
def shift_target(trg):
    return torch.stack([trg[:, :-1], trg[:, 1:]])


# %% wrong changes-argument: padding at the end
def shift_target(trg):
    decoder_input = trg[:, :-1].clone()
    labels = trg[:, 1:].clone()
    trg[:, -1] = 0
    return decoder_input, labels


# %% wrong raised: not a tensor's
def shift_target(trg):
    return trg.slice(0, -1), trg.slice(1)


# %% wrong not-shifted: labels whole
def shift_target(trg):
    return trg[:, :-1], trg


# %% wrong removed-by-value: masks, as wide as the batch
def shift_target(trg):
    B = trg.shape[0]
    return trg[trg != 2].view(B, -1), trg[trg != 1].view(B, -1)


# %% wrong removed-by-value: row by row
def shift_target(trg):
    keep = trg != 2
    drop = trg != 1
    return torch.stack([row[k] for row, k in zip(trg, keep)]), torch.stack([row[d] for row, d in zip(trg, drop)])


# %% wrong wrong-number-of-columns: the labels rolled
def shift_target(trg):
    return trg, trg.roll(-1, 1)


# %% wrong wrong-number-of-columns: the decoder input whole
def shift_target(trg):
    return trg, trg[:, 1:]


# %% wrong wrong-number-of-columns: bos cut off both
def shift_target(trg):
    return trg[:, 1:-1], trg[:, 2:]


# %% wrong shifted-backwards: rolled the other way
def shift_target(trg):
    return trg[:, :-1], trg.roll(1, 1)[:, :-1]
