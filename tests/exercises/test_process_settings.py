"""What a learner has set for the whole process decides no check, and is as it was after it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import date
from functools import cache
from types import FrameType
from typing import Any

import pytest
import torch

import grader.subject.settings as own
from grader import check
from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from tests.exercises.process_settings import EXERCISES, Set, answer, differing, made, problems, readings, settings

# Modes that raise for whatever torch is asked, so that nothing can be set after them.
RAISING = ("TorchFunctionMode()", "TorchDispatchMode()")

MKLDNN_PRECISION = ("mkldnn.fp32_precision",) * hasattr(torch._C, "_get_fp32_precision_getter")  # torch 2.5 has none


@cache
def together() -> list[Set]:
    """The settings that can be made one upon the other, which are nearly all."""
    chosen = []
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code, setting in settings().items():
            if not any(mode in code for mode in RAISING):
                with suppress(RuntimeError):  # of two that exclude each other the first
                    stack.enter_context(made(setting))
                    chosen.append(setting)
    assert len(chosen) > 0.9 * len(settings())
    return chosen


def test_the_settings_that_are_known_are_found():
    codes = "\n".join(settings())
    for known in (
        *("set_default_dtype(torch.float64)", "set_default_dtype(torch.float16)", 'set_default_device("meta")'),
        *("set_grad_enabled(False)", "no_grad()", "inference_mode()", "autocast(", 'device("meta")', "detect_anomaly"),
        *('set_float32_matmul_precision("medium")', "use_deterministic_algorithms(True)", "set_num_threads(3)"),
        *("mkldnn.enabled = False", *MKLDNN_PRECISION, "enable_math_sdp(False)", "cudnn.benchmark = True"),
        *("FlopCounterMode", "save_on_cpu", "sdpa_kernel", "set_flush_denormal", "seterr", "simplefilter"),
    ):
        assert known in codes


def test_a_model_solution_passes_under_each_setting():
    """Another one for each, and in each week another one, so that in time all meet: all under each at once take
    minutes, by `python -m tests.exercises.process_settings`. `TURN=NUMBER` repeats one week's."""
    turn = int(os.environ.get("TURN", date.today().toordinal() // 7))
    found = {
        code: problems([one], [EXERCISES[(i + turn) % len(EXERCISES)]])
        for i, (code, one) in enumerate(settings().items())
    }
    assert {code: wrong for code, wrong in found.items() if wrong} == {}, f"TURN={turn}"


def test_every_model_solution_passes_under_all_settings_together():
    assert problems(together(), EXERCISES) == []


def test_torchs_own_are_those_of_a_fresh_process():
    source = (
        "import grader.subject.settings as own\n"
        "found = [(s, s.read()) for s in own.SETTINGS]\n"
        "print([s.name for s, value in found if s.own(value) is not value and s.own(value) != value])"
    )
    said = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    # Numbers of threads differ between machines, NumPy's generator is exchanged for another, and code runs as written.
    assert set(eval(said)) <= {"threads", "NumPy's generator", "compiling"}


COMPILED = """
import torch
def refusing(_graph, _inputs):
    raise RuntimeError("it is compiled")
@torch.compile(backend=refusing)
def attention_scores(query, key):
    return query @ key.mT
"""


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="before torch 2.6 code can't be left as written")
def test_code_given_to_torch_compile_runs_as_it_is_written_in_a_check_and_only_there(subject_of):
    assert evaluate(exercises()["attention_scores"], subject_of(COMPILED)).score == 1
    names: dict[str, Any] = {}
    exec(COMPILED, names)
    assert check(names["attention_scores"], practice=True).passed
    with pytest.raises(Exception, match="it is compiled"):
        names["attention_scores"](torch.ones(2, 3), torch.ones(2, 3))


BREAKS_OFF = "import torch\ndef attention_scores(q, k):\n    torch.set_default_dtype(torch.float64)\n    {}"


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "while True: pass"])
def test_they_are_put_back_after_an_interrupt_and_a_time_limit(end):
    names: dict[str, Any] = {}
    exec(BREAKS_OFF.format(end), names)
    with made(*together()):
        before = readings()
        report = check(names["attention_scores"], seconds=0.5, practice=True)
        assert not report.passed
        assert differing(before, readings()) == []


def test_an_interrupt_at_any_line_leaves_none_undone():
    setting_aside = own._Found.set_aside.__code__, own._Found.put_back.__code__, own._set_inference.__code__

    def interrupted_at(step: int) -> Iterator[int]:
        passed = 0

        def trace(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal passed
            if event == "line" and frame.f_code in setting_aside:
                passed += 1
                if passed == step:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace if event == "call" and frame.f_code in setting_aside else None if event == "call" else trace

        sys.settrace(trace)
        try:
            own.under_torchs_own(lambda: None)()
        except KeyboardInterrupt:
            yield step
        finally:
            sys.settrace(None)

    with made(settings()['torch.set_default_device("meta")'], settings()["torch.set_default_dtype(torch.float64)"]):
        before, step = readings(), 1
        while any(interrupted_at(step)):
            assert differing(before, readings()) == [], f"interrupted at line {step}"
            step += 1
    assert step > 4 * len(own.SETTINGS)


def test_the_exercises_are_read_under_torchs_own():
    read = []
    with made(settings()["torch.set_default_dtype(torch.float64)"]):
        own.under_torchs_own(lambda: read.append(torch.get_default_dtype()))()
        exercises.__globals__["_exercises"].cache_clear()
        assert set(EXERCISES) <= set(exercises())
    assert read == [torch.float32]
    assert answer(EXERCISES[0])
