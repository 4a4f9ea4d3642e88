"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it, one message per packet: "fork SIZE", with the child's own end of a
pipe, is answered; "kill N" ends the Nth child that was forked and is not answered. A child confines itself, says on its
pipe that it is ready, and runs an `Executor` until the pipe is closed. Run as `python -m grader.subject.zygote_process
FD [CONFINEMENT]` (see `grader.subject.confine`). As process 1 of a sandbox it has one child at a time, and ends with a
child everything that the child started.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
import threading

import torch

from grader.subject.cells import notebook_namespace
from grader.subject.channel import READY, Channel, Closed
from grader.subject.confine import Confinement, confine
from grader.subject.executor import Executor
from grader.subject.protocol import OUTPUT_BYTES, Outcome, Request, to_plain
from grader.subject.values import Callback
from grader.subject.watch import warm_up, watch_threads
from grader.subject.wire import WireError, decode, encode

MESSAGE_BYTES = 64
# Of `mallopt`.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
ORDINARY = """
import torch
from torch import nn

def attend(x, y):
    weights = torch.softmax(x @ y.transpose(-2, -1) / x.shape[-1] ** 0.5, dim=-1)
    return weights @ y, weights

class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return self.linear(x)

print(attend(torch.randn(2, 3), torch.randn(4, 3))[0])
"""


def main() -> None:
    """Fork on request until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Confinement.from_json(sys.argv[2]) if len(sys.argv) > 2 else None
    # A child could send it; as process 1 without a handler it can't be reached.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    for name in limits.packages if limits else ():
        importlib.import_module(name)
    _make_ordinary_calls()
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    watch_threads()
    _count_memory_in_use()
    # A child's garbage collector must not touch, and so copy, what was there before the fork.
    gc.freeze()
    control.send(b"ready")
    _serve_forks(control, limits)


def _count_memory_in_use() -> None:
    """Have large tensors given back when they are freed, and no thread reserve 64 MiB: a child's memory is limited by
    its address space, where what isn't in use would count."""
    with contextlib.suppress(AttributeError):  # not every C library has it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 2**20)
        mallopt(M_ARENA_MAX, 1)


def _make_ordinary_calls() -> None:
    """What Python and torch make at first use is there for every child, which would else make it again."""
    x = torch.rand(2, 5, 4)
    executor = Executor(notebook_namespace({"__name__": "__main__"}))
    for request in (
        Request("names", args=(ORDINARY,)),
        Request("run", source=ORDINARY),
        Request("describe", "attend"),
        Request("call", "attend", (x, x)),
        Request("call", "attend", (x.double(), x.double()), watch=True),
        Request("call", "attend", (x, x), cotangents=(x, torch.ones(2, 5, 5))),
        Request("build", "Layer", (4,), handle="layer"),
        Request("mode", "@layer", (False, "float32")),
        Request("state", "@layer"),
        Request("call", "@layer", (x,), cotangents=(x,)),
    ):
        executor.carry_out(Request(**decode(encode(to_plain(request)))))


def _serve_forks(control: socket.socket, limits: Confinement | None) -> None:
    children: dict[int, int] = {}
    forks = 0
    while True:
        try:
            message, descriptors, _flags, _address = socket.recv_fds(control, MESSAGE_BYTES, 1)
        except ConnectionResetError:  # closed with an answer of ours unread
            break
        if not message:
            break
        word, number = message.decode().split()
        if word == "fork":
            forks += 1
            # The number is our own size, which can't be seen from inside the sandbox.
            children[forks] = _fork(control, descriptors[0], limits, int(number))
            os.close(descriptors[0])
            with contextlib.suppress(ConnectionError):  # nobody is there any more: the next read says so
                control.send(b"forked")
        elif word == "kill" and int(number) in children:
            _end(children.pop(int(number)))
    for pid in children.values():
        _end(pid)


def _end(pid: int) -> None:
    """Kill a child and what it has started, and wait for the end. As process 1 of a sandbox that is all there is."""
    if os.getpid() == 1:
        _end_all_others()
        return
    with contextlib.suppress(ProcessLookupError):  # the student's code may have left its group
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)  # it is ours and not yet waited for, so the number can't be another's
    os.waitpid(pid, 0)


def _end_all_others() -> None:
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
        channel.send(READY)
        serve(channel)
    finally:
        os._exit(0)


def _silence() -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.close(silence)


def serve(channel: Channel) -> None:
    """Answer requests from `channel` with an executor of an empty namespace, until it is closed."""

    def answer(callback: Callback, args: tuple[object, ...]) -> object:
        channel.send({"callback": callback.number, "args": args})
        word, value = channel.receive()
        if word == "raised":
            raise TypeError(value)
        return value

    me = os.getpid()
    executor = Executor(notebook_namespace({"__name__": "__main__", "__builtins__": __builtins__}), answer)
    while True:
        try:
            token, request = channel.receive()
        except Closed:
            return
        outcome = executor.carry_out(Request(**request))
        if os.getpid() != me:
            return  # a fork that the student's code made and that came back: one of us is enough
        try:
            channel.send({"outcome": to_plain(outcome), "token": token})
        except WireError as error:
            too_large = Outcome(status="too-large", value=str(error)[:OUTPUT_BYTES])
            channel.send({"outcome": to_plain(too_large), "token": token})


if __name__ == "__main__":
    main()
