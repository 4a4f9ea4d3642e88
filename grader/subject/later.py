"""A module that is imported when something of it is first used, for what most notebooks import and few of the graded
cells use. The standard library's `LazyLoader` doesn't do here: a second `import` of the same module is a use to it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


def put_off(name: str) -> None:
    """From here on `import name`, of a module in a package, imports the package alone."""
    package, _dot, own = name.rpartition(".")
    if name not in sys.modules:
        module = _Later(name)
        module.__spec__ = importlib.util.find_spec(name)
        sys.modules[name] = module
        setattr(importlib.import_module(package), own, module)


def load(name: str) -> None:
    """Import a module, also one that was put off."""
    module = importlib.import_module(name)
    if isinstance(module, _Later):
        module.whole()


class _Later(ModuleType):
    def whole(self) -> ModuleType:
        """The module itself, in the place of this one from here on; who holds this one still has all of it."""
        if "_whole" not in vars(self):
            del sys.modules[self.__name__]
            vars(self)["_whole"] = importlib.import_module(self.__name__)
        found: ModuleType = vars(self)["_whole"]
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # of `from name import *`
            whole = self.whole()
            return getattr(whole, name, [one for one in vars(whole) if not one.startswith("_")])
        if name.startswith("__"):  # asked for by `import`
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(self.whole(), name, value)

    def __dir__(self) -> list[str]:
        return dir(self.whole())
