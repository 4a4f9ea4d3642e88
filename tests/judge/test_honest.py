"""Section F of the threat list, and more honest submissions that must not lose marks."""

from __future__ import annotations

import copy
import io
import json
import time
from dataclasses import replace
from functools import partial

import pytest
import torch

from grader.judge import grading
from grader.spec.evaluate import evaluate
from tests.judge.conftest import AFFINE_RIGHT, LIMITS, RIGHT, cells
from tools import notebooks as nb

HONEST = {
    "78 a warning on stderr": "import warnings, sys\ndef product(left, right):\n    warnings.warn('slow')\n"
    "    print('note', file=sys.stderr)\n    return left @ right",
    "79 slow first call": "import time\nfirst = [True]\ndef product(left, right):\n    if first: time.sleep(0.8); first.clear()\n"
    "    return left @ right",
    "80 float64 inside": "def product(left, right):\n    return (left.double() @ right.double()).to(left.dtype)",
    "80 another order": "def product(left, right):\n    return sum(left[..., i, None] * right[i] for i in range(right.shape[0]))",
    "80 einsum": "def product(left, right):\n    return torch.einsum('...td,de->...te', left, right)",
    "81 magics": "%matplotlib inline\n%timeit 1 + 1\n!ls\n" + RIGHT,
    "81 a timed cell": "%%time\n" + RIGHT,
    "81 captured": "%%capture out\n" + RIGHT,
    "81 help and shell": "import os\nos.path?\n" + RIGHT + "\nproduct?",
    "81 leftover plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n" + RIGHT,
    "81 display": "display(torch.ones(2))\n" + RIGHT + "\nget_ipython().run_line_magic('reset', '-f')",
    "81 an unknown magic": "%load_ext autoreload\n%autoreload 2\n" + RIGHT,
    "a lambda": "product = lambda left, right: left @ right",
    "typed": "product: object = torch.matmul",
    "a file of one's own": "torch.save(torch.ones(2), 'w.pt')\nw = torch.load('w.pt')\n" + RIGHT,
    "seeds and settings": "torch.manual_seed(1)\ntorch.set_grad_enabled(False)\n" + RIGHT,
    "another default dtype": "torch.set_default_dtype(torch.float64)\n" + RIGHT,
    "a dataclass": "from dataclasses import dataclass\n@dataclass\nclass Box:\n    x: int = 1\n" + RIGHT,
    "threads": "from concurrent.futures import ThreadPoolExecutor\ndef product(left, right):\n"
    "    with ThreadPoolExecutor(2) as pool: return pool.submit(torch.matmul, left, right).result()",
    "asyncio": "import asyncio\nasync def multiply(left, right): return left @ right\n"
    "def product(left, right): return asyncio.run(multiply(left, right))",
    "a copy of a file": "import shutil\nopen('a', 'w').close()\nshutil.copy2('a', 'b')\n" + RIGHT,
    "files of many kinds": "import csv, io, json, os, pathlib, pickle, sqlite3, tempfile, zipfile\nimport numpy as np\n"
    "book = sqlite3.connect('book.db'); book.execute('create table t (x)'); book.commit(); book.close()\n"
    "held = np.memmap('held', dtype='float32', mode='w+', shape=(4, 4)); held[:] = 1; held.flush()\n"
    "np.savez('a.npz', held); pickle.dump([1], open('p', 'wb')); zipfile.ZipFile('z.zip', 'w').writestr('a', 'b')\n"
    "with tempfile.TemporaryDirectory() as t: pathlib.Path(t, 'x').write_text('x'); os.rename(t + '/x', t + '/y')\n"
    "os.makedirs('a/b', exist_ok=True); os.removedirs('a/b'); print(list(os.walk('.')), os.getcwd(), os.stat('p'))\n"
    "list(csv.reader(io.open('p2', 'w+'))); json.load(io.StringIO('1')); os.remove('p2')\n" + RIGHT,
    "a picture in a file": "import matplotlib.pyplot as plt\nplt.imshow(torch.rand(3, 3))\nplt.savefig('a.png')\n"
    "plt.savefig('a.pdf')\n" + RIGHT,
    "waiting in many ways": "import queue, selectors, signal, socket, threading, time\nq = queue.Queue()\n"
    "threading.Timer(0.01, q.put, [1]).start(); q.get(timeout=9); threading.Event().wait(0.01); time.sleep(0.001)\n"
    "a, b = socket.socketpair(); s = selectors.DefaultSelector(); s.register(b, 1); a.send(b'x'); s.select(1)\n"
    "signal.sigtimedwait([signal.SIGUSR1], 0.01); time.process_time(), time.monotonic(), time.get_clock_info('time')\n"
    + RIGHT,
    "torch's own tools": "from torch.utils.data import DataLoader, TensorDataset\ntorch.set_num_threads(2)\n"
    "for x, in DataLoader(TensorDataset(torch.rand(64, 256)), batch_size=16, shuffle=True): (x @ x.T).sum()\n"
    "opt = torch.optim.Adam([nn.Parameter(torch.ones(2))]); opt.step()\ntorch.rand(400, 400) @ torch.rand(400, 400)\n"
    "torch.set_num_threads(1)\nwith torch.profiler.profile() as p: torch.ones(2) + 1\n" + RIGHT,
    "Windows line ends": RIGHT.replace("\n", "\r\n"),
    "Korean": "# 주의: 곱\nprint('안녕하세요')\n" + RIGHT,
    "calls the check itself": RIGHT + "\nassert check(product) is not None\ncheck(product).hint(2)",
    "other tools of the course": "from grader import progress, solution\nfrom grader.views import AttentionExplorer\n"
    "AttentionExplorer(tokens=[1], weights=[[1]])\nsolution('product')\n" + RIGHT,
    "raises at the end of its cell": RIGHT + "\nproduct(1, 2)",
}


def saves() -> bool:
    """Whether this torch saves a tensor with this Python."""
    try:
        torch.save(torch.ones(2), io.BytesIO())
    except AttributeError:
        return False
    return True


@pytest.fixture
def judge(judge):
    """With more time than honest code takes, however busy the machine is."""
    return partial(judge, limits=replace(LIMITS, check_seconds=20, cell_seconds=20, submission_seconds=120))


@pytest.mark.parametrize("source", HONEST.values(), ids=list(HONEST))
def test_honest_submission_gets_full_marks(judge, sandbox, source):  # pytest 8.3 has to be told of `sandbox`
    if "torch.save" in source and not saves():
        pytest.skip("torch 2.5 saves nothing on Python 3.13")
    result = judge(cells(product=source))
    assert result["product"].passed, result["product"]
    assert result["Affine"].passed, result["Affine"]


def test_82_later_use_of_the_same_name_does_not_matter(judge):
    made = cells()
    made.append(nb.code("product = 3\nAffine = None"))
    assert judge(made).mark == 6


def test_81_extra_cells_between_and_a_helper_of_ones_own(judge):
    made = cells(product="def product(left, right):\n    return helper(left, right)")
    made.insert(1, nb.code("def helper(a, b):\n    return a @ b"))
    made.insert(3, nb.code("1 / 0"))
    assert judge(made).mark == 6


def test_check_cell_above_its_exercise_and_everything_in_another_cell(judge):
    made = cells()
    made[1], made[2] = made[2], made[1]
    assert judge(made).mark == 6
    moved = cells(product="# see below")
    moved.insert(2, nb.code(RIGHT))
    assert judge(moved).mark == 6


def test_colab_and_vscode_keep_no_metadata(judge):
    made = copy.deepcopy(cells())
    for i, cell in enumerate(made):
        cell["metadata"] = {"id": f"aB{i}", "colab": {"base_uri": "x"}}
        cell.pop("id")
    notebook = {"nbformat": 4, "nbformat_minor": 0, "metadata": {"colab": {}}, "cells": made}
    assert judge(json.dumps(notebook).encode()).mark == 6
    for cell in made:
        cell["metadata"] = {"vscode": {"languageId": "python"}}
        cell["source"] = cell["source"].splitlines(keepends=True)
    assert judge(json.dumps({**notebook, "nbformat_minor": 2}, indent=1).encode("utf-8-sig")).mark == 6


def test_given_cells_are_the_courses_own(judge):
    from grader.judge.outline import Outline

    given = nb.code("FACTOR = 1", "given", id="given-1")
    outline = Outline.of(nb.dump([*cells()[:1], given, *cells()[1:]]))
    uses = "def product(left, right):\n    return FACTOR * left @ right"
    missing = judge(cells(product=uses), outline=outline)
    assert missing.mark == 6
    assert any("was put back" in s for s in missing.notes)
    changed = [*cells()[:1], {**given, "source": "FACTOR = 2"}, *cells(product=uses)[1:]]
    assert judge(changed, outline=outline).mark == 6


def test_cells_that_install_draw_or_train_are_not_run_but_for_their_definitions(judge):
    from grader.judge.outline import Outline

    train = nb.code("import time\ndef helper(a, b):\n    return a @ b\ntime.sleep(60)", "train", id="train-1")
    install = nb.code("import time\ntime.sleep(60)", "install", id="install-the-course")
    made = [
        *cells()[:1],
        install,
        train,
        *cells(product="def product(left, right):\n    return helper(left, right)")[1:],
    ]
    result = judge(made, outline=Outline.of(nb.dump(made)))
    assert result.mark == 6
    assert result.seconds < 20


def test_a_death_costs_its_exercise_only_and_what_came_before_is_replayed(judge):
    made = cells(product="import os\nkept = [1]\ndef product(left, right):\n    os._exit(1)")
    made[3] = nb.code("assert kept == [1]\n" + AFFINE_RIGHT, "solution", "Affine")
    result = judge(made)
    assert (result["product"].score, result["Affine"].score) == (0.0, 1.0)
    assert "ended in the middle of the call" in result["product"].parts[0].message


def test_cells_run_but_for_the_one_that_ends_the_process(judge):
    before = [nb.code(source) for source in ("kept = [1]", "import os\nos._exit(0)", "kept.append(2)", "kept += [3]")]
    made = [*cells()[:1], *before, *cells(product="assert kept == [1, 2, 3]\nprint('ran')\n" + RIGHT)[1:]]
    result = judge(made)
    assert result.mark == 6
    assert "ran" in result["product"].output
    assert [odd for odd in result.notes if "left out" in odd] == [
        "A cell ended the process and was left out: 'import os'"
    ]


SLOW = "import time\n{0}\ndef product(left, right):\n    time.sleep(0.3)\n    return left @ right"
SHORT = replace(LIMITS, check_seconds=1.0, cell_seconds=1.0, patience=3.0)


def test_time_that_the_code_waits_for_the_processor_is_not_the_codes_own(judge):
    """As where others have the machine: by the clock its cell and its check take longer than their seconds."""
    answer = cells(product=SLOW.format("time.sleep(1.5)"))
    result = judge(answer, limits=replace(SHORT, patience=30.0))
    assert result["product"].passed, result["product"]
    assert not result.timed_out
    result = judge(answer, limits=SHORT.quick)  # which counts by the clock: who runs out of it is graded again
    assert not result["product"].passed
    assert result.timed_out


def test_what_computes_has_its_seconds_and_what_sleeps_a_few_times_as_long(judge):
    assert SHORT.quick.patience == replace(SHORT, patience=0.5).patience == 1
    for line in ("while True: pass", "time.sleep(600)"):
        began = time.monotonic()
        result = judge(cells(product=f"import time\ndef product(left, right):\n    {line}"), limits=SHORT)
        assert time.monotonic() - began < SHORT.longest
        assert result.timed_out
        assert "did not finish in time" in result["product"].parts[0].message
        assert result["Affine"].passed


def test_what_ran_out_of_time_is_not_checked_a_second_time_for_its_words(judge, monkeypatch):
    checked = []

    def counted(exercise, *args, **kwargs):
        checked.append(exercise.name)
        return evaluate(exercise, *args, **kwargs)

    monkeypatch.setattr(grading, "evaluate", counted)
    judge(cells(product="def product(left, right):\n    while True: pass"), limits=SHORT)
    assert checked == ["product", "Affine"]
    checked.clear()
    judge(cells(product="def product(left, right):\n    return left"))
    assert checked == ["product", "product", "Affine"]


def test_a_wrong_answer_that_is_late_elsewhere_keeps_its_words(judge):
    late = "import time\ndef product(left, right):\n    time.sleep(9 if left.dim() > 2 else 0)\n    return left @ right + 1"
    parts = [part for part in judge(cells(product=late), limits=SHORT)["product"].parts if part.message]
    assert "values differ" in parts[0].message
    assert not any("passes on the practice inputs" in part.message for part in parts)


@pytest.mark.parametrize("stubborn", [False, True])
def test_cells_share_what_time_is_left(judge, stubborn):
    loop = "while True: pass"
    if stubborn:
        loop = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    made = [*cells()[:1], *(nb.code(f"{loop}  # {i}") for i in range(4)), *cells()[1:]]
    result = judge(made, limits=replace(LIMITS, submission_seconds=1.5))
    assert [e.score for e in result.exercises] == [0.0, 0.0]
    assert result.seconds < 6  # four times 1.5, had each cell all of it
    assert any("ran out of time" in odd for odd in result.notes)


def test_a_dead_zygote_is_told_and_another_one_serves(judge):
    import os
    import signal

    from grader.judge.sandbox import Sandbox
    from grader.subject.errors import ZygoteGone
    from tests.judge.conftest import LIMITS

    with Sandbox(LIMITS) as doomed:
        os.killpg(doomed.pid, signal.SIGKILL)  # all at once: what bubblewrap started outlives it for a moment
        with pytest.raises(ZygoteGone):
            judge(cells(), sandbox=doomed)
    assert judge(cells()).mark == 6


def test_every_exercise_has_a_result_when_time_is_up(judge):
    slow = "import time\ndef product(left, right):\n    time.sleep(9)"
    result = judge(cells(product=slow), limits=replace(LIMITS, submission_seconds=1.0))
    assert [e.score for e in result.exercises] == [0.0, 0.0]
    assert "used up its time" in result["Affine"].output


def test_output_and_result_survive_json(judge):
    from grader.judge.result import SubmissionResult

    result = judge(cells(product="print('\\ud800 x \\x00')\n" + RIGHT))
    assert SubmissionResult.from_plain(json.loads(json.dumps(result.to_plain()))) == result
    assert result["product"].output.strip() == "? x"


def test_the_setting_scales_a_limit_of_an_exercises_own(sandbox):
    from grader.judge.runner import Runner
    from tests.spec.toy import TOYS

    with Runner(sandbox, LIMITS, TOYS) as runner:
        assert runner.seconds_for_check(TOYS["product"]) == LIMITS.check_seconds
        assert runner.seconds_for_check(replace(TOYS["product"], seconds=30.0)) == 3 * LIMITS.check_seconds
