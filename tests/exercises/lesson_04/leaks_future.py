# %% prelude
import numpy as np
import torch


# %% right: each token in turn
def leaks_future(attention):
    x = torch.randn(6, 8)
    before = attention(x)
    for t in range(1, 6):
        changed = x.clone()
        changed[t] = torch.randn(8)
        if not torch.allclose(attention(changed)[:t], before[:t], atol=1e-6):
            return True
    return False


# %% right: everything from t on, in double precision
def leaks_future(attention):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(7, 5, dtype=torch.float64, generator=generator)
    y = torch.randn(7, 5, dtype=torch.float64, generator=generator)
    reference = attention(x)
    moved = False
    for t in range(1, 7):
        output = attention(torch.cat([x[:t], y[t:]]))
        moved = moved or bool((output[:t] - reference[:t]).abs().max() > 1e-9)
    return moved


# %% wrong exact-comparison: equal to the bit
def leaks_future(attention):
    x = torch.rand(9, 3)
    before = attention(x)
    for t in range(len(x) - 1):
        y = x.clone()
        y[t + 1] += 10
        if not torch.equal(attention(y)[: t + 1], before[: t + 1]):
            return True
    return False


# %% right: a 0-d tensor
def leaks_future(attention):
    x, moved = torch.randn(5, 4), torch.tensor(False)
    for t in range(1, 5):
        y = x.clone()
        y[t] = -y[t]
        moved = moved | ((attention(y) - attention(x))[:t].abs() > 1e-5).any()
    return moved


# %% right: every pair of positions
def leaks_future(attention):
    length, width = 8, 6
    x = torch.randn(length, width)
    before = attention(x)
    for later in range(length):
        for earlier in range(later):
            y = x.clone()
            y[later] = 1000.0
            if (attention(y)[earlier] - before[earlier]).abs().sum() > 1e-3:
                return True
    return False


# %% right: the same random numbers in every call
def leaks_future(attention):
    torch.manual_seed(1)
    x = torch.randn(7, 5)
    before = attention(x)
    for t in range(1, 7):
        y = x.clone()
        y[t:] = torch.randn(7 - t, 5)
        if not torch.allclose(attention(y)[:t], before[:t], atol=1e-6):
            return True
    return False


# %% wrong not-a-number-put-in: NaN spreads
def leaks_future(attention):
    for t in range(1, 6):
        x = torch.ones(6, 4)
        x[t:] = float("nan")
        if attention(x)[:t].isnan().any():
            return True
    return False


# %% wrong takes-tokens-away: shorter and longer
def leaks_future(attention):
    x = torch.randn(6, 5)
    whole = attention(x)
    return any(not torch.allclose(attention(x[:t]), whole[:t], atol=1e-4) for t in range(1, 6))


# %% right: many random trials, NumPy in between
def leaks_future(attention):
    for trial in range(10):
        length, width = int(torch.randint(3, 9, ())), int(torch.randint(1, 9, ()))
        x = np.random.default_rng(trial).standard_normal((length, width))
        base = attention(torch.tensor(x, dtype=torch.float32)).numpy()
        for t in range(1, length):
            y = x.copy()
            y[t] += 1.0
            moved = attention(torch.tensor(y, dtype=torch.float32)).numpy()
            if np.abs(moved - base)[:t].max() > 1e-5:
                return np.bool_(True)
    return np.bool_(False)


# %% right: tokens of zeros, changed to ones
def leaks_future(attention):
    x = torch.zeros(5, 3)
    base = attention(x)
    for t in range(1, 5):
        y = torch.zeros(5, 3)
        y[t:] = 1.0
        if not torch.allclose(attention(y)[:t], base[:t]):
            return True
    return False


# %% right: gradients
def leaks_future(attention):
    x = torch.randn(6, 4, requires_grad=True)
    output = attention(x)
    for t in range(5):
        (gradient,) = torch.autograd.grad(output[t].sum(), x, retain_graph=True)
        if gradient[t + 1 :].abs().max() > 1e-7:
            return True
    return False


# %% right: Jacobian
def leaks_future(attention):
    jacobian = torch.autograd.functional.jacobian(attention, torch.randn(6, 3))
    size = jacobian.abs().sum(dim=(1, 3))
    return bool((size.triu(diagonal=1) > 1e-6).any())


# %% right: backward of its own
def leaks_future(attention):
    for t in range(4):
        x = torch.randn(5, 3, dtype=torch.float64).requires_grad_(True)
        attention(x)[t].norm().backward()
        if x.grad[t + 1 :].any():
            return True
    return False


# %% wrong takes-tokens-away: one token more
def leaks_future(attention):
    x = torch.randn(8, 6)
    for t in range(2, 9):
        longer = attention(x[:t])[:-1]
        if not torch.allclose(longer, attention(x[: t - 1]), atol=1e-5):
            return True
    return False


# %% wrong checks-one-position-only: only the last token is changed
def leaks_future(attention):
    x = torch.randn(6, 4)
    y = x.clone()
    y[-1] = torch.randn(4)
    return not torch.allclose(attention(x)[:-1], attention(y)[:-1], atol=1e-6)


# %% wrong checks-one-position-only: only the first output is watched
def leaks_future(attention):
    x = torch.randn(6, 4)
    y = x.clone()
    y[1:] += 1.0
    return bool((attention(x)[0] - attention(y)[0]).abs().max() > 1e-6)


# %% wrong checks-one-position-only: only the first output and the last token
def leaks_future(attention):
    x = torch.ones(8, 4)
    y = x.clone()
    y[-1] = 5.0
    return not torch.equal(attention(x)[0], attention(y)[0])


# %% wrong checks-one-position-only: only the next token
def leaks_future(attention):
    x = torch.randn(7, 4)
    base = attention(x)
    for t in range(6):
        y = x.clone()
        y[t + 1] += 3.0
        if not torch.allclose(attention(y)[t], base[t], atol=1e-5):
            return True
    return False


# %% wrong checks-one-position-only: cut in the middle
def leaks_future(attention):
    x, half = torch.randn(10, 4), 5
    y = x.clone()
    y[half:] = 0
    return not torch.allclose(attention(x)[:half], attention(y)[:half], atol=1e-5)


# %% wrong checks-one-position-only: two tokens
def leaks_future(attention):
    x = torch.randn(2, 4)
    y = x.clone()
    y[1] += 1
    return not torch.allclose(attention(x)[0], attention(y)[0])


# %% wrong compares-shapes: of output and input
def leaks_future(attention):
    x = torch.randn(5, 4)
    return attention(x).shape != x.shape


# %% wrong compares-shapes: before and after
def leaks_future(attention):
    x = torch.randn(5, 4)
    y = x.clone()
    y[-1] += 1.0
    return attention(x).shape != attention(y).shape


# %% wrong compares-shapes: of shorter inputs
def leaks_future(attention):
    x = torch.randn(6, 4)
    for t in range(1, 6):
        if attention(x[:t]).shape != attention(x)[:t].shape:
            return True
    return False


# %% wrong compares-shapes: True where they agree
def leaks_future(attention):
    x = torch.randn(6, 4)
    return len(attention(x)) == len(x)


# %% wrong perturbs-the-past: the first token, last output
def leaks_future(attention):
    x = torch.randn(6, 4)
    y = x.clone()
    y[0] += 1.0
    return not torch.allclose(attention(x)[-1], attention(y)[-1])


# %% wrong perturbs-the-past: every token, later outputs
def leaks_future(attention):
    x = torch.randn(6, 4)
    base = attention(x)
    for t in range(5):
        y = x.clone()
        y[t] = torch.randn(4)
        if not torch.allclose(attention(y)[t + 1 :], base[t + 1 :], atol=1e-6):
            return True
    return False


# %% wrong perturbs-the-past: everything before, this output and later
def leaks_future(attention):
    x = torch.randn(6, 4)
    base = attention(x)
    for t in range(1, 6):
        y = torch.cat([torch.randn(t, 4), x[t:]])
        if (attention(y)[t:] - base[t:]).abs().max() > 1e-6:
            return True
    return False


# %% wrong later-outputs-counted: all outputs
def leaks_future(attention):
    x = torch.randn(6, 4)
    y = x.clone()
    y[3:] += 1.0
    return not torch.allclose(attention(x), attention(y))


# %% wrong later-outputs-counted: one row too many
def leaks_future(attention):
    x = torch.randn(6, 4)
    base = attention(x)
    for t in range(1, 6):
        y = x.clone()
        y[t] = torch.randn(4)
        if not torch.allclose(attention(y)[: t + 1], base[: t + 1], atol=1e-6):
            return True
    return False


# %% wrong changes-nothing: a second name
def leaks_future(attention):
    x = torch.randn(6, 4)
    for t in range(1, 6):
        y = x
        y[t] += 1.0
        if not torch.allclose(attention(x)[:t], attention(y)[:t]):
            return True
    return False


# %% wrong changes-nothing: a result that is dropped
def leaks_future(attention):
    x = torch.randn(6, 4)
    y = x.clone()
    for t in range(1, 6):
        torch.add(y[t], 1.0)
        if not torch.allclose(attention(x)[:t], attention(y)[:t]):
            return True
    return False


# %% wrong verdict-inverted: all equal
def leaks_future(attention):
    x = torch.randn(6, 4)
    same = []
    for t in range(1, 6):
        y = x.clone()
        y[t] = torch.randn(4)
        same.append(torch.allclose(attention(x)[:t], attention(y)[:t], atol=1e-6))
    return all(same)


# %% wrong verdict-inverted: returns swapped
def leaks_future(attention):
    x = torch.randn(6, 4)
    for t in range(1, 6):
        y = x.clone()
        y[t] = torch.randn(4)
        if not torch.allclose(attention(x)[:t], attention(y)[:t], atol=1e-6):
            return False
    return True


# %% wrong returns-nothing: no return at the end
def leaks_future(attention):
    x = torch.randn(6, 4)
    for t in range(1, 6):
        y = x.clone()
        y[t] = torch.randn(4)
        if not torch.allclose(attention(x)[:t], attention(y)[:t], atol=1e-6):
            return True


# %% wrong wrong-type: a count
def leaks_future(attention):
    x = torch.randn(6, 4)
    leaks = 0
    for t in range(1, 6):
        y = x.clone()
        y[t] = torch.randn(4)
        leaks += not torch.allclose(attention(x)[:t], attention(y)[:t], atol=1e-6)
    return leaks


# %% wrong raised: shapes mixed up
def leaks_future(attention):
    x = torch.randn(6, 4)
    return torch.allclose(attention(x)[:3], attention(x)[:2])


# %% wrong time-limit: never ends
def leaks_future(attention):
    while True:
        pass


# %% wrong never-calls: always True
def leaks_future(attention):
    return True


# %% wrong -: always False, after calls
def leaks_future(attention):
    attention(torch.randn(4, 4))
    attention(torch.randn(4, 4))
    return False


# %% wrong never-calls: counts its calls
calls = 0


def leaks_future(attention):
    global calls
    calls += 1
    return calls > 6


# %% wrong -: integers passed
def leaks_future(attention):
    x = torch.arange(12).reshape(3, 4)
    y = x.clone()
    y[-1] = 0
    return not torch.equal(attention(x)[:-1], attention(y)[:-1])


# %% wrong -: too coarse a tolerance
def leaks_future(attention):
    x = torch.randn(6, 4)
    base = attention(x)
    for t in range(1, 6):
        y = x.clone()
        y[t] += 1.0
        if not torch.allclose(attention(y)[:t], base[:t], atol=0.5):
            return True
    return False


# %% wrong -: later tokens only change places
def leaks_future(attention):
    x = torch.randn(6, 4)
    base = attention(x)
    for t in range(1, 5):
        y = torch.cat([x[:t], x[t:].flip(0)])
        if not torch.allclose(attention(y)[:t], base[:t], atol=1e-6):
            return True
    return False


# %% wrong -: says yes to a NaN only
def leaks_future(attention):
    return bool(attention(torch.randn(5, 5)).isnan().any())


# %% wrong -: huge input
def leaks_future(attention):
    x = torch.randn(5000, 64)
    return not torch.allclose(attention(x)[:100], attention(torch.cat([x[:100], -x[100:]]))[:100])


# %% wrong never-calls: the inputs compared
def leaks_future(attention):
    x = torch.randn(5, 4)
    y = x.clone()
    y[-1] += 1
    return not torch.allclose(x[:-1], y[:-1])


# %% wrong changes-too-little: a millionth
def leaks_future(attention):
    x = torch.randn(5, 4)
    before = attention(x)
    for t in range(1, 5):
        y = x.clone()
        y[t] += 1e-6
        if not torch.allclose(attention(y)[:t], before[:t], atol=1e-4):
            return True
    return False


# %% wrong changes-too-little: an epsilon
def leaks_future(attention):
    eps, x = 1e-5, torch.rand(6, 3)
    for t in range(1, 6):
        bump = torch.zeros(6, 3)
        bump[t] = eps
        moved = (attention(x + bump) - attention(x))[:t].abs().max()
        if moved > 1e-3:
            return True
    return False


# %% wrong changes-pile-up: one copy for all rounds
def leaks_future(attention):
    x = torch.randn(5, 4)
    before = attention(x)
    changed = x.clone()
    for t in range(1, 5):
        changed[t] += 1
        if not torch.allclose(attention(changed)[:t], before[:t]):
            return True
    return False


# %% wrong changes-pile-up: a second name
def leaks_future(attention):
    x = torch.randn(5, 4)
    before = attention(x)
    for t in range(1, 5):
        y = x
        y[t] += 1
        if not torch.allclose(attention(y)[:t], before[:t]):
            return True
    return False


# %% wrong checks-one-position-only: all must move
def leaks_future(attention):
    x = torch.randn(5, 4)
    before = attention(x)
    for t in range(1, 5):
        y = x.clone()
        y[t] += 1
        if (attention(y)[:t] != before[:t]).all():
            return True
    return False


# %% wrong checks-one-position-only: a return in the first round
def leaks_future(attention):
    x = torch.randn(5, 4)
    for t in range(1, 5):
        y = x.clone()
        y[t] += 1
        if (attention(x)[:t] != attention(y)[:t]).any():
            return True
        return False


# %% wrong verdict-inverted: equal means leak
def leaks_future(attention):
    x = torch.randn(5, 4)
    before = attention(x)
    for t in range(1, 5):
        y = x.clone()
        y[t] += 1
        if torch.allclose(attention(y)[:t], before[:t]):
            return True
    return False


# %% wrong exact-comparison: unequal anywhere
def leaks_future(attention):
    x = torch.randn(6, 8)
    before = attention(x)
    for t in range(1, 6):
        changed = x.clone()
        changed[t] = torch.randn(8)
        if (attention(changed)[:t] != before[:t]).any():
            return True
    return False


# %% wrong too-few-tokens: four
def leaks_future(attention):
    x = torch.randn(4, 8)
    before = attention(x)
    for t in range(1, 4):
        changed = x.clone()
        changed[t] += 1.0
        if not torch.allclose(attention(changed)[:t], before[:t], atol=1e-6):
            return True
    return False


# %% wrong too-few-tokens: three, in double precision
def leaks_future(attention):
    x = torch.randn(3, 5, dtype=torch.float64)
    for later in (1, 2):
        y = x.clone()
        y[later] = -2 * x[later]
        moved = (attention(y) - attention(x))[:later].abs().max()
        if moved > 1e-9:
            return True
    return False


# %% wrong checks-one-position-only: never looks more than three places ahead
def leaks_future(attention):
    x = torch.randn(9, 4)
    before = attention(x)
    for t in range(1, 9):
        y = x.clone()
        y[t] += 1.0
        if not torch.allclose(attention(y)[max(t - 3, 0) : t], before[max(t - 3, 0) : t], atol=1e-5):
            return True
    return False


# %% right: the Jacobian
def leaks_future(attention):
    x = torch.randn(9, 4)
    J = torch.autograd.functional.jacobian(attention, x)
    t = torch.arange(9)
    return bool((J.abs().amax((1, 3)) * (t[None, :] > t[:, None])).max() > 1e-7)


# %% wrong takes-tokens-away: shorter texts
def leaks_future(attention):
    x = torch.randn(12, 8, dtype=torch.double)
    full = attention(x)
    return any(not torch.allclose(attention(x[:t]), full[:t]) for t in range(1, 12))


# %% wrong checks-one-position-only: zeros changed from the middle on
def leaks_future(attention):
    x = torch.zeros(9, 4)
    y = x.clone()
    y[5:] = 1
    return not torch.allclose(attention(x)[:5], attention(y)[:5], atol=1e-5)


# %% wrong not-a-number-put-in: infinity, and an exact comparison of what is left
def leaks_future(attention):
    x = torch.randn(8, 4)
    before = attention(x)
    for t in range(1, 8):
        y = x.clone()
        y[t, 0] = float("inf")
        if not torch.allclose(attention(y)[:t], before[:t], atol=1e-5):
            return True
    return False


# %% wrong -: only the mean of the earlier outputs is compared
def leaks_future(attention):
    x = torch.randn(7, 4)
    before = attention(x)
    for t in range(1, 7):
        y = x.clone()
        y[t] += 1
        if (attention(y)[:t].mean() - before[:t].mean()).abs() > 1e-5:
            return True
    return False


# %% right: huge numbers
def leaks_future(attention):
    x = torch.randn(8, 4, dtype=torch.float64)
    before = attention(x)
    for t in range(1, 8):
        y = x.clone()
        y[t] = 1e30
        if not torch.allclose(attention(y)[:t], before[:t], atol=1e-6):
            return True
    return False


# %% right: the gradient of each output's sum
def leaks_future(attention):
    x = torch.randn(7, 5, requires_grad=True)
    for t in range(6):
        x.grad = None
        attention(x)[t].sum().backward()
        if x.grad[t + 1 :].any():
            return True
    return False


# %% wrong -: the changed input is never compared
def leaks_future(attention):
    x = torch.randn(6, 4)
    before, again = attention(x), attention(x)
    x[3] += 1
    attention(x)
    return not torch.allclose(before, again)
