"""A `Spec` knows name, lesson and words from its file, and makes mistakes of a dictionary in its order."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from grader.errors import CourseError
from grader.spec.exercise import Mistake, Output
from grader.spec.spec import Spec, When, by_id
from grader.spec.words import Words

WORDS = "## {}\n\nso.\n\n1. A.\n2. B.\n"
SHARED = Mistake("shared", "so.", ("A.", "B."))


@pytest.fixture
def spec_of(tmp_path, monkeypatch):
    """Makes the `Spec` of a module of lesson 42 that has the words of these mistakes; others are in `shared`."""

    def make(name, *ids, shared=()):
        lesson = ModuleType("lesson_42")
        lesson.LESSON = "42_everything"
        module = ModuleType(f"lesson_42.{name}")
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, "lesson_42", lesson)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        (tmp_path / f"{name}.md").write_text("\n".join(WORDS.format(id) for id in ids))
        (tmp_path / "shared.md").write_text("\n".join(WORDS.format(id) for id in shared))
        return Spec(module.__name__, *([Words(str(tmp_path / "shared.py"))] if shared else []))

    return make


def first(x, eps=0.5):
    return x


def second(x):
    return x


def recognise(session):
    return True


def test_name_lesson_kind_and_signature_come_from_the_file_and_the_reference(spec_of):
    function = spec_of("doubled").exercise(first, points=2, parts=(), outputs={"out": "... T", "more": "T"})
    assert (function.name, function.lesson, function.kind) == ("doubled", "42_everything", "function")
    assert function.signature == ("x", "eps=0.5")
    assert function.outputs == (Output("out", "... T"), Output("more", "T"))
    module = spec_of("Doubler").exercise(first, points=2, parts=(), signature=("d_model",))
    assert (module.name, module.kind, module.signature) == ("Doubler", "module", ("d_model",))
    with pytest.raises(CourseError, match=r"test_spec\.py:\d+ test_spec: a module has no signature, expected that of"):
        spec_of("Doubler").exercise(first, points=2, parts=())
    quiz = spec_of("quiz_42").quiz(2, ())
    assert (quiz.name, quiz.lesson, quiz.kind) == ("quiz_42", "42_everything", "answers")


def test_mistakes_keep_the_order_of_the_dictionary(spec_of):
    spec = spec_of("doubled", "one", "several", "seen", "both")
    listed = {
        "several": (first, second),
        **by_id(SHARED),
        "one": first,
        "both": When(recognise, second),
        "seen": When(recognise),
    }
    mistakes = spec.exercise(points=1, parts=(), mistakes=listed).mistakes
    assert [(one.id, one.variants, one.recognise) for one in mistakes] == [
        ("several", (first, second), None),
        ("shared", (), None),
        ("one", (first,), None),
        ("both", (second,), recognise),
        ("seen", (), recognise),
    ]
    assert spec.exercise(points=1, parts=(), mistakes=(SHARED,)).mistakes == (SHARED,)


def test_words_that_are_not_beside_the_file_are_taken_from_the_shared_ones(spec_of):
    spec = spec_of("doubled", "own", shared=("own", "theirs"))
    spec.exercise(points=1, parts=(), mistakes={"own": first, "theirs": second})
    beside, shared = spec.words
    assert beside.unused() == []
    [left] = shared.unused()
    assert left.endswith("shared.md:1 shared: no specification has the mistake own")


def test_a_mistake_without_words_is_an_error_with_the_line_of_the_specification(spec_of):
    told = r"test_spec\.py:\d+ test_spec: the mistake lost has no words\. Write them under `## lost` in doubled\.md"
    with pytest.raises(CourseError, match=told):
        spec_of("doubled", "own", shared=("theirs",)).exercise(points=1, parts=(), mistakes={"lost": first})


def test_a_teachers_own_file_has_its_words_in_it():
    spec = Spec("own_exercise_centred")
    exercise = spec.exercise(first, points=1, parts=(), mistakes=(SHARED,))
    assert (exercise.name, exercise.lesson, exercise.mistakes) == ("centred", "own", (SHARED,))
    with pytest.raises(CourseError, match=r"test_spec\.py:\d+ test_spec: write the words of the mistake lost here: Mi"):
        spec.exercise(points=1, parts=(), mistakes={"lost": first})
