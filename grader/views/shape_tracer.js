// The nineteen steps of a Transformer: the place of each in the model, what goes in, what comes out.

import { make, textTable } from "./frame.js";
import { pieces, say } from "./say.js";
import { inWords, mark, shapesInWords, VERDICTS, verdictInWords } from "./shape_words.js";
import { Picture, rendering } from "./view.js";

class ShapeTracer extends Picture {
  constructor(model, element) {
    super(say("Shape tracer"), model, element);
    this.#build();
    this.#showStep();
    const changed = () => this.#showStep();
    this.follow({ "change:step": changed, "change:steps": changed });
  }

  get at() {
    return this.model.get("step");
  }

  #build() {
    this.heading = make("h3", { class: "att-title" });
    this.story = make("p", { class: "att-story" });
    this.shapes = make("div", { class: "trace-shapes" });
    const details = make("div", { class: "trace-beside" }, this.heading, this.story, this.shapes, this.sum);
    this.picture = this.#map();
    this.figure.classList.add("trace-figure");
    this.figure.append(this.picture, details);
    this.verdict = make("p", { class: "att-sum" });
    this.lay(this.#buildWalk(), this.figure, this.tables, this.verdict, this.foot);
  }

  #buildWalk() {
    const count = this.model.get("steps").length;
    const button = (text, by) => make("button", { type: "button", text, onclick: () => this.#go(this.at + by) });
    this.back = button(say("Back"), -1);
    this.next = button(say("Next"), 1);
    this.slider = make("input", {
      type: "range",
      min: 1,
      max: count,
      step: 1,
      oninput: () => this.#go(Number(this.slider.value)),
    });
    const label = make("label", {}, ...pieces(say("Step {slider}"), { slider: this.slider }));
    return make("div", { class: "att-scale" }, label, this.back, this.next);
  }

  /** The map of the model: a click on a box goes to its first step. */
  #map() {
    const picture = make("div", { class: "trace-picture", "aria-hidden": "true" });
    picture.innerHTML = this.model.get("map");
    for (const text of picture.querySelectorAll("text:not(.map-mark)")) {
      text.textContent = say(text.textContent); // of a stored state, which is in English
    }
    this.boxes = [...picture.querySelectorAll("[data-steps]")].map((element) => {
      const steps = element.dataset.steps.split(" ").map(Number);
      element.addEventListener("click", () => this.#go(steps[0]));
      return { element, steps, sign: element.querySelector(".map-mark") };
    });
    return picture;
  }

  #go(step) {
    if (step >= 1 && step <= this.model.get("steps").length) {
      this.set({ step });
    }
  }

  #showStep() {
    const steps = this.model.get("steps");
    const step = steps[this.at - 1];
    this.slider.value = this.at;
    const now = { at: this.at, count: steps.length, title: say(step.title) };
    this.slider.setAttribute("aria-valuetext", say("{at} of {count}, {title}", now));
    this.back.disabled = this.at === 1;
    this.next.disabled = this.at === steps.length;
    this.heading.textContent = say("Step {at}: {title}", { at: this.at, title: now.title });
    this.story.textContent = say(step.story);
    this.shapes.replaceChildren(...this.#list(say("goes in"), step.into), ...this.#list(say("comes out"), step.out));
    this.sum.textContent = verdictInWords(step);
    this.sum.hidden = !this.sum.textContent;
    this.announcer.say(inWords(this.at, steps));
    this.#markBoxes(steps);
    this.schedule();
  }

  #list(title, pieces) {
    if (pieces.length === 0) {
      return [];
    }
    const lines = pieces.map((piece) => {
      const shape = make("code", { text: `${piece.axes} = ${piece.shape}` });
      const mine = piece.mine
        ? [
            make("span", {
              class: "trace-mine",
              text: say("{sign} yours {shape}", { sign: piece.agrees ? "✓" : "✗", shape: piece.mine }),
            }),
          ]
        : [];
      return make("li", {}, make("span", { class: "trace-name", text: say(piece.name) }), shape, ...mine);
    });
    return [make("div", { class: "att-caption", text: title }), make("ul", {}, ...lines)];
  }

  /** Marks the boxes of the current step, and the verdict on the learner's model at each. */
  #markBoxes(steps) {
    for (const { element, steps: numbers, sign } of this.boxes) {
      element.classList.toggle("trace-now", numbers.includes(this.at));
      sign.textContent = mark(numbers.map((number) => steps[number - 1].verdict));
    }
  }

  writeTexts() {
    const verdict = this.model.get("verdict");
    this.verdict.hidden = !verdict;
    this.verdict.textContent = verdict;
  }

  tablesOf() {
    const judged = Boolean(this.model.get("verdict"));
    const heads = [
      say("step"),
      say("title"),
      say("goes in"),
      say("comes out"),
      ...(judged ? [say("yours"), say("verdict")] : []),
    ];
    const rows = this.model.get("steps").map((step, place) => {
      const mine = step.out.filter((piece) => piece.mine).map((piece) => `${say(piece.name)} ${piece.mine}`);
      const cells = [say(step.title), shapesInWords(step.into), shapesInWords(step.out)];
      return [String(place + 1), ...cells, ...(judged ? [mine.join(", "), VERDICTS[step.verdict]] : [])];
    });
    const table = textTable(say("The nineteen steps"), heads, rows);
    table.classList.add("trace-table");
    return [table];
  }
}

export default rendering(ShapeTracer);
