# %% prelude
import copy

import torch


# %% right: a mask of what has ended
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was_training = model.training
    model.eval()
    tokens = torch.full((src.shape[0], 1), bos_idx, dtype=torch.long)
    ended = torch.zeros(src.shape[0], dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            following = model(src, tokens)[:, -1].argmax(dim=-1)
            following = following.masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, following.unsqueeze(1)], dim=1)
            ended = ended | (following == eos_idx)
    model.train(was_training)
    return tokens


# %% right: row by row, as lists
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    rows = []
    for sentence in src:
        row = [bos_idx]
        for _ in range(max_length - 1):
            row.append(model(sentence[None], torch.tensor([row]))[0, -1].argmax().item())
            if row[-1] == eos_idx:
                break
        rows.append(row)
    if mode:
        model.train()
    longest = max(map(len, rows))
    return torch.tensor([row + [eos_idx] * (longest - len(row)) for row in rows])


# %% right: always max_length wide, mended at the end
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    before = model.training
    try:
        model.eval()
        with torch.inference_mode():
            out = src.new_full((len(src), max_length), eos_idx)
            out[:, 0] = bos_idx
            for t in range(1, max_length):
                out[:, t] = model(src, out[:, :t])[:, t - 1].argmax(-1)
            ended = (out == eos_idx).cumsum(1) > 0
            return out.masked_fill(ended, eos_idx)
    finally:
        model.train(before)


# %% right: only the rows that go on
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    training = model.training
    model.train(False)
    result = torch.full((len(src), max_length), eos_idx)
    result[:, 0] = bos_idx
    going = torch.arange(len(src))
    for t in range(1, max_length):
        if len(going) == 0:
            break
        with torch.no_grad():
            logits = model(src[going], result[going, :t])
        result[going, t] = logits[:, -1, :].topk(1).indices.squeeze(-1)
        going = going[result[going, t] != eos_idx]
    model.train(training)
    return result


# %% right: recursion
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    def grow(tokens):
        last = tokens[:, -1:]
        if tokens.shape[1] == max_length or bool((last == eos_idx).all()):
            return tokens
        following = model(src=src, trg=tokens)[:, [-1]].argmax(-1)
        return grow(torch.cat((tokens, torch.where(last == eos_idx, last, following)), 1))

    previous = [module.training for module in model.modules()]
    model.eval()
    with torch.set_grad_enabled(False):
        tokens = grow(torch.tensor([[bos_idx]] * len(src)))
    for module, mode in zip(model.modules(), previous):
        module.training = mode
    return tokens


# %% right: probabilities, ids as int32
@torch.inference_mode()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx, dtype=torch.int32)
    for _ in range(max_length - 1):
        probabilities = model(src, tokens).softmax(dim=-1)
        new = probabilities[:, -1].max(dim=-1).indices.int()
        new[(tokens == eos_idx).any(dim=1)] = eos_idx
        tokens = torch.hstack([tokens, new[:, None]])
    model.train(was)
    return tokens


# %% right: a random seed of its own
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    torch.manual_seed(0)
    was_training = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            likeliest = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, likeliest.unsqueeze(1)], 1)
            ended |= likeliest == eos_idx
    model.train(was_training)
    return tokens


# %% wrong drawn-at-random: a distribution of torch's
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was_training = model.training
    model.eval()
    tokens = torch.full((src.shape[0], 1), bos_idx, dtype=torch.long)
    ended = torch.zeros(src.shape[0], dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_length - 1):
            logits = model(src, tokens)[:, -1]
            noise = -torch.log(-torch.log(torch.rand_like(logits)))
            following = torch.where(ended, eos_idx, (logits + noise).argmax(-1))
            tokens = torch.cat([tokens, following[:, None]], dim=1)
            ended |= following == eos_idx
    model.train(was_training)
    return tokens


# %% wrong largest-over-the-batch: cut to the batch
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was_training = model.training
    model.eval()
    tokens = torch.full((src.shape[0], 1), bos_idx, dtype=torch.long)
    ended = torch.zeros(src.shape[0], dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            following = model(src, tokens)[:, -1].argmax(dim=0)[: len(src)]
            following = following.masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, following.unsqueeze(1)], dim=1)
            ended = ended | (following == eos_idx)
    model.train(was_training)
    return tokens


# %% wrong largest-over-the-batch: as it is
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was_training = model.training
    model.eval()
    tokens = torch.full((src.shape[0], 1), bos_idx, dtype=torch.long)
    ended = torch.zeros(src.shape[0], dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            following = model(src, tokens)[:, -1].argmax(0)
            following = following.masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, following.unsqueeze(1)], dim=1)
            ended = ended | (following == eos_idx)
    model.train(was_training)
    return tokens


# %% wrong reads-first-position: index 0
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, 0].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train(was)
    return tokens


# %% wrong reads-first-position: never stops either
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            tokens = torch.cat([tokens, model(src, tokens).argmax(-1)[:, :1]], 1)
    model.train(was)
    return tokens


# %% wrong never-stops: a plain loop
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            tokens = torch.cat([tokens, model(src, tokens)[:, -1].argmax(-1, keepdim=True)], 1)
    model.train(was)
    return tokens


# %% wrong never-stops: stops when all have, but keeps what was said
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        while tokens.shape[1] < max_length:
            tokens = torch.cat([tokens, model(src, tokens)[:, -1:].argmax(-1)], 1)
            if (tokens == eos_idx).any(1).all():
                break
    model.train(was)
    return tokens


# %% wrong never-stops: stops when all say eos at once
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        while tokens.shape[1] < max_length:
            new = model(src, tokens)[:, -1].argmax(-1)
            tokens = torch.cat([tokens, new[:, None]], 1)
            if (new == eos_idx).all():
                break
    model.train(was)
    return tokens


# %% wrong appends-to-source: concatenated to src
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    start = torch.full((len(src), 1), bos_idx)
    tokens, ended = start, torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, start)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            src = torch.cat([src, new[:, None]], 1)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train(was)
    return tokens


# %% wrong appends-to-source: without a stop
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    trg = torch.full((len(src), 1), bos_idx)
    said = [trg]
    with torch.no_grad():
        for _ in range(max_length - 1):
            said.append(model(torch.cat([src, *said[1:]], 1), trg).argmax(-1))
    model.train(was)
    return torch.cat(said, 1)


# %% wrong appends-to-source: and returns it
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    trg = torch.full((len(src), 1), bos_idx)
    for _ in range(max_length - 1):
        src = torch.cat([src, model(src, trg)[:, -1:].argmax(-1)], 1)
    model.train(was)
    return src


# %% wrong appends-to-source: to both
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    while tokens.shape[1] < max_length:
        new = model(src, tokens)[:, -1].argmax(-1, keepdim=True)
        src, tokens = torch.cat([src, new], 1), torch.cat([tokens, new], 1)
        if (tokens == eos_idx).any(1).all():
            break
    model.train(was)
    return tokens


# %% wrong reads-first-position: stops when all have ended
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    while tokens.shape[1] < max_length:
        logits = model(src, tokens)
        tokens = torch.cat([tokens, logits[:, 0, :].argmax(-1, keepdim=True)], 1)
        if (tokens[:, -1] == eos_idx).all():
            break
    model.train(was)
    return tokens


# %% wrong left-in-eval-mode: never put back
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    return tokens


# %% wrong left-in-eval-mode: the mode is read too late
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model = model.eval()
    was = model.training
    rows = torch.full((len(src), max_length), eos_idx)
    rows[:, 0] = bos_idx
    with torch.no_grad():
        for t in range(1, max_length):
            new = model(src, rows[:, :t])[:, -1].argmax(-1)
            rows[:, t] = torch.where((rows[:, :t] == eos_idx).any(1), eos_idx, new)
    model.train(was)
    return rows


# %% wrong always-back-to-train-mode: model.train()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train()
    return tokens


# %% wrong always-back-to-train-mode: in a finally
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    try:
        model.eval()
        rows = torch.full((len(src), max_length), eos_idx)
        rows[:, 0] = bos_idx
        with torch.inference_mode():
            for t in range(1, max_length):
                new = model(src, rows[:, :t])[:, -1].argmax(-1)
                rows[:, t] = torch.where((rows[:, :t] == eos_idx).any(1), eos_idx, new)
        return rows
    finally:
        model.train(True)


# %% wrong stays-in-train-mode: no eval
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    return tokens


# %% wrong stays-in-train-mode: eval without brackets
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model.eval
    rows = torch.full((len(src), max_length), eos_idx)
    rows[:, 0] = bos_idx
    with torch.inference_mode():
        for t in range(1, max_length):
            new = model(src, rows[:, :t])[:, -1].argmax(-1)
            rows[:, t] = torch.where((rows[:, :t] == eos_idx).any(1), eos_idx, new)
    return rows


# %% wrong forgets-what-it-wrote: the last token only
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens[:, -1:])[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train(was)
    return tokens


# %% wrong forgets-what-it-wrote: and never stops
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    said = [torch.full((len(src), 1), bos_idx)]
    with torch.no_grad():
        for _ in range(max_length - 1):
            said.append(model(src, said[-1]).argmax(-1))
    model.train(was)
    return torch.cat(said, dim=1)


# %% wrong another-filler: zeros
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, -1].argmax(-1)
            ended_before = ended
            ended = ended | (~ended & (new == eos_idx))
            tokens = torch.cat([tokens, new.masked_fill(ended_before, -1)[:, None].clamp(min=-1)], 1)
            tokens[tokens == -1] = 0 if eos_idx != 0 else 1
    model.train(was)
    return tokens


# %% wrong another-filler: bos, row by row
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.full((len(src), max_length), -1)
    for i in range(len(src)):
        row = [bos_idx]
        while len(row) < max_length and row[-1] != eos_idx:
            row.append(int(model(src[i : i + 1], torch.tensor([row]))[0, -1].argmax()))
        out[i, : len(row)] = torch.tensor(row)
    model.train(was)
    return out


# %% wrong stops-with-the-first: any
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        while tokens.shape[1] < max_length:
            new = model(src, tokens)[:, -1].argmax(-1)
            tokens = torch.cat([tokens, new[:, None]], 1)
            if (new == eos_idx).any():
                break
    model.train(was)
    return tokens


# %% wrong stops-with-the-first: eos among them
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            new = model(src, tokens)[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, new], 1)
            if eos_idx in new:
                break
    model.train(was)
    return tokens


# %% wrong bos-left-out: cut off at the end
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length and not ended.all():
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train(was)
    return tokens[:, 1:]


# %% wrong bos-left-out: max_length new ones
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_length):
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
    model.train(was)
    return tokens[:, 1:]


# %% wrong one-token-too-many: range(max_length)
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_length):
            new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
            tokens = torch.cat([tokens, new[:, None]], 1)
            ended |= new == eos_idx
            if ended.all():
                break
    model.train(was)
    return tokens


# %% wrong one-token-too-many: less or equal
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        while tokens.shape[1] <= max_length and not (tokens == eos_idx).any(1).all():
            new = model(src, tokens)[:, -1].argmax(-1)
            new = torch.where((tokens == eos_idx).any(1), eos_idx, new)
            tokens = torch.cat([tokens, new[:, None]], 1)
    model.train(was)
    return tokens


# %% wrong gradients-recorded: no context at all
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    while tokens.shape[1] < max_length and not ended.all():
        new = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
        tokens = torch.cat([tokens, new[:, None]], 1)
        ended |= new == eos_idx
    model.train(was)
    return tokens


# %% wrong -: argmin
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            new = model(src, tokens)[:, -1].argmin(-1)
            new = torch.where((tokens == eos_idx).any(1), eos_idx, new)
            tokens = torch.cat([tokens, new[:, None]], 1)
    model.train(was)
    return tokens


# %% wrong drawn-at-random: sampled
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            new = torch.multinomial((0.3 * model(src, tokens)[:, -1]).softmax(-1), 1)[:, 0]
            new = torch.where((tokens == eos_idx).any(1), eos_idx, new)
            tokens = torch.cat([tokens, new[:, None]], 1)
    model.train(was)
    return tokens


# %% wrong eos-lost: eos never written
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while tokens.shape[1] < max_length:
            new = model(src, tokens)[:, -1].argmax(-1)
            ended |= new == eos_idx
            if ended.all():
                break
            tokens = torch.cat([tokens, new.masked_fill(ended, eos_idx)[:, None]], 1)
    model.train(was)
    return tokens


# %% wrong -: only bos
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    return torch.full((len(src), 1), bos_idx)


# %% wrong wrong-type: lists
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    rows = []
    for i in range(len(src)):
        row = [bos_idx]
        while len(row) < max_length and row[-1] != eos_idx:
            row.append(int(model(src[i : i + 1], torch.tensor([row]))[0, -1].argmax()))
        rows.append(row)
    model.train(was)
    return rows


# %% wrong wrong-type: logits
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    return model(src, torch.full((len(src), 1), bos_idx))


# %% wrong returns-nothing: no return
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    tokens = torch.full((len(src), 1), bos_idx)


# %% wrong raised: shapes
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    for _ in range(max_length):
        tokens = torch.cat([tokens, model(src, tokens)[:, -1]], dim=1)
    return tokens


# %% wrong time-limit: waits for eos for ever
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    model.eval()
    while True:
        pass


# %% wrong -: changes the source
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            new = model(src, tokens)[:, -1].argmax(-1)
            new = torch.where((tokens == eos_idx).any(1), eos_idx, new)
            tokens = torch.cat([tokens, new[:, None]], 1)
    model.train(was)
    src[:, 0] = bos_idx
    return tokens


# %% right: preallocated, never cut, inference decorator
@torch.inference_mode()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    buf = torch.full((len(src), max_length), eos_idx, dtype=torch.long, device=src.device)
    buf[:, 0] = bos_idx
    alive = torch.ones(len(src), dtype=torch.bool)
    for t in range(max_length - 1):
        if not alive.any():
            break
        nxt = model(src, buf[:, : t + 1])[:, -1].max(dim=-1).indices
        buf[alive, t + 1] = nxt[alive]
        alive &= buf[:, t + 1] != eos_idx
    model.train(mode)
    return buf


# %% right: full buffer handed over, a causal model doesn't mind
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    out = torch.full((src.shape[0], max_length), eos_idx)
    out[:, 0] = bos_idx
    ended = torch.zeros(src.shape[0], dtype=torch.bool)
    for t in range(1, max_length):
        nxt = model(src, out)[:, t - 1].argmax(-1)
        out[:, t] = nxt.masked_fill(ended, eos_idx)
        ended |= nxt == eos_idx
    model.train(mode)
    return out


# %% wrong left-in-eval-mode: early return in the loop
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    trg = torch.full((src.shape[0], 1), bos_idx)
    done = torch.zeros(src.shape[0], dtype=torch.bool)
    for _ in range(max_length - 1):
        n = model(src, trg)[:, -1].argmax(-1).masked_fill(done, eos_idx)
        done |= n == eos_idx
        trg = torch.cat([trg, n[:, None]], 1)
        if done.all():
            return trg
    model.train(was)
    return trg


# %% wrong -: last token forced to eos
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    trg = torch.full((src.shape[0], 1), bos_idx)
    done = torch.zeros(src.shape[0], dtype=torch.bool)
    for _ in range(max_length - 1):
        n = model(src, trg)[:, -1].argmax(-1).masked_fill(done, eos_idx)
        done = done | (n == eos_idx)
        trg = torch.cat([trg, n[:, None]], 1)
    trg[:, -1] = eos_idx
    model.train(was)
    return trg


# %% right: deep copy in eval mode
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    twin = copy.deepcopy(model).eval()
    said = torch.full((len(src), 1), bos_idx)
    while said.shape[1] < max_length:
        n = twin(src=src, trg=said)[..., -1, :].argmax(-1, keepdim=True)
        n[(said == eos_idx).any(1)] = eos_idx
        said = torch.cat([said, n], -1)
    return said


# %% wrong never-stops: eval forgotten as well, stops when all say so
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    trg = torch.full((src.shape[0], 1), bos_idx)
    for _ in range(max_length - 1):
        trg = torch.cat([trg, model(src, trg)[:, -1].argmax(-1)[:, None]], 1)
        if (trg == eos_idx).any(1).all():
            break
    return trg


# %% wrong reads-first-position: eval forgotten as well
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    trg = torch.full((src.shape[0], 1), bos_idx)
    done = torch.zeros(src.shape[0], dtype=torch.bool)
    for _ in range(max_length - 1):
        n = model(src, trg).argmax(-1)[:, 0].masked_fill(done, eos_idx)
        done |= n == eos_idx
        trg = torch.cat([trg, n[:, None]], 1)
    return trg


# %% wrong appends-to-source: model(src, src) without bos
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    L = src.shape[1]
    for _ in range(max_length - 1):
        n = model(src, src)[:, -1:].argmax(-1)
        src = torch.cat([src, n], 1)
    model.train(was)
    return torch.cat([torch.full((len(src), 1), bos_idx), src[:, L:]], 1)


# %% wrong appends-to-source: src and trg begin as one, model(x, x), kept at eos
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    L = src.shape[1]
    x = torch.cat([src, torch.full((src.shape[0], 1), bos_idx)], 1)
    done = torch.zeros(src.shape[0], 1, dtype=torch.bool)
    for _ in range(max_length - 1):
        n = model(x, x)[:, -1:].argmax(-1).masked_fill(done, eos_idx)
        done |= n == eos_idx
        x = torch.cat([x, n], 1)
        if done.all():
            break
    model.train(was)
    return x[:, L:]


# %% wrong appends-to-source: src given, target begins with the source
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    x = torch.cat([src, torch.full((src.shape[0], 1), bos_idx)], 1)
    for _ in range(max_length - 1):
        n = model(src, x)[:, -1:].argmax(-1)
        x = torch.cat([x, n], 1)
    model.train(was)
    return x[:, src.shape[1] :]


# %% wrong arguments-swapped: never stops either
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    trg = torch.full((len(src), 1), bos_idx)
    while trg.shape[1] < max_length:
        last = model(trg, src)[:, -1:].argmax(-1)
        trg = torch.cat([trg, last], dim=1)
    model.train(mode)
    return trg


# %% wrong arguments-swapped: in the call
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.full((src.shape[0], 1), bos_idx)
    done = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        for t in range(1, max_length):
            nxt = model(out, src)[:, -1].argmax(-1).masked_fill(done, eos_idx)
            done |= nxt == eos_idx
            out = torch.cat([out, nxt[:, None]], 1)
    model.train(was)
    return out


# %% wrong one-number-for-a-batch: item
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.full((src.shape[0], 1), bos_idx)
    with torch.no_grad():
        for _ in range(max_length - 1):
            nxt = model(src, out)[:, -1].argmax(-1)
            out = torch.cat([out, nxt[:, None]], 1)
            if nxt.item() == eos_idx:
                break
    model.train(was)
    return out


# %% wrong one-number-for-a-batch: if
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    trg = torch.full((len(src), 1), bos_idx)
    while trg.shape[1] < max_length:
        token = model(src, trg)[:, -1].argmax(-1)
        trg = torch.cat([trg, token[:, None]], dim=1)
        if token == eos_idx:
            break
    model.train(mode)
    return trg


# %% wrong eos-lost: break, then append
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.full((src.shape[0], 1), bos_idx)
    with torch.no_grad():
        for t in range(1, max_length):
            nxt = model(src, out)[:, -1].argmax(-1)
            if (nxt == eos_idx).all():
                break
            out = torch.cat([out, nxt[:, None]], 1)
    model.train(was)
    return out


# %% wrong eos-lost: row by row
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    rows = []
    for sentence in src:
        row = [bos_idx]
        while len(row) < max_length:
            token = model(sentence[None], torch.tensor([row]))[0, -1].argmax().item()
            if token == eos_idx:
                break
            row.append(token)
        rows.append(row)
    model.train(mode)
    longest = max(map(len, rows))
    return torch.tensor([row + [eos_idx] * (longest - len(row)) for row in rows])


# %% wrong starts-with-another-token: zeros
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.zeros(src.shape[0], 1, dtype=torch.long)
    done = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_length - 1):
            nxt = model(src, out)[:, -1].argmax(-1).masked_fill(done, eos_idx)
            done |= nxt == eos_idx
            out = torch.cat([out, nxt[:, None]], 1)
    model.train(was)
    return out


# %% wrong starts-with-another-token: eos
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    trg = torch.full((len(src), 1), eos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    while trg.shape[1] < max_length:
        token = model(src, trg)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
        ended = ended | (token == eos_idx)
        trg = torch.cat([trg, token[:, None]], dim=1)
    model.train(mode)
    return trg


# %% wrong stops-with-the-first: the first row decides
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was = model.training
    model.eval()
    out = torch.full((src.shape[0], 1), bos_idx)
    with torch.no_grad():
        while out.shape[1] < max_length and out[0, -1] != eos_idx:
            nxt = model(src, out)[:, -1].argmax(-1, keepdim=True)
            out = torch.cat([out, nxt], 1)
    model.train(was)
    return out


# %% wrong -: turns gradients off and leaves them off
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    torch.set_grad_enabled(False)
    was_training = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    while tokens.shape[1] < max_length and not ended.all():
        likeliest = model(src, tokens)[:, -1].argmax(-1).masked_fill(ended, eos_idx)
        tokens = torch.cat([tokens, likeliest.unsqueeze(1)], 1)
        ended |= likeliest == eos_idx
    model.train(was_training)
    return tokens


# %% wrong gradients-recorded: the result detached, not the rounds
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), 1, dtype=torch.bool)
    while tokens.shape[1] < max_length and not ended.all():
        likeliest = model(src, tokens).detach()[:, -1:].argmax(-1).masked_fill(ended, eos_idx)
        tokens = torch.cat([tokens, likeliest], dim=1)
        ended = ended | (likeliest == eos_idx)
    model.train(mode)
    return tokens


# %% wrong one-token-too-many: max_length rounds, until all have ended
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), 1, dtype=torch.bool)
    for _ in range(max_length):
        likeliest = model(src, tokens)[:, -1:].argmax(-1).masked_fill(ended, eos_idx)
        tokens = torch.cat([tokens, likeliest], dim=1)
        ended = ended | (likeliest == eos_idx)
        if ended.all():
            break
    model.train(mode)
    return tokens


# %% wrong one-token-too-many: at most, not less than
@torch.no_grad()
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    tokens = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    while tokens.shape[1] <= max_length and not ended.all():
        likeliest = model(src, tokens)[:, -1].argmax(-1)
        likeliest = torch.where(ended, eos_idx, likeliest)
        tokens = torch.cat([tokens, likeliest[:, None]], dim=1)
        ended |= likeliest == eos_idx
    model.train(mode)
    return tokens


# %% right: a table filled with eos
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    mode = model.training
    model.eval()
    B = src.shape[0]
    out = src.new_full((B, max_length), eos_idx)
    out[:, 0] = bos_idx
    alive = torch.ones(B, dtype=torch.bool)
    with torch.inference_mode():
        for t in range(1, max_length):
            nxt = model(src, out[:, :t])[:, t - 1].max(-1).indices
            out[:, t] = torch.where(alive, nxt, eos_idx)
            alive &= nxt != eos_idx
    model.train(mode)
    return out.clone()


# %% wrong stops-with-the-first: stops when row 0 has ended
def greedy_decode(model, src, bos_idx, eos_idx, max_length):
    was_training = model.training
    model.eval()
    written = torch.full((len(src), 1), bos_idx)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while written.shape[1] < max_length and not ended[0]:
            token = model(src, written)[:, -1].argmax(-1)
            token = torch.where(ended, eos_idx, token)
            written = torch.cat([written, token[:, None]], 1)
            ended = ended | (token == eos_idx)
    model.train(was_training)
    return written
