"""All platforms: whatever file of this folder has a `PLATFORM`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache

from grader import platforms as folder
from grader.platforms.moodle_languages import in_english as in_english  # of lists, whatever platform's
from grader.platforms.platform import Author, Platform, Row, Source


@cache
def platforms() -> tuple[Platform, ...]:
    """Every platform; of several that know a name the first counts."""
    modules = [
        importlib.import_module(f"{folder.__name__}.{each.name}") for each in pkgutil.iter_modules(folder.__path__)
    ]
    found = [module.PLATFORM for module in modules if hasattr(module, "PLATFORM")]
    return tuple(sorted(found, key=lambda platform: platform.rank))


def by_key(key: str) -> Platform:
    """The platform with this key."""
    return next(platform for platform in platforms() if platform.key == key)


def known_headings() -> dict[str, str]:
    """By heading the column of the roster that is read from it, of all platforms."""
    return {head: column for platform in reversed(platforms()) for head, column in platform.headings.items()}


def of_list(heads: Sequence[str]) -> Platform:
    """Whose list it is by its headings in English."""
    own = (platform for platform in platforms() if platform.ids and platform.is_headed <= set(heads))
    return max(own, key=lambda platform: len(platform.is_headed))  # one that needs no heading has any list


def authors(source: Source) -> dict[str, Author]:
    """The authors of all hand-ins of a source, by the names that they have there."""
    found: dict[str, Author] = {}
    for platform in reversed(platforms()):
        found.update(platform.authors(source))
    return found


def worksheet(rows: Sequence[Row]) -> tuple[str, Mapping[str, Author]]:
    """The key of the platform whose list about one assignment this is, and who is who there; twice nothing if it is
    none's."""
    for platform in platforms():
        if people := platform.worksheet(rows):
            return platform.key, people
    return "", {}
