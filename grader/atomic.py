"""Writes a file whole or not at all. (click's atomic files take the place of the old one after an error too.)"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, data: str | bytes, mode: int = 0o644, durable: bool = True) -> None:
    """Write a file in an existing folder: a reader finds the old content or the new one, never half of it.

    `mode`: the new file's permissions. `durable`: it is on the disk before the old one is gone, also if the power is
    cut. An `OSError` names `path`, not the temporary file.
    """
    # A short name: the file's own may be as long as names can be.
    with naming(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with open(handle, "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an `OSError` of the block name this file: one that a full disk causes names none, and one about a temporary
    file names what nobody knows."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
