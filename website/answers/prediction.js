// What a prediction's Python side answers: the question with the guess.

import { say } from "../../grader/views/say.js";
import { general } from "./python.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export function answer({ question, choices, low, high, unit, guess }) {
  const isPossible = choices.length
    ? choices.includes(guess)
    : Number.isFinite(guess) && guess >= (low ?? -Infinity) && guess <= (high ?? Infinity);
  if (!isPossible) {
    return {};
  }
  const lines = choices.map((text, at) => `  ${LETTERS[at]}. ${say(text)}`);
  const written = choices.length ? say(guess) : `${general(guess, 4)} ${say(unit)}`.trimEnd();
  return {
    summary: [
      say("Predict: {question}", { question: say(question) }),
      ...lines,
      say("Your guess: {guess}.", { guess: written }),
    ].join("\n"),
  };
}
