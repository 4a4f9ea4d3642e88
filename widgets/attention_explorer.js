// Self-attention, one step at a time: the picture, the arithmetic behind each number, the scale.

import { arithmetic, divisorAt, headings, NAMES, parts, place, positionOf, STEPS } from "./attention_steps.js";
import {
  Announcer,
  colourScale,
  listen,
  make,
  oncePerPicture,
  pageStyle,
  Stepper,
  table,
  tableSwitch,
  watchPage,
} from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { unpack, written } from "./numbers.js";

const SIGN_WIDTH = 34; // pixels of an operator and the gaps around it

class AttentionExplorer {
  constructor(model, element) {
    this.model = model;
    this.selected = { row: 0, column: 0 };
    this.announcer = new Announcer();
    this.root = element;
    this.#build();
    this.schedule = oncePerPicture(() => this.#draw());
    this.#receive();
    this.#showStep();
    this.#connect();
  }

  /** Ends everything that outlives the elements. */
  close() {
    this.unwatch();
    this.schedule.cancel();
    this.unlisten();
  }

  get step() {
    return STEPS[this.model.get("step") - 1];
  }

  #build() {
    this.root.classList.add("att-view");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Attention explorer");
    this.heading = make("h4", { class: "att-title" });
    this.story = make("p", { class: "att-story" });
    this.figure = make("div", { class: "att-figure" });
    this.sum = make("p", { class: "att-sum" });
    this.legend = make("div", { class: "att-legend" });
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.summary = make("p", { class: "att-summary" });
    const body = [this.heading, this.story, this.figure, this.tables, this.legend, this.sum, this.#buildScale()];
    const steps = STEPS.map((step) => step.short);
    this.stepper = new Stepper(steps, (step) => this.#go(step));
    this.root.replaceChildren(this.stepper.element, ...body, this.#buildFoot(), this.announcer.element);
  }

  #buildScale() {
    this.slider = make("input", { type: "range", min: -100, max: 100, step: 1, oninput: () => this.#slide() });
    this.divisor = make("output", { class: "att-divisor" });
    this.reset = make("button", { type: "button", text: "Back to √d_k", onclick: () => this.#slide(0) });
    const label = make("label", {}, "Scale: divide by ", this.slider);
    this.scale = make("div", { class: "att-scale" }, label, this.divisor, this.reset);
    return this.scale;
  }

  #buildFoot() {
    this.asTable = tableSwitch(this.figure, this.tables, () => this.schedule());
    return make("div", { class: "att-foot" }, this.asTable, this.summary);
  }

  #connect() {
    const moving = () => {
      this.#receive();
      this.#tellScale();
      this.schedule();
      this.announcer.say(`Scale ${this.divisor.textContent}. ${this.#sumInWords()}`);
    };
    this.unlisten = listen(this.model, {
      "change:step": () => this.#showStep(),
      "change:moving": moving,
      "change:fixed": moving,
      "change:summary": this.schedule,
    });
    this.unwatch = watchPage(this.root, this.schedule);
  }

  #receive() {
    const from = (name) => unpack(this.model.get(`${name}_layout`), this.model.get(name));
    this.matrices = { ...from("fixed"), ...from("moving") };
    this.tokens = this.model.get("tokens");
    this.root_d_k = Math.sqrt(this.matrices.key.columns);
  }

  #go(step) {
    if (step >= 1 && step <= STEPS.length) {
      this.model.set("step", step);
      this.model.save_changes();
    }
  }

  #slide(position = Number(this.slider.value)) {
    this.slider.value = position;
    this.model.set("divisor", divisorAt(position, this.root_d_k));
    this.model.save_changes();
    this.#tellScale();
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
    this.#tellScale();
    this.#layFigure();
    this.announcer.say(`Step ${at + 1} of ${STEPS.length}, ${step.title}. ${step.story}`);
    this.schedule();
  }

  #tellScale() {
    const divisor = this.model.get("divisor");
    const position = positionOf(divisor, this.root_d_k);
    const note = position === 0 ? " (√d_k)" : "";
    this.slider.value = position;
    this.divisor.textContent = `${written(divisor)}${note}`;
    this.slider.setAttribute("aria-valuetext", `scores divided by ${written(divisor)}${note}`);
  }

  /** One heatmap for every matrix of the step, the operators between them. */
  #layFigure() {
    const signs = { product: ["·", "="], scaling: ["→"], softmax: ["→"] }[this.step.kind];
    this.maps = parts(this.step, this.matrices).map(({ name, matrix }) => {
      const isResult = name === this.step.result;
      const map = new Heatmap(isResult ? (to, how) => this.#select(to, how) : null);
      const caption = `${NAMES[name][0]} ${matrix.rows} × ${matrix.columns}`;
      map.box = make(
        "div",
        { class: "att-matrix" },
        make("span", { class: "att-caption", text: caption }),
        map.element,
      );
      if (isResult) {
        this.result = map.element;
      }
      return map;
    });
    const sign = (at) =>
      at < signs.length ? [make("span", { class: "att-sign", "aria-hidden": "true", text: signs[at] })] : [];
    this.figure.replaceChildren(...this.maps.flatMap((map, at) => [map.box, ...sign(at)]));
  }

  #select(to, how) {
    this.selected = to;
    if (how === "key") {
      this.announcer.say(this.#sumInWords());
    }
    this.schedule();
  }

  #sumInWords() {
    return `${place(this.step, this.tokens, this.selected)}: ${this.#equation()}`;
  }

  #equation() {
    return arithmetic(this.step, this.matrices, this.model.get("divisor"), this.selected);
  }

  #draw() {
    const shown = parts(this.step, this.matrices).map((part) => ({
      ...part,
      ...headings(part.name, part.matrix, this.tokens),
    }));
    if (this.tables.hidden) {
      this.#drawMaps(shown);
    } else {
      this.tables.replaceChildren(...shown.map((p) => table(NAMES[p.name][0], p.matrix, p.rowLabels, p.columnLabels)));
    }
    this.#tellSum();
    this.legend.replaceChildren(...colourScale(NAMES[this.step.result][0], shown.at(-1).ends));
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #drawMaps(shown) {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const across = shown.reduce((sum, part) => sum + part.matrix.columns, 0);
    const gutters = shown.reduce((sum, part) => sum + Heatmap.gutter(part.rowLabels, 24, style) + 4, 0);
    const room = this.figure.clientWidth - gutters - SIGN_WIDTH * (shown.length - 1);
    const cell = cellSize(room, across);
    shown.forEach((part, at) => {
      const [low, high] = part.ends;
      this.maps[at].draw({ ...part, low, high, cell, ...this.#marks(at, shown.length) }, style);
    });
    const { rows, columns } = shown.at(-1).matrix;
    const name = `${this.step.title}, ${rows} rows, ${columns} columns. Arrow keys move from number to number.`;
    this.result.setAttribute("aria-label", name);
  }

  /** The row, the column or the entry that the selected one is made of. */
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

  #tellSum() {
    const where = place(this.step, this.tokens, this.selected);
    this.sum.replaceChildren(
      make("span", { class: "att-place", text: where }),
      make("code", { text: this.#equation() }),
    );
  }
}

export default {
  render({ model, el }) {
    const view = new AttentionExplorer(model, el);
    return () => view.close();
  },
};
