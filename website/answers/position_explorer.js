// What the position explorer's Python side answers: the rows of all positions, their products, and the summary.

import { fixed, matrixOf, rowsOf, unpack } from "../../grader/views/numbers.js";
import { packed, rowProduct } from "./python.js";

const POSITIONS = 32;
const FURTHER = [1, 10]; // the offsets in the summary

export function answer(state) {
  const { kind, d_model: width, base, kinds, widths, bases, kept } = state;
  if (!(kinds.includes(kind) && widths.includes(width) && bases.includes(base))) {
    return {};
  }
  const numbers = rowsOf(unpack(kept.layout, kept.numbers)[`width ${width}`]);
  const { rows, products } = encoded(kind, width, base, numbers);
  const { layout, buffer } = packed({ rows: matrixOf(rows), products: matrixOf(products) });
  return { layout_of_both: layout, both: buffer, summary: inWords(state, products) };
}

/** `numbers` are random, as torch has drawn them. */
function encoded(kind, width, base, numbers) {
  const turns = Array.from({ length: POSITIONS }, (_, position) =>
    Array.from({ length: width / 2 }, (_unused, pair) => position * base ** ((-2 * pair) / width)),
  );
  if (kind === "rotary") {
    const [query, key] = numbers.slice(0, 2).map((row) => turns.map((angles) => turned(row, angles)));
    return { rows: key, products: rowProduct(query, columnsOf(key)) };
  }
  const waves = () => turns.map((angles) => angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)]));
  const rows = kind === "sinusoidal" ? waves() : numbers.map((row) => row.map((number) => number * Math.sqrt(0.5)));
  return { rows, products: rowProduct(rows, columnsOf(rows)) };
}

function turned(row, angles) {
  return angles.flatMap((angle, pair) => {
    const [a, b] = row.slice(2 * pair, 2 * pair + 2);
    return [a * Math.cos(angle) - b * Math.sin(angle), a * Math.sin(angle) + b * Math.cos(angle)];
  });
}

function columnsOf(rows) {
  return rows[0].map((_, column) => rows.map((row) => row[column]));
}

function inWords({ kind, d_model: width, base }, products) {
  const further = FURTHER.map((offset) => `${offset} further ${fixed(products[0][offset], 2)}`).join(", ");
  return (
    `Position explorer, ${kind}, ${POSITIONS} positions, width ${width}` +
    `${kind === "random table" ? "" : `, base ${base}`}: from position 0 the product with the same position is ` +
    `${fixed(products[0][0], 2)}, ${further}; at equal offsets, products differ by at most ` +
    `${fixed(spread(products), 2)}.`
  );
}

/** The largest difference between two products at the same offset. */
function spread(products) {
  const ends = {};
  products.forEach((row, i) => {
    row.forEach((number, j) => {
      const [low, high] = ends[j - i] ?? [number, number];
      ends[j - i] = [Math.min(low, number), Math.max(high, number)];
    });
  });
  return Math.max(...Object.values(ends).map(([low, high]) => high - low));
}
