"""Requests to a student's code, and their outcomes. Both are plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, Protocol

from torch import Tensor

from grader.subject.values import Callback

Op = Literal["run", "names", "call", "build", "load", "state", "mode", "get", "describe"]
Status = Literal["ok", "raised", "time-limit", "missing", "misbuilt", "died", "not-run"]
OUTPUT_BYTES = 20_000


@dataclass(frozen=True)
class Request:
    """A request to the student's code.

    | op | meaning |
    | --- | --- |
    | run | execute `source` as a cell; with `args=("definitions",)` only its functions, classes and imports |
    | names | the names that the sources in `args` use, without running them |
    | call | call `target` (a student's name, or "@handle" of a built module) with `args`, by position |
    | build | make `target(*args, **keywords)` and keep it under `handle` |
    | load | copy `args[0]`, a dict of tensors, into the parameters and buffers of "@handle" |
    | state | the parameters and buffers of "@handle", what its state_dict holds, buffers that hold a graph |
    | mode | switch "@handle" to train (`args[0]` true) or eval mode and to the dtype that `args[1]` names |
    | get | the value of the name `target` |
    | describe | facts about `target`: what it is, its parameters, the names its code uses, a module's parts |

    `cotangents` (one per output tensor, None to leave one out) asks for gradients: of every floating-point argument,
    and of a module's parameters. `watch` asks for the log of the torch functions called.
    """

    op: Op
    target: str = ""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    handle: str = ""
    source: str = ""
    cotangents: tuple[Tensor | None, ...] | None = None
    watch: bool = False
    seed: int = 7_310_581  # nobody's own: a call that leaves another one has set it
    seconds: float = 10.0


@dataclass(frozen=True)
class Raised:
    """An exception of the student's code: its class and bases by name, its message, and the student's innermost line.

    `function` holds that line and `file` is its file, empty in a notebook's cell. `called` is the outermost function of
    the student's. `deliberate`: a `raise` or an `assert` of the student's raised it, not Python or torch.
    """

    types: tuple[str, ...]
    message: str
    line: str = ""
    line_number: int = 0
    function: str = ""
    file: str = ""
    called: str = ""
    deliberate: bool = False

    @property
    def name(self) -> str:
        return self.types[0] if self.types else "Exception"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a request.

    "missing": the name `value` isn't defined. "misbuilt": no module, or the wrong parameters (`value` says which).
    `changed`: positions of the arguments that the call changed in place. `gradients`: by place ("0", "1", "1.0", …) of
    arguments and name of parameters, None where no gradient flows; None altogether if not requested or if no output
    has a gradient. `settings`: what the call changed in torch itself (the keys of `grader.subject.settings.SETTINGS`);
    it has been put back. Of watched calls only: `calls`, the torch functions seen, named as in `grader.subject.watch`;
    `operations`, how many operators torch ran, repetitions included; `largest`, the most elements of a storage that
    torch made, and `largest_shape`, its tensor's shape.
    """

    status: Status = "ok"
    value: Any = None
    raised: Raised | None = None
    changed: tuple[int, ...] = ()
    gradients: dict[str, Tensor | None] | None = None
    settings: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    operations: int = 0
    largest: int = 0
    largest_shape: tuple[int, ...] = ()
    output: str = ""

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
    raised = data.get("raised")
    if raised is not None:
        data["raised"] = dict(vars(raised))
    return data


_SIMPLE = frozenset({int, str})


def outcome_from(data: Any) -> Outcome:
    """The outcome that a student's process sent; anything malformed is a ValueError."""
    if not isinstance(data, dict) or not data.keys() <= _DEFAULTS[Outcome].keys():
        raise ValueError("an outcome has its fields and no others")
    for name, value in data.items():
        if name in _SOUND and not _SOUND[name](value):
            raise ValueError(f"an outcome's {name} is malformed")
    raised = data.get("raised")
    if data.get("status") == "raised" and raised is None:
        raise ValueError("an outcome's raised is malformed")
    if raised is not None:
        raised = Raised(**raised)
    return Outcome(**{**data, "raised": raised, "output": data.get("output", "")[:OUTPUT_BYTES]})


def _all(items: Any, kind: type) -> bool:
    return isinstance(items, tuple) and all(type(item) is kind for item in items)


def _is_raised(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and value.keys() == {f.name for f in fields(Raised)}
        and _all(value["types"], str)
        and all(isinstance(value[name], str) for name in ("message", "line", "function", "file", "called"))
        and isinstance(value["line_number"], int)
        and isinstance(value["deliberate"], bool)
    )


def _are_gradients(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(isinstance(v, Tensor | None) for v in value.values()))


_SOUND: dict[str, Callable[[Any], bool]] = {
    # Not "died" or "not-run": only the judge sets those.
    "status": lambda value: isinstance(value, str) and value in ("ok", "raised", "time-limit", "missing", "misbuilt"),
    "raised": _is_raised,
    "changed": lambda value: _all(value, int),
    "gradients": _are_gradients,
    "settings": lambda value: _all(value, str),
    "calls": lambda value: _all(value, str),
    "operations": lambda value: isinstance(value, int),
    "largest": lambda value: isinstance(value, int),
    "largest_shape": lambda value: _all(value, int),
    "output": lambda value: isinstance(value, str),
}
_DEFAULTS: dict[type, dict[str, Any]] = {
    kind: {f.name: f.default if f.default is not MISSING else None for f in fields(kind)} for kind in (Request, Outcome)
}


Answer = Callable[[Callback, tuple[Any, ...]], Any]


class Subject(Protocol):
    """A student's code as a specification sees it."""

    def ask(self, request: Request) -> Outcome:
        """Carry out one request; never raises for anything the student's code does."""
        ...

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        ...
