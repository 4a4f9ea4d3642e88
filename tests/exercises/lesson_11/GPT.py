# %% prelude
class Model(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = self.stack(num_layers, d_model, num_heads, d_ff, dropout)
        self.norm = nn.LayerNorm(d_model)
        self.head = self.last(d_model, vocab_size)
        self.tie(tied)

    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))

    def last(self, d_model, vocab_size):
        return nn.Linear(d_model, vocab_size, bias=False)

    def tie(self, tied):
        if tied:
            self.token_embedding.weight = self.head.weight

    def refuse_long(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")

    def embedded(self, tokens):
        return self.token_embedding(tokens)

    def through(self, x, cache):
        for block in self.blocks:
            x = block(x, cache)
        return x

    def logits(self, x):
        return self.head(self.norm(x))

    def result(self, logits, cache):
        return logits if cache is None else (logits, cache)

    def forward(self, tokens, cache=None):
        self.refuse_long(tokens)
        return self.result(self.logits(self.through(self.embedded(tokens), cache)), cache)


# %% right: the embedding's weight for both, made small
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.head.weight = self.token_embedding.weight
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% right: the head's weight for both
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% right: logits by F.linear, dropout on the embedding, blocks appended
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length, self.p = max_length, dropout
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        if tied:
            self.token_embedding.weight = self.head.weight
        self.norm = nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(GPTBlock(d_model, num_heads, d_ff, dropout))

    def forward(self, tokens, cache=None):
        length = tokens.size(-1)
        if length > self.max_length:
            raise ValueError("got {} tokens, the most is {}".format(length, self.max_length))
        x = F.dropout(self.token_embedding.weight[tokens], self.p, self.training)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, cache=cache)
        logits = F.linear(self.norm(x), self.head.weight)
        if cache is not None:
            return [logits, cache]
        return logits


# %% right: another empty cache, a list for each block
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x, new = self.token_embedding(tokens), []
        for i, block in enumerate(self.blocks):
            kept = None if cache is None else ({} if cache[i] is None else {id(block.attention): cache[i]})
            x = block(x, kept)
            if kept is not None:
                new.append(kept[id(block.attention)])
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, new)


# %% wrong starts-too-large: the embedding's weight for both
class GPT(Model):
    def tie(self, tied):
        if tied:
            self.head.weight = self.token_embedding.weight


# %% wrong starts-too-large: registered under both names
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        shared = nn.Parameter(torch.randn(vocab_size, d_model))
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = shared
        if tied:
            self.head.weight = shared
        self.blocks = nn.ModuleList([GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, cache=None):
        length = tokens.shape[-1]
        if length > self.max_length:
            raise ValueError(f"got {length} tokens, max_length is {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache=cache)
        logits = self.head(self.norm(x))
        if cache is None:
            return logits
        return logits, cache


# %% wrong always-tied: the line without its condition
class GPT(Model):
    def tie(self, tied):
        self.token_embedding.weight = self.head.weight


# %% wrong always-tied: the embedding for the logits
class GPT(Model):
    def logits(self, x):
        return self.norm(x) @ self.token_embedding.weight.T


# %% wrong blocks-in-python-list: a comprehension
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return [GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]


# %% wrong blocks-in-python-list: a tuple
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return tuple(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))


# %% wrong layers-shared: one block several times
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return nn.ModuleList([GPTBlock(d_model, num_heads, d_ff, dropout)] * num_layers)


# %% wrong layers-shared: the first block in the loop
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x = self.blocks[0](x, cache)
        return x


# %% wrong layers-shared: one block made
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList([GPTBlock(d_model, num_heads, d_ff, dropout)])
        self.num_layers = num_layers
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for _ in range(self.num_layers):
            x = self.blocks[0](x)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong head-has-bias: nn.Linear as it is
class GPT(Model):
    def last(self, d_model, vocab_size):
        return nn.Linear(d_model, vocab_size)


# %% wrong head-has-bias: tied the other way
class GPT(Model):
    def last(self, d_model, vocab_size):
        return nn.Linear(d_model, vocab_size, bias=True)


# %% wrong final-norm-forgotten: head alone
class GPT(Model):
    def logits(self, x):
        return self.head(x)


# %% wrong final-norm-forgotten: its result lost
class GPT(Model):
    def logits(self, x):
        self.norm(x)
        return self.head(x)


# %% wrong norm-at-the-start: the embedding
class GPT(Model):
    def embedded(self, tokens):
        return self.norm(self.token_embedding(tokens))

    def logits(self, x):
        return self.head(x)


# %% wrong norm-at-the-start: at both ends
class GPT(Model):
    def embedded(self, tokens):
        return self.norm(self.token_embedding(tokens))


# %% wrong softmax-applied: softmax
class GPT(Model):
    def logits(self, x):
        return self.head(self.norm(x)).softmax(-1)


# %% wrong softmax-applied: log_softmax
class GPT(Model):
    def logits(self, x):
        return F.log_softmax(self.head(self.norm(x)), dim=-1)


# %% wrong only-last-block: from the embedding
class GPT(Model):
    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(self.token_embedding(tokens), cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong only-last-block: two names
class GPT(Model):
    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            output = block(x, cache)
        logits = self.head(self.norm(output))
        return logits if cache is None else (logits, cache)


# %% wrong only-first-block: return in the loop
class GPT(Model):
    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
            logits = self.head(self.norm(x))
            return logits if cache is None else (logits, cache)


# %% wrong only-first-block: no loop
class GPT(Model):
    def through(self, x, cache):
        return self.blocks[0](x, cache)


# %% wrong blocks-lost: result not kept
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            block(x, cache)
        return x


# %% wrong blocks-lost: another name
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            y = block(x, cache)
        return x


# %% wrong residual-around-blocks: plus
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x = x + block(x, cache)
        return x


# %% wrong residual-around-blocks: in place
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x += block(x, cache)
        return x


# %% wrong embedding-scaled: root
class GPT(Model):
    def embedded(self, tokens):
        return self.token_embedding(tokens) * self.norm.normalized_shape[0] ** 0.5


# %% wrong embedding-scaled: math
class GPT(Model):
    def through(self, x, cache):
        x = x * math.sqrt(x.shape[-1])
        for block in self.blocks:
            x = block(x, cache)
        return x


# %% wrong full-length-refused: >=
class GPT(Model):
    def refuse_long(self, tokens):
        if tokens.shape[1] >= self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")


# %% wrong full-length-refused: not less
class GPT(Model):
    def refuse_long(self, tokens):
        if not tokens.shape[1] < self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")


# %% wrong weights-not-tied: forgotten
class GPT(Model):
    def tie(self, tied):
        pass


# %% wrong weights-not-tied: copied
class GPT(Model):
    def tie(self, tied):
        self.head.weight = nn.Parameter(self.token_embedding.weight.detach().clone())


# %% wrong weights-not-tied: .data
class GPT(Model):
    def tie(self, tied):
        self.head.weight.data = self.token_embedding.weight.data


# %% wrong dropout-not-passed-on: left out
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return nn.ModuleList(GPTBlock(d_model, num_heads, d_ff) for _ in range(num_layers))


# %% wrong dropout-not-passed-on: only on the embedding
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.dropout(self.token_embedding(tokens))
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong dropout-hard-coded: 0.1
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, 0.1) for _ in range(num_layers))


# %% wrong dropout-hard-coded: 0.5
class GPT(Model):
    def stack(self, num_layers, d_model, num_heads, d_ff, dropout):
        return nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout=0.5) for _ in range(num_layers))


# %% right: asked after the blocks have filled the cache
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        if cache:
            return logits, cache
        return logits


# %% wrong empty-cache-ignored: if cache
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x = block(x, cache) if cache else block(x)
        return x

    def result(self, logits, cache):
        return logits if not cache else (logits, cache)


# %% wrong empty-cache-ignored: or None
class GPT(Model):
    def forward(self, tokens, cache=None):
        cache = cache or None
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong cache-not-passed-on: in the model
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x = block(x)
        return x


# %% wrong cache-not-passed-on: in the block
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong -: no limit
class GPT(Model):
    def refuse_long(self, tokens):
        pass


# %% wrong -: without a cache
class GPT(Model):
    def forward(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits


# %% wrong -: cache returned always
class GPT(Model):
    def result(self, logits, cache):
        return logits, cache


# %% wrong -: blocks in reverse
class GPT(Model):
    def through(self, x, cache):
        for block in reversed(self.blocks):
            x = block(x, cache)
        return x


# %% wrong -: the last token only
class GPT(Model):
    def logits(self, x):
        return self.head(self.norm(x[:, -1:]))


# %% wrong cache-not-passed-on: a new one for every block
class GPT(Model):
    def through(self, x, cache):
        for block in self.blocks:
            x = block(x, None if cache is None else {})
        return x


# %% wrong -: only the message is wrong
class GPT(Model):
    def refuse_long(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError("too many tokens")


# %% wrong -: default of max_length
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% wrong returns-nothing: no return
class GPT(Model):
    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        cache = None


# %% right: small numbers drawn for both
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256, tied=True):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        self.blocks = nn.ModuleList([GPTBlock(d_model, num_heads, d_ff, dropout=dropout) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.head.weight = self.token_embedding.weight

    def forward(self, tokens, cache=None):
        B, T = tokens.shape
        if T > self.max_length:
            raise ValueError(f"cannot read {T} tokens, at most {self.max_length}")
        h = self.token_embedding(tokens)
        for block in self.blocks:
            h = block(h, cache=cache)
        out = F.linear(self.norm(h), self.head.weight)
        return out if cache is None else (out, cache)
