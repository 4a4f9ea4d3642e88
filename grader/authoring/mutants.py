"""Mutation testing of the checks: small changes to a model solution, each of which its check has to notice.

A mutant is the model solution with one change: another operator, another number, a statement left out. A check that
passes it would pass a learner's slip of that kind. What is changed is in `grader.authoring.mutations`; how mutants are
run, and which of them are right answers too, in `grader.authoring.mutant_runs`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from grader.authoring.model_solutions import solution_in_context
from grader.authoring.mutations import MUTATIONS, Scope
from grader.authoring.spoilt import ways
from grader.exercises.own import OwnFiles
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise
from grader.subject.values import tensors_in

SEEDS = 3  # the practice check, and those of two courses


@dataclass(frozen=True)
class Mutant:
    """A model solution with one change."""

    exercise: str
    change: str  # the lines before and after, unique within the exercise
    source: str  # all that is run
    own: OwnFiles = ()  # the files of exercises that aren't the course's
    seeds: int = SEEDS  # with how many draws of inputs it is checked


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
