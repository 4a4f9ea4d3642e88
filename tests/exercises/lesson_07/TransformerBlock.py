# %% prelude
class Block(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def attend(self, value, key, query, mask):
        return self.attention(query, key, value, mask)[0]

    def first(self, attended, value, key, query):
        return self.norm1(query + self.dropout(attended))

    def second(self, x, query):
        return self.norm2(x + self.dropout(self.feed_forward(x)))

    def forward(self, value, key, query, mask=None):
        attended = self.attend(value, key, query, mask)
        return self.second(self.first(attended, value, key, query), query)


# %% right: the book's way
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        attended, weights = self.attention(query, key, value, mask)
        x = self.norm1(query + self.dropout(attended))
        forward = self.feed_forward(x)
        out = self.norm2(x + self.dropout(forward))
        return out


# %% right: an attention of its own with torch's fused one, two dropouts, a Sequential
class OwnAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, v, k, q, mask):
        q, k, v = (
            layer(x).reshape(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)
            for layer, x in ((self.q_proj, q), (self.k_proj, k), (self.v_proj, v))
        )
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(out.permute(0, 2, 1, 3).flatten(-2))


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = OwnAttention(d_model, num_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential()
        self.feed_forward.add_module("linear1", nn.Linear(d_model, d_ff))
        self.feed_forward.add_module("relu", nn.ReLU())
        self.feed_forward.add_module("linear2", nn.Linear(d_ff, d_model))
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(self.dropout1(self.attention(value, key, query, mask)).add(query))
        return self.norm2(self.dropout2(self.feed_forward(x)).add(x))


# %% right: functional dropout and norm
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff)
        del self.dropout
        self.dropout = dropout

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, value, key, query, mask=None):
        attended = self.drop(self.attention(query=query, key=key, value=value, mask=mask)[0])
        x = F.layer_norm(attended + query, query.shape[-1:], self.norm1.weight, self.norm1.bias)
        y = self.drop(self.feed_forward(x))
        return F.layer_norm(y + x, x.shape[-1:], self.norm2.weight, self.norm2.bias, self.norm2.eps)


# %% right: dropout by hand, a loop over the sub-layers, in place where nobody sees it
class TransformerBlock(Block):
    def drop(self, x):
        if not self.training:
            return x
        keep = (torch.rand(x.shape) >= self.dropout.p).to(x.dtype)
        return x * keep / (1 - self.dropout.p)

    def forward(self, value, key, query, mask=None):
        x = query
        sublayers = (lambda y: self.attention(y, key, value, mask)[0], self.feed_forward)
        for sublayer, norm in zip(sublayers, (self.norm1, self.norm2)):
            out = self.drop(sublayer(x))
            out += x
            x = norm(out)
        return x


# %% right: the given order, a mask of numbers, helper methods
class TransformerBlock(Block):
    def add_and_norm(self, norm, x, out):
        return norm(x + self.dropout(out))

    def forward(self, value, key, query, mask=None):
        if mask is not None:
            mask = mask != 0
        x = self.add_and_norm(self.norm1, query, self.attention(query, key, value, mask)[0])
        return self.add_and_norm(self.norm2, x, self.feed_forward(x))


# %% wrong residual-from-value: value added
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(value + self.dropout(attended))


# %% wrong residual-from-value: the arguments' first place taken for the query's
class TransformerBlock(Block):
    def forward(self, *args):
        value, key, query, *mask = args
        x = self.norm1(self.dropout(self.attend(value, key, query, *mask or [None])) + args[0])
        return self.norm2(self.dropout(self.feed_forward(x)) + x)


# %% wrong residual-from-value: with no dropout at all
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(self.attend(value, key, query, mask) + value)
        return self.norm2(self.feed_forward(x) + x)


# %% wrong residual-from-key: key added
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(key + self.dropout(attended))


# %% wrong residual-from-key: in another order
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        residual = key
        x = self.norm1(torch.add(residual, self.attend(value, key, query, mask)))
        return self.second(x, query)


# %% wrong residual-forgotten: after the attention
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(self.dropout(attended))


# %% wrong residual-forgotten: after the feed-forward layers
class TransformerBlock(Block):
    def second(self, x, query):
        return self.norm2(self.dropout(self.feed_forward(x)))


# %% wrong residual-forgotten: in both
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(self.attention(query, key, value, mask)[0])
        return self.norm2(self.feed_forward(x))


# %% wrong pre-norm-instead: only the query is normalised
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = query + self.dropout(self.attend(value, key, self.norm1(query), mask))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong pre-norm-instead: all three are normalised
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = query + self.attend(self.norm1(value), self.norm1(key), self.norm1(query), mask)
        return x + self.feed_forward(self.norm2(x))


# %% wrong pre-norm-instead: in the second sub-layer
class TransformerBlock(Block):
    def second(self, x, query):
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong norm-before-addition: in both
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = query + self.norm1(self.attend(value, key, query, mask))
        return x + self.norm2(self.feed_forward(x))


# %% wrong norm-before-addition: in the first
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return query + self.dropout(self.norm1(attended))


# %% wrong same-norm-twice: norm1 in both
class TransformerBlock(Block):
    def second(self, x, query):
        return self.norm1(x + self.dropout(self.feed_forward(x)))


# %% wrong same-norm-twice: two names for one norm
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.norm2 = self.norm1


# %% wrong same-norm-twice: there is no norm2
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        del self.norm2

    def second(self, x, query):
        return self.norm1(x + self.dropout(self.feed_forward(x)))


# %% wrong norms-swapped: norm2 first
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm2(query + self.dropout(attended))

    def second(self, x, query):
        return self.norm1(x + self.dropout(self.feed_forward(x)))


# %% wrong norms-swapped: taken from a list
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        norms = [self.norm1, self.norm2]
        x = norms.pop()(query + self.dropout(self.attend(value, key, query, mask)))
        return norms.pop()(x + self.dropout(self.feed_forward(x)))


# %% wrong second-residual-from-input: the query once more
class TransformerBlock(Block):
    def second(self, x, query):
        return self.norm2(query + self.dropout(self.feed_forward(x)))


# %% wrong second-residual-from-input: the name was never moved on
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = query
        out = self.norm1(x + self.dropout(self.attend(value, key, query, mask)))
        out = self.feed_forward(out)
        return self.norm2(x + self.dropout(out))


# %% wrong mask-ignored: not passed on
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, key, value)[0]


# %% wrong mask-ignored: used to make another one
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        if mask is not None:
            mask = torch.ones_like(mask)
        return self.attention(query, key, value, mask)[0]


# %% wrong mask-inverted: turned round for the attention
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, key, value, None if mask is None else ~mask)[0]


# %% wrong mask-inverted: PyTorch's convention
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        hidden = mask == 0 if mask is not None else None
        return self.attention(query, key, value, hidden)[0]


# %% wrong key-used-as-value: key twice
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, key, key, mask)[0]


# %% wrong key-used-as-value: value overwritten
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        value = key
        return super().forward(value, key, query, mask)


# %% wrong value-used-as-key: value twice
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, value, value, mask)[0]


# %% wrong value-used-as-key: by keyword
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query=query, key=value, value=value, mask=mask)[0]


# %% wrong argument-order: the block's order in the attention's call
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(value, key, query, mask)[0]


# %% wrong argument-order: forward takes query, key, value
class TransformerBlock(Block):
    def forward(self, query, key, value, mask=None):
        return super().forward(value, key, query, mask)


# %% wrong argument-order: key and value swapped
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, value, key, mask)[0]


# %% wrong scaled-by-d_model: the page's root
class PageAttention(MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        n, h = len(query), self.num_heads
        q = self.q_proj(query).reshape(n, query.shape[1], h, -1)
        k = self.k_proj(key).reshape(n, key.shape[1], h, -1)
        v = self.v_proj(value).reshape(n, value.shape[1], h, -1)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / query.shape[-1] ** 0.5, dim=3)
        return self.out_proj(torch.einsum("nhql,nlhd->nqhd", attention, v).flatten(2)), attention


class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.attention = PageAttention(d_model, num_heads)


# %% wrong scaled-by-d_model: scaled beforehand
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        heads, width = self.attention.num_heads, query.shape[-1]
        q, k, v = (
            layer(x).unflatten(-1, (heads, -1)).transpose(1, 2)
            for layer, x in (
                (self.attention.q_proj, query),
                (self.attention.k_proj, key),
                (self.attention.v_proj, value),
            )
        )
        out = F.scaled_dot_product_attention(q, k, v, mask, scale=width**-0.5)
        return self.attention.out_proj(out.transpose(1, 2).flatten(2))


# %% wrong dropout-after-norm: the page's order
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        attention, _ = self.attention(query, key, value, mask)
        x = self.dropout(self.norm1(attention + query))
        forward = self.feed_forward(x)
        return self.dropout(self.norm2(forward + x))


# %% wrong dropout-after-norm: after the first norm
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.dropout(self.norm1(query + attended))


# %% wrong dropout-after-norm: after the second norm
class TransformerBlock(Block):
    def second(self, x, query):
        return F.dropout(self.norm2(x + self.feed_forward(x)), self.dropout.p, self.training)


# %% wrong dropout-on-the-sum: both
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(self.dropout(query + attended))

    def second(self, x, query):
        return self.norm2(self.dropout(x + self.feed_forward(x)))


# %% wrong dropout-on-the-sum: the first
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(self.dropout(attended.add(query)))


# %% wrong dropout-forgotten: made and never called
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.attend(value, key, query, mask))
        return self.norm2(x + self.feed_forward(x))


# %% wrong dropout-forgotten: in the second sub-layer
class TransformerBlock(Block):
    def second(self, x, query):
        return self.norm2(x + self.feed_forward(x))


# %% wrong dropout-in-eval-mode: F.dropout is not told the mode
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(query + F.dropout(attended, self.dropout.p))


# %% wrong dropout-in-eval-mode: always on, in both
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + F.dropout(self.attend(value, key, query, mask), self.dropout.p, training=True))
        return self.norm2(x + F.dropout(self.feed_forward(x), self.dropout.p, training=True))


# %% wrong feed-forward-from-input: the query
class TransformerBlock(Block):
    def second(self, x, query):
        return self.norm2(x + self.dropout(self.feed_forward(query)))


# %% wrong -: the query is added twice
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.norm1(query + query + self.dropout(attended))


# %% wrong -: everything is zero
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        return torch.zeros_like(query)


# %% wrong -: a mean over the sequence is added
class TransformerBlock(Block):
    def second(self, x, query):
        return super().second(x, query) + x.mean(1, keepdim=True)


# %% wrong misbuilt: the norms have other names
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.ln1, self.ln2 = self.norm1, self.norm2
        del self.norm1, self.norm2


# %% wrong wrong-type: the weights come along
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        return super().forward(value, key, query, mask), self.attention(query, key, value, mask)[1]


# %% wrong attention-not-unpacked: a pair
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        return self.attention(query, key, value, mask)


# %% wrong gradient-cut: the attention without gradients
class TransformerBlock(Block):
    @torch.no_grad()
    def attend(self, value, key, query, mask):
        return self.attention(query, key, value, mask)[0]


# %% wrong changes-argument: added in place
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        query += self.dropout(attended)
        return self.norm1(query)


# %% wrong excluded-function: nn.MultiheadAttention with the weights of the four layers
class TransformerBlock(Block):
    def attend(self, value, key, query, mask):
        a = self.attention
        attention = nn.MultiheadAttention(query.shape[-1], a.num_heads, batch_first=True).to(query.dtype)
        with torch.no_grad():
            attention.in_proj_weight.copy_(torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight]))
            attention.in_proj_bias.copy_(torch.cat([a.q_proj.bias, a.k_proj.bias, a.v_proj.bias]))
            attention.out_proj.weight.copy_(a.out_proj.weight)
        return attention(query, key, value)[0]


# %% wrong excluded-function: PyTorch's layer, where it has no mask
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)

    def forward(self, value, key, query, mask=None):
        return self.layer(query)


# %% wrong another-activation: FeedForward is to blame
class FeedForward(FeedForward):
    def forward(self, x):
        return self.linear2(torch.tanh(self.linear1(x)))


class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)


# %% right: sub-layers joined by a module of its own, which has the norm as well
class Joined(nn.Module):
    def __init__(self, norm, dropout):
        super().__init__()
        self.norm, self.dropout = norm, dropout

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, *, bias=True):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.steps = nn.ModuleList([Joined(norm, self.dropout) for norm in (self.norm1, self.norm2)])
        self.weights = None

    def forward(self, value, key, query, mask=None, *, keep_weights=False):
        x = self.steps[0](query, lambda q: self.attention(q, key, value, mask)[0])
        return self.steps[1](x, self.feed_forward)


# %% wrong pre-norm-instead: the normalised is added
class TransformerBlock(Block):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(query)
        x = x + self.dropout(self.attention(x, key, value, mask)[0])
        x = self.norm2(x)
        return x + self.dropout(self.feed_forward(x))


# %% wrong dropout-after-norm: after the first norm as well
class TransformerBlock(Block):
    def first(self, attended, value, key, query):
        return self.dropout(super().first(attended, value, key, query))


# %% wrong -: the paper's dropout unless told otherwise
class TransformerBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)


# %% wrong -: a half is dropped unless told otherwise, as in nn.Dropout
class TransformerBlock(Block):
    def __init__(self, *sizes, dropout=nn.Dropout().p):
        super().__init__(*[*sizes, dropout][:4])


# %% wrong feed-forward-from-input: line by line
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        attended, _ = self.attention(query, key, value, mask)
        x = self.norm1(self.dropout(attended) + query)
        forward = self.feed_forward(query)
        return self.norm2(self.dropout(forward) + x)


# %% wrong norm-forgotten: the last one
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return x + self.dropout(self.feed_forward(x))


# %% wrong norm-forgotten: the first one
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = query + self.dropout(self.attention(query, key, value, mask)[0])
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong norm-forgotten: both
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = query + self.dropout(self.attention(query, key, value, mask)[0])
        return x + self.dropout(self.feed_forward(x))


# %% wrong attends-to-itself: the query three times
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, query, query, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong attends-to-itself: by keyword
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query=query, key=query, value=query, mask=mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong attention-not-unpacked: both go into the dropout
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong attention-not-unpacked: both are added
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        attended = self.attention(query, key, value, mask)
        x = self.norm1(query + attended)
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong dropout-on-the-input: in front of the feed-forward layers
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm2(x + self.feed_forward(self.dropout(x)))


# %% wrong dropout-on-the-input: in front of the attention
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + (self.attention(self.dropout(query), key, value, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong dropout-hard-coded: a tenth
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong dropout-hard-coded: PyTorch's default
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout()

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
