"""A report as plain text, for terminals, untrusted notebooks and as fallback of the HTML."""

from __future__ import annotations

import math
from itertools import zip_longest

import torch
from torch import Tensor

from grader.languages import shown
from grader.printable import columns_of, padded
from grader.report.data import PartReport, Report, State
from grader.report.words import begins, first_fix_of, grouped, looks_like, names_in, waiting
from grader.sentences import say, together


def headline(report: Report) -> str:
    """A line with the exercise, whether it passed, and the points."""
    name, earned = report.name, points(report)
    if report.broken:
        return say("{name}: this check is broken", name=name)
    if report.unwritten is not None and earned:
        return together(say("{name}: {points}.", name=name, points=earned), report.unwritten.message)
    if report.unwritten is not None:
        return together(say("{name}.", name=name), report.unwritten.message)
    if earned:
        template = "{name}: passed, {points}" if report.passed else "{name}: not passed yet, {points}"
        return say(template, name=name, points=earned)
    return say("{name}: passed" if report.passed else "{name}: not passed yet", name=name)


def points(report: Report) -> str:
    """The points earned, in words; empty where the exercise has none to give."""
    if not report.points:
        return ""
    template = "{mark} of {points} points" if report.passed else "{mark} of {points} points so far"
    return say(template, mark=f"{report.mark:g}", points=f"{report.points:g}")


def as_text(report: Report) -> str:
    """The report as plain text, in the language that is spoken: a line for each part, with why it failed, then the
    likely mistake and the first hint."""
    lines = [shown(headline(report))]
    if report.broken:
        lines += [shown(BROKEN), *_indented(report.traceback)]
        return "\n".join(lines)
    if report.unwritten is not None:
        return lines[0]
    failure, with_message = report.first_failure, explained(report)
    for group in grouped(report.parts):
        result = group[0]
        lines.append(_row(group))
        if result in with_message:
            lines += _indented(shown(result.message), 8)
        if result is failure and isinstance(result.got, Tensor) and isinstance(result.expected, Tensor):
            lines += _indented(side_by_side(result.got, result.expected), 8)
    said = [report.remark, first_fix_of(report)]
    if report.symptom:
        said.append(looks_like(report.diagnosis, report.symptom))
    if report.hints:
        said.append(say("Hint: {hint}", hint=say(report.hints[0])))
    if len(report.hints) > 1:
        said.append(say(MORE_HINTS, count=len(report.hints) - 1))
    lines += [shown(sentence) for sentence in said if sentence]
    if report.output and not report.passed:
        lines += [shown("Your code printed:"), *_indented(report.output, 4)[:12]]
    return "\n".join(lines)


def _row(parts: list[PartReport]) -> str:
    """A line for a part, or for several that wait for the same thing: the state and the names."""
    first, names = parts[0], names_in(parts)
    if first.state is State.NOT_JUDGED:
        said = say("not judged yet, {reason}: {names}", reason=say(waiting(first).reason), names=names)
        return " " * 8 + shown(said)
    return begins(first.state) + names


def explained(report: Report) -> list[PartReport]:
    """The failures to show with their message: all of them, but each message only once."""
    failures: dict[str, PartReport] = {}
    for result in report.parts:
        if result.state is State.FAILED:
            failures.setdefault(result.message, result)
    return list(failures.values())


def file_name(report: Report) -> str:
    """The name under which a learner saves the file for a teacher."""
    return f"{report.name}.json"


MORE_HINTS = "(Hints left: {count}. To see the next one, run report = check(...), then print(report.hint(2)).)"
HOW_TO_SAVE = (
    "Do you think your code is right? Run report = check(...), then report.save(), which writes a file for your "
    "teacher."
)
BROKEN = (
    "The check itself failed, not your code. This is no verdict on your work. Please report the lines below to the "
    "course's maintainers."
)


def _indented(text: str, by: int = 4) -> list[str]:
    return [" " * by + line for line in text.splitlines()]


def matrix_rows(tensor: Tensor) -> list[list[str]]:
    """The rows of a vector or matrix as texts: short numbers, whole numbers (token ids), or True and False."""
    rows = tensor.reshape(1, -1) if tensor.dim() < 2 else tensor
    if not tensor.is_floating_point():
        return [[str(value) for value in row] for row in rows.tolist()]
    return [[number(value) for value in row] for row in rows.to(torch.float64).tolist()]


def number(value: float) -> str:
    """A number in about seven characters.

    >>> number(0.5), number(12345.678), number(float("nan"))
    ('0.500', '1.2e+04', 'nan')
    """
    if not math.isfinite(value):
        return str(value)
    return f"{value:.3f}" if abs(value) < 1000 and (value == 0 or abs(value) >= 5e-4) else f"{value:.1e}"


def side_by_side(got: Tensor, expected: Tensor) -> str:
    """Two vectors or matrices, got and expected, side by side, as lines of text."""
    left, right = [shown("got"), *_block(got)], [shown("expected"), *_block(expected)]
    width = max(map(columns_of, left))
    pairs = zip_longest(left, right, fillvalue="")
    return "\n".join(f"{padded(a, width)}   {b}".rstrip() for a, b in pairs)


def _block(tensor: Tensor) -> list[str]:
    rows = matrix_rows(tensor)
    width = max((len(cell) for row in rows for cell in row), default=1)
    return ["  ".join(cell.rjust(width) for cell in row) for row in rows]
