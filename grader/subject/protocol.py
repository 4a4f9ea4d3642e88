"""Requests to a student's code, and their outcomes. Both are plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol

from torch import Tensor

from grader.subject.values import MAX_ITEMS, Callback, Opaque

Op = Literal["run", "names", "call", "build", "load", "state", "mode", "get", "describe"]
Status = Literal["ok", "raised", "time-limit", "waited", "missing", "misbuilt", "too-large", "died", "not-run"]
OUTPUT_CHARACTERS = 20_000
# The most that an outcome holds: characters of a name, names of torch functions, characters of an exception's message
# and of the line it came from, classes of an exception. Whoever makes an outcome cuts to these.
MAX_NAME, MAX_CALLS, MAX_MESSAGE, MAX_TYPES = 200, 5_000, 600, 100
MAX_COUNT = 2**62
# Those that a student's process may send; the judge alone says "died" and "not-run".
STATUSES = ("ok", "raised", "time-limit", "missing", "misbuilt", "too-large")


@dataclass(frozen=True)
class Request:
    """A request to the student's code.

    | op | meaning |
    | --- | --- |
    | run | execute `source` as a cell; with `args=("definitions",)` only its functions, classes and imports |
    | names | the names that the sources in `args` use, attributes with a dot before them, without running them |
    | call | call `target` (a student's name, or "@handle" of a built module) with `args`, by position |
    | build | make `target(*args, **keywords)`, or the `Given` in `args[0]`, and keep it under `handle` |
    | load | copy `args[0]`, tensors by name, to the parameters and buffers of "@handle"; `args[1]` where it has them |
    | state | the parameters and buffers of "@handle", what its state_dict holds, buffers that hold a graph |
    | mode | switch "@handle" to train (`args[0]` true) or eval mode and to the dtype that `args[1]` names |
    | get | the value of the name `target`, or of its attribute `args[0]`; "missing" if there is none |
    | describe | facts about `target` (what it is, its parameters, the names its code uses) |
    """

    op: Op
    target: str = ""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    handle: str = ""
    source: str = ""
    number: int = 0  # of the cell to run, as a kernel counts; 0 for a cell that is none of the notebook's
    # One per output tensor, None to leave one out: asks for gradients of arguments and parameters.
    cotangents: tuple[Tensor | None, ...] | None = None
    strided: bool = False  # hands over tensors that aren't contiguous
    form: tuple[Any, ...] = ()  # put on what a call returns, before anything looks at it (`grader.subject.forms`)
    watch: bool = False  # asks for the log of the torch functions called
    elsewhere: bool = False  # as if on a GPU (`grader.subject.elsewhere`)
    seed: int = 7_310_581
    seconds: float = 10.0  # of the processor
    patience: float = 1.0  # times as long it may take by the clock


@dataclass(frozen=True)
class Raised:
    """An exception of the student's code."""

    types: tuple[str, ...]  # its class and bases by name
    message: str
    line: str = ""  # the student's innermost
    line_number: int = 0
    function: str = ""  # that holds this line
    file: str = ""  # of that function; "" in a notebook's cell
    called: str = ""  # the outermost function of the student's
    deliberate: bool = False  # a `raise` or an `assert` of the student's raised it, not Python or torch

    @property
    def name(self) -> str:
        return self.types[0] if self.types else "Exception"


class Place(NamedTuple):
    """A line of the student's code: the function that holds it, its number and text, and its file, which is empty in a
    notebook's cell."""

    function: str
    line_number: int
    line: str
    file: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a request. Its status says more than "ok" or "raised":

    | status | meaning |
    | --- | --- |
    | waited | the clock's limit came before the processor's, which only a learner's own kernel tells apart |
    | missing | the name `value` isn't defined |
    | misbuilt | no module, or the wrong parameters (`value` says which, as `grader.sentences.from_json` reads it) |
    | too-large | what was to be sent, either way, is too large (`value` says how large, in the same form) |

    Only a watched call has `calls` and the fields after it, but for `output`.
    """

    status: Status = "ok"
    value: Any = None
    raised: Raised | None = None
    stop: Raised | None = None  # where a name is missing, the error at which a cell stopped that would have defined it
    changed: tuple[int, ...] = ()  # positions of the arguments that the call changed in place
    changed_earlier: bool = False  # it changed a tensor that an earlier call took or gave
    # By place ("0", "1", "1.0", …) of arguments and name of parameters, None where none flows. None altogether if they
    # weren't asked for, or no output has one.
    gradients: dict[str, Tensor | None] | None = None
    # What the call changed in torch itself and has been put back (`TOLD` in grader/subject/settings.py).
    settings: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()  # the torch functions seen, named as in `grader.subject.watch`
    places: tuple[Place | None, ...] = ()  # the line that first called each; None for no line of the student's
    operations: int = 0  # operators that torch ran, repetitions included
    products: int = 0  # multiplications in matrix products and elementwise
    largest: int = 0  # the most elements of a storage that torch made
    largest_shape: tuple[int, ...] = ()  # of its tensor
    output: str = ""  # what was printed

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def to_plain(message: Request | Outcome) -> dict[str, Any]:
    """A request or an outcome as a dict of plain data, ready for the wire: fields at their defaults are left out."""
    data: dict[str, Any] = {}
    defaults = _DEFAULTS[type(message)]
    for name, value in vars(message).items():
        default = defaults[name]
        # A student's value is never compared: its default is None.
        if value is default or (type(value) is type(default) and type(value) in _SIMPLE and value == default):
            continue
        data[name] = value
    if "places" in data:
        data["places"] = tuple(None if place is None else tuple(place) for place in data["places"])
    return data | {name: dict(vars(data[name])) for name in _ERRORS if data.get(name) is not None}


_ERRORS = ("raised", "stop")


_SIMPLE = frozenset({int, str})


def outcome_from(data: Any, request: Request) -> Outcome:
    """The outcome of `request` that a student's process sent. ValueError for anything that this request can't have: the
    process may send whatever it likes, and those who read an outcome rely on its types, ranges and lengths."""
    if not isinstance(data, dict) or not data.keys() <= _DEFAULTS[Outcome].keys():
        raise ValueError("an outcome has its fields and no others")
    for name, value in data.items():
        if name in _SOUND and not _SOUND[name](value, request):
            raise ValueError(f"an outcome's {name} is malformed")
    status, raised = data.get("status", "ok"), data.get("raised")
    if not _is_value(data.get("value"), status, request):
        raise ValueError("an outcome's value is malformed")
    if (status == "raised") != (raised is not None):
        raise ValueError("an outcome's raised is malformed")
    errors = {name: Raised(**data[name]) for name in _ERRORS if data.get(name) is not None}
    places = tuple(None if place is None else Place(*place) for place in data.get("places", ()))
    return Outcome(**{**data, **errors, "places": places, "output": data.get("output", "")[:OUTPUT_CHARACTERS]})


def _is_value(value: Any, status: str, request: Request) -> bool:
    if status in ("missing", "misbuilt", "too-large"):
        return _is_text(value, OUTPUT_CHARACTERS)
    if status != "ok":
        return value is None
    return request.op in ("call", "get") or _VALUES.get(request.op, _is_none)(value)


def _is_none(value: Any) -> bool:
    return value is None


def _is_text(value: Any, most: int) -> bool:
    return type(value) is str and len(value) <= most


def _is_count(value: Any, most: int = MAX_COUNT) -> bool:
    return type(value) is int and 0 <= value < most


def _are_names(value: Any, kind: type[list[Any] | tuple[Any, ...]] = list, most: int = MAX_ITEMS) -> bool:
    return isinstance(value, kind) and len(value) <= most and all(_is_text(name, MAX_NAME) for name in value)


def _by_name(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, dict) and _are_names(list(value)) and all(type(item) in kinds for item in value.values())


def _is_state(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"parameters", "buffers", "saved", "tracked", "training"}
        and all(_by_name(value[place], (Tensor, Opaque)) for place in ("parameters", "buffers"))
        and all(_are_names(value[place]) for place in ("saved", "tracked"))
        and type(value["training"]) is bool
    )


LISTS_OF_NAMES = ("required", "uses", "data", "sets", "numbers")  # in a description


def _is_description(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {*LISTS_OF_NAMES, "kind", "type", "parameters", "defaults", "loops", "empty"}
        and _is_text(value["kind"], MAX_NAME)
        and _is_text(value["type"], MAX_NAME)
        and (value["parameters"] is None or _are_names(value["parameters"]))
        and _by_name(value["defaults"], (bool, int, float, Opaque))
        and all(_are_names(value[place]) for place in LISTS_OF_NAMES)
        and type(value["loops"]) is type(value["empty"]) is bool
    )


# The values of requests that went well. That of a call and of a name is whatever the student's code made.
_VALUES: dict[str, Callable[[Any], bool]] = {
    "names": lambda value: value is None or _are_names(value),
    "state": _is_state,
    "describe": _is_description,
}


def _is_raised(value: Any, _request: Request) -> bool:
    return value is None or (
        isinstance(value, dict)
        and value.keys() == {f.name for f in fields(Raised)}
        and _are_names(value["types"], tuple, MAX_TYPES)
        and _is_text(value["message"], MAX_MESSAGE)
        and _is_text(value["line"], MAX_MESSAGE)
        and all(_is_text(value[name], MAX_NAME) for name in ("function", "file", "called"))
        and _is_count(value["line_number"])
        and type(value["deliberate"]) is bool
    )


def _are_gradients(value: Any, request: Request) -> bool:
    if value is None or request.cotangents is None:
        return value is None
    return _by_name(value, (Tensor, type(None))) and all(g is None or g.is_floating_point() for g in value.values())


def _are_places(value: Any, request: Request) -> bool:
    return type(value) is tuple and all(_is_count(place, len(request.args)) for place in value)


def _are_lines(value: Any, _request: Request) -> bool:
    return isinstance(value, tuple) and len(value) <= MAX_CALLS and all(p is None or _is_place(p) for p in value)


def _is_place(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != len(Place._fields):
        return False
    function, line_number, line, file = value
    return all(_is_text(text, MAX_NAME) for text in (function, line, file)) and _is_count(line_number)


_SOUND: dict[str, Callable[[Any, Request], bool]] = {
    "status": lambda value, _: type(value) is str and value in STATUSES,
    "raised": _is_raised,
    "stop": _is_raised,
    "changed": _are_places,
    "changed_earlier": lambda value, _: type(value) is bool,
    "gradients": _are_gradients,
    "settings": lambda value, _: _are_names(value, tuple),
    "calls": lambda value, _: _are_names(value, tuple, MAX_CALLS),
    "places": _are_lines,
    "operations": lambda value, _: _is_count(value),
    "products": lambda value, _: _is_count(value),
    "largest": lambda value, _: _is_count(value),
    "largest_shape": lambda value, _: type(value) is tuple and len(value) <= MAX_NAME and all(map(_is_count, value)),
    "output": lambda value, _: type(value) is str,
}
_DEFAULTS: dict[type, dict[str, Any]] = {
    kind: {f.name: f.default if f.default is not MISSING else None for f in fields(kind)} for kind in (Request, Outcome)
}


Answer = Callable[[Callback, tuple[Any, ...]], Any]


class Subject(Protocol):
    """A student's code as a specification sees it. `clock` gives the seconds that requests count."""

    clock: Callable[[], float]

    def ask(self, request: Request) -> Outcome:
        """Carry out one request; never raises for anything the student's code does."""
        ...

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        ...
