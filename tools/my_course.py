"""The folder that a learner works in: copies of notebooks/, laid there by `make start` and never overwritten.

`lab.py` in release/student/jupyter/ calls it before JupyterLab starts. It needs nothing but Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

WHERE = "COURSE_FOLDER"  # the environment's variable that names another folder; `make start FOLDER=...` sets it
FOLDER = "my-course"  # in the repository, ignored by git
# What was laid there: for each file the digest of the lesson as it was laid, and for each lesson that of the newest
# version that was told of.
RECORD = ".attention-course.json"
BEGUN = "The lessons are in {folder}. What you write there is yours, and no command of the course overwrites it."
REPLACED = "{name} is now the lesson's new version. You had not changed the old one."
BESIDE = "There is a new version of {name}. Yours stays as it is, and the new one lies beside it: {beside}."
BUILT = "{folder} is a folder that the course is built into, so what you write there would be lost. Choose another one."


def folder_of(root: Path) -> Path:
    """The learner's folder in the repository `root`, or where COURSE_FOLDER says. SystemExit, with a sentence, for one
    of the repository's own."""
    folder = Path(os.environ.get(WHERE) or root / FOLDER).expanduser().absolute()
    if folder.resolve() in [root, *((root / name).resolve() for name in ("notebooks", "solutions", "lessons"))]:
        raise SystemExit(BUILT.format(folder=folder))
    return folder


def lay(notebooks: Path, folder: Path) -> list[str]:
    """Put each notebook that isn't in `folder` there, of the folder `notebooks` and of those in it. One that is there
    is only replaced if nobody has changed it since it was laid; otherwise a new version comes beside it, once. Returns
    what there is to tell, a sentence each."""
    folder.mkdir(parents=True, exist_ok=True)
    record = _read(folder / RECORD)
    said = [] if record["laid"] else [BEGUN.format(folder=folder)]
    for source in sorted([*notebooks.glob("*.ipynb"), *notebooks.glob("*/*.ipynb")]):  # those in other languages, too
        said += _lay_one(source, source.relative_to(notebooks).as_posix(), folder, record)
    text = json.dumps(record, indent=1, sort_keys=True)
    if not (folder / RECORD).exists() or (folder / RECORD).read_text("utf-8") != text:
        _write(folder / RECORD, text.encode())
    return said


def _lay_one(source: Path, name: str, folder: Path, record: dict[str, dict[str, str]]) -> list[str]:
    laid, told = record["laid"], record["told"]
    content = source.read_bytes()
    new, there = _digest(content), _digest_of(folder / name)
    if there is not None and there not in (new, laid.get(name)):  # it is the learner's own by now
        if new in (laid.get(name), told.get(name)):
            return []
        beside = _beside(folder, name, laid, new)
        _write(folder / beside, content)
        laid[beside] = told[name] = new
        return [BESIDE.format(name=name, beside=beside)]
    if there != new:
        _write(folder / name, content)
    laid[name] = told[name] = new
    return [REPLACED.format(name=name)] if there not in (None, new) else []


def _beside(folder: Path, name: str, laid: dict[str, str], new: str) -> str:
    """The name of the file that a lesson's new version comes into: the first that isn't taken. A version that was laid
    before, and that nobody has changed, isn't in its way."""
    count = 1
    while True:
        beside = name.replace(".ipynb", ".new.ipynb" if count == 1 else f".new-{count}.ipynb")
        if _digest_of(folder / beside) in (None, new, laid.get(beside)):
            return beside
        count += 1


def _read(path: Path) -> dict[str, dict[str, str]]:
    """The record, empty where there is none or where it can't be read: then every file counts as the learner's own."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return {part: {str(name): str(digest) for name, digest in found[part].items()} for part in ("laid", "told")}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {"laid": {}, "told": {}}


def _digest_of(path: Path) -> str | None:
    return _digest(path.read_bytes()) if path.exists() else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whatever stops it."""
    path.parent.mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with open(handle, "wb") as file:
        file.write(content)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)
