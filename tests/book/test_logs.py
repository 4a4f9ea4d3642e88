"""The log of results and the audit log: which line counts, and what becomes of lines that can't be read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grader.book import audit
from grader.book.results_log import RESULTS, TAKEN_BACK, LoggedResult, ResultsLog, latest, stored_keys
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult

LESSON = "01"


def logged(key: str, who: str = "ann", score: float = 1.0, **more) -> LoggedResult:
    what = SubmissionResult((ExerciseResult("a", 4, score),))
    return LoggedResult(key, who, LESSON, "e3b0", "2026-11-20T17:20:05+00:00", what, **more)


@pytest.fixture
def log(tmp_path):
    with ResultsLog(tmp_path, LESSON) as opened:
        yield opened


def path(course) -> Path:
    return course / ".grader" / RESULTS / f"{LESSON}.jsonl"


# --- results ----------------------------------------------------------------------------------------------------------


def test_what_was_written_is_read_back(tmp_path, log):
    results = [logged("k1"), logged("k2", "bo", 0.5, version="v", kept=("a",))]
    log.add(results)
    log.add_basis("v", {"torch": "2.9"})
    log.mark_stored({"ann": "k1"})
    with ResultsLog(tmp_path, LESSON) as again:
        assert again.records == log.records == {result.key: result for result in results}
        assert again.stored == log.stored == {"ann": "k1"}
        assert again.bases == log.bases == {"v": {"torch": "2.9"}}
        assert again.unreadable_lines == []
        size = path(tmp_path).stat().st_size
        again.add_basis("v", {"torch": "3.0"})
        assert (again.bases["v"]["torch"], path(tmp_path).stat().st_size) == ("2.9", size)


def test_of_several_results_the_stored_one_counts_and_else_the_last(tmp_path, log):
    log.add([logged("k1"), logged("k2", score=0.5), logged("k3", "bo")])
    assert {who: line.key for who, line in latest(tmp_path, LESSON).items()} == {"ann": "k2", "bo": "k3"}
    log.mark_stored({"ann": "k1"})
    assert stored_keys(tmp_path, LESSON) == {"ann": "k1"}
    assert latest(tmp_path, LESSON)["ann"].key == "k1"
    log.mark_stored({"ann": "gone"})  # its line is lost
    assert latest(tmp_path, LESSON)["ann"].key == "k2"
    assert stored_keys(tmp_path, LESSON) == {"ann": "gone"}


def test_results_may_come_one_by_one_and_what_is_stored_first_counts(tmp_path, log):
    log.mark_stored({"ann": "k1"})
    assert stored_keys(tmp_path, LESSON) == {"ann": "k1"}
    log.add(logged(key) for key in ("k1", "k2"))
    assert [*log.records] == ["k1", "k2"]
    with ResultsLog(tmp_path, LESSON) as again:
        assert again.records == log.records


def test_a_hand_in_that_was_taken_back_is_left_out_until_there_is_another_result(tmp_path, log):
    log.add([logged("k1"), logged("k3", "bo")])
    log.mark_stored({"ann": TAKEN_BACK, "bo": "k3"})
    assert {*latest(tmp_path, LESSON)} == {"bo"}
    log.add([logged("k2")])
    assert latest(tmp_path, LESSON)["ann"].key == "k2"
    assert stored_keys(tmp_path, LESSON)["ann"] == TAKEN_BACK


def test_marks_that_are_kept_are_in_the_key_once(tmp_path):
    kept = logged("k1").keeping(("a", "b"), SubmissionResult(()))
    assert (kept.key, kept.base_key, kept.kept, kept.result.exercises) == ("k1:a,b", "k1", ("a", "b"), ())
    assert kept.keeping(("b",), kept.result).key == "k1:b"
    made = LoggedResult.now("k", "ann", LESSON, "e3", SubmissionResult(()), "v")
    assert (made.key, made.student, made.lesson, made.submission, made.version) == ("k", "ann", LESSON, "e3", "v")
    assert made.graded.endswith("+00:00")


def test_a_torn_line_is_passed_over_and_the_next_begins_anew(tmp_path, log):
    log.add([logged("k1")])
    with path(tmp_path).open("ab") as file:
        file.write(b'{"format": 2, "key": "k')
    with ResultsLog(tmp_path, LESSON) as again:
        again.add([logged("k2", "bo")])
    assert path(tmp_path).read_bytes().count(b"\n") == 3
    assert {*latest(tmp_path, LESSON)} == {"ann", "bo"}
    size = path(tmp_path).stat().st_size
    ResultsLog(tmp_path, LESSON).close()
    assert path(tmp_path).stat().st_size == size


ODD = {
    "no result": lambda line: line.pop("result"),
    "no key": lambda line: line.pop("key"),
    "a key that is a list": lambda line: line.update(key=["x"]),
    "a result that is a text": lambda line: line.update(result="1"),
    "a score that is a text": lambda line: line["result"]["exercises"][0].update(score="1"),
    "a score beyond all": lambda line: line["result"]["exercises"][0].update(score=10**400),
    "a score that is no number": lambda line: line["result"]["exercises"][0].update(score=float("nan")),
    "parts that are a number": lambda line: line["result"]["exercises"][0].update(parts=3),
    "stored as a list": lambda line: line.update(stored=["ann"]),
    "stored a number": lambda line: line.update(stored={"ann": 3}),
}


@pytest.mark.parametrize("name", ODD)
def test_a_line_of_another_form_is_passed_over_and_told(tmp_path, log, name):
    line = json.loads(json.dumps(logged("k1").to_plain()))
    ODD[name](line)
    path(tmp_path).write_text(json.dumps(line) + "\n" + "[" * 100_000 + "\n")
    with ResultsLog(tmp_path, LESSON) as again:
        assert ({*again.records}, again.stored, len(again.unreadable_lines)) == (set(), {}, 1)
        assert f"{LESSON}.jsonl:1" in again.unreadable_lines[0]
    assert latest(tmp_path, LESSON) == {}


def test_a_line_in_which_something_is_missing_is_told(tmp_path, log):
    log.add([logged("k1")])
    lines = [{"format": 2, "key": "k"}, {"format": 2, "stored": 5}, {"format": 2, "version": "v", "basis": []}]
    with path(tmp_path).open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    with ResultsLog(tmp_path, LESSON) as again:
        assert [said.partition(".jsonl:")[2][:1] for said in again.unreadable_lines] == ["2", "3", "4"]
        assert ({*again.records}, again.stored, again.bases) == ({"k1"}, {}, {})
    assert ({*latest(tmp_path, LESSON)}, stored_keys(tmp_path, LESSON)) == ({"ann"}, {})
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(again._file)


def test_whether_somebody_else_has_written(tmp_path, log):
    log.add([logged("k1")])
    assert log.is_current
    with ResultsLog(tmp_path, LESSON) as other:
        assert log.is_current
        other.add([logged("k2")])
        assert (log.is_current, other.is_current) == (False, True)
    os.replace(path(tmp_path), tmp_path / "elsewhere")
    assert not log.is_current
    (tmp_path / "elsewhere").write_bytes(b"")
    os.replace(tmp_path / "elsewhere", path(tmp_path))
    assert not log.is_current


def test_on_a_full_disk_no_half_line_stays(monkeypatch, tmp_path, log):
    log.add([logged("k1")])
    before, write = path(tmp_path).read_bytes(), os.write

    def full(file, data):
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(file, data[: len(data) - 10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        log.add([logged("k2")])
    monkeypatch.undo()
    assert path(tmp_path).read_bytes() == before
    assert "k2" not in log.records
    log.add([logged("k3")])
    assert {*ResultsLog(tmp_path, LESSON).records} == {"k1", "k3"}


# --- the audit log ----------------------------------------------------------------------------------------------------

NOTED = audit.Noted(0.5, 1.0, {"a": (0.5, 1.0)}, "Seen.", ("k1", "k2"), ({"grade": {}}, {"grade": {}}))


def test_entries_are_numbered_and_read_back(tmp_path):
    assert (audit.entries(tmp_path, LESSON), audit.next_id(tmp_path, LESSON)) == ([], 1)
    first = audit.add(tmp_path, LESSON, audit.ACCEPT, {"ann": NOTED}, version="v", changed=("torch",), also_down=True)
    second = audit.add(tmp_path, LESSON, audit.OVERRIDE, {"bo": audit.Noted(0.0, 1.0)})
    assert (audit.entries(tmp_path, LESSON), audit.next_id(tmp_path, LESSON)) == ([first, second], 3)
    assert (first.id, second.id, first.students["ann"], first.also_down) == (1, 2, NOTED, True)
    assert first.when.endswith("+00:00")


def test_the_last_that_is_not_taken_back_yet_is_the_one_to_take_back(tmp_path):
    assert audit.last(tmp_path, LESSON) is None
    for _time in range(3):
        audit.add(tmp_path, LESSON, audit.ACCEPT, {})
    audit.add(tmp_path, LESSON, audit.UNDO, {}, undoes=3)
    assert audit.last(tmp_path, LESSON).id == 2
    audit.add(tmp_path, LESSON, audit.UNDO, {}, undoes=2)
    assert audit.last(tmp_path, LESSON).id == 1
    audit.add(tmp_path, LESSON, audit.UNDO, {}, undoes=1)
    assert audit.last(tmp_path, LESSON) is None


def test_a_line_of_another_form_is_passed_over_and_its_number_not_given_again(tmp_path):
    audit.add(tmp_path, LESSON, audit.ACCEPT, {})
    audit.add(tmp_path, LESSON, audit.ACCEPT, {})
    [file] = (tmp_path / ".grader" / "regrades").glob("*.jsonl")
    file.write_text(file.read_text().partition("\n")[2] + '{"format": 1, "id": "x"}\n{"for')
    assert [entry.id for entry in audit.entries(tmp_path, LESSON)] == [2]
    assert audit.next_id(tmp_path, LESSON) == 3


def test_where_notebooks_are_kept(tmp_path):
    assert audit.notebooks_of(tmp_path, LESSON).name == "1"
    audit.add(tmp_path, LESSON, audit.ACCEPT, {})
    made = audit.notebooks_of(tmp_path, LESSON), audit.notebooks_of(tmp_path, LESSON, 1)
    assert [folder.relative_to(tmp_path / ".grader" / "regrades" / LESSON).name for folder in made] == ["2", "1"]
    assert all(folder.is_dir() for folder in made)
