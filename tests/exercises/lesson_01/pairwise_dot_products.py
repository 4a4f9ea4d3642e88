# %% right: matmul with the last two axes swapped
def pairwise_dot_products(x):
    return x @ x.transpose(-2, -1)


# %% right: mT
def pairwise_dot_products(x: Tensor) -> Tensor:
    return torch.matmul(x, x.mT)


# %% right: einsum
def pairwise_dot_products(x):
    return torch.einsum("...id,...jd->...ij", x, x)


# %% right: broadcast and sum
def pairwise_dot_products(x):
    print("got", tuple(x.shape))
    return (x[..., :, None, :] * x[..., None, :, :]).sum(dim=-1)


# %% right: a loop over features
def pairwise_dot_products(x):
    total = 0
    for e in range(x.shape[-1]):
        column = x[..., e]
        total = total + column.unsqueeze(-1) * column.unsqueeze(-2)
    return total


# %% right: a loop over sequences
def pairwise_dot_products(x):
    flat = x.reshape(-1, x.shape[-2], x.shape[-1])
    tables = [torch.mm(s, s.t()) for s in flat]
    return torch.stack(tables).reshape(*x.shape[:-1], x.shape[-2])


# %% right: recursion over the leading axes
def pairwise_dot_products(x):
    if x.dim() > 2:
        return torch.stack([pairwise_dot_products(one) for one in x])
    return x @ x.T


# %% right: bmm
def pairwise_dot_products(x):
    lead = x.shape[:-2]
    flat = x.contiguous().view(-1, *x.shape[-2:])
    return torch.bmm(flat, flat.permute(0, 2, 1)).view(*lead, x.size(-2), x.size(-2))


# %% right: F.linear, a class instance
class _Pairs:
    def __call__(self, x):
        if x.dim() == 2:
            return F.linear(x, x)
        return torch.stack([self(one) for one in x.unbind(0)])


pairwise_dot_products = _Pairs()


# %% right: vmap over pairs
def pairwise_dot_products(x):
    def table(s):
        return torch.vmap(lambda a: torch.vmap(lambda b: torch.dot(a, b))(s))(s)

    if x.dim() == 2:
        return table(x)
    return torch.vmap(table)(x.flatten(0, -3)).reshape(*x.shape[:-1], x.shape[-2])


# %% right: in float64 inside, cast back, a warning on standard error
def pairwise_dot_products(x):
    print("careful", file=sys.stderr)
    y = x.double()
    return (y @ y.mT).to(x.dtype)


# %% right: from squared distances
def pairwise_dot_products(x):
    y = x.double()
    squares = (y * y).sum(-1)
    distances = ((y.unsqueeze(-2) - y.unsqueeze(-3)) ** 2).sum(-1)
    return ((squares.unsqueeze(-1) + squares.unsqueeze(-2) - distances) / 2).to(x.dtype)


# %% right: into an own tensor, in place
def pairwise_dot_products(x):
    table = torch.zeros(*x.shape[:-1], x.shape[-2], dtype=x.dtype)
    table += x @ x.swapaxes(-1, -2)
    return table


# %% right: tensordot for one sequence, the rest by flattening
def pairwise_dot_products(x):
    if x.ndim == 2:
        return torch.tensordot(x, x, dims=([1], [1]))
    return torch.stack([pairwise_dot_products(s) for s in x.flatten(0, -3)]).unflatten(0, x.shape[:-2])


# %% wrong gram-of-features: transposed first
def pairwise_dot_products(x):
    return x.mT @ x


# %% wrong gram-of-features: einsum with the wrong letter kept
def pairwise_dot_products(x):
    return torch.einsum("...td,...te->...de", x, x)


# %% wrong gram-of-features: T, for two axes only
def pairwise_dot_products(x):
    return x.T @ x


# %% wrong gram-of-features: the batch flattened
def pairwise_dot_products(x):
    flat = x.reshape(-1, x.shape[-1])
    return flat.t().mm(flat)


# %% wrong gram-of-features: tensordot over tokens
def pairwise_dot_products(x):
    return torch.tensordot(x, x, dims=([-2], [-2])) if x.dim() == 2 else x.transpose(1, 2) @ x


# %% wrong cosine-instead: normalised first
def pairwise_dot_products(x):
    y = x / x.norm(dim=-1, keepdim=True)
    return y @ y.mT


# %% wrong cosine-instead: cosine_similarity
def pairwise_dot_products(x):
    return F.cosine_similarity(x.unsqueeze(-2), x.unsqueeze(-3), dim=-1)


# %% wrong cosine-instead: F.normalize with its default axis
def pairwise_dot_products(x):
    y = F.normalize(x)
    return y @ y.transpose(-1, -2)


# %% wrong cosine-instead: divided by both norms afterwards
def pairwise_dot_products(x):
    norms = torch.linalg.vector_norm(x, dim=-1)
    return (x @ x.mT) / (norms[..., :, None] * norms[..., None, :] + 1e-8)


# %% wrong scaled-anyway: by the root of the width
def pairwise_dot_products(x):
    return x @ x.mT / x.shape[-1] ** 0.5


# %% wrong scaled-anyway: by the width
def pairwise_dot_products(x):
    return x @ x.mT / x.size(-1)


# %% wrong scaled-anyway: a mean instead of a sum
def pairwise_dot_products(x):
    return (x.unsqueeze(-2) * x.unsqueeze(-3)).mean(-1)


# %% wrong softmax-too-early: softmax
def pairwise_dot_products(x):
    return torch.softmax(x @ x.mT, dim=-1)


# %% wrong softmax-too-early: scaled as well
def pairwise_dot_products(x):
    return F.softmax(x @ x.mT / math.sqrt(x.shape[-1]), dim=-1)


# %% wrong elementwise-product: asterisk
def pairwise_dot_products(x):
    return x * x


# %% wrong elementwise-product: each with itself
def pairwise_dot_products(x):
    return (x**2).sum(dim=-1)


# %% wrong elementwise-product: einsum keeps the axis
def pairwise_dot_products(x):
    return torch.einsum("...td,...td->...t", x, x)


# %% wrong transpose-forgotten: x @ x
def pairwise_dot_products(x):
    return x @ x


# %% wrong transpose-forgotten: matmul, after a harmless reshape
def pairwise_dot_products(x):
    return torch.matmul(x, x.reshape(x.shape))


# %% wrong loop-over-tokens: over pairs
def pairwise_dot_products(x):
    rows = []
    for i in range(x.shape[-2]):
        rows.append(torch.stack([(x[..., i, :] * x[..., j, :]).sum(-1) for j in range(x.shape[-2])], dim=-1))
    return torch.stack(rows, dim=-2)


# %% wrong loop-over-tokens: over rows
def pairwise_dot_products(x):
    return torch.stack([(x * x[..., i : i + 1, :]).sum(-1) for i in range(x.shape[-2])], dim=-2)


# %% wrong loop-over-tokens: enumerate, as the worked example has it
def pairwise_dot_products(x):
    if x.dim() > 2:
        return torch.stack([pairwise_dot_products(s) for s in x])
    omega = torch.empty(x.shape[0], x.shape[0], dtype=x.dtype)
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            omega[i, j] = torch.dot(a, b)
    return omega


# %% wrong loop-over-tokens: half of the pairs, mirrored
def pairwise_dot_products(x):
    length = x.shape[-2]
    table = torch.zeros(*x.shape[:-1], length, dtype=x.dtype)
    for i in range(length):
        row = (x[..., i : i + 1, :] * x[..., i:, :]).sum(-1)
        table[..., i, i:] = row
        table[..., i:, i] = row
    return table


# %% wrong loop-over-tokens: map
def pairwise_dot_products(x):
    return torch.stack(list(map(lambda token: (x @ token.unsqueeze(-1)).squeeze(-1), x.unbind(-2))), dim=-2)


# %% wrong loop-over-tokens: two tokens at a time
def pairwise_dot_products(x):
    return torch.cat([part @ x.mT for part in x.split(2, dim=-2)], dim=-2)


# %% wrong returns-nothing: no return
def pairwise_dot_products(x):
    x @ x.mT


# %% wrong wrong-type: a NumPy array
def pairwise_dot_products(x):
    a = x.detach().numpy()
    return a @ np.swapaxes(a, -1, -2)


# %% wrong wrong-type: a list of rows
def pairwise_dot_products(x):
    return list(x @ x.mT)


# %% wrong gradient-cut: through NumPy and back
def pairwise_dot_products(x):
    a = x.detach().numpy()
    return torch.from_numpy(a @ np.swapaxes(a, -1, -2))


# %% wrong gradient-cut: numbers out of the tensor
def pairwise_dot_products(x):
    flat = x.reshape(-1, *x.shape[-2:]).tolist()
    tables = [[[sum(a * b for a, b in zip(r, s)) for s in m] for r in m] for m in flat]
    return torch.tensor(tables, dtype=x.dtype).reshape(*x.shape[:-1], x.shape[-2])


# %% wrong gradient-cut: no_grad
def pairwise_dot_products(x):
    with torch.no_grad():
        return x @ x.mT


# %% wrong dtype-changed: always float32
def pairwise_dot_products(x):
    y = x.float()
    return y @ y.mT


# %% wrong dtype-changed: float64 comes back
def pairwise_dot_products(x):
    return x.double() @ x.double().mT


# %% wrong changes-argument: scaled and scaled back
def pairwise_dot_products(x):
    table = x @ x.mT
    x.mul_(2)
    return table


# %% wrong two-axes-only: T, and nothing else allowed
def pairwise_dot_products(x):
    assert x.dim() == 2
    return x @ x.T


# %% wrong two-axes-only: mm
def pairwise_dot_products(x):
    return torch.mm(x, x.t())


# %% wrong two-axes-only: the first two axes swapped
def pairwise_dot_products(x):
    return x @ x.transpose(0, 1)


# %% wrong raised: sys.exit
def pairwise_dot_products(x):
    sys.exit(0)


# %% wrong raised: recursion without end
def pairwise_dot_products(x):
    return pairwise_dot_products(x)


# %% wrong not-finite: divided by nothing
def pairwise_dot_products(x):
    return x @ x.mT / (x.sum() - x.sum())


# %% wrong wrong-shape: the upper triangle as a list
def pairwise_dot_products(x):
    i, j = torch.triu_indices(x.shape[-2], x.shape[-2])
    return (x @ x.mT)[..., i, j]


# %% wrong -: only one of the two brought to length 1
def pairwise_dot_products(x):
    return x @ F.normalize(x, dim=-1).mT


# %% wrong -: the diagonal left out
def pairwise_dot_products(x):
    return (x @ x.mT) * (1 - torch.eye(x.shape[-2], dtype=x.dtype))


# %% wrong -: distances
def pairwise_dot_products(x):
    return torch.cdist(x, x)


# %% wrong -: scaled by a constant
def pairwise_dot_products(x):
    return x @ x.mT / 4


# %% wrong -: only the lower half
def pairwise_dot_products(x):
    return torch.tril(x @ x.mT)


# %% wrong -: half precision inside
def pairwise_dot_products(x):
    y = x.bfloat16()
    return (y @ y.mT).to(x.dtype)


# %% wrong -: centred first, a covariance
def pairwise_dot_products(x):
    y = x - x.mean(-1, keepdim=True)
    return y @ y.mT


# %% wrong -: noise on top
def pairwise_dot_products(x):
    return x @ x.mT + 0.01 * torch.randn(x.shape[-2], x.shape[-2], dtype=x.dtype)


# %% wrong -: remembers its first answer
_cache = {}


def pairwise_dot_products(x):
    if x.dim() not in _cache:
        _cache[x.dim()] = x @ x.mT
    return _cache[x.dim()].to(x.dtype)


# %% wrong view-instead-of-transpose: reshape
def pairwise_dot_products(x):
    *lead, T, E = x.shape
    return x @ x.reshape(*lead, E, T)


# %% wrong view-instead-of-transpose: view
def pairwise_dot_products(x):
    return torch.matmul(x, x.view(*x.size()[:-2], x.size(-1), x.size(-2)))


# %% wrong batch-only: transpose(1, 2)
def pairwise_dot_products(x):
    return x @ x.transpose(1, 2)


# %% wrong batch-only: einsum with a letter for the batch
def pairwise_dot_products(x):
    return torch.einsum("bte,bse->bts", x, x)


# %% wrong elementwise-product: all pairs, never summed
def pairwise_dot_products(x):
    return x.unsqueeze(-2) * x.unsqueeze(-3)


# %% wrong loop-over-tokens: the lesson's loops, for one sentence
def pairwise_dot_products(x):
    omega = x.new_empty(len(x), len(x))
    for i, x_i in enumerate(x):
        for j, x_j in enumerate(x):
            omega[i, j] = torch.dot(x_i, x_j)
    return omega
