# %% prelude
# A right one in two pieces: many cells below change how one more token is written.
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    return torch.cat([tokens, new], dim=1), new, cache


def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% right: new and tokens
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            p = next_token_probabilities(logits[:, -1], **sampling)
            new = torch.multinomial(p, 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
    model.train(was)
    return tokens


# %% right: the prompt first, the last token not fed
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% right: written into place
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    text = torch.zeros(len(prompt), prompt.shape[1] + new_tokens, dtype=torch.long)
    text[:, : prompt.shape[1]] = prompt
    cache, done = dict(), 0
    with torch.no_grad():
        for end in range(prompt.shape[1], text.shape[1]):
            logits, cache = model(text[:, done:end], cache)
            done = end
            p = next_token_probabilities(logits[:, -1], **sampling)
            text[:, end] = torch.multinomial(p, 1, generator=generator)[:, 0]
    model.train(mode)
    return text


# %% wrong prompt-token-by-token: the prompt in two pieces
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    cache, tokens = {}, prompt
    with torch.no_grad():
        model(prompt[:, :1], cache)
        new = prompt[:, 1:]
        for _ in range(new_tokens):
            logits, _ = model(new, cache)
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
    model.train(was)
    return tokens


# %% wrong pair-not-unpacked: indexed as logits
def one_more(model, tokens, new, cache, generator, sampling):
    logits = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong pair-not-unpacked: a method of a tensor
def one_more(model, tokens, new, cache, generator, sampling):
    logits = model(new, cache)
    p = next_token_probabilities(logits.select(1, -1), **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong one-token-off: too few
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens - 1):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong one-token-off: too many
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens + 1):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong token-without-its-axis: squeezed
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator).squeeze(1)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong token-without-its-axis: its first column
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)[:, 0]
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong sampling-as-one-argument: without stars
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong sampling-as-one-argument: by the name of the first
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], temperature=sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong last-token-fed: the model at the end of the loop
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, cache = prompt, {}
    with torch.no_grad():
        logits, cache = model(prompt, cache)
        for _ in range(new_tokens):
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
            logits, cache = model(new, cache)
    model.train(was)
    return tokens


# %% wrong last-token-fed: fed once more after the loop
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.inference_mode():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
        model(new, cache)
    model.train(was)
    return tokens


# %% wrong none-for-an-empty-cache: None at the start
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, None
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
    model.train(was)
    return tokens


# %% wrong none-for-an-empty-cache: the prompt without a cache
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    pieces = [prompt]
    with torch.no_grad():
        logits, cache = model(prompt)
        for step in range(new_tokens):
            p = next_token_probabilities(logits[:, -1], **sampling)
            pieces.append(torch.multinomial(p, 1, generator=generator))
            if step < new_tokens - 1:
                logits, cache = model(pieces[-1], cache)
    model.train(was)
    return torch.cat(pieces, dim=1)


# %% wrong only-one-token: the return inside the loop
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
            model.train(was)
            return tokens


# %% wrong only-one-token: appended to the prompt
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    new, cache = prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = model(new, cache)
            new = torch.multinomial(next_token_probabilities(logits[:, -1], **sampling), 1, generator=generator)
            tokens = torch.cat([prompt, new], dim=1)
    model.train(was)
    return tokens


# %% wrong cache-not-used: as generate
def one_more(model, tokens, new, cache, generator, sampling):
    logits = model(tokens)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong cache-not-used: everything with an empty cache
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(tokens, {})
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong positions-from-zero: a new cache each time
def one_more(model, tokens, new, cache, generator, sampling):
    logits, _ = model(new, {})
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong positions-from-zero: without a cache from then on
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1])
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% wrong positions-from-zero: a new dict each time
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    text = torch.zeros(len(prompt), prompt.shape[1] + new_tokens, dtype=torch.long)
    text[:, : prompt.shape[1]] = prompt
    cache, done = dict(), 0
    with torch.no_grad():
        for end in range(prompt.shape[1], text.shape[1]):
            logits, cache = model(text[:, done:end], {})
            done = end
            p = next_token_probabilities(logits[:, -1], **sampling)
            text[:, end] = torch.multinomial(p, 1, generator=generator)[:, 0]
    model.train(mode)
    return text


# %% wrong prompt-fed-twice: all tokens and the cache
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(tokens, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong prompt-fed-twice: once before the loop
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        model(prompt, cache)
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong prompt-fed-twice: the last token of the prompt again
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        model(prompt, cache)
        for _ in range(new_tokens):
            logits, cache = model(tokens[:, -1:], cache)
            p = next_token_probabilities(logits[:, -1], **sampling)
            new = torch.multinomial(p, 1, generator=generator)
            tokens = torch.cat([tokens, new], dim=1)
    model.train(was)
    return tokens


# %% wrong left-in-eval-mode: never put back
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    return tokens


# %% wrong left-in-eval-mode: early return
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
        return tokens
    model.train(was)
    return tokens


# %% wrong always-back-to-train-mode: train()
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train()
    return tokens


# %% wrong always-back-to-train-mode: True
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(True)
    return torch.cat(pieces, 1)


# %% wrong stays-in-train-mode: no eval
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong stays-in-train-mode: no modes at all
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    return tokens


# %% wrong prompt-lost: sliced off
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens[:, prompt.shape[1] :]


# %% wrong prompt-lost: only the drawn are kept
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces[1:], 1)


# %% wrong reads-first-position: 0
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, 0], **sampling)
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong reads-first-position: first row of the prompt's logits
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, 0, :], **sampling)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% wrong always-argmax: argmax
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = p.argmax(-1, keepdim=True)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong always-argmax: topk
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(p.topk(1, dim=-1).indices)
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% wrong one-draw-for-all: the first row's
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p[:1], 1, generator=generator).expand(len(p), 1)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong one-draw-for-all: repeated
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = next_token_probabilities(logits[:, -1, :], **sampling)
                pieces.append(torch.multinomial(p[0], 1, generator=generator).repeat(len(p), 1))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% wrong sampling-ignored: not passed on
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1])
    new = torch.multinomial(p, 1, generator=generator)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong sampling-ignored: softmax
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    pieces = [prompt]
    try:
        with torch.inference_mode():
            logits = model(prompt, cache)[0]
            for step in range(new_tokens):
                p = logits[:, -1, :].softmax(-1)
                pieces.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < new_tokens:
                    logits = model(pieces[-1], cache)[0]
    finally:
        model.train(mode)
    return torch.cat(pieces, 1)


# %% wrong generator-ignored: torch's own
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = torch.multinomial(p, 1)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong generator-ignored: one made here
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong generator-ignored: made again from its seed
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    generator.manual_seed(generator.initial_seed())
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong -: other draws than generate's
def one_more(model, tokens, new, cache, generator, sampling):
    logits, cache = model(new, cache)
    p = next_token_probabilities(logits[:, -1], **sampling)
    new = (p / torch.empty_like(p).exponential_(generator=generator).flip(0)).argmax(-1, keepdim=True)
    tokens = torch.cat([tokens, new], dim=1)
    return tokens, new, cache


# %% wrong -: gradients recorded
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    if True:
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens


# %% wrong cache-not-used: generate itself
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    return generate(model, prompt, new_tokens, generator, **sampling)


# %% wrong changes-argument: written into the prompt
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt.clone(), prompt.clone(), {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    prompt[:, 0] = 0
    return tokens


# %% wrong wrong-type: a list
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    return tokens.tolist()


# %% wrong returns-nothing: no return
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    was = model.training
    model.eval()
    tokens, new, cache = prompt, prompt, {}
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens, new, cache = one_more(model, tokens, new, cache, generator, sampling)
    model.train(was)
    len(tokens)


# %% wrong prompt-token-by-token: the prompt token by token
def generate_with_cache(model, prompt, new_tokens, generator, **sampling):
    mode = model.training
    model.eval()
    cache = {}
    with torch.no_grad():
        for t in range(prompt.shape[1]):
            logits, cache = model(prompt[:, t : t + 1], cache)
        tokens = prompt
        for i in range(new_tokens):
            p = next_token_probabilities(logits[:, -1], **sampling)
            new = torch.multinomial(p, 1, generator=generator)
            tokens = torch.cat([tokens, new], 1)
            if i < new_tokens - 1:
                logits, cache = model(new, cache)
    model.train(mode)
    return tokens
