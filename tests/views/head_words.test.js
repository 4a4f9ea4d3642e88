import assert from "node:assert/strict";
import { test } from "node:test";
import { cellInWords, headInWords, keyOf, mostOf, rowInWords, underHead } from "../../grader/views/head_words.js";
import { matrix } from "./matrices.js";

const weights = matrix([
  [0.25, 0.75],
  [1, 0],
  [0.5, 0.5],
]);
const tokens = { queries: ["a", "b", "c"], keys: ["x", "␣"] };

test("a table is found by kind, layer and head", () => {
  assert.equal(keyOf("cross", 1, 3), "cross/1/3");
});

test("a head is described by its pattern, share and entropy", () => {
  const measures = { pattern: "the first", share: 0.5, entropy: 1 };
  assert.equal(headInWords(0, 2, measures), 'layer 0, head 2: most like "the first", 0.50 of the weight; entropy 1.00');
  assert.equal(underHead(measures), "the first 0.50");
});

test("a cell is described by its tokens", () => {
  assert.equal(cellInWords(weights, tokens, { row: 0, column: 1 }), 'query 0 "a" gives 0.75 to key 1 "␣"');
});

test("a row's largest weight is found, the first of equal ones", () => {
  assert.deepEqual(
    [0, 1, 2].map((row) => mostOf(weights, row)),
    [1, 0, 0],
  );
  assert.equal(rowInWords(weights, tokens, 1), 'it gives most to key 0 "x": 1');
});
