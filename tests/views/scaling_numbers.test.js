import assert from "node:assert/strict";
import { test } from "node:test";
import {
  block,
  inWords,
  measuresInWords,
  SIDES,
  slopeAt,
  toDecimals,
  way,
} from "../../grader/views/scaling_numbers.js";
import { matrix } from "./matrices.js";

const weights = matrix([
  [0.5, 0.25, 0.25],
  [1, 2e-9, 1e-9],
]);

test("a block is the rows of one width", () => {
  const all = matrix([[1], [2], [3], [4], [5], [6]]);
  assert.deepEqual([...block(all, 1, 2).values], [3, 4]);
  assert.equal(block(all, 2, 2).rows, 2);
});

test("a slope is w (1 - w), and exact where 1 - w would be rounded to 0", () => {
  assert.equal(slopeAt(weights, 0, 0), 0.25);
  assert.equal(slopeAt(weights, 0, 1), 0.1875);
  assert.ok(Math.abs(slopeAt(weights, 1, 0) - 3e-9) < 1e-15);
});

test("numbers are rounded to fit into a cell", () => {
  assert.deepEqual([...toDecimals(weights, 3).values], [0.5, 0.25, 0.25, 1, 0, 0]);
});

test("a score, its weight and its slope are written for either side", () => {
  const matrices = {
    raw: matrix([[4, 0]]),
    scaled: matrix([[2, 0]]),
    raw_weights: matrix([[0.75, 0.25]]),
    scaled_weights: matrix([[0.5, 0.5]]),
  };
  const [unscaled, scaled] = SIDES.map((side) => way(side, matrices, 4, { row: 0, column: 0 }));
  assert.equal(unscaled, "score 4, weight 0.75, slope 0.188");
  assert.equal(scaled, "score 4 ÷ 2 ≈ 2, weight 0.5, slope 0.25");
});

test("the slider reads out entropy and slope of both sides", () => {
  const measures = matrix([[0.384, 1.96, 0.209, 0.814]]);
  const text = "Entropy 0.38 not scaled, 1.96 scaled; slope 0.21 not scaled, 0.81 scaled.";
  assert.equal(measuresInWords(measures, 0), text);
});

test("its sentence follows the width", () => {
  const state = { widths: [1, 2, 3], queries: 9, d_k: 2 };
  const measures = matrix([
    [2, 2, 1, 1],
    [0.384, 1.96, 0.125, 0.375],
  ]);
  assert.equal(
    inWords({ get: (name) => state[name] }, { raw: matrix([[1, 2, 3, 4]]), measures }),
    "Scaling explorer, d_k = 2 (range 1 to 3), 9 queries and 4 keys: " +
      "entropy 0.38 unscaled, 1.96 scaled; slope 0.12 and 0.38.",
  );
});
