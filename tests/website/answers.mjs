// Runs the answers of `website/answers/` on walks that test_answers.py has made in Python. Reads JSON, writes JSON.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const reviver = (_, value) => {
  if (typeof value?.base64 !== "string") {
    return value;
  }
  // Not at the beginning of its buffer, as bytes that come with a message.
  const bytes = Buffer.concat([Buffer.alloc(1), Buffer.from(value.base64, "base64")]);
  return new DataView(new Uint8Array(bytes).buffer, 1);
};
const replacer = (_, value) => {
  if (!(value instanceof DataView)) {
    return value;
  }
  return { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
};

const walks = JSON.parse(readFileSync(0, "utf-8"), reviver);
const told = [];
for (const { module, start, moves } of walks) {
  const { answer } = await import(pathToFileURL(module));
  let state = start;
  const steps = moves.map(({ set, refused }) => {
    const answered = answer({ ...state, ...set }, Object.keys(set));
    state = refused ? state : { ...state, ...set, ...answered };
    return answered;
  });
  told.push(steps);
}
process.stdout.write(JSON.stringify(told, replacer));
