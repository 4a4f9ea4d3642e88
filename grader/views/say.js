// Sentences of a view: English in the source, in the learner's language where `WORDS`, which Python or the page puts in
// front of the module, has the template. Values have names: say("Step {at} of {count}.", { at: 2, count: 7 }). Python's
// `grader.sentences.say` is the same, and a sentence of both has one template.

const PLACEHOLDER = /\{(\w+)\}/g;

/** A sentence with its values, each a text, a number, or made by `say` itself. */
export function say(template, values = {}, words = globalThis.WORDS ?? {}) {
  const sentence = words[template] ?? template;
  return sentence.replace(PLACEHOLDER, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Names in a row: "a, b and c" in English, with commas alone where there are words of another language. */
export function several(names, words = globalThis.WORDS) {
  const first = names.slice(0, -1).join(", ");
  return first ? `${first}${words ? ", " : " and "}${names.at(-1)}` : (names[0] ?? "");
}

/** Sentences one after the other; empty ones are left out. */
export function together(...sentences) {
  return sentences.filter(Boolean).join(" ");
}
