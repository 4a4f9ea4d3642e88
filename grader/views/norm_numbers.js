// A table with its means and variances, typed numbers, and the arithmetic of three norms.

import { entry, isExact, term, written } from "./numbers.js";

export const LARGEST = 99999;
const DIGITS = 5;

/** What each norm averages over, the headings of its statistics, and its ε. */
export const NORMS = {
  LayerNorm: { across: "row", heads: ["mean", "var"], eps: "0.00001" },
  BatchNorm: { across: "column", heads: ["mean", "var"], eps: "0.00001" },
  RMSNorm: { across: "row", heads: ["mean x²"], eps: "0.000001" },
};

/** A typed number; null for other text and numbers too large. A comma and a real minus sign are allowed. */
export function typed(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  const value = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : Number.NaN;
  return Math.abs(value) <= LARGEST ? value : null;
}

/** A number in five digits: 1002.5, where other views write 1003. */
export function exactly(value) {
  return written(value, DIGITS);
}

/** A copy of the table with one number changed. */
export function changed(table, { row, column }, value) {
  const values = table.values.slice();
  values[row * table.columns + column] = value;
  return { ...table, values };
}

/** The table with its statistics: as further columns for a norm of rows, as further rows for a norm of columns. */
export function withStatistics(table, statistics, norm) {
  if (NORMS[norm].across === "column") {
    const values = Float32Array.of(...table.values, ...statistics.values);
    return { rows: table.rows + statistics.rows, columns: table.columns, values };
  }
  const columns = table.columns + statistics.columns;
  const values = Float32Array.from({ length: table.rows * columns }, (_, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    return column < table.columns ? entry(table, row, column) : entry(statistics, row, column - table.columns);
  });
  return { rows: table.rows, columns, values };
}

/** The statistics that an entry is normalised with: [mean, variance], or [mean of the squares]. */
export function statisticsOf(statistics, norm, { row, column }) {
  return NORMS[norm].heads.map((_, at) =>
    NORMS[norm].across === "column" ? entry(statistics, at, column) : entry(statistics, row, at),
  );
}

/** The arithmetic of one output. */
export function arithmeticOf(norm, { table, statistics, output }, place) {
  const value = entry(table, place.row, place.column);
  const terms = statisticsOf(statistics, norm, place).map((number) => term(number, DIGITS));
  const result = entry(output, place.row, place.column);
  const divisor = `√(${terms.at(-1)} + ${NORMS[norm].eps})`;
  const above = norm === "RMSNorm" ? exactly(value) : `(${exactly(value)} − ${terms[0]})`;
  return `${above} / ${divisor} ${isExact(result) ? "=" : "≈"} ${written(result)}`;
}

/** Which outputs moved, in words. Their places show which numbers share a mean. */
export function movedInWords(moved) {
  const places = [...moved.values.keys()].filter((at) => moved.values[at] === 1);
  const rows = [...new Set(places.map((at) => Math.floor(at / moved.columns)))].sort((a, b) => a - b);
  const columns = [...new Set(places.map((at) => at % moved.columns))].sort((a, b) => a - b);
  if (places.length === 0) {
    return "No output moved";
  }
  const outputs = places.length === 1 ? "1 output moved" : `${places.length} outputs moved`;
  if (rows.length === 1) {
    return `${outputs}, in row ${rows[0]}`;
  }
  return `${outputs}, in ${columns.length === 1 ? `column ${columns[0]}` : `${rows.length} rows`}`;
}
