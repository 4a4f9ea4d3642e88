"""The English sentences in the source of Python, JavaScript and templates that a learner may read.

What is given to `say("…")` is one. So is every plain string with two words or more in the modules that speak to
learners, whether `say` gets it at once or through a table: a text too many costs a translator a minute, one too few
stays English. Names in capitals that `say` gets have single words too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from babel.messages.jslexer import Token, tokenize, unquote_string

from grader.errors import CourseError
from grader.sentences import PLACEHOLDER

Found = tuple[str, int]  # a text and its line
WORD = re.compile(r"[\"(“]?[A-Za-z][a-z'’-]*[.,:;?!)\"”]*")
LOWER = re.compile(r"[a-z]{3}")
# Calls whose strings no learner reads: patterns, seeds, what torch's messages have in them.
UNREAD = {
    *("compile", "search", "match", "fullmatch", "sub", "findall", "finditer", "startswith", "endswith"),
    *("Draw", "_raises"),
}
KEYED = {"once"}  # calls whose first argument is a key
PATTERN = re.compile(r"\\|</|\||://|\[[A-Za-z]{2}\]")  # what no prose has
# Of a view's source, what is prose by its form alone: names of classes, queries of CSS.
STYLE = re.compile(r"^\[|prefers-|\batt-")
# Of a table that `say` gets, in contrast to names in code, and to axes.
LABEL = re.compile(r"[A-Za-z][A-Za-z][A-Za-z ,'’-]*[.?!]?")
AXES = re.compile(r"[A-Z][a-z]?(?: [A-Z][a-z]?)*")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NOT_SAID = {"NOTATION"}  # tables in capitals whose words lessons have in rows of their own
SAY_IN_TEMPLATE = re.compile(r"""\bsay\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
SAYS = ("say", "shown")
SAY = re.compile(r"\bsay\(")


def is_prose(text: str) -> bool:
    """Whether a string has two words or more outside of code, or one beside a placeholder, and isn't a pattern or HTML.

    >>> [is_prose(text) for text in ("all rows near 10000", "{count} days", "... Tq D", "wrong-shape", "`a b` twice")]
    [True, True, False, False, False]
    """
    if PATTERN.search(text):
        return False
    outside = "".join(text.split("`")[::2]).split()
    words = [word for word in outside if WORD.fullmatch(word)]
    enough = 1 if PLACEHOLDER.search(text) else 2
    return len(words) >= enough and LOWER.search(" ".join(words)) is not None


def of_python(paths: Iterable[Path], only_said: bool = False) -> Iterator[tuple[Path, list[Found]]]:
    """The sentences of Python modules, in their order; with `only_said` those that `say` gets. `CourseError` with the
    line of a `say` whose text is put together."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    tables: dict[str, list[tuple[Path, ast.expr]]] = {}
    for path, tree in trees.items():
        for name, value in _bound(tree):
            tables.setdefault(name, []).append((path, value))
    found = {path: dict(_read(path, tree, only_said)) for path, tree in trees.items()}
    for path, tree in trees.items():
        for name in _names_said(tree):
            tables_here = [(where, value) for where, value in tables.get(name, ()) if where == path]
            for where, value in tables_here or tables.get(name, []):
                found[where] |= {text: line for text, line in _values(value) if text not in found[where]}
    for path in trees:
        yield path, sorted(found[path].items(), key=lambda one: one[1])


def _bound(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """What a module binds at its top, by name."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from ((name.id, node.value) for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _says(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYS and node.args:
            yield node


def _read(path: Path, tree: ast.Module, only_said: bool) -> Iterator[Found]:
    for call in _says(tree):
        text = call.args[0]
        if isinstance(text, ast.JoinedStr | ast.BinOp):
            raise CourseError(
                f"{path.as_posix()}:{call.lineno}: the text of say(...) is put together, so it can't be translated. "
                "Write the whole sentence, with names in braces for its values."
            )
        yield from _strings(text)
    unread = _unread(tree)
    for node in [] if only_said else ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in unread:
            continue
        if is_prose(node.value):
            yield node.value, node.lineno


def _strings(value: ast.expr) -> Iterator[Found]:
    """The strings that an expression may be: itself, or either branch."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value, value.lineno
    elif isinstance(value, ast.IfExp):
        yield from _strings(value.body)
        yield from _strings(value.orelse)


def _unread(tree: ast.Module) -> set[int]:
    """The nodes of strings that no learner reads: docstrings, parts of f-strings, what is compared or looked for in a
    message, keys, what an error for authors says."""
    nodes: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            nodes.add(id(node.value))
        function = node.func if isinstance(node, ast.Call) else None
        called = getattr(function, "id", getattr(function, "attr", ""))
        is_search = isinstance(node, ast.GeneratorExp) and isinstance(node.elt, ast.Compare)
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Compare) or is_search or called in UNREAD:
            nodes |= {id(one) for one in ast.walk(node) if isinstance(one, ast.Constant)}
        if isinstance(node, ast.Call) and called in KEYED:
            nodes |= {id(one) for one in ast.walk(node.args[0])}
        if isinstance(node, ast.FunctionDef):
            nodes |= {id(one) for table in _searched(node) for one in ast.walk(table)}
    for name, value in _bound(tree) if isinstance(tree, ast.Module) else ():
        if name in NOT_SAID:
            nodes |= {id(one) for one in ast.walk(value)}
    return nodes


def _searched(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function binds to a name and then looks for, one by one: `any(word in message for word in words)`."""
    inside = list(ast.walk(function))
    searches = [node for node in inside if isinstance(node, ast.GeneratorExp) and isinstance(node.elt, ast.Compare)]
    names = {part.iter.id for one in searches for part in one.generators if isinstance(part.iter, ast.Name)}
    for node in inside:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") in names for target in node.targets):
            yield node.value


def _names_said(tree: ast.Module) -> Iterator[str]:
    """The names in capitals that `say` gets the text from: `say(STATES[state])`, or one by one as in
    `[say(word) for word in WORDS]`."""
    sources = [call.args[0] for call in _says(tree)]
    for node in ast.walk(tree):
        if isinstance(node, COMPREHENSIONS) and any(_says(node)):
            sources += [part.iter for part in node.generators]
    for node in (node for source in sources for node in ast.walk(source)):
        name = getattr(node, "id", getattr(node, "attr", ""))
        if name.isupper():
            yield name


def _values(value: ast.expr) -> Iterator[Found]:
    """The strings of a table: of a dict its values."""
    parts = value.values if isinstance(value, ast.Dict) else [value]
    for node in (node for part in parts for node in ast.walk(part)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_label(node.value):
            yield node.value, node.lineno


def _is_label(text: str) -> bool:
    return is_prose(text) or (LABEL.fullmatch(text) is not None and AXES.fullmatch(text) is None)


def of_javascript(path: Path) -> list[Found]:
    """The sentences of a module in JavaScript, in their order. `CourseError` with the line of a `say` whose text is put
    together."""
    tokens = list(tokenize(path.read_text("utf-8"), jsx=False))
    strings = _joined(tokens)
    said = {strings[at + 2][0]: strings[at + 2] for at in _calls(tokens, path) if at + 2 in strings}
    names = {tokens[at + 2].value for at in _calls(tokens, path) if tokens[at + 2].value.isupper()}
    found: dict[str, int] = {}
    for at, (text, line) in strings.items():
        is_words = is_prose(text) and not STYLE.search(text)
        if text in said or is_words or (_table(tokens, at) in names and _is_label(text)):
            found.setdefault(text, line)
    for token in tokens:
        for match in SAY_IN_TEMPLATE.finditer(token.value if token.type == "template_string" else ""):  # `${say("…")}`
            found.setdefault(_unescaped(match), token.lineno)
    return list(found.items())


def _calls(tokens: list[Token], path: Path) -> Iterator[int]:
    """The places of `say` before a bracket, where it is no method."""
    for at, token in enumerate(tokens[:-2]):
        if token.value != "say" or tokens[at + 1].value != "(" or (at and tokens[at - 1].value in (".", "function")):
            continue
        if at and tokens[at - 1].type == "name" and tokens[at - 1].value in ("static", "async", "get"):
            continue
        if tokens[at + 2].type == "template_string" and "${" in tokens[at + 2].value:
            raise CourseError(
                f"{path.as_posix()}:{token.lineno}: the text of say(...) is put together, so it can't be translated. "
                "Write the whole sentence, with names in braces for its values."
            )
        yield at


def _joined(tokens: list[Token]) -> dict[int, Found]:
    """The strings of a module by the place of their first token; what `+` joins is one."""
    found: dict[int, Found] = {}
    at = 0
    while at < len(tokens):
        token, first = tokens[at], at
        if token.type == "string" or (token.type == "template_string" and "${" not in token.value):
            text = _plain(token)
            while (
                at + 2 < len(tokens)
                and tokens[at + 1].value == "+"
                and tokens[at + 2].type in ("string", "template_string")
                and "${" not in tokens[at + 2].value
            ):
                at += 2
                text += _plain(tokens[at])
            found[first] = text, token.lineno
        at += 1
    return found


def _plain(token: Token) -> str:
    return token.value[1:-1] if token.type == "template_string" else unquote_string(token.value)


def _table(tokens: list[Token], at: int) -> str:
    """The name in capitals that the statement around a token binds, `const NAME = …`; "" if there is none, or if the
    token is a key."""
    if at + 1 < len(tokens) and tokens[at + 1].value == ":":
        return ""
    for before in range(at, max(at - 400, -1), -1):
        if tokens[before].value in ("const", "let"):
            return tokens[before + 1].value
    return ""


def of_template(path: Path) -> list[Found]:
    """The sentences of a page's template: what `say("…")` gets there. `CourseError` with the line of one that isn't a
    plain string."""
    text = path.read_text("utf-8")
    found = list(SAY_IN_TEMPLATE.finditer(text))
    plain = {match.start() for match in found}
    for call in SAY.finditer(text):
        if call.start() not in plain:
            line = text.count("\n", 0, call.start()) + 1
            raise CourseError(f'{path.as_posix()}:{line}: expected a plain string, say("…")')
    return [(_unescaped(match), text.count("\n", 0, match.start()) + 1) for match in found]


def _unescaped(match: re.Match[str]) -> str:
    """The text that SAY_IN_TEMPLATE has found."""
    return re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2])
