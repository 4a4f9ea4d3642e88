# %% prelude
import math

import torch
import torch.nn.functional as F


# %% right: bincount of pairs
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    p = counts.view(vocab_size, vocab_size) + 1.0
    p = p / p.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% right: a loop over pairs, float64
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size, dtype=torch.float64)
    for a, b in zip(train_ids[:-1], train_ids[1:]):
        counts[a, b] += 1
    total = 0.0
    for a, b in zip(test_ids[:-1], test_ids[1:]):
        total -= math.log(counts[a, b] / counts[a].sum())
    return total / (len(test_ids) - 1)


# %% right: index_put_ and cross-entropy
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    return F.cross_entropy(counts.log()[test_ids[:-1]], test_ids[1:]).item()


# %% right: dicts
def bigram_loss(train_ids, test_ids, vocab_size):
    train, test = train_ids.tolist(), test_ids.tolist()
    pairs, firsts = {}, {}
    for a, b in zip(train, train[1:]):
        pairs[a, b] = pairs.get((a, b), 0) + 1
        firsts[a] = firsts.get(a, 0) + 1
    losses = [-math.log((pairs.get((a, b), 0) + 1) / (firsts.get(a, 0) + vocab_size)) for a, b in zip(test, test[1:])]
    return sum(losses) / len(losses)


# %% right: one-hot matrices
def bigram_loss(train_ids, test_ids, vocab_size):
    one = F.one_hot(train_ids, vocab_size).double()
    table = one[:-1].T @ one[1:] + 1
    log_p = table.log() - table.sum(-1, keepdim=True).log()
    return float(F.nll_loss(log_p[test_ids[:-1]], test_ids[1:]))


# %% right: NumPy
def bigram_loss(train_ids, test_ids, vocab_size):
    import numpy as np

    train, test = train_ids.numpy(), test_ids.numpy()
    counts = np.ones((vocab_size, vocab_size))
    np.add.at(counts, (train[:-1], train[1:]), 1)
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    return -np.log(probabilities[test[:-1], test[1:]]).mean()


# %% wrong test-pair-lost: the last one
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-2], test_ids[1:-1]].log().mean().item()


# %% wrong test-pair-lost: a loop from one
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for a, b in zip(train_ids, train_ids[1:]):
        counts[a, b] += 1
    p = counts / counts.sum(1, keepdim=True)
    losses = [-p[test_ids[i], test_ids[i + 1]].log() for i in range(1, len(test_ids) - 1)]
    return torch.tensor(losses).mean().item()


# %% wrong unigram-instead: smoothed
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids, minlength=vocab_size) + 1
    return -(counts / counts.sum())[test_ids[1:]].log().mean().item()


# %% wrong unigram-instead: the first token counted too
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size)
    for token in train_ids:
        counts[token] += 1
    return -torch.log(counts[test_ids] / counts.sum()).mean().item()


# %% wrong unigram-instead: without smoothing
def bigram_loss(train_ids, test_ids, vocab_size):
    p = torch.bincount(train_ids, minlength=vocab_size) / len(train_ids)
    return -p[test_ids[1:]].log().mean().item()


# %% wrong no-smoothing: counts alone
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong no-smoothing: something tiny
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    p = counts.view(vocab_size, -1).double() + 1e-10
    p = p / p.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong no-smoothing: dicts
def bigram_loss(train_ids, test_ids, vocab_size):
    train, test = train_ids.tolist(), test_ids.tolist()
    pairs = list(zip(train, train[1:]))
    total = 0.0
    for a, b in zip(test, test[1:]):
        count = pairs.count((a, b))
        total += math.inf if count == 0 else -math.log(count / train[:-1].count(a))
    return total / (len(test) - 1)


# %% wrong columns-normalised: axis 0
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(0, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong columns-normalised: sums without keepdim
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    counts = counts.view(vocab_size, vocab_size) + 1
    p = counts / counts.sum(dim=0)
    return -torch.log(p[test_ids[:-1], test_ids[1:]]).mean().item()


# %% wrong pairs-swapped: looked up the other way
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[1:], train_ids[:-1]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong pairs-swapped: counted the other way
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[1:] * vocab_size + train_ids[:-1], minlength=vocab_size**2)
    log_p = (counts.view(vocab_size, vocab_size) + 1).double().log()
    log_p = log_p - log_p.logsumexp(1, keepdim=True)
    return -log_p[test_ids[:-1], test_ids[1:]].mean().item()


# %% wrong joint-probability: the total
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum()
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong joint-probability: softmax over everything
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size, dtype=torch.float64)
    for a, b in zip(train_ids[:-1], train_ids[1:]):
        counts[a, b] += 1
    p = counts.log().flatten().softmax(0).view_as(counts)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong base-two: log2
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log2().mean().item()


# %% wrong base-two: math.log(…, 2)
def bigram_loss(train_ids, test_ids, vocab_size):
    train, test = train_ids.tolist(), test_ids.tolist()
    pairs = list(zip(train, train[1:]))
    losses = [
        -math.log((pairs.count((a, b)) + 1) / (train[:-1].count(a) + vocab_size), 2) for a, b in zip(test, test[1:])
    ]
    return sum(losses) / len(losses)


# %% wrong base-two: log10
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log10().mean().item()


# %% wrong smoothed-above-only: the sum without
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = (counts + 1) / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong smoothed-above-only: one for the whole row
def bigram_loss(train_ids, test_ids, vocab_size):
    train, test = train_ids.tolist(), test_ids.tolist()
    pairs = list(zip(train, train[1:]))
    losses = [-math.log((pairs.count((a, b)) + 1) / (train[:-1].count(a) + 1)) for a, b in zip(test, test[1:])]
    return sum(losses) / len(losses)


# %% wrong one-only-for-unseen: clamp
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    counts = counts.clamp(min=1)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong one-only-for-unseen: where
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    counts = counts.view(vocab_size, vocab_size)
    counts[counts == 0] = 1
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong repeated-pairs-lost: += with tensors
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts[train_ids[:-1], train_ids[1:]] += 1
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong repeated-pairs-lost: a set
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for a, b in set(zip(train_ids[:-1].tolist(), train_ids[1:].tolist())):
        counts[a, b] += 1
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong counted-on-the-test: test twice
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((test_ids[:-1], test_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong counted-on-the-test: bincount
def bigram_loss(train_ids, test_ids, vocab_size):
    first, second = test_ids[:-1], test_ids[1:]
    counts = torch.bincount(first * vocab_size + second, minlength=vocab_size**2).view(vocab_size, -1) + 1
    return F.cross_entropy(counts.double().log()[first], second).item()


# %% wrong mean-of-probabilities: log of the mean
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].mean().log().item()


# %% wrong mean-of-probabilities: no logarithm
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    p = counts.view(vocab_size, vocab_size) + 1.0
    p = p / p.sum(1, keepdim=True)
    return p[test_ids[:-1], test_ids[1:]].mean().item()


# %% wrong first-token-counted: the length of the text
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().sum().item() / len(test_ids)


# %% wrong first-token-counted: a loop
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for a, b in zip(train_ids[:-1], train_ids[1:]):
        counts[a, b] += 1
    losses = [0.0]
    for a, b in zip(test_ids[:-1], test_ids[1:]):
        losses.append(-math.log(counts[a, b] / counts[a].sum()))
    return sum(losses) / len(losses)


# %% wrong summed: sum
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().sum().item()


# %% wrong summed: reduction
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    logits = (counts.view(vocab_size, -1) + 1).double().log()
    return F.cross_entropy(logits[test_ids[:-1]], test_ids[1:], reduction="sum").item()


# %% wrong sign-forgotten: the mean of the logarithms
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong sign-forgotten: a loop
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for a, b in zip(train_ids[:-1], train_ids[1:]):
        counts[a, b] += 1
    logs = [math.log(counts[a, b] / counts[a].sum()) for a, b in zip(test_ids[:-1], test_ids[1:])]
    return sum(logs) / len(logs)


# %% wrong perplexity: exp
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return (-p[test_ids[:-1], test_ids[1:]].log().mean()).exp().item()


# %% wrong perplexity: math.exp
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    logits = (counts.view(vocab_size, -1) + 1).double().log()
    return math.exp(F.cross_entropy(logits[test_ids[:-1]], test_ids[1:]))


# %% wrong -: two added
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.full((vocab_size, vocab_size), 2.0)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong -: the last pair of the training text left out
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-2], train_ids[1:-1]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong -: pairs two apart
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-2], train_ids[2:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong wrong-type: a tensor
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = counts / counts.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean()


# %% wrong returns-nothing: no return
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)


# %% wrong sums-along-a-row: the sums without keepdim
def bigram_loss(train_ids, test_ids, vocab_size):
    c = torch.ones(vocab_size, vocab_size)
    c.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = c / c.sum(1)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong sums-along-a-row: a loop that divides columns
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for first, second in zip(train_ids.tolist(), train_ids[1:].tolist(), strict=False):
        counts[first, second] += 1
    table = counts.clone()
    for token in range(vocab_size):
        table[:, token] /= counts[token].sum()
    return -table[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong vocabulary-from-the-texts: one more than the largest id
def bigram_loss(train_ids, test_ids, vocab_size):
    v = int(max(train_ids.max(), test_ids.max())) + 1
    c = torch.ones(v, v)
    c.index_put_((train_ids[:-1], train_ids[1:]), torch.tensor(1.0), accumulate=True)
    p = c / c.sum(1, keepdim=True)
    return -p[test_ids[:-1], test_ids[1:]].log().mean().item()


# %% wrong vocabulary-from-the-texts: a Counter of both texts
def bigram_loss(train_ids, test_ids, vocab_size):
    train, test = train_ids.tolist(), test_ids.tolist()
    size = max(train + test) + 1
    pairs, total = {}, {}
    for first, second in zip(train[:-1], train[1:], strict=True):
        pairs[first, second] = pairs.get((first, second), 0) + 1
        total[first] = total.get(first, 0) + 1
    losses = [
        math.log((total.get(a, 0) + size) / (pairs.get((a, b), 0) + 1))
        for a, b in zip(test[:-1], test[1:], strict=True)
    ]
    return sum(losses) / len(losses)


# %% wrong smoothed-above-only: a sum of 0 becomes 1
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    counts = counts.view(vocab_size, vocab_size).float()
    logs = (counts + 1).log() - counts.sum(1, keepdim=True).clamp(min=1).log()
    return -logs[test_ids[:-1], test_ids[1:]].mean().item()


# %% right: bincount
def bigram_loss(train_ids, test_ids, vocab_size):
    V = vocab_size
    n = torch.bincount(train_ids[:-1] * V + train_ids[1:], minlength=V * V).view(V, V) + 1.0
    logp = n.log() - n.sum(1, keepdim=True).log()
    return -logp[test_ids[:-1], test_ids[1:]].mean().item()


# %% wrong evaluated-on-train: the wrong text in the last line
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.bincount(train_ids[:-1] * vocab_size + train_ids[1:], minlength=vocab_size**2)
    p = counts.view(vocab_size, vocab_size) + 1.0
    p = p / p.sum(1, keepdim=True)
    return -p[train_ids[:-1], train_ids[1:]].log().mean().item()


# %% wrong evaluated-on-train: in a loop
def bigram_loss(train_ids, test_ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size, dtype=torch.float64)
    pairs = list(zip(train_ids[:-1], train_ids[1:]))
    for a, b in pairs:
        counts[a, b] += 1
    return sum(math.log(counts[a].sum() / counts[a, b]) for a, b in pairs) / len(pairs)
