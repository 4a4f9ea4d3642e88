// The cross-attention of a translator: pick a date, a moment and a head, and step through what was to be written.

import { rowInWords, visible, weightInCell } from "./alignment_words.js";
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
import { cellSize, Heatmap } from "./heatmap.js";
import { unpack } from "./numbers.js";

const STORY =
  "A row for each character of the answer, a column for each character of the source. Up and down arrows step through " +
  "the answer. The model was given the right beginning, and guessed what comes next.";
const CHOSEN = ["pair", "moment", "head"];

class AlignmentView {
  constructor(model, element) {
    this.model = model;
    this.root = element;
    this.column = 0;
    this.announcer = new Announcer();
    this.schedule = oncePerPicture(() => this.#draw());
    this.tables = unpack(model.get("layout_of_weights"), model.get("weights"));
    this.#build();
    this.#showChoice();
    const chosen = CHOSEN.map((name) => [`change:${name}`, () => this.#showChoice(true)]);
    this.unlisten = listen(model, {
      ...Object.fromEntries(chosen),
      "change:row": this.schedule,
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

  #build() {
    this.root.classList.add("att-view");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Alignment view");
    const lists = { pair: ["Date", "sources"], moment: ["Training", "moments"], head: ["Heads", "heads"] };
    this.choices = Object.fromEntries(
      Object.entries(lists).map(([trait, [label, names]]) => {
        const pick = (name) => this.#set(trait, this.model.get(names).indexOf(name));
        return [trait, { names, choice: new Choice(label, this.model.get(names), pick) }];
      }),
    );
    this.map = new Heatmap((to, how) => this.#select(to, how));
    this.written = make("p", { class: "att-written" });
    this.figure = make("div", { class: "att-figure" }, this.map.element);
    this.tableBox = make("div", { class: "att-tables", hidden: true });
    this.sum = make("p", { class: "att-sum" });
    this.legend = make("div", { class: "att-legend" }, ...colourScale("the weights", [0, 1]));
    this.summary = make("p", { class: "att-summary" });
    const foot = make(
      "div",
      { class: "att-foot" },
      tableSwitch(this.figure, this.tableBox, this.schedule),
      this.summary,
    );
    this.root.replaceChildren(
      ...Object.values(this.choices).map(({ choice }) => choice.element),
      make("p", { class: "att-story", text: STORY }),
      this.written,
      this.figure,
      this.tableBox,
      this.legend,
      this.sum,
      foot,
      this.announcer.element,
    );
  }

  /** What is shown now: the table of weights, its two texts, what was guessed, and the row. */
  get shown() {
    const [pair, moment, head] = CHOSEN.map((trait) => {
      const names = this.model.get(this.choices[trait].names);
      return Math.min(this.model.get(trait), names.length - 1);
    });
    const key = `${this.model.get("moments")[moment]}/${pair}`;
    const matrix = this.tables[`${key}/${this.model.get("heads")[head]}`];
    const source = [...this.model.get("sources")[pair]];
    const answer = this.model.get("answers")[pair];
    const row = Math.min(this.model.get("row"), matrix.rows - 1);
    return { matrix, source, answer, row, guesses: this.model.get("guesses")[key], chosen: { pair, moment, head } };
  }

  #set(trait, value) {
    this.model.set(trait, value);
    this.model.save_changes();
  }

  #showChoice(say = false) {
    const { chosen, guesses, answer } = this.shown;
    for (const [trait, { names, choice }] of Object.entries(this.choices)) {
      choice.show(this.model.get(names)[chosen[trait]]);
    }
    const guessed = guesses.filter((token) => token !== "<eos>").join("");
    this.written.replaceChildren(
      "Should write ",
      make("code", { text: answer.slice(0, -1).join("") }),
      ", guessed ",
      make("code", { text: guessed }),
    );
    if (say) {
      this.announcer.say(`${this.written.textContent}. ${rowInWords(this.shown)}`);
    }
    this.schedule();
  }

  #select({ row, column }, how) {
    this.column = column;
    if (row !== this.model.get("row")) {
      this.#set("row", row);
    }
    if (how === "key") {
      this.announcer.say(rowInWords(this.shown));
    }
    this.schedule();
  }

  #draw() {
    const { shown } = this;
    const rowLabels = shown.answer.map((token) => (token === "<eos>" ? "eos" : token));
    const columnLabels = shown.source.map(visible);
    if (this.tableBox.hidden) {
      this.#drawMap(shown, rowLabels, columnLabels);
    } else {
      this.tableBox.replaceChildren(table("Weights", shown.matrix, rowLabels, columnLabels));
    }
    this.sum.textContent = rowInWords(shown);
    this.summary.textContent = this.model.get("summary");
    this.root.dispatchEvent(new CustomEvent("att-drawn"));
  }

  #drawMap({ matrix, row }, rowLabels, columnLabels) {
    if (!this.figure.clientWidth) {
      return; // out of the page: drawn when it comes back
    }
    const style = pageStyle(this.root);
    const cell = Math.min(
      34,
      cellSize(this.figure.clientWidth - Heatmap.gutter(rowLabels, 24, style) - 8, matrix.columns),
    );
    const selected = { row, column: Math.min(this.column, matrix.columns - 1) };
    const look = (_row, _column, weight) => ({ text: weightInCell(weight) });
    this.map.draw({ matrix, low: 0, high: 1, rowLabels, columnLabels, cell, selected, row, look }, style);
    const size = `${matrix.rows} characters of the answer, ${matrix.columns} of the source`;
    this.map.element.setAttribute("aria-label", `Cross-attention, ${size}. Arrow keys move from number to number.`);
  }
}

export default {
  render({ model, el }) {
    const view = new AlignmentView(model, el);
    return () => view.close();
  },
};
