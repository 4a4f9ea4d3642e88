"""Mutation testing of the checks: small changes to a model solution, each of which its check has to notice.

A mutant is the model solution with one change: another operator, another number, a statement left out. A check that
passes it would pass a learner's slip of that kind. Some mutants are right answers too: `EQUIVALENT` lists them, each
with a reason.
"""

from __future__ import annotations

import ast
import copy
import itertools
import multiprocessing
import queue
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from grader.authoring.model_solutions import solution_in_context
from grader.authoring.samples import FOLDER, ROOT
from grader.authoring.spoilt import spoilt, ways
from grader.errors import CourseError
from grader.exercises.own import OwnFiles
from grader.exercises.registry import exercises
from grader.interrupt import children_hear_no_interrupt
from grader.spec.draw import Draw
from grader.spec.evaluate import GENERAL_FINDINGS, evaluate
from grader.spec.exercise import Case, Exercise
from grader.subject import Outcome, Request
from grader.subject.local import LocalSubject
from grader.subject.values import tensors_in
from grader.subject.watch import warm_up

EQUIVALENT = FOLDER / "equivalent_mutants.toml"  # in the repository
SEEDS = 3  # the practice check, and those of two courses
SECONDS = 5.0  # for the check of a mutant; the practice check of a model solution takes less than one
CUT = "cut_gradient"  # what a mutant calls to cut a gradient
PATIENCE = 30.0  # for a worker, whose check should have stopped by itself long before


@dataclass(frozen=True)
class Mutant:
    """A model solution with one change. `change` has the lines before and after, and is unique within its exercise;
    `source` is all that is run. `own`: the files of exercises that aren't the course's. `seeds`: with how many draws of
    inputs it is checked."""

    exercise: str
    change: str
    source: str
    own: OwnFiles = ()
    seeds: int = SEEDS


@dataclass(frozen=True)
class Result:
    """What the check said about a mutant. `verdict` is "named" (a listed mistake), "general" (a general finding),
    "unnamed", "survived", "by chance" (some draws of inputs show it, others don't) or "broken". `helped`: the report
    has a name or a hint."""

    mutant: Mutant
    verdict: str
    helped: bool = True


# --- deriving ---------------------------------------------------------------------------------------------------------


def derive(exercise: Exercise, context: tuple[str, str] | None = None) -> list[Mutant]:
    """Every mutant of an exercise's model solution, in the order of its lines, and the solution spoilt in every way of
    `grader.authoring.spoilt`; none of a quiz. `context`: another right answer, what stands before it first."""
    if exercise.kind == "answers":
        return []
    before, solution = context or solution_in_context(exercise)
    case = next(iter(exercise.cases(Draw(f"practice{exercise.name}"))), Case("none", {}))
    given = dict(case.args)
    state = case.setup.state if case.setup else {}
    if case.setup is not None:
        given |= zip((name.partition("=")[0] for name in exercise.signature), case.setup.init, strict=False)
    numbers = {name: value for name, value in given.items() if type(value) in (int, float)}
    differentiable = bool(exercise.outputs) and any(
        tensor.is_floating_point() for tensor in tensors_in([*given.values(), *state.values()])
    )
    spoils = (
        Mutant(exercise.name, way, f"{before}\n{solution}\n{exercise.name} = {code}") for way, code in ways(exercise)
    )
    return [*mutants_of(exercise.name, solution, Scope(numbers, differentiable), before), *spoils]


def mutants_of(name: str, solution: str, scope: Scope, before: str = "") -> Iterator[Mutant]:
    """The mutants of one exercise's solution, each source once. `before` is put in front of each; `scope` has what the
    whole solution may use."""
    tree = _Tidy().visit(ast.parse(solution))
    original = ast.unparse(tree)
    met, changes = {original}, Counter[str]()
    for source in _sources(tree, scope):
        if source not in met:
            met.add(source)
            change = _change(original, source)
            changes[change] += 1
            change += f" ({changes[change]})" if changes[change] > 1 else ""
            yield Mutant(name, change, f"{before}\n{source}")


class _Tidy(ast.NodeTransformer):
    """Takes docstrings and annotations out of a tree, and makes -1 one number."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        value = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return ast.Constant(-value)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)


def _change(before: str, after: str) -> str:
    """The lines that differ: "old → new"."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return " → ".join("; ".join(line.strip() for line in lines) or "(nothing)" for lines in (old, new))


def _sources(tree: ast.Module, scope: Scope) -> Iterator[str]:
    """The source of every mutant. Each change is made in the tree itself, written out and taken back."""
    for node, around, put in list(_places(tree, scope)):
        for change in MUTATIONS:
            for new in change(node, around):
                undo = put(new)
                try:
                    source = ast.unparse(ast.fix_missing_locations(tree))
                    compile(source, "<mutant>", "exec")
                except (SyntaxError, ValueError):  # such as a keyword without a name, or an assignment to a call
                    continue
                finally:
                    undo()
                yield source


@dataclass(frozen=True)
class Scope:
    """Where a node stands: the numbers to hard-code, by argument; whether there are gradients to cut; the `arguments`
    of the function around it; the `names` of these and of its variables; the `attributes` of `self`."""

    numbers: dict[str, int | float]
    differentiable: bool
    arguments: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


Put = Callable[[Any], Callable[[], None]]
NOT_CODE = ("ctx", "type_params")


def _places(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope, Put]]:
    """Every node below `node` that is code, with its scope and a function that puts another one in its place. That
    function returns the one that takes it back."""
    if isinstance(node, ast.ClassDef):
        scope = replace(scope, attributes=_attributes(node))
    if isinstance(node, ast.FunctionDef):
        arguments = tuple(a.arg for a in node.args.args if a.arg != "self")
        stored = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        scope = replace(scope, arguments=arguments, names=tuple(dict.fromkeys([*arguments, *stored])))
    for field, value in ast.iter_fields(node):
        if field in NOT_CODE:
            continue
        if isinstance(node, ast.JoinedStr):
            value = [part for part in value if isinstance(part, ast.FormattedValue)]
        if isinstance(value, ast.AST):
            yield value, scope, _put_field(node, field)
            yield from _places(value, scope)
        elif isinstance(value, list):
            for child in value:
                if isinstance(child, ast.AST):
                    yield child, scope, _put_item(value, child)
                    yield from _places(child, scope)


def _put_field(parent: ast.AST, field: str) -> Put:
    def put(new: ast.AST) -> Callable[[], None]:
        old = getattr(parent, field)
        setattr(parent, field, new)
        return lambda: setattr(parent, field, old)

    return put


def _put_item(items: list[Any], old: ast.AST) -> Put:
    def put(new: ast.AST | list[ast.stmt]) -> Callable[[], None]:
        before = list(items)
        at = next(i for i, item in enumerate(items) if item is old)
        items[at : at + 1] = new if isinstance(new, list) else [new]

        def undo() -> None:
            items[:] = before

        return undo

    return put


def _attributes(class_: ast.ClassDef) -> tuple[str, ...]:
    """The names of the attributes that a class gives its instances."""
    stored = (n.attr for n in ast.walk(class_) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return tuple(dict.fromkeys(stored))


# --- the changes ------------------------------------------------------------------------------------------------------

SIBLINGS = (
    ("sum", "mean"),
    ("amax", "amin"),
    ("max", "min"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("any", "all"),
    ("zeros", "ones"),
    ("new_zeros", "new_ones"),
    ("zeros_like", "ones_like"),
    ("tril", "triu"),
    ("softmax", "log_softmax"),
    ("exp", "log"),
    ("log", "log2"),
    ("sin", "cos"),
    ("sqrt", "square"),
    ("square", "abs"),
    ("relu", "abs"),
    ("relu", "tanh"),
    ("relu", "gelu"),
    ("var", "std"),
    ("stack", "cat"),
    ("reshape", "view"),
    ("split", "chunk"),
    ("train", "eval"),
    ("randn", "rand"),
    ("randn", "zeros"),
    ("Linear", "Identity"),
    ("LayerNorm", "Identity"),
    ("Dropout", "Identity"),
    ("ValueError", "TypeError"),
    ("ValueError", "Exception"),
    ("ModuleList", "Sequential"),
)
TWINS: dict[str, list[str]] = {}
for _one, _other in SIBLINGS:
    TWINS.setdefault(_one, []).append(_other)
    TWINS.setdefault(_other, []).append(_one)

REDUCTIONS = frozenset({"sum", "mean", "amax", "amin", "var", "std", "all", "any", "argmax"})
IN_PLACE = frozenset({"masked_fill", "clamp", "exp", "log", "relu", "sqrt", "square", "abs", "sin", "cos", "transpose"})
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd,),
}
COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
METHODS: dict[type[ast.operator], str] = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.GtE, ast.LtE),
    ast.NotEq: (ast.Eq, ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# What a call leaves behind in torch for the code after it.
SETTINGS = (
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_num_threads(torch.get_num_threads() + 1)",
    'torch.set_default_device("cpu")',
)


def operators(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of an operation: one with another operator, or operands swapped, or in place, or one
    operand only."""
    if isinstance(node, ast.BinOp):
        kind = type(node.op)
        yield from (ast.BinOp(node.left, other(), node.right) for other in OPERATORS.get(kind, ()))
        if kind not in COMMUTATIVE:
            yield ast.BinOp(node.right, node.op, node.left)
        yield node.left
        yield node.right
        if kind in METHODS and _is_shared(node.left, scope):
            yield _call(ast.Attribute(node.left, METHODS[kind], ast.Load()), node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield from node.values
    elif isinstance(node, ast.AugAssign):
        for kind in OPERATORS.get(type(node.op), ()):
            yield ast.AugAssign(node.target, kind(), node.value)


def constants(node: ast.AST, _scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of a constant: another number, truth value, letter order or text."""
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        yield ast.Constant(100.0)
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(other) for other in (value + 1, value - 1, 0, 1, -1, -value))
    elif isinstance(value, float):
        scaled = (float(f"{value * factor:.6g}") for factor in (10, 0.1, -1))
        yield from (ast.Constant(other) for other in (*scaled, 0.0, 1.0) if other != value)
    elif isinstance(value, str) and "->" in value:
        inputs, _, output = value.partition("->")
        letters = output.removeprefix("...")
        for i in range(len(letters) - 1):
            swapped = letters[:i] + letters[i + 1] + letters[i] + letters[i + 2 :]
            yield ast.Constant(f"{inputs}->{output.removesuffix(letters)}{swapped}")
    elif isinstance(value, str):
        yield ast.Constant("")


def siblings(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of a name: another function, attribute or variable; of an argument also a number."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from (ast.Attribute(node.value, other, node.ctx) for other in TWINS.get(node.attr, ()))
        if node.attr in scope.attributes and isinstance(node.value, ast.Name) and node.value.id == "self":
            others = (other for other in scope.attributes if other != node.attr)
            yield from (ast.Attribute(node.value, other, node.ctx) for other in others)
        if node.attr in ("T", "mT"):
            yield node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (ast.Name(other, node.ctx) for other in TWINS.get(node.id, ()))
        if node.id in scope.names:
            yield from (ast.Name(other, node.ctx) for other in scope.names if other != node.id)
        if node.id in scope.numbers:
            yield ast.Constant(scope.numbers[node.id])
    elif isinstance(node, ast.JoinedStr):
        yield ast.Constant("")
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield ast.JoinedStr([other for other in node.values if other is not part])


def calls(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of a call: one without an argument, with two swapped, or in place; its operand alone; one
    with keepdim or persistent added."""
    if not isinstance(node, ast.Call):
        return
    for i in range(len(node.args)):
        yield ast.Call(node.func, [*node.args[:i], *node.args[i + 1 :]], node.keywords)
        if i and not (isinstance(node.func, ast.Attribute) and node.func.attr == "transpose"):
            swapped = [*node.args[: i - 1], node.args[i], node.args[i - 1], *node.args[i + 1 :]]
            yield ast.Call(node.func, swapped, node.keywords)
    for keyword in node.keywords:
        yield ast.Call(node.func, node.args, [other for other in node.keywords if other is not keyword])
    if node.args:
        yield node.args[0]
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
        if name in IN_PLACE and _is_shared(node.func.value, scope):
            yield ast.Call(ast.Attribute(node.func.value, f"{name}_", ast.Load()), node.args, node.keywords)
        if name in REDUCTIONS and (node.args or node.keywords):
            yield _with_keyword(node, keepdim=True)
    if name == "register_buffer":
        yield _with_keyword(node, persistent=False)
    if name == "ModuleList":
        yield _call(ast.Name("list", ast.Load()), *node.args)
        for generator in node.args:
            if isinstance(generator, ast.GeneratorExp):  # one module, several times
                count = _call(
                    ast.Name("len", ast.Load()), _call(ast.Name("list", ast.Load()), generator.generators[0].iter)
                )
                shared = ast.BinOp(ast.List([generator.elt], ast.Load()), ast.Mult(), count)
                yield ast.Call(node.func, [shared], [])


def slices(node: ast.AST, _scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of an index: a slice without one of its bounds or its step, an index without one of its
    places, or the whole."""
    if isinstance(node, ast.Slice):
        yield ast.Slice(None, node.upper, node.step)
        yield ast.Slice(node.lower, None, node.step)
        yield ast.Slice(node.lower, node.upper, None)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.value
        if isinstance(node.slice, ast.Tuple):
            for i in range(len(node.slice.elts)):
                left = [*node.slice.elts[:i], *node.slice.elts[i + 1 :]]
                yield ast.Subscript(node.value, ast.Tuple(left, ast.Load()), node.ctx)


def gradients(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of a node to cut a gradient of what is assigned, returned, operated on or passed on, or
    to lose precision on the way out."""
    if not scope.differentiable:
        return
    if isinstance(node, ast.Return) and node.value is not None:
        for value in _each(node.value):
            yield ast.Return(_swapped_in(node.value, value, _cut(value)))
            yield ast.Return(_swapped_in(node.value, value, _method(value, "float")))
    elif isinstance(node, ast.Assign):
        for value in _each(node.value):
            yield ast.Assign(node.targets, _swapped_in(node.value, value, _cut(value)))
    elif isinstance(node, ast.BinOp):
        yield ast.BinOp(_cut(node.left), node.op, node.right)
        yield ast.BinOp(node.left, node.op, _cut(node.right))
    elif isinstance(node, ast.Call):
        for arg in node.args:
            if not isinstance(arg, ast.Constant | ast.Starred | ast.GeneratorExp | ast.UnaryOp):
                yield ast.Call(node.func, _swapped(node.args, arg, _cut(arg)), node.keywords)


def statements(node: ast.AST, scope: Scope) -> Iterator[ast.AST | list[ast.stmt]]:
    """What may stand in place of a statement: none, a branch that is never or always taken, a loop cut short, `no_grad`
    put around it or taken away."""
    if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield ast.Pass()
    if isinstance(node, ast.If):
        yield [ast.If(ast.Constant(True), node.body, node.orelse)]
        yield [ast.If(ast.Constant(False), node.body, node.orelse)]
        yield [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
    elif isinstance(node, ast.For):
        whole = _call(ast.Name("list", ast.Load()), node.iter)
        for part in ("[1:]", "[:-1]", "[::-1]"):
            index = ast.parse(f"x{part}", mode="eval").body
            assert isinstance(index, ast.Subscript)
            yield ast.For(node.target, ast.Subscript(whole, index.slice, ast.Load()), node.body, node.orelse)
        yield ast.For(node.target, node.iter, [*node.body, ast.Break()], node.orelse)
    elif isinstance(node, ast.With):
        yield node.body
    elif isinstance(node, ast.FunctionDef) and any(isinstance(n, ast.Return) for n in ast.walk(node)):
        if scope.differentiable:
            decorated = copy.copy(node)
            decorated.decorator_list = [_parsed("torch.no_grad()")]
            yield decorated
        for setting in SETTINGS:
            yield _with_body(node, [ast.Expr(_parsed(setting)), *node.body])


def registration(node: ast.AST, _scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of what a module registers: of a parameter a buffer, of a buffer a plain tensor or a
    parameter."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=function, args=args)):
            if ast.unparse(function) == "nn.Parameter":
                yield ast.Expr(_call(_parsed("self.register_buffer"), ast.Constant(name), *args))
        case ast.Expr(value=ast.Call(func=function, args=[ast.Constant(value=str(name)), tensor])):
            if ast.unparse(function) == "self.register_buffer":
                target = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Store())
                yield ast.Assign([target], tensor)
                yield ast.Assign([target], _call(_parsed("nn.Parameter"), tensor))


def results(node: ast.AST, _scope: Scope) -> Iterator[ast.AST]:
    """What may stand in place of several results: another order, or one of them less. In place of a function's
    arguments stand the same with fewer defaults."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        for i in range(len(node.elts)):
            left = [*node.elts[:i], *node.elts[i + 1 :]]
            yield ast.Tuple(left, node.ctx) if len(left) > 1 else left[0]
            if i:
                swapped = [*node.elts[: i - 1], node.elts[i], node.elts[i - 1], *node.elts[i + 1 :]]
                yield ast.Tuple(swapped, node.ctx)
    elif isinstance(node, ast.arguments) and node.defaults:
        for i in range(1, len(node.defaults) + 1):
            new = copy.copy(node)
            new.defaults = node.defaults[i:]
            yield new


MUTATIONS: tuple[Callable[[ast.AST, Scope], Iterable[Any]], ...] = (
    operators,
    constants,
    siblings,
    calls,
    slices,
    gradients,
    statements,
    registration,
    results,
)


def _is_shared(value: ast.expr, scope: Scope) -> bool:
    """Whether others may hold a value too: it is an argument, or an attribute. Intermediate results may be
    overwritten."""
    return isinstance(value, ast.Attribute) or (isinstance(value, ast.Name) and value.id in scope.arguments)


def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _call(function: ast.expr, *args: ast.expr) -> ast.Call:
    return ast.Call(function, list(args), [])


def _cut(value: ast.expr) -> ast.Call:
    return _call(ast.Name(CUT, ast.Load()), value)


def _method(value: ast.expr, name: str) -> ast.Call:
    return _call(ast.Attribute(value, name, ast.Load()))


def _with_keyword(node: ast.Call, **added: bool) -> ast.Call:
    keywords = [keyword for keyword in node.keywords if keyword.arg not in added]
    return ast.Call(node.func, node.args, [*keywords, *(ast.keyword(k, ast.Constant(v)) for k, v in added.items())])


def _with_body(node: ast.FunctionDef, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    new = copy.copy(node)
    new.body = list(body)
    return new


def _each(value: ast.expr) -> list[ast.expr]:
    """A value, or each of a tuple of values."""
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _swapped(items: Sequence[ast.expr], old: ast.expr, new: ast.expr) -> list[ast.expr]:
    return [new if item is old else item for item in items]


def _swapped_in(value: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    return ast.Tuple(_swapped(value.elts, old, new), value.ctx) if isinstance(value, ast.Tuple) else new


# --- running ----------------------------------------------------------------------------------------------------------


class _AskedForGradients(LocalSubject):
    """Notes whether a check asks for gradients."""

    asked = False

    def ask(self, request: Request) -> Outcome:
        self.asked |= request.cotangents is not None
        return super().ask(request)


def run(mutant: Mutant) -> Result | None:
    """The check of one mutant in this process, with the practice inputs and with those of courses. None if it cuts a
    gradient where there is none: at a mask, a size, a new tensor."""
    known = exercises(mutant.own)
    exercise = known[mutant.exercise]
    cut: set[str] = set()

    def cut_gradient(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            cut.add("nothing")
            return value
        cut.add("gradient" if value.requires_grad and torch.is_grad_enabled() else "tensor")
        return value.detach()

    try:
        subject = _AskedForGradients(_namespace(mutant, cut_gradient))
    except Exception:  # the cell itself raises: its learner sees Python's message
        return Result(mutant, "general")
    found = evaluate(exercise, subject, seconds=SECONDS, exercises=known)
    # A check that asks for no gradients gives none to cut.
    if cut and "gradient" not in cut and (subject.asked or "tensor" not in cut):
        return None
    if found.broken:
        return Result(mutant, "broken")
    if any(_passes(mutant, course) != found.passed for course in range(1, mutant.seeds)):
        return Result(mutant, "by chance")
    if found.passed:
        return Result(mutant, "survived")
    if found.diagnosis in GENERAL_FINDINGS or found.diagnosis == "excluded-function":
        return Result(mutant, "general")
    if found.diagnosis is not None:
        return Result(mutant, "named")
    return Result(mutant, "unnamed", helped=bool(found.hints or any(part.hints for part in found.results)))


def _namespace(mutant: Mutant, cut_gradient: Callable[[Any], Any]) -> dict[str, Any]:
    """What a mutant's source defines."""
    namespace: dict[str, Any] = {"__name__": "__main__", CUT: cut_gradient, "spoilt": spoilt}
    exec(mutant.source, namespace)
    return namespace


def _passes(mutant: Mutant, course: int) -> bool:
    """Whether a mutant passes the check with a course's own inputs, which are larger."""

    def detached(value: Any) -> Any:
        return value.detach() if isinstance(value, torch.Tensor) else value

    exercise, seed = exercises(mutant.own)[mutant.exercise], f"course {course}".encode()
    subject = LocalSubject(_namespace(mutant, detached))
    return evaluate(exercise, subject, seed=seed, larger=True, seconds=SECONDS, explained=False).passed


def run_all(mutants: Sequence[Mutant], jobs: int) -> list[Result]:
    """The checks of many mutants, in `jobs` processes. One that doesn't end is stopped, and counts as found; one that
    cuts a gradient where there is none is left out."""
    waiting: queue.SimpleQueue[tuple[int, Mutant]] = queue.SimpleQueue()
    for item in enumerate(mutants):
        waiting.put(item)
    found: dict[int, Result | None] = {}
    stopping = threading.Event()
    threads = [threading.Thread(target=_keep_a_worker, args=(waiting, found, stopping)) for _ in range(jobs)]
    try:
        with children_hear_no_interrupt():
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stopping.set()
        for worker in multiprocessing.active_children():
            worker.kill()
        raise
    results = (found[i] for i in range(len(mutants)))
    return [result for result in results if result is not None]


def _keep_a_worker(
    waiting: queue.SimpleQueue[tuple[int, Mutant]], found: dict[int, Result | None], stopping: threading.Event
) -> None:
    """Give a worker one mutant after the other, and put its results into `found` by their numbers. A worker that dies
    or falls silent is replaced; once `stopping` is set, no mutant is begun."""
    worker = None
    while not stopping.is_set():
        try:
            number, mutant = waiting.get_nowait()
        except queue.Empty:
            break
        try:
            worker = worker or _Worker()
            found[number] = worker.check(mutant)
        except (EOFError, OSError):  # it died, or was too long about it
            if worker is None:
                if stopping.is_set():
                    break
                raise
            found[number] = Result(mutant, "general")
            worker.end()
            worker = None
    if worker is not None:
        worker.end()


class _Worker:
    """A process that checks mutants. It is spawned, since a process with threads is not safely forked."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # it is ready: importing torch is not to count as a check's time

    def check(self, mutant: Mutant) -> Result | None:
        """What `run` gives for a mutant. `EOFError` or `OSError` if the process died, or did not answer in time."""
        self.pipe.send(mutant)
        if not self.pipe.poll(PATIENCE):
            raise TimeoutError
        answer: Result | None = self.pipe.recv()
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection) -> None:
    torch.set_num_threads(1)
    warm_up()
    pipe.send("ready")
    while True:
        try:
            pipe.send(run(pipe.recv()))
        except EOFError:
            return


# --- equivalent mutants -----------------------------------------------------------------------------------------------


Listed = Mapping[str, Mapping[str, str]]


@cache
def equivalent() -> Listed:
    """The mutants that are right answers: by exercise, the change and why it makes no difference."""
    return tomllib.loads((ROOT / EQUIVALENT).read_text("utf-8"))


def stale(
    names: Iterable[str], results: Iterable[Result], listed: Listed | None = None, path: Path = EQUIVALENT
) -> list[str]:
    """What is wrong with the list of equivalent mutants of these exercises: entries that no longer exist or that the
    check does not pass."""
    listed = equivalent() if listed is None else listed
    verdicts = {(r.mutant.exercise, r.mutant.change): r.verdict for r in results}
    problems = []
    for name, change in itertools.chain.from_iterable(((n, c) for c in listed.get(n, {})) for n in names):
        verdict = verdicts.get((name, change))
        if verdict is None:
            problems.append(f"{path}: {name} no longer has this mutant: {change}")
        elif verdict != "survived":
            problems.append(f"{path}: the check of {name} does not pass this mutant ({verdict}): {change}")
    return problems


# --- the table --------------------------------------------------------------------------------------------------------


def report(
    names: Sequence[str],
    jobs: int,
    tell: Callable[[str], object],
    show_unhelped: bool = False,
    seeds: int = SEEDS,
) -> bool:
    """Run every mutant of these exercises (of all if none is named) with so many draws of inputs, and tell a table and
    what is left to do. Returns whether all are found or listed as equivalent; `CourseError` for an exercise that isn't
    there."""
    known = exercises()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CourseError(f"There is no exercise {unknown[0]!r}.")
    chosen = [name for name in names or known if known[name].kind != "answers"]
    derived = [replace(mutant, seeds=seeds) for name in chosen for mutant in derive(known[name])]
    results = run_all(derived, jobs)
    tell(table(results))
    problems = [*stale(chosen, results), *unsettled(results)]
    for line in [*(without_help(results) if show_unhelped else []), *problems]:
        tell(line)
    return not problems


def unsettled(results: Iterable[Result], listed: Listed | None = None) -> list[str]:
    """A line for every mutant that passes its check and is not listed as equivalent, that passes with some inputs and
    not with others, or that breaks its check."""
    return [
        f"{r.verdict}: {r.mutant.exercise}: {r.mutant.change}"
        for r in results
        if r.verdict in ("broken", "by chance") or (r.verdict == "survived" and not _is_equivalent(r.mutant, listed))
    ]


def without_help(results: Iterable[Result]) -> list[str]:
    """A line for every mutant whose report has neither a name nor a hint."""
    return [f"neither named nor given a hint: {r.mutant.exercise}: {r.mutant.change}" for r in results if not r.helped]


def _is_equivalent(mutant: Mutant, listed: Listed | None) -> bool:
    return mutant.change in (equivalent() if listed is None else listed).get(mutant.exercise, {})


NOT_KILLED = ("equivalent", "survived", "by chance", "broken")
COLUMNS = ("mutants", "killed", "named", "general", "unnamed", "no help", *NOT_KILLED)


def table(results: Sequence[Result], listed: Listed | None = None) -> str:
    """A line for every exercise and one for the sum. Of those killed: named by a listed mistake, by a general finding,
    unnamed; of the unnamed, those without a hint ("no help")."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        settled = result.verdict == "survived" and _is_equivalent(result.mutant, listed)
        verdict = "equivalent" if settled else result.verdict
        count = counts.setdefault(result.mutant.exercise, Counter())
        count.update(["mutants", verdict, *([] if verdict in NOT_KILLED else ["killed"])])
        count["no help"] += not result.helped
    counts["all"] = sum(counts.values(), Counter())
    lines = [f"{'exercise':30}" + "".join(f"{column:>11}" for column in COLUMNS)]
    lines += [f"{name:30}" + "".join(f"{count[c]:11}" for c in COLUMNS) for name, count in counts.items()]
    return "\n".join(lines)
