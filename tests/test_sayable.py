"""What a learner reads is a whole sentence that can be said again: nothing in it is put together, cut or lower-cased.

Looked for in the source, wherever text goes to a learner: a finding's message and hints, what a part or a mistake is
called, what `grader/learner` prints, and the template of every `say`. `tests/exercises/sayable.py` asks the reports of
all samples the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

GRADER = Path(__file__).parents[1] / "grader"
WEBSITE = GRADER.parent / "website"
ROOMS = ("spec", "exercises", "report", "learner", "judge", "feedback", "views", "subject")
# Modules elsewhere that a learner hears of.
ALONE = (
    "languages.py",
    "server.py",
    "course/lateness.py",
    "authoring/prose.py",
)
# Of a template: what no reader sees, and the attributes that are read.
UNSEEN = re.compile(r"(?s)<(style|script)\b.*?</\1>|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}")
READ_ATTRIBUTE = re.compile(r'(?:aria-label|title|alt|placeholder)="([^"]*)"')
# By the name of what is called: the positions and the names of its arguments that a learner reads.
READ = {
    "Finding": ((1,), ("message", "hints")),
    "Mistake": ((1, 2), ("symptom", "hints")),
    "Part": ((0,), ("name",)),
    "Observation": ((0, 1, 2), ("title", "detail", "advice")),
    "replace": ((), ("message", "hints", "symptom")),
    "together": ((0, 1, 2, 3), ()),
    "_refused": ((1,), ()),
    "_tell": ((0,), ()),
}
GLUED = ("join", "lower", "upper", "capitalize", "rstrip", "lstrip", "strip", "replace", "format", "removesuffix")
# F-strings with words that no learner reads, by the beginning of their module's path and why.
EXEMPT = {
    "spec/words.py": "for authors: the words of a mistake aren't as they should be",
    "exercises/registry.py": "for authors: files of a lesson don't fit together",
    "spec/session.py": "seeds of what is drawn",
    "spec/cases.py": "names of diagnostic cases, which no message names",
    "learner/earlier_run.py": "keys of cells",
    "learner/appeal.py": "Python source",
    "learner/yours.py": "names of cells in tracebacks",
    "learner/exchange_modes.py": "commands",
    "feedback/fresh.py": "for teachers, on a terminal",
    "feedback/zips.py": "for teachers, on a terminal",
    "views/alignment_view.py": "for authors: what a view is given doesn't fit",
    "views/base.py": "JavaScript",
    "views/head_explorer.py": "for authors: what a view is given doesn't fit",
    "views/shape_tracer.py": "for authors: what a view is given doesn't fit",
    "authoring/prose.py": "marks",
    "website/__main__.py": "for authors, on a terminal",
    "website/course.py": "for authors: a setting, or a notebook that isn't up to date",
    "website/guides.py": "for authors: a link that leads nowhere",
    "website/index.py": "for authors: a cell that is no longer there",
    "website/live_views.py": "for authors: a state that isn't stored",
    "website/references.py": "for authors: what a lesson or the glossary refers to",
    # What torch says of an error, to compare with.
    "exercises/lesson_03/multi_head_attention.py": "torch's words",
    "exercises/lesson_04/masked_softmax.py": "torch's words",
    "exercises/lesson_06/apply_rope.py": "torch's words",
    "exercises/lesson_06/embed_tokens.py": "torch's words",
    "exercises/lesson_06/relative_position_bias.py": "torch's words",
    "exercises/lesson_08/greedy_decode.py": "torch's words",
    "exercises/lesson_11/head_that_remembers.py": "sizes by their letters",
}
ROOMS_WITHOUT_F_STRINGS = ("spec", "exercises", "report", "learner", "judge", "feedback", "views")


# Calls that are given names, numbers and errors, which are the same in every language.
CODE = {
    ("subject/zygote_process.py", "replace(outcome.raised, message=f'{said}. {refused}')"),
    ("learner/doctor.py", "Observation(look.__name__.strip('_'), f'{type(error).__name__}: {error}', INSTALL)"),
    (
        "learner/doctor.py",
        "Observation('Python', f'{platform.python_version()}, {platform.system()} {platform.machine()}', advice)",
    ),
}


def f_strings(source: str) -> Iterator[str]:
    """Each f-string of a module that has words, with its line, except in an error that is raised and in HTML."""
    tree = ast.parse(source)
    raised = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Assert) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.JoinedStr)
            and id(node) not in raised
            and _has_words(node)
            and "</" not in ast.unparse(node)
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


def faults(source: str, prints: bool = False) -> Iterator[str]:
    """Each call in a module that gives a learner text which can't be said again, with its line."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if name == "say" and isinstance(call.func, ast.Name):
            if call.args and _is_glued(call.args[0]):
                yield f"{call.lineno}: {ast.unparse(call)}"
            if any(_has_words(word.value) for word in call.keywords):
                yield f"{call.lineno}: {ast.unparse(call)}"
            continue
        places, names = READ.get(name, ((0,), ()) if prints and name == "print" else ((), ()))
        given = [
            *(call.args[at] for at in places if at < len(call.args)),
            *(w.value for w in call.keywords if w.arg in names),
        ]
        if any(_is_glued(value) for value in given):
            yield f"{call.lineno}: {ast.unparse(call)}"


def _is_glued(value: ast.expr) -> bool:
    """Whether a text is an f-string, a sum, or what a method of text returns; also in either branch, or in a tuple."""
    if isinstance(value, ast.IfExp):
        return _is_glued(value.body) or _is_glued(value.orelse)
    if isinstance(value, ast.BoolOp):
        return any(map(_is_glued, value.values))
    if isinstance(value, ast.Tuple | ast.List):
        return any(map(_is_glued, value.elts))
    if isinstance(value, ast.Starred):
        return _is_glued(value.value)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr in GLUED
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mod)
    )


def _has_words(value: ast.expr) -> bool:
    """Whether a value of a sentence is English of its own: a plain string, or an f-string, with two words or more
    outside of code in backquotes."""
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    text = "".join(
        part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else " " for part in parts
    )
    outside = "".join(text.split("`")[::2])
    return len([word for word in outside.split() if word.isalpha()]) > 1


def modules(rooms: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The modules of these rooms, those elsewhere and the site's, as (path in `grader`, source)."""
    paths = [path for room in rooms for path in sorted((GRADER / room).rglob("*.py"))]
    for path in (*paths, *(GRADER / name for name in ALONE)):
        yield path.relative_to(GRADER).as_posix(), path.read_text("utf-8")
    for path in sorted(WEBSITE.glob("*.py")):
        yield path.relative_to(WEBSITE.parent).as_posix(), path.read_text("utf-8")


def test_what_a_learner_reads_can_be_said_again():
    assert not [
        f"grader/{inside}:{fault}"
        for inside, source in modules(ROOMS)
        for fault in faults(source, prints=inside.startswith("learner/"))
        if (inside, fault.partition(": ")[2]) not in CODE
    ]


def test_no_f_string_has_words_for_a_learner():
    assert not [
        f"grader/{inside}:{fault}"
        for inside, source in modules(ROOMS_WITHOUT_F_STRINGS)
        for fault in f_strings(source)
        if inside not in EXEMPT
    ]


def test_every_exemption_is_needed():
    sources = dict(modules(ROOMS))
    assert [inside for inside in EXEMPT if not list(f_strings(sources[inside]))] == []
    for inside, call in CODE:
        assert call in {fault.partition(": ")[2] for fault in faults(sources[inside])}


@pytest.mark.parametrize(
    "source",
    [
        "Finding('kind', f'{name} is wrong')",
        "Finding('kind', 'a' + b)",
        "Finding('kind', message=first.message.rstrip('.'))",
        "Finding('kind', x if y else f'{z}')",
        "replace(finding, message=f'{finding.message} more')",
        "Mistake('id', 'symptom', ('one', f'{two}'))",
        "Part(f'keeps {x}', 1, judge)",
        "print('a' % b)",
        "print(' '.join(found))",
        "say(f'{x} is wrong')",
        "say('{what} is wrong', what='the result')",
        "say('{what} is wrong', what=f'the result of {x}')",
        "together(message.lower(), said)",
    ],
)
def test_what_is_put_together_is_found(source):
    assert list(faults(source, prints=True))


@pytest.mark.parametrize(
    "source",
    [
        "Finding('kind', 'Whole.')",
        "Finding('kind', say('{x} is wrong', x=f'`{y}`'))",
        "say('{what} is wrong', what=say('the result'))",
        "say('{values}', values=', '.join(names))",
        "print(say('Saved.'))",
        "raise ValueError(f'{x}')",
    ],
)
def test_what_is_whole_is_not(source):
    assert not list(faults(source, prints=True))


def test_an_f_string_with_words_is_found():
    assert list(f_strings("message = f'{name} returned nothing'"))
    assert not list(f_strings("raise ValueError(f'{name} returned nothing')\npart = f'`a b c`: {x}'"))


def words_of(template: str) -> list[str]:
    """The words of a page's template that are in no call of `say`."""
    seen = UNSEEN.sub(" ", template)
    texts = [*READ_ATTRIBUTE.findall(seen), re.sub(r"<[^>]*>", " ", seen)]
    return re.findall(r"[A-Za-z]{2,}", re.sub(r"&\w+;", " ", " ".join(texts)))


def test_templates_say_their_words():
    templates = [GRADER / "feedback" / "page.html", *sorted((WEBSITE / "templates").glob("*.html"))]
    assert len(templates) > 4
    assert {path.name: found for path in templates if (found := words_of(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize("template", ["<p>For {{ student }}</p>", '<nav aria-label="Pages"></nav>'])
def test_words_of_a_template_are_found(template):
    assert words_of(template)


def test_what_a_template_says_is_not():
    assert words_of('<style>p { color: red }</style><p class="a">{{ say("For {x}", x=student) }} {# why #}</p>') == []
