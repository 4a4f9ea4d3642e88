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
        self.fc_out = nn.Linear(d_model, vocab_size)

    def make_layers(self):
        return nn.ModuleList([DecoderBlock(*self.sizes) for _ in range(self.num_layers)])

    def embed(self, tokens):
        return self.token_embedding(tokens) + self.position_embedding(self.positions(tokens))

    def positions(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        return torch.arange(tokens.shape[1])

    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return x

    def forward(self, tokens, memory, src_mask, trg_mask):
        x = self.walk(self.dropout(self.embed(tokens)), memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% right: the book's way
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList([DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.fc_out = nn.Linear(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens, memory, src_mask, trg_mask):
        batch, seq_len = tokens.shape
        longest = self.position_embedding.num_embeddings
        if seq_len > longest:
            raise ValueError(f"seq_len={seq_len} exceeds max_length={longest}")
        positions = torch.arange(0, seq_len).expand(batch, seq_len)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% right: five arguments for a block of its own, positions by a cumulative sum
class PageBlock(DecoderBlock):
    def forward(self, x, value, key, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(value, key, query, src_mask)


class Decoder(Stack):
    def make_layers(self):
        layers = nn.ModuleList()
        layers.extend(PageBlock(*self.sizes) for _ in range(self.num_layers))
        return layers

    def positions(self, tokens):
        super().positions(tokens)
        return torch.ones_like(tokens).cumsum(1) - 1

    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory, memory, src_mask, trg_mask)
        return x


# %% right: tables by hand, the last layer as a product, keywords
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        length = len(self.positions(tokens))
        x = self.token_embedding.weight[tokens] + self.position_embedding.weight[:length]
        x = F.dropout(x, self.dropout.p, self.training)
        for i in range(self.num_layers):
            x = self.layers[i](x, memory=memory, trg_mask=trg_mask, src_mask=src_mask)
        return torch.einsum("bte,ve->btv", x, self.fc_out.weight) + self.fc_out.bias


# %% right: built on an encoder, position by position
class Encoder(Stack):
    pass


class Decoder(Encoder):
    def forward(self, tokens, memory, src_mask, trg_mask):
        x = self.dropout(self.embed(tokens))
        for layer in list(self.layers):
            x = layer(x, memory, src_mask, trg_mask)
        logits = [self.fc_out(x[:, t]) for t in range(x.shape[1])]
        return torch.stack(logits, 1)


# %% wrong target-and-memory-exchanged: in the layers' call
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(memory, x, src_mask, trg_mask)
        return x


# %% wrong target-and-memory-exchanged: by name
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x=memory, memory=x, src_mask=src_mask, trg_mask=trg_mask)
        return x


# %% wrong softmax-applied: probabilities
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return super().forward(tokens, memory, src_mask, trg_mask).softmax(-1)


# %% wrong softmax-applied: their logarithm
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return F.log_softmax(super().forward(tokens, memory, src_mask, trg_mask), dim=2)


# %% wrong softmax-applied: over the positions
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return torch.softmax(super().forward(tokens, memory, src_mask, trg_mask), dim=1)


# %% wrong layers-shared: a list that is multiplied
class Decoder(Stack):
    def make_layers(self):
        return nn.ModuleList([DecoderBlock(*self.sizes)] * self.num_layers)


# %% wrong layers-shared: one block, called several times
class Decoder(Stack):
    def make_layers(self):
        return nn.ModuleList([DecoderBlock(*self.sizes)])

    def walk(self, x, memory, src_mask, trg_mask):
        for _ in range(self.num_layers):
            x = self.layers[0](x, memory, src_mask, trg_mask)
        return x


# %% wrong layers-shared: the loop's counter isn't used
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for i in range(self.num_layers):
            x = self.layers[-1](x, memory, src_mask, trg_mask)
        return x


# %% wrong positions-forgotten: the tokens alone
class Decoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return self.token_embedding(tokens)


# %% wrong positions-forgotten: made, but not added
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        self.position_embedding(self.positions(tokens))
        x = self.dropout(self.token_embedding(tokens))
        return self.fc_out(self.walk(x, memory, src_mask, trg_mask))


# %% wrong layers-in-python-list: a plain list
class Decoder(Stack):
    def make_layers(self):
        return [DecoderBlock(*self.sizes) for _ in range(self.num_layers)]


# %% wrong layers-in-python-list: appended to one
class Decoder(Stack):
    def make_layers(self):
        layers = []
        for _ in range(self.num_layers):
            layers.append(DecoderBlock(*self.sizes))
        return layers


# %% wrong only-last-layer: every layer starts from the embedding
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            out = layer(x, memory, src_mask, trg_mask)
        return out


# %% wrong only-last-layer: from a list of results the last
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        return [layer(x, memory, src_mask, trg_mask) for layer in self.layers][-1]


# %% wrong only-first-layer: return inside the loop
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
            return x


# %% wrong only-first-layer: one layer is enough
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        return self.layers[0](x, memory, src_mask, trg_mask)


# %% wrong positions-along-batch: the first axis is counted
class Decoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return self.token_embedding(tokens) + self.position_embedding(torch.arange(len(tokens)))[:, None]


# %% wrong positions-along-batch: expanded the wrong way
class Decoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        return torch.arange(len(tokens))[:, None].expand_as(tokens)


# %% wrong positions-by-token-id: the ids are looked up
class Decoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        return tokens


# %% wrong positions-by-token-id: in one line
class Decoder(Stack):
    def embed(self, tokens):
        self.positions(tokens)
        return sum(table(tokens) for table in (self.token_embedding, self.position_embedding))


# %% wrong positions-from-one: counted from one
class Decoder(Stack):
    def positions(self, tokens):
        return super().positions(tokens) + 1


# %% wrong positions-from-one: a cumulative sum of ones
class Decoder(Stack):
    def positions(self, tokens):
        super().positions(tokens)
        return torch.ones_like(tokens).cumsum(1)


# %% wrong embedding-scaled: as in the paper
class Decoder(Stack):
    def embed(self, tokens):
        return self.token_embedding(tokens) * self.sizes[0] ** 0.5 + self.position_embedding(self.positions(tokens))


# %% wrong embedding-scaled: in the table
class Decoder(Stack):
    def embed(self, tokens):
        table = self.token_embedding.weight * math.sqrt(self.sizes[0])
        return table[tokens] + self.position_embedding(self.positions(tokens))


# %% wrong masks-swapped: in the layers' call
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        return super().walk(x, memory, trg_mask, src_mask)


# %% wrong masks-swapped: in the decoder's own arguments
class Decoder(Stack):
    def forward(self, tokens, memory, trg_mask, src_mask):
        return super().forward(tokens, memory, src_mask, trg_mask)


# %% wrong mask-ignored: the target's
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        return super().walk(x, memory, src_mask, None)


# %% wrong mask-ignored: the source's
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory, None, trg_mask)
        return x


# %% wrong mask-ignored: both
class Decoder(Stack):
    def walk(self, x, memory, *masks):
        return super().walk(x, memory, None, None)


# %% wrong dropout-forgotten: what is embedded isn't dropped
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return self.fc_out(self.walk(self.embed(tokens), memory, src_mask, trg_mask))


# %% wrong embedding-scaled: the sum with the position
class Decoder(Stack):
    def embed(self, tokens):
        return super().embed(tokens) * self.sizes[0] ** 0.5


# %% wrong dropout-not-passed-on: 0 for each
class Decoder(Stack):
    def make_layers(self):
        d_model, num_heads, d_ff, _ = self.sizes
        return nn.ModuleList([DecoderBlock(d_model, num_heads, d_ff, 0.0) for _ in range(self.num_layers)])


# %% wrong dropout-forgotten: the token alone, before the position is added
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        x = self.dropout(self.token_embedding(tokens)) + self.position_embedding(self.positions(tokens))
        return self.fc_out(self.walk(x, memory, src_mask, trg_mask))


# %% wrong dropout-not-passed-on: a block without it
class Decoder(Stack):
    def make_layers(self):
        return nn.ModuleList([DecoderBlock(*self.sizes[:3]) for _ in range(self.num_layers)])


# %% wrong dropout-in-eval-mode: F.dropout is not told the mode
class Decoder(Stack):
    def embed(self, tokens):
        return F.dropout(super().embed(tokens), self.dropout.p)


# %% wrong dropout-in-eval-mode: the dropout is put in train mode
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        self.dropout.train()
        return super().forward(tokens, memory, src_mask, trg_mask)


# %% wrong weights-tied: the tokens' table
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        x = self.walk(self.dropout(self.embed(tokens)), memory, src_mask, trg_mask)
        return x @ self.token_embedding.weight.T


# %% wrong -: memory grows from layer to layer
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
            memory = memory + memory.mean(1, keepdim=True)
        return x


# %% wrong -: ReLU on the logits
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return super().forward(tokens, memory, src_mask, trg_mask).relu()


# %% wrong dropout-at-the-end: the logits' input
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        return self.dropout(super().walk(x, memory, src_mask, trg_mask))


# %% wrong -: too long targets are not refused
class Decoder(Stack):
    def positions(self, tokens):
        return torch.arange(tokens.shape[1]).clamp(max=self.max_length - 1)


# %% wrong misbuilt: the last layer has another name
class Decoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.out = self.fc_out
        del self.fc_out


# %% wrong wrong-shape: the last position only
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return super().forward(tokens, memory, src_mask, trg_mask)[:, -1]


# %% wrong wrong-shape: fc_out forgotten
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return self.walk(self.dropout(self.embed(tokens)), memory, src_mask, trg_mask)


# %% wrong dtype-changed: logits in float32
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return super().forward(tokens, memory, src_mask, trg_mask).float()


# %% wrong changes-argument: memory is changed
class Decoder(Stack):
    def forward(self, tokens, memory, src_mask, trg_mask):
        out = super().forward(tokens, memory, src_mask, trg_mask)
        memory.mul_(0)
        return out


# %% wrong excluded-function: PyTorch's decoder
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        layer = nn.TransformerDecoderLayer(self.sizes[0], self.sizes[1], self.sizes[2], batch_first=True)
        return nn.TransformerDecoder(layer, self.num_layers).to(x.dtype)(x, memory)


# %% wrong excluded-function: only once, beside the right one
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        nn.TransformerEncoderLayer(self.sizes[0], 1, 3, batch_first=True).to(x.dtype)(x)
        return super().walk(x, memory, src_mask, trg_mask)


# %% wrong first-attention-lost: DecoderBlock is to blame
class DecoderBlock(DecoderBlock):
    def forward(self, x, memory, src_mask, trg_mask):
        self.norm(x + self.attention(x, x, x, trg_mask)[0])
        return self.block(memory, memory, x, src_mask)


class Decoder(Stack):
    def make_layers(self):
        return nn.ModuleList([DecoderBlock(*self.sizes) for _ in range(self.num_layers)])


# %% wrong -: the paper's dropout unless told otherwise
class Decoder(Stack):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.1, max_length=100):
        super().__init__(vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)


# %% wrong -: a half is dropped unless told otherwise, as in nn.Dropout
class Decoder(Stack):
    def __init__(self, *sizes, dropout=0.5, max_length=100):
        super().__init__(*sizes, *(dropout, max_length)[len(sizes) - 5 :])


# %% wrong memory-overwritten: memory takes the layer's output
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            memory = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(memory)


# %% wrong memory-overwritten: both take it
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = memory = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong memory-ignored: x twice
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, x, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong memory-ignored: x and the target's mask twice
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, x, trg_mask, trg_mask)
        return self.fc_out(x)


# %% wrong weights-tied: assigned in the constructor
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)
        self.fc_out.weight = self.token_embedding.weight

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong weights-tied: by a function
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return F.linear(x, self.token_embedding.weight, self.fc_out.bias)


# %% wrong layers-miscounted: always six
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(6))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong layers-miscounted: heads and layers swapped
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_layers, d_ff, dropout) for _ in range(num_heads))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong layers-lost: called and not kept
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong layers-lost: kept under another name
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            y = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong residual-around-layers: added
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = x + layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong residual-around-layers: in three lines
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            before = x
            x = layer(x, memory, src_mask, trg_mask)
            x = x + before
        return self.fc_out(x)


# %% wrong norm-at-the-end: by a function
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(F.layer_norm(x, x.shape[-1:]))


# %% wrong norm-at-the-end: a norm of its own
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(self.norm(x))


# %% wrong full-length-refused: greater or equal
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] >= self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong full-length-refused: one token is added
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.size(1) + 1 > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong mask-inverted: the target's
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, ~trg_mask)
        return self.fc_out(x)


# %% wrong mask-inverted: the source's
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, ~src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong mask-inverted: both
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, ~src_mask, ~trg_mask)
        return self.fc_out(x)


# %% wrong dropout-at-the-end: before the last layer
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(self.dropout(x))


# %% wrong dropout-hard-coded: a tenth
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(0.1)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong dropout-hard-coded: in the blocks
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, 0.1) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, memory, src_mask, trg_mask):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)


# %% wrong -: no gradient reaches the memory
class Decoder(Stack):
    def walk(self, x, memory, src_mask, trg_mask):
        for layer in self.layers:
            x = layer(x, memory.detach(), src_mask, trg_mask)
        return x


# %% wrong -: no gradient reaches the embeddings
class Decoder(Stack):
    def embed(self, tokens):
        return super().embed(tokens).detach()
