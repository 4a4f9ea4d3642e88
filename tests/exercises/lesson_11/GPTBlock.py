# %% prelude
class Block(nn.Module):
    """A right one: most cells below have another `forward`."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% right: two lines
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% right: steps with names, without a cache
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        attended = self.attention(self.norm1(x), True)
        after = torch.add(x, self.dropout(attended))
        inner = self.feed_forward.linear1(self.norm2(after)).clamp(min=0)
        return after + self.dropout(self.feed_forward.linear2(inner))


# %% right: lesson 03's attention, positions turned here
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        normed = self.norm1(x)
        q, k, v = (
            split_heads(p(normed), self.attention.num_heads)
            for p in (self.attention.q_proj, self.attention.k_proj, self.attention.v_proj)
        )
        places = torch.arange(x.shape[1])
        scores = apply_rope(q, places) @ apply_rope(k, places).transpose(-2, -1) / q.shape[-1] ** 0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        attended = merge_heads(scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v)
        x = x + self.dropout(self.attention.out_proj(attended))
        x = x + self.dropout(self.feed_forward(self.norm2(x)))
        return x


# %% right: a loop over the sub-layers
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        sublayers = [
            (self.norm1, lambda y: self.attention(y, is_causal=True, cache=cache)),
            (self.norm2, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            x = self.dropout(sublayer(norm(x))) + x
        return x


# %% right: the cache by its name only
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, *, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), True, cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% right: with a cache it returns a pair
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), True, cache))
        x = x + self.dropout(self.feed_forward(self.norm2(x)))
        return x if cache is None else (x, cache)


# %% wrong another-attention: lesson 03's class
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        normed = self.norm1(x)
        x = x + self.dropout(self.attention(normed, is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong another-attention: called as lesson 03's
class GPTBlock(Block):
    def forward(self, x, cache=None):
        normed = self.norm1(x)
        x = x + self.dropout(self.attention(normed, normed, normed, True, cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong not-causal-with-a-cache: causal only without a cache
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=cache is None, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong not-causal-with-a-cache: a branch for the cache
class GPTBlock(Block):
    def forward(self, x, cache=None):
        normed = self.norm1(x)
        if cache is None:
            attended = self.attention(normed, is_causal=True)
        else:
            attended = self.attention(normed, cache=cache)
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong post-norm-instead: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = self.norm1(x + self.dropout(self.attention(x, is_causal=True, cache=cache)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong post-norm-instead: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% wrong residual-forgotten: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong residual-forgotten: the attention's
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong residual-forgotten: the feed-forward layers'
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong same-norm-twice: norm1
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm1(x)))


# %% wrong same-norm-twice: norm2 is norm1
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = self.norm1
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong same-norm-twice: only one made
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm1(x)))


# %% wrong norms-swapped: in forward
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm2(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm1(x)))


# %% wrong norms-swapped: step by step
class GPTBlock(Block):
    def forward(self, x, cache=None):
        y = self.norm2(x)
        x = x + self.dropout(self.attention(y, is_causal=True))
        y = self.norm1(x)
        return x + self.dropout(self.feed_forward(y))


# %% wrong not-causal: is_causal forgotten
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong not-causal: False
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), False, cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong not-causal: lesson 03's attention without a mask
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        y = self.norm1(x)
        x = x + self.dropout(self.attention(y, y, y)[0])
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong positions-forgotten: lesson 03's attention
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        y = self.norm1(x)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        x = x + self.dropout(self.attention(y, y, y, mask)[0])
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong positions-forgotten: PyTorch's attention with its projections
class GPTBlock(Block):
    def forward(self, x, cache=None):
        a, y = self.attention, self.norm1(x)
        q, k, v = (split_heads(p(y), a.num_heads) for p in (a.q_proj, a.k_proj, a.v_proj))
        x = x + self.dropout(a.out_proj(merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True))))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong sees-too-little: the diagonal hidden
class GPTBlock(Block):
    def forward(self, x, cache=None):
        a, y = self.attention, self.norm1(x)
        q, k, v = (split_heads(p(y), a.num_heads) for p in (a.q_proj, a.k_proj, a.v_proj))
        places = torch.arange(x.shape[1])
        scores = apply_rope(q, places) @ apply_rope(k, places).mT / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu() == 1, -math.inf)
        x = x + self.dropout(a.out_proj(merge_heads(scores.softmax(-1) @ v)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong sees-too-little: earlier is before
class GPTBlock(Block):
    def forward(self, x, cache=None):
        a, y = self.attention, self.norm1(x)
        q, k, v = (split_heads(p(y), a.num_heads) for p in (a.q_proj, a.k_proj, a.v_proj))
        places = torch.arange(x.shape[1])
        scores = apply_rope(q, places) @ apply_rope(k, places).mT / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~(places < places[:, None]), -math.inf)
        x = x + self.dropout(a.out_proj(merge_heads(scores.softmax(-1) @ v)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong normalised-input-added: overwritten
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = self.norm1(x)
        x = x + self.dropout(self.attention(x, is_causal=True, cache=cache))
        x = self.norm2(x)
        return x + self.dropout(self.feed_forward(x))


# %% wrong normalised-input-added: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        y = self.norm2(x)
        return y + self.dropout(self.feed_forward(y))


# %% wrong norm-of-the-output: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.norm1(self.attention(x, is_causal=True, cache=cache)))
        return x + self.dropout(self.norm2(self.feed_forward(x)))


# %% wrong norm-of-the-output: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.norm2(self.dropout(self.feed_forward(x)))


# %% wrong norm-forgotten: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(x, is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(x))


# %% wrong norm-forgotten: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(x))


# %% wrong second-residual-from-input: one sum
class GPTBlock(Block):
    def forward(self, x, cache=None):
        y = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(y)))


# %% wrong second-residual-from-input: kept at the start
class GPTBlock(Block):
    def forward(self, x, cache=None):
        start = x
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        x = self.dropout(self.feed_forward(self.norm2(x)))
        return start + x


# %% wrong feed-forward-from-input: side by side
class GPTBlock(Block):
    def forward(self, x, cache=None):
        return (
            x
            + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
            + self.dropout(self.feed_forward(self.norm2(x)))
        )


# %% wrong feed-forward-from-input: named
class GPTBlock(Block):
    def forward(self, x, cache=None):
        attended = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        inner = self.feed_forward(self.norm2(x))
        return attended + self.dropout(inner)


# %% wrong dropout-on-the-sum: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = self.dropout(x + self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.dropout(x + self.feed_forward(self.norm2(x)))


# %% wrong dropout-on-the-sum: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.dropout(x + self.feed_forward(self.norm2(x)))


# %% wrong dropout-on-the-input: both
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(self.dropout(x)), is_causal=True, cache=cache)
        return x + self.feed_forward(self.norm2(self.dropout(x)))


# %% wrong dropout-on-the-input: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.feed_forward(self.norm2(self.dropout(x)))


# %% wrong dropout-forgotten: everywhere
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), is_causal=True, cache=cache)
        return x + self.feed_forward(self.norm2(x))


# %% wrong dropout-forgotten: the second
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.feed_forward(self.norm2(x))


# %% wrong dropout-in-eval-mode: F.dropout
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.p = dropout

    def forward(self, x, cache=None):
        x = x + F.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache), self.p)
        return x + F.dropout(self.feed_forward(self.norm2(x)), self.p)


# %% wrong dropout-in-eval-mode: training=True
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + F.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache), self.dropout.p, training=True)
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong dropout-hard-coded: 0.1
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong dropout-hard-coded: the default
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout()

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong -: no ReLU
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        f = self.feed_forward
        return x + self.dropout(f.linear2(f.linear1(self.norm2(x))))


# %% wrong -: everything twice
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + 2 * self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong misbuilt: another name
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attend = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attend(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong returns-nothing: no return
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        x = x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong cache-not-handed-on: forgotten
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong cache-not-handed-on: an empty one is taken for none
class GPTBlock(Block):
    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache or None))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% wrong norm-at-the-end-too: the second norm once more
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return self.norm2(x + self.dropout(self.feed_forward(self.norm2(x))))


# %% wrong norm-at-the-end-too: the first one
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        for norm, layer in (
            (self.norm1, lambda h: self.attention(h, is_causal=True, cache=cache)),
            (self.norm2, self.feed_forward),
        ):
            x = x + self.dropout(layer(norm(x)))
        return self.norm1(x)
