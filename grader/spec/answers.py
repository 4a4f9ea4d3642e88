"""Exercises that ask for answers in a dict: numbers, shapes, multiple choice. A wrong answer gets a hint, never the
solution.

Answers are computed where possible. The right letter of a multiple choice is stored only as a digest, so the package
doesn't reveal it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader.sentences import say, together
from grader.spec.compare import not_defined
from grader.spec.exercise import Exercise, Finding, Part
from grader.spec.session import Session
from grader.subject import Opaque, Outcome, Request


@dataclass(frozen=True)
class Question:
    """One key of the dict."""

    key: str
    right: Callable[[Any], bool | str]  # whether an answer is right, or a sentence if its type is wrong
    hint: str  # for any wrong answer
    wrong: Mapping[str, str] = field(default_factory=dict)  # hints for plausible ones, by their normalised text
    cut_off: Callable[[Any], bool] = lambda _answer: False  # whether it is the right one with its last digits cut off


def number(key: str, value: Callable[[], float], tolerance: float, hint: str, **more: Any) -> Question:
    """A question for a number, right within `tolerance`, an absolute difference. `value` computes it; `more` are other
    fields of `Question`."""

    def right(answer: Any) -> bool | str:
        if isinstance(answer, Tensor) and answer.numel() == 1:
            answer = answer.item()
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            return say('"{key}": expected a number, got {answer}.', key=key, answer=_kind(answer))
        try:
            return abs(float(answer) - value()) <= tolerance
        except OverflowError:  # a whole number beyond every float
            return False

    def cut_off(answer: Any) -> bool:
        """Whether a float is the value without its later digits, and would be right if it were rounded."""
        digits = len(str(answer).partition(".")[2])
        cut = isinstance(answer, float) and answer == math.trunc(value() * 10**digits) / 10**digits
        return cut and right(round(value(), digits)) is True

    return Question(key, right, hint, cut_off=cut_off, **more)


def whole(key: str, value: Callable[[], float], hint: str, wrong: Mapping[int, str]) -> Question:
    """A question for a whole number, which `value` computes; `wrong` maps wrong numbers to hints."""
    return number(key, value, 0, hint, wrong=written({float(answer): text for answer, text in wrong.items()}))


def shape(key: str, value: Callable[[], tuple[int, ...]], hint: str, **more: Any) -> Question:
    """A question for a shape, which `value` computes: a tuple (or list) of whole numbers. `more` are other fields of
    `Question`."""

    def right(answer: Any) -> bool | str:
        if not isinstance(answer, tuple | list) or not all(type(n) is int for n in answer):
            return say(
                '"{key}": expected a shape of whole numbers, like (2, 3), but got {answer}.',
                key=key,
                answer=_kind(answer),
            )
        return tuple(answer) == tuple(value())

    return Question(key, right, hint, **more)


def choice(key: str, letters: str, digest: str, hint: str, **more: Any) -> Question:
    """A question for one of `letters`; `digest` is `answer_digest(key, letter)` of the right one. `more` are other
    fields of `Question`."""

    def right(answer: Any) -> bool | str:
        if not isinstance(answer, str) or normal(answer) not in tuple(letters):
            wanted = ", ".join(repr(letter) for letter in letters)
            return say(
                '"{key}": expected one of {letters}, but got {answer}.', key=key, letters=wanted, answer=_kind(answer)
            )
        return answer_digest(key, normal(answer)) == digest

    return Question(key, right, hint, **more)


def answer_digest(key: str, letter: str) -> str:
    """The digest of a letter as the answer to `key`, in hex: it is stored in place of the right letter."""
    return hashlib.sha256(f"{key}:{letter}".encode()).hexdigest()[:12]


def normal(answer: object) -> str:
    """An answer as the text that is the key of its hint: `" B) "` is "b", `[2, 3]` is "(2, 3)".

    >>> normal(" B) "), normal([2, 3]), normal(1.50)
    ('b', '(2, 3)', '1.5')
    """
    if isinstance(answer, str):
        return answer.strip().strip("()[].").lower()
    if isinstance(answer, Tensor) and answer.numel() == 1:
        answer = round(answer.item(), 6)
    return str(tuple(answer)) if isinstance(answer, list) else str(answer)


def written(hints: Mapping[float, str]) -> dict[str, str]:
    """Hints for wrong numbers, by each text in which a learner may write them.

    >>> sorted(written({12.0: "?"})), sorted(written({0.6667: "?"}))
    (['12', '12.0'], ['0.6667', '0.667', '0.67'])
    """
    by_text: dict[str, str] = {}
    for value, hint in hints.items():
        by_text |= {str(round(value, digits)): hint for digits in (2, 3, 4)}
        by_text |= {str(int(value)): hint} if value == int(value) else {}
    return by_text


def quiz(name: str, lesson: str, points: float, questions: tuple[Question, ...]) -> Exercise:
    """An exercise of kind "answers", with a part of equal weight for each question."""
    parts = tuple(Part(question.key, 1, _judge(question)) for question in questions)
    return Exercise(name, lesson, points, parts, kind="answers")


def _judge(question: Question) -> Callable[[Session], Finding | None]:
    def judge(session: Session) -> Finding | None:
        answers = _answers(session)
        if isinstance(answers, Finding):
            return answers
        if question.key not in answers:
            said = say('The key "{key}" is missing from `{name}`.', key=question.key, name=session.exercise.name)
            return Finding("missing-answer", said)
        answer = answers[question.key]
        if answer is None or answer == Opaque("ellipsis"):
            return Finding("not-answered", say('"{key}" is not answered yet.', key=question.key))
        verdict = question.right(answer)
        if verdict is True:
            return None
        if isinstance(verdict, str):
            return Finding("wrong-type", verdict)
        hint = question.wrong.get(normal(answer), question.hint)
        if question.cut_off(answer):
            hint = "Almost: round to the last digit instead of cutting off the rest."
        return Finding("wrong-answer", together(say('"{key}" is not right yet.', key=question.key), say(hint)))

    return judge


def _answers(session: Session) -> dict[Any, Any] | Finding:
    name = session.exercise.name
    outcome: Outcome = session.ask(Request("get", name))
    if outcome.status == "missing":
        return not_defined(name)
    if not isinstance(outcome.value, dict):
        said = say(
            "`{name}` should be a dict with an answer for every key, but is {what}.",
            name=name,
            what=_kind(outcome.value),
        )
        return Finding("wrong-type", said)
    return outcome.value


def _kind(answer: object) -> str:
    if isinstance(answer, Opaque):
        return say("a value of type {type}", type=answer.type_name)
    if isinstance(answer, str | int | float):
        return repr(answer)[:60]
    return say("a value of type {type}", type=type(answer).__name__)
