// Sentences of a view: English in the source, in the learner's language where `WORDS` has the template, which Python or
// the page puts in front of the module. Values have names: say("Step {at} of {count}.", { at: 2, count: 7 }). Python's
// `grader.sentences.say` is the same, and a sentence of both has one template.
//
// Every text that somebody reads or hears stands whole in a call of `say`, where it is collected for translation.

const PLACEHOLDER = /\{(\w+)\}/g;
const otherWords = typeof WORDS === "undefined" ? null : WORDS; // by their English templates

/** The code of the language of these words; empty for English. */
export function spoken(words = otherWords) {
  return words?.[""] ?? "";
}

/** A sentence with its values, each a text, a number, or made by `say` itself. Without values its braces stay. What is
 * empty, such as a number's unit that isn't there, stays empty: `words` has the language's code there. */
export function say(template, values = {}, words = otherWords) {
  const sentence = (template && words?.[template]) || template;
  return sentence.replace(PLACEHOLDER, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Names in a row: "a, b and c" in English, with commas alone where there are words of another language. */
export function several(names, words = otherWords) {
  const first = names.slice(0, -1).join(", ");
  return first ? `${first}${words ? ", " : " and "}${names.at(-1)}` : (names[0] ?? "");
}

/** Sentences one after the other; empty ones are left out. */
export function together(...sentences) {
  return sentences.filter(Boolean).join(" ");
}

/** The pieces of a sentence that was said without its values, some of which are elements. */
export function pieces(sentence, values) {
  return sentence.split(PLACEHOLDER).map((piece, at) => (at % 2 ? values[piece] : piece));
}
