// What the online softmax's Python side answers: the summary.

import { fixed, unpack } from "../../grader/views/numbers.js";
import { isWhole } from "./python.js";

const SAME = 5e-4; // outputs that near count as the final one

export function answer({ step, rescaling, block_size: size, layout_of_numbers: layout, numbers }) {
  const matrices = unpack(layout, numbers);
  const { rows: queries, columns: keys } = matrices.scores;
  const blocks = Math.ceil(keys / size);
  if (!isWhole(step, 1, blocks) || typeof rescaling !== "boolean") {
    return {};
  }
  const output = matrices[`output${step}${rescaling ? "" : " raw"}`].values;
  const error = Math.max(...output.map((value, at) => Math.abs(value - matrices.final.values[at])));
  const first = (step - 1) * size;
  const last = Math.min(first + size, keys) - 1;
  return {
    summary:
      `Online softmax, ${queries} ${queries === 1 ? "query" : "queries"}, ${keys} keys, block ${step} of ${blocks} ` +
      `(${first === last ? `key ${first}` : `keys ${first} to ${last}`}), ` +
      `${rescaling ? "with rescaling" : "without rescaling"}: the output so far ` +
      `${error < SAME ? "is the final one" : `is up to ${fixed(error, 2)} away from the final one`}.`,
  };
}
