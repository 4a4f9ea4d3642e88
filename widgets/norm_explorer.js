// A small table to edit, the row or column that a norm averages over, and the normalised table beside it.

import { Announcer, Choice, listen, make, oncePerPicture, pageStyle, table, tableSwitch, watchPage } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import {
  arithmeticOf,
  changed,
  exactly,
  LARGEST,
  movedInWords,
  NORMS,
  statisticsOf,
  typed,
  withStatistics,
} from "./norm_numbers.js";
import { entry, range, unpack } from "./numbers.js";

const PRESETS = ["start", "one large value", "common offset 1000", "constant row"];
const SIGN_WIDTH = 34; // pixels of the arrow and the gaps around it
const STORY =
  "Arrow keys move over the left table. Type a number to replace the selected one; Page Up and Page Down add and " +
  "subtract 1. A dot marks every output that the last change has moved.";

class NormExplorer {
  constructor(model, element) {
    this.model = model;
    this.root = element;
    this.selected = { row: 0, column: 0 };
    this.announcer = new Announcer();
    this.schedule = oncePerPicture(() => this.#draw());
    this.#build();
    this.#receive();
    this.#fillField();
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
    this.root.setAttribute("aria-label", "Norm explorer");
    this.norms = new Choice("Norm", Object.keys(NORMS), (norm) => this.#set({ norm }));
    this.presets = new Choice("Table", PRESETS, (preset) => this.#set({ preset }));
    this.figure = make("div", { class: "att-figure att-aligned" }, ...this.#buildFigure());
    this.tables = make("div", { class: "att-tables", hidden: true });
    this.sum = make("p", { class: "att-sum" });
    this.summary = make("p", { class: "att-summary" });
    const asTable = tableSwitch(this.figure, this.tables, this.schedule);
    const foot = make("div", { class: "att-foot" }, asTable, this.summary);
    const story = make("p", { class: "att-story", text: STORY });
    const body = [this.norms.element, this.presets.element, story, this.figure, this.tables, this.#buildField()];
    this.root.replaceChildren(...body, this.sum, foot, this.announcer.element);
  }

  #buildFigure() {
    this.input = new Heatmap((to, how) => this.#select(to, how), { onKey: (event) => this.#onTableKey(event.key) });
    this.output = new Heatmap(null);
    this.outputCaption = make("span", { class: "att-caption" });
    const caption = make("span", { class: "att-caption", text: "Table, to edit" });
    this.inputBox = make("div", { class: "att-matrix" }, caption, this.input.element);
    return [
      this.inputBox,
      make("span", { class: "att-sign", "aria-hidden": "true", text: "→" }),
      make("div", { class: "att-matrix" }, this.outputCaption, this.output.element),
    ];
  }

  #buildField() {
    const onkeydown = (event) => this.#onFieldKey(event);
    const oninput = () => this.#type();
    const onfocus = () => {
      const { row, column } = this.selected;
      this.original = entry(this.matrices.table, row, column);
    };
    const onblur = () => this.#fillField();
    this.field = make("input", { type: "text", inputmode: "decimal", oninput, onkeydown, onfocus, onblur });
    this.fieldName = make("span");
    this.complaint = make("span", { class: "att-caption" });
    const label = make("label", { class: "att-edit" }, this.fieldName, this.field);
    return make("div", { class: "att-edit" }, label, this.complaint);
  }

  #connect() {
    const received = () => {
      this.#receive();
      this.schedule();
    };
    const tell = () => {
      received();
      this.announcer.say(`${this.model.get("norm")}. ${this.#inWords()} ${movedInWords(this.matrices.moved)}.`);
    };
    const laid = () => {
      received();
      this.#fillField();
    };
    this.unlisten = listen(this.model, {
      "change:table": laid,
      "change:moving": tell,
      "change:norm": tell,
      "change:preset": this.schedule,
      "change:summary": this.schedule,
    });
    this.unwatch = watchPage(this.root, this.schedule);
  }

  #receive() {
    const { table: numbers } = unpack({ table: this.model.get("shape") }, this.model.get("table"));
    this.matrices = { table: numbers, ...unpack(this.model.get("moving_layout"), this.model.get("moving")) };
    this.norm = this.model.get("shown");
  }

  #set(state) {
    this.model.set(state);
    this.model.save_changes();
  }

  #select(to, how) {
    this.selected = to;
    this.#fillField();
    if (how === "key") {
      this.announcer.say(this.#inWords());
    }
    this.schedule();
  }

  /** Keys of the table that change its number, or start typing one. */
  #onTableKey(key) {
    const value = entry(this.matrices.table, this.selected.row, this.selected.column);
    const values = { PageUp: value + 1, PageDown: value - 1, Delete: 0, Backspace: 0 };
    const opens = key === "Enter" || key === "F2";
    if (key in values) {
      this.#lay(values[key]);
      this.#fillField();
    } else if (opens || /^[-+−\d.,]$/.test(key)) {
      this.field.value = opens ? this.field.value : key;
      this.field.focus();
      if (opens) {
        this.field.select();
      } else {
        this.#type();
      }
    } else {
      return false;
    }
    return true;
  }

  /** Enter and Escape lead back to the table; Escape takes back what was typed since the field was entered. */
  #onFieldKey(event) {
    if (event.key !== "Enter" && event.key !== "Escape") {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") {
      this.#lay(this.original);
    }
    this.input.element.focus();
  }

  #type() {
    const value = typed(this.field.value);
    this.field.setAttribute("aria-invalid", String(value === null));
    this.complaint.textContent = value === null ? `A number from −${LARGEST} to ${LARGEST}, please.` : "";
    if (value !== null) {
      this.#lay(value);
    }
  }

  /** Puts a number into the selected cell: seen at once; what follows from it comes from Python. */
  #lay(value) {
    if (Math.abs(value) <= LARGEST) {
      const { values } = changed(this.matrices.table, this.selected, value);
      this.#set({ table: new DataView(values.buffer), preset: "edited" });
    }
  }

  #fillField() {
    const { row, column } = this.selected;
    this.fieldName.textContent = `Number in row ${row}, column ${column}:`;
    if (document.activeElement !== this.field) {
      this.field.value = exactly(entry(this.matrices.table, row, column));
      this.field.setAttribute("aria-invalid", "false");
      this.complaint.textContent = "";
    }
  }

  #arithmetic() {
    return arithmeticOf(this.norm, this.matrices, this.selected);
  }

  #where() {
    const { row, column } = this.selected;
    const { across, heads } = NORMS[this.norm];
    const found = statisticsOf(this.matrices.statistics, this.norm, this.selected).map(exactly);
    const told = heads.map((head, at) => `${head} ${found[at]}`).join(", ");
    return `row ${row}, column ${column}; its ${across}: ${told}`;
  }

  #inWords() {
    const { row, column } = this.selected;
    return `${exactly(entry(this.matrices.table, row, column))} in ${this.#where()}; ${this.#arithmetic()}.`;
  }

  #draw() {
    this.norms.show(this.model.get("norm"));
    this.presets.show(this.model.get("preset"));
    const { rows, columns } = this.matrices.table;
    const rowLabels = Array.from({ length: rows }, (_, at) => `row ${at}`);
    const columnLabels = Array.from({ length: columns }, (_, at) => `col ${at}`);
    const { across, heads } = NORMS[this.norm];
    const full = {
      matrix: withStatistics(this.matrices.table, this.matrices.statistics, this.norm),
      rowLabels: across === "column" ? [...rowLabels, ...heads] : rowLabels,
      columnLabels: across === "row" ? [...columnLabels, ...heads] : columnLabels,
    };
    this.outputCaption.textContent = `After ${this.norm}`;
    if (this.tables.hidden) {
      this.#drawMaps(full, { matrix: this.matrices.output, rowLabels, columnLabels });
    } else {
      const moved = table("Moved (1) or not (0)", this.matrices.moved, rowLabels, columnLabels);
      const left = table("Table", full.matrix, full.rowLabels, full.columnLabels, exactly);
      this.tables.replaceChildren(left, table(this.norm, this.matrices.output, rowLabels, columnLabels), moved);
    }
    this.sum.replaceChildren(
      make("span", { class: "att-place", text: `${this.#where()}. ${movedInWords(this.matrices.moved)}.` }),
      make("code", { text: this.#arithmetic() }),
    );
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #drawMaps(full, after) {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const { rows, columns } = this.matrices.table;
    const gutters = [full, after].reduce((sum, { rowLabels }) => sum + Heatmap.gutter(rowLabels, 24, style) + 4, 0);
    // Room for two statistics whatever the norm, so that the outputs stay where they are when another one is chosen.
    const cell = cellSize(this.figure.clientWidth - gutters - SIGN_WIDTH, 2 * columns + 2);
    this.inputBox.style.minWidth = `${Heatmap.gutter(full.rowLabels, cell, style) + (columns + 2) * cell + 2}px`;
    const [low, high] = range(this.matrices.table);
    const { across } = NORMS[this.norm];
    const group = { [across]: this.selected[across] };
    const look = (row, column, value) => {
      const plain = row >= rows || column >= columns;
      return { text: exactly(value), plain, strong: plain && { row, column }[across] === group[across] };
    };
    const { selected } = this;
    const reach = { rows, columns };
    this.input.draw({ ...full, reach, low, high, cell, look, selected, ...group }, style);
    const end = Math.sqrt(Math.max(rows, columns)); // no output of these norms is larger
    const dots = (row, column) => ({ marked: entry(this.matrices.moved, row, column) === 1 });
    this.output.draw({ ...after, low: -end, high: end, cell, look: dots, selected, ...group }, style);
    const name = `Table to edit, ${rows} rows, ${columns} columns. Arrow keys move, digits type a number.`;
    this.input.element.setAttribute("aria-label", name);
  }
}

export default {
  render({ model, el }) {
    const view = new NormExplorer(model, el);
    return () => view.close();
  },
};
