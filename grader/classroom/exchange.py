"""nbgrader's exchange, where submissions come from students' hands: regular files only, and none that a student has
taken away or spoilt ends a command for the others.
"""

from __future__ import annotations

import contextlib
import secrets
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback

from grader.classroom.files import copy_regular


class CollectRegularFiles(ExchangeCollect):
    """As nbgrader collects, but a link in a submission isn't followed and a pipe isn't read."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one submission. Its time is the one in the folder's name, which nbgrader goes by too."""
        for sentence in copy_regular(src, dest, 1000 * int(self.coursedir.max_dir_size)):
            self.log.warning("Left out of %s: %s", src, sentence)
        Path(dest, "timestamp.txt").write_text(Path(src).name.rsplit("+", 3)[2])


class ReleaseAllFeedback(ExchangeReleaseFeedback):
    """As nbgrader releases feedback, but a submission without the two files that `submit` writes stops nobody's."""

    def copy_files(self) -> None:
        """Put something in their place: whoever took the secret away finds no feedback, but everybody else does."""
        for folder in glob(self.src_path):
            for name in ("timestamp.txt", "submission_secret.txt"):
                path = Path(folder, name)
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    path.read_text()
                    continue
                path.write_text(secrets.token_hex(16))
        super().copy_files()
