"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it, a packet a message: "fork", with the child's own end of a pipe, is
answered; "kill N" ends the Nth child that was forked and is not answered. A child runs a `Servant` until its pipe is
closed. Run as `python -m grader.subject.zygote FD [CONFINEMENT]`; with a confinement (see `grader.subject.confine`) it
is process 1 of a sandbox, has one child at a time, and ends with a child everything that the child started.
"""

from __future__ import annotations

import ctypes
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
from grader.subject.rehearsal import rehearse
from grader.subject.servant import Servant
from grader.subject.values import Callback
from grader.subject.watch import warm_up
from grader.subject.wire import WireError

LARGE_PAGE_BITS, MADV_COLLAPSE = 21, 25


def main() -> None:
    """Fork on request until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Confinement.from_json(sys.argv[2]) if len(sys.argv) > 2 else None
    # A child could send it; as process 1 without a handler it can't be reached.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    for package in limits.packages if limits else ():
        importlib.import_module(package)
    rehearse()
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    gc.collect()
    _into_large_pages()
    # A child's garbage collector shall not touch, and so copy, what was there before it.
    gc.freeze()
    control.send(b"ready")
    _serve_forks(control, limits)


def _into_large_pages() -> None:
    """Move Python's objects into large pages: a fork then copies one entry in place of 512. Linux 6.1 and later can;
    elsewhere a fork takes some milliseconds more."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for page in {id(thing) >> LARGE_PAGE_BITS for thing in gc.get_objects()}:
        advise(page << LARGE_PAGE_BITS, 1 << LARGE_PAGE_BITS, MADV_COLLAPSE)


def _serve_forks(control: socket.socket, limits: Confinement | None) -> None:
    children: dict[int, int] = {}
    forks = 0
    while True:
        try:
            message, descriptors, _flags, _address = socket.recv_fds(control, 64, 1)
        except ConnectionResetError:  # closed with an answer of ours unread
            break
        if not message:
            break
        word, *rest = message.decode().split()
        if word == "fork":
            # The second number is our own size, which can't be seen from in here.
            pid = _fork(control, descriptors[0], limits, int(rest[0]))
            forks += 1
            children[forks] = pid
            os.close(descriptors[0])
            control.send(b"forked")
        elif word == "kill" and int(rest[0]) in children:
            _end(children.pop(int(rest[0])), limits is not None and bool(limits.scratch))
    for pid in children.values():
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
            outcome = servant.carry_out(Request(**request))
            if os.getpid() != me:
                return  # a fork that the student's code made and that came back: one of us is enough
            try:
                channel.send({"outcome": to_plain(outcome), "token": token})
            except WireError as error:
                too_large = Outcome(status="missing", value=f"a result that can't be sent: {error}"[:OUTPUT_BYTES])
                channel.send({"outcome": to_plain(too_large), "token": token})


if __name__ == "__main__":
    main()
