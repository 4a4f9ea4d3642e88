"""Points, as a teacher types them."""

from __future__ import annotations

import re

import click


class Points(click.ParamType):
    """A number that is written as Python reads it; how many an exercise has is known later."""

    name = "points"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number that a text is; click's usage error if it is none."""
        try:
            return float(value)
        except ValueError:
            pointed = value.replace(",", ".", 1)
            meant = f" Write {pointed}, with a point." if re.fullmatch(r"-?\d*\.?\d+", pointed) else ""
            self.fail(f"got {value!r}, expected a number such as 1.5.{meant}", param, ctx)
