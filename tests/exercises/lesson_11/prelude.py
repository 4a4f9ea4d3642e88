import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            split_heads(layer(x), self.num_heads)
            for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.out_proj(merge_heads(weights @ v)), weights


def apply_rope(x, positions, base=10000.0):
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = positions.unsqueeze(-1) * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(turned, dim=-1).flatten(-2)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


class RotaryAttention(MultiHeadAttention):
    def forward(self, x, is_causal=False, cache=None):
        query, key, value = (split_heads(layer(x), self.num_heads) for layer in (self.q_proj, self.k_proj, self.v_proj))
        before = cache.get(id(self)) if cache else None
        seen = before[0].shape[-2] if before else 0
        positions = torch.arange(seen, seen + x.shape[1])
        query, key = apply_rope(query, positions), apply_rope(key, positions)
        if before:
            key, value = torch.cat([before[0], key], dim=-2), torch.cat([before[1], value], dim=-2)
        if cache is not None:
            cache[id(self)] = (key, value)
        mask = torch.ones(x.shape[1], seen + x.shape[1], dtype=torch.bool)
        attended = F.scaled_dot_product_attention(query, key, value, mask.tril(seen) if is_causal else mask)
        return self.out_proj(merge_heads(attended))


# %% GPTBlock
class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = RotaryAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cache=None):
        x = x + self.dropout(self.attention(self.norm1(x), is_causal=True, cache=cache))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# %% GPT
class GPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=256):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(GPTBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.token_embedding.weight = self.head.weight

    def forward(self, tokens, cache=None):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, at most {self.max_length}")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cache)
        logits = self.head(self.norm(x))
        return logits if cache is None else (logits, cache)


# %% next_token_probabilities
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(-1) - p
        p = p * ((before < top_p) | (before == 0))
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


# %% generate
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
