# %% right: the formula
def post_norm_residual(x, sublayer, norm):
    return norm(x + sublayer(x))


# %% right: in steps
def post_norm_residual(x, sublayer, norm):
    residual = x
    out = sublayer(x)
    total = out + residual
    return norm(total)


# %% wrong -: in place on what the sub-layer returned
def post_norm_residual(x, sublayer, norm):
    out = sublayer(x)
    out += x
    return norm(out)


# %% right: calls more often than it must
def post_norm_residual(x, sublayer, norm):
    norm(x)
    sublayer(norm(x))
    return norm(sum([x, sublayer(x)]))


# %% right: every sequence by itself
def post_norm_residual(x, sublayer, norm):
    if x.dim() > 2:
        return torch.stack([post_norm_residual(one, sublayer, norm) for one in x])
    return norm(torch.add(sublayer(x), x))


# %% wrong pre-norm-instead: the other formula
def post_norm_residual(x, sublayer, norm):
    return x + sublayer(norm(x))


# %% wrong pre-norm-instead: in steps
def post_norm_residual(x, sublayer, norm):
    y = norm(x)
    y = sublayer(y)
    return torch.add(x, y)


# %% wrong norm-before-addition: the parenthesis closes too early
def post_norm_residual(x, sublayer, norm):
    return norm(sublayer(x)) + x


# %% wrong norm-before-addition: the residual is normalised
def post_norm_residual(x, sublayer, norm):
    return norm(x) + sublayer(x)


# %% wrong norm-before-addition: both are
def post_norm_residual(x, sublayer, norm):
    out = norm(sublayer(x))
    x = norm(x)
    return x + out


# %% wrong residual-forgotten: the norm of the sub-layer's output
def post_norm_residual(x, sublayer, norm):
    return norm(sublayer(x))


# %% wrong residual-forgotten: overwritten
def post_norm_residual(x, sublayer, norm):
    x = sublayer(x)
    x = norm(x)
    return x


# %% wrong norm-forgotten: never called
def post_norm_residual(x, sublayer, norm):
    return x + sublayer(x)


# %% wrong norm-forgotten: called and thrown away
def post_norm_residual(x, sublayer, norm):
    out = x + sublayer(x)
    norm(out)
    return out


# %% wrong normalised-twice: pre and post
def post_norm_residual(x, sublayer, norm):
    return norm(x + sublayer(norm(x)))


# %% wrong normalised-twice: x overwritten by its norm
def post_norm_residual(x, sublayer, norm):
    x = norm(x)
    return norm(x + sublayer(x))


# %% wrong changes-argument: plus equals
def post_norm_residual(x, sublayer, norm):
    x += sublayer(x)
    return norm(x)


# %% wrong gradient-cut: data
def post_norm_residual(x, sublayer, norm):
    return norm(x.data + sublayer(x.data))


# %% wrong returns-nothing: printed
def post_norm_residual(x, sublayer, norm):
    print(norm(x + sublayer(x)))


# %% wrong raised: the sub-layer is not called
def post_norm_residual(x, sublayer, norm):
    return norm(x + sublayer)


# %% wrong own-norm: F.layer_norm of the sum
def post_norm_residual(x, sublayer, norm):
    return nn.functional.layer_norm(x + sublayer(x), x.shape[-1:])


# %% wrong -: the sub-layer of the sum
def post_norm_residual(x, sublayer, norm):
    return norm(sublayer(x + sublayer(x)))


# %% wrong -: multiplied
def post_norm_residual(x, sublayer, norm):
    return norm(x * sublayer(x))


# %% wrong -: twice the residual
def post_norm_residual(x, sublayer, norm):
    return norm(2 * x + sublayer(x))


# %% wrong added-after-norm: in one line
def post_norm_residual(x, sublayer, norm):
    return x + norm(x + sublayer(x))


# %% wrong added-after-norm: in steps
def post_norm_residual(x, sublayer, norm):
    y = norm(sublayer(x) + x)
    return y + x


# %% wrong sublayer-forgotten: x twice
def post_norm_residual(x, sublayer, norm):
    return norm(x + x)


# %% wrong sublayer-forgotten: the norm is added
def post_norm_residual(x, sublayer, norm):
    return x + norm(x)


# %% wrong added-before-sublayer: the norm of the sub-layer of the sum
def post_norm_residual(x, sublayer, norm):
    return norm(sublayer(x + norm(x)))


# %% wrong added-before-sublayer: in steps
def post_norm_residual(x, sublayer, norm):
    total = x + norm(x)
    return norm(sublayer(total))


# %% wrong normalised-twice: the sum of x's norm
def post_norm_residual(x, sublayer, norm):
    return norm(sublayer(x) + norm(x))


# %% wrong own-norm: nn.LayerNorm
def post_norm_residual(x, sublayer, norm):
    total = x + sublayer(x)
    return nn.LayerNorm(x.shape[-1], dtype=x.dtype)(total)
