# %% prelude
import math

import numpy as np
import torch


# %% right: the formula
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% right: two branches
def noam_rate(step, d_model, warmup_steps):
    peak = 1 / math.sqrt(d_model * warmup_steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * math.sqrt(warmup_steps / step)


# %% right: NumPy
def noam_rate(step, d_model, warmup_steps):
    return np.minimum(1 / np.sqrt(step), step / warmup_steps**1.5) / np.sqrt(d_model)


# %% right: torch, with item
def noam_rate(step, d_model, warmup_steps):
    step = torch.tensor(float(step))
    rates = torch.stack([step.rsqrt(), step / warmup_steps**1.5])
    return (rates.min() * d_model**-0.5).item()


# %% right: logarithms
def noam_rate(step, d_model, warmup_steps):
    return math.exp(
        -0.5 * math.log(d_model) + min(-0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup_steps))
    )


# %% wrong warmup-forgotten: the root alone
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


# %% wrong warmup-forgotten: branches alike
def noam_rate(step, d_model, warmup_steps):
    return 1 / math.sqrt(d_model * max(step, 1))


# %% wrong decay-forgotten: the line alone
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * step * warmup_steps**-1.5


# %% wrong decay-forgotten: level after the warm-up
def noam_rate(step, d_model, warmup_steps):
    step = min(step, warmup_steps)
    return step / (d_model**0.5 * warmup_steps**1.5)


# %% wrong exponent-sign: of the width
def noam_rate(step, d_model, warmup_steps):
    return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong exponent-sign: of the step
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**0.5, step * warmup_steps**-1.5)


# %% wrong warmup-forgotten: in effect, by the sign of the warm-up's power
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(1 / math.sqrt(step), step * warmup_steps**1.5)


# %% wrong exponent-sign: of all
def noam_rate(step, d_model, warmup_steps):
    return d_model**0.5 * min(step**0.5, step * warmup_steps**1.5)


# %% wrong max-instead-of-min: max
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


# %% wrong max-instead-of-min: branches swapped
def noam_rate(step, d_model, warmup_steps):
    rate = step**-0.5 if step < warmup_steps else step * warmup_steps**-1.5
    return rate / d_model**0.5


# %% wrong width-forgotten: not used
def noam_rate(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong width-forgotten: to the power 0
def noam_rate(step, d_model, warmup_steps):
    return d_model**0 * min(1 / step**0.5, step / warmup_steps**1.5)


# %% wrong warmup-slope: the wrong root
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


# %% wrong steps-counted-wrong: one step late
def noam_rate(step, d_model, warmup_steps):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong -: a sum
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * (step**-0.5 + step * warmup_steps**-1.5)


# %% wrong -: a constant
def noam_rate(step, d_model, warmup_steps):
    return 0.001


# %% wrong -: linear decay
def noam_rate(step, d_model, warmup_steps):
    peak = (d_model * warmup_steps) ** -0.5
    return peak * min(step / warmup_steps, warmup_steps / step)


# %% wrong wrong-type: a tensor
def noam_rate(step, d_model, warmup_steps):
    return torch.tensor(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


# %% wrong returns-nothing: printed
def noam_rate(step, d_model, warmup_steps):
    print(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


# %% wrong raised: torch on numbers
def noam_rate(step, d_model, warmup_steps):
    return torch.sqrt(d_model) * step


# %% wrong not-finite: infinite
def noam_rate(step, d_model, warmup_steps):
    return float("inf")


# %% wrong warmup-forgotten: constant until warm
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step, warmup_steps) ** -0.5


# %% right: np.float32
def noam_rate(step, d_model, warmup_steps):
    return np.float32(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


# %% wrong decay-forgotten: plateau of d_model
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(1.0, step / warmup_steps)


# %% wrong warmup-slope: in two branches
def noam_rate(step, d_model, warmup_steps):
    if step < warmup_steps:
        return step / warmup_steps * d_model**-0.5
    return d_model**-0.5 * step**-0.5


# %% wrong warmup-slope: another exponent
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


# %% wrong warmup-slope: in two branches, another exponent
def noam_rate(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return d_model**-0.5 * step * warmup_steps**-0.5
    return d_model**-0.5 * step**-0.5


# %% wrong power-precedence: in all three
def noam_rate(step, d_model, warmup_steps):
    return d_model**-1 / 2 * min(step**-1 / 2, step * warmup_steps**-3 / 2)


# %% wrong power-precedence: in one
def noam_rate(step, d_model, warmup_steps):
    return d_model ** (-0.5) * min(step**-1 / 2, step * warmup_steps**-1.5)


# %% wrong root-of-width-forgotten: in front
def noam_rate(step, d_model, warmup_steps):
    return 1 / d_model * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong root-of-width-forgotten: behind
def noam_rate(step, d_model, warmup_steps):
    return min(1 / math.sqrt(step), step / warmup_steps**1.5) / d_model


# %% wrong width-in-one-branch: inside min
def noam_rate(step, d_model, warmup_steps):
    return min(d_model**-0.5 * step**-0.5, step * warmup_steps**-1.5)


# %% wrong width-in-one-branch: the decay only
def noam_rate(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return step * warmup_steps**-1.5
    return d_model**-0.5 * step**-0.5


# %% wrong width-in-one-branch: the rise only
def noam_rate(step, d_model, warmup_steps):
    rise = d_model**-0.5 * step * warmup_steps**-1.5
    return min(step**-0.5, rise)


# %% wrong peak-too-high: in two branches
def noam_rate(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return d_model**-0.5 * step / warmup_steps
    return d_model**-0.5 * (warmup_steps / step) ** 0.5


# %% wrong peak-too-high: min
def noam_rate(step, d_model, warmup_steps):
    peak = d_model**-0.5
    return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))


# %% wrong steps-counted-wrong: from 0
def noam_rate(step, d_model, warmup_steps):
    step = step - 1
    return d_model**-0.5 * min(max(step, 1) ** -0.5, step * warmup_steps**-1.5)


# %% wrong steps-counted-wrong: one more
def noam_rate(step, d_model, warmup_steps):
    now = step + 1
    if now <= warmup_steps:
        return now * warmup_steps**-1.5 / math.sqrt(d_model)
    return 1 / math.sqrt(now * d_model)


# %% wrong decay-restarts: the difference
def noam_rate(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return d_model**-0.5 * step * warmup_steps**-1.5
    return d_model**-0.5 * (step - warmup_steps) ** -0.5


# %% wrong decay-restarts: by another name
def noam_rate(step, d_model, warmup_steps):
    if step > warmup_steps:
        since = step - warmup_steps
        return 1 / math.sqrt(d_model * since)
    return step / warmup_steps**1.5 / math.sqrt(d_model)


# %% wrong fixed-number: 4000
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)


# %% wrong fixed-number: 512
def noam_rate(step, d_model, warmup_steps):
    return 512**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup-forgotten: the step is missing in the line
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, warmup_steps**-1.5)


# %% wrong decay-too-fast: one over the step
def noam_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-1.0, step * warmup_steps**-1.5)


# %% wrong decay-too-fast: in a branch
def noam_rate(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return step * warmup_steps**-1.5 / d_model**0.5
    return 1 / step / d_model**0.5
