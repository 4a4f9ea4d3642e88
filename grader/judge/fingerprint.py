"""What a mark depends on, as one hash: the same hash means the same mark, so nothing has to be graded again."""

from __future__ import annotations

import ast
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from grader.exercises.own import OwnFiles, imports_of
from grader.judge.limits import Limits
from grader.judge.outline import Outline

PACKAGE = Path(__file__).parents[1]
# Where grading begins, in the judge's process and in the student's.
GRADING = ("grader.judge.grading", "grader.judge.inside.start", "grader.judge.inside.grader_stub")
# What a module may read from its own folder.
DATA = ("*.json", "*.safetensors")
SPECIFICATION = "the specification"
# A change of these, or of a specification, changes no mark by itself: `grader regrade` shows first what it would do.
# What a teacher changes in the course directory (points, tests of their own, the secret) is taken over by the next run.
WAITING = frozenset({"the judge", "torch", "the limits", "the sandbox", "carry_forward"})


@dataclass(frozen=True)
class GradingSettings:
    """How a lesson is graded."""

    outline: Outline  # of the instructor's notebook
    secret: bytes  # stays out of logs and messages
    limits: Limits
    unsafe: bool = False  # without confinement
    # What a second check gives for work that builds on an earlier exercise that fails: a key of `CARRY_FORWARD`.
    carry_forward: str = "none"

    def __repr__(self) -> str:
        return f"GradingSettings({self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """The settings and the code that grades as one hash, from which the secret can't be had."""
        code = version_for(self.outline)
        parts = (self.outline.digest, code, repr(self.limits), str(self.unsafe), self.carry_forward)
        return hmac.new(self.secret, "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    @property
    def version(self) -> str:
        """A short name of the fingerprint, for logs."""
        return self.fingerprint[:16]

    @cached_property
    def basis(self) -> dict[str, str]:
        """What marks depend on, piece by piece, by the pieces' names: the same text or digest means that the piece is
        the same."""
        judge, outline = set(files_that_decide(())), self.outline
        pieces = {}
        for name in outline.exercises:
            own = tuple((exercise, text) for exercise, text in outline.own if exercise == name)
            files = set(files_that_decide([] if own else [name], own)) - judge
            pieces[f"{SPECIFICATION} of {name}"] = _digest_of(sorted(files), repr(own))
        return pieces | {
            "the judge": _digest_of(sorted(judge)),
            "torch": metadata.version("torch").partition("+")[0],
            "the limits": ", ".join(f"{name} {value}" for name, value in vars(self.limits).items()),
            "the sandbox": "not used" if self.unsafe else "used",
            "carry_forward": self.carry_forward,
            "the instructor's notebook": outline.digest[:16],
            "the secret": hmac.new(self.secret, b"basis", hashlib.sha256).hexdigest()[:16],
        }

    def key(self, student: str, submission: str) -> str:
        """The key of one result; `submission` is the hash of the notebook, or why it can't be read."""
        return hashlib.sha256("\0".join((self.fingerprint, student, submission)).encode()).hexdigest()


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The pieces of a basis that differ between `before` and `now`, in words.

    >>> changed({"torch": "2.8.0", "the limits": "cells 9"}, {"torch": "2.8.0", "the limits": "cells 8"})
    ['the limits']
    """
    return [piece for piece in now if before.get(piece) != now[piece]]


def waits_for_regrade(pieces: Iterable[str]) -> bool:
    """Whether work that is graded stays as it is after a change of these pieces, until `grader regrade` is asked."""
    return any(piece in WAITING or piece.startswith(SPECIFICATION) for piece in pieces)


def version_for(outline: Outline) -> str:
    """The version of the code here that grades an instructor's notebook, as a hash. It is no part of the settings:
    those travel to workers, and each worker is asked for its own version."""
    return code_version(outline.exercises, outline.own)


def code_version(names: Iterable[str], own: OwnFiles = ()) -> str:
    """A hash of torch's version and of the files that the marks of these exercises depend on. The `own` files among
    them are part of the instructor's notebook; what they import counts here."""
    digest = hashlib.sha256(metadata.version("torch").partition("+")[0].encode())
    _add_files(digest, files_that_decide(names, own))
    return digest.hexdigest()


def _digest_of(paths: Iterable[Path], text: str = "") -> str:
    digest = hashlib.sha256(text.encode())
    _add_files(digest, paths)
    return digest.hexdigest()[:16]


def _add_files(digest: hashlib._Hash, paths: Iterable[Path]) -> None:
    for path in paths:
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())


def files_that_decide(names: Iterable[str], own: OwnFiles = ()) -> list[Path]:
    """The files of this package that the marks of these exercises depend on.

    They are the modules that specify the exercises and the modules that grade, with everything that they import, the
    data beside them, and the words of mistakes, which are in the results. Other lessons' exercises, nbgrader's part and
    whatever draws a report are left out.
    """
    specified = [path for name in names for path in PACKAGE.glob(f"exercises/lesson_*/{name}.py")]
    waiting = [*GRADING, *(f"grader.exercises.{path.parent.name}.{path.stem}" for path in specified)]
    waiting += [name for tree in imports_of(own) for name in _imported(tree)]
    sources: set[Path] = set()
    while waiting:
        source = _source(waiting.pop())
        if source is not None and source not in sources:
            sources.add(source)
            waiting += _imports(source)
    words = {source.with_suffix(".md") for source in sources}
    data = {path for source in sources for kind in DATA for path in source.parent.glob(kind)}
    return sorted(sources | data | {path for path in words if path.is_file()})


def _source(module: str) -> Path | None:
    """The file of a module or package, by its dotted name; None for a name inside one."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (path.with_suffix(".py"), path / "__init__.py") if path.is_file()), None)


@cache
def _imports(source: Path) -> tuple[str, ...]:
    """Every dotted name of this package that a file imports: modules, and names inside them."""
    return tuple(_imported(ast.parse(source.read_bytes())))


def _imported(tree: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError(f"line {node.lineno}: this import is relative; write the whole name, from `grader` on")
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "grader")
