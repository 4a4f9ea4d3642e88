// Lesson 11's GPT in plain JavaScript: the logits after a text. `TrainedGPT` of grader/models/gpt.py is its pattern.

import { unpack } from "../../grader/views/numbers.js";

const BASE = 10000; // of the rotary positions
const EPSILON = 1e-5; // of the norms

/** The sizes, and all weights by name, from what `Sampler.kept` sends: matrices as whole numbers of 8 bits, to be
 * multiplied by a number for each row, and vectors as they are. */
export function gptOf({ sizes, layout, numbers, rounded_layout: matrices, rounded }) {
  const plain = unpack(layout, numbers);
  const weights = Object.fromEntries(Object.entries(plain).map(([name, { values }]) => [name, values]));
  let at = 0;
  for (const [name, rows, columns] of matrices) {
    const factors = plain[name].values;
    const whole = new Int8Array(rounded.buffer, rounded.byteOffset + at, rows * columns);
    const matrix = new Float64Array(whole.length);
    for (let place = 0; place < whole.length; place += 1) {
      matrix[place] = whole[place] * factors[Math.floor(place / columns)];
    }
    weights[name] = matrix;
    at += rows * columns;
  }
  return { sizes, weights };
}

/** The logits after the last of some ids. */
export function logitsAfter({ sizes, weights }, ids) {
  const embedding = weights["token_embedding.weight"] ?? weights["head.weight"];
  const width = weights["norm.weight"].length;
  const x = new Float64Array(ids.length * width);
  ids.forEach((id, position) => {
    x.set(embedding.subarray(id * width, (id + 1) * width), position * width);
  });
  for (let layer = 0; layer < sizes.num_layers; layer += 1) {
    const named = (name) => `blocks.${layer}.${name}`;
    const normed = norm(x, weights, named("norm1"));
    add(x, attention(normed, weights, named("attention"), { width, heads: sizes.num_heads }));
    const hidden = linear(norm(x, weights, named("norm2")), weights, named("feed_forward.linear1"), width);
    const rectified = hidden.map((value) => Math.max(value, 0));
    add(x, linear(rectified, weights, named("feed_forward.linear2"), rectified.length / ids.length));
  }
  return linear(norm(x.slice(-width), weights, "norm"), weights, "head", width);
}

function add(x, other) {
  other.forEach((value, at) => {
    x[at] += value;
  });
}

function norm(x, weights, name) {
  const [scale, shift] = [weights[`${name}.weight`], weights[`${name}.bias`]];
  const width = scale.length;
  const result = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    const row = x.subarray(start, start + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const divisor = Math.sqrt(variance + EPSILON);
    for (let at = 0; at < width; at += 1) {
      result[start + at] = ((row[at] - mean) / divisor) * scale[at] + shift[at];
    }
  }
  return result;
}

/** x (T, E) times the transposed weight (F, E), plus the bias, if there is one: (T, F). Four rows of x at a time share
 * what is read of the weight: most of the time goes here. */
function linear(x, weights, name, columns) {
  const weight = weights[`${name}.weight`];
  const bias = weights[`${name}.bias`];
  const [rows, width] = [x.length / columns, weight.length / columns];
  const result = new Float64Array(rows * width);
  for (let to = 0; to < width; to += 1) {
    const from = to * columns;
    const start = bias ? bias[to] : 0;
    let row = 0;
    for (; row + 4 <= rows; row += 4) {
      const first = row * columns;
      let a = start;
      let b = start;
      let c = start;
      let d = start;
      for (let at = 0; at < columns; at += 1) {
        const factor = weight[from + at];
        a += x[first + at] * factor;
        b += x[first + columns + at] * factor;
        c += x[first + 2 * columns + at] * factor;
        d += x[first + 3 * columns + at] * factor;
      }
      const place = row * width + to;
      result[place] = a;
      result[place + width] = b;
      result[place + 2 * width] = c;
      result[place + 3 * width] = d;
    }
    for (; row < rows; row += 1) {
      result[row * width + to] = start + dot(x, row * columns, weight, from, columns);
    }
  }
  return result;
}

/** The dot product of so many numbers of x and of y, from a place in each. */
function dot(x, xAt, y, yAt, count) {
  let sum = 0;
  for (let at = 0; at < count; at += 1) {
    sum += x[xAt + at] * y[yAt + at];
  }
  return sum;
}

/** Causal, with rotary positions. */
function attention(x, weights, name, { width, heads }) {
  const [query, key, value] = ["q", "k", "v"].map((part) => linear(x, weights, `${name}.${part}_proj`, width));
  const size = width / heads;
  rotate(query, width, size);
  rotate(key, width, size);
  const result = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    for (let from = 0; from < width; from += size) {
      attend(query, key, value, result, { at: start + from, first: from, width, size });
    }
  }
  return linear(result, weights, `${name}.out_proj`, width);
}

/** The output of one query and one head, written to its place `at`; the keys that it sees lie from `first` on. */
function attend(query, key, value, result, { at, first, width, size }) {
  const weights = new Float64Array((at - first) / width + 1);
  for (let seen = 0; seen < weights.length; seen += 1) {
    weights[seen] = dot(query, at, key, first + seen * width, size) / Math.sqrt(size);
  }
  const largest = weights.reduce((most, score) => Math.max(most, score));
  let total = 0;
  for (let seen = 0; seen < weights.length; seen += 1) {
    weights[seen] = Math.exp(weights[seen] - largest);
    total += weights[seen];
  }
  for (let column = 0; column < size; column += 1) {
    let sum = 0;
    for (let seen = 0; seen < weights.length; seen += 1) {
      sum += weights[seen] * value[first + seen * width + column];
    }
    result[at + column] = sum / total;
  }
}

/** Turns each pair of columns of each head by an angle that grows with the position. */
function rotate(x, width, size) {
  for (let at = 0; at < x.length; at += 2) {
    const angle = Math.floor(at / width) * BASE ** (-((at % width) % size) / size);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const [a, b] = [x[at], x[at + 1]];
    x[at] = a * cos - b * sin;
    x[at + 1] = a * sin + b * cos;
  }
}
