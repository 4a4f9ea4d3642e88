import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, mark, shapesInWords, verdictInWords } from "../../grader/views/shape_words.js";

const steps = [
  { title: "Ids", into: [], out: [{ name: "src", shape: "(2, 3)", mine: "", agrees: true }], verdict: "" },
  {
    title: "Embedding",
    into: [{ name: "src", shape: "(2, 3)" }],
    out: [{ name: "x", shape: "(2, 3, 4)", mine: "(2, 4)", agrees: false }],
    verdict: "differs",
  },
];

test("a step is read out with what goes in and out, and with what is wrong", () => {
  assert.equal(inWords(1, steps), "Step 1 of 2, Ids. Out: src (2, 3).");
  assert.equal(
    inWords(2, steps),
    "Step 2 of 2, Embedding. In: src (2, 3). Out: x (2, 3, 4). Your model: differs. Yours: x (2, 4).",
  );
});

test("a verdict is a sentence, and says why nothing was seen", () => {
  assert.equal(verdictInWords(steps[0]), "");
  assert.equal(verdictInWords(steps[1]), "Your model here: differs.");
  assert.match(
    verdictInWords({ verdict: "not seen" }),
    /^Your model here: not seen, because this step happens inside a function/,
  );
  assert.equal(verdictInWords({ verdict: "error", error: "KeyError: 3" }), "Your model raises KeyError: 3.");
});

test("shapes are listed by name", () => {
  assert.equal(shapesInWords([...steps[0].out, ...steps[1].out]), "src (2, 3), x (2, 3, 4)");
});

test("a box is wrong if any of its steps is, and right only if all are", () => {
  assert.equal(mark(["as expected", "differs"]), " ✗");
  assert.equal(mark(["error"]), " ✗");
  assert.equal(mark(["as expected", "as expected"]), " ✓");
  assert.equal(mark(["as expected", "not seen"]), "");
  assert.equal(mark([""]), "");
});
