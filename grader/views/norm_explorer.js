// A small table to edit, the row or column that a norm averages over, and the normalised table.

import { Choice, captioned, make, SIGN_WIDTH, sign, sumParts, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import {
  arithmeticOf,
  edited,
  exactly,
  inWords,
  LARGEST,
  movedInWords,
  NORMS,
  numbersOf,
  PRESETS,
  presetsOf,
  statisticsOf,
  typed,
  withStatistics,
} from "./norm_numbers.js";
import { entry, numbered, range } from "./numbers.js";
import { say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

const STORY = say(
  "Arrow keys or taps choose a number in the left table. Type another to replace it; Page Up and Page Down add and subtract 1. A dot marks every output that the last change moved.",
);

class NormExplorer extends Picture {
  constructor(model, element) {
    super(say("Norm explorer"), model, element);
    this.presetTables = presetsOf(model);
    this.begin(this.presetTables.start);
    this.#build();
    this.#receive();
    this.#fillField();
    const changed = () => {
      this.#receive();
      this.#fillField();
      this.schedule();
      this.announcer.say(together(`${this.norm}.`, this.words(), movedInWords(this.matrices.moved)));
    };
    const names = ["numbers", "before", "norm", "preset"];
    this.follow(Object.fromEntries(names.map((name) => [`change:${name}`, changed])));
  }

  #build() {
    this.norms = new Choice(
      say("Norm"),
      Object.keys(NORMS).map((norm) => [norm, norm]),
      (norm) => this.choose({ norm }),
    );
    this.presets = new Choice(say("Table"), Object.entries(PRESETS), (preset) =>
      this.choose(this.presetTables[preset]),
    );
    this.figure.classList.add("att-aligned");
    this.figure.append(...this.#buildFigure());
    const story = make("p", { class: "att-story", text: STORY });
    const choices = [this.norms.element, this.presets.element];
    this.lay(...choices, story, this.figure, this.tables, this.#buildField(), this.sum, this.foot);
  }

  #buildFigure() {
    this.input = new Heatmap((to, how) => this.select(to, how), { onKey: (event) => this.#onTableKey(event.key) });
    this.output = new Heatmap(null);
    this.outputCaption = make("span", { class: "att-caption" });
    this.inputBox = captioned(say("Table to edit"), this.input.element);
    return [this.inputBox, sign(), captioned(this.outputCaption, this.output.element)];
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

  #receive() {
    this.matrices = numbersOf(this.model);
    this.norm = this.model.get("norm");
  }

  select(to, how) {
    super.select(to, how);
    this.#fillField();
  }

  /** A key in the table that changes the selected number, or starts typing one. Returns whether it was used. */
  #onTableKey(key) {
    const value = entry(this.matrices.table, this.selected.row, this.selected.column);
    const values = { PageUp: value + 1, PageDown: value - 1, Delete: 0, Backspace: 0 };
    const opens = key === "Enter" || key === "F2";
    if (key in values) {
      this.#setNumber(values[key]);
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

  /** Enter and Escape lead back to the table; Escape also restores the number. */
  #onFieldKey(event) {
    if (event.key !== "Enter" && event.key !== "Escape") {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") {
      this.#setNumber(this.original);
    }
    this.input.element.focus();
  }

  #type() {
    const value = typed(this.field.value);
    this.field.setAttribute("aria-invalid", String(value === null));
    this.complaint.textContent =
      value === null ? say("A number from −{largest} to {largest}, please.", { largest: LARGEST }) : "";
    if (value !== null) {
      this.#setNumber(value);
    }
  }

  /** Puts a number into the selected cell. */
  #setNumber(value) {
    if (Math.abs(value) <= LARGEST) {
      const at = this.selected.row * this.matrices.table.columns + this.selected.column;
      this.choose(edited(this.model.get("numbers"), this.model.get("before"), at, value));
    }
  }

  #fillField() {
    const { row, column } = this.selected;
    this.fieldName.textContent = say("Number in row {row}, column {column}:", { row, column });
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
    const values = statisticsOf(this.matrices.statistics, this.norm, this.selected).map(exactly);
    const statistics = heads.map((head, at) => `${head} ${values[at]}`).join(", ");
    return across === "row"
      ? say("row {row}, column {column}; its row: {statistics}", { row, column, statistics })
      : say("row {row}, column {column}; its column: {statistics}", { row, column, statistics });
  }

  words() {
    const { row, column } = this.selected;
    const number = exactly(entry(this.matrices.table, row, column));
    return say("{number} in {place}; {arithmetic}.", { number, place: this.#where(), arithmetic: this.#arithmetic() });
  }

  sentence() {
    return inWords(this.model, this.matrices);
  }

  prepare() {
    this.norms.show(this.norm);
    this.presets.show(this.model.get("preset"));
    const { rows, columns } = this.matrices.table;
    const rowLabels = numbered(rows, (row) => say("row {row}", { row }));
    const columnLabels = numbered(columns, (column) => say("col {column}", { column }));
    const { across, heads } = NORMS[this.norm];
    const full = {
      matrix: withStatistics(this.matrices.table, this.matrices.statistics, this.norm),
      rowLabels: across === "column" ? [...rowLabels, ...heads] : rowLabels,
      columnLabels: across === "row" ? [...columnLabels, ...heads] : columnLabels,
    };
    this.outputCaption.textContent = say("After {norm}", { norm: this.norm });
    return { full, after: { matrix: this.matrices.output, rowLabels, columnLabels } };
  }

  tablesOf({ full, after: { matrix, rowLabels, columnLabels } }) {
    return [
      table(say("Table"), full.matrix, full.rowLabels, full.columnLabels, exactly),
      table(this.norm, matrix, rowLabels, columnLabels),
      table(say("Moved (1) or not (0)"), this.matrices.moved, rowLabels, columnLabels),
    ];
  }

  writeTexts() {
    const where = together(`${this.#where()}.`, movedInWords(this.matrices.moved));
    this.sum.replaceChildren(...sumParts(where, [this.#arithmetic()]));
  }

  drawFigure({ full, after }, style) {
    const { rows, columns } = this.matrices.table;
    const gutters = [full, after].reduce((sum, { rowLabels }) => sum + Heatmap.gutter(rowLabels, 24, style) + 4, 0);
    // Always room for two statistics, so that the outputs stay in place when the norm changes.
    const cell = cellSize(this.figure.clientWidth - gutters - SIGN_WIDTH, 2 * columns + 2, columns);
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
    const name = say(
      "Table to edit, {rows} rows, {columns} columns. Arrow keys move, digits type a number, and Tab leaves.",
      { rows, columns },
    );
    this.input.element.setAttribute("aria-label", name);
  }
}

export default rendering(NormExplorer);
