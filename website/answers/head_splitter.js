// What the head splitter's Python side answers: the tensor of every step as torch makes it, and the summary.

import { indexOf, placeOf } from "../../grader/views/head_steps.js";
import { isWhole } from "./python.js";

// Each step's tensor and its axes, as in head_splitter.py.
const NAMES = [
  ["x", "TE"],
  ["cut", "THD"],
  ["swapped", "HTD"],
  ["worked", "HTD"],
  ["back", "THD"],
  ["copied", "THD"],
  ["joined", "TE"],
];
const REFUSAL = "RuntimeError: view size is not compatible with input tensor's size and stride";

export function answer(state, changed) {
  const { sizes, step, most } = state;
  const isAllowed = sizes.length === 3 && sizes.every((size, at) => isWhole(size, 1, most[at]));
  if (!(isAllowed && sizes[1] * sizes[2] <= most[3] && isWhole(step, 1, NAMES.length))) {
    return {};
  }
  const stages = changed.includes("sizes") ? stagesOf(...sizes) : state.stages;
  return { ...(changed.includes("sizes") ? { stages } : {}), summary: inWords(sizes, step, stages[step - 1]) };
}

function stagesOf(seqLen, heads, width) {
  const columns = heads * width;
  const numbers = Array.from({ length: seqLen * columns }, (_, at) => 10 * Math.floor(at / columns) + (at % columns));
  const x = { memory: numbers, shape: [seqLen, columns], strides: [columns, 1] };
  const cut = view(x, [seqLen, heads, width]);
  const swapped = swap(cut);
  const worked = contiguous(swapped);
  const back = swap(worked);
  const copied = contiguous(back);
  const tensors = [x, cut, swapped, worked, back, copied, view(copied, [seqLen, columns])];
  const [inHeads, joined] = [`view(${heads}, ${seqLen}, ${width})`, `view(${seqLen}, ${columns})`];
  const codes = ["", `x.view(${seqLen}, ${heads}, ${width})`, "cut.transpose(0, 1)", "swapped.contiguous()"];
  codes.push("worked.transpose(0, 1)", "back.contiguous()", `copied.${joined}`);
  // The short cuts leave out the transpose: the right shape, the wrong order.
  const wrong = {
    swapped: { ...described(view(x, [heads, seqLen, width])), code: `x.${inHeads}` },
    joined: { ...described(view(worked, [seqLen, columns])), code: `worked.${joined}` },
  };
  const refused = { back: { code: `back.${joined}`, error: view(back, [seqLen, columns]) ? "" : REFUSAL } };
  return tensors.map((tensor, at) => {
    const [name, axes] = NAMES[at];
    const copy = at > 0 && tensor.memory !== tensors[at - 1].memory;
    const made = { name, code: codes[at], axes, copied: copy };
    return { ...described(tensor), ...made, wrong: wrong[name] ?? null, refused: refused[name] ?? null };
  });
}

/** The first two axes transposed. */
function swap({ memory, shape: [first, second, ...shape], strides: [one, two, ...strides] }) {
  return { memory, shape: [second, first, ...shape], strides: [two, one, ...strides] };
}

function stridesOf(shape) {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((all, size) => all * size, 1));
}

/** An axis of size 1 may have any stride. */
function isContiguous({ shape, strides }) {
  const plain = stridesOf(shape);
  return strides.every((stride, axis) => shape[axis] === 1 || stride === plain[axis]);
}

function contiguous(tensor) {
  if (isContiguous(tensor)) {
    return tensor;
  }
  return { memory: readsOf(tensor), shape: tensor.shape, strides: stridesOf(tensor.shape) };
}

/** The same memory in another shape; null where torch refuses. The axes are walked from the last to the first: axes that
 * lie in memory without a gap are one chunk, and new axes have to fit into each chunk. */
function view({ memory, shape, strides }, wanted) {
  const found = Array(wanted.length).fill(0);
  let at = wanted.length - 1;
  let base = strides.at(-1);
  let [held, taken] = [1, 1];
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    held *= shape[axis];
    if (axis > 0 && (shape[axis - 1] === 1 || strides[axis - 1] === held * base)) {
      continue;
    }
    for (; at >= 0 && (taken < held || wanted[at] === 1); at -= 1) {
      found[at] = taken * base;
      taken *= wanted[at];
    }
    if (taken !== held) {
      return null;
    }
    base = strides[axis - 1];
    [held, taken] = [1, 1];
  }
  return { memory, shape: wanted, strides: found };
}

function readsOf({ memory, shape, strides }) {
  return memory.map((_, at) => memory[placeOf(indexOf(at, shape), strides)]);
}

function described(tensor) {
  const { shape, strides, memory } = tensor;
  return { shape, strides, contiguous: isContiguous(tensor), reads: readsOf(tensor), memory };
}

function inWords([seqLen, heads, width], step, { name, shape, strides, contiguous: isPlain, reads, wrong }) {
  const text =
    `Head splitter, ${many(seqLen, "token")}, ${many(heads, "head")} of ${many(width, "column")}, ` +
    `step ${step} of ${NAMES.length}, ${name}: shape (${shape.join(", ")}), ` +
    `strides (${strides.join(", ")}), ${isPlain ? "" : "not "}contiguous`;
  if (!wrong) {
    return `${text}.`;
  }
  const misplaced = wrong.reads.filter((number, at) => number !== reads[at]).length;
  return `${text}; ${wrong.code} has ${misplaced} of ${reads.length} numbers in the wrong place.`;
}

function many(count, what) {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
