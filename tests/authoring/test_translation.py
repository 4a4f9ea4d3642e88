"""What is to be translated, the catalogues, and what an entry may not lose."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from grader.authoring import Repository, build, verify
from grader.authoring.lesson import read_folder
from grader.authoring.notebook import dumps, instructors_notebook, loads
from grader.authoring.translation import said, translate
from grader.authoring.translation.built import notebook_in
from grader.authoring.translation.catalogue import Entry, Written, brought_up_to_date, read, text_of, write
from grader.authoring.translation.faults import against_glossary, faults, faults_of, quoted_otherwise, unwanted
from grader.authoring.translation.units import MARKDOWN, translated, units_of
from grader.authoring.verify import require_built
from grader.errors import CommandFailed, CourseError
from grader.exercises.registry import exercises

ROOT = Path(__file__).parents[2]
TEXT = """# A title

A paragraph that
is wrapped. **Bold** and `code`.

- one item
  on two lines
  - nested
1. numbered

> quoted
> twice

| a b | c d |
| --- | --- |
| `x` | words |
| `x` | $y$ |

<details><summary>A fold</summary>

What is in it: $x^2$.

</details>

$$a = b$$

```python
x = 1  # no unit
```

<!-- time -->"""


def test_units_are_what_a_reader_takes_in_at_once():
    assert [(unit.kind, unit.text) for unit in units_of(TEXT)] == [
        ("heading", "A title"),
        ("paragraph", "A paragraph that is wrapped. **Bold** and `code`."),
        ("item", "one item on two lines"),
        ("item", "nested"),
        ("item", "numbered"),
        ("item", "quoted twice"),
        ("row", "| a b | c d |"),
        ("row", "| `x` | words |"),
        ("summary", "A fold"),
        ("paragraph", "What is in it: $x^2$."),
    ]


def test_a_text_put_back_has_the_same_units():
    again = translated(TEXT, lambda text: text)
    assert [unit.text for unit in units_of(again)] == [unit.text for unit in units_of(TEXT)]
    assert translated(TEXT, lambda _text: None) == TEXT


def test_only_units_change():
    made = translated(TEXT, lambda text: "| 가 | 나 |" if text.startswith("|") else "가")
    assert made.count("가") == 10
    for kept in (
        "# 가",
        "- 가\n  - 가\n1. 가",
        "<summary>가</summary>",
        "$$a = b$$",
        "x = 1  # no unit",
        "<!-- time -->",
    ):
        assert kept in made


def test_wrapping_anew_changes_no_unit():
    assert [u.text for u in units_of("one two\nthree")] == [u.text for u in units_of("one\ntwo three")]


@pytest.mark.parametrize(
    ("english", "korean", "fault"),
    [
        ("Print `x`.", "출력하세요.", "code missing: x"),
        ("Print it.", "`x`를 출력하세요.", "code that English doesn't have: x"),
        ("It is $d_k$.", "$d_q$입니다.", r"formulas missing: \$d_k\$"),
        (
            "A **weighted average** is needed.",
            "**가중 평균(weighted average)**이 필요합니다.",
            "bold pieces in",
        ),
        ("A *mask* is needed.", "마스크가 필요합니다.", "italic pieces in English: 1"),
        ("Divide by 100.", "나누세요.", "numbers are missing: 100"),
        ("`{name}` returned None.", "`{name}`은 None을 반환했습니다.", "a particle follows a placeholder"),
        ("`{name}` returned None.", "함수가 None을 반환했습니다.", "placeholders missing: name"),
        ("See [here](https://a.b).", "[여기](https://a.c)를 보세요.", "links missing"),
        ("A <br> tag.", "태그.", "tags missing"),
        ("The robot waits.", "로봇은(는) 기다립니다.", "two particles at once"),
        ("In steps 5 to 7 and 8 to 9.", "5~7단계와 8~9단계에서.", "a tilde"),
        ("| a | b |", "| 가 나 |", "cells of this row in English: 2"),
        ("Not translated yet.", "Not translated yet.", "still the English text"),
        ("One line.", "한 줄. ", "the blanks at its ends"),
    ],
)
def test_a_translation_that_lost_something(english, korean, fault):
    assert any(re.search(fault, found) for found in faults(english, korean, "ko"))


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("A **weighted average** of `x`, $d_k$ and 100.", "`x`, $d_k$, 100의 **가중 평균**(weighted average)."),
        ("`{name}` returned None.", "`{name}` 함수가 None을 반환했습니다."),
        ("50 % of the rows", "행의 50%"),
        ("| `x` | words |", "| `x` | 낱말 |"),
        ("    indented: {names}", "    들여 쓴 것: {names}"),
    ],
)
def test_a_good_translation_has_no_fault(english, korean):
    assert not list(faults(english, korean, "ko"))


def test_rules_of_korean_are_for_korean():
    assert not list(faults("`{name}` returned None.", "`{name}`은 None을 반환했습니다.", "fr"))


def test_a_comment_allows_a_fault():
    entry = Written("Divide by 100.", "백으로 나누세요.")
    assert list(faults_of(entry, "ko"))
    entry.comments = ("allow: numbers are missing",)
    assert not list(faults_of(entry, "ko"))
    entry.comments = ("allow: ",)
    assert list(faults_of(entry, "ko"))


def test_words_that_the_glossary_refuses(tmp_path):
    glossary = tmp_path / "glossary.csv"
    glossary.write_text("english,translation,do not use\nmask,마스크,가리개; (가면)\n", "utf-8")
    words = unwanted(glossary)
    assert words == {"가리개": "마스크"}
    assert list(against_glossary(Written("a mask", "가리개"), words))
    assert not list(against_glossary(Written("a mask", "가면"), words))
    assert unwanted(tmp_path / "none.csv") == {}


def test_words_of_the_screen_are_quoted_as_they_are():
    words = {"not passed yet": "아직 통과하지 못함"}
    english = "It reads *not passed yet*."
    assert not list(quoted_otherwise(Written(english, "*아직 통과하지 못함*이라고 나옵니다."), words))
    other = Written(english, "*통과 전*이라고 나옵니다.")
    assert list(quoted_otherwise(other, words)) == list(faults_of(other, "ko", {}, words))
    other.comments = ("allow: 'not passed yet' is",)
    assert list(quoted_otherwise(other, words))
    assert not list(faults_of(other, "ko", {}, words))


def entries(*texts: str) -> list[Entry]:
    return [Entry(text, "lessons/01_a.py#b", "paragraph") for text in texts]


def test_an_english_edit_makes_one_entry_fuzzy():
    old = [Written("The rows sum to one.", "행의 합은 1입니다."), Written("Look at the diagonal.", "대각선을 보세요.")]
    made = brought_up_to_date({"a": old}, {"a": entries("The rows all sum to one.", "Look at the diagonal.", "New.")})
    assert [(one.translation, one.fuzzy, one.before) for one in made["a"]] == [
        ("행의 합은 1입니다.", True, "The rows sum to one."),
        ("대각선을 보세요.", False, ""),
        ("", False, ""),
    ]


def test_a_second_edit_keeps_the_text_that_was_translated():
    old = [Written("The rows all sum to one.", "행의 합은 1입니다.", fuzzy=True, before="The rows sum to one.")]
    made = brought_up_to_date({"a": old}, {"a": entries("All the rows all sum to one.")})
    assert made["a"][0].before == "The rows sum to one."
    again = brought_up_to_date(made, {"a": entries("All the rows all sum to one.")})
    assert again == made


def test_an_edit_that_is_taken_back_leaves_no_trace():
    old = {"a": [Written("The rows sum to one.", "행의 합은 1입니다.")]}
    edited = brought_up_to_date(old, {"a": entries("The rows all sum to one.")})
    assert edited["a"][0].fuzzy
    (back,) = brought_up_to_date(edited, {"a": entries("The rows sum to one.")})["a"]
    assert (back.translation, back.fuzzy, back.before) == ("행의 합은 1입니다.", False, "")


TEXTS = st.lists(st.sampled_from([f"{first} {second} tokens." for first in "ABCD" for second in ("two", "three")]))


@given(st.dictionaries(st.sampled_from("ab"), TEXTS), st.dictionaries(st.sampled_from("abc"), TEXTS), st.data())
def test_merging_loses_no_translation_and_changes_nothing_the_second_time(before, after, data):
    old = {
        name: [Written(text, f"{text} 번역", fuzzy=data.draw(st.booleans())) for text in dict.fromkeys(texts)]
        for name, texts in before.items()
    }
    wanted = {name: entries(*texts) for name, texts in after.items()}
    made = brought_up_to_date(old, wanted)
    now = [one.english for catalogue in made.values() for one in catalogue if not one.obsolete]
    assert sorted(now) == sorted({text for texts in after.values() for text in texts})
    kept = {one.translation for catalogue in made.values() for one in catalogue}
    assert {one.translation for catalogue in old.values() for one in catalogue} <= kept
    assert brought_up_to_date(made, wanted) == made


def test_a_text_that_moves_takes_its_translation_along():
    old = {"a": [Written("Moved on.", "옮겼습니다.", comments=("allow: code",))], "b": []}
    made = brought_up_to_date(old, {"b": entries("Moved on.")})
    assert [(one.translation, one.fuzzy, one.comments) for one in made["b"]] == [
        ("옮겼습니다.", False, ("allow: code",))
    ]
    assert "a" not in made


def test_a_text_that_is_gone_becomes_obsolete_and_comes_back():
    old = {"a": [Written("Gone for now.", "지금은 없습니다.")]}
    made = brought_up_to_date(old, {"a": entries("Something else entirely, said at length.")})
    assert [(one.english, one.obsolete) for one in made["a"]][1] == ("Gone for now.", True)
    back = brought_up_to_date(made, {"a": entries("Gone for now.")})
    assert [(one.translation, one.obsolete, one.fuzzy) for one in back["a"]] == [("지금은 없습니다.", False, False)]


def test_a_text_of_two_catalogues_is_in_the_first():
    made = brought_up_to_date({}, {"a": entries("Twice."), "b": entries("Twice.", "Once.")})
    assert {name: [one.english for one in catalogue] for name, catalogue in made.items()} == {
        "a": ["Twice."],
        "b": ["Once."],
    }


def test_a_catalogue_survives_its_file(tmp_path):
    path = tmp_path / "a.po"
    catalogue = [
        Written('A "quoted" text of 50 % with {name}. ' * 5, "글. " * 40, places=("lessons/01.py#a",), about="item"),
        Written("fuzzy", "흐림", True, "It was this text, which is long. " * 6, ("allow: code",), ("b",), "hint 1"),
        Written("empty", ""),
        Written("gone", "없음", comments=("a note",), obsolete=True),
    ]
    catalogue[1].before = catalogue[1].before.strip()
    assert write(path, catalogue, "ko")
    assert read(path) == catalogue
    assert not write(path, read(path), "ko")
    assert "python-format" not in text_of(catalogue, "ko")


@pytest.mark.parametrize("line", ['msgstr "b', 'msgstr "a "b" c"', "msgstr b", '"a" "b"', "words"])
def test_a_catalogue_that_cannot_be_read_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "a.po"
    path.write_text(f'msgid "a"\n{line}\n', "utf-8")
    with pytest.raises(CourseError, match=r"a\.po:2: expected a comment, or one text between quotes"):
        read(path)


def python(tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / "module.py"
    path.write_text(source, "utf-8")
    return [text for _path, found in said.of_python([path]) for text, _line in found]


def test_sentences_in_python(tmp_path):
    source = '''
"""The docstring says much."""
import re
STATES = {"passed": "passed", "later": "not judged yet"}
LINE = re.compile("two words here")
AXES = "... Tq D"
def f(x):
    "Another docstring here."
    sizes = ("shapes can not fit", "size of this tensor")
    if any(size in x.message for size in sizes) or session.once("key of results", lambda: say("Once {x}", x=x)):
        return PATTERNS["[Tt]wo words"]
    if "as torch says" in x:
        raise ValueError("for authors only")
    print(say("One"), say("Two" if x else "Three {n}", n=1), say(STATES[x]))
    words = {state: shown(word) for state, word in MARKS.items()}
    return Finding("wrong-shape", "The whole sentence."), f"a piece {x}"
MARKS = {0: "ok", 1: "FAIL", 2: "B Ts E"}
'''
    expected = {"passed", "not judged yet", "One", "Two", "Three {n}", "The whole sentence.", "ok", "FAIL", "Once {x}"}
    assert set(python(tmp_path, source)) == expected


def test_a_sentence_put_together_in_python_is_refused(tmp_path):
    for source in ('say(f"{x} is wrong")', 'say("a" + x)'):
        with pytest.raises(CourseError, match=r"module.py:1: .* put together"):
            python(tmp_path, source)


def test_sentences_in_javascript(tmp_path):
    path = tmp_path / "view.js"
    path.write_text(
        """
const NAMES = { first: "Scores", second: "Weights" };
const story = "A story on " + "two lines.";
element.className = "att-figure att-table";
this.announcer.say(`Step ${at}, ${say("place")}, ${story}`);
say("One"); say(NAMES[at]); say('It\\'s {n}', { n });
""",
        "utf-8",
    )
    found = [text for text, _line in said.of_javascript(path)]
    assert found == ["Scores", "Weights", "A story on two lines.", "One", "It's {n}", "place"]
    path.write_text("say(`Step ${at}`);", "utf-8")
    with pytest.raises(CourseError, match=r"view.js:1: .* put together"):
        said.of_javascript(path)


def test_sentences_in_a_template(tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<p>{{ say("For {student}", student=name) }}</p>\n{{ say(\'It is "late"\') }}', "utf-8")
    assert [text for text, _line in said.of_template(path)] == ["For {student}", 'It is "late"']
    path.write_text("\n{{ say(words) }}", "utf-8")
    with pytest.raises(CourseError, match=r"page.html:2: expected a plain string"):
        said.of_template(path)


GERMAN = '[de]\nname = "Deutsch"\ngate = ["lessons/01_toy"]\n'


def in_german(repository: Repository, only: int | None = None) -> None:
    """Translate the catalogue of the toy lesson, `only` so many entries of it, by putting "ë" in front."""
    path = repository.root / "translations" / "de" / "lessons" / "01_toy.po"
    catalogue = read(path)
    for one in catalogue[:only]:
        one.translation = f"ë {one.english}"
    write(path, catalogue, "de")


@pytest.fixture
def german(built: Repository) -> Repository:
    """The built toy course with German in its gate, and its catalogues still empty."""
    (built.root / "translations").mkdir()
    (built.root / "translations" / "languages.toml").write_text(GERMAN, "utf-8")
    translate.merge(built, "de", forget=False, tell=lambda _line: None)
    rebuilt(built)
    return built


def rebuilt(repository: Repository) -> None:
    build(repository, (), jobs=1, use_cache=False, tell=lambda _line: None, keep_outputs=True)


def test_the_gate_names_catalogue_place_and_text(german):
    assert not (german.notebooks / "de").exists()
    with pytest.raises(CommandFailed) as found:
        verify(german, ())
    line = str(found.value).splitlines()[0]
    assert re.fullmatch(r"translations/de/lessons/01_toy\.po: lessons/01_toy\.py#\w+ “.+”: not translated", line)


def test_a_draft_shows_english_where_nothing_is_translated(german):
    in_german(german, only=2)
    (german.root / "translations" / "languages.toml").write_text(GERMAN.replace('"lessons/01_toy"', ""), "utf-8")
    rebuilt(german)
    verify(german, ())
    texts = [cell.source for cell in loads((german.notebooks / "de" / "01_toy.ipynb").read_text("utf-8")).cells]
    assert any("ë" in text for text in texts)
    assert any("ë" not in text and " e" in text for text in texts)


def test_an_english_edit_of_a_complete_catalogue_is_refused_until_it_is_approved(german):
    in_german(german)
    rebuilt(german)
    verify(german, ())
    lesson = german.lessons / "01_toy.py"
    heading = read(german.root / "translations" / "de" / "lessons" / "01_toy.po")[0].english
    lesson.write_text(lesson.read_text("utf-8").replace(heading, f"{heading} anew"), "utf-8")
    rebuilt(german)
    with pytest.raises(CommandFailed, match=r"01_toy.po: it isn't up to date; run `grader translate de`"):
        verify(german, ())
    translate.merge(german, "de", forget=False, tell=lambda _line: None)
    rebuilt(german)
    with pytest.raises(CommandFailed, match=f"“{heading} anew”: fuzzy, since the English text has changed"):
        verify(german, ())
    with pytest.raises(CommandFailed, match="fuzzy"):
        require_built(german, ())
    in_german(german)
    path = german.root / "translations" / "de" / "lessons" / "01_toy.po"
    path.write_text(path.read_text("utf-8").replace("#, fuzzy\n", ""), "utf-8")
    translate.merge(german, "de", forget=True, tell=lambda _line: None)
    rebuilt(german)
    verify(german, ())
    assert translate.complete_notebooks(german) == [german.notebooks / "de" / "01_toy.ipynb"]


def test_a_german_notebook_in_which_somebody_wrote_is_kept(german):
    in_german(german)
    rebuilt(german)
    path = german.notebooks / "de" / "01_toy.ipynb"
    notebook = loads(path.read_text("utf-8"))
    next(cell for cell in notebook.cells if "ë" in cell.source).source = "Mine."
    path.write_text(dumps(notebook), "utf-8")
    with pytest.raises(CommandFailed, match=r"notebooks/de/01_toy.ipynb: somebody has written in it"):
        rebuilt(german)


def test_a_file_of_a_language_that_nobody_has_is_told(german):
    (german.notebooks / "xx").mkdir()
    (german.notebooks / "xx" / "02_toy.ipynb").write_text("{}")
    with pytest.raises(CommandFailed, match=r"notebooks/xx/02_toy.ipynb: no lesson has this name"):
        verify(german, ())


def test_a_language_that_is_not_listed_is_refused(make_course):
    repository = make_course()
    with pytest.raises(CourseError, match=r"There is no language 'xx' in translations/languages.toml, which has: none"):
        translate.folder_of(repository.root, "xx")
    (repository.root / "translations").mkdir()
    (repository.root / "translations" / "languages.toml").write_text("[de]\nname = 1\n")
    with pytest.raises(CourseError, match=r"languages.toml: 'gate'; expected a table for each language"):
        translate.languages(repository.root)


def without_text(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook without the text of its markdown cells and its language."""
    cells = [cell | {"source": ""} if cell["cell_type"] == "markdown" else cell for cell in notebook["cells"]]
    metadata = {name: value for name, value in notebook["metadata"].items() if name != "course"}
    course = {name: value for name, value in notebook["metadata"].get("course", {}).items() if name != "language"}
    return notebook | {"cells": cells, "metadata": metadata | ({"course": course} if course else {})}


def test_notebooks_in_two_languages_differ_in_text_and_language_only():
    pairs = [(path, ROOT / "notebooks" / path.name) for path in sorted((ROOT / "notebooks").glob("*/*.ipynb"))]
    assert pairs
    for other, english in pairs:
        notebooks = [json.loads(path.read_text("utf-8")) for path in (other, english)]
        assert without_text(notebooks[0]) == without_text(notebooks[1]), other
        assert notebooks[0]["metadata"]["course"]["language"] == other.parent.name
        assert notebooks[0]["cells"] != notebooks[1]["cells"]


RENDERERS = {"nbconvert": markdown2html_mistune, "the site": MARKDOWN.render}
NOT_SHOWN = re.compile(r"<(code|pre)\b.*?</\1>|\$\$.*?\$\$|\$[^$\n]+\$|<[^>]*>", re.DOTALL)


@pytest.mark.parametrize("renderer", RENDERERS)
def test_no_asterisk_stays_visible_in_another_language(renderer):
    def asterisks(path: Path) -> list[str]:
        cells = [cell for cell in loads(path.read_text("utf-8")).cells if cell.cell_type == "markdown"]
        pages = [NOT_SHOWN.sub(" ", RENDERERS[renderer](cell.source)) for cell in cells]
        return [line for page in pages for line in page.splitlines() if "*" in line]

    for path in sorted((ROOT / "notebooks").glob("*/*.ipynb")):
        assert len(asterisks(path)) == len(asterisks(ROOT / "notebooks" / path.name)), asterisks(path)
    assert "*" in NOT_SHOWN.sub(" ", RENDERERS[renderer]("**어텐션(attention)**은"))


FRENCH = {  # a third language is a catalogue, and no code
    "00 · Start here": "00 · Commencez ici",
    "2 · What a check tells you": "2 · Ce que dit une vérification",
    "3 · Solve it": "3 · À vous",
    "4 · When you are stuck": "4 · Bloqué ?",
    "5 · Your progress": "5 · Vos progrès",
    "6 · Keys worth knowing": "6 · Raccourcis",
    "| Ctrl+Z | undo |": "| Ctrl+Z | annuler |",
    "| Ctrl+S | save |": "| Ctrl+S | enregistrer |",
}


def test_fifteen_words_of_french_are_a_third_language():
    lesson = read_folder(ROOT / "lessons")["00_start_here"]
    english = instructors_notebook(lesson, exercises())
    units = [unit.text for cell in lesson.cells if not cell.is_code for unit in units_of(cell.source)]
    assert FRENCH.keys() <= set(units)
    assert (
        len([word for text in FRENCH.values() for word in re.findall(r"[^\W\d_]{2,}|À", text) if word != "Ctrl"]) == 15
    )
    made = brought_up_to_date({}, {"lessons/00_start_here": entries(*units)})["lessons/00_start_here"]
    for one in made:
        one.translation = FRENCH.get(one.english, "")
        assert not one.is_final or not list(faults_of(one, "fr"))
    french = {one.english: one.translation for one in made if one.is_final}
    notebook = notebook_in(english, lesson, french.get, "fr")
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert all(text in texts for text in FRENCH.values())
    assert without_text(notebook) == without_text(english)
    assert notebook.metadata.course.language == "fr"


def test_no_translation_has_a_fault():
    """Of drafts, too: what is translated is shown."""
    found: list[str] = []
    for code in translate.languages(ROOT):
        folder = translate.folder_of(ROOT, code)
        catalogues = translate.read_all(folder)
        final = {name: [one for one in written if one.is_final] for name, written in catalogues.items()}
        found += translate.problems(folder, code, final, list(final))
    assert found == []


def test_the_site_has_a_language_once_all_its_catalogues_are_in_the_gate(tmp_path):
    for name in ("site", "words", "lessons/00_start_here"):
        path = tmp_path / "translations" / "fr" / f"{name}.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of([], "fr"), "utf-8")
    listed = tmp_path / "translations" / "languages.toml"
    for gate, expected in (([], []), (["site", "words"], []), (["site", "words", "lessons/00_start_here"], ["fr"])):
        listed.write_text(f'[fr]\nname = "français"\ngate = {json.dumps(gate)}\n', "utf-8")
        assert list(translate.complete(tmp_path)) == expected
