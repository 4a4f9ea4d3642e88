// What the alignment view's Python side answers: the summary.

import { strongest } from "../../grader/views/alignment_words.js";
import { fixed, unpack } from "../../grader/views/numbers.js";
import { isWhole } from "./python.js";

export function answer(state) {
  const { sources, answers, moments, heads, guesses } = state;
  if (![state.pair, state.moment, state.head, state.row].every((at) => isWhole(at, 0))) {
    return {};
  }
  const last = (at, names) => Math.min(at, names.length - 1);
  const [pair, moment, head] = [last(state.pair, sources), last(state.moment, moments), last(state.head, heads)];
  const [source, written, key] = [sources[pair], answers[pair], `${moments[moment]}/${pair}`];
  const row = last(state.row, written);
  const matrix = unpack(state.layout_of_weights, state.weights)[`${key}/${heads[head]}`];
  const [{ column, weight }] = strongest(matrix, row, 1);
  return {
    summary:
      `Alignment view, "${source}" to "${written.slice(0, -1).join("")}", ${moments[moment]}, ${heads[head]}; ` +
      `character ${row + 1} of ${written.length}, "${written[row]}": guessed "${guesses[key][row]}", ` +
      `looks most at "${[...source][column]}" (${fixed(weight, 2)}).`,
  };
}
