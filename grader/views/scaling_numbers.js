// The scaling explorer at one width: its scores and weights, and its numbers in words.

import { entry, fixed, mapped, softmaxOf, unpack, written } from "./numbers.js";
import { say } from "./say.js";

/** The two sides of the picture: the names of their matrices, and what is said of each. */
export const SIDES = [
  {
    scores: "raw",
    weights: "raw_weights",
    title: say("Not scaled"),
    formula: "softmax(q·k)",
    heard: {
      scores: say("Scores, not scaled. Arrow keys move from number to number, and Tab leaves."),
      weights: say("Weights, not scaled. Arrow keys move from number to number, and Tab leaves."),
    },
    captions: { scores: say("Not scaled: scores"), weights: say("Not scaled: weights") },
  },
  {
    scores: "scaled",
    weights: "scaled_weights",
    title: say("Scaled"),
    formula: "softmax(q·k ÷ √d_k)",
    heard: {
      scores: say("Scores, scaled. Arrow keys move from number to number, and Tab leaves."),
      weights: say("Weights, scaled. Arrow keys move from number to number, and Tab leaves."),
    },
    captions: { scores: say("Scaled: scores"), weights: say("Scaled: weights") },
  },
];

export const MEASURES = [
  say("entropy, not scaled"),
  say("entropy, scaled"),
  say("slope, not scaled"),
  say("slope, scaled"),
];

/** Scores and weights at the chosen width; `measures` has a row for each width. */
export function numbersOf(model) {
  const { scores, measures } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const widths = model.get("widths");
  const raw = block(scores, widths.indexOf(model.get("d_k")), scores.rows / widths.length);
  const scaled = mapped(raw, (score) => score / Math.sqrt(model.get("d_k")));
  return { raw, raw_weights: softmaxOf(raw), scaled, scaled_weights: softmaxOf(scaled), measures };
}

/** The view in a sentence. */
export function inWords(model, { raw, measures }) {
  const [widths, width] = [model.get("widths"), model.get("d_k")];
  const at = widths.indexOf(width);
  const [entropy, scaledEntropy, slope, scaledSlope] = MEASURES.map((_, column) =>
    fixed(entry(measures, at, column), 2),
  );
  const now = {
    width,
    least: widths[0],
    most: widths.at(-1),
    queries: model.get("queries"),
    keys: raw.columns,
    entropy,
    scaled_entropy: scaledEntropy,
    slope,
    scaled_slope: scaledSlope,
  };
  return say(
    "Scaling explorer, d_k = {width} (range {least} to {most}), {queries} queries and {keys} keys: entropy {entropy} unscaled, {scaled_entropy} scaled; slope {slope} and {scaled_slope}.",
    now,
  );
}

/** Block `at` of a matrix in blocks of `count` rows. */
export function block(matrix, at, count) {
  const size = count * matrix.columns;
  return { rows: count, columns: matrix.columns, values: matrix.values.subarray(at * size, (at + 1) * size) };
}

/** A matrix rounded to fit into its cells: 2e-12 becomes 0. */
export function toDecimals(matrix, decimals) {
  return { ...matrix, values: matrix.values.map((value) => Number(value.toFixed(decimals))) };
}

/** w (1 − w) of one weight. The sum of the row's other weights gives 1 − w without rounding 1e-9 to 0. */
export function slopeAt(weights, row, column) {
  let others = 0;
  for (let at = 0; at < weights.columns; at += 1) {
    others += at === column ? 0 : entry(weights, row, at);
  }
  return entry(weights, row, column) * others;
}

/** A score, its weight and its slope on one side, in words. */
export function way(side, matrices, width, { row, column }) {
  const raw = written(entry(matrices.raw, row, column));
  const scaled = `${raw} ÷ ${written(Math.sqrt(width))} ≈ ${written(entry(matrices.scaled, row, column))}`;
  const weight = written(entry(matrices[side.weights], row, column));
  const slope = written(slopeAt(matrices[side.weights], row, column));
  const score = side.scores === "raw" ? raw : scaled;
  return say("score {score}, weight {weight}, slope {slope}", { score, weight, slope });
}

/** Entropy and slope of both sides in words. */
export function measuresInWords(measures, at) {
  const [entropy, scaledEntropy, slope, scaledSlope] = MEASURES.map((_, column) =>
    entry(measures, at, column).toFixed(2),
  );
  return say(
    "Entropy {entropy} not scaled, {scaled_entropy} scaled; slope {slope} not scaled, {scaled_slope} scaled.",
    { entropy, scaled_entropy: scaledEntropy, slope, scaled_slope: scaledSlope },
  );
}
