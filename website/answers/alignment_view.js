// What the alignment view's Python side answers: the summary.

import { headInWords, strongest } from "../../grader/views/alignment_words.js";
import { fixed, unpack } from "../../grader/views/numbers.js";
import { say } from "../../grader/views/say.js";
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
  const now = {
    source,
    answer: written.slice(0, -1).join(""),
    moment: say(moments[moment]),
    head: headInWords(heads[head], head),
    at: row + 1,
    count: written.length,
    character: written[row],
    guess: guesses[key][row],
    most: [...source][column],
    weight: fixed(weight, 2),
  };
  return {
    summary: say(
      'Alignment view, "{source}" to "{answer}", {moment}, {head}; character {at} of {count}, "{character}": guessed "{guess}", looks most at "{most}" ({weight}).',
      now,
    ),
  };
}
