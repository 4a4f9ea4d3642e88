"""Reads each student's notebooks, as far as there is room: whoever hands in more makes nobody wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from grader.errors import Unreadable
from grader.platforms.platform import Found, Odd

# Of one student's notebooks so many are read, and so many times the bytes that one may have.
MOST_NOTEBOOKS, MOST_ROOM = 100, 2
KEPT = 256 << 20  # bytes of a class's notebooks that stay in memory; what is over that is read once more


@dataclass(frozen=True)
class Candidate:
    """A notebook that may count."""

    data: bytes = field(repr=False)
    time: datetime  # when it was handed in (UTC)
    found: Found | None = None  # None for the one that is in place already

    @property
    def path(self) -> str:
        """Its name in what was given; "" for the one in place."""
        return self.found.name if self.found else ""

    @property
    def late(self) -> bool:
        """Whether the platform says that it is late."""
        return self.found is not None and self.found.author.late


class Reading:
    """Reads notebooks of at most `most` bytes, each student's together; why one can't be read is noted in `odd`."""

    def __init__(self, most: int, odd: Odd) -> None:
        self._most, self._odd, self._room = most, odd, KEPT
        self._read: dict[str, list[tuple[Found, bytes | None]]] = {}

    def notebooks(self, whose: str, found: Sequence[Found]) -> list[tuple[Found, bytes]]:
        """The notebooks of a student, or of work that may be several people's, and their bytes. What couldn't be read
        isn't tried again."""
        if whose not in self._read:
            self._read[whose] = [(notebook, self._keep(data)) for notebook, data in self._first(whose, found)]
        return [(notebook, notebook.read() if data is None else data) for notebook, data in self._read[whose]]

    def _first(self, whose: str, found: Sequence[Found]) -> list[tuple[Found, bytes]]:
        if len(found) > MOST_NOTEBOOKS:
            self._odd[f"{whose}'s work"] = f"it has {len(found)} notebooks; the first {MOST_NOTEBOOKS} were looked at"
        room, read = MOST_ROOM * self._most, []
        for notebook in found[:MOST_NOTEBOOKS]:
            if notebook.size > room:
                self._odd[notebook.name] = "it wasn't looked at, because the notebooks before it are too large"
                continue
            room -= min(notebook.size, self._most)  # also of what then fails: to unpack it takes as long
            try:
                read.append((notebook, notebook.read()))
            except (Unreadable, OSError) as error:
                self._odd[notebook.name] = str(error)
        return read

    def _keep(self, data: bytes) -> bytes | None:
        if len(data) > self._room:
            return None
        self._room -= len(data)
        return data
