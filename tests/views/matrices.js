// Lesson 01's small example, as the browser has it after unpacking.

export function matrix(rows) {
  return { rows: rows.length, columns: rows[0].length, values: Float32Array.from(rows.flat()) };
}

const scaled = [
  [2, 4, 4],
  [4, 16, 12],
  [4, 12, 10],
].map((row) => row.map((score) => score / Math.sqrt(3)));

const weights = scaled.map((row) => {
  const exponentials = row.map(Math.exp);
  const total = exponentials.reduce((sum, value) => sum + value);
  return exponentials.map((value) => value / total);
});

export const example = {
  x: matrix([
    [1, 0, 1, 0],
    [0, 2, 0, 2],
    [1, 1, 1, 1],
  ]),
  w_query: matrix([
    [1, 0, 1],
    [1, 0, 0],
    [0, 0, 1],
    [0, 1, 1],
  ]),
  query: matrix([
    [1, 0, 2],
    [2, 2, 2],
    [2, 1, 3],
  ]),
  key: matrix([
    [0, 1, 1],
    [4, 4, 0],
    [2, 3, 1],
  ]),
  value: matrix([
    [1, 2, 3],
    [2, 8, 0],
    [2, 6, 3],
  ]),
  scores: matrix([
    [2, 4, 4],
    [4, 16, 12],
    [4, 12, 10],
  ]),
  scaled: matrix(scaled),
  weights: matrix(weights),
  output: matrix([
    [1.8639, 6.3194, 1.7042],
    [1.9991, 7.8141, 0.2735],
    [1.9926, 7.4796, 0.7359],
  ]),
};
