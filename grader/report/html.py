"""A report as one self-contained section of HTML without scripts, for JupyterLab's themes (colours from `--jp-*`
variables), keyboards and screen readers."""

from __future__ import annotations

import base64
from functools import cache
from html import escape
from importlib import resources

import torch
from torch import Tensor

from grader.languages import as_attribute, shown
from grader.markup import inline
from grader.report.data import PartReport, Report, State
from grader.report.heat import cell_style
from grader.report.text import BROKEN, explained, file_name, headline, matrix_rows, points
from grader.report.words import STATES, first_fix_of, grouped, looks_like, names_in, waiting
from grader.sentences import say
from grader.tolerance import FLOAT32

SAVES = (
    "saves a file for your teacher. The file has your code for this exercise, this report and the versions of Python, "
    "torch and the course, but not your name. If no file is saved, run `report = check(...)`, then `report.save()`."
)
# Keeps Enter and the space bar from JupyterLab's shortcuts.
KEEP = 'data-lm-suppress-shortcuts="true"'


def as_html(report: Report, file: bytes = b"") -> str:
    """The report as HTML, in the language that is spoken: the parts, the first failure, the likely mistake, hints that
    unfold one after the other, and then the numbers, in a fold, because a screen reader reads them one by one. `file`
    is what a learner can save who thinks that the report is wrong; empty for no link."""
    state = "broken" if report.broken else "passed" if report.passed else "failed"
    parts = [style(), f'<section class="grader-report"{as_attribute()} aria-label="{escape(shown(headline(report)))}">']
    parts.append(_head(report, state))
    if report.broken:
        parts.append(f'<p>{escape(shown(BROKEN))}</p><pre tabindex="0">{escape(report.traceback)}</pre>')
    elif report.unwritten is not None:
        parts.append(f"<p>{inline(shown(report.unwritten.message))}</p>")
    else:
        parts += [_results(report), _mistake(report), _hints(report.hints, 1), _numbers(report), _printed(report)]
        parts += [_appeal(report, file)] if file else []
    return "".join([*parts, "</section>"])


@cache
def style(name: str = "report.css") -> str:
    """A `<style>` element with the style sheet of all HTML of the grader, or one beside it."""
    sheet = resources.files("grader.report").joinpath(name).read_text(encoding="utf-8")
    return f"<style>{sheet}</style>"


def _head(report: Report, state: str) -> str:
    if report.broken:
        return f'<p class="grader-head grader-{state}" role="status">{escape(shown(headline(report)))}</p>'
    said = say("`{name}`: passed" if report.passed else "`{name}`: not passed yet", name=report.name)
    share = round(100 * report.score)
    return (
        f'<div class="grader-head grader-{state}" role="status"><span>{inline(shown(said))}'
        f'</span> <span class="grader-points">{shown(points(report))}</span></div>'
        f'<div class="grader-bar grader-{state}" aria-hidden="true"><div style="width:{share}%"></div></div>'
    )


def _results(report: Report) -> str:
    with_message = explained(report)
    rows = []
    for group in grouped(report.parts):
        result, names = group[0], names_in(group)
        state = result.state
        kind = "waiting" if state is State.NOT_JUDGED else state
        message = f"<p>{inline(shown(result.message))}</p>" if result in with_message and result.message else ""
        if state is State.NOT_JUDGED:
            message = f" ({inline(shown(waiting(result).reason))})"
        word = f'<span class="grader-word">{shown(STATES[state])}</span>'
        rows.append(f'<li class="grader-{kind}">{word} {inline(names)}{message}</li>')
    return f'<ul class="grader-results">{"".join(rows)}</ul>'


def _mistake(report: Report) -> str:
    named = looks_like(f"`{report.diagnosis}`", report.symptom) if report.symptom else ""
    said = [sentence for sentence in (report.remark, first_fix_of(report), named) if sentence]
    paragraphs = "".join(f"<p>{inline(shown(sentence))}</p>" for sentence in said)
    return f'<div class="grader-mistake">{paragraphs}</div>' if said else ""


def _hints(hints: tuple[str, ...], number: int) -> str:
    """The hints from `number` on as HTML: each contains the next one, so that a learner opens one at a time. Empty
    after the last."""
    if number > len(hints):
        return ""
    text, title = shown(hints[number - 1]), say("Hint {number} of {count}", number=number, count=len(hints))
    return (
        f'<details class="grader-hint"><summary {KEEP}>{shown(title)}</summary>'
        f"<p>{inline(text)}</p>{_hints(hints, number + 1)}</details>"
    )


def _printed(report: Report) -> str:
    if not report.output or report.passed:
        return ""
    printed = f'<pre tabindex="0">{escape(report.output[:2000])}</pre>'
    return f"<details><summary {KEEP}>{shown('What your code printed')}</summary>{printed}</details>"


def _appeal(report: Report, file: bytes) -> str:
    """A link that holds the file itself: it needs no kernel, no script and no network."""
    data = base64.b64encode(file).decode()
    return (
        f'{style("appeal.css")}<p class="grader-appeal">'
        f'<a {KEEP} target="_self" download="{escape(file_name(report))}" '
        f'href="data:application/json;base64,{data}">{shown("I think this is right")}</a> '
        f"<span>{inline(shown(SAVES))}</span></p>"
    )


def _numbers(report: Report) -> str:
    """The numbers that the first failed part got and expected, as HTML; empty if there are none to show."""
    failure = report.first_failure
    return _pair(failure) if failure is not None else ""


def _pair(result: PartReport) -> str:
    """Got and expected as heatmaps, both with the colour scale of the expected numbers; empty if either is no
    tensor."""
    got, expected = result.got, result.expected
    if not isinstance(got, Tensor) or not isinstance(expected, Tensor):
        return ""
    finite = expected[torch.isfinite(expected)].to(torch.float64)
    ends = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0)
    off = ~FLOAT32.close(got, expected) if got.shape == expected.shape else torch.zeros_like(got, dtype=torch.bool)
    none = torch.zeros_like(expected, dtype=torch.bool)
    tables = _table(shown("got"), got, off, ends) + _table(shown("expected"), expected, none, ends)
    pair = f'<div class="grader-pair">{tables}</div><p class="grader-note">{shown(_NOTE)}</p>'
    # Open for who sees; who listens can close it and is past the numbers.
    return f"<details open><summary {KEEP}>{shown('The numbers')}</summary>{pair}</details>"


_NOTE = "Both tables use the colour scale of the expected numbers; entries that differ are framed and marked ≠."


def _table(caption: str, tensor: Tensor, off: Tensor, ends: tuple[float, float]) -> str:
    numbers, wrong = _as_rows(tensor), _as_rows(off)
    rows = []
    for texts, values, marks in zip(matrix_rows(tensor), numbers.tolist(), wrong.tolist(), strict=True):
        cells = zip(texts, values, marks, strict=True)
        rows.append(f"<tr>{''.join(_cell(text, value, bool(mark), ends) for text, value, mark in cells)}</tr>")
    return f"<table><caption>{caption}</caption><tbody>{''.join(rows)}</tbody></table>"


def _as_rows(tensor: Tensor) -> Tensor:
    """The tensor as the matrix whose rows `matrix_rows` writes."""
    return (tensor.reshape(1, -1) if tensor.dim() < 2 else tensor).to(torch.float64)


def _cell(text: str, value: float, off: bool, ends: tuple[float, float]) -> str:
    mark = '<span class="grader-mark">≠</span>' if off else ""
    kind = ' class="grader-off"' if off else ""
    return f'<td{kind} style="{cell_style(value, *ends)}">{mark}{escape(text)}</td>'
