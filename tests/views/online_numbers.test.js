import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arithmeticOf,
  blockEnds,
  distance,
  inWords,
  keysInWords,
  memoryInWords,
  numbersOf,
} from "../../grader/views/online_numbers.js";
import { matrix } from "./matrices.js";

// One query, scores 1, 3 | 2, 5, its values 10, 20, 30, 40.
const state = (rescaling, step = 2) => {
  const numbers = Float32Array.from([1, 3, 2, 5, 10, 20, 30, 40]);
  const layout = [
    ["scores", 1, 4],
    ["value", 4, 1],
  ];
  const traits = { matrices: new DataView(numbers.buffer), matrices_layout: layout, block_size: 2, rescaling, step };
  return { get: (name) => traits[name] };
};
const matrices = numbersOf(state(true));

test("a block ends where the keys end", () => {
  assert.deepEqual(blockEnds(1, 3, 8), [0, 3]);
  assert.deepEqual(blockEnds(3, 3, 8), [6, 8]);
});

test("keys are named as a reader would say them", () => {
  assert.equal(keysInWords([2, 3]), "key 2");
  assert.equal(keysInWords([2, 4]), "keys 2 and 3");
  assert.equal(keysInWords([2, 6]), "keys 2 to 5");
});

test("the first block starts from nothing", () => {
  assert.deepEqual(arithmeticOf(matrices, 1, 2, true, 0), [
    ["maximum", "max(−∞, 1, 3) = 3"],
    ["factor", "exp(−∞ − 3) = 0"],
    ["sum", "0 · 0 + 0.135 + 1 ≈ 1.14"],
  ]);
});

test("a rising maximum rescales what was summed", () => {
  assert.deepEqual(arithmeticOf(matrices, 2, 2, true, 0), [
    ["maximum", "max(3, 2, 5) = 5"],
    ["factor", "exp(3 − 5) = 0.135"],
    ["sum", "1.14 · 0.135 + 0.05 + 1 ≈ 1.2"],
  ]);
});

test("without rescaling the missing factor is named", () => {
  const lines = arithmeticOf(numbersOf(state(false)), 2, 2, false, 0);
  assert.deepEqual(lines[1], ["factor", "1, but exp(3 − 5) is needed"]);
  assert.equal(lines[2][1], "1.14 · 1 + 0.05 + 1 ≈ 2.19");
});

test("a distance is the largest difference", () => {
  assert.equal(distance(matrix([[1, 5]]), matrix([[2, 2]])), 3);
  assert.ok(distance(matrices.states[1].output, matrices.final) < 1e-12);
});

test("what is held is counted", () => {
  assert.equal(
    memoryInWords(matrices, 2, 2),
    "In memory: scores of the block 1 · 2 = 2. Carried over: maxima 1, sums 1, outputs 1 · 1 = 1. The whole matrix: 1 · 4 = 4.",
  );
});

test("its sentence follows block and switch", () => {
  const sentence = (...chosen) => inWords(state(...chosen), numbersOf(state(...chosen)));
  const [start, end] = ["Online softmax, 1 query, 4 keys, block", "the output so far is"];
  assert.equal(
    sentence(true, 1),
    `${start} 1 of 2 (keys 0 to 1), with rescaling: ${end} up to 18.07 away from the final one.`,
  );
  assert.equal(sentence(true), `${start} 2 of 2 (keys 2 to 3), with rescaling: ${end} the final one.`);
  assert.match(sentence(false), /without rescaling: the output so far is up to \d+\.\d\d away from the final one\.$/);
});
