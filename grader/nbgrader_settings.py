"""nbgrader's settings as its `nbgrader_config.py` files give them: the machine's, the user's and a course's."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable

from jupyter_core.paths import jupyter_config_path
from traitlets.config import Application, Config

CONFIG = "nbgrader_config"
_loading = False


def settings(first: Iterable[str] = ()) -> Config:
    """The settings of nbgrader: those of the machine and the user, and above them those in the folders `first`. Raises
    whatever one of the files raises."""
    config = Config()
    for loaded, _name in Application._load_config_files(
        CONFIG, path=[*first, *jupyter_config_path()], raise_config_file_errors=True
    ):
        config.merge(loaded)
    return config


def foreign_exchange(config: Config) -> list[str]:
    """The names of the parts of nbgrader's exchange for which these settings have others than nbgrader's or this
    course's, as ngshare's have; empty if all are its own."""
    own = ("nbgrader.exchange.default", "grader.handed_in")
    return [f"c.ExchangeFactory.{name}" for name, part in _parts(config) if not part.startswith(own)]


def _parts(config: Config) -> Iterable[tuple[str, str]]:
    for name, part in config.get("ExchangeFactory", {}).items():
        yield name, part if isinstance(part, str) else f"{part.__module__}.{part.__name__}"


def machine_has_its_own_exchange() -> bool:
    """Whether the machine or the user has set another exchange, for every course. It is for a file of settings to ask;
    a file that asks while it is being read to answer that question is told no."""
    global _loading
    if _loading:
        return False
    _loading = True
    try:
        return bool(foreign_exchange(settings()))
    except Exception:  # nbgrader reads these files too, and says what is wrong with them
        return False
    finally:
        _loading = False


def programs_on_path() -> None:
    """Put this environment's programs first on the PATH of this process: nbgrader calls `alembic` by its name when it
    makes a gradebook, and the environment may not be activated."""
    programs, path = sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)
    if path.split(os.pathsep)[0] != programs:
        os.environ["PATH"] = f"{programs}{os.pathsep}{path}"
