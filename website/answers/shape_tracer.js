// What the shape tracer's Python side answers: the summary.

import { say } from "../../grader/views/say.js";
import { isWhole } from "./python.js";

export function answer({ step, steps, verdict }) {
  if (!isWhole(step, 1, steps.length)) {
    return {};
  }
  const { title, out } = steps[step - 1];
  const shapes = out.map(({ name, shape }) => `${name} ${shape}`).join(", ");
  const now = { step, steps: steps.length, title: say(title), shapes };
  return {
    summary: verdict
      ? say("Shape tracer, step {step} of {steps}, {title}: {shapes}; {verdict}.", { ...now, verdict: say(verdict) })
      : say("Shape tracer, step {step} of {steps}, {title}: {shapes}.", now),
  };
}
