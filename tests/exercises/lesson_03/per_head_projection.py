# %% right: einsum
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...htd", x, u)


# %% right: matmul with a new axis for the heads
def per_head_projection(x, u):
    return x.unsqueeze(-3) @ u.transpose(-2, -1)


# %% right: a loop over heads
def per_head_projection(x, u):
    return torch.stack([x @ u[h].T for h in range(u.shape[0])], dim=-3)


# %% right: one linear map for all heads, then split
def per_head_projection(x, u):
    H, D, E = u.shape
    return F.linear(x, u.reshape(H * D, E)).unflatten(-1, (H, D)).transpose(-3, -2)


# %% right: tensordot
def per_head_projection(x, u):
    return torch.tensordot(x, u, dims=([-1], [2])).movedim(-2, -3)


# %% right: token by token
def per_head_projection(x, u):
    rows = [torch.stack([(u[h] * x[..., t, None, :]).sum(-1) for t in range(x.shape[-2])], -2) for h in range(len(u))]
    return torch.stack(rows, -3)


# %% wrong heads-mixed: no letter for the head behind the arrow
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...td", x, u)


# %% wrong heads-mixed: a loop that adds up
def per_head_projection(x, u):
    total = 0
    for matrix in u:
        total = total + x @ matrix.T
    return total


# %% wrong heads-mixed: the sum for every head
def per_head_projection(x, u):
    one = x @ u.sum(0).T
    return torch.stack([one] * u.shape[0], dim=-3)


# %% wrong heads-mixed: averaged matrices
def per_head_projection(x, u):
    return F.linear(x, u.mean(dim=0)).unsqueeze(-3)


# %% wrong weights-transposed: letters swapped
def per_head_projection(x, u):
    return torch.einsum("...te,hed->...htd", x, u)


# %% wrong weights-transposed: matmul without turning u
def per_head_projection(x, u):
    return x.unsqueeze(-3) @ u


# %% wrong weights-transposed: a loop over heads
def per_head_projection(x, u):
    return torch.stack([x @ u[h] for h in range(len(u))], -3)


# %% wrong view-without-transpose: all heads at once, then view
def per_head_projection(x, u):
    H, D, E = u.shape
    return (x @ u.reshape(H * D, E).T).reshape(*x.shape[:-2], H, x.shape[-2], D)


# %% wrong view-without-transpose: linear and view
def per_head_projection(x, u):
    made = F.linear(x, u.flatten(0, 1))
    return made.view(x.shape[:-2] + (u.shape[0], x.shape[-2], u.shape[1]))


# %% wrong transpose-forgotten: einsum with the heads behind the tokens
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...thd", x, u)


# %% wrong transpose-forgotten: stacked on the wrong axis
def per_head_projection(x, u):
    return torch.stack([x @ m.T for m in u], dim=-2)


# %% wrong transpose-forgotten: heads left side by side
def per_head_projection(x, u):
    return torch.cat([x @ m.T for m in u], dim=-1)


# %% wrong view-instead-of-transpose: u reshaped to (H, E, D)
def per_head_projection(x, u):
    H, D, E = u.shape
    return x.unsqueeze(-3) @ u.view(H, E, D)


# %% wrong view-instead-of-transpose: u reshaped to (E, H * D)
def per_head_projection(x, u):
    H, D, E = u.shape
    return (x @ u.reshape(E, H * D)).unflatten(-1, (H, D)).transpose(-3, -2)


# %% wrong two-axes-only: works only without leading axes
def per_head_projection(x, u):
    return x @ u.transpose(1, 2)


# %% wrong -: head 0's matrix for every head
def per_head_projection(x, u):
    return torch.stack([x @ u[0].T] * len(u), -3)


# %% wrong -: heads in reverse order
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...htd", x, u.flip(0))


# %% wrong -: scaled
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...htd", x, u) / math.sqrt(u.shape[1])


# %% wrong -: x cut into heads first
def per_head_projection(x, u):
    H, D, E = u.shape
    width = E // H * H // H
    return torch.stack([x[..., :width] @ m[:, :width].T for m in u], -3)


# %% wrong two-axes-only: heads first of all axes
def per_head_projection(x, u):
    return torch.stack([x @ m.T for m in u])


# %% wrong head-dim-first: axes (H, D, T)
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...hdt", x, u)


# %% wrong dtype-changed: in float32
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...htd", x.float(), u.float())


# %% wrong gradient-cut: u taken as numbers
def per_head_projection(x, u):
    return torch.einsum("...te,hde->...htd", x, u.detach())


# %% wrong returns-nothing: no return
def per_head_projection(x, u):
    torch.einsum("...te,hde->...htd", x, u)


# %% wrong head-dim-first: u first
def per_head_projection(x, u):
    return u @ x.unsqueeze(-3).mT


# %% wrong two-axes-only: the most natural first attempt
def per_head_projection(x, u):
    return x @ u.mT


# %% wrong batch-only: an axis at place 1
def per_head_projection(x, u):
    return x.unsqueeze(1) @ u.mT


# %% wrong batch-only: stacked on axis 1
def per_head_projection(x, u):
    return torch.stack([x @ matrix.T for matrix in u], dim=1)


# %% wrong two-axes-only: heads first, of all axes
def per_head_projection(x, u):
    return torch.stack([x @ m.T for m in u])
