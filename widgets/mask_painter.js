// A mask to paint on, and what follows from it: the scores that are left, and their weights.

import { Announcer, Choice, listen, make, oncePerPicture, pageStyle, table, tableSwitch, watchPage } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { cellInWords, HIDDEN, inConvention, painted, rowInWords, weightInWords } from "./mask_words.js";
import { entry, range, unpack } from "./numbers.js";

const PRESETS = ["all visible", "causal", "padding", "both"];
const CONVENTIONS = ["may attend", "hide"];
const SIGN_WIDTH = 34; // pixels of an arrow and the gaps around it
const STORY =
  "Arrow keys move over the mask, Space or Enter turns a cell over; or draw with the pointer. Hatched scores are hidden.";

class MaskPainter {
  constructor(model, element) {
    this.model = model;
    this.root = element;
    this.selected = { row: 0, column: 0 };
    this.hides = false;
    this.brush = 0;
    this.byKey = false;
    this.announcer = new Announcer();
    this.schedule = oncePerPicture(() => this.#draw());
    this.#build();
    this.#receive();
    this.#connect();
    this.schedule();
  }

  /** Ends everything that outlives the elements. */
  close() {
    this.unwatch();
    this.schedule.cancel();
    this.unlisten();
  }

  #build() {
    this.root.classList.add("att-view");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Mask painter");
    this.presets = new Choice("Mask", [...PRESETS, "free hand"], (preset) => this.#set({ preset }));
    this.places = new Choice("Padding", ["at the end", "in front"], (place) =>
      this.#set({ in_front: place === "in front" }),
    );
    this.ways = new Choice("Way of hiding", Object.keys(HIDDEN), (way) => this.#set({ way }));
    this.conventions = new Choice("True means", CONVENTIONS, (name) => this.#convention(name));
    const first = make("div", { class: "att-mask-switches" }, this.presets.element, this.places.element);
    const second = make("div", { class: "att-mask-switches" }, this.conventions.element, this.ways.element);
    this.figure = make("div", { class: "att-figure" }, ...this.#buildFigure());
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.sum = make("p", { class: "att-sum" });
    this.summary = make("p", { class: "att-summary" });
    const asTable = tableSwitch(this.figure, this.tables, this.schedule);
    const foot = make("div", { class: "att-foot" }, asTable, this.summary);
    const story = make("p", { class: "att-story", text: STORY });
    this.root.replaceChildren(first, second, story, this.figure, this.tables, this.sum, foot, this.announcer.element);
  }

  #buildFigure() {
    const onKey = (event) => this.#turnOver(event.key);
    const onPaint = (to, isPress) => this.#paint(to, isPress);
    this.maps = {
      mask: new Heatmap((to, how) => this.#select(to, how), { onKey, onPaint }),
      masked: new Heatmap(null),
      weights: new Heatmap(null),
    };
    this.captions = {};
    const boxes = Object.entries(this.maps).map(([name, map]) => {
      this.captions[name] = make("span", { class: "att-caption" });
      return make("div", { class: "att-matrix" }, this.captions[name], map.element);
    });
    const arrow = () => make("span", { class: "att-sign", "aria-hidden": "true", text: "→" });
    return [boxes[0], arrow(), boxes[1], arrow(), boxes[2]];
  }

  #connect() {
    const changed = () => {
      this.#receive();
      this.schedule();
      if (this.byKey) {
        this.#tell();
      }
    };
    const names = ["mask", "moving", "fixed", "tokens", "preset", "in_front", "way", "summary"];
    this.unlisten = listen(this.model, Object.fromEntries(names.map((name) => [`change:${name}`, changed])));
    this.unwatch = watchPage(this.root, this.schedule);
  }

  #receive() {
    const from = (name) => unpack(this.model.get(`${name}_layout`), this.model.get(name));
    const { scores } = from("fixed");
    const bytes = this.model.get("mask");
    const values = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
    const mask = { rows: scores.rows, columns: scores.columns, values };
    this.matrices = { mask, scores, ...from("moving") };
    this.tokens = this.model.get("tokens");
    this.way = this.model.get("way");
  }

  /** What a button sets. Its consequences come from Python, and are said when they are there. */
  #set(state) {
    this.byKey = true;
    this.model.set(state);
    this.model.save_changes();
  }

  #convention(name) {
    this.hides = name === "hide";
    this.announcer.say(`In the mask, True now means ${name}. What is visible stays the same.`);
    this.schedule();
  }

  #select(to, how) {
    this.selected = to;
    this.byKey = how === "key";
    if (this.byKey) {
      this.#tell();
    }
    this.schedule();
  }

  #turnOver(key) {
    const mine = key === " " || key === "Enter";
    if (mine) {
      this.byKey = true;
      const { row, column } = this.selected;
      this.#lay(1 - entry(this.matrices.mask, row, column));
    }
    return mine;
  }

  /** The cell that is pressed turns over; those that the pointer is then drawn over become like it. */
  #paint({ row, column }, isPress) {
    this.byKey = false;
    this.brush = isPress ? 1 - entry(this.matrices.mask, row, column) : this.brush;
    this.#lay(this.brush);
  }

  #lay(value) {
    const mask = painted(this.matrices.mask, this.selected, value);
    if (mask) {
      this.matrices.mask = mask; // seen at once; the weights follow
      this.#send(mask.values);
      this.schedule();
    }
  }

  #send(values) {
    this.model.set({ mask: new DataView(values.buffer), preset: "free hand" });
    this.model.save_changes();
  }

  #tell() {
    const { row } = this.selected;
    const where = cellInWords(this.matrices.mask, this.tokens, this.selected);
    this.announcer.say(`${where}; ${rowInWords(this.matrices.weights, row)}. ${this.#sumInWords()}`);
  }

  #sumInWords() {
    return weightInWords(this.way, this.matrices, this.selected);
  }

  #draw() {
    this.presets.show(this.model.get("preset"));
    this.places.show(this.model.get("in_front") ? "in front" : "at the end");
    this.ways.show(this.way);
    this.conventions.show(CONVENTIONS[Number(this.hides)]);
    const shown = { ...this.matrices, mask: inConvention(this.matrices.mask, this.hides) };
    if (this.tables.hidden) {
      this.#drawMaps(shown);
    } else {
      this.#fillTables(shown);
    }
    const where = cellInWords(this.matrices.mask, this.tokens, this.selected);
    this.sum.replaceChildren(
      make("span", { class: "att-place", text: where }),
      make("code", { text: this.#sumInWords() }),
    );
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #names() {
    const mask = `Mask, True = ${CONVENTIONS[Number(this.hides)]}`;
    return { mask, scores: "Scores", masked: "Masked scores", weights: "Weights" };
  }

  #drawMaps({ mask, scores, masked, weights }) {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const labels = { rowLabels: this.tokens, columnLabels: this.tokens };
    const gutters = 3 * (Heatmap.gutter(this.tokens, 24, style) + 4);
    const cell = cellSize(this.figure.clientWidth - gutters - 2 * SIGN_WIDTH, 3 * mask.columns);
    const [low, high] = range(scores);
    const isHidden = (row, column) => entry(this.matrices.mask, row, column) === 0;
    const truth = (_row, _column, value) => ({ text: value ? "True" : "False" });
    const veil = (row, column) => (isHidden(row, column) ? { text: HIDDEN[this.way], hatched: true } : {});
    const { row } = this.selected;
    const shared = { ...labels, cell };
    this.maps.mask.draw({ ...shared, matrix: mask, low: 0, high: 1, look: truth, selected: this.selected }, style);
    this.maps.masked.draw({ ...shared, matrix: masked, low, high, look: veil, row }, style);
    this.maps.weights.draw({ ...shared, matrix: weights, low: 0, high: 1, row }, style);
    for (const [name, caption] of Object.entries(this.captions)) {
      caption.textContent = this.#names()[name];
    }
    const size = `${mask.rows} queries by ${mask.columns} keys`;
    const name = `${this.#names().mask}, ${size}. Arrow keys move, Space or Enter turns a cell over.`;
    this.maps.mask.element.setAttribute("aria-label", name);
  }

  #fillTables(shown) {
    const names = this.#names();
    const tables = Object.keys(names).map((name) => table(names[name], shown[name], this.tokens, this.tokens));
    this.tables.replaceChildren(...tables);
  }
}

export default {
  render({ model, el }) {
    const view = new MaskPainter(model, el);
    return () => view.close();
  },
};
