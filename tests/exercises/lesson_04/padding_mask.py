# %% prelude
import torch


# %% right: compare and unsqueeze
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx).unsqueeze(1).unsqueeze(2)


# %% right: index with None
def padding_mask(tokens: torch.Tensor, pad_idx: int) -> torch.Tensor:
    return (tokens != pad_idx)[:, None, None, :]


# %% right: reshape
def padding_mask(tokens, pad_idx):
    batch, seq_len = tokens.shape
    return tokens.ne(pad_idx).reshape(batch, 1, 1, seq_len)


# %% right: loops
def padding_mask(tokens, pad_idx):
    mask = torch.ones(tokens.shape[0], 1, 1, tokens.shape[1]).bool()
    for b, sentence in enumerate(tokens):
        for t, token in enumerate(sentence):
            if token.item() == pad_idx:
                mask[b, 0, 0, t] = False
    return mask


# %% right: negated equality
def padding_mask(tokens, pad_idx):
    return torch.logical_not(torch.eq(tokens, pad_idx)).view(-1, 1, 1, tokens.size(-1))


# %% right: isin
def padding_mask(tokens, pad_idx):
    return ~torch.isin(tokens, torch.tensor([pad_idx]))[:, None, None]


# %% right: where
def padding_mask(tokens, pad_idx):
    return torch.where(tokens == pad_idx, False, True)[:, None, None]


# %% wrong mask-inverted: equal
def padding_mask(tokens, pad_idx):
    return (tokens == pad_idx).unsqueeze(1).unsqueeze(2)


# %% wrong mask-inverted: eq and view
def padding_mask(tokens, pad_idx):
    return tokens.eq(pad_idx).view(tokens.size(0), 1, 1, -1)


# %% wrong mask-inverted: negated once too often
def padding_mask(tokens, pad_idx):
    return ~(tokens != pad_idx)[:, None, None, :]


# %% wrong mask-on-query-axis: None in the wrong place
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[:, None, :, None]


# %% wrong mask-on-query-axis: unsqueeze at the end
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx).unsqueeze(1).unsqueeze(-1)


# %% wrong mask-on-query-axis: equal as well
def padding_mask(tokens, pad_idx):
    return (tokens == pad_idx).unsqueeze(1).unsqueeze(3)


# %% wrong missing-axes: none
def padding_mask(tokens, pad_idx):
    return tokens != pad_idx


# %% wrong missing-axes: one
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx).unsqueeze(1)


# %% wrong missing-axes: none and equal
def padding_mask(tokens, pad_idx):
    return tokens == pad_idx


# %% wrong pad-idx-ignored: zero
def padding_mask(tokens, pad_idx):
    return (tokens != 0)[:, None, None, :]


# %% wrong pad-idx-ignored: bool of the ids
def padding_mask(tokens, pad_idx):
    return tokens.bool()[:, None, None, :]


# %% wrong not-bool: floats
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx).float()[:, None, None, :]


# %% wrong not-bool: integers
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx).to(tokens.dtype).unsqueeze(1).unsqueeze(2)


# %% wrong not-bool: to be added
def padding_mask(tokens, pad_idx):
    return torch.zeros(tokens.shape).masked_fill(tokens == pad_idx, -1e9)[:, None, None, :]


# %% wrong changes-argument: the tokens become the mask
def padding_mask(tokens, pad_idx):
    tokens[tokens == pad_idx] = -1
    return (tokens != -1)[:, None, None, :]


# %% wrong stretched-already: stretched already
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[:, None, None, :].expand(-1, 1, tokens.shape[1], -1)


# %% wrong axes-misplaced: batch in third place
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[None, None]


# %% wrong wrong-type: lists
def padding_mask(tokens, pad_idx):
    return [[token != pad_idx for token in row] for row in tokens.tolist()]


# %% wrong compared-by-size: ids above the padding's only
def padding_mask(tokens, pad_idx):
    return (tokens > pad_idx)[:, None, None, :]


# %% wrong -: everything after the first padding
def padding_mask(tokens, pad_idx):
    return ((tokens == pad_idx).cumsum(1) == 0)[:, None, None, :]


# %% wrong -: lengths of the first sentence for all
def padding_mask(tokens, pad_idx):
    return (tokens[:1] != pad_idx).expand(tokens.shape)[:, None, None, :]


# %% wrong -: all visible
def padding_mask(tokens, pad_idx):
    return torch.ones(tokens.shape[0], 1, 1, tokens.shape[1], dtype=torch.bool)


# %% wrong axes-misplaced: new axes in front
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[None, None]


# %% wrong axes-misplaced: new axes at the end
def padding_mask(tokens, pad_idx):
    return (tokens != pad_idx)[..., None, None]


# %% wrong stretched-already: expand
def padding_mask(tokens, pad_idx):
    B, T = tokens.shape
    return (tokens != pad_idx)[:, None, None, :].expand(B, 1, T, T)


# %% wrong padded-queries-hidden: both axes
def padding_mask(tokens, pad_idx):
    real = tokens != pad_idx
    return real[:, None, None, :] & real[:, None, :, None]


# %% wrong padded-queries-hidden: outer product
def padding_mask(tokens, pad_idx):
    real = (tokens != pad_idx).int()
    return torch.einsum("bi,bj->bij", real, real).bool().unsqueeze(1)


# %% wrong mask-as-condition: not
def padding_mask(tokens, pad_idx):
    return not (tokens == pad_idx)[:, None, None, :]


# %% wrong mask-as-condition: if
def padding_mask(tokens, pad_idx):
    return True if tokens != pad_idx else False


# %% wrong -: the lesson's pad
pad = 1


def padding_mask(tokens, pad_idx):
    return (tokens != pad)[:, None, None, :]


# %% wrong compared-by-size: larger
def padding_mask(tokens, pad_idx):
    return (tokens > pad_idx)[:, None, None, :]


# %% wrong compared-by-size: smaller ids hidden
def padding_mask(tokens, pad_idx):
    return ~torch.le(tokens, pad_idx).unsqueeze(1).unsqueeze(2)


# %% wrong one-answer-for-all: is not
def padding_mask(tokens, pad_idx):
    return (tokens is not pad_idx)[:, None, None, :]


# %% wrong one-answer-for-all: in
def padding_mask(tokens, pad_idx):
    visible = not (pad_idx in tokens)
    return visible.unsqueeze(1).unsqueeze(1)


# %% right: ne and view
def padding_mask(tokens, pad_idx):
    return tokens.ne(pad_idx).view(tokens.size(0), 1, 1, -1)
