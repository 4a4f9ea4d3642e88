"""What a check hands over bears all that torch lets one do with an optimiser, a model or a function: each use works as
on torch's own, or raises a sentence that says what works; and none of them spoils what a later check hands over."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer, lr_scheduler

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from grader.subject.callbacks import NO_NUMBERS, ONCE, answered
from grader.subject.local import LocalSubject
from grader.subject.values import GIVEN

RATE, MOMENTUM = 0.3, 0.6
IDS = torch.tensor([[3, 4, 1, 2], [1, 0, 2, 4]])
ONE_AXIS = torch.linspace(-1, 1, 35).reshape(7, 5)
TRAINED = {"source": ONE_AXIS, "target": ONE_AXIS.flip(0), "output": ONE_AXIS.T.reshape(7, 5).cos(), "pad_idx": 0}
LOOKED_UP = {"table": torch.linspace(-2, 2, 77).reshape(11, 7), "watched": "mode", "max_length": 9}
MODELS: dict[str, dict[str, Any]] = {
    "translator": LOOKED_UP,
    "writer": LOOKED_UP,
    "trainee": {**TRAINED, "rate": RATE, "momentum": MOMENTUM},
    "speaker": {**TRAINED, "rate": RATE, "momentum": MOMENTUM},
    "graded": {"values": [ONE_AXIS], "gradients": [ONE_AXIS]},
}


def model_of(kind: str) -> Any:
    return GIVEN[kind]({**MODELS[kind], "training": True})


def run(model: Any) -> Any:
    """What a model computes, from as many texts as it takes; of mere parameters their squares."""
    if type(model).forward is nn.Module.forward:
        return [(p * p).sum() for p in model.parameters()]
    texts = [p for p in inspect.signature(model.forward).parameters.values() if p.default is p.empty]
    return model(*[IDS] * len(texts))


def public(kind: type) -> list[str]:
    members = ((name, getattr(kind, name)) for name in dir(kind) if not name.startswith("_"))
    return [name for name, member in members if inspect.isroutine(member)]


def required(method: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(method).parameters.values()
    return [p for p in parameters if p.default is p.empty and p.kind not in kinds]


def use(thing: Any, name: str, given: dict[str, Callable[[Any], Any]]) -> object:
    """Call a method with something fitting for each argument that it asks for. A method of a newer torch that asks for
    something else fails here, with a KeyError of its name."""
    method = getattr(thing, name)
    parameters = required(method)
    positional = [given[p.name](thing) for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return method(*positional, **{p.name: given[p.name](thing) for p in parameters if p.kind is p.KEYWORD_ONLY})


# --- optimisers -------------------------------------------------------------------------------------------------------

OF_AN_OPTIMIZER: dict[str, Callable[[Any], Any]] = {
    "hook": lambda _: lambda *_args, **_keywords: None,
    "state_dict": lambda optimizer: optimizer.state_dict(),
    "param_group": lambda _: {"params": [nn.Parameter(torch.ones(2))], "lr": 1.0},
    "closure": lambda _: lambda: torch.tensor(1.0),
    "func": lambda _: lambda _optimizer: None,
}
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "optimizer": lambda optimizer: optimizer,
    "lr_lambda": lambda _: lambda step: 0.5**step,
    "schedulers": lambda optimizer: [lr_scheduler.ConstantLR(optimizer)] * 2,
    "milestones": lambda _: [1],
    "step_size": lambda _: 1,
    "gamma": lambda _: 0.5,
    "T_max": lambda _: 4,
    "T_0": lambda _: 4,
    "base_lr": lambda _: 0.1,
    "max_lr": lambda _: 0.2,
}
SCHEDULERS = [
    name
    for name, kind in vars(lr_scheduler).items()
    if inspect.isclass(kind) and issubclass(kind, lr_scheduler.LRScheduler) and not name.endswith("LRScheduler")
]


def scheduled(name: str) -> Callable[[Any], object]:
    def follow(optimizer: Any) -> object:
        kind = getattr(lr_scheduler, name)
        given = {p.name: SCHEDULES[p.name](optimizer) for p in required(kind)}
        if name == "OneCycleLR":
            given["total_steps"] = 4
        schedule = kind(**given)
        optimizer.step()
        schedule.step(1.0) if name == "ReduceLROnPlateau" else schedule.step()
        return [group["lr"] for group in optimizer.param_groups]

    return follow


def scaled(optimizer: Any) -> None:
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


WITH_AN_OPTIMIZER: dict[str, Callable[[Any], object]] = {
    **{name: lambda o, name=name: use(o, name, OF_AN_OPTIMIZER) for name in public(Optimizer)},
    **{name: scheduled(name) for name in SCHEDULERS},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "a copy's step": lambda o: copy.deepcopy(o).step(),
    "pickle": lambda o: pickle.loads(pickle.dumps(o)),
    "repr": repr,
    "state before a step": lambda o: [dict(o.state[p]) for group in o.param_groups for p in group["params"]],
    "state after a step": lambda o: (o.step(), [sorted(o.state[p]) for g in o.param_groups for p in g["params"]])[1],
    "a scaler": scaled,
    "loading an earlier state": lambda o: (
        before := copy.deepcopy(o.state_dict()),
        o.step(),
        o.load_state_dict(before),
    ),
}


def two_steps(optimizer: Any, parameters: list[Tensor]) -> None:
    for step in (1, 2):
        for parameter in parameters:
            parameter.grad = parameter.detach().cos() * step
        optimizer.step()


@pytest.mark.parametrize("name", WITH_AN_OPTIMIZER)
def test_an_optimiser_bears_what_torchs_does(name):
    ours, theirs = model_of("trainee"), model_of("trainee")
    sgd = SGD(theirs.parameters(), lr=RATE, momentum=MOMENTUM)
    for parameter in (*ours.parameters(), *theirs.parameters()):
        parameter.grad = torch.ones_like(parameter)
    said, expected = (WITH_AN_OPTIMIZER[name](o) for o in (ours.optimizer, sgd))
    if isinstance(expected, list):
        assert said == expected
    for optimizer, model in ((ours.optimizer, ours), (sgd, theirs)):
        two_steps(optimizer, list(model.parameters()))
    torch.testing.assert_close(list(ours.parameters()), list(theirs.parameters()))
    fresh, before = model_of("trainee"), model_of("trainee")
    fresh.optimizer.zero_grad()
    fresh.optimizer.step()
    torch.testing.assert_close(list(fresh.parameters()), list(before.parameters()))


@pytest.mark.parametrize("kind", ["register_step_pre_hook", "register_step_post_hook"])
def test_hooks_of_an_optimiser_run(kind):
    optimizer, seen = model_of("trainee").optimizer, []
    getattr(optimizer, kind)(lambda *_args: seen.append(kind))
    optimizer.step()
    copy.deepcopy(optimizer).step()
    model_of("trainee").optimizer.step()
    assert seen == [kind]


# --- models -----------------------------------------------------------------------------------------------------------

OF_A_MODEL: dict[str, Callable[[Any], Any]] = {
    "hook": lambda _: lambda *_args, **_keywords: None,
    "fn": lambda _: lambda _module: None,
    "name": lambda _: "one_more",
    "module": lambda _: nn.Tanh(),
    "param": lambda _: nn.Parameter(torch.ones(1)),
    "tensor": lambda _: torch.ones(1),
    "target": lambda model: next(iter(dict(model.named_parameters()))),
    "dst_type": lambda _: torch.float64,
    "device": lambda _: "cpu",
    "state_dict": lambda model: model.state_dict(),
    "state": lambda _: None,
}
ELSEWHERE = {"cuda", "ipu", "xpu", "mtia"}  # devices that aren't here
# They ask for what a module may have and these don't: submodules, buffers of that name, extra state.
TORCHS_OWN_ERROR = {"get_submodule", "set_submodule", "get_buffer", "get_extra_state", "set_extra_state"}
WITH_A_MODEL: dict[str, Callable[[Any], object]] = {
    **{
        name: lambda m, name=name: use(m, name, OF_A_MODEL)
        for name in public(nn.Module)
        if name not in ELSEWHERE | TORCHS_OWN_ERROR | {"forward", "compile", "to"}
    },
    "to": lambda m: m.to("cpu", torch.float64),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "save": lambda m: torch.save(m, io.BytesIO()),
    "a state kept, and loaded after a call": lambda m: (
        s := copy.deepcopy(m.state_dict()),
        run(m),
        m.load_state_dict(s),
    ),
    "a copy's run": lambda m: run(copy.deepcopy(m)),
    "functional_call": lambda m: (
        torch.func.functional_call(m, dict(m.named_parameters()), (IDS,) * len(required(m.forward)))
        if type(m).forward is not nn.Module.forward
        else None
    ),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_a_model_bears_what_torchs_do(kind, name):
    model = model_of(kind)
    right = run(model_of(kind))
    WITH_A_MODEL[name](copy.deepcopy(model))
    torch.testing.assert_close(run(model), right)
    plain = nn.ParameterList([nn.Parameter(torch.ones(2, 2))])
    before = described(plain)
    if name in public(nn.Module):
        WITH_A_MODEL[name](plain)
    if described(plain) == before:  # what leaves a model of torch's as it was leaves ours
        WITH_A_MODEL[name](model)
        torch.testing.assert_close(run(model), right)
    torch.testing.assert_close(run(model_of(kind)), right)


def described(module: nn.Module) -> object:
    tensors = [(n, t.dtype, t.requires_grad, t.tolist()) for n, t in module.state_dict(keep_vars=True).items()]
    return tensors, module.training, [name for name, _ in module.named_modules()], len(list(module.buffers()))


def test_a_model_and_its_optimiser_are_copied_together():
    model, optimizer = copy.deepcopy((trained := model_of("trainee"), trained.optimizer))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    for moved, first in zip(model.parameters(), trained.parameters(), strict=True):
        torch.testing.assert_close(moved, first - RATE)


def test_what_a_model_notes_is_not_undone_by_an_earlier_state():
    model = model_of("trainee")
    before = copy.deepcopy(model.state_dict())
    run(model)
    model.load_state_dict(before)
    assert len(model.events) == 1
    assert "events" in dict(model.named_buffers())


# --- functions --------------------------------------------------------------------------------------------------------

MATRIX = torch.linspace(-1, 1, 9, dtype=torch.float64).reshape(3, 3).sin()
X = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(4, 3)
V, BATCH = X.cos(), torch.stack([X, X.cos(), X.sin(), X.flip(0), X.exp()])
numeric = torch.autograd.functional


def function(x: Tensor) -> Tensor:
    return torch.tanh(x @ MATRIX) @ x.mT @ x


def judge(args: tuple[Any, ...]) -> Any:
    """Answers as the judge does: with plain tensors only."""
    assert all(type(arg) in (Tensor, str) for arg in args)
    if len(args) == 1:
        return function(args[0])
    word, x, vector = args
    return {"gradient": numeric.vjp, "tangent": numeric.jvp}[word](function, x, vector)[1]


def total(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: f(x).sum()


def dual(f: Any) -> object:
    with torch.autograd.forward_ad.dual_level():
        return tuple(torch.autograd.forward_ad.unpack_dual(f(torch.autograd.forward_ad.make_dual(X, V))))


OF_TORCH_FUNC: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: torch.func.vmap(f)(BATCH),
    "grad": lambda f: torch.func.grad(total(f))(X),
    "grad_and_value": lambda f: torch.func.grad_and_value(total(f))(X),
    "vjp": lambda f: torch.func.vjp(f, X)[1](V),
    "jvp": lambda f: torch.func.jvp(f, (X,), (V,)),
    "jacrev": lambda f: torch.func.jacrev(f)(X),
    "jacfwd": lambda f: torch.func.jacfwd(f)(X),
    "hessian": lambda f: torch.func.hessian(total(f))(X),
    "linearize": lambda f: torch.func.linearize(f, X)[1](V),
    "functionalize": lambda f: torch.func.functionalize(f)(X),
}
# Functions of modules, of tensors' axes and of a debugger.
NO_TRANSFORMS = {
    "functional_call",
    "stack_module_state",
    "replace_all_batch_norm_modules_",
    "debug_unwrap",
    "rearrange",
}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    **OF_TORCH_FUNC,
    "vmap over other axes": lambda f: torch.func.vmap(f, in_dims=1, out_dims=2)(BATCH),
    "vmap of vmap": lambda f: torch.func.vmap(torch.func.vmap(f))(BATCH[None].expand(2, -1, -1, -1)),
    "vmap of grad": lambda f: torch.func.vmap(torch.func.grad(total(f)))(BATCH),
    "grad of vmap": lambda f: torch.func.grad(lambda xs: torch.func.vmap(f)(xs).sum())(BATCH),
    "jacrev in pieces": lambda f: torch.func.jacrev(f, chunk_size=2)(X),
    "jacrev of jacrev": lambda f: torch.func.jacrev(torch.func.jacrev(f))(X),
    "dual numbers": dual,
    "jacobian": lambda f: numeric.jacobian(f, X),
    "autograd.vjp": lambda f: numeric.vjp(f, X, V),
    "autograd.jvp": lambda f: numeric.jvp(f, X, V),
    "autograd.hvp": lambda f: numeric.hvp(total(f), X, V),
    "autograd.vhp": lambda f: numeric.vhp(total(f), X, V),
    "autograd.hessian": lambda f: numeric.hessian(total(f), X),
    "jacobian, vectorised": lambda f: numeric.jacobian(f, X, vectorize=True),
    "jacobian, forwards": lambda f: numeric.jacobian(f, X, vectorize=True, strategy="forward-mode"),
    "gradients, checked": lambda f: torch.autograd.gradcheck(f, X.clone().requires_grad_(), check_forward_ad=True),
}
REFUSED = {
    "functionalize": "Functionalize rule for custom_function_call",  # torch's own words for what it doesn't do
    "jacobian, vectorised": NO_NUMBERS,
    "jacobian, forwards": NO_NUMBERS,
    "autograd.jvp": ONCE,  # it differentiates a gradient
    **dict.fromkeys(("hessian", "jacrev of jacrev", "autograd.hvp", "autograd.vhp", "autograd.hessian"), ONCE),
}


def test_all_transforms_of_torch_func_are_tried():
    every = {name for name in dir(torch.func) if not name.startswith("_")}
    assert every - NO_TRANSFORMS <= OF_TORCH_FUNC.keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name not in REFUSED])
def test_a_function_bears_torchs_transforms(name):
    torch.testing.assert_close(TRANSFORMS[name](answered(judge)), TRANSFORMS[name](function))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_a_transform_that_it_does_not_bear_is_told(name):
    with pytest.raises(RuntimeError, match=re.escape(REFUSED[name])):
        TRANSFORMS[name](answered(judge))


@pytest.mark.parametrize("name", ["vmap", "grad", "jvp", "jacrev", "jacfwd"])
def test_a_trainee_bears_them_too(name):
    model = model_of("speaker").double()
    rest = {n: p.detach() for n, p in model.named_parameters()}
    shape = rest.pop("output").shape

    def logits(x: Tensor) -> Tensor:
        output = torch.zeros(shape, dtype=torch.float64) + x.sum(0).sum() + torch.nn.functional.pad(x, (0, 2, 0, 3))
        return torch.func.functional_call(model, {**rest, "output": output}, (IDS,))[..., 0]

    expected = {
        "vmap": lambda: torch.stack([logits(x) for x in BATCH]),
        "grad": lambda: numeric.jacobian(total(logits), X),
        "jvp": lambda: (logits(X), torch.einsum("btij,ij->bt", numeric.jacobian(logits, X), V)),
    }.get(name, lambda: numeric.jacobian(logits, X))()
    torch.testing.assert_close(TRANSFORMS[name](logits), expected)


# --- whole checks -----------------------------------------------------------------------------------------------------

CAREFUL = """
import copy
{solution}
as_asked = {name}

def {name}(model, optimizer, *rest, **options):
    best, before = copy.deepcopy(model.state_dict()), copy.deepcopy((model, optimizer))
    hooks = [optimizer.register_step_pre_hook(lambda *_: None), model.register_forward_hook(lambda *_: None)]
    norms = [optimizer.state[p].get("momentum_buffer") for p in model.parameters()]
    optimizer.load_state_dict(optimizer.state_dict())
    model.load_state_dict(best)
    as_asked(*before, *rest, **options)
    try:
        return as_asked(model, optimizer, *rest, **options)
    finally:
        for hook in hooks:
            hook.remove()
"""


@pytest.mark.parametrize("name", ["train_step", "fit"])
def test_a_careful_answer_passes_and_so_does_the_next(name):
    exercise = exercises()[name]
    for source in (CAREFUL.format(name=name, solution=model_solution(exercise)), model_solution(exercise)):
        namespace: dict[str, object] = {"__name__": "__main__"}
        exec(source, namespace)
        report = evaluate(exercise, LocalSubject(namespace), exercises=exercises(), seconds=60)
        assert report.passed, str(report)
