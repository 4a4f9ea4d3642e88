"""What deploy/Dockerfile asks pip for. `make test-image` builds it, where there is an engine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

DOCKERFILE = (Path(__file__).parents[2] / "deploy" / "Dockerfile").read_text("utf-8")
PIP = """#!/bin/sh
echo "$@"
"""


def asked(folder: Path, **arguments: str) -> list[str]:
    """The arguments of pip, line by line, when the image is built with these. pip is a stand-in."""
    (script,) = re.findall(
        r"(?ms)^RUN (python3 -m venv .*?[^\\])\n(?!\s)", DOCKERFILE.replace("&& rm -r", "&& echo rm -r")
    )
    (folder / "pip").write_text(PIP)
    (folder / "pip").chmod(0o755)
    (folder / "one.whl").touch()
    script = script.replace("python3 -m venv /opt/course", "true").replace("/opt/course/bin/pip", str(folder / "pip"))
    script = script.replace("/tmp/course/*.whl", f"{folder}/*.whl")
    defaults = dict(re.findall(r'(?m)^ARG (\w+)="?(.*?)"?$', DOCKERFILE))
    done = subprocess.run(
        ["sh", "-euc", script], env={**os.environ, **defaults, **arguments}, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if line.startswith("install")]


def test_by_itself_it_takes_the_smaller_torch_first_and_nothing_of_ngshare(tmp_path):
    torch, course = asked(tmp_path)
    assert "--no-deps torch" in torch
    assert "--index-url https://download.pytorch.org/whl/cpu" in torch
    assert f"jupyterhub {tmp_path}/one.whl[lab] --constraint" in course


@pytest.mark.parametrize("client", ["ngshare_exchange==0.5.2", "ngshare_exchange"])
def test_an_argument_brings_ngshares_client(tmp_path, client):
    *_, course = asked(tmp_path, NGSHARE=client, EXTRA="[teacher]")
    assert f"jupyterhub {client} {tmp_path}/one.whl[teacher] --constraint" in course


def test_without_an_index_pip_looks_by_itself(tmp_path):
    (course,) = asked(tmp_path, TORCH_INDEX="")
    assert "--index-url" not in course
