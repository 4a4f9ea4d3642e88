"""`bug_hunt`: eight broken attention functions to be named. A wrong name gets the probe that would rule it out."""

from __future__ import annotations

from typing import Any

from grader.models.attentions import CANDIDATES, DIGESTS, mistake_of
from grader.sentences import say, together
from grader.spec.answers import Question, answer_digest, normal
from grader.spec.spec import Spec

# What the lesson's probes show, by probe, then by reading; {} is the mistake that was named.
PROBES: dict[str, dict[str, str]] = {
    "sums": {
        "rows": "With `{named}` every row of the weights would still sum to one.",
        "columns": "With `{named}` the columns of the weights would sum to one, and the rows would not.",
        "less": "With `{named}` the rows would sum to less than one, except the last (a sum near one may be printed "
        "as 1.00).",
        "first row empty": "With `{named}` the first row of the weights would sum to zero, and every other row to one.",
        "last row empty": "With `{named}` the last row of the weights would sum to zero, and every other row to one.",
        "one table": "With `{named}` there would be a single matrix of weights, not one for each head.",
    },
    "influence": {
        "past": "With `{named}` no output would change when a later token is changed.",
        "all": "With `{named}` every output would change with every token, later ones included.",
        "one ahead": "With `{named}` an output would change with the next token, but not with those after it.",
        "later": "With `{named}` outputs would change with later tokens, and not with earlier ones.",
        "itself hidden": "With `{named}` the first output would change with no token at all.",
        "torn": "With `{named}` the matrix would look torn, as outputs would change with one later token and not the "
        "next.",
    },
    "company": {
        "same": "With `{named}` a sequence would come out the same alone and in a batch.",
        "other": "With `{named}` a sequence would come out differently alone and in a batch.",
    },
    "matters": {
        "all": "With `{named}` all four matrices would matter to the output.",
        "not w_v": "With `{named}` the output would not change with another w_v.",
        "not w_k": "With `{named}` the output would not change with another w_k.",
        "not w_o": "With `{named}` the output would not change with another w_o.",
    },
    "compared": {
        "weights right": "With `{named}` a single sequence's weights would be the right ones, with any number of "
        "heads.",
        "right with one head": "With `{named}` the weights would be right with one head, and wrong with several.",
        "wrong": "With `{named}` the weights would differ from the right ones, even with one head.",
    },
    "entropies": {
        "right": "With `{named}` the entropies would be the right ones.",
        "lower": "With `{named}` the weights would be sharper than the right ones, so their entropies would be lower.",
        "higher": "With `{named}` the weights would be flatter than the right ones, so their entropies would be "
        "higher.",
        "none": "With `{named}` the last row wouldn't sum to one, so it would have no entropy.",
        "another": "With `{named}` the entropies would differ from the right ones.",
    },
    "matters, with a single token": {
        "value and output": "With `{named}` a single token's output would still depend on w_v and w_o, as it should.",
        "key and output": "With `{named}` a single token's output would depend on w_k, though its weight is always 1.",
        "output": "With `{named}` a single token's output would depend on w_o alone.",
        "value": "With `{named}` a single token's output would depend on w_v alone.",
        "nothing": "With `{named}` a single token's output would depend on no matrix at all.",
    },
}

_SHORT = ("sums", "influence", "company", "matters", "compared", "entropies", "single")
_USUAL = ("rows", "past", "same", "all", "wrong", "another", "value and output")


def _reading(**changed: str) -> dict[str, str]:
    """What the probes show, by probe. `changed` gives readings by the probe's short name; all others are the usual
    ones."""
    readings = dict(zip(_SHORT, _USUAL, strict=True)) | changed
    return dict(zip(PROBES, readings.values(), strict=True))


_RIGHT_WEIGHTS = {"compared": "weights right", "entropies": "right"}

READINGS: dict[str, dict[str, str]] = {
    "no-scaling": _reading(entropies="lower"),
    "scaled-by-d_model": _reading(compared="right with one head", entropies="higher"),
    "softmax-over-queries": _reading(sums="columns", influence="all", entropies="none"),
    "mask-ignored": _reading(influence="all", entropies="right"),
    "mask-inverted": _reading(sums="last row empty", influence="later", entropies="none", single="nothing"),
    "mask-after-softmax": _reading(sums="less", influence="all", entropies="right"),
    "one-future-token-visible": _reading(influence="one ahead", entropies="right"),
    "diagonal-hidden": _reading(sums="first row empty", influence="itself hidden", single="nothing"),
    "key-used-as-value": _reading(matters="not w_v", single="key and output", **_RIGHT_WEIGHTS),
    "no-value-projection": _reading(matters="not w_v", single="output", **_RIGHT_WEIGHTS),
    "query-used-as-key": _reading(matters="not w_k"),
    "view-without-transpose": _reading(influence="torn", compared="right with one head"),
    "merge-without-transpose": _reading(influence="torn", **_RIGHT_WEIGHTS),
    "one-head-only": _reading(sums="one table", compared="right with one head"),
    "no-output-projection": _reading(matters="not w_o", single="value", **_RIGHT_WEIGHTS),
    "batch-mixed": _reading(company="other", **_RIGHT_WEIGHTS),
}


def ruled_out(named: str, true: str) -> str:
    """A hint for who named one mistake where another is true: the first probe on which both differ, and what it would
    show if the named one were right. ValueError if no probe tells them apart."""
    for probe, words in PROBES.items():
        reading = READINGS[named][probe]
        if reading != READINGS[true][probe]:
            shows = say(words[reading], named=named)
            return together(say("Try the probe `{probe}`.", probe=probe), shows, say("Is that so?"))
    raise ValueError(f"no probe tells {named} from {true}")


def _question(box: str) -> Question:
    def right(answer: Any) -> bool | str:
        if not isinstance(answer, str):
            expected = '"{key}": expected one of the ids in the list (as text), got a value of type {type}.'
            return say(expected, key=box, type=type(answer).__name__)
        if normal(answer) not in CANDIDATES:
            return say('"{key}": {answer} isn\'t one of the ids in the list.', key=box, answer=repr(answer[:40]))
        return answer_digest(box, normal(answer)) == DIGESTS[box]

    true = mistake_of(box)
    wrong = {named: ruled_out(named, true) for named in CANDIDATES if named != true}
    return Question(box, right, "Run all the probes on this box, and write down what is unusual.", wrong)


QUESTIONS = tuple(_question(box) for box in DIGESTS)

EXERCISE = Spec(__name__).quiz(8, QUESTIONS)
