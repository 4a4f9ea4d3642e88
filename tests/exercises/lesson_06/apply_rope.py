# %% prelude
import math

import torch
from torch import Tensor


# %% right: strided columns, stacked again
def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    head_dim = x.shape[-1]
    frequencies = base ** (-torch.arange(0, head_dim, 2, dtype=x.dtype) / head_dim)
    angles = positions.unsqueeze(-1) * frequencies
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% right: complex numbers
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, D, 2).to(x.dtype) / D))
    angles = torch.outer(positions.to(x.dtype), freqs)
    turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).reshape(x.shape)


# %% right: two by two matrices
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    theta = positions[:, None] * torch.tensor([base ** (-2 * i / D) for i in range(D // 2)], dtype=x.dtype)
    c, s = torch.cos(theta), torch.sin(theta)
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)  # (T, D/2, 2, 2)
    return torch.einsum("tpij,...tpj->...tpi", turn, x.unflatten(-1, (-1, 2))).flatten(-2)


# %% right: x cos + across sin
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = torch.exp(torch.arange(0, D, 2, dtype=x.dtype) * (-math.log(base) / D))
    angle = (positions.to(x.dtype)[:, None] * rate).repeat_interleave(2, dim=-1)
    across = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * angle.cos() + across * angle.sin()


# %% right: a loop over the pairs, written into a new tensor
def apply_rope(x, positions, base=10000.0):
    print("x", x.shape)
    out = torch.empty_like(x)
    width = x.size(-1)
    for i in range(width // 2):
        theta = positions.to(x.dtype) / base ** (2 * i / width)
        cos, sin = theta.cos(), theta.sin()
        out[..., 2 * i] = x[..., 2 * i] * cos - x[..., 2 * i + 1] * sin
        out[..., 2 * i + 1] = x[..., 2 * i] * sin + x[..., 2 * i + 1] * cos
    return out


# %% right: one large block-diagonal matrix a position
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rows = []
    for t, p in enumerate(positions.tolist()):
        blocks = []
        for i in range(D // 2):
            a = p * base ** (-2 * i / D)
            blocks.append(torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]], dtype=x.dtype))
        rows.append(x[..., t, :] @ torch.block_diag(*blocks).T)
    return torch.stack(rows, dim=-2)


# %% right: angles in float32, as many programs keep them
def apply_rope(x, positions, base=10000.0):
    inv_freq = 1.0 / (base ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1]))
    angles = torch.einsum("t,f->tf", positions.float(), inv_freq)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


# %% wrong added-instead-of-turned: cosine first
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    angles = positions.to(x.dtype)[:, None] / base ** (torch.arange(0, width, 2, dtype=x.dtype) / width)
    out = x.clone()
    out[..., 0::2] += angles.cos()
    out[..., 1::2] += angles.sin()
    return out


# %% wrong halves-instead-of-pairs: rotate_half
def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    freqs = base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    angles = positions.unsqueeze(-1) * freqs
    angles = torch.cat((angles, angles), dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


# %% wrong halves-instead-of-pairs: put back as halves
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


# %% wrong halves-instead-of-pairs: sliced in halves
def apply_rope(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    theta = positions[:, None] / base ** (torch.arange(half, dtype=x.dtype) / half)
    out = torch.empty_like(x)
    out[..., :half] = x[..., :half] * theta.cos() - x[..., half:] * theta.sin()
    out[..., half:] = x[..., :half] * theta.sin() + x[..., half:] * theta.cos()
    return out


# %% wrong halves-instead-of-pairs: rotate_half with the angles of neighbours
def apply_rope(x, positions, base=10000.0):
    head_dim = x.shape[-1]
    rates = base ** -(torch.arange(0, head_dim, 2, dtype=x.dtype) / head_dim)
    angles = torch.outer(positions.to(x.dtype), rates).repeat_interleave(2, -1)
    turned = torch.cat([-x[..., head_dim // 2 :], x[..., : head_dim // 2]], -1)
    return x * angles.cos() + turned * angles.sin()


# %% wrong rotation-reversed: the other minus
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c + b * s, b * c - a * s), -1).flatten(-2)


# %% wrong rotation-reversed: a negative angle
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = -positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.exp(1j * angles)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


# %% wrong rotation-reversed: the matrix transposed
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    theta = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    c, s = theta.cos(), theta.sin()
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return torch.einsum("tpij,...tpi->...tpj", turn, x.unflatten(-1, (-1, 2))).flatten(-2)


# %% wrong frequency-per-column: D frequencies
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(D, dtype=x.dtype) / D)
    across = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * angles.cos() + across * angles.sin()


# %% wrong frequency-per-column: in a loop over columns
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    columns = []
    for j in range(D):
        theta = positions * base ** (-2 * j / D)
        cos, sin = torch.cos(theta).to(x.dtype), torch.sin(theta).to(x.dtype)
        if j % 2 == 0:
            columns.append(x[..., j] * cos - x[..., j + 1] * sin)
        else:
            columns.append(x[..., j - 1] * sin + x[..., j] * cos)
    return torch.stack(columns, -1)


# %% wrong frequency-per-column: angles repeated as for halves
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = (positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)).repeat(1, 2)
    across = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * angles.cos() + across * angles.sin()


# %% wrong positions-from-zero: arange
def apply_rope(x, positions, base=10000.0):
    T, D = x.shape[-2:]
    angles = torch.arange(T)[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong positions-from-zero: only their number is used
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rows = []
    for t in range(len(positions)):
        angles = t * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
        a, b = x[..., t, ::2], x[..., t, 1::2]
        rows.append(torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1))
    return torch.stack(rows, -3).flatten(-2)


# %% wrong positions-from-zero: counted from the first of them
def apply_rope(x, positions, base=10000.0):
    head_dim = x.shape[-1]
    rates = base ** -(torch.arange(0, head_dim, 2, dtype=x.dtype) / head_dim)
    angles = torch.outer((positions - positions[0]).to(x.dtype), rates)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).flatten(-2)


# %% wrong exponent-doubled: 2i counted twice
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-2 * torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong exponent-doubled: divided by the number of pairs
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, D, 2, dtype=x.dtype) / (D // 2))
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


# %% wrong exponent-halved: i over D
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(D // 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong exponent-halved: in a loop
def apply_rope(x, positions, base=10000.0):
    pairs = []
    for i in range(x.shape[-1] // 2):
        theta = positions.to(x.dtype) * base ** (-i / x.shape[-1])
        a, b = x[..., 2 * i], x[..., 2 * i + 1]
        pairs += [a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()]
    return torch.stack(pairs, -1)


# %% wrong overwritten-too-early: the same name
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b = x[..., ::2], x[..., 1::2]
    a = a * angles.cos() - b * angles.sin()
    b = a * angles.sin() + b * angles.cos()
    return torch.stack((a, b), -1).flatten(-2)


# %% wrong overwritten-too-early: in a clone
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    out = x.clone()
    for i in range(0, D, 2):
        theta = positions.to(x.dtype) * base ** (-i / D)
        out[..., i] = out[..., i] * theta.cos() - out[..., i + 1] * theta.sin()
        out[..., i + 1] = out[..., i] * theta.sin() + out[..., i + 1] * theta.cos()
    return out


# %% wrong base-ignored: 10000 written into the formula
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * 10000.0 ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong base-ignored: exp and log
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = torch.exp(-math.log(10000.0) / D * torch.arange(0, D, 2, dtype=x.dtype))
    angles = positions[:, None] * rate
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack(
        [even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], -1
    ).reshape(x.shape)


# %% wrong changes-argument: turned in place
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    with torch.no_grad():
        for i in range(0, D, 2):
            theta = positions.to(x.dtype) * base ** (-i / D)
            a, b = x[..., i].clone(), x[..., i + 1].clone()
            x[..., i] = a * theta.cos() - b * theta.sin()
            x[..., i + 1] = a * theta.sin() + b * theta.cos()
    return x


# %% wrong gradient-cut: no_grad
@torch.no_grad()
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong dtype-changed: to float32 and not back
def apply_rope(x, positions, base=10000.0):
    x = x.float()
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong dtype-changed: always float64
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions.double()[:, None] * base ** (-torch.arange(0, D, 2).double() / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong wrong-shape: pairs left on an axis of their own
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1)


# %% wrong wrong-type: two halves as a tuple
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return a * c - b * s, a * s + b * c


# %% wrong returns-nothing: no return
def apply_rope(x, positions, base=10000.0):
    x * positions[:, None].cos()


# %% wrong added-instead-of-turned: sinusoidal encoding added instead
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    return x + torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)


# %% wrong frequency-multiplied: frequencies that grow
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong -: positions from one
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = (positions + 1)[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong half-of-each: cosines only
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    return x * angles.cos().repeat_interleave(2, -1)


# %% wrong -: mirrored in place of turned
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c + b * s, a * s - b * c), -1).flatten(-2)


# %% wrong -: two axes only
def apply_rope(x, positions, base=10000.0):
    T, D = x.shape
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b, c, s = x[:, ::2], x[:, 1::2], angles.cos(), angles.sin()
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


# %% wrong frequency-multiplied: the minus forgotten
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = positions[:, None] * base ** (torch.arange(0, D, 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong frequency-multiplied: in one table
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% wrong both-signs-alike: plus
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, D, 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() + b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong both-signs-alike: minus
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, b * cos - a * sin), dim=-1).flatten(-2)


# %% wrong sin-cos-swapped: in the formula
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, D, 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.sin() - b * t.cos(), a * t.cos() + b * t.sin()], -1).flatten(-2)


# %% wrong sin-cos-swapped: by their names
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates)
    sin, cos = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% wrong half-of-each: cosine and sine
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = positions[:, None] * base ** (-torch.arange(0, D, 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos(), b * t.sin()], -1).flatten(-2)


# %% wrong half-of-each: cosines only, of both
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos, b * cos), dim=-1).flatten(-2)


# %% wrong one-frequency-for-all: the position
def apply_rope(x, positions, base=10000.0):
    t = positions[:, None] * 1.0
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong one-frequency-for-all: ones
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = torch.ones(width // 2, dtype=x.dtype)
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% wrong first-pair-only: in a clone
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    out = x.clone()
    t = positions * 1.0
    out[..., 0] = x[..., 0] * t.cos() - x[..., 1] * t.sin()
    out[..., 1] = x[..., 0] * t.sin() + x[..., 1] * t.cos()
    return out


# %% wrong first-pair-only: in a list
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    out = [x[..., i] for i in range(width)]
    out[0] = a[..., 0] * cos[:, 0] - b[..., 0] * sin[:, 0]
    out[1] = a[..., 0] * sin[:, 0] + b[..., 0] * cos[:, 0]
    return torch.stack(out, -1)


# %% wrong degrees-instead-of-radians: a function
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = torch.deg2rad(positions[:, None] * base ** (-torch.arange(0, D, 2) / D))
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong degrees-instead-of-radians: by hand
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = torch.outer(positions.to(x.dtype), rates) * math.pi / 180
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% wrong width-of-another-axis: axis 1
def apply_rope(x, positions, base=10000.0):
    D = x.shape[1]
    t = positions[:, None] * base ** (-torch.arange(0, x.shape[-1], 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong width-of-another-axis: axis 0
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / len(x))
    angle = torch.outer(positions.to(x.dtype), rates)
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% wrong positions-without-axis: times the rates
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    t = positions * base ** (-torch.arange(0, D, 2) / D)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], -1).flatten(-2)


# %% wrong positions-without-axis: the rates first
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    angle = rates * positions
    cos, sin = angle.cos(), angle.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% right: complex numbers by torch.polar
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    a = positions[:, None].double() * base ** (-torch.arange(0, D, 2).double() / D)
    z = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(a), a)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


# %% right: a matrix for each pair
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    a = positions.to(x.dtype)[:, None] / base ** (torch.arange(0, D, 2, dtype=x.dtype) / D)
    R = torch.stack([torch.stack([a.cos(), -a.sin()], -1), torch.stack([a.sin(), a.cos()], -1)], -2)
    return torch.einsum("tpij,...tpj->...tpi", R, x.unflatten(-1, (-1, 2))).flatten(-2)


# %% wrong -: positions in bfloat16
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    theta = positions.bfloat16().double()[:, None] * rates
    cos, sin = theta.cos().to(x.dtype), theta.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


# %% wrong -: positions in one byte
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    theta = positions.to(torch.uint8).double()[:, None] * rates
    cos, sin = theta.cos().to(x.dtype), theta.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


# %% right: everything in float32
def apply_rope(x, positions, base=10000.0):
    width = x.shape[-1]
    rates = torch.exp(-torch.arange(0, width, 2).float() / width * math.log(base))
    theta = positions.float()[:, None] * rates
    cos, sin = theta.cos(), theta.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)
