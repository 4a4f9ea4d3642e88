"""A process that has torch imported and forks a child for every submission: milliseconds in place of seconds.

It speaks on one socket with whoever started it, a packet a message: "fork", with the child's own end of a pipe, is
answered; "kill N" ends the Nth child that was forked and is not answered; "zygote CONFINEMENT" makes another zygote,
for the end of a socket that comes with it. A child runs a `Executor` until its pipe is closed. Run as `python -m
grader.subject.zygote_process FD [CONFINEMENT]`; with a confinement (see `grader.subject.confine`) it is process 1 of a sandbox,
has one child at a time, and ends with a child everything that the child started.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import struct
import sys
import threading

import torch

from grader.subject.cells import notebook_namespace
from grader.subject.channel import Channel, Closed
from grader.subject.confine import Confinement, confine, own_namespace
from grader.subject.executor import Executor
from grader.subject.later import load, put_off
from grader.subject.protocol import OUTPUT_BYTES, Outcome, Request, to_plain
from grader.subject.rehearsal import rehearse
from grader.subject.values import Callback
from grader.subject.watch import warm_up
from grader.subject.wire import WireError

LARGE_PAGE_BITS, MADV_COLLAPSE = 21, 25
# Sizes of malloc's chunks, and of the blocks that Python cuts by itself (there were fewer than 300 gaps of each).
GAPS = (*range(24, 1032, 16), *range(1032, 8192, 256), *range(8192, 2**17, 4096))
SMALL, GAPS_OF_A_SIZE = range(48, 513, 16), 300
MESSAGE_BYTES = 8192
EMPTY_BYTES = sys.getsizeof(b"")
HEAP = 2**28
_kept: list[bytes] = []


def main() -> None:
    """Fork on request until the other end of the socket is closed."""
    gc.disable()  # what is imported stays: to look through it for garbage again and again takes a fifth of a second
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Confinement.from_json(sys.argv[2]) if len(sys.argv) > 2 else None
    # A child could send it; as process 1 without a handler it can't be reached.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # With two threads and an operation before the fork, a child that computes hangs.
    torch.set_num_threads(1)
    warm_up()
    for name in limits.later if limits else ():
        put_off(name)
    for name in limits.packages if limits else ():
        load(name)
    rehearse()
    _settle()
    control.send(b"ready")
    _serve_forks(control, limits)
    os._exit(0)  # or the interpreter takes its modules apart first: somebody waits


def _settle() -> None:
    """All is imported: from here on forks are cheap."""
    if threading.active_count() != 1:
        raise SystemExit("the zygote must have one thread before it forks")
    _use_up_gaps()
    _into_large_pages()
    # A child's garbage collector shall not touch, and so copy, what was there before it.
    gc.freeze()
    gc.enable()


def _use_up_gaps() -> None:
    """Take the memory that is free between other things, for good: what a child makes then lies side by side on few
    pages, in place of being strewn over many that each have to be copied."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    end = libc.sbrk(0)
    for size in reversed(GAPS):
        while 0 < end - (libc.malloc(size) or 0) < HEAP:  # until the heap has to grow for it
            pass
    _kept.extend(bytes(size - EMPTY_BYTES) for size in SMALL for _ in range(GAPS_OF_A_SIZE))


def _into_large_pages() -> None:
    """Move what was made so far into large pages: a fork then copies one entry in place of 512. Linux can since 6.1;
    elsewhere a fork takes some milliseconds more."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.sbrk.restype = ctypes.c_void_p

    def moved(page: int) -> bool:
        return bool(libc.madvise(page << LARGE_PAGE_BITS, 1 << LARGE_PAGE_BITS, MADV_COLLAPSE) == 0)

    # Python's objects: a large page holds thousands of them, so one in sixteen is enough to find them all.
    for page in {id(thing) >> LARGE_PAGE_BITS for thing in gc.get_objects()[::16]}:
        moved(page)
    # torch's: malloc's heap, from its end down.
    page = (libc.sbrk(0) >> LARGE_PAGE_BITS) - 1
    while moved(page):
        page -= 1


def _serve_forks(control: socket.socket, limits: Confinement | None) -> None:
    children: dict[int, int] = {}
    forks, dying = 0, 0
    alone = limits is not None and bool(limits.scratch) and os.getpid() == 1
    while True:
        try:
            message, descriptors, _flags, _address = socket.recv_fds(control, MESSAGE_BYTES, 1)
        except ConnectionResetError:  # closed with an answer of ours unread
            break
        if not message:
            break
        word, _space, rest = message.decode().partition(" ")
        if word == "fork":
            # The second number is our own size, which can't be seen from in here.
            pid, gate = _fork(control, descriptors[0], limits, int(rest))
            if dying and not _was_alone(dying, pid):
                _end_everything()
                os.close(gate)
                pid, gate = _fork(control, descriptors[0], limits, int(rest))
            os.write(gate, b"!")
            os.close(gate)
            dying = 0
            forks += 1
            children[forks] = pid
            os.close(descriptors[0])
            with contextlib.suppress(ConnectionError):  # nobody is there any more: the next read says so
                control.send(b"forked")
        elif word == "zygote" and limits is not None:
            wanted = Confinement.from_json(rest)
            if limits.later and not set(wanted.packages) <= set(limits.packages):
                gc.disable()
                for name in wanted.packages:
                    load(name)
                _settle()
                limits = wanted
            _another(control, descriptors[0], wanted)
            os.close(descriptors[0])
        elif word == "kill" and int(rest) in children:
            pid = children.pop(int(rest))
            if alone:
                # From here on nothing of it can run or start anything. Until it is cleared away takes milliseconds, in
                # which the next child can be made.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
                dying = pid
            else:
                _end(pid)
    for pid in children.values():
        _end(pid)


def _another(control: socket.socket, descriptor: int, limits: Confinement) -> None:
    """Make a zygote that serves `descriptor`, process 1 of a namespace within this one: what it ends is in there."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here asks how they ended
    if os.fork():
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        own_namespace()
        if os.fork() == 0:
            theirs = socket.socket(fileno=descriptor)
            me = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
            theirs.sendmsg([b"ready"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, me)])
            _serve_forks(theirs, limits)
    finally:
        os._exit(0)


def _end(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)  # it is ours and not yet waited for, so the number can't be another's
    os.waitpid(pid, 0)


def _was_alone(dying: int, following: int) -> bool:
    """Wait for a child that was killed, and say whether it had started nothing: then the next one's number follows."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(dying, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return following == dying + 1


def _end_everything() -> None:
    """As process 1 of a namespace: kill every process there is, until none is left."""
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
            os.waitpid(-1, 0)
        except (ProcessLookupError, ChildProcessError):
            return


def _fork(control: socket.socket, descriptor: int, limits: Confinement | None, address_space: int) -> tuple[int, int]:
    """A child, and the end of a pipe: it gets itself ready, and answers nothing before it has read from there."""
    waiting, gate = os.pipe()
    pid = os.fork()
    if pid:
        os.close(waiting)
        os.setpgid(pid, pid)  # here too: whichever of the two comes first
        return pid, gate
    try:
        os.setpgid(0, 0)
        control.close()
        os.close(gate)
        channel = Channel(socket.socket(fileno=descriptor))
        _silence()
        if limits is not None:
            confine(limits, address_space)
        if os.read(waiting, 1):
            os.close(waiting)
            serve(channel)
    finally:
        os._exit(0)


def _silence() -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.close(silence)


def serve(channel: Channel) -> None:
    """Answer requests from `channel` with a executor of an empty namespace, until it is closed."""

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
            requests = channel.receive()
        except Closed:
            return
        for token, request in requests:
            outcome = executor.carry_out(Request(**request))
            if os.getpid() != me:
                return  # a fork that the student's code made and that came back: one of us is enough
            try:
                channel.send({"outcome": to_plain(outcome), "token": token})
            except WireError as error:
                too_large = Outcome(status="missing", value=f"a result that can't be sent: {error}"[:OUTPUT_BYTES])
                channel.send({"outcome": to_plain(too_large), "token": token})


if __name__ == "__main__":
    main()
