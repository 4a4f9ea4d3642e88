import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cellInWords,
  emptyRow,
  inConvention,
  painted,
  rowInWords,
  seenBy,
  WAYS,
  weightInWords,
} from "../../grader/views/mask_numbers.js";
import { matrix } from "./matrices.js";

const mask = matrix([
  [1, 0, 0],
  [1, 1, 0],
  [0, 0, 0],
]);
const scores = matrix([
  [2, 4, 4],
  [0, 0, 8],
  [4, 8, 8],
]);
const weights = matrix([
  [1, 0, 0],
  [0.5, 0.5, 0],
  [Number.NaN, Number.NaN, Number.NaN],
]);
const all = { mask, scores, weights };

test("the other convention swaps True and False and leaves the mask alone", () => {
  assert.deepEqual([...inConvention(mask, true).values], [0, 1, 1, 0, 0, 1, 1, 1, 1]);
  assert.equal(inConvention(mask, false), mask);
  assert.deepEqual([...mask.values], [1, 0, 0, 1, 1, 0, 0, 0, 0]);
});

test("painting changes one cell of a copy; nothing is painted twice", () => {
  assert.deepEqual([...painted(mask, { row: 0, column: 2 }, 1).values], [1, 0, 1, 1, 1, 0, 0, 0, 0]);
  assert.equal(painted(mask, { row: 0, column: 0 }, 1), null);
  assert.deepEqual([...mask.values], [1, 0, 0, 1, 1, 0, 0, 0, 0]);
});

test("a row sees the columns that are 1", () => {
  assert.deepEqual(
    [0, 1, 2].map((row) => seenBy(mask, row)),
    [[0], [0, 1], []],
  );
});

test("a cell is described by its query, its key and whether it is visible", () => {
  assert.equal(cellInWords(mask, ["a", "b", "pad"], { row: 0, column: 2 }), "query 0 (a), key 2 (pad): hidden");
  assert.equal(cellInWords(mask, ["a", "b", "pad"], { row: 1, column: 0 }), "query 1 (b), key 0 (a): visible");
});

test("a weight is made of visible scores only", () => {
  assert.equal(weightInWords("fill with -inf", all, { row: 1, column: 1 }), "exp(0) / (exp(0) + exp(0)) = 0.5");
  assert.equal(weightInWords("masked_softmax", all, { row: 0, column: 0 }), "exp(2) / (exp(2)) = 1");
});

test("a hidden key leaves no trace, whatever stands for its score", () => {
  const place = { row: 1, column: 2 };
  assert.equal(weightInWords("fill with -1e20", all, place), "exp(−1e20) = 0, so the hidden key leaves no trace");
  assert.equal(weightInWords("masked_softmax", all, place), "weight 0: hidden");
});

test("an empty row is another story for each way of hiding", () => {
  const texts = Object.keys(WAYS).map((way) => weightInWords(way, all, { row: 2, column: 0 }));
  assert.match(texts[0], /NaN/);
  assert.match(texts[1], /−1e10, and equal scores give 1\/3 each/);
  assert.match(texts[2], /−1e20, and equal scores give 1\/3 each/);
  assert.match(texts[3], /every weight is 0/);
  assert.equal(new Set(texts).size, 4);
  assert.equal(texts[1], emptyRow("subtract 1e10", 3));
});

test("many visible scores are not all written", () => {
  const wide = { mask: matrix([Array(9).fill(1)]), scores: matrix([Array(9).fill(0)]) };
  wide.weights = matrix([Array(9).fill(1 / 9)]);
  const sum = Array(5).fill("exp(0)").join(" + ");
  assert.equal(weightInWords("fill with -inf", wide, { row: 0, column: 8 }), `exp(0) / (${sum} + …) ≈ 0.111`);
});

test("a row's weights can be heard", () => {
  assert.equal(rowInWords(weights, 2), "weights of query 2: NaN, NaN, NaN");
  assert.equal(rowInWords(weights, 1), "weights of query 1: 0.5, 0.5, 0");
});
