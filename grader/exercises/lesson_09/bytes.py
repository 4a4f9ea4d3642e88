"""`attention_matrix_bytes` and `kv_cache_bytes`: whole numbers from whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from grader.exercises.lesson_09.shared import LESSON
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Part
from grader.spec.session import Session
from grader.subject import Opaque

DTYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64}
Count = Callable[..., float]


def bytes_of(bytes_per_element: int, *shape: int) -> int:
    """The bytes of a tensor, as torch counts them; on the meta device none is made."""
    return torch.empty(shape, dtype=DTYPES[bytes_per_element], device="meta").nbytes


def _matrix(batch: int, num_heads: int, seq_len: int, bytes_per_element: int) -> int:
    return bytes_of(bytes_per_element, batch, num_heads, seq_len, seq_len)


def _cache(batch: int, num_layers: int, num_kv_heads: int, head_dim: int, seq_len: int, bytes_per_element: int) -> int:
    both = 2  # keys and values
    return bytes_of(bytes_per_element, num_layers, both, batch, num_kv_heads, seq_len, head_dim)


# --- parts ------------------------------------------------------------------------------------------------------------


def number(session: Session, name: str) -> float | None:
    """The number that came back, whole or not; None for anything else."""
    value = session.call(session.cases[name]).value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _right(session: Session, case: Case) -> int:
    return int(session.evaluate(case, session.exercise.reference or _matrix))


def _wrong(session: Session, name: str) -> Finding | None:
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return finding
    if outcome.value is None:
        return Finding("returns-nothing", f"`{session.exercise.name}` returned None. Does it end with a `return` line?")
    found = number(session, name)
    if found is None:
        said = _in_words(outcome.value)
        return Finding("wrong-type", f"`{session.exercise.name}` returned {said}, expected a whole number.")
    if found != _right(session, case):
        said = f"`{session.exercise.name}` returned {found:,}, expected {_right(session, case):,} bytes ({name})."
        return Finding("wrong-values", f"{said} {compare.arguments_in_words(case, session.exercise)}")
    return None


def _in_words(value: object) -> str:
    if isinstance(value, Tensor) and value.dim() == 0:
        return "a tensor with one number"
    return f"a value of type {value.type_name}" if isinstance(value, Opaque) else compare.in_words(value)


def counts(title: str, weight: float, *names: str) -> Part:
    """The numbers are right on the named cases."""
    return Part(title, weight, lambda s: next((f for name in names if (f := _wrong(s, name))), None))


def is_whole(weight: float, *names: str) -> Part:
    """An int came back, not a float that happens to be whole."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            if _wrong(session, name) is not None:
                return Finding("values-first", "Not judged yet: the number comes first.")
            if not isinstance(number(session, name), int):
                message = (
                    f"`{session.exercise.name}` returned {number(session, name)!r}, a float; bytes are counted in int."
                )
                return Finding("wrong-type", f"{message} `/`, `**` of a float and `math.pow` give floats.")
        return None

    return Part("gives an int", weight, judge, compares_values=False)


def told_by(*variants: Count) -> Callable[[Session], bool]:
    """Whether all numbers are right or those of one variant, and one at least is the variant's only."""

    def recognise(session: Session) -> bool:
        found = {name: number(session, name) for name in session.cases}
        if any(value is None for value in found.values()):
            return False
        right = {name: _right(session, case) for name, case in session.cases.items()}
        wrong = {name for name in found if found[name] != right[name]}

        def explains(variant: Count) -> bool:
            return all(math.isclose(found[n] or 0, variant(**session.cases[n].args), rel_tol=1e-9) for n in wrong)

        return bool(wrong) and any(explains(variant) for variant in variants)

    return recognise


# --- the exercises ----------------------------------------------------------------------------------------------------


MATRIX_ARGS = ("batch", "num_heads", "seq_len", "bytes_per_element")
CACHE_ARGS = ("batch", "num_layers", "num_kv_heads", "head_dim", "seq_len", "bytes_per_element")


def _cases(draw: Draw, names: tuple[str, ...], typical: Mapping[str, int]) -> list[Case]:
    # Bytes that a real model's numbers don't have, so that a fixed 2 or 4 is wrong more than once.
    small, other = ({**draw.sizes(*names[:-1]), names[-1]: size} for size in (8, 1))
    return [
        Case("small sizes", small),
        Case("other sizes", other),
        Case("one token", {**small, "seq_len": 1}),
        Case("a real model", dict(typical)),
    ]


# Both come out above 2^31: a product in int32 runs over.
GPT_2 = {"batch": 64, "num_heads": 12, "seq_len": 1024, "bytes_per_element": 4}
LLAMA_2 = {
    "batch": 3, "num_layers": 32, "num_kv_heads": 32, "head_dim": 128, "seq_len": 4096, "bytes_per_element": 2,
}  # fmt: skip

ATTENTION_MATRIX_BYTES = Exercise(
    name="attention_matrix_bytes",
    lesson=LESSON,
    points=1,
    signature=MATRIX_ARGS,
    cases=lambda draw: _cases(draw, MATRIX_ARGS, GPT_2),
    reference=_matrix,
    parts=(
        counts("counts the bytes of a small table", 2, "small sizes", "other sizes"),
        counts("counts them for one token and for a real model", 1, "one token", "a real model"),
        is_whole(0.5, "small sizes", "a real model"),
    ),
    mistakes=(
        Mistake(
            "heads-forgotten",
            "every head has a table of its own, but the number of heads changes nothing.",
            (
                "What is the shape of the weights in lesson 03? How many axes has it?",
                "Is each of the four arguments used?",
            ),
            recognise=told_by(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * seq_len**2 * bytes_per_element
            ),
        ),
        Mistake(
            "linear-in-seq-len",
            "twice as many tokens give twice as many bytes; a table has a row *and* a column for each of them.",
            (
                "How many scores do 3 tokens have? And 6?",
                "Which axis of the table is still missing in your product?",
            ),
            recognise=told_by(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len * bytes_per_element,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    batch * num_heads * seq_len * 2 * bytes_per_element
                ),
            ),
        ),
        Mistake(
            "batch-forgotten",
            "every sequence of the batch has its own tables, but the batch changes nothing.",
            ("Is each of the four arguments used?",),
            recognise=told_by(
                lambda batch, num_heads, seq_len, bytes_per_element: num_heads * seq_len**2 * bytes_per_element
            ),
        ),
        Mistake(
            "elements-instead-of-bytes",
            "that is how many numbers the tables hold, or their bits; bytes are asked for.",
            ("A number in float32 takes four bytes. Which argument says so?",),
            recognise=told_by(
                lambda batch, num_heads, seq_len, bytes_per_element: batch * num_heads * seq_len**2,
                lambda batch, num_heads, seq_len, bytes_per_element: (
                    8 * batch * num_heads * seq_len**2 * bytes_per_element
                ),
            ),
        ),
    ),
)


def _held(**of: int) -> float:
    return math.prod(of.values())


def _without(name: str, factor: int = 2) -> Count:
    return lambda **of: factor * math.prod(size for other, size in of.items() if other != name)


KV_CACHE_BYTES = Exercise(
    name="kv_cache_bytes",
    lesson=LESSON,
    points=2,
    signature=CACHE_ARGS,
    cases=lambda draw: _cases(draw, CACHE_ARGS, LLAMA_2),
    reference=_cache,
    parts=(
        counts("counts the bytes of a small cache", 2, "small sizes", "other sizes"),
        counts("counts them for one token and for a real model", 1, "one token", "a real model"),
        is_whole(0.5, "small sizes", "a real model"),
    ),
    mistakes=(
        Mistake(
            "key-or-value-forgotten",
            "that is the half of it: two tensors of this size are kept.",
            (
                "What does a later token need of an earlier one? Name the things.",
                "The query of an earlier token is never used again. Which two other vectors are?",
            ),
            recognise=told_by(_held),
        ),
        Mistake(
            "quadratic",
            "twice as many tokens give four times as many bytes; it holds vectors of tokens, not scores of pairs.",
            (
                "One more token comes. How many vectors are added to the cache?",
                "The table of scores is not kept. Whatever is kept has one row for each token.",
            ),
            recognise=told_by(
                lambda **of: 2 * of["seq_len"] * math.prod(of.values()),
                lambda **of: of["seq_len"] * math.prod(of.values()),
                lambda **of: 2 * of["seq_len"] * math.prod(of.values()) // of["head_dim"],
                lambda **of: of["seq_len"] * math.prod(of.values()) // of["head_dim"],
            ),
        ),
        Mistake(
            "factor-forgotten",
            "one of the arguments changes nothing.",
            ("Every layer, every head and every sequence keeps its own. Go through the arguments one by one.",),
            recognise=told_by(
                *(
                    _without(name, factor)
                    for name in ("batch", "num_layers", "num_kv_heads", "head_dim")
                    for factor in (1, 2)
                )
            ),
        ),
        Mistake(
            "elements-instead-of-bytes",
            "that is how many numbers the cache holds; bytes are asked for.",
            ("Which argument says how many bytes a number takes?",),
            recognise=told_by(_without("bytes_per_element"), _without("bytes_per_element", 1)),
        ),
    ),
)
