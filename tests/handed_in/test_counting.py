"""Whose each file is, who has the work of a group, and which of several notebooks counts: the rules of collecting,
without a course."""

from __future__ import annotations

import io
import json
import os
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest

from grader.course.roster import Person, Roster, save
from grader.course.withdraw import withdraw
from grader.errors import CourseError
from grader.handed_in import collect as module
from grader.handed_in import hand_in
from grader.handed_in.archive import Archive
from grader.handed_in.collect import _Collecting, _listed, _Sorting, collect
from grader.handed_in.collected import NAMED, Collected
from grader.handed_in.counting import counting, given_name, in_place, one_of_each_upload
from grader.handed_in.whose import Owner
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.platforms.exchange import PLATFORM as EXCHANGE
from grader.platforms.gradescope import LISTING
from grader.platforms.platform import Author, Found
from tests.classroom import SOLVED
from tools import notebooks as nb

NOON, HOUR = datetime(2026, 11, 22, 12), timedelta(hours=1)


def candidate(name: str, hours: float = 0, source: str = "zip", **about) -> Found:
    """A notebook that was given, which came so many hours after noon."""
    author = Author("moodle", **about)
    return Found(source, PurePosixPath(name), NOON + hours * HOUR, 1, bytes, author=author, data=name.encode())


THERE = in_place(b"there", NOON + 2 * HOUR)
FIRST, SECOND, LAST = candidate("first"), candidate("second", 1), candidate("last", 3)


@pytest.mark.parametrize(
    ("counts", "due", "chosen"),
    [
        ("last", None, LAST),
        ("last", NOON, LAST),
        ("first", NOON, FIRST),
        ("last-in-time", None, LAST),
        ("last-in-time", NOON + 1.5 * HOUR, SECOND),
        ("last-in-time", NOON + HOUR, SECOND),
        ("last-in-time", NOON - HOUR, LAST),
        ("best", NOON, THERE),
    ],
)
def test_which_one_counts(counts, due, chosen):
    assert counting([FIRST, SECOND, THERE, LAST], due, counts) is chosen


def test_where_the_best_counts_and_none_is_there_the_last_waits_in_its_place():
    assert counting([FIRST, LAST], None, "best") is LAST


def test_an_upload_is_one_attempt_however_many_notebooks_are_in_it():
    """The last of those that hold the lesson; another zip, person, platform's name or time is another upload."""
    early, late, other = candidate("a", key="1"), candidate("b", 1, key="1"), candidate("c", 2, key="1")
    assert one_of_each_upload([late, early, other], [early, late]) == [late]
    assert one_of_each_upload([other, late], []) == [other]
    several = [
        candidate("d", key="2"),
        candidate("e", source="another zip", key="1"),
        candidate("f", given="x"),
        candidate("g", given="y"),
        candidate("h", key="1", time=NOON),
    ]
    assert {*one_of_each_upload([early, *several], [])} == {early, *several}


def test_feedback_goes_back_under_the_name_of_the_work_that_counts():
    one, two, plain = candidate("a", 0, given="one"), candidate("b", 1, given="two"), candidate("c", 2)
    assert given_name([one, two, plain], one) == "one"
    assert given_name([two, one, plain], plain) == "two"  # none that is named counts: the last of these
    assert given_name([plain, THERE], plain) == ""


def collecting(grace: timedelta, own: datetime | None, everybodys: datetime | None) -> SimpleNamespace:
    until = {"ann": own, "": everybodys}
    return SimpleNamespace(_course=SimpleNamespace(configured=SimpleNamespace(grace=grace)), _until=until.get)


@pytest.mark.parametrize(
    ("minutes", "says_late", "extended", "late"),
    [
        (0, False, False, False),
        (61, False, False, True),  # grace is in the time until which it is in time
        (1, True, False, False),  # within the grace
        (60, True, False, False),
        (0, True, False, True),  # the platform has another due date
        (-10, True, False, True),
        (0, True, True, False),  # the platform knows nothing of an extension
        (24 * 60 + 61, False, True, True),
    ],
)
def test_whether_work_is_late(minutes, says_late, extended, late):
    due = NOON + HOUR
    own = due + 24 * HOUR if extended else due
    asked = collecting(HOUR, own, due)
    when = NOON + timedelta(minutes=minutes)
    assert _Collecting._is_late(asked, "ann", when, says_late, own) is late


def test_work_that_is_never_due_is_late_where_the_platform_says_so():
    asked = collecting(HOUR, None, None)
    assert [_Collecting._is_late(asked, "ann", NOON, says, None) for says in (True, False)] == [True, False]


# --- whose each file is -----------------------------------------------------------------------------------------------

LESSON = "00_start_here"
PEOPLE = tuple(Person(who, who.title(), "Roe") for who in ("ann", "bo", "cy"))
NOBODY = Owner(why="it isn't known")


@pytest.fixture
def roster(tmp_path):
    save(tmp_path, PEOPLE)
    return Roster.of(tmp_path)


@pytest.fixture
def course(tmp_path, roster, monkeypatch):
    """What of a course is asked."""
    checks = SimpleNamespace(check_owner=True)
    monkeypatch.setattr(module, "CollectRegularFiles", lambda **_what: checks)
    layout = SimpleNamespace(submitted_directory="submitted")
    return SimpleNamespace(root=tmp_path, lesson=LESSON, layout=layout, config=None, checks=checks)


def sorted_files(course, roster, owners: dict[str, Owner], *paths: str, source=None, **about):
    """What becomes of the files at these paths, each of the author who is called as the folder or file at the top."""
    entries = tuple(
        Found("z.zip", PurePosixPath(path), NOON, 1, bytes, author=Author(given=path.split("/")[about.get("depth", 0)]))
        for path in paths
    )
    outcome = Collected(LESSON)
    by_author = {entry.author: owners.get(entry.author.given, NOBODY) for entry in entries}
    sorting = _Sorting(course, roster, by_author, outcome)
    sorting.sort(source or course.root, Archive("z.zip", entries, **about))
    return sorting, outcome


def names(found) -> dict[str, list[str]]:
    return {who: [str(entry.path) for entry in entries] for who, entries in found.items()}


ANNS, BOS = {"A": Owner(("ann",))}, {"A": Owner(("ann",)), "b.txt": Owner(("bo",)), "c.ipynb": Owner(("cy",))}


def test_whose_each_file_is(course, roster):
    paths = ("A/w.ipynb", "A/.x.ipynb", "A/notes.txt", "A/._w.ipynb", "A/.DS_Store", "A/sub/y.txt", "b.txt", "c.ipynb")
    sorting, outcome = sorted_files(course, roster, BOS, *paths, LISTING, "left.txt")
    assert names(sorting.theirs) == {"ann": ["A/w.ipynb", "A/.x.ipynb"], "cy": ["c.ipynb"]}
    assert sorting.others == {"ann": ["notes.txt", "sub/y.txt"], "bo": ["b.txt"], "left.txt": []}
    assert (outcome.odd, outcome.unknown, outcome.by_zip, sorting.waiting) == ({}, {}, [], {})


def test_names_below_folders_that_lie_around_all(course, roster):
    sorting, _outcome = sorted_files(course, roster, ANNS, "all/A/w.ipynb", f"all/{LISTING}", "all/A/n.txt", depth=1)
    assert names(sorting.theirs) == {"ann": ["all/A/w.ipynb"]}
    assert sorting.others == {"ann": ["n.txt"]}


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        ("A/bo/w.ipynb", ["ann"]),
        (f"A/{LISTING}", ["ann"]),
        ("A/bo/notes.txt", []),
        ("A/ann/w.ipynb", []),
    ],
)
def test_what_looks_like_a_claim_in_ones_own_work_is_told(course, roster, path, odd):
    sorting, outcome = sorted_files(course, roster, ANNS, path, "A/w.ipynb")
    assert list(outcome.odd) == odd
    assert (len(sorting.theirs["ann"]), LISTING in sorting.others["ann"]) == (1 + path.endswith("w.ipynb"), False)


def test_work_whose_owner_is_not_known_waits_and_is_named(course, roster):
    several = Owner(("ann", "bo"), why="it may be ann's or bo's")
    sorting, outcome = sorted_files(course, roster, {"D": several}, "D/w.ipynb", "D/n.txt", "E/v.ipynb", f"E/{LISTING}")
    assert outcome.unknown == {"z.zip: D/w.ipynb": several.why, "z.zip: E/v.ipynb": NOBODY.why}
    assert names(sorting.waiting) == {("", ("ann", "bo")): ["D/w.ipynb"]}
    assert (sorting.theirs, sorting.others) == ({}, {"D": ["n.txt"]})


def test_work_without_a_notebook_is_named_with_its_files(course, roster):
    several = Owner(("ann", "bo"), why="it may be ann's or bo's")
    files = [f"D/{number:02}.txt" for number in range(NAMED + 1)]
    sorting, outcome = sorted_files(course, roster, {"d.txt": several}, *files, "d.txt", "readme.txt")
    listed = ", ".join(path[2:] for path in files[:NAMED])
    assert outcome.unknown == {
        "z.zip: D": f"{NOBODY.why} (no notebook in it: {listed})",
        "z.zip: d.txt": f"{several.why} (no notebook)",
    }
    assert sorting.others == {"readme.txt": []}


def test_who_is_known_by_a_zip_s_own_names_is_listed_once(course, roster):
    paths = ("c.ipynb", "A/v.ipynb", "A/w.ipynb", "b.txt")
    assert sorted_files(course, roster, BOS, *paths, is_nobodys=True)[1].by_zip == ["cy", "ann"]
    assert sorted_files(course, roster, BOS, *paths)[1].by_zip == []


@pytest.mark.parametrize(
    ("checks", "platform", "taken"), [(True, EXCHANGE.key, 0), (False, EXCHANGE.key, 1), (True, "", 1)]
)
def test_a_folder_of_the_exchange_has_to_be_its_owner_s(course, roster, monkeypatch, checks, platform, taken):
    course.checks.check_owner = checks
    asked = []
    monkeypatch.setattr(module, "foreign_owner", lambda uid, who: asked.append((uid, who)) or "not ann's")
    folder = course.root / "given" / "around" / "A"
    (folder / "sub").mkdir(parents=True)
    author = Author(platform, "A")
    entry = Found("given", PurePosixPath("around/A/sub/w.ipynb"), NOON, 1, bytes, author=author)
    outcome = Collected(LESSON)
    sorting = _Sorting(course, roster, {author: Owner(("ann",))}, outcome)
    sorting.sort(course.root / "given", Archive("given", (entry,), depth=1))
    assert (len(sorting.theirs["ann"]), list(outcome.odd.values())) == (taken, ["not ann's"] * (1 - taken))
    assert asked == [(folder.stat().st_uid, "ann")] * (1 - taken)


# --- all together -----------------------------------------------------------------------------------------------------


class Noted:
    """In the place of `Before`: what was asked of it."""

    def __init__(self, _course, students) -> None:
        self.students, self.noted, self.saved = {*students}, [], False
        Noted.last = self

    def note(self, student: str) -> None:
        self.noted.append(student)

    def save(self) -> None:
        self.saved = True


@pytest.fixture
def whole(course, monkeypatch):
    """A course that can collect: nothing is due in it, and there is no gradebook."""
    monkeypatch.setattr(module, "Before", Noted)
    monkeypatch.setattr(module, "in_time_until", lambda _layout, _lesson: lambda _student: None)
    course.limits, course.lessons = Limits, lambda: [LESSON, "01_self_attention"]
    course.outline = lambda name=LESSON: Outline.of(nb.instructor(name))
    course.configured = SimpleNamespace(grace=timedelta())
    course.folder = lambda step, student: course.root / step / student / LESSON
    course.submissions = lambda: (
        [SimpleNamespace(student=path.name) for path in (course.root / "submitted").glob("*")],
        [SimpleNamespace(student="odd")],
    )
    return course


def given_files(course, **files: bytes):
    """A folder of files, by how they begin."""
    for name, data in files.items():
        (course.root / "given").mkdir(exist_ok=True)
        (course.root / "given" / name).with_suffix(".ipynb").write_bytes(data)
    return course.root / "given"


WORK = {who: nb.submission(LESSON, first_steps=f"def first_steps(x):\n    return '{who}'") for who in ("ann", "bo")}
OTHERS = nb.submission("01_self_attention")


def test_what_was_there_is_kept_before_anything_is_taken(whole):
    outcome = collect(whole, [given_files(whole, **WORK, eve=WORK["bo"])])
    assert (outcome.taken, outcome.missing, outcome.lesson) == (["ann", "bo"], ["cy"], LESSON)
    assert outcome.unknown == {"given: eve.ipynb": "'eve' is not on the roster"}
    assert (Noted.last.students, Noted.last.noted, Noted.last.saved) == ({"ann", "bo"}, ["ann", "bo"], True)
    assert (whole.root / "submitted" / "ann" / LESSON / f"{LESSON}.ipynb").read_bytes() == WORK["ann"]


def test_sources_are_taken_in_the_order_in_which_they_were_named(whole):
    zips = [whole.root / f"{who}s.zip" for who in ("bo", "ann")]
    for path in zips:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{path.stem[:-1]}/w.ipynb", WORK[path.stem[:-1]])
    assert collect(whole, zips).by_zip == ["bo", "ann"]
    assert collect(whole, zips[:1]).by_zip == ["bo"]


def test_whoever_may_have_handed_in_is_not_missing(whole):
    """Those without a hand-in, in order: who has one needs no settling, and who has left isn't missed."""
    people = [*PEOPLE, *(Person(f"di{number:02}", "Di", "Roe") for number in range(12)), Person("left", "Le", "Ft")]
    save(whole.root, people)
    withdraw(whole.root, "left")
    source = given_files(whole, **{"di05": WORK["bo"], "Di Roe": WORK["ann"], "ann": WORK["ann"]})
    (source / "bo.txt").write_text("no notebook")
    outcome = collect(whole, [source])
    assert outcome.to_settle == [f"di{number:02}" for number in range(12) if number != 5]
    assert (outcome.missing, outcome.no_notebook) == (["cy"], {"bo": ["bo.txt"]})


def test_without_a_roster_nothing_is_taken(whole):
    save(whole.root, ())
    with pytest.raises(CourseError, match=r"has no roster yet.*First: grader roster"):
        collect(whole, [given_files(whole, **WORK)])


def test_mostly_another_lesson_s_work_is_refused_unless_it_is_meant(whole):
    source = given_files(whole, ann=OTHERS, bo=OTHERS, cy=WORK["ann"])
    with pytest.raises(CourseError, match="mostly to other lessons: 2 to 01_self_attention, and 1 to 00_start_here"):
        collect(whole, [source])
    assert not (whole.root / "submitted").exists()
    assert collect(whole, [source], anyway=True).taken == ["ann", "bo", "cy"]


def test_half_of_another_lesson_s_work_stops_nobody(whole):
    outcome = collect(whole, [given_files(whole, ann=OTHERS, bo=WORK["bo"])])
    assert outcome.taken == ["ann", "bo"]
    assert outcome.odd == {"given: ann.ipynb": f"it has exercises of 01_self_attention, and none of {LESSON}"}


def test_a_teacher_s_word_settles_whose_it_is_and_a_name_that_nobody_has_takes_nothing(whole):
    source = given_files(whole, ann=WORK["ann"], eve=WORK["bo"])
    with pytest.raises(
        CourseError, match=r"no file is called 'zoe'(.|\n)*given: eve.ipynb: 'eve' is not on the roster"
    ):
        collect(whole, [source], settled={"zoe": "bo"})
    assert not (whole.root / "submitted").exists()
    assert collect(whole, [source], settled={"eve.ipynb": "bo"}).taken == ["ann", "bo"]


def set_times(source, **hours: float) -> None:
    """Give files of a folder the times at which they came, so many hours after noon (UTC)."""
    for name, later in hours.items():
        seconds = (NOON + later * HOUR).replace(tzinfo=UTC).timestamp()
        os.utime((source / name).with_suffix(".ipynb"), (seconds, seconds))


def stated(course, student: str = "ann") -> str:
    return (course.root / "submitted" / student / LESSON / "timestamp.txt").read_text()


def test_the_same_work_once_more_keeps_its_time(whole, monkeypatch):
    monkeypatch.setattr(module, "in_time_until", lambda _layout, _lesson: lambda _student: NOON + HOUR)
    source = given_files(whole, ann=WORK["ann"])
    for hours, outcome in ((0, "taken"), (2, "unchanged")):
        set_times(source, ann=hours)
        found = collect(whole, [source])
        assert (getattr(found, outcome), found.late, found.twice) == (["ann"], [], {})
        assert stated(whole) == "2026-11-22 12:00:00 UTC"


@pytest.mark.parametrize(
    ("counts", "later", "what", "when", "kept"),
    [
        ("last", 1, "taken", "13:00", 1),
        ("last", -1, "earlier", "12:00", 1),
        ("first", 1, "earlier", "12:00", 1),
        ("first", -1, "taken", "11:00", 1),
        ("best", 1, "taken", "12:00", 1),  # kept, and put in place when it is graded
        ("last", 0, "taken", "12:00", 1),  # of equal times the one that came later
    ],
)
def test_another_one_is_put_in_place_or_kept(whole, counts, later, what, when, kept):
    source = given_files(whole, ann=WORK["ann"])
    set_times(source, ann=0)
    collect(whole, [source], counts)
    given_files(whole, ann=WORK["bo"])
    set_times(source, ann=later)
    found = collect(whole, [source], counts)
    assert {name: getattr(found, name) for name in ("taken", "earlier", "unchanged")} == {
        **{name: [] for name in ("taken", "earlier", "unchanged")},
        what: ["ann"],
    }
    assert found.twice["ann"] == (
        "the one with the best mark, once they are graded"
        if counts == "best"
        else "given: ann.ipynb"
        if what == "taken"
        else "the one collected earlier"
    )
    assert stated(whole) == f"2026-11-22 {when}:00 UTC"
    assert len([*(whole.root / ".grader" / "earlier" / LESSON / "ann").iterdir()]) == kept
    again = collect(whole, [source], counts)
    assert (again.taken, [*again.unchanged, *again.earlier]) == ([], ["ann"])


def test_a_lost_time_is_written_again(whole):
    source = given_files(whole, ann=WORK["ann"])
    set_times(source, ann=0)
    collect(whole, [source])
    (whole.root / "submitted" / "ann" / LESSON / "timestamp.txt").unlink()
    assert collect(whole, [source]).unchanged == ["ann"]
    assert stated(whole) == "2026-11-22 12:00:00 UTC"


def test_work_without_answers_is_passed_over_for_work_with_some(whole):
    untouched = SOLVED.parents[1].joinpath("notebooks", SOLVED.name).read_bytes()
    given = {"ann/a.ipynb": untouched, "ann/b.ipynb": WORK["ann"], "ann/c.ipynb": OTHERS}
    for path, data in given.items():
        (whole.root / "given" / path).parent.mkdir(parents=True, exist_ok=True)
        (whole.root / "given" / path).write_bytes(data)
    source = whole.root / "given"
    set_times(source, **{"ann/a": 2, "ann/b": 1, "ann/c": 3})
    found = collect(whole, [source])
    assert found.odd == {
        "given: ann/a.ipynb": "it has no answers; given: ann/b.ipynb is taken",
        "given: ann/c.ipynb": "it has none of this lesson's exercises; given: ann/b.ipynb is taken",
    }
    assert (stated(whole), found.twice) == ("2026-11-22 13:00:00 UTC", {})
    (source / "ann" / "b.ipynb").unlink()
    assert collect(whole, [source]).odd == {
        "given: ann/a.ipynb": "it has no answers; the one collected earlier is taken",
        "given: ann/c.ipynb": "it has none of this lesson's exercises; the one collected earlier is taken",
    }


# --- a student's own modules ------------------------------------------------------------------------------------------

IMPORTING = nb.dump([nb.code("import helper, left_out"), *nb.solved(LESSON)])
IN_CANVAS, IN_MOODLE = "roeann_501_{}_", "Ann Roe_12_assignsubmission_file_"


def zipped(folder, files: dict[str, bytes], at=(2026, 11, 22, 12, 0, 0)):
    with zipfile.ZipFile(folder / "given.zip", "w") as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, at), data, zipfile.ZIP_DEFLATED)
    return folder / "given.zip"


def first_cells(course, student: str = "ann") -> list[str]:
    """The cells that were put in front of what a student handed in."""
    notebook = json.loads((course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb").read_bytes())
    return [cell["source"] for cell in notebook["cells"][: -len(json.loads(IMPORTING)["cells"])]]


def in_a_zip(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_PY", ".py").replace("_NB", ".ipynb"), content)
    return data.getvalue()


@pytest.mark.parametrize(
    "files",
    [
        {f"{IN_MOODLE}/w.ipynb": IMPORTING, f"{IN_MOODLE}/helper.py": b"x = 1", f"{IN_MOODLE}/other.py": b"y = 2"},
        {f"{IN_MOODLE}w.ipynb": IMPORTING, f"{IN_MOODLE}helper.py": b"x = 1", f"{IN_MOODLE}other.py": b"y = 2"},
        {
            f"{IN_CANVAS.format(9001)}w.ipynb": IMPORTING,
            f"{IN_CANVAS.format(9002)}helper-2.py": b"x = 1",
            f"{IN_CANVAS.format(9003)}other.py": b"y = 2",
        },
        {"01-ann/sub/w.ipynb": IMPORTING, "01-ann/sub/helper.py": b"x = 1", "01-ann/other.py": b"y = 2"},
        {"ann.zip": in_a_zip(w_NB=IMPORTING, helper_PY=b"x = 1"), "bo/other.py": b"y = 2"},
    ],
    ids=["Moodle's folders", "Moodle's files", "Canvas", "GitHub", "a zip within"],
)
def test_a_module_beside_the_notebook_goes_with_it(whole, files):
    source = zipped(whole.root, files)
    found = collect(whole, [source])
    assert (found.taken, first_cells(whole)) == (["ann"], ["%%writefile helper.py\nx = 1"])
    left = {**found.passed_over, **found.no_notebook}
    assert [name.rpartition("/")[2].rpartition("_")[2] for names in left.values() for name in names] == ["other.py"]
    again = collect(whole, [source])  # the same work once more
    assert (again.taken, again.unchanged) == ([], ["ann"])


def test_a_module_is_its_own_student_s_and_folder_s(whole):
    """Of two the later one is taken; none goes from one student's work to another's, nor from another folder."""
    files = {
        f"{IN_CANVAS.format(9001)}w.ipynb": IMPORTING,
        "roebo_502_9004_helper.py": b"bo = 1",
        "roebo_502_9005_w.ipynb": IMPORTING,
        "cy/w.ipynb": IMPORTING,
        "cy/sub/helper.py": b"cy = 1",
    }
    assert collect(whole, [zipped(whole.root, files)]).taken == ["ann", "bo", "cy"]
    assert [first_cells(whole, who) for who in ("ann", "bo", "cy")] == [[], ["%%writefile helper.py\nbo = 1"], []]


def test_a_changed_module_is_another_hand_in(whole):
    path = f"{IN_MOODLE}/w.ipynb"
    for number in (1, 2):
        source = zipped(whole.root, {path: IMPORTING, f"{IN_MOODLE}/helper.py": b"x = %d" % number})
        assert collect(whole, [source]).taken == ["ann"]
    assert first_cells(whole) == ["%%writefile helper.py\nx = 2"]
    assert len([*(whole.root / ".grader" / "earlier" / LESSON / "ann").iterdir()]) == 1


def test_modules_cost_no_more_than_notebooks_may(whole, monkeypatch):
    """One that is too large is not even read, and each counts as a part of the notebook that may import it."""
    read = []
    monkeypatch.setattr(zipfile.ZipFile, "open", _noting(zipfile.ZipFile.open, read))
    limits = Limits(notebook_bytes=len(IMPORTING) + 50_000)
    whole.limits = lambda: limits
    files = {f"{IN_MOODLE}/{number}.ipynb": IMPORTING for number in range(5)}
    large = {f"{IN_MOODLE}/left_out.py": b"#" * (hand_in.MODULE_BYTES + 1)}
    source = zipped(whole.root, {**files, **large, f"{IN_MOODLE}/helper.py": b"#" * 40_000})
    read.clear()
    found = collect(whole, [source])
    assert not [name for name in read if "left_out" in name]
    assert sum("the notebooks before it are too large" in said for said in found.odd.values()) > 0
    assert len([name for name in read if "helper" in name]) < 5


def _noting(whole, names):
    def opened(self, name, *what, **more):
        names.append(getattr(name, "filename", name))
        return whole(self, name, *what, **more)

    return opened


def test_an_unreadable_notebook_stays_as_it_is(whole):
    source = zipped(whole.root, {f"{IN_MOODLE}/w.ipynb": b"torn", f"{IN_MOODLE}/helper.py": b"x = 1"})
    found = collect(whole, [source])
    assert (found.taken, found.passed_over) == (["ann"], {"ann": ["helper.py"]})
    assert (whole.root / "submitted" / "ann" / LESSON / f"{LESSON}.ipynb").read_bytes() == b"torn"


# --- groups -----------------------------------------------------------------------------------------------------------


def shared(theirs, listed=None, known=None):
    """Who has what after a group's work is shared, and the groups. `listed` has the group by platform and key, `known`
    the id by key."""
    rows = {
        platform: {key: Author(group=group) for key, group in people.items()}
        for platform, people in (listed or {}).items()
    }
    sorting = SimpleNamespace(theirs=dict(theirs))
    whose = SimpleNamespace(listed=lambda _platform, key: (known or {}).get(key, ""))
    return sorting.theirs, _Sorting.share_in_groups(sorting, rows, whose)


ONE, TWO, ALONE = candidate("one", key="1", group="G"), candidate("two", key="2", group="G"), candidate("x", key="3")


def test_those_who_handed_in_together_are_a_group():
    theirs = {"ann": [ONE], "bo": [TWO], "cy": [ALONE], "di": [candidate("y", group="H")]}
    assert shared(theirs) == (theirs, {"ann": "G", "bo": "G"})


def test_who_is_in_a_group_only_by_the_platform_s_list_has_its_work_too():
    theirs = {"bo": [TWO, ONE], "ann": [ONE]}
    listed = {"moodle": {"7": "G", "8": "G", "9": "H", "2": "G", "6": ""}, "canvas": {"5": "G"}}
    known = {"7": "cy", "9": "di", "2": "bo", "5": "eve", "6": "fay"}
    found, groups = shared(theirs, listed, known)
    assert groups == {"ann": "G", "bo": "G", "cy": "G"}
    assert found.keys() == {"ann", "bo", "cy"}
    assert (found["bo"], found["ann"]) == ([TWO, ONE], [ONE])
    assert [(entry.path.name, entry.author) for entry in found["cy"]] == [
        (name, Author("moodle", key="7", group="G")) for name in ("two", "one")
    ]


def test_a_list_of_no_assignment_is_refused(tmp_path):
    (tmp_path / "list.csv").write_text("a,b\n1,2\n")
    rows = [f"Participant {number},Ann Lee,G" for number in (601, 602)]
    for name, head in (("one", rows[0]), ("two", rows[1])):
        (tmp_path / f"{name}.csv").write_text(f"Identifier,Full name,Group\n{head}\n")
    assert _listed([tmp_path / "one.csv", tmp_path / "two.csv"])["moodle"].keys() == {"601", "602"}
    with pytest.raises(CourseError, match=r"list\.csv: this isn't a list of one assignment"):
        _listed([tmp_path / "one.csv", tmp_path / "list.csv"])
