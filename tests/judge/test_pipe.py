"""What a submission may do to the judge through its pipe. Each attack stands in the cell of one exercise: within its limit
and two seconds it has a mark or a marked 0 with a sentence, the honest exercise behind it keeps its marks, and the judge
has kept its memory."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.exercises.registry import exercises
from grader.judge import grading
from grader.judge import judge as judges
from grader.judge.judge import Judge
from grader.judge.limits import MIB
from grader.judge.outline import Outline
from grader.judge.runner import Runner
from grader.spec.exercise import Exercise
from grader.subject.forked import RESULTS_BYTES
from tests.judge.conftest import LIMITS, RIGHT, cells
from tests.judge.test_threats_code import inside
from tools import notebooks as nb

PIPE = """
import gc, os, signal, socket, struct, threading, time
from grader.subject.channel import Channel
from grader.subject.wire import encode
def pipe():
    [end] = [c._socket for c in gc.get_objects() if type(c) is Channel]
    end.setblocking(True)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # what ends honest code in time
    return end
"""
# The process takes nothing more, so that the judge is sending when the rest happens. It keeps a method that it has bound
# before any cell runs, so another one under its name would never be called.
DEAF = PIPE + "def deaf(*_):\n    time.sleep(60)\nChannel.receive.__code__ = deaf.__code__\n"
LONG_CELL = "x = 1\n" * 150_000
ATTACKS = {
    "bytes without end": inside("end = pipe()", "while True: end.sendall(bytes(2**16))", before=PIPE),
    "one byte at a time": inside(
        "end = pipe()",
        "end.sendall(struct.pack('>QQ', 2**20, 2**24))",
        "while True: end.send(b' ')",
        before=PIPE,
    ),
    "half a frame and exit": inside("pipe().sendall(encode('one')[:-1])", "os._exit(0)", before=PIPE),
    "results as large as can be": inside("return torch.zeros(60, 2**18)"),
    "results of many values": inside("return [{} for _ in range(99_999)]"),
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=list(ATTACKS))
def test_attack_in_a_call(judge, source):
    result = judge(cells(product=source))
    assert result.seconds < LIMITS.submission_seconds  # each check has its own, shorter limit
    assert (result["product"].score, result["Affine"].score) == (0.0, 1.0)
    assert result["product"].parts[0].message
    assert not result["product"].broken


BETWEEN_CELLS = {
    "half a frame while the judge sends": DEAF
    + "def leave(end=pipe()):\n    time.sleep(0.3)\n    end.sendall(encode('one')[:-1])\n    os._exit(0)\n"
    "threading.Thread(target=leave).start()",
    "a flood while the judge sends": DEAF
    + "def flood(end=pipe()):\n    time.sleep(0.3)\n    while True: end.sendall(bytes(2**16))\n"
    "threading.Thread(target=flood).start()",
}


@pytest.mark.parametrize("source", BETWEEN_CELLS.values(), ids=list(BETWEEN_CELLS))
def test_attack_between_cells(judge, source):
    """It comes again in every process that replays the cell, so it costs all cells behind it. Nobody else pays."""
    made = cells()
    made[1:1] = [nb.code(source), nb.code(LONG_CELL)]
    result = judge(made)
    assert result.seconds < 2 * LIMITS.submission_seconds
    assert result.mark == 0
    assert any(note.endswith("was left out: 'x = 1'") for note in result.notes)
    assert not any(one.broken for one in result.exercises)
    assert judge(cells(), student="bo").mark == result.points


@pytest.mark.parametrize("filler", ["가" * 750_000, "\x01" * 900_000, "x" * 5_000_000], ids=["Hangul", "control", "x"])
def test_cell_that_is_too_long_for_the_pipe(judge, filler):
    result = judge(cells(product=f"text = '{filler}'\n{RIGHT}"))
    assert result["product"].score == 0
    assert result["Affine"].score == 1
    assert any(note.startswith("A cell is too long and was left out: \"text = '") for note in result.notes)


def test_many_long_cells_are_graded_though_their_names_cannot_be_asked_for(judge):
    made = cells()
    made[1:1] = [nb.code(f"text = '{'가' * 300_000}'") for _ in range(4)]
    assert judge(made).mark == 6


# --- questions that the judge answers ---------------------------------------------------------------------------------

LEAKS = "04_masking"
CALLS = {
    "without end": "    end, questions = pipe(), 100 * encode({'callback': 0, 'args': (torch.ones(1, 1),)})\n"
    "    def listen():\n        while True: end.recv(2**20)\n    threading.Thread(target=listen).start()\n"
    "    while True: end.sendall(questions)",
    "without listening": "    end, question = pipe(), encode({'callback': 0, 'args': (torch.ones(1, 1),)})\n"
    "    while True: end.sendall(question)",
    "with millions of matrices": "    attention(torch.ones(2**22, 1, 1))",
    "with millions of matrices, for gradients": "    attention(torch.ones(2**22, 1, 1, requires_grad=True)).sum().backward()",
}


@pytest.fixture(scope="module")
def only_leaks() -> tuple[Exercise, Outline]:
    exercise = replace(exercises()["leaks_future"], seconds=10.0)
    outline = Outline.of(nb.dump([nb.code("import torch", "example"), nb.code("", "check", "leaks_future")]))
    return exercise, outline


@pytest.mark.parametrize("calls", CALLS.values(), ids=list(CALLS))
def test_questions(judge, only_leaks, calls):
    exercise, outline = only_leaks
    source = f"{PIPE}\ndef leaks_future(attention):\n{calls}"
    made = [nb.code("import torch"), nb.code(source, "solution", "leaks_future")]
    result = judge(made, outline=outline, known={"leaks_future": exercise})
    assert result.seconds < LIMITS.submission_seconds  # each check has its own, shorter limit
    assert result["leaks_future"].score == 0
    assert result["leaks_future"].parts[0].message
    assert not result["leaks_future"].broken


def test_a_detector_that_asks_too_often_is_told_so(subject_of):
    from grader.subject import Callback, Request
    from grader.subject.forked import MAX_CALLBACKS

    source = f"def ask(attention):\n    for _ in range({MAX_CALLBACKS + 1}): attention(1)"
    subject = subject_of(source)
    subject.answer_with(lambda _callback, _args: None)
    outcome = subject.ask(Request("call", "ask", (Callback(0),), seconds=60))
    if subject_of.kind == "forked process":
        assert f"called more than {MAX_CALLBACKS} times" in outcome.raised.message


# --- memory -----------------------------------------------------------------------------------------------------------


def peak() -> int:
    """The most memory that this process has had since `forget_peak`, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_memory_of_the_judge_is_bounded(judge):
    judge(cells())
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    patient = replace(LIMITS, check_seconds=20, submission_seconds=60)
    result = judge(cells(product=inside("return torch.zeros(60, 2**18)")), limits=patient)
    assert peak() - before < RESULTS_BYTES + 4 * 64 * MIB
    assert any(part.kind == "too-large" for part in result["product"].parts)


# --- what isn't what it should be -------------------------------------------------------------------------------------


def test_complex_numbers_are_refused_with_a_sentence(judge):
    result = judge(cells(product=inside("return (left @ right) * (1 + 1j)")))["product"]
    assert result.score == 0
    assert "one tensor of complex numbers" in result.parts[0].message


FORGED = {
    "a changed argument that isn't there": "{'changed': (7,)}",
    "a changed argument by a negative place": "{'changed': (-1,)}",
    "True as a place": "{'changed': (True,)}",
    "a number of 400 digits": "{'value': 10**400}",
    "a negative count": "{'operations': -1}",
    "a log of long names": "{'calls': tuple('transformer_' * 32_000 for _ in range(3))}",
    "a log of many names": "{'calls': tuple(map(str, range(200_000)))}",
    "an exception of many classes": "{'status': 'raised', 'raised': "
    "{'types': ('E',) * 100_000, 'message': '', 'line': '', 'line_number': 0}}",
    "gradients that nobody asked for": "{'gradients': {'0': torch.ones(2)}}",
    "a description in place of a result": "{'status': 'missing', 'value': [1]}",
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=list(FORGED))
def test_forged_outcome_is_a_death_and_no_fault_of_ours(judge, forged):
    source = (
        "import grader.subject.zygote_process as z\nplain = z.to_plain\n"
        f"z.to_plain = lambda outcome: {{**plain(outcome), **({forged} if outcome.value is not None else {{}})}}\n{RIGHT}"
    )
    result = judge(cells(product=source))
    assert not any(one.broken for one in result.exercises)
    assert result["product"].score == 0
    assert result.seconds < LIMITS.submission_seconds


# --- faults of ours ---------------------------------------------------------------------------------------------------


def test_fault_of_ours_costs_one_result_and_is_flagged(judge, monkeypatch):
    evaluate = grading.evaluate

    def faulty(exercise, *args, **options):
        if exercise.name == "product":
            raise KeyError("nobody thought of this")
        return evaluate(exercise, *args, **options)

    monkeypatch.setattr(grading, "evaluate", faulty)
    result = judge(cells())
    assert (result["product"].broken, result["product"].score) == (True, 0.0)
    assert "KeyError" in result["product"].output
    assert (result["Affine"].broken, result["Affine"].score) == (False, 1.0)


def test_cell_that_we_fail_to_run_flags_what_fails_behind_it(judge, monkeypatch):
    run = Runner.run

    def faulty(runner, step):
        if step.exercise == "product":
            raise KeyError("nobody thought of this")
        run(runner, step)

    monkeypatch.setattr(Runner, "run", faulty)
    result = judge(cells())
    assert (result["product"].broken, result["product"].score) == (True, 0.0)
    assert (result["Affine"].broken, result["Affine"].score) == (False, 1.0)


def hangs(*_args, **_options):
    while True:
        time.sleep(0.01)


def fails(*_args, **_options):
    raise KeyError("nobody thought of this")


@pytest.mark.parametrize(("fault", "said"), [(hangs, "TimeLimit"), (fails, "KeyError")])
def test_fault_that_reaches_the_judge_is_a_flagged_result_and_the_next_is_graded(monkeypatch, fault, said):
    monkeypatch.setattr(judges, "MARGIN", 0.5)
    data, instructor = nb.submission("00_start_here"), Outline.of(nb.instructor("00_start_here"))
    with Judge(b"secret", replace(LIMITS, submission_seconds=0.5)) as own:
        with monkeypatch.context() as patched:
            patched.setattr(grading, "grade", fault)
            start = time.monotonic()
            result = own.grade(data, instructor, "ann")
            assert time.monotonic() - start < 60
        assert [(one.broken, one.score) for one in result.exercises] == [(True, 0.0)]
        assert said in result.exercises[0].output
    with Judge(b"secret", LIMITS) as own:
        assert own.grade(data, instructor, "ann").mark == 1


# --- time -------------------------------------------------------------------------------------------------------------


def test_cell_that_ran_out_of_time_is_not_waited_for_again(judge):
    slow = "import os, time\ndef product(left, right):\n    os._exit(1)\nprint('begins')\ntime.sleep(60)"
    made = cells(product=slow)
    made[3]["source"] = "assert callable(product)\n" + made[3]["source"]
    result = judge(made, limits=replace(LIMITS, cell_seconds=4))
    assert result["Affine"].score == 1
    assert result.seconds < 2 * 4
    assert "did not finish in time" in result["product"].output
    assert len(result.notes) == 1


# --- inputs -----------------------------------------------------------------------------------------------------------

TELLS = inside(
    "seen.append(round(float(left.sum()), 4))", "print(seen[0])", "return left @ right", before="seen = []  # {}"
)


def test_what_one_submission_prints_of_its_inputs_is_no_use_to_the_next(judge):
    first, again, second = (judge(cells(product=TELLS.format(n)))["product"] for n in (1, 1, 2))
    assert first == again
    assert first.output != second.output
    assert first.score == second.score == 1


def test_inputs_depend_on_all_that_is_read_of_a_notebook():
    from grader.judge.reader import read, small_form

    one, other = nb.dump(cells()), nb.dump([*cells(), {"cell_type": "markdown", "metadata": {}, "source": "# Mine"}])
    contents = {data: grading.content_of(read(data, 10**6, 100)) for data in (one, other)}
    assert contents[one] != contents[other]
    assert grading.content_of(read(small_form(one, 10**6, 100), 10**6, 100)) == contents[one]


# --- threads ----------------------------------------------------------------------------------------------------------

POOL = """
import threading
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
pool.submit(int).result()
"""
OWN = """
import queue, threading
class Worker(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.work, self.done = queue.Queue(), queue.Queue()
    def run(self):
        while True:
            f, x = self.work.get()
            self.done.put(f(x))
worker = Worker()
worker.start()
def asked(f, x):
    worker.work.put((f, x))
    return worker.done.get()
"""
THREADS = {
    "a pool": (POOL, "pool.submit(F.softmax, left, -1).result()"),
    "a thread of one's own": (OWN, "asked(lambda x: F.softmax(x, -1), left)"),
}


@pytest.mark.parametrize(("before", "call"), THREADS.values(), ids=list(THREADS))
def test_threads_of_an_earlier_cell_are_watched_too(judge, before, call):
    made = cells(product=inside(call, "return left @ right"))
    made.insert(1, nb.code(before))
    result = judge(made)
    assert result["product"].diagnosis == "excluded-function"
    right = cells(product=inside(call.replace("F.softmax", "torch.sigmoid").replace(", -1", ""), "return left @ right"))
    right.insert(1, nb.code(before))
    assert judge(right).mark == 6
