"""The quiz of lesson 11: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

from grader.spec.answers import choice, quiz, whole

QUESTIONS = (
    whole(
        "first_key",  # TODO the key
        lambda: 2 + 2,  # TODO how the answer is computed
        "TODO a hint for any wrong answer.",
        {5: "TODO a hint for this wrong answer."},
    ),
    choice(
        "second_key",  # TODO the key
        "abcd",
        "",  # TODO what `grader digest second_key LETTER` prints, for the right letter
        "TODO a hint for any wrong answer.",
        wrong={"a": "TODO a hint for each wrong letter.", "b": "TODO a hint.", "c": "TODO a hint."},
    ),
)

EXERCISE = quiz("quiz_11", "11_small_gpt", 2, QUESTIONS)  # TODO the points
