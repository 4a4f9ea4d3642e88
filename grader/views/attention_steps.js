// The seven steps of self-attention (Vaswani et al. 2017, equation 1), and the arithmetic behind each number.

import {
  entry,
  fixed,
  isExact,
  mapped,
  product,
  range,
  rowsOf,
  softmaxOf,
  term,
  transposed,
  unpack,
  written,
} from "./numbers.js";
import { say, several } from "./say.js";

const MOST_TERMS = 8;
const MOST_IN_WORDS = 4;
const ALIKE = 1e-4; // weights that far apart count as equal

/** In order: what a step computes (`result`) from what (`left`, `right`), and its texts. */
export const STEPS = [
  {
    result: "query",
    short: say("Q"),
    title: say("Queries"),
    formula: "Q = X · W_Q",
    kind: "product",
    left: "x",
    right: "w_query",
    story: say("A query is what a token looks for, computed as its vector times the query weights."),
  },
  {
    result: "key",
    short: say("K"),
    title: say("Keys"),
    formula: "K = X · W_K",
    kind: "product",
    left: "x",
    right: "w_key",
    story: say("A key is what a token can be found by, computed as its vector times the key weights."),
  },
  {
    result: "value",
    short: say("V"),
    title: say("Values"),
    formula: "V = X · W_V",
    kind: "product",
    left: "x",
    right: "w_value",
    story: say("A value is what a token hands over, computed as its vector times the value weights."),
  },
  {
    result: "scores",
    short: say("Scores"),
    title: say("Scores"),
    formula: "S = Q · Kᵀ",
    kind: "product",
    left: "query",
    right: "key_turned",
    story: say("The dot product in row i and column j shows how well the query of token i fits the key of token j."),
  },
  {
    result: "scaled",
    short: say("Scaling"),
    title: say("Scaled scores"),
    formula: say("S ÷ scale"),
    kind: "scaling",
    left: "scores",
    story: say(
      "Every score is divided by the same number. The colour scale is that of the scores, so you see them all move.",
    ),
  },
  {
    result: "weights",
    short: say("Softmax"),
    title: say("Weights"),
    formula: say("A = softmax(S ÷ scale), row by row"),
    kind: "softmax",
    left: "scaled",
    story: say("Each row becomes weights that add up to 1, and row i shows how much token i takes from every token."),
  },
  {
    result: "output",
    short: say("Weighted sum"),
    title: say("Outputs"),
    formula: "O = A · V",
    kind: "product",
    left: "weights",
    right: "value",
    story: say("Each token's new vector mixes the values of all tokens by its row of weights."),
  },
];

/** The caption of each matrix, and what its rows and columns are. */
export const NAMES = {
  x: ["X", "token", "feature"],
  w_query: ["W_Q", "feature", "feature"],
  w_key: ["W_K", "feature", "feature"],
  w_value: ["W_V", "feature", "feature"],
  query: ["Q", "token", "feature"],
  key: ["K", "token", "feature"],
  key_turned: ["Kᵀ", "feature", "token"],
  value: ["V", "token", "feature"],
  scores: ["S", "token", "token"],
  scaled: [say("S ÷ scale"), "token", "token"],
  weights: ["A", "token", "token"],
  output: ["O", "token", "feature"],
};

/** The matrices of all steps, by name. */
export function numbersOf(model) {
  const given = unpack(model.get("matrices_layout"), model.get("matrices"));
  return attended(projected(given), model.get("divisor"));
}

/** The given matrices and those up to the scores, which no scale changes. */
export function projected(given) {
  const [query, key, value] = ["query", "key", "value"].map((name) => product(given.x, given[`w_${name}`]));
  return { ...given, query, key, value, scores: product(query, transposed(key)) };
}

/** These and the matrices after the scores. */
export function attended(matrices, divisor) {
  const scaled = mapped(matrices.scores, (score) => score / divisor);
  const weights = softmaxOf(scaled);
  return { ...matrices, scaled, weights, output: product(weights, matrices.value) };
}

/** The view in a sentence. */
export function inWords(model, { weights }) {
  const tokens = model.get("tokens");
  const shown = rowsOf(weights).slice(0, MOST_IN_WORDS);
  const rows = shown.map((row, at) => mostInWords(tokens, row, at));
  const more = weights.rows - shown.length;
  return say("Attention explorer, {tokens} tokens, step {step} of {steps}; scores divided by {divisor}: {rows}.", {
    tokens: weights.rows,
    step: model.get("step"),
    steps: STEPS.length,
    divisor: fixed(model.get("divisor"), 2),
    rows: [...rows, ...(more ? [say("and {count} more", { count: more })] : [])].join(", "),
  });
}

function mostInWords(tokens, row, at) {
  const largest = Math.max(...row);
  const ties = tokens.filter((_, place) => row[place] >= largest - ALIKE);
  const others = ties.length <= 2 ? several(ties) : say("{count} tokens equally", { count: ties.length });
  const values = { token: tokens[at], others, weight: fixed(largest, 2) };
  return at
    ? say("{token} from {others} ({weight})", values)
    : say("{token} takes most from {others} ({weight})", values);
}

/** A step's matrices, each with the ends of its colour scale. */
export function parts(step, matrices) {
  const all = { ...matrices, key_turned: transposed(matrices.key) };
  const names = [step.left, step.right, step.result].filter(Boolean);
  return names.map((name) => ({ name, matrix: all[name], ends: ends(name, all) }));
}

/** Weights are always drawn from 0 to 1, scaled scores with the colours of the scores. */
function ends(name, all) {
  if (name === "weights") {
    return [0, 1];
  }
  return range(all[name === "scaled" ? "scores" : name]);
}

/** The numbers behind one entry of a step's result: "2·4 + 2·4 + 2·0 = 16". */
export function arithmetic(step, matrices, divisor, { row, column }) {
  const [left, right] = parts(step, matrices).map((part) => part.matrix);
  const result = entry(matrices[step.result], row, column);
  if (step.kind === "scaling") {
    return equation(
      [entry(left, row, column), divisor],
      `${written(entry(left, row, column))} ÷ ${written(divisor)}`,
      result,
    );
  }
  const places = Array.from({ length: left.columns }, (_, at) => at);
  if (step.kind === "softmax") {
    const terms = places.map((at) => `exp(${written(entry(left, row, at))})`);
    return equation([Number.NaN], `${terms[column]} ÷ (${sum(terms)})`, result);
  }
  const pairs = places.map((at) => [entry(left, row, at), entry(right, at, column)]);
  const terms = pairs.map(([a, b], at) => `${at ? term(a) : written(a)}·${term(b)}`);
  return equation(pairs.flat(), sum(terms), result);
}

/** "=" if all numbers are written exactly, "≈" if one is rounded. */
function equation(inputs, text, result) {
  return `${text} ${[...inputs, result].every((value) => isExact(value)) ? "=" : "≈"} ${written(result)}`;
}

function sum(terms) {
  if (terms.length <= MOST_TERMS) {
    return terms.join(" + ");
  }
  return `${terms.slice(0, MOST_TERMS - 2).join(" + ")} + … + ${terms.at(-1)}`;
}

/** The name of an entry: "scores, row token 1, column token 0". */
export function place(step, tokens, { row, column }) {
  const across = NAMES[step.result][2] === "token" ? tokens[column] : say("feature {column}", { column });
  return say("{step}, row {row}, column {column}", { step: step.title, row: tokens[row], column: across });
}

/** The headings of a matrix's rows and columns. */
export function headings(name, matrix, tokens) {
  const [, rows, columns] = NAMES[name];
  const labels = (kind, count) => (kind === "token" ? tokens : Array.from({ length: count }, (_, at) => String(at)));
  return { rowLabels: labels(rows, matrix.rows), columnLabels: labels(columns, matrix.columns) };
}

const SLIDER_SPAN = 100;

/** The divisor at a slider position, −100 to 100: `root`, √d_k, in the middle, a tenth and ten times it at the ends. */
export function divisorAt(position, root) {
  return root * 10 ** (position / SLIDER_SPAN);
}

/** The slider position for a divisor. */
export function positionOf(divisor, root) {
  const position = Math.round(SLIDER_SPAN * Math.log10(divisor / root));
  return Math.min(Math.max(position, -SLIDER_SPAN), SLIDER_SPAN);
}
