import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arithmeticOf,
  edited,
  exactly,
  inWords,
  movedInWords,
  numbersOf,
  presetsOf,
  statisticsOf,
  typed,
  withStatistics,
} from "../../grader/views/norm_numbers.js";
import { rowsOf } from "../../grader/views/numbers.js";
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

/** A model of a table to start with, and what it shows once `changes` have been made: [row, column, value] each. */
const begun = (rows, norm, preset = "start") => {
  const { values } = matrix(rows);
  const state = {
    norm,
    matrices_layout: [["table", rows.length, rows[0].length]],
    matrices: new DataView(values.buffer),
  };
  const model = { get: (name) => state[name], state };
  Object.assign(state, presetsOf(model)[preset]);
  return model;
};
const change = ({ state }, ...changes) => {
  for (const [row, column, value] of changes) {
    Object.assign(state, edited(state.numbers, state.before, row * state.matrices_layout[0][2] + column, value));
  }
};
const movedOf = (model, norm = "LayerNorm") => {
  model.state.norm = norm;
  return rowsOf(numbersOf(model).moved);
};
const start = [
  [2, 1, 4, 3, 5],
  [6, 6, 8, 5, 5],
  [-2, 4, 0, 2, 1],
];

test("a changed number moves its row or its column", () => {
  const model = begun(start);
  change(model, [0, 2, 20]);
  const row = [
    [1, 1, 1, 1, 1],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
  ];
  const column = start.map(() => [0, 0, 1, 0, 0]);
  assert.deepEqual([movedOf(model), movedOf(model, "RMSNorm")], [row, row]);
  assert.deepEqual(movedOf(model, "BatchNorm"), column);
  assert.equal(model.state.preset, "edited");
});

test("digits of one number are one change, another number is another", () => {
  const model = begun(start);
  change(model, [0, 2, 1], [0, 2, 12], [0, 2, 120], [0, 2, 4]); // what it was
  assert.ok(!movedOf(model).flat().includes(1));
  change(model, [0, 2, 5], [2, 0, 7]);
  assert.deepEqual(
    movedOf(model).map((row) => row.includes(1)),
    [false, false, true],
  );
});

test("presets are made of the first table, and compared with it", () => {
  const tables = Object.values(presetsOf(begun(start))).map(({ numbers }) => numbers);
  assert.deepEqual(tables[1].slice(0, 6), [100, 1, 4, 3, 5, 6]);
  assert.deepEqual(
    tables[2],
    start.flat().map((number) => number + 1000),
  );
  assert.deepEqual(tables[3].slice(4), [5, 6, 6, 6, 6, 6, -2, 4, 0, 2, 1]);
  const count = (preset, norm) =>
    movedOf(begun(start, norm, preset), norm)
      .flat()
      .filter(Boolean).length;
  assert.deepEqual(
    ["LayerNorm", "BatchNorm", "RMSNorm"].map((norm) => count("common offset 1000", norm)),
    [0, 0, 15],
  );
});

test("nothing is left of a constant row but by RMSNorm", () => {
  const model = begun(start, "LayerNorm", "constant row");
  assert.deepEqual(rowsOf(numbersOf(model).output)[1], [0, 0, 0, 0, 0]);
  model.state.norm = "RMSNorm";
  assert.ok(rowsOf(numbersOf(model).output)[1].every((number) => Math.abs(number - 1) < 1e-6));
});

test("its sentence follows norm and table", () => {
  const model = begun(start, "BatchNorm");
  change(model, [0, 2, 13]);
  const sentence = () => inWords(model, numbersOf(model));
  assert.match(sentence(), /^Norm explorer, 3 by 5, BatchNorm: mean of each column 2.00, 3.67, 7.00, 3.33, 3.67, var/);
  assert.match(sentence(), /; 3 of 15 outputs moved\.$/);
  model.state.norm = "RMSNorm";
  assert.match(sentence(), /RMSNorm: mean of the squares of each row 41.60, 37.20, 5.00; 5 of 15/);
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
  assert.equal(inWords([0, 0], [0, 0]), "No output moved.");
  assert.equal(inWords([0, 1], [0, 0]), "1 output moved, in row 0.");
  assert.equal(inWords([0, 0], [1, 1]), "2 outputs moved, in row 1.");
  assert.equal(inWords([0, 1], [0, 1]), "2 outputs moved, in column 1.");
  assert.equal(inWords([1, 1], [0, 1]), "3 outputs moved, in 2 rows.");
});
