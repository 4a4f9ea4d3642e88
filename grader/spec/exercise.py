"""What an exercise is: one specification, used in the learner's kernel and by the judge.

A specification draws cases from a seed, gets right values from an independent reference, and lists the parts that earn
points and the mistakes that it can name. It reaches a student's code only through a `Session`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torch import Tensor

from grader.report.words import WAITING
from grader.sentences import say

if TYPE_CHECKING:
    from grader.spec.draw import Draw
    from grader.spec.session import Session

Kind = Literal["function", "module", "answers"]


@dataclass(frozen=True)
class Output:
    """One returned tensor: its name, and its axes in the syllabus's letters ("... Tq D")."""

    name: str
    axes: str


@dataclass(frozen=True)
class Setup:
    """The setup of a module for a case: constructor arguments, parameters and buffers by name, train or eval mode.
    `optional`: those that a module may have, or may not."""

    init: tuple[Any, ...]
    state: Mapping[str, Tensor] = field(default_factory=dict)
    training: bool = False
    optional: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One set of arguments, by name."""

    name: str
    args: Mapping[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict)  # the length of every axis
    leading: tuple[int, ...] = ()  # the lengths of the axes before those
    diagnostic: bool = False  # earns nothing, but tells mistakes that raise on distinct sizes
    comparable: bool = True  # right answers agree closely enough to tell a mistake by its values
    setup: Setup | None = None  # for a module, what references and variants get as their first argument


@dataclass(frozen=True)
class Finding:
    """Why a part did not pass."""

    kind: str  # a stable id, such as "wrong-shape"
    message: str  # made by `grader.sentences.say` where it has values; it holds no secrets
    got: Tensor | None = None  # the first wrong tensor, for the learner's kernel only; None: nothing to show
    expected: Tensor | None = None  # the right one, likewise
    hints: tuple[str, ...] = ()


def not_judged(kind: str) -> Finding:
    """A finding that judges nothing: its message says what has to come first. `kind` is a key of
    `grader.report.words.WAITING`."""
    return Finding(kind, WAITING[kind].sentence)


@dataclass(frozen=True)
class Part:
    """A share of the points. `judge` returns why it doesn't pass, or None. `weight` counts beside those of the other
    parts. `compares_values`: the part passes only if the numbers are right."""

    name: str
    weight: float
    judge: Callable[[Session], Finding | None]
    compares_values: bool = True


@dataclass(frozen=True)
class Mistake:
    """A known mistake."""

    id: str  # a stable one
    symptom: str  # one sentence about what happens
    hints: tuple[str, ...]  # which say more and more
    variants: tuple[Callable[..., Any], ...] = ()  # wrong on purpose; run on the same cases, and outputs are compared
    recognise: Callable[[Session], bool] | None = None  # for a mistake that outputs alone don't show


@dataclass(frozen=True)
class Exclusion:
    """Functions that an exercise must do without; `title` names them in messages. `matches` returns whether a logged
    call (see `grader.subject.watch`) is one of them."""

    title: str
    matches: Callable[[str], bool]


@dataclass(frozen=True)
class Exercise:
    """One exercise."""

    name: str
    lesson: str
    points: float
    parts: tuple[Part, ...]  # in reading order
    kind: Kind = "function"
    signature: tuple[str, ...] = ()  # of a module: the constructor's
    outputs: tuple[Output, ...] = ()  # as the call returns them
    cases: Callable[[Draw], Iterable[Case]] = lambda _draw: ()  # draws the arguments
    reference: Callable[..., Any] | None = None  # from the arguments to the right tensor, or tuple of tensors
    mistakes: tuple[Mistake, ...] = ()  # of which the first that fits is named
    excluded: tuple[Exclusion, ...] = ()
    builds_on: tuple[str, ...] = ()  # earlier exercises
    seconds: float | None = None  # that a check may take; None: `grader.spec.evaluate.SECONDS`
    memory: int | None = None  # bytes beyond torch's own for the whole notebook, if less than the judge's limit

    @property
    def call(self) -> str:
        """The call as a student writes it: `attention_scores(query, key)`."""
        return f"{self.name}({', '.join(self.signature)})"


class Letter(NamedTuple):
    """What a letter or symbol stands for. `name`: what the field calls it, "" if it has no name there; `meaning`: in
    words."""

    name: str
    meaning: str


# One notation for lessons, docstrings and reports. Lesson 00 shows it as a table.
NOTATION = {
    "...": Letter("", "any number of leading axes, or none"),
    "B": Letter("batch", "sequences handled together"),
    "T": Letter("seq_len", "tokens in a sequence"),
    "Tq": Letter("query_len", "queries, where there are more or fewer of them than keys"),
    "Tk": Letter("key_len", "keys, where there are more or fewer of them than queries"),
    "S": Letter("key_len", "the letter for Tk in PyTorch's documentation"),
    "Ts": Letter("src_len", "tokens in a source sequence"),
    "Tt": Letter("trg_len", "tokens in a target sequence"),
    "E": Letter("d_model", "width of a token's vector"),
    "H": Letter("num_heads", "heads"),
    "Hq": Letter("num_query_heads", "heads of the queries, where keys and values have fewer"),
    "Hkv": Letter("num_kv_heads", "heads of the keys and values, where they have fewer than the queries"),
    "D": Letter("head_dim", "width of one head; `d_model = num_heads * head_dim`"),
    "d_k": Letter("", "width of a query and of a key"),
    "d_v": Letter("", "width of a value"),
    "d_ff": Letter("", "width inside a feed-forward layer"),
    "L": Letter("num_layers", "layers"),
    "V": Letter("vocab_size", "different tokens"),
    "Vs": Letter("src_vocab_size", "different tokens of the source"),
    "Vt": Letter("trg_vocab_size", "different tokens of the target"),
    "P": Letter("max_length", "rows of a table of positions"),
    "m": Letter("", "how far a table of relative positions reaches to either side"),
    "d, N": Letter("", "in formulas for normalisation: how many values share a mean"),
    "γ, β": Letter("gamma, beta", "learnt factor and offset of a normalisation"),
    "μ, σ²": Letter("mean, var", "mean and variance"),
    "ε": Letter("eps", "a small number that keeps a divisor away from zero"),
}


def shape_of(axes: str, sizes: Mapping[str, int], leading: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The shape of `axes`: names, products ("H*D") and numbers, "..." for the leading axes.

    >>> shape_of("... T H*D", {"T": 5, "H": 2, "D": 3}, leading=(7,))
    (7, 5, 6)
    """
    shape: list[int] = []
    for axis in axes.split():
        if axis == "...":
            shape.extend(leading)
        elif axis in sizes:
            shape.append(sizes[axis])
        else:
            shape.append(math.prod(int(f) if f.isdigit() else sizes[f] for f in axis.split("*")))
    return tuple(shape)


def letters(axes: str, leading: tuple[int, ...] = ()) -> list[str]:
    """The letter of every axis, also of the leading ones: B, H.

    >>> letters("... Tq D", leading=(2,))
    ['B', 'Tq', 'D']
    """
    found: list[str] = []
    for axis in axes.split():
        if axis == "...":
            found.extend(("B", "…" if "H" in axes.split() else "H", "…", "…")[: len(leading)])
        else:
            found.append(axis)
    return found


def letter_in_words(letter: str) -> str:
    """A letter with the field's name: "Tq (query_len)"; a letter without one stays as it is."""
    name = _name(letter)
    return letter if name == letter else f"{letter} ({name})"


def axes_in_words(axes: str, leading: tuple[int, ...] = ()) -> str:
    """Axes for a message: in the letters of the docstrings, with the field's names.

    >>> axes_in_words("... Tq D", leading=(2,))
    '(B, Tq, D): batch, query_len, head_dim'
    >>> axes_in_words("")
    'a single number, without axes'
    """
    found = letters(axes, leading)
    if not found:
        return say("a single number, without axes")
    names = [" * ".join(map(_name, letter.split("*"))) for letter in found]
    said = f"({', '.join(found)}{',' if len(found) == 1 else ''})"
    return f"{said}: {', '.join(names)}" if names != found else said


def _name(letter: str) -> str:
    """What the field calls a letter, or the letter itself if it has no name for it."""
    return NOTATION[letter].name or letter if letter in NOTATION else letter
