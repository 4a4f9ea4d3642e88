"""What a specification is written with: `Spec`, which knows the exercise's name, lesson and words from its file, and
the dictionary of its mistakes.

    spec = Spec(__name__)

    EXERCISE = spec.exercise(
        doubled,
        points=1,
        outputs={"result": "... T E"},
        cases=lambda draw: standard(draw, INPUTS),
        parts=parts.usual("doubles", 3),
        mistakes={
            "squared": lambda x: x * x,
            "never-returns": When(_prints_only),
            **by_id(TWO_AXES_ONLY, BATCH_ONLY),
        },
    )
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from grader.errors import CourseError
from grader.spec.answers import Question, quiz
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exclusion, Exercise, Mistake, Output, Part
from grader.spec.session import Session
from grader.spec.words import Words, caller

OWN = "own_exercise_"  # how the module of a teacher's own file is called, before the exercise's name
Variants = Callable[..., Any] | tuple[Callable[..., Any], ...]  # wrong on purpose: one of them, or several


@dataclass(frozen=True)
class When:
    """A mistake that outputs alone don't show."""

    recognise: Callable[[Session], bool]  # whether this check met it
    variants: Variants = ()  # whose outputs show it too


# A mistake's id, and what it is recognised by. Those listed first take precedence.
Mistakes = Mapping[str, Variants | When | Mistake]


def by_id(*mistakes: Mistake) -> dict[str, Mistake]:
    """Mistakes that have their words already, such as a lesson's shared ones, for the dictionary of mistakes."""
    return {mistake.id: mistake for mistake in mistakes}


class Spec:
    """The specification in one file: name and lesson of its exercise, and the words of its mistakes."""

    def __init__(self, module: str, *shared: Words) -> None:
        """`module` is the `__name__` of a module of a lesson, or of a teacher's own file. Words that aren't beside it
        are looked for in `shared`. `CourseError` where the words aren't as they should be."""
        lesson, _, name = module.rpartition(".")
        self.name = name.removeprefix(OWN)
        self.lesson: str = sys.modules[lesson].LESSON if lesson else "own"
        beside = (Words(str(sys.modules[module].__file__)),) if lesson else ()  # an own file has no Markdown beside it
        self.words = (*beside, *shared)

    def mistake(
        self,
        id: str,
        variants: tuple[Callable[..., Any], ...] = (),
        recognise: Callable[[Session], bool] | None = None,
        **values: object,
    ) -> Mistake:
        """The mistake `id` with its words, as `Words` makes it, for one that isn't only in the dictionary."""
        if not self.words:
            raise CourseError(f"{caller()} write the words of the mistake {id} here: Mistake(ID, SYMPTOM, HINTS, ...)")
        words = next((words for words in self.words if id in words), self.words[0])
        return words(id, variants, recognise, **values)

    def exercise(
        self,
        reference: Callable[..., Any] | None = None,
        *,
        points: float,
        parts: tuple[Part, ...],
        signature: tuple[str, ...] | None = None,
        outputs: Mapping[str, str] | None = None,
        cases: Callable[[Draw], Iterable[Case]] = lambda _draw: (),
        mistakes: Mistakes | tuple[Mistake, ...] = (),
        excluded: tuple[Exclusion, ...] = (),
        builds_on: tuple[str, ...] = (),
        seconds: float | None = None,
        memory: int | None = None,
    ) -> Exercise:
        """The exercise; `Exercise` says what each argument is.

        `signature`: None for the reference's parameters. `outputs`: axes by name. `mistakes`: what recognises a
        mistake, by its id. A name in CamelCase is a module's. `CourseError` for an id without words, and for a module
        without a signature, since its reference takes a `Setup`.
        """
        is_module = self.name[0].isupper()
        if is_module and signature is None:
            raise CourseError(f"{caller()} a module has no signature, expected that of its constructor: signature=(…)")
        listed = mistakes if isinstance(mistakes, tuple) else tuple(self._listed(*item) for item in mistakes.items())
        return Exercise(
            name=self.name,
            lesson=self.lesson,
            points=points,
            parts=parts,
            kind="module" if is_module else "function",
            signature=parameters_of(reference) if signature is None else signature,
            outputs=tuple(Output(name, axes) for name, axes in (outputs or {}).items()),
            cases=cases,
            reference=reference,
            mistakes=listed,
            excluded=excluded,
            builds_on=builds_on,
            seconds=seconds,
            memory=memory,
        )

    def quiz(self, points: float, questions: tuple[Question, ...]) -> Exercise:
        """The exercise of a quiz: a part of equal weight for each question."""
        return quiz(self.name, self.lesson, points, questions)

    def _listed(self, id: str, known_by: Variants | When | Mistake) -> Mistake:
        """An entry of the dictionary of mistakes as a `Mistake`."""
        if isinstance(known_by, Mistake):
            return known_by
        if isinstance(known_by, When):
            return self.mistake(id, _several(known_by.variants), known_by.recognise)
        return self.mistake(id, _several(known_by))


def _several(variants: Variants) -> tuple[Callable[..., Any], ...]:
    return variants if isinstance(variants, tuple) else (variants,)


def parameters_of(reference: Callable[..., Any] | None) -> tuple[str, ...]:
    """The parameters of a function as a signature writes them, with their defaults; none for no function.

    >>> parameters_of(lambda x, eps=0.5: x)
    ('x', 'eps=0.5')
    """
    known = signature(reference).parameters.values() if reference is not None else ()
    return tuple(str(parameter.replace(annotation=Parameter.empty)) for parameter in known)
