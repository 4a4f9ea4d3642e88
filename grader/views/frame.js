// The building blocks of views: elements, theme colours, announcements to a screen reader, tables, buttons.

import { cividis, css } from "./colour.js";
import { entry, written } from "./numbers.js";
import { pieces, say } from "./say.js";

/**
 * Keeps JupyterLab from taking an element's keys (arrow keys, Enter, single letters) as its own shortcuts. Every element
 * that can have the focus needs this; setting it on an ancestor has no effect.
 */
export function keepKeys(element) {
  element.dataset.lmSuppressShortcuts = "true";
}

/** A new element with attributes (`class`, `text`, `on…` among them) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (["button", "input", "summary"].includes(tag)) {
    keepKeys(element);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") {
      element.textContent = value;
    } else if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

/** The colours and the font that a canvas draws with, in the page's present theme. */
export function pageStyle(root) {
  const computed = getComputedStyle(root);
  const colour = (name) => computed.getPropertyValue(name).trim();
  return {
    ink: colour("--att-ink") || "#000000",
    muted: colour("--att-muted") || "#555555",
    paper: colour("--att-paper") || "#ffffff",
    font: computed.fontFamily,
  };
}

/** An invisible region that a screen reader reads out: only the last of several quick messages. */
export class Announcer {
  constructor() {
    this.element = make("div", { class: "att-unseen", "aria-live": "polite", "aria-atomic": "true" });
    this.timer = 0;
  }

  say(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.element.textContent = text;
    }, 150);
  }
}

/** A legend: the name of what is coloured, and the colours of the scale between its two ends. */
export function colourScale(name, [low, high]) {
  const stops = Array.from({ length: 9 }, (_, at) => css(cividis(at / 8))).join(", ");
  const bar = make("span", { class: "att-bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${stops})`;
  return pieces(say("Colours of {name}: {low} {colours} {high}"), {
    name,
    low: written(low),
    colours: bar,
    high: written(high),
  });
}

/** A picture with a caption above it: a text, or an element whose text changes. */
export function captioned(caption, element) {
  const above = typeof caption === "string" ? make("span", { class: "att-caption", text: caption }) : caption;
  return make("div", { class: "att-matrix" }, above, element);
}

/** The width of an operator between two pictures with its gaps, in pixels. */
export const SIGN_WIDTH = 34;

/** An operator between two pictures. */
export function sign(text = "→") {
  return make("span", { class: "att-sign", "aria-hidden": "true", text });
}

/** The children of `sum` for a selected cell: its place, then each line of its arithmetic as code. */
export function sumParts(place, lines, attributes = {}) {
  const codes = lines.map((text) => make("code", { ...attributes, text }));
  return [make("span", { class: "att-place", text: place }), ...codes];
}

/** A table of texts. `heads` name the columns (an empty one gives a plain cell); the first text of a row names the row. */
export function textTable(caption, heads, rows) {
  const line = (...cells) => make("tr", {}, ...cells);
  const head = line(...heads.map((text) => (text ? make("th", { scope: "col", text }) : make("td"))));
  const body = rows.map(([name, ...texts]) =>
    line(make("th", { scope: "row", text: name }), ...texts.map((text) => make("td", { text }))),
  );
  return make("table", {}, make("caption", { text: caption }), make("thead", {}, head), make("tbody", {}, ...body));
}

/** A matrix as a table with headings: the heatmap's numbers, for a screen reader or for copying. */
export function table(caption, matrix, rowLabels, columnLabels, write = written) {
  const numbers = (row) => Array.from({ length: matrix.columns }, (_, column) => write(entry(matrix, row, column)));
  const rows = rowLabels.map((text, row) => [text, ...numbers(row)]);
  return textTable(caption, ["", ...columnLabels], rows);
}

/** A button that shows `tables` in place of `figure`, and back. `redraw` fills the visible one. */
export function tableSwitch(figure, tables, redraw) {
  // Focusable, so that long tables scroll by keyboard.
  tables.tabIndex = 0;
  tables.setAttribute("role", "group");
  tables.setAttribute("aria-label", say("Tables"));
  keepKeys(tables);
  const flip = () => {
    tables.hidden = !tables.hidden;
    figure.hidden = !tables.hidden;
    button.setAttribute("aria-pressed", String(!tables.hidden));
    redraw();
  };
  const button = make("button", { type: "button", text: say("Show as table"), "aria-pressed": "false", onclick: flip });
  return button;
}

/** A numbered button for each step, with Back and Next. `go` gets the number of the wanted step, from 1. */
export class Stepper {
  constructor(names, go) {
    const button = (attributes, ...inside) => make("button", { type: "button", ...attributes }, ...inside);
    this.at = 1;
    this.buttons = names.map((name, place) => {
      const number = make("span", { class: "att-number", text: String(place + 1) });
      const heard = { "aria-label": `${place + 1}, ${name}` };
      return button({ class: "att-step", ...heard, onclick: () => go(place + 1) }, number, " ", name);
    });
    this.back = button({ text: say("Back"), onclick: () => go(this.at - 1) });
    this.next = button({ text: say("Next"), onclick: () => go(this.at + 1) });
    const list = make("ol", { class: "att-steps" }, ...this.buttons.map((step) => make("li", {}, step)));
    const attributes = { class: "att-stepper", role: "group", "aria-label": say("Steps") };
    this.element = make("div", attributes, list, this.back, this.next);
  }

  /** Marks step `at`, from 1, as the current one. */
  show(at) {
    this.at = at;
    this.buttons.forEach((step, place) => {
      step.toggleAttribute("aria-current", false);
      if (place === at - 1) {
        step.setAttribute("aria-current", "step");
      }
    });
    this.back.disabled = at === 1;
    this.next.disabled = at === this.buttons.length;
  }
}

/** Buttons of which at most one is pressed. `options` has an id and a label for each; `pick` gets the clicked one's id. */
export class Choice {
  constructor(label, options, pick) {
    this.ids = options.map(([id]) => id);
    this.buttons = options.map(([id, text]) => make("button", { type: "button", text, onclick: () => pick(id) }));
    const caption = make("span", { class: "att-caption", "aria-hidden": "true", text: `${label}:` });
    const attributes = { class: "att-choice", role: "group", "aria-label": label };
    this.element = make("div", attributes, caption, ...this.buttons);
  }

  /** Shows the button of an id as pressed. */
  show(id) {
    this.buttons.forEach((button, at) => {
      button.setAttribute("aria-pressed", String(this.ids[at] === id));
    });
  }
}
