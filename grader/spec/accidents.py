"""Accidents that can happen in any exercise: a name from another cell, `self.` forgotten, arguments swapped.

Each has a name and hints like an exercise's own mistakes. They are looked for once a check has failed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from grader.sentences import Several, say
from grader.spec.diagnose import comparable, explains, matches, right
from grader.spec.exercise import Case, Mistake
from grader.spec.session import Session
from grader.subject import Outcome, Raised
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT32

# The commonest errors of beginners that torch or Python answers in words of its own: a pattern of the message, one of
# the line that raised it, the mistake's name, its symptom, its hints.
MISUSES = (
    (
        r"before Module\.__init__\(\) call"
        r"|has no attribute '_(modules|parameters|buffers|forward_hooks|backward_hooks)'",
        "",
        "super-init-forgotten",
        "the module gets a layer, a parameter or a buffer before `nn.Module` is ready to hold it.",
        (
            "What has to be the first line of every module's `__init__`?",
            "`super().__init__()` runs `nn.Module`'s own `__init__`. Only then can `self` hold layers.",
        ),
    ),
    (
        r"only one element tensors|Tensor with \d+ elements cannot be converted"
        r"|only (integer )?tensors of a single element",
        r"\b(math\.|float\(|int\()",
        "number-function-on-tensor",
        "`{line}` gives a whole tensor to a function that takes a single number.",
        (
            "`float`, `int` and the functions of `math` take one number. What is the shape of the tensor you pass?",
            "torch has functions with the same names that work on every entry of a tensor, such as `torch.sqrt` and "
            "`torch.exp`.",
        ),
    ),
    (
        r"unsupported operand type\(s\) for \^|bitwise_xor",
        r"\^",
        "caret-for-power",
        "the sign `^` in `{line}` doesn't mean a power, because in Python it compares bits.",
        ("How do you write a power in Python?", "`x ** 2` is the square of x."),
    ),
    (
        r"'(builtin_function_or_method|method)'",
        "",
        "method-not-called",
        "`{line}` uses a method in place of its result; without parentheses it isn't called.",
        (
            "Print the method as your line has it. Do you see a number, a tensor or a function?",
            "`x.max` is a function, and `x.max()` is its result.",
        ),
    ),
    (
        r"not compiled with (CUDA|XPU) enabled|NVIDIA driver|No CUDA GPUs|not linked with support for (cuda|mps|xpu)",
        "",
        "moved-to-a-gpu",
        "`{line}` moves something to a GPU, but the machine that runs this check has none.",
        (
            "Which device do the arguments have? Print `x.device` of one of them.",
            'Leave out `.cuda()` and `.to("cuda")`, and make a new tensor on an argument\'s device, with '
            "`device=x.device`. Then your code runs on either machine.",
        ),
    ),
    (
        r"[Ee]xpected target size",
        "",
        "classes-not-second",
        "`{line}` has logits whose classes are on the last axis, but `cross_entropy` wants them on the second.",
        (
            "Print the shapes of the logits and of the labels. Which axis of the logits is missing from the labels?",
            "`cross_entropy` takes (N, C) with labels (N,), or (N, C, T) with labels (N, T). Which pair is closer "
            "to yours?",
        ),
    ),
)
# Kinds of findings that a name from another cell can cause.
WRONG = frozenset({"raised", "wrong-type", "wrong-shape", "not-finite", "wrong-values"})


def accidents(session: Session, kind: str) -> Iterator[Mistake]:
    """The accidents that fit a check whose first failure is of `kind`, the most certain first."""
    for raised in session.raised[:1]:
        yield from _misused(raised)
        yield from _unpacked(raised)
        yield from _undefined(session, raised)
    yield from _asserted(session, kind)
    yield from _other_parameters(session)
    if kind in WRONG:
        yield from _swapped(session, lambda variant: explains(session, variant))
        yield from _by_chance(session)
        yield from _squeezed(session, kind)
        yield from _from_above(session)
        yield from _first_axis(session)


def beside(session: Session, mistake: Mistake) -> Iterator[Mistake]:
    """The accident that explains a failure as well as `mistake`, one of the exercise's own list; none if there is no
    such."""
    if mistake.recognise is not None:  # not by its numbers
        found = [*(finding for raised in session.raised[:1] for finding in _unpacked(raised)), *_first_axis(session)]
        yield from found[:1]
    elif session.exercise.kind == "function" and session.exercise.builds_on:  # perhaps in a call of its own
        yield from _swapped(session, lambda variant: matches(session, variant, comparable(session)))


def _unpacked(raised: Raised) -> Iterator[Mistake]:
    """The mistake of unpacking, `B, T, E = x.shape`, a tensor with another number of axes; none for another
    exception."""
    if raised.deliberate or "values to unpack" not in raised.message or not re.search(r"shape|size\(", raised.line):
        return
    count, line = re.search(r"expected (\d+)", raised.message), raised.line
    yield Mistake(
        "shape-of-one-rank",
        say("`{line}` only works for tensors with {count} axes.", line=line, count=count[1])
        if count
        else say("`{line}` only works for tensors with one particular number of axes.", line=line),
        (
            "According to the docstring, how many axes may the argument have? Print its shape just above that line.",
            "Which of the sizes do you need? Read each one by itself, counting from the end, as in `x.shape[-1]`.",
        ),
    )


def _misused(raised: Raised) -> Iterator[Mistake]:
    for message, line, id, symptom, hints in () if raised.deliberate else MISUSES:
        if re.search(message, raised.message) and re.search(line, raised.line):
            yield Mistake(id, say(symptom, line=raised.line) if "{line}" in symptom else symptom, hints)


def _other_parameters(session: Session) -> Iterator[Mistake]:
    """The mistake of a first line that isn't the exercise's: its parameters in another order, since a check passes them
    by position, or others, where Python refused the call before a line of the learner's ran."""
    signature, about = session.exercise.signature, session.description
    if about.get("parameters") is None:
        return
    wanted, mine = [word.lstrip("*").partition("=")[0] for word in signature], _parameters(session)
    required, defaults = about.get("required") or (), about.get("defaults") or {}
    lost = any("=" in word and name in required for name, word in zip(wanted, signature, strict=True))
    in_another_order = mine != wanted and sorted(mine) == sorted(wanted)
    refused = any("TypeError" in r.types and not r.line and "argument" in r.message for r in session.raised[:1])
    if in_another_order or (refused and (mine != wanted or lost)):
        template = (
            "your `__init__`, after `self`, has the parameters ({yours}); the exercise's has ({wanted})."
            if session.exercise.kind == "module"
            else "your `def` line has the parameters ({yours}); the exercise's has ({wanted})."
        )
        yours = [f"{name}={defaults[name]}" if name in defaults else name for name in mine]
        yield Mistake(
            "parameters-in-another-order" if in_another_order else "other-parameters",
            say(template, yours=", ".join(yours), wanted=", ".join(signature)),
            (
                "Compare your `def` line with the exercise's, name by name.",
                "Other code passes arguments in the exercise's order, and leaves out those that have a default.",
            ),
        )


def _undefined(session: Session, raised: Raised) -> Iterator[Mistake]:
    in_torch = re.match(r"module '(torch[\w.]*)' has no attribute '(\w+)'", raised.message)
    if in_torch is not None:
        known = [name for name in dir(sys.modules.get(in_torch[1], torch)) if not name.startswith("_")]
        near = [f"`{in_torch[1]}.{name}`" for name in get_close_matches(in_torch[2], known, n=2)]
        yield Mistake(
            "not-in-torch",
            say("`{module}` has no `{name}`.", module=in_torch[1], name=in_torch[2]),
            (
                similar(near) or "Is the name spelt as in PyTorch's documentation?",
                "Many operations exist both as methods of a tensor and as functions of torch, but a few only as one of "
                "the two.",
            ),
        )
    found = re.match(r"name '(\w+)' is not defined", raised.message)
    if "NameError" not in raised.types or found is None:
        return
    name = found[1]
    if name in _attributes(session):
        yield _self_forgotten(name, say("`{name}` is not defined inside the method.", name=name))
        return
    near = get_close_matches(name, [*_parameters(session), *session.description.get("uses", ())], n=2)
    near = [f"`{other}`" for other in near if other != name]
    yield Mistake(
        "name-not-defined",
        say("`{name}` is neither an argument nor defined in the function or in a cell that was run.", name=name),
        (
            similar(near)
            or "Is it defined or imported in a cell that hasn't run yet, or that ended in an error before that line?",
            "A size that isn't an argument can be read from an argument's shape.",
        ),
    )


def similar(names: Sequence[str]) -> str:
    """The question whether one of at most two names was meant; "" if there are none."""
    if len(names) == 2:
        return say("Did you mean {one} or {other}?", one=names[0], other=names[1])
    return say("Did you mean {name}?", name=names[0]) if names else ""


def _self_forgotten(name: str, symptom: str) -> Mistake:
    hints = (
        say("Where does the module store `{name}`? In `__init__` you assigned it to `self`.", name=name),
        say("A method reads what belongs to its module through `self` and a dot, as in `self.{name}`.", name=name),
    )
    return Mistake("self-forgotten", symptom, hints)


def _from_above(session: Session) -> Iterator[Mistake]:
    """The mistake of using a name from another cell where the function should use its own arguments. Constants in
    capitals are nobody's accident, except for a single letter: that is a size."""
    for name in session.description.get("data", ()):
        if name in _attributes(session):
            symptom = say("`{name}` comes from a cell above, not from the module.", name=name)
            yield _self_forgotten(name, symptom)
        elif not name.isupper() or len(name) == 1:
            yield Mistake(
                "name-from-above",
                say(
                    "`{name}` is not an argument. It comes from a cell above, so it has the same value in every call.",
                    name=name,
                ),
                (
                    say(
                        "What does `{name}` stand for? Look for an argument that holds it, or one whose shape does.",
                        name=name,
                    ),
                    "A function should only use its arguments and what it computes from them. Sizes come from their "
                    "shapes.",
                ),
            )


def _asserted(session: Session, kind: str) -> Iterator[Mistake]:
    if kind not in ("wrong-error", "wrong-verdict"):
        return
    if any("AssertionError" in raised.types and raised.deliberate for raised in session.raised):
        yield Mistake(
            "assert-instead-of-raise",
            "the function uses `assert`, which raises AssertionError. A ValueError is expected.",
            (
                "`assert` is for what can't happen. Which statement lets you choose the kind of exception?",
                "Reverse the condition: if the opposite holds, `raise ValueError(...)` with a message.",
            ),
        )
        return
    kinds = {raised.name for raised in session.raised if raised.deliberate and "ValueError" not in raised.types}
    if kind == "wrong-error" and len(kinds) == 1:
        yield Mistake(
            "another-exception",
            say("your code raises {error}. A ValueError is expected.", error=kinds.pop()),
            (
                "Which exception does the exercise ask for? Look at your `raise` line.",
                "A TypeError is for a value of the wrong type, a ValueError for a wrong value of the right type.",
            ),
        )


def _first_axis(session: Session) -> Iterator[Mistake]:
    """The mistake of a Python loop that is right for one sequence, and takes another axis in a batch."""
    if not session.description.get("loops"):
        return
    called = [(case, outcome) for case, outcome in session.called() if case.comparable]
    alone = [right(session, case) for case, _ in called if not case.leading]
    batches = [(right(session, case), outcome) for case, outcome in called if case.leading]
    finite = (bool(torch.isfinite(t).all()) for _, outcome in batches for t in tensors_in(outcome.value))
    if alone and batches and all(alone) and not any(good for good, _ in batches) and all(finite):
        yield Mistake(
            "loop-axis-from-the-front",
            "the result is right for one sequence but not for a batch, because the Python loop, or what joins its "
            "results, counts an axis from the front.",
            (
                "`for row in x`, `len(x)`, `x.shape[0]` and `torch.stack(rows)` all use the first axis, whatever it "
                "stands for.",
                "Count the axis from the end. Or can one operation on the whole tensor replace the loop?",
            ),
        )


def _by_chance(session: Session) -> Iterator[Mistake]:
    """The mistake of a result that hangs on torch's random numbers: two calls with the same arguments differ."""
    case = next((case for case, outcome in session.called() if outcome.ok and tensors_in(outcome.value)), None)
    if case is None or (case.setup is not None and case.setup.training):
        return
    one, other = (session.call_anew(case, seed) for seed in (1, 2))
    pairs = [(a, b) for a, b in zip(tensors_in(one.value), tensors_in(other.value), strict=False) if a.shape == b.shape]
    finite = all(bool(torch.isfinite(a).all() and torch.isfinite(b).all()) for a, b in pairs)
    if one.ok and other.ok and finite and not all(FLOAT32.all_close(a, b) for a, b in pairs):
        yield Mistake(
            "changes-by-chance",
            "the same arguments give another result in each call, because your code draws random numbers.",
            (
                "Which of your lines gives another result when you run it twice?",
                "`F.dropout(x, p)` drops in eval mode too, and `dropout_p=` of a function always does. A layer "
                "`nn.Dropout(p)` knows the mode of its module.",
            ),
        )


def _squeezed(session: Session, kind: str) -> Iterator[Mistake]:
    """The mistake of a result that is right except that it has lost its axes of length 1. `kind` is that of the first
    failure."""
    if kind != "wrong-shape":
        return
    wrong = {case.name: _other_shapes(session, case, outcome) for case, outcome in session.called()}
    pairs = [pair for found in wrong.values() for pair in found]
    others = [right(session, case) for case, _ in session.called() if case.comparable and not wrong[case.name]]
    lost = all(len(got) < len(expected) and _longer(got) == _longer(expected) for got, expected in pairs)
    if pairs and lost and others and all(others):
        yield Mistake(
            "squeezed",
            "an axis of length 1 is lost; where there is no such axis, the result is right.",
            (
                "Call your code with one sequence in the batch, then with one token in every sequence, and print the "
                "shape after each line. After which line is an axis missing?",
                "`squeeze()` removes every axis of length 1, even one that has this length by chance; `squeeze(0)` "
                "removes only the first one, and only if its length is 1. Which axis did you mean to remove, if any?",
            ),
        )


def _other_shapes(session: Session, case: Case, outcome: Outcome) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The pairs (got, expected) of shapes that differ, for the outputs of a call on `case`; empty if the outputs have
    another structure."""
    if not outcome.ok or not session.exercise.outputs:
        return []
    both = zip(tensors_in(outcome.value), session.expected(case), strict=False)
    return [(tuple(got.shape), tuple(wanted.shape)) for got, wanted in both if got.shape != wanted.shape]


def _longer(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its axes of length 1."""
    return tuple(size for size in shape if size != 1)


def _swapped(session: Session, fits: Callable[[Callable[..., Any]], bool]) -> Iterator[Mistake]:
    """The mistake of swapped arguments: the outputs are right for the same arguments in another order. `fits` says
    whether a variant of the reference explains them."""
    reference, real = session.exercise.reference, comparable(session)
    if reference is None or not real:
        return
    names, args = list(real[0].args), list(real[0].args.values())
    for order in _orders(args):
        if fits(_reordered(reference, order, real[0].setup is not None)):
            moved = [f"`{names[i]}`" for i, j in enumerate(order) if i != j]
            yield Mistake(
                "arguments-swapped",
                say("the result would be right if {names} were swapped.", names=Several(moved)),
                (
                    "Does your code call a function with several arguments? Compare their order with "
                    "that in the `def` line of the function.",
                    say("Follow {name} through your code, from the `def` line to where it is used.", name=moved[0]),
                ),
            )
            return


def _orders(args: list[Any]) -> Iterator[tuple[int, ...]]:
    """The orders to try, each as positions of `args`: all others of up to three tensors, and the exchange of two among
    more. Only tensors with the same dtype and number of axes change places."""
    tensors = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    for places in permutations(tensors):
        taken = dict(zip(tensors, places, strict=True))
        moved = [i for i, j in taken.items() if i != j]
        alike = all(args[i].dtype == args[j].dtype and args[i].dim() == args[j].dim() for i, j in taken.items())
        if alike and 0 < len(moved) <= (3 if len(tensors) <= 3 else 2):
            yield tuple(taken.get(i, i) for i in range(len(args)))


def _reordered(reference: Callable[..., Any], order: tuple[int, ...], has_setup: bool) -> Callable[..., Any]:
    def variant(*given: Any) -> Any:
        setup, args = (given[:1], given[1:]) if has_setup else ((), given)
        places = [order[i] if i < len(order) and order[i] < len(args) else i for i in range(len(args))]
        return reference(*setup, *(args[i] for i in places))

    return variant


def _attributes(session: Session) -> set[str]:
    """The names of the attributes that a module's methods give to `self`; empty for a function."""
    return set(session.description.get("sets", ())) if session.exercise.kind == "module" else set()


def _parameters(session: Session) -> list[str]:
    return list(session.description.get("parameters") or ())
