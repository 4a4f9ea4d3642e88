"""`validate_attention`: are these attention weights? Finite first, then within [0, 1], then rows that sum to one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.sentences import say, together
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.parts import changed_in_place
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.subject import Outcome

spec = Spec(__name__)

# --- the matrices: sound ones, and ones that break a rule -------------------------------------------------------------

COLUMNS = "columns that sum to one"
ONE_ROW, FIRST_ROW = "a single row", "only the first row sums to 0.9"
ALL_BREAK = {"finite": "NaN everywhere", "within": "every weight -0.25", "sum": "every row sums to 0.9"}


def _groups(draw: Draw) -> dict[str, dict[str, Tensor]]:
    """Weights, (Tq, Tk) or (B, H, Tq, Tk), by group and name: those that are sound, those that are so up to rounding,
    and by rule (the word that the message must hold, in the order in which the rules are tested) those that break it.
    Outside the diagnostic ones the first row of a broken matrix is never the only broken one."""
    first = draw.integer(2, 4)
    sizes = draw.sizes("Tq", "Tk", B=first, H=5 - first)
    batch, heads, queries, keys = sizes["B"], sizes["H"], sizes["Tq"], sizes["Tk"]
    soft = torch.softmax(draw.normal((batch, heads, queries, keys)), -1)
    row = draw.integer(1, queries)

    def with_rows(*rows: list[float]) -> Tensor:
        """A sound matrix, (Tq, Tk), in which `row` is replaced by the first of these, the row before it by the next,
        and so on. Each is padded with zeros."""
        weights = soft[0, 0].clone()
        for i, values in enumerate(rows):
            weights[row - i] = torch.tensor(values + [0.0] * (keys - len(values)))
        return weights

    def in_a_batch(matrix: Tensor) -> Tensor:
        weights = soft.clone()
        weights[-1, -1] = matrix
        return weights

    return {
        "sound": {
            "halves and quarters": torch.tensor([[0.5, 0.25, 0.25] + [0.0] * (keys - 3)]).repeat(queries, 1),
            "weights of a softmax": soft[0, 0],
            "weights with batch and heads": soft,
            "float64 weights": torch.softmax(draw.normal((queries, keys)).double(), -1),
        },
        "rounded": {
            "a row whose sum is off in the last digit": with_rows([0.5, 0.5000002]),
            "entries of -0.0000002 and 1.0000002": with_rows([1.0000002, -0.0000002]),
        },
        "nearly": {
            "a row whose sum is off by 0.00005": with_rows([0.5, 0.50005]),
            "an entry of -0.00002": with_rows([0.5, 0.50002, -0.00002]),
            "an entry of 1.00003": with_rows([1.00003]),
        },
        "finite": {
            "one NaN": with_rows([0.5, math.nan, 0.5]),
            "one inf": with_rows([0.5, math.inf]),
            "one -inf": with_rows([1.0, -math.inf]),
            "a NaN beside a negative weight": with_rows([-0.5, math.nan]),
            "a NaN in one matrix of a batch": in_a_batch(with_rows([0.5, math.nan, 0.5])),
        },
        "within": {
            "a negative weight in a row that sums to one": with_rows([0.75, 0.5, -0.25]),
            "a weight of 1.5": with_rows([1.5]),
            "a weight of -0.0005 in a row that sums to one": with_rows([0.5005, 0.5, -0.0005]),
            "a weight of 1.0005": with_rows([1.0005]),
            "a negative weight beside a row of zeros": with_rows([0.75, 0.5, -0.25], [0.0]),
        },
        "sum": {
            "a row that sums to 0.9": with_rows([0.5, 0.4]),
            "a row that sums to 1.0005": with_rows([0.5, 0.5005]),
            "rows that sum to 0.9 and to 1.1": with_rows([0.5, 0.4], [0.5, 0.6]),
            "a row of zeros": with_rows([0.0]),
            "a row that sums to 0.9 in one matrix of a batch": in_a_batch(with_rows([0.5, 0.4])),
        },
        "columns": {COLUMNS: torch.softmax(draw.normal((queries, keys)), -2)},
        "diagnostic": {
            ONE_ROW: soft[0, 0, :1],
            FIRST_ROW: torch.cat([0.9 * soft[0, 0, :1], soft[0, 0, 1:]]),
            ALL_BREAK["finite"]: torch.full((queries, keys), math.nan),
            ALL_BREAK["within"]: torch.full((queries, keys), -0.25),
            ALL_BREAK["sum"]: torch.full((queries, keys), 0.9 / keys),
        },
    }


_NAMES = {group: tuple(made) for group, made in _groups(Draw("names")).items()}
SOUND, ROUNDED, NEARLY = (_NAMES[group] for group in ("sound", "rounded", "nearly"))
BROKEN = {rule: _NAMES[rule] for rule in ("finite", "within", "sum")}
PLAIN = SOUND[0]
NEGATIVE, ABOVE_ONE, *_, NEGATIVE_AND_ZEROS = BROKEN["within"]  # the last one breaks the rule of the sum as well


def matrices(draw: Draw) -> list[Case]:
    """A case for all weights of `_groups`."""
    made = _groups(draw)
    return [
        Case(name, {"weights": weights}, diagnostic=group == "diagnostic")
        for group, by_name in made.items()
        for name, weights in by_name.items()
    ]


def _value_error(outcome: Outcome) -> bool:
    return outcome.raised is not None and "ValueError" in outcome.raised.types


def _own_error(outcome: Outcome) -> bool:
    """Whether the student's code raised the exception by a `raise` of its own, or by a line that isn't known; if not,
    Python or torch did, or there is none."""
    return outcome.raised is not None and (not outcome.raised.line or "raise" in outcome.raised.line)


def verdict(session: Session, name: str) -> str:
    """What the student's function does on a case: "accepted" (it returns None), "other" (it returns something, or
    raises another exception), or the message of its ValueError, in lower case."""
    outcome = session.call(session.cases[name])
    if outcome.ok:
        return "accepted" if outcome.value is None else "other"
    return outcome.raised.message.lower() if outcome.raised is not None and _value_error(outcome) else "other"


# --- the parts --------------------------------------------------------------------------------------------------------


def _accepts(title: str, weight: float, cases: tuple[str, ...]) -> Part:
    def judge(session: Session) -> Finding | None:
        for name in cases:
            outcome = session.call(session.cases[name])
            if _value_error(outcome) and outcome.raised is not None and _own_error(outcome):
                said = say(
                    "It rejected sound weights ({case}) with the message «{message}».",
                    case=say(name),
                    message=outcome.raised.message,
                )
                return Finding("wrong-verdict", said)
            finding = compare.run_error(outcome, session.exercise)
            if finding is not None:
                return finding
            if outcome.value is not None:
                said = say(
                    "It returned {what} for sound weights, but None is expected and no `return` is needed.",
                    what=compare.in_words(outcome.value),
                )
                return Finding("wrong-type", said)
        if _rejects_nothing(session):
            if cases != SOUND:  # said once
                return not_judged("tells-apart-first")
            return Finding("wrong-verdict", _what_else(session))
        return None

    return Part(title, weight, judge)


def _rejects_nothing(session: Session) -> bool:
    broken = (name for names in BROKEN.values() for name in names)
    return not any(_value_error(session.call(session.cases[name])) for name in broken)


def _what_else(session: Session) -> str:
    """A sentence on a function that never raises ValueError: what it does with weights that break a rule."""
    for name in (name for names in BROKEN.values() for name in names):
        outcome = session.call(session.cases[name])
        if outcome.raised is not None:
            return say(
                "It accepts sound weights, but where a rule is broken it raises {error}, not the ValueError that is "
                "asked for.",
                error=outcome.raised.name,
            )
        if outcome.value is not None:
            return say(
                "It accepts sound weights, but where a rule is broken it returns something instead of raising a "
                "ValueError."
            )
    return say(
        "It accepts sound weights, but it accepts all others too, and no broken rule makes it raise a ValueError."
    )


def _rejects(word: str, weight: float) -> Part:
    def judge(session: Session) -> Finding | None:
        plain = session.call(session.cases[PLAIN])
        if not plain.ok and not _value_error(plain):
            return compare.run_error(plain, session.exercise)
        if word in verdict(session, PLAIN):  # a function that rejects everything finds nothing
            said = say(
                "It reports that even sound weights ({case}) break the rule `{rule}`.", case=say(PLAIN), rule=word
            )
            return Finding("wrong-verdict", said)
        for name in BROKEN[word]:
            finding = _rejected(session, name, word)
            if finding is not None:
                return finding
        return _tells_rules_apart(session)

    return Part(say("rejects what breaks the rule `{rule}`", rule=word), weight, judge)


def _rejected(session: Session, name: str, word: str) -> Finding | None:
    outcome = session.call(session.cases[name])
    if outcome.ok and outcome.value is None:
        said = say("It accepted weights with {what}, which breaks the rule `{rule}`.", what=say(name), rule=word)
        return Finding("wrong-verdict", said)
    if _value_error(outcome) and outcome.raised is not None:
        if word in outcome.raised.message.lower():
            return None
        if not _own_error(outcome):
            return compare.run_error(outcome, session.exercise)
        said = say(
            "For weights with {what} the message should contain `{rule}`, the word for the first rule broken, but it "
            "is «{message}».",
            what=say(name),
            rule=word,
            message=outcome.raised.message,
        )
        return Finding("wrong-verdict", said)
    error = compare.run_error(outcome, session.exercise)
    returned = say("It returned {what}, but `raise` is needed.", what=compare.in_words(outcome.value))
    expected = say("For weights with {what} a ValueError is expected.", what=say(name))
    return Finding("wrong-verdict", together(expected, returned if error is None else error.message))


def _tells_rules_apart(session: Session) -> Finding | None:
    verdicts = [verdict(session, cases[0]) for cases in BROKEN.values()]
    if len(set(verdicts)) > 1 and not all(word in text for text in verdicts for word in BROKEN):
        return None
    return Finding(
        "wrong-verdict", "The message is the same whichever rule is broken, but it should name the first one broken."
    )


def _unchanged(weight: float) -> Part:
    def judge(session: Session) -> Finding | None:
        for case in session.real_cases():
            if session.call(case).changed:
                return changed_in_place(session, "weights", case.name)
        if not session.call(session.cases[PLAIN]).ok or _rejects_nothing(session):
            return not_judged("values-first")
        return None

    return Part("leaves its argument as it was", weight, judge, compares_values=False)


# --- recognised by their verdicts -------------------------------------------------------------------------------------


def _columns(session: Session) -> bool:
    return "sum" in verdict(session, "weights of a softmax") and verdict(session, COLUMNS) == "accepted"


def _nan_passes(session: Session) -> bool:
    """Whether NaN is accepted by a function that rejects something, or slips through a finiteness test that does find
    inf."""
    on_nan = verdict(session, "one NaN")
    if on_nan == "accepted":
        return not _rejects_nothing(session)
    return on_nan != "other" and "finite" not in on_nan and "finite" in verdict(session, "one inf")


def _infinity_passes(session: Session) -> bool:
    """Whether the first rule finds NaN, but not inf."""
    on_infinity = verdict(session, "one inf")
    nan_first = all("finite" in verdict(session, name) for name in ("one NaN", "a NaN beside a negative weight"))
    return nan_first and not _sum_before_within(session) and on_infinity != "other" and "finite" not in on_infinity


def _finite_too_late(session: Session) -> bool:
    verdicts = [verdict(session, name) for name in BROKEN["finite"]]
    return all(text != "accepted" for text in verdicts) and any(
        "finite" not in text and ("sum" in text or "within" in text) for text in verdicts
    )


def _sum_before_within(session: Session) -> bool:
    """Whether weights that break both rules are rejected for their sum, though the rule of the range is there."""
    both_broken = (verdict(session, name) for name in (ABOVE_ONE, NEGATIVE_AND_ZEROS))
    return "within" in verdict(session, NEGATIVE) and all(
        "sum" in said and "within" not in said for said in both_broken
    )


def _above_one_passes(session: Session) -> bool:
    negative, above = verdict(session, NEGATIVE), verdict(session, ABOVE_ONE)
    return "within" in negative and "within" not in above and (above == "accepted" or "sum" in above)


def _too_small_sum_passes(session: Session) -> bool:
    below, above = verdict(session, BROKEN["sum"][0]), verdict(session, BROKEN["sum"][1])
    return below == "accepted" and "sum" in above


def _all_instead_of_any(session: Session) -> bool:
    """Whether weights that break a rule everywhere are rejected, and accepted if they break it in one place."""
    one_place = {"finite": BROKEN["finite"][0], "within": NEGATIVE, "sum": FIRST_ROW}
    return any(word in verdict(session, ALL_BREAK[word]) and _accepted(session, one_place[word]) for word in BROKEN)


def _accepted(session: Session, name: str) -> bool:
    return verdict(session, name) == "accepted"


def _total_instead_of_rows(session: Session) -> bool:
    """Whether the sum of everything is compared with one, or with the number of rows."""
    if not _accepted(session, ONE_ROW) or "sum" not in verdict(session, ALL_BREAK["sum"]):
        return False
    with_one = "sum" in verdict(session, PLAIN) and not _columns(session)
    both = BROKEN["sum"][2]  # these two rows sum to two together
    with_number = "sum" in verdict(session, BROKEN["sum"][0]) and _accepted(session, both)
    return with_one or with_number


def _first_row_only(session: Session) -> bool:
    return "sum" in verdict(session, FIRST_ROW) and _accepted(session, BROKEN["sum"][0])


def _two_axes_only(session: Session) -> bool:
    """Whether every matrix gets the right verdict, and sound weights with leading axes are rejected or make the
    function fail."""
    if not all(_accepted(session, name) for name in (*SOUND[:2], SOUND[3], *ROUNDED)) or _rejects_nothing(session):
        return False
    single = {word: [n for n in names if "batch" not in n] for word, names in BROKEN.items()}
    right = all(word in verdict(session, name) for word, names in single.items() for name in names)
    return right and not _accepted(session, SOUND[2])


def _returns(session: Session) -> bool:
    """Whether something comes back for weights that break a rule, though nothing does for sound ones."""
    outcomes = (session.call(session.cases[name]) for names in BROKEN.values() for name in names)
    return _accepted(session, PLAIN) and any(outcome.ok and outcome.value is not None for outcome in outcomes)


def _negative_passes(session: Session) -> bool:
    """Whether a negative weight is accepted by a function that rejects something else."""
    return verdict(session, NEGATIVE) == "accepted" and not _rejects_nothing(session)


def _rejects_some(session: Session, names: tuple[str, ...]) -> bool:
    return any(verdict(session, name) not in ("accepted", "other") for name in names)


def _prints(session: Session) -> bool:
    """Whether the function prints something and raises nothing, whichever rule is broken."""
    every = (session.call(session.cases[name]) for names in BROKEN.values() for name in names)
    return bool(session.output) and all(outcome.ok for outcome in every)


def _rule_unnamed(session: Session) -> bool:
    """Whether every broken rule is found, but no message names one."""
    said = [verdict(session, name) for names in BROKEN.values() for name in names]
    return not any(text in ("accepted", "other") or any(word in text for word in BROKEN) for text in said)


def _exact(session: Session) -> bool:
    """Whether rounding errors in the last digit count as a broken rule."""
    return verdict(session, PLAIN) == "accepted" and not _columns(session) and _rejects_some(session, ROUNDED)


def _too_tight(session: Session) -> bool:
    sound = all(verdict(session, name) == "accepted" for name in (*SOUND, *ROUNDED))
    return sound and _rejects_some(session, NEARLY)


EXERCISE = spec.exercise(
    points=2,
    signature=("weights",),
    cases=matrices,
    parts=(
        _accepts("accepts attention weights", 2, SOUND),
        _rejects("finite", 2),
        _rejects("within", 2),
        _rejects("sum", 2),
        _accepts("accepts rounding errors up to 0.0001", 1, ROUNDED + NEARLY),
        _unchanged(0.5),
    ),
    mistakes={
        "returned-not-raised": When(_returns),
        "printed-not-raised": When(_prints),
        "rule-not-named": When(_rule_unnamed),
        "all-instead-of-any": When(_all_instead_of_any),
        "columns-instead-of-rows": When(_columns),
        "total-instead-of-rows": When(_total_instead_of_rows),
        "first-row-only": When(_first_row_only),
        "two-axes-only": When(_two_axes_only),
        "nan-passes": When(_nan_passes),
        "infinity-passes": When(_infinity_passes),
        "finite-tested-too-late": When(_finite_too_late),
        "sum-before-within": When(_sum_before_within),
        "negative-passes": When(_negative_passes),
        "above-one-passes": When(_above_one_passes),
        "small-sum-passes": When(_too_small_sum_passes),
        "exact-equality": When(_exact),
        "tolerance-too-tight": When(_too_tight),
    },
)
