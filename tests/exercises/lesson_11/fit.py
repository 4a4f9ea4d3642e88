# %% prelude
import torch
import torch.nn.functional as F


def language_batch(ids, starts, block_size):
    places = starts.unsqueeze(-1) + torch.arange(block_size)
    return ids[places], ids[places + 1]


# A right one in two pieces: many cells below change one of the two.
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.train(was_training)
    return losses


# %% right: a row of starts for each round
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        losses.append(loss.item())
    model.train(was_training)
    return losses


# %% right: try and finally, torch's own clipping, the mean written out, gradients emptied at the end too
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    mode, losses = model.training, []
    try:
        model.train(True)
        for step in range(starts.shape[0]):
            optimizer.zero_grad(set_to_none=False)
            inputs, labels = language_batch(ids, starts[step], block_size)
            logs = model(inputs).log_softmax(-1)
            loss = -logs.gather(-1, labels[..., None]).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            losses += [float(loss)]
            optimizer.zero_grad()
        return losses
    finally:
        model.train(mode)


# %% right: pieces cut in a loop, gradients cleared by hand, the losses in a tensor first
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before = model.training
    model.train()
    losses = torch.zeros(len(starts), dtype=torch.float64)
    for step, row in enumerate(starts.tolist()):
        pieces = torch.stack([ids[start : start + block_size + 1] for start in row])
        for parameter in model.parameters():
            parameter.grad = None
        loss = torch.nn.CrossEntropyLoss()(model(pieces[:, :-1]).transpose(1, 2), pieces[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses[step] = loss.detach()
    if not before:
        model.eval()
    return tuple(losses.tolist())


# %% right: a generator of steps
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    def step(row):
        inputs, labels = language_batch(ids, row, block_size)

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs).reshape(labels.numel(), -1), labels.reshape(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            return loss

        return optimizer.step(closure).item()

    mode = model.training
    model.train()
    losses = [step(row) for row in starts.unbind(0)]
    model.train(mode)
    return losses


# %% wrong gradients-off: the model runs under no_grad
def one_step(model, optimizer, inputs, labels, max_norm):
    with torch.no_grad():
        logits = model(inputs)
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong gradients-off: the loss is a number too early
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels).item()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


# %% wrong backward-forgotten: no backward
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong backward-forgotten: neither backward nor step
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    return float(loss)


# %% wrong step-forgotten: no step
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


# %% wrong step-forgotten: the losses are collected, nobody learns
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    loss.backward()
    return float(loss)


# %% wrong gradients-cleared-too-late: after backward
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    loss.backward()
    optimizer.zero_grad()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong gradients-cleared-too-late: just before the step
def one_step(model, optimizer, inputs, labels, max_norm):
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.zero_grad()
    optimizer.step()
    return float(loss)


# %% wrong step-before-backward: exchanged
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


# %% wrong step-before-backward: the step opens the round
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.step()
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    return float(loss)


# %% wrong optimizer-not-used: gradient descent by hand
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad
    return loss.item()


# %% wrong optimizer-not-used: gradients added to the data
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-0.3)
    return float(loss)


# %% wrong one-step-only: returns inside the loop
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
        model.train(was_training)
        return losses


# %% wrong one-step-only: breaks after the first round
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
        break
    model.train(before)
    return losses


# %% wrong same-batch-every-step: the first row
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, starts[0], block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.train(was_training)
    return losses


# %% wrong same-batch-every-step: the last row
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[-1], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong rows-backwards: flipped
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts.flip(0):
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.train(was_training)
    return losses


# %% wrong rows-backwards: counted down
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts) - 1, -1, -1):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong labels-not-shifted: the inputs in place of the labels
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), inputs.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong labels-not-shifted: one name for both
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x = y = language_batch(ids, starts[step], block_size)[0]
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong summed: reduction
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten(), reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong summed: times the labels
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels) * labels.numel()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


# %% wrong clipped-after-the-step: clipped in the next line
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


# %% wrong clipped-after-the-step: clipped before backward
def one_step(model, optimizer, inputs, labels, max_norm):
    optimizer.zero_grad()
    logits = model(inputs)
    loss = F.cross_entropy(logits.transpose(1, 2), labels)
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    loss.backward()
    optimizer.step()
    return float(loss)


# %% wrong max-norm-ignored: 1.0 in the call
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% wrong max-norm-ignored: max_norm set anew
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    max_norm = 1.0
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong gradients-from-before: cleared after the step
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% wrong gradients-from-before: cleared at the end of the round
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
        optimizer.zero_grad()
    model.train(before)
    return losses


# %% wrong gradients-add-up: never cleared
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong gradients-add-up: cleared once, before the loop
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    optimizer.zero_grad()
    for step in range(len(starts)):
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong loss-after-the-step: computed again
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten()).item()


# %% wrong loss-after-the-step: without gradients
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        with torch.no_grad():
            losses.append(float(F.cross_entropy(model(x).transpose(1, 2), y)))
    model.train(before)
    return losses


# %% wrong mode-not-switched: the mode as it was
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    return losses


# %% wrong mode-not-switched: switched only afterwards
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong trains-in-eval-mode: eval before the loop
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.eval()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.train(was_training)
    return losses


# %% wrong trains-in-eval-mode: train(False)
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(False)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong one-number-returned: the last loss
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.train(was_training)
    return losses[-1]


# %% wrong one-number-returned: the mean
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return sum(losses) / len(losses)


# %% wrong keeps-the-graph: a list of tensors
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss


# %% wrong keeps-the-graph: stacked
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(loss)
    model.train(before)
    return torch.stack(losses)


# %% wrong left-in-train-mode: never put back
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    return losses


# %% wrong left-in-train-mode: train at the end
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train()
    return losses


# %% wrong left-in-eval-mode: eval at the end
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    was_training = model.training
    model.train()
    losses = []
    for row in starts:
        inputs, labels = language_batch(ids, row, block_size)
        losses.append(one_step(model, optimizer, inputs, labels, max_norm))
    model.eval()
    return losses


# %% wrong left-in-eval-mode: the wrong way round
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts)):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(False)
    return losses


# %% wrong -: the loss of the first piece only
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs)[0], labels[0])
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong -: the last step is left out
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, losses = model.training, []
    model.train(True)
    for step in range(len(starts) - 1):
        optimizer.zero_grad()
        x, y = language_batch(ids, starts[step], block_size)
        logits = model(x)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        losses.append(float(loss))
    model.train(before)
    return losses


# %% wrong -: half of the rate
def one_step(model, optimizer, inputs, labels, max_norm):
    loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    optimizer.step()
    return loss.item()


# %% right: nll_loss of log_softmax
def fit(model, optimizer, ids, starts, block_size, max_norm=1.0):
    before, history = model.training, []
    model.train(True)
    for i in range(starts.size(0)):
        optimizer.zero_grad(set_to_none=False)
        x, y = language_batch(ids, starts[i], block_size)
        logits = model(x)
        loss = F.nll_loss(logits.log_softmax(-1).transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
        optimizer.step()
        history += [float(loss)]
    model.train(before)
    return history


# %% wrong softmax-applied-twice: softmax before the loss
def one_step(model, optimizer, inputs, labels, max_norm):
    logits = model(inputs)
    loss = F.cross_entropy(logits.softmax(-1).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong softmax-applied-twice: with the classes on axis 1
def one_step(model, optimizer, inputs, labels, max_norm):
    logits = model(inputs)
    loss = F.cross_entropy(torch.softmax(logits, 2).mT, labels)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong reshaped-instead-of-transposed: view
def one_step(model, optimizer, inputs, labels, max_norm):
    logits = model(inputs)
    loss = F.cross_entropy(logits.view(logits.shape[0], logits.shape[2], logits.shape[1]), labels)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


# %% wrong reshaped-instead-of-transposed: reshape
def one_step(model, optimizer, inputs, labels, max_norm):
    logits = model(inputs)
    loss = F.cross_entropy(logits.reshape(len(logits), -1, labels.shape[1]), labels)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
