// A table that is edited, three norms of it, and their arithmetic in words.

import { entry, fixed, isExact, mapped, matrixOf, rowsOf, term, transposed, unpack, written } from "./numbers.js";
import { say } from "./say.js";

export const LARGEST = 99999;
const DIGITS = 5;
const MOVED = 1e-4;
const MOST_IN_WORDS = 5;

/** What each norm averages over, the headings of its statistics and what is said of them, and its ε. */
export const NORMS = {
  LayerNorm: {
    across: "row",
    heads: [say("mean"), say("var")],
    sentences: [say("mean of each row {numbers}"), say("variance {numbers}")],
    eps: "0.00001",
  },
  BatchNorm: {
    across: "column",
    heads: [say("mean"), say("var")],
    sentences: [say("mean of each column {numbers}"), say("variance {numbers}")],
    eps: "0.00001",
  },
  RMSNorm: {
    across: "row",
    heads: [say("mean x²")],
    sentences: [say("mean of the squares of each row {numbers}")],
    eps: "0.000001",
  },
};

/** What the tables to start from are called. */
export const PRESETS = {
  start: say("start"),
  "one large value": say("one large value"),
  "common offset 1000": say("common offset 1000"),
  "constant row": say("constant row"),
};

/** The tables to start from, by name, each as what is chosen with it. Outputs are compared with those of the start. */
export function presetsOf(model) {
  const { table } = unpack(model.get("matrices_layout"), model.get("matrices"));
  const start = [...table.values];
  const second = table.columns; // the first number of the second row
  const tables = {
    start,
    "one large value": [100, ...start.slice(1)],
    "common offset 1000": start.map((number) => number + 1000),
    "constant row": start.map((number, at) => (Math.floor(at / second) === 1 ? start[second] : number)),
  };
  const chosen = ([preset, numbers]) => [preset, { preset, numbers, before: start }];
  return Object.fromEntries(Object.entries(tables).map(chosen));
}

/** What is chosen by putting `value` into place `at` of the numbers. Typing a number digit by digit is one change:
 * outputs are compared with those before the first digit. */
export function edited(numbers, before, at, value) {
  const changed = numbers.map((number, place) => (place === at ? value : number));
  const isAnother = value !== numbers[at] && changed.filter((number, place) => number !== before[place]).length > 1;
  return { preset: "edited", numbers: changed, before: isAnother ? numbers : before };
}

/** The table, its statistics, its outputs, and which of them moved (1) since `before`. */
export function numbersOf(model) {
  const [[, rows, columns]] = model.get("matrices_layout"); // of the table
  const norm = model.get("norm");
  const table = { rows, columns, values: model.get("numbers") };
  const { statistics, output } = normalise(table, norm);
  const last = normalise({ ...table, values: model.get("before") }, norm).output;
  const moved = mapped(output, (value, at) => Number(Math.abs(value - last.values[at]) > MOVED));
  return { table, statistics, output, moved };
}

/** Statistics are (B, 2), mean and variance of each row; for RMSNorm (B, 1), the mean of the squares; for BatchNorm
 * (2, E), mean and variance of each column. */
function normalise(table, norm) {
  const isOfColumns = NORMS[norm].across === "column";
  const full = mapped(table, (value) => value);
  const groups = rowsOf(isOfColumns ? transposed(full) : full);
  const found = groups.map((group) => (norm === "RMSNorm" ? [mean(group.map((x) => x * x))] : momentsOf(group)));
  const epsilon = Number(NORMS[norm].eps);
  const output = mapped(table, (value, at) => {
    const numbers = found[isOfColumns ? at % table.columns : Math.floor(at / table.columns)];
    const shift = norm === "RMSNorm" ? 0 : numbers[0];
    return rounded((value - shift) / Math.sqrt(numbers.at(-1) + epsilon));
  });
  const statistics = mapped(matrixOf(found), rounded);
  return { statistics: isOfColumns ? transposed(statistics) : statistics, output };
}

function mean(numbers) {
  return numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
}

function momentsOf(numbers) {
  const middle = mean(numbers);
  return [middle, mean(numbers.map((x) => (x - middle) ** 2))];
}

/** Nine decimals: 0 is shown as 0, not as 5.6e-17. */
function rounded(value) {
  return Math.round(value * 1e9) / 1e9;
}

/** The view in a sentence. */
export function inWords(model, { statistics, moved }) {
  const norm = model.get("norm");
  const { across, sentences } = NORMS[norm];
  const rows = rowsOf(across === "column" ? statistics : transposed(statistics));
  const parts = rows.map((numbers, kind) => {
    const shown = numbers.slice(0, MOST_IN_WORDS).map((number) => fixed(number, 2));
    const listed = [...shown, ...(numbers.length > MOST_IN_WORDS ? ["…"] : [])].join(", ");
    return say(sentences[kind], { numbers: listed });
  });
  return say("Norm explorer, {rows} by {columns}, {norm}: {statistics}; {moved} of {total} outputs moved.", {
    rows: moved.rows,
    columns: moved.columns,
    norm,
    statistics: parts.join(", "),
    moved: moved.values.filter(Boolean).length,
    total: moved.values.length,
  });
}

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

/** The table with its statistics: as further columns for a norm of rows, as further rows for a norm of columns. */
export function withStatistics(table, statistics, norm) {
  if (NORMS[norm].across === "column") {
    const values = Float64Array.of(...table.values, ...statistics.values);
    return { rows: table.rows + statistics.rows, columns: table.columns, values };
  }
  const columns = table.columns + statistics.columns;
  const values = Float64Array.from({ length: table.rows * columns }, (_, at) => {
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

/** Which outputs moved, in a sentence. Their places show which numbers share a mean. */
export function movedInWords(moved) {
  const places = [...moved.values.keys()].filter((at) => moved.values[at] === 1);
  const rows = [...new Set(places.map((at) => Math.floor(at / moved.columns)))].sort((a, b) => a - b);
  const columns = [...new Set(places.map((at) => at % moved.columns))].sort((a, b) => a - b);
  if (places.length === 0) {
    return say("No output moved.");
  }
  const outputs = places.length === 1 ? say("1 output moved") : say("{count} outputs moved", { count: places.length });
  if (rows.length === 1) {
    return say("{outputs}, in row {row}.", { outputs, row: rows[0] });
  }
  return columns.length === 1
    ? say("{outputs}, in column {column}.", { outputs, column: columns[0] })
    : say("{outputs}, in {count} rows.", { outputs, count: rows.length });
}
