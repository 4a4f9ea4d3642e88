// The rows of all positions and their products, one number in words, and the lines of the plots.

import { entry, fixed, mapped, matrixOf, product, rowsOf, transposed, unpack, written } from "./numbers.js";
import { say, several } from "./say.js";

const FURTHER = [1, 10]; // the offsets in the sentence

/** The `rows` of the chosen kind of positions, and the `products` of position i with position j. */
export function numbersOf(model) {
  const [kind, width, base] = ["kind", "d_model", "base"].map((name) => model.get(name));
  const { random } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const numbers = rowsOf(random).map((row) => row.slice(0, width));
  const turns = numbers.map((_, position) =>
    Array.from({ length: width / 2 }, (_unused, pair) => position * base ** ((-2 * pair) / width)),
  );
  if (kind === "rotary") {
    const [query, key] = numbers.slice(0, 2).map((row) => matrixOf(turns.map((angles) => turned(row, angles))));
    return { rows: key, products: product(query, transposed(key)) };
  }
  const waves = () => turns.map((angles) => angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)]));
  // A random row is about as long as a sinusoidal one.
  const rows =
    kind === "sinusoidal" ? matrixOf(waves()) : mapped(matrixOf(numbers), (number) => number * Math.sqrt(0.5));
  return { rows, products: product(rows, transposed(rows)) };
}

/** The pairs of a row, each turned by its angle. */
function turned(row, angles) {
  return angles.flatMap((angle, pair) => {
    const [a, b] = row.slice(2 * pair, 2 * pair + 2);
    return [a * Math.cos(angle) - b * Math.sin(angle), a * Math.sin(angle) + b * Math.cos(angle)];
  });
}

/** What the kinds of positions are called. */
export const KINDS = {
  sinusoidal: say("sinusoidal"),
  rotary: say("rotary"),
  "random table": say("random table"),
};

/** The view in a sentence. */
export function inWords(model, { products }) {
  const kind = model.get("kind");
  const at = (offset) => ({ product: fixed(entry(products, 0, offset), 2), offset });
  const shown = {
    kind: KINDS[kind],
    positions: products.rows,
    width: model.get("d_model"),
    first: fixed(entry(products, 0, 0), 2),
    further: several(FURTHER.map((offset) => say("{product} at offset {offset}", at(offset)))),
    spread: fixed(spread(products), 2),
  };
  return kind === "random table"
    ? say(
        "Position explorer, {kind}, {positions} positions, width {width}: from position 0 the products are {first} at offset 0, {further}; at equal offsets, products differ by at most {spread}.",
        shown,
      )
    : say(
        "Position explorer, {kind}, {positions} positions, width {width}, base {base}: from position 0 the products are {first} at offset 0, {further}; at equal offsets, products differ by at most {spread}.",
        { ...shown, base: model.get("base") },
      );
}

/** The largest difference between two products at the same offset. */
function spread(products) {
  const ends = {};
  for (const [offset, number] of linesByOffset(products).flat()) {
    const [low, high] = ends[offset] ?? [number, number];
    ends[offset] = [Math.min(low, number), Math.max(high, number)];
  }
  return Math.max(...Object.values(ends).map(([low, high]) => high - low));
}

/** The formula of a number of the encoding: "sin(3 ÷ 10000^(4/32))". */
export function originOf(kind, base, width, { row, column }) {
  const even = column - (column % 2);
  const angle = `${row} ÷ ${base}^(${even}/${width})`;
  if (kind === "sinusoidal") {
    return `${column % 2 === 0 ? "sin" : "cos"}(${angle})`;
  }
  return kind === "rotary"
    ? say("pair {pair} of the key, turned by {angle} radians", { pair: even / 2, angle })
    : say("drawn at random");
}

/** The products of a position with itself and the positions 1 and 10 after it (near the end: before it). */
export function productsInWords(kind, products, row) {
  const sign = row + 10 < products.columns ? 1 : -1;
  const texts = [0, 1, 10].map((distance) => {
    const other = row + sign * distance;
    return say("position {position}: {product}", { position: other, product: written(entry(products, row, other)) });
  });
  const values = { row, products: texts.join(", ") };
  return kind === "rotary"
    ? say("Query at position {row} times the key at {products}", values)
    : say("Product of position {row} with {products}", values);
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
