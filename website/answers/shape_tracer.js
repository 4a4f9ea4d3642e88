// What the shape tracer's Python side answers: the summary.

import { say, together } from "../../grader/views/say.js";
import { shapesInWords } from "../../grader/views/shape_words.js";
import { isWhole } from "./python.js";

export function answer({ step, steps, verdict }) {
  if (!isWhole(step, 1, steps.length)) {
    return {};
  }
  const { title, out } = steps[step - 1];
  const now = { step, steps: steps.length, title: say(title), shapes: shapesInWords(out) };
  return { summary: together(say("Shape tracer, step {step} of {steps}, {title}: {shapes}.", now), verdict) };
}
