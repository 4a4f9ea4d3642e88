// A mask to paint on, with the masked scores and the resulting weights.

import { Choice, captioned, make, SIGN_WIDTH, sign, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import {
  cellInWords,
  FREE_HAND,
  inConvention,
  inWords,
  MASKS,
  numbersOf,
  painted,
  rowInWords,
  WAYS,
  weightInWords,
} from "./mask_numbers.js";
import { entry, range } from "./numbers.js";
import { say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

/** What True means in the mask: its label, and what is said of it. */
const CONVENTIONS = {
  attend: {
    label: say("may attend"),
    caption: say("Mask, True = may attend"),
    told: say("In the mask, True now means may attend. What is visible stays the same."),
    heard: say(
      "Mask, True = may attend, {queries} queries by {keys} keys. Arrow keys move, Space or Enter flips a cell, and Tab leaves.",
    ),
  },
  hide: {
    label: say("hide"),
    caption: say("Mask, True = hide"),
    told: say("In the mask, True now means hide. What is visible stays the same."),
    heard: say(
      "Mask, True = hide, {queries} queries by {keys} keys. Arrow keys move, Space or Enter flips a cell, and Tab leaves.",
    ),
  },
};
const PLACES = [
  [false, say("at the end")],
  [true, say("in front")],
];
const STORY = say(
  "Arrow keys move over the mask, and Space or Enter flips a cell. You can also draw with the pointer or a finger. Hatched scores are hidden.",
);

class MaskPainter extends Picture {
  constructor(model, element) {
    super(say("Mask painter"), model, element);
    this.convention = "attend";
    this.brush = 0;
    this.byKey = false;
    this.#build();
    this.#receive();
    const changed = () => {
      this.#receive();
      this.schedule();
      if (this.byKey) {
        this.announcer.say(this.words());
      }
    };
    const names = ["mask", "preset", "in_front", "way"];
    this.follow(Object.fromEntries(names.map((name) => [`change:${name}`, changed])));
  }

  #build() {
    this.presets = new Choice(say("Mask"), Object.entries(MASKS), (preset) =>
      this.#byButton({ preset, mask: this.matrices.mask.values }),
    );
    this.places = new Choice(say("Padding"), PLACES, (inFront) => this.#byButton({ in_front: inFront }));
    this.ways = new Choice(say("Way of hiding"), labelled(WAYS), (way) => this.#byButton({ way }));
    this.conventions = new Choice(say("True means"), labelled(CONVENTIONS), (name) => this.#choose(name));
    const first = make("div", { class: "att-mask-switches" }, this.presets.element, this.places.element);
    const second = make("div", { class: "att-mask-switches" }, this.conventions.element, this.ways.element);
    this.figure.append(...this.#buildFigure());
    const story = make("p", { class: "att-story", text: STORY });
    this.lay(first, second, story, this.figure, this.tables, this.sum, this.foot);
  }

  #buildFigure() {
    const onKey = (event) => this.#turnOver(event.key);
    const onPaint = (to, isPress) => this.#paint(to, isPress);
    this.maps = {
      mask: new Heatmap((to, how) => this.select(to, how), { onKey, onPaint }),
      masked: new Heatmap(null),
      weights: new Heatmap(null),
    };
    this.captions = {};
    const boxes = Object.entries(this.maps).map(([name, map]) => {
      this.captions[name] = make("span", { class: "att-caption" });
      return captioned(this.captions[name], map.element);
    });
    return [boxes[0], sign(), boxes[1], sign(), boxes[2]];
  }

  #receive() {
    const { tokens, ...matrices } = numbersOf(this.model);
    Object.assign(this, { tokens, matrices, way: this.model.get("way") });
  }

  #byButton(choices) {
    this.byKey = true;
    this.choose(choices);
  }

  #choose(convention) {
    this.convention = convention;
    this.announcer.say(CONVENTIONS[convention].told);
    this.schedule();
  }

  select(to, how) {
    this.byKey = how === "key";
    super.select(to, how);
  }

  #turnOver(key) {
    const turns = key === " " || key === "Enter";
    if (turns) {
      this.byKey = true;
      const { row, column } = this.selected;
      this.#setCell(1 - entry(this.matrices.mask, row, column));
    }
    return turns;
  }

  /** Turns the pressed cell over; the cells that the pointer then moves over get the same value. */
  #paint({ row, column }, isPress) {
    this.byKey = false;
    this.brush = isPress ? 1 - entry(this.matrices.mask, row, column) : this.brush;
    this.#setCell(this.brush);
  }

  #setCell(value) {
    const mask = painted(this.matrices.mask, this.selected, value);
    if (mask) {
      this.choose({ mask: mask.values, preset: FREE_HAND });
    }
  }

  words() {
    const row = rowInWords(this.matrices.weights, this.selected.row);
    return together(`${this.#where()}; ${row}.`, this.#sumInWords());
  }

  sentence() {
    return inWords(this.model, this.matrices);
  }

  #where() {
    return cellInWords(this.matrices.mask, this.tokens, this.selected);
  }

  #sumInWords() {
    return weightInWords(this.way, this.matrices, this.selected);
  }

  prepare() {
    return { ...this.matrices, mask: inConvention(this.matrices.mask, this.convention === "hide") };
  }

  writeTexts() {
    this.presets.show(this.model.get("preset"));
    this.places.show(this.model.get("in_front"));
    this.ways.show(this.way);
    this.conventions.show(this.convention);
    this.sum.replaceChildren(...sumParts(this.#where(), [this.#sumInWords()]));
  }

  #names() {
    const mask = CONVENTIONS[this.convention].caption;
    return { mask, scores: say("Scores"), masked: say("Masked scores"), weights: say("Weights") };
  }

  drawFigure({ mask, scores, masked, weights }, style) {
    const labels = { rowLabels: this.tokens, columnLabels: this.tokens };
    const gutters = 3 * (Heatmap.gutter(this.tokens, 24, style) + 4);
    const room = this.figure.clientWidth - gutters - 2 * SIGN_WIDTH;
    const cell = cellSize(room, 3 * mask.columns, mask.columns);
    const [low, high] = range(scores);
    const isHidden = (row, column) => entry(this.matrices.mask, row, column) === 0;
    const truth = (_row, _column, value) => ({ text: value ? "True" : "False" });
    const veil = (row, column) => (isHidden(row, column) ? { text: WAYS[this.way].hidden, hatched: true } : {});
    const { row } = this.selected;
    const shared = { ...labels, cell };
    this.maps.mask.draw({ ...shared, matrix: mask, low: 0, high: 1, look: truth, selected: this.selected }, style);
    this.maps.masked.draw({ ...shared, matrix: masked, low, high, look: veil, row }, style);
    this.maps.weights.draw({ ...shared, matrix: weights, low: 0, high: 1, row }, style);
    for (const [name, caption] of Object.entries(this.captions)) {
      caption.textContent = this.#names()[name];
    }
    const name = say(CONVENTIONS[this.convention].heard, { queries: mask.rows, keys: mask.columns });
    this.maps.mask.element.setAttribute("aria-label", name);
  }

  tablesOf(shown) {
    const names = this.#names();
    return Object.keys(names).map((name) => table(names[name], shown[name], this.tokens, this.tokens));
  }
}

/** The options of a choice from a table with labels. */
function labelled(table) {
  return Object.entries(table).map(([id, { label }]) => [id, label]);
}

export default rendering(MaskPainter);
