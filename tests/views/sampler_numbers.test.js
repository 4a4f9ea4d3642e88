import assert from "node:assert/strict";
import { test } from "node:test";
import {
  distributions,
  drawn,
  joined,
  percent,
  ranked,
  said,
  shown,
  topK,
  topP,
  wordsOf,
} from "../../grader/views/sampler_numbers.js";

const probabilities = [0.15, 0.5, 0.05, 0.3];
const close = (got, expected) => {
  assert.equal(got.length, expected.length);
  got.forEach((number, at) => {
    assert.ok(Math.abs(number - expected[at]) < 1e-9, `${got} is not ${expected}`);
  });
};

test("the likeliest comes first, and of equal ones the first", () => {
  assert.deepEqual(ranked([0.2, 0.3, 0.2, 0.3]), [1, 3, 0, 2]);
});

test("top-k keeps the vocabulary's order, and at least one", () => {
  close(topK(probabilities, 2), [0, 0.625, 0, 0.375]);
  close(topK(probabilities, 9), probabilities);
  close(topK(probabilities, 0), [0, 1, 0, 0]);
});

test("top-p keeps the fewest that reach it, at least one", () => {
  close(topP(probabilities, 0.7), [0, 0.625, 0, 0.375]);
  close(topP(probabilities, 0.5), [0, 1, 0, 0]);
  close(topP(probabilities, 0.01), [0, 1, 0, 0]);
  close(topP(probabilities, 1), probabilities);
});

test("a sum that reaches top-p but for rounding has reached it", () => {
  close(topP(Array(10).fill(0.1), 0.3), [1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0, 0, 0]);
});

test("the steps follow each other: temperature, top-k, top-p of what is left", () => {
  const found = distributions(probabilities.map(Math.log), { temperature: 0.5, topK: 3, topP: 0.9 });
  const squares = [0.0225, 0.25, 0.0025, 0.09];
  close(found.plain, probabilities);
  close(
    found.tempered,
    squares.map((number) => number / 0.365),
  );
  close(found.afterK, [0.0225 / 0.3625, 0.25 / 0.3625, 0, 0.09 / 0.3625]);
  close(found.final, [0, 0.25 / 0.34, 0, 0.09 / 0.34]);
});

test("each place is drawn by its share, and never one that was cut", () => {
  const final = [0, 0.25, 0, 0.75];
  assert.deepEqual(
    [0, 0.249, 0.25, 0.999].map((number) => drawn(final, number)),
    [1, 1, 3, 3],
  );
  assert.equal(drawn([0.1, 0.2, 0.7 - 1e-12, 0], 1 - 1e-13), 2);
});

test("the end of a line has a sign, and marks have a name", () => {
  assert.deepEqual(["\n", "owl"].map(shown), ["↵", "owl"]);
  assert.deepEqual(["\n", "owl", "."].map(said), ["end of the line", "owl", "full stop"]);
});

test("a text is taken apart and put together again", () => {
  const text = "“It's mine,” said Ida: “mine!”\nShe ran.";
  assert.deepEqual(wordsOf("“It's mine,” said Ida."), ["“", "It's", "mine", ",", "”", "said", "Ida", "."]);
  assert.equal(joined(wordsOf(text)), text);
  assert.deepEqual(wordsOf(""), []);
});

test("a percentage has two digits, and 0 means none at all", () => {
  const numbers = [0, 0.0004, 0.0042, 0.0996, 0.314, 1];
  assert.deepEqual(numbers.map(percent), ["0 %", "under 0.1 %", "0.4 %", "10 %", "31 %", "100 %"]);
});
