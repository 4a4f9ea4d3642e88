"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it: "fork" arrives with the child's own end of a pipe and is answered by
the child's number; "kill N" ends a child. A child runs a `Servant` until its pipe is closed. Run as `python -m
grader.subject.zygote FD`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

import torch

from grader.subject.channel import Channel, Closed
from grader.subject.protocol import OUTPUT_BYTES, Outcome, Request, to_plain
from grader.subject.servant import Servant
from grader.subject.values import Callback
from grader.subject.watch import warm_up
from grader.subject.wire import WireError


def main() -> None:
    """Fork on request until the other end of the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    children: set[int] = set()
    control.sendall(b"ready\n")
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(control, 64, 1)
        if not message:
            break
        word, _, number = message.decode().strip().partition(" ")
        if word == "fork":
            pid = _fork(control, descriptors[0])
            children.add(pid)
            os.close(descriptors[0])
            control.sendall(f"{pid}\n".encode())
        elif word == "kill" and int(number) in children:
            _end(int(number))
            children.discard(int(number))
            control.sendall(b"done\n")
        else:
            control.sendall(b"done\n")
    for pid in children:
        _end(pid)


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)  # it is ours and not yet waited for, so the number can't be another's
    os.waitpid(pid, 0)


def _fork(control: socket.socket, descriptor: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        control.close()
        serve(Channel(socket.socket(fileno=descriptor)))
    finally:
        os._exit(0)


def serve(channel: Channel) -> None:
    """Answer requests from `channel` with a servant of an empty namespace, until it is closed."""
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)

    def answer(callback: Callback, args: tuple[object, ...]) -> object:
        channel.send({"callback": callback.number, "args": args})
        return channel.receive()

    servant = Servant({"__name__": "__main__", "__builtins__": __builtins__}, answer)
    while True:
        try:
            request = channel.receive()
        except Closed:
            return
        outcome = servant.handle(Request(**request))
        try:
            channel.send({"outcome": to_plain(outcome)})
        except WireError as error:
            too_large = Outcome(status="missing", value=f"a result that can't be sent: {error}"[:OUTPUT_BYTES])
            channel.send({"outcome": to_plain(too_large)})


if __name__ == "__main__":
    main()
