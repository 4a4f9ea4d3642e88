# %% right: amax, exp, sum
def stable_softmax(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    raised = shifted.exp()
    return raised / raised.sum(dim=-1, keepdim=True)


# %% right: max with its indices, the maximum detached
def stable_softmax(scores):
    top, _ = torch.max(scores.detach(), -1, keepdim=True)
    e = torch.exp(scores - top)
    return torch.div(e, torch.sum(e, -1, keepdim=True))


# %% right: loops over every row, with a helper
def _one_row(row):
    raised = torch.exp(row - max(row))
    return raised / sum(raised)


def stable_softmax(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    out = torch.zeros_like(rows)
    for i, row in enumerate(rows):
        out[i] = _one_row(row)
    return out.reshape(scores.shape)


# %% right: logsumexp
def stable_softmax(scores):
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


# %% right: logaddexp, score by score
def stable_softmax(scores):
    total = functools.reduce(torch.logaddexp, scores.unbind(-1))
    return (scores - total[..., None]).exp()


# %% right: F.normalize with p=1
def stable_softmax(scores):
    print(scores.shape)
    return F.normalize((scores - scores.max(-1, keepdim=True).values).exp(), p=1.0, dim=-1)


# %% right: one over the sum of exponentials of differences
def stable_softmax(scores):
    return 1 / torch.exp(scores.unsqueeze(-2) - scores.unsqueeze(-1)).sum(-1)


# %% right: in place on a tensor of its own, float64 inside and cast back
def stable_softmax(scores):
    e = scores.double() - scores.double().amax(-1, True)
    e = e.exp_()
    e = e / torch.einsum("...k->...", e).unsqueeze(-1)
    return e.to(scores.dtype)


# %% right: recursion over the leading axes, T for broadcasting
def stable_softmax(scores):
    if scores.ndim > 2:
        return torch.stack([stable_softmax(s) for s in scores])
    e = ((scores.T - scores.max(dim=1).values).T).exp()
    return (e.T / e.sum(1)).T


# %% right: online, one key after the other
def stable_softmax(scores):
    top = torch.full_like(scores[..., 0], -torch.inf)
    total = torch.zeros_like(top)
    for s in scores.unbind(-1):
        new = torch.maximum(top, s)
        total = total * torch.exp(top - new) + torch.exp(s - new)
        top = new
    return torch.exp(scores - top.unsqueeze(-1)) / total.unsqueeze(-1)


# %% right: powers of two, warning on stderr
def stable_softmax(scores):
    warnings.warn("base 2")
    e = torch.exp2((scores - scores.amax(-1, keepdim=True)) * math.log2(math.e))
    return e / e.sum(-1).unsqueeze(-1)


# %% right: a module of its own
class Weights(nn.Module):
    def forward(self, scores):
        e = torch.exp(scores - scores.sort(-1).values[..., -1:])
        return e @ e.new_ones(e.shape[-1], 1) ** 1 * 0 + e / e.cumsum(-1)[..., -1:]


stable_softmax = Weights()


# %% right: an epsilon too small to matter, and its own name is softmax
def softmax(x, dim):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / (e.sum(dim, keepdim=True) + 1e-12)


stable_softmax = functools.partial(softmax, dim=-1)


# %% wrong softmax-over-queries: dim -2
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-2, keepdim=True))
    return e / e.sum(-2, keepdim=True)


# %% wrong softmax-over-queries: dim 0, no maximum
def stable_softmax(scores):
    e = scores.exp()
    return e / e.sum(dim=0, keepdim=True)


# %% wrong softmax-over-queries: dim 1, right for one matrix only
def stable_softmax(scores):
    shifted = scores - scores.max(dim=1, keepdim=True)[0]
    return shifted.exp() / shifted.exp().sum(dim=1, keepdim=True)


# %% wrong softmax-over-queries: the right maximum, the wrong sum
def stable_softmax(scores):
    e = torch.exp(scores - scores.max())
    return e / e.sum(-2, keepdim=True)


# %% wrong softmax-over-queries: transposed there and back
def stable_softmax(scores):
    x = scores.mT
    e = (x - x.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).mT


# %% wrong softmax-over-queries: dim 0 by einsum
def stable_softmax(scores):
    e = torch.exp(scores)
    return torch.einsum("q...,...->q...", e, 1 / e.sum(0))


# %% wrong softmax-over-all: no dim at all
def stable_softmax(scores):
    e = torch.exp(scores - scores.max())
    return e / e.sum()


# %% wrong softmax-over-all: no dim, no maximum
def stable_softmax(scores):
    return torch.exp(scores) / torch.sum(torch.exp(scores))


# %% wrong softmax-over-all: row maximum, total sum
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum()


# %% wrong softmax-over-all: every matrix for itself
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax((-2, -1), keepdim=True))
    return e / e.sum((-2, -1), keepdim=True)


# %% wrong softmax-over-all: flattened
def stable_softmax(scores):
    flat = scores.flatten()
    e = (flat - flat.max()).exp()
    return (e / e.sum()).view_as(scores)


# %% wrong overflow: nothing subtracted
def stable_softmax(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


# %% wrong overflow: logarithm of the sum of exponentials
def stable_softmax(scores):
    return torch.exp(scores - torch.log(torch.exp(scores).sum(-1, keepdim=True)))


# %% wrong overflow: the row's mean subtracted
def stable_softmax(scores):
    e = torch.exp(scores - scores.mean(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong overflow: the row's minimum subtracted
def stable_softmax(scores):
    e = torch.exp(scores - scores.amin(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong overflow: math.e to the power, NaN hidden
def stable_softmax(scores):
    e = math.e**scores
    return torch.nan_to_num(e / e.sum(-1, keepdim=True))


# %% wrong overflow: float64 is not enough
def stable_softmax(scores):
    e = torch.exp(scores.double())
    return (e / e.sum(-1, keepdim=True)).to(scores.dtype)


# %% wrong overflow: subtracted after the exponential
def stable_softmax(scores):
    e = scores.exp() / scores.exp().amax(-1, keepdim=True)
    return e / e.sum(-1, keepdim=True)


# %% wrong not-exponentiated: scores over their sum
def stable_softmax(scores):
    return scores / scores.sum(-1, keepdim=True)


# %% wrong not-exponentiated: shifted by the maximum
def stable_softmax(scores):
    shifted = scores - scores.amax(-1, keepdim=True)
    return shifted / shifted.sum(-1, keepdim=True)


# %% wrong not-exponentiated: absolute values
def stable_softmax(scores):
    return F.normalize(scores.abs(), p=1, dim=-1)


# %% wrong not-exponentiated: negative ones cut off
def stable_softmax(scores):
    positive = torch.clamp(scores, min=0)
    return positive / positive.sum(dim=-1, keepdim=True)


# %% wrong not-exponentiated: shifted by the minimum
def stable_softmax(scores):
    shifted = scores - scores.min(-1, keepdim=True).values
    return shifted / shifted.sum(-1, keepdim=True)


# %% wrong global-max-underflow: max of everything
def stable_softmax(scores):
    e = torch.exp(scores - scores.max())
    return e / e.sum(-1, keepdim=True)


# %% wrong global-max-underflow: amax, then logarithms
def stable_softmax(scores):
    shifted = scores - torch.amax(scores)
    return torch.exp(shifted - shifted.exp().sum(-1, keepdim=True).log())


# %% wrong global-max-underflow: of every matrix
def stable_softmax(scores):
    e = (scores - scores.amax(dim=(-2, -1), keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


# %% wrong global-max-underflow: with an epsilon against zero over zero
def stable_softmax(scores):
    e = (scores - scores.flatten().max()).exp()
    return e / (e.sum(-1, keepdim=True) + 1e-30)


# %% wrong global-max-underflow: an item
def stable_softmax(scores):
    e = torch.exp(scores - scores.max().item())
    return e / e.sum(-1, keepdim=True)


# %% wrong keepdim-forgotten: the sum's
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1)


# %% wrong keepdim-forgotten: the maximum's
def stable_softmax(scores):
    e = torch.exp(scores - scores.max(dim=-1).values)
    return e / e.sum(-1, keepdim=True)


# %% wrong keepdim-forgotten: both
def stable_softmax(scores):
    e = (scores - scores.amax(-1)).exp()
    return e / e.sum(-1)


# %% wrong two-axes-only: T
def stable_softmax(scores):
    e = (scores.T - scores.max(dim=1).values).T.exp()
    return (e.T / e.sum(1)).T


# %% wrong two-axes-only: zip over rows
def stable_softmax(scores):
    rows = []
    for row in scores:
        e = torch.exp(row - row.max())
        rows.append(e / e.sum().view(1))
    return torch.stack(rows).view(scores.shape[0], scores.shape[1])


# %% wrong excluded-function: F.softmax
def stable_softmax(scores):
    return F.softmax(scores, dim=-1)


# %% wrong excluded-function: method
def stable_softmax(scores):
    return scores.softmax(-1)


# %% wrong excluded-function: getattr with a built name
def stable_softmax(scores):
    return getattr(torch.nn.functional, "".join(["soft", "max"]))(scores, -1)


# %% wrong excluded-function: torch.ops.aten
def stable_softmax(scores):
    return torch.ops.aten._softmax(scores, -1, False)


# %% wrong excluded-function: torch.ops.aten.softmax.int
def stable_softmax(scores):
    return torch.ops.aten.softmax.int(scores, -1)


# %% wrong excluded-function: nn.Softmax
def stable_softmax(scores):
    return nn.Softmax(dim=-1)(scores)


# %% wrong excluded-function: special
def stable_softmax(scores):
    return torch.special.softmax(scores, -1)


# %% wrong excluded-function: exp of log_softmax
def stable_softmax(scores):
    return torch.log_softmax(scores, -1).exp()


# %% wrong excluded-function: softmin of minus
def stable_softmax(scores):
    return F.softmin(-scores, dim=-1)


# %% wrong excluded-function: torch.special.log_softmax
def stable_softmax(scores):
    return torch.special.log_softmax(scores, -1).exp()


# %% wrong excluded-function: gumbel_softmax without noise
def stable_softmax(scores):
    F.gumbel_softmax(scores)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


# %% wrong excluded-function: hidden in cross_entropy
def stable_softmax(scores):
    flat = scores.reshape(-1, scores.shape[-1])
    columns = [
        torch.exp(-F.cross_entropy(flat, torch.full((len(flat),), j), reduction="none")) for j in range(flat.shape[1])
    ]
    return torch.stack(columns, -1).reshape(scores.shape)


# %% wrong excluded-function: only to compare with
def stable_softmax(scores):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    mine = e / e.sum(-1, keepdim=True)
    assert torch.allclose(mine, torch.softmax(scores, -1), atol=1e-3)
    return mine


# %% wrong excluded-function: inside nn.MultiheadAttention
def stable_softmax(scores):
    nn.MultiheadAttention(2, 1)(torch.ones(1, 1, 2), torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


# %% wrong excluded-function: vmap
def stable_softmax(scores):
    f = lambda row: torch.softmax(row, 0)
    for _ in range(scores.dim() - 1):
        f = torch.vmap(f)
    return f(scores)


# %% wrong excluded-function: a subclass of nn.Softmax
class Mine(nn.Softmax):
    pass


def stable_softmax(scores):
    return Mine(-1).forward(scores)


# %% wrong excluded-function: traced by torch.jit
stable_softmax = torch.jit.trace(lambda scores: torch.softmax(scores, -1), torch.rand(2, 3))


# %% wrong excluded-function: scripted by torch.jit, with no softmax in it
@torch.jit.script
def compiled(scores: torch.Tensor):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def stable_softmax(scores):
    return compiled(scores)


# %% wrong excluded-function: an operator made with torch.library
@torch.library.custom_op("students::rows", mutates_args=())
def rows(scores: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores, -1)


def stable_softmax(scores):
    return rows(scores)


# %% wrong excluded-function: a graph of torch.fx, with no softmax in it
def stable(scores):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


stable_softmax = torch.fx.symbolic_trace(stable)


# %% wrong returns-nothing: no return
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    e = e / e.sum(-1, keepdim=True)


# %% wrong wrong-type: a NumPy array
def stable_softmax(scores):
    s = scores.detach().numpy()
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# %% wrong wrong-type: weights and sums
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True), e.sum(-1)


# %% wrong wrong-shape: sums only
def stable_softmax(scores):
    return torch.exp(scores - scores.amax(-1, keepdim=True)).sum(-1)


# %% wrong not-finite: logarithm of the scores
def stable_softmax(scores):
    e = torch.log(scores)
    return e / e.sum(-1, keepdim=True)


# %% wrong changes-argument: minus-equals
def stable_softmax(scores):
    scores -= scores.amax(-1, keepdim=True)
    e = scores.exp()
    return e / e.sum(-1, keepdim=True)


# %% wrong changes-argument: exp_ of the argument
def stable_softmax(scores):
    scores.sub_(scores.max(-1, keepdim=True).values)
    scores.exp_()
    scores.div_(scores.sum(-1, keepdim=True))
    return scores


# %% wrong changes-argument: row by row
def stable_softmax(scores):
    flat = scores.view(-1, scores.shape[-1])
    for i in range(len(flat)):
        e = torch.exp(flat[i] - flat[i].max())
        flat[i] = e / e.sum()
    return flat.view(scores.shape)


# %% wrong gradient-cut: detach
def stable_softmax(scores):
    scores = scores.detach()
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong gradient-cut: NumPy and back
def stable_softmax(scores):
    s = scores.detach().numpy()
    e = np.exp(s - s.max(-1, keepdims=True))
    return torch.from_numpy(e / e.sum(-1, keepdims=True))


# %% wrong gradient-cut: math.exp of numbers
def stable_softmax(scores):
    out = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        e = [math.exp(s - max(row)) for s in row]
        out.append([value / sum(e) for value in e])
    return torch.tensor(out, dtype=scores.dtype).reshape(scores.shape)


# %% wrong wrong-gradient: the sum detached
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True).detach()


# %% wrong dtype-changed: float
def stable_softmax(scores):
    e = torch.exp(scores.float() - scores.float().amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong dtype-changed: a tensor without dtype
def stable_softmax(scores):
    out = torch.empty(scores.shape)
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    out[:] = e / e.sum(-1, keepdim=True)
    return out


# %% wrong max-is-a-pair: maximum with its indices
def stable_softmax(scores):
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong number-function-on-tensor: math.exp of a tensor
def stable_softmax(scores):
    return math.exp(scores) / math.exp(scores).sum(-1)


# %% wrong raised: sys.exit
def stable_softmax(scores):
    sys.exit("no more")


# %% wrong added-to-the-divisor: an epsilon that matters
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / (e.sum(-1, keepdim=True) + 1e-2)


# %% wrong -: half precision inside
def stable_softmax(scores):
    e = torch.exp((scores - scores.amax(-1, keepdim=True)).half())
    return (e / e.sum(-1, keepdim=True)).to(scores.dtype)


# %% wrong -: base two
def stable_softmax(scores):
    e = 2 ** (scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong -: squares instead of exponentials
def stable_softmax(scores):
    return scores**2 / (scores**2).sum(-1, keepdim=True)


# %% wrong -: the column's maximum, the row's sum
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-2, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong scores-cut-off: scores clamped
def stable_softmax(scores):
    e = torch.exp(scores.clamp(-60, 60))
    return e / e.sum(-1, keepdim=True)


# %% wrong -: the largest absolute value of the row
def stable_softmax(scores):
    e = torch.exp(scores - scores.abs().amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong sign-flipped: softmax of minus the scores
def stable_softmax(scores):
    e = torch.exp(scores.amin(-1, keepdim=True) - scores)
    return e / e.sum(-1, keepdim=True)


# %% wrong not-divided: never divided
def stable_softmax(scores):
    return torch.exp(scores - scores.amax(-1, keepdim=True))


# %% wrong log-softmax: logarithm kept
def stable_softmax(scores):
    return scores - torch.logsumexp(scores, -1, keepdim=True)


# %% wrong -: hard choice
def stable_softmax(scores):
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype) + 0 * scores


# %% wrong -: sigmoid
def stable_softmax(scores):
    return scores.sigmoid()


# %% wrong -: divided by the number of keys
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.mean(-1, keepdim=True)


# %% wrong -: one maximum for a batch, right for one matrix
def stable_softmax(scores):
    if scores.dim() > 2:
        scores = scores.sum(0, keepdim=True).expand_as(scores)
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


# %% wrong -: uniform
def stable_softmax(scores):
    return torch.ones_like(scores) / scores.shape[-1]


# %% wrong -: random noise on top
def stable_softmax(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True) + 0.01 * torch.randn_like(scores))
    return e / e.sum(-1, keepdim=True)


# %% wrong not-divided: exponentials
def stable_softmax(scores):
    return torch.exp(scores)


# %% wrong max-is-a-pair: subtracted inside the exponential
def stable_softmax(scores):
    exponentials = torch.exp(scores - scores.max(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


# %% wrong sign-flipped: the scores subtracted from the maximum
def stable_softmax(scores):
    shifted = scores.amax(dim=-1, keepdim=True) - scores
    return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)


# %% wrong log-softmax: minus the logarithm of the sum
def stable_softmax(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong batch-only: one matrix after the other
def stable_softmax(scores):
    results = []
    for matrix in scores:
        raised = (matrix - matrix.amax(-1, keepdim=True)).exp()
        results.append(raised / raised.sum(1, keepdim=True))
    return torch.stack(results)


# %% wrong batch-only: axis 2, right for a batch only
def stable_softmax(scores):
    raised = (scores - scores.amax(2, keepdim=True)).exp()
    return raised / raised.sum(2, keepdim=True)


# %% wrong keepdim-forgotten: the sum's, where the maximum has it
def stable_softmax(scores):
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1)


# %% wrong softmax-over-all: a loop over rows, which are matrices in a batch
def stable_softmax(scores):
    out = []
    for row in scores:
        e = (row - row.max()).exp()
        out.append(e / e.sum())
    return torch.stack(out)


# %% wrong overflow: shifted, then forgotten
def stable_softmax(scores):
    shifted = scores - scores.amax(-1, keepdim=True)
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


# %% wrong batch-only: einsum with a letter for the batch
def stable_softmax(scores):
    raised = (scores - scores.amax(-1, keepdim=True)).exp()
    return raised / torch.einsum("bqk->bq", raised).unsqueeze(2)


# %% wrong global-max-underflow: a loop over rows, one maximum for a row of every matrix
def stable_softmax(scores):
    weights = torch.empty_like(scores)
    for i in range(scores.shape[-2]):
        e = torch.exp(scores[..., i, :] - scores[..., i, :].max())
        weights[..., i, :] = e / e.sum(-1, keepdim=True)
    return weights


# %% wrong scores-cut-off: above
def stable_softmax(scores):
    e = torch.exp(scores.clamp(max=80))
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong scores-cut-off: above and below
def stable_softmax(scores):
    e = torch.minimum(scores, torch.tensor(60.0, dtype=scores.dtype)).clamp(min=-60).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong added-to-the-divisor: a thousandth
def stable_softmax(scores):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / (e.sum(-1, keepdim=True) + 1e-3)


# %% wrong added-to-the-divisor: one
def stable_softmax(scores):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    counts = torch.exp(shifted)
    return counts / (1 + counts.sum(dim=-1, keepdim=True))
