"""The robot's sentences, and the reader of lessons 01 to 05."""

from __future__ import annotations

import ast
import inspect

import pytest
import torch

from grader.authoring.model_solutions import cells
from grader.models import robot
from grader.models.robot import ENDING, IT, NOUNS, VOCABULARY, Layer, Reader, robot_sentences, word_numbers


def test_no_pair_of_a_meant_noun_and_an_ending_is_in_training_and_test():
    train_ids, train_nouns, test_ids, test_nouns = robot_sentences()
    pairs = [
        {(int(row[ENDING]), int(noun)) for row, noun in zip(ids, nouns, strict=True)}
        for ids, nouns in ((train_ids, train_nouns), (test_ids, test_nouns))
    ]
    assert not pairs[0] & pairs[1]
    assert (len(train_ids), len(test_ids)) == (800, 500)


def test_another_seed_draws_other_sentences_and_the_same_seed_the_same():
    assert torch.equal(robot_sentences()[0], robot_sentences()[0])
    assert not torch.equal(robot_sentences()[0], robot_sentences(1)[0])


def test_it_stands_for_one_of_the_two_nouns_of_its_sentence():
    ids, nouns, *_ = robot_sentences()
    assert ((ids == nouns[:, None]).sum(1) == 1).all()
    assert {VOCABULARY[noun] for noun in nouns} == set(NOUNS)


@pytest.mark.parametrize("asked", [IT, ENDING])
def test_only_the_word_that_is_asked_changes(asked):
    seen = []

    def attend(x):
        seen.append(x)
        return torch.ones_like(x), x @ x.mT

    reader = Reader(Layer(attend), Layer(attend), asked=asked)
    sentence = word_numbers(robot.robot_sentence("robot", "crate", "heavy"))
    assert reader(sentence).shape == (len(VOCABULARY),)
    assert reader(sentence.expand(5, 12)).shape == (5, len(VOCABULARY))
    moved = (seen[1] != seen[0]).any(-1)
    assert moved.nonzero().flatten().tolist() == [asked]
    assert reader.layers[0].weights.shape == (5, 12, 12)


def test_train_is_the_one_that_lesson_02_explains():
    [lesson_02] = [source for _, source in cells("02_trainable_attention") if source.startswith("def train(")]
    bodies = [ast.parse(source).body[0].body[1:] for source in (lesson_02, inspect.getsource(robot.train))]
    assert [ast.dump(node) for node in bodies[0]] == [ast.dump(node) for node in bodies[1]]
