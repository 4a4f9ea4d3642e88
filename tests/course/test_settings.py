"""A setting of a course that is wrong is refused before anything else happens, with file, key, got and expected."""

from __future__ import annotations

import math
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traitlets.config import Config
from traitlets.config.loader import KVArgParseConfigLoader

from grader.authoring.readme import made_pages
from grader.course.settings import COUNTS, KEYS, OURS, SECTIONS, CourseSettings, limits_of, settings_of
from grader.errors import CourseError
from grader.judge.limits import Limits

NUMBER, WHOLE = "a number above 0", "a whole number above 0"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"check_seconds": "20"}, f"check_seconds: got '20', expected {NUMBER}"),
        ({"patience": None}, f"patience: got None, expected {NUMBER}"),
        ({"cell_seconds": [3]}, f"cell_seconds: got [3], expected {NUMBER}"),
        ({"cell_seconds": True}, f"cell_seconds: got True, expected {NUMBER}"),
        ({"submission_seconds": float("nan")}, f"submission_seconds: got nan, expected {NUMBER}"),
        ({"submission_seconds": float("inf")}, f"submission_seconds: got inf, expected {NUMBER}"),
        ({"check_seconds": 0}, f"check_seconds: got 0, expected {NUMBER}"),
        ({"memory": 1.5e9}, f"memory: got 1500000000.0, expected {WHOLE}"),
        ({"threads": -1}, f"threads: got -1, expected {WHOLE}"),
        ({"seconds": 3}, "got 'seconds', expected one of check_seconds, cell_seconds,"),
        ({3: 3}, "got 3, expected one of check_seconds, cell_seconds,"),
        ("check_seconds=20", "got 'check_seconds=20', expected a dict of limits"),
        ([("check_seconds", 20)], "got [('check_seconds', 20)], expected a dict of limits"),
    ],
)
def test_a_limit_that_is_none_is_told_with_its_file_and_key(limits, said):
    with pytest.raises(CourseError, match=re.escape(f"nbgrader_config.py: c.JudgingExporter.limits: {said}")):
        limits_of(Config({"JudgingExporter": {"limits": limits}}))


def test_limits_that_are_limits_are_taken():
    config = Config({"JudgingExporter": {"limits": {"check_seconds": 20, "memory": 2**30}}})
    assert limits_of(config) == Limits(check_seconds=20, memory=2**30)
    assert limits_of(Config()) == Limits()


# --- every key --------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=5))
VALUES = st.one_of(
    NUMBERS,
    st.lists(NUMBERS, max_size=2),
    st.dictionaries(st.text(max_size=3), NUMBERS | st.lists(st.text(max_size=2))),
)
# What is right for a key, said once more in other words.
RIGHT = {
    "free_days": lambda value: type(value) is int and value >= 0,
    "grace_minutes": lambda value: type(value) in (int, float) and 0 <= value < math.inf,
    "percent_a_day": lambda value: type(value) in (int, float) and 0 <= value < math.inf,
    "counts": lambda value: type(value) is str and value in COUNTS,
    "attempts": lambda value: type(value) is int and value >= 0,
    "weights": lambda value: isinstance(value, dict) and all(map(RIGHT["grace_minutes"], value.values())),
    "best_of": lambda value: type(value) is int and value >= 0,
    "excused": lambda value: isinstance(value, dict) and all(isinstance(names, list) for names in value.values()),
    "languages": lambda value: isinstance(value, list) and value == ["en"],
    "limits": lambda value: value == {},  # the others are above
    "carry_forward": lambda value: value in ("none", "half", "full"),
    "add_students": lambda value: type(value) is bool,
    "unsafe_no_sandbox": lambda value: type(value) is bool,
    "secret_file": lambda value: type(value) is str and value != "",
}


def set_to(key, value):
    return Config({key.metadata["section"]: {key.name: value}})


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
@settings(deadline=None)  # a busy machine is no fault
@given(value=VALUES)
def test_a_key_takes_what_is_right_and_refuses_all_else_by_its_name(key, value):
    if RIGHT[key.name](value):
        taken = getattr(settings_of(set_to(key, value)), key.name)
        same = {lesson: float(weight) for lesson, weight in value.items()} if key.name == "weights" else value
        assert taken == same or key.name == "limits"
        return
    with pytest.raises(CourseError) as refused:
        settings_of(set_to(key, value))
    said = str(refused.value)
    assert said.startswith(f"nbgrader_config.py: c.{key.metadata['section']}.{key.name}: "), said
    assert "got " in said, said
    assert ", expected " in said, said


def test_nothing_set_is_the_default_of_every_key():
    assert settings_of(Config()) == CourseSettings()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
@settings(deadline=None)  # a busy machine is no fault
@given(data=st.data())
def test_a_name_with_a_slip_is_told_with_the_one_that_was_meant(key, data):
    place = data.draw(st.integers(1, len(key.name) - 1))
    slip = key.name[:place] + data.draw(st.sampled_from(["", *string.ascii_lowercase])) + key.name[place + 1 :]
    section = key.metadata["section"]
    if slip == key.name:
        return
    with pytest.raises(CourseError, match=rf"nbgrader_config\.py: there is no c\.{section}\.{slip}; .*{key.name}"):
        settings_of(Config({section: {slip: 1}}))


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_with_a_slip_is_told_and_another_programs_isnt(section):
    with pytest.raises(CourseError, match=f"there is no c.{section}s. Did you mean c.{section}"):
        settings_of(Config({f"{section}s": {"any": 1}}))
    settings_of(Config({"CourseDirectory": {"root": "/somewhere"}, "NotebookExporter": {"any": 1}}))
    if section in OURS:
        with pytest.raises(CourseError, match=f"there is no c.{section}.any; its settings are"):
            settings_of(Config({section: {"any": 1}}))
    else:
        settings_of(Config({section: {"exclude_input": True}}))


def test_two_rules_for_lateness_are_refused():
    with pytest.raises(CourseError, match="two rules for what lateness costs"):
        settings_of(
            Config({"CourseLateness": {"percent_a_day": 10}, "LateSubmissionPlugin": {"penalty_method": "zero"}})
        )


def test_a_dict_that_is_updated_is_read():
    config = Config()
    config.CourseMarks.weights.update({"02": 3})
    assert settings_of(config).weights == {"02": 3.0}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("free_days", "2", 2),
        ("grace_minutes", "2.5", 2.5),
        ("percent_a_day", "10", 10.0),
        ("counts", "first", "first"),
        ("attempts", "3", 3),
        ("weights", "{'02': 3}", {"02": 3.0}),
        ("best_of", "8", 8),
        ("excused", "{'ann': ['03']}", {"ann": ["03"]}),
        ("limits", "{'check_seconds': 20}", Limits(check_seconds=20)),
        ("carry_forward", "half", "half"),
        ("add_students", "True", True),
        ("add_students", "False", False),
        ("unsafe_no_sandbox", "1", True),
        ("secret_file", "my secret", "my secret"),
    ],
)
def test_a_value_of_nbgraders_command_line_is_read(name, text, value):
    [section] = [key.metadata["section"] for key in KEYS if key.name == name]
    config = KVArgParseConfigLoader().load_config([f"--{section}.{name}={text}"])
    assert getattr(settings_of(config), name) == value


def test_the_table_in_the_docs_is_made_of_the_class():
    before, after = made_pages(Path(__file__).parents[2])["docs/course.md"]
    assert before == after, "grader build --keep-outputs makes it"
    assert all(f"`c.{key.metadata['section']}.{key.name}`" in after for key in KEYS)
