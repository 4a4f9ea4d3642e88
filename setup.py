"""What a wheel has besides the files of the package, however it is built.

Its metadata says where the repository is, if website/settings.toml does, and `reset` finds the exercises' original
cells, which are taken from the students' notebooks.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

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


def starter_code(notebooks: Path) -> dict[str, str]:
    """The cell that students get of each exercise, by its name."""
    cells = [
        cell for path in sorted(notebooks.glob("*.ipynb")) for cell in json.loads(path.read_text("utf-8"))["cells"]
    ]
    found = [(cell["metadata"].get("course", {}), "".join(cell["source"])) for cell in cells]
    return {about["exercise"]: source for about, source in found if about.get("role") == "solution"}


class BuildWithStarterCode(build_py):
    """Puts the exercises' cells into the wheel. An editable installation finds them in the repository."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            packed = json.dumps(starter_code(HERE / "notebooks"), indent=1)
            Path(self.build_lib, "grader", "learner", "starter_code.json").write_text(packed, encoding="utf-8")


if __name__ == "__main__":
    repository = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["repository"] if SETTINGS.exists() else ""
    setup(
        long_description=description((HERE / "README.md").read_text(encoding="utf-8"), repository),
        long_description_content_type="text/markdown",
        project_urls=addresses(repository),
        cmdclass={"build_py": BuildWithStarterCode},
    )
