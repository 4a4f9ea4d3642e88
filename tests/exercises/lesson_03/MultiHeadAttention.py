# %% prelude
class Attention(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), self.v_proj(value)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def score(self, q, k):
        return q @ k.mT / math.sqrt(self.head_dim)

    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf)

    def weigh(self, scores, mask):
        return torch.softmax(scores if mask is None else self.hide(scores, mask), dim=-1)

    def merge(self, x):
        return x.transpose(1, 2).flatten(2)

    def mix(self, weights, v):
        return self.out_proj(self.merge(weights @ v))

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        weights = self.weigh(self.score(q, k), mask)
        return self.mix(weights, v), weights


# %% right: the book's way
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        return output, weights


# %% right: view, transpose, contiguous, view; a large negative number
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.size(0), -1, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-1)
        output = self.out_proj(
            (weights @ v).transpose(1, 2).contiguous().view(query.size(0), -1, self.num_heads * self.head_dim)
        )
        return output, weights


# %% right: einsum, additive mask
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim))

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = torch.einsum("bthd,bshd->bhts", q, k) * self.head_dim**-0.5
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(mask.logical_not(), -math.inf)
            scores = scores + bias
        weights = torch.softmax(scores, dim=-1)
        output = self.out_proj(torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2))
        return output, weights


# %% right: fused attention, weights beside it
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        output = self.out_proj(mixed.transpose(1, 2).reshape(*query.shape))
        return output, weights


# %% right: masked after the softmax and shared out anew
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask
            weights = weights / weights.sum(dim=-1, keepdim=True)
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        return output, weights


# %% right: a loop over batch and heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.H = self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        B, Tq, E = q.shape
        Tk, D = k.shape[1], E // self.H
        full = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
        full = full.expand(B, self.H, Tq, Tk)
        rows, tables = [], []
        for b in range(B):
            heads, of_heads = [], []
            for h in range(self.H):
                cols = slice(h * D, (h + 1) * D)
                s = q[b][:, cols] @ k[b][:, cols].T / D**0.5
                s = torch.where(full[b, h], s, torch.tensor(float("-inf"), dtype=s.dtype))
                of_heads.append(s.softmax(-1))
                heads.append(of_heads[-1] @ v[b][:, cols])
            rows.append(torch.cat(heads, -1))
            tables.append(torch.stack(of_heads))
        return self.out_proj(torch.stack(rows)), torch.stack(tables)


# %% right: the key's bias left out, which no softmax notices
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(F.linear(key, self.k_proj.weight))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        return output, weights


# %% right: in float64 and back, a list, extra buffers and helpers
def heads(x, n):
    return torch.stack(x.chunk(n, dim=-1), dim=1)


class Base(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.register_buffer("scale", torch.tensor((d_model / num_heads) ** -0.5))
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))


class MultiHeadAttention(Base):
    def forward(self, query, key, value, mask=None):
        print("attending", query.shape)
        dtype = query.dtype
        q, k, v = (
            heads(F.linear(x.double(), p.weight.double(), p.bias.double()), self.num_heads)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        scores = torch.matmul(q * q.shape[-1] ** -0.5, k.mT)
        if mask is not None:
            scores[~mask.expand_as(scores)] = -math.inf
        weights = torch.nn.Softmax(dim=-1)(scores).to(dtype)
        merged = torch.cat((weights @ v.to(dtype)).unbind(1), dim=-1)
        return [self.out_proj(merged), weights]


# %% right: dropout of zero, keyword arguments, a subclass of something of torch's
class MultiHeadAttention(nn.ModuleDict):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = nn.Dropout(0.0)
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        return output, weights


# %% wrong excluded-function: nn.MultiheadAttention inside
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        self.inner = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.heads = num_heads

    def forward(self, query, key, value, mask=None):
        with torch.no_grad():
            self.inner.in_proj_weight.copy_(torch.cat([p.weight for p in (self.q_proj, self.k_proj, self.v_proj)]))
            self.inner.in_proj_bias.copy_(torch.cat([p.bias for p in (self.q_proj, self.k_proj, self.v_proj)]))
            self.inner.out_proj.load_state_dict(self.out_proj.state_dict())
        if mask is not None:
            mask = ~mask.expand(len(query), self.heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return self.inner(query, key, value, attn_mask=mask, average_attn_weights=False)


# %% wrong excluded-function: a subclass of nn.MultiheadAttention
class MultiHeadAttention(nn.MultiheadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads, batch_first=True)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, query, key, value, mask=None):
        with torch.no_grad():
            self.in_proj_weight.copy_(torch.cat([p.weight for p in (self.q_proj, self.k_proj, self.v_proj)]))
            self.in_proj_bias.copy_(torch.cat([p.bias for p in (self.q_proj, self.k_proj, self.v_proj)]))
        if mask is not None:
            mask = ~mask.expand(len(query), self.num_heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return super().forward(query, key, value, attn_mask=mask, average_attn_weights=False)


# %% wrong excluded-function: nn.MultiheadAttention scripted by torch.jit
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        self.inner = [torch.jit.script(nn.MultiheadAttention(d_model, num_heads, batch_first=True))]
        self.heads = num_heads

    def forward(self, query, key, value, mask=None):
        inner = self.inner[0]
        with torch.no_grad():
            inner.in_proj_weight.copy_(torch.cat([p.weight for p in (self.q_proj, self.k_proj, self.v_proj)]))
            inner.in_proj_bias.copy_(torch.cat([p.bias for p in (self.q_proj, self.k_proj, self.v_proj)]))
            inner.out_proj.weight.copy_(self.out_proj.weight)
            inner.out_proj.bias.copy_(self.out_proj.bias)
        if mask is not None:
            mask = ~mask.expand(len(query), self.heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return inner(query, key, value, attn_mask=mask, average_attn_weights=False)


# %% wrong excluded-function: F.multi_head_attention_forward by getattr
attend = getattr(F, "multi_head" + "_attention_forward")


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        self.heads = num_heads

    def forward(self, query, key, value, mask=None):
        first = (self.q_proj, self.k_proj, self.v_proj)
        if mask is not None:
            mask = ~mask.expand(len(query), self.heads, query.shape[1], key.shape[1]).flatten(0, 1)
        output, weights = attend(
            query.transpose(0, 1),
            key.transpose(0, 1),
            value.transpose(0, 1),
            query.shape[-1],
            self.heads,
            torch.cat([p.weight for p in first]),
            torch.cat([p.bias for p in first]),
            None,
            None,
            False,
            0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            attn_mask=mask,
            average_attn_weights=False,
        )
        return output.transpose(0, 1), weights


# %% wrong misbuilt: one stacked projection
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        return self.out_proj(query), None


# %% wrong misbuilt: no module at all
def MultiHeadAttention(d_model, num_heads):
    return lambda query, key, value, mask=None: (query, query)


# %% wrong misbuilt: other attribute names
class MultiHeadAttention(Attention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.W_q, self.W_k, self.W_v, self.W_o = self.q_proj, self.k_proj, self.v_proj, self.out_proj
        del self.q_proj, self.k_proj, self.v_proj, self.out_proj


# %% wrong misbuilt: no bias
class MultiHeadAttention(Attention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))


# %% wrong misbuilt: projections as wide as one head
class MultiHeadAttention(Attention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.q_proj = nn.Linear(d_model, d_model // num_heads)


# %% wrong super-init-forgotten: super().__init__ forgotten
class MultiHeadAttention(Attention):
    def __init__(self, d_model, num_heads):
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)


# %% wrong mask-inverted: filled where the mask is True
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(mask, -math.inf)


# %% wrong mask-inverted: -1e9 where the mask is True
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(mask == 1, -1e9)


# %% wrong mask-inverted: where with its branches swapped
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return torch.where(mask, torch.finfo(scores.dtype).min, scores)


# %% wrong mask-inverted: PyTorch's other convention, added
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(mask, -1e30)


# %% wrong mask-ignored: never used
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return scores.softmax(-1)


# %% wrong mask-ignored: the result of masked_fill is dropped
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        scores.masked_fill(~mask, -math.inf)
        return scores


# %% wrong mask-ignored: masked after the weights are made
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        weights = scores.softmax(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return weights


# %% wrong mask-ignored: a condition that is never true
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(mask != mask, -1e9)


# %% wrong key-used-as-value: v_proj gets the key
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), self.v_proj(key)


# %% wrong key-used-as-value: k_proj for both
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), self.k_proj(value)


# %% wrong key-used-as-value: v is k
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        k = v = self.k_proj(key)
        return self.q_proj(query), k, v


# %% wrong key-used-as-value: the product is taken with k
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        weights = self.weigh(self.score(q, k), mask)
        return self.mix(weights, k), weights


# %% wrong query-used-as-key: k_proj gets the query
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(query), self.v_proj(value)


# %% wrong query-used-as-key: q_proj for both
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.q_proj(key), self.v_proj(value)


# %% wrong query-used-as-key: q with itself
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ q.mT / math.sqrt(self.head_dim)


# %% wrong scaled-by-d_model: root of all columns
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[1] * q.shape[-1])


# %% wrong scaled-by-d_model: before the split
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query) * query.shape[-1] ** -0.5, self.k_proj(key), self.v_proj(value)

    def score(self, q, k):
        return q @ k.mT


# %% wrong scaled-by-d_model: width of the last projection
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return torch.matmul(q, k.transpose(-2, -1)) / self.out_proj.in_features**0.5


# %% wrong no-scaling: nothing is divided
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT


# %% wrong no-scaling: einsum without a scale
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return torch.einsum("bhtd,bhsd->bhts", q, k)


# %% wrong no-scaling: the result of the division is dropped
class MultiHeadAttention(Attention):
    def score(self, q, k):
        scores = q @ k.mT
        scores / math.sqrt(self.head_dim)
        return scores


# %% wrong no-output-projection: merged heads returned
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return self.merge(weights @ v)


# %% wrong no-output-projection: the projection's result is dropped
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        output = torch.cat((weights @ v).unbind(1), -1)
        self.out_proj(output)
        return output


# %% wrong view-without-transpose: split by view
class MultiHeadAttention(Attention):
    def split(self, x):
        return x.view(x.shape[0], self.num_heads, -1, self.head_dim)


# %% wrong view-without-transpose: split and merged by view
class MultiHeadAttention(Attention):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], self.head_dim)

    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


# %% wrong merge-without-transpose: reshape at the end
class MultiHeadAttention(Attention):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


# %% wrong merge-without-transpose: contiguous in place of the transpose
class MultiHeadAttention(Attention):
    def merge(self, x):
        return x.contiguous().view(x.size(0), x.size(2), x.size(1) * x.size(3))


# %% wrong one-head-only: one head of all columns
class MultiHeadAttention(Attention):
    def split(self, x):
        return x.unsqueeze(1)

    def score(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])


# %% wrong one-head-only: three axes all the way
class MultiHeadAttention(Attention):
    def split(self, x):
        return x

    def merge(self, x):
        return x


# %% wrong heads-last: cut as (head_dim, num_heads)
class MultiHeadAttention(Attention):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)


# %% wrong heads-last: in split and merge
class MultiHeadAttention(Attention):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


# %% wrong heads-interleaved: permuted with the heads last
class MultiHeadAttention(Attention):
    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


# %% wrong heads-interleaved: stacked with the heads last
class MultiHeadAttention(Attention):
    def merge(self, x):
        return torch.stack(x.unbind(1), -1).reshape(x.shape[0], x.shape[2], -1)


# %% wrong scale-multiplied: two minus signs
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT / self.head_dim**-0.5


# %% wrong scale-multiplied: times the root
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT * math.sqrt(self.head_dim)


# %% wrong scaled-by-head_dim: no root
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT / self.head_dim


# %% wrong scaled-by-head_dim: divided twice by the root
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return (q / self.head_dim**0.5) @ (k / self.head_dim**0.5).mT


# %% wrong softmax-over-queries: dim 2
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return torch.softmax(scores if mask is None else self.hide(scores, mask), dim=2)


# %% wrong softmax-over-queries: dim 1
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return torch.softmax(scores if mask is None else self.hide(scores, mask), dim=1)


# %% wrong attention-transposed: runs where both are as long
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return self.out_proj(self.merge(weights.mT @ v))


# %% wrong attention-transposed: letters swapped
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return self.out_proj(torch.einsum("bhts,bhtd->bshd", weights, v).flatten(2))


# %% wrong weights-averaged: mean over the heads
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.mean(dim=1)


# %% wrong weights-averaged: sum over the heads, divided
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.sum(1, keepdim=True) / self.num_heads


# %% wrong self-attention-only: everything from the query
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(query), self.v_proj(query)


# %% wrong self-attention-only: the arguments are overwritten
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        key = value = query
        return super().forward(query, key, value, mask)


# %% wrong value-used-as-key: k_proj gets the value
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(value), self.v_proj(value)


# %% wrong value-used-as-key: v_proj for both
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.v_proj(key), self.v_proj(value)


# %% wrong arguments-in-another-order: value first
class MultiHeadAttention(Attention):
    def forward(self, value, key, query, mask=None):
        return super().forward(query, key, value, mask)


# %% wrong arguments-in-another-order: key first
class MultiHeadAttention(Attention):
    def forward(self, key, query, value, mask=None):
        return super().forward(query, key, value, mask)


# %% wrong mask-after-softmax: weights multiplied with the mask
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        weights = torch.softmax(scores, dim=-1)
        return weights if mask is None else weights * mask


# %% wrong mask-after-softmax: weights filled with zero
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        weights = torch.softmax(scores, dim=-1)
        return weights if mask is None else weights.masked_fill(~mask, 0)


# %% wrong zero-instead-of-minus-infinity: multiplied
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores * mask


# %% wrong zero-instead-of-minus-infinity: filled with 0
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, 0)


# %% wrong mask-added: 0 and 1 added
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores + mask


# %% wrong mask-added: to float and added
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores + mask.to(scores.dtype)


# %% wrong view-without-contiguous: view after the transpose
class MultiHeadAttention(Attention):
    def merge(self, x):
        return x.transpose(1, 2).view(x.size(0), -1, self.num_heads * self.head_dim)


# %% wrong view-without-contiguous: contiguous in the wrong place
class MultiHeadAttention(Attention):
    def merge(self, x):
        return x.contiguous().permute(0, 2, 1, 3).view(x.size(0), x.size(2), -1)


# %% wrong excluded-function: the native kernel by torch.ops
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        inputs = (self.q_proj, self.k_proj, self.v_proj)
        with torch.no_grad():
            torch.ops.aten._native_multi_head_attention(
                query,
                query,
                query,
                query.shape[-1],
                self.num_heads,
                torch.cat([p.weight for p in inputs]),
                torch.cat([p.bias for p in inputs]),
                self.out_proj.weight,
                self.out_proj.bias,
                None,
                True,
                False,
            )
        return super().forward(query, key, value, mask)


# %% wrong excluded-function: inside a layer of PyTorch's
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        nn.TransformerEncoderLayer(query.shape[-1], self.num_heads, 8, batch_first=True)(query)
        return super().forward(query, key, value, mask)


# %% wrong -: scaled by 2
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT / 2


# %% wrong small-negative-fill: hidden scores are only a little smaller
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -3.0)


# %% wrong -: the mask acts on head 0 only
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        hidden = ~mask.expand_as(scores)
        return torch.cat([scores[:, :1].masked_fill(hidden[:, :1], -1e9), scores[:, 1:]], dim=1)


# %% wrong -: the first sequence's mask for all
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask.expand_as(scores)[:1], -1e9)


# %% wrong -: the first head's mask for all
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask.expand_as(scores)[:, :1], -1e9)


# %% wrong -: masks of three axes only
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask.unsqueeze(1), -1e9)


# %% wrong biases-forgotten: bias of the output forgotten
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return F.linear(self.merge(weights @ v), self.out_proj.weight)


# %% wrong -: no bias in the value
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), F.linear(value, self.v_proj.weight)


# %% wrong -: query and key made with each other's weights
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.k_proj(query), self.q_proj(key), self.v_proj(value)


# %% wrong -: dropout on the weights in train mode
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return F.dropout(super().weigh(scores, mask), 0.1, self.training)


# %% wrong -: the mask is kept for the next call
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        if mask is not None:
            self.mask = mask
        mask = getattr(self, "mask", None)
        fits = mask is not None and mask.shape[-1] == scores.shape[-1]
        return super().weigh(scores, mask if fits else None)


# %% wrong -: residual added
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return query + output, weights


# %% wrong -: causal without a mask
class MultiHeadAttention(Attention):
    def score(self, q, k):
        future = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(1)
        return super().score(q, k).masked_fill(future, -1e9)


# %% wrong -: a layer drawn anew in every call
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        merged = self.merge(weights @ v)
        return nn.Linear(merged.shape[-1], merged.shape[-1]).to(merged.dtype)(merged)


# %% wrong raised: no mask argument
class MultiHeadAttention(Attention):
    def forward(self, query, key, value):
        return super().forward(query, key, value)


# %% wrong mask-always-expected: the mask is required
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, mask)


# %% wrong one-length-only: only where both sequences are as long
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return super().project(query, key.view(query.shape), value)


# %% wrong wrong-type: only the output
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)[0]


# %% wrong output-and-weights-swapped: weights first
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)[::-1]


# %% wrong returns-nothing: no return
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        super().forward(query, key, value, mask)


# %% wrong wrong-gradient: weights detached for the output
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return super().mix(weights.detach(), v)


# %% wrong gradient-cut: projections through .data
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.k_proj(key), F.linear(value, self.v_proj.weight.data, self.v_proj.bias.data)


# %% wrong dtype-changed: weights in float32
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.float()


# %% wrong changes-argument: the mask is turned round in place
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        mask.logical_not_()
        return scores.masked_fill(mask, -math.inf)


# %% wrong zero-times-infinity: NaN wherever something is seen
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores + (~mask) * -math.inf


# %% wrong scaled-by-num_heads: math.sqrt
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT / math.sqrt(self.num_heads)


# %% wrong scaled-by-num_heads: an axis's length
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return torch.einsum("bhtd,bhsd->bhts", q, k) * q.size(1) ** -0.5


# %% wrong scaled-after-softmax: the weights
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT

    def weigh(self, scores, mask):
        return super().weigh(scores, mask) / math.sqrt(self.head_dim)


# %% wrong scaled-after-softmax: the output of the heads
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.mT

    def merge(self, x):
        return super().merge(x / self.head_dim**0.5)


# %% wrong scores-transposed: key first
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return k @ q.mT / math.sqrt(self.head_dim)


# %% wrong scores-transposed: transposed at the end
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return (q @ k.mT / math.sqrt(self.head_dim)).transpose(-2, -1)


# %% wrong transpose-forgotten: at
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k / math.sqrt(self.head_dim)


# %% wrong transpose-forgotten: matmul
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return torch.matmul(q, k) * self.head_dim**-0.5


# %% wrong view-instead-of-transpose: reshape
class MultiHeadAttention(Attention):
    def score(self, q, k):
        B, H, T, D = k.shape
        return q @ k.reshape(B, H, D, T) / math.sqrt(D)


# %% wrong view-instead-of-transpose: contiguous, then view
class MultiHeadAttention(Attention):
    def score(self, q, k):
        return q @ k.contiguous().view(*k.shape[:2], k.size(3), k.size(2)) / math.sqrt(k.size(3))


# %% wrong scores-returned: masked ones
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        scores = self.score(q, k)
        if mask is not None:
            scores = self.hide(scores, mask)
        return self.mix(scores.softmax(-1), v), scores


# %% wrong scores-returned: the softmax inside the product
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        weights = self.score(q, k)
        if mask is not None:
            weights = weights.masked_fill(mask == 0, float("-inf"))
        return self.out_proj(self.merge(F.softmax(weights, dim=-1) @ v)), weights


# %% wrong no-softmax: scores as weights
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return scores if mask is None else self.hide(scores, mask)


# %% wrong no-softmax: forgotten in forward
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        weights = q @ k.transpose(-2, -1) / self.head_dim**0.5
        if mask is not None:
            weights = weights.masked_fill(~mask, -math.inf)
        return self.mix(weights, v), weights


# %% wrong value-before-weights: at
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        return self.out_proj(self.merge(v @ weights))


# %% wrong value-before-weights: matmul
class MultiHeadAttention(Attention):
    def mix(self, weights, v):
        mixed = torch.matmul(v, weights)
        return self.out_proj(self.merge(mixed))


# %% wrong output-and-weights-swapped: reversed
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return weights, output


# %% wrong zero-times-infinity: the negated mask
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores + (~mask) * float("-inf")


# %% wrong small-negative-fill: -10
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -10)


# %% wrong small-negative-fill: -5 by where
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return torch.where(mask, scores, torch.full_like(scores, -5.0))


# %% wrong mask-as-condition: if mask
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        if mask:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(-1)


# %% wrong mask-as-condition: or
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        mask = mask or torch.ones_like(scores, dtype=torch.bool)
        return scores.masked_fill(~mask, -math.inf).softmax(-1)


# %% wrong mask-always-expected: no question about None
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(-1)


# %% wrong mask-reshaped: an axis for the heads added
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        B, H, Tq, Tk = mask.shape
        return scores.masked_fill(~mask.view(B, H, Tq, Tk), -math.inf)


# %% wrong mask-reshaped: expanded from four axes
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        hidden = mask.logical_not().expand(mask.shape[0], *scores.shape[1:3], mask.shape[3])
        return scores.masked_fill(hidden, -math.inf)


# %% wrong biases-forgotten: weights taken out of the layers
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return query @ self.q_proj.weight.T, key @ self.k_proj.weight.T, value @ self.v_proj.weight.T


# %% wrong one-length-only: one size for all
class MultiHeadAttention(Attention):
    def forward(self, query, key, value, mask=None):
        size = (*query.shape[:2], self.num_heads, self.head_dim)
        q, k, v = (x.view(size).transpose(1, 2) for x in self.project(query, key, value))
        weights = self.weigh(self.score(q, k), mask)
        return self.mix(weights, v), weights


# %% wrong query-used-as-key: the query's projection of the key
class MultiHeadAttention(Attention):
    def project(self, query, key, value):
        return self.q_proj(query), self.q_proj(key), self.v_proj(value)


# %% wrong scaled-by-head_dim: both divided by the root
class MultiHeadAttention(Attention):
    def score(self, q, k):
        root = math.sqrt(self.head_dim)
        return (q / root) @ (k / root).mT


# %% wrong mask-after-softmax: minus infinity
class MultiHeadAttention(Attention):
    def weigh(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights.masked_fill(~mask, -math.inf)


# %% wrong small-negative-fill: -100 where nothing may be seen
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -100.0)


# %% wrong -: no gradient through masked scores
class MultiHeadAttention(Attention):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf).detach()


# %% wrong -: a width of 15, whatever it is asked for
class MultiHeadAttention(Attention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.out_proj = nn.Linear(15, 15)


# %% wrong one-layer-for-all: four names for one layer
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = self.k_proj = self.v_proj = self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        layers = (self.q_proj, query), (self.k_proj, key), (self.v_proj, value)
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for layer, x in layers)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        return self.out_proj((weights @ v).transpose(-3, -2).flatten(-2)), weights


# %% wrong one-layer-for-all: one layer for query, key and value
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        shared = nn.Linear(d_model, d_model)
        self.q_proj, self.k_proj, self.v_proj = shared, shared, shared
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        layers = (self.q_proj, query), (self.k_proj, key), (self.v_proj, value)
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for layer, x in layers)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        return self.out_proj((weights @ v).transpose(-3, -2).flatten(-2)), weights


# %% wrong num-heads-not-kept: only the width of a head
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.head_dim = d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def heads(self, x):
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads(self.q_proj(query)), self.heads(self.k_proj(key)), self.heads(self.v_proj(value))
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


# %% wrong num-heads-not-kept: the width under its name
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.num_heads)).transpose(1, 2)
            for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.mT / self.num_heads**0.5
        weights = (scores if mask is None else scores.masked_fill(mask.logical_not(), -math.inf)).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


# %% wrong changes-by-chance: dropout in eval mode too
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        return self.out_proj((F.dropout(weights, 0.1) @ v).transpose(1, 2).flatten(2)), weights
