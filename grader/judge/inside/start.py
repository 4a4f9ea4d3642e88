"""Starts a zygote: `python start.py FD CONFINEMENT FOLDER...`, with the folders of installed packages.

In there `grader` is the stub beside this file. Once the zygote has imported what it needs, nothing else can be had of
this package.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def stub(name: str) -> ModuleType:
    """Makes the stub pass for this module."""
    place = importlib.util.spec_from_file_location(name, Path(__file__).with_name("grader_stub.py"))
    assert place is not None
    assert place.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def main() -> None:
    """Fork on request: see `grader.subject.zygote_process`."""
    sys.path += sys.argv[3:]
    package = stub("grader")
    package.__path__ = [str(Path(__file__).parents[2])]
    from grader.subject import zygote_process

    package.views = stub("grader.views")  # type: ignore[attr-defined]
    package.__path__ = []
    zygote_process.main()


if __name__ == "__main__":
    main()
