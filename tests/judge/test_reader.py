"""Large notebooks: honest ones are graded, and none takes memory without bound."""

from __future__ import annotations

import json
import random
import re
import tracemalloc

import pytest

from grader.errors import Unreadable
from grader.judge import reader
from grader.judge.limits import MIB, Limits
from grader.judge.reader import language_in, read, small_form
from grader.judge.result import CONFINED
from tests.judge.conftest import cells
from tests.judge.test_fuzz import mutated
from tools import notebooks as nb

LIMIT = Limits().notebook_bytes
SIZE = 6 * MIB
PICTURE = {
    "output_type": "display_data",
    "metadata": {},
    "data": {"image/png": "A" * 100_000, "text/plain": ["Figure"]},
}
PRINTED = {
    "output_type": "stream",
    "name": "stdout",
    "text": ['epoch 1: "loss" 0.123 {[\\\n', "진행 ▇▇▇ 🙂\n"] * 50_000,
}
CURVE = {"output_type": "display_data", "metadata": {}, "data": {"plotly": {"data": [{"x": [[0.5, 1]] * 100_000}]}}}


def with_outputs(made):
    """As a student's notebook is after hours of work."""
    for cell in made:
        cell["outputs"] = [PICTURE, PRINTED, CURVE]
        cell["metadata"]["widgets"] = {"state": [{"a": {"b": [1, [2]]}}] * 100}
    made.insert(
        0, {"cell_type": "markdown", "metadata": {}, "source": "# Mine", "attachments": {"a.png": PICTURE["data"]}}
    )
    return made


def format_3(made):
    """As notebooks were before 2015."""
    old = [{**cell, "input": cell.pop("source").splitlines(keepends=True)} for cell in made]
    return {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": old[:2]}, {"metadata": {}, "cells": old[2:]}]}


LARGE = {
    "as Jupyter saves it": lambda: json.dumps(
        {"cells": with_outputs(cells()), "nbformat": 4}, indent=1, ensure_ascii=False
    ),
    "in ASCII, without spaces": lambda: nb.dump(with_outputs(cells())).decode(),
    "with a byte order mark": lambda: "\ufeff" + nb.dump(with_outputs(cells())).decode(),
    "metadata first": lambda: json.dumps({"nbformat": 4, "metadata": PRINTED, "cells": cells(), "more": PICTURE}),
    "format 3": lambda: json.dumps({**format_3(cells()), "extra": PRINTED}),
}


@pytest.mark.parametrize("sandbox", [CONFINED], indirect=True)  # it takes long, and happens before any code runs
@pytest.mark.parametrize("form", LARGE)
def test_large_notebook_is_graded_like_a_small_one(judge, form):
    data = LARGE[form]().encode()
    assert len(data) > reader.SMALL
    result = judge(data)
    assert result.mark == 6, result
    assert judge(small_form(data, LIMIT, 2000)).exercises == result.exercises
    assert len(small_form(data, LIMIT, 2000)) < 5000


def test_notebook_of_a_hundred_megabytes_is_read(judge):
    made = cells()
    made[0]["outputs"] = [PICTURE] * ((100 * MIB - 20_000) // len(json.dumps(PICTURE)))
    data = nb.dump(made)
    assert 99 * MIB < len(data) <= LIMIT
    assert judge(data, limits=Limits()).mark == 6


def test_larger_one_is_refused_with_its_size_and_what_to_do():
    with pytest.raises(
        Unreadable, match=r"has 157286400 bytes; .* \(150 MB and 100 MB\)\. Clear its outputs \(in Jupyter"
    ):
        read(b" " * (150 * MIB), LIMIT, 2000)


ONE_CELL = b'{"cells": [{"cell_type": "code", "metadata": {}, "outputs": OUTPUTS, "source": "x = 1"}]}'
HUGE = {
    "a string": b'"' + b"x" * SIZE + b'"',
    "a string of escapes": b'"' + rb"\n" * (SIZE // 2) + b'"',
    "strings": b"[" + b'"ab",' * (SIZE // 5) + b"1]",
    "numbers": b"[" + b"1.5," * (SIZE // 4) + b"1]",
    "empty lists": b"[" + b"[]," * (SIZE // 3) + b"1]",
    "objects": b"[" + b'{"a":1},' * (SIZE // 8) + b"1]",
    "objects in objects": b"[" + b'{"a":{}},' * (SIZE // 9) + b"1]",
    "members": b"{" + b'"a":1,' * (SIZE // 6) + b'"b":1}',
    "depth": b"[" * (SIZE // 2) + b"]" * (SIZE // 2),
}
PLACES = {
    "outputs": ONE_CELL,
    "source": b'{"cells": [{"cell_type": "code", "source": OUTPUTS}]}',
    "marks": b'{"cells": [{"cell_type": "code", "source": "x", "metadata": {"nbgrader": OUTPUTS}}]}',
    "metadata": b'{"metadata": OUTPUTS, "cells": []}',
    "cells": b'{"cells": [OUTPUTS]}',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", HUGE)
def test_memory_is_bounded_whatever_the_file_holds(what, place, monkeypatch):
    """By the number of values, at some hundred bytes each, and by copies of the file."""
    monkeypatch.setattr(reader, "MAX_VALUES", 100_000)
    data = PLACES[place].replace(b"OUTPUTS", HUGE[what])
    tracemalloc.start()
    try:
        assert len(read(data, LIMIT, 2000)) <= 1
    except Unreadable as error:
        assert "too many values" in str(error) or "n't valid JSON" in str(error)  # noqa: PT017
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 4 * SIZE + 100_000 * 200, f"{peak / MIB:.0f} MB"


def seen(data: bytes) -> object:
    try:
        return read(data, 10**6, 1000)
    except Unreadable as error:
        return str(error)


def test_small_form_is_read_as_the_notebook_itself():
    for seed in range(2000):
        data = json.dumps(mutated(json.loads(nb.dump(cells())), random.Random(seed))).encode()
        if isinstance(expected := seen(data), tuple):
            small = small_form(data, 10**6, 1000)
            assert read(small, 10**6, 1000) == expected
            assert language_in(small, 10**6, 1000) == language_in(data, 10**6, 1000)


def test_too_much_text_in_cells_is_refused():
    made = [nb.code("x" * 900_000)] * 30
    with pytest.raises(Unreadable, match="more than 20000000 characters"):
        read(nb.dump(made), LIMIT, 2000)


WHOLE = json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "source": "x = 1"}]}, indent=1)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE.replace("\n", "\n<<<<<<< HEAD\n", 1).encode(), "Git has left the marks of a merge conflict"),
        ((WHOLE + "\r\n>>>>>>> main").encode(), "Git has left the marks of a merge conflict"),
        (WHOLE.encode("utf-16"), "was saved as UTF-16 text"),
        (WHOLE.encode("latin-1") + b"\xe4", "isn't UTF-8 text"),
        (WHOLE[:-20].encode(), "was it cut off?"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_cause(data, said):
    with pytest.raises(Unreadable, match=re.escape(said)):
        read(data, LIMIT, 1000)
