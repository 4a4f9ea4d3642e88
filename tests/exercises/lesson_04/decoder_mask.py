# %% prelude
import torch


def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[:, None, None, :]


# %% right: and
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_idx)


# %% right: without its pieces
def decoder_mask(tokens, pad_idx):
    t = torch.arange(tokens.size(1))
    return (t <= t[:, None]).logical_and((tokens != pad_idx).unsqueeze(1).unsqueeze(1))


# %% right: product
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx) * causal_mask(tokens.size(-1))


# %% right: loops
def decoder_mask(tokens, pad_idx):
    batch, length = tokens.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for query in range(length):
            for key in range(query + 1):
                mask[b, 0, query, key] = tokens[b, key] != pad_idx
    return mask


# %% right: hidden is the or of what is hidden
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    hidden = future | (tokens == pad_idx)[:, None, None, :]
    return ~hidden


# %% right: tril of the stretched padding mask
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return padding_mask(tokens, pad_idx).expand(-1, 1, length, length).tril()


# %% right: minimum of numbers
def decoder_mask(tokens, pad_idx):
    return torch.minimum(causal_mask(tokens.shape[1]).int(), padding_mask(tokens, pad_idx).int()) > 0


# %% wrong or-instead-of-and: operator
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) | padding_mask(tokens, pad_idx)


# %% wrong or-instead-of-and: sum
def decoder_mask(tokens, pad_idx):
    return (causal_mask(tokens.shape[1]).int() + padding_mask(tokens, pad_idx).int()) > 0


# %% wrong or-instead-of-and: and of what is hidden
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    return ~(future & (tokens == pad_idx)[:, None, None, :])


# %% wrong padding-forgotten: stretched triangle
def decoder_mask(tokens, pad_idx):
    batch, length = tokens.shape
    return torch.tril(torch.ones(length, length)).expand(batch, 1, length, length).bool()


# %% wrong padding-forgotten: triangle alone
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1])


# %% wrong padding-forgotten: all ids count
def decoder_mask(tokens, pad_idx):
    everything = (tokens == tokens)[:, None, None, :]
    return causal_mask(tokens.shape[1]) & everything


# %% wrong causal-forgotten: the padding mask
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx)


# %% wrong causal-forgotten: stretched
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx).repeat(1, 1, tokens.shape[1], 1)


# %% wrong mask-inverted: negated
def decoder_mask(tokens, pad_idx):
    return ~(causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_idx))


# %% wrong mask-inverted: True = hide throughout
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    return future | (tokens == pad_idx)[:, None, None, :]


# %% wrong mask-inverted: only the triangle
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return torch.triu(torch.ones(length, length), diagonal=1).bool() & padding_mask(tokens, pad_idx)


# %% wrong mask-inverted: only the padding
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & (tokens == pad_idx)[:, None, None, :]


# %% wrong padded-queries-hidden: both axes
def decoder_mask(tokens, pad_idx):
    keys = padding_mask(tokens, pad_idx)
    return causal_mask(tokens.shape[1]) & keys & keys.transpose(-2, -1)


# %% wrong padded-queries-hidden: outer product
def decoder_mask(tokens, pad_idx):
    real = tokens != pad_idx
    return (real[:, :, None] & real[:, None, :]).tril().unsqueeze(1)


# %% wrong mask-on-query-axis: padding as rows
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & (tokens != pad_idx)[:, None, :, None]


# %% wrong mask-on-query-axis: transposed padding mask
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx).mT & causal_mask(tokens.shape[1])


# %% wrong diagonal-hidden: its own triangle
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return torch.ones(length, length).tril(-1).bool() & padding_mask(tokens, pad_idx)


# %% wrong diagonal-hidden: negated triu
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return ~torch.triu(torch.ones(length, length)).bool() & padding_mask(tokens, pad_idx)


# %% wrong one-future-token-visible: its own triangle
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return torch.ones(length, length).tril(1).bool() & padding_mask(tokens, pad_idx)


# %% wrong one-future-token-visible: or of what is hidden
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    hidden = torch.triu(torch.ones(length, length), 2).bool() | (tokens == pad_idx)[:, None, None, :]
    return ~hidden


# %% wrong pad-idx-ignored: zero
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & padding_mask(tokens, 0)


# %% wrong pad-idx-ignored: bool of the ids
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & tokens.bool()[:, None, None, :]


# %% wrong not-bool: floats
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]).float() * padding_mask(tokens, pad_idx).float()


# %% wrong not-bool: to be added
def decoder_mask(tokens, pad_idx):
    visible = causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_idx)
    return torch.zeros(visible.shape).masked_fill(~visible, float("-inf"))


# %% wrong changes-argument: padding rewritten
def decoder_mask(tokens, pad_idx):
    tokens[tokens == pad_idx] = -100
    return causal_mask(tokens.shape[1]) & (tokens >= 0)[:, None, None, :]


# %% wrong missing-axes: heads' axis forgotten
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & (tokens != pad_idx)[:, None, :]


# %% wrong returns-nothing: no return
def decoder_mask(tokens, pad_idx):
    mask = causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_idx)


# %% wrong -: exclusive or
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) ^ padding_mask(tokens, pad_idx)


# %% wrong -: the first sentence's padding for all
def decoder_mask(tokens, pad_idx):
    return causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_idx)[:1].expand(len(tokens), -1, -1, -1)


# %% wrong -: the diagonal kept visible
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    return (causal_mask(length) & padding_mask(tokens, pad_idx)) | torch.eye(length, dtype=torch.bool)


# %% wrong -: everything visible
def decoder_mask(tokens, pad_idx):
    batch, length = tokens.shape
    return torch.ones(batch, 1, length, length, dtype=torch.bool)


# %% wrong missing-axes: one axis in front of the sentences
def decoder_mask(tokens, pad_idx):
    return (tokens != pad_idx)[None, :, None] & causal_mask(tokens.shape[1])


# %% wrong equality-instead-of-and: operator
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx) == causal_mask(tokens.shape[1])


# %% wrong equality-instead-of-and: torch.eq
def decoder_mask(tokens, pad_idx):
    future_hidden = torch.ones(tokens.shape[1], tokens.shape[1]).tril() > 0
    return torch.eq(tokens.ne(pad_idx)[:, None, None], future_hidden)


# %% wrong mask-as-condition: and
def decoder_mask(tokens, pad_idx):
    return padding_mask(tokens, pad_idx) and causal_mask(tokens.shape[1])


# %% wrong mask-as-condition: not
def decoder_mask(tokens, pad_idx):
    hidden = ~padding_mask(tokens, pad_idx) | ~causal_mask(tokens.shape[1])
    return not hidden


# %% wrong squeezed: a batch of one
def decoder_mask(tokens, pad_idx):
    length = tokens.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return ((tokens != pad_idx)[:, None, None, :] & causal).squeeze(0)


# %% wrong -: every token sees itself
def decoder_mask(tokens, pad_idx):
    m = tokens != pad_idx
    T = tokens.shape[1]
    return ((torch.ones(T, T, dtype=torch.bool).tril() & m[:, None, :]) | torch.eye(T, dtype=torch.bool))[:, None]
