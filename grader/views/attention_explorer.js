// Self-attention, one step at a time: the picture, the arithmetic behind each number, the scale.

import {
  arithmetic,
  attended,
  divisorAt,
  headings,
  inWords,
  NAMES,
  parts,
  place,
  positionOf,
  projected,
  STEPS,
} from "./attention_steps.js";
import { captioned, colourScale, make, SIGN_WIDTH, Stepper, sign, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { unpack, written } from "./numbers.js";
import { pieces, say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

class AttentionExplorer extends Picture {
  constructor(model, element) {
    super(say("Attention explorer"), model, element);
    this.tokens = model.get("tokens");
    this.projected = projected(unpack(model.get("matrices_layout"), model.get("matrices")));
    this.root_d_k = Math.sqrt(this.projected.key.columns);
    this.begin({ step: 1, divisor: this.root_d_k });
    this.matrices = attended(this.projected, model.get("divisor"));
    this.#build();
    this.#showStep();
    const scaled = () => {
      this.matrices = attended(this.projected, model.get("divisor"));
      this.#showScale();
      this.schedule();
      this.announcer.say(together(say("Scale {divisor}.", { divisor: this.divisor.textContent }), this.words()));
    };
    this.follow({ "change:step": () => this.#showStep(), "change:divisor": scaled });
  }

  get step() {
    return STEPS[this.model.get("step") - 1];
  }

  #build() {
    this.heading = make("h3", { class: "att-title" });
    this.story = make("p", { class: "att-story" });
    const steps = STEPS.map((step) => step.short);
    this.stepper = new Stepper(steps, (step) => this.choose({ step }));
    this.lay(
      this.stepper.element,
      this.heading,
      this.story,
      this.figure,
      this.tables,
      this.legend,
      this.sum,
      this.#buildScale(),
      this.foot,
    );
  }

  #buildScale() {
    this.slider = make("input", { type: "range", min: -100, max: 100, step: 1, oninput: () => this.#slide() });
    this.divisor = make("output", { class: "att-divisor" });
    this.reset = make("button", { type: "button", text: say("Back to √d_k"), onclick: () => this.#slide(0) });
    const label = make("label", {}, ...pieces(say("Scale: divide by {slider}"), { slider: this.slider }));
    this.scale = make("div", { class: "att-scale" }, label, this.divisor, this.reset);
    return this.scale;
  }

  #slide(position = Number(this.slider.value)) {
    this.choose({ divisor: divisorAt(position, this.root_d_k) });
  }

  #showStep() {
    const { step } = this;
    const at = STEPS.indexOf(step);
    const { rows, columns } = this.matrices[step.result];
    this.selected = { row: Math.min(this.selected.row, rows - 1), column: Math.min(this.selected.column, columns - 1) };
    this.stepper.show(at + 1);
    this.heading.replaceChildren(`${step.title}: `, make("span", { class: "att-formula", text: step.formula }));
    this.story.textContent = step.story;
    this.scale.hidden = !["scaled", "weights", "output"].includes(step.result);
    this.#showScale();
    this.#layFigure();
    const now = { at: at + 1, count: STEPS.length, title: step.title };
    this.announcer.say(together(say("Step {at} of {count}, {title}.", now), step.story));
    this.schedule();
  }

  #showScale() {
    const divisor = this.model.get("divisor");
    const position = positionOf(divisor, this.root_d_k);
    const note = position === 0 ? " (√d_k)" : "";
    this.slider.value = position;
    this.divisor.textContent = `${written(divisor)}${note}`;
    this.slider.setAttribute(
      "aria-valuetext",
      say("scores divided by {divisor}", { divisor: this.divisor.textContent }),
    );
  }

  /** One heatmap for every matrix of the step, with operators between them. */
  #layFigure() {
    const signs = { product: ["·", "="], scaling: ["→"], softmax: ["→"] }[this.step.kind];
    this.maps = parts(this.step, this.matrices).map(({ name, matrix }) => {
      const isResult = name === this.step.result;
      const map = new Heatmap(isResult ? (to, how) => this.select(to, how) : null);
      const caption = `${NAMES[name][0]} ${matrix.rows} × ${matrix.columns}`;
      map.box = captioned(caption, map.element);
      if (isResult) {
        this.result = map.element;
      }
      return map;
    });
    this.figure.replaceChildren(...this.maps.flatMap((map, at) => [map.box, ...signs.slice(at, at + 1).map(sign)]));
  }

  words() {
    return `${place(this.step, this.tokens, this.selected)}: ${this.#equation()}`;
  }

  sentence() {
    return inWords(this.model, this.matrices);
  }

  #equation() {
    return arithmetic(this.step, this.matrices, this.model.get("divisor"), this.selected);
  }

  prepare() {
    return parts(this.step, this.matrices).map((part) => ({
      ...part,
      ...headings(part.name, part.matrix, this.tokens),
    }));
  }

  tablesOf(shown) {
    return shown.map((part) => table(NAMES[part.name][0], part.matrix, part.rowLabels, part.columnLabels));
  }

  writeTexts(shown) {
    const where = place(this.step, this.tokens, this.selected);
    this.sum.replaceChildren(...sumParts(where, [this.#equation()]));
    this.legend.replaceChildren(...colourScale(NAMES[this.step.result][0], shown.at(-1).ends));
  }

  drawFigure(shown, style) {
    const across = shown.reduce((sum, part) => sum + part.matrix.columns, 0);
    const gutters = shown.reduce((sum, part) => sum + Heatmap.gutter(part.rowLabels, 24, style) + 4, 0);
    const room = this.figure.clientWidth - gutters - SIGN_WIDTH * (shown.length - 1);
    const cell = cellSize(room, across, Math.max(...shown.map((part) => part.matrix.columns)));
    shown.forEach((part, at) => {
      const [low, high] = part.ends;
      this.maps[at].draw({ ...part, low, high, cell, ...this.#marks(at, shown.length) }, style);
    });
    const { rows, columns } = shown.at(-1).matrix;
    const name = say(
      "{title}, {rows} rows, {columns} columns. Arrow keys move from number to number, and Tab leaves.",
      { title: this.step.title, rows, columns },
    );
    this.result.setAttribute("aria-label", name);
  }

  /** Marks the row, the column or the entry that the selected entry is computed from. */
  #marks(at, count) {
    const { row, column } = this.selected;
    if (at === count - 1) {
      return { selected: this.selected };
    }
    if (this.step.kind === "scaling") {
      return { selected: this.selected };
    }
    return at === 0 ? { row } : { column };
  }
}

export default rendering(AttentionExplorer);
