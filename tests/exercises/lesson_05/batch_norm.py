# %% right: mean and var over the batch
def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=0)
    var = x.var(dim=0, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


# %% right: by hand, with products
def batch_norm(x, gamma, beta, eps=1e-5):
    rows = x.shape[0]
    ones = torch.ones(1, rows, dtype=x.dtype)
    centred = x - ones @ x / rows
    var = ones @ centred**2 / rows
    return centred * (gamma * (var + eps).rsqrt()) + beta


# %% right: column by column
def batch_norm(x, gamma, beta, eps=1e-5):
    columns = []
    for i in range(x.shape[1]):
        column = x[:, i]
        centred = column - column.mean()
        columns.append(centred / (centred.pow(2).mean() + eps).sqrt() * gamma[i] + beta[i])
    return torch.stack(columns, dim=1)


# %% right: turned round, normalised by rows, turned back
def batch_norm(x, gamma, beta, eps=1e-5):
    y = x.T
    var, mean = torch.var_mean(y, 1, unbiased=False, keepdim=True)
    return ((y - mean) / (var + eps) ** 0.5).T * gamma.view(1, -1) + beta.view(1, -1)


# %% right: float64 inside
def batch_norm(x, gamma, beta, eps=1e-5):
    wide = x.double()
    y = (wide - wide.mean(0, keepdim=True)) / (wide.var(0, unbiased=False, keepdim=True) + eps).sqrt()
    return (y * gamma + beta).to(x.dtype)


# %% wrong wrong-axis: rows with keepdim
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(1, correction=0, keepdim=True) + eps) * gamma + beta


# %% wrong wrong-axis: rows without keepdim, which runs on a square batch only
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps) * gamma + beta


# %% wrong wrong-axis: rows, std as it comes
def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


# %% wrong unbiased-variance: var as it comes
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0) + eps) * gamma + beta


# %% wrong unbiased-variance: std as it comes
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / (x.std(0) + eps) * gamma + beta


# %% wrong unbiased-variance: n - 1 by hand
def batch_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(0)
    return y / ((y**2).sum(0) / (len(x) - 1) + eps).sqrt() * gamma + beta


# %% wrong eps-outside-root: biased std plus eps
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / (x.std(0, unbiased=False) + eps) * gamma + beta


# %% wrong eps-outside-root: 1e-7 beside it
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / (x.std(0, correction=0) + 1e-7) * gamma + beta


# %% wrong eps-outside-root: root by hand
def batch_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(0, keepdim=True)
    return y / (y.square().mean(0, keepdim=True) ** 0.5 + eps) * gamma + beta


# %% wrong no-affine: neither
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps)


# %% wrong no-affine: gamma forgotten
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) + beta


# %% wrong no-affine: beta forgotten, unbiased
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) * torch.rsqrt(x.var(0) + eps) * gamma


# %% wrong over-whole-tensor: told no axis
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * gamma + beta


# %% wrong over-whole-tensor: told no axis, std
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean()) / (x.std() + eps) * gamma + beta


# %% wrong divides-by-variance: variance plus eps
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / (x.var(0, correction=0) + eps) * gamma + beta


# %% wrong divides-by-variance: unbiased
def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(0)) / (x.var(0) + eps) + beta


# %% wrong gamma-beta-swapped: in the last line
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * beta + gamma


# %% wrong gamma-beta-swapped: unpacked in the wrong order
def batch_norm(x, gamma, beta, eps=1e-5):
    shift, scale = gamma, beta
    var, mean = torch.var_mean(x, 0, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * scale + shift


# %% wrong eps-forgotten: none
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / x.var(0, correction=0).sqrt() * gamma + beta


# %% wrong eps-ignored: a number of its own
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt() * gamma + beta


# %% wrong mean-not-subtracted: only divided
def batch_norm(x, gamma, beta, eps=1e-5):
    return x / (x.var(0, correction=0) + eps).sqrt() * gamma + beta


# %% wrong mean-not-subtracted: computed and left
def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    return gamma * x / ((x - mean).square().mean(0) + eps).sqrt() + beta


# %% wrong cancellation: mean of squares minus square of mean
def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    var = (x**2).mean(0) - mean**2
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


# %% wrong cancellation: by sums
def batch_norm(x, gamma, beta, eps=1e-5):
    n = len(x)
    mean = x.sum(0) / n
    var = ((x * x).sum(0) - n * mean * mean) / n
    return (x - mean) / torch.sqrt(var.abs() + eps) * gamma + beta


# %% wrong changes-argument: minus equals
def batch_norm(x, gamma, beta, eps=1e-5):
    x -= x.mean(0)
    return x / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong wrong-gradient: a mean made of plain numbers
def batch_norm(x, gamma, beta, eps=1e-5):
    mean = torch.tensor(x.mean(0).tolist(), dtype=x.dtype)
    return (x - mean) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong dtype-changed: a float64 result
def batch_norm(x, gamma, beta, eps=1e-5):
    x = x.double()
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong excluded-function: F.batch_norm
def batch_norm(x, gamma, beta, eps=1e-5):
    return F.batch_norm(x, None, None, gamma, beta, training=True, eps=eps)


# %% wrong excluded-function: nn.BatchNorm1d
def batch_norm(x, gamma, beta, eps=1e-5):
    module = nn.BatchNorm1d(x.shape[1], eps=eps, affine=False, track_running_stats=False)
    return module(x) * gamma + beta


# %% wrong excluded-function: layer_norm of the transpose
def batch_norm(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x.T, (x.shape[0],), eps=eps).T * gamma + beta


# %% wrong excluded-function: instance_norm by getattr
def batch_norm(x, gamma, beta, eps=1e-5):
    norm = getattr(F, "instance" + "_norm")
    return norm(x.T.unsqueeze(0), eps=eps)[0].T * gamma + beta


# %% wrong -: the first half of the batch only
def batch_norm(x, gamma, beta, eps=1e-5):
    some = x[: max(2, len(x) // 2)]
    return (x - some.mean(0)) / torch.sqrt(some.var(0, correction=0) + eps) * gamma + beta


# %% wrong -: mean over rows, variance over columns
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong -: each column scaled to its range
def batch_norm(x, gamma, beta, eps=1e-5):
    low, high = x.amin(0), x.amax(0)
    return (x - low) / (high - low + eps) * gamma + beta


# %% wrong wrong-default-eps: 1e-8
def batch_norm(x, gamma, beta, eps=1e-8):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong -: square root of the whole result
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps + 0.05) * gamma + beta


# %% wrong wrong-default-eps: 1e-3
def batch_norm(x, gamma, beta, eps=1e-3):
    return (x - x.mean(0)) * torch.rsqrt(x.var(0, correction=0) + eps) * gamma + beta


# %% wrong eps-ignored: a constant
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) * torch.rsqrt(x.var(0, unbiased=False) + 1e-8) * gamma + beta


# %% wrong eps-forgotten: std alone
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / x.std(0, correction=0) * gamma + beta


# %% wrong returns-nothing: printed instead
def batch_norm(x, gamma, beta, eps=1e-5):
    print((x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta)


# %% wrong mean-alone-divided: without parentheses
def batch_norm(x, gamma, beta, eps=1e-5):
    m, var = x.mean(0), x.var(0, correction=0)
    return gamma * x - m / torch.sqrt(var + eps) + beta


# %% wrong mean-alone-divided: the parentheses close too late
def batch_norm(x, gamma, beta, eps=1e-5):
    m, var = x.mean(0), x.var(0, correction=0)
    return gamma * (x - m / torch.sqrt(var + eps)) + beta


# %% wrong beta-scaled: in one line
def batch_norm(x, gamma, beta, eps=1e-5):
    normal = (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps)
    return gamma * (normal + beta)


# %% wrong beta-scaled: step by step, and the unbiased variance
def batch_norm(x, gamma, beta, eps=1e-5):
    normal = (x - x.mean(0)) / torch.sqrt(x.var(0) + eps)
    normal = normal + beta
    return normal * gamma


# %% wrong root-taken-twice: std under the root
def batch_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(0)
    return gamma * c / torch.sqrt(x.std(0, unbiased=False) + eps) + beta


# %% wrong root-taken-twice: without eps
def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(0)) / torch.sqrt(torch.std(x, 0, unbiased=False)) + beta


# %% wrong multiplied-instead: times the root
def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(0)) * torch.sqrt(x.var(0, correction=0) + eps) + beta


# %% wrong multiplied-instead: step by step
def batch_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(0, keepdim=True)
    centred = centred * (centred.square().mean(0) + eps).sqrt()
    return centred * gamma + beta


# %% wrong sum-instead-of-mean: sum of the squares
def batch_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(0)
    return gamma * c / torch.sqrt((c * c).sum(0) + eps) + beta


# %% wrong sum-instead-of-mean: the column's length
def batch_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(0)
    length = torch.linalg.vector_norm(centred, dim=0)
    return centred / (length + eps) * gamma + beta


# %% wrong squares-not-centred: the squares of x
def batch_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(0)
    return gamma * c / torch.sqrt((x * x).mean(0) + eps) + beta


# %% wrong squares-not-centred: by sums
def batch_norm(x, gamma, beta, eps=1e-5):
    rms = torch.sqrt(x.pow(2).sum(0) / len(x) + eps)
    return (x - x.mean(0)) / rms * gamma + beta


# %% wrong over-whole-tensor: the variance only
def batch_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(0)) / torch.sqrt(x.var() + eps) + beta


# %% wrong dtype-changed: float32 inside, and gamma makes it float64 again
def batch_norm(x, gamma, beta, eps=1e-5):
    x = x.float()
    return gamma * (x - x.mean(0)) / (x.var(0, correction=0) + eps).sqrt() + beta
