// Positional encodings as a heatmap, the selected column as a wave, the selected row's products by offset.

import { Choice, colourScale, make, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { entry, numbered, range, written } from "./numbers.js";
import {
  inWords,
  KINDS,
  lineOfColumn,
  linesByOffset,
  numbersOf,
  originOf,
  path,
  productsInWords,
} from "./position_numbers.js";
import { pieces, say } from "./say.js";
import { Picture, rendering } from "./view.js";

const PLOT = { width: 330, height: 150 };
const MARGIN = { left: 44, top: 8, right: 12, bottom: 24 };
const STORY = say(
  "Rows are positions, and columns are the components of an encoding. Arrow keys or taps choose a cell. The upper curve is the selected column. The lower one shows the products of the selected position by offset, and its thin lines belong to all other positions.",
);

class PositionExplorer extends Picture {
  constructor(model, element) {
    super(say("Position explorer"), model, element);
    this.#build();
    this.#receive();
    const chosen = () => this.#receive();
    this.follow({ "change:kind": chosen, "change:d_model": chosen, "change:base": chosen });
  }

  get kind() {
    return this.model.get("kind");
  }

  #build() {
    this.kinds = new Choice(say("Positions"), Object.entries(KINDS), (kind) => this.choose({ kind }));
    const widths = this.model.get("widths").map((width) => [width, String(width)]);
    this.widths = new Choice(say("Width"), widths, (width) => this.choose({ d_model: width }));
    this.map = new Heatmap((to, how) => this.select(to, how));
    this.wave = make("div", { class: "att-plot", "data-plot": "column" });
    this.curve = make("div", { class: "att-plot", "data-plot": "products" });
    const plots = make("div", { class: "att-plots" }, this.wave, this.curve);
    this.figure.classList.add("att-positions");
    this.figure.append(this.map.element, plots);
    this.lay(
      make("div", { class: "att-choices" }, this.kinds.element, this.widths.element, this.#buildBase()),
      make("p", { class: "att-story", text: STORY }),
      this.figure,
      this.tables,
      this.legend,
      this.sum,
      this.foot,
    );
  }

  #buildBase() {
    const bases = this.model.get("bases");
    const oninput = () => this.choose({ base: bases[Number(this.slider.value)] });
    this.slider = make("input", { type: "range", min: 0, max: bases.length - 1, step: 1, oninput });
    this.base = make("output", { class: "att-base" });
    return make(
      "div",
      { class: "att-slide" },
      make("label", {}, ...pieces(say("Base {slider}"), { slider: this.slider })),
      this.base,
    );
  }

  #receive() {
    Object.assign(this, numbersOf(this.model));
    const base = this.model.get("base");
    this.selected.column = Math.min(this.selected.column, this.rows.columns - 1);
    this.kinds.show(this.kind);
    this.widths.show(this.model.get("d_model"));
    this.slider.value = this.model.get("bases").indexOf(base);
    this.slider.disabled = this.kind === "random table";
    this.slider.setAttribute("aria-valuetext", say("base {base}", { base }));
    this.base.textContent = String(base);
    this.announcer.say(this.sentence());
    this.schedule();
  }

  words() {
    return this.#lines().join(". ");
  }

  sentence() {
    return inWords(this.model, this);
  }

  /** The selected number, and the products of its position. */
  #lines() {
    const { row, column } = this.selected;
    const origin = originOf(this.kind, this.model.get("base"), this.rows.columns, this.selected);
    const number = written(entry(this.rows, row, column));
    const values = { row, column, number, origin };
    return [
      say("Position {row}, column {column}: {number}, {origin}", values),
      productsInWords(this.kind, this.products, row),
    ];
  }

  writeTexts() {
    const [number, products] = this.#lines();
    this.sum.replaceChildren(...sumParts(number, [products]));
    this.legend.replaceChildren(...colourScale(say("the numbers"), this.#ends()));
  }

  #ends() {
    return this.kind === "sinusoidal" ? [-1, 1] : range(this.rows);
  }

  drawFigure(_shown, style) {
    const { row, column } = this.selected;
    const [rowLabels, columnLabels] = [numbered(this.rows.rows), numbered(this.rows.columns)];
    const plots = this.figure.clientWidth < 640 ? 10 : PLOT.width + MARGIN.left + MARGIN.right + 40; // beside it, or below
    const room = this.figure.clientWidth - plots - Heatmap.gutter(rowLabels, 24, style);
    const cell = Math.min(cellSize(room, Math.max(...this.model.get("widths"))), 15); // the same cell for every width
    const [low, high] = this.#ends();
    const marks = { selected: this.selected, row, column };
    this.map.draw({ matrix: this.rows, low, high, cell, rowLabels, columnLabels, ...marks }, style);
    const name = say(
      "Encoding, {positions} positions, {columns} columns. Arrow keys move from number to number, and Tab leaves.",
      { positions: this.rows.rows, columns: this.rows.columns },
    );
    this.map.element.setAttribute("aria-label", name);
    this.#drawWave([low, high]);
    this.#drawCurve();
  }

  #drawWave(ys) {
    const { row, column } = this.selected;
    const line = lineOfColumn(this.rows, column);
    const axes = { xs: [0, this.rows.rows - 1], ys, below: say("position") };
    this.wave.replaceChildren(
      make("span", { class: "att-caption", text: say("Column {column}, from position to position", { column }) }),
      plot(axes, [line], 0, line[row]),
    );
  }

  #drawCurve() {
    const { row } = this.selected;
    const lines = linesByOffset(this.products);
    const far = this.products.columns - 1;
    const axes = { xs: [-far, far], ys: range(this.products), below: say("offset: other position − this one") };
    this.curve.replaceChildren(
      make("span", { class: "att-caption", text: say("Products of position {row} with all positions", { row }) }),
      plot(axes, lines, row, lines[row][row]),
    );
  }

  tablesOf() {
    const places = numbered(this.rows.rows);
    return [
      table(say("Encoding"), this.rows, places, numbered(this.rows.columns)),
      table(say("Products"), this.products, places, places),
    ];
  }
}

/** A new SVG element: `make` makes HTML only. */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Lines over two axes, line `strong` thick, the others thin, and a dot. Hidden from screen readers: `sum` has it in words. */
function plot({ xs, ys, below }, lines, strong, dot) {
  const room = (ys[1] - ys[0]) * 0.04;
  const box = { ...PLOT, xs, ys: [ys[0] - room, ys[1] + room] };
  const line = (name, points) => draw("path", { class: name, d: path(points, box) });
  const [cx, cy] = path([dot], box).slice(1).split(" ");
  const ends = xs.map((x) => [x, 0]);
  const inside = [
    draw("path", { class: "att-axis", d: `M0 0V${PLOT.height}H${PLOT.width}` }),
    ...(ys[0] < 0 && ys[1] > 0 ? [line("att-zero", ends)] : []),
    ...lines.filter((_, index) => index !== strong).map((points) => line("att-thin", points)),
    line("att-strong", lines[strong]),
    draw("circle", { class: "att-dot", cx, cy, r: 4 }),
    ...axisLabels(xs, ys, below),
  ];
  const width = PLOT.width + MARGIN.left + MARGIN.right;
  const height = PLOT.height + MARGIN.top + MARGIN.bottom;
  const moved = { transform: `translate(${MARGIN.left} ${MARGIN.top})` };
  const attributes = { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" };
  return draw("svg", attributes, draw("g", moved, ...inside));
}

function axisLabels(xs, ys, below) {
  const { width, height } = PLOT;
  const label = (text, x, y, anchor) => draw("text", { x, y, "text-anchor": anchor }, text);
  return [
    label(written(ys[1]), -5, 9, "end"),
    label(written(ys[0]), -5, height, "end"),
    label(written(xs[0]), 0, height + 16, "middle"),
    label(written(xs[1]), width, height + 16, "middle"),
    label(below, width / 2, height + 16, "middle"),
  ];
}

export default rendering(PositionExplorer);
