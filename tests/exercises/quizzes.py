"""What holds for every quiz. A lesson's test inherits it and gives the right answers, other spellings of them, and the
hints that wrong ones should get.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from grader.authoring.model_solutions import cells
from grader.authoring.unfinished import todo_in_specification
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec import answers
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject


class QuizTests:
    """Inherit as `class TestQuiz(QuizTests)`; `module` is the specification, for example `quiz_03`."""

    module: Any
    right: dict[str, Any]
    spellings: Sequence[tuple[str, Any]]  # key, another way of writing its right answer
    hints: Sequence[tuple[str, Any, str]]  # key, a wrong answer, words of its hint
    kinds: Sequence[tuple[str, Any, str]]  # key, an answer of another kind, words of what is said

    @pytest.fixture(autouse=True)
    def _finished(self) -> None:
        if todo_in_specification(self.quiz):
            pytest.skip("not finished; test_every_exercise_is_finished says what is missing")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name in ("spelling", "hint", "kind"):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, getattr(self, name + "s"), ids=lambda row: f"{row[0]}-{row[1]!r:.30}")

    @property
    def quiz(self) -> Any:
        return self.module.EXERCISE

    @property
    def questions(self) -> list[answers.Question]:
        return [one for one in _questions(self.module) if one.key in self.right]

    def graded(self, given: object) -> Report:
        report = evaluate(self.quiz, LocalSubject({self.quiz.name: given}))
        assert not report.broken, report.traceback
        return report

    def message(self, key: str, answer: object) -> str:
        """What is said about one answer, all others being right."""
        report = self.graded({**self.right, key: answer})
        failed = [result for result in report.parts if not result.passed]
        assert [result.name for result in failed] == [key], str(report)
        assert report.score == pytest.approx(1 - 1 / len(self.right))
        return failed[0].message

    def test_right_answers_get_full_marks(self):
        assert exercises()[self.quiz.name] is self.quiz
        report = self.graded(self.right)
        assert report.passed
        assert report.mark == self.quiz.points

    def test_lesson_asks_for_the_same_keys_in_the_same_order(self):
        name = self.quiz.name
        [body] = [b for head, b in cells(self.quiz.lesson) if f'exercise="{name}" role="solution"' in head]
        stub, solution = (ast.literal_eval(text) for text in re.findall(rf"{name} = (\{{.*?\n\}})", body, re.DOTALL))
        assert list(stub) == list(solution) == [part.name for part in self.quiz.parts]
        assert set(stub.values()) == {...}
        assert solution == self.right

    def test_other_spellings_of_right_answers_count(self, spelling):
        key, answer = spelling
        assert self.graded({**self.right, key: answer}).passed

    def test_wrong_answer_gets_the_hint_that_fits(self, hint):
        key, answer, words = hint
        said = self.message(key, answer)
        assert said.startswith(f'"{key}" is not right yet. ')
        assert words in said

    def test_answer_of_another_kind_is_told_so(self, kind):
        key, answer, words = kind
        assert words in self.message(key, answer)

    @pytest.mark.parametrize("open_answer", [..., None])
    def test_open_answer_is_told_so(self, open_answer):
        key = list(self.right)[-1]
        assert self.message(key, open_answer) == f'"{key}" is not answered yet.'

    def test_missing_key_costs_its_question_only(self):
        key, *others = self.right
        report = self.graded({one: self.right[one] for one in others})
        assert report.score == pytest.approx(1 - 1 / len(self.right))
        assert report.first_failure is not None
        assert report.first_failure.message == f'The key "{key}" is missing from `{self.quiz.name}`.'

    def test_keys_beyond_those_asked_for_do_no_harm(self):
        assert self.graded({**self.right, "note": "I used a calculator", 3: None}).passed

    @pytest.mark.parametrize("other", [None, [], ["b"], "b", 3, torch.zeros(2), {}, {"a": 1}], ids=repr)
    def test_what_is_no_dict_of_answers_earns_nothing(self, other):
        assert self.graded(other).score == 0

    def test_untouched_quiz_earns_nothing(self):
        report = self.graded(dict.fromkeys(self.right, ...))
        assert report.score == 0
        assert report.diagnosis is None

    def test_partly_right_answers_earn_their_share(self):
        first, second, *_ = self.right
        report = self.graded({**self.right, first: ..., second: ...})
        assert report.score == pytest.approx(1 - 2 / len(self.right))

    def test_every_hint_is_for_a_wrong_answer_and_gives_no_right_one_away(self):
        assert len(self.questions) == len(self.right)
        for question in self.questions:
            answer = self.right[question.key]
            letter = isinstance(answer, str)
            assert question.right(answer) is True
            assert answers.normal(answer) not in question.wrong
            for text, hint in question.wrong.items():
                assert question.right(text if letter else ast.literal_eval(text)) is False, (question.key, text)
                assert letter or not _holds(hint, answer), (question.key, hint)
            assert letter or not _holds(question.hint, answer), question.key

    def test_right_letters_stand_only_as_digests(self):
        source = inspect.getsource(self.module)
        for question in self.questions:
            answer = self.right[question.key]
            if isinstance(answer, str):
                assert answers.answer_digest(question.key, answer) in source
                assert sorted([*question.wrong, answer]) == ["a", "b", "c", "d"]

    def test_checking_draws_no_random_numbers(self):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        self.graded(self.right)
        assert torch.equal(torch.get_rng_state(), before)


def _questions(module: Any) -> list[answers.Question]:
    """Every question of a specification, whichever tuples of the module hold them."""
    found = [one for value in vars(module).values() for one in (value if isinstance(value, tuple) else [value])]
    return list({one.key: one for one in found if isinstance(one, answers.Question)}.values())


def _holds(text: str, answer: object) -> bool:
    """Whether a right number or shape stands in a text, and not as a part of a longer number."""
    return bool(re.search(rf"(?<![\d.]){re.escape(str(answer))}(?![\d]|\.\d)", text))
