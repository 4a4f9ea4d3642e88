// From logits to a distribution, and from there to a word. Nothing here needs a page or a kernel.

import { normalised, softmax } from "./numbers.js";
import { say } from "./say.js";

const WORD = /[\p{L}\p{N}_']+|[^\p{L}\p{N}_\s]|\n/gu;

/** The words and marks of a text, as grader/models/gpt.py has them; the end of a line is one too. */
export function wordsOf(text) {
  return text.match(WORD) ?? [];
}

/** The text of some words and marks. */
export function joined(words) {
  return words.reduce((text, word) => {
    const blank = text !== "" && !".,;:!?”)\n".includes(word) && !"“(\n".includes(text.at(-1));
    return text + (blank ? ` ${word}` : word);
  }, "");
}

/** The places of all probabilities, from the largest to the smallest; of equal ones the first comes first. */
export function ranked(probabilities) {
  return Array.from(probabilities, (_, at) => at).sort((one, other) => probabilities[other] - probabilities[one]);
}

/** The `count` largest probabilities, normalised; the others become 0. */
export function topK(probabilities, count) {
  return keep(probabilities, ranked(probabilities).slice(0, Math.max(1, count)));
}

/** The fewest probabilities that reach `share` together, at least one, normalised; the others become 0. */
export function topP(probabilities, share) {
  let reached = 0;
  const kept = ranked(probabilities).filter((at, rank) => {
    const needed = rank === 0 || reached < share - 1e-9;
    reached += probabilities[at];
    return needed;
  });
  return keep(probabilities, kept);
}

/** The distributions after each step: `plain` is softmax alone, `final` what is drawn from. */
export function distributions(logits, settings) {
  const tempered = softmax(logits, settings.temperature);
  const afterK = topK(tempered, settings.topK);
  return { plain: softmax(logits), tempered, afterK, final: topP(afterK, settings.topP) };
}

/** The place that a number from 0 to 1 draws: each has its share of that line. */
export function drawn(probabilities, number) {
  let reached = 0;
  const found = probabilities.findIndex((probability) => {
    reached += probability;
    return number < reached;
  });
  return found >= 0 ? found : ranked(probabilities)[0];
}

/** A word as it is shown: the end of a line has a sign. */
export function shown(word) {
  return word === "\n" ? "↵" : word;
}

/** A word as it is said. */
export function said(word) {
  const names = {
    "\n": say("end of the line"),
    ".": say("full stop"),
    ",": say("comma"),
    "?": say("question mark"),
    "!": say("exclamation mark"),
  };
  const marks = { ":": say("colon"), "“": say("opening quotation mark"), "”": say("closing quotation mark") };
  return names[word] ?? marks[word] ?? word;
}

/** A probability as a percentage: 31 %, 0.4 %, under 0.1 %, 0 %. */
export function percent(probability) {
  if (probability === 0) {
    return "0 %";
  }
  if (probability < 0.001) {
    return say("under 0.1 %");
  }
  return `${probability < 0.0995 ? (100 * probability).toFixed(1) : Math.round(100 * probability)} %`;
}

function keep(probabilities, places) {
  const kept = new Set(places);
  return normalised(probabilities.map((probability, at) => (kept.has(at) ? probability : 0)));
}
