"""Writes a file whole or not at all. (click's atomic files take the place of the old one after an error too.)"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: str | bytes, mode: int = 0o644, durable: bool = True) -> None:
    """Write a file in an existing folder: a reader finds the old content or the new one, never half of it.

    `mode`: the new file's permissions. `durable`: it is on the disk before the old one is gone, also if the power is
    cut.
    """
    # A short name: the file's own may be as long as names can be.
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
