// What a mask does to one row of scores, in arithmetic and in words.

import { entry, isExact, written } from "./numbers.js";

const MOST_TERMS = 6;

/** How each way of hiding writes a hidden score. */
export const HIDDEN = {
  "fill with -inf": "−∞",
  "subtract 1e10": "−1e10",
  "fill with -1e20": "−1e20",
  masked_softmax: "−∞",
};

/** A mask of 0 and 1 (= may attend), turned over if True means hide. */
export function inConvention(mask, hides) {
  return hides ? { ...mask, values: mask.values.map((value) => 1 - value) } : mask;
}

/** A copy of the mask with one cell changed; null if the cell has that value already. */
export function painted(mask, { row, column }, value) {
  if (entry(mask, row, column) === value) {
    return null;
  }
  const values = mask.values.slice();
  values[row * mask.columns + column] = value;
  return { ...mask, values };
}

/** The columns that a row sees. */
export function seenBy(mask, row) {
  return Array.from({ length: mask.columns }, (_, column) => column).filter((column) => entry(mask, row, column) === 1);
}

/** A cell in words: "query 1 (cat), key 0 (the): hidden". */
export function cellInWords(mask, tokens, { row, column }) {
  const seen = entry(mask, row, column) === 1 ? "visible" : "hidden";
  return `query ${row} (${tokens[row]}), key ${column} (${tokens[column]}): ${seen}`;
}

/** The arithmetic of a cell's weight. */
export function weightInWords(way, { mask, scores, weights }, { row, column }) {
  const seen = seenBy(mask, row);
  if (seen.length === 0) {
    return emptyRow(way, mask.columns);
  }
  if (!seen.includes(column)) {
    return way === "masked_softmax" ? "weight 0: hidden" : `exp(${HIDDEN[way]}) = 0: hidden, and leaves no trace`;
  }
  const power = (key) => `exp(${written(entry(scores, row, key))})`;
  const terms = seen.length > MOST_TERMS ? [...seen.slice(0, MOST_TERMS - 1).map(power), "…"] : seen.map(power);
  const weight = entry(weights, row, column);
  return `${power(column)} / (${terms.join(" + ")}) ${isExact(weight) ? "=" : "≈"} ${written(weight)}`;
}

/** What each way of hiding makes of a row that sees nothing. */
export function emptyRow(way, keys) {
  return {
    "fill with -inf": "Nothing visible. Softmax subtracts the row's maximum: −∞ − (−∞) = NaN, all along the row.",
    "subtract 1e10": `Nothing visible. In float32 all ${keys} scores end up as −1e10: equal, so 1/${keys} for each.`,
    "fill with -1e20": `Nothing visible. All ${keys} scores are −1e20: equal, so 1/${keys} for each.`,
    masked_softmax: "Nothing visible, nothing to share out: every weight is 0, and so is the output.",
  }[way];
}

/** All weights of a row, for a screen reader. */
export function rowInWords(weights, row) {
  const texts = Array.from({ length: weights.columns }, (_, column) => written(entry(weights, row, column)));
  return `weights of query ${row}: ${texts.join(", ")}`;
}
