# %% right: mean and var with keepdim
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


# %% right: the squares by hand
def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
    spread = (centred**2).sum(-1, keepdim=True) / x.shape[-1]
    return gamma * centred * torch.rsqrt(spread + eps) + beta


# %% right: a loop over tokens
def layer_norm(x, gamma, beta, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mu = sum(row) / len(row)
        var = sum((value - mu) ** 2 for value in row) / len(row)
        rows.append((row - mu) / (var + eps) ** 0.5 * gamma + beta)
    return torch.stack(rows).view(x.shape)


# %% right: var_mean, unbiased false, and a list of the axes
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, [-1], unbiased=False, keepdim=True)
    return torch.addcmul(beta, (x - mean) * (var + eps).pow(-0.5), gamma)


# %% right: std squared, float64 inside, cast back
def layer_norm(x, gamma, beta, eps=1e-5):
    wide = x.double()
    std = wide.std(-1, unbiased=False, keepdim=True)
    y = (wide - wide.mean(-1, keepdim=True)) / (std.square() + eps).sqrt()
    return (y * gamma.double() + beta.double()).to(x.dtype)


# %% right: unsqueeze instead of keepdim, einsum, in place on its own tensor
def layer_norm(x, gamma, beta, eps=1e-5):
    print("normalising", x.shape)
    width = x.size(-1)
    y = x - x.mean(-1).unsqueeze(-1)
    var = torch.einsum("...i,...i->...", y, y) / width
    y = y / torch.sqrt(var + eps)[..., None]
    y = y * gamma
    y += beta
    return y


# %% right: square of the mean, in float64, where it does no harm
def layer_norm(x, gamma, beta, eps=1e-5):
    wide = x.to(torch.float64)
    mean = wide.mean(-1, keepdim=True)
    var = (wide * wide).mean(-1, keepdim=True) - mean * mean
    return ((wide - mean) / torch.sqrt(var.clamp(min=0) + eps) * gamma + beta).to(x.dtype)


# %% right: F.normalize is not a kernel of this family
def layer_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    n = x.shape[-1]
    # the eps of the variance as one more coordinate of the vector
    longer = torch.cat([y, torch.full_like(y[..., :1], (n * eps) ** 0.5)], -1)
    return F.normalize(longer, dim=-1)[..., :-1] * n**0.5 * gamma + beta


# %% wrong wrong-axis: over tokens
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-2, keepdim=True)) / torch.sqrt(x.var(-2, correction=0, keepdim=True) + eps) * gamma + beta


# %% wrong wrong-axis: over the first axis
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    std = x.std(0, unbiased=False)
    return (x - mean) / torch.sqrt(std**2 + eps) * gamma + beta


# %% wrong wrong-axis: axis 1, and the unbiased variance
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(x.var(dim=1, keepdim=True) + eps) + beta


# %% wrong unbiased-variance: var as it comes
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) * gamma + beta


# %% wrong unbiased-variance: std as it comes, eps beside it
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return gamma * (x - mean) / (std + eps) + beta


# %% wrong unbiased-variance: by hand
def layer_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    return y * ((y * y).sum(-1, keepdim=True) / (x.shape[-1] - 1) + eps).rsqrt() * gamma + beta


# %% wrong eps-outside-root: added to the root
def layer_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    return y / ((y * y).mean(-1, keepdim=True).sqrt() + eps) * gamma + beta


# %% wrong eps-outside-root: biased std plus eps
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) * gamma + beta


# %% wrong eps-outside-root: the number 1e-7, as on many pages
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, unbiased=False, keepdim=True) + 1e-7) * gamma + beta


# %% wrong no-affine: neither
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)


# %% wrong no-affine: beta forgotten
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * (var + eps).rsqrt() * gamma


# %% wrong no-affine: gamma forgotten, and the unbiased std
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


# %% wrong over-whole-tensor: mean and var told no axis
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * gamma + beta


# %% wrong over-whole-tensor: std told no axis either
def layer_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - torch.mean(x)) / (torch.std(x) + eps) + beta


# %% wrong over-whole-tensor: tokens and features together
def layer_norm(x, gamma, beta, eps=1e-5):
    axes = (-2, -1) if x.dim() > 1 else -1
    mean = x.mean(axes, keepdim=True)
    var = ((x - mean) ** 2).mean(axes, keepdim=True)
    return (x - mean) / (var + eps) ** 0.5 * gamma + beta


# %% wrong divides-by-variance: variance plus eps
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps) * gamma + beta


# %% wrong divides-by-variance: unbiased
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps) * gamma + beta


# %% wrong keepdim-forgotten: both
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps) * gamma + beta


# %% wrong keepdim-forgotten: both, std as it comes
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = torch.mean(x, dim=-1)
    std = torch.std(x, dim=-1)
    return (x - mean) / (std + eps) * gamma + beta


# %% wrong gamma-beta-swapped: in the last line
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return beta * (x - mean) / (var + eps).sqrt() + gamma


# %% wrong gamma-beta-swapped: addcmul
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return torch.addcmul(gamma, beta, (x - mean) / (var + eps).sqrt())


# %% wrong eps-forgotten: no eps
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / var.sqrt() * gamma + beta


# %% wrong eps-ignored: a number of its own
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + 1e-5).sqrt() * gamma + beta


# %% wrong mean-not-subtracted: only divided
def layer_norm(x, gamma, beta, eps=1e-5):
    return x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) * gamma + beta


# %% wrong mean-not-subtracted: subtracted from nothing
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * x * (var + eps).rsqrt() + beta


# %% wrong cancellation: mean of squares minus square of mean
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = (x**2).mean(-1, keepdim=True) - mean**2
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


# %% wrong cancellation: the same, kept from going below zero
def layer_norm(x, gamma, beta, eps=1e-5):
    n = x.shape[-1]
    total, squares = x.sum(-1, keepdim=True), (x * x).sum(-1, keepdim=True)
    var = ((squares - total * total / n) / n).clamp(min=0)
    return (x - total / n) * (var + eps).rsqrt() * gamma + beta


# %% wrong returns-nothing: no return
def layer_norm(x, gamma, beta, eps=1e-5):
    (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) * gamma + beta


# %% wrong wrong-type: a pair
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta, mean


# %% wrong wrong-shape: an axis too many
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return ((x - mean) / (var + eps).sqrt() * gamma + beta).unsqueeze(0)


# %% wrong changes-argument: minus equals
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    x -= mean
    return x / (var + eps).sqrt() * gamma + beta


# %% wrong wrong-gradient: statistics without gradient
def layer_norm(x, gamma, beta, eps=1e-5):
    with torch.no_grad():
        var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta


# %% wrong gradient-cut: NumPy on the way
def layer_norm(x, gamma, beta, eps=1e-5):
    array = x.detach().numpy()
    y = (array - array.mean(-1, keepdims=True)) / (array.var(-1, keepdims=True) + eps) ** 0.5
    return torch.from_numpy(y).to(x.dtype) * gamma + beta


# %% wrong dtype-changed: always float32
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return ((x - mean) / (var + eps).sqrt() * gamma + beta).float()


# %% wrong raised: an error of its own
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / torch.sqrt(x.var(-1) + eps, keepdim=True)


# %% wrong excluded-function: F.layer_norm
def layer_norm(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


# %% wrong excluded-function: the module, its forward called directly
def layer_norm(x, gamma, beta, eps=1e-5):
    module = nn.LayerNorm(x.shape[-1], eps=eps, elementwise_affine=False)
    return module.forward(x) * gamma + beta


# %% wrong excluded-function: by the operator's name
def layer_norm(x, gamma, beta, eps=1e-5):
    operator = getattr(torch.ops.aten, "native_" + "layer" + "_norm")
    return operator(x, [x.shape[-1]], gamma, beta, eps)[0]


# %% wrong excluded-function: a neighbour, group_norm with one group
def layer_norm(x, gamma, beta, eps=1e-5):
    rows = x.reshape(-1, x.shape[-1])
    return (F.group_norm(rows, 1, eps=eps)).view(x.shape) * gamma + beta


# %% wrong excluded-function: rms_norm of the centred numbers
def layer_norm(x, gamma, beta, eps=1e-5):
    return F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], gamma, eps) + beta


# %% wrong excluded-function: in a function of one's own
def my_norm(x, gamma, eps):
    return F.rms_norm(x, (x.shape[-1],), gamma, eps)


def layer_norm(x, gamma, beta, eps=1e-5):
    return my_norm(x - x.mean(-1, keepdim=True), gamma, eps) + beta


# %% wrong excluded-function: batch_norm turned round
def layer_norm(x, gamma, beta, eps=1e-5):
    rows = x.reshape(-1, x.shape[-1])
    return torch.batch_norm(rows.T, None, None, None, None, True, 0.0, eps, False).T.reshape(x.shape) * gamma + beta


# %% wrong -: half of the features only
def layer_norm(x, gamma, beta, eps=1e-5):
    half = x[..., : x.shape[-1] // 2]
    var, mean = torch.var_mean(half, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta


# %% wrong -: the median in the mean's place
def layer_norm(x, gamma, beta, eps=1e-5):
    middle = x.median(-1, keepdim=True).values
    var = ((x - middle) ** 2).mean(-1, keepdim=True)
    return (x - middle) / (var + eps).sqrt() * gamma + beta


# %% wrong beta-scaled: added before gamma
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return ((x - mean) / (var + eps).sqrt() + beta) * gamma


# %% wrong wrong-default-eps: 1e-3
def layer_norm(x, gamma, beta, eps=1e-3):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta


# %% wrong -: mean absolute deviation
def layer_norm(x, gamma, beta, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    return y / (y.abs().mean(-1, keepdim=True) + eps) * gamma + beta


# %% wrong -: noise
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta + 0.01 * torch.randn_like(x)


# %% wrong wrong-default-eps: that of rms_norm
def layer_norm(x, gamma, beta, eps=1e-6):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta


# %% wrong eps-ignored: a constant
EPSILON = 1e-8


def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(var + EPSILON) * gamma + beta


# %% wrong eps-forgotten: std alone
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, unbiased=False, keepdim=True) * gamma + beta


# %% wrong -: eps in the numerator
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean + eps) / var.sqrt() * gamma + beta


# %% wrong -: the first token's statistics for all
def layer_norm(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x.reshape(-1, x.shape[-1])[0], -1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * gamma + beta


# %% wrong wrong-axis: one mean for each feature, as BatchNorm
def layer_norm(x, gamma, beta, eps=1e-5):
    rows = x.reshape(-1, x.shape[-1])
    y = (rows - rows.mean(0)) / torch.sqrt(rows.var(0, correction=0) + eps)
    return y.view(x.shape) * gamma + beta


# %% wrong mean-alone-divided: without parentheses
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, unbiased=False, keepdim=True)
    return gamma * x - m / torch.sqrt(var + eps) + beta


# %% wrong mean-alone-divided: the parentheses close too late
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, unbiased=False, keepdim=True)
    return gamma * (x - m / torch.sqrt(var + eps)) + beta


# %% wrong beta-scaled: step by step
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)
    y = (x - mean) / std
    y = y + beta
    return y * gamma


# %% wrong root-taken-twice: eps added to std, then the root
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1, keepdim=True)
    std = x.std(dim=-1, unbiased=False, keepdim=True)
    return gamma * (x - m) / torch.sqrt(std + eps) + beta


# %% wrong root-taken-twice: the root of std, without eps
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    divisor = x.std(-1, keepdim=True).sqrt()
    return gamma * (x - mean) / divisor + beta


# %% wrong multiplied-instead: times the root
def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred * torch.sqrt(centred.square().mean(-1, keepdim=True) + eps) + beta


# %% wrong multiplied-instead: times std
def layer_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) * (x.std(-1, unbiased=False, keepdim=True) + eps) * gamma + beta


# %% wrong sum-instead-of-mean: sum of the squares
def layer_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(dim=-1, keepdim=True)
    var = (c**2).sum(dim=-1, keepdim=True)
    return gamma * c / torch.sqrt(var + eps) + beta


# %% wrong sum-instead-of-mean: the vector's length
def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.norm(dim=-1, keepdim=True) + eps) + beta


# %% wrong squares-not-centred: the squares of x
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1, keepdim=True)
    var = (x**2).mean(dim=-1, keepdim=True)
    return gamma * (x - m) / torch.sqrt(var + eps) + beta


# %% wrong squares-not-centred: einsum
def layer_norm(x, gamma, beta, eps=1e-5):
    second = torch.einsum("...e,...e->...", x, x).unsqueeze(-1) / x.shape[-1]
    return gamma * (x - x.mean(-1, keepdim=True)) / (second + eps) ** 0.5 + beta


# %% wrong eps-outside-root: the root of eps added
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1, keepdim=True)
    std = x.std(dim=-1, unbiased=False, keepdim=True)
    return gamma * (x - m) / (std + eps**0.5) + beta


# %% wrong eps-outside-root: clamp in place of an addition
def layer_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(dim=-1, keepdim=True)
    std = x.std(dim=-1, unbiased=False, keepdim=True)
    return gamma * c / std.clamp(min=eps) + beta


# %% wrong divides-by-variance: a half that binds too late
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, correction=0, keepdim=True)
    return gamma * (x - mean) / (var + eps) ** 1 / 2 + beta


# %% wrong keepdim-forgotten: on the mean only
def layer_norm(x, gamma, beta, eps=1e-5):
    m = x.mean(dim=-1)
    var = x.var(dim=-1, unbiased=False, keepdim=True)
    return gamma * (x - m) / torch.sqrt(var + eps) + beta


# %% wrong keepdim-forgotten: on the variance only
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, unbiased=False)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


# %% wrong over-whole-tensor: the variance only
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(x.var(correction=0) + eps) + beta


# %% right: the unbiased variance, corrected
def layer_norm(x, gamma, beta, eps=1e-5):
    d = x.size(-1)
    var = x.var(-1, keepdim=True) * (d - 1) / d
    return (x - x.mean(-1)[..., None]) / (var + eps).sqrt() * gamma + beta


# %% wrong dtype-changed: float32 inside, and gamma makes it float64 again
def layer_norm(x, gamma, beta, eps=1e-5):
    x = x.float()
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt() + beta


# %% wrong squeezed: at the end
def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return (gamma * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta).squeeze()


# %% right: addcmul and rsqrt
def layer_norm(x, gamma, beta, eps=1e-5):
    c = x - x.mean(-1, keepdim=True)
    return torch.addcmul(beta, gamma, c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + eps))
