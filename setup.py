"""What the package's metadata says of where its repository is: website/settings.toml has the address, or none."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
SETTINGS = HERE / "website" / "settings.toml"
# The address of a picture or a link in README that leads to a file of the repository.
TO_FILE = re.compile(r'(src="|\]\()(?!https?:|#)([^")]+)')


def description(readme: str, repository: str) -> str:
    """The text of README as an index of packages shows it: what leads to a file leads to the repository, if its address
    is known.

    >>> description("[Docs](docs/a.md), [below](#below)", "https://example.org/it")
    '[Docs](https://example.org/it/raw/main/docs/a.md), [below](#below)'
    """
    return TO_FILE.sub(rf"\g<1>{repository}/raw/main/\g<2>", readme) if repository else readme


def addresses(repository: str) -> dict[str, str]:
    """The addresses of the project by name; none if the repository's isn't known."""
    if not repository:
        return {}
    return {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }


if __name__ == "__main__":
    repository = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["repository"] if SETTINGS.exists() else ""
    setup(
        long_description=description((HERE / "README.md").read_text(encoding="utf-8"), repository),
        long_description_content_type="text/markdown",
        project_urls=addresses(repository),
    )
