import assert from "node:assert/strict";
import { test } from "node:test";
import { numberOf, wanted } from "../../grader/views/prediction.js";

test("a number may be typed with a comma or a true minus sign", () => {
  assert.equal(numberOf(" 0,5 "), 0.5);
  assert.equal(numberOf("−3"), -3);
  assert.equal(numberOf("1e-3"), 0.001);
});

test("what is no number is none, and so is nothing", () => {
  for (const text of ["", " ", "many", "1 or 2"]) {
    assert.ok(Number.isNaN(numberOf(text)), text);
  }
});

test("it says which numbers are possible", () => {
  assert.equal(wanted(0, 1), "a number from 0 to 1");
  assert.equal(wanted(null, 10), "a number up to 10");
  assert.equal(wanted(0, null), "a number from 0");
  assert.equal(wanted(null, null), "a number");
});
