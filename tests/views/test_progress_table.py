"""The table of progress: what it shows, and when it sends anything."""

from __future__ import annotations

from grader.views import ProgressTable


def test_it_counts_what_is_passed():
    rows = [["00", "a", "passed-seen", "1", "1", "4"], ["01", "b", "started", "0", "2", "1"]]
    table = ProgressTable(lambda: rows)
    assert repr(table) == "Progress, 2 exercises: 1 passed."
    assert table.rows == rows


def test_it_reads_anew_when_asked_and_tells_only_what_changed():
    rows = [["00", "a", "not-tried", "0", "1", "0"]]
    table = ProgressTable(lambda: rows)
    sent = []
    table.observe(lambda change: sent.append(change["name"]))
    table._handle_custom_msg({"ask": "rows"}, [])
    assert sent == []
    rows[0][2] = "passed"
    table._handle_custom_msg({"ask": "rows"}, [])
    assert set(sent) == {"rows", "summary"}
    assert repr(table).endswith("1 passed.")
