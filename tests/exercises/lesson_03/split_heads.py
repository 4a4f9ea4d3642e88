# %% right: view and transpose
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    *leading, seq_len, d_model = x.shape
    if d_model % num_heads != 0:
        raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
    return x.view(*leading, seq_len, num_heads, d_model // num_heads).transpose(-3, -2)


# %% right: chunks stacked
def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError("%d columns can't be shared among %d heads" % (x.size(-1), num_heads))
    return torch.stack(torch.chunk(x, num_heads, dim=-1), dim=-3)


# %% right: a loop over heads that writes into a tensor of its own
def split_heads(x, num_heads):
    E = x.shape[-1]
    D = E // num_heads
    if D * num_heads != E:
        raise ValueError(f"num_heads ({num_heads}) must divide d_model ({E}), got x of shape {tuple(x.shape)}")
    out = x.new_empty(*x.shape[:-2], num_heads, x.shape[-2], D)
    for h in range(num_heads):
        out[..., h, :, :] = x[..., h * D : (h + 1) * D]
    return out


# %% right: unflatten and movedim
def split_heads(x, num_heads):
    try:
        cut = x.unflatten(-1, (num_heads, x.shape[-1] // num_heads))
    except RuntimeError as error:
        raise ValueError(f"{x.shape[-1]} % {num_heads} != 0") from error
    return cut.movedim(-2, -3)


# %% right: einsum with blocks of the identity
def split_heads(x, num_heads):
    width = x.shape[-1]
    if width % num_heads > 0:
        raise ValueError(f"heads: {num_heads}, width: {width}")
    eye = torch.eye(width, dtype=x.dtype, device=x.device).reshape(width, num_heads, -1)
    return torch.einsum("...te,ehd->...htd", x, eye)


# %% right: permute over flattened leading axes, an error class of its own, printing
class HeadError(ValueError):
    pass


def split_heads(x, num_heads):
    print("x", x.shape)
    b = x.reshape(-1, x.shape[-2], x.shape[-1])
    if b.shape[2] % num_heads:
        raise HeadError(f"{num_heads=} does not divide d_model={b.shape[2]}")
    b = b.reshape(b.shape[0], b.shape[1], num_heads, -1).permute(0, 2, 1, 3).contiguous()
    return b.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


# %% wrong view-without-transpose: view straight to the shape
def split_heads(x, num_heads):
    *leading, T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{E} {num_heads}")
    return x.view(*leading, num_heads, T, E // num_heads)


# %% wrong view-without-transpose: reshape with -1 and no check
def split_heads(x, num_heads):
    return x.reshape(x.shape[:-2] + (num_heads, x.shape[-2], -1))


# %% wrong view-without-transpose: flattened first, then cut into heads
def split_heads(x, num_heads):
    T, E = x.shape[-2:]
    return x.flatten(-2).unflatten(-1, (num_heads, T, E // num_heads))


# %% wrong view-without-transpose: chunks of tokens in place of features
def split_heads(x, num_heads):
    flat = x.flatten(-2)
    return torch.stack([part.unflatten(-1, (x.shape[-2], -1)) for part in flat.chunk(num_heads, -1)], -3)


# %% wrong heads-last: view (T, D, H), then the head axis to the front
def split_heads(x, num_heads):
    *leading, T, E = x.shape
    if E % num_heads != 0:
        raise ValueError(f"d_model {E}, num_heads {num_heads}")
    x = x.view(*leading, T, E // num_heads, num_heads)
    return x.movedim(-1, -3)


# %% wrong heads-last: left as (T, D, H)
def split_heads(x, num_heads):
    return x.reshape(*x.shape[:-1], x.shape[-1] // num_heads, num_heads)


# %% wrong heads-last: (T, D, H) and the wrong pair swapped
def split_heads(x, num_heads):
    return x.view(*x.shape[:-1], x.shape[-1] // num_heads, num_heads).transpose(-3, -2)


# %% wrong heads-last: strided slices
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=-3)


# %% wrong head-dim-first: permuted once too often
def split_heads(x, num_heads):
    *leading, T, E = x.shape
    cut = x.view(-1, T, num_heads, E // num_heads).permute(0, 2, 3, 1)
    return cut.reshape(*leading, num_heads, E // num_heads, T)


# %% wrong head-dim-first: the transpose first, then the view
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.transpose(-2, -1).unflatten(-2, (num_heads, -1))


# %% wrong head-dim-first: einsum letters in another order
def split_heads(x, num_heads):
    return torch.einsum("...thd->...hdt", x.unflatten(-1, (num_heads, -1)))


# %% wrong transpose-forgotten: view only
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)


# %% wrong transpose-forgotten: a transpose whose result is dropped
def split_heads(x, num_heads):
    x = x.unflatten(-1, (num_heads, -1))
    x.transpose(-2, -3)
    return x


# %% wrong -: no error where the heads don't fit
def split_heads(x, num_heads):
    D = x.shape[-1] // num_heads
    return torch.stack([x[..., h * D : (h + 1) * D] for h in range(num_heads)], -3)


# %% wrong -: RuntimeError in place of ValueError
def split_heads(x, num_heads):
    return x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(-2, -3)


# %% wrong -: assert in place of ValueError
def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0, f"{x.shape[-1]} {num_heads}"
    return x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(-2, -3)


# %% wrong -: an error that doesn't name the numbers
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("d_model must be divisible by num_heads")
    return x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(-2, -3)


# %% wrong shape-of-one-rank: works only without leading axes
def split_heads(x, num_heads):
    T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{E} {num_heads}")
    return x.view(T, num_heads, -1).transpose(0, 1)


# %% wrong shape-of-one-rank: works only on a batch
def split_heads(x, num_heads):
    B, T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{E} {num_heads}")
    return x.view(B, T, num_heads, -1).transpose(1, 2)


# %% wrong two-axes-only: axes counted from the front
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.unflatten(-1, (num_heads, -1)).transpose(0, 1)


# %% wrong -: heads in reverse order
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return torch.stack(x.chunk(num_heads, -1)[::-1], -3)


# %% wrong -: tokens in reverse order
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return torch.stack(x.chunk(num_heads, -1), -3).flip(-2)


# %% wrong -: transposed, then reshaped straight to the shape
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.transpose(-2, -1).reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


# %% wrong wrong-shape: num_heads and head_dim confused in the right order of axes
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    head_dim = x.shape[-1] // num_heads
    return torch.stack(x.chunk(head_dim, -1), -3).flip(-1)


# %% wrong wrong-shape: always two heads
def split_heads(x, num_heads):
    return x.view(*x.shape[:-1], 2, x.shape[-1] // 2).transpose(-2, -3) if x.shape[-1] % 2 == 0 else x


# %% wrong returns-nothing: no return
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    heads = x.unflatten(-1, (num_heads, -1)).transpose(-2, -3)


# %% wrong wrong-type: a list of heads
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return list(x.chunk(num_heads, -1))


# %% wrong wrong-type: NumPy
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return x.detach().unflatten(-1, (num_heads, -1)).transpose(-2, -3).numpy()


# %% wrong gradient-cut: copied by torch.tensor
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    return torch.tensor(x.tolist(), dtype=x.dtype).unflatten(-1, (num_heads, -1)).transpose(-2, -3)


# %% wrong dtype-changed: into a tensor of the default dtype
def split_heads(x, num_heads):
    *leading, T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{E} {num_heads}")
    D = E // num_heads
    out = torch.zeros(*leading, num_heads, T, D)
    for h in range(num_heads):
        out[..., h, :, :] = x[..., h * D : (h + 1) * D]
    return out


# %% wrong changes-argument: x changed in place
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} {num_heads}")
    heads = x.unflatten(-1, (num_heads, -1)).transpose(-2, -3).clone()
    x.detach().zero_()
    return heads


# %% wrong raised: leaves by sys.exit
import sys


def split_heads(x, num_heads):
    sys.exit(1)


# %% wrong -: assert, first line
def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0, f"{x.shape[-1]} columns, {num_heads} heads"
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


# %% wrong two-axes-only: permute of three axes
def split_heads(x, num_heads):
    T, E = x.shape[-2:]
    if E % num_heads:
        raise ValueError(f"{num_heads} heads don't divide {E}")
    return x.reshape(T, num_heads, E // num_heads).permute(1, 0, 2)


# %% wrong batch-only: transpose(1, 2)
def split_heads(x, num_heads):
    *lead, T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{num_heads} heads don't divide {E}")
    return x.view(*lead, T, num_heads, E // num_heads).transpose(1, 2)


# %% wrong batch-only: permute of four axes
def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError(f"{num_heads} heads don't divide {x.size(-1)}")
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3)


# %% wrong -: Python's own ValueError
def split_heads(x, num_heads):
    B, T, E = x.shape
    if E % num_heads:
        raise ValueError(f"{num_heads} heads don't divide {E}")
    return x.view(B, T, num_heads, E // num_heads).transpose(1, 2)


# %% wrong squeezed: a batch axis that is taken away again
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{num_heads} heads don't fit into {x.shape[-1]} features")
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2).squeeze(0)


# %% right: slices stacked
def split_heads(x, num_heads):
    E = x.shape[-1]
    if E % num_heads:
        raise ValueError(f"cannot split {E} into {num_heads}")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-3)


# %% wrong -: heads of odd width are refused
def split_heads(x, num_heads):
    d_model = x.shape[-1]
    if d_model % num_heads or (d_model // num_heads) % 2:
        raise ValueError(f"{num_heads} does not divide {d_model}")
    return x.reshape(*x.shape[:-1], num_heads, d_model // num_heads).transpose(-3, -2)


# %% wrong -: heads of even width are refused
def split_heads(x, num_heads):
    d_model = x.shape[-1]
    if d_model % num_heads or (d_model // num_heads) % 2 == 0:
        raise ValueError(f"{num_heads} does not divide {d_model}")
    return x.reshape(*x.shape[:-1], num_heads, d_model // num_heads).transpose(-3, -2)
