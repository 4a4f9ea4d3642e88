"""Carries out requests on a student's namespace and returns plain data: the only code that touches student objects.

It knows no expected values and judges nothing.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn

from grader.subject import settings
from grader.subject.callbacks import answered
from grader.subject.cells import compile_whole
from grader.subject.elsewhere import Elsewhere, two_devices
from grader.subject.errors import Missing, say
from grader.subject.forms import reformed
from grader.subject.guarded import CappedText, Guarded
from grader.subject.names import does_nothing, names_of, words_in, words_of
from grader.subject.notebook import Notebook
from grader.subject.protocol import MAX_NAME, Answer, Outcome, Request
from grader.subject.raised import describe_exception
from grader.subject.time_limit import TimeLimit, time_limit
from grader.subject.translator import Trainee, Translator
from grader.subject.values import GIVEN, MAX_ITEMS, Callback, Given, plain, same, strided, tensors_by_place, tensors_in
from grader.subject.watch import Log, watch
from grader.subject.wire import DTYPES

READ = {"eval", "_", "__", "___"}  # names of which it matters whether they are read
# What a notebook's cells leave behind besides functions, classes and modules.
DATA = (Tensor, nn.Module, int, float, str, tuple, list, dict)
KEPT_CALLS, KEPT_ELEMENTS = 12, 20_000  # what is kept of earlier calls, to see whether a later one changes it
SHOWN = 6  # names of a module's parameters in a message


class Executor:
    """Carries out requests on `namespace`. `answer` is called when a student's function calls a `Callback`; `modules`
    are those built, by handle; `earlier`: what the latest calls took and gave, with a copy of each."""

    def __init__(self, namespace: dict[str, Any], answer: Answer | None = None) -> None:
        self.namespace = namespace
        self.answer = answer
        self.modules: dict[str, nn.Module] = {}
        self.notebook = Notebook(namespace)
        self.earlier: deque[list[tuple[Tensor, Tensor]]] = deque(maxlen=KEPT_CALLS)
        self.log = Log()
        self.settings: tuple[str, ...] = ()

    def carry_out(self, request: Request) -> Outcome:
        """Carry out one request: a cell under the settings that the cells before it have left, all else under torch's
        own. Whatever the student's code raises becomes part of the outcome."""
        return self._outcome(request) if request.op == "run" else self._under_torchs_own(request)

    @settings.under_torchs_own
    def _under_torchs_own(self, request: Request) -> Outcome:
        settings.seed(request.seed)
        return self._outcome(request)

    def _outcome(self, request: Request) -> Outcome:
        self.log, self.settings, output = Log(), (), CappedText()
        facts: dict[str, Any] = {}
        try:
            with Guarded(output), time_limit(request.seconds, request.patience):
                facts = getattr(self, f"_{request.op}")(request)
        except Missing as error:
            facts = {"status": "missing", "value": str(error), "stop": self.notebook.stop_of(str(error))}
        except TimeLimit as limit:
            facts = {"status": "waited" if limit.waited else "time-limit"}
        except BaseException as error:  # a student's code may raise anything, SystemExit and KeyboardInterrupt too
            facts = {"status": "raised", "raised": describe_exception(error), "stop": self.notebook.stop_of(error)}
        return Outcome(
            **facts,
            settings=self.settings,
            calls=self.log.calls,
            places=self.log.places,
            operations=self.log.operations,
            products=self.log.products,
            largest=self.log.largest,
            largest_shape=self.log.largest_shape,
            output=output.getvalue(),
        )

    def _find(self, target: str) -> Any:
        if target.startswith("@"):
            return self.modules[target[1:]]
        if target not in self.namespace:
            raise Missing(target)
        return self.namespace[target]

    def _run(self, request: Request) -> dict[str, Any]:
        errors = self.notebook.run(request.source, "definitions" in request.args, request.number)
        return {"status": "raised", "raised": errors[0]} if errors else {}

    def _names(self, request: Request) -> dict[str, Any]:
        names: set[str] = set()
        for number, source in enumerate(request.args, 1):
            try:
                code, is_python = compile_whole(source, f"<cell {number} of the notebook>")
            except (SyntaxError, ValueError, RecursionError):
                return {}  # nobody can say what this notebook uses
            # `model.eval()` looks no name up, and `for _ in` reads no earlier value.
            words = words_of(code) - {f".{name}" for name in READ}
            if looked := words & READ:
                words -= looked - names_of(code).uses
            # Behind a magic, names are text.
            names |= words if is_python else words - {"get_ipython"} | words_in(source)
        return {"value": _short(names)}

    def _call(self, request: Request) -> dict[str, Any]:
        function: Any = self._find(request.target)
        place: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        if request.elsewhere:
            function, place = Elsewhere(function), two_devices
        wanted = request.cotangents is not None
        copy = strided if request.strided else Tensor.clone
        passed = [self._prepare(arg, wanted, copy) for arg in request.args]
        keywords = {k: self._prepare(v, False, copy) for k, v in request.keywords.items()}
        earlier = [(tensor, tensor._version) for call in self.earlier for tensor, _ in call]
        try:
            with watch(self.log) if request.watch else contextlib.nullcontext(), place():
                value = function(*passed, **keywords)
        finally:
            self.settings = settings.reset()
        with place():
            value = reformed(value, request.form)
            facts = _facts(request, function, passed, value)
        if any(tensor._version != version for tensor, version in earlier):
            facts["changed_earlier"] = any(not same(was, plain(now)) for call in self.earlier for now, was in call)
        self.earlier.append(_kept(request.args, passed) + _kept([facts["value"]], [value]))
        return facts

    def _prepare(self, arg: Any, differentiable: bool, copy: Callable[[Tensor], Tensor]) -> Any:
        """A copy of an argument, so that a student's code can't change the specification's; `copy` copies a tensor. If
        `differentiable`, copies of floating-point tensors require gradients. A `Given` or a `Callback` becomes its
        callable."""
        if isinstance(arg, Tensor):
            own = copy(arg)
            return own.requires_grad_() if differentiable and own.is_floating_point() else own
        if isinstance(arg, tuple | list):
            return type(arg)(self._prepare(item, differentiable, copy) for item in arg)
        if isinstance(arg, dict):
            return {key: self._prepare(item, differentiable, copy) for key, item in arg.items()}
        if isinstance(arg, Given):
            return self._given(arg)
        if isinstance(arg, Callback):
            return self._callback(arg)
        return arg

    def _given(self, given: Given) -> Any:
        if given.kind in GIVEN:
            return GIVEN[given.kind](given.data)
        built = self.modules[given.data["handle"]]
        if given.kind == "parameters":  # to be walked over once, as a model gives them, or a list
            return built.parameters() if given.data["once"] else list(built.parameters())
        return built.optimizer if given.kind == "optimizer" else built

    def _callback(self, callback: Callback) -> Callable[..., Any]:
        def ask(args: tuple[Any, ...]) -> Any:
            if self.answer is None:
                raise RuntimeError("nobody answers callbacks here")
            return self.answer(callback, args)

        return answered(ask)

    def _build(self, request: Request) -> dict[str, Any]:
        if not request.target:
            self.modules[request.handle] = self._given(request.args[0])
            return {}
        module = self._find(request.target)(*request.args, **request.keywords)
        if not isinstance(module, nn.Module):
            problem = say(
                "`{name}(...)` made a value of type {type}, expected an `nn.Module`.",
                name=request.target,
                type=type(module).__name__,
            )
            return {"status": "misbuilt", "value": problem}
        self.modules[request.handle] = module
        return {}

    def _load(self, request: Request) -> dict[str, Any]:
        module = self._find(request.target)
        tensors = dict(module.named_parameters(remove_duplicate=False))
        tensors |= dict(module.named_buffers(remove_duplicate=False))
        state, optional = request.args[0], dict(*request.args[1:])
        state = {**state, **{name: optional[name] for name in optional if name in tensors}}
        problem = _misfit(tensors, state)
        if problem:
            return {"status": "misbuilt", "value": problem}
        with torch.no_grad():
            for name, tensor in state.items():
                tensors[name].copy_(tensor)
        return {}

    def _state(self, request: Request) -> dict[str, Any]:
        module = self._find(request.target)
        state = {
            "parameters": {name: plain(p) for name, p in module.named_parameters(remove_duplicate=False)},
            "buffers": {name: plain(b) for name, b in module.named_buffers(remove_duplicate=False)},
            "saved": _short(set(module.state_dict())),
            "tracked": _short({name for name, b in module.named_buffers(remove_duplicate=False) if b.requires_grad}),
            "training": bool(module.training),
        }
        return {"value": state}

    def _mode(self, request: Request) -> dict[str, Any]:
        """Switch a module's mode and dtype. The request's `args` are the mode (true for train) and the dtype of its
        floating-point tensors."""
        module = self._find(request.target).train(bool(request.args[0]))
        module.to(DTYPES[request.args[1]])
        return {}

    def _get(self, request: Request) -> dict[str, Any]:
        found = self._find(request.target)
        for name in request.args:
            if not hasattr(found, name):
                raise Missing(name)
            found = getattr(found, name)
        return {"value": plain(found)}

    def _describe(self, request: Request) -> dict[str, Any]:
        return {"value": describe(self._find(request.target), self.namespace)}


def _facts(request: Request, function: Any, passed: list[Any], value: Any) -> dict[str, Any]:
    """What a call of `function` on `passed` gave: its value, and its changes in place or the gradients asked for."""
    facts: dict[str, Any] = {"value": plain(value)}
    if request.cotangents is None:  # otherwise torch itself raises for a change in place
        facts["changed"] = tuple(i for i, arg in enumerate(request.args) if _changed(arg, passed[i]))
        return facts
    # A parameter may have two names, as an attribute and inside a Sequential: keep both.
    named = function.named_parameters(remove_duplicate=False) if isinstance(function, nn.Module) else ()
    facts["gradients"] = _gradients(value, passed, dict(named), request.cotangents)
    return facts


def _changed(before: Any, after: Any) -> bool:
    """Whether the student's code changed an argument in place. Of callables only a module can change."""
    if isinstance(before, Given | Callback):
        return isinstance(after, Translator | Trainee) and after.changed()
    if isinstance(before, tuple | list):
        return len(before) != len(after) or any(_changed(b, a) for b, a in zip(before, after, strict=True))
    return not same(before, plain(after) if not isinstance(after, Tensor) else after)


def _kept(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[Tensor, Tensor]]:
    """The tensors among `after`, each with its copy among `before`; none that is large, that a module owns, or that
    belongs to inference mode, where torch doesn't count changes."""
    pairs: list[tuple[Tensor, Tensor]] = []
    for was, tensor in zip(before, after, strict=True):
        if isinstance(tensor, tuple | list) and isinstance(was, tuple | list) and len(was) == len(tensor):
            pairs += _kept(was, tensor)
        elif isinstance(was, Tensor) and type(tensor) is Tensor and tensor.numel() <= KEPT_ELEMENTS:
            pairs += [] if tensor.is_inference() else [(tensor, was)]
    return pairs


def _misfit(tensors: dict[str, Tensor], state: dict[str, Tensor]) -> str:
    """Why a state can't be copied into a module, in words; empty if it can."""
    for name, tensor in state.items():
        if name not in tensors:
            near = difflib.get_close_matches(name, tensors, n=SHOWN, cutoff=0)
            has = ", ".join(f"`{name}` {tuple(tensors[name].shape)}" for name in near)
            if not near:
                return say("The module has no parameter or buffer `{name}`; it has none at all.", name=name)
            if len(near) == len(tensors):
                return say("The module has no parameter or buffer `{name}`; it has {others}.", name=name, others=has)
            return say(
                "The module has no parameter or buffer `{name}`; it has {others}, and {count} more.",
                name=name,
                others=has,
                count=len(tensors) - len(near),
            )
        if tensors[name].shape != tensor.shape:
            got, expected = tuple(tensors[name].shape), tuple(tensor.shape)
            return say("`{name}` has shape {got}, expected {expected}.", name=name, got=got, expected=expected)
    return ""


def describe(thing: Any, namespace: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Facts about a student's object.

    | fact | meaning |
    | --- | --- |
    | kind, type | what it is, and its type's name |
    | parameters, defaults, required | the names of its parameters, their defaults that are numbers, those without one |
    | uses, data | the global names that its code uses, and which of them are data in `namespace` |
    | sets | the attributes that its methods set |
    | numbers | the numbers in its code that may be sizes |
    | loops, empty | whether it has a `for`, and whether it does nothing |
    """
    facts: dict[str, Any] = {
        "kind": _kind(thing),
        "type": type(thing).__name__[:MAX_NAME],
        "parameters": None,
        "defaults": {},
        "required": [],
    }
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(thing).parameters.values()
        facts["parameters"] = [p.name for p in parameters]
        facts["defaults"] = {p.name: plain(p.default) for p in parameters if isinstance(p.default, int | float)}
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        facts["required"] = _short({p.name for p in parameters if p.default is p.empty and p.kind in named})
    codes = _codes(thing)
    names = [names_of(code) for code in codes]
    uses = {name for found in names for name in found.uses}
    facts["uses"] = _short(uses)
    facts["data"] = _short({name for name in uses if isinstance((namespace or {}).get(name), DATA)})
    facts["sets"] = _short({name for found in names for name in found.attributes})
    facts["numbers"] = _short({f"{number:.4g}" for found in names for number in found.numbers})
    facts["loops"] = any(found.loops for found in names)
    facts["empty"] = (bool(codes) or isinstance(thing, type)) and all(does_nothing(code) for code in codes)
    return facts


def _short(names: set[str]) -> list[str]:
    """Names in order, without those that are too long to be sent; none of the course's own is."""
    return sorted(name for name in names if len(name) <= MAX_NAME)[:MAX_ITEMS]


def _kind(thing: object) -> str:
    if isinstance(thing, type):
        return "module class" if issubclass(thing, nn.Module) else "class"
    if isinstance(thing, nn.Module):
        return "module"
    if callable(thing):
        return "function"
    return "dict" if isinstance(thing, dict) else "value"


def _codes(thing: object) -> list[CodeType]:
    """The code of a function, or of each method of a class; none for anything else."""
    members = vars(thing).values() if isinstance(thing, type) else (thing,)
    codes = [getattr(member, "__code__", None) for member in members]
    return [code for code in codes if inspect.iscode(code)]


def _gradients(
    value: Any,
    given: list[Any],
    parameters: dict[str, nn.Parameter],
    cotangents: tuple[Tensor | None, ...],
) -> dict[str, Tensor | None] | None:
    """Vector-Jacobian products, by the place of an argument or the name of a parameter; a value is None where no
    gradient flows. None altogether if no output has a gradient."""
    wanted = {k: t for k, t in {**tensors_by_place(given), **parameters}.items() if t.requires_grad}
    outputs = []
    for leaf, cotangent in zip(tensors_in(value), cotangents, strict=False):
        if cotangent is not None and leaf.requires_grad and leaf.shape == cotangent.shape:
            # Differentiate a number: passing cotangents to `grad` makes torch import sympy (0.4 s, 70 MB).
            outputs.append((leaf * cotangent.to(leaf.dtype)).sum())
    if not outputs or not wanted:
        return None
    gradients = torch.autograd.grad(outputs, list(wanted.values()), allow_unused=True)
    return {k: _plain_gradient(g) for k, g in zip(wanted, gradients, strict=True)}


def _plain_gradient(gradient: Tensor | None) -> Tensor | None:
    """A gradient as it is sent; None for one that isn't real: parameters of a student's own may be complex."""
    if gradient is None or not gradient.is_floating_point():
        return None
    dense: Tensor = plain(gradient.to_dense() if gradient.is_sparse else gradient)
    return dense
