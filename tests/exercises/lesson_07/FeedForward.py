# %% prelude
class Net(nn.Module):
    """A right one: most cells below change `forward`."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


# %% right: the book's way
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


# %% right: a module for the activation, and dropout of nothing
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(0.0)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        out = self.linear1(x)
        out = self.relu(out)
        out = self.drop(out)
        return self.linear2(out)


# %% right: a Sequential that is made first, whose layers get names of their own
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.linear1 = self.net[0]
        self.linear2 = self.net[2]

    def forward(self, x):
        return self.net(x)


# %% right: a Sequential with names
class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.add_module("linear1", nn.Linear(d_model, d_ff))
        self.add_module("relu", nn.ReLU())
        self.add_module("linear2", nn.Linear(d_ff, d_model))


# %% right: matrices by hand, clamp, token by token
class FeedForward(Net):
    def forward(self, x):
        tokens = []
        for t in range(x.shape[1]):
            inner = (x[:, t] @ self.linear1.weight.T + self.linear1.bias).clamp(min=0)
            tokens.append(torch.einsum("of,bf->bo", self.linear2.weight, inner) + self.linear2.bias)
        return torch.stack(tokens, dim=1)


# %% right: where, and a relu in place
class FeedForward(Net):
    def forward(self, x):
        hidden = self.linear1(x)
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return self.linear2(hidden.relu_())


# %% wrong no-activation: nothing between
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(self.linear1(x))


# %% wrong no-activation: the result of relu is lost
class FeedForward(Net):
    def forward(self, x):
        hidden = self.linear1(x)
        hidden.relu()
        return self.linear2(hidden)


# %% wrong no-activation: a Sequential of two layers
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return nn.Sequential(self.linear1, nn.Identity(), self.linear2)(x)


# %% wrong activation-at-the-end: behind the second layer
class FeedForward(Net):
    def forward(self, x):
        return F.relu(self.linear2(self.linear1(x)))


# %% wrong activation-at-the-end: behind both
class FeedForward(Net):
    def forward(self, x):
        for layer in (self.linear1, self.linear2):
            x = torch.relu(layer(x))
        return x


# %% wrong activation-at-the-end: clamped
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(self.linear1(x)).clamp_min(0)


# %% wrong another-activation: GELU, as newer models have it
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(F.gelu(self.linear1(x)))


# %% wrong another-activation: a sigmoid
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(self.linear1(x).sigmoid())


# %% wrong residual-inside: x is added here already
class FeedForward(Net):
    def forward(self, x):
        return x + super().forward(x)


# %% wrong residual-inside: added to the result, which has no activation either
class FeedForward(Net):
    def forward(self, x):
        out = self.linear2(self.linear1(x))
        return out + x


# %% wrong relu-in-front: in front of both
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(self.linear1(F.relu(x)))


# %% wrong another-activation: the absolute value
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(self.linear1(x).abs())


# %% wrong -: the first layer's bias is left out
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(F.relu(F.linear(x, self.linear1.weight)))


# %% wrong misbuilt: the layers have other names
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


# %% wrong misbuilt: both layers as wide as the model
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_model)
        self.linear2 = nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


# %% wrong misbuilt: layers without biases
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=False)
        self.linear2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


# %% wrong returns-nothing: forward ends without return
class FeedForward(Net):
    def forward(self, x):
        x = super().forward(x)


# %% wrong wrong-type: the hidden layer comes along
class FeedForward(Net):
    def forward(self, x):
        hidden = F.relu(self.linear1(x))
        return self.linear2(hidden), hidden


# %% wrong gradient-cut: detached
class FeedForward(Net):
    def forward(self, x):
        return super().forward(x).detach()


# %% wrong changes-argument: ReLU in place on the input's copy that isn't one
class FeedForward(Net):
    def forward(self, x):
        out = super().forward(x)
        x.relu_()
        return out


# %% wrong excluded-function: PyTorch's encoder layer does it
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, 1, d_ff, 0.0, batch_first=True)
        self.linear1, self.linear2 = self.layer.linear1, self.layer.linear2

    def forward(self, x):
        self.layer(x)
        return self.layer._ff_block(x)


# %% wrong excluded-function: a subclass of PyTorch's
class FeedForward(nn.TransformerEncoderLayer):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, 1, d_ff, 0.0, batch_first=True)

    def forward(self, x):
        return self._ff_block(x)


# %% wrong layers-in-wrong-order: the second layer first
class FeedForward(Net):
    def forward(self, x):
        return self.linear1(F.relu(self.linear2(x)))


# %% wrong dtype-changed: float32 whatever comes in
class FeedForward(Net):
    def forward(self, x):
        return super().forward(x).float()


# %% wrong another-activation: a ReLU that ends at 6
class FeedForward(Net):
    def forward(self, x):
        return self.linear2(F.relu6(self.linear1(x)))


# %% wrong norm-inside: the result
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return F.layer_norm(self.linear2(F.relu(self.linear1(x))), x.shape[-1:])


# %% wrong norm-inside: what comes in
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:])
        return self.linear2(F.relu(self.linear1(x)))


# %% wrong norm-inside: the whole of step 14
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        y = x + self.linear2(F.relu(self.linear1(x)))
        return F.layer_norm(y, y.shape[-1:])


# %% wrong relu-in-front: line by line
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        x = x.relu()
        x = self.linear1(x)
        return self.linear2(x)


# %% wrong second-layer-forgotten: with ReLU
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return F.relu(self.linear1(x))


# %% wrong second-layer-forgotten: the first layer alone
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = self.linear1(x)
        return hidden


# %% wrong layers-in-wrong-order: the second one first
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear1(F.relu(self.linear2(x)))


# %% wrong layers-in-wrong-order: the first one twice
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear1(F.relu(self.linear1(x)))


# %% wrong relu-not-made: called with the tensor
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(nn.ReLU(self.linear1(x)))


# %% wrong relu-not-made: made, but not called
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = self.linear1(x)
        hidden = nn.ReLU(inplace=hidden)
        return self.linear2(hidden)


# %% wrong another-activation: a leaky ReLU
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.leaky_relu(self.linear1(x), 0.1))


# %% right: clamp
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))
