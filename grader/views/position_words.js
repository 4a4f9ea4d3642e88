// One number of the position explorer in words, and the lines of its plots.

import { entry, written } from "./numbers.js";

/** The formula of a number of the encoding: "sin(3 ÷ 10000^(4/32))". */
export function originOf(kind, base, width, { row, column }) {
  const even = column - (column % 2);
  const angle = `${row} ÷ ${base}^(${even}/${width})`;
  if (kind === "sinusoidal") {
    return `${column % 2 === 0 ? "sin" : "cos"}(${angle})`;
  }
  return kind === "rotary" ? `pair ${even / 2} of the key, turned by ${angle} radians` : "drawn at random";
}

/** The products of a position with itself and the positions 1 and 10 after it (near the end: before it). */
export function productsInWords(kind, products, row) {
  const sign = row + 10 < products.columns ? 1 : -1;
  const texts = [0, 1, 10].map((distance) => {
    const other = row + sign * distance;
    return `with position ${other} ${written(entry(products, row, other))}`;
  });
  const who = kind === "rotary" ? `Query at position ${row} times key, ` : `Product of position ${row} `;
  return `${who}${texts.join(", ")}`;
}

/** A line of points [offset, product] for each position. */
export function linesByOffset(products) {
  return Array.from({ length: products.rows }, (_, row) =>
    Array.from({ length: products.columns }, (_unused, other) => [other - row, entry(products, row, other)]),
  );
}

/** One column as a line of points [position, number]. */
export function lineOfColumn(matrix, column) {
  return Array.from({ length: matrix.rows }, (_, row) => [row, entry(matrix, row, column)]);
}

/** Points as an SVG path, in a box of `width` by `height` pixels; `xs` and `ys` are the ends of the two axes. */
export function path(points, { width, height, xs, ys }) {
  const across = (x) => (width * (x - xs[0])) / (xs[1] - xs[0]);
  const down = (y) => height * (1 - (y - ys[0]) / (ys[1] - ys[0]));
  return points.map(([x, y], at) => `${at ? "L" : "M"}${across(x).toFixed(1)} ${down(y).toFixed(1)}`).join("");
}
