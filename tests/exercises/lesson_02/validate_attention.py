# %% right: isfinite, bounds, sums
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("weights must be finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("weights must lie within [0, 1]")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("the sum of each row must be one")


# %% right: allclose, isnan and isinf, min and max
def validate_attention(weights):
    if torch.isnan(weights).any() or torch.isinf(weights).any():
        raise ValueError("NOT FINITE")
    if weights.min() < -1e-4 or weights.max() > 1.0001:
        raise ValueError("Not Within bounds")
    sums = weights.sum(dim=-1)
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        raise ValueError("Sum of a row is off: " + str(sums))
    return None


# %% right: loops over rows and numbers, in plain Python
def validate_attention(weights):
    rows = weights.reshape(-1, weights.shape[-1]).tolist()
    for row in rows:
        if not all(math.isfinite(w) for w in row):
            raise ValueError(f"not finite: {row}")
    for row in rows:
        if any(not -1e-4 <= w <= 1 + 1e-4 for w in row):
            raise ValueError(f"not within [0, 1]: {row}")
    for row in rows:
        if not math.isclose(math.fsum(row), 1, rel_tol=0, abs_tol=1e-4):
            raise ValueError(f"sum is {math.fsum(row)}")


# %% right: an exception class of its own, NumPy, prints and warns
class BadWeights(ValueError):
    pass


def validate_attention(weights):
    a = weights.detach().numpy()
    print(a.shape)
    warnings.warn("validating")
    if not np.isfinite(a).all():
        raise BadWeights("finite")
    if ((a < -1e-4) | (a > 1 + 1e-4)).any():
        raise BadWeights("within")
    if not np.allclose(a.sum(-1), 1, rtol=0, atol=1e-4):
        raise BadWeights("sum")


# %% right: a table of rules
RULES = {
    "finite": lambda w: w.isfinite(),
    "within": lambda w: (w - w.clamp(0, 1)).abs() <= 1e-4,
    "sum": lambda w: (torch.einsum("...k->...", w.double()) - 1).abs() <= 1e-4,
}


def validate_attention(weights):
    for word, rule in RULES.items():
        if not bool(rule(weights).all()):
            raise ValueError(f"attention weights break the rule {word!r}")


# %% right: an object, comparing by distance
class Validator:
    def __init__(self, tolerance):
        self.tolerance = tolerance

    def __call__(self, weights):
        total = weights.sum(-1)
        if (weights - weights != 0).any():
            raise ValueError("there is an entry that is not finite")
        if (weights - 0.5).abs().max() > 0.5 + self.tolerance:
            raise ValueError("entries must stay within 0 and 1")
        if max(abs(total.max() - 1), abs(total.min() - 1)) > self.tolerance:
            raise ValueError("rows must sum to one within the tolerance")


validate_attention = Validator(1e-4)


# %% right: the message holds more than the word
def validate_attention(weights):
    problem = None
    if not weights.sum().isfinite():
        problem = "must be finite (so that within and sum can be tested at all)"
    elif torch.any(weights < -0.0001) or torch.any(weights > 1.0001):
        problem = "must be within 0 and 1; the sum is tested later"
    elif torch.any(torch.abs(torch.sum(weights, dim=-1) - 1) > 0.0001):
        problem = "must sum to one"
    if problem:
        raise ValueError("attention weights " + problem)


# %% wrong columns-instead-of-rows: dim -2
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-2) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong columns-instead-of-rows: dim 0
def validate_attention(weights):
    if not weights.isfinite().all():
        raise ValueError("must be finite")
    if weights.min() < -1e-4 or weights.max() > 1 + 1e-4:
        raise ValueError("must be within [0, 1]")
    if not torch.allclose(weights.sum(dim=0), torch.ones(weights.shape[1:], dtype=weights.dtype), atol=1e-4):
        raise ValueError("must sum to one")


# %% wrong columns-instead-of-rows: loop over columns
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    for j in range(weights.shape[-1]):
        if abs(float(weights[..., j].sum()) - 1) > 1e-4:
            raise ValueError(f"sum of row {j}")


# %% wrong exact-equality: sums
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if (weights.sum(-1) != 1).any():
        raise ValueError("sum")


# %% wrong exact-equality: torch.equal
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if weights.min() < -1e-4 or weights.max() > 1 + 1e-4:
        raise ValueError("within")
    sums = weights.sum(-1)
    if not torch.equal(sums, torch.ones_like(sums)):
        raise ValueError("sum")


# %% wrong exact-equality: row by row in Python
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    for row in weights.reshape(-1, weights.shape[-1]):
        if not row.sum().item() == 1.0:
            raise ValueError("sum")


# %% wrong exact-equality: the bounds only
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong exact-equality: sums and bounds
def validate_attention(weights):
    if not weights.isfinite().all():
        raise ValueError("finite")
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError("within")
    if any(s != 1 for s in weights.sum(-1).flatten().tolist()):
        raise ValueError("sum")


# %% wrong nan-passes: no test, only comparisons
def validate_attention(weights):
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong nan-passes: isinf only
def validate_attention(weights):
    if torch.isinf(weights).any():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong nan-passes: compared with NaN
def validate_attention(weights):
    if (weights == float("nan")).any() or (weights.abs() == math.inf).any():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong nan-passes: a large number stands for infinity
def validate_attention(weights):
    if (weights.abs() > 1e30).any():
        raise ValueError("finite")
    if weights.min() < -1e-4 or weights.max() > 1 + 1e-4:
        raise ValueError("within")
    if (torch.abs(1 - weights.sum(dim=-1)) > 1e-4).any():
        raise ValueError("sum")


# %% wrong nan-passes: isinf, then a sum test that NaN fails
def validate_attention(weights):
    if torch.isinf(weights).any():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if not torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1)), atol=1e-4):
        raise ValueError("sum")


# %% wrong infinity-passes: isnan only
def validate_attention(weights):
    if torch.isnan(weights).any():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong infinity-passes: unequal to itself
def validate_attention(weights):
    if (weights != weights).any():
        raise ValueError("must be finite")
    if not ((weights >= -1e-4) & (weights <= 1 + 1e-4)).all():
        raise ValueError("must be within [0, 1]")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("must sum to one")


# %% wrong finite-tested-too-late: sums first
def validate_attention(weights):
    if not ((weights.sum(-1) - 1).abs() <= 1e-4).all():
        raise ValueError("sum")
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")


# %% wrong finite-tested-too-late: bounds first
def validate_attention(weights):
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong finite-tested-too-late: row by row
def validate_attention(weights):
    for row in weights.reshape(-1, weights.shape[-1]):
        if not abs(float(row.sum()) - 1) <= 1e-4:
            raise ValueError("sum")
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")


# %% wrong negative-passes: upper bound only
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong negative-passes: no bounds
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("must be finite")
    sums = weights.sum(-1)
    if not torch.allclose(sums, torch.ones_like(sums), rtol=0, atol=1e-4):
        raise ValueError("must sum to one")


# %% wrong negative-passes: absolute values
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if weights.abs().max() > 1 + 1e-4:
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong tolerance-too-tight: allclose without a tolerance
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    sums = weights.sum(-1)
    if not torch.allclose(sums, torch.ones_like(sums)):
        raise ValueError("sum")


# %% wrong tolerance-too-tight: a millionth
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-6).any() or (weights > 1 + 1e-6).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-5).any():
        raise ValueError("sum")


# %% wrong wrong-type: True for sound weights
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")
    return True


# %% wrong wrong-type: the weights themselves
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")
    return weights


# %% wrong changes-argument: clamped in place at the end
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")
    weights.clamp_(0, 0.4)


# %% wrong changes-argument: one subtracted from the first column
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    weights[..., 0] -= 1
    if (weights.sum(-1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong raised: the truth of a tensor
def validate_attention(weights):
    if not torch.isfinite(weights):
        raise TypeError("finite")


# %% wrong raised: sys.exit
def validate_attention(weights):
    sys.exit(1)


# %% wrong name-not-defined: a name that is not there
def validate_attention(weights):
    if not isfinite(weights).all():
        raise ValueError("finite")


# %% wrong -: does nothing
def validate_attention(weights):
    return None


# %% wrong -: rejects everything
def validate_attention(weights):
    raise ValueError("finite, within, sum")


# %% wrong -: one message for all
def validate_attention(weights):
    ok = torch.isfinite(weights).all() and (weights > -1e-4).all() and (weights < 1 + 1e-4).all()
    if not ok or ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("weights must be finite, within [0, 1], and their rows must sum to one")


# %% wrong -: one message for all, with the weights
def validate_attention(weights):
    ok = torch.isfinite(weights).all() and (weights > -1e-4).all() and (weights < 1 + 1e-4).all()
    if not ok or ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError(f"weights must be finite, within [0, 1], and their rows must sum to one: {weights}")


# %% wrong -: AssertionError
def validate_attention(weights):
    assert torch.isfinite(weights).all(), "finite"
    assert (weights >= -1e-4).all() and (weights <= 1 + 1e-4).all(), "within"
    assert ((weights.sum(-1) - 1).abs() <= 1e-4).all(), "sum"


# %% wrong returned-not-raised: returns the error
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        return ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        return ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        return ValueError("sum")


# %% wrong printed-not-raised: prints instead
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        print("finite")
    elif (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        print("within")
    elif ((weights.sum(-1) - 1).abs() > 1e-4).any():
        print("sum")


# %% wrong -: tolerance too loose
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-2).any() or (weights > 1 + 1e-2).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-2).any():
        raise ValueError("sum")


# %% wrong first-row-only: only the first row
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if abs(float(weights.reshape(-1, weights.shape[-1])[0].sum()) - 1) > 1e-4:
        raise ValueError("sum")


# %% wrong -: only the first matrix of a batch
def validate_attention(weights):
    while weights.dim() > 2:
        weights = weights[0]
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong total-instead-of-rows: the total of all rows
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if abs(float(weights.sum(-1).mean()) - 1) > 1e-4:
        raise ValueError("sum")


# %% wrong two-axes-only: dim 1, which is the rows' for one matrix only
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(dim=1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong -: rows and columns both
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any() or ((weights.sum(-2) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong sum-before-within: sums before bounds
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")


# %% wrong -: the messages are exchanged
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("sum")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("within")


# %% wrong rule-not-named: no words
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError()
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("")


# %% wrong -: float32 only
def validate_attention(weights):
    if weights.dtype != torch.float32:
        raise ValueError("float32 expected")
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong -: strictly between the bounds
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights <= 0.0).any() or (weights >= 1.0).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong -: assert, three of them
def validate_attention(weights):
    assert torch.isfinite(weights).all(), "finite"
    assert ((weights >= -1e-4) & (weights <= 1 + 1e-4)).all(), "within"
    assert ((weights.sum(-1) - 1).abs() <= 1e-4).all(), "sum"


# %% wrong returned-not-raised: the words
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        return "finite"
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        return "within"
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        return "sum"


# %% wrong all-instead-of-any: in every rule
def validate_attention(weights):
    if (~torch.isfinite(weights)).all():
        raise ValueError("finite")
    if ((weights < -1e-4) | (weights > 1 + 1e-4)).all():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).all():
        raise ValueError("sum")


# %% wrong all-instead-of-any: in the rule of the sum
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if torch.all((weights.sum(-1) - 1).abs() > 1e-4):
        raise ValueError("sum")


# %% wrong total-instead-of-rows: compared with one
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if abs(weights.sum() - 1) > 1e-4:
        raise ValueError("sum")


# %% wrong first-row-only: weights[0]
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if abs(weights[0].sum() - 1) > 1e-4:
        raise ValueError("sum")


# %% wrong two-axes-only: rows in a Python loop
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    for row in weights:
        if abs(row.sum() - 1) > 1e-4:
            raise ValueError("sum")


# %% wrong sum-before-within: finite, sum, within
def validate_attention(weights):
    problem = None
    if ((weights < -1e-4) | (weights > 1 + 1e-4)).any():
        problem = "within"
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        problem = "sum"
    if not torch.isfinite(weights).all():
        problem = "finite"
    if problem:
        raise ValueError(problem)


# %% wrong finite-tested-too-late: the sum first of all, where a NaN passes
def validate_attention(weights):
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")
    if weights.isnan().any():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")


# %% wrong above-one-passes: negative ones only
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any():
        raise ValueError("within")
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError("sum")


# %% wrong above-one-passes: the minimum only
def validate_attention(weights):
    if not weights.isfinite().all():
        raise ValueError("not finite")
    if weights.min() < -0.0001:
        raise ValueError("not within [0, 1]")
    if not torch.allclose(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-4):
        raise ValueError("wrong sum")


# %% wrong small-sum-passes: no distance
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError("within")
    if (weights.sum(-1) - 1 > 1e-4).any():
        raise ValueError("sum")


# %% wrong small-sum-passes: the largest sum
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("finite")
    if weights.min() < -1e-4 or weights.max() > 1 + 1e-4:
        raise ValueError("within")
    if weights.sum(-1).max() > 1 + 1e-4:
        raise ValueError("sum")


# %% wrong finite-tested-too-late: entry by entry, row by row
def validate_attention(weights):
    for row in weights:
        for w in row:
            if math.isnan(w):
                raise ValueError("finite")
            if w < -1e-4 or w > 1 + 1e-4:
                raise ValueError("within")
        if abs(sum(row) - 1) > 1e-4:
            raise ValueError("sum")


# %% wrong -: tolerances ten times too wide
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError("not finite")
    if (weights < -1e-3).any() or (weights > 1 + 1e-3).any():
        raise ValueError("not within [0, 1]")
    if ((weights.sum(-1) - 1).abs() > 1e-3).any():
        raise ValueError("the sum is not one")


# %% wrong printed-not-raised: the word alone
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        print("finite")
    elif (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        print("within")
    elif ((weights.sum(-1) - 1).abs() > 1e-4).any():
        print("sum")


# %% wrong printed-not-raised: an exception made and printed
def validate_attention(weights):
    errors = []
    if not bool(torch.isfinite(weights).all()):
        errors.append(ValueError("not finite"))
    if bool((weights + 1e-4 < 0).any() or (weights - 1e-4 > 1).any()):
        errors.append(ValueError("not within [0, 1]"))
    if not torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1)), atol=1e-4, rtol=0):
        errors.append(ValueError("the sum is not 1"))
    for error in errors[:1]:
        print(error)


# %% wrong rule-not-named: no message
def validate_attention(weights):
    if not torch.isfinite(weights).all():
        raise ValueError
    if (weights < -1e-4).any() or (weights > 1 + 1e-4).any():
        raise ValueError
    if ((weights.sum(-1) - 1).abs() > 1e-4).any():
        raise ValueError


# %% wrong rule-not-named: one message for all
def validate_attention(weights):
    finite = torch.isfinite(weights).all()
    inside = ((weights > -1e-4) & (weights < 1.0001)).all()
    if not (finite and inside and ((weights.sum(-1) - 1).abs() < 1e-4).all()):
        raise ValueError("these are no attention weights")
