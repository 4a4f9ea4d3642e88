// What a prediction's Python side answers: the question with the guess.

import { general } from "./python.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export function answer({ question, choices, low, high, unit, guess }) {
  const isPossible = choices.length
    ? choices.includes(guess)
    : Number.isFinite(guess) && guess >= (low ?? -Infinity) && guess <= (high ?? Infinity);
  if (!isPossible) {
    return {};
  }
  const lines = choices.map((text, at) => `  ${LETTERS[at]}. ${text}`);
  const written = choices.length ? guess : `${general(guess, 4)} ${unit}`.trimEnd();
  return { summary: [`Predict: ${question}`, ...lines, `Your guess: ${written}.`].join("\n") };
}
