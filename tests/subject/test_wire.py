"""The wire format: what crosses, and what is refused."""

from __future__ import annotations

import json
import math
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from grader.subject import Callback, Given, Opaque, Outcome, Raised, Request
from grader.subject.channel import Channel
from grader.subject.errors import Closed, Late, WireError
from grader.subject.protocol import outcome_from, to_plain
from grader.subject.values import plain, same
from grader.subject.wire import HEADER, MAX_FRAME, MAX_TREE, decode, encode, frame_size

VALUES = [
    None,
    True,
    -3,
    10**30,
    2.5,
    math.inf,
    "é",
    [1, [2.0, None]],
    (1, (2, "x")),
    {"a": (1,), 3: [False]},
    Opaque("ndarray"),
    Callback(4),
    torch.arange(6).reshape(2, 3),
    torch.tensor(2.5, dtype=torch.float64),
    torch.tensor([math.nan, math.inf]),
    torch.empty(0, 3),
    torch.tensor([[True, False]]),
    torch.ones(2, dtype=torch.bfloat16),
    torch.randn(4, 5).mT,
    {"q": [torch.ones(2), (torch.zeros(1), None)]},
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_plain_data_crosses_unchanged(value):
    assert same(decode(encode(value)), value)


def test_nan_and_given_callables_cross():
    assert math.isnan(decode(encode(math.nan)))
    given = decode(encode(Given("linear", {"weight": torch.ones(2, 3)})))
    assert given.kind == "linear"
    assert torch.equal(given.data["weight"], torch.ones(2, 3))


@pytest.mark.parametrize(
    "value", [object(), {(1,): 2}, {1.5: 2}, {"x": {3}}], ids=["object", "tuple key", "float key", "set"]
)
def test_nothing_else_crosses(value):
    with pytest.raises(WireError, match="can't cross the wire"):
        encode(value)


def frame(tree, body=b""):
    head = json.dumps(tree).encode() if not isinstance(tree, bytes) else tree
    return HEADER.pack(len(head), len(body)) + head + body


BROKEN = {
    "empty": (b"", "shorter than its header"),
    "lengths": (HEADER.pack(5, 5) + b"{}", "don't add up"),
    "huge lengths": (HEADER.pack(2**63, 2**63) + b"{}", "don't add up"),
    "no JSON": (frame(b"\xff\xfe"), "isn't JSON"),
    "deep JSON": (frame(b"[" * 100_000 + b"]" * 100_000), "isn't JSON"),
    "bare list": (frame([]), "malformed"),
    "bare dict in a dict": (frame({"a": {"b": []}}), "malformed"),
    "deep dict": (frame(json.loads('{"a":' * 40 + "1" + "}" * 40)), "malformed"),
    "given without a dict": (frame(["g", "linear", 3]), "malformed"),
    "unknown kind": (frame(["x", 1]), "malformed"),
    "deep tree": (frame(json.loads('["l",' * 40 + "1" + "]" * 40)), "malformed"),
    "float": (frame(["f", "1e5"]), "float in a frame is malformed"),
    "dict pair": (frame(["d", [1, 2, 3]]), "dict in a frame is malformed"),
    "dict key": (frame(["d", [[1], 2]]), "dict in a frame is malformed"),
    "dtype": (frame(["T", "object", 1], b"x"), "tensor in a frame is malformed"),
    "negative shape": (frame(["T", "uint8", -1], b"x"), "shape in a frame is malformed"),
    "overflowing shape": (frame(["T", "uint8", 2**40, 2**40], b"x"), "shape in a frame is malformed"),
    "many axes": (frame(["T", "uint8", *[1] * 50], b"x"), "tensor in a frame is malformed"),
    "larger than the frame": (frame(["T", "float32", 1000], b"xxxx"), "larger than the frame"),
    "claimed by none": (frame(1, b"xxxx"), "no tensor claims"),
}


@pytest.mark.parametrize(("data", "message"), BROKEN.values(), ids=list(BROKEN))
def test_broken_frame_is_refused(data, message):
    with pytest.raises(WireError, match=message):
        decode(data)


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), theirs


def test_frames_are_read_one_by_one_and_limited(ends):
    channel, other = ends
    data = encode("one") + encode(torch.arange(3)) + encode("two")
    other.sendall(data[:30])
    other.sendall(data[30:])
    assert channel.receive(1) == "one"
    assert channel.receive(1).tolist() == [0, 1, 2]
    assert channel.receive(1) == "two"
    with pytest.raises(Late):
        channel.receive(0.01)
    other.sendall(HEADER.pack(MAX_FRAME, 1))
    with pytest.raises(WireError, match="limit"):
        channel.receive(1)
    with pytest.raises(WireError, match="limit"):
        frame_size(HEADER.pack(MAX_TREE + 1, 0))


@pytest.mark.parametrize(
    ("rest", "words"), [(b"", "pipe$"), (b"xx", "middle of a frame"), (encode("one")[:-1], "middle of a frame")]
)
def test_an_end_is_clean_or_in_the_middle_of_a_frame(ends, rest, words):
    channel, other = ends
    other.sendall(encode("one") + rest)
    other.shutdown(socket.SHUT_WR)
    assert channel.receive(1) == "one"
    with pytest.raises(Closed, match=words):
        channel.receive(1)


CALL = Request("call", "f", (1, torch.ones(2)), cotangents=(torch.ones(2),), watch=True)
GOOD = to_plain(Outcome(status="raised", raised=Raised(("ValueError",), "no", "x = 1", 3), changed=(0,)))


def test_outcome_crosses():
    assert outcome_from(decode(encode(GOOD)), CALL) == Outcome(
        status="raised", raised=Raised(("ValueError",), "no", "x = 1", 3), changed=(0,)
    )


RAISED = GOOD["raised"]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "passed"},
        {"status": "died"},
        {"status": torch.ones(2)},
        {"status": "ok"},
        {"raised": None},
        {"raised": {"types": "x"}},
        {"raised": {**RAISED, "types": ("E",) * 1000}},
        {"raised": {**RAISED, "types": ("E" * 1000,)}},
        {"raised": {**RAISED, "message": "x" * 100_000}},
        {"raised": {**RAISED, "line_number": True}},
        {"raised": {**RAISED, "line_number": -1}},
        {"value": 3},
        {"changed": ("0",)},
        {"changed": (2,)},
        {"changed": (-1,)},
        {"changed": (True,)},
        {"calls": [1]},
        {"calls": ("x" * 1000,)},
        {"calls": ("x",) * 100_000},
        {"largest": "1"},
        {"largest": -1},
        {"largest": 10**200},
        {"largest_shape": (-1,)},
        {"operations": True},
        {"output": None},
        {"gradients": {"0": "high"}},
        {"gradients": {0: torch.ones(2)}},
        {"gradients": {"1": torch.ones(2, dtype=torch.complex64)}},
        {"score": 1.0},
    ],
    ids=lambda change: str(change)[:60],
)
def test_forged_outcome_is_refused(change):
    with pytest.raises(ValueError, match="an outcome"):
        outcome_from({**GOOD, **change}, CALL)


STATE = {"parameters": {"weight": torch.ones(2)}, "buffers": {}, "saved": ["weight"], "tracked": [], "training": True}
ABOUT = {"kind": "function", "type": "function", "parameters": ["x"], "defaults": {"x": 1.5}, "uses": ["torch"]}
ABOUT |= {"required": [], "data": [], "sets": [], "numbers": [], "loops": False, "empty": False}
VALUES_OF = {
    "run": ([None], [3]),
    "load": ([None], ["x"]),
    "names": ([None, ["x", "y"]], [("x",), ["x" * 300], 3, [1]]),
    "state": ([STATE], [None, {}, {**STATE, "training": 1}, {**STATE, "buffers": {"mean": 3}}, {**STATE, "more": 1}]),
    "describe": (
        [ABOUT, {**ABOUT, "parameters": None}],
        [None, [], {**ABOUT, "uses": [1]}, {**ABOUT, "defaults": {"x": "1"}}, {**ABOUT, "parameters": "x"}],
    ),
    "call": ([None, 3, STATE, "x"], []),
}


@pytest.mark.parametrize("op", VALUES_OF)
def test_value_is_one_that_the_request_can_have(op):
    right, wrong = VALUES_OF[op]
    for value in right:
        assert outcome_from({"value": value}, Request(op)).value is value
    for value in wrong:
        with pytest.raises(ValueError, match="value is malformed"):
            outcome_from({"value": value}, Request(op))
    with pytest.raises(ValueError, match="value is malformed"):
        outcome_from({"status": "missing", "value": 3}, Request(op))


def test_number_of_hundreds_of_digits_is_no_number():
    assert plain(10**400) == plain(-(10**400)) == Opaque("int with hundreds of digits")
    assert float(decode(encode(plain(10**298)))) == 1e298
    with pytest.raises(WireError, match="isn't JSON"):
        decode(frame(10**400))


class Liar(torch.Tensor):
    """A tensor that claims to equal everything."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True


class Twelve(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def test_what_only_looks_plain_becomes_what_it_is():
    import numpy as np

    assert plain(torch.ones(2).as_subclass(Liar)) == Opaque("Liar")
    assert type(plain(Twelve(12))) is int
    assert plain(np.float32(0.5)) == 0.5
    assert plain(np.ones(2)) == Opaque("ndarray")
    assert plain(torch.Size([2, 3])) == (2, 3)
    assert plain(...) == Opaque("ellipsis")
    assert plain(torch.nn.Parameter(torch.ones(2))).requires_grad is False
    assert plain({"a": object(), (1, 2): 3}) == {"a": Opaque("object")}
    nested: list = []
    nested.append(nested)
    assert "deeply nested" in str(plain(nested))


def test_both_ends_may_send_more_than_the_pipe_holds():
    ours, theirs = map(Channel, socket.socketpair())
    large = torch.ones(2**20)

    def talk(channel):
        channel.send(large, 10.0)
        return channel.receive(10.0).shape

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(talk, (ours, theirs))) == [large.shape] * 2
    ours.close()
    theirs.close()


def test_an_end_that_takes_nothing_is_late_and_one_that_is_gone_is_closed(ends):
    channel, other = ends
    with pytest.raises(Late):
        channel.send(torch.ones(2**20), 0.05)
    other.close()
    with pytest.raises(Closed):
        channel.send("more", 1.0)


class NeverDone:
    """An end that always has one more byte, and takes one more, so that nobody ever waits for it."""

    def __init__(self):
        self.first = [HEADER.pack(100, 2**25)]

    def setblocking(self, _flag):
        pass

    def recv(self, _size):
        return self.first.pop() if self.first else b"x"

    def send(self, _data):
        return 1


def test_an_end_that_always_has_one_more_byte_is_late_too():
    channel, start = Channel(NeverDone()), time.monotonic()
    with pytest.raises(Late):
        channel.receive(0.2)
    with pytest.raises(Late):
        channel.send(torch.ones(2**23), 0.2)
    assert time.monotonic() - start < 30
