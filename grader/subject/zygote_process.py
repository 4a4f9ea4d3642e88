"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it, one message per packet: "fork N", with the child's own end of a pipe,
is answered, and the child has N bytes of memory less than others; "kill N" ends the Nth child that was forked and is
not answered. A child confines itself, says on its pipe that it is ready, and runs an `Executor` until the pipe is
closed. Run as `python -m grader.subject.zygote_process FD`; `grader/judge/inside/start.py` starts a confined one, whose
children come one after the other: they share the scratch folder, which is emptied between them, and while one lives,
what it uses is looked at many times a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import torch
import torch._dynamo  # a second or more, which every child would need for its first optimizer or vmap

from grader.subject import settings
from grader.subject.cells import notebook_namespace
from grader.subject.channel import READY, Channel
from grader.subject.confine import Confinement, Confiner
from grader.subject.errors import Closed, WireError
from grader.subject.executor import Executor
from grader.subject.protocol import MAX_MESSAGE, OUTPUT_CHARACTERS, Outcome, Request, to_plain
from grader.subject.scratch import empty, overdrawn
from grader.subject.values import Callback
from grader.subject.watch import warm_up, watch_threads
from grader.subject.wire import decode, encode

MESSAGE_BYTES = 64
# Of `mallopt`.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
# Bytes that are given back when they are freed, which costs time: of a child's, and of one's with less memory.
LARGE, LARGE_OF_LITTLE = 2**20, 2**17
WATCH_SECONDS = 0.02
REFUSED = (
    "While a notebook is graded, it may write files in its own folder and start threads, but it can't start other "
    "processes, open connections, or read or change files elsewhere."
)
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


def main(control: socket.socket, limits: Confinement | None) -> None:
    """Fork on request until the other end of `control` is closed. `limits` confine the children; None leaves them
    free."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whatever a worker of a class blocks
    # Where memory runs out, the kernel shall take a submission, not the judge.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    for name in limits.modules if limits else ():
        importlib.import_module(name)
    _take_any_backend()
    _make_ordinary_calls()
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    watch_threads()
    _count_memory_in_use(LARGE)
    # A child's garbage collector must not touch, and so copy, what was there before the fork.
    gc.freeze()
    children = Children(Confiner(limits) if limits else None)
    control.send(b"ready")
    _serve_forks(control, children)


def _count_memory_in_use(large: int) -> None:
    """Have memory of at least `large` bytes given back when it is freed, and no thread reserve 64 MiB: a child's memory
    is limited by its address space, where what isn't in use would count."""
    with contextlib.suppress(AttributeError):  # not every C library has it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, large)
        mallopt(M_ARENA_MAX, 1)


def _take_any_backend() -> None:
    """Let `matplotlib.use` name a backend that needs a screen. In a kernel that raises nothing before pyplot is
    imported, which is so here from the start."""
    if matplotlib := sys.modules.get("matplotlib"):
        use = matplotlib.use
        matplotlib.use = lambda backend, **_force: use(backend, force=False)  # type: ignore[attr-defined]


def _make_ordinary_calls() -> None:
    """Make the ordinary calls once, so that what Python and torch create at first use is there for every child, which
    would otherwise create it again."""
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


def _serve_forks(control: socket.socket, children: Children) -> None:
    while True:
        control.settimeout(WATCH_SECONDS if children.watched else None)
        try:
            message, descriptors, _flags, _address = socket.recv_fds(control, MESSAGE_BYTES, 1)
        except TimeoutError:
            children.look()
            continue
        except ConnectionResetError:  # closed with an answer of ours unread
            break
        if not message:
            break
        word, number = message.decode().split()
        if word == "fork":
            children.fork(control, descriptors[0], int(number))
            os.close(descriptors[0])
            with contextlib.suppress(ConnectionError):  # nobody is there any more: the next read says so
                control.send(b"forked")
        else:
            children.end(int(number))
    children.end_all()


class Children:
    """The forked children by their numbers, counted from 1."""

    def __init__(self, confiner: Confiner | None) -> None:
        self._confiner = confiner
        self._scratch = confiner.limits.scratch if confiner else ""
        self._alive: dict[int, int] = {}
        self._forks = 0
        self._empty()

    @property
    def watched(self) -> bool:
        """Whether there is a child whose threads and files are counted."""
        return bool(self._scratch and self._alive)

    def look(self) -> None:
        """Kill a child that uses more than it may. It stays to be waited for."""
        assert self._confiner is not None
        for pid in self._alive.values():
            if overdrawn(pid, self._confiner.limits):
                os.kill(pid, signal.SIGKILL)

    def fork(self, control: socket.socket, descriptor: int, less_memory: int) -> None:
        """Fork another child, which gets the `descriptor` of its end of a pipe and `less_memory` bytes less than
        others."""
        if self._scratch:
            self.end_all()
        self._forks += 1
        self._alive[self._forks] = _fork(control, descriptor, self._confiner, less_memory)

    def end(self, number: int) -> None:
        """Kill a child, wait for its end, and remove what it wrote."""
        if number not in self._alive:
            return
        pid = self._alive.pop(number)
        with contextlib.suppress(ProcessLookupError):  # the student's code may have left its group
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)  # it is ours and not yet waited for, so the number can't be another's
        os.waitpid(pid, 0)
        self._empty()

    def end_all(self) -> None:
        """End every child that is left."""
        for number in list(self._alive):
            self.end(number)

    def _empty(self) -> None:
        if self._scratch:
            empty(self._scratch)


def _fork(control: socket.socket, descriptor: int, confiner: Confiner | None, less_memory: int) -> int:
    pid = os.fork()
    if pid:
        os.setpgid(pid, pid)  # here too: whichever of the two comes first
        return pid
    try:
        os.setpgid(0, 0)
        control.close()
        channel = Channel(socket.socket(fileno=descriptor))
        _silence()
        if confiner is not None:
            _confine(confiner, channel, descriptor, less_memory)
        channel.send(READY)
        serve(channel, REFUSED if confiner is not None and confiner.limits.scratch else "")
    finally:
        os._exit(0)


def _confine(confiner: Confiner, channel: Channel, descriptor: int, less_memory: int) -> None:
    if less_memory:  # the C library doesn't take all that is freed again, which would soon fill it
        _count_memory_in_use(LARGE_OF_LITTLE)
    try:
        confiner.confine(descriptor, less_memory)
    except (OSError, ValueError) as error:
        channel.send(str(error))
        raise
    if confiner.limits.scratch:
        sys.path.insert(0, "")  # as in a kernel: a module that a cell writes can be imported
        # What copies a file's mode and times too can't, and copies without.
        shutil.copymode = shutil.copystat = _nothing


def _nothing(*_args: object, **_keywords: object) -> None:
    pass


def _silence() -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.close(silence)


def serve(channel: Channel, refused: str) -> None:
    """Answer requests from `channel` with an executor of an empty namespace, until it is closed. `refused` is a
    sentence added to an error about permission, "" for none."""

    def answer(callback: Callback, args: tuple[object, ...]) -> object:
        channel.send({"callback": callback.number, "args": args})
        word, value = channel.receive()
        if word == "raised":
            raise TypeError(value)
        return value

    me = os.getpid()
    settings.seed(Request.seed)  # each cell draws on from the one before it, as in Jupyter
    # The notebook is the main module, as in Jupyter: there pickle looks for its classes.
    notebook = ModuleType("__main__")
    vars(notebook)["__builtins__"] = __builtins__
    sys.modules["__main__"] = notebook
    executor = Executor(notebook_namespace(vars(notebook)), answer)

    # Tensors are made of what is read, and read again: no setting of the notebook's may change them on the way.
    @settings.under_torchs_own
    def until_a_cell(of_cell: tuple[int, Outcome] | None) -> tuple[int, Request]:
        """Send the outcome of the cell before, if there is one, and answer requests until one is to run a cell; its
        number, and the request."""
        if of_cell is not None:
            reply(*of_cell)
        while True:
            token, fields = channel.receive()
            request = Request(**fields)
            if request.op == "run":
                return token, request
            reply(token, executor.carry_out(request))

    def reply(token: int, outcome: Outcome) -> None:
        if outcome.status == "waited":
            outcome = replace(outcome, status="time-limit")  # here nobody can be asked to wait and run it again
        if os.getpid() != me:
            raise Closed  # a fork that the student's code made and that came back: one of us is enough
        if refused and outcome.raised is not None and "PermissionError" in outcome.raised.types:
            said = outcome.raised.message[: MAX_MESSAGE - len(refused) - 2]
            outcome = replace(outcome, raised=replace(outcome.raised, message=f"{said}. {refused}"))
        try:
            channel.send({"outcome": to_plain(outcome), "token": token})
        except WireError as error:
            too_large = Outcome(status="too-large", value=str(error)[:OUTPUT_CHARACTERS])
            channel.send({"outcome": to_plain(too_large), "token": token})

    of_cell = None
    with contextlib.suppress(Closed):
        while True:
            token, request = until_a_cell(of_cell)
            of_cell = token, executor.carry_out(request)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), None)
