# %% prelude
import math

import torch


# %% right: a list of gradients
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% right: one long vector
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in parameters]).norm().item()
    if norm > max_norm:
        for p in parameters:
            p.grad *= max_norm / norm
    return norm


# %% right: norms of norms, a factor of at most one
@torch.no_grad()
def clip_gradients(parameters, max_norm):
    parameters = list(parameters)
    norms = [torch.linalg.vector_norm(p.grad) for p in parameters if p.grad is not None]
    total = torch.stack(norms).norm()
    factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(factor)
    return float(total)


# %% right: copied into the old gradient
def clip_gradients(parameters, max_norm):
    kept, total = [], 0.0
    for p in parameters:
        if p.grad is None:
            continue
        kept.append(p)
        total += float((p.grad**2).sum())
    norm = total**0.5
    scale = min(1.0, max_norm / norm) if norm > 0 else 1.0
    for p in kept:
        p.grad.copy_(p.grad * scale)
    return norm


# %% wrong norm-of-the-weights: the data of the parameters
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(p.data.square().sum().item() for p in parameters))
    if norm > max_norm:
        for p in parameters:
            p.grad.mul_(max_norm / norm)
    return norm


# %% wrong norm-of-the-weights: the parameters in one vector
def clip_gradients(parameters, max_norm):
    parameters = list(parameters)
    norm = torch.cat([p.detach().flatten() for p in parameters]).norm().item()
    for p in parameters:
        if p.grad is not None:
            p.grad *= min(1.0, max_norm / norm)
    return norm


# %% wrong replaced-gradients: a new gradient assigned
def clip_gradients(parameters, max_norm):
    parameters = tuple(parameters)
    norm = sum((p.grad.double() ** 2).sum() for p in parameters if p.grad is not None).sqrt().item()
    if max_norm < norm:
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad * (max_norm / norm)
    return norm


# %% wrong replaced-gradients: a new tensor each time
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in parameters]).norm().item()
    for p in parameters:
        p.grad = p.grad * min(1.0, max_norm / norm)
    return norm


# %% right: the data of the gradient
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = sum((p.grad.double() ** 2).sum() for p in parameters).sqrt().item()
    if max_norm < norm:
        for p in parameters:
            p.grad.data = p.grad.data * (max_norm / norm)
    return norm


# %% wrong clipped-one-by-one: each by its own norm
def clip_gradients(parameters, max_norm):
    total = 0.0
    for p in parameters:
        if p.grad is not None:
            norm = p.grad.norm().item()
            total += norm**2
            if norm > max_norm:
                p.grad.mul_(max_norm / norm)
    return math.sqrt(total)


# %% wrong clipped-one-by-one: with min
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = [g.norm() for g in gradients]
    for g, norm in zip(gradients, norms):
        g *= min(1.0, max_norm / norm.item())
    return torch.stack(norms).norm().item()


# %% wrong always-rescaled: no question
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for g in gradients:
        g.mul_(max_norm / norm)
    return norm


# %% wrong always-rescaled: normalised first
def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in parameters]).norm().item()
    for p in parameters:
        p.grad = p.grad / norm * max_norm
    return norm


# %% wrong rescaled-where-small: less than
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm < max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong rescaled-where-small: max for min
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    for g in gradients:
        g *= max(1.0, max_norm / norm)
    return norm


# %% wrong values-clamped: clamp_
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for g in gradients:
        g.clamp_(-max_norm, max_norm)
    return norm


# %% wrong values-clamped: only where the norm is large
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    if norm > max_norm:
        for g in gradients:
            g.copy_(torch.clip(g, -max_norm, max_norm))
    return norm


# %% wrong divided-by-the-norm: max_norm forgotten
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.div_(norm)
    return norm


# %% wrong divided-by-the-norm: always
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for g in gradients:
        g /= norm
    return norm


# %% wrong factor-upside-down: norm over max_norm
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(norm / max_norm)
    return norm


# %% wrong factor-upside-down: divided by the right factor
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    factor = min(1.0, max_norm / norm)
    for g in gradients:
        g /= factor
    return norm


# %% wrong norms-added: sum of norms
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(g.norm().item() for g in gradients)
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong norms-added: a root for each
def clip_gradients(parameters, max_norm):
    gradients, norm = [], 0.0
    for p in parameters:
        if p.grad is not None:
            gradients.append(p.grad)
            norm += math.sqrt((p.grad**2).sum())
    for g in gradients:
        g *= min(1, max_norm / norm)
    return norm


# %% wrong root-forgotten: sum of squares
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(g.square().sum().item() for g in gradients)
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong root-forgotten: dot product
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    vector = torch.cat([g.reshape(-1) for g in gradients])
    norm = float(vector @ vector)
    factor = min(1.0, max_norm / norm)
    for g in gradients:
        g.mul_(factor)
    return norm


# %% wrong largest-norm: max of norms
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = max(g.norm().item() for g in gradients)
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong largest-norm: the largest entry
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = max(g.abs().max().item() for g in gradients)
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong sum-of-absolutes: abs
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(g.abs().sum().item() for g in gradients)
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong sum-of-absolutes: norm of another kind
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm(p=1).item()
    factor = min(1.0, max_norm / norm)
    for g in gradients:
        g *= factor
    return norm


# %% wrong returns-norm-after: computed at the end
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return torch.cat([g.flatten() for g in gradients]).norm().item()


# %% wrong returns-norm-after: the smaller of two
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for g in gradients:
        g *= min(1.0, max_norm / norm)
    return min(norm, max_norm)


# %% wrong walked-over-twice: two loops
def clip_gradients(parameters, max_norm):
    total = sum(p.grad.square().sum().item() for p in parameters if p.grad is not None)
    norm = math.sqrt(total)
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(max_norm / norm)
    return norm


# %% wrong walked-over-twice: comprehension and loop
def clip_gradients(parameters, max_norm):
    norm = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]).norm().item()
    factor = min(1.0, max_norm / norm)
    for p in parameters:
        if p.grad is not None:
            p.grad *= factor
    return norm


# %% wrong none-not-expected: no question
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong none-not-expected: only in the first loop
def clip_gradients(parameters, max_norm):
    parameters = list(parameters)
    norm = math.sqrt(sum((p.grad**2).sum().item() for p in parameters if p.grad is not None))
    if norm > max_norm:
        for p in parameters:
            p.grad.mul_(max_norm / norm)
    return norm


# %% wrong grad-not-changed: a new tensor
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g = g * max_norm / norm
    return norm


# %% wrong grad-not-changed: mul without its underscore
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    if norm > max_norm:
        gradients = [g.mul(max_norm / norm) for g in gradients]
    return norm


# %% wrong excluded-function: clip_grad_norm_
def clip_gradients(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()


# %% wrong excluded-function: looked up by name
def clip_gradients(parameters, max_norm):
    parameters = list(parameters)
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))
    getattr(torch.nn.utils, "clip_grad_" + "norm_")(parameters, max_norm)
    return norm


# %% wrong excluded-function: its other half
def clip_gradients(parameters, max_norm):
    from torch.nn.utils.clip_grad import _clip_grads_with_norm_

    parameters = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in parameters]).norm()
    _clip_grads_with_norm_(parameters, max_norm, norm)
    return norm.item()


# %% wrong excluded-function: clip_grad_value_
def clip_gradients(parameters, max_norm):
    torch.nn.utils.clip_grad_value_(list(parameters), max_norm)
    return max_norm


# %% wrong -: half of max_norm
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm / 2)
    return norm


# %% wrong -: the first gradient left out
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients[1:]))
    if norm > max_norm:
        for g in gradients[1:]:
            g.mul_(max_norm / norm)
    return norm


# %% wrong -: parameters scaled as well
def clip_gradients(parameters, max_norm):
    parameters = list(parameters)
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
        for p in parameters:
            p.data.mul_(max_norm / norm)
    return norm


# %% wrong wrong-type: a tensor
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return norm


# %% wrong returns-nothing: no return
def clip_gradients(parameters, max_norm):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)


# %% wrong weights-rescaled: p.data
def clip_gradients(parameters, max_norm):
    ps = [p for p in parameters if p.grad is not None]
    n = math.sqrt(sum(p.grad.pow(2).sum().item() for p in ps))
    if n > max_norm:
        for p in ps:
            p.data.mul_(max_norm / n)
    return n


# %% wrong weights-rescaled: p.copy_ without gradients
def clip_gradients(parameters, max_norm):
    kept = [p for p in parameters if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in kept]).norm().item()
    with torch.no_grad():
        for p in kept:
            p.copy_(p * min(1.0, max_norm / norm))
    return norm


# %% right: foreach on all gradients
def clip_gradients(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in grads])).item() if grads else 0.0
    if norm > max_norm:
        torch._foreach_mul_(grads, max_norm / norm)
    return norm


# %% wrong divided-by-zero: the smaller of 1 and a quotient
def clip_gradients(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = sum(g.pow(2).sum() for g in grads).sqrt().item()
    factor = min(1.0, max_norm / norm)
    for g in grads:
        g.mul_(factor)
    return norm


# %% wrong divided-by-zero: directions first
def clip_gradients(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.cat([g.flatten() for g in grads]).norm()
    for g in grads:
        g.copy_(g / norm * norm.clamp(max=max_norm))
    return norm.item()


# %% right: with PyTorch's small number in the divisor
def clip_gradients(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor)
    return norm.item()
