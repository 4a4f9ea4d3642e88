// What the browser computes and says: reads views' states with what is chosen, writes their numbers and sentences.

import { readFileSync } from "node:fs";
import { unstored } from "../../website/host.js";

const cases = JSON.parse(readFileSync(0, "utf-8"));
const answers = cases.map(async ({ file, traits, choices }) => {
  const { numbersOf, inWords } = await import(`../../grader/views/${file}`);
  const state = { ...unstored(traits), ...choices };
  const model = { get: (name) => state[name] };
  const numbers = numbersOf(model);
  return { numbers, sentence: inWords(model, numbers) };
});
// JSON has no NaN and no Infinity.
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value, String) : value);
process.stdout.write(JSON.stringify(await Promise.all(answers), plain));
