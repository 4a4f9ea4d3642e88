# %% right: distances
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at.unsqueeze(-1) - at
    return (back >= 0) & (back < window)


# %% right: two triangles, one of them negated
def sliding_window_mask(seq_len: int, window: int) -> Tensor:
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool)
    return ones.tril() & ~ones.tril(-window)


# %% right: a triangle of a triangle
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril().triu(1 - window).bool()


# %% right: slices in a loop
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, max(0, t - window + 1) : t + 1] = True
    return mask


# %% right: nested lists, with Python's chain of comparisons
def sliding_window_mask(seq_len, window):
    return torch.tensor([[0 <= q - k < window for k in range(seq_len)] for q in range(seq_len)])


# %% right: a sum of diagonals
def sliding_window_mask(seq_len, window):
    diagonals = [torch.ones(seq_len - back).diag(-back) for back in range(min(window, seq_len))]
    return sum(diagonals) > 0


# %% right: running sums, through NumPy
def sliding_window_mask(seq_len, window):
    causal = np.tri(seq_len, dtype=bool)
    return torch.from_numpy(causal ^ np.tri(seq_len, k=-window, dtype=bool))


# %% right: xor of two masks, positions as floats
class Window:
    def __call__(self, seq_len, window):
        at = torch.arange(float(seq_len))
        return torch.logical_xor(at <= at[:, None], at <= at[:, None] - window)


sliding_window_mask = Window()


# %% wrong window-off-by-one: one too many
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at[:, None] - at
    return (back >= 0) & (back <= window)


# %% wrong window-off-by-one: triu by the window
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril().triu(-window)


# %% wrong window-off-by-one: one too few
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, max(0, t - window + 2) : t + 1] = True
    return mask


# %% wrong window-off-by-one: the second triangle cuts too much
def sliding_window_mask(seq_len, window):
    ones = torch.ones(seq_len, seq_len)
    return (ones.tril() - ones.tril(1 - window)).bool()


# %% wrong itself-hidden: strictly before
def sliding_window_mask(seq_len, window):
    back = torch.arange(seq_len)[:, None] - torch.arange(seq_len)
    return (back > 0) & (back <= window)


# %% wrong itself-hidden: a slice that ends too early
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, max(0, t - window + 1) : t] = True
    return mask


# %% wrong looks-ahead: columns in place of rows
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at - at[:, None]
    return (back >= 0) & (back < window)


# %% wrong looks-ahead: the far border alone
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return at[:, None] - at < window


# %% wrong looks-ahead: a slice that starts at the token
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, t : t + window] = True
    return mask


# %% wrong looks-ahead: one token of the future
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril(1).triu(1 - window).bool()


# %% wrong looks-ahead: the diagonal of tril moved the other way
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril(window - 1)


# %% wrong both-sides: absolute distance
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return (at[:, None] - at).abs() < window


# %% wrong both-sides: half to each side
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for t in range(seq_len):
        mask[t, max(0, t - window // 2) : t + window // 2 + 1] = True
    return mask


# %% wrong true-means-hidden: negated at the end
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at[:, None] - at
    return ~((back >= 0) & (back < window))


# %% wrong true-means-hidden: what to fill
def sliding_window_mask(seq_len, window):
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool)
    return ones.triu(1) | ones.tril(-window)


# %% wrong window-ignored: the causal mask
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril().bool()


# %% wrong window-ignored: or where both must hold
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at[:, None] - at
    return (back >= 0) & ((back < window) | (back >= 0))


# %% wrong only-far-tokens: the inner triangle
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril(-window).bool()


# %% wrong only-far-tokens: compared the other way round
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return (at <= at[:, None]) & (at[:, None] - at > window)


# %% wrong blocks-instead-of-window: equal quotients
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return (at[:, None] // window == at // window) & (at <= at[:, None])


# %% wrong blocks-instead-of-window: triangles in a row
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for start in range(0, seq_len, window):
        mask[start : start + window, start : start + window] = True
    return mask.tril()


# %% wrong window-stays-at-the-start: the first columns
def sliding_window_mask(seq_len, window):
    mask = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    mask[:, window:] = False
    return mask


# %% wrong window-stays-at-the-start: compared with the window only
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return (at < window) & (at <= at[:, None])


# %% wrong not-bool: floats
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril().triu(1 - window)


# %% wrong not-bool: to be added to scores
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    back = at[:, None] - at
    return torch.zeros(seq_len, seq_len).masked_fill((back < 0) | (back >= window), -math.inf)


# %% wrong mask-as-condition: a chain of comparisons
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return 0 <= at[:, None] - at < window


# %% wrong mask-as-condition: and between two masks
def sliding_window_mask(seq_len, window):
    back = torch.arange(seq_len)[:, None] - torch.arange(seq_len)
    return back >= 0 and back < window


# %% wrong -: a window of three, always
def sliding_window_mask(seq_len, window):
    return torch.ones(seq_len, seq_len).tril().triu(-2).bool()


# %% wrong -: every second token of the window
def sliding_window_mask(seq_len, window):
    back = torch.arange(seq_len)[:, None] - torch.arange(seq_len)
    return (back >= 0) & (back < window) & (back % 2 == 0)


# %% wrong wrong-shape: one row
def sliding_window_mask(seq_len, window):
    at = torch.arange(seq_len)
    return (at >= seq_len - window) & (at < seq_len)


# %% wrong returns-nothing: no return
def sliding_window_mask(seq_len, window):
    torch.ones(seq_len, seq_len).tril().triu(1 - window).bool()


# %% wrong wraps-around: a diagonal rolled
def sliding_window_mask(seq_len, window):
    itself = torch.eye(seq_len, dtype=torch.bool)
    return torch.stack([itself.roll(steps, 0) for steps in range(window)]).any(0)


# %% wrong wraps-around: an index below zero
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        for back in range(min(window, seq_len)):
            mask[i, i - back] = True
    return mask


# %% wrong slice-from-the-end: a slice that begins below zero
def sliding_window_mask(seq_len, window):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        mask[i, i - window + 1 : i + 1] = True
    return mask


# %% wrong slice-from-the-end: lists
def sliding_window_mask(seq_len, window):
    rows = []
    for i in range(seq_len):
        seen = list(range(seq_len))[i - (window - 1) : i + 1]
        rows.append([j in seen for j in range(seq_len)])
    return torch.tensor(rows)
