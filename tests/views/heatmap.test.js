import assert from "node:assert/strict";
import { test } from "node:test";
import { cellSize, fitted, moved } from "../../grader/views/heatmap.js";

const size = { rows: 3, columns: 4 };

test("arrow keys move one cell and stop at the edge", () => {
  assert.deepEqual(moved("ArrowRight", false, { row: 1, column: 1 }, size), { row: 1, column: 2 });
  assert.deepEqual(moved("ArrowUp", false, { row: 1, column: 1 }, size), { row: 0, column: 1 });
  assert.deepEqual(moved("ArrowDown", false, { row: 2, column: 1 }, size), { row: 2, column: 1 });
  assert.deepEqual(moved("ArrowLeft", false, { row: 2, column: 0 }, size), { row: 2, column: 0 });
});

test("Home and End go along the row, with Ctrl to the corners", () => {
  assert.deepEqual(moved("Home", false, { row: 1, column: 2 }, size), { row: 1, column: 0 });
  assert.deepEqual(moved("End", false, { row: 1, column: 2 }, size), { row: 1, column: 3 });
  assert.deepEqual(moved("Home", true, { row: 1, column: 2 }, size), { row: 0, column: 0 });
  assert.deepEqual(moved("End", true, { row: 1, column: 2 }, size), { row: 2, column: 3 });
});

test("other keys are left to the page", () => {
  assert.equal(moved("Tab", false, { row: 1, column: 2 }, size), null);
  assert.equal(moved("a", false, { row: 1, column: 2 }, size), null);
});

test("cells share the width, within limits", () => {
  assert.deepEqual([cellSize(301, 10), cellSize(10_000, 3), cellSize(100, 144)], [30, 56, 5]);
});

test("small matrices that would be tiny side by side are put below each other", () => {
  assert.deepEqual([cellSize(60, 10, 4), cellSize(-20, 10, 4), cellSize(200, 10, 4)], [30, 30, 19]);
  assert.equal(cellSize(100, 144, 48), 5); // a large one is small in any case
});

test("a text is cut to its room", () => {
  const measure = (text) => 10 * text.length;
  assert.deepEqual(
    [fitted("cat", 30, measure), fitted("token", 30, measure), fitted("token", 5, measure)],
    ["cat", "to…", ""],
  );
});
