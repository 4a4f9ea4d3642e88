// All heads of a model: small tables to choose from, the chosen one large.

import {
  Announcer,
  Choice,
  colourScale,
  listen,
  make,
  oncePerPicture,
  pageStyle,
  table,
  tableSwitch,
  watchPage,
} from "./frame.js";
import { cellInWords, headInWords, keyOf, rowInWords, underHead } from "./head_words.js";
import { cellSize, Heatmap, moved } from "./heatmap.js";
import { unpack } from "./numbers.js";

const SMALL = 96; // pixels that a small table may take
const LARGEST_SMALL_CELL = 10; // from 11 on, a heatmap writes labels
const STORY =
  "Arrow keys go from head to head and, in the large table, from cell to cell. Rows look, columns are looked at.";

class HeadExplorer {
  constructor(model, element) {
    this.model = model;
    this.root = element;
    this.selected = { row: 0, column: 0 };
    this.announcer = new Announcer();
    this.schedule = oncePerPicture(() => this.#draw());
    this.#build();
    this.#receive();
    this.#layHeads();
    this.#connect();
    this.schedule();
  }

  /** Ends everything that outlives the elements. */
  close() {
    this.unwatch();
    this.schedule.cancel();
    this.unlisten();
  }

  get chosen() {
    return { kind: this.model.get("kind"), layer: this.model.get("layer"), head: this.model.get("head") };
  }

  get about() {
    return this.model.get("kinds")[this.model.get("kind")];
  }

  #build() {
    this.root.classList.add("att-view");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Head explorer");
    this.kinds = new Choice("Attention", Object.keys(this.model.get("kinds")), (kind) => this.#set({ kind }));
    this.heads = make("div", { class: "att-heads", role: "group", "aria-label": "Heads" });
    this.heads.addEventListener("keydown", (event) => this.#onKey(event));
    this.heading = make("h4", { class: "att-title" });
    this.map = new Heatmap((to, how) => this.#select(to, how));
    this.large = make("div", { class: "att-matrix" }, this.heading, this.map.element);
    this.figure = make("div", { class: "att-figure att-head-figure" }, this.heads, this.large);
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.sum = make("p", { class: "att-sum" });
    this.legend = make("div", { class: "att-legend" }, ...colourScale("the weights", [0, 1]));
    this.summary = make("p", { class: "att-summary" });
    const asTable = tableSwitch(this.figure, this.tables, this.schedule);
    const foot = make("div", { class: "att-foot" }, asTable, this.summary);
    const story = make("p", { class: "att-story", text: STORY });
    const body = [this.kinds.element, story, this.figure, this.tables, this.legend, this.sum, foot];
    this.root.replaceChildren(...body, this.announcer.element);
  }

  #connect() {
    const changed = () => {
      this.#layHeads();
      this.schedule();
    };
    this.unlisten = listen(this.model, {
      "change:kind": changed,
      "change:layer": this.schedule,
      "change:head": this.schedule,
      "change:summary": this.schedule,
      "change:fixed": () => {
        this.#receive();
        changed();
      },
    });
    this.unwatch = watchPage(this.root, this.schedule);
  }

  #receive() {
    this.matrices = unpack(this.model.get("fixed_layout"), this.model.get("fixed"));
  }

  /** A button with a small table for every head of the kind, a line for every layer. */
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
      const caption = make("span", { class: "att-caption", "aria-hidden": "true", text: `layer ${layer}` });
      return make("div", { class: "att-head-line" }, caption, ...line.map(({ button }) => button));
    });
    this.heads.replaceChildren(...lines);
  }

  #headButton(layer, head) {
    const { kind } = this.chosen;
    const told = this.model.get("told")[keyOf(kind, layer, head)];
    const map = new Heatmap(null);
    const caption = make("span", { class: "att-head-caption", text: `head ${head}: ${underHead(told)}` });
    const attributes = {
      type: "button",
      class: "att-head",
      "aria-label": headInWords(layer, head, told),
      onclick: () => this.#set({ layer, head }),
    };
    return { button: make("button", attributes, map.element, caption), map };
  }

  #onKey(event) {
    const { layer, head } = this.chosen;
    const { layers, heads } = this.about;
    const to = moved(event.key, event.ctrlKey, { row: layer, column: head }, { rows: layers, columns: heads });
    if (to) {
      this.buttons[to.row][to.column].button.focus();
      this.#set({ layer: to.row, head: to.column });
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #set(state) {
    this.model.set(state);
    this.model.save_changes();
    const { kind, layer, head } = this.chosen;
    const told = this.model.get("told")[keyOf(kind, layer, head)];
    if (told) {
      this.announcer.say(`${kind}, ${headInWords(layer, head, told)}`);
    }
  }

  #select(to, how) {
    this.selected = to;
    if (how === "key") {
      this.announcer.say(this.#sumInWords().join("; "));
    }
    this.schedule();
  }

  #matrix() {
    const { kind, layer, head } = this.chosen;
    return this.matrices[keyOf(kind, layer, head)];
  }

  #sumInWords() {
    const matrix = this.#matrix();
    return [cellInWords(matrix, this.about, this.selected), rowInWords(matrix, this.about, this.selected.row)];
  }

  #draw() {
    const { kind, layer, head } = this.chosen;
    if (!this.#matrix()) {
      return; // a kind with fewer layers or heads: Python says at once which one is shown
    }
    this.kinds.show(kind);
    this.heading.textContent = `${kind}, layer ${layer}, head ${head}`;
    if (this.tables.hidden) {
      this.#drawMaps();
    } else {
      this.#fillTables();
    }
    const [cell, row] = this.#sumInWords();
    this.sum.replaceChildren(make("span", { class: "att-place", text: cell }), make("span", { text: row }));
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #drawMaps() {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const { kind, layer, head } = this.chosen;
    const { queries, keys } = this.about;
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
    this.map.draw({ ...labels, matrix: this.#matrix(), cell, selected: this.selected, row: this.selected.row }, style);
    const size = `${queries.length} queries by ${keys.length} keys`;
    this.map.element.setAttribute("aria-label", `${this.heading.textContent}, ${size}. Arrow keys move.`);
  }

  #fillTables() {
    const { kind } = this.chosen;
    const { layers, heads, queries, keys } = this.about;
    const told = this.model.get("told");
    const places = Array.from({ length: layers * heads }, (_, at) => [Math.floor(at / heads), at % heads]);
    const found = places.map(([layer, head]) => told[keyOf(kind, layer, head)]);
    const measures = {
      columns: 2,
      rows: found.length,
      values: found.flatMap(({ share, entropy }) => [share, entropy]),
    };
    const names = places.map(([layer, head], at) => `layer ${layer}, head ${head}: ${found[at].pattern}`);
    this.tables.replaceChildren(
      table(this.heading.textContent, this.#matrix(), queries, keys),
      table(`All heads of ${kind}: what they are most like`, measures, names, ["share of the weight", "entropy"]),
    );
  }
}

export default {
  render({ model, el }) {
    const view = new HeadExplorer(model, el);
    return () => view.close();
  },
};
