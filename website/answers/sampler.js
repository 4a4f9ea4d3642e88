// What the sampler's Python side answers: the logits after a text, and the summary.

import { fixed, unpack } from "../../grader/views/numbers.js";
import { distributions, ranked, wordsOf } from "../../grader/views/sampler_numbers.js";
import { say } from "../../grader/views/say.js";
import { gptOf, logitsAfter } from "./gpt.js";
import { general, isWhole } from "./python.js";

const FEW = 3; // words that the summary names

export function answer(state, changed) {
  const { text, words, temperature, top_k: topK, top_p: topP, kept } = state;
  const ids = wordsOf(text).map((word) => words.indexOf(word));
  const isRead = ids.length > 0 && !ids.includes(-1);
  if (!(isRead && temperature >= 0 && isWhole(topK, 1) && topP >= 0 && topP <= 1)) {
    return {};
  }
  if (!changed.includes("text")) {
    return { summary: inWords(state, unpack(state.logits_layout, state.logits).logits.values) };
  }
  if (!kept.sizes) {
    return {}; // a model of another kind, which only a kernel can run
  }
  const gpt = gptOf(kept);
  const logits = Float32Array.from(logitsAfter(gpt, ids.slice(-kept.sizes.max_length)));
  return { logits: new DataView(logits.buffer), read: text, summary: inWords({ ...state, read: text }, logits) };
}

function inWords({ read, words, temperature, top_k: topK, top_p: topP }, logits) {
  const { final } = distributions(logits, { temperature, topK, topP });
  const stay = final.filter((probability) => probability > 0).length;
  const named = ranked(final)
    .slice(0, Math.min(FEW, stay))
    .map((at) => `"${visible(words[at])}" ${fixed(100 * final[at], 0)} %`);
  const settings = say("temperature {temperature}, top-k {top_k}, top-p {top_p}", {
    temperature: general(temperature),
    top_k: topK >= words.length ? say("all") : topK,
    top_p: topP >= 1 ? say("all") : general(topP),
  });
  return say('Sampler after "{after}", {settings}: {who}, {words}.', {
    after: visible([...read].slice(-30).join("")),
    settings,
    who: stay === 1 ? say("1 word stays") : say("{count} words stay", { count: stay }),
    words: named.join(", "),
  });
}

function visible(text) {
  return text.replaceAll("\n", "↵");
}
