"""What a course notes of a lesson, one object a line: what is torn or of another form doesn't hide the rest."""

from __future__ import annotations

from datetime import timedelta

from grader.course.folder import EXTENSIONS
from grader.course.json_lines import append_line, lines_file, read_lines, write_lines
from grader.course.lateness import extensions, note_extension

LESSON = "01_self_attention"


def test_what_is_appended_is_read_and_a_file_that_is_not_there_holds_nothing(tmp_path):
    path = lines_file(tmp_path, "kind", LESSON)
    assert list(read_lines(path)) == []
    append_line(tmp_path, "kind", LESSON, {"who": "ann"})
    append_line(tmp_path, "kind", LESSON, {"who": "bo"})
    assert [(number, data["who"]) for number, data in read_lines(path)] == [(1, "ann"), (2, "bo")]
    assert path.stat().st_mode & 0o777 == 0o600


def test_lines_that_are_torn_or_of_another_format_are_passed_over(tmp_path):
    write_lines(tmp_path, "kind", LESSON, [{"who": "ann"}])
    path = lines_file(tmp_path, "kind", LESSON)
    path.write_bytes(path.read_bytes() + b'{"format": 2}\n[1]\n\xff\n' + b"[" * 100_000 + b'\n{"format": 1, "wh')
    assert [data["who"] for _number, data in read_lines(path)] == ["ann"]


def test_an_extension_behind_a_torn_line_counts(tmp_path):
    note_extension(tmp_path, LESSON, "ann", timedelta(days=1), "ill")
    path = lines_file(tmp_path, EXTENSIONS, LESSON)
    path.write_bytes(path.read_bytes()[:-20])  # killed while it was written
    note_extension(tmp_path, LESSON, "bo", timedelta(days=2), "ill, too")
    assert {who: line.seconds for who, line in extensions(tmp_path, LESSON).items()} == {"bo": 2 * 86400}


def test_without_lines_there_is_no_file(tmp_path):
    write_lines(tmp_path, "kind", LESSON, [{"who": "ann"}])
    write_lines(tmp_path, "kind", LESSON, [])
    assert not lines_file(tmp_path, "kind", LESSON).exists()
