"""What is logged of a student's code: functions by name, and that it was compiled where no name can be seen."""

from __future__ import annotations

import linecache
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from grader.subject.protocol import MAX_CALLS, MAX_NAME
from grader.subject.watch import COMPILERS, Log, watch

X = torch.rand(2, 5, 4)
LIBRARY = torch.library.Library("students", "DEF")
LIBRARY.define("on_cpu(Tensor x) -> Tensor")
LIBRARY.impl("on_cpu", lambda x: torch.softmax(x, -1), "CPU")
LIBRARY.define("composite(Tensor x) -> Tensor")
LIBRARY.impl("composite", lambda x: torch.softmax(x, -1), "CompositeImplicitAutograd")


@torch.library.custom_op("students::custom", mutates_args=())
def custom(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 1, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x, x, x)[0]


def soft(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def compiled() -> dict[str, tuple[str, object]]:
    """By name what it is compiled with, and the compiled function."""
    module = Attention().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        unit = torch.jit.CompilationUnit("def f(x):\n    return torch.softmax(x, -1)\n")
        scripted, traced = torch.jit.script(module), torch.jit.trace(soft, X)
        return {
            "traced function": ("torch.jit", traced),
            "traced module": ("torch.jit", torch.jit.trace(nn.BatchNorm1d(5), X)),
            "scripted module": ("torch.jit", scripted),
            "its forward": ("torch.jit", scripted.forward),
            "its method in C++": ("torch.jit", scripted._c._get_method("forward")),
            "frozen module": ("torch.jit", torch.jit.freeze(scripted)),
            "compilation unit": ("torch.jit", unit.f),
            "called by an honest-looking function": ("torch.jit", lambda x: 2 * traced(x)),
            "make_fx": ("torch.fx", make_fx(module)(X)),
            "its forward past the hooks": ("torch.fx", make_fx(module)(X).forward),
            "its graph interpreted": ("torch.fx", torch.fx.Interpreter(make_fx(module)(X)).run),
            "export": ("torch.fx", torch.export.export(module, (X,), strict=False).module()),
            "custom operator": ("torch.library", custom),
            "operator for the CPU": ("torch.library", torch.ops.students.on_cpu),
            "composite operator": ("torch.library", torch.ops.students.composite.default),
        }


def calls(function: object, x: Tensor = X) -> tuple[str, ...]:
    log = Log()
    with watch(log):
        function(x)  # type: ignore[operator]
    return log.calls


COMPILED = compiled()


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_is_logged_as_such(name):
    compiler, function = COMPILED[name]
    for _ in range(3):  # torch.jit optimises what has run before
        assert compiler in calls(function)


class NamedNorm(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (4,))


PLAIN = {
    "function": soft,
    "module": Attention(),
    "vmap": torch.vmap(soft),
    "gradients by torch.func": torch.func.grad(lambda x: soft(x).square().sum()),
    "jvp": lambda x: torch.func.jvp(soft, (x,), (x,)),
    "torch.jit.fork": lambda x: torch.jit.wait(torch.jit.fork(soft, x)),
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(soft, x, use_reentrant=False),
    "from numpy": lambda x: torch.from_numpy(x.numpy()) + 1,
    "backward": lambda x: soft(x.clone().requires_grad_()).sum().backward(),
    "an operator of torch's own": lambda x: torch.ops.aten._softmax(x, -1, False),
    "optimiser": lambda x: torch.optim.Adam([x.clone().requires_grad_()]).step(),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_not_compiled_is_not_logged_as_such(name):
    assert not set(COMPILERS) & set(calls(PLAIN[name]))


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Attention(), "nn.MultiheadAttention"),
        (NamedNorm(), "F.rms_norm"),
        (lambda x: F.scaled_dot_product_attention(x, x, x), "torch._C._nn.scaled_dot_product_attention"),
    ],
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.skipif(not torch._dynamo.is_dynamo_supported(), reason="torch 2.5 compiles nothing on Python 3.13")
def test_torch_compile_hides_nothing(function, name, backend):
    made = torch.compile(function, backend=backend)
    made(X)  # compiled before it is watched
    logged = calls(made)
    assert name in logged
    assert not set(COMPILERS) & set(logged)


def test_message_says_what_to_do(subject_of):
    source = "import torch\nstable_softmax = torch.jit.trace(lambda x: x / x.sum(-1, keepdim=True), torch.rand(2, 3))"
    report = evaluate(exercises()["stable_softmax"], subject_of(source))
    assert report.diagnosis == "excluded-function"
    assert report.score == 0
    [message] = [part.message for part in report.parts if part.kind == "excluded-function"]
    where = "Your code runs through `torch.jit`. There the check can't see which functions are called"
    assert message.startswith(where)
    assert "Write your code in plain Python" in message


def test_where_nothing_is_excluded_compiled_code_is_welcome(subject_of):
    source = "import torch\n@torch.jit.script\ndef attention_scores(query, key):\n    return query @ key.mT"
    source = source.replace("(query, key)", "(query: torch.Tensor, key: torch.Tensor)")
    exercise = exercises()["attention_scores"]
    assert not exercise.excluded
    plain = "import torch\ndef attention_scores(query, key):\n    return query @ key.mT"
    assert evaluate(exercise, subject_of(source)).score == evaluate(exercise, subject_of(plain)).score > 0


def test_a_full_log_is_an_error_and_hides_nothing():
    log = Log()
    for number in range(MAX_CALLS):
        log.add(f"{number} {'x' * 1000}")
    assert max(map(len, log.calls)) == MAX_NAME
    log.add(log.calls[0])
    with pytest.raises(RuntimeError, match=f"more than {MAX_CALLS} different torch functions"):
        log.add("F.softmax")


def test_the_line_of_a_call_is_the_one_that_the_file_has_now(tmp_path):
    path = tmp_path / "mine.py"
    for line in ("return torch.softmax(x, -1)", "return torch.softmax(x, -1).clone()"):
        path.write_text(f"def f(x):\n    {line}\n")
        linecache.checkcache(str(path))  # as Jupyter does before each cell
        defined: dict[str, object] = {"torch": torch}
        exec(compile(path.read_text(), path, "exec"), defined)
        log = Log()
        with watch(log):
            defined["f"](X)  # type: ignore[operator]
        assert (log.places[0].line, log.places[0].file) == (line, "mine.py")
