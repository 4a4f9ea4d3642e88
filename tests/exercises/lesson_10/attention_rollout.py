# %% prelude
import functools

import numpy as np
import torch


# %% right: a loop, each layer in front
def attention_rollout(layers):
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype)
    mixed = (layers + identity) / 2
    mixed = mixed / mixed.sum(dim=-1, keepdim=True)
    rolled = identity
    for layer in mixed:
        rolled = layer @ rolled
    return rolled


# %% right: rows of the sum normalised, no half needed
def attention_rollout(layers: torch.Tensor) -> torch.Tensor:
    added = layers + torch.eye(layers.shape[1]).to(layers)
    mixed = torch.nn.functional.normalize(added, p=1, dim=-1)
    return functools.reduce(lambda rolled, layer: layer @ rolled, mixed)


# %% right: attention weights sum to one already, so half of each is enough
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for a in layers:
        rolled = 0.5 * (a @ rolled) + 0.5 * rolled
    return rolled


# %% right: from the last layer down
def attention_rollout(layers):
    length = layers.size(-1)
    result = None
    for k in range(len(layers) - 1, -1, -1):
        r = (layers[k] + torch.eye(length, dtype=layers.dtype)) / 2
        r = r / r.sum(-1, keepdim=True)
        result = r if result is None else result @ r
    return result


# %% right: multi_dot
def attention_rollout(layers):
    mixed = (layers + torch.diag_embed(torch.ones_like(layers[..., 0]))) / 2
    mixed = mixed / mixed.sum(-1, keepdim=True)
    return mixed[0] if len(mixed) == 1 else torch.linalg.multi_dot(list(mixed.flip(0)))


# %% right: einsum, recursion
def attention_rollout(layers):
    a = layers[-1].clone()
    a = torch.stack([0.5 * row + 0.5 * torch.eye(len(row), dtype=row.dtype)[i] for i, row in enumerate(a)])
    if len(layers) == 1:
        return a
    return torch.einsum("ij,jk->ik", a, attention_rollout(layers[:-1]))


# %% right: column by column of the result
def attention_rollout(layers):
    columns = []
    for start in torch.eye(layers.shape[-1], dtype=layers.dtype):
        for a in layers:
            start = (a @ start + start) / 2
        columns.append(start)
    return torch.stack(columns, dim=1)


# %% wrong identity-forgotten: a product of the weights
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = layer @ rolled
    return rolled


# %% wrong identity-forgotten: reduced
def attention_rollout(layers):
    return functools.reduce(lambda rolled, layer: layer @ rolled, layers)


# %% wrong identity-forgotten: and in the wrong order
def attention_rollout(layers):
    return functools.reduce(torch.matmul, layers)


# %% wrong identity-forgotten: halved and normalised all the same
def attention_rollout(layers):
    mixed = layers / 2
    mixed = mixed / mixed.sum(-1, keepdim=True)
    rolled = mixed[0]
    for layer in mixed[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong order-reversed: the new layer behind
def attention_rollout(layers):
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype)
    rolled = identity
    for layer in layers:
        rolled = rolled @ ((layer + identity) / 2)
    return rolled


# %% wrong order-reversed: reduced with matmul
def attention_rollout(layers):
    mixed = (layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2
    return functools.reduce(torch.matmul, mixed / mixed.sum(-1, keepdim=True))


# %% wrong order-reversed: multi_dot without flip
def attention_rollout(layers):
    mixed = (layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2
    return mixed[0] if len(mixed) == 1 else torch.linalg.multi_dot(list(mixed))


# %% wrong averaged-instead: mean of the mixtures
def attention_rollout(layers):
    return ((layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2).mean(0)


# %% wrong averaged-instead: mean of the weights
def attention_rollout(layers):
    return layers.mean(dim=0)


# %% wrong averaged-instead: added up in a loop
def attention_rollout(layers):
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype)
    total = torch.zeros_like(identity)
    for layer in layers:
        total = total + (layer + identity) / 2
    return total / len(layers)


# %% wrong not-halved: neither halved nor normalised
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = layer @ rolled + rolled
    return rolled


# %% wrong not-halved: a product of sums
def attention_rollout(layers):
    added = layers + torch.eye(layers.shape[-1], dtype=layers.dtype)
    return functools.reduce(lambda rolled, layer: layer @ rolled, added)


# %% wrong columns-normalised: sum over the wrong axis
def attention_rollout(layers):
    mixed = (layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2
    mixed = mixed / mixed.sum(dim=-2, keepdim=True)
    rolled = mixed[0]
    for layer in mixed[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong columns-normalised: F.normalize along axis 1
def attention_rollout(layers):
    mixed = torch.nn.functional.normalize(layers + torch.eye(layers.shape[-1], dtype=layers.dtype), p=1, dim=1)
    return functools.reduce(lambda rolled, layer: layer @ rolled, mixed)


# %% wrong ones-for-identity: 1 added everywhere
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = (layer + 1) / 2 @ rolled
    return rolled


# %% wrong ones-for-identity: 1 added everywhere, then normalised
def attention_rollout(layers):
    mixed = (layers + torch.ones_like(layers)) / 2
    mixed = mixed / mixed.sum(-1, keepdim=True)
    rolled = mixed[0]
    for layer in mixed[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong one-layer-only: overwritten in the loop
def attention_rollout(layers):
    for layer in layers:
        rolled = (layer + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2
    return rolled


# %% wrong one-layer-only: the first
def attention_rollout(layers):
    return (layers[0] + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2


# %% wrong entries-multiplied: prod
def attention_rollout(layers):
    return ((layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2).prod(dim=0)


# %% wrong entries-multiplied: a star for an at sign
def attention_rollout(layers):
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype)
    rolled = (layers[0] + identity) / 2
    for layer in layers[1:]:
        rolled = (layer + identity) / 2 * rolled
    return rolled


# %% wrong changes-argument: added in place
def attention_rollout(layers):
    layers += torch.eye(layers.shape[-1], dtype=layers.dtype)
    layers /= 2
    rolled = layers[0]
    for layer in layers[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong gradient-cut: through NumPy
def attention_rollout(layers):
    rolled = np.eye(layers.shape[-1], dtype=layers.detach().numpy().dtype)
    for layer in layers.detach().numpy():
        rolled = (layer @ rolled + rolled) / 2
    return torch.from_numpy(rolled)


# %% wrong gradient-cut: detached
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers.detach():
        rolled = (layer @ rolled + rolled) / 2
    return rolled


# %% wrong dtype-changed: always single precision
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1])
    for layer in layers.float():
        rolled = (layer @ rolled + rolled) / 2
    return rolled


# %% wrong raised: the identity's dtype
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1])
    for layer in layers:
        rolled = (layer @ rolled + rolled) / 2
    return rolled


# %% wrong returns-nothing: no return
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = (layer @ rolled + rolled) / 2


# %% wrong wrong-shape: one matrix a layer
def attention_rollout(layers):
    mixed = (layers + torch.eye(layers.shape[-1], dtype=layers.dtype)) / 2
    return mixed @ mixed


# %% wrong -: transposed
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = (layer @ rolled + rolled) / 2
    return rolled.T


# %% wrong layer-lost: one layer left out
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers[:-1]:
        rolled = (layer @ rolled + rolled) / 2
    return rolled


# %% wrong -: the residual has a third
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = (2 * layer @ rolled + rolled) / 3
    return rolled


# %% wrong -: softmax once more
def attention_rollout(layers):
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in layers:
        rolled = (layer + torch.eye(layers.shape[-1], dtype=layers.dtype)).softmax(-1) @ rolled
    return rolled


# %% wrong first-layer-without-identity: the weights as they are
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = layers[0]
    for a in layers[1:]:
        out = (a + eye) / 2 @ out
    return out


# %% wrong first-layer-without-identity: a copy of them
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    mixed = (layers + eye) / 2
    rolled = layers[0].clone()
    for layer in mixed[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong first-layer-twice: the loop begins with it
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = (layers[0] + eye) / 2
    for a in layers:
        out = (a + eye) / 2 @ out
    return out


# %% wrong first-layer-twice: over all mixtures
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    mixed = (layers + eye) / 2
    rolled = mixed[0]
    for layer in mixed:
        rolled = layer @ rolled
    return rolled


# %% wrong layer-lost: the first
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = eye
    for a in layers[1:]:
        out = (a + eye) / 2 @ out
    return out


# %% wrong layer-lost: the last
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    mixed = (layers + eye) / 2
    rolled = mixed[0]
    for layer in mixed[1:-1]:
        rolled = layer @ rolled
    return rolled


# %% wrong start-not-identity: zeros
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = torch.zeros_like(eye)
    for a in layers:
        out = (a + eye) / 2 @ out
    return out


# %% wrong start-not-identity: ones
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = torch.ones_like(eye)
    for a in layers:
        out = (a + eye) / 2 @ out
    return out


# %% wrong half-misplaced: the identity
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = eye
    for a in layers:
        out = (a + eye / 2) @ out
    return out


# %% wrong half-misplaced: the weights
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = eye
    for a in layers:
        out = (a / 2 + eye) @ out
    return out


# %% wrong identity-at-the-end: to the product
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = eye
    for a in layers:
        out = a @ out
    return (out + eye) / 2


# %% wrong identity-at-the-end: to the first layer
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = (layers[0] + eye) / 2
    for a in layers[1:]:
        out = a @ out
    return out


# %% wrong weights-transposed: T
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    out = eye
    for a in layers:
        out = (a.T + eye) / 2 @ out
    return out


# %% wrong weights-transposed: all at once
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    mixed = (layers.mT + eye) / 2
    rolled = mixed[0]
    for layer in mixed[1:]:
        rolled = layer @ rolled
    return rolled


# %% wrong averaged-instead: added up
def attention_rollout(layers):
    eye = torch.eye(layers.shape[-1], dtype=layers.dtype)
    return ((layers + eye) / 2).sum(0)


# %% wrong entries-multiplied: layer by layer, from the identity
def attention_rollout(layers):
    identity = torch.eye(layers.shape[-1], dtype=layers.dtype)
    rolled = identity
    for weights in layers:
        rolled = (weights + identity) / 2 * rolled
    return rolled


# %% wrong -: the layers summed
def attention_rollout(layers):
    I = torch.eye(layers.shape[-1]).to(layers)
    return (layers.sum(0) + I) / (len(layers) + 1)
