import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOfColumn, linesByOffset, originOf, path, productsInWords } from "../../grader/views/position_numbers.js";
import { matrix } from "./matrices.js";

const products = matrix(Array.from({ length: 12 }, (_, i) => Array.from({ length: 12 }, (_unused, j) => 100 * i + j)));

test("a sinusoidal number is formula by its formula, a pair sharing one exponent", () => {
  assert.equal(originOf("sinusoidal", 10000, 8, { row: 3, column: 4 }), "sin(3 ÷ 10000^(4/8))");
  assert.equal(originOf("sinusoidal", 100, 32, { row: 3, column: 5 }), "cos(3 ÷ 100^(4/32))");
});

test("a turned key has the formula of its pair, a random number has none", () => {
  const formula = "pair 2 of the key, turned by 3 ÷ 10000^(4/8) radians";
  assert.equal(originOf("rotary", 10000, 8, { row: 3, column: 5 }), formula);
  assert.equal(originOf("random table", 10000, 8, { row: 3, column: 5 }), "drawn at random");
});

test("products are listed forwards, and backwards near the end", () => {
  const forwards = "Product of position 1 with position 1: 101, position 2: 102, position 11: 111";
  assert.equal(productsInWords("sinusoidal", products, 1), forwards);
  const backwards = "Query at position 11 times the key at position 11: 1111, position 10: 1110, position 1: 1101";
  assert.equal(productsInWords("rotary", products, 11), backwards);
});

test("a line of products starts at minus its own position", () => {
  const lines = linesByOffset(products);
  assert.equal(lines.length, 12);
  assert.deepEqual(lines[5][0], [-5, 500]);
  assert.deepEqual(lines[5][5], [0, 505]);
  assert.deepEqual(lines[5].at(-1), [6, 511]);
});

test("a column is a line over the positions", () => {
  assert.deepEqual(
    lineOfColumn(
      matrix([
        [1, 2],
        [3, 4],
      ]),
      1,
    ),
    [
      [0, 2],
      [1, 4],
    ],
  );
});

test("a path goes from left to right and from bottom to top", () => {
  const box = { width: 100, height: 50, xs: [0, 10], ys: [-1, 1] };
  assert.equal(
    path(
      [
        [0, -1],
        [5, 0],
        [10, 1],
      ],
      box,
    ),
    "M0.0 50.0L50.0 25.0L100.0 0.0",
  );
});
