// What the scaling explorer's Python side answers: the summary.

import { fixed } from "./python.js";

export function answer({ d_k: width, widths, kept }) {
  const at = widths.indexOf(width);
  if (at < 0) {
    return {};
  }
  const [raw, scaled, rawSlope, scaledSlope] = kept.measures[at].map((measure) => fixed(measure, 2));
  return {
    summary:
      `Scaling explorer, d_k = ${width} of ${widths[0]} to ${widths.at(-1)}, ${kept.counts}: ` +
      `entropy ${raw} unscaled, ${scaled} scaled; slope ${rawSlope} and ${scaledSlope}.`,
  };
}
