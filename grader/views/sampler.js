// The distribution of a model's next word, with temperature, top-k and top-p to move, and the text that it writes.

import { keepKeys, make, textTable } from "./frame.js";
import { unpack, written } from "./numbers.js";
import { distributions, drawn, joined, percent, ranked, said, shown, wordsOf } from "./sampler_numbers.js";
import { say, together } from "./say.js";
import { Picture, rendering } from "./view.js";

const ROWS = 12; // words with a bar
const MANY = 40;
const STORY = say(
  "Words are drawn from the bars; the thin line on each bar shows its length without temperature, top-k and top-p. Draw a word, or press one to choose it yourself. Words that the model doesn't know are left out.",
);

class Sampler extends Picture {
  #left = 0; // words still to be drawn

  constructor(model, element) {
    super(say("Sampler"), model, element);
    this.words = model.get("words");
    this.#build();
    this.#receive();
    this.#settle();
    const settings = ["temperature", "top_k", "top_p"].map((name) => [`change:${name}`, () => this.#settle()]);
    this.follow({ "change:read": () => this.#receive(), ...Object.fromEntries(settings) });
  }

  #build() {
    const oninput = () => this.#read(this.text.value);
    const onchange = () => this.#write(this.text.value);
    this.text = make("textarea", {
      rows: 5,
      spellcheck: "false",
      "aria-label": say("The text so far"),
      oninput,
      onchange,
    });
    keepKeys(this.text);
    const button = (text, onclick) => make("button", { type: "button", text, onclick });
    const buttons = [
      button(say("Draw one"), () => this.#draw(1)),
      button(say("Draw {count}", { count: MANY }), () => this.#draw(MANY)),
      button(say("Take back the last word"), () => this.#write(joined(wordsOf(this.model.get("text")).slice(0, -1)))),
      button(say("Start again"), () => this.#write(this.model.get("prompt"))),
    ];
    this.sliders = [
      this.#slider(say("Temperature"), "temperature", { min: 0, max: 2, step: 0.1 }),
      this.#slider(say("Top-k"), "top_k", { min: 1, max: this.words.length, step: 1 }),
      this.#slider(say("Top-p"), "top_p", { min: 0.05, max: 1, step: 0.05 }),
    ];
    this.bars = make("ol", { class: "att-bars", "aria-label": say("The likeliest next words") });
    this.figure.append(this.bars);
    this.lay(
      this.text,
      make("div", { class: "att-choice" }, ...buttons),
      make("div", { class: "att-knobs" }, ...this.sliders.map(({ element }) => element)),
      make("p", { class: "att-story", text: STORY }),
      this.figure,
      this.tables,
      this.sum,
      this.foot,
    );
  }

  #slider(name, trait, range) {
    const input = make("input", { type: "range", ...range, oninput: () => this.set({ [trait]: Number(input.value) }) });
    const output = make("output");
    const show = () => {
      const value = this.model.get(trait);
      const all = trait !== "temperature" && value >= range.max;
      input.value = value;
      output.textContent = all ? say("all") : written(value);
      input.setAttribute("aria-valuetext", `${name} ${output.textContent}`);
    };
    return { element: make("label", {}, name, input, output), show };
  }

  /** The model has read a text: its logits are here. */
  #receive() {
    this.read = this.model.get("read");
    this.logits = [...unpack(this.model.get("logits_layout"), this.model.get("logits")).logits.values];
    this.#decide();
    if (!this.#isRead()) {
      this.schedule();
      return;
    }
    if (document.activeElement !== this.text || this.#left > 0) {
      this.text.value = this.read;
    }
    if (this.#left > 0) {
      this.#draw(this.#left);
    } else if (this.pressed) {
      this.announcer.say(together(this.pressed, this.#likeliest()));
      this.pressed = "";
    }
    this.schedule();
  }

  /** Whether the logits are those of the text as it is now. Until then nothing is drawn from them. */
  #isRead() {
    return this.read === this.model.get("text");
  }

  #settle() {
    for (const { show } of this.sliders) {
      show();
    }
    this.#decide();
    this.announcer.say(this.#likeliest());
    this.schedule();
  }

  #decide() {
    const [temperature, topK, topP] = ["temperature", "top_k", "top_p"].map((name) => this.model.get(name));
    this.found = distributions(this.logits, { temperature, topK, topP });
  }

  #likeliest() {
    const stay = this.found.final.filter((probability) => probability > 0).length;
    const first = ranked(this.found.final)
      .slice(0, 3)
      .filter((at) => this.found.final[at] > 0);
    const named = first.map((at) => `${said(this.words[at])} ${percent(this.found.final[at])}`).join(", ");
    return stay === 1
      ? say("1 word stays: {words}", { words: named })
      : say("{stay} words stay: {words}", { stay, words: named });
  }

  /** Draws a word when the model has read the text, and then the next one, until `count` are drawn. */
  #draw(count) {
    if (!this.#isRead()) {
      this.#left = count;
      return;
    }
    const at = drawn(this.found.final, Math.random());
    this.pressed = say("Drawn: {word}.", { word: said(this.words[at]) });
    this.#write(joined([...wordsOf(this.read), this.words[at]]), count - 1);
  }

  #take(at) {
    this.pressed = say("Taken: {word}.", { word: said(this.words[at]) });
    this.#write(joined([...wordsOf(this.read), this.words[at]]));
  }

  /** Gives the model a text to read, and shows it, without what the model doesn't know. `left` more words are to be
   * drawn then. */
  #write(text, left = 0) {
    const known = this.#known(text);
    if (known !== this.text.value) {
      this.text.value = known;
    }
    this.#read(known, left);
  }

  /** The same while somebody types: half a word is not known yet, and stays. */
  #read(text, left = 0) {
    const known = this.#known(text);
    if (known) {
      this.#left = left;
      this.set({ text: known });
    }
  }

  #known(text) {
    return joined(wordsOf(text).filter((word) => this.words.includes(word)));
  }

  prepare() {
    return ranked(this.found.plain);
  }

  writeTexts() {
    const after = this.read.slice(-30).replaceAll("\n", "↵");
    this.sum.replaceChildren(
      make("span", { class: "att-place", text: say("What comes after “{text}”?", { text: after }) }),
      make("code", { text: this.#likeliest() }),
    );
  }

  /** A bar for each of the likeliest words; the rows are made once, so that the focus stays. */
  drawFigure(order) {
    const { plain, final } = this.found;
    while (this.bars.children.length < Math.min(ROWS, order.length)) {
      const name = make("span", { class: "att-word" });
      const bar = make("span", { class: "att-share", "aria-hidden": "true" }, make("span"), make("span"));
      const number = make("span", { class: "att-percent" });
      const place = this.bars.children.length;
      const onclick = () => this.#take(ranked(this.found.plain)[place]);
      // The blanks part the texts for whoever hears them; the layout has gaps of its own.
      this.bars.append(make("li", {}, make("button", { type: "button", onclick }, name, " ", bar, " ", number)));
    }
    [...this.bars.children].forEach((row, place) => {
      const [name, bar, number] = row.firstChild.children;
      const at = order[place];
      name.textContent = shown(this.words[at]);
      number.textContent = percent(final[at]);
      bar.firstChild.style.width = `${100 * final[at]}%`;
      bar.lastChild.style.left = `${100 * plain[at]}%`;
      const label = say("Take {word}: {share}, by softmax alone {plain}", {
        word: said(this.words[at]),
        share: percent(final[at]),
        plain: percent(plain[at]),
      });
      row.firstChild.setAttribute("aria-label", label);
    });
  }

  tablesOf(order) {
    const { plain, tempered, afterK, final } = this.found;
    const heads = [
      say("word"),
      say("logit"),
      say("softmax"),
      say("with temperature"),
      say("after top-k"),
      say("after top-p"),
    ];
    const rows = order.map((at) => {
      const numbers = [plain, tempered, afterK, final].map((distribution) => percent(distribution[at]));
      return [said(this.words[at]), written(this.logits[at]), ...numbers];
    });
    return [textTable(say("All words, with the likeliest first"), heads, rows)];
  }
}

export default rendering(Sampler);
