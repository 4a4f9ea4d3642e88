import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arithmetic,
  divisorAt,
  headings,
  inWords,
  NAMES,
  parts,
  place,
  positionOf,
  STEPS,
} from "../../grader/views/attention_steps.js";
import { example, matrix } from "./matrices.js";

const step = (result) => STEPS.find((step) => step.result === result);
const sum = (result, row, column) => arithmetic(step(result), example, Math.sqrt(3), { row, column });

test("the steps come in the order of the formula", () => {
  assert.deepEqual(
    STEPS.map((step) => step.result),
    ["query", "key", "value", "scores", "scaled", "weights", "output"],
  );
});

test("a projection multiplies a row of X with a column of the weights", () => {
  assert.equal(sum("query", 1, 0), "0·1 + 2·1 + 0·0 + 2·0 = 2");
});

test("a score multiplies a query with a key", () => {
  assert.equal(sum("scores", 1, 1), "2·4 + 2·4 + 2·0 = 16");
  assert.equal(sum("scores", 0, 2), "1·2 + 0·3 + 2·1 = 4");
});

test("what is rounded says so", () => {
  assert.equal(sum("scaled", 1, 1), "16 ÷ 1.73 ≈ 9.24");
  assert.equal(sum("weights", 1, 1), "exp(9.24) ÷ (exp(2.31) + exp(9.24) + exp(6.93)) ≈ 0.909");
  assert.equal(sum("output", 0, 0), "0.136·1 + 0.432·2 + 0.432·2 ≈ 1.86");
});

test("a divisor that is exact gives an equals sign", () => {
  const halved = {
    ...example,
    scaled: matrix([
      [1, 2, 2],
      [2, 8, 6],
      [2, 6, 5],
    ]),
  };
  assert.equal(arithmetic(step("scaled"), halved, 2, { row: 1, column: 1 }), "16 ÷ 2 = 8");
});

test("negative numbers keep their signs apart", () => {
  const some = { ...example, query: matrix([[-1, 2]]), key: matrix([[3, -0.5]]), scores: matrix([[-4]]) };
  assert.equal(arithmetic(step("scores"), some, 1, { row: 0, column: 0 }), "−1·3 + 2·(−0.5) = −4");
});

test("a long sum is cut in the middle", () => {
  const ones = (columns) => matrix([Array(columns).fill(1)]);
  const wide = { ...example, query: ones(64), key: ones(64), scores: matrix([[64]]) };
  assert.equal(
    arithmetic(step("scores"), wide, 8, { row: 0, column: 0 }),
    "1·1 + 1·1 + 1·1 + 1·1 + 1·1 + 1·1 + … + 1·1 = 64",
  );
});

test("weights are drawn from 0 to 1, scaled scores with the colours of the scores", () => {
  assert.deepEqual(parts(step("weights"), example).at(-1).ends, [0, 1]);
  assert.deepEqual(
    parts(step("scaled"), example).map((part) => part.ends),
    [
      [2, 16],
      [2, 16],
    ],
  );
});

test("every matrix of every step has a name", () => {
  assert.ok(STEPS.every((step) => [step.left, step.right, step.result].filter(Boolean).every((name) => name in NAMES)));
});

test("an entry is named by its tokens", () => {
  const tokens = ["the", "cat", "sat"];
  assert.equal(place(step("scores"), tokens, { row: 1, column: 2 }), "Scores, row cat, column sat");
  assert.equal(place(step("query"), tokens, { row: 1, column: 2 }), "Queries, row cat, column feature 2");
  assert.deepEqual(headings("key_turned", { rows: 2, columns: 3 }, tokens), {
    rowLabels: ["0", "1"],
    columnLabels: tokens,
  });
});

test("the slider has the square root in its middle, a tenth and ten times it at its ends", () => {
  assert.deepEqual(
    [-100, 0, 100].map((at) => divisorAt(at, 4)),
    [0.4, 4, 40],
  );
  for (const at of [-100, -37, 0, 1, 100]) {
    assert.equal(positionOf(divisorAt(at, 1.7), 1.7), at);
  }
  assert.equal(positionOf(1e9, 1.7), 100);
});

test("its sentence follows step and scale", () => {
  const state = { tokens: ["the", "cat", "sat"], step: 4, divisor: 1000 };
  const weights = matrix([
    [0.2, 0.4, 0.4],
    [1, 0, 0],
    [1 / 3, 1 / 3, 1 / 3],
  ]);
  assert.equal(
    inWords({ get: (name) => state[name] }, { weights }),
    "Attention explorer, 3 tokens, step 4 of 7; scores divided by 1000.00: " +
      "the takes most from cat and sat (0.40), cat from the (1.00), sat from 3 tokens equally (0.33).",
  );
});
