"""Insights as text and as one self-contained page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

from markupsafe import Markup

from grader.insights.similarity import MODEL, WORD_FOR_WORD, Pair
from grader.insights.summary import StopRow, Summary
from grader.markup import render
from grader.printable import joined, printable, shortened

SHOWN = 12  # of mistakes and of pairs, in the terminal; the page has all


@dataclass(frozen=True)
class LessonInsights:
    """What is known of one lesson of a course: its full name, the results counted, the submissions that look alike, the
    errors that stopped cells and cost points."""

    name: str
    summary: Summary
    pairs: tuple[Pair, ...] = ()
    stops: tuple[StopRow, ...] = ()

    def without_names(self) -> LessonInsights:
        """A copy in which numbers stand for students, given in the order in which they appear."""
        models = {name: name for name in (MODEL, WORD_FOR_WORD)}
        alike = (who for pair in self.pairs for who in (pair.left, pair.right))
        order = dict.fromkeys((*alike, *(who for row in self.stops for who in row.students)))
        numbers = enumerate((who for who in order if who not in models), start=1)
        return self.with_names((models | {who: f"submission {i}" for i, who in numbers}).__getitem__)

    def with_names(self, called: Callable[[str], str]) -> LessonInsights:
        """A copy in which students are called what `called` gives for their ids."""
        pairs = tuple(replace(pair, left=called(pair.left), right=called(pair.right)) for pair in self.pairs)
        stops = tuple(replace(row, students=tuple(map(called, row.students))) for row in self.stops)
        return replace(self, pairs=pairs, stops=stops)


def percent(share: float) -> str:
    """A share, 0 to 1, as per cent for reading. Only all is 100 %, only none is 0 %.

    >>> percent(0.5), percent(0.999), percent(0.001), percent(1)
    ('50 %', '99 %', '1 %', '100 %')
    """
    shown = round(100 * share)
    if 0 < share < 1:
        shown = min(max(shown, 1), 99)
    return f"{shown} %"


def as_text(lesson: LessonInsights) -> str:
    """A lesson's insights as text for a terminal."""
    summary = lesson.summary
    return "\n".join([*_exercises(summary), *_mistakes(summary), *_stops(lesson.stops), *_pairs(lesson.pairs)])


def table(summary: Summary) -> str:
    """How the class did, as text for a terminal: the sum of it, the exercises, the most frequent mistakes."""
    return "\n".join([*_exercises(summary, parts=False), *_mistakes(summary)])


def _exercises(summary: Summary, parts: bool = True) -> list[str]:
    lines = [
        f"{summary.graded} graded, {summary.full} with full marks, on average {summary.mean:.2f} of {summary.points:g}"
        " points" + (f", {summary.unreadable} could not be read" if summary.unreadable else ""),
        "",
        f"{'exercise':40} {'points':>6} {'mean':>6} {'full':>6} {'none':>6} {'earned':>7}",
    ]
    for row in summary.exercises:
        figures = f"{row.points:6g} {row.mean:6.2f} {percent(row.full):>6} {percent(row.none):>6}"
        lines.append(f"{row.name:40} {figures} {percent(row.success):>7}")
        if parts:
            lines += [f"  {part.name[:38]:38} {part.points:6g} {percent(part.passed):>28}" for part in row.parts]
    return lines


def _mistakes(summary: Summary) -> list[str]:
    if not summary.mistakes:
        return []
    rows = [f"{row.count:5}  {row.mistake:32} {row.exercise}" for row in summary.mistakes]
    return ["", "times  mistake                          exercise", *shortened(rows, SHOWN, "       and {} more")]


def _stops(stops: Sequence[StopRow]) -> list[str]:
    if not stops:
        return []
    rows = [
        f"{len(row.students):5}  {printable(row.line)}: {printable(row.why)}\n"
        f"       in {joined(row.exercises)}; {joined(row.students)}"
        for row in stops
    ]
    return ["", "lines at which cells stopped, and which cost points", *shortened(rows, SHOWN, "       and {} more")]


def _pairs(pairs: Sequence[Pair]) -> list[str]:
    if not pairs:
        return []
    lines = ["", "look alike (a reason to look, not a verdict)"]
    models = [pair for pair in pairs if pair.right in (MODEL, WORD_FOR_WORD)]
    for kind, what in ((models, "like the model solution"), ([pair for pair in pairs if pair not in models], "pairs")):
        rows = [f"{percent(pair.share):>6}  {printable(pair.left)}  {printable(pair.right)}" for pair in kind]
        lines += shortened(rows, SHOWN, f"        and {{}} more {what}")
    return lines


def as_html(title: str, lessons: Sequence[LessonInsights], names: bool) -> str:
    """The insights into these lessons as an HTML page, which holds no script and loads nothing. `names`: with students'
    names."""
    return render("insights/page.html", title=title, lessons=lessons, names=names, percent=percent, bar=_bar)


def _bar(share: float) -> Markup:
    width = escape(f"{100 * share:.0f}%")
    return Markup(f'<div class="bar" aria-hidden="true"><div style="width:{width}"></div></div>')
