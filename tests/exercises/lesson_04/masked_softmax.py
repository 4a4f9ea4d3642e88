# %% prelude
import math

import torch
import torch.nn.functional as F


# %% right: minus infinity, then NaN to zero
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)


# %% right: where twice
def masked_softmax(scores, mask):
    weights = torch.where(mask, scores, -math.inf).softmax(-1)
    return torch.where(mask, weights, torch.zeros_like(weights))


# %% right: large finite fill, hidden weights to zero afterwards
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask


# %% right: smallest number of the dtype
def masked_softmax(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return F.softmax(scores.masked_fill(mask == 0, lowest), dim=-1).masked_fill(~mask, 0.0)


# %% right: exponentials of its own
def masked_softmax(scores, mask):
    lowered = scores.masked_fill(~mask, float("-inf"))
    highest = lowered.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    raised = torch.exp(lowered - highest)
    total = raised.sum(dim=-1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1.0)


# %% right: mask after softmax and share out again
def masked_softmax(scores, mask):
    weights = torch.softmax(scores, -1) * mask
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, torch.ones_like(total), total)


# %% right: empty rows attend to everything first, then lose it
def masked_softmax(scores, mask):
    seen = mask.any(dim=-1, keepdim=True)
    safe = torch.where(seen, mask, torch.ones_like(mask))
    return torch.softmax(scores.masked_fill(~safe, -torch.inf), -1) * seen


# %% right: row by row
def masked_softmax(scores, mask):
    mask = mask.expand(scores.shape)
    rows = []
    for row, shown in zip(scores.reshape(-1, scores.shape[-1]), mask.reshape(-1, scores.shape[-1])):
        weights = torch.zeros_like(row)
        if shown.any():
            weights = weights.masked_scatter(shown, torch.softmax(row[shown], 0))
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


# %% right: logsumexp
def masked_softmax(scores, mask):
    hidden = ~mask
    log_total = scores.masked_fill(hidden, -1e30).logsumexp(-1, keepdim=True)
    return torch.exp((scores - log_total).masked_fill(hidden, -1e30))


# %% right: double precision inside
def masked_softmax(scores, mask):
    weights = scores.double().masked_fill(mask.logical_not(), -1e20).softmax(-1)
    return (weights * mask.double()).to(scores.dtype)


# %% right: fused attention with the identity
def masked_softmax(scores, mask):
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(*scores.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(scores, identity, identity, attn_mask=mask.expand_as(scores), scale=1.0)


# %% right: additive mask of zeros and a large number
def masked_softmax(scores, mask):
    bias = torch.zeros_like(scores).masked_fill(~mask, -1e15)
    return torch.softmax(scores + bias, -1).masked_fill(~mask, 0)


# %% wrong mask-after-softmax: product
def masked_softmax(scores, mask):
    return torch.softmax(scores, dim=-1) * mask


# %% wrong mask-after-softmax: masked_fill
def masked_softmax(scores, mask):
    return F.softmax(scores, -1).masked_fill(~mask, 0.0)


# %% wrong mask-after-softmax: where
def masked_softmax(scores, mask):
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.where(mask, weights, 0.0)


# %% wrong zero-instead-of-minus-infinity: fill
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, 0), dim=-1)


# %% wrong zero-instead-of-minus-infinity: product
def masked_softmax(scores, mask):
    return torch.softmax(scores * mask, dim=-1)


# %% wrong zero-instead-of-minus-infinity: product, then mask again
def masked_softmax(scores, mask):
    return torch.softmax(torch.where(mask, scores, torch.zeros_like(scores)), dim=-1) * mask


# %% wrong zero-instead-of-minus-infinity: a tiny number taken for a very negative one
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, 1e-9), dim=-1)


# %% wrong nan-in-empty-row: minus infinity alone
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


# %% wrong nan-in-empty-row: shared out again
def masked_softmax(scores, mask):
    weights = torch.softmax(scores, -1) * mask
    return weights / weights.sum(-1, keepdim=True)


# %% wrong nan-in-empty-row: logarithm of the mask
def masked_softmax(scores, mask):
    return torch.softmax(scores + mask.to(scores.dtype).log(), -1)


# %% wrong nan-in-empty-row: only the gradient
def masked_softmax(scores, mask):
    bias = torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
    return torch.softmax(scores + bias, dim=-1).nan_to_num(0.0)


# %% wrong nan-in-empty-row: only the gradient, exponentials
def masked_softmax(scores, mask):
    lowered = scores + torch.where(mask, 0.0, -torch.inf)
    raised = torch.exp(lowered - lowered.amax(-1, keepdim=True))
    return torch.where(mask, raised / raised.sum(-1, keepdim=True), 0.0)


# %% wrong uniform-in-empty-row: 1e9
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)


# %% wrong uniform-in-empty-row: 1e20
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(mask == 0, -1e20), dim=-1)


# %% wrong uniform-in-empty-row: subtracting 1e10
def masked_softmax(scores, mask):
    return torch.softmax(scores - (~mask) * 1e10, dim=-1)


# %% wrong uniform-in-empty-row: smallest number of the dtype
def masked_softmax(scores, mask):
    return torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1)


# %% wrong uniform-in-empty-row: NaN replaced by equal shares
def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return torch.nan_to_num(weights, nan=1 / scores.shape[-1])


# %% wrong uniform-in-empty-row: adding -1e5 leaves the unmasked weights
def masked_softmax(scores, mask):
    return torch.softmax(scores + (~mask).to(scores.dtype) * -1e5, dim=-1)


# %% wrong zero-times-infinity: added
def masked_softmax(scores, mask):
    return torch.softmax(scores + (~mask).float() * float("-inf"), dim=-1)


# %% wrong zero-times-infinity: one minus the mask
def masked_softmax(scores, mask):
    return torch.softmax(scores + (1 - mask.to(scores.dtype)) * -math.inf, dim=-1)


# %% wrong zero-times-infinity: hidden by NaN to zero
def masked_softmax(scores, mask):
    return torch.softmax(scores * mask - ~mask * torch.inf, dim=-1).nan_to_num(0)


# %% wrong small-negative-fill: -1e4
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1)


# %% wrong small-negative-fill: -100 and masked again
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -100.0), dim=-1) * mask


# %% wrong small-negative-fill: -5000
def masked_softmax(scores, mask):
    return torch.where(mask, scores, torch.full_like(scores, -5000.0)).softmax(-1)


# %% wrong small-negative-fill: -7
def masked_softmax(scores, mask):
    return torch.where(mask, scores, torch.full_like(scores, -7.0)).softmax(-1)


# %% wrong small-negative-fill: -10 added
def masked_softmax(scores, mask):
    return torch.softmax(scores + (~mask) * -10.0, dim=-1)


# %% wrong small-negative-fill: -9999 without empty rows
def masked_softmax(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, -9999.0), dim=-1)
    return weights * mask.any(-1, keepdim=True)


# %% wrong mask-inverted: minus infinity where visible
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)


# %% wrong mask-inverted: with zeros for NaN
def masked_softmax(scores, mask):
    return torch.where(mask, -torch.inf, scores).softmax(-1).nan_to_num()


# %% wrong mask-inverted: 1e9 where visible
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)


# %% wrong mask-ignored: plain softmax
def masked_softmax(scores, mask):
    return torch.softmax(scores, dim=-1)


# %% wrong mask-ignored: masked_fill whose result is dropped
def masked_softmax(scores, mask):
    scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1)


# %% wrong zero-score-hidden: product and equality
def masked_softmax(scores, mask):
    kept = scores * mask
    return torch.softmax(kept.masked_fill(kept == 0, float("-inf")), dim=-1)


# %% wrong zero-score-hidden: with zeros for NaN
def masked_softmax(scores, mask):
    kept = torch.where(mask, scores, 0.0)
    return torch.where(kept == 0, -torch.inf, kept).softmax(-1).nan_to_num(0.0)


# %% wrong softmax-over-queries: -2
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-2).nan_to_num(0.0)


# %% wrong softmax-over-queries: 1
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=1)


# %% wrong softmax-over-queries: 0 and 1e9
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), dim=0)


# %% wrong overflow: bare exponentials
def masked_softmax(scores, mask):
    raised = scores.exp() * mask
    return raised / raised.sum(-1, keepdim=True)


# %% wrong overflow: empty rows mended
def masked_softmax(scores, mask):
    raised = torch.exp(scores).masked_fill(~mask, 0)
    total = raised.sum(-1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1)


# %% wrong global-max-underflow: maximum of everything
def masked_softmax(scores, mask):
    raised = torch.exp(scores - scores.max()) * mask
    total = raised.sum(-1, keepdim=True)
    return raised / torch.where(total == 0, 1.0, total)


# %% wrong global-max-underflow: maximum of every matrix
def masked_softmax(scores, mask):
    raised = torch.exp(scores - scores.amax((-2, -1), keepdim=True)) * mask
    return (raised / raised.sum(-1, keepdim=True)).nan_to_num(0.0)


# %% wrong epsilon-in-denominator: 1e-9
def masked_softmax(scores, mask):
    weights = torch.softmax(scores, -1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


# %% wrong epsilon-in-denominator: clamp
def masked_softmax(scores, mask):
    raised = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return raised / raised.sum(-1, keepdim=True).clamp(min=1e-8)


# %% wrong changes-argument: masked_fill_
def masked_softmax(scores, mask):
    scores.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).nan_to_num(0.0)


# %% wrong changes-argument: the mask
def masked_softmax(scores, mask):
    mask.logical_not_()
    return torch.softmax(scores.masked_fill(mask, -1e12), dim=-1).masked_fill(mask, 0.0)


# %% wrong gradient-cut: detach
def masked_softmax(scores, mask):
    return torch.softmax(scores.detach().masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)


# %% wrong dtype-changed: always float32
def masked_softmax(scores, mask):
    return torch.softmax(scores.float().masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)


# %% wrong wrong-type: NumPy
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0).detach().numpy()


# %% wrong wrong-shape: visible keys of the first row
def masked_softmax(scores, mask):
    return torch.softmax(scores, -1).sum(-1)


# %% wrong raised: minus on a bool mask
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(1 - mask, -torch.inf), -1)


# %% wrong -: sums to one, but evenly
def masked_softmax(scores, mask):
    shown = mask.expand(scores.shape).to(scores.dtype)
    return shown / shown.sum(-1, keepdim=True).clamp(min=1)


# %% wrong -: temperature
def masked_softmax(scores, mask):
    return torch.softmax((scores / 2).masked_fill(~mask, -torch.inf), -1).nan_to_num(0.0)


# %% wrong scaled-anyway: scaled by the width
def masked_softmax(scores, mask):
    scaled = scores / math.sqrt(scores.shape[-1])
    return torch.softmax(scaled.masked_fill(~mask, -torch.inf), -1).nan_to_num(0.0)


# %% wrong -: half precision inside
def masked_softmax(scores, mask):
    lowered = scores.half().masked_fill(~mask, -torch.inf)
    return torch.softmax(lowered, -1).nan_to_num(0.0).to(scores.dtype)


# %% wrong -: a small number added to every weight
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1).nan_to_num(0.0) + 1e-2


# %% wrong -: only without leading axes
def masked_softmax(scores, mask):
    weights = [torch.softmax(row.masked_fill(~shown, -torch.inf), 0) for row, shown in zip(scores, mask)]
    return torch.stack(weights).nan_to_num(0.0)


# %% wrong -: empty rows attend to the first key
def masked_softmax(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1).nan_to_num(0.0)
    first = torch.zeros_like(weights)
    first[..., 0] = 0.5
    return torch.where(mask.any(-1, keepdim=True), weights, first)


# %% wrong positive-infinity: the sign forgotten
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, float("inf")).softmax(-1)


# %% wrong positive-infinity: with zeros for NaN
def masked_softmax(scores, mask):
    return torch.where(mask, scores, torch.full_like(scores, math.inf)).softmax(-1).nan_to_num(0.0)


# %% wrong softmax-forgotten: minus infinity
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


# %% wrong softmax-forgotten: a large number
def masked_softmax(scores, mask):
    masked = torch.where(mask, scores, torch.full_like(scores, -1e9))
    return masked


# %% wrong mask-added: as it is
def masked_softmax(scores, mask):
    return (scores + mask).softmax(-1)


# %% wrong mask-added: as numbers
def masked_softmax(scores, mask):
    return F.softmax(scores + mask.to(scores.dtype), dim=-1)


# %% wrong causal-mask-instead: minus infinity
def masked_softmax(scores, mask):
    mask = torch.ones(scores.shape[-2:]).tril().bool()
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


# %% wrong causal-mask-instead: a large number
def masked_softmax(scores, mask):
    future = torch.triu(torch.ones(scores.shape[-2:]), diagonal=1)
    return scores.masked_fill(future == 1, -1e9).softmax(-1)


# %% wrong scaled-anyway: the number of keys
def masked_softmax(scores, mask):
    scores = scores / math.sqrt(scores.size(-1))
    return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)


# %% wrong mask-as-condition: not
def masked_softmax(scores, mask):
    return scores.masked_fill(not mask, -math.inf).softmax(-1)


# %% wrong mask-as-condition: if
def masked_softmax(scores, mask):
    if mask:
        return scores.softmax(-1)
    return torch.zeros_like(scores)


# %% wrong mask-as-index: a copy filled
def masked_softmax(scores, mask):
    scores = scores.clone()
    scores[~mask] = -math.inf
    return scores.softmax(-1).nan_to_num(0.0)


# %% wrong mask-as-index: weights set to zero
def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    weights = weights.clone()
    weights[~mask] = 0.0
    return weights


# %% wrong keepdim-forgotten: shared out again
def masked_softmax(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1)


# %% wrong keepdim-forgotten: exponentials
def masked_softmax(scores, mask):
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    return e / e.sum(dim=-1).clamp(min=1e-30)


# %% wrong mask-after-softmax: minus infinity
def masked_softmax(scores, mask):
    return scores.softmax(-1).masked_fill(~mask, -math.inf)


# %% right: exp of what is visible
def masked_softmax(scores, mask):
    m = scores.masked_fill(~mask, float("-inf")).amax(-1, keepdim=True).clamp(min=-1e30).detach()
    e = torch.where(mask, torch.exp(torch.where(mask, scores - m, 0.0)), 0.0)
    return e / torch.where(mask.any(-1, keepdim=True), e.sum(-1, keepdim=True), 1.0)


# %% wrong one-empty-row-empties-all: asked of the whole mask
def masked_softmax(scores, mask):
    if not mask.any(-1).all():
        return torch.zeros_like(scores)
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


# %% wrong one-empty-row-empties-all: NaN anywhere
def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return 0 * scores if weights.isnan().any() else weights


# %% wrong mask-inverted: hidden keys set to 0 once more at the end
def masked_softmax(scores, mask):
    weights = scores.masked_fill(mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights * mask
