// What the shape tracer's Python side answers: the summary.

import { isWhole } from "./python.js";

export function answer({ step, steps, verdict }) {
  if (!isWhole(step, 1, steps.length)) {
    return {};
  }
  const { title, out } = steps[step - 1];
  const shapes = out.map(({ name, shape }) => `${name} ${shape}`).join(", ");
  return {
    summary: `Shape tracer, step ${step} of ${steps.length}, ${title}: ${shapes}${verdict ? `; ${verdict}` : ""}.`,
  };
}
