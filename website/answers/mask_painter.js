// What the mask painter's Python side answers: a preset's mask, masked scores, weights, and the summary.

import { matrixOf, rowsOf, softmax, unpack } from "../../grader/views/numbers.js";
import { packed } from "./python.js";

const PRESETS = ["all visible", "causal", "padding", "both", "free hand"];
// What each way of hiding makes of a row that sees nothing.
const WAYS = {
  "fill with -inf": "NaN",
  "subtract 1e10": "uniform",
  "fill with -1e20": "uniform",
  masked_softmax: "all zeros",
};

export function answer(state, changed) {
  const { scores } = unpack(state.fixed_layout, state.fixed);
  const size = scores.rows;
  const given = Array.from({ length: state.mask.byteLength }, (_, at) => state.mask.getUint8(at));
  const isMask = given.length === size * size && given.every((cell) => cell <= 1);
  if (!(isMask && PRESETS.includes(state.preset) && state.way in WAYS && typeof state.in_front === "boolean")) {
    return {};
  }
  const { words } = state.kept;
  const changes = {};
  let cells = given;
  if (changed.includes("preset") || changed.includes("in_front")) {
    const padding = Array(size - words.length).fill("pad");
    changes.tokens = state.in_front ? [...padding, ...words] : [...words, ...padding];
    if (state.preset !== "free hand") {
      cells = presetCells(state, size, words.length);
      changes.mask = new DataView(Uint8Array.from(cells).buffer);
    }
  }
  const visible = Array.from({ length: size }, (_, row) => cells.slice(row * size, (row + 1) * size).map(Boolean));
  const { layout, buffer } = packed(attend(rowsOf(scores), visible, state.way));
  return { ...changes, moving_layout: layout, moving: buffer, summary: inWords(state, visible, words.length) };
}

function presetCells({ preset, in_front: inFront }, size, count) {
  return Array.from({ length: size * size }, (_, at) => {
    const [query, key] = [Math.floor(at / size), at % size];
    const isWord = inFront ? key >= size - count : key < count;
    const isPast = key <= query;
    return Number({ "all visible": true, causal: isPast, padding: isWord, both: isPast && isWord }[preset]);
  });
}

/** As in float32: a score minus 1e10 is -1e10, whatever the score. */
function attend(scores, visible, way) {
  const hide = (score) => ({ "subtract 1e10": Math.fround(score - 1e10), "fill with -1e20": -1e20 })[way] ?? -Infinity;
  const masked = matrixOf(scores.map((row, i) => row.map((score, j) => (visible[i][j] ? score : hide(score)))));
  const share = (row, at) => (way === "masked_softmax" && !visible[at].includes(true) ? row.fill(0) : softmax(row));
  return { masked, weights: matrixOf(rowsOf(masked).map(share)) };
}

function inWords({ preset, in_front: inFront, way }, visible, words) {
  const size = visible.length;
  const count = size - words;
  const padding = count ? `${count} padding ${inFront ? "in front" : "at the end"}` : "no padding";
  const blind = [...visible.keys()].filter((row) => !visible[row].includes(true));
  const who = blind.length === 1 ? `Query ${blind[0]} sees` : `Queries ${blind.join(", ")} see`;
  const last = blind.length ? `${who} nothing; ${way}: ${WAYS[way]}.` : `Every query sees something; ${way}.`;
  const seen = `${visible.flat().filter(Boolean).length} of ${size * size} visible`;
  return `Mask painter, ${size} tokens, ${padding}, mask "${preset}": ${seen}. ${last}`;
}
