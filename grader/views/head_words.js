// A head, a cell and a row of the head explorer in words.

import { entry, written } from "./numbers.js";
import { say } from "./say.js";

/** The name of a head's table: "cross/1/0". */
export function keyOf(kind, layer, head) {
  return `${kind}/${layer}/${head}`;
}

/** A head in words: what it is most like, and how blurred it is. */
export function headInWords(layer, head, { pattern, share, entropy }) {
  return say('layer {layer}, head {head}: most like "{pattern}", {share} of the weight; entropy {entropy}', {
    layer,
    head,
    pattern: say(pattern),
    share: share.toFixed(2),
    entropy: entropy.toFixed(2),
  });
}

/** The caption under a head: short, no wider than its small table. */
export function underHead({ pattern, share }) {
  return `${say(pattern)} ${share.toFixed(2)}`;
}

/** The column of a row's largest weight. */
export function mostOf(matrix, row) {
  let most = 0;
  for (let column = 1; column < matrix.columns; column += 1) {
    if (entry(matrix, row, column) > entry(matrix, row, most)) {
      most = column;
    }
  }
  return most;
}

/** A cell in words: which query gives how much to which key. */
export function cellInWords(matrix, { queries, keys }, { row, column }) {
  const weight = written(entry(matrix, row, column));
  const values = { row, query: queries[row], weight, column, key: keys[column] };
  return say('query {row} "{query}" gives {weight} to key {column} "{key}"', values);
}

/** A row in words: the key that gets its largest weight. */
export function rowInWords(matrix, { keys }, row) {
  const most = mostOf(matrix, row);
  const values = { column: most, key: keys[most], weight: written(entry(matrix, row, most)) };
  return say('it gives most to key {column} "{key}": {weight}', values);
}
