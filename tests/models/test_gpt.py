"""Lesson 11's tales, and the course's own small GPT."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from grader.authoring.model_solutions import cells
from grader.exercises.lesson_11 import byte_pair_encode
from grader.models.gpt import STORED, course_tales, joined, own_tales, trained_gpt, words_of
from grader.models.letters import LETTERS, LONGEST, ROW, SHORTEST, repeated_words
from grader.models.merges import learn_merges
from scripts.tales import GOODS, KINDS, LOOKS, NAMES, STRANGERS, THINGS, tales
from scripts.train_gpt import COUNTS, DROPOUT, MOMENTS, PROMPT


@pytest.fixture(scope="module")
def trained():
    return trained_gpt()


@pytest.fixture(scope="module")
def model(trained):
    """Lesson 11's model solution with the course's weights."""
    names: dict[str, object] = {}
    exec("import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn", names)
    for head, body in cells("11_small_gpt"):
        if 'role="given"' in head or ('exercise="GPT' in head and 'role="solution"' in head):
            exec(body, names)
    made = names["GPT"](**trained.sizes)
    made.load_state_dict(trained.weights)
    return made.eval()


def ids(trained, text: str) -> torch.Tensor:
    return torch.tensor([[trained.words.index(word) for word in words_of(text)]])


def test_the_tales_are_those_of_the_grammar():
    learnt, held_out, strange = course_tales()
    assert tuple(text.count("\n") for text in (learnt, held_out, strange)) == COUNTS
    assert learnt + held_out == tales(COUNTS[0] + COUNTS[1], NAMES, seed=11)
    assert strange == tales(COUNTS[2], STRANGERS, seed=12)
    assert len(set((learnt + held_out).splitlines())) == COUNTS[0] + COUNTS[1]  # none is held out that was learnt


def test_strange_names_are_in_no_other_tale():
    learnt, held_out, strange = course_tales()
    assert not set(words_of(learnt + held_out)) & set(STRANGERS)
    assert set(words_of(strange)) & set(STRANGERS) == set(STRANGERS)


def test_the_tales_are_english():
    """The article fits the word after it, every quotation closes, and no word stands twice in a row."""
    for tale in "".join(course_tales()).splitlines():
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]", tale), tale
        assert re.fullmatch(r"(?:[^“”]|“[^“”]+”)+", tale), tale
        assert not re.search(r"\b(\w+) \1\b", tale), tale
        assert re.match(r"[A-Z“]", tale), tale
        assert tale.endswith((".", "”")), tale
        assert not re.search(r"  | [.,;:!?”]|[.,]{2}|“ ", tale), tale


def test_a_name_comes_back_near_and_far():
    far = []
    for tale in course_tales()[0].splitlines():
        last: dict[str, int] = {}
        for place, word in enumerate(words_of(tale)):
            if word in NAMES:
                far += [place - last[word]] if word in last else []
                last[word] = place
    assert min(far) <= 6
    assert max(far) >= 40
    assert len({*GOODS, *KINDS, *LOOKS, *THINGS}) == len([*GOODS, *KINDS, *LOOKS, *THINGS])


@pytest.mark.parametrize("text", ["“It's mine,” said Ida: “mine!”\nShe ran.", "A (small) owl; two eggs?"])
def test_a_text_and_its_words(text):
    assert joined(words_of(text)) == text


def test_a_text_of_ones_own(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"Line {i}.\n\n" for i in range(20)), encoding="utf-8")
    learnt, held_out, strange = own_tales(path)
    assert (learnt.count("\n"), held_out, strange) == (18, *["Line 18.\nLine 19.\n"] * 2)


def test_the_stored_model_is_the_one_that_the_script_trains(trained):
    assert trained.sizes["vocab_size"] == len(trained.words)
    assert trained.sizes["dropout"] == DROPOUT
    assert trained.words == sorted(set(words_of("".join(course_tales()))))
    assert list(trained.samples) == [0, *MOMENTS]
    assert all(text.startswith(PROMPT) for text in trained.samples.values())
    assert (STORED / "gpt.safetensors").stat().st_size < 2_000_000


def test_the_functional_model_is_the_lessons_model(trained, model):
    tokens = ids(trained, "Once there was a heron called Odile, who was afraid of soup.\n")
    with torch.no_grad():
        torch.testing.assert_close(trained(tokens), model(tokens), atol=1e-4, rtol=1e-4)


def test_the_loss_is_the_stored_one(trained):
    lines = course_tales()[1].splitlines(keepends=True)
    pieces = torch.stack([ids(trained, "".join(lines[at : at + 3]))[0, :129] for at in range(40)])
    losses = F.cross_entropy(trained(pieces[:, :-1]).transpose(1, 2), pieces[:, 1:])
    assert losses.item() == pytest.approx(trained.loss, abs=0.05)
    assert trained.right > 0.7


def test_a_row_of_letters_repeats_its_word_and_nothing_shorter():
    rows, lengths = repeated_words(200, torch.Generator().manual_seed(3))
    assert rows.shape == (200, ROW)
    assert set(lengths.tolist()) == set(range(SHORTEST, LONGEST + 1))
    for row, length in zip(rows, lengths.tolist(), strict=True):
        assert torch.equal(row[length:], row[:-length])
        assert not any(torch.equal(row[n:], row[:-n]) for n in range(1, length))
    assert rows.max() == len(LETTERS) - 1


def test_merges_encode_every_word_that_taught_them_as_the_learning_left_it():
    """Merged as often as there are pairs, each word is one token."""
    often = {"lantern": 5, "ladder": 3, "banana": 2, "aaa": 1}
    merges = learn_merges(often, 100)
    assert len(merges) == len(set(merges)) < 100
    assert [byte_pair_encode.reference(word, merges) for word in often] == [[word] for word in often]
    assert byte_pair_encode.reference("aaaa", [("a", "a")]) == ["aa", "aa"]
