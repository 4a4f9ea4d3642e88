# %% prelude
# A right one in two pieces: many cells below change how one more token is written.
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% right: appended
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(tokens[:, -model.max_length :])[:, -1]
            p = next_token_probabilities(logits, **sampling)
            drawn = torch.multinomial(p, 1, generator=generator)
            tokens = torch.cat([tokens, drawn], dim=1)
    model.train(was)
    return tokens


# %% right: written into place
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = max(0, t - model.max_length)
                logits = model(text[:, start:t])
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                text[:, t] = torch.multinomial(p, num_samples=1, generator=generator).squeeze(1)
    finally:
        model.train(mode)
    return text


# %% right: thresholds
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.train(False)
    pieces = [prompt]
    with torch.no_grad():
        for _ in range(new_tokens):
            seen = torch.cat(pieces, 1)
            if seen.shape[1] > model.max_length:
                seen = seen[:, seen.shape[1] - model.max_length :]
            p = next_token_probabilities(model(seen)[:, -1], **sampling)
            threshold = torch.rand(len(p), 1, generator=generator)
            pieces.append((p.cumsum(-1) < threshold).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1))
    if mode:
        model.train()
    return torch.cat(pieces, 1)


# %% right: a race of exponentials
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    tokens = prompt.clone()
    for _ in range(new_tokens):
        with torch.no_grad():
            p = next_token_probabilities(model(tokens[..., -model.max_length :])[..., -1, :], **sampling)
        noise = torch.empty_like(p).exponential_(generator=generator)
        tokens = torch.hstack([tokens, (p / noise).argmax(-1, keepdim=True)])
    model.train(mode)
    return tokens


# %% wrong one-token-off: too few
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens - 1):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong one-token-off: too many
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens + 1):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong token-without-its-axis: squeezed
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator).squeeze(1)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong token-without-its-axis: its first column
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)[:, 0]
    return torch.cat([tokens, drawn], dim=1)


# %% wrong sampling-as-one-argument: without stars
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong sampling-as-one-argument: by the name of the first
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, temperature=sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong only-one-token: the return inside the loop
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(tokens[:, -model.max_length :])[:, -1]
            drawn = torch.multinomial(next_token_probabilities(logits, **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, drawn], dim=1)
            model.train(was)
            return tokens


# %% wrong only-one-token: appended to the prompt
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    text = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(text[:, -model.max_length :])[:, -1]
            drawn = torch.multinomial(next_token_probabilities(logits, **sampling), 1, generator=generator)
            text = torch.cat([prompt, drawn], dim=1)
    model.train(was)
    return text


# %% wrong context-not-cut: a length of one's own
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -128:])[:, -1]
    drawn = torch.multinomial(next_token_probabilities(logits, **sampling), 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong left-in-eval-mode: never put back
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    return tokens


# %% wrong left-in-eval-mode: put back too late
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    return tokens
    model.train(was)


# %% wrong always-back-to-train-mode: train()
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train()
    return tokens


# %% wrong always-back-to-train-mode: True
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    tokens = prompt.clone()
    for _ in range(new_tokens):
        with torch.no_grad():
            p = next_token_probabilities(model(tokens[..., -model.max_length :])[..., -1, :], **sampling)
        noise = torch.empty_like(p).exponential_(generator=generator)
        tokens = torch.hstack([tokens, (p / noise).argmax(-1, keepdim=True)])
    model.train(True)
    return tokens


# %% wrong stays-in-train-mode: no eval
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong stays-in-train-mode: no modes at all
def generate(model, prompt, new_tokens, generator, **sampling):
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    return tokens


# %% wrong prompt-lost: sliced off
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens[:, prompt.shape[1] :]


# %% wrong prompt-lost: only the drawn are kept
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.train(False)
    pieces = [prompt]
    with torch.no_grad():
        for _ in range(new_tokens):
            seen = torch.cat(pieces, 1)
            if seen.shape[1] > model.max_length:
                seen = seen[:, seen.shape[1] - model.max_length :]
            p = next_token_probabilities(model(seen)[:, -1], **sampling)
            threshold = torch.rand(len(p), 1, generator=generator)
            pieces.append((p.cumsum(-1) < threshold).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1))
    if mode:
        model.train()
    return torch.cat(pieces[1:], 1)


# %% wrong beginning-lost: cut under one name
def one_more(model, tokens, generator, sampling):
    tokens = tokens[:, -model.max_length :]
    logits = model(tokens)[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong beginning-lost: cut at the end
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens[:, -model.max_length :]


# %% wrong context-not-cut: all of it
def one_more(model, tokens, generator, sampling):
    logits = model(tokens)[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong context-not-cut: everything so far
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = 0
                logits = model(text[:, start:t])
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                text[:, t] = torch.multinomial(p, num_samples=1, generator=generator).squeeze(1)
    finally:
        model.train(mode)
    return text


# %% wrong first-tokens-kept: the wrong end
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, : model.max_length])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong first-tokens-kept: start stays
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = max(0, t - model.max_length)
                logits = model(text[:, : min(t, model.max_length)])
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                text[:, t] = torch.multinomial(p, num_samples=1, generator=generator).squeeze(1)
    finally:
        model.train(mode)
    return text


# %% wrong reads-first-position: 0
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, 0]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong reads-first-position: first of the reversed
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = max(0, t - model.max_length)
                logits = model(text[:, start:t])
                p = next_token_probabilities(logits.flip(1)[:, -1, :], **sampling)
                text[:, t] = torch.multinomial(p, num_samples=1, generator=generator).squeeze(1)
    finally:
        model.train(mode)
    return text


# %% wrong forgets-the-text: the last token
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -1:])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong forgets-the-text: the prompt again
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(prompt[:, -model.max_length :])[:, -1]
            p = next_token_probabilities(logits, **sampling)
            drawn = torch.multinomial(p, 1, generator=generator)
            tokens = torch.cat([tokens, drawn], dim=1)
    model.train(was)
    return tokens


# %% wrong always-argmax: argmax
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = p.argmax(-1, keepdim=True)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong always-argmax: the largest logit
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = max(0, t - model.max_length)
                logits = model(text[:, start:t])
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                text[:, t] = logits[:, -1].max(-1).indices
    finally:
        model.train(mode)
    return text


# %% wrong one-draw-for-all: the first row's
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p[:1], 1, generator=generator).expand(len(p), 1)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong one-draw-for-all: one threshold
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.train(False)
    pieces = [prompt]
    with torch.no_grad():
        for _ in range(new_tokens):
            seen = torch.cat(pieces, 1)
            if seen.shape[1] > model.max_length:
                seen = seen[:, seen.shape[1] - model.max_length :]
            p = next_token_probabilities(model(seen)[:, -1], **sampling)
            threshold = torch.rand(1, generator=generator)
            pieces.append((p.cumsum(-1) < threshold).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1))
    if mode:
        model.train()
    return torch.cat(pieces, 1)


# %% wrong sampling-ignored: not passed on
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong sampling-ignored: softmax
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    try:
        B, T = prompt.shape
        text = torch.zeros(B, T + new_tokens, dtype=prompt.dtype)
        text[:, :T] = prompt
        with torch.inference_mode():
            for t in range(T, T + new_tokens):
                start = max(0, t - model.max_length)
                logits = model(text[:, start:t])
                p = logits[:, -1, :].softmax(-1)
                text[:, t] = torch.multinomial(p, num_samples=1, generator=generator).squeeze(1)
    finally:
        model.train(mode)
    return text


# %% wrong generator-ignored: torch's own
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(p, 1)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong generator-ignored: one made here
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong generator-ignored: made again from its seed
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    fresh = torch.Generator().manual_seed(generator.initial_seed())
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(tokens[:, -model.max_length :])[:, -1]
            p = next_token_probabilities(logits, **sampling)
            drawn = torch.multinomial(p, 1, generator=fresh)
            tokens = torch.cat([tokens, drawn], dim=1)
    model.train(was)
    return tokens


# %% wrong -: gradients recorded
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    if True:
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong one-token-off: one token too few
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens - 1):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens


# %% wrong -: the most improbable
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = p.argmin(-1, keepdim=True)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong -: temperature always 1.5
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits / 1.5, **sampling)
    drawn = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong -: uniform draws
def one_more(model, tokens, generator, sampling):
    logits = model(tokens[:, -model.max_length :])[:, -1]
    p = next_token_probabilities(logits, **sampling)
    drawn = torch.multinomial(torch.ones_like(p), 1, generator=generator)
    return torch.cat([tokens, drawn], dim=1)


# %% wrong changes-argument: written into the prompt
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt.clone()
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    prompt[:, 0] = 0
    return tokens


# %% wrong wrong-type: a list
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    return tokens.tolist()


# %% wrong returns-nothing: no return
def generate(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens = prompt
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = one_more(model, tokens, generator, sampling)
    model.train(was)
    len(tokens)


# %% right: a list of columns
def generate(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    columns = list(prompt.unbind(1))
    with torch.no_grad():
        for _ in range(new_tokens):
            context = torch.stack(columns[-model.max_length :], 1)
            probs = next_token_probabilities(model(context)[:, -1, :], **sampling)
            columns.append(torch.multinomial(probs, num_samples=1, generator=generator).squeeze(1))
    model.train(mode)
    return torch.stack(columns, 1)
