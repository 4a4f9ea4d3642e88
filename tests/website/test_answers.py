"""What the views answer in the browser is what Python answers: the same walks of hundreds of changes in both."""

from __future__ import annotations

import base64
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import traitlets

from grader import languages
from grader.authoring import states
from grader.models.gpt import PlainGPT, as_gpt, course_tales, joined, trained_gpt, words_of
from grader.sentences import restored
from grader.views import Sampler
from grader.views.base import FOLDER, KernelView, module
from tests.exercises.lesson_11.prelude import GPT
from tests.website.choices import CHOICES
from website.live_views import STATES, script_of, state_script

ANSWERS = Path(__file__).parents[2] / "website" / "answers"
RUNNER = Path(__file__).with_name("answers.mjs")
NODE = shutil.which("node") or "node"
# What the answers say of stored states.
FIRST = """
import { readFileSync } from "node:fs";
const [website, states] = JSON.parse(readFileSync(0, "utf8"));
const { unstored } = await import(`${website}/host.js`);
const said = [];
for (const { module, traits, kept } of states) {
  const { answer } = await import(`${website}/answers/${module}.js`);
  const state = { ...unstored(traits), kept: unstored(kept) };
  said.push(answer(state, []).summary ?? state.summary);
}
console.log(JSON.stringify(said));
"""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

State = dict[str, Any]
Walk = tuple[KernelView, Iterable[State]]


def sampler_walks(chance: random.Random) -> Iterator[Walk]:
    course, text = trained_gpt(), words_of(course_tales()[1])
    view = Sampler(rounded(Sampler(course, course.words, "Once").kept()), course.words, "Once")

    def moves() -> Iterator[State]:
        for _ in range(25):
            start, length = chance.randrange(len(text) - 260), chance.choice([1, 2, 30, 31, 100, 150, 256, 257])
            yield {"text": joined(text[start : start + length])}
            yield {"temperature": chance.choice([0, 0.1, 0.5, 0.7, 1, 1.3, 2])}
            yield {"top_k": chance.choice([1, 2, 10, 40, 330, 331, 340])}
            yield {"top_p": chance.choice([0.05, 0.3, 0.5, 0.85, 0.9, 0.95, 1])}
            yield {"text": joined(chance.choices(course.words, k=length))}
            yield chance.choice([{"text": ""}, {"text": "½"}, {"temperature": -1}, {"top_k": 0}, {"top_p": 1.5}])

    yield view, moves()


def rounded(kept: State) -> PlainGPT:
    """The model whose weights the page has."""
    names, sizes = zip(*((name, rows * columns) for name, rows, columns in kept["layout"]), strict=True)
    numbers = torch.frombuffer(bytearray(kept["numbers"]), dtype=torch.float32).split(sizes)
    weights = dict(zip(names, numbers, strict=True))
    whole = torch.frombuffer(bytearray(kept["rounded"]), dtype=torch.int8)
    shapes = {name: shape for name, *shape in kept["rounded_layout"]}
    for name, part in zip(shapes, whole.split([math.prod(shape) for shape in shapes.values()]), strict=True):
        weights[name] = part.reshape(shapes[name]) * weights[name][:, None]
    weights.setdefault("token_embedding.weight", weights["head.weight"])
    return PlainGPT(kept["sizes"], weights)


WALKS = {
    "sampler": sampler_walks,
    **CHOICES,
}


def state_of(view: KernelView) -> State:
    own = [name for name, trait in view.traits(sync=True).items() if trait.this_class.__module__.startswith("grader")]
    return {name: getattr(view, name) for name in own} | {"kept": view.kept()}


def walked(view: KernelView, moves: Iterable[State]) -> tuple[list[State], list[State]]:
    """Each move, and whether Python refused it; and the state after it."""
    made, states = [], []
    for move in moves:
        sent = {name: memoryview(value) if isinstance(value, bytes) else value for name, value in move.items()}
        try:
            view.set_state(sent)
            refused = False
        except traitlets.TraitError:
            refused = True
        made.append({"set": move, "refused": refused})
        states.append(state_of(view))
    return made, states


def run_in_node(walks: list[State]) -> list[list[State]]:
    text = json.dumps(walks, default=lambda value: {"base64": base64.b64encode(value).decode()})
    done = subprocess.run([NODE, RUNNER], input=text, stdout=subprocess.PIPE, text=True, check=True)

    def read(value: State) -> Any:
        return base64.b64decode(value["base64"]) if set(value) == {"base64"} else value

    return json.loads(done.stdout, object_hook=read)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[State], list[State]]]:
    """For each view: every step's state by Python, and by the answers, in one list each."""
    folder, chance = tmp_path_factory.mktemp("answers"), random.Random(0)
    torch.manual_seed(0)
    sent, expected, names = [], [], []
    for name, walks in WALKS.items():
        (folder / f"{name}.mjs").write_text(module(ANSWERS / f"{name}.js"), "utf-8")
        for view, moves in walks(chance):
            start = state_of(view)
            made, states = walked(view, moves)
            sent.append({"module": str(folder / f"{name}.mjs"), "start": start, "moves": made})
            expected.append(states)
            names.append(name)
    found: dict[str, tuple[list[State], list[State]]] = {name: ([], []) for name in WALKS}
    for name, walk, states, steps in zip(names, sent, expected, run_in_node(sent), strict=True):
        state = walk["start"]
        for move, answered in zip(walk["moves"], steps, strict=True):
            if move["refused"]:
                assert answered == {}, (name, move)
            else:
                state = {**state, **move["set"], **answered}
            found[name][1].append(state)
        found[name][0].extend(states)
    return found


@pytest.mark.parametrize("name", WALKS)
def test_the_browser_answers_as_python(told, name):
    expected, got = told[name]
    assert len(expected) == len(got) > 100
    for at, (state, answered) in enumerate(zip(expected, got, strict=True)):
        for trait, value in state.items():
            assert is_close(value, answered[trait]), (name, at, trait, value, answered[trait])
    # A number may lie so near to the middle between two digits that float32 decides.
    different = [
        (a["summary"], b["summary"]) for a, b in zip(expected, got, strict=True) if a["summary"] != b["summary"]
    ]
    assert len(different) <= len(expected) / 100, different


def is_close(expected: Any, got: Any) -> bool:
    """Equal but for float32's last digits, and in a sentence for its last digit."""
    if isinstance(expected, dict):
        return expected.keys() == got.keys() and all(is_close(value, got[name]) for name, value in expected.items())
    if isinstance(expected, bytes):
        if expected == got:
            return True
        one, other = (torch.frombuffer(bytearray(numbers), dtype=torch.float32) for numbers in (expected, got))
        return one.shape == other.shape and torch.allclose(one, other, rtol=1e-5, atol=1e-4, equal_nan=True)
    if isinstance(expected, str) and expected != got:
        pairs = list(zip(NUMBER.findall(expected), NUMBER.findall(got), strict=False))
        same = NUMBER.sub("", expected) == NUMBER.sub("", got)
        return same and all(abs(float(a) - float(b)) <= 1.01 * 10 ** -len(a.partition(".")[2]) for a, b in pairs)
    return bool(expected == got)


def test_numbers_are_written_as_python_writes_them():
    chance = random.Random(0)
    halves = [at / 2**digits for digits in range(1, 5) for at in range(-60, 60)]
    drawn = [chance.choice([1, 1e-3, 50, 1e4]) * chance.gauss(0, 1) for _ in range(3000)]
    values = [*halves, *drawn, 0.1, 1e-5, 12345.0, 123456.5, 1234565.0, 1234567.0, 2e-10, 1e6]
    source = f"""import {{ fixed }} from {json.dumps((FOLDER / "numbers.js").as_uri())};
        import {{ general }} from {json.dumps((ANSWERS / "python.js").as_uri())};
        const values = {json.dumps(values)};
        console.log(JSON.stringify(values.map((value) => [
            fixed(value, 2), fixed(value, 0), general(value), general(value, 4),
        ])));"""
    done = subprocess.run([NODE, "--input-type=module"], input=source, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        [f"{value:.2f}", f"{value:.0f}", f"{value:g}", f"{value:.4g}"] for value in values
    ]


def test_the_sampler_keeps_a_gpt_that_nearly_says_the_same():
    course, words = trained_gpt(), words_of(course_tales()[1])[:8960]
    kept = Sampler(course, course.words, "Once").kept()
    assert len(kept["rounded"]) + len(kept["numbers"]) < 350_000
    tokens = torch.tensor([course.words.index(word) for word in words]).reshape(-1, 128)
    exact, page = course(tokens).softmax(-1), rounded(kept)(tokens).softmax(-1)
    assert float((exact - page).abs().max()) < 0.12
    assert float((exact - page).abs().mean()) < 1e-3
    assert float((exact.argmax(-1) == page.argmax(-1)).float().mean()) > 0.98


def test_a_learners_gpt_is_read_and_another_model_is_not():
    torch.manual_seed(0)
    model = GPT(5, 8, num_layers=2, num_heads=2, d_ff=12)
    view = Sampler(model, list("abcde"), "a b")
    tokens = torch.tensor([[0, 4, 2]])
    assert float((rounded(view.kept())(tokens) - model(tokens).detach()).abs().max()) < 0.05
    model.norm = torch.nn.LayerNorm(8, eps=1.0)  # the same names, but it computes something else
    assert as_gpt(model, tokens[0]) is None
    assert Sampler(lambda tokens: torch.eye(5)[tokens], list("abcde"), "a b").kept() == {}


def test_at_the_start_the_answers_say_what_python_said(tmp_path):
    script = tmp_path / "first.mjs"
    script.write_text(FIRST, "utf-8")
    stored = [state for file in sorted(STATES.glob("*.json")) for cell in states.load(file).values() for state in cell]
    answered = [state for state in stored if (ANSWERS / f"{state['module']}.js").exists()]
    assert {state["module"] for state in answered} == set(WALKS)
    sent = json.dumps([ANSWERS.parent.as_uri(), answered])
    done = subprocess.run([NODE, script], input=sent, stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(done.stdout) == [state["traits"]["summary"] for state in answered]


def test_a_stored_state_is_said_in_the_language_of_the_pages():
    """What a state keeps as sentences is what it has in English, and there are translations of all of it."""
    for file in sorted(STATES.glob("*.json")):
        for found in states.load(file).values():
            for state in found:
                if state["view"] == "Prediction":  # which is shown by its traits
                    assert state["said"] == {}
                    continue
                assert "summary" in state["said"]
                assert {name: str(restored(text)) for name, text in state["said"].items()}.items() <= (
                    state["traits"].items()
                )
                english = state_script("key", state)
                with languages.speaking("ko"):
                    korean = state_script("key", state)
                assert re.search("[가-힣]", korean)
                assert not re.search("[가-힣]", english)


def test_a_site_in_another_language_has_its_words():
    with languages.speaking("ko"):
        script = script_of("mask_painter", "cat")
    known = languages.words_in("ko")
    assert known["Masked scores"] in script
    assert "const WORDS" not in script_of("mask_painter")
