"""Starts a zygote: `python start.py FD`. On that socket the first packet is JSON: the confinement, and the folders of
installed packages. What stands in a command can be read by the code that runs in there, so nothing of it does.

In there `grader` is the stub beside this file. Once the zygote has imported what it needs, nothing else can be had of
this package.
"""

import importlib.util
import json
import socket
import sys
from pathlib import Path
from types import ModuleType

PACKET = 1 << 20


def stub(name: str) -> ModuleType:
    """Make the stub beside this file pass for the module `name`. Returns it."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("grader_stub.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Fork on request: see `grader.subject.zygote_process`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    orders = json.loads(control.recv(PACKET))
    sys.path += orders["packages"]
    sys.argv[:] = sys.orig_argv[:] = [""]
    package = stub("grader")
    package.__path__ = [str(Path(__file__).parents[2])]
    from grader.subject import zygote_process

    package.views = stub("grader.views")  # type: ignore[attr-defined]
    package.__path__ = []
    zygote_process.main(control, zygote_process.Confinement(**orders["confinement"]))


if __name__ == "__main__":
    main()
