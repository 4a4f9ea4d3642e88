// Queries read their keys block by block: the block's scores, the state carried on, and the output so far.

import { captioned, make, SIGN_WIDTH, Stepper, sign, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { numbered, range, written } from "./numbers.js";
import {
  arithmeticOf,
  blockEnds,
  distance,
  distanceInWords,
  inWords,
  keysInWords,
  memoryInWords,
  numbersOf,
} from "./online_numbers.js";
import { say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

const TITLES = {
  scores: say("scores"),
  maximum: say("maximum"),
  factor: say("factor"),
  sum: say("sum"),
  output: say("output so far"),
  final: say("final output"),
};
const NARROW = 400; // pixels
const STORY = say(
  "Only the coloured scores exist now. Hatched ones were read and thrown away, and empty ones haven't been computed yet. In the output so far, arrow keys or taps choose a query.",
);

class OnlineSoftmax extends Picture {
  constructor(model, element) {
    super(say("Online softmax"), model, element);
    this.begin({ step: 1, rescaling: true });
    this.matrices = numbersOf(model);
    this.size = model.get("block_size");
    this.queries = numbered(this.matrices.scores.rows, (query) => say("query {query}", { query }));
    this.headings = {
      scores: numbered(this.matrices.scores.columns, (key) => say("key {key}", { key })),
      output: numbered(this.matrices.final.columns),
    };
    this.blocks = this.matrices.states.length;
    this.#build();
    this.#show();
    const rescaled = () => {
      this.matrices = numbersOf(model);
      this.#show();
    };
    this.follow({ "change:step": () => this.#show(), "change:rescaling": rescaled });
  }

  get step() {
    return this.model.get("step");
  }

  get rescaling() {
    return this.model.get("rescaling");
  }

  #build() {
    const names = Array.from({ length: this.blocks }, (_, at) => this.#keys(at + 1));
    this.stepper = new Stepper(names, (step) => this.choose({ step }));
    this.figure.classList.add("att-online");
    this.figure.append(...this.#buildFigure());
    this.memory = make("p", { class: "att-memory" });
    this.lay(
      this.stepper.element,
      this.#buildSwitch(),
      make("p", { class: "att-story", text: STORY }),
      this.figure,
      this.tables,
      this.sum,
      this.memory,
      this.foot,
    );
  }

  #buildSwitch() {
    const onchange = () => this.choose({ rescaling: this.check.checked });
    this.check = make("input", { type: "checkbox", onchange });
    const text = say("Rescale: when the maximum rises, multiply the sums so far by the factor");
    return make("label", { class: "att-switch" }, this.check, text);
  }

  #buildFigure() {
    const select = (to, how) => this.select(to, how);
    this.maps = Object.fromEntries(
      Object.keys(TITLES).map((name) => [name, new Heatmap(name === "output" ? select : null)]),
    );
    const boxes = Object.entries(this.maps).map(([name, map]) => {
      map.element.dataset.matrix = name;
      return captioned(TITLES[name], map.element);
    });
    return [boxes[0], sign(), ...boxes.slice(1, 4), sign(), ...boxes.slice(4)];
  }

  #keys(step) {
    return keysInWords(blockEnds(step, this.size, this.matrices.scores.columns));
  }

  words() {
    return together(...this.#lines());
  }

  sentence() {
    return inWords(this.model, this.matrices);
  }

  #show() {
    this.check.checked = this.rescaling;
    this.stepper.show(this.step);
    const now = { step: this.step, blocks: this.blocks, keys: this.#keys(this.step) };
    this.announcer.say(together(say("Block {step} of {blocks}, {keys}.", now), ...this.#lines()));
    this.schedule();
  }

  /** The query, its arithmetic, and the distance of all outputs from the final ones. */
  #lines() {
    const { step, size, rescaling, matrices } = this;
    const { row } = this.selected;
    const lines = arithmeticOf(matrices, step, size, rescaling, row).map(([name, text]) => `${name}: ${text}.`);
    const away = distance(matrices.states[step - 1].output, matrices.final);
    return [`${this.queries[row]}.`, ...lines, distanceInWords(away)];
  }

  /** The matrices by name, each with the ends of its colour scale and its column labels. */
  prepare() {
    const { matrices, headings } = this;
    const { maximum, factor, sum, output } = matrices.states[this.step - 1];
    const scores = range(matrices.scores);
    const outputs = range(matrices.final, ...matrices.states.map((state) => state.output));
    return {
      scores: { matrix: matrices.scores, ends: scores, columnLabels: headings.scores },
      maximum: { matrix: maximum, ends: scores, columnLabels: [""] },
      factor: { matrix: factor, ends: [0, 1], columnLabels: [""] },
      sum: { matrix: sum, ends: [0, matrices.scores.columns], columnLabels: [""] },
      output: { matrix: output, ends: outputs, columnLabels: headings.output },
      final: { matrix: matrices.final, ends: outputs, columnLabels: headings.output },
    };
  }

  writeTexts() {
    const [where, ...lines] = this.#lines();
    this.sum.replaceChildren(...sumParts(where, lines, { class: "att-line" }));
    this.memory.textContent = memoryInWords(this.matrices, this.step, this.size);
  }

  drawFigure(shown, style) {
    const all = Object.entries(shown);
    const across = all.reduce((sum, [, { matrix }]) => sum + matrix.columns, 0);
    // Only the scores and the selectable output have row labels, and on a phone only numbers.
    const rows = this.figure.clientWidth < NARROW ? numbered(this.queries.length) : this.queries;
    const labels = (name) => (name === "scores" || name === "output" ? rows : rows.map(() => ""));
    const gutters = all.reduce((sum, [name]) => sum + Heatmap.gutter(labels(name), 24, style) + 10, 0);
    const widest = Math.max(...all.map(([, { matrix }]) => matrix.columns));
    const cell = cellSize(this.figure.clientWidth - gutters - 2 * SIGN_WIDTH, across, widest);
    const short = (_row, _column, value) => ({ text: written(value, 2) });
    const look = this.#lookOfScores(short);
    for (const [name, { matrix, ends, columnLabels }] of all) {
      const [low, high] = ends;
      const marks = name === "output" ? { selected: this.selected } : { row: this.selected.row };
      const picture = { matrix, low, high, cell, rowLabels: labels(name), columnLabels, ...marks };
      this.maps[name].draw({ ...picture, look: name === "scores" ? look : short }, style);
    }
    const name = say(
      "Output so far, {rows} rows. Arrow keys choose a query and read out its arithmetic, and Tab leaves.",
      { rows: this.queries.length },
    );
    this.maps.output.element.setAttribute("aria-label", name);
  }

  /** Earlier blocks' scores are hatched, later ones are empty. */
  #lookOfScores(otherwise) {
    const [first, end] = blockEnds(this.step, this.size, this.matrices.scores.columns);
    return (row, column, value) => {
      if (column < first) {
        return { text: "", hatched: true };
      }
      return column >= end ? { text: "", plain: true } : otherwise(row, column, value);
    };
  }

  tablesOf(shown) {
    const [first, end] = blockEnds(this.step, this.size, this.matrices.scores.columns);
    return Object.entries(shown).map(([name, { matrix, columnLabels }]) => {
      const headings = matrix.columns === 1 ? [TITLES[name]] : columnLabels;
      if (name !== "scores") {
        return table(TITLES[name], matrix, this.queries, headings);
      }
      const columns = Array.from({ length: end - first }, (_, at) => first + at);
      const values = this.queries.flatMap((_, row) => columns.map((at) => matrix.values[row * matrix.columns + at]));
      const block = { rows: matrix.rows, columns: columns.length, values };
      return table(say("scores of the block"), block, this.queries, headings.slice(first, end));
    });
  }
}

export default rendering(OnlineSoftmax);
