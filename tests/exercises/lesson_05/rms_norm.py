# %% right: mean of squares
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * gamma


# %% right: by the length of the vector
def rms_norm(x, gamma, eps=1e-6):
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return gamma * x * (length**2 / x.shape[-1] + eps).rsqrt()


# %% right: row by row
def rms_norm(x, gamma, eps=1e-6):
    rows = [row / (row @ row / row.numel() + eps).sqrt() * gamma for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


# %% right: float64 inside
def rms_norm(x, gamma, eps=1e-6):
    wide = x.to(torch.float64)
    mean_square = torch.einsum("...i,...i->...", wide, wide)[..., None] / wide.shape[-1]
    return (wide * torch.rsqrt(mean_square + eps) * gamma).type_as(x)


# %% wrong mean-subtracted: layer norm without beta
def rms_norm(x, gamma, eps=1e-6):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) * gamma


# %% wrong mean-subtracted: first, then the mean square of x
def rms_norm(x, gamma, eps=1e-6):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gamma


# %% wrong mean-subtracted: hidden in std
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.std(-1, keepdim=True) + eps) * gamma


# %% wrong mean-subtracted: hidden in var
def rms_norm(x, gamma, eps=1e-6):
    return x * torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps) * gamma


# %% wrong root-forgotten: mean square plus eps
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.pow(2).mean(-1, keepdim=True) + eps) * gamma


# %% wrong root-forgotten: by products
def rms_norm(x, gamma, eps=1e-6):
    mean_square = (x * x).sum(-1, keepdim=True) / x.size(-1)
    return gamma * x * (mean_square + eps).reciprocal()


# %% wrong eps-outside-root: added to the root
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * gamma


# %% wrong eps-outside-root: by the vector's length
def rms_norm(x, gamma, eps=1e-6):
    rms = x.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.5
    return gamma * (x / (rms + eps))


# %% wrong no-gamma: forgotten
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)


# %% wrong no-gamma: rsqrt, without gamma
def rms_norm(x, gamma, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


# %% wrong sum-instead-of-mean: sum of squares
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.square().sum(-1, keepdim=True) + eps) * gamma


# %% wrong sum-instead-of-mean: F.normalize
def rms_norm(x, gamma, eps=1e-6):
    return F.normalize(x, dim=-1) * gamma


# %% wrong wrong-axis: over tokens
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-2, keepdim=True) + eps) * gamma


# %% wrong wrong-axis: over the first axis
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(dim=0) + eps) * gamma


# %% wrong over-whole-tensor: told no axis
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(torch.mean(x**2) + eps) * gamma


# %% wrong over-whole-tensor: tokens too
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt((x**2).mean((-2, -1), keepdim=True) + eps) * gamma


# %% wrong keepdim-forgotten: it runs on squares only
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-1) + eps) * gamma


# %% wrong keepdim-forgotten: rsqrt
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x * torch.rsqrt((x * x).mean(dim=-1) + eps)


# %% wrong wrong-default-eps: that of layer_norm
def rms_norm(x, gamma, eps=1e-5):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gamma


# %% wrong wrong-default-eps: 1e-8
def rms_norm(x, gamma, eps=1e-8):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gamma


# %% wrong eps-ignored: a number of its own
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gamma


# %% wrong eps-ignored: another number of its own
def rms_norm(x, gamma, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-8) * gamma


# %% wrong eps-forgotten: none
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True)) * gamma


# %% wrong eps-forgotten: none, by length
def rms_norm(x, gamma, eps=1e-6):
    return x / x.norm(dim=-1, keepdim=True) * x.shape[-1] ** 0.5 * gamma


# %% wrong returns-nothing: no return
def rms_norm(x, gamma, eps=1e-6):
    x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gamma


# %% wrong changes-argument: divided in place
def rms_norm(x, gamma, eps=1e-6):
    x /= torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return x * gamma


# %% wrong dtype-changed: a default tensor for eps
def rms_norm(x, gamma, eps=1e-6):
    y = x.double() / torch.sqrt(x.double().pow(2).mean(-1, keepdim=True) + eps) * gamma
    return y


# %% wrong -: mean of absolute values
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.abs().mean(-1, keepdim=True) + eps) * gamma


# %% wrong -: the largest entry
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.abs().amax(-1, keepdim=True) + eps) * gamma


# %% wrong -: one plus gamma
def rms_norm(x, gamma, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * (1 + gamma)


# %% wrong -: width fixed at four
def rms_norm(x, gamma, eps=1e-6):
    return x / torch.sqrt(x.square().sum(-1, keepdim=True) / 4 + eps) * gamma


# %% wrong wrong-axis: one mean square for each feature
def rms_norm(x, gamma, eps=1e-6):
    rows = x.reshape(-1, x.shape[-1])
    return x * torch.rsqrt((rows * rows).mean(0) + eps) * gamma


# %% wrong eps-outside-root: clamp in place of an addition
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / torch.sqrt((x**2).mean(-1, keepdim=True)).clamp(min=eps)


# %% wrong mean-of-numbers: the square forgotten
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / torch.sqrt(x.mean(-1, keepdim=True) + eps)


# %% wrong mean-of-numbers: squared after the mean
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / torch.sqrt(x.mean(-1, keepdim=True) ** 2 + eps)


# %% wrong multiplied-instead: times the root mean square
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x * torch.sqrt((x**2).mean(-1, keepdim=True) + eps)


# %% wrong multiplied-instead: step by step
def rms_norm(x, gamma, eps=1e-6):
    rms = (x.square().mean(-1, keepdim=True)).sqrt() + eps
    return x * rms * gamma


# %% wrong root-forgotten: a half that binds too late
def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / ((x**2).mean(-1, keepdim=True) + eps) ** 1 / 2


# %% wrong dtype-changed: float32 inside, and gamma makes it float64 again
def rms_norm(x, gamma, eps=1e-6):
    x = x.float()
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% right: rsqrt of the sum over the width
def rms_norm(x, gamma, eps=1e-6):
    return x * gamma * ((x * x).sum(-1, keepdim=True) / x.shape[-1] + eps).rsqrt()


# %% wrong excluded-function: PyTorch's own
def rms_norm(x, gamma, eps=1e-6):
    return F.rms_norm(x, (x.shape[-1],), gamma, eps)


# %% wrong excluded-function: the module without weight
def rms_norm(x, gamma, eps=1e-6):
    return nn.RMSNorm(x.shape[-1], eps=eps, elementwise_affine=False)(x) * gamma


# %% wrong excluded-function: layer_norm, with the mean put back
def rms_norm(x, gamma, eps=1e-6):
    centred = F.layer_norm(x, x.shape[-1:], eps=eps) * (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    x = centred + x.mean(-1, keepdim=True)
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
