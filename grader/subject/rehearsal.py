"""What a zygote does once, so that no child has to: Python and torch make much at first use, and write to memory that a
child would then have to copy page by page. Measured on a submission of lesson 01: 2,300 page faults in place of 2,700.
"""

from __future__ import annotations

import secrets
import socket

import torch
from torch import Tensor

from grader.subject.cells import notebook_namespace
from grader.subject.channel import Channel
from grader.subject.executor import Executor
from grader.subject.protocol import Request, to_plain

TIMES = 3
# Ordinary code of a notebook on this course's subject. It solves no exercise: what counts is which functions it calls.
REHEARSED = '''
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def matrices(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Products, sums, shapes."""
    scores = x @ y.transpose(-2, -1) / math.sqrt(x.shape[-1])
    raised = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    weights = raised / raised.sum(-1, keepdim=True)
    mixed = torch.einsum("...ij,...jk->...ik", weights, y) + torch.matmul(weights, y)
    b, t, e = x.shape
    split = x.view(b, t, 2, e // 2).transpose(1, 2).contiguous().reshape(b, -1, e).permute(0, 2, 1)
    joined = torch.cat([split.mT, x], dim=-1).unsqueeze(1).squeeze(1).flatten(-2)
    return mixed - mixed.mean(-1, keepdim=True), joined.float().to(x.dtype) * (x.sum() ** 2 + 1.0).sqrt().rsqrt()


def masked(x: Tensor, y: Tensor) -> Tensor:
    mask = torch.ones(x.shape[-2], y.shape[-2], dtype=torch.bool, device=x.device).tril()
    scores = (x @ y.mT).masked_fill(~mask, float("-inf")).masked_fill(mask.triu(), -1e9)
    scores = torch.where(torch.isfinite(scores), scores, torch.zeros_like(scores)).clamp(-9, 9)
    steps = torch.arange(12).unsqueeze(-1) * torch.exp(torch.linspace(0, 1, 3))
    weights = torch.softmax(scores, dim=-1) + F.softmax(scores, dim=-1) + torch.log_softmax(scores, -1)
    return weights + torch.eye(2).sum() + torch.stack([steps.sin(), steps.cos()], -1).max() + torch.full((), 2.0)


def validates(x: Tensor) -> None:
    if not torch.isfinite(x).all() or torch.isnan(x).any():
        raise ValueError("not finite")
    if (x < 0).any() or bool((x > 1).any()) or x.min().item() < -1:
        raise ValueError(f"an entry is {x.max().item():.2f}")
    if not torch.allclose(x.sum(dim=-1), torch.ones(x.shape[:-1], dtype=x.dtype), rtol=0, atol=1e-4):
        raise ValueError("a row")
    if ((x.sum(-1) - 1).abs() > 1e-4).any():
        raise TypeError(str(x.tolist()))


class Layer(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(size, size), nn.LayerNorm(size), nn.Dropout(0.1)
        self.gain = nn.Parameter(torch.ones(size))
        self.register_buffer("mask", torch.tril(torch.ones(size, size)))
        self.layers = nn.ModuleList([nn.Linear(size, size, bias=False) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + self.drop(F.relu(layer(self.norm(x))))
        variance = x.var(-1, keepdim=True, unbiased=False) + x.pow(2).mean(-1, keepdim=True)
        return self.gain * F.gelu(self.linear(x)) / torch.sqrt(variance + 1e-5) + self.mask.sum()


print(matrices(torch.randn(1, 2, 4), torch.randn(1, 3, 4))[0].shape, torch.ones(2).tolist())
answers = {"one": 1, "two": (2, 3), "three": 0.5, "four": "a", "five": None}
'''


def rehearse() -> None:
    """Run the code above and ask about it, as a judge would."""
    for _ in range(TIMES):
        ours, theirs = socket.socketpair()
        sender, receiver = Channel(ours), Channel(theirs)
        executor = Executor(notebook_namespace({"__name__": "__main__"}))
        sender.send([(secrets.randbits(60), to_plain(request)) for request in _requests()])
        for token, plain in receiver.receive():
            sender.send({"outcome": to_plain(executor.carry_out(Request(**plain))), "token": token})
            receiver.receive()
        sender.close()
        receiver.close()


def _requests() -> list[Request]:
    x, y = torch.rand(2, 17, 12), torch.rand(2, 17, 12)
    state = {"linear.weight": torch.ones(12, 12), "linear.bias": torch.ones(12)}
    calls = [
        Request("call", name, arguments, cotangents=cotangents, watch=watch)
        for watch in (False, True)
        for name, arguments, cotangents in (
            ("matrices", (x, y), None),
            ("matrices", (x.double(), y.double()), None),
            ("matrices", (x, y), (x, torch.ones(2, 17 * 24))),
            ("masked", (x, y), None),
            ("masked", (x, y), (torch.ones(2, 17, 17),)),
            *(("validates", (rows,), None) for rows in _rows()),
            ("matrices", (x[0], y), None),
            ("@layer", (x,), None),
            ("@layer", (x,), (x,)),
        )
    ]
    return [
        Request("names", args=(REHEARSED,)),
        Request("run", source=REHEARSED),
        Request("run", source=REHEARSED, args=("definitions",)),
        Request("describe", "matrices"),
        Request("get", "answers"),
        Request("get", "nothing"),
        Request("build", "Layer", (12,), handle="layer"),
        Request("mode", "@layer", (False, "float32")),
        Request("load", "@layer", (state,)),
        Request("state", "@layer"),
        *calls,
    ]


def _rows() -> list[Tensor]:
    rows = torch.full((17, 4), 0.25)
    return [rows, rows * torch.nan, rows * 5, rows * 2, rows * 1.0001]
