// The head splitter's tables: a tensor as tables side by side, and a row of numbers with their places in memory.

import { make } from "./frame.js";
import { blocks, label, onAxis } from "./head_steps.js";
import { say } from "./say.js";

/**
 * A tensor as one table, or one for each entry of its first axis. `right` has the numbers that it should read,
 * in order; `cell` makes the cell of an entry.
 */
export function tensorTables(tensor, right, cell) {
  const { axes, shape, strides, reads } = tensor;
  const values = { axes: [...axes].join(", "), shape: shape.join(", "), strides: strides.join(", ") };
  const facts = tensor.contiguous
    ? say("({axes}) = ({shape}), strides ({strides}), contiguous", values)
    : say("({axes}) = ({shape}), strides ({strides}), not contiguous", values);
  const misplaced = reads.filter((number, at) => number !== right[at]).length;
  const verdict =
    reads === right
      ? ""
      : say("{count} of {total} numbers in the wrong place", { count: misplaced, total: reads.length });
  const tables = Array.from({ length: blocks(shape).count }, (_, at) => blockTable(tensor, at, cell));
  return make(
    "div",
    { class: reads === right ? "" : "att-short-cut" },
    make("b", { text: tensor.name }),
    make("div", { class: "att-caption", text: facts }),
    make("div", { class: "att-blocks" }, ...tables),
    make("div", { class: "att-found", text: verdict }),
  );
}

function blockTable({ name, axes, shape }, block, cell) {
  const { rows, columns } = blocks(shape);
  const caption = axes.length === 3 ? onAxis(axes[0], block) : say("all tokens");
  const headings = Array.from({ length: columns }, (_, at) => make("th", { scope: "col", text: String(at) }));
  const lines = Array.from({ length: rows }, (_, row) => {
    const cells = headings.map((_, column) => cell((block * rows + row) * columns + column));
    return make("tr", {}, make("th", { scope: "row", text: onAxis(axes.at(-2), row) }), ...cells);
  });
  return make(
    "table",
    { role: "grid", "aria-label": `${name}, ${caption}` },
    make("caption", { text: caption }),
    make("thead", {}, make("tr", {}, make("td"), ...headings)),
    make("tbody", {}, ...lines),
  );
}

/** Numbers in a row, each above its place in `memory`. `paint` colours an element for its number. */
export function strip(name, numbers, memory, paint) {
  const items = numbers.map((number) => {
    const place = make(
      "small",
      {},
      make("span", { class: "att-unseen", text: ` ${say("place")} ` }),
      memory.indexOf(number),
    );
    const item = make("li", {}, make("b", { text: label(number) }), place);
    paint(item, number);
    return item;
  });
  return make("ol", { class: "att-strip", "aria-label": name }, ...items);
}
