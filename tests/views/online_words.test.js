import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arithmeticOf,
  blockEnds,
  distance,
  keysInWords,
  memoryInWords,
  stateAt,
} from "../../grader/views/online_words.js";
import { matrix } from "./matrices.js";

// One query, scores 1, 3 | 2, 5, its values 10, 20, 30, 40.
const matrices = {
  scores: matrix([[1, 3, 2, 5]]),
  final: matrix([[37.1]]),
  counts1: matrix([[Math.exp(-2), 1]]),
  maximum1: matrix([[3]]),
  factor1: matrix([[0]]),
  before1: matrix([[0]]),
  sum1: matrix([[1.1353]]),
  output1: matrix([[18.8]]),
  counts2: matrix([[Math.exp(-3), 1]]),
  maximum2: matrix([[5]]),
  factor2: matrix([[Math.exp(-2)]]),
  before2: matrix([[1.1353]]),
  sum2: matrix([[1.2034]]),
  output2: matrix([[37.1]]),
  "counts2 raw": matrix([[Math.exp(-3), 1]]),
  "maximum1 raw": matrix([[3]]),
  "maximum2 raw": matrix([[5]]),
  "factor2 raw": matrix([[1]]),
  "before2 raw": matrix([[1.1353]]),
  "sum2 raw": matrix([[2.1851]]),
  "output2 raw": matrix([[28.6]]),
};

test("a block ends where the keys end", () => {
  assert.deepEqual(blockEnds(1, 3, 8), [0, 3]);
  assert.deepEqual(blockEnds(3, 3, 8), [6, 8]);
});

test("keys are named as a reader would say them", () => {
  assert.equal(keysInWords([2, 3]), "key 2");
  assert.equal(keysInWords([2, 4]), "keys 2 and 3");
  assert.equal(keysInWords([2, 6]), "keys 2 to 5");
});

test("the first block starts from nothing", () => {
  assert.deepEqual(arithmeticOf(matrices, 1, 2, true, 0), [
    ["maximum", "max(−∞, 1, 3) = 3"],
    ["factor", "exp(−∞ − 3) = 0"],
    ["sum", "0 · 0 + 0.135 + 1 ≈ 1.14"],
  ]);
});

test("a rising maximum rescales what was summed", () => {
  assert.deepEqual(arithmeticOf(matrices, 2, 2, true, 0), [
    ["maximum", "max(3, 2, 5) = 5"],
    ["factor", "exp(3 − 5) = 0.135"],
    ["sum", "1.14 · 0.135 + 0.05 + 1 ≈ 1.2"],
  ]);
});

test("without rescaling the missing factor is named", () => {
  const lines = arithmeticOf(matrices, 2, 2, false, 0);
  assert.deepEqual(lines[1], ["factor", "1, where exp(3 − 5) is needed"]);
  assert.equal(lines[2][1], "1.14 · 1 + 0.05 + 1 ≈ 2.19");
});

test("a distance is the largest difference", () => {
  assert.equal(distance(matrix([[1, 5]]), matrix([[2, 2]])), 3);
  assert.equal(distance(stateAt(matrices, 2, true).output, matrices.final), 0);
});

test("what is held is counted", () => {
  assert.equal(
    memoryInWords(matrices, 2, 2),
    "In memory: scores of the block 1 · 2 = 2; carried on: maxima 1, sums 1, outputs 1 · 1 = 1. The whole matrix: 1 · 4 = 4.",
  );
});
