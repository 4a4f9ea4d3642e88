# %% right: three steps
def context_vectors(x):
    weights = torch.softmax(x @ x.transpose(-2, -1), dim=-1)
    return weights @ x


# %% right: on the exercise before
def pairwise_dot_products(x):
    return x @ x.mT


def context_vectors(x):
    return pairwise_dot_products(x).softmax(-1) @ x


# %% right: einsum throughout
def context_vectors(x):
    scores = torch.einsum("...id,...jd->...ij", x, x)
    return torch.einsum("...ij,...jd->...id", F.softmax(scores, dim=-1), x)


# %% right: PyTorch's attention, told its scale
def context_vectors(x):
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


# %% right: PyTorch's attention, its scale undone beforehand
def context_vectors(x):
    return F.scaled_dot_product_attention(x * math.sqrt(x.shape[-1]), x, x)


# %% right: a loop over tokens, each with its own softmax
def context_vectors(x):
    rows = []
    for i in range(x.shape[-2]):
        score = (x * x[..., i : i + 1, :]).sum(-1)
        rows.append((score.softmax(-1).unsqueeze(-1) * x).sum(-2))
    return torch.stack(rows, dim=-2)


# %% right: loops over everything
def context_vectors(x):
    if x.dim() > 2:
        return torch.stack([context_vectors(one) for one in x])
    out = []
    for a in x:
        raised = [torch.dot(a, b) for b in x]
        top = max(raised)
        raised = [(r - top).exp() for r in raised]
        total = sum(raised)
        out.append(sum(r / total * b for r, b in zip(raised, x)))
    return torch.stack(out)


# %% right: a softmax by hand, the row's maximum taken off
def context_vectors(x):
    scores = x @ x.mT
    raised = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return (raised @ x) / raised.sum(-1, keepdim=True)


# %% right: softmax over the queries of the symmetric table, turned round again
def context_vectors(x):
    columns = torch.softmax(x @ x.mT, dim=-2)
    return columns.mT @ x


# %% right: logsumexp
def context_vectors(x):
    scores = x @ x.mT
    return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)) @ x


# %% right: flattened with bmm, in float64, a module's forward
class _Mixer(nn.Module):
    def forward(self, x):
        y = x.double().reshape(-1, *x.shape[-2:])
        weights = nn.Softmax(dim=2)(torch.bmm(y, y.transpose(1, 2)))
        return torch.bmm(weights, y).reshape(x.shape).to(x.dtype)


context_vectors = _Mixer()


# %% wrong scaled-anyway: by the root of the width
def context_vectors(x):
    return torch.softmax(x @ x.mT / math.sqrt(x.shape[-1]), -1) @ x


# %% wrong scaled-anyway: PyTorch's attention as it comes
def context_vectors(x):
    return F.scaled_dot_product_attention(x, x, x)


# %% wrong scaled-anyway: by the width
def context_vectors(x):
    scores = x.matmul(x.transpose(-1, -2)) / x.size(-1)
    return scores.softmax(dim=-1).matmul(x)


# %% wrong scaled-anyway: by the root of the number of tokens
def context_vectors(x):
    scores = x @ x.mT
    return (scores / scores.size(-1) ** 0.5).softmax(-1) @ x


# %% wrong scaled-anyway: after the softmax
def context_vectors(x):
    return torch.softmax(x @ x.mT, -1) / math.sqrt(x.shape[-1]) @ x


# %% wrong scaled-anyway: one factor scaled
def context_vectors(x):
    return ((x * x.shape[-1] ** -0.5) @ x.mT).softmax(-1) @ x


# %% wrong softmax-over-queries: the last but one axis
def context_vectors(x):
    return torch.softmax(x @ x.mT, dim=-2) @ x


# %% wrong softmax-over-queries: axis 0
def context_vectors(x):
    return F.softmax(x @ x.mT, dim=0) @ x


# %% wrong softmax-over-queries: axis 1, right without a batch
def context_vectors(x):
    return torch.softmax(x @ x.mT, dim=1) @ x


# %% wrong softmax-over-queries: the weights turned round
def context_vectors(x):
    weights = torch.softmax(x @ x.mT, dim=-1)
    return weights.mT @ x


# %% wrong softmax-over-queries: einsum's letters
def context_vectors(x):
    weights = torch.softmax(x @ x.mT, dim=-1)
    return torch.einsum("...ij,...id->...jd", weights, x)


# %% wrong softmax-over-all: the matrix flattened
def context_vectors(x):
    scores = x @ x.mT
    return scores.flatten(-2).softmax(-1).view_as(scores) @ x


# %% wrong softmax-over-all: a sum without an axis
def context_vectors(x):
    raised = torch.exp(x @ x.mT)
    return raised / raised.sum() @ x


# %% wrong no-softmax: the dot products as they are
def context_vectors(x):
    return x @ x.mT @ x


# %% wrong no-softmax: shares of the sum
def context_vectors(x):
    scores = x @ x.mT
    return scores / scores.sum(dim=-1, keepdim=True) @ x


# %% wrong cosine-instead: normalised first
def context_vectors(x):
    y = F.normalize(x, dim=-1)
    return torch.softmax(y @ y.mT, -1) @ x


# %% wrong cosine-instead: cosine_similarity
def context_vectors(x):
    cosines = torch.cosine_similarity(x[..., :, None, :], x[..., None, :, :], dim=-1)
    return cosines.softmax(-1) @ x


# %% wrong weights-instead-of-vectors: softmax is returned
def context_vectors(x):
    return torch.softmax(x @ x.mT, -1)


# %% wrong weights-instead-of-vectors: the wrong name after return
def context_vectors(x):
    weights = F.softmax(x @ x.mT, dim=-1)
    context = weights @ x
    return weights


# %% wrong overflow: exp as it is
def context_vectors(x):
    raised = torch.exp(x @ x.mT)
    return raised / raised.sum(-1, keepdim=True) @ x


# %% wrong overflow: math.e to the power
def context_vectors(x):
    raised = math.e ** (x @ x.mT)
    return torch.einsum("...ij,...jd->...id", raised / raised.sum(-1, keepdim=True), x)


# %% wrong two-axes-only: einsum with letters for two axes
def context_vectors(x):
    weights = torch.einsum("id,jd->ij", x, x).softmax(-1)
    return torch.einsum("ij,jd->id", weights, x)


# %% wrong two-axes-only: t
def context_vectors(x):
    return torch.softmax(x.mm(x.t()), dim=-1).mm(x)


# %% wrong gram-of-features: the exercise before is wrong
def pairwise_dot_products(x):
    return x.mT @ x


def context_vectors(x):
    return torch.softmax(pairwise_dot_products(x), -1) @ x


# %% wrong returns-nothing: no return
def context_vectors(x):
    context = torch.softmax(x @ x.mT, -1) @ x


# %% wrong wrong-type: weights as well
def context_vectors(x):
    weights = torch.softmax(x @ x.mT, -1)
    return weights @ x, weights


# %% wrong -: the weights detached
def context_vectors(x):
    return torch.softmax(x @ x.mT, -1).detach() @ x


# %% wrong gradient-cut: all of it detached
def context_vectors(x):
    return (torch.softmax(x @ x.mT, -1) @ x).detach()


# %% wrong -: a loop with item
def context_vectors(x):
    weights = torch.softmax(x @ x.mT, -1)
    if x.dim() > 2:
        return torch.stack([context_vectors(one) for one in x])
    out = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(len(x)):
        for j in range(len(x)):
            out[i] += weights[i, j].item() * x[j]
    return out


# %% wrong dtype-changed: zeros of the default dtype
def context_vectors(x):
    out = torch.zeros(x.shape)
    return out + (torch.softmax(x @ x.mT, -1) @ x).float()


# %% wrong changes-argument: adds into x
def context_vectors(x):
    mixed = torch.softmax(x @ x.mT, -1) @ x
    x += 1
    return mixed


# %% wrong -: the token itself left out
def context_vectors(x):
    scores = x @ x.mT
    scores = scores.masked_fill(torch.eye(x.shape[-2], dtype=torch.bool), float("-inf"))
    return torch.softmax(scores, -1) @ x


# %% wrong -: x comes back
def context_vectors(x):
    return x.clone()


# %% wrong -: the mean of all tokens
def context_vectors(x):
    return x.mean(-2, keepdim=True).expand_as(x)


# %% wrong -: a scale that fits width 16
def context_vectors(x):
    return torch.softmax(x @ x.mT / 4, -1) @ x


# %% wrong -: x added, a residual
def context_vectors(x):
    return x + torch.softmax(x @ x.mT, -1) @ x


# %% wrong -: an epsilon below the fraction line, large enough to show
def context_vectors(x):
    scores = x @ x.mT
    raised = (scores - scores.amax(-1, keepdim=True)).exp()
    return raised / (raised.sum(-1, keepdim=True) + 0.01) @ x


# %% wrong -: sigmoid
def context_vectors(x):
    weights = torch.sigmoid(x @ x.mT)
    return weights / weights.sum(-1, keepdim=True) @ x


# %% wrong -: causal
def context_vectors(x):
    return F.scaled_dot_product_attention(x, x, x, scale=1.0, is_causal=True)


# %% wrong not-divided: stable exponentials
def context_vectors(x):
    scores = x @ x.mT
    return (scores - scores.amax(-1, keepdim=True)).exp() @ x


# %% wrong not-divided: exponentials
def context_vectors(x):
    return torch.matmul(torch.exp(x @ x.transpose(-2, -1)), x)


# %% wrong softmax-in-wrong-place: of the mixtures
def context_vectors(x):
    return F.softmax(x @ x.mT @ x, dim=-1)


# %% wrong softmax-in-wrong-place: of the tokens
def context_vectors(x):
    return x @ x.mT @ F.softmax(x, dim=-1)


# %% wrong x-before-weights: at
def context_vectors(x):
    weights = F.softmax(x @ x.mT, dim=-1)
    return x @ weights


# %% wrong x-before-weights: x transposed
def context_vectors(x):
    weights = F.softmax(x @ x.mT, dim=-1)
    return x.mT @ weights


# %% wrong batch-only: transpose(1, 2)
def context_vectors(x):
    return F.softmax(x @ x.transpose(1, 2), dim=2) @ x


# %% wrong batch-only: bmm
def context_vectors(x):
    weights = F.softmax(torch.bmm(x, x.mT), dim=-1)
    return torch.bmm(weights, x)


# %% wrong softmax-over-queries: no dim
def context_vectors(x):
    return F.softmax(x @ x.mT) @ x


# %% wrong softmax-over-queries: by hand, without keepdim
def context_vectors(x):
    scores = x @ x.mT
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1) @ x


# %% wrong two-axes-only: the lesson's loops
def context_vectors(x):
    weights = F.softmax(x @ x.mT, dim=-1)
    context = torch.zeros(x.shape)
    for i in range(len(x)):
        for j in range(len(x)):
            context[i] += weights[i, j] * x[j]
    return context


# %% wrong squeezed: the first axis
def context_vectors(x):
    return (torch.softmax(x @ x.mT, dim=-1) @ x).squeeze(0)
