"""Faults that earlier releases had, each put back into the code of today: random terms have to find them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from grader.atomic import write_atomically
from grader.course.files import TIMESTAMP, UntrustedFolder
from grader.course.lateness import timestamp
from grader.handed_in import collect, earlier, times
from grader.handed_in.archive import utc
from grader.handed_in.collect import _Collecting
from grader.handed_in.collect import in_place as found_in_place
from grader.handed_in.whose import Owner, Whose
from grader.platforms.platform import Author, Found


def early_time(patch: pytest.MonkeyPatch) -> None:
    """Work in a student's own zip has the earliest time of anything of its size and CRC-32."""

    def dated(self: Any, student: str, found: Found) -> Found:
        known = self._times.of(found.data, student) if found.inside.parts or not found.is_platforms else None
        return replace(found, time=min(known or found.time, found.time))

    digest = lambda data: SimpleNamespace(hexdigest=lambda: f"{zlib.crc32(data):08x}-{len(data)}")
    patch.setattr(times, "hashlib", SimpleNamespace(sha256=digest))
    patch.setattr(_Collecting, "_dated", dated)


def one_name_one_person(patch: pytest.MonkeyPatch) -> None:
    """Whoever has the name of one person on the roster is that person, whatever number the platform gives them."""
    settled = Whose._settled

    def alone(self: Any, author: Author, owner: Owner, _of_person: Any, of_key: Mapping[Any, set[str]]) -> Owner:
        return settled(
            self,
            author,
            owner,
            _of_person if len(owner.may_be) > 1 else {(author.platform, who): {} for who in owner.may_be},
            of_key,
        )

    patch.setattr(Whose, "_settled", alone)


def time_behind_notebook(patch: pytest.MonkeyPatch) -> None:
    """The notebook is put in place before its time, and a time that is there is taken for its own."""

    def put(course: Any, student: str, time: Any, data: bytes) -> None:
        target = course.folder(course.layout.submitted_directory, student)
        target.mkdir(parents=True, exist_ok=True)
        write_atomically(target / f"{course.lesson}.ipynb", data)
        write_atomically(target / TIMESTAMP, time.strftime(earlier.FORMAT))

    def in_place(self: Any, student: str) -> list[Found]:
        target = self._course.folder(self._course.layout.submitted_directory, student)
        path, folder = target / f"{self._course.lesson}.ipynb", UntrustedFolder(target)
        if not path.is_file():
            return []
        return [found_in_place(path.read_bytes(), timestamp(folder) or utc(path.stat().st_mtime))]

    for module in (collect, earlier):
        patch.setattr(module, "put", put)
    patch.setattr(_Collecting, "_in_place", in_place)
    patch.setattr(_Collecting, "_repair_time", lambda *_arguments: None)


FAULTS = {
    "early time": early_time,
    "one name, one person": one_name_one_person,
    "time behind notebook": time_behind_notebook,
}
