// What the attention explorer's Python side answers: everything after the scores, and the summary.

import { STEPS } from "../../grader/views/attention_steps.js";
import { fixed, matrixOf, rowsOf, softmax, unpack } from "../../grader/views/numbers.js";
import { isWhole, packed, rowProduct } from "./python.js";

const MOST_IN_WORDS = 4;
const ALIKE = 1e-4; // weights that far apart count as equal

export function answer(state, changed) {
  const { divisor, step } = state;
  if (!(Number.isFinite(divisor) && divisor > 0 && isWhole(step, 1, STEPS.length))) {
    return {};
  }
  const { scores, value } = unpack(state.fixed_layout, state.fixed);
  const scaled = matrixOf(rowsOf(scores).map((row) => row.map((score) => score / divisor)));
  const weights = matrixOf(rowsOf(scaled).map((row) => softmax(row)));
  const summary = inWords(state, rowsOf(weights));
  if (!changed.includes("divisor")) {
    return { summary };
  }
  const output = matrixOf(rowProduct(rowsOf(weights), rowsOf(value)));
  const { layout, buffer } = packed({ scaled, weights, output });
  return { moving_layout: layout, moving: buffer, summary };
}

function inWords({ tokens, step, divisor }, weights) {
  const shown = weights.slice(0, MOST_IN_WORDS);
  const rows = shown.map((row, at) => `${tokens[at]}${at ? "" : " takes most"} from ${mostInWords(tokens, row)}`);
  const rest = weights.length > shown.length ? `, and ${weights.length - shown.length} more` : "";
  return (
    `Attention explorer, ${weights.length} tokens, step ${step} of ${STEPS.length}; ` +
    `scores divided by ${fixed(divisor, 2)}: ${rows.join(", ")}${rest}.`
  );
}

function mostInWords(tokens, row) {
  const largest = Math.max(...row);
  const ties = tokens.filter((_, at) => row[at] >= largest - ALIKE);
  return `${ties.length <= 2 ? ties.join(" and ") : `${ties.length} tokens alike`} (${fixed(largest, 2)})`;
}
