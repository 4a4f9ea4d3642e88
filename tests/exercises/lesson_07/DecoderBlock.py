# %% prelude
class Block(nn.Module):
    """A right one in small pieces: most cells below change one of them."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def look(self, x, mask):
        return self.attention(x, x, x, mask)[0]

    def first(self, x, attended):
        return self.norm(x + self.dropout(attended))

    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory, memory, query, src_mask)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.first(x, self.look(x, trg_mask))
        return self.second(x, memory, query, src_mask, trg_mask)


# %% right: the book's way
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        attention, _ = self.attention(x, x, x, trg_mask)
        query = self.norm(self.dropout(attention) + x)
        return self.block(memory, memory, query, src_mask)


# %% right: everything in the open, keywords
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        attended = self.attention(query=x, key=x, value=x, mask=trg_mask)[0]
        query = F.layer_norm(
            x + F.dropout(attended, self.dropout.p, self.training), x.shape[-1:], *self.norm.parameters()
        )
        b = self.block
        crossed = b.attention(query, memory, memory, src_mask)[0]
        y = b.norm1(query + b.dropout(crossed))
        return b.norm2(y + b.dropout(b.feed_forward(y)))


# %% right: a list of sub-layers, masks made wide
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        wide = src_mask.expand(-1, -1, x.shape[1], -1)
        steps = [
            lambda y: self.norm(y + self.dropout(self.attention(y, y, y, trg_mask)[0])),
            lambda y: self.block(key=memory, value=memory, query=y, mask=wide),
        ]
        for step in steps:
            x = step(x)
        return x


# %% right: one sentence at a time
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        rows = [slice(b, b + 1) for b in range(len(x))]
        forward = super().forward
        return torch.cat([forward(x[r], memory[r], src_mask[r], trg_mask[r]) for r in rows])


# %% wrong cross-attention-to-itself: the query everywhere, with its own mask
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(query, query, query, trg_mask)


# %% wrong cross-attention-to-itself: x, with the source's mask
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(x, x, query, src_mask)


# %% wrong cross-attention-to-itself: without a mask, as it didn't fit
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        x = self.norm(x + self.look(x, trg_mask))
        return self.block(x, x, x)


# %% wrong query-and-memory-swapped: memory asks
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(query, query, memory, src_mask)


# %% wrong query-and-memory-swapped: the attention's order in the block's call
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(query, memory, memory, src_mask)


# %% wrong query-and-memory-swapped: by keyword, with the mask that fits
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(query=memory, key=query, value=query, mask=trg_mask)


# %% wrong masks-swapped: each in the other's place
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        return super().forward(x, memory, trg_mask, src_mask)


# %% wrong masks-swapped: the arguments in the other order
class DecoderBlock(Block):
    def forward(self, x, memory, trg_mask, src_mask):
        query = self.first(x, self.look(x, trg_mask))
        return self.block(memory, memory, query, src_mask)


# %% wrong masks-swapped: the source's mask in both
class DecoderBlock(Block):
    def look(self, x, mask):
        return self.attention(x, x, x, self.source)[0]

    def forward(self, x, memory, src_mask, trg_mask):
        self.source = src_mask
        return super().forward(x, memory, src_mask, trg_mask)


# %% wrong residual-forgotten: attention alone
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.norm(self.dropout(attended))


# %% wrong residual-forgotten: overwritten before the addition
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        x = self.look(x, trg_mask)
        query = self.norm(x)
        return self.block(memory, memory, query, src_mask)


# %% wrong value-from-target: the value is the query
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(query, memory, query, src_mask)


# %% wrong value-from-target: the value is x
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(value=x, key=memory, query=query, mask=src_mask)


# %% wrong value-from-target: the key is the query
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory, query, query, src_mask)


# %% wrong mask-ignored: in the first attention
class DecoderBlock(Block):
    def look(self, x, mask):
        return self.attention(x, x, x)[0]


# %% wrong mask-ignored: in the block
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory, memory, query)


# %% wrong mask-ignored: in both
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        return super().forward(x, memory, None, None)


# %% wrong first-attention-lost: x goes into the block
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory, memory, x, src_mask)


# %% wrong first-attention-lost: only the block
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        self.norm(x + self.look(x, trg_mask))
        return self.block(memory, memory, x, src_mask)


# %% wrong pre-norm-instead: normalised first
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        query = x + self.dropout(self.look(self.norm(x), trg_mask))
        return self.block(memory, memory, query, src_mask)


# %% wrong pre-norm-instead: without dropout
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        y = self.norm(x)
        x = x + self.attention(y, y, y, trg_mask)[0]
        return self.block(memory, memory, x, src_mask)


# %% wrong norm-before-addition: attention normalised, then added
class DecoderBlock(Block):
    def first(self, x, attended):
        return x + self.norm(attended)


# %% wrong norm-before-addition: with dropout
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.dropout(self.norm(attended)) + x


# %% wrong norm-forgotten: added only
class DecoderBlock(Block):
    def first(self, x, attended):
        return x + self.dropout(attended)


# %% wrong norm-forgotten: the result of the norm is lost
class DecoderBlock(Block):
    def first(self, x, attended):
        query = x + self.dropout(attended)
        self.norm(query)
        return query


# %% wrong dropout-after-norm: the page's order
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.dropout(self.norm(attended + x))


# %% wrong dropout-after-norm: functional
class DecoderBlock(Block):
    def first(self, x, attended):
        return F.dropout(self.norm(attended + x), self.dropout.p, training=self.training)


# %% wrong dropout-on-the-sum: the sum
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.norm(self.dropout(attended + x))


# %% wrong dropout-on-the-sum: step by step
class DecoderBlock(Block):
    def first(self, x, attended):
        x = x + attended
        x = self.dropout(x)
        return self.norm(x)


# %% wrong dropout-forgotten: in the first sub-layer
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.norm(x + attended)


# %% wrong dropout-forgotten: not passed on to the block
class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.block = TransformerBlock(d_model, num_heads, d_ff)


# %% wrong dropout-in-eval-mode: F.dropout is not told the mode
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.norm(x + F.dropout(attended, self.dropout.p))


# %% wrong dropout-in-eval-mode: a dropout that is never switched off
class DecoderBlock(Block):
    def first(self, x, attended):
        drop = nn.Dropout(self.dropout.p)
        return self.norm(x + drop(attended))


# %% wrong -: the norm of the block is used
class DecoderBlock(Block):
    def first(self, x, attended):
        return self.block.norm1(x + self.dropout(attended))


# %% wrong -: x is added at the end as well
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return x + self.block(memory, memory, query, src_mask)


# %% wrong -: the attentions have changed places
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        x = self.block(memory, memory, x, src_mask)
        return self.norm(x + self.dropout(self.look(x, trg_mask)))


# %% wrong -: only the first token of the source is looked at
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory[:, :1], memory[:, :1], query)


# %% wrong misbuilt: parts under other names
class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.transformer_block = self.block
        del self.block

    def second(self, x, memory, query, src_mask, trg_mask):
        return self.transformer_block(memory, memory, query, src_mask)


# %% wrong raised: five arguments, as on the page
class DecoderBlock(Block):
    def forward(self, x, value, key, src_mask, trg_mask):
        query = self.first(x, self.look(x, trg_mask))
        return self.block(value, key, query, src_mask)


# %% wrong gradient-cut: memory without its history
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory.detach(), memory.detach(), query, src_mask)


# %% wrong changes-argument: the sum written into x
class DecoderBlock(Block):
    def first(self, x, attended):
        x += self.dropout(attended)
        return self.norm(x)


# %% wrong excluded-function: PyTorch's decoder layer
class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)

    def forward(self, x, memory, src_mask, trg_mask):
        return self.layer(x, memory)


# %% wrong excluded-function: F.multi_head_attention_forward
class DecoderBlock(Block):
    def look(self, x, mask):
        a, y = self.attention, x.transpose(0, 1)
        weight = torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight])
        bias = torch.cat([a.q_proj.bias, a.k_proj.bias, a.v_proj.bias])
        out, _ = F.multi_head_attention_forward(
            y,
            y,
            y,
            y.shape[-1],
            a.num_heads,
            weight,
            bias,
            None,
            None,
            False,
            0.0,
            a.out_proj.weight,
            a.out_proj.bias,
            attn_mask=~mask.expand(-1, a.num_heads, -1, -1).flatten(0, 1),
        )
        return out.transpose(0, 1)


# %% wrong same-norm-twice: TransformerBlock is to blame
class TransformerBlock(TransformerBlock):
    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm1(x + self.dropout(self.feed_forward(x)))


class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)


# %% wrong masks-swapped: the source's mask first, then none
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        return self.block(memory, memory, self.first(x, self.look(x, src_mask)))


# %% wrong masks-swapped: none first, then the target's
class DecoderBlock(Block):
    def forward(self, x, memory, src_mask, trg_mask):
        return self.block(memory, memory, self.first(x, self.look(x, None)), trg_mask)


# %% wrong value-from-target: the key is x
class DecoderBlock(Block):
    def second(self, x, memory, query, src_mask, trg_mask):
        return self.block(memory, x, query, src_mask)


# %% wrong -: the paper's dropout unless told otherwise
class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)


# %% wrong -: everything is dropped unless told otherwise
class DecoderBlock(Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=1):
        super().__init__(d_model, num_heads, d_ff, dropout)


# %% wrong first-attention-to-memory: memory in both
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, memory, memory, src_mask)[0]))
        return self.block(memory, memory, query, src_mask)


# %% wrong first-attention-to-memory: the two have changed places
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(query=x, key=memory, value=memory, mask=src_mask)[0]))
        return self.block(query, query, query, trg_mask)


# %% wrong cross-attention-to-itself: memory overwritten
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        memory = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(memory, memory, memory, src_mask)


# %% wrong mask-inverted: the target's
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, ~trg_mask)[0]))
        return self.block(memory, memory, query, src_mask)


# %% wrong mask-inverted: the source's
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(memory, memory, query, ~src_mask)


# %% wrong mask-inverted: both
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, ~trg_mask)[0]))
        return self.block(memory, memory, query, ~src_mask)


# %% wrong attention-not-unpacked: both go into the dropout
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)))
        return self.block(memory, memory, query, src_mask)


# %% wrong attention-not-unpacked: both are added
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        attended = self.attention(x, x, x, trg_mask)
        query = self.norm(x + attended)
        return self.block(memory, memory, query, src_mask)


# %% wrong dropout-hard-coded: a tenth
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(memory, memory, query, src_mask)


# %% wrong dropout-hard-coded: in the block
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, 0.1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(memory, memory, query, src_mask)
