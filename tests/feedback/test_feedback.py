"""Feedback pages: what they tell, what they never tell, who gets a new one, and how platforms take them back. Nothing
is judged here: the results are made up, and stored as both commands store them."""

from __future__ import annotations

import html
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from time import process_time

import nbformat
import pytest
from click.testing import CliRunner

from grader import languages
from grader.book.autograded import Autograded
from grader.book.gradebook import GradebookEntry, LessonGradebook
from grader.book.rebuild import RESULT, dump, own_cells, rebuild
from grader.book.shown import CellMark, FeedbackMarks
from grader.cli.main import main
from grader.course.class_directory import ClassDirectory
from grader.course.lateness import LateDays
from grader.course.release import Release
from grader.course.roster import Person, update
from grader.course.settings import CourseSettings
from grader.errors import CourseError
from grader.exercises.registry import exercises
from grader.feedback.fresh import write_feedback
from grader.feedback.page import MOST, Feedback
from grader.feedback.safe_html import MOST_CODE, highlight_code, markdown2html, page_code, page_markdown
from grader.judge.disclosure import GENERAL
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.result import CONFINED, UNSAFE, SubmissionResult
from grader.judge.result import TestResult as ResultOfTest
from grader.judge.words import footer
from grader.report import ExerciseResult, PartResult, Stop
from grader.report.words import FirstFix
from grader.sentences import say
from tests.batch.test_own_cells import OWN
from tests.classroom import LESSON, answered, classroom_at, solved
from tests.pseudo import CODE, english_in, pseudo_language

FILE = f"{LESSON}.ipynb"
SHAPE, VALUES = (
    PartResult("returns the right shape", True, 1),
    PartResult("has the right values", False, 3, "values", "It differs."),
)
FAILED = ExerciseResult(
    "first_steps",
    1,
    0.25,
    (SHAPE, VALUES),
    "one-forgotten",
    "the `+ 1` is missing",
    ("Look again.", "Count."),
    output="seen",
)
PASSED = ExerciseResult("first_steps", 1, 1.0, (SHAPE,))
TESTS = (ResultOfTest("double-tests", True), ResultOfTest("double-partial", True, 1.5))
PEOPLE = ("ann", "bo", "cy")


class Course:
    """A course with lesson 00 and a teacher's own cells of every kind."""

    def __init__(self, root) -> None:
        self.classroom = classroom_at(root)
        self.root = self.classroom.course
        source = self.root / "source" / LESSON / FILE
        document = json.loads(source.read_text())
        document["cells"] += OWN
        source.write_text(json.dumps(document))
        self.classroom.steps(("course", "generate_assignment", LESSON))
        self.here = ClassDirectory(self.root, LESSON)
        people = [Person(who, who.capitalize(), "Lee", canvas_id=f"50{i}") for i, who in enumerate(PEOPLE)]
        update(self.root, self.here.layout.db_url, "attention", people)

    def hand_in(
        self,
        student: str,
        answer: str = "x",
        text: str = "",
        result: ExerciseResult = FAILED,
        language: str = "en",
        **more,
    ) -> None:
        """A submission and its result, as both commands leave them."""
        notebook = answered(json.loads((self.root / "release" / LESSON / FILE).read_text()), answer)
        if language != "en":
            notebook["metadata"]["course"] = {"language": language}
        if text:
            notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": text})
        folder = self.root / "submitted" / student / LESSON
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {FILE: json.dumps(notebook), "timestamp.txt": "2026-11-20 10:00:00 UTC"}.items():
            (folder / name).write_text(content)
        (folder / "submission_secret.txt").write_text(f"secret of {student}")
        whole = SubmissionResult((result,), tests=TESTS, **more)
        layout = self.here.layout
        with LessonGradebook(layout.db_url, layout.course_id, LESSON, self.here.config) as book:
            data = (folder / FILE).read_bytes()
            made = rebuild(self.here.outline(), data, whole, book.release, Limits())
            own = own_cells(made["cells"], whole)
            (submission,) = [one for one in self.here.submissions()[0] if one.student == student]
            Autograded(self.here).write(submission, dump(made))
            book.store([GradebookEntry(student, whole, own, datetime(2026, 11, 20, 10))])

    def sql(self, table: str, change: str, student: str, name: str) -> None:
        with closing(sqlite3.connect(self.root / "gradebook.db")) as book, book:
            cell = f"select id from base_cell where name = '{name}'"
            submitted = f"select id from submitted_assignment where student_id = '{student}'"
            notebook = f"select id from submitted_notebook where assignment_id in ({submitted})"
            book.execute(f"update {table} set {change} where cell_id in ({cell}) and notebook_id in ({notebook})")

    def page(self, student: str) -> str:
        return (self.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text()

    def row(self, student: str, name: str) -> str:
        """A line of the summary, without tags."""
        (found,) = [
            row for row in re.findall(r"<li class=.*?</li>", self.page(student), re.S) if f">{name}</code>" in row
        ]
        return " ".join(re.sub(r"<[^>]*>", "", found).split())


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    made = Course(tmp_path_factory.mktemp("feedback"))
    made.hand_in("ann", "def first_steps(x):\n    return 2 * x  # anns_own", "Ann's **words**: $\\frac{a}{b}$")
    made.hand_in("bo", "def first_steps(x):\n    return bos_own", notes=("bos_note <is> odd",))
    made.hand_in("cy", result=PASSED, unreadable="cys_file is broken.")
    made.sql("comment", "manual_comment = 'anns_comment: *well* tried <script>x</script>'", "ann", "first_steps")
    write_feedback(made.here)
    return made


def grader(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_summary_tells_points_what_passed_the_mistake_and_the_next_hint(course):
    row = course.row("ann", "first_steps")
    assert "0.25 of 1 points 1 of 2 parts passed. Failed: has the right values (0 of 0.75)." in row
    assert "It looks like one-forgotten: the + 1 is missing Hint. Look again." in row
    assert "Count." not in row
    page = course.page("ann")
    assert page.index("For ann") < page.index('href="#at-first_steps"') < page.index('id="at-first_steps"')
    assert page.index("anns_own") < page.index('<h2 id="teacher"') < page.index("anns_comment: <em>well</em> tried")
    assert "Count." in page
    assert "Tests: <code>double-tests</code>" in page
    assert "3.75 of 14.5 points so far" in page


def test_what_waits_for_a_teacher_is_told(course):
    assert "Your teacher still has to look at project." in course.page("ann")  # the others are as they were handed out
    assert course.row("ann", "project").endswith("0 of 4 points Your teacher will look at this and give it a mark.")
    assert "You wrote nothing here." in course.row("ann", "essay")


def test_hidden_tests_and_marking_schemes_are_on_no_page(course):
    for student in PEOPLE:
        feedback = Feedback(*_parts_of(course, student))
        for shown in (course.page(student), feedback.notebook().decode()):
            assert "assert double(1) == 2" in re.sub(r"<[^>]*>", "", shown)
            for hidden in (
                "secret number",
                "HIDDEN TESTS",
                "for colours",
                "model essay",
                "model answer",
                "course_result",
            ):
                assert hidden not in shown, (student, hidden)


def _parts_of(course, student):
    layout = course.here.layout
    with LessonGradebook(layout.db_url, layout.course_id, LESSON, course.here.config) as book:
        shown = book.shown()[student][LESSON]
    return (course.root / "autograded" / student / LESSON / FILE).read_bytes(), shown, LESSON, student


def test_no_page_has_anything_of_another_student(course):
    own = {
        "ann": ("anns_own", "Ann&#39;s", "Ann's", "anns_comment", "secret of ann"),
        "bo": ("bos_own", "bos_note", "secret of bo"),
        "cy": ("cys_file", "secret of cy"),
    }
    for student in PEOPLE:
        page = course.page(student)
        assert own[student][0] in page
        for other in set(PEOPLE) - {student}:
            assert not re.search(rf"\b{other}\b", page)
            assert not [words for words in own[other] if words in page]


def test_page_holds_no_script_and_loads_nothing(course):
    for student in PEOPLE:
        page = course.page(student)
        assert "<script" not in page
        assert "bos_note &lt;is&gt; odd" in page or student != "bo"
        assert not re.search(r"""src=(?!["']data:)|<link|url\(|@import""", page)
        assert "default-src 'none'" in page
        assert len(page) < 300_000


def test_a_student_reads_why_a_file_earns_nothing(course):
    assert "cys_file is broken." in course.page("cy")
    assert course.page("cy").count("cys_file") == 1  # in the summary, not once more in the notebook


def test_other_files_go_along_and_nbgrader_releases_and_fetches_the_page(course):
    folder = course.root / "feedback" / "bo" / LESSON
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{LESSON}.html",
        "submission_secret.txt",
        "timestamp.txt",
    ]
    before = (folder / f"{LESSON}.html").stat().st_mtime_ns
    bo = course.classroom.root / "bo"
    cached = bo / ".jupyter_data" / "nbgrader_cache" / "attention" / f"bo+{LESSON}+2026-11-20 10:00:00 UTC"
    cached.mkdir(parents=True)
    for name in (FILE, "submission_secret.txt"):
        (cached / name).write_bytes((course.root / "submitted" / "bo" / LESSON / name).read_bytes())
    course.classroom.steps(
        ("course", "generate_feedback", LESSON),  # finds nothing to do
        ("course", "release_feedback", LESSON),
        ("bo", "fetch_feedback", LESSON, "--student=bo"),
    )
    assert (folder / f"{LESSON}.html").stat().st_mtime_ns == before
    (fetched,) = (bo / LESSON / "feedback").rglob("*.html")
    assert fetched.read_text() == course.page("bo")


def test_both_commands_make_the_same_page(course):
    ours = {student: course.page(student) for student in PEOPLE}
    course.classroom.steps(("course", "generate_feedback", LESSON, "--force"))
    assert {student: course.page(student) for student in PEOPLE} == ours
    assert write_feedback(course.here).made == []


def test_only_those_whose_mark_comment_or_notebook_changed_get_a_new_page(course):
    course.sql("grade", "manual_score = 0.5", "ann", "first_steps-check")
    course.sql("comment", "manual_comment = 'see me'", "bo", "essay")
    outcome = write_feedback(course.here)
    assert (outcome.made, outcome.unchanged) == (["ann", "bo"], ["cy"])
    assert "0.5 of 1 points" in course.row("ann", "first_steps")
    assert "Your teacher gave this mark. The checks alone give 0.25." in course.row("ann", "first_steps")
    assert "see me" in course.page("bo")
    (course.root / "autograded" / "cy" / LESSON / "submission_secret.txt").chmod(0o600)
    (course.root / "autograded" / "cy" / LESSON / "submission_secret.txt").write_text("another: handed in again")
    assert write_feedback(course.here).made == ["cy"]
    assert write_feedback(course.here, ["bo"], force=True).made == ["bo"]


def test_late_penalty_is_in_the_sum():
    marks = {"first_steps-check": CellMark(0.75, 1, 0, False, False)}
    shown = FeedbackMarks(marks, {}, 0.5)
    instructor = Outline.of(json.dumps(solved()).encode())
    result = SubmissionResult((FAILED,))
    data = dump(rebuild(instructor, json.dumps(solved()).encode(), result, Release(), Limits()))
    page = Feedback(data, shown, LESSON, "ann").page()
    assert "0.25 of 1 points</p>" in page
    assert "0.75 points, less 0.5 because your notebook was handed in late." in page


def test_a_page_of_a_huge_notebook_stays_small():
    instructor = json.dumps(solved())
    whole = solved("def first_steps(x):\n" + "    y = [1, 2, 'three']\n" * 20_000)
    whole["cells"] += [{"cell_type": "markdown", "metadata": {}, "source": "word " * 3000}] * 30
    data = dump(
        rebuild(
            Outline.of(instructor.encode()),
            json.dumps(whole).encode(),
            SubmissionResult((FAILED,)),
            Release(),
            Limits(),
        )
    )
    page = Feedback(
        data, FeedbackMarks({"first_steps-check": CellMark(0.25, 1, 0, False, False)}, {}, 0), LESSON, "ann"
    ).page()
    assert 0.9 * MOST < len(page) < 300_000
    assert page.count("left out here") > 5
    assert 'id="at-first_steps"' in page


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("$$\\frac{Q K^\\top}{\\sqrt{d_k}}$$", "<mfrac>"),
        ("a \\qquad: $a \\qquad b$", '<mspace width="2em">'),
        ("$a < b$", "<mo>&lt;</mo>"),
        ("\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "<mtable>"),
        ("$\\left( x$", "<code>\\left( x</code>"),  # not understood: as it was written
        ("$" + "{" * 1500 + "$", "<code>{{{"),
        ("costs $5", "costs $5"),
    ],
)
def test_formulas_are_shown_without_a_library_from_elsewhere(source, shown):
    assert shown in page_markdown(source)


@pytest.mark.parametrize(
    "source",
    [
        "$\\href{javascript:alert(1)}{x}$",
        "$\\text{<img src=x onerror=alert(1)>}$",
        "$\\class{graded}{x} \\style{position:fixed}{y}$",
        "$\\hspace{99em} \\rule{99em}{99em}$",
        "<math><mtext><img src=https://elsewhere.example/x><style>body{display:none}</style></mtext></math>",
        "<math href='javascript:x'><mspace width='999em'></mspace></math>",
    ],
)
def test_a_formula_addresses_covers_and_moves_nothing(source):
    shown = page_markdown(source)
    tags = " ".join(re.findall(r"<[^>]*>", shown))
    assert not re.search(r"javascript|onerror|elsewhere|class|style|99em|<style|background", tags), shown


def test_code_has_colours_and_nothing_active():
    assert page_code("'</span><script>'") == '<span class="s">&#x27;&lt;/span&gt;&lt;script&gt;&#x27;</span>'
    assert len(page_code("\n" * (MOST_CODE - 1) + "x")) < 1000


@pytest.mark.parametrize("sign", ["@", "a ", '"""', "\n", " ", "f'{", "(", "\\\n", "%", "한", "# é\n"])
def test_a_long_cell_is_as_it_was_written_and_takes_no_time(sign):
    """Its colours took a time that grew with the square: 25 seconds for 800,000 characters."""
    source = sign * (20_000_000 // len(sign))
    began = process_time()
    assert page_code(source) == html.escape(source)
    assert html.escape(source) in highlight_code(source)
    assert page_markdown(source) == markdown2html(source) == f"<pre>{html.escape(source)}</pre>"
    assert process_time() - began < 10


@pytest.mark.parametrize("size", [20_000_000, MOST // 2, MOST_CODE, 10_000])
@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_a_page_takes_as_long_as_its_limit_allows(size, kind):
    """However large the cells are and however many: nothing is rendered that may not be shown."""
    cells = [{"cell_type": kind, "metadata": {}, "source": "@ " * (size // 2)} for _ in range(20_000_000 // size)]
    notebook = solved()
    notebook["cells"] += cells
    notebook["metadata"] = {RESULT: SubmissionResult((FAILED,)).to_plain()}
    feedback = Feedback(json.dumps(notebook).encode(), FeedbackMarks({}, {}, 0), LESSON, "ann")
    began = process_time()
    page = feedback.page()
    assert process_time() - began < 20
    assert len(page) < 300_000 + 150 * len(cells)
    assert "left out here" in page


# --- platforms --------------------------------------------------------------------------------------------------------


def moodle_takes(path: str, participants: dict[str, str]) -> tuple[str, str] | None:
    """Whose a file in the zip is, and its name there: mod/assign/feedback/file/importziplib.php in words of ours. The
    first part of the path with a known number after the first underscore, and a plug-in after the second and third."""
    parts = path.split("/")
    if parts[-1].startswith((".", "~")):
        return None
    while parts:
        info = parts.pop(0).split("_", 4)
        if (
            len(info) >= 4
            and info[1].isdecimal()
            and info[1] in participants
            and info[2:4] == ["assignsubmission", "file"]
        ):
            return participants[info[1]], "/".join([*info[4:], *parts]).lstrip("/")
    return None


def canvas_takes(path: str, submissions: dict[tuple[str, str], str]) -> str | None:
    """Whose a file in the zip is: `infer_comment_context_from_filename` of canvas-lms. The first two parts of its name
    that are numbers are the user's and the submitted file's."""
    parts = path.rpartition("/")[2].split("_")
    numbers = [part for part in parts if part.isdecimal()][:2]
    if len(numbers) < 2 or parts[-1].startswith("link") or path.startswith("._"):
        return None
    return submissions.get((numbers[0], numbers[1]))


def downloaded(folder, names):
    with zipfile.ZipFile(folder / "download.zip", "w") as archive:
        for name in names:
            archive.writestr(name, json.dumps(solved()))
    return folder / "download.zip"


@pytest.mark.parametrize("end", ["_", ""])  # until Moodle 4.0, and from 4.1 on
def test_moodle_takes_the_zip_back(course, tmp_path, end):
    names = [f"Ann Lee_771_assignsubmission_file{end}/mine.ipynb", f"Bo Lee_772_assignsubmission_file_{FILE}"]
    assert grader("collect", course.root, "00", downloaded(tmp_path, names)).exit_code == 0
    done = grader("feedback", course.root, "00", "--zip", "moodle")
    assert done.exit_code == 1
    assert "Not packed, since `grader collect` took no work from this platform for these students: cy" in done.output
    path = course.root / f"feedback-{LESSON}-moodle.zip"
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        taken = {moodle_takes(name, {"771": "ann", "772": "bo"}): archive.read(name) for name in archive.namelist()}
    assert taken.keys() == {("ann", f"{LESSON}.html"), ("bo", f"{LESSON}.html")}
    assert {who: data.decode() for (who, _name), data in taken.items()} == {
        who: course.page(who) for who in ("ann", "bo")
    }


@pytest.mark.parametrize("late", ["LATE", "late"])
def test_canvas_takes_the_zip_back_as_notebooks(course, tmp_path, late):
    names = [f"leeann_{late}_500_9001_{LESSON}-1.ipynb", f"leebo_501_9002_{FILE}"]
    assert grader("collect", course.root, "00", downloaded(tmp_path, names)).exit_code == 0
    done = grader("feedback", course.root, "00", "ann", "bo", "--zip", "canvas")
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(course.root / f"feedback-{LESSON}-canvas.zip") as archive:
        assert sorted(archive.namelist()) == sorted(names)
        taken = {canvas_takes(n, {("500", "9001"): "ann", ("501", "9002"): "bo"}): archive.read(n) for n in names}
    assert taken.keys() == {"ann", "bo"}
    notebook = nbformat.reads(taken["ann"].decode(), as_version=4)
    nbformat.validate(notebook)
    assert "It looks like <code>one-forgotten</code>" in notebook.cells[0].source
    assert "\n\n" not in notebook.cells[0].source  # where HTML in a text cell would end
    assert "anns_comment" in notebook.cells[-1].source
    assert "bos_own" not in taken["ann"].decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("00", "nobody"), "there is no student 'nobody'.\n"),
        (("00", "annn"), "there is no student 'annn'. Did you mean ann (Ann Lee)?"),
        (("99",), "'99' isn't one of the lessons"),
        (("00", "--zip", "blackboard"), "'blackboard' is not one of"),
    ],
)
def test_wrong_arguments_get_a_sentence(course, arguments, said):
    done = grader("feedback", course.root, *arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_a_spoilt_notebook_costs_its_own_page_only(course):
    path = course.root / "autograded" / "cy" / LESSON / FILE
    before, old = path.read_bytes(), course.page("cy")
    path.chmod(0o600)
    path.write_bytes(before[:1000])
    done = grader("feedback", course.root)
    assert done.exit_code == 1
    assert f"autograded/cy/{FILE} has changed since `grader autograde` wrote it" in done.output
    assert course.page("cy") == old
    path.write_bytes(before)


def test_a_folder_with_the_name_of_the_page_costs_its_own_page_only(course):
    folder = course.root / "autograded" / "cy" / LESSON / f"{LESSON}.html"
    folder.mkdir()
    (folder / "mine.txt").write_text("x")
    (course.root / "feedback" / "cy" / LESSON / f"{LESSON}.html").unlink()
    outcome = write_feedback(course.here)
    assert outcome.problems == [
        f"cy: no page could be written: Is a directory: {course.root}/feedback/cy/{LESSON}/{LESSON}.html"
    ]
    assert "ann" in outcome.unchanged


def test_a_course_without_a_graded_lesson_is_told_so(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("")
    with pytest.raises(CourseError, match="no hand-in has been graded yet"):
        main(["feedback", str(tmp_path)], standalone_mode=False)


def test_a_page_is_in_the_language_of_the_hand_in_or_of_the_roster(tmp_path, monkeypatch):
    words = {
        "Feedback: {title}": "피드백: {title}",
        "{mark} of {points} points": "{points}점 만점에 {mark}점",
        "Your answer": "여러분의 답",
        "has the right values": "값이 올바름",
        "Failed: {parts}.": "통과하지 못함: {parts}.",
        "{part} ({mark} of {points})": "{part}({mark}/{points})",
        "Look again.": "다시 보세요.",
        "failed": "실패",
        "The code ran confined.": "코드를 격리하여 실행했습니다.",
    }
    folder = tmp_path / "words" / "ko"
    folder.mkdir(parents=True)
    (folder / "words.json").write_text(json.dumps(words))
    (folder.parent / "languages.json").write_text('{"ko": "한국어"}')
    monkeypatch.setattr(languages, "WORDS", folder.parent)
    monkeypatch.setenv("GRADER_LANG", "ko")  # the teacher's own is nobody else's
    (tmp_path / "class").mkdir()
    course = Course(tmp_path / "class")
    for student, language in {"ann": "ko", "bo": "en", "cy": "fr"}.items():
        course.hand_in(student, language=language)
    write_feedback(course.here)
    assert '<html lang="ko">' in (page := course.page("ann"))
    for said in ("피드백: 00_start_here", "1점 만점에 0.25점", "통과하지 못함: 값이 올바름(0/0.75).", "다시 보세요."):
        assert said in page
    assert "<strong>실패</strong> 값이 올바름" in page
    assert "코드를 격리하여 실행했습니다." in page
    assert re.findall('<html lang="(.*)">', course.page("bo") + course.page("cy")) == ["en", "en"]
    assert "Failed: has the right values (0 of 0.75)." in course.page("cy")
    # What a teacher sees is English, and the same in both.
    files = {who: json.loads((course.root / "autograded" / who / LESSON / FILE).read_text()) for who in PEOPLE}
    assert files["ann"]["metadata"].pop("course") == {"language": "ko"}
    assert files["ann"] == files["bo"] == files["cy"]
    with closing(sqlite3.connect(course.root / "gradebook.db")) as book:
        said = book.execute("select distinct auto_comment from comment where auto_comment != 'No response.'")
        assert said.fetchall() == [("It looks like one-forgotten: the `+ 1` is missing",)]
    # A column of the roster comes first, and changes who gets a new page.
    people = [Person("ann", language="en"), Person("bo", language="KO")]
    update(course.root, course.here.layout.db_url, "attention", people)
    assert write_feedback(course.here).made == ["ann", "bo"]
    assert '<html lang="en">' in course.page("ann")
    assert "다시 보세요." in course.page("bo")
    assert "다시 보세요." in Feedback(*_parts_of(course, "bo"), language="ko").notebook().decode()


def test_a_language_that_there_is_not_is_told_with_its_line(course, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("id,language\nann,en\nbo,Klingon\n")
    done = grader("roster", course.root, people)
    assert done.exit_code == 2
    assert "line 3: language is 'Klingon', expected one of en" in done.output


NOT_WRITTEN = (
    "`{name}` is not written yet: replace `raise NotImplementedError()` with your code, run the cell, and check again."
)
MISTAKE = exercises()["stable_softmax"].mistakes[0]


def _results() -> Iterator[SubmissionResult]:
    """Results with all that a page may say of one."""
    parts = [part.name for part in exercises()["stable_softmax"].parts]
    waits = PartResult(parts[2], False, 1, "values-first", judged=False)
    unwritten = PartResult("returns the right shape", False, 1, "not-written", say(NOT_WRITTEN, name="first_steps"))
    failed = replace(FAILED, symptom=MISTAKE.symptom, hints=MISTAKE.hints)
    failed = replace(failed, parts=(SHAPE, replace(VALUES, name=parts[1], message=GENERAL), waits))
    stop = Stop(3, "x = y", "NameError", "name 'y' is not defined")
    for one in (
        failed,
        PASSED,
        replace(FAILED, parts=(unwritten,), score=0.0, symptom="", hints=()),
        replace(failed, broken=True),
        replace(failed, first_fix="stable_softmax", first_fix_why=FirstFix.FAILING, stop=stop),
        replace(failed, score=0.5, carried=0.25, carried_with=("stable_softmax", "attend")),
    ):
        for confinement in (CONFINED, UNSAFE):
            yield SubmissionResult((one,), tests=TESTS, confinement=confinement)


def test_a_page_has_no_word_that_cannot_be_said_in_another_language(course, monkeypatch):
    monkeypatch.setattr(languages, "languages", lambda: {"en": "English", CODE: "⟦⟧"})
    data, shown, *whose = _parts_of(course, "bo")
    document = json.loads(data)
    taught = [cell for cell in document["cells"] if cell["cell_type"] == "code"]  # texts are the lesson's own
    late = LateDays(timedelta(days=2, hours=3), 3, 1, timedelta(days=1), "ill").words(
        CourseSettings(percent_a_day=10.0)
    )
    marks = {name: replace(mark, extra=0.5, by_hand=True) for name, mark in shown.marks.items()}
    for result in _results():
        document["metadata"][RESULT] = result.to_plain()
        document["cells"] = [*taught, {"cell_type": "markdown", "metadata": {}, "source": f"*{footer(result)}*"}]
        for given in (shown, FeedbackMarks(marks, {"essay": ("No response.", "42")}, 1.5, late)):
            with pseudo_language():
                page = Feedback(json.dumps(document).encode(), given, *whose, language=CODE).page()
            page = re.sub(r"<(style|pre|code)\b.*?</\1>", " ", page, flags=re.DOTALL)
            text = html.unescape(re.sub(r"<[^>]*>", " ", page))
            assert english_in(text, "one-forgotten bo ill is not defined name NameError first steps") == [], text
