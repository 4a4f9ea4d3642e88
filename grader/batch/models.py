"""nbgrader's models and layout, without what the package brings along: `import nbgrader` loads the extensions of the
Jupyter server.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


def nbgrader(module: str) -> Any:
    """The module `nbgrader.<module>`."""
    if "nbgrader" not in sys.modules:
        _bare()
    return importlib.import_module(f"nbgrader.{module}")


def _bare() -> None:
    """The package with its parts, but without what stands in its own file."""
    found = importlib.util.find_spec("nbgrader")
    assert found is not None
    package = ModuleType("nbgrader")
    package.__spec__, package.__path__ = found, list(found.submodule_search_locations or ())
    sys.modules["nbgrader"] = package
