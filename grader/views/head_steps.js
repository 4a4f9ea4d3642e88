// The seven steps of the head splitter, and the place of a number in the tensor, in the picture and in memory.

/** What each step does, in order; Python sends the tensors. */
export const STEPS = [
  { short: "x", story: "One row a token. The tens tell the token, the ones the column. Follow one number on its way." },
  {
    short: "view",
    story:
      "Each row is cut into its heads. No number moves in memory: view only notes another shape and other strides.",
  },
  {
    short: "transpose",
    story:
      "Tokens and heads swap places, so that each head has a table of all tokens. In memory nothing moves: the strides swap. To read on, the tensor now has to jump.",
  },
  {
    short: "contiguous",
    story:
      "What the heads compute is a new tensor, laid out head by head. contiguous() makes that layout, copying the numbers: now memory holds them in the order of reading.",
  },
  {
    short: "transpose",
    story:
      "On the way back tokens and heads swap once more, so that a token's pieces stand together. Again memory stays as it is.",
  },
  { short: "contiguous", story: "The numbers are copied once more: token by token, and in each token head by head." },
  { short: "view", story: "The last two axes are joined: memory already holds them one after the other." },
];

export const AXES = { T: "token", H: "head", D: "column", E: "column" };

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
  return `${index.map((place, axis) => `${place}·${strides[axis]}`).join(" + ")} = ${placeOf(index, strides)}`;
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
