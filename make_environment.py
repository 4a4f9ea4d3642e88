"""Makes the virtual environment `.venv` in this folder, which the course is then installed into.

The first command of every way to install. Where this Python is too old, uv makes the environment, and fetches a newer
Python for it. Without uv it ends with a sentence, before anything is downloaded. An old Python has to be able to read
this file: nothing in it is newer than Python 3.6.
"""

import shutil
import subprocess
import sys

NEEDED = (3, 11)
TOO_OLD = """The course needs Python {} or newer, and this is Python {} ({}). Get a newer one from \
https://www.python.org/downloads/ and run this again with it, for example as python3.12 (on Windows: py -3.12). Or \
install uv (https://docs.astral.sh/uv/) and run the same command again: uv fetches a Python that fits."""


def dotted(version: tuple) -> str:
    return ".".join(map(str, version))


def command(version: tuple, uv: "str | None") -> list:
    """What makes the environment with a Python of this version, or with this uv. SystemExit, with the sentence, where
    neither does."""
    if version >= NEEDED:
        return [sys.executable, "-m", "venv", ".venv"]
    if uv:
        return [uv, "venv", "--seed", "--python", "3.12", ".venv"]  # --seed: with pip
    return sys.exit(too_old(version))


def too_old(version: tuple) -> str:
    return TOO_OLD.format(dotted(NEEDED), dotted(version), sys.executable)


def main() -> None:
    version = tuple(sys.version_info[:3])
    code = subprocess.call(command(version, shutil.which("uv")))
    if code and version < NEEDED:  # uv has said why: no network, for example
        sys.exit("\nuv found no newer Python and couldn't fetch one. " + too_old(version))
    sys.exit(code)


if __name__ == "__main__":
    main()
