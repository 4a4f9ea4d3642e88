# %% prelude
class Model(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        sizes = (d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.encoder = Encoder(src_vocab_size, *sizes)
        self.decoder = Decoder(trg_vocab_size, *sizes)

    def make_src_mask(self, src):
        return (src != self.src_pad_idx).unsqueeze(1).unsqueeze(2)

    def future(self, trg):
        length = trg.shape[1]
        return torch.tril(torch.ones(length, length, dtype=torch.bool))

    def make_trg_mask(self, trg):
        return (trg != self.trg_pad_idx).unsqueeze(1).unsqueeze(2) & self.future(trg)

    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(trg, self.encoder(src, src_mask), src_mask, trg_mask)


# %% right: the book's way
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx

    def make_src_mask(self, src):
        return (src != self.src_pad_idx).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        batch, length = trg.shape
        causal = torch.tril(torch.ones((length, length))).expand(batch, 1, length, length).bool()
        return causal & (trg != self.trg_pad_idx)[:, None, None, :]

    def forward(self, src, trg):
        src_mask = self.make_src_mask(src)
        trg_mask = self.make_trg_mask(trg)
        enc_src = self.encoder(src, src_mask)
        out = self.decoder(trg, enc_src, src_mask, trg_mask)
        return out


# %% right: masks of all sizes, made by comparison
class Transformer(Model):
    def forward(self, src, trg):
        source = torch.ne(src, self.src_pad_idx)
        places = torch.arange(trg.shape[1])
        target = torch.logical_and((places[:, None] >= places)[None], torch.ne(trg, self.trg_pad_idx)[:, None])
        memory = self.encoder(tokens=src, mask=source[:, None, None].expand(-1, -1, src.shape[1], -1))
        return self.decoder(
            tokens=trg,
            memory=memory,
            src_mask=source[:, None, None].expand(-1, -1, trg.shape[1], -1),
            trg_mask=target.unsqueeze(1),
        )


# %% right: helpers from lesson 04
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[:, None, None, :]


def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


class Transformer(Model):
    def encode(self, src):
        mask = padding_mask(src, self.src_pad_idx)
        return self.encoder(src, mask), mask

    def forward(self, src, trg):
        memory, src_mask = self.encode(src)
        trg_mask = padding_mask(trg, self.trg_pad_idx).expand(-1, -1, trg.shape[1], -1).tril()
        assert torch.equal(trg_mask, padding_mask(trg, self.trg_pad_idx) & causal_mask(trg.shape[1]))
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% right: one sentence at a time, a mask filled by loops
class Transformer(Model):
    def make_trg_mask(self, trg):
        mask = torch.zeros(len(trg), 1, trg.shape[1], trg.shape[1], dtype=torch.bool)
        for b, row in enumerate(trg.tolist()):
            for i in range(len(row)):
                for j in range(i + 1):
                    mask[b, 0, i, j] = row[j] != self.trg_pad_idx
        return mask

    def forward(self, src, trg):
        return torch.cat([super(Transformer, self).forward(s[None], t[None]) for s, t in zip(src, trg)])


# %% wrong mask-kept: the source's
class Transformer(Model):
    kept = None

    def make_src_mask(self, src):
        if self.kept is None or self.kept.shape[-1] != src.shape[1] or len(self.kept) != len(src):
            self.kept = super().make_src_mask(src)
        return self.kept


# %% wrong mask-kept: both, by their shapes
class Transformer(Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.masks = {}

    def make_src_mask(self, src):
        return self.masks.setdefault(("src", src.shape), super().make_src_mask(src))

    def make_trg_mask(self, trg):
        return self.masks.setdefault(("trg", trg.shape), super().make_trg_mask(trg))


# %% wrong source-ignored: the decoder looks at the target's own embedding
class Transformer(Model):
    def forward(self, src, trg):
        memory = self.decoder.embed(trg)
        mask = self.make_trg_mask(trg)
        return self.decoder(trg, memory, mask, mask)


# %% wrong source-ignored: memory of zeros
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        memory = torch.zeros_like(self.encoder(src, src_mask))
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong source-ignored: the encoder reads places, not words
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        words = torch.full_like(src, 3)
        return self.decoder(trg, self.encoder(words, src_mask), src_mask, trg_mask)


# %% wrong target-leaks-future: padding only
class Transformer(Model):
    def future(self, trg):
        return torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool)


# %% wrong target-leaks-future: everything is visible
class Transformer(Model):
    def forward(self, src, trg):
        src_mask = self.make_src_mask(src)
        return self.decoder(trg, self.encoder(src, src_mask), src_mask, None)


# %% wrong target-leaks-future: one token of it
class Transformer(Model):
    def future(self, trg):
        return super().future(trg) | torch.ones(trg.shape[1], trg.shape[1]).tril(1).bool()


# %% wrong target-leaks-future: the triangle's other half
class Transformer(Model):
    def future(self, trg):
        return torch.triu(torch.ones(trg.shape[1], trg.shape[1])).bool()


# %% wrong target-leaks-future: or instead of and
class Transformer(Model):
    def make_trg_mask(self, trg):
        return (trg != self.trg_pad_idx)[:, None, None] | self.future(trg)


# %% wrong source-padding-attended: no mask for the source
class Transformer(Model):
    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src, None), None, self.make_trg_mask(trg))


# %% wrong source-padding-attended: in the encoder
class Transformer(Model):
    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src, None), self.make_src_mask(src), self.make_trg_mask(trg))


# %% wrong source-padding-attended: in the cross-attention
class Transformer(Model):
    def forward(self, src, trg):
        memory = self.encoder(src, self.make_src_mask(src))
        return self.decoder(trg, memory, None, self.make_trg_mask(trg))


# %% wrong target-padding-attended: the page's mask
class Transformer(Model):
    def make_trg_mask(self, trg):
        n, length = trg.shape
        return torch.tril(torch.ones((length, length))).expand(n, 1, length, length).bool()


# %% wrong target-padding-attended: the causal mask alone
class Transformer(Model):
    def make_trg_mask(self, trg):
        return self.future(trg)


# %% wrong pad-indices-swapped: in the constructor
class Transformer(Model):
    def __init__(self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, *sizes):
        super().__init__(src_vocab_size, trg_vocab_size, trg_pad_idx, src_pad_idx, *sizes)


# %% wrong pad-indices-swapped: one for both languages
class Transformer(Model):
    def make_trg_mask(self, trg):
        return (trg != self.src_pad_idx).unsqueeze(1).unsqueeze(2) & self.future(trg)


# %% wrong pad-indices-swapped: the target's for both
class Transformer(Model):
    def make_src_mask(self, src):
        return (src != self.trg_pad_idx)[:, None, None, :]


# %% wrong -: logits of zeros
class Transformer(Model):
    def forward(self, src, trg):
        return super().forward(src, trg) * 0


# %% wrong mask-inverted: the source's, so that nothing is left
class Transformer(Model):
    def make_src_mask(self, src):
        return (src == self.src_pad_idx)[:, None, None]


# %% wrong pad-indices-ignored: padding is always 0
class Transformer(Model):
    def __init__(self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, *sizes):
        super().__init__(src_vocab_size, trg_vocab_size, 0, 0, *sizes)
        self.src_pad_idx = self.trg_pad_idx = 4


# %% wrong -: padded queries' logits are zero
class Transformer(Model):
    def forward(self, src, trg):
        return super().forward(src, trg) * (trg != self.trg_pad_idx).unsqueeze(-1)


# %% wrong -: the last token of the target is never seen by anyone
class Transformer(Model):
    def make_trg_mask(self, trg):
        mask = super().make_trg_mask(trg).clone()
        mask[..., -1] = False
        return mask


# %% wrong -: the target is read backwards
class Transformer(Model):
    def forward(self, src, trg):
        return super().forward(src.flip(1), trg)


# %% wrong -: the source's mask covers the rows as well
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        memory = self.encoder(src, src_mask) * (src != self.src_pad_idx).unsqueeze(-1) + 1
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong -: one layer only
class Transformer(Model):
    def __init__(self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, d_model, num_layers, *sizes):
        super().__init__(src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, d_model, max(num_layers, 2), *sizes)


# %% wrong dropout-not-passed-on: to either
class Transformer(Model):
    def __init__(self, v, w, p, q, d_model, num_layers, num_heads, d_ff, dropout=0.1, max_length=100):
        super().__init__(v, w, p, q, d_model, num_layers, num_heads, d_ff, 0.0, max_length)


# %% wrong misbuilt: both vocabularies are the source's
class Transformer(Model):
    def __init__(self, src_vocab_size, trg_vocab_size, *rest):
        super().__init__(src_vocab_size, src_vocab_size, *rest)


# %% wrong misbuilt: d_model and num_layers swapped
class Transformer(Model):
    def __init__(self, v, w, p, q, d_model, num_layers, num_heads, *rest):
        super().__init__(v, w, p, q, num_layers, d_model, num_heads, *rest)


# %% wrong source-causal: the target's mask in the encoder
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(trg, self.encoder(src, trg_mask), src_mask, trg_mask)


# %% wrong gradient-cut: the encoder runs without gradients
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        with torch.no_grad():
            memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong wrong-shape: words of the last position
class Transformer(Model):
    def forward(self, src, trg):
        return super().forward(src, trg).argmax(-1)


# %% wrong changes-argument: padding is overwritten
class Transformer(Model):
    def forward(self, src, trg):
        out = super().forward(src, trg)
        trg[trg == self.trg_pad_idx] = 0
        src[:] = 0
        trg[:] = 0
        return out


# %% wrong excluded-function: nn.Transformer
class Transformer(Model):
    def forward(self, src, trg):
        width = self.encoder.token_embedding.embedding_dim
        model = nn.Transformer(width, 1, 1, 1, 8, batch_first=True).to(self.decoder.fc_out.weight.dtype)
        return self.decoder.fc_out(model(self.encoder.embed(src), self.decoder.embed(trg)))


# %% wrong excluded-function: nn.TransformerEncoder in the encoder's place
class Transformer(Model):
    def forward(self, src, trg):
        width = self.encoder.token_embedding.embedding_dim
        layer = nn.TransformerEncoderLayer(width, 1, 8, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).to(self.decoder.fc_out.weight.dtype)
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(trg, encoder(self.encoder.embed(src)), src_mask, trg_mask)


# %% wrong softmax-applied: Decoder is to blame
class Decoder(Decoder):
    def forward(self, tokens, memory, src_mask, trg_mask):
        return super().forward(tokens, memory, src_mask, trg_mask).softmax(-1)


class Transformer(Model):
    def __init__(self, v, w, p, q, *sizes):
        super().__init__(v, w, p, q, *sizes)
        self.decoder = Decoder(w, *sizes)


# %% wrong no-activation: FeedForward is to blame
class FeedForward(FeedForward):
    def forward(self, x):
        return self.linear2(self.linear1(x))


class Transformer(Model):
    def __init__(self, v, w, p, q, *sizes):
        super().__init__(v, w, p, q, *sizes)
        self.encoder = Encoder(v, *sizes)


# %% right: buffers of max_length, masks of what is hidden turned round
class Transformer(Model):
    def __init__(self, v, w, p, q, d_model=512, num_layers=6, num_heads=8, d_ff=2048, dropout=0.1, max_length=100):
        super().__init__(v, w, p, q, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.encoder.token_embedding = nn.Embedding(v, d_model, padding_idx=p)
        self.register_buffer("not_yet", torch.full((max_length, max_length), -math.inf).triu(1) < 0)

    def make_trg_mask(self, trg):
        length = trg.shape[1]
        return ~(trg.eq(self.trg_pad_idx)[:, None, None] | self.not_yet[:length, :length])


# %% wrong target-leaks-future: PyTorch's convention
class Transformer(Model):
    def future(self, trg):
        return torch.ones(trg.shape[1], trg.shape[1]).triu(diagonal=1).bool()


# %% wrong target-leaks-future: the whole mask turned round
class Transformer(Model):
    def make_trg_mask(self, trg):
        return ~super().make_trg_mask(trg)


# %% wrong target-padding-attended: on the axis of the queries
class Transformer(Model):
    def make_trg_mask(self, trg):
        return (trg != self.trg_pad_idx)[:, None, :, None] & self.future(trg)


# %% wrong target-padding-attended: nobody's padding is hidden
class Transformer(Model):
    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src, None), None, self.future(trg))


# %% wrong pad-indices-swapped: in the mask of the cross-attention
class Transformer(Model):
    def forward(self, src, trg):
        memory = self.encoder(src, self.make_src_mask(src))
        return self.decoder(trg, memory, (src != self.trg_pad_idx)[:, None, None], self.make_trg_mask(trg))


# %% wrong pad-indices-swapped: in the mask of the encoder
class Transformer(Model):
    def forward(self, src, trg):
        memory = self.encoder(src, (src != self.trg_pad_idx)[:, None, None])
        return self.decoder(trg, memory, self.make_src_mask(src), self.make_trg_mask(trg))


# %% wrong misbuilt: max_length isn't passed on
class Transformer(Model):
    def __init__(self, v, w, p, q, d_model, num_layers, num_heads, d_ff, dropout=0.1, max_length=100):
        super().__init__(v, w, p, q, d_model, num_layers, num_heads, d_ff, dropout)


# %% right: no defaults for the sizes, other names for some
class Transformer(Model):
    def __init__(self, vs, vt, ps, pt, width, layers, heads, inner, dropout=0.1, max_length=100):
        super().__init__(vs, vt, ps, pt, width, layers, heads, inner, dropout, max_length)


# %% right: whatever it is given
class Transformer(Model):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)


# %% right: None stands for what the model was published with
class Transformer(Model):
    def __init__(
        self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, d_model=None, num_layers=None, num_heads=None,
        d_ff=None, dropout=None, max_length=None,
    ):  # fmt: skip
        given = zip((d_model, num_layers, num_heads, d_ff, dropout, max_length), (512, 6, 8, 2048, 0.1, 100))
        sizes = (default if size is None else size for size, default in given)
        super().__init__(src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, *sizes)


# %% wrong -: a smaller model unless told otherwise
class Transformer(Model):
    def __init__(
        self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, d_model=256, num_layers=6, num_heads=8,
        d_ff=2048, dropout=0.1, max_length=100,
    ):  # fmt: skip
        sizes = (d_model, num_layers, num_heads, d_ff, dropout, max_length)
        super().__init__(src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, *sizes)


# %% wrong -: no dropout unless told otherwise
class Transformer(Model):
    def __init__(self, *sizes, dropout=0.0, max_length=100):
        super().__init__(*[*sizes, dropout, max_length][:10])


# %% wrong -: heads and layers have each other's defaults
class Transformer(Model):
    def __init__(
        self, src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, d_model=512, num_layers=8, num_heads=6,
        d_ff=2048, dropout=0.1, max_length=100,
    ):  # fmt: skip
        sizes = (d_model, num_layers, num_heads, d_ff, dropout, max_length)
        super().__init__(src_vocab_size, trg_vocab_size, src_pad_idx, trg_pad_idx, *sizes)


# %% wrong pad-indices-ignored: zero for both
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != 0)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != 0)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong pad-indices-ignored: other numbers
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = 0, 3
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-inverted: the source's
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src == self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-inverted: the target's
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg == self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-inverted: both
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src == self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg == self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong diagonal-hidden: below the diagonal
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril(-1)
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong diagonal-hidden: not triu
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = ~torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).triu()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong source-causal: padding and future
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :] & torch.ones(
            src.shape[1], src.shape[1], dtype=torch.bool
        ).tril()
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong source-causal: the future alone
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = torch.ones(src.shape[1], src.shape[1], dtype=torch.bool).tril()
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong source-causal: in the encoder alone
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask & torch.ones(src.shape[1], src.shape[1], dtype=torch.bool).tril())
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-on-query-axis: None in another place
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, :, None]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-on-query-axis: unsqueeze
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx).unsqueeze(1).unsqueeze(-1)
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong masks-swapped: each in the other's place
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, trg_mask, src_mask)


# %% wrong masks-swapped: the source's twice
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, src_mask)


# %% wrong mask-not-bool: ones and zeros
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1]).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] * causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong mask-not-bool: torch.where
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = torch.where(src != self.src_pad_idx, 1.0, 0.0)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong softmax-applied: in forward
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask).softmax(-1)


# %% wrong layers-and-heads-swapped: in both calls
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong layers-and-heads-swapped: before both calls
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        num_heads, num_layers = num_layers, num_heads
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong layers-and-heads-swapped: in the encoder's call
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong dropout-not-passed-on: in both calls
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, max_length=max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, max_length=max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong dropout-not-passed-on: in the decoder's call
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, max_length=max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong dropout-hard-coded: a tenth
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, 0.1, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, 0.1, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong dropout-hard-coded: a fifth in the decoder
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, dropout, max_length)
        self.decoder = Decoder(trg_vocab_size, d_model, num_layers, num_heads, d_ff, 0.2, max_length)

    def forward(self, src, trg):
        src_mask = (src != self.src_pad_idx)[:, None, None, :]
        causal = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).tril()
        trg_mask = (trg != self.trg_pad_idx)[:, None, None, :] & causal
        memory = self.encoder(src, src_mask)
        return self.decoder(trg, memory, src_mask, trg_mask)


# %% wrong pad-indices-ignored: lesson 07's ids of padding, whatever it is made with
class Transformer(Model):
    def make_src_mask(self, src):
        return (src != 1).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        return (trg != 2).unsqueeze(1).unsqueeze(2) & self.future(trg)


# %% wrong pad-indices-ignored: padding is 0 in both languages
class Transformer(Model):
    def make_src_mask(self, src):
        return (src != 0).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        return (trg != 0).unsqueeze(1).unsqueeze(2) & self.future(trg)


# %% wrong -: the encoder is cut off from the loss
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(trg, self.encoder(src, src_mask).detach(), src_mask, trg_mask)


# %% wrong -: defaults left out
class Transformer(Model):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model,
        num_layers,
        num_heads,
        d_ff,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__(
            src_vocab_size,
            trg_vocab_size,
            src_pad_idx,
            trg_pad_idx,
            d_model,
            num_layers,
            num_heads,
            d_ff,
            dropout,
            max_length,
        )


# %% right: a triangle kept as a buffer and cut
class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        trg_vocab_size,
        src_pad_idx,
        trg_pad_idx,
        d_model=512,
        num_layers=6,
        num_heads=8,
        d_ff=2048,
        dropout=0.1,
        max_length=100,
    ):
        super().__init__()
        common = dict(
            d_model=d_model,
            num_layers=num_layers,
            num_heads=num_heads,
            d_ff=d_ff,
            dropout=dropout,
            max_length=max_length,
        )
        self.encoder, self.decoder = Encoder(src_vocab_size, **common), Decoder(trg_vocab_size, **common)
        self.pads = src_pad_idx, trg_pad_idx
        self.register_buffer("triangle", torch.ones(max_length, max_length, dtype=torch.bool).tril(), persistent=False)

    @staticmethod
    def hide(tokens, pad):
        return tokens.ne(pad).unsqueeze(1).unsqueeze(2)

    def forward(self, src, trg):
        s, t = self.hide(src, self.pads[0]), self.hide(trg, self.pads[1])
        n = trg.shape[1]
        return self.decoder(trg, self.encoder(src, s), s, t & self.triangle[:n, :n])


# %% wrong source-and-target-exchanged: in the calls
class Transformer(Model):
    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(src, self.encoder(trg, None), trg_mask[:, :, -1:], src_mask)


# %% wrong source-and-target-exchanged: in the first line
class Transformer(Model):
    def forward(self, trg, src):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        return self.decoder(trg, self.encoder(src, src_mask), src_mask, trg_mask)


# %% wrong mask-inverted: equal to the padding, and a large negative number
class LargeNegative(MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        def heads(layer, x):
            return layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

        q, k, v = heads(self.q_proj, query), heads(self.k_proj, key), heads(self.v_proj, value)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


class Transformer(Model):
    def __init__(self, *sizes, **more):
        super().__init__(*sizes, **more)
        for module in self.modules():
            if type(module) is MultiHeadAttention:
                module.__class__ = LargeNegative

    def make_src_mask(self, src):
        return (src == self.src_pad_idx).unsqueeze(1).unsqueeze(2)
