// What the head explorer's Python side answers: the summary. A kind with fewer layers or heads shows its last ones.

import { fixed } from "../../grader/views/numbers.js";
import { isWhole } from "./python.js";

export function answer({ kinds, measures, kind, layer, head }) {
  const about = kinds.find(({ name }) => name === kind);
  if (!about || !isWhole(layer, -Infinity) || !isWhole(head, -Infinity)) {
    return {};
  }
  const { layers, heads, queries, keys } = about;
  const within = (at, count) => Math.max(0, Math.min(at, count - 1));
  const chosen = { layer: within(layer, layers), head: within(head, heads) };
  const { pattern, share, entropy } = measures[`${kind}/${chosen.layer}/${chosen.head}`];
  const place = `layer ${chosen.layer} of ${layers}, head ${chosen.head} of ${heads}`;
  return {
    ...chosen,
    summary:
      `Head explorer, ${kind}, ${place}, ${queries.length} by ${keys.length}: ` +
      `most like "${pattern}" (${fixed(share, 2)} of the weight); entropy ${fixed(entropy, 2)}.`,
  };
}
