import assert from "node:assert/strict";
import { test } from "node:test";
import {
  entry,
  isExact,
  mapped,
  numbered,
  product,
  range,
  rowsOf,
  softmax,
  softmaxOf,
  term,
  transposed,
  unpack,
  written,
} from "../../grader/views/numbers.js";
import { matrix } from "./matrices.js";

test("a number is written in three significant digits, with a real minus sign", () => {
  const texts = [16, 0.13613, 9.2376, 123.46, -2.31, 0, -0.0004, 1e-16, 123456.7, 99999.4].map((value) =>
    written(value),
  );
  assert.deepEqual(texts, ["16", "0.136", "9.24", "123", "−2.31", "0", "−4.0e-4", "1.0e-16", "1.2e+5", "99999"]);
});

test("NaN and infinity are written as such", () => {
  assert.deepEqual(
    [Number.NaN, Infinity, -Infinity].map((value) => written(value)),
    ["NaN", "∞", "−∞"],
  );
});

test("a negative term stands in brackets", () => {
  assert.deepEqual([term(2), term(-2)], ["2", "(−2)"]);
});

test("a number is exact if its written form is the number", () => {
  assert.deepEqual(
    [16, -0.5, 0.125, 1 / 3, Math.fround(0.1), 1.7320508].map((value) => isExact(value)),
    [true, true, true, false, true, false],
  );
});

test("matrices are unpacked from a view that starts anywhere in its buffer", () => {
  const bytes = new Uint8Array(3 + 5 * 4);
  bytes.set(new Uint8Array(Float32Array.from([1, 2, 3, 4, 5]).buffer), 3);
  const found = unpack(
    [
      ["b", 1, 3],
      ["a", 2, 1],
    ],
    new DataView(bytes.buffer, 3),
  );
  assert.deepEqual([...found.b.values], [1, 2, 3]);
  assert.deepEqual([...found.a.values], [4, 5]);
  assert.deepEqual([found.a.rows, found.a.columns], [2, 1]);
});

test("transposing swaps rows and columns", () => {
  const turned = transposed(
    matrix([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  );
  assert.deepEqual([turned.rows, turned.columns, [...turned.values]], [3, 2, [1, 4, 2, 5, 3, 6]]);
  assert.equal(entry(turned, 2, 1), 6);
});

test("a range looks at finite entries only", () => {
  assert.deepEqual(range(matrix([[1, Number.NaN, -2]]), matrix([[Infinity]])), [-2, 1]);
  assert.deepEqual(range(matrix([[Number.NaN]])), [0, 1]);
});

test("rows and columns are numbered from 0", () => {
  assert.deepEqual(
    numbered(3, (at) => `key ${at}`),
    ["key 0", "key 1", "key 2"],
  );
  assert.deepEqual(numbered(2), ["0", "1"]);
});

const close = (got, expected) => {
  assert.equal(got.length, expected.length);
  got.forEach((number, at) => {
    assert.ok(Math.abs(number - expected[at]) < 1e-9, `${got} is not ${expected}`);
  });
};

test("softmax divides by the temperature first, and is finite for large logits", () => {
  close(softmax([Math.log(3), 0]), [0.75, 0.25]);
  close(softmax([2 * Math.log(3), 0], 2), [0.75, 0.25]);
  close(softmax([1000, 1000]), [0.5, 0.5]);
});

test("temperature 0 puts all on the first of the largest", () => {
  assert.deepEqual(softmax([1, 3, 3], 0), [0, 1, 0]);
});

test("matrices are computed with row by row, in double precision", () => {
  const third = mapped(matrix([[1, 2]]), (value) => value / 3);
  assert.deepEqual([third.rows, third.columns, [...third.values]], [1, 2, [1 / 3, 2 / 3]]);
  const twos = matrix([
    [1, 2],
    [0, 1],
    [-1, 0.5],
  ]);
  const squares = product(twos, transposed(twos));
  assert.deepEqual(rowsOf(squares), [
    [5, 2, 0],
    [2, 1, 0.5],
    [0, 0.5, 1.25],
  ]);
  close(softmaxOf(matrix([[0, 0]])).values, [0.5, 0.5]);
});
