"""Gradescope: the folders of an export with their one list, and `results.json` of its autograder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from grader.errors import Unreadable
from grader.platforms.platform import Author, Found, Platform, Source

NAME, LISTING = re.compile(r"submission_\d+"), "submission_metadata.yml"
MAX_LISTING = 4 << 20  # bytes; a class of 300 without results has 30,000, and a megabyte takes ten seconds to read


class Gradescope(Platform):
    """Gradescope."""

    key, title, rank = "gradescope", "Gradescope", 10
    pattern, listing, gives_result = NAME, LISTING, True
    names_in_words = "`submission_12345/`, and who that is in the one `submission_metadata.yml` beside these folders"
    students_write = "their name and student number there; a list in their own folder; not the address"
    times_in_words = "`created_at` of that list"
    marks_in_words = "`results.json`, by Gradescope's autograder ([elsewhere](elsewhere.md))"

    def authors(self, source: Source) -> dict[str, Author]:
        """By the list, where there is one of it."""
        submitters = dict(self._submitters(source))
        return {
            top: submitters.get(top, Author(self.key, top, top))
            for top, is_folder in source.tops.items()
            if is_folder and NAME.fullmatch(top)
        }

    def _submitters(self, source: Source) -> Iterator[tuple[str, Author]]:
        lists = source.lists.get(LISTING, ())
        if not lists:
            return
        where = lists[0].name
        if len(lists) > 1:
            source.odd[where] = "this file occurs more than once, so no folder's owner is known"
            return
        try:
            for folder, about in _loaded(lists[0]).items():
                with contextlib.suppress(Exception):  # whoever's it is, is not known
                    yield str(folder), self._author(str(folder), about)
        except Unreadable as error:
            source.odd[where] = str(error)
        except Exception as error:  # a file of somebody else's, of whatever form
            source.odd[where] = f"it can't be read as Gradescope's list: {type(error).__name__}"

    def _author(self, folder: str, about: Any) -> Author:
        people = [person for person in about[":submitters"] if isinstance(person, dict)]
        ids, addresses, names = (
            [str(person[told]) for person in people if _is_plain(person.get(told))]
            for told in (":sid", ":email", ":name")
        )
        time = about.get(":created_at")
        when = time.astimezone(UTC).replace(tzinfo=None) if isinstance(time, datetime) else None
        numbers = tuple(("email", address) for address in addresses[:1])
        return Author(self.key, folder, folder, folder, numbers, tuple(ids[:1]), names=tuple(names[:1]), time=when)

    def result(self, about: Mapping[str, Any], visibility: str) -> dict[str, Any]:
        """`results.json`: a test for each exercise."""
        return {
            "score": about["mark"],
            "execution_time": about["seconds"],
            "output": "\n".join(about["notes"]),
            "visibility": visibility,
            "stdout_visibility": "hidden",
            "tests": [
                {
                    "name": row["name"],
                    "score": row["mark"],
                    "max_score": row["points"],
                    "status": "passed" if row["mark"] == row["points"] else "failed",
                    "output": row["text"],
                    "output_format": "text",
                    "visibility": visibility,
                }
                for row in about["exercises"]
            ],
        }


def _loaded(listing: Found) -> dict[Any, Any]:
    """The list. Keys that stand for what another one holds (`<<`) stay as they are: they could unfold to any size."""
    import yaml  # not needed by whoever grades nothing from Gradescope

    class Plain(yaml.SafeLoader):
        def flatten_mapping(self, node: Any) -> None:
            pass

    if listing.size > MAX_LISTING:
        raise Unreadable(f"it has {listing.size} bytes; at most {MAX_LISTING} are read")
    return dict(yaml.load(listing.read(), Loader=Plain))


def _is_plain(value: Any) -> bool:
    """Whether a value is a text or a number that says something. Nested aliases have a text of any length."""
    return bool(value) and isinstance(value, str | int)


PLATFORM = Gradescope()
