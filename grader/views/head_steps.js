// The seven steps of the head splitter, and the place of a number in the tensor, in the picture and in memory.

import { say, together } from "./say.js";

/** What each step does, in order, the name of its tensor and its axes, by the syllabus's letters. */
export const STEPS = [
  {
    short: "x",
    name: "x",
    axes: "TE",
    story: say(
      "Each row is a token. The tens digit of a number is its token, and the units digit its column. Follow one number on its way.",
    ),
  },
  {
    short: "view",
    name: "cut",
    axes: "THD",
    story: say(
      "Each row is cut into its heads. No number moves in memory, since view only notes a new shape and new strides.",
    ),
  },
  {
    short: "transpose",
    name: "swapped",
    axes: "HTD",
    story: say(
      "Tokens and heads swap places, so that each head has a table of all tokens. No number moves in memory, but the strides swap, so reading the tensor now jumps.",
    ),
  },
  {
    short: "contiguous",
    name: "worked",
    axes: "HTD",
    story: say(
      "What the heads compute is a new tensor, laid out head by head. contiguous() makes that layout by copying the numbers, so memory now has them in reading order.",
    ),
  },
  {
    short: "transpose",
    name: "back",
    axes: "THD",
    story: say(
      "On the way back, tokens and heads swap once more, so that a token's pieces are together. Again memory stays as it is.",
    ),
  },
  {
    short: "contiguous",
    name: "copied",
    axes: "THD",
    story: say("The numbers are copied once more, token by token and, within each token, head by head."),
  },
  {
    short: "view",
    name: "joined",
    axes: "TE",
    story: say("The last two axes are joined, since memory already has them one after the other."),
  },
];

const NAMES_OF_AXES = {
  T: (at) => say("token {at}", { at }),
  H: (at) => say("head {at}", { at }),
};

/** The name of a row or a block along an axis: "token 1". */
export function onAxis(axis, at) {
  return NAMES_OF_AXES[axis](at);
}

const REFUSAL = "RuntimeError: view size is not compatible with input tensor's size and stride";

/** The tensor of every step, from x to x again, as torch makes it. */
export function numbersOf(model) {
  const [seqLen, heads, width] = model.get("sizes");
  const columns = heads * width;
  const numbers = Array.from({ length: seqLen * columns }, (_, at) => 10 * Math.floor(at / columns) + (at % columns));
  const x = viewed(numbers, [seqLen, columns]);
  const cut = viewed(x.memory, [seqLen, heads, width]);
  const swapped = swap(cut);
  const worked = contiguous(swapped);
  const back = swap(worked);
  const copied = contiguous(back);
  const tensors = [x, cut, swapped, worked, back, copied, viewed(copied.memory, [seqLen, columns])];
  const [inHeads, joined] = [`view(${heads}, ${seqLen}, ${width})`, `view(${seqLen}, ${columns})`];
  const codes = ["", `x.view(${seqLen}, ${heads}, ${width})`, "cut.transpose(0, 1)", "swapped.contiguous()"];
  codes.push("worked.transpose(0, 1)", "back.contiguous()", `copied.${joined}`);
  // The short cuts leave out the transpose: the right shape, the wrong order.
  const wrong = {
    swapped: { ...described(viewed(x.memory, [heads, seqLen, width])), code: `x.${inHeads}` },
    joined: { ...described(viewed(worked.memory, [seqLen, columns])), code: `worked.${joined}` },
  };
  // The axes H and D can be joined if they lie in memory without a gap.
  const isJoinable = [seqLen, heads, width].includes(1);
  const refused = { back: { code: `back.${joined}`, error: isJoinable ? "" : REFUSAL } };
  const stages = tensors.map((tensor, at) => {
    const { name, axes } = STEPS[at];
    const copied = at > 0 && tensor.memory !== tensors[at - 1].memory;
    const made = { name, axes, code: codes[at], copied };
    return { ...described(tensor), ...made, wrong: wrong[name] ?? null, refused: refused[name] ?? null };
  });
  return { stages };
}

/** Memory that is read place by place. */
function viewed(memory, shape) {
  return { memory, shape, strides: stridesOf(shape) };
}

function stridesOf(shape) {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((all, size) => all * size, 1));
}

/** The first two axes transposed. */
function swap({ memory, shape: [first, second, ...shape], strides: [one, two, ...strides] }) {
  return { memory, shape: [second, first, ...shape], strides: [two, one, ...strides] };
}

/** An axis of size 1 may have any stride. */
function isContiguous({ shape, strides }) {
  const plain = stridesOf(shape);
  return strides.every((stride, axis) => shape[axis] === 1 || stride === plain[axis]);
}

function contiguous(tensor) {
  return isContiguous(tensor) ? tensor : viewed(readsOf(tensor), tensor.shape);
}

function readsOf({ memory, shape, strides }) {
  return memory.map((_, at) => memory[placeOf(indexOf(at, shape), strides)]);
}

function described(tensor) {
  return { ...tensor, contiguous: isContiguous(tensor), reads: readsOf(tensor) };
}

/** The view in a sentence. */
export function inWords(model, { stages }) {
  const [seqLen, heads, width] = model.get("sizes");
  const step = model.get("step");
  const { name, shape, strides, contiguous: isPlain, reads, wrong } = stages[step - 1];
  const now = {
    tokens: seqLen === 1 ? say("1 token") : say("{count} tokens", { count: seqLen }),
    heads: heads === 1 ? say("1 head") : say("{count} heads", { count: heads }),
    columns: width === 1 ? say("1 column") : say("{count} columns", { count: width }),
    step,
    steps: STEPS.length,
    name,
    shape: `(${shape.join(", ")})`,
    strides: `(${strides.join(", ")})`,
  };
  const text = isPlain
    ? say(
        "Head splitter, {tokens}, {heads} of {columns}, step {step} of {steps}, {name}: shape {shape}, strides {strides}, contiguous.",
        now,
      )
    : say(
        "Head splitter, {tokens}, {heads} of {columns}, step {step} of {steps}, {name}: shape {shape}, strides {strides}, not contiguous.",
        now,
      );
  if (!wrong) {
    return text;
  }
  const misplaced = wrong.reads.filter((number, at) => number !== reads[at]).length;
  const values = { code: wrong.code, misplaced, total: reads.length };
  return together(text, say("{code} has {misplaced} of {total} numbers in the wrong place.", values));
}

/** A number in two digits, the token and the column. */
export function label(number) {
  return String(number).padStart(2, "0");
}

/** The index, a number for each axis, of entry `at` in reading order. */
export function indexOf(at, shape) {
  const index = [];
  let rest = at;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

/** The offset in memory of the entry at `index`. */
export function placeOf(index, strides) {
  return index.reduce((sum, place, axis) => sum + place * strides[axis], 0);
}

/** The same as arithmetic: "1·2 + 0·4 + 1·1 = 3". */
export function placeInWords(index, strides) {
  const terms = index.map((place, axis) => `${place}·${strides[axis]}`);
  return `${terms.join(" + ")} = ${placeOf(index, strides)}`;
}

/** A tensor as blocks side by side: how many, and the rows and columns of one. */
export function blocks(shape) {
  const [rows, columns] = shape.slice(-2);
  return { count: shape.length === 3 ? shape[0] : 1, rows, columns };
}

/** The cell of entry `at` in the row of blocks. */
export function cellOf(at, shape) {
  const { rows, columns } = blocks(shape);
  const [row, column] = indexOf(at, shape).slice(-2);
  return { row, column: Math.floor(at / (rows * columns)) * columns + column };
}

/** The entry in a cell: the inverse of `cellOf`. */
export function entryAt({ row, column }, shape) {
  const { rows, columns } = blocks(shape);
  return Math.floor(column / columns) * rows * columns + row * columns + (column % columns);
}

/** The token, the column and the head of a number. */
export function owner(number, headDim) {
  const column = number % 10;
  return { token: Math.floor(number / 10), column, head: Math.floor(column / headDim) };
}

/** The indices of a number through the steps so far: "x[1, 2] → cut[1, 1, 0]". */
export function trail(number, stages) {
  const place = ({ name, reads, shape }) => `${name}[${indexOf(reads.indexOf(number), shape).join(", ")}]`;
  return stages.map(place).join(" → ");
}
