# %% right: a product
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% right: bytes for one token first
def kv_cache_bytes(
    batch: int, num_layers: int, num_kv_heads: int, head_dim: int, seq_len: int, bytes_per_element: int
) -> int:
    key = value = num_kv_heads * head_dim * bytes_per_element
    per_token = num_layers * (key + value)
    return batch * seq_len * per_token


# %% right: a sum over the layers
def kv_cache_bytes(*sizes):
    batch, num_layers, heads, width, length, size = sizes
    return sum(torch.empty(2, batch, heads, length, width, device="meta").numel() * size for _ in range(num_layers))


# %% right: math.prod
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return math.prod([batch, num_layers, 2, num_kv_heads, seq_len, head_dim]) * bytes_per_element


# %% wrong key-or-value-forgotten: once only
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong key-or-value-forgotten: the keys, in a loop
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    total = 0
    for _layer in range(num_layers):
        keys = batch * num_kv_heads * seq_len * head_dim
        total += keys * bytes_per_element
    return total


# %% wrong quadratic: tokens squared
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len**2 * bytes_per_element


# %% wrong quadratic: tables of scores
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return batch * num_layers * num_kv_heads * seq_len * seq_len * bytes_per_element


# %% wrong quadratic: one of the two and squared
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return batch * num_layers * num_kv_heads * head_dim * seq_len * seq_len * bytes_per_element


# %% wrong factor-forgotten: the layers
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong factor-forgotten: the heads, and one of the two
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return batch * num_layers * head_dim * seq_len * bytes_per_element


# %% wrong elements-instead-of-bytes: numbers
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len


# %% wrong elements-instead-of-bytes: a tensor's numel
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return torch.empty(2, num_layers, batch, num_kv_heads, seq_len, head_dim, device="meta").numel()


# %% wrong queries-kept: all three
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 3 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong -: one token more
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * (seq_len + 1) * bytes_per_element


# %% wrong bytes-fixed: always two bytes
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 4 * batch * num_layers * num_kv_heads * head_dim * seq_len


# %% wrong wrong-type: a float
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2.0 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong returns-nothing: no return
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    total = 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong queries-kept: three times
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 3 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element


# %% wrong queries-kept: added up
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    one = batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element
    return one + one + one


# %% wrong another-unit: gigabytes
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element / 2**30


# %% wrong another-unit: kilobytes, rounded down
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element // 1024


# %% wrong bytes-fixed: two
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * 2


# %% wrong bytes-fixed: four
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * 4


# %% wrong factor-forgotten: the tokens
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * bytes_per_element


# %% wrong elements-instead-of-bytes: bits
def kv_cache_bytes(batch, num_layers, num_kv_heads, head_dim, seq_len, bytes_per_element):
    return 2 * batch * num_layers * num_kv_heads * head_dim * seq_len * bytes_per_element * 8
