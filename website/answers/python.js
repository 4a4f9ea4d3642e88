// What the answers share: matrices as Python sends them, and numbers as Python writes them.

import { fixed } from "../../grader/views/numbers.js";

/** Matrices by name as one buffer of float32 numbers and its layout: what `unpack` reads. */
export function packed(matrices) {
  const layout = {};
  const all = [];
  for (const [name, { rows, columns, values }] of Object.entries(matrices)) {
    layout[name] = [rows, columns];
    all.push(...values);
  }
  return { layout, buffer: new DataView(Float32Array.from(all).buffer) };
}

/** The matrix product of two lists of rows. */
export function rowProduct(left, right) {
  return left.map((row) => right[0].map((_, column) => row.reduce((sum, x, at) => sum + x * right[at][column], 0)));
}

/** Python's `f"{value:g}"`: so many significant digits, without zeros at the end. */
export function general(value, significant = 6) {
  const [digits, exponent] = value
    .toExponential(significant - 1)
    .split("e")
    .map(Number);
  if (exponent >= significant) {
    const whole = Number(fixed(value / 10 ** (exponent + 1 - significant), 0)); // half way, the even digit
    return `${whole / 10 ** (significant - 1)}e+${String(exponent).padStart(2, "0")}`;
  }
  if (value !== 0 && exponent < -4) {
    return `${digits}e-${String(-exponent).padStart(2, "0")}`;
  }
  return String(Number(fixed(value, significant - 1 - exponent)));
}

/** Whether a value is a whole number from `least` to `most`. */
export function isWhole(value, least, most = Infinity) {
  return Number.isInteger(value) && value >= least && value <= most;
}
