# %% prelude
import math

import numpy as np
import torch
from torch import Tensor


# %% right: strided columns
def sinusoidal_encoding(seq_len: int, d_model: int) -> Tensor:
    if d_model % 2 != 0:
        raise ValueError(f"d_model={d_model} is odd")
    angles = torch.arange(seq_len).unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    encoding = torch.empty(seq_len, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


# %% right: exp and log, as often seen
def sinusoidal_encoding(seq_len, d_model):
    if d_model & 1:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


# %% right: number by number
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError(d_model)
    rows = []
    for pos in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% right: stack and flatten
def sinusoidal_encoding(seq_len, d_model):
    print("d_model", d_model)
    if d_model != 2 * (d_model // 2):
        raise ValueError("sine and cosine come in pairs")
    rates = torch.logspace(0, -4 * (d_model - 2) / d_model, d_model // 2)
    theta = torch.outer(torch.arange(seq_len, dtype=torch.float32), rates)
    return torch.stack([theta.sin(), theta.cos()], dim=-1).flatten(1)


# %% right: NumPy, then to torch's default
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2 == 1:
        raise ValueError(f"d_model must be even, got {d_model}")
    pos = np.arange(seq_len)[:, None]
    angle = pos / np.power(10000, 2 * (np.arange(d_model) // 2) / d_model)
    return torch.from_numpy(np.where(np.arange(d_model) % 2 == 0, np.sin(angle), np.cos(angle))).float()


# %% right: real and imaginary part
def sinusoidal_encoding(seq_len, d_model):
    assert_even(d_model)
    angles = torch.arange(seq_len)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    turned = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flip(-1).reshape(seq_len, d_model)


def assert_even(n):
    if n % 2:
        raise ValueError(f"{n} is odd")


# %% right: computed in float64
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    i = torch.arange(d_model, dtype=torch.float64) // 2
    phase = torch.arange(d_model) % 2 * math.pi / 2  # a cosine is a sine a quarter turn ahead
    angles = torch.arange(seq_len, dtype=torch.float64)[:, None] / 10000 ** (2 * i / d_model)
    return torch.sin(angles + phase).to(torch.get_default_dtype())


# %% wrong frequency-per-column: 2c / d in every column
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    for t in range(seq_len):
        for c in range(d_model):
            angle = t / 10000 ** (2 * c / d_model)
            pe[t, c] = math.sin(angle) if c % 2 == 0 else math.cos(angle)
    return pe


# %% wrong exponent-doubled: 2i counted twice
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    angles = torch.arange(seq_len)[:, None] / 10000 ** (2 * torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


# %% wrong exponent-doubled: a loop over even columns
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (2 * i / d_model))
    return pe


# %% wrong exponent-doubled: exp and log
def sinusoidal_encoding(seq_len, d_model):
    rate = torch.exp(-2 * torch.arange(0, d_model, 2) * math.log(10000.0) / d_model)
    angle = torch.arange(seq_len)[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), -1).reshape(seq_len, -1)


# %% wrong frequency-per-column: as printed in a well-known example, with 2(i + 1)
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (2 * (i + 1) / d_model))
    return pe


# %% wrong exponent-halved: i over d_model
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(d_model // 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong exponent-halved: a loop over pairs
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    pos = torch.arange(seq_len).float()
    for i in range(d_model // 2):
        pe[:, 2 * i] = torch.sin(pos / 10000 ** (i / d_model))
        pe[:, 2 * i + 1] = torch.cos(pos / 10000 ** (i / d_model))
    return pe


# %% wrong frequency-per-column: every column's own number
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(d_model) / d_model)
    angle[:, 0::2] = angle[:, 0::2].sin()
    angle[:, 1::2] = angle[:, 1::2].cos()
    return angle


# %% wrong frequency-per-column: a loop with if
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    for pos in range(seq_len):
        for j in range(d_model):
            wave = math.sin if j % 2 == 0 else math.cos
            pe[pos, j] = wave(pos / 10000 ** (j / d_model))
    return pe


# %% wrong frequency-multiplied: times in place of divided by
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    angle = torch.arange(seq_len)[:, None] * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


# %% wrong frequency-multiplied: divided by the inverse
def sinusoidal_encoding(seq_len, d_model):
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angle = torch.arange(seq_len)[:, None] / div_term
    return torch.stack((angle.sin(), angle.cos()), -1).reshape(seq_len, -1)


# %% wrong frequency-multiplied: the minus forgotten
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


# %% wrong sin-cos-swapped: cosine first
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.cos(), angle.sin()), -1).flatten(1)


# %% wrong sin-cos-swapped: slices the other way round
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, 1::2], pe[:, 0::2] = angle.sin(), angle.cos()
    return pe


# %% wrong halves-instead-of-interleaved: concatenated
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


# %% wrong halves-instead-of-interleaved: sliced in halves
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    half = d_model // 2
    angle = torch.outer(torch.arange(seq_len).float(), 10000 ** (-torch.arange(half) / half))
    pe[:, :half] = torch.sin(angle)
    pe[:, half:] = torch.cos(angle)
    return pe


# %% wrong halves-instead-of-interleaved: with the frequencies of tensor2tensor
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    half = d_model // 2
    rates = torch.exp(torch.arange(half) * -(math.log(10000.0) / max(half - 1, 1)))
    angles = torch.arange(seq_len)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1)


# %% wrong starts-at-one: arange from 1
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(1, seq_len + 1)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong starts-at-one: a row made and thrown away
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.arange(seq_len + 1)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[1:]


# %% wrong dtype-changed: NumPy's precision
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = np.arange(seq_len)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return torch.from_numpy(np.stack((np.sin(angle), np.cos(angle)), -1).reshape(seq_len, d_model))


# %% wrong dtype-changed: float64 on purpose
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len).double()[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong wrong-shape: a batch axis
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1).unsqueeze(0)


# %% wrong wrong-shape: transposed
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1).T


# %% wrong returns-nothing: no return
def sinusoidal_encoding(seq_len, d_model):
    torch.zeros(seq_len, d_model)


# %% wrong wrong-type: an array
def sinusoidal_encoding(seq_len, d_model):
    return np.zeros((seq_len, d_model))


# %% wrong raised: always refused
def sinusoidal_encoding(seq_len, d_model):
    raise ValueError("odd")


# %% wrong -: no error for an odd width
def sinusoidal_encoding(seq_len, d_model):
    pairs = (d_model + 1) // 2
    angle = torch.arange(seq_len)[:, None] / 10000 ** (2 * torch.arange(pairs) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :d_model]


# %% wrong -: RuntimeError for an odd width
def sinusoidal_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


# %% wrong exponent-rounded: floor division by precedence
def sinusoidal_encoding(seq_len, d_model):
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model // 2))
    angle = torch.arange(seq_len)[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong another-base: base 1000
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.arange(seq_len)[:, None] / 1000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong exponent-rounded: all angles the same
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) // d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong -: degrees
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.deg2rad(torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong one-wave-only: sines only
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return angle.sin().repeat_interleave(2, dim=-1)


# %% wrong -: sines and cosines in three columns only
def sinusoidal_encoding(seq_len, d_model):
    angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, 6, 2) / 6)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# %% wrong another-base: 1000
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(seq_len).unsqueeze(1)
    div = 1000 ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos / div)
    pe[:, 1::2] = torch.cos(pos / div)
    return pe


# %% wrong another-base: 100 000
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / 100000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% wrong another-base: log10
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    a = torch.arange(seq_len)[:, None] * torch.exp(torch.arange(0, d_model, 2) * (-math.log10(10000.0) / d_model))
    return torch.stack([a.sin(), a.cos()], -1).reshape(seq_len, d_model)


# %% wrong exponent-rounded: by precedence
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(seq_len).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2) * -math.log(10000.0) / d_model // 2)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


# %% wrong exponent-rounded: floor division
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(seq_len).unsqueeze(1)
    div = 10000 ** (torch.arange(0, d_model, 2) // d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos / div)
    pe[:, 1::2] = torch.cos(pos / div)
    return pe


# %% wrong one-wave-only: sine
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(seq_len).unsqueeze(1)
    div = 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos / div)
    pe[:, 1::2] = torch.sin(pos / div)
    return pe


# %% wrong one-wave-only: cosine
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            row += [math.cos(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% wrong waves-by-row: a loop
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pe = torch.zeros(seq_len, d_model)
    for p in range(seq_len):
        for i in range(d_model):
            a = p / 10000 ** (2 * (i // 2) / d_model)
            pe[p, i] = math.sin(a) if p % 2 == 0 else math.cos(a)
    return pe


# %% wrong waves-by-row: both columns of a pair
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            row += [math.cos(angle)] * 2 if t % 2 else [math.sin(angle)] * 2
        rows.append(row)
    return torch.tensor(rows)


# %% wrong divided-by-length: all columns at once
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(seq_len).unsqueeze(1)
    div = 10000 ** (torch.arange(0, d_model, 2) / seq_len)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(pos / div)
    pe[:, 1::2] = torch.cos(pos / div)
    return pe


# %% wrong divided-by-length: a loop
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / seq_len)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% wrong positions-scaled: between 0 and 1
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    a = (torch.arange(seq_len) / seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).reshape(seq_len, d_model)


# %% wrong positions-scaled: a loop
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / seq_len / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% wrong reshaped-instead-of-interleaved: stacked in front
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    a = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()]).reshape(seq_len, d_model)


# %% wrong reshaped-instead-of-interleaved: joined below each other
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError("d_model should be even")
    rows = []
    for t in range(seq_len):
        row = []
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    table = torch.tensor(rows)
    return torch.cat([table[:, 0::2], table[:, 1::2]]).view(seq_len, d_model)


# %% right: complex numbers by torch.polar
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError(f"odd {d_model}")
    a = torch.outer(
        torch.arange(seq_len, dtype=torch.float64),
        10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model),
    )
    z = torch.polar(torch.ones_like(a), a)
    return torch.stack([z.imag, z.real], -1).flatten(1).to(torch.get_default_dtype())


# %% wrong -: degrees taken for radians
def sinusoidal_encoding(seq_len, d_model):
    if d_model % 2:
        raise ValueError(f"odd {d_model}")
    a = torch.arange(seq_len)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    a = torch.deg2rad(a)
    return torch.stack([a.sin(), a.cos()], -1).flatten(1)
