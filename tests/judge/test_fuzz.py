"""Broken notebooks for the reader, broken frames for either end of the pipe, odd outcomes for the specifications: an error
of theirs, never one of ours. `make fuzz` goes on for longer, with other seeds."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import threading
from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch

from grader.authoring.model_solutions import model_solution
from grader.book.rebuild import dump, rebuild
from grader.course.release import Release
from grader.errors import Unreadable
from grader.exercises.registry import exercises
from grader.judge import plan
from grader.judge.grading import ungraded
from grader.judge.outline import Outline
from grader.judge.reader import read
from grader.judge.result import CONFINED
from grader.spec.evaluate import evaluate
from grader.subject import Callback, Opaque, Request
from grader.subject.channel import READY, Channel
from grader.subject.errors import Closed, Late, WireError
from grader.subject.forked import ForkedSubject
from grader.subject.local import LocalSubject
from grader.subject.protocol import Outcome, outcome_from, to_plain
from grader.subject.wire import HEADER, decode, encode
from tests.judge.conftest import LIMITS, cells
from tests.spec.toy import TOYS
from tools import notebooks as nb


def seeds(usual: int) -> Iterable[int]:
    """So many in an ordinary run. With FUZZ_ROUNDS others, and as many times more as that is larger than 2000."""
    rounds = int(os.environ.get("FUZZ_ROUNDS", "0"))
    return range(10**6, 10**6 + usual * max(rounds, 2000) // 2000) if rounds else range(usual)


ODD = [None, True, 0, -1, 1e308, "", "x", "\ud800", "product", [], {}, [[]], {"a": []}, "\x00", 2**70]


def mutated(tree, random_):
    """A JSON tree with something in it replaced, dropped or doubled."""
    if random_.random() < 0.08:
        return random_.choice(ODD)
    if isinstance(tree, dict):
        return {k: mutated(v, random_) for k, v in tree.items() if random_.random() > 0.02}
    if isinstance(tree, list):
        made = [mutated(v, random_) for v in tree if random_.random() > 0.02]
        return made + made if random_.random() < 0.02 else made
    return tree


def test_mutated_notebooks_are_read_or_refused():
    outline = Outline.of(nb.dump(cells()))
    whole = json.loads(nb.dump(cells()))
    read_at_all = 0
    tried = list(seeds(3000))
    for seed in tried:
        data = json.dumps(mutated(whole, random.Random(seed))).encode()
        try:
            found = read(data, 10**6, 1000)
        except Unreadable:
            continue
        read_at_all += 1
        steps = plan.make(outline, found).steps
        checks = [step.exercise for step in steps if isinstance(step, plan.CheckStep)]
        assert sorted(checks) == ["Affine", "product"]
    assert read_at_all > len(tried) / 6


def test_mutated_notebooks_are_given_back():
    instructor = nb.dump(cells())
    outline = Outline.of(instructor)
    result = ungraded("", outline, TOYS, confinement=CONFINED)
    for seed in seeds(300):
        data = json.dumps(mutated(json.loads(instructor), random.Random(seed))).encode()
        made = json.loads(dump(rebuild(outline, data, result, Release(), LIMITS)))
        assert {cell["metadata"]["nbgrader"]["grade_id"] for cell in made["cells"] if cell["metadata"]} >= {
            "product-check"
        }


def test_broken_bytes_are_read_or_refused():
    good = nb.dump(cells())
    for seed in seeds(2000):
        random_ = random.Random(seed)
        data = bytearray(good)
        for _ in range(random_.randrange(1, 20)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        cut = bytes(data[: random_.randrange(len(data))]) if seed % 2 else bytes(data)
        with contextlib.suppress(Unreadable):
            read(cut, 10**6, 1000)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{}", b'{"cells": 3}', b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", random.Random(1).randbytes(1000),
     b'{"cells": [{"cell_type": "code", "source": ' + b"9" * 5000 + b"}]}", b"%PDF-1.4", b"PK\x03\x04"],
    ids=lambda d: repr(d[:12]),
)  # fmt: skip
def test_what_is_no_notebook_still_gets_a_result(judge, data):
    result = judge(data)
    assert (result.mark, len(result.exercises)) == (0, 2)
    assert result.unreadable or result.exercises[0].parts


OUTCOME = Outcome(
    value=(torch.ones(2, 3), {"a": [1, 2.5, "x"]}, None), gradients={"0": torch.ones(2)}, calls=("F.softmax",)
)


CALL = Request("call", "f", (1, 2), cotangents=(torch.ones(2),), watch=True)
MESSAGE = {"outcome": to_plain(OUTCOME), "token": 1}


def mutated_bytes(frame, random_):
    data = bytearray(frame)
    for _ in range(random_.randrange(1, 6)):
        data[random_.randrange(len(data))] = random_.randrange(256)
    if random_.random() < 0.3:
        del data[random_.randrange(len(data)) :]
    return bytes(data)


def mutated_frame(frame, random_):
    """A frame with something else in its tree."""
    size, rest = HEADER.unpack_from(frame)
    tree, body = json.loads(frame[HEADER.size : HEADER.size + size]), frame[HEADER.size + size :]
    head = json.dumps(mutated(tree, random_)).encode()
    return HEADER.pack(len(head), rest) + head + body


@pytest.mark.parametrize("mutate", [mutated_bytes, mutated_frame])
def test_mutated_frames_are_read_or_refused(mutate):
    frame, read_at_all = encode(MESSAGE), 0
    for seed in seeds(6000):
        try:
            message = decode(mutate(frame, random.Random(seed)))
            outcome_from(message["outcome"] if isinstance(message, dict) and "outcome" in message else message, CALL)
            read_at_all += 1
        except ValueError:  # a WireError is one
            continue
    assert read_at_all > 0


class Hostile:
    """A zygote whose children answer every request with frames that something is wrong with."""

    def __init__(self, random_):
        self.random_ = random_

    def fork(self, _less_memory):
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._talk, args=(Channel(theirs),), daemon=True).start()
        return ours, 1

    def kill(self, _number):
        pass

    def _talk(self, channel):
        channel.send(READY)
        with contextlib.suppress(Closed, WireError, OSError, ValueError):
            while True:
                token, _request = channel.receive()
                question = {"callback": 0, "args": (torch.ones(2), "x")}
                for _ in range(self.random_.randrange(3)):
                    self._send(channel, question)
                self._send(channel, {**MESSAGE, "token": token})

    def _send(self, channel, message):
        mutate = self.random_.choice([mutated_bytes, mutated_frame, lambda frame, _: frame])
        channel._socket.setblocking(True)
        channel._socket.sendall(mutate(encode(message), self.random_))
        channel._socket.setblocking(False)


def test_whatever_a_child_sends_is_an_outcome():
    statuses = set()
    for seed in seeds(200):
        subject = ForkedSubject(Hostile(random.Random(seed)))
        subject.answer_with(lambda _callback, args: args[0])
        for _ in range(3):
            statuses.add(subject.ask(replace(CALL, seconds=-0.9)).status)
        subject.close()
    assert statuses >= {"ok", "died", "not-run"}


def test_whatever_a_child_is_asked_it_answers_or_ends(zygote):
    good = encode((1, to_plain(Request("call", "print", (Callback(1), torch.ones(2), {"a": [1]}), {"end": "x"}))))
    answered = 0
    for seed in seeds(60):
        random_ = random.Random(seed)
        end, number = zygote.fork()
        channel = Channel(end)
        assert channel.receive(60) == READY
        end.sendall(random_.choice([mutated_bytes, mutated_frame])(good, random_))
        end.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Closed):
            answered += "outcome" in channel.receive(60)
        channel.close()
        zygote.kill(number)
    assert answered
    with ForkedSubject(zygote) as subject:
        assert subject.ask(Request("run", source="print(1)")).output == "1\n"


# --- outcomes that are well-formed, and not what the specification expects ----------------------------------------------

ODD_VALUES = [None, True, 0, -1, 10**298, -(10**298), float("nan"), float("inf"), "", "x" * 1000, "\ud800", [], (), {}, [[]], (None, None),
              Opaque("ndarray"), {"parameters": {}}, {1: 2}, torch.tensor(1.5), torch.empty(0), torch.empty(0, 3), torch.ones(1, 1, 1, 1),
              torch.tensor(True), torch.tensor([1 + 2j]), torch.full((2, 3), float("nan")), torch.arange(6).reshape(2, 3)]  # fmt: skip
CASTS = [torch.complex64, torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64]


def odd(value, random_):
    """Something in a value replaced by something odd: its dtype, its shape, its place, or all of it."""
    if random_.random() < 0.15:
        return random_.choice(ODD_VALUES)
    if isinstance(value, torch.Tensor):
        changes = [
            lambda t: t.to(random_.choice(CASTS)),
            lambda t: t[None],
            lambda t: t.flatten(),
            lambda t: t * float("inf"),
            lambda t: [t],
            lambda t: t.tolist() if t.numel() < 100 else t,
        ]
        return random_.choice(changes)(value)
    if isinstance(value, list | tuple):
        return type(value)(odd(item, random_) if random_.random() < 0.6 else item for item in value)
    if isinstance(value, dict):
        return {key: odd(item, random_) if random_.random() < 0.4 else item for key, item in value.items()}
    return value


class Odd:
    """A subject that is right, but for some of its outcomes. As behind a pipe, one that can't be had is a death."""

    def __init__(self, namespace, random_):
        self.inner, self.random_, self.share = LocalSubject(namespace), random_, random_.choice([0.1, 0.5, 1.0])
        self.answer_with = self.inner.answer_with

    def ask(self, request):
        outcome = self.inner.ask(request)
        if self.random_.random() > self.share:
            return outcome
        changes = [
            {"value": odd(outcome.value, self.random_)},
            {"gradients": odd(outcome.gradients, self.random_)},
            {"changed": (self.random_.randrange(-1, 4),)},
            {"largest": self.random_.randrange(2**61), "largest_shape": (3, self.random_.randrange(9))},
            {"operations": self.random_.randrange(1000)},
            {"calls": ("F.softmax", "x" * 150)},
            {"status": "missing", "value": "x"},
            {"status": "too-large", "value": ""},
            {"status": "time-limit", "value": None},
        ]
        try:
            sent = decode(encode(to_plain(replace(outcome, **self.random_.choice(changes)))))
            return outcome_from(sent, request)
        except ValueError:
            return Outcome(status="died")


NAMESPACES: dict[str, dict] = {}


def namespace_of(exercise):
    if exercise.name not in NAMESPACES:
        NAMESPACES[exercise.name] = {"__name__": "__main__"}
        ran = LocalSubject(NAMESPACES[exercise.name]).ask(Request("run", source=model_solution(exercise), seconds=120))
        assert ran.ok, ran
    return NAMESPACES[exercise.name]


@pytest.mark.parametrize("name", exercises())
def test_odd_outcomes_are_no_fault_of_a_specification(name):
    exercise = exercises()[name]
    for seed in seeds(4):
        subject = Odd(dict(namespace_of(exercise)), random.Random(f"{name} {seed}"))
        report = evaluate(exercise, subject, seed=f"odd {seed}", seconds=60, exercises=exercises())
        assert not report.broken, f"seed {seed}: {report.traceback}"
        str(report)


def test_noise_on_the_channel_ends_it_in_time():
    for seed in seeds(40):
        ours, theirs = socket.socketpair()
        random_ = random.Random(seed)
        noise = random_.randbytes(random_.randrange(0, 3000))

        def talk(end=theirs, data=noise):
            with end:
                end.sendall(data)

        threading.Thread(target=talk).start()
        channel = Channel(ours)
        with pytest.raises((WireError, Closed, Late)):
            drain(channel)
        channel.close()


def drain(channel):
    for _ in range(1000):
        channel.receive(1.0)
