// A head, a cell and a row of the head explorer in words.

import { entry, written } from "./numbers.js";

/** The name of a head's table: "cross/1/0". */
export function keyOf(kind, layer, head) {
  return `${kind}/${layer}/${head}`;
}

/** A head in words: what it is most like, and how blurred it is. */
export function headInWords(layer, head, { pattern, share, entropy }) {
  const like = `most like "${pattern}", ${share.toFixed(2)} of the weight`;
  return `layer ${layer}, head ${head}: ${like}; entropy ${entropy.toFixed(2)}`;
}

/** The caption under a head: short, no wider than its small table. */
export function underHead({ pattern, share }) {
  return `${pattern} ${share.toFixed(2)}`;
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
  return `query ${row} "${queries[row]}" gives ${weight} to key ${column} "${keys[column]}"`;
}

/** A row in words: the key that gets its largest weight. */
export function rowInWords(matrix, { keys }, row) {
  const most = mostOf(matrix, row);
  return `it gives most to key ${most} "${keys[most]}": ${written(entry(matrix, row, most))}`;
}
