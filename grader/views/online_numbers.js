// The online softmax, block by block, and in words: what a block does to one query, and what memory holds.

import { entry, fixed, matrixOf, product, rowsOf, softmaxOf, term, unpack, written } from "./numbers.js";
import { say, together } from "./say.js";

const SAME = 5e-4; // outputs that near count as the final one

/** The scores, the final output, and the `states` after each block: matrices with a row for each query, by name. */
export function numbersOf(model) {
  const { scores, value } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const states = walk(scores, value, model.get("block_size"), model.get("rescaling"));
  return { scores, final: product(softmaxOf(scores), value), states };
}

function walk(scores, value, size, rescaling) {
  const values = rowsOf(value);
  let rows = rowsOf(scores).map((seen) => ({ seen, maximum: -Infinity, sum: 0, mixed: values[0].map(() => 0) }));
  return Array.from({ length: Math.ceil(scores.columns / size) }, (_, at) => {
    const ends = [at * size, (at + 1) * size];
    rows = rows.map((row) => ({ ...row, ...after(row, row.seen.slice(...ends), values.slice(...ends), rescaling) }));
    const names = ["counts", "maximum", "factor", "before", "sum", "output"];
    return Object.fromEntries(names.map((name) => [name, matrixOf(rows.map((row) => [row[name]].flat()))]));
  });
}

/** What one query carries on after a block. Before the first one the maximum is −∞, so that its factor is 0. */
function after({ maximum, sum, mixed }, block, values, rescaling) {
  const top = Math.max(maximum, ...block);
  const counts = block.map((score) => Math.exp(score - top));
  const factor = rescaling ? Math.exp(maximum - top) : 1;
  const total = counts.reduce((all, count) => all + count, sum * factor);
  const next = mixed.map((number, at) =>
    counts.reduce((all, count, key) => all + count * values[key][at], number * factor),
  );
  const output = next.map((number) => number / total);
  return { counts, maximum: top, factor, before: sum, sum: total, mixed: next, output };
}

/** The view in a sentence. */
export function inWords(model, { scores, final, states }) {
  const [step, rescaling] = [model.get("step"), model.get("rescaling")];
  const [first, end] = blockEnds(step, model.get("block_size"), scores.columns);
  const error = distance(states[step - 1].output, final);
  const now = {
    queries: scores.rows === 1 ? say("1 query") : say("{count} queries", { count: scores.rows }),
    keys: scores.columns,
    step,
    blocks: states.length,
    seen: end - first === 1 ? say("key {first}", { first }) : say("keys {first} to {last}", { first, last: end - 1 }),
    rescaling: rescaling ? say("with rescaling") : say("without rescaling"),
  };
  return error < SAME
    ? say(
        "Online softmax, {queries}, {keys} keys, block {step} of {blocks} ({seen}), {rescaling}: the output so far is the final one.",
        now,
      )
    : say(
        "Online softmax, {queries}, {keys} keys, block {step} of {blocks} ({seen}), {rescaling}: the output so far is up to {error} away from the final one.",
        { ...now, error: fixed(error, 2) },
      );
}

/** The first key of block `step` (from 1), and the key after its last. */
export function blockEnds(step, size, keys) {
  return [(step - 1) * size, Math.min(step * size, keys)];
}

/** "keys 2 and 3", "keys 4 to 7", "key 8". */
export function keysInWords([first, end]) {
  if (end - first === 1) {
    return say("key {first}", { first });
  }
  return end - first === 2
    ? say("keys {first} and {last}", { first, last: end - 1 })
    : say("keys {first} to {last}", { first, last: end - 1 });
}

/** What a block does to one query, as lines of [name, arithmetic]. */
export function arithmeticOf({ scores, states }, step, size, rescaling, query) {
  const now = states[step - 1];
  const [first, end] = blockEnds(step, size, scores.columns);
  const seen = Array.from({ length: end - first }, (_, at) => entry(scores, query, first + at));
  const earlier = step > 1 ? entry(states[step - 2].maximum, query, 0) : -Infinity;
  const maximum = entry(now.maximum, query, 0);
  const before = entry(now.before, query, 0);
  const counts = seen.map((_, at) => written(entry(now.counts, query, at)));
  const factor = entry(now.factor, query, 0);
  const most = [earlier, ...seen].map((score) => written(score)).join(", ");
  const difference = `exp(${written(earlier)} − ${term(maximum)})`;
  const missing =
    step > 1 ? say("1, but {factor} is needed", { factor: difference }) : say("1, since the sum is still empty");
  return [
    [say("maximum"), `max(${most}) = ${written(maximum)}`],
    [say("factor"), rescaling || earlier === maximum ? `${difference} = ${written(factor)}` : missing],
    [
      say("sum"),
      `${written(before)} · ${written(factor)} + ${counts.join(" + ")} ≈ ${written(entry(now.sum, query, 0))}`,
    ],
  ];
}

/** How far an output is from the final one. */
export function distanceInWords(away) {
  return away < SAME
    ? say("Output so far: equal to the final one.")
    : say("Output so far: up to {distance} away from the final one.", { distance: written(away) });
}

/** The largest difference between an output and the final one. */
export function distance(output, final) {
  return output.values.reduce((most, value, at) => Math.max(most, Math.abs(value - final.values[at])), 0);
}

/** The numbers in memory during a block, and those of the whole matrix. */
export function memoryInWords({ scores, final }, step, size) {
  const { rows, columns } = scores;
  const [first, end] = blockEnds(step, size, columns);
  const width = final.columns;
  return together(
    say("In memory: scores of the block {product}.", { product: `${rows} · ${end - first} = ${rows * (end - first)}` }),
    say("Carried over: maxima {rows}, sums {rows}, outputs {product}.", {
      rows,
      product: `${rows} · ${width} = ${rows * width}`,
    }),
    say("The whole matrix: {product}.", { product: `${rows} · ${columns} = ${rows * columns}` }),
  );
}
