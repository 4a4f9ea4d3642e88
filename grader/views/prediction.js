// A question with choices or a field for a number. A guess is kept when the button is pressed, and can be changed until
// what came out has been seen. On a page, `att-answer` tells that it may be shown.

import { make } from "./frame.js";
import { say, together } from "./say.js";
import { rendering, View } from "./view.js";

/** A text whose `code` in backquotes is code. */
function inline(text) {
  return text.split("`").map((piece, at) => (at % 2 ? make("code", { text: piece }) : piece));
}

/** A typed number, NaN if it is none; a comma is a point and a minus sign a hyphen. */
export function numberOf(text) {
  const plain = text.trim().replace(",", ".").replace("−", "-");
  return plain === "" ? Number.NaN : Number(plain);
}

/** What is asked of a number, for example "a number from 0 to 1". */
export function wanted(low, high) {
  if (low !== null && high !== null) {
    return say("a number from {low} to {high}", { low, high });
  }
  if (low !== null) {
    return say("a number from {low}", { low });
  }
  return high === null ? say("a number") : say("a number up to {high}", { high });
}

let count = 0; // of the groups of radio buttons, whose names must differ

class Prediction extends View {
  constructor(model, element) {
    super(say("Prediction"), model, element);
    count += 1;
    this.choices = model.get("choices");
    this.inputs = this.choices.length ? this.choices.map((_, at) => this.#radio(at)) : [this.#field()];
    this.complaint = make("p", { class: "att-complaint", role: "alert" });
    this.button = make("button", { type: "submit", text: say("This is my guess") });
    this.look = make("button", { type: "button", text: say("Show me without a guess"), onclick: () => this.#look() });
    const buttons = make("p", { class: "att-buttons" }, this.button, this.look);
    this.form = make("form", { novalidate: true }, this.#group(), this.#slider(), buttons, this.complaint);
    this.form.addEventListener("submit", (event) => this.#guess(event));
    this.guessed = make("p", { class: "att-sum", tabindex: -1 });
    this.again = make("button", { type: "button", text: say("Guess again"), onclick: () => this.#open() });
    this.done = make("div", { class: "att-guessed" }, this.#heading(), this.guessed, this.again);
    this.lay(this.form, this.done);
    const draw = () => this.#draw();
    this.listen({ "change:guess": draw, "change:seen": draw, "change:looked": draw });
    this.#draw();
  }

  #radio(at) {
    return make("input", { type: "radio", name: `att-prediction-${count}`, value: at });
  }

  #field() {
    return make("input", {
      type: "text",
      inputmode: "decimal",
      size: 8,
      autocomplete: "off",
      "aria-label": this.#wanted(),
      // JupyterLab keeps Enter in a field from submitting the form.
      onkeydown: (event) => event.key === "Enter" && this.#guess(event),
    });
  }

  /** How sure one is; nothing is kept of it until it is moved. */
  #slider() {
    this.said = make("span", { text: say("not said") });
    this.sure = make("input", {
      type: "range",
      min: 0,
      max: 100,
      step: 10,
      value: 50,
      oninput: () => {
        this.isSaid = true;
        this.said.textContent = `${this.sure.value} %`;
      },
    });
    return make(
      "label",
      { class: "att-sure" },
      make("span", { text: say("How sure are you? (optional)") }),
      this.sure,
      this.said,
    );
  }

  #wanted() {
    return `${wanted(this.model.get("low"), this.model.get("high"))} ${say(this.model.get("unit"))}`.trim();
  }

  #heading() {
    return make(
      "p",
      { class: "att-question" },
      make("strong", { text: say("Predict:") }),
      " ",
      ...inline(say(this.model.get("question"))),
    );
  }

  #group() {
    const legend = make("legend", {}, this.#heading());
    const lines = this.choices.length
      ? this.choices.map((text, at) => make("label", {}, this.inputs[at], make("span", {}, ...inline(say(text)))))
      : [make("label", {}, this.inputs[0], make("span", { "aria-hidden": true, text: this.#wanted() }))];
    return make("fieldset", {}, legend, ...lines);
  }

  /** Keeps the guess, or says what is missing. */
  #guess(event) {
    event.preventDefault();
    const guess = this.#read();
    if (guess === null) {
      this.complaint.textContent = this.choices.length
        ? say("Choose one first.")
        : say("Type {wanted} first.", { wanted: this.#wanted() });
      (this.inputs.find((input) => input.checked) ?? this.inputs[0]).focus();
      return;
    }
    this.complaint.textContent = "";
    this.#tell({ guess, sure: this.isSaid ? Number(this.sure.value) : null });
  }

  /** Shows what came out to somebody who has no guess. */
  #look() {
    this.#tell({ looked: true });
  }

  #tell(state) {
    // On a page what came out is shown at once; in a notebook Python says when it was.
    this.set(this.model.get("on_page") ? { ...state, seen: true } : state);
    this.#draw();
    this.guessed.focus();
    this.announcer.say(this.guessed.textContent);
    this.root.dispatchEvent(new CustomEvent("att-answer", { bubbles: true }));
  }

  #read() {
    if (this.choices.length) {
      return this.choices[this.inputs.findIndex((input) => input.checked)] ?? null;
    }
    const number = numberOf(this.inputs[0].value);
    const [low, high] = [this.model.get("low") ?? -Infinity, this.model.get("high") ?? Infinity];
    return Number.isFinite(number) && low <= number && number <= high ? number : null;
  }

  /** Shows the choices again. The guess stays until there is another one. */
  #open() {
    this.form.hidden = false;
    this.done.hidden = true;
    (this.inputs.find((input) => input.checked) ?? this.inputs[0]).focus();
  }

  #draw() {
    const guess = this.model.get("guess");
    const has = guess !== null && guess !== undefined;
    const isSeen = Boolean(this.model.get("seen"));
    const isDone = has || isSeen || Boolean(this.model.get("looked"));
    this.form.hidden = isDone;
    this.done.hidden = !isDone;
    this.again.hidden = isSeen;
    if (has) {
      this.choices.forEach((text, at) => {
        this.inputs[at].checked = text === guess;
      });
      const told = this.choices.length ? say(guess) : `${guess} ${say(this.model.get("unit"))}`.trimEnd();
      this.guessed.replaceChildren(
        ...inline(together(say("Your guess: {guess}.", { guess: told }), this.#then(isSeen))),
      );
    } else if (isDone) {
      this.guessed.textContent = together(say("You chose to look without a guess."), this.#then(false));
    }
    this.finish();
  }

  #then(isSeen) {
    if (this.model.get("on_page")) {
      return say("Now read on.");
    }
    return isSeen ? say("You have seen what came out, so your guess stays.") : say("Now run the next cells.");
  }
}

export default rendering(Prediction);
