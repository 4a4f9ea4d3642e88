# %% right: at
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x @ w_value


# %% right: einsum, as a list
def project_qkv(x, w_query, w_key, w_value):
    return [torch.einsum("...te,ek->...tk", x, w) for w in (w_query, w_key, w_value)]


# %% right: loops over every leading axis, token and column
def project_qkv(x, w_query, w_key, w_value):
    def project(w):
        flat = x.reshape(-1, x.shape[-1])
        out = torch.zeros(flat.shape[0], w.shape[1], dtype=x.dtype)
        for i in range(flat.shape[0]):
            for j in range(w.shape[1]):
                out[i, j] = (flat[i] * w[:, j]).sum()
        return out.reshape(*x.shape[:-1], w.shape[1])

    return project(w_query), project(w_key), project(w_value)


# %% right: F.linear
def project_qkv(x, w_query, w_key, w_value):
    return tuple(F.linear(x, w.t()) for w in (w_query, w_key, w_value))


# %% right: one product for all three, then split
def project_qkv(x, w_query, w_key, w_value):
    sizes = [w_query.shape[1], w_key.shape[1], w_value.shape[1]]
    return torch.split(x @ torch.cat([w_query, w_key, w_value], dim=1), sizes, dim=-1)


# %% right: bmm with expanded weights, float64 inside and cast back
def project_qkv(x, w_query, w_key, w_value):
    flat = x.reshape(-1, *x.shape[-2:]).double()
    out = []
    for w in (w_query, w_key, w_value):
        y = torch.bmm(flat, w.double().expand(flat.shape[0], -1, -1))
        out.append(y.view(*x.shape[:-1], -1).to(x.dtype))
    print("projected", [tuple(y.shape) for y in out])
    return out


# %% right: broadcast and sum, with a warning
def project_qkv(x, w_query, w_key, w_value):
    warnings.warn("memory")
    return tuple((x.unsqueeze(-1) * w).sum(-2) for w in (w_query, w_key, w_value))


# %% right: nn.functional by names and a helper, keyword arguments
def _product(tokens, *, weight):
    return torch.tensordot(tokens, weight, dims=1)


def project_qkv(x, w_query, w_key, w_value):
    q, k, v = map(lambda w: _product(x, weight=w), [w_query, w_key, w_value])
    return q, k, v


# %% right: an object
class Project:
    def __init__(self, operation=torch.matmul):
        self.operation = operation

    def __call__(self, x, *weights):
        return [self.operation(x, w) for w in weights]


project_qkv = Project()


# %% right: accumulated in place on its own tensors
def project_qkv(x, w_query, w_key, w_value):
    results = []
    for w in (w_query, w_key, w_value):
        total = x.new_zeros(*x.shape[:-1], w.shape[-1])
        for e in range(x.shape[-1]):
            total += x[..., e : e + 1] * w[e]
        results.append(total)
    return tuple(results)


# %% wrong weights-transposed: T on all three
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query.T, x @ w_key.T, x @ w_value.T


# %% wrong weights-transposed: F.linear
def project_qkv(x, w_query, w_key, w_value):
    return F.linear(x, w_query), F.linear(x, w_key), F.linear(x, w_value)


# %% wrong weights-transposed: einsum letters
def project_qkv(x, w_query, w_key, w_value):
    return tuple(torch.einsum("...te,ke->...tk", x, w) for w in (w_query, w_key, w_value))


# %% wrong weights-transposed: the value only
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x @ w_value.transpose(0, 1)


# %% wrong weights-transposed: query and key
def project_qkv(x, w_query, w_key, w_value):
    return torch.matmul(x, w_query.mT), torch.matmul(x, w_key.permute(1, 0)), torch.matmul(x, w_value)


# %% wrong weights-transposed: the query only
def project_qkv(x, w_query, w_key, w_value):
    return [x @ w_query.t(), x @ w_key, x @ w_value]


# %% wrong value-from-key: copied line
def project_qkv(x, w_query, w_key, w_value):
    query = x @ w_query
    key = x @ w_key
    value = x @ w_key
    return query, key, value


# %% wrong value-from-key: the same tensor
def project_qkv(x, w_query, w_key, w_value):
    query, key = torch.einsum("...e,ek->...k", x, w_query), torch.einsum("...e,ek->...k", x, w_key)
    value = key
    return query, key, value


# %% wrong value-from-key: one product for two, split wrongly
def project_qkv(x, w_query, w_key, w_value):
    both = x @ torch.cat([w_query, w_key], -1)
    query, key = both.chunk(2, dim=-1)
    return query, key, key.clone()


# %% wrong same-projection: query's everywhere
def project_qkv(x, w_query, w_key, w_value):
    q = x @ w_query
    return q, q, q


# %% wrong same-projection: key from the query's weights
def project_qkv(x, w_query, w_key, w_value):
    return torch.matmul(x, w_query), torch.matmul(x, w_query), torch.matmul(x, w_value)


# %% wrong same-projection: query from the key's weights
def project_qkv(x, w_query, w_key, w_value):
    return [x @ w for w in (w_key, w_key, w_value)]


# %% wrong same-projection: value from the query's weights
def project_qkv(x, w_query, w_key, w_value):
    return F.linear(x, w_query.mT), F.linear(x, w_key.mT), F.linear(x, w_query.mT)


# %% wrong same-projection: a loop that never moves on
def project_qkv(x, w_query, w_key, w_value):
    weights = [w_query, w_key, w_value]
    return tuple(x @ weights[-1] for _ in weights)


# %% wrong outputs-swapped: key first
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_key, x @ w_query, x @ w_value


# %% wrong outputs-swapped: value first
def project_qkv(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    return value, query, key


# %% wrong two-axes-only: mm
def project_qkv(x, w_query, w_key, w_value):
    return torch.mm(x, w_query), torch.mm(x, w_key), torch.mm(x, w_value)


# %% wrong two-axes-only: einsum without dots
def project_qkv(x, w_query, w_key, w_value):
    return tuple(torch.einsum("te,ek->tk", x, w) for w in (w_query, w_key, w_value))


# %% wrong two-axes-only: flattened and never put back
def project_qkv(x, w_query, w_key, w_value):
    flat = x.reshape(-1, x.shape[-1])
    return flat @ w_query, flat @ w_key, flat @ w_value


# %% wrong returns-nothing: no return
def project_qkv(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value


# %% wrong wrong-type: one stacked tensor
def project_qkv(x, w_query, w_key, w_value):
    return torch.cat((x @ w_query, x @ w_key, x @ w_value), dim=-1)


# %% wrong wrong-type: a dict
def project_qkv(x, w_query, w_key, w_value):
    return {"query": x @ w_query, "key": x @ w_key, "value": x @ w_value}


# %% wrong wrong-type: two of three
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key


# %% wrong wrong-type: a generator
def project_qkv(x, w_query, w_key, w_value):
    return (x @ w for w in (w_query, w_key, w_value))


# %% wrong wrong-type: NumPy arrays
def project_qkv(x, w_query, w_key, w_value):
    return tuple(np.matmul(x.detach().numpy(), w.detach().numpy()) for w in (w_query, w_key, w_value))


# %% wrong tokens-in-columns: tokens last
def project_qkv(x, w_query, w_key, w_value):
    return tuple((x @ w).mT for w in (w_query, w_key, w_value))


# %% wrong not-finite: logarithm
def project_qkv(x, w_query, w_key, w_value):
    return torch.log(x @ w_query), x @ w_key, x @ w_value


# %% wrong changes-argument: x scaled in place
def project_qkv(x, w_query, w_key, w_value):
    result = x @ w_query, x @ w_key, x @ w_value
    x /= 2
    return result


# %% wrong changes-argument: weights zeroed
def project_qkv(x, w_query, w_key, w_value):
    q = x @ w_query
    k, v = x @ w_key, x @ w_value
    w_value[0] = 0
    return q, k, v


# %% wrong gradient-cut: Linear layers filled by data
def project_qkv(x, w_query, w_key, w_value):
    out = []
    for w in (w_query, w_key, w_value):
        layer = nn.Linear(*w.shape, bias=False, dtype=x.dtype)
        layer.weight.data = w.data.T.clone()
        out.append(layer(x))
    return out


# %% wrong gradient-cut: new tensors of tensors
def project_qkv(x, w_query, w_key, w_value):
    return tuple(torch.tensor((x @ w).tolist(), dtype=x.dtype) for w in (w_query, w_key, w_value))


# %% wrong gradient-cut: value detached
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, (x @ w_value).detach()


# %% wrong dtype-changed: float
def project_qkv(x, w_query, w_key, w_value):
    x = x.float()
    return x @ w_query.float(), x @ w_key.float(), x @ w_value.float()


# %% wrong dtype-changed: one of three in float64
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, (x.double() @ w_value.double())


# %% wrong raised: multiplied entry by entry
def project_qkv(x, w_query, w_key, w_value):
    return x * w_query, x * w_key, x * w_value


# %% wrong raised: SystemExit
def project_qkv(x, w_query, w_key, w_value):
    raise SystemExit("done")


# %% wrong name-not-defined: a name that is not there
def project_qkv(x, w_query, w_key, w_value):
    return x @ W_q, x @ w_key, x @ w_value


# %% wrong -: a bias of one
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query + 1, x @ w_key + 1, x @ w_value + 1


# %% wrong -: value scaled
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x @ w_value / w_value.shape[1] ** 0.5


# %% wrong -: half precision
def project_qkv(x, w_query, w_key, w_value):
    return tuple((x.bfloat16() @ w.bfloat16()).to(x.dtype) for w in (w_query, w_key, w_value))


# %% wrong -: weights reshaped, not transposed
def project_qkv(x, w_query, w_key, w_value):
    return tuple(x @ w.T.reshape(w.shape) for w in (w_query, w_key, w_value))


# %% wrong -: query and key are right, the value is noise
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, torch.randn(*x.shape[:-1], w_value.shape[1], dtype=x.dtype)


# %% wrong -: the first batch for all
def project_qkv(x, w_query, w_key, w_value):
    if x.dim() == 3:
        x = x[:1].expand_as(x)
    return x @ w_query, x @ w_key, x @ w_value


# %% wrong -: ReLU on top
def project_qkv(x, w_query, w_key, w_value):
    return (x @ w_query).relu(), (x @ w_key).relu(), (x @ w_value).relu()


# %% wrong -: zeros of the right shape
def project_qkv(x, w_query, w_key, w_value):
    return tuple(torch.zeros(*x.shape[:-1], w.shape[1], dtype=x.dtype) for w in (w_query, w_key, w_value))


# %% wrong tokens-in-columns: weights first, both transposed
def project_qkv(x, w_query, w_key, w_value):
    return w_query.mT @ x.mT, w_key.mT @ x.mT, w_value.mT @ x.mT


# %% wrong factors-swapped: at
def project_qkv(x, w_query, w_key, w_value):
    return w_query @ x, w_key @ x, w_value @ x


# %% wrong factors-swapped: torch.matmul
def project_qkv(x, w_query, w_key, w_value):
    query = torch.matmul(w_query, x)
    key = torch.matmul(w_key, x)
    value = torch.matmul(w_value, x)
    return query, key, value


# %% wrong chained-projections: each from the one before
def project_qkv(x, w_query, w_key, w_value):
    query = x @ w_query
    key = query @ w_key
    value = key @ w_value
    return query, key, value


# %% wrong chained-projections: x overwritten
def project_qkv(x, w_query, w_key, w_value):
    results = []
    for w in (w_query, w_key, w_value):
        x = x @ w
        results.append(x)
    return tuple(results)


# %% wrong not-projected: the value is x
def project_qkv(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x


# %% wrong not-projected: x three times
def project_qkv(x, w_query, w_key, w_value):
    return x, x, x


# %% wrong batch-only: bmm
def project_qkv(x, w_query, w_key, w_value):
    batch = x.shape[0]
    return tuple(torch.bmm(x, w.expand(batch, *w.shape)) for w in (w_query, w_key, w_value))


# %% wrong batch-only: einsum with a letter for the batch
def project_qkv(x, w_query, w_key, w_value):
    return tuple(torch.einsum("bte,ed->btd", x, w) for w in (w_query, w_key, w_value))
