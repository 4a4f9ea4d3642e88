// All heads of a model as small tables to choose from; the chosen head as a large one.

import { Choice, colourScale, make, table } from "./frame.js";
import { cellInWords, headInWords, keyOf, rowInWords, underHead } from "./head_words.js";
import { cellSize, Heatmap, moved } from "./heatmap.js";
import { unpack } from "./numbers.js";
import { say } from "./say.js";
import { Picture, rendering } from "./view.js";

const SMALL = 96; // the largest side of a small table, in pixels
const LARGEST_SMALL_CELL = 10; // from 11 on, a heatmap writes labels
const STORY = say(
  "Arrow keys or taps choose a head and, in the large table, a cell. Rows are queries, and columns are keys.",
);

class HeadExplorer extends Picture {
  constructor(model, element) {
    super(say("Head explorer"), model, element);
    this.#build();
    this.#receive();
    this.#layHeads();
    const changed = () => {
      this.#layHeads();
      this.schedule();
    };
    this.follow({
      "change:kind": changed,
      "change:layer": this.schedule,
      "change:head": this.schedule,
      "change:fixed": () => {
        this.#receive();
        changed();
      },
    });
  }

  get chosen() {
    return { kind: this.model.get("kind"), layer: this.model.get("layer"), head: this.model.get("head") };
  }

  get about() {
    return this.model.get("kinds").find(({ name }) => name === this.model.get("kind"));
  }

  #build() {
    const kinds = this.model.get("kinds").map(({ name }) => [name, say(name)]);
    this.kinds = new Choice(say("Attention"), kinds, (kind) => this.#choose({ kind }));
    this.heads = make("div", { class: "att-heads", role: "group", "aria-label": say("Heads") });
    this.heads.addEventListener("keydown", (event) => this.#onKey(event));
    this.heading = make("h3", { class: "att-title" });
    this.map = new Heatmap((to, how) => this.select(to, how));
    this.large = make("div", { class: "att-matrix" }, this.heading, this.map.element);
    this.figure.classList.add("att-head-figure");
    this.figure.append(this.heads, this.large);
    this.legend.append(...colourScale(say("the weights"), [0, 1]));
    const story = make("p", { class: "att-story", text: STORY });
    this.lay(this.kinds.element, story, this.figure, this.tables, this.legend, this.sum, this.foot);
  }

  #receive() {
    this.matrices = unpack(this.model.get("fixed_layout"), this.model.get("fixed"));
  }

  /** A line for every layer of the kind, in it a button with a small table for every head. */
  #layHeads() {
    const { layers, heads, queries, keys } = this.about;
    this.selected = {
      row: Math.min(this.selected.row, queries.length - 1),
      column: Math.min(this.selected.column, keys.length - 1),
    };
    this.buttons = Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (_, head) => this.#headButton(layer, head)),
    );
    const lines = this.buttons.map((line, layer) => {
      const caption = make("span", {
        class: "att-caption",
        "aria-hidden": "true",
        text: say("layer {layer}", { layer }),
      });
      return make("div", { class: "att-head-line" }, caption, ...line.map(({ button }) => button));
    });
    this.heads.replaceChildren(...lines);
  }

  #headButton(layer, head) {
    const { kind } = this.chosen;
    const measures = this.model.get("measures")[keyOf(kind, layer, head)];
    const map = new Heatmap(null);
    const text = say("head {head}: {measure}", { head, measure: underHead(measures) });
    const heard = { layer, head, measure: underHead(measures), entropy: measures.entropy.toFixed(2) };
    const caption = make("span", { class: "att-head-caption", text });
    const attributes = {
      type: "button",
      class: "att-head",
      // What is heard begins with what is seen.
      "aria-label": say("layer {layer}, head {head}: {measure} of the weight; entropy {entropy}", heard),
      onclick: () => this.#choose({ layer, head }),
    };
    return { button: make("button", attributes, map.element, caption), map };
  }

  #onKey(event) {
    const { layer, head } = this.chosen;
    const { layers, heads } = this.about;
    const to = moved(event.key, event.ctrlKey, { row: layer, column: head }, { rows: layers, columns: heads });
    if (to) {
      this.buttons[to.row][to.column].button.focus();
      this.#choose({ layer: to.row, head: to.column });
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #choose(state) {
    this.set(state);
    const { kind, layer, head } = this.chosen;
    const measures = this.model.get("measures")[keyOf(kind, layer, head)];
    if (measures) {
      this.announcer.say(`${say(kind)}, ${headInWords(layer, head, measures)}`);
    }
  }

  words() {
    return this.#sumInWords().join("; ");
  }

  #matrix() {
    const { kind, layer, head } = this.chosen;
    return this.matrices[keyOf(kind, layer, head)];
  }

  #sumInWords() {
    const matrix = this.#matrix();
    return [cellInWords(matrix, this.about, this.selected), rowInWords(matrix, this.about, this.selected.row)];
  }

  prepare() {
    const matrix = this.#matrix();
    if (!matrix) {
      return null; // a kind with fewer layers or heads: Python is about to correct the selection
    }
    const { kind, layer, head } = this.chosen;
    this.kinds.show(kind);
    this.heading.textContent = say("{kind}, layer {layer}, head {head}", { kind: say(kind), layer, head });
    return { ...this.about, matrix, kind, layer, head };
  }

  writeTexts() {
    const [cell, row] = this.#sumInWords();
    this.sum.replaceChildren(make("span", { class: "att-place", text: cell }), make("span", { text: row }));
  }

  drawFigure({ matrix, kind, layer, head, queries, keys }, style) {
    const labels = { rowLabels: queries, columnLabels: keys, low: 0, high: 1 };
    const small = Math.max(2, Math.min(LARGEST_SMALL_CELL, Math.floor(SMALL / Math.max(queries.length, keys.length))));
    this.buttons.forEach((line, at) => {
      line.forEach(({ button, map }, n) => {
        map.draw({ ...labels, matrix: this.matrices[keyOf(kind, at, n)], cell: small }, style);
        const pressed = at === layer && n === head;
        button.setAttribute("aria-pressed", String(pressed));
        button.tabIndex = pressed ? 0 : -1;
      });
    });
    const room = this.figure.clientWidth - this.heads.offsetWidth - Heatmap.gutter(queries, 24, style) - 24;
    const cell = Math.min(34, Math.max(18, cellSize(room, keys.length)));
    this.map.draw({ ...labels, matrix, cell, selected: this.selected, row: this.selected.row }, style);
    const name = say("{title}, {queries} queries by {keys} keys. Arrow keys move, and Tab leaves.", {
      title: this.heading.textContent,
      queries: queries.length,
      keys: keys.length,
    });
    this.map.element.setAttribute("aria-label", name);
  }

  tablesOf({ matrix, kind, layers, heads, queries, keys }) {
    const places = Array.from({ length: layers * heads }, (_, at) => [Math.floor(at / heads), at % heads]);
    const measures = places.map(([layer, head]) => this.model.get("measures")[keyOf(kind, layer, head)]);
    const numbers = {
      columns: 2,
      rows: measures.length,
      values: measures.flatMap(({ share, entropy }) => [share, entropy]),
    };
    const names = places.map(([layer, head], at) =>
      say("layer {layer}, head {head}: {pattern}", { layer, head, pattern: say(measures[at].pattern) }),
    );
    const columns = [say("fraction of the weight"), say("entropy")];
    return [
      table(this.heading.textContent, matrix, queries, keys),
      table(say("All heads, {kind}, and what each is most like", { kind: say(kind) }), numbers, names, columns),
    ];
  }
}

export default rendering(HeadExplorer);
