// What the answers share: matrices as Python sends them, and numbers as Python writes them.

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

/** The rows of a matrix, and a float32 matrix of rows. */
export function rowsOf({ rows, columns, values }) {
  return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));
}

export function matrixOf(rows) {
  return { rows: rows.length, columns: rows[0].length, values: Float32Array.from(rows.flat()) };
}

/** The matrix product of two lists of rows. */
export function product(left, right) {
  return left.map((row) => right[0].map((_, column) => row.reduce((sum, x, at) => sum + x * right[at][column], 0)));
}

/** Python's `f"{value:.2f}"` for 2 digits: toFixed, but a number exactly half way goes to the even digit. */
export function fixed(value, digits) {
  const size = Math.abs(value);
  const below = Math.floor(size * 10 ** digits);
  const isHalfWay = (size * 2 ** (digits + 1)) % 2 === 1;
  const nearest = isHalfWay && below % 2 === 0 ? below / 10 ** digits : size;
  return `${value < 0 ? "-" : ""}${nearest.toFixed(digits)}`;
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
