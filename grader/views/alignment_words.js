// An alignment in words: which characters a row of weights points at.

import { say, together } from "./say.js";

/** A character as a label: a blank becomes visible. */
export function visible(character) {
  return character === " " ? "␣" : character;
}

/** What a list of heads calls the one at a place: first their mean, then each of them. */
export function headInWords(_name, at) {
  return at === 0 ? say("all heads") : say("head {head}", { head: at - 1 });
}

/** The `count` columns with the largest weights of a row, largest first. */
export function strongest(matrix, row, count) {
  const from = row * matrix.columns;
  const places = Array.from({ length: matrix.columns }, (_, column) => column);
  places.sort((a, b) => matrix.values[from + b] - matrix.values[from + a] || a - b);
  return places.slice(0, count).map((column) => ({ column, weight: matrix.values[from + column] }));
}

/** A weight in two decimals; empty for 0.00. */
export function weightInCell(weight) {
  return weight < 0.005 ? "" : weight.toFixed(2);
}

/** 'Character 2 of 11, "0": guessed "0". Looks most at "0" (character 5, 0.91), then "2" (character 6, 0.05).' */
export function rowInWords({ matrix, row, source, answer, guesses }) {
  const largest = strongest(matrix, row, 3).filter(({ weight }, at) => at === 0 || weightInCell(weight));
  const phrases = largest.map(({ column, weight }) =>
    say('"{character}" (character {at}, {weight})', {
      character: visible(source[column]),
      at: column + 1,
      weight: weight.toFixed(2),
    }),
  );
  return together(
    say('Character {at} of {count}, "{character}": guessed "{guess}".', {
      at: row + 1,
      count: answer.length,
      character: answer[row],
      guess: guesses[row],
    }),
    say("Looks most at {characters}.", { characters: phrases.join(say(", then ")) }),
  );
}
