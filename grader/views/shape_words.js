// Shapes and verdicts of the nineteen steps in words.

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
    return `Your model raises ${step.error}.`;
  }
  const why = step.verdict === "not seen" ? ", because this step happens inside a function or under another name" : "";
  return step.verdict ? `Your model here: ${step.verdict}${why}.` : "";
}

/** Names and shapes in a row. */
export function shapesInWords(pieces) {
  return pieces.map((piece) => `${piece.name} ${piece.shape}`).join(", ");
}

/** A step as it is read out. */
export function inWords(at, steps) {
  const step = steps[at - 1];
  const into = step.into.length > 0 ? ` In: ${shapesInWords(step.into)}.` : "";
  const wrong = step.out.filter((piece) => piece.mine && !piece.agrees);
  const yours = wrong.map((piece) => ` Yours: ${piece.name} ${piece.mine}.`).join("");
  const verdict = step.verdict ? ` Your model: ${step.verdict}.${yours}` : "";
  return `Step ${at} of ${steps.length}, ${step.title}.${into} Out: ${shapesInWords(step.out)}.${verdict}`;
}
