"""Merges a lesson three ways: the release that a course was made from, the teacher's notebook, a new release.

Cells are matched by their ids, which the build derives from the exercise, or from the text where there is none, and
which JupyterLab keeps. So a text that a release changes comes with a new id, and is paired with the one in whose place
it stands. What the teacher didn't change becomes new; what only the teacher changed stays; where both changed
something, the teacher's stays and is listed, and listed again at the next merge, until the teacher says whose it is to
be: `Merged.base` keeps such a cell as it was before both changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from grader.source.notebook import Cell

ALIKE = 0.5  # from here on two texts are the same one, changed


Side = Literal["mine", "theirs", ""]


@dataclass(frozen=True)
class Conflict:
    """A cell that both changed: as it was (`old`), the teacher's (`mine`), the release's (`new`; None if it is gone
    there). `side`: whose it is to be, "" as long as nobody has said so."""

    old: Cell
    mine: Cell
    new: Cell | None
    side: Side = ""

    @property
    def name(self) -> str:
        """The cell's id in the teacher's notebook."""
        return str(self.mine.get("id", ""))

    @property
    def name_then(self) -> str:
        """The cell's id in the merged notebook: it is the release's, as far as that has the cell."""
        return str((self.new or {}).get("id") or self.name)


@dataclass(frozen=True)
class Merged:
    """What a merge gave."""

    cells: tuple[Cell, ...]  # of the merged lesson
    base: tuple[Cell, ...] = ()  # that the next merge begins from
    changed: tuple[Cell, ...] = ()  # by the release
    added: tuple[Cell, ...] = ()  # by the release
    removed: tuple[Cell, ...] = ()  # the teacher's that the release no longer has
    conflicts: tuple[Conflict, ...] = ()  # cells that both changed


Keyed = dict[str, Cell]


def merge(
    base: Sequence[Cell], mine: Sequence[Cell], new: Sequence[Cell], side_of: Callable[[str], Side] = lambda _name: ""
) -> Merged:
    """Merge the cells of three notebooks: the old release's (`base`), the teacher's (`mine`) and the new release's.
    `side_of` says, by a cell's id in the teacher's notebook, whose a cell that both changed is to be; "" if nobody has
    said so."""
    old = {_id(cell, index): cell for index, cell in enumerate(base)}
    theirs = _named(old, new, pair=True)
    own = _named(old, mine)
    merged: Keyed = {}
    changed: list[Cell] = []
    removed: list[Cell] = []
    conflicts: dict[str, Conflict] = {}
    for key, cell in own.items():
        side = side_of(str(cell.get("id", "")))
        if key not in theirs:
            if key in old and cell["source"] != old[key]["source"]:
                conflicts[key] = Conflict(old[key], cell, None, side)
            if key in old and (key not in conflicts or side == "theirs"):
                removed.append(cell)
            else:
                merged[key] = cell
        elif key not in old:  # both added it
            merged[key] = theirs[key] if _same(cell, theirs[key]) else cell
        else:
            merged[key], clash = _cell(old[key], cell, theirs[key], side == "theirs")
            if clash:
                conflicts[key] = Conflict(old[key], cell, theirs[key], side)
            if not _same(old[key], theirs[key]) and not _same(cell, merged[key]):
                changed.append(merged[key])
    added = {key: cell for key, cell in theirs.items() if key not in old and key not in own}
    order = _order(list(old), list(own), list(theirs), {*merged, *added})
    cells = tuple((merged | added)[key] for key in order)
    kept = tuple(_base(old, theirs, {key for key, conflict in conflicts.items() if not conflict.side}))
    return Merged(cells, kept, tuple(changed), tuple(added.values()), tuple(removed), tuple(conflicts.values()))


def _base(old: Keyed, theirs: Keyed, open_: set[str]) -> list[Cell]:
    """The cells that the next merge begins from: the release's, but where a conflict is open the cell as it was, by the
    release's id."""
    found = {
        key: {**old[key], **({"id": cell["id"]} if "id" in cell else {})} if key in open_ else cell
        for key, cell in theirs.items()
    }
    keys, order = list(found), list(old)
    for key in order:
        if key in open_ and key not in found:
            before = next((earlier for earlier in reversed(order[: order.index(key)]) if earlier in keys), None)
            keys.insert(0 if before is None else keys.index(before) + 1, key)
            found[key] = old[key]
    return [found[key] for key in keys]


def _id(cell: Cell, index: int) -> str:
    return str(cell.get("id") or f"cell {index}")


def _same(one: Cell, other: Cell) -> bool:
    """Whether two cells say the same; what came out when they ran doesn't matter."""
    keys = ("nbgrader", "course")
    return one["source"] == other["source"] and all(one["metadata"].get(k) == other["metadata"].get(k) for k in keys)


def _named(old: Keyed, cells: Sequence[Cell], pair: bool = False) -> Keyed:
    """Cells by the id that they had in `old`: by their own, by an equal text where an editor has lost the ids or, with
    `pair`, by the one in whose place they stand. A new cell is named by its own id, or its index."""
    found: dict[int, str] = {index: cell["id"] for index, cell in enumerate(cells) if cell.get("id") in old}
    free = {key: cell for key, cell in old.items() if key not in found.values()}
    for index, cell in enumerate(cells):
        if index not in found:
            key = next((key for key, other in free.items() if _text(other) == _text(cell) and cell["source"]), None)
            if key is not None:
                found[index] = key
                del free[key]
    if pair:
        found |= _pairs(list(old.items()), [(found.get(i, ""), cell) for i, cell in enumerate(cells)])
    named: Keyed = {}
    for index, cell in enumerate(cells):
        key = found.get(index) or _id(cell, index)
        named[key if key not in named else f"{key} {index}"] = cell
    return named


def _text(cell: Cell) -> tuple[str, str]:
    return cell["cell_type"], cell["source"]


def _pairs(old: Sequence[tuple[str, Cell]], cells: Sequence[tuple[str, Cell]]) -> dict[int, str]:
    """For cells without a name that stand where an old one has gone and are much like it: by their index, the old one's
    name."""
    kept = {key for key, _cell in cells if key}
    matcher = SequenceMatcher(None, [key for key, _ in old], [key for key, _ in cells], autojunk=False)
    found: dict[int, str] = {}
    for _kind, i, i_end, j, j_end in matcher.get_opcodes():
        free = [(key, cell) for key, cell in old[i:i_end] if key not in kept]
        for index in range(j, j_end):
            key, cell = cells[index]
            if key:
                continue
            alike = [(_likeness(other, cell), -at) for at, (_key, other) in enumerate(free)]
            best, at = max(alike, default=(0.0, 0))
            if best >= ALIKE:
                found[index] = free.pop(-at)[0]
    return found


def _likeness(one: Cell, other: Cell) -> float:
    if one["cell_type"] != other["cell_type"]:
        return 0.0
    return SequenceMatcher(None, one["source"].split(), other["source"].split(), autojunk=False).ratio()


def _cell(base: Cell, mine: Cell, new: Cell, theirs: bool) -> tuple[Cell, bool]:
    """One cell merged of three, and whether both changed it; what both changed is the release's if `theirs`. What came
    out belongs to the text: it comes from where that does. The id is the release's, so that the next one finds it."""
    source, clash = _three(base["source"], mine["source"], new["source"], theirs)
    cell = {**(new if source == new["source"] else mine), "source": source}
    cell |= {"id": new["id"]} if "id" in new else {}
    cell["metadata"], other = _three(base["metadata"], mine["metadata"], new["metadata"], theirs)
    return cell, clash or other


def _three(base: Any, mine: Any, new: Any, theirs: bool) -> tuple[Any, bool]:
    """A value merged of three, item by item in a dict, and whether both changed it; what both changed is the release's
    if `theirs`."""
    if mine == new or new == base:
        return mine, False
    if mine == base:
        return new, False
    if not all(isinstance(value, dict) for value in (base, mine, new)):
        return (new if theirs else mine), True
    missing = object()
    found = {
        key: _three(base.get(key, missing), mine.get(key, missing), new.get(key, missing), theirs) for key in mine | new
    }
    return {key: value for key, (value, _) in found.items() if value is not missing}, any(c for _, c in found.values())


def _order(old: list[str], own: list[str], theirs: list[str], wanted: set[str]) -> list[str]:
    """The names of the cells that are `wanted` in the release's order, with the teacher's own behind what they follow;
    where the teacher moved cells in the teacher's order, with the release's new ones likewise."""
    common = [key for key in own if key in old]
    moved = common != [key for key in old if key in own]
    first, second = (own, theirs) if moved else (theirs, own)
    order = [key for key in first if key in wanted]
    for index, key in enumerate(second):
        if key in wanted and key not in order:
            before = next((earlier for earlier in reversed(second[:index]) if earlier in order), None)
            order.insert(0 if before is None else order.index(before) + 1, key)
    return order
