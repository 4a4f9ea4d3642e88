import assert from "node:assert/strict";
import { test } from "node:test";
import {
  between,
  changes,
  chosenRows,
  decades,
  lossInDigits,
  lossShare,
  powerOfTen,
  stepsDone,
} from "../../grader/views/training_curves.js";

test("the scale of the loss goes from a power of ten to another", () => {
  assert.deepEqual(decades([2.6, 0.03]), [-2, 1]);
  assert.deepEqual(decades([1, 1]), [-1, 0]);
  assert.deepEqual(decades([]), [-1, 1]);
  assert.deepEqual(decades([Number.NaN, 0, 5]), [0, 1]);
});

test("a loss lies on it by its logarithm, and nothing leaves the picture", () => {
  assert.ok(Math.abs(lossShare(0.1, [-2, 0]) - 0.5) < 1e-9);
  assert.equal(lossShare(0, [-2, 0]), 0);
  assert.equal(lossShare(Number.NaN, [-2, 0]), 1);
  assert.equal(lossShare(Infinity, [-2, 0]), 1);
  assert.equal(between(7, [0, 2]), 1);
});

test("powers of ten and losses are written as people write them", () => {
  assert.deepEqual([2, 0, -3].map(powerOfTen), ["100", "1", "0.001"]);
  assert.deepEqual([2.6391, 0.003218, Number.NaN].map(lossInDigits), ["2.6", "0.0032", "not a number"]);
});

test("of many rows some are chosen, the last one among them", () => {
  assert.deepEqual(chosenRows(3, 24), [0, 1, 2]);
  assert.deepEqual(chosenRows(10, 4), [2, 5, 8, 9]);
  assert.deepEqual(chosenRows(0, 4), []);
});

test("what was written is shown whenever it became another, the first and the last ones", () => {
  assert.deepEqual(
    changes([
      [0, "77"],
      [20, "20"],
      [40, "20"],
      [60, "24"],
    ]),
    [
      [0, "77"],
      [20, "20"],
      [60, "24"],
    ],
  );
  assert.deepEqual(
    changes(
      [
        [0, "a"],
        [1, "b"],
        [2, "c"],
      ],
      2,
    ),
    [
      [0, "a"],
      [2, "c"],
    ],
  );
  assert.deepEqual(changes([]), []);
});

test("on a page an empty monitor says where its curves are", () => {
  assert.equal(stepsDone(0, 40, undefined), "0 of 40 steps");
  assert.equal(stepsDone(0, 40, true), "0 of 40 steps. The lesson shows the monitor again below, after training.");
  assert.equal(stepsDone(30, 40, true), "30 of 40 steps");
});
