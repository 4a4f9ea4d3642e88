import assert from "node:assert/strict";
import { test } from "node:test";
import { say, together } from "../../grader/views/say.js";

test("a template takes its values by their names", () => {
  assert.equal(say("Step {at} of {count}.", { at: 2, count: 7 }), "Step 2 of 7.");
  assert.equal(say("{a} {b}", { a: "{b}", b: 1 }), "{b} 1");
  assert.equal(say("No {placeholder} has this name.", { other: 1 }), "No {placeholder} has this name.");
});

test("a sentence is said in the language of the words that are given", () => {
  const words = { "Step {at} of {count}.": "{count} Schritte, jetzt {at}." };
  assert.equal(say("Step {at} of {count}.", { at: 2, count: 7 }, words), "7 Schritte, jetzt 2.");
  assert.equal(say("Not known.", {}, words), "Not known.");
  assert.equal(say("", {}, { ...words, "": "de" }), "");
});

test("empty sentences are left out", () => {
  assert.equal(together(say("One."), "", say("Two.")), "One. Two.");
});
