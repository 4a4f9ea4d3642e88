"""What a teacher sets of ours in a course's `nbgrader_config.py`: every key, read and validated in this one place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from datetime import timedelta
from typing import Any

from traitlets import Bool, Dict, Float, Int, List, TraitType, Unicode
from traitlets.config import Config, LazyConfigValue
from traitlets.config.loader import DeferredConfig

from grader.course.folder import SECRET
from grader.errors import CourseError
from grader.judge.limits import Limits, limits_from
from grader.judge.result import CARRY_FORWARD
from grader.languages import ENGLISH, known, languages
from grader.nbgrader_settings import CONFIG

BEST = "best"
COUNTS = ("last", "last-in-time", "first", BEST)
# From here on a name counts as a slip of another one.
ALIKE = 0.8

Kind = Callable[[object], Any]
# How a text of a command line becomes what a key is set to, by the type of its default.
_TRAITS: dict[type, type[TraitType[Any, Any]]] = {
    bool: Bool,
    int: Int,
    float: Float,
    str: Unicode,
    dict: Dict,
    list: List,
    Limits: Dict,
    type(None): Float,
}


# --- what a key may be set to: each gives the value, or a ValueError that says what was got and what was expected -----


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _not(value, "a whole number, 0 or more")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise _not(value, "a number, 0 or more")
    return value


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise _not(value, "True or False")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _not(value, "a text that isn't empty")
    return value


def _one_of(*choices: str) -> Kind:
    def chosen(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise _not(value, f"one of {', '.join(map(repr, choices))}")
        return value

    return chosen


def _languages(value: object) -> list[str]:
    codes = [known(code) for code in value] if isinstance(value, list | tuple) else []
    if not codes or not all(codes) or len(set(codes)) < len(codes):
        raise _not(value, f"a list of one or more of {', '.join(map(repr, languages()))}")
    return codes


def _weights(value: object) -> dict[str, float]:
    expected = "a dict of lessons and numbers, 0 or more"
    if not isinstance(value, Mapping):
        raise _not(value, expected)
    try:
        return {str(lesson): float(_number(weight)) for lesson, weight in value.items()}
    except ValueError:
        raise _not(dict(value), expected) from None


def _lessons_of_students(value: object) -> dict[str, list[str]]:
    lists = list | tuple | set | frozenset
    if not isinstance(value, Mapping) or not all(isinstance(lessons, lists) for lessons in value.values()):
        raise _not(value, "a dict of students and lists of lessons")
    return {str(who): [str(lesson) for lesson in lessons] for who, lessons in value.items()}


def _not(value: object, expected: str) -> ValueError:
    return ValueError(f"got {value!r:.80}, expected {expected}")


# --- the keys ---------------------------------------------------------------------------------------------------------


def _key(section: str, kind: Kind, default: Any, says: str) -> Any:
    """A field that is set as `c.SECTION.NAME`; `says` is what the table in docs/course.md says of it, in Markdown."""
    metadata = {"section": section, "kind": kind, "says": says}
    return field(default_factory=lambda: kind(default) if default is not None else None, metadata=metadata)


@dataclass(frozen=True)
class CourseSettings:
    """A course's settings, each as it is set or else its default. What each means stands at its field."""

    free_days: int = _key(
        "CourseLateness", _whole, 0, "Days late that cost a student nothing, in all lessons of the course together."
    )
    grace_minutes: float = _key(
        "CourseLateness", _number, 0.0, "Minutes after the due date that still count as in time."
    )
    percent_a_day: float | None = _key(
        "CourseLateness",
        _number,
        None,
        "Per cent of what a hand-in earns that each other day begun takes off. If it isn't set, nbgrader's plug-in for "
        "late submissions decides.",
    )
    counts: str = _key(
        "CourseCollect",
        _one_of(*COUNTS),
        COUNTS[0],
        "Which of a student's hand-ins of a lesson counts: `last`, `last-in-time`, `first` or `best`.",
    )
    attempts: int = _key(
        "CourseWatch", _whole, 0, "How many hand-ins of a lesson `grader watch` grades for a student; 0 for all."
    )
    weights: Mapping[str, float] = _key(
        "CourseMarks", _weights, {}, "What a lesson counts in the total, by lesson: 1 if it isn't listed, 0: nothing."
    )
    best_of: int = _key(
        "CourseMarks", _whole, 0, "How many lessons count, those with the largest share of their points; 0 for all."
    )
    excused: Mapping[str, Sequence[str]] = _key(
        "CourseMarks", _lessons_of_students, {}, "By student the lessons that don't count for them."
    )
    languages: Sequence[str] = _key(
        "CourseRelease",
        _languages,
        [ENGLISH],
        "The languages in which students get the lessons' text. The notebook itself is in the first; for each other "
        "one there is another in a folder of its code, such as `ko/`. Whichever they hand in is graded alike.",
    )
    limits: Limits = _key(  # noqa: RUF009 (a field like the others)
        "JudgingExporter",
        limits_from,
        {},
        "What a submission may use, by the names in [grading](grading.md), for example `check_seconds`.",
    )
    carry_forward: str = _key(
        "JudgingExporter",
        _one_of(*CARRY_FORWARD),
        "none",
        "How much is given of the points that an exercise would earn if the earlier exercise it calls were right: "
        "`none`, `half` or `full`.",
    )
    add_students: bool = _key(
        "JudgingExporter", _yes_or_no, False, "Whether work of students who aren't on the roster is graded."
    )
    unsafe_no_sandbox: bool = _key(
        "JudgingExporter", _yes_or_no, False, "Whether to grade where there is no sandbox. Only for people you trust."
    )
    secret_file: str = _key(
        "JudgingExporter", _text, SECRET, "The file of the course's secret, relative to the course's folder."
    )

    @property
    def grace(self) -> timedelta:
        """The time after the due date in which work is still in time."""
        return timedelta(minutes=self.grace_minutes)


KEYS: tuple[Field[Any], ...] = fields(CourseSettings)
SECTIONS = tuple(dict.fromkeys(key.metadata["section"] for key in KEYS))
# A section in which all keys are ours; nbconvert has others in its exporters.
OURS = tuple(section for section in SECTIONS if section.startswith("Course"))


def settings_of(config: Config) -> CourseSettings:
    """The course's settings in nbgrader's `config`. `CourseError` with the file, the key, what was got and what was
    expected, for one that is wrong and for a name that there isn't."""
    if wrong := next(_misspelt(config), ""):
        raise CourseError(f"{CONFIG}.py: {wrong}")
    found = CourseSettings(**{key.name: _value(config, key) for key in KEYS if _is_set(config, key)})
    plugin = config.AssignLatePenalties.get("plugin_class") or (
        config.LateSubmissionPlugin.get("penalty_method", "none") != "none"
    )
    if found.percent_a_day is not None and plugin:
        raise CourseError(
            f"{CONFIG}.py has two rules for what lateness costs, c.CourseLateness.percent_a_day and nbgrader's plug-in "
            "(c.LateSubmissionPlugin or c.AssignLatePenalties). Remove one of them."
        )
    return found


def limits_of(config: Config) -> Limits:
    """The limits on what a submission of the course may use; `CourseError` as in `settings_of`."""
    return settings_of(config).limits


def _is_set(config: Config, key: Field[Any]) -> bool:
    return key.name in config.get(key.metadata["section"], {})


def _value(config: Config, key: Field[Any]) -> Any:
    """What a key is set to, once it has been looked at."""
    section, kind = key.metadata["section"], key.metadata["kind"]
    value = config[section][key.name]
    if isinstance(value, LazyConfigValue):  # of `c.CourseMarks.weights.update(...)`
        value = value.get_value({})
    if isinstance(value, DeferredConfig):  # of nbgrader's command line, which has texts
        value = value.get_value(_TRAITS[type(key.default_factory())]())  # type: ignore[operator]
    try:
        return kind(value)
    except ValueError as error:
        raise CourseError(f"{CONFIG}.py: c.{section}.{key.name}: {error}.") from None


def _misspelt(config: Config) -> Iterator[str]:
    """What is said of each name that is a slip of one of ours."""
    for section, keys in config.items():
        if section not in SECTIONS:
            if meant := difflib.get_close_matches(section, SECTIONS, 1, ALIKE):
                yield f"there is no c.{section}. Did you mean c.{meant[0]}?"
            continue
        names = [key.name for key in KEYS if key.metadata["section"] == section]
        for name in (name for name in keys if name not in names):  # to look for a slip takes a while
            meant = difflib.get_close_matches(name, names, 1, ALIKE)
            if section in OURS or meant:
                did = f" Did you mean {meant[0]}?" if meant else ""
                yield f"there is no c.{section}.{name}; its settings are {', '.join(names)}.{did}"


def table() -> str:
    """The settings as a table in Markdown, for docs/course.md."""
    rows = [f"| `c.{key.metadata['section']}.{key.name}` | `{_shown(key)}` | {key.metadata['says']} |" for key in KEYS]
    return "\n".join(["| setting | default | what it sets |", "| --- | --- | --- |", *rows, ""])


def _shown(key: Field[Any]) -> str:
    """The default of a key, as one would write it."""
    default = getattr(CourseSettings(), key.name)
    return "{}" if isinstance(default, Limits) else repr(default)
