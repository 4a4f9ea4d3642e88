// The numbers of a training's curves: scales, ticks and points, and losses as text.

import { say } from "./say.js";

/** The power of ten at or below the smallest loss, and at or above the largest, as exponents. */
export function decades(losses) {
  const finite = [...losses].filter((loss) => Number.isFinite(loss) && loss > 0);
  if (finite.length === 0) {
    return [-1, 1];
  }
  const low = Math.floor(Math.log10(Math.min(...finite)));
  const high = Math.ceil(Math.log10(Math.max(...finite)));
  return [Math.min(low, high - 1), high];
}

/** The place of a value between two ends, cut to 0 to 1. */
export function between(value, [low, high]) {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

/** A loss on a scale of decades, as a share of the height. A loss of 0 is at the bottom. */
export function lossShare(loss, ends) {
  return Number.isFinite(loss) && loss > 0 ? between(Math.log10(loss), ends) : loss === 0 ? 0 : 1;
}

/** A power of ten as people write it: 100, 0.01. */
export function powerOfTen(exponent) {
  return exponent >= 0 ? String(10 ** exponent) : (10 ** exponent).toFixed(-exponent);
}

/** At most `most` of `count` rows, evenly chosen, and always the last one. */
export function chosenRows(count, most) {
  const interval = Math.max(1, Math.ceil(count / most));
  const rows = Array.from({ length: Math.floor(count / interval) }, (_, at) => (at + 1) * interval - 1);
  if (count > 0 && rows.at(-1) !== count - 1) {
    rows.push(count - 1);
  }
  return rows;
}

/** A loss in two digits, as the summary has it: 2.6, 0.0032. */
export function lossInDigits(loss) {
  return Number.isFinite(loss) ? String(Number(loss.toPrecision(2))) : say("not a number");
}

/** What was written whenever it became another, as [step, text]: the first, and the last ones. */
export function changes(written, most = 9) {
  const found = written.filter(([, text], at) => at === 0 || text !== written[at - 1][1]);
  return found.length <= most ? found : [found[0], ...found.slice(1 - most)];
}

/** How far a training is. On a page nothing is trained, so an empty monitor says where there is more to see. */
export function stepsDone(done, total, isOnPage) {
  return isOnPage && done === 0
    ? say("0 of {total} steps. The lesson shows the monitor again below, after training.", { total })
    : say("{done} of {total} steps", { done, total });
}
