"""The Jupyter server that a kernel belongs to, which may be in another environment: what it brings to the browser."""

from __future__ import annotations

import json
import os
import re
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.sentences import say

# What the course needs in the browser; the kernel's side of the first has to be of the same version.
WIDGETS, VALIDATE = "anywidget", "@jupyter/nbgrader"
CONFIG = re.compile(r'(?s)<script id="jupyter-config-data" type="application/json">(.*?)</script>')
SECONDS = 2.0  # to wait for an answer: the server is on this machine


@dataclass(frozen=True)
class Server:
    """A Jupyter server. `lab`: JupyterLab's version; `extensions`: the versions, by name, of those extensions that the
    course needs and that are there."""

    lab: str
    extensions: dict[str, str]


@cache
def this_server() -> Server | None:
    """The server that started this kernel, or None where there is none or it doesn't answer. It is asked once."""
    from jupyter_core.paths import jupyter_runtime_dir

    try:
        noted = Path(jupyter_runtime_dir(), f"jpserver-{os.environ['JPY_PARENT_PID']}.json").read_text(encoding="utf-8")
        about = json.loads(noted)
        token = about["token"] or os.environ.get("JUPYTERHUB_API_TOKEN", "")
        found = CONFIG.search(_get(f"{about['url']}lab", token))
        if found is None:
            return None
        config = json.loads(found[1])
        there = {extension["name"] for extension in config["federated_extensions"]} & {WIDGETS, VALIDATE}
        versions = {
            name: json.loads(_get(f"{about['url']}lab/extensions/{name}/package.json", token)) for name in there
        }
        return Server(config["appVersion"], {name: about["version"] for name, about in versions.items()})
    except (OSError, ValueError, KeyError, TypeError):  # another server than JupyterLab's, a closed one, none
        return None


def _get(url: str, token: str) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    # No proxy stands between a kernel and the server of its own machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=SECONDS) as answer:
        return str(answer.read().decode())


def missing_widgets(kernels: str) -> str:
    """Why the browser can't draw widgets made by the version `kernels` of anywidget, the kernel's own; empty if it can,
    or if nobody knows."""
    server = this_server()
    if server is None:
        return ""
    there = server.extensions.get(WIDGETS)
    if there is None:
        return say("the server's JupyterLab {version} has no {package}", version=server.lab, package=WIDGETS)
    if there.split(".")[:2] != kernels.split(".")[:2]:  # as anywidget's own range of versions
        return say(
            "the server's JupyterLab {version} has {package} {there}, and this kernel has {here}",
            version=server.lab,
            package=WIDGETS,
            there=there,
            here=kernels,
        )
    return ""
