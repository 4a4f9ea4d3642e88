// A mask, what it does to the scores, and to one row of them in arithmetic and in words.

import { entry, isExact, mapped, softmaxOf, unpack, written } from "./numbers.js";
import { say, together } from "./say.js";

export const FREE_HAND = "free hand";
const MOST_TERMS = 6;

/** What each mask is called, the presets and what somebody painted. */
export const MASKS = {
  "all visible": say("all visible"),
  causal: say("causal"),
  padding: say("padding"),
  both: say("both"),
  [FREE_HAND]: say("free hand"),
};

/** Of each way of hiding: what it is called, how it writes a hidden score, what it makes of a row that sees nothing, in
 * a word and in sentences. */
export const WAYS = {
  "fill with -inf": {
    label: say("fill with -inf"),
    hidden: "−∞",
    blind: "NaN",
    emptyRow: say("No key is visible. Softmax subtracts the row's maximum, and −∞ − (−∞) = NaN all along the row."),
  },
  "subtract 1e10": {
    label: say("subtract 1e10"),
    hidden: "−1e10",
    blind: say("uniform"),
    emptyRow: say(
      "No key is visible. In float32 all {keys} scores end up as −1e10, and equal scores give 1/{keys} each.",
    ),
  },
  "fill with -1e20": {
    label: say("fill with -1e20"),
    hidden: "−1e20",
    blind: say("uniform"),
    emptyRow: say("No key is visible. All {keys} scores are −1e20, and equal scores give 1/{keys} each."),
  },
  masked_softmax: {
    label: "masked_softmax",
    hidden: "−∞",
    blind: say("all zeros"),
    emptyRow: say("No key is visible, so every weight is 0, and so is the output."),
  },
};

/** The tokens with their padding; the mask, 1 = may attend, as chosen or painted; what it makes of the scores. */
export function numbersOf(model) {
  const { scores } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const [words, inFront, way] = ["words", "in_front", "way"].map((name) => model.get(name));
  const padding = Array(scores.rows - words.length).fill(say("pad"));
  const tokens = inFront ? [...padding, ...words] : [...words, ...padding];
  const isPainted = model.get("preset") === FREE_HAND;
  const cells = isPainted ? model.get("mask") : presetCells(model.get("preset"), inFront, words.length, scores.rows);
  const mask = { ...scores, values: cells };
  const masked = mapped(scores, (score, at) => (mask.values[at] ? score : hidden(score, way)));
  const shares = softmaxOf(masked);
  const zeros = (weight) => (Number.isNaN(weight) ? 0 : weight);
  const weights = way === "masked_softmax" ? mapped(shares, zeros) : shares;
  return { tokens, mask, scores, masked, weights };
}

function presetCells(preset, inFront, count, size) {
  return Array.from({ length: size * size }, (_, at) => {
    const [query, key] = [Math.floor(at / size), at % size];
    const isWord = inFront ? key >= size - count : key < count;
    const isPast = key <= query;
    return Number({ "all visible": true, causal: isPast, padding: isWord, both: isPast && isWord }[preset]);
  });
}

/** What stands for a hidden score. In float32 a score minus 1e10 is -1e10, whatever the score. */
function hidden(score, way) {
  return { "subtract 1e10": Math.fround(score - 1e10), "fill with -1e20": -1e20 }[way] ?? -Infinity;
}

/** The view in a sentence. */
export function inWords(model, { mask }) {
  const [size, way] = [mask.rows, model.get("way")];
  const blind = Array.from({ length: size }, (_, row) => row).filter((row) => seenBy(mask, row).length === 0);
  const first = say('Mask painter, {tokens} tokens, {padding}, mask "{preset}": {seen} of {total} visible.', {
    tokens: size,
    padding: paddingInWords(size - model.get("words").length, model.get("in_front")),
    preset: MASKS[model.get("preset")],
    seen: mask.values.filter(Boolean).length,
    total: size * size,
  });
  return together(first, blindInWords(blind, way));
}

function paddingInWords(count, inFront) {
  if (count === 0) {
    return say("no padding");
  }
  if (count === 1) {
    return inFront ? say("1 padding token in front") : say("1 padding token at the end");
  }
  return inFront
    ? say("{count} padding tokens in front", { count })
    : say("{count} padding tokens at the end", { count });
}

function blindInWords(blind, way) {
  const values = { way: WAYS[way].label, result: WAYS[way].blind };
  if (blind.length === 0) {
    return say('Every query sees something; way of hiding: "{way}".', values);
  }
  if (blind.length === 1) {
    return say('Query {query} sees nothing; "{way}" makes the weights {result}.', { query: blind[0], ...values });
  }
  const queries = blind.join(", ");
  return say('Queries {queries} see nothing; "{way}" makes the weights {result}.', { queries, ...values });
}

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
  const values = { row, query: tokens[row], column, key: tokens[column] };
  return entry(mask, row, column) === 1
    ? say("query {row} ({query}), key {column} ({key}): visible", values)
    : say("query {row} ({query}), key {column} ({key}): hidden", values);
}

/** The arithmetic of a cell's weight. */
export function weightInWords(way, { mask, scores, weights }, { row, column }) {
  const seen = seenBy(mask, row);
  if (seen.length === 0) {
    return emptyRow(way, mask.columns);
  }
  if (!seen.includes(column)) {
    return way === "masked_softmax"
      ? say("weight 0: hidden")
      : say("exp({score}) = 0, so the hidden key leaves no trace", { score: WAYS[way].hidden });
  }
  const power = (key) => `exp(${written(entry(scores, row, key))})`;
  const terms = seen.length > MOST_TERMS ? [...seen.slice(0, MOST_TERMS - 1).map(power), "…"] : seen.map(power);
  const weight = entry(weights, row, column);
  return `${power(column)} / (${terms.join(" + ")}) ${isExact(weight) ? "=" : "≈"} ${written(weight)}`;
}

/** What each way of hiding makes of a row that sees nothing. */
export function emptyRow(way, keys) {
  return say(WAYS[way].emptyRow, { keys });
}

/** All weights of a row, for a screen reader. */
export function rowInWords(weights, row) {
  const texts = Array.from({ length: weights.columns }, (_, column) => written(entry(weights, row, column)));
  return say("weights of query {row}: {weights}", { row, weights: texts.join(", ") });
}
