# %% right: matmul with the last two axes swapped
def attention_scores(query, key):
    return query @ key.transpose(-2, -1)


# %% right: einsum
def attention_scores(query, key):
    return torch.einsum("...td,...sd->...ts", query, key)


# %% right: broadcast and sum
def attention_scores(query, key):
    return (query[..., :, None, :] * key[..., None, :, :]).sum(-1)


# %% right: loops over all leading axes and tokens, filling a tensor of its own
def attention_scores(query, key):
    lead = query.shape[:-2]
    q = query.reshape(-1, *query.shape[-2:])
    k = key.reshape(-1, *key.shape[-2:])
    out = torch.empty(q.shape[0], q.shape[1], k.shape[1], dtype=query.dtype, device=query.device)
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            for j in range(k.shape[1]):
                out[b, i, j] = torch.dot(q[b, i], k[b, j])
    return out.reshape(*lead, q.shape[1], k.shape[1])


# %% right: recursion over the leading axes, printing
def attention_scores(query, key):
    if query.dim() > 2:
        return torch.stack([attention_scores(q, k) for q, k in zip(query, key)])
    print("scores of", tuple(query.shape), "and", tuple(key.shape))
    return torch.mm(query, key.t())


# %% right: bmm on flattened leading axes
def attention_scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    lead = query.shape[:-2]
    flat = torch.bmm(query.flatten(0, -3) if lead else query[None], (key.flatten(0, -3) if lead else key[None]).mT)
    return flat.unflatten(0, lead) if lead else flat[0]


# %% right: F.linear on one matrix at a time through vmap
def attention_scores(query, key):
    f = F.linear
    for _ in range(query.ndim - 2):
        f = torch.vmap(f)
    return f(query, key)


# %% right: float64 inside and cast back, with a warning on stderr
def attention_scores(query, key):
    warnings.warn("computing in float64")
    sys.stderr.write("still on it\n")
    return torch.matmul(query.double(), key.double().swapaxes(-1, -2)).to(query.dtype)


# %% right: an instance of a class
class Scores:
    def __call__(self, query, key):
        return torch.matmul(key, query.movedim(-1, -2)).movedim(-1, -2)


attention_scores = Scores()


# %% right: a partial of einsum
attention_scores = functools.partial(torch.einsum, "...qd, ...kd -> ...qk")


# %% right: summed feature by feature, in place on a tensor of its own
def attention_scores(query, key):
    total = query.new_zeros(query.shape[:-1] + key.shape[-2:-1])
    for d in reversed(range(query.size(-1))):
        total += query[..., d].unsqueeze(-1) * key[..., d].unsqueeze(-2)
    return total


# %% right: tensordot and index by index, other names
def attention_scores(a, b, *, debug=False):
    rows = [torch.linalg.vecdot(a[..., i : i + 1, :], b) for i in range(a.shape[-2])]
    return torch.stack(rows, dim=-2)


# %% right: polarisation identity, another order of rounding
def attention_scores(query, key):
    q, k = query.double(), key.double()
    squares = (q * q).sum(-1)[..., None] + (k * k).sum(-1)[..., None, :]
    distance = (q[..., None, :] - k[..., None, :, :]).pow(2).sum(-1)
    return ((squares - distance) / 2).type_as(query)


# %% right: subclassed arguments' names kept, in one line
attention_scores = lambda query, key: (key @ query.mT).mT


# %% wrong scores-transposed: key first
def attention_scores(query, key):
    return key @ query.transpose(-2, -1)


# %% wrong scores-transposed: transposed afterwards
def attention_scores(query, key):
    return torch.einsum("...td,...sd->...st", query, key)


# %% wrong scores-transposed: right product, turned round at the end
def attention_scores(query, key):
    return (query @ key.mT).mT.contiguous()


# %% wrong scores-transposed: loops that fill columns
def attention_scores(query, key):
    q, k = query.flatten(0, -3) if query.dim() > 2 else query[None], key.flatten(0, -3) if key.dim() > 2 else key[None]
    out = torch.stack([torch.stack([torch.stack([b @ a for a in qq]) for b in kk]) for qq, kk in zip(q, k)])
    return out.reshape(*query.shape[:-2], key.shape[-2], query.shape[-2])


# %% wrong elementwise-product: star
def attention_scores(query, key):
    return query * key


# %% wrong elementwise-product: star and sum
def attention_scores(query, key):
    return torch.mul(query, key).sum(dim=-1)


# %% wrong elementwise-product: einsum with one letter for both tokens
def attention_scores(query, key):
    return torch.einsum("...td,...td->...t", query, key)


# %% wrong elementwise-product: all pairs, never summed
def attention_scores(query, key):
    return query[..., :, None, :] * key[..., None, :, :]


# %% wrong elementwise-product: sum that keeps its axis
def attention_scores(query, key):
    return (query * key).sum(-1, keepdim=True)


# %% wrong scaled-too-early: square root of the width
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


# %% wrong scaled-too-early: keys scaled first
def attention_scores(query, key):
    return query @ (key * key.shape[-1] ** -0.5).mT


# %% wrong scaled-too-early: mean of the products
def attention_scores(query, key):
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).mean(-1)


# %% wrong scaled-too-early: einsum over a tensor's root
def attention_scores(query, key):
    d_k = torch.tensor(key.shape[-1], dtype=query.dtype)
    return torch.einsum("...qd,...kd->...qk", query, key) / torch.sqrt(d_k)


# %% wrong softmax-too-early: softmax of the scaled scores
def attention_scores(query, key):
    return F.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1)


# %% wrong softmax-too-early: softmax of the bare scores
def attention_scores(query, key):
    return (query @ key.mT).softmax(-1)


# %% wrong transpose-forgotten: at
def attention_scores(query, key):
    return query @ key


# %% wrong transpose-forgotten: torch.matmul
def attention_scores(query, key):
    scores = torch.matmul(query, key)
    return scores


# %% wrong transpose-forgotten: einsum letters
def attention_scores(query, key):
    return torch.einsum("...ij,...jk->...ik", query, key)


# %% wrong two-axes-only: T
def attention_scores(query, key):
    return query @ key.T


# %% wrong two-axes-only: mm
def attention_scores(query, key):
    return torch.mm(query, key.t())


# %% wrong two-axes-only: transpose of the first two axes
def attention_scores(query, key):
    return query @ key.transpose(0, 1)


# %% wrong two-axes-only: einsum without dots
def attention_scores(query, key):
    return torch.einsum("td,sd->ts", query, key)


# %% wrong returns-nothing: no return
def attention_scores(query, key):
    scores = query @ key.mT


# %% wrong returns-nothing: printed only
def attention_scores(query, key):
    print(query @ key.mT)


# %% wrong wrong-type: a NumPy array
def attention_scores(query, key):
    return query.detach().numpy() @ np.swapaxes(key.detach().numpy(), -1, -2)


# %% wrong wrong-type: a nested list
def attention_scores(query, key):
    return (query @ key.mT).tolist()


# %% wrong wrong-type: a tuple of one
def attention_scores(query, key):
    return ((query @ key.mT),)


# %% wrong wrong-type: scores and their shape
def attention_scores(query, key):
    scores = query @ key.mT
    return scores, scores.shape


# %% wrong wrong-shape: an axis too many
def attention_scores(query, key):
    return (query @ key.mT).unsqueeze(0)


# %% wrong wrong-shape: flattened
def attention_scores(query, key):
    return (query @ key.mT).flatten(-2)


# %% wrong not-finite: divided by zero
def attention_scores(query, key):
    scores = query @ key.mT
    return scores / (scores - scores)


# %% wrong changes-argument: divided in place afterwards
def attention_scores(query, key):
    scores = query @ key.mT
    query.mul_(0)
    return scores


# %% wrong changes-argument: key transposed in place
def attention_scores(query, key):
    return query @ key.transpose_(-2, -1)


# %% wrong gradient-cut: detach
def attention_scores(query, key):
    return (query @ key.mT).detach()


# %% wrong gradient-cut: no_grad
@torch.no_grad()
def attention_scores(query, key):
    return query @ key.mT


# %% wrong gradient-cut: item in a loop
def attention_scores(query, key):
    out = torch.zeros(*query.shape[:-1], key.shape[-2], dtype=query.dtype)
    flat_q, flat_k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    flat = out.view(-1, *out.shape[-2:])
    for b in range(len(flat)):
        for i, q in enumerate(flat_q[b]):
            for j, k in enumerate(flat_k[b]):
                flat[b, i, j] = (q * k).sum().item()
    return out


# %% wrong gradient-cut: key as data
def attention_scores(query, key):
    return query @ key.data.mT


# %% wrong gradient-cut: through NumPy, which refuses gradients
def attention_scores(query, key):
    return torch.from_numpy(query.numpy() @ key.numpy().swapaxes(-1, -2))


# %% wrong dtype-changed: always float32
def attention_scores(query, key):
    return query.float() @ key.float().mT


# %% wrong dtype-changed: zeros without dtype
def attention_scores(query, key):
    out = torch.zeros(*query.shape[:-1], key.shape[-2])
    out[...] = query @ key.mT
    return out


# %% wrong dtype-changed: always float64
def attention_scores(query, key):
    return query.double() @ key.double().mT


# %% wrong raised: an exception of its own
def attention_scores(query, key):
    if query.shape != key.shape:
        raise ValueError("query and key must have the same shape")
    return query @ key.mT


# %% wrong raised: sys.exit
def attention_scores(query, key):
    sys.exit(0)


# %% wrong raised: endless recursion
def attention_scores(query, key):
    return attention_scores(query, key)


# %% wrong other-parameters: one argument only
def attention_scores(query):
    return query @ query.mT


# %% wrong raised: dot of matrices
def attention_scores(query, key):
    return torch.dot(query, key)


# %% wrong view-instead-of-transpose: key viewed instead of transposed
def attention_scores(query, key):
    return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


# %% wrong -: off by one everywhere
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) + 1


# %% wrong cosine-instead: cosine of the angle
def attention_scores(query, key):
    return F.cosine_similarity(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1)


# %% wrong -: scaled by the number of keys
def attention_scores(query, key):
    return query @ key.mT / math.sqrt(key.shape[-2])


# %% wrong -: half precision inside
def attention_scores(query, key):
    return (query.half() @ key.half().mT).to(query.dtype)


# %% wrong -: scale of the toy
def attention_scores(query, key):
    return query @ key.mT / math.sqrt(3)


# %% wrong -: scale of 2
def attention_scores(query, key):
    return query @ key.mT / 2


# %% wrong -: negative distance
def attention_scores(query, key):
    return -torch.cdist(query, key)


# %% wrong -: noise
def attention_scores(query, key):
    scores = query @ key.mT
    return scores + 0.05 * torch.randn_like(scores)


# %% wrong -: the first answer for ever
first = []


def attention_scores(query, key):
    if not first:
        first.append(query @ key.mT)
    return first[0]


# %% wrong -: cached by shape
cache = {}


def attention_scores(query, key):
    if (query.shape, key.shape) not in cache:
        cache[query.shape, key.shape] = query @ key.mT
    return cache[query.shape, key.shape]


# %% wrong -: rounded to integers
def attention_scores(query, key):
    return (query @ key.mT).round()


# %% wrong -: last feature forgotten
def attention_scores(query, key):
    return query[..., :-1] @ key[..., :-1].mT


# %% wrong -: causal
def attention_scores(query, key):
    return (query @ key.mT).tril()


# %% wrong -: keys in reverse
def attention_scores(query, key):
    return query @ key.flip(-2).mT


# %% wrong view-instead-of-transpose: reshape to (D, T)
def attention_scores(query, key):
    T, D = key.shape[-2:]
    return query @ key.reshape(*key.shape[:-2], D, T)


# %% wrong view-instead-of-transpose: view of one sequence
def attention_scores(query, key):
    return query @ key.view(key.shape[1], key.shape[0])


# %% wrong gram-of-features: the query transposed
def attention_scores(query, key):
    return query.transpose(-2, -1) @ key


# %% wrong gram-of-features: einsum over the tokens
def attention_scores(query, key):
    return torch.einsum("...td,...te->...de", query, key)


# %% wrong one-argument-only: the query twice
def attention_scores(query, key):
    return query @ query.transpose(-2, -1)


# %% wrong one-argument-only: the key twice
def attention_scores(query, key):
    return torch.einsum("...td,...sd->...ts", key, key)


# %% wrong cosine-instead: normalised
def attention_scores(query, key):
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT


# %% wrong batch-only: transpose(1, 2)
def attention_scores(query, key):
    return query @ key.transpose(1, 2)


# %% wrong batch-only: bmm
def attention_scores(query, key):
    return torch.bmm(query, key.transpose(1, 2))


# %% wrong scaled-too-early: a power without brackets
def attention_scores(query, key):
    return query @ key.mT / query.shape[-1] ** 1 / 2


# %% wrong two-axes-only: the lesson's loops
def attention_scores(query, key):
    scores = query.new_zeros(len(query), len(key))
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = query[i] @ key[j]
    return scores


# %% wrong -: the lesson's loops with its sizes
def attention_scores(query, key):
    scores = torch.zeros(3, 3)
    for i in range(3):
        for j in range(3):
            scores[i, j] = query[i] @ key[j]
    return scores


# %% wrong squeezed: every axis of length 1
def attention_scores(query, key):
    return (query @ key.mT).squeeze()


# %% wrong squeezed: an axis added to both, and the wrong one removed
def attention_scores(query, key):
    return (query.unsqueeze(-2) @ key.unsqueeze(-3).mT).squeeze()
