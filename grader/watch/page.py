"""The page of a watch: what has arrived, what it earned, what is frequent, what is wrong. One file without scripts,
which loads nothing but itself again. It is also served, for this machine alone, to whoever knows its address."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.atomic import write_atomically
from grader.errors import CourseError
from grader.insights.summary import MistakeRow
from grader.markup import render

REFRESH = 5  # seconds
FILE = "watch.html"
CONNECTIONS, SILENT = 16, 5  # at a time, and seconds without a word after which one is closed
# As long as it fits in place of any page of a watch, on a disk without room for a new one.
SHORT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="{}"><title>{}</title>'
    '<p role="alert">{}</p></html>'
)


@dataclass(frozen=True)
class HandInRow:
    """A hand-in."""

    when: str  # it came, as a teacher reads it
    student: str
    lesson: str
    state: str  # a few words
    mark: str = ""  # what the gradebook says; "" while that isn't known
    seconds: str = ""  # from hand-in to feedback; "" likewise


@dataclass(frozen=True)
class PageState:
    """What the page shows."""

    course: str
    since: str
    at: str
    state: str  # what the watch is doing
    fault: str  # what keeps marks from coming; "" if nothing does
    figures: Sequence[tuple[str, str]]  # names and numbers
    waiting: Sequence[HandInRow]
    done: Sequence[HandInRow]
    mistakes: Sequence[MistakeRow]
    problems: Sequence[tuple[str, str]]  # times and sentences
    ended: bool = False


def as_html(now: PageState) -> str:
    """The page of the watch as HTML, without scripts."""
    return render("watch/page.html", title=f"{now.course}: hand-ins as they arrive", now=now, refresh=REFRESH)


class Page:
    """The page as a file in the course with these permissions (`mode`), and as the same bytes, `html`, to be served."""

    def __init__(self, path: Path, mode: int) -> None:
        self._path, self._mode = path, mode
        self.html = b""

    def show(self, now: PageState) -> None:
        """Write the page. Where that fails, as it does without room for a new file, a short page with the fault alone
        goes into the old file."""
        try:
            self.html = as_html(now).encode("utf-8", "replace")
            write_atomically(self._path, self.html, self._mode, durable=False)
        except Exception as error:  # marks come without a page too
            why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            said = Markup.escape(f"{now.at}: {now.fault or f'This page cannot be written: {why}.'}")
            short = SHORT.format(REFRESH, Markup.escape(now.course), said).encode("utf-8", "replace")
            with suppress(OSError), self._path.open("r+b") as file:
                file.write(short)
                file.truncate()


class _Server(ThreadingHTTPServer):
    """Any user of the machine may open connections. Of more than so many the oldest is closed, and whoever says nothing
    isn't waited for; since an answer takes milliseconds, nobody who asks for the page loses it by that."""

    request_queue_size = 128

    def __init__(self, *about: Any) -> None:
        self._open: list[socket.socket] = []
        self._room = threading.Semaphore(CONNECTIONS)
        super().__init__(*about)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread of its own."""
        if not self._room.acquire(blocking=False):
            with suppress(OSError, IndexError):  # it has ended meanwhile
                self._open[0].shutdown(socket.SHUT_RDWR)
            self._room.acquire()
        self._open.append(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, which makes room for another."""
        super().shutdown_request(request)
        with suppress(ValueError):
            self._open.remove(request)
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever goes away in the middle is no fault of the watch's, and fills no log."""


@contextmanager
def served(page: Page, port: int | None) -> Iterator[str]:
    """Inside the block, serve the page to this machine; yields its address, which nobody can guess, since other people
    of the machine may ask on any port and the page has names and marks. With `port` None nothing is served and it is
    ""; 0 is any free port; `CourseError` for a taken one."""
    if port is None:
        yield ""
        return
    word = secrets.token_urlsafe(16)

    class Handler(BaseHTTPRequestHandler):
        timeout = SILENT

        def do_GET(self) -> None:
            """Answer with the page, or that there is nothing at an address that isn't its own."""
            if not secrets.compare_digest(self.path.strip("/").encode(), word.encode()):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page.html)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(page.html)

        def log_message(self, *_words: object) -> None:
            """Log nothing: the address would be in it."""

    try:
        server = _Server(("127.0.0.1", port), Handler)
    except OSError as error:
        raise CourseError(f"--port {port}: {error.strerror}. Name another port, or 0 for any free one.") from None
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{word}/"
        finally:
            server.shutdown()
            thread.join()


def clock(when: datetime | None) -> str:
    """A time as a teacher reads it, in this machine's zone; with the day, if it isn't today; "" for None."""
    if when is None:
        return ""
    local = when.astimezone()
    return f"{local:%H:%M:%S}" if local.date() == datetime.now().date() else f"{local:%Y-%m-%d %H:%M}"
