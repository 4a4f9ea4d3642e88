"""What is said of an error that a student's code raised, and of where."""

from __future__ import annotations

from grader.report.words import FirstFix, first_fix
from grader.sentences import ended, say
from grader.spec.exercise import Finding
from grader.subject import Place, Raised


def not_defined(name: str) -> Finding:
    """The finding where there is nothing of this name in the notebook."""
    said = say("`{name}` is not defined. Run the cell that defines it, then check again.", name=name)
    return Finding("missing", said)


def finding_of(raised: Raised, name: str) -> Finding:
    """The finding on an error that a student's code raised in a check of the exercise `name`."""
    if is_unwritten(raised):
        return _unwritten(raised, name)
    if raised.name == "KeyboardInterrupt":
        return Finding("interrupted", "The check was interrupted before it had finished.")
    error, message, where = raised.name, ended(raised.message), place(raised, name)
    if where and message:
        said = say("`{name}` raised {error} {place}: {message}", name=name, error=error, place=where, message=message)
    elif where:
        said = say("`{name}` raised {error} {place}.", name=name, error=error, place=where)
    elif message:
        said = say("`{name}` raised {error}: {message}", name=name, error=error, message=message)
    else:
        said = say("`{name}` raised {error}.", name=name, error=error)
    return Finding("raised", said)


def _unwritten(raised: Raised, name: str) -> Finding:
    helper = helper_of(raised, name)
    if helper:
        return Finding("helper-not-written", first_fix(name, helper, FirstFix.UNWRITTEN))
    method = short(raised.function).partition(".")[2]
    if method in ("", "__init__"):
        said = say(
            "`{name}` is not written yet: replace `raise NotImplementedError()` with your code, run the cell, and "
            "check again.",
            name=name,
        )
    else:
        said = say(
            "The `{method}` of `{name}` is not written yet: replace `raise NotImplementedError()` with your code, "
            "run the cell, and check again.",
            name=name,
            method=method,
        )
    return Finding("not-written", said)


def is_unwritten(raised: Raised) -> bool:
    """Whether starter code raised the error, and not a part of torch that isn't implemented."""
    return raised.name == "NotImplementedError" and (not raised.line or "NotImplementedError" in raised.line)


def helper_of(raised: Raised, name: str) -> str:
    """The function of the student's that raised; empty if it is the one that was called or the exercise `name`
    itself."""
    inner, called = (short(function).partition(".")[0] for function in (raised.function, raised.called))
    return "" if inner in ("", called, name) or inner.startswith("<") else inner


def short(function: str) -> str:
    """A function's qualified name without the functions that it is defined in.

    >>> short("Encoder.forward"), short("outer.<locals>.inner")
    ('Encoder.forward', 'inner')
    """
    return function.rpartition("<locals>.")[2]


def place(line: Raised | Place | None, name: str) -> str:
    """Where in a student's code something happened, as the end of a sentence: the function, unless it is the exercise
    `name`, the line of its cell or file, and the line itself; "" if it was no line of the student's."""
    if line is None or not line.line:
        return ""
    function, number, file, text = short(line.function), line.line_number, line.file, line.line
    if function == name or function.startswith("<"):
        if file:
            return say("at line {number} of `{file}`: `{line}`", number=number, file=file, line=text)
        return say("at line {number} of its cell: `{line}`", number=number, line=text)
    if file:
        return say(
            "in `{function}`, at line {number} of `{file}`: `{line}`",
            function=function,
            number=number,
            file=file,
            line=text,
        )
    return say("in `{function}`, at line {number} of its cell: `{line}`", function=function, number=number, line=text)
