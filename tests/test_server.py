"""Where the kernel's environment isn't the server's: what the browser can draw is asked of the server, a view that it
can't draw is a picture with a sentence, and the doctor says why."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anywidget
import pytest
import torch

from grader import server
from grader.learner.doctor import doctor
from grader.views import ShapeTracer
from grader.views.attention_explorer import AttentionExplorer

WIDGET = "application/vnd.jupyter.widget-view+json"
BOTH = {"anywidget": anywidget.__version__, "@jupyter/nbgrader": "0.9.6"}


@pytest.fixture
def served(tmp_path, monkeypatch) -> Iterator[dict[str, str]]:
    """A server as JupyterLab's: its extensions may be changed. It answers only who has the token."""
    extensions = dict(BOTH)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names = [{"name": name, "load": "static/entry.js"} for name in extensions]
            config = json.dumps({"appVersion": "4.6.6", "federated_extensions": names})
            page = f'<script id="jupyter-config-data" type="application/json">{config}</script>'
            name = self.path.removeprefix("/user/ann/lab/extensions/").removesuffix("/package.json")
            text = page if self.path == "/user/ann/lab" else json.dumps({"version": extensions.get(name)})
            self.send_response(200 if self.headers["Authorization"] == "token hub's" else 403)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words: object) -> None: ...

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    about = {"url": f"http://127.0.0.1:{running.server_port}/user/ann/", "token": ""}
    (tmp_path / "jpserver-4242.json").write_text(json.dumps(about))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("JPY_PARENT_PID", "4242")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "hub's")
    server.this_server.cache_clear()
    yield extensions
    running.shutdown()
    running.server_close()
    server.this_server.cache_clear()


def displayed() -> list[dict[str, str]]:
    """What a view displays, each by kind."""
    return [data for data, _metadata in AttentionExplorer(*[torch.eye(2)] * 4).outputs()]


def lines() -> list[str]:
    found = [one for one in doctor().findings if "Jupyter" in one.title or "pict" in one.title]
    return [f"{one.standing} {one.title}: {one.detail}" for one in found]


def test_a_server_with_the_same_widgets_draws_the_view(served):
    still, view = displayed()
    assert "image/png" in still
    assert set(view) == {WIDGET}
    found = lines()
    assert f"ok The server's JupyterLab 4.6.6: has anywidget {anywidget.__version__}, for interactive pictures" in found
    assert all(line.startswith("ok") for line in found)


def test_without_them_there_is_the_picture_and_a_sentence(served):
    del served["anywidget"]
    [data] = displayed()
    assert WIDGET not in data
    assert "can't be used here: the server's JupyterLab 4.6.6 has no anywidget." in unescape(data["text/html"])
    assert 'src="data:image/png;base64,' in data["text/html"]
    assert "fix The server's JupyterLab 4.6.6: anywidget is missing (needed for interactive pictures)" in lines()


def test_another_version_of_them_is_told(served):
    served["anywidget"] = "0.1.2"
    [data] = displayed()
    assert WIDGET not in data
    said = f"has anywidget 0.1.2, and this kernel has {anywidget.__version__}"
    assert f"fix Interactive pictures: the server's JupyterLab 4.6.6 {said}" in lines()


@pytest.mark.parametrize("token", ["", "another"])
def test_a_server_that_does_not_answer_changes_nothing(served, monkeypatch, token):
    del served["anywidget"]
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", token)
    assert WIDGET in displayed()[-1]
    assert any(line.startswith("ok JupyterLab: has anywidget") for line in lines())


def test_outside_a_notebook_nobody_is_asked(monkeypatch):
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    server.this_server.cache_clear()
    assert server.this_server() is None


def test_a_view_without_a_picture_says_its_sentence(served):
    del served["anywidget"]
    view = ShapeTracer()
    view.picture = lambda: None
    assert view.summary in view.outputs()[0][0]["text/html"]
