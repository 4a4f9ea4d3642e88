"""`validate_attention`: are these attention weights? Finite first, then within [0, 1], then rows that sum to one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader import compare
from grader.draw import Draw
from grader.session import Session
from grader.spec import Case, Exercise, Finding, Mistake, Part

SOUND = ("halves and quarters", "weights of a softmax", "weights with batch and heads", "float64 weights")
NEARLY = ("a row that sums to one but for 0.00005", "an entry of -0.00002", "an entry of 1.00003")
# What breaks a rule, by the word that the message must hold, in the order in which the rules are to be tested.
BROKEN = {
    "finite": ("one NaN", "one inf", "one -inf", "a NaN beside a negative weight"),
    "within": (
        "a negative weight in a row that sums to one",
        "a weight of 1.5",
        "a negative weight beside a row of zeros",
    ),
    "sum": (
        "a row that sums to 0.9",
        "a row that sums to 1.001",
        "a row of zeros",
        "a short row in one matrix of a batch",
    ),
}
COLUMNS = "columns that sum to one"


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("B", "H", "Tq", "Tk")
    batch, heads, queries, keys = sizes["B"], sizes["H"], max(sizes["Tq"], 3), max(sizes["Tk"], 3)
    soft = torch.softmax(draw.normal((batch, heads, queries, keys)), -1)
    row = draw.integer(1, queries)
    short = soft.clone()
    short[-1, 0, row] *= 0.9

    def with_rows(*rows: list[float]) -> Tensor:
        """A sound matrix in which `row` and those before it are replaced, padded with zeros."""
        weights = soft[0, 0].clone()
        for i, values in enumerate(rows):
            weights[row - i] = torch.tensor(values + [0.0] * (keys - len(values)))
        return weights

    matrices = {
        "halves and quarters": torch.tensor([[0.5, 0.25, 0.25] + [0.0] * (keys - 3)]).repeat(queries, 1),
        "weights of a softmax": soft[0, 0],
        "weights with batch and heads": soft,
        "float64 weights": torch.softmax(soft.double(), -1),
        "a row that sums to one but for 0.00005": with_rows([0.5, 0.50005]),
        "an entry of -0.00002": with_rows([0.5, 0.50002, -0.00002]),
        "an entry of 1.00003": with_rows([1.00003]),
        "one NaN": with_rows([0.5, math.nan, 0.5]),
        "one inf": with_rows([0.5, math.inf]),
        "one -inf": with_rows([1.0, -math.inf]),
        "a NaN beside a negative weight": with_rows([-0.5, math.nan]),
        "a negative weight in a row that sums to one": with_rows([0.75, 0.5, -0.25]),
        "a weight of 1.5": with_rows([1.5]),
        "a negative weight beside a row of zeros": with_rows([0.75, 0.5, -0.25], [0.0]),
        "a row that sums to 0.9": with_rows([0.5, 0.4]),
        "a row that sums to 1.001": with_rows([0.5, 0.501]),
        "a row of zeros": with_rows([0.0]),
        "a short row in one matrix of a batch": short,
        COLUMNS: torch.softmax(draw.normal((queries, keys)), -2),
    }
    return [Case(name, {"weights": weights}) for name, weights in matrices.items()]


def verdict(session: Session, name: str) -> str:
    """What the student's function makes of a case: "accepted", a rule's words found in its ValueError, or "other"."""
    outcome = session.call(session.cases[name])
    if outcome.ok:
        return "accepted" if outcome.value is None else "other"
    if outcome.raised is None or "ValueError" not in outcome.raised.types:
        return "other"
    return outcome.raised.message.lower()


def _accepts(title: str, weight: float, cases: tuple[str, ...]) -> Part:
    def judge(session: Session) -> Finding | None:
        for name in cases:
            outcome = session.call(session.cases[name])
            if outcome.raised is not None and "ValueError" in outcome.raised.types:
                said = outcome.raised.message
                return Finding("wrong-verdict", f"It rejected sound weights ({name}) with the message «{said}».")
            finding = compare.ran(outcome, session.exercise)
            if finding is not None:
                return finding
            if outcome.value is not None:
                returned = compare.in_words(outcome.value)
                return Finding(
                    "wrong-type",
                    f"It returned {returned} for sound weights, expected None: no `return` is needed.",
                )
        return None

    return Part(title, weight, judge)


def _rejects(word: str, weight: float) -> Part:
    def judge(session: Session) -> Finding | None:
        if verdict(session, SOUND[0]) != "accepted":
            return _accepts("", 0, SOUND[:1]).judge(session)
        for name in BROKEN[word]:
            finding = _rejected(session, name, word)
            if finding is not None:
                return finding
        return _tells_rules_apart(session)

    return Part(f"rejects what breaks the rule `{word}`", weight, judge)


def _rejected(session: Session, name: str, word: str) -> Finding | None:
    outcome = session.call(session.cases[name])
    said = verdict(session, name)
    if said == "accepted":
        return Finding("wrong-verdict", f"It accepted {name}, which breaks the rule `{word}`.")
    if outcome.raised is not None and "ValueError" in outcome.raised.types:
        if word in said:
            return None
        return Finding(
            "wrong-verdict",
            f"For {name} the message should hold the word `{word}`, "
            f"the first rule broken; it is «{outcome.raised.message}».",
        )
    found = compare.ran(outcome, session.exercise)
    told = found.message if found is not None else f"It returned {compare.in_words(outcome.value)}."
    return Finding("wrong-verdict", f"For {name} a ValueError is expected. {told}")


def _tells_rules_apart(session: Session) -> Finding | None:
    said = {verdict(session, cases[0]) for cases in BROKEN.values()}
    if len(said) > 1:
        return None
    return Finding("wrong-verdict", "The message is the same whichever rule is broken: it should tell the first one.")


def _columns(session: Session) -> bool:
    return "sum" in verdict(session, "weights of a softmax") and verdict(session, COLUMNS) == "accepted"


def _exact(session: Session) -> bool:
    """Rounding is taken for a broken rule."""
    if verdict(session, "halves and quarters") != "accepted" or _columns(session):
        return False
    return any(verdict(session, name) not in ("accepted", "other") for name in (*NEARLY, *SOUND))


def _nan_passes(session: Session) -> bool:
    """NaN is accepted, or slips through a finiteness test that does find inf."""
    said = verdict(session, "one NaN")
    return said == "accepted" or (said != "other" and "finite" not in said and "finite" in verdict(session, "one inf"))


def _negative_passes(session: Session) -> bool:
    return verdict(session, BROKEN["within"][0]) == "accepted"


def _finite_too_late(session: Session) -> bool:
    said = [verdict(session, name) for name in BROKEN["finite"]]
    return all(text != "accepted" for text in said) and any("sum" in text or "within" in text for text in said)


VALIDATE_ATTENTION = Exercise(
    name="validate_attention",
    lesson="01_self_attention",
    points=2,
    signature=("weights",),
    cases=_cases,
    parts=(
        _accepts("accepts attention weights", 2, SOUND),
        _rejects("finite", 2),
        _rejects("within", 2),
        _rejects("sum", 2),
        _accepts("minds no rounding errors up to 0.0001", 1, NEARLY),
    ),
    mistakes=(
        Mistake(
            "columns-instead-of-rows",
            "the columns are added up; it is the rows that should sum to one.",
            (
                "Along which axis does your `sum` go? Try it on a matrix with 2 rows and 3 columns.",
                "One row belongs to one query, and the query shares out 1 among the keys, along the last axis.",
            ),
            recognise=_columns,
        ),
        Mistake(
            "nan-passes",
            "a NaN gets past the test for finite numbers.",
            (
                "What does Python answer to `float('nan') < 0`? And to `float('nan') > 1`?",
                "A comparison with NaN is always False, so none finds it. torch has a function that asks for finiteness.",
            ),
            recognise=_nan_passes,
        ),
        Mistake(
            "finite-tested-too-late",
            "another rule is tested before finiteness, so its message comes first.",
            ("A row with NaN in it never sums to one. Which of your tests sees it first?",),
            recognise=_finite_too_late,
        ),
        Mistake(
            "negative-passes",
            "a negative weight is accepted when its row sums to one.",
            ("The sum can be right although an entry is not. Which two bounds does every weight have?",),
            recognise=_negative_passes,
        ),
        Mistake(
            "exact-equality",
            "sums (or bounds) are compared exactly, so weights that are off by a rounding error are rejected.",
            (
                "Print the row sums of a softmax with `.tolist()`. Are they all exactly 1.0?",
                "Ask whether the distance from one is at most 1e-4, not whether there is none.",
            ),
            recognise=_exact,
        ),
    ),
)
