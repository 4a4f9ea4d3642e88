// The online softmax in words and arithmetic: what a block does to one query, and what memory holds.

import { entry, term, written } from "./numbers.js";

/** The state after block `step` (from 1), with or without rescaling, by name. */
export function stateAt(matrices, step, rescaling) {
  const names = ["counts", "maximum", "factor", "before", "sum", "output"];
  const suffix = rescaling ? "" : " raw";
  return Object.fromEntries(names.map((name) => [name, matrices[`${name}${step}${suffix}`]]));
}

/** The first key of block `step` (from 1), and the key after its last. */
export function blockEnds(step, size, keys) {
  return [(step - 1) * size, Math.min(step * size, keys)];
}

/** "keys 2 and 3", "keys 4 to 7", "key 8". */
export function keysInWords([first, end]) {
  if (end - first === 1) {
    return `key ${first}`;
  }
  return `keys ${first} ${end - first === 2 ? "and" : "to"} ${end - 1}`;
}

/** What a block does to one query, as lines of [name, arithmetic]. */
export function arithmeticOf(matrices, step, size, rescaling, query) {
  const { scores } = matrices;
  const now = stateAt(matrices, step, rescaling);
  const [first, end] = blockEnds(step, size, scores.columns);
  const seen = Array.from({ length: end - first }, (_, at) => entry(scores, query, first + at));
  const earlier = step > 1 ? entry(stateAt(matrices, step - 1, rescaling).maximum, query, 0) : -Infinity;
  const maximum = entry(now.maximum, query, 0);
  const before = entry(now.before, query, 0);
  const counts = seen.map((_, at) => written(entry(now.counts, query, at)));
  const factor = entry(now.factor, query, 0);
  const most = [earlier, ...seen].map((score) => written(score)).join(", ");
  const difference = `exp(${written(earlier)} − ${term(maximum)})`;
  const missing = step > 1 ? `1, where ${difference} is needed` : "1: nothing is summed yet";
  return [
    ["maximum", `max(${most}) = ${written(maximum)}`],
    ["factor", rescaling || earlier === maximum ? `${difference} = ${written(factor)}` : missing],
    ["sum", `${written(before)} · ${written(factor)} + ${counts.join(" + ")} ≈ ${written(entry(now.sum, query, 0))}`],
  ];
}

/** The largest difference between an output and the final one. */
export function distance(output, final) {
  return output.values.reduce((most, value, at) => Math.max(most, Math.abs(value - final.values[at])), 0);
}

/** The numbers in memory during a block, and those of the whole matrix. */
export function memoryInWords(matrices, step, size) {
  const { rows, columns } = matrices.scores;
  const [first, end] = blockEnds(step, size, columns);
  const width = matrices.final.columns;
  const block = `scores of the block ${rows} · ${end - first} = ${rows * (end - first)}`;
  const carried = `maxima ${rows}, sums ${rows}, outputs ${rows} · ${width} = ${rows * width}`;
  return `In memory: ${block}; carried on: ${carried}. The whole matrix: ${rows} · ${columns} = ${rows * columns}.`;
}
