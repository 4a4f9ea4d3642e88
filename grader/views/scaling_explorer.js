// Scores and weights of the same queries and keys, unscaled and scaled, at the width that a slider chooses.

import { colourScale, make, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { entry, numbered, range, written } from "./numbers.js";
import { pieces, say, together } from "./say.js";
import { inWords, MEASURES, measuresInWords, numbersOf, SIDES, toDecimals, way } from "./scaling_numbers.js";
import { Picture, rendering } from "./view.js";

const STORY = say(
  "Both sides have the same queries and keys. Entropy measures how widely a query spreads its weights. Slope is w (1 − w) summed over a query's row, and measures how much a small change in its scores would move its weights. Both are means over all queries.",
);

class ScalingExplorer extends Picture {
  constructor(model, element) {
    super(say("Scaling explorer"), model, element);
    this.widths = model.get("widths");
    this.begin({ d_k: this.widths[0] });
    this.matrices = numbersOf(model);
    this.rowLabels = numbered(this.matrices.raw.rows, (query) => say("query {query}", { query }));
    this.columnLabels = numbered(this.matrices.raw.columns, (key) => say("key {key}", { key }));
    this.#build();
    this.#showWidth();
    this.follow({ "change:d_k": () => this.#showWidth() });
  }

  get width() {
    return this.model.get("d_k");
  }

  #build() {
    this.sides = SIDES.map((side) => this.#buildSide(side));
    this.figure.classList.add("att-sides");
    this.figure.append(...this.sides.map(({ element }) => element));
    this.lay(
      this.#buildSlider(),
      make("p", { class: "att-story", text: STORY }),
      this.figure,
      this.tables,
      this.legend,
      this.sum,
      this.foot,
    );
  }

  #buildSlider() {
    const oninput = () => this.choose({ d_k: this.widths[Number(this.slider.value)] });
    this.slider = make("input", { type: "range", min: 0, max: this.widths.length - 1, step: 1, oninput });
    this.widthText = make("output", { class: "att-width" });
    return make(
      "div",
      { class: "att-slide" },
      make("label", {}, ...pieces(say("Width d_k {slider}"), { slider: this.slider })),
      this.widthText,
    );
  }

  #buildSide(side) {
    const kinds = [
      ["scores", say("Scores")],
      ["weights", say("Weights")],
    ];
    const maps = kinds.map(([kind]) => {
      const map = new Heatmap((to, how) => this.select(to, how));
      map.element.setAttribute("aria-label", side.heard[kind]);
      map.element.dataset.matrix = side[kind];
      return map;
    });
    const gauges = [say("Entropy"), say("Slope")].map(gauge);
    const caption = make("div", { class: "att-side-title" }, `${side.title}: `, make("code", { text: side.formula }));
    const pictures = maps.flatMap(({ element }, at) => [
      make("span", { class: "att-caption", text: kinds[at][1] }),
      element,
    ]);
    const element = make("div", { class: "att-side" }, caption, ...pictures, ...gauges.map((bar) => bar.element));
    return { ...side, maps, gauges, element };
  }

  #showWidth() {
    const { width } = this;
    this.at = this.widths.indexOf(width);
    this.matrices = numbersOf(this.model);
    const text = `d_k = ${width}, √d_k ${Number.isInteger(Math.sqrt(width)) ? "=" : "≈"} ${written(Math.sqrt(width))}`;
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", text);
    this.widthText.textContent = text;
    this.announcer.say(together(`${text}.`, measuresInWords(this.matrices.measures, this.at)));
    this.schedule();
  }

  words() {
    return together(...this.#lines());
  }

  sentence() {
    return inWords(this.model, this.matrices);
  }

  /** The selected place, then a line for each side. */
  #lines() {
    const { row, column } = this.selected;
    const lines = SIDES.map((side) => `${side.title}: ${way(side, this.matrices, this.width, this.selected)}.`);
    return [`${this.rowLabels[row]}, ${this.columnLabels[column]}.`, ...lines];
  }

  prepare() {
    return range(this.matrices.raw);
  }

  writeTexts(ends) {
    this.legend.replaceChildren(...colourScale(say("all scores"), ends), say(", of all weights: 0 to 1"));
    const [where, ...lines] = this.#lines();
    this.sum.replaceChildren(...sumParts(where, lines, { class: "att-way" }));
  }

  drawFigure(scoreEnds, style) {
    const { rowLabels, columnLabels, selected } = this;
    const room = this.figure.firstChild.clientWidth - Heatmap.gutter(rowLabels, 24, style) - 4;
    const cell = cellSize(room, columnLabels.length);
    // Entropy and slope are largest where all weights are equal.
    const most = [Math.log(columnLabels.length), 1 - 1 / columnLabels.length];
    this.sides.forEach((side, at) => {
      const shown = [toDecimals(this.matrices[side.scores], 2), toDecimals(this.matrices[side.weights], 3)];
      shown.forEach((matrix, kind) => {
        const [low, high] = kind === 0 ? scoreEnds : [0, 1];
        side.maps[kind].draw({ matrix, low, high, cell, rowLabels, columnLabels, selected }, style);
      });
      side.gauges.forEach(({ show }, kind) => {
        show(entry(this.matrices.measures, this.at, 2 * kind + at), most[kind]);
      });
    });
  }

  tablesOf() {
    const { rowLabels, columnLabels } = this;
    const named = SIDES.flatMap((side) =>
      ["scores", "weights"].map((kind) => {
        return table(side.captions[kind], this.matrices[side[kind]], rowLabels, columnLabels);
      }),
    );
    const widths = this.widths.map((width) => `d_k = ${width}`);
    return [table(say("Means at every width"), this.matrices.measures, widths, MEASURES), ...named];
  }
}

/** A bar from 0 to the largest possible value, with its number. */
function gauge(name) {
  const bar = make("span", { class: "att-gauge-bar", "aria-hidden": "true" }, make("span"));
  const number = make("span", { class: "att-gauge-number" });
  const show = (value, most) => {
    bar.firstChild.style.width = `${most > 0 ? (100 * value) / most : 0}%`;
    number.textContent = say("{value} of at most {most}", { value: value.toFixed(2), most: most.toFixed(2) });
  };
  return { element: make("div", { class: "att-gauge" }, make("span", { text: name }), bar, number), show };
}

export default rendering(ScalingExplorer);
