# %% right: the formula
def pre_norm_residual(x, sublayer, norm):
    return x + sublayer(norm(x))


# %% right: in steps
def pre_norm_residual(x, sublayer, norm):
    residual = x
    x = norm(x)
    x = sublayer(x)
    return residual + x


# %% wrong -: added in place to what the sub-layer returned
def pre_norm_residual(x, sublayer, norm):
    out = sublayer(norm(x))
    out += x
    return out


# %% right: calls more often than it must, in another order
def pre_norm_residual(x, sublayer, norm):
    sublayer(x)
    shape = norm(x).shape
    once, again = sublayer(norm(x)), sublayer(norm(x))
    print(shape)
    return torch.stack([x, once / 2, again / 2]).sum(0)


# %% right: a module
class Block(nn.Module):
    def __init__(self, sublayer, norm):
        super().__init__()
        self.path = lambda x: sublayer(norm(x))

    def forward(self, x):
        return torch.add(self.path(x), x)


def pre_norm_residual(x, sublayer, norm):
    return Block(sublayer, norm)(x)


# %% right: token by token
def pre_norm_residual(x, sublayer, norm):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.stack([token + sublayer(norm(token)) for token in tokens]).reshape(x.shape)


# %% wrong residual-normalised: x overwritten
def pre_norm_residual(x, sublayer, norm):
    x = norm(x)
    return x + sublayer(x)


# %% wrong residual-normalised: norm called on both
def pre_norm_residual(x, sublayer, norm):
    return norm(x) + sublayer(norm(x))


# %% wrong residual-normalised: only the residual
def pre_norm_residual(x, sublayer, norm):
    return torch.add(norm(x), sublayer(x))


# %% wrong residual-forgotten: no addition
def pre_norm_residual(x, sublayer, norm):
    return sublayer(norm(x))


# %% wrong residual-forgotten: added to the wrong thing
def pre_norm_residual(x, sublayer, norm):
    out = norm(x)
    out = sublayer(out)
    return out


# %% wrong post-norm-instead: norm of the sum
def pre_norm_residual(x, sublayer, norm):
    return norm(x + sublayer(x))


# %% wrong post-norm-instead: in steps
def pre_norm_residual(x, sublayer, norm):
    y = x.clone()
    y = y + sublayer(y)
    y = norm(y)
    return y


# %% wrong norm-after-sublayer: the formula from the outside in
def pre_norm_residual(x, sublayer, norm):
    return x + norm(sublayer(x))


# %% wrong norm-after-sublayer: in steps
def pre_norm_residual(x, sublayer, norm):
    out = sublayer(x)
    return norm(out) + x


# %% wrong norm-forgotten: never called
def pre_norm_residual(x, sublayer, norm):
    return x + sublayer(x)


# %% wrong norm-forgotten: called and thrown away
def pre_norm_residual(x, sublayer, norm):
    norm(x)
    return torch.add(sublayer(x), x)


# %% wrong normalised-twice: before and after
def pre_norm_residual(x, sublayer, norm):
    return norm(x + sublayer(norm(x)))


# %% wrong normalised-twice: twice before
def pre_norm_residual(x, sublayer, norm):
    y = norm(x)
    return x + sublayer(norm(y))


# %% wrong changes-argument: plus equals
def pre_norm_residual(x, sublayer, norm):
    x += sublayer(norm(x))
    return x


# %% wrong gradient-cut: detached
def pre_norm_residual(x, sublayer, norm):
    return (x + sublayer(norm(x))).detach()


# %% wrong wrong-gradient: the branch without gradient
def pre_norm_residual(x, sublayer, norm):
    with torch.no_grad():
        out = sublayer(norm(x))
    return x + out


# %% wrong returns-nothing: no return
def pre_norm_residual(x, sublayer, norm):
    x + sublayer(norm(x))


# %% wrong wrong-type: returns a function
def pre_norm_residual(x, sublayer, norm):
    return lambda: x + sublayer(norm(x))


# %% wrong own-norm: by its long name
def pre_norm_residual(x, sublayer, norm):
    return x + sublayer(nn.functional.layer_norm(x, x.shape[-1:]))


# %% wrong -: the sub-layer twice
def pre_norm_residual(x, sublayer, norm):
    return x + sublayer(sublayer(norm(x)))


# %% wrong -: half of the residual
def pre_norm_residual(x, sublayer, norm):
    return 0.5 * x + sublayer(norm(x))


# %% wrong -: subtracted
def pre_norm_residual(x, sublayer, norm):
    return x - sublayer(norm(x))


# %% wrong output-added-to-itself: x overwritten
def pre_norm_residual(x, sublayer, norm):
    x = sublayer(norm(x))
    return x + x


# %% wrong output-added-to-itself: x overwritten, line by line
def pre_norm_residual(x, sublayer, norm):
    x = norm(x)
    x = sublayer(x)
    x = x + x
    return x


# %% wrong added-before-sublayer: the sum goes into the sub-layer
def pre_norm_residual(x, sublayer, norm):
    return sublayer(x + norm(x))


# %% wrong added-before-sublayer: in another order
def pre_norm_residual(x, sublayer, norm):
    return sublayer(norm(x) + x)


# %% wrong sublayer-forgotten: the norm is added
def pre_norm_residual(x, sublayer, norm):
    normal = norm(x)
    return normal + x


# %% wrong sublayer-forgotten: only the norm
def pre_norm_residual(x, sublayer, norm):
    return norm(x)


# %% wrong own-norm: F.layer_norm
def pre_norm_residual(x, sublayer, norm):
    return x + sublayer(F.layer_norm(x, x.shape[-1:]))


# %% wrong own-norm: nn.LayerNorm
def pre_norm_residual(x, sublayer, norm):
    norm = nn.LayerNorm(x.shape[-1], dtype=x.dtype)
    return sublayer(norm(x)) + x


# %% wrong residual-normalised: both are
def pre_norm_residual(x, sublayer, norm):
    return norm(x) + norm(sublayer(x))


# %% wrong normalised-twice: before the sub-layer and after it
def pre_norm_residual(x, sublayer, norm):
    return x + norm(sublayer(norm(x)))
