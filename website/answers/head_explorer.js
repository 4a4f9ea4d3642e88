// What the head explorer's Python side answers: the summary. A kind with fewer layers or heads shows its last ones.

import { fixed } from "../../grader/views/numbers.js";
import { say } from "../../grader/views/say.js";
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
  const now = {
    kind: say(kind),
    ...chosen,
    layers,
    heads,
    queries: queries.length,
    keys: keys.length,
    pattern: say(pattern),
    share: fixed(share, 2),
    entropy: fixed(entropy, 2),
  };
  const summary = say(
    'Head explorer, {kind}, layer {layer} of {layers}, head {head} of {heads}, {queries} by {keys}: most like "{pattern}" ({share} of the weight); entropy {entropy}.',
    now,
  );
  return { ...chosen, summary };
}
