# %% prelude
import math

import torch
import torch.nn.functional as F
from torch import nn


# %% right: real labels only
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() * 0
    return F.cross_entropy(logits[real], labels[real])


# %% right: sum over count
def sequence_loss(logits, labels, pad_idx):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / (labels != pad_idx).sum().clamp(min=1)


# %% right: log_softmax and gather
def sequence_loss(logits, labels, pad_idx):
    log_probabilities = logits.log_softmax(dim=-1)
    picked = log_probabilities.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    mask = (labels != pad_idx).to(logits.dtype)
    return -(picked * mask).sum() / mask.sum().clamp(min=1.0)


# %% right: module and nan_to_num
def sequence_loss(logits, labels, pad_idx):
    criterion = nn.CrossEntropyLoss(ignore_index=pad_idx)
    return criterion(logits.transpose(1, 2), labels).nan_to_num(0.0)


# %% right: one-hot and logsumexp
def sequence_loss(logits, labels, pad_idx):
    right = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    losses = logits.logsumexp(-1) - (logits * right).sum(-1)
    losses = losses.masked_fill(labels == pad_idx, 0.0)
    count = int((labels != pad_idx).sum())
    return losses.sum() / max(count, 1)


# %% right: loops
def sequence_loss(logits, labels, pad_idx):
    losses = []
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] != pad_idx:
                losses.append(torch.logsumexp(logits[b, t], dim=0) - logits[b, t, labels[b, t]])
    return torch.stack(losses).mean() if losses else 0 * logits.mean()


# %% right: log_softmax before cross_entropy changes nothing
def sequence_loss(logits, labels, pad_idx):
    losses = F.cross_entropy(logits.log_softmax(-1).movedim(-1, 1), labels, ignore_index=pad_idx, reduction="none")
    count = torch.count_nonzero(labels - pad_idx)
    return losses.sum() / count if count > 0 else losses.sum()


# %% wrong softmax-before-the-logarithm: a small number added
def sequence_loss(logits, labels, pad_idx):
    picked = (logits.softmax(-1) + 1e-9).log().gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    real = labels != pad_idx
    return -(picked * real).sum() / real.sum().clamp(min=1)


# %% wrong softmax-before-the-logarithm: clamped
def sequence_loss(logits, labels, pad_idx):
    p = logits.softmax(dim=-1).clamp(min=1e-7)
    real = labels != pad_idx
    losses = F.nll_loss(p.log().flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)
    return (losses * real).sum() / real.sum().clamp(min=1)


# %% wrong zero-cut-from-logits: a new tensor
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return torch.tensor(0.0, dtype=logits.dtype)
    return F.cross_entropy(logits[real], labels[real])


# %% wrong zero-cut-from-logits: new_zeros
def sequence_loss(logits, labels, pad_idx):
    if (labels == pad_idx).all():
        return logits.new_zeros(())
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_idx)


# %% wrong padding-counted: all labels
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


# %% wrong padding-counted: in the divisor
def sequence_loss(logits, labels, pad_idx):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (losses * (labels != pad_idx)).mean()


# %% wrong padding-counted: by hand
def sequence_loss(logits, labels, pad_idx):
    return -logits.log_softmax(-1).gather(-1, labels[..., None]).mean()


# %% wrong padding-counted: sum over all positions
def sequence_loss(logits, labels, pad_idx):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / labels.numel()


# %% wrong mean-per-sequence: mean of means
def sequence_loss(logits, labels, pad_idx):
    mask = labels != pad_idx
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none") * mask
    return (losses.sum(1) / mask.sum(1).clamp(min=1)).mean()


# %% wrong mean-per-sequence: loop
def sequence_loss(logits, labels, pad_idx):
    means = []
    for one, wanted in zip(logits, labels):
        real = wanted != pad_idx
        if real.any():
            means.append(F.cross_entropy(one[real], wanted[real]))
    return sum(means) / len(means) if means else logits.new_zeros(())


# %% wrong mean-per-sequence: NaN for an empty one
def sequence_loss(logits, labels, pad_idx):
    return torch.stack([F.cross_entropy(a, b, ignore_index=pad_idx) for a, b in zip(logits, labels)]).mean()


# %% wrong divided-by-batch: sums
def sequence_loss(logits, labels, pad_idx):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / labels.shape[0]


# %% wrong softmax-applied-twice: before cross_entropy
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() * 0
    return F.cross_entropy(logits.softmax(-1)[real], labels[real])


# %% wrong softmax-applied-twice: module
def sequence_loss(logits, labels, pad_idx):
    probabilities = nn.Softmax(dim=-1)(logits)
    return nn.CrossEntropyLoss(ignore_index=pad_idx)(probabilities.transpose(1, 2), labels)


# %% wrong summed: of the real ones
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")


# %% wrong summed: by hand
def sequence_loss(logits, labels, pad_idx):
    picked = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
    return -(picked * (labels != pad_idx)).sum()


# %% wrong summed: all of them
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="sum")


# %% wrong pad-idx-ignored: zero
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)


# %% wrong pad-idx-ignored: non-zero labels
def sequence_loss(logits, labels, pad_idx):
    real = labels > 0
    return F.cross_entropy(logits[real], labels[real]) if real.any() else logits.sum() * 0


# %% wrong nan-when-all-padding: ignore_index alone
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


# %% wrong nan-when-all-padding: zero by zero
def sequence_loss(logits, labels, pad_idx):
    mask = (labels != pad_idx).float()
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (losses * mask).sum() / mask.sum()


# %% wrong log-forgotten: nll of probabilities
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    return F.nll_loss(logits[real].softmax(-1), labels[real])


# %% wrong log-forgotten: gathered
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    picked = logits.softmax(-1).gather(-1, labels[..., None])[..., 0]
    return -picked[real].mean()


# %% wrong reshaped-instead-of-transposed: reshape, without a guard
def sequence_loss(logits, labels, pad_idx):
    scores = logits.reshape(logits.shape[0], logits.shape[2], logits.shape[1])
    return F.cross_entropy(scores, labels, ignore_index=pad_idx)


# %% wrong sign-flipped: forgotten
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    return logits.log_softmax(-1)[real].gather(-1, labels[real][:, None]).mean()


# %% wrong -: label smoothing
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    return F.cross_entropy(logits[real], labels[real], label_smoothing=0.1)


# %% wrong -: padding logits removed instead
def sequence_loss(logits, labels, pad_idx):
    blocked = logits.clone()
    blocked[..., pad_idx] = -1e4
    return F.cross_entropy(blocked.flatten(0, 1), labels.flatten(), ignore_index=pad_idx).nan_to_num(0.0)


# %% wrong -: always zero
def sequence_loss(logits, labels, pad_idx):
    return logits.sum() * 0


# %% wrong -: the right exponential overflows
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() * 0
    exponentials = logits[real].exp()
    picked = exponentials.gather(-1, labels[real][:, None])[:, 0]
    return -(picked / exponentials.sum(-1)).log().mean()


# %% wrong not-finite: the sum of exponentials overflows
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() * 0
    exponentials = logits[real].exp()
    return (exponentials.sum(-1).log() - logits[real].gather(-1, labels[real][:, None])[:, 0]).mean()


# %% wrong wrong-type: a float
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    return F.cross_entropy(logits[real], labels[real]).item() if real.any() else 0.0


# %% wrong wrong-shape: a loss for each label
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_idx, reduction="none")


# %% wrong wrong-shape: one number in brackets
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    loss = F.cross_entropy(logits[real], labels[real]) if real.any() else logits.sum() * 0
    return loss.reshape(1)


# %% wrong gradient-cut: made anew
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    loss = F.cross_entropy(logits[real], labels[real]).item() if real.any() else 0.0
    return torch.tensor(loss, dtype=logits.dtype)


# %% wrong dtype-changed: float32 always
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    return F.cross_entropy(logits[real].float(), labels[real]) if real.any() else logits.sum() * 0


# %% wrong changes-argument: labels overwritten
def sequence_loss(logits, labels, pad_idx):
    count = (labels != pad_idx).sum().clamp(min=1)
    labels[labels == pad_idx] = -100
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / count


# %% wrong returns-nothing: printed
def sequence_loss(logits, labels, pad_idx):
    print(F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx))


# %% right: weights per class
def sequence_loss(logits, labels, pad_idx):
    w = torch.ones(logits.shape[-1], dtype=logits.dtype)
    w[pad_idx] = 0
    per = F.cross_entropy(logits.transpose(1, 2), labels.long(), weight=w, reduction="sum")
    return per / (labels != pad_idx).sum().clamp_min(1)


# %% wrong padding-counted: logits of pads zeroed
def sequence_loss(logits, labels, pad_idx):
    m = (labels != pad_idx)[..., None]
    return F.cross_entropy((logits * m).transpose(1, 2), labels.long())


# %% right: soft targets
def sequence_loss(logits, labels, pad_idx):
    m = labels != pad_idx
    hot = F.one_hot(labels, logits.size(-1)).to(logits.dtype) * m[..., None]
    return F.cross_entropy(logits.flatten(0, 1), hot.flatten(0, 1), reduction="sum") / m.sum().clamp(min=1)


# %% wrong mean-per-sequence: nanmean
def sequence_loss(logits, labels, pad_idx):
    return torch.stack([F.cross_entropy(l, y, ignore_index=pad_idx) for l, y in zip(logits, labels)]).nanmean()


# %% wrong softmax-applied-twice: padding counted too
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.softmax(-1).transpose(1, 2), labels)


# %% wrong summed: over batch, mean over time
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_idx, reduction="sum") / logits.shape[1]


# %% wrong padding-counted: sum of all over real count, unguarded
def sequence_loss(logits, labels, pad_idx):
    ce = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return ce.sum() / (labels != pad_idx).sum()


# %% wrong reshaped-instead-of-transposed: view
def sequence_loss(logits, labels, pad_idx):
    B, T, V = logits.shape
    if (labels == pad_idx).all():
        return logits.sum() * 0
    return F.cross_entropy(logits.view(B, V, T), labels, ignore_index=pad_idx)


# %% wrong reshaped-instead-of-transposed: reshape, NaN if all are padding
def sequence_loss(logits, labels, pad_idx):
    B, T, V = logits.shape
    return F.cross_entropy(logits.reshape(B, V, T), labels, ignore_index=pad_idx)


# %% wrong vocabulary-on-another-axis: logits as they are
def sequence_loss(logits, labels, pad_idx):
    return F.cross_entropy(logits, labels, ignore_index=pad_idx)


# %% wrong vocabulary-on-another-axis: the labels are not flattened
def sequence_loss(logits, labels, pad_idx):
    return nn.CrossEntropyLoss(ignore_index=pad_idx)(logits.flatten(0, 1), labels)


# %% wrong rows-mixed-up: logits by position
def sequence_loss(logits, labels, pad_idx):
    if (labels == pad_idx).all():
        return logits.sum() * 0
    return F.cross_entropy(logits.transpose(0, 1).flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


# %% wrong rows-mixed-up: labels by position
def sequence_loss(logits, labels, pad_idx):
    flat = labels.T.flatten()
    real = flat != pad_idx
    losses = F.cross_entropy(logits.flatten(0, 1), flat, reduction="none")
    return (losses * real).sum() / real.sum().clamp(min=1)


# %% wrong shifted-again: slices
def sequence_loss(logits, labels, pad_idx):
    logits, labels = logits[:, :-1], labels[:, 1:]
    if (labels == pad_idx).all():
        return logits.sum() * 0
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


# %% wrong shifted-again: by hand
def sequence_loss(logits, labels, pad_idx):
    guesses, next_labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    real = next_labels != pad_idx
    return (F.cross_entropy(guesses, next_labels, reduction="none") * real).sum() / real.sum().clamp(min=1)


# %% wrong only-padding-counted: the mask inverted
def sequence_loss(logits, labels, pad_idx):
    real = labels == pad_idx
    if not real.any():
        return logits.sum() * 0
    return F.cross_entropy(logits[real], labels[real])


# %% wrong only-padding-counted: as a factor
def sequence_loss(logits, labels, pad_idx):
    real = (labels == pad_idx).float()
    losses = F.cross_entropy(logits.mT, labels, reduction="none")
    return (losses * real).sum() / real.sum().clamp(min=1)


# %% wrong sign-flipped: gathered
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    lp = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
    return (lp * real).sum() / real.sum().clamp(min=1)


# %% wrong sign-flipped: picked
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() * 0
    probabilities = logits.log_softmax(-1)
    return probabilities[real, labels[real]].mean()


# %% wrong bits-instead-of-nats: log2
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    lp = logits.softmax(-1).log2().gather(-1, labels[..., None])[..., 0]
    return -(lp * real).sum() / real.sum().clamp(min=1)


# %% wrong bits-instead-of-nats: divided by log 2
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    nats = F.cross_entropy(logits.mT, labels, reduction="none") * real
    return nats.sum() / real.sum().clamp(min=1) / math.log(2)


# %% wrong softmax-over-positions: axis 1
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    lp = logits.log_softmax(1).gather(-1, labels[..., None])[..., 0]
    return -(lp * real).sum() / real.sum().clamp(min=1)


# %% wrong softmax-over-positions: over the batch
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    probabilities = F.softmax(logits, dim=0)
    right = probabilities.gather(2, labels.unsqueeze(2)).squeeze(2)
    return -(right.log() * real).sum() / real.sum().clamp(min=1)


# %% wrong softmax-forgotten: nll of logits
def sequence_loss(logits, labels, pad_idx):
    if (labels == pad_idx).all():
        return logits.sum() * 0
    return F.nll_loss(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx)


# %% wrong softmax-forgotten: gathered
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return (logits * 0).sum()
    return -logits[real].gather(1, labels[real][:, None]).mean()


# %% wrong divided-by-batch: reduction sum
def sequence_loss(logits, labels, pad_idx):
    return (
        F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum") / labels.shape[0]
    )


# %% wrong divided-by-batch: loop
def sequence_loss(logits, labels, pad_idx):
    total = 0 * logits.sum()
    for row, right in zip(logits, labels):
        real = right != pad_idx
        total = total + F.cross_entropy(row[real], right[real], reduction="sum")
    return total / len(logits)


# %% wrong softmax-before-the-logarithm: the logarithm of a softmax
def sequence_loss(logits, labels, pad_idx):
    log_probabilities = torch.log(torch.softmax(logits, -1))
    of_labels = log_probabilities.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    keep = labels != pad_idx
    return -of_labels[keep].sum() / keep.sum().clamp(min=1)


# %% wrong -: divides by two at least
def sequence_loss(logits, labels, pad_idx):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / (labels != pad_idx).sum().clamp(min=2)


# %% wrong wrong-gradient: the 0 of nothing but padding has a slope
def sequence_loss(logits, labels, pad_idx):
    real = labels != pad_idx
    if not real.any():
        return logits.sum() - logits.sum().detach()
    return F.cross_entropy(logits[real], labels[real])
