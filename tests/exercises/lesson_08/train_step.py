# %% prelude
import torch
import torch.nn.functional as F


def shift_target(trg):
    return trg[:, :-1], trg[:, 1:]


def sequence_loss(logits, labels, pad_idx):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_idx, reduction="sum")
    return total / (labels != pad_idx).sum().clamp(min=1)


# %% right: the own pieces
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src, decoder_input), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return loss.item()


# %% right: try and finally, gradients emptied before and after the step, the source cut to its longest row
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    try:
        model.train(True)
        width = int((src != pad_idx).sum(1).max())
        logits = model(src=src[:, :width], trg=trg[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), trg[:, 1:], ignore_index=pad_idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return float(loss)
    finally:
        model.train(mode)


# %% right: a closure
def train_step(model, optimizer, src, trg, pad_idx):
    before = model.training
    model.train()

    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = sequence_loss(model(src, trg[:, :-1]), trg[:, 1:], pad_idx)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if not before:
        model.eval()
    return loss.detach().cpu().numpy().item()


# %% right: gradients by hand
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    for p in model.parameters():
        p.grad = None
    given, wanted = shift_target(trg)
    probabilities = model(src, given).softmax(-1)
    right = probabilities.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
    real = wanted != pad_idx
    loss = -(right[real].log()).mean()
    parameters = list(model.parameters())
    for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
        p.grad = g
    optimizer.step()
    model.train(mode)
    return loss.tolist()


# %% right: the optimiser's groups, emptied one by one
def train_step(model, optimizer, src, trg, pad_idx):
    assert isinstance(optimizer, torch.optim.Optimizer)
    mode = model.training
    model.train()
    with torch.enable_grad():
        logits = model(src, trg[:, : trg.shape[1] - 1])
        labels = trg.roll(-1, 1)[:, :-1]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=pad_idx)
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.zero_()
    loss.backward()
    optimizer.step()
    model.zero_grad()
    model.train(mode)
    value = round(loss.item(), 7)
    return value


# %% right: row by row, the gradients add up on purpose
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    count, total = int((trg[:, 1:] != pad_idx).sum()), 0.0
    for s, t in zip(src, trg):
        part = F.cross_entropy(model(s[None], t[None, :-1])[0], t[1:], ignore_index=pad_idx, reduction="sum") / count
        part.backward()
        total += part.item()
    optimizer.step()
    model.train(mode)
    return total


# %% right: all of the target is given, and the last logits are left out
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    loss = sequence_loss(model.train()(src, trg)[:, :-1], trg[:, 1:], pad_idx)
    model.train(mode)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.tolist()


# %% right: gradients by torch.func
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)

    def loss_of(parameters):
        return sequence_loss(torch.func.functional_call(model, parameters, (src, given)), wanted, pad_idx)

    named = dict(model.named_parameters())
    gradients, loss = torch.func.grad_and_value(loss_of)({name: p.detach() for name, p in named.items()})
    for name, parameter in named.items():
        parameter.grad = gradients[name]
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong source-and-target-exchanged: in the model's call
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(decoder_input, src), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return float(loss)


# %% wrong source-and-target-exchanged: by name
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src=decoder_input, trg=src[:, : labels.shape[1]]), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return float(loss)


# %% wrong gradients-off: the number is differentiated
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src, decoder_input), labels, pad_idx)
    optimizer.zero_grad()
    loss.item().backward()
    optimizer.step()
    model.train(was_training)
    return float(loss)


# %% wrong gradients-from-before: zero_grad at the end
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src, decoder_input), labels, pad_idx)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    model.train(was_training)
    return loss.item()


# %% wrong gradients-from-before: None for each gradient, after the step
def train_step(model, optimizer, src, trg, pad_idx):
    before = model.training
    model.train()
    loss = sequence_loss(model(src, trg[:, :-1]), trg[:, 1:], pad_idx)
    loss.backward()
    optimizer.step()
    for parameter in model.parameters():
        parameter.grad = None
    model.train(before)
    return float(loss)


# %% wrong -: the source backwards
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    loss = sequence_loss(model(src.flip(1), decoder_input), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return loss.item()


# %% wrong gradients-add-up: no zero_grad
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong gradients-add-up: another module is emptied
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    model.dropout.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return float(loss)


# %% wrong step-forgotten: no step
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    model.train(mode)
    return loss.item()


# %% wrong step-forgotten: the method is named, not called
def train_step(model, optimizer, src, trg, pad_idx):
    optimizer.zero_grad()
    mode = model.training
    model.train()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step
    model.train(mode)
    return float(loss)


# %% wrong step-before-backward: step, then backward
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
    model.train(mode)
    return loss.item()


# %% wrong step-before-backward: step at the very beginning
def train_step(model, optimizer, src, trg, pad_idx):
    optimizer.zero_grad()
    optimizer.step()
    mode = model.training
    model.train()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    model.train(mode)
    return float(loss)


# %% wrong gradients-cleared-too-late: between backward and step
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong gradients-cleared-too-late: set to zero
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    for p in model.parameters():
        p.grad.zero_()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong backward-forgotten: step without backward
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong backward-forgotten: neither of the two
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    model.train(mode)
    return loss.item()


# %% wrong target-not-shifted: the input is what it should say
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, _ = shift_target(trg)
    loss = sequence_loss(model(src, given), given, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong target-not-shifted: all of the target, twice
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg).mT, trg, ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong shifted-backwards: exchanged
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    labels, given = shift_target(trg)
    loss = sequence_loss(model(src, given), labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong shifted-backwards: by slices
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, 1:]).mT, trg[:, :-1], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong left-in-train-mode: never put back
def train_step(model, optimizer, src, trg, pad_idx):
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% wrong left-in-train-mode: noted too late
def train_step(model, optimizer, src, trg, pad_idx):
    model.train()
    mode = model.training
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return float(loss)


# %% wrong left-in-eval-mode: always eval at the end
def train_step(model, optimizer, src, trg, pad_idx):
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    return loss.item()


# %% wrong left-in-eval-mode: train(False)
def train_step(model, optimizer, src, trg, pad_idx):
    model.train(True)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(False)
    return float(loss)


# %% wrong mode-not-switched: in the mode that it is in
def train_step(model, optimizer, src, trg, pad_idx):
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% wrong mode-not-switched: switched after the model has run
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    model.train()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong trains-in-eval-mode: as for decoding
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.eval()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong trains-in-eval-mode: train(False)
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train(False)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong keeps-the-graph: the loss itself
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss


# %% wrong keeps-the-graph: kept in a list
losses_so_far = []


def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    losses_so_far.append(loss)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong wrong-type: a tensor without a graph
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.detach()


# %% wrong loss-after-the-step: computed twice
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        after = sequence_loss(model(src, given), wanted, pad_idx)
    model.train(mode)
    return after.item()


# %% wrong loss-after-the-step: with a function inside
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()

    def loss():
        return F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)

    loss().backward()
    optimizer.step()
    value = float(loss())
    model.train(mode)
    return value


# %% wrong padding-counted: no ignore_index
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:])
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong padding-counted: a padding that never occurs
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, -1)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong pad-idx-ignored: 0
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, 0)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong pad-idx-ignored: by a comparison
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    real = wanted > 0
    loss = F.cross_entropy(model(src, given)[real], wanted[real])
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong summed: reduction
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx, reduction="sum")
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong summed: multiplied again
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx) * (wanted != pad_idx).sum()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong gradients-off: no_grad around the model
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    with torch.no_grad():
        logits = model(src, given)
    loss = sequence_loss(logits, wanted, pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong gradients-off: detached
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).detach().mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong backward-twice: once more
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong backward-twice: in a closure too
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(src, trg[:, :-1]).mT, trg[:, 1:], ignore_index=pad_idx)
    loss.backward()

    def closure():
        loss.backward()
        return loss

    optimizer.step(closure)
    model.train(mode)
    return loss.item()


# %% wrong returns-nothing: no return
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    optimizer.step()
    model.train(mode)


# %% wrong several-steps: twice in a row
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    optimizer.step()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong -: gradients are clipped
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    optimizer.zero_grad()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong several-steps: in a loop over the rows
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    losses = []
    for row in range(len(src)):
        given, wanted = shift_target(trg[row : row + 1])
        loss = sequence_loss(model(src[row : row + 1], given), wanted, pad_idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.train(mode)
    return sum(losses) / len(losses)


# %% wrong optimizer-not-used: parameters changed by hand
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    model.train(mode)
    return loss.item()


# %% wrong optimizer-not-used: with the optimiser's rate
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    rate = optimizer.param_groups[0]["lr"] / 10
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    parameters = list(model.parameters())
    for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters)):
        parameter.data = parameter.data - rate * slope
    model.train(mode)
    return loss.item()


# %% wrong optimizer-not-used: an optimiser of its own, of torch's
def train_step(model, optimizer, src, trg, pad_idx):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong target-not-shifted: all of the target is given, and the first logits are left out
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    loss = sequence_loss(model(src, trg)[:, 1:], trg[:, 1:], pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong loss-after-the-step: computed again in eval mode
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    optimizer.zero_grad()
    sequence_loss(model(src, given), wanted, pad_idx).backward()
    optimizer.step()
    model.eval()
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    model.train(mode)
    return loss.item()


# %% wrong loss-multiplied: by the sequences, as a loop over batches adds up
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item() * src.size(0)


# %% wrong loss-multiplied: by the labels
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item() * (wanted != pad_idx).sum().item()


# %% wrong -: the optimiser forgets its momentum
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    loss = sequence_loss(model(src, given), wanted, pad_idx)
    optimizer.state.clear()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% wrong -: the model's own guesses are what it reads
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    given, wanted = shift_target(trg)
    written = given[:, :1]
    for _ in range(wanted.shape[1]):
        logits = model(src, written)
        written = torch.cat([written, logits[:, -1:].argmax(-1)], dim=1)
    loss = sequence_loss(logits, wanted, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(mode)
    return loss.item()


# %% right: a closure for the optimiser
def train_step(model, optimizer, src, trg, pad_idx):
    mode = model.training
    model.train()
    values = []

    def closure():
        optimizer.zero_grad()
        inputs, labels = shift_target(trg)
        loss = sequence_loss(model(src, inputs), labels, pad_idx)
        loss.backward()
        values.append(loss.item())
        return loss

    optimizer.step(closure)
    model.train(mode)
    return values[0]


# %% right: autograd.grad
def train_step(model, optimizer, src, trg, pad_idx):
    was = model.training
    model.train()
    given, labels = shift_target(trg)
    loss = sequence_loss(model(src, given), labels, pad_idx)
    ps = [p for p in model.parameters() if p.requires_grad]
    for p, g in zip(ps, torch.autograd.grad(loss, ps)):
        p.grad = g
    optimizer.step()
    model.train(was)
    return loss.item()


# %% wrong softmax-applied-twice: the model's output in probabilities
def train_step(model, optimizer, src, trg, pad_idx):
    was_training = model.training
    model.train()
    decoder_input, labels = shift_target(trg)
    probabilities = model(src, decoder_input).softmax(-1)
    loss = sequence_loss(probabilities, labels, pad_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.train(was_training)
    return loss.item()


# %% wrong softmax-applied-twice: before cross_entropy
def train_step(model, optimizer, src, trg, pad_idx):
    before = model.training
    model.train()
    optimizer.zero_grad()
    scores = torch.softmax(model(src, trg[:, :-1]), dim=2)
    loss = F.cross_entropy(scores.transpose(1, 2), trg[:, 1:], ignore_index=pad_idx)
    loss.backward()
    optimizer.step()
    model.train(before)
    return float(loss)
