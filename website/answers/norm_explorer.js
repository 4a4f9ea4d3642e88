// What the norm explorer's Python side answers: statistics, outputs, which of them moved, and the summary.

import { LARGEST, NORMS } from "../../grader/views/norm_numbers.js";
import { fixed, unpack } from "../../grader/views/numbers.js";
import { packed } from "./python.js";

const EDITED = "edited";
const MOVED = 1e-4;
const MOST_IN_WORDS = 5;
const NAMES = { LayerNorm: ["mean", "variance"], BatchNorm: ["mean", "variance"], RMSNorm: ["mean of the squares"] };

export function answer(state, changed) {
  const { norm, preset, kept } = state;
  const [rows, columns] = state.shape;
  const presets = unpack(state.presets_layout, state.presets);
  const read = (buffer) => unpack({ table: [rows, columns] }, buffer).table;
  if (!(norm in NORMS && (preset in presets || preset === EDITED) && state.table.byteLength === 4 * rows * columns)) {
    return {};
  }
  const isPreset = changed.includes("preset") && preset in presets;
  const table = isPreset ? presets[preset] : read(state.table);
  if (!table.values.every((value) => Math.abs(value) <= LARGEST)) {
    return {};
  }
  const old = read(kept.table);
  const isNew = countOf(table, old) > 0;
  // Typing a number digit by digit is one change: outputs are compared with those before the first digit.
  let before = read(kept.before);
  if (isPreset || (isNew && preset !== EDITED)) {
    before = presets.start;
  } else if (isNew && countOf(table, before) > 1) {
    before = old;
  }
  const { statistics, output } = normalise(table, norm);
  const last = normalise(before, norm).output;
  const moved = {
    ...output,
    values: output.values.map((value, at) => Number(Math.abs(value - last.values[at]) > MOVED)),
  };
  const { layout, buffer } = packed({ statistics, output, moved });
  return {
    ...(isPreset && countOf(table, read(state.table)) > 0 ? { table: bytesOf(table) } : {}),
    shown: norm,
    moving_layout: layout,
    moving: buffer,
    summary: inWords(state, statistics, moved.values),
    kept: { before: bytesOf(before), table: bytesOf(table) },
  };
}

/** How many numbers of two tables differ. */
function countOf(one, other) {
  return one.values.filter((value, at) => value !== other.values[at]).length;
}

function bytesOf({ values }) {
  return new DataView(values.slice().buffer);
}

/** Statistics and outputs of a table, as matrices of float64. */
function normalise({ rows, columns, values }, norm) {
  const isOfColumns = NORMS[norm].across === "column";
  const groups = Array.from({ length: isOfColumns ? columns : rows }, (_, group) =>
    Array.from(values).filter((_value, at) => (isOfColumns ? at % columns : Math.floor(at / columns)) === group),
  );
  const found = groups.map((group) => (norm === "RMSNorm" ? [mean(group.map((x) => x * x))] : momentsOf(group)));
  const epsilon = Number(NORMS[norm].eps);
  const output = Float64Array.from(values, (value, at) => {
    const numbers = found[isOfColumns ? at % columns : Math.floor(at / columns)];
    const shift = norm === "RMSNorm" ? 0 : numbers[0];
    return rounded((value - shift) / Math.sqrt(numbers.at(-1) + epsilon));
  });
  const kinds = NAMES[norm].length;
  const size = isOfColumns ? { rows: kinds, columns } : { rows, columns: kinds };
  const flat = isOfColumns ? NAMES[norm].flatMap((_, kind) => found.map((numbers) => numbers[kind])) : found.flat();
  return { statistics: { ...size, values: flat.map(rounded) }, output: { rows, columns, values: output } };
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

function inWords({ norm, shape }, statistics, moved) {
  const { across } = NORMS[norm];
  const parts = NAMES[norm].map((name, kind) => {
    const numbers = statistics.values.filter((_, at) =>
      across === "column" ? Math.floor(at / statistics.columns) === kind : at % statistics.columns === kind,
    );
    const shown = numbers.slice(0, MOST_IN_WORDS).map((number) => fixed(number, 2));
    const listed = [...shown, ...(numbers.length > MOST_IN_WORDS ? ["…"] : [])].join(", ");
    return `${name}${kind ? "" : ` of each ${across}`} ${listed}`;
  });
  const count = `${moved.reduce((sum, one) => sum + one, 0)} of ${moved.length} outputs moved`;
  return `Norm explorer, ${shape[0]} by ${shape[1]}, ${norm}: ${parts.join(", ")}; ${count}.`;
}
