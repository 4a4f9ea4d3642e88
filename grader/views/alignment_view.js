// The cross-attention of a translator: pick a date, a moment and a head, and step through the right answer.

import { headInWords, rowInWords, visible, weightInCell } from "./alignment_words.js";
import { Choice, colourScale, make, table } from "./frame.js";
import { cellSize, Heatmap } from "./heatmap.js";
import { unpack } from "./numbers.js";
import { pieces, say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

const STORY = say(
  "Each row is a character of the answer, and each column a character of the source. The up and down arrows step through the answer. The model was given the right beginning and guessed the next character.",
);
const CHOSEN = ["pair", "moment", "head"];

class AlignmentView extends Picture {
  constructor(model, element) {
    super(say("Alignment view"), model, element);
    this.weights = unpack(model.get("layout_of_weights"), model.get("weights"));
    this.#build();
    this.#showChoice();
    const chosen = CHOSEN.map((name) => [`change:${name}`, () => this.#showChoice(true)]);
    this.follow({ ...Object.fromEntries(chosen), "change:row": this.schedule });
  }

  #build() {
    const lists = {
      pair: [say("Date"), "sources", (source) => source],
      moment: [say("Training"), "moments", (moment) => say(moment)],
      head: [say("Heads"), "heads", headInWords],
    };
    this.choices = Object.fromEntries(
      Object.entries(lists).map(([trait, [label, names, inWords]]) => {
        const options = this.model.get(names).map((name, at) => [at, inWords(name, at)]);
        return [trait, { names, choice: new Choice(label, options, (at) => this.set({ [trait]: at })) }];
      }),
    );
    this.map = new Heatmap((to, how) => this.select(to, how));
    this.written = make("p", { class: "att-written" });
    this.figure.append(this.map.element);
    this.legend.append(...colourScale(say("the weights"), [0, 1]));
    this.lay(
      ...Object.values(this.choices).map(({ choice }) => choice.element),
      make("p", { class: "att-story", text: STORY }),
      this.written,
      this.figure,
      this.tables,
      this.legend,
      this.sum,
      this.foot,
    );
  }

  /** The table of weights, its two texts, the guesses, the row, and what is chosen. */
  get shown() {
    const [pair, moment, head] = CHOSEN.map((trait) => {
      const names = this.model.get(this.choices[trait].names);
      return Math.min(this.model.get(trait), names.length - 1);
    });
    const key = `${this.model.get("moments")[moment]}/${pair}`;
    const matrix = this.weights[`${key}/${this.model.get("heads")[head]}`];
    const source = [...this.model.get("sources")[pair]];
    const answer = this.model.get("answers")[pair];
    const row = Math.min(this.model.get("row"), matrix.rows - 1);
    return { matrix, source, answer, row, guesses: this.model.get("guesses")[key], chosen: { pair, moment, head } };
  }

  #showChoice(aloud = false) {
    const { chosen, guesses, answer } = this.shown;
    for (const [trait, { choice }] of Object.entries(this.choices)) {
      choice.show(chosen[trait]);
    }
    const guessed = guesses.filter((token) => token !== "<eos>").join("");
    this.written.replaceChildren(
      ...pieces(say("Expected {answer}, guessed {guess}."), {
        answer: make("code", { text: answer.slice(0, -1).join("") }),
        guess: make("code", { text: guessed }),
      }),
    );
    if (aloud) {
      this.announcer.say(together(this.written.textContent, rowInWords(this.shown)));
    }
    this.schedule();
  }

  /** The row is a trait; the column stays in the browser. */
  select(to, how) {
    if (to.row !== this.model.get("row")) {
      this.set({ row: to.row });
    }
    super.select(to, how);
  }

  words() {
    return rowInWords(this.shown);
  }

  prepare() {
    const { shown } = this;
    const rowLabels = shown.answer.map((token) => (token === "<eos>" ? "eos" : token));
    return { ...shown, rowLabels, columnLabels: shown.source.map(visible) };
  }

  writeTexts(shown) {
    this.sum.textContent = rowInWords(shown);
  }

  tablesOf({ matrix, rowLabels, columnLabels }) {
    return [table(say("Weights"), matrix, rowLabels, columnLabels)];
  }

  drawFigure({ matrix, row, rowLabels, columnLabels }, style) {
    const cell = Math.min(
      34,
      cellSize(this.figure.clientWidth - Heatmap.gutter(rowLabels, 24, style) - 8, matrix.columns),
    );
    const selected = { row, column: Math.min(this.selected.column, matrix.columns - 1) };
    const look = (_row, _column, weight) => ({ text: weightInCell(weight) });
    this.map.draw({ matrix, low: 0, high: 1, rowLabels, columnLabels, cell, selected, row, look }, style);
    const name = say(
      "Cross-attention, {rows} characters of the answer, {columns} of the source. Arrow keys move from number to number, and Tab leaves.",
      { rows: matrix.rows, columns: matrix.columns },
    );
    this.map.element.setAttribute("aria-label", name);
  }
}

export default rendering(AlignmentView);
