// What the answers share: numbers as Python writes them.

import { fixed } from "../../grader/views/numbers.js";

/** Python's `f"{value:g}"`: so many significant digits, without zeros at the end. */
export function general(value, significant = 6) {
  const [digits, exponent] = value
    .toExponential(significant - 1)
    .split("e")
    .map(Number);
  if (exponent >= significant) {
    const whole = Number(fixed(value / 10 ** (exponent + 1 - significant), 0)); // half way, the even digit
    return `${whole / 10 ** (significant - 1)}e+${String(exponent).padStart(2, "0")}`;
  }
  if (value !== 0 && exponent < -4) {
    return `${digits}e-${String(-exponent).padStart(2, "0")}`;
  }
  return String(Number(fixed(value, significant - 1 - exponent)));
}

/** Whether a value is a whole number from `least` to `most`. */
export function isWhole(value, least, most = Infinity) {
  return Number.isInteger(value) && value >= least && value <= most;
}
