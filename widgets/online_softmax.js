// Queries read their keys block by block: what is seen, what is carried on, and how far the output has come.

import { Announcer, listen, make, oncePerPicture, pageStyle, Stepper, table, tableSwitch, watchPage } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { range, unpack, written } from "./numbers.js";
import { arithmeticOf, blockEnds, distance, keysInWords, memoryInWords, stateAt } from "./online_words.js";

const SIGN_WIDTH = 34; // pixels of an arrow and the gaps around it
const TITLES = {
  scores: "scores",
  maximum: "maximum",
  factor: "factor",
  sum: "sum",
  output: "output so far",
  final: "final output",
};
const STORY =
  "Only the coloured scores exist now: hatched ones were read and thrown away, empty ones are not made yet. In the output " +
  "so far, arrow keys choose a query.";

class OnlineSoftmax {
  constructor(model, element) {
    this.model = model;
    this.root = element;
    this.selected = { row: 0, column: 0 };
    this.announcer = new Announcer();
    this.schedule = oncePerPicture(() => this.#draw());
    this.matrices = unpack(model.get("layout_of_numbers"), model.get("numbers"));
    this.size = model.get("block_size");
    const labels = (word, count) => Array.from({ length: count }, (_, at) => `${word}${at}`);
    this.queries = labels("query ", this.matrices.scores.rows);
    this.headings = {
      scores: labels("key ", this.matrices.scores.columns),
      output: labels("", this.matrices.final.columns),
    };
    this.blocks = Math.ceil(this.matrices.scores.columns / this.size);
    this.#build();
    this.#show();
    const changed = () => this.#show();
    this.unlisten = listen(model, {
      "change:step": changed,
      "change:rescaling": changed,
      "change:summary": this.schedule,
    });
    this.unwatch = watchPage(this.root, this.schedule);
  }

  /** Ends everything that outlives the elements. */
  close() {
    this.unlisten();
    this.unwatch();
    this.schedule.cancel();
  }

  get step() {
    return this.model.get("step");
  }

  get rescaling() {
    return this.model.get("rescaling");
  }

  #build() {
    this.root.classList.add("att-view");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Online softmax");
    const names = Array.from({ length: this.blocks }, (_, at) => this.#keys(at + 1));
    this.stepper = new Stepper(names, (step) => this.#set({ step }));
    this.figure = make("div", { class: "att-figure att-online" }, ...this.#buildFigure());
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.sum = make("p", { class: "att-sum" });
    this.memory = make("p", { class: "att-memory" });
    this.summary = make("p", { class: "att-summary" });
    const asTable = tableSwitch(this.figure, this.tables, this.schedule);
    this.root.replaceChildren(
      this.stepper.element,
      this.#buildSwitch(),
      make("p", { class: "att-story", text: STORY }),
      this.figure,
      this.tables,
      this.sum,
      this.memory,
      make("div", { class: "att-foot" }, asTable, this.summary),
      this.announcer.element,
    );
  }

  #buildSwitch() {
    const onchange = () => this.#set({ rescaling: this.check.checked });
    this.check = make("input", { type: "checkbox", onchange });
    const text = "Rescaling: when the maximum rises, multiply what was summed by the factor";
    return make("label", { class: "att-switch" }, this.check, text);
  }

  #buildFigure() {
    const select = (to, how) => this.#select(to, how);
    this.maps = Object.fromEntries(
      Object.keys(TITLES).map((name) => [name, new Heatmap(name === "output" ? select : null)]),
    );
    const boxes = Object.entries(this.maps).map(([name, map]) => {
      map.element.dataset.matrix = name;
      return make(
        "div",
        { class: "att-matrix" },
        make("span", { class: "att-caption", text: TITLES[name] }),
        map.element,
      );
    });
    const arrow = () => make("span", { class: "att-sign", "aria-hidden": "true", text: "→" });
    return [boxes[0], arrow(), ...boxes.slice(1, 4), arrow(), ...boxes.slice(4)];
  }

  #keys(step) {
    return keysInWords(blockEnds(step, this.size, this.matrices.scores.columns));
  }

  #set(values) {
    for (const [name, value] of Object.entries(values)) {
      this.model.set(name, value);
    }
    this.model.save_changes();
  }

  #select(to, how) {
    this.selected = to;
    if (how === "key") {
      this.announcer.say(this.#lines().join(" "));
    }
    this.schedule();
  }

  #show() {
    this.check.checked = this.rescaling;
    this.stepper.show(this.step);
    this.announcer.say([`Block ${this.step} of ${this.blocks}, ${this.#keys(this.step)}.`, ...this.#lines()].join(" "));
    this.schedule();
  }

  /** The query, its arithmetic, and how far all outputs have come. */
  #lines() {
    const { step, size, rescaling, matrices } = this;
    const { row } = this.selected;
    const lines = arithmeticOf(matrices, step, size, rescaling, row).map(([name, text]) => `${name}: ${text}.`);
    const away = distance(stateAt(matrices, step, rescaling).output, matrices.final);
    const told = away < 5e-4 ? "equal to the final one" : `up to ${written(away)} away from the final one`;
    return [`${this.queries[row]}.`, ...lines, `Output so far: ${told}.`];
  }

  /** The matrices to be seen, by name, each with the ends of its colours and the headings of its columns. */
  #shown() {
    const { matrices, headings } = this;
    const { maximum, factor, sum, output } = stateAt(matrices, this.step, this.rescaling);
    const scores = range(matrices.scores);
    const every = Array.from({ length: this.blocks }, (_, at) => stateAt(matrices, at + 1, this.rescaling).output);
    const outputs = range(matrices.final, ...every);
    return {
      scores: { matrix: matrices.scores, ends: scores, columnLabels: headings.scores },
      maximum: { matrix: maximum, ends: scores, columnLabels: [""] },
      factor: { matrix: factor, ends: [0, 1], columnLabels: [""] },
      sum: { matrix: sum, ends: [0, matrices.scores.columns], columnLabels: [""] },
      output: { matrix: output, ends: outputs, columnLabels: headings.output },
      final: { matrix: matrices.final, ends: outputs, columnLabels: headings.output },
    };
  }

  #draw() {
    const shown = this.#shown();
    if (this.tables.hidden) {
      this.#drawMaps(shown);
    } else {
      this.#fillTables(shown);
    }
    const [where, ...lines] = this.#lines();
    const codes = lines.map((text) => make("code", { class: "att-line", text }));
    this.sum.replaceChildren(make("span", { class: "att-place", text: where }), ...codes);
    this.memory.textContent = memoryInWords(this.matrices, this.step, this.size);
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #drawMaps(shown) {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const all = Object.entries(shown);
    const across = all.reduce((sum, [, { matrix }]) => sum + matrix.columns, 0);
    // Only the first and the selectable one name their rows.
    const labels = (name) => (name === "scores" || name === "output" ? this.queries : this.queries.map(() => ""));
    const gutters = all.reduce((sum, [name]) => sum + Heatmap.gutter(labels(name), 24, style) + 10, 0);
    const cell = cellSize(this.figure.clientWidth - gutters - 2 * SIGN_WIDTH, across);
    const short = (_row, _column, value) => ({ text: written(value, 2) });
    const look = this.#lookOfScores(short);
    for (const [name, { matrix, ends, columnLabels }] of all) {
      const [low, high] = ends;
      const marks = name === "output" ? { selected: this.selected } : { row: this.selected.row };
      const picture = { matrix, low, high, cell, rowLabels: labels(name), columnLabels, ...marks };
      this.maps[name].draw({ ...picture, look: name === "scores" ? look : short }, style);
    }
    const name = `Output so far, ${this.queries.length} rows. Arrow keys choose a query and tell its arithmetic.`;
    this.maps.output.element.setAttribute("aria-label", name);
  }

  /** Scores of earlier blocks are gone, later ones are not there yet. */
  #lookOfScores(otherwise) {
    const [first, end] = blockEnds(this.step, this.size, this.matrices.scores.columns);
    return (row, column, value) => {
      if (column < first) {
        return { text: "", hatched: true };
      }
      return column >= end ? { text: "", plain: true } : otherwise(row, column, value);
    };
  }

  #fillTables(shown) {
    const [first, end] = blockEnds(this.step, this.size, this.matrices.scores.columns);
    const tables = Object.entries(shown).map(([name, { matrix, columnLabels }]) => {
      const headings = matrix.columns === 1 ? [TITLES[name]] : columnLabels;
      if (name !== "scores") {
        return table(TITLES[name], matrix, this.queries, headings);
      }
      const columns = Array.from({ length: end - first }, (_, at) => first + at);
      const values = this.queries.flatMap((_, row) => columns.map((at) => matrix.values[row * matrix.columns + at]));
      const block = { rows: matrix.rows, columns: columns.length, values };
      return table("scores of the block", block, this.queries, headings.slice(first, end));
    });
    this.tables.replaceChildren(...tables);
  }
}

export default {
  render({ model, el }) {
    const view = new OnlineSoftmax(model, el);
    return () => view.close();
  },
};
