# %% prelude
import torch
from torch import Tensor


# %% right: clamp and index
def relative_position_bias(table: Tensor, query_len: int, key_len: int) -> Tensor:
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len).unsqueeze(1)
    return table[:, offset.clamp(-m, m) + m]


# %% right: shifted first, then clamped
def relative_position_bias(table, query_len, key_len):
    columns = table.size(-1)
    q, k = torch.meshgrid(torch.arange(query_len), torch.arange(key_len), indexing="ij")
    index = torch.clamp(k - q + (columns - 1) // 2, min=0, max=columns - 1)
    return torch.index_select(table, 1, index.flatten()).view(-1, query_len, key_len)


# %% right: loops
def relative_position_bias(table, query_len, key_len):
    H, width = table.shape
    m = (width - 1) // 2
    bias = torch.zeros(H, query_len, key_len, dtype=table.dtype)
    for q in range(query_len):
        for k in range(key_len):
            bias[:, q, k] = table[:, max(-m, min(m, k - q)) + m]
    return bias


# %% right: gather per head
def relative_position_bias(table, query_len, key_len):
    print("table", table.shape)
    m = int((table.shape[1] - 1) / 2)
    offset = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    index = (torch.clip(offset, -m, m) + m).reshape(1, -1).expand(table.shape[0], -1)
    return table.gather(1, index).reshape(table.shape[0], query_len, key_len)


# %% right: one-hot and einsum
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = (torch.arange(key_len) - torch.arange(query_len)[:, None]).clip(-m, m)
    hot = (offset[..., None] == torch.arange(-m, m + 1)).to(table.dtype)
    return torch.einsum("qkc,hc->hqk", hot, table)


# %% right: a long row, a window of it for each query
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    row = torch.arange(-(query_len - 1), key_len).clamp(-m, m) + m
    stretched = table[:, row]  # (H, all offsets)
    return torch.stack([stretched[:, query_len - 1 - q : query_len - 1 - q + key_len] for q in range(query_len)], dim=1)


# %% right: rows looked up, then axes moved
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    index = torch.tensor([[min(max(k - q, -m), m) for k in range(key_len)] for q in range(query_len)]) + m
    return torch.nn.functional.embedding(index, table.T).permute(2, 0, 1)


# %% wrong sign-flipped: query minus key
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(query_len)[:, None] - torch.arange(key_len)
    return table[:, offset.clamp(-m, m) + m]


# %% wrong sign-flipped: in loops
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    index = [[max(-m, min(m, q - k)) + m for k in range(key_len)] for q in range(query_len)]
    return table[:, torch.tensor(index)]


# %% wrong sign-flipped: m minus the offset
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, m - offset.clamp(-m, m)]


# %% wrong not-clipped: clamp forgotten
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset + m]


# %% wrong not-clipped: its result dropped
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len)[None] - torch.arange(query_len)[:, None]
    offset.clamp(-m, m)
    return table[:, offset + m]


# %% wrong not-clipped: gather
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    index = (torch.arange(key_len) - torch.arange(query_len)[:, None] + m).flatten()
    return table.gather(1, index.expand(len(table), -1)).view(-1, query_len, key_len)


# %% wrong not-clipped: wrapped round with a remainder
def relative_position_bias(table, query_len, key_len):
    width = table.shape[1]
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, (offset + width // 2) % width]


# %% wrong not-clipped: clipped at one end only
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset.clamp(max=m) + m]


# %% wrong not-clipped: loops
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    return torch.stack([torch.stack([table[:, k - q + m] for k in range(key_len)], -1) for q in range(query_len)], 1)


# %% wrong wrapped-index: + m forgotten
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset.clamp(-m, m)]


# %% wrong wrapped-index: loops
def relative_position_bias(table, query_len, key_len):
    H, width = table.shape
    m = width // 2
    bias = table.new_zeros(H, query_len, key_len)
    for q in range(query_len):
        for k in range(key_len):
            bias[:, q, k] = table[:, min(max(k - q, -m), m)]
    return bias


# %% wrong wrapped-index: wrapped by hand
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = (torch.arange(key_len) - torch.arange(query_len)[:, None]).clamp(-m, m)
    return table[:, torch.where(offset < 0, offset + table.shape[1], offset)]


# %% wrong absolute-distance: abs before the shift
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    distance = (torch.arange(key_len) - torch.arange(query_len)[:, None]).abs()
    return table[:, distance.clamp(-m, m) + m]


# %% wrong absolute-distance: without the shift
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    distance = (torch.arange(key_len) - torch.arange(query_len)[:, None]).abs()
    return table[:, distance.clamp(0, m)]


# %% wrong absolute-distance: loops
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    index = [[min(abs(k - q), m) + m for k in range(key_len)] for q in range(query_len)]
    return table[:, torch.tensor(index)]


# %% wrong aligned-to-the-end: as with a cache
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    q = torch.arange(key_len - query_len, key_len)[:, None]
    return table[:, (torch.arange(key_len) - q).clamp(-m, m) + m]


# %% wrong aligned-to-the-end: a shift of the queries
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None] - (key_len - query_len)
    return table[:, offset.clip(-m, m) + m]


# %% wrong heads-last: the table turned round
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table.T[offset.clamp(-m, m) + m]


# %% wrong heads-last: an embedding
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    index = (torch.arange(key_len) - torch.arange(query_len)[:, None]).clamp(-m, m) + m
    return torch.nn.functional.embedding(index, table.mT)


# %% wrong queries-and-keys-transposed: both lengths swapped
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len)[:, None] - torch.arange(query_len)
    return table[:, offset.clamp(-m, m) + m]


# %% wrong wrong-shape: a batch axis
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset.clamp(-m, m) + m].unsqueeze(0)


# %% wrong gradient-cut: through Python numbers
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    rows = table.tolist()
    bias = [[[row[max(-m, min(m, k - q)) + m] for k in range(key_len)] for q in range(query_len)] for row in rows]
    return torch.tensor(bias, dtype=table.dtype)


# %% wrong gradient-cut: .data
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table.data[:, offset.clamp(-m, m) + m]


# %% wrong dtype-changed: a float32 tensor filled
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    bias = torch.zeros(len(table), query_len, key_len)
    for q in range(query_len):
        for k in range(key_len):
            bias[:, q, k] = table[:, max(-m, min(m, k - q)) + m]
    return bias


# %% wrong changes-argument: the middle column emptied
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    bias = table[:, offset.clamp(-m, m) + m]
    table[:, m] = 0
    return bias


# %% wrong returns-nothing: no return
def relative_position_bias(table, query_len, key_len):
    table[:, torch.zeros(query_len, key_len, dtype=torch.long)]


# %% wrong -: clipped one too early
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset.clamp(-(m - 1), m - 1) + m]


# %% wrong -: zero beyond the reach
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offset.clamp(-m, m) + m] * (offset.abs() <= m)


# %% wrong -: causal
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return (table[:, offset.clamp(-m, m) + m]).tril()


# %% wrong -: heads averaged
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table.mean(0, keepdim=True)[:, offset.clamp(-m, m) + m].expand(len(table), -1, -1)


# %% wrong -: the key's place in the table, whatever the query
def relative_position_bias(table, query_len, key_len):
    index = torch.arange(key_len).clamp(max=table.shape[1] - 1)
    return table[:, index].unsqueeze(1).expand(-1, query_len, -1)


# %% wrong queries-and-keys-transposed: the offsets
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    off = torch.arange(key_len)[:, None] - torch.arange(query_len)[None, :]
    return table[:, off.clamp(-m, m) + m]


# %% wrong queries-and-keys-transposed: the result
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, offset.clamp(-m, m) + m].transpose(1, 2)


# %% wrong one-length-for-both: the queries'
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    off = torch.arange(query_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(-m, m) + m]


# %% wrong one-length-for-both: the keys'
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(key_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, offset.clamp(-m, m) + m]


# %% wrong past-cut-off: clamped at 0
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(0, m) + m]


# %% wrong past-cut-off: in two steps
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, offset.clamp(min=0).clamp(max=m) + m]


# %% wrong future-cut-off: clamped at m
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, (off + m).clamp(0, m)]


# %% wrong future-cut-off: by a function
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, torch.clamp(m + offset, min=0, max=m)]


# %% wrong min-max-swapped: loops
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    out = torch.zeros(table.shape[0], query_len, key_len, dtype=table.dtype)
    for h in range(table.shape[0]):
        for q in range(query_len):
            for k in range(key_len):
                out[h, q, k] = table[h, max(min(k - q, -m), m) + m]
    return out


# %% wrong min-max-swapped: in two steps
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, offset.clamp(max=-m).clamp(min=m) + m]


# %% wrong shifted-by-one: keys from 1
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    off = torch.arange(1, key_len + 1)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(-m, m) + m]


# %% wrong shifted-by-one: queries from 1
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(1, query_len + 1), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return table[:, offset.clamp(-m, m) + m]


# %% wrong index-returned: the columns
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return off.clamp(-m, m) + m


# %% wrong index-returned: shifted first
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return (offset + m).clamp(0, 2 * m)


# %% wrong reach-miscounted: from the heads
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[0] - 1) // 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(-m, m) + m]


# %% wrong reach-miscounted: the whole width
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1]
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(-m, m) + m]


# %% wrong reach-miscounted: a decimal
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) / 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[:, off.clamp(-m, m) + m]


# %% wrong indexes-heads: no comma
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    off = torch.arange(key_len)[None, :] - torch.arange(query_len)[:, None]
    return table[off.clamp(-m, m) + m]


# %% wrong indexes-heads: row by row
def relative_position_bias(table, query_len, key_len):
    m = (table.shape[1] - 1) // 2
    queries, keys = torch.arange(query_len), torch.arange(key_len)
    offset = keys[None] - queries[:, None]
    return torch.stack([table[row] for row in offset.clamp(-m, m) + m])


# %% right: a window over all distances
def relative_position_bias(table, query_len, key_len):
    m = table.shape[-1] // 2
    rel = torch.arange(1 - query_len, key_len).clamp(-m, m) + m
    wide = table[:, rel]
    return torch.stack([wide[:, query_len - 1 - i : query_len - 1 - i + key_len] for i in range(query_len)], 1)


# %% wrong clipped-to-columns: clamp with the largest column
def relative_position_bias(table, query_len, key_len):
    offsets = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offsets.clamp(0, table.shape[1] - 1)]


# %% wrong clipped-to-columns: min and max
def relative_position_bias(table, query_len, key_len):
    m = table.shape[1] // 2
    rows = [[min(max(k - q, 0), 2 * m) for k in range(key_len)] for q in range(query_len)]
    return table[:, torch.tensor(rows)]
