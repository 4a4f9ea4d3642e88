"""A choice of platforms on the command line, by what they can do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from grader.platforms.registry import platforms


class OneOfPlatforms(click.ParamType):
    """One of the platforms that have something, such as "takes_marks", or another word. They are looked up when it is
    asked for: a platform is a file, and may have come since."""

    name = "platform"

    def __init__(self, having: str, others: Iterable[str] = ()) -> None:
        self._having, self._others = having, tuple(others)

    @property
    def choices(self) -> list[str]:
        """The words that may be chosen."""
        return [*(platform.key for platform in platforms() if getattr(platform, self._having)), *self._others]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The choices, as click shows them."""
        return f"[{'|'.join(self.choices)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The choice as it was typed; anything else ends the command."""
        if value not in self.choices:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, self.choices))}.", param, ctx)
        return str(value)
