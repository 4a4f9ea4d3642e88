"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it, a packet a message: "fork", with the child's own end of a pipe, is
answered by the child's number; "kill N" ends a child and is not answered. A child runs a `Servant` until its pipe is
closed. Run as `python -m grader.subject.zygote FD [CONFINEMENT]`; with a confinement (see `grader.subject.confine`) it
is process 1 of a sandbox, has one child at a time, and ends with a child everything that the child started.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import threading

import torch

from grader.subject.cells import furnish
from grader.subject.channel import Channel, Closed
from grader.subject.confine import Confinement, confine
from grader.subject.protocol import OUTPUT_BYTES, Outcome, Request, to_plain
from grader.subject.servant import Servant
from grader.subject.values import Callback
from grader.subject.watch import warm_up
from grader.subject.wire import WireError


def main() -> None:
    """Fork on request until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Confinement.from_json(sys.argv[2]) if len(sys.argv) > 2 else None
    # A child could send it; as process 1 without a handler it can't be reached.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    _rehearse()
    for package in limits.packages if limits else ():
        importlib.import_module(package)
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    # A child's garbage collector shall not touch, and so copy, what was there before it.
    gc.collect()
    gc.freeze()
    control.send(b"ready")
    _serve_forks(control, limits)


REHEARSED = """
import torch
import torch.nn.functional as F
from torch import nn

def f(x, y):
    print(x)
    weights = torch.softmax(x @ y.transpose(-2, -1) / x.shape[-1] ** 0.5, dim=-1)
    weights = weights.exp() / weights.exp().sum(-1, keepdim=True)
    return F.linear(torch.einsum("...ij,...jk->...ik", weights, y), y), weights.masked_fill(x > 2, 0.0)

def g(x):
    return x[9]

class M(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return self.linear(x).amax(-1) + torch.zeros(len(x)).view(-1).abs()
"""


def _rehearse() -> None:
    """Do once what every child does: what Python and torch make at first use is then there before the forks."""
    x, y = torch.ones(3, 2, 2), torch.ones(3, 2, 2)
    state = {"linear.weight": torch.ones(2, 2), "linear.bias": torch.ones(2)}
    requests = (
        Request("names", args=(REHEARSED,)),
        Request("run", source=REHEARSED),
        Request("describe", "f"),
        Request("call", "f", (x, y), watch=True),
        Request("call", "f", (x, y), cotangents=(x, y)),
        Request("call", "g", (x,)),
        Request("build", "M", (2,), handle="m"),
        Request("mode", "@m", (False, "float32")),
        Request("load", "@m", (state,)),
        Request("call", "@m", (x,), cotangents=(torch.ones(3, 2),)),
    )
    ours, theirs = socket.socketpair()
    sender, receiver = Channel(ours), Channel(theirs)
    servant = Servant(furnish({}))
    for request in requests:
        sender.send(to_plain(request))
        outcome = servant.handle(Request(**receiver.receive()))
        sender.send(to_plain(outcome))
        receiver.receive()
    sender.close()
    receiver.close()


def _serve_forks(control: socket.socket, limits: Confinement | None) -> None:
    children: set[int] = set()
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(control, 64, 1)
        if not message:
            break
        word, *rest = message.decode().split()
        if word == "fork":
            # The second number is our own size, which can't be seen from in here.
            pid = _fork(control, descriptors[0], limits, int(rest[0]))
            children.add(pid)
            os.close(descriptors[0])
            control.send(f"{pid}".encode())
        elif word == "kill" and int(rest[0]) in children:
            _end(int(rest[0]), limits is not None and bool(limits.scratch))
            children.discard(int(rest[0]))
    for pid in children:
        _end(pid, False)


def _end(pid: int, everything: bool) -> None:
    """Kill a child; with `everything` (process 1 of a namespace) every process there is, until none is left."""
    if not everything or os.getpid() != 1:
        os.killpg(pid, signal.SIGKILL)  # it is ours and not yet waited for, so the number can't be another's
        os.waitpid(pid, 0)
        return
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
            os.waitpid(-1, 0)
        except (ProcessLookupError, ChildProcessError):
            return


def _fork(control: socket.socket, descriptor: int, limits: Confinement | None, address_space: int) -> int:
    pid = os.fork()
    if pid:
        os.setpgid(pid, pid)  # here too: whichever of the two comes first
        return pid
    try:
        os.setpgid(0, 0)
        control.close()
        channel = Channel(socket.socket(fileno=descriptor))
        _silence()
        if limits is not None:
            confine(limits, address_space)
        serve(channel)
    finally:
        os._exit(0)


def _silence() -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.close(silence)


def serve(channel: Channel) -> None:
    """Answer requests from `channel` with a servant of an empty namespace, until it is closed."""

    def answer(callback: Callback, args: tuple[object, ...]) -> object:
        channel.send({"callback": callback.number, "args": args})
        word, value = channel.receive()
        if word == "raised":
            raise TypeError(value)
        return value

    me = os.getpid()
    servant = Servant(furnish({"__name__": "__main__", "__builtins__": __builtins__}), answer)
    while True:
        try:
            requests = channel.receive()
        except Closed:
            return
        for token, request in requests:
            outcome = servant.handle(Request(**request))
            if os.getpid() != me:
                return  # a fork that the student's code made and that came back: one of us is enough
            try:
                channel.send({"outcome": to_plain(outcome), "token": token})
            except WireError as error:
                too_large = Outcome(status="missing", value=f"a result that can't be sent: {error}"[:OUTPUT_BYTES])
                channel.send({"outcome": to_plain(too_large), "token": token})


if __name__ == "__main__":
    main()
