import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arithmeticOf,
  changed,
  exactly,
  movedInWords,
  statisticsOf,
  typed,
  withStatistics,
} from "../../grader/views/norm_numbers.js";
import { matrix } from "./matrices.js";

const table = matrix([
  [1, 2, 3],
  [1, 1, 4],
]);
const rows = matrix([
  [2, 2 / 3],
  [2, 2],
]);
const columns = matrix([
  [1, 1.5, 3.5],
  [0, 0.25, 0.25],
]);

test("typed numbers: signs, commas and points; nothing else", () => {
  assert.deepEqual(["12", " -3.5 ", "−2", "0,25", ".5", "7.", "+4"].map(typed), [12, -3.5, -2, 0.25, 0.5, 7, 4]);
  assert.deepEqual(["", "-", ".", "1e3", "two", "1.2.3", "Infinity", "100000"].map(typed), Array(8).fill(null));
});

test("five digits, so that an offset of 1000 doesn't swallow the rest", () => {
  assert.deepEqual([1002.5, -0.123456, 12].map(exactly), ["1002.5", "−0.12346", "12"]);
});

test("one number changes, in a copy", () => {
  assert.deepEqual([...changed(table, { row: 1, column: 0 }, 9).values], [1, 2, 3, 9, 1, 4]);
  assert.equal(table.values[3], 1);
});

test("statistics of rows stand at their right, those of columns below", () => {
  const wide = withStatistics(table, rows, "LayerNorm");
  assert.deepEqual([wide.rows, wide.columns], [2, 5]);
  assert.deepEqual([...wide.values].slice(5), [1, 1, 4, 2, 2]);
  const high = withStatistics(table, columns, "BatchNorm");
  assert.deepEqual([high.rows, high.columns], [4, 3]);
  assert.deepEqual([...high.values].slice(6), [1, 1.5, 3.5, 0, 0.25, 0.25]);
});

test("an entry's statistics are its row's or its column's", () => {
  assert.deepEqual(statisticsOf(rows, "LayerNorm", { row: 1, column: 2 }), [2, 2]);
  assert.deepEqual(statisticsOf(columns, "BatchNorm", { row: 1, column: 2 }), [3.5, 0.25]);
  assert.deepEqual(statisticsOf(matrix([[14 / 3], [6]]), "RMSNorm", { row: 1, column: 2 }), [6]);
});

test("the arithmetic has the mean that the norm takes, or none", () => {
  const place = { row: 1, column: 2 };
  const having = (statistics, result) => ({
    table,
    statistics,
    output: matrix([
      [0, 0, 0],
      [0, 0, result],
    ]),
  });
  assert.equal(arithmeticOf("LayerNorm", having(rows, Math.SQRT2), place), "(4 − 2) / √(2 + 0.00001) ≈ 1.41");
  assert.equal(arithmeticOf("BatchNorm", having(columns, 0.99998), place), "(4 − 3.5) / √(0.25 + 0.00001) ≈ 1");
  const squares = matrix([[14 / 3], [6]]);
  assert.equal(arithmeticOf("RMSNorm", having(squares, 1.63299), place), "4 / √(6 + 0.000001) ≈ 1.63");
});

test("a negative mean stands in brackets", () => {
  const negative = { table: matrix([[0, -2]]), statistics: matrix([[-1, 1]]), output: matrix([[1, -1]]) };
  assert.equal(arithmeticOf("LayerNorm", negative, { row: 0, column: 1 }), "(−2 − (−1)) / √(1 + 0.00001) = −1");
});

test("where outputs moved says which share a mean", () => {
  const inWords = (...numbers) => movedInWords(matrix(numbers));
  assert.equal(inWords([0, 0], [0, 0]), "No output moved");
  assert.equal(inWords([0, 1], [0, 0]), "1 output moved, in row 0");
  assert.equal(inWords([0, 0], [1, 1]), "2 outputs moved, in row 1");
  assert.equal(inWords([0, 1], [0, 1]), "2 outputs moved, in column 1");
  assert.equal(inWords([1, 1], [0, 1]), "3 outputs moved, in 2 rows");
});
