// Shapes and verdicts of the nineteen steps in words.

import { say, together } from "./say.js";

/** What the verdicts on a learner's model are called. */
export const VERDICTS = {
  "as expected": say("as expected"),
  differs: say("differs"),
  error: say("error"),
  "not seen": say("not seen"),
  "not reached": say("not reached"),
};

/** The sign of a box: the worst of its steps' verdicts. */
export function mark(verdicts) {
  if (verdicts.some((verdict) => verdict === "differs" || verdict === "error")) {
    return " ✗";
  }
  return verdicts.length > 0 && verdicts.every((verdict) => verdict === "as expected") ? " ✓" : "";
}

/** The verdict on the learner's model at a step. */
export function verdictInWords(step) {
  if (step.error) {
    return say("Your model raises {error}.", { error: step.error });
  }
  if (step.verdict === "not seen") {
    return say("Your model here: not seen, because this step happens inside a function or under another name.");
  }
  return step.verdict ? say("Your model here: {verdict}.", { verdict: VERDICTS[step.verdict] }) : "";
}

/** Names and shapes in a row. */
export function shapesInWords(pieces) {
  return pieces.map((piece) => `${say(piece.name)} ${piece.shape}`).join(", ");
}

/** A step as it is read out. */
export function inWords(at, steps) {
  const step = steps[at - 1];
  const wrong = step.verdict ? step.out.filter((piece) => piece.mine && !piece.agrees) : [];
  return together(
    say("Step {at} of {count}, {title}.", { at, count: steps.length, title: say(step.title) }),
    step.into.length > 0 ? say("In: {shapes}.", { shapes: shapesInWords(step.into) }) : "",
    say("Out: {shapes}.", { shapes: shapesInWords(step.out) }),
    step.verdict ? say("Your model: {verdict}.", { verdict: VERDICTS[step.verdict] }) : "",
    ...wrong.map((piece) => say("Yours: {name} {shape}.", { name: say(piece.name), shape: piece.mine })),
  );
}
