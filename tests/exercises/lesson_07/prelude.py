import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        def heads(layer, x):
            return layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

        q, k, v = heads(self.q_proj, query), heads(self.k_proj, key), heads(self.v_proj, value)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


# %% FeedForward
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


# %% TransformerBlock
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask=None):
        x = self.norm1(query + self.dropout(self.attention(query, key, value, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# %% Encoder
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))

    def forward(self, tokens, mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, x, x, mask)
        return x


# %% DecoderBlock
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.block = TransformerBlock(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, trg_mask):
        query = self.norm(x + self.dropout(self.attention(x, x, x, trg_mask)[0]))
        return self.block(memory, memory, query, src_mask)


# %% Decoder
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, dropout=0.0, max_length=100):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.fc_out = nn.Linear(d_model, vocab_size)

    embed = Encoder.embed

    def forward(self, tokens, memory, src_mask, trg_mask):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, memory, src_mask, trg_mask)
        return self.fc_out(x)
