"""Other users of the machine can write to the temporary folder: no code of theirs runs, and nobody holds a run."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.batch.cluster import connected
from tests.batch.conftest import RIGHT, ROOT, answered

# What is imported after Dask has put its folder first in sys.path, in the command or in a worker of its own.
NAMES = ("distributed", "dask", "torch", "numpy", "grader", "psutil", "yaml", "sitecustomize")
THEIRS = "open({!r}, 'a').write(__name__ + ' ')\nraise SystemExit('another user was here')\n"


def test_folder_that_another_user_has_prepared(room, tmp_path):
    room.submit("ann", answered(RIGHT))
    shared, marker = tmp_path / "tmp", tmp_path / "marker"
    prepared = shared / "dask-scratch-space"
    prepared.mkdir(parents=True)
    for name in NAMES:
        (prepared / f"{name}.py").write_text(THEIRS.format(str(marker)))
    for folder in (shared, prepared):
        folder.chmod(0o777)
    before = sorted(path.name for path in shared.rglob("*"))
    with (prepared / "global.lock").open("w") as one, (prepared / "purge.lock").open("w") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-c", "from grader.cli.main import main; main()", "autograde", str(room.root), "00"],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(shared)},
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    assert not marker.exists(), marker.read_text()
    assert done.returncode == 0, done.stderr
    assert room.marks() == {"ann": 1}
    assert sorted(path.name for path in shared.rglob("*")) == sorted([*before, "global.lock", "purge.lock"])


def test_workers_keep_their_files_where_nobody_else_can_look(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with connected(None, 1) as client:
        (folder,) = client.run(lambda dask_worker: dask_worker.local_directory).values()
        (modules,) = client.run(lambda: list(sys.path)).values()
        (private,) = tmp_path.iterdir()
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        own = [folder, *(place for place in [*modules, *sys.path] if place.startswith(str(tmp_path)))]
        assert len(own) > 1
        assert all(Path(place).is_relative_to(private) for place in own)
    assert not list(tmp_path.iterdir())
