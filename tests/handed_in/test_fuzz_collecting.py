"""Whatever one student puts into their own work, whatever stands in a list of people, in the exchange or in a request
to the watch: everybody else's work, times and names are as the platform has them. FUZZ_ROUNDS is how often (60).
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import unicodedata
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from grader.course import roster
from grader.course.class_directory import ClassDirectory
from grader.course.roster import Person, read_list, save
from grader.course.tables import FORMULA
from grader.errors import CourseError
from grader.handed_in.collect import collect
from grader.handed_in.collected import as_text
from grader.watch import exchange, page
from tests.classroom import LESSON
from tests.handed_in.test_collect import book, created, handed_in, utc
from tests.handed_in.test_exchange import DATE, ME, NOTEBOOK
from tests.handed_in.test_exchange import inbound as inbound  # the fixture
from tests.handed_in.test_fuzz import ROUNDS, fill
from tests.judge.test_fuzz import mutated_bytes

PEOPLE = (
    Person("ann", "Ann", "Lee", "ann@example.org", canvas_id="501"),
    Person("bo", "Bo", "O'Neil", canvas_id="502"),
    Person("mal", "Mal", "Lory", canvas_id="666"),
)
HONEST, NUMBERS = ("ann", "bo"), {"ann": 501, "bo": 502, "mal": 666}
MARK = "mallory was here"
BEGAN = datetime(2026, 11, 20, 10, 0, 0)

# --- what a platform's zip holds --------------------------------------------------------------------------------------


class Top(NamedTuple):
    """Where a platform puts somebody's work: what stands before each of their own names. `folder` says whether these
    may have folders of their own."""

    before: str
    folder: bool


def moodle(who: str, _number: int) -> Top:
    return Top(f"{_name(who)}_{NUMBERS[who]}77_assignsubmission_file_/", True)


def canvas(who: str, number: int) -> Top:
    return Top(f"{who}_{NUMBERS[who]}_{9000 + number}_", False)


def gradescope(_who: str, number: int) -> Top:
    return Top(f"submission_{70 + number}/", True)


def github(who: str, _number: int) -> Top:
    return Top(f"week-one-{who}/", True)


def folders(who: str, _number: int) -> Top:
    return Top(f"all of them/{who}/", True)


def _name(who: str) -> str:
    return next(person.full_name for person in PEOPLE if person.id == who)


PLATFORMS = (moodle, canvas, gradescope, github, folders)
CLAIMS = (
    "ann",
    "Bo O'Neil",
    "ann@example.org",
    "Ann Lee_50177_assignsubmission_file_",
    f"ann_501_9001_{LESSON}.ipynb",
    f"ann_LATE_501_9001_{LESSON}.ipynb",
    f"ann+{LESSON}+2020-01-01 00:00:00 UTC",
    f"mal+{LESSON}+2020-01-01 00:00:00 UTC+x",
    "week-one-ann",
    "submission_70",
    "submission_metadata.yml",
    "timestamp.txt",
    "roster.csv",
    ".git",
    "__MACOSX",
    "..",
    "C:",
    "~",
    f"{LESSON}.ipynb",
    "ann.ipynb",
    "\x1b]0;x\x07.ipynb",
    "=1+1.ipynb",
    "e\u0301\u202e.ipynb",
    "x" * 300,
)
LIST = """submission_70:
  :submitters: [{{:name: Ann Lee, :sid: {sid}}}]
  :created_at: 2020-01-01 10:00:00 Z
"""


def claim(random_: random.Random, folder: bool) -> str:
    """A path that a student's file can have in their own work."""
    parts = [random_.choice(CLAIMS) for _ in range(random_.randrange(1, 5 if folder else 2))]
    if folder and random_.random() < 0.2:
        parts.append(os.fsdecode(random_.randbytes(9)).replace("/", "").encode("utf-8", "replace").decode())
    return "/".join(parts) + random_.choice(("", "", ".ipynb"))


def content(random_: random.Random) -> bytes:
    """What a student's file can hold."""
    kind = random_.randrange(5)
    if kind == 0:
        return LIST.format(sid=random_.choice(("ann", "mal", "&x [*x]", "1e9"))).encode()
    if kind == 1:
        return b"2020-01-01 00:00:00 UTC"
    if kind == 2:
        return mutated_bytes(book(MARK), random_)
    return book(f"'{MARK}'") if kind == 3 else random_.randbytes(50)


class Class(NamedTuple):
    """A class's hand-ins as a platform's zip has them: names, bytes and times."""

    files: list[tuple[str, bytes, datetime]]
    own: dict[str, tuple[bytes, datetime]]

    def write(self, path: Path) -> Path:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data, time in self.files:
                archive.writestr(zipfile.ZipInfo(name, time.timetuple()[:6]), data)
        return path


def a_class(random_: random.Random) -> Class:
    """Two who hand in, and one who puts anything into her work."""
    platform = random_.choice(PLATFORMS)
    order = random_.sample([person.id for person in PEOPLE], 3)
    files, own, listed = [], {}, []
    for number, who in enumerate(order):
        top, time = platform(who, number), BEGAN + timedelta(minutes=2 * random_.randrange(1000))
        if who in HONEST:
            own[who] = book(f"return '{who}'"), time
            files.append((f"{top.before}{NOTEBOOK}", *own[who]))
        else:
            names = {claim(random_, top.folder) for _ in range(random_.randrange(1, 8))}
            files += [(f"{top.before}{name}", content(random_), time) for name in sorted(names)]
        listed.append(f"{top.before[:-1]}:\n  :submitters:\n  - :sid: {who}\n    :name: {_name(who)}\n")
    if platform is gradescope:
        files.append(("submission_metadata.yml", "".join(listed).encode(), BEGAN))
    random_.shuffle(files)
    return Class(files, own)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ClassDirectory:
    course = created(tmp_path_factory.mktemp("fuzz"))
    save(course.root, PEOPLE)
    return course


@pytest.fixture
def course(made: ClassDirectory) -> Iterator[ClassDirectory]:
    yield made
    empty(made)


def empty(course: ClassDirectory) -> None:
    for folder in (course.root / "submitted", course.root / ".grader"):
        shutil.rmtree(folder, ignore_errors=True)


def stored(course: ClassDirectory) -> dict[Path, bytes]:
    """What students have handed in, by its path in the course: what counts, and what was kept of earlier work."""
    folders = (course.root / "submitted", course.root / ".grader" / "earlier" / LESSON)
    return {path.relative_to(course.root): path.read_bytes() for at in folders for path in at.rglob("*.ipynb")}


def test_whatever_is_in_one_students_work_changes_nobody_elses(course, tmp_path):
    took = 0
    for seed in range(ROUNDS):
        random_ = random.Random(seed)
        handed = a_class(random_)
        before = set(os.listdir(course.root))
        outcome = collect(course, [handed.write(tmp_path / "class.zip")], random_.choice(("last", "first", "best")))
        assert set(HONEST) <= set(outcome.taken), seed
        for who, (data, time) in handed.own.items():
            assert handed_in(course, who) == data, seed
            stamp = course.root / "submitted" / who / LESSON / "timestamp.txt"
            assert stamp.read_text() == utc(time.timetuple()[:6]), seed
        for path, data in stored(course).items():
            who = next(part for part in path.parts if part in NUMBERS)
            assert who == "mal" or data == handed.own[who][0], (seed, path)
        assert set(os.listdir(course.root)) - before <= {"submitted", ".grader"}, seed
        assert all(line.isprintable() for line in as_text(outcome).splitlines()), seed
        took += "mal" in outcome.taken
        empty(course)
    assert ROUNDS / 10 < took < ROUNDS


def test_whatever_a_broken_zip_holds_is_taken_whole_or_told(course, tmp_path):
    broken = 0
    for seed in range(ROUNDS):
        random_ = random.Random(seed)
        handed = a_class(random_)
        path = handed.write(tmp_path / "class.zip")
        path.write_bytes(mutated_bytes(path.read_bytes(), random_))
        with contextlib.suppress(CourseError):
            outcome = collect(course, [path])
            broken += bool(outcome.odd)
            assert all(line.isprintable() for line in as_text(outcome).splitlines()), seed
        whole = {data for _name, data, _time in handed.files}
        assert set(stored(course).values()) <= whole, seed  # what it holds of a file is checked by the zip's own sums
        empty(course)
    assert broken


# --- lists of people --------------------------------------------------------------------------------------------------

CELLS = (
    "ann",
    "Lee, Ann",
    "",
    " ",
    "=1+1",
    "+x",
    "-x",
    "@x",
    "'=x",
    "a\rb",
    "a\nb",
    "\x1b[2J",
    "..",
    ".",
    "a/b",
    "\0",
    "x" * 400,
    "e\u0301",
    "\u202eann",
    "\ud7ff",
    "ann",
    '"',
)
HEADS = (
    "id,first_name,last_name,email",
    "First name,Last name,ID number,Email address",
    "Student,ID,SIS User ID,SIS Login ID,Section",
    "Vorname;Nachname;ID-Nummer;E-Mail-Adresse",
)


def test_whatever_is_in_a_list_of_people_is_read_back_as_it_was_or_refused(tmp_path):
    path, read = tmp_path / "list.csv", 0
    for seed in range(10 * ROUNDS):
        random_ = random.Random(seed)
        head = random_.choice(HEADS)
        sign = ";" if ";" in head else ","
        usual = [f"s{seed}", "Ann", "Lee", "x"]
        rows = [
            [random_.choice(CELLS) if random_.random() < 0.15 else f"{cell}{row}" for cell in usual]
            for row in range(random_.randrange(4))
        ]
        text = "\n".join([head, *(sign.join(row) for row in rows)])
        data = text.encode(random_.choice(("utf-8", "utf-8-sig", "utf-16")), "surrogatepass")
        path.write_bytes(mutated_bytes(data, random_) if random_.random() < 0.3 else data)
        try:
            people = read_list(path)
        except CourseError:
            continue
        read += 1
        for person in people:
            assert not any(unicodedata.category(sign) == "Cc" for text in vars(person).values() for sign in text), seed
        save(tmp_path, people)
        assert sorted(read_list(tmp_path / roster.FILE), key=lambda one: one.id) == sorted(
            people, key=lambda one: one.id
        ), seed
        cells = (tmp_path / roster.FILE).read_text().replace('"', "").replace("\n", ",").split(",")
        assert not any(cell.startswith(FORMULA) for cell in cells), seed
    assert read > ROUNDS


# --- the exchange -----------------------------------------------------------------------------------------------------


def test_whatever_is_in_the_exchange_leaves_an_honest_hand_in(inbound, tmp_path):
    """Anybody may make entries there, and a student anything in their own."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("private")
    (outside / NOTEBOOK).write_text("private")
    for seed in range(ROUNDS):
        random_ = random.Random(seed)
        entry = inbound.put(ME)
        names = {
            "+".join(random_.choice((*CLAIMS[:6], "", "ann", LESSON, DATE, "1e9")) for _ in range(random_.randrange(5)))
            for _ in range(6)
        }
        for name in sorted(names - {""}):
            place = inbound.folder / name.replace("/", "")[:200]
            if not os.path.lexists(place):
                place.mkdir()
                fill(place, outside, random_)
        fill(inbound.folder, outside, random_)
        (entry / "more").mkdir()
        fill(entry / "more", outside, random_)
        said = inbound.collect()
        assert os.listdir(inbound.course / "submitted") == [ME], seed
        assert (inbound.course / "submitted" / ME / LESSON / NOTEBOOK).read_text() == "own", seed
        assert not any(path.is_symlink() for path in inbound.course.rglob("*")), seed
        assert all(line.isprintable() for line in said.splitlines()), seed
        watched = exchange.Inbound.__new__(exchange.Inbound)
        watched.folder, watched.seen, watched.nobodys = inbound.folder, set(), set()
        watched._check_owner, watched._roster, watched.known = True, lambda: {ME}, {ME}
        watched._looked_up = float("inf")
        assert {one.student for one in watched.new()} <= {ME}, seed
        for folder in (inbound.folder, inbound.course):
            shutil.rmtree(folder)
            folder.mkdir()


# --- the watch's page -------------------------------------------------------------------------------------------------

REQUEST = b"GET /%s/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789"


def test_whatever_is_asked_of_the_watch_the_page_is_for_whoever_knows_its_address(monkeypatch):
    monkeypatch.setattr(page, "SILENT", 0.2)
    shown = page.Page(Path("nowhere"), 0o600)
    shown.html = b"<p>ann: 1 of 1</p>"
    with page.served(shown, 0) as address:
        where = urllib.parse.urlsplit(address)
        for seed in range(ROUNDS):
            random_ = random.Random(seed)
            word = random_.choice((b"x" * 22, b"", b"%2e%2e", "\u00e4".encode(), b"a" * 70_000))
            request = mutated_bytes(REQUEST % word, random_)
            asking = socket.create_connection(("127.0.0.1", where.port), timeout=20)
            answer = b""
            with asking, contextlib.suppress(OSError):  # it may be closed before everything was read
                asking.sendall(request)
                asking.shutdown(socket.SHUT_WR)
                while got := asking.recv(65536):
                    answer += got
            assert shown.html not in answer, seed
        assert urllib.request.urlopen(address, timeout=20).read() == shown.html
