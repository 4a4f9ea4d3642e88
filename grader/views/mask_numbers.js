// A mask, what it does to the scores, and to one row of them in arithmetic and in words.

import { entry, isExact, mapped, softmaxOf, unpack, written } from "./numbers.js";

export const PRESETS = ["all visible", "causal", "padding", "both"];
export const FREE_HAND = "free hand";
const MOST_TERMS = 6;

/** How each way of hiding writes a hidden score. */
export const HIDDEN = {
  "fill with -inf": "−∞",
  "subtract 1e10": "−1e10",
  "fill with -1e20": "−1e20",
  masked_softmax: "−∞",
};

// What each way of hiding makes of a row that sees nothing.
const BLIND = {
  "fill with -inf": "NaN",
  "subtract 1e10": "uniform",
  "fill with -1e20": "uniform",
  masked_softmax: "all zeros",
};

/** The tokens with their padding; the mask, 1 = may attend, as chosen or painted; what it makes of the scores. */
export function numbersOf(model) {
  const { scores } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const [words, inFront, way] = ["words", "in_front", "way"].map((name) => model.get(name));
  const padding = Array(scores.rows - words.length).fill("pad");
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
  const count = size - model.get("words").length;
  const padded = `${count} padding token${count === 1 ? "" : "s"} ${model.get("in_front") ? "in front" : "at the end"}`;
  const padding = count ? padded : "no padding";
  const blind = Array.from({ length: size }, (_, row) => row).filter((row) => seenBy(mask, row).length === 0);
  const who = blind.length === 1 ? `Query ${blind[0]} sees` : `Queries ${blind.join(", ")} see`;
  const last = blind.length
    ? `${who} nothing; "${way}" makes the weights ${BLIND[way]}.`
    : `Every query sees something; way of hiding: "${way}".`;
  const seen = `${mask.values.filter(Boolean).length} of ${size * size} visible`;
  return `Mask painter, ${size} tokens, ${padding}, mask "${model.get("preset")}": ${seen}. ${last}`;
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
    return way === "masked_softmax" ? "weight 0: hidden" : `exp(${HIDDEN[way]}) = 0, so the hidden key leaves no trace`;
  }
  const power = (key) => `exp(${written(entry(scores, row, key))})`;
  const terms = seen.length > MOST_TERMS ? [...seen.slice(0, MOST_TERMS - 1).map(power), "…"] : seen.map(power);
  const weight = entry(weights, row, column);
  return `${power(column)} / (${terms.join(" + ")}) ${isExact(weight) ? "=" : "≈"} ${written(weight)}`;
}

/** What each way of hiding makes of a row that sees nothing. */
export function emptyRow(way, keys) {
  return {
    "fill with -inf": "No key is visible. Softmax subtracts the row's maximum, and −∞ − (−∞) = NaN all along the row.",
    "subtract 1e10": `No key is visible. In float32 all ${keys} scores end up as −1e10, and equal scores give 1/${keys} each.`,
    "fill with -1e20": `No key is visible. All ${keys} scores are −1e20, and equal scores give 1/${keys} each.`,
    masked_softmax: "No key is visible, so every weight is 0, and so is the output.",
  }[way];
}

/** All weights of a row, for a screen reader. */
export function rowInWords(weights, row) {
  const texts = Array.from({ length: weights.columns }, (_, column) => written(entry(weights, row, column)));
  return `weights of query ${row}: ${texts.join(", ")}`;
}
