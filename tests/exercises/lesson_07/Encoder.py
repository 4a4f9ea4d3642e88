# %% prelude
class Stack(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length, self.sizes, self.num_layers = max_length, (d_model, num_heads, d_ff, dropout), num_layers
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = self.make_layers()
        self.dropout = nn.Dropout(dropout)

    def make_layers(self):
        return nn.ModuleList([TransformerBlock(*self.sizes) for _ in range(self.num_layers)])

    def embed(self, tokens):
        return self.token_embedding(tokens) + self.position_embedding(self.positions(tokens))

    def positions(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        return torch.arange(tokens.shape[1])

    def walk(self, x, mask):
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x

    def forward(self, tokens, mask):
        return self.walk(self.dropout(self.embed(tokens)), mask)


# %% right: the book's way
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(TransformerBlock(d_model, num_heads, d_ff, dropout))
        self.dropout = nn.Dropout(dropout)
        self.max_length = max_length

    def forward(self, tokens, mask):
        batch, seq_len = tokens.shape
        if seq_len > self.max_length:
            raise ValueError("The sequence has %d tokens, more than max_length = %d" % (seq_len, self.max_length))
        positions = torch.arange(0, seq_len).expand(batch, seq_len).to(tokens.device)
        out = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            out = layer(out, out, out, mask)
        return out


# %% right: tables and one-hots by hand, a numbered loop, keywords, an assertion turned into ValueError
class Encoder(Stack):
    def forward(self, tokens, mask):
        try:
            assert tokens.size(1) <= self.position_embedding.num_embeddings
        except AssertionError:
            raise ValueError(
                f"seq_len {tokens.size(1)} > {self.position_embedding.num_embeddings} = max_length"
            ) from None
        one_hot = F.one_hot(tokens, self.token_embedding.num_embeddings).to(self.token_embedding.weight.dtype)
        embedded = one_hot @ self.token_embedding.weight
        embedded = embedded + self.position_embedding.weight[: tokens.size(1)].unsqueeze(0)
        x = F.dropout(embedded, self.dropout.p, self.training)
        for i in range(len(self.layers)):
            x = self.layers[i](value=x, key=x, query=x, mask=mask)
        return x


# %% right: a block of its own inside, functools.reduce, a mask made wide
from functools import reduce


class Sublayers(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, inner)
        self.drops = nn.ModuleList([nn.Dropout(dropout), nn.Dropout(dropout)])

    def forward(self, x, mask):
        x = self.norm1(x + self.drops[0](self.attention(x, x, x, mask)[0]))
        return self.norm2(x + self.drops[1](self.feed_forward(x)))


class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList(Sublayers(*self.sizes) for _ in range(self.num_layers))

    def walk(self, x, mask):
        wide = mask.expand(x.shape[0], mask.shape[1], x.shape[1], x.shape[1])
        return reduce(lambda y, layer: layer(y, wide), self.layers, x)


# %% right: sentence by sentence, positions as a buffer
class Encoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.register_buffer("place", torch.arange(max_length))

    def positions(self, tokens):
        super().positions(tokens)
        return self.place[: tokens.shape[1]]

    def walk(self, x, mask):
        return torch.cat([super(Encoder, self).walk(x[b : b + 1], mask[b : b + 1]) for b in range(len(x))])


# %% wrong layers-shared: a list of one block several times
class Encoder(Stack):
    def make_layers(self):
        block = TransformerBlock(*self.sizes)
        return nn.ModuleList([block for _ in range(self.num_layers)])


# %% wrong layers-shared: a list that is multiplied
class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList([TransformerBlock(*self.sizes)] * self.num_layers)


# %% wrong layers-shared: one block, called several times
class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList([TransformerBlock(*self.sizes)])

    def walk(self, x, mask):
        for _ in range(self.num_layers):
            x = self.layers[0](x, x, x, mask)
        return x


# %% wrong layers-shared: the loop always takes the first
class Encoder(Stack):
    def walk(self, x, mask):
        for _ in self.layers:
            x = self.layers[0](x, x, x, mask)
        return x


# %% wrong layers-in-python-list: a plain list
class Encoder(Stack):
    def make_layers(self):
        return [TransformerBlock(*self.sizes) for _ in range(self.num_layers)]


# %% wrong layers-in-python-list: a tuple under another name
class Encoder(Stack):
    def make_layers(self):
        self.blocks = tuple(TransformerBlock(*self.sizes) for _ in range(self.num_layers))

    def walk(self, x, mask):
        for block in self.blocks:
            x = block(x, x, x, mask)
        return x


# %% wrong layers-in-python-list: a dict
class Encoder(Stack):
    def make_layers(self):
        return {i: TransformerBlock(*self.sizes) for i in range(self.num_layers)}

    def walk(self, x, mask):
        for i in range(self.num_layers):
            x = self.layers[i](x, x, x, mask)
        return x


# %% wrong positions-forgotten: the tokens alone
class Encoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return self.token_embedding(tokens)


# %% wrong positions-forgotten: made, but not added
class Encoder(Stack):
    def forward(self, tokens, mask):
        positions = self.position_embedding(self.positions(tokens))
        x = self.dropout(self.token_embedding(tokens))
        return self.walk(x, mask)


# %% wrong mask-ignored: the layers get none
class Encoder(Stack):
    def walk(self, x, mask):
        for layer in self.layers:
            x = layer(x, x, x)
        return x


# %% wrong mask-ignored: None in its place
class Encoder(Stack):
    def forward(self, tokens, mask=None):
        return self.walk(self.dropout(self.embed(tokens)), None)


# %% wrong only-last-layer: every layer starts from the embedding
class Encoder(Stack):
    def walk(self, x, mask):
        for layer in self.layers:
            out = layer(x, x, x, mask)
        return out


# %% wrong only-last-layer: only the last is called
class Encoder(Stack):
    def walk(self, x, mask):
        return self.layers[-1](x, x, x, mask)


# %% wrong only-first-layer: return inside the loop
class Encoder(Stack):
    def walk(self, x, mask):
        for layer in self.layers:
            x = layer(x, x, x, mask)
            return x


# %% wrong only-first-layer: a break
class Encoder(Stack):
    def walk(self, x, mask):
        for i, layer in enumerate(self.layers):
            if i == 1:
                break
            x = layer(x, x, x, mask)
        return x


# %% wrong positions-along-batch: the first axis is counted
class Encoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return self.token_embedding(tokens) + self.position_embedding(torch.arange(len(tokens)))[:, None]


# %% wrong positions-along-batch: expanded the wrong way
class Encoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        batch, length = tokens.shape
        return torch.arange(batch).unsqueeze(1).expand(batch, length)


# %% wrong positions-by-token-id: the ids are looked up
class Encoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        return tokens


# %% wrong positions-by-token-id: within the table
class Encoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return self.token_embedding(tokens) + self.position_embedding(tokens.clamp(max=self.max_length - 1))


# %% wrong positions-from-one: counted from one
class Encoder(Stack):
    def positions(self, tokens):
        return super().positions(tokens) + 1


# %% wrong positions-from-one: arange from 1
class Encoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        return torch.arange(1, tokens.shape[1] + 1)


# %% wrong embedding-scaled: as in the paper
class Encoder(Stack):
    def embed(self, tokens):
        scale = math.sqrt(self.token_embedding.embedding_dim)
        return self.token_embedding(tokens) * scale + self.position_embedding(self.positions(tokens))


# %% wrong embedding-scaled: by a power
class Encoder(Stack):
    def forward(self, tokens, mask):
        x = self.token_embedding(tokens).mul(self.sizes[0] ** 0.5)
        return self.walk(self.dropout(x + self.position_embedding(self.positions(tokens))), mask)


# %% wrong dropout-forgotten: what is embedded isn't dropped
class Encoder(Stack):
    def forward(self, tokens, mask):
        return self.walk(self.embed(tokens), mask)


# %% wrong embedding-scaled: the sum with the position
class Encoder(Stack):
    def embed(self, tokens):
        return super().embed(tokens) * self.sizes[0] ** 0.5


# %% wrong dropout-not-passed-on: 0 for each
class Encoder(Stack):
    def make_layers(self):
        d_model, num_heads, d_ff, _ = self.sizes
        return nn.ModuleList([TransformerBlock(d_model, num_heads, d_ff, 0.0) for _ in range(self.num_layers)])


# %% wrong dropout-forgotten: the token alone, before the position is added
class Encoder(Stack):
    def forward(self, tokens, mask):
        x = self.dropout(self.token_embedding(tokens)) + self.position_embedding(self.positions(tokens))
        return self.walk(x, mask)


# %% wrong dropout-not-passed-on: a block without it
class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList([TransformerBlock(*self.sizes[:3]) for _ in range(self.num_layers)])


# %% wrong dropout-in-eval-mode: F.dropout is not told the mode
class Encoder(Stack):
    def forward(self, tokens, mask):
        return self.walk(F.dropout(self.embed(tokens), self.dropout.p), mask)


# %% wrong dropout-in-eval-mode: the module is put in train mode
class Encoder(Stack):
    def forward(self, tokens, mask):
        self.train()
        return super().forward(tokens, mask)


# %% wrong -: too long sentences are cut
class Encoder(Stack):
    def forward(self, tokens, mask):
        tokens = tokens[:, : self.max_length]
        return super().forward(tokens, mask[..., : self.max_length])


# %% wrong -: IndexError for long sentences
class Encoder(Stack):
    def positions(self, tokens):
        return torch.arange(tokens.shape[1])


# %% wrong -: a ValueError that names one number
class Encoder(Stack):
    def positions(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"at most {self.max_length} tokens, please")
        return torch.arange(tokens.shape[1])


# %% wrong full-length-refused: one token too few
class Encoder(Stack):
    def positions(self, tokens):
        if tokens.shape[1] >= self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        return torch.arange(tokens.shape[1])


# %% wrong -: positions are counted from the end
class Encoder(Stack):
    def positions(self, tokens):
        return super().positions(tokens).flip(0)


# %% wrong -: the layers in reverse
class Encoder(Stack):
    def walk(self, x, mask):
        for layer in reversed(self.layers):
            x = layer(x, x, x, mask)
        return x


# %% wrong -: the embedding is added once more at the end
class Encoder(Stack):
    def walk(self, x, mask):
        return x + super().walk(x, mask)


# %% wrong -: a layer too many
class Encoder(Stack):
    def walk(self, x, mask):
        x = super().walk(x, mask)
        return self.layers[0](x, x, x, mask)


# %% wrong misbuilt: the embeddings have other names
class Encoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.word_embedding = self.token_embedding
        del self.token_embedding

    def embed(self, tokens):
        return self.word_embedding(tokens) + self.position_embedding(self.positions(tokens))


# %% wrong misbuilt: max_length is 512 unless given
class Encoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=512):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)


# %% wrong misbuilt: blocks whose layers have other names
class Other(TransformerBlock):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.feed_forward = nn.Sequential(nn.Linear(sizes[0], sizes[2]), nn.ReLU(), nn.Linear(sizes[2], sizes[0]))


class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList(Other(*self.sizes) for _ in range(self.num_layers))


# %% wrong changes-argument: the tokens are changed
class Encoder(Stack):
    def forward(self, tokens, mask):
        out = super().forward(tokens, mask)
        tokens += 1
        return out


# %% wrong wrong-shape: the mean of a sentence
class Encoder(Stack):
    def walk(self, x, mask):
        return super().walk(x, mask).mean(1)


# %% wrong excluded-function: PyTorch's encoder
class Encoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)

    def walk(self, x, mask):
        return self.encoder(x)


# %% wrong excluded-function: a block that is PyTorch's, its forward called by hand
class Encoder(Stack):
    def walk(self, x, mask):
        layer = nn.TransformerEncoderLayer(self.sizes[0], 1, 8, batch_first=True).to(x.dtype)
        return nn.TransformerEncoderLayer.forward(layer, super().walk(x, mask))


# %% wrong residual-forgotten: TransformerBlock is to blame
class TransformerBlock(TransformerBlock):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class Encoder(Stack):
    def make_layers(self):
        return nn.ModuleList([TransformerBlock(*self.sizes) for _ in range(self.num_layers)])


# %% wrong layers-in-python-list: the tables stand in containers
class Encoder(Stack):
    def make_layers(self):
        self.tables = nn.ModuleDict({"token": self.token_embedding, "position": self.position_embedding})
        return [TransformerBlock(*self.sizes) for _ in range(self.num_layers)]


# %% wrong positions-forgotten: the same for all
class Encoder(Stack):
    def positions(self, tokens):
        return torch.zeros_like(super().positions(tokens))


# %% wrong -: the paper's dropout unless told otherwise
class Encoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.1, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)


# %% wrong -: a half is dropped unless told otherwise, as in nn.Dropout
class Encoder(Stack):
    def __init__(self, *sizes, dropout=0.5, max_length=100):
        super().__init__(*sizes, *(dropout, max_length)[len(sizes) - 5 :])


# %% wrong layers-miscounted: always six
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(6))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong layers-miscounted: as many as heads
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_heads))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong layers-miscounted: one too few
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers - 1))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong layers-miscounted: counted from one
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(1, num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong norm-at-the-end: a norm of its own
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return self.norm(x)


# %% wrong norm-at-the-end: by a function
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return F.layer_norm(x, x.shape[-1:])


# %% wrong mask-inverted: with a tilde
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, ~mask)
        return x


# %% wrong mask-inverted: PyTorch's convention
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        hidden = mask.logical_not()
        for layer in self.layers:
            x = layer(x, x, x, hidden)
        return x


# %% wrong layers-lost: called and not kept
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            layer(x, x, x, mask)
        return x


# %% wrong layers-lost: kept under another name
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            out = layer(x, x, x, mask)
        return x


# %% wrong residual-around-layers: added
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x, x, x, mask)
        return x


# %% wrong residual-around-layers: in two lines
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            out = layer(x, x, x, mask)
            x = out + x
        return x


# %% wrong full-length-refused: greater or equal
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] >= self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong full-length-refused: not less
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if not tokens.shape[1] < self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong dropout-at-the-end: after each layer
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = self.dropout(layer(x, x, x, mask))
        return x


# %% wrong dropout-at-the-end: the result
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return self.dropout(x)


# %% wrong dropout-hard-coded: a tenth
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(0.1)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong dropout-hard-coded: in the blocks
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, 0.1) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong dropout-forgotten: the positions are not dropped
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens)) + self.position_embedding(positions)

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% wrong -: each layer is cut off from the ones before it
class Encoder(Stack):
    def walk(self, x, mask):
        for layer in self.layers:
            x = layer(x.detach(), x.detach(), x.detach(), mask)
        return x


# %% wrong -: a width of 11 in every feed-forward network
class Encoder(Stack):
    def make_layers(self):
        d_model, num_heads, _, dropout = self.sizes
        return nn.ModuleList([TransformerBlock(d_model, num_heads, 11, dropout) for _ in range(self.num_layers)])


# %% wrong -: the vector of id 0 is taken for padding's and set to zero
class Encoder(Stack):
    def embed(self, tokens):
        words = self.token_embedding(tokens) * (tokens != 0).unsqueeze(-1)
        return words + self.position_embedding(self.positions(tokens))


# %% wrong -: the highest id is taken for padding's and its vector set to zero
class Encoder(Stack):
    def embed(self, tokens):
        words = self.token_embedding(tokens)
        words = words * (tokens != self.token_embedding.num_embeddings - 1).unsqueeze(-1)
        return words + self.position_embedding(self.positions(tokens))
