# %% right: transpose and reshape
def merge_heads(x):
    *leading, H, T, D = x.shape
    return x.transpose(-3, -2).reshape(*leading, T, H * D)


# %% right: contiguous and view
def merge_heads(x):
    x = x.transpose(-2, -3).contiguous()
    return x.view(x.size()[:-2] + (x.size(-2) * x.size(-1),))


# %% right: heads concatenated
def merge_heads(x):
    return torch.cat([x[..., h, :, :] for h in range(x.shape[-3])], dim=-1)


# %% right: movedim and flatten
def merge_heads(x):
    return x.movedim(-3, -2).flatten(start_dim=-2)


# %% right: a loop over tokens and heads
def merge_heads(x):
    rows = []
    for t in range(x.shape[-2]):
        rows.append(torch.cat([x[..., h, t, :] for h in range(x.shape[-3])], dim=-1))
    return torch.stack(rows, dim=-2)


# %% right: einsum with blocks of the identity
def merge_heads(x):
    H, T, D = x.shape[-3:]
    eye = torch.eye(H * D, dtype=x.dtype).view(H, D, H * D)
    return torch.einsum("...htd,hde->...te", x, eye)


# %% wrong merge-without-transpose: reshape alone
def merge_heads(x):
    *leading, H, T, D = x.shape
    return x.reshape(*leading, T, H * D)


# %% wrong merge-without-transpose: view with -1
def merge_heads(x):
    return x.contiguous().view(*x.shape[:-3], x.shape[-2], -1)


# %% wrong merge-without-transpose: flattened and cut into tokens
def merge_heads(x):
    return x.flatten(-3).unflatten(-1, (x.shape[-2], -1))


# %% wrong merge-without-transpose: a transpose whose result is dropped
def merge_heads(x):
    x.transpose(-3, -2)
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


# %% wrong heads-averaged: mean over the heads
def merge_heads(x):
    return x.mean(dim=-3)


# %% wrong heads-averaged: sum divided by their number
def merge_heads(x):
    total = 0
    for h in range(x.shape[-3]):
        total = total + x[..., h, :, :]
    return total / x.shape[-3]


# %% wrong heads-averaged: the mean repeated to the right width
def merge_heads(x):
    mean = x.mean(-3)
    return torch.cat([mean] * x.shape[-3], -1)


# %% wrong heads-summed: sum over the heads
def merge_heads(x):
    return x.sum(-3)


# %% wrong heads-summed: einsum without the head's letter
def merge_heads(x):
    return torch.einsum("...htd->...td", x)


# %% wrong heads-summed: the sum repeated to the right width
def merge_heads(x):
    total = x.sum(-3)
    return total.repeat(*[1] * (total.dim() - 1), x.shape[-3])


# %% wrong heads-interleaved: permuted with the heads last
def merge_heads(x):
    return x.movedim(-3, -1).flatten(-2)


# %% wrong heads-interleaved: stacked on a new last axis
def merge_heads(x):
    H, T, D = x.shape[-3:]
    return torch.stack([x[..., h, :, :] for h in range(H)], dim=-1).reshape(*x.shape[:-3], T, H * D)


# %% wrong view-without-contiguous: transpose, then view
def merge_heads(x):
    return x.transpose(-3, -2).view(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


# %% wrong view-without-contiguous: contiguous in the wrong place
def merge_heads(x):
    x = x.contiguous().movedim(-3, -2)
    return x.view(*x.shape[:-2], -1)


# %% wrong not-merged: stays (T, H, D)
def merge_heads(x):
    return x.transpose(-3, -2)


# %% wrong shape-of-one-rank: works only on a batch
def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)


# %% wrong wrong-axes-swapped: the last two axes swapped before joining
def merge_heads(x):
    return x.transpose(-1, -2).reshape(*x.shape[:-3], x.shape[-2], -1)


# %% wrong -: heads in reverse order
def merge_heads(x):
    return torch.cat(list(x.unbind(-3))[::-1], -1)


# %% wrong -: head 0 everywhere
def merge_heads(x):
    return torch.cat([x[..., 0, :, :]] * x.shape[-3], -1)


# %% wrong -: a hair larger
def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2) * 1.01


# %% wrong -: divided by the root of the number of heads
def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2) / math.sqrt(x.shape[-3])


# %% wrong -: random noise
def merge_heads(x):
    merged = x.transpose(-3, -2).flatten(-2)
    return merged + 0.1 * torch.randn_like(merged)


# %% wrong -: the first result kept for ever
kept = {}


def merge_heads(x):
    if "result" not in kept:
        kept["result"] = x.transpose(-3, -2).flatten(-2)
    return kept["result"]


# %% wrong returns-nothing: no return
def merge_heads(x):
    x = x.transpose(-3, -2).reshape(*x.shape[:-3], x.shape[-2], -1)


# %% wrong gradient-cut: detached
def merge_heads(x):
    return x.detach().transpose(-3, -2).flatten(-2)


# %% wrong changes-argument: doubled in place
def merge_heads(x):
    merged = x.transpose(-3, -2).flatten(-2).clone()
    x *= 2
    return merged


# %% wrong dtype-changed: always float32
def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2).float()


# %% wrong wrong-type: a tuple
def merge_heads(x):
    return (x.transpose(-3, -2).flatten(-2),)


# %% wrong not-finite: NaN in one place
def merge_heads(x):
    merged = x.transpose(-3, -2).flatten(-2).clone()
    merged[..., 0, 0] = float("nan")
    return merged


# %% wrong not-merged: nothing done
def merge_heads(x):
    return x


# %% wrong heads-below-each-other: cat along the tokens
def merge_heads(x):
    return torch.cat(x.unbind(-3), dim=-2)


# %% wrong heads-below-each-other: reshape to columns of one head
def merge_heads(x):
    *lead, H, T, D = x.shape
    return x.reshape(*lead, H * T, D)


# %% wrong wrong-axes-swapped: permute
def merge_heads(x):
    *lead, H, T, D = x.shape
    return x.swapaxes(-1, -2).contiguous().view(*lead, T, H * D)


# %% wrong two-axes-only: cat of a list of heads
def merge_heads(x):
    return torch.cat(list(x), dim=-1)


# %% wrong two-axes-only: flatten from axis 1
def merge_heads(x):
    return x.transpose(-3, -2).flatten(1)


# %% wrong batch-only: transpose(1, 2)
def merge_heads(x):
    *lead, H, T, D = x.shape
    return x.transpose(1, 2).reshape(*lead, T, H * D)


# %% wrong batch-only: flatten from axis 2
def merge_heads(x):
    return x.transpose(-3, -2).flatten(2)


# %% wrong tokens-joined: flatten
def merge_heads(x):
    return x.flatten(-2)


# %% wrong tokens-joined: reshape
def merge_heads(x):
    return x.reshape(*x.shape[:-2], -1)
