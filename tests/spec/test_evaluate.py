"""Checks of toy exercises: every common fault of a student gets a sentence, in either subject."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.report.text import as_text
from grader.spec import compare
from grader.spec.draw import LARGE_POOL, POOL
from grader.spec.evaluate import evaluate
from grader.subject import Request
from grader.subject.local import LocalSubject
from grader.subject.watch import warm_up
from tests.spec.toy import TOYS

MODULES = ("import sys", "import threading", "import numpy as np", "import torch", "import torch.nn as nn")
IMPORTS = "\n".join((*MODULES, "import torch.nn.functional as F", ""))


@pytest.fixture
def report_of(subject_of):
    def make(name, source, seconds=10.0):
        return evaluate(TOYS[name], subject_of(IMPORTS + source), seconds=seconds, exercises=TOYS)

    return make


def product(body):
    return "def product(left, right):\n" + "\n".join(f"    {line}" for line in body.splitlines())


def test_right_code_gets_full_marks(report_of):
    report = report_of("product", product("return left @ right"))
    assert (report.passed, report.score, report.mark, report.diagnosis) == (True, 1.0, 4.0, None)
    assert [r.passed for r in report.parts] == [True] * 8


# A fault: the body, the kind of its finding, and a pattern of its message.
GENERAL_FINDINGS = {
    "nothing returned": ("left @ right", "returns-nothing", "returned None"),
    "a NumPy array": ("return (left @ right).detach().numpy()", "wrong-type", "NumPy array"),
    "a tuple": ("return left @ right, 1", "wrong-type", "a tuple of 2 items"),
    "a number": ("return 3.5", "wrong-type", "the plain number 3.5"),
    "a string": ("return 'left'", "wrong-type", "returned the string 'left', expected one tensor"),
    "a long string": ("return 50 * 'left'", "wrong-type", "the string '(left){10}…', expected"),
    "an empty list": ("return []", "wrong-type", "returned an empty list, expected one tensor"),
    "wrong shape": ("return (left @ right).sum(-1)", "wrong-shape", r"\(T, E\): seq_len, d_model"),
    "NaN": ("return left @ right * float('nan')", "not-finite", r"NaN in \d+ of \d+ places, first at \[0, 0\]"),
    "changed in place": ("left *= 1.5\nreturn left @ right / 1.5", "changes-argument", "argument `left` in place"),
    "changed back": ("left[0] += 1\nreturn left @ right - right.sum(0) * 0", "changes-argument", "`left`"),
    "gradient cut": ("return (left @ right).detach()", "gradient-cut", "No gradient reaches the result"),
    "gradient cut half": ("return left.detach() @ right", "gradient-cut", "No gradient reaches `left`"),
    "leaves torch": (
        "return torch.from_numpy(left.numpy() @ right.numpy())",
        "gradient-cut",
        "runs without gradients",
    ),
    "dtype changed": ("return (left @ right).float()", "dtype-changed", "float32, expected float64"),
    "dtype raised": ("return (left @ right).double()", "dtype-changed", "float64, expected float32"),
    "their own exception": (
        "x = left\nreturn x @ x",
        "raised",
        r"raised RuntimeError at line 9 of its cell: `return x @ x`: (mm: )?mat1 and mat2",
    ),
    "exit": ("sys.exit(3)", "raised", "raised SystemExit"),
    "recursion": ("return product(left, right)", "raised", "RecursionError"),
}


@pytest.mark.parametrize(("body", "kind", "sentence"), GENERAL_FINDINGS.values(), ids=list(GENERAL_FINDINGS))
def test_accident_gets_a_sentence(report_of, body, kind, sentence):
    report = report_of("product", product(body))
    assert not report.passed
    assert not report.broken
    assert report.diagnosis == kind
    failed = [r for r in report.parts if not r.passed]
    first = next(r for r in failed if r.kind == kind)
    assert re.search(sentence, first.message), first.message
    assert "Traceback" not in as_text(report)


ONE_NUMBER = {
    "another number": ("return x.sum() * 0 + 2.5", r"is 2\.5, expected -?\d+\.\d+ \(one sequence\)\."),
    "a number almost right": ("return x.sum() * 1.001", r"is (-?\d+\.)(\d+), expected \1(?!\2)\d+ \(one sequence\)\."),
    "a whole number": ("return x.sum().long() * 0 + 3_000", r"is 3,000, expected -?\d+\.\d+ \(one sequence\)\."),
    "True": ("return x.sum() == x.sum()", r"is True, expected -?\d+\.\d+ \(one sequence\)\."),
    "NaN": ("return x.sum() / 0 * 0", r"is NaN, expected -?\d+\.\d+ \(one sequence\)\."),
    "infinite": ("return x.sum().abs() / 0", r"is inf, expected -?\d+\.\d+ \(one sequence\)\."),
}


@pytest.mark.parametrize(("body", "sentence"), ONE_NUMBER.values(), ids=list(ONE_NUMBER))
def test_one_number_is_told_as_it_is_and_only_once(report_of, body, sentence):
    report = report_of("total", f"def total(x):\n    {body}\n")
    assert re.fullmatch("The result of `total` " + sentence, report.parts[1].message), report.parts[1].message
    assert as_text(report).count("expected ") == 1
    assert (report.parts[1].got, report.parts[1].expected) == (None, None)


def test_one_number_that_should_be_finite_is_told():
    finding = compare.not_finite(torch.tensor(-torch.inf), None, "`sum`", "large entries")
    assert finding.message == "`sum` is -inf, expected a finite number (large entries)."
    finding = compare.not_finite(torch.tensor([[torch.nan]]), None, "`sum`", "large entries")
    assert finding.message == "`sum` holds NaN, expected a finite number (large entries)."


@pytest.fixture
def patient(monkeypatch):
    """The processor's seconds alone decide: with limits this small, the clock's come first on a busy machine."""
    monkeypatch.setattr("grader.subject.local.LocalSubject.patience", 100.0)


def test_endless_loop_is_stopped_and_told_once(report_of, patient):
    report = report_of("product", product("while True:\n    pass"), seconds=0.5)
    assert report.diagnosis == "time-limit"
    assert "did not finish in time" in report.parts[0].message
    assert {r.kind for r in report.parts} == {"time-limit", "not-run", "runs-first"}
    assert [r.state for r in report.parts] == ["failed", *["not-judged"] * 7]
    assert report.score == 0


def test_loop_that_swallows_exceptions_is_stopped(report_of, patient):
    body = "while True:\n    try:\n        left = left + 1\n    except Exception:\n        pass"
    assert report_of("product", product(body), seconds=0.5).diagnosis == "time-limit"


def test_an_exercise_may_have_a_time_limit_of_its_own(subject_of, patient):
    subject = subject_of(
        IMPORTS
        + "import time\n"
        + product("end = time.process_time() + 0.6\nwhile time.process_time() < end:\n    pass\nreturn left @ right")
    )
    assert evaluate(replace(TOYS["product"], seconds=0.3), subject).diagnosis == "time-limit"


def test_unwritten_and_undefined_functions(report_of):
    unwritten = report_of("product", product("raise NotImplementedError()"))
    assert unwritten.score == 0
    assert "not written yet" in unwritten.parts[0].message
    missing = report_of("product", "x = 1")
    assert missing.score == 0
    assert "not defined" in missing.parts[0].message


@pytest.mark.parametrize(
    "call",
    [
        "F.softmax(left, -1)",
        "getattr(left, 'soft' + 'max')(-1)",
        "torch.ops.aten._softmax(left, -1, False)",
        "nn.Softmax(-1)(left)",
        "torch.special.log_softmax(left, -1)",
        "F.softmin(left, -1)",
        "F.scaled_dot_product_attention(left, left, left)",
        "t = threading.Thread(target=lambda: left.softmax(-1)); t.start(); t.join()",
        "torch.sparse.softmax(left.to_sparse(), -1) if left.dim() == 2 else 0",
        "F.cross_entropy(left, torch.zeros(left.shape[:-1], dtype=torch.long)) if left.dim() == 2 else 0",
    ],
)
def test_excluded_function_scores_nothing_by_whatever_route(report_of, call):
    report = report_of("product", product(f"{call}\nreturn left @ right"))
    assert (report.passed, report.score, report.diagnosis) == (False, 0.0, "excluded-function")
    message = report.parts[-1].message
    assert "This exercise asks you to do without" in message
    assert "softmax" in message or "softmin" in message


def test_allowed_neighbours_of_an_excluded_function_are_allowed(report_of):
    body = "torch.logsumexp(left, -1), torch.logaddexp(left, left), F.softplus(left), left.max()\nreturn left @ right"
    assert report_of("product", product(body)).passed


def test_mistake_is_named_on_distinct_sizes_and_where_only_square_ones_run(report_of):
    doubled = report_of("product", product("return (left + left) @ right"))
    assert doubled.diagnosis == "doubled"
    assert doubled.hints == ("Look.", "Look closer.")
    assert doubled.hint(2) == "Look closer."
    turned = report_of("product", product("return left @ right.T"))
    assert turned.diagnosis == "right-transposed"
    assert turned.score == 0


def test_unlisted_mistake_fails_unnamed(report_of):
    report = report_of("product", product("return left @ right + 0.01"))
    assert (report.passed, report.diagnosis) == (False, None)


def test_partial_credit_needs_values(report_of):
    constant = report_of("product", product("return torch.zeros(*left.shape[:-1], right.shape[-1], dtype=left.dtype)"))
    assert [r.name for r in constant.parts if r.passed and r.weight] == ["returns the right shape"]
    one_sequence_only = report_of("product", product("return torch.mm(left, right)"))
    assert 0.4 < one_sequence_only.score < 1


def test_the_earlier_piece_that_fails_is_named_first(report_of):
    source = product("return 2 * left @ right") + "\ndef squared(x):\n    return product(x, x.mT)\n"
    report = report_of("squared", source)
    assert (report.first_fix, report.diagnosis) == ("product", "doubled")
    assert "`squared` calls `product`, which does not pass its own check yet. First fix `product`." in as_text(report)


def test_an_earlier_piece_that_is_not_called_is_not_blamed(report_of):
    source = product("return 2 * left @ right") + "\ndef squared(x):\n    return x @ x.mT + 1\n"
    report = report_of("squared", source)
    assert (report.first_fix, report.diagnosis) == ("", None)


def test_an_earlier_piece_that_is_not_defined_is_named(report_of):
    report = report_of("squared", "def squared(x):\n    return product(x, x.mT)\n")
    assert report.first_fix == "product"


def module(forward, init="self.linear = nn.Linear(d_in, d_out)"):
    return (
        "class Affine(nn.Module):\n    def __init__(self, d_in, d_out):\n        super().__init__()\n"
        f"        {init}\n    def forward(self, x):\n        {forward}\n"
    )


def test_module_is_built_loaded_and_called(report_of):
    report = report_of("Affine", module("return self.linear(x)"))
    assert report.passed, str(report)


def test_module_mistakes_and_misbuilt_modules_are_named(report_of):
    forgotten = report_of("Affine", module("return x @ self.linear.weight.T"))
    assert forgotten.diagnosis == "bias-forgotten"
    renamed = report_of("Affine", module("return self.lin(x)", "self.lin = nn.Linear(d_in, d_out)"))
    assert renamed.diagnosis == "misbuilt"
    assert "no parameter or buffer `linear.weight`; it has `lin.weight`" in renamed.parts[0].message
    no_bias = report_of("Affine", module("return self.linear(x)", "self.linear = nn.Linear(d_out, d_in)"))
    assert "`linear.weight` has shape" in no_bias.parts[0].message
    raised = report_of("Affine", module("return x @ x")).parts[0].message
    assert re.search(r"` was made with d_in = \d+, d_out = \d+\. It was called with x \(\d+, \d+\)\.$", raised), raised
    no_module = report_of("Affine", "def Affine(d_in, d_out):\n    return 3\n")
    assert "made a value of type int" in no_module.parts[0].message


def test_callables_reach_a_students_function_as_data_and_as_calls(report_of):
    assert report_of("apply_twice", "def apply_twice(function, x):\n    return function(x) + function(x)\n").passed
    assert not report_of("apply_twice", "def apply_twice(function, x):\n    return function(x)\n").passed


def test_a_broken_check_says_so_and_never_blames_the_student(report_of):
    report = report_of("broken", "def broken(x):\n    return x\n")
    assert not report.passed
    assert "NameError" in report.traceback
    assert "The check itself failed, not your code" in as_text(report)


def test_gradients_that_torch_cannot_take_at_all_are_no_fault_of_the_student(monkeypatch):
    namespace: dict = {}
    exec(IMPORTS + product("return left @ right"), namespace)

    def grad(*_args, **_more):
        raise ImportError("No module named 'sympy'")

    warm_up()  # takes a gradient of its own, once
    monkeypatch.setattr(torch.autograd, "grad", grad)
    report = evaluate(TOYS["product"], LocalSubject(namespace))
    assert "No module named 'sympy'" in report.traceback
    assert report.diagnosis is None


def test_the_students_output_is_kept_and_capped(report_of):
    report = report_of("product", product("print('x' * 100_000)\nreturn left"))
    assert report.output.startswith("xxx")
    assert len(report.output) <= 20_000


def test_surroundings_are_those_of_the_notebook_afterwards(report_of):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    report_of("product", product("torch.rand(3)\nreturn left @ right"))
    assert torch.equal(before, torch.get_rng_state())


def test_gradients_are_judged_even_where_the_notebook_turned_them_off(report_of):
    with torch.no_grad():
        assert report_of("product", product("return left @ right")).passed


def test_secret_seeds_draw_other_and_larger_cases(subject_of):
    sizes = []
    for seed, larger in (("practice", False), (b"a", True), (b"b", True)):
        source = "seen = []\ndef product(left, right):\n    seen.append(tuple(left.shape))\n    return left @ right\n"
        subject = subject_of(IMPORTS + source)
        assert evaluate(TOYS["product"], subject, seed=seed, larger=larger).passed

        sizes.append(subject.ask(Request("get", "seen")).value[0])
    assert len(set(sizes)) == 3


def test_a_judge_draws_larger_sizes_than_a_learners_check_does():
    def sizes(larger):
        met = set()
        for number in range(20):
            subject = Recording(LocalSubject({"attention_scores": lambda query, key: query @ key.mT}))
            evaluate(exercises()["attention_scores"], subject, seed=f"seed {number}", larger=larger)
            met |= {n for request in subject.requests for arg in request.args for n in getattr(arg, "shape", ())}
        return met

    assert max(sizes(False)) <= max(POOL)
    assert max(POOL) < max(sizes(True)) <= max(LARGE_POOL)


class Recording:
    """A subject that keeps what it is asked."""

    def __init__(self, inner):
        self.inner, self.requests = inner, []

    def ask(self, request):
        self.requests.append(request)
        return self.inner.ask(request)

    def answer_with(self, answer):
        self.inner.answer_with(answer)


def test_the_reference_computes_in_one_thread_too(subject_of):
    """A judge's process has as many threads as the machine has cores."""
    seen = []

    def reference(left, right):
        seen.append(torch.get_num_threads())
        return left @ right

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        report = evaluate(
            replace(TOYS["product"], reference=reference), subject_of(IMPORTS + product("return left @ right"))
        )
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert report.passed
    assert set(seen) == {1}


def test_a_helper_is_checked_once_for_one_failure_in_all_its_checks():
    """On lesson 01, where much builds on the softmax."""
    known, wrong = exercises(), "def stable_softmax(x):\n    e = x.exp()\n    return e / e.sum(-2, keepdim=True)"
    namespace = {"__name__": "__main__"}
    exec(model_solution(known["self_attention"]), namespace)
    exec(wrong, namespace)
    asked = []
    for earlier in ({}, None):
        subject = Counting(namespace)
        for seed in ("secret", "practice"):
            report = evaluate(known["self_attention"], subject, seed=seed, exercises=known, earlier=earlier)
            assert report.first_fix == "stable_softmax"
        asked.append(subject.calls)
    assert asked[0] < 0.75 * asked[1]


class Counting(LocalSubject):
    """Counts what is asked of it."""

    calls = 0

    def ask(self, request):
        self.calls += 1
        return super().ask(request)
