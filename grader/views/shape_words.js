// The place of the nineteen steps in the picture; shapes and verdicts in words.

const box = (text, ...steps) => ({ text, steps });

/** The picture's columns. A box with others inside is a frame. */
export const BOXES = [
  {
    name: "source: the encoder reads",
    boxes: [
      box("source ids", 1),
      box("source mask", 3),
      box("embedding", 4),
      box("+ positions", 5),
      {
        text: "every layer: TransformerBlock",
        steps: [15],
        inside: [
          {
            text: "attention",
            steps: [2],
            inside: [
              box("Q, K, V", 6),
              box("heads", 7),
              box("scores", 8),
              box("mask", 9),
              box("softmax", 10),
              box("mix", 11),
              box("join", 12),
            ],
          },
          box("add & norm", 13),
          box("feed-forward, add & norm", 14),
        ],
      },
      box("memory ► 17", 15),
    ],
  },
  {
    name: "target: the decoder writes",
    boxes: [
      box("target ids", 1),
      box("target mask", 3),
      box("embedding", 4),
      box("+ positions", 5),
      {
        text: "every layer: DecoderBlock",
        steps: [18],
        inside: [
          box("attention over the target, add & norm", 16),
          box("TransformerBlock: attention over the memory, feed-forward", 17),
        ],
      },
      box("fc_out: a score for every word", 18),
      box("logits", 19),
    ],
  },
];

/** The sign of a box: the worst of its steps' verdicts. */
export function mark(verdicts) {
  if (verdicts.some((verdict) => verdict === "departs" || verdict === "error")) {
    return " ✗";
  }
  return verdicts.length > 0 && verdicts.every((verdict) => verdict === "as expected") ? " ✓" : "";
}

/** The verdict on the learner's model at a step. */
export function verdictInWords(step) {
  if (step.error) {
    return `Your model raises ${step.error}.`;
  }
  const why = step.verdict === "not seen" ? ": it happens inside a function, or under another name" : "";
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
