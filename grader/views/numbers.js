// Numbers and matrices: how to read them from Python's buffers, compute with them, and write them for a reader.

/** Matrices by name from one buffer of float32 numbers. `layout` has a [name, rows, columns] for each, in the buffer's
 * order: a list, since a saved notebook brings the names of an object in the order of the alphabet. */
export function unpack(layout, view) {
  const matrices = {};
  let at = 0;
  for (const [name, rows, columns] of layout) {
    // Copied, because a buffer from the kernel need not start on a multiple of four bytes.
    const bytes = view.buffer.slice(view.byteOffset + at, view.byteOffset + at + 4 * rows * columns);
    matrices[name] = { rows, columns, values: new Float32Array(bytes) };
    at += 4 * rows * columns;
  }
  return matrices;
}

/** One entry of a matrix. */
export function entry(matrix, row, column) {
  return matrix.values[row * matrix.columns + column];
}

/** The rows of a matrix, as arrays. */
export function rowsOf({ rows, columns, values }) {
  return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));
}

/** A matrix of rows. */
export function matrixOf(rows) {
  return { rows: rows.length, columns: rows[0].length, values: Float64Array.from(rows.flat()) };
}

/** A matrix with every entry changed: `change` gets it and its place in the matrix's values. */
export function mapped(matrix, change) {
  return { ...matrix, values: Float64Array.from(matrix.values, change) };
}

/** The matrix product. */
export function product(left, right) {
  const columns = rowsOf(transposed(right));
  const dot = (row, column) => row.reduce((sum, value, at) => sum + value * column[at], 0);
  return matrixOf(rowsOf(left).map((row) => columns.map((column) => dot(row, column))));
}

/** Softmax of the logits divided by a temperature. At 0 all is on the largest logit, the first of equal ones. */
export function softmax(logits, temperature = 1) {
  const largest = Math.max(...logits);
  if (temperature === 0) {
    const first = logits.indexOf(largest);
    return Array.from(logits, (_, at) => (at === first ? 1 : 0));
  }
  return normalised(Array.from(logits, (logit) => Math.exp((logit - largest) / temperature)));
}

/** Numbers as shares of their sum. */
export function normalised(numbers) {
  const sum = numbers.reduce((total, number) => total + number, 0);
  return numbers.map((number) => number / sum);
}

/** Softmax of every row. */
export function softmaxOf(matrix) {
  return matrixOf(rowsOf(matrix).map((row) => softmax(row)));
}

/** The transpose of a matrix. */
export function transposed(matrix) {
  const { rows, columns } = matrix;
  const { values } = mapped(matrix, (_, at) => entry(matrix, at % rows, Math.floor(at / rows)));
  return { rows: columns, columns: rows, values };
}

/** The smallest and the largest finite entry of some matrices. */
export function range(...matrices) {
  let low = Infinity;
  let high = -Infinity;
  for (const matrix of matrices) {
    for (const value of matrix.values) {
      if (Number.isFinite(value)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

/** A number in at most `digits` significant digits, with a real minus sign: 16, 0.136, −2.31. */
export function written(value, digits = 3) {
  if (Number.isNaN(value)) {
    return "NaN";
  }
  const text = Number.isFinite(value) ? plain(value, digits) : "∞";
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

function plain(value, digits) {
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) {
    return size.toExponential(1);
  }
  if (Number.isInteger(size)) {
    return String(size);
  }
  const before = size < 1 ? 0 : Math.floor(Math.log10(size)) + 1;
  return String(Number(size.toFixed(Math.max(0, digits - before))));
}

/** Python's `f"{value:.2f}"` for 2 digits: toFixed, but a number exactly half way goes to the even digit. */
export function fixed(value, digits) {
  const size = Math.abs(value);
  const below = Math.floor(size * 10 ** digits);
  const isHalfWay = (size * 2 ** (digits + 1)) % 2 === 1;
  const nearest = isHalfWay && below % 2 === 0 ? below / 10 ** digits : size;
  return `${value < 0 ? "-" : ""}${nearest.toFixed(digits)}`;
}

/** Whether `written` gives the value itself; float32 noise below a millionth doesn't count. */
export function isExact(value, digits = 3) {
  const shown = Number(written(value, digits).replace("−", "-"));
  return Math.abs(shown - value) <= 1e-6 * Math.max(1, Math.abs(value));
}

/** A number as a factor or a term: negative ones in brackets. */
export function term(value, digits = 3) {
  const text = written(value, digits);
  return text.startsWith("−") ? `(${text})` : text;
}

/** Labels of `count` rows or columns, from 0, each as `named` says it. */
export function numbered(count, named = String) {
  return Array.from({ length: count }, (_, at) => named(at));
}
