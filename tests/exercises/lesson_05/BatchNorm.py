# %% prelude
def make(name, bases=(nn.Module,), stats="buffers", **members):
    """A BatchNorm whose constructor is the usual one: the samples below differ in `forward`."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        nn.Module.__init__(self)
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    return type(name, bases, {"__init__": __init__, **members})


# %% right: by hand, with no_grad
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        if self.training:
            mean = x.mean(dim=0)
            var = x.var(dim=0, correction=0)
            with torch.no_grad():
                self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
                self.running_var = (1 - self.momentum) * self.running_var + self.momentum * x.var(dim=0)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


# %% right: F.batch_norm, which is allowed
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )


# %% right: in place on the buffers, detached, a counter more
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.empty(num_features))
        self.bias = nn.Parameter(torch.empty(num_features))
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x):
        if not self.training:
            return self.normalise(x, self.running_mean, self.running_var)
        rows = x.shape[0]
        mean = x.mean(0)
        var = (x - mean).square().mean(0)
        self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean.detach())
        self.running_var.lerp_(var.detach() * rows / (rows - 1), self.momentum)
        self.num_batches_tracked += 1
        return self.normalise(x, mean, var)

    def normalise(self, x, mean, var):
        return self.weight * (x - mean) * torch.rsqrt(var + self.eps) + self.bias


# %% right: statistics updated after the result, by copy_
def forward(self, x):
    if self.training:
        var, mean = torch.var_mean(x, 0, correction=0, keepdim=True)
    else:
        mean, var = self.running_mean[None], self.running_var[None]
    y = (x - mean) / (var + self.eps) ** 0.5
    if self.training:
        n = len(x)
        self.running_mean.data.copy_(self.running_mean + self.momentum * (mean[0].data - self.running_mean))
        self.running_var.data.copy_(self.running_var + self.momentum * (var[0].data * n / (n - 1) - self.running_var))
    return torch.addcmul(self.bias, y, self.weight)


BatchNorm = make("BatchNorm", forward=forward)


# %% right: its own batch_norm in train mode
def batch_norm(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * gamma + beta


def forward(self, x):
    print("batch of", len(x))
    if self.training:
        with torch.no_grad():
            self.running_mean += self.momentum * (x.mean(0) - self.running_mean)
            self.running_var += self.momentum * (x.var(0) - self.running_var)
        return batch_norm(x, self.weight, self.bias, self.eps)
    scale = self.weight / (self.running_var + self.eps).sqrt()
    return x * scale + (self.bias - self.running_mean * scale)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong momentum-swapped: the old one counts 0.1
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        with torch.no_grad():
            self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mean
            self.running_var = self.momentum * self.running_var + (1 - self.momentum) * x.var(0)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong momentum-swapped: handed to F.batch_norm
def forward(self, x):
    stats = self.running_mean, self.running_var
    return F.batch_norm(x, *stats, self.weight, self.bias, self.training, 1 - self.momentum, self.eps)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong momentum-swapped: lerp the wrong way, and the biased variance
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        self.running_mean = torch.lerp(mean.detach(), self.running_mean, self.momentum)
        self.running_var = torch.lerp(var.detach(), self.running_var, self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-var-biased: one variance for both
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        with torch.no_grad():
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-var-biased: in place, by squares
def forward(self, x):
    if self.training:
        mean = x.mean(0)
        var = ((x - mean) ** 2).mean(0)
        self.running_mean.mul_(1 - self.momentum).add_(mean.detach(), alpha=self.momentum)
        self.running_var.mul_(1 - self.momentum).add_(var.detach(), alpha=self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eval-uses-batch-statistics: the mode is not asked for the result
def forward(self, x):
    mean, var = x.mean(0), x.var(0, correction=0)
    if self.training:
        with torch.no_grad():
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * x.var(0)
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eval-uses-batch-statistics: True handed to F.batch_norm
def forward(self, x):
    return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum, self.eps)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eval-uses-batch-statistics: the statistics are kept for nothing
def forward(self, x):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-stats-not-updated: only read
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-stats-not-updated: local names
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        running_mean = (1 - self.momentum) * mean + self.momentum * x.mean(0)
        running_var = (1 - self.momentum) * var + self.momentum * x.var(0)
        mean, var = x.mean(0), x.var(0, unbiased=False)
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-stats-not-updated: the variance only is left
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean.detach()
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-stats-updated-in-eval: updated first, whatever the mode
def forward(self, x):
    with torch.no_grad():
        self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * x.mean(0)
        self.running_var = (1 - self.momentum) * self.running_var + self.momentum * x.var(0)
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong running-stats-updated-in-eval: updated last, whatever the mode
def forward(self, x):
    mean, var = (x.mean(0), x.var(0, correction=0)) if self.training else (self.running_mean, self.running_var)
    y = (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias
    self.running_mean = self.running_mean.lerp(x.mean(0).detach(), self.momentum)
    self.running_var = self.running_var.lerp(x.var(0).detach(), self.momentum)
    return y


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong stats-are-parameters: nn.Parameter for all four
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.running_mean = nn.Parameter(torch.zeros(num_features))
        self.running_var = nn.Parameter(torch.ones(num_features))

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            with torch.no_grad():
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.running_var.mul_(1 - self.momentum).add_(self.momentum * x.var(0))
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


# %% wrong stats-are-parameters: without gradient, by data
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.running_mean = nn.Parameter(torch.zeros(num_features), requires_grad=False)
        self.running_var = nn.Parameter(torch.ones(num_features), requires_grad=False)

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            self.running_mean.data = torch.lerp(self.running_mean.data, mean.data, self.momentum)
            self.running_var.data = torch.lerp(self.running_var.data, x.var(0).data, self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


# %% wrong stats-are-parameters: changed in place, which raises
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.running_mean = nn.Parameter(torch.zeros(num_features))
        self.running_var = nn.Parameter(torch.ones(num_features))

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            self.running_mean *= 1 - self.momentum
            self.running_mean += self.momentum * mean
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


# %% wrong stats-not-registered: plain attributes
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.running_mean = torch.zeros(num_features)
        self.running_var = torch.ones(num_features)

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
            self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


# %% wrong stats-not-registered: under other names
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("var", torch.ones(num_features))

    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, self.weight, self.bias, self.training, self.momentum, self.eps)


# %% wrong momentum-ignored: 0.1 for ever
def forward(self, x):
    return F.batch_norm(
        x, self.running_mean, self.running_var, self.weight, self.bias, training=self.training, eps=self.eps
    )


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong momentum-ignored: written as 0.9 and 0.1
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        with torch.no_grad():
            self.running_mean = 0.9 * self.running_mean + 0.1 * mean
            self.running_var = 0.9 * self.running_var + 0.1 * x.var(0)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong train-uses-running-statistics: updated, then used in both modes
def forward(self, x):
    if self.training:
        with torch.no_grad():
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * x.mean(0)
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * x.var(0)
    return (x - self.running_mean) / torch.sqrt(self.running_var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong train-uses-running-statistics: used, then updated
def forward(self, x):
    y = (x - self.running_mean) / torch.sqrt(self.running_var + self.eps) * self.weight + self.bias
    if self.training:
        self.running_mean = torch.lerp(self.running_mean, x.mean(0).detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return y


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong unbiased-variance: one variance for both, the other one
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0)
        with torch.no_grad():
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong unbiased-variance: var_mean as it comes
def forward(self, x):
    if self.training:
        var, mean = torch.var_mean(x, dim=0)
        self.running_mean.lerp_(mean.detach(), self.momentum)
        self.running_var.lerp_(var.detach(), self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return self.weight * (x - mean) * (var + self.eps).rsqrt() + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong no-affine: neither
def forward(self, x):
    stats = self.running_mean, self.running_var
    return F.batch_norm(x, *stats, None, None, self.training, self.momentum, self.eps)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong no-affine: bias forgotten
def forward(self, x):
    stats = self.running_mean, self.running_var
    return F.batch_norm(x, *stats, self.weight, None, self.training, self.momentum, self.eps)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eps-outside-root: std plus eps
def forward(self, x):
    if self.training:
        mean, std = x.mean(0), x.std(0, correction=0)
        self.running_mean.lerp_(mean.detach(), self.momentum)
        self.running_var.lerp_(x.var(0).detach(), self.momentum)
    else:
        mean, std = self.running_mean, self.running_var.sqrt()
    return (x - mean) / (std + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eps-outside-root: root by hand
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return (x - mean) / (var**0.5 + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eps-ignored: its own number
def forward(self, x):
    stats = self.running_mean, self.running_var
    return F.batch_norm(x, *stats, self.weight, self.bias, self.training, self.momentum)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong eps-ignored: none
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return (x - mean) / var.sqrt() * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong wrong-axis: rows in train mode
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(1, keepdim=True), x.var(1, correction=0, keepdim=True)
        self.running_mean = torch.lerp(self.running_mean, x.mean(0).detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong wrong-axis: F.layer_norm in train mode
def forward(self, x):
    if self.training:
        self.running_mean = torch.lerp(self.running_mean, x.mean(0).detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
    return (x - self.running_mean) / (self.running_var + self.eps).sqrt() * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong cancellation: mean of squares minus square of mean
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        n = len(x)
        mean = x.mean(0)
        var = (x * x).mean(0) - mean**2
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, (var * n / (n - 1)).detach(), self.momentum)
    return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong cancellation: kept from going below zero
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean = x.mean(0)
        var = torch.relu(x.square().mean(0) - mean.square())
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return (x - mean) * (var + self.eps).rsqrt() * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong excluded-function: nn.BatchNorm1d inside
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.inner = nn.BatchNorm1d(num_features, eps, momentum)
        self.weight, self.bias = self.inner.weight, self.inner.bias
        self.register_buffer("running_mean", self.inner.running_mean)
        self.register_buffer("running_var", self.inner.running_var)

    def forward(self, x):
        return self.inner(x)


# %% wrong excluded-function: a subclass
class BatchNorm(nn.BatchNorm1d):
    pass


# %% wrong excluded-function: the module's forward called past its hooks
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.inner = nn.BatchNorm1d(num_features, eps, momentum)
        self.weight, self.bias = self.inner.weight, self.inner.bias
        self.register_buffer("running_mean", self.inner.running_mean)
        self.register_buffer("running_var", self.inner.running_var)

    def forward(self, x):
        return self.inner.forward(x)


# %% wrong excluded-function: another module's method
def forward(self, x):
    self.num_features, self.track_running_stats, self.num_batches_tracked = self.weight.numel(), True, None
    self._check_input_dim = lambda x: None
    return getattr(nn, "Batch" + "Norm2d").forward(self, x)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong excluded-function: a functional call
def forward(self, x):
    other = nn.SyncBatchNorm(x.shape[1], self.eps, self.momentum).to(x.dtype).train(self.training)
    names = ("weight", "bias", "running_mean", "running_var")
    return torch.func.functional_call(other, {name: getattr(self, name) for name in names}, (x,))


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong excluded-function: traced by torch.jit
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.inner = nn.BatchNorm1d(num_features, eps, momentum)
        self.weight, self.bias = self.inner.weight, self.inner.bias
        self.register_buffer("running_mean", self.inner.running_mean)
        self.register_buffer("running_var", self.inner.running_var)

    def forward(self, x):
        traced = torch.jit.trace(self.inner, x, check_trace=False)
        return traced(x)


# %% wrong misbuilt: gamma and beta
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        stats = self.running_mean, self.running_var
        return F.batch_norm(x, *stats, self.gamma, self.beta, self.training, self.momentum, self.eps)


# %% wrong misbuilt: buffers of the wrong shape
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, num_features))
        self.bias = nn.Parameter(torch.zeros(1, num_features))
        self.register_buffer("running_mean", torch.zeros(1, num_features))
        self.register_buffer("running_var", torch.ones(1, num_features))

    def forward(self, x):
        return x


# %% wrong misbuilt: no module
class BatchNorm:
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        self.weight = torch.ones(num_features)


# %% wrong returns-nothing: no return
def forward(self, x):
    F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong changes-argument: minus equals
def forward(self, x):
    y = F.batch_norm(
        x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
    )
    x -= 1
    return y


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong wrong-gradient: everything under no_grad but the affine map
def forward(self, x):
    with torch.no_grad():
        y = F.batch_norm(x, self.running_mean, self.running_var, None, None, self.training, self.momentum, self.eps)
    return y * self.weight + self.bias + 0 * x


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong raised: buffers that don't exist
def forward(self, x):
    return (x - self.mean) / self.std


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong -: a running standard deviation
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, correction=0)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.std(0).detach(), self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong last-batch-only: overwritten
def forward(self, x):
    if self.training:
        self.running_mean, self.running_var = x.mean(0).detach(), x.var(0).detach()
        mean, var = x.mean(0), x.var(0, correction=0)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong -: variance starts at zero
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.zeros(num_features))

    def forward(self, x):
        stats = self.running_mean, self.running_var
        return F.batch_norm(x, *stats, self.weight, self.bias, self.training, self.momentum, self.eps)


# %% wrong -: weight and bias as buffers
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        stats = self.running_mean, self.running_var
        return F.batch_norm(x, *stats, self.weight, self.bias, self.training, self.momentum, self.eps)


# %% wrong average-of-all-batches: a plain average over all batches
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.count = eps, 0
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        self.count += self.training
        stats = self.running_mean, self.running_var
        share = 1 / max(self.count, 1)
        return F.batch_norm(x, *stats, self.weight, self.bias, self.training, share, self.eps)


# %% wrong -: only the affine map
def forward(self, x):
    return self.weight * x + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong last-batch-only: momentum is not used at all
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = mean.detach()
        self.running_var = x.var(0).detach()
    return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong shares-not-one: the old ones keep their full share
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean += self.momentum * mean.detach()
        self.running_var += self.momentum * x.var(0).detach()
    return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong shares-not-one: the parentheses forgotten
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = 1 - self.momentum * self.running_mean + self.momentum * mean.detach()
        self.running_var = 1 - self.momentum * self.running_var + self.momentum * x.var(0).detach()
    return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong modes-swapped: not in front of training
def forward(self, x):
    if not self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong modes-swapped: told to F.batch_norm
def forward(self, x):
    return F.batch_norm(
        x,
        self.running_mean,
        self.running_var,
        self.weight,
        self.bias,
        training=not self.training,
        momentum=self.momentum,
        eps=self.eps,
    )


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong beta-scaled: one parenthesis too many
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return self.weight * ((x - mean) / torch.sqrt(var + self.eps) + self.bias)


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong beta-scaled: by F.batch_norm without them
def forward(self, x):
    normal = F.batch_norm(x, self.running_mean, self.running_var, None, None, self.training, self.momentum, self.eps)
    return (normal + self.bias) * self.weight


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong mean-alone-divided: without parentheses
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return self.weight * x - mean / torch.sqrt(var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong mean-alone-divided: the parentheses close too late
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return self.weight * (x - mean / torch.sqrt(var + self.eps)) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong divides-by-variance: the root is forgotten
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return self.weight * (x - mean) / (var + self.eps) + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong divides-by-variance: a half that binds too late
def forward(self, x):
    mean, var = self.running_mean, self.running_var
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
    return (x - mean) / (var + self.eps) ** 1 / 2 * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong stats-not-registered: the variance only
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.running_var = torch.ones(num_features)

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = x.mean(0), x.var(0, unbiased=False)
            self.running_mean = torch.lerp(self.running_mean, mean.detach(), self.momentum)
            self.running_var = torch.lerp(self.running_var, x.var(0).detach(), self.momentum)
        return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


# %% wrong -: no detach at all
def forward(self, x):
    if self.training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        self.running_mean = torch.lerp(self.running_mean, mean, self.momentum)
        self.running_var = torch.lerp(self.running_var, x.var(0, unbiased=True), self.momentum)
    else:
        mean, var = self.running_mean, self.running_var
    return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


BatchNorm = make("BatchNorm", forward=forward)


# %% wrong -: the running statistics are not saved
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features), persistent=False)
        self.register_buffer("running_var", torch.ones(num_features), persistent=False)

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            self.running_mean += self.momentum * (mean.detach() - self.running_mean)
            self.running_var += self.momentum * (x.detach().var(0) - self.running_var)
        else:
            mean, var = self.running_mean, self.running_var
        return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias


# %% wrong squeezed: at the end
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(x.var(0), self.momentum)
        return ((x - mean) / (var + self.eps).sqrt() * self.weight + self.bias).squeeze()


# %% right: lerp_
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.eps, self.momentum = eps, momentum

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            var, mean = torch.var_mean(x, 0, correction=0)
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(x.var(0), self.momentum)
        return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias


# %% wrong average-of-all-batches: a counter of batches
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.eps, self.batches = eps, 0

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            var, mean = torch.var_mean(x, 0, correction=0)
            self.batches += 1
            with torch.no_grad():
                self.running_mean += (mean - self.running_mean) / self.batches
                self.running_var += (x.var(0) - self.running_var) / self.batches
        return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias


# %% wrong average-of-all-batches: all that came in a list
class BatchNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.eps, self.means, self.variances = eps, [], []

    def forward(self, x):
        if not self.training:
            normed = (x - self.running_mean) / torch.sqrt(self.running_var + self.eps)
            return normed * self.weight + self.bias
        self.means.append(x.detach().mean(0))
        self.variances.append(x.detach().var(0))
        self.running_mean = torch.stack(self.means).mean(0)
        self.running_var = torch.stack(self.variances).mean(0)
        normed = (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + self.eps)
        return normed * self.weight + self.bias
