"""Broken notebooks for the reader, broken frames for the wire: an error of theirs, never one of ours."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading

import pytest
import torch

from grader.judge import plan
from grader.judge.outline import Outline
from grader.judge.reader import Unreadable, read
from grader.subject.channel import Channel, Closed, Late
from grader.subject.protocol import Outcome, outcome_from, to_plain
from grader.subject.wire import HEADER, WireError, decode, encode
from tests.judge.conftest import cells
from tools import notebooks as nb

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
    for seed in range(3000):
        data = json.dumps(mutated(whole, random.Random(seed))).encode()
        try:
            found = read(data, 10**6, 1000)
        except Unreadable:
            continue
        read_at_all += 1
        steps = plan.make(outline, found).steps
        checks = [step.exercise for step in steps if isinstance(step, plan.CheckStep)]
        assert sorted(checks) == ["Affine", "product"]
    assert read_at_all > 500


def test_broken_bytes_are_read_or_refused():
    good = nb.dump(cells())
    for seed in range(2000):
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


def test_mutated_frames_are_read_or_refused():
    frame = encode({"outcome": to_plain(OUTCOME), "token": 1})
    read_at_all = 0
    for seed in range(6000):
        random_ = random.Random(seed)
        data = bytearray(frame)
        for _ in range(random_.randrange(1, 6)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        if seed % 3 == 0:
            del data[random_.randrange(len(data)) :]
        try:
            message = decode(bytes(data))
            outcome_from(message["outcome"] if isinstance(message, dict) else message)
            read_at_all += 1
        except (WireError, ValueError, KeyError):
            continue
    assert read_at_all > 50


def test_mutated_trees_are_read_or_refused():
    frame = encode({"outcome": to_plain(OUTCOME), "token": 1})
    size, rest = HEADER.unpack_from(frame)
    tree, body = json.loads(frame[HEADER.size : HEADER.size + size]), frame[HEADER.size + size :]
    for seed in range(4000):
        head = json.dumps(mutated(tree, random.Random(seed))).encode()
        try:
            message = decode(HEADER.pack(len(head), rest) + head + body)
        except WireError:
            continue
        if isinstance(message, dict) and "outcome" in message:
            try:
                outcome_from(message["outcome"])
            except ValueError:
                continue


def test_noise_on_the_channel_ends_it_in_time():
    for seed in range(40):
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
