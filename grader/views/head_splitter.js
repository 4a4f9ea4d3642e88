// A numbered tensor on its way into heads and back. Tables, not a canvas, so that every number can be read.

import { cividis, css, inkOn, shareOf } from "./colour.js";
import { keepKeys, make, Stepper, sumParts } from "./frame.js";
import {
  blocks,
  cellOf,
  entryAt,
  indexOf,
  inWords,
  label,
  numbersOf,
  owner,
  placeInWords,
  STEPS,
  trail,
} from "./head_steps.js";
import { strip, tensorTables } from "./head_tables.js";
import { moved } from "./heatmap.js";
import { say, together } from "./say.js";
import { rendering, View } from "./view.js";

const COLOURS = [
  ["token", say("Colour by token")],
  ["head", say("Colour by head")],
];
const GLIDE = 700; // milliseconds that the numbers take to their new places

class HeadSplitter extends View {
  constructor(model, element) {
    super(say("Head splitter"), model, element);
    this.number = 10; // the number that is followed
    this.by = "token";
    this.begin({ step: 1 });
    this.#receive();
    this.#build();
    this.#showStep();
    this.listen({ "change:step": () => this.#showStep(), "change:sizes": () => this.#showSizes() });
  }

  get stage() {
    return this.stages[this.model.get("step") - 1];
  }

  #receive() {
    this.stages = numbersOf(this.model).stages;
  }

  sentence() {
    return inWords(this.model, this);
  }

  #build() {
    const names = STEPS.map((step) => step.short);
    this.stepper = new Stepper(names, (step) => this.choose({ step }));
    this.heading = make("h3", { class: "att-title" });
    this.story = make("p", { class: "att-story" });
    this.tensors = make("div", { class: "att-figure att-tensors" });
    this.memory = make("div", { class: "att-memory" });
    this.lay(
      this.#buildChoices(),
      this.stepper.element,
      this.heading,
      this.story,
      this.tensors,
      this.memory,
      this.sum,
      this.summary,
    );
  }

  #buildChoices() {
    const most = this.model.get("most");
    this.sizes = [say("Tokens T"), say("Heads H"), say("Width of a head D")].map((name, axis) => {
      const options = Array.from({ length: most[axis] }, (_, at) => make("option", { text: String(at + 1) }));
      const select = make("select", { onchange: () => this.#resize() }, ...options);
      keepKeys(select);
      return { select, element: make("label", {}, `${name} `, select) };
    });
    this.colours = COLOURS.map(([by, text]) =>
      make("button", { type: "button", text, onclick: () => this.#colour(by) }),
    );
    const selects = this.sizes.map(({ element }) => element);
    return make("div", { class: "att-sizes" }, ...selects, ...this.colours);
  }

  #resize() {
    this.choose({ sizes: this.sizes.map(({ select }) => select.selectedIndex + 1) });
  }

  #colour(by) {
    this.by = by;
    this.#draw();
  }

  #showSizes() {
    this.#receive();
    this.#showStep();
    const [seqLen, heads, width] = this.model.get("sizes");
    const values = { tokens: seqLen, heads, width, columns: heads * width };
    this.announcer.say(say("T = {tokens}, H = {heads}, D = {width}: x has {columns} columns.", values));
  }

  #showStep() {
    const at = this.model.get("step");
    const { stage } = this;
    if (!stage.reads.includes(this.number)) {
      this.number = stage.reads[0];
    }
    this.stepper.show(at);
    this.heading.replaceChildren(make("code", { text: stage.code ? `${stage.name} = ${stage.code}` : stage.name }));
    this.story.textContent = STEPS[at - 1].story;
    const now = { at, count: STEPS.length, title: this.heading.textContent };
    this.announcer.say(together(say("Step {at} of {count}, {title}.", now), STEPS[at - 1].story));
    const before = this.#places();
    this.#draw();
    this.#glide(before);
  }

  #follow(number) {
    this.number = number;
    this.#draw();
  }

  /** Draws everything anew, a few dozen cells. The focused cell keeps the focus. */
  #draw() {
    const { stage } = this;
    const hadFocus = this.tensors.contains(this.root.ownerDocument.activeElement);
    const [, heads, width] = this.model.get("sizes");
    const most = this.model.get("most").at(-1);
    this.sizes.forEach(({ select }, axis) => {
      select.selectedIndex = this.model.get("sizes")[axis] - 1;
      const other = [1, width, heads][axis];
      [...select.options].forEach((option, at) => {
        option.disabled = axis > 0 && (at + 1) * other > most;
      });
    });
    this.colours.forEach((button, at) => {
      button.setAttribute("aria-pressed", String(this.by === COLOURS[at][0]));
    });
    const tables = tensorTables(stage, stage.reads, (at) => this.#cell(stage, at));
    this.tensors.replaceChildren(tables, ...this.#aside(stage));
    this.memory.replaceChildren(...this.#strips(stage));
    this.#showNumber();
    if (hadFocus) {
      this.tensors.querySelector("[tabindex='0']").focus();
    }
    this.finish();
  }

  /** The short cut with its misplaced numbers, or what `view` refuses to do here. */
  #aside({ wrong, refused, reads, axes }) {
    if (wrong) {
      return [
        tensorTables({ ...wrong, axes, name: say("Short cut: {code}", { code: wrong.code }) }, reads, (at) =>
          this.#shortCutCell(wrong, reads, at),
        ),
      ];
    }
    if (refused) {
      const text = refused.error || say("works here, because it joins no axes that are apart in memory.");
      return [make("p", { class: "att-refused" }, make("code", { class: "att-line", text: refused.code }), text)];
    }
    return [];
  }

  #cell({ reads }, at) {
    const number = reads[at];
    const cell = this.#plainCell(number);
    cell.dataset.number = number;
    cell.tabIndex = number === this.number ? 0 : -1;
    keepKeys(cell);
    cell.addEventListener("keydown", (event) => this.#onKey(event, at));
    return cell;
  }

  #shortCutCell(wrong, reads, at) {
    const cell = this.#plainCell(wrong.reads[at]);
    if (wrong.reads[at] !== reads[at]) {
      const note = say(", wrong: {number} belongs here", { number: label(reads[at]) });
      cell.classList.add("att-misplaced");
      cell.append(
        make("span", { "aria-hidden": "true", text: "✗" }),
        make("span", { class: "att-unseen", text: note }),
      );
    }
    return cell;
  }

  #plainCell(number) {
    const onclick = () => this.#follow(number);
    const cell = make("td", { role: "gridcell", class: "att-cell", text: label(number), onclick });
    this.#paint(cell, number);
    return cell;
  }

  #paint(element, number) {
    const [seqLen, heads, width] = this.model.get("sizes");
    const most = (this.by === "token" ? seqLen : heads) - 1;
    const colour = cividis(shareOf(owner(number, width)[this.by], 0, most));
    element.style.background = css(colour);
    element.style.color = inkOn(colour);
    element.classList.toggle("att-followed", number === this.number);
  }

  #onKey(event, at) {
    const { shape, reads } = this.stage;
    const { count, rows, columns } = blocks(shape);
    const to = moved(event.key, event.ctrlKey, cellOf(at, shape), { rows, columns: count * columns });
    if (to) {
      event.preventDefault();
      event.stopPropagation();
      this.#follow(reads[entryAt(to, shape)]);
      this.announcer.say(this.sum.textContent);
    }
  }

  /** Memory, place by place, and below it what the tensor reads: each number with the place it comes from. */
  #strips({ memory, reads, copied, contiguous }) {
    const isFirst = this.model.get("step") === 1;
    const paint = (element, number) => this.#paint(element, number);
    const state = copied
      ? say("In memory, rewritten by copying the numbers")
      : say("In memory, the same as in the step before");
    const order = contiguous
      ? say("As the tensor reads it, place by place, so it is contiguous")
      : say("As the tensor reads it, jumping from place to place, so it isn't contiguous");
    return [
      make("div", { class: "att-caption", text: isFirst ? say("In memory") : state }),
      strip(say("In memory"), memory, memory, paint),
      make("div", { class: "att-caption", text: order }),
      strip(say("As the tensor reads it"), reads, memory, paint),
    ];
  }

  #showNumber() {
    const { stage, number } = this;
    const [, , width] = this.model.get("sizes");
    const { token, column, head } = owner(number, width);
    const index = indexOf(stage.reads.indexOf(number), stage.shape);
    const way = trail(number, this.stages.slice(0, this.model.get("step")));
    const lines = [`${way}.`, say("place in memory: {sum}.", { sum: placeInWords(index, stage.strides) })];
    if (stage.wrong) {
      const at = stage.wrong.reads.indexOf(number);
      const values = { index: `[${indexOf(at, stage.shape).join(", ")}]`, other: label(stage.reads[at]) };
      lines.push(
        stage.reads[at] === number
          ? say("in the short cut: {index}, the right place.", values)
          : say("in the short cut: {index}, where {other} belongs.", values),
      );
    }
    const owned = { number: label(number), token, column, head };
    const where = `${say("{number}: token {token}, column {column}, head {head}.", owned)} `;
    const sentences = lines.map((text) => `${text} `);
    this.sum.replaceChildren(...sumParts(where, sentences, { class: "att-line" }));
  }

  #places() {
    const cells = [...this.tensors.querySelectorAll("[data-number]")];
    return new Map(cells.map((cell) => [cell.dataset.number, cell.getBoundingClientRect()]));
  }

  /** Moves every number from its old place to its new one. */
  #glide(before) {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      return;
    }
    for (const [number, now] of this.#places()) {
      const old = before.get(number);
      if (old?.width && now.width) {
        const from = `translate(${old.left - now.left}px, ${old.top - now.top}px)`;
        const cell = this.tensors.querySelector(`[data-number="${number}"]`);
        cell.animate([{ transform: from }, { transform: "none" }], { duration: GLIDE, easing: "ease-in-out" });
      }
    }
  }
}

export default rendering(HeadSplitter);
