# %% right: a product
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len * seq_len * bytes_per_element


# %% right: a power and math.prod
def attention_matrix_bytes(batch: int, num_heads: int, seq_len: int, bytes_per_element: int) -> int:
    return math.prod((batch, num_heads, seq_len**2, bytes_per_element))


# %% right: a tensor on the meta device is asked
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return torch.empty(batch, num_heads, seq_len, seq_len, device="meta").numel() * bytes_per_element


# %% right: row by row, a NumPy integer
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    row = seq_len * bytes_per_element
    return np.int64(batch * num_heads) * seq_len * row


# %% wrong heads-forgotten: left out
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * seq_len * seq_len * bytes_per_element


# %% wrong heads-forgotten: multiplied and divided again
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    per_head = batch * num_heads * seq_len**2 * bytes_per_element // num_heads
    return per_head


# %% wrong linear-in-seq-len: once only
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len * bytes_per_element


# %% wrong linear-in-seq-len: doubled, not squared
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * (seq_len * 2) * bytes_per_element


# %% wrong batch-forgotten: left out
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return num_heads * seq_len**2 * bytes_per_element


# %% wrong batch-forgotten: the heads for both
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    tables = num_heads
    return tables * (seq_len * seq_len) * bytes_per_element


# %% wrong elements-instead-of-bytes: numbers
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2


# %% wrong elements-instead-of-bytes: bits
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2 * bytes_per_element * 8


# %% wrong wrong-type: a tensor
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return torch.tensor(batch * num_heads * seq_len**2 * bytes_per_element)


# %% wrong wrong-type: a float
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * math.pow(seq_len, 2) * bytes_per_element


# %% wrong -: a product that runs over in int32
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    factors = np.array([batch, num_heads, seq_len, seq_len, bytes_per_element], dtype=np.int32)
    return int(np.prod(factors, dtype=np.int32))


# %% wrong another-unit: by a product
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2 * bytes_per_element / 2**20


# %% wrong -: half of it, since the rest is masked
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len * (seq_len + 1) // 2 * bytes_per_element


# %% wrong bytes-fixed: always float32
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2 * 4


# %% wrong returns-nothing: printed
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    print(batch * num_heads * seq_len**2 * bytes_per_element)


# %% wrong one-table-only: a power
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return seq_len**2 * bytes_per_element


# %% wrong one-table-only: a product
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return seq_len * seq_len * bytes_per_element


# %% wrong squared-too-much: the heads too
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * (num_heads * seq_len) ** 2 * bytes_per_element


# %% wrong squared-too-much: three times
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**3 * bytes_per_element


# %% wrong xor-instead-of-power: at the end
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len ^ 2 * bytes_per_element


# %% wrong xor-instead-of-power: in parentheses
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * (seq_len ^ 2) * bytes_per_element


# %% wrong counted-twice: two tensors
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return 2 * batch * num_heads * seq_len**2 * bytes_per_element


# %% wrong counted-twice: in front
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return 2 * batch * num_heads * seq_len * seq_len * bytes_per_element


# %% wrong another-unit: kilobytes
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2 * bytes_per_element / 1024


# %% wrong another-unit: megabytes
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len * seq_len * bytes_per_element / 2**20


# %% wrong bytes-fixed: four
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len**2 * 4


# %% wrong bytes-fixed: two
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * seq_len * seq_len * 2


# %% wrong -: two to the length, in place of its square
def attention_matrix_bytes(batch, num_heads, seq_len, bytes_per_element):
    return batch * num_heads * 2**seq_len * bytes_per_element
