import assert from "node:assert/strict";
import { test } from "node:test";
import { rowInWords, strongest, visible, weightInCell } from "../../grader/views/alignment_words.js";

const matrix = { rows: 2, columns: 3, values: Float32Array.from([0.1, 0.9, 0, 0.25, 0.5, 0.25]) };

test("the strongest columns come first, equal ones from left to right", () => {
  const columns = (row, count) => strongest(matrix, row, count).map(({ column }) => column);
  assert.deepEqual(columns(0, 2), [1, 0]);
  assert.deepEqual(columns(1, 3), [1, 0, 2]);
  assert.deepEqual(columns(1, 9), [1, 0, 2]);
});

test("a row in words has the guess, and only the characters with weight", () => {
  const text = rowInWords({ matrix, row: 0, source: ["3", " ", "M"], answer: ["0", "<eos>"], guesses: ["7", "<eos>"] });
  const most = 'Looks most at "␣" (character 2, 0.90), then "3" (character 1, 0.10).';
  assert.equal(text, `Character 1 of 2, "0": guessed "7". ${most}`);
});

test("blanks can be seen, and weights that round to nothing are left out", () => {
  assert.deepEqual([" ", "a"].map(visible), ["␣", "a"]);
  assert.deepEqual([0.004, 0.005, 1].map(weightInCell), ["", "0.01", "1.00"]);
});
