"""The small changes of which mutants are made: what may stand in place of a piece of code."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CUT = "cut_gradient"  # what a mutant calls to cut a gradient


@dataclass(frozen=True)
class Scope:
    """Where a node stands."""

    numbers: dict[str, int | float]  # to hard-code, by argument
    differentiable: bool  # whether there are gradients to cut
    arguments: tuple[str, ...] = ()  # of the function around it
    names: tuple[str, ...] = ()  # of these and of its variables
    attributes: tuple[str, ...] = ()  # of `self`


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
