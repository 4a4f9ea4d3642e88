"""Dataclasses made of plain data, as JSON has it: what is missing or of another type is told by its place."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from grader.sentences import restored, stored


def made(kind: Any, data: object, place: str) -> Any:
    """`data` as `kind`: a dataclass, a tuple or a dict by text of one kind, `str`, `bool`, `int`, a finite `float`, or
    one of these or None; `Any` is taken as it is. Text may be a sentence, as `grader.sentences.stored` has it. Fields
    that a dataclass doesn't have are passed over. `ValueError` if anything is missing or of another type.

    >>> made(tuple[float, ...], [1, "two"], "weights")
    Traceback (most recent call last):
    ...
    ValueError: weights[1]: got 'two', expected float
    """
    if kind is Any:
        return data
    if is_dataclass(kind) and isinstance(data, Mapping):
        return _made_of_fields(kind, data, place)
    if get_origin(kind) is tuple and isinstance(data, list | tuple):
        return tuple(made(get_args(kind)[0], item, f"{place}[{i}]") for i, item in enumerate(data))
    if get_origin(kind) is dict and isinstance(data, dict):
        return {key: made(get_args(kind)[1], item, f"{place}.{key}") for key, item in data.items()}
    if isinstance(kind, UnionType):
        return None if data is None else made(get_args(kind)[0], data, place)
    if isinstance(kind, type) and _fits(kind, data):
        return data
    if kind is str and isinstance(data, dict):
        try:
            return restored(data)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    raise ValueError(f"{place}: got {data!r:.60}, expected {getattr(kind, '__name__', kind)}")


def as_plain(value: object) -> Any:
    """The inverse of `made`: dataclasses as dicts, sentences as JSON, all else as it is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: as_plain(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(as_plain, value))
    return stored(value) if isinstance(value, str) else value


def dict_in(value: object) -> dict[str, Any]:
    """A value of JSON that nobody vouches for, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_in(value: object) -> list[Any]:
    """A value of JSON that nobody vouches for, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def _made_of_fields(kind: Any, data: Mapping[str, object], place: str) -> Any:
    missing = [field.name for field in fields(kind) if field.default is MISSING and field.name not in data]
    if missing:
        raise ValueError(f"{place}: {missing[0]} is missing")
    hints = _hints(kind)
    return kind(**{name: made(hints[name], data[name], f"{place}.{name}") for name in hints if name in data})


def _fits(kind: type, data: object) -> bool:
    if kind is float:
        return isinstance(data, int | float) and not isinstance(data, bool) and abs(data) <= sys.float_info.max
    return type(data) is kind


_hints = cache(get_type_hints)
