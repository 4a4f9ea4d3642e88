"""Sections A to D of the threat list: what a submission's code may try. Every number is an entry's.

Each probe stands in the cell of `product`, which it gets wrong; nothing it does may earn a mark there, cost the honest
`Affine` one behind it, or outlive it.
"""

from __future__ import annotations

import socket
import time
from dataclasses import replace

import pytest
import torch

from grader.judge.result import CONFINED
from grader.subject import Request, seccomp
from grader.subject.forked import ForkedSubject
from tests.judge import denied
from tests.judge.conftest import AFFINE_RIGHT, LIMITS, RIGHT, cells, processes_in, started
from tests.spec.toy import PRODUCT, TOYS

WRONG = "def product(left, right):\n    return 2 * left @ right + 0.5"


def returning(expression, before=""):
    return f"{before}\ndef product(left, right):\n    return {expression}"


def inside(*lines, before=""):
    return before + "\ndef product(left, right):\n" + "\n".join(f"    {line}" for line in lines)


SHELL = "ip = get_ipython()\n"
PROBES = {
    # A. Forge the verdict
    "A2 result from a hook": SHELL + "ip.events.register('pre_run_cell', lambda *a: ip.displayhook(4.0))\n" + WRONG,
    "A3 input transformer": SHELL + "ip.input_transformers_cleanup.append(lambda lines: [])\n" + WRONG,
    "A4 ast transformer": SHELL + "ip.ast_transformers.append(lambda tree: tree)\n" + WRONG,
    "A5 run_cell replaced": SHELL + "ip.run_cell = lambda *a, **k: type('R', (), {'success': True})()\n" + WRONG,
    "A6 showtraceback": "from IPython.core.interactiveshell import InteractiveShell\n"
    "InteractiveShell.showtraceback = lambda *a, **k: None\n" + WRONG,
    "A7 stdout replaced": "import sys, builtins\nsys.excepthook = print\nbuiltins.print = lambda *a, **k: None\n"
    "class Out:\n    def write(self, t): return len(t)\n    def flush(self): pass\nsys.stdout = Out()\n" + WRONG,
    "A8 look-alike": inside("print('{\"outcome\": \"passed\"}\\x1b[32mall tests passed\\x1b[0m')", "return left"),
    "A9 comparisons patched": "import numpy, unittest\n"
    "for place, names in ((torch, ('allclose', 'equal', 'isclose', 'isfinite')), (torch.testing, ('assert_close',)),\n"
    "                     (numpy.testing, ('assert_allclose',)), (unittest.TestCase, ('assertEqual',))):\n"
    "    for name in names:\n        setattr(place, name, lambda *a, **k: True)\n"
    "torch.Tensor.__eq__ = lambda *a: True\ntorch.Tensor.all = lambda *a: True\n" + WRONG,
    "A10 equal to everything": returning(
        "Same()", "class Same:\n    __eq__ = __le__ = __ge__ = lambda *a: True\n    def __getattr__(self, n): return self\n"
        "    def __call__(self, *a, **k): return self\n    def __bool__(self): return True\n"
    ),
    "A10 an int equal to everything": returning("T(1)", "class T(int):\n    __eq__ = lambda *a: True\n    __hash__ = int.__hash__\n"),
    "A11 tensor subclass": returning(
        "(left @ right + 1).as_subclass(Liar)",
        "class Liar(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None): return True\n",
    ),
    "A12 NaN": returning("left @ right * float('nan')"),
    "A12 inf": returning("left @ right + float('inf')"),
    "A13 nothing in it": returning("torch.empty(0)"),
    "A13 broadcast": returning("torch.zeros(())"),
    "A15 SystemExit": inside("raise SystemExit(0)"),
    "A15 KeyboardInterrupt": inside("raise KeyboardInterrupt"),
    "A15 GeneratorExit": inside("raise GeneratorExit"),
    "A16 _exit": inside("import os", "os._exit(0)"),
    "A16 kill -9": inside("import os", "os.kill(os.getpid(), 9)"),
    "A16 segfault": inside("import ctypes", "ctypes.string_at(0)"),
    "A16 kills process 1": inside("import os", "for s in range(1, 32):", "    os.kill(1, s) if s != 18 else 0", "return left"),
    "A18 frames into the pipe": inside(
        "import os, gc",
        "from grader.subject.wire import encode",
        "empty = {'status': 'ok', 'value': None, 'raised': None}",
        "for fd in range(3, 64):",
        "    try: os.write(fd, b'\\x01' * 64 + encode({'outcome': {**empty, 'passed': True, 'score': 1.0}}))",
        "    except OSError: pass",
        "return left",
    ),
    "A18 a whole forged outcome": inside(
        "import gc",
        "from grader.subject.channel import Channel",
        "from grader.subject.protocol import Outcome, to_plain",
        "for c in gc.get_objects():",
        "    if type(c) is Channel:",
        "        for _ in range(99): c.send({'outcome': to_plain(Outcome(value=torch.zeros(3, 3)))})",
        "return left",
    ),
    "A20 clocks patched": "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
    + inside("while True:", "    pass"),
    "A21 partial credit": WRONG + "\nfloat('nan')",
    # B. Read the answers
    "B22 frames": inside(
        "import sys",
        "frame = sys._getframe()",
        "while frame:",
        "    for v in frame.f_locals.values():",
        "        if isinstance(v, torch.Tensor) and v.shape == (*left.shape[:-1], right.shape[-1]): return v",
        "    frame = frame.f_back",
        "return left",
    ),
    "B23 gc": inside(
        "import gc",
        "for v in gc.get_objects():",
        "    if type(v) is torch.Tensor and v.shape == (*left.shape[:-1], right.shape[-1]): return v",
        "return left",
    ),
    "B24 tracing": "import sys, threading\nseen = []\ndef spy(frame, *a):\n    seen.extend(frame.f_locals.values())\n    return spy\n"
    "sys.settrace(spy); sys.setprofile(lambda *a: None); threading.settrace(spy)\nsys.addaudithook(lambda *a: None)\n"
    + inside("for v in list(seen):", "    if isinstance(v, torch.Tensor) and v.shape == (*left.shape[:-1], right.shape[-1]): return v", "return left"),
    "B33 hard-coded": inside("return left @ right if max(left.shape) <= 3 else left.new_zeros(*left.shape[:-1], right.shape[-1])"),
    # C. Forbidden means
    "C37 by name": inside("F.softmax(left, -1)", "return left @ right"),
    "C38 by getattr": inside("getattr(F, 'soft' + 'max')(left, -1)", "return left @ right"),
    "C38 by aten": inside("torch.ops.aten._softmax(left, -1, False)", "return left @ right"),
    "C38 by exec": inside("import base64", "exec(base64.b64decode('Ri5zb2Z0bWF4KGxlZnQsIC0xKQ=='))", "return left @ right"),
    "C38 by importlib": inside("import importlib", "importlib.import_module('torch.special').softmax(left, -1)", "return left @ right"),
    # D. Hurt the machine or the batch
    "D42 endless loop": inside("while True:", "    pass"),
    "D43 ignores signals": "import signal\nfor n in (2, 14, 15): signal.signal(n, signal.SIG_IGN)\n"
    + inside("while True:", "    try:", "        while True: pass", "    except BaseException: pass"),
    "D43 holds the GIL in C": inside("return sum(range(10**13))"),
    "D45 bytearray": inside("x = bytearray(1 << 40)", "return x"),
    "D45 tensor": inside("return torch.empty(10**12)"),
    "D45 growing list": inside("x = []", "while True: x.append(bytearray(1 << 20))"),
    "D45 growing list, swallowed": inside("x = []", "while True:", "    try: x.append(bytearray(1 << 20))", "    except MemoryError: pass"),
    "D47 fork bomb": inside("import os", "while True:", "    try: os.fork()", "    except OSError: pass"),
    "D47 thread bomb": inside(
        "import threading, time",
        "while True:",
        "    try: threading.Thread(target=time.sleep, args=(60,)).start()",
        "    except RuntimeError: pass",
    ),
    "D47 many threads of torch": inside("torch.set_num_threads(1000)", "return torch.ones(3000, 3000) @ torch.ones(3000, 3000)"),
    "D49 50 MB in one line": inside("print('x' * 50_000_000)", "return left"),
    "D51 daemon": inside(
        "import os, time",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    os.fork()",
        "    time.sleep(600)",
        "return left",
    ),
    "D55 every cell sleeps": "import time\ntime.sleep(60)\n" + WRONG,
    "a result too large to send": returning("torch.ones(5000, 5000)"),
    "a result nested without end": inside("x = []", "x.append(x)", "return x"),
    "a callback that nobody expects": inside(
        "import gc",
        "from grader.subject.channel import Channel",
        "for c in gc.get_objects():",
        "    if type(c) is Channel: c.send({'callback': 1, 'args': ()})",
        "return left",
    ),
    "a frame that never ends": inside(
        "import gc, time",
        "from grader.subject.channel import Channel",
        "for c in gc.get_objects():",
        "    if type(c) is Channel: c._socket.sendall(b'\\x00' * 7 + b'\\x10')",
        "time.sleep(60)",
    ),
    "a frame larger than any": inside(
        "import gc, struct",
        "from grader.subject.channel import Channel",
        "for c in gc.get_objects():",
        "    if type(c) is Channel: c._socket.sendall(struct.pack('>QQ', 2**62, 2**62))",
        "return left",
    ),
}  # fmt: skip


# These do nothing but run into the limit of time: half a second for their own check, and the usual two for `Affine`.
ENDLESS = {
    "A20 clocks patched",
    "D42 endless loop",
    "D43 ignores signals",
    "D43 holds the GIL in C",
    "D47 fork bomb",
    "a frame that never ends",
}
BRIEFLY = {**TOYS, "product": replace(PRODUCT, seconds=2.5)}  # of 10, as `LIMITS` has 2 for every 10


@pytest.mark.parametrize("name", PROBES)
def test_probe_earns_nothing_costs_nobody_and_leaves_nothing(judge, sandbox, name):
    began = time.monotonic()
    result = judge(cells(product=PROBES[name]), known=BRIEFLY if name in ENDLESS else TOYS)
    assert time.monotonic() - began < 3 * LIMITS.submission_seconds
    assert result["product"].score < 0.35, result["product"]
    assert not result["product"].passed
    assert result["Affine"].score == 1.0, result["Affine"]
    assert len(result["product"].output.encode()) <= LIMITS.output_bytes + 10
    assert "\x1b" not in str(result)
    assert processes_in(sandbox) == 1
    assert judge(cells(), student="bo").mark == result.points


@pytest.mark.parametrize(
    "name", [n for n in PROBES if n.startswith(("C37", "C38"))]
)  # fmt: skip
def test_forbidden_means_are_named(judge, name):
    assert judge(cells(product=PROBES[name]))["product"].diagnosis == "excluded-function"


def test_41_a_cut_gradient_costs_its_part(judge):
    result = judge(cells(product=returning("(left @ right).detach()")))
    assert result["product"].diagnosis == "gradient-cut"
    assert 0.5 < result["product"].score < 1


def test_43_time_limit_is_the_judges_own(judge):
    began = time.monotonic()
    result = judge(cells(product=PROBES["D43 ignores signals"]), known=BRIEFLY)
    assert time.monotonic() - began < LIMITS.submission_seconds
    assert "did not finish in time" in result["product"].parts[0].message


# What a probe sees of the machine, asked from inside.
def seen(judge, lines):
    """What a cell prints in the sandbox."""
    return judge(cells(product="\n".join(lines) + "\n" + RIGHT))["product"].output


def test_26_to_30_no_file_of_anybody_can_be_read(judge, tmp_path):
    (tmp_path / "gradebook.db").write_text("marks")
    text = seen(judge, [
        "import os",
        "def look(path):",
        "    try: print(path, sorted(os.listdir(path)))",
        "    except OSError as e: print(path, 'closed')",
        f"for p in ('/', '/proc', '/dev', '/tmp', '/home', '/etc', '..', {str(tmp_path)!r}): look(p)",
        f"for p in ('/etc/passwd', '/etc/shadow', {str(tmp_path / 'gradebook.db')!r}, '/proc/1/environ', '/proc/self/maps'):",
        "    try: print(open(p).read())",
        "    except OSError as e: print(p, 'closed')",
        "print(sorted(os.environ), os.listdir('.'))",
    ])  # fmt: skip
    assert text.count("closed") == 13
    assert "marks" not in text
    assert "NBGRADER" not in text
    assert "pytest" not in text.lower().replace(str(tmp_path).lower(), "")


def test_29_the_course_package_in_there_is_a_stub(judge):
    said = seen(judge, [
        "import grader, os",
        "print(grader.check(3))",
        "for name in ('grader.exercises', 'grader.exercises.registry', 'grader.spec.evaluate', 'grader.judge'):",
        "    try: __import__(name); print('found', name)",
        "    except ImportError: print('none', name)",
    ])  # fmt: skip
    assert "found" not in said
    assert said.count("none") == 4


def test_30_nothing_is_left_for_the_next_submission(judge):
    leave = ["import os", "open('note', 'w').write('for bo')", "print(sorted(os.listdir('.')))"]
    assert "['note']" in seen(judge, leave)
    assert seen(judge, ["import os", "print(sorted(os.listdir('.')), os.path.exists('/tmp/note'))"]) == "[] False"


def test_34_nothing_tells_grading_from_practice(judge):
    said = seen(judge, ["import os, sys", "print([k for k in os.environ if 'GRADER' in k], 'pytest' in sys.modules)"])
    assert said == "[] False"


def test_45_46_no_gpu_and_no_large_file(judge):
    assert seen(judge, ["print(torch.cuda.is_available())"]) == "False"
    large = [
        "import signal",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "try: open('f', 'wb').write(bytes(40 << 20))",
    ]
    assert "File too large" in seen(judge, [*large, "except OSError as e: print(e.strerror)"])


def test_47_no_process_can_be_started(judge):
    assert seen(judge, ["import os", "try: os.fork()", "except PermissionError: print('refused')"]) == "refused"


def test_47_threads_are_not_counted_across_workers(judge):
    """A limit on all processes of a user would take honest threads from whoever comes last."""
    threads = inside("from concurrent.futures import ThreadPoolExecutor", "with ThreadPoolExecutor(4) as pool:",
                     "    return sum(pool.map(lambda i: left[..., i, None] * right[i], range(right.shape[0])))")  # fmt: skip
    held = "import threading, time\nfor _ in range(14): threading.Thread(target=time.sleep, args=(30,)).start()"
    patient = replace(LIMITS, patience=30.0)  # the machine may be busy with other tests
    with started(CONFINED) as other, ForkedSubject(other) as subject:
        assert subject.ask(Request("run", source=held)).ok
        copies = [judge(cells(product=threads), student=f"copy {i}", limits=patient)["product"] for i in range(8)]
        assert [copy.passed for copy in copies] == [True] * 8, [copy.results for copy in copies if not copy.passed]
        assert subject.ask(Request("run", source="assert threading.active_count() == 15")).ok


def test_53_no_way_to_the_network(judge):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        port = server.getsockname()[1]
        said = seen(judge, [
            "import socket, urllib.request",
            "def dial(what, f):",
            "    try: f(); print(what, 'reached')",
            "    except OSError as e: print(what, 'refused')",
            f"dial('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), 1))",
            f"dial('http', lambda: urllib.request.urlopen('http://127.0.0.1:{port}', timeout=1))",
            "dial('unix', lambda: socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock'))",
            "dial('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53)))",
        ])  # fmt: skip
        with pytest.raises(TimeoutError):
            server.accept()
    assert said.split("\n") == ["tcp refused", "http refused", "unix refused", "udp refused"]


def test_54_no_socket_and_no_agent_can_be_reached(judge):
    text = seen(judge, [
        "import os, socket",
        "print([k for k in os.environ if any(w in k for w in ('SSH', 'DBUS', 'DISPLAY', 'AWS', 'TOKEN'))])",
        "for path in ('/var/run/docker.sock', '/run', '/tmp/.X11-unix', '/sys'):",
        "    try: print(os.open(path, os.O_RDONLY))",
        "    except OSError: pass",
        "left, right = socket.socketpair()",
        "try: left.sendto(b'x', '/run/systemd/journal/socket')",
        "except OSError: print('refused')",
    ])  # fmt: skip
    assert text == "[]\nrefused"


CALLS = {
    "unshare": (0x10000000,), "mount": (0, 0, 0, 0, 0), "ptrace": (0, 1, 0, 0), "setuid": (0,), "bpf": (0, 0, 0),
    "keyctl": (0, 0), "io_uring_setup": (1, 0), "userfaultfd": (0,), "perf_event_open": (0, 0, 0, 0, 0),
    "process_vm_readv": (1, 0, 0, 0, 0, 0), "execve": (0, 0, 0), "shmget": (1, 4096, 0o1600), "memfd_create": (0, 0),
    "socket": (2, 1, 0), "chroot": (0,), "prlimit64": (1, 7, 0, 0), "clone": (0x10000000 | 17, 0, 0, 0, 0),
    "setns": (0, 0), "pidfd_open": (1, 0), "sched_setaffinity": (1, 0, 0), "name_to_handle_at": (0, 0, 0, 0, 0),
}  # fmt: skip
NUMBERS = denied.NUMBERS | seccomp.numbers(seccomp.CONDITIONAL)


@pytest.mark.parametrize("call", CALLS)
def test_56_no_way_out_by_system_calls(judge, call):
    said = seen(
        judge,
        [
            "import ctypes",
            "c = ctypes.CDLL(None, use_errno=True)",
            f"print(c.syscall{(NUMBERS[call], *CALLS[call])}, ctypes.get_errno())",
        ],
    )
    assert said == "-1 1"


def test_56_no_capability_and_no_privilege_is_left(judge):
    said = seen(judge, [
        "import ctypes, os",
        "c = ctypes.CDLL(None, use_errno=True)",
        "data = (ctypes.c_uint32 * 6)()",
        "print(c.capget((ctypes.c_uint32 * 2)(0x20080522, 0), data), list(data))",
        "print(c.prctl(39, 0, 0, 0, 0), c.prctl(21, 0, 0, 0, 0))",
    ])  # fmt: skip
    assert said == "0 [0, 0, 0, 0, 0, 0]\n1 2"


def test_8_look_alikes_are_the_students_own_output(judge):
    result = judge(cells(product=PROBES["A8 look-alike"]))
    assert "all tests passed" in result["product"].output
    assert result["product"].score == 0


def test_35_36_feedback_holds_nothing_of_the_judges_inputs(judge):
    spy = inside("print(left.sum().item(), tuple(left.shape))", "raise ValueError(str(right.sum().item()))")
    told = [judge(cells(product=spy), secret=secret)["product"] for secret in (b"one" * 11, b"two" * 11)]
    assert told[0] == told[1]
    assert "grader/" not in str(told[0])
    wrong = judge(cells(product=WRONG))["product"]
    assert not any(hasattr(part, "expected") for part in wrong.parts)


def test_33_hard_coded_answers_are_told_as_such(judge):
    from grader.spec.evaluate import evaluate
    from grader.subject.local import LocalSubject

    shapes = "SHAPES = set()\ndef product(left, right):\n    SHAPES.add(tuple(left.shape))\n    return left @ right"
    namespace = {"torch": torch}
    exec(shapes, namespace)
    assert evaluate(PRODUCT, LocalSubject(namespace)).passed
    cheat = f"SHAPES = {namespace['SHAPES']!r}\n" + inside(
        "right_one = left @ right", "return right_one if tuple(left.shape) in SHAPES else right_one * 0"
    )
    result = judge(cells(product=cheat))["product"]
    assert result.score < 0.35
    assert any("not on others" in part.message for part in result.parts)


def test_39_nothing_but_the_notebook_reaches_the_sandbox(judge, tmp_path, monkeypatch):
    torch.save({"w": torch.ones(2)}, tmp_path / "model.pt")
    monkeypatch.chdir(tmp_path)
    said = seen(judge, ["try: torch.load('model.pt')", "except OSError as e: print(type(e).__name__)"])
    assert said == "FileNotFoundError"


def test_affine_is_what_it_says(judge):
    assert judge(cells(affine=AFFINE_RIGHT.replace("return self.linear(x)", "return x")))["Affine"].score == 0
