import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blocks,
  cellOf,
  entryAt,
  indexOf,
  label,
  owner,
  placeInWords,
  placeOf,
  trail,
} from "../../grader/views/head_steps.js";

const SHAPES = [
  [3, 4],
  [2, 3, 2],
  [5, 2, 3],
];

test("entries are counted with the last axis fastest", () => {
  assert.deepEqual(indexOf(7, [3, 4]), [1, 3]);
  assert.deepEqual(indexOf(7, [2, 3, 2]), [1, 0, 1]);
});

test("strides lead from an index to a place in memory", () => {
  assert.equal(placeOf([1, 0, 1], [2, 4, 1]), 3);
  assert.equal(placeInWords([1, 0, 1], [2, 4, 1]), "1·2 + 0·4 + 1·1 = 3");
});

test("three axes are blocks side by side", () => {
  assert.deepEqual(blocks([2, 3, 4]), { count: 2, rows: 3, columns: 4 });
  assert.deepEqual(blocks([3, 4]), { count: 1, rows: 3, columns: 4 });
  assert.deepEqual(cellOf(7, [2, 3, 2]), { row: 0, column: 3 });
});

test("a cell leads back to its entry", () => {
  for (const shape of SHAPES) {
    for (let at = 0; at < shape.reduce((product, size) => product * size); at += 1) {
      assert.equal(entryAt(cellOf(at, shape), shape), at);
    }
  }
});

test("a number gives its token, column and head", () => {
  assert.deepEqual(owner(13, 2), { token: 1, column: 3, head: 1 });
  assert.equal(label(3), "03");
});

test("the trail names the index at every step", () => {
  const stages = [
    { name: "x", shape: [2, 2], reads: [0, 1, 10, 11] },
    { name: "turned", shape: [2, 2], reads: [0, 10, 1, 11] },
  ];
  assert.equal(trail(10, stages), "x[1, 0] → turned[0, 1]");
});
