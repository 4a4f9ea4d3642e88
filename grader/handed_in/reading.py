"""Reads each student's notebooks, as far as there is room: whoever hands in more makes nobody wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.errors import Unreadable
from grader.platforms.platform import Found, Odd

# Of one student's notebooks so many are read, and so many times the bytes that one may have.
MOST_NOTEBOOKS, MOST_ROOM = 100, 2
KEPT = 256 << 20  # bytes of a class's notebooks that stay in memory; what is over that is read once more


class Reading:
    """Reads notebooks of at most `most` bytes, each student's together; why one can't be read is noted in `odd`."""

    def __init__(self, most: int, odd: Odd) -> None:
        self._most, self._odd, self._room = most, odd, KEPT
        self._read: dict[str, list[Found]] = {}

    def notebooks(self, whose: str, found: Sequence[Found]) -> list[Found]:
        """The notebooks of a student, or of work that may be several people's, with their bytes. What couldn't be read
        isn't tried again."""
        if whose not in self._read:
            self._read[whose] = [self._keep(notebook) for notebook in self._first(whose, found)]
        return [notebook if notebook.data else _with_bytes(notebook) for notebook in self._read[whose]]

    def _first(self, whose: str, found: Sequence[Found]) -> list[Found]:
        if len(found) > MOST_NOTEBOOKS:
            self._odd[f"{whose}'s work"] = f"it has {len(found)} notebooks; the first {MOST_NOTEBOOKS} were looked at"
        room, read = MOST_ROOM * self._most, []
        for notebook in found[:MOST_NOTEBOOKS]:
            if notebook.size > room:
                self._odd[notebook.name] = "it wasn't looked at, because the notebooks before it are too large"
                continue
            room -= min(notebook.size, self._most)  # also of what then fails: to unpack it takes as long
            try:
                read.append(_with_bytes(notebook))
            except (Unreadable, OSError) as error:
                self._odd[notebook.name] = str(error)
        return read

    def _keep(self, notebook: Found) -> Found:
        if len(notebook.data) > self._room:
            return replace(notebook, data=b"")
        self._room -= len(notebook.data)
        return notebook


def _with_bytes(notebook: Found) -> Found:
    return replace(notebook, data=notebook.read())
